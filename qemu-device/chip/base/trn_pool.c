// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/trn_timer.h"
#include "num/trn_num.h"

#define TRN_POOL_MAX_WORKERS	256

/*
 * Bytes, whatever the process's limit is: the largest task, a product, takes 1 MiB, and
 * more under a sanitizer.
 */
#define WORKER_STACK		(8u << 20)

/* The clock is read once in this many calls of trn_budget_spent(). */
#define BUDGET_STRIDE		8

/* Budget of a run in trn_pool_step(): calls of trn_budget_spent(). */
#define STEP_CALLS		64

/* trn_task.state */
enum {
	TASK_IDLE,
	TASK_QUEUED,
	TASK_RUNNING,
	TASK_KICKED,		/* running, and to run once more */
};

/**
 * struct trn_worker - one thread
 * @epoch: the pool's epoch when its run began; WORKER_AWAY between runs
 */
struct trn_worker {
	struct trn_pool *pool;
	pthread_t thread;
	_Atomic uint64_t epoch;
};

#define WORKER_AWAY	UINT64_MAX

struct task_list {
	struct trn_task *first;
	struct trn_task *last;
};

/**
 * struct trn_pool - workers and their FIFO
 * @lock: fifo, watchers, sleeping, stop
 * @host: a thread of the host that runs tasks, in place of a worker
 * @host_busy: that thread is there; the fields of @host are its own
 * @host_list: what it has kicked and nobody has run yet
 * @host_ns: time it gives
 * @now, @now_opaque: the clock of budgets; NULL: the default one
 */
struct trn_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct task_list fifo;
	struct trn_task *watchers;
	unsigned int sleeping;
	bool stop;
	_Atomic unsigned int watching;
	_Atomic uint64_t epoch;
	void (*enter)(void);
	void (*exit)(void);
	struct trn_worker host;
	atomic_flag host_busy;
	struct task_list host_list;
	uint32_t host_ns;
	uint64_t (*now)(void *opaque);
	void *now_opaque;
	unsigned int nr_workers;
	struct trn_worker workers[];
};

static _Thread_local const struct trn_task *running_task;

const struct trn_task *trn_task_running(void)
{
	return running_task;
}

/* The pool whose tasks this thread, one of the host's, keeps for itself. */
static _Thread_local struct trn_pool *keeping;

uint64_t trn_pool_now(const struct trn_pool *pool)
{
	return pool->now ? pool->now(pool->now_opaque) : trn_host_default_ns();
}

/* A budget that no pool has given has the default clock. */
static uint64_t budget_now(const struct trn_budget *budget)
{
	return budget->pool ? trn_pool_now(budget->pool) : trn_host_default_ns();
}

/* Time does not come back, so it is asked for once. */
static bool time_is_up(struct trn_budget *budget)
{
	if (budget->most < budget->work)
		budget->most = budget->work;
	budget->work = 0;
	budget->spent = budget->spent || budget_now(budget) >= budget->deadline_ns;
	return budget->spent;
}

bool trn_budget_spent(struct trn_budget *budget)
{
	budget->calls++;
	if (budget->max_calls)
		return budget->calls >= budget->max_calls;
	if (budget->spent)
		return true;
	if (budget->calls % BUDGET_STRIDE && budget->work < TRN_BUDGET_WORK &&
	    !budget->on_host)
		return false;
	return time_is_up(budget);
}

bool trn_budget_worked(struct trn_budget *budget, uint64_t elements,
		       unsigned int weight)
{
	if (budget->max_calls)
		return ++budget->calls >= budget->max_calls;
	budget->work += elements * weight;
	if (budget->work < TRN_BUDGET_WORK)
		return false;
	return time_is_up(budget);
}

bool trn_budget_allows(struct trn_budget *budget, uint64_t bytes)
{
	if (!budget->on_host)
		return true;
	if (bytes > budget->bytes)
		return false;
	budget->bytes -= bytes;
	return true;
}

static void list_append(struct task_list *list, struct trn_task *task)
{
	task->next = NULL;
	if (list->last)
		list->last->next = task;
	else
		list->first = task;
	list->last = task;
}

static struct trn_task *list_take(struct task_list *list)
{
	struct trn_task *task = list->first;

	if (!task)
		return NULL;
	list->first = task->next;
	if (!list->first)
		list->last = NULL;
	return task;
}

/* Under the pool's lock. */
static void pool_append(struct trn_pool *pool, struct trn_task *task)
{
	list_append(&pool->fifo, task);
	if (pool->sleeping)
		pthread_cond_signal(&pool->wake);
}

static void pool_give(struct trn_pool *pool, struct trn_task *task)
{
	pthread_mutex_lock(&pool->lock);
	pool_append(pool, task);
	pthread_mutex_unlock(&pool->lock);
}

/*
 * A task that goes on. Its worker takes the first one of the FIFO next, so there is
 * no more work for those that sleep than before.
 */
static void pool_return(struct trn_pool *pool, struct trn_task *task)
{
	pthread_mutex_lock(&pool->lock);
	list_append(&pool->fifo, task);
	pthread_mutex_unlock(&pool->lock);
}

/* True when the caller must append @task. */
static bool task_mark(struct trn_task *task)
{
	uint32_t state = atomic_load(&task->state);

	for (;;) {
		uint32_t next;

		if (state == TASK_IDLE)
			next = TASK_QUEUED;
		else if (state == TASK_RUNNING)
			next = TASK_KICKED;
		else
			return false;
		if (atomic_compare_exchange_weak(&task->state, &state, next))
			return next == TASK_QUEUED;
	}
}

void trn_task_kick(struct trn_task *task)
{
	struct trn_pool *pool = task->pool;

	if (!task_mark(task))
		return;
	if (keeping == pool)
		list_append(&pool->host_list, task);
	else
		pool_give(pool, task);
}

/* Those that watch more than @level. */
static void pool_kick_watchers(struct trn_pool *pool, enum trn_watch level)
{
	struct trn_task **link = &pool->watchers;
	struct trn_task *task;

	pthread_mutex_lock(&pool->lock);
	while ((task = *link)) {
		if (task->watching <= level) {
			link = &task->next_watcher;
			continue;
		}
		*link = task->next_watcher;
		task->watching = TRN_WATCH_NOTHING;
		if (task_mark(task))
			pool_append(pool, task);
	}
	atomic_store(&pool->watching, pool->watchers ? 1 : 0);
	pthread_mutex_unlock(&pool->lock);
}

void trn_pool_watch(struct trn_task *task, enum trn_watch level)
{
	struct trn_pool *pool = task->pool;

	pthread_mutex_lock(&pool->lock);
	if (!task->watching) {
		task->watching = level;
		task->next_watcher = pool->watchers;
		pool->watchers = task;
		atomic_store(&pool->watching, 1);
	}
	pthread_mutex_unlock(&pool->lock);
}

void trn_pool_unwatch(struct trn_task *task)
{
	struct trn_pool *pool = task->pool;
	struct trn_task **link;

	pthread_mutex_lock(&pool->lock);
	if (task->watching) {
		link = &pool->watchers;
		while (*link != task)
			link = &(*link)->next_watcher;
		*link = task->next_watcher;
		task->watching = TRN_WATCH_NOTHING;
	}
	pthread_mutex_unlock(&pool->lock);
}

uint64_t trn_pool_epoch(struct trn_pool *pool)
{
	return atomic_fetch_add(&pool->epoch, 1) + 1;
}

bool trn_pool_passed(const struct trn_pool *pool, uint64_t epoch)
{
	unsigned int i;

	for (i = 0; i < pool->nr_workers; i++)
		if (atomic_load(&pool->workers[i].epoch) < epoch)
			return false;
	return atomic_load(&pool->host.epoch) >= epoch;
}

/* After the last store to @task its owner may free it. */
static void worker_run(struct trn_worker *worker, struct trn_task *task,
		       struct trn_budget *budget)
{
	struct trn_pool *pool = worker->pool;
	uint32_t running = TASK_RUNNING;
	enum trn_run result;
	enum trn_watch level;
	bool again;

	atomic_store(&worker->epoch, atomic_load(&pool->epoch));
	atomic_store(&task->state, TASK_RUNNING);
	running_task = task;
	result = task->run(task, budget);
	running_task = NULL;
	level = task->watching;
	again = result == TRN_RUN_AGAIN ||
		!atomic_compare_exchange_strong(&task->state, &running,
						TASK_IDLE);
	if (again) {
		atomic_store(&task->state, TASK_QUEUED);
		if (worker == &pool->host)
			pool_give(pool, task);
		else
			pool_return(pool, task);
	}
	atomic_store(&worker->epoch, WORKER_AWAY);
	if (!again && atomic_load(&pool->watching))
		pool_kick_watchers(pool, level);
}

static struct trn_task *pool_take(struct trn_pool *pool)
{
	struct trn_task *task;

	pthread_mutex_lock(&pool->lock);
	while (!pool->fifo.first && !pool->stop) {
		pool->sleeping++;
		pthread_cond_wait(&pool->wake, &pool->lock);
		pool->sleeping--;
	}
	task = pool->stop ? NULL : list_take(&pool->fifo);
	pthread_mutex_unlock(&pool->lock);
	return task;
}

void trn_pool_set_clock(struct trn_pool *pool, uint64_t (*now)(void *opaque), void *opaque)
{
	pool->now = now;
	pool->now_opaque = opaque;
}

bool trn_pool_inline_begin(struct trn_pool *pool, uint32_t ns)
{
	if (!ns || keeping || atomic_flag_test_and_set(&pool->host_busy))
		return false;
	pool->host_ns = ns;
	keeping = pool;
	return true;
}

/* Returns the first task for which there was no time. */
static struct trn_task *host_run(struct trn_pool *pool, struct trn_task *task)
{
	struct trn_budget budget = {
		.pool = pool,
		.deadline_ns = trn_pool_now(pool) + pool->host_ns,
		.bytes = TRN_INLINE_BYTES,
		.on_host = true,
	};
	fenv_t env;

	/* Results must not depend on how the host has set its thread up. */
	fegetenv(&env);
	trn_num_thread_init();
	do {
		worker_run(&pool->host, task, &budget);
		task = list_take(&pool->host_list);
	} while (task && trn_pool_now(pool) < budget.deadline_ns);
	fesetenv(&env);
	return task;
}

void trn_pool_inline_end(struct trn_pool *pool)
{
	struct trn_task *task = list_take(&pool->host_list);

	if (task)
		task = host_run(pool, task);
	keeping = NULL;
	for (; task; task = list_take(&pool->host_list))
		pool_give(pool, task);
	atomic_flag_clear(&pool->host_busy);
}

bool trn_pool_step_with(struct trn_pool *pool, struct trn_budget *budget)
{
	struct trn_task *task;

	pthread_mutex_lock(&pool->lock);
	task = list_take(&pool->fifo);
	pthread_mutex_unlock(&pool->lock);
	if (!task)
		return false;
	worker_run(&pool->host, task, budget);
	return true;
}

unsigned int trn_pool_step(struct trn_pool *pool, unsigned int runs)
{
	unsigned int n;

	for (n = 0; n < runs; n++) {
		struct trn_budget budget = { .max_calls = STEP_CALLS };

		if (!trn_pool_step_with(pool, &budget))
			break;
	}
	return n;
}

static void *worker_main(void *arg)
{
	struct trn_worker *worker = arg;
	struct trn_pool *pool = worker->pool;
	struct trn_task *task;

	trn_num_thread_init();
	if (pool->enter)
		pool->enter();
	while ((task = pool_take(pool))) {
		struct trn_budget budget = {
			.pool = pool,
			.deadline_ns = trn_pool_now(pool) + TRN_BUDGET_NS,
		};

		worker_run(worker, task, &budget);
	}
	if (pool->exit)
		pool->exit();
	return NULL;
}

static unsigned int host_cpus(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned int)n;
}

/* Of the size that tasks need, whatever the host's default is. */
static int worker_start(struct trn_worker *worker)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	err = pthread_create(&worker->thread, &attr, worker_main, worker);
	pthread_attr_destroy(&attr);
	return err;
}

struct trn_pool *trn_pool_new(unsigned int workers, void (*enter)(void),
			      void (*exit)(void))
{
	bool stepped = workers == TRN_POOL_STEPPED;
	struct trn_pool *pool;
	unsigned int i;

	if (!workers)
		workers = host_cpus();
	if (workers > TRN_POOL_MAX_WORKERS)
		workers = stepped ? 0 : TRN_POOL_MAX_WORKERS;
	pool = calloc(1, sizeof(*pool) + workers * sizeof(*pool->workers));
	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->enter = enter;
	pool->exit = exit;
	pool->host.pool = pool;
	atomic_init(&pool->host.epoch, WORKER_AWAY);
	atomic_flag_clear(&pool->host_busy);
	for (i = 0; i < workers; i++) {
		pool->workers[i].pool = pool;
		atomic_init(&pool->workers[i].epoch, WORKER_AWAY);
	}
	for (i = 0; i < workers; i++) {
		if (worker_start(&pool->workers[i]))
			break;
		pool->nr_workers++;
	}
	if (pool->nr_workers || stepped)
		return pool;
	trn_pool_free(pool);
	return NULL;
}

void trn_pool_free(struct trn_pool *pool)
{
	unsigned int i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->nr_workers; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void trn_task_init(struct trn_task *task, struct trn_pool *pool, trn_run_fn run)
{
	*task = (struct trn_task) { .pool = pool, .run = run };
	atomic_init(&task->state, TASK_IDLE);
}

bool trn_task_quiet(const struct trn_task *task)
{
	return atomic_load(&task->state) == TASK_IDLE;
}
