// SPDX-License-Identifier: MIT
/*
 * The program of a collective on the device: its memory, its windows, its job, and what it means
 * when that fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_group.h"
#include "contract/job.h"
#include "exec/cause.h"

#define CODE_ALIGN	4096
#define ENGINES		NEURON_JOB_DMA_ENGINES

/* Windows of a program; those of ranks follow. */
enum window { W_CODE = 1, W_RINGS, W_CONSTANTS, W_DONE, W_RANKS };

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

/*
 * Write the rings and describe them. The CC-cores of a core use its queues from the last one of
 * each engine on downwards, programs of the core from the first one on upwards.
 */
static NRT_STATUS upload_rings(struct nrt_cc_code *code, const struct layout *layout,
			       unsigned int cc_of_core, unsigned int cc_per_core,
			       struct nrt_error *error)
{
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
			.dma_engine = q % ENGINES,
			.queue = (uint16_t)(NEURON_UDMA_QUEUES - 1 - cc_of_core -
					    q / ENGINES * cc_per_core),
			.flags = (uint32_t)code->plan->priority << DRM_NEURON_QUEUE_PRIORITY_SHIFT,
		};
		at += 2 * bytes;
	}
	return NRT_SUCCESS;
}

static void show_done(struct nrt_cc_code *code)
{
	struct drm_neuron_window entry = { .index = W_DONE };

	if (code->signal.used) {
		entry.kind = DRM_NEURON_WINDOW_SEM;
		entry.from = DRM_NEURON_FROM_CORE;
		entry.source = code->signal.core;
		entry.rights = DRM_NEURON_WINDOW_WRITE;
		entry.offset = code->signal.done;
		entry.length = 4;
	}
	nrt_view_set(&code->view, W_DONE - 1, &entry, NULL);
}

static NRT_STATUS upload(struct nrt_cc_code *code, unsigned int cc_of_core,
			 unsigned int cc_per_core, struct nrt_error *error)
{
	const struct cc_program *program = &code->program;
	struct layout layout = lay_out(program);
	size_t bytes = program->count * sizeof(struct neuron_inst);

	if (nrt_bo_create(code->cc->device, layout.end, DRM_NEURON_BO_HBM, code->cc->stack,
			  DRM_NEURON_CATEGORY_COLLECTIVES, &code->arena, error) ||
	    nrt_bo_write(code->arena, 0, program->image, bytes, error) ||
	    upload_rings(code, &layout, cc_of_core, cc_per_core, error) ||
	    nrt_bo_write(code->arena, layout.constants, program->constants.data,
			 program->constants.bytes, error))
		return error->status;
	nrt_view_show(&code->view, 0, W_CODE, DRM_NEURON_WINDOW_READ, code->arena, 0, bytes);
	nrt_view_show(&code->view, 1, W_RINGS, DRM_NEURON_WINDOW_READ, code->arena, layout.rings,
		      layout.ring_bytes);
	nrt_view_show(&code->view, 2, W_CONSTANTS, DRM_NEURON_WINDOW_READ, code->arena,
		      layout.constants, program->constants.bytes);
	show_done(code);
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

static NRT_STATUS build(struct nrt_cc_code *code, unsigned int rank, unsigned int first_sem,
			struct nrt_error *error)
{
	const struct cc_windows windows = {
		.constants = W_CONSTANTS,
		.first = W_RANKS,
		.semaphore = first_sem,
		.signals = code->signal.used,
		.start = code->signal.start,
		.done = W_DONE,
	};

	if (nrt_plan_program(code->plan, rank, &code->part, error) ||
	    cc_program_build(code->plan, &code->part, &windows, &code->program, error) ||
	    nrt_view_init(&code->view, W_RANKS - 1 + CC_NR_SHOWN * (1 + code->part.nr_peers),
			  error))
		return error->status;
	code->nr_queues = code->program.nr_rings;
	code->queues = calloc(code->nr_queues + 1, sizeof(*code->queues));
	return code->queues ? NRT_SUCCESS : nrt_error_memory(error);
}

NRT_STATUS nrt_cc_code_new(struct nrt_core *cc, unsigned int cc_of_core, unsigned int cc_per_core,
			   struct nrt_plan *plan, unsigned int rank, unsigned int first_sem,
			   const struct nrt_cc_signal *signal, struct nrt_cc_code **out,
			   struct nrt_error *error)
{
	struct nrt_cc_code *code = calloc(1, sizeof(*code));

	if (!code) {
		nrt_plan_free(plan);
		return nrt_error_memory(error);
	}
	atomic_init(&code->refs, 1);
	code->cc = cc;
	code->first_sem = first_sem;
	code->plan = plan;
	code->signal = *signal;
	if (build(code, rank, first_sem, error) || upload(code, cc_of_core, cc_per_core, error)) {
		nrt_cc_code_put(code);
		return error->status;
	}
	forget_large(&code->program);
	*out = code;
	return NRT_SUCCESS;
}

void nrt_cc_code_put(struct nrt_cc_code *code)
{
	if (!code || atomic_fetch_sub(&code->refs, 1) > 1)
		return;
	nrt_core_drop(code->cc, &code->view);
	nrt_view_fini(&code->view);
	nrt_bo_put(code->arena);
	cc_program_free(&code->program);
	nrt_plan_program_fini(&code->part);
	nrt_plan_free(code->plan);
	free(code->queues);
	free(code);
}

/* --- Windows --- */

static void show_bytes(struct nrt_cc_code *code, unsigned int slot, enum cc_shown what,
		       uint32_t rights, const struct nrt_cc_bytes *bytes)
{
	size_t i = W_RANKS - 1 + slot * CC_NR_SHOWN + what;

	nrt_view_show(&code->view, i, (uint32_t)i + 1, rights, bytes->bo, bytes->offset,
		      rights && bytes->bo ? bytes->length : 0);
}

static void show_sems(struct nrt_cc_code *code, unsigned int slot, int grant, unsigned int first,
		      unsigned int count)
{
	size_t i = W_RANKS - 1 + slot * CC_NR_SHOWN + CC_SHOWN_SEMAPHORES;
	struct drm_neuron_window entry = { .index = (uint32_t)i + 1 };

	if (count) {
		entry.kind = DRM_NEURON_WINDOW_SEM;
		entry.rights = DRM_NEURON_WINDOW_WRITE;
		entry.offset = first;
		entry.length = 4ull * count;
	}
	if (count && grant >= 0) {
		entry.from = DRM_NEURON_FROM_GRANT_FD;
		entry.source = grant;
	}
	nrt_view_set(&code->view, i, &entry, NULL);
}

uint32_t nrt_cc_rights(const struct nrt_plan *plan, uint8_t access, enum cc_shown what)
{
	uint32_t rights = 0;
	unsigned int space;

	for (space = 0; space < CC_SHOWN_SEMAPHORES; space++) {
		if (cc_shown_of(plan, space) != what)
			continue;
		if (access & NRT_PLAN_READS(space))
			rights |= DRM_NEURON_WINDOW_READ;
		if (access & NRT_PLAN_WRITES(space))
			rights |= DRM_NEURON_WINDOW_WRITE;
	}
	return rights;
}

static void show_peer(struct nrt_cc_code *code, unsigned int slot,
		      const struct nrt_plan_peer *peer, const struct nrt_cc_peer *has)
{
	unsigned int what;

	for (what = 0; what < CC_SHOWN_SEMAPHORES; what++) {
		const struct nrt_cc_bytes bytes = {
			.bo = has->bo[what],
			.offset = has->offset[what],
			.length = has->length[what],
		};

		show_bytes(code, slot, what, nrt_cc_rights(code->plan, peer->theirs, what), &bytes);
	}
	show_sems(code, slot, has->grant, 0, peer->posts ? has->nr_sems : 0);
}

void nrt_cc_code_show(struct nrt_cc_code *code, const struct nrt_cc_bytes own[CC_SHOWN_SEMAPHORES],
		      const struct nrt_cc_peer *peers, unsigned int first_sem,
		      unsigned int nr_sems, uint64_t epoch)
{
	const uint8_t all = NRT_PLAN_READS(NRT_PLAN_INPUT) | NRT_PLAN_READS(NRT_PLAN_OUTPUT) |
			    NRT_PLAN_WRITES(NRT_PLAN_OUTPUT) | NRT_PLAN_READS(NRT_PLAN_SCRATCH) |
			    NRT_PLAN_WRITES(NRT_PLAN_SCRATCH);
	unsigned int i;

	for (i = 0; i < CC_SHOWN_SEMAPHORES; i++)
		show_bytes(code, 0, i, nrt_cc_rights(code->plan, all, i), &own[i]);
	show_sems(code, 0, -1, first_sem, nr_sems);
	for (i = 0; i < code->part.nr_peers; i++)
		show_peer(code, 1 + i, &code->part.peers[i], &peers[code->part.peers[i].rank]);
	/* The number of a descriptor may name another grant now: all entries are written. */
	if (code->epoch != epoch)
		code->view.nr_changes = (uint32_t)code->view.nr + 1;
	code->epoch = epoch;
}

/* --- What a failure means --- */

/* "step 3 (gather, channel 0)", or where else it is. */
static void describe_step(const struct nrt_cc_code *code, size_t step, char *text, size_t size)
{
	const struct nrt_plan_step *at = &code->part.steps[step];

	if (step >= code->part.nr_steps)
		snprintf(text, size, "behind its last step");
	else
		snprintf(text, size, "in step %u of %u (%s, channel %u)", at->number,
			 code->plan->nr_steps, nrt_plan_phase_name(at->phase), at->channel);
}

/* The wait of @step for semaphore @sem of the rank. */
static const struct nrt_plan_sync *find_wait(const struct nrt_cc_code *code, size_t step,
					     unsigned int sem)
{
	const struct nrt_plan_sync *wait;
	unsigned int i;

	if (step >= code->part.nr_steps)
		return NULL;
	wait = nrt_plan_waits(&code->part, &code->part.steps[step]);
	for (i = 0; i < code->part.steps[step].nr_wait; i++)
		if (wait[i].sem == sem)
			return &wait[i];
	return NULL;
}

static const char *meaning_of(const struct nrt_cc_code *code, unsigned int sem)
{
	switch (code->part.sems[sem].meaning) {
	case NRT_PLAN_READY:
		return "to be ready";
	case NRT_PLAN_LANDED:
		return "to have moved its bytes";
	case NRT_PLAN_DATA:
		return "to send";
	default:
		return "to be ready or to send";
	}
}

/* From the dump of a job that hung. */
static void describe_hang(struct nrt_cc_code *code, uint64_t job, const uint32_t *ranks,
			  char *text, size_t size)
{
	char *dump = nrt_core_dump(code->cc, job), where[96];
	const char *engine = dump ? strstr(dump, "\nengine sync: ") : NULL;
	const char *wait = dump ? strstr(dump, "\nwait sync: semaphore ") : NULL;
	const struct nrt_plan_sync *sync;
	unsigned int pc, sem;
	int value;

	*text = '\0';
	if (engine && sscanf(engine, "\nengine sync: pc %u", &pc) == 1) {
		describe_step(code, cc_step_of_pc(&code->program, pc), where, sizeof(where));
		snprintf(text, size, ", %s", where);
	}
	if (*text && wait &&
	    sscanf(wait, "\nwait sync: semaphore %u value %d", &sem, &value) == 2) {
		if (sem >= NRT_PLAN_MAX_SEMS)
			snprintf(text, size, ", before step 0: the model has not started it");
		sync = sem < code->first_sem ? NULL :
		       find_wait(code, cc_step_of_pc(&code->program, pc), sem - code->first_sem);
		if (sync)
			snprintf(text, size,
				 ", %s: waits for rank %u %s (semaphore %u is %d, not %u)", where,
				 ranks[sync->rank], meaning_of(code, sync->sem), sem, value,
				 sync->value);
	}
	free(dump);
}

/* The rank at the other end of a step, or this one. */
static unsigned int other_end(const struct nrt_cc_code *code, const struct nrt_plan_step *step)
{
	const struct nrt_plan_end *end = nrt_plan_src(&code->part, step);
	const struct nrt_plan_sync *post = nrt_plan_posts(&code->part, step);
	unsigned int i;

	for (i = 0; i < step->nr_src + step->nr_dst; i++)
		if (end[i].rank != code->part.rank)
			return end[i].rank;
	for (i = 0; i < step->nr_post; i++)
		if (post[i].rank != code->part.rank)
			return post[i].rank;
	return code->part.rank;
}

/* The queue of the program that a DMA queue of the chip is. */
static unsigned int queue_of(const struct nrt_cc_code *code,
			     const struct drm_neuron_wait_job *result)
{
	unsigned int q;

	for (q = 0; q < code->nr_queues; q++)
		if (code->queues[q].dma_engine == result->dma_engine % ENGINES &&
		    code->queues[q].queue == (result->queue & ~DRM_NEURON_QUEUE_WRITES))
			break;
	return q;
}

static void describe_fault(const struct nrt_cc_code *code,
			   const struct drm_neuron_wait_job *result, const uint32_t *ranks,
			   char *text, size_t size)
{
	size_t step = code->part.nr_steps;
	unsigned int other;
	char where[96];

	*text = '\0';
	if (result->source == DRM_NEURON_SOURCE_DMA)
		step = cc_step_of_descriptor(&code->part, &code->program, queue_of(code, result),
					     result->queue & DRM_NEURON_QUEUE_WRITES, result->pc);
	else if (result->source == DRM_NEURON_ENGINE_SYNC)
		step = cc_step_of_pc(&code->program, result->pc);
	if (step >= code->part.nr_steps)
		return;
	describe_step(code, step, where, sizeof(where));
	other = other_end(code, &code->part.steps[step]);
	if (other == code->part.rank)
		snprintf(text, size, ", %s", where);
	else
		snprintf(text, size, ", %s, which sends to rank %u", where, ranks[other]);
}

NRT_STATUS nrt_cc_explain(struct nrt_cc_code *code, const struct drm_neuron_wait_job *result,
			  const uint32_t *ranks, struct nrt_error *error)
{
	char where[256];
	const char *what;
	NRT_STATUS status = nrt_cause(result, &what);

	if (!status)
		return NRT_SUCCESS;
	if (result->hang)
		describe_hang(code, result->job, ranks, where, sizeof(where));
	else
		describe_fault(code, result, ranks, where, sizeof(where));
	return nrt_error_set(error, status, "rank %u of %u: %s (%s)%s: %s", ranks[code->part.rank],
			     code->plan->nr_ranks, nrt_plan_op_name(code->plan->op),
			     nrt_plan_algorithm_name(code->plan->choice.algorithm), where, what);
}
