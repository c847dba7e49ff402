/* SPDX-License-Identifier: MIT */
/*
 * The threads of the library that do what nobody waits for.
 *
 * All execution units of a process share them. What they do may wait for a device or for
 * another rank, which needs a thread of its own, so one thread is not enough. There is one at
 * first. Another one begins when there is work and all others are at work, so there are about as
 * many as there was work at the same time.
 */
#ifndef LIBNRT_EXEC_WORKERS_H
#define LIBNRT_EXEC_WORKERS_H

#include <stdbool.h>

struct nrt_workers;

/* Work: it is done when its turn comes. @next is the workers'. */
struct nrt_work {
	struct nrt_work *next;
};

typedef void nrt_work_fn(struct nrt_work *work);

/* At most @max threads, which call @fn with all signals blocked. NULL: no memory. */
struct nrt_workers *nrt_workers_new(unsigned int max, nrt_work_fn *fn);

/* Is there a thread? Begins the first one. */
bool nrt_workers_ready(struct nrt_workers *workers);

/* Let a thread do @work, which is not waiting for one already. Needs nrt_workers_ready(). */
void nrt_workers_add(struct nrt_workers *workers, struct nrt_work *work);

/* Nothing is added any more: wait until all is done. */
void nrt_workers_free(struct nrt_workers *workers);

#endif /* LIBNRT_EXEC_WORKERS_H */
