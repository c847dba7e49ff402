/* SPDX-License-Identifier: MIT */
/*
 * Status counters: how executions end, told to those who monitor the machine.
 */
#ifndef LIBNRT_HW_POST_H
#define LIBNRT_HW_POST_H

#include "drm/neuron_accel.h"
#include "nrt/nrt_status.h"

struct nrt_core;

/**
 * struct nrt_posts - what a core has not been told yet
 * @add: by enum drm_neuron_status_counter
 * @executions: in it
 * @since_ns: when the last one was told, CLOCK_MONOTONIC
 */
struct nrt_posts {
	uint64_t add[DRM_NEURON_NR_STATUS_COUNTERS];
	unsigned int executions;
	uint64_t since_ns;
};

/*
 * An execution ended with @status. They are told at most every second or every so many, but
 * failures at once. Whether anybody hears it changes nothing for the caller.
 */
void nrt_post_execution(struct nrt_core *core, NRT_STATUS status);
void nrt_post_load(struct nrt_core *core);
/* Tell what is left. */
void nrt_post_flush(struct nrt_core *core);

#endif /* LIBNRT_HW_POST_H */
