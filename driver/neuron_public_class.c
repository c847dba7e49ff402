// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of the public driver: the files of its class. They tell a server its place
 * among those of an UltraServer. Here all chips of one are in one machine, which is
 * what the public driver calls a server by itself.
 */
#include <linux/device/class.h>
#include <linux/sysfs.h>

#include "neuron_public.h"

static ssize_t no_node_show(const struct class *class,
			    const struct class_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "-1\n");
}

static ssize_t no_server_show(const struct class *class,
			      const struct class_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%016x\n", 0);
}

static ssize_t no_mode_show(const struct class *class,
			    const struct class_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "\n");
}

static struct class_attribute class_attr_node_id_2 =
	__ATTR(node_id_2, 0444, no_node_show, NULL);
static struct class_attribute class_attr_node_id_4 =
	__ATTR(node_id_4, 0444, no_node_show, NULL);
static struct class_attribute class_attr_server_id_2 =
	__ATTR(server_id_2, 0444, no_server_show, NULL);
static struct class_attribute class_attr_server_id_4 =
	__ATTR(server_id_4, 0444, no_server_show, NULL);
static struct class_attribute class_attr_ultraserver_mode =
	__ATTR(ultraserver_mode, 0444, no_mode_show, NULL);

static struct attribute *neuron_public_class_attrs[] = {
	&class_attr_node_id_2.attr,
	&class_attr_node_id_4.attr,
	&class_attr_server_id_2.attr,
	&class_attr_server_id_4.attr,
	&class_attr_ultraserver_mode.attr,
	NULL
};
ATTRIBUTE_GROUPS(neuron_public_class);

/* It exists while a device is in it. */
const struct class neuron_public_class = {
	.name = "neuron_device",
	.class_groups = neuron_public_class_groups,
};
