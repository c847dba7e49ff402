// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: the state of the allocators, the copy queues and the cores.
 */
#include <linux/seq_file.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_hbm.h"
#include "neuron_usage.h"

static struct neuron_device *neuron_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_neuron_device(entry->dev);
}

/* Freed memory is scrubbed first: what is used then, somebody holds. */
static int neuron_debugfs_hbm(struct seq_file *m, void *data)
{
	struct neuron_device *ndev = neuron_debugfs_device(m);
	struct neuron_hbm_stats stats;
	unsigned int i;

	neuron_hbm_flush(ndev);
	seq_puts(m, "stack size usable used scrubbing lost\n");
	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		neuron_hbm_get_stats(ndev, i, &stats);
		seq_printf(m, "%u %llu %llu %llu %llu %llu\n", i, stats.size,
			   stats.usable, stats.used, stats.scrubbing,
			   stats.lost);
	}
	return 0;
}

static int neuron_debugfs_usage(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	neuron_usage_print(neuron_debugfs_device(m), &p);
	return 0;
}

static int neuron_debugfs_copy(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	neuron_copy_debugfs(neuron_debugfs_device(m), &p);
	return 0;
}

static int neuron_debugfs_claims(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	neuron_claims_dump(neuron_debugfs_device(m), &p);
	return 0;
}

void neuron_debugfs_init(struct neuron_device *ndev)
{
	drm_debugfs_add_file(&ndev->drm, "hbm", neuron_debugfs_hbm, NULL);
	drm_debugfs_add_file(&ndev->drm, "usage", neuron_debugfs_usage, NULL);
	drm_debugfs_add_file(&ndev->drm, "copy", neuron_debugfs_copy, NULL);
	drm_debugfs_add_file(&ndev->drm, "claims", neuron_debugfs_claims, NULL);
}
