/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For those who monitor a device: what it said last, and what the owners of its cores post.
 *
 * Who monitors does not wake up a device that sleeps: he gets what its registers said when it
 * was last awake.
 */
#ifndef _NEURON_MONITOR_H_
#define _NEURON_MONITOR_H_

#include "neuron_device.h"
#include "neuron_ioctl.h"

#define NEURON_MAX_DICE		2
#define NEURON_MAX_POSTS	64	/* of a call */

/* What is read together. */
enum neuron_look_part {
	NEURON_LOOK_REGS,	/* members up to @hbm_ecc */
	NEURON_LOOK_UNITS,	/* @violations, @stale_posts */
	NEURON_LOOK_LINKS,	/* @link, @link_sum */
	NEURON_LOOK_PE,		/* @pe_raw, @pe_sum */
	NEURON_LOOK_PARTS
};

/* What a core or CC-core has refused. */
struct neuron_look_unit {
	u64 violations;
	u64 stale_posts;
};

/* What a link has carried. */
struct neuron_look_link {
	u64 sent;
	u64 received;
	u64 errors;
};

/* What a DMA queue has moved. */
struct neuron_look_queue {
	u64 descriptors;
	u64 bytes;
};

/* Cycles of the rows of a PE array. */
struct neuron_look_pe {
	u64 matmul;
	u64 weights;
	u64 idle;
};

/**
 * struct neuron_look - what the device said last
 * @asleep: the device sleeps; what follows is from before
 * @throttle: NEURON_CTL_THROTTLE
 * @throttle_reason: NEURON_CTL_THROTTLE_REASON
 * @hbm_repair: NEURON_MISC_HBM_REPAIR
 * @power: NEURON_MISC_POWER of each die
 * @sram_ecc: NEURON_MISC_SRAM_ECC
 * @hbm_ecc: NEURON_MISC_HBM_ECC of each stack
 * @unit_raw: counters of the cores and CC-cores, as the device has them, in the order of
 *	neuron_unit()
 * @violations: sum of what the cores and CC-cores in @unit_raw have counted
 * @stale_posts: sum of what the cores and CC-cores in @unit_raw have counted
 * @link: fabric links
 * @link_raw: counters of the links, as the device has them
 * @link_sum: what the links have counted
 * @pe_raw: counters of the PE arrays, as the device has them, by core and row group
 * @pe_sum: what the PE arrays have counted
 * @queue_raw: counters of the DMA queues, as the device has them, by engine: an array of
 *	NEURON_UDMA_QUEUES
 * @queue_sum: what the DMA queues have counted
 *
 * The counters of the device begin anew at a reset. The sums are since the driver was loaded,
 * but what was counted between the last look and a reset is not in them.
 */
struct neuron_look {
	bool asleep;
	u32 throttle;
	u32 throttle_reason;
	u32 hbm_repair;
	u32 power[NEURON_MAX_DICE];
	u32 sram_ecc;
	u32 hbm_ecc[NEURON_MAX_HBM];
	struct neuron_look_unit unit_raw[NEURON_MAX_UNITS];
	u64 violations;
	u64 stale_posts;
	struct drm_neuron_link_info link[NEURON_CTL_MAX_LINKS];
	struct neuron_look_link link_raw[NEURON_CTL_MAX_LINKS];
	struct neuron_look_link link_sum[NEURON_CTL_MAX_LINKS];
	struct neuron_look_pe pe_raw[NEURON_MAX_CORES][NEURON_PE_ROW_GROUPS];
	struct neuron_look_pe pe_sum[NEURON_MAX_CORES][NEURON_PE_ROW_GROUPS];
	struct neuron_look_queue *queue_raw[NEURON_MAX_DMA_ENGINES];
	struct neuron_look_queue *queue_sum[NEURON_MAX_DMA_ENGINES];
};

int neuron_look_init(struct neuron_device *ndev);

/*
 * @part as the device says now, or said last. Nobody else gets it until
 * neuron_look_end(). ERR_PTR(-ENODEV): the device is gone; -EIO: it is being reset.
 */
const struct neuron_look *neuron_look_begin(struct neuron_device *ndev,
					    enum neuron_look_part part);
/*
 * The same for @queue_raw and @queue_sum of one DMA engine. They are no part: a chip has some
 * 2,000 queues, too many to read them all at once.
 */
const struct neuron_look *neuron_look_begin_queues(struct neuron_device *ndev,
						   unsigned int engine);
void neuron_look_end(struct neuron_device *ndev);

/* The device is about to sleep: keep all that it says now. */
void neuron_look_keep(struct neuron_device *ndev);

/*
 * The device is about to be started: a reset or the loss of power has cleared
 * its counters, or an earlier driver has left them as they are. What they say now is not added
 * to the sums. Who calls holds hw_lock, or the device has no users yet.
 */
void neuron_look_begin_anew(struct neuron_device *ndev);

/*
 * Status counters: what the owner of a core tells those who monitor it. The driver makes no
 * use of them. Both sums of @counter become zero:
 */
void neuron_status_clear(struct neuron_status *status, unsigned int counter);
/* As in sysfs; NULL: no such counter. */
const char *neuron_status_name(unsigned int counter);
NEURON_IOCTL_HANDLER(post);

#endif /* _NEURON_MONITOR_H_ */
