// SPDX-License-Identifier: MIT
/*
 * Doorbells served in the thread that rings them: what is short is done when the
 * register write returns, what is long gets to a worker.
 */
#include "job_rig.h"
#include "ring_rig.h"

#include <string.h>

#define LONG_NS		UINT32_MAX	/* the time is not what limits here */

static void begin(struct rig *rig)
{
	assert_true(trn_pool_inline_begin(rig->pool, LONG_NS));
}

static void end(struct rig *rig)
{
	trn_pool_inline_end(rig->pool);
}

/* True when the descriptors of both sides have been done. */
static bool ring_done(const struct ring_pair *ring)
{
	return !(ring_read(ring, false, NEURON_UDMA_Q_STATUS) &
		 NEURON_UDMA_Q_PTR) &&
	       !(ring_read(ring, true, NEURON_UDMA_Q_STATUS) &
		 NEURON_UDMA_Q_PTR);
}

static void test_short_copy(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int irqs;
	uint64_t src;
	uint8_t *ptr;

	ring_make(&ring, rig, 64);
	ring_wait_quiet(&ring);
	src = rig_random_host(rig, 4096, &ptr);
	ring_ctl_write(&ring, NEURON_DMA_MASK, 0);
	ring_ctl_write(&ring, NEURON_DMA_VECTOR, 1);
	irqs = fake_irqs(&rig->port[0], 1);
	ring_copy(&ring, rig_hbm_addr(rig, 0, 0), src, 4096);
	ring.s2m[0].len_ctrl |= NEURON_UDMA_DESC_INT_EN;
	begin(rig);
	ring_doorbell(&ring, 1, 1);
	end(rig);
	assert_true(ring_done(&ring));
	assert_memory_equal(trn_chip_hbm(rig->chip[0], 0), ptr, 4096);
	assert_int_equal(fake_irqs(&rig->port[0], 1), irqs + 1);
	assert_true(trn_chip_quiet(rig->chip[0]));
}

/* More than the thread may copy: it is not held up, the workers do the rest. */
static void test_long_copy(void **state)
{
	const uint32_t len = 65536;
	struct rig *rig = *state;
	struct ring_pair ring;
	uint64_t src;
	uint8_t *ptr;
	unsigned int i;

	ring_make(&ring, rig, 64);
	ring_wait_quiet(&ring);
	src = rig_random_host(rig, 8 * len, &ptr);
	for (i = 0; i < 8; i++)
		ring_copy(&ring, rig_hbm_addr(rig, 0, i * len), src + i * len,
			  len);
	begin(rig);
	ring_doorbell(&ring, 8, 8);
	end(rig);
	ring_wait(&ring);
	assert_memory_equal(trn_chip_hbm(rig->chip[0], 0), ptr, 8 * len);
}

static bool record_is_ok(struct job_rig *job)
{
	return job->completion->status == NEURON_JOB_OK;
}

static void test_empty_job(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 1);
	job_halt(&job, NEURON_ENGINE_SYNC);
	begin(rig);
	job_submit(&job);
	end(rig);
	assert_true(record_is_ok(&job));
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	job_wait(&job);
}

/* Its DMA and the engine that waits for it as well. */
static void test_short_job(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	rig_fill(rig, job_host_ptr(&job), 4096);
	job_copy(&job, 0, job_hbm_at(0), job_host_at(0), 4096);
	job_trigger(&job, NEURON_ENGINE_SYNC, 0, 1, 1);
	job_halt(&job, NEURON_ENGINE_SYNC);
	begin(rig);
	job_submit(&job);
	end(rig);
	assert_true(record_is_ok(&job));
	assert_memory_equal(job.hbm + JOB_AT_DATA, job_host_ptr(&job), 4096);
	job_wait(&job);
}

/* An engine that waits leaves the thread; a post by MMIO brings the job back. */
static void test_waiting_job(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_take(&job, NEURON_ENGINE_SYNC, 7, 1);
	job_halt(&job, NEURON_ENGINE_SYNC);
	begin(rig);
	job_submit(&job);
	end(rig);
	assert_int_equal(job.completion->status, NEURON_JOB_NONE);
	begin(rig);
	job_post(&job, 7, 1);
	end(rig);
	assert_true(record_is_ok(&job));
	job_wait(&job);
}

/* A tile instruction is work for a worker. */
static void test_computing_job(void **state)
{
	struct rig *rig = *state;
	struct neuron_inst *inst;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	inst = job_inst(&job, NEURON_ENGINE_VECTOR, NEURON_OP_MEMSET);
	inst->dst = (struct neuron_ap){
		.num = { 64, 1, 1, 1 },
		.step = { 1, 64, 64, 64 },
		.partitions = 128,
		.dtype = NEURON_DTYPE_FP32,
	};
	inst->imm0 = 0x3f800000;
	job_halt(&job, NEURON_ENGINE_VECTOR);
	begin(rig);
	job_submit(&job);
	end(rig);
	job_wait(&job);
	assert_true(record_is_ok(&job));
}

/* A window table that takes long to read is one for a worker. */
static void test_long_table(void **state)
{
	struct rig *rig = *state;
	struct neuron_hw_window *table;
	struct job_rig job;
	uint64_t at;

	job_init(&job, rig, 0, 0);
	job_halt(&job, NEURON_ENGINE_SYNC);
	at = rig_host(rig, 0, 4000 * sizeof(*table));
	table = rig_host_ptr(rig, 0, at);
	memcpy(table, job.windows, JOB_NR_WINDOWS * sizeof(*table));
	job.block->window_table = rig_host_addr(rig, 0, at);
	job.block->nr_windows = 4000;
	begin(rig);
	job_submit(&job);
	end(rig);
	job_wait(&job);
	assert_true(record_is_ok(&job));
}

/* Resets never run in the thread, and are not lost either. */
static void test_core_reset(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_take(&job, NEURON_ENGINE_SYNC, 7, 1);
	job_halt(&job, NEURON_ENGINE_SYNC);
	begin(rig);
	job_submit(&job);
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	end(rig);
	assert_true(job_wait_reg(&job, NEURON_CORE_RESET, 0));
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(test_##name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(short_copy),
		TEST(long_copy),
		TEST(empty_job),
		TEST(short_job),
		TEST(waiting_job),
		TEST(computing_job),
		TEST(long_table),
		TEST(core_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
