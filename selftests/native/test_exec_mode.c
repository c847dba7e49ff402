// SPDX-License-Identifier: MIT
/*
 * How an engine converts numbers: stochastic rounding, the bias of fp8; and reductions
 * that convert nothing.
 */
#include "lanes_rig.h"

#include <stdlib.h>
#include <string.h>

#include "num/trn_num.h"

#define N	1500		/* more than a piece of a line */
#define P	32
#define DATA	0x0
#define OUT	0x4000
#define SEED	77

static struct neuron_inst copy(unsigned int dtype)
{
	return OP(COPY, .dst = ap_sbuf(0, P, OUT, dtype, N),
		  .src0 = ap_sbuf(0, P, DATA, F32, N));
}

static struct neuron_inst rounding(unsigned int how)
{
	return OP(SET_ROUNDING, .imm0 = how, .imm1 = SEED);
}

static void expect_bf16(void **state, const struct trn_num_mode *mode)
{
	uint16_t want[N];
	unsigned int p;

	for (p = 0; p < P; p++) {
		trn_from_fp32_mode(want, sbuf_f(state, p, DATA), BF16, N, mode, p * 65536);
		assert_memory_equal(sbuf_f(state, p, OUT), want, sizeof(want));
	}
}

/* The key: seed, engine, number of the instruction. */
static void rounds_at_random(void **state)
{
	struct trn_num_mode mode = { .rounding = TRN_ROUND_STOCHASTIC };
	struct neuron_inst program[] = {
		OP(NOP, 0), rounding(1), copy(BF16), rounding(0), copy(BF16),
	};
	struct neuron_inst strided = copy(BF16);
	unsigned int i;

	lanes_fill(state, P, DATA, N);
	good_all(state, VECTOR, program, 3);
	mode.sr_key = trn_sr_key(SEED, VECTOR, 2);
	expect_bf16(state, &mode);
	good_all(state, GPSIMD, program + 1, 2);
	mode.sr_key = trn_sr_key(SEED, GPSIMD, 1);
	expect_bf16(state, &mode);
	/* A job begins with the usual rounding; it can be had back. */
	good(state, VECTOR, copy(BF16));
	expect_bf16(state, NULL);
	good_all(state, VECTOR, program, 5);
	expect_bf16(state, NULL);
	/* The shape of a tile does not matter, only the numbers of its elements. */
	strided.dst = ap_dim(ap_dim(strided.dst, 0, 5, 1), 1, N / 5, 6);
	program[2] = strided;
	good_all(state, VECTOR, program, 3);
	mode.sr_key = trn_sr_key(SEED, VECTOR, 2);
	for (i = 0; i < N; i++) {
		uint16_t want;

		trn_from_fp32_mode(&want, sbuf_f(state, 9, DATA) + i, BF16, 1, &mode,
				   9 * 65536 + i);
		assert_int_equal(((uint16_t *)sbuf_f(state, 9, OUT))[i / 5 * 6 + i % 5], want);
	}
}

/* What is added too often to be lost comes through. */
static void small_steps_are_not_lost(void **state)
{
	struct neuron_inst program[64] = { rounding(1) };
	unsigned int i, moved = 0;

	for (i = 1; i < 64; i++)
		program[i] = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_ADD, .imm0 = f32(0.5f),
				.dst = ap_sbuf(0, P, OUT, NEURON_DTYPE_FP16, 1),
				.src0 = ap_sbuf(0, P, OUT, NEURON_DTYPE_FP16, 1));
	for (i = 0; i < P; i++)
		*(uint16_t *)sbuf_f(state, i, OUT) = 0x6800;	/* 2048 */
	good_all(state, VECTOR, program + 1, 63);
	for (i = 0; i < P; i++)
		assert_int_equal(*(uint16_t *)sbuf_f(state, i, OUT), 0x6800);
	good_all(state, VECTOR, program, 64);
	for (i = 0; i < P; i++)
		moved += *(uint16_t *)sbuf_f(state, i, OUT) > 0x6800;
	assert_int_equal(moved, P);
}

static struct neuron_inst biases(int e3, int e4, int e5)
{
	return OP(SET_FP8_BIAS, .imm0 = (uint32_t)e3, .imm1 = (uint32_t)e4,
		  .addr = (uint32_t)e5);
}

static void fp8_has_other_biases(void **state)
{
	static const unsigned int types[] = {
		NEURON_DTYPE_FP8_E3, NEURON_DTYPE_FP8_E4, NEURON_DTYPE_FP8_E5,
	};
	struct trn_num_mode mode = { .fp8_bias = { 3, -4, 63 } };
	unsigned int t, p;

	for (t = 0; t < 3; t++) {
		const struct neuron_inst program[] = {
			biases(3, -4, 63), copy(types[t]),
			OP(COPY, .dst = ap_sbuf(0, P, OUT + 0x2000, F32, N),
			   .src0 = ap_sbuf(0, P, OUT, types[t], N)),
		};

		lanes_fill(state, P, DATA, N);
		good_all(state, VECTOR, program, 3);
		for (p = 0; p < P; p++) {
			uint8_t want[N];
			float back[N];

			trn_from_fp32_mode(want, sbuf_f(state, p, DATA), types[t], N, &mode, 0);
			assert_memory_equal(sbuf_f(state, p, OUT), want, N);
			trn_to_fp32_mode(back, want, types[t], N, &mode);
			assert_memory_equal(sbuf_f(state, p, OUT + 0x2000), back, sizeof(back));
		}
	}
}

/* 1.5 in fp8_e4 is 0x3c; with the bias 1 higher the same number is 0x44. */
static void numbers_of_an_instruction_take_the_bias(void **state)
{
	const struct neuron_inst program[] = {
		biases(0, 1, 0),
		OP(MEMSET, .imm0 = f32(1.5f), .dst = ap_sbuf(0, 1, OUT, NEURON_DTYPE_FP8_E4, 2)),
	};

	good_all(state, VECTOR, program, 2);
	assert_memory_equal(sbuf_f(state, 0, OUT), "\x44\x44", 2);
	good(state, VECTOR, program[1]);
	assert_memory_equal(sbuf_f(state, 0, OUT), "\x3c\x3c", 2);
}

static void refuses_bad_modes(void **state)
{
	struct neuron_inst inst = biases(0, 0, 0);
	struct seq_rig *rig = malloc(sizeof(*rig));

	good(state, VECTOR, biases(-64, 63, 0));
	bad(state, VECTOR, biases(-65, 0, 0), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, biases(0, 64, 0), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, biases(0, 0, 256), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, rounding(2), NEURON_CAUSE_OPERAND);
	good(state, NEURON_ENGINE_SYNC, rounding(1));
	seq_rig_init(rig, &neuron_gen_trn1, 1, 1, false);
	assert_int_equal(run(rig, VECTOR, &inst, 1).cause, NEURON_CAUSE_OPCODE);
	seq_rig_destroy(rig);
	free(rig);
}

/* --- tensor_reduce with a bitwise operator --- */

static struct neuron_inst reduce(unsigned int op, unsigned int dtype, unsigned int outer,
				 unsigned int inner)
{
	struct neuron_ap src = ap_dim(ap_sbuf(0, P, DATA, dtype, 1), 0, inner, 1);

	return OP(TENSOR_REDUCE, .op0 = (uint8_t)op, .imm0 = 1,
		  .dst = ap_sbuf(0, P, OUT, dtype, outer),
		  .src0 = ap_dim(src, 1, outer, (int)inner));
}

static uint32_t element(void **state, unsigned int p, size_t offset, unsigned int size,
			unsigned int i)
{
	uint32_t word = 0;

	memcpy(&word, (uint8_t *)sbuf_f(state, p, offset) + i * size, size);
	return word;
}

static void reduces_bits(void **state)
{
	static const uint8_t ops[] = {
		NEURON_ALU_BITWISE_AND, NEURON_ALU_BITWISE_OR, NEURON_ALU_BITWISE_XOR,
	};
	static const unsigned int types[] = { U8, U16, I32 };
	unsigned int k, p, i, j;

	for (k = 0; k < 18; k++) {
		unsigned int op = ops[k % 3], size = 1u << k / 3 % 3;
		unsigned int outer = k < 9 ? 2 : 700, inner = k < 9 ? 1100 : 3;

		for (p = 0; p < P; p++)
			for (i = 0; i < 2200; i++) {
				uint32_t word = rnd(0x7fffffff) << 1 | rnd(2);

				/* Some bits are mostly set, others mostly clear. */
				word = rnd(600) ? (word | 0x0f0f0f0f) & ~0x50505050u : word;
				memcpy(sbuf_f(state, p, DATA) + i, &word, 4);
			}
		exec_more_operators(state, k % 2 == 0);
		good(state, k % 2 ? VECTOR : GPSIMD,
		     reduce(op, types[k / 3 % 3], outer, inner));
		for (p = 0; p < P; p++)
			for (i = 0; i < outer; i++) {
				uint32_t want = element(state, p, DATA, size, i * inner);

				for (j = 1; j < inner; j++) {
					uint32_t x = element(state, p, DATA, size, i * inner + j);

					want = op == NEURON_ALU_BITWISE_AND ? want & x :
					       op == NEURON_ALU_BITWISE_OR ? want | x : want ^ x;
				}
				assert_int_equal(element(state, p, OUT, size, i), want);
			}
	}
}

static void refuses_bad_reductions_of_bits(void **state)
{
	struct neuron_inst inst = reduce(NEURON_ALU_BITWISE_OR, I32, 2, 4);

	good(state, VECTOR, inst);
	inst.flags = NEURON_INST_NEGATE;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.flags = 0;
	inst.dst.dtype = U16;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.dst.dtype = F32;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, reduce(NEURON_ALU_BITWISE_OR, F32, 2, 4), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, reduce(NEURON_ALU_SHIFT_LEFT, I32, 2, 4), NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_at_random),
		cmocka_unit_test(small_steps_are_not_lost),
		cmocka_unit_test(fp8_has_other_biases),
		cmocka_unit_test(numbers_of_an_instruction_take_the_bias),
		cmocka_unit_test(refuses_bad_modes),
		cmocka_unit_test(reduces_bits),
		cmocka_unit_test(refuses_bad_reductions_of_bits),
	};

	return cmocka_run_group_tests(tests, exec_setup, exec_teardown);
}
