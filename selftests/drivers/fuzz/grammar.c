// SPDX-License-Identifier: MIT
/*
 * The grammar: one row for each field.
 */
#include <fcntl.h>
#include <string.h>

#include "grammar.h"
#include "neuron/job.h"

#define NR(array)		(sizeof(array) / sizeof(*(array)))

#define ONE(type, member, kind, arg) \
	{ #member, FUZZ_##kind, 1, offsetof(struct type, member), \
	  sizeof(((struct type *)NULL)->member), arg, NULL }
#define WORDS(type, member, of, most) { \
	.name = #member, \
	.kind = FUZZ_##of, \
	.offset = offsetof(struct type, member), \
	.repeat = sizeof(((struct type *)NULL)->member) / sizeof(uint64_t), \
	.size = sizeof(uint64_t), \
	.arg = most, \
}
#define ARRAY(type, member, max, element) \
	{ #member, FUZZ_ARRAY, 1, offsetof(struct type, member), \
	  sizeof(struct drm_neuron_array), max, &element##_struct }
#define PART(type, member, element) \
	{ #member, FUZZ_STRUCT, 1, offsetof(struct type, member), sizeof(struct element), 0, \
	  &element##_struct }
#define STRUCT(type) \
	static const struct fuzz_struct type##_struct = { \
		.name = #type, \
		.size = sizeof(struct type), \
		.nr_fields = NR(type##_fields), \
		.fields = type##_fields, \
	}

/* Elements of arrays */

static const struct fuzz_field drm_neuron_window_fields[] = {
	ONE(drm_neuron_window, index, COUNT, 8),
	ONE(drm_neuron_window, kind, ENUM, DRM_NEURON_WINDOW_GRANT + 1),
	ONE(drm_neuron_window, rights, FLAGS, DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE),
	ONE(drm_neuron_window, handle, USE, FUZZ_BO),
	ONE(drm_neuron_window, offset, OFFSET, 4),
	ONE(drm_neuron_window, length, SIZE, 0),
	ONE(drm_neuron_window, from, ENUM, DRM_NEURON_FROM_GRANT + 1),
	ONE(drm_neuron_window, source, USE, FUZZ_NO_RESOURCE),
};

STRUCT(drm_neuron_window);

static const struct fuzz_field drm_neuron_start_fields[] = {
	ONE(drm_neuron_start, addr, ADDRESS, 0),
	ONE(drm_neuron_start, count, COUNT, 4),
	ONE(drm_neuron_start, engine, ENUM, DRM_NEURON_ENGINE_SYNC + 1),
};

STRUCT(drm_neuron_start);

static const struct fuzz_field fuzz_word_fields[] = {
	ONE(fuzz_word, bits, MASK, 0),
};

STRUCT(fuzz_word);

static const struct fuzz_field drm_neuron_queue_fields[] = {
	ONE(drm_neuron_queue, m2s_ring, ADDRESS, 0),
	ONE(drm_neuron_queue, s2m_ring, ADDRESS, 0),
	ONE(drm_neuron_queue, m2s_length, OFFSET, 16),
	ONE(drm_neuron_queue, s2m_length, OFFSET, 16),
	ONE(drm_neuron_queue, dma_engine, COUNT, 16),
	ONE(drm_neuron_queue, queue, COUNT, 16),
	ONE(drm_neuron_queue, flags, FLAGS, DRM_NEURON_QUEUE_ANY_RING_ID |
	    DRM_NEURON_QUEUE_PRIORITY),
};

STRUCT(drm_neuron_queue);

static const struct fuzz_field drm_neuron_sync_fields[] = {
	ONE(drm_neuron_sync, handle, USE, FUZZ_SYNC),
	ONE(drm_neuron_sync, flags, FLAGS, DRM_NEURON_SYNC_IGNORE_ERROR),
	ONE(drm_neuron_sync, point, COUNT, 4),
};

STRUCT(drm_neuron_sync);

static const struct fuzz_field drm_neuron_job_fields[] = {
	ONE(drm_neuron_job, core, USE, FUZZ_CORE),
	ONE(drm_neuron_job, flags, ZERO, 0),
	ARRAY(drm_neuron_job, starts, 5, drm_neuron_start),
	ARRAY(drm_neuron_job, queues, 3, drm_neuron_queue),
	ARRAY(drm_neuron_job, sem_clear, 4, fuzz_word),
	ONE(drm_neuron_job, notify_addr, ADDRESS, 0),
	ONE(drm_neuron_job, notify_size, SIZE, 0),
	ONE(drm_neuron_job, timeout_ms, TIMEOUT, 0),
	ARRAY(drm_neuron_job, windows, 4, drm_neuron_window),
	ONE(drm_neuron_job, stream, USE, FUZZ_BO),
	ONE(drm_neuron_job, stream_offset, OFFSET, 16),
	ONE(drm_neuron_job, trace, USE, FUZZ_BO),
	ONE(drm_neuron_job, rank, MASK, 0),
	ONE(drm_neuron_job, trace_offset, OFFSET, 64),
	ONE(drm_neuron_job, trace_size, SIZE, 0),
	ONE(drm_neuron_job, series, USE, FUZZ_SERIES),
	ONE(drm_neuron_job, member, COUNT, 3),
	ONE(drm_neuron_job, group, COUNT, 8),
};

STRUCT(drm_neuron_job);

static const struct fuzz_field drm_neuron_wait_job_fields[] = {
	ONE(drm_neuron_wait_job, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_wait_job, core, USE, FUZZ_CORE),
	ONE(drm_neuron_wait_job, job, USE, FUZZ_JOB),
	ONE(drm_neuron_wait_job, status, ZERO, 0),
	ONE(drm_neuron_wait_job, cause, ZERO, 0),
	ONE(drm_neuron_wait_job, source, ZERO, 0),
	ONE(drm_neuron_wait_job, queue, ZERO, 0),
	ONE(drm_neuron_wait_job, pc, ZERO, 0),
	ONE(drm_neuron_wait_job, error, ZERO, 0),
	ONE(drm_neuron_wait_job, addr, ZERO, 0),
	ONE(drm_neuron_wait_job, start_ns, ZERO, 0),
	ONE(drm_neuron_wait_job, end_ns, ZERO, 0),
	ONE(drm_neuron_wait_job, instructions, ZERO, 0),
	ONE(drm_neuron_wait_job, dma_bytes, ZERO, 0),
	ONE(drm_neuron_wait_job, wall_ns, ZERO, 0),
	ONE(drm_neuron_wait_job, doorbell_ns, ZERO, 0),
	ONE(drm_neuron_wait_job, dma_engine, ZERO, 0),
	ONE(drm_neuron_wait_job, flags, ZERO, 0),
};

STRUCT(drm_neuron_wait_job);

static const struct fuzz_field drm_neuron_post_entry_fields[] = {
	ONE(drm_neuron_post_entry, counter, ENUM, DRM_NEURON_NR_STATUS_COUNTERS),
	ONE(drm_neuron_post_entry, pad, ZERO, 0),
	ONE(drm_neuron_post_entry, add, MASK, 0),
};

STRUCT(drm_neuron_post_entry);

/* The driver's ioctls */

/* Where an answer goes; the other arrays have elements of their own. */
static const struct fuzz_field drm_neuron_array_fields[] = {
	ONE(drm_neuron_array, stride, COUNT, 256),
	ONE(drm_neuron_array, count, COUNT, 64),
	ONE(drm_neuron_array, pointer, POINTER, 0),
};

STRUCT(drm_neuron_array);

static const struct fuzz_field drm_neuron_query_fields[] = {
	ONE(drm_neuron_query, type, ENUM, DRM_NEURON_QUERY_TENSOR_COUNTERS + 1),
	ONE(drm_neuron_query, pad, ZERO, 0),
	PART(drm_neuron_query, answer, drm_neuron_array),
};

STRUCT(drm_neuron_query);

static const struct fuzz_field drm_neuron_bo_create_fields[] = {
	ONE(drm_neuron_bo_create, size, SIZE, 0),
	ONE(drm_neuron_bo_create, placement, ENUM, DRM_NEURON_BO_USER),
	ONE(drm_neuron_bo_create, stack, COUNT, 4),
	ONE(drm_neuron_bo_create, flags, FLAGS, DRM_NEURON_BO_STREAM),
	ONE(drm_neuron_bo_create, handle, GIVE, FUZZ_BO),
	ONE(drm_neuron_bo_create, mmap_offset, ZERO, 0),
	ONE(drm_neuron_bo_create, category, ENUM, DRM_NEURON_NR_CATEGORIES),
	ONE(drm_neuron_bo_create, pad, ZERO, 0),
};

STRUCT(drm_neuron_bo_create);

static const struct fuzz_field drm_neuron_bo_import_fields[] = {
	ONE(drm_neuron_bo_import, user, POINTER, 0),
	ONE(drm_neuron_bo_import, size, SIZE, 0),
	ONE(drm_neuron_bo_import, flags, FLAGS, DRM_NEURON_IMPORT_READ_ONLY),
	ONE(drm_neuron_bo_import, category, ENUM, DRM_NEURON_NR_CATEGORIES),
	ONE(drm_neuron_bo_import, handle, GIVE, FUZZ_BO),
	ONE(drm_neuron_bo_import, pad, ZERO, 0),
};

STRUCT(drm_neuron_bo_import);

static const struct fuzz_field drm_neuron_bo_info_fields[] = {
	ONE(drm_neuron_bo_info, handle, USE, FUZZ_BO),
	ONE(drm_neuron_bo_info, placement, ZERO, 0),
	ONE(drm_neuron_bo_info, stack, ZERO, 0),
	ONE(drm_neuron_bo_info, peer, ZERO, 0),
	ONE(drm_neuron_bo_info, fabric_id, ZERO, 0),
	ONE(drm_neuron_bo_info, pad, ZERO, 0),
	ONE(drm_neuron_bo_info, size, ZERO, 0),
	ONE(drm_neuron_bo_info, mmap_offset, ZERO, 0),
	ONE(drm_neuron_bo_info, device_addr, ZERO, 0),
	ONE(drm_neuron_bo_info, category, ZERO, 0),
	ONE(drm_neuron_bo_info, flags, ZERO, 0),
};

STRUCT(drm_neuron_bo_info);

static const struct fuzz_field drm_neuron_copy_fields[] = {
	ONE(drm_neuron_copy, direction, ENUM, DRM_NEURON_COPY_BUFFER + 1),
	ONE(drm_neuron_copy, handle, USE, FUZZ_BO),
	ONE(drm_neuron_copy, offset, OFFSET, 1),
	ONE(drm_neuron_copy, user, POINTER, 0),
	ONE(drm_neuron_copy, src_handle, USE, FUZZ_BO),
	ONE(drm_neuron_copy, flags, ZERO, 0),
	ONE(drm_neuron_copy, src_offset, OFFSET, 1),
	ONE(drm_neuron_copy, size, SIZE, 0),
};

STRUCT(drm_neuron_copy);

static const struct fuzz_field drm_neuron_claim_fields[] = {
	ONE(drm_neuron_claim, cores, COUNT, 4),
	ONE(drm_neuron_claim, granted, GIVE_CORES, 0),
	ONE(drm_neuron_claim, count, COUNT, 4),
	ONE(drm_neuron_claim, flags, FLAGS, DRM_NEURON_CLAIM_DUMP_MEMORY),
	ONE(drm_neuron_claim, claim, GIVE, FUZZ_CLAIM),
	ONE(drm_neuron_claim, align, COUNT, 2),
};

STRUCT(drm_neuron_claim);

static const struct fuzz_field drm_neuron_release_fields[] = {
	ONE(drm_neuron_release, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_release, pad, ZERO, 0),
};

STRUCT(drm_neuron_release);

static const struct fuzz_field drm_neuron_windows_fields[] = {
	ONE(drm_neuron_windows, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_windows, core, USE, FUZZ_CORE),
	ARRAY(drm_neuron_windows, windows, 6, drm_neuron_window),
};

STRUCT(drm_neuron_windows);

static const struct fuzz_field drm_neuron_grant_fields[] = {
	ONE(drm_neuron_grant, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_grant, core, USE, FUZZ_CORE),
	ONE(drm_neuron_grant, first, OFFSET, 4),
	ONE(drm_neuron_grant, count, OFFSET, 4),
	ONE(drm_neuron_grant, flags, FLAGS,
	    DRM_NEURON_GRANT_SBUF_READ | DRM_NEURON_GRANT_SBUF_WRITE),
	ONE(drm_neuron_grant, fd, GIVE, FUZZ_FD),
};

STRUCT(drm_neuron_grant);

static const struct fuzz_field drm_neuron_submit_fields[] = {
	ONE(drm_neuron_submit, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_submit, flags, FLAGS, DRM_NEURON_SUBMIT_GANG),
	ARRAY(drm_neuron_submit, jobs, 3, drm_neuron_job),
	ARRAY(drm_neuron_submit, in_syncs, 2, drm_neuron_sync),
	ARRAY(drm_neuron_submit, out_syncs, 2, drm_neuron_sync),
	ONE(drm_neuron_submit, job, GIVE, FUZZ_JOB),
};

STRUCT(drm_neuron_submit);

static const struct fuzz_field drm_neuron_wait_fields[] = {
	ONE(drm_neuron_wait, flags, FLAGS, DRM_NEURON_WAIT_ALL),
	ONE(drm_neuron_wait, index, ZERO, 0),
	ONE(drm_neuron_wait, deadline_ns, DEADLINE, 0),
	ARRAY(drm_neuron_wait, jobs, 3, drm_neuron_wait_job),
};

STRUCT(drm_neuron_wait);

static const struct fuzz_field drm_neuron_reset_fields[] = {
	ONE(drm_neuron_reset, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_reset, core, USE, FUZZ_CORE),
};

STRUCT(drm_neuron_reset);

static const struct fuzz_field drm_neuron_cancel_fields[] = {
	ONE(drm_neuron_cancel, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_cancel, core, USE, FUZZ_CORE),
	ONE(drm_neuron_cancel, job, USE, FUZZ_JOB),
};

STRUCT(drm_neuron_cancel);

static const struct fuzz_field drm_neuron_dump_fields[] = {
	ONE(drm_neuron_dump, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_dump, core, USE, FUZZ_CORE),
	ONE(drm_neuron_dump, flags, FLAGS, DRM_NEURON_DUMP_MEMORY),
	ONE(drm_neuron_dump, size, ROOM, 0),
	ONE(drm_neuron_dump, pointer, POINTER, 0),
	ONE(drm_neuron_dump, job, ZERO, 0),
};

STRUCT(drm_neuron_dump);

static const struct fuzz_field drm_neuron_post_fields[] = {
	ONE(drm_neuron_post, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_post, core, USE, FUZZ_CORE),
	ARRAY(drm_neuron_post, entries, 3, drm_neuron_post_entry),
};

STRUCT(drm_neuron_post);

static const struct fuzz_field drm_neuron_grant_import_fields[] = {
	ONE(drm_neuron_grant_import, fd, USE, FUZZ_FD),
	ONE(drm_neuron_grant_import, handle, GIVE, FUZZ_GRANT),
};

STRUCT(drm_neuron_grant_import);

static const struct fuzz_field drm_neuron_grant_close_fields[] = {
	ONE(drm_neuron_grant_close, handle, USE, FUZZ_GRANT),
	ONE(drm_neuron_grant_close, pad, ZERO, 0),
};

STRUCT(drm_neuron_grant_close);

static const struct fuzz_field drm_neuron_series_fields[] = {
	ONE(drm_neuron_series, members, COUNT, 4),
	ONE(drm_neuron_series, flags, ZERO, 0),
	ONE(drm_neuron_series, fd, GIVE, FUZZ_FD),
	ONE(drm_neuron_series, pad, ZERO, 0),
};

STRUCT(drm_neuron_series);

static const struct fuzz_field drm_neuron_series_import_fields[] = {
	ONE(drm_neuron_series_import, fd, USE, FUZZ_FD),
	ONE(drm_neuron_series_import, handle, GIVE, FUZZ_SERIES),
};

STRUCT(drm_neuron_series_import);

static const struct fuzz_field drm_neuron_series_close_fields[] = {
	ONE(drm_neuron_series_close, handle, USE, FUZZ_SERIES),
	ONE(drm_neuron_series_close, pad, ZERO, 0),
};

STRUCT(drm_neuron_series_close);

static const struct fuzz_field drm_neuron_times_fields[] = {
	ONE(drm_neuron_times, claim, USE, FUZZ_CLAIM),
	ONE(drm_neuron_times, core, USE, FUZZ_CORE),
	ONE(drm_neuron_times, job, USE, FUZZ_JOB),
	ONE(drm_neuron_times, deadline_ns, DEADLINE, 0),
	ONE(drm_neuron_times, start_ns, ZERO, 0),
	ONE(drm_neuron_times, end_ns, ZERO, 0),
	ONE(drm_neuron_times, cause, ZERO, 0),
	ONE(drm_neuron_times, pad, ZERO, 0),
};

STRUCT(drm_neuron_times);

static const struct fuzz_field drm_neuron_events_fields[] = {
	ONE(drm_neuron_events, mask, FLAGS, (1u << DRM_NEURON_NR_EVENT_TYPES) - 1),
	ONE(drm_neuron_events, flags, FLAGS, DRM_NEURON_EVENTS_NONBLOCK),
	ONE(drm_neuron_events, stride, COUNT, 256),
	ONE(drm_neuron_events, fd, GIVE, FUZZ_FD),
	ONE(drm_neuron_events, pad, ZERO, 0),
};

STRUCT(drm_neuron_events);

static const struct fuzz_field drm_neuron_transfer_fields[] = {
	ONE(drm_neuron_transfer, dst, USE, FUZZ_BO),
	ONE(drm_neuron_transfer, src, USE, FUZZ_BO),
	ONE(drm_neuron_transfer, dst_offset, OFFSET, 1),
	ONE(drm_neuron_transfer, src_offset, OFFSET, 1),
	ONE(drm_neuron_transfer, bytes, SIZE, 0),
	WORDS(drm_neuron_transfer, count, COUNT, 4),
	WORDS(drm_neuron_transfer, dst_step, SIZE, 0),
	WORDS(drm_neuron_transfer, src_step, SIZE, 0),
	ONE(drm_neuron_transfer, fill, MASK, 0),
	ONE(drm_neuron_transfer, flags, FLAGS, DRM_NEURON_TRANSFER_FILL),
	ONE(drm_neuron_transfer, queue, COUNT, 4),
	ARRAY(drm_neuron_transfer, in_syncs, 2, drm_neuron_sync),
	ARRAY(drm_neuron_transfer, out_syncs, 2, drm_neuron_sync),
	ONE(drm_neuron_transfer, transfer, GIVE, FUZZ_JOB),
};

STRUCT(drm_neuron_transfer);

/*
 * Those of DRM that work on the driver's objects. Of too many handles DRM itself (6.12) makes an
 * allocation that the kernel warns of.
 */

static const struct fuzz_field drm_gem_close_fields[] = {
	ONE(drm_gem_close, handle, USE, FUZZ_BO),
	ONE(drm_gem_close, pad, ZERO, 0),
};

STRUCT(drm_gem_close);

static const struct fuzz_field drm_prime_handle_fields[] = {
	ONE(drm_prime_handle, handle, USE, FUZZ_BO),
	ONE(drm_prime_handle, flags, FLAGS, DRM_RDWR | DRM_CLOEXEC),
	ONE(drm_prime_handle, fd, GIVE, FUZZ_FD),
};

STRUCT(drm_prime_handle);

static const struct fuzz_field prime_import_fields[] = {
	ONE(drm_prime_handle, handle, GIVE, FUZZ_BO),
	ONE(drm_prime_handle, flags, ZERO, 0),
	ONE(drm_prime_handle, fd, USE, FUZZ_FD),
};

static const struct fuzz_struct prime_import_struct = {
	.name = "drm_prime_handle",
	.size = sizeof(struct drm_prime_handle),
	.nr_fields = 3,
	.fields = prime_import_fields,
};

static const struct fuzz_field drm_syncobj_create_fields[] = {
	ONE(drm_syncobj_create, handle, GIVE, FUZZ_SYNC),
	ONE(drm_syncobj_create, flags, FLAGS, DRM_SYNCOBJ_CREATE_SIGNALED),
};

STRUCT(drm_syncobj_create);

static const struct fuzz_field drm_syncobj_destroy_fields[] = {
	ONE(drm_syncobj_destroy, handle, USE, FUZZ_SYNC),
	ONE(drm_syncobj_destroy, pad, ZERO, 0),
};

STRUCT(drm_syncobj_destroy);

static const struct fuzz_field drm_syncobj_timeline_array_fields[] = {
	ONE(drm_syncobj_timeline_array, handles, HANDLES, FUZZ_SYNC),
	ONE(drm_syncobj_timeline_array, points, POINTS, 0),
	ONE(drm_syncobj_timeline_array, count_handles, FEW, FUZZ_NR_HANDLES),
	ONE(drm_syncobj_timeline_array, flags, ZERO, 0),
};

STRUCT(drm_syncobj_timeline_array);

static const struct fuzz_field drm_syncobj_timeline_wait_fields[] = {
	ONE(drm_syncobj_timeline_wait, handles, HANDLES, FUZZ_SYNC),
	ONE(drm_syncobj_timeline_wait, points, POINTS, 0),
	ONE(drm_syncobj_timeline_wait, timeout_nsec, DEADLINE, 0),
	ONE(drm_syncobj_timeline_wait, count_handles, FEW, FUZZ_NR_HANDLES),
	ONE(drm_syncobj_timeline_wait, flags, FLAGS,
	    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
	    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE),
	ONE(drm_syncobj_timeline_wait, first_signaled, ZERO, 0),
	ONE(drm_syncobj_timeline_wait, pad, ZERO, 0),
};

STRUCT(drm_syncobj_timeline_wait);

/* Actions */

static const struct fuzz_field fuzz_open_fields[] = {
	ONE(fuzz_open, device, COUNT, 2),
	ONE(fuzz_open, file, GIVE, FUZZ_FILE),
};

STRUCT(fuzz_open);

static const struct fuzz_field fuzz_map_fields[] = {
	ONE(fuzz_map, handle, USE, FUZZ_BO),
	ONE(fuzz_map, write, ENUM, 2),
	ONE(fuzz_map, offset, OFFSET, 4096),
	ONE(fuzz_map, size, SIZE, 0),
	ONE(fuzz_map, keep, ENUM, 2),
	ONE(fuzz_map, pad, ZERO, 0),
};

STRUCT(fuzz_map);

static const struct fuzz_field fuzz_image_fields[] = {
	ONE(fuzz_image, handle, USE, FUZZ_BO),
	ONE(fuzz_image, kind, ENUM, FUZZ_NR_IMAGES),
	ONE(fuzz_image, seed, MASK, 0),
	ONE(fuzz_image, engine, COUNT, NEURON_NR_ENGINES),
};

STRUCT(fuzz_image);

static const struct fuzz_field fuzz_fd_fields[] = {
	ONE(fuzz_fd, fd, USE, FUZZ_FD),
	ONE(fuzz_fd, size, ROOM, 0),
};

STRUCT(fuzz_fd);

static const struct fuzz_field fuzz_look_fields[] = {
	ONE(fuzz_look, what, COUNT, 24),
	ONE(fuzz_look, pad, ZERO, 0),
};

STRUCT(fuzz_look);

static const struct fuzz_field fuzz_reset_device_fields[] = {
	ONE(fuzz_reset_device, device, COUNT, 2),
	ONE(fuzz_reset_device, pad, ZERO, 0),
};

STRUCT(fuzz_reset_device);

const char *const fuzz_resource_names[FUZZ_NR_RESOURCES] = {
	[FUZZ_NO_RESOURCE] = "none",
	[FUZZ_FILE] = "file",
	[FUZZ_BO] = "bo",
	[FUZZ_CLAIM] = "claim",
	[FUZZ_CORE] = "core",
	[FUZZ_JOB] = "job",
	[FUZZ_SYNC] = "sync",
	[FUZZ_FD] = "fd",
	[FUZZ_GRANT] = "grant",
	[FUZZ_SERIES] = "series",
};

#define OURS(NAME, name, weight) \
	{ #NAME, DRM_IOCTL_NEURON_##NAME, FUZZ_IOCTL, weight, &drm_neuron_##name##_struct }
#define DRMS(NAME, type, weight) \
	{ #NAME, DRM_IOCTL_##NAME, FUZZ_IOCTL, weight, &type##_struct }
#define ACTION(NAME, type, weight) \
	{ #NAME, 0, FUZZ_##NAME, weight, &type##_struct }

const struct fuzz_desc fuzz_calls[] = {
	OURS(QUERY, query, 3),
	OURS(BO_CREATE, bo_create, 12),
	OURS(BO_INFO, bo_info, 3),
	OURS(COPY, copy, 10),
	OURS(CLAIM, claim, 8),
	OURS(RELEASE, release, 3),
	OURS(WINDOWS, windows, 12),
	OURS(GRANT, grant, 6),
	OURS(SUBMIT, submit, 20),
	OURS(WAIT, wait, 10),
	OURS(RESET, reset, 3),
	OURS(BO_IMPORT, bo_import, 6),
	OURS(CANCEL, cancel, 5),
	OURS(DUMP, dump, 5),
	OURS(POST, post, 3),
	OURS(GRANT_IMPORT, grant_import, 5),
	OURS(GRANT_CLOSE, grant_close, 3),
	OURS(EVENTS, events, 4),
	OURS(TRANSFER, transfer, 10),
	OURS(SERIES, series, 4),
	OURS(SERIES_IMPORT, series_import, 6),
	OURS(SERIES_CLOSE, series_close, 3),
	OURS(TIMES, times, 6),
	DRMS(GEM_CLOSE, drm_gem_close, 4),
	DRMS(PRIME_HANDLE_TO_FD, drm_prime_handle, 4),
	{ "PRIME_FD_TO_HANDLE", DRM_IOCTL_PRIME_FD_TO_HANDLE, FUZZ_IOCTL, 4, &prime_import_struct },
	DRMS(SYNCOBJ_CREATE, drm_syncobj_create, 5),
	DRMS(SYNCOBJ_DESTROY, drm_syncobj_destroy, 2),
	DRMS(SYNCOBJ_TIMELINE_SIGNAL, drm_syncobj_timeline_array, 3),
	DRMS(SYNCOBJ_TIMELINE_WAIT, drm_syncobj_timeline_wait, 3),
	ACTION(OPEN, fuzz_open, 3),
	ACTION(MAP, fuzz_map, 6),
	ACTION(IMAGE, fuzz_image, 8),
	ACTION(CLOSE, fuzz_fd, 3),
	ACTION(READ, fuzz_fd, 3),
	ACTION(LOOK, fuzz_look, 3),
	ACTION(RESET_DEVICE, fuzz_reset_device, 1),
};

const unsigned int fuzz_nr_calls = sizeof(fuzz_calls) / sizeof(fuzz_calls[0]);

int fuzz_call_named(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < fuzz_nr_calls; i++)
		if (strlen(fuzz_calls[i].name) == length &&
		    !memcmp(fuzz_calls[i].name, name, length))
			return (int)i;
	return -1;
}
