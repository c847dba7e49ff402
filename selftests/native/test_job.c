// SPDX-License-Identifier: MIT
/*
 * Jobs from the doorbell to the completion record.
 */
#include "job_rig.h"

#include <string.h>
#include <time.h>

#include "contract/job.h"
#include "fault/trn_inject_text.h"

#define SYNC	NEURON_ENGINE_SYNC
#define GPSIMD	NEURON_ENGINE_GPSIMD

/* --- Start and completion --- */

static void a_job_without_engines_completes_at_once(void **state)
{
	struct job_rig job;

	job_init(&job, *state, 0, 0);
	job_run(&job);
	job_run(&job);
	assert_int_equal(job_reg(&job, NEURON_CORE_JOBS), 2);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	job.block->nr_queues = 0;
	job.block->nr_windows = 0;
	job.block->queue_table = ~0ull;
	job.block->window_table = ~0ull;
	job_run(&job);
}

static void every_engine_must_halt(void **state)
{
	struct job_rig job;
	unsigned int e;

	job_init(&job, *state, 0, 3);
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		job_take(&job, e, e, 1);
		job_halt(&job, e);
	}
	job_submit(&job);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		assert_true(job_wait_reg(&job, NEURON_CORE_ENGINE(e),
					 NEURON_ENGINE_WAITING));
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		assert_int_equal(job_reg(&job, NEURON_CORE_STATUS),
				 NEURON_CORE_RUNNING);
		assert_int_equal(job.completion->status, NEURON_JOB_NONE);
		job_post(&job, e, 1);
	}
	job_wait(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_OK);
	assert_int_equal(job.completion->instructions, 10);
	assert_true(job_reg(&job, NEURON_CORE_BUSY_NS) > 0);
	assert_int_equal(job_reg(&job, NEURON_CORE_PROGRESS), 10);
}

static void triggered_copies_are_byte_exact(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int q;

	job_init(&job, rig, 0, 1);
	rig_fill(rig, job_host_ptr(&job), 0x20000);
	for (q = 0; q < JOB_QUEUES; q++) {
		job_copy(&job, q, job_hbm_at(q * 0x20000 + 3),
			 job_host_at(q * 0x1000), 65536);
		job_copy(&job, q, job_host_at(0x20000 + q * 0x1000),
			 job_hbm_at(q * 0x20000 + 3), 4000);
		job_trigger(&job, SYNC, q, 2, 2);
	}
	job_halt(&job, SYNC);
	job_run(&job);
	for (q = 0; q < JOB_QUEUES; q++) {
		assert_memory_equal(job.hbm + JOB_AT_DATA + q * 0x20000 + 3,
				    job_host_ptr(&job) + q * 0x1000, 65536);
		assert_memory_equal(job_host_ptr(&job) + 0x20000 + q * 0x1000,
				    job_host_ptr(&job) + q * 0x1000, 4000);
	}
	assert_int_equal(job.completion->dma_bytes, JOB_QUEUES * 69536);
	assert_int_equal(job.completion->instructions, 5);
	assert_true(job.completion->end_ns > job.completion->start_ns);
	/* The queues are nobody's again. */
	for (q = 0; q < JOB_QUEUES; q++)
		assert_int_equal(trn_udma_read(job.core->chip,
					       job.queues[q].dma_engine,
					       NEURON_UDMA_M2S_Q(q) +
						       NEURON_UDMA_Q_LENGTH),
				 0);
}

/* The doorbell rewinds the rings: the same images run again and again. */
static void a_job_runs_again_from_the_start_of_its_rings(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int i, n;

	job_init(&job, rig, 0, 0);
	for (n = 0; n < 10; n++)
		job_copy(&job, 0, job_hbm_at(n * 64), job_host_at(n * 64), 64);
	job_trigger(&job, SYNC, 0, 10, 10);
	job_halt(&job, SYNC);
	for (i = 0; i < 20; i++) {
		rig_fill(rig, job_host_ptr(&job), 640);
		job_run(&job);
		assert_memory_equal(job.hbm + JOB_AT_DATA, job_host_ptr(&job), 640);
	}
}

/* Triggers that hit a queue at every point of its runs. */
static void many_small_triggers_lose_nothing(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int i, q, n;

	job_init(&job, rig, 0, 0);
	for (q = 0; q < JOB_QUEUES; q++) {
		for (n = 0; n < JOB_PROGRAM - 1; n++) {
			job_copy(&job, q, job_hbm_at((q * 64 + n) * 64),
				 job_host_at(n * 64), 64);
			job_trigger(&job, q, q, 1, 1);
		}
		job_halt(&job, q);
	}
	for (i = 0; i < 200; i++) {
		rig_fill(rig, job_host_ptr(&job), 64 * (JOB_PROGRAM - 1));
		job_run(&job);
		for (q = 0; q < JOB_QUEUES; q++)
			assert_memory_equal(job.hbm + JOB_AT_DATA + q * 4096,
					    job_host_ptr(&job),
					    64 * (JOB_PROGRAM - 1));
	}
}

static void listed_semaphores_are_zero_at_the_start(void **state)
{
	struct job_rig job;

	job_init(&job, *state, 0, 0);
	job_post(&job, 7, 100);
	job_post(&job, 200, 100);
	job.block->sem_clear[0] = 1 << 7;
	job_run(&job);
	assert_int_equal(trn_sem_value(job.core->sems, 7), 0);
	assert_int_equal(trn_sem_value(job.core->sems, 200), 100);
}

/* --- Completion is the last thing that happens --- */

static struct {
	uint64_t record;	/* bus address */
	_Atomic unsigned int after;
	_Atomic unsigned int data;
	_Atomic bool seen;
	_Atomic bool early;	/* a status before the rest of the record */
} slow;

/* Memory so slow that a record written early would be seen. */
static bool slow_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	const struct timespec nap = { .tv_nsec = 300000 };
	const struct neuron_hw_completion *record = buf;
	struct fake_port *port = opaque;

	if (addr == slow.record && record->status)
		atomic_store(&slow.early, true);
	if (addr >= slow.record &&
	    addr < slow.record + sizeof(struct neuron_hw_completion)) {
		atomic_store(&slow.seen, true);
	} else {
		nanosleep(&nap, NULL);
		atomic_fetch_add(atomic_load(&slow.seen) ? &slow.after :
							    &slow.data, 1);
	}
	memcpy(port->host + addr, buf, len);
	return true;
}

static void the_record_is_written_when_all_has_drained(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int q, n;

	job_init(&job, rig, 0, 2);
	memset(&slow, 0, sizeof(slow));
	slow.record = job.block->completion - rig_host_addr(rig, 0, 0);
	rig->port[0].ops.host_write = slow_write;
	for (q = 0; q < JOB_QUEUES; q++) {
		for (n = 0; n < 20; n++)
			job_copy(&job, q, job_host_at(q * 0x8000 + n * 0x400),
				 job_hbm_at(n * 0x400), 0x400);
		job_trigger(&job, SYNC, q, 20, 20);
	}
	job_halt(&job, SYNC);	/* long before the queues are done */
	rig_fill(rig, job.hbm + JOB_AT_DATA, 20 * 0x400);
	job_run(&job);
	assert_int_equal(atomic_load(&slow.data), JOB_QUEUES * 20);
	assert_int_equal(atomic_load(&slow.after), 0);
	assert_false(atomic_load(&slow.early));
	for (q = 0; q < JOB_QUEUES; q++)
		assert_memory_equal(job_host_ptr(&job) + q * 0x8000,
				    job.hbm + JOB_AT_DATA, 20 * 0x400);
}

static void the_next_doorbell_may_follow_the_interrupt(void **state)
{
	struct job_rig job;
	unsigned int i;

	job_init(&job, *state, 0, 5);
	job_halt(&job, SYNC);
	for (i = 0; i < 300; i++)
		job_run(&job);
	assert_int_equal(job_reg(&job, NEURON_CORE_JOBS), 300);
}

/* --- Doorbells that are refused --- */

static void a_doorbell_of_a_busy_core_is_refused(void **state)
{
	struct job_rig job, other;

	job_init(&job, *state, 0, 0);
	job_take(&job, SYNC, 9, 1);
	job_halt(&job, SYNC);
	job_submit(&job);
	assert_true(job_wait_reg(&job, NEURON_CORE_ENGINE(SYNC),
				 NEURON_ENGINE_WAITING));
	assert_int_equal(job_reg(&job, NEURON_CORE_WAIT(SYNC)), 9);

	job_init(&other, *state, 0, 0);
	job_submit(&other);
	job_assert_refused(&other);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS),
			 NEURON_CORE_RUNNING);
	assert_int_equal(other.completion->status, NEURON_JOB_NONE);

	job.irqs = fake_irqs(&job.rig->port[0], 0);
	job_post(&job, 9, 1);
	job_wait(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_OK);
	job_run(&other);
}

static void a_block_that_is_none_is_refused(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	uint64_t good;

	job_init(&job, rig, 0, 0);
	good = job.block_at;

	job.block_at = good + 64;
	job_submit(&job);
	job_assert_refused(&job);
	job.block_at = rig_host_addr(rig, 0, RIG_HOST_BYTES);
	job_submit(&job);
	job_assert_refused(&job);
	job.block_at = RIG_NOWHERE;
	job_submit(&job);
	job_assert_refused(&job);
	job.block_at = good;

	job.block->magic++;
	job_submit(&job);
	job_assert_refused(&job);
	job.block->magic--;

	good = job.block->completion;
	job.block->completion = good + 32;
	job_submit(&job);
	job_assert_refused(&job);
	job.block->completion = 0x1000;
	job_submit(&job);
	job_assert_refused(&job);
	job.block->completion = neuron_window_addr(JOB_W_HOST, 0);
	job_submit(&job);
	job_assert_refused(&job);
	job.block->completion = rig_host_addr(rig, 0, RIG_HOST_BYTES);
	job_submit(&job);
	job_assert_refused(&job);
	job.block->completion = good;

	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	job_run(&job);
}

/* --- Malformed blocks --- */

struct bad_field {
	const char *what;
	size_t offset;
	unsigned int size;
	uint64_t value;
};

#define BAD(what, type, field, value) \
	{ what, offsetof(type, field), sizeof(((type *)0)->field), value }
#define BLOCK(what, field, value) BAD(what, struct neuron_hw_job, field, value)
#define ENTRY(what, field, value) \
	BAD(what, struct neuron_hw_job_queue, field, value)

static const struct bad_field bad_blocks[] = {
	BLOCK("version", version, 2),
	BLOCK("version", version, 0),
	BLOCK("flags", flags, 8),
	BLOCK("reserved1", reserved1, 1),
	BLOCK("gang: without members", gang, 1),
	BLOCK("gang: size without a gang", gang_size, 2),
	BLOCK("gang: index without a gang", gang_index, 1),
	BLOCK("too many windows", nr_windows, NEURON_MAX_WINDOWS + 1),
	BLOCK("far too many windows", nr_windows, ~0u),
	BLOCK("too many queues", nr_queues, NEURON_JOB_MAX_QUEUES + 1),
	BLOCK("far too many queues", nr_queues, ~0u),
	BLOCK("start: reserved", start[4].reserved, 1),
	BLOCK("start: address without count", start[1].addr, NEURON_ADDR_WINDOW),
	BLOCK("start: plain address", start[4].addr, 0x1000),
	BLOCK("start: image leaves the window", start[4].addr,
	      NEURON_ADDR_WINDOW | NEURON_ADDR_WINDOW_OFFSET),
	BLOCK("notify: address without size", notify_addr, NEURON_ADDR_WINDOW),
	BLOCK("notify: too small", notify_size, 32),
	BLOCK("notify: no power of two", notify_size, 96),
	BLOCK("notify: plain address", notify_size, 64),
};

static const struct bad_field bad_queues[] = {
	ENTRY("flags", flags, 2),
	ENTRY("another core's engine", dma_engine, 2 * 16),
	ENTRY("the engine before", dma_engine, 15),
	ENTRY("a copy engine", dma_engine, 128),
	ENTRY("no engine", dma_engine, 0xffff),
	ENTRY("no queue", queue, 16),
	ENTRY("M2S length", m2s_length, 16),
	ENTRY("M2S length", m2s_length, 40),
	ENTRY("S2M length", s2m_length, 0),
	ENTRY("S2M length", s2m_length, 1u << 24),
	ENTRY("plain ring", m2s_ring, 0x20000),
	ENTRY("unaligned ring", s2m_ring, NEURON_ADDR_WINDOW | 128),
	ENTRY("ring leaves the window", m2s_ring,
	      NEURON_ADDR_WINDOW | (NEURON_ADDR_WINDOW_OFFSET & ~255ull)),
};

static void assert_malformed(struct job_rig *job, const char *what)
{
	job_submit(job);
	job_wait(job);
	if (job->completion->status != NEURON_JOB_ERROR ||
	    job->completion->cause != NEURON_CAUSE_JOB ||
	    job->completion->source != NEURON_SOURCE_JOB)
		fail_msg("%s: status %u cause %u", what,
			 job->completion->status, job->completion->cause);
}

static void a_malformed_block_has_a_record(void **state)
{
	struct neuron_hw_job good;
	struct job_rig job;
	size_t i;

	job_init(&job, *state, 0, 1);
	job_halt(&job, SYNC);
	/* Whoever starts although the block is bad would hang or fault. */
	job_inst(&job, GPSIMD, NEURON_OP_ILLEGAL);
	good = *job.block;
	for (i = 0; i < sizeof(bad_blocks) / sizeof(bad_blocks[0]); i++) {
		*job.block = good;
		memcpy((uint8_t *)job.block + bad_blocks[i].offset,
		       &bad_blocks[i].value, bad_blocks[i].size);
		assert_malformed(&job, bad_blocks[i].what);
	}
	*job.block = good;
	job.block->start[GPSIMD].count = 0;
	job.block->start[GPSIMD].addr = 0;
	job_run(&job);
}

static void a_malformed_queue_table_has_a_record(void **state)
{
	struct neuron_hw_job_queue good;
	struct job_rig job;
	uint64_t table;
	size_t i;

	job_init(&job, *state, 0, 1);
	good = job.queues[2];
	for (i = 0; i < sizeof(bad_queues) / sizeof(bad_queues[0]); i++) {
		job.queues[2] = good;
		memcpy((uint8_t *)&job.queues[2] + bad_queues[i].offset,
		       &bad_queues[i].value, bad_queues[i].size);
		assert_malformed(&job, bad_queues[i].what);
	}
	job.queues[2] = job.queues[0];
	assert_malformed(&job, "a queue twice");
	job.queues[2] = good;
	table = job.block->queue_table;
	job.block->queue_table = RIG_NOWHERE;
	job_run_fault(&job, NEURON_CAUSE_ADDRESS);
	job.block->queue_table = rig_host_addr(*state, 0, RIG_HOST_BYTES - 32);
	job_run_fault(&job, NEURON_CAUSE_HOST);
	job.block->queue_table = table;
	job_run(&job);
}

static void a_malformed_window_table_has_a_record(void **state)
{
	struct job_rig job;

	job_init(&job, *state, 0, 1);
	job.windows[JOB_W_SBUF].base = rig_sbuf_addr(job.rig, 0);
	assert_malformed(&job, "another core's SBUF");
	job.windows[JOB_W_SBUF].base = rig_sbuf_addr(job.rig, 1);
	job.block->window_table = RIG_NOWHERE;
	job_run_fault(&job, NEURON_CAUSE_ADDRESS);
}

/* The windows of the rig in one piece, behind it one without windows. */
static void a_job_may_have_its_windows_in_pieces(void **state)
{
	const size_t bytes = NEURON_TABLE_PIECE * sizeof(struct neuron_hw_window);
	uint64_t at, piece, *directory;
	struct job_rig job;

	job_init(&job, *state, 0, 1);
	piece = rig_host(job.rig, 0, bytes);
	memset(rig_host_ptr(job.rig, 0, piece), 0, bytes);
	memcpy(rig_host_ptr(job.rig, 0, piece), job.windows,
	       JOB_NR_WINDOWS * sizeof(struct neuron_hw_window));
	at = rig_host(job.rig, 0, 4 * sizeof(*directory));
	directory = rig_host_ptr(job.rig, 0, at);
	directory[0] = rig_host_addr(job.rig, 0, piece);
	directory[1] = 0;
	neuron_hw_job_pieces(job.block, rig_host_addr(job.rig, 0, at), NEURON_TABLE_PIECE + 5);
	memset(job.hbm + JOB_AT_DATA, 0x5a, 100);
	job_copy(&job, 0, job_host_at(0), job_hbm_at(0), 100);
	job_trigger(&job, SYNC, 0, 1, 1);
	job_halt(&job, SYNC);
	job_run(&job);
	assert_memory_equal(rig_host_ptr(job.rig, 0, job.host_at), job.hbm + JOB_AT_DATA, 100);

	directory[1] = RIG_NOWHERE;
	job_run_fault(&job, NEURON_CAUSE_ADDRESS);
	/* Without the flag the directory is no table. */
	memset(directory, 0xff, 4 * sizeof(*directory));
	job.block->flags = 0;
	assert_malformed(&job, "a directory as a table");
}

static void lie(struct rig *rig, const char *text)
{
	char why[TRN_FAULT_WHY], again[TRN_FAULT_TEXT];
	struct trn_inject_status status;
	unsigned int n = 0;

	if (trn_fault_order(rig->chip[0], text, why))
		fail_msg("%s: %s", text, why);
	while (trn_inject_status(rig->chip[0], n, &status))
		n++;
	assert_true(trn_inject_status(rig->chip[0], n - 1, &status));
	trn_inject_format(&status.rule, again);
	assert_string_equal(again, text);
}

/* Faults on demand: record-flip. */
static void a_record_may_lie(void **state)
{
	struct rig *rig = *state;
	char why[TRN_FAULT_WHY];
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	lie(rig, "record-flip,offset=0x10,mask=0x5,count=1");
	lie(rig, "record-flip,offset=0x8,mask=0x20002,skip=1,count=1");
	assert_int_equal(trn_fault_order(rig->chip[0], "record-flip,offset=64,mask=1", why), -1);
	assert_int_equal(trn_fault_order(rig->chip[0], "record-flip,mask=1", why), -1);
	job_submit(&job);
	job_wait(&job);
	assert_int_equal(job.completion->addr, 5);
	assert_int_equal(job.completion->status, NEURON_JOB_OK);
	job_submit(&job);
	job_wait(&job);
	assert_int_equal(job.completion->addr, 0);
	assert_int_equal(job.completion->status, NEURON_JOB_OK ^ 2);
	assert_int_equal(job.completion->cause, 2);
	job_run(&job);
}

static void a_record_that_cannot_be_written_is_reported(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_take(&job, SYNC, 0, 1);
	job_halt(&job, SYNC);
	memcpy(job.hbm + JOB_AT_DATA, job.block, sizeof(*job.block));
	job_submit(&job);
	assert_true(job_wait_reg(&job, NEURON_CORE_ENGINE(SYNC),
				 NEURON_ENGINE_WAITING));
	atomic_store(&rig->port[0].bus_master, false);
	job_post(&job, 0, 1);
	job_assert_refused(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_NONE);
	atomic_store(&rig->port[0].bus_master, true);
	job.block->start[SYNC].count = 0;
	job.block->start[SYNC].addr = 0;
	job_run(&job);
}

/* --- Faults of programs --- */

static void a_queue_s_fault_ends_the_job(void **state)
{
	struct job_rig job;

	job_init(&job, *state, 0, 1);
	job_copy(&job, 0, job_hbm_at(0), job_host_at(0), 64);
	job_copy(&job, 0, job_hbm_at(0), job_host_at(JOB_HOST_BYTES - 63), 64);
	job_trigger(&job, SYNC, 0, 2, 2);
	job_take(&job, SYNC, 0, 1);	/* for ever */
	job_halt(&job, SYNC);
	job_run_fault(&job, NEURON_CAUSE_WINDOW);
	assert_int_equal(job.completion->source, NEURON_SOURCE_DMA);
	assert_int_equal(job.completion->queue, 16 << 4);
	assert_int_equal(job.completion->pc, 1);
	assert_int_equal(job.completion->addr, job_host_at(JOB_HOST_BYTES - 63));
	assert_int_equal(job.completion->dma_bytes, 64);
	assert_int_equal(job_reg(&job, NEURON_CORE_VIOLATIONS), 1);
	job.block->start[SYNC].count = 0;
	job.block->start[SYNC].addr = 0;
	job_run(&job);
}

static void an_instruction_s_fault_ends_the_job(void **state)
{
	struct job_rig job;
	unsigned int e;

	job_init(&job, *state, 0, 1);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (e != SYNC)
			job_again(&job, e);	/* for ever */
	job_store(&job, SYNC, neuron_window_addr(JOB_W_PEER, 0), 1);
	job_halt(&job, SYNC);
	job_run_fault(&job, NEURON_CAUSE_WINDOW);
	assert_int_equal(job.completion->source, SYNC);
	assert_int_equal(job.completion->pc, 1);
	assert_int_equal(job.completion->addr,
			 neuron_window_addr(JOB_W_PEER, 0));
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		assert_int_equal(job_reg(&job, NEURON_CORE_ENGINE(e)),
				 NEURON_ENGINE_HALTED);
}

static void a_trigger_of_an_unlisted_queue_ends_the_job(void **state)
{
	struct job_rig job;

	job_init(&job, *state, 0, 1);
	job_trigger(&job, SYNC, JOB_QUEUES, 1, 1);
	job_halt(&job, SYNC);
	job_run_fault(&job, NEURON_CAUSE_QUEUE);
	assert_int_equal(job.completion->source, SYNC);
}

static void descriptors_without_a_packet_end_the_job(void **state)
{
	struct job_rig job;

	job_init(&job, *state, 0, 1);
	job_copy(&job, 1, job_hbm_at(0), job_host_at(0), 64);
	job_copy(&job, 1, job_hbm_at(0), job_host_at(0), 64);
	job_trigger(&job, SYNC, 1, 2, 1);
	job_halt(&job, SYNC);
	job_run_fault(&job, NEURON_CAUSE_DESC);
	assert_int_equal(job.completion->source, NEURON_SOURCE_DMA);
	assert_int_equal(job.completion->queue, (16 + 5) << 4 | 1);
	assert_int_equal(job.completion->pc, 1);

	job_init(&job, *state, 0, 2);
	job_copy(&job, 0, job_hbm_at(0), job_host_at(0), 64);
	job_trigger(&job, SYNC, 0, 1, 2);
	job_halt(&job, SYNC);
	job_run_fault(&job, NEURON_CAUSE_DESC);
	assert_int_equal(job.completion->queue, 0x8000 | 32 << 4);
	assert_int_equal(job.completion->pc, 1);
}

static void the_first_fault_is_the_one_reported(void **state)
{
	struct job_rig job;
	unsigned int round, q;

	job_init(&job, *state, 0, 0);
	for (q = 0; q < JOB_QUEUES; q++) {
		job_copy(&job, q, job_hbm_at(0), neuron_window_addr(60 + q, q), 64);
		job_trigger(&job, SYNC, q, 1, 1);
	}
	job_halt(&job, SYNC);
	for (round = 0; round < 100; round++) {
		job_run_fault(&job, NEURON_CAUSE_WINDOW);
		q = job.completion->queue & 15;
		assert_int_equal(job.completion->addr,
				 neuron_window_addr(60 + q, q));
		assert_int_equal(job.completion->queue, (5 * q) << 4 | q);
	}
}

/* --- Notifications --- */

static void notifications_wrap_and_toggle_their_phase(void **state)
{
	struct neuron_hw_notify *stream;
	struct job_rig job;
	unsigned int i;

	job_init(&job, *state, 0, 0);
	job.block->notify_addr = job_host_at(0x100);
	job.block->notify_size = 64;
	stream = (void *)(job_host_ptr(&job) + 0x100);
	memset(job_host_ptr(&job), 0xee, 0x200);
	for (i = 0; i < 6; i++)
		job_inst(&job, SYNC, NEURON_OP_NOTIFY)->imm0 = 100 + i;
	job_halt(&job, SYNC);
	job_run(&job);
	for (i = 2; i < 6; i++) {
		assert_int_equal(stream[i % 4].tag, 100 + i);
		assert_int_equal(stream[i % 4].source,
				 (i < 4 ? 1u << 31 : 0) | SYNC << 24 | i);
		assert_true(stream[i % 4].time_ns >= job.completion->start_ns);
		assert_true(stream[i % 4].time_ns <= job.completion->end_ns);
	}
	assert_true(stream[3].time_ns < stream[0].time_ns);
	assert_int_equal(job_host_ptr(&job)[0xff], 0xee);
	assert_int_equal(job_host_ptr(&job)[0x140], 0xee);

	job.block->notify_addr = 0;
	job.block->notify_size = 0;
	job_run(&job);
}

/* --- All cores at once --- */

static void all_cores_run_jobs_at_once(void **state)
{
	struct rig *rig = *state;
	unsigned int nr = rig->chip[0]->gen->nr_cores, c, q, n, round;
	struct job_rig jobs[NEURON_MAX_CORES];

	for (c = 0; c < nr; c++) {
		job_init(&jobs[c], rig, c % 2, c);
		rig_fill(rig, job_host_ptr(&jobs[c]), 0x4000);
		for (q = 0; q < JOB_QUEUES; q++) {
			for (n = 0; n < 16; n++)
				job_copy(&jobs[c], q,
					 job_hbm_at(q * 0x10000 + n * 0x400),
					 job_host_at(n * 0x400), 0x400);
			job_copy(&jobs[c], q, job_sem_at(q), job_host_at(0x10000), 4);
			job_trigger(&jobs[c], q, q, 17, 17);
			job_take(&jobs[c], q, q, 5);
			job_halt(&jobs[c], q);
		}
		memcpy(job_host_ptr(&jobs[c]) + 0x10000, "\5\0\0\0", 4);
	}
	for (round = 0; round < 20; round++) {
		for (c = 0; c < nr; c++)
			job_submit(&jobs[c]);
		for (c = 0; c < nr; c++) {
			job_wait(&jobs[c]);
			assert_int_equal(jobs[c].completion->status,
					 NEURON_JOB_OK);
		}
	}
	for (c = 0; c < nr; c++)
		for (q = 0; q < JOB_QUEUES; q++)
			assert_memory_equal(jobs[c].hbm + JOB_AT_DATA +
						    q * 0x10000,
					    job_host_ptr(&jobs[c]), 0x4000);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_job_without_engines_completes_at_once),
		TEST(every_engine_must_halt),
		TEST(triggered_copies_are_byte_exact),
		TEST(a_job_runs_again_from_the_start_of_its_rings),
		TEST(many_small_triggers_lose_nothing),
		TEST(listed_semaphores_are_zero_at_the_start),
		TEST(the_record_is_written_when_all_has_drained),
		TEST(the_next_doorbell_may_follow_the_interrupt),
		TEST(a_doorbell_of_a_busy_core_is_refused),
		TEST(a_block_that_is_none_is_refused),
		TEST(a_malformed_block_has_a_record),
		TEST(a_malformed_queue_table_has_a_record),
		TEST(a_malformed_window_table_has_a_record),
		TEST(a_job_may_have_its_windows_in_pieces),
		TEST(a_record_may_lie),
		TEST(a_record_that_cannot_be_written_is_reported),
		TEST(a_queue_s_fault_ends_the_job),
		TEST(an_instruction_s_fault_ends_the_job),
		TEST(a_trigger_of_an_unlisted_queue_ends_the_job),
		TEST(descriptors_without_a_packet_end_the_job),
		TEST(the_first_fault_is_the_one_reported),
		TEST(notifications_wrap_and_toggle_their_phase),
		TEST(all_cores_run_jobs_at_once),
		cmocka_unit_test_setup_teardown(all_cores_run_jobs_at_once,
						rig_setup_trn1, rig_teardown),
	};

	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
