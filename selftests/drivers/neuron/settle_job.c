// SPDX-License-Identifier: MIT
/*
 * A settle record that comes after a recovery, for selftests/vm/test_recovery.py. Two jobs on two
 * chips are a time group; that of device 0 has ended, that of device 1 runs. Then it says "@ready",
 * and reads a line: meanwhile device 0 recovers from an error. Another job of device 0, in another
 * group, comes to know its times when its own group has ended, whatever becomes of the first one:
 *
 *	@ret=ERRNO early=ERRNO cause=CAUSE
 *
 * early= is what TIMES says of it when the first group has ended and its own has not.
 *
 * With the argument "running" its job on device 0 runs, and no other. It ends after the line.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job_rig.h"
#include "neuron_test.h"

#define CORE	2	/* of device 0; others are used by fault_job */
#define LIMIT	60000	/* ms */
#define EARLY	1000	/* ms, for a record that comes to the wrong job */
#define LONG	600000	/* ms */

/**
 * struct group - two members
 * @series: what they are imported from
 * @handle: that of each
 */
struct group {
	int series;
	uint32_t handle[2];
};

static int make_group(struct group *group, struct rig *const rig[2])
{
	struct drm_neuron_series args = { .members = 2 };
	struct drm_neuron_series_import import = { 0 };
	int ret = neuron_ioctl(rig[0]->fd, DRM_IOCTL_NEURON_SERIES, &args), i;

	import.fd = args.fd;
	group->series = args.fd;
	for (i = 0; !ret && i < 2; i++) {
		ret = neuron_ioctl(rig[i]->fd, DRM_IOCTL_NEURON_SERIES_IMPORT, &import);
		group->handle[i] = import.handle;
	}
	return ret;
}

/* As that member; the job, or an error. */
static int64_t start(struct rig *rig, const struct group *group, unsigned int member)
{
	struct rig_submit submit;
	int ret;

	rig_prepare_engine(rig, &submit, NEURON_ENGINE_VECTOR);
	submit.job.series = group->handle[member];
	submit.job.member = member;
	submit.job.group = 1;
	submit.job.timeout_ms = LONG;
	ret = rig_submit(rig, &submit);
	return ret ? ret : (int64_t)submit.call.job;
}

/* 0: it has ended well. */
static int finish(struct rig *rig, int64_t job)
{
	struct drm_neuron_wait_job result = { 0 };
	int ret = job < 0 ? (int)job : rig_wait(rig, (uint64_t)job, LIMIT, &result);

	return ret ? ret : result.status == NEURON_JOB_OK ? 0 : -EIO;
}

static int run(struct rig *rig, const struct group *group, unsigned int member, int64_t *job)
{
	rig_clear(rig);
	rig_halt(rig, NEURON_ENGINE_VECTOR);
	*job = start(rig, group, member);
	return finish(rig, *job);
}

static int get_times(struct rig *rig, int64_t job, int64_t ms, struct drm_neuron_times *times)
{
	*times = (struct drm_neuron_times){
		.claim = rig->claim,
		.core = rig->core,
		.job = (uint64_t)job,
		.deadline_ns = (rig_now_ms() + ms) * 1000000,
	};
	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_TIMES, times);
}

/* A job that does not end. */
static int run_on(struct rig *rig, const struct group *group, unsigned int member, int64_t *job)
{
	rig_clear(rig);
	rig_loop(rig, NEURON_ENGINE_VECTOR, 0);
	*job = start(rig, group, member);
	return *job < 0 ? (int)*job : 0;
}

static int begin(struct rig *rig[2], struct group *group, bool running, int64_t *endless)
{
	int64_t job;
	int ret = rig_open(rig[0], 0, CORE);

	if (!ret)
		ret = rig_open(rig[1], 1, 0);
	if (!ret)
		ret = make_group(group, rig);
	if (ret)
		return ret;
	if (running)
		return run_on(rig[0], group, 0, endless);
	ret = run(rig[0], group, 0, &job);
	return ret ? ret : run_on(rig[1], group, 1, endless);
}

/* The claim of device 0 is lost; the job of device 1 still runs. */
static int go_on(struct rig *rig[2], int64_t endless, int *early, int *cause)
{
	struct drm_neuron_times times;
	struct group group;
	int64_t job, other;
	int ret;

	rig_close(rig[0]);
	ret = rig_open(rig[0], 0, CORE);
	if (!ret)
		ret = make_group(&group, rig);
	if (!ret)
		ret = run(rig[0], &group, 0, &job);
	if (ret)
		return ret;
	rig[1]->map[RIG_IMAGE(NEURON_ENGINE_VECTOR)] = NEURON_OP_HALT;
	ret = finish(rig[1], endless);
	*early = get_times(rig[0], job, EARLY, &times);
	if (!ret)
		ret = run(rig[1], &group, 1, &other);
	if (!ret)
		ret = get_times(rig[0], job, LIMIT, &times);
	*cause = (int)times.cause;
	return ret;
}

int main(int argc, char **argv)
{
	struct rig first, second, *rig[2] = { &first, &second };
	bool running = argc > 1 && !strcmp(argv[1], "running");
	int ret, early = 0, cause = -1;
	struct group group;
	int64_t endless;

	ret = begin(rig, &group, running, &endless);
	if (ret) {
		printf("@ret=%d\n", -ret);
		return 1;
	}
	printf("@ready\n");
	fflush(stdout);
	getchar();
	if (running)
		return 0;
	ret = go_on(rig, endless, &early, &cause);
	printf("@ret=%d early=%d cause=%d\n", -ret, -early, cause);
	return 0;
}
