/* SPDX-License-Identifier: MIT */
/*
 * Tensors: names for ranges of storage.
 *
 * Storage is memory that tensors share; it lives as long as a tensor or a span names it. A
 * span is what a tensor names at one moment: whoever works with a tensor takes one, and
 * attaching another buffer meanwhile changes nothing for him.
 */
#ifndef LIBNRT_OBJECT_TENSOR_H
#define LIBNRT_OBJECT_TENSOR_H

#include <nrt/nrt.h>

#include "hw/machine.h"
#include "object/order.h"

/**
 * struct nrt_storage - memory that tensors share
 * @refs: tensors and spans
 * @placement: where it is
 * @bo: DEVICE, HOST: buffer
 * @vnc: core it was allocated for, -1: none
 * @memory: VIRTUAL: host memory
 * @owned: @memory is the library's
 * @size: bytes
 * @line: who uses it or will, under the lock of the order
 * @lock: protects what follows
 * @changed: what follows changed; its clock is CLOCK_MONOTONIC
 * @completions: executions that wrote to it as an output and ended
 */
struct nrt_storage {
	atomic_uint refs;
	nrt_tensor_placement_t placement;
	struct nrt_bo *bo;
	int vnc;
	uint8_t *memory;
	bool owned;
	size_t size;
	struct nrt_line line;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t completions;
};

/* A range of referenced storage; without storage it is the span of an empty tensor. */
struct nrt_span {
	struct nrt_storage *storage;
	size_t offset;
	size_t size;
};

/**
 * struct nrt_tensor - a tensor
 * @name: "" when it has none
 * @lock: protects @span
 * @span: what it names; it holds the reference
 */
struct nrt_tensor {
	char *name;
	pthread_mutex_t lock;
	struct nrt_span span;
};

/* A tensor with storage of its own. */
NRT_STATUS nrt_tensor_new(struct nrt_machine *machine, nrt_tensor_placement_t placement, int vnc,
			  size_t size, const char *name, struct nrt_tensor **tensor,
			  struct nrt_error *error);
/* One without; one that names a part of @source. */
NRT_STATUS nrt_tensor_new_empty(const char *name, struct nrt_tensor **tensor,
				struct nrt_error *error);
NRT_STATUS nrt_tensor_new_slice(struct nrt_tensor *source, size_t offset, size_t size,
				const char *name, struct nrt_tensor **tensor,
				struct nrt_error *error);
void nrt_tensor_release(struct nrt_tensor *tensor);

/* From now on @tensor names the caller's @buffer. */
NRT_STATUS nrt_tensor_attach(struct nrt_tensor *tensor, void *buffer, size_t size,
			     struct nrt_error *error);

/* What it names now, with a reference that nrt_span_put() drops. */
struct nrt_span nrt_tensor_span(struct nrt_tensor *tensor);
void nrt_span_put(struct nrt_span *span);

/* Host address of the first byte; NULL: it is device memory, or there is none. */
uint8_t *nrt_span_memory(const struct nrt_span *span);

/* The same, with device memory mapped if that is possible. */
uint8_t *nrt_span_map(const struct nrt_span *span);

/* [offset, offset + size) must lie in a span with storage; @name is for the message. */
NRT_STATUS nrt_span_check(const struct nrt_span *span, const char *name, size_t offset,
			  size_t size, struct nrt_error *error);

/* Their bytes; the ranges have been checked. */
NRT_STATUS nrt_span_read(const struct nrt_span *span, size_t offset, void *data, size_t size,
			 struct nrt_error *error);
NRT_STATUS nrt_span_write(const struct nrt_span *span, size_t offset, const void *data,
			  size_t size, struct nrt_error *error);
NRT_STATUS nrt_span_copy(const struct nrt_span *from, size_t from_offset,
			 const struct nrt_span *to, size_t to_offset, size_t size,
			 struct nrt_error *error);
NRT_STATUS nrt_span_fill(const struct nrt_span *span, size_t offset, int value, size_t size,
			 struct nrt_error *error);

/* May the device copy between the two? NRT_INVALID: they belong to different cores. */
NRT_STATUS nrt_span_check_copy(const struct nrt_span *from, const struct nrt_span *to,
			       struct nrt_error *error);

/* @ticket uses those bytes of the span, too; a span without storage has none. */
void nrt_span_use(const struct nrt_span *span, size_t offset, size_t size, bool writes,
		  struct nrt_ticket *ticket);

/* An execution that wrote to it ended. */
void nrt_storage_complete(struct nrt_storage *storage);
void nrt_storage_reset(struct nrt_storage *storage);

struct nrt_count_wait;

/**
 * struct nrt_count_waits - who waits for a number of executions to have written to storage
 * @lock: protects @first; taken before that of a storage
 * @first: those who wait
 * @ended: nobody is to wait any more
 */
struct nrt_count_waits {
	pthread_mutex_t lock;
	struct nrt_count_wait *first;
	atomic_bool ended;
};

void nrt_count_waits_init(struct nrt_count_waits *waits);
void nrt_count_waits_fini(struct nrt_count_waits *waits);

/* From now on nrt_storage_wait() returns at once. */
void nrt_count_waits_end(struct nrt_count_waits *waits);

/*
 * Wait until @count executions have written to it, at most @timeout_us (negative: for ever), or
 * until the waits are ended; how many have.
 */
uint64_t nrt_storage_wait(struct nrt_count_waits *waits, struct nrt_storage *storage,
			  int64_t timeout_us, uint64_t count);

#endif /* LIBNRT_OBJECT_TENSOR_H */
