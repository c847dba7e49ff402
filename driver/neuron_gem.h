/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers: HBM of this chip, host memory, or HBM of a peer (imported).
 */
#ifndef _NEURON_GEM_H_
#define _NEURON_GEM_H_

#include <drm/drm_gem.h>

#include "neuron/window.h"

struct drm_printer;
struct neuron_device;

enum neuron_bo_kind {
	NEURON_BO_HBM,
	NEURON_BO_HOST,
	NEURON_BO_PEER,
};

/**
 * struct neuron_bo - a buffer
 * @base: GEM object
 * @kind: where it lies
 * @stack: HBM stack (of the peer for PEER)
 * @extents: pieces, plain addresses with the host bit for HOST, routed ones for
 *	PEER: what a window shows; fixed for the life of the buffer
 * @nr_extents: pieces
 * @stream: only NOTIFY of jobs writes it
 */
struct neuron_bo {
	struct drm_gem_object base;
	enum neuron_bo_kind kind;
	unsigned int stack;
	struct neuron_hw_extent *extents;
	unsigned int nr_extents;
	bool stream;
};

static inline struct neuron_bo *to_neuron_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct neuron_bo, base);
}

/* The buffer behind @handle with a reference, or ERR_PTR(-ENOENT). */
struct neuron_bo *neuron_bo_lookup(struct drm_file *file, u32 handle);

/* May sleep. */
static inline void neuron_bo_put(struct neuron_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

/*
 * The contiguous pages that hold page @page of a buffer: the first frame in
 * @pfn, how many follow (with it) returned; 0: no such page.
 */
unsigned long neuron_hbm_bo_pages(struct neuron_bo *bo, pgoff_t page,
				  unsigned long *pfn);
unsigned long neuron_host_bo_pages(struct neuron_bo *bo, pgoff_t page,
				   unsigned long *pfn);

/* A new buffer of @size bytes, whole pages; zero. Or an ERR_PTR. */
struct neuron_bo *neuron_hbm_bo_create(struct neuron_device *ndev,
				       unsigned int stack, size_t size);
struct neuron_bo *neuron_host_bo_create(struct neuron_device *ndev,
					size_t size);
/* The device goes away: give its host memory back. Nothing maps it any more. */
void neuron_gem_host_release_all(struct neuron_device *ndev);

/* For the object functions of HBM and host buffers. */
extern const struct vm_operations_struct neuron_gem_vm_ops;
int neuron_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma);

/* Memory of a file, by place. */
void neuron_gem_fdinfo(struct drm_file *file, struct drm_printer *p);

struct dma_buf *neuron_gem_prime_export(struct drm_gem_object *obj, int flags);

/* A peer's buffer whose chip has left its driver: its address means nothing. */
bool neuron_bo_is_gone(const struct neuron_bo *bo);

/* PRIME: our own dma-bufs of any chip on the same fabric; others -EOPNOTSUPP. */
struct drm_gem_object *neuron_gem_prime_import(struct drm_device *drm,
					       struct dma_buf *dma_buf);

#endif /* _NEURON_GEM_H_ */
