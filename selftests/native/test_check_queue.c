// SPDX-License-Identifier: MIT
/*
 * Checks on request: accesses of queues that nothing has put in order, those that
 * triggers and their posts have, order that comes by way of other jobs, and gangs.
 */
#include "check_rig.h"

#include <string.h>

#include "contract/job.h"
#include "contract/window.h"
#include "neuron/dma_op.h"

static void test_trigger(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	seq_copy(&t.job, 0, DATA(0), SBUF(0, 0), 64);
	check_post(&t, 0, 1);
	seq_copy(&t.job, 0, DATA(0x1000), SBUF(0, 0), 64);
	check_post(&t, 0, 1);
	check_add(&t, VECTOR, fill(0, 16), 1);
	check_add(&t, VECTOR, trigger(0, 2), 2);
	check_add(&t, VECTOR, wait_ge(fill(0, 16), 1, 1), 3);
	check_add(&t, VECTOR, trigger(0, 2), 4);
	check_add(&t, SCALAR, wait_ge(OP(REG_LOAD, .addr = DATA(0x1000), .reg = { 1 }),
				      1, 2), 5);
	check_add(&t, SCALAR, OP(REG_STORE, .addr = DATA(0), .reg = { 1 }), 6);
	check_run(&t);
	check_expect_none(&t);
	check_end(&t);
}

/* The engine does not wait until the queue has read; one worker: it comes first. */
static void test_early_write(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 1);
	seq_copy(&t.job, 0, DATA(0), SBUF(0, 0), 64);
	check_add(&t, VECTOR, fill(0, 16), 1);
	check_add(&t, VECTOR, trigger(0, 1), 2);
	check_add(&t, VECTOR, fill(0, 16), 3);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, 1);
	check_expect_line(&t, TRN_CHECK_RACE,
			  "DMA engine 16 queue 0 at descriptor 0 reads, in no order with the write of vector engine at instruction 2",
			  "SBUF of core 1 partition 0 offset 0x0");
	check_end(&t);
}

/* A wait for the first of two transfers does not cover the second. */
static void transfers(int value, unsigned int races)
{
	struct check_test t;

	check_begin(&t, races ? 1 : 2);
	memset(seq_data(&t.rig, 0, CORE), 1, 128);
	seq_copy(&t.job, 0, SBUF(0, 0), DATA(0), 64);
	check_post(&t, 0, 1);
	seq_copy(&t.job, 0, SBUF(0, 0x100), DATA(0), 64);
	check_post(&t, 0, 1);
	check_add(&t, SYNC, trigger(0, 4), 1);
	check_add(&t, VECTOR, wait_ge(OP(COPY, .dst = ap_sbuf(0, 1, 0x200, F32, 16),
					 .src0 = ap_sbuf(0, 1, 0, F32, 16)),
				      1, value), 2);
	check_add(&t, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x300, F32, 16),
				 .src0 = ap_sbuf(0, 1, 0x100, F32, 16)), 3);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, races);
	check_end(&t);
}

static void test_transfers(void **state)
{
	(void)state;
	transfers(2, 0);
	transfers(1, 1);
}

/* Two queues in HBM: at the same place, and side by side. */
static void test_hbm(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 1);
	memset(seq_data(&t.rig, 0, CORE), 1, 4096);
	seq_copy(&t.job, 0, DATA(0x1000), DATA(0), 100);
	seq_copy(&t.job, 1, DATA(0x1000 + 100), DATA(0), 100);
	seq_copy(&t.job, 1, DATA(0x1000 + 300), DATA(0), 10);
	seq_copy(&t.job, 0, DATA(0x1000 + 309), DATA(0), 10);
	check_add(&t, SYNC, trigger(0, 2), 1);
	check_add(&t, SYNC, trigger(1, 2), 2);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, 1);
	check_expect_line(&t, TRN_CHECK_RACE,
			  "DMA engine 17 queue 0 at descriptor 1 writes, in no order with the write of DMA engine 16 queue 0 at descriptor 1",
			  "HBM 0 offset 0x601135");
	check_end(&t);
}

/* Packets that instructions generate take the triggers in their order. */
static void generated(bool wait, unsigned int races)
{
	const struct neuron_udma_dge dge = {
		.op = {
			.op = NEURON_UDMA_OP_COPY,
			.nr_src = 1,
			.nr_dst = 1,
			.src_dtype = F32,
			.dst_dtype = F32,
			.src = { .num = { 16, 1, 1, 1 }, .step = { 4 } },
			.dst = { .num = { 16, 1, 1, 1 }, .step = { 4 } },
		},
		.src = { SBUF(0, 0) },
		.dst = { SBUF(0, 0x100) },
	};
	struct check_test t;

	check_begin(&t, races ? 1 : 2);
	seq_more_operators(&t.rig, true);
	memcpy(seq_data(&t.rig, 0, CORE), &dge, sizeof(dge));
	check_add(&t, VECTOR, fill(0, 16), 1);
	check_add(&t, VECTOR, OP(DMA_GENERATE, .addr = DATA(0)), 2);
	check_post(&t, 0, 1);
	check_add(&t, VECTOR, trigger(0, 1), 3);
	if (wait)
		check_add(&t, VECTOR, wait_ge(OP(NOP), 1, 1), 4);
	check_add(&t, VECTOR, fill(0x100, 16), 5);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, races);
	check_end(&t);
}

static void test_generated(void **state)
{
	(void)state;
	generated(true, 0);
	generated(false, 1);
}

/* --- other jobs --- */

/* The order goes by way of another core. */
static void test_other_core(void **state)
{
	struct seq_job other;
	struct check_test t;
	uint64_t there, back;

	(void)state;
	check_begin(&t, 3);
	seq_job_init(&other, &t.rig, 0, 0);
	there = seq_sem_window(&t.job, 0, 0, 9);
	back = seq_sem_window(&other, 0, CORE, 9);
	check_add(&t, VECTOR, fill(0, 16), 1);
	check_add(&t, VECTOR, OP(REG_SET, .reg = { 1 }, .imm0 = 1), 2);
	check_add(&t, VECTOR, OP(REG_STORE, .addr = there, .reg = { 1 }), 3);
	check_add(&t, SCALAR, wait_ge(copy(0x100, 0, 16), 9, 1), 4);
	check_add(&t, VECTOR, OP(HALT), 5);
	check_add(&t, SCALAR, OP(HALT), 5);
	seq_add(&other, SYNC, wait_ge(OP(REG_SET, .reg = { 1 }, .imm0 = 1), 9, 1));
	seq_add(&other, SYNC, OP(REG_STORE, .addr = back, .reg = { 1 }));
	seq_add(&other, SYNC, OP(HALT));
	t.job.block.sem_clear[0] = 0;
	other.block.sem_clear[0] = 0;
	seq_submit(&other);
	seq_submit(&t.job);
	assert_int_equal(seq_wait(&t.job).status, NEURON_JOB_OK);
	assert_int_equal(seq_wait(&other).status, NEURON_JOB_OK);
	check_expect_none(&t);
	check_end(&t);
}

/* --- gangs --- */

/*
 * Core 0 of a gang writes to SBUF of core 1, which reads it. @meet: it waits until core 0 says that
 * the bytes are there.
 */
static void gang(bool meet, unsigned int races)
{
	static const char race_of_gang[] =
		"descriptor 0 writes, in no order with the read of core 1 vector engine";
	const uint32_t one = 1;
	struct seq_job first;
	struct check_test t;
	uint64_t there;

	check_begin(&t, 1);
	seq_job_init(&first, &t.rig, 0, 0);
	memset(seq_data(&t.rig, 0, 0), 1, 128);
	memcpy(seq_data(&t.rig, 0, 0) + 128, &one, sizeof(one));
	first.window[first.nr_windows] =
		neuron_hw_window_grant(NEURON_WINDOW_RIGHTS,
				       t.rig.chip[0]->gen->tpb_addr[CORE] + NEURON_TPB_SBUF,
				       NEURON_TPB_SBUF_STRIDE, 0);
	seq_copy(&first, 0, neuron_window_addr(first.nr_windows++, 0), DATA(0), 64);
	seq_copy(&first, 0, neuron_window_addr(SEQ_SEM, 4), DATA(128), 4);
	there = seq_sem_window(&first, 0, CORE, 9);
	seq_add(&first, SYNC, trigger(0, 2));
	seq_add(&first, SYNC, wait_ge(OP(REG_SET, .reg = { 1 }, .imm0 = 1), 1, 1));
	seq_add(&first, SYNC, OP(REG_STORE, .addr = there, .reg = { 1 }));
	seq_add(&first, SYNC, OP(HALT));
	check_add(&t, VECTOR, wait_ge(OP(NOP), 9, meet), 1);
	check_add(&t, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x100, F32, 16),
				 .src0 = ap_sbuf(0, 1, 0, F32, 16)), 2);
	check_add(&t, VECTOR, OP(HALT), 3);
	neuron_hw_job_gang(&first.block, 7, 2, 0);
	neuron_hw_job_gang(&t.job.block, 7, 2, 1);
	seq_submit(&first);
	seq_submit(&t.job);
	seq_step(&t.rig);
	assert_int_equal(seq_wait(&first).status, NEURON_JOB_OK);
	assert_int_equal(seq_wait(&t.job).status, NEURON_JOB_OK);
	check_expect(&t, TRN_CHECK_RACE, races);
	if (races)
		assert_true(fake_logged(&t.rig.port[0], race_of_gang));
	else
		check_expect_none(&t);
	check_end(&t);
}

static void test_gang(void **state)
{
	(void)state;
	gang(true, 0);
	gang(false, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trigger),
		cmocka_unit_test(test_early_write),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_hbm),
		cmocka_unit_test(test_generated),
		cmocka_unit_test(test_other_core),
		cmocka_unit_test(test_gang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
