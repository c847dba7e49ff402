// SPDX-License-Identifier: MIT
/*
 * What an instruction, or the transfer that it starts, reads and writes: told from the encoded
 * instruction, so that every emitter and nb_raw() are treated alike. Tiles of computing
 * instructions are those of the chip's own table (isa/trn_isa_access.h).
 */
#include <endian.h>
#include <string.h>

#include "nb_sync.h"
#include "isa/trn_isa_access.h"
#include "neuron/address.h"

/* Partitions that share an index. */
#define NB_INDEX_GROUP		16
#define NB_INDEX_GROUP_TENSOR	32

static void nb_touches(struct nb_step *step, struct nb_area area, bool write)
{
	if (step->nr_touches == NB_MAX_ACCESSES)
		step->all = true;
	else if (area.width)
		step->touch[step->nr_touches++] = (struct nb_touch){ .area = area,
								      .write = write };
}

/* --- Registers --- */

void nb_regs_count(struct nb_order *order, const struct nb_turn *turn)
{
	unsigned int e;

	order->counting |= NEURON_BIT64(turn->reg);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (turn->engines & NEURON_BIT(e))
			order->reg_set[e] |= NEURON_BIT64(turn->reg);
}

void nb_regs_forget(struct nb_order *order)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		order->reg_known[e] = 1;	/* r0 reads as 0 */
}

static bool nb_reg_known(const struct nb_order *order, enum neuron_engine e, unsigned int reg)
{
	return reg < NEURON_NR_REGS && order->reg_known[e] >> reg & 1;
}

static void nb_reg_is(struct nb_order *order, enum neuron_engine e, unsigned int reg,
		      bool known, uint32_t value)
{
	if (!reg || reg >= NEURON_NR_REGS)
		return;
	if (order->counting & NEURON_BIT64(reg))
		nb_fail_at(order->nb, e, order->pc[e],
			   "register %u is changed, which counts the rounds of a loop around",
			   reg);
	order->reg_set[e] |= NEURON_BIT64(reg);
	order->reg_known[e] &= ~NEURON_BIT64(reg);
	if (known)
		order->reg_known[e] |= NEURON_BIT64(reg);
	order->reg[e][reg] = value;
}

/* What addresses are usually worked out with. False: another operator. */
static bool nb_alu(unsigned int op, uint32_t a, uint32_t b, uint32_t *value)
{
	switch (op) {
	case NEURON_ALU_ADD:
		*value = a + b;
		return true;
	case NEURON_ALU_SUBTRACT:
		*value = a - b;
		return true;
	case NEURON_ALU_MULTIPLY:
		*value = a * b;
		return true;
	case NEURON_ALU_BITWISE_AND:
		*value = a & b;
		return true;
	default:
		return false;
	}
}

static void nb_reg_alu_done(struct nb_order *order, const struct nb_step *step)
{
	const struct neuron_inst *inst = step->inst;
	enum neuron_engine e = step->engine;
	bool imm = inst->flags & NEURON_INST_IMM, known;
	uint32_t value = 0;

	known = nb_reg_known(order, e, inst->reg[1]) &&
		(imm || nb_reg_known(order, e, inst->reg[2])) &&
		nb_alu(inst->op0, order->reg[e][inst->reg[1]],
		       imm ? le32toh(inst->imm0) : order->reg[e][inst->reg[2]], &value);
	nb_reg_is(order, e, inst->reg[0], known, value);
}

/* --- Computing instructions --- */

/*
 * Where a register that nobody knows, or an index, may lead: to all of the tile that nb_tile_new()
 * gave, if it was that. An index leads no further back than the tile begins.
 */
static struct nb_area nb_reach(struct nb_order *order, const struct neuron_ap *ap, int64_t offset,
			       bool known)
{
	struct nb_area area = nb_area_of_begin(ap, offset);
	const struct nb_area *tile = area.width ? nb_live_tile(order, &area) : NULL;

	if (tile)
		return *tile;
	if (known)
		return nb_area_of_tile(ap, offset);
	area.low -= area.low % area.pitch;
	area.width = area.pitch;
	return area;
}

static void nb_step_tile(struct nb_order *order, struct nb_step *step, enum trn_isa_role role)
{
	unsigned int group = step->engine == NEURON_ENGINE_TENSOR ? NB_INDEX_GROUP_TENSOR :
								     NB_INDEX_GROUP;
	const struct trn_isa_access access = trn_isa_access_of(step->inst, role);
	struct nb_area area;
	int64_t offset = 0;
	bool known;

	known = nb_reg_known(order, step->engine, access.ap.offset_reg);
	if (known)
		offset = (int32_t)order->reg[step->engine][access.ap.offset_reg];
	if (known && !access.ap.index)
		area = nb_area_of_tile(&access.ap, offset);
	else
		area = nb_reach(order, &access.ap, offset, known);
	if (access.ap.index)
		nb_touches(step, nb_area_of_index(&access.ap, group), false);
	nb_touches(step, area, access.write);
}

/* --- Words --- */

static bool nb_is_sem_var(const struct nb_program *nb, int var)
{
	return nb->var[var - 1].type == NB_VAR_PEER_SEM ||
	       nb->var[var - 1].type == NB_VAR_SIBLING_SEM ||
	       nb->var[var - 1].type == NB_VAR_CC_SEM;
}

/*
 * Semaphores of others: a write tells them something, a read is told something. Which collectives
 * have started is only noted of nb_dma() (nb_start_collective()).
 */
static void nb_step_sem(struct nb_order *order, struct nb_step *step, int var, bool write)
{
	if (write && order->nb->var[var - 1].type == NB_VAR_CC_SEM)
		nb_fail_at(order->nb, step->engine, step->pc,
			   "a write to \"%.64s\" starts a collective: in a program with nb_auto() use nb_dma()",
			   order->nb->var[var - 1].name);
	if (write)
		step->release = true;
	else
		step->acquire = true;
}

static int nb_step_word(struct nb_order *order, struct nb_step *step)
{
	uint64_t addr = le64toh(step->inst->addr);
	uint64_t var = NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr);
	bool write = step->inst->opcode == NEURON_OP_REG_STORE;
	struct nb_side word = nb_linear(var, NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, addr), 4);
	bool known = nb_reg_known(order, step->engine, step->inst->reg[1]);

	if (known && step->inst->reg[1])
		word.offset += order->reg[step->engine][step->inst->reg[1]];
	if (!write)
		nb_reg_is(order, step->engine, step->inst->reg[0], false, 0);
	if (!(addr & NEURON_ADDR_WINDOW) || !var || var > order->nb->nr_vars)
		step->all = true;
	else if (nb_is_sem_var(order->nb, var))
		nb_step_sem(order, step, var, write);
	else if (!known || word.offset + 4 > nb_var_size(order->nb, var))
		nb_touches(step, nb_area_of_var(order->nb, var), write);
	else
		nb_touches(step, nb_area_of_side(order->nb, &word), write);
	return 0;
}

/* --- Transfers --- */

static unsigned int nb_queue_of(const struct neuron_inst *inst)
{
	return inst->reg[0] | inst->reg[1] << 8;
}

/* The set that queue @index of the job belongs to, or -1. */
static int nb_set_of(const struct nb_program *nb, unsigned int index)
{
	size_t i;

	for (i = 0; i < nb->nr_queues; i++)
		if (index - nb->queue[i].index < nb->queue[i].num_queues)
			return i;
	return -1;
}

/* The collectives of a queue must end in their order, as its transfers do. */
static int nb_check_stream(struct nb_order *order, const struct nb_step *step,
			   struct nb_queue_set *queue, const struct nb_collective *what)
{
	if (!queue->starts)
		queue->stream = what->stream;
	if (queue->stream == what->stream)
		return 0;
	return nb_fail_at(order->nb, step->engine, step->pc,
			  "queue \"%.64s\" starts collectives of streams %u and %u, which may end in any order: make a queue for each stream",
			  queue->name, queue->stream, what->stream);
}

/*
 * A collective without a semaphore ends like a transfer of its queue: reads and writes are those of
 * its tensors, and they are over when it posts, not when the word has arrived.
 */
static int nb_step_start(struct nb_order *order, struct nb_step *step, const struct nb_side *to,
			 const struct nb_collective *what)
{
	struct nb_queue_set *queue = &order->nb->queue[step->queue];
	bool starts = what && what->semaphore < 0;
	unsigned int i;
	int behind = 0;

	if (starts && nb_check_stream(order, step, queue, what))
		return -1;
	queue->starts |= starts;
	queue->moves |= !starts;
	if (queue->starts && (queue->moves || queue->num_queues > 1))
		return nb_fail_at(order->nb, step->engine, step->pc,
				  "queue \"%.64s\" starts collectives whose semaphores nb_auto() finds: it is one queue, and moves nothing",
				  queue->name);
	if (what && nb_start_collective(order->nb, to, step->queue, &behind))
		return -1;
	if (!queue->starts)
		return 0;
	if (behind)
		nb_touches(step, nb_area_of_var(order->nb, behind), true);
	if (!what->nr_parts) {
		nb_touches(step, nb_area_of_var(order->nb, what->input), false);
		nb_touches(step, nb_area_of_var(order->nb, what->output), true);
	}
	for (i = 0; i < what->nr_parts; i++) {
		nb_touches(step, nb_area_of_side(order->nb, &what->inputs[i]), false);
		nb_touches(step, nb_area_of_side(order->nb, &what->outputs[i]), true);
	}
	if (what->metadata)
		nb_touches(step, nb_area_of_var(order->nb, what->metadata),
			   nb_writes_metadata(what));
	return 0;
}

static int nb_step_trigger(struct nb_order *order, struct nb_step *step)
{
	struct nb_program *nb = order->nb;
	const struct nb_stream *stream = &nb->stream[step->engine];
	uint64_t id = le64toh(step->inst->addr);
	const struct nb_collective *what;
	const struct nb_dma_block *block;
	unsigned int i;

	if (id >= stream->nr_dma)
		return nb_fail_at(nb, step->engine, step->pc,
				  "a trigger names no transfer of its engine");
	block = &stream->dma[id];
	if (order->depth)
		return nb_fail_at(nb, step->engine, step->pc,
				  "a transfer in a loop or branch: its descriptors can be used once only; give a queue generated ones (dma_generate)");
	step->transfer = true;
	step->queue = block->queue;
	step->posts = nb->queue[block->queue].num_queues;
	step->room = step->posts;
	what = nb_collective_at(nb, &block->to);
	if (nb_step_start(order, step, &block->to, what))
		return -1;
	if ((nb_is_sem_var(nb, block->to.var) && !nb->queue[step->queue].starts) ||
	    block->nr_remotes || block->sem >= 0)
		step->release = true;
	nb_touches(step, nb_area_of_side(nb, &block->from), false);
	for (i = 1; block->move && i < block->move->nr_from; i++)
		nb_touches(step, nb_area_of_side(nb, &block->move->from[i]), false);
	nb_touches(step, nb_area_of_side(nb, &block->to), true);
	return 0;
}

/* The bytes of a constant at window address @addr, or NULL. */
static const void *nb_constant_at(struct nb_order *order, uint64_t addr, size_t size)
{
	const struct nb_program *nb = order->nb;
	uint64_t var = NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr);
	uint64_t offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, addr);

	if (!(addr & NEURON_ADDR_WINDOW) || !var || var > nb->nr_vars)
		return NULL;
	if (nb->var[var - 1].type != NB_VAR_FILE || offset % NEURON_UDMA_OP_ALIGN ||
	    offset > nb->var[var - 1].size || size > nb->var[var - 1].size - offset)
		return NULL;
	if (order->constant[var - 1] & NB_CONSTANT_WRITTEN)
		return NULL;
	order->constant[var - 1] |= NB_CONSTANT_BLOCKS;
	return (const char *)nb->var[var - 1].data + offset;
}

/* One source or destination; @reg: a register, or a length from one, moves it. */
static void nb_step_pattern(struct nb_order *order, struct nb_step *step,
			    const struct neuron_udma_op *op, uint64_t base, bool write, bool reg)
{
	const struct neuron_udma_pattern *pattern = write ? &op->dst : &op->src;
	bool indexed = op->flags & (write ? NEURON_UDMA_OP_DST_INDEXED :
					    NEURON_UDMA_OP_SRC_INDEXED);
	uint64_t var = NEURON_GET(NEURON_ADDR_WINDOW_INDEX, base);
	struct nb_area area;

	if (!nb_area_of_pattern(order->nb, pattern, write ? op->dst_dtype : op->src_dtype, base,
				indexed ? le32toh(op->index_limit) : 0, &area)) {
		if (!(base & NEURON_ADDR_WINDOW) || !var || var > order->nb->nr_vars) {
			step->all = true;
			return;
		}
		area = nb_area_of_var(order->nb, var);
	}
	if (nb_is_sem_var(order->nb, var)) {
		nb_step_sem(order, step, var, write);
		return;
	}
	if (reg)
		area = nb_area_of_var(order->nb, var);
	nb_touches(step, area, write);
	if (write && (op->flags & NEURON_UDMA_OP_ACCUMULATE))
		nb_touches(step, area, false);
}

static void nb_step_index_list(struct nb_order *order, struct nb_step *step,
			       const struct neuron_udma_op *op)
{
	uint32_t step_bytes = le32toh(op->index_step);
	struct neuron_udma_pattern list = {
		.num = { htole32(1), htole32(1), htole32(1), op->nr_index },
		.step = { 0, 0, 0, htole64(step_bytes ? step_bytes : 4) },
	};
	struct nb_area area;

	if (!op->nr_index)
		return;
	if (nb_area_of_pattern(order->nb, &list, NEURON_DTYPE_UINT32, le64toh(op->index), 0,
			       &area))
		nb_touches(step, area, false);
	else
		step->all = true;
}

/* What register @reg adds to addresses; *@known: whether that is known. */
static uint64_t nb_added(const struct nb_order *order, const struct nb_step *step,
			 unsigned int reg, bool *known)
{
	*known = nb_reg_known(order, step->engine, reg);
	return *known && reg ? order->reg[step->engine][reg] : 0;
}

static void nb_step_generated(struct nb_order *order, struct nb_step *step,
			      const struct neuron_udma_dge *dge)
{
	bool length = step->inst->mode & htole16(NEURON_INST_LENGTH >> 8), known;
	uint64_t added = nb_added(order, step, step->inst->reg[2], &known);
	unsigned int i;

	for (i = 0; i < dge->op.nr_src && i < NEURON_UDMA_OP_MAX_SRC; i++)
		nb_step_pattern(order, step, &dge->op, le64toh(dge->src[i]) + added, false,
				length || !known);
	added = nb_added(order, step, step->inst->reg[3], &known);
	for (i = 0; i < dge->op.nr_dst && i < NEURON_UDMA_OP_MAX_DST; i++)
		nb_step_pattern(order, step, &dge->op, le64toh(dge->dst[i]) + added, true,
				length || !known);
	nb_step_index_list(order, step, &dge->op);
}

static int nb_step_generate(struct nb_order *order, struct nb_step *step)
{
	const struct neuron_udma_dge *dge;
	struct nb_program *nb = order->nb;
	int queue = nb_set_of(nb, nb_queue_of(step->inst));

	if (queue < 0)
		return nb_fail_at(nb, step->engine, step->pc,
				  "dma_generate names queue %u, which no set has",
				  nb_queue_of(step->inst));
	if (NEURON_GET(NEURON_SYNC_POST, step->inst->sync))
		return nb_fail_at(nb, step->engine, step->pc,
				  "dma_generate on \"%.64s\" has a post of its own, but nb_auto() makes it",
				  nb->queue[queue].name);
	step->transfer = true;
	step->landed = true;
	step->queue = queue;
	step->posts = 1;
	dge = nb_constant_at(order, le64toh(step->inst->addr), sizeof(*dge));
	if (dge)
		nb_step_generated(order, step, dge);
	else
		step->all = true;
	return 0;
}

/* --- All --- */

static int nb_step_clear(struct nb_order *order, struct nb_step *step)
{
	uint32_t first = le32toh(step->inst->imm0), last = le32toh(step->inst->imm1);

	if (last >= order->nr_sems)
		return nb_fail_at(order->nb, step->engine, step->pc,
				  "sem_range_clear of semaphores %u to %u, but nb_sem() has given those below %u: the others are for nb_auto()",
				  first, last, order->nr_sems);
	step->release = true;
	step->acquire = true;
	return 0;
}

/* Semaphores of the builder are for the builder. */
static int nb_step_by_hand(struct nb_order *order, struct nb_step *step)
{
	const struct neuron_inst *inst = step->inst;
	unsigned int sem;

	step->release = NEURON_GET(NEURON_SYNC_POST, inst->sync);
	step->acquire = NEURON_GET(NEURON_SYNC_WAIT, inst->sync);
	sem = le16toh(step->release ? inst->post_sem : inst->wait_sem);
	if (step->release && step->acquire && le16toh(inst->wait_sem) > sem)
		sem = le16toh(inst->wait_sem);
	if ((step->release || step->acquire) && sem >= order->nr_sems)
		return nb_fail_at(order->nb, step->engine, step->pc,
				  "a %s semaphore %u, but nb_sem() has given those below %u: the others are for nb_auto()",
				  step->release && sem == le16toh(inst->post_sem) ?
				  "post to" : "wait for", sem, order->nr_sems);
	return 0;
}

/* Writes to constants: what has been read there must not change any more. */
static int nb_step_constants(struct nb_order *order, const struct nb_step *step)
{
	const struct nb_program *nb = order->nb;
	unsigned int i, var;

	for (i = 0; i < step->nr_touches; i++) {
		if (!step->touch[i].write || step->touch[i].area.space < NB_SPACE_VAR)
			continue;
		var = step->touch[i].area.space - NB_SPACE_VAR;
		if (order->constant[var] & NB_CONSTANT_BLOCKS)
			return nb_fail_at(order->nb, step->engine, step->pc,
					  "a write to \"%.64s\", in which a transfer before has found its descriptors",
					  nb->var[var].name);
		order->constant[var] |= NB_CONSTANT_WRITTEN;
	}
	return 0;
}

static int nb_step_sequencer(struct nb_order *order, struct nb_step *step)
{
	switch (step->inst->opcode) {
	case NEURON_OP_PSEUDO_DMA_TRIGGER:
		return nb_step_trigger(order, step);
	case NEURON_OP_DMA_GENERATE:
		return nb_step_generate(order, step);
	case NEURON_OP_DMA_TRIGGER:
		return nb_fail_at(order->nb, step->engine, step->pc,
				  "dma_trigger in a program with nb_auto(): use nb_dma()");
	case NEURON_OP_BRANCH:
	case NEURON_OP_LOOP:
		return nb_fail_at(order->nb, step->engine, step->pc,
				  "a branch in a program with nb_auto(): use nb_begin_loop()");
	case NEURON_OP_REG_LOAD:
	case NEURON_OP_REG_STORE:
		return nb_step_word(order, step);
	case NEURON_OP_EVENT_SET:
	case NEURON_OP_EVENT_CLEAR:
		step->release = true;
		return 0;
	case NEURON_OP_EVENT_WAIT:
		step->acquire = true;
		return 0;
	case NEURON_OP_SEM_RANGE_CLEAR:
		return nb_step_clear(order, step);
	case NEURON_OP_REG_SET:
		nb_reg_is(order, step->engine, step->inst->reg[0], true,
			  le32toh(step->inst->imm0));
		return 0;
	case NEURON_OP_REG_ALU:
		nb_reg_alu_done(order, step);
		return 0;
	case NEURON_OP_REG_RANK:
		nb_reg_is(order, step->engine, step->inst->reg[0], false, 0);
		return 0;
	default:
		return 0;
	}
}

int nb_step_get(struct nb_order *order, enum neuron_engine engine, struct nb_step *step)
{
	const struct nb_stream *stream = &order->nb->stream[engine];
	const struct trn_isa *isa;
	unsigned int roles;

	step->engine = engine;
	step->pc = order->pc[engine];
	step->inst = &stream->inst[step->pc];
	step->actor = engine;
	step->room = 1;
	step->posts = 1;
	step->queue = -1;
	step->transfer = false;
	step->landed = false;
	step->all = false;
	step->entry = 0;
	step->nr_touches = 0;
	if (nb_step_by_hand(order, step))
		return -1;
	isa = trn_isa_lookup(step->inst->opcode);
	if (!isa && step->inst->opcode != NEURON_OP_PSEUDO_DMA_TRIGGER)
		return nb_fail_at(order->nb, step->engine, step->pc,
				  "instruction %u of the %s engine has no known opcode: 0x%x",
				  step->pc, neff_engine_name(engine), step->inst->opcode);
	if (!isa || isa->unit == TRN_ISA_SEQUENCER)
		return nb_step_sequencer(order, step) || nb_step_constants(order, step) ||
		       nb_error(order->nb) ? -1 : 0;
	for (roles = trn_isa_roles(step->inst); roles; roles &= roles - 1)
		nb_step_tile(order, step, __builtin_ctz(roles));
	return 0;
}
