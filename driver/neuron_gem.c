// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers in HBM of this chip and in host memory, and what all kinds of buffers share: places in
 * their extents, ioctls, mmap. neuron_userptr.c has the buffers of user memory, and
 * neuron_prime.c those of another chip.
 */
#include <linux/bsearch.h>
#include <linux/capability.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "contract/window.h"
#include "drm/neuron_accel.h"
#include "neuron_device.h"
#include "neuron_gem.h"
#include "neuron_hbm.h"
#include "neuron_ioctl.h"
#include "neuron_usage.h"

/* Pages that one fault maps at most: a page table's worth. */
#define NEURON_FAULT_AROUND	512

static u64 *neuron_bo_starts_create(const struct neuron_bo *bo)
{
	u64 start = 0;
	unsigned int i;
	u64 *starts;

	starts = kvmalloc_array(bo->nr_extents, sizeof(*starts),
				GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	for (i = 0; starts && i < bo->nr_extents; i++) {
		if (neuron_pause_at(i)) {
			kvfree(starts);
			return NULL;
		}
		starts[i] = start;
		start += neuron_hw_extent_length(&bo->extents[i]);
	}
	return starts;
}

/*
 * neuron_bo.starts of @bo, made by the first who asks. NULL: no memory, or the process is
 * killed.
 */
static const u64 *neuron_bo_starts(struct neuron_bo *bo)
{
	u64 *starts = READ_ONCE(bo->starts);
	u64 *other;

	if (starts)
		return starts;
	starts = neuron_bo_starts_create(bo);
	if (!starts)
		return NULL;
	other = cmpxchg(&bo->starts, NULL, starts);
	if (!other)
		return starts;
	kvfree(starts);
	return other;
}

/* The last extent that begins at @offset or before. */
static unsigned int neuron_starts_find(const u64 *starts, unsigned int nr,
				       u64 offset)
{
	unsigned int low = 0, mid;

	while (nr > 1) {
		mid = nr / 2;
		if (starts[low + mid] <= offset) {
			low += mid;
			nr -= mid;
		} else {
			nr = mid;
		}
	}
	return low;
}

int neuron_bo_cursor(struct neuron_bo *bo, u64 offset,
		     struct neuron_cursor *cursor)
{
	const u64 *starts;
	unsigned int i;

	*cursor = (struct neuron_cursor){
		.extent = bo->extents,
		.nr = bo->nr_extents,
		.offset = offset,
	};
	if (bo->nr_extents == 1)
		return 0;
	starts = neuron_bo_starts(bo);
	if (!starts)
		return -ENOMEM;
	i = neuron_starts_find(starts, bo->nr_extents, offset);
	cursor->extent += i;
	cursor->nr -= i;
	cursor->offset -= starts[i];
	return 0;
}

struct neuron_bo *neuron_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_neuron_bo(obj) : ERR_PTR(-ENOENT);
}

void neuron_bo_init(struct neuron_device *ndev, struct neuron_bo *bo,
		    const struct drm_gem_object_funcs *funcs, size_t size)
{
	bo->base.funcs = funcs;
	drm_gem_private_object_init(&ndev->drm, &bo->base, size);
	neuron_usage_add(bo);
}

void neuron_bo_fini(struct neuron_bo *bo)
{
	neuron_usage_sub(bo);
	kvfree(bo->starts);
	drm_gem_object_release(&bo->base);
}

void neuron_bo_add_extent(struct neuron_bo *bo, u64 addr, u64 length)
{
	struct neuron_hw_extent *extent = bo->extents + bo->nr_extents;

	if (bo->nr_extents && neuron_hw_extent_join(&extent[-1], addr, length))
		return;
	*extent = neuron_hw_extent(addr, length);
	bo->nr_extents++;
}

/* HBM, which the CPU sees through BAR4. */

/**
 * struct neuron_hbm_bo - buffer in HBM of this chip
 * @bo: buffer
 * @memory: its memory, which has the list of extents
 */
struct neuron_hbm_bo {
	struct neuron_bo bo;
	struct neuron_hbm_memory *memory;
};

static struct neuron_hbm_bo *to_hbm_bo(struct neuron_bo *bo)
{
	return container_of(bo, struct neuron_hbm_bo, bo);
}

static unsigned long neuron_hbm_bo_pages(struct neuron_bo *bo, pgoff_t page,
					 unsigned long *pfn)
{
	struct neuron_device *ndev = to_neuron_device(bo->base.dev);
	struct neuron_cursor cursor;

	if (neuron_bo_cursor(bo, (u64)page << PAGE_SHIFT, &cursor))
		return 0;
	*pfn = PHYS_PFN(neuron_hbm_phys(ndev, bo->stack, neuron_cursor_addr(&cursor)));
	return neuron_cursor_room(&cursor) >> PAGE_SHIFT;
}

/*
 * Host memory. The pages come from the DMA layer, in chunks as large as it can
 * give, so that the device reaches them behind an IOMMU and with bounce buffers
 * forced; a streaming mapping of other pages could not be shared with a mapping
 * of the CPU for long.
 */

#define NEURON_HOST_MAX_ORDER	9
/* Chunks that are given back before others get the lock. */
#define NEURON_HOST_BATCH	32

/**
 * struct neuron_host_chunk - contiguous pages of a buffer in host memory
 * @link: in neuron_host_bo.chunks
 * @page: first page
 * @dma: bus address of it
 * @first: number of that page in the buffer
 * @order: the chunk has 2 to the power of this pages
 */
struct neuron_host_chunk {
	struct list_head link;
	struct page *page;
	dma_addr_t dma;
	pgoff_t first;
	unsigned int order;
};

/**
 * struct neuron_host_bo - buffer in host memory
 * @bo: buffer
 * @ndev: device that the memory was allocated for
 * @chunks: its memory in order; empty after the device is gone. Changed under
 *	neuron_device.host_lock, and read under it or inside drm_dev_enter()
 * @index: all of @chunks, in order
 * @nr_chunks: how many @chunks there are; 0 before they are given back
 */
struct neuron_host_bo {
	struct neuron_bo bo;
	struct neuron_device *ndev;
	struct list_head chunks;
	struct neuron_host_chunk **index;
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

/* Add a chunk of at most @order for page @first and those behind it. Return: its order. */
static int neuron_host_add_chunk(struct neuron_host_bo *hbo, pgoff_t first,
				 unsigned int order)
{
	struct neuron_device *ndev = hbo->ndev;
	struct neuron_host_chunk *chunk;
	int idx, ret = -ENOMEM;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;
	chunk = neuron_host_chunk_alloc(ndev, order);
	if (chunk) {
		chunk->first = first;
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
	pgoff_t first = 0, end = size >> PAGE_SHIFT;
	int order = NEURON_HOST_MAX_ORDER;

	while (first < end) {
		if (fatal_signal_pending(current))
			return -EINTR;
		order = neuron_host_add_chunk(hbo, first, min_t(int, order, ilog2(end - first)));
		if (order < 0)
			return order;
		first += 1ul << order;
		cond_resched();
	}
	return 0;
}

/* All chunks are there: fill the tables of the buffer, which have room for them. */
static int neuron_host_fill_tables(struct neuron_host_bo *hbo)
{
	struct neuron_host_chunk *chunk;
	unsigned int i = 0;
	int ret;

	list_for_each_entry(chunk, &hbo->chunks, link) {
		ret = neuron_pause_at(i);
		if (ret)
			return ret;
		hbo->index[i++] = chunk;
		neuron_bo_add_extent(&hbo->bo,
				     neuron_host_addr(hbo->ndev, chunk->dma),
				     PAGE_SIZE << chunk->order);
	}
	return 0;
}

static int neuron_host_make_tables(struct neuron_host_bo *hbo)
{
	struct neuron_bo *bo = &hbo->bo;
	int ret, idx;

	bo->extents = kvmalloc_array(hbo->nr_chunks, sizeof(*bo->extents),
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	hbo->index = kvmalloc_array(hbo->nr_chunks, sizeof(*hbo->index),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bo->extents || !hbo->index)
		return -ENOMEM;
	if (!drm_dev_enter(&hbo->ndev->drm, &idx))
		return -ENODEV;
	ret = neuron_host_fill_tables(hbo);
	drm_dev_exit(idx);
	return ret;
}

static int neuron_host_chunk_cmp(const void *key, const void *element)
{
	const struct neuron_host_chunk *chunk = *(struct neuron_host_chunk * const *)element;
	pgoff_t page = *(const pgoff_t *)key;

	if (page < chunk->first)
		return -1;
	return (page - chunk->first) >> chunk->order ? 1 : 0;
}

unsigned long neuron_host_bo_pages(struct neuron_bo *bo, pgoff_t page,
				   unsigned long *pfn)
{
	struct neuron_host_bo *hbo = to_host_bo(bo);
	struct neuron_host_chunk **at;

	at = bsearch(&page, hbo->index, hbo->nr_chunks, sizeof(*hbo->index),
		     neuron_host_chunk_cmp);
	if (!at)
		return 0;
	page -= (*at)->first;
	*pfn = page_to_pfn((*at)->page) + page;
	return (1ul << (*at)->order) - page;
}

/* Under host_lock: give chunks back, not too many at a time. Return: there are more. */
static bool neuron_host_bo_release_some(struct neuron_host_bo *hbo)
{
	struct neuron_host_chunk *chunk, *next;
	unsigned int nr = 0;

	lockdep_assert_held(&hbo->ndev->host_lock);
	hbo->nr_chunks = 0;
	list_for_each_entry_safe(chunk, next, &hbo->chunks, link) {
		if (nr++ == NEURON_HOST_BATCH)
			return true;
		dma_free_pages(&hbo->ndev->pdev->dev, PAGE_SIZE << chunk->order,
			       chunk->page, chunk->dma, DMA_BIDIRECTIONAL);
		list_del(&chunk->link);
		kfree(chunk);
	}
	return false;
}

/*
 * Under host_lock: give back DMA memory or mappings of @bo, which must not outlive the device.
 * Return: there is more.
 */
static bool neuron_gem_host_release_some(struct neuron_bo *bo)
{
	if (bo->kind == NEURON_BO_HOST)
		return neuron_host_bo_release_some(to_host_bo(bo));
	neuron_user_bo_unmap(bo);
	return false;
}

void neuron_gem_host_add(struct neuron_device *ndev, struct neuron_bo *bo)
{
	mutex_lock(&ndev->host_lock);
	list_add_tail(&bo->host_link, &ndev->host_bos);
	mutex_unlock(&ndev->host_lock);
}

/* The removal of the device may give back the rest meanwhile. */
void neuron_gem_host_remove(struct neuron_device *ndev, struct neuron_bo *bo)
{
	bool more;

	do {
		mutex_lock(&ndev->host_lock);
		more = neuron_gem_host_release_some(bo);
		if (!more)
			list_del(&bo->host_link);
		mutex_unlock(&ndev->host_lock);
		cond_resched();
	} while (more);
}

void neuron_gem_host_release_all(struct neuron_device *ndev)
{
	struct neuron_bo *bo;

	mutex_lock(&ndev->host_lock);
	list_for_each_entry(bo, &ndev->host_bos, host_link) {
		while (neuron_gem_host_release_some(bo))
			cond_resched();
		if (bo->kind == NEURON_BO_USER)
			neuron_user_bo_unpin(bo);
	}
	mutex_unlock(&ndev->host_lock);
}

static unsigned long neuron_bo_pages(struct neuron_bo *bo, pgoff_t page,
				     unsigned long *pfn)
{
	switch (bo->kind) {
	case NEURON_BO_HBM:
		return neuron_hbm_bo_pages(bo, page, pfn);
	case NEURON_BO_HOST:
		return neuron_host_bo_pages(bo, page, pfn);
	default:
		return 0;
	}
}

static vm_fault_t neuron_gem_map_pages(struct vm_fault *vmf,
				       struct neuron_bo *bo, pgoff_t page)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = vmf->address & PAGE_MASK;
	unsigned long pfn, nr, i;
	vm_fault_t ret;

	nr = neuron_bo_pages(bo, page, &pfn);
	if (!nr)
		return VM_FAULT_SIGBUS;

	nr = min3(nr, (vma->vm_end - addr) >> PAGE_SHIFT,
		  NEURON_FAULT_AROUND - page % NEURON_FAULT_AROUND);
	ret = vmf_insert_pfn(vma, addr, pfn);
	for (i = 1; i < nr && ret == VM_FAULT_NOPAGE; i++)
		if (vmf_insert_pfn(vma, addr + i * PAGE_SIZE, pfn + i) !=
		    VM_FAULT_NOPAGE)
			break;	/* it has its own fault later */
	return ret;
}

static vm_fault_t neuron_gem_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	pgoff_t page = vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	struct neuron_device *ndev = to_neuron_device(obj->dev);
	vm_fault_t ret;
	int idx;

	if (page >= obj->size >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	if (!drm_dev_enter(obj->dev, &idx))
		return VM_FAULT_SIGBUS;

	down_read(&ndev->epoch_lock);
	if (neuron_bo_is_lost(to_neuron_bo(obj)))
		ret = VM_FAULT_SIGBUS;
	else
		ret = neuron_gem_map_pages(vmf, to_neuron_bo(obj), page);
	up_read(&ndev->epoch_lock);

	drm_dev_exit(idx);
	return ret;
}

static const struct vm_operations_struct neuron_gem_vm_ops = {
	.fault = neuron_gem_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static int neuron_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct neuron_cursor cursor;

	/* Users may know of the removal already; DRM refuses only after drm_dev_unplug(). */
	if (neuron_hw_leaves(to_neuron_device(obj->dev)))
		return -ENODEV;
	/* A private mapping would need pages to copy. */
	if (neuron_vma_is_cow(vma))
		return -EINVAL;
	if (neuron_bo_is_stream(to_neuron_bo(obj))) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	if (to_neuron_bo(obj)->kind != NEURON_BO_HBM)
		return 0;
	vma->vm_page_prot = pgprot_writecombine(vm_get_page_prot(vma->vm_flags));
	/* A fault must not allocate the index of the extents, so it is made now. */
	return neuron_bo_cursor(to_neuron_bo(obj), 0, &cursor);
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

/* A new buffer of @size bytes, whole pages; zero. Or an ERR_PTR. */
static struct neuron_bo *neuron_hbm_bo_create(struct neuron_device *ndev,
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

static void neuron_host_bo_destroy(struct neuron_host_bo *hbo)
{
	neuron_gem_host_remove(hbo->ndev, &hbo->bo);
	kvfree(hbo->index);
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

static struct neuron_bo *neuron_host_bo_create(struct neuron_device *ndev, size_t size,
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
		ret = neuron_host_make_tables(hbo);
	if (ret)
		goto err_destroy;

	neuron_bo_init(ndev, &hbo->bo, &neuron_host_bo_funcs, size);
	return &hbo->bo;

err_destroy:
	neuron_host_bo_destroy(hbo);
	drm_dbg(&ndev->drm, "no %zu bytes of host memory: %d\n", size, ret);
	return ERR_PTR(ret);
}

static struct neuron_bo *
neuron_bo_create(struct neuron_device *ndev,
		 const struct drm_neuron_bo_create *args, size_t size)
{
	unsigned int stack;

	switch (args->placement) {
	case DRM_NEURON_BO_HBM:
		if (args->stack >= ndev->gen->nr_hbm)
			break;
		stack = array_index_nospec(args->stack, ndev->gen->nr_hbm);
		return neuron_hbm_bo_create(ndev, stack, size, args->category);
	case DRM_NEURON_BO_HOST:
		if (args->stack)
			break;
		return neuron_host_bo_create(ndev, size, args->category);
	}
	drm_dbg(&ndev->drm, "no placement %u, stack %u\n", args->placement,
		args->stack);
	return ERR_PTR(-EINVAL);
}

/**
 * neuron_ioctl_bo_create() - BO_CREATE: a buffer in HBM or in host memory
 * @drm: device
 * @data: &struct drm_neuron_bo_create
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_bo_create(struct drm_device *drm, void *data,
			   struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct drm_neuron_bo_create *args = data;
	struct neuron_bo *bo;
	u64 size = PAGE_ALIGN(args->size);
	int ret;

	if (!args->size || size < args->size || args->pad ||
	    args->flags & ~NEURON_BO_CREATE_FLAGS ||
	    (args->flags && args->placement != DRM_NEURON_BO_HOST) ||
	    args->category >= DRM_NEURON_NR_CATEGORIES) {
		drm_dbg(drm, "buffer of %llu bytes, flags %#x, category %u\n",
			args->size, args->flags, args->category);
		return -EINVAL;
	}

	ret = neuron_hw_wait(ndev);
	if (ret)
		return ret;
	bo = neuron_bo_create(ndev, args, size);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	/* Nobody has a handle of it yet. */
	bo->flags = args->flags;
	/* Only now: the allocation may have waited for a reset. HBM is zero in any epoch. */
	ret = neuron_hw_wait_epoch(ndev, &bo->epoch);
	if (ret)
		goto put;

	ret = drm_gem_create_mmap_offset(&bo->base);
	if (ret)
		goto put;
	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	if (ret)
		goto put;
	args->size = size;
	args->mmap_offset = drm_vma_node_offset_addr(&bo->base.vma_node);
put:
	/* The handle keeps it. */
	neuron_bo_put(bo);
	return ret;
}

static int neuron_bo_import_check(struct drm_device *drm,
				  const struct drm_neuron_bo_import *args)
{
	u64 end;

	if (!args->size || !PAGE_ALIGNED(args->user | args->size) ||
	    check_add_overflow(args->user, args->size, &end) || args->pad ||
	    args->flags & ~NEURON_BO_IMPORT_FLAGS ||
	    args->category >= DRM_NEURON_NR_CATEGORIES) {
		drm_dbg(drm, "import of %llu bytes at %#llx, flags %#x, category %u\n",
			args->size, args->user, args->flags, args->category);
		return -EINVAL;
	}
	return 0;
}

/**
 * neuron_ioctl_bo_import() - BO_IMPORT: a buffer of the caller's own memory
 * @drm: device
 * @data: &struct drm_neuron_bo_import
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_bo_import(struct drm_device *drm, void *data,
			   struct drm_file *file)
{
	struct drm_neuron_bo_import *args = data;
	struct neuron_bo *bo;
	int ret;

	ret = neuron_bo_import_check(drm, args);
	if (ret)
		return ret;
	bo = neuron_user_bo_create(to_neuron_device(drm), args);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	neuron_bo_put(bo);
	return ret;
}

static u32 neuron_bo_placement(const struct neuron_bo *bo)
{
	switch (bo->kind) {
	case NEURON_BO_HOST:
		return DRM_NEURON_BO_HOST;
	case NEURON_BO_USER:
		return DRM_NEURON_BO_USER;
	default:
		return DRM_NEURON_BO_HBM;
	}
}

/**
 * neuron_ioctl_bo_info() - BO_INFO: look at a buffer
 * @drm: device
 * @data: &struct drm_neuron_bo_info
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_bo_info(struct drm_device *drm, void *data,
			 struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct drm_neuron_bo_info *args = data;
	struct neuron_bo *bo;
	u64 addr;

	if (args->pad)
		return -EINVAL;

	bo = neuron_bo_lookup(file, args->handle);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	addr = neuron_hw_extent_addr(&bo->extents[0]);
	args->placement = neuron_bo_placement(bo);
	args->stack = bo->stack;
	args->size = bo->base.size;
	args->category = bo->category;
	args->flags = bo->flags;
	if (bo->kind == NEURON_BO_PEER) {
		args->peer = 1;
		args->fabric_id = NEURON_GET(NEURON_ADDR_FABRIC_CHIP, addr);
		args->mmap_offset = 0;
		args->device_addr = addr & NEURON_ADDR_FABRIC_DEVICE;
	} else {
		args->peer = 0;
		args->fabric_id = ndev->fabric_id;
		args->mmap_offset = bo->kind == NEURON_BO_USER ? 0 :
			drm_vma_node_offset_addr(&bo->base.vma_node);
		args->device_addr = 0;
		/* A host address may be a physical one: not for everybody. */
		if (bo->kind == NEURON_BO_HBM || capable(CAP_SYS_ADMIN))
			args->device_addr = addr;
	}

	neuron_bo_put(bo);
	return 0;
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_gem.c"
#endif
