// SPDX-License-Identifier: MIT
/* Areas: what a tile, a side of a transfer and a pattern of an operation block touch. */
#include <endian.h>
#include <stdio.h>

#include "nb_area.h"
#include "neuron/address.h"
#include "num/trn_num.h"

/* Steps of an index are unsigned numbers of 16 bits. */
#define NB_MAX_INDEX	65535

uint64_t nb_space_stride(uint32_t space)
{
	if (space == NB_SPACE_SBUF || space == NB_SPACE_SIBLING)
		return NEURON_TPB_SBUF_STRIDE;
	return space == NB_SPACE_PSUM ? NEURON_TPB_PSUM_STRIDE : 0;
}

static uint64_t nb_virtual_size(const struct nb_program *nb)
{
	uint64_t size = 0;
	size_t i;

	for (i = 0; i < nb->nr_vars; i++)
		if (nb->var[i].type == NB_VAR_VIRTUAL && nb->var[i].offset + nb->var[i].size > size)
			size = nb->var[i].offset + nb->var[i].size;
	return size;
}

uint64_t nb_space_size(const struct nb_program *nb, uint32_t space)
{
	switch (space) {
	case NB_SPACE_SBUF:
	case NB_SPACE_SIBLING:
		return NEURON_TPB_SBUF_SIZE;
	case NB_SPACE_PSUM:
		return NEURON_TPB_PSUM_SIZE;
	case NB_SPACE_VIRTUAL:
		return nb_virtual_size(nb);
	default:
		return nb->var[space - NB_SPACE_VAR].size;
	}
}

/* A run of bytes against rows: the first row that ends behind its begin decides. */
static bool nb_run_meets_rows(const struct nb_area *run, const struct nb_area *rows)
{
	uint64_t row = 0;

	if (run->low >= rows->low + rows->width)
		row = (run->low - rows->low - rows->width) / rows->pitch + 1;
	return row < rows->rows && rows->low + row * rows->pitch < run->low + run->width;
}

static bool nb_boxes_overlap(const struct nb_area *a, const struct nb_area *b)
{
	uint64_t row_a = nb_quotient(a->low, a->pitch), row_b = nb_quotient(b->low, b->pitch);
	uint64_t at_a = nb_remainder(a->low, a->pitch), at_b = nb_remainder(b->low, b->pitch);

	return row_a < row_b + b->rows && row_b < row_a + a->rows &&
	       at_a < at_b + b->width && at_b < at_a + a->width;
}

bool nb_area_overlaps(const struct nb_area *a, const struct nb_area *b)
{
	if (a->space != b->space || a->low >= nb_area_end(b) || b->low >= nb_area_end(a))
		return false;
	if (a->pitch && a->pitch == b->pitch)
		return nb_boxes_overlap(a, b);
	if (!a->pitch && b->pitch)
		return nb_run_meets_rows(a, b);
	return a->pitch && !b->pitch ? nb_run_meets_rows(b, a) : true;
}

bool nb_area_covers(const struct nb_area *a, const struct nb_area *b)
{
	uint64_t at_a, at_b;

	if (a->space != b->space || b->low < a->low || nb_area_end(b) > nb_area_end(a))
		return false;
	if (!a->pitch)
		return true;
	if (a->pitch != b->pitch)
		return false;
	at_a = nb_remainder(a->low, a->pitch);
	at_b = nb_remainder(b->low, b->pitch);
	return at_b >= at_a && at_b + b->width <= at_a + a->width;
}

static void nb_join_boxes(struct nb_area *a, const struct nb_area *b)
{
	uint64_t pitch = a->pitch;
	uint64_t row = a->low / pitch, last = row + a->rows;
	uint64_t at = a->low % pitch, end = at + a->width;

	if (b->low / pitch < row)
		row = b->low / pitch;
	if (b->low / pitch + b->rows > last)
		last = b->low / pitch + b->rows;
	if (b->low % pitch < at)
		at = b->low % pitch;
	if (b->low % pitch + b->width > end)
		end = b->low % pitch + b->width;
	a->low = row * pitch + at;
	a->width = end - at;
	a->rows = last - row;
}

void nb_area_join(struct nb_area *a, const struct nb_area *b)
{
	uint64_t end = nb_area_end(a);

	if (a->pitch && a->pitch == b->pitch) {
		nb_join_boxes(a, b);
		return;
	}
	if (nb_area_end(b) > end)
		end = nb_area_end(b);
	if (b->low < a->low)
		a->low = b->low;
	a->width = end - a->low;
	a->pitch = 0;
	a->rows = 1;
}

uint32_t nb_space_of_var(const struct nb_program *nb, int var)
{
	switch (nb->var[var - 1].type) {
	case NB_VAR_SBUF:
		return NB_SPACE_SBUF;
	case NB_VAR_SIBLING_SBUF:
		return NB_SPACE_SIBLING;
	case NB_VAR_VIRTUAL:
		return NB_SPACE_VIRTUAL;
	case NB_VAR_PEER:
		return nb_space_of_var(nb, nb->var[var - 1].ref);
	default:
		return NB_SPACE_VAR + var - 1;
	}
}

uint64_t nb_begin_of_var(const struct nb_program *nb, int var)
{
	return nb->var[var - 1].type == NB_VAR_VIRTUAL ? nb->var[var - 1].offset : 0;
}

/* A run of bytes in SBUF becomes whole partitions where it does not stay in one. */
static struct nb_area nb_run(uint32_t space, uint64_t low, uint64_t end)
{
	uint64_t stride = nb_space_stride(space);
	struct nb_area area = { .low = low, .width = end - low, .rows = 1, .space = space,
				.pitch = stride };

	if (!stride || low % stride + area.width <= stride)
		return area;
	area.low = low / stride * stride;
	area.rows = (end - area.low + stride - 1) / stride;
	area.width = stride;
	return area;
}

struct nb_area nb_area_of_var(const struct nb_program *nb, int var)
{
	uint64_t begin = nb_begin_of_var(nb, var);

	return nb_run(nb_space_of_var(nb, var), begin, begin + nb->var[var - 1].size);
}

/**
 * struct nb_walk - nested runs, whatever wrote them down
 * @bytes: the innermost run
 * @count, @step: of the others, 1 to 4 and more
 */
struct nb_walk {
	uint32_t space;
	int64_t offset;
	uint64_t bytes;
	unsigned int ndim;
	uint64_t count[4];
	int64_t step[4];
};

static int64_t nb_magnitude(int64_t value)
{
	return value < 0 ? -value : value;
}

/* Distance of rows in a variable: of its last dimension, or else the shortest step. */
static uint64_t nb_pitch_of(const struct nb_program *nb, const struct nb_walk *walk)
{
	uint64_t pitch = nb_space_stride(walk->space);
	const struct nb_var *var;
	unsigned int i;

	if (pitch)
		return pitch;
	var = walk->space < NB_SPACE_VAR ? NULL : &nb->var[walk->space - NB_SPACE_VAR];
	if (var && var->ndim > 1)
		return (uint64_t)var->shape[var->ndim - 1] * neuron_dtype_bytes(var->dtype);
	for (i = 0; i < walk->ndim; i++)
		if (walk->count[i] > 1 && (!pitch ||
					   (uint64_t)nb_magnitude(walk->step[i]) < pitch))
			pitch = nb_magnitude(walk->step[i]);
	return pitch;
}

/* The lowest byte, and how far the dimensions reach that go along rows, or across. */
static void nb_walk_reach(const struct nb_walk *walk, uint64_t pitch, bool across,
			  int64_t *low, uint64_t *reach)
{
	unsigned int i;

	for (i = 0; i < walk->ndim; i++) {
		int64_t span = walk->step[i] * ((int64_t)walk->count[i] - 1);

		if ((pitch && walk->step[i] % (int64_t)pitch == 0) != across)
			continue;
		if (span < 0)
			*low += span;
		*reach += nb_magnitude(span);
	}
}

static struct nb_area nb_area_of_walk(const struct nb_program *nb, const struct nb_walk *walk)
{
	uint64_t pitch = nb_pitch_of(nb, walk), width = walk->bytes, rows = 0;
	int64_t low = walk->offset;

	nb_walk_reach(walk, pitch, false, &low, &width);
	nb_walk_reach(walk, pitch, true, &low, &rows);
	if (!pitch || !rows || low % pitch + width > pitch)
		return nb_run(walk->space, low, low + rows + width);
	if (width == pitch && !nb_space_stride(walk->space))
		return nb_run(walk->space, low, low + rows + width);
	return (struct nb_area){ .low = low, .width = width, .pitch = pitch,
				 .rows = rows / pitch + 1, .space = walk->space };
}

struct nb_area nb_area_of_side(const struct nb_program *nb, const struct nb_side *side)
{
	struct nb_walk walk = {
		.space = nb_space_of_var(nb, side->var),
		.offset = nb_begin_of_var(nb, side->var) + side->offset,
		.bytes = side->size[0],
		.ndim = side->ndim - 1,
	};
	unsigned int i;

	for (i = 1; i < side->ndim; i++) {
		walk.count[i - 1] = side->size[i];
		walk.step[i - 1] = side->step[i];
	}
	return nb_area_of_walk(nb, &walk);
}

bool nb_area_of_pattern(const struct nb_program *nb, const struct neuron_udma_pattern *pattern,
			unsigned int dtype, uint64_t base, uint32_t indices,
			struct nb_area *area)
{
	uint64_t var = NEURON_GET(NEURON_ADDR_WINDOW_INDEX, base);
	struct nb_walk walk = { .bytes = trn_dtype_size(dtype), .ndim = 4 };
	unsigned int i;

	if (!(base & NEURON_ADDR_WINDOW) || !var || var > nb->nr_vars)
		return false;
	walk.space = nb_space_of_var(nb, var);
	walk.offset = nb_begin_of_var(nb, var) + NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, base);
	for (i = 0; i < 4; i++) {
		walk.count[i] = le32toh(pattern->num[i]);
		walk.step[i] = le64toh(pattern->step[i]);
	}
	if (indices)
		walk.count[3] = indices;
	for (i = 0; i < 4; i++)
		if (!walk.count[i] || nb_magnitude(walk.step[i]) > (int64_t)NB_MAX_SIZE ||
		    walk.count[i] > 1u << 17)
			return false;
	*area = nb_area_of_walk(nb, &walk);
	return area->low >= nb_begin_of_var(nb, var) &&
	       nb_area_end(area) <= nb_begin_of_var(nb, var) + nb->var[var - 1].size;
}

/* Bytes from @low to @high of each partition of a tile. */
static struct nb_area nb_partitions(const struct neuron_ap *ap, int64_t low, int64_t high)
{
	uint32_t addr = le32toh(ap->addr);
	uint32_t space = addr & NEURON_AP_PSUM ? NB_SPACE_PSUM : NB_SPACE_SBUF;
	uint64_t stride = nb_space_stride(space);

	/* What leaves its partition ends in an error of the device. */
	if (low < 0)
		low = 0;
	if (high > (int64_t)stride)
		high = stride;
	return (struct nb_area){
		.low = NEURON_GET(NEURON_AP_PARTITION, addr) * stride +
		       (low < high ? low : 0),
		.width = high > low ? high - low : 0,
		.pitch = stride,
		.rows = ap->partitions ? ap->partitions : 1,
		.space = space,
	};
}

struct nb_area nb_area_of_begin(const struct neuron_ap *ap, int64_t offset)
{
	int64_t low = NEURON_GET(NEURON_AP_OFFSET, le32toh(ap->addr)) + offset;

	return nb_partitions(ap, low, low + trn_dtype_size(ap->dtype));
}

struct nb_area nb_area_of_tile(const struct neuron_ap *ap, int64_t offset)
{
	int64_t size = trn_dtype_size(ap->dtype);
	int64_t low = NEURON_GET(NEURON_AP_OFFSET, le32toh(ap->addr)) + offset;
	int64_t high = low + size;
	unsigned int i;

	for (i = 0; i < 4 && !ap->index; i++) {
		int64_t span = (int16_t)le16toh(ap->step[i]) * size *
			       ((int64_t)le16toh(ap->num[i]) - 1);

		if (span < 0)
			low += span;
		else
			high += span;
	}
	if (ap->index)
		high += NB_MAX_INDEX * size;
	return nb_partitions(ap, low, high);
}

struct nb_area nb_area_of_index(const struct neuron_ap *ap, unsigned int group)
{
	uint32_t addr = le16toh(ap->step[0]) | (uint32_t)le16toh(ap->step[1]) << 16;
	unsigned int groups = (ap->partitions + group - 1) / group;

	return (struct nb_area){
		.low = NEURON_GET(NEURON_AP_PARTITION, addr) * NEURON_TPB_SBUF_STRIDE +
		       NEURON_GET(NEURON_AP_OFFSET, addr),
		.width = (le16toh(ap->num[0]) + group - 1) / group * sizeof(uint16_t),
		.pitch = NEURON_TPB_SBUF_STRIDE,
		.rows = groups * group,
		.space = NB_SPACE_SBUF,
	};
}

static void nb_space_text(const struct nb_program *nb, uint32_t space, char *text, size_t size)
{
	static const char *const names[NB_SPACE_VAR] = {
		[NB_SPACE_SBUF] = "sbuf",
		[NB_SPACE_PSUM] = "psum",
		[NB_SPACE_SIBLING] = "sbuf of the other core",
		[NB_SPACE_VIRTUAL] = "shared scratchpad",
	};

	if (space < NB_SPACE_VAR)
		snprintf(text, size, "%s", names[space]);
	else
		snprintf(text, size, "\"%.64s\"", nb->var[space - NB_SPACE_VAR].name);
}

void nb_area_text(const struct nb_program *nb, const struct nb_area *area, char *text,
		  size_t size)
{
	uint64_t stride = nb_space_stride(area->space);
	uint64_t at = stride ? area->low % stride : area->low;
	char name[80];

	nb_space_text(nb, area->space, name, sizeof(name));
	if (stride)
		snprintf(text, size, "%s partitions %llu to %llu, bytes 0x%llx to 0x%llx", name,
			 (unsigned long long)(area->low / stride),
			 (unsigned long long)(area->low / stride + area->rows - 1),
			 (unsigned long long)at,
			 (unsigned long long)(at + area->width - 1));
	else if (area->rows == 1)
		snprintf(text, size, "%s bytes 0x%llx to 0x%llx", name, (unsigned long long)at,
			 (unsigned long long)(at + area->width - 1));
	else
		snprintf(text, size, "%s %u rows of %llu bytes from 0x%llx on, 0x%llx apart", name,
			 area->rows,
			 (unsigned long long)area->width, (unsigned long long)at,
			 (unsigned long long)area->pitch);
}
