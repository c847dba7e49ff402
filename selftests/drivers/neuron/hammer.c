// SPDX-License-Identifier: MIT
/*
 * hammer [--seconds N] [--processes N] [--seed N]: processes on all devices of the
 * machine claim, copy, share, submit, close and are killed, all by chance; more of
 * them than most machines have devices. In the end every device must hold what it
 * held before and work. The kernel log tells the rest: see make check-debug.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "neuron_test.h"
#include "storm.h"

#define MAX_PROCESSES	256
#define COPY_BYTES	0x80000u

struct hammer {
	unsigned int seconds;
	unsigned int processes;
	unsigned int seed;
	unsigned int devices;
	unsigned int born;
	unsigned int wrong;
	int fd[NEURON_MAX_NODES];
	struct rig_usage before[NEURON_MAX_NODES];
	pid_t pid[MAX_PROCESSES];
};

/* A copy of user memory, in which a kill will find some of them. */
static void copy(struct rig *rig)
{
	static uint8_t data[COPY_BYTES];
	uint32_t size = 1 + storm_dice(COPY_BYTES - 64);

	if (storm_dice(2))
		neuron_write(rig->fd, rig->bo, storm_dice(64), data + storm_dice(64),
			     size - 1);
	else
		neuron_read(rig->fd, rig->bo, storm_dice(64), data, size);
}

/* Show a buffer to another device and let a window of it see it. */
static void share(struct rig *rig, unsigned int devices)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE + storm_dice(100),
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.length = 4096,
	};
	struct drm_neuron_bo_create bo;
	int other = neuron_open(storm_dice(devices));
	int dma_buf = -1;

	if (other < 0)
		return;
	if (!neuron_bo_create(other, storm_dice(2), 0, 4096u << storm_dice(10),
			      &bo))
		dma_buf = neuron_export(other, bo.handle);
	if (dma_buf >= 0 && !neuron_import(rig->fd, dma_buf, &window.handle))
		rig_windows(rig, &window, 1);
	if (dma_buf >= 0)
		close(dma_buf);
	close(other);
}

/* A grant of the core, used by the core itself. */
static void grant(struct rig *rig)
{
	struct drm_neuron_grant args = {
		.claim = rig->claim,
		.core = rig->core,
		.first = storm_dice(256),
		.count = 1,
	};
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE + storm_dice(100),
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
	};

	if (neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_GRANT, &args))
		return;
	window.from = DRM_NEURON_FROM_GRANT_FD;
	window.source = args.fd;
	rig_windows(rig, &window, 1);
	close(args.fd);
}

/* A job of a CC-core, beside what the core still runs. */
static bool one_cc_job(struct rig *rig)
{
	struct rig cc;
	bool fine;

	if (rig_open_cc(&cc, rig, storm_dice(2)))
		return true;
	fine = storm_one_job(&cc);
	rig_close(&cc);
	return fine;
}

/* Until it is killed; exits only when something is wrong. */
static void live(unsigned int seed, unsigned int devices)
{
	unsigned int steps;
	struct rig rig;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srand(seed);
	for (;;) {
		if (rig_open(&rig, storm_dice(devices), RIG_ANY_CORE)) {
			usleep(1000);
			continue;
		}
		for (steps = 1 + storm_dice(8); steps; steps--) {
			switch (storm_dice(7)) {
			case 0:
				copy(&rig);
				break;
			case 1:
				share(&rig, devices);
				break;
			case 2:
				grant(&rig);
				break;
			case 3:
				if (!one_cc_job(&rig))
					_exit(1);
				break;
			default:
				if (!storm_one_job(&rig))
					_exit(1);
			}
		}
		if (storm_dice(4))
			rig_release(rig.fd, rig.claim);
		rig_close(&rig);
	}
}

static int open_all(struct hammer *h)
{
	int fd;

	for (; h->devices < NEURON_MAX_NODES; h->devices++) {
		fd = neuron_open(h->devices);
		if (fd < 0)
			break;
		h->fd[h->devices] = fd;
		rig_usage(fd, &h->before[h->devices]);
		if (h->before[h->devices].live < 0) {
			fprintf(stderr, "hammer: debugfs must be mounted\n");
			return -1;
		}
	}
	if (!h->devices)
		fprintf(stderr, "hammer: no neuron device\n");
	return h->devices ? 0 : -1;
}

/* Kill process @i, if there is one; it must still be alive. */
static void end_process(struct hammer *h, unsigned int i)
{
	int status = 0;

	if (!h->pid[i])
		return;
	kill(h->pid[i], SIGKILL);
	waitpid(h->pid[i], &status, 0);
	h->pid[i] = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	h->wrong++;
	fprintf(stderr, "hammer: a process saw a job end wrongly (status %#x)\n",
		(unsigned int)status);
}

static int start_process(struct hammer *h, unsigned int i)
{
	unsigned int seed = h->seed * 1000003u + h->born++;

	h->pid[i] = fork();
	if (!h->pid[i])
		live(seed, h->devices);
	return h->pid[i] < 0 ? -1 : 0;
}

static int strike(struct hammer *h)
{
	int64_t end = rig_now_ms() + h->seconds * 1000ll;
	unsigned int i;

	for (i = 0; i < h->processes; i++)
		if (start_process(h, i))
			return -1;
	while (rig_now_ms() < end) {
		usleep(storm_dice(100000));
		i = storm_dice(h->processes);
		end_process(h, i);
		if (start_process(h, i))
			return -1;
	}
	for (i = 0; i < h->processes; i++)
		end_process(h, i);
	return 0;
}

/* Nothing left behind, and a core still works. */
static bool intact(struct hammer *h, unsigned int i)
{
	struct drm_neuron_wait_job result = { 0 };
	struct rig rig;
	int ret;

	if (rig_leaks(h->fd[i], &h->before[i])) {
		fprintf(stderr, "hammer: device %u: a leak\n", i);
		return false;
	}
	ret = rig_open(&rig, i, RIG_ANY_CORE);
	if (!ret) {
		storm_emit(&rig, STORM_WORK);
		ret = rig_run(&rig, 60000, &result);
		rig_close(&rig);
	}
	if (ret || result.status != NEURON_JOB_OK) {
		fprintf(stderr, "hammer: device %u does not work: error %d, status %u\n",
			i, ret, result.status);
		return false;
	}
	return true;
}

static unsigned int option(int argc, char **argv, const char *name,
			   unsigned int value)
{
	int i;

	for (i = 1; i + 1 < argc; i += 2)
		if (!strcmp(argv[i], name))
			value = (unsigned int)strtoul(argv[i + 1], NULL, 0);
	return value;
}

int main(int argc, char **argv)
{
	struct hammer h = {
		.seconds = option(argc, argv, "--seconds", 60),
		.processes = option(argc, argv, "--processes", 24),
		.seed = option(argc, argv, "--seed", 1),
	};
	unsigned int i;

	if (!h.processes || h.processes > MAX_PROCESSES || open_all(&h))
		return 1;
	srand(h.seed);
	if (strike(&h)) {
		perror("hammer: fork");
		return 1;
	}
	for (i = 0; i < h.devices; i++)
		h.wrong += !intact(&h, i);
	printf("# %u processes on %u devices, seed %u: %u things wrong\n",
	       h.born, h.devices, h.seed, h.wrong);
	return h.wrong ? 1 : 0;
}
