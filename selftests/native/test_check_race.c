// SPDX-License-Identifier: MIT
/*
 * Checks on request: accesses of engines that nothing has put in order, and many
 * that semaphores and events have.
 */
#include "check_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- engines --- */

/* A read after a write, a write after a read, a write after a write. */
static void test_engines(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 1);
	check_add(&t, VECTOR, fill(0x100, 16), 10);
	check_add(&t, VECTOR, fill(0x200, 16), 11);
	check_add(&t, VECTOR, copy(0x300, 0x200, 4), 12);
	check_add(&t, SCALAR, copy(0x400, 0x120, 4), 20);
	check_add(&t, SCALAR, copy(0x200, 0x400, 4), 21);
	check_add(&t, SCALAR, copy(0x300, 0x400, 4), 22);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, 3);
	assert_int_equal(trn_chip_check_reports(t.rig.chip[0]), 3);
	check_expect_line(&t, TRN_CHECK_RACE,
			  "scalar engine at instruction 0 (line 20) reads, in no order with the write of vector engine at instruction 0",
			  "SBUF of core 1 partition 0 offset 0x120");
	check_expect_line(&t, TRN_CHECK_RACE,
			  "scalar engine at instruction 1 (line 21) writes, in no order with the write of vector engine at instruction 1",
			  "SBUF of core 1 partition 0 offset 0x200");
	check_expect_line(&t, TRN_CHECK_RACE,
			  "scalar engine at instruction 2 (line 22) writes, in no order with the write of vector engine at instruction 2",
			  "SBUF of core 1 partition 0 offset 0x300");
	check_end(&t);
}

static void note_report(void *opaque, const struct trn_report *report)
{
	struct fake_port *port = opaque;
	char line[256];

	assert_non_null(report->other);
	snprintf(line, sizeof(line), "unit %u job %" PRIu64 " %s: %u at %u %s %u at %u: %s",
		 report->unit, report->job_id, report->kind, report->actor.source,
		 report->actor.pc, report->what, report->other->source, report->other->pc,
		 report->where);
	port->ops.log(opaque, TRN_LOG_INFO, line);
}

/* A host that takes reports gets their parts, and no line of the log. */
static void test_host_takes_reports(void **state)
{
	struct check_test t;
	char line[256];

	(void)state;
	check_begin(&t, 1);
	t.rig.port[0].ops.report = note_report;
	check_add(&t, VECTOR, fill(0x100, 16), 10);
	check_add(&t, SCALAR, wait_ge(OP(NOP), 1, 0), 20);
	check_add(&t, SCALAR, copy(0x400, 0x120, 4), 21);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, 1);
	snprintf(line, sizeof(line),
		 "unit %d job 4660 race: %d at 1 reads, in no order with the write of %d at 0: SBUF of core 1 partition 0 offset 0x120",
		 CORE, SCALAR, VECTOR);
	assert_true(fake_logged(&t.rig.port[0], line));
	assert_int_equal(fake_log_count(&t.rig.port[0], TRN_LOG_WARN), 0);
	check_end(&t);
}

static void test_write_after_read(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 1);
	check_add(&t, TENSOR, wait_ge(OP(LOAD_STATIONARY,
					 .src0 = ap_sbuf(0, 4, 0, BF16, 8)), 1, 1), 5);
	check_add(&t, VECTOR, post_add(fill(0, 4), 1, 1), 6);
	check_add(&t, VECTOR, fill(0, 4), 7);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, 1);
	check_end(&t);
}

/* Nothing is wrong with two readers, nor with neighbours of any width. */
static void test_disjoint(void **state)
{
	struct neuron_ap even = ap_dim(ap_sbuf(0, 4, 0x200, BF16, 64), 0, 64, 2);
	struct neuron_ap odd = ap_dim(ap_sbuf(0, 4, 0x202, BF16, 64), 0, 64, 2);
	struct check_test t;

	(void)state;
	check_begin(&t, 3);
	check_add(&t, GPSIMD, post_add(fill(0, 16), 1, 2), 1);
	check_add(&t, GPSIMD, OP(MEMSET, .dst = odd), 2);
	check_add(&t, VECTOR, wait_ge(copy(0x100, 0, 3), 1, 2), 3);
	check_add(&t, VECTOR, OP(MEMSET, .dst = even), 4);
	check_add(&t, SCALAR, wait_ge(copy(0x10c, 0, 4), 1, 2), 5);
	check_run(&t);
	check_expect_none(&t);
	check_end(&t);
}

/* Two have to be waited for; what only one wait covers is told, every time. */
static void two_posters(int value, unsigned int races)
{
	struct check_test t;

	check_begin(&t, races ? 1 : 3);
	check_add(&t, VECTOR, post_add(fill(0, 16), 1, 1), 1);
	check_add(&t, GPSIMD, post_add(fill(0x100, 16), 1, 1), 2);
	check_add(&t, SCALAR, wait_ge(OP(NOP), 1, value), 5);
	check_add(&t, SCALAR, copy(0x200, 0, 16), 6);
	check_add(&t, SCALAR, copy(0x300, 0x100, 16), 7);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, races);
	check_end(&t);
}

static void test_two_posters(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		two_posters(1, 1);
		two_posters(2, 0);
	}
}

/* The post came before the write that it should have told of. */
static void test_early_post(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 1);
	check_add(&t, VECTOR, post_add(fill(0, 16), 1, 1), 1);
	check_add(&t, VECTOR, fill(0x100, 16), 2);
	check_add(&t, SCALAR, wait_ge(copy(0x200, 0, 16), 1, 1), 3);
	check_add(&t, SCALAR, copy(0x300, 0x100, 16), 4);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, 1);
	check_expect_line(&t, TRN_CHECK_RACE,
			  "scalar engine at instruction 1 (line 4) reads, in no order with the write of vector engine at instruction 1",
			  "SBUF of core 1 partition 0 offset 0x100");
	check_end(&t);
}

#define LAPS	300

/* A producer with @credits of room in @buffers of a ring, and its consumer. */
static void ring(unsigned int credits, unsigned int races)
{
	struct check_test t;
	unsigned int i;

	check_begin(&t, races ? 1 : 2);
	check_add(&t, VECTOR, OP(REG_SET, .reg = { 1 }, .imm0 = LAPS), 1);
	for (i = 0; i < 2; i++)
		check_add(&t, VECTOR, post_add(take_ge(fill(0x100 * i, 16), 1, 1), 2, 1),
			  2 + i);
	check_add(&t, VECTOR, OP(LOOP, .reg = { 1 }, .addr = 1), 4);
	check_add(&t, SCALAR, post_add(OP(REG_SET, .reg = { 1 }, .imm0 = LAPS), 1,
				       (int)credits), 5);
	for (i = 0; i < 2; i++)
		check_add(&t, SCALAR, post_add(take_ge(copy(0x1000, 0x100 * i, 16), 2, 1),
					       1, 1), 6 + i);
	check_add(&t, SCALAR, OP(LOOP, .reg = { 1 }, .addr = 1), 8);
	check_run(&t);
	if (!races)
		check_expect_none(&t);
	else
		assert_true(trn_check_count(t.rig.chip[0], TRN_CHECK_RACE) >= races);
	check_end(&t);
}

static void test_ring(void **state)
{
	(void)state;
	ring(1, 0);
	ring(2, 0);
	ring(3, 1);
}

/* Three engines hand the same bytes round, by counting up, events and setting. */
static void relay(struct check_test *t, enum neuron_engine engine, unsigned int first)
{
	unsigned int next = first % 3 + 1;

	check_add(t, engine, OP(REG_SET, .reg = { 1 }, .imm0 = LAPS), 1);
	check_add(t, engine, take_ge(copy(0x40, 0, 16), first, 1), 2);
	check_add(t, engine, OP(EVENT_SET, .imm0 = first), 3);
	check_add(t, engine, OP(EVENT_WAIT, .imm0 = first, .flags = NEURON_INST_CLEAR), 4);
	check_add(t, engine, post_add(copy(0, 0x40, 16), next, 1), 5);
	check_add(t, engine, OP(LOOP, .reg = { 1 }, .addr = 1), 6);
}

static void begin_relay(struct check_test *t)
{
	memset(t->job.block.event_own, 0xff, sizeof(t->job.block.event_own));
	check_add(t, SYNC, trigger(0, 5), 1);
	seq_copy(&t->job, 0, SBUF(0, 0), DATA(0), 128);
	seq_copy(&t->job, 0, SBUF(1, 0), DATA(0), 128);
	seq_copy(&t->job, 0, SBUF(2, 0), DATA(0), 128);
	seq_copy(&t->job, 0, SBUF(3, 0), DATA(0), 128);
	check_post(t, 0, 1);
	relay(t, VECTOR, 1);
	relay(t, SCALAR, 2);
	relay(t, GPSIMD, 3);
}

static void test_relay(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 3);
	memset(seq_data(&t.rig, 0, CORE), 1, 128);
	begin_relay(&t);
	check_run(&t);
	check_expect_none(&t);
	check_end(&t);
}

/* Device time does not change; nor do two jobs race with each other. */
static void test_same_time(void **state)
{
	struct neuron_hw_completion with, without;
	struct check_test t;

	(void)state;
	check_begin(&t, 3);
	memset(seq_data(&t.rig, 0, CORE), 1, 128);
	begin_relay(&t);
	check_run(&t);
	check_next_job(&t);
	begin_relay(&t);
	check_add(&t, SYNC, OP(HALT), 0);
	check_add(&t, VECTOR, OP(HALT), 0);
	check_add(&t, SCALAR, OP(HALT), 0);
	check_add(&t, GPSIMD, OP(HALT), 0);
	with = seq_run(&t.job);
	check_expect_none(&t);
	check_end(&t);

	seq_rig_init(&t.rig, &neuron_gen_trn2, 3, 1, true);
	check_next_job(&t);
	begin_relay(&t);
	check_run(&t);
	without = seq_run(&t.job);
	assert_int_equal(with.status, NEURON_JOB_OK);
	assert_memory_equal(&with, &without, sizeof(with));
	check_end(&t);
}

/* --- events, values that are set, equality --- */

static void events(bool wait, unsigned int races)
{
	struct check_test t;

	check_begin(&t, 1);
	memset(t.job.block.event_own, 0xff, sizeof(t.job.block.event_own));
	check_add(&t, VECTOR, fill(0, 16), 1);
	check_add(&t, VECTOR, OP(EVENT_SET, .imm0 = 7), 2);
	if (wait)
		check_add(&t, SCALAR, OP(EVENT_WAIT, .imm0 = 7), 3);
	check_add(&t, SCALAR, copy(0x100, 0, 16), 4);
	check_run(&t);
	check_expect(&t, TRN_CHECK_RACE, races);
	check_end(&t);
}

static void test_events(void **state)
{
	(void)state;
	events(true, 0);
	events(false, 1);
}

static void test_set_and_equal(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 3);
	check_add(&t, VECTOR, post(fill(0, 16), 1, NEURON_SYNC_POST_SET, 5), 1);
	check_add(&t, SCALAR, wait_ge(copy(0x100, 0, 16), 1, 5), 2);
	check_add(&t, SCALAR, post(OP(NOP), 1, NEURON_SYNC_POST_SUB, 5), 3);
	check_add(&t, VECTOR, wait_eq(fill(0, 16), 1, 0), 4);
	check_add(&t, VECTOR, post(OP(NOP), 1, NEURON_SYNC_POST_SUB, 1), 5);
	check_add(&t, SCALAR, wait_eq(copy(0x100, 0, 16), 1, -1), 6);
	check_add(&t, SCALAR, OP(SEM_RANGE_CLEAR, .imm0 = 1, .imm1 = 2), 7);
	check_add(&t, VECTOR, wait_eq(fill(0x100, 16), 1, 0), 8);
	check_run(&t);
	check_expect_none(&t);
	check_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_host_takes_reports),
		cmocka_unit_test(test_write_after_read),
		cmocka_unit_test(test_disjoint),
		cmocka_unit_test(test_two_posters),
		cmocka_unit_test(test_early_post),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_relay),
		cmocka_unit_test(test_same_time),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_set_and_equal),
	};

	unsetenv("NEURON_TEST_CHECK");		/* without is without */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
