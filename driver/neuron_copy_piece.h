/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call of the copy ioctl and its pieces.
 */
#ifndef _NEURON_COPY_PIECE_H_
#define _NEURON_COPY_PIECE_H_

#include <linux/dma-direction.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>

#include "drm/neuron_accel.h"
#include "neuron_copy.h"
#include "neuron_device.h"
#include "neuron_gem.h"

struct page;

#define NEURON_PIECE_BYTES	SZ_2M
/*
 * In flight at a time: the device has work while one piece's interrupt is served and
 * the next one's pages are pinned, which in a guest without KVM take as long as a
 * piece or two.
 */
#define NEURON_NR_PIECES	4

/**
 * struct neuron_piece - a part of a copy
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
struct neuron_piece {
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
	struct neuron_piece piece[NEURON_NR_PIECES];
};

static inline bool neuron_copy_has_user(const struct neuron_copy *copy)
{
	return copy->direction != DRM_NEURON_COPY_BUFFER;
}

/* To be freed in any case. */
int neuron_piece_alloc(struct neuron_copy *copy, struct neuron_piece *piece);
void neuron_piece_free(struct neuron_piece *piece);
/* The next part of @copy becomes @piece and is given to a queue. */
int neuron_piece_start(struct neuron_copy *copy, struct neuron_piece *piece);
/* After a start that succeeded: nothing of it is in use on return. */
int neuron_piece_finish(struct neuron_copy *copy, struct neuron_piece *piece);

#endif /* _NEURON_COPY_PIECE_H_ */
