// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Semaphores and events of a core or TOP_SP.
 *
 * The lock is a leaf: only the pool's own lock is taken under it (to kick a
 * waiter), so any actor of any chip may post while it holds no other lock.
 */
#include <stddef.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "hook/trn_check.h"
#include "hook/trn_observe.h"
#include "sync/trn_sem.h"

uint32_t trn_sem_who_engine(const struct trn_core *core, unsigned int engine)
{
	if (trn_core_is_cc(core))
		return trn_sem_who(NEURON_SEM_POSTER_CC,
				   core->index - NEURON_MAX_CORES);
	return trn_sem_who(NEURON_SEM_POSTER_ENGINE, engine);
}

void trn_sems_init(struct trn_sems *sems)
{
	pthread_mutex_init(&sems->lock, NULL);
}

void trn_sems_destroy(struct trn_sems *sems)
{
	pthread_mutex_destroy(&sems->lock);
}

static void waiter_unlink(struct trn_sem_waiter *waiter)
{
	if (!waiter->link)
		return;
	*waiter->link = waiter->next;
	if (waiter->next)
		waiter->next->link = waiter->link;
	waiter->link = NULL;
	waiter->next = NULL;
}

/* At the tail, so that tasks are kicked in the order in which they came. */
static void waiter_append(struct trn_sem_waiter **link,
			  struct trn_sem_waiter *waiter)
{
	while (*link)
		link = &(*link)->next;
	waiter->next = NULL;
	waiter->link = link;
	*link = waiter;
}

static void wake_waiters(struct trn_sem_waiter **first)
{
	struct trn_sem_waiter *waiter;

	while ((waiter = *first)) {
		waiter_unlink(waiter);
		trn_task_kick(waiter->task);
	}
}

/* Semaphore or, with @event, event @index has become @value. Under the lock. */
static void tell(const struct trn_sems *sems, unsigned int index, bool event,
		 int32_t old, int32_t value)
{
	const struct trn_observer *observer = sems->chip ? trn_observer(sems->chip) : NULL;
	struct trn_observe_sem changed;

	if (!observer || !observer->semaphore || old == value)
		return;
	changed = (struct trn_observe_sem){
		.unit = sems->unit,
		.index = index,
		.event = event,
		.old = old,
		.value = value,
		.poster = event ? 0 : sems->poster[index],
	};
	observer->semaphore(observer->opaque, &changed);
}

static void event_take(struct trn_sems *sems, unsigned int event)
{
	tell(sems, event, true, 1, 0);
	sems->event[event] = 0;
}

static void sem_change(struct trn_sems *sems, unsigned int sem, unsigned int op,
		       int32_t value, uint32_t who)
{
	uint32_t old = (uint32_t)sems->value[sem];

	switch (op) {
	case NEURON_SYNC_POST_ADD:
		sems->value[sem] = (int32_t)(old + (uint32_t)value);
		break;
	case NEURON_SYNC_POST_SUB:
		sems->value[sem] = (int32_t)(old - (uint32_t)value);
		break;
	case NEURON_SYNC_POST_SET:
		sems->value[sem] = value;
		break;
	default:
		return;
	}
	if (who)
		sems->poster[sem] = who;
	tell(sems, sem, false, (int32_t)old, sems->value[sem]);
	wake_waiters(&sems->waiters[sem]);
}

static void sem_apply(struct trn_sems *sems, unsigned int sem, unsigned int op,
		      int32_t value, uint32_t who, struct trn_check_actor *actor)
{
	if (sems->check)
		trn_check_post(sems->check, actor, sem, op, value,
			       sems->value[sem]);
	sem_change(sems, sem, op, value, who);
}

void trn_sem_post(struct trn_sems *sems, unsigned int sem, unsigned int op,
		  int32_t value, uint32_t who, struct trn_check_actor *actor)
{
	if (sem >= NEURON_NR_SEMAPHORES)
		return;
	pthread_mutex_lock(&sems->lock);
	sem_apply(sems, sem, op, value, who, actor);
	pthread_mutex_unlock(&sems->lock);
}

bool trn_sem_post_granted(struct trn_sems *sems, unsigned int sem,
			  int32_t value, const _Atomic uint32_t *generation,
			  uint32_t granted, uint32_t who,
			  struct trn_check_actor *actor)
{
	bool current;

	if (sem >= NEURON_NR_SEMAPHORES)
		return false;
	pthread_mutex_lock(&sems->lock);
	current = atomic_load(generation) == granted;
	if (current)
		sem_apply(sems, sem, NEURON_SYNC_POST_ADD, value, who, actor);
	pthread_mutex_unlock(&sems->lock);
	return current;
}

int32_t trn_sem_value_by(struct trn_sems *sems, unsigned int sem,
			 struct trn_check_actor *actor)
{
	int32_t value;

	if (sem >= NEURON_NR_SEMAPHORES)
		return 0;
	pthread_mutex_lock(&sems->lock);
	value = sems->value[sem];
	if (sems->check && actor)
		trn_check_wait(sems->check, actor, sem,
			       NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_EQ),
			       value, value);
	pthread_mutex_unlock(&sems->lock);
	return value;
}

int32_t trn_sem_value(struct trn_sems *sems, unsigned int sem)
{
	return trn_sem_value_by(sems, sem, NULL);
}

uint32_t trn_sem_poster(struct trn_sems *sems, unsigned int sem)
{
	uint32_t who;

	pthread_mutex_lock(&sems->lock);
	who = sems->poster[sem];
	pthread_mutex_unlock(&sems->lock);
	return who;
}

static bool sem_satisfies(int32_t have, unsigned int sync, int32_t want)
{
	switch (NEURON_GET(NEURON_SYNC_WAIT, sync)) {
	case NEURON_SYNC_WAIT_GE:
		return have >= want;
	case NEURON_SYNC_WAIT_EQ:
		return have == want;
	default:
		return true;
	}
}

bool trn_sem_wait(struct trn_sems *sems, unsigned int sem, unsigned int sync,
		  int32_t value, struct trn_sem_waiter *waiter)
{
	bool ready;

	if (sem >= NEURON_NR_SEMAPHORES)
		return false;
	pthread_mutex_lock(&sems->lock);
	waiter_unlink(waiter);
	ready = sem_satisfies(sems->value[sem], sync, value);
	if (ready && sems->check)
		trn_check_wait(sems->check, waiter->check, sem, sync, value,
			       sems->value[sem]);
	if (!ready)
		waiter_append(&sems->waiters[sem], waiter);
	else if (sync & NEURON_SYNC_TAKE)
		sem_change(sems, sem, NEURON_SYNC_POST_SUB, value, 0);
	pthread_mutex_unlock(&sems->lock);
	return ready;
}

void trn_sem_cancel(struct trn_sems *sems, struct trn_sem_waiter *waiter)
{
	pthread_mutex_lock(&sems->lock);
	waiter_unlink(waiter);
	pthread_mutex_unlock(&sems->lock);
}

bool trn_event_write(struct trn_sems *sems, unsigned int event, bool value,
		     struct trn_check_actor *actor)
{
	bool raised;

	if (event >= NEURON_NR_EVENTS)
		return false;
	pthread_mutex_lock(&sems->lock);
	raised = value && !sems->event[event];
	if (sems->check)
		trn_check_post(sems->check, actor, TRN_SEM_OF_EVENT(event),
			       NEURON_SYNC_POST_SET, value, sems->event[event]);
	tell(sems, event, true, sems->event[event], value);
	sems->event[event] = value;
	if (raised)
		wake_waiters(&sems->event_waiters[event]);
	pthread_mutex_unlock(&sems->lock);
	return raised;
}

bool trn_event_value(struct trn_sems *sems, unsigned int event)
{
	bool value;

	if (event >= NEURON_NR_EVENTS)
		return false;
	pthread_mutex_lock(&sems->lock);
	value = sems->event[event];
	pthread_mutex_unlock(&sems->lock);
	return value;
}

/* As a wait for a semaphore that is at least 1, and taking it. */
static void event_waited(struct trn_sems *sems, unsigned int event, bool clear,
			 struct trn_check_actor *actor)
{
	unsigned int sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) |
			    (clear ? NEURON_SYNC_TAKE : 0);

	trn_check_wait(sems->check, actor, TRN_SEM_OF_EVENT(event), sync, 1, 1);
}

bool trn_event_wait(struct trn_sems *sems, unsigned int event, bool clear,
		    struct trn_sem_waiter *waiter)
{
	bool ready;

	if (event >= NEURON_NR_EVENTS)
		return false;
	pthread_mutex_lock(&sems->lock);
	waiter_unlink(waiter);
	ready = sems->event[event];
	if (ready && sems->check)
		event_waited(sems, event, clear, waiter->check);
	if (!ready)
		waiter_append(&sems->event_waiters[event], waiter);
	else if (clear)
		event_take(sems, event);
	pthread_mutex_unlock(&sems->lock);
	return ready;
}

/* Are the 64 semaphores from @first on 0, and is nobody told that they are cleared? */
static bool are_clear(const struct trn_sems *sems, unsigned int first)
{
	const int32_t *value = &sems->value[first];
	int32_t any = 0;
	unsigned int i;

	for (i = 0; i < 64; i++)
		any |= value[i];
	return !any && !sems->check;
}

static void clear_64(struct trn_sems *sems, unsigned int first, uint64_t mask)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (mask >> i & 1)
			sem_apply(sems, first + i, NEURON_SYNC_POST_SET, 0, 0, NULL);
}

/* Each job clears those of its core, and most of them are 0. */
void trn_sems_clear(struct trn_sems *sems, const uint64_t mask[4])
{
	unsigned int i;

	pthread_mutex_lock(&sems->lock);
	for (i = 0; i < NEURON_NR_SEMAPHORES; i += 64)
		if (!are_clear(sems, i))
			clear_64(sems, i, mask ? mask[i / 64] : UINT64_MAX);
	if (!mask) {
		for (i = 0; i < NEURON_NR_EVENTS; i++)
			if (sems->event[i])
				event_take(sems, i);
		memset(sems->poster, 0, sizeof(sems->poster));
	}
	pthread_mutex_unlock(&sems->lock);
}

/* Index of the 4-byte cell at @offset in the view at @base, or -1. */
static int view_index(uint32_t offset, uint32_t base, unsigned int cells)
{
	if (offset < base || (offset - base) / 4 >= cells)
		return -1;
	return (int)((offset - base) / 4);
}

uint32_t trn_sems_read(struct trn_sems *sems, uint32_t offset)
{
	int i;

	i = view_index(offset, NEURON_SEM_READ(0), NEURON_NR_SEMAPHORES);
	if (i >= 0)
		return (uint32_t)trn_sem_value(sems, (unsigned int)i);
	i = view_index(offset, NEURON_SEM_EVENT(0), NEURON_NR_EVENTS);
	return i >= 0 && trn_event_value(sems, (unsigned int)i);
}

void trn_sems_write(struct trn_sems *sems, uint32_t offset, uint32_t value,
		    uint32_t who)
{
	static const struct {
		uint32_t base;
		unsigned int op;
	} views[] = {
		{ NEURON_SEM_SET(0), NEURON_SYNC_POST_SET },
		{ NEURON_SEM_INC(0), NEURON_SYNC_POST_ADD },
		{ NEURON_SEM_DEC(0), NEURON_SYNC_POST_SUB },
	};
	size_t v;
	int i;

	for (v = 0; v < sizeof(views) / sizeof(views[0]); v++) {
		i = view_index(offset, views[v].base, NEURON_NR_SEMAPHORES);
		if (i >= 0) {
			trn_sem_post(sems, (unsigned int)i, views[v].op,
				     (int32_t)value, who, NULL);
			return;
		}
	}

	i = view_index(offset, NEURON_SEM_EVENT(0), NEURON_NR_EVENTS);
	if (i >= 0 && trn_event_write(sems, (unsigned int)i, value & 1, NULL) && sems->raised)
		sems->raised(sems->arg, (unsigned int)i);
}

void trn_sems_one_state(struct trn_sems *sems, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < NEURON_NR_SEMAPHORES; i++) {
		uint32_t value = (uint32_t)sems->value[i];

		trn_state_u32(st, &value);
		sems->value[i] = (int32_t)value;
	}
	for (i = 0; i < NEURON_NR_EVENTS; i++) {
		bool event = sems->event[i];

		trn_state_bool(st, &event);
		sems->event[i] = event;
	}
}

static void posters_state(struct trn_sems *sems, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < NEURON_NR_SEMAPHORES; i++) {
		trn_state_u32(st, &sems->poster[i]);
		if (NEURON_GET(NEURON_SEM_POSTER_KIND, sems->poster[i]) >
		    NEURON_SEM_POSTER_CC)
			trn_state_fail(st, "an unknown actor changed a semaphore");
	}
}

void trn_sems_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('S', 'E', 'M', 'S'), 3);
	for (i = 0; i < neuron_nr_units(chip->gen); i++) {
		trn_sems_one_state(trn_unit(chip, i)->sems, st);
		posters_state(trn_unit(chip, i)->sems, st);
	}
}
