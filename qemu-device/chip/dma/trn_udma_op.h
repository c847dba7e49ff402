/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Operations of the DMA engines (neuron/dma_op.h): pure work on memory, through
 * the domain of the queue. The queue machine (trn_udma_run.c) has the descriptors.
 */
#ifndef TRN_UDMA_OP_H
#define TRN_UDMA_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/trn_access.h"
#include "neuron/dma_op.h"
#include "time/trn_cost.h"

struct trn_op;

/**
 * struct trn_udma_op_work - an operation to do, and what came of it
 * @access: the queue's; not changed but for its outputs
 * @stop, @stop_arg: asked now and then; true: give up
 * @pause: asked after each piece, with the work that it was (trn_budget_worked()), and with
 *	@stop_arg; true: the operation goes on later. NULL: it is done at once
 * @under_way: it has been paused: trn_udma_op_do() is to be called again, whatever happens, and
 *	nothing below counts yet. What the caller fills in may lie elsewhere by then
 * @op: block, copied from the ring's domain
 * @src, @dst: base addresses, op->nr_src and op->nr_dst of them
 * @bytes: out: moved, sources and destinations together halved up
 * @dma: out: what it costs by
 * @hops: out: most links crossed
 * @bad_dst, @bad_index, @bad_addr: out, on an error: which end and address
 * @bad_list: out, on an error: @bad_addr is of the index list, of no end
 * @why: out, on an error: static string
 */
struct trn_udma_op_work {
	struct trn_access *access;
	bool (*stop)(void *arg);
	void *stop_arg;
	bool (*pause)(void *arg, uint64_t work);
	struct trn_op *under_way;
	const struct neuron_udma_op *op;
	uint64_t src[NEURON_UDMA_OP_MAX_SRC];
	uint64_t dst[NEURON_UDMA_OP_MAX_DST];
	uint64_t bytes;
	struct trn_dma_work dma;
	unsigned int hops;
	bool bad_dst;
	bool bad_list;
	unsigned int bad_index;
	uint64_t bad_addr;
	const char *why;
};

/* Is the block well formed? NEURON_CAUSE_NONE or _DESC with *@why. */
enum neuron_cause trn_udma_op_check(const struct neuron_udma_op *op,
				    const char **why);

/*
 * Do a checked operation. NEURON_CAUSE_NONE also when told to stop: the caller
 * asks @stop again. On an error a prefix may have been written. Uses up to
 * 300 KiB of the caller's stack. Large operations may pause: then @under_way is not NULL.
 */
enum neuron_cause trn_udma_op_do(struct trn_udma_op_work *work);

#endif /* TRN_UDMA_OP_H */
