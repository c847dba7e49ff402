/* SPDX-License-Identifier: MIT */
/*
 * Parts of tensors in a list of a collective: do two of them have bytes in common? Whatever writes
 * NEFFs (the builder) and whatever reads them (libnrt) must find the same, so both have this.
 *
 * Documentation/libnrt/neff.rst is the contract.
 */
#ifndef LIBNRT_NEFF_PART_H
#define LIBNRT_NEFF_PART_H

#include <stdint.h>

/* Of a part, and of a side of a transfer. */
#define NEFF_MAX_DESC_DIMS	4

/*
 * Comparisons for all lists of a program, which bounds what a reader spends. Two parts that are
 * rows of one step, such as columns of a matrix, take a few. Those that lie between each other with
 * different steps take some for each row.
 */
#define NEFF_PART_TRIES	(1u << 22)

/**
 * struct neff_part - bytes of a memory
 * @begin: the byte with all indices 0
 * @size: elements of each dimension, at least 1; of [0], the innermost one, bytes in a row
 * @step: bytes from an element to the next; that of [0] is 1
 */
struct neff_part {
	uint64_t begin;
	uint64_t size[NEFF_MAX_DESC_DIMS];
	int64_t step[NEFF_MAX_DESC_DIMS];
};

/* Is a byte in @a and in @b? 1, 0, or -1: more than *@tries comparisons would have to tell. */
int neff_parts_meet(struct neff_part a, struct neff_part b, uint32_t *tries);

/* Is a byte twice in @part? As neff_parts_meet(). */
int neff_part_repeats(struct neff_part part, uint32_t *tries);

#endif /* LIBNRT_NEFF_PART_H */
