/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Execution of one instruction: what the sequencer shares with the units.
 */
#ifndef TRN_EXEC_H
#define TRN_EXEC_H

#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_ap.h"
#include "exec/trn_resume.h"
#include "exec/trn_seq.h"
#include "isa/trn_isa.h"
#include "num/trn_num.h"
#include "time/trn_cost.h"

struct trn_observe_nan;

/**
 * struct trn_acc_late - lines that an instruction has written and not yet accumulated
 * @row: each of another partition; how many: @nr
 * @elements: of all of them
 */
struct trn_acc_late {
	struct {
		const float *line;
		size_t n;
		unsigned int p;
	} row[TRN_SUM_ROWS];
	unsigned int nr;
	size_t elements;
};

/**
 * struct trn_exec - an instruction in execution
 * @seq: the sequencer, its core and its job
 * @inst: a private copy that trn_isa_check() has accepted
 * @isa: row of the instruction in the instruction table
 * @work: out: amount of work, from which the cost is computed
 * @next_pc: in: address of the instruction after this one; out: where to go on
 * @halt: out: the sequencer stops
 * @again: out: it cannot be done yet: the task will be kicked and tries again
 * @more: out: it was cut; the task goes on with it
 * @budget: of the run; NULL: it is not cut
 * @extra_ps: out: device time on top of the row's formula
 * @bad_addr: out: the address that failed
 * @late: lines that are still to be accumulated
 */
struct trn_exec {
	struct trn_seq *seq;
	struct trn_core *core;
	struct trn_job *job;
	const struct neuron_inst *inst;
	const struct trn_isa *isa;
	struct trn_work work;
	uint64_t next_pc;
	bool halt;
	bool again;
	bool more;
	struct trn_budget *budget;
	uint64_t extra_ps;
	uint64_t bad_addr;
	struct trn_acc_late late;
};

/* On @engine, of a generation that has no such instruction there yet. */
static inline bool trn_exec_before(const struct trn_exec *exec,
				   enum neuron_engine engine,
				   unsigned int generation)
{
	return exec->seq->engine == engine &&
	       exec->core->chip->gen->generation < generation;
}

/* Carry out exec->inst, or a part of it (exec->more). */
enum neuron_cause trn_exec_dispatch(struct trn_exec *exec);
/* It is done: device time (when @traced of every kind), power, activity counters. */
void trn_seq_account(struct trn_seq *seq, const struct trn_exec *exec, bool traced);

/* trn_exec_seq.c: all instructions of the sequencer */
enum neuron_cause trn_exec_seq(struct trn_exec *exec);
/* trn_exec_array.c */
enum neuron_cause trn_exec_load_stationary(struct trn_exec *exec);
enum neuron_cause trn_exec_load_sparse(struct trn_exec *exec);
enum neuron_cause trn_exec_load_mx(struct trn_exec *exec);
/* trn_exec_tensor.c */
enum neuron_cause trn_exec_matmul(struct trn_exec *exec);
enum neuron_cause trn_exec_matmul_sparse(struct trn_exec *exec);
enum neuron_cause trn_exec_matmul_mx(struct trn_exec *exec);
/* trn_exec_vector.c */
enum neuron_cause trn_exec_tensor_tensor(struct trn_exec *exec);
enum neuron_cause trn_exec_tensor_scalar(struct trn_exec *exec);
/* trn_exec_copy.c */
enum neuron_cause trn_exec_copy(struct trn_exec *exec);
enum neuron_cause trn_exec_memset(struct trn_exec *exec);
/* trn_exec_reduce.c */
enum neuron_cause trn_exec_tensor_reduce(struct trn_exec *exec);
/* trn_exec_acc.c */
enum neuron_cause trn_exec_acc_read(struct trn_exec *exec);
enum neuron_cause trn_exec_acc_load(struct trn_exec *exec);
/* trn_exec_vector.c */
enum neuron_cause trn_exec_scalar_tensor_tensor(struct trn_exec *exec);
/* trn_exec_function.c */
enum neuron_cause trn_exec_reciprocal(struct trn_exec *exec);
enum neuron_cause trn_exec_exponential(struct trn_exec *exec);
/* trn_exec_scan.c */
enum neuron_cause trn_exec_tensor_scan(struct trn_exec *exec);
enum neuron_cause trn_exec_tensor_cumulative(struct trn_exec *exec);
/* trn_exec_select.c */
enum neuron_cause trn_exec_copy_predicated(struct trn_exec *exec);
enum neuron_cause trn_exec_range_select(struct trn_exec *exec);
enum neuron_cause trn_exec_select_reduce(struct trn_exec *exec);
/* trn_exec_bn.c */
enum neuron_cause trn_exec_bn_stats(struct trn_exec *exec);
enum neuron_cause trn_exec_bn_aggr(struct trn_exec *exec);
/* trn_exec_top8.c */
enum neuron_cause trn_exec_max8(struct trn_exec *exec);
enum neuron_cause trn_exec_find_index8(struct trn_exec *exec);
enum neuron_cause trn_exec_match_replace8(struct trn_exec *exec);
/* trn_exec_cross.c */
enum neuron_cause trn_exec_stream_shuffle(struct trn_exec *exec);
enum neuron_cause trn_exec_transpose(struct trn_exec *exec);
/* trn_exec_quantize.c */
enum neuron_cause trn_exec_quantize_mx(struct trn_exec *exec);
/* trn_exec_random.c */
enum neuron_cause trn_exec_set_rng_seed(struct trn_exec *exec);
enum neuron_cause trn_exec_rng(struct trn_exec *exec);
enum neuron_cause trn_exec_dropout(struct trn_exec *exec);
enum neuron_cause trn_exec_rand_set_state(struct trn_exec *exec);
enum neuron_cause trn_exec_rand_get_state(struct trn_exec *exec);
enum neuron_cause trn_exec_rand2(struct trn_exec *exec);
/* trn_exec_mode.c */
enum neuron_cause trn_exec_set_rounding(struct trn_exec *exec);
enum neuron_cause trn_exec_set_fp8_bias(struct trn_exec *exec);
/* trn_exec_activate.c */
enum neuron_cause trn_exec_activate(struct trn_exec *exec);
/* trn_exec_activate2.c */
enum neuron_cause trn_exec_activate2(struct trn_exec *exec);
/* trn_exec_affine.c */
enum neuron_cause trn_exec_iota(struct trn_exec *exec);
enum neuron_cause trn_exec_affine_select(struct trn_exec *exec);
/* trn_exec_partition.c */
enum neuron_cause trn_exec_partition_reduce(struct trn_exec *exec);
/* trn_exec_gather.c */
enum neuron_cause trn_exec_local_gather(struct trn_exec *exec);
enum neuron_cause trn_exec_gather(struct trn_exec *exec);
/* trn_exec_search.c */
enum neuron_cause trn_exec_nonzero_with_count(struct trn_exec *exec);
enum neuron_cause trn_exec_sequence_bounds(struct trn_exec *exec);
/* trn_exec_topk.c */
enum neuron_cause trn_exec_topk(struct trn_exec *exec);

/* trn_exec_documented.c: does hardware have the instruction here, by the public documents? */
enum neuron_cause trn_exec_check_documented(const struct trn_exec *exec);
/* The same of a DMA_GENERATE and its operation; NULL: its length is 0. */
enum neuron_cause trn_exec_check_generate(const struct trn_exec *exec,
					  const struct neuron_udma_op *op);

/*
 * trn_exec_nan.c: the instruction has been carried out, and nobody has been told; is there a NaN
 * in its destination, of a type that has them?
 */
bool trn_exec_wrote_nan(const struct trn_exec *exec);

/* The same, and where they are: all of @found but its inst. */
bool trn_exec_find_nan(const struct trn_exec *exec, struct trn_observe_nan *found);

/* trn_exec_index.c: what goes for tiles with an index, in every instruction */
enum neuron_cause trn_exec_check_index(struct trn_exec *exec);

/*
 * The address @addr + @delta: a window address stays in its window. False when
 * it would not.
 */
bool trn_exec_add(uint64_t addr, uint64_t delta, uint64_t *sum);

/*
 * Find how far the index of @ap, a tile of the instruction, reaches: all of it is read, in
 * pieces (exec->more). From then on the tile has this extent.
 */
enum neuron_cause trn_exec_measure(struct trn_exec *exec, const struct neuron_ap *ap);

/* Resolve a tile of the instruction; GpSimd has no path to PSUM. */
enum neuron_cause trn_exec_tile(const struct trn_exec *exec,
				const struct neuron_ap *ap,
				struct trn_tile *tile);

/* The same of a type that only moves. */
enum neuron_cause trn_exec_tile_raw(const struct trn_exec *exec,
				    const struct neuron_ap *ap,
				    struct trn_tile *tile);

/* The [P,1] column @i, 0 or 1, of the instruction. */
enum neuron_cause trn_exec_column(const struct trn_exec *exec, unsigned int i,
				  unsigned int partitions, struct trn_tile *tile);

/**
 * struct trn_scalar - an operand that is one number, or one for each partition
 * @bits: the number: fp32 bits, or the integer of a bitwise operator
 * @column: @tile holds the numbers instead
 * @raw: they are integers, not to be converted
 */
struct trn_scalar {
	uint32_t bits;
	bool column;
	bool raw;
	struct trn_tile tile;
};

/* Operand @i, 0 or 1: imm0 or col0, imm1 or col1. */
enum neuron_cause trn_exec_scalar(const struct trn_exec *exec, unsigned int i,
				  unsigned int partitions,
				  struct trn_scalar *scalar);
/* What a column has for partition @p. */
uint32_t trn_scalar_column(const struct trn_scalar *scalar, unsigned int p);

/* Its value for partition @p; a column is read when this is called. */
static inline uint32_t trn_scalar_bits(const struct trn_scalar *scalar, unsigned int p)
{
	return scalar->column ? trn_scalar_column(scalar, p) : scalar->bits;
}

static inline float trn_scalar_at(const struct trn_scalar *scalar, unsigned int p)
{
	uint32_t bits = trn_scalar_bits(scalar, p);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Each of the eight GpSimd cores is connected with as many partitions. */
#define TRN_CORE_LANES	16

/* Note a tile for the cost; the first one of an instruction sets work.n. */
void trn_exec_note(struct trn_exec *exec, const struct trn_tile *tile);

/*
 * --- trn_exec_walk.c: instructions piece by piece ---
 *
 * A piece is small enough that a thread of the host is not held up. After each one comes
 * trn_exec_pause(); when that says so the instruction notes in struct trn_resume how far it
 * has got and returns. It is called again later, finds its operands again and goes on:
 * what must happen once only it does while trn_exec_first().
 */

/* Elements of a line that are worked on at a time, and of one that takes longer. */
#define TRN_LINE_PIECE	1024
#define TRN_SLOW_PIECE	256
/* The most of a walk that says how many. */
#define TRN_LINE_MOST	2048

/* How long an element takes, in simple ones. */
#define TRN_WEIGHT_PLAIN	1
#define TRN_WEIGHT_HEAVY	8	/* functions, chains, tests, conversions */
#define TRN_WEIGHT_SLOW		64	/* the same without vector instructions, or */
					/* elements that lie here and there */

static inline struct trn_resume *trn_exec_resume(const struct trn_exec *exec)
{
	return &exec->seq->resume;
}

/* Nothing of the instruction has been done yet. */
static inline bool trn_exec_first(const struct trn_exec *exec)
{
	return !exec->seq->resume.begun;
}

/* trn_exec_pause() when the time has come to look at the clock. */
bool trn_exec_look(struct trn_exec *exec, uint64_t elements, unsigned int weight);

/*
 * A piece with @elements of @weight has been done. True: the instruction is cut here; the
 * caller notes its place and returns NEURON_CAUSE_NONE.
 */
static inline bool trn_exec_pause(struct trn_exec *exec, uint64_t elements,
				  unsigned int weight)
{
	struct trn_budget *budget = exec->budget;

	if (!budget)
		return false;
	if (budget->max_calls || budget->work + elements * weight >= TRN_BUDGET_WORK)
		return trn_exec_look(exec, elements, weight);
	trn_budget_note(budget, elements, weight);
	return false;
}

/* Note where the instruction goes on. */
void trn_exec_keep(struct trn_exec *exec, uint32_t p, uint32_t step, size_t first);

/* The instruction of @seq is over, or was given up. */
void trn_exec_leave(struct trn_seq *seq);
/*
 * Give back what instructions that are over have used of the desk, if it is much. False: the
 * budget is spent before all of it. No budget: all.
 */
bool trn_exec_tidy(struct trn_seq *seq, struct trn_budget *budget);

/* The engine's own room; the engine is one of lanes. */
struct trn_lane_desk *trn_exec_desk(const struct trn_exec *exec);
/*
 * Bytes of line 0, of line 1 and of the table that hold something at a cut. All of it is
 * given back before the next instruction, when it is much.
 */
void trn_exec_desk_use(struct trn_exec *exec, size_t line0, size_t line1, size_t table);

/* The weight of an element of @tile where the instruction itself is simple or @heavy. */
unsigned int trn_tile_weight(const struct trn_tile *tile, bool heavy);

/**
 * struct trn_lines - buffers for the lines of a partition
 * @a, @b: TRN_LINE_MOST elements of 32 bits each, aligned for any type; @b follows @a,
 *	so that an instruction that needs one has room for 64-bit elements
 */
struct trn_lines {
	float *a;
	float *b;
};

/**
 * struct trn_exec_walk - an instruction that goes through partitions, element by element
 * @partitions, @n: how far it goes; @stride: from one partition to the next, 0: 1
 * @dst: if not NULL, what @piece writes: where that could change what a later piece reads,
 *	@dst becomes a line of the desk, which is copied when the partition is done
 * @src: what it reads, up to a NULL
 * @on_desk: @dst becomes that line in any case
 * @heavy: more than a simple operator
 * @limit: elements of a piece, 0: as many as usual. More than usual only of one that takes few
 *	steps for an element
 * @depth: of the tiles, that one of @n stands for; 0: 1
 * @cause: the walk ends when one of the functions has set it; may be NULL
 * @begin: before the first piece of partition @p, may be NULL
 * @piece: elements @first to @first + @n
 * @rows: the same as @begin and @piece for all of partitions @p to @end - 1, which are no
 *	longer than a piece: for instructions so simple that the calls count. May be NULL
 * @end: when all of the partition is done, may be NULL
 */
struct trn_exec_walk {
	unsigned int partitions;
	unsigned int stride;
	size_t n;
	struct trn_tile *dst;
	const struct trn_tile *src[3];
	bool on_desk;
	bool heavy;
	size_t limit;
	size_t depth;
	const enum neuron_cause *cause;
	void (*begin)(void *op, unsigned int p);
	void (*piece)(void *op, unsigned int p, size_t first, size_t n,
		      const struct trn_lines *lines);
	void (*rows)(void *op, unsigned int p, unsigned int end,
		     const struct trn_lines *lines);
	void (*end)(void *op, unsigned int p);
};

/* @tile becomes the elements that lie side by side at @line, the same in each partition. */
void trn_tile_on_desk(struct trn_tile *tile, void *line);

/* Numbers that the pieces of a partition hand on, from its begin to its end. */
static inline float *trn_exec_carry(const struct trn_exec *exec)
{
	return exec->seq->resume.carry.number;
}

/* NONE, *walk->cause, or _OPERAND: the place from a stream is not in the instruction. */
enum neuron_cause trn_exec_walk(struct trn_exec *exec, const struct trn_exec_walk *walk,
				void *op);
/* Through all partitions and elements of walk->dst. */
enum neuron_cause trn_exec_walk_tile(struct trn_exec *exec, struct trn_exec_walk *walk,
				     void *op);

/* Elements from @first on that fit in a piece. */
static inline size_t trn_piece(size_t n, size_t first, size_t piece)
{
	return n - first < piece ? n - first : piece;
}

/*
 * dst and src0 of the instruction: as many partitions in both. Both are noted for
 * the cost.
 */
enum neuron_cause trn_exec_pair(struct trn_exec *exec, struct trn_tile *dst,
				struct trn_tile *src);
/* The same, with as many elements. */
enum neuron_cause trn_exec_equal_pair(struct trn_exec *exec, struct trn_tile *dst,
				      struct trn_tile *src);
/*
 * src1 of the instruction: as many partitions and elements as @dst, and not in PSUM
 * together with the source @first. It is noted.
 */
enum neuron_cause trn_exec_second(struct trn_exec *exec, const struct trn_tile *dst,
				  const struct trn_tile *first, struct trn_tile *src);
/*
 * Arithmetic operators of two operands of this engine: only GpSimd has powers, and
 * abs_max and abs_min begin with NeuronCore-v4.
 */
bool trn_exec_arith(const struct trn_exec *exec, unsigned int op);
/* Not one of these two before NeuronCore-v4. */
bool trn_exec_magnitude(const struct trn_exec *exec, unsigned int op);
/* The same, and those of one operand: square and relu from NeuronCore-v4 on. */
bool trn_exec_arith_or_unary(const struct trn_exec *exec, unsigned int op);
/* Bitwise operators need integers of one size, at most 32 bits, everywhere. */
bool trn_exec_bitwise_types(const struct trn_tile *a, const struct trn_tile *b);

/*
 * Accumulators: what op2 and reduce of the instruction say. _begin checks them and
 * sets the start of @partitions; _line goes on with the results of partition @p,
 * in fp32. Nothing happens in an instruction without op2.
 */
enum neuron_cause trn_exec_acc_begin(struct trn_exec *exec, unsigned int partitions);
/* The engine's accumulators. */
float *trn_exec_acc(const struct trn_exec *exec);
/* trn_exec_acc_line() of an instruction with op2. */
void trn_exec_acc_add(struct trn_exec *exec, unsigned int p, const float *line,
		      size_t n);

static inline void trn_exec_acc_line(struct trn_exec *exec, unsigned int p,
				     const float *line, size_t n)
{
	if (exec->inst->op2 != NEURON_ALU_BYPASS)
		trn_exec_acc_add(exec, p, line, n);
}

/*
 * trn_exec_acc_line() of a @line that stays as it is until trn_exec_walk() returns: there
 * are several of them then, and their chains need not wait for each other.
 */
void trn_exec_acc_later(struct trn_exec *exec, unsigned int p, const float *line,
			size_t n);
/* What is left of them; trn_exec_walk() calls it. */
void trn_exec_acc_settle(struct trn_exec *exec);

#endif /* TRN_EXEC_H */
