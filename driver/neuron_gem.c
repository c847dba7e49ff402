// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: what all kinds share. Ioctls, mmap, fdinfo.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_device.h"
#include "neuron_gem.h"

/* Pages that one fault maps at most: a page table's worth. */
#define NEURON_FAULT_AROUND	512

struct neuron_bo *neuron_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_neuron_bo(obj) : ERR_PTR(-ENOENT);
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
	vm_fault_t ret;
	int idx;

	if (page >= obj->size >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	if (!drm_dev_enter(obj->dev, &idx))
		return VM_FAULT_SIGBUS;

	ret = neuron_gem_map_pages(vmf, to_neuron_bo(obj), page);

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
	if (to_neuron_bo(obj)->stream) {
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
		return neuron_hbm_bo_create(ndev, stack, size);
	case DRM_NEURON_BO_HOST:
		if (args->stack)
			break;
		return neuron_host_bo_create(ndev, size);
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
	int ret, idx;

	if (!args->size || size < args->size ||
	    args->flags & ~DRM_NEURON_BO_STREAM ||
	    (args->flags && args->placement != DRM_NEURON_BO_HOST)) {
		drm_dbg(drm, "buffer of %llu bytes, flags %#x\n", args->size,
			args->flags);
		return -EINVAL;
	}

	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;

	bo = neuron_bo_create(ndev, args, size);
	if (IS_ERR(bo)) {
		ret = PTR_ERR(bo);
		goto out;
	}
	/* Nobody has a handle of it yet. */
	bo->stream = args->flags & DRM_NEURON_BO_STREAM;

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
out:
	drm_dev_exit(idx);
	return ret;
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
	args->placement = bo->kind == NEURON_BO_HOST ? DRM_NEURON_BO_HOST :
						       DRM_NEURON_BO_HBM;
	args->stack = bo->stack;
	args->size = bo->base.size;
	args->flags = bo->stream ? DRM_NEURON_BO_STREAM : 0;
	if (bo->kind == NEURON_BO_PEER) {
		args->peer = 1;
		args->fabric_id = NEURON_GET(NEURON_ADDR_FABRIC_CHIP, addr);
		args->mmap_offset = 0;
		args->device_addr = addr & NEURON_ADDR_FABRIC_DEVICE;
	} else {
		args->peer = 0;
		args->fabric_id = ndev->fabric_id;
		args->mmap_offset =
			drm_vma_node_offset_addr(&bo->base.vma_node);
		args->device_addr = 0;
		/* A host address may be a physical one: not for everybody. */
		if (bo->kind == NEURON_BO_HBM || capable(CAP_SYS_ADMIN))
			args->device_addr = addr;
	}

	neuron_bo_put(bo);
	return 0;
}

/* Places that a file's memory is counted in: the stacks, host, peers. */
enum {
	NEURON_PLACE_HOST = NEURON_MAX_HBM,
	NEURON_PLACE_PEER,
	NEURON_NR_PLACES,
};

static unsigned int neuron_bo_place(const struct neuron_bo *bo)
{
	switch (bo->kind) {
	case NEURON_BO_HBM:
		return bo->stack;
	case NEURON_BO_HOST:
		return NEURON_PLACE_HOST;
	default:
		return NEURON_PLACE_PEER;
	}
}

void neuron_gem_fdinfo(struct drm_file *file, struct drm_printer *p)
{
	static const char * const names[NEURON_NR_PLACES] = {
		"hbm0", "hbm1", "hbm2", "hbm3", "host", "peer",
	};
	struct neuron_file *nfile = file->driver_priv;
	struct drm_memory_stats stats[NEURON_NR_PLACES] = { };
	struct drm_gem_object *obj;
	unsigned int i;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		struct drm_memory_stats *s =
			&stats[neuron_bo_place(to_neuron_bo(obj))];

		if (drm_gem_object_is_shared_for_memory_stats(obj))
			s->shared += obj->size;
		else
			s->private += obj->size;
		s->resident += obj->size;
	}
	spin_unlock(&file->table_lock);

	for (i = 0; i < NEURON_NR_PLACES; i++)
		if (i < nfile->ndev->gen->nr_hbm || i >= NEURON_PLACE_HOST)
			drm_print_memory_stats(p, &stats[i],
					       DRM_GEM_OBJECT_RESIDENT,
					       names[i]);
}
