// SPDX-License-Identifier: MIT
/*
 * Products of operands whose sums round at every step, for each kind of product and
 * each type: against chains of the C library's fused multiply-add over codes that are
 * decoded here.
 */
#include "exec_rig.h"

#include <math.h>
#include <string.h>

#define F16	NEURON_DTYPE_FP16
#define TF32	NEURON_DTYPE_TF32
#define E3	NEURON_DTYPE_FP8_E3
#define E4	NEURON_DTYPE_FP8_E4
#define E5	NEURON_DTYPE_FP8_E5
#define E4FN	NEURON_DTYPE_FP8_E4FN
#define E5X4	NEURON_DTYPE_FP8_E5_X4
#define E4FNX4	NEURON_DTYPE_FP8_E4FN_X4
#define E2X4	NEURON_DTYPE_FP4_E2_X4

#define K	32
#define M	16
#define N	72
#define DEPTH	4		/* terms of a partition, at most */

#define STATIONARY	0x0
#define MOVING		0x4000
#define SCALES		0xc000
#define TAGS		0xd000

/* struct format - bits of an element, of its fraction, and the exponent's bias */
struct format {
	unsigned int dtype, bits, fraction, bias;
};

static const struct format formats[] = {
	{ F32, 32, 23, 127 },	{ TF32, 32, 23, 127 },	{ BF16, 16, 7, 127 },
	{ F16, 16, 10, 15 },	{ E3, 8, 4, 3 },	{ E4, 8, 3, 7 },
	{ E5, 8, 2, 15 },	{ E4FN, 8, 3, 7 },	{ E5X4, 8, 2, 15 },
	{ E4FNX4, 8, 3, 7 },	{ E2X4, 4, 1, 1 },
};

static const struct format *format_of(unsigned int dtype)
{
	size_t i;

	for (i = 0; formats[i].dtype != dtype; i++)
		;
	return &formats[i];
}

/* A normal number not far from one, its code. */
static uint32_t some_code(const struct format *f)
{
	unsigned int spread = f->bias > 2 ? 2 : f->bias;
	uint32_t exponent = f->bias - spread + 1 + rnd(spread + 1);
	uint32_t code = exponent << f->fraction | rnd(1u << f->fraction);

	if (f->dtype == TF32)
		code &= ~0x1fffu;
	return code | rnd(2) << (f->bits - 1);
}

static float value_of(const struct format *f, uint32_t code)
{
	uint32_t magnitude = code & ((1u << (f->bits - 1)) - 1);
	double fraction = magnitude & ((1u << f->fraction) - 1);
	int exponent = (int)(magnitude >> f->fraction) - (int)f->bias;
	double value = ldexp(fraction + ldexp(1.0, (int)f->fraction),
			     exponent - (int)f->fraction);

	return (float)(code >> (f->bits - 1) & 1 ? -value : value);
}

/* Partition @p at @offset: @n elements, whose values go to @values. */
static void put_line(void **state, unsigned int p, size_t offset, unsigned int dtype,
		     unsigned int n, float *values)
{
	const struct format *f = format_of(dtype);
	uint8_t *line = (uint8_t *)sbuf_f(state, p, offset);
	unsigned int i;

	memset(line, 0, n * f->bits / 8);
	for (i = 0; i < n; i++) {
		uint32_t code = some_code(f), old = 0;
		unsigned int at = i * f->bits;

		values[i] = value_of(f, code);
		memcpy(&old, line + at / 8, (f->bits + 7) / 8);
		old |= code << at % 8;
		memcpy(line + at / 8, &old, (f->bits + 7) / 8);
	}
}

/* --- what the result must be: weight[t][m], moving[t][n] --- */

static float weight[DEPTH * K][M], moving[DEPTH * K][N];

static float chain(unsigned int terms, unsigned int m, unsigned int n)
{
	float sum = 0.0f;
	unsigned int t;

	for (t = 0; t < terms; t++)
		sum = fmaf(weight[t][m], moving[t][n], sum);
	return sum;
}

static void expect(void **state, unsigned int terms)
{
	unsigned int m, n;

	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++)
			if (psum_f(state, m, 0)[n] != chain(terms, m, n))
				fail_msg("[%u][%u] is %a, not %a", m, n,
					 (double)psum_f(state, m, 0)[n],
					 (double)chain(terms, m, n));
}

/* The product, and once more on top of itself. */
static void run_both(void **state, struct neuron_inst load, struct neuron_inst multiply,
		     unsigned int terms)
{
	struct neuron_inst program[] = { load, multiply, multiply };
	unsigned int m, n;

	good_all(state, TENSOR, program, 2);
	expect(state, terms);
	program[2].flags |= NEURON_INST_ACCUMULATE;
	good_all(state, TENSOR, program, 3);
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++)
			assert_true(psum_f(state, m, 0)[n] == 2.0f * chain(terms, m, n));
}

static void dense(void **state, unsigned int a, unsigned int b)
{
	unsigned int k;

	for (k = 0; k < K; k++) {
		put_line(state, k, STATIONARY, a, M, weight[k]);
		put_line(state, k, MOVING, b, N, moving[k]);
	}
	run_both(state, OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, K, STATIONARY, a, M)),
		 OP(MATMUL, .dst = ap_psum(0, M, 0, F32, N),
		    .src0 = ap_sbuf(0, K, MOVING, b, N)), K);
}

static void pairs_of_types(void **state, const unsigned int *types, unsigned int count)
{
	unsigned int i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < count; j++)
			dense(state, types[i], types[j]);
}

static void dense_types(void **state)
{
	static const unsigned int narrow[] = { BF16, F16, E3, E4, E5 };
	static const unsigned int wide[] = { F32, TF32 };

	pairs_of_types(state, narrow, 5);
	pairs_of_types(state, wide, 2);
}

static void dense_types_of_v4(void **state)
{
	static const unsigned int narrow[] = { BF16, F16, E5, E4FN };

	pairs_of_types(state, narrow, 4);
}

static struct neuron_ap two_lines(uint32_t offset, unsigned int dtype, unsigned int n)
{
	return ap_dim(ap_sbuf(0, K, offset, dtype, n), 1, 2, (int)n);
}

static void double_row(void **state, unsigned int a, unsigned int b)
{
	const uint16_t mode = NEURON_INST_DOUBLE_ROW >> 8;
	unsigned int k, t;

	for (k = 0; k < K; k++) {
		for (t = 0; t < 2; t++) {
			put_line(state, k, STATIONARY + t * M, a, M, weight[2 * k + t]);
			put_line(state, k, MOVING + t * N, b, N, moving[2 * k + t]);
		}
	}
	run_both(state, OP(LOAD_STATIONARY, .mode = mode, .src0 = two_lines(STATIONARY, a, M)),
		 OP(MATMUL, .mode = mode, .dst = ap_psum(0, M, 0, F32, N),
		    .src0 = two_lines(MOVING, b, N)), 2 * K);
}

static void double_rows(void **state)
{
	double_row(state, E4, E4);
	double_row(state, E4, E5);
	double_row(state, E5, E4);
}

static void double_rows_of_v4(void **state)
{
	double_row(state, E4FN, E5);
	double_row(state, E5, E4FN);
}

/* --- sparse: the chain of one column has the terms that its tags name --- */

static void sparse(void **state, unsigned int a, unsigned int b)
{
	static float values[K][2 * N], held[K][M];
	unsigned int size = format_of(b)->bits / 8, k, m, n, line;
	uint8_t tag[K][M];

	for (k = 0; k < K; k++) {
		uint16_t *tags = (void *)sbuf_f(state, k, TAGS);

		put_line(state, k, STATIONARY, a, M, held[k]);
		for (line = 0; line < 2; line++)
			put_line(state, k, MOVING + line * N * size, b, N, values[k] + line * N);
		memset(tags, 0, M / 2);
		for (m = 0; m < M; m++) {
			tag[k][m] = (uint8_t)rnd(8);
			tags[m / 4] |= (uint16_t)(tag[k][m] << m % 4 * 4);
		}
	}
	good_all(state, TENSOR, (const struct neuron_inst[]) {
		OP(LOAD_SPARSE, .src0 = ap_sbuf(0, K, STATIONARY, a, M),
		   .src1 = ap_sbuf(0, K, TAGS, U16, M / 4)),
		OP(MATMUL_SPARSE, .imm1 = 2, .dst = ap_psum(0, M, 0, F32, N),
		   .src0 = two_lines(MOVING, b, N)) }, 2);
	for (m = 0; m < M; m++) {
		for (n = 0; n < N; n++) {
			float sum = 0.0f;

			for (k = 0; k < K; k++)
				sum = fmaf(held[k][m],
					   values[k / 4 * 4 + tag[k][m] % 4]
						 [tag[k][m] / 4 * N + n], sum);
			assert_true(psum_f(state, m, 0)[n] == sum);
		}
	}
}

static void sparse_types(void **state)
{
	static const unsigned int types[] = { BF16, F16, E3, E4, E5 };
	unsigned int i;

	for (i = 0; i < 5; i++) {
		sparse(state, types[i], types[i]);
		sparse(state, types[i], BF16);
	}
}

static void sparse_types_of_v4(void **state)
{
	sparse(state, E4FN, E4FN);
}

/* --- MX: four terms in each element, a scale for eight partitions --- */

static void put_mx_line(void **state, unsigned int p, size_t offset, size_t scales,
			unsigned int dtype, unsigned int n, float *terms, size_t stride)
{
	const uint8_t *scale = (const uint8_t *)sbuf_f(state, p / 8, scales);
	float values[DEPTH * N];
	unsigned int i, t;

	put_line(state, p, offset, dtype, DEPTH * n, values);
	for (i = 0; i < n; i++)
		for (t = 0; t < DEPTH; t++)
			terms[t * stride + i] = ldexpf(values[DEPTH * i + t], scale[i] - 127);
}

static void put_scales(void **state, size_t offset, unsigned int n)
{
	unsigned int p, i;

	for (p = 0; p < K / 8; p++)
		for (i = 0; i < n; i++)
			((uint8_t *)sbuf_f(state, p, offset))[i] = (uint8_t)(126 + rnd(3));
}

static void mx(void **state, unsigned int a, unsigned int b)
{
	const uint32_t others = SCALES + 0x400;
	unsigned int k;

	put_scales(state, SCALES, M);
	put_scales(state, others, N);
	for (k = 0; k < K; k++) {
		put_mx_line(state, k, STATIONARY, SCALES, a, M, weight[DEPTH * k], M);
		put_mx_line(state, k, MOVING, others, b, N, moving[DEPTH * k], N);
	}
	run_both(state, OP(LOAD_MX, .src0 = ap_sbuf(0, K, STATIONARY, a, M),
			   .src1 = ap_sbuf(0, K, SCALES, U8, M)),
		 OP(MATMUL_MX, .dst = ap_psum(0, M, 0, F32, N),
		    .src0 = ap_sbuf(0, K, MOVING, b, N),
		    .src1 = ap_sbuf(0, K, others, U8, N)), DEPTH * K);
}

static void mx_types(void **state)
{
	static const unsigned int types[] = { E5X4, E4FNX4, E2X4 };
	unsigned int i, j;

	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			mx(state, types[i], types[j]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup, dense_types),
		EXEC_TEST(exec_setup, double_rows),
		EXEC_TEST(exec_setup, sparse_types),
		EXEC_TEST(exec_setup_trn3, dense_types_of_v4),
		EXEC_TEST(exec_setup_trn3, double_rows_of_v4),
		EXEC_TEST(exec_setup_trn3, sparse_types_of_v4),
		EXEC_TEST(exec_setup_trn3, mx_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
