// SPDX-License-Identifier: MIT
/*
 * Processes that claim, submit all kinds of jobs, rebind, reset and are killed
 * at any moment, on all devices. What is wrong shows in the kernel log, as a
 * leak, or as a core that no longer works.
 *
 * NEURON_STORM_SECONDS in the environment: how long (default 10).
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define PROCESSES	10
#define DEVICES		4
#define MAX_SECONDS	3600

enum storm_job { SPIN, FAULT, WAIT, WORK, NR_STORM_JOBS };

/* Bytes of the copy of WORK. */
#define WORK_BYTES	65000

static unsigned int dice(unsigned int sides)
{
	return (unsigned int)rand() % sides;
}

static void emit(struct rig *rig, enum storm_job kind)
{
	enum neuron_engine engine = dice(NEURON_NR_ENGINES);
	struct neuron_inst *inst;

	rig_clear(rig);
	switch (kind) {
	case SPIN:
		rig_loop(rig, engine, 0);
		break;
	case FAULT:
		rig_emit(rig, engine, 0xee);
		break;
	case WAIT:
		inst = rig_emit(rig, engine, NEURON_OP_NOP);
		inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
		inst->wait_value = 1;
		rig_halt(rig, engine);
		break;
	default:
		rig_copy(rig, engine, neuron_window_addr(RIG_WINDOW_SBUF, 0),
			 neuron_window_addr(RIG_WINDOW_DATA, 0), WORK_BYTES);
		rig_halt(rig, engine);
		break;
	}
}

/* A window far up in the table, another one each time. */
static void rebind(struct rig *rig)
{
	const struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE + dice(5000),
		.kind = DRM_NEURON_WINDOW_PSUM,
		.rights = DRM_NEURON_WINDOW_READ,
		.grant_fd = -1,
	};

	rig_windows(rig, &window, 1);
}

static void reset(struct rig *rig)
{
	struct drm_neuron_reset args = {
		.claim = rig->claim,
		.core = rig->core,
	};

	neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_RESET, &args);
}

/* False: something ended in a way that it should not. */
static bool one_job(struct rig *rig)
{
	enum storm_job kind = dice(NR_STORM_JOBS);
	struct drm_neuron_wait result;
	int64_t job;
	int ret;

	emit(rig, kind);
	job = rig_start(rig, 1 + dice(40));
	if (job < 0)
		return false;
	if (dice(3))
		rig_start(rig, 1 + dice(40));
	rebind(rig);
	if (!dice(10))
		reset(rig);
	if (!dice(2))
		return true;
	ret = rig_wait(rig, (uint64_t)job, dice(200), &result);
	if (ret)
		return ret == -ETIMEDOUT;
	/* ABORTED: by the reset, or by a limit of 1 ms on a busy host. */
	if (result.status == NEURON_JOB_OK)
		return kind == WORK && result.dma_bytes == WORK_BYTES;
	if (result.status == NEURON_JOB_ERROR)
		return kind == FAULT && result.cause == NEURON_CAUSE_OPCODE;
	return result.status == NEURON_JOB_ABORTED;
}

/* Until it is killed; exits only when something is wrong. */
static void live(unsigned int seed, unsigned int devices)
{
	unsigned int jobs;
	struct rig rig;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srand(seed);
	for (;;) {
		if (rig_open(&rig, dice(devices), RIG_ANY_CORE)) {
			usleep(1000);
			continue;
		}
		for (jobs = 1 + dice(6); jobs; jobs--)
			if (!one_job(&rig))
				_exit(1);
		if (dice(4))
			rig_release(rig.fd, rig.claim);
		rig_close(&rig);
	}
}

FIXTURE(storm) {
	int fd[DEVICES];
	unsigned int devices;
	struct rig_usage before[DEVICES];
	pid_t pid[PROCESSES];
};

FIXTURE_SETUP(storm)
{
	int fd;

	while (self->devices < DEVICES) {
		fd = neuron_open(self->devices);
		if (fd < 0)
			break;
		self->fd[self->devices] = fd;
		rig_usage(fd, &self->before[self->devices]);
		ASSERT_GE(self->before[self->devices].live, 0)
			TH_LOG("debugfs must be mounted");
		self->devices++;
	}
	if (!self->devices)
		SKIP(return, "no neuron device");
}

FIXTURE_TEARDOWN(storm)
{
	unsigned int i;

	for (i = 0; i < self->devices; i++)
		close(self->fd[i]);
}

/* Kill child @i, if there is one. Return: it was still alive. */
static bool end_child(pid_t *pid)
{
	int status = 0;

	if (!*pid)
		return true;
	kill(*pid, SIGKILL);
	waitpid(*pid, &status, 0);
	*pid = 0;
	return WIFSIGNALED(status);
}

static int64_t seconds(void)
{
	const char *text = getenv("NEURON_STORM_SECONDS");
	int value = text ? atoi(text) : 0;

	return value > 0 && value < MAX_SECONDS ? value : 10;
}

TEST_F_TIMEOUT(storm, of_processes, MAX_SECONDS + 60)
{
	int64_t end = rig_now_ms() + seconds() * 1000;
	struct drm_neuron_wait result;
	unsigned int i, born = 0;
	struct rig rig;

	srand(1);
	while (rig_now_ms() < end) {
		i = dice(PROCESSES);
		EXPECT_TRUE(end_child(&self->pid[i]))
			TH_LOG("a child saw a job end wrongly");
		born++;
		self->pid[i] = fork();
		ASSERT_GE(self->pid[i], 0);
		if (!self->pid[i])
			live(born, self->devices);
		usleep(dice(60000));
	}
	for (i = 0; i < PROCESSES; i++)
		EXPECT_TRUE(end_child(&self->pid[i]));
	TH_LOG("%u processes", born);

	for (i = 0; i < self->devices; i++) {
		EXPECT_FALSE(rig_leaks(self->fd[i], &self->before[i]));
		ASSERT_EQ(0, rig_open(&rig, i, 0));
		emit(&rig, WORK);
		ASSERT_EQ(0, rig_run(&rig, 5000, &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		rig_close(&rig);
	}
}

TEST_HARNESS_MAIN
