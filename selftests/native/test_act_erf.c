// SPDX-License-Identifier: MIT
/*
 * Activation functions that are made of the error function.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "act_rig.h"
#include "num/trn_num.h"

static long double gelu_oracle(float x)
{
	return 0.5L * x * erfcl(-(long double)x / sqrtl(2.0L));
}

static long double gelu_dx_oracle(float x)
{
	long double d = x;

	return 0.5L * erfcl(-d / sqrtl(2.0L)) +
	       d * expl(-0.5L * d * d) / sqrtl(2.0L * acosl(-1.0L));
}

static long double erf_oracle(float x)
{
	return erfl(x);
}

static long double erf_dx_oracle(float x)
{
	return 2.0L / sqrtl(acosl(-1.0L)) * expl(-(long double)x * x);
}

static const struct act_measured measured[] = {
	{ "gelu", NEURON_ACT_GELU, gelu_oracle, 0.500001, 0xf7ae2a3799e81da7 },
	{ "gelu_dx", NEURON_ACT_GELU_DX, gelu_dx_oracle, 0.500001, 0xa8a1d6f8ab9c730b },
	{ "erf", NEURON_ACT_ERF, erf_oracle, 0.500001, 0x9d9f3c5af01cc759 },
	{ "erf_dx", NEURON_ACT_ERF_DX, erf_dx_oracle, 0.500001, 0xfc07858f108c448 },
};

static const struct act_root root = {
	NEURON_ACT_GELU_DX, -0x1.80ead197f00b4p-1L, 0x1.13e74c58cada8p-56L, {
		0.4314939923140469197865072L, 0.3882849829905519978580804L,
		-0.01819967639867108710056929L, -0.114008233297221708552437L,
		-0.01477152214824433771783813L
	}
};

static void test_gelu_special(void **state)
{
	const float inf = INFINITY;

	(void)state;
	assert_act(GELU, 0.0f, 0.0f);
	assert_act(GELU, -0.0f, -0.0f);
	assert_act(GELU, inf, inf);
	assert_act(GELU, -inf, -0.0f);
	assert_act(GELU, -20.0f, -0.0f);
	assert_act(GELU, 1e30f, 1e30f);
	assert_act(GELU, 0x1p-140f, 0x1p-141f);
	assert_act(GELU, 0x1.fffffep-100f, 0x1.fffffep-101f);
	assert_act(GELU_DX, 0.0f, 0.5f);
	assert_act(GELU_DX, -0.0f, 0.5f);
	assert_act(GELU_DX, inf, 1.0f);
	assert_act(GELU_DX, 1e30f, 1.0f);
	assert_act(GELU_DX, -inf, -0.0f);
	assert_act(GELU_DX, -1e30f, -0.0f);
}

static void test_erf_special(void **state)
{
	const float inf = INFINITY;

	(void)state;
	assert_act(ERF, 0.0f, 0.0f);
	assert_act(ERF, -0.0f, -0.0f);
	assert_act(ERF, inf, 1.0f);
	assert_act(ERF, -inf, -1.0f);
	assert_act(ERF, 4.0f, 1.0f);
	assert_act(ERF, -1e30f, -1.0f);
	assert_act(ERF, 0x1p-149f, 0x1p-149f);
	assert_act(ERF_DX, 0.0f, 0x1.20dd76p+0f);
	assert_act(ERF_DX, -0.0f, 0x1.20dd76p+0f);
	assert_act(ERF_DX, inf, 0.0f);
	assert_act(ERF_DX, -inf, 0.0f);
	assert_act(ERF_DX, 1e30f, 0.0f);
	act_check_odd(NEURON_ACT_ERF, 20000);
	act_check_even(NEURON_ACT_ERF_DX, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gelu_special),
		cmocka_unit_test(test_erf_special),
		ACT_ROOT_TEST("gelu_dx", root),
		ACT_ERROR_TEST(measured[0]),
		ACT_ERROR_TEST(measured[1]),
		ACT_ERROR_TEST(measured[2]),
		ACT_ERROR_TEST(measured[3]),
	};

	return cmocka_run_group_tests_name("act-erf", tests, NULL, NULL);
}
