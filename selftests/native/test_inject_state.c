// SPDX-License-Identifier: MIT
/*
 * A chip that is saved while a fault holds something up: the chip that is loaded
 * has the same fault, in the same state, and gets over it in the same way.
 */
#include "job_rig.h"
#include "ring_rig.h"
#include "state_rig.h"

#include <stdlib.h>
#include <string.h>

#include "fault/trn_inject_text.h"
#include "soc/trn_reset.h"

#define VECTOR	NEURON_ENGINE_VECTOR
#define SYNC	NEURON_ENGINE_SYNC

/**
 * struct test - where the chip was, and where it is now
 * @state: of cmocka: the rig of @from, and of @to when there has been a move
 */
struct test {
	void *state[2];
	struct rig *from;
	struct rig *to;
};

static int setup(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	rig_setup(&t->state[0]);
	t->from = t->state[0];
	fake_timer_enable(&t->from->port[0]);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct test *t = *state;

	rig_teardown(&t->state[0]);
	if (t->to)
		rig_teardown(&t->state[1]);
	free(t);
	return 0;
}

static void order(struct rig *rig, const char *text)
{
	char why[TRN_FAULT_WHY] = "";

	if (trn_fault_order(rig->chip[0], text, why))
		fail_msg("%s: %s", text, why);
}

static uint64_t strikes(struct rig *rig)
{
	struct trn_inject_status status;

	assert_true(trn_inject_status(rig->chip[0], 0, &status));
	return status.strikes;
}

static bool has_struck(void *arg)
{
	return strikes(arg) == 1;
}

/* Chip 0 and its host's memory; the rest of the new rig is as new. */
static void move(struct test *t)
{
	struct stream stream = { 0 };
	const char *why = NULL;

	rig_setup(&t->state[1]);
	t->to = t->state[1];
	fake_timer_enable(&t->to->port[0]);
	fake_chip_stop(t->from->chip[0]);
	fake_chip_stop(t->to->chip[0]);
	stream_put_chip(&stream, t->from->chip[0]);
	memcpy(t->to->port[0].host, t->from->port[0].host, RIG_HOST_BYTES);
	t->to->host_next[0] = t->from->host_next[0];
	if (!stream_get_chip(&stream, t->to->chip[0], &why))
		fail_msg("not loaded: %s", why);
	assert_int_equal(stream.at, stream.len);
	stream_free(&stream);
	/* Before it goes on, and a rule strikes again. */
	assert_int_equal(strikes(t->to), strikes(t->from));
	trn_chip_resume(t->to->chip[0]);
}

static void *moved_host(struct test *t, void *ptr)
{
	return t->to->port[0].host + ((uint8_t *)ptr - t->from->port[0].host);
}

static void job_move(struct test *t, struct job_rig *job)
{
	job->hbm = t->to->chip[0]->hbm[0] + (job->hbm - t->from->chip[0]->hbm[0]);
	job->core = &t->to->chip[0]->core[job->core->index];
	job->block = moved_host(t, job->block);
	job->windows = moved_host(t, job->windows);
	job->queues = moved_host(t, job->queues);
	job->completion = moved_host(t, job->completion);
	job->rig = t->to;
	job->irqs = 0;
}

static void ring_move(struct test *t, struct ring_pair *ring)
{
	ring->rig = t->to;
	ring->m2s = moved_host(t, ring->m2s);
	ring->s2m = moved_host(t, ring->s2m);
}

static void reset(struct job_rig *job)
{
	job_reg_write(job, NEURON_CORE_RESET, 1);
	assert_true(job_wait_reg(job, NEURON_CORE_RESET, 0));
	assert_true(job_wait_reg(job, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	job_end_cause(job, NEURON_CORE_CAUSE_RESET);
}

static void expect_running(struct job_rig *job)
{
	struct job_rig neighbour;

	job_init(&neighbour, job->rig, 0, !job->core->index);
	job_halt(&neighbour, SYNC);
	job_run(&neighbour);
	assert_int_equal(job_reg(job, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
}

/* A job that copies 256 bytes and halts. */
static void make_copy_job(struct job_rig *job, struct rig *rig)
{
	job_init(job, rig, 0, 0);
	memset(job_host_ptr(job), 0x5a, 256);
	job_copy(job, 0, job_hbm_at(0), job_host_at(0), 256);
	job_trigger(job, SYNC, 0, 1, 1);
	job_halt(job, SYNC);
}

static bool hangs(void *arg)
{
	return fake_logged(arg, "hangs on demand");
}

/* Hung at the fourth of eight instructions, and moved. */
static void hang(struct test *t, struct job_rig *job)
{
	unsigned int i;

	job_init(job, t->from, 0, 0);
	for (i = 0; i < 8; i++)
		job_inst(job, VECTOR, NEURON_OP_NOP);
	job_halt(job, VECTOR);
	order(t->from, "engine-hang,core=0,engine=vector,skip=3,count=1");
	job_submit(job);
	assert_true(fake_wait(hangs, &t->from->port[0]));
	move(t);
	job_move(t, job);
	expect_running(job);
	assert_int_equal(job_reg(job, NEURON_CORE_PC(VECTOR)), 3);
}

static void a_hung_engine_hangs_on(void **state)
{
	struct test *t = *state;
	struct job_rig job;

	hang(t, &job);
	order(t->to, "clear,fault=engine-hang");
	job_wait(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_OK);
	assert_int_equal(job.completion->instructions, 9);
}

static void a_hung_engine_can_be_reset(void **state)
{
	struct test *t = *state;
	struct job_rig job;

	hang(t, &job);
	reset(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	/* The rule had one strike. */
	job_run(&job);
	assert_int_equal(strikes(t->to), 1);
}

static bool queue_at_rest(void *arg)
{
	struct rig *rig = arg;

	return trn_task_quiet(&trn_udma_queue_at(rig->chip[0], 0, 0)->task);
}

static void a_lost_completion_stays_lost(void **state)
{
	struct test *t = *state;
	struct job_rig job;

	make_copy_job(&job, t->from);
	order(t->from, "dma-lost,queue=0:0,count=1");
	job_submit(&job);
	assert_true(fake_wait(has_struck, t->from));
	assert_true(fake_wait(queue_at_rest, t->from));
	move(t);
	job_move(t, &job);
	expect_running(&job);
	assert_memory_equal(job.hbm + JOB_AT_DATA, job_host_ptr(&job), 256);
	reset(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	job_run(&job);
}

static uint32_t done(struct ring_pair *ring)
{
	return ring_read(ring, false, NEURON_UDMA_Q_COMP_HEAD) &
	       NEURON_UDMA_Q_PTR;
}

/* The queue goes on behind it, one completion short. */
static void a_copy_without_completion_stays_so(void **state)
{
	struct test *t = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(t->from, 64, &bytes);

	ring_make(&ring, t->from, 32);
	order(t->from, "dma-lost,count=1");
	ring_copy(&ring, 0x1000, src, 64);
	ring_doorbell(&ring, 1, 1);
	assert_true(fake_wait(has_struck, t->from));
	ring_wait_quiet(&ring);
	move(t);
	ring_move(t, &ring);
	ring_wait_quiet(&ring);
	assert_int_equal(done(&ring), 0);
	ring_copy(&ring, 0x2000, src, 64);
	ring_doorbell(&ring, 1, 1);
	ring_wait_quiet(&ring);
	assert_memory_equal(t->to->chip[0]->hbm[0] + 0x1000, bytes, 64);
	assert_memory_equal(t->to->chip[0]->hbm[0] + 0x2000, bytes, 64);
	assert_int_equal(strikes(t->to), 1);
	ring_recover(&ring);
	ring_copy(&ring, 0x3000, src, 64);
	ring_run(&ring, 1, 1);
}

/* What is late ends when the chip stops; what comes then is late on the new one. */
static void late_completions_come(void **state)
{
	struct test *t = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(t->from, 64, &bytes);

	ring_make(&ring, t->from, 32);
	order(t->from, "dma-late,delay=1000s,count=2");
	ring_copy(&ring, 0x1000, src, 64);
	ring_copy(&ring, 0x2000, src, 64);
	ring_copy(&ring, 0x3000, src, 64);
	ring_doorbell(&ring, 3, 3);
	assert_true(fake_wait_timer(&t->from->port[0], 0));
	move(t);
	ring_move(t, &ring);
	assert_true(fake_wait_timer(&t->to->port[0], 0));
	ring_wait_quiet(&ring);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD) &
			 NEURON_UDMA_Q_PTR, 1);
	assert_int_equal(strikes(t->to), 2);
	fake_chip_stop(t->to->chip[0]);
	trn_chip_resume(t->to->chip[0]);
	ring_wait(&ring);
	assert_memory_equal(t->to->chip[0]->hbm[0] + 0x3000, bytes, 64);
}

static void a_job_waits_for_what_is_late(void **state)
{
	struct test *t = *state;
	struct job_rig job;

	make_copy_job(&job, t->from);
	job_copy(&job, 1, job_hbm_at(0x1000), job_host_at(0), 256);
	job.length[SYNC]--;
	job_trigger(&job, SYNC, 1, 1, 1);
	job_halt(&job, SYNC);
	order(t->from, "dma-late,queue=0:0,delay=1000s,count=1");
	job_submit(&job);
	assert_true(fake_wait_timer(&t->from->port[0], 0));
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	move(t);
	job_move(t, &job);
	/* The stop of the old chip was the end of the delay. */
	assert_true(job_wait_reg(&job, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	assert_int_equal(job.completion->status, NEURON_JOB_OK);
	assert_memory_equal(job.hbm + JOB_AT_DATA, job_host_ptr(&job), 256);
}

static void a_stuck_reset_of_a_core_stays_stuck(void **state)
{
	struct test *t = *state;
	struct job_rig job;

	make_copy_job(&job, t->from);
	order(t->from, "reset-fail,core=0,count=1");
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	assert_true(fake_wait(has_struck, t->from));
	move(t);
	job_move(t, &job);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_RESETTING);
	assert_int_equal(job_reg(&job, NEURON_CORE_CAUSE), 0);
	job_submit(&job);
	job_assert_refused(&job);
	reset(&job);
	job_run(&job);
}

static bool reset_done(void *arg)
{
	return !trn_reset_busy(arg);
}

static void a_stuck_reset_of_the_device_stays_stuck(void **state)
{
	struct test *t = *state;
	struct job_rig job;

	make_copy_job(&job, t->from);
	order(t->from, "reset-fail,device,count=1");
	trn_reset_request(t->from->chip[0]);
	assert_true(fake_wait(has_struck, t->from));
	move(t);
	job_move(t, &job);
	assert_true(trn_reset_busy(t->to->chip[0]));
	trn_reset_request(t->to->chip[0]);
	assert_true(fake_wait(reset_done, t->to->chip[0]));
	/* It masks all interrupts. */
	job_reg_write(&job, NEURON_CORE_MASK, 0);
	job_run(&job);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hung_engine_hangs_on),
		TEST(a_hung_engine_can_be_reset),
		TEST(a_lost_completion_stays_lost),
		TEST(a_copy_without_completion_stays_so),
		TEST(late_completions_come),
		TEST(a_job_waits_for_what_is_late),
		TEST(a_stuck_reset_of_a_core_stays_stuck),
		TEST(a_stuck_reset_of_the_device_stays_stuck),
	};

	return cmocka_run_group_tests_name("inject_state", tests, NULL, NULL);
}
