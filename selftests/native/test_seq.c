// SPDX-License-Identifier: MIT
/*
 * The sequencers: fetch, checks, waits and posts, registers, branches, memory
 * words, DMA triggers, notifications; the table and the disassembler.
 */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#include "isa/trn_isa.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR

static int setup(void **state)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	seq_rig_init(rig, fake_gen(), 3, 2, true);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

static void halt_all(struct seq_job *job)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (job->nr[e])
			seq_add(job, e, OP(HALT, 0));
}

/* Run one instruction on @engine of a fresh job. */
static void expect_bad(struct seq_rig *rig, enum neuron_engine engine,
		       struct neuron_inst inst, enum neuron_cause cause)
{
	struct seq_job *job = malloc(sizeof(*job));

	seq_job_init(job, rig, 0, 0);
	seq_add(job, engine, inst);
	seq_add(job, engine, OP(HALT, 0));
	seq_expect_fault(job, cause, engine, 0);
	free(job);
}

static void halts_on_every_engine(void **state)
{
	struct neuron_hw_completion record;
	struct seq_job job;
	unsigned int e;

	seq_job_init(&job, *state, 0, 1);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		seq_add(&job, e, OP(HALT, 0));
	record = seq_run(&job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(record.instructions, NEURON_NR_ENGINES);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		assert_int_equal(atomic_load(&seq_core(*state, 0, 1)->seq[e].status),
				 NEURON_ENGINE_HALTED);
}

static void expect_good(struct seq_rig *rig, struct neuron_inst inst)
{
	struct seq_job *job = malloc(sizeof(*job));

	seq_job_init(job, rig, 0, 0);
	seq_add(job, SYNC, inst);
	seq_add(job, SYNC, OP(HALT, 0));
	assert_int_equal(seq_run(job).status, NEURON_JOB_OK);
	free(job);
}

/* What was accepted in a place of the image says nothing of what is there later. */
static void checks_what_changed(void **state)
{
	struct neuron_inst inst;
	size_t byte;

	for (byte = offsetof(struct neuron_inst, dst); byte < sizeof(inst); byte++) {
		if (byte >= offsetof(struct neuron_inst, debug) &&
		    byte < offsetof(struct neuron_inst, debug) + sizeof(inst.debug))
			continue;
		inst = OP(NOP, 0);
		expect_good(*state, inst);
		((uint8_t *)&inst)[byte] ^= 0x40;
		expect_bad(*state, SYNC, inst, NEURON_CAUSE_OPERAND);
	}
	expect_bad(*state, SYNC, (struct neuron_inst){ 0 }, NEURON_CAUSE_OPCODE);
}

static void refuses_opcodes(void **state)
{
	unsigned int op, e;

	expect_bad(*state, SYNC, (struct neuron_inst){ 0 }, NEURON_CAUSE_OPCODE);
	for (op = 0; op < 256; op++) {
		struct neuron_inst inst = { .opcode = (uint8_t)op };

		for (e = 0; e < NEURON_NR_ENGINES; e++) {
			const struct trn_isa *isa = trn_isa_lookup(op);
			enum neuron_cause cause = trn_isa_check(&inst, e);

			assert_int_equal(cause == NEURON_CAUSE_OPCODE,
					 !isa || !(isa->engines >> e & 1));
		}
	}
	expect_bad(*state, VECTOR, OP(MATMUL, 0), NEURON_CAUSE_OPCODE);
	expect_bad(*state, SYNC, OP(MEMSET, 0), NEURON_CAUSE_OPCODE);
	expect_bad(*state, NEURON_ENGINE_TENSOR, OP(COPY, 0), NEURON_CAUSE_OPCODE);
}

/* Each byte of a HALT that is not opcode, sync or debug must be zero. */
static void refuses_unused_fields(void **state)
{
	const size_t debug = offsetof(struct neuron_inst, debug);
	size_t i;

	for (i = 1; i < NEURON_INST_SIZE; i++) {
		struct neuron_inst inst = OP(HALT, 0);
		bool free_field = i >= debug && i < debug + 4;

		((uint8_t *)&inst)[i] = 0x80;
		assert_int_equal(trn_isa_check(&inst, SYNC),
				 free_field ? NEURON_CAUSE_NONE :
					      NEURON_CAUSE_OPERAND);
	}
	expect_bad(*state, SYNC, OP(NOP, .imm1 = 1), NEURON_CAUSE_OPERAND);
}

static void refuses_bad_sync(void **state)
{
	struct neuron_inst inst = OP(NOP, .sync = 3);

	assert_int_equal(trn_isa_check(&inst, SYNC), NEURON_CAUSE_OPERAND);
	inst = OP(NOP, .sync = NEURON_SYNC_TAKE);
	assert_int_equal(trn_isa_check(&inst, SYNC), NEURON_CAUSE_OPERAND);
	inst = wait_ge(OP(NOP, 0), 256, 0);
	assert_int_equal(trn_isa_check(&inst, SYNC), NEURON_CAUSE_SEMAPHORE);
	expect_bad(*state, SYNC, post_add(OP(NOP, 0), 300, 1),
		   NEURON_CAUSE_SEMAPHORE);
}

static void refuses_foreign_semaphores(void **state)
{
	struct seq_job job;

	seq_job_init(&job, *state, 0, 0);
	job.block.sem_own[0] = ~(1ull << 7);
	seq_add(&job, SYNC, OP(NOP, 0));
	seq_add(&job, SYNC, wait_ge(OP(HALT, 0), 7, 0));
	seq_expect_fault(&job, NEURON_CAUSE_SEMAPHORE, SYNC, 1);

	seq_job_init(&job, *state, 0, 0);
	job.block.sem_own[1] = 0;
	seq_add(&job, SYNC, post_add(OP(HALT, 0), 64, 1));
	seq_expect_fault(&job, NEURON_CAUSE_SEMAPHORE, SYNC, 0);
	assert_int_equal(trn_sem_value(seq_core(*state, 0, 0)->sems, 64), 0);
}

static void runs_out_of_its_image(void **state)
{
	struct seq_job job;

	seq_job_init(&job, *state, 0, 0);
	seq_add(&job, SYNC, OP(NOP, 0));
	seq_add(&job, SYNC, OP(NOP, 0));
	seq_expect_fault(&job, NEURON_CAUSE_PC, SYNC, 2);

	seq_job_init(&job, *state, 0, 0);
	seq_add(&job, SYNC, OP(BRANCH, .addr = 1ull << 40));
	seq_expect_fault(&job, NEURON_CAUSE_PC, SYNC, UINT32_MAX);
}

/* Two engines hand a token to and fro; a third one takes what they leave. */
static void waits_posts_and_takes(void **state)
{
	struct trn_core *core = seq_core(*state, 0, 1);
	struct seq_job job;

	seq_job_init(&job, *state, 0, 1);
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 50));
	seq_add(&job, SYNC, post_add(OP(NOP, 0), 1, 1));
	seq_add(&job, SYNC, take_ge(OP(NOP, 0), 2, 1));
	seq_add(&job, SYNC, OP(LOOP, .reg = { 1 }, .addr = 1));
	seq_add(&job, VECTOR, OP(REG_SET, .reg = { 1 }, .imm0 = 50));
	seq_add(&job, VECTOR, post_add(take_ge(OP(NOP, 0), 1, 1), 2, 1));
	seq_add(&job, VECTOR, OP(LOOP, .reg = { 1 }, .addr = 1));
	seq_add(&job, VECTOR, post(OP(NOP, 0), 3, NEURON_SYNC_POST_SET, 7));
	seq_add(&job, SCALAR, wait_eq(OP(NOP, 0), 3, 7));
	seq_add(&job, SCALAR, post(OP(NOP, 0), 3, NEURON_SYNC_POST_SUB, 10));
	halt_all(&job);
	seq_expect_ok(&job);
	assert_int_equal(trn_sem_value(core->sems, 1), 0);
	assert_int_equal(trn_sem_value(core->sems, 2), 0);
	assert_int_equal(trn_sem_value(core->sems, 3), -3);
}

static void store_reg(struct seq_job *job, unsigned int reg, unsigned int word)
{
	seq_add(job, SYNC, OP(REG_STORE, .reg = { (uint8_t)reg },
			      .addr = neuron_window_addr(SEQ_DATA, 4 * word)));
}

static void reg_imm(struct seq_job *job, unsigned int op, uint32_t a, uint32_t b,
		    unsigned int word)
{
	seq_add(job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = a));
	seq_add(job, SYNC, OP(REG_ALU, .op0 = (uint8_t)op, .reg = { 3, 1 },
			      .flags = NEURON_INST_IMM, .imm0 = b));
	store_reg(job, 3, word);
}

static void computes_in_registers(void **state)
{
	const struct {
		unsigned int op;
		uint32_t a, b, result;
	} cases[] = {
		{ NEURON_ALU_ADD, 0xffffffff, 2, 1 },
		{ NEURON_ALU_SUBTRACT, 3, 5, (uint32_t)-2 },
		{ NEURON_ALU_MULTIPLY, 0x10001, 0x10001, 0x20001 },
		{ NEURON_ALU_MAX, (uint32_t)-1, 1, 1 },
		{ NEURON_ALU_MIN, (uint32_t)-1, 1, (uint32_t)-1 },
		{ NEURON_ALU_BITWISE_AND, 0xff0f, 0x0fff, 0x0f0f },
		{ NEURON_ALU_BITWISE_OR, 0xf0, 0x0f, 0xff },
		{ NEURON_ALU_BITWISE_XOR, 0xff, 0x0f, 0xf0 },
		{ NEURON_ALU_SHIFT_LEFT, 1, 31, 0x80000000 },
		{ NEURON_ALU_SHIFT_LEFT, 1, 32, 0 },
		{ NEURON_ALU_SHIFT_RIGHT, 0x80000000, 31, 1 },
		{ NEURON_ALU_SHIFT_RIGHT, 0x80000000, 0x80000000, 0 },
	};
	const uint32_t *data = (void *)seq_data(*state, 0, 0);
	const size_t n = sizeof(cases) / sizeof(cases[0]);
	struct seq_job job;
	size_t i;

	seq_job_init(&job, *state, 0, 0);
	for (i = 0; i < n; i++)
		reg_imm(&job, cases[i].op, cases[i].a, cases[i].b, (unsigned int)i);
	/* Registers on both sides, and r0, which stays 0. */
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 0 }, .imm0 = 9));
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 9));
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 63 }, .imm0 = 5));
	seq_add(&job, SYNC, OP(REG_ALU, .op0 = NEURON_ALU_SUBTRACT,
			       .reg = { 2, 1, 63 }));
	store_reg(&job, 2, (unsigned int)n);
	store_reg(&job, 0, (unsigned int)n + 1);
	halt_all(&job);
	seq_expect_ok(&job);
	for (i = 0; i < n; i++)
		assert_int_equal(data[i], cases[i].result);
	assert_int_equal(data[n], 4);
	assert_int_equal(data[n + 1], 0);

	expect_bad(*state, SYNC, OP(REG_SET, .reg = { 64 }), NEURON_CAUSE_OPERAND);
	expect_bad(*state, SYNC, OP(REG_ALU, .op0 = NEURON_ALU_DIVIDE),
		   NEURON_CAUSE_OPERAND);
}

static void branches_and_loops(void **state)
{
	const uint32_t *data = (void *)seq_data(*state, 0, 0);
	const struct {
		unsigned int op;
		int a, b;
		bool taken;
	} cases[] = {
		{ NEURON_ALU_IS_EQ, 5, 5, true }, { NEURON_ALU_IS_NE, 5, 5, false },
		{ NEURON_ALU_IS_GE, -1, 0, false }, { NEURON_ALU_IS_GT, 1, 0, true },
		{ NEURON_ALU_IS_LE, -1, 0, true }, { NEURON_ALU_IS_LT, 0, 0, false },
	};
	struct seq_job job;
	uint32_t mask = 0;
	size_t i;

	seq_job_init(&job, *state, 0, 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		seq_add(&job, SYNC, OP(REG_SET, .reg = { 1 },
				       .imm0 = (uint32_t)cases[i].a));
		seq_add(&job, SYNC, OP(BRANCH, .op0 = (uint8_t)cases[i].op,
				       .reg = { 1 }, .flags = NEURON_INST_IMM,
				       .imm0 = (uint32_t)cases[i].b,
				       .addr = job.nr[SYNC] + 2));
		seq_add(&job, SYNC, OP(REG_ALU, .op0 = NEURON_ALU_BITWISE_OR,
				       .reg = { 2, 2 }, .flags = NEURON_INST_IMM,
				       .imm0 = 1u << i));
		if (!cases[i].taken)
			mask |= 1u << i;
	}
	seq_add(&job, SYNC, OP(BRANCH, .addr = job.nr[SYNC] + 2));
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 2 }));
	store_reg(&job, 2, 0);
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 4 }, .imm0 = 1000));
	seq_add(&job, SYNC, OP(REG_ALU, .op0 = NEURON_ALU_ADD, .reg = { 5, 5 },
			       .flags = NEURON_INST_IMM, .imm0 = 3));
	seq_add(&job, SYNC, OP(LOOP, .reg = { 4 }, .addr = job.nr[SYNC] - 1));
	store_reg(&job, 5, 1);
	halt_all(&job);
	seq_expect_ok(&job);
	assert_int_equal(data[0], mask);
	assert_int_equal(data[1], 3000);

	expect_bad(*state, SYNC, OP(BRANCH, .op0 = NEURON_ALU_ADD),
		   NEURON_CAUSE_OPERAND);
	expect_bad(*state, SYNC, OP(BRANCH, .flags = NEURON_INST_IMM),
		   NEURON_CAUSE_OPERAND);
	expect_bad(*state, SYNC, OP(BRANCH, .reg = { 1 }), NEURON_CAUSE_OPERAND);
}

static void loads_and_stores_words(void **state)
{
	struct trn_core *core = seq_core(*state, 0, 0);
	uint8_t *data = seq_data(*state, 0, 0);
	struct seq_job job;
	uint32_t word = 0xcafe1234;

	memcpy(data + 103, &word, 4);
	seq_job_init(&job, *state, 0, 0);
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 2 }, .imm0 = 99));
	seq_add(&job, SYNC, OP(REG_LOAD, .reg = { 1, 2 },
			       .addr = neuron_window_addr(SEQ_DATA, 4)));
	seq_add(&job, SYNC, OP(REG_STORE, .reg = { 1 },
			       .addr = neuron_window_addr(SEQ_SBUF, 64)));
	/* A semaphore through its window: an add, and a read back. */
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 3 }, .imm0 = (uint32_t)-5));
	seq_add(&job, SYNC, OP(REG_STORE, .reg = { 3 },
			       .addr = neuron_window_addr(SEQ_SEM, 4 * 9)));
	seq_add(&job, SYNC, OP(REG_LOAD, .reg = { 4 },
			       .addr = neuron_window_addr(SEQ_SEM, 4 * 9)));
	seq_add(&job, SYNC, OP(REG_STORE, .reg = { 4 },
			       .addr = neuron_window_addr(SEQ_DATA, 0)));
	halt_all(&job);
	seq_expect_ok(&job);
	assert_memory_equal(seq_sbuf(core, 0, 64), &word, 4);
	assert_int_equal(trn_sem_value(core->sems, 9), -5);
	assert_int_equal(*(int32_t *)(void *)data, -5);
}

static void refuses_addresses(void **state)
{
	const struct {
		uint64_t addr;
		bool store;
		enum neuron_cause cause;
	} cases[] = {
		{ neuron_window_addr(SEQ_DATA, SEQ_DATA_BYTES), false,
		  NEURON_CAUSE_WINDOW },
		{ neuron_window_addr(SEQ_DATA, SEQ_DATA_BYTES - 3), true,
		  NEURON_CAUSE_WINDOW },
		{ neuron_window_addr(99, 0), false, NEURON_CAUSE_WINDOW },
		{ neuron_window_addr(SEQ_CODE, 0), true, NEURON_CAUSE_RIGHTS },
		{ 0x1000, false, NEURON_CAUSE_WINDOW },
		{ neuron_fabric_addr(1, 0), false, NEURON_CAUSE_WINDOW },
		{ neuron_window_addr(SEQ_SEM, 2), true, NEURON_CAUSE_WINDOW },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (cases[i].store)
			expect_bad(*state, SYNC,
				   OP(REG_STORE, .addr = cases[i].addr),
				   cases[i].cause);
		else
			expect_bad(*state, SYNC,
				   OP(REG_LOAD, .addr = cases[i].addr),
				   cases[i].cause);
}

/* A register cannot carry an address from one window into the next. */
static void stays_in_its_window(void **state)
{
	struct seq_job job;

	seq_job_init(&job, *state, 0, 0);
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 4 + 16));
	seq_add(&job, SYNC, OP(REG_LOAD, .reg = { 2, 1 },
			       .addr = neuron_window_addr(SEQ_CODE,
						NEURON_ADDR_WINDOW_OFFSET - 3)));
	seq_add(&job, SYNC, OP(HALT, 0));
	seq_expect_fault(&job, NEURON_CAUSE_WINDOW, SYNC, 1);
}

static void triggers_dma(void **state)
{
	uint8_t *data = seq_data(*state, 0, 1);
	struct seq_job job;
	unsigned int i;

	for (i = 0; i < 2000; i++)
		data[i] = (uint8_t)(i * 7);
	seq_job_init(&job, *state, 0, 1);
	seq_copy(&job, 1, neuron_window_addr(SEQ_SBUF, 0),
		 neuron_window_addr(SEQ_DATA, 0), 2000);
	seq_copy(&job, 1, neuron_window_addr(SEQ_SEM, 4 * 5),
		 neuron_window_addr(SEQ_DATA, 4096), 4);
	data[4096] = 1;
	seq_add(&job, SYNC, OP(DMA_TRIGGER, .reg = { 1 }, .imm0 = 2, .imm1 = 2));
	seq_add(&job, SYNC, wait_ge(OP(NOP, 0), 5, 1));
	halt_all(&job);
	seq_copy(&job, 0, 0, 0, 1);	/* a queue that nobody triggers */
	seq_expect_ok(&job);
	assert_memory_equal(seq_sbuf(seq_core(*state, 0, 1), 0, 0), data, 2000);

	expect_bad(*state, SYNC, OP(DMA_TRIGGER, .reg = { 0, 1 }, .imm0 = 1),
		   NEURON_CAUSE_QUEUE);
}

static void notifies_with_phase_and_wrap(void **state)
{
	const struct neuron_hw_notify *stream = (void *)seq_data(*state, 0, 0);
	struct seq_job job;
	unsigned int i;

	memset(seq_data(*state, 0, 0), 0, 128);
	seq_job_init(&job, *state, 0, 0);
	job.block.notify_addr = neuron_window_addr(SEQ_DATA, 0);
	job.block.notify_size = 64;
	for (i = 0; i < 6; i++)
		seq_add(&job, SCALAR, OP(NOTIFY, .imm0 = 100 + i));
	halt_all(&job);
	seq_expect_ok(&job);
	for (i = 0; i < 4; i++) {
		unsigned int n = i < 2 ? i + 4 : i;

		assert_int_equal(stream[i].tag, 100 + n);
		assert_int_equal(stream[i].source >> 31, n < 4);
		assert_int_equal(stream[i].source >> 24 & 7, SCALAR);
		assert_int_equal(stream[i].source & 0xffffff, n);
		assert_true(n == 0 || stream[i].time_ns > 0);
	}
	assert_true(stream[3].time_ns < stream[0].time_ns);
	assert_int_equal(stream[4].tag, 0);

	seq_job_init(&job, *state, 0, 0);
	job.block.notify_addr = neuron_window_addr(SEQ_CODE, 0);
	job.block.notify_size = 64;
	seq_add(&job, SYNC, OP(NOTIFY, .imm0 = 1));
	seq_expect_fault(&job, NEURON_CAUSE_RIGHTS, SYNC, 0);
}

static void spinning_program(struct seq_job *job, struct seq_rig *rig)
{
	seq_job_init(job, rig, 0, 0);
	seq_add(job, SYNC, post_add(OP(NOP, 0), 1, 1));
	seq_add(job, SYNC, OP(BRANCH, .addr = 0));
	seq_add(job, VECTOR, OP(BRANCH, .addr = 0));
	seq_add(job, SCALAR, wait_ge(OP(HALT, 0), 100, 1));
}

static bool has_spun(void *arg)
{
	struct trn_core *core = arg;

	return atomic_load(&core->progress) > 20000 &&
	       atomic_load(&core->seq[SCALAR].status) == NEURON_ENGINE_WAITING &&
	       atomic_load(&core->seq[SCALAR].wait_sem) == 100;
}

static void reset_stops_a_spinning_program(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_core *core = seq_core(rig, 0, 0);
	struct neuron_hw_completion record;
	struct seq_job job, other;

	spinning_program(&job, rig);
	seq_submit(&job);
	assert_true(fake_wait(has_spun, core));

	/* It starves nobody. */
	seq_job_init(&other, rig, 0, 1);
	seq_add(&other, SYNC, OP(HALT, 0));
	seq_expect_ok(&other);

	trn_core_reset(core);
	record = seq_wait(&job);
	assert_int_equal(record.status, NEURON_JOB_ABORTED);
	assert_true(fake_wait_irq(&rig->port[0], 0, ++rig->done[0][0]));
	trn_chip_mmio_write(rig->chip[0], neuron_ctl_bar0(fake_gen()) +
			    NEURON_CTL_CORE(0) + NEURON_CORE_CAUSE, 0xffffffff, 4);

	seq_job_init(&job, rig, 0, 0);
	seq_add(&job, SYNC, OP(HALT, 0));
	seq_expect_ok(&job);
}

static void fault_stops_the_other_engines(void **state)
{
	struct seq_job job;

	spinning_program(&job, *state);
	seq_add(&job, NEURON_ENGINE_GPSIMD, wait_ge(OP(NOP, 0), 1, 1000));
	seq_add(&job, NEURON_ENGINE_GPSIMD, OP(ILLEGAL, 0));
	seq_expect_fault(&job, NEURON_CAUSE_OPCODE, NEURON_ENGINE_GPSIMD, 1);
}

static void fault_is_one_clear_line(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job job;

	seq_job_init(&job, rig, 1, 1);
	seq_add(&job, SYNC, OP(NOP, 0));
	seq_add(&job, SYNC, OP(DMA_TRIGGER, .reg = { 9 }, .imm0 = 1));
	seq_expect_fault(&job, NEURON_CAUSE_QUEUE, SYNC, 1);
	assert_true(fake_logged(&rig->port[1], "core 1 sync engine stopped at instruction 1: "));
	assert_true(fake_logged(&rig->port[1], "queue not of the job: dma_trigger q9, 1, 0"));
	assert_int_equal(fake_log_count(&rig->port[1], TRN_LOG_GUEST_ERROR), 1);
}

/* A chip reset in the middle of a job leaves sequencers that can start again. */
static void device_reset_forgets_the_job(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_core *core = seq_core(rig, 0, 0);
	struct seq_job job;

	spinning_program(&job, rig);
	seq_submit(&job);
	assert_true(fake_wait(has_spun, core));
	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	assert_null(atomic_load(&core->seq[SYNC].job));
	assert_int_equal(trn_sem_value(core->sems, 1), 0);
	trn_chip_mmio_write(rig->chip[0], neuron_ctl_bar0(fake_gen()) +
			    NEURON_CTL_CORE(0) + NEURON_CORE_MASK, 0, 4);

	seq_job_init(&job, rig, 0, 0);
	seq_add(&job, SYNC, OP(HALT, 0));
	seq_expect_ok(&job);
}

static void stop_and_resume_go_on(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job job;
	unsigned int i;

	seq_job_init(&job, rig, 0, 0);
	seq_add(&job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 100000));
	seq_add(&job, SYNC, OP(LOOP, .reg = { 1 }, .addr = 1));
	seq_add(&job, SYNC, post_add(OP(HALT, 0), 1, 1));
	seq_add(&job, VECTOR, wait_ge(OP(HALT, 0), 1, 1));
	seq_submit(&job);
	for (i = 0; i < 5; i++) {
		fake_chip_stop(rig->chip[0]);
		trn_chip_resume(rig->chip[0]);
	}
	assert_int_equal(seq_wait(&job).status, NEURON_JOB_OK);
}

struct scribbler {
	uint8_t *image;
	size_t len;
	_Atomic bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint32_t seed = 1;

	while (!atomic_load(&s->stop)) {
		seed = seed * 1664525 + 1013904223;
		s->image[(seed >> 8) % s->len] = (uint8_t)(seed >> 24);
	}
	return NULL;
}

/* An image that changes while it runs faults, finishes or spins; never more. */
static void image_may_change_while_it_runs(void **state)
{
	struct seq_rig *rig = *state;
	struct neuron_hw_completion record;
	struct scribbler s = { .len = 64 * NEURON_INST_SIZE };
	unsigned int round, i;
	struct seq_job job;
	pthread_t thread;

#ifdef __SANITIZE_THREAD__
	print_message("skipped: the race is the point of this test\n");
	skip();
#endif
	seq_job_init(&job, rig, 0, 0);
	s.image = seq_image(&job, VECTOR);
	for (i = 0; i < 63; i++)
		seq_add(&job, VECTOR,
			OP(MEMSET, .imm0 = i, .dst = ap_sbuf(0, 32, 4 * i,
							     NEURON_DTYPE_INT32, 8)));
	seq_add(&job, VECTOR, OP(BRANCH, .addr = 0));
	assert_int_equal(pthread_create(&thread, NULL, scribble, &s), 0);
	for (round = 0; round < 100; round++) {
		seq_submit(&job);
		record = seq_wait(&job);
		assert_int_equal(record.status, NEURON_JOB_ERROR);
		assert_true(record.cause > NEURON_CAUSE_JOB &&
			    record.cause < NEURON_NR_CAUSES);
	}
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
}

/* --- the table and the disassembler --- */

static void table_is_consistent(void **state)
{
	const struct trn_isa *isa, *other;
	size_t i, j;

	(void)state;
	for (i = 0; (isa = trn_isa_row(i)); i++) {
		assert_ptr_equal(trn_isa_lookup(isa->opcode), isa);
		assert_ptr_equal(trn_isa_find(isa->name, strlen(isa->name)), isa);
		assert_true(isa->engines && isa->engines < 32);
		for (j = 0; j < i; j++) {
			other = trn_isa_row(j);
			assert_int_not_equal(isa->opcode, other->opcode);
			assert_string_not_equal(isa->name, other->name);
		}
	}
	for (j = 0; j < 256; j++)
		i -= !!trn_isa_lookup((unsigned int)j);
	assert_int_equal(i, 0);
	assert_null(trn_isa_find("hal", 3));
	assert_null(trn_isa_find("halts", 5));
}

static void names_round_trip(void **state)
{
	unsigned int i, known = 0;
	const char *name;

	(void)state;
	for (i = 0; i < 256; i++) {
		name = trn_isa_alu_name(i);
		if (name)
			assert_int_equal(trn_isa_alu_value(name, strlen(name)), i);
		known += !!name;
		name = trn_isa_act_name(i);
		if (name)
			assert_int_equal(trn_isa_act_value(name, strlen(name)), i);
		name = trn_isa_dtype_name(i);
		if (name)
			assert_int_equal(trn_isa_dtype_value(name, strlen(name)), i);
		assert_int_equal(!!name, i > 0 && i < NEURON_NR_DTYPES);
	}
	assert_int_equal(known, 31);
	assert_int_equal(trn_isa_alu_value("ad", 2), -1);
}

static void expect_text(struct neuron_inst inst, const char *text)
{
	char buf[TRN_ISA_TEXT_MAX];

	assert_int_equal(trn_isa_format(buf, sizeof(buf), &inst), strlen(text));
	assert_string_equal(buf, text);
}

static void formats_instructions(void **state)
{
	struct neuron_ap wide;

	(void)state;
	expect_text(OP(HALT, 0), "halt");
	expect_text(post(take_ge(OP(NOP, 0), 3, -1), 255, NEURON_SYNC_POST_SET, 4),
		    "nop take s3 >= -1 post s255 = 4");
	expect_text(wait_eq(OP(NOTIFY, .imm0 = 0xdead), 1, 2),
		    "notify 0xdead wait s1 == 2");
	expect_text(OP(DMA_TRIGGER, .reg = { 1, 1 }, .imm0 = 4, .imm1 = 0),
		    "dma_trigger q257, 4, 0");
	expect_text(OP(REG_SET, .reg = { 7 }, .imm0 = (uint32_t)-9),
		    "reg_set r7, -9");
	expect_text(OP(REG_ALU, .op0 = NEURON_ALU_ADD, .reg = { 1, 2, 3 }),
		    "reg_alu.add r1, r2, r3");
	expect_text(OP(BRANCH, .op0 = NEURON_ALU_IS_LT, .reg = { 1 },
		       .flags = NEURON_INST_IMM, .imm0 = 5, .addr = 12),
		    "branch.is_lt r1, 5, 12");
	expect_text(OP(BRANCH, .addr = 3), "branch 3");
	expect_text(OP(LOOP, .reg = { 1 }, .addr = 3), "loop r1, 3");
	expect_text(OP(REG_LOAD, .reg = { 1, 2 },
		       .addr = neuron_window_addr(3, 0x40)),
		    "reg_load r1, w3:0x40+r2");
	expect_text(OP(REG_STORE, .reg = { 1 }, .addr = 0x40),
		    "reg_store 0x40, r1");
	expect_text(post_add(OP(MATMUL, .flags = NEURON_INST_ACCUMULATE,
				.dst = ap_psum(0, 128, 0, NEURON_DTYPE_FP32, 10),
				.src0 = ap_sbuf(0, 64, 0x400, NEURON_DTYPE_BF16,
						10)), 4, 1),
		    "matmul psum[0:128, 0x0 : 10 fp32], sbuf[0:64, 0x400 : 10 bf16] acc post s4 += 1");
	wide = ap_dim(ap_dim(ap_sbuf(32, 32, 8, NEURON_DTYPE_FP32, 4), 0, 4, -1),
		      2, 3, 12);
	wide.offset_reg = 9;
	expect_text(OP(COPY, .dst = wide,
		       .src0 = ap_dim(ap_sbuf(0, 32, 0, NEURON_DTYPE_INT8, 6), 1,
				      2, 6)),
		    "copy sbuf[32:64, 0x8+r9 : 3@12*1@0*4@-1 fp32], sbuf[0:32, 0x0 : 2*6 int8]");
	expect_text(OP(TENSOR_SCALAR, .op0 = NEURON_ALU_MULTIPLY,
		       .op1 = NEURON_ALU_ADD, .flags = NEURON_INST_REVERSE1,
		       .dst = ap_sbuf(0, 1, 0, NEURON_DTYPE_FP32, 1),
		       .src0 = ap_sbuf(0, 1, 0, NEURON_DTYPE_FP32, 1),
		       .imm0 = f32(0.1f), .imm1 = f32(-2.0f)),
		    "tensor_scalar.multiply.add sbuf[0:1, 0x0 : 1 fp32], sbuf[0:1, 0x0 : 1 fp32], 0.1, -2.0 rev1");
	expect_text(OP(MEMSET, .imm0 = 0x7fc00000,
		       .dst = ap_psum(0, 1, 0, NEURON_DTYPE_FP32, 1)),
		    "memset psum[0:1, 0x0 : 1 fp32], 0x7fc00000");
	expect_text((struct neuron_inst){ .opcode = 0xff, .op0 = 1 },
		    ".inst 0x1ff, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0");
}

/* Each engine of the job reads the same number, and a register is all that it changes. */
static void a_program_reads_its_rank(void **state)
{
	const uint32_t *data = (void *)seq_data(*state, 0, 0);
	static const uint32_t ranks[] = { 0, 5, 0xfffffffe };
	struct seq_job job;
	unsigned int e, i;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		seq_job_init(&job, *state, 0, 0);
		job.block.rank = ranks[i];
		for (e = 0; e < NEURON_NR_ENGINES; e++) {
			seq_add(&job, e, OP(REG_RANK, .reg = { (uint8_t)(e + 9) }));
			seq_add(&job, e, OP(REG_STORE, .reg = { (uint8_t)(e + 9) },
					    .addr = neuron_window_addr(SEQ_DATA, 4 * e)));
		}
		halt_all(&job);
		seq_expect_ok(&job);
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			assert_int_equal(data[e], ranks[i]);
	}
	expect_bad(*state, SYNC, OP(REG_RANK, .reg = { NEURON_NR_REGS }), NEURON_CAUSE_OPERAND);
	expect_bad(*state, SYNC, OP(REG_RANK, .imm0 = 1), NEURON_CAUSE_OPERAND);
}

/* Never writes past the buffer, always says how much there is. */
static void format_fits_any_buffer(void **state)
{
	struct neuron_inst inst = { .opcode = 0xff };
	char buf[TRN_ISA_TEXT_MAX];
	size_t len, size;

	(void)state;
	memset((uint8_t *)&inst + 1, 0xff, sizeof(inst) - 1);
	len = trn_isa_format(buf, sizeof(buf), &inst);
	assert_true(len < sizeof(buf));
	for (size = 0; size < sizeof(buf); size++) {
		char small[TRN_ISA_TEXT_MAX + 1];

		memset(small, 'x', sizeof(small));
		assert_int_equal(trn_isa_format(small, size, &inst), len);
		assert_int_equal(small[size], 'x');
		if (size)
			assert_int_equal(strlen(small), size <= len ? size - 1 : len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_consistent),
		cmocka_unit_test(names_round_trip),
		cmocka_unit_test(formats_instructions),
		cmocka_unit_test(a_program_reads_its_rank),
		cmocka_unit_test(format_fits_any_buffer),
		cmocka_unit_test(halts_on_every_engine),
		cmocka_unit_test(checks_what_changed),
		cmocka_unit_test(refuses_opcodes),
		cmocka_unit_test(refuses_unused_fields),
		cmocka_unit_test(refuses_bad_sync),
		cmocka_unit_test(refuses_foreign_semaphores),
		cmocka_unit_test(runs_out_of_its_image),
		cmocka_unit_test(waits_posts_and_takes),
		cmocka_unit_test(computes_in_registers),
		cmocka_unit_test(branches_and_loops),
		cmocka_unit_test(loads_and_stores_words),
		cmocka_unit_test(refuses_addresses),
		cmocka_unit_test(stays_in_its_window),
		cmocka_unit_test(triggers_dma),
		cmocka_unit_test(notifies_with_phase_and_wrap),
		cmocka_unit_test(reset_stops_a_spinning_program),
		cmocka_unit_test(fault_stops_the_other_engines),
		cmocka_unit_test(fault_is_one_clear_line),
		cmocka_unit_test(device_reset_forgets_the_job),
		cmocka_unit_test(stop_and_resume_go_on),
		cmocka_unit_test(image_may_change_while_it_runs),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
