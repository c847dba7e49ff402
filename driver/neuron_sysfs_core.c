// SPDX-License-Identifier: GPL-2.0-only
/*
 * A directory for each core in that of the PCI device: core<i>, with the
 * driver's own counts, core<i>/status, with what its owners posted, and
 * core<i>/tensor, with the activity of its tensor engine.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/sysfs.h>

#include "neuron_monitor.h"
#include "neuron_node.h"

static ssize_t neuron_core_stat_show(const struct neuron_node *node,
				     unsigned long offset, char *buf)
{
	struct neuron_core_stats stats;

	neuron_core_get_stats(node->data, &stats);
	return sysfs_emit(buf, "%llu\n", *(u64 *)((void *)&stats + offset));
}

#define NEURON_CORE_STAT(name) \
	NEURON_NODE_RO(#name, neuron_core_stat_show, \
		       offsetof(struct neuron_core_stats, name))

static const struct neuron_node_attr neuron_core_attrs[] = {
	NEURON_CORE_STAT(jobs),
	NEURON_CORE_STAT(busy_ns),
	NEURON_CORE_STAT(faults),
	NEURON_CORE_STAT(hangs),
	NEURON_CORE_STAT(resets),
	NEURON_CORE_STAT(reset_failures),
};

static ssize_t neuron_core_status_show(const struct neuron_node *node,
				       unsigned long counter, char *buf)
{
	struct neuron_core *core = node->data;

	return sysfs_emit(buf, "%llu\n",
			  (u64)atomic64_read(&core->status.total[counter]));
}

static void neuron_core_status_reset(const struct neuron_node *node,
				     unsigned long counter)
{
	struct neuron_core *core = node->data;

	neuron_status_clear(&core->status, counter);
}

/* Cycles of each row group; the device sleeps on. */
static ssize_t neuron_core_tensor_show(const struct neuron_node *node,
				       unsigned long offset, char *buf)
{
	struct neuron_core *core = node->data;
	const struct neuron_look *look;
	unsigned int row;
	int len = 0;

	look = neuron_look_begin(core->ndev, NEURON_LOOK_PE);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (row = 0; row < NEURON_PE_ROW_GROUPS; row++)
		len += sysfs_emit_at(buf, len, "%llu%c",
				     *(const u64 *)((const void *)&look->pe_sum[core->index][row] +
						    offset),
				     row + 1 < NEURON_PE_ROW_GROUPS ? ' ' : '\n');
	neuron_look_end(core->ndev);
	return len;
}

#define NEURON_CORE_TENSOR(name) \
	NEURON_NODE_RO(#name "_cycles", neuron_core_tensor_show, \
		       offsetof(struct neuron_look_pe, name))

static const struct neuron_node_attr neuron_core_tensor_attrs[] = {
	NEURON_CORE_TENSOR(matmul),
	NEURON_CORE_TENSOR(weights),
	NEURON_CORE_TENSOR(idle),
};

/* The names are in a table: files are made from it. */
static struct neuron_node_attr *neuron_core_status_attrs(struct device *dev)
{
	struct neuron_node_attr *attrs;
	unsigned int i;

	attrs = devm_kcalloc(dev, DRM_NEURON_NR_STATUS_COUNTERS, sizeof(*attrs),
			     GFP_KERNEL);
	if (!attrs)
		return NULL;
	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++) {
		sysfs_attr_init(&attrs[i].attr);
		attrs[i].attr.name = neuron_status_name(i);
		attrs[i].attr.mode = 0644;
		attrs[i].show = neuron_core_status_show;
		attrs[i].reset = neuron_core_status_reset;
		attrs[i].arg = i;
	}
	return attrs;
}

static void neuron_sysfs_remove_core(void *data)
{
	neuron_node_remove(data);
}

static int neuron_sysfs_add_core(struct neuron_core *core,
				 const struct neuron_node_attr *status_attrs)
{
	struct device *dev = core->ndev->drm.dev;
	struct neuron_node *node, *child;
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "core%u", core->index);
	node = neuron_node_create(&dev->kobj, core, neuron_core_attrs,
				  ARRAY_SIZE(neuron_core_attrs), name);
	if (IS_ERR(node))
		return PTR_ERR(node);
	ret = devm_add_action_or_reset(dev, neuron_sysfs_remove_core, node);
	if (ret)
		return ret;
	child = neuron_node_add(node, status_attrs,
				DRM_NEURON_NR_STATUS_COUNTERS, "status", 0);
	if (IS_ERR(child))
		return PTR_ERR(child);
	child = neuron_node_add(node, neuron_core_tensor_attrs,
				ARRAY_SIZE(neuron_core_tensor_attrs), "tensor",
				0);
	return PTR_ERR_OR_ZERO(child);
}

int neuron_sysfs_init(struct neuron_device *ndev)
{
	const struct neuron_node_attr *attrs;
	unsigned int i;
	int ret;

	attrs = neuron_core_status_attrs(ndev->drm.dev);
	if (!attrs)
		return -ENOMEM;
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		ret = neuron_sysfs_add_core(&ndev->core[i], attrs);
		if (ret)
			return ret;
	}
	return neuron_sysfs_traffic_init(ndev);
}
