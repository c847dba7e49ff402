/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts without end. The kernel would switch such a vector off for good, and the
 * device could not be used any more; without that, a processor would do nothing but handle
 * interrupts. So the driver disables the vector for a second, and a timer looks at its
 * causes instead.
 */
#ifndef _NEURON_STORM_H_
#define _NEURON_STORM_H_

#include <linux/timer.h>
#include <linux/types.h>

/**
 * struct neuron_storm - how often a vector is raised, and for what
 * @dev: for the log
 * @irq: Linux number of the vector's interrupt
 * @look: looks at the causes of the vector, as its interrupt handler does; called by @timer
 * @timer: calls @look while the interrupt is disabled
 * @until: jiffies when the interrupt is enabled again
 * @begin: jiffies when counting began. Only the hard interrupt handler uses this and what
 *	follows
 * @nr: interrupts since @begin
 * @nr_idle: interrupts since @begin that announced nothing
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

/*
 * Have there been so many interrupts that a cause which stays set is a storm? Called in the
 * hard interrupt handler.
 */
bool neuron_storm_suspects(const struct neuron_storm *storm);
/*
 * Count one interrupt; @found says whether it announced something. Called in the hard
 * interrupt handler.
 */
void neuron_storm_count(struct neuron_storm *storm, bool found);

#endif /* _NEURON_STORM_H_ */
