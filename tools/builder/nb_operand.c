// SPDX-License-Identifier: MIT
/* Scalars, columns and options of instructions, and their way into a stream. */
#include <endian.h>
#include <string.h>

#include "nb_inst.h"

struct nb_operand nb_none(void)
{
	return (struct nb_operand){ 0 };
}

struct nb_operand nb_number(float value)
{
	struct nb_operand operand = { .kind = NB_NUMBER };

	memcpy(&operand.bits, &value, sizeof(value));
	return operand;
}

struct nb_operand nb_integer(uint32_t value)
{
	return (struct nb_operand){ .kind = NB_NUMBER, .bits = value };
}

struct nb_operand nb_column(struct neuron_ap column)
{
	return (struct nb_operand){ .kind = NB_COLUMN, .column = column };
}

void nb_generation(struct nb_program *nb, unsigned int generation)
{
	if (generation < 2 || generation > 4) {
		nb_fail_here(nb, "there is no generation %u of NeuronCores: 2 to 4", generation);
		return;
	}
	nb->generation = generation;
	if (nb->second)
		nb->second->generation = generation;
}

/* NB_ANY_ENGINE: the first that has the instruction. */
static enum neuron_engine nb_first_engine(struct nb_program *nb, enum neuron_engine e,
					  const struct neuron_inst *inst)
{
	static const enum neuron_engine engines[] = {
		NEURON_ENGINE_VECTOR, NEURON_ENGINE_SCALAR, NEURON_ENGINE_GPSIMD,
	};
	unsigned int i;

	for (i = 0; e == NB_ANY_ENGINE && i < sizeof(engines) / sizeof(engines[0]); i++)
		if (nb_accepts(nb, engines[i], inst))
			return engines[i];
	return e == NB_ANY_ENGINE ? NEURON_ENGINE_VECTOR : e;
}

struct neuron_inst *nb_put(struct nb_program *nb, enum neuron_engine e,
			   const struct neuron_inst *inst)
{
	bool any = e == NB_ANY_ENGINE;
	struct neuron_inst *copy;
	__le32 debug;

	e = nb_first_engine(nb, e, inst);
	if (!nb_check(nb, e, inst)) {
		nb->scratch = (struct neuron_inst){ 0 };
		return &nb->scratch;
	}
	copy = nb_emit(nb, e, inst->opcode);
	debug = copy->debug;
	*copy = *inst;
	copy->debug = debug;
	if (any)
		nb_record_any(nb);
	return copy;
}

uint32_t nb_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

void nb_set_flags(struct neuron_inst *inst, uint32_t flags)
{
	inst->flags |= (uint8_t)flags;
	inst->mode |= htole16((uint16_t)(flags >> 8));
}

static uint32_t flags_of(const struct nb_with *with)
{
	return (with->reverse0 ? NEURON_INST_REVERSE0 : 0) |
	       (with->reverse1 ? NEURON_INST_REVERSE1 : 0) |
	       (with->negate ? NEURON_INST_NEGATE : 0) |
	       (with->accumulate ? NEURON_INST_ACCUMULATE : 0) |
	       (with->transpose ? NEURON_INST_TRANSPOSE : 0) |
	       (with->one_zero ? NEURON_INST_ONE_ZERO : 0) |
	       (with->double_row ? NEURON_INST_DOUBLE_ROW : 0) |
	       (with->part ? NEURON_INST_ARRAY : 0) |
	       (with->partly ? NEURON_INST_WRITTEN : 0);
}

void nb_apply(struct neuron_inst *inst, const struct nb_with *with)
{
	if (!with)
		return;
	nb_set_flags(inst, flags_of(with));
	if (with->part)
		inst->imm0 = htole32(neuron_array_put(with->array));
	if (with->partly)
		inst->addr |= htole64(neuron_written_put(with->written));
	inst->op2 = with->reduce_op;
	inst->reduce = with->reduce;
	if (with->reduce == NEURON_REDUCE_LOAD_REDUCE)
		inst->addr |= htole64((uint64_t)nb_float_bits(with->reduce_start) << 32);
}

bool nb_set_operand(struct nb_program *nb, struct neuron_inst *inst, unsigned int i,
		    const struct nb_operand *operand)
{
	const struct neuron_ap *ap = &operand->column;

	if (operand->kind == NB_NUMBER)
		*(i ? &inst->imm1 : &inst->imm0) = htole32(operand->bits);
	if (operand->kind != NB_COLUMN)
		return true;
	if (!nb_is_column(ap) || ap->partitions != inst->dst.partitions) {
		nb_refuse(nb, inst->opcode,
			  "a column is one element of each of the destination's partitions, without a register or an index");
		return false;
	}
	nb_set_flags(inst, i ? NEURON_INST_COL1 : NEURON_INST_COL0);
	*(i ? &inst->col1 : &inst->col0) = ap->addr;
	inst->col_dtype[i] = ap->dtype == NEURON_DTYPE_FP32 ? 0 : ap->dtype;
	return true;
}

void nb_set_src1(struct neuron_inst *inst, const struct nb_operand *operand, __le32 *number)
{
	if (operand->kind == NB_NUMBER && number)
		*number = htole32(operand->bits);
	if (operand->kind != NB_COLUMN)
		return;
	nb_set_flags(inst, NEURON_INST_SRC1_COLUMN);
	inst->src1 = operand->column;
}

bool nb_is_column(const struct neuron_ap *ap)
{
	return !ap->offset_reg && !ap->index && ap->num[0] == htole16(1) &&
	       ap->num[1] == htole16(1) && ap->num[2] == htole16(1) && ap->num[3] == htole16(1);
}
