// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks: what an instruction has read and written (isa/trn_isa_access.h). Where that
 * depends on data, less is said to be read than was.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/trn_chip.h"
#include "check/trn_check_private.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "isa/trn_isa_access.h"
#include "mem/trn_bus.h"

#define BANK_BYTES	(NEURON_TPB_PSUM_STRIDE / NEURON_PSUM_BANKS)

/**
 * struct operand - a tile of an instruction
 * @access: what the instruction does with it
 * @tile: where it is
 */
struct operand {
	const struct neuron_inst *inst;
	enum trn_isa_role role;
	struct trn_isa_access access;
	struct trn_tile tile;
};

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

	if (!trn_visit_begin(&v, actor, &place, write, o->access.partly))
		return;
	for (p = 0; p < o->tile.partitions; p++)
		if (trn_isa_access_partition(o->inst, o->role, p))
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
static bool operand_get(const struct trn_exec *exec, enum trn_isa_role role,
			struct operand *o)
{
	o->inst = exec->inst;
	o->role = role;
	return trn_isa_access(exec->inst, role, &o->access) && !o->access.table &&
	       !trn_exec_tile_raw(exec, &o->access.ap, &o->tile);
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
			 "writes a product across a PSUM bank from", NULL);
}

static void check_tiles(struct trn_check_actor *actor, const struct trn_exec *exec)
{
	enum trn_isa_role role;
	struct operand o;

	for (role = 0; role < TRN_ISA_ROLES; role++) {
		if (!operand_get(exec, role, &o))
			continue;
		if (o.tile.index)
			visit_index(actor, &o.tile);
		if (!o.access.write)
			visit(actor, &o, false);
	}
	for (role = 0; role < TRN_ISA_ROLES; role++) {
		if (!operand_get(exec, role, &o) || !o.access.write)
			continue;
		if (role == TRN_ISA_DST && trn_isa_is_product(exec->inst))
			check_bank(actor, &o.tile);
		if (o.access.read)
			visit(actor, &o, false);
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
	char what[80] = "has an index beyond its tile in";
	struct trn_isa_access access;
	enum trn_isa_role role;
	struct trn_tile tile;
	int64_t at;

	for (role = 0; role < TRN_ISA_ROLES; role++) {
		if (!trn_isa_access(exec->inst, role, &access) ||
		    trn_exec_tile_raw(exec, &access.ap, &tile) != NEURON_CAUSE_ACCESS)
			continue;
		at = (int64_t)NEURON_GET(NEURON_AP_OFFSET, access.ap.addr) +
		     (int32_t)exec->seq->regs[access.ap.offset_reg];
		snprintf(what, sizeof(what), "reaches bytes %" PRId64 " to %" PRId64 " of",
			 at + tile.low, at + tile.high - 1);
		place.place = tile.psum ? TRN_PLACE_PSUM : TRN_PLACE_SBUF;
		place.offset = NEURON_GET(NEURON_AP_PARTITION, access.ap.addr) *
			       (uint64_t)(tile.psum ? NEURON_TPB_PSUM_STRIDE :
						      NEURON_TPB_SBUF_STRIDE);
		break;
	}
	trn_check_report(actor, TRN_CHECK_RANGE, &place, what, NULL);
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
