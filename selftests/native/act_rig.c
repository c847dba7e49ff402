// SPDX-License-Identifier: MIT
#include "act_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "num/trn_num.h"

/* Distance of the bit patterns at which functions are measured; a prime. */
#define SAMPLE_STEP	1021u
#define CHUNK		4096

double act_ulps(float got, long double want)
{
	int exponent;

	if (isnan(want) || isnan(got))
		return isnan(want) && num_bits(got) == NUM_NAN_BITS ? 0.0 : INFINITY;
	if (isinf(want))
		return got == want ? 0.0 : INFINITY;
	if (isinf(got))
		return copysignl(want, got) >= 0x1.ffffffp127L ||
		       copysignl(want, got) <= -0x1.ffffffp127L ? 0.0 : INFINITY;
	frexpl(want, &exponent);
	if (exponent < -125 || want == 0.0L)
		exponent = -125;
	return (double)fabsl(ldexpl((long double)got - want, 24 - exponent));
}

static double worst_of_chunk(const struct act_measured *m, const float *x,
			     const float *y, size_t n)
{
	double error, worst = 0.0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (isnan(x[i])) {
			assert_int_equal(num_bits(y[i]), NUM_NAN_BITS);
			continue;
		}
		if (isinf(x[i]))
			continue;
		error = act_ulps(y[i], m->oracle(x[i]));
		if (error > m->bound)
			print_error("%s(%a) = %a\n", m->name, x[i], y[i]);
		worst = error > worst ? error : worst;
	}
	return worst;
}

void act_test_error(void **state)
{
	const struct act_measured *m = *state;
	static float x[CHUNK], y[CHUNK];
	uint64_t bits = 0, hash = 0;
	double error, worst = 0.0;
	size_t n;

	while (bits <= UINT32_MAX) {
		for (n = 0; n < CHUNK && bits <= UINT32_MAX; n++, bits += SAMPLE_STEP)
			x[n] = num_float(bits);
		trn_act(m->func, y, x, 1.0f, 0.0f, 0.0f, n);
		error = worst_of_chunk(m, x, y, n);
		worst = error > worst ? error : worst;
		hash = num_hash(hash, y, n);
	}
	print_message("%s: largest error %.9f ulp, hash %#llx\n", m->name, worst,
		      (unsigned long long)hash);
	assert_true(worst <= m->bound);
	assert_true(m->bound == 0.0 || worst > 0.49);
	assert_true(hash == m->hash);
}

/* The term of power 6 is below 2^-60 of the first at this distance. */
#define BESIDE_ROOT	2000
#define ROOT_BOUND	0.500001

void act_test_root(void **state)
{
	const struct act_root *root = *state;
	uint32_t bits = num_bits((float)root->high) - BESIDE_ROOT, end = bits + 2 * BESIDE_ROOT;
	double error, worst = 0.0;

	for (; bits <= end; bits++) {
		long double past = num_float(bits) - root->high - root->low, want = 0.0L;
		int i;

		for (i = NUM_COUNT(root->term); i > 0; i--)
			want = (want + root->term[i - 1]) * past;
		error = act_ulps(act_one(root->func, num_float(bits)), want);
		worst = error > worst ? error : worst;
	}
	print_message("largest error beside the root %.9f ulp\n", worst);
	assert_true(worst <= ROOT_BOUND && worst > 0.49);
}

float act_one(unsigned int func, float x)
{
	float y;

	trn_act(func, &y, &x, 1.0f, -0.0f, 0.0f, 1);
	return y;
}

static void check_symmetry(unsigned int func, unsigned int n, uint32_t flip)
{
	uint64_t seed = 17;
	float x, y, mirrored;

	while (n--) {
		x = num_random_bits(&seed);
		if (isnan(x))
			continue;
		y = act_one(func, x);
		mirrored = act_one(func, -x);
		if (isnan(y))
			assert_true(isnan(mirrored));
		else
			assert_int_equal(num_bits(mirrored), num_bits(y) ^ flip);
	}
}

void act_check_odd(unsigned int func, unsigned int n)
{
	check_symmetry(func, n, 0x80000000u);
}

void act_check_even(unsigned int func, unsigned int n)
{
	check_symmetry(func, n, 0);
}
