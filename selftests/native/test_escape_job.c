// SPDX-License-Identifier: MIT
/*
 * A program cannot leave its domain by its instructions, by what its job block
 * names, by semaphores, or by what changes while it runs. As test_escape.c.
 */
#include "escape_rig.h"

#include <string.h>

/* --- Instructions --- */

static void test_dge_block(void **state)
{
	struct escape *e = *state;
	unsigned int i;

	for (i = 0; i < e->nr_evils; i++) {
		if (!e->evil[i].read)
			continue;
		escape_generate(e, e->evil[i].addr);
		job_halt(&e->job, SYNC);
		escape_caught(e, e->evil[i].read, SYNC, e->evil[i].addr);
	}
	escape_generate(e, neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 448));
	job_halt(&e->job, SYNC);
	escape_caught(e, NEURON_CAUSE_WINDOW, SYNC,
		      neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 448));
}

static void test_dge_registers(void **state)
{
	const uint64_t top = NEURON_ADDR_WINDOW_OFFSET;
	const struct {
		uint64_t base;
		uint32_t reg;
		bool sums;	/* within the window's offsets */
	} cases[] = {
		{ job_hbm_at(0), JOB_HBM_BYTES, true },
		{ job_hbm_at(0), UINT32_MAX - 63, true },
		{ neuron_window_addr(JOB_W_HBM, top), 1, false },
		{ neuron_window_addr(JOB_W_HBM, top - 0xffffff00), UINT32_MAX, false },
		{ neuron_window_addr(NEURON_MAX_WINDOWS, top), 1, false },
		{ 0x7fffffffffffffff, 1, false },	/* window 0, if it carried */
		{ 0xffffffffffffffff, 1, false },
	};
	struct neuron_udma_dge dge;
	struct escape *e = *state;
	unsigned int i, side;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (side = 0; side < 2; side++) {
			dge = escape_sum(1);
			*(side ? &dge.dst[0] : &dge.src[0]) = cases[i].base;
			memcpy(e->job.hbm + AT_BLOCK, &dge, sizeof(dge));
			escape_set_reg(e, 9, cases[i].reg);
			escape_generate(e, BLOCK_ADDR)->reg[2 + side] = 9;
			job_halt(&e->job, SYNC);
			if (cases[i].sums)
				escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
					      cases[i].base + cases[i].reg);
			else
				escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, cases[i].base);
		}
	}
}

static void test_words(void **state)
{
	const uint64_t top = NEURON_ADDR_WINDOW_OFFSET;
	struct escape *e = *state;
	unsigned int i, store;

	for (store = 0; store < 2; store++) {
		for (i = 0; i < e->nr_evils; i++) {
			enum neuron_cause cause = store ? e->evil[i].write : e->evil[i].read;

			/* A word is what a SEM window is for. */
			if (!cause || e->evil[i].addr == job_sem_at(0))
				continue;
			escape_set_reg(e, 2, 0x55aa);
			escape_word(e, store, e->evil[i].addr, 0);
			escape_caught(e, cause, SYNC, e->evil[i].addr);
		}
		escape_word(e, store, job_sem_at(0) + 2, 0);
		escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, job_sem_at(0) + 2);
		escape_word(e, store, job_sem_at(256), 0);
		escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, job_sem_at(256));
		escape_word(e, store, neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 3), 0);
		escape_caught(e, NEURON_CAUSE_WINDOW, SYNC,
			      neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 3));
		/* The register's part of the sum. */
		escape_set_reg(e, 5, UINT32_MAX);
		escape_word(e, store, neuron_window_addr(JOB_W_HBM, 16), 5);
		escape_caught(e, NEURON_CAUSE_WINDOW, SYNC,
			      neuron_window_addr(JOB_W_HBM, 16 + (uint64_t)UINT32_MAX));
		escape_set_reg(e, 5, UINT32_MAX);
		escape_word(e, store, neuron_window_addr(JOB_W_HBM, top), 5);
		escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, neuron_window_addr(JOB_W_HBM, top));
		escape_set_reg(e, 5, 1);
		escape_word(e, store, 0x7fffffffffffffff, 5);
		escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, 0x7fffffffffffffff);
		escape_set_reg(e, 5, 1);
		escape_word(e, store, UINT64_MAX, 5);
		escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, UINT64_MAX);
	}
}

/* Does the latch let it through, for @bytes of it? */
static bool window_form(uint64_t addr, uint64_t bytes)
{
	return addr & NEURON_ADDR_WINDOW &&
	       bytes <= NEURON_ADDR_WINDOW_OFFSET - (addr & NEURON_ADDR_WINDOW_OFFSET);
}

static void test_fetch(void **state)
{
	struct escape *e = *state;
	struct neuron_hw_start *start = &e->job.block->start[SYNC];
	const uint64_t last = neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - NEURON_INST_SIZE);
	struct neuron_inst nop = { .opcode = NEURON_OP_NOP };
	unsigned int i;

	for (i = 0; i < e->nr_evils; i++) {
		if (!e->evil[i].read)
			continue;
		start->addr = e->evil[i].addr;
		start->count = 64;
		if (window_form(start->addr, 64 * NEURON_INST_SIZE))
			escape_caught(e, e->evil[i].read, SYNC, e->evil[i].addr);
		else
			escape_refused(e);
	}
	/* It runs, or branches, out of its window. */
	memcpy(e->job.hbm + JOB_HBM_BYTES - NEURON_INST_SIZE, &nop, sizeof(nop));
	start->addr = last;
	start->count = 2;
	escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, last + NEURON_INST_SIZE);
	assert_int_equal(e->job.completion->pc, 1);
	nop.opcode = NEURON_OP_BRANCH;
	nop.addr = 0x10000;
	memcpy(e->job.hbm + JOB_HBM_BYTES - NEURON_INST_SIZE, &nop, sizeof(nop));
	start->addr = last;
	start->count = UINT32_MAX;
	escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, last + 0x10000 * NEURON_INST_SIZE);
	nop.addr = 1ull << 57;		/* times 128: 0 modulo 2^64 */
	memcpy(e->job.hbm + JOB_HBM_BYTES - NEURON_INST_SIZE, &nop, sizeof(nop));
	start->addr = last;
	start->count = UINT32_MAX;
	escape_caught(e, NEURON_CAUSE_PC, SYNC, 0);
}

static void test_notifications(void **state)
{
	struct escape *e = *state;
	unsigned int i, n;

	for (i = 0; i < e->nr_evils; i++) {
		/* A stream is what this is for. */
		if (!e->evil[i].write ||
		    e->evil[i].addr == neuron_window_addr(W_STREAM, 0))
			continue;
		job_inst(&e->job, SYNC, NEURON_OP_NOTIFY);
		job_halt(&e->job, SYNC);
		e->job.block->notify_addr = e->evil[i].addr;
		e->job.block->notify_size = 256;
		if (window_form(e->evil[i].addr, 256))
			escape_caught(e, e->evil[i].write, SYNC, 0);
		else
			escape_refused(e);
	}
	/* The fifth entry would lie behind the window. */
	for (n = 0; n < 5; n++)
		job_inst(&e->job, SYNC, NEURON_OP_NOTIFY);
	job_halt(&e->job, SYNC);
	e->job.block->notify_addr = neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 64);
	e->job.block->notify_size = 128;
	escape_caught(e, NEURON_CAUSE_WINDOW, SYNC, 0);
	assert_int_equal(e->job.completion->pc, 4);
	e->job.block->notify_addr = neuron_window_addr(JOB_W_HBM, NEURON_ADDR_WINDOW_OFFSET - 127);
	e->job.block->notify_size = 128;
	escape_refused(e);
}

/* --- The job block's addresses --- */

static void test_rings(void **state)
{
	const uint32_t bytes = JOB_RING * sizeof(struct neuron_udma_desc);
	struct escape *e = *state;
	struct neuron_hw_job_queue good = e->job.queues[0];
	unsigned int i, s2m;
	uint64_t *ring;

	for (s2m = 0; s2m < 2; s2m++) {
		ring = s2m ? (uint64_t *)&e->job.queues[0].s2m_ring :
			     (uint64_t *)&e->job.queues[0].m2s_ring;
		for (i = 0; i < e->nr_evils; i++) {
			if (!e->evil[i].read)
				continue;
			job_copy(&e->job, 0, job_hbm_at(0), job_hbm_at(64), 64);
			job_trigger(&e->job, SYNC, 0, 1, 1);
			job_halt(&e->job, SYNC);
			*ring = e->evil[i].addr;
			if (window_form(*ring, bytes))
				escape_caught(e, e->evil[i].read, NEURON_SOURCE_DMA, *ring);
			else
				escape_refused(e);
			e->job.queues[0] = good;
		}
	}
	/* A queue of the sibling core, or one that all share. */
	job_halt(&e->job, SYNC);
	e->job.queues[0].dma_engine = (uint16_t)neuron_core_dma(ESCAPE_SIBLING);
	escape_refused(e);
	job_halt(&e->job, SYNC);
	e->job.queues[0].dma_engine = (uint16_t)neuron_copy_engine(e->rig->chip[0]->gen, 0);
	escape_refused(e);
}

/* Windows that the kernel got wrong are no windows. */
static void test_window_lists(void **state)
{
	struct escape *e = *state;
	const struct neuron_gen *gen = e->rig->chip[0]->gen;
	const uint32_t rw = NEURON_WINDOW_READ | NEURON_WINDOW_WRITE;
	uint64_t at = rig_host(e->rig, 0, 4 * sizeof(struct neuron_hw_extent));
	struct neuron_hw_extent *list = rig_host_ptr(e->rig, 0, at);
	const struct {
		uint32_t kind;
		uint64_t addr;
		uint64_t length;
	} bad[] = {
		{ NEURON_WINDOW_HBM, gen->tpb_addr[ESCAPE_CORE] + NEURON_TPB_SBUF, 4096 },
		{ NEURON_WINDOW_HBM, gen->hbm_addr[0] + FAKE_HBM_SIZE - 2048, 4096 },
		{ NEURON_WINDOW_HBM, rig_host_addr(e->rig, 0, 4096), 4096 },
		{ NEURON_WINDOW_HBM, neuron_fabric_addr(1, gen->hbm_addr[0]), 4096 },
		{ NEURON_WINDOW_HBM, neuron_fabric_addr(0, gen->hbm_addr[0]), 4096 },
		{ NEURON_WINDOW_SBUF, gen->tpb_addr[ESCAPE_SIBLING] + NEURON_TPB_SBUF, 4096 },
		{ NEURON_WINDOW_SBUF, gen->tpb_addr[ESCAPE_CORE] + NEURON_TPB_PSUM, 4096 },
		{ NEURON_WINDOW_PSUM, gen->tpb_addr[ESCAPE_SIBLING] + NEURON_TPB_PSUM, 4096 },
		{ NEURON_WINDOW_HOST, gen->hbm_addr[0], 4096 },
		{ NEURON_WINDOW_HOST, 2 * gen->host_base - 2048, 4096 },
		{ NEURON_WINDOW_PEER, gen->hbm_addr[0], 4096 },
		{ NEURON_WINDOW_PEER, neuron_fabric_addr(0, gen->hbm_addr[0]), 4096 },
		{ NEURON_WINDOW_PEER, neuron_fabric_addr(1, gen->host_base), 4096 },
		{ NEURON_WINDOW_PEER, neuron_fabric_addr(1, gen->apb_addr[0]), 4096 },
		{ NEURON_WINDOW_HBM, neuron_window_addr(JOB_W_HBM, 0), 4096 },
		{ NEURON_WINDOW_HBM, gen->apb_addr[0], 4096 },
	};
	unsigned int i, listed;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (listed = 0; listed < 2; listed++) {
			/* In a list, behind an extent that is good. */
			list[0] = (struct neuron_hw_extent){ gen->hbm_addr[0] + 0x400000, 64 };
			list[1] = (struct neuron_hw_extent){ bad[i].addr, bad[i].length };
			escape_window(e, W_RO, bad[i].kind | rw | (listed ? NEURON_WINDOW_LIST : 0),
				      listed ? rig_host_addr(e->rig, 0, at) : bad[i].addr,
			       bad[i].length + 64 * listed);
			e->job.windows[W_RO].nr_extents = 2 * listed;
			job_halt(&e->job, SYNC);
			escape_refused(e);
		}
	}
	escape_window(e, W_RO, NEURON_WINDOW_PEER | rw,
		      neuron_fabric_addr(7, gen->hbm_addr[0]), 4096);
	e->job.windows[W_RO].nr_extents = 0;
	job_halt(&e->job, SYNC);
	escape_out_of_reach(e, W_RO);
}

/* Between the extents of a window lies nothing of it. */
static void test_extents(void **state)
{
	struct escape *e = *state;
	const uint64_t base = e->rig->chip[0]->gen->hbm_addr[0] + ESCAPE_SIBLING * JOB_HBM_BYTES;
	uint64_t at = rig_host(e->rig, 0, 3 * sizeof(struct neuron_hw_extent));
	struct neuron_hw_extent *list = rig_host_ptr(e->rig, 0, at);
	uint8_t *sibling = e->rig->chip[0]->hbm[0] + ESCAPE_SIBLING * JOB_HBM_BYTES;
	static uint8_t want[0x3000];
	unsigned int i;

	for (i = 0; i < 3; i++)
		list[i] = (struct neuron_hw_extent){ base + 0x1000 * (2 - i) + 7 * i, 0x101 + i };
	escape_window(e, W_RO, NEURON_WINDOW_HBM | NEURON_WINDOW_WRITE | NEURON_WINDOW_LIST,
		      rig_host_addr(e->rig, 0, at), 3 * 0x101 + 3);
	e->job.windows[W_RO].nr_extents = 3;
	memcpy(want, sibling, sizeof(want));
	memcpy(want + 0x2000, e->job.hbm + JOB_AT_DATA, 0x101);
	memcpy(want + 0x1007, e->job.hbm + JOB_AT_DATA + 0x101, 0x102);
	memcpy(want + 14, e->job.hbm + JOB_AT_DATA + 0x203, 0x103);
	job_copy(&e->job, 0, neuron_window_addr(W_RO, 0), job_hbm_at(0), 3 * 0x101 + 3);
	job_trigger(&e->job, SYNC, 0, 1, 1);
	job_halt(&e->job, SYNC);
	job_run(&e->job);
	assert_memory_equal(sibling, want, sizeof(want));
	escape_restart(e);
	job_copy(&e->job, 0, neuron_window_addr(W_RO, 1), job_hbm_at(0), 3 * 0x101 + 3);
	job_trigger(&e->job, SYNC, 0, 1, 1);
	job_halt(&e->job, SYNC);
	escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA, neuron_window_addr(W_RO, 1));
}

/* --- Semaphores of others --- */

static void grant(struct escape *e, unsigned int chip, uint32_t generation)
{
	uint64_t base = e->rig->chip[chip]->gen->tpb_addr[ESCAPE_SIBLING] + NEURON_TPB_SEM;

	escape_window(e, W_RO, NEURON_WINDOW_SEM | NEURON_WINDOW_READ | NEURON_WINDOW_WRITE,
		      chip ? neuron_fabric_addr(chip, base) : base, 8);
	e->job.windows[W_RO].sem_first = 40;
	e->job.windows[W_RO].generation = generation;
}

static void post(struct escape *e, uint64_t addr, uint32_t len)
{
	job_copy(&e->job, 0, addr, job_hbm_at(0), len);
	job_trigger(&e->job, SYNC, 0, 1, 1);
	job_halt(&e->job, SYNC);
}

static void test_semaphores(void **state)
{
	static const uint32_t lengths[] = { 1, 2, 3, 5, 8, 64 };
	struct escape *e = *state;
	unsigned int i, chip;

	for (chip = 0; chip < RIG_CHIPS; chip++) {
		struct trn_core *target = &e->rig->chip[chip]->core[ESCAPE_SIBLING];
		uint32_t stale = atomic_load(&target->stale_posts);

		atomic_store(&target->generation, 6);
		grant(e, chip, 6);
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			post(e, neuron_window_addr(W_RO, 0), lengths[i]);
			escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
				      neuron_window_addr(W_RO, 0));
		}
		post(e, neuron_window_addr(W_RO, 1), 4);
		escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
			      neuron_window_addr(W_RO, 1));
		post(e, neuron_window_addr(W_RO, 8), 4);
		escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
			      neuron_window_addr(W_RO, 8));
		/* What others count is not to be read. */
		escape_word(e, false, neuron_window_addr(W_RO, 4), 0);
		escape_caught(e, NEURON_CAUSE_RIGHTS, SYNC, neuron_window_addr(W_RO, 4));
		/* A grant of an earlier claim: dropped, counted there, no error. */
		grant(e, chip, 5);
		escape_snapshot(e);
		post(e, neuron_window_addr(W_RO, 0), 4);
		job_run(&e->job);
		escape_restart(e);
		escape_untouched(e);
		assert_int_equal(atomic_load(&target->stale_posts), stale + 1);
		/* A good one, so that the above says something. */
		grant(e, chip, 6);
		post(e, neuron_window_addr(W_RO, 4), 4);
		job_run(&e->job);
		escape_restart(e);
		assert_int_not_equal(trn_sem_value(target->sems, 41), 0);
		assert_int_equal(atomic_load(&target->stale_posts), stale + 1);
	}
}

/* --- What changes while the job runs --- */

/* Wait for semaphore 9, then copy out of window W_RO. */
static void parked_copy(struct escape *e)
{
	job_take(&e->job, SYNC, 9, 1);
	job_copy(&e->job, 0, job_hbm_at(0), neuron_window_addr(W_RO, 0x800), 64);
	job_trigger(&e->job, SYNC, 0, 1, 1);
	job_halt(&e->job, SYNC);
}

static bool parked(void *arg)
{
	struct escape *e = arg;

	return atomic_load(&e->job.core->seq[SYNC].status) == NEURON_ENGINE_WAITING &&
	       trn_task_quiet(&e->job.core->seq[SYNC].task);
}

static void test_table_changes(void **state)
{
	struct escape *e = *state;
	const uint64_t base = e->rig->chip[0]->gen->hbm_addr[0] + ESCAPE_SIBLING * JOB_HBM_BYTES;
	const uint32_t rw = NEURON_WINDOW_READ | NEURON_WINDOW_WRITE;
	uint32_t before = job_reg(&e->job, NEURON_CORE_VIOLATIONS);

	escape_window(e, W_RO, NEURON_WINDOW_HBM | NEURON_WINDOW_READ, base, 0x800);
	parked_copy(e);
	escape_snapshot(e);
	job_submit(&e->job);
	assert_true(fake_wait(parked, e));
	/* The table, the block and the queue table now say something else. */
	escape_window(e, W_RO, NEURON_WINDOW_HBM | rw, base, JOB_HBM_BYTES);
	escape_window(e, JOB_W_HBM, NEURON_WINDOW_HBM | rw, e->rig->chip[0]->gen->hbm_addr[0],
		      JOB_HBM_BYTES);
	e->job.block->nr_windows = 0;
	e->job.block->start[SYNC].addr = 0;
	e->job.queues[0].m2s_ring = neuron_window_addr(W_RO, 0);
	job_post(&e->job, 9, 1);
	job_wait(&e->job);
	assert_int_equal(e->job.completion->cause, NEURON_CAUSE_WINDOW);
	assert_int_equal(e->job.completion->addr, neuron_window_addr(W_RO, 0x800));
	assert_int_equal(job_reg(&e->job, NEURON_CORE_VIOLATIONS), before + 1);
	escape_untouched(e);
}

/* The chip with fabric id 1, anew. */
static void make_peer(struct escape *e, uint64_t hbm_size)
{
	struct trn_chip_config config;
	const char *why = NULL;

	config = fake_chip_config(&e->rig->port[1], e->rig->chip[0]->gen, e->rig->pool,
				  e->rig->fabric, 1);
	config.hbm_size = hbm_size;
	e->rig->chip[1] = trn_chip_new(&config, &why);
	assert_non_null(e->rig->chip[1]);
}

/*
 * While a job has a window on it, the peer goes (@size 0) or comes back with less
 * memory: the job tries to copy the 64 bytes at @at of its old HBM.
 */
static void peer_shrinks(struct escape *e, uint64_t size, uint64_t at,
			 enum neuron_cause cause)
{
	const uint64_t window = e->rig->chip[0]->gen->hbm_addr[0] + at - 0x800;
	uint8_t before[64], *dst = e->job.hbm + JOB_AT_DATA;

	escape_window(e, W_RO, NEURON_WINDOW_PEER | NEURON_WINDOW_READ,
		      neuron_fabric_addr(1, window), 0x1000);
	parked_copy(e);
	memcpy(before, dst, sizeof(before));
	job_submit(&e->job);
	assert_true(fake_wait(parked, e));
	fake_chip_free(e->rig->chip[1]);
	if (size)
		make_peer(e, size);
	job_post(&e->job, 9, 1);
	job_wait(&e->job);
	assert_int_equal(e->job.completion->cause, cause);
	assert_int_equal(e->job.completion->addr, neuron_window_addr(W_RO, 0x800));
	assert_memory_equal(before, dst, sizeof(before));
	escape_restart(e);
	if (size)
		fake_chip_free(e->rig->chip[1]);
	make_peer(e, FAKE_HBM_SIZE);
}

static void test_peer_shrinks(void **state)
{
	const uint64_t half = FAKE_HBM_SIZE / 2;
	struct escape *e = *state;

	peer_shrinks(e, 0, half, NEURON_CAUSE_FABRIC);
	peer_shrinks(e, half, half + 0x100000, NEURON_CAUSE_ADDRESS);
	peer_shrinks(e, half, half, NEURON_CAUSE_ADDRESS);
	/* The end of its memory is in the middle. */
	peer_shrinks(e, half, half - 32, NEURON_CAUSE_ADDRESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ESCAPE_TEST(test_dge_block),
		ESCAPE_TEST(test_dge_registers),
		ESCAPE_TEST(test_words),
		ESCAPE_TEST(test_fetch),
		ESCAPE_TEST(test_notifications),
		ESCAPE_TEST(test_rings),
		ESCAPE_TEST(test_window_lists),
		ESCAPE_TEST(test_extents),
		ESCAPE_TEST(test_semaphores),
		ESCAPE_TEST(test_table_changes),
		ESCAPE_TEST(test_peer_shrinks),
	};

	return cmocka_run_group_tests_name("escape_job", tests, NULL, NULL);
}
