/* SPDX-License-Identifier: MIT */
/*
 * Areas: the bytes that an instruction or a transfer reads or writes. An area may hold more
 * bytes than are touched, never fewer.
 */
#ifndef NB_AREA_H
#define NB_AREA_H

#include "nb_private.h"
#include "neuron/dma_op.h"

/*
 * Spaces: memories that share no byte. Variables follow, each a space of its own, but those that
 * are parts or other names of something: all parts of the scratchpad are in one space, so are all
 * names of the other core's SBUF. A variable of a peer is in the space of the variable that it
 * names, because only the loader knows which ranks are the same.
 */
#define NB_SPACE_SBUF	0
#define NB_SPACE_PSUM	1
#define NB_SPACE_SIBLING	2	/* SBUF of the other core */
#define NB_SPACE_VIRTUAL	3	/* the shared scratchpad */
#define NB_SPACE_VAR	4

/**
 * struct nb_area - rows of bytes
 * @low: first byte; in SBUF and PSUM partition * stride + byte
 * @width: bytes of a row
 * @pitch: bytes from a row to the next; with one row of a variable 0
 * @rows: at least 1. With a @pitch, no row goes beyond a multiple of it
 * @space: NB_SPACE_*, NB_SPACE_VAR + index of a variable
 */
struct nb_area {
	uint64_t low;
	uint64_t width;
	uint64_t pitch;
	uint32_t rows;
	uint32_t space;
};

/* Bytes from one partition to the next; 0: of a variable. */
uint64_t nb_space_stride(uint32_t space);
/* Bytes of the space. */
uint64_t nb_space_size(const struct nb_program *nb, uint32_t space);

/* The power of 2 that @value is; 0: none, or 1. */
static inline unsigned int nb_log2(uint64_t value)
{
	return value & (value - 1) ? 0 : __builtin_ctzll(value);
}

/* Quotient and remainder by a pitch or stride, as a rule a power of 2: a division takes long. */
static inline uint64_t nb_quotient(uint64_t value, uint64_t pitch)
{
	return pitch & (pitch - 1) ? value / pitch : value >> __builtin_ctzll(pitch);
}

static inline uint64_t nb_remainder(uint64_t value, uint64_t pitch)
{
	return pitch & (pitch - 1) ? value % pitch : value & (pitch - 1);
}

/* First byte behind the area. */
static inline uint64_t nb_area_end(const struct nb_area *area)
{
	return area->low + (area->rows - 1) * area->pitch + area->width;
}

bool nb_area_overlaps(const struct nb_area *a, const struct nb_area *b);
/* All of @b is in @a. */
bool nb_area_covers(const struct nb_area *a, const struct nb_area *b);
/* Grow @a until it holds @b, of the same space. */
void nb_area_join(struct nb_area *a, const struct nb_area *b);

/* The space of variable @var, and the byte there with which it begins. */
uint32_t nb_space_of_var(const struct nb_program *nb, int var);
uint64_t nb_begin_of_var(const struct nb_program *nb, int var);

/* All of variable @var. */
struct nb_area nb_area_of_var(const struct nb_program *nb, int var);
/* An end of a transfer that nb_dma() has accepted. */
struct nb_area nb_area_of_side(const struct nb_program *nb, const struct nb_side *side);
/*
 * A source or destination of an operation block. @indices: numbers below it take the place of
 * those of dimension 3; 0: there is no list. False: @base is no address of a variable, or the
 * pattern leaves it.
 */
bool nb_area_of_pattern(const struct nb_program *nb, const struct neuron_udma_pattern *pattern,
			unsigned int dtype, uint64_t base, uint32_t indices,
			struct nb_area *area);
/*
 * A tile, @offset bytes further on: what its register holds. Of a tile with an index all that it
 * can name.
 */
struct nb_area nb_area_of_tile(const struct neuron_ap *ap, int64_t offset);
/* Its element 0, which may be the last in memory. */
struct nb_area nb_area_of_begin(const struct neuron_ap *ap, int64_t offset);
/* The index of a tile that has one; @group partitions share a list. */
struct nb_area nb_area_of_index(const struct neuron_ap *ap, unsigned int group);

/* "sbuf partitions 0 to 127, bytes 0x100 to 0x1ff". */
void nb_area_text(const struct nb_program *nb, const struct nb_area *area, char *text,
		  size_t size);

#endif /* NB_AREA_H */
