// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers for people who watch: sysfs, the tree of the public driver.
 */
#include <linux/err.h>
#include <drm/drm_managed.h>

#include "neuron_hw.h"
#include "neuron_look.h"

/**
 * struct neuron_looks - the last look at a device
 * @lock: @look; taken before what neuron_regs_get_awake() takes
 * @look: what it said
 */
struct neuron_looks {
	struct mutex lock; /* @look */
	struct neuron_look look;
};

static void neuron_look_at_regs(struct neuron_device *ndev,
				struct neuron_look *look)
{
	unsigned int i;

	look->throttle = neuron_ctl_read(ndev, NEURON_CTL_THROTTLE);
	look->throttle_reason = neuron_ctl_read(ndev,
						NEURON_CTL_THROTTLE_REASON);
	look->hbm_repair = neuron_misc_read(ndev, NEURON_MISC_HBM_REPAIR);
	look->sram_ecc = neuron_misc_read(ndev, NEURON_MISC_SRAM_ECC);
	for (i = 0; i < ndev->gen->nr_dice; i++)
		look->power[i] = neuron_misc_read(ndev, NEURON_MISC_POWER(i));
	for (i = 0; i < ndev->gen->nr_hbm; i++)
		look->hbm_ecc[i] = neuron_misc_read(ndev,
						    NEURON_MISC_HBM_ECC(i));
}

static void neuron_look_at_units(struct neuron_device *ndev,
				 struct neuron_look *look)
{
	struct neuron_core *core;
	unsigned int i;

	look->violations = 0;
	look->stale_posts = 0;
	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		core = neuron_unit(ndev, i);
		look->violations += neuron_core_read(core,
						     NEURON_CORE_VIOLATIONS);
		look->stale_posts += neuron_core_read(core,
						      NEURON_CORE_STALE_POSTS);
	}
}

static void neuron_look_at_links(struct neuron_device *ndev,
				 struct neuron_look *look)
{
	unsigned int i;

	for (i = 0; i < ndev->nr_links; i++)
		neuron_device_read_link(ndev, i, &look->link[i]);
}

static u64 neuron_look_at_pe(struct neuron_device *ndev, unsigned int core,
			     unsigned int row, unsigned int xbus,
			     unsigned int field)
{
	void __iomem *reg = ndev->bar0 + neuron_pe_counter(ndev->gen, core, row,
							   xbus, field);
	/* The chip keeps the low word for whoever has read the high one. */
	u64 high = readl(reg + 4);

	return high << 32 | readl(reg);
}

static void neuron_look_at_row(struct neuron_device *ndev, unsigned int core,
			       unsigned int row, struct neuron_look_pe *pe)
{
	unsigned int i;

	pe->matmul = neuron_look_at_pe(ndev, core, row, NEURON_PE_XBUS_ARRAY,
				       NEURON_PE_MATMUL);
	pe->weights = 0;
	for (i = 0; i < NEURON_PE_COLUMN_GROUPS; i++)
		pe->weights += neuron_look_at_pe(ndev, core, row, i,
						 NEURON_PE_WEIGHTS);
	pe->idle = neuron_look_at_pe(ndev, core, row, NEURON_PE_XBUS_ARRAY,
				     NEURON_PE_IDLE);
}

static void neuron_look_at_arrays(struct neuron_device *ndev,
				  struct neuron_look *look)
{
	unsigned int i, row;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		for (row = 0; row < NEURON_PE_ROW_GROUPS; row++)
			neuron_look_at_row(ndev, i, row, &look->pe[i][row]);
}

static void neuron_look_at(struct neuron_device *ndev,
			   enum neuron_look_part part, struct neuron_look *look)
{
	static void (* const parts[])(struct neuron_device *ndev,
				      struct neuron_look *look) = {
		[NEURON_LOOK_REGS] = neuron_look_at_regs,
		[NEURON_LOOK_UNITS] = neuron_look_at_units,
		[NEURON_LOOK_LINKS] = neuron_look_at_links,
		[NEURON_LOOK_PE] = neuron_look_at_arrays,
	};

	static_assert(ARRAY_SIZE(parts) == NEURON_LOOK_PARTS);
	parts[part](ndev, look);
}

const struct neuron_look *neuron_look_begin(struct neuron_device *ndev,
					    enum neuron_look_part part)
{
	struct neuron_looks *looks = ndev->looks;
	int idx, ret;

	mutex_lock(&looks->lock);
	ret = neuron_regs_get_awake(ndev, &idx);
	if (ret && ret != -EAGAIN) {
		mutex_unlock(&looks->lock);
		return ERR_PTR(ret);
	}
	looks->look.asleep = ret;
	if (!ret) {
		neuron_look_at(ndev, part, &looks->look);
		neuron_regs_put_awake(ndev, idx);
	}
	return &looks->look;
}

void neuron_look_end(struct neuron_device *ndev)
{
	mutex_unlock(&ndev->looks->lock);
}

void neuron_look_keep(struct neuron_device *ndev)
{
	struct neuron_looks *looks = ndev->looks;
	unsigned int part;

	mutex_lock(&looks->lock);
	for (part = 0; part < NEURON_LOOK_PARTS; part++)
		neuron_look_at(ndev, part, &looks->look);
	mutex_unlock(&looks->lock);
}

int neuron_look_init(struct neuron_device *ndev)
{
	ndev->looks = drmm_kzalloc(&ndev->drm, sizeof(*ndev->looks),
				   GFP_KERNEL);
	if (!ndev->looks)
		return -ENOMEM;
	return drmm_mutex_init(&ndev->drm, &ndev->looks->lock);
}
