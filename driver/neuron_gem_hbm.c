// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers in HBM of this chip. The CPU sees them through BAR4.
 */
#include <linux/slab.h>
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_gem.h"
#include "neuron_hbm.h"
#include "neuron_usage.h"

struct neuron_hbm_bo {
	struct neuron_bo bo;
	struct neuron_hbm_alloc *memory;
};

static struct neuron_hbm_bo *to_hbm_bo(struct neuron_bo *bo)
{
	return container_of(bo, struct neuron_hbm_bo, bo);
}

static void neuron_hbm_bo_free(struct drm_gem_object *obj)
{
	struct neuron_hbm_bo *hbo = to_hbm_bo(to_neuron_bo(obj));

	neuron_bo_fini(&hbo->bo);
	neuron_hbm_free(hbo->memory);
	kfree(hbo);
}

static const struct drm_gem_object_funcs neuron_hbm_bo_funcs = {
	.free = neuron_hbm_bo_free,
	.export = neuron_gem_prime_export,
	.mmap = neuron_gem_mmap,
	.vm_ops = &neuron_gem_vm_ops,
};

unsigned long neuron_hbm_bo_pages(struct neuron_bo *bo, pgoff_t page,
				  unsigned long *pfn)
{
	struct neuron_device *ndev = to_neuron_device(bo->base.dev);
	u64 offset = (u64)page << PAGE_SHIFT;
	unsigned int i;

	for (i = 0; i < bo->nr_extents; i++) {
		u64 addr = le64_to_cpu(bo->extents[i].addr);
		u64 length = le64_to_cpu(bo->extents[i].length);

		if (offset < length) {
			*pfn = PHYS_PFN(neuron_hbm_phys(ndev, bo->stack,
							addr + offset));
			return (length - offset) >> PAGE_SHIFT;
		}
		offset -= length;
	}
	return 0;
}

struct neuron_bo *neuron_hbm_bo_create(struct neuron_device *ndev,
				       unsigned int stack, size_t size,
				       u32 category)
{
	struct neuron_hbm_bo *hbo;
	int ret;

	hbo = kzalloc(sizeof(*hbo), GFP_KERNEL_ACCOUNT);
	if (!hbo)
		return ERR_PTR(-ENOMEM);

	hbo->memory = neuron_hbm_alloc(ndev, stack, size);
	if (IS_ERR(hbo->memory)) {
		ret = PTR_ERR(hbo->memory);
		drm_dbg(&ndev->drm, "no %zu bytes in HBM %u: %d\n", size, stack,
			ret);
		kfree(hbo);
		if (ret == -ENOSPC)
			neuron_usage_report_full(ndev, stack, size);
		return ERR_PTR(ret);
	}

	hbo->bo.kind = NEURON_BO_HBM;
	hbo->bo.stack = stack;
	hbo->bo.category = category;
	hbo->bo.extents = hbo->memory->extents;
	hbo->bo.nr_extents = hbo->memory->nr_extents;
	neuron_bo_init(ndev, &hbo->bo, &neuron_hbm_bo_funcs, size);
	return &hbo->bo;
}
