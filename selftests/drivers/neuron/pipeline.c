// SPDX-License-Identifier: MIT
/*
 * Many jobs in a row, in batches: while one batch is waited for, the next is queued.
 */
#include "pipeline.h"

#define LIMIT	60000	/* ms; an empty queue is a matter of milliseconds */

struct batch {
	uint64_t job[PIPELINE_BATCH];
	unsigned int nr;
};

static int batch_submit(struct rig *rig, struct rig_submit *submit,
			struct batch *batch, uint64_t left)
{
	int ret;

	for (batch->nr = 0; batch->nr < PIPELINE_BATCH && batch->nr < left;
	     batch->nr++) {
		ret = rig_submit(rig, submit);
		if (ret)
			return ret;
		batch->job[batch->nr] = submit->call.job;
	}
	return 0;
}

/* Jobs end in order: wait for the last, then fetch what the others say. */
static int batch_wait(struct rig *rig, const struct batch *batch,
		      struct pipeline *pipeline)
{
	struct drm_neuron_wait_job result;
	unsigned int i = batch->nr;
	int ret;

	while (i--) {
		ret = rig_wait(rig, batch->job[i],
			       i == batch->nr - 1 ? LIMIT : 0, &result);
		if (ret)
			return ret;
		pipeline->ended++;
		if (result.status == NEURON_JOB_OK && !(result.flags & DRM_NEURON_JOB_HANG))
			pipeline->good++;
	}
	return 0;
}

void pipeline_run(struct rig *rig, uint64_t jobs, struct pipeline *pipeline)
{
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	struct batch batches[2] = { 0 };
	unsigned int turn = 0;

	*pipeline = (struct pipeline){ 0 };
	rig_prepare(rig, &submit, &queue);
	while (!pipeline->error && pipeline->ended < jobs) {
		pipeline->error = batch_submit(rig, &submit, &batches[turn],
					       jobs - pipeline->submitted);
		pipeline->submitted += batches[turn].nr;
		turn = !turn;
		if (!pipeline->error && batches[turn].nr)
			pipeline->error = batch_wait(rig, &batches[turn],
						     pipeline);
	}
}
