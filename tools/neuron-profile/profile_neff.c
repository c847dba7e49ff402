// SPDX-License-Identifier: MIT
/*
 * What a NEFF says about each instruction and each packet that can occur in a profile. The rings
 * are built as libnrt builds them, so that a packet has the same index here and there.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "chip/isa/trn_isa.h"
#include "chip/num/trn_num.h"
#include "contract/op.h"
#include "neuron/address.h"
#include "profile.h"

/* As libnrt's loader. */
#define MAX_RING_DESCS	(1u << 22)

/* --- FLOPs --- */

static uint64_t line_elements(const struct neuron_ap *ap)
{
	uint64_t n = 1;
	unsigned int i;

	for (i = 0; i < 4; i++)
		n *= le16toh(ap->num[i]);
	return n;
}

static uint64_t elements(const struct neuron_ap *ap)
{
	return line_elements(ap) * ap->partitions;
}

/* Two for each term of each sum. A transposition computes nothing. */
static uint64_t product_flops(const struct neuron_inst *inst)
{
	const uint32_t flags = trn_isa_flags(inst);
	uint64_t terms = inst->src0.partitions;

	if (flags & NEURON_INST_TRANSPOSE)
		return 0;
	if (inst->opcode == NEURON_OP_MATMUL_MX)
		terms *= 4;
	else if (flags & NEURON_INST_DOUBLE_ROW)
		terms *= 2;
	return 2 * terms * elements(&inst->dst);
}

static unsigned int operators(const struct neuron_inst *inst)
{
	return (inst->op0 != NEURON_ALU_BYPASS) + (inst->op1 != NEURON_ALU_BYPASS);
}

static bool combines(const struct neuron_inst *inst)
{
	return inst->reduce == NEURON_REDUCE_REDUCE ||
	       inst->reduce == NEURON_REDUCE_RESET_REDUCE ||
	       inst->reduce == NEURON_REDUCE_LOAD_REDUCE;
}

/* One for each operator and each element; what moves, picks or fills computes nothing. */
static uint64_t lane_flops(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
	case NEURON_OP_RECIPROCAL:
		return elements(&inst->dst);
	case NEURON_OP_TENSOR_SCALAR:
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
	case NEURON_OP_TENSOR_SCAN:
		return operators(inst) * elements(&inst->dst);
	case NEURON_OP_TENSOR_CUMULATIVE:
		return (1 + (inst->op0 != NEURON_ALU_BYPASS)) * elements(&inst->dst);
	case NEURON_OP_TENSOR_REDUCE:
	case NEURON_OP_PARTITION_REDUCE:
		return elements(&inst->src0);
	case NEURON_OP_BN_STATS:
		return 3 * elements(&inst->src0);
	case NEURON_OP_EXPONENTIAL:
		return 2 * elements(&inst->dst);
	case NEURON_OP_ACTIVATE:
		return 3 * elements(&inst->dst);
	case NEURON_OP_ACTIVATE2:
		return (1 + operators(inst)) * elements(&inst->dst);
	default:
		return 0;
	}
}

static uint64_t flops_of(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
	case NEURON_OP_MATMUL:
	case NEURON_OP_MATMUL_SPARSE:
	case NEURON_OP_MATMUL_MX:
		return product_flops(inst);
	case NEURON_OP_TENSOR_CUMULATIVE:
		/* Its op2 makes the sums. */
		return lane_flops(inst);
	default:
		return lane_flops(inst) + (combines(inst) ? elements(&inst->dst) : 0);
	}
}

/* --- Addresses --- */

/* Where a window address leads: a variable, or one of the loader's windows. */
struct place {
	enum profile_memory memory;
	const struct neff_var *var;
	uint64_t offset;
	int sem;
	unsigned int core;
};

static const struct neff_var *find_var(const struct neff_graph *graph, uint32_t id)
{
	size_t low = 0, high = graph->nr_vars;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (graph->vars[middle].var_id == id)
			return &graph->vars[middle];
		if (graph->vars[middle].var_id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static enum profile_memory memory_of(const struct neff_var *var)
{
	switch (var->type) {
	case NEFF_VAR_STATE:
		return PROFILE_MEMORY_SBUF;
	case NEFF_VAR_SIBLING_STATE:
		return PROFILE_MEMORY_SIBLING;
	case NEFF_VAR_PEER:
		return PROFILE_MEMORY_PEER;
	case NEFF_VAR_PEER_SEM:
	case NEFF_VAR_SIBLING_SEM:
	case NEFF_VAR_CC_SEM:
		return PROFILE_MEMORY_SEM;
	default:
		return PROFILE_MEMORY_HBM;
	}
}

static int sem_at(uint64_t first, uint64_t offset)
{
	return first + offset / 4 < NEURON_NR_SEMAPHORES ? (int)(first + offset / 4) : -1;
}

static struct place place_of(const struct profile_core *core, uint64_t addr)
{
	const uint32_t window = (uint32_t)NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr);
	struct place place = {
		.memory = PROFILE_MEMORY_LOADER,
		.var = find_var(core->graph, window),
		.offset = addr & NEURON_ADDR_WINDOW_OFFSET,
		.sem = -1,
		.core = core->graph->index,
	};

	if (place.var) {
		place.memory = memory_of(place.var);
		if (place.var->type == NEFF_VAR_SIBLING_SEM) {
			place.sem = sem_at(place.var->first, place.offset);
			place.core = !place.core;
		}
		return place;
	}
	if (window != core->windows.semaphores && window != core->windows.sibling)
		return place;
	place.memory = PROFILE_MEMORY_SEM;
	place.sem = sem_at(0, place.offset);
	if (window == core->windows.sibling)
		place.core = !place.core;
	return place;
}

static void add_post(struct profile_step *step, const struct place *to)
{
	step->post_sem = (int16_t)to->sem;
	step->post_core = (uint8_t)to->core;
}

/* --- Instructions --- */

/*
 * The ends of the packet that an instruction generates. They are known when the block is a constant
 * of the NEFF; its registers do not lead out of the windows.
 */
static void set_generated(const struct profile_core *core, uint64_t addr,
			  struct profile_step *step)
{
	const struct place block = place_of(core, addr);
	struct neuron_udma_dge dge;

	step->from = PROFILE_MEMORY_UNKNOWN;
	step->to = PROFILE_MEMORY_UNKNOWN;
	if (!block.var || block.var->type != NEFF_VAR_FILE ||
	    block.var->size < sizeof(dge) || block.offset > block.var->size - sizeof(dge))
		return;
	memcpy(&dge, block.var->data + block.offset, sizeof(dge));
	step->from = (uint8_t)place_of(core, le64toh(dge.src[0])).memory;
	step->to = (uint8_t)place_of(core, le64toh(dge.dst[0])).memory;
}

static void set_sync(struct profile_step *step, const struct neuron_inst *inst, unsigned int core)
{
	uint16_t wait = le16toh(inst->wait_sem), post = le16toh(inst->post_sem);

	if (NEURON_GET(NEURON_SYNC_WAIT, inst->sync) && wait < NEURON_NR_SEMAPHORES)
		step->wait_sem = (int16_t)wait;
	if (NEURON_GET(NEURON_SYNC_POST, inst->sync) && post < NEURON_NR_SEMAPHORES) {
		step->post_sem = (int16_t)post;
		step->post_core = (uint8_t)core;
		step->landed = trn_isa_flags(inst) & NEURON_INST_LANDED;
	}
}

/* Events count as semaphores behind the others. */
static void set_event(struct profile_step *step, const struct neuron_inst *inst, unsigned int core)
{
	uint32_t event = le32toh(inst->imm0);

	if (event >= NEURON_NR_EVENTS)
		return;
	if (inst->opcode == NEURON_OP_EVENT_WAIT && step->wait_sem < 0)
		step->wait_sem = (int16_t)(NEURON_NR_SEMAPHORES + event);
	if (inst->opcode == NEURON_OP_EVENT_SET && step->post_sem < 0) {
		step->post_sem = (int16_t)(NEURON_NR_SEMAPHORES + event);
		step->post_core = (uint8_t)core;
	}
}

static void set_instruction(const struct profile_core *core, unsigned int engine, uint32_t pc,
			    struct profile_step *step)
{
	const struct neuron_inst *inst = &core->image[engine][pc];
	struct place to;

	step->flops = flops_of(inst);
	set_sync(step, inst, core->graph->index);
	if (inst->opcode == NEURON_OP_EVENT_WAIT || inst->opcode == NEURON_OP_EVENT_SET)
		set_event(step, inst, core->graph->index);
	if (inst->opcode == NEURON_OP_REG_STORE && !inst->reg[1] && step->post_sem < 0) {
		to = place_of(core, le64toh(inst->addr));
		add_post(step, &to);
	}
	if (inst->opcode == NEURON_OP_DMA_GENERATE)
		set_generated(core, le64toh(inst->addr), step);
	step->source = neff_debug_line(core->graph, engine, pc, &step->line);
}

/* --- Packets --- */

static void set_ends(struct profile_step *step, const struct place *from, const struct place *to)
{
	step->from = (uint8_t)from->memory;
	step->to = (uint8_t)to->memory;
	if (to->memory == PROFILE_MEMORY_SEM)
		add_post(step, to);
}

static void set_copy(const struct profile_core *core, const struct neuron_udma_desc *source,
		     const struct neuron_udma_desc *target, struct profile_step *step)
{
	const uint32_t bytes = neuron_desc_bytes(source);
	const struct place from = place_of(core, le64toh(source->addr));
	const struct place to = place_of(core, le64toh(target->addr));

	set_ends(step, &from, &to);
	step->hbm_read = from.memory == PROFILE_MEMORY_HBM ? bytes : 0;
	step->hbm_written = to.memory == PROFILE_MEMORY_HBM ? bytes : 0;
	step->copy = true;
	step->var = from.var ? from.var->var_id : 0;
	step->at = from.offset;
}

static uint64_t pattern_bytes(const struct neuron_udma_pattern *pattern, unsigned int dtype)
{
	uint64_t n = trn_dtype_size(dtype);
	unsigned int i;

	for (i = 0; i < 4; i++)
		n *= le32toh(pattern->num[i]);
	return n;
}

/* An operation's block is in the constants that libnrt writes, which nobody changes. */
static void set_operation(const struct profile_core *core, const struct neuron_udma_op *op,
			  const struct neuron_udma_desc *sources,
			  const struct neuron_udma_desc *target, struct profile_step *step)
{
	const struct place to = place_of(core, le64toh(target->addr));
	uint64_t written = pattern_bytes(&op->dst, op->dst_dtype);
	unsigned int i;

	for (i = 0; i < op->nr_src; i++) {
		const struct place from = place_of(core, le64toh(sources[i].addr));

		if (!i)
			set_ends(step, &from, &to);
		if (from.memory == PROFILE_MEMORY_HBM)
			step->hbm_read += pattern_bytes(&op->src, op->src_dtype);
	}
	if (to.memory != PROFILE_MEMORY_HBM)
		return;
	step->hbm_written = written;
	if (op->flags & NEURON_UDMA_OP_ACCUMULATE)
		step->hbm_read += written;
}

/* The packet at M2S descriptor @m2s and S2M descriptor @s2m; returns its M2S descriptors. */
static uint32_t set_packet(const struct profile_core *core, const struct dma_ring *ring,
			   uint32_t m2s, uint32_t s2m, struct profile_step *step)
{
	const struct neuron_udma_desc *first = &ring->m2s[m2s];
	struct neuron_udma_op op;
	struct place block;

	if (!neuron_op_is_block(first)) {
		set_copy(core, first, &ring->s2m[s2m], step);
		return 1;
	}
	block = place_of(core, le64toh(first->addr));
	memcpy(&op, core->program.constants.data + block.offset, sizeof(op));
	set_operation(core, &op, first + 1, &ring->s2m[s2m], step);
	return 1u + op.nr_src;
}

static void set_ring(const struct profile_core *core, const struct dma_ring *ring,
		     struct profile_step *step)
{
	uint32_t m2s = 0, s2m;

	for (s2m = 0; s2m < ring->s2m_used && m2s < ring->used; s2m++)
		m2s += set_packet(core, ring, m2s, s2m, &step[m2s]);
}

/* --- All of it --- */

/* The numbers that libnrt gives its own windows do not matter here: nothing else has them. */
static void number_windows(struct profile_core *core)
{
	const struct neff_graph *graph = core->graph;
	uint32_t next = graph->nr_vars ? graph->vars[graph->nr_vars - 1].var_id + 1 : 1;

	core->windows.constants = next;
	core->windows.semaphores = next + 1;
	core->windows.sibling = next + 2;
}

static NRT_STATUS build_core(struct profile_core *core, struct nrt_error *error)
{
	const struct neff_graph *graph = core->graph;
	unsigned int engine;

	number_windows(core);
	if (dma_program_build(graph, &core->windows, MAX_RING_DESCS, &core->program, error))
		return error->status;
	for (engine = 0; engine < NEURON_NR_ENGINES; engine++) {
		if (!graph->image_count[engine])
			continue;
		core->image[engine] = calloc(graph->image_count[engine], NEURON_INST_SIZE);
		if (!core->image[engine])
			return nrt_error_memory(error);
		if (dma_patch_image(graph, &core->program, engine, core->image[engine], error))
			return error->status;
	}
	return NRT_SUCCESS;
}

static uint32_t number_steps(struct profile_core *core, uint32_t next)
{
	unsigned int unit;

	for (unit = 0; unit < PROFILE_ACTORS; unit++) {
		core->first_step[unit] = next;
		if (unit < NEURON_NR_ENGINES)
			next += core->graph->image_count[unit];
		else if (unit - NEURON_NR_ENGINES < core->program.nr_rings)
			next += core->program.rings[unit - NEURON_NR_ENGINES].used;
	}
	return next;
}

static void fill_steps(struct profile *profile, const struct profile_core *core)
{
	struct profile_step *step = profile->step;
	unsigned int engine, ring;
	uint32_t pc;

	for (engine = 0; engine < NEURON_NR_ENGINES; engine++)
		for (pc = 0; pc < core->graph->image_count[engine]; pc++)
			set_instruction(core, engine, pc, &step[core->first_step[engine] + pc]);
	for (ring = 0; ring < core->program.nr_rings; ring++)
		set_ring(core, &core->program.rings[ring],
			 &step[core->first_step[NEURON_NR_ENGINES + ring]]);
}

/* The step behind all others is that of generated packets. */
static NRT_STATUS make_steps(struct profile *profile, struct nrt_error *error)
{
	uint32_t count = 0, i;
	unsigned int core;

	for (core = 0; core < profile->nr_cores; core++)
		count = number_steps(&profile->core[core], count);
	profile->nr_steps = count + 1;
	profile->step = calloc(profile->nr_steps, sizeof(*profile->step));
	if (!profile->step)
		return nrt_error_memory(error);
	for (i = 0; i < profile->nr_steps; i++) {
		profile->step[i].wait_sem = -1;
		profile->step[i].post_sem = -1;
	}
	profile->step[count].from = PROFILE_MEMORY_UNKNOWN;
	profile->step[count].to = PROFILE_MEMORY_UNKNOWN;
	for (core = 0; core < profile->nr_cores; core++)
		fill_steps(profile, &profile->core[core]);
	return NRT_SUCCESS;
}

static NRT_STATUS check_model(const struct profile *profile, struct nrt_error *error)
{
	char hash[2 * NEFF_HASH_LEN + 1];

	neff_hash_text(profile->neff, hash);
	if (*profile->neff_hash && strcmp(profile->neff_hash, hash))
		return nrt_error_set(error, NRT_INVALID,
				     "%s: the profile is of another NEFF (hash %.16s, not %.16s): give the one that ran",
				     profile->path, profile->neff_hash, hash);
	if (strcmp(profile->model, profile->neff->name))
		return nrt_error_set(error, NRT_INVALID,
				     "%s: the profile is of model \"%.64s\", the NEFF of \"%.64s\": give the one that ran",
				     profile->path, profile->model, profile->neff->name);
	return NRT_SUCCESS;
}

NRT_STATUS profile_read_neff(struct profile *profile, const void *neff, size_t size,
			     struct nrt_error *error)
{
	const struct neff_limits limits = { .validate_hash = true };
	unsigned int i;

	if (neff_read(neff, size, &limits, &profile->neff, error) || check_model(profile, error))
		return error->status;
	profile->nr_cores = profile->neff->nr_graphs;
	for (i = 0; i < profile->nr_cores; i++) {
		profile->core[i].graph = &profile->neff->graphs[i];
		if (build_core(&profile->core[i], error))
			return error->status;
	}
	return make_steps(profile, error);
}
