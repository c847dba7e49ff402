// SPDX-License-Identifier: MIT
#include "fake_port.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "state_stream.h"
#include "sync/trn_sem.h"

#define GE	NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE)
#define EQ	NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_EQ)

/* A task that counts its runs. */
struct counter {
	struct trn_task task;
	_Atomic unsigned int runs;
};

struct fixture {
	struct trn_pool *pool;
	struct trn_sems sems;
	struct counter counter[2];
	struct trn_sem_waiter waiter[2];
};

static enum trn_run count_run(struct trn_task *task, struct trn_budget *budget)
{
	struct counter *counter = (struct counter *)task;

	(void)budget;
	atomic_fetch_add(&counter->runs, 1);
	return TRN_RUN_IDLE;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	unsigned int i;

	assert_non_null(f);
	f->pool = trn_pool_new(2, NULL, NULL);
	assert_non_null(f->pool);
	trn_sems_init(&f->sems);
	for (i = 0; i < 2; i++) {
		trn_task_init(&f->counter[i].task, f->pool, count_run);
		f->waiter[i].task = &f->counter[i].task;
	}
	*state = f;
	return 0;
}

static bool quiet(void *arg)
{
	struct fixture *f = arg;

	return trn_task_quiet(&f->counter[0].task) &&
	       trn_task_quiet(&f->counter[1].task);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	fake_wait(quiet, f);
	trn_sems_destroy(&f->sems);
	trn_pool_free(f->pool);
	free(f);
	return 0;
}

static unsigned int runs(struct fixture *f, unsigned int i)
{
	assert_true(fake_wait(quiet, f));
	return atomic_load(&f->counter[i].runs);
}

static void post_adds_subtracts_sets(void **state)
{
	struct trn_sems *sems = &((struct fixture *)*state)->sems;

	trn_sem_post(sems, 7, NEURON_SYNC_POST_ADD, 5, 0, NULL);
	assert_int_equal(trn_sem_value(sems, 7), 5);
	trn_sem_post(sems, 7, NEURON_SYNC_POST_SUB, 8, 0, NULL);
	assert_int_equal(trn_sem_value(sems, 7), -3);
	trn_sem_post(sems, 7, NEURON_SYNC_POST_SET, 100, 0, NULL);
	assert_int_equal(trn_sem_value(sems, 7), 100);
	assert_int_equal(trn_sem_value(sems, 6), 0);
	assert_int_equal(trn_sem_value(sems, 8), 0);
}

static void arithmetic_wraps(void **state)
{
	struct trn_sems *sems = &((struct fixture *)*state)->sems;

	trn_sem_post(sems, 0, NEURON_SYNC_POST_SET, INT_MAX, 0, NULL);
	trn_sem_post(sems, 0, NEURON_SYNC_POST_ADD, 1, 0, NULL);
	assert_int_equal(trn_sem_value(sems, 0), INT_MIN);
	trn_sem_post(sems, 0, NEURON_SYNC_POST_SUB, 1, 0, NULL);
	assert_int_equal(trn_sem_value(sems, 0), INT_MAX);
	trn_sem_post(sems, 0, NEURON_SYNC_POST_SUB, INT_MIN, 0, NULL);
	assert_int_equal(trn_sem_value(sems, 0), -1);
}

static void a_semaphore_that_does_not_exist_is_ignored(void **state)
{
	struct fixture *f = *state;

	trn_sem_post(&f->sems, NEURON_NR_SEMAPHORES, NEURON_SYNC_POST_SET, 1, 0, NULL);
	assert_int_equal(trn_sem_value(&f->sems, NEURON_NR_SEMAPHORES), 0);
	assert_false(trn_sem_wait(&f->sems, NEURON_NR_SEMAPHORES, GE, 0,
				  &f->waiter[0]));
}

static void wait_compares_signed(void **state)
{
	struct fixture *f = *state;

	assert_true(trn_sem_wait(&f->sems, 1, GE, 0, &f->waiter[0]));
	assert_true(trn_sem_wait(&f->sems, 1, GE, -1, &f->waiter[0]));
	assert_false(trn_sem_wait(&f->sems, 1, GE, 1, &f->waiter[0]));
	assert_true(trn_sem_wait(&f->sems, 1, EQ, 0, &f->waiter[0]));
	assert_false(trn_sem_wait(&f->sems, 1, EQ, -1, &f->waiter[0]));
	trn_sem_cancel(&f->sems, &f->waiter[0]);
}

static void take_subtracts_in_the_same_step(void **state)
{
	struct fixture *f = *state;

	trn_sem_post(&f->sems, 2, NEURON_SYNC_POST_SET, 5, 0, NULL);
	assert_true(trn_sem_wait(&f->sems, 2, GE | NEURON_SYNC_TAKE, 3,
				 &f->waiter[0]));
	assert_int_equal(trn_sem_value(&f->sems, 2), 2);
	assert_false(trn_sem_wait(&f->sems, 2, GE | NEURON_SYNC_TAKE, 3,
				  &f->waiter[0]));
	assert_int_equal(trn_sem_value(&f->sems, 2), 2);
	trn_sem_cancel(&f->sems, &f->waiter[0]);
}

static void a_change_kicks_every_waiter_once(void **state)
{
	struct fixture *f = *state;

	assert_false(trn_sem_wait(&f->sems, 3, GE, 2, &f->waiter[0]));
	assert_false(trn_sem_wait(&f->sems, 3, GE, 2, &f->waiter[1]));
	assert_int_equal(runs(f, 0), 0);
	trn_sem_post(&f->sems, 4, NEURON_SYNC_POST_ADD, 2, 0, NULL);
	assert_int_equal(runs(f, 0), 0);
	trn_sem_post(&f->sems, 3, NEURON_SYNC_POST_ADD, 1, 0, NULL);
	assert_int_equal(runs(f, 0), 1);
	assert_int_equal(runs(f, 1), 1);
	/* Nobody asked again. */
	trn_sem_post(&f->sems, 3, NEURON_SYNC_POST_ADD, 1, 0, NULL);
	assert_int_equal(runs(f, 0), 1);
}

static void a_cancelled_waiter_is_not_kicked(void **state)
{
	struct fixture *f = *state;

	assert_false(trn_sem_wait(&f->sems, 3, GE, 2, &f->waiter[0]));
	assert_false(trn_sem_wait(&f->sems, 3, GE, 2, &f->waiter[1]));
	trn_sem_cancel(&f->sems, &f->waiter[0]);
	trn_sem_cancel(&f->sems, &f->waiter[0]);
	trn_sem_post(&f->sems, 3, NEURON_SYNC_POST_ADD, 2, 0, NULL);
	assert_int_equal(runs(f, 0), 0);
	assert_int_equal(runs(f, 1), 1);
}

static void a_queued_waiter_may_change_its_mind(void **state)
{
	struct fixture *f = *state;

	assert_false(trn_sem_wait(&f->sems, 3, GE, 2, &f->waiter[0]));
	assert_false(trn_sem_wait(&f->sems, 3, GE, 2, &f->waiter[0]));
	assert_false(trn_sem_wait(&f->sems, 5, GE, 2, &f->waiter[0]));
	trn_sem_post(&f->sems, 3, NEURON_SYNC_POST_ADD, 1, 0, NULL);
	assert_int_equal(runs(f, 0), 0);
	trn_sem_post(&f->sems, 5, NEURON_SYNC_POST_ADD, 1, 0, NULL);
	assert_int_equal(runs(f, 0), 1);
}

static void clear_keeps_to_its_mask(void **state)
{
	struct fixture *f = *state;
	const uint64_t mask[4] = { 1ull << 63, 0, 0, 1 };

	trn_sem_post(&f->sems, 63, NEURON_SYNC_POST_SET, 1, 0, NULL);
	trn_sem_post(&f->sems, 64, NEURON_SYNC_POST_SET, 2, 0, NULL);
	trn_sem_post(&f->sems, 192, NEURON_SYNC_POST_SET, 3, 0, NULL);
	trn_sems_write(&f->sems, NEURON_SEM_EVENT(9), 1, 0);
	trn_sems_clear(&f->sems, mask);
	assert_int_equal(trn_sem_value(&f->sems, 63), 0);
	assert_int_equal(trn_sem_value(&f->sems, 64), 2);
	assert_int_equal(trn_sem_value(&f->sems, 192), 0);
	assert_int_equal(trn_sems_read(&f->sems, NEURON_SEM_EVENT(9)), 1);
	trn_sems_clear(&f->sems, NULL);
	assert_int_equal(trn_sem_value(&f->sems, 64), 0);
	assert_int_equal(trn_sems_read(&f->sems, NEURON_SEM_EVENT(9)), 0);
}

static void registers_follow_the_public_map(void **state)
{
	struct trn_sems *sems = &((struct fixture *)*state)->sems;

	trn_sems_write(sems, NEURON_SEM_SET(255), 10, 0);
	trn_sems_write(sems, NEURON_SEM_INC(255), 5, 0);
	trn_sems_write(sems, NEURON_SEM_DEC(255), 7, 0);
	assert_int_equal(trn_sems_read(sems, NEURON_SEM_READ(255)), 8);
	trn_sems_write(sems, NEURON_SEM_READ(255), 99, 0);
	assert_int_equal(trn_sem_value(sems, 255), 8);
	trn_sems_write(sems, NEURON_SEM_INC(0), (uint32_t)-4, 0);
	assert_int_equal((int32_t)trn_sems_read(sems, NEURON_SEM_READ(0)), -4);

	trn_sems_write(sems, NEURON_SEM_EVENT(255), 1, 0);
	assert_int_equal(trn_sems_read(sems, NEURON_SEM_EVENT(255)), 1);
	trn_sems_write(sems, NEURON_SEM_EVENT(255), 0, 0);
	assert_int_equal(trn_sems_read(sems, NEURON_SEM_EVENT(255)), 0);
	/* Public software may name event 256, which does not exist. */
	trn_sems_write(sems, NEURON_SEM_EVENT(256), 1, 0);
	assert_int_equal(trn_sems_read(sems, NEURON_SEM_EVENT(256)), 0);
}

static void a_grant_of_another_generation_posts_nothing(void **state)
{
	struct fixture *f = *state;
	_Atomic uint32_t generation = 5;

	assert_false(trn_sem_wait(&f->sems, 1, GE, 1, &f->waiter[0]));
	assert_false(trn_sem_post_granted(&f->sems, 1, 1, &generation, 4, 0, NULL));
	assert_int_equal(trn_sem_value(&f->sems, 1), 0);
	assert_int_equal(runs(f, 0), 0);
	assert_true(trn_sem_post_granted(&f->sems, 1, 1, &generation, 5, 0, NULL));
	assert_int_equal(trn_sem_value(&f->sems, 1), 1);
	assert_int_equal(runs(f, 0), 1);
	assert_false(trn_sem_post_granted(&f->sems, NEURON_NR_SEMAPHORES, 1,
					  &generation, 5, 0, NULL));
}

/* What trn_sems_write() told of last, or -1. */
static void raised(void *arg, unsigned int event)
{
	*(int *)arg = (int)event;
}

static int write_view(struct trn_sems *sems, uint32_t offset, uint32_t value)
{
	int event = -1;

	sems->raised = raised;
	sems->arg = &event;
	trn_sems_write(sems, offset, value, 0);
	sems->raised = NULL;
	return event;
}

static void events_are_set_and_cleared(void **state)
{
	struct trn_sems *sems = &((struct fixture *)*state)->sems;

	assert_false(trn_event_value(sems, 255));
	assert_true(trn_event_write(sems, 255, true, NULL));
	assert_false(trn_event_write(sems, 255, true, NULL));
	assert_true(trn_event_value(sems, 255));
	assert_false(trn_event_write(sems, 255, false, NULL));
	assert_false(trn_event_value(sems, 255));
	assert_int_equal(write_view(sems, NEURON_SEM_EVENT(3), 1), 3);
	assert_int_equal(write_view(sems, NEURON_SEM_EVENT(3), 1), -1);
	assert_int_equal(write_view(sems, NEURON_SEM_EVENT(3), 2), -1);
	assert_false(trn_event_value(sems, 3));
	assert_int_equal(write_view(sems, NEURON_SEM_INC(3), 1), -1);
	assert_int_equal(write_view(sems, NEURON_SEM_EVENT(256), 1), -1);
	trn_sems_write(sems, NEURON_SEM_EVENT(4), 1, 0);
	assert_true(trn_event_value(sems, 4));
	assert_false(trn_event_write(sems, NEURON_NR_EVENTS, true, NULL));
	assert_false(trn_event_value(sems, NEURON_NR_EVENTS));
}

static void an_event_wakes_its_waiters(void **state)
{
	struct fixture *f = *state;

	assert_false(trn_event_wait(&f->sems, 4, false, &f->waiter[0]));
	assert_false(trn_event_wait(&f->sems, 4, true, &f->waiter[1]));
	trn_event_write(&f->sems, 5, true, NULL);
	trn_event_write(&f->sems, 4, false, NULL);
	trn_sem_post(&f->sems, 4, NEURON_SYNC_POST_ADD, 1, 0, NULL);
	assert_int_equal(runs(f, 0), 0);
	trn_event_write(&f->sems, 4, true, NULL);
	assert_int_equal(runs(f, 0), 1);
	assert_int_equal(runs(f, 1), 1);
	/* The first leaves it, the second takes it: nothing is left for a third. */
	assert_true(trn_event_wait(&f->sems, 4, false, &f->waiter[0]));
	assert_true(trn_event_wait(&f->sems, 4, true, &f->waiter[1]));
	assert_false(trn_event_wait(&f->sems, 4, false, &f->waiter[0]));
	trn_sem_cancel(&f->sems, &f->waiter[0]);
	trn_event_write(&f->sems, 4, true, NULL);
	assert_int_equal(runs(f, 0), 1);
	assert_false(trn_event_wait(&f->sems, NEURON_NR_EVENTS, false,
				    &f->waiter[0]));
}

/* A waiter is in one list only, whatever it waits for. */
static void a_waiter_changes_between_event_and_semaphore(void **state)
{
	struct fixture *f = *state;

	assert_false(trn_event_wait(&f->sems, 4, false, &f->waiter[0]));
	assert_false(trn_sem_wait(&f->sems, 4, GE, 1, &f->waiter[0]));
	trn_event_write(&f->sems, 4, true, NULL);
	assert_int_equal(runs(f, 0), 0);
	trn_sem_post(&f->sems, 4, NEURON_SYNC_POST_ADD, 1, 0, NULL);
	assert_int_equal(runs(f, 0), 1);
}

static void state_is_saved_and_loaded(void **state)
{
	struct fixture *f = *state;
	struct state_stream stream = { .len = 0 };
	struct trn_state st = state_stream_save(&stream);

	trn_sem_post(&f->sems, 0, NEURON_SYNC_POST_SET, -7, 0, NULL);
	trn_sem_post(&f->sems, 255, NEURON_SYNC_POST_SET, INT_MAX, 0, NULL);
	trn_event_write(&f->sems, 200, true, NULL);
	trn_sems_one_state(&f->sems, &st);
	assert_null(st.why);
	trn_sems_clear(&f->sems, NULL);
	st = state_stream_load(&stream);
	trn_sems_one_state(&f->sems, &st);
	assert_null(st.why);
	assert_int_equal(trn_sem_value(&f->sems, 0), -7);
	assert_int_equal(trn_sem_value(&f->sems, 255), INT_MAX);
	assert_true(trn_event_value(&f->sems, 200));
	assert_false(trn_event_value(&f->sems, 199));
	/* No event is 2. */
	st = state_stream_load(&stream);
	stream.data[NEURON_NR_SEMAPHORES * 4] = 2;
	trn_sems_one_state(&f->sems, &st);
	assert_non_null(st.why);
}

#define STORM_POSTS	20000

struct storm {
	struct fixture *f;
	int32_t delta;
};

static void *storm_main(void *arg)
{
	struct storm *storm = arg;
	int i;

	for (i = 0; i < STORM_POSTS; i++)
		trn_sem_post(&storm->f->sems, 0, NEURON_SYNC_POST_ADD,
			     storm->delta, 0, NULL);
	return NULL;
}

/* No post is lost, and a waiter wakes for the last one. */
static void posts_of_many_threads_add_up(void **state)
{
	struct fixture *f = *state;
	struct storm storm[3] = { { f, 3 }, { f, -1 }, { f, 2 } };
	pthread_t thread[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, storm_main,
						&storm[i]), 0);
	while (!trn_sem_wait(&f->sems, 0, EQ, 4 * STORM_POSTS, &f->waiter[0]))
		sched_yield();
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(trn_sem_value(&f->sems, 0), 4 * STORM_POSTS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(post_adds_subtracts_sets),
		TEST(arithmetic_wraps),
		TEST(a_semaphore_that_does_not_exist_is_ignored),
		TEST(wait_compares_signed),
		TEST(take_subtracts_in_the_same_step),
		TEST(a_change_kicks_every_waiter_once),
		TEST(a_cancelled_waiter_is_not_kicked),
		TEST(a_queued_waiter_may_change_its_mind),
		TEST(clear_keeps_to_its_mask),
		TEST(registers_follow_the_public_map),
		TEST(a_grant_of_another_generation_posts_nothing),
		TEST(events_are_set_and_cleared),
		TEST(an_event_wakes_its_waiters),
		TEST(a_waiter_changes_between_event_and_semaphore),
		TEST(state_is_saved_and_loaded),
		TEST(posts_of_many_threads_add_up),
	};

	return cmocka_run_group_tests_name("sem", tests, NULL, NULL);
}
