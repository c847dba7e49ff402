// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the PCI device: what it is and where it is.
 */
#include <linux/device.h>
#include <linux/sysfs.h>
#include <drm/drm_drv.h>

#include "drm/neuron_accel.h"
#include "neuron_hbm.h"
#include "neuron_monitor.h"

static ssize_t device_name_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", ndev->gen->device_name);
}
static DEVICE_ATTR_RO(device_name);

static ssize_t core_count_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", ndev->gen->nr_cores);
}
static DEVICE_ATTR_RO(core_count);

/* Populated bytes of all stacks. */
static ssize_t memory_size_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	struct neuron_hbm_stats stats;
	unsigned int i;
	u64 size = 0;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		neuron_hbm_get_stats(ndev, i, &stats);
		size += stats.size;
	}
	return sysfs_emit(buf, "%llu\n", size);
}
static DEVICE_ATTR_RO(memory_size);

static ssize_t fabric_id_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", ndev->fabric_id);
}
static DEVICE_ATTR_RO(fabric_id);

static ssize_t serial_number_show(struct device *dev,
				  struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%016llx\n", ndev->serial);
}
static DEVICE_ATTR_RO(serial_number);

/* Fabric ids at the other ends of the links that are up, in port order. */
static ssize_t connected_devices_show(struct device *dev,
				      struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_look *look;
	unsigned int i;
	int len = 0;

	look = neuron_look_begin(ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < ndev->nr_links; i++) {
		if (look->link[i].state)
			len += sysfs_emit_at(buf, len, len ? " %u" : "%u",
					     look->link[i].peer);
	}
	neuron_look_end(ndev);

	len += sysfs_emit_at(buf, len, "\n");
	return len;
}
static DEVICE_ATTR_RO(connected_devices);

static struct attribute *neuron_attrs[] = {
	&dev_attr_device_name.attr,
	&dev_attr_core_count.attr,
	&dev_attr_memory_size.attr,
	&dev_attr_fabric_id.attr,
	&dev_attr_serial_number.attr,
	&dev_attr_connected_devices.attr,
	NULL
};

static const struct attribute_group neuron_group = {
	.attrs = neuron_attrs,
};

const struct attribute_group *neuron_sysfs_groups[] = {
	&neuron_group,
	&neuron_sysfs_reg_group,
	&neuron_sysfs_ecc_group,
	&neuron_sysfs_counter_group,
	NULL
};
