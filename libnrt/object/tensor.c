// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/event.h"
#include "object/tensor.h"

/* Piece of a fill that goes to the device at once. */
#define FILL_BYTES	(1024 * 1024)
/* Piece of a copy between two devices. */
#define BOUNCE_BYTES	(1024 * 1024)
/* Longest wait: a hundred years. */
#define MAX_WAIT_S	(100ll * 365 * 24 * 3600)

static void storage_put(struct nrt_storage *storage)
{
	if (!storage || atomic_fetch_sub(&storage->refs, 1) != 1)
		return;
	if (storage->bo) {
		nrt_bo_forget(storage->bo);
		nrt_bo_put(storage->bo);
	}
	if (storage->owned)
		free(storage->memory);
	pthread_cond_destroy(&storage->changed);
	pthread_mutex_destroy(&storage->lock);
	free(storage);
}

static struct nrt_storage *storage_new(nrt_tensor_placement_t placement, size_t size, int vnc)
{
	struct nrt_storage *storage = calloc(1, sizeof(*storage));
	pthread_condattr_t attr;

	if (!storage)
		return NULL;
	atomic_init(&storage->refs, 1);
	storage->placement = placement;
	storage->size = size;
	storage->vnc = vnc;
	pthread_mutex_init(&storage->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&storage->changed, &attr);
	pthread_condattr_destroy(&attr);
	return storage;
}

static NRT_STATUS fill_storage(struct nrt_machine *machine, struct nrt_storage *storage,
			       struct nrt_error *error)
{
	bool device = storage->placement == NRT_TENSOR_PLACEMENT_DEVICE;
	struct nrt_vcore *core;

	if (storage->placement == NRT_TENSOR_PLACEMENT_VIRTUAL) {
		storage->memory = calloc(1, storage->size);
		storage->owned = true;
		return storage->memory ? NRT_SUCCESS : nrt_error_memory(error);
	}
	core = nrt_machine_vcore(machine, storage->vnc < 0 && !device ? 0 : storage->vnc, error);
	if (!core)
		return error->status;
	return nrt_bo_create(core->core[0], storage->size,
			     device ? DRM_NEURON_BO_HBM : DRM_NEURON_BO_HOST,
			     DRM_NEURON_CATEGORY_TENSORS, &storage->bo, error);
}

NRT_STATUS nrt_tensor_new_empty(const char *name, struct nrt_tensor **out,
				struct nrt_error *error)
{
	struct nrt_tensor *tensor = calloc(1, sizeof(*tensor));

	if (!tensor)
		return nrt_error_memory(error);
	tensor->name = strdup(name ?: "");
	if (!tensor->name) {
		free(tensor);
		return nrt_error_memory(error);
	}
	pthread_mutex_init(&tensor->lock, NULL);
	*out = tensor;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_new(struct nrt_machine *machine, nrt_tensor_placement_t placement, int vnc,
			  size_t size, const char *name, struct nrt_tensor **out,
			  struct nrt_error *error)
{
	struct nrt_storage *storage = storage_new(placement, size, vnc);

	if (!storage)
		return nrt_error_memory(error);
	if (fill_storage(machine, storage, error) || nrt_tensor_new_empty(name, out, error)) {
		storage_put(storage);
		return error->status;
	}
	(*out)->span = (struct nrt_span){ storage, 0, size };
	return NRT_SUCCESS;
}

void nrt_tensor_release(struct nrt_tensor *tensor)
{
	storage_put(tensor->span.storage);
	pthread_mutex_destroy(&tensor->lock);
	free(tensor->name);
	free(tensor);
}

static void set_span(struct nrt_tensor *tensor, const struct nrt_span *span)
{
	struct nrt_storage *old;

	pthread_mutex_lock(&tensor->lock);
	old = tensor->span.storage;
	tensor->span = *span;
	pthread_mutex_unlock(&tensor->lock);
	storage_put(old);
}

NRT_STATUS nrt_tensor_attach(struct nrt_tensor *tensor, void *buffer, size_t size,
			     struct nrt_error *error)
{
	struct nrt_storage *storage = storage_new(NRT_TENSOR_PLACEMENT_VIRTUAL, size, -1);
	const struct nrt_span span = { storage, 0, size };

	if (!storage)
		return nrt_error_memory(error);
	storage->memory = buffer;
	set_span(tensor, &span);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_new_slice(struct nrt_tensor *source, size_t offset, size_t size,
				const char *name, struct nrt_tensor **out,
				struct nrt_error *error)
{
	struct nrt_span span = nrt_tensor_span(source);

	if (nrt_span_check(&span, source->name, offset, size, error) ||
	    nrt_tensor_new_empty(name, out, error)) {
		nrt_span_put(&span);
		return error->status;
	}
	span.offset += offset;
	span.size = size;
	/* The reference goes with it. */
	(*out)->span = span;
	return NRT_SUCCESS;
}

struct nrt_span nrt_tensor_span(struct nrt_tensor *tensor)
{
	struct nrt_span span;

	pthread_mutex_lock(&tensor->lock);
	span = tensor->span;
	if (span.storage)
		atomic_fetch_add(&span.storage->refs, 1);
	pthread_mutex_unlock(&tensor->lock);
	return span;
}

void nrt_span_put(struct nrt_span *span)
{
	storage_put(span->storage);
	span->storage = NULL;
}

uint8_t *nrt_span_memory(const struct nrt_span *span)
{
	const struct nrt_storage *storage = span->storage;
	uint8_t *memory;

	if (!storage)
		return NULL;
	memory = storage->placement == NRT_TENSOR_PLACEMENT_HOST ? storage->bo->map :
								   storage->memory;
	return memory ? memory + span->offset : NULL;
}

uint8_t *nrt_span_map(const struct nrt_span *span)
{
	uint8_t *memory = nrt_span_memory(span);
	struct nrt_error ignored;
	void *map;

	if (memory || !span->storage || !span->storage->bo || !span->storage->bo->handle ||
	    nrt_bo_map(span->storage->bo, &map, &ignored))
		return memory;
	return (uint8_t *)map + span->offset;
}

NRT_STATUS nrt_span_check(const struct nrt_span *span, const char *name, size_t offset,
			  size_t size, struct nrt_error *error)
{
	if (!span->storage)
		return nrt_error_set(error, NRT_INVALID, "tensor \"%.200s\" has no storage", name);
	if (span->storage->bo && !span->storage->bo->handle)
		return nrt_error_set(error, NRT_INVALID,
				     "tensor \"%.200s\" was allocated before nrt_close()", name);
	if (offset > span->size || size > span->size - offset)
		return nrt_error_set(error, NRT_INVALID,
				     "%zu bytes at offset %zu are outside of tensor \"%.200s\", which has %zu",
				     size, offset, name, span->size);
	return NRT_SUCCESS;
}

static void end_copy(struct nrt_event *event, const struct nrt_span *span, size_t size,
		     NRT_STATUS status)
{
	if (!event->begin_ns)
		return;
	event->core = span->storage->vnc;
	event->bytes = size;
	nrt_event_end(event, status);
}

static NRT_STATUS copy_out(const struct nrt_span *span, size_t offset, void *data, size_t size,
			   struct nrt_error *error)
{
	struct nrt_event event;
	NRT_STATUS status;

	nrt_event_begin(&event, NRT_EVENT_DMEM_BUF_COPYOUT);
	status = nrt_bo_read(span->storage->bo, span->offset + offset, data, size, error);
	end_copy(&event, span, size, status);
	return status;
}

static NRT_STATUS copy_in(const struct nrt_span *span, size_t offset, const void *data,
			  size_t size, struct nrt_error *error)
{
	struct nrt_event event;
	NRT_STATUS status;

	nrt_event_begin(&event, NRT_EVENT_DMEM_BUF_COPYIN);
	status = nrt_bo_write(span->storage->bo, span->offset + offset, data, size, error);
	end_copy(&event, span, size, status);
	return status;
}

NRT_STATUS nrt_span_read(const struct nrt_span *span, size_t offset, void *data, size_t size,
			 struct nrt_error *error)
{
	const uint8_t *memory = nrt_span_memory(span);

	if (!memory)
		return copy_out(span, offset, data, size, error);
	/* Both may be the same tensor. */
	if (size)
		memmove(data, memory + offset, size);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_span_write(const struct nrt_span *span, size_t offset, const void *data,
			  size_t size, struct nrt_error *error)
{
	uint8_t *memory = nrt_span_memory(span);

	if (!memory)
		return copy_in(span, offset, data, size, error);
	/* The program may write a part of the buffer that it has attached. */
	if (size)
		memmove(memory + offset, data, size);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_span_check_copy(const struct nrt_span *from, const struct nrt_span *to,
			       struct nrt_error *error)
{
	const struct nrt_storage *a = from->storage;
	const struct nrt_storage *b = to->storage;

	if (a->placement != NRT_TENSOR_PLACEMENT_DEVICE ||
	    b->placement != NRT_TENSOR_PLACEMENT_DEVICE || a->vnc == b->vnc)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "the tensors are on cores %d and %d; copy through host memory", a->vnc,
			     b->vnc);
}

/* A device may move the bytes in any order, so a copy between pieces that overlap has no result. */
static NRT_STATUS check_pieces(const struct nrt_span *from, size_t from_offset,
			       const struct nrt_span *to, size_t to_offset, size_t size,
			       struct nrt_error *error)
{
	size_t first = from->offset + from_offset, second = to->offset + to_offset;

	if (from->storage != to->storage || first + size <= second || second + size <= first)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "the pieces overlap: %zu bytes from byte %zu to byte %zu of the same memory; copy through another tensor",
			     size, first, second);
}

/* Through host memory, as chips do not reach each other's memory. */
static NRT_STATUS bounce(const struct nrt_span *from, size_t from_offset,
			 const struct nrt_span *to, size_t to_offset, size_t size,
			 struct nrt_error *error)
{
	void *piece = malloc(BOUNCE_BYTES);
	NRT_STATUS status = NRT_SUCCESS;
	size_t at, n;

	if (!piece)
		return nrt_error_memory(error);
	for (at = 0; at < size && !status; at += n) {
		n = size - at < BOUNCE_BYTES ? size - at : BOUNCE_BYTES;
		status = nrt_span_read(from, from_offset + at, piece, n, error);
		if (!status)
			status = nrt_span_write(to, to_offset + at, piece, n, error);
	}
	free(piece);
	return status;
}

NRT_STATUS nrt_span_copy(const struct nrt_span *from, size_t from_offset,
			 const struct nrt_span *to, size_t to_offset, size_t size,
			 struct nrt_error *error)
{
	struct nrt_bo *from_bo = from->storage->bo;
	struct nrt_bo *to_bo = to->storage->bo;
	uint8_t *from_memory = nrt_span_memory(from);
	uint8_t *to_memory = nrt_span_memory(to);

	if (check_pieces(from, from_offset, to, to_offset, size, error))
		return error->status;
	if (from_bo && to_bo && from_bo->device == to_bo->device)
		return nrt_bo_copy(to_bo, to->offset + to_offset, from_bo,
				   from->offset + from_offset, size, error);
	if (to_memory)
		return nrt_span_read(from, from_offset, to_memory + to_offset, size, error);
	if (from_memory)
		return nrt_span_write(to, to_offset, from_memory + from_offset, size, error);
	return bounce(from, from_offset, to, to_offset, size, error);
}

NRT_STATUS nrt_span_fill(const struct nrt_span *span, size_t offset, int value, size_t size,
			 struct nrt_error *error)
{
	size_t piece = size < FILL_BYTES ? size : FILL_BYTES;
	uint8_t *memory = nrt_span_memory(span);
	NRT_STATUS status = NRT_SUCCESS;
	void *pattern;

	if (memory) {
		memset(memory + offset, value, size);
		return NRT_SUCCESS;
	}
	if (!size)
		return NRT_SUCCESS;
	pattern = malloc(piece);
	if (!pattern)
		return nrt_error_memory(error);
	memset(pattern, value, piece);
	while (size && !status) {
		piece = size < FILL_BYTES ? size : FILL_BYTES;
		status = nrt_bo_write(span->storage->bo, span->offset + offset, pattern, piece,
				      error);
		offset += piece;
		size -= piece;
	}
	free(pattern);
	return status;
}

void nrt_span_use(const struct nrt_span *span, size_t offset, size_t size, bool writes,
		  struct nrt_ticket *ticket)
{
	if (span->storage)
		nrt_ticket_use(ticket, &span->storage->line, span->offset + offset, size, writes);
}

void nrt_storage_complete(struct nrt_storage *storage)
{
	pthread_mutex_lock(&storage->lock);
	storage->completions++;
	pthread_cond_broadcast(&storage->changed);
	pthread_mutex_unlock(&storage->lock);
}

void nrt_storage_reset(struct nrt_storage *storage)
{
	pthread_mutex_lock(&storage->lock);
	storage->completions = 0;
	pthread_mutex_unlock(&storage->lock);
}

/* Somebody who waits; in the list from begin to end. */
struct nrt_count_wait {
	struct nrt_count_wait *next;
	struct nrt_count_wait *prev;
	struct nrt_storage *storage;
};

void nrt_count_waits_init(struct nrt_count_waits *waits)
{
	pthread_mutex_init(&waits->lock, NULL);
	waits->first = NULL;
	atomic_init(&waits->ended, false);
}

void nrt_count_waits_fini(struct nrt_count_waits *waits)
{
	pthread_mutex_destroy(&waits->lock);
}

void nrt_count_waits_end(struct nrt_count_waits *waits)
{
	struct nrt_count_wait *wait;

	pthread_mutex_lock(&waits->lock);
	atomic_store(&waits->ended, true);
	for (wait = waits->first; wait; wait = wait->next) {
		/* With its lock, or it could miss this between its look and its sleep. */
		pthread_mutex_lock(&wait->storage->lock);
		pthread_cond_broadcast(&wait->storage->changed);
		pthread_mutex_unlock(&wait->storage->lock);
	}
	pthread_mutex_unlock(&waits->lock);
}

static void count_wait_begin(struct nrt_count_waits *waits, struct nrt_count_wait *wait)
{
	pthread_mutex_lock(&waits->lock);
	wait->prev = NULL;
	wait->next = waits->first;
	if (wait->next)
		wait->next->prev = wait;
	waits->first = wait;
	pthread_mutex_unlock(&waits->lock);
}

static void count_wait_end(struct nrt_count_waits *waits, struct nrt_count_wait *wait)
{
	pthread_mutex_lock(&waits->lock);
	if (wait->next)
		wait->next->prev = wait->prev;
	if (wait->prev)
		wait->prev->next = wait->next;
	else
		waits->first = wait->next;
	pthread_mutex_unlock(&waits->lock);
}

static struct timespec time_in(int64_t us)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	/* A program may ask for more than a clock can say. */
	if (us / 1000000 > MAX_WAIT_S)
		us = MAX_WAIT_S * 1000000ll;
	time.tv_sec += us / 1000000;
	time.tv_nsec += us % 1000000 * 1000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

uint64_t nrt_storage_wait(struct nrt_count_waits *waits, struct nrt_storage *storage,
			  int64_t timeout_us, uint64_t count)
{
	struct timespec until = time_in(timeout_us < 0 ? INT64_MAX : timeout_us);
	struct nrt_count_wait wait = { .storage = storage };
	uint64_t seen;
	int ret = 0;

	count_wait_begin(waits, &wait);
	pthread_mutex_lock(&storage->lock);
	while (storage->completions < count && !atomic_load(&waits->ended) && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&storage->changed, &storage->lock, &until);
	seen = storage->completions;
	pthread_mutex_unlock(&storage->lock);
	count_wait_end(waits, &wait);
	return seen;
}
