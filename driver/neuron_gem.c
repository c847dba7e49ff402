// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: what all kinds share. Ioctls, mmap, fdinfo.
 *
 * A buffer can outlive its device (a handle, a mapping, an exported file), its
 * host memory cannot: all of it is given back when the device is unplugged.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_gem.h"
#include "neuron_hw.h"
#include "neuron_usage.h"

/* Pages that one fault maps at most: a page table's worth. */
#define NEURON_FAULT_AROUND	512

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

	if (bo->nr_extents && addr == le64_to_cpu(extent[-1].addr) +
				      le64_to_cpu(extent[-1].length)) {
		le64_add_cpu(&extent[-1].length, length);
		return;
	}
	extent->addr = cpu_to_le64(addr);
	extent->length = cpu_to_le64(length);
	bo->nr_extents++;
}

void neuron_gem_host_add(struct neuron_device *ndev, struct neuron_bo *bo)
{
	mutex_lock(&ndev->host_lock);
	list_add_tail(&bo->host_link, &ndev->host_bos);
	mutex_unlock(&ndev->host_lock);
}

static void neuron_gem_host_release(struct neuron_bo *bo)
{
	if (bo->kind == NEURON_BO_USER)
		neuron_user_bo_release(bo);
	else
		neuron_host_bo_release(bo);
}

void neuron_gem_host_remove(struct neuron_device *ndev, struct neuron_bo *bo)
{
	mutex_lock(&ndev->host_lock);
	neuron_gem_host_release(bo);
	list_del(&bo->host_link);
	mutex_unlock(&ndev->host_lock);
}

void neuron_gem_host_release_all(struct neuron_device *ndev)
{
	struct neuron_bo *bo;

	mutex_lock(&ndev->host_lock);
	list_for_each_entry(bo, &ndev->host_bos, host_link)
		neuron_gem_host_release(bo);
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

const struct vm_operations_struct neuron_gem_vm_ops = {
	.fault = neuron_gem_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

int neuron_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	/* A private mapping would need pages to copy. */
	if (neuron_vma_is_cow(vma))
		return -EINVAL;
	if (neuron_bo_is_stream(to_neuron_bo(obj))) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
	}

	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	if (to_neuron_bo(obj)->kind == NEURON_BO_HBM)
		vma->vm_page_prot =
			pgprot_writecombine(vm_get_page_prot(vma->vm_flags));
	return 0;
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
	/* HBM may come after a reset that it was waited for in. It is zero in any epoch. */
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

	addr = le64_to_cpu(bo->extents[0].addr);
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

/* Places that a file's memory is counted in: the stacks, host, peers, user. */
enum {
	NEURON_PLACE_HOST = NEURON_MAX_HBM,
	NEURON_PLACE_PEER,
	NEURON_PLACE_USER,
	NEURON_NR_PLACES,
};

static unsigned int neuron_bo_place(const struct neuron_bo *bo)
{
	switch (bo->kind) {
	case NEURON_BO_HBM:
		return bo->stack;
	case NEURON_BO_HOST:
		return NEURON_PLACE_HOST;
	case NEURON_BO_USER:
		return NEURON_PLACE_USER;
	default:
		return NEURON_PLACE_PEER;
	}
}

void neuron_gem_fdinfo(struct drm_file *file, struct drm_printer *p)
{
	static const char * const names[NEURON_NR_PLACES] = {
		"hbm0", "hbm1", "hbm2", "hbm3", "host", "peer", "user",
	};
	struct neuron_file *nfile = file->driver_priv;
	struct drm_memory_stats stats[NEURON_NR_PLACES] = { };
	u64 category[DRM_NEURON_NR_CATEGORIES] = { };
	struct drm_gem_object *obj;
	unsigned int i;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		struct neuron_bo *bo = to_neuron_bo(obj);
		struct drm_memory_stats *s = &stats[neuron_bo_place(bo)];

		if (drm_gem_object_is_shared_for_memory_stats(obj))
			s->shared += obj->size;
		else
			s->private += obj->size;
		s->resident += obj->size;
		category[bo->category] += obj->size;
	}
	spin_unlock(&file->table_lock);

	for (i = 0; i < NEURON_NR_PLACES; i++)
		if (i < nfile->ndev->gen->nr_hbm || i >= NEURON_PLACE_HOST)
			drm_print_memory_stats(p, &stats[i],
					       DRM_GEM_OBJECT_RESIDENT,
					       names[i]);
	for (i = 0; i < DRM_NEURON_NR_CATEGORIES; i++)
		if (category[i])
			drm_printf(p, "neuron-category-%s:\t%llu\n",
				   neuron_category_name(i), category[i]);
}
