// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * ALU operators: which there are, and chains of them.
 * Documentation/hardware/numerics.rst has the rules.
 */
#include "num/trn_num_alu.h"

/* From this length on lanes are faster than the chain. */
#define LANES_LEAST	8

bool trn_alu_is_arith(unsigned int op)
{
	return op <= NEURON_ALU_POWER ||
	       (op >= NEURON_ALU_IS_EQ && op <= NEURON_ALU_IS_LT) ||
	       (op >= NEURON_ALU_LOGICAL_AND && op <= NEURON_ALU_LOGICAL_XOR);
}

bool trn_alu_is_unary(unsigned int op)
{
	return op >= NEURON_ALU_ABS && op <= NEURON_ALU_RECIPROCAL;
}

bool trn_alu_is_bitwise(unsigned int op)
{
	return op >= NEURON_ALU_BITWISE_AND && op <= NEURON_ALU_SHIFT_RIGHT;
}

bool trn_alu_is_reduction(unsigned int op)
{
	switch (op) {
	case NEURON_ALU_ADD:
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_MULTIPLY:
	case NEURON_ALU_MAX:
	case NEURON_ALU_MIN:
	case NEURON_ALU_ABS_MAX:
	case NEURON_ALU_ABS_MIN:
	case NEURON_ALU_LOGICAL_AND:
	case NEURON_ALU_LOGICAL_OR:
	case NEURON_ALU_LOGICAL_XOR:
	case NEURON_ALU_BITWISE_AND:
	case NEURON_ALU_BITWISE_OR:
	case NEURON_ALU_BITWISE_XOR:
		return true;
	}
	return false;
}

static float reduction_start(unsigned int op, float first)
{
	switch (op) {
	case NEURON_ALU_LOGICAL_AND:
	case NEURON_ALU_LOGICAL_OR:
	case NEURON_ALU_LOGICAL_XOR:
		return first != 0.0f ? 1.0f : 0.0f;
	}
	return first;
}

static bool has_lanes(unsigned int op, size_t n)
{
	return (op == NEURON_ALU_MAX || op == NEURON_ALU_MIN) && n >= LANES_LEAST;
}

/*
 * Whether a NaN stays one to the end of a chain does not depend on its payload, and
 * the logical operators only ask whether it is zero: making the last value canonical
 * gives the same bits as doing so at each step.
 */
float trn_alu_reduce_from(unsigned int op, float start, const float *a, size_t n)
{
	float sum = start;
	size_t i;

	if (has_lanes(op, n))
		return trn_num_path()->most(op, start, a, n);

#define REDUCE_CASE(name)						\
	case NEURON_ALU_##name:						\
		for (i = 0; i < n; i++)					\
			sum = trn_alu_apply(NEURON_ALU_##name, sum, a[i]); \
		break;

	switch (op) {
	TRN_FOR_EACH_ARITH(REDUCE_CASE)
	}
#undef REDUCE_CASE
	return trn_canon(sum);
}

float trn_alu_reduce(unsigned int op, const float *a, size_t n)
{
	return trn_alu_reduce_from(op, reduction_start(op, a[0]), a + 1, n - 1);
}

void trn_alu_sum_rows(float sum[TRN_SUM_ROWS], const float *const line[TRN_SUM_ROWS], size_t n)
{
	const float *a = line[0], *b = line[1], *c = line[2], *d = line[3];
	float w = sum[0], x = sum[1], y = sum[2], z = sum[3];
	size_t i;

	for (i = 0; i < n; i++) {
		w = w + a[i];
		x = x + b[i];
		y = y + c[i];
		z = z + d[i];
	}
	sum[0] = w;
	sum[1] = x;
	sum[2] = y;
	sum[3] = z;
}

/* --- scans --- */

typedef float (*alu_fn)(float x, float y);

#define DEFINE_FN(name)							\
static float fn_##name(float x, float y)				\
{									\
	return trn_alu_apply(NEURON_ALU_##name, x, y);			\
}

TRN_FOR_EACH_ARITH(DEFINE_FN)

static alu_fn fn_of(unsigned int op)
{
#define FN_CASE(name)							\
	case NEURON_ALU_##name:						\
		return fn_##name;

	switch (op) {
	TRN_FOR_EACH_ARITH(FN_CASE)
	}
#undef FN_CASE
	return fn_BYPASS;
}

static float scan_any(const struct trn_scan *scan, float r, float *dst,
		      const float *a, const float *b, size_t n)
{
	alu_fn fn0 = fn_of(scan->op0), fn1 = fn_of(scan->op1);
	size_t i;

	for (i = 0; i < n; i++) {
		float x = a[i], y = b[i];

		x = scan->reverse0 ? fn0(r, x) : fn0(x, r);
		r = trn_canon(scan->reverse1 ? fn1(y, x) : fn1(x, y));
		dst[i] = r;
	}
	return r;
}

/* The recurrence that programs mostly use. Multiplication and addition commute. */
static float scan_linear(float r, float *dst, const float *a, const float *b,
			 size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		r = trn_canon(a[i] * r + b[i]);
		dst[i] = r;
	}
	return r;
}

float trn_alu_scan(const struct trn_scan *scan, float start, float *dst,
		   const float *a, const float *b, size_t n)
{
	if (scan->op0 == NEURON_ALU_MULTIPLY && scan->op1 == NEURON_ALU_ADD)
		return scan_linear(start, dst, a, b, n);
	return scan_any(scan, start, dst, a, b, n);
}
