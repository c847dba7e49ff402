// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the PCI device that are parts of registers: power, memory errors,
 * throttle.
 */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/stddef.h>
#include <linux/sysfs.h>

#include "neuron_monitor.h"

/**
 * struct neuron_reg_attr - a part of a register
 * @attr: file
 * @offset: of the register in struct neuron_look
 * @field: its bits
 * @die: there is none with fewer dice
 * @stack: there is none with fewer stacks of HBM
 */
struct neuron_reg_attr {
	struct device_attribute attr;
	size_t offset;
	u32 field;
	unsigned int die;
	unsigned int stack;
};

static ssize_t neuron_reg_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_reg_attr *reg;
	const struct neuron_look *look;
	u32 value;

	reg = container_of(attr, struct neuron_reg_attr, attr);
	look = neuron_look_begin(ndev, NEURON_LOOK_REGS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	value = *(const u32 *)((const void *)look + reg->offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%u\n",
			  (value & reg->field) >> __ffs(reg->field));
}

static struct neuron_reg_attr neuron_reg_throttle = {
	.attr = __ATTR(throttle, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, throttle),
	.field = ~0u,
};

static struct neuron_reg_attr neuron_reg_throttle_reason = {
	.attr = __ATTR(throttle_reason, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, throttle_reason),
	.field = ~0u,
};

static struct neuron_reg_attr neuron_reg_hbm_repair = {
	.attr = __ATTR(hbm_repair, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, hbm_repair),
	.field = ~0u,
};

static struct neuron_reg_attr neuron_reg_die0_power = {
	.attr = __ATTR(die0_power, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, power[0]),
	.field = NEURON_MISC_POWER_USED,
};

static struct neuron_reg_attr neuron_reg_die1_power = {
	.attr = __ATTR(die1_power, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, power[1]),
	.field = NEURON_MISC_POWER_USED,
	.die = 1,
};

#define NEURON_ECC_ATTR(name, member, _field, _stack) \
	static struct neuron_reg_attr neuron_reg_##name = { \
		.attr = __ATTR(name, 0444, neuron_reg_show, NULL), \
		.offset = offsetof(struct neuron_look, member), \
		.field = NEURON_MISC_ECC_##_field, \
		.stack = _stack, \
	}

NEURON_ECC_ATTR(sram_corrected, sram_ecc, CORRECTED, 0);
NEURON_ECC_ATTR(sram_uncorrected, sram_ecc, UNCORRECTED, 0);
NEURON_ECC_ATTR(hbm0_corrected, hbm_ecc[0], CORRECTED, 0);
NEURON_ECC_ATTR(hbm0_uncorrected, hbm_ecc[0], UNCORRECTED, 0);
NEURON_ECC_ATTR(hbm1_corrected, hbm_ecc[1], CORRECTED, 1);
NEURON_ECC_ATTR(hbm1_uncorrected, hbm_ecc[1], UNCORRECTED, 1);
NEURON_ECC_ATTR(hbm2_corrected, hbm_ecc[2], CORRECTED, 2);
NEURON_ECC_ATTR(hbm2_uncorrected, hbm_ecc[2], UNCORRECTED, 2);
NEURON_ECC_ATTR(hbm3_corrected, hbm_ecc[3], CORRECTED, 3);
NEURON_ECC_ATTR(hbm3_uncorrected, hbm_ecc[3], UNCORRECTED, 3);

static umode_t neuron_reg_is_visible(struct kobject *kobj,
				     struct attribute *attr, int index)
{
	struct neuron_device *ndev = dev_get_drvdata(kobj_to_dev(kobj));
	const struct neuron_reg_attr *reg;

	reg = container_of(attr, struct neuron_reg_attr, attr.attr);
	if (reg->die >= ndev->gen->nr_dice || reg->stack >= ndev->gen->nr_hbm)
		return 0;
	return attr->mode;
}

static struct attribute *neuron_reg_attrs[] = {
	&neuron_reg_die0_power.attr.attr,
	&neuron_reg_die1_power.attr.attr,
	&neuron_reg_hbm_repair.attr.attr,
	&neuron_reg_throttle.attr.attr,
	&neuron_reg_throttle_reason.attr.attr,
	NULL
};

const struct attribute_group neuron_sysfs_reg_group = {
	.attrs = neuron_reg_attrs,
	.is_visible = neuron_reg_is_visible,
};

static struct attribute *neuron_ecc_attrs[] = {
	&neuron_reg_sram_corrected.attr.attr,
	&neuron_reg_sram_uncorrected.attr.attr,
	&neuron_reg_hbm0_corrected.attr.attr,
	&neuron_reg_hbm0_uncorrected.attr.attr,
	&neuron_reg_hbm1_corrected.attr.attr,
	&neuron_reg_hbm1_uncorrected.attr.attr,
	&neuron_reg_hbm2_corrected.attr.attr,
	&neuron_reg_hbm2_uncorrected.attr.attr,
	&neuron_reg_hbm3_corrected.attr.attr,
	&neuron_reg_hbm3_uncorrected.attr.attr,
	NULL
};

const struct attribute_group neuron_sysfs_ecc_group = {
	.name = "ecc",
	.attrs = neuron_ecc_attrs,
	.is_visible = neuron_reg_is_visible,
};
