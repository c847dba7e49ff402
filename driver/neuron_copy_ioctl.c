// SPDX-License-Identifier: GPL-2.0-only
/*
 * The copy ioctl: user memory and buffers, in pieces. A few are in flight, so the
 * next one's pages are pinned while the device moves those before.
 */
#include <linux/dma-direction.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "contract/window.h"
#include "drm/neuron_accel.h"
#include "neuron_copy.h"
#include "neuron_device.h"
#include "neuron_gem.h"
#include "neuron_ioctl.h"

#define NEURON_PIECE_BYTES	SZ_2M
/*
 * In flight at a time: the device has work while one piece's interrupt is served and
 * the next one's pages are pinned, which in a guest without KVM take as long as a
 * piece or two.
 */
#define NEURON_NR_PIECES	4

/**
 * struct neuron_copy_piece - a part of a copy
 * @req: what the queue sees
 * @queue: the queue it is on
 * @retries: how often it was submitted again, except when @req was innocent
 * @desc: moves, room for @max_desc
 * @max_desc: NEURON_COPY_MAX_DESC, fewer for a small copy
 * @pages: pinned pages, room for a whole piece
 * @nr_pages: how many are pinned
 * @sgt: their mapping
 * @dir: direction of @sgt
 * @link: in neuron_device.copy_pieces while @sgt is mapped
 * @extents: the mapping as the device sees it
 */
struct neuron_copy_piece {
	struct neuron_copy_request req;
	struct neuron_copy_queue *queue;
	unsigned int retries;
	struct neuron_copy_desc *desc;
	unsigned int max_desc;
	struct page **pages;
	unsigned int nr_pages;
	struct sg_table sgt;
	enum dma_data_direction dir;
	struct list_head link;
	struct neuron_hw_extent *extents;
};

/**
 * struct neuron_copy - a call
 * @ndev: device
 * @epoch: neuron_device.epoch of its beginning: it does not go on in another one
 * @direction: DRM_NEURON_COPY_*
 * @stack: where the copy takes place
 * @dst: position in the destination buffer, unless that is user memory
 * @src: position in the source buffer, unless that is user memory
 * @user: next byte of user memory
 * @left: bytes not yet in a piece
 * @nr_pieces: pieces in use, 1 for a small copy
 * @piece: pieces, used in turn
 */
struct neuron_copy {
	struct neuron_device *ndev;
	u32 epoch;
	u32 direction;
	unsigned int stack;
	struct neuron_cursor dst;
	struct neuron_cursor src;
	u64 user;
	u64 left;
	unsigned int nr_pieces;
	struct neuron_copy_piece piece[NEURON_NR_PIECES];
};

static bool neuron_copy_has_user(const struct neuron_copy *copy)
{
	return copy->direction != DRM_NEURON_COPY_BUFFER;
}

/*
 * Pieces of copies: user memory is pinned and mapped, extents are cut into moves, and
 * what fails because of others is tried again.
 */

/* How often a piece that was stopped is tried again: the failures of a lying device do not end. */
#define NEURON_PIECE_RETRIES	8

/*
 * A page may be in several pieces at a time, of one copy or of several; what it holds then is the
 * caller's affair. Mapping and unmapping do not sync. Each piece is synced by its own calls.
 */
#define NEURON_PIECE_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

static enum dma_data_direction neuron_copy_dir(const struct neuron_copy *copy)
{
	return copy->direction == DRM_NEURON_COPY_TO_DEVICE ? DMA_TO_DEVICE :
							      DMA_FROM_DEVICE;
}

/* Cut @bytes into moves; fewer are covered when @max_desc is reached. */
static u64 neuron_piece_build(struct neuron_copy_piece *piece,
			      struct neuron_cursor *dst,
			      struct neuron_cursor *src, u64 bytes)
{
	u64 left = bytes;
	unsigned int n;

	for (n = 0; left && n < piece->max_desc; n++) {
		u64 len = min3(left, neuron_cursor_room(dst),
			       neuron_cursor_room(src));

		len = min(len, NEURON_UDMA_DESC_MAX_BYTES);
		if (!len)
			break;
		piece->desc[n] = (struct neuron_copy_desc){
			.src = neuron_cursor_addr(src),
			.dst = neuron_cursor_addr(dst),
			.len = len,
		};
		neuron_cursor_advance(src, len);
		neuron_cursor_advance(dst, len);
		left -= len;
	}
	piece->req.desc = piece->desc;
	piece->req.nr = n;
	piece->req.bytes = bytes - left;
	return bytes - left;
}

static int neuron_piece_pin(struct neuron_copy *copy,
			    struct neuron_copy_piece *piece, u64 bytes)
{
	unsigned int want = DIV_ROUND_UP(offset_in_page(copy->user) + bytes,
					 PAGE_SIZE);
	bool write = neuron_copy_dir(copy) == DMA_FROM_DEVICE;
	int got;

	got = pin_user_pages_fast(copy->user & PAGE_MASK, want,
				  write ? FOLL_WRITE : 0, piece->pages);
	if (got < 0)
		return got;
	piece->nr_pages = got;
	return got == want ? 0 : -EFAULT;
}

static void neuron_piece_unpin(struct neuron_copy *copy,
			       struct neuron_copy_piece *piece)
{
	unpin_user_pages_dirty_lock(piece->pages, piece->nr_pages,
				    neuron_copy_dir(copy) == DMA_FROM_DEVICE);
	piece->nr_pages = 0;
}

/* As large as the DMA layer maps in one go: bounce buffers have a limit. */
static unsigned int neuron_copy_max_segment(struct device *dev)
{
	size_t max = dma_max_mapping_size(dev) & PAGE_MASK;

	return clamp_t(size_t, max, PAGE_SIZE, NEURON_PIECE_BYTES);
}

static int neuron_piece_map(struct neuron_copy *copy,
			    struct neuron_copy_piece *piece, u64 bytes)
{
	struct device *dev = &copy->ndev->pdev->dev;
	struct scatterlist *sg;
	unsigned int i;
	int ret, idx;

	ret = sg_alloc_table_from_pages_segment(&piece->sgt, piece->pages,
						piece->nr_pages,
						offset_in_page(copy->user),
						bytes,
						neuron_copy_max_segment(dev),
						GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;

	ret = -ENODEV;
	if (!drm_dev_enter(&copy->ndev->drm, &idx))
		goto err_free;
	ret = dma_map_sgtable(dev, &piece->sgt, piece->dir, NEURON_PIECE_DMA_ATTRS);
	if (!ret) {
		dma_sync_sgtable_for_device(dev, &piece->sgt, piece->dir);
		mutex_lock(&copy->ndev->copy_lock);
		list_add(&piece->link, &copy->ndev->copy_pieces);
		mutex_unlock(&copy->ndev->copy_lock);
	}
	drm_dev_exit(idx);
	if (ret)
		goto err_free;

	for_each_sgtable_dma_sg(&piece->sgt, sg, i) {
		u64 addr = neuron_host_addr(copy->ndev, sg_dma_address(sg));

		piece->extents[i] = neuron_hw_extent(addr, sg_dma_len(sg));
	}
	return 0;

err_free:
	sg_free_table(&piece->sgt);
	return ret;
}

/* Under neuron_device.copy_lock. */
static void neuron_piece_unmap_locked(struct neuron_device *ndev,
				      struct neuron_copy_piece *piece)
{
	struct device *dev = &ndev->pdev->dev;

	lockdep_assert_held(&ndev->copy_lock);
	list_del_init(&piece->link);
	dma_sync_sgtable_for_cpu(dev, &piece->sgt, piece->dir);
	dma_unmap_sgtable(dev, &piece->sgt, piece->dir, NEURON_PIECE_DMA_ATTRS);
}

/* neuron_copy_unmap_all() may have unmapped it already. */
static void neuron_piece_unmap(struct neuron_copy *copy,
			       struct neuron_copy_piece *piece)
{
	struct neuron_device *ndev = copy->ndev;

	mutex_lock(&ndev->copy_lock);
	if (!list_empty(&piece->link))
		neuron_piece_unmap_locked(ndev, piece);
	mutex_unlock(&ndev->copy_lock);
	sg_free_table(&piece->sgt);
}

/*
 * The device leaves, and its mappings must go with it. A copy may wait for a page fault that nobody
 * answers, and may have a piece that is complete and still mapped. The pages stay pinned until the
 * copy goes on.
 */
void neuron_copy_unmap_all(struct neuron_device *ndev)
{
	struct neuron_copy_piece *piece, *next;

	mutex_lock(&ndev->copy_lock);
	list_for_each_entry_safe(piece, next, &ndev->copy_pieces, link)
		neuron_piece_unmap_locked(ndev, piece);
	mutex_unlock(&ndev->copy_lock);
}

static void neuron_piece_release(struct neuron_copy *copy,
				 struct neuron_copy_piece *piece)
{
	if (!neuron_copy_has_user(copy))
		return;
	neuron_piece_unmap(copy, piece);
	neuron_piece_unpin(copy, piece);
}

/* May the piece, which failed by no fault of its own, be submitted again? */
static int neuron_piece_retry(struct neuron_copy *copy,
			      struct neuron_copy_piece *piece)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	if (piece->req.innocent || piece->retries++ < NEURON_PIECE_RETRIES)
		return 0;
	drm_err_ratelimited(&copy->ndev->drm,
			    "copy given up: its queue failed %u times\n",
			    piece->retries);
	return -EIO;
}

static int neuron_piece_submit(struct neuron_copy *copy,
			       struct neuron_copy_piece *piece)
{
	int ret;

	for (;;) {
		ret = neuron_copy_submit(piece->queue, &piece->req);
		if (ret == -ENOSPC)
			ret = neuron_copy_wait_room(piece->queue, piece->req.nr);
		else if (ret == -EAGAIN)
			ret = neuron_piece_retry(copy, piece);
		else
			return ret;
		if (ret)
			return ret;
	}
}

/* The next piece with user memory: pinned, mapped, cut into moves. */
static int neuron_piece_prepare_user(struct neuron_copy *copy,
				     struct neuron_copy_piece *piece)
{
	u64 bytes = min(copy->left,
			NEURON_PIECE_BYTES - offset_in_page(copy->user));
	bool to_device = neuron_copy_dir(copy) == DMA_TO_DEVICE;
	struct neuron_cursor user = { };
	int ret;

	ret = neuron_piece_pin(copy, piece, bytes);
	if (ret)
		return ret;
	ret = neuron_piece_map(copy, piece, bytes);
	if (ret)
		return ret;

	user.extent = piece->extents;
	user.nr = piece->sgt.nents;
	bytes = neuron_piece_build(piece, to_device ? &copy->dst : &user,
				   to_device ? &user : &copy->src, bytes);
	copy->user += bytes;
	copy->left -= bytes;
	return bytes ? 0 : -EINVAL;
}

/* The next part of @copy becomes @piece and is given to a queue. */
static int neuron_piece_start(struct neuron_copy *copy, struct neuron_copy_piece *piece)
{
	u64 bytes;
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;

	if (neuron_copy_has_user(copy)) {
		ret = neuron_piece_prepare_user(copy, piece);
		if (ret)
			goto err_release;
	} else {
		bytes = min(copy->left, NEURON_PIECE_BYTES);
		copy->left -= neuron_piece_build(piece, &copy->dst, &copy->src,
						 bytes);
	}

	piece->queue = neuron_copy_pick(copy->ndev, copy->stack);
	piece->req.epoch = copy->epoch;
	piece->req.innocent = false;
	piece->retries = 0;
	ret = neuron_piece_submit(copy, piece);
	if (!ret)
		return 0;

err_release:
	neuron_piece_release(copy, piece);
	return ret;
}

/* After a start that succeeded: nothing of it is in use on return. */
static int neuron_piece_finish(struct neuron_copy *copy, struct neuron_copy_piece *piece)
{
	int ret;

	for (;;) {
		ret = neuron_copy_wait(piece->queue, &piece->req);
		if (ret != -EAGAIN)
			break;
		ret = neuron_piece_retry(copy, piece);
		if (ret)
			break;
		ret = neuron_piece_submit(copy, piece);
		if (ret)
			break;
	}
	neuron_piece_release(copy, piece);
	return ret;
}

/* To be freed in any case. */
static int neuron_piece_alloc(struct neuron_copy *copy, struct neuron_copy_piece *piece)
{
	u64 bytes = min(copy->left, NEURON_PIECE_BYTES);
	unsigned int nr_pages = bytes / PAGE_SIZE + 2;

	INIT_LIST_HEAD(&piece->link);
	piece->dir = neuron_copy_dir(copy);
	/* Cuts at the pages of both sides and at 64 KiB. */
	piece->max_desc = min(2 * nr_pages + 2 +
			      bytes / NEURON_UDMA_DESC_MAX_BYTES,
			      NEURON_COPY_MAX_DESC);
	piece->desc = kvmalloc_array(piece->max_desc, sizeof(*piece->desc),
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!piece->desc)
		return -ENOMEM;
	if (!neuron_copy_has_user(copy))
		return 0;

	piece->pages = kvmalloc_array(nr_pages, sizeof(*piece->pages),
				      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	piece->extents = kvmalloc_array(nr_pages, sizeof(*piece->extents),
					GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return piece->pages && piece->extents ? 0 : -ENOMEM;
}

static void neuron_piece_free(struct neuron_copy_piece *piece)
{
	kvfree(piece->desc);
	kvfree(piece->pages);
	kvfree(piece->extents);
}

/* The call. */

static int neuron_copy_run(struct neuron_copy *copy)
{
	unsigned int nr = copy->nr_pieces;
	unsigned int started = 0, finished = 0;
	int ret = 0, err;

	while ((copy->left && !ret) || finished != started) {
		if (copy->left && !ret && started - finished < nr) {
			ret = neuron_piece_start(copy,
						 &copy->piece[started % nr]);
			if (!ret)
				started++;
			continue;
		}
		err = neuron_piece_finish(copy, &copy->piece[finished % nr]);
		finished++;
		if (!ret)
			ret = err;
	}
	return ret;
}

static void neuron_copy_free(struct neuron_copy *copy)
{
	unsigned int i;

	for (i = 0; i < copy->nr_pieces; i++)
		neuron_piece_free(&copy->piece[i]);
	kfree(copy);
}

static struct neuron_copy *neuron_copy_alloc(struct neuron_device *ndev,
					     const struct drm_neuron_copy *args)
{
	struct neuron_copy *copy;
	unsigned int i;

	copy = kzalloc(sizeof(*copy), GFP_KERNEL_ACCOUNT);
	if (!copy)
		return NULL;

	copy->ndev = ndev;
	copy->direction = args->direction;
	copy->user = args->user;
	copy->left = args->size;
	copy->nr_pieces = min_t(u64, NEURON_NR_PIECES,
				DIV_ROUND_UP_ULL(args->size, NEURON_PIECE_BYTES));
	for (i = 0; i < copy->nr_pieces; i++) {
		if (neuron_piece_alloc(copy, &copy->piece[i])) {
			neuron_copy_free(copy);
			return NULL;
		}
	}
	return copy;
}

/* A buffer of this chip that has [@offset, @offset + @size). */
static struct neuron_bo *neuron_copy_lookup(struct drm_file *file, u32 handle,
					    u64 offset, u64 size)
{
	struct neuron_bo *bo = neuron_bo_lookup(file, handle);

	if (IS_ERR(bo))
		return bo;
	if (neuron_bo_is_lost(bo)) {
		drm_dbg(bo->base.dev, "copy of a buffer lost in a device reset\n");
		neuron_bo_put(bo);
		return ERR_PTR(neuron_hw_error(to_neuron_device(file->minor->dev)));
	}
	if (bo->kind != NEURON_BO_PEER && size <= bo->base.size &&
	    offset <= bo->base.size - size)
		return bo;

	drm_dbg(bo->base.dev,
		"copy of %llu bytes at %llu of a buffer of %zu (peer: %d)\n",
		size, offset, bo->base.size, bo->kind == NEURON_BO_PEER);
	neuron_bo_put(bo);
	return ERR_PTR(-EINVAL);
}

static int neuron_copy_check(struct drm_device *drm,
			     const struct drm_neuron_copy *args)
{
	bool buffer = args->direction == DRM_NEURON_COPY_BUFFER;
	u64 end;

	if (args->direction > DRM_NEURON_COPY_BUFFER || args->flags ||
	    (buffer && args->user) ||
	    (!buffer && (args->src_handle || args->src_offset)) ||
	    check_add_overflow(args->user, args->size, &end)) {
		drm_dbg(drm, "copy: direction %u, flags %#x, or a field that does not belong to it\n",
			args->direction, args->flags);
		return -EINVAL;
	}
	return 0;
}

/* Two ranges of one buffer must not overlap: moves have no order. */
static bool neuron_copy_overlaps(const struct drm_neuron_copy *args)
{
	return args->offset < args->src_offset + args->size &&
	       args->src_offset < args->offset + args->size;
}

/* Where the buffers begin: @bo, and of a copy from another buffer @src. */
static int neuron_copy_begin(struct neuron_copy *copy, const struct drm_neuron_copy *args,
			     struct neuron_bo *bo, struct neuron_bo *src)
{
	int ret;

	if (args->direction == DRM_NEURON_COPY_FROM_DEVICE)
		return neuron_bo_cursor(bo, args->offset, &copy->src);
	ret = neuron_bo_cursor(bo, args->offset, &copy->dst);
	if (!ret && src)
		ret = neuron_bo_cursor(src, args->src_offset, &copy->src);
	return ret;
}

static int neuron_copy_with(struct neuron_device *ndev, u32 epoch,
			    const struct drm_neuron_copy *args,
			    struct neuron_bo *bo, struct neuron_bo *src)
{
	struct neuron_copy *copy;
	int ret;

	if (!args->size)
		return 0;
	copy = neuron_copy_alloc(ndev, args);
	if (!copy)
		return -ENOMEM;

	copy->epoch = epoch;
	copy->stack = bo->kind == NEURON_BO_HBM || !src ? bo->stack :
							  src->stack;
	ret = neuron_copy_begin(copy, args, bo, src);
	if (!ret)
		ret = neuron_copy_run(copy);
	neuron_copy_free(copy);
	return ret;
}

/**
 * neuron_ioctl_copy() - COPY: move bytes by DMA, and wait for the end
 * @drm: device
 * @data: &struct drm_neuron_copy
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_copy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	const struct drm_neuron_copy *args = data;
	/* Before the buffers are looked at: what they hold ends with it. */
	u32 epoch = READ_ONCE(ndev->epoch);
	struct neuron_bo *src = NULL;
	struct neuron_bo *bo;
	int ret;

	ret = neuron_copy_check(drm, args);
	if (ret)
		return ret;

	bo = neuron_copy_lookup(file, args->handle, args->offset, args->size);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	if (args->direction != DRM_NEURON_COPY_FROM_DEVICE &&
	    (neuron_bo_is_read_only(bo) || neuron_bo_is_stream(bo))) {
		drm_dbg(drm, "copy into a stream or a read-only buffer\n");
		ret = -EPERM;
		goto put_bo;
	}
	if (args->direction == DRM_NEURON_COPY_BUFFER) {
		src = neuron_copy_lookup(file, args->src_handle,
					 args->src_offset, args->size);
		if (IS_ERR(src)) {
			ret = PTR_ERR(src);
			goto put_bo;
		}
		if (src == bo && neuron_copy_overlaps(args)) {
			ret = -EINVAL;
			goto put_src;
		}
	}

	ret = neuron_copy_with(ndev, epoch, args, bo, src);

put_src:
	if (src)
		neuron_bo_put(src);
put_bo:
	neuron_bo_put(bo);
	return ret;
}
