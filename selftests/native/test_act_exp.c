// SPDX-License-Identifier: MIT
/*
 * Activation functions that are made of exp.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "act_rig.h"
#include "trn_num.h"

static long double exp_oracle(float x)
{
	return expl(x);
}

static const struct act_measured measured[] = {
	{ "exp", NEURON_ACT_EXP, exp_oracle, 0.500001, 0x1409f4dc8c2a425c },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exp_special),
		ACT_ERROR_TEST(measured[0]),
	};

	return cmocka_run_group_tests_name("act-exp", tests, NULL, NULL);
}
