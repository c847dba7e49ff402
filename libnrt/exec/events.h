/* SPDX-License-Identifier: MIT */
/*
 * Events of executions.
 */
#ifndef LIBNRT_EXEC_EVENTS_H
#define LIBNRT_EXEC_EVENTS_H

#include "base/event.h"
#include "object/model.h"

/* An event of execution @exec of @model begins, or of none yet, with 0. */
void nrt_exec_event_begin(struct nrt_event *event, enum nrt_event_type type,
			  const struct nrt_model *model, uint64_t exec);

/*
 * The job, and those of the CC-cores, @cc, have run in the device's time. Both clocks are read
 * together, which is an event too, and tell when that was.
 */
void nrt_exec_tell_device(const struct nrt_model *model, uint64_t exec,
			  const struct drm_neuron_wait_job *wait,
			  const struct drm_neuron_wait_job *cc);

#endif /* LIBNRT_EXEC_EVENTS_H */
