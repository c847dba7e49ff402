// SPDX-License-Identifier: MIT
/*
 * What instructions and transfers take, by the chip's own table of costs (time/trn_cost.h). Of an
 * instruction the chip knows the work when it has done it; here it is read from its operands.
 */
#include <endian.h>

#include "nb_plan.h"
#include "isa/trn_isa_access.h"
#include "num/trn_num.h"
#include "time/trn_cost.h"

static uint64_t nb_elements(const struct neuron_ap *ap)
{
	uint64_t n = 1;
	unsigned int i;

	for (i = 0; i < 4; i++)
		n *= le16toh(ap->num[i]);
	return n;
}

static bool nb_is_contiguous(const struct neuron_ap *ap)
{
	uint64_t run = 1;
	unsigned int i;

	if (ap->index)
		return false;
	for (i = 0; i < 4; i++) {
		if (le16toh(ap->num[i]) > 1 && (int16_t)le16toh(ap->step[i]) != (int64_t)run)
			return false;
		run *= le16toh(ap->num[i]);
	}
	return true;
}

static bool nb_is_half(const struct neuron_ap *ap)
{
	return ap->dtype == NEURON_DTYPE_BF16 || ap->dtype == NEURON_DTYPE_FP16;
}

static uint8_t nb_banks_of(const struct neuron_ap *ap)
{
	const struct nb_area area = nb_area_of_tile(ap, 0);
	uint64_t at = area.low % area.pitch;

	if (area.space != NB_SPACE_PSUM || !area.width)
		return 0;
	return NEURON_MASK(7, 0) & NEURON_MASK((at + area.width - 1) / NB_BANK, at / NB_BANK);
}

/* As the chip notes each tile that it works on. */
static void nb_note(struct trn_work *work, const struct neuron_ap *ap)
{
	int step = (int16_t)le16toh(ap->step[0]) * (int)trn_dtype_size(ap->dtype);

	work->half = (!work->n || work->half) && nb_is_half(ap);
	if (!work->n)
		work->n = nb_elements(ap);
	work->psum |= !!(le32toh(ap->addr) & NEURON_AP_PSUM);
	work->sbuf |= !(le32toh(ap->addr) & NEURON_AP_PSUM);
	work->banks |= nb_banks_of(ap);
	work->strided |= !nb_is_contiguous(ap);
	work->sparse |= le16toh(ap->num[0]) > 1 && (step >= 16 || step <= -16);
}

static void nb_lanes_work(const struct trn_isa *isa, const struct neuron_inst *inst,
			  struct trn_work *work)
{
	struct trn_isa_access access;
	enum trn_isa_role role;

	for (role = 0; role < TRN_ISA_COL0; role++)
		if (trn_isa_access(inst, role, &access))
			nb_note(work, &access.ap);
	switch ((enum trn_cost)isa->cost) {
	case TRN_COST_REDUCE:
		work->n = nb_elements(&inst->src0);
		break;
	case TRN_COST_LOCAL_GATHER:
		work->n = le32toh(inst->imm1) ? le32toh(inst->imm1) : nb_elements(&inst->src1);
		work->k = le32toh(inst->imm0) ? le32toh(inst->imm0) : 1;
		work->size = trn_dtype_size(inst->src0.dtype);
		work->size = work->size && work->size <= 4 ? work->size : 4;
		break;
	case TRN_COST_TOPK:
		work->k = nb_elements(&inst->dst);
		work->n = nb_elements(&inst->src0);
		break;
	default:
		break;
	}
}

static void nb_tensor_work(const struct neuron_inst *inst, struct trn_work *work)
{
	bool product = trn_isa_is_product(inst);

	work->n = nb_elements(product ? &inst->dst : &inst->src0);
	if (!product && (trn_isa_flags(inst) & NEURON_INST_DOUBLE_ROW))
		work->n /= 2;
	work->fp32 = inst->src0.dtype == NEURON_DTYPE_FP32;
	work->light = product && (trn_isa_flags(inst) &
				  (NEURON_INST_TRANSPOSE | NEURON_INST_ONE_ZERO));
}

static const struct trn_isa *nb_inst_work(const struct neuron_inst *inst, struct trn_work *work)
{
	const struct trn_isa *isa = trn_isa_lookup(inst->opcode);

	/* What the loader makes a trigger of. */
	if (!isa)
		isa = trn_isa_lookup(NEURON_OP_DMA_TRIGGER);
	if (isa->unit == TRN_ISA_TENSOR)
		nb_tensor_work(inst, work);
	else if (isa->unit == TRN_ISA_LANES)
		nb_lanes_work(isa, inst, work);
	return isa;
}

uint64_t nb_cost_inst(const struct nb_plan *plan, enum neuron_engine engine,
		      const struct neuron_inst *inst)
{
	struct trn_work work = { 0 };
	const struct trn_isa *isa = nb_inst_work(inst, &work);

	return trn_cost_ps(plan->gen, engine, isa, &work);
}

unsigned int nb_ports_inst(const struct nb_plan *plan, enum neuron_engine engine,
			   const struct neuron_inst *inst)
{
	struct trn_work work = { 0 };
	const struct trn_isa *isa = nb_inst_work(inst, &work);
	unsigned int ports = trn_cost_ports(plan->gen, engine, isa, &work), mask = 0;

	if (ports & TRN_PORT_SBUF)
		mask |= NEURON_BIT(NB_PORT_SBUF);
	if (plan->gen->generation == 2 && (ports & ~TRN_PORT_SBUF))
		mask |= NEURON_BIT(NB_PORT_PSUM);
	return mask;
}

/* --- Transfers --- */

static uint64_t nb_runs(const struct nb_side *side)
{
	uint64_t runs = 1;
	unsigned int i;

	for (i = 1; i < side->ndim; i++)
		runs *= side->size[i];
	return runs;
}

/* Pieces that are contiguous on both sides, at most as large as a descriptor. */
static uint64_t nb_move_ps(const struct nb_plan *plan, const struct nb_dma_block *block)
{
	uint64_t runs = nb_runs(&block->to), other = nb_runs(&block->from), bytes;

	bytes = block->to.size[0] * runs;
	if (other > runs)
		runs = other;
	if (runs < bytes >> 16)
		runs = bytes >> 16;
	return runs * trn_cost_copy_ps(plan->gen, bytes / runs);
}

/* A load runs beside the product before it. */
static uint64_t nb_group_ps(const struct nb_plan *plan, const struct nb_node *node)
{
	const struct neuron_inst *inst = nb_node_inst(plan, node);
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < node->room; i++)
		if (!node->load || i || node->room == 1)
			sum += nb_cost_inst(plan, node->engine, &inst[i]);
	return sum;
}

void nb_cost_node(const struct nb_plan *plan, struct nb_node *node)
{
	const struct neuron_inst *inst;

	node->move_ps = 0;
	node->ports = 0;
	if (!node->room)
		return;
	inst = nb_node_inst(plan, node);
	if (node->transfer) {
		node->issue_ps = nb_cost_inst(plan, node->engine, inst) * node->room;
		node->move_ps = nb_move_ps(plan, nb_node_block(plan, node));
	} else if (inst->opcode == NEURON_OP_DMA_GENERATE) {
		node->issue_ps = TRN_COST_DGE_PS;
		node->move_ps = TRN_COST_DMA_START_PS;
	} else {
		node->issue_ps = nb_group_ps(plan, node);
		node->ports = nb_ports_inst(plan, node->engine, inst);
	}
}
