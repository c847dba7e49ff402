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
 * @chunks: its memory in order; empty after the device is gone
 */
struct neuron_host_bo {
	struct neuron_bo bo;
	struct list_head chunks;
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

static void neuron_host_release(struct neuron_device *ndev,
				struct neuron_host_bo *hbo)
{
	struct neuron_host_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &hbo->chunks, link) {
		dma_free_pages(&ndev->pdev->dev, PAGE_SIZE << chunk->order,
			       chunk->page, chunk->dma, DMA_BIDIRECTIONAL);
		list_del(&chunk->link);
		kfree(chunk);
	}
}

static int neuron_host_alloc(struct neuron_device *ndev,
			     struct neuron_host_bo *hbo, size_t size)
{
	unsigned long left = size >> PAGE_SHIFT;
	struct neuron_host_chunk *chunk;
	unsigned int order = NEURON_HOST_MAX_ORDER;

	while (left) {
		if (fatal_signal_pending(current))
			return -EINTR;
		order = min_t(unsigned int, order, ilog2(left));
		chunk = neuron_host_chunk_alloc(ndev, order);
		if (!chunk)
			return -ENOMEM;
		list_add_tail(&chunk->link, &hbo->chunks);
		order = chunk->order;
		left -= 1ul << order;
		cond_resched();
	}
	return 0;
}

static int neuron_host_fill_extents(struct neuron_device *ndev,
				    struct neuron_host_bo *hbo)
{
	size_t max = list_count_nodes(&hbo->chunks);
	struct neuron_host_chunk *chunk;
	struct neuron_bo *bo = &hbo->bo;

	bo->extents = kvmalloc_array(max, sizeof(*bo->extents),
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bo->extents)
		return -ENOMEM;
	list_for_each_entry(chunk, &hbo->chunks, link)
		neuron_bo_add_extent(bo, neuron_host_addr(ndev, chunk->dma),
				     PAGE_SIZE << chunk->order);
	return 0;
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
	neuron_host_release(to_neuron_device(bo->base.dev), to_host_bo(bo));
}

static void neuron_host_bo_free(struct drm_gem_object *obj)
{
	struct neuron_host_bo *hbo = to_host_bo(to_neuron_bo(obj));

	neuron_bo_fini(&hbo->bo);
	neuron_gem_host_remove(to_neuron_device(obj->dev), &hbo->bo);
	kvfree(hbo->bo.extents);
	kfree(hbo);
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

	ret = neuron_host_alloc(ndev, hbo, size);
	if (ret)
		goto err_release;
	ret = neuron_host_fill_extents(ndev, hbo);
	if (ret)
		goto err_release;

	hbo->bo.kind = NEURON_BO_HOST;
	hbo->bo.category = category;
	neuron_bo_init(ndev, &hbo->bo, &neuron_host_bo_funcs, size);
	neuron_gem_host_add(ndev, &hbo->bo);
	return &hbo->bo;

err_release:
	neuron_host_release(ndev, hbo);
	kfree(hbo);
	drm_dbg(&ndev->drm, "no %zu bytes of host memory: %d\n", size, ret);
	return ERR_PTR(ret);
}
