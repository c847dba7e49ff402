// SPDX-License-Identifier: MIT
/*
 * Tensors: where they live.
 */
#include <stdlib.h>
#include <string.h>

#include "object/model.h"
#include "object/state.h"
#include "object/tensor.h"

_Static_assert(sizeof(nrt_tensor_device_allocation_info_t) == 24, "public layout");

uint8_t *nrt_tensor_memory(const struct nrt_tensor *tensor)
{
	const struct nrt_storage *storage = tensor->storage;
	uint8_t *memory;

	if (!storage)
		return NULL;
	memory = storage->placement == NRT_TENSOR_PLACEMENT_HOST ? storage->bo->map :
								   storage->memory;
	return memory ? memory + tensor->offset : NULL;
}

static void storage_put(struct nrt_state *state, struct nrt_storage *storage)
{
	if (!storage || atomic_fetch_sub(&storage->refs, 1) != 1)
		return;
	if (storage->bo) {
		nrt_bo_forget(state, storage->bo);
		nrt_bo_put(storage->bo);
	}
	if (storage->owned)
		free(storage->memory);
	free(storage);
}

static struct nrt_storage *storage_new(nrt_tensor_placement_t placement, size_t size, int vnc)
{
	struct nrt_storage *storage = calloc(1, sizeof(*storage));

	if (!storage)
		return NULL;
	atomic_init(&storage->refs, 1);
	storage->placement = placement;
	storage->size = size;
	storage->vnc = vnc;
	return storage;
}

static NRT_STATUS fill_storage(struct nrt_state *state, struct nrt_storage *storage,
			       struct nrt_error *error)
{
	bool device = storage->placement == NRT_TENSOR_PLACEMENT_DEVICE;
	struct nrt_core *core;

	if (storage->placement == NRT_TENSOR_PLACEMENT_VIRTUAL) {
		storage->memory = calloc(1, storage->size);
		storage->owned = true;
		return storage->memory ? NRT_SUCCESS : nrt_error_memory(error);
	}
	core = nrt_core_get(state, storage->vnc < 0 && !device ? 0 : storage->vnc, error);
	if (!core)
		return error->status;
	return nrt_bo_create(core->device, storage->size,
			     device ? DRM_NEURON_BO_HBM : DRM_NEURON_BO_HOST,
			     device ? core->stack : 0, DRM_NEURON_CATEGORY_TENSORS, &storage->bo,
			     error);
}

static struct nrt_tensor *tensor_new(const char *name, struct nrt_storage *storage)
{
	struct nrt_tensor *tensor = calloc(1, sizeof(*tensor));

	if (!tensor)
		return NULL;
	if (name) {
		tensor->name = strdup(name);
		if (!tensor->name) {
			free(tensor);
			return NULL;
		}
	}
	tensor->storage = storage;
	tensor->size = storage ? storage->size : 0;
	return tensor;
}

static NRT_STATUS allocate(struct nrt_state *state, nrt_tensor_placement_t placement, int vnc,
			   size_t size, const char *name, struct nrt_tensor **tensor,
			   struct nrt_error *error)
{
	struct nrt_storage *storage = storage_new(placement, size, vnc);

	if (!storage)
		return nrt_error_memory(error);
	if (fill_storage(state, storage, error))
		goto fail;
	*tensor = tensor_new(name, storage);
	if (*tensor)
		return NRT_SUCCESS;
	nrt_error_memory(error);
fail:
	storage_put(state, storage);
	return error->status;
}

NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
			       const char *name, nrt_tensor_t **tensor)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!tensor || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor is NULL or size is 0");
	if ((unsigned int)tensor_placement > NRT_TENSOR_PLACEMENT_VIRTUAL)
		return nrt_fail_with(__func__, NRT_INVALID, "placement %d is unknown",
				     (int)tensor_placement);
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = allocate(state, tensor_placement, vnc, size, name, tensor, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}

void nrt_tensor_free(nrt_tensor_t **tensor)
{
	struct nrt_state *state = nrt_state();

	if (!tensor || !*tensor)
		return;
	/* Legal after nrt_close(), too. */
	pthread_rwlock_rdlock(&state->lock);
	storage_put(state, (*tensor)->storage);
	pthread_rwlock_unlock(&state->lock);
	free((*tensor)->name);
	free(*tensor);
	*tensor = NULL;
}

NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor)
{
	struct nrt_state *state;
	NRT_STATUS status;

	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	*tensor = tensor_new(name, NULL);
	nrt_leave(state);
	if (!*tensor)
		return nrt_fail_with(__func__, NRT_RESOURCE, "out of host memory");
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size)
{
	struct nrt_storage *storage;
	struct nrt_state *state;
	NRT_STATUS status;

	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "tensor is NULL");
	if (!buffer || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "buffer is NULL or size is 0");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	storage = storage_new(NRT_TENSOR_PLACEMENT_VIRTUAL, size, -1);
	if (storage) {
		storage->memory = buffer;
		storage_put(state, tensor->storage);
		tensor->storage = storage;
		tensor->offset = 0;
		tensor->size = size;
	}
	nrt_leave(state);
	if (!storage)
		return nrt_fail_with(__func__, NRT_RESOURCE, "out of host memory");
	return NRT_SUCCESS;
}

static NRT_STATUS slice(const struct nrt_tensor *source, size_t offset, size_t size,
			const char *name, struct nrt_tensor **out, struct nrt_error *error)
{
	struct nrt_tensor *tensor;

	if (nrt_tensor_check(source, offset, size, error))
		return error->status;
	tensor = tensor_new(name, source->storage);
	if (!tensor)
		return nrt_error_memory(error);
	atomic_fetch_add(&source->storage->refs, 1);
	tensor->offset = source->offset + offset;
	tensor->size = size;
	*out = tensor;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset,
				     size_t size, const char *name,
				     nrt_tensor_t **tensor_slice)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!tensor_source)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "tensor_source is NULL");
	if (!tensor_slice || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor_slice is NULL or size is 0");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = slice(tensor_source, offset, size, name, tensor_slice, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}

size_t nrt_tensor_get_size(const nrt_tensor_t *tensor)
{
	return tensor ? tensor->size : 0;
}

void *nrt_tensor_get_va(const nrt_tensor_t *tensor)
{
	return tensor ? nrt_tensor_memory(tensor) : NULL;
}

static NRT_STATUS allocation_info(const struct nrt_tensor *tensor,
				  nrt_tensor_device_allocation_info_t *info,
				  struct nrt_error *error)
{
	struct nrt_storage *storage = tensor->storage;
	struct drm_neuron_bo_info bo = { 0 };
	struct nrt_device *device;
	int ret;

	if (!storage || storage->placement != NRT_TENSOR_PLACEMENT_DEVICE)
		return nrt_error_set(error, NRT_INVALID, "tensor \"%s\" is not in device memory",
				     tensor->name ?: "");
	bo.handle = storage->bo->handle;
	device = storage->bo->device;
	ret = device->backend->bo_info(device->chip, &bo);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret), "%s: %s",
				     device->backend->path(device->chip), strerror(-ret));
	info->physical_address = bo.device_addr + tensor->offset;
	info->size = bo.size;
	info->hbm_index = (int)bo.stack;
	return NRT_SUCCESS;
}

NRT_STATUS
nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
				      nrt_tensor_device_allocation_info_t *alloc_info)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "tensor is NULL");
	if (!alloc_info)
		return nrt_fail_with(__func__, NRT_INVALID, "alloc_info is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = allocation_info(tensor, alloc_info, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}
