// SPDX-License-Identifier: MIT
/*
 * nrt.h: tensors and tensor sets.
 */
#include <stdio.h>

#include <nrt/nrt.h>

#include "api/state.h"

_Static_assert(sizeof(nrt_tensor_device_allocation_info_t) == 24, "public layout");
_Static_assert(sizeof(nrt_tensor_batch_op_t) == 24, "public layout");
_Static_assert(sizeof(nrt_tensor_batch_t) == 24, "public layout");

/* A wait for a count that has no limit says after that time what it waits for. */
#define WAIT_WARN_US	30000000

/* A handle for a new tensor, which is released on failure. */
static NRT_STATUS publish_tensor(struct nrt_state *state, struct nrt_tensor *tensor,
				 nrt_tensor_t **out, struct nrt_error *error)
{
	nrt_tensor_t *handle = nrt_handle_new(state->handles, NRT_KIND_TENSOR, tensor);

	if (!handle) {
		nrt_tensor_release(tensor);
		return nrt_error_memory(error);
	}
	*out = handle;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
			       const char *name, nrt_tensor_t **tensor)
{
	struct nrt_tensor *made;
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
	status = nrt_tensor_new(&state->machine, tensor_placement, vnc, size, name, &made,
				&error);
	if (!status)
		status = publish_tensor(state, made, tensor, &error);
	return nrt_end(state, __func__, status, &error);
}

NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor)
{
	struct nrt_tensor *made;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = nrt_tensor_new_empty(name, &made, &error);
	if (!status)
		status = publish_tensor(state, made, tensor, &error);
	return nrt_end(state, __func__, status, &error);
}

void nrt_tensor_free(nrt_tensor_t **tensor)
{
	struct nrt_state *state;

	if (!tensor || !*tensor)
		return;
	state = nrt_enter_any();
	nrt_drop(state, __func__, NRT_KIND_TENSOR, *tensor, false);
	nrt_leave(state);
	*tensor = NULL;
}

/* A buffer for an empty tensor. */
struct attachment {
	void *buffer;
	size_t size;
};

static NRT_STATUS attach(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
			 struct nrt_error *error)
{
	const struct attachment *attachment = arg;

	(void)state;
	return nrt_tensor_attach(tensor, attachment->buffer, attachment->size, error);
}

NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size)
{
	struct attachment attachment = { buffer, size };

	if (!buffer || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "buffer is NULL or size is 0");
	return nrt_tensor_call(__func__, tensor, attach, &attachment);
}

struct slice {
	size_t offset;
	size_t size;
	const char *name;
	nrt_tensor_t **out;
};

static NRT_STATUS slice(struct nrt_state *state, struct nrt_tensor *source, void *arg,
			struct nrt_error *error)
{
	const struct slice *what = arg;
	struct nrt_tensor *made;

	if (nrt_tensor_new_slice(source, what->offset, what->size, what->name, &made, error))
		return error->status;
	return publish_tensor(state, made, what->out, error);
}

NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset,
				     size_t size, const char *name,
				     nrt_tensor_t **tensor_slice)
{
	struct slice what = { offset, size, name, tensor_slice };

	if (!tensor_slice || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor_slice is NULL or size is 0");
	return nrt_tensor_call(__func__, tensor_source, slice, &what);
}

/* Questions that have no status: the span of a tensor, which may be an empty one. */
static struct nrt_span look_at(struct nrt_state *state, const nrt_tensor_t *handle)
{
	struct nrt_span span = { 0 };
	struct nrt_tensor *tensor;
	struct nrt_error error;

	tensor = nrt_get(state, NRT_KIND_TENSOR, handle, &error);
	if (!tensor)
		return span;
	span = nrt_tensor_span(tensor);
	nrt_handle_put(state->handles, handle);
	return span;
}

size_t nrt_tensor_get_size(const nrt_tensor_t *tensor)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_span span = look_at(state, tensor);
	size_t size = span.size;

	nrt_span_put(&span);
	nrt_leave(state);
	return size;
}

void *nrt_tensor_get_va(const nrt_tensor_t *tensor)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_span span = look_at(state, tensor);
	void *memory = nrt_span_map(&span);

	nrt_span_put(&span);
	nrt_leave(state);
	return memory;
}

static NRT_STATUS allocation_info(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
				  struct nrt_error *error)
{
	nrt_tensor_device_allocation_info_t *info = arg;
	struct nrt_span span = nrt_tensor_span(tensor);
	struct drm_neuron_bo_info bo;
	NRT_STATUS status;

	(void)state;
	if (span.storage && span.storage->placement == NRT_TENSOR_PLACEMENT_DEVICE)
		status = nrt_bo_info(span.storage->bo, &bo, error);
	else
		status = nrt_error_set(error, NRT_INVALID,
				       "tensor \"%.200s\" is not in device memory", tensor->name);
	if (!status) {
		info->physical_address = bo.device_addr + span.offset;
		info->size = bo.size;
		info->hbm_index = (int)bo.stack;
	}
	nrt_span_put(&span);
	return status;
}

NRT_STATUS
nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
				      nrt_tensor_device_allocation_info_t *alloc_info)
{
	if (!alloc_info)
		return nrt_fail_with(__func__, NRT_INVALID, "alloc_info is NULL");
	return nrt_tensor_call(__func__, tensor, allocation_info, alloc_info);
}

/* --- The bytes of tensors --- */

enum access_kind {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_FILL,
};

/**
 * struct access - what is done with bytes of a tensor
 * @kind: what
 * @buffer: READ, WRITE
 * @value: FILL
 * @offset, @size: which bytes
 * @now: whoever uses the tensor
 */
struct access {
	enum access_kind kind;
	void *buffer;
	int value;
	size_t offset;
	size_t size;
	bool now;
};

static NRT_STATUS do_access(const struct nrt_span *span, const struct access *access,
			    struct nrt_error *error)
{
	switch (access->kind) {
	case ACCESS_READ:
		return nrt_span_read(span, access->offset, access->buffer, access->size, error);
	case ACCESS_WRITE:
		return nrt_span_write(span, access->offset, access->buffer, access->size, error);
	default:
		return nrt_span_fill(span, access->offset, access->value, access->size, error);
	}
}

/* The same when it is its turn among all that use the tensor. */
static NRT_STATUS access_in_order(struct nrt_state *state, const struct nrt_span *span,
				  const struct access *access, struct nrt_error *error)
{
	struct nrt_order *order = nrt_units_order(state->units);
	struct nrt_use use;
	struct nrt_ticket ticket = { .uses = &use };
	NRT_STATUS status;

	nrt_span_use(span, access->offset, access->size, access->kind != ACCESS_READ, &ticket);
	nrt_order_enter(order, &ticket);
	status = do_access(span, access, error);
	nrt_order_leave(order, &ticket);
	return status;
}

/* Whoever wants to know hears of reads and writes, as of the call that does them. */
static void begin_access(struct nrt_event *event, const struct nrt_tensor *tensor,
			 const struct access *access)
{
	event->begin_ns = 0;
	if (access->kind == ACCESS_FILL)
		return;
	nrt_event_begin(event, access->kind == ACCESS_READ ? NRT_EVENT_NRT_TENSOR_READ :
							     NRT_EVENT_NRT_TENSOR_WRITE);
	if (!event->begin_ns)
		return;
	event->bytes = access->size;
	snprintf(event->name, sizeof(event->name), "%.63s", tensor->name);
}

static NRT_STATUS access_tensor(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
				struct nrt_error *error)
{
	const struct access *access = arg;
	struct nrt_event event;
	struct nrt_span span;
	NRT_STATUS status;

	if (!access->buffer && access->size && access->kind != ACCESS_FILL)
		return nrt_error_set(error, NRT_INVALID, "the buffer is NULL");
	begin_access(&event, tensor, access);
	span = nrt_tensor_span(tensor);
	status = nrt_span_check(&span, tensor->name, access->offset, access->size, error);
	if (event.begin_ns && span.storage)
		event.core = span.storage->vnc;
	if (!status)
		status = access->now ? do_access(&span, access, error) :
				       access_in_order(state, &span, access, error);
	nrt_span_put(&span);
	nrt_event_end(&event, status);
	return status;
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
	struct access access = { ACCESS_READ, buf, 0, offset, size, false };

	return nrt_tensor_call(__func__, tensor, access_tensor, &access);
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
	struct access access = { ACCESS_WRITE, (void *)buf, 0, offset, size, false };

	return nrt_tensor_call(__func__, tensor, access_tensor, &access);
}

NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size)
{
	struct access access = { ACCESS_FILL, NULL, value, offset, size, false };

	return nrt_tensor_call(__func__, tensor, access_tensor, &access);
}

/* A batch on its tensor. */
struct batch {
	const nrt_tensor_batch_t *batch;
	enum access_kind kind;
	bool now;
};

static NRT_STATUS run_batch(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
			    struct nrt_error *error)
{
	const struct batch *run = arg;
	uint32_t i;

	if (!run->batch->ops && run->batch->num_ops)
		return nrt_error_set(error, NRT_INVALID, "a batch has no list of operations");
	for (i = 0; i < run->batch->num_ops; i++) {
		const nrt_tensor_batch_op_t *op = &run->batch->ops[i];
		struct access access = { run->kind, op->buffer, 0, op->offset, op->size,
					 run->now };

		if (access_tensor(state, tensor, &access, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS run_batches(const char *call, const nrt_tensor_batch_t *batches,
			      uint64_t num_batches, enum access_kind kind, bool now)
{
	NRT_STATUS status = NRT_SUCCESS;
	uint64_t i;

	if (!batches && num_batches)
		return nrt_fail_with(call, NRT_INVALID, "batches is NULL");
	for (i = 0; i < num_batches && !status; i++) {
		struct batch batch = { &batches[i], kind, now };

		status = nrt_tensor_call(call, batches[i].tensor, run_batch, &batch);
	}
	return status;
}

NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				 bool unsafe)
{
	return run_batches(__func__, batches, num_batches, ACCESS_READ, unsafe);
}

NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				  bool unsafe)
{
	return run_batches(__func__, batches, num_batches, ACCESS_WRITE, unsafe);
}

struct copy {
	size_t src_offset;
	nrt_tensor_t *dst;
	size_t dst_offset;
	size_t size;
};

static NRT_STATUS copy_spans(struct nrt_state *state, const struct nrt_span *from,
			     const struct nrt_span *to, const struct copy *copy,
			     struct nrt_error *error)
{
	struct nrt_order *order = nrt_units_order(state->units);
	struct nrt_use uses[2];
	struct nrt_ticket ticket = { .uses = uses };
	NRT_STATUS status;

	nrt_span_use(from, copy->src_offset, copy->size, false, &ticket);
	nrt_span_use(to, copy->dst_offset, copy->size, true, &ticket);
	nrt_order_enter(order, &ticket);
	status = nrt_span_copy(from, copy->src_offset, to, copy->dst_offset, copy->size, error);
	nrt_order_leave(order, &ticket);
	return status;
}

static NRT_STATUS copy_tensor(struct nrt_state *state, struct nrt_tensor *src, void *arg,
			      struct nrt_error *error)
{
	const struct copy *copy = arg;
	struct nrt_tensor *dst = nrt_get(state, NRT_KIND_TENSOR, copy->dst, error);
	struct nrt_span from, to;
	NRT_STATUS status;

	if (!dst)
		return error->status;
	from = nrt_tensor_span(src);
	to = nrt_tensor_span(dst);
	status = nrt_span_check(&from, src->name, copy->src_offset, copy->size, error);
	if (!status)
		status = nrt_span_check(&to, dst->name, copy->dst_offset, copy->size, error);
	if (!status)
		status = nrt_span_check_copy(&from, &to, error);
	if (!status)
		status = copy_spans(state, &from, &to, copy, error);
	nrt_span_put(&from);
	nrt_span_put(&to);
	nrt_handle_put(state->handles, copy->dst);
	return status;
}

NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
			   size_t dst_offset, size_t size)
{
	struct copy copy = { src_offset, dst, dst_offset, size };

	return nrt_tensor_call(__func__, src, copy_tensor, &copy);
}

struct completion {
	const char *call;
	int64_t timeout_us;
	uint64_t count;
};

static NRT_STATUS explain_count(const struct completion *wait, uint64_t seen,
				struct nrt_error *error)
{
	return nrt_error_set(error, NRT_TIMEOUT,
			     "%llu of %llu executions wrote the tensor within %lld us",
			     (unsigned long long)seen, (unsigned long long)wait->count,
			     (long long)wait->timeout_us);
}

static NRT_STATUS wait_count(struct nrt_state *state, struct nrt_storage *storage,
			     const struct completion *wait, struct nrt_error *error)
{
	bool endless = wait->timeout_us < 0;
	uint64_t seen = nrt_storage_wait(&state->count_waits, storage,
					 endless ? WAIT_WARN_US : wait->timeout_us, wait->count);

	if (endless && seen < wait->count && nrt_is_ready(state)) {
		nrt_log(NRT_LOG_WARNING, wait->call,
			"%llu of %llu executions wrote the tensor within 30 s",
			(unsigned long long)seen, (unsigned long long)wait->count);
		seen = nrt_storage_wait(&state->count_waits, storage, -1, wait->count);
	}
	if (seen >= wait->count)
		return NRT_SUCCESS;
	if (!nrt_is_ready(state))
		return nrt_error_set(error, NRT_CLOSED, "nrt_close() ended the wait");
	return explain_count(wait, seen, error);
}

static NRT_STATUS check_completion(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
				   struct nrt_error *error)
{
	struct nrt_span span = nrt_tensor_span(tensor);
	NRT_STATUS status;

	if (span.storage)
		status = wait_count(state, span.storage, arg, error);
	else
		status = nrt_error_set(error, NRT_INVALID, "tensor \"%.200s\" has no storage",
				       tensor->name);
	nrt_span_put(&span);
	return status;
}

NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *tensor, int64_t timeout,
					      uint64_t expected_completion_count)
{
	struct completion wait = { __func__, timeout, expected_completion_count };

	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor is NULL");
	return nrt_tensor_call(__func__, tensor, check_completion, &wait);
}

static NRT_STATUS reset_completion(struct nrt_state *state, struct nrt_tensor *tensor, void *arg,
				   struct nrt_error *error)
{
	struct nrt_span span = nrt_tensor_span(tensor);

	(void)state;
	(void)arg;
	if (!span.storage)
		return nrt_error_set(error, NRT_INVALID, "tensor \"%.200s\" has no storage",
				     tensor->name);
	nrt_storage_reset(span.storage);
	nrt_span_put(&span);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *tensor)
{
	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor is NULL");
	return nrt_tensor_call(__func__, tensor, reset_completion, NULL);
}

/* --- Tensor sets --- */

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result)
{
	nrt_tensor_set_t *handle = NULL;
	struct nrt_state *state;
	struct nrt_set *set;
	NRT_STATUS status;

	if (!result)
		return nrt_fail_with(__func__, NRT_INVALID, "result is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	set = nrt_set_new();
	if (set)
		handle = nrt_handle_new(state->handles, NRT_KIND_TENSOR_SET, set);
	if (set && !handle)
		nrt_set_release(set);
	nrt_leave(state);
	if (!handle)
		return nrt_fail_with(__func__, NRT_RESOURCE, "out of host memory");
	*result = handle;
	return NRT_SUCCESS;
}

void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set)
{
	struct nrt_state *state;

	if (!tensor_set || !*tensor_set)
		return;
	state = nrt_enter_any();
	nrt_drop(state, __func__, NRT_KIND_TENSOR_SET, *tensor_set, false);
	nrt_leave(state);
	*tensor_set = NULL;
}

NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
					nrt_tensor_t *tensor)
{
	struct nrt_state *state;
	struct nrt_error error;
	struct nrt_set *set;
	NRT_STATUS status;

	if (!tensor_name || !*tensor_name)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor_name is NULL or empty");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	set = nrt_get(state, NRT_KIND_TENSOR_SET, tensor_set, &error);
	if (set && nrt_get(state, NRT_KIND_TENSOR, tensor, &error)) {
		status = nrt_set_add(set, tensor_name, tensor, &error);
		nrt_handle_put(state->handles, tensor);
	} else {
		status = error.status;
	}
	if (set)
		nrt_handle_put(state->handles, tensor_set);
	return nrt_end(state, __func__, status, &error);
}

NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set,
					  const char *tensor_name, nrt_tensor_t **tensor)
{
	nrt_tensor_t *found = NULL;
	struct nrt_state *state;
	struct nrt_error error;
	struct nrt_set *set;
	NRT_STATUS status;

	if (!tensor_name || !tensor)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor_name or tensor is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	set = nrt_get(state, NRT_KIND_TENSOR_SET, tensor_set, &error);
	if (set) {
		found = nrt_set_find(set, tensor_name);
		nrt_handle_put(state->handles, tensor_set);
	}
	nrt_leave(state);
	if (!set)
		return nrt_fail(__func__, &error);
	if (!found)
		return nrt_fail_with(__func__, NRT_FAILURE, "the set has no tensor \"%.200s\"",
				     tensor_name);
	*tensor = found;
	return NRT_SUCCESS;
}
