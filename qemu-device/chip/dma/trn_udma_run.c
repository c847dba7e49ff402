// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The machine that moves data: packets of M2S descriptors into S2M descriptors.
 *
 * A run copies the queue's state, moves whole packets, and commits what it has
 * done at its end. A packet starts when it is complete on both sides, so a run
 * never waits in the middle of one. Everything is in order, which makes barriers
 * trivial.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/trn_chip.h"
#include "contract/record.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_run.h"
#include "hook/trn_inject.h"
#include "job/trn_job.h"
#include "mem/trn_access.h"
#include "sync/trn_irq.h"
#include "sync/trn_sem.h"
#include "time/trn_power.h"
#include "time/trn_time.h"

/* After so many bytes other tasks have their turn. */
#define RUN_BYTES	(1u << 20)

static struct trn_udma_queue *task_queue(struct trn_task *task)
{
	return (struct trn_udma_queue *)((char *)task -
					 offsetof(struct trn_udma_queue, task));
}

/* --- Begin --- */

/* May a run start? Under the queue's lock. */
static bool runnable(const struct trn_udma_queue *queue)
{
	if (queue->held || queue->stopped)
		return false;
	if (queue->job)
		return queue->busy;
	return !atomic_load(&queue->halt) && queue->m2s.avail &&
	       queue->s2m.avail;
}

static void side_begin(struct trn_side *side, const struct trn_ring *ring,
		       bool s2m, unsigned int ints)
{
	side->ring = *ring;
	side->had = ring->avail;
	side->ints = ints;
	side->count = 0;
	side->comps = 0;
	side->s2m = s2m;
}

/* The next generated packet, if there is one. Under the queue's lock. */
static void generated_begin(struct trn_run_state *run,
			    const struct trn_udma_queue *queue)
{
	const struct trn_generated *first = trn_gen_first(queue);

	run->generated = first;
	run->gen_done = false;
	run->op_done = false;
	run->gen_total = trn_gen_total(queue);
	run->left = UINT64_MAX;
	if (!first)
		return;
	run->gen = *first;
	run->left = first->after - queue->done;
}

/* What engine registers say is for domain 0; a job has the same limits always. */
static void limits_begin(struct trn_run_state *run, bool check_ring_id)
{
	if (!run->job) {
		trn_engine_limits(run->queue, &run->limits);
		if (run->limits.max_desc > NEURON_UDMA_PACKET_MAX_DESC)
			run->limits.max_desc = NEURON_UDMA_PACKET_MAX_DESC;
	} else {
		run->limits = (struct trn_engine_limits){
			.max_bytes = UINT64_MAX,
			.max_desc = NEURON_UDMA_PACKET_MAX_DESC,
			.zero_is_64k = true,
			.check_ring_id = { check_ring_id, check_ring_id },
		};
	}
	run->m2s.check_ring_id = run->limits.check_ring_id[0];
	run->s2m.check_ring_id = run->limits.check_ring_id[1];
}

static bool run_begin(struct trn_run_state *run, struct trn_udma_queue *queue,
		      struct trn_budget *budget)
{
	bool check = true, ok;

	pthread_mutex_lock(&queue->lock);
	ok = runnable(queue);
	if (ok) {
		check = !queue->any_ring_id;
		side_begin(&run->m2s, &queue->m2s, false, queue->ints[0]);
		side_begin(&run->s2m, &queue->s2m, true, queue->ints[1]);
		generated_begin(run, queue);
		run->queue = queue;
		run->job = queue->job;
		run->priority = queue->priority;
		run->epoch = atomic_load(&queue->epoch);
		queue->running = true;
		if (queue->job)
			trn_udma_queue_claim(queue);
	}
	pthread_mutex_unlock(&queue->lock);
	if (!ok)
		return false;

	if (run->job)
		trn_time_start(run->job->timeline, queue->actor);
	run->access = (struct trn_access){
		.chip = queue->chip,
		.domain = run->job ? run->job->domain : NULL,
		.poster = trn_sem_who(NEURON_SEM_POSTER_DMA,
				      neuron_record_queue(queue->engine, queue->index, 0)),
		.posting = trn_run_posting,
		.posting_arg = run,
		.transfer = &run->transfer,
	};
	/* Rings are read before the first packet begins. */
	trn_transfer_begin(&run->transfer, queue->chip);
	run->traffic.nr = 0;
	if (run->job && run->job->timeline)
		run->access.traffic = &run->traffic;
	run->kept = NULL;
	run->budget = budget;
	run->bytes = 0;
	run->descriptors = 0;
	run->last_fill = 0;
	run->lost = false;
	run->one_by_one = trn_inject_armed(queue->chip, TRN_INJECT_DMA_LATE);
	run->strike = (struct trn_strike){ 0 };
	run->fault = (struct trn_fault){ 0 };
	run->error = (struct trn_engine_error){ 0 };
	run->why = NULL;
	limits_begin(run, check);
	return true;
}

/* --- Packets --- */

/* The ring cannot be walked; it was changed after its doorbell. */
static bool ring_broken(const struct trn_side *side)
{
	return side->ring.avail && !trn_ring_has_room(&side->ring, 0);
}

/* Enough of the side's packets asked for an interrupt. */
static bool announce_due(const struct trn_run_state *run,
			 const struct trn_side *side)
{
	return side->ints && side->ints >= run->limits.moderation[side->s2m];
}

/* Is there a reason to end the run after this packet? */
static bool enough(const struct trn_run_state *run)
{
	return run->op_done || run->bytes >= RUN_BYTES ||
	       trn_inject_armed(run->queue->chip, TRN_INJECT_DMA_LATE) ||
	       run->one_by_one || announce_due(run, &run->m2s) ||
	       announce_due(run, &run->s2m) ||
	       atomic_load_explicit(&run->queue->halt, memory_order_relaxed) ||
	       trn_budget_spent(run->budget);
}

/* Is there a reason not to begin the next packet? */
static bool must_stop(const struct trn_run_state *run)
{
	const struct trn_udma_queue *queue = run->queue;

	return trn_run_stop_asked(run) || atomic_load(&queue->chip->stopping) ||
	       (run->job && (queue->failed || trn_job_past_fault(run->job, queue->actor)));
}

static enum trn_outcome run_packets(struct trn_run_state *run)
{
	static const struct trn_mishap broken = {
		.why = "its ring became too short",
		.access = TRN_NO_ACCESS,
	};
	enum trn_outcome outcome;

	if (ring_broken(&run->m2s))
		return trn_run_fail(run, &run->m2s, 0, NEURON_CAUSE_DESC, 0,
				    &broken);
	if (ring_broken(&run->s2m))
		return trn_run_fail(run, &run->s2m, 0, NEURON_CAUSE_DESC, 0,
				    &broken);
	do {
		if (must_stop(run))
			return TRN_STOPPED;
		if (run->priority && trn_udma_queue_yield(run->queue, run->priority))
			return TRN_YIELDED;
		outcome = trn_run_packet(run);
	} while (outcome == TRN_MOVED && !enough(run));
	return outcome;
}

/* Completions that wait are written, whatever ended the packets. */
static enum trn_outcome run_flush(struct trn_run_state *run,
				  enum trn_outcome outcome)
{
	const struct trn_engine_error error = run->error;
	const struct trn_fault fault = run->fault;
	const char *why = run->why;

	if ((!run->m2s.comps && !run->s2m.comps) || trn_run_stop_asked(run) ||
	    trn_comp_flush(run) == TRN_MOVED)
		return outcome;
	if (outcome == TRN_FAILED) {
		run->error = error;
		run->fault = fault;
		run->why = why;
	}
	return TRN_FAILED;
}

/* --- End --- */

static void side_commit(struct trn_ring *ring, const struct trn_side *side)
{
	ring->head = side->ring.head;
	ring->ring_id = side->ring.ring_id;
	ring->comp_head = side->ring.comp_head;
	ring->comp_ring_id = side->ring.comp_ring_id;
	ring->avail -= side->had - side->ring.avail;
}

static void account(const struct trn_run_state *run)
{
	trn_power_copied(run->queue->chip, run->queue->engine, run->bytes);
	atomic_fetch_add_explicit(&run->queue->moved_bytes, run->bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&run->queue->moved_descriptors, run->descriptors,
				  memory_order_relaxed);
	if (!run->job)
		return;
	atomic_fetch_add_explicit(&run->job->dma_bytes, run->bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&run->job->core->progress, run->descriptors,
				  memory_order_relaxed);
}

/**
 * struct ending - what the end of a run decided under the lock
 * @again: there is, or may be, more to do
 * @drop: the queue is no longer busy with its job
 * @valid: the queue is still what it was when the run started
 * @held: somebody waits for the queue to be quiet
 * @announce: sides (TRN_SIDE_*) whose completions are announced
 */
struct ending {
	bool again;
	bool drop;
	bool valid;
	bool held;
	unsigned int announce;
};

static void commit(struct trn_udma_queue *queue, const struct trn_run_state *run)
{
	queue->done += run->m2s.had - run->m2s.ring.avail;
	side_commit(&queue->m2s, &run->m2s);
	side_commit(&queue->s2m, &run->s2m);
	if (run->gen_done)
		trn_gen_pop(queue);
	queue->lost |= run->lost;
}

/* Completions of one side: told of now, or counted for later? */
static unsigned int announce(struct trn_udma_queue *queue,
			     const struct trn_run_state *run,
			     const struct trn_side *side, bool idle)
{
	bool now = announce_due(run, side) || (idle && side->ints);

	queue->ints[side->s2m] = now ? 0 : (uint8_t)side->ints;
	return now ? NEURON_BIT(side->s2m) : 0;
}

/* Is the end of the run none of what the queue has to do? */
static bool goes_on(const struct trn_udma_queue *queue, enum trn_outcome outcome)
{
	return outcome == TRN_YIELDED ||
	       (outcome == TRN_STOPPED && atomic_load(&queue->chip->stopping));
}

static struct ending run_end(struct trn_run_state *run,
			     enum trn_outcome outcome)
{
	struct trn_udma_queue *queue = run->queue;
	struct ending end = { 0 };
	bool grown, idle;

	pthread_mutex_lock(&queue->lock);
	queue->running = false;
	end.held = queue->held;
	end.valid = atomic_load(&queue->epoch) == run->epoch;
	if (!end.valid)
		goto unlock;

	grown = queue->m2s.avail != run->m2s.had ||
		queue->s2m.avail != run->s2m.had ||
		trn_gen_total(queue) != run->gen_total;
	commit(queue, run);
	if (outcome == TRN_FAILED && queue->job)
		queue->failed = true;
	else if (outcome == TRN_FAILED)
		trn_udma_queue_stop(queue, run->fault.cause);
	end.again = (outcome == TRN_MOVED && runnable(queue)) ||
		    outcome == TRN_LATER || (outcome == TRN_WAITING && grown);
	idle = !end.again || !runnable(queue);
	end.announce = announce(queue, run, &run->m2s, idle) |
		       announce(queue, run, &run->s2m, idle);
	if (queue->job && !end.again && !goes_on(queue, outcome))
		trn_udma_queue_give_way(queue);
	/* A job that stops wants the reference back, a stopped chip does not. */
	end.drop = queue->busy && !end.again && outcome != TRN_YIELDED &&
		   (outcome != TRN_STOPPED || atomic_load(&queue->job->stop)) &&
		   (!queue->lost || atomic_load(&queue->job->stop));
	if (end.drop)
		queue->busy = false;
unlock:
	pthread_mutex_unlock(&queue->lock);
	return end;
}

static void tell(struct trn_run_state *run, enum trn_outcome outcome,
		 const struct ending *end)
{
	struct trn_udma_queue *queue = run->queue;
	struct trn_chip *chip = queue->chip;

	if (outcome == TRN_FAILED)
		trn_udma_queue_report(queue, &run->fault, run->why);
	if (run->job)
		return;
	if (end->announce) {
		trn_engine_announce(queue, end->announce);
		trn_irq_dma(chip, queue->engine,
			    NEURON_DMA_CAUSE_DONE(queue->index));
	}
	if (outcome != TRN_FAILED)
		return;
	trn_engine_error(queue, &run->error);
	if (run->fault.cause == NEURON_CAUSE_ABORT)
		trn_engine_abort(chip, queue->engine, TRN_SIDE_BOTH);
	trn_irq_dma(chip, queue->engine, NEURON_DMA_CAUSE_ERROR(queue->index));
}

/*
 * The post of the generated packet of the run. The job is still there: the queue's
 * reference keeps it until the run is over. A completion that a fault on demand has
 * eaten tells nobody anything.
 */
static void post_landed(const struct trn_run_state *run)
{
	const struct trn_landed *landed = &run->gen.landed;
	struct trn_core *core = run->job->core;

	if (landed->op == NEURON_SYNC_POST_NONE || run->lost || run->queue->lost)
		return;
	trn_time_post(run->job->timeline, run->queue->actor, core, landed->sem,
		      landed->op, landed->value);
	trn_sem_post(core->sems, landed->sem, landed->op, landed->value,
		     run->access.poster, run->access.check);
}

/* Commit the run, which ended with @outcome. */
static bool run_finish(struct trn_run_state *run, enum trn_outcome outcome)
{
	struct trn_udma_queue *queue = run->queue;
	struct trn_chip *chip = queue->chip;
	struct ending end;

	outcome = run_flush(run, outcome);
	account(run);
	/* The job fails while the queue's reference keeps it. */
	if (outcome == TRN_FAILED && run->job)
		trn_job_fault(run->job, queue->actor, &run->fault);
	end = run_end(run, outcome);
	if (end.valid && run->gen_done)
		post_landed(run);
	if (end.valid)
		tell(run, outcome, &end);
	if (run->job && end.valid) {
		trn_time_stop(run->job->timeline, queue->actor);
		trn_job_turn_ends(run->job);
	}
	if (end.drop)
		trn_job_put(run->job);
	if (end.held && queue->engine < chip->gen->nr_ring)
		trn_task_kick(&chip->core[queue->engine / 16].controller);
	return end.again;
}

/*
 * The packet whose end was late has not arrived, if a link on its way has gone down
 * meanwhile. Then the rings are where they were before it, and nobody hears of its end.
 */
static enum trn_outcome late_outcome(struct trn_run_state *run)
{
	struct trn_udma_queue *queue = run->queue;
	const bool generated = run->gen_done;

	if (!trn_transfer_lost(&run->transfer, queue->chip))
		return TRN_MOVED;
	pthread_mutex_lock(&queue->lock);
	side_begin(&run->m2s, &queue->m2s, false, queue->ints[0]);
	side_begin(&run->s2m, &queue->s2m, true, queue->ints[1]);
	pthread_mutex_unlock(&queue->lock);
	run->gen_done = false;
	run->lost = false;
	trn_run_lose(run);
	if (generated)
		run->fault.pc = trn_run_generated_pc(run);
	return TRN_FAILED;
}

/* A packet whose end comes late holds up nobody. */
static void give_way(struct trn_udma_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	trn_udma_queue_give_way(queue);
	pthread_mutex_unlock(&queue->lock);
}

void trn_run_settle(struct trn_run_state *run)
{
	run->access.posting_arg = run;
	run->access.transfer = &run->transfer;
	if (run->access.traffic)
		run->access.traffic = &run->traffic;
}

/*
 * The packet goes on in the task's next turn, which comes: so nothing of this is ever saved,
 * and a stopped chip is quiet when its packets are done.
 */
static void keep(struct trn_run_state *run)
{
	struct trn_run_state *kept = run->kept;

	if (kept != run) {
		*kept = *run;
		trn_run_settle(kept);
	}
	kept->queue->kept = kept;
}

static enum trn_run run_end_of_turn(struct trn_run_state *run, enum trn_outcome outcome)
{
	enum trn_run again;

	if (outcome == TRN_PAUSED) {
		keep(run);
		return TRN_RUN_AGAIN;
	}
	if (run->job)
		trn_job_turn_ends(run->job);
	if (outcome == TRN_MOVED && run->strike.late_ns && trn_delay_keep(run)) {
		give_way(run->queue);
		again = TRN_RUN_IDLE;
	} else {
		again = run_finish(run, outcome) ? TRN_RUN_AGAIN : TRN_RUN_IDLE;
	}
	free(run->kept);
	return again;
}

enum trn_run trn_udma_queue_run(struct trn_task *task, struct trn_budget *budget)
{
	struct trn_udma_queue *queue = task_queue(task);
	struct trn_run_state run, *late, *kept = queue->kept;
	bool waits;

	if (kept) {
		queue->kept = NULL;
		kept->budget = budget;
		return run_end_of_turn(kept, trn_run_go_on(kept));
	}
	late = trn_delay_take(queue, budget, &waits);
	if (late) {
		run_finish(late, late_outcome(late));
		free(late);
		return TRN_RUN_AGAIN;
	}
	if (waits)
		give_way(queue);
	if (waits || atomic_load(&queue->chip->stopping) ||
	    !run_begin(&run, queue, budget))
		return TRN_RUN_IDLE;
	return run_end_of_turn(&run, run_packets(&run));
}
