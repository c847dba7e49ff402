// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of the public driver: memory by category. Host memory is the device's. A
 * stack of HBM is shown at the core that is nearest to it, at the first of several;
 * the others have none, so that the cores' numbers add up to the device's.
 */
#include <linux/sysfs.h>

#include "neuron_public.h"
#include "neuron_usage.h"

/* Names of the public driver, and of the same kind where it has none. */
static const char * const neuron_public_categories[] = {
	[DRM_NEURON_CATEGORY_NONE] = "uncategorized",
	[DRM_NEURON_CATEGORY_CODE] = "model_code",
	[DRM_NEURON_CATEGORY_TENSORS] = "tensors",
	[DRM_NEURON_CATEGORY_CONSTANTS] = "constants",
	[DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD] = "model_shared_scratchpad",
	[DRM_NEURON_CATEGORY_SCRATCHPAD] = "nonshared_scratchpad",
	[DRM_NEURON_CATEGORY_RUNTIME] = "runtime_memory",
	[DRM_NEURON_CATEGORY_DRIVER] = "driver_memory",
	[DRM_NEURON_CATEGORY_COLLECTIVES] = "collectives",
	[DRM_NEURON_CATEGORY_NOTIFICATIONS] = "notifications",
	[DRM_NEURON_CATEGORY_DMA_RINGS] = "dma_rings",
	[DRM_NEURON_CATEGORY_DMA_BUFFERS] = "dma_buffers",
	[DRM_NEURON_CATEGORY_APPLICATION] = "application_memory",
};

static_assert(ARRAY_SIZE(neuron_public_categories) == DRM_NEURON_NR_CATEGORIES);

/* The place of a core that shares its stack with an earlier one. */
#define NEURON_PUBLIC_NOWHERE	NEURON_NR_USAGE_PLACES

static unsigned long memory_index(unsigned int place, unsigned int category)
{
	return place * NEURON_NR_USAGE_CATEGORIES + category;
}

/* NULL: nowhere. */
static struct neuron_amount *memory_amount(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;
	unsigned int place = node->index / NEURON_NR_USAGE_CATEGORIES;
	unsigned int category = node->index % NEURON_NR_USAGE_CATEGORIES;

	if (place == NEURON_PUBLIC_NOWHERE)
		return NULL;
	return &tree->ndev->usage->amount[category][place];
}

static ssize_t memory_show(const struct neuron_node *node, unsigned long peak,
			   char *buf)
{
	struct neuron_amount *amount = memory_amount(node);
	s64 bytes = 0;

	if (amount)
		bytes = atomic64_read(peak ? &amount->peak : &amount->now);
	return sysfs_emit(buf, "%lld\n", bytes);
}

/* What is in use stays so; the peak begins anew with that. */
static void memory_reset(const struct neuron_node *node, unsigned long peak)
{
	struct neuron_amount *amount = memory_amount(node);

	if (amount)
		atomic64_set(&amount->peak, atomic64_read(&amount->now));
}

static const struct neuron_node_attr neuron_public_memory[] = {
	NEURON_NODE_RW("total", memory_show, memory_reset, 0),
	NEURON_NODE_RW("present", memory_show, memory_reset, 0),
	NEURON_NODE_RW("peak", memory_show, memory_reset, 1),
};

static struct neuron_node *
neuron_public_add_amount(struct neuron_node *parent, const char *name,
			 unsigned int place, unsigned int category)
{
	return neuron_node_add(parent, neuron_public_memory,
			       ARRAY_SIZE(neuron_public_memory), name,
			       memory_index(place, category));
}

static int neuron_public_add_place(struct neuron_node *stats, const char *name,
				   unsigned int place)
{
	struct neuron_node *node, *amount;
	unsigned int c;

	node = neuron_node_add(stats, NULL, 0, "memory_usage", 0);
	if (IS_ERR(node))
		return PTR_ERR(node);
	node = neuron_public_add_amount(node, name, place,
					NEURON_USAGE_ALL_CATEGORIES);
	if (IS_ERR(node))
		return PTR_ERR(node);
	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++) {
		amount = neuron_public_add_amount(node,
						  neuron_public_categories[c],
						  place, c);
		if (IS_ERR(amount))
			return PTR_ERR(amount);
	}
	return 0;
}

int neuron_public_add_host_memory(struct neuron_node *stats)
{
	return neuron_public_add_place(stats, "host_mem", NEURON_USAGE_HOST);
}

int neuron_public_add_core_memory(struct neuron_node *stats, unsigned int core)
{
	struct neuron_public *tree = stats->data;
	const struct neuron_gen *gen = tree->ndev->gen;
	unsigned int stack = neuron_core_stack(gen, core);

	if (core && neuron_core_stack(gen, core - 1) == stack)
		stack = NEURON_PUBLIC_NOWHERE;
	return neuron_public_add_place(stats, "device_mem", stack);
}
