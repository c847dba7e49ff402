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
#include "neuron_hbm.h"
#include "neuron_hw.h"
#include "neuron_usage.h"

/* Readings of which the tightest counts. */
#define NEURON_CLOCK_TRIES	4

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

static void neuron_query_core(struct neuron_core *core,
			      struct drm_neuron_core_info *info)
{
	struct neuron_device *ndev = core->ndev;

	info->hbm = neuron_core_stack(ndev->gen, core->tpb->index);
	info->busy_ns = neuron_ctl_read64(ndev, core->regs + NEURON_CORE_BUSY_NS);
	info->jobs = neuron_core_read(core, NEURON_CORE_JOBS);
	info->status = neuron_core_read(core, NEURON_CORE_STATUS);

	mutex_lock(&ndev->claim_lock);
	if (core->tpb->owner_pid)
		info->owner_pid = pid_vnr(core->tpb->owner_pid);
	mutex_unlock(&ndev->claim_lock);
}

static void neuron_query_cores(struct neuron_device *ndev,
			       struct drm_neuron_core_info *info)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		neuron_query_core(&ndev->core[i], &info[i]);
}

static void neuron_query_cc_cores(struct neuron_device *ndev,
				  struct drm_neuron_core_info *info)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_top_sp_ids; i++)
		neuron_query_core(&ndev->core[NEURON_MAX_CORES + i], &info[i]);
}

static void neuron_query_links(struct neuron_device *ndev,
			       struct drm_neuron_link_info *info)
{
	unsigned int i;

	for (i = 0; i < ndev->nr_links; i++)
		neuron_device_read_link(ndev, i, &info[i]);
}

/*
 * Device time, and the host's in the middle of that. Return: how long it took, or
 * U64_MAX when the high word changed meanwhile.
 */
static u64 neuron_clock_read(struct neuron_device *ndev, u64 *device, u64 *host)
{
	u32 high = neuron_ctl_read(ndev, NEURON_CTL_TIME + 4);
	u64 begin = ktime_get_ns();
	u32 low = neuron_ctl_read(ndev, NEURON_CTL_TIME);
	u64 end = ktime_get_ns();

	if (neuron_ctl_read(ndev, NEURON_CTL_TIME + 4) != high)
		return U64_MAX;
	*device = (u64)high << 32 | low;
	*host = begin + (end - begin) / 2;
	return end - begin;
}

static int neuron_query_clocks(struct neuron_device *ndev,
			       struct drm_neuron_clock_info *info)
{
	u64 best = U64_MAX, apart, device, host;
	unsigned int i;

	for (i = 0; i < NEURON_CLOCK_TRIES; i++) {
		apart = neuron_clock_read(ndev, &device, &host);
		if (apart >= best)
			continue;
		best = apart;
		info->device_ns = device;
		info->host_ns = host;
	}
	info->engine_khz = ndev->gen->clock_khz[NEURON_ENGINE_SCALAR];
	info->throttle = neuron_ctl_read(ndev, NEURON_CTL_THROTTLE);
	/* The high word is good for four seconds: a device that lies. */
	return best == U64_MAX ? -EIO : 0;
}

static void neuron_query_ecc(struct neuron_device *ndev, u32 reg,
			     u64 *corrected, u64 *uncorrected)
{
	u32 errors = neuron_misc_read(ndev, reg);

	*corrected += NEURON_GET(NEURON_MISC_ECC_CORRECTED, errors);
	*uncorrected += NEURON_GET(NEURON_MISC_ECC_UNCORRECTED, errors);
}

static void neuron_query_counters(struct neuron_device *ndev,
				  struct drm_neuron_counter_info *info)
{
	struct neuron_counters *counters = &ndev->counters;
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_hbm; i++)
		neuron_query_ecc(ndev, NEURON_MISC_HBM_ECC(i),
				 &info->hbm_corrected, &info->hbm_uncorrected);
	neuron_query_ecc(ndev, NEURON_MISC_SRAM_ECC, &info->sram_corrected,
			 &info->sram_uncorrected);
	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		info->violations += neuron_core_read(neuron_unit(ndev, i),
						     NEURON_CORE_VIOLATIONS);
		info->stale_posts += neuron_core_read(neuron_unit(ndev, i),
						      NEURON_CORE_STALE_POSTS);
	}
	info->faults = atomic64_read(&counters->faults);
	info->hangs = atomic64_read(&counters->hangs);
	info->core_resets = atomic64_read(&counters->core_resets);
	info->device_resets = atomic64_read(&counters->device_resets);
	info->reset_failures = atomic64_read(&counters->reset_failures);
	info->lost_interrupts = atomic64_read(&counters->lost_interrupts);
	info->copy_errors = atomic64_read(&counters->copy_errors);
	info->link_changes = atomic64_read(&counters->link_changes);
}

static void neuron_query_queues(struct neuron_device *ndev,
				struct drm_neuron_queue_info *info)
{
	const struct neuron_gen *gen = ndev->gen;
	unsigned int per_core = gen->nr_ring / gen->nr_cores;
	unsigned int i;

	for (i = 0; i < gen->nr_ring; i++) {
		info[i].dma_engine = i;
		info[i].core = i / per_core;
		info[i].ring = i % per_core;
		memset(info[i].owner, DRM_NEURON_QUEUE_CORE,
		       sizeof(info[i].owner));
	}
	for (; i < gen->nr_dma; i++) {
		info[i].dma_engine = i;
		info[i].core = U32_MAX;
		info[i].ring = U32_MAX;
	}
	for (i = 0; i < gen->nr_cores; i++) {
		unsigned int engine = neuron_copy_engine(gen, i);

		info[engine].core = min(info[engine].core, i);
		info[engine].owner[neuron_copy_queue(gen, i)] =
			DRM_NEURON_QUEUE_KERNEL;
	}
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
	case DRM_NEURON_QUERY_CC_CORES:
		return ndev->gen->nr_top_sp_ids *
		       sizeof(struct drm_neuron_core_info);
	case DRM_NEURON_QUERY_LINKS:
		return ndev->nr_links * sizeof(struct drm_neuron_link_info);
	case DRM_NEURON_QUERY_CLOCKS:
		return sizeof(struct drm_neuron_clock_info);
	case DRM_NEURON_QUERY_COUNTERS:
		return sizeof(struct drm_neuron_counter_info);
	case DRM_NEURON_QUERY_USAGE:
		return DRM_NEURON_NR_CATEGORIES *
		       sizeof(struct drm_neuron_usage_info);
	case DRM_NEURON_QUERY_QUEUES:
		return ndev->gen->nr_dma *
		       sizeof(struct drm_neuron_queue_info);
	}
	return -EINVAL;
}

/* While the device is being reset: wait. */
static int neuron_query_regs_get(struct neuron_device *ndev, int *idx)
{
	int ret;

	do {
		ret = neuron_hw_wait(ndev);
		if (ret)
			return ret;
		ret = neuron_regs_get(ndev, idx);
	} while (ret == -EIO);
	return ret;
}

/* What only the chip knows. */
static int neuron_query_hw(struct neuron_device *ndev, u32 type, void *answer)
{
	int idx, ret;

	ret = neuron_query_regs_get(ndev, &idx);
	if (ret)
		return ret;

	switch (type) {
	case DRM_NEURON_QUERY_DEVICE:
		neuron_query_device(ndev, answer);
		break;
	case DRM_NEURON_QUERY_CORES:
		neuron_query_cores(ndev, answer);
		break;
	case DRM_NEURON_QUERY_CC_CORES:
		neuron_query_cc_cores(ndev, answer);
		break;
	case DRM_NEURON_QUERY_LINKS:
		neuron_query_links(ndev, answer);
		break;
	case DRM_NEURON_QUERY_CLOCKS:
		ret = neuron_query_clocks(ndev, answer);
		break;
	default:
		neuron_query_counters(ndev, answer);
		break;
	}

	neuron_regs_put(ndev, idx);
	return ret;
}

/* What the driver knows, in any state of the hardware. */
static int neuron_query_driver(struct neuron_device *ndev, u32 type,
			       void *answer)
{
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;

	switch (type) {
	case DRM_NEURON_QUERY_MEMORY:
		neuron_query_memory(ndev, answer);
		break;
	case DRM_NEURON_QUERY_USAGE:
		neuron_usage_query(ndev, answer);
		break;
	default:
		neuron_query_queues(ndev, answer);
		break;
	}

	drm_dev_exit(idx);
	return 0;
}

/* @type: one that neuron_query_size() knows */
static int neuron_query_fill(struct neuron_device *ndev, u32 type, void *answer)
{
	switch (type) {
	case DRM_NEURON_QUERY_MEMORY:
	case DRM_NEURON_QUERY_USAGE:
	case DRM_NEURON_QUERY_QUEUES:
		return neuron_query_driver(ndev, type, answer);
	default:
		return neuron_query_hw(ndev, type, answer);
	}
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
