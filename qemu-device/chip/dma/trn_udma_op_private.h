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
 * @list: of indices, or NULL
 * @row: of @list, the next one to be looked at
 * @first, @end: elements that no index leaves out and that are still to be done
 * @x, @y: of a transposition, the next tile of the matrix that begins with element @first
 * @paused: it has, since it last went on
 */
struct trn_op {
	struct trn_udma_op_work *work;
	struct trn_access access;
	struct trn_udma_walk src;
	struct trn_udma_walk dst;
	uint64_t total;
	uint32_t *list;
	uint32_t row;
	uint64_t first;
	uint64_t end;
	uint32_t x;
	uint32_t y;
	bool paused;
};

/* Accesses of a piece, and how long one takes, in elements of a copy. */
#define TRN_OP_ACCESSES		256
#define TRN_OP_ACCESS_WORK	64
/* Bytes that are copied in the time of such an element. */
#define TRN_OP_COPY_BYTES	16

/* Sources and destinations; what is added to is read, too. */
static inline uint32_t trn_op_ends(const struct trn_op *o)
{
	const struct neuron_udma_op *op = o->work->op;

	return op->nr_src + op->nr_dst + !!(op->flags & NEURON_UDMA_OP_ACCUMULATE);
}

/* Accesses to move @n elements, lines of at most @src and @dst of them. */
static inline uint64_t trn_op_accesses(const struct trn_op *o, uint32_t n, uint32_t src,
				       uint32_t dst)
{
	const struct neuron_udma_op *op = o->work->op;

	src = src < o->src.run ? src : o->src.run;
	dst = dst < o->dst.run ? dst : o->dst.run;
	return (uint64_t)(n / src + 1) * op->nr_src +
	       (uint64_t)(n / dst + 1) * (trn_op_ends(o) - op->nr_src);
}

/* The most elements of a piece, of which @most could be. */
static inline uint32_t trn_op_piece(const struct trn_op *o, uint32_t most)
{
	uint32_t run = o->src.run < o->dst.run ? o->src.run : o->dst.run;
	uint64_t n = (uint64_t)run * TRN_OP_ACCESSES / trn_op_ends(o);

	if (n < 1)
		return 1;
	return n < most ? (uint32_t)n : most;
}

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

/* A piece has been done. True: the operation pauses here. */
static inline bool trn_op_pause(struct trn_op *o, uint64_t work)
{
	o->paused = o->work->under_way && o->work->pause(o->work->stop_arg, work);
	return o->paused;
}

/* Elements o->first to o->end - 1, or as many as there is time for: o->first moves on. */
enum neuron_cause trn_op_copy(struct trn_op *o);
enum neuron_cause trn_op_compute(struct trn_op *o);
enum neuron_cause trn_op_transpose(struct trn_op *o);

#endif /* TRN_UDMA_OP_PRIVATE_H */
