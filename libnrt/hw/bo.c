// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hw/core.h"
#include "hw/stats.h"

/* Piece of memory that the device cannot reach itself. */
#define BOUNCE_BYTES	(1024 * 1024)

static struct nrt_stats_buffer counted(const struct nrt_bo *bo)
{
	return (struct nrt_stats_buffer){
		.placement = bo->placement,
		.category = bo->category,
		.size = bo->size,
		.bytes = bo->usage ? bo->usage->bytes : NULL,
	};
}

/* With the device's lock. */
static void count_in(struct nrt_bo *bo, struct nrt_emu_stats_core *stats)
{
	const struct nrt_stats_buffer buffer = counted(bo);

	bo->stats = stats;
	if (stats)
		nrt_stats_buffer_comes(stats, &buffer);
}

static void count_out(struct nrt_bo *bo)
{
	const struct nrt_stats_buffer buffer = counted(bo);

	if (bo->stats)
		nrt_stats_buffer_goes(bo->stats, &buffer);
	bo->stats = NULL;
}

/* With the device's lock. The statistics of a device that is shut down end with it. */
static void bo_close(struct nrt_bo *bo)
{
	struct nrt_device *device = bo->device;

	count_out(bo);
	if (bo->map)
		device->backend->bo_unmap(device->chip, bo->map, bo->size);
	if (bo->handle)
		device->backend->bo_close(device->chip, bo->handle);
	bo->map = NULL;
	bo->handle = 0;
}

void nrt_bo_close_all(struct nrt_device *device)
{
	struct nrt_bo *bo;

	for (bo = device->bos; bo; bo = bo->next)
		bo_close(bo);
}

/* Unique in the process: the device's place in the machine and a count. */
static uint64_t next_id(struct nrt_device *device)
{
	return ((uint64_t)device->first_core + 1) << 48 | ++device->last_id;
}

/* With the device's lock. */
static struct nrt_bo *bo_add(struct nrt_device *device, uint32_t handle)
{
	struct nrt_bo *bo = calloc(1, sizeof(*bo));

	if (!bo)
		return NULL;
	bo->refs = 1;
	bo->device = device;
	bo->handle = handle;
	bo->id = next_id(device);
	atomic_init(&bo->shown, false);
	nrt_device_get(device);
	bo->next = device->bos;
	if (bo->next)
		bo->next->prev = bo;
	device->bos = bo;
	return bo;
}

static struct nrt_bo *bo_add_locked(struct nrt_device *device, uint32_t handle)
{
	struct nrt_bo *bo;

	pthread_mutex_lock(&device->lock);
	bo = bo_add(device, handle);
	pthread_mutex_unlock(&device->lock);
	if (!bo)
		device->backend->bo_close(device->chip, handle);
	return bo;
}

static NRT_STATUS explain_create(struct nrt_device *device, uint64_t size, uint32_t placement,
				 uint32_t stack, int ret, struct nrt_error *error)
{
	struct drm_neuron_memory_info stacks[NEURON_MAX_HBM] = { 0 };
	const char *path = nrt_device_path(device);

	if (placement != DRM_NEURON_BO_HBM || (ret != -ENOSPC && ret != -ENOMEM) ||
	    stack >= device->info.nr_hbm || nrt_device_memory(device, stacks, error))
		return nrt_error_set(error, nrt_status_of_errno(ret),
				     "%s: cannot allocate %llu bytes of %s memory: %s", path,
				     (unsigned long long)size,
				     placement == DRM_NEURON_BO_HBM ? "device" : "host",
				     strerror(-ret));
	nrt_usage_tell(device, stack, size, &stacks[stack]);
	return nrt_error_set(error, NRT_RESOURCE,
			     "%s: cannot allocate %llu bytes in HBM stack %u: %llu of %llu are in use",
			     path, (unsigned long long)size, stack,
			     (unsigned long long)stacks[stack].used,
			     (unsigned long long)stacks[stack].usable);
}

NRT_STATUS nrt_bo_create(const struct nrt_core *core, uint64_t size, uint32_t placement,
			 enum drm_neuron_category category, struct nrt_bo **out,
			 struct nrt_error *error)
{
	uint32_t stack = placement == DRM_NEURON_BO_HBM ? core->stack : 0;
	struct nrt_device *device = core->device;
	struct drm_neuron_bo_create create = {
		.size = size,
		.placement = placement,
		.stack = stack,
		.category = category,
	};
	struct nrt_bo *bo;
	int ret;

	ret = device->backend->bo_create(device->chip, &create);
	if (ret)
		return explain_create(device, size, placement, stack, ret, error);
	bo = bo_add_locked(device, create.handle);
	if (!bo)
		return nrt_error_memory(error);
	bo->size = create.size;
	bo->placement = placement;
	bo->stack = stack;
	bo->category = category;
	if (placement == DRM_NEURON_BO_HOST) {
		ret = device->backend->bo_map(device->chip, create.mmap_offset, bo->size,
					      &bo->map);
		if (ret) {
			nrt_bo_put(bo);
			return nrt_error_set(error, nrt_status_of_errno(ret),
					     "%s: cannot map %llu bytes: %s",
					     nrt_device_path(device),
					     (unsigned long long)size, strerror(-ret));
		}
	}
	pthread_mutex_lock(&device->lock);
	count_in(bo, core->stats);
	pthread_mutex_unlock(&device->lock);
	*out = bo;
	return NRT_SUCCESS;
}

void nrt_bo_describe(struct nrt_bo *bo, struct nrt_usage *usage)
{
	struct nrt_emu_stats_core *stats;

	pthread_mutex_lock(&bo->device->lock);
	stats = bo->stats;
	count_out(bo);
	free(bo->usage);
	bo->usage = usage;
	count_in(bo, stats);
	pthread_mutex_unlock(&bo->device->lock);
}

struct nrt_bo *nrt_bo_get(struct nrt_bo *bo)
{
	pthread_mutex_lock(&bo->device->lock);
	bo->refs++;
	pthread_mutex_unlock(&bo->device->lock);
	return bo;
}

void nrt_bo_put(struct nrt_bo *bo)
{
	struct nrt_device *device;
	bool last;

	if (!bo)
		return;
	device = bo->device;
	pthread_mutex_lock(&device->lock);
	last = !--bo->refs;
	if (last) {
		if (bo->next)
			bo->next->prev = bo->prev;
		if (bo->prev)
			bo->prev->next = bo->next;
		else
			device->bos = bo->next;
		bo_close(bo);
	}
	pthread_mutex_unlock(&device->lock);
	if (!last)
		return;
	free(bo->usage);
	free(bo);
	nrt_device_put(device);
}

static struct nrt_bo *find_import(struct nrt_device *device, uint64_t origin)
{
	struct nrt_bo *bo;

	for (bo = device->bos; bo; bo = bo->next) {
		if (bo->origin != origin)
			continue;
		bo->refs++;
		return bo;
	}
	return NULL;
}

/* With the device's lock: the buffer that has @handle already, with a reference. */
static struct nrt_bo *find_handle(struct nrt_device *device, uint32_t handle)
{
	struct nrt_bo *bo;

	for (bo = device->bos; bo; bo = bo->next) {
		if (bo->handle != handle)
			continue;
		bo->refs++;
		return bo;
	}
	return NULL;
}

/*
 * With the lock of the importing device, so that nobody imports the same buffer a
 * second time: the kernel would give both the same handle.
 */
static int import_locked(struct nrt_device *device, struct nrt_bo *bo, struct nrt_bo **out)
{
	uint32_t handle;
	int fd, ret;

	*out = find_import(device, bo->id);
	if (*out)
		return 0;
	ret = bo->device->backend->bo_export(bo->device->chip, bo->handle, &fd);
	if (ret)
		return ret;
	ret = device->backend->bo_import(device->chip, fd, &handle);
	close(fd);
	if (ret)
		return ret;
	/* nrt_bo_import_fd() may have imported it already. */
	*out = find_handle(device, handle);
	if (*out)
		return 0;
	*out = bo_add(device, handle);
	if (!*out) {
		device->backend->bo_close(device->chip, handle);
		return -ENOMEM;
	}
	(*out)->origin = bo->id;
	(*out)->size = bo->size;
	(*out)->placement = bo->placement;
	(*out)->stack = bo->stack;
	return 0;
}

NRT_STATUS nrt_bo_import(struct nrt_device *device, struct nrt_bo *bo, struct nrt_bo **out,
			 struct nrt_error *error)
{
	int ret;

	if (bo->device == device) {
		*out = nrt_bo_get(bo);
		return NRT_SUCCESS;
	}
	pthread_mutex_lock(&device->lock);
	ret = import_locked(device, bo, out);
	pthread_mutex_unlock(&device->lock);
	if (!ret)
		return NRT_SUCCESS;
	return nrt_error_set(error, nrt_status_of_errno(ret),
			     "%s: cannot import a buffer of %s: %s",
			     nrt_device_path(device),
			     nrt_device_path(bo->device), nrt_error_why(-ret));
}

NRT_STATUS nrt_bo_export_fd(struct nrt_bo *bo, int *fd, struct nrt_error *error)
{
	int ret = bo->device->backend->bo_export(bo->device->chip, bo->handle, fd);

	if (!ret)
		return NRT_SUCCESS;
	return nrt_error_set(error, nrt_status_of_errno(ret), "%s: cannot export a buffer: %s",
			     nrt_device_path(bo->device), nrt_error_why(-ret));
}

/* With the device's lock. The kernel gives a buffer that it knows the handle that it has. */
static int import_fd_locked(struct nrt_device *device, int fd, struct nrt_bo **out)
{
	struct drm_neuron_bo_info info = { 0 };
	int ret;

	ret = device->backend->bo_import(device->chip, fd, &info.handle);
	if (ret)
		return ret;
	*out = find_handle(device, info.handle);
	if (*out)
		return 0;
	ret = device->backend->bo_info(device->chip, &info);
	*out = ret ? NULL : bo_add(device, info.handle);
	if (!*out) {
		device->backend->bo_close(device->chip, info.handle);
		return ret ? ret : -ENOMEM;
	}
	(*out)->size = info.size;
	(*out)->placement = info.placement;
	(*out)->stack = info.stack;
	return 0;
}

NRT_STATUS nrt_bo_import_fd(struct nrt_device *device, int fd, struct nrt_bo **bo,
			    struct nrt_error *error)
{
	int ret;

	pthread_mutex_lock(&device->lock);
	ret = import_fd_locked(device, fd, bo);
	pthread_mutex_unlock(&device->lock);
	if (!ret)
		return NRT_SUCCESS;
	return nrt_error_set(error, nrt_status_of_errno(ret),
			     "%s: cannot import a buffer of a peer: %s", nrt_device_path(device),
			     strerror(-ret));
}

NRT_STATUS nrt_bo_info(struct nrt_bo *bo, struct drm_neuron_bo_info *info,
		       struct nrt_error *error)
{
	struct nrt_device *device = bo->device;
	int ret;

	*info = (struct drm_neuron_bo_info){ .handle = bo->handle };
	if (!bo->handle)
		return nrt_error_set(error, NRT_INVALID, "it was allocated before nrt_close()");
	ret = device->backend->bo_info(device->chip, info);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret), "%s: %s",
				     nrt_device_path(device), strerror(-ret));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_bo_map(struct nrt_bo *bo, void **map, struct nrt_error *error)
{
	struct nrt_device *device = bo->device;
	struct drm_neuron_bo_info info;
	int ret = 0;

	if (nrt_bo_info(bo, &info, error))
		return error->status;
	pthread_mutex_lock(&device->lock);
	if (!bo->map)
		ret = device->backend->bo_map(device->chip, info.mmap_offset, bo->size, &bo->map);
	*map = bo->map;
	pthread_mutex_unlock(&device->lock);
	if (!ret)
		return NRT_SUCCESS;
	return nrt_error_set(error, nrt_status_of_errno(ret), "%s: cannot map %llu bytes: %s",
			     nrt_device_path(device), (unsigned long long)bo->size,
			     strerror(-ret));
}

static bool holds(const struct nrt_bo *bo, uintptr_t va, uint64_t size)
{
	uintptr_t first = (uintptr_t)bo->map;

	return first && va >= first && va - first <= bo->size && size <= bo->size - (va - first);
}

struct nrt_bo *nrt_bo_at(struct nrt_device *device, uintptr_t va, uint64_t size,
			 uint64_t *offset)
{
	struct nrt_bo *bo;

	pthread_mutex_lock(&device->lock);
	bo = device->bos;
	while (bo && !holds(bo, va, size))
		bo = bo->next;
	if (bo) {
		bo->refs++;
		*offset = va - (uintptr_t)bo->map;
	}
	pthread_mutex_unlock(&device->lock);
	return bo;
}

NRT_STATUS nrt_bo_dmabuf(struct nrt_bo *bo, int *fd, struct nrt_error *error)
{
	const struct nrt_backend *backend = bo->device->backend;
	int ret;

	if (!backend->has_dmabuf)
		return nrt_error_set(error, NRT_INVALID,
				     "back end %s: chips in this process have no dma-bufs",
				     backend->name);
	ret = backend->bo_export(bo->device->chip, bo->handle, fd);
	if (!ret)
		return NRT_SUCCESS;
	return nrt_error_set(error, nrt_status_of_errno(ret), "%s: cannot export a buffer: %s",
			     nrt_device_path(bo->device), nrt_error_why(-ret));
}

/* Is there memory at all where the user's should be? */
static bool is_mapped(const struct drm_neuron_copy *copy)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t first = copy->user & ~page;

	return copy->user && !msync((void *)first, copy->user + copy->size - first, MS_ASYNC);
}

/*
 * Memory of other devices, such as a mapped host buffer of another chip, cannot be pinned:
 * it goes through ordinary memory.
 */
static int copy_in_pieces(struct nrt_device *device, const struct drm_neuron_copy *whole)
{
	bool to_device = whole->direction == DRM_NEURON_COPY_TO_DEVICE;
	uint64_t piece, done;
	uint8_t *user = (uint8_t *)(uintptr_t)whole->user;
	struct drm_neuron_copy copy = *whole;
	void *bounce = malloc(BOUNCE_BYTES);
	int ret = bounce ? 0 : -ENOMEM;

	copy.user = (uintptr_t)bounce;
	for (done = 0; done < whole->size && !ret; done += piece) {
		piece = whole->size - done;
		if (piece > BOUNCE_BYTES)
			piece = BOUNCE_BYTES;
		if (to_device)
			memcpy(bounce, user + done, piece);
		copy.offset = whole->offset + done;
		copy.size = piece;
		ret = device->backend->copy(device->chip, &copy);
		if (!ret && !to_device)
			memcpy(user + done, bounce, piece);
	}
	free(bounce);
	return ret;
}

static NRT_STATUS do_copy(struct nrt_bo *bo, struct drm_neuron_copy *copy, const char *what,
			  struct nrt_error *error)
{
	struct nrt_device *device = bo->device;
	int ret;

	if (!copy->size)
		return NRT_SUCCESS;
	ret = device->backend->copy(device->chip, copy);
	if (ret == -EFAULT && is_mapped(copy))
		ret = copy_in_pieces(device, copy);
	if (!ret)
		return NRT_SUCCESS;
	return nrt_error_set(error, nrt_status_of_errno(ret), "%s: %s of %llu bytes failed: %s",
			     nrt_device_path(device), what,
			     (unsigned long long)copy->size, strerror(-ret));
}

NRT_STATUS nrt_bo_write(struct nrt_bo *bo, uint64_t offset, const void *data, uint64_t size,
			struct nrt_error *error)
{
	struct drm_neuron_copy copy = {
		.direction = DRM_NEURON_COPY_TO_DEVICE,
		.handle = bo->handle,
		.offset = offset,
		.user = (uintptr_t)data,
		.size = size,
	};

	return do_copy(bo, &copy, "a write", error);
}

NRT_STATUS nrt_bo_read(struct nrt_bo *bo, uint64_t offset, void *data, uint64_t size,
		       struct nrt_error *error)
{
	struct drm_neuron_copy copy = {
		.direction = DRM_NEURON_COPY_FROM_DEVICE,
		.handle = bo->handle,
		.offset = offset,
		.user = (uintptr_t)data,
		.size = size,
	};

	return do_copy(bo, &copy, "a read", error);
}

NRT_STATUS nrt_bo_copy(struct nrt_bo *dst, uint64_t dst_offset, struct nrt_bo *src,
		       uint64_t src_offset, uint64_t size, struct nrt_error *error)
{
	struct drm_neuron_copy copy = {
		.direction = DRM_NEURON_COPY_BUFFER,
		.handle = dst->handle,
		.offset = dst_offset,
		.src_handle = src->handle,
		.src_offset = src_offset,
		.size = size,
	};

	return do_copy(dst, &copy, "a copy", error);
}
