/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Parts of tensors in a list of a collective: do two of them have bytes in common? Whatever writes
 * NEFFs (builder) and whatever reads them (libnrt) must find the same.
 *
 * Source: defined by this project (Documentation/libnrt/neff.rst).
 */
#ifndef NEURON_NEFF_PART_H
#define NEURON_NEFF_PART_H

#include "types.h"

#define NEFF_PART_DIMS	4

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
	__u64 begin;
	__u64 size[NEFF_PART_DIMS];
	__s64 step[NEFF_PART_DIMS];
};

/* Bytes from the first to the last begin of the elements of dimension @i, forward or backward. */
static inline __u64 neff_part_reach(const struct neff_part *part, unsigned int i)
{
	__u64 step = part->step[i] < 0 ? -(__u64)part->step[i] : (__u64)part->step[i];

	return (part->size[i] - 1) * step;
}

/* The first byte, and in *@end the one behind the last. */
static inline __u64 neff_part_low(const struct neff_part *part, __u64 *end)
{
	__u64 low = part->begin;
	unsigned int i;

	*end = part->begin + part->size[0];
	for (i = 1; i < NEFF_PART_DIMS; i++) {
		if (part->step[i] < 0)
			low -= neff_part_reach(part, i);
		else
			*end += neff_part_reach(part, i);
	}
	return low;
}

/* The outer dimension with several elements that reaches furthest; 0: it is one row. */
static inline unsigned int neff_part_widest(const struct neff_part *part)
{
	unsigned int i, widest = 0;

	for (i = 1; i < NEFF_PART_DIMS; i++)
		if (part->size[i] > 1 && (!widest || neff_part_reach(part, i) >
						     neff_part_reach(part, widest)))
			widest = i;
	return widest;
}

/* Halves of @part along dimension @i: @part is the first one from now on, @rest the second. */
static inline void neff_part_halve(struct neff_part *part, struct neff_part *rest, unsigned int i)
{
	const __u64 half = part->size[i] / 2;

	*rest = *part;
	rest->size[i] = part->size[i] - half;
	rest->begin += half * (__u64)part->step[i];
	part->size[i] = half;
}

/* Of @part the element of dimension @i that lies first; in *@step the bytes to the next. */
static inline struct neff_part neff_part_first(struct neff_part part, unsigned int i, __u64 *step)
{
	if (part.step[i] < 0)
		part.begin -= neff_part_reach(&part, i);
	*step = neff_part_reach(&part, i) / (part.size[i] - 1);
	part.size[i] = 1;
	return part;
}

static inline int neff_parts_meet(struct neff_part a, struct neff_part b, __u32 *tries);

/*
 * Do @a and @b meet, which are elements of dimensions @i and @j? As neff_parts_meet(); -2: the
 * elements have different steps, or reach further than that, so this is not the way to tell.
 *
 * The first element of @b begins between two elements of @a, or behind the last one. It meets no
 * others than these; and how it lies to them, so does each pair of elements that can meet.
 */
static inline int neff_parts_meet_in_step(const struct neff_part *a, unsigned int i,
					  const struct neff_part *b, unsigned int j, __u32 *tries)
{
	__u64 a_step, b_step, a_low, a_end, b_low, b_end, before;
	struct neff_part in_a, in_b;
	int meet;

	in_a = neff_part_first(*a, i, &a_step);
	in_b = neff_part_first(*b, j, &b_step);
	a_low = neff_part_low(&in_a, &a_end);
	b_low = neff_part_low(&in_b, &b_end);
	if (a_step != b_step || a_end - a_low > a_step || b_end - b_low > a_step)
		return -2;
	if (b_low < a_low)
		return neff_parts_meet_in_step(b, j, a, i, tries);
	before = (b_low - a_low) / a_step;
	if (before >= a->size[i])
		return 0;
	in_a.begin += before * a_step;
	meet = neff_parts_meet(in_a, in_b, tries);
	if (meet || before + 1 == a->size[i])
		return meet;
	in_a.begin += a_step;
	return neff_parts_meet(in_a, in_b, tries);
}

/* Is a byte in @a and in @b? 1, 0, or -1: more than *@tries comparisons would have to tell. */
static inline int neff_parts_meet(struct neff_part a, struct neff_part b, __u32 *tries)
{
	__u64 a_end, a_low = neff_part_low(&a, &a_end), b_end, b_low = neff_part_low(&b, &b_end);
	const unsigned int a_dim = neff_part_widest(&a), b_dim = neff_part_widest(&b);
	struct neff_part rest;
	int meet = -2;

	if (a_end <= b_low || b_end <= a_low)
		return 0;
	if (!a_dim && !b_dim)
		return 1;
	if (!*tries)
		return -1;
	--*tries;
	if (a_dim && b_dim)
		meet = neff_parts_meet_in_step(&a, a_dim, &b, b_dim, tries);
	if (meet != -2)
		return meet;
	if (!b_dim || (a_dim && a_end - a_low >= b_end - b_low)) {
		neff_part_halve(&a, &rest, a_dim);
		meet = neff_parts_meet(a, b, tries);
		return meet ? meet : neff_parts_meet(rest, b, tries);
	}
	neff_part_halve(&b, &rest, b_dim);
	meet = neff_parts_meet(a, b, tries);
	return meet ? meet : neff_parts_meet(a, rest, tries);
}

/* Is a byte twice in @part? As neff_parts_meet(). */
static inline int neff_part_repeats(struct neff_part part, __u32 *tries)
{
	const unsigned int dim = neff_part_widest(&part);
	struct neff_part inside = part, rest;
	__u64 low, end;
	int meet;

	if (!dim)
		return 0;
	/* Elements of a dimension are alike; where they lie apart only one needs a look. */
	inside.size[dim] = 1;
	low = neff_part_low(&inside, &end);
	if (neff_part_reach(&part, dim) / (part.size[dim] - 1) >= end - low)
		return neff_part_repeats(inside, tries);
	neff_part_halve(&part, &rest, dim);
	meet = neff_parts_meet(part, rest, tries);
	if (!meet)
		meet = neff_part_repeats(part, tries);
	return meet ? meet : neff_part_repeats(rest, tries);
}

#endif /* NEURON_NEFF_PART_H */
