/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Semaphores and events of a core or TOP_SP, with lists of waiting tasks.
 */
#ifndef TRN_SEM_H
#define TRN_SEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "neuron/isa.h"
#include "neuron/regs.h"

struct trn_check_actor;
struct trn_check_job;
struct trn_chip;
struct trn_core;

/* Where something counts semaphores and events together, the events come behind. */
#define TRN_SEM_OF_EVENT(e)	(NEURON_NR_SEMAPHORES + (e))

struct trn_sem_waiter {
	struct trn_task *task;		/* kicked when the wait may succeed */
	struct trn_check_actor *check;	/* who it is, or NULL */
	struct trn_sem_waiter *next;
	struct trn_sem_waiter **link;	/* NULL: not queued */
};

/**
 * struct trn_sems - a block
 * @chip: whose observer is told of changes; NULL: nobody
 * @unit: as that observer knows the block
 * @lock: all that follows
 * @check: the job that is checked, or NULL
 * @poster: who changed it last: NEURON_SEM_POSTER_*
 * @raised: called with @arg and without @lock when trn_sems_write() has raised an event from
 *	0 to 1; NULL: nobody wants to know
 */
struct trn_sems {
	struct trn_chip *chip;
	unsigned int unit;
	void (*raised)(void *arg, unsigned int event);
	void *arg;
	pthread_mutex_t lock;
	struct trn_check_job *check;
	int32_t value[NEURON_NR_SEMAPHORES];
	uint32_t poster[NEURON_NR_SEMAPHORES];
	uint8_t event[NEURON_NR_EVENTS];
	struct trn_sem_waiter *waiters[NEURON_NR_SEMAPHORES];
	struct trn_sem_waiter *event_waiters[NEURON_NR_EVENTS];
};

struct trn_state;

/* What SEM_POSTER tells: @kind, an actor by its number. */
static inline uint32_t trn_sem_who(uint32_t kind, uint32_t actor)
{
	return NEURON_PUT(NEURON_SEM_POSTER_KIND, kind) |
	       NEURON_PUT(NEURON_SEM_POSTER_WHO, actor);
}

/* The same of @engine of a core. */
uint32_t trn_sem_who_engine(const struct trn_core *core, unsigned int engine);

/* @sems: zeroed */
void trn_sems_init(struct trn_sems *sems);
void trn_sems_destroy(struct trn_sems *sems);

/*
 * @op: NEURON_SYNC_POST_ADD, _SUB or _SET. Arithmetic wraps. Wakes waiters. @who:
 * NEURON_SEM_POSTER_*, 0: whoever it was before stays. @actor, here and below: NULL
 * when the one that posts is not checked.
 */
void trn_sem_post(struct trn_sems *sems, unsigned int sem, unsigned int op,
		  int32_t value, uint32_t who, struct trn_check_actor *actor);
int32_t trn_sem_value(struct trn_sems *sems, unsigned int sem);
/* The same for an actor, which learns from the value that the posts for it were made. */
int32_t trn_sem_value_by(struct trn_sems *sems, unsigned int sem,
			 struct trn_check_actor *actor);
uint32_t trn_sem_poster(struct trn_sems *sems, unsigned int sem);

/*
 * Add @value if *@generation is @granted; false: the post was dropped. The test
 * is made under the lock, so a post that was granted by an earlier claim cannot
 * land after the new generation has been set and the semaphores cleared.
 */
bool trn_sem_post_granted(struct trn_sems *sems, unsigned int sem,
			  int32_t value, const _Atomic uint32_t *generation,
			  uint32_t granted, uint32_t who,
			  struct trn_check_actor *actor);

/*
 * If the condition (@sync: WAIT and TAKE bits) holds, take and return true;
 * otherwise queue @waiter, whose task is kicked at the next change of the
 * semaphore, and return false. A queued waiter may call again.
 */
bool trn_sem_wait(struct trn_sems *sems, unsigned int sem, unsigned int sync,
		  int32_t value, struct trn_sem_waiter *waiter);
/* Forget a waiter, be it for a semaphore or an event. */
void trn_sem_cancel(struct trn_sems *sems, struct trn_sem_waiter *waiter);

/* Set or clear an event. True: it went from 0 to 1. Wakes waiters. */
bool trn_event_write(struct trn_sems *sems, unsigned int event, bool value,
		     struct trn_check_actor *actor);
bool trn_event_value(struct trn_sems *sems, unsigned int event);

/*
 * If the event is set, clear it with @clear and return true; otherwise queue
 * @waiter, as trn_sem_wait() does.
 */
bool trn_event_wait(struct trn_sems *sems, unsigned int event, bool clear,
		    struct trn_sem_waiter *waiter);

/* Zero the semaphores of a 256-bit mask; NULL: all, events and posters too. */
void trn_sems_clear(struct trn_sems *sems, const uint64_t mask[4]);

/* MMIO and DMA view of the block, NEURON_SEM_* offsets. */
uint32_t trn_sems_read(struct trn_sems *sems, uint32_t offset);
void trn_sems_write(struct trn_sems *sems, uint32_t offset, uint32_t value,
		    uint32_t who);

/* Values and events of one block; waiters ask again when their tasks resume. */
void trn_sems_one_state(struct trn_sems *sems, struct trn_state *st);
/* Those of all cores. */
void trn_sems_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_SEM_H */
