/* SPDX-License-Identifier: MIT */
/* What the emitters share; private to the builder library. */
#ifndef NB_INST_H
#define NB_INST_H

#include "nb_private.h"

/* nb_rule.c: would the chip carry @inst out? If not, the program has an error. */
bool nb_check(struct nb_program *nb, enum neuron_engine e, const struct neuron_inst *inst);
/* The same without an error: may @inst go to this engine in place of another? */
bool nb_accepts(const struct nb_program *nb, enum neuron_engine e,
		const struct neuron_inst *inst);
/* The program's error: an emitter cannot write what it is told. */
void nb_refuse(struct nb_program *nb, unsigned int opcode, const char *rule);

/* Check, then append; after an error the scratch instruction. */
struct neuron_inst *nb_put(struct nb_program *nb, enum neuron_engine e,
			   const struct neuron_inst *inst);

uint32_t nb_float_bits(float value);
void nb_set_flags(struct neuron_inst *inst, uint32_t flags);
/* Options, of which @with may be NULL. */
void nb_apply(struct neuron_inst *inst, const struct nb_with *with);
/* Operand @i: imm0 or col0, imm1 or col1. False: no column, and the program has an error. */
bool nb_set_operand(struct nb_program *nb, struct neuron_inst *inst, unsigned int i,
		    const struct nb_operand *operand);
/* An operand that is @number or the tile src1. */
void nb_set_src1(struct neuron_inst *inst, const struct nb_operand *operand, __le32 *number);
/* One element, without a register or an index. */
bool nb_is_column(const struct neuron_ap *ap);

/* nb_dma.c: what goes for every transfer. */
int nb_check_queue(struct nb_program *nb, int queue, int sem);
int nb_check_side(struct nb_program *nb, const struct nb_side *side);
/* The variable is semaphores of another core. */
bool nb_is_others_sem(const struct nb_program *nb, int var);
/* Append a transfer that is good, which then owns @move. */
struct neuron_inst *nb_dma_add(struct nb_program *nb, int queue, const struct nb_side *to,
			       const struct nb_side *from, int sem, struct nb_move *move);

/* nb_move.c: the "op" of the NEFF, NULL: there is no such operation. */
const char *nb_move_name(const struct nb_move *move);

#endif /* NB_INST_H */
