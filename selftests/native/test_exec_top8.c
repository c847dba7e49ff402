// SPDX-License-Identifier: MIT
/*
 * Statistics of batch normalisation, the eight largest and where they are.
 */
#include "lanes_rig.h"

#include <math.h>
#include <string.h>

#define P	32
#define DATA	0x0
#define VALS	0x10000
#define OUT	0x11000
#define INDEX	0x22000

/* --- bn_stats, bn_aggr --- */

/* Count, mean and sum of squares of every second element from @first on. */
static void stats_model(const float *a, unsigned int n, unsigned int first, float *out)
{
	float sum = 0.0f, squares = 0.0f, mean = 0.0f, d;
	unsigned int i, count = 0;

	for (i = first; i < n; i += 2, count++)
		sum += a[i];
	if (count)
		mean = sum / (float)count;
	for (i = first; i < n; i += 2) {
		d = a[i] - mean;
		d = d * d;
		squares += d;
	}
	out[0] = (float)count;
	out[1] = mean;
	out[2] = squares;
}

static void statistics(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 3, 511, 512 };
	unsigned int k, p, i;

	for (k = 0; k < 5; k++) {
		lanes_fill(state, P, DATA, sizes[k]);
		good(state, VECTOR, OP(BN_STATS, .dst = ap_sbuf(0, P, OUT, F32, 6),
				       .src0 = ap_sbuf(0, P, DATA, F32, sizes[k])));
		for (p = 0; p < P; p++) {
			float want[6];

			stats_model(sbuf_f(state, p, DATA), sizes[k], 0, want);
			stats_model(sbuf_f(state, p, DATA), sizes[k], 1, want + 3);
			for (i = 0; i < 6; i++)
				lanes_expect(sbuf_f(state, p, OUT)[i], want[i], p, i);
		}
	}
}

/* 700 elements by two instructions: what the usual formulas say. */
static void aggregates(void **state)
{
	const struct neuron_inst program[] = {
		OP(BN_STATS, .dst = ap_sbuf(0, P, OUT, F32, 6),
		   .src0 = ap_sbuf(0, P, DATA, F32, 512)),
		OP(BN_STATS, .dst = ap_sbuf(0, P, OUT + 24, F32, 6),
		   .src0 = ap_sbuf(0, P, DATA + 2048, F32, 188)),
		OP(BN_AGGR, .dst = ap_sbuf(0, P, INDEX, F32, 2),
		   .src0 = ap_sbuf(0, P, OUT, F32, 12)),
	};
	unsigned int p, i;

	for (p = 0; p < P; p++)
		for (i = 0; i < 700; i++)
			sbuf_f(state, p, DATA)[i] = (float)rnd(1000) / 64.0f + (float)p;
	good_all(state, VECTOR, program, 3);
	for (p = 0; p < P; p++) {
		const float *out = sbuf_f(state, p, INDEX);
		double mean = 0.0, var = 0.0;

		for (i = 0; i < 700; i++)
			mean += (double)sbuf_f(state, p, DATA)[i] / 700;
		for (i = 0; i < 700; i++)
			var += ((double)sbuf_f(state, p, DATA)[i] - mean) *
			       ((double)sbuf_f(state, p, DATA)[i] - mean) / 700;
		assert_true(fabs((double)out[0] - mean) < mean * 1e-5);
		assert_true(fabs((double)out[1] - var) < var * 1e-4);
	}
}

/* To the bit, and without an element. */
static void aggregates_in_order(void **state)
{
	struct neuron_inst inst = OP(BN_AGGR, .dst = ap_sbuf(0, P, INDEX, F32, 2),
				     .src0 = ap_sbuf(0, P, OUT, F32, 9));
	unsigned int p, i;

	lanes_fill(state, P, OUT, 9);
	for (i = 0; i < 9; i++)
		sbuf_f(state, 0, OUT)[i] = 0.0f;
	good(state, VECTOR, inst);
	for (p = 0; p < P; p++) {
		const float *t = sbuf_f(state, p, OUT);
		float count = 0.0f, mean = 0.0f, var = 0.0f, x;

		for (i = 0; i < 9; i += 3) {
			count += t[i];
			x = t[i] * t[i + 1];
			mean += x;
		}
		mean /= count;
		for (i = 0; i < 9; i += 3) {
			x = t[i + 1] - mean;
			x = x * x;
			x = t[i] * x;
			var += t[i + 2];
			var += x;
		}
		lanes_expect(sbuf_f(state, p, INDEX)[0], mean, p, 0);
		lanes_expect(sbuf_f(state, p, INDEX)[1], var / count, p, 1);
	}
	assert_true(isnan(*sbuf_f(state, 0, INDEX)));
	inst.src0.num[0] = 10;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.src0.num[0] = 9;
	inst.dst.num[0] = 3;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(BN_STATS, .dst = ap_sbuf(0, P, OUT, F32, 6),
			      .src0 = ap_sbuf(0, P, DATA, F32, 513)),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(BN_STATS, .dst = ap_sbuf(0, P, OUT, F32, 5),
			      .src0 = ap_sbuf(0, P, DATA, F32, 512)),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(BN_STATS, .dst = ap_sbuf(0, 31, OUT, F32, 6),
			      .src0 = ap_sbuf(0, P, DATA, F32, 512)),
	    NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPCODE);
}

/* --- max8, find_index8, match_replace8 --- */

/* Few different values, so that many are equal. */
static void repetitive(void **state, unsigned int n)
{
	unsigned int p, i;

	for (p = 0; p < P; p++)
		for (i = 0; i < n; i++)
			sbuf_f(state, p, DATA)[i] = rnd(4) ? (float)rnd(12) - 6.0f :
							     lanes_random();
}

static bool above(float x, float y)
{
	if (x != x || y != y)
		return x != x && y == y;
	return x > y || (x == y && !signbit(x) && signbit(y));
}

static void finds_the_largest(void **state)
{
	static const unsigned int sizes[] = { 8, 9, 1025, 3000, 16384 };
	unsigned int k, p, i, j;

	for (k = 0; k < 5; k++) {
		repetitive(state, sizes[k]);
		good(state, VECTOR, OP(MAX8, .dst = ap_sbuf(0, P, OUT, F32, 8),
				       .src0 = ap_sbuf(0, P, DATA, F32, sizes[k])));
		for (p = 0; p < P; p++) {
			const float *out = sbuf_f(state, p, OUT);

			/* Each has as many above it in the data as it has in front. */
			for (i = 0; i < 8; i++) {
				unsigned int over = 0, same = 0, front = 0;

				for (j = 0; j < sizes[k]; j++) {
					float x = sbuf_f(state, p, DATA)[j];

					over += above(x, out[i]);
					same += !above(x, out[i]) && !above(out[i], x);
				}
				for (j = 0; j < i; j++)
					front += above(out[j], out[i]);
				if (front != over || over > i || over + same <= i)
					fail_msg("size %u, partition %u, element %u: %a",
						 sizes[k], p, i, (double)out[i]);
			}
		}
	}
}

/* Each slot of a value, in this order, takes the next place where it is. */
static void find_model(const float *data, unsigned int n, const float *vals,
		       bool descending, uint32_t *index)
{
	bool used[16384] = { false };
	unsigned int k, slot, i;

	for (k = 0; k < 8; k++) {
		slot = descending ? 7 - k : k;
		index[slot] = 0xffffffff;
		for (i = 0; i < n; i++)
			if (!used[i] && data[i] == vals[slot]) {
				used[i] = true;
				index[slot] = i;
				break;
			}
	}
}

static void values(void **state, unsigned int n)
{
	unsigned int p, i;

	repetitive(state, n);
	for (p = 0; p < P; p++)
		for (i = 0; i < 8; i++)
			sbuf_f(state, p, VALS)[i] = rnd(3) ? sbuf_f(state, p, DATA)[rnd(n)] :
							     (float)rnd(8);
}

static void finds_indices(void **state)
{
	static const unsigned int sizes[] = { 8, 1500, 16384 };
	unsigned int k, p, i;

	for (k = 0; k < 6; k++) {
		unsigned int n = sizes[k / 2];
		bool narrow = k % 2;

		values(state, n);
		good(state, VECTOR, OP(FIND_INDEX8,
				       .dst = ap_sbuf(0, P, OUT, narrow ? U16 :
						      NEURON_DTYPE_UINT32, 8),
				       .src0 = ap_sbuf(0, P, DATA, F32, n),
				       .src1 = ap_sbuf(0, P, VALS, F32, 8)));
		for (p = 0; p < P; p++) {
			const uint16_t *half = (uint16_t *)sbuf_f(state, p, OUT);
			const uint32_t *word = (uint32_t *)sbuf_f(state, p, OUT);
			uint32_t want[8];

			find_model(sbuf_f(state, p, DATA), n, sbuf_f(state, p, VALS), false,
				   want);
			for (i = 0; i < 8; i++)
				assert_int_equal(narrow ? half[i] : word[i],
						 narrow ? (uint16_t)want[i] : want[i]);
		}
	}
}

static struct neuron_inst match_replace(unsigned int n)
{
	return OP(MATCH_REPLACE8, .dst = ap_sbuf(0, P, OUT, F32, n),
		  .src0 = ap_sbuf(0, P, DATA, F32, n),
		  .src1 = ap_sbuf(0, P, VALS, F32, 8), .imm0 = f32(3.0f),
		  .mode = NEURON_INST_COL1 >> 8, .col1 = INDEX);
}

static void replaces_matches(void **state)
{
	static const unsigned int sizes[] = { 8, 1500, 16384 };
	unsigned int k, p, i, j;

	for (k = 0; k < 3; k++) {
		values(state, sizes[k]);
		good(state, VECTOR, match_replace(sizes[k]));
		for (p = 0; p < P; p++) {
			const uint32_t *index = (uint32_t *)sbuf_f(state, p, INDEX);
			uint32_t want[8];

			find_model(sbuf_f(state, p, DATA), sizes[k],
				   sbuf_f(state, p, VALS), true, want);
			assert_memory_equal(index, want, sizeof(want));
			for (i = 0; i < sizes[k]; i++) {
				float x = sbuf_f(state, p, DATA)[i];

				for (j = 0; j < 8; j++)
					if (want[j] == i)
						x = 3.0f;
				lanes_expect(sbuf_f(state, p, OUT)[i], x, p, i);
			}
		}
	}
}

/* The example of the public documentation. */
static void equal_values_fill_from_the_end(void **state)
{
	static const float data[11] = { 1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8 };
	static const float vals[8] = { 3, 8, 8, 8, 8, 8, 8, 8 };
	static const uint32_t down[8] = { 2, 10, 9, 8, 7, 6, 5, 4 };
	static const uint32_t up[8] = { 2, 4, 5, 6, 7, 8, 9, 10 };
	struct neuron_inst inst = match_replace(11);
	unsigned int p;

	for (p = 0; p < P; p++) {
		memcpy(sbuf_f(state, p, DATA), data, sizeof(data));
		memcpy(sbuf_f(state, p, VALS), vals, sizeof(vals));
	}
	good(state, VECTOR, inst);
	assert_memory_equal(sbuf_f(state, 0, INDEX), down, sizeof(down));
	good(state, VECTOR, OP(FIND_INDEX8,
			       .dst = ap_sbuf(0, P, OUT, NEURON_DTYPE_UINT32, 8),
			       .src0 = inst.src0, .src1 = inst.src1));
	assert_memory_equal(sbuf_f(state, 0, OUT), up, sizeof(up));
	/* Without indices. */
	memset(sbuf_f(state, 0, INDEX), 0, 32);
	inst.mode = 0;
	inst.col1 = 0;
	good(state, VECTOR, inst);
	assert_true(*sbuf_f(state, 0, INDEX) == 0.0f);
	assert_true(sbuf_f(state, 0, OUT)[2] == 3.0f);
}

static void refuses_bad_searches(void **state)
{
	struct neuron_inst max = OP(MAX8, .dst = ap_sbuf(0, P, OUT, F32, 8),
				    .src0 = ap_sbuf(0, P, DATA, F32, 64));
	struct neuron_inst find = OP(FIND_INDEX8,
				     .dst = ap_sbuf(0, P, OUT, U16, 8),
				     .src0 = ap_sbuf(0, P, DATA, F32, 64),
				     .src1 = ap_sbuf(0, P, VALS, F32, 8));
	struct neuron_inst match = match_replace(64), wrong;
	unsigned int k;

	for (k = 0; k < 3; k++) {
		struct neuron_inst inst = k == 0 ? max : k == 1 ? find : match;
		unsigned int n;

		for (n = 7; n <= 16385; n += 16378) {
			wrong = inst;
			wrong.src0.num[0] = (uint16_t)n;
			if (k == 2)
				wrong.dst.num[0] = (uint16_t)n;
			bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
		}
		wrong = inst;
		wrong.src0 = ap_dim(ap_dim(wrong.src0, 0, 32, 1), 3, 2, 32);
		bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
		wrong = inst;
		wrong.src0.partitions = 31;
		bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
		wrong = inst;
		wrong.dst.num[0] = 9;
		bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
		bad(state, GPSIMD, inst, NEURON_CAUSE_OPCODE);
		if (k == 0)
			continue;
		wrong = inst;
		wrong.src1.num[0] = 7;
		bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
		wrong.src1.num[0] = 8;
		wrong.src1.partitions = 31;
		bad(state, VECTOR, wrong, NEURON_CAUSE_OPERAND);
	}
	find.dst.dtype = I32;
	bad(state, VECTOR, find, NEURON_CAUSE_OPERAND);
	match.col1 = INDEX + 2;
	bad(state, VECTOR, match, NEURON_CAUSE_ACCESS);
	match.col1 = PARTITION - 28;
	bad(state, VECTOR, match, NEURON_CAUSE_ACCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statistics),
		cmocka_unit_test(aggregates),
		cmocka_unit_test(aggregates_in_order),
		cmocka_unit_test(finds_the_largest),
		cmocka_unit_test(finds_indices),
		cmocka_unit_test(replaces_matches),
		cmocka_unit_test(equal_values_fill_from_the_end),
		cmocka_unit_test(refuses_bad_searches),
	};

	return cmocka_run_group_tests(tests, exec_setup, exec_teardown);
}
