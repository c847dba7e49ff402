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
#define WINDOW_ROUNDS	5
#define WINDOWS		(NEURON_MAX_WINDOWS - RIG_WINDOW_FREE)
#define CHANGED		10000
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

/* Each shows another page of buffer @handle, or nothing. */
static void make_windows(struct drm_neuron_window *windows, uint32_t handle, uint32_t shift)
{
	uint32_t i;

	for (i = 0; i < WINDOWS; i++) {
		windows[i] = (struct drm_neuron_window){ .index = RIG_WINDOW_FREE + i };
		if (!handle)
			continue;
		windows[i].kind = DRM_NEURON_WINDOW_BO;
		windows[i].rights = DRM_NEURON_WINDOW_READ;
		windows[i].handle = handle;
		windows[i].offset = (i + shift) * (uint64_t)BLOCK;
		windows[i].length = BLOCK;
	}
}

static int count_rig_windows(struct rig *rig)
{
	static struct drm_neuron_window windows[WINDOWS];
	struct drm_neuron_bo_create bo;
	int i, ret;

	ret = neuron_bo_create(rig->fd, DRM_NEURON_BO_HBM, 0, (WINDOWS + 1) * BLOCK, &bo);
	for (i = 0; !ret && i < WINDOW_ROUNDS; i++) {
		make_windows(windows, bo.handle, 0);
		MARK(MARK_BIND);
		ret = rig_windows(rig, windows, WINDOWS);
		MARK(MARK_BIND_END);
		make_windows(windows, bo.handle, 1);
		MARK(MARK_CHANGE);
		if (!ret)
			ret = rig_windows(rig, windows, CHANGED);
		MARK(MARK_CHANGE_END);
		make_windows(windows, 0, 0);
		if (!ret)
			ret = rig_windows(rig, windows, WINDOWS);
	}
	return ret;
}

static int count_windows(void)
{
	struct rig rig;
	int ret = rig_open(&rig, 0, RIG_ANY_CORE);

	if (ret)
		return failed("cannot claim a core", ret);
	ret = count_rig_windows(&rig);
	rig_close(&rig);
	return ret ? failed("windows", ret) : 0;
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
	if (!ret)
		ret = count_windows();
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
