// SPDX-License-Identifier: MIT
/*
 * Watchpoints of a debugger, and stops that an observer asks for. There are no workers here: what
 * runs and in which order is the same each time.
 */
#include <stdlib.h>
#include <string.h>

#include "exec_rig.h"
#include "state_rig.h"
#include "trn/inspect.h"
#include "trn/observe.h"

#define SYNC	NEURON_ENGINE_SYNC

/* A change that was told. */
struct change {
	unsigned int watch;
	uint8_t old[TRN_WATCHPOINT_BYTES];
	uint8_t now[TRN_WATCHPOINT_BYTES];
	bool copy;
	unsigned int engine;
	uint32_t pc;
	unsigned int after;
};

/**
 * struct seen - what the observer was told, and what it does
 * @after: instructions that were done before now
 * @stop_sem: stop the chip when this semaphore changes; -1: none
 * @stop_pc: stop it behind this instruction of SYNC; -1: none
 */
struct seen {
	struct trn_chip *chip;
	unsigned int changes;
	struct change change[16];
	unsigned int after;
	int stop_sem;
	int stop_pc;
	bool stop_write;
	bool stop_copy;
	unsigned int copies;
};

static void after(void *opaque, const struct trn_observe_inst *at)
{
	struct seen *seen = opaque;

	seen->after++;
	if (at->engine == SYNC && (int)at->pc == seen->stop_pc)
		trn_chip_stop(seen->chip);
}

static void moved(void *opaque, const struct trn_observe_copy *copy)
{
	struct seen *seen = opaque;

	(void)copy;
	seen->copies++;
	if (seen->stop_copy)
		trn_chip_stop(seen->chip);
}

static void semaphore(void *opaque, const struct trn_observe_sem *sem)
{
	struct seen *seen = opaque;

	if (!sem->event && (int)sem->index == seen->stop_sem)
		trn_chip_stop(seen->chip);
}

static void wrote(void *opaque, const struct trn_observe_write *write)
{
	struct seen *seen = opaque;
	struct change *change = &seen->change[seen->changes++ % 16];

	change->watch = write->watch;
	memcpy(change->old, write->old, 4);
	memcpy(change->now, write->now, 4);
	assert_int_not_equal(!write->inst, !write->copy);
	change->copy = write->copy;
	change->engine = write->inst ? write->inst->engine : write->copy->dma_engine;
	change->pc = write->inst ? write->inst->pc : write->copy->pc;
	change->after = seen->after;
	if (seen->stop_write)
		trn_chip_stop(seen->chip);
}

struct fixture {
	struct seq_rig rig;
	struct seen seen;
	struct trn_observer observer;
	struct seq_job job;
};

static void step(struct fixture *f)
{
	while (trn_pool_step(f->rig.pool, 1))
		;
}

static void hold(struct fixture *f)
{
	trn_chip_stop(f->rig.chip[0]);
	step(f);
	assert_true(trn_chip_quiet(f->rig.chip[0]));
}

static void go(struct fixture *f)
{
	trn_chip_resume(f->rig.chip[0]);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	seq_rig_init(&f->rig, fake_gen(), TRN_POOL_STEPPED, 1, true);
	f->seen = (struct seen){ .chip = f->rig.chip[0], .stop_sem = -1, .stop_pc = -1 };
	f->observer = (struct trn_observer){
		.opaque = &f->seen,
		.after = after,
		.moved = moved,
		.semaphore = semaphore,
		.wrote = wrote,
	};
	hold(f);
	trn_chip_observe(f->rig.chip[0], &f->observer);
	go(f);
	seq_job_init(&f->job, &f->rig, 0, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	hold(f);
	seq_rig_destroy(&f->rig);
	free(f);
	return 0;
}

static void expect_end(struct fixture *f)
{
	step(f);
	assert_int_equal(seq_wait(&f->job).status, NEURON_JOB_OK);
}

static void watch(struct fixture *f, const struct trn_watchpoint *points, unsigned int count)
{
	hold(f);
	assert_true(trn_chip_watch(f->rig.chip[0], points, count));
	go(f);
}

/* The plain address of byte @offset of partition @p of core 0's SBUF. */
static uint64_t sbuf(struct fixture *f, unsigned int p, uint32_t offset)
{
	return f->rig.chip[0]->gen->tpb_addr[0] + NEURON_TPB_SBUF +
	       (uint64_t)p * NEURON_TPB_SBUF_STRIDE + offset;
}

static void set(struct fixture *f, unsigned int first, unsigned int partitions, uint32_t offset,
		float value)
{
	seq_add(&f->job, VECTOR, OP(MEMSET, .dst = ap_sbuf(first, partitions, offset, F32, 4),
				    .imm0 = f32(value)));
}

static float told(const uint8_t *bytes)
{
	float value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void sees_who_changes_a_tile(void **state)
{
	struct fixture *f = *state;
	const struct trn_watchpoint point = { sbuf(f, 33, 68), 4 };

	watch(f, &point, 1);
	set(f, 0, 32, 64, 1);	/* other partitions */
	set(f, 32, 2, 80, 2);	/* other columns */
	set(f, 32, 2, 64, 3);	/* pc 2 */
	set(f, 32, 2, 64, 3);	/* the same bytes */
	set(f, 32, 2, 64, 4);	/* pc 4 */
	seq_add(&f->job, VECTOR, OP(HALT, 0));
	seq_expect_ok(&f->job);
	assert_int_equal(f->seen.changes, 2);
	assert_false(f->seen.change[0].copy);
	assert_int_equal(f->seen.change[0].engine, VECTOR);
	assert_int_equal(f->seen.change[0].pc, 2);
	assert_int_equal(f->seen.change[0].after, 2);
	assert_true(told(f->seen.change[0].old) == 0);
	assert_true(told(f->seen.change[0].now) == 3);
	assert_int_equal(f->seen.change[1].pc, 4);
	assert_true(told(f->seen.change[1].old) == 3);
	assert_true(told(f->seen.change[1].now) == 4);
}

/* The one that writes, although another engine does many instructions at the same time. */
static void blames_nobody_else(void **state)
{
	struct fixture *f = *state;
	const struct trn_watchpoint point = { sbuf(f, 0, 0), 4 };
	unsigned int i;

	watch(f, &point, 1);
	for (i = 0; i < 200; i++)
		seq_add(&f->job, SCALAR, OP(NOP, 0));
	seq_add(&f->job, SCALAR, OP(HALT, 0));
	/* Long enough to be cut into many pieces. */
	seq_add(&f->job, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 128, 0, F32, 16384),
				    .imm0 = f32(1)));
	seq_add(&f->job, VECTOR, OP(HALT, 0));
	seq_expect_ok(&f->job);
	assert_int_equal(f->seen.changes, 1);
	assert_int_equal(f->seen.change[0].engine, VECTOR);
	assert_int_equal(f->seen.change[0].pc, 0);
}

static void sees_packets_and_words(void **state)
{
	struct fixture *f = *state;
	const struct trn_watchpoint points[] = {
		{ seq_data_addr(&f->rig, 0, 0) + 4096 + 100, 4 },
		{ seq_data_addr(&f->rig, 0, 0) + 8192, 4 },
	};

	memset(seq_data(&f->rig, 0, 0), 0x11, 256);
	watch(f, points, 2);
	seq_copy(&f->job, 0, neuron_window_addr(SEQ_DATA, 4096 + 128),
		 neuron_window_addr(SEQ_DATA, 0), 64);
	seq_copy(&f->job, 0, neuron_window_addr(SEQ_DATA, 4096), neuron_window_addr(SEQ_DATA, 0),
		 128);
	seq_add(&f->job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 77));
	seq_add(&f->job, SYNC, OP(REG_STORE, .reg = { 1 },
				  .addr = neuron_window_addr(SEQ_DATA, 8192)));
	seq_add(&f->job, SYNC, OP(DMA_TRIGGER, .imm0 = 2, .imm1 = 2));
	seq_add(&f->job, SYNC, OP(HALT, 0));
	seq_expect_ok(&f->job);
	assert_int_equal(f->seen.copies, 2);
	assert_int_equal(f->seen.changes, 2);
	assert_int_equal(f->seen.change[0].watch, 1);
	assert_false(f->seen.change[0].copy);
	assert_int_equal(f->seen.change[0].pc, 1);
	assert_int_equal(f->seen.change[0].now[0], 77);
	assert_int_equal(f->seen.change[1].watch, 0);
	assert_true(f->seen.change[1].copy);
	assert_int_equal(f->seen.change[1].pc, 1);
	assert_int_equal(f->seen.change[1].now[3], 0x11);
}

/* What software writes is not told, and does not make the next write look like a change. */
static void knows_what_others_wrote(void **state)
{
	struct fixture *f = *state;
	const struct trn_watchpoint point = { sbuf(f, 0, 0), 4 };
	const float three = 3;

	watch(f, &point, 1);
	assert_int_equal(trn_inspect_write(f->rig.chip[0], point.addr, &three, 4),
			 NEURON_CAUSE_NONE);
	set(f, 0, 1, 0, 3);
	seq_add(&f->job, VECTOR, OP(HALT, 0));
	seq_expect_ok(&f->job);
	assert_int_equal(f->seen.changes, 0);
}

static void refuses_what_is_no_memory(void **state)
{
	struct fixture *f = *state;
	struct trn_watchpoint points[TRN_WATCHPOINTS + 1];
	unsigned int i;

	for (i = 0; i < TRN_WATCHPOINTS + 1; i++)
		points[i] = (struct trn_watchpoint){ sbuf(f, 0, 0), 4 };
	hold(f);
	assert_true(trn_chip_watch(f->rig.chip[0], points, TRN_WATCHPOINTS));
	assert_false(trn_chip_watch(f->rig.chip[0], points, TRN_WATCHPOINTS + 1));
	points[0].len = 0;
	assert_false(trn_chip_watch(f->rig.chip[0], points, 1));
	points[0].len = TRN_WATCHPOINT_BYTES + 1;
	assert_false(trn_chip_watch(f->rig.chip[0], points, 1));
	points[0] = (struct trn_watchpoint){ f->rig.chip[0]->gen->tpb_addr[0] + NEURON_TPB_SEM, 4 };
	assert_false(trn_chip_watch(f->rig.chip[0], points, 1));
	points[0] = (struct trn_watchpoint){ ~0ull, 4 };
	assert_false(trn_chip_watch(f->rig.chip[0], points, 1));
	assert_true(trn_chip_watch(f->rig.chip[0], NULL, 0));
	go(f);
}

/* A chip that an observer stops carries out nothing more: no instruction, no packet. */
static void stops_at_once(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	f->seen.stop_pc = 3;
	for (i = 0; i < 10; i++)
		seq_add(&f->job, SYNC, OP(NOP, 0));
	seq_add(&f->job, SYNC, OP(HALT, 0));
	for (i = 0; i < 10; i++)
		seq_add(&f->job, VECTOR, wait_ge(OP(NOP, 0), 9, 1));
	seq_submit(&f->job);
	step(f);
	assert_true(trn_chip_quiet(f->rig.chip[0]));
	assert_int_equal(f->seen.after, 4);
	f->seen.stop_pc = -1;
	hold(f);
	trn_core_reset(seq_core(&f->rig, 0, 0));
	go(f);
	step(f);
	assert_int_equal(trn_core_status(seq_core(&f->rig, 0, 0)), NEURON_CORE_IDLE);
}

/* So at the packet, too, and goes on with the rest. */
static void stops_behind_a_packet(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	f->seen.stop_copy = true;
	for (i = 0; i < 4; i++)
		seq_copy(&f->job, 0, neuron_window_addr(SEQ_DATA, 4096 * (i + 1)),
			 neuron_window_addr(SEQ_DATA, 0), 64);
	seq_add(&f->job, SYNC, OP(DMA_TRIGGER, .imm0 = 4, .imm1 = 4));
	seq_add(&f->job, SYNC, OP(HALT, 0));
	seq_submit(&f->job);
	for (i = 1; i <= 4; i++) {
		step(f);
		assert_true(trn_chip_quiet(f->rig.chip[0]));
		assert_int_equal(f->seen.copies, i);
		trn_chip_resume(f->rig.chip[0]);
	}
	expect_end(f);
}

/* The post is made, and nobody who waits for it has gone on. */
static void stops_at_a_semaphore(void **state)
{
	struct fixture *f = *state;
	struct trn_inspect_engine_state engine;
	int32_t value;

	f->seen.stop_sem = 3;
	seq_add(&f->job, SCALAR, OP(NOP, 0));
	seq_add(&f->job, SCALAR, post_add(OP(NOP, 0), 3, 1));
	seq_add(&f->job, SCALAR, OP(HALT, 0));
	seq_add(&f->job, VECTOR, wait_ge(OP(NOP, 0), 3, 1));
	seq_add(&f->job, VECTOR, OP(HALT, 0));
	seq_submit(&f->job);
	step(f);
	assert_true(trn_chip_quiet(f->rig.chip[0]));
	assert_true(trn_inspect_semaphore(f->rig.chip[0], 0, 3, &value, NULL));
	assert_int_equal(value, 1);
	assert_true(trn_inspect_engine(f->rig.chip[0], 0, SCALAR, &engine));
	assert_int_equal(engine.pc, 2);
	assert_true(trn_inspect_engine(f->rig.chip[0], 0, VECTOR, &engine));
	assert_int_equal(engine.retired, 0);
	trn_chip_resume(f->rig.chip[0]);
	expect_end(f);
}

/* Load the chip with what it has saved, and forget everything between. */
static void save(struct fixture *f, struct stream *stream)
{
	hold(f);
	stream_put_chip(stream, f->rig.chip[0]);
}

static void load(struct fixture *f, struct stream *stream)
{
	const char *why;

	if (!stream_get_chip(stream, f->rig.chip[0], &why))
		fail_msg("not loaded: %s", why);
}

/* An instruction that was cut when the chip was saved is told when it ends. */
static void watches_over_a_save(void **state)
{
	struct fixture *f = *state;
	const struct trn_watchpoint point = { sbuf(f, 100, 0), 4 };
	struct trn_core *core = seq_core(&f->rig, 0, 0);
	struct stream stream = { 0 };

	watch(f, &point, 1);
	seq_add(&f->job, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 128, 0, F32, 16384),
				    .imm0 = f32(1)));
	seq_add(&f->job, VECTOR, OP(HALT, 0));
	seq_submit(&f->job);
	while (!core->seq[VECTOR].resume.cut)
		assert_int_equal(trn_pool_step(f->rig.pool, 1), 1);
	save(f, &stream);
	load(f, &stream);
	stream_free(&stream);
	assert_true(core->seq[VECTOR].resume.cut);
	go(f);
	expect_end(f);
	assert_int_equal(f->seen.changes, 1);
	assert_int_equal(f->seen.change[0].engine, VECTOR);
}

/* The second time it goes the same way. */
static void goes_back_and_the_same_way_again(void **state)
{
	struct fixture *f = *state;
	const struct trn_watchpoint point = { sbuf(f, 0, 0), 4 };
	struct stream stream = { 0 };
	unsigned int i;

	watch(f, &point, 1);
	f->seen.stop_write = true;
	for (i = 1; i < 5; i++)
		set(f, 0, 1, 0, (float)i);
	seq_add(&f->job, VECTOR, OP(HALT, 0));
	seq_submit(&f->job);
	step(f);
	assert_int_equal(f->seen.changes, 1);
	save(f, &stream);
	for (i = 0; i < 2; i++) {
		go(f);
		step(f);
		go(f);
		step(f);
		assert_int_equal(f->seen.changes, 3 + 2 * i);
		assert_int_equal(f->seen.change[2 + 2 * i].pc, 2);
		assert_true(told(f->seen.change[2 + 2 * i].old) == 2);
		assert_true(told(f->seen.change[2 + 2 * i].now) == 3);
		hold(f);
		if (!i)
			load(f, &stream);
	}
	stream_free(&stream);
	f->seen.stop_write = false;
	go(f);
	expect_end(f);
}

/* A stop is no state of the job: a reset of the chip or of the core ends what was stopped. */
static void a_reset_ends_what_was_stopped(void **state)
{
	struct fixture *f = *state;
	const struct trn_watchpoint point = { sbuf(f, 0, 0), 4 };

	watch(f, &point, 1);
	f->seen.stop_write = true;
	set(f, 0, 1, 0, 1);
	set(f, 0, 1, 0, 2);
	seq_add(&f->job, VECTOR, OP(HALT, 0));
	seq_submit(&f->job);
	step(f);
	assert_int_equal(f->seen.changes, 1);
	hold(f);
	trn_chip_reset(f->rig.chip[0]);
	go(f);
	step(f);
	assert_int_equal(f->seen.changes, 1);
	assert_int_equal(trn_core_status(seq_core(&f->rig, 0, 0)), NEURON_CORE_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sees_who_changes_a_tile, setup, teardown),
		cmocka_unit_test_setup_teardown(blames_nobody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(sees_packets_and_words, setup, teardown),
		cmocka_unit_test_setup_teardown(knows_what_others_wrote, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(stops_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(stops_behind_a_packet, setup, teardown),
		cmocka_unit_test_setup_teardown(stops_at_a_semaphore, setup, teardown),
		cmocka_unit_test_setup_teardown(watches_over_a_save, setup, teardown),
		cmocka_unit_test_setup_teardown(goes_back_and_the_same_way_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reset_ends_what_was_stopped, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
