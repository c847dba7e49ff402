// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "exec/workers.h"

/* So long does a thread without work look again by itself: waking it is not cheap. */
#define LOOK_NS	20000

/**
 * struct nrt_workers - the threads
 * @fn: does a piece of work
 * @max: threads at most
 * @lock: protects the rest
 * @changed: there is work, or @ended
 * @first, @last: work that waits, the oldest first
 * @nr_work: how much
 * @nr_idle: threads that wait for @changed
 * @looking: a thread looks for work without being woken
 * @ended: no work comes any more
 * @nr: threads
 */
struct nrt_workers {
	nrt_work_fn *fn;
	unsigned int max;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct nrt_work *first;
	struct nrt_work **last;
	atomic_uint nr_work;
	unsigned int nr_idle;
	bool looking;
	bool ended;
	unsigned int nr;
	pthread_t threads[];
};

struct nrt_workers *nrt_workers_new(unsigned int max, nrt_work_fn *fn)
{
	struct nrt_workers *workers = calloc(1, sizeof(*workers) + max * sizeof(pthread_t));

	if (!workers)
		return NULL;
	workers->fn = fn;
	workers->max = max;
	workers->last = &workers->first;
	atomic_init(&workers->nr_work, 0);
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->changed, NULL);
	return workers;
}

/* With the lock, which is given up meanwhile: one thread at a time. */
static void look(struct nrt_workers *workers)
{
	uint64_t end;

	workers->looking = true;
	pthread_mutex_unlock(&workers->lock);
	end = nrt_clock_now() + LOOK_NS;
	while (!atomic_load(&workers->nr_work) && nrt_clock_now() < end)
		sched_yield();
	pthread_mutex_lock(&workers->lock);
	workers->looking = false;
}

/* With the lock, which is given up meanwhile: until there is work, or will be none any more. */
static void await(struct nrt_workers *workers)
{
	if (!workers->first && !workers->looking && !workers->ended)
		look(workers);
	while (!workers->first && !workers->ended) {
		workers->nr_idle++;
		pthread_cond_wait(&workers->changed, &workers->lock);
		workers->nr_idle--;
	}
}

/* With the lock, which is given up meanwhile. */
static void do_first(struct nrt_workers *workers)
{
	struct nrt_work *work = workers->first;

	workers->first = work->next;
	if (!workers->first)
		workers->last = &workers->first;
	atomic_fetch_sub(&workers->nr_work, 1);
	pthread_mutex_unlock(&workers->lock);
	workers->fn(work);
	pthread_mutex_lock(&workers->lock);
}

static void *workers_main(void *arg)
{
	struct nrt_workers *workers = arg;

	pthread_mutex_lock(&workers->lock);
	for (;;) {
		await(workers);
		if (!workers->first)
			break;
		do_first(workers);
	}
	pthread_mutex_unlock(&workers->lock);
	return NULL;
}

/* With the lock. */
static void add_thread(struct nrt_workers *workers)
{
	if (workers->nr < workers->max &&
	    !nrt_thread_start(&workers->threads[workers->nr], workers_main, workers))
		workers->nr++;
}

bool nrt_workers_ready(struct nrt_workers *workers)
{
	bool ready;

	pthread_mutex_lock(&workers->lock);
	if (!workers->nr)
		add_thread(workers);
	ready = workers->nr;
	pthread_mutex_unlock(&workers->lock);
	return ready;
}

void nrt_workers_add(struct nrt_workers *workers, struct nrt_work *work)
{
	unsigned int nr;

	pthread_mutex_lock(&workers->lock);
	work->next = NULL;
	*workers->last = work;
	workers->last = &work->next;
	nr = atomic_fetch_add(&workers->nr_work, 1) + 1;
	/* The one that looks finds the first piece by itself. */
	if (nr > workers->looking && workers->nr_idle)
		pthread_cond_signal(&workers->changed);
	if (nr > workers->looking + workers->nr_idle)
		add_thread(workers);
	pthread_mutex_unlock(&workers->lock);
}

void nrt_workers_free(struct nrt_workers *workers)
{
	unsigned int i;

	pthread_mutex_lock(&workers->lock);
	workers->ended = true;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
	/* Nothing is added, so no thread either. */
	for (i = 0; i < workers->nr; i++)
		pthread_join(workers->threads[i], NULL);
	pthread_cond_destroy(&workers->changed);
	pthread_mutex_destroy(&workers->lock);
	free(workers);
}
