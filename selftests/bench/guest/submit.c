// SPDX-License-Identifier: MIT
/*
 * The hops of an empty job:
 *	submit to doorbell	the ioctl and the scheduler
 *	doorbell to interrupt	the chip (latch, run, completion record), and MSI-X
 *				delivery up to the driver's handler
 *	interrupt to wake-up	fence, and the way back to user space
 * The driver tells when the doorbell rang and the handler ran.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "job_rig.h"
#include "neuron_test.h"

#define JOBS	50	/* in a round */
#define WARM_UP	10
#define GOAL	0.35	/* of an NVMe read of 4 KiB */

enum hop { HOP_TOTAL, HOP_SUBMIT, HOP_WALL, HOP_WAKE, HOPS };

/**
 * struct submit - us of each hop
 * @job: of the jobs of this round
 * @median: of each round
 */
struct submit {
	struct rig rig;
	double job[HOPS][JOBS];
	double median[HOPS][FIGURE_MAX_ROUNDS];
};

/* One empty job; its hops go to @us. */
static int run_job(struct submit *s, double us[HOPS])
{
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	struct drm_neuron_wait_job result;
	double begin, end;
	int ret;

	rig_prepare(&s->rig, &submit, &queue);
	begin = figure_now();
	ret = rig_submit(&s->rig, &submit);
	if (!ret)
		ret = rig_wait(&s->rig, submit.call.job, 10000, &result);
	end = figure_now();
	if (ret || result.status != NEURON_JOB_OK) {
		fprintf(stderr, "bench: an empty job failed: %s\n",
			ret ? strerror(-ret) : "device error");
		return -1;
	}
	us[HOP_TOTAL] = (end - begin) * 1e6;
	us[HOP_SUBMIT] = result.doorbell_ns / 1e3 - begin * 1e6;
	us[HOP_WALL] = result.wall_ns / 1e3;
	us[HOP_WAKE] = end * 1e6 - (result.doorbell_ns + result.wall_ns) / 1e3;
	return 0;
}

static int submit_round(struct bench *bench, void *state, unsigned int round)
{
	struct submit *s = state;
	double us[HOPS];
	int i, hop;

	for (i = -WARM_UP; i < JOBS; i++) {
		if (run_job(s, us))
			return -1;
		for (hop = 0; i >= 0 && hop < HOPS; hop++)
			s->job[hop][i] = us[hop];
	}
	for (hop = 0; hop < HOPS; hop++)
		s->median[hop][round] = figure_median(s->job[hop], JOBS);
	bench->submit_us[round] = s->median[HOP_TOTAL][round];
	return 0;
}

static void *submit_open(struct bench *bench)
{
	struct submit *s = calloc(1, sizeof(*s));
	int ret;

	bench->have_submit = true;
	if (!s)
		return NULL;
	ret = rig_open(&s->rig, 0, RIG_ANY_CORE);
	if (ret) {
		fprintf(stderr, "bench: cannot claim a core: %s\n", strerror(-ret));
		free(s);
		return NULL;
	}
	rig_clear(&s->rig);
	rig_halt(&s->rig, NEURON_ENGINE_SYNC);
	return s;
}

static void submit_report(struct bench *bench, void *state)
{
	static const char *const names[HOPS] = {
		[HOP_TOTAL] = "empty_job_p50",
		[HOP_SUBMIT] = "hop_submit_to_doorbell",
		[HOP_WALL] = "hop_doorbell_to_interrupt",
		[HOP_WAKE] = "hop_interrupt_to_wake_up",
	};
	struct submit *s = state;
	bool paired;
	int hop;

	for (hop = 0; hop < HOPS; hop++) {
		paired = hop == HOP_TOTAL && bench->have_nvme;
		figures_add(&bench->figures, (struct figure){
			.name = names[hop], .unit = "us", .goal = paired ? GOAL : FIGURE_NONE,
			.lower_is_better = true,
		}, s->median[hop], paired ? bench->nvme_us : NULL, bench->rounds);
	}
}

static void submit_close(void *state)
{
	struct submit *s = state;

	rig_close(&s->rig);
	free(s);
}

const struct bench_part bench_submit = {
	.name = "submit",
	.open = submit_open,
	.round = submit_round,
	.report = submit_report,
	.close = submit_close,
};
