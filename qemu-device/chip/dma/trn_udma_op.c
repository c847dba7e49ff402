// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * DMA operations: index lists, and who does what.
 */
#include "dma/trn_udma_op_private.h"

#include <stdlib.h>

#include "mem/trn_access.h"
#include "mem/trn_bus.h"
#include "num/trn_num.h"

#define INDEXED	(NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_DST_INDEXED)

/* Elements from which on an operation may pause. */
#define LARGE	2048

typedef enum neuron_cause (*range_fn)(struct trn_op *o);

enum neuron_cause trn_op_bad_end(struct trn_op *o, enum neuron_cause cause,
				 bool dst, unsigned int i)
{
	struct trn_udma_op_work *work = o->work;

	work->bad_dst = dst;
	work->bad_index = i;
	work->bad_addr = o->access.bad_addr;
	work->why = dst ? "a destination cannot be accessed" :
			  "a source cannot be accessed";
	return cause;
}

enum neuron_cause trn_op_read(struct trn_op *o, unsigned int i, uint64_t first,
			      uint32_t n, void *buf)
{
	enum neuron_cause cause;

	cause = trn_udma_walk_read(&o->src, o->work->src[i], first, n, buf);
	if (cause)
		return trn_op_bad_end(o, cause, false, i);
	o->work->dma.read += (uint64_t)n * o->src.size;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_op_read_old(struct trn_op *o, uint64_t first, uint32_t n,
				  void *buf)
{
	enum neuron_cause cause;

	cause = trn_udma_walk_read(&o->dst, o->work->dst[0], first, n, buf);
	if (cause)
		return trn_op_bad_end(o, cause, true, 0);
	o->work->dma.read += (uint64_t)n * o->dst.size;
	o->work->dma.old += (uint64_t)n * o->dst.size;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_op_write(struct trn_op *o, unsigned int i, uint64_t first,
			       uint32_t n, const void *buf)
{
	enum neuron_cause cause;

	cause = trn_udma_walk_write(&o->dst, o->work->dst[i], first, n, buf);
	if (cause)
		return trn_op_bad_end(o, cause, true, i);
	o->work->dma.written += (uint64_t)n * o->dst.size;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_op_write_all(struct trn_op *o, uint64_t first, uint32_t n,
				   const void *buf)
{
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	unsigned int i;

	for (i = 0; !cause && i < o->work->op->nr_dst; i++)
		cause = trn_op_write(o, i, first, n, buf);
	return cause;
}

/* Before anything is touched: no base may lead out of what it names. */
static enum neuron_cause check_bases(struct trn_op *o)
{
	const struct trn_udma_op_work *work = o->work;
	unsigned int i;

	for (i = 0; i < work->op->nr_src; i++)
		if (!trn_udma_walk_fits(&o->src, work->src[i]))
			return trn_op_bad_end(o, trn_access_outside(&o->access,
								    work->src[i]),
					      false, i);
	for (i = 0; i < work->op->nr_dst; i++)
		if (!trn_udma_walk_fits(&o->dst, work->dst[i]))
			return trn_op_bad_end(o, trn_access_outside(&o->access,
								    work->dst[i]),
					      true, i);
	return NEURON_CAUSE_NONE;
}

/* Steps that are larger than any memory: say it of the first base. */
static enum neuron_cause no_such_pattern(struct trn_op *o, bool dst)
{
	uint64_t base = dst ? o->work->dst[0] : o->work->src[0];

	return trn_op_bad_end(o, trn_access_outside(&o->access, base), dst, 0);
}

static enum neuron_cause prepare(struct trn_op *o, const struct trn_index *index)
{
	static const struct trn_index none;
	const struct neuron_udma_op *op = o->work->op;
	bool src = op->flags & NEURON_UDMA_OP_SRC_INDEXED;
	bool dst = op->flags & NEURON_UDMA_OP_DST_INDEXED;

	if (!trn_udma_walk_init(&o->src, &o->access, &op->src,
				trn_dtype_size(op->src_dtype), src ? index : &none))
		return no_such_pattern(o, false);
	if (!trn_udma_walk_init(&o->dst, &o->access, &op->dst,
				trn_dtype_size(op->dst_dtype), dst ? index : &none))
		return no_such_pattern(o, true);
	o->total = (uint64_t)op->src.num[0] * op->src.num[1] * op->src.num[2] *
		   op->src.num[3];
	return check_bases(o);
}

static range_fn range_of(const struct neuron_udma_op *op)
{
	if (op->op == NEURON_UDMA_OP_TRANSPOSE)
		return trn_op_transpose;
	if (op->op == NEURON_UDMA_OP_COPY && op->src_dtype == op->dst_dtype)
		return trn_op_copy;
	return trn_op_compute;
}

static enum neuron_cause bad_list(struct trn_op *o, enum neuron_cause cause,
				  uint64_t addr, const char *why)
{
	o->work->bad_list = true;
	o->work->bad_addr = addr;
	o->work->why = why;
	return cause;
}

static uint32_t index_step(const struct neuron_udma_op *op)
{
	return op->index_step ? op->index_step : sizeof(uint32_t);
}

static enum neuron_cause read_list(struct trn_op *o, uint32_t *list)
{
	static const struct trn_index none;
	const struct neuron_udma_op *op = o->work->op;
	const struct neuron_udma_pattern pattern = {
		.num = { op->nr_index, 1, 1, 1 },
		.step = { index_step(op) },
	};
	struct trn_udma_walk walk;

	if (index_step(op) == sizeof(*list))
		return trn_access_read(&o->access, op->index, list,
				       op->nr_index * sizeof(*list));
	if (!trn_udma_walk_init(&walk, &o->access, &pattern, sizeof(*list), &none) ||
	    !trn_udma_walk_fits(&walk, op->index))
		return trn_access_outside(&o->access, op->index);
	return trn_udma_walk_read(&walk, op->index, 0, op->nr_index, list);
}

/* All of the list, once: what happens to it later changes nothing. */
static enum neuron_cause read_index(struct trn_op *o, uint32_t *list,
				    struct trn_index *index)
{
	const struct neuron_udma_op *op = o->work->op;
	enum neuron_cause cause;
	uint64_t at;
	uint32_t i;

	cause = read_list(o, list);
	if (cause)
		return bad_list(o, cause, o->access.bad_addr,
				"the index list cannot be read");
	*index = (struct trn_index){ .lowest = UINT32_MAX };
	for (i = 0; i < op->nr_index; i++) {
		if (list[i] >= op->index_limit) {
			if (op->flags & NEURON_UDMA_OP_OOB_SKIP)
				continue;
			at = op->index + (uint64_t)i * index_step(op);
			return bad_list(o, trn_access_outside(&o->access, at), at,
					"an index is not below the limit");
		}
		index->value = list;
		if (index->lowest > list[i])
			index->lowest = list[i];
		if (index->highest < list[i])
			index->highest = list[i];
	}
	return NEURON_CAUSE_NONE;
}

/* Rows in a row that are not left out go together. False: there are none any more. */
static bool next_rows(struct trn_op *o)
{
	const struct neuron_udma_op *op = o->work->op;
	uint64_t row = o->list ? o->total / op->nr_index : 0;

	if (!o->list)
		return false;
	while (o->row < op->nr_index && o->list[o->row] >= op->index_limit)
		o->row++;
	o->first = o->row * row;
	while (o->row < op->nr_index && o->list[o->row] < op->index_limit)
		o->row++;
	o->end = o->row * row;
	return o->first < o->end;
}

static enum neuron_cause begin_indexed(struct trn_op *o)
{
	struct trn_index index;
	enum neuron_cause cause;

	cause = read_index(o, o->list, &index);
	/* No value: every index is beyond the limit, there is nothing to do. */
	if (cause || !index.value)
		return cause;
	return prepare(o, &index);
}

static enum neuron_cause begin_plain(struct trn_op *o)
{
	static const struct trn_index none;
	enum neuron_cause cause = prepare(o, &none);

	o->end = o->total;
	return cause;
}

/* @list: room for the indices. */
static enum neuron_cause begin(struct trn_op *o, struct trn_udma_op_work *work, uint32_t *list)
{
	*o = (struct trn_op){
		.work = work,
		.access = {
			.chip = work->access->chip,
			.domain = work->access->domain,
			.memory_only = true,
			.traffic = work->access->traffic,
			.transfer = work->access->transfer,
			.check = work->access->check,
		},
	};
	work->bytes = 0;
	work->dma = (struct trn_dma_work){ 0 };
	work->hops = 0;
	work->bad_dst = false;
	work->bad_list = false;
	work->bad_index = 0;
	work->bad_addr = 0;
	work->why = NULL;
	if (!(work->op->flags & INDEXED))
		return begin_plain(o);
	o->list = list;
	return begin_indexed(o);
}

/* All that is left, until the operation pauses or is told to stop. */
static enum neuron_cause go_on(struct trn_op *o)
{
	range_fn range = range_of(o->work->op);
	enum neuron_cause cause;

	o->paused = false;
	do {
		cause = range(o);
	} while (!cause && !o->paused && o->first >= o->end && next_rows(o));
	return cause;
}

/* Runs of the elements that have been moved. */
static uint64_t pieces(const struct trn_op *o)
{
	const struct trn_dma_work *dma = &o->work->dma;
	uint64_t src = o->src.size * (uint64_t)o->src.run;
	uint64_t dst = o->dst.size * (uint64_t)o->dst.run;

	if (!src || !dst)
		return 0;
	src = (dma->read - dma->old + src - 1) / src;
	dst = (dma->written + dst - 1) / dst;
	return src > dst ? src : dst;
}

static void finish(struct trn_op *o)
{
	struct trn_udma_op_work *work = o->work;

	work->bytes = (work->dma.read + work->dma.written + 1) / 2;
	work->dma.pieces = pieces(o);
	work->dma.src_hbm = o->access.place_src == TRN_PLACE_HBM;
	work->dma.dst_sbuf = o->access.place_dst == TRN_PLACE_SBUF;
	work->hops = o->src.hops > o->dst.hops ? o->src.hops : o->dst.hops;
}

static enum neuron_cause do_with(struct trn_udma_op_work *work, uint32_t *list)
{
	enum neuron_cause cause;
	struct trn_op o;

	cause = begin(&o, work, list);
	if (!cause)
		cause = go_on(&o);
	finish(&o);
	return cause;
}

/* Out of line: the list is large. */
static enum neuron_cause __attribute__((noinline)) do_indexed(struct trn_udma_op_work *work)
{
	uint32_t list[NEURON_UDMA_OP_MAX_INDEX];

	return do_with(work, list);
}

static bool is_large(const struct neuron_udma_op *op)
{
	return (uint64_t)op->src.num[0] * op->src.num[1] * op->src.num[2] * op->src.num[3] *
	       (op->nr_src + op->nr_dst) >= LARGE;
}

/* Room for an operation that may pause and its list, or NULL: it is done at once. */
static struct trn_op *room(const struct trn_udma_op_work *work)
{
	if (!work->pause || !is_large(work->op))
		return NULL;
	return malloc(sizeof(struct trn_op) + work->op->nr_index * sizeof(uint32_t));
}

enum neuron_cause trn_udma_op_do(struct trn_udma_op_work *work)
{
	struct trn_op *o = work->under_way;
	enum neuron_cause cause = NEURON_CAUSE_NONE;

	if (!o) {
		o = room(work);
		if (!o)
			return work->op->flags & INDEXED ? do_indexed(work) : do_with(work, NULL);
		work->under_way = o;
		cause = begin(o, work, (uint32_t *)(o + 1));
	}
	o->work = work;
	o->access.traffic = work->access->traffic;
	o->access.transfer = work->access->transfer;
	if (!cause)
		cause = go_on(o);
	if (!cause && o->paused)
		return NEURON_CAUSE_NONE;
	finish(o);
	work->under_way = NULL;
	free(o);
	return cause;
}
