/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers for people who watch. A device that sleeps is not woken up for them: they
 * get what it said last, at the latest when it went to sleep.
 */
#ifndef _NEURON_LOOK_H_
#define _NEURON_LOOK_H_

#include "neuron_device.h"

#define NEURON_MAX_DICE		2

/* What is read together. */
enum neuron_look_part {
	NEURON_LOOK_REGS,	/* members up to @hbm_ecc */
	NEURON_LOOK_UNITS,	/* @violations, @stale_posts */
	NEURON_LOOK_LINKS,
	NEURON_LOOK_PE,
	NEURON_LOOK_PARTS
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
 * @violations: of all cores and CC-cores together
 * @stale_posts: the same
 * @link: fabric links
 * @pe: by core and row group
 */
struct neuron_look {
	bool asleep;
	u32 throttle;
	u32 throttle_reason;
	u32 hbm_repair;
	u32 power[NEURON_MAX_DICE];
	u32 sram_ecc;
	u32 hbm_ecc[NEURON_MAX_HBM];
	u64 violations;
	u64 stale_posts;
	struct drm_neuron_link_info link[NEURON_CTL_MAX_LINKS];
	struct neuron_look_pe pe[NEURON_MAX_CORES][NEURON_PE_ROW_GROUPS];
};

int neuron_look_init(struct neuron_device *ndev);

/*
 * @part as the device says now, or said last. Nobody else gets it until
 * neuron_look_end(). ERR_PTR(-ENODEV): the device is gone; -EIO: it is being reset.
 */
const struct neuron_look *neuron_look_begin(struct neuron_device *ndev,
					    enum neuron_look_part part);
void neuron_look_end(struct neuron_device *ndev);

/* The device is about to sleep: everything as it says now. */
void neuron_look_keep(struct neuron_device *ndev);

#endif /* _NEURON_LOOK_H_ */
