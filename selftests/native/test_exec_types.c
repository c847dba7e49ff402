// SPDX-License-Identifier: MIT
/*
 * Element types in instructions: which NeuronCore has which, casts, and work on fp32
 * where it lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec_rig.h"
#include "num_util.h"
#include "num/trn_num.h"

#define N	3000	/* more than two pieces */

static int setup_trn1(void **state)
{
	return exec_setup_gen(state, &neuron_gen_trn1);
}

static int setup_trn3(void **state)
{
	return exec_setup_gen(state, &neuron_gen_trn3);
}

static void has_its_generations_types(void **state)
{
	unsigned int generation = seq_core(*state, 0, 0)->chip->gen->generation;
	unsigned int type, all = 0;

	for (type = 1; type < NEURON_NR_DTYPES; type++) {
		struct neuron_inst inst = OP(COPY, .dst = ap_sbuf(0, 32, 0x1000, type, 8),
					     .src0 = ap_sbuf(0, 32, 0, type, 8));

		/* What there is can be copied, and numbers are what one can work with. */
		if (trn_dtype_on(type, generation))
			good(state, VECTOR, inst);
		else
			bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
		inst.opcode = NEURON_OP_RECIPROCAL;
		if (trn_dtype_is_number(type) && trn_dtype_on(type, generation)) {
			good(state, VECTOR, inst);
			all++;
		} else {
			bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
		}
	}
	assert_int_equal(all, generation < 4 ? 13 : 14);
}

/* Types that are no numbers: bits move, and nothing is converted. */
static void bits_move(void **state)
{
	static const uint8_t types[] = {
		NEURON_DTYPE_FP8_E5_X4, NEURON_DTYPE_FP8_E4FN_X4, NEURON_DTYPE_FP4_E2_X4,
		NEURON_DTYPE_E8M0, NEURON_DTYPE_INT64, NEURON_DTYPE_UINT64,
	};
	static const enum neuron_engine engines[] = { VECTOR, SCALAR, GPSIMD };
	struct trn_core *core = seq_core(*state, 0, 0);
	const uint8_t *out = seq_sbuf(core, 31, 0x8000);
	uint8_t *in = seq_sbuf(core, 31, 0);
	struct neuron_inst inst;
	size_t k, i, bytes;

	for (k = 0; k < 3 * sizeof(types); k++) {
		bytes = N * trn_dtype_size(types[k / 3]);
		for (i = 0; i < bytes; i++)
			in[i] = (uint8_t)rnd(256);
		inst = OP(COPY, .dst = ap_sbuf(0, 32, 0x8000, types[k / 3], N),
			  .src0 = ap_sbuf(0, 32, 0, types[k / 3], N));
		good(state, engines[k % 3], inst);
		assert_memory_equal(out, in, bytes);
		inst.src0.dtype = F32;
		bad(state, engines[k % 3], inst, NEURON_CAUSE_OPERAND);
		inst.src0.dtype = NEURON_DTYPE_UINT32;
		bad(state, engines[k % 3], inst, NEURON_CAUSE_OPERAND);
	}
}

static void fills_with_bits(void **state)
{
	struct trn_core *core = seq_core(*state, 0, 0);
	const uint8_t *out = seq_sbuf(core, 3, 0x40);
	struct neuron_inst inst;
	unsigned int type;

	for (type = NEURON_DTYPE_FP8_E5_X4; type <= NEURON_DTYPE_FP4_E2_X4; type++) {
		memset(seq_sbuf(core, 3, 0x40), 0x55, 17);
		inst = OP(MEMSET, .dst = ap_sbuf(0, 32, 0x40, type, 4));
		good(state, VECTOR, inst);
		good(state, GPSIMD, inst);
		assert_int_equal(out[4 * trn_dtype_size(type) - 1], 0);
		assert_int_equal(out[4 * trn_dtype_size(type)], 0x55);
		inst.imm0 = 1;
		bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	}
	/* A scale is its code: 127 is 2^0. */
	good(state, VECTOR, OP(MEMSET, .imm0 = 127,
			       .dst = ap_sbuf(0, 32, 0x40, NEURON_DTYPE_E8M0, 4)));
	assert_int_equal(out[3], 127);
	good(state, GPSIMD, OP(MEMSET, .imm0 = (uint32_t)-2,
			       .dst = ap_sbuf(0, 32, 0x40, NEURON_DTYPE_INT64, 2)));
	assert_int_equal(out[8], 0xfe);
	assert_int_equal(out[15], 0xff);
}

static void casts(void **state)
{
	static const float numbers[4] = { 1.0f, -0.3f, 500.0f, 0x1.ffffp0f };
	struct trn_core *core = seq_core(*state, 0, 0);
	static const uint8_t e4[4] = { 0x38, 0xaa, 0x78, 0x40 };
	uint32_t *tf32 = seq_sbuf(core, 0, 0x200);
	float *back = sbuf_f(state, 0, 0x300);

	memcpy(sbuf_f(state, 0, 0), numbers, sizeof(numbers));
	good(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x100, NEURON_DTYPE_FP8_E4, 4),
			       .src0 = ap_sbuf(0, 1, 0, F32, 4)));
	assert_memory_equal(seq_sbuf(core, 0, 0x100), e4, sizeof(e4));
	good(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x200, NEURON_DTYPE_TF32, 4),
			       .src0 = ap_sbuf(0, 1, 0, F32, 4)));
	assert_int_equal(tf32[0], 0x3f800000);
	assert_int_equal(tf32[1], 0xbe99a000);
	assert_int_equal(tf32[3], 0x40000000);
	good(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x300, F32, 4),
			       .src0 = ap_sbuf(0, 1, 0x100, NEURON_DTYPE_FP8_E4, 4)));
	assert_true(back[0] == 1.0f && back[1] == -0.3125f && back[3] == 2.0f);
	assert_int_equal(num_bits(back[2]), 0x7f800000);
}

/* A line of each type, as the reference converts it. */
static void copies_to_every_type(void **state)
{
	static uint8_t want[N * sizeof(float)];
	float *in = sbuf_f(state, 0, 0);
	unsigned int dtype, generation = seq_core(*state, 0, 0)->chip->gen->generation;
	uint64_t seed = 72;
	size_t i;

	for (i = 0; i < N; i++)
		in[i] = i % 3 ? num_random_near_one(&seed) * 1000.0f :
				num_float(num_edges[num_random(&seed) % num_nr_edges]);
	for (dtype = 0; dtype < NEURON_NR_DTYPES; dtype++) {
		/* fp32 to fp32 is a copy of bits. */
		if (!trn_dtype_is_number(dtype) || !trn_dtype_on(dtype, generation) ||
		    dtype == F32)
			continue;
		assert_true(trn_num_force_path("scalar"));
		trn_from_fp32(want, in, dtype, N);
		assert_true(trn_num_force_path(NULL));
		good(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x8000, dtype, N),
				       .src0 = ap_sbuf(0, 1, 0, F32, N)));
		assert_memory_equal(sbuf_f(state, 0, 0x8000), want, N * trn_dtype_size(dtype));
	}
}

/* An operand that is the destination, too, and NaN of any payload. */
static void works_in_place(void **state)
{
	struct neuron_inst inst = OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ADD,
				     .dst = ap_sbuf(0, 1, 0, F32, N),
				     .src0 = ap_sbuf(0, 1, 0, F32, N),
				     .src1 = ap_sbuf(0, 1, 0x8000, F32, N));
	float *a = sbuf_f(state, 0, 0), *b = sbuf_f(state, 0, 0x8000);
	static float want[N];
	uint64_t seed = 71;
	size_t i;

	for (i = 0; i < N; i++) {
		a[i] = num_float(num_edges[num_random(&seed) % num_nr_edges]);
		b[i] = num_random_near_one(&seed);
	}
	trn_alu_vv(NEURON_ALU_ADD, want, a, b, N);
	good(state, VECTOR, inst);
	assert_true(num_first_difference(a, want, N) == NUM_SAME);

	/* One element further: the whole line is read before it is written. */
	trn_alu_vv(NEURON_ALU_ADD, want, a, b, N);
	inst.dst = ap_sbuf(0, 1, 4, F32, N);
	good(state, VECTOR, inst);
	assert_true(num_first_difference(a + 1, want, N) == NUM_SAME);
}

static void powers_are_gpsimds(void **state)
{
	struct neuron_inst inst = OP(TENSOR_TENSOR, .op0 = NEURON_ALU_POWER,
				     .dst = ap_sbuf(0, 1, 0x200, F32, 2),
				     .src0 = ap_sbuf(0, 1, 0, F32, 2),
				     .src1 = ap_sbuf(0, 1, 0x100, F32, 2));
	float *x = sbuf_f(state, 0, 0), *y = sbuf_f(state, 0, 0x100);
	float *out = sbuf_f(state, 0, 0x200);

	x[0] = 2.0f;
	y[0] = 10.0f;
	x[1] = -3.0f;
	y[1] = 3.0f;
	good(state, GPSIMD, inst);
	assert_true(out[0] == 1024.0f && out[1] == -27.0f);
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(has_its_generations_types, setup_trn1,
						exec_teardown),
		cmocka_unit_test_setup_teardown(has_its_generations_types, exec_setup,
						exec_teardown),
		cmocka_unit_test_setup_teardown(has_its_generations_types, setup_trn3,
						exec_teardown),
		cmocka_unit_test_setup_teardown(bits_move, setup_trn3, exec_teardown),
		cmocka_unit_test_setup_teardown(fills_with_bits, setup_trn3, exec_teardown),
		cmocka_unit_test_setup_teardown(casts, exec_setup, exec_teardown),
		cmocka_unit_test_setup_teardown(copies_to_every_type, exec_setup, exec_teardown),
		cmocka_unit_test_setup_teardown(copies_to_every_type, setup_trn3, exec_teardown),
		cmocka_unit_test_setup_teardown(works_in_place, exec_setup, exec_teardown),
		cmocka_unit_test_setup_teardown(powers_are_gpsimds, exec_setup, exec_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
