/* SPDX-License-Identifier: MIT */
/*
 * From a rank's parts of the plans of collectives (plan/plan.h) to a program of a CC-core: one
 * stream of instructions, and the rings that it triggers. Works on plain memory.
 *
 * The CC-core does one part after the other, and goes through the steps of each in order. It takes
 * the semaphores that a step waits for, and triggers the packets of the step: its move, and behind
 * it in the same queue the posts. A copy to one place is pieces of 64 KiB; everything else is
 * operations of the DMA engine (dma_op.h).
 *
 * A move whose length is known only when the program runs has no descriptors. The CC-core loads the
 * length and the displacements into registers, judges them, and generates the packets. Before the
 * first such move of a piece it judges the numbers of all: a rank with a wrong one sends nothing,
 * so no other rank can end well either.
 */
#ifndef LIBNRT_PROGRAM_CC_BUILD_H
#define LIBNRT_PROGRAM_CC_BUILD_H

#include "neff/neff.h"
#include "plan/plan.h"
#include "program/dma_ring.h"

/* What a rank has in the window table, in this order from its first window on. */
enum cc_shown {
	CC_SHOWN_INPUT = NRT_PLAN_INPUT,
	CC_SHOWN_OUTPUT = NRT_PLAN_OUTPUT,
	CC_SHOWN_SCRATCH = NRT_PLAN_SCRATCH,
	CC_SHOWN_META = NRT_PLAN_META,
	CC_SHOWN_SEMAPHORES,
	CC_NR_SHOWN
};

/* In place there is one window for both INPUT and OUTPUT: that of the larger one. */
static inline enum cc_shown cc_shown_of(const struct nrt_plan *plan, unsigned int space)
{
	if (!plan->in_place || space > NRT_PLAN_OUTPUT)
		return (enum cc_shown)space;
	return plan->op == NRT_PLAN_REDUCE_SCATTER ? CC_SHOWN_INPUT : CC_SHOWN_OUTPUT;
}

/**
 * struct cc_windows - windows and semaphores of a part
 * @first: windows of the rank itself, then of each peer, in the order of the plan's program:
 *	CC_NR_SHOWN of each
 * @semaphore: number of the rank's semaphore 0 on its CC-core
 * @signals: the part begins when it takes 1 from semaphore @start of its CC-core. When all is
 *	complete it adds 1 to the first semaphore of the window @done. It uses one more semaphore
 *	of the rank, behind those of the plan's program
 */
struct cc_windows {
	uint32_t first;
	unsigned int semaphore;
	bool signals;
	unsigned int start;
	uint32_t done;
};

/* The window of @what of the rank itself, @peer 0, or of peer @peer - 1. */
static inline uint32_t cc_window(const struct cc_windows *windows, unsigned int peer,
				 enum cc_shown what)
{
	return windows->first + peer * CC_NR_SHOWN + what;
}

/**
 * struct cc_tensor - a tensor of a list. The program copies it to INPUT before the first step of
 * the plan, or from OUTPUT behind the last one, so that other ranks never touch it
 * @window: where it is; the rank's own
 * @side: its bytes there
 * @space: NRT_PLAN_INPUT or NRT_PLAN_OUTPUT
 * @blocks: of the space; each has as many bytes of the tensor
 * @at: the first one of them in a block
 */
struct cc_tensor {
	uint32_t window;
	const struct neff_side *side;
	enum nrt_plan_space space;
	uint64_t blocks;
	uint64_t at;
};

/* In place of the number of a step: the program copies tensors to INPUT. */
#define CC_STEP_COLLECT	SIZE_MAX

/**
 * struct cc_piece - a collective of a program
 * @plan: what all ranks do
 * @part: what this one does
 * @windows: where it finds what it needs
 * @tensors, @nr_tensors: of a list; only of a piece that signals, and whose plan is not in place
 */
struct cc_piece {
	const struct nrt_plan *plan;
	const struct nrt_plan_program *part;
	struct cc_windows windows;
	const struct cc_tensor *tensors;
	unsigned int nr_tensors;
};

/**
 * struct cc_place - where a step ends in the program
 * @piece, @step: which one; the number of steps: what follows the last one; CC_STEP_COLLECT
 * @queue: of the step
 * @pc: instruction behind it
 * @m2s, @s2m: descriptors behind it, in the rings of its queue
 */
struct cc_place {
	unsigned int piece;
	size_t step;
	unsigned int queue;
	uint32_t pc;
	uint32_t m2s;
	uint32_t s2m;
};

/**
 * struct cc_guard - an illegal instruction that is reached if a number is too large
 * @pc: the instruction
 * @step: step of the piece that uses the number
 * @value: number @value - 1 of the values of the piece that the instruction is in
 * @sum: the number and the length of the move together, not the number alone
 * @most: that it may be, in elements
 */
struct cc_guard {
	uint32_t pc;
	size_t step;
	unsigned int value;
	bool sum;
	uint64_t most;
};

/**
 * struct cc_program - a program of a CC-core
 * @image, @count: instructions; @room are allocated
 * @rings, @nr_rings: by queue of the plans' programs
 * @constants: what the rings read besides buffers
 * @places, @nr_places: of the steps, and of what follows the last one of each piece
 * @guards, @nr_guards: of the numbers that are known when it runs; @guard_room are allocated
 */
struct cc_program {
	struct neuron_inst *image;
	uint32_t count;
	uint32_t room;
	struct dma_ring *rings;
	unsigned int nr_rings;
	struct dma_constants constants;
	struct cc_place *places;
	size_t nr_places;
	struct cc_guard *guards;
	size_t nr_guards;
	size_t guard_room;
};

/*
 * Build the program of @nr @pieces, in their order. Its constants are shown by the window
 * @constants. On success cc_program_free() frees what is in @program; on failure there is nothing
 * to free. NRT_INVALID: a tensor is too large for displacements in 32 bits; NRT_RESOURCE.
 */
NRT_STATUS cc_program_build(const struct cc_piece *pieces, unsigned int nr, uint32_t constants,
			    struct cc_program *program, struct nrt_error *error);
void cc_program_free(struct cc_program *program);

/* The step that instruction @pc belongs to; NULL: it is the end. */
const struct cc_place *cc_place_of_pc(const struct cc_program *program, uint32_t pc);

/* What is wrong when the instruction at @pc is illegal; NULL: something else. */
const struct cc_guard *cc_guard_of_pc(const struct cc_program *program, uint32_t pc);

/* The step that a descriptor of queue @queue belongs to, or NULL. */
const struct cc_place *cc_place_of_descriptor(const struct cc_program *program,
					      unsigned int queue, bool s2m, uint32_t index);

#endif /* LIBNRT_PROGRAM_CC_BUILD_H */
