// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Which function carries out an opcode, and what those functions share: tiles and
 * columns.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "exec/trn_resume.h"
#include "exec/trn_seq.h"
#include "isa/trn_isa_list.h"

typedef enum neuron_cause (*exec_fn)(struct trn_exec *exec);

#define FUNCTION(code, function)					\
	[NEURON_OP_##code] = trn_exec_##function,

static const exec_fn functions[256] = { TRN_ISA_LIST(FUNCTION) };

static enum neuron_cause execute(struct trn_exec *exec)
{
	exec_fn fn = functions[exec->inst->opcode];
	enum neuron_cause cause = trn_exec_check_documented(exec);

	if (!cause)
		cause = trn_exec_check_index(exec);
	if (cause || exec->more)
		return cause;
	return fn ? fn(exec) : NEURON_CAUSE_OPCODE;
}

enum neuron_cause trn_exec_dispatch(struct trn_exec *exec)
{
	enum neuron_cause cause = execute(exec);

	if (!exec->more)
		trn_exec_leave(exec->seq);
	return cause;
}

/* NULL when nothing is unusual, which costs less. */
static const struct trn_num_mode *mode_of(const struct trn_exec *exec)
{
	const struct trn_num_mode *mode = &exec->seq->mode;

	return mode->rounding != TRN_ROUND_NEAREST || mode->fp8_bias[0] ||
	       mode->fp8_bias[1] || mode->fp8_bias[2] ? mode : NULL;
}

/* GpSimd has no path to PSUM; the lanes take fewer elements of it than the array. */
static enum neuron_cause reachable(const struct trn_exec *exec,
				   const struct trn_tile *tile)
{
	if (!tile->psum || exec->seq->engine == NEURON_ENGINE_TENSOR)
		return NEURON_CAUSE_NONE;
	if (exec->seq->engine == NEURON_ENGINE_GPSIMD)
		return NEURON_CAUSE_OPERAND;
	if (tile->n > TRN_TILE_MAX_PSUM_LANES && trn_tile_places(tile) > TRN_TILE_MAX_PSUM_LANES)
		return NEURON_CAUSE_OPERAND;
	return NEURON_CAUSE_NONE;
}

/* Its number among the tiles that may have an index, or -1. */
static int tile_number(const struct trn_exec *exec, const struct neuron_ap *ap)
{
	const struct neuron_ap *tile[TRN_RESUME_TILES] = {
		&exec->inst->dst, &exec->inst->src0, &exec->inst->src1,
	};
	int i;

	for (i = 0; i < TRN_RESUME_TILES; i++)
		if (tile[i] == ap)
			return i;
	return -1;
}

/* How far the index of @ap reaches, if that is known. */
static const struct trn_reach *extent_of(const struct trn_exec *exec,
					 const struct neuron_ap *ap)
{
	int i = tile_number(exec, ap);

	if (i < 0 || !(exec->seq->resume.known & NEURON_BIT(i)))
		return NULL;
	return &exec->seq->resume.extent[i];
}

static inline struct trn_ap_user user_of(const struct trn_exec *exec,
					 const struct neuron_ap *ap)
{
	bool array = exec->seq->engine == NEURON_ENGINE_TENSOR;

	return (struct trn_ap_user){
		.core = exec->core,
		.regs = exec->seq->regs,
		.group = array ? TRN_INDEX_GROUP_ARRAY : TRN_INDEX_GROUP_LANES,
		.extent = ap->index ? extent_of(exec, ap) : NULL,
	};
}

enum neuron_cause trn_exec_measure(struct trn_exec *exec, const struct neuron_ap *ap)
{
	const struct trn_ap_user user = user_of(exec, ap);
	struct trn_resume *at = trn_exec_resume(exec);
	int i = tile_number(exec, ap);
	struct trn_tile tile;
	enum neuron_cause cause;

	if (user.extent || i < 0)
		return NEURON_CAUSE_NONE;
	cause = trn_ap_find_index(&user, ap, &tile);
	if (cause)
		return cause;
	if (!at->scanned)
		at->extent[i] = TRN_REACH_NONE;
	while (at->scanned < trn_index_partitions(&tile)) {
		size_t n = trn_index_scan(&tile, at->scanned++, &at->extent[i]);

		if (trn_exec_pause(exec, n, TRN_WEIGHT_HEAVY))
			return NEURON_CAUSE_NONE;
	}
	at->scanned = 0;
	/* A stream may have brought a half of it that is none. */
	if (!trn_reach_valid(&at->extent[i]))
		return NEURON_CAUSE_OPERAND;
	at->known |= NEURON_BIT(i);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_tile(const struct trn_exec *exec,
				const struct neuron_ap *ap,
				struct trn_tile *tile)
{
	const struct trn_ap_user user = user_of(exec, ap);
	enum neuron_cause cause;

	cause = trn_ap_resolve(&user, ap, tile);
	if (cause)
		return cause;
	tile->mode = mode_of(exec);
	return reachable(exec, tile);
}

enum neuron_cause trn_exec_tile_raw(const struct trn_exec *exec,
				    const struct neuron_ap *ap,
				    struct trn_tile *tile)
{
	const struct trn_ap_user user = user_of(exec, ap);
	enum neuron_cause cause;

	cause = trn_ap_resolve_raw(&user, ap, tile);
	return cause ? cause : reachable(exec, tile);
}

/* The banks of PSUM that @tile lies in. */
static uint8_t psum_banks(const struct trn_tile *tile)
{
	const int64_t size = NEURON_TPB_PSUM_STRIDE / NEURON_PSUM_BANKS;
	int64_t offset;

	if (!tile->psum)
		return 0;
	offset = (tile->base - tile->core->psum) % NEURON_TPB_PSUM_STRIDE;
	return (uint8_t)(NEURON_MASK(7, 0) &
			 NEURON_MASK((offset + tile->high - 1) / size,
				     (offset + tile->low) / size));
}

void trn_exec_note(struct trn_exec *exec, const struct trn_tile *tile)
{
	struct trn_work *work = &exec->work;
	bool half = tile->dtype == NEURON_DTYPE_BF16 ||
		    tile->dtype == NEURON_DTYPE_FP16;
	ptrdiff_t step = tile->step[0] < 0 ? -tile->step[0] : tile->step[0];

	work->half = (work->n == 0 || work->half) && half;
	if (work->n == 0)
		work->n = tile->n;
	work->psum |= tile->psum;
	work->sbuf |= !tile->psum;
	work->banks |= psum_banks(tile);
	work->strided |= !tile->contiguous;
	work->sparse |= tile->num[0] > 1 && step >= 16;
}

enum neuron_cause trn_exec_column(const struct trn_exec *exec, unsigned int i,
				  unsigned int partitions, struct trn_tile *tile)
{
	const struct neuron_ap ap = {
		.addr = i ? exec->inst->col1 : exec->inst->col0,
		.num = { 1, 1, 1, 1 },
		.step = { 1 },
		.partitions = (uint8_t)partitions,
		.dtype = (uint8_t)trn_isa_column_dtype(exec->inst, i),
	};

	return trn_exec_tile(exec, &ap, tile);
}

enum neuron_cause trn_exec_scalar(const struct trn_exec *exec, unsigned int i,
				  unsigned int partitions,
				  struct trn_scalar *scalar)
{
	const struct neuron_inst *inst = exec->inst;
	uint32_t flag = i ? NEURON_INST_COL1 : NEURON_INST_COL0;

	*scalar = (struct trn_scalar){
		.bits = i ? inst->imm1 : inst->imm0,
		.column = trn_isa_flags(inst) & flag,
	};
	if (!scalar->column)
		return NEURON_CAUSE_NONE;
	return trn_exec_column(exec, i, partitions, &scalar->tile);
}

uint32_t trn_scalar_column(const struct trn_scalar *scalar, unsigned int p)
{
	uint32_t bits = 0;
	float value;

	if (scalar->raw) {
		trn_tile_load_raw(&scalar->tile, p, 0, 1, &bits);
		return bits;
	}
	/* What most are, as the conversion of a line takes long for one element; not a NaN. */
	if (scalar->tile.dtype == NEURON_DTYPE_FP32) {
		trn_tile_load_raw(&scalar->tile, p, 0, 1, &bits);
		memcpy(&value, &bits, sizeof(value));
		if (value == value)
			return bits;
	}
	trn_tile_load(&scalar->tile, p, 0, 1, &value);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}
