// SPDX-License-Identifier: MIT
/*
 * What the tests of transfers share.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "neuron_test.h"
#include "transfer_rig.h"

#define LONG	300000	/* ms, of what does not end by itself */
#define FEED_MS	10000	/* to fill a queue */

int transfer_bo(int fd, enum transfer_place place, uint32_t *handle)
{
	struct drm_neuron_bo_create bo;
	int ret = neuron_bo_create(fd, place == TRANSFER_HOST ? DRM_NEURON_BO_HOST :
				   DRM_NEURON_BO_HBM, place == TRANSFER_HBM1,
				   TRANSFER_SIZE, &bo);

	*handle = bo.handle;
	return ret;
}

int transfer_import(int fd, void *memory, uint32_t flags, uint32_t *handle)
{
	struct drm_neuron_bo_import import = {
		.user = (uintptr_t)memory,
		.size = TRANSFER_SIZE,
		.flags = flags,
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_IMPORT, &import);

	*handle = import.handle;
	return ret;
}

int transfer_submit(int fd, struct drm_neuron_transfer *args, uint32_t in,
		    uint32_t out)
{
	struct drm_neuron_sync wait = { .handle = in };
	struct drm_neuron_sync signal = { .handle = out };

	args->in_syncs = (struct drm_neuron_array){
		sizeof(wait), !!in, (uintptr_t)&wait,
	};
	args->out_syncs = (struct drm_neuron_array){
		sizeof(signal), !!out, (uintptr_t)&signal,
	};
	return neuron_ioctl(fd, DRM_IOCTL_NEURON_TRANSFER, args);
}

int transfer_wait(int fd, uint64_t transfer, struct drm_neuron_wait_job *result)
{
	struct drm_neuron_wait_job job = {
		.claim = DRM_NEURON_NO_CLAIM,
		.job = transfer,
	};
	int ret = rig_wait_jobs(fd, &job, 1, 0, TRANSFER_LIMIT);

	if (result)
		*result = job;
	return ret;
}

uint64_t transfer_bytes(const struct drm_neuron_transfer *args)
{
	uint64_t bytes = args->bytes;
	int i;

	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		bytes *= args->count[i] ? args->count[i] : 1;
	return bytes;
}

int transfer_run(int fd, struct drm_neuron_transfer *args)
{
	struct drm_neuron_wait_job result;
	int ret = transfer_submit(fd, args, 0, 0);

	if (!ret)
		ret = transfer_wait(fd, args->transfer, &result);
	if (ret)
		return ret;
	if (result.status != DRM_NEURON_JOB_OK || result.cause)
		return -EIO;
	return result.dma_bytes == transfer_bytes(args) ? 0 : -ENODATA;
}

int transfer_endless_on(struct rig *rig, unsigned int device, int fd, uint32_t *handle)
{
	struct drm_syncobj_handle args = { 0 };
	struct rig_submit submit;
	struct drm_neuron_sync out;
	int ret = rig_open(rig, device, RIG_ANY_CORE);

	if (ret)
		return ret;
	ret = rig_syncobj_create(rig->fd, &out.handle);
	if (ret)
		return ret;
	rig_loop(rig, NEURON_ENGINE_SYNC, 0);
	rig_prepare(rig, &submit, NULL);
	submit.job.timeout_ms = LONG;
	out.flags = 0;
	out.point = 0;
	submit.call.out_syncs = (struct drm_neuron_array){ sizeof(out), 1, (uintptr_t)&out };
	ret = rig_submit(rig, &submit);
	if (ret)
		return ret;
	args.handle = out.handle;
	ret = neuron_ioctl(rig->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);
	if (ret)
		return ret;
	ret = neuron_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
	close(args.fd);
	*handle = args.handle;
	return ret;
}

int transfer_endless(struct rig *rig, int fd, uint32_t *handle)
{
	return transfer_endless_on(rig, 0, fd, handle);
}

void transfer_endless_end(struct rig *rig)
{
	uint8_t *branch = rig->map + RIG_IMAGE(NEURON_ENGINE_SYNC);

	branch[offsetof(struct neuron_inst, op0)] = 0;
	branch[0] = NEURON_OP_HALT;
}

static void *feed(void *arg)
{
	struct transfer_feeder *feeder = arg;
	int ret;

	do {
		ret = transfer_submit(feeder->fd, &feeder->args, 0, 0);
		if (!ret) {
			feeder->id[feeder->nr++ % TRANSFER_LOOKED_AT] = feeder->args.transfer;
			atomic_store(&feeder->fed, true);
		}
		if (ret == -EBUSY) {
			atomic_store(&feeder->full, true);
			usleep(1000);
		}
	} while (!ret || ret == -EBUSY);
	feeder->error = ret;
	atomic_store(&feeder->full, true);
	return NULL;
}

int transfer_feed(struct transfer_feeder *feeder)
{
	/* A debug kernel may fill the queue no faster than the device empties it. */
	const int64_t end = rig_now_ms() + FEED_MS;
	int ret;

	atomic_init(&feeder->full, false);
	atomic_init(&feeder->fed, false);
	feeder->nr = 0;
	feeder->error = 0;
	ret = pthread_create(&feeder->thread, NULL, feed, feeder);
	if (ret)
		return -ret;
	while (!atomic_load(&feeder->full) && rig_now_ms() < end)
		usleep(1000);
	feeder->was_full = atomic_load(&feeder->full);
	return atomic_load(&feeder->fed) ? 0 : -ETIMEDOUT;
}

int transfer_feed_end(struct transfer_feeder *feeder)
{
	return -pthread_join(feeder->thread, NULL);
}

int transfer_feed_failed(const struct transfer_feeder *feeder)
{
	uint64_t i = feeder->nr > TRANSFER_LOOKED_AT ? feeder->nr - TRANSFER_LOOKED_AT : 0;
	struct drm_neuron_wait_job job;
	int failed = 0, ret;

	for (; i < feeder->nr; i++) {
		ret = transfer_wait(feeder->fd, feeder->id[i % TRANSFER_LOOKED_AT], &job);
		if (ret)
			return ret;
		if (job.status == DRM_NEURON_JOB_ABORTED)
			failed++;
		else if (job.status != DRM_NEURON_JOB_OK || failed ||
			 job.dma_bytes != transfer_bytes(&feeder->args))
			return -EPROTO;
	}
	return failed;
}

int transfer_open(struct transfer_rig *t)
{
	enum transfer_place i;
	int ret;

	*t = (struct transfer_rig){ .rig = { .fd = -1 } };
	t->fd = neuron_open(0);
	if (t->fd < 0)
		return t->fd;
	rig_usage(t->fd, &t->before);
	t->user = mmap(NULL, TRANSFER_SIZE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	t->model = malloc(TRANSFER_SIZE);
	t->data = malloc(TRANSFER_SIZE);
	if (t->user == MAP_FAILED || !t->model || !t->data)
		return -ENOMEM;
	ret = neuron_query(t->fd, DRM_NEURON_QUERY_LIMITS, &t->limits, sizeof(t->limits));
	for (i = TRANSFER_HBM0; !ret && i < TRANSFER_USER; i++)
		ret = transfer_bo(t->fd, i, &t->bo[i]);
	if (!ret)
		ret = transfer_import(t->fd, t->user, 0, &t->bo[TRANSFER_USER]);
	if (ret == -EOPNOTSUPP) {
		t->bo[TRANSFER_USER] = 0;	/* bounce buffers */
		ret = 0;
	}
	return ret;
}

bool transfer_close(struct transfer_rig *t)
{
	bool leaks;
	int fd;

	if (t->rig.fd >= 0)
		rig_close(&t->rig);
	close(t->fd);
	munmap(t->user, TRANSFER_SIZE);
	free(t->model);
	free(t->data);
	fd = neuron_open(0);
	leaks = fd < 0 || rig_leaks(fd, &t->before);
	if (fd >= 0)
		close(fd);
	return leaks;
}
