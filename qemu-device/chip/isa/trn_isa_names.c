// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Names of operators, functions, types, engines and modifiers, and what the
 * sequencers may do with an operator.
 */
#include <string.h>

#include "isa/trn_isa.h"

#define NAME_INTEGER	NEURON_BIT(0)	/* REG_ALU */
#define NAME_COMPARE	NEURON_BIT(1)	/* BRANCH */
#define NAME_FLOAT	NEURON_BIT(2)	/* floating-point type */
#define NAME_BITWISE	NEURON_BIT(3)	/* operates on integers as raw bits */
#define NAME_PARAM	NEURON_BIT(4)	/* function with a parameter */
#define NAME_UNARY	NEURON_BIT(5)	/* operator of one operand */

struct isa_name {
	const char *name;
	uint32_t value;
	uint32_t traits;
};

static const struct isa_name alu_names[] = {
	{ "bypass", NEURON_ALU_BYPASS, 0 },
	{ "add", NEURON_ALU_ADD, NAME_INTEGER },
	{ "subtract", NEURON_ALU_SUBTRACT, NAME_INTEGER },
	{ "multiply", NEURON_ALU_MULTIPLY, NAME_INTEGER },
	{ "max", NEURON_ALU_MAX, NAME_INTEGER },
	{ "min", NEURON_ALU_MIN, NAME_INTEGER },
	{ "divide", NEURON_ALU_DIVIDE, 0 },
	{ "abs_max", NEURON_ALU_ABS_MAX, 0 },
	{ "abs_min", NEURON_ALU_ABS_MIN, 0 },
	{ "power", NEURON_ALU_POWER, 0 },
	{ "average", NEURON_ALU_AVERAGE, 0 },
	{ "is_eq", NEURON_ALU_IS_EQ, NAME_COMPARE },
	{ "is_ne", NEURON_ALU_IS_NE, NAME_COMPARE },
	{ "is_ge", NEURON_ALU_IS_GE, NAME_COMPARE },
	{ "is_gt", NEURON_ALU_IS_GT, NAME_COMPARE },
	{ "is_le", NEURON_ALU_IS_LE, NAME_COMPARE },
	{ "is_lt", NEURON_ALU_IS_LT, NAME_COMPARE },
	{ "logical_and", NEURON_ALU_LOGICAL_AND, 0 },
	{ "logical_or", NEURON_ALU_LOGICAL_OR, 0 },
	{ "logical_xor", NEURON_ALU_LOGICAL_XOR, 0 },
	{ "bitwise_and", NEURON_ALU_BITWISE_AND,
	  NAME_INTEGER | NAME_BITWISE },
	{ "bitwise_or", NEURON_ALU_BITWISE_OR,
	  NAME_INTEGER | NAME_BITWISE },
	{ "bitwise_xor", NEURON_ALU_BITWISE_XOR,
	  NAME_INTEGER | NAME_BITWISE },
	{ "shift_left", NEURON_ALU_SHIFT_LEFT,
	  NAME_INTEGER | NAME_BITWISE },
	{ "shift_right", NEURON_ALU_SHIFT_RIGHT,
	  NAME_INTEGER | NAME_BITWISE },
	{ "invert", NEURON_ALU_INVERT, NAME_BITWISE | NAME_UNARY },
	{ "abs", NEURON_ALU_ABS, NAME_UNARY },
	{ "square", NEURON_ALU_SQUARE, NAME_UNARY },
	{ "relu", NEURON_ALU_RELU, NAME_UNARY },
	{ "rsqrt", NEURON_ALU_RSQRT, NAME_UNARY },
	{ "reciprocal", NEURON_ALU_RECIPROCAL, NAME_UNARY },
	{ NULL, 0, 0 }
};

static const struct isa_name act_names[] = {
	{ "identity", NEURON_ACT_IDENTITY, 0 },
	{ "relu", NEURON_ACT_RELU, 0 },
	{ "gelu", NEURON_ACT_GELU, 0 },
	{ "exp", NEURON_ACT_EXP, 0 },
	{ "square", NEURON_ACT_SQUARE, 0 },
	{ "sigmoid", NEURON_ACT_SIGMOID, 0 },
	{ "prelu", NEURON_ACT_PRELU, NAME_PARAM },
	{ "gelu_dx", NEURON_ACT_GELU_DX, 0 },
	{ "gelu_apprx_tanh", NEURON_ACT_GELU_APPRX_TANH, 0 },
	{ "gelu_apprx_sigmoid", NEURON_ACT_GELU_APPRX_SIGMOID, 0 },
	{ "gelu_apprx_sigmoid_dx", NEURON_ACT_GELU_APPRX_SIGMOID_DX, 0 },
	{ "silu", NEURON_ACT_SILU, 0 },
	{ "silu_dx", NEURON_ACT_SILU_DX, 0 },
	{ "tanh", NEURON_ACT_TANH, 0 },
	{ "softplus", NEURON_ACT_SOFTPLUS, 0 },
	{ "mish", NEURON_ACT_MISH, 0 },
	{ "erf", NEURON_ACT_ERF, 0 },
	{ "erf_dx", NEURON_ACT_ERF_DX, 0 },
	{ "sign", NEURON_ACT_SIGN, 0 },
	{ "abs", NEURON_ACT_ABS, 0 },
	{ "log", NEURON_ACT_LOG, 0 },
	{ "sin", NEURON_ACT_SIN, 0 },
	{ "arctan", NEURON_ACT_ARCTAN, 0 },
	{ "sqrt", NEURON_ACT_SQRT, 0 },
	{ "rsqrt", NEURON_ACT_RSQRT, 0 },
	{ "reciprocal", NEURON_ACT_RECIPROCAL, 0 },
	{ NULL, 0, 0 }
};

static const struct isa_name dtype_names[] = {
	{ "uint64", NEURON_DTYPE_UINT64, 0 },
	{ "int8", NEURON_DTYPE_INT8, 0 },
	{ "uint8", NEURON_DTYPE_UINT8, 0 },
	{ "int16", NEURON_DTYPE_INT16, 0 },
	{ "uint16", NEURON_DTYPE_UINT16, 0 },
	{ "bf16", NEURON_DTYPE_BF16, NAME_FLOAT },
	{ "fp16", NEURON_DTYPE_FP16, NAME_FLOAT },
	{ "int32", NEURON_DTYPE_INT32, 0 },
	{ "uint32", NEURON_DTYPE_UINT32, 0 },
	{ "fp32", NEURON_DTYPE_FP32, NAME_FLOAT },
	{ "fp32r", NEURON_DTYPE_FP32R, NAME_FLOAT },
	{ "int64", NEURON_DTYPE_INT64, 0 },
	{ "fp8_e3", NEURON_DTYPE_FP8_E3, NAME_FLOAT },
	{ "fp8_e4", NEURON_DTYPE_FP8_E4, NAME_FLOAT },
	{ "fp8_e5", NEURON_DTYPE_FP8_E5, NAME_FLOAT },
	{ "tf32", NEURON_DTYPE_TF32, NAME_FLOAT },
	{ "fp8_e4fn", NEURON_DTYPE_FP8_E4FN, NAME_FLOAT },
	{ "fp8_e5_x4", NEURON_DTYPE_FP8_E5_X4, 0 },
	{ "fp8_e4fn_x4", NEURON_DTYPE_FP8_E4FN_X4, 0 },
	{ "fp4_e2_x4", NEURON_DTYPE_FP4_E2_X4, 0 },
	{ "e8m0", NEURON_DTYPE_E8M0, 0 },
	{ NULL, 0, 0 }
};

static const struct isa_name engine_names[] = {
	{ "tensor", NEURON_ENGINE_TENSOR, 0 },
	{ "vector", NEURON_ENGINE_VECTOR, 0 },
	{ "scalar", NEURON_ENGINE_SCALAR, 0 },
	{ "gpsimd", NEURON_ENGINE_GPSIMD, 0 },
	{ "sync", NEURON_ENGINE_SYNC, 0 },
	{ NULL, 0, 0 }
};

static const struct isa_name modifier_names[] = {
	{ "acc", NEURON_INST_ACCUMULATE, 0 },
	{ "rev0", NEURON_INST_REVERSE0, 0 },
	{ "rev1", NEURON_INST_REVERSE1, 0 },
	{ "neg", NEURON_INST_NEGATE, 0 },
	{ "clear", NEURON_INST_CLEAR, 0 },
	{ "transpose", NEURON_INST_TRANSPOSE, 0 },
	{ "one_zero", NEURON_INST_ONE_ZERO, 0 },
	{ "double_row", NEURON_INST_DOUBLE_ROW, 0 },
	{ "landed", NEURON_INST_LANDED, 0 },
	{ NULL, 0, 0 }
};

static const struct isa_name reduce_names[] = {
	{ "idle", NEURON_REDUCE_IDLE, 0 },
	{ "reset", NEURON_REDUCE_RESET, 0 },
	{ "reduce", NEURON_REDUCE_REDUCE, 0 },
	{ "reset_reduce", NEURON_REDUCE_RESET_REDUCE, 0 },
	{ "load_reduce", NEURON_REDUCE_LOAD_REDUCE, 0 },
	{ NULL, 0, 0 }
};

static bool name_is(const char *name, const char *text, size_t len)
{
	return *name == *text && !strncmp(name, text, len) && !name[len];
}

static const struct isa_name *by_value(const struct isa_name *table,
				       unsigned int value)
{
	for (; table->name; table++)
		if (table->value == value)
			return table;
	return NULL;
}

static const char *name_of(const struct isa_name *table, unsigned int value)
{
	const struct isa_name *entry = by_value(table, value);

	return entry ? entry->name : NULL;
}

static int value_of(const struct isa_name *table, const char *name, size_t len)
{
	for (; table->name; table++)
		if (name_is(table->name, name, len))
			return (int)table->value;
	return -1;
}

static bool has_trait(const struct isa_name *table, unsigned int value,
		      unsigned int trait)
{
	const struct isa_name *entry = by_value(table, value);

	return entry && (entry->traits & trait);
}

const char *trn_isa_alu_name(unsigned int op)
{
	return name_of(alu_names, op);
}

int trn_isa_alu_value(const char *name, size_t len)
{
	return value_of(alu_names, name, len);
}

const char *trn_isa_act_name(unsigned int func)
{
	return name_of(act_names, func);
}

int trn_isa_act_value(const char *name, size_t len)
{
	return value_of(act_names, name, len);
}

const char *trn_isa_dtype_name(unsigned int dtype)
{
	return name_of(dtype_names, dtype);
}

int trn_isa_dtype_value(const char *name, size_t len)
{
	return value_of(dtype_names, name, len);
}

const char *trn_isa_engine_name(unsigned int engine)
{
	return name_of(engine_names, engine);
}

int trn_isa_engine_value(const char *name, size_t len)
{
	return value_of(engine_names, name, len);
}

const char *trn_isa_modifier_name(unsigned int flag)
{
	return name_of(modifier_names, flag);
}

int trn_isa_modifier_value(const char *name, size_t len)
{
	return value_of(modifier_names, name, len);
}

const char *trn_isa_reduce_name(unsigned int reduce)
{
	return name_of(reduce_names, reduce);
}

int trn_isa_reduce_value(const char *name, size_t len)
{
	return value_of(reduce_names, name, len);
}

bool trn_isa_act_has_param(unsigned int func)
{
	return has_trait(act_names, func, NAME_PARAM);
}

bool trn_isa_alu_is_integer(unsigned int op)
{
	return has_trait(alu_names, op, NAME_INTEGER);
}

bool trn_isa_alu_is_compare(unsigned int op)
{
	return has_trait(alu_names, op, NAME_COMPARE);
}

bool trn_isa_alu_is_bitwise(unsigned int op)
{
	return has_trait(alu_names, op, NAME_BITWISE);
}

bool trn_isa_alu_is_unary(unsigned int op)
{
	return has_trait(alu_names, op, NAME_UNARY);
}

bool trn_isa_dtype_is_float(unsigned int dtype)
{
	return has_trait(dtype_names, dtype, NAME_FLOAT);
}
