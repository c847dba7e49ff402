/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Access patterns: tiles in SBUF and PSUM.
 *
 * A tile is resolved once for an instruction: type, partitions and bounds are
 * checked, and all later accesses stay inside. The memory is shared between
 * engines without locks: ordering is the program's matter (semaphores), and a
 * program that races sees mixed bytes, never more.
 *
 * Source and destination of an instruction may overlap in any way: the source
 * line of a partition is read completely before its destination line is
 * written. (Tiles of as many partitions lie in the same ones or in disjoint
 * ones, so nothing else can overlap.) Elements of a destination that lie on
 * each other are written in ascending order; the last one stays.
 */
#ifndef TRN_AP_H
#define TRN_AP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/isa.h"
#include "neuron/job.h"

struct trn_core;
struct trn_reach;
struct trn_num_mode;

/* Elements of a partition that one instruction may address; those of PSUM without repetitions. */
#define TRN_TILE_MAX_SBUF	65536
#define TRN_TILE_MAX_PSUM	8192	/* the tensor engine's products */
#define TRN_TILE_MAX_PSUM_LANES	4096	/* everything else */

/**
 * struct trn_tile - a resolved access pattern
 * @core: whose memory
 * @mode: how numbers are converted, or NULL: in the usual way
 * @base: element 0 of the first partition
 * @stride: bytes from a partition to the next
 * @step: bytes from an element to the next, for each free dimension
 * @num: elements of each free dimension, [0] innermost
 * @low, @high: bytes of a partition that are used, relative to @base
 * @n: elements of a partition
 * @partitions: partitions
 * @dtype: enum neuron_dtype
 * @size: bytes of an element
 * @psum: in PSUM
 * @contiguous: element i lies at @base + i * @size
 * @index: where the elements lie, from the first partition of the index on; or NULL
 * @group: partitions that have an index in common
 */
struct trn_tile {
	struct trn_core *core;
	const struct trn_num_mode *mode;
	uint8_t *base;
	size_t stride;
	ptrdiff_t step[4];
	uint32_t num[4];
	int64_t low;
	int64_t high;
	uint32_t n;
	unsigned int partitions;
	unsigned int dtype;
	unsigned int size;
	bool psum;
	bool contiguous;
	const uint8_t *index;
	unsigned int group;
};

/* Elements of a partition that do not repeat others by a step of 0. */
static inline uint64_t trn_tile_places(const struct trn_tile *tile)
{
	uint64_t n = 1;
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (tile->step[i])
			n *= tile->num[i];
	return n;
}

/* Partitions that have an index in common. */
#define TRN_INDEX_GROUP_LANES	16
#define TRN_INDEX_GROUP_ARRAY	32	/* the tensor engine's tiles */

/**
 * struct trn_ap_user - whose access pattern it is
 * @regs: the sequencer's registers, for the offset register
 * @group: TRN_INDEX_GROUP_*
 * @extent: how far the index reaches, where that is known; NULL: it is read for it
 */
struct trn_ap_user {
	struct trn_core *core;
	const uint32_t *regs;
	unsigned int group;
	const struct trn_reach *extent;
};

/*
 * Return: NEURON_CAUSE_NONE, _OPERAND (type, partitions, shape) or _ACCESS (out
 * of the partition, unaligned; also an element that an index names).
 */
enum neuron_cause trn_ap_resolve(const struct trn_ap_user *user,
				 const struct neuron_ap *ap,
				 struct trn_tile *tile);
/* The same of a type that only moves: nothing converts it. */
enum neuron_cause trn_ap_resolve_raw(const struct trn_ap_user *user,
				     const struct neuron_ap *ap,
				     struct trn_tile *tile);

/* No more than what trn_index_scan() needs, of a tile with an index. */
enum neuron_cause trn_ap_find_index(const struct trn_ap_user *user,
				    const struct neuron_ap *ap,
				    struct trn_tile *tile);

/* --- trn_ap_index.c --- */

/*
 * Find the index of @tile, which is resolved but for its extent. _NONE, _OPERAND or
 * _ACCESS: the index lies out of its partitions.
 */
enum neuron_cause trn_tile_find_index(const struct trn_ap_user *user,
				      const struct neuron_ap *ap,
				      struct trn_tile *tile);
/* The tile's extent, @low and @high: what is known, or by reading all of the index. */
void trn_tile_find_extent(struct trn_tile *tile, const struct trn_reach *known);
/* Partitions of the index: whole groups. */
unsigned int trn_index_partitions(const struct trn_tile *tile);
/* Widen @extent by what is in partition @row of the index. Return: entries read. */
size_t trn_index_scan(const struct trn_tile *tile, unsigned int row,
		      struct trn_reach *extent);
/* Bytes from tile->index to what says where element @i of partition @p lies. */
size_t trn_index_entry(const struct trn_tile *tile, unsigned int p, size_t i);
/*
 * Bytes from element 0 of the partition to element @i, always inside the extent. The
 * index is read each time: where another engine changes it meanwhile, any will do.
 */
int64_t trn_index_at(const struct trn_tile *tile, unsigned int p, size_t i);
/* The tile's index and @dst have a byte in common. */
bool trn_index_overlaps(const struct trn_tile *tile, const struct trn_tile *dst);

/* To be called once before a tile is written. _NONE or _HOST_LIMIT. */
enum neuron_cause trn_tile_touch(const struct trn_tile *tile);

/*
 * True when reading @src and writing @dst in pieces, in ascending order, gives
 * what reading the whole line first would.
 */
bool trn_tile_piecewise(const struct trn_tile *dst, const struct trn_tile *src);

/* A line that is read soon, where it lies as one; partitions are far from each other. */
void trn_tile_expect(const struct trn_tile *tile, unsigned int p, size_t first,
		     size_t count);

/*
 * Elements [@first, @first + @count) of partition @p, to and from contiguous
 * memory: converted to fp32, or as they are. Stochastic rounding numbers the
 * elements by partition * 65536 + element, both counted in the tile.
 */
void trn_tile_load(const struct trn_tile *tile, unsigned int p, size_t first,
		   size_t count, float *dst);
void trn_tile_store(const struct trn_tile *tile, unsigned int p, size_t first,
		    size_t count, const float *src);
/*
 * The same without a copy where the elements are fp32 and lie side by side:
 * trn_tile_view() returns them, with any payloads of NaN, or else @buf with what
 * trn_tile_load() gives. What is written to trn_tile_room(), the tile itself or
 * @buf, trn_tile_put() stores. Only for an instruction that goes piecewise.
 */
const float *trn_tile_view(const struct trn_tile *tile, unsigned int p,
			   size_t first, size_t count, float *buf);
float *trn_tile_room(const struct trn_tile *tile, unsigned int p, size_t first,
		     float *buf);
void trn_tile_put(const struct trn_tile *tile, unsigned int p, size_t first,
		  size_t count, const float *src);
void trn_tile_load_raw(const struct trn_tile *tile, unsigned int p,
		       size_t first, size_t count, void *dst);
void trn_tile_store_raw(const struct trn_tile *tile, unsigned int p,
			size_t first, size_t count, const void *src);

/*
 * Element @first of a line where it lies, when the line is @dtype side by side and
 * converted in the usual way; else NULL.
 */
void *trn_tile_here(const struct trn_tile *tile, unsigned int dtype, unsigned int p,
		    size_t first);

/*
 * One number for every element, fp32 bits or, of an integer type, the integer, as an
 * element of the tile: to nearest whatever the mode.
 */
void trn_tile_constant(const struct trn_tile *tile, uint32_t bits, void *element);

/* No byte of a partition is in both tiles; as many partitions in both. */
static inline bool trn_tile_disjoint(const struct trn_tile *a, const struct trn_tile *b)
{
	return a->base + a->high <= b->base + b->low ||
	       b->base + b->high <= a->base + a->low;
}

/* No column of the one is a column of the other, whatever their partitions. */
bool trn_tile_columns_apart(const struct trn_tile *a, const struct trn_tile *b);

#endif /* TRN_AP_H */
