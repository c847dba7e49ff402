/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Worker pool and tasks.
 *
 * A task is a state machine (a queue, a sequencer, a job controller). It is
 * run by one worker at a time; a kick while it runs makes it run once more. A
 * run ends when the machine blocks or its budget (about 50 us) is spent; then
 * it goes to the back of the FIFO. So a program that spins starves nobody, and
 * idle costs nothing: workers sleep on a condition variable.
 * (trn/pool.h is what a host knows of it.)
 */
#ifndef TRN_POOL_H
#define TRN_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trn/pool.h"

#define TRN_BUDGET_NS	50000

struct trn_pool;
struct trn_task;

enum trn_run {
	TRN_RUN_IDLE,	/* blocked or done; runs again when kicked */
	TRN_RUN_AGAIN,	/* budget spent; more to do */
};

/**
 * struct trn_budget - what a run may use
 * @pool: whose clock counts; NULL: the default one
 * @deadline_ns: of that clock
 * @calls: of trn_budget_spent() and trn_budget_worked() so far
 * @max_calls: not 0: they are the budget, instead of the time
 * @bytes: work still allowed in a thread of the host
 * @work: done since the last look at the clock
 * @most: the most work that was done between two looks
 * @on_host: the thread is the host's, not a worker
 * @spent: the time has been used
 */
struct trn_budget {
	const struct trn_pool *pool;
	uint64_t deadline_ns;
	unsigned int calls;
	unsigned int max_calls;
	uint64_t bytes;
	uint64_t work;
	uint64_t most;
	bool on_host;
	bool spent;
};

/* True once the run has used its time; looks at the clock now and then. */
bool trn_budget_spent(struct trn_budget *budget);

/* Work that takes the slowest host about 5 us. */
#define TRN_BUDGET_WORK	8192

/*
 * The same after a piece of work on @elements elements, each of which takes as long as
 * @weight simple ones: looks at the clock each time that TRN_BUDGET_WORK has been done.
 */
bool trn_budget_worked(struct trn_budget *budget, uint64_t elements,
		       unsigned int weight);
/* Such a piece was the last one of its work: the next look is as much nearer. */
static inline void trn_budget_note(struct trn_budget *budget, uint64_t elements,
				   unsigned int weight)
{
	budget->work += elements * weight;
}

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
	_Atomic uint32_t watching;	/* enum trn_watch */
	_Atomic uint32_t state;
};

/* The clock of its budgets. */
uint64_t trn_pool_now(const struct trn_pool *pool);

void trn_task_init(struct trn_task *task, struct trn_pool *pool,
		   trn_run_fn run);

/* Work of a thread of the host at one register access, in bytes copied. */
#define TRN_INLINE_BYTES	65536

/* As trn_pool_step(), one task with a budget of the caller's. False: there was none. */
bool trn_pool_step_with(struct trn_pool *pool, struct trn_budget *budget);

/* Make @task run (again). Any thread, never blocks for long, cheap. */
void trn_task_kick(struct trn_task *task);

/* The task whose run this thread is in, or NULL. */
const struct trn_task *trn_task_running(void);

/* True while @task is neither queued nor running. */
bool trn_task_quiet(const struct trn_task *task);

/*
 * Kick @task once, when the next run of some task of its pool ends idle: for a controller
 * that waits until others have gone idle. It looks at them again after this call, before it
 * returns. Watchers of its own level and above do not count, so they do not wake each other
 * for ever.
 */
enum trn_watch {
	TRN_WATCH_NOTHING,
	TRN_WATCH_ACTORS,	/* a core's controller: its engines and queues */
	TRN_WATCH_CHIP,		/* a chip's controller: those of the cores, too */
};

void trn_pool_watch(struct trn_task *task, enum trn_watch level);
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
