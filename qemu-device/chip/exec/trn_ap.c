// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_prefetch.h"
#include "exec/trn_ap.h"
#include "hook/trn_watch.h"
#include "mem/trn_bus.h"
#include "mem/trn_touched.h"
#include "num/trn_num.h"

/* Elements that are converted at a time between strided memory and fp32. */
#define PIECE		256
#define PIECE_BYTES	(PIECE * sizeof(uint64_t))

/* Inner rows shorter than this are gathered before they are converted. */
#define DIRECT_RUN	16

/*
 * The first partition decides how far a tile may reach: 33 to 64 partitions lie
 * in one half, up to 32 in one quadrant.
 */
static bool partitions_valid(unsigned int first, unsigned int count)
{
	if (count == 0 || count > NEURON_PARTITIONS)
		return false;
	if (count > 64)
		return first == 0;
	if (count > 32)
		return first == 0 || first == 64;
	return first < NEURON_PARTITIONS && first % 32 == 0;
}

/* Each tile of each instruction comes here: without calls. */
#define TILE_INLINE	static inline __attribute__((always_inline))

/* The free dimensions: how many elements there are, and how far they reach. */
TILE_INLINE bool shape_valid(const struct neuron_ap *ap, struct trn_tile *tile)
{
	const ptrdiff_t size = tile->size;
	int64_t low = 0, high = size;
	bool contiguous = true;
	/* At most 16 bits each: four of them fit the product. */
	uint64_t n = 1;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		const ptrdiff_t step = (int16_t)ap->step[i] * size;
		const uint32_t num = ap->num[i];

		tile->num[i] = num;
		tile->step[i] = step;
		if (num == 1)
			continue;
		if (step < 0)
			low += ((int64_t)num - 1) * step;
		else
			high += ((int64_t)num - 1) * step;
		contiguous &= step == (ptrdiff_t)n * size;
		n *= num;
	}
	tile->low = low;
	tile->high = high;
	tile->contiguous = contiguous;
	tile->n = (uint32_t)n;
	if (tile->psum && n > TRN_TILE_MAX_PSUM && trn_tile_places(tile) > TRN_TILE_MAX_PSUM)
		return false;
	return n != 0 && n <= TRN_TILE_MAX_SBUF;
}

/* All but where it lies. */
TILE_INLINE enum neuron_cause find_shape(const struct trn_ap_user *user,
					 const struct neuron_ap *ap,
					 struct trn_tile *tile)
{
	struct trn_core *core = user->core;
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, ap->addr);

	tile->core = core;
	tile->mode = NULL;
	tile->index = NULL;
	tile->dtype = ap->dtype;
	tile->size = trn_dtype_size(ap->dtype);
	tile->psum = ap->addr & NEURON_AP_PSUM;
	tile->partitions = ap->partitions;
	if (!trn_dtype_on(ap->dtype, core->chip->gen->generation) ||
	    !partitions_valid(first, ap->partitions) ||
	    !shape_valid(ap, tile))
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_ap_find_index(const struct trn_ap_user *user,
				    const struct neuron_ap *ap, struct trn_tile *tile)
{
	enum neuron_cause cause = find_shape(user, ap, tile);

	return cause ? cause : trn_tile_find_index(user, ap, tile);
}

enum neuron_cause trn_ap_resolve_raw(const struct trn_ap_user *user,
				     const struct neuron_ap *ap,
				     struct trn_tile *tile)
{
	struct trn_core *core = user->core;
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, ap->addr);
	int64_t offset = NEURON_GET(NEURON_AP_OFFSET, ap->addr);
	enum neuron_cause cause;
	int64_t limit;

	cause = find_shape(user, ap, tile);
	if (cause)
		return cause;
	if (ap->index) {
		cause = trn_tile_find_index(user, ap, tile);
		if (cause)
			return cause;
		trn_tile_find_extent(tile, user->extent);
	}

	offset += (int32_t)user->regs[ap->offset_reg];
	limit = tile->psum ? NEURON_TPB_PSUM_STRIDE :
			     core->chip->gen->sbuf_partition;
	/* Sizes are powers of two. */
	if (offset + tile->low < 0 || offset + tile->high > limit ||
	    (offset & (tile->size - 1)))
		return NEURON_CAUSE_ACCESS;

	tile->stride = tile->psum ? NEURON_TPB_PSUM_STRIDE : NEURON_TPB_SBUF_STRIDE;
	tile->base = (tile->psum ? core->psum : core->sbuf) +
		     first * tile->stride + offset;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_ap_resolve(const struct trn_ap_user *user,
				 const struct neuron_ap *ap,
				 struct trn_tile *tile)
{
	if (!trn_dtype_is_number(ap->dtype))
		return NEURON_CAUSE_OPERAND;
	return trn_ap_resolve_raw(user, ap, tile);
}

/* Partition by partition: what lies between the rows of a tile is not written. */
static void watch_rows(const struct trn_tile *tile, const struct trn_loc *first)
{
	struct trn_loc loc = *first;
	unsigned int p;

	for (p = 0; p < tile->partitions; p++) {
		trn_watch_touch(&loc, (uint64_t)(tile->high - tile->low));
		loc.offset += tile->stride;
		loc.ptr += tile->stride;
	}
}

enum neuron_cause trn_tile_touch(const struct trn_tile *tile)
{
	const struct trn_core *core = tile->core;
	uint8_t *memory = tile->psum ? core->psum : core->sbuf;
	struct trn_loc loc = {
		.chip = core->chip,
		.place = tile->psum ? TRN_PLACE_PSUM : TRN_PLACE_SBUF,
		.index = core->index,
		.ptr = tile->base + tile->low,
	};
	size_t size = tile->psum ? NEURON_TPB_PSUM_SIZE : NEURON_TPB_SBUF_SIZE;

	loc.offset = (uint64_t)(loc.ptr - memory);
	loc.len = size - loc.offset;
	if (trn_watched(core->chip))
		watch_rows(tile, &loc);
	return trn_touched_mark(&loc, (tile->partitions - 1) * tile->stride +
				   (size_t)(tile->high - tile->low));
}

bool trn_tile_piecewise(const struct trn_tile *dst, const struct trn_tile *src)
{
	if (trn_tile_disjoint(dst, src))
		return true;
	return dst->contiguous && src->contiguous && dst->base == src->base &&
	       dst->size == src->size;
}

/* A row of @count elements in memory that starts at element @first. */
struct row {
	uint8_t *ptr;
	size_t count;
};

static struct row row_at(const struct trn_tile *tile, unsigned int p,
			 size_t first, size_t count)
{
	struct row row = { .ptr = tile->base + p * tile->stride };
	size_t rest = first;
	unsigned int i;

	if (tile->contiguous) {
		row.ptr += first * tile->size;
		row.count = count;
		return row;
	}
	if (tile->index) {
		row.ptr += trn_index_at(tile, p, first);
		row.count = 1;
		return row;
	}
	for (i = 0; i < 4; i++) {
		row.ptr += (ptrdiff_t)(rest % tile->num[i]) * tile->step[i];
		rest /= tile->num[i];
	}
	row.count = tile->num[0] - first % tile->num[0];
	if (row.count > count)
		row.count = count;
	return row;
}

/* @dense: the elements of a row lie side by side. */
static bool rows_dense(const struct trn_tile *tile)
{
	return tile->contiguous || tile->step[0] == (ptrdiff_t)tile->size;
}

static void copy_strided(uint8_t *dst, ptrdiff_t dst_step, const uint8_t *src,
			 ptrdiff_t src_step, unsigned int size, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++, dst += dst_step, src += src_step) {
		switch (size) {
		case 1:
			*dst = *src;
			break;
		case 2:
			memcpy(dst, src, 2);
			break;
		case 4:
			memcpy(dst, src, 4);
			break;
		default:
			memcpy(dst, src, 8);
			break;
		}
	}
}

void trn_tile_load_raw(const struct trn_tile *tile, unsigned int p,
		       size_t first, size_t count, void *dst)
{
	uint8_t *out = dst;

	while (count) {
		struct row row = row_at(tile, p, first, count);

		if (rows_dense(tile))
			memcpy(out, row.ptr, row.count * tile->size);
		else
			copy_strided(out, tile->size, row.ptr, tile->step[0],
				     tile->size, row.count);
		out += row.count * tile->size;
		first += row.count;
		count -= row.count;
	}
}

void trn_tile_store_raw(const struct trn_tile *tile, unsigned int p,
			size_t first, size_t count, const void *src)
{
	const uint8_t *in = src;

	while (count) {
		struct row row = row_at(tile, p, first, count);

		if (rows_dense(tile))
			memcpy(row.ptr, in, row.count * tile->size);
		else
			copy_strided(row.ptr, tile->step[0], in, tile->size,
				     tile->size, row.count);
		in += row.count * tile->size;
		first += row.count;
		count -= row.count;
	}
}

void trn_tile_expect(const struct trn_tile *tile, unsigned int p, size_t first,
		     size_t count)
{
	if (!tile->contiguous || p >= tile->partitions)
		return;
	trn_prefetch((uintptr_t)(tile->base + p * tile->stride + first * tile->size),
		     count * tile->size);
}

/* Rows long enough to be converted where they lie. */
static bool convert_direct(const struct trn_tile *tile)
{
	return tile->contiguous ||
	       (rows_dense(tile) && tile->num[0] >= DIRECT_RUN);
}

void trn_tile_load(const struct trn_tile *tile, unsigned int p, size_t first,
		   size_t count, float *dst)
{
	bool direct = convert_direct(tile);

	while (count) {
		_Alignas(8) uint8_t raw[PIECE_BYTES];
		size_t n = count < PIECE ? count : PIECE;

		if (direct) {
			struct row row = row_at(tile, p, first, count);

			n = row.count;
			trn_to_fp32_mode(dst, row.ptr, tile->dtype, n, tile->mode);
		} else {
			trn_tile_load_raw(tile, p, first, n, raw);
			trn_to_fp32_mode(dst, raw, tile->dtype, n, tile->mode);
		}
		dst += n;
		first += n;
		count -= n;
	}
}

void trn_tile_store(const struct trn_tile *tile, unsigned int p, size_t first,
		    size_t count, const float *src)
{
	bool direct = convert_direct(tile);

	while (count) {
		uint32_t index = p * TRN_TILE_MAX_SBUF + (uint32_t)first;
		_Alignas(8) uint8_t raw[PIECE_BYTES];
		size_t n = count < PIECE ? count : PIECE;

		if (direct) {
			struct row row = row_at(tile, p, first, count);

			n = row.count;
			trn_from_fp32_mode(row.ptr, src, tile->dtype, n, tile->mode,
					   index);
		} else {
			trn_from_fp32_mode(raw, src, tile->dtype, n, tile->mode,
					   index);
			trn_tile_store_raw(tile, p, first, n, raw);
		}
		src += n;
		first += n;
		count -= n;
	}
}

/* Element @first where it lies, if all of a line are fp32 side by side. */
static float *in_place(const struct trn_tile *tile, unsigned int p, size_t first)
{
	if (!tile->contiguous || tile->dtype != NEURON_DTYPE_FP32)
		return NULL;
	return (float *)(void *)(tile->base + p * tile->stride) + first;
}

void *trn_tile_here(const struct trn_tile *tile, unsigned int dtype, unsigned int p,
		    size_t first)
{
	if (!tile->contiguous || tile->dtype != dtype || tile->mode)
		return NULL;
	return tile->base + p * tile->stride + first * tile->size;
}

const float *trn_tile_view(const struct trn_tile *tile, unsigned int p,
			   size_t first, size_t count, float *buf)
{
	const float *here = in_place(tile, p, first);

	if (here)
		return here;
	trn_tile_load(tile, p, first, count, buf);
	return buf;
}

float *trn_tile_room(const struct trn_tile *tile, unsigned int p, size_t first,
		     float *buf)
{
	float *here = in_place(tile, p, first);

	return here ? here : buf;
}

void trn_tile_put(const struct trn_tile *tile, unsigned int p, size_t first,
		  size_t count, const float *src)
{
	if (src != in_place(tile, p, first))
		trn_tile_store(tile, p, first, count, src);
}

void trn_tile_constant(const struct trn_tile *tile, uint32_t bits, void *element)
{
	uint64_t integer = (uint64_t)(int64_t)(int32_t)bits;
	struct trn_num_mode mode = { 0 };
	float value;

	if (!trn_dtype_is_float(tile->dtype)) {
		memcpy(element, &integer, tile->size);
		return;
	}
	if (tile->mode)
		mode = *tile->mode;
	mode.rounding = TRN_ROUND_NEAREST;
	memcpy(&value, &bits, sizeof(value));
	trn_from_fp32_mode(element, &value, tile->dtype, 1, &mode, 0);
}

/* Where the columns of @tile begin in its memory. */
static int64_t first_column(const struct trn_tile *tile)
{
	if (tile->psum)
		return (tile->base - tile->core->psum) % NEURON_TPB_PSUM_STRIDE;
	return (tile->base - tile->core->sbuf) % NEURON_TPB_SBUF_STRIDE;
}

bool trn_tile_columns_apart(const struct trn_tile *a, const struct trn_tile *b)
{
	int64_t x = first_column(a), y = first_column(b);

	return a->psum != b->psum || x + a->high <= y + b->low || y + b->high <= x + a->low;
}
