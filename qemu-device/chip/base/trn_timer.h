/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The time of the host, and deadlines of a chip: a task is kicked when time has passed.
 * Only faults on demand have any; the host's timer (trn_port.timer) is set for the first
 * of them.
 *
 * A chip that stops has none: they all end at once, so that nothing is under way
 * that would have to be saved.
 */
#ifndef TRN_TIMER_H
#define TRN_TIMER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct trn_chip;
struct trn_task;

/* The longest delay. */
#define TRN_TIMER_MAX_NS	(3600 * 1000000000ull)

/**
 * struct trn_deadline - one of a task; zeroed: not set
 * @at_ns: of the host's clock
 */
struct trn_deadline {
	struct trn_deadline *next;
	struct trn_task *task;
	uint64_t at_ns;
	bool set;
};

/**
 * struct trn_timer - the deadlines of a chip, the first one first
 * @lock: all deadlines
 */
struct trn_timer {
	pthread_mutex_t lock;
	struct trn_deadline *first;
};

/* The host's clock, as its port has it: more than 0, never goes back. */
uint64_t trn_host_ns(const struct trn_chip *chip);
/* The clock of a host that has no other. */
uint64_t trn_host_default_ns(void);

void trn_timer_init(struct trn_chip *chip);
void trn_timer_destroy(struct trn_chip *chip);

/*
 * Kick @task in @delay_ns. @deadline must not be set, and stays until it is not set
 * any more. False: the chip stops, or its host has no timer, and nothing happens.
 */
bool trn_timer_set(struct trn_chip *chip, struct trn_deadline *deadline,
		   struct trn_task *task, uint64_t delay_ns);
bool trn_timer_is_set(struct trn_chip *chip,
		      const struct trn_deadline *deadline);
void trn_timer_cancel(struct trn_chip *chip, struct trn_deadline *deadline);

/* The chip is stopping (trn_chip.stopping is set): all deadlines end. */
void trn_timer_flush(struct trn_chip *chip);

#endif /* TRN_TIMER_H */
