// SPDX-License-Identifier: MIT
/*
 * The public interface for debuggers: observers that see and hold engines, and a look at what
 * a chip holds.
 */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "exec_rig.h"
#include "state_rig.h"
#include "trn/inspect.h"
#include "trn/observe.h"

#define SYNC	NEURON_ENGINE_SYNC
#define EVENTS	1024

/* What an observer was told. */
struct seen {
	_Atomic unsigned int before[NEURON_NR_ENGINES];
	_Atomic unsigned int after[NEURON_NR_ENGINES];
	_Atomic unsigned int copies;
	_Atomic uint64_t copied;
	struct trn_observe_copy copy;		/* the last one */
	_Atomic unsigned int sems;
	_Atomic uint32_t sem_value[NEURON_NR_SEMAPHORES];
	_Atomic unsigned int events;
	_Atomic unsigned int faults;
	struct trn_observe_fault fault;
	_Atomic uint32_t pc[EVENTS];
	_Atomic uint32_t order;
	/* Park this engine before this instruction; -1: none, -2: before every one. */
	enum neuron_engine park;
	_Atomic int64_t park_pc;
	_Atomic unsigned int parked;
	_Atomic uint32_t reg1;
};

static enum trn_observe_answer before(void *opaque, const struct trn_observe_inst *at)
{
	struct seen *seen = opaque;
	int64_t park = atomic_load(&seen->park_pc);

	atomic_fetch_add(&seen->before[at->engine], 1);
	if (at->engine == seen->park) {
		atomic_store(&seen->pc[atomic_fetch_add(&seen->order, 1) % EVENTS], at->pc);
		atomic_store(&seen->reg1, at->reg[1]);
	}
	if (at->engine != seen->park || (park != -2 && park != at->pc))
		return TRN_OBSERVE_GO;
	atomic_fetch_add(&seen->parked, 1);
	return TRN_OBSERVE_PARK;
}

static void after(void *opaque, const struct trn_observe_inst *at)
{
	struct seen *seen = opaque;

	atomic_fetch_add(&seen->after[at->engine], 1);
}

static void moved(void *opaque, const struct trn_observe_copy *copy)
{
	struct seen *seen = opaque;

	seen->copy = *copy;
	atomic_fetch_add(&seen->copies, 1);
	atomic_fetch_add(&seen->copied, copy->bytes);
}

static void semaphore(void *opaque, const struct trn_observe_sem *sem)
{
	struct seen *seen = opaque;

	if (sem->event) {
		atomic_fetch_add(&seen->events, 1);
		return;
	}
	atomic_fetch_add(&seen->sems, 1);
	atomic_store(&seen->sem_value[sem->index], (uint32_t)sem->value);
}

static void fault(void *opaque, const struct trn_observe_fault *told)
{
	struct seen *seen = opaque;

	seen->fault = *told;
	atomic_fetch_add(&seen->faults, 1);
}

struct fixture {
	struct seq_rig rig;
	struct seen seen;
	struct trn_observer observer;
};

static void hold(struct trn_chip *chip)
{
	fake_chip_stop(chip);
}

static void observe(struct fixture *f, const struct trn_observer *observer)
{
	hold(f->rig.chip[0]);
	trn_chip_observe(f->rig.chip[0], observer);
	trn_chip_resume(f->rig.chip[0]);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	seq_rig_init(&f->rig, fake_gen(), 3, 2, true);
	f->seen.park = NEURON_NR_ENGINES;
	f->observer = (struct trn_observer){
		.opaque = &f->seen,
		.before = before,
		.after = after,
		.moved = moved,
		.semaphore = semaphore,
		.fault = fault,
	};
	observe(f, &f->observer);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	seq_rig_destroy(&f->rig);
	free(f);
	return 0;
}

/* From now on, before the instruction at @pc; -2: before every one. */
static void park_at(struct fixture *f, enum neuron_engine engine, int64_t pc)
{
	f->seen.park = engine;
	atomic_store(&f->seen.park_pc, pc);
}

static void wait_parked(struct fixture *f, unsigned int times)
{
	while (atomic_load(&f->seen.parked) < times)
		sched_yield();
}

/* The engine counts its turns in register 1. */
static void loop(struct seq_job *job, enum neuron_engine engine, uint32_t turns)
{
	seq_add(job, engine, OP(REG_SET, .reg = { 1 }, .imm0 = turns));
	seq_add(job, engine, OP(NOP, 0));
	seq_add(job, engine, OP(LOOP, .reg = { 1 }, .addr = 1));
	seq_add(job, engine, OP(HALT, 0));
}

static void sees_each_instruction_once(void **state)
{
	struct fixture *f = *state;
	struct seq_job job;

	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 10);
	seq_add(&job, VECTOR, wait_ge(OP(NOP, 0), 3, 1));
	seq_add(&job, VECTOR, OP(HALT, 0));
	seq_add(&job, SCALAR, post_add(OP(NOP, 0), 3, 1));
	seq_add(&job, SCALAR, OP(HALT, 0));
	assert_int_equal(seq_run(&job).instructions, 2 + 2 * 10 + 2 + 2);
	assert_int_equal(f->seen.before[SYNC], 22);
	assert_int_equal(f->seen.after[SYNC], 22);
	assert_int_equal(f->seen.before[VECTOR], 2);
	assert_int_equal(f->seen.after[VECTOR], 2);
	assert_int_equal(f->seen.sem_value[3], 1);
	assert_int_equal(f->seen.faults, 0);
}

static void sees_copies_and_faults(void **state)
{
	struct fixture *f = *state;
	struct seq_job job;
	unsigned int i;

	seq_job_init(&job, &f->rig, 0, 1);
	for (i = 0; i < 3; i++)
		seq_copy(&job, 0, neuron_window_addr(SEQ_DATA, 4096),
			 neuron_window_addr(SEQ_DATA, 0), 256);
	seq_add(&job, SYNC, OP(DMA_TRIGGER, .imm0 = 3, .imm1 = 3));
	seq_add(&job, SYNC, OP(HALT, 0));
	seq_expect_ok(&job);
	assert_int_equal(f->seen.copies, 3);
	assert_int_equal(f->seen.copied, 3 * 256);
	assert_int_equal(f->seen.copy.pc, 2);
	assert_int_equal(f->seen.copy.descriptors, 1);
	assert_int_equal(f->seen.copy.bytes, 256);
	assert_int_equal(f->seen.copy.job_id, job.block.job_id);

	seq_job_init(&job, &f->rig, 0, 1);
	seq_add(&job, SYNC, OP(NOP, 0));
	seq_add(&job, SYNC, OP(REG_LOAD, .reg = { 2 }, .addr = neuron_window_addr(60, 0)));
	seq_expect_fault(&job, NEURON_CAUSE_WINDOW, SYNC, 1);
	assert_int_equal(f->seen.faults, 1);
	assert_int_equal(f->seen.fault.unit, 1);
	assert_int_equal(f->seen.fault.cause, NEURON_CAUSE_WINDOW);
	assert_int_equal(f->seen.fault.pc, 1);
	assert_int_equal(f->seen.fault.source, SYNC);
	assert_int_equal(f->seen.fault.job_id, job.block.job_id);
	assert_int_equal(f->seen.fault.addr, neuron_window_addr(60, 0));
}

static bool queue_has_failed(void *arg)
{
	struct fixture *f = arg;
	struct trn_inspect_queue_state queue;

	if (!atomic_load(&f->seen.copies))
		return false;
	assert_true(trn_inspect_queue(f->rig.chip[0], f->seen.copy.dma_engine,
				      f->seen.copy.queue, &queue));
	return queue.stopped && queue.unit == 0 && queue.descriptors == 1 && queue.bytes == 64;
}

/* The queue shows that it has failed, and the observer is told whom its job blames. */
static void sees_a_queue_that_fails(void **state)
{
	const uint64_t data = neuron_window_addr(SEQ_DATA, 0);
	struct fixture *f = *state;
	struct neuron_hw_completion record;
	struct seq_job job;

	park_at(f, VECTOR, 0);
	seq_job_init(&job, &f->rig, 0, 0);
	seq_copy(&job, 0, data + 4096, data, 64);
	seq_copy(&job, 0, neuron_window_addr(60, 0), data, 64);
	seq_add(&job, SYNC, OP(DMA_TRIGGER, .imm0 = 2, .imm1 = 2));
	seq_add(&job, SYNC, OP(HALT, 0));
	seq_add(&job, VECTOR, OP(HALT, 0));
	seq_submit(&job);
	wait_parked(f, 1);
	assert_true(fake_wait(queue_has_failed, f));
	assert_true(trn_observe_release(f->rig.chip[0], 0, VECTOR));
	record = seq_wait(&job);
	assert_int_equal(record.cause, NEURON_CAUSE_WINDOW);
	assert_int_equal(f->seen.faults, 1);
	assert_int_equal(f->seen.fault.source, NEURON_SOURCE_DMA);
	assert_int_equal(f->seen.fault.queue, record.queue);
	assert_int_equal(f->seen.fault.pc, 1);
}

static void parks_and_steps(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	struct trn_inspect_engine_state engine;
	struct seq_job job;
	unsigned int i;

	park_at(f, SYNC, -2);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 3);
	seq_submit(&job);
	for (i = 0; i < 8; i++) {
		wait_parked(f, i + 1);
		assert_int_equal(f->seen.after[SYNC], i);
		hold(chip);
		assert_true(trn_inspect_engine(chip, 0, SYNC, &engine));
		assert_true(engine.parked);
		assert_int_equal(engine.retired, i);
		assert_int_equal(engine.pc, f->seen.pc[i]);
		assert_int_equal(engine.inst.opcode, i == 0 ? NEURON_OP_REG_SET : i == 7 ?
				 NEURON_OP_HALT : i % 2 ? NEURON_OP_NOP : NEURON_OP_LOOP);
		assert_int_equal(engine.reg[1], i ? 3 - (i - 1) / 2 : 0);
		trn_chip_resume(chip);
		assert_true(trn_observe_release(chip, 0, SYNC));
	}
	assert_int_equal(seq_wait(&job).status, NEURON_JOB_OK);
	assert_false(trn_observe_release(chip, 0, SYNC));
	assert_false(trn_observe_release(chip, 99, SYNC));
}

/* What a debugger changes counts. */
static void changes_a_register(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	struct seq_job job;

	park_at(f, SYNC, 1);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 1000000);
	seq_submit(&job);
	wait_parked(f, 1);
	assert_int_equal(f->seen.reg1, 1000000);
	assert_false(trn_inspect_set_register(chip, 0, SYNC, 1, 2));
	hold(chip);
	assert_false(trn_inspect_set_register(chip, 0, SYNC, 0, 2));
	assert_true(trn_inspect_set_register(chip, 0, SYNC, 1, 2));
	atomic_store(&f->seen.park_pc, -1);
	trn_chip_resume(chip);
	assert_true(trn_observe_release(chip, 0, SYNC));
	assert_int_equal(seq_wait(&job).instructions, 2 + 2 * 2);
}

/* It skips what is before the place, and the observer is asked there. */
static void changes_a_pc(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	struct trn_inspect_engine_state engine;
	struct neuron_hw_completion record;
	struct seq_job job;

	park_at(f, SYNC, 1);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 1000000);
	seq_submit(&job);
	wait_parked(f, 1);
	assert_false(trn_inspect_set_pc(chip, 0, SYNC, 3));
	hold(chip);
	assert_false(trn_inspect_set_pc(chip, 0, SYNC, 4));
	assert_false(trn_inspect_set_pc(chip, 0, VECTOR, 0));
	assert_false(trn_inspect_set_pc(chip, 1, SYNC, 0));
	assert_true(trn_inspect_set_pc(chip, 0, SYNC, 3));
	/* It is not parked now, so it cannot be sent elsewhere before it is again. */
	assert_false(trn_inspect_set_pc(chip, 0, SYNC, 0));
	assert_true(trn_inspect_engine(chip, 0, SYNC, &engine));
	assert_false(engine.parked || engine.fetched);
	assert_int_equal(engine.pc, 3);
	atomic_store(&f->seen.park_pc, 3);
	trn_chip_resume(chip);
	wait_parked(f, 2);
	assert_true(trn_observe_release(chip, 0, SYNC));
	record = seq_wait(&job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(record.instructions, 2);
}

/* In the other direction, in a chip that is saved and loaded in between. */
static void a_changed_pc_is_saved(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	struct trn_inspect_engine_state engine;
	struct stream stream = { 0 };
	struct seq_job job;
	const char *why;

	park_at(f, SYNC, 2);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 1);
	seq_submit(&job);
	wait_parked(f, 1);
	hold(chip);
	hold(f->rig.chip[1]);
	assert_true(trn_inspect_set_pc(chip, 0, SYNC, 0));
	stream_put_chip(&stream, chip);
	if (!stream_get_chip(&stream, chip, &why))
		fail_msg("not loaded: %s", why);
	stream_free(&stream);
	hold(chip);
	assert_true(trn_inspect_engine(chip, 0, SYNC, &engine));
	assert_int_equal(engine.pc, 0);
	atomic_store(&f->seen.park_pc, -1);
	trn_chip_resume(f->rig.chip[1]);
	trn_chip_resume(chip);
	assert_int_equal(seq_wait(&job).instructions, 2 + 4);
}

/* What lanes have added up, and what a cell holds, count for the next instruction. */
static void changes_accumulators(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	struct trn_core *core = seq_core(&f->rig, 0, 0);
	float value[128], back[128];
	struct seq_job job;
	unsigned int i;

	for (i = 0; i < 128; i++)
		value[i] = 0.5f + (float)i;
	park_at(f, VECTOR, 0);
	seq_job_init(&job, &f->rig, 0, 0);
	seq_add(&job, VECTOR, OP(ACC_READ, .dst = ap_sbuf(0, 128, 0, F32, 1)));
	seq_add(&job, VECTOR, OP(HALT, 0));
	seq_submit(&job);
	wait_parked(f, 1);
	assert_false(trn_inspect_set_accumulators(chip, 0, VECTOR, value));
	hold(chip);
	assert_false(trn_inspect_set_accumulators(chip, 0, TENSOR, value));
	assert_false(trn_inspect_set_accumulators(chip, 99, VECTOR, value));
	assert_true(trn_inspect_set_accumulators(chip, 0, SCALAR, value));
	assert_true(trn_inspect_accumulators(chip, 0, VECTOR, back));
	assert_true(back[5] == 0);
	assert_true(trn_inspect_set_accumulators(chip, 0, VECTOR, value));
	assert_true(trn_inspect_accumulators(chip, 0, VECTOR, back));
	assert_memory_equal(back, value, sizeof(back));
	trn_chip_resume(chip);
	assert_true(trn_observe_release(chip, 0, VECTOR));
	assert_int_equal(seq_wait(&job).status, NEURON_JOB_OK);
	for (i = 0; i < 128; i++)
		assert_true(*(float *)seq_sbuf(core, i, 0) == value[i]);
}

/* An engine that is parked holds up nobody, and its job can be ended. */
static void a_reset_ends_a_parked_job(void **state)
{
	struct fixture *f = *state;
	struct trn_core *core = seq_core(&f->rig, 0, 0);
	struct trn_chip *chip = f->rig.chip[0];
	struct seq_job job, other;

	park_at(f, SYNC, 2);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 5);
	seq_submit(&job);
	wait_parked(f, 1);
	seq_job_init(&other, &f->rig, 0, 1);
	seq_add(&other, VECTOR, OP(HALT, 0));
	seq_expect_ok(&other);
	trn_core_reset(core);
	while (trn_core_status(core) != NEURON_CORE_IDLE)
		sched_yield();
	assert_int_equal(atomic_load(&core->seq[SYNC].status), NEURON_ENGINE_HALTED);
	assert_false(trn_observe_release(chip, 0, SYNC));
	atomic_store(&f->seen.park_pc, -1);
	seq_job_init(&other, &f->rig, 0, 1);
	loop(&other, SYNC, 5);
	seq_expect_ok(&other);
}

/*
 * The fault of an engine that is held comes first, if it is the earlier one; the job waits
 * for it.
 */
static void a_held_engine_changes_no_fault(void **state)
{
	struct fixture *f = *state;
	struct neuron_hw_completion record;
	struct seq_job job;
	unsigned int i;

	seq_job_init(&job, &f->rig, 0, 0);
	seq_add(&job, SYNC, OP(NOP, 0));
	seq_add(&job, SYNC, OP(ILLEGAL, 0));
	for (i = 0; i < 50; i++)
		seq_add(&job, VECTOR, OP(NOP, 0));
	seq_add(&job, VECTOR, OP(ILLEGAL, 0));
	park_at(f, SYNC, 0);
	seq_submit(&job);
	wait_parked(f, 1);
	while (atomic_load(&f->seen.after[VECTOR]) < 50)
		sched_yield();
	assert_true(trn_observe_release(f->rig.chip[0], 0, SYNC));
	record = seq_wait(&job);
	assert_int_equal(record.cause, NEURON_CAUSE_OPCODE);
	assert_int_equal(record.source, SYNC);
	assert_int_equal(record.pc, 1);
}

static void without_an_observer_all_go_on(void **state)
{
	struct fixture *f = *state;
	struct seq_job job;

	park_at(f, SYNC, 0);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 5);
	seq_submit(&job);
	wait_parked(f, 1);
	observe(f, NULL);
	assert_int_equal(seq_wait(&job).status, NEURON_JOB_OK);
	assert_int_equal(f->seen.before[SYNC], 1);
}

/* It is parked in a chip that was loaded, too, if that has an observer when it goes on. */
static void stays_parked_in_a_saved_chip(void **state)
{
	struct fixture *f = *state;
	struct stream stream = { 0 };
	struct trn_inspect_engine_state engine;
	struct seq_job job;
	const char *why;

	park_at(f, SYNC, 2);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 5);
	seq_submit(&job);
	wait_parked(f, 1);
	hold(f->rig.chip[0]);
	hold(f->rig.chip[1]);
	stream_put_chip(&stream, f->rig.chip[0]);
	trn_chip_observe(f->rig.chip[0], NULL);
	assert_true(stream_get_chip(&stream, f->rig.chip[0], &why));
	trn_chip_observe(f->rig.chip[0], &f->observer);
	trn_chip_resume(f->rig.chip[0]);
	trn_chip_resume(f->rig.chip[1]);
	hold(f->rig.chip[0]);
	assert_true(trn_inspect_engine(f->rig.chip[0], 0, SYNC, &engine));
	assert_true(engine.parked);
	assert_int_equal(engine.pc, 2);
	trn_chip_resume(f->rig.chip[0]);
	atomic_store(&f->seen.park_pc, -1);
	assert_true(trn_observe_release(f->rig.chip[0], 0, SYNC));
	assert_int_equal(seq_wait(&job).instructions, 2 + 2 * 5);
	stream_free(&stream);
}

/* Device time is the same, observed or not, parked or not. */
static void takes_no_device_time(void **state)
{
	struct fixture *f = *state;
	struct neuron_hw_completion record;
	struct seq_job job;
	uint64_t plain;

	observe(f, NULL);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 50);
	record = seq_run(&job);
	plain = record.end_ns - record.start_ns;
	observe(f, &f->observer);
	park_at(f, SYNC, 3);
	seq_job_init(&job, &f->rig, 0, 0);
	loop(&job, SYNC, 50);
	seq_submit(&job);
	wait_parked(f, 1);
	assert_true(trn_observe_release(f->rig.chip[0], 0, SYNC));
	record = seq_wait(&job);
	assert_int_equal(record.end_ns - record.start_ns, plain);
}

static void looks_at_memory(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	const uint64_t data = seq_data_addr(&f->rig, 0, 0);
	const float numbers[4] = { 1.5f, -2.0f, 0.25f, 1e30f };
	const int32_t exact = INT32_MAX;
	struct neuron_ap ap = ap_sbuf(32, 2, 64, NEURON_DTYPE_FP32, 2);
	uint32_t word = 0x12345678, back = 0;
	double value[4];
	float raw[4];
	int32_t sem;

	assert_int_equal(trn_inspect_write(chip, data + 5, &word, 4), NEURON_CAUSE_NONE);
	assert_int_equal(trn_inspect_read(chip, data + 5, &back, 4), NEURON_CAUSE_NONE);
	assert_int_equal(back, word);
	assert_memory_equal(seq_data(&f->rig, 0, 0) + 5, &word, 4);
	assert_int_equal(trn_inspect_read(chip, ~0ull, &back, 4), NEURON_CAUSE_ADDRESS);

	assert_int_equal(trn_inspect_set_tile(chip, 0, &ap, numbers, sizeof(numbers)),
			 NEURON_CAUSE_NONE);
	assert_memory_equal(seq_sbuf(seq_core(&f->rig, 0, 0), 33, 64), numbers + 2, 8);
	assert_int_equal(trn_inspect_tile(chip, 0, &ap, raw, sizeof(raw)), NEURON_CAUSE_NONE);
	assert_memory_equal(raw, numbers, sizeof(raw));
	assert_int_equal(trn_inspect_tile(chip, 0, &ap, raw, 15), NEURON_CAUSE_JOB);
	assert_true(trn_inspect_numbers(NEURON_DTYPE_FP32, raw, 4, value));
	assert_true(value[1] == -2.0 && value[3] == (double)1e30f);
	assert_true(trn_inspect_numbers(NEURON_DTYPE_INT32, &exact, 1, value));
	assert_true(value[0] == 2147483647.0);
	assert_false(trn_inspect_numbers(NEURON_DTYPE_INT64, value, 1, value));
	ap.partitions = 0;
	assert_int_equal(trn_inspect_tile(chip, 0, &ap, raw, sizeof(raw)), NEURON_CAUSE_OPERAND);

	trn_sem_post(seq_core(&f->rig, 0, 2)->sems, 7, NEURON_SYNC_POST_SET, -5, 0, NULL);
	assert_true(trn_inspect_semaphore(chip, 2, 7, &sem, NULL));
	assert_int_equal(sem, -5);
	assert_false(trn_inspect_semaphore(chip, 2, NEURON_NR_SEMAPHORES, &sem, NULL));
}

static void looks_at_a_job(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	const uint64_t data = neuron_window_addr(SEQ_DATA, 100);
	struct trn_inspect_place place;
	struct trn_inspect_job_state look;
	struct trn_inspect_queue_state queue;
	struct seq_job job;

	park_at(f, SYNC, 1);
	seq_job_init(&job, &f->rig, 0, 0);
	seq_copy(&job, 0, neuron_window_addr(SEQ_DATA, 4096), neuron_window_addr(SEQ_DATA, 0), 64);
	seq_add(&job, SYNC, OP(NOP, 0));
	seq_add(&job, SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1));
	seq_add(&job, SYNC, OP(HALT, 0));
	seq_submit(&job);
	wait_parked(f, 1);
	assert_false(trn_inspect_job(chip, 0, &look));
	hold(chip);
	assert_true(trn_inspect_job(chip, 0, &look));
	assert_int_equal(look.engines, NEURON_BIT(SYNC));
	assert_int_equal(look.queues, 1);
	assert_int_equal(look.instructions, 1);
	assert_int_equal(look.fault.cause, NEURON_CAUSE_NONE);
	assert_false(trn_inspect_job(chip, 1, &look));
	assert_int_equal(trn_inspect_window(chip, 0, data, &place), NEURON_CAUSE_NONE);
	assert_int_equal(place.addr, seq_data_addr(&f->rig, 0, 0) + 100);
	assert_int_equal(place.len, SEQ_DATA_BYTES - 100);
	assert_int_equal(trn_inspect_window(chip, 0, neuron_window_addr(60, 0), &place),
			 NEURON_CAUSE_WINDOW);
	assert_int_equal(trn_inspect_window(chip, 1, data, &place), NEURON_CAUSE_JOB);
	assert_true(trn_inspect_queue(chip, 0, 0, &queue));
	assert_int_equal(queue.unit, 0);
	assert_int_equal(queue.m2s.ready, 0);
	assert_false(trn_inspect_queue(chip, 1000, 0, &queue));
	trn_chip_resume(chip);
	assert_true(trn_observe_release(chip, 0, SYNC));
	assert_int_equal(seq_wait(&job).status, NEURON_JOB_OK);
	assert_true(trn_inspect_queue(chip, 0, 0, &queue));
	assert_int_equal(queue.bytes, 64);
	assert_int_equal(queue.descriptors, 1);
	assert_false(queue.busy);
	assert_true(queue.stopped);
	assert_int_equal(queue.cause, NEURON_CAUSE_NONE);
	assert_int_equal(queue.unit, TRN_UNIT_NONE);
}

static void looks_at_the_array(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	struct trn_core *core = seq_core(&f->rig, 0, 0);
	struct trn_inspect_part_state part;
	struct seq_job job;
	float weight;

	*(float *)seq_sbuf(core, 3, 8) = 7.5f;
	park_at(f, TENSOR, 1);
	seq_job_init(&job, &f->rig, 0, 0);
	seq_add(&job, TENSOR, OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, 0, F32, 16)));
	seq_add(&job, TENSOR, OP(HALT, 0));
	seq_submit(&job);
	wait_parked(f, 1);
	assert_false(trn_inspect_part(chip, 0, 0, &part));
	hold(chip);
	assert_true(trn_inspect_part(chip, 0, 0, &part));
	assert_int_equal(part.k, 32);
	assert_int_equal(part.m, 16);
	assert_int_equal(part.terms, 1);
	assert_true(trn_inspect_weight(chip, 0, 0, 3, 2, 0, &weight));
	assert_true(weight == 7.5f);
	assert_false(trn_inspect_weight(chip, 0, 0, 32, 2, 0, &weight));
	assert_false(trn_inspect_part(chip, 0, 5, &part));
	assert_true(trn_inspect_set_weight(chip, 0, 0, 3, 2, 0, -0.25f));
	assert_true(trn_inspect_weight(chip, 0, 0, 3, 2, 0, &weight));
	assert_true(weight == -0.25f);
	assert_false(trn_inspect_set_weight(chip, 0, 0, 32, 2, 0, 1));
	assert_false(trn_inspect_set_weight(chip, 0, 0, 3, 2, 1, 1));
	assert_false(trn_inspect_set_weight(chip, 0, 5, 0, 0, 0, 1));
	trn_chip_resume(chip);
	assert_false(trn_inspect_set_weight(chip, 0, 0, 3, 2, 0, 1));
	assert_true(trn_observe_release(chip, 0, TENSOR));
	assert_int_equal(seq_wait(&job).status, NEURON_JOB_OK);
}

/* A cell of a bf16 operand, between its load and its product. */
static void changes_what_a_product_uses(void **state)
{
	struct fixture *f = *state;
	struct trn_chip *chip = f->rig.chip[0];
	struct trn_core *core = seq_core(&f->rig, 0, 0);
	struct seq_job job;
	unsigned int p;

	/* Ones: each product is the sum of a column of the array, which is zero. */
	for (p = 0; p < 32; p++)
		memcpy(seq_sbuf(core, p, 64), (uint16_t[]){ 0x3f80 }, 2);
	park_at(f, TENSOR, 1);
	seq_job_init(&job, &f->rig, 0, 0);
	seq_add(&job, TENSOR, OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, 0, BF16, 16)));
	seq_add(&job, TENSOR, OP(MATMUL, .src0 = ap_sbuf(0, 32, 64, BF16, 1),
				 .dst = ap_psum(0, 16, 0, F32, 1)));
	seq_add(&job, TENSOR, OP(HALT, 0));
	seq_submit(&job);
	wait_parked(f, 1);
	hold(chip);
	/* bf16 has eight bits of a number. */
	assert_false(trn_inspect_set_weight(chip, 0, 0, 7, 4, 0, 1.001953125f));
	assert_true(trn_inspect_set_weight(chip, 0, 0, 7, 4, 0, 1.5f));
	assert_true(trn_inspect_set_weight(chip, 0, 0, 9, 4, 0, 2.0f));
	trn_chip_resume(chip);
	assert_true(trn_observe_release(chip, 0, TENSOR));
	assert_int_equal(seq_wait(&job).status, NEURON_JOB_OK);
	for (p = 0; p < 16; p++)
		assert_true(*(float *)seq_psum(core, p, 0) == (p == 4 ? 3.5f : 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sees_each_instruction_once, setup, teardown),
		cmocka_unit_test_setup_teardown(sees_copies_and_faults, setup, teardown),
		cmocka_unit_test_setup_teardown(sees_a_queue_that_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(parks_and_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_a_register, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_a_pc, setup, teardown),
		cmocka_unit_test_setup_teardown(a_changed_pc_is_saved, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_accumulators, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_what_a_product_uses, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reset_ends_a_parked_job, setup, teardown),
		cmocka_unit_test_setup_teardown(a_held_engine_changes_no_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(without_an_observer_all_go_on, setup, teardown),
		cmocka_unit_test_setup_teardown(stays_parked_in_a_saved_chip, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_no_device_time, setup, teardown),
		cmocka_unit_test_setup_teardown(looks_at_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(looks_at_a_job, setup, teardown),
		cmocka_unit_test_setup_teardown(looks_at_the_array, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
