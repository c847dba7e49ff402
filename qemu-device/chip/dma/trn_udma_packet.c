// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A packet of the rings: its descriptors, and the copy of its bytes.
 *
 * Descriptors are fetched into a local buffer just before use and looked at
 * nowhere else, so a ring that changes meanwhile does no harm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "contract/op.h"
#include "contract/record.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_run.h"
#include "hook/trn_check.h"
#include "hook/trn_inject.h"
#include "hook/trn_observe.h"
#include "job/trn_job.h"
#include "mem/trn_access.h"
#include "notify/trn_nq.h"
#include "time/trn_cost.h"
#include "time/trn_time.h"

/* Index in the ring of the @n-th descriptor from the head. */
static uint32_t side_index(const struct trn_side *side, uint32_t n)
{
	uint32_t index = side->ring.head + n;

	return index < side->ring.length ? index : index - side->ring.length;
}

enum trn_outcome trn_run_fail(struct trn_run_state *run,
			      const struct trn_side *side, uint32_t n,
			      enum neuron_cause cause, uint64_t addr,
			      const struct trn_mishap *mishap)
{
	const struct trn_udma_queue *queue = run->queue;

	run->fault = (struct trn_fault){
		.cause = cause,
		.source = NEURON_SOURCE_DMA,
		.queue = neuron_record_queue(queue->engine, queue->index, side->s2m),
		.pc = side_index(side, n),
		.addr = addr,
	};
	run->why = mishap->why;
	run->error = (struct trn_engine_error){
		.side = side->s2m,
		.cause = side->s2m ? mishap->s2m : mishap->m2s,
		.port = TRN_NO_ACCESS,
	};
	if (mishap->access != TRN_NO_ACCESS)
		run->error.port = mishap->access +
				  (side->s2m ? NEURON_UDMA_PORT_S2M_PREFETCH :
					       NEURON_UDMA_PORT_M2S_PREFETCH);
	if (n < side->count)
		run->error.desc = side->desc[n];
	return TRN_FAILED;
}

/* Not a matter of one access. */
static enum trn_outcome malformed(struct trn_run_state *run,
				  const struct trn_side *side, uint32_t n,
				  uint32_t bit, const char *why)
{
	const struct trn_mishap mishap = {
		.why = why,
		.m2s = bit,
		.s2m = bit,
		.access = TRN_NO_ACCESS,
	};

	return trn_run_fail(run, side, n, NEURON_CAUSE_DESC,
			    n < side->count ? side->desc[n].addr : 0, &mishap);
}

/* Have the @n-th descriptor from the head in side->desc[n]. */
static enum trn_outcome fetch(struct trn_run_state *run, struct trn_side *side,
			      unsigned int n)
{
	static const struct trn_mishap mishap = {
		.why = "its descriptor cannot be read",
		.m2s = NEURON_IOFIC_M2S_PREFETCH,
		.s2m = NEURON_IOFIC_S2M_PREFETCH,
		.access = TRN_ACCESS_PREFETCH,
	};
	const struct trn_ring *ring = &side->ring;
	enum neuron_cause cause;
	uint32_t index, want;
	uint64_t addr;

	if (n < side->count)
		return TRN_MOVED;
	index = side_index(side, n);
	want = ring->avail - n;
	if (want > TRN_FETCH_BATCH)
		want = TRN_FETCH_BATCH;
	if (want > ring->length - index)
		want = ring->length - index;
	addr = ring->base + (uint64_t)index * sizeof(side->desc[0]);
	cause = trn_access_read(&run->access, addr, &side->desc[n],
				want * sizeof(side->desc[0]));
	if (cause)
		return trn_run_fail(run, side, n, cause, addr, &mishap);
	side->count = n + want;
	return TRN_MOVED;
}

static bool ring_id_wrong(const struct trn_side *side, unsigned int n)
{
	const struct trn_ring *ring = &side->ring;
	uint32_t expected = ring->ring_id;

	if (!side->check_ring_id)
		return false;
	if (ring->head + n >= ring->length)
		expected = neuron_ring_id_next(expected);
	return neuron_desc_ring_id(&side->desc[n]) != expected;
}

enum trn_outcome trn_run_next_desc(struct trn_run_state *run,
				   struct trn_side *side, unsigned int n,
				   unsigned int max)
{
	static const struct trn_mishap wrong_id = {
		.why = "wrong ring id",
		.m2s = NEURON_IOFIC_M2S_RING_ID,
		.s2m = NEURON_IOFIC_S2M_RING_ID,
		.access = TRN_NO_ACCESS,
	};
	enum trn_outcome outcome;

	if (n >= max)
		return malformed(run, side, n ? n - 1 : 0,
				 side->s2m ? 0 : NEURON_IOFIC_M2S_MAX_DESC,
				 "a packet has too many descriptors");
	if (run->generated && !side->s2m && n == run->left)
		return malformed(run, side, n - 1, 0,
				 "an instruction generated a packet inside this one");
	if (n == side->ring.avail) {
		if (n == side->ring.length)
			return malformed(run, side, n - 1, 0,
					 "a packet is longer than the ring");
		return TRN_WAITING;
	}
	outcome = fetch(run, side, n);
	if (outcome != TRN_MOVED)
		return outcome;
	if (ring_id_wrong(side, n))
		return trn_run_fail(run, side, n, NEURON_CAUSE_RING_ID,
				    side->desc[n].addr, &wrong_id);
	return TRN_MOVED;
}

/* What is wrong with the @n-th descriptor of a copy? NULL: nothing. */
static const char *desc_wrong(const struct trn_run_state *run, unsigned int n,
			      uint32_t *bit)
{
	const struct neuron_udma_desc *desc = &run->m2s.desc[n];

	*bit = 0;
	if (!(desc->len_ctrl & NEURON_UDMA_DESC_FIRST) != !!n) {
		*bit = n ? NEURON_IOFIC_M2S_LAST : NEURON_IOFIC_M2S_FIRST;
		return n ? "FIRST inside a packet" : "a packet without FIRST";
	}
	if ((desc->meta_ctrl & ~NEURON_UDMA_META_WRITE_BARRIER) !=
	    NEURON_UDMA_META_DEFAULT)
		return "unknown operation (meta_ctrl)";
	if (!run->limits.zero_is_64k && !(desc->len_ctrl & NEURON_UDMA_DESC_LEN))
		return "length 0, which the engine is told not to take for 64 KiB";
	return NULL;
}

/* M2S descriptors up to LAST. */
static enum trn_outcome gather_m2s(struct trn_run_state *run, unsigned int *nr,
				   uint64_t *bytes)
{
	const struct neuron_udma_desc *desc;
	enum trn_outcome outcome;
	unsigned int n = 0;
	const char *why;
	uint32_t bit;

	*bytes = 0;
	do {
		outcome = trn_run_next_desc(run, &run->m2s, n,
					    run->limits.max_desc);
		if (outcome != TRN_MOVED)
			return outcome;
		why = desc_wrong(run, n, &bit);
		if (why)
			return malformed(run, &run->m2s, n, bit, why);
		desc = &run->m2s.desc[n];
		*bytes += neuron_desc_bytes(desc);
		if (*bytes > run->limits.max_bytes)
			return malformed(run, &run->m2s, n,
					 NEURON_IOFIC_M2S_LENGTH,
					 "a packet is longer than the engine's limit");
		n++;
	} while (!(desc->len_ctrl & NEURON_UDMA_DESC_LAST));
	*nr = n;
	return TRN_MOVED;
}

/* S2M descriptors until @bytes have room. */
static enum trn_outcome gather_s2m(struct trn_run_state *run, unsigned int *nr,
				   uint64_t bytes)
{
	enum trn_outcome outcome;
	unsigned int n = 0;
	uint64_t room = 0;

	while (room < bytes) {
		outcome = trn_run_next_desc(run, &run->s2m, n,
					    NEURON_UDMA_PACKET_MAX_DESC);
		if (outcome != TRN_MOVED)
			return outcome;
		room += neuron_desc_bytes(&run->s2m.desc[n]);
		n++;
	}
	*nr = n;
	return TRN_MOVED;
}

/* Make what has been written visible to a reader before what comes next. */
static void write_barrier(void)
{
#ifndef __SANITIZE_THREAD__	/* which cannot follow fences */
	atomic_thread_fence(memory_order_release);
#endif
}

/* The device-time record of the M2S descriptor being moved, once. */
static void record_desc(struct trn_run_state *run)
{
	if (!run->job || run->recorded)
		return;
	run->recorded = true;
	trn_time_dma(run->job->timeline, run->queue->actor,
		     trn_cost_copy_ps(run->queue->chip->gen, run->desc_bytes),
		     run->hops, &run->traffic);
}

void trn_run_posting(struct trn_access *access, void *arg)
{
	struct trn_run_state *run = arg;

	if (run->hops < access->hops)
		run->hops = access->hops;
	record_desc(run);
	trn_time_post(run->job->timeline, run->queue->actor, access->post.core,
		      access->post.sem, NEURON_SYNC_POST_ADD,
		      access->post.delta);
}

/* As much of the M2S descriptor as the S2M descriptor takes; @*moved bytes. */
static enum trn_outcome move_piece(struct trn_run_state *run, uint32_t *moved)
{
	static const struct trn_mishap mishap = {
		.why = "an address cannot be accessed",
		.m2s = NEURON_IOFIC_M2S_DATA,
		.s2m = NEURON_IOFIC_S2M_DATA,
		.access = TRN_ACCESS_DATA,
	};
	struct trn_packet *at = &run->packet;
	const struct neuron_udma_desc *src = &run->m2s.desc[at->m];
	const struct neuron_udma_desc *dst = &run->s2m.desc[at->s];
	uint32_t room = neuron_desc_bytes(dst) - at->s_done;
	uint32_t n = neuron_desc_bytes(src) - at->m_done;
	enum neuron_cause cause;

	if (n > room)
		n = room;
	cause = trn_access_copy(&run->access, dst->addr + at->s_done,
				src->addr + at->m_done, n);
	if (cause)
		return trn_run_fail(run,
				    run->access.bad_dst ? &run->s2m : &run->m2s,
				    run->access.bad_dst ? at->s : at->m, cause,
				    run->access.bad_addr, &mishap);
	write_barrier();
	run->bytes += n;
	if (run->hops < run->access.hops)
		run->hops = run->access.hops;
	at->s_done += n;
	if (n == room) {
		at->s++;
		at->s_done = 0;
	}
	*moved = n;
	return TRN_MOVED;
}

bool trn_run_look(struct trn_run_state *run, uint64_t work)
{
	if (!trn_budget_worked(run->budget, work, 1))
		return false;
	if (!run->kept)
		run->kept = malloc(sizeof(*run));
	return run->kept;
}

void trn_run_check(struct trn_run_state *run, uint32_t pc, unsigned int m2s,
		   unsigned int s2m)
{
	if (!run->job || !run->job->check)
		return;
	run->access.check = trn_check_actor(run->job, run->queue->actor);
	trn_check_at(run->access.check, pc, 0);
	trn_check_packet(run->access.check, m2s, s2m);
}

/* Bytes that are copied in the time of a piece of work. */
#define WORK_BYTES	16

/* One M2S descriptor into as many S2M descriptors as it takes. */
static enum trn_outcome move_desc(struct trn_run_state *run)
{
	struct trn_packet *at = &run->packet;
	enum trn_outcome outcome;
	uint32_t n = 0;

	if (!at->m_done) {
		run->desc_bytes = neuron_desc_bytes(&run->m2s.desc[at->m]);
		run->hops = 0;
		run->traffic.nr = 0;
		run->recorded = at->pass;
	}
	while (at->m_done < run->desc_bytes) {
		if (trn_run_stop_asked(run))
			return TRN_STOPPED;
		outcome = move_piece(run, &n);
		if (outcome != TRN_MOVED)
			return outcome;
		at->m_done += n;
		if (trn_run_pause(run, n / WORK_BYTES))
			return TRN_PAUSED;
	}
	record_desc(run);
	at->m_done = 0;
	return TRN_MOVED;
}

/* The bytes of a packet; a second time when a fault on demand says so. */
static enum trn_outcome move_bytes(struct trn_run_state *run)
{
	struct trn_packet *at = &run->packet;
	enum trn_outcome outcome;

	for (; at->pass <= run->strike.dup; at->pass++) {
		for (; at->m < at->nr_m2s; at->m++) {
			outcome = move_desc(run);
			if (outcome != TRN_MOVED)
				return outcome;
		}
		run->last_fill = at->s_done;
		at->m = 0;
		at->s = 0;
		at->s_done = 0;
	}
	return TRN_MOVED;
}

/* What is left of a copy. */
static enum trn_outcome copy_on(struct trn_run_state *run)
{
	const struct trn_packet *at = &run->packet;
	enum trn_outcome outcome = move_bytes(run);

	if (outcome == TRN_MOVED)
		outcome = trn_run_arrive(run);
	if (outcome != TRN_MOVED)
		return outcome;
	return trn_run_retire(run, at->nr_m2s, at->nr_s2m, at->bytes);
}

/* Field by field: the rest is a block's. */
static void copy_begin(struct trn_run_state *run, unsigned int nr_m2s, unsigned int nr_s2m,
		       uint64_t bytes)
{
	struct trn_packet *at = &run->packet;

	at->kind = TRN_PACKET_COPY;
	at->nr_m2s = nr_m2s;
	at->nr_s2m = nr_s2m;
	at->bytes = bytes;
	at->pass = 0;
	at->m = 0;
	at->m_done = 0;
	at->s = 0;
	at->s_done = 0;
}

enum trn_outcome trn_run_strike(struct trn_run_state *run)
{
	static const struct trn_mishap abort = {
		.why = "aborted on demand",
		.access = TRN_NO_ACCESS,
	};
	struct trn_chip *chip = run->queue->chip;
	const uint32_t unit = run->queue->engine * NEURON_UDMA_QUEUES +
			      run->queue->index;

	run->strike = (struct trn_strike){ 0 };
	trn_transfer_begin(&run->transfer, chip);
	if (trn_inject(chip, TRN_INJECT_DMA_ABORT, unit, NULL))
		return trn_run_fail(run, &run->m2s, 0, NEURON_CAUSE_ABORT, 0,
				    &abort);
	run->strike.dup = trn_inject(chip, TRN_INJECT_DMA_DUP, unit, NULL);
	run->strike.lost = trn_inject(chip, TRN_INJECT_DMA_LOST, unit, NULL);
	/* A rule that was armed in a run strikes from the next one on. */
	if (run->one_by_one && !run->strike.dup && !run->strike.lost &&
	    !trn_inject(chip, TRN_INJECT_DMA_LATE, unit, &run->strike.late_ns))
		run->strike.late_ns = 0;
	return TRN_MOVED;
}

enum trn_outcome trn_run_lose(struct trn_run_state *run)
{
	static const struct trn_mishap lost = {
		.why = "a link on its way went down",
		.m2s = NEURON_IOFIC_M2S_DATA,
		.access = TRN_ACCESS_DATA,
	};
	const struct trn_side *side = &run->m2s;

	return trn_run_fail(run, side, 0, NEURON_CAUSE_FABRIC,
			    side->count ? side->desc[0].addr : 0, &lost);
}

enum trn_outcome trn_run_arrive(struct trn_run_state *run)
{
	if (trn_transfer_lost(&run->transfer, run->queue->chip))
		return trn_run_lose(run);
	return TRN_MOVED;
}

/* Completions of the side's next @n descriptors. */
static enum trn_outcome complete(struct trn_run_state *run,
				 struct trn_side *side, unsigned int n)
{
	struct trn_ring *ring = &side->ring;
	enum trn_outcome outcome;
	uint32_t flags, bytes;
	unsigned int i;

	if (!(ring->comp_cfg & NEURON_UDMA_Q_COMP_ENABLE)) {
		if (run->limits.count_heads)
			trn_ring_advance(ring, &ring->comp_head,
					 &ring->comp_ring_id, n);
		return TRN_MOVED;
	}
	for (i = 0; i < n; i++) {
		flags = (i ? 0 : NEURON_UDMA_COMP_FIRST) |
			(i + 1 == n ? NEURON_UDMA_COMP_LAST : 0);
		bytes = neuron_desc_bytes(&side->desc[i]);
		if (side->s2m && i + 1 == n && run->last_fill)
			bytes = run->last_fill;
		outcome = trn_comp_add(run, side, flags,
				       run->sized ? bytes : 0);
		if (outcome != TRN_MOVED)
			return outcome;
	}
	return TRN_MOVED;
}

static bool wants_interrupt(const struct trn_side *side, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (side->desc[i].len_ctrl & NEURON_UDMA_DESC_INT_EN)
			return true;
	return false;
}

/* @n descriptors of a packet are done with. */
static enum trn_outcome side_retire(struct trn_run_state *run,
				    struct trn_side *side, unsigned int n)
{
	unsigned int pass, passes = 1 + run->strike.dup;
	enum trn_outcome outcome = TRN_MOVED;

	if (run->job || run->strike.lost)
		passes = 0;	/* no completion that software sees */
	for (pass = 0; pass < passes && outcome == TRN_MOVED; pass++) {
		outcome = complete(run, side, n);
		side->ints += wants_interrupt(side, n);
	}
	trn_ring_advance(&side->ring, &side->ring.head, &side->ring.ring_id, n);
	side->ring.avail -= n;
	side->count -= n;
	memmove(side->desc, side->desc + n,
		side->count * sizeof(side->desc[0]));
	return outcome;
}

void trn_run_trace(const struct trn_run_state *run, unsigned int nr, uint32_t pc,
		   uint64_t bytes)
{
	const struct trn_udma_queue *queue = run->queue;
	const bool wanted = trn_nq_dma_wanted(queue->chip, queue->engine);
	struct trn_nq_event event = {
		.unit = TRN_NQ_DMA,
		.index = queue->engine,
		.engine = queue->index,
		.type = NEURON_NQ_TYPE_TRACE_DMA,
		.code = nr,
		.pc = pc,
	};

	trn_observe_moved(queue, run->job, pc, nr, bytes);
	if (run->job && (wanted || run->job->trace)) {
		if (trn_time_trace(run->job->timeline, queue->actor, nr, pc, bytes))
			return;
		trn_job_trace_lose(run->job);
		event.job_id = run->job->block.job_id;
	}
	if (wanted)
		trn_nq_post(queue->chip, &event);
}

enum trn_outcome trn_run_retire(struct trn_run_state *run, unsigned int nr_m2s,
				unsigned int nr_s2m, uint64_t bytes)
{
	enum trn_outcome m2s, s2m;

	trn_run_trace(run, nr_m2s, run->m2s.ring.head, bytes);
	m2s = side_retire(run, &run->m2s, nr_m2s);
	s2m = side_retire(run, &run->s2m, nr_s2m);
	run->descriptors += nr_m2s;
	run->left -= nr_m2s;
	run->lost |= run->strike.lost;
	return m2s == TRN_MOVED ? s2m : m2s;
}

enum trn_outcome trn_run_packet(struct trn_run_state *run)
{
	unsigned int nr_m2s = 0, nr_s2m = 0;
	enum trn_outcome outcome;
	uint64_t bytes;

	run->access.check = NULL;
	if (run->generated && !run->left)
		return trn_run_generated(run);
	outcome = trn_run_next_desc(run, &run->m2s, 0, run->limits.max_desc);
	if (outcome != TRN_MOVED)
		return outcome;
	if (neuron_op_is_block(&run->m2s.desc[0]))
		return trn_run_block(run);
	outcome = gather_m2s(run, &nr_m2s, &bytes);
	if (outcome != TRN_MOVED)
		return outcome;
	outcome = gather_s2m(run, &nr_s2m, bytes);
	if (outcome != TRN_MOVED)
		return outcome;
	if (!trn_budget_allows(run->budget, bytes))
		return TRN_LATER;
	outcome = trn_run_strike(run);
	if (outcome != TRN_MOVED)
		return outcome;
	run->sized = true;
	trn_run_check(run, run->m2s.ring.head, nr_m2s, nr_s2m);
	copy_begin(run, nr_m2s, nr_s2m, bytes);
	return copy_on(run);
}

enum trn_outcome trn_run_go_on(struct trn_run_state *run)
{
	switch (run->packet.kind) {
	case TRN_PACKET_BLOCK:
		return trn_run_block_on(run);
	case TRN_PACKET_GENERATED:
		return trn_run_generated_on(run);
	default:
		return copy_on(run);
	}
}
