// SPDX-License-Identifier: MIT
/*
 * DMA_GENERATE: lengths from registers.
 */
#include "contract/window.h"
#include "dge_rig.h"

#include <string.h>

#define AT_TARGET	(AT_DATA + 0x40000)
#define AT_INDEX	(AT_DATA + 0x60000)
#define TARGET_BYTES	4096	/* that are looked at */
#define INDEX_LIMIT	8

/* Each of them once, in no order. */
static const uint32_t places[INDEX_LIMIT] = { 5, 0, 7, 2, 6, 1, 3, 4 };

static uint64_t element(const struct neuron_udma_pattern *pattern, const uint32_t at[4])
{
	uint64_t offset = 0;
	unsigned int d;

	for (d = 0; d < 4; d++)
		offset += at[d] * pattern->step[d];
	return offset;
}

/* What @op should do to @dst; as many elements as the pattern of its source says. */
static void move(uint8_t *dst, const uint8_t *src, const struct neuron_udma_op *op)
{
	const uint32_t *num = op->src.num;
	uint32_t from[4], to[4], i, rest;

	for (i = 0; i < num[0] * num[1] * num[2] * num[3]; i++) {
		unsigned int d;

		for (rest = i, d = 0; d < 4; rest /= num[d++])
			from[d] = rest % num[d];
		memcpy(to, from, sizeof(to));
		if (op->op == NEURON_UDMA_OP_TRANSPOSE) {
			to[0] = from[1];
			to[1] = from[0];
		}
		if (op->flags & NEURON_UDMA_OP_SRC_INDEXED)
			from[3] = places[from[3]];
		if (op->flags & NEURON_UDMA_OP_DST_INDEXED)
			to[3] = places[to[3]];
		memcpy(dst + element(&op->dst, to), src + element(&op->src, from), 4);
	}
}

/*
 * @n elements of dimension @dim of a block, with a post that comes always. The indices behind
 * as many as that are out of range, if they are looked at. Nothing else is written.
 */
static void expect_length(struct neuron_udma_dge dge, unsigned int dim, uint32_t n,
			  uint64_t bytes)
{
	struct neuron_inst inst;
	struct neuron_udma_op longer = dge.op;
	struct neuron_hw_completion record;
	uint8_t expected[TARGET_BYTES];
	struct dge_test t;

	dge_begin(&t, 2, false);
	dge_put_block(&t, 0, dge);
	memset(t.data + AT_INDEX, 0xff, 2 * sizeof(places));
	memcpy(t.data + AT_INDEX, places, dim == 3 ? n * sizeof(places[0]) : sizeof(places));
	longer.src.num[dim] = n;
	memcpy(expected, t.data + AT_TARGET, TARGET_BYTES);
	move(expected, t.data + AT_DATA, &longer);
	seq_add(&t.job, SYNC, OP(REG_SET, .imm0 = n, .reg = { 4 }));
	inst = dge_landed(dge_generate(0, DATA(AT_BLOCK(0)), 0, 0), 1);
	seq_add(&t.job, SYNC, dge_length(inst, 4, dim));
	seq_add(&t.job, SYNC, take_ge(OP(NOP), 9, 1));
	dge_halt(&t);
	record = seq_run(&t.job);
	assert_int_equal(record.cause, NEURON_CAUSE_NONE);
	assert_int_equal(record.dma_bytes, bytes);
	assert_memory_equal(t.data + AT_TARGET, expected, TARGET_BYTES);
	dge_end(&t);
}

/* Too long leaves the window, which is an error before anything is touched. */
static void expect_too_long(void)
{
	struct neuron_udma_dge dge =
		dge_copy_block(DATA(AT_DATA), DATA(SEQ_DATA_BYTES - 64), 4);
	struct dge_test t;
	unsigned int n;

	for (n = 16; n < 18; n++) {
		dge_begin(&t, 2, false);
		dge_put_block(&t, 0, dge);
		seq_add(&t.job, SYNC, OP(REG_SET, .imm0 = n, .reg = { 4 }));
		seq_add(&t.job, SYNC, dge_length(dge_generate(0, DATA(AT_BLOCK(0)), 0, 0), 4, 0));
		dge_halt(&t);
		assert_int_equal(seq_run(&t.job).cause,
				 n == 16 ? NEURON_CAUSE_NONE : NEURON_CAUSE_WINDOW);
		dge_end(&t);
	}
}

/* As many indices are read as the register says, be it more or fewer than the block does. */
static void expect_indexed(uint8_t flag)
{
	struct neuron_udma_dge dge = dge_copy_block(DATA(AT_TARGET), DATA(AT_DATA), 4);
	struct neuron_udma_op *op = &dge.op;
	unsigned int n;

	op->flags = flag;
	op->index = DATA(AT_INDEX);
	op->nr_index = 5;
	op->index_limit = INDEX_LIMIT;
	op->src.num[3] = 5;
	op->dst.num[3] = 5;
	op->src.step[3] = 64;
	op->dst.step[3] = 128;
	for (n = 0; n <= INDEX_LIMIT; n++)
		expect_length(dge, 3, n, 16 * n);
	/* Another dimension than that of the list. */
	expect_length(dge, 0, 7, 5 * 28);
}

static void test_lengths(void **state)
{
	struct neuron_udma_dge dge = dge_copy_block(DATA(AT_TARGET), DATA(AT_DATA), 4);

	(void)state;
	if (fake_gen()->generation < 3) {
		struct dge_test t;

		dge_begin(&t, 1, false);
		dge_put_block(&t, 0, dge);
		seq_add(&t.job, SYNC, dge_length(dge_generate(0, DATA(AT_BLOCK(0)), 0, 0), 4, 0));
		dge_halt(&t);
		seq_expect_fault(&t.job, NEURON_CAUSE_OPERAND, SYNC, 0);
		dge_end(&t);
		return;
	}
	expect_length(dge, 0, 4, 16);
	expect_length(dge, 0, 1000, 4000);
	expect_length(dge, 0, 0, 0);
	dge.op.src.num[1] = 4;
	dge.op.dst.num[1] = 4;
	dge.op.src.step[1] = 16;
	dge.op.dst.step[1] = 16;
	expect_length(dge, 1, 3, 48);
	expect_length(dge, 1, 0, 0);
	dge.op.op = NEURON_UDMA_OP_TRANSPOSE;
	expect_length(dge, 0, 4, 64);
	expect_length(dge, 0, 3, 48);
	expect_length(dge, 1, 2, 32);
	expect_indexed(NEURON_UDMA_OP_SRC_INDEXED);
	expect_indexed(NEURON_UDMA_OP_DST_INDEXED);
	expect_indexed(NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_DST_INDEXED);
	expect_too_long();
}

/* --- To another chip --- */

#define PEER		1
#define PEER_BYTES	TARGET_BYTES	/* of the window */

static uint64_t peer_window(struct dge_test *t)
{
	t->job.window[t->job.nr_windows] =
		neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_WRITE,
					neuron_fabric_addr(PEER, seq_data_addr(&t->rig, PEER,
									       CORE)),
					PEER_BYTES);
	return neuron_window_addr(t->job.nr_windows++, 0);
}

/*
 * Run the block with @n elements of dimension @dim, from a register or in the block; the
 * chip beside has @expected then. Returns the record.
 */
static struct neuron_hw_completion run_to_peer(struct neuron_udma_dge dge, unsigned int dim,
					       uint32_t n, bool in_register,
					       const uint8_t expected[PEER_BYTES])
{
	struct neuron_hw_completion record;
	struct neuron_inst inst;
	struct dge_test t;

	dge_begin_two(&t, 2, true);
	dge.dst[0] = peer_window(&t);
	if (!in_register) {
		dge.op.src.num[dim] = n;
		dge.op.dst.num[dim] = n;
	}
	dge_put_block(&t, 0, dge);
	memcpy(t.data + AT_INDEX, places, sizeof(places));
	inst = dge_generate(0, DATA(AT_BLOCK(0)), 0, 0);
	seq_add(&t.job, SYNC, OP(REG_SET, .imm0 = n, .reg = { 4 }));
	seq_add(&t.job, SYNC, dge_landed(in_register ? dge_length(inst, 4, dim) : inst, 1));
	seq_add(&t.job, SYNC, take_ge(OP(NOP), 9, 1));
	dge_halt(&t);
	record = seq_run(&t.job);
	assert_memory_equal(seq_data(&t.rig, PEER, CORE), expected, PEER_BYTES);
	dge_end(&t);
	return record;
}

/* Its bytes, and the time that they would take with the length in the block. */
static void expect_to_peer(struct neuron_udma_dge dge, unsigned int dim, uint32_t n)
{
	static uint8_t data[SEQ_DATA_BYTES - AT_DATA];
	struct neuron_hw_completion by_register, by_block;
	struct neuron_udma_op longer = dge.op;
	uint8_t expected[PEER_BYTES] = { 0 };
	uint32_t i;

	for (i = AT_DATA; i < SEQ_DATA_BYTES; i++)
		data[i - AT_DATA] = (uint8_t)(i * 7 + i / 256);
	longer.src.num[dim] = n;
	move(expected, data, &longer);
	by_register = run_to_peer(dge, dim, n, true, expected);
	assert_int_equal(by_register.cause, NEURON_CAUSE_NONE);
	if (!n)
		return;
	by_block = run_to_peer(dge, dim, n, false, expected);
	assert_int_equal(by_block.cause, NEURON_CAUSE_NONE);
	assert_int_equal(by_register.dma_bytes, by_block.dma_bytes);
	assert_int_equal(by_register.end_ns - by_register.start_ns,
			 by_block.end_ns - by_block.start_ns);
}

static void test_lengths_to_a_peer(void **state)
{
	struct neuron_udma_dge dge = dge_copy_block(0, DATA(AT_DATA), 4);
	static const uint8_t nothing[PEER_BYTES];

	(void)state;
	if (fake_gen()->generation < 3) {
		assert_int_equal(run_to_peer(dge, 0, 4, true, nothing).cause,
				 NEURON_CAUSE_OPERAND);
		return;
	}
	expect_to_peer(dge, 0, 0);
	expect_to_peer(dge, 0, 1);
	expect_to_peer(dge, 0, 5);
	expect_to_peer(dge, 0, PEER_BYTES / 4);
	assert_int_equal(run_to_peer(dge, 0, PEER_BYTES / 4 + 1, true, nothing).cause,
			 NEURON_CAUSE_WINDOW);
	dge.op.flags = NEURON_UDMA_OP_DST_INDEXED;
	dge.op.index = DATA(AT_INDEX);
	dge.op.nr_index = 5;
	dge.op.index_limit = INDEX_LIMIT;
	dge.op.src.num[3] = 5;
	dge.op.dst.num[3] = 5;
	dge.op.src.step[3] = 64;
	dge.op.dst.step[3] = 128;
	expect_to_peer(dge, 0, 7);
	expect_to_peer(dge, 0, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_lengths_to_a_peer),
	};

	return cmocka_run_group_tests_name("dge_length", tests, NULL, NULL);
}
