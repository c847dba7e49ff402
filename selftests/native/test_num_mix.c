// SPDX-License-Identifier: MIT
/*
 * Operators that convert, or follow one another, in one loop: on every path the bits
 * that the single steps give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#define LENGTH	150	/* more than two blocks, and a tail */
#define ROUNDS	300
#define BF16	NEURON_DTYPE_BF16

static const char *const paths[] = { "scalar", "avx2", "avx512" };

struct operands {
	uint16_t a[LENGTH], b[LENGTH];
	float x[LENGTH];
	float s0, s1;
	size_t n;
};

static float number(uint64_t *seed)
{
	return num_random(seed) % 2 ? num_random_bits(seed) : num_random_mixed(seed);
}

static void fill(struct operands *o, uint64_t *seed)
{
	unsigned int i;

	for (i = 0; i < LENGTH; i++) {
		o->a[i] = (uint16_t)num_random(seed);
		o->b[i] = i % 3 ? (uint16_t)num_random(seed) : o->a[i];
		o->x[i] = number(seed);
	}
	o->s0 = number(seed);
	o->s1 = number(seed);
	o->n = 1 + num_random(seed) % LENGTH;
}

/* dst and a as @mix says, by single steps on the scalar path. */
static void steps(enum trn_mix mix, unsigned int op, void *dst, const struct operands *o)
{
	float x[LENGTH], y[LENGTH];

	trn_num_force_path("scalar");
	if (mix == TRN_MIX_NARROW)
		memcpy(x, o->x, sizeof(x));
	else
		trn_to_fp32(x, o->a, BF16, o->n);
	if (mix == TRN_MIX_BF16_PAIR) {
		trn_to_fp32(y, o->b, BF16, o->n);
		trn_alu_vv(op, x, x, y, o->n);
	} else {
		trn_alu_vs(op, x, x, o->s0, false, o->n);
	}
	if (mix == TRN_MIX_WIDEN)
		memcpy(dst, x, o->n * sizeof(float));
	else
		trn_from_fp32(dst, x, BF16, o->n);
}

static void check_mix(const struct operands *o, enum trn_mix mix, unsigned int op)
{
	const void *a = mix == TRN_MIX_NARROW ? (const void *)o->x : o->a;
	uint8_t want[4 * LENGTH + 4], got[4 * LENGTH + 4];
	unsigned int i;

	memset(want, 0x5a, sizeof(want));
	steps(mix, op, want, o);
	for (i = 0; i < NUM_COUNT(paths); i++) {
		if (!trn_num_force_path(paths[i]))
			continue;
		memset(got, 0x5a, sizeof(got));
		trn_mix(mix, op, got, a, o->b, o->s0, o->n);
		if (memcmp(got, want, sizeof(got)))
			fail_msg("%s: mix %u, operator %u, %zu elements", paths[i], mix, op,
				 o->n);
	}
}

static void mixed_operators_are_single_steps(void **state)
{
	uint64_t seed = 0x1234567;
	unsigned int round, op, nr = 0;
	struct operands o;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		fill(&o, &seed);
		for (op = 0; op < 256; op++) {
			if (!trn_mix_has(op))
				continue;
			nr++;
			check_mix(&o, TRN_MIX_BF16_PAIR, op);
			check_mix(&o, TRN_MIX_BF16, op);
			check_mix(&o, TRN_MIX_WIDEN, op);
			check_mix(&o, TRN_MIX_NARROW, op);
		}
	}
	assert_int_equal(nr, 12 * ROUNDS);
	trn_num_force_path(NULL);
}

static void check_pair(const struct operands *o, bool narrow, unsigned int op0,
		       unsigned int op1)
{
	const void *src = narrow ? (const void *)o->a : o->x;
	size_t bytes = o->n * (narrow ? sizeof(uint16_t) : sizeof(float));
	float x[LENGTH], want[LENGTH], got[LENGTH];
	unsigned int i;

	trn_num_force_path("scalar");
	trn_to_fp32(x, src, narrow ? BF16 : NEURON_DTYPE_FP32, o->n);
	trn_alu_vs(op0, x, x, o->s0, false, o->n);
	trn_alu_vs(op1, x, x, o->s1, false, o->n);
	trn_from_fp32(want, x, narrow ? BF16 : NEURON_DTYPE_FP32, o->n);
	for (i = 0; i < NUM_COUNT(paths); i++) {
		if (!trn_num_force_path(paths[i]))
			continue;
		/* In place. */
		memcpy(got, src, bytes);
		trn_pair(narrow, op0, op1, got, got, o->s0, o->s1, o->n);
		if (memcmp(got, want, bytes))
			fail_msg("%s: operators %u and %u, %zu elements of %s", paths[i], op0,
				 op1, o->n, narrow ? "bf16" : "fp32");
	}
}

static void pairs_of_operators_are_single_steps(void **state)
{
	uint64_t seed = 0x7654321;
	unsigned int round, op0, op1, nr = 0;
	struct operands o;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		fill(&o, &seed);
		for (op0 = 0; op0 < 32; op0++)
			for (op1 = 0; op1 < 32; op1++) {
				if (!trn_pair_has(op0, op1))
					continue;
				nr++;
				check_pair(&o, false, op0, op1);
				check_pair(&o, true, op0, op1);
			}
	}
	assert_int_equal(nr, 25 * ROUNDS);
	trn_num_force_path(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed_operators_are_single_steps),
		cmocka_unit_test(pairs_of_operators_are_single_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
