// SPDX-License-Identifier: MIT
/* Instructions, by the table that chip, disassembler and manual share. */
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "as_unit.h"
#include "chip/isa/trn_isa.h"

#define FLOAT_ONE	0x3f800000

static int op_value(enum trn_op_kind kind, const struct as_token *token)
{
	int value;

	if (kind == TRN_OP_ACT)
		return trn_isa_act_value(token->text, token->len);
	value = trn_isa_alu_value(token->text, token->len);
	/* Leaving it out says it. */
	if (value < 0 || value == NEURON_ALU_BYPASS)
		return -1;
	if ((kind == TRN_OP_INTEGER && !trn_isa_alu_is_integer((unsigned int)value)) ||
	    ((kind == TRN_OP_COMPARE || kind == TRN_OP_TEST) &&
	     !trn_isa_alu_is_compare((unsigned int)value)) ||
	    ((kind == TRN_OP_ALU || kind == TRN_OP_ALU_OR_BYPASS) &&
	     trn_isa_alu_is_unary((unsigned int)value)))
		return -1;
	return value;
}

/* Operator @i has an order of operands, or the instruction has none there. */
static bool has_two_operands(const struct trn_isa *isa, unsigned int i, unsigned int op)
{
	return !trn_isa_kind_is_alu(isa->op[i]) ||
	       (op != NEURON_ALU_BYPASS && !trn_isa_alu_is_unary(op));
}

static bool parse_op(struct as_unit *unit, const struct trn_isa *isa, enum trn_op_kind kind,
		     uint8_t *op)
{
	const struct as_token *token = as_peek(unit);
	int value;

	if (kind == TRN_OP_NONE)
		return true;
	if (!as_accept(unit, '.')) {
		if (kind == TRN_OP_ALU_OR_BYPASS || kind == TRN_OP_SCALAR_OR_BYPASS ||
		    kind == TRN_OP_COMPARE)
			return true;
		return as_error(unit, token, "%s needs \".\" and an operator", isa->name);
	}
	token = as_peek(unit);
	if (token->kind != AS_NAME)
		return as_expected(unit, "an operator");
	value = op_value(kind, token);
	if (value < 0)
		return as_error(unit, token, "%s has no operator \"%.*s\"", isa->name,
				(int)token->len, token->text);
	as_take(unit);
	*op = (uint8_t)value;
	return true;
}

static bool word_field(struct as_unit *unit, __le32 *field)
{
	uint32_t value;

	if (!as_word(unit, &value))
		return false;
	*field = htole32(value);
	return true;
}

static bool float_field(struct as_unit *unit, __le32 *field)
{
	uint32_t value;

	if (!as_float(unit, &value))
		return false;
	*field = htole32(value);
	return true;
}

/* What an ALU operator takes as its immediate. */
static bool scalar_field(struct as_unit *unit, unsigned int op, __le32 *field)
{
	return trn_isa_alu_is_bitwise(op) ? word_field(unit, field) : float_field(unit, field);
}

static bool column(struct as_unit *unit, struct neuron_inst *inst)
{
	inst->flags |= NEURON_INST_SRC1_COLUMN;
	return as_tile(unit, &inst->src1);
}

static void set_flag(struct neuron_inst *inst, uint32_t flag)
{
	inst->flags |= (uint8_t)flag;
	inst->mode = htole16(le16toh(inst->mode) | (uint16_t)(flag >> 8));
}

#define COLUMN_WANTED	\
	"this operand is a number or one element of each partition, without a register"
#define FP32_COLUMN_WANTED	\
	"this operand is a number or one fp32 element of each partition, without a register"
#define INDICES_WANTED	\
	"this operand is 8 uint32 elements of each partition, without a register"

/* @n elements side by side in each of the destination's partitions; else @wanted. */
static bool column_tile(struct as_unit *unit, const struct neuron_inst *inst, uint16_t n,
			const char *wanted, struct neuron_ap *ap)
{
	const struct as_token *token = as_peek(unit);

	if (!as_tile(unit, ap))
		return false;
	if (ap->offset_reg || ap->num[0] != htole16(n) || (n > 1 && ap->step[0] != htole16(1)) ||
	    ap->num[1] != htole16(1) || ap->num[2] != htole16(1) || ap->num[3] != htole16(1))
		return as_error(unit, token, "%s", wanted);
	if (ap->partitions != inst->dst.partitions)
		return as_error(unit, token,
				"the column has not the partitions of the destination");
	return true;
}

/* Column @i, 0 or 1: fp32 where the instruction takes no other type. */
static bool column_field(struct as_unit *unit, struct neuron_inst *inst, unsigned int i)
{
	uint32_t flag = i ? NEURON_INST_COL1 : NEURON_INST_COL0;
	bool typed = trn_isa_lookup(inst->opcode)->typed & flag;
	const char *wanted = typed ? COLUMN_WANTED : FP32_COLUMN_WANTED;
	const struct as_token *token = as_peek(unit);
	struct neuron_ap ap;

	if (!column_tile(unit, inst, 1, wanted, &ap))
		return false;
	if (!typed && ap.dtype != NEURON_DTYPE_FP32)
		return as_error(unit, token, "%s", wanted);
	set_flag(inst, flag);
	*(i ? &inst->col1 : &inst->col0) = ap.addr;
	inst->col_dtype[i] = ap.dtype == NEURON_DTYPE_FP32 ? 0 : ap.dtype;
	return true;
}

static bool indices_field(struct as_unit *unit, struct neuron_inst *inst)
{
	const struct as_token *token = as_peek(unit);
	struct neuron_ap ap;

	if (!column_tile(unit, inst, 8, INDICES_WANTED, &ap))
		return false;
	if (ap.dtype != NEURON_DTYPE_UINT32)
		return as_error(unit, token, "%s", INDICES_WANTED);
	set_flag(inst, NEURON_INST_COL1);
	inst->col1 = ap.addr;
	return true;
}

/* Scalar @i, 0 or 1: what its operator takes, or a column. */
static bool any_field(struct as_unit *unit, struct neuron_inst *inst, unsigned int i)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);
	__le32 *field = i ? &inst->imm1 : &inst->imm0;

	if (as_is_tile(unit))
		return column_field(unit, inst, i);
	if (trn_isa_kind_is_alu(isa->op[i]))
		return scalar_field(unit, i ? inst->op1 : inst->op0, field);
	return float_field(unit, field);
}

/* Into the low half of addr. */
static bool half_field(struct as_unit *unit, struct neuron_inst *inst, bool is_float)
{
	uint32_t value;

	if (!(is_float ? as_float(unit, &value) : as_word(unit, &value)))
		return false;
	inst->addr = htole64(le64toh(inst->addr) | value);
	return true;
}

static bool steps_field(struct as_unit *unit, struct neuron_ap *ap)
{
	__le32 step[4];
	unsigned int i;

	if (!as_expect(unit, '(', "\"(\" and four steps, the outermost first"))
		return false;
	for (i = 4; i-- > 0;)
		if ((i < 3 && !as_expect(unit, ',', "\",\" and four steps in all")) ||
		    !word_field(unit, &step[i]))
			return false;
	memset(ap, 0, sizeof(*ap));
	memcpy(ap, step, sizeof(step));
	return as_expect(unit, ')', "\")\"");
}

static bool mask_field(struct as_unit *unit, struct neuron_inst *inst)
{
	uint8_t mask[NEURON_INST_MASK];
	uint64_t value;
	unsigned int i;

	if (!as_expect(unit, '(', "\"(\" and 32 numbers"))
		return false;
	for (i = 0; i < NEURON_INST_MASK; i++) {
		if ((i && !as_expect(unit, ',', "\",\" and 32 numbers in all")) ||
		    !as_uint(unit, UINT8_MAX, "a partition, or 255", &value))
			return false;
		mask[i] = (uint8_t)value;
	}
	memcpy((uint8_t *)inst + offsetof(struct neuron_inst, src1), mask, sizeof(mask));
	return as_expect(unit, ')', "\")\"");
}

/* A number as the type of the destination has them. */
static bool fill_field(struct as_unit *unit, struct neuron_inst *inst)
{
	return trn_isa_dtype_is_float(inst->dst.dtype) ? float_field(unit, &inst->imm0) :
							 word_field(unit, &inst->imm0);
}

static bool source_or_fill(struct as_unit *unit, struct neuron_inst *inst)
{
	if (as_is_tile(unit))
		return as_tile(unit, &inst->src0);
	inst->flags |= NEURON_INST_IMM;
	return fill_field(unit, inst);
}

static bool sem_field(struct as_unit *unit, __le32 *field)
{
	uint16_t sem;

	if (!as_sem(unit, &sem))
		return false;
	*field = htole32(sem);
	return true;
}

static bool register_or_word(struct as_unit *unit, struct neuron_inst *inst, unsigned int reg)
{
	uint32_t number;

	if (as_numbered(as_peek(unit), 'r', &number))
		return as_register(unit, &inst->reg[reg]);
	inst->flags |= NEURON_INST_IMM;
	return word_field(unit, &inst->imm0);
}

static bool length_field(struct as_unit *unit, struct neuron_inst *inst)
{
	uint8_t reg;

	if (!as_register(unit, &reg))
		return false;
	inst->imm0 = htole32(reg);
	set_flag(inst, NEURON_INST_LENGTH);
	return true;
}

static bool queues_field(struct as_unit *unit, struct neuron_inst *inst)
{
	const struct as_token *token = as_peek(unit);
	uint32_t queues;

	if (!word_field(unit, &queues))
		return false;
	if (!le32toh(queues) || le32toh(queues) > UINT8_MAX)
		return as_error(unit, token, "1 to %u queues are possible", UINT8_MAX);
	inst->reg[2] = (uint8_t)le32toh(queues);
	set_flag(inst, NEURON_INST_QUEUES);
	return true;
}

static bool parse_operand(struct as_unit *unit, enum trn_operand operand,
			  struct neuron_inst *inst)
{
	switch (operand) {
	case TRN_OPD_NONE:
		return true;
	case TRN_OPD_DST:
		return as_tile(unit, &inst->dst);
	case TRN_OPD_SRC0:
		return as_tile(unit, &inst->src0);
	case TRN_OPD_SRC1:
		return as_tile(unit, &inst->src1);
	case TRN_OPD_SCALAR0:
		return as_is_tile(unit) ? column(unit, inst) :
					  scalar_field(unit, inst->op0, &inst->imm0);
	case TRN_OPD_SCALE:
	case TRN_OPD_ANY0:
		return any_field(unit, inst, 0);
	case TRN_OPD_ANY1:
		return any_field(unit, inst, 1);
	case TRN_OPD_FLOAT0:
		return float_field(unit, &inst->imm0);
	case TRN_OPD_FLOAT2:
	case TRN_OPD_PARAM:
		return half_field(unit, inst, true);
	case TRN_OPD_ANY_PARAM:
		return as_is_tile(unit) ? column(unit, inst) : half_field(unit, inst, true);
	case TRN_OPD_INT2:
		return half_field(unit, inst, false);
	case TRN_OPD_STEPS0:
		return steps_field(unit, &inst->src0);
	case TRN_OPD_STEPS1:
		return steps_field(unit, &inst->src1);
	case TRN_OPD_MASK:
		return mask_field(unit, inst);
	case TRN_OPD_BIAS:
		return as_is_tile(unit) ? column(unit, inst) : float_field(unit, &inst->imm1);
	case TRN_OPD_FILL:
		return fill_field(unit, inst);
	case TRN_OPD_SRC0_OR_FILL:
		return source_or_fill(unit, inst);
	case TRN_OPD_INDICES:
		return indices_field(unit, inst);
	case TRN_OPD_EVENT:
		return as_event(unit, &inst->imm0);
	case TRN_OPD_SEM0:
		return sem_field(unit, &inst->imm0);
	case TRN_OPD_SEM1:
		return sem_field(unit, &inst->imm1);
	case TRN_OPD_TAG:
	case TRN_OPD_COUNT0:
	case TRN_OPD_INT0:
		return word_field(unit, &inst->imm0);
	case TRN_OPD_COUNT1:
	case TRN_OPD_INT1:
		return word_field(unit, &inst->imm1);
	case TRN_OPD_REG0:
	case TRN_OPD_COMPARE0:
		return as_register(unit, &inst->reg[0]);
	case TRN_OPD_REG1:
		return as_register(unit, &inst->reg[1]);
	case TRN_OPD_REG2:
		return as_register(unit, &inst->reg[2]);
	case TRN_OPD_REG3:
		return as_register(unit, &inst->reg[3]);
	case TRN_OPD_VALUE2:
		return register_or_word(unit, inst, 2);
	case TRN_OPD_COMPARE1:
		return register_or_word(unit, inst, 1);
	case TRN_OPD_TARGET:
		return as_target(unit, inst);
	case TRN_OPD_MEMORY:
		return as_memory_operand(unit, inst);
	case TRN_OPD_ADDRESS:
		return as_address_operand(unit, inst);
	case TRN_OPD_QUEUE:
		return as_queue_operand(unit, inst);
	case TRN_OPD_LENGTH:
		return length_field(unit, inst);
	case TRN_OPD_DIMENSION:
		return word_field(unit, &inst->imm1);
	case TRN_OPD_QUEUES:
		return queues_field(unit, inst);
	}
	return false;
}

/* Whether there is one, the text says. */
static bool is_optional(enum trn_operand operand)
{
	return operand == TRN_OPD_INDICES || operand == TRN_OPD_LENGTH ||
	       operand == TRN_OPD_QUEUES;
}

/* An operand that may be left out, with its value then. */
static bool has_default(enum trn_operand operand, struct neuron_inst *inst)
{
	if (operand == TRN_OPD_SCALE)
		inst->imm0 = htole32(FLOAT_ONE);
	return operand == TRN_OPD_SCALE || operand == TRN_OPD_BIAS || is_optional(operand);
}

static bool parse_operands(struct as_unit *unit, const struct trn_isa *isa,
			   struct neuron_inst *inst)
{
	unsigned int i, written = 0;

	for (i = 0; i < TRN_ISA_OPERANDS; i++) {
		enum trn_operand operand = isa->operand[i];

		if (!trn_isa_operand_fields(operand, inst) && !is_optional(operand))
			continue;
		if (written++ && !as_accept(unit, ',')) {
			if (has_default(operand, inst))
				continue;
			return as_expected(unit, "\",\" and another operand");
		}
		if (!parse_operand(unit, operand, inst))
			return false;
	}
	if (as_peek(unit)->kind == ',')
		return as_error(unit, as_peek(unit), "%s takes no more operands", isa->name);
	return true;
}

static bool check_engine(struct as_unit *unit, const struct as_token *token,
			 const struct trn_isa *isa)
{
	char list[64] = "";
	size_t len = 0;
	unsigned int e;

	if (isa->engines & NEURON_BIT(unit->engine))
		return true;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		const char *name = trn_isa_engine_name(e);

		if (!(isa->engines & NEURON_BIT(e)))
			continue;
		if (len)
			list[len++] = ',', list[len++] = ' ';
		while (*name)
			list[len++] = *name++;
	}
	list[len] = '\0';
	return as_error(unit, token, "the %s engine cannot run %s; use %s",
			trn_isa_engine_name((unsigned int)unit->engine), isa->name, list);
}

bool as_need_engine(struct as_unit *unit, const struct as_token *token)
{
	return unit->engine >= 0 ||
	       as_error(unit, token, "no engine yet: .engine NAME must come first");
}

void as_set_source(struct as_unit *unit, bool known)
{
	uint32_t line = as_debug_line(unit);

	nb_source(unit->nb, known && line ? unit->source : NULL, line);
}

void as_set_debug(const struct as_unit *unit, struct neuron_inst *inst)
{
	inst->debug = htole32(as_debug_line(unit));
}

/*
 * What no text can say, and a tile outside of its memory, are errors. The other rules are those of
 * a chip: errors where the program is for one, else a warning if even the newest one refuses it.
 */
static bool check_rules(struct as_unit *unit, const struct as_token *token,
			const struct trn_isa *isa, const struct neuron_inst *inst)
{
	enum neuron_engine engine = (enum neuron_engine)unit->engine;
	unsigned int generation = unit->options->generation;
	const char *form = trn_isa_rule(inst, engine);
	char rule[NB_RULE_MAX];

	if (form)
		return as_error(unit, token, "%s: %s", isa->name, form);
	if (!nb_fits(generation, engine, inst, rule, sizeof(rule)))
		return as_error(unit, token, "%s: %s", isa->name, rule);
	if (nb_allowed(generation, engine, inst, rule, sizeof(rule)))
		return true;
	if (generation)
		return as_error(unit, token, "%s: %s", isa->name, rule);
	as_warning(unit, unit->line, "%s: %s; chips refuse this", isa->name, rule);
	return true;
}

bool as_instruction(struct as_unit *unit, const struct trn_isa *isa)
{
	const struct as_token *token = as_take(unit);
	struct neuron_inst inst = { 0 };

	if (!isa)
		return as_error(unit, token, "no instruction \"%.*s\"", (int)token->len,
				token->text);
	if (!as_need_engine(unit, token) || !check_engine(unit, token, isa))
		return false;
	inst.opcode = isa->opcode;
	if ((isa->func && !parse_op(unit, isa, TRN_OP_ACT, &inst.reg[0])) ||
	    !parse_op(unit, isa, isa->op[0], &inst.op0) ||
	    !parse_op(unit, isa, isa->op[1], &inst.op1) ||
	    !parse_operands(unit, isa, &inst) || !as_sync(unit, &inst, isa))
		return false;
	if ((inst.flags & NEURON_INST_REVERSE0) && !has_two_operands(isa, 0, inst.op0))
		return as_error(unit, token, "rev0 needs an operator of two operands");
	if ((inst.flags & NEURON_INST_REVERSE1) && !has_two_operands(isa, 1, inst.op1))
		return as_error(unit, token, "rev1 needs a second operator of two operands");
	if (!check_rules(unit, token, isa, &inst))
		return false;
	as_set_debug(unit, &inst);
	as_set_source(unit, true);
	nb_raw(unit->nb, (enum neuron_engine)unit->engine, &inst);
	return true;
}

bool as_inst_words(struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);
	union {
		uint64_t word[NEURON_INST_SIZE / 8];
		struct neuron_inst inst;
	} raw;
	unsigned int i;
	uint64_t word;

	if (!as_need_engine(unit, token))
		return false;
	for (i = 0; i < NEURON_INST_SIZE / 8; i++) {
		if (i && !as_expect(unit, ',', "\",\" and 16 numbers in all"))
			return false;
		if (!as_uint(unit, UINT64_MAX, "a word", &word))
			return false;
		raw.word[i] = htole64(word);
	}
	if (as_peek(unit)->kind != AS_END)
		return as_expected(unit, "the end of the line");
	/* Exactly these bytes, and the line that they name. */
	if (raw.inst.debug)
		nb_source(unit->nb, unit->source, le32toh(raw.inst.debug));
	else
		as_set_source(unit, false);
	nb_raw(unit->nb, (enum neuron_engine)unit->engine, &raw.inst);
	return true;
}
