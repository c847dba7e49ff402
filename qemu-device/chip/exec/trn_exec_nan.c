// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Which instructions write a NaN. Only jobs that are traced are looked at, and chips whose observer
 * wants to know.
 */
#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "num/trn_num.h"
#include "trn/observe.h"

static bool has_dst(const struct trn_exec *exec)
{
	unsigned int i;

	for (i = 0; i < TRN_ISA_OPERANDS; i++)
		if (trn_isa_operand_fields(exec->isa->operand[i], exec->inst) & TRN_FIELD_DST)
			return true;
	return false;
}

/* Of types whose bits tell it. */
static bool bits_have_nan(const struct trn_tile *tile, unsigned int p)
{
	uint32_t bits[TRN_LINE_PIECE];
	size_t first, n;

	for (first = 0; first < tile->n; first += n) {
		n = trn_piece(tile->n, first, TRN_LINE_PIECE);
		trn_tile_load_raw(tile, p, first, n, bits);
		if (trn_has_nan(tile->dtype, bits, n))
			return true;
	}
	return false;
}

static bool line_has_nan(const struct trn_tile *tile, unsigned int p)
{
	float line[TRN_LINE_PIECE];
	size_t first, n, i;

	for (first = 0; first < tile->n; first += n) {
		n = trn_piece(tile->n, first, TRN_LINE_PIECE);
		trn_tile_load(tile, p, first, n, line);
		for (i = 0; i < n; i++)
			if (line[i] != line[i])
				return true;
	}
	return false;
}

/* The destination, of a type that has NaNs. False: there is none. */
static bool float_dst(const struct trn_exec *exec, struct trn_tile *tile)
{
	return has_dst(exec) && trn_dtype_is_float(exec->inst->dst.dtype) &&
	       !trn_exec_tile(exec, &exec->inst->dst, tile);
}

bool trn_exec_wrote_nan(const struct trn_exec *exec)
{
	struct trn_tile tile;
	unsigned int p;
	bool bits;

	if (!float_dst(exec, &tile))
		return false;
	bits = trn_bits_tell_nan(tile.dtype);
	/* Where they lie, if that is possible. */
	if (bits && tile.contiguous)
		return trn_rows_have_nan(tile.dtype, tile.base, tile.stride, tile.partitions,
					 tile.n);
	for (p = 0; p < tile.partitions; p++)
		if (bits ? bits_have_nan(&tile, p) : line_has_nan(&tile, p))
			return true;
	return false;
}

/* Bytes from the first element of a partition to element @i. */
static ptrdiff_t distance(const struct trn_tile *tile, unsigned int p, size_t i)
{
	ptrdiff_t bytes = 0;
	unsigned int d;

	if (tile->index)
		return (ptrdiff_t)trn_index_at(tile, p, i);
	for (d = 0; d < 4; d++) {
		bytes += (ptrdiff_t)(i % tile->num[d]) * tile->step[d];
		i /= tile->num[d];
	}
	return bytes;
}

static void note(const struct trn_tile *tile, unsigned int p, size_t i,
		 struct trn_observe_nan *found)
{
	const uint8_t *memory = tile->psum ? tile->core->psum : tile->core->sbuf;
	size_t at;

	if (found->count++)
		return;
	at = (size_t)(tile->base + p * tile->stride + distance(tile, p, i) - memory);
	found->row = p;
	found->element = (uint32_t)i;
	found->partition = (unsigned int)(at / tile->stride);
	found->offset = (uint32_t)(at % tile->stride);
}

static void look_at_line(const struct trn_tile *tile, unsigned int p,
			 struct trn_observe_nan *found)
{
	float line[TRN_LINE_PIECE];
	size_t first, n, i;

	for (first = 0; first < tile->n; first += n) {
		n = trn_piece(tile->n, first, TRN_LINE_PIECE);
		trn_tile_load(tile, p, first, n, line);
		for (i = 0; i < n; i++)
			if (line[i] != line[i])
				note(tile, p, first + i, found);
	}
}

bool trn_exec_find_nan(const struct trn_exec *exec, struct trn_observe_nan *found)
{
	struct trn_tile tile;
	unsigned int p;

	if (!float_dst(exec, &tile))
		return false;
	*found = (struct trn_observe_nan){
		.psum = tile.psum,
		.elements = (uint64_t)tile.partitions * tile.n,
	};
	for (p = 0; p < tile.partitions; p++)
		look_at_line(&tile, p, found);
	return found->count;
}
