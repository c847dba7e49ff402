/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Patterns of DMA operations: from the number of an element to its bytes.
 */
#ifndef TRN_UDMA_WALK_H
#define TRN_UDMA_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/trn_access.h"
#include "neuron/dma_op.h"

/**
 * struct trn_udma_walk - a pattern, prepared
 * @access: domain of all accesses; memory only
 * @hops: most links crossed so far
 * @size: bytes of an element
 * @run: elements that lie one behind the other, then a step
 * @num, @step: of the runs, in bytes; [3] is walked by @index when not NULL
 * @row: elements of one position of dimension 3 (of all when @run has them)
 * @index: as many as num[3]; those of left-out rows are not looked at
 * @low, @high: bytes that the elements reach below and above a base
 * @last: where the last run lay in this process, or 0; a hint
 */
struct trn_udma_walk {
	struct trn_access *access;
	unsigned int hops;
	uint32_t size;
	uint32_t run;
	uint32_t num[4];
	int64_t step[4];
	uint32_t row;
	const uint32_t *index;
	int64_t low;
	int64_t high;
	uintptr_t last;
};

/**
 * struct trn_index - the index list of an operation
 * @value: NULL: none
 * @lowest, @highest: of those that are not left out
 */
struct trn_index {
	const uint32_t *value;
	uint32_t lowest;
	uint32_t highest;
};

/*
 * Prepare a checked pattern; @index->value NULL: dimension 3 counts. False when
 * it reaches further than any address does.
 */
bool trn_udma_walk_init(struct trn_udma_walk *walk, struct trn_access *access,
			const struct neuron_udma_pattern *pattern, uint32_t size,
			const struct trn_index *index);

/* Do all elements from @base lie in the window, or domain, that @base names? */
bool trn_udma_walk_fits(const struct trn_udma_walk *walk, uint64_t base);

/*
 * Elements that lie one behind the other from number @first on, at *@addr.
 * The base fits.
 */
uint32_t trn_udma_walk_at(const struct trn_udma_walk *walk, uint64_t base, uint64_t first,
			  uint64_t *addr);

/* Move @n elements, from number @first on, out of and into @buf. */
enum neuron_cause trn_udma_walk_read(struct trn_udma_walk *walk, uint64_t base,
				     uint64_t first, uint32_t n, void *buf);
enum neuron_cause trn_udma_walk_write(struct trn_udma_walk *walk, uint64_t base,
				      uint64_t first, uint32_t n, const void *buf);

#endif /* TRN_UDMA_WALK_H */
