// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories of the PCI device: links/<number>, for each link of the fabric, and
 * dma/<number>, for each DMA engine. Reading them does not wake the device.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/sysfs.h>

#include "neuron_monitor.h"
#include "neuron_node.h"

/* What is a u32 of drm_neuron_link_info; @offset: in it. */
static ssize_t neuron_link_show(const struct neuron_node *node,
				unsigned long offset, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look *look;
	u32 value;

	look = neuron_look_begin(ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	value = *(const u32 *)((const void *)&look->link[node->index] + offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%u\n", value);
}

/* @offset: in struct neuron_look_link */
static ssize_t neuron_link_count_show(const struct neuron_node *node,
				      unsigned long offset, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look *look;
	u64 value;

	look = neuron_look_begin(ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	value = *(const u64 *)((const void *)&look->link_sum[node->index] +
			       offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%llu\n", value);
}

#define NEURON_LINK_INFO(name, member) \
	NEURON_NODE_RO(name, neuron_link_show, \
		       offsetof(struct drm_neuron_link_info, member))
#define NEURON_LINK_COUNT(name, member) \
	NEURON_NODE_RO(name, neuron_link_count_show, \
		       offsetof(struct neuron_look_link, member))

static const struct neuron_node_attr neuron_link_attrs[] = {
	NEURON_LINK_INFO("peer", peer),
	NEURON_LINK_INFO("state", state),
	NEURON_LINK_INFO("width", width),
	NEURON_LINK_INFO("mbps", mbps),
	NEURON_LINK_COUNT("bytes_sent", sent),
	NEURON_LINK_COUNT("bytes_received", received),
	NEURON_LINK_COUNT("errors", errors),
};

/* Of all queues of the engine; @offset: in struct neuron_look_queue */
static ssize_t neuron_engine_show(const struct neuron_node *node,
				  unsigned long offset, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look *look;
	unsigned int i;
	u64 sum = 0;

	look = neuron_look_begin_queues(ndev, node->index);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < NEURON_UDMA_QUEUES; i++)
		sum += *(const u64 *)((const void *)&look->queue_sum[node->index][i] +
				      offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%llu\n", sum);
}

#define NEURON_ENGINE_COUNT(name) \
	NEURON_NODE_RO(#name, neuron_engine_show, \
		       offsetof(struct neuron_look_queue, name))

static const struct neuron_node_attr neuron_engine_attrs[] = {
	NEURON_ENGINE_COUNT(descriptors),
	NEURON_ENGINE_COUNT(bytes),
};

static void neuron_traffic_remove(void *data)
{
	neuron_node_remove(data);
}

/*
 * A directory that is removed with the device, with @nr directories in it, named by their
 * number.
 */
static int neuron_traffic_add(struct neuron_device *ndev, const char *name,
			      unsigned int nr,
			      const struct neuron_node_attr *attrs,
			      size_t nr_attrs)
{
	struct device *dev = ndev->drm.dev;
	struct neuron_node *node, *child;
	unsigned int i;
	char number[16];
	int ret;

	node = neuron_node_create(&dev->kobj, ndev, NULL, 0, name);
	if (IS_ERR(node))
		return PTR_ERR(node);
	ret = devm_add_action_or_reset(dev, neuron_traffic_remove, node);
	for (i = 0; !ret && i < nr; i++) {
		snprintf(number, sizeof(number), "%u", i);
		child = neuron_node_add(node, attrs, nr_attrs, number, i);
		ret = PTR_ERR_OR_ZERO(child);
	}
	return ret;
}

int neuron_sysfs_traffic_init(struct neuron_device *ndev)
{
	int ret;

	ret = neuron_traffic_add(ndev, "links", ndev->nr_links,
				 neuron_link_attrs,
				 ARRAY_SIZE(neuron_link_attrs));
	if (ret)
		return ret;
	return neuron_traffic_add(ndev, "dma", ndev->gen->nr_dma,
				  neuron_engine_attrs,
				  ARRAY_SIZE(neuron_engine_attrs));
}
