// SPDX-License-Identifier: MIT
/*
 * Events in programs: set, clear, wait; who owns them; their device time; who is told of them.
 */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#include "isa/trn_isa.h"
#include "trn/inspect.h"
#include "trn/observe.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR

static int setup(void **state)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	assert_non_null(rig);
	seq_rig_init(rig, fake_gen(), 3, 1, true);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

static struct seq_job *job_new(struct seq_rig *rig)
{
	struct seq_job *job = malloc(sizeof(*job));

	assert_non_null(job);
	seq_job_init(job, rig, 0, 0);
	memset(job->block.event_own, 0xff, sizeof(job->block.event_own));
	return job;
}

static uint32_t event_bar(struct seq_rig *rig, unsigned int event)
{
	return neuron_tpb_bar0(rig->chip[0]->gen, 0) + NEURON_TPB_SEM +
	       NEURON_SEM_EVENT(event);
}

static uint32_t event_get(struct seq_rig *rig, unsigned int event)
{
	return (uint32_t)trn_chip_mmio_read(rig->chip[0], event_bar(rig, event),
					    4);
}

static void event_put(struct seq_rig *rig, unsigned int event, uint32_t value)
{
	trn_chip_mmio_write(rig->chip[0], event_bar(rig, event), value, 4);
}

static bool wait_core(struct seq_rig *rig, uint32_t reg, uint32_t value)
{
	return fake_wait_reg(rig->chip[0], neuron_ctl_bar0(rig->chip[0]->gen) +
			     NEURON_CTL_CORE(0) + reg, ~0u, value);
}

static void programs_set_and_clear(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);

	event_put(rig, 255, 1);
	seq_add(job, SYNC, OP(EVENT_SET, .imm0 = 0));
	seq_add(job, SYNC, OP(EVENT_SET, .imm0 = 7));
	seq_add(job, SYNC, OP(EVENT_CLEAR, .imm0 = 255));
	seq_add(job, SYNC, OP(EVENT_CLEAR, .imm0 = 254));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_ok(job);
	assert_int_equal(event_get(rig, 0), 1);
	assert_int_equal(event_get(rig, 7), 1);
	assert_int_equal(event_get(rig, 255), 0);
	assert_int_equal(event_get(rig, 254), 0);
	free(job);
}

static void a_wait_ends_when_another_engine_sets(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);
	unsigned int i;

	/* A ring of three engines, many times round. */
	seq_add(job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 50));
	seq_add(job, SYNC, OP(EVENT_SET, .imm0 = 1));
	seq_add(job, SYNC, OP(EVENT_WAIT, .imm0 = 3,
			      .flags = NEURON_INST_CLEAR));
	seq_add(job, SYNC, OP(LOOP, .reg = { 1 }, .addr = 1));
	for (i = 1; i < 3; i++) {
		enum neuron_engine e = i == 1 ? VECTOR : SCALAR;

		seq_add(job, e, OP(REG_SET, .reg = { 1 }, .imm0 = 50));
		seq_add(job, e, OP(EVENT_WAIT, .imm0 = i,
				   .flags = NEURON_INST_CLEAR));
		seq_add(job, e, OP(EVENT_SET, .imm0 = i + 1));
		seq_add(job, e, OP(LOOP, .reg = { 1 }, .addr = 1));
		seq_add(job, e, OP(HALT, 0));
	}
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_ok(job);
	for (i = 1; i <= 3; i++)
		assert_int_equal(event_get(rig, i), 0);
	free(job);
}

static void a_wait_without_clear_leaves_the_event(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);

	seq_add(job, SYNC, OP(EVENT_SET, .imm0 = 9));
	seq_add(job, SYNC, OP(EVENT_WAIT, .imm0 = 9));
	seq_add(job, SYNC, OP(EVENT_WAIT, .imm0 = 9));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_ok(job);
	assert_int_equal(event_get(rig, 9), 1);
	free(job);
}

/* The core's registers say what is waited for; software ends the wait. */
static void software_sees_and_ends_a_wait(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);

	seq_add(job, SYNC, OP(EVENT_WAIT, .imm0 = 200,
			      .flags = NEURON_INST_CLEAR));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_submit(job);
	assert_true(wait_core(rig, NEURON_CORE_ENGINE(SYNC),
			      NEURON_ENGINE_WAITING));
	assert_true(wait_core(rig, NEURON_CORE_WAIT(SYNC),
			      200 | NEURON_CORE_WAIT_EVENT));
	event_put(rig, 200, 0);
	event_put(rig, 201, 1);
	assert_true(wait_core(rig, NEURON_CORE_ENGINE(SYNC),
			      NEURON_ENGINE_WAITING));
	event_put(rig, 200, 1);
	assert_int_equal(seq_wait(job).status, NEURON_JOB_OK);
	assert_int_equal(event_get(rig, 200), 0);
	assert_true(wait_core(rig, NEURON_CORE_WAIT(SYNC), 0));
	free(job);
}

/*
 * A semaphore that was taken before the event is waited for is taken once, however
 * often the engine looks at the event.
 */
static void the_take_before_a_wait_is_made_once(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);
	struct trn_core *core = seq_core(rig, 0, 0);

	trn_sem_post(core->sems, 201, NEURON_SYNC_POST_SET, 5, 0, NULL);
	seq_add(job, SYNC, take_ge(OP(EVENT_WAIT, .imm0 = 1), 201, 2));
	seq_add(job, SYNC, post_add(OP(HALT, 0), 202, 1));
	seq_submit(job);
	assert_true(wait_core(rig, NEURON_CORE_WAIT(SYNC),
			      1 | NEURON_CORE_WAIT_EVENT));
	assert_int_equal(trn_sem_value(core->sems, 201), 3);
	trn_chip_stop(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);	/* kicks every engine */
	event_put(rig, 1, 1);
	assert_int_equal(seq_wait(job).status, NEURON_JOB_OK);
	assert_int_equal(trn_sem_value(core->sems, 201), 3);
	assert_int_equal(trn_sem_value(core->sems, 202), 1);
	free(job);
}

static void a_reset_ends_a_wait(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);
	struct neuron_hw_completion record;

	seq_add(job, VECTOR, OP(EVENT_WAIT, .imm0 = 1));
	seq_add(job, VECTOR, OP(HALT, 0));
	seq_submit(job);
	assert_true(wait_core(rig, NEURON_CORE_ENGINE(VECTOR),
			      NEURON_ENGINE_WAITING));
	trn_core_reset(seq_core(rig, 0, 0));
	record = seq_wait(job);
	assert_int_equal(record.status, NEURON_JOB_ABORTED);
	assert_true(wait_core(rig, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	/* Nobody is left in the event's list. */
	event_put(rig, 1, 1);
	free(job);
}

static void expect_bad(struct seq_rig *rig, struct neuron_inst inst,
		       enum neuron_cause cause)
{
	struct seq_job *job = job_new(rig);

	job->block.event_own[0] = ~NEURON_BIT64(5);
	job->block.event_own[3] = 0;
	seq_add(job, SYNC, inst);
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_fault(job, cause, SYNC, 0);
	free(job);
}

static void a_job_uses_its_own_events_only(void **state)
{
	struct seq_rig *rig = *state;
	static const uint8_t opcodes[] = {
		NEURON_OP_EVENT_SET, NEURON_OP_EVENT_CLEAR, NEURON_OP_EVENT_WAIT,
	};
	unsigned int i;

	for (i = 0; i < sizeof(opcodes); i++) {
		struct neuron_inst inst = { .opcode = opcodes[i], .imm0 = 5 };

		expect_bad(rig, inst, NEURON_CAUSE_SEMAPHORE);
		inst.imm0 = 192;
		expect_bad(rig, inst, NEURON_CAUSE_SEMAPHORE);
		inst.imm0 = 256;
		expect_bad(rig, inst, NEURON_CAUSE_SEMAPHORE);
		inst.imm0 = 0x80000000;
		expect_bad(rig, inst, NEURON_CAUSE_SEMAPHORE);
	}
	assert_int_equal(event_get(rig, 5), 0);
	assert_int_equal(event_get(rig, 192), 0);
	expect_bad(rig, OP(EVENT_SET, .imm0 = 1, .flags = NEURON_INST_CLEAR),
		   NEURON_CAUSE_OPERAND);
	expect_bad(rig, OP(EVENT_SET, .imm0 = 1, .imm1 = 1),
		   NEURON_CAUSE_OPERAND);
}

/* A block of zeros, as software that knows no events writes it. */
static void a_job_owns_none_unless_told(void **state)
{
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);

	memset(job->block.event_own, 0, sizeof(job->block.event_own));
	seq_add(job, SYNC, OP(EVENT_SET, .imm0 = 0));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_fault(job, NEURON_CAUSE_SEMAPHORE, SYNC, 0);
	free(job);
}

static uint64_t timed(struct seq_rig *rig, unsigned int nops)
{
	struct seq_job *job = job_new(rig);
	struct neuron_hw_completion record;
	unsigned int i;

	event_put(rig, 1, 0);
	for (i = 0; i < nops; i++)
		seq_add(job, VECTOR, OP(NOP, 0));
	seq_add(job, VECTOR, OP(EVENT_SET, .imm0 = 1));
	seq_add(job, VECTOR, OP(HALT, 0));
	seq_add(job, SYNC, OP(EVENT_WAIT, .imm0 = 1,
			      .flags = NEURON_INST_CLEAR));
	for (i = 0; i < 100; i++)
		seq_add(job, SYNC, OP(NOP, 0));
	seq_add(job, SYNC, OP(HALT, 0));
	record = seq_run(job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	free(job);
	return record.end_ns - record.start_ns;
}

/* The waiter goes on, in device time, when the setter is there. */
static void a_wait_takes_device_time(void **state)
{
	struct seq_rig *rig = *state;
	const uint64_t nops = 100 * 16 * 1000000ull / fake_gen()->clock_khz[VECTOR];
	uint64_t early, late, again;

	early = timed(rig, 1);
	late = timed(rig, 101);
	again = timed(rig, 101);
	/* 100 NOPs of 16 cycles more. */
	assert_in_range(late - early, nops - 7, nops + 7);
	assert_in_range(again, late - 1, late + 1);
}

/* --- An observer and an inspector --- */

#define CHANGES	8

/* struct seen - changes of events, in their order */
struct seen {
	struct trn_observe_sem change[CHANGES];
	unsigned int nr;
};

static void note_change(void *opaque, const struct trn_observe_sem *sem)
{
	struct seen *seen = opaque;

	if (sem->event && seen->nr < CHANGES)
		seen->change[seen->nr++] = *sem;
}

static void observe(struct seq_rig *rig, const struct trn_observer *observer)
{
	fake_chip_stop(rig->chip[0]);
	trn_chip_observe(rig->chip[0], observer);
	trn_chip_resume(rig->chip[0]);
}

static void expect_change(const struct trn_observe_sem *change, uint32_t event, int32_t value)
{
	assert_int_equal(change->unit, 0);
	assert_int_equal(change->index, event);
	assert_int_equal(change->old, !value);
	assert_int_equal(change->value, value);
}

static void an_observer_is_told_of_changes(void **state)
{
	struct seen seen = { .nr = 0 };
	const struct trn_observer observer = { .opaque = &seen, .semaphore = note_change };
	struct seq_rig *rig = *state;
	struct seq_job *job = job_new(rig);

	event_put(rig, 5, 0);
	event_put(rig, 255, 0);
	observe(rig, &observer);
	seq_add(job, SYNC, OP(EVENT_SET, .imm0 = 5));
	seq_add(job, SYNC, OP(EVENT_SET, .imm0 = 255));
	seq_add(job, SYNC, OP(EVENT_WAIT, .imm0 = 5, .flags = NEURON_INST_CLEAR));
	seq_add(job, SYNC, OP(EVENT_CLEAR, .imm0 = 255));
	seq_add(job, SYNC, OP(HALT, 0));
	seq_expect_ok(job);
	free(job);
	observe(rig, NULL);
	assert_int_equal(seen.nr, 4);
	expect_change(&seen.change[0], 5, 1);
	expect_change(&seen.change[1], 255, 1);
	expect_change(&seen.change[2], 5, 0);
	expect_change(&seen.change[3], 255, 0);
}

static void an_inspector_sees_them(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	bool value;

	event_put(rig, 0, 0);
	event_put(rig, 255, 1);
	assert_true(trn_inspect_event(chip, 0, 0, &value));
	assert_false(value);
	assert_true(trn_inspect_event(chip, 0, 255, &value));
	assert_true(value);
	assert_true(trn_inspect_event(chip, TRN_UNIT_CC(0), 255, &value));
	assert_false(value);
	assert_false(trn_inspect_event(chip, 0, NEURON_NR_EVENTS, &value));
	assert_false(trn_inspect_event(chip, TRN_UNIT_NONE, 0, &value));
}

static void the_disassembler_knows_them(void **state)
{
	char text[TRN_ISA_TEXT_MAX];
	struct neuron_inst inst = OP(EVENT_WAIT, .imm0 = 17,
				     .flags = NEURON_INST_CLEAR);

	(void)state;
	trn_isa_format(text, sizeof(text), &inst);
	assert_string_equal(text, "event_wait e17 clear");
	inst = OP(EVENT_SET, .imm0 = 255);
	trn_isa_format(text, sizeof(text), &inst);
	assert_string_equal(text, "event_set e255");
	inst = post_add(OP(EVENT_CLEAR, .imm0 = 0), 3, 1);
	trn_isa_format(text, sizeof(text), &inst);
	assert_string_equal(text, "event_clear e0 post s3 += 1");
	inst = OP(EVENT_CLEAR, .imm0 = 256);
	trn_isa_format(text, sizeof(text), &inst);
	assert_int_equal(strncmp(text, ".inst", 5), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(programs_set_and_clear),
		TEST(a_wait_ends_when_another_engine_sets),
		TEST(a_wait_without_clear_leaves_the_event),
		TEST(software_sees_and_ends_a_wait),
		TEST(the_take_before_a_wait_is_made_once),
		TEST(a_reset_ends_a_wait),
		TEST(a_job_uses_its_own_events_only),
		TEST(a_job_owns_none_unless_told),
		TEST(a_wait_takes_device_time),
		TEST(an_observer_is_told_of_changes),
		TEST(an_inspector_sees_them),
		cmocka_unit_test(the_disassembler_knows_them),
	};

	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
