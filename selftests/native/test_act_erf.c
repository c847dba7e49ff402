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
#include "trn_num.h"

static long double gelu_oracle(float x)
{
	return 0.5L * x * erfcl(-(long double)x / sqrtl(2.0L));
}

static const struct act_measured measured[] = {
	{ "gelu", NEURON_ACT_GELU, gelu_oracle, 0.500001, 0xf7ae2a3799e81da7 },
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gelu_special),
		ACT_ERROR_TEST(measured[0]),
	};

	return cmocka_run_group_tests_name("act-erf", tests, NULL, NULL);
}
