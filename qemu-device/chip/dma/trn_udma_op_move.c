// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * DMA operations that move bits: copies of one type, transposition.
 */
#include <string.h>

#include "dma/trn_udma_op_private.h"
#include "mem/trn_access.h"

#define BOUNCE_BYTES	8192
/* From this length on memory to memory is worth more than one block. */
#define DIRECT_BYTES	512
/* Most that is moved without asking whether to stop. */
#define DIRECT_MAX	65536

/* Elements of a tile, and the most of them in a line. */
#define TILE_ELEMENTS	8192
#define TILE_LINE	128
/* Lines of tiles are longer than this. */
#define TILE_LEAST	4

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/*
 * Straight from the source to the only destination, as far as both go on without
 * a step; 0 in *@n: not worth it.
 */
static enum neuron_cause copy_direct(struct trn_op *o, uint64_t first,
				     uint64_t end, uint32_t *n)
{
	struct trn_udma_op_work *work = o->work;
	enum neuron_cause cause;
	uint64_t src, dst;

	*n = least(trn_udma_walk_at(&o->src, work->src[0], first, &src),
		   trn_udma_walk_at(&o->dst, work->dst[0], first, &dst));
	*n = least(*n, least(end - first, DIRECT_MAX / o->src.size));
	if (*n * o->src.size < DIRECT_BYTES) {
		*n = 0;
		return NEURON_CAUSE_NONE;
	}
	cause = trn_access_copy(&o->access, dst, src, *n * o->src.size);
	if (o->src.hops < o->access.hops)
		o->src.hops = o->access.hops;
	if (cause)
		return trn_op_bad_end(o, cause, o->access.bad_dst, 0);
	work->dma.read += (uint64_t)*n * o->src.size;
	work->dma.written += (uint64_t)*n * o->src.size;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause copy_block(struct trn_op *o, uint64_t first,
				    uint64_t end, uint32_t *n)
{
	uint8_t bounce[BOUNCE_BYTES];
	enum neuron_cause cause;

	*n = least(end - first, trn_op_piece(o, BOUNCE_BYTES / o->src.size));
	cause = trn_op_read(o, 0, first, *n, bounce);
	return cause ? cause : trn_op_write_all(o, first, *n, bounce);
}

/* The work of moving @n elements in lines of @src and @dst. */
static uint64_t work_of(const struct trn_op *o, uint32_t n, uint32_t src, uint32_t dst)
{
	return trn_op_accesses(o, n, src, dst) * TRN_OP_ACCESS_WORK +
	       (uint64_t)n * o->src.size * o->work->op->nr_dst / TRN_OP_COPY_BYTES;
}

enum neuron_cause trn_op_copy(struct trn_op *o)
{
	bool direct = o->work->op->nr_dst == 1;
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	uint32_t n;

	while (!cause && o->first < o->end && !trn_op_stopped(o)) {
		n = 0;
		if (direct)
			cause = copy_direct(o, o->first, o->end, &n);
		if (!n)
			cause = copy_block(o, o->first, o->end, &n);
		o->first += n;
		if (trn_op_pause(o, work_of(o, n, n, n)))
			break;
	}
	return cause;
}

/**
 * struct tile - a part of a matrix of @wide x @high elements
 * @plane: number of the matrix's first element
 * @x, @y, @w, @h: the part, @x along dimension 0 of the source
 */
struct tile {
	uint64_t plane;
	uint32_t wide, high;
	uint32_t x, y, w, h;
};

static enum neuron_cause tile_read(struct trn_op *o, const struct tile *t,
				   uint8_t *buf)
{
	uint64_t first = t->plane + (uint64_t)t->y * t->wide + t->x;
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	uint32_t i;

	if (t->w == t->wide)
		return trn_op_read(o, 0, first, t->w * t->h, buf);
	for (i = 0; !cause && i < t->h; i++)
		cause = trn_op_read(o, 0, first + (uint64_t)i * t->wide, t->w,
				    buf + (size_t)i * t->w * o->src.size);
	return cause;
}

static enum neuron_cause tile_write(struct trn_op *o, const struct tile *t,
				    const uint8_t *buf)
{
	uint64_t first = t->plane + (uint64_t)t->x * t->high + t->y;
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	uint32_t i;

	if (t->h == t->high)
		return trn_op_write_all(o, first, t->w * t->h, buf);
	for (i = 0; !cause && i < t->w; i++)
		cause = trn_op_write_all(o, first + (uint64_t)i * t->high, t->h,
					 buf + (size_t)i * t->h * o->src.size);
	return cause;
}

static void turn_2(uint16_t *to, const uint16_t *from, uint32_t w, uint32_t h)
{
	uint32_t x, y;

	for (x = 0; x < w; x++)
		for (y = 0; y < h; y++)
			*to++ = from[y * w + x];
}

static void turn_4(uint32_t *to, const uint32_t *from, uint32_t w, uint32_t h)
{
	uint32_t x, y;

	for (x = 0; x < w; x++)
		for (y = 0; y < h; y++)
			*to++ = from[y * w + x];
}

static enum neuron_cause turn_tile(struct trn_op *o, const struct tile *t)
{
	uint32_t from[TILE_ELEMENTS], to[TILE_ELEMENTS];
	enum neuron_cause cause;

	cause = tile_read(o, t, (uint8_t *)from);
	if (cause)
		return cause;
	if (o->src.size == 2)
		turn_2((uint16_t *)to, (uint16_t *)from, t->w, t->h);
	else
		turn_4(to, from, t->w, t->h);
	return tile_write(o, t, (uint8_t *)to);
}

/* As large as may be, and still few accesses. A narrow matrix has long tiles. */
static void tile_size(const struct trn_op *o, const struct tile *t, uint32_t *w, uint32_t *h)
{
	uint32_t elements = TILE_ELEMENTS, line = TILE_LINE;

	do {
		*h = least(t->high, line);
		*w = least(t->wide, elements / *h);
		*h = least(t->high, elements / *w);
		elements /= 4;
		line /= 2;
	} while (line > TILE_LEAST && trn_op_accesses(o, *w * *h, *w, *h) > 2 * TRN_OP_ACCESSES);
}

/* The next tile of the matrix that begins with element o->first. */
static enum neuron_cause turn_next(struct trn_op *o, const struct tile *plane, uint32_t w,
				   uint32_t h)
{
	struct tile t = *plane;

	t.plane = o->first;
	t.x = o->x;
	t.y = o->y;
	t.w = least(w, t.wide - t.x);
	t.h = least(h, t.high - t.y);
	o->x += t.w;
	if (o->x == t.wide) {
		o->x = 0;
		o->y += t.h;
	}
	if (o->y == t.high) {
		o->y = 0;
		o->first += (uint64_t)t.wide * t.high;
	}
	return turn_tile(o, &t);
}

/* The elements are those of whole matrices: an index leaves out dimension 3 at a time. */
enum neuron_cause trn_op_transpose(struct trn_op *o)
{
	const struct tile plane = {
		.wide = o->work->op->src.num[0],
		.high = o->work->op->src.num[1],
	};
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	uint32_t w, h;

	if (o->first >= o->end)
		return NEURON_CAUSE_NONE;
	tile_size(o, &plane, &w, &h);
	while (!cause && o->first < o->end && !trn_op_stopped(o)) {
		cause = turn_next(o, &plane, w, h);
		if (trn_op_pause(o, work_of(o, w * h, w, h)))
			break;
	}
	return cause;
}
