// SPDX-License-Identifier: GPL-2.0-only
/*
 * The query ioctl.
 */
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_device.h"
#include "neuron_hbm.h"
#include "neuron_usage.h"

static void neuron_query_device(struct neuron_device *ndev,
				struct drm_neuron_device_info *info)
{
	const struct neuron_gen *gen = ndev->gen;
	u32 position = neuron_ctl_read(ndev, NEURON_CTL_POSITION);
	u32 features = neuron_ctl_read(ndev, NEURON_CTL_FEATURES);

	info->generation = gen->generation;
	info->nr_cores = gen->nr_cores;
	info->nr_hbm = gen->nr_hbm;
	info->nr_links = ndev->nr_links;
	info->fabric_id = ndev->fabric_id;
	info->fabric_chips = neuron_ctl_read(ndev, NEURON_CTL_FABRIC_CHIPS);
	info->rack = position >> 16 & 0xff;
	info->server = position >> 8 & 0xff;
	info->chip = position & 0xff;
	info->routing_id = neuron_misc_read(ndev, NEURON_MISC_ROUTING_ID);
	info->pci_domain = pci_domain_nr(ndev->pdev->bus);
	info->pci_bus = ndev->pdev->bus->number;
	info->pci_devfn = ndev->pdev->devfn;
	info->numa_node = dev_to_node(&ndev->pdev->dev);
	info->features = features & NEURON_CTL_FEATURE_CLOCK ? 1 : 0;
	info->serial = ndev->serial;
	strscpy(info->name, gen->device_name, sizeof(info->name));
	strscpy(info->core_arch, gen->core_arch, sizeof(info->core_arch));
}

static void neuron_query_memory(struct neuron_device *ndev,
				struct drm_neuron_memory_info *info)
{
	struct neuron_hbm_stats stats;
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		neuron_hbm_get_stats(ndev, i, &stats);
		info[i].size = stats.size;
		info[i].usable = stats.usable;
		info[i].used = stats.used;
	}
}

static void neuron_query_cores(struct neuron_device *ndev,
			       struct drm_neuron_core_info *info)
{
	const struct neuron_gen *gen = ndev->gen;
	unsigned int i;

	for (i = 0; i < gen->nr_cores; i++) {
		struct neuron_core *core = &ndev->core[i];

		info[i].hbm = i * gen->nr_hbm / gen->nr_cores;
		info[i].busy_ns =
			neuron_ctl_read64(ndev, NEURON_CTL_CORE(i) +
						NEURON_CORE_BUSY_NS);
		info[i].jobs = neuron_core_read(core, NEURON_CORE_JOBS);
		info[i].status = neuron_core_read(core, NEURON_CORE_STATUS);

		mutex_lock(&ndev->claim_lock);
		if (core->owner_pid)
			info[i].owner_pid = pid_vnr(core->owner_pid);
		mutex_unlock(&ndev->claim_lock);
	}
}

static void neuron_query_links(struct neuron_device *ndev,
			       struct drm_neuron_link_info *info)
{
	unsigned int i;

	for (i = 0; i < ndev->nr_links; i++)
		neuron_device_read_link(ndev, i, &info[i]);
}

static int neuron_query_size(struct neuron_device *ndev, u32 type)
{
	switch (type) {
	case DRM_NEURON_QUERY_DEVICE:
		return sizeof(struct drm_neuron_device_info);
	case DRM_NEURON_QUERY_MEMORY:
		return ndev->gen->nr_hbm *
		       sizeof(struct drm_neuron_memory_info);
	case DRM_NEURON_QUERY_CORES:
		return ndev->gen->nr_cores *
		       sizeof(struct drm_neuron_core_info);
	case DRM_NEURON_QUERY_LINKS:
		return ndev->nr_links * sizeof(struct drm_neuron_link_info);
	case DRM_NEURON_QUERY_USAGE:
		return DRM_NEURON_NR_CATEGORIES *
		       sizeof(struct drm_neuron_usage_info);
	}
	return -EINVAL;
}

static int neuron_query_fill(struct neuron_device *ndev, u32 type, void *answer)
{
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;

	switch (type) {
	case DRM_NEURON_QUERY_DEVICE:
		neuron_query_device(ndev, answer);
		break;
	case DRM_NEURON_QUERY_MEMORY:
		neuron_query_memory(ndev, answer);
		break;
	case DRM_NEURON_QUERY_CORES:
		neuron_query_cores(ndev, answer);
		break;
	case DRM_NEURON_QUERY_LINKS:
		neuron_query_links(ndev, answer);
		break;
	case DRM_NEURON_QUERY_USAGE:
		neuron_usage_query(ndev, answer);
		break;
	}

	drm_dev_exit(idx);
	return 0;
}

int neuron_ioctl_query(struct drm_device *drm, void *data,
		       struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct drm_neuron_query *args = data;
	int size = neuron_query_size(ndev, args->type);
	void *answer;
	int ret;

	if (size < 0 || args->pad || args->pad2) {
		drm_dbg(drm, "query type %u\n", args->type);
		return -EINVAL;
	}
	if (!args->pointer) {
		args->size = size;
		return 0;
	}

	answer = kzalloc(size, GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	ret = neuron_query_fill(ndev, args->type, answer);
	if (!ret && copy_to_user(u64_to_user_ptr(args->pointer), answer,
				 min_t(u32, args->size, size)))
		ret = -EFAULT;
	kfree(answer);
	args->size = size;
	return ret;
}
