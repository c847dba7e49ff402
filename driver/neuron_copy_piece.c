// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pieces of copies: user memory is pinned and mapped, extents are cut into moves, and
 * what fails because of others is tried again.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "neuron_copy_piece.h"

/* Failures of others that a piece outlives: a lying device has no end of them. */
#define NEURON_PIECE_RETRIES	8

/*
 * A page may be in several pieces at a time, of one copy or of several: that is the caller's
 * affair. So the caches (and bounce buffers) are told of a piece by hand.
 */
#define NEURON_PIECE_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

static enum dma_data_direction neuron_copy_dir(const struct neuron_copy *copy)
{
	return copy->direction == DRM_NEURON_COPY_TO_DEVICE ? DMA_TO_DEVICE :
							      DMA_FROM_DEVICE;
}

/* Cut @bytes into moves; fewer are covered when @max_desc is reached. */
static u64 neuron_piece_build(struct neuron_piece *piece,
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
			    struct neuron_piece *piece, u64 bytes)
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
			       struct neuron_piece *piece)
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
			    struct neuron_piece *piece, u64 bytes)
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
						GFP_KERNEL);
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

		piece->extents[i].addr = cpu_to_le64(addr);
		piece->extents[i].length = cpu_to_le64(sg_dma_len(sg));
	}
	return 0;

err_free:
	sg_free_table(&piece->sgt);
	return ret;
}

/* Under neuron_device.copy_lock. */
static void neuron_piece_unmap_locked(struct neuron_device *ndev,
				      struct neuron_piece *piece)
{
	struct device *dev = &ndev->pdev->dev;

	list_del_init(&piece->link);
	dma_sync_sgtable_for_cpu(dev, &piece->sgt, piece->dir);
	dma_unmap_sgtable(dev, &piece->sgt, piece->dir, NEURON_PIECE_DMA_ATTRS);
}

/* The end of the device may have been first. */
static void neuron_piece_unmap(struct neuron_copy *copy,
			       struct neuron_piece *piece)
{
	struct neuron_device *ndev = copy->ndev;

	mutex_lock(&ndev->copy_lock);
	if (!list_empty(&piece->link))
		neuron_piece_unmap_locked(ndev, piece);
	mutex_unlock(&ndev->copy_lock);
	sg_free_table(&piece->sgt);
}

/*
 * Who copies may wait for a page fault that nobody answers, with a piece that is
 * complete in hand. Its pages stay pinned until then; its mapping goes now.
 */
void neuron_copy_unmap_all(struct neuron_device *ndev)
{
	struct neuron_piece *piece, *next;

	mutex_lock(&ndev->copy_lock);
	list_for_each_entry_safe(piece, next, &ndev->copy_pieces, link)
		neuron_piece_unmap_locked(ndev, piece);
	mutex_unlock(&ndev->copy_lock);
}

static void neuron_piece_release(struct neuron_copy *copy,
				 struct neuron_piece *piece)
{
	if (!neuron_copy_has_user(copy))
		return;
	neuron_piece_unmap(copy, piece);
	neuron_piece_unpin(copy, piece);
}

/* May the piece, which failed by no fault of its own, be submitted again? */
static int neuron_piece_retry(struct neuron_copy *copy,
			      struct neuron_piece *piece)
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
			       struct neuron_piece *piece)
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
				     struct neuron_piece *piece)
{
	u64 bytes = min(copy->left,
			NEURON_PIECE_BYTES - offset_in_page(copy->user));
	bool to_device = neuron_copy_dir(copy) == DMA_TO_DEVICE;
	struct neuron_cursor user;
	int ret;

	ret = neuron_piece_pin(copy, piece, bytes);
	if (ret)
		return ret;
	ret = neuron_piece_map(copy, piece, bytes);
	if (ret)
		return ret;

	neuron_cursor_init(&user, piece->extents, piece->sgt.nents, 0);
	bytes = neuron_piece_build(piece, to_device ? &copy->dst : &user,
				   to_device ? &user : &copy->src, bytes);
	copy->user += bytes;
	copy->left -= bytes;
	return bytes ? 0 : -EINVAL;
}

int neuron_piece_start(struct neuron_copy *copy, struct neuron_piece *piece)
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

int neuron_piece_finish(struct neuron_copy *copy, struct neuron_piece *piece)
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

int neuron_piece_alloc(struct neuron_copy *copy, struct neuron_piece *piece)
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
				     GFP_KERNEL | __GFP_NOWARN);
	if (!piece->desc)
		return -ENOMEM;
	if (!neuron_copy_has_user(copy))
		return 0;

	piece->pages = kvmalloc_array(nr_pages, sizeof(*piece->pages),
				      GFP_KERNEL | __GFP_NOWARN);
	piece->extents = kvmalloc_array(nr_pages, sizeof(*piece->extents),
					GFP_KERNEL | __GFP_NOWARN);
	return piece->pages && piece->extents ? 0 : -ENOMEM;
}

void neuron_piece_free(struct neuron_piece *piece)
{
	kvfree(piece->desc);
	kvfree(piece->pages);
	kvfree(piece->extents);
}
