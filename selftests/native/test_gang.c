// SPDX-License-Identifier: MIT
/*
 * Gangs: jobs of several cores that start together and, when one fails, end together.
 */
#include <string.h>

#include "contract/window.h"
#include "base/trn_chip.h"
#include "core/trn_gang.h"
#include "job_rig.h"
#include "seq_rig.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SIZE	4
/* Of the jobs, in host memory. */
#define HOST_AT	4096

/* Member @index of @size of gang @gang, on unit @core of chip 0. */
static void member_init(struct job_rig *job, struct rig *rig, unsigned int core,
			uint64_t gang, uint16_t size, uint16_t index)
{
	job_init(job, rig, 0, core);
	job->block->job_id = gang << 8 | index;
	job->block->gang = gang;
	job->block->gang_size = size;
	job->block->gang_index = index;
	job->block->nr_queues = 0;
}

/* Cores 0 to 2, and the first CC-core of core 2. */
static unsigned int unit(const struct rig *rig, unsigned int i)
{
	return i < 3 ? i : JOB_CC(2 * neuron_cc_per_core(rig->chip[0]->gen));
}

/* It takes the memory of the gang before it, of which nothing runs any more. */
static void gang_init(struct job_rig job[SIZE], struct rig *rig, uint64_t gang)
{
	uint16_t i;

	rig->host_next[0] = HOST_AT;
	memset(rig_host_ptr(rig, 0, HOST_AT), 0, 2 * SIZE * JOB_HOST_BYTES);
	for (i = 0; i < SIZE; i++)
		member_init(&job[i], rig, unit(rig, i), gang, SIZE, i);
}

/* Whether the job's core is counted among the members of the job's gang. */
static bool is_member(void *arg)
{
	struct job_rig *job = arg;
	struct trn_gangs *gangs = job->core->chip->gangs;
	bool found = false;
	unsigned int i;

	pthread_mutex_lock(&gangs->lock);
	for (i = 0; i < gangs->nr && !found; i++)
		found = gangs->gang[i].id == job->block->gang &&
			(gangs->gang[i].units & NEURON_BIT(job->core->index));
	pthread_mutex_unlock(&gangs->lock);
	return found;
}

/* Ring and see that the job waits for the rest of its gang. */
static void submit_and_see(struct job_rig *job)
{
	job_submit(job);
	assert_true(fake_wait(is_member, job));
}

static void expect_waiting(struct job_rig *job)
{
	unsigned int e;

	assert_int_equal(job_reg(job, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	assert_int_equal(job->completion->status, NEURON_JOB_NONE);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		assert_int_equal(job_reg(job, NEURON_CORE_ENGINE(e)),
				 NEURON_ENGINE_HALTED);
}

static void expect_ok(struct job_rig *job)
{
	job_wait(job);
	assert_int_equal(job->completion->cause, NEURON_CAUSE_NONE);
	assert_int_equal(job->completion->status, NEURON_JOB_OK);
}

/* Ended by the failure of member @culprit. */
static void expect_gang(struct job_rig *job, unsigned int culprit)
{
	job_wait(job);
	assert_int_equal(job->completion->status, NEURON_JOB_ERROR);
	assert_int_equal(job->completion->cause, NEURON_CAUSE_GANG);
	assert_int_equal(job->completion->source, NEURON_SOURCE_JOB);
	assert_int_equal(job->completion->pc, culprit);
}

static void expect_error(struct job_rig *job, enum neuron_cause cause)
{
	job_wait(job);
	assert_int_equal(job->completion->cause, cause);
	assert_int_equal(job->completion->status, NEURON_JOB_ERROR);
}

/* A gang of the same cores, without fault, after whatever came before. */
static void expect_next_gang_runs(struct rig *rig, uint64_t gang)
{
	struct job_rig job[SIZE];
	unsigned int i;

	gang_init(job, rig, gang);
	for (i = 0; i < SIZE; i++)
		job_halt(&job[i], SYNC);
	for (i = SIZE; i--;)
		job_submit(&job[i]);
	for (i = 0; i < SIZE; i++)
		expect_ok(&job[i]);
}

static void wait_reset(struct job_rig *job)
{
	assert_true(job_wait_reg(job, NEURON_CORE_RESET, 0));
	assert_true(job_wait_reg(job, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
}

/* --- Start --- */

static void none_starts_before_the_last_doorbell(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[SIZE];
	unsigned int i, last;

	for (last = 0; last < SIZE; last++) {
		gang_init(job, rig, 100 + last);
		for (i = 0; i < SIZE; i++) {
			job_store(&job[i], SYNC, job_sem_at(9), 1);
			job_halt(&job[i], SYNC);
			if (i != last)
				submit_and_see(&job[i]);
		}
		for (i = 0; i < SIZE; i++) {
			if (i != last)
				expect_waiting(&job[i]);
			assert_int_equal(trn_sem_value(job[i].core->sems, 9), last);
		}
		job_submit(&job[last]);
		for (i = 0; i < SIZE; i++) {
			expect_ok(&job[i]);
			assert_int_equal(job[i].completion->instructions, 3);
			assert_int_equal(trn_sem_value(job[i].core->sems, 9), last + 1);
		}
	}
}

/* As many as job_init() has memory for. */
#define MOST	16

static void a_gang_of_many_units(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	struct job_rig job[MOST];
	uint16_t nr = (uint16_t)neuron_nr_units(gen), i;

	nr = nr < MOST ? nr : MOST;
	for (i = 0; i < nr; i++) {
		member_init(&job[i], rig, neuron_unit_number(gen, i), 1, nr, i);
		job_halt(&job[i], SYNC);
	}
	for (i = 0; i < nr; i++)
		job_submit(&job[i]);
	for (i = 0; i < nr; i++)
		expect_ok(&job[i]);
}

/*
 * Each member posts to the next one as soon as it runs, to a semaphore that the other
 * one's job clears: nothing may be lost.
 */
static void posts_of_a_member_find_cleared_semaphores(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[3];
	unsigned int i, round;

	for (i = 0; i < 3; i++) {
		member_init(&job[i], rig, i, 1, 3, (uint16_t)i);
		job[i].windows[JOB_W_PEER_SEM] =
			neuron_hw_window_sems(NEURON_WINDOW_WRITE, rig_sem_addr(rig, (i + 1) % 3),
					      0, NEURON_NR_SEMAPHORES, 0);
		job_store(&job[i], SYNC, neuron_window_addr(JOB_W_PEER_SEM, 5 * 4), 1);
		job_take(&job[i], SYNC, 5, 1);
		job_halt(&job[i], SYNC);
		job[i].block->sem_clear[0] = 1 << 5;
	}
	for (round = 0; round < 300; round++) {
		for (i = 0; i < 3; i++) {
			job[i].block->gang = 1 + round;
			job_post(&job[i], 5, 1);	/* of an earlier job, say */
		}
		for (i = 0; i < 3; i++)
			job_submit(&job[(i + round) % 3]);
		for (i = 0; i < 3; i++)
			expect_ok(&job[i]);
	}
}

/* --- Failures --- */

static void a_fault_ends_all_members(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[SIZE];
	unsigned int i, culprit;

	for (culprit = 0; culprit < SIZE; culprit++) {
		gang_init(job, rig, 200 + culprit);
		for (i = 0; i < SIZE; i++) {
			job_take(&job[i], SYNC, 3, 1);	/* the others for ever */
			job_inst(&job[i], SYNC, NEURON_OP_ILLEGAL);
			job_submit(&job[i]);
		}
		job_post(&job[culprit], 3, 1);
		for (i = 0; i < SIZE; i++) {
			if (i != culprit) {
				expect_gang(&job[i], culprit);
				continue;
			}
			expect_error(&job[i], NEURON_CAUSE_OPCODE);
			assert_int_equal(job[i].completion->source, SYNC);
			assert_int_equal(job[i].completion->pc, 1);
		}
		expect_next_gang_runs(rig, 300 + culprit);
	}
	assert_true(fake_logged(&rig->port[0], "member 3 of its gang 0xcb failed"));
}

/* What had ended before has its own result. */
static void a_member_that_has_ended_stays_so(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		member_init(&job[i], rig, i, 5, 2, (uint16_t)i);
	job_halt(&job[0], SYNC);
	job_take(&job[1], SYNC, 3, 1);
	job_inst(&job[1], SYNC, NEURON_OP_ILLEGAL);
	job_submit(&job[0]);
	job_submit(&job[1]);
	expect_ok(&job[0]);
	job_post(&job[1], 3, 1);
	expect_error(&job[1], NEURON_CAUSE_OPCODE);
	assert_int_equal(job[0].completion->status, NEURON_JOB_OK);
	assert_int_equal(job_reg(&job[0], NEURON_CORE_JOBS), 1);
}

/* Ways to refuse a member with a record. */
static enum neuron_cause bad_version(struct job_rig *job)
{
	job->block->version = 77;
	return NEURON_CAUSE_JOB;
}

static enum neuron_cause bad_windows(struct job_rig *job)
{
	job->windows[JOB_W_HBM].base = RIG_NOWHERE;
	return NEURON_CAUSE_JOB;
}

static enum neuron_cause no_window_table(struct job_rig *job)
{
	job->block->window_table = RIG_NOWHERE;
	return NEURON_CAUSE_ADDRESS;
}

static enum neuron_cause no_such_chip(struct job_rig *job)
{
	job->windows[JOB_W_PEER] = neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_READ,
							   neuron_fabric_addr(9, 0), 4096);
	return NEURON_CAUSE_FABRIC;
}

static enum neuron_cause (*const refusals[])(struct job_rig *job) = {
	bad_version, bad_windows, no_window_table, no_such_chip,
};

#define NR_REFUSALS	(sizeof(refusals) / sizeof(refusals[0]))

/* Whether it comes first, last or between the others. */
static void a_refused_member_ends_all(void **state)
{
	struct rig *rig = *state;
	unsigned int n, i, at;

	for (n = 0; n < NR_REFUSALS * SIZE; n++) {
		struct job_rig job[SIZE];
		enum neuron_cause cause;

		gang_init(job, rig, 400 + n);
		cause = refusals[n / SIZE](&job[2]);
		for (i = 0; i < SIZE; i++) {
			job_take(&job[i], SYNC, 3, 1);
			job_halt(&job[i], SYNC);
		}
		for (i = 0; i < SIZE; i++) {
			at = (i + n) % SIZE;
			job_submit(&job[at]);
			if (at == 2)
				expect_error(&job[2], cause);
		}
		for (i = 0; i < SIZE; i++)
			if (i != 2)
				expect_gang(&job[i], 2);
		expect_next_gang_runs(rig, 500 + n);
	}
}

static void a_taken_queue_ends_all_members(void **state)
{
	struct rig *rig = *state;
	struct job_rig other, job[2];

	job_init(&other, rig, 0, JOB_CC(0));
	job_take(&other, SYNC, 3, 1);
	job_halt(&other, SYNC);
	job_submit(&other);
	member_init(&job[0], rig, 0, 9, 2, 0);
	member_init(&job[1], rig, 1, 9, 2, 1);
	job[0].block->nr_queues = 1;
	job[0].queues[0] = other.queues[0];
	job_halt(&job[1], SYNC);
	assert_true(job_wait_reg(&other, NEURON_CORE_ENGINE(SYNC),
				 NEURON_ENGINE_WAITING));
	submit_and_see(&job[1]);
	job_submit(&job[0]);
	expect_error(&job[0], NEURON_CAUSE_QUEUE);
	expect_gang(&job[1], 0);
	job_post(&other, 3, 1);
	expect_ok(&other);
}

/* There is no record, but the block says which gang it was. */
static void a_member_without_a_record_ends_all(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[2];

	member_init(&job[0], rig, 0, 11, 2, 0);
	member_init(&job[1], rig, 1, 11, 2, 1);
	job_halt(&job[1], SYNC);
	submit_and_see(&job[1]);
	job[0].block->completion += 4;
	job_submit(&job[0]);
	job_assert_refused(&job[0]);
	expect_gang(&job[1], 0);
}

/* Nobody knows whose member it was: a reset ends the others. */
static void an_unreadable_block_leaves_the_others_waiting(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[2];

	member_init(&job[0], rig, 0, 12, 2, 0);
	member_init(&job[1], rig, 1, 12, 2, 1);
	job_halt(&job[1], SYNC);
	submit_and_see(&job[1]);
	job[0].block_at = RIG_NOWHERE;
	job_submit(&job[0]);
	job_assert_refused(&job[0]);
	expect_waiting(&job[1]);
	job_reg_write(&job[1], NEURON_CORE_RESET, 1);
	wait_reset(&job[1]);
	assert_int_equal(job[1].completion->status, NEURON_JOB_ABORTED);
	job_reg_write(&job[1], NEURON_CORE_CAUSE, ~0u);
	expect_next_gang_runs(rig, 13);
}

static void members_that_do_not_fit_end_all(void **state)
{
	static const struct {
		uint16_t size;
		uint16_t index;
	} misfits[] = {
		{ 3, 0 }, { 4, 1 }, { 2, 1 }, { 3, 3 }, { 1, 0 }, { 33, 1 },
		{ 0, 0 }, { 0xffff, 0xfffe },
	};
	struct rig *rig = *state;
	struct job_rig job[3];
	unsigned int n;

	for (n = 0; n < sizeof(misfits) / sizeof(misfits[0]); n++) {
		member_init(&job[0], rig, 0, 20 + n, 3, 0);
		member_init(&job[1], rig, 1, 20 + n, misfits[n].size, misfits[n].index);
		member_init(&job[2], rig, 2, 20 + n, 3, 2);
		submit_and_see(&job[0]);
		job_submit(&job[1]);
		expect_error(&job[1], NEURON_CAUSE_JOB);
		expect_gang(&job[0], misfits[n].index);
		job_run_fault(&job[2], NEURON_CAUSE_GANG);
		assert_int_equal(job[2].completion->pc, misfits[n].index);
	}
	expect_next_gang_runs(rig, 40);
}

static void a_block_without_a_gang_has_no_member(void **state)
{
	struct job_rig job;

	job_init(&job, *state, 0, 0);
	job.block->gang_index = 1;
	job_run_fault(&job, NEURON_CAUSE_JOB);
	job.block->gang_index = 0;
	job.block->gang_size = 2;
	job_run_fault(&job, NEURON_CAUSE_JOB);
}

/* Gangs that never get complete do not pile up, and take nobody's room. */
static void failed_gangs_are_remembered_for_a_while(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[2], waiting[2];
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		member_init(&waiting[i], rig, 2 + i, 50, 2, (uint16_t)i);
		job_halt(&waiting[i], SYNC);
	}
	submit_and_see(&waiting[0]);
	for (n = 0; n < 200; n++) {
		member_init(&job[0], rig, 0, 1000 + n, 2, 0);
		job[0].block->flags = 0x8000;
		job_run_fault(&job[0], NEURON_CAUSE_JOB);
		rig->host_next[0] = waiting[1].host_at + JOB_HOST_BYTES;
	}
	/* The newest ones still end who comes late. */
	for (n = 200 - NEURON_MAX_UNITS / 2; n < 200; n++) {
		member_init(&job[1], rig, 1, 1000 + n, 2, 1);
		job_run_fault(&job[1], NEURON_CAUSE_GANG);
		assert_int_equal(job[1].completion->pc, 0);
		rig->host_next[0] = waiting[1].host_at + JOB_HOST_BYTES;
	}
	job_submit(&waiting[1]);
	expect_ok(&waiting[0]);
	expect_ok(&waiting[1]);
}

/* --- Resets --- */

static void a_reset_of_a_waiting_member_ends_all(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[SIZE];
	unsigned int i;

	gang_init(job, rig, 60);
	for (i = 0; i < SIZE; i++)
		job_halt(&job[i], SYNC);
	for (i = 0; i < SIZE - 1; i++)
		submit_and_see(&job[i]);
	job_reg_write(&job[1], NEURON_CORE_RESET, 1);
	wait_reset(&job[1]);
	assert_int_equal(job[1].completion->status, NEURON_JOB_ABORTED);
	assert_int_equal(job[1].completion->cause, NEURON_CAUSE_RESET);
	job_reg_write(&job[1], NEURON_CORE_CAUSE, ~0u);
	expect_gang(&job[0], 1);
	expect_gang(&job[2], 1);
	job_submit(&job[3]);
	expect_gang(&job[3], 1);
	expect_next_gang_runs(rig, 61);
}

static void a_reset_of_a_running_member_ends_all(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[SIZE];
	unsigned int i;

	gang_init(job, rig, 62);
	for (i = 0; i < SIZE; i++) {
		job_take(&job[i], SYNC, 3, 1);
		job_halt(&job[i], SYNC);
		job_submit(&job[i]);
	}
	for (i = 0; i < SIZE; i++)
		assert_true(job_wait_reg(&job[i], NEURON_CORE_ENGINE(SYNC),
					 NEURON_ENGINE_WAITING));
	job_reg_write(&job[0], NEURON_CORE_RESET, 1);
	wait_reset(&job[0]);
	assert_int_equal(job[0].completion->status, NEURON_JOB_ABORTED);
	job_reg_write(&job[0], NEURON_CORE_CAUSE, ~0u);
	for (i = 1; i < SIZE; i++)
		expect_gang(&job[i], 0);
	expect_next_gang_runs(rig, 63);
}

static void device_reset(struct rig *rig)
{
	uint64_t reset = rig->chip[0]->gen->reset_bar0;

	trn_chip_mmio_write(rig->chip[0], reset, 0, 4);
	assert_true(fake_wait_reg(rig->chip[0], reset, ~0u, 0));
}

/* It also forgets gangs: their numbers can be used again. */
static void a_device_reset_ends_waiting_members(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[SIZE];
	unsigned int i;

	gang_init(job, rig, 64);
	for (i = 0; i < SIZE - 1; i++)
		submit_and_see(&job[i]);
	device_reset(rig);
	for (i = 0; i < SIZE - 1; i++) {
		assert_int_equal(job[i].completion->status, NEURON_JOB_ABORTED);
		assert_int_equal(job[i].completion->cause, NEURON_CAUSE_RESET);
	}
	expect_next_gang_runs(rig, 64);
}

/* The chip does not find it out; the cores stay resettable. */
static void two_gangs_in_opposite_order_need_a_reset(void **state)
{
	struct rig *rig = *state;
	struct job_rig a[2], b[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		member_init(&a[i], rig, i, 70, 2, (uint16_t)i);
		member_init(&b[i], rig, i, 71, 2, (uint16_t)i);
		job_halt(&a[i], SYNC);
		job_halt(&b[i], SYNC);
	}
	submit_and_see(&a[0]);
	submit_and_see(&b[1]);
	job_submit(&a[1]);
	job_assert_refused(&a[1]);
	job_submit(&b[0]);
	job_assert_refused(&b[0]);
	expect_waiting(&a[0]);
	expect_waiting(&b[1]);
	for (i = 0; i < 2; i++) {
		struct job_rig *job = i ? &b[1] : &a[0];

		job_reg_write(job, NEURON_CORE_RESET, 1);
		wait_reset(job);
		assert_int_equal(job->completion->status, NEURON_JOB_ABORTED);
		job_reg_write(job, NEURON_CORE_CAUSE, ~0u);
	}
	expect_next_gang_runs(rig, 72);
}

/* Faults, resets and late members at any moment: whatever ends, all of it ends. */
static void races_end_in_a_defined_way(void **state)
{
	struct rig *rig = *state;
	struct job_rig job[SIZE];
	unsigned int i, round, failed = 0;

	gang_init(job, rig, 1);
	for (i = 0; i < SIZE; i++) {
		job_take(&job[i], SYNC, 3, 1);
		job_halt(&job[i], SYNC);
		job[i].block->sem_clear[0] = 0;
	}
	for (round = 0; round < 150; round++) {
		unsigned int victim = rig_random(rig, SIZE);

		for (i = 0; i < SIZE; i++) {
			job[i].block->gang = 2000 + round;
			job_submit(&job[i]);
			if (i == victim)
				job_reg_write(&job[i], NEURON_CORE_RESET, 1);
		}
		for (i = 0; i < SIZE; i++)
			if (i != victim)
				job_post(&job[i], 3, 1);
		for (i = 0; i < SIZE; i++)
			assert_true(job_wait_reg(&job[i], NEURON_CORE_STATUS,
						 NEURON_CORE_IDLE));
		for (i = 0; i < SIZE; i++) {
			const struct neuron_hw_completion *record = job[i].completion;

			failed += record->cause == NEURON_CAUSE_GANG;
			if (i == victim)
				assert_int_equal(record->status, NEURON_JOB_ABORTED);
			else if (record->status != NEURON_JOB_OK)
				assert_int_equal(record->pc, victim);
			job_reg_write(&job[i], NEURON_CORE_CAUSE, ~0u);
			job_reg_write(&job[i], NEURON_CORE_RESET, 1);
			wait_reset(&job[i]);
			job_reg_write(&job[i], NEURON_CORE_CAUSE, ~0u);
		}
	}
	assert_true(failed);
}

/* --- Device time --- */

/* Rounds of work on three cores, who wait for each other; then what it took. */
static void timed_gangs(unsigned int workers, struct neuron_hw_completion record[3])
{
	struct seq_rig rig;
	struct seq_job job[3];
	unsigned int i, k;

	seq_rig_init(&rig, fake_gen(), workers, 1, true);
	for (i = 0; i < 3; i++) {
		seq_job_init(&job[i], &rig, 0, i);
		for (k = 0; k < 20 * (i + 1); k++)
			seq_add(&job[i], VECTOR, OP(NOP, 0));
		seq_add(&job[i], VECTOR, OP(HALT, 0));
		record[i] = seq_run(&job[i]);
	}
	assert_true(record[0].end_ns < record[1].end_ns);
	assert_true(record[1].end_ns < record[2].end_ns);
	for (i = 0; i < 3; i++) {
		uint64_t next;

		seq_job_init(&job[i], &rig, 0, i);
		job[i].block.gang = 1;
		job[i].block.gang_size = 3;
		job[i].block.gang_index = (uint16_t)i;
		next = seq_sem_window(&job[i], 0, (i + 1) % 3, 4);
		for (k = 0; k < 8; k++) {
			seq_add(&job[i], SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 1));
			seq_add(&job[i], SYNC, OP(REG_STORE, .reg = { 1 }, .addr = next));
			seq_add(&job[i], SYNC, take_ge(OP(NOP, 0), 4, 1));
		}
		seq_add(&job[i], SYNC, OP(HALT, 0));
	}
	/* The first one's own time is the earliest. */
	for (i = 0; i < 3; i++)
		seq_submit(&job[i]);
	for (i = 0; i < 3; i++) {
		uint64_t latest = record[2].end_ns;
		struct neuron_hw_completion now = seq_wait(&job[i]);

		assert_int_equal(now.status, NEURON_JOB_OK);
		if (i == 2)
			assert_int_equal(now.start_ns, latest);
		record[i] = now;
	}
	seq_rig_destroy(&rig);
	for (i = 0; i < 3; i++)
		assert_int_equal(record[i].start_ns, record[2].start_ns);
}

static void members_start_at_one_device_time(void **state)
{
	struct neuron_hw_completion first[3], again[3];
	unsigned int workers;

	(void)state;
	timed_gangs(1, first);
	assert_true(first[0].end_ns > first[0].start_ns);
	for (workers = 1; workers < 5; workers++) {
		timed_gangs(workers, again);
		assert_memory_equal(first, again, sizeof(first));
	}
}

int main(void)
{
#define with_rig(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		with_rig(none_starts_before_the_last_doorbell),
		with_rig(a_gang_of_many_units),
		with_rig(posts_of_a_member_find_cleared_semaphores),
		with_rig(a_fault_ends_all_members),
		with_rig(a_member_that_has_ended_stays_so),
		with_rig(a_refused_member_ends_all),
		with_rig(a_taken_queue_ends_all_members),
		with_rig(a_member_without_a_record_ends_all),
		with_rig(an_unreadable_block_leaves_the_others_waiting),
		with_rig(members_that_do_not_fit_end_all),
		with_rig(a_block_without_a_gang_has_no_member),
		with_rig(failed_gangs_are_remembered_for_a_while),
		with_rig(a_reset_of_a_waiting_member_ends_all),
		with_rig(a_reset_of_a_running_member_ends_all),
		with_rig(a_device_reset_ends_waiting_members),
		with_rig(two_gangs_in_opposite_order_need_a_reset),
		with_rig(races_end_in_a_defined_way),
		cmocka_unit_test(members_start_at_one_device_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
