// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers of user memory: the pages of the process itself, pinned for as long as
 * the buffer lives, or the device. The process goes on using them, so the device
 * must reach these very pages: nothing bounces, nothing is synchronised.
 *
 * Faulting the pages in may take for ever (a file system or a handler in user
 * space answers). So it happens outside of drm_dev_enter(), and ends with a
 * fatal signal.
 */
#include <linux/capability.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_gem.h"

/* Pages pinned at a time. */
#define NEURON_PIN_BATCH	512ul

/* Nothing is synced: a page may be in several buffers, and the process goes on using it. */
#define NEURON_USER_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/**
 * struct neuron_user_bo - buffer of user memory
 * @bo: buffer
 * @mm: its process, charged with @nr_pages; NULL: not charged (any more)
 * @nr_pages: pages
 * @pages: room for them
 * @pinned: how many of them are there; 0 when given back
 * @sgt: their mapping, neighbours joined
 * @mapped: @sgt is mapped
 */
struct neuron_user_bo {
	struct neuron_bo bo;
	struct mm_struct *mm;
	unsigned long nr_pages;
	struct page **pages;
	unsigned long pinned;
	struct sg_table sgt;
	bool mapped;
};

static struct neuron_user_bo *to_user_bo(struct neuron_bo *bo)
{
	return container_of(bo, struct neuron_user_bo, bo);
}

/* The device may write, as far as the DMA layer and the pages are concerned. */
static bool neuron_user_is_writable(const struct neuron_user_bo *ubo)
{
	return !neuron_bo_is_read_only(&ubo->bo);
}

static enum dma_data_direction neuron_user_dir(const struct neuron_user_bo *ubo)
{
	return neuron_user_is_writable(ubo) ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

/* RLIMIT_MEMLOCK, in the account that RDMA and iommufd count in too. */
static int neuron_user_charge(struct neuron_user_bo *ubo)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (atomic64_add_return(ubo->nr_pages, &mm->pinned_vm) > limit &&
	    !capable(CAP_IPC_LOCK)) {
		atomic64_sub(ubo->nr_pages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	ubo->mm = mm;
	return 0;
}

static void neuron_user_uncharge(struct neuron_user_bo *ubo)
{
	if (!ubo->mm)
		return;
	atomic64_sub(ubo->nr_pages, &ubo->mm->pinned_vm);
	mmdrop(ubo->mm);
	ubo->mm = NULL;
}

static int neuron_user_pin(struct neuron_user_bo *ubo, u64 addr)
{
	unsigned int flags = FOLL_LONGTERM |
			     (neuron_user_is_writable(ubo) ? FOLL_WRITE : 0);
	int got;

	ubo->pages = kvmalloc_array(ubo->nr_pages, sizeof(*ubo->pages),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ubo->pages)
		return -ENOMEM;
	while (ubo->pinned < ubo->nr_pages) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = pin_user_pages_fast(addr + (ubo->pinned << PAGE_SHIFT),
					  min(ubo->nr_pages - ubo->pinned,
					      NEURON_PIN_BATCH),
					  flags, ubo->pages + ubo->pinned);
		if (got <= 0)
			return got ?: -EFAULT;
		ubo->pinned += got;
		cond_resched();
	}
	return 0;
}

static int neuron_user_fill_extents(struct neuron_device *ndev,
				    struct neuron_user_bo *ubo)
{
	struct neuron_bo *bo = &ubo->bo;
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	for_each_sgtable_dma_sg(&ubo->sgt, sg, i) {
		ret = neuron_pause_at(i);
		if (ret)
			return ret;
		neuron_bo_add_extent(bo,
				     neuron_host_addr(ndev, sg_dma_address(sg)),
				     sg_dma_len(sg));
	}
	return 0;
}

/*
 * Behind an IOMMU many pages become few extents: then the buffer keeps no room for many. Nobody
 * else knows the buffer yet, but for its removal, which does not look at the extents.
 */
static void neuron_user_trim_extents(struct neuron_bo *bo, unsigned int room)
{
	struct neuron_hw_extent *extents;

	if (bo->nr_extents > room / 2)
		return;
	extents = kvmalloc_array(bo->nr_extents, sizeof(*extents),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!extents)
		return;
	memcpy(extents, bo->extents, bo->nr_extents * sizeof(*extents));
	kvfree(bo->extents);
	bo->extents = extents;
}

/*
 * The removal of any DRM device waits for what is inside drm_dev_enter(), so the extents, which can
 * be many, get their memory before: the mapping has at most as many pieces as the pages. The
 * removal of this one finds the buffer in the list afterwards.
 */
static int neuron_user_map(struct neuron_device *ndev,
			   struct neuron_user_bo *ubo)
{
	unsigned int room;
	int ret, idx;

	ret = sg_alloc_table_from_pages_segment(&ubo->sgt, ubo->pages,
						ubo->pinned, 0,
						ubo->bo.base.size, UINT_MAX,
						GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	room = ubo->sgt.orig_nents;
	ubo->bo.extents = kvmalloc_array(room, sizeof(*ubo->bo.extents),
					 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ubo->bo.extents)
		return -ENOMEM;
	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;
	ret = dma_map_sgtable(&ndev->pdev->dev, &ubo->sgt,
			      neuron_user_dir(ubo), NEURON_USER_DMA_ATTRS);
	if (!ret) {
		ubo->mapped = true;
		ret = neuron_user_fill_extents(ndev, ubo);
		neuron_gem_host_add(ndev, &ubo->bo);
	}
	drm_dev_exit(idx);
	if (!ret)
		neuron_user_trim_extents(&ubo->bo, room);
	return ret;
}

void neuron_user_bo_unmap(struct neuron_bo *bo)
{
	struct neuron_user_bo *ubo = to_user_bo(bo);

	if (ubo->mapped)
		dma_unmap_sgtable(bo->base.dev->dev, &ubo->sgt,
				  neuron_user_dir(ubo), NEURON_USER_DMA_ATTRS);
	ubo->mapped = false;
	sg_free_table(&ubo->sgt);
}

void neuron_user_bo_unpin(struct neuron_bo *bo)
{
	struct neuron_user_bo *ubo = to_user_bo(bo);
	unsigned long nr;

	while (ubo->pinned) {
		nr = min(ubo->pinned, NEURON_PIN_BATCH);
		ubo->pinned -= nr;
		unpin_user_pages_dirty_lock(ubo->pages + ubo->pinned, nr,
					    neuron_user_is_writable(ubo));
		cond_resched();
	}
	kvfree(ubo->pages);
	ubo->pages = NULL;
	neuron_user_uncharge(ubo);
}

static void neuron_user_bo_free(struct drm_gem_object *obj)
{
	struct neuron_user_bo *ubo = to_user_bo(to_neuron_bo(obj));

	neuron_bo_fini(&ubo->bo);
	neuron_gem_host_remove(to_neuron_device(obj->dev), &ubo->bo);
	neuron_user_bo_unpin(&ubo->bo);
	kvfree(ubo->bo.extents);
	kfree(ubo);
}

/* It belongs to the process: others have no business with it. */
static struct dma_buf *neuron_user_bo_export(struct drm_gem_object *obj,
					     int flags)
{
	drm_dbg(obj->dev, "buffers of user memory are not exported\n");
	return ERR_PTR(-EOPNOTSUPP);
}

static const struct drm_gem_object_funcs neuron_user_bo_funcs = {
	.free = neuron_user_bo_free,
	.export = neuron_user_bo_export,
};

struct neuron_bo *neuron_user_bo_create(struct neuron_device *ndev,
					const struct drm_neuron_bo_import *args)
{
	struct neuron_user_bo *ubo;
	int ret;

	/* A limit means bounce buffers: copies, not the pages themselves. */
	if (dma_max_mapping_size(&ndev->pdev->dev) != SIZE_MAX) {
		drm_dbg(&ndev->drm, "the device may need bounce buffers\n");
		return ERR_PTR(-EOPNOTSUPP);
	}
	if (args->size >> PAGE_SHIFT > totalram_pages())
		return ERR_PTR(-ENOMEM);

	ubo = kzalloc(sizeof(*ubo), GFP_KERNEL_ACCOUNT);
	if (!ubo)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&ubo->bo.host_link);
	ubo->bo.kind = NEURON_BO_USER;
	ubo->bo.category = args->category;
	ubo->bo.flags = args->flags;
	ubo->nr_pages = args->size >> PAGE_SHIFT;
	neuron_bo_init(ndev, &ubo->bo, &neuron_user_bo_funcs, args->size);

	ret = neuron_user_charge(ubo);
	if (!ret)
		ret = neuron_user_pin(ubo, args->user);
	if (!ret)
		ret = neuron_user_map(ndev, ubo);
	if (!ret)
		return &ubo->bo;

	drm_dbg(&ndev->drm, "import of %llu bytes at %#llx: %d\n", args->size,
		args->user, ret);
	neuron_bo_put(&ubo->bo);
	return ERR_PTR(ret);
}
