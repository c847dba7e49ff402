// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks: what an instruction reads and writes, from its row of the instruction
 * table. Where that depends on data, less is said to be read than was.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/trn_chip.h"
#include "check/trn_check_private.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "mem/trn_bus.h"

#define BANK_BYTES	(NEURON_TPB_PSUM_STRIDE / NEURON_PSUM_BANKS)

enum role { ROLE_DST, ROLE_SRC0, ROLE_SRC1, ROLE_COL0, ROLE_COL1 };

static const unsigned int field_of[] = {
	[ROLE_DST] = TRN_FIELD_DST,
	[ROLE_SRC0] = TRN_FIELD_SRC0,
	[ROLE_SRC1] = TRN_FIELD_SRC1,
	[ROLE_COL0] = TRN_FIELD_COL0,
	[ROLE_COL1] = TRN_FIELD_COL1,
};

/**
 * struct operand - a tile of an instruction
 * @partly: read, but maybe not all of it
 */
struct operand {
	const struct trn_exec *exec;
	enum role role;
	bool write;
	bool partly;
	struct trn_tile tile;
};

/* Only some partitions of these are touched. */
static bool uses_partition(const struct operand *o, unsigned int p)
{
	const struct neuron_inst *inst = o->exec->inst;
	uint8_t mask[NEURON_INST_MASK];
	unsigned int i;

	switch (inst->opcode) {
	case NEURON_OP_NONZERO_WITH_COUNT:
		return p % TRN_CORE_LANES == 0;
	case NEURON_OP_LOAD_MX:
	case NEURON_OP_MATMUL_MX:
		return o->role != ROLE_SRC1 || (p % 32 >= inst->imm1 &&
						p % 32 < inst->imm1 + 4);
	case NEURON_OP_QUANTIZE_MX:
		return o->role != ROLE_SRC1 || (p % 32 >= inst->imm0 &&
						p % 32 < inst->imm0 + 4);
	case NEURON_OP_STREAM_SHUFFLE:
		trn_isa_mask(inst, mask);
		if (o->role == ROLE_DST)
			return mask[p % 32] < 32;
		for (i = 0; i < sizeof(mask); i++)
			if (mask[i] == p % 32)
				return true;
		return false;
	default:
		return true;
	}
}

/* What is read depends on other operands. */
static bool reads_partly(const struct trn_exec *exec, enum role role)
{
	switch (exec->inst->opcode) {
	case NEURON_OP_COPY_PREDICATED:
	case NEURON_OP_SELECT_REDUCE:
	case NEURON_OP_RANGE_SELECT:
	case NEURON_OP_AFFINE_SELECT:
	case NEURON_OP_MATMUL_SPARSE:
	case NEURON_OP_STREAM_SHUFFLE:
	case NEURON_OP_TOPK:
		return role == ROLE_SRC0;
	case NEURON_OP_LOCAL_GATHER:
		return role == ROLE_SRC1 && exec->inst->imm1;
	default:
		return false;
	}
}

/* Nobody knows beforehand which elements. */
static bool is_table(const struct trn_exec *exec, enum role role)
{
	return role == ROLE_SRC0 && (exec->inst->opcode == NEURON_OP_GATHER ||
				     exec->inst->opcode == NEURON_OP_LOCAL_GATHER);
}

static bool is_written(const struct trn_exec *exec, enum role role)
{
	switch (exec->inst->opcode) {
	case NEURON_OP_TOPK:
	case NEURON_OP_QUANTIZE_MX:
		return role == ROLE_DST || role == ROLE_SRC1;
	case NEURON_OP_MATCH_REPLACE8:
		return role == ROLE_DST || role == ROLE_COL1;
	default:
		return role == ROLE_DST;
	}
}

static bool is_product(const struct trn_exec *exec)
{
	return exec->inst->opcode == NEURON_OP_MATMUL ||
	       exec->inst->opcode == NEURON_OP_MATMUL_SPARSE ||
	       exec->inst->opcode == NEURON_OP_MATMUL_MX;
}

/* --- Tiles --- */

static struct neuron_ap column_ap(const struct trn_exec *exec, enum role role)
{
	const struct neuron_inst *inst = exec->inst;
	bool indices = inst->opcode == NEURON_OP_MATCH_REPLACE8;
	unsigned int i = role == ROLE_COL1;

	return (struct neuron_ap){
		.addr = i ? inst->col1 : inst->col0,
		.num = { indices ? 8 : 1, 1, 1, 1 },
		.step = { 1 },
		.partitions = inst->dst.partitions,
		.dtype = (uint8_t)trn_isa_column_dtype(inst, i),
	};
}

static struct neuron_ap ap_of(const struct trn_exec *exec, enum role role)
{
	switch (role) {
	case ROLE_DST:
		return exec->inst->dst;
	case ROLE_SRC0:
		return exec->inst->src0;
	case ROLE_SRC1:
		return exec->inst->src1;
	default:
		return column_ap(exec, role);
	}
}

static struct trn_check_place place_of(const struct trn_tile *tile)
{
	return (struct trn_check_place){
		.chip = tile->core->chip,
		.place = tile->psum ? TRN_PLACE_PSUM : TRN_PLACE_SBUF,
		.index = tile->core->index,
		.offset = (uint64_t)(tile->base - (tile->psum ? tile->core->psum :
								tile->core->sbuf)),
	};
}

static void visit_indexed(struct trn_visit *visit, const struct trn_tile *tile,
			  unsigned int p, uint64_t offset)
{
	uint32_t i;

	for (i = 0; i < tile->n; i++)
		trn_visit_bytes(visit, offset + (uint64_t)trn_index_at(tile, p, i), tile->size);
}

/* The elements of partition @p, whose element 0 lies at @offset. */
static void visit_line(struct trn_visit *visit, const struct trn_tile *tile,
		       unsigned int p, uint64_t offset)
{
	bool dense = tile->contiguous || tile->num[0] == 1 ||
		     tile->step[0] == (ptrdiff_t)tile->size;
	uint32_t n = tile->contiguous ? tile->n : tile->num[0];
	uint32_t i, j, rest;
	uint64_t at;

	if (tile->index) {
		visit_indexed(visit, tile, p, offset);
		return;
	}
	for (i = 0; i < tile->n; i += n) {
		rest = i / n;
		at = offset;
		if (!tile->contiguous) {
			at += (uint64_t)(rest % tile->num[1] * tile->step[1]);
			rest /= tile->num[1];
			at += (uint64_t)(rest % tile->num[2] * tile->step[2]);
			at += (uint64_t)(rest / tile->num[2] * tile->step[3]);
		}
		if (dense) {
			trn_visit_bytes(visit, at, (uint64_t)n * tile->size);
			continue;
		}
		for (j = 0; j < n; j++)
			trn_visit_bytes(visit, at + (uint64_t)(j * tile->step[0]),
					tile->size);
	}
}

static void visit(struct trn_check_actor *actor, const struct operand *o, bool write)
{
	const struct trn_check_place place = place_of(&o->tile);
	struct trn_visit v;
	unsigned int p;

	if (!trn_visit_begin(&v, actor, &place, write, o->partly))
		return;
	for (p = 0; p < o->tile.partitions; p++)
		if (uses_partition(o, p))
			visit_line(&v, &o->tile, p, place.offset + p * o->tile.stride);
	trn_visit_end(&v);
}

/* What says where the elements of a tile lie is read. */
static void visit_index(struct trn_check_actor *actor, const struct trn_tile *tile)
{
	const struct trn_check_place place = {
		.chip = tile->core->chip,
		.place = TRN_PLACE_SBUF,
		.index = tile->core->index,
		.offset = (uint64_t)(tile->index - tile->core->sbuf),
	};
	struct trn_visit v;
	unsigned int p;
	uint32_t i;

	if (!trn_visit_begin(&v, actor, &place, false, false))
		return;
	for (p = 0; p < tile->partitions; p += tile->group)
		for (i = 0; i < tile->n; i++)
			trn_visit_bytes(&v, place.offset + trn_index_entry(tile, p, i),
					sizeof(uint16_t));
	trn_visit_end(&v);
}

/* False: no such tile in this instruction, or not one that can be told. */
static bool operand_get(const struct trn_exec *exec, unsigned int fields,
			enum role role, struct operand *o)
{
	const struct neuron_ap ap = ap_of(exec, role);

	if (!(fields & field_of[role]) || is_table(exec, role))
		return false;
	o->exec = exec;
	o->role = role;
	o->write = is_written(exec, role);
	o->partly = reads_partly(exec, role);
	return !trn_exec_tile_raw(exec, &ap, &o->tile);
}

static unsigned int fields_of(const struct trn_exec *exec)
{
	unsigned int fields = 0, i;

	for (i = 0; i < TRN_ISA_OPERANDS; i++)
		fields |= trn_isa_operand_fields(exec->isa->operand[i], exec->inst);
	return fields;
}

/* A result that is larger than a bank has no choice (NeuronCore-v4). */
static void check_bank(struct trn_check_actor *actor, const struct trn_tile *dst)
{
	struct trn_check_place place = place_of(dst);
	int64_t first = (int64_t)(place.offset % NEURON_TPB_PSUM_STRIDE);
	int64_t bank = first / BANK_BYTES;

	if (dst->high - dst->low > BANK_BYTES &&
	    dst->core->chip->gen->generation >= 4)
		return;
	if ((first + dst->low) / BANK_BYTES == bank &&
	    (first + dst->high - 1) / BANK_BYTES == bank)
		return;
	trn_check_report(actor, TRN_CHECK_BANK, &place,
			 "writes a product across a PSUM bank from");
}

static void check_tiles(struct trn_check_actor *actor, const struct trn_exec *exec)
{
	unsigned int fields = fields_of(exec);
	struct operand o;
	enum role role;

	for (role = ROLE_DST; role <= ROLE_COL1; role++) {
		if (!operand_get(exec, fields, role, &o))
			continue;
		if (o.tile.index)
			visit_index(actor, &o.tile);
		if (!o.write)
			visit(actor, &o, false);
	}
	for (role = ROLE_DST; role <= ROLE_COL1; role++) {
		if (!operand_get(exec, fields, role, &o) || !o.write)
			continue;
		if (role == ROLE_DST && is_product(exec)) {
			check_bank(actor, &o.tile);
			if (trn_isa_flags(exec->inst) &
			    (NEURON_INST_ACCUMULATE | NEURON_INST_WRITTEN))
				visit(actor, &o, false);
		}
		visit(actor, &o, true);
	}
}

/* Which tile leaves its partition, and how far it reaches; else it is an index. */
static void check_range(struct trn_check_actor *actor, const struct trn_exec *exec)
{
	struct trn_check_place place = {
		.chip = exec->core->chip,
		.place = TRN_PLACE_SBUF,
		.index = exec->core->index,
	};
	unsigned int fields = fields_of(exec);
	struct neuron_ap ap;
	struct trn_tile tile;
	char what[80] = "has an index beyond its tile in";
	enum role role;
	int64_t at;

	for (role = ROLE_DST; role <= ROLE_COL1; role++) {
		ap = ap_of(exec, role);
		if (!(fields & field_of[role]) ||
		    trn_exec_tile_raw(exec, &ap, &tile) != NEURON_CAUSE_ACCESS)
			continue;
		at = (int64_t)NEURON_GET(NEURON_AP_OFFSET, ap.addr) +
		     (int32_t)exec->seq->regs[ap.offset_reg];
		snprintf(what, sizeof(what), "reaches bytes %" PRId64 " to %" PRId64 " of",
			 at + tile.low, at + tile.high - 1);
		place.place = tile.psum ? TRN_PLACE_PSUM : TRN_PLACE_SBUF;
		place.offset = NEURON_GET(NEURON_AP_PARTITION, ap.addr) *
			       (uint64_t)(tile.psum ? NEURON_TPB_PSUM_STRIDE :
						      NEURON_TPB_SBUF_STRIDE);
		break;
	}
	trn_check_report(actor, TRN_CHECK_RANGE, &place, what);
}

enum neuron_cause trn_check_exec(struct trn_exec *exec)
{
	struct trn_seq *seq = exec->seq;
	struct trn_check_actor *actor = seq->waiter.check;
	enum neuron_cause cause;

	trn_check_at(actor, atomic_load(&seq->pc), exec->inst->debug);
	cause = trn_exec_dispatch(exec);
	if (exec->isa->unit == TRN_ISA_SEQUENCER || exec->more)
		return cause;
	if (cause == NEURON_CAUSE_ACCESS)
		check_range(actor, exec);
	else if (!cause)
		check_tiles(actor, exec);
	return cause;
}
