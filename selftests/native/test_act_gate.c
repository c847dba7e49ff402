// SPDX-License-Identifier: MIT
/*
 * Activation functions that let large operands through and small ones not, and
 * their derivatives.
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

static long double softplus(long double x)
{
	return x > 0.0L ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static long double silu(long double x)
{
	return x * sigmoid(x);
}

static long double silu_dx(long double x)
{
	return sigmoid(x) * (1.0L + x * sigmoid(-x));
}

static long double silu_oracle(float x)
{
	return silu(x);
}

static long double silu_dx_oracle(float x)
{
	return silu_dx(x);
}

static long double gelu_apprx_sigmoid_oracle(float x)
{
	return x * sigmoid(1.702L * x);
}

static long double gelu_apprx_sigmoid_dx_oracle(float x)
{
	return silu_dx(1.702L * x);
}

static long double gelu_apprx_tanh_oracle(float x)
{
	long double d = x;

	return d * sigmoid(2.0L * sqrtl(2.0L / acosl(-1.0L)) * (d + 0.044715L * d * d * d));
}

static long double mish_oracle(float x)
{
	return x * tanhl(softplus(x));
}

#define MEASURED(func, oracle, hash)					\
	{ #oracle, NEURON_ACT_##func, oracle##_oracle, 0.500001, hash }

static const struct act_measured measured[] = {
	MEASURED(SILU, silu, 0x60b8f38e3caf60f8),
	MEASURED(SILU_DX, silu_dx, 0x235c1710f4ac7dbb),
	MEASURED(GELU_APPRX_SIGMOID, gelu_apprx_sigmoid, 0x72ad8e480887293c),
	MEASURED(GELU_APPRX_SIGMOID_DX, gelu_apprx_sigmoid_dx, 0x398ad28dba25855a),
	MEASURED(GELU_APPRX_TANH, gelu_apprx_tanh, 0xc13b6be68bed5efd),
	MEASURED(MISH, mish, 0xacc7c1eb4f5feb98),
};

static const struct act_root roots[] = {
	{
		NEURON_ACT_SILU_DX, -0x1.474973c84120bp+0L, -0x1.f8d74bc9ac154p-54L, {
			0.2178117057198000987797029L, 0.1466487969969469001794081L,
			0.01887481422378231340716336L, -0.01522265522318803168878182L,
			-0.006606589138356696436301172L
		}
	}, {
		NEURON_ACT_GELU_APPRX_SIGMOID_DX, -0x1.80974a62be3dfp-1L, 0x1.b12c858d26bf0p-55L, {
			0.3707155231350997681230544L, 0.4248128217359437682273101L,
			0.09305963675729157003332583L, -0.1277405066022032288122484L,
			-0.09435720712886151514234985L
		}
	},
};

/* The functions between 0 below and x, or 1, above. */
static void test_gate_special(void **state)
{
	static const unsigned int gates[] = {
		NEURON_ACT_SILU, NEURON_ACT_MISH, NEURON_ACT_GELU_APPRX_SIGMOID,
		NEURON_ACT_GELU_APPRX_TANH,
	};
	static const unsigned int slopes[] = {
		NEURON_ACT_SILU_DX, NEURON_ACT_GELU_APPRX_SIGMOID_DX,
	};
	size_t i;

	(void)state;
	for (i = 0; i < NUM_COUNT(gates); i++) {
		assert_int_equal(num_bits(act_one(gates[i], 0.0f)), 0);
		assert_int_equal(num_bits(act_one(gates[i], -0.0f)), 0x80000000);
		assert_int_equal(num_bits(act_one(gates[i], -INFINITY)), 0x80000000);
		assert_int_equal(num_bits(act_one(gates[i], -1e30f)), 0x80000000);
		assert_true(act_one(gates[i], INFINITY) == INFINITY);
		assert_true(act_one(gates[i], 1e30f) == 1e30f);
	}
	for (i = 0; i < NUM_COUNT(slopes); i++) {
		assert_true(act_one(slopes[i], 0.0f) == 0.5f);
		assert_true(act_one(slopes[i], -0.0f) == 0.5f);
		assert_true(act_one(slopes[i], INFINITY) == 1.0f);
		assert_true(act_one(slopes[i], 1e30f) == 1.0f);
		assert_int_equal(num_bits(act_one(slopes[i], -INFINITY)), 0x80000000);
		assert_int_equal(num_bits(act_one(slopes[i], -1e30f)), 0x80000000);
	}
	assert_act(SILU, 0x1p-140f, 0x1p-141f);
	assert_act(MISH, 0x1p-140f, 0x1.333333p-141f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate_special),
		ACT_ROOT_TEST("silu_dx", roots[0]),
		ACT_ROOT_TEST("gelu_apprx_sigmoid_dx", roots[1]),
		ACT_ERROR_TEST(measured[0]),
		ACT_ERROR_TEST(measured[1]),
		ACT_ERROR_TEST(measured[2]),
		ACT_ERROR_TEST(measured[3]),
		ACT_ERROR_TEST(measured[4]),
		ACT_ERROR_TEST(measured[5]),
	};

	return cmocka_run_group_tests_name("act-gate", tests, NULL, NULL);
}
