// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading: the cores.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_pages.h"
#include "base/trn_state.h"
#include "core/trn_core.h"
#include "core/trn_park.h"
#include "dma/trn_udma.h"
#include "exec/trn_resume.h"
#include "exec/trn_seq.h"
#include "hook/trn_observe.h"
#include "isa/trn_isa.h"
#include "isa/trn_pe_array.h"
#include "job/trn_job.h"
#include "num/trn_num.h"
#include "time/trn_time.h"

/* The host's clock goes on by itself: what is kept is the time until now. */
static void busy_state(struct trn_core *core, struct trn_state *st)
{
	uint64_t since = atomic_load(&core->busy_since);
	uint64_t ns = atomic_load(&core->busy_ns);
	bool busy = since;

	if (busy)
		ns += trn_host_ns(core->chip) - since;
	trn_state_u64(st, &ns);
	trn_state_bool(st, &busy);
	if (!st->loading)
		return;
	atomic_store(&core->busy_ns, ns);
	atomic_store(&core->busy_since, busy ? trn_host_ns(core->chip) : 0);
}

static void registers_state(struct trn_core *core, struct trn_state *st)
{
	trn_state_u32(st, &core->doorbell_lo);
	trn_state_u64(st, &core->doorbell);
	trn_state_bool(st, &core->doorbell_rung);
	trn_state_bool(st, &core->reset_request);
	trn_state_bool(st, &core->reset_queues);
	trn_state_bool(st, &core->reset_stuck);
	trn_state_u32(st, &core->status);
	trn_state_atomic_u32(st, &core->generation);
	trn_state_atomic_u64(st, &core->progress);
	trn_state_atomic_u32(st, &core->stale_posts);
	trn_state_atomic_u32(st, &core->violations);
	trn_state_atomic_u32(st, &core->jobs);
	trn_state_atomic_u64(st, &core->virtual_ns);
	busy_state(core, st);
	if (core->status > NEURON_CORE_RESETTING)
		trn_state_fail(st, "a core has an unknown status");
}

static void part_state(struct trn_pe_array *array, unsigned int i,
		       struct trn_state *st)
{
	struct trn_part *part = &array->part[i];
	struct neuron_array *place = &part->place;
	unsigned int k;

	trn_state_u8(st, &part->kind);
	if (part->kind == TRN_PART_EMPTY)
		return;
	trn_state_u8(st, &place->row);
	trn_state_u8(st, &place->rows);
	trn_state_u8(st, &place->col);
	trn_state_u8(st, &place->cols);
	trn_state_u8(st, &part->dtype);
	trn_state_u8(st, &part->k);
	trn_state_u8(st, &part->m);
	if (trn_state_failed(st))
		return;
	if (part->kind >= TRN_NR_PART_KINDS || !trn_isa_array_valid(place) ||
	    trn_pe_array_part(array, *place) != part || part->k > place->rows ||
	    part->m > place->cols || !trn_dtype_size(part->dtype)) {
		trn_state_fail(st, "a part of an array is impossible");
		return;
	}
	for (k = 0; k < part->k * trn_part_depth(part); k++)
		trn_state_bytes(st, &array->weight[TRN_ARRAY_DEPTH * place->row + k]
						  [place->col],
				part->m * sizeof(float));
	for (k = 0; part->kind == TRN_PART_SPARSE && k < part->k; k++)
		trn_state_bytes(st, &array->tag[place->row + k][place->col], part->m);
}

/* What lies outside of the loaded parts has no effect any more. */
static void array_state(struct trn_pe_array *array, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < TRN_PE_ARRAY_PARTS; i++)
		part_state(array, i, st);
}

static void floats_state(float *value, unsigned int n, struct trn_state *st)
{
	trn_state_bytes(st, value, n * sizeof(*value));
}

static void lanes_state(struct trn_lanes *lanes, struct trn_state *st)
{
	floats_state(lanes->vector_acc, 128, st);
	floats_state(lanes->scalar_acc, 128, st);
	trn_state_bool(st, &lanes->vector_seeded);
	trn_state_bool(st, &lanes->gpsimd_seeded);
	if (lanes->vector_seeded)
		trn_state_bytes(st, lanes->vector_rng, sizeof(lanes->vector_rng));
	if (lanes->gpsimd_seeded)
		trn_state_bytes(st, lanes->gpsimd_rng, sizeof(lanes->gpsimd_rng));
}

/* How numbers are converted. The key is worked out for each instruction. */
static void mode_state(struct trn_seq *seq, struct trn_state *st)
{
	unsigned int i;

	trn_state_u8(st, &seq->mode.rounding);
	for (i = 0; i < 3; i++)
		trn_state_bytes(st, &seq->mode.fp8_bias[i], 1);
	trn_state_u32(st, &seq->sr_seed);
	trn_state_u64(st, &seq->retired);
	if (!trn_num_mode_valid(&seq->mode))
		trn_state_fail(st, "an engine has an unknown way of rounding");
}

static bool desk_valid(const struct trn_seq *seq, const uint32_t *used)
{
	if (!used[0] && !used[1] && !used[2])
		return true;
	return !trn_core_is_cc(seq->core) && seq->engine >= NEURON_ENGINE_VECTOR &&
	       seq->engine <= NEURON_ENGINE_GPSIMD && used[0] <= TRN_DESK_LINE &&
	       used[1] <= TRN_DESK_LINE && used[2] <= TRN_DESK_TABLE;
}

/* Lines of the desk; only the bytes that the instruction has in use. */
static void desk_state(struct trn_seq *seq, struct trn_state *st)
{
	uint32_t *used = seq->resume.desk;
	struct trn_lane_desk *desk;
	unsigned int i;

	for (i = 0; i < 3; i++)
		trn_state_u32(st, &used[i]);
	if (trn_state_failed(st) || !desk_valid(seq, used)) {
		trn_state_fail(st, "an engine keeps more than it can");
		memset(used, 0, sizeof(seq->resume.desk));
		return;
	}
	if (!used[0] && !used[1] && !used[2])
		return;
	desk = &seq->core->desk->lane[seq->engine - NEURON_ENGINE_VECTOR];
	trn_state_bytes(st, desk->line[0], used[0]);
	trn_state_bytes(st, desk->line[1], used[1]);
	trn_state_bytes(st, desk->table, used[2]);
}

/* Where an instruction that was cut goes on. The instruction checks it once more. */
static void resume_state(struct trn_seq *seq, struct trn_state *st)
{
	struct trn_resume *at = &seq->resume;
	unsigned int i;

	trn_state_bool(st, &at->cut);
	if (!at->cut)
		return;
	trn_state_bool(st, &at->begun);
	trn_state_u32(st, &at->step);
	trn_state_u32(st, &at->p);
	trn_state_u32(st, &at->first);
	trn_state_u32(st, &at->width);	/* or phase */
	trn_state_u32(st, &at->known);
	trn_state_u32(st, &at->scanned);
	for (i = 0; i < TRN_RESUME_TILES; i++) {
		trn_state_bytes(st, &at->extent[i].low, sizeof(at->extent[i].low));
		trn_state_bytes(st, &at->extent[i].high, sizeof(at->extent[i].high));
		if ((at->known & NEURON_BIT(i)) && !trn_reach_valid(&at->extent[i]))
			trn_state_fail(st, "an engine has an impossible tile");
	}
	trn_state_bytes(st, at->carry.word, sizeof(at->carry.word));
	desk_state(seq, st);
}

/* An instruction that has been fetched has been checked, too. */
static void check_fetched(struct trn_seq *seq, struct trn_state *st)
{
	if (seq->fetched && trn_seq_check(seq))
		trn_state_fail(st, "a fetched instruction is not valid");
}

/*
 * A sequencer that waits is loaded as one that is about to look at its
 * semaphore: the kick at the resume makes it wait again.
 */
static void seq_state(struct trn_seq *seq, struct trn_state *st)
{
	struct trn_job *job = seq->core->job;
	bool running = atomic_load(&seq->job);
	unsigned int i;

	trn_state_bool(st, &running);
	trn_state_u64(st, &seq->base);
	trn_state_u32(st, &seq->count);
	trn_state_atomic_u32(st, &seq->pc);
	trn_state_atomic_u32(st, &seq->status);
	trn_state_atomic_u32(st, &seq->wait_sem);
	for (i = 0; i < NEURON_NR_REGS; i++)
		trn_state_u32(st, &seq->regs[i]);
	trn_state_bytes(st, &seq->inst, sizeof(seq->inst));
	trn_state_bool(st, &seq->fetched);
	trn_state_bool(st, &seq->begun);
	trn_state_bool(st, &seq->hung);
	trn_state_u8(st, &seq->triggered);
	trn_state_atomic_u32(st, &seq->hold);
	resume_state(seq, st);
	mode_state(seq, st);
	if (!st->loading || trn_state_failed(st))
		return;
	if (running != (atomic_load(&seq->status) != NEURON_ENGINE_HALTED) ||
	    atomic_load(&seq->status) > NEURON_ENGINE_WAITING ||
	    (running && (!job || job->waits)) || (!running && seq->fetched) ||
	    (!seq->fetched && (seq->begun || seq->triggered || atomic_load(&seq->hold))) ||
	    (!seq->begun && seq->resume.cut) ||
	    atomic_load(&seq->hold) > TRN_HOLD_PASSED) {
		trn_state_fail(st, "the state of an engine contradicts itself");
		return;
	}
	if (!running)
		return;
	if (!(trn_core_engines(seq->core) & NEURON_BIT(seq->engine))) {
		trn_state_fail(st, "a CC-core runs an engine that it does not have");
		return;
	}
	atomic_store(&seq->job, job);
	trn_job_get(job);
	check_fetched(seq, st);
}

static void queues_state(struct trn_job *job, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < job->nr_queues; i++) {
		struct trn_udma_queue *queue = job->queues[i];
		bool busy = queue->busy;

		trn_state_bool(st, &busy);
		if (st->loading && queue->job)
			trn_state_fail(st, "two jobs have the same DMA queue");
		if (st->loading && !trn_state_failed(st))
			trn_udma_queue_restore(queue, job, &job->queue_table[i],
					       TRN_ACTOR_QUEUE + i, busy);
	}
}

/* Everybody who had a reference must have taken one again. */
static void refs_state(struct trn_job *job, struct trn_state *st)
{
	trn_state_same(st, atomic_load(&job->refs),
		       "the actors of a job do not add up");
}

static void memories_state(struct trn_core *core, struct trn_state *st)
{
	array_state(core->array, st);
	lanes_state(core->lanes, st);
	trn_pages_state(st, core->sbuf, TRN_NO_FILE, NEURON_TPB_SBUF_SIZE);
	trn_pages_state(st, core->psum, TRN_NO_FILE, NEURON_TPB_PSUM_SIZE);
}

static void core_state(struct trn_core *core, struct trn_state *st)
{
	unsigned int e;

	trn_state_block(st, TRN_STATE_NAME('C', 'O', 'R', 'E'), 15);
	registers_state(core, st);
	if (!trn_core_is_cc(core))
		memories_state(core, st);
	trn_time_core_state(core, st);
	trn_jobs_pending_state(core, st);
	trn_job_state(core, st);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		seq_state(&core->seq[e], st);
	if (!core->job || trn_state_failed(st))
		return;
	queues_state(core->job, st);
	refs_state(core->job, st);
}

void trn_cores_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		core_state(trn_unit(chip, i), st);
}
