// SPDX-License-Identifier: MIT
/* Transfers that compute: their checks, and the blocks of generated descriptors. */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/trn_isa.h"
#include "nb_inst.h"
#include "neuron/address.h"
#include "num/trn_num.h"

#define MAX_ELEMENTS	NEURON_UDMA_OP_MAX_ELEMENTS

static const char *const op_names[NEURON_UDMA_NR_OPS] = {
	[NEURON_UDMA_OP_COPY] = "cast",
	[NEURON_UDMA_OP_ADD] = "add",
	[NEURON_UDMA_OP_FMA] = "fma",
	[NEURON_UDMA_OP_MAX] = "max",
	[NEURON_UDMA_OP_MIN] = "min",
	[NEURON_UDMA_OP_TRANSPOSE] = "transpose",
};

const char *nb_move_name(const struct nb_move *move)
{
	return move->op < NEURON_UDMA_NR_OPS ? op_names[move->op] : NULL;
}

static bool has_one_source(const struct nb_move *move)
{
	return move->op == NEURON_UDMA_OP_COPY || move->op == NEURON_UDMA_OP_TRANSPOSE;
}

/* Bits are moved: any type that has a size will do. */
static bool moves_bits(const struct nb_move *move)
{
	return has_one_source(move) && move->to_dtype == move->from_dtype;
}

static int check_operands(struct nb_program *nb, const struct nb_move *move)
{
	bool extreme = move->op == NEURON_UDMA_OP_MAX || move->op == NEURON_UDMA_OP_MIN;
	unsigned int i;

	if (!nb_move_name(move))
		return nb_fail_here(nb, "there is no operation %d", move->op);
	if (!move->nr_from || move->nr_from > NEURON_UDMA_OP_MAX_SRC ||
	    (has_one_source(move) && move->nr_from != 1))
		return nb_fail_here(nb, "%s of %u sources; %s possible", nb_move_name(move),
				   move->nr_from, has_one_source(move) ? "1 is" : "1 to 16 are");
	for (i = 0; i < move->nr_from; i++)
		if (move->op == NEURON_UDMA_OP_FMA && !isfinite(move->scale[i]))
			return nb_fail_here(nb, "the scale of source %u is no number", i);
	if (move->has_constant && (!extreme || !isfinite(move->constant)))
		return nb_fail_here(nb, "a constant is a number, and goes with max and min");
	return 0;
}

static int check_type(struct nb_program *nb, const struct nb_move *move, enum neuron_dtype dtype)
{
	unsigned int size = trn_dtype_size(dtype);

	if (!size || !trn_isa_dtype_name(dtype))
		return nb_fail_here(nb, "the DMA engines have no type %d", dtype);
	if (!moves_bits(move) && !trn_dtype_is_number(dtype))
		return nb_fail_here(nb, "%s of %s: it does not convert to fp32",
				   nb_move_name(move), trn_isa_dtype_name(dtype));
	if (nb->generation && !trn_dtype_on(dtype, nb->generation))
		return nb_fail_here(nb, "NeuronCore-v%u has no %s", nb->generation,
				   trn_isa_dtype_name(dtype));
	if (move->op == NEURON_UDMA_OP_TRANSPOSE && size != 2 && size != 4)
		return nb_fail_here(nb, "transpose of %s: elements of 2 and 4 bytes are possible",
				   trn_isa_dtype_name(dtype));
	return 0;
}

static int check_types(struct nb_program *nb, const struct nb_move *move)
{
	if (check_type(nb, move, move->to_dtype) || check_type(nb, move, move->from_dtype))
		return -1;
	if (move->op == NEURON_UDMA_OP_TRANSPOSE && move->to_dtype != move->from_dtype)
		return nb_fail_here(nb, "transpose from %s to %s: it does not cast",
				   trn_isa_dtype_name(move->from_dtype),
				   trn_isa_dtype_name(move->to_dtype));
	return 0;
}

/* Elements of dimension @i, which may be absent. */
static uint32_t elements_of(const struct nb_side *side, unsigned int i, enum neuron_dtype dtype)
{
	if (i >= side->ndim)
		return 1;
	return i ? side->size[i] : side->size[0] / trn_dtype_size(dtype);
}

static uint64_t elements(const struct nb_side *side, enum neuron_dtype dtype)
{
	uint64_t n = 1;
	unsigned int i;

	for (i = 0; i < side->ndim; i++)
		n *= elements_of(side, i, dtype);
	return n;
}

/* With a list the outermost dimension reaches as far as the greatest index. */
static int check_side(struct nb_program *nb, const struct nb_move *move,
		      const struct nb_side *side, enum neuron_dtype dtype, bool listed)
{
	struct nb_side reach = *side;

	if (listed && (side->ndim < 2 || side->ndim > 4))
		return nb_fail_here(nb, "a side with a list has 2 to 4 dimensions");
	if (listed)
		reach.size[side->ndim - 1] = move->limit;
	if (nb_check_side(nb, &reach))
		return -1;
	if (nb_is_others_sem(nb, side->var))
		return nb_fail_here(nb, "\"%.64s\" are semaphores; only a copy can post them",
				   nb->var[side->var - 1].name);
	if (side->size[0] % trn_dtype_size(dtype))
		return nb_fail_here(nb, "runs of %u bytes of \"%.64s\" are no whole %s",
				   side->size[0], nb->var[side->var - 1].name,
				   trn_isa_dtype_name(dtype));
	return 0;
}

static bool same_pattern(const struct nb_side *a, const struct nb_side *b)
{
	unsigned int i;

	for (i = 0; i < a->ndim; i++)
		if (a->size[i] != b->size[i] || a->step[i] != b->step[i])
			return false;
	return a->ndim == b->ndim;
}

static int check_sides(struct nb_program *nb, const struct nb_move *move)
{
	uint64_t to = elements(&move->to, move->to_dtype);
	unsigned int i;

	if (check_side(nb, move, &move->to, move->to_dtype, move->scatter))
		return -1;
	for (i = 0; i < move->nr_from; i++) {
		if (check_side(nb, move, &move->from[i], move->from_dtype, move->gather))
			return -1;
		if (!same_pattern(&move->from[i], &move->from[0]))
			return nb_fail_here(nb, "source %u has other sizes or steps than source 0",
					   i);
		if (move->has_constant && move->from[i].var == move->to.var)
			return nb_fail_here(nb,
					   "with a constant \"%.64s\" cannot be source and destination",
					   nb->var[move->to.var - 1].name);
	}
	if (elements(&move->from[0], move->from_dtype) != to)
		return nb_fail_here(nb, "the sides have %llu and %llu elements",
				   (unsigned long long)elements(&move->from[0],
								move->from_dtype),
				   (unsigned long long)to);
	return 0;
}

static int check_transpose(struct nb_program *nb, const struct nb_move *move)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (elements_of(&move->to, i, move->to_dtype) !=
		    elements_of(&move->from[0], i < 2 ? 1 - i : i, move->from_dtype))
			return nb_fail_here(nb,
					   "transpose: the destination has not the source's shape with dimensions 0 and 1 exchanged");
	return 0;
}

static int check_move(struct nb_program *nb, const struct nb_move *move)
{
	if (check_operands(nb, move) || check_types(nb, move) || check_sides(nb, move))
		return -1;
	return move->op == NEURON_UDMA_OP_TRANSPOSE ? check_transpose(nb, move) : 0;
}

/* --- transfers of a queue --- */

/* What the text of a NEFF has no name for, the loader cannot be told. */
static int check_static(struct nb_program *nb, const struct nb_move *move)
{
	if (move->accumulate || move->gather || move->scatter || move->skip || move->random)
		return nb_fail_here(nb, "%s with a list, a sum or random rounding needs nb_dge()",
				   nb_move_name(move));
	if (!neff_dtype_name(move->to_dtype) || !neff_dtype_name(move->from_dtype) ||
	    !neuron_dtype_bytes(move->to_dtype) || !neuron_dtype_bytes(move->from_dtype))
		return nb_fail_here(nb, "a NEFF has no name for %s or %s; nb_dge() takes them",
				   trn_isa_dtype_name(move->from_dtype),
				   trn_isa_dtype_name(move->to_dtype));
	return 0;
}

/* Bits of two and four bytes, whatever they mean: so the loader reads them. */
static void name_bits(struct nb_move *move)
{
	bool half = trn_dtype_size(move->to_dtype) == 2;

	move->to_dtype = half ? NEURON_DTYPE_UINT16 : NEURON_DTYPE_UINT32;
	move->from_dtype = move->to_dtype;
}

struct neuron_inst *nb_dma_move(struct nb_program *nb, int queue, const struct nb_move *move,
				int sem)
{
	struct nb_move *copy;

	if (nb_check_queue(nb, queue, sem) || check_move(nb, move) || check_static(nb, move))
		return &nb->scratch;
	copy = malloc(sizeof(*copy));
	if (!copy) {
		nb_fail(nb, "out of memory");
		return &nb->scratch;
	}
	*copy = *move;
	if (move->op == NEURON_UDMA_OP_TRANSPOSE)
		name_bits(copy);
	return nb_dma_add(nb, queue, &move->to, &move->from[0], sem, copy);
}

struct neuron_inst *nb_dma_copy(struct nb_program *nb, int queue, struct nb_side to,
				enum neuron_dtype to_dtype, struct nb_side from,
				enum neuron_dtype from_dtype, int sem)
{
	const struct nb_move move = {
		.op = NEURON_UDMA_OP_COPY,
		.to_dtype = to_dtype,
		.from_dtype = from_dtype,
		.to = to,
		.nr_from = 1,
		.from = { from },
	};

	if (to_dtype == from_dtype)
		return nb_dma(nb, queue, to, from, sem);
	return nb_dma_move(nb, queue, &move, sem);
}

struct neuron_inst *nb_dma_transpose(struct nb_program *nb, int queue, struct nb_side to,
				     struct nb_side from, enum neuron_dtype dtype, int sem)
{
	const struct nb_move move = {
		.op = NEURON_UDMA_OP_TRANSPOSE,
		.to_dtype = dtype,
		.from_dtype = dtype,
		.to = to,
		.nr_from = 1,
		.from = { from },
	};

	return nb_dma_move(nb, queue, &move, sem);
}

struct neuron_inst *nb_dma_compute(struct nb_program *nb, int queue, enum neuron_udma_opcode op,
				   struct nb_side to, enum neuron_dtype to_dtype,
				   const struct nb_side *from, enum neuron_dtype from_dtype,
				   unsigned int count, int sem)
{
	struct nb_move move = {
		.op = op,
		.to_dtype = to_dtype,
		.from_dtype = from_dtype,
		.to = to,
		.nr_from = count,
	};
	unsigned int i;

	for (i = 0; i < count && i < NEURON_UDMA_OP_MAX_SRC; i++) {
		move.from[i] = from[i];
		move.scale[i] = 1.0f;
	}
	return nb_dma_move(nb, queue, &move, sem);
}

/* --- generated descriptors --- */

static int check_list(struct nb_program *nb, const struct nb_move *move)
{
	uint64_t rows = move->gather ? move->from[0].size[move->from[0].ndim - 1] :
				       move->to.size[move->to.ndim - 1];
	uint64_t step = move->index_step ? move->index_step : 4;
	uint64_t size = nb_var_size(nb, move->index);

	if (!move->gather && !move->scatter)
		return move->skip ? nb_fail_here(nb, "skip needs a list") : 0;
	if (!size || nb_is_others_sem(nb, move->index))
		return nb_fail_here(nb, "the list of indices is no variable in memory");
	if (move->index_offset % 4 || move->index_step % 4 || move->index_offset > size ||
	    rows * step - (step - 4) > size - move->index_offset)
		return nb_fail_here(nb,
				    "%llu indices are not aligned to 4 bytes or leave \"%.64s\"",
				   (unsigned long long)rows, nb->var[move->index - 1].name);
	if (rows > NEURON_UDMA_OP_MAX_INDEX)
		return nb_fail_here(nb, "more than %d indices", NEURON_UDMA_OP_MAX_INDEX);
	if (move->gather && move->scatter && move->to.size[move->to.ndim - 1] != rows)
		return nb_fail_here(nb, "one list for different numbers of rows");
	return 0;
}

static int check_generated(struct nb_program *nb, const struct nb_move *move)
{
	uint64_t sides = move->nr_from + (move->accumulate ? 2 : 1);

	if (move->has_constant)
		return nb_fail_here(nb,
				    "generated descriptors have no constant; accumulate instead");
	if (move->accumulate && has_one_source(move))
		return nb_fail_here(nb, "%s does not accumulate", nb_move_name(move));
	if (elements(&move->to, move->to_dtype) > MAX_ELEMENTS / sides)
		return nb_fail_here(nb, "%llu elements of %llu sides are more than %u",
				   (unsigned long long)elements(&move->to, move->to_dtype),
				   (unsigned long long)sides, MAX_ELEMENTS);
	if (move->random && (moves_bits(move) || move->to_dtype == NEURON_DTYPE_FP32 ||
			     !trn_dtype_is_float(move->to_dtype)))
		return nb_fail_here(nb,
				   "only what becomes a float type narrower than fp32 is rounded at random");
	if (!move->random && (move->seed || move->number))
		return nb_fail_here(nb, "a seed without random rounding");
	return check_list(nb, move);
}

/* A listed dimension is the fourth one. */
static void put_pattern(struct neuron_udma_pattern *pattern, const struct nb_side *side,
			enum neuron_dtype dtype, bool listed)
{
	unsigned int i, d;

	for (i = 0; i < 4; i++)
		pattern->num[i] = htole32(1);
	for (i = 0; i < side->ndim; i++) {
		d = listed && i == side->ndim - 1 ? 3 : i;
		pattern->num[d] = htole32(elements_of(side, i, dtype));
		pattern->step[d] = htole64(i ? (uint64_t)side->step[i] : trn_dtype_size(dtype));
	}
}

static void put_list(const struct nb_move *move, struct neuron_udma_op *op)
{
	const struct nb_side *side = move->gather ? &move->from[0] : &move->to;

	if (!move->gather && !move->scatter)
		return;
	op->index = htole64(neuron_window_addr(move->index, move->index_offset));
	op->nr_index = htole32(side->size[side->ndim - 1]);
	op->index_limit = htole32(move->limit);
	op->index_step = htole32(move->index_step == 4 ? 0 : move->index_step);
}

static uint8_t op_flags(const struct nb_move *move)
{
	return (move->gather ? NEURON_UDMA_OP_SRC_INDEXED : 0) |
	       (move->scatter ? NEURON_UDMA_OP_DST_INDEXED : 0) |
	       (move->skip ? NEURON_UDMA_OP_OOB_SKIP : 0) |
	       (move->accumulate ? NEURON_UDMA_OP_ACCUMULATE : 0) |
	       (move->random ? NEURON_UDMA_OP_STOCHASTIC : 0);
}

static uint64_t address_of(const struct nb_side *side)
{
	return neuron_window_addr(side->var, side->offset);
}

int nb_dge_block(struct nb_program *nb, const struct nb_move *move, struct neuron_udma_dge *block)
{
	unsigned int i;

	memset(block, 0, sizeof(*block));
	if (check_move(nb, move) || check_generated(nb, move))
		return -1;
	block->op.op = move->op;
	block->op.nr_src = move->nr_from;
	block->op.nr_dst = 1;
	block->op.src_dtype = move->from_dtype;
	block->op.dst_dtype = move->to_dtype;
	block->op.flags = op_flags(move);
	block->op.round_seed = htole64(move->seed);
	block->op.round_move = htole64(move->number);
	put_pattern(&block->op.src, &move->from[0], move->from_dtype, move->gather);
	put_pattern(&block->op.dst, &move->to, move->to_dtype, move->scatter);
	put_list(move, &block->op);
	block->dst[0] = htole64(address_of(&move->to));
	for (i = 0; i < move->nr_from; i++) {
		block->src[i] = htole64(address_of(&move->from[i]));
		if (move->op == NEURON_UDMA_OP_FMA)
			block->op.scale[i] = htole32(nb_float_bits(move->scale[i]));
	}
	return 0;
}

int nb_dge(struct nb_program *nb, const char *name, const struct nb_move *move)
{
	struct neuron_udma_dge block;

	return nb_dge_block(nb, move, &block) ? 0 : nb_file(nb, name, &block, sizeof(block));
}

static int check_run_time(struct nb_program *nb, int queue, int block, uint64_t offset,
			  const struct nb_run_time *run)
{
	uint64_t size = nb_var_size(nb, block);

	if (queue < 0 || queue >= (int)nb->nr_queues)
		return nb_fail_here(nb, "a transfer names no queue");
	if (size < sizeof(struct neuron_udma_dge) ||
	    offset > size - sizeof(struct neuron_udma_dge))
		return nb_fail_here(nb, "there is no block at byte %llu of its variable",
				   (unsigned long long)offset);
	if (run->sem >= NEURON_NR_SEMAPHORES || (run->landed && run->sem < 0))
		return nb_fail_here(nb, "a transfer posts no semaphore of ours: %d", run->sem);
	return 0;
}

struct neuron_inst *nb_dma_generate(struct nb_program *nb, int queue, int block, uint64_t offset,
				    const struct nb_run_time *run)
{
	unsigned int index;
	struct neuron_inst inst = { .opcode = NEURON_OP_DMA_GENERATE };

	if (check_run_time(nb, queue, block, offset, run))
		return &nb->scratch;
	index = nb->queue[queue].index;
	inst.reg[0] = (uint8_t)index;
	inst.reg[1] = (uint8_t)(index >> 8);
	inst.reg[2] = run->from_reg < NEURON_NR_REGS ? run->from_reg : UINT8_MAX;
	inst.reg[3] = run->to_reg < NEURON_NR_REGS ? run->to_reg : UINT8_MAX;
	inst.addr = htole64(neuron_window_addr(block, offset));
	if (run->length_reg) {
		nb_set_flags(&inst, NEURON_INST_LENGTH);
		inst.imm0 = htole32(run->length_reg);
		inst.imm1 = htole32(run->dimension);
	}
	if (run->landed)
		nb_set_flags(&inst, NEURON_INST_LANDED);
	if (run->sem >= 0)
		nb_post(&inst, run->sem, 1);
	return nb_put(nb, nb->queue[queue].owner, &inst);
}

struct neuron_inst *nb_dma_trigger(struct nb_program *nb, enum neuron_engine e,
				   unsigned int index, unsigned int count, uint32_t out,
				   uint32_t in, int landed)
{
	struct neuron_inst inst = {
		.opcode = NEURON_OP_DMA_TRIGGER,
		.reg = { (uint8_t)index, (uint8_t)(index >> 8) },
		.imm0 = htole32(out),
		.imm1 = htole32(in),
	};

	if (!count || count > UINT8_MAX || index + count > NEURON_JOB_MAX_QUEUES) {
		nb_refuse(nb, inst.opcode, "the queue table has no such queues");
		return &nb->scratch;
	}
	if (count > 1) {
		nb_set_flags(&inst, NEURON_INST_QUEUES);
		inst.reg[2] = (uint8_t)count;
	}
	if (landed >= 0) {
		nb_set_flags(&inst, NEURON_INST_LANDED);
		nb_post(&inst, landed, 1);
	}
	return nb_put(nb, e, &inst);
}

struct neuron_inst *nb_sendrecv(struct nb_program *nb, const struct nb_pair *pair,
				struct nb_side to, struct nb_side from)
{
	enum neuron_engine e;

	if (nb_check_queue(nb, pair->queue, -1))
		return &nb->scratch;
	e = nb->queue[pair->queue].owner;
	nb_reg_set(nb, e, pair->reg, 1);
	nb_reg_store(nb, e, pair->other_ready, 0, 0, pair->reg);
	nb_wait_take(nb_nop(nb, e), pair->ready, 1);
	nb_dma(nb, pair->queue, to, from, -1);
	nb_dma_remote(nb, pair->queue, pair->arrived);
	return nb_wait_take(nb_nop(nb, e), pair->arrived,
			    (int32_t)nb_queue_count(nb, pair->queue));
}
