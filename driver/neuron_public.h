/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tree of the public driver, for the files that make its parts.
 */
#ifndef _NEURON_PUBLIC_H_
#define _NEURON_PUBLIC_H_

#include <linux/device/class.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

#include "neuron_device.h"
#include "neuron_sysfs.h"

/**
 * struct neuron_public_power - the power of a chip over a while
 * @begin: seconds of the clock on the wall
 * @min: basis points of the greatest power, all dice together
 * @max: the same
 * @sum: of all samples
 * @samples: how many
 */
struct neuron_public_power {
	time64_t begin;
	u32 min;
	u32 max;
	u64 sum;
	u32 samples;
};

/* What the driver counts of a core, as far as the tree has it. */
enum {
	NEURON_PUBLIC_RESETS,
	NEURON_PUBLIC_RESET_FAILURES,
	NEURON_PUBLIC_BUSY_US,
	NEURON_NR_PUBLIC_COUNTS,
};

/**
 * struct neuron_public - the tree of a device
 * @ndev: device
 * @dev: of the class
 * @node: directories at its top
 * @nr_nodes: how many
 * @sample: reads the power
 * @lock: @now, @last
 * @now: power of this minute
 * @last: power of the minute before
 * @cleared: what the counts were when somebody wrote to them
 */
struct neuron_public {
	struct neuron_device *ndev;
	struct device *dev;
	struct neuron_node *node[2 + NEURON_MAX_CORES];
	unsigned int nr_nodes;
	struct delayed_work sample;
	spinlock_t lock;	/* now, last */
	struct neuron_public_power now;
	struct neuron_public_power last;
	u64 cleared[NEURON_MAX_CORES][NEURON_NR_PUBLIC_COUNTS];
};

/* Nodes of a core are numbered core by core. */
static inline unsigned long neuron_public_index(unsigned int core,
						unsigned int counter)
{
	return core * DRM_NEURON_NR_STATUS_COUNTERS + counter;
}

static inline struct neuron_core *
neuron_public_core(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;

	return &tree->ndev->core[node->index / DRM_NEURON_NR_STATUS_COUNTERS];
}

/* neuron_public_class.c: registered while a device is in it. */
extern const struct class neuron_public_class;

/* neuron_public_info.c: of the device: identity, memory errors. */
extern const struct neuron_node_attr neuron_public_info[2];
extern const struct neuron_node_attr neuron_public_arch[3];
extern const struct neuron_node_attr neuron_public_hardware[3];
/* neuron_public_core.c: of a core. */
extern const struct neuron_node_attr neuron_public_core_arch[1];
extern const struct neuron_node_attr neuron_public_status[2];
extern const struct neuron_node_attr neuron_public_counts[2];
extern const struct neuron_node_attr neuron_public_pe[1];

/* neuron_public_memory.c: in @stats of the device, and of each core. */
int neuron_public_add_host_memory(struct neuron_node *stats);
int neuron_public_add_core_memory(struct neuron_node *stats, unsigned int core);

/* neuron_public_power.c: sampled from the start to the stop. */
extern const struct neuron_node_attr neuron_public_utilization[1];
void neuron_public_power_init(struct neuron_public *tree);
void neuron_public_power_start(struct neuron_public *tree);
void neuron_public_power_stop(struct neuron_public *tree);

#endif /* _NEURON_PUBLIC_H_ */
