// SPDX-License-Identifier: MIT
/*
 * A program cannot leave its domain by DMA: each address of a descriptor, a block
 * or a list is tried with addresses of every kind that is not the program's. The
 * job ends with the right cause, the violation is counted, and nothing around has
 * changed: neither the memory of the sibling cores, nor of the other chip, nor of
 * the host.
 */
#include "escape_rig.h"
#include "contract/op.h"

#include <string.h>

/* --- Descriptors --- */

static void test_m2s(void **state)
{
	struct escape *e = *state;
	unsigned int i;

	for (i = 0; i < e->nr_evils; i++) {
		if (!e->evil[i].read)
			continue;
		job_copy(&e->job, 0, job_hbm_at(0x1000), e->evil[i].addr, 64);
		job_trigger(&e->job, SYNC, 0, 1, 1);
		job_halt(&e->job, SYNC);
		escape_caught(e, e->evil[i].read, NEURON_SOURCE_DMA, e->evil[i].addr);
		assert_int_equal(e->job.completion->queue >> 15, 0);
	}
	/* Across the end: not even what lies inside is moved. */
	job_copy(&e->job, 1, job_hbm_at(0), neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 63), 64);
	job_trigger(&e->job, SYNC, 1, 1, 1);
	job_halt(&e->job, SYNC);
	escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
		      neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 63));
	job_copy(&e->job, 1, job_hbm_at(0),
		 neuron_window_addr(JOB_W_SBUF, NEURON_TPB_SBUF_SIZE - 1), 0);
	job_trigger(&e->job, SYNC, 1, 1, 1);
	job_halt(&e->job, SYNC);
	escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
		      neuron_window_addr(JOB_W_SBUF, NEURON_TPB_SBUF_SIZE - 1));
}

static void test_s2m(void **state)
{
	struct escape *e = *state;
	unsigned int i;

	for (i = 0; i < e->nr_evils; i++) {
		if (!e->evil[i].write)
			continue;
		job_copy(&e->job, 0, e->evil[i].addr, job_hbm_at(0x1000), 64);
		job_trigger(&e->job, SYNC, 0, 1, 1);
		job_halt(&e->job, SYNC);
		escape_caught(e, e->evil[i].write, NEURON_SOURCE_DMA, e->evil[i].addr);
		assert_int_equal(e->job.completion->queue >> 15, 1);
	}
	job_copy(&e->job, 1, neuron_window_addr(JOB_W_HOST, JOB_HOST_BYTES - 63),
		 job_hbm_at(0x1000), 64);
	job_trigger(&e->job, SYNC, 1, 1, 1);
	job_halt(&e->job, SYNC);
	escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
		      neuron_window_addr(JOB_W_HOST, JOB_HOST_BYTES - 63));
}

/* --- Operations: block, list, ends --- */

static void push(struct escape *e, bool s2m, struct neuron_udma_desc desc)
{
	struct neuron_udma_desc *ring = (void *)(e->job.hbm + JOB_AT_RING(0, s2m));

	ring[e->job.pushed[0][s2m]++] = desc;
}

/* A packet with the block at @block. */
static void push_operation(struct escape *e, uint64_t block,
			   const struct neuron_udma_dge *dge)
{
	const uint32_t id = NEURON_UDMA_RING_ID_FIRST;
	unsigned int i;

	push(e, false, neuron_op_block(block, id));
	for (i = 0; i < dge->op.nr_src; i++)
		push(e, false, neuron_op_source(dge->src[i], id, i + 1 == dge->op.nr_src));
	for (i = 0; i < dge->op.nr_dst; i++)
		push(e, true, neuron_op_target(dge->dst[i], id));
	job_trigger(&e->job, SYNC, 0, 1 + dge->op.nr_src, dge->op.nr_dst);
	job_halt(&e->job, SYNC);
}

/* By the ring, then by an instruction: the same error. */
static void operation_caught(struct escape *e, const struct neuron_udma_dge *dge,
			     enum neuron_cause cause, uint64_t addr)
{
	memcpy(e->job.hbm + AT_BLOCK, dge, sizeof(*dge));
	push_operation(e, BLOCK_ADDR, dge);
	escape_caught(e, cause, NEURON_SOURCE_DMA, addr);
	escape_generate(e, BLOCK_ADDR);
	job_halt(&e->job, SYNC);
	escape_caught(e, cause, NEURON_SOURCE_DMA, addr);
}

static void test_op_block(void **state)
{
	const struct neuron_udma_dge dge = escape_sum(1);
	struct escape *e = *state;
	unsigned int i;

	for (i = 0; i < e->nr_evils; i++) {
		if (!e->evil[i].read)
			continue;
		push_operation(e, e->evil[i].addr, &dge);
		escape_caught(e, e->evil[i].read, NEURON_SOURCE_DMA, e->evil[i].addr);
	}
	push_operation(e, neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 192), &dge);
	escape_caught(e, NEURON_CAUSE_WINDOW, NEURON_SOURCE_DMA,
		      neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 192));
}

static void test_op_list(void **state)
{
	struct neuron_udma_dge dge = escape_sum(1);
	struct escape *e = *state;
	unsigned int i;

	dge.op.flags = NEURON_UDMA_OP_SRC_INDEXED;
	dge.op.src.num[3] = 4;
	dge.op.src.step[3] = 64;
	dge.op.dst.num[3] = 4;
	dge.op.dst.step[3] = 64;
	dge.op.nr_index = 4;
	dge.op.index_limit = UINT32_MAX;
	for (i = 0; i < e->nr_evils; i++) {
		if (!e->evil[i].read)
			continue;
		dge.op.index = e->evil[i].addr;
		operation_caught(e, &dge, e->evil[i].read, e->evil[i].addr);
	}
	dge.op.index = neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES - 12);
	operation_caught(e, &dge, NEURON_CAUSE_WINDOW, dge.op.index);
}

/* Indices that the list's limit lets through. */
static void test_op_indices(void **state)
{
	static const struct {
		int64_t step;
		uint32_t index;
	} cases[] = {
		{ JOB_HBM_BYTES, 1 },			/* the sibling's memory */
		{ -(int64_t)JOB_HBM_BYTES, 1 },
		{ 1ll << 46, 2 },			/* the next window */
		{ -(1ll << 47), 1 },			/* the one before */
		{ 1ll << 62, 2 },			/* no window at all */
		{ INT64_MIN, 1 },
		{ INT64_MIN, 2 },			/* 0 modulo 2^64 */
		{ 1ll << 33, 0x80000000 },
		{ 0x3fffffff, 0xfffffffe },
	};
	struct neuron_udma_dge dge = escape_sum(1);
	struct escape *e = *state;
	uint32_t *list = (uint32_t *)(void *)(e->job.hbm + AT_LIST);
	unsigned int i;

	dge.op.nr_index = 2;
	dge.op.index_limit = UINT32_MAX;
	dge.op.index = neuron_window_addr(JOB_W_HBM, AT_LIST);
	dge.op.src.num[3] = 2;
	dge.op.dst.num[3] = 2;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool far = cases[i].step >= 1ll << 46 || cases[i].step < -(1ll << 40) ||
			   cases[i].index > 2;
		uint64_t there = (uint64_t)cases[i].step * cases[i].index;
		bool below = cases[i].step < 0;

		list[0] = 0;
		list[1] = cases[i].index;
		dge.op.flags = NEURON_UDMA_OP_SRC_INDEXED;
		dge.op.src.step[3] = (uint64_t)cases[i].step;
		dge.op.dst.step[3] = 64;
		operation_caught(e, &dge, NEURON_CAUSE_WINDOW,
				 far || below ? dge.src[0] : dge.src[0] + there);
		/* A scatter: its first row, which is good, may be written. */
		if (!far && !below)
			continue;
		dge.op.flags = NEURON_UDMA_OP_DST_INDEXED;
		dge.op.src.step[3] = 64;
		dge.op.dst.step[3] = (uint64_t)cases[i].step;
		operation_caught(e, &dge, NEURON_CAUSE_WINDOW, dge.dst[0]);
	}
}

static void test_op_ends(void **state)
{
	struct escape *e = *state;
	struct neuron_udma_dge dge;
	unsigned int i, s;

	for (i = 0; i < e->nr_evils; i++) {
		for (s = 0; s < 3 && e->evil[i].read; s++) {
			dge = escape_sum(3);
			dge.src[s] = e->evil[i].addr;
			operation_caught(e, &dge, e->evil[i].read, e->evil[i].addr);
		}
		if (e->evil[i].write) {
			dge = escape_sum(2);
			dge.dst[0] = e->evil[i].addr;
			operation_caught(e, &dge, e->evil[i].write, e->evil[i].addr);
		}
	}
	/* Semaphores, word by word. */
	dge = escape_sum(1);
	dge.op.src.step[0] = 8;
	dge.src[0] = job_sem_at(3);
	operation_caught(e, &dge, NEURON_CAUSE_WINDOW, dge.src[0]);
	dge = escape_sum(1);
	dge.op.dst.step[0] = 8;
	dge.dst[0] = job_sem_at(3);
	operation_caught(e, &dge, NEURON_CAUSE_WINDOW, dge.dst[0]);
	/* Read-modify-write needs both rights. */
	dge = escape_sum(1);
	dge.op.flags = NEURON_UDMA_OP_ACCUMULATE;
	dge.dst[0] = neuron_window_addr(W_WO, 0);
	operation_caught(e, &dge, NEURON_CAUSE_RIGHTS, dge.dst[0]);
}

/* Steps out of the window: to a neighbour's memory or window, or round the 64 bits. */
static void test_op_steps(void **state)
{
	static const int64_t steps[] = {
		-0x50000, -(int64_t)JOB_HBM_BYTES, 1ll << 47, -(1ll << 47), 1ll << 62,
		-(1ll << 62), INT64_MIN, INT64_MAX, (1ll << 47) - 0x1000,
	};
	struct escape *e = *state;
	struct neuron_udma_dge dge;
	unsigned int i, d;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (d = 0; d < 4; d++) {
			dge = escape_sum(2);
			dge.op.src.num[0] = 1;
			dge.op.src.num[d] = 16;
			dge.op.src.step[d] = (uint64_t)steps[i];
			operation_caught(e, &dge, NEURON_CAUSE_WINDOW, dge.src[0]);
			dge = escape_sum(2);
			dge.op.dst.num[0] = 1;
			dge.op.dst.num[d] = 16;
			dge.op.dst.step[d] = (uint64_t)steps[i];
			operation_caught(e, &dge, NEURON_CAUSE_WINDOW, dge.dst[0]);
		}
	}
	/* Beyond the end by a step that stays in the offset. */
	dge = escape_sum(1);
	dge.op.src.step[0] = JOB_HBM_BYTES / 2;
	operation_caught(e, &dge, NEURON_CAUSE_WINDOW,
			 dge.src[0] + JOB_HBM_BYTES);
}

#ifndef __SANITIZE_THREAD__	/* the race is the point */
struct flip {
	struct escape *e;
	_Atomic bool stop;
};

/* Good and bad in turn, in everything that an operation reads. */
static void *flipper(void *arg)
{
	struct flip *flip = arg;
	struct escape *e = flip->e;
	volatile struct neuron_udma_dge *dge = (void *)(e->job.hbm + AT_BLOCK);
	volatile uint32_t *list = (void *)(e->job.hbm + AT_LIST);
	unsigned int i = 0, n;

	while (!atomic_load(&flip->stop)) {
		const struct evil *evil = &e->evil[i++ % e->nr_evils];

		for (n = 0; n < 50; n++) {
			dge->src[0] = n % 2 ? job_hbm_at(0) : evil->addr;
			dge->dst[0] = n % 3 ? job_hbm_at(0x8000) : evil->addr;
			dge->op.src.step[3] = n % 5 ? 64 : 1ull << (i % 64);
			dge->op.src.num[0] = n % 7 ? 16 : i;
			list[1] = n % 4 ? 1 : i * 0x01000193;
		}
	}
	return NULL;
}

static void test_race(void **state)
{
	struct escape *e = *state;
	struct neuron_udma_dge dge = escape_sum(1);
	struct flip flip = { .e = e };
	uint32_t *list = (void *)(e->job.hbm + AT_LIST);
	unsigned int i, k, faults = 0;
	pthread_t thread;

	/* What is good may change; all else is guarded. */
	for (i = 0; i < e->nr_guards; i++)
		if (e->guard[i].ptr == e->job.hbm + JOB_AT_DATA)
			e->guard[i].len = 0;
	/* The evil window that can be written is open to it. */
	escape_window(e, W_WO, NEURON_WINDOW_EMPTY, 0, 0);
	dge.op.flags = NEURON_UDMA_OP_SRC_INDEXED;
	dge.op.src.num[3] = 2;
	dge.op.src.step[3] = 64;
	dge.op.dst.num[3] = 2;
	dge.op.dst.step[3] = 64;
	dge.op.nr_index = 2;
	dge.op.index_limit = UINT32_MAX;
	dge.op.index = neuron_window_addr(JOB_W_HBM, AT_LIST);
	list[0] = 0;
	memcpy(e->job.hbm + AT_BLOCK, &dge, sizeof(dge));
	escape_snapshot(e);
	assert_int_equal(pthread_create(&thread, NULL, flipper, &flip), 0);
	/* Until the other thread has had its turn, too. */
	for (i = 0; i < 400 || (!faults && i < 100000); i++) {
		for (k = 0; k < 8; k++)
			escape_generate(e, BLOCK_ADDR);
		job_halt(&e->job, SYNC);
		job_submit(&e->job);
		job_wait(&e->job);
		faults += e->job.completion->status == NEURON_JOB_ERROR;
		escape_restart(e);
	}
	atomic_store(&flip.stop, true);
	pthread_join(thread, NULL);
	escape_untouched(e);
	assert_true(faults > 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		ESCAPE_TEST(test_m2s),
		ESCAPE_TEST(test_s2m),
		ESCAPE_TEST(test_op_block),
		ESCAPE_TEST(test_op_list),
		ESCAPE_TEST(test_op_indices),
		ESCAPE_TEST(test_op_ends),
		ESCAPE_TEST(test_op_steps),
#ifndef __SANITIZE_THREAD__
		ESCAPE_TEST(test_race),
#endif
	};

	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
