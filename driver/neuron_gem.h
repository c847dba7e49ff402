/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers.
 */
#ifndef _NEURON_GEM_H_
#define _NEURON_GEM_H_

#include <linux/types.h>
#include <asm/byteorder.h>
#include <drm/drm_gem.h>

#include "contract/window.h"
#include "drm/neuron_accel.h"
#include "neuron_ioctl.h"

struct drm_neuron_bo_import;
struct neuron_device;

/**
 * DOC: Memory layer
 *
 * A buffer is a GEM object, &struct neuron_bo. There are four kinds of them:
 *
 * - HBM of this chip, from the buddy allocator of one stack (neuron_hbm.c). The CPU sees it
 *   through BAR4.
 * - Host memory from the DMA layer, in chunks as large as it can give (neuron_gem.c).
 * - Memory of the process itself, pinned (neuron_userptr.c).
 * - HBM of another chip on the fabric, imported as a dma-buf (neuron_prime.c).
 *
 * Every kind is a list of extents: pieces that are contiguous for the device. The list is made
 * with the buffer and never changes. So windows and copies read it without a lock. A buffer with
 * many extents gets an index of their offsets when somebody first asks for a place in it
 * (neuron_bo_cursor()).
 *
 * HBM is zero when it is free. A block is allocated at once, because it is zero already. When a
 * buffer ends, its blocks go on the list of the scrub work, which has the chip's discard engine
 * zero them. Only then are they free again. An allocation waits for the work only when the stack
 * is full. What the chip fails to scrub is *lost*: nobody gets it until a later attempt, or a
 * reset of the device, succeeds.
 *
 * Memory of another chip is also kept from its next owner while a unit of the importer has not
 * stopped when it was asked, or is about to be reset: neuron_device.kept_bos. That ends when the
 * importer is started again, or its driver leaves; and when the driver of the other chip leaves,
 * because whatever finds that chip next begins with an allocator of its own.
 *
 * A buffer may outlive the device: a handle, a mapping or an exported file keeps it. Its host
 * memory does not. All of it is on neuron_device.host_bos, and neuron_gem_host_release_all() gives
 * it back when the device is unplugged. Its HBM is lost in a reset: neuron_bo.epoch tells
 * (neuron_bo_is_lost()).
 *
 * ============================== ==============================================================
 * neuron_device.host_lock        list of the buffers in host memory, and their memory
 * neuron_device.peer_lock        lists of this chip's buffers that other chips have imported, and
 *                                of those chips' memory that this one may still write to
 * neuron_hbm.lock                buddy allocator of a stack
 * neuron_hbm.dirty_lock          what is to be scrubbed, and what is lost; a spinlock, because a
 *                                buffer may be freed in any context
 * neuron_device.discard_lock     the discard engine, for as long as it works
 * neuron_device.epoch_lock       held for reading while a page fault maps HBM
 * ============================== ==============================================================
 *
 * Page faults of a process may take for ever, because a file system or a handler in user space
 * answers them. So user pages are pinned outside of drm_dev_enter() and without any of these
 * locks.
 */

/* What BO_CREATE knows. */
#define NEURON_BO_CREATE_FLAGS	DRM_NEURON_BO_STREAM
#define NEURON_BO_IMPORT_FLAGS	DRM_NEURON_IMPORT_READ_ONLY

/**
 * enum neuron_bo_kind - where a buffer lies
 * @NEURON_BO_HBM: HBM of this chip
 * @NEURON_BO_HOST: host memory that the driver has allocated
 * @NEURON_BO_PEER: HBM of another chip of the fabric
 * @NEURON_BO_USER: memory of the process that has imported it
 */
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
 * @starts: offset of each piece in the buffer, or NULL while nobody has asked for it; made
 *	by neuron_bo_cursor()
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

/**
 * neuron_bo_add_extent() - add a piece of memory to a buffer that is being made
 * @bo: buffer; neuron_bo.extents has room for one more
 * @addr: address of the piece, as the device wants it
 * @length: bytes
 *
 * The piece is joined with the last one when both touch.
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

/**
 * neuron_bo_lookup() - find a buffer
 * @file: file that the handle is of
 * @handle: GEM handle
 *
 * Return: the buffer with a reference, or ERR_PTR(-ENOENT).
 */
struct neuron_bo *neuron_bo_lookup(struct drm_file *file, u32 handle);

/* May sleep. */
static inline void neuron_bo_put(struct neuron_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

/**
 * neuron_host_bo_pages() - find a page of a buffer in host memory
 * @bo: buffer of the kind HOST
 * @page: number of the page in the buffer
 * @pfn: page frame of it
 *
 * Context: under neuron_device.host_lock or inside drm_dev_enter(), or for a job that has not
 * ended, for which the removal waits. By bisection.
 * Return: how many pages from this one on are contiguous; 0: there is no such page.
 */
unsigned long neuron_host_bo_pages(struct neuron_bo *bo, pgoff_t page,
				   unsigned long *pfn);

/**
 * neuron_user_bo_create() - pin memory of the caller and make a buffer of it
 * @ndev: device
 * @args: what BO_IMPORT asks for, checked
 *
 * Context: sleeps, perhaps for long; outside of drm_dev_enter().
 * Return: the buffer with a reference, or an ERR_PTR.
 */
struct neuron_bo *neuron_user_bo_create(struct neuron_device *ndev,
					const struct drm_neuron_bo_import *args);

/**
 * neuron_gem_host_add() - have the host memory of a buffer given back in time
 * @ndev: device
 * @bo: buffer of the kind HOST or USER
 *
 * From here on its host memory is given back when the buffer ends or the device does, whichever
 * comes first. Chunks that are added later are added inside drm_dev_enter(). Takes
 * neuron_device.host_lock.
 */
void neuron_gem_host_add(struct neuron_device *ndev, struct neuron_bo *bo);

/**
 * neuron_gem_host_remove() - the buffer ends: give its host memory back
 * @ndev: device
 * @bo: buffer that neuron_gem_host_add() was called for
 *
 * The pages of a buffer of the kind USER stay pinned. Takes neuron_device.host_lock, and lets
 * others have it between any two parts of a large buffer.
 */
void neuron_gem_host_remove(struct neuron_device *ndev, struct neuron_bo *bo);

/**
 * neuron_gem_host_release_all() - the device goes away: give the host memory of all buffers back
 * @ndev: device, unplugged and stopped: neither it nor a process reaches the memory any more
 *
 * Takes neuron_device.host_lock.
 */
void neuron_gem_host_release_all(struct neuron_device *ndev);

/**
 * neuron_user_bo_unmap() - the device reaches the pages of a buffer no more
 * @bo: buffer of the kind USER; it may have been unmapped already
 *
 * Context: under neuron_device.host_lock.
 */
void neuron_user_bo_unmap(struct neuron_bo *bo);

/**
 * neuron_user_bo_unpin() - give the pages of a buffer back to their process
 * @bo: buffer of the kind USER, unmapped; it may have been unpinned already
 *
 * Context: under neuron_device.host_lock, or when the buffer is on no list any more.
 */
void neuron_user_bo_unpin(struct neuron_bo *bo);

/**
 * neuron_bo_init() - the last step of making a buffer: GEM, and the counts of neuron_usage.c
 * @ndev: device
 * @bo: buffer; its kind, stack and category are set
 * @funcs: GEM functions of its kind
 * @size: bytes, whole pages
 */
void neuron_bo_init(struct neuron_device *ndev, struct neuron_bo *bo,
		    const struct drm_gem_object_funcs *funcs, size_t size);

/**
 * neuron_bo_fini() - the first step of freeing a buffer
 * @bo: buffer that neuron_bo_init() was called for
 */
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

/**
 * neuron_bo_cursor() - find a byte in a buffer, by bisection
 * @bo: buffer
 * @offset: byte, less than the size of the buffer
 * @cursor: set to the position
 *
 * The first call makes an index of the extents, which the buffer keeps.
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_bo_cursor(struct neuron_bo *bo, u64 offset,
		     struct neuron_cursor *cursor);

/* Bytes up to the end of the extent; 0 at the end of the list. */
static inline u64 neuron_cursor_room(const struct neuron_cursor *cursor)
{
	if (!cursor->nr)
		return 0;
	return neuron_hw_extent_length(cursor->extent) - cursor->offset;
}

static inline u64 neuron_cursor_addr(const struct neuron_cursor *cursor)
{
	return neuron_hw_extent_addr(cursor->extent) + cursor->offset;
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

/**
 * neuron_gem_prime_export() - make a dma-buf of a buffer
 * @obj: buffer
 * @flags: of the file descriptor
 *
 * Only chips of the same fabric can import it. No device can attach to it.
 *
 * Return: the dma-buf; ERR_PTR(-EPERM) for a stream, whose importer could write to it.
 */
struct dma_buf *neuron_gem_prime_export(struct drm_gem_object *obj, int flags);

/**
 * neuron_bo_is_gone() - does a buffer lie on a chip that its driver has left?
 * @bo: buffer
 *
 * Context: any.
 * Return: true for an imported buffer whose chip is unplugged. Its routed addresses may mean the
 * memory of another chip by now.
 */
bool neuron_bo_is_gone(const struct neuron_bo *bo);

/**
 * neuron_peers_leave() - a chip leaves: tell the chips that have imported its buffers
 * @ndev: chip that holds the buffers; after drm_dev_unplug(), so nobody imports another one
 * @call: is called for each importer, which knows by then that buffers of it are gone
 *	(neuron_device.nr_gone); no lock is held
 *
 * An importer that is being reset cannot be stopped by @call, and its units go on until then. So
 * this waits for the end of its reset, NEURON_PEER_TIMEOUT_MS at most.
 */
void neuron_peers_leave(struct neuron_device *ndev,
			void (*call)(struct neuron_device *peer));

/**
 * neuron_peers_init() - prepare for buffers of other chips
 * @ndev: device
 */
void neuron_peers_init(struct neuron_device *ndev);

/**
 * neuron_peers_fini() - give back what is kept of other chips' memory
 * @ndev: device, unplugged and stopped
 *
 * If it could not be stopped, that memory stays allocated for ever, and the module stays loaded.
 * Late frees of buffers of other chips are judged in the same way.
 */
void neuron_peers_fini(struct neuron_device *ndev);

/**
 * neuron_bo_is_lost() - have the contents of a buffer ended with a reset of its chip?
 * @bo: buffer
 *
 * Context: any.
 * Return: true for a buffer in HBM, an imported one too, that was made in another epoch.
 */
bool neuron_bo_is_lost(const struct neuron_bo *bo);

/**
 * neuron_gem_prime_import() - make a buffer of a dma-buf
 * @drm: device that imports it
 * @dma_buf: dma-buf
 *
 * Return: the buffer; ERR_PTR(-EOPNOTSUPP) unless it is a buffer of this driver, and HBM of a
 * chip on the same fabric if it is of another chip.
 */
struct drm_gem_object *neuron_gem_prime_import(struct drm_device *drm,
					       struct dma_buf *dma_buf);

NEURON_IOCTL_HANDLER(bo_create);
NEURON_IOCTL_HANDLER(bo_info);
NEURON_IOCTL_HANDLER(bo_import);

#endif /* _NEURON_GEM_H_ */
