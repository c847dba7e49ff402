// SPDX-License-Identifier: MIT
/*
 * Logarithm, sine, arc tangent and power.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "act_rig.h"
#include "num/trn_num.h"
#include "num/trn_num_fn.h"

#define POWERS	2000000

static long double log_oracle(float x)
{
	return logl(x);
}

/* Outside [-pi, pi] no sine, but the two terms that the manual names. */
static long double sin_oracle(float x)
{
	long double past = fabsl((long double)x) - acosl(-1.0L);
	long double y;

	if (past <= 0.0L)
		return sinl(x);
	y = past * past * past / 6.0L - past;
	return x < 0.0f ? -y : y;
}

static long double arctan_oracle(float x)
{
	return atanl(x);
}

static const struct act_measured measured[] = {
	{ "log", NEURON_ACT_LOG, log_oracle, 0.500001, 0x700204ea12a58fa4 },
	{ "sin", NEURON_ACT_SIN, sin_oracle, 0.500001, 0x2922db00b314acfe },
	{ "arctan", NEURON_ACT_ARCTAN, arctan_oracle, 0.500001, 0x35f40488e616bfa7 },
};

static void test_log_special(void **state)
{
	const float inf = INFINITY;

	(void)state;
	assert_act(LOG, 1.0f, 0.0f);
	assert_act(LOG, 0.0f, -inf);
	assert_act(LOG, -0.0f, -inf);
	assert_act(LOG, inf, inf);
	assert_act(LOG, -inf, NAN);
	assert_act(LOG, -0x1p-149f, NAN);
	assert_act(LOG, -1.0f, NAN);
	assert_act(LOG, 0x1p-149f, -0x1.9d1da0p6f);
	assert_act(LOG, 0x1.000002p0f, 0x1.fffffep-24f);
}

static void test_sin_special(void **state)
{
	(void)state;
	assert_act(SIN, 0.0f, 0.0f);
	assert_act(SIN, -0.0f, -0.0f);
	assert_act(SIN, 0x1p-149f, 0x1p-149f);
	assert_act(SIN, 0x1.921fb6p0f, 1.0f);
	assert_act(SIN, -0x1.921fb6p0f, -1.0f);
	/* The numbers beside pi. */
	assert_act(SIN, 0x1.921fb4p1f, 0x1.4442d2p-23f);
	assert_act(SIN, 0x1.921fb6p1f, -0x1.777a5cp-24f);
	/* The value that the public documentation names. */
	assert_true(fabsf(act_one(NEURON_ACT_SIN, 9.0f) - 27.65f) < 0.01f);
	assert_act(SIN, INFINITY, INFINITY);
	assert_act(SIN, -1e30f, -INFINITY);
	act_check_odd(NEURON_ACT_SIN, 20000);
}

static void test_arctan_special(void **state)
{
	(void)state;
	assert_act(ARCTAN, 0.0f, 0.0f);
	assert_act(ARCTAN, -0.0f, -0.0f);
	assert_act(ARCTAN, 0x1p-149f, 0x1p-149f);
	assert_act(ARCTAN, 1.0f, 0x1.921fb6p-1f);
	assert_act(ARCTAN, INFINITY, 0x1.921fb6p0f);
	assert_act(ARCTAN, -INFINITY, -0x1.921fb6p0f);
	assert_act(ARCTAN, 1e30f, 0x1.921fb6p0f);
	act_check_odd(NEURON_ACT_ARCTAN, 20000);
}

static float power(float x, float y)
{
	return num_float(num_canon_bits(trn_power_fp32(x, y)));
}

/* What pow of IEEE 754 and of C says of every pair of edges. */
static void test_power_special(void **state)
{
	size_t i, j;
	float x, y;

	(void)state;
	for (i = 0; i < num_nr_edges; i++) {
		for (j = 0; j < num_nr_edges; j++) {
			/* Quiet: libm may treat a signalling NaN in its own way. */
			x = num_float(num_canon_bits(num_float(num_edges[i])));
			y = num_float(num_canon_bits(num_float(num_edges[j])));
			if (act_ulps(power(x, y), powl(x, y)) > 0.500001)
				print_error("%a to the power of %a: %a\n", x, y, power(x, y));
			assert_true(act_ulps(power(x, y), powl(x, y)) <= 0.500001);
			assert_int_equal(!signbit(power(x, y)), isnan(power(x, y)) ||
					 !signbit(powf(x, y)));
		}
	}
	assert_true(power(-1.0f, INFINITY) == 1.0f);
	assert_true(power(NAN, 0.0f) == 1.0f);
	assert_true(power(1.0f, NAN) == 1.0f);
	assert_true(power(-3.0f, 3.0f) == -27.0f);
	assert_true(power(-3.0f, 2.0f) == 9.0f);
	assert_true(isnan(power(-3.0f, 2.5f)));
	assert_true(power(2.0f, -149.0f) == 0x1p-149f);
}

/* Operands whose power is a number, not zero or infinity. */
static void random_power(uint64_t *seed, float *x, float *y)
{
	float size = num_float(1 + num_random(seed) % 0x7f7fffff);

	if (num_random(seed) & 1)
		size = num_float(0x3f800000 + (int32_t)num_random(seed) % 0x100000);
	*x = size;
	*y = num_random_near_one(seed) * 0.5f * 140.0f / log2f(size);
	if (num_random(seed) % 4)
		return;
	*y = rintf(*y);
	*x = -size;
}

static void test_power_error(void **state)
{
	double error, worst = 0.0;
	uint64_t seed = 19;
	unsigned int i;
	float x, y;

	(void)state;
	for (i = 0; i < POWERS; i++) {
		random_power(&seed, &x, &y);
		error = act_ulps(power(x, y), powl(x, y));
		worst = error > worst ? error : worst;
		if (error > 0.500001)
			print_error("%a to the power of %a: %a\n", x, y, power(x, y));
	}
	print_message("power: largest error %.9f ulp\n", worst);
	assert_true(worst <= 0.500001 && worst > 0.49);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_special),
		cmocka_unit_test(test_sin_special),
		cmocka_unit_test(test_arctan_special),
		cmocka_unit_test(test_power_special),
		cmocka_unit_test(test_power_error),
		ACT_ERROR_TEST(measured[0]),
		ACT_ERROR_TEST(measured[1]),
		ACT_ERROR_TEST(measured[2]),
	};

	return cmocka_run_group_tests_name("act-trig", tests, NULL, NULL);
}
