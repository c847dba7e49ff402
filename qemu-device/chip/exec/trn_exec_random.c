// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Random numbers. Each partition of SBUF or PSUM has a lane of the engine; element i
 * of an instruction takes the next word of the lane's state i modulo their number.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "exec/trn_random.h"
#include "exec/trn_seq.h"
#include "num/trn_num.h"

struct drawing {
	struct trn_exec *exec;
	struct trn_tile dst, src;
	struct trn_scalar s0, s1;
};

/**
 * struct lane - the states of one lane
 * @state: @count of them, one behind the other
 */
struct lane {
	uint32_t *state;
	unsigned int count;
};

/* The lane of partition @p of a tile that begins at @addr. Seeded when first used. */
static struct lane lane_of(const struct trn_exec *exec, uint32_t addr, unsigned int p)
{
	struct trn_lanes *lanes = exec->core->lanes;

	p += NEURON_GET(NEURON_AP_PARTITION, addr);
	if (exec->seq->engine == NEURON_ENGINE_GPSIMD) {
		if (!lanes->gpsimd_seeded)
			trn_random_seed_gpsimd(lanes, 0);
		return (struct lane){ lanes->gpsimd_rng[p][0], 1 };
	}
	if (!lanes->vector_seeded)
		trn_random_seed_vector(lanes, 0);
	return (struct lane){ lanes->vector_rng[p][0], TRN_RNG_VECTOR };
}

/* The words of elements @first to @first + @n. */
static void draw(struct lane lane, uint32_t *word, size_t first, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		word[i] = trn_xorwow(lane.state +
				     (first + i) % lane.count * TRN_RNG_WORDS);
}

/* From 0, included, to 1, not included: 24 bits, so that it is exact. */
static float uniform(uint32_t word)
{
	return (float)(word >> 8) * 0x1p-24f;
}

/* --- rng --- */

static void rng(void *arg, unsigned int p, size_t first, size_t n,
		const struct trn_lines *lines)
{
	const struct drawing *op = arg;
	struct lane lane = lane_of(op->exec, op->exec->inst->dst.addr, p);
	uint8_t *narrow = (uint8_t *)lines->b;
	uint32_t *word = (uint32_t *)lines->a;
	size_t i;

	draw(lane, word, first, n);
	for (i = 0; i < n; i++)
		memcpy(narrow + i * op->dst.size, &word[i], op->dst.size);
	trn_tile_store_raw(&op->dst, p, first, n, narrow);
}

enum neuron_cause trn_exec_rng(struct trn_exec *exec)
{
	struct drawing op = { .exec = exec };
	struct trn_exec_walk walk = { .dst = &op.dst, .heavy = true, .piece = rng };
	enum neuron_cause cause;

	if (trn_exec_before(exec, NEURON_ENGINE_GPSIMD, 3))
		return NEURON_CAUSE_OPCODE;
	cause = trn_exec_tile(exec, &exec->inst->dst, &op.dst);
	if (!cause && !trn_dtype_is_int(op.dst.dtype))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	trn_exec_note(exec, &op.dst);
	return trn_exec_walk_tile(exec, &walk, &op);
}

/* --- dropout --- */

static void dropout_begin(void *arg, unsigned int p)
{
	const struct drawing *op = arg;

	trn_exec_carry(op->exec)[0] = trn_scalar_at(&op->s0, p);
}

static void dropout(void *arg, unsigned int p, size_t first, size_t n,
		    const struct trn_lines *lines)
{
	const struct drawing *op = arg;
	struct lane lane = lane_of(op->exec, op->exec->inst->dst.addr, p);
	float prob = trn_exec_carry(op->exec)[0];
	uint8_t *element = (uint8_t *)lines->a;
	uint32_t *word = (uint32_t *)lines->b;
	size_t i;

	trn_tile_load_raw(&op->src, p, first, n, element);
	draw(lane, word, first, n);
	for (i = 0; i < n; i++)
		if (uniform(word[i]) < prob)
			memset(element + i * op->dst.size, 0, op->dst.size);
	trn_tile_store_raw(&op->dst, p, first, n, element);
}

/* Any float type for elements of one, for integers fp32. */
static bool probability_valid(const struct drawing *op)
{
	if (!op->s0.column || op->s0.tile.dtype == NEURON_DTYPE_FP32)
		return true;
	return trn_dtype_is_float(op->dst.dtype) && trn_dtype_is_float(op->s0.tile.dtype);
}

enum neuron_cause trn_exec_dropout(struct trn_exec *exec)
{
	struct drawing op = { .exec = exec };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.src = { &op.src },
		.heavy = true,
		.begin = dropout_begin,
		.piece = dropout,
	};
	enum neuron_cause cause;

	cause = trn_exec_equal_pair(exec, &op.dst, &op.src);
	if (!cause && op.dst.dtype != op.src.dtype)
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_exec_scalar(exec, 0, op.dst.partitions, &op.s0);
	if (!cause && !probability_valid(&op))
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}

/* --- rand2 --- */

static void rand2_begin(void *arg, unsigned int p)
{
	const struct drawing *op = arg;
	float *carry = trn_exec_carry(op->exec);

	carry[0] = trn_scalar_at(&op->s0, p);
	carry[1] = trn_scalar_at(&op->s1, p) - carry[0];
}

static void rand2(void *arg, unsigned int p, size_t first, size_t n,
		  const struct trn_lines *lines)
{
	const struct drawing *op = arg;
	struct lane lane = lane_of(op->exec, op->exec->inst->dst.addr, p);
	float low = trn_exec_carry(op->exec)[0], range = trn_exec_carry(op->exec)[1];
	uint32_t *word = (uint32_t *)lines->b;
	size_t i;

	draw(lane, word, first, n);
	for (i = 0; i < n; i++) {
		float scaled = uniform(word[i]) * range;

		lines->a[i] = low + scaled;
	}
	trn_tile_store(&op->dst, p, first, n, lines->a);
}

enum neuron_cause trn_exec_rand2(struct trn_exec *exec)
{
	struct drawing op = { .exec = exec };
	struct trn_exec_walk walk = {
		.dst = &op.dst,
		.heavy = true,
		.begin = rand2_begin,
		.piece = rand2,
	};
	enum neuron_cause cause;

	cause = trn_exec_tile(exec, &exec->inst->dst, &op.dst);
	if (cause)
		return cause;
	trn_exec_note(exec, &op.dst);
	cause = trn_exec_scalar(exec, 0, op.dst.partitions, &op.s0);
	if (!cause)
		cause = trn_exec_scalar(exec, 1, op.dst.partitions, &op.s1);
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	return cause ? cause : trn_exec_walk_tile(exec, &walk, &op);
}

/* --- the states --- */

enum neuron_cause trn_exec_set_rng_seed(struct trn_exec *exec)
{
	struct trn_tile src;
	enum neuron_cause cause;
	uint32_t seed;

	cause = trn_exec_tile(exec, &exec->inst->src0, &src);
	if (cause)
		return cause;
	if (src.n != 1 || src.partitions != 1 || src.size != sizeof(seed))
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, &src);
	trn_tile_load_raw(&src, 0, 0, 1, &seed);
	trn_random_seed_vector(exec->core->lanes, seed);
	return NEURON_CAUSE_NONE;
}

/* A tile of uint32 that holds all states of some lanes. */
static enum neuron_cause states_tile(struct trn_exec *exec, const struct neuron_ap *ap,
				     struct trn_tile *tile)
{
	unsigned int states = exec->seq->engine == NEURON_ENGINE_GPSIMD ?
			      1 : TRN_RNG_VECTOR;
	enum neuron_cause cause;

	if (trn_exec_before(exec, NEURON_ENGINE_VECTOR, 4))
		return NEURON_CAUSE_OPCODE;
	cause = trn_exec_tile(exec, ap, tile);
	if (cause)
		return cause;
	if (tile->dtype != NEURON_DTYPE_UINT32 || tile->n != states * TRN_RNG_WORDS)
		return NEURON_CAUSE_OPERAND;
	trn_exec_note(exec, tile);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_rand_set_state(struct trn_exec *exec)
{
	const struct neuron_ap *ap = &exec->inst->src0;
	struct trn_tile src;
	enum neuron_cause cause;
	unsigned int p;

	cause = states_tile(exec, ap, &src);
	if (cause)
		return cause;
	if (src.psum)
		return NEURON_CAUSE_OPERAND;
	for (p = 0; p < src.partitions; p++)
		trn_tile_load_raw(&src, p, 0, src.n, lane_of(exec, ap->addr, p).state);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_rand_get_state(struct trn_exec *exec)
{
	const struct neuron_ap *ap = &exec->inst->dst;
	struct trn_tile dst;
	enum neuron_cause cause;
	unsigned int p;

	cause = states_tile(exec, ap, &dst);
	if (!cause)
		cause = trn_tile_touch(&dst);
	if (cause)
		return cause;
	for (p = 0; p < dst.partitions; p++)
		trn_tile_store_raw(&dst, p, 0, dst.n, lane_of(exec, ap->addr, p).state);
	return NEURON_CAUSE_NONE;
}
