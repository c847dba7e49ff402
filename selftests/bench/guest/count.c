// SPDX-License-Identifier: MIT
/*
 * Work of the driver whose cost is counted in instructions of the guest, not timed. Under
 * QEMU's counting plugin each mark is written down with the instructions so far; without
 * it this program only does the work.
 *
 *	count booted | loaded	one mark: what a shell does before and after
 *	count work		everything else
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job_rig.h"
#include "mark.h"
#include "neuron_test.h"

#define ROUNDS		200
#define LARGE_ROUNDS	20
#define BLOCK		((size_t)4096)
#define LARGE		((size_t)64 << 20)

static int failed(const char *what, int ret)
{
	fprintf(stderr, "count: %s: %s\n", what, strerror(-ret));
	return -1;
}

static int count_jobs(void)
{
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	struct drm_neuron_wait_job result;
	struct rig rig;
	int i, ret;

	ret = rig_open(&rig, 0, RIG_ANY_CORE);
	if (ret)
		return failed("cannot claim a core", ret);
	rig_clear(&rig);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	for (i = 0; !ret && i < ROUNDS; i++) {
		rig_prepare(&rig, &submit, &queue);
		MARK(MARK_JOB);
		ret = rig_submit(&rig, &submit);
		if (!ret)
			ret = rig_wait(&rig, submit.call.job, 10000, &result);
		MARK(MARK_JOB_END);
		if (!ret && result.status != NEURON_JOB_OK)
			ret = -EIO;
	}
	rig_close(&rig);
	return ret ? failed("an empty job", ret) : 0;
}

static int count_copies(int fd, uint32_t dst, uint32_t src)
{
	static char block[BLOCK];
	int i, ret = 0;

	for (i = 0; !ret && i < ROUNDS; i++) {
		MARK(MARK_COPY_4K);
		ret = neuron_bo_copy(fd, dst, 0, src, 0, BLOCK);
		MARK(MARK_COPY_4K_END);
	}
	for (i = 0; !ret && i < ROUNDS; i++) {
		MARK(MARK_WRITE_4K);
		ret = neuron_write(fd, dst, 0, block, BLOCK);
		MARK(MARK_WRITE_4K_END);
	}
	for (i = 0; !ret && i < LARGE_ROUNDS; i++) {
		MARK(MARK_COPY_64M);
		ret = neuron_bo_copy(fd, dst, 0, src, 0, LARGE);
		MARK(MARK_COPY_64M_END);
	}
	return ret ? failed("a copy", ret) : 0;
}

static int count_opens(void)
{
	int i, fd;

	for (i = 0; i < ROUNDS; i++) {
		MARK(MARK_OPEN);
		fd = neuron_open(0);
		if (fd >= 0)
			close(fd);
		MARK(MARK_OPEN_END);
		if (fd < 0)
			return failed("cannot open the device", fd);
	}
	return 0;
}

static int work(void)
{
	struct drm_neuron_bo_create dst, src;
	int fd = neuron_open(0), ret;

	if (fd < 0)
		return failed("cannot open the device", fd);
	ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, LARGE, &dst);
	if (!ret)
		ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, LARGE, &src);
	ret = ret ? failed("no memory for the copies", ret) :
		    count_copies(fd, dst.handle, src.handle);
	close(fd);
	if (!ret)
		ret = count_opens();
	return ret ? ret : count_jobs();
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "booted")) {
		MARK(MARK_BOOTED);
		return EXIT_SUCCESS;
	}
	if (!strcmp(what, "loaded")) {
		MARK(MARK_LOADED);
		return EXIT_SUCCESS;
	}
	if (!strcmp(what, "work"))
		return work() ? EXIT_FAILURE : EXIT_SUCCESS;
	fprintf(stderr, "usage: count booted|loaded|work\n");
	return EXIT_FAILURE;
}
