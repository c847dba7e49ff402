// SPDX-License-Identifier: MIT
/*
 * Tensors: their bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "object/state.h"
#include "object/tensor.h"

_Static_assert(sizeof(nrt_tensor_batch_op_t) == 24, "public layout");
_Static_assert(sizeof(nrt_tensor_batch_t) == 24, "public layout");

/* Piece of a memset that goes to the device at once. */
#define MEMSET_BYTES	(1024 * 1024)

NRT_STATUS nrt_tensor_check(const struct nrt_tensor *tensor, size_t offset, size_t size,
			    struct nrt_error *error)
{
	const char *name = tensor->name ?: "";

	if (!tensor->storage)
		return nrt_error_set(error, NRT_INVALID, "tensor \"%.200s\" has no storage", name);
	if (tensor->storage->bo && !tensor->storage->bo->handle)
		return nrt_error_set(error, NRT_INVALID,
				     "tensor \"%.200s\" was allocated before nrt_close()", name);
	if (offset > tensor->size || size > tensor->size - offset)
		return nrt_error_set(error, NRT_INVALID,
				     "%zu bytes at offset %zu are outside of tensor \"%.200s\", which has %zu",
				     size, offset, name, tensor->size);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_get(const struct nrt_tensor *tensor, size_t offset, void *data,
			  size_t size, struct nrt_error *error)
{
	const uint8_t *memory = nrt_tensor_memory(tensor);

	if (!memory)
		return nrt_bo_read(tensor->storage->bo, tensor->offset + offset, data, size, error);
	if (size)
		memcpy(data, memory + offset, size);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_put(const struct nrt_tensor *tensor, size_t offset, const void *data,
			  size_t size, struct nrt_error *error)
{
	uint8_t *memory = nrt_tensor_memory(tensor);

	if (!memory)
		return nrt_bo_write(tensor->storage->bo, tensor->offset + offset, data, size,
				    error);
	if (size)
		memcpy(memory + offset, data, size);
	return NRT_SUCCESS;
}

static NRT_STATUS read_checked(const struct nrt_tensor *tensor, void *buf, size_t offset,
			       size_t size, struct nrt_error *error)
{
	if (!tensor)
		return nrt_error_set(error, NRT_INVALID_HANDLE, "tensor is NULL");
	if (!buf && size)
		return nrt_error_set(error, NRT_INVALID, "the buffer is NULL");
	if (nrt_tensor_check(tensor, offset, size, error))
		return error->status;
	return nrt_tensor_get(tensor, offset, buf, size, error);
}

static NRT_STATUS write_checked(const struct nrt_tensor *tensor, const void *buf, size_t offset,
				size_t size, struct nrt_error *error)
{
	if (!tensor)
		return nrt_error_set(error, NRT_INVALID_HANDLE, "tensor is NULL");
	if (!buf && size)
		return nrt_error_set(error, NRT_INVALID, "the buffer is NULL");
	if (nrt_tensor_check(tensor, offset, size, error))
		return error->status;
	return nrt_tensor_put(tensor, offset, buf, size, error);
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = read_checked(tensor, buf, offset, size, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = write_checked(tensor, buf, offset, size, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}

static NRT_STATUS run_batch(const nrt_tensor_batch_t *batch, bool write,
			    struct nrt_error *error)
{
	uint32_t i;

	if (!batch->ops && batch->num_ops)
		return nrt_error_set(error, NRT_INVALID, "a batch has no list of operations");
	for (i = 0; i < batch->num_ops; i++) {
		const nrt_tensor_batch_op_t *op = &batch->ops[i];

		if (write ? write_checked(batch->tensor, op->buffer, op->offset, op->size, error) :
			    read_checked(batch->tensor, op->buffer, op->offset, op->size, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS run_batches(const char *call, const nrt_tensor_batch_t *batches,
			      uint64_t num_batches, bool write)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;
	uint64_t i;

	if (!batches && num_batches)
		return nrt_fail_with(call, NRT_INVALID, "batches is NULL");
	state = nrt_enter(call, &status);
	if (!state)
		return status;
	for (i = 0; i < num_batches && !status; i++)
		status = run_batch(&batches[i], write, &error);
	nrt_leave(state);
	return status ? nrt_fail(call, &error) : NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				 bool unsafe)
{
	(void)unsafe;
	return run_batches(__func__, batches, num_batches, false);
}

NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				  bool unsafe)
{
	(void)unsafe;
	return run_batches(__func__, batches, num_batches, true);
}

static NRT_STATUS check_cores(const struct nrt_tensor *src, const struct nrt_tensor *dst,
			      struct nrt_error *error)
{
	const struct nrt_storage *from = src->storage;
	const struct nrt_storage *to = dst->storage;

	if (from->placement != NRT_TENSOR_PLACEMENT_DEVICE ||
	    to->placement != NRT_TENSOR_PLACEMENT_DEVICE || from->vnc == to->vnc)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "tensors \"%.200s\" and \"%.200s\" are on cores %d and %d; copy through host memory",
			     src->name ?: "", dst->name ?: "", from->vnc, to->vnc);
}

static NRT_STATUS copy(const struct nrt_tensor *src, size_t src_offset,
		       const struct nrt_tensor *dst, size_t dst_offset, size_t size,
		       struct nrt_error *error)
{
	struct nrt_bo *from_bo, *to_bo;
	uint8_t *to;

	if (nrt_tensor_check(src, src_offset, size, error) ||
	    nrt_tensor_check(dst, dst_offset, size, error) ||
	    check_cores(src, dst, error))
		return error->status;
	from_bo = src->storage->bo;
	to_bo = dst->storage->bo;
	if (from_bo && to_bo && from_bo->device == to_bo->device)
		return nrt_bo_copy(to_bo, dst->offset + dst_offset, from_bo,
				   src->offset + src_offset, size, error);
	to = nrt_tensor_memory(dst);
	if (to)
		return nrt_tensor_get(src, src_offset, to + dst_offset, size, error);
	return nrt_tensor_put(dst, dst_offset, nrt_tensor_memory(src) + src_offset, size, error);
}

NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
			   size_t dst_offset, size_t size)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!src || !dst)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "src or dst is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = copy(src, src_offset, dst, dst_offset, size, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}

static NRT_STATUS fill(const struct nrt_tensor *tensor, size_t offset, int value, size_t size,
		       struct nrt_error *error)
{
	size_t piece = size < MEMSET_BYTES ? size : MEMSET_BYTES;
	NRT_STATUS status = NRT_SUCCESS;
	uint8_t *memory;
	void *pattern;

	if (nrt_tensor_check(tensor, offset, size, error))
		return error->status;
	if (!size)
		return NRT_SUCCESS;
	memory = nrt_tensor_memory(tensor);
	if (memory) {
		memset(memory + offset, value, size);
		return NRT_SUCCESS;
	}
	pattern = malloc(piece);
	if (!pattern)
		return nrt_error_memory(error);
	memset(pattern, value, piece);
	while (size && !status) {
		if (piece > size)
			piece = size;
		status = nrt_tensor_put(tensor, offset, pattern, piece, error);
		offset += piece;
		size -= piece;
	}
	free(pattern);
	return status;
}

NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "tensor is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = fill(tensor, offset, value, size, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}
