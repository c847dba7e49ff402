/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Results of jobs, kept for a while after the job is gone.
 */
#ifndef _NEURON_WAIT_H_
#define _NEURON_WAIT_H_

#include <linux/types.h>

#include "neuron/job.h"

#define NEURON_NR_RESULTS	64	/* kept for each core; in the UAPI text */

/**
 * struct neuron_result - how a job ended
 * @job: job id, 0: slot unused
 * @record: completion record, from the device and checked, or made by the
 *	driver for a job that the device did not end
 * @hang: the driver aborted it for making no progress
 * @wall_ns: doorbell to end
 * @doorbell_ns: ktime of the doorbell
 */
struct neuron_result {
	u64 job;
	struct neuron_hw_completion record;
	bool hang;
	u64 wall_ns;
	u64 doorbell_ns;
};

/**
 * struct neuron_results - the last results of a core in a claim
 * @slot: ring
 * @next: slot to write next
 */
struct neuron_results {
	struct neuron_result slot[NEURON_NR_RESULTS];
	unsigned int next;
};

/* Both under the core's spin lock. */
void neuron_results_add(struct neuron_results *results,
			const struct neuron_result *result);
const struct neuron_result *
neuron_results_find(const struct neuron_results *results, u64 job);

#endif /* _NEURON_WAIT_H_ */
