/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Execution of one instruction: what the sequencer shares with the units.
 */
#ifndef TRN_EXEC_H
#define TRN_EXEC_H

#include "trn_ap.h"
#include "trn_cost.h"
#include "trn_internal.h"
#include "trn_isa.h"

/**
 * struct trn_exec - an instruction in execution
 * @seq: the sequencer, its core and its job
 * @inst: a private copy that trn_isa_check() has accepted
 * @isa: row of the instruction in the instruction table
 * @work: out: amount of work, from which the cost is computed
 * @next_pc: in: address of the instruction after this one; out: where to go on
 * @halt: out: the sequencer stops
 * @again: out: it cannot be done yet: the task will be kicked and tries again
 * @extra_ps: out: device time on top of the row's formula
 * @bad_addr: out: the address that failed
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
	uint64_t extra_ps;
	uint64_t bad_addr;
};

/* On @engine, of a generation that has no such instruction there yet. */
static inline bool trn_exec_before(const struct trn_exec *exec,
				   enum neuron_engine engine,
				   unsigned int generation)
{
	return exec->seq->engine == engine &&
	       exec->core->chip->gen->generation < generation;
}

/* Carry out exec->inst. */
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

/* trn_exec_index.c: what goes for tiles with an index, in every instruction */
enum neuron_cause trn_exec_check_index(struct trn_exec *exec);

/*
 * The address @addr + @delta: a window address stays in its window. False when
 * it would not.
 */
bool trn_exec_add(uint64_t addr, uint64_t delta, uint64_t *sum);

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
/* Its value for partition @p; a column is read when this is called. */
uint32_t trn_scalar_bits(const struct trn_scalar *scalar, unsigned int p);
float trn_scalar_at(const struct trn_scalar *scalar, unsigned int p);

/* Each of the eight GpSimd cores is connected with as many partitions. */
#define TRN_CORE_LANES	16

/* Note a tile for the cost; the first one of an instruction sets work.n. */
void trn_exec_note(struct trn_exec *exec, const struct trn_tile *tile);

/* Elements of a line that are worked on at a time. */
#define TRN_LINE_PIECE	1024

/**
 * struct trn_lines - buffers for the lines of a partition
 * @a, @b: @piece elements of 32 bits each, aligned for any type; @b follows @a,
 *	so that an instruction that needs one has room for 64-bit elements
 * @direct: piecewise, so elements may be worked on where they lie
 */
struct trn_lines {
	float *a;
	float *b;
	size_t piece;
	bool direct;
};

typedef void (*trn_lines_fn)(void *arg, const struct trn_lines *lines);

/*
 * Call @fn with buffers: small ones when the tiles can be worked on piecewise,
 * otherwise such that hold any line. Uses up to 512 KiB of the caller's stack.
 */
void trn_exec_lines(bool piecewise, trn_lines_fn fn, void *arg);

/*
 * Operands of the ALU and room for its result, without a copy where that is possible:
 * trn_lines_load() gives the elements, maybe in @buf; what is written to
 * trn_lines_room(), which may be @buf, trn_tile_put() stores.
 */
static inline const float *trn_lines_load(const struct trn_lines *lines,
					  const struct trn_tile *tile,
					  unsigned int p, size_t first,
					  size_t n, float *buf)
{
	if (lines->direct)
		return trn_tile_view(tile, p, first, n, buf);
	trn_tile_load(tile, p, first, n, buf);
	return buf;
}

static inline float *trn_lines_room(const struct trn_lines *lines,
				    const struct trn_tile *tile, unsigned int p,
				    size_t first, float *buf)
{
	return lines->direct ? trn_tile_room(tile, p, first, buf) : buf;
}

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
void trn_exec_acc_line(struct trn_exec *exec, unsigned int p, const float *line,
		       size_t n);

#endif /* TRN_EXEC_H */
