// SPDX-License-Identifier: MIT
/*
 * From a NEFF to a buffer on the device, a window table and a job.
 *
 * One buffer, the arena, holds all that belongs to the model alone; windows show
 * pieces of it, byte for byte. The loader's own windows come right behind those of
 * the variables, which keeps the table short: a job copies all of it.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object/model.h"
#include "neuron/address.h"

/* No model needs more; it bounds the memory that a NEFF can ask for. */
#define MAX_RING_DESCS	(1u << 22)
/* Windows begin at multiples of this, so that neighbours share no cache line. */
#define WINDOW_ALIGN	64
#define MAX_ALIGN	4096
#define NR_OWN_WINDOWS	6

/**
 * struct layout - offsets in the arena
 * @end: of what has been placed
 * @code, @rings, @constants, @notify: of the loader's windows
 * @code_bytes, @ring_bytes: their lengths
 */
struct layout {
	uint64_t end;
	uint64_t code;
	uint64_t code_bytes;
	uint64_t rings;
	uint64_t ring_bytes;
	uint64_t constants;
	uint64_t notify;
};

struct build {
	struct nrt_part *part;
	const struct neff_graph *graph;
	struct dma_program program;
	struct layout layout;
	struct nrt_load_times *times;
	struct nrt_error *error;
};

static uint64_t place(struct layout *layout, uint64_t bytes, uint64_t alignment)
{
	uint64_t at;

	if (alignment < WINDOW_ALIGN)
		alignment = WINDOW_ALIGN;
	if (alignment > MAX_ALIGN)
		alignment = MAX_ALIGN;
	at = (layout->end + alignment - 1) & ~(alignment - 1);
	layout->end = at + bytes;
	return at;
}

static void place_code(struct build *build)
{
	const struct neff_graph *graph = build->graph;
	struct layout *layout = &build->layout;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		build->part->code[e] = layout->code_bytes;
		layout->code_bytes += (uint64_t)graph->image_count[e] * NEURON_INST_SIZE;
	}
	layout->code = place(layout, layout->code_bytes, MAX_ALIGN);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		build->part->code[e] += layout->code;
}

static void place_rings(struct build *build)
{
	struct layout *layout = &build->layout;
	unsigned int i;

	for (i = 0; i < build->program.nr_rings; i++)
		layout->ring_bytes += 2ull * build->program.rings[i].length *
				      sizeof(struct neuron_udma_desc);
	layout->rings = place(layout, layout->ring_bytes, MAX_ALIGN);
}

static void place_vars(struct build *build)
{
	struct nrt_part *part = build->part;
	size_t i;

	for (i = 0; i < build->graph->nr_vars; i++) {
		const struct neff_var *var = &build->graph->vars[i];

		if (!neff_var_has_contents(var) && var->type != NEFF_VAR_TMP)
			continue;
		part->places[i].offset = place(&build->layout, var->size, var->alignment);
	}
}

static void place_all(struct build *build)
{
	struct layout *layout = &build->layout;

	place_code(build);
	place_rings(build);
	layout->constants = place(layout, build->program.constants.bytes, WINDOW_ALIGN);
	place_vars(build);
	layout->notify = place(layout, build->graph->notify_bytes, WINDOW_ALIGN);
}

static NRT_STATUS upload_code(struct build *build)
{
	struct nrt_part *part = build->part;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		size_t bytes = (size_t)build->graph->image_count[e] * NEURON_INST_SIZE;
		struct neuron_inst *image;
		NRT_STATUS status;

		if (!bytes)
			continue;
		image = malloc(bytes);
		if (!image)
			return nrt_error_memory(build->error);
		status = dma_patch_image(build->graph, &build->program, (enum neuron_engine)e,
					 image, build->error);
		if (!status)
			status = nrt_bo_write(part->arena, part->code[e], image, bytes,
					      build->error);
		free(image);
		if (status)
			return status;
	}
	return NRT_SUCCESS;
}

/* Write the rings and describe them in the queue table. */
static NRT_STATUS upload_rings(struct build *build)
{
	struct nrt_part *part = build->part;
	uint64_t at = 0;
	unsigned int i;

	for (i = 0; i < part->nr_queues; i++) {
		const struct dma_ring *ring = &build->program.rings[i];
		uint64_t bytes = (uint64_t)ring->length * sizeof(*ring->m2s);

		if (nrt_bo_write(part->arena, build->layout.rings + at, ring->m2s, bytes,
				 build->error) ||
		    nrt_bo_write(part->arena, build->layout.rings + at + bytes, ring->s2m, bytes,
				 build->error))
			return build->error->status;
		part->queues[i] = (struct drm_neuron_queue){
			.m2s_ring = neuron_window_addr(part->window.rings, at),
			.s2m_ring = neuron_window_addr(part->window.rings, at + bytes),
			.m2s_length = ring->length,
			.s2m_length = ring->length,
			/* Neighbouring queues get engines of their own. */
			.dma_engine = i % 16,
			.queue = (uint16_t)(i / 16),
		};
		at += 2 * bytes;
	}
	return NRT_SUCCESS;
}

/* Priorities, which only the queues of NeuronCore-v4 have. */
static NRT_STATUS rank_queues(struct build *build)
{
	const struct neff_graph *graph = build->graph;
	const unsigned int generation = build->part->core->device->info.generation;
	size_t i;
	unsigned int q;

	for (i = 0; i < graph->nr_sets; i++) {
		const struct neff_set *set = &graph->sets[i];

		if (set->priority && generation < 4)
			return nrt_error_set(build->error, NRT_UNSUPPORTED_NEFF_VERSION,
					     "NEFF: queue \"%s\" has priority %u, and only NeuronCore-v4 has priorities; leave it out, or load it on trn3",
					     set->name, set->priority);
		for (q = set->index; q < set->index + set->num; q++)
			build->part->queues[q].flags = set->priority <<
							DRM_NEURON_QUEUE_PRIORITY_SHIFT;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS upload_data(struct build *build)
{
	struct nrt_part *part = build->part;
	size_t i;

	if (nrt_bo_write(part->arena, build->layout.constants, build->program.constants.data,
			 build->program.constants.bytes, build->error))
		return build->error->status;
	for (i = 0; i < build->graph->nr_vars; i++) {
		const struct neff_var *var = &build->graph->vars[i];

		if (neff_var_has_contents(var) &&
		    nrt_bo_write(part->arena, part->places[i].offset, var->data, var->size,
				 build->error))
			return build->error->status;
	}
	return NRT_SUCCESS;
}

/* @count semaphores of core @core of the claim, from @first on, for posts. */
static struct drm_neuron_window sems_of(int core, uint32_t index, uint32_t first, uint32_t count)
{
	if (core < 0)
		return (struct drm_neuron_window){ .index = index };
	return (struct drm_neuron_window){
		.index = index,
		.kind = DRM_NEURON_WINDOW_SEM,
		.from = DRM_NEURON_FROM_CORE,
		.source = (uint64_t)core,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.offset = first,
		.length = 4ull * count,
	};
}

/* The stream of the collectives that @var starts. */
static unsigned int stream_of(const struct build *build, const struct neff_var *var)
{
	return build->graph->collectives[var->first].stream;
}

static void show_var(struct build *build, size_t i)
{
	const uint32_t both = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	const struct neff_var *var = &build->graph->vars[i];
	struct nrt_part *part = build->part;
	struct drm_neuron_window entry = {
		.index = var->var_id,
	};

	switch (var->type) {
	case NEFF_VAR_FILE:
	case NEFF_VAR_POINTER:
	case NEFF_VAR_DGE_TABLE:
	case NEFF_VAR_TMP:
		part->places[i].bo = part->arena;
		nrt_view_show(&part->view, i, var->var_id,
			      var->type == NEFF_VAR_TMP ? both : DRM_NEURON_WINDOW_READ,
			      part->arena, part->places[i].offset, var->size);
		return;
	case NEFF_VAR_STATE:
		entry.kind = DRM_NEURON_WINDOW_SBUF;
		entry.rights = both;
		break;
	case NEFF_VAR_SIBLING_STATE:
		entry.kind = DRM_NEURON_WINDOW_GRANT;
		entry.from = DRM_NEURON_FROM_CORE;
		entry.source = part->sibling;
		entry.rights = both;
		entry.length = var->size;
		break;
	case NEFF_VAR_SIBLING_SEM:
		entry = sems_of(part->sibling, var->var_id, var->first, var->count);
		break;
	case NEFF_VAR_CC_SEM:
		entry = sems_of(part->cc[stream_of(build, var)], var->var_id,
				neff_start(&build->graph->collectives[var->first]), var->count);
		break;
	default:
		/* Bound by an execution. */
		break;
	}
	nrt_view_set(&part->view, i, &entry, NULL);
}

/* The loader's windows; one of no bytes is empty. */
static void show_own(struct build *build)
{
	struct nrt_part *part = build->part;
	const struct layout *layout = &build->layout;
	struct nrt_view *view = &part->view;
	size_t i = build->graph->nr_vars;
	struct drm_neuron_window entry = {
		.index = part->window.semaphores,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
		.length = 4 * NEURON_NR_SEMAPHORES,
	};

	nrt_view_show(view, i++, part->window.code, DRM_NEURON_WINDOW_READ, part->arena,
		      layout->code, layout->code_bytes);
	nrt_view_show(view, i++, part->window.rings, DRM_NEURON_WINDOW_READ, part->arena,
		      layout->rings, layout->ring_bytes);
	nrt_view_show(view, i++, part->window.constants, DRM_NEURON_WINDOW_READ, part->arena,
		      layout->constants, build->program.constants.bytes);
	nrt_view_set(view, i++, &entry, NULL);
	entry = sems_of(part->sibling, part->window.sibling, 0, NEURON_NR_SEMAPHORES);
	nrt_view_set(view, i++, &entry, NULL);
	nrt_view_show(view, i++, part->window.notify, DRM_NEURON_WINDOW_WRITE, part->arena,
		      layout->notify, build->graph->notify_bytes);
}

static void fill_job(struct build *build)
{
	const struct neff_graph *graph = build->graph;
	struct nrt_part *part = build->part;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		part->start[e].engine = e;
		if (!graph->image_count[e])
			continue;
		part->start[e].addr = neuron_window_addr(part->window.code,
							 part->code[e] - build->layout.code);
		part->start[e].count = graph->image_count[e];
	}
	part->notices = build->layout.notify;
	if (graph->notify_bytes)
		part->notify_addr = neuron_window_addr(part->window.notify, 0);
	if (graph->has_sem_clear)
		memcpy(part->sem_clear, graph->sem_clear, sizeof(part->sem_clear));
	else
		memset(part->sem_clear, 0xff, sizeof(part->sem_clear));
}

static NRT_STATUS allocate_tables(struct build *build)
{
	struct nrt_part *part = build->part;
	size_t vars = build->graph->nr_vars;

	if (nrt_view_init(&part->view, vars + NR_OWN_WINDOWS, build->error))
		return build->error->status;
	part->nr_queues = build->graph->nr_queues;
	part->queues = calloc(part->nr_queues + 1, sizeof(*part->queues));
	part->places = calloc(vars + 1, sizeof(*part->places));
	if (!part->queues || !part->places)
		return nrt_error_memory(build->error);
	return NRT_SUCCESS;
}

static void number_windows(struct build *build)
{
	const struct neff_graph *graph = build->graph;
	struct nrt_part *part = build->part;
	uint32_t next = graph->nr_vars ? graph->vars[graph->nr_vars - 1].var_id + 1 : 1;

	part->window.code = next++;
	part->window.rings = next++;
	part->window.constants = next++;
	part->window.semaphores = next++;
	part->window.sibling = next++;
	part->window.notify = next;
}

/* For whoever asks later what holds the memory. */
static NRT_STATUS describe_arena(struct build *build)
{
	struct nrt_usage *usage = calloc(1, sizeof(*usage));
	const struct neff_graph *graph = build->graph;
	size_t i;

	if (!usage)
		return nrt_error_memory(build->error);
	snprintf(usage->name, sizeof(usage->name), "model \"%.64s\"", graph->neff->name);
	usage->bytes[DRM_NEURON_CATEGORY_CODE] = build->layout.code_bytes;
	usage->bytes[DRM_NEURON_CATEGORY_DMA_RINGS] = build->layout.ring_bytes;
	usage->bytes[DRM_NEURON_CATEGORY_CONSTANTS] = build->program.constants.bytes;
	usage->bytes[DRM_NEURON_CATEGORY_NOTIFICATIONS] = graph->notify_bytes;
	for (i = 0; i < graph->nr_vars; i++) {
		if (neff_var_has_contents(&graph->vars[i]))
			usage->bytes[DRM_NEURON_CATEGORY_CONSTANTS] += graph->vars[i].size;
		else if (graph->vars[i].type == NEFF_VAR_TMP)
			usage->bytes[DRM_NEURON_CATEGORY_SCRATCHPAD] += graph->vars[i].size;
	}
	nrt_bo_describe(build->part->arena, usage);
	return NRT_SUCCESS;
}

static NRT_STATUS build_device(struct build *build)
{
	struct nrt_part *part = build->part;
	size_t i;

	place_all(build);
	if (nrt_bo_create(part->core, build->layout.end, DRM_NEURON_BO_HBM,
			  DRM_NEURON_CATEGORY_CODE, &part->arena, build->error) ||
	    describe_arena(build))
		return build->error->status;
	nrt_load_step(build->times, NRT_LOAD_MEMORY);
	if (upload_code(build) || upload_rings(build) || rank_queues(build))
		return build->error->status;
	nrt_load_step(build->times, NRT_LOAD_CODE);
	if (upload_data(build))
		return build->error->status;
	nrt_load_step(build->times, NRT_LOAD_DATA);
	for (i = 0; i < build->graph->nr_vars; i++)
		show_var(build, i);
	show_own(build);
	fill_job(build);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_part_build(struct nrt_part *part, struct nrt_load_times *times,
			  struct nrt_error *error)
{
	struct build build = {
		.part = part,
		.graph = part->graph,
		.times = times,
		.error = error,
	};
	struct dma_windows windows;
	NRT_STATUS status;

	if (allocate_tables(&build))
		return error->status;
	number_windows(&build);
	windows.constants = part->window.constants;
	windows.semaphores = part->window.semaphores;
	windows.sibling = part->window.sibling;
	if (dma_program_build(part->graph, &windows, MAX_RING_DESCS, &build.program, error))
		return error->status;
	nrt_load_step(times, NRT_LOAD_RINGS);
	status = build_device(&build);
	dma_program_free(&build.program);
	return status;
}
