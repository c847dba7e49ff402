// SPDX-License-Identifier: MIT
/*
 * Data that changes partitions, and the quantising of groups that several share.
 */
#include "lanes_rig.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "num/trn_num.h"

#define N	300		/* more than a piece of a quadrant */
#define DATA	0x0
#define OUT	0x2000
#define SCALE	0x6000

static void fill_words(void **state)
{
	unsigned int p, i;

	for (p = 0; p < 128; p++)
		for (i = 0; i < N; i++) {
			uint32_t word = p << 24 | i << 8 | (p ^ i) % 256;

			memcpy(sbuf_f(state, p, DATA) + i, &word, 4);
			memset(sbuf_f(state, p, OUT) + i, 0xee, 4);
		}
}

static struct neuron_inst shuffle(struct neuron_ap dst, struct neuron_ap src,
				  const uint8_t *mask)
{
	struct neuron_inst inst = OP(STREAM_SHUFFLE, .dst = dst, .src0 = src);

	memcpy((uint8_t *)&inst + offsetof(struct neuron_inst, src1), mask,
	       NEURON_INST_MASK);
	return inst;
}

static void random_mask(uint8_t *mask)
{
	unsigned int i;

	for (i = 0; i < 32; i++)
		mask[i] = rnd(5) ? (uint8_t)rnd(32) : 255;
}

static void shuffles_quadrants(void **state)
{
	static const struct {
		unsigned int dst, src, count;
	} where[] = { { 0, 0, 128 }, { 64, 0, 64 }, { 96, 32, 32 }, { 32, 96, 20 } };
	unsigned int k, p, in_place;
	uint8_t mask[32];

	for (k = 0; k < 8; k++) {
		unsigned int dst = where[k / 2].dst, src = where[k / 2].src;
		unsigned int full = (where[k / 2].count + 31) / 32 * 32;
		static uint8_t before[128][N * 4];

		in_place = k < 2 && k % 2;
		random_mask(mask);
		fill_words(state);
		for (p = 0; p < 128; p++)
			memcpy(before[p], sbuf_f(state, p, DATA), N * 4);
		good(state, VECTOR, shuffle(ap_sbuf(dst, where[k / 2].count,
						    in_place ? DATA : OUT, F32, N),
					    ap_sbuf(src, full, DATA, F32, N), mask));
		for (p = 0; p < where[k / 2].count; p++) {
			const float *out = sbuf_f(state, dst + p, in_place ? DATA : OUT);
			const uint8_t *want = before[src + p / 32 * 32 + mask[p % 32] % 32];
			static uint8_t untouched[N * 4];

			memset(untouched, 0xee, sizeof(untouched));
			if (mask[p % 32] == 255)
				want = in_place ? before[p] : untouched;
			assert_memory_equal(out, want, N * 4);
		}
	}
}

static void refuses_bad_shuffles(void **state)
{
	uint8_t mask[32] = { 0 };
	struct neuron_ap dst = ap_sbuf(0, 32, OUT, F32, N);
	struct neuron_ap src = ap_sbuf(0, 32, DATA, F32, N);
	struct neuron_ap other;

	good(state, VECTOR, shuffle(dst, src, mask));
	mask[5] = 32;
	bad(state, VECTOR, shuffle(dst, src, mask), NEURON_CAUSE_OPERAND);
	mask[5] = 254;
	bad(state, VECTOR, shuffle(dst, src, mask), NEURON_CAUSE_OPERAND);
	/* A partition that the source does not have. */
	mask[5] = 20;
	bad(state, VECTOR, shuffle(dst, ap_sbuf(0, 20, DATA, F32, N), mask),
	    NEURON_CAUSE_OPERAND);
	good(state, VECTOR, shuffle(dst, ap_sbuf(0, 21, DATA, F32, N), mask));
	good(state, VECTOR, shuffle(ap_sbuf(0, 5, OUT, F32, N),
				    ap_sbuf(0, 20, DATA, F32, N), mask));
	mask[5] = 0;
	/* The larger tile says where both may begin. */
	bad(state, VECTOR, shuffle(ap_sbuf(0, 64, OUT, F32, N),
				   ap_sbuf(32, 32, DATA, F32, N), mask),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, shuffle(ap_sbuf(32, 32, OUT, F32, N),
				   ap_sbuf(0, 64, DATA, F32, N), mask),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, shuffle(ap_sbuf(64, 64, OUT, F32, N),
				   ap_sbuf(0, 96, DATA, F32, N), mask),
	    NEURON_CAUSE_OPERAND);
	other = dst;
	other.dtype = I32;
	bad(state, VECTOR, shuffle(other, src, mask), NEURON_CAUSE_OPERAND);
	other = dst;
	other.num[0]--;
	bad(state, VECTOR, shuffle(other, src, mask), NEURON_CAUSE_OPERAND);
	/* Overlapping, but not in place. */
	bad(state, VECTOR, shuffle(ap_sbuf(0, 32, DATA + 4, F32, N), src, mask),
	    NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, shuffle(dst, src, mask), NEURON_CAUSE_OPCODE);
}

static void transposes(void **state)
{
	static const struct {
		unsigned int p, f, dtype, size;
	} shapes[] = {
		{ 32, 32, F32, 4 }, { 32, 1, F32, 4 }, { 1, 32, BF16, 2 },
		{ 7, 30, U8, 1 }, { 20, 31, BF16, 2 },
	};
	unsigned int k, p, i;

	for (k = 0; k < 5; k++) {
		unsigned int size = shapes[k].size;

		fill_words(state);
		good(state, VECTOR, OP(TRANSPOSE,
				       .dst = ap_sbuf(64, shapes[k].f, OUT, shapes[k].dtype,
						      shapes[k].p),
				       .src0 = ap_sbuf(32, shapes[k].p, DATA, shapes[k].dtype,
						       shapes[k].f)));
		for (p = 0; p < shapes[k].p; p++)
			for (i = 0; i < shapes[k].f; i++)
				assert_memory_equal(sbuf_f(state, 64 + i, OUT + p * size),
						    sbuf_f(state, 32 + p, DATA + i * size),
						    size);
	}
}

static void transposes_in_place_and_refuses(void **state)
{
	struct neuron_inst inst = OP(TRANSPOSE, .dst = ap_sbuf(0, 32, DATA, F32, 32),
				     .src0 = ap_sbuf(0, 32, DATA, F32, 32));
	struct neuron_inst wrong;
	uint32_t word;

	fill_words(state);
	good(state, VECTOR, inst);
	memcpy(&word, sbuf_f(state, 3, DATA) + 17, 4);
	assert_int_equal(word, 17u << 24 | 3 << 8 | (17 ^ 3));
	wrong = inst;
	wrong.dst.dtype = I32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0.num[0] = 33;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.dst.num[0] = 31;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(TRANSPOSE, .dst = ap_sbuf(0, 32, OUT, F32, 64),
			      .src0 = ap_sbuf(0, 64, DATA, F32, 32)),
	    NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPCODE);
	bad(state, VECTOR, OP(QUANTIZE_MX, .dst = inst.dst, .src0 = inst.src0,
			      .src1 = inst.dst), NEURON_CAUSE_OPCODE);
}

/* --- trn3 --- */

#define GROUPS	70		/* more than a piece */
#define F	(4 * GROUPS)

static struct neuron_inst quantize(unsigned int partitions, unsigned int src,
				   unsigned int dst, unsigned int row)
{
	return OP(QUANTIZE_MX, .dst = ap_sbuf(0, partitions, OUT, dst, GROUPS),
		  .src0 = ap_sbuf(0, partitions, DATA, src, F),
		  .src1 = ap_sbuf(0, partitions, SCALE, NEURON_DTYPE_E8M0, GROUPS),
		  .imm0 = row);
}

static void fill_halves(void **state, unsigned int dtype)
{
	float line[F];
	unsigned int p, i;

	for (p = 0; p < 128; p++) {
		for (i = 0; i < F; i++)
			line[i] = i / 32 ? ((float)rnd(2001) - 1000.0f) / 64.0f : lanes_random();
		trn_from_fp32(sbuf_f(state, p, DATA), line, dtype, F);
		memset(sbuf_f(state, p, SCALE), 0xee, GROUPS);
	}
}

/* 2^(e - 127), by its definition. */
static double scale_value(unsigned int code)
{
	return ldexp(1.0, (int)code - 127);
}

/* One group: the scale, and that each code is the number nearest to x / X. */
static void expect_group(void **state, unsigned int p, unsigned int g, unsigned int src,
			 unsigned int dst, unsigned int row)
{
	const uint8_t *scales = (uint8_t *)sbuf_f(state, p / 32 * 32 + row + p % 32 / 8, SCALE);
	unsigned int emax = dst == NEURON_DTYPE_FP8_E5_X4 ? 15 : 8, r, j;
	unsigned int element = dst == NEURON_DTYPE_FP8_E5_X4 ? NEURON_DTYPE_FP8_E5 :
							       NEURON_DTYPE_FP8_E4FN;
	float x[8][4], amax = 0.0f;
	int exponent;

	for (r = 0; r < 8; r++) {
		trn_to_fp32(x[r], (uint16_t *)sbuf_f(state, p + r, DATA) + 4 * g, src, 4);
		for (j = 0; j < 4; j++)
			amax = isnan(x[r][j]) || isnan(amax) ? NAN :
			       fmaxf(amax, fabsf(x[r][j]));
	}
	if (!isfinite(amax)) {
		assert_int_equal(scales[g], 255);
		return;
	}
	frexp((double)amax, &exponent);
	exponent = amax == 0.0f ? 0 : exponent - 1 - (int)(emax - 1) + 127;
	assert_int_equal(scales[g], exponent < 0 ? 0 : exponent);
	for (r = 0; r < 8; r++) {
		const uint8_t *codes = (uint8_t *)sbuf_f(state, p + r, OUT) + 4 * g;
		float scaled[4];
		uint8_t want[4];

		for (j = 0; j < 4; j++)
			scaled[j] = (float)((double)x[r][j] / scale_value(scales[g]));
		trn_from_fp32(want, scaled, element, 4);
		assert_memory_equal(codes, want, 4);
	}
}

static void quantises(void **state)
{
	unsigned int k, p, g;

	for (k = 0; k < 8; k++) {
		unsigned int src = k & 1 ? BF16 : NEURON_DTYPE_FP16;
		unsigned int dst = k & 2 ? NEURON_DTYPE_FP8_E5_X4 : NEURON_DTYPE_FP8_E4FN_X4;
		unsigned int row = k / 2 * 4, partitions = k & 4 ? 128 : 64;
		const uint8_t *scale;

		fill_halves(state, src);
		good(state, VECTOR, quantize(partitions, src, dst, row));
		for (p = 0; p < partitions; p += 8)
			for (g = 0; g < GROUPS; g++)
				expect_group(state, p, g, src, dst, row);
		/* The other partitions of the scales are left alone. */
		for (p = 0; p < 128; p++) {
			scale = (uint8_t *)sbuf_f(state, p, SCALE);
			if (p >= partitions || p % 32 < row || p % 32 >= row + 4)
				assert_int_equal(scale[GROUPS - 1], 0xee);
		}
	}
}

static void refuses_bad_quantisations(void **state)
{
	struct neuron_inst inst = quantize(64, BF16, NEURON_DTYPE_FP8_E4FN_X4, 0), wrong;
	unsigned int row;

	for (row = 1; row < 20; row += 3) {
		wrong = inst;
		wrong.imm0 = row == 4 ? 16 : row;
		bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	}
	wrong = inst;
	wrong.dst.dtype = NEURON_DTYPE_FP4_E2_X4;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.dst.dtype = F32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = quantize(64, F32, NEURON_DTYPE_FP8_E4FN_X4, 0);
	wrong.dst.addr += 0x8000;
	wrong.src1.addr += 0x8000;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1.dtype = I8;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong.src1.dtype = U8;
	good(state, VECTOR, wrong);
	wrong = inst;
	wrong.dst.partitions = 40;
	wrong.src0.partitions = 40;
	wrong.src1.partitions = 40;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1.partitions = 32;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src0.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1.num[0]--;
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.src1 = ap_psum(0, 64, 0, NEURON_DTYPE_E8M0, GROUPS);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	wrong = inst;
	wrong.dst = ap_sbuf(0, 64, DATA, NEURON_DTYPE_FP8_E4FN_X4, GROUPS);
	bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	/* Nothing calculates with the packed types. */
	bad(state, VECTOR, OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ADD, .dst = inst.dst,
			      .src0 = inst.dst, .src1 = inst.dst), NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup, shuffles_quadrants),
		EXEC_TEST(exec_setup, refuses_bad_shuffles),
		EXEC_TEST(exec_setup, transposes),
		EXEC_TEST(exec_setup, transposes_in_place_and_refuses),
		EXEC_TEST(exec_setup_trn3, quantises),
		EXEC_TEST(exec_setup_trn3, refuses_bad_quantisations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
