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
 * @isa: its row
 * @work: out: for the cost
 * @next_pc: in: the instruction after it; out: where to go on
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

enum neuron_cause trn_exec_seq(struct trn_exec *exec);
enum neuron_cause trn_exec_tensor(struct trn_exec *exec);
enum neuron_cause trn_exec_vector(struct trn_exec *exec);
enum neuron_cause trn_exec_scalar(struct trn_exec *exec);

/*
 * The address @addr + @delta: a window address stays in its window. False when
 * it would not.
 */
bool trn_exec_add(uint64_t addr, uint64_t delta, uint64_t *sum);

/* Resolve a tile of the instruction; GpSimd has no path to PSUM. */
enum neuron_cause trn_exec_tile(const struct trn_exec *exec,
				const struct neuron_ap *ap,
				struct trn_tile *tile);

/* Note a tile for the cost; the first one of an instruction sets work.n. */
void trn_exec_note(struct trn_exec *exec, const struct trn_tile *tile);

/* Elements of a line that are worked on at a time. */
#define TRN_LINE_PIECE	1024

/**
 * struct trn_lines - buffers for the lines of a partition
 * @a, @b: @piece elements of 32 bits each, aligned for any type; @b follows @a,
 *	so that an instruction that needs one has room for 64-bit elements
 */
struct trn_lines {
	float *a;
	float *b;
	size_t piece;
};

typedef void (*trn_lines_fn)(void *arg, const struct trn_lines *lines);

/*
 * Call @fn with buffers: small ones when the tiles can be worked on piecewise,
 * otherwise such that hold any line. Uses up to 512 KiB of the caller's stack.
 */
void trn_exec_lines(bool piecewise, trn_lines_fn fn, void *arg);

#endif /* TRN_EXEC_H */
