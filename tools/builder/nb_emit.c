// SPDX-License-Identifier: MIT
/* Instructions: one function for each, and their synchronisation. */
#include <endian.h>
#include <string.h>

#include "nb_private.h"
#include "neuron/address.h"

struct neuron_inst *nb_emit(struct nb_program *nb, enum neuron_engine e,
			    enum neuron_opcode opcode)
{
	struct neuron_inst *inst;
	struct nb_stream *stream;

	memset(&nb->scratch, 0, sizeof(nb->scratch));
	if (e >= NEURON_NR_ENGINES) {
		nb_fail(nb, "no engine %d", e);
		return &nb->scratch;
	}
	stream = &nb->stream[e];
	inst = nb_grow(nb, (void **)&stream->inst, stream->count, &stream->room,
		       sizeof(*inst));
	if (!inst)
		return &nb->scratch;
	nb_record_inst(nb, e);
	nb_add_line(nb, stream, stream->count++);
	inst->opcode = opcode;
	inst->debug = htole32(nb->source_line);
	return inst;
}

static uint32_t nb_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return htole32(bits);
}

struct neuron_ap nb_tile(unsigned int partition, unsigned int partitions,
			 uint32_t offset, enum neuron_dtype dtype,
			 unsigned int n)
{
	struct neuron_ap ap = {
		.addr = htole32(NEURON_PUT(NEURON_AP_PARTITION, partition) |
				NEURON_PUT(NEURON_AP_OFFSET, offset)),
		.num = { htole16(n), htole16(1), htole16(1), htole16(1) },
		.step = { htole16(1) },
		.partitions = partitions,
		.dtype = dtype,
	};

	return ap;
}

struct neuron_ap nb_psum_tile(unsigned int partition, unsigned int partitions,
			      uint32_t offset, enum neuron_dtype dtype,
			      unsigned int n)
{
	struct neuron_ap ap = nb_tile(partition, partitions, offset, dtype, n);

	ap.addr |= htole32(NEURON_AP_PSUM);
	return ap;
}

struct neuron_ap nb_dim(struct neuron_ap ap, unsigned int dim, uint16_t num,
			int16_t step)
{
	if (dim < 4) {
		ap.num[dim] = htole16(num);
		ap.step[dim] = htole16((uint16_t)step);
	}
	return ap;
}

struct neuron_ap nb_at_reg(struct neuron_ap ap, unsigned int reg)
{
	ap.offset_reg = reg;
	return ap;
}

struct neuron_ap nb_index(struct neuron_ap ap, unsigned int partition, uint32_t offset)
{
	uint32_t addr = NEURON_PUT(NEURON_AP_PARTITION, partition) |
			NEURON_PUT(NEURON_AP_OFFSET, offset);

	ap.step[0] = htole16((uint16_t)addr);
	ap.step[1] = htole16((uint16_t)(addr >> 16));
	ap.index = NEURON_AP_INDEX;
	return ap;
}

struct neuron_inst *nb_halt(struct nb_program *nb, enum neuron_engine e)
{
	return nb_emit(nb, e, NEURON_OP_HALT);
}

struct neuron_inst *nb_nop(struct nb_program *nb, enum neuron_engine e)
{
	return nb_emit(nb, e, NEURON_OP_NOP);
}

struct neuron_inst *nb_notify(struct nb_program *nb, enum neuron_engine e,
			      uint32_t tag)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_NOTIFY);

	inst->imm0 = htole32(tag);
	return inst;
}

struct neuron_inst *nb_reg_rank(struct nb_program *nb, enum neuron_engine e, unsigned int reg)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_REG_RANK);

	inst->reg[0] = reg;
	return inst;
}

struct neuron_inst *nb_reg_set(struct nb_program *nb, enum neuron_engine e,
			       unsigned int reg, uint32_t value)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_REG_SET);

	inst->reg[0] = reg;
	inst->imm0 = htole32(value);
	return inst;
}

struct neuron_inst *nb_loop(struct nb_program *nb, enum neuron_engine e,
			    unsigned int reg, uint32_t target)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_LOOP);

	inst->reg[0] = reg;
	inst->addr = htole64(target);
	return inst;
}

struct neuron_inst *nb_branch(struct nb_program *nb, enum neuron_engine e,
			      uint32_t target)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_BRANCH);

	inst->addr = htole64(target);
	return inst;
}

struct neuron_inst *nb_reg_alu(struct nb_program *nb, enum neuron_engine e,
			       enum neuron_alu op, unsigned int reg,
			       unsigned int a, int32_t value)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_REG_ALU);

	inst->op0 = op;
	inst->flags = NEURON_INST_IMM;
	inst->reg[0] = reg;
	inst->reg[1] = a;
	inst->imm0 = htole32((uint32_t)value);
	return inst;
}

struct neuron_inst *nb_branch_if(struct nb_program *nb, enum neuron_engine e,
				 enum neuron_alu op, unsigned int reg,
				 int32_t value, uint32_t target)
{
	struct neuron_inst *inst = nb_branch(nb, e, target);

	inst->op0 = op;
	inst->flags = NEURON_INST_IMM;
	inst->reg[0] = reg;
	inst->imm0 = htole32((uint32_t)value);
	return inst;
}

static struct neuron_inst *nb_memory(struct nb_program *nb,
				     enum neuron_engine e,
				     enum neuron_opcode opcode,
				     unsigned int reg, int var,
				     uint64_t offset, unsigned int index)
{
	struct neuron_inst *inst = nb_emit(nb, e, opcode);

	if (!nb_var_size(nb, var))
		nb_fail(nb, "a register load or store names no variable");
	inst->reg[0] = reg;
	inst->reg[1] = index;
	inst->addr = htole64(neuron_window_addr(var, offset));
	return inst;
}

struct neuron_inst *nb_reg_load(struct nb_program *nb, enum neuron_engine e,
				unsigned int reg, int var, uint64_t offset,
				unsigned int index)
{
	return nb_memory(nb, e, NEURON_OP_REG_LOAD, reg, var, offset, index);
}

struct neuron_inst *nb_reg_store(struct nb_program *nb, enum neuron_engine e,
				 int var, uint64_t offset, unsigned int index,
				 unsigned int reg)
{
	return nb_memory(nb, e, NEURON_OP_REG_STORE, reg, var, offset, index);
}

uint32_t nb_here(const struct nb_program *nb, enum neuron_engine e)
{
	return e < NEURON_NR_ENGINES ? nb->stream[e].count : 0;
}

struct neuron_inst *nb_raw(struct nb_program *nb, enum neuron_engine e,
			   const struct neuron_inst *inst)
{
	struct neuron_inst *copy = nb_emit(nb, e, inst->opcode);

	*copy = *inst;
	if (!inst->debug)
		copy->debug = htole32(nb->source_line);
	return copy;
}

struct neuron_inst *nb_inst(struct nb_program *nb, enum neuron_engine e,
			    uint32_t index)
{
	return index < nb_here(nb, e) ? &nb->stream[e].inst[index] : NULL;
}

struct neuron_inst *nb_load_stationary(struct nb_program *nb,
				       struct neuron_ap src)
{
	struct neuron_inst *inst = nb_emit(nb, NEURON_ENGINE_TENSOR,
					   NEURON_OP_LOAD_STATIONARY);

	inst->src0 = src;
	return inst;
}

struct neuron_inst *nb_matmul(struct nb_program *nb, struct neuron_ap dst,
			      struct neuron_ap src, bool accumulate)
{
	struct neuron_inst *inst = nb_emit(nb, NEURON_ENGINE_TENSOR,
					   NEURON_OP_MATMUL);

	inst->dst = dst;
	inst->src0 = src;
	inst->flags = accumulate ? NEURON_INST_ACCUMULATE : 0;
	return inst;
}

struct neuron_inst *nb_tensor_tensor(struct nb_program *nb,
				     enum neuron_engine e, enum neuron_alu op,
				     struct neuron_ap dst, struct neuron_ap a,
				     struct neuron_ap b)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_TENSOR_TENSOR);

	inst->op0 = op;
	inst->dst = dst;
	inst->src0 = a;
	inst->src1 = b;
	return inst;
}

struct neuron_inst *nb_tensor_column(struct nb_program *nb,
				     enum neuron_engine e, enum neuron_alu op,
				     struct neuron_ap dst, struct neuron_ap src,
				     struct neuron_ap column)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_TENSOR_SCALAR);

	inst->op0 = op;
	inst->op1 = NEURON_ALU_BYPASS;
	inst->flags = NEURON_INST_SRC1_COLUMN;
	inst->dst = dst;
	inst->src0 = src;
	inst->src1 = column;
	return inst;
}

struct neuron_inst *nb_tensor_scalar(struct nb_program *nb,
				     enum neuron_engine e, struct neuron_ap dst,
				     struct neuron_ap src, enum neuron_alu op0,
				     float s0, enum neuron_alu op1, float s1)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_TENSOR_SCALAR);

	inst->op0 = op0;
	inst->op1 = op1;
	inst->dst = dst;
	inst->src0 = src;
	inst->imm0 = nb_float_bits(s0);
	inst->imm1 = nb_float_bits(s1);
	return inst;
}

struct neuron_inst *nb_reduce(struct nb_program *nb, enum neuron_engine e,
			      enum neuron_alu op, struct neuron_ap dst,
			      struct neuron_ap src)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_TENSOR_REDUCE);

	inst->op0 = op;
	inst->dst = dst;
	inst->src0 = src;
	inst->imm0 = htole32(1);
	return inst;
}

struct neuron_inst *nb_copy(struct nb_program *nb, enum neuron_engine e,
			    struct neuron_ap dst, struct neuron_ap src)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_COPY);

	inst->dst = dst;
	inst->src0 = src;
	return inst;
}

struct neuron_inst *nb_memset(struct nb_program *nb, enum neuron_engine e,
			      struct neuron_ap dst, float value)
{
	struct neuron_inst *inst = nb_emit(nb, e, NEURON_OP_MEMSET);

	inst->dst = dst;
	inst->imm0 = nb_float_bits(value);
	return inst;
}

struct neuron_inst *nb_activate(struct nb_program *nb, enum neuron_act func,
				struct neuron_ap dst, struct neuron_ap src,
				float scale, struct neuron_ap bias)
{
	struct neuron_inst *inst = nb_emit(nb, NEURON_ENGINE_SCALAR,
					   NEURON_OP_ACTIVATE);

	inst->op0 = func;
	inst->flags = NEURON_INST_SRC1_COLUMN;
	inst->dst = dst;
	inst->src0 = src;
	inst->src1 = bias;
	inst->imm0 = nb_float_bits(scale);
	return inst;
}

struct neuron_inst *nb_wait(struct neuron_inst *inst, int sem, int32_t value)
{
	inst->sync |= NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = htole16(sem);
	inst->wait_value = htole32(value);
	return inst;
}

struct neuron_inst *nb_wait_take(struct neuron_inst *inst, int sem,
				 int32_t value)
{
	inst->sync |= NEURON_SYNC_TAKE;
	return nb_wait(inst, sem, value);
}

struct neuron_inst *nb_post(struct neuron_inst *inst, int sem, int32_t value)
{
	inst->sync |= NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	inst->post_sem = htole16(sem);
	inst->post_value = htole32(value);
	return inst;
}
