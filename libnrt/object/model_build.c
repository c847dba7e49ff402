// SPDX-License-Identifier: MIT
/*
 * From a NEFF to a buffer on the device, a window table and a job.
 *
 * One buffer, the arena, holds all that belongs to the model alone; windows show
 * pieces of it, byte for byte. The loader's own windows come right behind those of
 * the variables, which keeps the table short: a job copies all of it.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "object/model.h"
#include "neuron/address.h"

/* No model needs more; it bounds the memory that a NEFF can ask for. */
#define MAX_RING_DESCS	(1u << 22)
/* Windows begin at multiples of this, so that neighbours share no cache line. */
#define WINDOW_ALIGN	64
#define MAX_ALIGN	4096
#define NR_OWN_WINDOWS	5

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
	struct nrt_model *model;
	struct dma_program program;
	struct layout layout;
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
	const struct neff *neff = build->model->neff;
	struct layout *layout = &build->layout;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		build->model->code[e] = layout->code_bytes;
		layout->code_bytes += (uint64_t)neff->image_count[e] * NEURON_INST_SIZE;
	}
	layout->code = place(layout, layout->code_bytes, MAX_ALIGN);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		build->model->code[e] += layout->code;
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
	struct nrt_model *model = build->model;
	size_t i;

	for (i = 0; i < model->neff->nr_vars; i++) {
		const struct neff_var *var = &model->neff->vars[i];

		if (var->type != NEFF_VAR_FILE && var->type != NEFF_VAR_TMP)
			continue;
		model->places[i].offset = place(&build->layout, var->size, var->alignment);
	}
}

static void place_all(struct build *build)
{
	struct layout *layout = &build->layout;

	place_code(build);
	place_rings(build);
	layout->constants = place(layout, DMA_CONSTANT_BYTES, WINDOW_ALIGN);
	place_vars(build);
	layout->notify = place(layout, build->model->neff->notify_bytes, WINDOW_ALIGN);
}

static NRT_STATUS upload_code(struct build *build)
{
	struct nrt_model *model = build->model;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		size_t bytes = (size_t)model->neff->image_count[e] * NEURON_INST_SIZE;
		struct neuron_inst *image;
		NRT_STATUS status;

		if (!bytes)
			continue;
		image = malloc(bytes);
		if (!image)
			return nrt_error_memory(build->error);
		status = dma_patch_image(model->neff, &build->program, (enum neuron_engine)e, image,
					 build->error);
		if (!status)
			status = nrt_bo_write(model->arena, model->code[e], image, bytes,
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
	struct nrt_model *model = build->model;
	uint64_t at = 0;
	unsigned int i;

	for (i = 0; i < model->nr_queues; i++) {
		const struct dma_ring *ring = &build->program.rings[i];
		uint64_t bytes = (uint64_t)ring->length * sizeof(*ring->m2s);

		if (nrt_bo_write(model->arena, build->layout.rings + at, ring->m2s, bytes,
				 build->error) ||
		    nrt_bo_write(model->arena, build->layout.rings + at + bytes, ring->s2m, bytes,
				 build->error))
			return build->error->status;
		model->queues[i] = (struct drm_neuron_queue){
			.m2s_ring = neuron_window_addr(model->window.rings, at),
			.s2m_ring = neuron_window_addr(model->window.rings, at + bytes),
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
	const struct neff *neff = build->model->neff;
	const unsigned int generation = build->model->core->device->info.generation;
	size_t i;
	unsigned int q;

	for (i = 0; i < neff->nr_sets; i++) {
		const struct neff_set *set = &neff->sets[i];

		if (set->priority && generation < 4)
			return nrt_error_set(build->error, NRT_UNSUPPORTED_NEFF_VERSION,
					     "NEFF: queue \"%s\" has priority %u, and only NeuronCore-v4 has priorities; leave it out, or load it on trn3",
					     set->name, set->priority);
		for (q = set->index; q < set->index + set->num; q++)
			build->model->queues[q].flags = set->priority <<
							DRM_NEURON_QUEUE_PRIORITY_SHIFT;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS upload_data(struct build *build)
{
	struct nrt_model *model = build->model;
	uint32_t one = htole32(1);
	size_t i;

	if (nrt_bo_write(model->arena, build->layout.constants + DMA_CONSTANT_ONE, &one,
			 sizeof(one), build->error))
		return build->error->status;
	for (i = 0; i < model->neff->nr_vars; i++) {
		const struct neff_var *var = &model->neff->vars[i];

		if (var->type == NEFF_VAR_FILE &&
		    nrt_bo_write(model->arena, model->places[i].offset, var->data, var->size,
				 build->error))
			return build->error->status;
	}
	return NRT_SUCCESS;
}

static void show_var(struct nrt_model *model, size_t i)
{
	const struct neff_var *var = &model->neff->vars[i];
	struct drm_neuron_window entry = {
		.index = var->var_id,
	};

	switch (var->type) {
	case NEFF_VAR_FILE:
		model->places[i].bo = model->arena;
		nrt_window_show(model, i, var->var_id, DRM_NEURON_WINDOW_READ, &model->places[i],
				var->size);
		break;
	case NEFF_VAR_TMP:
		model->places[i].bo = model->arena;
		nrt_window_show(model, i, var->var_id,
				DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
				&model->places[i], var->size);
		break;
	case NEFF_VAR_STATE:
		entry.kind = DRM_NEURON_WINDOW_SBUF;
		entry.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
		nrt_window_set(model, i, &entry, NULL);
		break;
	default:
		/* Bound by an execution. */
		nrt_window_set(model, i, &entry, NULL);
	}
}

/* The loader's windows; one of no bytes is empty. */
static void show_own(struct build *build)
{
	struct nrt_model *model = build->model;
	const struct layout *layout = &build->layout;
	size_t i = model->neff->nr_vars;
	struct nrt_place where = { .bo = model->arena };
	struct drm_neuron_window entry = {
		.index = model->window.semaphores,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
		.length = 4 * NEURON_NR_SEMAPHORES,
	};

	where.offset = layout->code;
	nrt_window_show(model, i++, model->window.code, DRM_NEURON_WINDOW_READ, &where,
			layout->code_bytes);
	where.offset = layout->rings;
	nrt_window_show(model, i++, model->window.rings, DRM_NEURON_WINDOW_READ, &where,
			layout->ring_bytes);
	where.offset = layout->constants;
	nrt_window_show(model, i++, model->window.constants, DRM_NEURON_WINDOW_READ, &where,
			DMA_CONSTANT_BYTES);
	nrt_window_set(model, i++, &entry, NULL);
	where.offset = layout->notify;
	nrt_window_show(model, i++, model->window.notify, DRM_NEURON_WINDOW_WRITE, &where,
			model->neff->notify_bytes);
}

static void fill_job(struct build *build)
{
	struct nrt_model *model = build->model;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		model->start[e].engine = e;
		if (!model->neff->image_count[e])
			continue;
		model->start[e].addr = neuron_window_addr(model->window.code,
							  model->code[e] - build->layout.code);
		model->start[e].count = model->neff->image_count[e];
	}
	if (model->neff->notify_bytes)
		model->notify_addr = neuron_window_addr(model->window.notify, 0);
	if (model->neff->has_sem_clear)
		memcpy(model->sem_clear, model->neff->sem_clear, sizeof(model->sem_clear));
	else
		memset(model->sem_clear, 0xff, sizeof(model->sem_clear));
}

static NRT_STATUS allocate_tables(struct nrt_model *model, struct nrt_error *error)
{
	size_t vars = model->neff->nr_vars;
	size_t i;

	model->nr_queues = model->neff->nr_queues;
	model->nr_windows = vars + NR_OWN_WINDOWS;
	model->queues = calloc(model->nr_queues + 1, sizeof(*model->queues));
	model->windows = calloc(model->nr_windows, sizeof(*model->windows));
	model->changes = calloc(vars + 1, sizeof(*model->changes));
	model->places = calloc(vars + 1, sizeof(*model->places));
	model->staging = calloc(vars + 1, sizeof(struct nrt_bo *));
	model->imports = calloc(vars + 1, sizeof(struct nrt_bo *));
	model->grants = calloc(vars + 1, sizeof(*model->grants));
	if (!model->queues || !model->windows || !model->changes || !model->places ||
	    !model->staging || !model->imports || !model->grants)
		return nrt_error_memory(error);
	for (i = 0; i < vars; i++)
		model->grants[i] = -1;
	return NRT_SUCCESS;
}

static void number_windows(struct nrt_model *model)
{
	const struct neff *neff = model->neff;
	uint32_t next = neff->nr_vars ? neff->vars[neff->nr_vars - 1].var_id + 1 : 1;

	model->window.code = next++;
	model->window.rings = next++;
	model->window.constants = next++;
	model->window.semaphores = next++;
	model->window.notify = next;
}

static NRT_STATUS build_device(struct build *build)
{
	struct nrt_model *model = build->model;
	struct nrt_core *core = model->core;
	size_t i;

	place_all(build);
	if (nrt_bo_create(core->device, build->layout.end, DRM_NEURON_BO_HBM, core->stack,
			  DRM_NEURON_CATEGORY_CODE, &model->arena, build->error) ||
	    upload_code(build) || upload_rings(build) || rank_queues(build) || upload_data(build))
		return build->error->status;
	for (i = 0; i < model->neff->nr_vars; i++)
		show_var(model, i);
	show_own(build);
	fill_job(build);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_model_build(struct nrt_model *model, struct nrt_error *error)
{
	struct build build = { .model = model, .error = error };
	struct dma_windows windows;
	NRT_STATUS status;

	if (allocate_tables(model, error))
		return error->status;
	number_windows(model);
	windows.constants = model->window.constants;
	windows.semaphores = model->window.semaphores;
	if (dma_program_build(model->neff, &windows, MAX_RING_DESCS, &build.program, error))
		return error->status;
	status = build_device(&build);
	dma_program_free(&build.program);
	return status;
}
