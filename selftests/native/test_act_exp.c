// SPDX-License-Identifier: MIT
/*
 * exp, and the functions made of it that bend one way.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "act_rig.h"
#include "num/trn_num.h"

static long double sigmoid(long double x)
{
	return 1.0L / (1.0L + expl(-x));
}

static long double exp_oracle(float x)
{
	return expl(x);
}

static long double sigmoid_oracle(float x)
{
	return sigmoid(x);
}

static long double tanh_oracle(float x)
{
	return tanhl(x);
}

static long double softplus(long double x)
{
	return x > 0.0L ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static long double softplus_oracle(float x)
{
	return softplus(x);
}

#define MEASURED(func, oracle, hash)					\
	{ #oracle, NEURON_ACT_##func, oracle##_oracle, 0.500001, hash }

static const struct act_measured measured[] = {
	MEASURED(EXP, exp, 0x1409f4dc8c2a425c),
	MEASURED(SIGMOID, sigmoid, 0x42a813eb26dbe762),
	MEASURED(TANH, tanh, 0xf00c91b8145a766a),
	MEASURED(SOFTPLUS, softplus, 0xe1292dcb5c63451e),
};

static void test_exp_special(void **state)
{
	const float inf = INFINITY;

	(void)state;
	assert_act(EXP, 0.0f, 1.0f);
	assert_act(EXP, -0.0f, 1.0f);
	assert_act(EXP, inf, inf);
	assert_act(EXP, -inf, 0.0f);
	assert_act(EXP, 0x1.62e43p6f, inf);
	assert_act(EXP, 1e30f, inf);
	assert_act(EXP, -1e30f, 0.0f);
}

static void test_sigmoid_special(void **state)
{
	const float inf = INFINITY, small = 0x1.fffffep-100f;

	(void)state;
	assert_act(SIGMOID, 0.0f, 0.5f);
	assert_act(SIGMOID, -0.0f, 0.5f);
	assert_act(SIGMOID, small, 0.5f);
	assert_act(SIGMOID, inf, 1.0f);
	assert_act(SIGMOID, -inf, 0.0f);
	assert_act(SIGMOID, -103.9f, 0x1p-149f);
	assert_act(SOFTPLUS, 0.0f, 0x1.62e430p-1f);
	assert_act(SOFTPLUS, inf, inf);
	assert_act(SOFTPLUS, -inf, 0.0f);
	assert_act(SOFTPLUS, 1e30f, 1e30f);
	assert_act(SOFTPLUS, -1e30f, 0.0f);
	assert_act(TANH, 0.0f, 0.0f);
	assert_act(TANH, -0.0f, -0.0f);
	assert_act(TANH, small, small);
	assert_act(TANH, 0x1p-149f, 0x1p-149f);
	assert_act(TANH, inf, 1.0f);
	assert_act(TANH, -inf, -1.0f);
	assert_act(TANH, 9.1f, 1.0f);
	act_check_odd(NEURON_ACT_TANH, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exp_special),
		cmocka_unit_test(test_sigmoid_special),
		ACT_ERROR_TEST(measured[0]),
		ACT_ERROR_TEST(measured[1]),
		ACT_ERROR_TEST(measured[2]),
		ACT_ERROR_TEST(measured[3]),
	};

	return cmocka_run_group_tests_name("act-exp", tests, NULL, NULL);
}
