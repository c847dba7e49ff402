// SPDX-License-Identifier: MIT
/*
 * DMA_GENERATE: packets that instructions make, their place among the triggered
 * ones, a queue without room, device time, and errors.
 */
#include "dge_rig.h"

#include <string.h>

/* On each engine: a block without registers. */
static void test_engines(void **state)
{
	struct dge_test t;
	unsigned int e;

	(void)state;
	dge_begin(&t, 3, false);
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		dge_put_block(&t, e, dge_copy_block(DATA(AT_DATA + 0x20000 + 0x100 * e),
						    DATA(AT_DATA + 0x333 * e), 50));
		seq_add(&t.job, e, dge_generate(e % 2, DATA(AT_BLOCK(e)), 0, 0));
		seq_add(&t.job, e, OP(HALT));
	}
	seq_expect_ok(&t.job);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		assert_memory_equal(t.data + AT_DATA + 0x20000 + 0x100 * e,
				    t.data + AT_DATA + 0x333 * e, 200);
	dge_end(&t);
}

#define LOOPS	500
#define PIECE	256	/* bytes */

/*
 * A loop that reverses the order of pieces, with registers that step through
 * both ends. Many more packets than a queue has room for; each takes a semaphore.
 */
static void loop_program(struct dge_test *t)
{
	dge_put_block(t, 0, dge_copy_block(DATA(AT_DATA + 0x80000), DATA(AT_DATA), PIECE / 4));
	seq_add(&t->job, NEURON_ENGINE_VECTOR,
		post_add(OP(NOP), 7, LOOPS));
	seq_add(&t->job, NEURON_ENGINE_VECTOR, OP(HALT));
	seq_add(&t->job, SYNC, OP(REG_SET, .imm0 = LOOPS, .reg = { 1 }));
	seq_add(&t->job, SYNC, OP(REG_SET, .imm0 = 0, .reg = { 2 }));
	seq_add(&t->job, SYNC, OP(REG_SET, .imm0 = LOOPS * PIECE, .reg = { 3 }));
	dge_add_reg(t, 3, (uint32_t)-PIECE);
	seq_add(&t->job, SYNC,
		take_ge(dge_generate(1, DATA(AT_BLOCK(0)), 2, 3), 7, 1));
	dge_add_reg(t, 2, PIECE);
	seq_add(&t->job, SYNC, OP(LOOP, .addr = 3, .reg = { 1 }));
	dge_halt(t);
}

static void check_loop(struct dge_test *t)
{
	unsigned int i;

	for (i = 0; i < LOOPS; i++)
		assert_memory_equal(t->data + AT_DATA + 0x80000 + (LOOPS - 1 - i) * PIECE,
				    t->data + AT_DATA + i * PIECE, PIECE);
}

static void test_loop(void **state)
{
	struct neuron_hw_completion record;
	struct dge_test t;

	(void)state;
	dge_begin(&t, 3, false);
	loop_program(&t);
	record = seq_run(&t.job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(record.instructions, 2 + 3 + 4 * LOOPS + 1);
	assert_int_equal(record.dma_bytes, LOOPS * PIECE);
	/* However often one was tried again, it has taken once. */
	assert_int_equal(trn_sem_value(seq_core(&t.rig, 0, CORE)->sems, 7), 0);
	check_loop(&t);
	dge_end(&t);
}

#define SLOW_LOOPS	100
#define SLOW_NOPS	70
#define SLOW_BYTES	8192

/*
 * Packets of single bytes: much work for the host, little for the device, where
 * the instructions take longer than the queue, and the last packet ends the job.
 */
static void slow_program(struct dge_test *t)
{
	struct neuron_udma_dge dge = dge_copy_block(DATA(AT_DATA + 0x80000), DATA(AT_DATA),
						    SLOW_BYTES);
	unsigned int i;

	dge.op.src_dtype = NEURON_DTYPE_UINT8;
	dge.op.dst_dtype = NEURON_DTYPE_UINT8;
	dge.op.src.step[0] = 2;
	dge.op.dst.step[0] = 3;
	dge_put_block(t, 0, dge);
	seq_add(&t->job, SYNC, OP(REG_SET, .imm0 = SLOW_LOOPS, .reg = { 1 }));
	for (i = 0; i < SLOW_NOPS; i++)
		seq_add(&t->job, SYNC, OP(NOP));
	seq_add(&t->job, SYNC, dge_generate(1, DATA(AT_BLOCK(0)), 0, 0));
	seq_add(&t->job, SYNC, OP(LOOP, .addr = 1, .reg = { 1 }));
	dge_halt(t);
}

static uint64_t device_time(void (*program)(struct dge_test *t), unsigned int workers)
{
	struct neuron_hw_completion record;
	struct dge_test t;

	dge_begin(&t, workers, true);
	program(&t);
	record = seq_run(&t.job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	dge_end(&t);
	return record.end_ns - record.start_ns;
}

/* How often the queue had no room is not to be seen in device time. */
static void test_time(void **state)
{
	const uint64_t cycle_ps = 1000000000ull / fake_gen()->clock_khz[SYNC];
	const uint64_t fast = device_time(loop_program, 1);
	const uint64_t slow = device_time(slow_program, 1);
	unsigned int workers;

	(void)state;
	/* The last packet starts when its instruction has been reached, and no sooner. */
	assert_true(slow * 1000 > SLOW_LOOPS * (SLOW_NOPS + 2) * 16 * cycle_ps);
	for (workers = 2; workers < 6; workers++) {
		assert_int_equal(device_time(loop_program, workers), fast);
		assert_int_equal(device_time(slow_program, workers), slow);
	}
}

/* Between triggered descriptors it has the place of its instruction. */
static void test_order(void **state)
{
	struct dge_test t;
	unsigned int i;

	(void)state;
	dge_begin(&t, 4, false);
	/* Each step moves on what the one before it wrote. */
	for (i = 0; i < 24; i++) {
		uint64_t src = DATA(AT_DATA + 0x4000 * i);
		uint64_t dst = DATA(AT_DATA + 0x4000 * (i + 1));

		if (i % 3 == 1) {
			dge_put_block(&t, i, dge_copy_block(dst, src, 1000));
			seq_add(&t.job, SYNC, dge_generate(0, DATA(AT_BLOCK(i)), 0, 0));
		} else {
			seq_copy(&t.job, 0, dst, src, 4000);
			seq_add(&t.job, SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1));
		}
	}
	dge_halt(&t);
	seq_expect_ok(&t.job);
	for (i = 1; i <= 24; i++)
		assert_memory_equal(t.data + AT_DATA + 0x4000 * i, t.data + AT_DATA, 4000);
	dge_end(&t);
}

/* A block is read when its instruction executes: change it and use it again. */
static void test_reuse(void **state)
{
	const uint32_t at_src = AT_BLOCK(0) + offsetof(struct neuron_udma_dge, src);
	struct neuron_udma_dge add = dge_copy_block(DATA(AT_DATA), DATA(AT_DATA + 4), 1);
	const float one = 1, two = 2;
	struct dge_test t;
	unsigned int i;
	float sum = 0;

	(void)state;
	dge_begin(&t, 2, false);
	add.op.op = NEURON_UDMA_OP_ADD;
	add.op.flags = NEURON_UDMA_OP_ACCUMULATE;
	dge_put_block(&t, 0, add);
	memcpy(t.data + AT_DATA, &sum, 4);
	memcpy(t.data + AT_DATA + 4, &one, 4);
	memcpy(t.data + AT_DATA + 8, &two, 4);
	seq_add(&t.job, SYNC, OP(REG_SET, .imm0 = AT_DATA + 8, .reg = { 5 }));
	for (i = 0; i < 3; i++)
		seq_add(&t.job, SYNC, dge_generate(0, DATA(AT_BLOCK(0)), 0, 0));
	seq_add(&t.job, SYNC, OP(REG_STORE, .addr = DATA(at_src), .reg = { 5 }));
	for (i = 0; i < 2; i++)
		seq_add(&t.job, SYNC, dge_generate(0, DATA(AT_BLOCK(0)), 0, 0));
	dge_halt(&t);
	seq_expect_ok(&t.job);
	memcpy(&sum, t.data + AT_DATA, 4);
	assert_true(sum == 7);
	dge_end(&t);
}

#define INSTANCES	20	/* packets that an engine makes */

/* As long as @sync packets of Sync and @scalar of Scalar take. */
static uint64_t instances_time(unsigned int sync, unsigned int scalar)
{
	struct neuron_hw_completion record;
	struct dge_test t;
	unsigned int i;

	dge_begin(&t, 2, true);
	seq_more_operators(&t.rig, fake_gen()->generation < 3);
	dge_put_block(&t, 0, dge_copy_block(DATA(AT_DATA + 0x20000), DATA(AT_DATA), 16));
	dge_put_block(&t, 1, dge_copy_block(DATA(AT_DATA + 0x30000), DATA(AT_DATA), 16));
	for (i = 0; i < sync; i++)
		seq_add(&t.job, SYNC, dge_generate(0, DATA(AT_BLOCK(0)), 0, 0));
	for (i = 0; i < scalar; i++)
		seq_add(&t.job, NEURON_ENGINE_SCALAR, dge_generate(1, DATA(AT_BLOCK(1)), 0, 0));
	dge_halt(&t);
	seq_add(&t.job, NEURON_ENGINE_SCALAR, OP(HALT));
	record = seq_run(&t.job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	dge_end(&t);
	return record.end_ns - record.start_ns;
}

/* Sync and Scalar have an instance each: neither waits for the packets of the other. */
static void test_two_instances(void **state)
{
	const uint64_t one = instances_time(INSTANCES, 0);
	const uint64_t twice = instances_time(2 * INSTANCES, 0);
	const uint64_t other = instances_time(0, INSTANCES);
	const uint64_t both = instances_time(INSTANCES, INSTANCES);
	const uint64_t more = INSTANCES * TRN_COST_DGE_PS / 1000;

	(void)state;
	assert_in_range(twice, one + more - 1, one + more + more / 10);
	assert_in_range(both, one > other ? one : other, one + 1);
	assert_in_range(other, one - one / 10, one + one / 10);
}

/* --- Errors --- */

/* The second instruction is bad; what came before it is done, nothing else. */
static void expect_fault(struct neuron_udma_dge dge, struct neuron_inst inst,
			 uint32_t reg, enum neuron_cause cause, uint64_t addr)
{
	static uint8_t before[SEQ_DATA_BYTES];
	struct neuron_hw_completion record;
	bool violation = cause == NEURON_CAUSE_WINDOW || cause == NEURON_CAUSE_RIGHTS;
	struct dge_test t;

	dge_begin(&t, 2, false);
	dge_put_block(&t, 0, dge);
	memcpy(before, t.data, SEQ_DATA_BYTES);
	seq_add(&t.job, SYNC, OP(REG_SET, .imm0 = reg, .reg = { 4 }));
	seq_add(&t.job, SYNC, inst);
	dge_halt(&t);
	record = seq_run(&t.job);
	assert_int_equal(record.status, NEURON_JOB_ERROR);
	assert_int_equal(record.cause, cause);
	assert_int_equal(record.source, SYNC);
	assert_int_equal(record.pc, 1);
	assert_int_equal(record.addr, addr);
	assert_int_equal(atomic_load(&seq_core(&t.rig, 0, CORE)->violations), violation);
	assert_memory_equal(before, t.data, SEQ_DATA_BYTES);
	dge_end(&t);
}

static void test_faults(void **state)
{
	const uint64_t top = neuron_window_addr(SEQ_DATA, NEURON_ADDR_WINDOW_OFFSET);
	const struct neuron_udma_dge good =
		dge_copy_block(DATA(AT_DATA), DATA(AT_DATA + 0x1000), 16);
	struct neuron_udma_dge bad;

	(void)state;
	expect_fault(good, dge_generate(0, DATA(32), 0, 0), 0, NEURON_CAUSE_OPERAND,
		     DATA(32));
	expect_fault(good, dge_generate(2, DATA(0), 0, 0), 0, NEURON_CAUSE_QUEUE, 0);
	expect_fault(good, dge_generate(0x100, DATA(0), 0, 0), 0, NEURON_CAUSE_QUEUE, 0);
	expect_fault(good, dge_generate(0, DATA(0), 64, 0), 0, NEURON_CAUSE_OPERAND, 0);
	expect_fault(good, dge_generate(0, DATA(0), 0, 64), 0, NEURON_CAUSE_OPERAND, 0);
	expect_fault(good, dge_generate(0, DATA(SEQ_DATA_BYTES - 448), 0, 0), 0,
		     NEURON_CAUSE_WINDOW, DATA(SEQ_DATA_BYTES - 448));
	expect_fault(good, dge_generate(0, neuron_window_addr(SEQ_SEM, 0), 0, 0), 0,
		     NEURON_CAUSE_WINDOW, neuron_window_addr(SEQ_SEM, 0));
	expect_fault(good, dge_generate(0, 0, 0, 0), 0, NEURON_CAUSE_WINDOW, 0);
	bad = good;
	bad.op.nr_src = 2;
	expect_fault(bad, dge_generate(0, DATA(0), 0, 0), 0, NEURON_CAUSE_DESC, DATA(0));
	bad = good;
	bad.src[1] = DATA(0);
	expect_fault(bad, dge_generate(0, DATA(0), 0, 0), 0, NEURON_CAUSE_DESC, DATA(0));
	bad = good;
	bad.dst[15] = 1;
	expect_fault(bad, dge_generate(0, DATA(0), 0, 0), 0, NEURON_CAUSE_DESC, DATA(0));
	/* The registers do not carry into the next window. */
	bad = good;
	bad.src[0] = top - 0xfffffffe;
	expect_fault(bad, dge_generate(0, DATA(0), 4, 0), 0xffffffff, NEURON_CAUSE_WINDOW,
		     bad.src[0]);
	bad = good;
	bad.dst[0] = top;
	expect_fault(bad, dge_generate(0, DATA(0), 0, 4), 1, NEURON_CAUSE_WINDOW,
		     bad.dst[0]);
}

/* --- pointer variables: addresses that a program reads from its memory --- */

#define AT_POINTER	0x8000
#define VALUE		0x600df00du

/* Run what reads a pointer into register 1 and then does @inst; its cause. */
static enum neuron_cause by_pointer(struct neuron_inst inst, uint32_t pointer,
				    uint32_t stored_at)
{
	static uint8_t before[SEQ_DATA_BYTES];
	struct neuron_hw_completion record;
	struct dge_test t;

	dge_begin(&t, 2, false);
	dge_put_block(&t, 0, dge_copy_block(DATA(0), DATA(AT_DATA), 1));
	memcpy(t.data + AT_DATA, &(uint32_t){ VALUE }, 4);
	memcpy(t.data + AT_POINTER, &pointer, 4);
	memcpy(before, t.data, SEQ_DATA_BYTES);
	seq_add(&t.job, SYNC, OP(REG_LOAD, .reg = { 1 }, .addr = DATA(AT_POINTER)));
	seq_add(&t.job, SYNC, OP(REG_SET, .reg = { 2 }, .imm0 = VALUE));
	seq_add(&t.job, SYNC, inst);
	dge_halt(&t);
	record = seq_run(&t.job);
	if (record.status == NEURON_JOB_OK)
		memcpy(before + stored_at, &(uint32_t){ VALUE }, 4);
	else
		assert_int_equal(atomic_load(&seq_core(&t.rig, 0, CORE)->violations), 1);
	assert_memory_equal(before, t.data, SEQ_DATA_BYTES);
	dge_end(&t);
	return (enum neuron_cause)record.cause;
}

/* Wherever it points: into its window, or nowhere. */
static void test_pointer_variables(void **state)
{
	static const uint32_t beyond[] = {
		SEQ_DATA_BYTES - 3, SEQ_DATA_BYTES, 0x7ffffffc, 0x80000000,
		0xfffffffc, 0xffffffff,
	};
	const struct neuron_inst store =
		OP(REG_STORE, .reg = { 2, 1 }, .addr = DATA(0));
	struct neuron_inst last = store;
	unsigned int i;

	(void)state;
	assert_int_equal(by_pointer(store, 0x9003, 0x9003), NEURON_CAUSE_NONE);
	assert_int_equal(by_pointer(store, SEQ_DATA_BYTES - 4, SEQ_DATA_BYTES - 4),
			 NEURON_CAUSE_NONE);
	assert_int_equal(by_pointer(dge_generate(0, DATA(0), 0, 1), 0x9004, 0x9004),
			 NEURON_CAUSE_NONE);
	for (i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		assert_int_equal(by_pointer(store, beyond[i], 0),
				 NEURON_CAUSE_WINDOW);
		assert_int_equal(by_pointer(dge_generate(0, DATA(0), 0, 1),
					    beyond[i], 0),
				 NEURON_CAUSE_WINDOW);
		assert_int_equal(by_pointer(dge_generate(0, DATA(0), 1, 0),
					    beyond[i], 0),
				 NEURON_CAUSE_WINDOW);
	}
	/* It does not carry into the next window, or into the flag of windows. */
	last.addr = neuron_window_addr(SEQ_DATA, NEURON_ADDR_WINDOW_OFFSET);
	assert_int_equal(by_pointer(last, 1, 0), NEURON_CAUSE_WINDOW);
	last.addr = neuron_window_addr(NEURON_MAX_WINDOWS, NEURON_ADDR_WINDOW_OFFSET);
	assert_int_equal(by_pointer(last, 1, 0), NEURON_CAUSE_WINDOW);
}

/* --- Which engines make descriptors --- */

static void expect_engine(struct neuron_udma_dge dge, enum neuron_engine engine,
			  enum neuron_cause cause)
{
	struct dge_test t;

	dge_begin(&t, 2, false);
	seq_more_operators(&t.rig, false);
	dge_put_block(&t, 0, dge);
	seq_add(&t.job, engine, dge_generate(0, DATA(AT_BLOCK(0)), 0, 0));
	seq_add(&t.job, engine, OP(HALT));
	if (cause)
		seq_expect_fault(&t.job, cause, engine, 0);
	else
		seq_expect_ok(&t.job);
	dge_end(&t);
}

/* Hardware for Sync and Scalar, but not on trn1; software on GpSimd. */
static void test_documented_engines(void **state)
{
	const struct neuron_udma_dge copy = dge_copy_block(DATA(AT_DATA),
							   DATA(AT_DATA + 0x1000), 16);
	const bool hardware = fake_gen()->generation >= 3;
	const enum neuron_cause refused = hardware ? NEURON_CAUSE_OPERAND : NEURON_CAUSE_OPCODE;
	struct neuron_udma_dge cast = copy, gather = copy;
	unsigned int e;

	(void)state;
	cast.op.dst_dtype = NEURON_DTYPE_BF16;
	gather.op.src.num[0] = 1;
	gather.op.src.num[3] = 16;
	gather.op.flags = NEURON_UDMA_OP_SRC_INDEXED;
	gather.op.index = DATA(AT_DATA + 0x2000);
	gather.op.nr_index = 16;
	gather.op.index_limit = UINT32_MAX;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		bool made = e == NEURON_ENGINE_SYNC || e == NEURON_ENGINE_SCALAR;

		if (e == NEURON_ENGINE_GPSIMD) {
			expect_engine(copy, e, NEURON_CAUSE_NONE);
			expect_engine(cast, e, NEURON_CAUSE_NONE);
			continue;
		}
		expect_engine(copy, e, made && hardware ? NEURON_CAUSE_NONE : NEURON_CAUSE_OPCODE);
		expect_engine(cast, e, made ? refused : NEURON_CAUSE_OPCODE);
		expect_engine(gather, e, made ? refused : NEURON_CAUSE_OPCODE);
	}
}

/* --- Posts when bytes have landed --- */

/*
 * A device loop of 500 turns that moves a number from place to place: each turn reads what
 * the one before it wrote, so it has to wait until that has landed.
 */
static void landed_program(struct dge_test *t)
{
	struct neuron_udma_dge dge = dge_copy_block(DATA(AT_DATA + 4), DATA(AT_DATA), 1);

	memcpy(t->data + AT_DATA, &(uint32_t){ VALUE }, 4);
	dge_put_block(t, 0, dge);
	seq_add(&t->job, SYNC, OP(REG_SET, .imm0 = LOOPS, .reg = { 1 }));
	seq_add(&t->job, SYNC, OP(REG_SET, .imm0 = 0, .reg = { 2 }));
	seq_add(&t->job, SYNC, dge_landed(dge_generate(0, DATA(AT_BLOCK(0)), 2, 2), 3));
	seq_add(&t->job, SYNC, take_ge(OP(NOP), 9, 3));
	dge_add_reg(t, 2, 4);
	seq_add(&t->job, SYNC, OP(LOOP, .addr = 2, .reg = { 1 }));
	dge_halt(t);
}

static void test_landed(void **state)
{
	const uint64_t time = device_time(landed_program, 1);
	unsigned int workers, i;
	struct dge_test t;
	uint32_t number;

	(void)state;
	dge_begin(&t, 3, false);
	landed_program(&t);
	seq_expect_ok(&t.job);
	for (i = 0; i <= LOOPS; i++) {
		memcpy(&number, t.data + AT_DATA + 4 * i, 4);
		assert_int_equal(number, VALUE);
	}
	assert_int_equal(trn_sem_value(seq_core(&t.rig, 0, CORE)->sems, 9), 0);
	dge_end(&t);
	/* The queue is idle at each trigger, so each turn takes the start of a transfer. */
	assert_true(time * 1000 > LOOPS * (TRN_COST_DGE_PS + TRN_COST_DMA_START_PS));
	for (workers = 2; workers < 5; workers++)
		assert_int_equal(device_time(landed_program, workers), time);
}

#define SET	16

/* One instruction triggers all queues of a set; each posts when its part has landed. */
static void set_program(struct dge_test *t)
{
	struct neuron_inst all = OP(DMA_TRIGGER, .imm0 = 2, .imm1 = 2, .reg = { 0, 0, SET });
	unsigned int q, i;

	t->job.nr_queues = SET;
	t->job.per_engine = SET;
	for (q = 0; q < SET; q++)
		for (i = 0; i < 2; i++)
			seq_copy(&t->job, q, DATA(AT_DATA + 0x40000 + (2 * q + i) * 0x1000),
				 DATA(AT_DATA + (2 * q + i) * 0x1000), 0x1000);
	all.mode |= NEURON_INST_QUEUES >> 8;
	seq_add(&t->job, SYNC, dge_landed(all, 1));
	/* The sum of the last bytes is there when all have posted. */
	seq_add(&t->job, SYNC, take_ge(OP(NOP), 9, SET));
	seq_add(&t->job, SYNC, OP(REG_LOAD, .reg = { 1 },
				  .addr = DATA(AT_DATA + 0x40000 + SET * 0x2000 - 4)));
	seq_add(&t->job, SYNC, OP(REG_STORE, .reg = { 1 }, .addr = DATA(AT_BLOCK(0))));
	dge_halt(t);
}

static void test_queue_set(void **state)
{
	const uint64_t time = device_time(set_program, 1);
	struct neuron_hw_completion record;
	unsigned int workers;
	struct dge_test t;

	(void)state;
	dge_begin(&t, 4, false);
	set_program(&t);
	record = seq_run(&t.job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(record.instructions, 5);
	assert_memory_equal(t.data + AT_DATA + 0x40000, t.data + AT_DATA, SET * 0x2000);
	assert_memory_equal(t.data + AT_BLOCK(0), t.data + AT_DATA + SET * 0x2000 - 4, 4);
	dge_end(&t);
	for (workers = 2; workers < 5; workers++)
		assert_int_equal(device_time(set_program, workers), time);
}

/* A queue without room for the post: the instruction waits there, and goes on behind it. */
static void test_set_without_room(void **state)
{
	struct neuron_inst all = OP(DMA_TRIGGER, .reg = { 0, 0, 2 });
	struct dge_test t;

	(void)state;
	dge_begin(&t, 1, false);
	all.mode |= NEURON_INST_QUEUES >> 8;
	seq_add(&t.job, SYNC, OP(REG_SET, .imm0 = LOOPS, .reg = { 1 }));
	seq_add(&t.job, SYNC, dge_landed(all, 1));
	seq_add(&t.job, SYNC, OP(LOOP, .addr = 1, .reg = { 1 }));
	seq_add(&t.job, SYNC, take_ge(OP(NOP), 9, 2 * LOOPS));
	dge_halt(&t);
	seq_expect_ok(&t.job);
	assert_int_equal(trn_sem_value(seq_core(&t.rig, 0, CORE)->sems, 9), 0);
	dge_end(&t);
}

/* What the fields cannot say. */
static void test_transfer_fields(void **state)
{
	const struct neuron_udma_dge good =
		dge_copy_block(DATA(AT_DATA), DATA(AT_DATA + 0x1000), 16);
	struct neuron_inst inst = dge_generate(0, DATA(AT_BLOCK(0)), 0, 0);

	(void)state;
	inst.mode = NEURON_INST_LANDED >> 8;
	expect_fault(good, inst, 0, NEURON_CAUSE_OPERAND, 0);
	expect_fault(good, dge_length(dge_generate(0, DATA(0), 0, 0), 0, 0), 0,
		     NEURON_CAUSE_OPERAND, 0);
	expect_fault(good, dge_length(dge_generate(0, DATA(0), 0, 0), NEURON_NR_REGS, 0), 0,
		     NEURON_CAUSE_OPERAND, 0);
	expect_fault(good, dge_length(dge_generate(0, DATA(0), 0, 0), 4, 4), 0,
		     NEURON_CAUSE_OPERAND, 0);
	inst = OP(DMA_TRIGGER, .mode = NEURON_INST_QUEUES >> 8);
	expect_fault(good, inst, 0, NEURON_CAUSE_OPERAND, 0);
	inst.reg[2] = 3;
	expect_fault(good, inst, 0, NEURON_CAUSE_QUEUE, 0);
}

/* What only shows when it runs is the queue's error. */
static void test_run_fault(void **state)
{
	struct neuron_hw_completion record;
	struct dge_test t;

	(void)state;
	dge_begin(&t, 2, false);
	dge_put_block(&t, 0, dge_copy_block(DATA(AT_DATA), DATA(AT_DATA + 0x1000), 16));
	dge_put_block(&t, 1, dge_copy_block(neuron_window_addr(SEQ_CODE, 0), DATA(AT_DATA), 16));
	seq_add(&t.job, SYNC, dge_generate(1, DATA(AT_BLOCK(0)), 0, 0));
	seq_add(&t.job, SYNC, dge_generate(1, DATA(AT_BLOCK(1)), 0, 0));
	seq_add(&t.job, SYNC, dge_generate(1, DATA(AT_BLOCK(0)), 0, 0));
	dge_halt(&t);
	record = seq_run(&t.job);
	assert_int_equal(record.status, NEURON_JOB_ERROR);
	assert_int_equal(record.cause, NEURON_CAUSE_RIGHTS);
	assert_int_equal(record.source, NEURON_SOURCE_DMA);
	assert_int_equal(record.pc, NEURON_UDMA_PC_GENERATED | 1);
	assert_int_equal(record.addr, neuron_window_addr(SEQ_CODE, 0));
	assert_int_equal(atomic_load(&seq_core(&t.rig, 0, CORE)->violations), 1);
	dge_end(&t);
}

/* A sequencer that waits for room does not keep a failed job from ending. */
static void test_fault_while_full(void **state)
{
	struct neuron_hw_completion record;
	struct dge_test t;
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		dge_begin(&t, 1 + i % 4, false);
		slow_program(&t);
		/* After a while, that is often soon enough. */
		seq_add(&t.job, NEURON_ENGINE_SCALAR,
			OP(REG_SET, .imm0 = 1 + 1000 * i, .reg = { 1 }));
		seq_add(&t.job, NEURON_ENGINE_SCALAR, OP(LOOP, .addr = 1, .reg = { 1 }));
		seq_add(&t.job, NEURON_ENGINE_SCALAR, OP(BRANCH, .addr = 99));
		record = seq_run(&t.job);
		assert_int_equal(record.status, NEURON_JOB_ERROR);
		assert_int_equal(record.cause, NEURON_CAUSE_PC);
		dge_end(&t);
	}
}

/* What generated packets took is given back with their queue. */
static void test_memory(void **state)
{
	struct dge_test t;
	size_t bytes;

	(void)state;
	dge_begin(&t, 2, false);
	bytes = trn_udma_bytes(t.rig.chip[0]);
	dge_put_block(&t, 0, dge_copy_block(DATA(AT_DATA), DATA(AT_DATA + 0x1000), 16));
	seq_add(&t.job, SYNC, dge_generate(1, DATA(AT_BLOCK(0)), 0, 0));
	dge_halt(&t);
	assert_int_equal(seq_run(&t.job).status, NEURON_JOB_OK);
	assert_int_equal(trn_udma_bytes(t.rig.chip[0]), bytes);
	dge_end(&t);
}

static void test_text(void **state)
{
	char text[TRN_ISA_TEXT_MAX];
	struct neuron_inst inst;

	(void)state;
	inst = post_add(dge_generate(0x102, neuron_window_addr(3, 0x40), 5, 0), 4, 1);
	trn_isa_format(text, sizeof(text), &inst);
	assert_string_equal(text, "dma_generate q258, w3:0x40, r5, r0 post s4 += 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_two_instances),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_pointer_variables),
		cmocka_unit_test(test_documented_engines),
		cmocka_unit_test(test_landed),
		cmocka_unit_test(test_queue_set),
		cmocka_unit_test(test_set_without_room),
		cmocka_unit_test(test_transfer_fields),
		cmocka_unit_test(test_run_fault),
		cmocka_unit_test(test_fault_while_full),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests_name("dge", tests, NULL, NULL);
}
