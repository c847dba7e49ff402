/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts without end. The kernel would switch a vector off for good, and with
 * it the device; a processor that does nothing else is no better. So a vector that
 * storms is disabled for a second and looked at by a timer instead.
 */
#ifndef _NEURON_STORM_H_
#define _NEURON_STORM_H_

#include <linux/timer.h>
#include <linux/types.h>

/**
 * struct neuron_storm - how often a vector is raised, and for what
 * @dev: for the log
 * @irq: its interrupt
 * @look: looks at the causes of the vector, as its handler does; from a timer
 * @timer: calls @look while the interrupt is disabled
 * @until: jiffies when it is enabled again
 * @begin: jiffies when counting began. This and the rest: the handler's own
 * @nr: interrupts since
 * @nr_idle: of them those that announced nothing
 */
struct neuron_storm {
	struct device *dev;
	int irq;
	void (*look)(struct neuron_storm *storm);
	struct timer_list timer;
	unsigned long until;
	unsigned long begin;
	unsigned int nr;
	unsigned int nr_idle;
};

void neuron_storm_init(struct neuron_storm *storm, struct device *dev, int irq,
		       void (*look)(struct neuron_storm *storm));
/* The interrupt is disabled: a storm that is polled is over. */
void neuron_storm_stop(struct neuron_storm *storm);
/* Nothing is looked at any more, ever; before the interrupt is freed. */
void neuron_storm_fini(struct neuron_storm *storm);

/* Hard interrupt handler: so many that a cause which does not go is no chance. */
bool neuron_storm_suspects(const struct neuron_storm *storm);
/* Hard interrupt handler: one more. @found: it announced something. */
void neuron_storm_count(struct neuron_storm *storm, bool found);

#endif /* _NEURON_STORM_H_ */
