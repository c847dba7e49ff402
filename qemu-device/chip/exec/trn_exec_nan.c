// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Which instructions write a NaN. Only jobs that are traced are looked at.
 */
#include "exec/trn_exec.h"
#include "num/trn_num.h"

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

bool trn_exec_wrote_nan(const struct trn_exec *exec)
{
	struct trn_tile tile;
	unsigned int p;
	bool bits;

	if (!has_dst(exec) || !trn_dtype_is_float(exec->inst->dst.dtype) ||
	    trn_exec_tile(exec, &exec->inst->dst, &tile))
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
