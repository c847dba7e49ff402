/* SPDX-License-Identifier: MIT */
/*
 * Many jobs in a row with few in flight, each looked at: for the tests and for the
 * benchmark of the guest.
 */
#ifndef NEURON_PIPELINE_H
#define NEURON_PIPELINE_H

#include "job_rig.h"

#define PIPELINE_BATCH	16	/* at most twice as many are in flight */

/**
 * struct pipeline - what became of the jobs
 * @submitted: accepted
 * @ended: whose result was fetched, of them
 * @good: without error, with one completion each, of them
 * @error: negative errno of the call that failed, or 0
 */
struct pipeline {
	uint64_t submitted;
	uint64_t ended;
	uint64_t good;
	int error;
};

/* Run what was emitted @jobs times, with unchanged bindings. */
void pipeline_run(struct rig *rig, uint64_t jobs, struct pipeline *pipeline);

#endif /* NEURON_PIPELINE_H */
