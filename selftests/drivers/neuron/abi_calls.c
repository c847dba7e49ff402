// SPDX-License-Identifier: MIT
/*
 * The table of all ioctls: a good call of each, and what spoils it.
 */
#include <string.h>

#include "abi_calls.h"
#include "neuron_test.h"

#define LIMIT	10000	/* ms */
#define NO_ID	4711	/* no handle, claim or syncobj of a fresh file */

static int good_query(struct abi *abi, void *arg)
{
	struct drm_neuron_query *query = arg;

	query->type = DRM_NEURON_QUERY_DEVICE;
	query->answer.stride = sizeof(struct drm_neuron_device_info);
	query->answer.count = 1;
	query->answer.pointer = (uintptr_t)abi->memory;
	return 0;
}

static int good_bo_create(struct abi *abi, void *arg)
{
	struct drm_neuron_bo_create *bo = arg;

	(void)abi;
	bo->size = 4096;
	bo->placement = DRM_NEURON_BO_HOST;
	return 0;
}

static int good_bo_import(struct abi *abi, void *arg)
{
	struct drm_neuron_bo_import *import = arg;

	import->user = (uintptr_t)abi->memory;
	import->size = 4096;
	return 0;
}

static int good_bo_info(struct abi *abi, void *arg)
{
	struct drm_neuron_bo_info *info = arg;

	info->handle = abi->rig.bo;
	return 0;
}

static int good_copy(struct abi *abi, void *arg)
{
	struct drm_neuron_copy *copy = arg;

	copy->direction = DRM_NEURON_COPY_TO_DEVICE;
	copy->handle = abi->rig.bo;
	copy->user = (uintptr_t)abi->memory;
	copy->size = 64;
	return 0;
}

static int good_claim(struct abi *abi, void *arg)
{
	struct drm_neuron_claim *claim = arg;

	(void)abi;
	claim->count = 1;
	return 0;
}

static int good_release(struct abi *abi, void *arg)
{
	struct drm_neuron_release *release = arg;

	release->claim = abi->rig.claim;
	return 0;
}

/* One window, onto the rig's buffer. */
static void good_window(struct abi *abi, struct drm_neuron_array *array)
{
	struct drm_neuron_window *window = (void *)abi->element;

	window->index = RIG_WINDOW_FREE;
	window->kind = DRM_NEURON_WINDOW_BO;
	window->rights = DRM_NEURON_WINDOW_READ;
	window->handle = abi->rig.bo;
	window->length = 4096;
	array->stride = sizeof(*window);
	array->count = 1;
	array->pointer = (uintptr_t)window;
}

static int good_windows(struct abi *abi, void *arg)
{
	struct drm_neuron_windows *windows = arg;

	windows->claim = abi->rig.claim;
	windows->core = abi->rig.core;
	good_window(abi, &windows->windows);
	return 0;
}

static int good_grant(struct abi *abi, void *arg)
{
	struct drm_neuron_grant *grant = arg;

	grant->claim = abi->rig.claim;
	grant->core = abi->rig.core;
	grant->count = 1;
	return 0;
}

static int good_grant_import(struct abi *abi, void *arg)
{
	struct drm_neuron_grant_import *import = arg;
	struct drm_neuron_grant grant = { 0 };
	int ret;

	good_grant(abi, &grant);
	ret = neuron_ioctl(abi->rig.fd, DRM_IOCTL_NEURON_GRANT, &grant);
	if (ret)
		return ret;
	if (abi->fd > 0)
		close(abi->fd);
	abi->fd = grant.fd;
	import->fd = grant.fd;
	return 0;
}

static int good_grant_close(struct abi *abi, void *arg)
{
	struct drm_neuron_grant_import import = { 0 };
	struct drm_neuron_grant_close *args = arg;
	int ret = good_grant_import(abi, &import);

	if (!ret)
		ret = neuron_ioctl(abi->rig.fd, DRM_IOCTL_NEURON_GRANT_IMPORT, &import);
	args->handle = import.handle;
	return ret;
}

static int good_events(struct abi *abi, void *arg)
{
	struct drm_neuron_events *events = arg;

	(void)abi;
	events->mask = 1;
	events->stride = sizeof(struct drm_neuron_event);
	return 0;
}

struct drm_neuron_submit *abi_put_submit(struct abi *abi, void *arg, struct drm_neuron_job *job)
{
	struct drm_neuron_submit *call = arg;
	struct rig_submit submit;

	rig_halt(&abi->rig, NEURON_ENGINE_SYNC);
	rig_prepare(&abi->rig, &submit, &abi->queue);
	*job = submit.job;
	*call = submit.call;
	rig_put_jobs(call, job, 1);
	return call;
}

/* A job with a queue that it does not trigger. */
static int good_submit(struct abi *abi, void *arg)
{
	rig_copy(&abi->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 64),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	abi_put_submit(abi, arg, (void *)abi->element);
	return 0;
}

static int good_submit_queues(struct abi *abi, void *arg)
{
	rig_copy(&abi->rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 64),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	abi_put_submit(abi, arg, &abi->job);
	memcpy(abi->element, &abi->queue, sizeof(abi->queue));
	abi->job.queues.pointer = (uintptr_t)abi->element;
	return 0;
}

static int good_submit_starts(struct abi *abi, void *arg)
{
	abi_put_submit(abi, arg, &abi->job);
	memcpy(abi->element, &abi->rig.start[NEURON_ENGINE_SYNC],
	       sizeof(struct drm_neuron_start));
	abi->job.starts.count = 1;
	abi->job.starts.pointer = (uintptr_t)abi->element;
	return 0;
}

static int good_submit_sem_clear(struct abi *abi, void *arg)
{
	abi_put_submit(abi, arg, &abi->job);
	abi->element[0] = ~0ull;
	abi->job.sem_clear.count = 1;
	abi->job.sem_clear.pointer = (uintptr_t)abi->element;
	return 0;
}

static int good_sync(struct abi *abi, struct drm_neuron_array *syncs,
		     uint32_t flags)
{
	struct drm_neuron_sync *sync = (void *)abi->element;
	struct drm_syncobj_create create = { .flags = flags };
	int ret = neuron_ioctl(abi->rig.fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	sync->handle = create.handle;
	syncs->stride = sizeof(*sync);
	syncs->count = 1;
	syncs->pointer = (uintptr_t)sync;
	return ret;
}

static int good_submit_in(struct abi *abi, void *arg)
{
	struct drm_neuron_submit *submit = abi_put_submit(abi, arg, &abi->job);

	return good_sync(abi, &submit->in_syncs, DRM_SYNCOBJ_CREATE_SIGNALED);
}

static int good_submit_out(struct abi *abi, void *arg)
{
	struct drm_neuron_submit *submit = abi_put_submit(abi, arg, &abi->job);

	return good_sync(abi, &submit->out_syncs, 0);
}

static int good_submit_windows(struct abi *abi, void *arg)
{
	abi_put_submit(abi, arg, &abi->job);
	good_window(abi, &abi->job.windows);
	return 0;
}

/* A job that is over. */
static int good_job(struct abi *abi, uint64_t *id)
{
	int64_t job;

	rig_halt(&abi->rig, NEURON_ENGINE_SYNC);
	job = rig_start(&abi->rig, LIMIT);
	if (job < 0)
		return (int)job;
	*id = (uint64_t)job;
	return rig_wait(&abi->rig, *id, LIMIT, NULL);
}

/* What it gives does not depend on the deadline. */
static int good_wait(struct abi *abi, void *arg)
{
	struct drm_neuron_wait *wait = arg;
	struct drm_neuron_wait_job *job = (void *)abi->element;
	uint64_t id = 0;
	int ret = good_job(abi, &id);

	job->job = id;
	job->claim = abi->rig.claim;
	job->core = abi->rig.core;
	wait->deadline_ns = INT64_MAX;
	wait->jobs.stride = sizeof(*job);
	wait->jobs.count = 1;
	wait->jobs.pointer = (uintptr_t)job;
	return ret;
}

static int good_reset(struct abi *abi, void *arg)
{
	struct drm_neuron_reset *reset = arg;

	reset->claim = abi->rig.claim;
	reset->core = abi->rig.core;
	return 0;
}

/* The dump of a job that runs into an instruction which is none. */
static int good_dump(struct abi *abi, void *arg)
{
	struct drm_neuron_dump *dump = arg;

	rig_emit(&abi->rig, NEURON_ENGINE_SYNC, NEURON_OP_ILLEGAL);
	dump->claim = abi->rig.claim;
	dump->core = abi->rig.core;
	dump->size = 64;
	dump->pointer = (uintptr_t)abi->memory;
	return rig_run(&abi->rig, LIMIT, NULL);
}

static int good_post(struct abi *abi, void *arg)
{
	struct drm_neuron_post *post = arg;
	struct drm_neuron_post_entry *entry = (void *)abi->element;

	entry->counter = DRM_NEURON_STATUS_SUCCESS;
	entry->add = 1;
	post->claim = abi->rig.claim;
	post->core = abi->rig.core;
	post->entries.stride = sizeof(*entry);
	post->entries.count = 1;
	post->entries.pointer = (uintptr_t)entry;
	return 0;
}

/* Of a job that is over: nothing happens. */
static int good_cancel(struct abi *abi, void *arg)
{
	struct drm_neuron_cancel *cancel = arg;
	uint64_t job = 0;
	int ret = good_job(abi, &job);

	cancel->claim = abi->rig.claim;
	cancel->core = abi->rig.core;
	cancel->job = job;
	return ret;
}

/* Half of the rig's buffer into the other half. */
static int good_transfer(struct abi *abi, void *arg)
{
	struct drm_neuron_transfer *transfer = arg;

	transfer->dst = abi->rig.bo;
	transfer->dst_offset = RIG_HALF;
	transfer->src = abi->rig.bo;
	transfer->bytes = 64;
	transfer->count[2] = 2;
	transfer->dst_step[2] = 4096;
	transfer->src_step[2] = 4096;
	return 0;
}

static int good_transfer_in(struct abi *abi, void *arg)
{
	struct drm_neuron_transfer *transfer = arg;

	good_transfer(abi, transfer);
	return good_sync(abi, &transfer->in_syncs, DRM_SYNCOBJ_CREATE_SIGNALED);
}

static int good_transfer_out(struct abi *abi, void *arg)
{
	struct drm_neuron_transfer *transfer = arg;

	good_transfer(abi, transfer);
	return good_sync(abi, &transfer->out_syncs, 0);
}

#define BAD_IN(type, field, is_element, v, e) { \
	.what = #field " = " #v, \
	.offset = offsetof(struct drm_neuron_##type, field), \
	.size = sizeof(((struct drm_neuron_##type *)0)->field), \
	.element = is_element, \
	.value = (uint64_t)(v), \
	.error = e, \
}
#define BAD(type, field, v, e)		BAD_IN(type, field, 0, v, e)
#define BAD_ELEMENT(type, field, v, e)	BAD_IN(type, field, 1, v, e)

/* In these calls a claim and a core of it are named. */
#define BAD_CLAIM(type) \
	BAD(type, claim, NO_ID, ENOENT), \
	BAD(type, core, 31, EINVAL), \
	BAD(type, core, 0xffffffff, EINVAL)

/* One window, wrong in any way. */
#define BAD_WINDOW \
	BAD_ELEMENT(window, index, 0x10000, EINVAL), \
	BAD_ELEMENT(window, kind, 2, EINVAL), \
	BAD_ELEMENT(window, kind, 0xffffffff, EINVAL), \
	BAD_ELEMENT(window, rights, 4, EINVAL), \
	BAD_ELEMENT(window, rights, 0x80000001, EINVAL), \
	BAD_ELEMENT(window, handle, NO_ID, ENOENT), \
	BAD_ELEMENT(window, offset, 2 * RIG_HALF, EINVAL), \
	BAD_ELEMENT(window, offset, -4, EINVAL), \
	BAD_ELEMENT(window, length, 2 * RIG_HALF + 4, EINVAL), \
	BAD_ELEMENT(window, from, DRM_NEURON_FROM_CORE, EINVAL), \
	BAD_ELEMENT(window, from, 0xffffffff, EINVAL), \
	BAD_ELEMENT(window, source, 1, EINVAL)

#define CALL(NAME, type, fill) \
	.name = #NAME, \
	.request = DRM_IOCTL_NEURON_##NAME, \
	.least = DRM_NEURON_##NAME##_SIZE_V2, \
	.good = fill

#define ARRAY(type, field, element) \
	.array = offsetof(struct drm_neuron_##type, field), \
	.element_size = sizeof(struct drm_neuron_##element)

const struct abi_call abi_calls[ABI_NR_ROWS] = {
	[ABI_QUERY] = {
		CALL(QUERY, query, good_query), .array = -1, .bad = {
			BAD(query, type, 1000, EINVAL),
			BAD(query, type, 0xffffffff, EINVAL),
			BAD(query, pad, 1, EINVAL),
			BAD(query, answer.stride, 0, EINVAL),
			BAD(query, answer.stride, DRM_NEURON_DEVICE_INFO_SIZE_V2 - 1, EINVAL),
			BAD(query, answer.stride, 4097, EINVAL),
			BAD(query, answer.pointer, 8, EFAULT),
		},
	},
	[ABI_BO_CREATE] = {
		CALL(BO_CREATE, bo_create, good_bo_create), .array = -1, .bad = {
			BAD(bo_create, size, 0, EINVAL),
			BAD(bo_create, size, -1, EINVAL),
			BAD(bo_create, size, -4096, ENOMEM),
			BAD(bo_create, placement, DRM_NEURON_BO_USER, EINVAL),
			BAD(bo_create, placement, 0xffffffff, EINVAL),
			BAD(bo_create, stack, 1, EINVAL),
			BAD(bo_create, stack, 0xffffffff, EINVAL),
			BAD(bo_create, flags, 0x80000000, EINVAL),
			BAD(bo_create, flags, 2, EINVAL),
			BAD(bo_create, category, DRM_NEURON_NR_CATEGORIES, EINVAL),
			BAD(bo_create, category, 0xffffffff, EINVAL),
			BAD(bo_create, pad, 1, EINVAL),
		},
	},
	[ABI_BO_IMPORT] = {
		CALL(BO_IMPORT, bo_import, good_bo_import), .array = -1, .bad = {
			BAD(bo_import, user, 8, EINVAL),
			BAD(bo_import, user, 4096, EFAULT),
			BAD(bo_import, user, -4096, EINVAL),
			BAD(bo_import, size, 0, EINVAL),
			BAD(bo_import, size, 4095, EINVAL),
			BAD(bo_import, size, -4096, EINVAL),
			BAD(bo_import, flags, 2, EINVAL),
			BAD(bo_import, flags, 0x80000000, EINVAL),
			BAD(bo_import, category, DRM_NEURON_NR_CATEGORIES, EINVAL),
			BAD(bo_import, pad, 1, EINVAL),
		},
	},
	[ABI_BO_INFO] = {
		CALL(BO_INFO, bo_info, good_bo_info), .array = -1, .bad = {
			BAD(bo_info, handle, 0, ENOENT),
			BAD(bo_info, handle, NO_ID, ENOENT),
			BAD(bo_info, pad, 1, EINVAL),
		},
	},
	[ABI_COPY] = {
		CALL(COPY, copy, good_copy), .array = -1, .bad = {
			BAD(copy, direction, 3, EINVAL),
			BAD(copy, handle, NO_ID, ENOENT),
			BAD(copy, offset, 2 * RIG_HALF, EINVAL),
			BAD(copy, offset, -32, EINVAL),
			BAD(copy, user, -32, EINVAL),
			BAD(copy, user, 8, EFAULT),
			BAD(copy, src_handle, 1, EINVAL),
			BAD(copy, src_offset, 64, EINVAL),
			BAD(copy, flags, 1, EINVAL),
			BAD(copy, flags, 0x80000000, EINVAL),
			BAD(copy, size, 2 * RIG_HALF + 1, EINVAL),
			BAD(copy, size, -1, EINVAL),
		},
	},
	[ABI_CLAIM] = {
		CALL(CLAIM, claim, good_claim), .array = -1, .bad = {
			BAD(claim, cores, 1, EINVAL),
			BAD(claim, cores, 1ull << 63, EINVAL),
			BAD(claim, count, 0, EINVAL),
			BAD(claim, count, 33, EINVAL),
			BAD(claim, flags, 2, EINVAL),
			BAD(claim, flags, 0x80000000, EINVAL),
			BAD(claim, align, 3, EINVAL),
			BAD(claim, align, 0x80000000, EINVAL),
		},
	},
	[ABI_RELEASE] = {
		CALL(RELEASE, release, good_release), .array = -1, .bad = {
			BAD(release, claim, NO_ID, ENOENT),
			BAD(release, pad, 1, EINVAL),
		},
	},
	[ABI_WINDOWS] = {
		CALL(WINDOWS, windows, good_windows),
		ARRAY(windows, windows, window), .bad = {
			BAD_CLAIM(windows),
			BAD(windows, windows.count, 0x10000, EINVAL),
			BAD_WINDOW,
		},
	},
	[ABI_GRANT] = {
		CALL(GRANT, grant, good_grant), .array = -1, .bad = {
			BAD_CLAIM(grant),
			BAD(grant, count, 0, EINVAL),
			BAD(grant, count, 257, EINVAL),
			BAD(grant, first, 256, EINVAL),
			BAD(grant, first, 0xffffffff, EINVAL),
			BAD(grant, flags, 4, EINVAL),
			BAD(grant, flags, 0x80000000, EINVAL),
		},
	},
	[ABI_SUBMIT] = {
		CALL(SUBMIT, submit, good_submit),
		ARRAY(submit, jobs, job), .element_least = DRM_NEURON_JOB_SIZE_V2,
		.empty = -EINVAL, .bad = {
			BAD(submit, claim, NO_ID, ENOENT),
			BAD(submit, flags, 2, EINVAL),
			BAD(submit, flags, 0x80000000, EINVAL),
			BAD(submit, jobs.count, 33, EINVAL),
			BAD_ELEMENT(job, core, 99, EINVAL),
			BAD_ELEMENT(job, flags, 1, EINVAL),
			BAD_ELEMENT(job, flags, 0x80000000, EINVAL),
			BAD_ELEMENT(job, starts.count, 6, EINVAL),
			BAD_ELEMENT(job, sem_clear.count, 5, EINVAL),
			BAD_ELEMENT(job, queues.count, 257, EINVAL),
			BAD_ELEMENT(job, notify_addr, 4096, EINVAL),
			BAD_ELEMENT(job, notify_size, 4096, EINVAL),
			BAD_ELEMENT(job, windows.count, 0x10000, EINVAL),
			BAD_ELEMENT(job, stream, NO_ID, EINVAL),
			BAD_ELEMENT(job, stream_offset, 16, EINVAL),
			BAD_ELEMENT(job, trace, NO_ID, EINVAL),
			BAD_ELEMENT(job, trace_offset, 64, EINVAL),
			BAD_ELEMENT(job, trace_size, 4096, EINVAL),
		},
	},
	[ABI_SUBMIT_STARTS] = {
		CALL(SUBMIT, submit, good_submit_starts),
		ARRAY(job, starts, start), .of_job = true, .bad = {
			BAD_ELEMENT(start, engine, 5, EINVAL),
			BAD_ELEMENT(start, engine, 0xffffffff, EINVAL),
			BAD_ELEMENT(start, addr, 4096, EINVAL),
		},
	},
	[ABI_SUBMIT_SEM_CLEAR] = {
		CALL(SUBMIT, submit, good_submit_sem_clear),
		.array = offsetof(struct drm_neuron_job, sem_clear),
		.element_size = sizeof(uint64_t), .of_job = true,
	},
	[ABI_SUBMIT_QUEUES] = {
		CALL(SUBMIT, submit, good_submit_queues),
		ARRAY(job, queues, queue), .of_job = true, .bad = {
			BAD_ELEMENT(queue, dma_engine, 16, EINVAL),
			BAD_ELEMENT(queue, queue, 16, EINVAL),
			BAD_ELEMENT(queue, flags, 2, EINVAL),
			BAD_ELEMENT(queue, flags, 0x80000000, EINVAL),
			BAD_ELEMENT(queue, m2s_length, 16, EINVAL),
			BAD_ELEMENT(queue, s2m_length, 33, EINVAL),
			BAD_ELEMENT(queue, m2s_ring, 4096, EINVAL),
			BAD_ELEMENT(queue, s2m_ring, 4096, EINVAL),
		},
	},
	[ABI_SUBMIT_IN_SYNCS] = {
		CALL(SUBMIT, submit, good_submit_in),
		ARRAY(submit, in_syncs, sync), .bad = {
			BAD(submit, in_syncs.count, 65, EINVAL),
			BAD_ELEMENT(sync, handle, NO_ID, ENOENT),
			BAD_ELEMENT(sync, flags, 2, EINVAL),
			BAD_ELEMENT(sync, point, 5, EINVAL),
		},
	},
	[ABI_SUBMIT_OUT_SYNCS] = {
		CALL(SUBMIT, submit, good_submit_out),
		ARRAY(submit, out_syncs, sync), .bad = {
			BAD(submit, out_syncs.count, 65, EINVAL),
			BAD_ELEMENT(sync, handle, NO_ID, ENOENT),
			BAD_ELEMENT(sync, flags, 1, EINVAL),
		},
	},
	[ABI_SUBMIT_WINDOWS] = {
		CALL(SUBMIT, submit, good_submit_windows),
		ARRAY(job, windows, window), .of_job = true, .bad = {
			BAD_WINDOW,
		},
	},
	[ABI_WAIT] = {
		CALL(WAIT, wait, good_wait), ARRAY(wait, jobs, wait_job),
		.empty = -EINVAL, .bad = {
			BAD(wait, flags, 2, EINVAL),
			BAD(wait, flags, 0x80000000, EINVAL),
			BAD(wait, jobs.count, 1025, EINVAL),
			BAD_ELEMENT(wait_job, claim, NO_ID, ENOENT),
			BAD_ELEMENT(wait_job, core, 31, EINVAL),
			BAD_ELEMENT(wait_job, core, 0xffffffff, EINVAL),
			BAD_ELEMENT(wait_job, job, 0, ENOENT),
			BAD_ELEMENT(wait_job, job, -1, ENOENT),
		},
	},
	[ABI_RESET] = {
		CALL(RESET, reset, good_reset), .array = -1, .bad = {
			BAD_CLAIM(reset),
		},
	},
	[ABI_CANCEL] = {
		CALL(CANCEL, cancel, good_cancel), .array = -1, .bad = {
			BAD_CLAIM(cancel),
			BAD(cancel, job, 0, ENOENT),
			BAD(cancel, job, -1, ENOENT),
		},
	},
	[ABI_DUMP] = {
		CALL(DUMP, dump, good_dump), .array = -1, .bad = {
			BAD_CLAIM(dump),
			BAD(dump, flags, 2, EINVAL),
			BAD(dump, flags, 0x80000000, EINVAL),
			BAD(dump, pointer, 8, EFAULT),
		},
	},
	[ABI_POST] = {
		CALL(POST, post, good_post),
		ARRAY(post, entries, post_entry), .bad = {
			BAD_CLAIM(post),
			BAD(post, entries.count, 65, EINVAL),
			BAD_ELEMENT(post_entry, counter,
				    DRM_NEURON_NR_STATUS_COUNTERS, EINVAL),
			BAD_ELEMENT(post_entry, counter, 0xffffffff, EINVAL),
			BAD_ELEMENT(post_entry, pad, 1, EINVAL),
		},
	},
	[ABI_GRANT_IMPORT] = {
		CALL(GRANT_IMPORT, grant_import, good_grant_import), .array = -1, .bad = {
			BAD(grant_import, fd, -1, EBADF),
			BAD(grant_import, fd, 0x7fffffff, EBADF),
		},
	},
	[ABI_GRANT_CLOSE] = {
		CALL(GRANT_CLOSE, grant_close, good_grant_close), .array = -1, .bad = {
			BAD(grant_close, handle, 0, ENOENT),
			BAD(grant_close, handle, NO_ID, ENOENT),
			BAD(grant_close, pad, 1, EINVAL),
		},
	},
	[ABI_EVENTS] = {
		CALL(EVENTS, events, good_events), .array = -1, .bad = {
			BAD(events, mask, 0, EINVAL),
			BAD(events, mask, 1u << DRM_NEURON_NR_EVENT_TYPES, EINVAL),
			BAD(events, flags, 2, EINVAL),
			BAD(events, mask, 1ull << 63, EINVAL),
			BAD(events, stride, 0, EINVAL),
			BAD(events, stride, DRM_NEURON_EVENT_SIZE_V2 - 1, EINVAL),
			BAD(events, stride, 4097, EINVAL),
			BAD(events, pad, 1, EINVAL),
		},
	},
	[ABI_TRANSFER] = {
		CALL(TRANSFER, transfer, good_transfer), .array = -1, .bad = {
			BAD(transfer, dst, 0, ENOENT),
			BAD(transfer, dst, NO_ID, ENOENT),
			BAD(transfer, src, 0, ENOENT),
			BAD(transfer, src, NO_ID, ENOENT),
			BAD(transfer, dst_offset, 2 * RIG_HALF - 4096 - 63, EINVAL),
			BAD(transfer, dst_offset, -64, EINVAL),
			BAD(transfer, src_offset, 2 * RIG_HALF - 4096 - 63, EINVAL),
			BAD(transfer, src_offset, -64, EINVAL),
			BAD(transfer, bytes, 0, EINVAL),
			BAD(transfer, bytes, -1, EINVAL),
			BAD(transfer, count[0], 1ull << 32, E2BIG),
			BAD(transfer, count[1], -1, E2BIG),
			BAD(transfer, count[2], -1, EINVAL),
			BAD(transfer, dst_step[2], -64, EINVAL),
			BAD(transfer, src_step[2], 2 * RIG_HALF, EINVAL),
			BAD(transfer, fill, 1, EINVAL),
			BAD(transfer, flags, DRM_NEURON_TRANSFER_FILL, EINVAL),
			BAD(transfer, flags, 0x80000000, EINVAL),
			BAD(transfer, queue, 1 << 20, EINVAL),
			BAD(transfer, queue, -1, EINVAL),
		},
	},
	[ABI_TRANSFER_IN_SYNCS] = {
		CALL(TRANSFER, transfer, good_transfer_in),
		ARRAY(transfer, in_syncs, sync), .bad = {
			BAD(transfer, in_syncs.count, 65, EINVAL),
			BAD_ELEMENT(sync, handle, NO_ID, ENOENT),
			BAD_ELEMENT(sync, flags, 2, EINVAL),
			BAD_ELEMENT(sync, point, 1, EINVAL),
		},
	},
	[ABI_TRANSFER_OUT_SYNCS] = {
		CALL(TRANSFER, transfer, good_transfer_out),
		ARRAY(transfer, out_syncs, sync), .bad = {
			BAD(transfer, out_syncs.count, 65, EINVAL),
			BAD_ELEMENT(sync, handle, NO_ID, ENOENT),
			BAD_ELEMENT(sync, flags, 1, EINVAL),
		},
	},
	[ABI_SERIES] = {
		CALL(SERIES, series, abi_good_series), .array = -1, .bad = {
			BAD(series, members, 0, EINVAL),
			BAD(series, members, DRM_NEURON_SERIES_MEMBERS + 1, EINVAL),
			BAD(series, members, 0xffffffff, EINVAL),
			BAD(series, flags, 1, EINVAL),
			BAD(series, flags, 0x80000000, EINVAL),
			BAD(series, pad, 1, EINVAL),
		},
	},
	[ABI_SERIES_IMPORT] = {
		CALL(SERIES_IMPORT, series_import, abi_good_series_import), .array = -1, .bad = {
			BAD(series_import, fd, -1, EBADF),
			BAD(series_import, fd, 0, EBADF),
			BAD(series_import, fd, 0x7fffffff, EBADF),
		},
	},
	[ABI_SERIES_CLOSE] = {
		CALL(SERIES_CLOSE, series_close, abi_good_series_close), .array = -1, .bad = {
			BAD(series_close, handle, 0, ENOENT),
			BAD(series_close, handle, NO_ID, ENOENT),
			BAD(series_close, pad, 1, EINVAL),
		},
	},
	[ABI_SUBMIT_SERIES] = {
		CALL(SUBMIT, submit, abi_good_submit_series),
		ARRAY(submit, jobs, job), .element_least = DRM_NEURON_JOB_SIZE_V2,
		.empty = -EINVAL, .bad = {
			BAD_ELEMENT(job, series, 0, EINVAL),
			BAD_ELEMENT(job, series, NO_ID, ENOENT),
			BAD_ELEMENT(job, series, 0xffffffff, ENOENT),
			BAD_ELEMENT(job, member, 1, EINVAL),
			BAD_ELEMENT(job, member, 0xffffffff, EINVAL),
			BAD_ELEMENT(job, group, 0, EINVAL),
			BAD_ELEMENT(job, group, DRM_NEURON_SERIES_STEP + 1, EINVAL),
			BAD_ELEMENT(job, group, -1, EINVAL),
		},
	},
	[ABI_TIMES] = {
		CALL(TIMES, times, abi_good_times), .array = -1, .bad = {
			BAD_CLAIM(times),
			BAD(times, job, 0, ENOENT),
			BAD(times, job, -1, ENOENT),
			BAD(times, pad, 1, EINVAL),
		},
	},
};

struct drm_neuron_array *abi_array(const struct abi_call *call, struct abi *abi,
				   void *arg)
{
	uint8_t *in = call->of_job ? (uint8_t *)&abi->job : arg;

	return (struct drm_neuron_array *)(void *)(in + call->array);
}

int abi_open(struct abi *abi)
{
	int ret;

	memset(abi, 0, sizeof(*abi));
	ret = rig_open(&abi->rig, 0, RIG_ANY_CORE);
	if (ret)
		return ret;
	rig_clear(&abi->rig);
	abi->memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (abi->memory != MAP_FAILED)
		return 0;
	rig_close(&abi->rig);
	return -ENOMEM;
}

void abi_close(struct abi *abi)
{
	munmap(abi->memory, 4096);
	if (abi->fd > 0)
		close(abi->fd);
	rig_close(&abi->rig);
}

bool abi_can(enum abi_row row)
{
	uint64_t arg[ABI_MAX_ARG / 8] = { 0 };
	struct abi abi;
	int ret;

	if (row != ABI_BO_IMPORT || abi_open(&abi))
		return true;
	abi_calls[row].good(&abi, arg);
	ret = neuron_ioctl(abi.rig.fd, abi_calls[row].request, arg);
	abi_close(&abi);
	return ret != -EOPNOTSUPP;
}

uint32_t abi_size(unsigned long request)
{
	return (uint32_t)_IOC_SIZE(request);
}

unsigned long abi_resize(unsigned long request, uint32_t size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request),
		    size);
}
