/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous calls: work is scheduled, and its end is learnt later.
 *
 * Each core has execution units: for reading tensors, for writing them, for copies, for
 * models, for collectives. A unit has one or more queues. Requests of a queue run one after
 * the other, in the order in which they were scheduled, and end in that order. Requests of
 * different queues do so only if they use the same bytes of the same tensor, or of slices of
 * it, and one of them writes. The public runtime does not promise that: a program for both
 * waits for the end of the first request before it schedules the second one.
 *
 * A call that schedules never blocks. A queue takes 63 requests; then the call returns
 * NRT_QUEUE_FULL and nothing happened. After a request that ended with a timeout or an error
 * of the hardware the queue takes none any more: NRT_EXEC_UNIT_UNRECOVERABLE, until
 * nrt_close() and nrt_init(). Synchronous calls go on working then.
 *
 * Tensors, models and error trackers may be freed while requests use them: those go on to
 * their end. Buffers of the program must stay until the request has ended.
 *
 * Names, values and layouts are the public ones; the rules of nrt.h hold.
 */
#ifndef NRT_ASYNC_H
#define NRT_ASYNC_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Execution units. */
typedef enum {
	NRTA_XU_TENSOR_READ = 0,	/* queues 0 and 1 */
	NRTA_XU_TENSOR_WRITE = 1,	/* queues 0 and 1 */
	NRTA_XU_TENSOR_OP = 2,		/* queues 0 and 1 */
	NRTA_XU_COMPUTE = 3,		/* queue 0 */
	NRTA_XU_COLLECTIVES = 4,	/* queue 0 */
	NRTA_XU_TYPE_NUM = 5,
} nrta_xu_t;

/* A request: the execution unit's queue in bits 63 to 48, then a number that counts from 1. */
typedef uint64_t nrta_seq_t;
typedef uint16_t nrta_xu_id_t;

#define NRTA_SEQ_NUM_MAX		((1ull << 48) - 1)
#define NRTA_SEQ_NUM_MASK		NRTA_SEQ_NUM_MAX
#define NRTA_SEQ_GET_SEQ_NUM(seq_id)	((seq_id) & NRTA_SEQ_NUM_MASK)
#define NRTA_SEQ_GET_XU_ID(seq_id)	((seq_id) >> 48)

/**
 * struct nrta_error - a request that failed (16 bytes)
 * @seq_id: which one
 * @error_code: an NRT_STATUS
 */
typedef struct nrta_error {
	nrta_seq_t seq_id;
	uint64_t error_code;
} nrta_error_t;

/* Collects the requests that failed. */
typedef struct nrta_error_tracker nrta_error_tracker_t;

#pragma GCC visibility push(default)

/**
 * nrta_tensor_write() - schedule a write of @size bytes at @offset of a tensor
 * @tensor: destination
 * @buf: source; must stay until the request has ended
 * @offset: first byte in @tensor
 * @size: bytes
 * @queue: of unit TENSOR_WRITE of the tensor's core; core 0 for tensors of no core
 * @err: hears of a failure; may be NULL
 * @req_sequence: out: the request
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE, NRT_QUEUE_FULL,
 * NRT_EXEC_UNIT_UNRECOVERABLE, NRT_RESOURCE. All calls that schedule return these.
 */
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
			     uint64_t size, int queue, nrta_error_tracker_t *err,
			     nrta_seq_t *req_sequence);

/**
 * nrta_tensor_read() - schedule a read of @size bytes at @offset of a tensor
 * @buf: destination; must stay until the request has ended
 * @tensor: source
 * @offset: first byte in @tensor
 * @size: bytes
 * @queue: of unit TENSOR_READ of the tensor's core
 * @err: hears of a failure; may be NULL
 * @req_sequence: out: the request
 */
NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
			    int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence);

/**
 * nrta_tensor_copy() - schedule a copy between two tensors of a core
 * @src: source
 * @src_offset: first byte in @src
 * @dst: destination
 * @dst_offset: first byte in @dst
 * @size: bytes
 * @queue: of unit TENSOR_OP of the core of @dst
 * @err: hears of a failure; may be NULL
 * @req_sequence: out: the request
 *
 * Two device tensors must be of the same core: NRT_INVALID.
 */
NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
			    uint64_t dst_offset, uint64_t size, int queue,
			    nrta_error_tracker_t *err, nrta_seq_t *req_sequence);

/**
 * nrta_execute_schedule() - schedule an execution of a model
 * @model: model
 * @input: its inputs; the set may change as soon as the call returns
 * @output: its outputs
 * @queue: of unit COMPUTE of the model's core: 0
 * @err: hears of a failure; may be NULL
 * @req_sequence: out: the request
 *
 * Missing tensors, and ones of a wrong size, are errors of this call.
 */
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
				 nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
				 nrta_seq_t *req_sequence);

/**
 * nrta_cc_prepare() - prepare a collective
 * @comm: who takes part: a group of the ranks that have met in nrt_cc_global_comm_init(), and this
 *	one's place among them
 * @input: its tensors, 1 to 64. All-gather, all-reduce: a block; reduce-scatter: one of each rank
 * @output: as many tensors for the results. All-reduce, reduce-scatter: a block; all-gather: one of
 *	each rank. May be the same memory: of all-reduce all of it, else the rank's block
 * @dtype: type of the elements
 * @op: how they are reduced: NRT_OP_ADD, _MAX or _MIN; all-gather does not look at it
 * @cc_op: which collective
 * @cc_ctx: out: the collective, for one nrta_cc_schedule()
 *
 * Tensors are in memory of the chip of the core, and begin at a multiple of 4 bytes of their
 * storage. They may be freed as soon as this returns. The other ranks are not asked yet.
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE, NRT_RESOURCE; the status with which an
 * earlier collective of the ranks failed: then they must meet again.
 */
NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
			   nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
			   nrt_cc_op_type_t cc_op, nrt_cc_context_t **cc_ctx);

/**
 * nrta_cc_schedule() - schedule a collective that is prepared
 * @cc_ctx: from nrta_cc_prepare(); it is gone when this succeeds
 * @queue: of unit COLLECTIVES of the core: 0
 * @err: hears of a failure; may be NULL
 * @req_sequence: out: the request
 *
 * All ranks of a group schedule the same collectives in the same order. Those of one core run one
 * after the other. When its turn has come a rank waits for the others, as long as
 * NEURON_RT_EXEC_TIMEOUT says. If the ranks do not agree on what they are about to do, the request
 * fails on all of them (NRT_INVALID), and the next one can do better. Any other failure of a rank
 * is one of all ranks that have met: requests that are under way and later ones fail with the
 * status and the reason of the first, until the ranks that are left meet again
 * (nrt_cc_global_comm_init()).
 */
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
			    nrta_seq_t *req_sequence);

/**
 * nrta_is_completed() - has a request ended?
 * @seq: request
 * @is_completed: out: the answer
 *
 * Return: NRT_SUCCESS, whatever the answer; NRT_INVALID: there is no such request.
 */
NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed);

/**
 * nrta_get_sequence() - the request of a queue that ended last
 * @lnc: core
 * @xu: execution unit
 * @queue: queue of the unit
 * @seq: out: the request; its number is 0 when none has ended
 *
 * Return: NRT_SUCCESS, NRT_INVALID.
 */
NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq);

/**
 * nrta_get_completion_handle() - a file descriptor for the end of a request
 * @seq: request
 * @fd: out: becomes readable when the request has ended, which may be now
 *
 * The program may wait for it with poll() and its like, and must close() it; nothing else.
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_RESOURCE.
 */
NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd);

/**
 * nrta_error_tracker_create() - make an error tracker
 * @lnc_idx: core that it is meant for
 * @error_tracker: out: the tracker, for nrta_error_tracker_destroy()
 */
NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker);

/**
 * nrta_error_tracker_destroy() - free an error tracker
 * @error_tracker: tracker or NULL; requests may still name it. May be called after nrt_close()
 */
void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker);

/**
 * nrta_error_tracker_get_list() - the requests that failed so far
 * @error_tracker: tracker
 * @list: out: the errors, the oldest first; valid until the next call for this tracker
 * @error_count: out: how many; a tracker keeps the first 65,536
 *
 * A failure is in the list before its request counts as completed. May be called after
 * nrt_close(), which ends requests with NRT_CLOSED.
 *
 * Return: NRT_SUCCESS, NRT_INVALID, NRT_INVALID_HANDLE, NRT_RESOURCE.
 */
NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
				       const nrta_error_t **list, size_t *error_count);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_ASYNC_H */
