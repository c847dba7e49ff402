// SPDX-License-Identifier: MIT
/*
 * Processes that use a device while something happens to it.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_rig.h"
#include "load_rig.h"
#include "neuron_test.h"

#define BYTES	(4ull << 20)

static volatile sig_atomic_t enough;
/* What a rig writes to may have gone. */
static sigjmp_buf lost;

static void stop(int sig)
{
	enough = sig;
}

static void jump(int sig)
{
	siglongjmp(lost, sig);
}

int load_faults(const unsigned char *map)
{
	int fds[2], ret;

	if (pipe(fds))
		return 0;
	ret = write(fds[1], map, 1) < 0 && errno == EFAULT;
	close(fds[0]);
	close(fds[1]);
	return ret;
}

/* A job that runs until it is aborted. */
static int load_jobs(unsigned int device)
{
	static struct rig rig;
	int64_t job = -EIO;
	int ret;

	ret = rig_open(&rig, device, RIG_ANY_CORE);
	if (ret)
		return ret;
	if (!sigsetjmp(lost, 1)) {
		rig_clear(&rig);
		rig_loop(&rig, NEURON_ENGINE_VECTOR, 0);
		job = rig_start(&rig, 600000);
	}
	ret = job < 0 ? (int)job : rig_wait(&rig, job, 200, NULL);
	rig_close(&rig);
	return ret;
}

static int load_copies(unsigned int device)
{
	static uint8_t p[BYTES];
	struct drm_neuron_bo_create bo;
	int fd = neuron_open(device), ret;

	if (fd < 0)
		return fd;
	ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES, &bo);
	if (!ret)
		ret = neuron_write(fd, bo.handle, 1, p, BYTES - 1);
	if (!ret)
		ret = neuron_read(fd, bo.handle, 1, p, BYTES - 1);
	close(fd);
	return ret;
}

/* Some of them are waited for, the others are under way when the file is closed. */
static int transfer_many(int fd)
{
	struct drm_neuron_transfer args = {
		.bytes = BYTES / 512,
		.count = { 512 },
		.dst_step = { BYTES / 512 },
		.src_step = { BYTES / 512 },
	};
	struct drm_neuron_wait_job job = { .claim = DRM_NEURON_NO_CLAIM };
	struct drm_neuron_bo_create bo[2];
	int ret, i;

	ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES, &bo[0]);
	if (!ret)
		ret = neuron_bo_create(fd, DRM_NEURON_BO_HOST, 0, BYTES, &bo[1]);
	for (i = 0; !ret && i < 8; i++) {
		args.dst = bo[i % 2].handle;
		args.src = bo[!(i % 2)].handle;
		ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_TRANSFER, &args);
		if (i == 3)
			job.job = args.transfer;
	}
	return ret ? ret : rig_wait_jobs(fd, &job, 1, 0, 60000);
}

static int load_transfers(unsigned int device)
{
	int fd = neuron_open(device), ret;

	if (fd < 0)
		return fd;
	ret = transfer_many(fd);
	close(fd);
	return ret;
}

static int load_mappings(unsigned int device)
{
	struct drm_neuron_bo_create bo;
	int fd = neuron_open(device), ret;
	uint8_t *map = MAP_FAILED;
	uint64_t at;

	if (fd < 0)
		return fd;
	ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES, &bo);
	if (!ret)
		map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   (off_t)bo.mmap_offset);
	for (at = 0; map != MAP_FAILED && at < BYTES; at += 4096)
		load_faults(map + at);
	if (map != MAP_FAILED)
		munmap(map, BYTES);
	close(fd);
	return ret;
}

static int load_opening(unsigned int device)
{
	int fd = neuron_open(device);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int (* const loads_of[NR_LOADS])(unsigned int device) = {
	load_jobs, load_jobs, load_copies, load_transfers, load_mappings, load_opening,
};

int load_allows(int ret)
{
	return !ret || ret == -EIO || ret == -EBUSY || ret == -ETIMEDOUT ||
	       ret == -EINTR || ret == -ENODEV;
}

static void run(int (*load)(unsigned int device), unsigned int device)
{
	int ret = 0;

	signal(SIGTERM, stop);
	signal(SIGBUS, jump);
	while (!enough && load_allows(ret))
		ret = load(device);
	if (!load_allows(ret))
		fprintf(stderr, "# load: %s\n", strerror(-ret));
	_exit(!load_allows(ret));
}

int loads_start(struct loads *loads, unsigned int device)
{
	int i;

	for (i = 0; i < NR_LOADS; i++) {
		loads->pid[i] = fork();
		if (loads->pid[i] < 0)
			return -errno;
		if (!loads->pid[i])
			run(loads_of[i], device);
	}
	return 0;
}

int loads_stop(struct loads *loads)
{
	int i, status, bad = 0;

	for (i = 0; i < NR_LOADS; i++)
		kill(loads->pid[i], SIGTERM);
	for (i = 0; i < NR_LOADS; i++)
		bad += waitpid(loads->pid[i], &status, 0) != loads->pid[i] ||
		       status;
	return bad;
}
