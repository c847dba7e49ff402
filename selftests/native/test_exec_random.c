// SPDX-License-Identifier: MIT
/*
 * Random numbers: the generators against their definition, what is made of the words.
 */
#include "lanes_rig.h"

#include <math.h>
#include <string.h>

#define N	1500		/* more than a piece of a line */
#define P	32
#define OUT	0x0
#define DATA	0x4000
#define COL	0x8000
#define COL1	0x8100
#define STATES	0x8200

/* --- a model --- */

static uint32_t mix(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = (x ^ (x >> 13)) * 0xc2b2ae35u;
	return x ^ (x >> 16);
}

/* State @s of a lane as seed @seed leaves it; @first as the manual says. */
static void model_seed(uint32_t state[6], uint32_t first, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < 6; i++)
		state[i] = mix(mix(first + i + 1) ^ seed);
}

/* Marsaglia, Xorshift RNGs, section 3.1: x, y, z, w, v and the counter d. */
static uint32_t model_next(uint32_t *s)
{
	uint32_t t = s[0] ^ (s[0] >> 2), i;

	for (i = 0; i < 4; i++)
		s[i] = s[i + 1];
	s[4] = (s[4] ^ (s[4] << 4)) ^ (t ^ (t << 1));
	s[5] += 362437;
	return s[5] + s[4];
}

/* The words of lane @lane of the vector engine: element i from state i % 4. */
static void model_lane(uint32_t *word, unsigned int n, unsigned int lane, uint32_t seed)
{
	uint32_t state[4][6];
	unsigned int i;

	for (i = 0; i < 4; i++)
		model_seed(state[i], lane * 24 + i * 6, seed);
	for (i = 0; i < n; i++)
		word[i] = model_next(state[i % 4]);
}

/* --- trn2 --- */

static void set_seed(void **state, uint32_t seed)
{
	memcpy(sbuf_f(state, 0, COL), &seed, 4);
}

static struct neuron_inst seed_inst(void)
{
	return OP(SET_RNG_SEED, .src0 = ap_sbuf(0, 1, COL, NEURON_DTYPE_UINT32, 1));
}

static struct neuron_inst rng(unsigned int first, unsigned int dtype, unsigned int n)
{
	return OP(RNG, .dst = ap_sbuf(first, P, OUT, dtype, n));
}

static void words_are_those_of_the_definition(void **state)
{
	const struct neuron_inst program[] = {
		seed_inst(), rng(32, NEURON_DTYPE_UINT32, N - 4), rng(64, U16, 8), rng(64, U8, 8),
	};
	uint32_t want[N];
	unsigned int p;

	set_seed(state, 0x12345678);
	good_all(state, VECTOR, program, 4);
	for (p = 0; p < P; p++) {
		model_lane(want, N - 4, 32 + p, 0x12345678);
		assert_memory_equal(sbuf_f(state, 32 + p, OUT), want, (N - 4) * 4);
		/* The second one goes on; the low bits count. */
		model_lane(want, 16, 64 + p, 0x12345678);
		assert_int_equal(((uint8_t *)sbuf_f(state, 64 + p, OUT))[3], (uint8_t)want[11]);
		assert_int_equal(((uint16_t *)sbuf_f(state, 64 + p, OUT))[6], (uint16_t)want[6]);
	}
}

/* Without a seed it is 0, in every job. */
static void a_job_begins_with_seed_0(void **state)
{
	struct neuron_inst inst = rng(0, NEURON_DTYPE_UINT32, 16);
	uint32_t want[16], gpsimd[6];
	unsigned int round, p, i;

	for (round = 0; round < 2; round++) {
		good(state, VECTOR, inst);
		for (p = 0; p < P; p++) {
			model_lane(want, 16, p, 0);
			assert_memory_equal(sbuf_f(state, p, OUT), want, 64);
		}
		good(state, GPSIMD, inst);
		for (p = 0; p < P; p++) {
			model_seed(gpsimd, 4096 + p * 6, 0);
			for (i = 0; i < 16; i++)
				assert_int_equal(((uint32_t *)sbuf_f(state, p, OUT))[i],
						 model_next(gpsimd));
		}
	}
}

static void every_lane_has_its_own_words(void **state)
{
	const struct neuron_inst program[] = {
		seed_inst(),
		OP(RNG, .dst = ap_sbuf(0, 128, OUT, NEURON_DTYPE_UINT32, 8)),
	};
	uint32_t want[8], gpsimd[6];
	unsigned int p, i;

	set_seed(state, 99);
	good_all(state, VECTOR, program, 2);
	for (p = 0; p < 128; p++) {
		model_lane(want, 8, p, 99);
		assert_memory_equal(sbuf_f(state, p, OUT), want, sizeof(want));
	}
	good(state, GPSIMD, program[1]);
	for (p = 0; p < 128; p++) {
		model_seed(gpsimd, 4096 + p * 6, 0);
		for (i = 0; i < 8; i++)
			assert_int_equal(((uint32_t *)sbuf_f(state, p, OUT))[i],
					 model_next(gpsimd));
	}
}

static void drops(void **state)
{
	static const float probs[] = { 0.0f, 0.25f, 0.5f, 1.0f };
	struct neuron_inst program[] = {
		seed_inst(),
		OP(DROPOUT, .dst = ap_sbuf(0, P, OUT, F32, N),
		   .src0 = ap_sbuf(0, P, DATA, F32, N)),
	};
	unsigned int k, p, i;
	uint32_t word[N];

	for (k = 0; k < 5; k++) {
		lanes_fill(state, P, DATA, N);
		memcpy(sbuf_f(state, 3, DATA) + 4, &(uint32_t){ 0x7f812345 }, 4);
		set_seed(state, k);
		if (k < 4) {
			program[1].imm0 = f32(probs[k]);
		} else {
			program[1].imm0 = 0;
			program[1].mode = NEURON_INST_COL0 >> 8;
			program[1].col0 = COL1;
			for (p = 0; p < P; p++)
				*sbuf_f(state, p, COL1) = (float)p / 31.0f;
		}
		good_all(state, VECTOR, program, 2);
		for (p = 0; p < P; p++) {
			float prob = k < 4 ? probs[k] : *sbuf_f(state, p, COL1);

			model_lane(word, N, p, k);
			for (i = 0; i < N; i++) {
				bool zero = ldexpf((float)(word[i] >> 8), -24) < prob;

				assert_int_equal(f32(sbuf_f(state, p, OUT)[i]), zero ? 0 :
						 f32(sbuf_f(state, p, DATA)[i]));
				if (k == 0 || k == 3)
					assert_int_equal(zero, k == 3);
			}
		}
	}
}

static void gpsimd_states(void **state)
{
	struct neuron_ap states = ap_sbuf(32, P, STATES, NEURON_DTYPE_UINT32, 6);
	const struct neuron_inst program[] = {
		OP(RAND_SET_STATE, .src0 = states),
		rng(32, NEURON_DTYPE_UINT32, 5),
		OP(RAND_GET_STATE, .dst = states),
	};
	uint32_t model[P][6];
	unsigned int p, i;

	for (p = 0; p < P; p++) {
		for (i = 0; i < 6; i++)
			model[p][i] = rnd(0x7fffffff);
		memcpy(sbuf_f(state, 32 + p, STATES), model[p], 24);
	}
	good_all(state, GPSIMD, program, 3);
	for (p = 0; p < P; p++) {
		for (i = 0; i < 5; i++)
			assert_int_equal(((uint32_t *)sbuf_f(state, 32 + p, OUT))[i],
					 model_next(model[p]));
		assert_memory_equal(sbuf_f(state, 32 + p, STATES), model[p], 24);
	}
}

static void refuses_what_there_is_not(void **state)
{
	struct neuron_inst seed = seed_inst(), drop, inst;

	bad(state, VECTOR, rng(0, F32, 4), NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, OP(RNG, .dst = ap_psum(0, P, 0, I32, 4)), NEURON_CAUSE_OPERAND);
	bad(state, SCALAR, rng(0, I32, 4), NEURON_CAUSE_OPCODE);
	seed.src0.partitions = 2;
	bad(state, VECTOR, seed, NEURON_CAUSE_OPERAND);
	seed.src0 = ap_sbuf(0, 1, COL, NEURON_DTYPE_UINT32, 2);
	bad(state, VECTOR, seed, NEURON_CAUSE_OPERAND);
	seed.src0 = ap_sbuf(0, 1, COL, U16, 1);
	bad(state, VECTOR, seed, NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, seed_inst(), NEURON_CAUSE_OPCODE);
	drop = OP(DROPOUT, .dst = ap_sbuf(0, P, OUT, F32, 8),
		  .src0 = ap_sbuf(0, P, DATA, F32, 7));
	bad(state, VECTOR, drop, NEURON_CAUSE_OPERAND);
	drop.src0 = ap_sbuf(0, P, DATA, I32, 8);
	bad(state, VECTOR, drop, NEURON_CAUSE_OPERAND);
	/* The vector engine's states come with v4, as rand2 does. */
	inst = OP(RAND_GET_STATE, .dst = ap_sbuf(0, P, OUT, NEURON_DTYPE_UINT32, 24));
	bad(state, VECTOR, inst, NEURON_CAUSE_OPCODE);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst.dst = ap_sbuf(0, P, OUT, I32, 6);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(RAND2, .dst = ap_sbuf(0, P, OUT, F32, 4)),
	    NEURON_CAUSE_OPCODE);
}

/* --- trn1 --- */

static void trn1_has_one_generator(void **state)
{
	good(state, VECTOR, rng(0, I32, 4));
	bad(state, GPSIMD, rng(0, I32, 4), NEURON_CAUSE_OPCODE);
	bad(state, GPSIMD, OP(RAND_GET_STATE,
			      .dst = ap_sbuf(0, P, OUT, NEURON_DTYPE_UINT32, 6)),
	    NEURON_CAUSE_OPCODE);
}

/* --- trn3 --- */

static void vector_states(void **state)
{
	struct neuron_ap states = ap_sbuf(0, P, STATES, NEURON_DTYPE_UINT32, 24);
	const struct neuron_inst program[] = {
		OP(RAND_SET_STATE, .src0 = states),
		rng(0, NEURON_DTYPE_UINT32, 6),
		OP(RAND_GET_STATE, .dst = states),
	};
	uint32_t model[P][4][6];
	unsigned int p, i;

	for (p = 0; p < P; p++) {
		for (i = 0; i < 24; i++)
			model[p][i / 6][i % 6] = rnd(0x7fffffff);
		memcpy(sbuf_f(state, p, STATES), model[p], 96);
	}
	good_all(state, VECTOR, program, 3);
	for (p = 0; p < P; p++) {
		for (i = 0; i < 6; i++)
			assert_int_equal(((uint32_t *)sbuf_f(state, p, OUT))[i],
					 model_next(model[p][i % 4]));
		assert_memory_equal(sbuf_f(state, p, STATES), model[p], 96);
	}
	bad(state, VECTOR, OP(RAND_SET_STATE,
			      .src0 = ap_psum(0, P, 0, NEURON_DTYPE_UINT32, 24)),
	    NEURON_CAUSE_OPERAND);
	good(state, VECTOR, OP(RAND_GET_STATE,
			       .dst = ap_psum(0, P, 0, NEURON_DTYPE_UINT32, 24)));
}

static void uniform_numbers(void **state)
{
	struct neuron_inst program[] = {
		seed_inst(),
		OP(RAND2, .dst = ap_sbuf(0, P, OUT, F32, N), .imm0 = f32(-2.0f),
		   .mode = NEURON_INST_COL1 >> 8, .col1 = COL1),
	};
	uint32_t word[N];
	unsigned int p, i;

	set_seed(state, 7);
	for (p = 0; p < P; p++)
		*sbuf_f(state, p, COL1) = (float)p;
	good_all(state, VECTOR, program, 2);
	for (p = 0; p < P; p++) {
		model_lane(word, N, p, 7);
		for (i = 0; i < N; i++) {
			float range = (float)p - -2.0f, x;

			x = (float)(word[i] >> 8) / 16777216.0f * range;
			lanes_expect(sbuf_f(state, p, OUT)[i], -2.0f + x, p, i);
		}
	}
	program[1].col1 = COL1 + 2;
	bad(state, VECTOR, program[1], NEURON_CAUSE_ACCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup_trn1, trn1_has_one_generator),
		EXEC_TEST(exec_setup, words_are_those_of_the_definition),
		EXEC_TEST(exec_setup, a_job_begins_with_seed_0),
		EXEC_TEST(exec_setup, every_lane_has_its_own_words),
		EXEC_TEST(exec_setup, drops),
		EXEC_TEST(exec_setup, gpsimd_states),
		EXEC_TEST(exec_setup, refuses_what_there_is_not),
		EXEC_TEST(exec_setup_trn3, vector_states),
		EXEC_TEST(exec_setup_trn3, uniform_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
