/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Worker pool and tasks.
 *
 * A task is a state machine (a queue, a sequencer, a job controller). It is
 * run by one worker at a time; a kick while it runs makes it run once more. A
 * run ends when the machine blocks or its budget (about 50 us) is spent; then
 * it goes to the back of the FIFO. So a program that spins starves nobody, and
 * idle costs nothing: workers sleep on a condition variable.
 *
 * A thread of the host that rings a doorbell may run what it kicked itself, within
 * a small budget (trn_pool_inline_begin()): a short job or copy is done before the
 * register write returns, without two changes of threads. What is left goes to
 * the workers.
 */
#ifndef TRN_POOL_H
#define TRN_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TRN_BUDGET_NS	50000

struct trn_pool;
struct trn_task;

enum trn_run {
	TRN_RUN_IDLE,	/* blocked or done; runs again when kicked */
	TRN_RUN_AGAIN,	/* budget spent; more to do */
};

/**
 * struct trn_budget - what a run may use
 * @deadline_ns: of the host's clock
 * @calls: of trn_budget_spent() so far
 * @max_calls: not 0: they are the budget, instead of the time
 * @bytes: work still allowed in a thread of the host
 * @on_host: the thread is the host's, not a worker
 */
struct trn_budget {
	uint64_t deadline_ns;
	unsigned int calls;
	unsigned int max_calls;
	uint64_t bytes;
	bool on_host;
};

/* True once the run has used its time; looks at the clock now and then. */
bool trn_budget_spent(struct trn_budget *budget);

/*
 * May this run start work that takes about as long as copying @bytes? Always in
 * a worker; not in a thread of the host when it would hold that up: then nothing
 * has been done yet and the run returns TRN_RUN_AGAIN, which leads to a worker.
 */
bool trn_budget_allows(struct trn_budget *budget, uint64_t bytes);
#define TRN_WORK_LONG	UINT64_MAX	/* never in a thread of the host */

typedef enum trn_run (*trn_run_fn)(struct trn_task *task,
				   struct trn_budget *budget);

struct trn_task {
	struct trn_pool *pool;
	trn_run_fn run;
	struct trn_task *next;
	struct trn_task *next_watcher;
	_Atomic bool watching;
	_Atomic uint32_t state;
};

/* No threads: tasks run in trn_pool_step() only, always in the same order. */
#define TRN_POOL_STEPPED	UINT32_MAX

/**
 * trn_pool_new() - start a pool
 * @workers: threads; 0: the number of host CPUs; or TRN_POOL_STEPPED
 * @enter, @exit: called in each worker at start and end, may be NULL
 *
 * Return: the pool, or NULL when no thread could be started.
 */
struct trn_pool *trn_pool_new(unsigned int workers, void (*enter)(void),
			      void (*exit)(void));

/* Stop the workers and free the pool. Every task must be quiet. */
void trn_pool_free(struct trn_pool *pool);

void trn_task_init(struct trn_task *task, struct trn_pool *pool,
		   trn_run_fn run);

/* Work of a thread of the host at one register access, in bytes copied. */
#define TRN_INLINE_BYTES	65536

/**
 * trn_pool_inline_begin() - keep what this thread kicks from now on
 * @pool: the pool
 * @ns: time for it; 0: leave everything to the workers
 *
 * One thread at a time; a second one is refused, and so is a nested call.
 *
 * Return: true when trn_pool_inline_end() must follow.
 */
bool trn_pool_inline_begin(struct trn_pool *pool, uint32_t ns);
/* Run what was kept, and what that kicks, for the time given; hand on the rest. */
void trn_pool_inline_end(struct trn_pool *pool);

/*
 * TRN_POOL_STEPPED: run up to @runs tasks, each for a fixed number of steps
 * instead of a time. One thread at a time. Return: how many were run.
 */
unsigned int trn_pool_step(struct trn_pool *pool, unsigned int runs);

/* Make @task run (again). Any thread, never blocks for long, cheap. */
void trn_task_kick(struct trn_task *task);

/* True while @task is neither queued nor running. */
bool trn_task_quiet(const struct trn_task *task);

/*
 * Kick @task once, when the next run of some task of its pool ends idle (other
 * watchers do not count): for a controller that waits until others have gone
 * idle. It looks at them again after this call, before it returns.
 */
void trn_pool_watch(struct trn_task *task);
/* No kick by an earlier trn_pool_watch() happens after this call. */
void trn_pool_unwatch(struct trn_task *task);

/*
 * Grace: what a run looked up it forgets when it ends. So an object that has
 * been unlinked is unused once trn_pool_passed() is true for an epoch taken
 * after the unlinking.
 */
uint64_t trn_pool_epoch(struct trn_pool *pool);
bool trn_pool_passed(const struct trn_pool *pool, uint64_t epoch);

#endif /* TRN_POOL_H */
