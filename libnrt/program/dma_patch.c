// SPDX-License-Identifier: MIT
/*
 * Pseudo triggers become real ones.
 */
#include <endian.h>
#include <string.h>

#include "program/dma_build.h"

struct patcher {
	const struct neff_graph *graph;
	const struct dma_program *program;
	enum neuron_engine engine;
	struct neuron_inst *image;
	uint32_t count;
	bool branches;
	/* By set: groups that triggers before this place have named. */
	size_t next[NEURON_JOB_MAX_QUEUES];
	struct nrt_error *error;
};

static NRT_STATUS fail(struct patcher *patcher, uint32_t pc, const char *what)
{
	return nrt_error_set(patcher->error, NRT_INVALID,
			     "NEFF: %s engine: DMA trigger at instruction %u: %s",
			     neff_engine_name(patcher->engine), pc, what);
}

static bool has_branches(const struct neuron_inst *image, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (image[i].opcode == NEURON_OP_BRANCH || image[i].opcode == NEURON_OP_LOOP)
			return true;
	return false;
}

/* The set whose first queue the trigger names, or nr_sets. */
static size_t find_set(const struct neff_graph *graph, const struct neuron_inst *inst)
{
	unsigned int queue = inst->reg[0] | inst->reg[1] << 8;
	size_t i;

	for (i = 0; i < graph->nr_sets; i++)
		if (graph->sets[i].index == queue)
			break;
	return i;
}

/*
 * The group that the trigger names. Queues run on in order, so a straight program
 * must name the groups one after the other; with branches, several places may name a
 * group that is already known.
 */
static const struct dma_group *find_group(struct patcher *patcher, size_t index, uint64_t id)
{
	const struct dma_set *set = &patcher->program->sets[index];
	size_t *next = &patcher->next[index];
	size_t i;

	if (*next < set->nr_groups && set->groups[*next].id == id)
		return &set->groups[(*next)++];
	for (i = 0; patcher->branches && i < *next; i++)
		if (set->groups[i].id == id)
			return &set->groups[i];
	return NULL;
}

static void put_trigger(struct neuron_inst *inst, const struct neuron_inst *pseudo,
			unsigned int queue, uint32_t count, uint32_t s2m_count)
{
	memset(inst, 0, sizeof(*inst));
	inst->debug = pseudo->debug;
	/* A share of no bytes without a semaphore: nothing to trigger. */
	inst->opcode = count ? NEURON_OP_DMA_TRIGGER : NEURON_OP_NOP;
	if (!count)
		return;
	inst->reg[0] = queue & 0xff;
	inst->reg[1] = queue >> 8;
	inst->imm0 = htole32(count);
	inst->imm1 = htole32(s2m_count);
}

static NRT_STATUS check_room(struct patcher *patcher, uint32_t pc, unsigned int num)
{
	unsigned int i;

	if (num > patcher->count - pc)
		return fail(patcher, pc, "the NOPs for the other queues of the set are missing");
	for (i = 1; i < num; i++)
		if (patcher->image[pc + i].opcode != NEURON_OP_NOP || patcher->image[pc + i].sync)
			return fail(patcher, pc,
				    "the NOPs for the other queues of the set are missing");
	return NRT_SUCCESS;
}

static NRT_STATUS patch_trigger(struct patcher *patcher, uint32_t pc)
{
	const struct neff_graph *graph = patcher->graph;
	struct neuron_inst pseudo = patcher->image[pc];
	struct neuron_inst *inst = &patcher->image[pc];
	size_t index = find_set(graph, &pseudo);
	const struct dma_group *group;
	const struct neff_set *set;
	unsigned int i;

	if (index == graph->nr_sets)
		return fail(patcher, pc, "no queue set begins at the queue it names");
	set = &graph->sets[index];
	if (set->owner != (int)patcher->engine)
		return fail(patcher, pc, "the queue set belongs to another engine");
	group = find_group(patcher, index, le64toh(pseudo.addr));
	if (!group)
		return fail(patcher, pc,
			    "the id it names is not the next of the queue set's descriptors");
	if (check_room(patcher, pc, set->num))
		return patcher->error->status;
	for (i = 0; i < set->num; i++)
		put_trigger(&inst[i], &pseudo, set->index + i, group->count[i],
			    group->s2m_count[i]);
	/* Wait before the first, post after the last. */
	inst->sync = pseudo.sync & (NEURON_SYNC_WAIT | NEURON_SYNC_TAKE);
	inst->wait_sem = pseudo.wait_sem;
	inst->wait_value = pseudo.wait_value;
	inst += set->num - 1;
	inst->sync |= pseudo.sync & ~(NEURON_SYNC_WAIT | NEURON_SYNC_TAKE);
	inst->post_sem = pseudo.post_sem;
	inst->post_value = pseudo.post_value;
	return NRT_SUCCESS;
}

NRT_STATUS dma_patch_image(const struct neff_graph *graph, const struct dma_program *program,
			   enum neuron_engine engine, struct neuron_inst *image,
			   struct nrt_error *error)
{
	struct patcher patcher = {
		.graph = graph,
		.program = program,
		.engine = engine,
		.image = image,
		.count = graph->image_count[engine],
		.error = error,
	};
	uint32_t pc;

	memcpy(image, graph->image[engine], (size_t)patcher.count * sizeof(*image));
	patcher.branches = has_branches(image, patcher.count);
	for (pc = 0; pc < patcher.count; pc++)
		if (image[pc].opcode == NEURON_OP_PSEUDO_DMA_TRIGGER &&
		    patch_trigger(&patcher, pc))
			return error->status;
	return NRT_SUCCESS;
}
