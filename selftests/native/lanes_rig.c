// SPDX-License-Identifier: MIT
#include "lanes_rig.h"

#include <float.h>
#include <math.h>

float lanes_random(void)
{
	static const float edges[] = {
		0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, -3e-45f, FLT_MAX,
		-FLT_MAX, FLT_MIN, 1.0f, -1.0f, 0.5f, 16777217.0f,
	};

	if (rnd(8) == 0)
		return edges[rnd(sizeof(edges) / sizeof(edges[0]))];
	return ((float)rnd(1u << 24) - (1 << 23)) * 0x1p-22f;
}

void lanes_fill(void **state, unsigned int partitions, size_t offset, size_t n)
{
	unsigned int p;
	size_t i;

	for (p = 0; p < partitions; p++)
		for (i = 0; i < n; i++)
			sbuf_f(state, p, offset)[i] = lanes_random();
}

static float larger(float x, float y)
{
	if (x != x || y != y)
		return NAN;
	if (x == y)
		return signbit(x) ? y : x;
	return x > y ? x : y;
}

float lanes_alu(unsigned int op, float x, float y)
{
	switch (op) {
	case NEURON_ALU_ADD:
		return x + y;
	case NEURON_ALU_SUBTRACT:
		return x - y;
	case NEURON_ALU_MULTIPLY:
		return x * y;
	case NEURON_ALU_DIVIDE:
		return x / y;
	case NEURON_ALU_MAX:
		return larger(x, y);
	case NEURON_ALU_MIN:
		return -larger(-x, -y);
	case NEURON_ALU_ABS_MAX:
		return fabsf(x) > fabsf(y) ? x : y;
	case NEURON_ALU_ABS_MIN:
		return fabsf(x) < fabsf(y) ? x : y;
	case NEURON_ALU_IS_EQ:
		return x == y;
	case NEURON_ALU_IS_GE:
		return x >= y;
	case NEURON_ALU_IS_GT:
		return x > y;
	case NEURON_ALU_IS_LE:
		return x <= y;
	case NEURON_ALU_IS_LT:
		return x < y;
	case NEURON_ALU_LOGICAL_AND:
		return x != 0.0f && y != 0.0f;
	}
	fail_msg("the model has no operator %u", op);
	return 0.0f;
}

void lanes_expect(float got, float want, unsigned int p, size_t i)
{
	uint32_t bits = want == want ? f32(want) : 0x7fc00000;

	if (f32(got) != bits)
		fail_msg("partition %u, element %zu: %#x, not %#x", p, i, f32(got), bits);
}
