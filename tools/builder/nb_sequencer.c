// SPDX-License-Identifier: MIT
/* Instructions of the sequencer. */
#include <endian.h>

#include "nb_inst.h"
#include "neuron/address.h"

#define INST(code, ...)	((struct neuron_inst){ .opcode = NEURON_OP_##code, __VA_ARGS__ })

struct neuron_inst *nb_halt(struct nb_program *nb, enum neuron_engine e)
{
	return nb_put(nb, e, &INST(HALT));
}

struct neuron_inst *nb_nop(struct nb_program *nb, enum neuron_engine e)
{
	return nb_put(nb, e, &INST(NOP));
}

struct neuron_inst *nb_notify(struct nb_program *nb, enum neuron_engine e, uint32_t tag)
{
	return nb_put(nb, e, &INST(NOTIFY, .imm0 = htole32(tag)));
}

/* --- registers --- */

/* A register number that does not fit its byte is none either. */
static uint8_t reg_of(unsigned int reg)
{
	return reg < NEURON_NR_REGS ? reg : UINT8_MAX;
}

int nb_register_alloc(struct nb_program *nb, enum neuron_engine e)
{
	if (e >= NEURON_NR_ENGINES)
		return nb_fail(nb, "no engine %d", e);
	if (nb->stream[e].nr_regs == NEURON_NR_REGS - 1)
		return nb_fail(nb, "more than %d registers of an engine", NEURON_NR_REGS - 1);
	return ++nb->stream[e].nr_regs;
}

struct neuron_inst *nb_reg_set(struct nb_program *nb, enum neuron_engine e, unsigned int reg,
			       uint32_t value)
{
	return nb_put(nb, e, &INST(REG_SET, .reg = { reg_of(reg) }, .imm0 = htole32(value)));
}

struct neuron_inst *nb_register_move(struct nb_program *nb, enum neuron_engine e,
				     unsigned int reg, unsigned int from)
{
	return nb_reg_alu(nb, e, NEURON_ALU_ADD, reg, from, 0);
}

struct neuron_inst *nb_reg_rank(struct nb_program *nb, enum neuron_engine e, unsigned int reg)
{
	return nb_put(nb, e, &INST(REG_RANK, .reg = { reg_of(reg) }));
}

struct neuron_inst *nb_reg_alu(struct nb_program *nb, enum neuron_engine e, enum neuron_alu op,
			       unsigned int reg, unsigned int a, int32_t value)
{
	return nb_put(nb, e, &INST(REG_ALU, .op0 = op, .flags = NEURON_INST_IMM,
				   .reg = { reg_of(reg), reg_of(a) },
				   .imm0 = htole32((uint32_t)value)));
}

struct neuron_inst *nb_reg_alu_reg(struct nb_program *nb, enum neuron_engine e,
				   enum neuron_alu op, unsigned int reg, unsigned int a,
				   unsigned int b)
{
	return nb_put(nb, e, &INST(REG_ALU, .op0 = op,
				   .reg = { reg_of(reg), reg_of(a), reg_of(b) }));
}

static struct neuron_inst *memory(struct nb_program *nb, enum neuron_engine e,
				  enum neuron_opcode opcode, unsigned int reg, int var,
				  uint64_t offset, unsigned int index)
{
	const struct neuron_inst inst = {
		.opcode = opcode,
		.reg = { reg_of(reg), reg_of(index) },
		.addr = htole64(neuron_window_addr(var, offset)),
	};

	if (!nb_var_size(nb, var)) {
		nb_refuse(nb, opcode, "a register load or store names no variable");
		return &nb->scratch;
	}
	return nb_put(nb, e, &inst);
}

struct neuron_inst *nb_reg_load(struct nb_program *nb, enum neuron_engine e, unsigned int reg,
				int var, uint64_t offset, unsigned int index)
{
	return memory(nb, e, NEURON_OP_REG_LOAD, reg, var, offset, index);
}

struct neuron_inst *nb_reg_store(struct nb_program *nb, enum neuron_engine e, int var,
				 uint64_t offset, unsigned int index, unsigned int reg)
{
	return memory(nb, e, NEURON_OP_REG_STORE, reg, var, offset, index);
}

/* --- branches --- */

struct neuron_inst *nb_branch(struct nb_program *nb, enum neuron_engine e, uint32_t target)
{
	return nb_put(nb, e, &INST(BRANCH, .addr = htole64(target)));
}

struct neuron_inst *nb_branch_if(struct nb_program *nb, enum neuron_engine e,
				 enum neuron_alu op, unsigned int reg, int32_t value,
				 uint32_t target)
{
	return nb_put(nb, e, &INST(BRANCH, .op0 = op, .flags = NEURON_INST_IMM,
				   .reg = { reg_of(reg) }, .imm0 = htole32((uint32_t)value),
				   .addr = htole64(target)));
}

struct neuron_inst *nb_branch_if_reg(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, unsigned int a, unsigned int b,
				     uint32_t target)
{
	return nb_put(nb, e, &INST(BRANCH, .op0 = op, .reg = { reg_of(a), reg_of(b) },
				   .addr = htole64(target)));
}

struct neuron_inst *nb_loop(struct nb_program *nb, enum neuron_engine e, unsigned int reg,
			    uint32_t target)
{
	return nb_put(nb, e, &INST(LOOP, .reg = { reg_of(reg) }, .addr = htole64(target)));
}

/* --- events, semaphores, modes --- */

struct neuron_inst *nb_event_set(struct nb_program *nb, enum neuron_engine e,
				 unsigned int event)
{
	return nb_put(nb, e, &INST(EVENT_SET, .imm0 = htole32(event)));
}

struct neuron_inst *nb_event_clear(struct nb_program *nb, enum neuron_engine e,
				   unsigned int event)
{
	return nb_put(nb, e, &INST(EVENT_CLEAR, .imm0 = htole32(event)));
}

struct neuron_inst *nb_event_wait(struct nb_program *nb, enum neuron_engine e,
				  unsigned int event, bool clear)
{
	return nb_put(nb, e, &INST(EVENT_WAIT, .flags = clear ? NEURON_INST_CLEAR : 0,
				   .imm0 = htole32(event)));
}

struct neuron_inst *nb_sem_range_clear(struct nb_program *nb, enum neuron_engine e, int first,
				       int last)
{
	return nb_put(nb, e, &INST(SEM_RANGE_CLEAR, .imm0 = htole32((uint32_t)first),
				   .imm1 = htole32((uint32_t)last)));
}

struct neuron_inst *nb_set_rounding(struct nb_program *nb, enum neuron_engine e, bool random,
				    uint32_t seed)
{
	return nb_put(nb, e, &INST(SET_ROUNDING, .imm0 = htole32(random),
				   .imm1 = htole32(seed)));
}

struct neuron_inst *nb_set_fp8_bias(struct nb_program *nb, enum neuron_engine e, int e3, int e4,
				    int e5)
{
	return nb_put(nb, e, &INST(SET_FP8_BIAS, .imm0 = htole32((uint32_t)e3),
				   .imm1 = htole32((uint32_t)e4),
				   .addr = htole64((uint32_t)e5)));
}

struct neuron_inst *nb_core_barrier(struct nb_program *nb, enum neuron_engine e, int var,
				    int sem, unsigned int reg)
{
	nb_reg_set(nb, e, reg, 1);
	nb_reg_store(nb, e, var, 0, 0, reg);
	return nb_wait_take(nb_nop(nb, e), sem, 1);
}
