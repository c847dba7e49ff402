// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_timer.h"

#include <time.h>

#include "base/trn_chip.h"

uint64_t trn_host_default_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t trn_host_ns(const struct trn_chip *chip)
{
	return chip->port->now ? chip->port->now(chip->opaque) : trn_host_default_ns();
}

void trn_timer_init(struct trn_chip *chip)
{
	pthread_mutex_init(&chip->timer.lock, NULL);
}

void trn_timer_destroy(struct trn_chip *chip)
{
	pthread_mutex_destroy(&chip->timer.lock);
}

/* Under the lock. */
static void insert(struct trn_timer *timer, struct trn_deadline *deadline)
{
	struct trn_deadline **at = &timer->first;

	while (*at && (*at)->at_ns <= deadline->at_ns)
		at = &(*at)->next;
	deadline->next = *at;
	*at = deadline;
	deadline->set = true;
}

bool trn_timer_set(struct trn_chip *chip, struct trn_deadline *deadline,
		   struct trn_task *task, uint64_t delay_ns)
{
	struct trn_timer *timer = &chip->timer;
	bool first, stopping;

	if (!chip->port->timer)
		return false;
	if (delay_ns > TRN_TIMER_MAX_NS)
		delay_ns = TRN_TIMER_MAX_NS;
	pthread_mutex_lock(&timer->lock);
	stopping = atomic_load(&chip->stopping);
	if (!stopping) {
		deadline->task = task;
		deadline->at_ns = trn_host_ns(chip) + delay_ns;
		insert(timer, deadline);
	}
	first = timer->first == deadline;
	pthread_mutex_unlock(&timer->lock);
	if (stopping)
		return false;
	/* Maybe after that of an earlier one that was set later: the earliest counts. */
	if (first)
		chip->port->timer(chip->opaque, delay_ns);
	return true;
}

bool trn_timer_is_set(struct trn_chip *chip,
		      const struct trn_deadline *deadline)
{
	bool set;

	pthread_mutex_lock(&chip->timer.lock);
	set = deadline->set;
	pthread_mutex_unlock(&chip->timer.lock);
	return set;
}

void trn_timer_cancel(struct trn_chip *chip, struct trn_deadline *deadline)
{
	struct trn_timer *timer = &chip->timer;
	struct trn_deadline **at;

	pthread_mutex_lock(&timer->lock);
	for (at = &timer->first; *at; at = &(*at)->next) {
		if (*at == deadline) {
			*at = deadline->next;
			break;
		}
	}
	deadline->set = false;
	pthread_mutex_unlock(&timer->lock);
}

/*
 * Take off the first deadline if it is not after @now: its task, or NULL with what
 * is left until the first one in *@left, 0: there is none.
 */
static struct trn_task *take(struct trn_timer *timer, uint64_t now,
			     uint64_t *left)
{
	struct trn_deadline *deadline;
	struct trn_task *task = NULL;

	*left = 0;
	pthread_mutex_lock(&timer->lock);
	deadline = timer->first;
	if (deadline && deadline->at_ns <= now) {
		task = deadline->task;
		timer->first = deadline->next;
		deadline->set = false;
	} else if (deadline) {
		*left = deadline->at_ns - now;
	}
	pthread_mutex_unlock(&timer->lock);
	return task;
}

static uint64_t kick_until(struct trn_chip *chip, uint64_t now)
{
	struct trn_task *task;
	uint64_t left;

	while ((task = take(&chip->timer, now, &left)))
		trn_task_kick(task);
	return left;
}

void trn_timer_flush(struct trn_chip *chip)
{
	kick_until(chip, UINT64_MAX);
}

void trn_chip_expire(struct trn_chip *chip)
{
	uint64_t left = kick_until(chip, trn_host_ns(chip));

	if (left)
		chip->port->timer(chip->opaque, left);
}
