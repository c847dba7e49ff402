// SPDX-License-Identifier: MIT
/*
 * DMA operations: every byte is what the oracle says, through windows of every kind
 * and in domain 0.
 */
#include "op_rig.h"

#include <string.h>

#include "num_util.h"

#ifdef __SANITIZE_THREAD__
#define ROUNDS	300
#else
#define ROUNDS	3000
#endif

/* Do it on both sides; memory must agree. */
static void run_op(struct op_test *t, const struct oracle_op *x, unsigned int n)
{
	enum neuron_cause cause = op_do(t, x);

	if (cause)
		fail_msg("operation %u of kind %u: %s at %#llx: %s", n, x->op.op,
			 trn_cause_name(cause), (unsigned long long)t->work.bad_addr,
			 t->work.why);
	oracle_do(&t->oracle, x);
	op_check_memory(t, "operation", n);
}

static void write_list(struct op_test *t, const struct oracle_op *x)
{
	if (x->op.nr_index)
		assert_int_equal(trn_access_write(&t->access, x->op.index, x->index,
						  x->op.nr_index * 4), 0);
}

static void test_random(void **state)
{
	struct op_test *t = *state;
	unsigned int n, kinds[NEURON_UDMA_NR_OPS] = { 0 };
	struct oracle_op x;

	print_message("seed %#llx\n", (unsigned long long)t->oracle.seed);
	for (n = 0; n < ROUNDS; n++) {
		unsigned int dst = 20 + oracle_random(&t->oracle, 4);

		oracle_random_op(&t->oracle, &x, 140, OP_LIST + 1, 19, dst, 16, OP_LIST);
		write_list(t, &x);
		run_op(t, &x, n);
		kinds[x.op.op]++;
	}
	for (n = 0; n < NEURON_UDMA_NR_OPS; n++)
		assert_true(kinds[n] > ROUNDS / 10);
	assert_int_equal(rig_violations(t->rig), 0);
}

/* --- Stochastic rounding --- */

#define ROUNDED	5000

/* @n elements of a move from @first on, from areas 0 to 1, rounded with @seed. */
static struct oracle_op rounded(struct op_test *t, unsigned int dtype, uint32_t first,
				uint32_t n, uint64_t seed, uint64_t move)
{
	struct oracle_op x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, dtype, n);

	x.op.flags = NEURON_UDMA_OP_STOCHASTIC;
	x.op.round_first = first;
	x.op.round_seed = seed;
	x.op.round_move = move;
	x.src[0] = t->oracle.area[0].addr + 4ull * first;
	x.dst[0] = t->oracle.area[1].addr + trn_dtype_size(dtype) * (uint64_t)first;
	return x;
}

static void read_rounded(struct op_test *t, unsigned int dtype, uint8_t *to)
{
	assert_int_equal(trn_access_read(&t->access, t->oracle.area[1].addr, to,
					 ROUNDED * trn_dtype_size(dtype)), 0);
}

/* All of it at once. */
static void round_whole(struct op_test *t, unsigned int dtype, uint64_t seed, uint64_t move,
			uint8_t *to)
{
	const struct oracle_op x = rounded(t, dtype, 0, ROUNDED, seed, move);

	assert_int_equal(op_do(t, &x), 0);
	read_rounded(t, dtype, to);
}

/* In pieces, the last one first. */
static void round_pieces(struct op_test *t, unsigned int dtype, uint64_t seed, uint64_t move,
			 uint8_t *to)
{
	uint32_t at[ROUNDED + 1] = { 0 }, nr = 0, n;
	struct oracle_op x;

	for (; at[nr] < ROUNDED; nr++) {
		n = 1 + oracle_random(&t->oracle, oracle_random(&t->oracle, 2) ? 2000 : 20);
		at[nr + 1] = at[nr] + n < ROUNDED ? at[nr] + n : ROUNDED;
	}
	while (nr--) {
		x = rounded(t, dtype, at[nr], at[nr + 1] - at[nr], seed, move);
		assert_int_equal(op_do(t, &x), 0);
	}
	read_rounded(t, dtype, to);
}

/* However a move is cut: the same bits. */
static void test_rounding_pieces(void **state)
{
	static const uint8_t types[] = {
		NEURON_DTYPE_TF32, NEURON_DTYPE_BF16, NEURON_DTYPE_FP16, NEURON_DTYPE_FP8_E3,
		NEURON_DTYPE_FP8_E4, NEURON_DTYPE_FP8_E5, NEURON_DTYPE_FP8_E4FN,
	};
	static uint8_t whole[4 * ROUNDED], other[4 * ROUNDED];
	struct op_test *t = *state;
	size_t bytes;
	unsigned int i;

	op_setup_big(t);
	for (i = 0; i < sizeof(types); i++) {
		bytes = ROUNDED * trn_dtype_size(types[i]);
		round_whole(t, types[i], 7, 0, whole);
		memset(other, 0, sizeof(other));
		assert_int_equal(trn_access_write(&t->access, t->oracle.area[1].addr, other,
						  bytes), 0);
		round_pieces(t, types[i], 7, 0, other);
		assert_memory_equal(other, whole, bytes);
		/* Another seed or move, other words. */
		round_whole(t, types[i], 8, 0, other);
		assert_memory_not_equal(other, whole, bytes);
		round_whole(t, types[i], 7, 1, other);
		assert_memory_not_equal(other, whole, bytes);
		round_whole(t, types[i], 7, 0, other);
		assert_memory_equal(other, whole, bytes);
	}
}

/* On average nothing is lost: 1/4 of the way between two numbers, up once in four times. */
static void test_rounding_chance(void **state)
{
	struct op_test *t = *state;
	const float value = 1.0f + 0x1p-9f;
	static uint8_t raw[4 * ROUNDED];
	unsigned int i, up = 0;
	uint16_t bits;

	op_setup_big(t);
	for (i = 0; i < ROUNDED; i++)
		assert_int_equal(trn_access_write(&t->access, t->oracle.area[0].addr + 4 * i,
						  &value, 4), 0);
	round_whole(t, NEURON_DTYPE_BF16, 1, 2, raw);
	for (i = 0; i < ROUNDED; i++) {
		memcpy(&bits, raw + 2 * i, 2);
		assert_in_range(bits, 0x3f80, 0x3f81);
		up += bits & 1;
	}
	assert_in_range(up, ROUNDED * 22 / 100, ROUNDED * 28 / 100);
}

/* --- Large ones, in domain 0: blocks, tiles and the direct path --- */


static void run_big(struct op_test *t, const struct oracle_op *x)
{
	static uint8_t now[OP_BIG];
	unsigned int i;

	assert_int_equal(op_do(t, x), 0);
	oracle_do(&t->oracle, x);
	for (i = 0; i < 3; i++) {
		assert_int_equal(trn_access_read(&t->access, t->oracle.area[i].addr, now,
						 OP_BIG), 0);
		assert_memory_equal(now, t->oracle.area[i].shadow, OP_BIG);
	}
}

static void test_big(void **state)
{
	struct op_test *t = *state;
	struct oracle_op x;
	uint64_t a, b, c;

	op_setup_big(t);
	a = t->oracle.area[0].addr;
	b = t->oracle.area[1].addr;
	c = t->oracle.area[2].addr;

	/* Straight, with more than one piece. */
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_BF16, NEURON_DTYPE_BF16, 120001);
	x.src[0] = a + 3;
	x.dst[0] = b + 5;
	run_big(t, &x);
	assert_int_equal(t->work.bytes, 240002);
	/* Rows of 600 bytes out of 5000 to rows of 1500 out of 7501. */
	x = op_plain(NEURON_UDMA_OP_COPY, NEURON_DTYPE_UINT8, NEURON_DTYPE_UINT8);
	op_dim(&x.op.src, 0, 600, 1);
	op_dim(&x.op.src, 1, 200, 5000);
	op_dim(&x.op.dst, 0, 1500, 1);
	op_dim(&x.op.dst, 2, 80, 7501);
	x.src[0] = a;
	x.dst[0] = c;
	run_big(t, &x);
	/* To two. */
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 80000);
	x.op.nr_dst = 2;
	x.src[0] = a;
	x.dst[0] = b;
	x.dst[1] = c + 400001;
	run_big(t, &x);
	/* The sum of two into one of them. */
	x = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 80001);
	x.op.nr_src = 2;
	x.src[0] = a;
	x.src[1] = b;
	x.dst[0] = a;
	run_big(t, &x);
	assert_int_equal(t->work.bytes, (3 * 4 * 80001 + 1) / 2);
	/* 16 sources. */
	x = op_line(NEURON_UDMA_OP_FMA, NEURON_DTYPE_FP16, NEURON_DTYPE_FP32, 5000);
	for (x.op.nr_src = 0; x.op.nr_src < 16; x.op.nr_src++) {
		x.src[x.op.nr_src] = a + 70000ull * x.op.nr_src;
		x.op.scale[x.op.nr_src] = num_bits(1.0f / (1 + x.op.nr_src));
	}
	x.op.flags = NEURON_UDMA_OP_ACCUMULATE;
	x.dst[0] = b;
	run_big(t, &x);
	assert_int_equal(t->work.bytes, 5000 * (16 * 2 + 2 * 4) / 2);
}

/* A copy of a type that is no number, and of one that is, is one of bits. */
static void test_bits(void **state)
{
	struct op_test *t = *state;
	struct oracle_op x;
	unsigned int type;

	op_setup_big(t);
	for (type = 0; type < NEURON_NR_DTYPES; type++) {
		if (!trn_dtype_size(type))
			continue;
		x = op_plain(NEURON_UDMA_OP_COPY, type, type);
		op_dim(&x.op.src, 0, 700, 3 * (int64_t)trn_dtype_size(type));
		op_dim(&x.op.src, 1, 5, 20000);
		op_dim(&x.op.dst, 0, 3500, trn_dtype_size(type));
		x.src[0] = t->oracle.area[0].addr + 7;
		x.dst[0] = t->oracle.area[1].addr + 31 * type;
		run_big(t, &x);
	}
}

/* The indices of a tile of shape (P, 1): one in each row of something wider. */
static void test_list_with_steps(void **state)
{
	enum { ROWS = 64, STEP = 1024 };
	struct op_test *t = *state;
	uint64_t list;
	struct oracle_op x;
	unsigned int i;

	op_setup_big(t);
	list = (t->oracle.area[2].addr + 15) & ~3ull;
	x = op_plain(NEURON_UDMA_OP_COPY, NEURON_DTYPE_BF16, NEURON_DTYPE_BF16);
	op_dim(&x.op.src, 0, 40, 2);
	op_dim(&x.op.src, 3, ROWS, 4000);
	op_dim(&x.op.dst, 0, 40, 2);
	op_dim(&x.op.dst, 3, ROWS, 80);
	x.op.flags = NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_OOB_SKIP;
	x.op.index = list;
	x.op.nr_index = ROWS;
	x.op.index_limit = 500;
	x.op.index_step = STEP;
	x.src[0] = t->oracle.area[0].addr;
	x.dst[0] = t->oracle.area[1].addr;
	for (i = 0; i < ROWS; i++) {
		x.index[i] = oracle_random(&t->oracle, 510);
		memcpy(oracle_at(&t->oracle, list + i * STEP, 4), &x.index[i], 4);
		assert_int_equal(trn_access_write(&t->access, list + i * STEP, &x.index[i], 4), 0);
	}
	run_big(t, &x);
	/* The same as a scatter; a step of 4 is what 0 says. */
	x.op.flags = NEURON_UDMA_OP_DST_INDEXED | NEURON_UDMA_OP_OOB_SKIP;
	op_dim(&x.op.src, 3, ROWS, 80);
	op_dim(&x.op.dst, 3, ROWS, 4000);
	for (i = 0; i < ROWS; i++)
		memcpy(oracle_at(&t->oracle, list + i * STEP, 4), &(uint32_t){ x.index[i] = i * 3 },
		       4);
	for (i = 0; i < ROWS; i++)
		assert_int_equal(trn_access_write(&t->access, list + i * STEP, &x.index[i], 4), 0);
	run_big(t, &x);
	x.op.index_step = 4;
	for (i = 0; i < ROWS; i++)
		memcpy(oracle_at(&t->oracle, list + i * 4, 4), &x.index[i], 4);
	assert_int_equal(trn_access_write(&t->access, list, x.index, sizeof(uint32_t) * ROWS), 0);
	run_big(t, &x);
	/* All of it lies where the first one does. */
	x.op.index_step = 0xfffffffc;
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	assert_true(t->work.bad_list);
}

static void big_transpose(struct op_test *t, unsigned int dtype, uint32_t wide,
			  uint32_t high, uint32_t planes, int64_t gap)
{
	struct oracle_op x = op_plain(NEURON_UDMA_OP_TRANSPOSE, dtype, dtype);
	int64_t size = trn_dtype_size(dtype);

	op_dim(&x.op.src, 0, wide, size);
	op_dim(&x.op.src, 1, high, wide * size + gap);
	op_dim(&x.op.src, 3, planes, (wide * size + gap) * high);
	op_dim(&x.op.dst, 0, high, size);
	op_dim(&x.op.dst, 1, wide, high * size);
	op_dim(&x.op.dst, 3, planes, high * size * wide + gap);
	x.src[0] = t->oracle.area[0].addr + 1;
	x.dst[0] = t->oracle.area[1].addr + 1;
	run_big(t, &x);
}

static void test_big_transpose(void **state)
{
	struct op_test *t = *state;

	op_setup_big(t);
	big_transpose(t, NEURON_DTYPE_BF16, 128, 128, 3, 0);
	big_transpose(t, NEURON_DTYPE_FP32, 130, 67, 2, 6);
	big_transpose(t, NEURON_DTYPE_INT16, 3, 9001, 1, 0);
	big_transpose(t, NEURON_DTYPE_UINT32, 9001, 3, 1, 2);
	big_transpose(t, NEURON_DTYPE_FP16, 1, 5000, 2, 0);
	big_transpose(t, NEURON_DTYPE_FP16, 5000, 1, 2, 1);
}

/* --- Results at the edges, not by the oracle --- */

static void expect(struct op_test *t, struct oracle_op *x, const void *want,
		   size_t len)
{
	uint8_t got[256];

	x->dst[0] = at(W_PSUM, 0);
	assert_int_equal(op_do(t, x), 0);
	assert_int_equal(trn_access_read(&t->access, at(W_PSUM, 0), got, len), 0);
	assert_memory_equal(got, want, len);
}

static void test_values(void **state)
{
	const uint32_t in[] = { 0x7f800001, 0x80000000, 0xff800000, 0x477ff000,
				0x3f808000, 0xbf000000, 0x4f800000, 0x00000001 };
	const uint16_t bf16[] = { 0x7fc0, 0x8000, 0xff80, 0x4780, 0x3f80, 0xbf00,
				  0x4f80, 0 };
	const uint16_t fp16[] = { 0x7e00, 0x8000, 0xfc00, 0x7c00, 0x3c04, 0xb800,
				  0x7c00, 0 };
	const uint8_t uint8[] = { 0, 0, 0, 255, 1, 0, 255, 0 };
	const int32_t int32[] = { 0, 0, INT32_MIN, 65520, 1, 0, INT32_MAX, 0 };
	const uint32_t zeros[] = { 0x80000000, 0x80000000, 0, 0x7f800000 };
	const uint32_t others[] = { 0x80000000, 0, 0x80000000, 0xff800000 };
	const uint32_t sum[] = { 0x80000000, 0, 0, 0x7fc00000 };
	const uint32_t max[] = { 0x80000000, 0, 0, 0x7f800000 };
	const uint32_t min[] = { 0x80000000, 0x80000000, 0x80000000, 0xff800000 };
	struct op_test *t = *state;
	struct oracle_op x;

	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 8);
	x.src[0] = op_put(t, W_HBM, in, sizeof(in));
	expect(t, &x, in, sizeof(in));
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_BF16, 8);
	x.src[0] = at(W_HBM, 0);
	expect(t, &x, bf16, sizeof(bf16));
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_FP16, 8);
	x.src[0] = at(W_HBM, 0);
	expect(t, &x, fp16, sizeof(fp16));
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_UINT8, 8);
	x.src[0] = at(W_HBM, 0);
	expect(t, &x, uint8, sizeof(uint8));
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_INT32, 8);
	x.src[0] = at(W_HBM, 0);
	expect(t, &x, int32, sizeof(int32));

	x = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 4);
	x.op.nr_src = 2;
	x.src[0] = op_put(t, W_HBM, zeros, sizeof(zeros));
	x.src[1] = op_put(t, W_SBUF, others, sizeof(others));
	expect(t, &x, sum, sizeof(sum));
	/* With scales of 1 an fma is a sum, the sign of zero included. */
	x.op.op = NEURON_UDMA_OP_FMA;
	x.op.scale[0] = num_bits(1.0f);
	x.op.scale[1] = num_bits(1.0f);
	expect(t, &x, sum, sizeof(sum));
	memset(x.op.scale, 0, sizeof(x.op.scale));
	x.op.op = NEURON_UDMA_OP_MAX;
	expect(t, &x, max, sizeof(max));
	x.op.op = NEURON_UDMA_OP_MIN;
	expect(t, &x, min, sizeof(min));
}

/* In source order: 2^24 + 1 + 1 is not 1 + 1 + 2^24. */
static void test_order(void **state)
{
	const float big = 0x1p24f, one = 1.0f, even = 0x1p24f, more = 0x1p24f + 2;
	struct op_test *t = *state;
	struct oracle_op x;

	x = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 1);
	x.op.nr_src = 3;
	x.src[0] = op_put(t, W_HBM, &big, 4);
	x.src[1] = op_put(t, W_SBUF, &one, 4);
	x.src[2] = at(W_SBUF, 0);
	expect(t, &x, &even, 4);
	x.src[0] = at(W_SBUF, 0);
	x.src[2] = at(W_HBM, 0);
	expect(t, &x, &more, 4);
	/* The old value comes first. */
	x.op.nr_src = 2;
	x.op.flags = NEURON_UDMA_OP_ACCUMULATE;
	x.src[1] = at(W_SBUF, 0);
	op_put(t, W_PSUM, &big, 4);
	expect(t, &x, &even, 4);
}

/* Told to stop it stops soon, and it asks often. */
static void test_stop(void **state)
{
	struct op_test *t = *state;
	struct oracle_op x;

	op_setup_big(t);
	x = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 100000);
	x.src[0] = t->oracle.area[0].addr;
	x.dst[0] = t->oracle.area[1].addr;
	t->stops = 3;
	assert_int_equal(op_do(t, &x), 0);
	assert_int_equal(t->asked, 4);
	assert_true(t->work.bytes <= 4 * 4 * 1024);
	t->stops = -1;
	t->asked = 0;
	assert_int_equal(op_do(t, &x), 0);
	assert_true(t->asked >= 100000 / 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_rounding_pieces, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_rounding_chance, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_big, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_list_with_steps, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_bits, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_big_transpose, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_values, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_order, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_stop, op_setup, op_teardown),
	};

	return cmocka_run_group_tests_name("udma_op", tests, NULL, NULL);
}
