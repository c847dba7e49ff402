// SPDX-License-Identifier: MIT
/*
 * Timers of the chips: packets that are late, and storms of interrupts, need one
 * (Documentation/hardware/faults.rst). One thread serves all chips, and sleeps when nothing is
 * late. Chips that a debugger runs have no timer: they take no time of the host.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "backend/embedded/emb.h"

void emb_timer_init(struct emb_timer *timer)
{
	pthread_mutex_init(&timer->lock, NULL);
	emb_cond_init(&timer->changed);
}

void emb_timer_ask(struct nrt_chip *chip, uint64_t delay_ns)
{
	struct emb_timer *timer = &chip->machine->timer;
	uint64_t at = nrt_clock_now() + delay_ns;

	pthread_mutex_lock(&timer->lock);
	if (!chip->expires_ns || at < chip->expires_ns) {
		chip->expires_ns = at;
		pthread_cond_signal(&timer->changed);
	}
	pthread_mutex_unlock(&timer->lock);
}

/* With the lock: the chip whose time comes first, or NULL. */
static struct nrt_chip *first_of(struct emb_machine *machine)
{
	struct nrt_chip *first = NULL, *chip;

	for (chip = machine->chip; chip < machine->chip + machine->nr_chips; chip++)
		if (chip->expires_ns && (!first || chip->expires_ns < first->expires_ns))
			first = chip;
	return first;
}

/* The lock is given up meanwhile. */
static void wait_for(struct emb_timer *timer, const struct nrt_chip *chip)
{
	struct timespec until;

	if (!chip) {
		pthread_cond_wait(&timer->changed, &timer->lock);
		return;
	}
	until = nrt_clock_time(chip->expires_ns);
	pthread_cond_timedwait(&timer->changed, &timer->lock, &until);
}

static void *serve(void *arg)
{
	struct emb_machine *machine = arg;
	struct emb_timer *timer = &machine->timer;
	struct nrt_chip *chip;

	pthread_mutex_lock(&timer->lock);
	while (!timer->leaving) {
		chip = first_of(machine);
		if (!chip || chip->expires_ns > nrt_clock_now()) {
			wait_for(timer, chip);
			continue;
		}
		chip->expires_ns = 0;
		pthread_mutex_unlock(&timer->lock);
		/* It asks again for what is left. */
		trn_chip_expire(chip->chip);
		pthread_mutex_lock(&timer->lock);
	}
	pthread_mutex_unlock(&timer->lock);
	return NULL;
}

int emb_timer_start(struct emb_machine *machine)
{
	int ret;

	if (machine->debugger)
		return 0;
	ret = nrt_thread_start(&machine->timer.thread, serve, machine);
	machine->timer.started = !ret;
	return ret;
}

void emb_timer_stop(struct emb_timer *timer)
{
	if (!timer->started)
		return;
	pthread_mutex_lock(&timer->lock);
	timer->leaving = true;
	pthread_cond_signal(&timer->changed);
	pthread_mutex_unlock(&timer->lock);
	pthread_join(timer->thread, NULL);
}

void emb_timer_destroy(struct emb_timer *timer)
{
	pthread_cond_destroy(&timer->changed);
	pthread_mutex_destroy(&timer->lock);
}
