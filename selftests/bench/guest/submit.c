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
#include <string.h>

#include "bench.h"
#include "job_rig.h"
#include "neuron_test.h"

#define JOBS	1000
#define WARM_UP	100

struct hops {
	double total[JOBS];
	double submit[JOBS];	/* submit to doorbell */
	double wall[JOBS];	/* doorbell to interrupt handler */
	double wake[JOBS];	/* interrupt handler to user space */
};

static int submit_run(struct rig *rig, struct hops *hops)
{
	struct drm_neuron_submit submit;
	struct drm_neuron_queue queue;
	struct drm_neuron_wait result;
	double begin, end;
	int i, ret;

	for (i = -WARM_UP; i < JOBS; i++) {
		rig_prepare(rig, &submit, &queue);
		begin = figure_now();
		ret = rig_submit(rig, &submit);
		if (!ret)
			ret = rig_wait(rig, submit.job, 10000, &result);
		end = figure_now();
		if (ret || result.status != NEURON_JOB_OK) {
			fprintf(stderr, "bench: an empty job failed: %s\n",
				ret ? strerror(-ret) : "device error");
			return -1;
		}
		if (i < 0)
			continue;
		hops->total[i] = (end - begin) * 1e6;
		hops->submit[i] = result.doorbell_ns / 1e3 - begin * 1e6;
		hops->wall[i] = result.wall_ns / 1e3;
		hops->wake[i] = end * 1e6 -
				(result.doorbell_ns + result.wall_ns) / 1e3;
	}
	return 0;
}

static void submit_figure(struct bench *bench, const char *name, double us,
			  double baseline)
{
	figures_add(&bench->figures, (struct figure){
		.name = name, .value = us, .unit = "us", .baseline = baseline,
		.goal = baseline > 0 ? 1.0 : FIGURE_NONE,
		.lower_is_better = true,
	});
}

int bench_submit(struct bench *bench)
{
	static struct hops hops;
	struct rig rig;
	int ret;

	ret = rig_open(&rig, 0, RIG_ANY_CORE);
	if (ret) {
		fprintf(stderr, "bench: cannot claim a core: %s\n",
			strerror(-ret));
		return -1;
	}
	rig_clear(&rig);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	ret = submit_run(&rig, &hops);
	rig_close(&rig);
	if (ret)
		return -1;
	submit_figure(bench, "empty_job_p50", figure_median(hops.total, JOBS),
		      bench->nvme_us);
	submit_figure(bench, "hop_submit_to_doorbell",
		      figure_median(hops.submit, JOBS), FIGURE_NONE);
	submit_figure(bench, "hop_doorbell_to_interrupt",
		      figure_median(hops.wall, JOBS), FIGURE_NONE);
	submit_figure(bench, "hop_interrupt_to_wake_up",
		      figure_median(hops.wake, JOBS), FIGURE_NONE);
	return 0;
}
