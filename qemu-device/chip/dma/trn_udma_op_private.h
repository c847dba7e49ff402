/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What the parts of the DMA operations share.
 */
#ifndef TRN_UDMA_OP_PRIVATE_H
#define TRN_UDMA_OP_PRIVATE_H

#include "dma/trn_udma_op.h"
#include "dma/trn_udma_walk.h"
#include "mem/trn_access.h"

/**
 * struct trn_op - an operation under way
 * @access: memory only, with the domain of the work's
 * @src, @dst: the same pattern serves every source or destination
 * @total: elements
 */
struct trn_op {
	struct trn_udma_op_work *work;
	struct trn_access access;
	struct trn_walk src;
	struct trn_walk dst;
	uint64_t total;
};

/* The caller wants it to end; asked before each block of elements. */
static inline bool trn_op_stopped(const struct trn_op *o)
{
	return o->work->stop && o->work->stop(o->work->stop_arg);
}

/* @cause came of the last access, to destination or source @i. Return: @cause. */
enum neuron_cause trn_op_bad_end(struct trn_op *o, enum neuron_cause cause,
				 bool dst, unsigned int i);

/* Elements out of source @i, into destination @i, out of that one. */
enum neuron_cause trn_op_read(struct trn_op *o, unsigned int i, uint64_t first,
			      uint32_t n, void *buf);
enum neuron_cause trn_op_write(struct trn_op *o, unsigned int i, uint64_t first,
			       uint32_t n, const void *buf);
enum neuron_cause trn_op_read_old(struct trn_op *o, uint64_t first, uint32_t n,
				  void *buf);
/* The same to every destination. */
enum neuron_cause trn_op_write_all(struct trn_op *o, uint64_t first, uint32_t n,
				   const void *buf);

/* Elements @first to @end - 1, which no index leaves out. */
enum neuron_cause trn_op_copy(struct trn_op *o, uint64_t first, uint64_t end);
enum neuron_cause trn_op_compute(struct trn_op *o, uint64_t first, uint64_t end);
enum neuron_cause trn_op_transpose(struct trn_op *o, uint64_t first,
				   uint64_t end);

#endif /* TRN_UDMA_OP_PRIVATE_H */
