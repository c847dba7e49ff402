// SPDX-License-Identifier: MIT
/*
 * The tensor engine: types, parts of the array, double rows, transposition, sparse
 * and MX operands, against chains of single multiply-adds.
 */
#include "exec_rig.h"

#include <stdlib.h>
#include <string.h>

#include "num/trn_num.h"

#define F16	NEURON_DTYPE_FP16
#define TF32	NEURON_DTYPE_TF32
#define E4	NEURON_DTYPE_FP8_E4
#define E5	NEURON_DTYPE_FP8_E5
#define E3	NEURON_DTYPE_FP8_E3
#define E4FN	NEURON_DTYPE_FP8_E4FN

#define STATIONARY	0x0
#define MOVING		0x4000
#define SCALES		0xc000
#define TAGS		0xd000

/* neuron_inst.mode of a flag above bit 7. */
#define MODE(flag)	(NEURON_INST_##flag >> 8)

/* Numbers that every type holds: small multiples of 1/4. */
static float some_number(void)
{
	return ((float)rnd(17) - 8.0f) / 4.0f;
}

/* Line @p of @n elements of @dtype at @offset; the values also to @values. */
static void put_line(void **state, unsigned int p, size_t offset, unsigned int dtype,
		     unsigned int n, float *values)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		values[i] = some_number();
	trn_from_fp32(sbuf_f(state, p, offset), values, dtype, n);
}

static void put_tile(void **state, size_t offset, unsigned int dtype,
		     unsigned int partitions, unsigned int n, float *values)
{
	unsigned int p;

	for (p = 0; p < partitions; p++)
		put_line(state, p, offset, dtype, n, values + p * n);
}

/* A chain over @terms: weight[t][m], moving[t][n]. */
static float chain(const float *weight, unsigned int columns, const float *moving,
		   unsigned int n_columns, unsigned int terms, unsigned int m,
		   unsigned int n)
{
	float sum = 0.0f;
	unsigned int t;

	for (t = 0; t < terms; t++)
		sum = trn_fma(weight[t * columns + m], moving[t * n_columns + n], sum);
	return sum;
}

static void expect_product(void **state, const float *weight, unsigned int columns,
			   const float *moving, unsigned int n_columns,
			   unsigned int terms)
{
	unsigned int m, n;

	for (m = 0; m < columns; m++)
		for (n = 0; n < n_columns; n++)
			assert_true(psum_f(state, m, 0)[n] ==
				    chain(weight, columns, moving, n_columns, terms, m, n));
}

static void product(void **state, unsigned int a, unsigned int b)
{
	enum { K = 96, M = 40, N = 150 };
	static float weight[K * M], moving[K * N];
	const struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, K, STATIONARY, a, M)),
		OP(MATMUL, .dst = ap_psum(0, M, 0, F32, N),
		   .src0 = ap_sbuf(0, K, MOVING, b, N)),
	};

	put_tile(state, STATIONARY, a, K, M, weight);
	put_tile(state, MOVING, b, K, N, moving);
	good_all(state, TENSOR, program, 2);
	expect_product(state, weight, M, moving, N, K);
}

static void multiplies_all_types(void **state)
{
	static const unsigned int narrow[] = { BF16, F16, E3, E4, E5 };
	unsigned int i, j;

	for (i = 0; i < 5; i++)
		for (j = 0; j < 5; j++)
			product(state, narrow[i], narrow[j]);
	product(state, F32, TF32);
	product(state, TF32, TF32);
	product(state, TF32, F32);
}

static void refuse_pair(void **state, unsigned int a, unsigned int b)
{
	const struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, STATIONARY, a, 8)),
		OP(MATMUL, .dst = ap_psum(0, 8, 0, F32, 8),
		   .src0 = ap_sbuf(0, 32, MOVING, b, 8)),
	};
	struct neuron_hw_completion record = run(*state, TENSOR, program, 2);

	assert_int_equal(record.status, NEURON_JOB_ERROR);
	assert_int_equal(record.cause, NEURON_CAUSE_OPERAND);
	assert_int_equal(record.pc, 1);
}

static void wide_types_stay_among_themselves(void **state)
{
	refuse_pair(state, F32, BF16);
	refuse_pair(state, E4, TF32);
	refuse_pair(state, BF16, F32);
	bad(state, TENSOR, OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, 0, I8, 8)),
	    NEURON_CAUSE_OPERAND);
}

/* --- double rows --- */

static struct neuron_ap pairs(unsigned int partitions, uint32_t offset,
			      unsigned int dtype, unsigned int n)
{
	return ap_dim(ap_sbuf(0, partitions, offset, dtype, n), 1, 2, (int)n);
}

static void double_rows(void **state)
{
	enum { K = 128, M = 64, N = 300 };
	static float weight[2 * K * M], moving[2 * K * N];
	const struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .mode = MODE(DOUBLE_ROW),
		   .src0 = pairs(K, STATIONARY, E4, M)),
		OP(MATMUL, .mode = MODE(DOUBLE_ROW), .dst = ap_psum(0, M, 0, F32, N),
		   .src0 = pairs(K, MOVING, E5, N)),
	};

	put_tile(state, STATIONARY, E4, K, 2 * M, weight);
	put_tile(state, MOVING, E5, K, 2 * N, moving);
	good_all(state, TENSOR, program, 2);
	/* Partition k has terms 2k and 2k + 1: the lines of weight and moving. */
	expect_product(state, weight, M, moving, N, 2 * K);
}

static void double_rows_are_fp8(void **state)
{
	bad(state, TENSOR, OP(LOAD_STATIONARY, .mode = MODE(DOUBLE_ROW),
			      .src0 = pairs(32, 0, BF16, 8)), NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_STATIONARY, .mode = MODE(DOUBLE_ROW),
			      .src0 = pairs(32, 0, E3, 8)), NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_STATIONARY, .mode = MODE(DOUBLE_ROW),
			      .src0 = ap_sbuf(0, 32, 0, E4, 16)), NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_STATIONARY, .mode = MODE(DOUBLE_ROW),
			      .src0 = pairs(32, 0, E4, 129)), NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_STATIONARY, .mode = MODE(DOUBLE_ROW) | MODE(ARRAY),
			      .imm0 = neuron_array_put((struct neuron_array) { 0, 64, 0, 64 }),
			      .src0 = pairs(32, 0, E4, 8)), NEURON_CAUSE_OPERAND);
}

/* --- parts --- */

static struct neuron_inst in_part(struct neuron_inst inst, struct neuron_array place)
{
	inst.mode |= MODE(ARRAY);
	inst.imm0 = neuron_array_put(place);
	return inst;
}

/* Four operands side by side in the array; each is used after all are loaded. */
static void parts_are_independent(void **state)
{
	enum { K = 32, M = 32, N = 16, PARTS = 4 };
	static float weight[PARTS][K * M], moving[K * N];
	struct neuron_inst program[2 * PARTS];
	unsigned int i, m, n;

	put_tile(state, MOVING, BF16, K, N, moving);
	for (i = 0; i < PARTS; i++) {
		struct neuron_array place = {
			.row = (uint8_t)(32 * i), .rows = 32,
			.col = (uint8_t)(96 - 32 * i), .cols = 32,
		};
		uint32_t at = STATIONARY + i * 2 * M;

		put_tile(state, at, BF16, K, M, weight[i]);
		program[i] = in_part(OP(LOAD_STATIONARY,
					.src0 = ap_sbuf(0, K, at, BF16, M)), place);
		program[PARTS + i] = in_part(OP(MATMUL,
						.dst = ap_psum(32 * i, M, 0, F32, N),
						.src0 = ap_sbuf(0, K, MOVING, BF16, N)),
					     place);
	}
	good_all(state, TENSOR, program, 2 * PARTS);
	for (i = 0; i < PARTS; i++)
		for (m = 0; m < M; m++)
			for (n = 0; n < N; n++)
				assert_true(psum_f(state, 32 * i + m, 0)[n] ==
					    chain(weight[i], M, moving, N, K, m, n));
}

static void loading_over_a_part_ends_it(void **state)
{
	const struct neuron_array quarter = { 64, 64, 0, 64 };
	const struct neuron_inst matmul = OP(MATMUL, .dst = ap_psum(0, 8, 0, F32, 8),
					     .src0 = ap_sbuf(0, 32, MOVING, BF16, 8));
	const struct neuron_inst load = OP(LOAD_STATIONARY,
					   .src0 = ap_sbuf(0, 32, STATIONARY, BF16, 8));
	struct neuron_inst program[3] = { in_part(load, quarter), load,
					  in_part(matmul, quarter) };
	struct neuron_hw_completion record = run(*state, TENSOR, program, 3);

	assert_int_equal(record.cause, NEURON_CAUSE_OPERAND);
	assert_int_equal(record.pc, 2);
	/* Nor does a part serve as the whole. */
	program[1] = matmul;
	record = run(*state, TENSOR, program, 2);
	assert_int_equal(record.cause, NEURON_CAUSE_OPERAND);
	assert_int_equal(record.pc, 1);
}

static void parts_have_their_limits(void **state)
{
	const struct neuron_array part = { 32, 32, 96, 32 };

	bad(state, TENSOR, in_part(OP(LOAD_STATIONARY,
				      .src0 = ap_sbuf(0, 33, 0, BF16, 8)), part),
	    NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, in_part(OP(LOAD_STATIONARY,
				      .src0 = ap_sbuf(0, 32, 0, BF16, 33)), part),
	    NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, in_part(OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, 0, BF16, 8)),
				   (struct neuron_array) { 16, 32, 0, 32 }),
	    NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, in_part(OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, 0, BF16, 8)),
				   (struct neuron_array) { 0, 96, 0, 32 }),
	    NEURON_CAUSE_OPERAND);
}

/* Old values in PSUM, or zeros. */
static void fill_psum(void **state, unsigned int dtype, unsigned int m, unsigned int n, float step)
{
	unsigned int p, i;
	float value;

	for (p = 0; p < m; p++)
		for (i = 0; i < n; i++) {
			value = step * (float)(1 + (p + i) % 9);
			trn_from_fp32((uint8_t *)psum_f(state, p, 0) + i * trn_dtype_size(dtype),
				      &value, dtype, 1);
		}
}

/*
 * What was written is added to, the rest replaced: as two products would do it, one that
 * adds and one that does not.
 */
static void adds_to_what_is_written(void **state, unsigned int dtype, unsigned int n,
				    struct neuron_written written)
{
	enum { K = 32, M = 40 };
	static uint8_t sums[M][8192 * 4], plain[M][8192 * 4];
	size_t size = trn_dtype_size(dtype), line = n * size, i;
	struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, K, STATIONARY, BF16, M)),
		OP(MATMUL, .dst = ap_psum(0, M, 0, dtype, n),
		   .src0 = ap_sbuf(0, K, MOVING, BF16, n)),
	};
	unsigned int p;

	for (p = 0; p < K; p++)
		for (i = 0; i < MOVING / 2 + n; i++)
			((uint16_t *)sbuf_f(state, p, 0))[i] = (uint16_t)(0x3f00 + rnd(256));
	good_all(state, TENSOR, program, 2);
	for (p = 0; p < M; p++)
		memcpy(plain[p], psum_f(state, p, 0), line);
	fill_psum(state, dtype, M, n, 64.0f);
	program[1].flags = NEURON_INST_ACCUMULATE;
	good_all(state, TENSOR, program, 2);
	for (p = 0; p < M; p++)
		memcpy(sums[p], psum_f(state, p, 0), line);

	fill_psum(state, dtype, M, n, 64.0f);
	program[1].flags = 0;
	program[1].mode = MODE(WRITTEN);
	program[1].addr = neuron_written_put(written);
	good_all(state, TENSOR, program, 2);
	for (p = 0; p < M; p++)
		for (i = 0; i < n; i++) {
			bool added = p >= written.line && p < written.line + written.lines &&
				     i >= written.first && i < written.first + written.count;

			assert_memory_equal((uint8_t *)psum_f(state, p, 0) + i * size,
					    (added ? sums : plain)[p] + i * size, size);
		}
}

static void destinations_may_be_partly_written(void **state)
{
	adds_to_what_is_written(state, F32, 300, (struct neuron_written) { 8, 16, 0, 300 });
	adds_to_what_is_written(state, F32, 300, (struct neuron_written) { 0, 40, 100, 57 });
	adds_to_what_is_written(state, F32, 300, (struct neuron_written) { 39, 1, 299, 1 });
	adds_to_what_is_written(state, F32, 512, (struct neuron_written) { 0, 40, 0, 512 });
}

/* More columns than are worked on at a time, and sums that are rounded. */
static void long_destinations_may_be_partly_written(void **state)
{
	adds_to_what_is_written(state, F32, 2000, (struct neuron_written) { 3, 30, 400, 1200 });
	adds_to_what_is_written(state, BF16, 1100, (struct neuron_written) { 0, 1, 527, 3 });
}

static void refuses_bad_parts(void **state)
{
	struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, STATIONARY, BF16, 40)),
		OP(MATMUL, .mode = MODE(WRITTEN), .dst = ap_psum(0, 40, 0, F32, 100),
		   .src0 = ap_sbuf(0, 32, MOVING, BF16, 100)),
	};
	static const struct neuron_written wrong[] = {
		{ 0, 41, 0, 100 }, { 40, 1, 0, 1 }, { 0, 40, 0, 101 }, { 0, 40, 100, 1 },
		{ 0, 0, 0, 100 }, { 0, 40, 0, 0 },
	};
	unsigned int i;

	program[1].addr = neuron_written_put((struct neuron_written) { 39, 1, 99, 1 });
	good_all(state, TENSOR, program, 2);
	program[1].flags = NEURON_INST_ACCUMULATE;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	program[1].flags = 0;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		program[1].addr = neuron_written_put(wrong[i]);
		assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	}
	/* Without the flag there is nothing in addr. */
	program[1].mode = 0;
	program[1].addr = neuron_written_put((struct neuron_written) { 0, 40, 0, 100 });
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
}

static void small_parts_come_with_v3(void **state)
{
	const struct neuron_inst load = OP(LOAD_STATIONARY,
					   .src0 = ap_sbuf(0, 32, 0, BF16, 8));

	good(state, TENSOR, in_part(load, (struct neuron_array) { 64, 64, 0, 128 }));
	bad(state, TENSOR, in_part(load, (struct neuron_array) { 0, 32, 0, 128 }),
	    NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_STATIONARY, .mode = MODE(DOUBLE_ROW),
			      .src0 = pairs(32, 0, E4, 8)), NEURON_CAUSE_OPERAND);
}

/* --- transposition --- */

static void identity(void **state, unsigned int dtype, unsigned int n)
{
	float line[128];
	unsigned int k;

	for (k = 0; k < n; k++) {
		memset(line, 0, sizeof(line));
		line[k] = 1.0f;
		trn_from_fp32(sbuf_f(state, k, MOVING), line, dtype, n);
	}
}

static void transpose_bits(void **state, unsigned int dtype, unsigned int result)
{
	enum { K = 60, M = 100 };
	unsigned int size = trn_dtype_size(dtype), out = trn_dtype_size(result);
	/* The rows are named by floats, whatever is transposed. */
	unsigned int ones = trn_dtype_is_float(dtype) ? dtype : BF16;
	const struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .flags = NEURON_INST_TRANSPOSE,
		   .src0 = ap_sbuf(0, K, STATIONARY, dtype, M)),
		OP(MATMUL, .flags = NEURON_INST_TRANSPOSE,
		   .dst = ap_psum(0, M, 0, result, K),
		   .src0 = ap_sbuf(0, K, MOVING, ones, K)),
	};
	unsigned int k, m, i;

	for (k = 0; k < K; k++)
		for (i = 0; i < M * size; i++)
			((uint8_t *)sbuf_f(state, k, STATIONARY))[i] = (uint8_t)rnd(256);
	identity(state, ones, K);
	good_all(state, TENSOR, program, 2);
	for (k = 0; k < K; k++)
		for (m = 0; m < M; m++) {
			uint32_t from = 0, to = 0;

			memcpy(&from, (uint8_t *)sbuf_f(state, k, STATIONARY) + m * size, size);
			memcpy(&to, (uint8_t *)psum_f(state, m, 0) + k * out, out);
			assert_int_equal(from, to);
		}
}

/* NaN with any payload, infinities, denormals: any bits. */
static void transposes_any_bits(void **state)
{
	transpose_bits(state, F32, F32);
	transpose_bits(state, BF16, BF16);
	transpose_bits(state, F16, F16);
	transpose_bits(state, E4, NEURON_DTYPE_UINT16);
}

static void transposes_integers(void **state)
{
	transpose_bits(state, I8, NEURON_DTYPE_UINT16);
	transpose_bits(state, U8, NEURON_DTYPE_UINT16);
	transpose_bits(state, NEURON_DTYPE_INT16, NEURON_DTYPE_INT16);
	transpose_bits(state, U16, U16);
	transpose_bits(state, I32, I32);
	transpose_bits(state, NEURON_DTYPE_UINT32, NEURON_DTYPE_UINT32);
}

static void transposes_packed_ones(void **state)
{
	transpose_bits(state, NEURON_DTYPE_FP8_E5_X4, NEURON_DTYPE_FP8_E5_X4);
	transpose_bits(state, NEURON_DTYPE_FP4_E2_X4, NEURON_DTYPE_FP4_E2_X4);
	transpose_bits(state, NEURON_DTYPE_E8M0, NEURON_DTYPE_UINT16);
}

/* A product has floats only, and so has what names the rows; nothing has 64 bits. */
static void multiplies_no_integers(void **state)
{
	struct neuron_inst program[2] = {
		OP(LOAD_STATIONARY, .flags = NEURON_INST_TRANSPOSE,
		   .src0 = ap_sbuf(0, 32, STATIONARY, I32, 8)),
		OP(MATMUL, .flags = NEURON_INST_TRANSPOSE, .dst = ap_psum(0, 8, 0, I32, 32),
		   .src0 = ap_sbuf(0, 32, MOVING, BF16, 32)),
	};

	identity(state, BF16, 32);
	good_all(state, TENSOR, program, 2);
	program[1].dst.dtype = F32;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	program[1].dst.dtype = I32;
	program[1].src0.dtype = NEURON_DTYPE_INT16;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	program[0].src0.dtype = NEURON_DTYPE_INT64;
	bad(state, TENSOR, program[0], NEURON_CAUSE_OPERAND);
	program[0].src0.dtype = I32;
	program[0].flags = 0;
	bad(state, TENSOR, program[0], NEURON_CAUSE_OPERAND);
}

static void transposes_by_a_permutation_only(void **state)
{
	const struct neuron_inst load = OP(LOAD_STATIONARY, .flags = NEURON_INST_TRANSPOSE,
					   .src0 = ap_sbuf(0, 32, STATIONARY, BF16, 8));
	struct neuron_inst program[2] = {
		load, OP(MATMUL, .flags = NEURON_INST_TRANSPOSE,
			 .dst = ap_psum(0, 8, 0, BF16, 32),
			 .src0 = ap_sbuf(0, 32, MOVING, BF16, 32)),
	};
	uint16_t *line = (void *)sbuf_f(state, 3, MOVING);

	identity(state, BF16, 32);
	good_all(state, TENSOR, program, 2);
	line[3] = 0x4000;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	line[3] = 0;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	line[3] = 0x3f80;
	line[4] = 0x3f80;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	/* A zero of either sign is none. */
	line[4] = 0x8000;
	line[31] = 0x8000;
	good_all(state, TENSOR, program, 2);
	program[1].dst.dtype = F32;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
}

/* --- sparse --- */

static void sparse(void **state, unsigned int ratio)
{
	enum { K = 64, M = 24, N = 40 };
	static float weight[K * M], moving[K * 4 * N];
	static uint8_t tag[K][M];
	const struct neuron_inst program[] = {
		OP(LOAD_SPARSE, .src0 = ap_sbuf(0, K, STATIONARY, BF16, M),
		   .src1 = ap_sbuf(0, K, TAGS, U16, M / 4)),
		OP(MATMUL_SPARSE, .imm1 = ratio, .dst = ap_psum(0, M, 0, F32, N),
		   .src0 = ap_dim(ap_sbuf(0, K, MOVING, BF16, N), 1, ratio, N)),
	};
	unsigned int k, m, n;

	put_tile(state, STATIONARY, BF16, K, M, weight);
	put_tile(state, MOVING, BF16, K, ratio * N, moving);
	for (k = 0; k < K; k++) {
		uint16_t *tags = (void *)sbuf_f(state, k, TAGS);

		memset(tags, 0, M / 2);
		for (m = 0; m < M; m++) {
			tag[k][m] = (uint8_t)rnd(4 * ratio);
			tags[m / 4] |= (uint16_t)(tag[k][m] << m % 4 * 4);
		}
	}
	good_all(state, TENSOR, program, 2);
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++) {
			float sum = 0.0f;

			for (k = 0; k < K; k++) {
				unsigned int p = k / 4 * 4 + tag[k][m] % 4;

				sum = trn_fma(weight[k * M + m],
					      moving[(p * ratio + tag[k][m] / 4) * N + n],
					      sum);
			}
			assert_true(psum_f(state, m, 0)[n] == sum);
		}
}

static void multiplies_sparse_operands(void **state)
{
	unsigned int ratio;

	for (ratio = 2; ratio <= 4; ratio++)
		sparse(state, ratio);
}

static void tags_stay_inside(void **state)
{
	const struct neuron_inst program[] = {
		OP(LOAD_SPARSE, .src0 = ap_sbuf(0, 32, STATIONARY, BF16, 4),
		   .src1 = ap_sbuf(0, 32, TAGS, U16, 1)),
		OP(MATMUL_SPARSE, .imm1 = 2, .dst = ap_psum(0, 4, 0, F32, 8),
		   .src0 = ap_dim(ap_sbuf(0, 32, MOVING, BF16, 8), 1, 2, 8)),
	};
	unsigned int k;

	for (k = 0; k < 32; k++)
		*(uint16_t *)(void *)sbuf_f(state, k, TAGS) = 0x7654;
	good_all(state, TENSOR, program, 2);
	*(uint16_t *)(void *)sbuf_f(state, 31, TAGS) = 0x8000;
	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_SPARSE, .src0 = ap_sbuf(0, 30, STATIONARY, BF16, 4),
			      .src1 = ap_sbuf(0, 30, TAGS, U16, 1)),
	    NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_SPARSE, .src0 = ap_sbuf(0, 32, STATIONARY, F32, 4),
			      .src1 = ap_sbuf(0, 32, TAGS, U16, 1)),
	    NEURON_CAUSE_OPERAND);
}

/* --- NeuronCore-v4 --- */

/* Any codes but NaN, with scales around 1; widened to terms of their own. */
static void put_mx(void **state, size_t offset, size_t scales, unsigned int dtype,
		   unsigned int partitions, unsigned int n, unsigned int first,
		   float *terms)
{
	unsigned int size = trn_dtype_size(dtype), p, i;
	uint8_t codes[512];

	for (p = 0; p < partitions; p++)
		for (i = 0; i < n; i++)
			((uint8_t *)sbuf_f(state, p, scales))[i] = (uint8_t)(120 + rnd(15));
	for (p = 0; p < partitions; p++) {
		uint8_t *line = (uint8_t *)sbuf_f(state, p, offset);
		unsigned int group = p / 32 * 32 + first + p % 32 / 8;

		for (i = 0; i < n * size; i++)
			line[i] = (uint8_t)(rnd(2) << 7 | rnd(0x70));
		memcpy(codes, sbuf_f(state, group, scales), n);
		trn_mx_widen(terms + 4 * p * n, n, line, dtype, codes, n);
	}
}

static void mx(void **state, unsigned int a, unsigned int b, unsigned int first)
{
	enum { K = 96, M = 32, N = 200 };
	static float weight[4 * K * M], moving[4 * K * N];
	const struct neuron_inst program[] = {
		OP(LOAD_MX, .imm1 = first, .src0 = ap_sbuf(0, K, STATIONARY, a, M),
		   .src1 = ap_sbuf(0, K, SCALES, U8, M)),
		OP(MATMUL_MX, .imm1 = first, .dst = ap_psum(0, M, 0, F32, N),
		   .src0 = ap_sbuf(0, K, MOVING, b, N),
		   .src1 = ap_sbuf(0, K, SCALES + 0x400, NEURON_DTYPE_E8M0, N)),
	};

	put_mx(state, STATIONARY, SCALES, a, K, M, first, weight);
	put_mx(state, MOVING, SCALES + 0x400, b, K, N, first, moving);
	good_all(state, TENSOR, program, 2);
	expect_product(state, weight, M, moving, N, 4 * K);
}

static void multiplies_mx_operands(void **state)
{
	mx(state, NEURON_DTYPE_FP8_E4FN_X4, NEURON_DTYPE_FP8_E4FN_X4, 0);
	mx(state, NEURON_DTYPE_FP8_E5_X4, NEURON_DTYPE_FP8_E4FN_X4, 12);
	mx(state, NEURON_DTYPE_FP4_E2_X4, NEURON_DTYPE_FP8_E5_X4, 4);
}

static void mx_operands_have_rules(void **state)
{
	struct neuron_inst load = OP(LOAD_MX,
				     .src0 = ap_sbuf(0, 64, 0, NEURON_DTYPE_FP8_E5_X4, 8),
				     .src1 = ap_sbuf(0, 64, SCALES, U8, 8));
	struct neuron_inst inst = load;

	good(state, TENSOR, load);
	inst.imm1 = 2;
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	inst.imm1 = 16;
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	inst = load;
	inst.src0.dtype = E5;
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	inst = load;
	inst.src1.dtype = NEURON_DTYPE_INT8;
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	inst = load;
	inst.src0.partitions = 48;
	inst.src1.partitions = 48;
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	inst = load;
	inst.src0.num[0] = 7;
	inst.src1.num[0] = 7;
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, in_part(load, (struct neuron_array) { 0, 64, 0, 64 }),
	    NEURON_CAUSE_OPERAND);
	good(state, TENSOR, in_part(load, (struct neuron_array) { 64, 64, 0, 128 }));
}

/* The sum is fp32 and is rounded once more where it is stored. */
static void results_of_bf16(void **state)
{
	enum { K = 32, M = 8, N = 24 };
	static float weight[K * M], moving[K * N];
	const struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, K, STATIONARY, BF16, M)),
		OP(MATMUL, .dst = ap_psum(0, M, 0, BF16, N),
		   .src0 = ap_sbuf(0, K, MOVING, BF16, N)),
		OP(MATMUL, .flags = NEURON_INST_ACCUMULATE, .dst = ap_psum(0, M, 0, BF16, N),
		   .src0 = ap_sbuf(0, K, MOVING, BF16, N)),
	};
	unsigned int m, n;

	put_tile(state, STATIONARY, BF16, K, M, weight);
	put_tile(state, MOVING, BF16, K, N, moving);
	good_all(state, TENSOR, program, 3);
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++) {
			float sum = chain(weight, M, moving, N, K, m, n), old;
			uint16_t once, twice;

			trn_from_fp32(&once, &sum, BF16, 1);
			trn_to_fp32(&old, &once, BF16, 1);
			sum = old + sum;
			trn_from_fp32(&twice, &sum, BF16, 1);
			assert_int_equal(((uint16_t *)(void *)psum_f(state, m, 0))[n], twice);
		}
}

static void long_results_come_with_v4(void **state)
{
	const struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, STATIONARY, E4FN, 8)),
		OP(MATMUL, .dst = ap_psum(0, 8, 0, F32, 4096),
		   .src0 = ap_sbuf(0, 32, MOVING, E4FN, 4096)),
		OP(MATMUL, .dst = ap_psum(0, 8, 0, BF16, 8192),
		   .src0 = ap_sbuf(0, 32, MOVING, E4FN, 8192)),
	};

	good_all(state, TENSOR, program, 3);
	refuse_pair(state, E4, E4FN);
	refuse_pair(state, E4FN, E4);
}

static void v3_has_none_of_it(void **state)
{
	const struct neuron_inst program[] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, STATIONARY, BF16, 8)),
		OP(MATMUL, .dst = ap_psum(0, 8, 0, BF16, 8),
		   .src0 = ap_sbuf(0, 32, MOVING, BF16, 8)),
	};

	assert_int_equal(run(*state, TENSOR, program, 2).cause, NEURON_CAUSE_OPERAND);
	bad(state, TENSOR, OP(LOAD_MX, .src0 = ap_sbuf(0, 32, 0, NEURON_DTYPE_FP8_E5_X4, 8),
			      .src1 = ap_sbuf(0, 32, SCALES, U8, 8)),
	    NEURON_CAUSE_OPCODE);
	bad(state, TENSOR, OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, 0, E4FN, 8)),
	    NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup, multiplies_all_types),
		EXEC_TEST(exec_setup, wide_types_stay_among_themselves),
		EXEC_TEST(exec_setup, double_rows),
		EXEC_TEST(exec_setup, double_rows_are_fp8),
		EXEC_TEST(exec_setup, parts_are_independent),
		EXEC_TEST(exec_setup, loading_over_a_part_ends_it),
		EXEC_TEST(exec_setup, parts_have_their_limits),
		EXEC_TEST(exec_setup, transposes_any_bits),
		EXEC_TEST(exec_setup, destinations_may_be_partly_written),
		EXEC_TEST(exec_setup_trn3, long_destinations_may_be_partly_written),
		EXEC_TEST(exec_setup, refuses_bad_parts),
		EXEC_TEST(exec_setup, transposes_integers),
		EXEC_TEST(exec_setup_trn3, transposes_packed_ones),
		EXEC_TEST(exec_setup, multiplies_no_integers),
		EXEC_TEST(exec_setup, transposes_by_a_permutation_only),
		EXEC_TEST(exec_setup, multiplies_sparse_operands),
		EXEC_TEST(exec_setup, tags_stay_inside),
		EXEC_TEST(exec_setup, v3_has_none_of_it),
		EXEC_TEST(exec_setup_trn1, small_parts_come_with_v3),
		EXEC_TEST(exec_setup_trn3, multiplies_mx_operands),
		EXEC_TEST(exec_setup_trn3, mx_operands_have_rules),
		EXEC_TEST(exec_setup_trn3, results_of_bf16),
		EXEC_TEST(exec_setup_trn3, long_results_come_with_v4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
