// SPDX-License-Identifier: GPL-2.0-only
/*
 * The public driver's class and sysfs tree, for the monitors that know no other:
 * /sys/devices/virtual/neuron_device/neuron<fabric id>. Off unless the module
 * parameter public_sysfs is set. Nothing else in the driver knows of it.
 *
 * What is counted for the device as a whole there is per core, and what is not known
 * here, is in Documentation/driver.rst.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "neuron/address.h"
#include "neuron_hw.h"
#include "neuron_monitor.h"
#include "neuron_public.h"
#include "neuron_public_sysfs.h"

static bool neuron_public_wanted;
module_param_named(public_sysfs, neuron_public_wanted, bool, 0444);
MODULE_PARM_DESC(public_sysfs, "Also the sysfs tree of the public driver (default: no)");

static DEFINE_MUTEX(neuron_public_lock);	/* neuron_public_users */
static unsigned int neuron_public_users;

/* The directory of the device itself. */

static ssize_t core_count_show(struct device *dev, struct device_attribute *attr,
			       char *buf)
{
	struct neuron_public *tree = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tree->ndev->gen->nr_cores);
}
static DEVICE_ATTR_RO(core_count);

static ssize_t connected_devices_show(struct device *dev,
				      struct device_attribute *attr, char *buf)
{
	struct neuron_public *tree = dev_get_drvdata(dev);
	const struct drm_neuron_link_info *link;
	const struct neuron_look *look;
	unsigned int i;
	int len = 0;

	look = neuron_look_begin(tree->ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < tree->ndev->nr_links; i++) {
		link = &look->link[i];
		if (link->state == 1 && link->peer < NEURON_MAX_CHIPS)
			len += sysfs_emit_at(buf, len, len ? ", %u" : "%u",
					     link->peer);
	}
	neuron_look_end(tree->ndev);
	return len + sysfs_emit_at(buf, len, "\n");
}
static DEVICE_ATTR_RO(connected_devices);

/* Whatever is written. It is under way on return; who has a file open waits for it. */
static ssize_t reset_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t count)
{
	struct neuron_public *tree = dev_get_drvdata(dev);

	neuron_request_reset(tree->ndev);
	return count;
}
static DEVICE_ATTR_WO(reset);

static struct attribute *neuron_public_attrs[] = {
	&dev_attr_core_count.attr,
	&dev_attr_connected_devices.attr,
	&dev_attr_reset.attr,
	NULL
};
ATTRIBUTE_GROUPS(neuron_public);

/* Directories; after an error the rest is left out, and NULL stands for them. */

struct neuron_public_builder {
	struct neuron_public *tree;
	int error;
};

static struct neuron_node *neuron_public_take(struct neuron_public_builder *b,
					      struct neuron_node *node)
{
	if (!IS_ERR(node))
		return node;
	b->error = PTR_ERR(node);
	return NULL;
}

static struct neuron_node *neuron_public_top(struct neuron_public_builder *b,
					     const char *name,
					     const struct neuron_node_attr *attrs,
					     size_t nr)
{
	struct neuron_public *tree = b->tree;
	struct neuron_node *node;

	if (b->error)
		return NULL;
	node = neuron_public_take(b, neuron_node_create(&tree->dev->kobj, tree,
							attrs, nr, name));
	if (node)
		tree->node[tree->nr_nodes++] = node;
	return node;
}

static struct neuron_node *neuron_public_dir(struct neuron_public_builder *b,
					     struct neuron_node *parent,
					     const char *name,
					     const struct neuron_node_attr *attrs,
					     size_t nr, unsigned long index)
{
	if (b->error)
		return NULL;
	return neuron_public_take(b, neuron_node_add(parent, attrs, nr, name,
						     index));
}

#define neuron_public_empty(b, parent, name) \
	neuron_public_dir(b, parent, name, NULL, 0, 0)

/* Those of the posted ones that are not a status of executions. */
static bool neuron_public_is_other(unsigned int counter)
{
	return counter >= DRM_NEURON_STATUS_MODEL_LOAD_COUNT;
}

static void neuron_public_add_core(struct neuron_public_builder *b,
				   unsigned int core)
{
	struct neuron_node *top, *stats, *status, *other, *info;
	char name[24];
	unsigned int i;

	snprintf(name, sizeof(name), "neuron_core%u", core);
	top = neuron_public_top(b, name, NULL, 0);
	info = neuron_public_empty(b, top, "info");
	neuron_public_dir(b, info, "architecture", neuron_public_core_arch,
			  ARRAY_SIZE(neuron_public_core_arch), 0);
	stats = neuron_public_empty(b, top, "stats");
	status = neuron_public_empty(b, stats, "status");
	other = neuron_public_empty(b, stats, "other_info");
	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++)
		neuron_public_dir(b, neuron_public_is_other(i) ? other : status,
				  neuron_status_name(i), neuron_public_status,
				  ARRAY_SIZE(neuron_public_status),
				  neuron_public_index(core, i));
	neuron_public_dir(b, other, "reset_req_count", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_RESETS));
	neuron_public_dir(b, other, "reset_fail_count", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_RESET_FAILURES));
	neuron_public_dir(b, other, "nc_time_in_use", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_BUSY_US));
	neuron_public_dir(b, stats, "tensor_engine", neuron_public_pe,
			  ARRAY_SIZE(neuron_public_pe), neuron_public_index(core, 0));
	if (!b->error)
		b->error = neuron_public_add_core_memory(stats, core);
}

static int neuron_public_build(struct neuron_public *tree)
{
	struct neuron_public_builder b = { .tree = tree };
	struct neuron_node *info, *stats;
	unsigned int i;

	info = neuron_public_top(&b, "info", neuron_public_info,
				 ARRAY_SIZE(neuron_public_info));
	neuron_public_dir(&b, info, "architecture", neuron_public_arch,
			  ARRAY_SIZE(neuron_public_arch), 0);
	stats = neuron_public_top(&b, "stats", NULL, 0);
	neuron_public_dir(&b, stats, "hardware", neuron_public_hardware,
			  ARRAY_SIZE(neuron_public_hardware), 0);
	neuron_public_dir(&b, stats, "power", neuron_public_utilization,
			  ARRAY_SIZE(neuron_public_utilization), 0);
	if (!b.error)
		b.error = neuron_public_add_host_memory(stats);
	for (i = 0; i < tree->ndev->gen->nr_cores; i++)
		neuron_public_add_core(&b, i);
	return b.error;
}

/* Nobody else makes devices of the class meanwhile. */
static int neuron_public_add_device(struct neuron_public *tree)
{
	struct neuron_device *ndev = tree->ndev;
	struct device *dev;
	char name[24];

	lockdep_assert_held(&neuron_public_lock);
	snprintf(name, sizeof(name), "neuron%u", ndev->fabric_id);
	dev = class_find_device_by_name(&neuron_public_class, name);
	if (dev) {
		put_device(dev);
		dev_warn(ndev->drm.dev, "another chip has fabric id %u: no public sysfs tree\n",
			 ndev->fabric_id);
		return -EEXIST;
	}
	tree->dev = device_create_with_groups(&neuron_public_class, NULL,
					      MKDEV(0, 0), tree,
					      neuron_public_groups, "%s", name);
	return PTR_ERR_OR_ZERO(tree->dev);
}

static void neuron_public_put_class(void)
{
	mutex_lock(&neuron_public_lock);
	if (!--neuron_public_users)
		class_unregister(&neuron_public_class);
	mutex_unlock(&neuron_public_lock);
}

static int neuron_public_get_class(struct neuron_public *tree)
{
	int ret = 0;

	mutex_lock(&neuron_public_lock);
	if (!neuron_public_users)
		ret = class_register(&neuron_public_class);
	if (!ret) {
		neuron_public_users++;
		ret = neuron_public_add_device(tree);
		if (ret && !--neuron_public_users)
			class_unregister(&neuron_public_class);
	}
	mutex_unlock(&neuron_public_lock);
	return ret;
}

static void neuron_public_remove(void *data)
{
	struct neuron_public *tree = data;

	neuron_public_power_stop(tree);
	while (tree->nr_nodes)
		neuron_node_remove(tree->node[--tree->nr_nodes]);
	device_unregister(tree->dev);
	neuron_public_put_class();
}

int neuron_public_sysfs_init(struct neuron_device *ndev)
{
	struct neuron_public *tree;
	int ret;

	if (!neuron_public_wanted)
		return 0;
	tree = devm_kzalloc(ndev->drm.dev, sizeof(*tree), GFP_KERNEL);
	if (!tree)
		return -ENOMEM;
	tree->ndev = ndev;
	neuron_public_power_init(tree);
	ret = neuron_public_get_class(tree);
	if (ret)
		return ret == -EEXIST ? 0 : ret;
	ret = devm_add_action_or_reset(ndev->drm.dev, neuron_public_remove,
				       tree);
	if (ret)
		return ret;
	ret = neuron_public_build(tree);
	if (ret)
		return ret;
	neuron_public_power_start(tree);
	return 0;
}
