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
#include "storm.h"

#define PROCESSES	10
#define DEVICES		4
#define MAX_SECONDS	3600

/* Until it is killed; exits only when something is wrong. */
static void live(unsigned int seed, unsigned int devices)
{
	unsigned int jobs;
	struct rig rig;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srand(seed);
	for (;;) {
		if (rig_open(&rig, storm_dice(devices), RIG_ANY_CORE)) {
			usleep(1000);
			continue;
		}
		for (jobs = 1 + storm_dice(6); jobs; jobs--)
			if (!storm_one_job(&rig))
				_exit(1);
		if (storm_dice(4))
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
	struct drm_neuron_wait_job result;
	unsigned int i, born = 0;
	struct rig rig;

	srand(1);
	while (rig_now_ms() < end) {
		i = storm_dice(PROCESSES);
		EXPECT_TRUE(end_child(&self->pid[i]))
			TH_LOG("a child saw a job end wrongly");
		born++;
		self->pid[i] = fork();
		ASSERT_GE(self->pid[i], 0);
		if (!self->pid[i])
			live(born, self->devices);
		usleep(storm_dice(60000));
	}
	for (i = 0; i < PROCESSES; i++)
		EXPECT_TRUE(end_child(&self->pid[i]));
	TH_LOG("%u processes", born);

	for (i = 0; i < self->devices; i++) {
		EXPECT_FALSE(rig_leaks(self->fd[i], &self->before[i]));
		ASSERT_EQ(0, rig_open(&rig, i, 0));
		storm_emit(&rig, STORM_WORK);
		ASSERT_EQ(0, rig_run(&rig, 5000, &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		rig_close(&rig);
	}
}

TEST_HARNESS_MAIN
