// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Is the block of a DMA operation well formed? All that needs no memory.
 */
#include "dma/trn_udma_op.h"
#include "num/trn_num.h"

#define INDEXED	(NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_DST_INDEXED)
#define FLAGS	(INDEXED | NEURON_UDMA_OP_OOB_SKIP | NEURON_UDMA_OP_ACCUMULATE | \
		 NEURON_UDMA_OP_STOCHASTIC)

static bool one_source(const struct neuron_udma_op *op)
{
	return op->op == NEURON_UDMA_OP_COPY ||
	       op->op == NEURON_UDMA_OP_TRANSPOSE;
}

static const char *check_operands(const struct neuron_udma_op *op)
{
	unsigned int i, used = op->op == NEURON_UDMA_OP_FMA ? op->nr_src : 0;

	if (op->op >= NEURON_UDMA_NR_OPS)
		return "unknown operation";
	if (!op->nr_src || op->nr_src > NEURON_UDMA_OP_MAX_SRC)
		return "1 to 16 sources are possible";
	if (!op->nr_dst || op->nr_dst > NEURON_UDMA_OP_MAX_DST)
		return "1 to 16 destinations are possible";
	if (one_source(op) && op->nr_src != 1)
		return "copy and transpose have one source";
	for (i = used; i < NEURON_UDMA_OP_MAX_SRC; i++)
		if (op->scale[i])
			return "a scale without a source of an fma";
	return NULL;
}

static const char *check_types(const struct neuron_udma_op *op)
{
	bool bits = one_source(op) && op->src_dtype == op->dst_dtype;
	unsigned int size = trn_dtype_size(op->src_dtype);

	if (!size || !trn_dtype_size(op->dst_dtype))
		return "a type that there is not";
	if (!bits && (!trn_dtype_is_number(op->src_dtype) ||
		      !trn_dtype_is_number(op->dst_dtype)))
		return "a type that does not convert to fp32";
	if (op->op != NEURON_UDMA_OP_TRANSPOSE)
		return NULL;
	if (op->src_dtype != op->dst_dtype)
		return "transpose does not cast";
	return size != 2 && size != 4 ? "transpose moves elements of 2 or 4 bytes" : NULL;
}

static const char *check_flags(const struct neuron_udma_op *op)
{
	unsigned int i;

	if (op->flags & ~FLAGS)
		return "unknown flags";
	if (op->flags & NEURON_UDMA_OP_ACCUMULATE &&
	    (one_source(op) || op->nr_dst != 1))
		return "arithmetic with one destination can accumulate, nothing else";
	if (op->reserved0)
		return "a reserved field is not zero";
	for (i = 0; i < sizeof(op->reserved) / sizeof(op->reserved[0]); i++)
		if (op->reserved[i])
			return "a reserved field is not zero";
	return NULL;
}

/* Of a type with a size. */
static const char *check_rounding(const struct neuron_udma_op *op)
{
	bool bits = one_source(op) && op->src_dtype == op->dst_dtype;

	if (!(op->flags & NEURON_UDMA_OP_STOCHASTIC)) {
		if (op->round_first || op->round_seed || op->round_move)
			return "a seed, move or first element without stochastic rounding";
		return NULL;
	}
	if (bits || !trn_dtype_is_float(op->dst_dtype) || op->dst_dtype == NEURON_DTYPE_FP32)
		return "stochastic rounding is for results of a float type narrower than fp32";
	return NULL;
}

static const char *check_index(const struct neuron_udma_op *op)
{
	if (!(op->flags & INDEXED)) {
		if (op->index || op->nr_index || op->index_limit || op->index_step ||
		    op->flags & NEURON_UDMA_OP_OOB_SKIP)
			return "an index list that nothing uses";
		return NULL;
	}
	if (op->nr_index > NEURON_UDMA_OP_MAX_INDEX)
		return "more than 65536 indices";
	if (op->index % 4 || op->index_step % 4)
		return "the index list is not 4-byte aligned";
	if (op->flags & NEURON_UDMA_OP_SRC_INDEXED &&
	    op->src.num[3] != op->nr_index)
		return "not as many indices as the source has rows";
	if (op->flags & NEURON_UDMA_OP_DST_INDEXED &&
	    op->dst.num[3] != op->nr_index)
		return "not as many indices as the destination has rows";
	return NULL;
}

/* 0: none, or too many. */
static uint64_t elements(const struct neuron_udma_pattern *pattern)
{
	uint64_t n = 1;
	unsigned int d;

	for (d = 0; d < 4; d++) {
		if (pattern->num[d] > NEURON_UDMA_OP_MAX_ELEMENTS)
			return 0;
		n *= pattern->num[d];
		if (n > NEURON_UDMA_OP_MAX_ELEMENTS)
			return 0;
	}
	return n;
}

static bool transposed(const struct neuron_udma_op *op)
{
	return op->dst.num[0] == op->src.num[1] &&
	       op->dst.num[1] == op->src.num[0] &&
	       op->dst.num[2] == op->src.num[2] &&
	       op->dst.num[3] == op->src.num[3];
}

static const char *check_shape(const struct neuron_udma_op *op)
{
	uint64_t n = elements(&op->src);
	unsigned int ends = op->nr_src + op->nr_dst;

	if (op->flags & NEURON_UDMA_OP_ACCUMULATE)
		ends++;
	if (!n || n * ends > NEURON_UDMA_OP_MAX_ELEMENTS)
		return "no elements, or too many";
	if (op->op == NEURON_UDMA_OP_TRANSPOSE && !transposed(op))
		return "the destination's shape is not the source's, transposed";
	if (elements(&op->dst) != n)
		return "not as many elements in the destination as in the source";
	return NULL;
}

enum neuron_cause trn_udma_op_check(const struct neuron_udma_op *op,
				    const char **why)
{
	*why = check_operands(op);
	if (!*why)
		*why = check_types(op);
	if (!*why)
		*why = check_flags(op);
	if (!*why)
		*why = check_rounding(op);
	if (!*why)
		*why = check_index(op);
	if (!*why)
		*why = check_shape(op);
	return *why ? NEURON_CAUSE_DESC : NEURON_CAUSE_NONE;
}
