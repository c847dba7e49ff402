// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers in host memory. The pages come from the DMA layer, in chunks as large
 * as it can give, so that the device reaches them behind an IOMMU and with
 * bounce buffers forced; a streaming mapping of other pages could not be shared
 * with a mapping of the CPU for long.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_gem.h"

#define NEURON_HOST_MAX_ORDER	9

struct neuron_host_chunk {
	struct list_head link;
	struct page *page;
	dma_addr_t dma;
	unsigned int order;
};

/**
 * struct neuron_host_bo - buffer in host memory
 * @bo: buffer
 * @ndev: device that the memory was allocated for
 * @chunks: its memory in order; empty after the device is gone. Changed under
 *	neuron_device.host_lock, and read under it or inside drm_dev_enter()
 * @nr_chunks: how many @chunks had when all were there
 */
struct neuron_host_bo {
	struct neuron_bo bo;
	struct neuron_device *ndev;
	struct list_head chunks;
	unsigned int nr_chunks;
};

static struct neuron_host_bo *to_host_bo(struct neuron_bo *bo)
{
	return container_of(bo, struct neuron_host_bo, bo);
}

/* The largest chunk that can be had, of at most @order. */
static struct neuron_host_chunk *
neuron_host_chunk_alloc(struct neuron_device *ndev, unsigned int order)
{
	struct neuron_host_chunk *chunk;

	/* The limit of a memory cgroup is an error here, and no reason to kill. */
	chunk = kzalloc(sizeof(*chunk), GFP_KERNEL_ACCOUNT |
			__GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!chunk)
		return NULL;

	for (;; order--) {
		gfp_t how = order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;

		chunk->page = dma_alloc_pages(&ndev->pdev->dev,
					      PAGE_SIZE << order, &chunk->dma,
					      DMA_BIDIRECTIONAL,
					      GFP_KERNEL_ACCOUNT |
					      __GFP_NOWARN | how);
		if (chunk->page || !order)
			break;
	}
	if (!chunk->page) {
		kfree(chunk);
		return NULL;
	}
	chunk->order = order;
	return chunk;
}

/* Add a chunk of at most @order. Return: its order. */
static int neuron_host_add_chunk(struct neuron_host_bo *hbo, unsigned int order)
{
	struct neuron_device *ndev = hbo->ndev;
	struct neuron_host_chunk *chunk;
	int idx, ret = -ENOMEM;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;
	chunk = neuron_host_chunk_alloc(ndev, order);
	if (chunk) {
		mutex_lock(&ndev->host_lock);
		list_add_tail(&chunk->link, &hbo->chunks);
		hbo->nr_chunks++;
		mutex_unlock(&ndev->host_lock);
		ret = chunk->order;
	}
	drm_dev_exit(idx);
	return ret;
}

/* Chunk by chunk: the removal of a device does not wait for a large buffer. */
static int neuron_host_alloc(struct neuron_host_bo *hbo, size_t size)
{
	unsigned long left = size >> PAGE_SHIFT;
	int order = NEURON_HOST_MAX_ORDER;

	while (left) {
		if (fatal_signal_pending(current))
			return -EINTR;
		order = neuron_host_add_chunk(hbo, min_t(int, order, ilog2(left)));
		if (order < 0)
			return order;
		left -= 1ul << order;
		cond_resched();
	}
	return 0;
}

static void neuron_host_list_extents(struct neuron_host_bo *hbo)
{
	struct neuron_host_chunk *chunk;

	list_for_each_entry(chunk, &hbo->chunks, link)
		neuron_bo_add_extent(&hbo->bo,
				     neuron_host_addr(hbo->ndev, chunk->dma),
				     PAGE_SIZE << chunk->order);
}

static int neuron_host_fill_extents(struct neuron_host_bo *hbo)
{
	struct neuron_bo *bo = &hbo->bo;
	int idx, ret = -ENOMEM;

	if (!drm_dev_enter(&hbo->ndev->drm, &idx))
		return -ENODEV;
	bo->extents = kvmalloc_array(hbo->nr_chunks, sizeof(*bo->extents),
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (bo->extents) {
		neuron_host_list_extents(hbo);
		ret = 0;
	}
	drm_dev_exit(idx);
	return ret;
}

unsigned int neuron_host_bo_chunks(struct neuron_bo *bo)
{
	return to_host_bo(bo)->nr_chunks;
}

unsigned long neuron_host_bo_pages(struct neuron_bo *bo, pgoff_t page,
				   unsigned long *pfn)
{
	struct neuron_host_chunk *chunk;

	list_for_each_entry(chunk, &to_host_bo(bo)->chunks, link) {
		unsigned long nr = 1ul << chunk->order;

		if (page < nr) {
			*pfn = page_to_pfn(chunk->page) + page;
			return nr - page;
		}
		page -= nr;
	}
	return 0;
}

void neuron_host_bo_release(struct neuron_bo *bo)
{
	struct neuron_host_bo *hbo = to_host_bo(bo);
	struct neuron_host_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &hbo->chunks, link) {
		dma_free_pages(&hbo->ndev->pdev->dev, PAGE_SIZE << chunk->order,
			       chunk->page, chunk->dma, DMA_BIDIRECTIONAL);
		list_del(&chunk->link);
		kfree(chunk);
	}
}

static void neuron_host_bo_destroy(struct neuron_host_bo *hbo)
{
	neuron_gem_host_remove(hbo->ndev, &hbo->bo);
	kvfree(hbo->bo.extents);
	kfree(hbo);
}

static void neuron_host_bo_free(struct drm_gem_object *obj)
{
	struct neuron_host_bo *hbo = to_host_bo(to_neuron_bo(obj));

	neuron_bo_fini(&hbo->bo);
	neuron_host_bo_destroy(hbo);
}

static const struct drm_gem_object_funcs neuron_host_bo_funcs = {
	.free = neuron_host_bo_free,
	.export = neuron_gem_prime_export,
	.mmap = neuron_gem_mmap,
	.vm_ops = &neuron_gem_vm_ops,
};

struct neuron_bo *neuron_host_bo_create(struct neuron_device *ndev, size_t size,
					u32 category)
{
	struct neuron_host_bo *hbo;
	int ret;

	if (size >> PAGE_SHIFT > totalram_pages())
		return ERR_PTR(-ENOMEM);

	hbo = kzalloc(sizeof(*hbo), GFP_KERNEL_ACCOUNT);
	if (!hbo)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&hbo->chunks);
	hbo->ndev = ndev;
	hbo->bo.kind = NEURON_BO_HOST;
	hbo->bo.category = category;
	neuron_gem_host_add(ndev, &hbo->bo);

	ret = neuron_host_alloc(hbo, size);
	if (!ret)
		ret = neuron_host_fill_extents(hbo);
	if (ret)
		goto err_destroy;

	neuron_bo_init(ndev, &hbo->bo, &neuron_host_bo_funcs, size);
	return &hbo->bo;

err_destroy:
	neuron_host_bo_destroy(hbo);
	drm_dbg(&ndev->drm, "no %zu bytes of host memory: %d\n", size, ret);
	return ERR_PTR(ret);
}
