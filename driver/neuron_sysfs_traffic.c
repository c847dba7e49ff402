// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories of the PCI device: links/<number>, for each link of the fabric, and dma,
 * with a file for each DMA engine. Reading them does not wake the device.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/sysfs.h>

#include "neuron_look.h"
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

/* A line for each queue that has moved something. */
static ssize_t neuron_engine_show(const struct neuron_node *node,
				  unsigned long engine, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look_queue *queue;
	const struct neuron_look *look;
	unsigned int i;
	int len = 0;

	look = neuron_look_begin_queues(ndev, engine);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < NEURON_UDMA_QUEUES; i++) {
		queue = &look->queue_sum[engine][i];
		if (queue->descriptors)
			len += sysfs_emit_at(buf, len, "%u %llu %llu\n", i,
					     queue->descriptors, queue->bytes);
	}
	neuron_look_end(ndev);
	return len;
}

static void neuron_traffic_remove(void *data)
{
	neuron_node_remove(data);
}

/* A directory that is removed with the device. */
static struct neuron_node *
neuron_traffic_dir(struct neuron_device *ndev, const char *name,
		   const struct neuron_node_attr *attrs, size_t nr)
{
	struct device *dev = ndev->drm.dev;
	struct neuron_node *node;
	int ret;

	node = neuron_node_create(&dev->kobj, ndev, attrs, nr, name);
	if (IS_ERR(node))
		return node;
	ret = devm_add_action_or_reset(dev, neuron_traffic_remove, node);
	return ret ? ERR_PTR(ret) : node;
}

static int neuron_traffic_links(struct neuron_device *ndev)
{
	struct neuron_node *links, *link;
	unsigned int i;
	char name[16];

	links = neuron_traffic_dir(ndev, "links", NULL, 0);
	if (IS_ERR(links))
		return PTR_ERR(links);
	for (i = 0; i < ndev->nr_links; i++) {
		snprintf(name, sizeof(name), "%u", i);
		link = neuron_node_add(links, neuron_link_attrs,
				       ARRAY_SIZE(neuron_link_attrs), name, i);
		if (IS_ERR(link))
			return PTR_ERR(link);
	}
	return 0;
}

static int neuron_traffic_engines(struct neuron_device *ndev)
{
	unsigned int i, nr = ndev->gen->nr_dma;
	struct device *dev = ndev->drm.dev;
	struct neuron_node_attr *attrs;

	attrs = devm_kcalloc(dev, nr, sizeof(*attrs), GFP_KERNEL);
	if (!attrs)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		sysfs_attr_init(&attrs[i].attr);
		attrs[i].attr.name = devm_kasprintf(dev, GFP_KERNEL, "%u", i);
		if (!attrs[i].attr.name)
			return -ENOMEM;
		attrs[i].attr.mode = 0444;
		attrs[i].show = neuron_engine_show;
		attrs[i].arg = i;
	}
	return PTR_ERR_OR_ZERO(neuron_traffic_dir(ndev, "dma", attrs, nr));
}

int neuron_sysfs_traffic_init(struct neuron_device *ndev)
{
	int ret = neuron_traffic_links(ndev);

	return ret ?: neuron_traffic_engines(ndev);
}
