// SPDX-License-Identifier: MIT
#include "neff/part.h"

/* Bytes from the first to the last begin of the elements of dimension @i, forward or backward. */
static uint64_t reach_of(const struct neff_part *part, unsigned int i)
{
	uint64_t step = part->step[i] < 0 ? -(uint64_t)part->step[i] : (uint64_t)part->step[i];

	return (part->size[i] - 1) * step;
}

/* The first byte, and in *@end the one behind the last. */
static uint64_t low_of(const struct neff_part *part, uint64_t *end)
{
	uint64_t low = part->begin;
	unsigned int i;

	*end = part->begin + part->size[0];
	for (i = 1; i < NEFF_MAX_DESC_DIMS; i++) {
		if (part->step[i] < 0)
			low -= reach_of(part, i);
		else
			*end += reach_of(part, i);
	}
	return low;
}

/* The outer dimension with several elements that reaches furthest; 0: it is one row. */
static unsigned int widest_of(const struct neff_part *part)
{
	unsigned int i, widest = 0;

	for (i = 1; i < NEFF_MAX_DESC_DIMS; i++)
		if (part->size[i] > 1 && (!widest || reach_of(part, i) > reach_of(part, widest)))
			widest = i;
	return widest;
}

/* Halves of @part along dimension @i: @part is the first one from now on, @rest the second. */
static void halve(struct neff_part *part, struct neff_part *rest, unsigned int i)
{
	const uint64_t half = part->size[i] / 2;

	*rest = *part;
	rest->size[i] = part->size[i] - half;
	rest->begin += half * (uint64_t)part->step[i];
	part->size[i] = half;
}

/* Of @part the element of dimension @i that lies first; in *@step the bytes to the next. */
static struct neff_part first_of(struct neff_part part, unsigned int i, uint64_t *step)
{
	if (part.step[i] < 0)
		part.begin -= reach_of(&part, i);
	*step = reach_of(&part, i) / (part.size[i] - 1);
	part.size[i] = 1;
	return part;
}

/*
 * Do @a and @b meet, which are elements of dimensions @i and @j? As neff_parts_meet(); -2: the
 * elements have different steps, or reach further than that, so this is not the way to tell.
 *
 * The first element of @b begins between two elements of @a, or behind the last one. It meets no
 * others than these; and how it lies to them, so does each pair of elements that can meet.
 */
static int meet_in_step(const struct neff_part *a, unsigned int i, const struct neff_part *b,
			unsigned int j, uint32_t *tries)
{
	uint64_t a_step, b_step, a_low, a_end, b_low, b_end, before;
	struct neff_part in_a, in_b;
	int meet;

	in_a = first_of(*a, i, &a_step);
	in_b = first_of(*b, j, &b_step);
	a_low = low_of(&in_a, &a_end);
	b_low = low_of(&in_b, &b_end);
	if (a_step != b_step || a_end - a_low > a_step || b_end - b_low > a_step)
		return -2;
	if (b_low < a_low)
		return meet_in_step(b, j, a, i, tries);
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

int neff_parts_meet(struct neff_part a, struct neff_part b, uint32_t *tries)
{
	uint64_t a_end, a_low = low_of(&a, &a_end), b_end, b_low = low_of(&b, &b_end);
	const unsigned int a_dim = widest_of(&a), b_dim = widest_of(&b);
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
		meet = meet_in_step(&a, a_dim, &b, b_dim, tries);
	if (meet != -2)
		return meet;
	if (!b_dim || (a_dim && a_end - a_low >= b_end - b_low)) {
		halve(&a, &rest, a_dim);
		meet = neff_parts_meet(a, b, tries);
		return meet ? meet : neff_parts_meet(rest, b, tries);
	}
	halve(&b, &rest, b_dim);
	meet = neff_parts_meet(a, b, tries);
	return meet ? meet : neff_parts_meet(a, rest, tries);
}

int neff_part_repeats(struct neff_part part, uint32_t *tries)
{
	const unsigned int dim = widest_of(&part);
	struct neff_part inside = part, rest;
	uint64_t low, end;
	int meet;

	if (!dim)
		return 0;
	/* Elements of a dimension are alike; where they lie apart only one needs a look. */
	inside.size[dim] = 1;
	low = low_of(&inside, &end);
	if (reach_of(&part, dim) / (part.size[dim] - 1) >= end - low)
		return neff_part_repeats(inside, tries);
	halve(&part, &rest, dim);
	meet = neff_parts_meet(part, rest, tries);
	if (!meet)
		meet = neff_part_repeats(part, tries);
	return meet ? meet : neff_part_repeats(rest, tries);
}
