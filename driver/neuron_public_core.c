// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of the public driver: cores.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/sysfs.h>

#include "neuron_monitor.h"
#include "neuron_public.h"

static ssize_t core_arch_show(const struct neuron_node *node, unsigned long arg,
			      char *buf)
{
	const struct neuron_public *tree = node->data;

	return sysfs_emit(buf, "%s\n", tree->ndev->gen->core_arch);
}

const struct neuron_node_attr neuron_public_core_arch[] = {
	NEURON_NODE_RO("arch_type", core_arch_show, 0),
};

/* What owners of a core post; @arg: of the present owner only. */

static ssize_t status_show(const struct neuron_node *node, unsigned long present,
			   char *buf)
{
	struct neuron_status *status = &neuron_public_core(node)->status;
	unsigned int i = node->index % DRM_NEURON_NR_STATUS_COUNTERS;

	return sysfs_emit(buf, "%llu\n",
			  (u64)atomic64_read(present ? &status->present[i] :
					     &status->total[i]));
}

static void status_reset(const struct neuron_node *node, unsigned long present)
{
	neuron_status_clear(&neuron_public_core(node)->status,
			    node->index % DRM_NEURON_NR_STATUS_COUNTERS);
}

const struct neuron_node_attr neuron_public_status[] = {
	NEURON_NODE_RW("total", status_show, status_reset, 0),
	NEURON_NODE_RW("present", status_show, status_reset, 1),
};

/* What the driver counts of a core. */

static u64 neuron_public_count(const struct neuron_node *node)
{
	struct neuron_core_stats stats;

	neuron_core_get_stats(neuron_public_core(node), &stats);
	switch (node->index % DRM_NEURON_NR_STATUS_COUNTERS) {
	case NEURON_PUBLIC_RESETS:
		return stats.resets;
	case NEURON_PUBLIC_RESET_FAILURES:
		return stats.reset_failures;
	default:
		return div_u64(stats.busy_ns, NSEC_PER_USEC);
	}
}

static u64 *neuron_public_cleared(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;

	return &tree->cleared[node->index / DRM_NEURON_NR_STATUS_COUNTERS]
			     [node->index % DRM_NEURON_NR_STATUS_COUNTERS];
}

static ssize_t count_show(const struct neuron_node *node, unsigned long arg,
			  char *buf)
{
	return sysfs_emit(buf, "%llu\n", neuron_public_count(node) -
			  READ_ONCE(*neuron_public_cleared(node)));
}

static void count_reset(const struct neuron_node *node, unsigned long arg)
{
	WRITE_ONCE(*neuron_public_cleared(node), neuron_public_count(node));
}

const struct neuron_node_attr neuron_public_counts[] = {
	NEURON_NODE_RW("total", count_show, count_reset, 0),
	NEURON_NODE_RW("present", count_show, count_reset, 0),
};

/* Cycles of the PE array. */

static ssize_t pe_counters_show(const struct neuron_node *node,
				unsigned long arg, char *buf)
{
	struct neuron_core *core = neuron_public_core(node);
	const struct neuron_look_pe *row;
	const struct neuron_look *look;
	unsigned int i;
	int len;

	look = neuron_look_begin(core->ndev, NEURON_LOOK_PE);
	if (IS_ERR(look))
		return PTR_ERR(look);
	len = sysfs_emit(buf, "xrow_grp,mm_active,wl_active,idle\n");
	for (i = 0; i < NEURON_PE_ROW_GROUPS; i++) {
		row = &look->pe_raw[core->index][i];
		len += sysfs_emit_at(buf, len, "%u,%llu,%llu,%llu\n", i,
				     row->matmul, row->weights, row->idle);
	}
	neuron_look_end(core->ndev);
	return len;
}

const struct neuron_node_attr neuron_public_pe[] = {
	NEURON_NODE_RO("pe_cntrs", pe_counters_show, 0),
};
