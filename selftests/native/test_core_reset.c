// SPDX-License-Identifier: MIT
/*
 * Reset of a core and of the chip, stop and go, with jobs in them.
 */
#include "job_rig.h"
#include "ring_rig.h"

#include <string.h>

#define SYNC	NEURON_ENGINE_SYNC

static void wait_reset(struct job_rig *job)
{
	assert_true(job_wait_reg(job, NEURON_CORE_RESET, 0));
	assert_true(job_wait_reg(job, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
}

/* Everything at once: spinning, waiting, copying without end. */
static void make_busy(struct job_rig *job, struct rig *rig, unsigned int core)
{
	unsigned int q, n;

	job_init(job, rig, 0, core);
	for (q = 0; q < JOB_QUEUES; q++)
		for (n = 0; n < JOB_RING; n++)
			job_copy(job, q, neuron_window_addr(JOB_W_SBUF, q << 20),
				 job_host_at(0), 65536);
	job_again(job, NEURON_ENGINE_TENSOR);
	job_take(job, NEURON_ENGINE_VECTOR, 77, 1);
	job_halt(job, NEURON_ENGINE_VECTOR);
	for (q = 0; q < JOB_QUEUES; q++)
		job_trigger(job, SYNC, q, JOB_RING, JOB_RING);
	job_store(job, SYNC, job_sem_at(3), 1);
	job_again(job, NEURON_ENGINE_SCALAR);
	job_take(job, SYNC, 78, 1);
	job_halt(job, SYNC);
}

static bool running(void *arg)
{
	struct job_rig *job = arg;

	return trn_sem_value(job->core->sems, 3) > 0;
}

/* Histories of semaphores and remembered instructions go, the clocks of the core stay. */
static void a_reset_gives_back_what_the_job_left(void **state)
{
	const size_t clocks = NEURON_KIB(12);
	struct rig *rig = *state;
	struct job_rig job;
	size_t before;

	make_busy(&job, rig, 1);
	before = trn_chip_own_bytes(rig->chip[0]);
	job_submit(&job);
	assert_true(fake_wait(running, &job));
	assert_true(trn_chip_own_bytes(rig->chip[0]) > before + clocks + NEURON_KIB(8));
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	wait_reset(&job);
	assert_true(trn_chip_own_bytes(rig->chip[0]) <= before + clocks);
}

static void a_reset_aborts_the_job_and_scrubs_the_core(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	struct job_rig job;
	unsigned int i;

	make_busy(&job, rig, 1);
	memset(job_host_ptr(&job), 0x77, 65536);
	memset(job.core->psum, 0x77, 4096);
	trn_sems_write(job.core->sems, NEURON_SEM_EVENT(4), 1, 0);
	job_submit(&job);
	assert_true(fake_wait(running, &job));
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	wait_reset(&job);

	assert_int_equal(job.completion->job_id, job.block->job_id);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	assert_int_equal(job.completion->cause, NEURON_CAUSE_RESET);
	assert_true(job_wait_reg(&job, NEURON_CORE_CAUSE,
				 NEURON_CORE_CAUSE_DONE |
					 NEURON_CORE_CAUSE_RESET));
	assert_true(fake_irqs(&rig->port[0], 1) >= 1);
	for (i = 0; i < NEURON_TPB_SBUF_SIZE; i += 997)
		assert_int_equal(job.core->sbuf[i], 0);
	for (i = 0; i < 4096; i++)
		assert_int_equal(job.core->psum[i], 0);
	assert_int_equal(trn_sem_value(job.core->sems, 3), 0);
	assert_int_equal(trn_sems_read(job.core->sems, NEURON_SEM_EVENT(4)), 0);
	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		assert_int_equal(job_reg(&job, NEURON_CORE_ENGINE(i)),
				 NEURON_ENGINE_HALTED);
		assert_int_equal(job_reg(&job, NEURON_CORE_PC(i)), 0);
	}
	/* The queues are as after power-on, and the core takes the next job. */
	ring_alloc(&ring, rig, 0, 16, 0, 32);
	assert_int_equal(trn_chip_mmio_read(rig->chip[0],
					    ring_reg(&ring, false,
						     NEURON_UDMA_Q_CFG), 4),
			 NEURON_UDMA_Q_CFG_RESET);
	ring_program(&ring);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_run(&ring, 1, 1);
	job_end_cause(&job, NEURON_CORE_CAUSE_RESET);
	job_init(&job, rig, 0, 1);
	job_run(&job);
}

static void a_reset_leaves_the_neighbours_alone(void **state)
{
	struct rig *rig = *state;
	struct job_rig busy, near;
	struct ring_pair ring;
	unsigned int round;

	make_busy(&busy, rig, 1);
	job_init(&near, rig, 0, 0);
	job_take(&near, SYNC, 0, 1);
	job_copy(&near, 0, neuron_window_addr(JOB_W_SBUF, 0), job_host_at(0), 4096);
	job_trigger(&near, SYNC, 0, 1, 1);
	job_halt(&near, SYNC);
	rig_fill(rig, job_host_ptr(&near), 4096);
	ring_alloc(&ring, rig, 0, neuron_copy_engine(rig->chip[0]->gen, 0), 0,
		   32);
	ring_program(&ring);

	for (round = 0; round < 10; round++) {
		job_submit(&near);
		job_submit(&busy);
		assert_true(fake_wait(running, &busy));
		job_reg_write(&busy, NEURON_CORE_RESET, 1);
		ring_copy(&ring, 0x1000, 0x2000, 4);
		ring_run(&ring, 1, 1);
		wait_reset(&busy);
		assert_int_equal(busy.completion->status, NEURON_JOB_ABORTED);
		assert_int_equal(job_reg(&near, NEURON_CORE_STATUS),
				 NEURON_CORE_RUNNING);
		job_post(&near, 0, 1);
		job_wait(&near);
		assert_int_equal(near.completion->status, NEURON_JOB_OK);
		assert_memory_equal(near.core->sbuf, job_host_ptr(&near), 4096);
	}
}

static void a_reset_waits_for_queues_of_domain_0(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	struct job_rig job;
	unsigned int round, i;

	job_init(&job, rig, 0, 1);
	memset(rig->chip[0]->hbm[1], 0x77, 65536);
	for (round = 0; round < 30; round++) {
		ring_alloc(&ring, rig, 0, 17, 2, 32);
		ring_program(&ring);
		for (i = 0; i < 32; i++)
			ring_copy(&ring, rig_sbuf_addr(rig, 1) + i * 65536,
				  rig_hbm_addr(rig, 1, 0), 65536);
		ring_doorbell(&ring, 32, 32);
		job_reg_write(&job, NEURON_CORE_RESET, 1);
		wait_reset(&job);
		/* Nothing writes to the core any more. */
		for (i = 0; i < 32; i++)
			assert_int_equal(job.core->sbuf[i * 65536 + 65535], 0);
	}
}

static void a_core_in_reset_refuses_doorbells(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 1);
	/* A stopped chip keeps the reset from getting done. */
	fake_chip_stop(rig->chip[0]);
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	assert_int_equal(job_reg(&job, NEURON_CORE_RESET), 1);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS),
			 NEURON_CORE_RESETTING);
	job_submit(&job);
	job_assert_refused(&job);
	trn_chip_resume(rig->chip[0]);
	wait_reset(&job);
	assert_true(job_wait_reg(&job, NEURON_CORE_CAUSE,
				 NEURON_CORE_CAUSE_RESET));
	job_reg_write(&job, NEURON_CORE_CAUSE, ~0u);
	job_run(&job);
}

static void a_doorbell_before_the_reset_is_aborted(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	make_busy(&job, rig, 1);
	fake_chip_stop(rig->chip[0]);
	job_submit(&job);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS),
			 NEURON_CORE_RUNNING);
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	trn_chip_resume(rig->chip[0]);
	wait_reset(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	assert_int_equal(job.completion->instructions, 0);
}

static void a_reset_of_an_idle_core_is_fine(void **state)
{
	struct job_rig job;
	unsigned int i;

	job_init(&job, *state, 0, 6);
	for (i = 0; i < 10; i++) {
		job.core->sbuf[12345] = 1;
		job_reg_write(&job, NEURON_CORE_RESET, 1);
		wait_reset(&job);
		assert_int_equal(job.core->sbuf[12345], 0);
	}
	assert_int_equal(job_reg(&job, NEURON_CORE_JOBS), 0);
}

static void the_end_of_a_reset_and_its_cause_are_one(void **state)
{
	struct job_rig job;
	unsigned int i;

	job_init(&job, *state, 0, 6);
	for (i = 0; i < 500; i++) {
		job_reg_write(&job, NEURON_CORE_RESET, 1);
		while (job_reg(&job, NEURON_CORE_RESET))
			;
		assert_int_equal(job_reg(&job, NEURON_CORE_CAUSE),
				 NEURON_CORE_CAUSE_RESET);
		assert_int_equal(job_reg(&job, NEURON_CORE_STATUS),
				 NEURON_CORE_IDLE);
		job_reg_write(&job, NEURON_CORE_CAUSE, ~0u);
	}
}

static void the_end_of_a_job_and_its_cause_are_one(void **state)
{
	struct job_rig job;
	unsigned int i;

	job_init(&job, *state, 0, 6);
	job_halt(&job, SYNC);
	for (i = 0; i < 500; i++) {
		job_submit(&job);
		while (job_reg(&job, NEURON_CORE_STATUS))
			;
		assert_int_equal(job_reg(&job, NEURON_CORE_CAUSE),
				 NEURON_CORE_CAUSE_DONE);
		job_reg_write(&job, NEURON_CORE_CAUSE, ~0u);
		job_submit(&job);
		while (!job_reg(&job, NEURON_CORE_CAUSE))
			;
		assert_int_equal(job_reg(&job, NEURON_CORE_STATUS),
				 NEURON_CORE_IDLE);
		job_reg_write(&job, NEURON_CORE_CAUSE, ~0u);
	}
}

/* --- Stop and go of the whole chip --- */

static void a_stopped_chip_goes_on_where_it_was(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int q, n, i;

	job_init(&job, rig, 0, 0);
	rig_fill(rig, job.hbm + JOB_AT_DATA, 0x10000);
	for (q = 0; q < JOB_QUEUES; q++) {
		for (n = 0; n < JOB_RING; n++)
			job_copy(&job, q,
				 job_host_at(q * 0x10000 + n * 0x1000 % 0x10000),
				 job_hbm_at(n * 0x1000 % 0x10000), 0x1000);
		job_trigger(&job, SYNC, q, JOB_RING, JOB_RING);
	}
	job_halt(&job, SYNC);
	for (i = 0; i < 20; i++) {
		memset(job_host_ptr(&job), 0, JOB_HOST_BYTES);
		job_submit(&job);
		for (n = 0; n < 5; n++) {
			fake_chip_stop(rig->chip[0]);
			trn_chip_resume(rig->chip[0]);
		}
		job_wait(&job);
		assert_int_equal(job.completion->status, NEURON_JOB_OK);
		assert_int_equal(job.completion->dma_bytes,
				 JOB_QUEUES * JOB_RING * 0x1000);
		for (q = 0; q < JOB_QUEUES; q++)
			assert_memory_equal(job_host_ptr(&job) + q * 0x10000,
					    job.hbm + JOB_AT_DATA, 0x10000);
	}
}

static void a_chip_reset_forgets_the_job(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	make_busy(&job, rig, 1);
	job_submit(&job);
	assert_true(fake_wait(running, &job));
	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	assert_int_equal(job_reg(&job, NEURON_CORE_PROGRESS), 0);
	assert_int_equal(job.completion->status, NEURON_JOB_NONE);
	job_init(&job, rig, 0, 1);
	job_run(&job);
}

/* A reset that the chip's own software asks for. */
static void a_device_reset_aborts_every_job(void **state)
{
	struct rig *rig = *state;
	uint64_t reset = rig->chip[0]->gen->reset_bar0;
	struct job_rig job[2];
	unsigned int c;

	for (c = 0; c < 2; c++) {
		make_busy(&job[c], rig, c);
		job_submit(&job[c]);
		assert_true(fake_wait(running, &job[c]));
	}
	trn_chip_mmio_write(rig->chip[0], reset, 0, 4);
	assert_true(fake_wait_reg(rig->chip[0], reset, ~0u, 0));
	for (c = 0; c < 2; c++) {
		assert_int_equal(job[c].completion->status, NEURON_JOB_ABORTED);
		assert_int_equal(job[c].completion->cause, NEURON_CAUSE_RESET);
		assert_int_equal(job[c].completion->job_id,
				 job[c].block->job_id);
		assert_int_equal(job_reg(&job[c], NEURON_CORE_STATUS),
				 NEURON_CORE_IDLE);
		job_init(&job[c], rig, 0, c);
		job_run(&job[c]);
	}
}

/* The tear-down frees the chip with the job in it. */
static void a_chip_may_go_with_a_job_in_it(void **state)
{
	struct job_rig job;

	make_busy(&job, *state, 1);
	job_submit(&job);
	assert_true(fake_wait(running, &job));
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reset_aborts_the_job_and_scrubs_the_core),
		TEST(a_reset_gives_back_what_the_job_left),
		TEST(a_reset_leaves_the_neighbours_alone),
		TEST(a_reset_waits_for_queues_of_domain_0),
		TEST(a_core_in_reset_refuses_doorbells),
		TEST(a_doorbell_before_the_reset_is_aborted),
		TEST(a_reset_of_an_idle_core_is_fine),
		TEST(the_end_of_a_reset_and_its_cause_are_one),
		TEST(the_end_of_a_job_and_its_cause_are_one),
		TEST(a_stopped_chip_goes_on_where_it_was),
		TEST(a_chip_reset_forgets_the_job),
		TEST(a_device_reset_aborts_every_job),
		TEST(a_chip_may_go_with_a_job_in_it),
	};

	return cmocka_run_group_tests_name("core_reset", tests, NULL, NULL);
}
