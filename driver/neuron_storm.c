// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts without end.
 */
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>

#include "neuron_storm.h"

/* What is counted together. */
#define NEURON_STORM_WINDOW_MS	100

/* So many in that time are looked at twice. */
#define NEURON_STORM_SUSPECT	500
/* A storm: more than these, most of them for nothing; or more than any device has. */
#define NEURON_STORM_IDLE	100
#define NEURON_STORM_ALL	20000

/* A vector that storms is looked at by the timer for so long. */
#define NEURON_STORM_POLLED_MS	1000

static void neuron_storm_begin(struct neuron_storm *storm)
{
	storm->begin = jiffies;
	storm->nr = 0;
	storm->nr_idle = 0;
}

static void neuron_storm_timer(struct timer_list *timer)
{
	struct neuron_storm *storm = container_of(timer, struct neuron_storm,
						  timer);

	storm->look(storm);
	if (time_before(jiffies, storm->until)) {
		mod_timer(&storm->timer, jiffies + 1);
		return;
	}
	/* The handler does not run: its fields are free. */
	neuron_storm_begin(storm);
	enable_irq(storm->irq);
}

void neuron_storm_init(struct neuron_storm *storm, struct device *dev, int irq,
		       void (*look)(struct neuron_storm *storm))
{
	storm->dev = dev;
	storm->irq = irq;
	storm->look = look;
	timer_setup(&storm->timer, neuron_storm_timer, 0);
	neuron_storm_begin(storm);
}

void neuron_storm_stop(struct neuron_storm *storm)
{
	/* Else the timer has not disabled it, or has enabled it again. */
	if (timer_delete_sync(&storm->timer))
		enable_irq(storm->irq);
}

void neuron_storm_fini(struct neuron_storm *storm)
{
	timer_shutdown_sync(&storm->timer);
}

bool neuron_storm_suspects(const struct neuron_storm *storm)
{
	return storm->nr >= NEURON_STORM_SUSPECT;
}

void neuron_storm_count(struct neuron_storm *storm, bool found)
{
	if (time_after(jiffies, storm->begin +
		       msecs_to_jiffies(NEURON_STORM_WINDOW_MS)))
		neuron_storm_begin(storm);
	storm->nr++;
	storm->nr_idle += !found;
	if (storm->nr <= NEURON_STORM_ALL &&
	    (storm->nr_idle <= NEURON_STORM_IDLE ||
	     storm->nr_idle <= storm->nr / 4 * 3))
		return;

	disable_irq_nosync(storm->irq);
	storm->until = jiffies + msecs_to_jiffies(NEURON_STORM_POLLED_MS);
	mod_timer(&storm->timer, jiffies + 1);
	dev_warn_ratelimited(storm->dev,
			     "interrupt %d without end (%u, %u for nothing): polled for %u ms\n",
			     storm->irq, storm->nr, storm->nr_idle,
			     NEURON_STORM_POLLED_MS);
}
