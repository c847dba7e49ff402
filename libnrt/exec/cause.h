/* SPDX-License-Identifier: MIT */
/*
 * How a job ended: the device's cause as a public status.
 */
#ifndef LIBNRT_EXEC_CAUSE_H
#define LIBNRT_EXEC_CAUSE_H

#include "drm/neuron_accel.h"
#include "nrt/nrt_status.h"

/* NRT_SUCCESS, or why not; then *@text says it in words. */
NRT_STATUS nrt_cause(const struct drm_neuron_wait_job *result, const char **text);

#endif /* LIBNRT_EXEC_CAUSE_H */
