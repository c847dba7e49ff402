// SPDX-License-Identifier: MIT
/* A range of semaphores is cleared: which ones, whose, and when. */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR

static int setup(void **state)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	assert_non_null(rig);
	seq_rig_init(rig, &neuron_gen_trn2, 2, 1, true);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

static struct neuron_inst clear(unsigned int first, unsigned int last)
{
	return OP(SEM_RANGE_CLEAR, .imm0 = first, .imm1 = last);
}

static struct seq_job *job_new(struct seq_rig *rig)
{
	struct seq_job *job = malloc(sizeof(*job));

	assert_non_null(job);
	seq_job_init(job, rig, 0, 0);
	return job;
}

static void clears_both_ends_and_between(void **state)
{
	struct trn_sems *sems = seq_core(*state, 0, 0)->sems;
	struct seq_job *job = job_new(*state);
	unsigned int i;

	for (i = 4; i <= 9; i++)
		seq_add(job, SYNC, post(OP(NOP, 0), i, NEURON_SYNC_POST_SET,
					i == 6 ? -3 : (int)i));
	seq_add(job, SYNC, clear(5, 8));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_ok(job);
	for (i = 4; i <= 9; i++)
		assert_int_equal(trn_sem_value(sems, i), i == 4 || i == 9 ? i : 0);
	free(job);
}

/* A waiter for zero goes on; the instruction's own wait and post are as ever. */
static void wakes_waiters(void **state)
{
	struct trn_sems *sems = seq_core(*state, 0, 0)->sems;
	struct seq_job *job = job_new(*state);

	seq_add(job, SYNC, post_add(OP(NOP, 0), 30, 5));
	seq_add(job, SYNC, post_add(OP(NOP, 0), 31, 1));
	seq_add(job, SYNC, post_add(take_ge(clear(0, 30), 32, 1), 33, 1));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_add(job, VECTOR, wait_ge(OP(NOP, 0), 31, 1));
	seq_add(job, VECTOR, post_add(OP(NOP, 0), 32, 1));
	seq_add(job, VECTOR, wait_eq(OP(NOP, 0), 30, 0));
	seq_add(job, VECTOR, wait_ge(OP(NOP, 0), 33, 1));
	seq_add(job, VECTOR, OP(HALT, 0));
	seq_expect_ok(job);
	assert_int_equal(trn_sem_value(sems, 30), 0);
	assert_int_equal(trn_sem_value(sems, 31), 1);
	assert_int_equal(trn_sem_value(sems, 33), 1);
	free(job);
}

/* In device time, too, the waiter waits for the clearing. */
static void takes_its_time(void **state)
{
	uint64_t ns[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct seq_job *job = job_new(*state);
		struct neuron_hw_completion record;

		seq_add(job, VECTOR, post_add(OP(NOP, 0), 40, 1));
		seq_add(job, VECTOR, wait_eq(OP(NOP, 0), 40, 0));
		seq_add(job, VECTOR, OP(HALT, 0));
		seq_add(job, SYNC,
			wait_ge(OP(REG_SET, .reg = { 1 }, .imm0 = i ? 100 : 1), 40, 1));
		seq_add(job, SYNC, OP(LOOP, .reg = { 1 }, .addr = 1));
		seq_add(job, SYNC, clear(40, 41));
		seq_add(job, SYNC, OP(HALT, 0));
		record = seq_run(job);
		assert_int_equal(record.status, NEURON_JOB_OK);
		ns[i] = record.end_ns - record.start_ns;
		free(job);
	}
	/* 99 more turns of 16 cycles at 1.2 GHz */
	assert_in_range(ns[1] - ns[0], 99 * 16 * 10 / 12 - 1, 99 * 16 * 10 / 12 + 1);
}

static void only_the_jobs_own(void **state)
{
	struct seq_job *job = job_new(*state);

	job->block.sem_own[0] &= ~(1ull << 12);
	seq_add(job, SYNC, clear(0, 11));
	seq_add(job, SYNC, clear(13, 255));
	seq_add(job, SYNC, clear(10, 14));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_fault(job, NEURON_CAUSE_SEMAPHORE, SYNC, 2);
	free(job);
}

static void expect_refused(void **state, struct neuron_inst inst,
			   enum neuron_cause cause)
{
	struct seq_job *job = job_new(*state);

	seq_add(job, SYNC, inst);
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_fault(job, cause, SYNC, 0);
	free(job);
}

static void refuses_other_ranges(void **state)
{
	struct neuron_inst inst = clear(1, 2);

	expect_refused(state, clear(2, 1), NEURON_CAUSE_OPERAND);
	expect_refused(state, clear(255, 256), NEURON_CAUSE_SEMAPHORE);
	expect_refused(state, clear(256, 0xffffffff), NEURON_CAUSE_SEMAPHORE);
	inst.reg[0] = 1;
	expect_refused(state, inst, NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clears_both_ends_and_between),
		cmocka_unit_test(wakes_waiters),
		cmocka_unit_test(takes_its_time),
		cmocka_unit_test(only_the_jobs_own),
		cmocka_unit_test(refuses_other_ranges),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
