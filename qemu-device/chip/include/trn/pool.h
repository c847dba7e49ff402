/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The worker pool: the threads that run the queues, sequencers and controllers of the chips
 * that share it.
 */
#ifndef TRN_API_POOL_H
#define TRN_API_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct trn_pool;

/* No threads: tasks run in trn_pool_step() only, always in the same order. */
#define TRN_POOL_STEPPED	UINT32_MAX

/**
 * trn_pool_new() - start a pool
 * @workers: threads; 0: the number of host CPUs; or TRN_POOL_STEPPED
 * @enter: called in each worker at its start; may be NULL
 * @exit: the same at its end
 *
 * The caller owns the pool; all chips of a fabric have the same one.
 *
 * Return: the pool, or NULL when no thread could be started.
 */
struct trn_pool *trn_pool_new(unsigned int workers, void (*enter)(void),
			      void (*exit)(void));

/**
 * trn_pool_free() - stop the workers and free the pool
 * @pool: the pool, or NULL; all of its chips have been freed
 */
void trn_pool_free(struct trn_pool *pool);

/**
 * trn_pool_set_clock() - measure budgets by another clock
 * @pool: the pool, before its first chip
 * @now: nanoseconds of a clock that never goes back, from any thread; NULL: CLOCK_MONOTONIC
 * @opaque: its argument
 *
 * A task that is run has a budget of some 50 us, and a thread of the host the time that it
 * gives (trn_pool_inline_begin()). A pool that is stepped counts steps instead.
 */
void trn_pool_set_clock(struct trn_pool *pool, uint64_t (*now)(void *opaque), void *opaque);

/**
 * trn_pool_step() - run tasks in the calling thread
 * @pool: of TRN_POOL_STEPPED workers
 * @runs: most tasks to run, each for a fixed number of steps instead of a time
 *
 * One thread at a time.
 *
 * Return: how many were run.
 */
unsigned int trn_pool_step(struct trn_pool *pool, unsigned int runs);

/**
 * trn_pool_inline_begin() - keep what this thread kicks from now on
 * @pool: the pool
 * @ns: time for it; 0: leave everything to the workers
 *
 * A thread of the host that rings a doorbell runs what it kicked itself, within a small
 * budget: a short job or copy is done before the register write returns, without two changes
 * of threads. What is left goes to the workers. One thread at a time; a second one is
 * refused, and so is a nested call.
 *
 * Return: true when trn_pool_inline_end() must follow.
 */
bool trn_pool_inline_begin(struct trn_pool *pool, uint32_t ns);
/**
 * trn_pool_inline_end() - run what was kept since trn_pool_inline_begin()
 * @pool: the pool
 *
 * What that kicks is run too, until the time is over; the workers get the rest.
 */
void trn_pool_inline_end(struct trn_pool *pool);

#endif /* TRN_API_POOL_H */
