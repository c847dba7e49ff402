// SPDX-License-Identifier: MIT
/*
 * Granted SBUF and streams: a program reaches exactly what was granted, for as long
 * as the claim lasts, and a stream by NOTIFY alone. What other accesses to them do is
 * among the evils of test_escape.c and test_escape_job.c.
 */
#include "escape_rig.h"

#include <string.h>

#define RW	(NEURON_WINDOW_READ | NEURON_WINDOW_WRITE)

static struct trn_core *sibling(struct escape *e, unsigned int chip)
{
	return &e->rig->chip[chip]->core[ESCAPE_SIBLING];
}

static uint8_t *granted(struct escape *e, unsigned int chip)
{
	return sibling(e, chip)->sbuf + GRANT_AT;
}

static uint32_t stale(struct escape *e, unsigned int chip)
{
	return atomic_load(&sibling(e, chip)->stale_posts);
}

static void copy(struct escape *e, uint64_t dst, uint64_t src, uint32_t len)
{
	job_copy(&e->job, 0, dst, src, len);
	job_trigger(&e->job, SYNC, 0, 1, 1);
	job_halt(&e->job, SYNC);
}

/* All of it, and not a byte more. */
static void test_copies(void **state)
{
	struct escape *e = *state;
	uint8_t want[GRANT_BYTES + 2];
	unsigned int chip;

	for (chip = 0; chip < RIG_CHIPS; chip++) {
		uint8_t *target = granted(e, chip);

		escape_grant(e, W_RO, chip, RW, GENERATION);
		want[0] = target[-1];
		memcpy(want + 1, e->job.hbm + JOB_AT_DATA + 3, GRANT_BYTES);
		want[GRANT_BYTES + 1] = target[GRANT_BYTES];
		copy(e, neuron_window_addr(W_RO, 0), job_hbm_at(3), GRANT_BYTES);
		job_run(&e->job);
		escape_restart(e);
		assert_memory_equal(target - 1, want, sizeof(want));

		rig_fill(e->rig, target, GRANT_BYTES);
		copy(e, job_hbm_at(0x8001), neuron_window_addr(W_RO, 0), GRANT_BYTES);
		job_run(&e->job);
		escape_restart(e);
		assert_memory_equal(e->job.hbm + JOB_AT_DATA + 0x8001, target, GRANT_BYTES);

		copy(e, neuron_window_addr(W_RO, 1), job_hbm_at(0), GRANT_BYTES);
		escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
			      neuron_window_addr(W_RO, 1));
		assert_int_equal(stale(e, chip), 0);
	}
}

/* From one granted range to another, through host memory, words, an operation. */
static void test_other_ways(void **state)
{
	struct escape *e = *state;
	struct neuron_udma_dge dge = escape_sum(1);
	uint32_t word = 0x12345678;

	escape_grant(e, W_RO, 0, RW, GENERATION);
	escape_grant(e, W_WO, 1, RW, GENERATION);
	copy(e, neuron_window_addr(W_WO, 5), neuron_window_addr(W_RO, 9), 3000);
	job_run(&e->job);
	escape_restart(e);
	assert_memory_equal(granted(e, 1) + 5, granted(e, 0) + 9, 3000);

	copy(e, neuron_window_addr(W_RO, 0), job_host_at(7), 1000);
	job_run(&e->job);
	escape_restart(e);
	assert_memory_equal(granted(e, 0), job_host_ptr(&e->job) + 7, 1000);
	copy(e, job_host_at(0x1000), neuron_window_addr(W_WO, 0), 1000);
	job_run(&e->job);
	escape_restart(e);
	assert_memory_equal(job_host_ptr(&e->job) + 0x1000, granted(e, 1), 1000);

	job_store(&e->job, SYNC, neuron_window_addr(W_WO, 0x20), word);
	job_halt(&e->job, SYNC);
	job_run(&e->job);
	escape_restart(e);
	assert_memory_equal(granted(e, 1) + 0x20, &word, 4);

	memset(e->job.hbm + JOB_AT_DATA, 0, 64);
	dge.dst[0] = neuron_window_addr(W_WO, 0x40);
	memcpy(e->job.hbm + AT_BLOCK, &dge, sizeof(dge));
	escape_generate(e, BLOCK_ADDR);
	job_halt(&e->job, SYNC);
	job_run(&e->job);
	escape_restart(e);
	assert_memory_equal(granted(e, 1) + 0x40, e->job.hbm + JOB_AT_DATA, 64);
}

/* Dropped and counted, once for an access; not to be read. */
static void test_stale(void **state)
{
	struct escape *e = *state;
	unsigned int chip;

	for (chip = 0; chip < RIG_CHIPS; chip++) {
		uint32_t before = stale(e, chip);

		escape_grant(e, W_RO, chip, RW, GENERATION - 1);
		escape_snapshot(e);
		copy(e, neuron_window_addr(W_RO, 0), job_hbm_at(0), GRANT_BYTES);
		job_run(&e->job);
		escape_restart(e);
		job_store(&e->job, SYNC, neuron_window_addr(W_RO, 16), 1);
		job_halt(&e->job, SYNC);
		job_run(&e->job);
		escape_restart(e);
		escape_untouched(e);
		assert_int_equal(stale(e, chip), before + 2);

		copy(e, job_hbm_at(0), neuron_window_addr(W_RO, 0), 64);
		escape_caught(e, NEURON_CAUSE_FABRIC, NEURON_SOURCE_DMA,
			      neuron_window_addr(W_RO, 0));
		escape_word(e, false, neuron_window_addr(W_RO, 4), 0);
		escape_caught(e, NEURON_CAUSE_FABRIC, SYNC, neuron_window_addr(W_RO, 4));
		assert_int_equal(stale(e, chip), before + 2);
	}
}

static bool parked(void *arg)
{
	struct escape *e = arg;

	return atomic_load(&e->job.core->seq[SYNC].status) == NEURON_ENGINE_WAITING &&
	       trn_task_quiet(&e->job.core->seq[SYNC].task);
}

/* Valid when the job was latched, void when it gets there. */
static void test_claim_ends_meanwhile(void **state)
{
	struct escape *e = *state;
	unsigned int chip, read;

	for (chip = 0; chip < RIG_CHIPS; chip++) {
		for (read = 0; read < 2; read++) {
			uint32_t before = stale(e, chip);

			atomic_store(&sibling(e, chip)->generation, GENERATION);
			escape_grant(e, W_RO, chip, RW, GENERATION);
			job_take(&e->job, SYNC, 9, 1);
			if (read)
				copy(e, job_hbm_at(0), neuron_window_addr(W_RO, 0), 64);
			else
				copy(e, neuron_window_addr(W_RO, 0), job_hbm_at(0), 64);
			escape_snapshot(e);
			job_submit(&e->job);
			assert_true(fake_wait(parked, e));
			atomic_store(&sibling(e, chip)->generation, GENERATION + 1);
			job_post(&e->job, 9, 1);
			job_wait(&e->job);
			assert_int_equal(e->job.completion->cause,
					 read ? NEURON_CAUSE_FABRIC : NEURON_CAUSE_NONE);
			assert_int_equal(stale(e, chip), before + !read);
			escape_untouched(e);
			escape_restart(e);
		}
	}
}

/* The chip is taken away, or another one comes in its place. */
static void test_peer_leaves(void **state)
{
	struct trn_chip_config config;
	struct escape *e = *state;
	const char *why = NULL;
	unsigned int back;

	for (back = 0; back < 2; back++) {
		escape_grant(e, W_RO, 1, RW, GENERATION);
		job_take(&e->job, SYNC, 9, 1);
		copy(e, job_hbm_at(0), neuron_window_addr(W_RO, 0), 64);
		job_submit(&e->job);
		assert_true(fake_wait(parked, e));
		fake_chip_free(e->rig->chip[1]);
		config = fake_chip_config(&e->rig->port[1], e->rig->chip[0]->gen, e->rig->pool,
					  e->rig->fabric, 1);
		if (back)
			e->rig->chip[1] = trn_chip_new(&config, &why);
		job_post(&e->job, 9, 1);
		job_wait(&e->job);
		assert_int_equal(e->job.completion->cause, NEURON_CAUSE_FABRIC);
		escape_restart(e);
		if (!back)
			e->rig->chip[1] = trn_chip_new(&config, &why);
		assert_non_null(e->rig->chip[1]);
		atomic_store(&sibling(e, 1)->generation, GENERATION);
	}
}

/**
 * struct writer - a job that stores to granted SBUF all the time
 * @job: it; a second look at its loop means that a store has landed
 * @stale: what the target's count is to reach
 */
struct writer {
	struct trn_core *target;
	struct job_rig *job;
	uint32_t stale;
};

static bool has_written(void *arg)
{
	const struct writer *writer = arg;

	return job_reg(writer->job, NEURON_CORE_PROGRESS) >= 4;
}

static bool goes_on(void *arg)
{
	const struct writer *writer = arg;

	return atomic_load(&writer->target->stale_posts) >= writer->stale;
}

/* A core that is scrubbed stays so, however hard others write to it. */
static void scrub_against_writers(struct escape *e, unsigned int chip)
{
	struct writer writer = { .target = sibling(e, chip), .job = &e->job };
	static const uint8_t zero[GRANT_BYTES];
	struct job_rig owner;
	unsigned int round;

	job_init(&owner, e->rig, chip, ESCAPE_SIBLING);
	for (round = 0; round < 20; round++) {
		uint32_t generation = 100 + 2 * round;

		job_reg_write(&owner, NEURON_CORE_GENERATION, generation);
		escape_grant(e, W_RO, chip, RW, generation);
		memset(e->job.hbm + JOB_AT_DATA, 0xa5, GRANT_BYTES);
		job_store(&e->job, SYNC, neuron_window_addr(W_RO, 8 * round), 0x5a5a5a5a);
		job_again(&e->job, SYNC);
		job_submit(&e->job);
		assert_true(fake_wait(has_written, &writer));
		/* As the driver does when a claim ends. */
		job_reg_write(&owner, NEURON_CORE_GENERATION, generation + 1);
		job_reg_write(&owner, NEURON_CORE_RESET, 1);
		assert_true(job_wait_reg(&owner, NEURON_CORE_RESET, 0));
		assert_memory_equal(granted(e, chip), zero, GRANT_BYTES);
		writer.stale = stale(e, chip) + 10;
		assert_true(fake_wait(goes_on, &writer));
		assert_memory_equal(granted(e, chip), zero, GRANT_BYTES);

		job_reg_write(&e->job, NEURON_CORE_RESET, 1);
		assert_true(job_wait_reg(&e->job, NEURON_CORE_RESET, 0));
		escape_restart(e);
	}
}

static void test_scrub_same_chip(void **state)
{
	scrub_against_writers(*state, 0);
}

static void test_scrub_other_chip(void **state)
{
	scrub_against_writers(*state, 1);
}

/* What the kernel may not write as a grant or a stream. */
static void test_refused(void **state)
{
	struct escape *e = *state;
	const struct neuron_gen *gen = e->rig->chip[0]->gen;
	const uint64_t tpb = gen->tpb_addr[ESCAPE_SIBLING];
	const uint64_t host = rig_host_addr(e->rig, 0, e->stream);
	uint64_t list = rig_host(e->rig, 0, sizeof(struct neuron_hw_extent));
	const uint32_t grant = NEURON_WINDOW_GRANT | RW;
	const struct neuron_hw_window bad[] = {
		{ tpb + NEURON_TPB_PSUM, 64, grant, 0, 6, 0 },
		{ tpb + NEURON_TPB_SEM, 64, grant, 0, 6, 0 },
		{ tpb + NEURON_TPB_SBUF + NEURON_TPB_SBUF_SIZE - 32, 64, grant, 0, 6, 0 },
		{ tpb + NEURON_TPB_SBUF + 2, 64, grant, 0, 6, 0 },
		{ tpb + NEURON_TPB_SBUF, 0, grant, 0, 6, 0 },
		{ tpb + NEURON_TPB_SBUF, 64, grant, 0, 6, 1 },
		{ gen->hbm_addr[0], 64, grant, 0, 6, 0 },
		{ gen->apb_addr[0], 64, grant, 0, 6, 0 },
		{ host, 64, grant, 0, 6, 0 },
		{ neuron_fabric_addr(1, gen->hbm_addr[0]), 64, grant, 0, 6, 0 },
		{ neuron_fabric_addr(1, tpb + NEURON_TPB_PSUM), 64, grant, 0, 6, 0 },
		{ neuron_fabric_addr(1, tpb + NEURON_TPB_SEM), 64, grant, 0, 6, 0 },
		{ neuron_window_addr(W_GRANT, 0), 64, grant, 0, 6, 0 },
		{ rig_host_addr(e->rig, 0, list), 64, grant | NEURON_WINDOW_LIST, 1, 6, 0 },
		{ host, 64, NEURON_WINDOW_STREAM | NEURON_WINDOW_READ, 0, 0, 0 },
		{ host, 64, NEURON_WINDOW_STREAM | NEURON_WINDOW_WRITE, 0, 0, 0 },
		{ host, 64, NEURON_WINDOW_STREAM, 0, 6, 0 },
		{ host, 64, NEURON_WINDOW_STREAM, 0, 0, 1 },
		{ gen->hbm_addr[0], 64, NEURON_WINDOW_STREAM, 0, 0, 0 },
		{ tpb + NEURON_TPB_SBUF, 64, NEURON_WINDOW_STREAM, 0, 0, 0 },
		{ neuron_fabric_addr(1, gen->hbm_addr[0]), 64, NEURON_WINDOW_STREAM, 0, 0, 0 },
		{ host, 64, 9, 0, 0, 0 },
		{ host, 64, 15, 0, 0, 0 },
	};
	struct neuron_hw_extent extent = { tpb + NEURON_TPB_SBUF, 64 };
	unsigned int i;

	memcpy(rig_host_ptr(e->rig, 0, list), &extent, sizeof(extent));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e->job.windows[W_RO] = bad[i];
		job_halt(&e->job, SYNC);
		escape_refused(e);
	}
	e->job.windows[W_RO] = (struct neuron_hw_window){
		neuron_fabric_addr(7, tpb + NEURON_TPB_SBUF), 64, grant, 0, 6, 0,
	};
	job_halt(&e->job, SYNC);
	escape_out_of_reach(e, W_RO);
}

/* Two laps and one entry of them land in the stream, and nowhere else. */
static void test_stream(void **state)
{
	struct escape *e = *state;
	uint64_t list = rig_host(e->rig, 0, 2 * sizeof(struct neuron_hw_extent));
	uint8_t *host = rig_host_ptr(e->rig, 0, e->stream);
	const struct neuron_hw_extent extents[] = {
		{ rig_host_addr(e->rig, 0, e->stream) + 0x2000, 24 },
		{ rig_host_addr(e->rig, 0, e->stream) + 0x3000, 0x100 },
	};
	uint8_t before[GUARD_BYTES];
	struct neuron_hw_notify entry[4];
	unsigned int listed, i;

	for (listed = 0; listed < 2; listed++) {
		memcpy(before, host, sizeof(before));
		for (i = 0; i < 9; i++)
			job_inst(&e->job, SYNC, NEURON_OP_NOTIFY)->imm0 = 100 + i;
		job_halt(&e->job, SYNC);
		e->job.block->notify_addr = neuron_window_addr(W_STREAM, 16);
		e->job.block->notify_size = 64;
		job_run(&e->job);
		if (listed) {
			memcpy(entry, host + 0x2010, 8);
			memcpy((uint8_t *)entry + 8, host + 0x3000, 56);
			memcpy(host + 0x2010, before + 0x2010, 8);
			memcpy(host + 0x3000, before + 0x3000, 56);
		} else {
			memcpy(entry, host + 0x1010, 64);
			memcpy(host + 0x1010, before + 0x1010, 64);
		}
		assert_memory_equal(host, before, sizeof(before));
		for (i = 0; i < 4; i++) {
			assert_int_equal(entry[i].tag, i ? 104 + i : 108);
			assert_int_equal(entry[i].source >> 31, !i);
		}
		escape_restart(e);
		memcpy(rig_host_ptr(e->rig, 0, list), extents, sizeof(extents));
		escape_window(e, W_STREAM, NEURON_WINDOW_STREAM | NEURON_WINDOW_LIST,
			      rig_host_addr(e->rig, 0, list), 24 + 0x100);
		e->job.windows[W_STREAM].nr_extents = 2;
	}
	/* The fourth entry lies behind its end. */
	for (i = 0; i < 4; i++)
		job_inst(&e->job, SYNC, NEURON_OP_NOTIFY);
	job_halt(&e->job, SYNC);
	e->job.block->notify_addr = neuron_window_addr(W_STREAM, 24 + 0x100 - 48);
	e->job.block->notify_size = 64;
	job_submit(&e->job);
	job_wait(&e->job);
	assert_int_equal(e->job.completion->cause, NEURON_CAUSE_WINDOW);
	assert_int_equal(e->job.completion->pc, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ESCAPE_TEST(test_copies),
		ESCAPE_TEST(test_other_ways),
		ESCAPE_TEST(test_stale),
		ESCAPE_TEST(test_claim_ends_meanwhile),
		ESCAPE_TEST(test_peer_leaves),
		ESCAPE_TEST(test_scrub_same_chip),
		ESCAPE_TEST(test_scrub_other_chip),
		ESCAPE_TEST(test_refused),
		ESCAPE_TEST(test_stream),
	};

	return cmocka_run_group_tests_name("escape_grant", tests, NULL, NULL);
}
