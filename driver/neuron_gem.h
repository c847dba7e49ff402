/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers: HBM of this chip, host memory, HBM of a peer (imported), or memory of
 * the process (imported).
 */
#ifndef _NEURON_GEM_H_
#define _NEURON_GEM_H_

#include <linux/types.h>
#include <asm/byteorder.h>
#include <drm/drm_gem.h>

#include "drm/neuron_accel.h"
#include "neuron/window.h"
#include "neuron_ioctl.h"

struct drm_neuron_bo_import;
struct drm_printer;
struct neuron_device;

/* What BO_CREATE knows. */
#define NEURON_BO_CREATE_FLAGS	DRM_NEURON_BO_STREAM
#define NEURON_BO_IMPORT_FLAGS	DRM_NEURON_IMPORT_READ_ONLY

enum neuron_bo_kind {
	NEURON_BO_HBM,
	NEURON_BO_HOST,
	NEURON_BO_PEER,
	NEURON_BO_USER,
};

/**
 * struct neuron_bo - a buffer
 * @base: GEM object
 * @kind: where it lies
 * @stack: HBM stack (of the peer for PEER)
 * @category: enum drm_neuron_category, as its creator said
 * @flags: as given to BO_CREATE, or to BO_IMPORT for USER
 * @epoch: HBM: neuron_device.epoch of its birth; set before it has a handle
 * @extents: pieces, plain addresses with the host bit for HOST and USER, routed
 *	ones for PEER: what a window shows; fixed for the life of the buffer
 * @nr_extents: pieces
 * @starts: the first byte in the buffer of each piece, or NULL while nobody has asked
 *	for it (neuron_gem.c)
 * @host_link: HOST and USER: neuron_device.host_bos
 */
struct neuron_bo {
	struct drm_gem_object base;
	enum neuron_bo_kind kind;
	unsigned int stack;
	u32 category;
	u32 flags;
	u32 epoch;
	struct neuron_hw_extent *extents;
	unsigned int nr_extents;
	u64 *starts;
	struct list_head host_link;
};

static inline struct neuron_bo *to_neuron_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct neuron_bo, base);
}

/*
 * Add a piece of host memory behind those that @bo has, joined with the last one
 * where they touch. There is room for it in @bo->extents.
 */
void neuron_bo_add_extent(struct neuron_bo *bo, u64 addr, u64 length);

/* Only NOTIFY of jobs writes to it. */
static inline bool neuron_bo_is_stream(const struct neuron_bo *bo)
{
	return bo->kind == NEURON_BO_HOST && bo->flags & DRM_NEURON_BO_STREAM;
}

/* Neither programs nor copies may write to it. */
static inline bool neuron_bo_is_read_only(const struct neuron_bo *bo)
{
	return bo->kind == NEURON_BO_USER &&
	       bo->flags & DRM_NEURON_IMPORT_READ_ONLY;
}

/* The buffer behind @handle with a reference, or ERR_PTR(-ENOENT). */
struct neuron_bo *neuron_bo_lookup(struct drm_file *file, u32 handle);

/* May sleep. */
static inline void neuron_bo_put(struct neuron_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

/*
 * The contiguous pages that hold page @page of a buffer in host memory: the first
 * frame in @pfn, how many follow (with it) returned; 0: no such page.
 */
unsigned long neuron_host_bo_pages(struct neuron_bo *bo, pgoff_t page,
				   unsigned long *pfn);
/* So many steps neuron_host_bo_pages() takes at most; no more than the buffer has pages. */
unsigned int neuron_host_bo_chunks(struct neuron_bo *bo);

/* A buffer of the caller's memory, which is pinned. May sleep for long. */
struct neuron_bo *neuron_user_bo_create(struct neuron_device *ndev,
					const struct drm_neuron_bo_import *args);

/*
 * The host memory of @bo, which the device reaches, is given back at the end of the
 * buffer or of the device from here on. More of it is added inside drm_dev_enter().
 */
void neuron_gem_host_add(struct neuron_device *ndev, struct neuron_bo *bo);
/* The end of the buffer: its host memory is given back. */
void neuron_gem_host_remove(struct neuron_device *ndev, struct neuron_bo *bo);
/* The device goes away: give its host memory back. Nothing maps it any more. */
void neuron_gem_host_release_all(struct neuron_device *ndev);
/* Once or again, under neuron_device.host_lock. */
void neuron_user_bo_release(struct neuron_bo *bo);

/*
 * The last step of creating a buffer, with its kind, stack and category set, and
 * the first of freeing it: GEM and the accounts.
 */
void neuron_bo_init(struct neuron_device *ndev, struct neuron_bo *bo,
		    const struct drm_gem_object_funcs *funcs, size_t size);
void neuron_bo_fini(struct neuron_bo *bo);

/**
 * struct neuron_cursor - a position in a list of extents
 * @extent: current one
 * @nr: extents from the current one on
 * @offset: bytes of the current one that are behind
 */
struct neuron_cursor {
	const struct neuron_hw_extent *extent;
	unsigned int nr;
	u64 offset;
};

/* At byte @offset of the list; positions in it stay valid as long as it does. */
void neuron_cursor_init(struct neuron_cursor *cursor,
			const struct neuron_hw_extent *extents,
			unsigned int nr, u64 offset);
/*
 * At byte @offset of @bo, which has it. Found by bisection of an index of the extents,
 * which a buffer gets when it is first asked for: -ENOMEM.
 */
int neuron_bo_cursor(struct neuron_bo *bo, u64 offset,
		     struct neuron_cursor *cursor);

/* Bytes up to the end of the extent; 0 at the end of the list. */
static inline u64 neuron_cursor_room(const struct neuron_cursor *cursor)
{
	if (!cursor->nr)
		return 0;
	return le64_to_cpu(cursor->extent->length) - cursor->offset;
}

static inline u64 neuron_cursor_addr(const struct neuron_cursor *cursor)
{
	return le64_to_cpu(cursor->extent->addr) + cursor->offset;
}

/* By no more than the room. */
static inline void neuron_cursor_advance(struct neuron_cursor *cursor,
					 u64 bytes)
{
	cursor->offset += bytes;
	if (neuron_cursor_room(cursor))
		return;
	cursor->extent++;
	cursor->nr--;
	cursor->offset = 0;
}

/* Memory of a file, by place. */
void neuron_gem_fdinfo(struct drm_file *file, struct drm_printer *p);

struct dma_buf *neuron_gem_prime_export(struct drm_gem_object *obj, int flags);

/* A peer's buffer whose chip has left its driver: its address means nothing. */
bool neuron_bo_is_gone(const struct neuron_bo *bo);

/*
 * Of each chip that has a buffer of @ndev, once or more, under peer_lock. After
 * drm_dev_unplug() there are no new ones.
 */
void neuron_peers_each(struct neuron_device *ndev,
		       void (*call)(struct neuron_device *peer));

/* HBM whose contents ended with a reset of the chip that holds it. */
bool neuron_bo_is_lost(const struct neuron_bo *bo);

/* PRIME: our own dma-bufs of any chip on the same fabric; others -EOPNOTSUPP. */
struct drm_gem_object *neuron_gem_prime_import(struct drm_device *drm,
					       struct dma_buf *dma_buf);

NEURON_IOCTL_HANDLER(bo_create);
NEURON_IOCTL_HANDLER(bo_info);
NEURON_IOCTL_HANDLER(bo_import);

#endif /* _NEURON_GEM_H_ */
