// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The disassembler: an instruction in the syntax of Documentation/hardware/isa.rst.
 * Floats are written with integer arithmetic, so that no locale can change them.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "isa/trn_isa.h"
#include "neuron/address.h"

struct text {
	char *buf;
	size_t size;
	size_t len;
};

static void __attribute__((format(printf, 2, 3)))
put(struct text *text, const char *format, ...)
{
	size_t room = text->len < text->size ? text->size - text->len : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(room ? text->buf + text->len : NULL, room, format, args);
	va_end(args);
	if (n > 0)
		text->len += (size_t)n;
}

/*
 * A decimal with up to six digits after the point where it lies within a
 * quarter of a unit in the last place, so that every reader rounds it to the
 * same fp32; otherwise the bits.
 */
static void put_float(struct text *text, uint32_t bits)
{
	double scale = 10.0, value;
	unsigned int digits;
	float single;

	memcpy(&single, &bits, sizeof(single));
	value = single < 0 ? -(double)single : (double)single;
	if (bits == 0) {
		put(text, "0.0");
		return;
	}
	if (!(value >= 0.001 && value < 16777216.0)) {
		put(text, "0x%08" PRIx32, bits);
		return;
	}
	for (digits = 1; digits <= 6; digits++, scale *= 10.0) {
		uint64_t n = (uint64_t)(value * scale + 0.5);
		double error = (double)n / scale - value;

		if (error > value * 0x1p-26 || error < -value * 0x1p-26)
			continue;
		put(text, "%s%" PRIu64 ".%0*" PRIu64, single < 0 ? "-" : "",
		    n / (uint64_t)scale, (int)digits, n % (uint64_t)scale);
		return;
	}
	put(text, "0x%08" PRIx32, bits);
}

static void put_shape(struct text *text, const struct neuron_ap *ap)
{
	uint64_t inner[4] = { 1 };
	int last = 3;
	int i;

	for (i = 1; i < 4; i++)
		inner[i] = inner[i - 1] * ap->num[i - 1];
	while (last > 0 && ap->num[last] == 1 && ap->step[last] == 0)
		last--;
	for (i = last; i >= 0; i--) {
		int16_t step = (int16_t)ap->step[i];

		put(text, "%u", ap->num[i]);
		if (step < 0 || (uint64_t)step != inner[i])
			put(text, "@%d", step);
		if (i)
			put(text, "*");
	}
}

static void put_index(struct text *text, uint32_t addr)
{
	put(text, " index[%u, 0x%x]", (unsigned int)NEURON_GET(NEURON_AP_PARTITION, addr),
	    (unsigned int)NEURON_GET(NEURON_AP_OFFSET, addr));
}

static void put_tile(struct text *text, const struct neuron_ap *ap)
{
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, ap->addr);

	put(text, "%s[%u:%u, 0x%x", ap->addr & NEURON_AP_PSUM ? "psum" : "sbuf",
	    first, first + ap->partitions, ap->addr & NEURON_AP_OFFSET);
	if (ap->offset_reg)
		put(text, "+r%u", ap->offset_reg);
	put(text, " : ");
	if (ap->index)
		put(text, "%u", ap->num[0]);
	else
		put_shape(text, ap);
	put(text, " %s", trn_isa_dtype_name(ap->dtype));
	if (ap->index)
		put_index(text, neuron_ap_index(ap));
	put(text, "]");
}

/* A column: written as the tile that it is. */
static void put_wide_column(struct text *text, const struct neuron_inst *inst,
			    uint32_t addr, unsigned int dtype, uint16_t n)
{
	struct neuron_ap ap = {
		.addr = addr,
		.num = { n, 1, 1, 1 },
		.step = { 1 },
		.partitions = inst->dst.partitions,
		.dtype = (uint8_t)dtype,
	};

	put_tile(text, &ap);
}

/* Column @i, 0 or 1. */
static void put_column(struct text *text, const struct neuron_inst *inst, unsigned int i)
{
	put_wide_column(text, inst, i ? inst->col1 : inst->col0, trn_isa_column_dtype(inst, i), 1);
}

static void put_steps(struct text *text, const struct neuron_ap *ap)
{
	int32_t step[4];

	memcpy(step, ap, sizeof(step));
	put(text, "(%" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ")", step[3],
	    step[2], step[1], step[0]);
}

static void put_mask(struct text *text, const struct neuron_inst *inst)
{
	uint8_t mask[NEURON_INST_MASK];
	unsigned int i;

	trn_isa_mask(inst, mask);
	put(text, "(");
	for (i = 0; i < NEURON_INST_MASK; i++)
		put(text, "%s%u", i ? ", " : "", mask[i]);
	put(text, ")");
}

static void put_address(struct text *text, const struct neuron_inst *inst)
{
	uint64_t addr = inst->addr;

	if (addr & NEURON_ADDR_WINDOW)
		put(text, "w%u:0x%" PRIx64,
		    (unsigned int)NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr),
		    (uint64_t)(addr & NEURON_ADDR_WINDOW_OFFSET));
	else
		put(text, "0x%" PRIx64, addr);
}

static void put_memory(struct text *text, const struct neuron_inst *inst)
{
	put_address(text, inst);
	if (inst->reg[1])
		put(text, "+r%u", inst->reg[1]);
}

static void put_alu_imm(struct text *text, unsigned int op, uint32_t imm)
{
	if (trn_isa_alu_is_bitwise(op))
		put(text, "0x%" PRIx32, imm);
	else
		put_float(text, imm);
}

/* imm0 or imm1 of the operator @op, or the column in its place. */
static void put_any(struct text *text, const struct neuron_inst *inst, unsigned int i)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);
	uint32_t flag = i ? NEURON_INST_COL1 : NEURON_INST_COL0;
	unsigned int op = i ? inst->op1 : inst->op0;

	if (trn_isa_flags(inst) & flag)
		put_column(text, inst, i);
	else if (trn_isa_kind_is_alu(isa->op[i]))
		put_alu_imm(text, op, i ? inst->imm1 : inst->imm0);
	else
		put_float(text, i ? inst->imm1 : inst->imm0);
}

/* As the type of the destination is written. */
static void put_fill(struct text *text, const struct neuron_inst *inst)
{
	if (trn_isa_dtype_is_float(inst->dst.dtype))
		put_float(text, inst->imm0);
	else
		put(text, "%" PRId32, (int32_t)inst->imm0);
}

static void put_value(struct text *text, const struct neuron_inst *inst,
		      unsigned int reg)
{
	if (inst->flags & NEURON_INST_IMM)
		put(text, "%" PRId32, (int32_t)inst->imm0);
	else
		put(text, "r%u", inst->reg[reg]);
}

static void put_operand(struct text *text, enum trn_operand operand,
			const struct neuron_inst *inst)
{
	switch (operand) {
	case TRN_OPD_NONE:
		break;
	case TRN_OPD_DST:
		put_tile(text, &inst->dst);
		break;
	case TRN_OPD_SRC0:
		put_tile(text, &inst->src0);
		break;
	case TRN_OPD_SRC1:
		put_tile(text, &inst->src1);
		break;
	case TRN_OPD_SCALAR0:
		if (inst->flags & NEURON_INST_SRC1_COLUMN)
			put_tile(text, &inst->src1);
		else
			put_alu_imm(text, inst->op0, inst->imm0);
		break;
	case TRN_OPD_BIAS:
		if (inst->flags & NEURON_INST_SRC1_COLUMN)
			put_tile(text, &inst->src1);
		else
			put_float(text, inst->imm1);
		break;
	case TRN_OPD_SCALE:
		if (trn_isa_flags(inst) & NEURON_INST_COL0)
			put_column(text, inst, 0);
		else
			put_float(text, inst->imm0);
		break;
	case TRN_OPD_FLOAT0:
		put_float(text, inst->imm0);
		break;
	case TRN_OPD_ANY0:
		put_any(text, inst, 0);
		break;
	case TRN_OPD_ANY1:
		put_any(text, inst, 1);
		break;
	case TRN_OPD_FLOAT2:
	case TRN_OPD_PARAM:
		put_float(text, (uint32_t)inst->addr);
		break;
	case TRN_OPD_ANY_PARAM:
		if (inst->flags & NEURON_INST_SRC1_COLUMN)
			put_tile(text, &inst->src1);
		else
			put_float(text, (uint32_t)inst->addr);
		break;
	case TRN_OPD_INT1:
		put(text, "%" PRId32, (int32_t)inst->imm1);
		break;
	case TRN_OPD_INT2:
		put(text, "%" PRId32, (int32_t)(uint32_t)inst->addr);
		break;
	case TRN_OPD_STEPS0:
		put_steps(text, &inst->src0);
		break;
	case TRN_OPD_STEPS1:
		put_steps(text, &inst->src1);
		break;
	case TRN_OPD_MASK:
		put_mask(text, inst);
		break;
	case TRN_OPD_FILL:
		put_fill(text, inst);
		break;
	case TRN_OPD_SRC0_OR_FILL:
		if (inst->flags & NEURON_INST_IMM)
			put_fill(text, inst);
		else
			put_tile(text, &inst->src0);
		break;
	case TRN_OPD_INDICES:
		put_wide_column(text, inst, inst->col1, NEURON_DTYPE_UINT32, 8);
		break;
	case TRN_OPD_TAG:
		put(text, "0x%" PRIx32, inst->imm0);
		break;
	case TRN_OPD_EVENT:
		put(text, "e%" PRIu32, inst->imm0);
		break;
	case TRN_OPD_SEM0:
		put(text, "s%" PRIu32, inst->imm0);
		break;
	case TRN_OPD_SEM1:
		put(text, "s%" PRIu32, inst->imm1);
		break;
	case TRN_OPD_COUNT0:
		put(text, "%" PRIu32, inst->imm0);
		break;
	case TRN_OPD_COUNT1:
		put(text, "%" PRIu32, inst->imm1);
		break;
	case TRN_OPD_INT0:
		put(text, "%" PRId32, (int32_t)inst->imm0);
		break;
	case TRN_OPD_REG0:
	case TRN_OPD_COMPARE0:
		put(text, "r%u", inst->reg[0]);
		break;
	case TRN_OPD_REG1:
		put(text, "r%u", inst->reg[1]);
		break;
	case TRN_OPD_REG2:
		put(text, "r%u", inst->reg[2]);
		break;
	case TRN_OPD_REG3:
		put(text, "r%u", inst->reg[3]);
		break;
	case TRN_OPD_VALUE2:
		put_value(text, inst, 2);
		break;
	case TRN_OPD_COMPARE1:
		put_value(text, inst, 1);
		break;
	case TRN_OPD_TARGET:
		put(text, "%" PRIu64, (uint64_t)inst->addr);
		break;
	case TRN_OPD_MEMORY:
		put_memory(text, inst);
		break;
	case TRN_OPD_ADDRESS:
		put_address(text, inst);
		break;
	case TRN_OPD_LENGTH:
		put(text, "r%" PRIu32, inst->imm0);
		break;
	case TRN_OPD_DIMENSION:
		put(text, "%" PRIu32, inst->imm1);
		break;
	case TRN_OPD_QUEUES:
		put(text, "%u", inst->reg[2]);
		break;
	case TRN_OPD_QUEUE:
		put(text, "q%u", inst->reg[0] | inst->reg[1] << 8);
		break;
	}
}

static void put_op(struct text *text, enum trn_op_kind kind, unsigned int op)
{
	if (kind == TRN_OP_ACT)
		put(text, ".%s", trn_isa_act_name(op));
	else if (kind != TRN_OP_NONE && op != NEURON_ALU_BYPASS)
		put(text, ".%s", trn_isa_alu_name(op));
}

static void put_array(struct text *text, const struct neuron_inst *inst)
{
	struct neuron_array array = neuron_array_get(inst->imm0);

	put(text, " array[%u:%u, %u:%u]", array.row, array.row + array.rows, array.col,
	    array.col + array.cols);
}

static void put_written(struct text *text, const struct neuron_inst *inst)
{
	struct neuron_written written = neuron_written_get(inst->addr);

	put(text, " written[%u:%u, %u:%u]", written.line, written.line + written.lines,
	    written.first, written.first + written.count);
}

static void put_reduce(struct text *text, const struct neuron_inst *inst)
{
	put(text, " reduce %s %s", trn_isa_alu_name(inst->op2),
	    trn_isa_reduce_name(inst->reduce));
	if (inst->reduce != NEURON_REDUCE_LOAD_REDUCE)
		return;
	put(text, " ");
	put_float(text, inst->addr >> 32);
}

static void put_modifiers(struct text *text, const struct neuron_inst *inst)
{
	uint32_t flags = trn_isa_flags(inst);
	unsigned int bit;

	if (flags & NEURON_INST_ARRAY)
		put_array(text, inst);
	if (flags & NEURON_INST_WRITTEN)
		put_written(text, inst);
	if (inst->op2 != NEURON_ALU_BYPASS)
		put_reduce(text, inst);
	for (bit = 0; bit < 24; bit++) {
		uint32_t flag = flags & NEURON_BIT(bit);

		if (flag && trn_isa_modifier_name(flag))
			put(text, " %s", trn_isa_modifier_name(flag));
	}
}

static void put_sync(struct text *text, const struct neuron_inst *inst)
{
	static const char *const post_op[] = { "", "+=", "-=", "=" };
	unsigned int wait = NEURON_GET(NEURON_SYNC_WAIT, inst->sync);
	unsigned int post = NEURON_GET(NEURON_SYNC_POST, inst->sync);

	if (wait)
		put(text, " %s s%u %s %" PRId32,
		    inst->sync & NEURON_SYNC_TAKE ? "take" : "wait", inst->wait_sem,
		    wait == NEURON_SYNC_WAIT_EQ ? "==" : ">=",
		    (int32_t)inst->wait_value);
	if (post)
		put(text, " post s%u %s %" PRId32, inst->post_sem, post_op[post],
		    (int32_t)inst->post_value);
}

static void put_raw(struct text *text, const struct neuron_inst *inst)
{
	const uint8_t *bytes = (const uint8_t *)inst;
	unsigned int i, j;

	put(text, ".inst");
	for (i = 0; i < NEURON_INST_SIZE; i += 8) {
		uint64_t word = 0;

		for (j = 8; j-- > 0;)
			word = word << 8 | bytes[i + j];
		put(text, "%s 0x%" PRIx64, i ? "," : "", word);
	}
}

size_t trn_isa_format(char *buf, size_t size, const struct neuron_inst *inst)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);
	struct text text = { .buf = buf, .size = size };
	unsigned int i, written = 0;

	if (size)
		buf[0] = '\0';
	if (trn_isa_check(inst, NEURON_NR_ENGINES) != NEURON_CAUSE_NONE) {
		put_raw(&text, inst);
		return text.len;
	}
	put(&text, "%s", isa->name);
	if (isa->func)
		put_op(&text, TRN_OP_ACT, inst->reg[0]);
	put_op(&text, isa->op[0], inst->op0);
	put_op(&text, isa->op[1], inst->op1);
	for (i = 0; i < TRN_ISA_OPERANDS; i++) {
		if (!trn_isa_operand_fields(isa->operand[i], inst))
			continue;
		put(&text, written++ ? ", " : " ");
		put_operand(&text, isa->operand[i], inst);
	}
	put_modifiers(&text, inst);
	put_sync(&text, inst);
	return text.len;
}
