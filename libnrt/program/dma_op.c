// SPDX-License-Identifier: MIT
#include <endian.h>
#include <string.h>

#include "program/dma_op.h"

#define DIMS		NEFF_MAX_DESC_DIMS
/* Fewer elements are not shared between queues. */
#define MIN_SHARE	4096

static void side_init(struct dma_op_side *out, const struct neff_side *side, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < DIMS; i++) {
		out->num[i] = i < side->ndim ? side->size[i] : 1;
		out->step[i] = i < side->ndim ? side->step[i] : 0;
	}
	out->num[0] /= bytes;
	out->step[0] *= bytes;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void dma_op_cut_init(struct dma_op_cut *cut, const struct neff_desc *desc, unsigned int queues)
{
	const struct neff_op *op = desc->op;
	/* With a constant the destination is an operand too. */
	unsigned int ends = op->nr_sources + 1 + op->has_constant;
	uint64_t share;
	unsigned int i;

	memset(cut, 0, sizeof(*cut));
	side_init(&cut->from, &desc->from, neuron_dtype_bytes(op->from_dtype));
	side_init(&cut->to, &desc->to, neuron_dtype_bytes(op->to_dtype));
	cut->transpose = op->opcode == NEURON_UDMA_OP_TRANSPOSE;
	cut->total = 1;
	for (i = 0; i < DIMS; i++)
		cut->total *= cut->from.num[i];
	share = (cut->total + queues - 1) / queues;
	cut->most = min(NEURON_UDMA_OP_MAX_ELEMENTS / ends, share < MIN_SHARE ? MIN_SHARE : share);
}

static void set_dim(struct neuron_udma_pattern *pattern, unsigned int i, uint64_t num,
		    int64_t step)
{
	pattern->num[i] = htole32((uint32_t)num);
	pattern->step[i] = htole64(num > 1 ? (uint64_t)step : 0);
}

/*
 * The part of a side that begins at element @first and has @count elements, which are whole runs
 * of dimension @dim: its pattern, and where it begins.
 */
static int64_t take_part(const struct dma_op_side *side, uint64_t first, uint64_t count,
			 unsigned int dim, struct neuron_udma_pattern *pattern)
{
	int64_t offset = 0;
	unsigned int i;

	for (i = 0; i < DIMS; i++) {
		offset += (int64_t)(first % side->num[i]) * side->step[i];
		first /= side->num[i];
		if (i < dim) {
			set_dim(pattern, i, side->num[i], side->step[i]);
			count /= side->num[i];
		} else {
			set_dim(pattern, i, i == dim ? count : 1, side->step[i]);
		}
	}
	return offset;
}

/*
 * How many elements from @first on, of at most @most, are whole runs of dimension @dim that lie in
 * one run of the next one? *@unit: elements of a run; 0: @first is inside of one.
 */
static uint64_t reach(const struct dma_op_side *side, uint64_t first, unsigned int dim,
		      uint64_t *unit)
{
	unsigned int i;

	*unit = 1;
	for (i = 0; i < dim; i++)
		*unit *= side->num[i];
	if (first % *unit)
		return 0;
	return (side->num[dim] - first / *unit % side->num[dim]) * *unit;
}

/* The elements that fit dimension @a of the source and @b of the destination at once. */
static uint64_t common_reach(const struct dma_op_cut *cut, unsigned int a, unsigned int b)
{
	uint64_t unit_a, unit_b, most, unit, rest;

	most = min(reach(&cut->from, cut->done, a, &unit_a),
		   reach(&cut->to, cut->done, b, &unit_b));
	most = min(most, min(cut->most, cut->total - cut->done));
	/* The least common multiple, by Euclid. */
	for (unit = unit_a, rest = unit_b; rest;) {
		uint64_t next = unit % rest;

		unit = rest;
		rest = next;
	}
	if (__builtin_mul_overflow(unit_a / unit, unit_b, &unit))
		return 0;
	return most / unit * unit;
}

static bool next_part(struct dma_op_cut *cut, struct dma_op_piece *piece)
{
	uint64_t best = 0, count;
	unsigned int a, b, dim_a = 0, dim_b = 0;

	for (a = 0; a < DIMS; a++) {
		for (b = 0; b < DIMS; b++) {
			count = common_reach(cut, a, b);
			if (count <= best)
				continue;
			best = count;
			dim_a = a;
			dim_b = b;
		}
	}
	piece->from = take_part(&cut->from, cut->done, best, dim_a, &piece->src);
	piece->to = take_part(&cut->to, cut->done, best, dim_b, &piece->dst);
	cut->done += best;
	return true;
}

/* A block of the source: as many inner dimensions as fit, and a part of the next. */
static bool next_block(struct dma_op_cut *cut, struct dma_op_piece *piece)
{
	uint64_t room = cut->most, num[DIMS];
	unsigned int i, other;

	piece->from = 0;
	piece->to = 0;
	for (i = 0; i < DIMS; i++) {
		num[i] = min(cut->from.num[i] - cut->at[i], room ? room : 1);
		/* Only whole inner dimensions can be followed by more than one of the next. */
		room = num[i] == cut->from.num[i] ? room / num[i] : 1;
		other = i < 2 ? 1 - i : i;
		set_dim(&piece->src, i, num[i], cut->from.step[i]);
		set_dim(&piece->dst, other, num[i], cut->to.step[other]);
		piece->from += (int64_t)cut->at[i] * cut->from.step[i];
		piece->to += (int64_t)cut->at[i] * cut->to.step[other];
	}
	cut->done += num[0] * num[1] * num[2] * num[3];
	for (i = 0; i < DIMS; i++) {
		cut->at[i] += num[i];
		if (cut->at[i] < cut->from.num[i])
			break;
		cut->at[i] = 0;
	}
	return true;
}

bool dma_op_cut_next(struct dma_op_cut *cut, struct dma_op_piece *piece)
{
	if (cut->done == cut->total)
		return false;
	return cut->transpose ? next_block(cut, piece) : next_part(cut, piece);
}
