// SPDX-License-Identifier: MIT
/*
 * DMA operations: what is refused, and that nothing has changed then.
 */
#include "op_rig.h"

#include <string.h>

/* --- What is refused --- */

static void refused(const struct oracle_op *good, size_t offset, size_t size,
		    uint64_t value)
{
	struct oracle_op x = *good;
	const char *why = NULL;

	memcpy((uint8_t *)&x.op + offset, &value, size);
	if (trn_udma_op_check(&x.op, &why) != NEURON_CAUSE_DESC)
		fail_msg("field at %zu with %#llx is not refused", offset,
			 (unsigned long long)value);
	assert_non_null(why);
}

#define REFUSED(good, field, value)					\
	refused(good, offsetof(struct neuron_udma_op, field),		\
		sizeof(((struct neuron_udma_op *)NULL)->field), value)

static void test_refused(void **state)
{
	struct oracle_op copy = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32,
				     NEURON_DTYPE_BF16, 12);
	struct oracle_op add = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32,
				    NEURON_DTYPE_FP32, 12);
	struct oracle_op turn = op_plain(NEURON_UDMA_OP_TRANSPOSE, NEURON_DTYPE_BF16,
				      NEURON_DTYPE_BF16);
	struct oracle_op index, both;
	const char *why;
	unsigned int i;

	(void)state;
	op_dim(&turn.op.src, 0, 3, 2);
	op_dim(&turn.op.src, 1, 4, 6);
	op_dim(&turn.op.dst, 0, 4, 2);
	op_dim(&turn.op.dst, 1, 3, 8);
	index = copy;
	op_dim(&index.op.src, 0, 3, 4);
	op_dim(&index.op.src, 3, 4, 12);
	index.op.flags = NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_OOB_SKIP;
	index.op.nr_index = 4;
	assert_int_equal(trn_udma_op_check(&copy.op, &why), 0);
	assert_int_equal(trn_udma_op_check(&add.op, &why), 0);
	assert_int_equal(trn_udma_op_check(&turn.op, &why), 0);
	assert_int_equal(trn_udma_op_check(&index.op, &why), 0);

	REFUSED(&copy, op, NEURON_UDMA_NR_OPS);
	REFUSED(&copy, op, 255);
	REFUSED(&copy, nr_src, 0);
	REFUSED(&copy, nr_src, 2);
	REFUSED(&add, nr_src, 17);
	REFUSED(&copy, nr_dst, 0);
	REFUSED(&copy, nr_dst, 17);
	for (i = 0; i < 256; i++) {
		if (trn_dtype_is_number(i))
			continue;
		/* Nothing converts from it or to it, and nothing adds it. */
		REFUSED(&copy, src_dtype, i);
		REFUSED(&copy, dst_dtype, i);
		both = add;
		both.op.src_dtype = (uint8_t)i;
		REFUSED(&both, dst_dtype, i);
		both = copy;
		both.op.src_dtype = (uint8_t)i;
		if (!trn_dtype_size(i))
			REFUSED(&both, dst_dtype, i);
	}
	REFUSED(&turn, dst_dtype, NEURON_DTYPE_FP16);
	turn.op.src_dtype = NEURON_DTYPE_INT8;
	REFUSED(&turn, dst_dtype, NEURON_DTYPE_INT8);
	turn.op.src_dtype = NEURON_DTYPE_BF16;
	REFUSED(&turn, dst.num[0], 3);
	REFUSED(&turn, dst.num[2], 2);
	for (i = 5; i < 8; i++)
		REFUSED(&copy, flags, 1u << i);
	REFUSED(&turn, flags, NEURON_UDMA_OP_STOCHASTIC);
	both = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_BF16, NEURON_DTYPE_BF16, 12);
	REFUSED(&both, flags, NEURON_UDMA_OP_STOCHASTIC);
	both.op.src_dtype = NEURON_DTYPE_FP16;
	both.op.flags = NEURON_UDMA_OP_STOCHASTIC;
	REFUSED(&both, dst_dtype, NEURON_DTYPE_FP32);
	REFUSED(&both, dst_dtype, NEURON_DTYPE_INT16);
	both.op.round_move = ~0ull;
	REFUSED(&both, flags, 0);
	REFUSED(&copy, flags, NEURON_UDMA_OP_ACCUMULATE);
	REFUSED(&turn, flags, NEURON_UDMA_OP_ACCUMULATE);
	add.op.flags = NEURON_UDMA_OP_ACCUMULATE;
	REFUSED(&add, nr_dst, 2);
	add.op.flags = 0;
	REFUSED(&copy, flags, NEURON_UDMA_OP_OOB_SKIP);
	REFUSED(&copy, reserved0, 1);
	REFUSED(&copy, round_first, 1);
	REFUSED(&copy, round_seed, 1);
	REFUSED(&copy, round_move, 1ull << 63);
	for (i = 0; i < 6; i++)
		REFUSED(&copy, reserved[i], 1ull << 63);
	REFUSED(&copy, src.num[0], 0);
	REFUSED(&copy, src.num[0], 13);
	REFUSED(&copy, src.num[3], UINT32_MAX);
	REFUSED(&copy, dst.num[1], 0);
	REFUSED(&copy, dst.num[1], 0x80000000);
	for (i = 0; i < 16; i++)
		REFUSED(&add, scale[i], 0x3f800000);
	add.op.op = NEURON_UDMA_OP_FMA;
	REFUSED(&add, scale[1], 0x3f800000);
	REFUSED(&copy, index, 4);
	REFUSED(&copy, nr_index, 1);
	REFUSED(&copy, index_limit, 1);
	REFUSED(&copy, index_step, 4);
	REFUSED(&index, index, 2);
	REFUSED(&index, index_step, 6);
	REFUSED(&index, nr_index, 3);
	REFUSED(&index, nr_index, 0);
	REFUSED(&index, flags, NEURON_UDMA_OP_DST_INDEXED);
	REFUSED(&index, src.num[3], 65537);
}

/* A list of @n indices, of one element each. */
static struct oracle_op indexed(uint32_t n)
{
	struct oracle_op x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_BF16, n);

	op_dim(&x.op.src, 0, 1, 4);
	op_dim(&x.op.src, 3, n, 4);
	x.op.flags = NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_OOB_SKIP;
	x.op.nr_index = n;
	return x;
}

static void test_index_limit(void **state)
{
	const struct oracle_op most = indexed(NEURON_UDMA_OP_MAX_INDEX);
	const struct oracle_op more = indexed(NEURON_UDMA_OP_MAX_INDEX + 1);
	const char *why = NULL;

	(void)state;
	assert_int_equal(trn_udma_op_check(&most.op, &why), NEURON_CAUSE_NONE);
	assert_int_equal(trn_udma_op_check(&more.op, &why), NEURON_CAUSE_DESC);
	assert_string_equal(why, "more than 65536 indices");
}

/* The limit is on all ends together. */
static void test_limit(void **state)
{
	const uint32_t most = NEURON_UDMA_OP_MAX_ELEMENTS;
	struct oracle_op x;
	const char *why;

	(void)state;
	x = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, most / 2);
	assert_int_equal(trn_udma_op_check(&x.op, &why), 0);
	x.op.nr_src = 2;
	assert_int_equal(trn_udma_op_check(&x.op, &why), NEURON_CAUSE_DESC);
	x = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, most / 3);
	x.op.flags = NEURON_UDMA_OP_ACCUMULATE;
	assert_int_equal(trn_udma_op_check(&x.op, &why), 0);
	x.op.src.num[0]++;
	x.op.dst.num[0]++;
	assert_int_equal(trn_udma_op_check(&x.op, &why), NEURON_CAUSE_DESC);
}

/* --- Errors --- */

/* @cause at @addr, and memory is as it was. */
static void fails(struct op_test *t, const struct oracle_op *x,
		  enum neuron_cause cause, bool bad_dst, unsigned int bad_index,
		  uint64_t addr)
{
	uint32_t violations = rig_violations(t->rig);
	bool counted = cause == NEURON_CAUSE_WINDOW || cause == NEURON_CAUSE_RIGHTS;

	assert_int_equal(op_do(t, x), cause);
	assert_int_equal(t->work.bad_addr, addr);
	assert_int_equal(t->work.bad_dst, bad_dst);
	assert_int_equal(t->work.bad_index, bad_index);
	assert_non_null(t->work.why);
	if (t->access.domain)
		assert_int_equal(rig_violations(t->rig), violations + counted);
	op_check_memory(t, "refused operation", 0);
}

static void test_ends(void **state)
{
	struct op_test *t = *state;
	struct oracle_op x = op_line(NEURON_UDMA_OP_ADD, NEURON_DTYPE_FP32,
				  NEURON_DTYPE_FP32, 4);
	const struct oracle_op good = {
		.op = x.op,
		.src = { at(W_HBM, 0), at(W_HOST, 0), at(W_SBUF, 0) },
		.dst = { at(W_PSUM, 0), at(W_PEER, 0) },
	};

	x = good;
	x.op.nr_src = 3;
	x.src[2] = at(W_SBUF, WINDOW_BYTES - 15);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 2, x.src[2]);
	x.src[2] = at(W_WRITE, 0);
	fails(t, &x, NEURON_CAUSE_RIGHTS, false, 2, x.src[2]);
	x.src[2] = at(W_EMPTY, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 2, x.src[2]);
	x.src[2] = at(NR_WINDOWS, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 2, x.src[2]);
	x.src[2] = rig_hbm_addr(t->rig, 0, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 2, x.src[2]);
	/* Words, one by one: still no semaphore is read or posted. */
	x = good;
	op_dim(&x.op.src, 0, 4, 8);
	x.src[0] = at(W_SEM, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.src[0]);
	x = good;
	op_dim(&x.op.dst, 0, 4, 8);
	x.dst[0] = at(W_SEM, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, true, 0, x.dst[0]);
	assert_int_equal(trn_sem_value(t->rig->chip[0]->core[WINDOW_CORE].sems, 16), 0);
	x = good;
	x.dst[0] = at(W_READ, 0);
	fails(t, &x, NEURON_CAUSE_RIGHTS, true, 0, x.dst[0]);
	/* A later destination: the first one has been written. */
	x = good;
	x.op.op = NEURON_UDMA_OP_COPY;
	x.op.nr_dst = 2;
	x.dst[1] = at(W_READ, 0);
	oracle_copy(&t->oracle, x.dst[0], x.src[0], 16);
	fails(t, &x, NEURON_CAUSE_RIGHTS, true, 1, x.dst[1]);
}

/* Patterns that would lead out of the window, or around the 64 bits. */
static void test_steps(void **state)
{
	static const int64_t steps[] = {
		INT64_MIN, INT64_MIN + 1, INT64_MAX, -(1ll << 47), 1ll << 47,
		1ll << 62, -(1ll << 62), 0x7fffffffffff8000ll, (1ll << 47) - 1000,
	};
	struct op_test *t = *state;
	struct oracle_op x;
	unsigned int i, d;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (d = 0; d < 4; d++) {
			x = op_plain(NEURON_UDMA_OP_COPY, NEURON_DTYPE_UINT16,
				     NEURON_DTYPE_UINT16);
			op_dim(&x.op.src, d, 3, steps[i]);
			op_dim(&x.op.dst, 1, 3, 2);
			x.src[0] = at(W_HBM, 5000);
			x.dst[0] = at(W_HOST, 0);
			fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.src[0]);
			x = op_plain(NEURON_UDMA_OP_COPY, NEURON_DTYPE_UINT16,
				     NEURON_DTYPE_INT8);
			op_dim(&x.op.src, 1, 3, 2);
			op_dim(&x.op.dst, d, 3, steps[i]);
			x.src[0] = at(W_HBM, 5000);
			x.dst[0] = at(W_HOST, 500);
			fails(t, &x, NEURON_CAUSE_WINDOW, true, 0, x.dst[0]);
		}
	}
	/* Two dimensions whose steps cancel modulo 2^64 stay outside. */
	x = op_plain(NEURON_UDMA_OP_COPY, NEURON_DTYPE_UINT8, NEURON_DTYPE_UINT8);
	op_dim(&x.op.src, 0, 2, 1ll << 62);
	op_dim(&x.op.src, 1, 2, 3ll << 61);
	op_dim(&x.op.dst, 0, 4, 1);
	x.src[0] = at(W_HBM, 0);
	x.dst[0] = at(W_HOST, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.src[0]);
	/* From one window into the next by a step of the index field. */
	x = op_plain(NEURON_UDMA_OP_COPY, NEURON_DTYPE_UINT8, NEURON_DTYPE_UINT8);
	op_dim(&x.op.src, 0, 2, 1ll << 47);
	op_dim(&x.op.dst, 0, 2, 1);
	x.src[0] = at(W_HBM, 0);
	x.dst[0] = at(W_SBUF, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.src[0]);
	op_dim(&x.op.src, 0, 2, -1);
	x.src[0] = at(W_HOST, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.src[0]);
}

static void test_index_errors(void **state)
{
	const uint32_t list[] = { 0, 3, 1, 2 }, far[] = { 0, 0, 0xffffffff, 0 };
	struct op_test *t = *state;
	struct oracle_op x;

	memcpy(t->oracle.area[0].shadow, list, sizeof(list));
	op_put(t, W_HBM, list, sizeof(list));
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 3);
	op_dim(&x.op.src, 3, 4, 100);
	op_dim(&x.op.dst, 3, 4, 12);
	x.op.flags = NEURON_UDMA_OP_SRC_INDEXED;
	x.op.nr_index = 4;
	x.op.index_limit = 3;
	x.op.index = at(W_HBM, 0);
	x.src[0] = at(W_SBUF, 0);
	x.dst[0] = at(W_PSUM, 0);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.op.index + 4);
	assert_true(t->work.bad_list);
	x.op.index_limit = 4;
	x.op.index = at(W_WRITE, 0);
	fails(t, &x, NEURON_CAUSE_RIGHTS, false, 0, x.op.index);
	assert_true(t->work.bad_list);
	x.op.index = at(W_SEM, 0);
	x.op.nr_index = 1;
	x.op.src.num[3] = 1;
	x.op.dst.num[3] = 1;
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.op.index);
	x.op.nr_index = 4;
	x.op.src.num[3] = 4;
	x.op.dst.num[3] = 4;
	/* Index times step: out of the window, and beyond 64 bits. */
	memcpy(t->oracle.area[0].shadow, far, sizeof(far));
	op_put(t, W_HBM, far, sizeof(far));
	x.op.index = at(W_HBM, 0);
	x.op.index_limit = UINT32_MAX;
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.op.index + 8);
	assert_true(t->work.bad_list);
	memcpy(t->oracle.area[0].shadow + 8, "\xfe\xff\xff\xff", 4);
	op_put(t, W_HBM, t->oracle.area[0].shadow, 16);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, at(W_SBUF, 100ull * 0xfffffffe));
	op_dim(&x.op.src, 3, 4, 1ll << 40);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.src[0]);
	op_dim(&x.op.src, 3, 4, INT64_MIN);
	fails(t, &x, NEURON_CAUSE_WINDOW, false, 0, x.src[0]);
}

/* All left out: nothing is touched, not even looked at. */
static void test_all_skipped(void **state)
{
	const uint32_t list[] = { 7, 8, 9 };
	struct op_test *t = *state;
	struct oracle_op x;

	memcpy(t->oracle.area[0].shadow, list, sizeof(list));
	op_put(t, W_HBM, list, sizeof(list));
	x = op_line(NEURON_UDMA_OP_COPY, NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 3);
	op_dim(&x.op.src, 3, 3, 100);
	op_dim(&x.op.dst, 3, 3, 12);
	x.op.flags = NEURON_UDMA_OP_DST_INDEXED | NEURON_UDMA_OP_OOB_SKIP;
	x.op.nr_index = 3;
	x.op.index_limit = 7;
	x.op.index = at(W_HBM, 0);
	x.src[0] = at(W_SBUF, 0);
	x.dst[0] = at(W_READ, 0);
	assert_int_equal(op_do(t, &x), 0);
	assert_int_equal(t->work.bytes, 0);
	op_check_memory(t, "skipped operation", 0);
	assert_int_equal(rig_violations(t->rig), 0);
}

/* Domain 0: no register, no semaphore, no way around an address's form. */
static void test_domain0(void **state)
{
	struct op_test *t = *state;
	const struct neuron_gen *gen = t->rig->chip[0]->gen;
	struct oracle_op x = op_plain(NEURON_UDMA_OP_COPY, NEURON_DTYPE_UINT32,
				   NEURON_DTYPE_UINT32);

	op_dim(&x.op.src, 0, 2, 8);
	op_dim(&x.op.dst, 0, 2, 8);
	t->access.domain = NULL;
	x.src[0] = rig_hbm_addr(t->rig, 0, 0x400000);
	x.dst[0] = rig_sem_addr(t->rig, 0) + NEURON_SEM_INC(4);
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	assert_true(t->work.bad_dst);
	x.dst[0] = neuron_fabric_addr(1, rig_sem_addr(t->rig, 0) + NEURON_SEM_INC(4));
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	x.dst[0] = gen->apb_addr[0];
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	x.dst[0] = RIG_NOWHERE;
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	x.dst[0] = rig_hbm_addr(t->rig, 0, 0x500000);
	x.src[0] = rig_sem_addr(t->rig, 0);
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	assert_false(t->work.bad_dst);
	/* From this chip's HBM to the fabric by a step. */
	x.src[0] = rig_hbm_addr(t->rig, 0, 0);
	op_dim(&x.op.src, 0, 2, 1ll << 62);
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	op_dim(&x.op.src, 0, 2, 1ll << 48);
	x.src[0] = neuron_fabric_addr(0, rig_hbm_addr(t->rig, 0, 0));
	assert_int_equal(op_do(t, &x), NEURON_CAUSE_ADDRESS);
	op_dim(&x.op.src, 0, 2, 8);
	assert_int_equal(op_do(t, &x), 0);
	x.src[0] = neuron_fabric_addr(1, rig_hbm_addr(t->rig, 0, 0));
	assert_int_equal(op_do(t, &x), 0);
	assert_int_equal(t->work.hops, 1);
	assert_int_equal(trn_sem_value(t->rig->chip[0]->core[0].sems, 4), 0);
	assert_int_equal(trn_sem_value(t->rig->chip[1]->core[0].sems, 4), 0);
	t->access.domain = t->domain;
	assert_int_equal(rig_violations(t->rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_index_limit),
		cmocka_unit_test_setup_teardown(test_ends, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_steps, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_index_errors, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_all_skipped, op_setup, op_teardown),
		cmocka_unit_test_setup_teardown(test_domain0, op_setup, op_teardown),
	};

	return cmocka_run_group_tests_name("udma_op_errors", tests, NULL, NULL);
}
