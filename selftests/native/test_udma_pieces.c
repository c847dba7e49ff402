// SPDX-License-Identifier: MIT
/*
 * Long packets are moved piece by piece: a piece is short, where they pause changes nothing, and
 * others are served meanwhile.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "chip_rig.h"
#include "dma/trn_udma.h"
#include "num/trn_num.h"
#include "ring_rig.h"

#define FIRST	NEURON_UDMA_DESC_FIRST
#define LAST	NEURON_UDMA_DESC_LAST

/* More than this is not done without a look at the clock, as in test_resume.c. */
#define WORK_MOST	(5 * TRN_BUDGET_WORK)

/* In HBM stack 0. */
#define OP_AT		0x8000
#define LIST_AT		NEURON_MIB(1)
#define SRC_AT		NEURON_MIB(16)
#define DST_AT		NEURON_MIB(128)
#define DST_BYTES	NEURON_MIB(96)
#define SHORT_AT	NEURON_MIB(4)
#define RING_LENGTH	256

/**
 * struct shape - a long operation
 * @sources, @destinations: which lie @apart bytes from each other
 * @rows: dimension 3, of which each has an index where @indexed
 */
struct shape {
	const char *name;
	unsigned int op;
	unsigned int src_dtype;
	unsigned int dst_dtype;
	unsigned int sources;
	unsigned int destinations;
	uint32_t num[4];
	uint64_t src_step[4];
	uint64_t dst_step[4];
	uint64_t apart;
	bool indexed;
};

#define FP32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16
#define FP8	NEURON_DTYPE_FP8_E4

static const struct shape shapes[] = {
	{ "copy of scattered bytes", NEURON_UDMA_OP_COPY, NEURON_DTYPE_UINT8, NEURON_DTYPE_UINT8,
	  1, 1, { 1, 131072, 1, 1 }, { 1, 70 }, { 1, 130 }, 0, false },
	{ "copy to sixteen", NEURON_UDMA_OP_COPY, FP32, FP32, 1, 16,
	  { 15360, 1, 1, 1 }, { 4 }, { 4 }, NEURON_MIB(1), false },
	{ "copy side by side", NEURON_UDMA_OP_COPY, FP32, FP32, 1, 1,
	  { 131072, 1, 1, 1 }, { 4 }, { 4 }, 0, false },
	{ "cast", NEURON_UDMA_OP_COPY, FP32, FP8, 1, 1,
	  { 131072, 1, 1, 1 }, { 4 }, { 1 }, 0, false },
	{ "cast of scattered numbers", NEURON_UDMA_OP_COPY, FP8, BF16, 1, 1,
	  { 1, 131072, 1, 1 }, { 1, 66 }, { 2, 128 }, 0, false },
	{ "sum of sixteen", NEURON_UDMA_OP_ADD, BF16, FP32, 16, 1,
	  { 15360, 1, 1, 1 }, { 2 }, { 4 }, NEURON_MIB(1), false },
	{ "sum of sixteen, scattered", NEURON_UDMA_OP_ADD, FP8, FP8, 16, 1,
	  { 1, 15360, 1, 1 }, { 1, 66 }, { 1, 62 }, NEURON_MIB(2), false },
	{ "transposition", NEURON_UDMA_OP_TRANSPOSE, FP32, FP32, 1, 1,
	  { 512, 256, 1, 1 }, { 4, 2048 }, { 4, 1024 }, 0, false },
	{ "transposition to many, scattered", NEURON_UDMA_OP_TRANSPOSE, BF16, BF16, 1, 4,
	  { 128, 256, 1, 1 }, { 66, 16384 }, { 34, 16384 }, NEURON_MIB(8), false },
	{ "transposition of a narrow one", NEURON_UDMA_OP_TRANSPOSE, FP32, FP32, 1, 1,
	  { 2, 65536, 1, 1 }, { 4, 8 }, { 4, 262144 }, 0, false },
	{ "rows by an index", NEURON_UDMA_OP_COPY, FP32, FP32, 1, 1,
	  { 2, 1, 1, 65536 }, { 4, 0, 0, 64 }, { 4, 0, 0, 8 }, 0, true },
};

#define NR_SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

static uint8_t *hbm(struct rig *rig)
{
	return rig->chip[0]->hbm[0];
}

static void pattern(struct neuron_udma_pattern *to, const uint32_t num[4], const uint64_t step[4])
{
	unsigned int d;

	for (d = 0; d < 4; d++) {
		to->num[d] = num[d];
		to->step[d] = step[d];
	}
}

/* Every eighth row is left out. */
static void put_list(struct rig *rig, struct neuron_udma_op *op)
{
	uint32_t *list = (uint32_t *)(void *)(hbm(rig) + LIST_AT);
	uint32_t i;

	for (i = 0; i < op->src.num[3]; i++)
		list[i] = i % 8 == 3 ? UINT32_MAX : i * 2654435761u >> 16;
	op->index = LIST_AT;
	op->nr_index = op->src.num[3];
	op->index_limit = 65536;
	op->flags = NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_OOB_SKIP;
}

static void push(struct ring_pair *ring, const struct shape *shape)
{
	struct neuron_udma_op op = {
		.op = (uint8_t)shape->op,
		.nr_src = (uint8_t)shape->sources,
		.nr_dst = (uint8_t)shape->destinations,
		.src_dtype = (uint8_t)shape->src_dtype,
		.dst_dtype = (uint8_t)shape->dst_dtype,
	};
	uint32_t num[4], turned;
	unsigned int i;

	memcpy(num, shape->num, sizeof(num));
	pattern(&op.src, num, shape->src_step);
	turned = num[0];
	if (shape->op == NEURON_UDMA_OP_TRANSPOSE) {
		num[0] = num[1];
		num[1] = turned;
	}
	pattern(&op.dst, num, shape->dst_step);
	if (shape->indexed)
		put_list(ring->rig, &op);
	memcpy(hbm(ring->rig) + OP_AT, &op, sizeof(op));
	ring_m2s(ring, OP_AT, sizeof(op), FIRST)->meta_ctrl = NEURON_UDMA_META_OP;
	for (i = 0; i < shape->sources; i++)
		ring_m2s(ring, SRC_AT + i * shape->apart, 0,
			 i + 1 == shape->sources ? LAST : 0);
	for (i = 0; i < shape->destinations; i++)
		ring_s2m(ring, DST_AT + i * shape->apart, 0);
	ring_doorbell(ring, shape->sources + 1, shape->destinations);
}

/* Numbers of any type: neither NaN nor infinite. */
static void fill(struct rig *rig)
{
	uint32_t state = 1;
	size_t i;

	for (i = 0; i < NEURON_MIB(40); i++) {
		state = state * 1664525 + 1013904223;
		hbm(rig)[SRC_AT + i] = state >> 24 & 0xb7;
	}
}

static void ring_new(struct ring_pair *ring, struct rig *rig, unsigned int engine)
{
	ring_alloc(ring, rig, 0, engine, 0, RING_LENGTH);
	ring_program(ring);
}

static const struct trn_udma_queue *queue_of(const struct ring_pair *ring)
{
	return trn_udma_queue_at(ring->rig->chip[0], ring->engine, ring->queue);
}

static uint64_t digest(struct rig *rig)
{
	const uint8_t *at = hbm(rig) + DST_AT;
	uint64_t sum = 0, word;
	size_t i;

	for (i = 0; i < DST_BYTES; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
	}
	return sum;
}

/**
 * struct walk - how an operation went
 * @runs: of the queue's task
 * @most: work between two looks at the clock
 */
struct walk {
	unsigned int runs;
	uint64_t most;
	uint64_t digest;
};

/* @calls: as trn_budget.max_calls; 0: a deadline that has passed, so each look ends a run. */
static struct walk walk(struct rig *rig, const struct shape *shape, unsigned int calls)
{
	struct walk walk = { 0 };
	struct ring_pair ring;

	memset(hbm(rig) + DST_AT, 0, DST_BYTES);
	ring_new(&ring, rig, 0);
	push(&ring, shape);
	for (;;) {
		struct trn_budget budget = { .max_calls = calls };

		if (!trn_pool_step_with(rig->pool, &budget))
			break;
		walk.runs++;
		if (budget.most > walk.most)
			walk.most = budget.most;
	}
	assert_null(queue_of(&ring)->kept);
	ring_wait(&ring);
	walk.digest = digest(rig);
	return walk;
}

static void operations_on(struct rig *rig, const char *path)
{
	struct walk whole, cut;
	unsigned int i;

	for (i = 0; i < NR_SHAPES; i++) {
		const struct shape *shape = &shapes[i];

		whole = walk(rig, shape, INT_MAX);
		cut = walk(rig, shape, 0);
		print_message("%s, %s: %u runs, work of %llu at most\n", path, shape->name,
			      cut.runs, (unsigned long long)cut.most);
		if (cut.digest != whole.digest)
			fail_msg("%s, %s: another result", path, shape->name);
		if (cut.runs < 4 || whole.runs > 2)
			fail_msg("%s, %s: %u and %u runs", path, shape->name, cut.runs, whole.runs);
		if (cut.most > WORK_MOST)
			fail_msg("%s, %s: too much at once", path, shape->name);
	}
}

static void pieces_of_operations_are_short(void **state)
{
	static const char *const paths[] = { "scalar", "avx2", "avx512" };
	struct rig *rig = *state;
	unsigned int i;

	fill(rig);
	for (i = 0; i < 3; i++)
		if (trn_num_force_path(paths[i]))
			operations_on(rig, paths[i]);
	trn_num_force_path(NULL);
}

#define PACKET	15	/* descriptors of 64 KiB: an engine takes less than 1 MiB */

/* A copy of nearly 1 MiB, of which source and destination have other descriptors. */
static void push_copy(struct ring_pair *ring)
{
	unsigned int i;

	for (i = 0; i < PACKET; i++)
		ring_m2s(ring, SRC_AT + i * 65536, 65536,
			 (i ? 0 : FIRST) | (i + 1 == PACKET ? LAST : 0));
	for (i = 0; i < 2 * PACKET; i++)
		ring_s2m(ring, DST_AT + i * 32768, 32768);
	ring_doorbell(ring, PACKET, 2 * PACKET);
}

static void pieces_of_copies_are_short(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int runs = 0;

	fill(rig);
	ring_new(&ring, rig, 0);
	push_copy(&ring);
	for (;; runs++) {
		struct trn_budget budget = { .deadline_ns = 0 };

		if (!trn_pool_step_with(rig->pool, &budget))
			break;
		assert_in_range(budget.most, 0, WORK_MOST);
	}
	assert_true(runs >= PACKET / 2);
	ring_wait(&ring);
	assert_memory_equal(hbm(rig) + DST_AT, hbm(rig) + SRC_AT, PACKET * 65536);
}

/* Runs within which everything that asks for something has been served. */
#define SOON	8

static bool step(struct rig *rig)
{
	struct trn_budget budget = { .deadline_ns = 0 };

	return trn_pool_step_with(rig->pool, &budget);
}

/* A long packet in the middle: as many runs as others may have. */
static void begin_long(struct rig *rig, struct ring_pair *ring)
{
	unsigned int i;

	ring_new(ring, rig, 0);
	push(ring, &shapes[0]);
	for (i = 0; i < SOON; i++)
		assert_true(step(rig));
	assert_non_null(queue_of(ring)->kept);
}

static void another_queue_is_served(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring, other;
	unsigned int i;

	begin_long(rig, &ring);
	memcpy(hbm(rig) + SHORT_AT, "short", 6);
	ring_new(&other, rig, 1);
	ring_copy(&other, SHORT_AT + 64, SHORT_AT, 6);
	ring_doorbell(&other, 1, 1);
	for (i = 0; i < SOON; i++)
		step(rig);
	assert_memory_equal(hbm(rig) + SHORT_AT + 64, "short", 6);
	assert_non_null(queue_of(&ring)->kept);
	rig_step(rig);
	ring_wait(&ring);
}

static void a_reset_of_the_queue_is_served(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int i;

	begin_long(rig, &ring);
	ring_write(&ring, false, NEURON_UDMA_M2S_Q_SW_CTRL, NEURON_UDMA_Q_SW_CTRL_RESET);
	ring_write(&ring, true, NEURON_UDMA_S2M_Q_SW_CTRL, NEURON_UDMA_Q_SW_CTRL_RESET);
	for (i = 0; i < SOON && step(rig); i++)
		;
	assert_true(i < SOON);
	assert_null(queue_of(&ring)->kept);
	/* It works again. */
	ring_new(&ring, rig, 0);
	memcpy(hbm(rig) + SHORT_AT, "again", 6);
	ring_copy(&ring, SHORT_AT + 64, SHORT_AT, 6);
	ring_doorbell(&ring, 1, 1);
	rig_step(rig);
	assert_memory_equal(hbm(rig) + SHORT_AT + 64, "again", 6);
}

/* What is under way ends first, so that a saved chip has no half packet. */
static void a_stopped_chip_ends_the_packet(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	begin_long(rig, &ring);
	trn_chip_stop(rig->chip[0]);
	assert_false(trn_chip_quiet(rig->chip[0]));
	while (step(rig))
		;
	assert_true(trn_chip_quiet(rig->chip[0]));
	assert_null(queue_of(&ring)->kept);
	trn_chip_resume(rig->chip[0]);
	rig_step(rig);
	ring_wait(&ring);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup_large_stepped, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pieces_of_operations_are_short),
		TEST(pieces_of_copies_are_short),
		TEST(another_queue_is_served),
		TEST(a_reset_of_the_queue_is_served),
		TEST(a_stopped_chip_ends_the_packet),
	};

	return cmocka_run_group_tests_name("udma_pieces", tests, NULL, NULL);
}
