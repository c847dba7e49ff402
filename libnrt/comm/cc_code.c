// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_code.h"
#include "contract/job.h"

#define CODE_ALIGN	4096
#define MIN_SCRATCH	(64ull << 10)
#define ENGINES		NEURON_JOB_DMA_ENGINES

/* Windows of a program; those of its parts follow: the core that is told, then the ranks. */
enum window { W_CODE = 1, W_RINGS, W_CONSTANTS, W_PARTS };

/* Offsets in the arena. */
struct layout {
	uint64_t rings;
	uint64_t ring_bytes;
	uint64_t constants;
	uint64_t end;
};

static uint64_t align(uint64_t offset)
{
	return (offset + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
}

static struct layout lay_out(const struct cc_program *program)
{
	struct layout layout = { 0 };
	unsigned int q;

	for (q = 0; q < program->nr_rings; q++)
		layout.ring_bytes += 2ull * program->rings[q].length *
				     sizeof(struct neuron_udma_desc);
	layout.rings = align(program->count * sizeof(struct neuron_inst));
	layout.constants = align(layout.rings + layout.ring_bytes);
	layout.end = layout.constants + program->constants.bytes;
	return layout;
}

/* --- Parts --- */

NRT_STATUS nrt_cc_part_init(struct nrt_cc_part *part, const struct nrt_cc_links *links,
			    const struct nrt_cc_run *run, struct nrt_error *error)
{
	memset(part, 0, sizeof(*part));
	part->links = links;
	if (nrt_plan_varies(run->op) && links->rights->cc->device->info.generation < 3)
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "%s: the DMA engines of this chip take no length that is known only at run time; a trn2 or trn3 does",
				     nrt_plan_op_name(run->op));
	if (nrt_cc_links_plan(links, run, &part->plan, error))
		return error->status;
	if (!nrt_plan_program(part->plan, links->me, &part->program, error))
		return NRT_SUCCESS;
	nrt_plan_free(part->plan);
	part->plan = NULL;
	return error->status;
}

void nrt_cc_part_fini(struct nrt_cc_part *part)
{
	free(part->tensors);
	free(part->places);
	part->tensors = NULL;
	part->places = NULL;
	if (part->plan)
		nrt_plan_program_fini(&part->program);
	nrt_plan_free(part->plan);
	part->plan = NULL;
}

/* --- Programs --- */

/* Queues are shared by the parts: the most urgent one counts. */
static uint32_t priority_of(const struct nrt_cc_code *code)
{
	uint32_t priority = code->parts[0].plan->priority;
	unsigned int i;

	for (i = 1; i < code->nr_parts; i++)
		if (code->parts[i].plan->priority < priority)
			priority = code->parts[i].plan->priority;
	return priority << DRM_NEURON_QUEUE_PRIORITY_SHIFT;
}

/*
 * Write the rings and describe them. The CC-cores of a core use its queues from the last one of
 * each engine on downwards, programs of the core from the first one on upwards.
 */
static NRT_STATUS upload_rings(struct nrt_cc_code *code, const struct layout *layout,
			       const struct nrt_vcore *vcore, unsigned int engine,
			       struct nrt_error *error)
{
	unsigned int of_core = nrt_vcore_cc_of_core(vcore);
	unsigned int number = (unsigned int)(code->cc - vcore->cc) % of_core;
	uint64_t at = 0;
	unsigned int q;

	for (q = 0; q < code->nr_queues; q++) {
		const struct dma_ring *ring = &code->program.rings[q];
		uint64_t bytes = (uint64_t)ring->length * sizeof(*ring->m2s);

		if (nrt_bo_write(code->arena, layout->rings + at, ring->m2s, bytes, error) ||
		    nrt_bo_write(code->arena, layout->rings + at + bytes, ring->s2m, bytes,
				 error))
			return error->status;
		code->queues[q] = (struct drm_neuron_queue){
			.m2s_ring = neuron_window_addr(W_RINGS, at),
			.s2m_ring = neuron_window_addr(W_RINGS, at + bytes),
			.m2s_length = ring->length,
			.s2m_length = ring->length,
			.dma_engine = (engine + q) % ENGINES,
			.queue = (uint16_t)(NEURON_UDMA_QUEUES - 1 - number -
					    q / ENGINES * of_core),
			.flags = priority_of(code),
		};
		at += 2 * bytes;
	}
	return NRT_SUCCESS;
}

/* The window of the semaphore that is posted at the end of @part. */
static void show_done(struct nrt_cc_code *code, const struct nrt_cc_part *part)
{
	struct drm_neuron_window entry = { .index = part->window };

	if (part->signal.used) {
		entry.kind = DRM_NEURON_WINDOW_SEM;
		entry.from = DRM_NEURON_FROM_CORE;
		entry.source = part->signal.core;
		entry.rights = DRM_NEURON_WINDOW_WRITE;
		entry.offset = part->signal.done;
		entry.length = 4;
	}
	nrt_view_set(&code->view, part->window - 1, &entry, NULL);
}

static NRT_STATUS upload(struct nrt_cc_code *code, const struct nrt_vcore *vcore,
			 unsigned int engine, struct nrt_error *error)
{
	const struct cc_program *program = &code->program;
	struct layout layout = lay_out(program);
	size_t bytes = program->count * sizeof(struct neuron_inst);
	unsigned int i;

	if (nrt_bo_create(code->cc, layout.end, DRM_NEURON_BO_HBM,
			  DRM_NEURON_CATEGORY_COLLECTIVES, &code->arena, error) ||
	    nrt_bo_write(code->arena, 0, program->image, bytes, error) ||
	    upload_rings(code, &layout, vcore, engine, error) ||
	    nrt_bo_write(code->arena, layout.constants, program->constants.data,
			 program->constants.bytes, error))
		return error->status;
	nrt_view_show(&code->view, 0, W_CODE, DRM_NEURON_WINDOW_READ, code->arena, 0, bytes);
	nrt_view_show(&code->view, 1, W_RINGS, DRM_NEURON_WINDOW_READ, code->arena, layout.rings,
		      layout.ring_bytes);
	nrt_view_show(&code->view, 2, W_CONSTANTS, DRM_NEURON_WINDOW_READ, code->arena,
		      layout.constants, program->constants.bytes);
	for (i = 0; i < code->nr_parts; i++)
		show_done(code, &code->parts[i]);
	code->start = (struct drm_neuron_start){
		.addr = neuron_window_addr(W_CODE, 0),
		.count = program->count,
		.engine = DRM_NEURON_ENGINE_SYNC,
	};
	return NRT_SUCCESS;
}

/* The device has what is large. */
static void forget_large(struct cc_program *program)
{
	unsigned int q;

	free(program->image);
	program->image = NULL;
	dma_constants_free(&program->constants);
	for (q = 0; q < program->nr_rings; q++)
		dma_ring_free(&program->rings[q]);
}

/* Give each part its windows. The number of all windows. */
static uint32_t number_windows(struct nrt_cc_code *code, struct cc_piece *pieces)
{
	uint32_t next = W_PARTS;
	unsigned int i, k;

	for (i = 0; i < code->nr_parts; i++) {
		struct nrt_cc_part *part = &code->parts[i];

		part->window = next;
		pieces[i] = (struct cc_piece){
			.plan = part->plan,
			.part = &part->program,
			.windows = {
				.first = next + 1,
				.semaphore = part->first_sem,
				.signals = part->signal.used,
				.start = part->signal.start,
				.done = next,
			},
			.tensors = part->tensors,
			.nr_tensors = part->nr_tensors,
		};
		next += 1 + CC_NR_SHOWN * (1 + part->program.nr_peers);
		for (k = 0; k < part->nr_tensors; k++)
			part->tensors[k].window = next++;
	}
	return next - 1;
}

/* Parts that no model starts are barriers of a stream whose collectives share semaphores. */
static NRT_STATUS too_many(const struct nrt_cc_code *code, uint32_t windows,
			   struct nrt_error *error)
{
	unsigned int i, barriers = 0;

	for (i = 0; i < code->nr_parts; i++)
		barriers += !code->parts[i].signal.used;
	return nrt_error_set(error, NRT_RESOURCE,
			     "%u collectives of a stream, and %u barriers between them, need %u windows of a CC-core, which has %u: give other streams some, or combine tensors in lists",
			     code->nr_parts - barriers, barriers, windows, NEURON_MAX_WINDOWS - 1);
}

static NRT_STATUS build(struct nrt_cc_code *code, struct nrt_error *error)
{
	struct cc_piece *pieces = calloc(code->nr_parts, sizeof(*pieces));
	NRT_STATUS status;
	uint32_t windows;

	if (!pieces)
		return nrt_error_memory(error);
	windows = number_windows(code, pieces);
	/* The last index is not used. */
	if (windows < NEURON_MAX_WINDOWS)
		status = cc_program_build(pieces, code->nr_parts, W_CONSTANTS, &code->program,
					  error);
	else
		status = too_many(code, windows, error);
	free(pieces);
	if (status || nrt_view_init(&code->view, windows, error))
		return error->status;
	code->nr_queues = code->program.nr_rings;
	code->queues = calloc(code->nr_queues + 1, sizeof(*code->queues));
	return code->queues ? NRT_SUCCESS : nrt_error_memory(error);
}

static void code_free(struct nrt_cc_code *code)
{
	nrt_core_drop(code->cc, &code->view);
	nrt_view_fini(&code->view);
	nrt_bo_put(code->arena);
	cc_program_free(&code->program);
	free(code->queues);
	free(code->parts);
	free(code);
}

NRT_STATUS nrt_cc_code_new(const struct nrt_vcore *vcore, struct nrt_core *cc,
			   unsigned int engine, const struct nrt_cc_part *parts,
			   unsigned int nr, struct nrt_cc_code **out, struct nrt_error *error)
{
	struct nrt_cc_code *code = calloc(1, sizeof(*code));

	if (!code)
		return nrt_error_memory(error);
	atomic_init(&code->refs, 1);
	code->cc = cc;
	code->parts = calloc(nr, sizeof(*parts));
	if (!code->parts) {
		free(code);
		return nrt_error_memory(error);
	}
	memcpy(code->parts, parts, nr * sizeof(*parts));
	code->nr_parts = nr;
	if (build(code, error) || upload(code, vcore, engine, error)) {
		code_free(code);
		return error->status;
	}
	forget_large(&code->program);
	*out = code;
	return NRT_SUCCESS;
}

void nrt_cc_code_put(struct nrt_cc_code *code)
{
	unsigned int i;

	if (!code || atomic_fetch_sub(&code->refs, 1) > 1)
		return;
	for (i = 0; i < code->nr_parts; i++)
		nrt_cc_part_fini(&code->parts[i]);
	code_free(code);
}

NRT_STATUS nrt_cc_scratch(struct nrt_core *cc, uint64_t bytes, struct nrt_bo **scratch,
			  struct nrt_error *error)
{
	struct nrt_bo *grown;
	uint64_t size = MIN_SCRATCH;

	if (!bytes || (*scratch && (*scratch)->size >= bytes))
		return NRT_SUCCESS;
	while (size < bytes)
		size *= 2;
	if (nrt_bo_create(cc, size, DRM_NEURON_BO_HBM, DRM_NEURON_CATEGORY_COLLECTIVES, &grown,
			  error))
		return error->status;
	nrt_bo_put(*scratch);
	*scratch = grown;
	return NRT_SUCCESS;
}

/* --- Windows --- */

/* Entry of the view for @what of the rank itself, @slot 0, or of a peer. */
static size_t entry_of(const struct nrt_cc_part *part, unsigned int slot, enum cc_shown what)
{
	return part->window + slot * CC_NR_SHOWN + what;
}

static void show_bytes(struct nrt_cc_code *code, const struct nrt_cc_part *part,
		       unsigned int slot, enum cc_shown what, uint32_t rights,
		       const struct nrt_cc_bytes *bytes)
{
	size_t i = entry_of(part, slot, what);

	nrt_view_show(&code->view, i, (uint32_t)i + 1, rights, bytes->bo, bytes->offset,
		      rights && bytes->bo ? bytes->length : 0);
}

static void show_sems(struct nrt_cc_code *code, const struct nrt_cc_part *part,
		      unsigned int slot, uint32_t grant, unsigned int first, unsigned int count)
{
	size_t i = entry_of(part, slot, CC_SHOWN_SEMAPHORES);
	struct drm_neuron_window entry = { .index = (uint32_t)i + 1 };

	if (count) {
		entry.kind = DRM_NEURON_WINDOW_SEM;
		entry.rights = DRM_NEURON_WINDOW_WRITE;
		entry.offset = first;
		entry.length = 4ull * count;
	}
	if (count && grant) {
		entry.from = DRM_NEURON_FROM_GRANT;
		entry.source = (int32_t)grant;
	}
	nrt_view_set(&code->view, i, &entry, NULL);
}

static void show_peer(struct nrt_cc_code *code, const struct nrt_cc_part *part,
		      unsigned int number)
{
	const struct nrt_plan_peer *peer = &part->program.peers[number];
	const struct nrt_cc_peer *has = &part->links->peers[peer->rank];
	unsigned int what;

	for (what = 0; what < NRT_CC_NR_SPACES; what++) {
		const struct nrt_cc_bytes bytes = {
			.bo = has->bo[what],
			.offset = has->offset[what],
			.length = has->length[what],
		};

		show_bytes(code, part, 1 + number, what,
			   nrt_cc_rights(part->plan, peer->theirs, what), &bytes);
	}
	show_sems(code, part, 1 + number, part->links->rights->theirs[has->place], has->first_sem,
		  peer->posts ? has->nr_sems : 0);
}

/* A tensor of a list, which no other rank touches. SBUF is all that the core has. */
static void show_tensor(struct nrt_cc_code *code, const struct nrt_cc_part *part, unsigned int k)
{
	const struct cc_tensor *tensor = &part->tensors[k];
	const struct nrt_cc_bytes *at = &part->places[k];
	const uint32_t rights = tensor->space == NRT_PLAN_INPUT ? DRM_NEURON_WINDOW_READ :
								  DRM_NEURON_WINDOW_WRITE;
	struct drm_neuron_window entry = {
		.index = tensor->window,
		.kind = DRM_NEURON_WINDOW_GRANT,
		.from = DRM_NEURON_FROM_CORE,
		.source = part->signal.core,
		.rights = rights,
		.length = at->length,
	};

	if (at->bo)
		nrt_view_show(&code->view, tensor->window - 1, tensor->window, rights, at->bo,
			      at->offset, at->length);
	else
		nrt_view_set(&code->view, tensor->window - 1, &entry, NULL);
}

void nrt_cc_code_show(struct nrt_cc_code *code, unsigned int nr,
		      const struct nrt_cc_bytes own[NRT_CC_NR_SPACES])
{
	uint8_t all = NRT_PLAN_READS(NRT_PLAN_INPUT) | NRT_PLAN_READS(NRT_PLAN_OUTPUT) |
		      NRT_PLAN_WRITES(NRT_PLAN_OUTPUT) | NRT_PLAN_READS(NRT_PLAN_SCRATCH) |
		      NRT_PLAN_WRITES(NRT_PLAN_SCRATCH) | NRT_PLAN_READS(NRT_PLAN_META);
	struct nrt_cc_part *part = &code->parts[nr];
	const uint64_t epoch = part->links->epoch + part->links->rights->epoch;
	unsigned int i;

	if (nrt_plan_counts(part->plan->op, part->plan->recv_counts_known))
		all |= NRT_PLAN_WRITES(NRT_PLAN_META);
	if (part->nr_tensors)
		all |= NRT_PLAN_WRITES(NRT_PLAN_INPUT);
	for (i = 0; i < NRT_CC_NR_SPACES; i++)
		show_bytes(code, part, 0, i, nrt_cc_rights(part->plan, all, i), &own[i]);
	show_sems(code, part, 0, 0, part->first_sem, nrt_cc_part_sems(part));
	for (i = 0; i < part->program.nr_peers; i++)
		show_peer(code, part, i);
	for (i = 0; i < part->nr_tensors; i++)
		show_tensor(code, part, i);
	/* A handle may stand for another grant or buffer now: all entries are written. */
	if (part->epoch != epoch)
		code->view.nr_changes = (uint32_t)code->view.nr + 1;
	part->epoch = epoch;
}
