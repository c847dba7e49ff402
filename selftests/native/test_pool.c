// SPDX-License-Identifier: MIT
/*
 * The worker pool: order, fairness, kicks, watches, grace.
 */
#include "fake_port.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NR_TASKS	16

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A task that notes when it ran and ends as it is told to. */
struct probe {
	struct trn_task task;
	_Atomic unsigned int runs;
	_Atomic bool hold;		/* stay in the run */
	_Atomic bool entered;
	_Atomic bool spin;		/* use up the budget, for ever */
	_Atomic unsigned int *order;	/* ticket counter */
	unsigned int ticket;
};

static enum trn_run probe_run(struct trn_task *task, struct trn_budget *budget)
{
	struct probe *p = (struct probe *)task;

	atomic_store(&p->entered, true);
	if (p->order)
		p->ticket = atomic_fetch_add(p->order, 1);
	while (atomic_load(&p->hold))
		;
	atomic_fetch_add(&p->runs, 1);
	if (!atomic_load(&p->spin))
		return TRN_RUN_IDLE;
	while (!trn_budget_spent(budget))
		;
	return TRN_RUN_AGAIN;
}

static void probe_init(struct probe *p, struct trn_pool *pool)
{
	memset(p, 0, sizeof(*p));
	trn_task_init(&p->task, pool, probe_run);
}

static bool probe_quiet(void *arg)
{
	return trn_task_quiet(&((struct probe *)arg)->task);
}

static bool probe_entered(void *arg)
{
	return atomic_load(&((struct probe *)arg)->entered);
}

static void test_fifo(void **state)
{
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	_Atomic unsigned int order = 0;
	struct probe gate, p[NR_TASKS];
	unsigned int i;

	(void)state;
	probe_init(&gate, pool);
	atomic_store(&gate.hold, true);
	trn_task_kick(&gate.task);
	for (i = 0; i < NR_TASKS; i++) {
		probe_init(&p[i], pool);
		p[i].order = &order;
		trn_task_kick(&p[i].task);
	}
	atomic_store(&gate.hold, false);
	for (i = 0; i < NR_TASKS; i++) {
		assert_true(fake_wait(probe_quiet, &p[i]));
		assert_int_equal(p[i].ticket, i);
		assert_int_equal(atomic_load(&p[i].runs), 1);
	}
	assert_true(fake_wait(probe_quiet, &gate));
	trn_pool_free(pool);
}

/* Spinning tasks on every worker leave the others their turns. */
static void test_spinner_starves_nobody(void **state)
{
	struct trn_pool *pool = trn_pool_new(2, NULL, NULL);
	struct probe spin[4], p;
	unsigned int i, n;

	(void)state;
	probe_init(&p, pool);
	for (i = 0; i < 4; i++) {
		probe_init(&spin[i], pool);
		atomic_store(&spin[i].spin, true);
		trn_task_kick(&spin[i].task);
	}
	for (n = 1; n <= 20; n++) {
		trn_task_kick(&p.task);
		assert_true(fake_wait(probe_quiet, &p));
		assert_int_equal(atomic_load(&p.runs), n);
	}
	for (i = 0; i < 4; i++) {
		assert_true(atomic_load(&spin[i].runs) > 1);
		atomic_store(&spin[i].spin, false);
	}
	for (i = 0; i < 4; i++)
		assert_true(fake_wait(probe_quiet, &spin[i]));
	trn_pool_free(pool);
}

static void test_budget_ends(void **state)
{
	struct trn_budget budget = { .deadline_ns = now_ns() + 2000000 };
	uint64_t start = now_ns();

	(void)state;
	assert_false(trn_budget_spent(&budget));
	while (!trn_budget_spent(&budget))
		;
	assert_true(now_ns() - start >= 1900000);
}

/* Kicks during a run lead to one more run, however many there are. */
static uint64_t slow_now(void *opaque)
{
	return atomic_load((_Atomic uint64_t *)opaque);
}

/* As long as the clock stands still a budget does not end. */
static void test_clock(void **state)
{
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	_Atomic uint64_t now = 1;
	struct probe spinner, other;

	(void)state;
	assert_non_null(pool);
	trn_pool_set_clock(pool, slow_now, &now);
	probe_init(&spinner, pool);
	probe_init(&other, pool);
	atomic_store(&spinner.spin, true);
	trn_task_kick(&spinner.task);
	assert_true(fake_wait(probe_entered, &spinner));
	trn_task_kick(&other.task);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	assert_int_equal(atomic_load(&other.runs), 0);
	atomic_fetch_add(&now, TRN_BUDGET_NS);
	assert_true(fake_wait(probe_quiet, &other));
	assert_int_equal(atomic_load(&other.runs), 1);
	atomic_store(&spinner.spin, false);
	atomic_fetch_add(&now, TRN_BUDGET_NS);
	assert_true(fake_wait(probe_quiet, &spinner));
	trn_pool_free(pool);
}

static void test_kick_while_running(void **state)
{
	struct trn_pool *pool = trn_pool_new(2, NULL, NULL);
	struct probe p;

	(void)state;
	probe_init(&p, pool);
	atomic_store(&p.hold, true);
	trn_task_kick(&p.task);
	assert_true(fake_wait(probe_entered, &p));
	assert_false(trn_task_quiet(&p.task));
	trn_task_kick(&p.task);
	trn_task_kick(&p.task);
	trn_task_kick(&p.task);
	atomic_store(&p.hold, false);
	assert_true(fake_wait(probe_quiet, &p));
	assert_int_equal(atomic_load(&p.runs), 2);
	trn_pool_free(pool);
}

/* A task that hands a token on; no kick may be lost. */
struct relay {
	struct trn_task task;
	struct relay *next;
	_Atomic unsigned int tokens;
	unsigned int passed;
	unsigned int limit;
	_Atomic unsigned int *dropped;	/* tokens that met a limit */
};

static enum trn_run relay_run(struct trn_task *task, struct trn_budget *budget)
{
	struct relay *r = (struct relay *)task;
	unsigned int n = atomic_exchange(&r->tokens, 0);

	(void)budget;
	if (r->passed + n > r->limit) {
		atomic_fetch_add(r->dropped, r->passed + n - r->limit);
		n = r->limit - r->passed;
	}
	r->passed += n;
	if (!n)
		return TRN_RUN_IDLE;
	atomic_fetch_add(&r->next->tokens, n);
	trn_task_kick(&r->next->task);
	return TRN_RUN_IDLE;
}

#define NR_TOKENS	3
#define TOKEN_LIMIT	5000

static bool all_dropped(void *arg)
{
	return atomic_load((_Atomic unsigned int *)arg) == NR_TOKENS;
}

static void test_no_kick_is_lost(void **state)
{
	struct trn_pool *pool = trn_pool_new(4, NULL, NULL);
	_Atomic unsigned int dropped = 0;
	struct relay relay[NR_TASKS];
	unsigned int i;

	(void)state;
	for (i = 0; i < NR_TASKS; i++) {
		struct relay *r = &relay[i];

		memset(r, 0, sizeof(*r));
		trn_task_init(&r->task, pool, relay_run);
		r->next = &relay[(i + 1) % NR_TASKS];
		r->limit = TOKEN_LIMIT;
		r->dropped = &dropped;
	}
	for (i = 0; i < NR_TOKENS; i++) {
		atomic_fetch_add(&relay[i * 5].tokens, 1);
		trn_task_kick(&relay[i * 5].task);
	}
	/* A lost kick would leave a token where it is. */
	assert_true(fake_wait(all_dropped, &dropped));
	trn_pool_free(pool);
	for (i = 0; i < NR_TASKS; i++)
		assert_true(relay[i].passed >= TOKEN_LIMIT - NR_TOKENS);
}

/* A watcher runs again when another task goes idle, and does not spin. */
struct watcher {
	struct trn_task task;
	struct probe *other;
	_Atomic unsigned int runs;
	_Atomic bool done;
};

static enum trn_run watcher_run(struct trn_task *task,
				struct trn_budget *budget)
{
	struct watcher *w = (struct watcher *)task;

	(void)budget;
	atomic_fetch_add(&w->runs, 1);
	if (!trn_task_quiet(&w->other->task)) {
		trn_pool_watch(task, TRN_WATCH_CHIP);
		if (!trn_task_quiet(&w->other->task))
			return TRN_RUN_IDLE;
	}
	trn_pool_unwatch(task);
	atomic_store(&w->done, true);
	return TRN_RUN_IDLE;
}

static bool watcher_done(void *arg)
{
	return atomic_load(&((struct watcher *)arg)->done);
}

static bool watcher_ran(void *arg)
{
	return atomic_load(&((struct watcher *)arg)->runs) > 0;
}

static void test_watch(void **state)
{
	struct trn_pool *pool = trn_pool_new(2, NULL, NULL);
	struct watcher w[2];
	struct probe p;
	unsigned int i;

	(void)state;
	probe_init(&p, pool);
	atomic_store(&p.hold, true);
	trn_task_kick(&p.task);
	assert_true(fake_wait(probe_entered, &p));
	for (i = 0; i < 2; i++) {
		memset(&w[i], 0, sizeof(w[i]));
		trn_task_init(&w[i].task, pool, watcher_run);
		w[i].other = &p;
		trn_task_kick(&w[i].task);
	}
	for (i = 0; i < 2; i++)
		assert_true(fake_wait(watcher_ran, &w[i]));
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	for (i = 0; i < 2; i++) {
		assert_false(atomic_load(&w[i].done));
		assert_true(atomic_load(&w[i].runs) <= 2);
	}
	atomic_store(&p.hold, false);
	for (i = 0; i < 2; i++)
		assert_true(fake_wait(watcher_done, &w[i]));
	trn_pool_free(pool);
}

struct grace {
	struct trn_pool *pool;
	uint64_t epoch;
};

static bool grace_passed(void *arg)
{
	const struct grace *g = arg;

	return trn_pool_passed(g->pool, g->epoch);
}

static void test_grace(void **state)
{
	struct grace g = { .pool = trn_pool_new(2, NULL, NULL) };
	struct probe p;

	(void)state;
	g.epoch = trn_pool_epoch(g.pool);
	assert_true(fake_wait(grace_passed, &g));
	probe_init(&p, g.pool);
	atomic_store(&p.hold, true);
	trn_task_kick(&p.task);
	assert_true(fake_wait(probe_entered, &p));
	g.epoch = trn_pool_epoch(g.pool);
	assert_false(grace_passed(&g));
	atomic_store(&p.hold, false);
	assert_true(fake_wait(grace_passed, &g));
	assert_true(fake_wait(probe_quiet, &p));
	trn_pool_free(g.pool);
}

/* A task that notes which thread ran it, and kicks another one. */
struct note {
	struct trn_task task;
	struct note *next;
	uint64_t work;			/* asked of the budget */
	_Atomic bool spin;		/* use up the budget */
	_Atomic unsigned int refused;	/* turned away by the budget */
	_Atomic unsigned int here;	/* runs in the thread of the test */
	_Atomic unsigned int away;	/* runs in another one */
	pthread_t home;
	bool passed;			/* what trn_pool_passed() said inside */
};

static enum trn_run note_run(struct trn_task *task, struct trn_budget *budget)
{
	struct note *n = (struct note *)task;
	struct trn_pool *pool = n->task.pool;

	if (!trn_budget_allows(budget, n->work)) {
		atomic_fetch_add(&n->refused, 1);
		return TRN_RUN_AGAIN;
	}
	if (pthread_equal(pthread_self(), n->home)) {
		n->passed = trn_pool_passed(pool, trn_pool_epoch(pool));
		atomic_fetch_add(&n->here, 1);
	} else {
		atomic_fetch_add(&n->away, 1);
	}
	if (n->next)
		trn_task_kick(&n->next->task);
	if (!atomic_load(&n->spin))
		return TRN_RUN_IDLE;
	while (!trn_budget_spent(budget))
		;
	return TRN_RUN_AGAIN;
}

static void note_init(struct note *n, struct trn_pool *pool)
{
	memset(n, 0, sizeof(*n));
	trn_task_init(&n->task, pool, note_run);
	n->home = pthread_self();
}

static bool note_quiet(void *arg)
{
	return trn_task_quiet(&((struct note *)arg)->task);
}

static bool note_ran_away(void *arg)
{
	return atomic_load(&((struct note *)arg)->away) > 0;
}

#define LONG_NS	UINT32_MAX

/* What the thread kicks, and what that kicks, has run when the end returns. */
static void test_inline(void **state)
{
	struct trn_pool *pool = trn_pool_new(2, NULL, NULL);
	struct note n[3];
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		note_init(&n[i], pool);
	n[0].next = &n[1];
	n[1].next = &n[2];
	assert_true(trn_pool_inline_begin(pool, LONG_NS));
	trn_task_kick(&n[0].task);
	assert_false(trn_task_quiet(&n[0].task));
	trn_pool_inline_end(pool);
	for (i = 0; i < 3; i++) {
		assert_true(trn_task_quiet(&n[i].task));
		assert_int_equal(atomic_load(&n[i].here), 1);
		assert_int_equal(atomic_load(&n[i].away), 0);
		assert_false(n[i].passed);
	}
	/* Afterwards kicks go to the workers again. */
	trn_task_kick(&n[2].task);
	assert_true(fake_wait(note_ran_away, &n[2]));
	assert_true(fake_wait(note_quiet, &n[2]));
	trn_pool_free(pool);
}

/* What is too long for the thread gets to a worker, and so do the others. */
static void test_inline_bounded(void **state)
{
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	struct note spin, big, small;

	(void)state;
	note_init(&spin, pool);
	note_init(&big, pool);
	note_init(&small, pool);
	big.work = TRN_INLINE_BYTES + 1;
	small.work = TRN_INLINE_BYTES;
	atomic_store(&spin.spin, true);

	assert_true(trn_pool_inline_begin(pool, LONG_NS));
	trn_task_kick(&big.task);
	trn_task_kick(&small.task);
	trn_pool_inline_end(pool);
	assert_int_equal(atomic_load(&big.refused), 1);
	assert_int_equal(atomic_load(&small.here), 1);
	assert_true(fake_wait(note_ran_away, &big));

	assert_true(trn_pool_inline_begin(pool, 1000));
	trn_task_kick(&spin.task);
	trn_task_kick(&small.task);
	trn_pool_inline_end(pool);
	assert_int_equal(atomic_load(&spin.here), 1);
	assert_true(fake_wait(note_ran_away, &spin));
	assert_true(fake_wait(note_ran_away, &small));
	atomic_store(&spin.spin, false);
	assert_true(fake_wait(note_quiet, &spin));
	assert_true(fake_wait(note_quiet, &small));
	trn_pool_free(pool);
}

static void *begin_elsewhere(void *arg)
{
	return trn_pool_inline_begin(arg, LONG_NS) ? arg : NULL;
}

static void test_inline_refused(void **state)
{
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	pthread_t thread;
	void *begun;

	(void)state;
	assert_false(trn_pool_inline_begin(pool, 0));
	assert_true(trn_pool_inline_begin(pool, LONG_NS));
	assert_false(trn_pool_inline_begin(pool, LONG_NS));
	assert_false(pthread_create(&thread, NULL, begin_elsewhere, pool));
	pthread_join(thread, &begun);
	assert_null(begun);
	trn_pool_inline_end(pool);
	assert_true(trn_pool_inline_begin(pool, LONG_NS));
	trn_pool_inline_end(pool);
	trn_pool_free(pool);
}

/* Threads that kick tasks of their own inline, beside the workers. */
struct kicker {
	struct trn_pool *pool;
	struct note note;
	struct note *shared;
};

#define KICKS	2000

static void *kicker_main(void *arg)
{
	struct kicker *k = arg;
	unsigned int i;
	bool begun;

	for (i = 0; i < KICKS; i++) {
		begun = trn_pool_inline_begin(k->pool, LONG_NS);
		trn_task_kick(&k->note.task);
		trn_task_kick(&k->shared->task);
		if (begun)
			trn_pool_inline_end(k->pool);
	}
	return NULL;
}

static void test_inline_threads(void **state)
{
	struct trn_pool *pool = trn_pool_new(2, NULL, NULL);
	struct kicker k[3];
	pthread_t thread[3];
	struct note shared;
	unsigned int i;

	(void)state;
	note_init(&shared, pool);
	for (i = 0; i < 3; i++) {
		k[i].pool = pool;
		k[i].shared = &shared;
		note_init(&k[i].note, pool);
		assert_false(pthread_create(&thread[i], NULL, kicker_main,
					    &k[i]));
	}
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < 3; i++) {
		assert_true(fake_wait(note_quiet, &k[i].note));
		assert_true(atomic_load(&k[i].note.away) > 0);
		assert_true(atomic_load(&k[i].note.away) <= KICKS);
	}
	assert_true(fake_wait(note_quiet, &shared));
	trn_pool_free(pool);
}

/* Without threads: tasks run when told to, in order, by steps. */
static void test_stepped(void **state)
{
	struct trn_pool *pool = trn_pool_new(TRN_POOL_STEPPED, NULL, NULL);
	struct note n[2];

	(void)state;
	note_init(&n[0], pool);
	note_init(&n[1], pool);
	n[0].next = &n[1];
	trn_task_kick(&n[0].task);
	assert_int_equal(atomic_load(&n[0].here), 0);
	assert_int_equal(trn_pool_step(pool, 1), 1);
	assert_int_equal(atomic_load(&n[0].here), 1);
	assert_int_equal(atomic_load(&n[1].here), 0);
	assert_int_equal(trn_pool_step(pool, 10), 1);
	assert_int_equal(atomic_load(&n[1].here), 1);
	assert_int_equal(trn_pool_step(pool, 10), 0);
	/* A spinner ends its run by itself. */
	n[0].next = NULL;
	atomic_store(&n[0].spin, true);
	trn_task_kick(&n[0].task);
	assert_int_equal(trn_pool_step(pool, 5), 5);
	assert_int_equal(atomic_load(&n[0].here), 6);
	trn_pool_free(pool);
}

static _Atomic int hooks_entered, hooks_left;

static void hook_enter(void)
{
	atomic_fetch_add(&hooks_entered, 1);
}

static void hook_exit(void)
{
	atomic_fetch_add(&hooks_left, 1);
}

static void test_worker_hooks(void **state)
{
	struct trn_pool *pool = trn_pool_new(3, hook_enter, hook_exit);

	(void)state;
	assert_non_null(pool);
	trn_pool_free(pool);
	assert_int_equal(atomic_load(&hooks_entered), 3);
	assert_int_equal(atomic_load(&hooks_left), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_spinner_starves_nobody),
		cmocka_unit_test(test_budget_ends),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_kick_while_running),
		cmocka_unit_test(test_no_kick_is_lost),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_grace),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_inline_bounded),
		cmocka_unit_test(test_inline_refused),
		cmocka_unit_test(test_inline_threads),
		cmocka_unit_test(test_stepped),
		cmocka_unit_test(test_worker_hooks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
