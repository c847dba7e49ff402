// SPDX-License-Identifier: GPL-2.0-only
/*
 * The copy ioctl: user memory and buffers, in pieces. A few are in flight, so the
 * next one's pages are pinned while the device moves those before.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "neuron_copy_piece.h"
#include "neuron_gem.h"
#include "neuron_hw.h"

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

	copy = kzalloc(sizeof(*copy), GFP_KERNEL);
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
	if (args->direction == DRM_NEURON_COPY_FROM_DEVICE)
		neuron_cursor_init(&copy->src, bo->extents, bo->nr_extents,
				   args->offset);
	else
		neuron_cursor_init(&copy->dst, bo->extents, bo->nr_extents,
				   args->offset);
	if (src)
		neuron_cursor_init(&copy->src, src->extents, src->nr_extents,
				   args->src_offset);

	ret = neuron_copy_run(copy);
	neuron_copy_free(copy);
	return ret;
}

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
