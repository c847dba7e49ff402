// SPDX-License-Identifier: MIT
/*
 * Several faults in one job: the earliest in device time is reported, whatever the host
 * is slow at.
 */
#include "contract/window.h"
#include "seq_rig.h"
#include "state_rig.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define TENSOR	NEURON_ENGINE_TENSOR

#define HOST_AT		0x80000		/* what the window SLOW shows */
#define SLOW_BYTES	4096
#define NONE		NEURON_NR_ENGINES
#define AFTER_SLOW	(NEURON_NR_ENGINES + 1)

/*
 * The 4 bytes of an engine at HOST_AT: reading them takes 20 ms, or until @slow_core's job
 * has failed, or until the test lets go; and may fail. Reading the word behind those of the
 * engines takes until the slow engine reads.
 */
enum slow_until { SLOW_PAUSE, SLOW_FAILED, SLOW_BOTH_FAILED, SLOW_LET_GO };

static enum slow_until slow_until;
static struct trn_core *slow_core;
static _Atomic bool slow_entered;
static _Atomic bool slow_let_go;
static unsigned int slow_engine;
static bool slow_fails;

static bool job_failed(struct trn_core *core)
{
	bool failed;

	pthread_mutex_lock(&core->lock);
	failed = core->job && atomic_load(&core->job->faulted);
	pthread_mutex_unlock(&core->lock);
	return failed;
}

static bool has_failed(void *arg)
{
	(void)arg;
	return job_failed(slow_core);
}

/* The queue has failed, and the engine that is blamed, at the same time. */
static bool both_have_failed(void *arg)
{
	bool failed;

	(void)arg;
	pthread_mutex_lock(&slow_core->lock);
	failed = atomic_load(&slow_core->job->faulted) && slow_core->job->fault.source == SCALAR;
	pthread_mutex_unlock(&slow_core->lock);
	return failed && atomic_load(&slow_core->violations) &&
	       trn_task_quiet(&slow_core->job->queues[0]->task);
}

static bool is_set(void *arg)
{
	return atomic_load((_Atomic bool *)arg);
}

static void be_slow(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	atomic_store(&slow_entered, true);
	switch (slow_until) {
	case SLOW_PAUSE:
		nanosleep(&pause, NULL);
		break;
	case SLOW_FAILED:
		fake_wait(has_failed, NULL);
		break;
	case SLOW_BOTH_FAILED:
		fake_wait(both_have_failed, NULL);
		break;
	case SLOW_LET_GO:
		fake_wait(is_set, &slow_let_go);
		break;
	}
}

static bool before_slow_read(uint64_t addr, size_t len)
{
	if (len == 4 && addr % SLOW_BYTES == slow_engine * 4) {
		be_slow();
		return !slow_fails;
	}
	if (len == 4 && addr % SLOW_BYTES == AFTER_SLOW * 4)
		fake_wait(is_set, &slow_entered);
	return true;
}

/**
 * struct race - a job that fails in several places
 * @slow: window of host memory
 */
struct race {
	struct seq_rig rig;
	struct seq_job job;
	unsigned int slow;
};

static struct race *race_new(unsigned int workers, bool clock)
{
	struct race *race = calloc(1, sizeof(*race));

	slow_engine = NONE;
	slow_fails = false;
	slow_until = SLOW_PAUSE;
	atomic_store(&slow_entered, false);
	atomic_store(&slow_let_go, false);
	seq_rig_init(&race->rig, &neuron_gen_trn2, workers, 1, clock);
	race->rig.port[0].before_read = before_slow_read;
	return race;
}

static void race_free(struct race *race)
{
	seq_rig_destroy(&race->rig);
	free(race);
}

static void race_begin(struct race *race)
{
	struct seq_job *job = &race->job;

	seq_job_init(job, &race->rig, 0, 0);
	race->slow = job->nr_windows++;
	job->window[race->slow] =
		neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_READ,
					fake_host_addr(&race->rig.port[0], HOST_AT), SLOW_BYTES);
}

static void load_word(struct race *race, enum neuron_engine engine, unsigned int word)
{
	seq_add(&race->job, engine, OP(REG_LOAD, .reg = { 1 },
				       .addr = neuron_window_addr(race->slow, word * 4)));
}

static void load_slow(struct race *race, enum neuron_engine engine)
{
	load_word(race, engine, engine);
}

/* After as many turns @engine fails, at the fourth of these instructions. */
static void fail_after(struct race *race, enum neuron_engine engine, unsigned int turns)
{
	const unsigned int first = race->job.nr[engine];

	seq_add(&race->job, engine, OP(REG_SET, .reg = { 9 }, .imm0 = turns));
	seq_add(&race->job, engine, OP(LOOP, .reg = { 9 }, .addr = first + 1));
	load_slow(race, engine);
	seq_add(&race->job, engine, OP(ILLEGAL, 0));
}

static void assert_blames(const struct neuron_hw_completion *record, unsigned int source,
			  enum neuron_cause cause, uint32_t pc)
{
	assert_int_equal(record->status, NEURON_JOB_ERROR);
	assert_int_equal(record->source, source);
	assert_int_equal(record->cause, cause);
	assert_int_equal(record->pc, pc);
}

static void two_engines_have_one_answer(void **state)
{
	struct race *race = race_new(2, true);
	struct neuron_hw_completion record;
	enum neuron_engine early;
	unsigned int i;
	uint64_t took = 0;

	(void)state;
	for (i = 0; i < 400; i++) {
		early = i < 200 ? GPSIMD : SCALAR;
		race_begin(race);
		fail_after(race, GPSIMD, early == GPSIMD ? 2990 : 3000);
		fail_after(race, SCALAR, early == SCALAR ? 2990 : 3000);
		record = seq_run(&race->job);
		assert_blames(&record, early, NEURON_CAUSE_OPCODE, 3);
		/* So what comes after it starts at the same time, too. */
		if (!i)
			took = record.end_ns;
		assert_in_range(record.end_ns - record.start_ns, took - 1, took + 1);
	}
	race_free(race);
}

static void delays_do_not_matter(void **state)
{
	static const unsigned int slow[] = { NONE, GPSIMD, SCALAR };
	struct race *race = race_new(2, true);
	struct neuron_hw_completion record;
	unsigned int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		slow_engine = slow[i % 3];
		race_begin(race);
		fail_after(race, SCALAR, i < 3 ? 500 : 400);
		fail_after(race, GPSIMD, i < 3 ? 400 : 500);
		record = seq_run(&race->job);
		assert_blames(&record, i < 3 ? GPSIMD : SCALAR, NEURON_CAUSE_OPCODE, 3);
	}
	/* At the same time: the lower engine. */
	slow_engine = SCALAR;
	race_begin(race);
	fail_after(race, SCALAR, 400);
	fail_after(race, GPSIMD, 400);
	record = seq_run(&race->job);
	assert_blames(&record, SCALAR, NEURON_CAUSE_OPCODE, 3);
	race_free(race);
}

/* Who loops for ever, waits for ever or has come to its end does not hold the fault up. */
static void engines_that_do_not_end(void **state)
{
	struct race *race = race_new(2, true);
	struct neuron_hw_completion record;

	(void)state;
	race_begin(race);
	seq_add(&race->job, VECTOR, OP(BRANCH, .op0 = NEURON_ALU_BYPASS));
	seq_add(&race->job, TENSOR, wait_ge(OP(NOP, 0), 5, 1));
	seq_add(&race->job, TENSOR, OP(HALT, 0));
	seq_add(&race->job, SYNC, OP(HALT, 0));
	fail_after(race, SCALAR, 20000);
	slow_engine = SCALAR;
	record = seq_run(&race->job);
	assert_blames(&record, SCALAR, NEURON_CAUSE_OPCODE, 3);
	race_free(race);
}

/* The fault that ends a wait of the other one comes first, however late it is noticed. */
static void a_wait_is_over_in_order(void **state)
{
	struct race *race = race_new(2, true);
	struct neuron_hw_completion record;

	(void)state;
	race_begin(race);
	/* GPSIMD fails soon, when SCALAR has let it; SYNC fails much later. */
	seq_add(&race->job, GPSIMD, wait_ge(OP(NOP, 0), 5, 1));
	load_slow(race, GPSIMD);
	seq_add(&race->job, GPSIMD, OP(ILLEGAL, 0));
	load_slow(race, SCALAR);
	seq_add(&race->job, SCALAR, post_add(OP(NOP, 0), 5, 1));
	seq_add(&race->job, SCALAR, OP(HALT, 0));
	fail_after(race, SYNC, 1000);
	slow_engine = SCALAR;
	record = seq_run(&race->job);
	assert_blames(&record, GPSIMD, NEURON_CAUSE_OPCODE, 2);
	race_free(race);
}

/* A queue whose second descriptor leads nowhere, and an engine. */
static void queues_too(void **state)
{
	static const unsigned int turns[] = { 5, 100000 };
	struct race *race = race_new(2, true);
	struct neuron_hw_completion record;
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++) {
		race_begin(race);
		race->job.nr_queues = 1;
		seq_copy(&race->job, 0, neuron_window_addr(SEQ_DATA, 0),
			 neuron_window_addr(race->slow, SYNC * 4), 4);
		seq_copy(&race->job, 0, neuron_window_addr(SEQ_DATA, 0),
			 neuron_window_addr(race->slow, SLOW_BYTES), 4);
		seq_add(&race->job, SYNC, OP(DMA_TRIGGER, .imm0 = 2, .imm1 = 2));
		seq_add(&race->job, SYNC, OP(HALT, 0));
		fail_after(race, SCALAR, turns[i & 1]);
		slow_engine = i & 2 ? SYNC : i & 4 ? SCALAR : NONE;
		record = seq_run(&race->job);
		if (i & 1)
			assert_blames(&record, NEURON_SOURCE_DMA, NEURON_CAUSE_WINDOW, 1);
		else
			assert_blames(&record, SCALAR, NEURON_CAUSE_OPCODE, 3);
	}
	race_free(race);
}

/*
 * A queue fails at the same device time as an engine, which is blamed. When it is triggered
 * again it does not do the packet once more that has failed.
 */
static void a_queue_fails_once(void **state)
{
	const uint64_t data = neuron_window_addr(SEQ_DATA, 0);
	struct race *race = race_new(2, true);
	struct neuron_hw_completion record;

	(void)state;
	race_begin(race);
	race->job.nr_queues = 1;
	seq_copy(&race->job, 0, seq_sem_window(&race->job, 0, 0, 5), data, 4);
	seq_copy(&race->job, 0, neuron_window_addr(SEQ_CODE, 0), data, 4);
	seq_copy(&race->job, 0, neuron_window_addr(SEQ_DATA, 8), data, 4);
	*(uint32_t *)seq_data(&race->rig, 0, 0) = 1;
	seq_add(&race->job, SCALAR, wait_ge(OP(DMA_TRIGGER, .reg = { 9 }), 5, 1));
	seq_add(&race->job, SYNC, OP(DMA_TRIGGER, .imm0 = 2, .imm1 = 2));
	load_slow(race, SYNC);
	seq_add(&race->job, SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1));
	seq_add(&race->job, SYNC, OP(HALT, 0));
	slow_core = seq_core(&race->rig, 0, 0);
	slow_engine = SYNC;
	slow_until = SLOW_BOTH_FAILED;
	record = seq_run(&race->job);
	assert_blames(&record, SCALAR, NEURON_CAUSE_QUEUE, 0);
	assert_int_equal(atomic_load(&slow_core->violations), 1);
	race_free(race);
}

/* Saved when one engine has failed and the other has still to come to an earlier fault. */
static void a_fault_is_saved(void **state)
{
	struct race *race = race_new(2, true), *to = race_new(2, true);
	struct neuron_hw_completion record;
	struct stream stream = { 0 };
	struct trn_core *core;
	const char *why = NULL;

	(void)state;
	race_begin(race);
	fail_after(race, SCALAR, 500);
	load_slow(race, GPSIMD);
	fail_after(race, GPSIMD, 100);
	core = seq_core(&race->rig, 0, 0);
	slow_core = core;
	slow_engine = GPSIMD;
	slow_until = SLOW_LET_GO;
	seq_submit(&race->job);
	assert_true(fake_wait(has_failed, NULL));
	trn_chip_stop(race->rig.chip[0]);
	atomic_store(&slow_let_go, true);
	fake_chip_stop(race->rig.chip[0]);
	fake_chip_stop(to->rig.chip[0]);
	assert_true(atomic_load(&core->job->faulted));
	assert_false(atomic_load(&core->job->stop));
	stream_put_chip(&stream, race->rig.chip[0]);
	memcpy(to->rig.port[0].host, race->rig.port[0].host, NEURON_MIB(1));
	assert_true(stream_get_chip(&stream, to->rig.chip[0], &why));
	stream_free(&stream);
	trn_chip_resume(race->rig.chip[0]);
	trn_chip_resume(to->rig.chip[0]);
	record = seq_wait(&race->job);
	assert_blames(&record, GPSIMD, NEURON_CAUSE_OPCODE, 4);
	race->job.rig = &to->rig;
	record = seq_wait(&race->job);
	assert_blames(&record, GPSIMD, NEURON_CAUSE_OPCODE, 4);
	race_free(race);
	race_free(to);
}

/* Of those that fail before they notice, the lowest engine is named. */
static void without_device_time(void **state)
{
	struct race *race = race_new(2, false);
	struct neuron_hw_completion record;

	(void)state;
	race_begin(race);
	load_slow(race, VECTOR);
	seq_add(&race->job, VECTOR, OP(HALT, 0));
	load_word(race, GPSIMD, AFTER_SLOW);
	fail_after(race, GPSIMD, 1);
	slow_core = seq_core(&race->rig, 0, 0);
	slow_engine = VECTOR;
	slow_until = SLOW_FAILED;
	slow_fails = true;
	record = seq_run(&race->job);
	assert_blames(&record, VECTOR, NEURON_CAUSE_HOST, 0);
	/* Who has not come to its fault is not asked to. */
	race_begin(race);
	load_slow(race, VECTOR);
	fail_after(race, VECTOR, 1);
	fail_after(race, GPSIMD, 1);
	slow_fails = false;
	atomic_store(&slow_entered, false);
	record = seq_run(&race->job);
	assert_blames(&record, GPSIMD, NEURON_CAUSE_OPCODE, 3);
	race_free(race);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_engines_have_one_answer),
		cmocka_unit_test(delays_do_not_matter),
		cmocka_unit_test(engines_that_do_not_end),
		cmocka_unit_test(a_wait_is_over_in_order),
		cmocka_unit_test(queues_too),
		cmocka_unit_test(a_queue_fails_once),
		cmocka_unit_test(a_fault_is_saved),
		cmocka_unit_test(without_device_time),
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
