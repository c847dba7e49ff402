/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the registers of a device said last, and what the owners of its cores post.
 */
#ifndef _NEURON_MONITOR_H_
#define _NEURON_MONITOR_H_

#include "neuron_device.h"
#include "neuron_ioctl.h"

#define NEURON_MAX_DICE		2
#define NEURON_MAX_POSTS	64	/* of a call */

/**
 * DOC: Views layer
 *
 * The views show a device to user space, and change nothing of what it does:
 *
 * - QUERY, for programs that have the device open (neuron_query.c);
 * - attributes of the PCI device, for monitors (neuron_sysfs.c);
 * - the class and the tree of the public driver, if the module parameter public_sysfs is set
 *   (neuron_public.c);
 * - files in debugfs, for people (neuron_debugfs.c).
 *
 * The driver registers no hwmon device. hwmon wants watts, volts or degrees. The chip has no
 * thermometer, and tells its power as a part of its greatest one, which it does not tell.
 *
 * A monitor must not wake up a device that sleeps, and must not keep it awake. So all views that
 * monitors use read registers through a *look* (&struct neuron_look). It reads the registers when
 * the device is awake. Otherwise it returns what they said when the device went to sleep. The
 * chip clears its counters of traffic and refused accesses in a reset. The look adds them up, so
 * the sums that user space sees never go down.
 *
 * neuron_looks.lock protects the look, from neuron_look_begin() to neuron_look_end(). It is taken
 * under neuron_device.hw_lock and before drm_dev_enter() and neuron_device.epoch_lock.
 *
 * Attributes of the PCI device are groups, which the driver core makes when the probe has
 * succeeded. Directories whose number depends on the chip (cores, links, DMA engines) are made by
 * the probe from tables (&struct neuron_node_attr), and removed with devm. Everything that a file
 * shows exists until the file is removed.
 */

/**
 * enum neuron_look_part - registers that are read together
 * @NEURON_LOOK_REGS: the members of &struct neuron_look up to @hbm_ecc
 * @NEURON_LOOK_UNITS: @violations and @stale_posts
 * @NEURON_LOOK_LINKS: @link and @link_sum
 * @NEURON_LOOK_PE: @pe_raw and @pe_sum
 * @NEURON_LOOK_PARTS: number of the parts
 */
enum neuron_look_part {
	NEURON_LOOK_REGS,
	NEURON_LOOK_UNITS,
	NEURON_LOOK_LINKS,
	NEURON_LOOK_PE,
	NEURON_LOOK_PARTS
};

/**
 * struct neuron_look_unit - what a core or CC-core has refused
 * @violations: accesses outside of windows
 * @stale_posts: posts by grants that are void
 */
struct neuron_look_unit {
	u64 violations;
	u64 stale_posts;
};

/**
 * struct neuron_look_link - what a fabric link has carried
 * @sent: bytes
 * @received: bytes
 * @errors: accesses that found no way
 */
struct neuron_look_link {
	u64 sent;
	u64 received;
	u64 errors;
};

/**
 * struct neuron_look_queue - what a DMA queue has moved
 * @descriptors: how many
 * @bytes: of what they describe
 */
struct neuron_look_queue {
	u64 descriptors;
	u64 bytes;
};

/**
 * struct neuron_look_pe - cycles of a row group of a PE array
 * @matmul: it multiplied
 * @weights: it was loaded
 * @idle: neither
 */
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

/**
 * neuron_look_init() - allocate the look of a device
 * @ndev: device
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_look_init(struct neuron_device *ndev);

/**
 * neuron_look_begin() - what the device says now, or said last
 * @ndev: device
 * @part: which registers
 *
 * Takes neuron_looks.lock; neuron_look_end() releases it.
 *
 * Return: the look; ERR_PTR(-ENODEV) when the device is gone, ERR_PTR(-EIO) when it is being
 * reset, and then the lock is not held.
 */
const struct neuron_look *neuron_look_begin(struct neuron_device *ndev,
					    enum neuron_look_part part);

/**
 * neuron_look_begin_queues() - the same for the queues of one DMA engine
 * @ndev: device
 * @engine: DMA engine of the chip
 *
 * A chip has some 2,000 queues, too many to read them all at once.
 *
 * Return: as neuron_look_begin().
 */
const struct neuron_look *neuron_look_begin_queues(struct neuron_device *ndev,
						   unsigned int engine);

/**
 * neuron_look_end() - the end of neuron_look_begin()
 * @ndev: device
 */
void neuron_look_end(struct neuron_device *ndev);

/**
 * neuron_look_keep() - the device is about to sleep: note all that it says now
 * @ndev: device
 */
void neuron_look_keep(struct neuron_device *ndev);

/**
 * neuron_look_begin_anew() - the device is about to be started: note where its counters are
 * @ndev: device
 *
 * A reset or the loss of power has cleared the counters, or an earlier driver has left them as
 * they are. What they say now is not added to the sums.
 *
 * Context: under neuron_device.hw_lock, or the device has no users yet.
 */
void neuron_look_begin_anew(struct neuron_device *ndev);

/**
 * neuron_status_clear() - set a status counter to zero, of the present owner as well
 * @status: counters of a core
 * @counter: enum drm_neuron_status_counter
 */
void neuron_status_clear(struct neuron_status *status, unsigned int counter);

/**
 * neuron_status_name() - name of a status counter in sysfs
 * @counter: enum drm_neuron_status_counter, or any number
 *
 * Return: the name, or NULL.
 */
const char *neuron_status_name(unsigned int counter);
NEURON_IOCTL_HANDLER(post);

#endif /* _NEURON_MONITOR_H_ */
