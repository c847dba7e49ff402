/* SPDX-License-Identifier: MIT */
/*
 * Instructions of the sequencer, which every engine has: registers, branches, events, what an
 * engine rounds like, and triggers of DMA queues.
 */
#ifndef NB_SEQUENCER_H
#define NB_SEQUENCER_H

#include "nb_operand.h"

struct neuron_inst *nb_halt(struct nb_program *nb, enum neuron_engine e);
struct neuron_inst *nb_nop(struct nb_program *nb, enum neuron_engine e);
struct neuron_inst *nb_notify(struct nb_program *nb, enum neuron_engine e, uint32_t tag);

/*
 * A register of @e that no call before has returned, from r1 on; -1 with an error after r63.
 * Registers that a program numbers itself are not counted: use one way or the other.
 */
int nb_register_alloc(struct nb_program *nb, enum neuron_engine e);

struct neuron_inst *nb_reg_set(struct nb_program *nb, enum neuron_engine e, unsigned int reg,
			       uint32_t value);
/* @reg = @from. */
struct neuron_inst *nb_register_move(struct nb_program *nb, enum neuron_engine e,
				     unsigned int reg, unsigned int from);
/* @reg = the number among the ranks that were loaded together. */
struct neuron_inst *nb_reg_rank(struct nb_program *nb, enum neuron_engine e, unsigned int reg);
/* @reg = @a op @value, or op register @b. */
struct neuron_inst *nb_reg_alu(struct nb_program *nb, enum neuron_engine e, enum neuron_alu op,
			       unsigned int reg, unsigned int a, int32_t value);
struct neuron_inst *nb_reg_alu_reg(struct nb_program *nb, enum neuron_engine e,
				   enum neuron_alu op, unsigned int reg, unsigned int a,
				   unsigned int b);
/* 32 bits of variable @var at @offset + register @index (0: none). */
struct neuron_inst *nb_reg_load(struct nb_program *nb, enum neuron_engine e, unsigned int reg,
				int var, uint64_t offset, unsigned int index);
struct neuron_inst *nb_reg_store(struct nb_program *nb, enum neuron_engine e, int var,
				 uint64_t offset, unsigned int index, unsigned int reg);

/* Branches; nb_here() is a target, and the addr of nb_inst() can be set later. */
struct neuron_inst *nb_branch(struct nb_program *nb, enum neuron_engine e, uint32_t target);
struct neuron_inst *nb_branch_if(struct nb_program *nb, enum neuron_engine e,
				 enum neuron_alu op, unsigned int reg, int32_t value,
				 uint32_t target);
struct neuron_inst *nb_branch_if_reg(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, unsigned int a, unsigned int b,
				     uint32_t target);
/* @reg -= 1, and back to @target while it is not 0. */
struct neuron_inst *nb_loop(struct nb_program *nb, enum neuron_engine e, unsigned int reg,
			    uint32_t target);

struct neuron_inst *nb_event_set(struct nb_program *nb, enum neuron_engine e,
				 unsigned int event);
struct neuron_inst *nb_event_clear(struct nb_program *nb, enum neuron_engine e,
				   unsigned int event);
/* Until it is set; @clear in the same step. */
struct neuron_inst *nb_event_wait(struct nb_program *nb, enum neuron_engine e,
				  unsigned int event, bool clear);
/* Semaphores @first to @last, both included, = 0. */
struct neuron_inst *nb_sem_range_clear(struct nb_program *nb, enum neuron_engine e, int first,
				       int last);
/* Later instructions round to nearest, or @random with @seed. */
struct neuron_inst *nb_set_rounding(struct nb_program *nb, enum neuron_engine e, bool random,
				    uint32_t seed);
/* Added to the exponent biases of fp8_e3, fp8_e4 and fp8_e5. */
struct neuron_inst *nb_set_fp8_bias(struct nb_program *nb, enum neuron_engine e, int e3, int e4,
				    int e5);

/*
 * A barrier of the two cores: three instructions, of which the last is returned. @var is the
 * nb_sibling_sem() of one semaphore, @sem the own semaphore of that number, which nothing else
 * uses; @reg is overwritten. Both cores do the same.
 */
struct neuron_inst *nb_core_barrier(struct nb_program *nb, enum neuron_engine e, int var,
				    int sem, unsigned int reg);

#endif /* NB_SEQUENCER_H */
