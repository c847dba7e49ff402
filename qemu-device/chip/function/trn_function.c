// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A function: its life, and what keeps its chip from running.
 *
 * The chip runs unless the machine is paused, the function sleeps in D3hot or has been removed,
 * or a request waits for the chip to be quiet. A request stops the chip and leaves a mark;
 * trn_function_poll() finds the chip quiet, carries out all that is marked, and lets the chip go
 * on if nothing else keeps it. So requests that come at the same time need not know each other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "function/trn_function_private.h"

#define POWER_D0	0
#define POWER_D3HOT	3

enum {
	TODO_DRAIN	= 1,	/* accesses under way end */
	TODO_SLEEP	= 2,
	TODO_PAUSE	= 4,
	TODO_RESET	= 8,
	TODO_LEAVE	= 16,	/* off the fabric */
	TODO_ALONE	= 32,	/* peers have done with the chip */
};

struct trn_function *trn_function_new(const struct trn_function_config *config,
				      char why[TRN_FUNCTION_WHY])
{
	struct trn_function *fn = calloc(1, sizeof(*fn));
	struct trn_chip_config chip;
	const char *reason;

	snprintf(why, TRN_FUNCTION_WHY, "out of memory");
	if (!fn)
		return NULL;
	fn->config = *config;
	if (!trn_function_complete(&fn->config, why)) {
		free(fn);
		return NULL;
	}
	pthread_mutex_init(&fn->lock, NULL);
	trn_function_init_port(fn);
	trn_function_init_bars(fn);
	chip = fn->config.chip;
	chip.port = &fn->port;
	chip.opaque = fn;
	fn->chip = trn_chip_new(&chip, &reason);
	if (fn->chip)
		return fn;
	snprintf(why, TRN_FUNCTION_WHY, "chip-id %u (fabric id %u): %s",
		 chip.position & 0xff, chip.fabric_id, reason);
	pthread_mutex_destroy(&fn->lock);
	free(fn);
	return NULL;
}

void trn_function_free(struct trn_function *fn)
{
	if (!fn)
		return;
	trn_chip_free(fn->chip);
	pthread_mutex_destroy(&fn->lock);
	free(fn);
}

struct trn_chip *trn_function_chip(struct trn_function *fn)
{
	return fn->chip;
}

bool trn_function_awake(const struct trn_function *fn)
{
	return !atomic_load(&fn->asleep);
}

/* --- with the lock --- */

static void ask(struct trn_function *fn, unsigned int todo)
{
	fn->todo |= todo;
	fn->stopped = true;
	trn_chip_stop(fn->chip);
}

static void go_on(struct trn_function *fn)
{
	if (!fn->stopped || fn->todo || fn->paused || fn->d3hot || fn->removed)
		return;
	fn->stopped = false;
	trn_chip_resume(fn->chip);
}

/* What resets the rest of a function clears its command register and its power state. */
static void reset(struct trn_function *fn)
{
	trn_chip_reset(fn->chip);
	atomic_store(&fn->pending, 0);
	atomic_store(&fn->master, false);
	fn->d3hot = false;
}

static void leave(struct trn_function *fn)
{
	if (fn->detached)
		return;
	fn->detached = true;
	trn_chip_detach(fn->chip);
	fn->todo |= TODO_ALONE;
}

/* The chip is quiet. */
static void take_effect(struct trn_function *fn)
{
	unsigned int todo = fn->todo;

	fn->todo = 0;
	if (todo & TODO_RESET)
		reset(fn);
	atomic_store(&fn->asleep, fn->d3hot || fn->removed);
	if (todo & TODO_LEAVE)
		leave(fn);
	if (fn->removed)
		atomic_store(&fn->pending, 0);
}

/* --- requests --- */

void trn_function_set_master(struct trn_function *fn, bool on)
{
	pthread_mutex_lock(&fn->lock);
	if (atomic_exchange(&fn->master, on) && !on)
		ask(fn, TODO_DRAIN);
	pthread_mutex_unlock(&fn->lock);
}

static void wake_up(struct trn_function *fn)
{
	bool due;

	pthread_mutex_lock(&fn->lock);
	fn->d3hot = false;
	fn->todo &= ~(unsigned int)TODO_SLEEP;
	atomic_store(&fn->asleep, fn->removed);
	go_on(fn);
	due = !fn->paused;
	pthread_mutex_unlock(&fn->lock);
	if (due)
		trn_function_deliver(fn);
}

bool trn_function_set_power(struct trn_function *fn, unsigned int state)
{
	if (state != POWER_D0 && state != POWER_D3HOT)
		return false;
	if (state == POWER_D0) {
		wake_up(fn);
		return true;
	}
	pthread_mutex_lock(&fn->lock);
	fn->d3hot = true;
	ask(fn, TODO_SLEEP);
	pthread_mutex_unlock(&fn->lock);
	return true;
}

void trn_function_reset(struct trn_function *fn)
{
	pthread_mutex_lock(&fn->lock);
	ask(fn, TODO_RESET);
	pthread_mutex_unlock(&fn->lock);
}

void trn_function_pause(struct trn_function *fn)
{
	pthread_mutex_lock(&fn->lock);
	fn->paused = true;
	ask(fn, TODO_PAUSE);
	pthread_mutex_unlock(&fn->lock);
}

void trn_function_resume(struct trn_function *fn)
{
	pthread_mutex_lock(&fn->lock);
	fn->paused = false;
	fn->todo &= ~(unsigned int)TODO_PAUSE;
	go_on(fn);
	pthread_mutex_unlock(&fn->lock);
	trn_function_deliver(fn);
}

void trn_function_remove(struct trn_function *fn)
{
	pthread_mutex_lock(&fn->lock);
	fn->removed = true;
	ask(fn, TODO_LEAVE);
	pthread_mutex_unlock(&fn->lock);
}

bool trn_function_poll(struct trn_function *fn)
{
	struct trn_function *before = trn_function_serve(fn);
	bool done;

	pthread_mutex_lock(&fn->lock);
	while (fn->todo && trn_chip_quiet(fn->chip))
		take_effect(fn);
	go_on(fn);
	done = !fn->todo;
	pthread_mutex_unlock(&fn->lock);
	trn_function_served(before);
	/* The line falls with a reset, and in D3hot. */
	if (trn_function_has_line(fn))
		trn_function_deliver(fn);
	return done;
}
