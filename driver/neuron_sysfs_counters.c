// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the PCI device in "counters": what went wrong since the driver was
 * loaded.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/stddef.h>
#include <linux/sysfs.h>

#include "neuron_monitor.h"

/**
 * struct neuron_counter_attr - a counter of the driver
 * @attr: file
 * @offset: in struct neuron_counters
 */
struct neuron_counter_attr {
	struct device_attribute attr;
	size_t offset;
};

static ssize_t neuron_counter_show(struct device *dev,
				   struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_counter_attr *counter;
	const atomic64_t *value;

	counter = container_of(attr, struct neuron_counter_attr, attr);
	value = (void *)&ndev->counters + counter->offset;
	return sysfs_emit(buf, "%llu\n", (u64)atomic64_read(value));
}

#define NEURON_COUNTER_ATTR(name, member) \
	static struct neuron_counter_attr neuron_counter_##name = { \
		.attr = __ATTR(name, 0444, neuron_counter_show, NULL), \
		.offset = offsetof(struct neuron_counters, member), \
	}

NEURON_COUNTER_ATTR(faults, faults);
NEURON_COUNTER_ATTR(hangs, hangs);
NEURON_COUNTER_ATTR(core_resets, core_resets);
NEURON_COUNTER_ATTR(device_resets, device_resets);
NEURON_COUNTER_ATTR(reset_failures, reset_failures);
NEURON_COUNTER_ATTR(lost_interrupts, lost_interrupts);
NEURON_COUNTER_ATTR(copy_errors, copy_errors);
NEURON_COUNTER_ATTR(link_changes, link_changes);

/* Counters of the cores that the chip keeps, together; @offset: in struct neuron_look. */
static ssize_t neuron_core_sum_show(struct device *dev, char *buf, size_t offset)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_look *look;
	u64 sum;

	look = neuron_look_begin(ndev, NEURON_LOOK_UNITS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	sum = *(const u64 *)((const void *)look + offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%llu\n", sum);
}

static ssize_t violations_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return neuron_core_sum_show(dev, buf,
				    offsetof(struct neuron_look, violations));
}
static DEVICE_ATTR_RO(violations);

static ssize_t stale_posts_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return neuron_core_sum_show(dev, buf,
				    offsetof(struct neuron_look, stale_posts));
}
static DEVICE_ATTR_RO(stale_posts);

static struct attribute *neuron_counter_attrs[] = {
	&neuron_counter_faults.attr.attr,
	&neuron_counter_hangs.attr.attr,
	&neuron_counter_core_resets.attr.attr,
	&neuron_counter_device_resets.attr.attr,
	&neuron_counter_reset_failures.attr.attr,
	&neuron_counter_lost_interrupts.attr.attr,
	&neuron_counter_copy_errors.attr.attr,
	&neuron_counter_link_changes.attr.attr,
	&dev_attr_violations.attr,
	&dev_attr_stale_posts.attr,
	NULL
};

const struct attribute_group neuron_sysfs_counter_group = {
	.name = "counters",
	.attrs = neuron_counter_attrs,
};
