// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "trn_num.h"

#define TRN_POOL_MAX_WORKERS	256

/* The clock is read once in this many calls of trn_budget_spent(). */
#define BUDGET_STRIDE		8

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

/**
 * struct trn_pool - workers and their FIFO
 * @lock: first, last, watchers, sleeping, stop
 */
struct trn_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct trn_task *first;
	struct trn_task *last;
	struct trn_task *watchers;
	unsigned int sleeping;
	bool stop;
	_Atomic unsigned int watching;
	_Atomic uint64_t epoch;
	void (*enter)(void);
	void (*exit)(void);
	unsigned int nr_workers;
	struct trn_worker workers[];
};

static uint64_t pool_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool trn_budget_spent(struct trn_budget *budget)
{
	if (++budget->calls % BUDGET_STRIDE)
		return false;
	return pool_ns() >= budget->deadline_ns;
}

static void pool_append(struct trn_pool *pool, struct trn_task *task)
{
	task->next = NULL;
	if (pool->last)
		pool->last->next = task;
	else
		pool->first = task;
	pool->last = task;
	if (pool->sleeping)
		pthread_cond_signal(&pool->wake);
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
	pthread_mutex_lock(&pool->lock);
	pool_append(pool, task);
	pthread_mutex_unlock(&pool->lock);
}

static void pool_kick_watchers(struct trn_pool *pool)
{
	struct trn_task *task;

	pthread_mutex_lock(&pool->lock);
	while ((task = pool->watchers)) {
		pool->watchers = task->next_watcher;
		task->watching = false;
		if (task_mark(task))
			pool_append(pool, task);
	}
	atomic_store(&pool->watching, 0);
	pthread_mutex_unlock(&pool->lock);
}

void trn_pool_watch(struct trn_task *task)
{
	struct trn_pool *pool = task->pool;

	pthread_mutex_lock(&pool->lock);
	if (!task->watching) {
		task->watching = true;
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
		task->watching = false;
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
	return true;
}

/* After the last store to @task its owner may free it. */
static void worker_run(struct trn_worker *worker, struct trn_task *task)
{
	struct trn_pool *pool = worker->pool;
	struct trn_budget budget = { .deadline_ns = pool_ns() + TRN_BUDGET_NS };
	uint32_t running = TASK_RUNNING;
	enum trn_run result;
	bool again, watcher;

	atomic_store(&worker->epoch, atomic_load(&pool->epoch));
	atomic_store(&task->state, TASK_RUNNING);
	result = task->run(task, &budget);
	watcher = task->watching;
	again = result == TRN_RUN_AGAIN ||
		!atomic_compare_exchange_strong(&task->state, &running,
						TASK_IDLE);
	if (again) {
		atomic_store(&task->state, TASK_QUEUED);
		pthread_mutex_lock(&pool->lock);
		pool_append(pool, task);
		pthread_mutex_unlock(&pool->lock);
	}
	atomic_store(&worker->epoch, WORKER_AWAY);
	if (!again && !watcher && atomic_load(&pool->watching))
		pool_kick_watchers(pool);
}

static struct trn_task *pool_take(struct trn_pool *pool)
{
	struct trn_task *task;

	pthread_mutex_lock(&pool->lock);
	while (!pool->first && !pool->stop) {
		pool->sleeping++;
		pthread_cond_wait(&pool->wake, &pool->lock);
		pool->sleeping--;
	}
	task = pool->stop ? NULL : pool->first;
	if (task) {
		pool->first = task->next;
		if (!pool->first)
			pool->last = NULL;
	}
	pthread_mutex_unlock(&pool->lock);
	return task;
}

static void *worker_main(void *arg)
{
	struct trn_worker *worker = arg;
	struct trn_pool *pool = worker->pool;
	struct trn_task *task;

	trn_num_thread_init();
	if (pool->enter)
		pool->enter();
	while ((task = pool_take(pool)))
		worker_run(worker, task);
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

struct trn_pool *trn_pool_new(unsigned int workers, void (*enter)(void),
			      void (*exit)(void))
{
	struct trn_pool *pool;
	unsigned int i;

	if (!workers)
		workers = host_cpus();
	if (workers > TRN_POOL_MAX_WORKERS)
		workers = TRN_POOL_MAX_WORKERS;
	pool = calloc(1, sizeof(*pool) + workers * sizeof(*pool->workers));
	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->enter = enter;
	pool->exit = exit;
	for (i = 0; i < workers; i++) {
		pool->workers[i].pool = pool;
		atomic_init(&pool->workers[i].epoch, WORKER_AWAY);
	}
	for (i = 0; i < workers; i++) {
		struct trn_worker *worker = &pool->workers[i];

		if (pthread_create(&worker->thread, NULL, worker_main, worker))
			break;
		pool->nr_workers++;
	}
	if (pool->nr_workers)
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
