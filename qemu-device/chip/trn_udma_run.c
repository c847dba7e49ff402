// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The machine that moves data: packets of M2S descriptors into S2M descriptors.
 *
 * A run copies the queue's state, moves whole packets, and commits what it has
 * done at its end. Descriptors are fetched into a local buffer just before use
 * and looked at nowhere else, so a ring that changes meanwhile does no harm. A
 * packet starts when it is complete on both sides, so a run never waits in the
 * middle of one. Everything is in order, which makes barriers trivial.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "trn_internal.h"
#include "trn_queue.h"
#include "trn_time.h"

#define FETCH_BATCH	32
#define FETCH_ROOM	(NEURON_UDMA_PACKET_MAX_DESC + FETCH_BATCH)

/* Secondary interrupt groups A and B: the causes of ring id errors. */
#define IOFIC_MASK		0x10
#define IOFIC_M2S_RING_ID	NEURON_BIT(17)
#define IOFIC_S2M_RING_ID	NEURON_BIT(11)

/**
 * struct side - a ring as a run sees it
 * @ring: snapshot; head, ring_id and avail advance with the run
 * @had: avail at the start
 * @desc: fetched descriptors, @count of them from the ring's head on
 * @s2m: which side it is
 * @check_ring_id: descriptors must carry the expected ring id
 */
struct side {
	struct trn_ring ring;
	uint32_t had;
	unsigned int count;
	bool s2m;
	bool check_ring_id;
	struct neuron_udma_desc desc[FETCH_ROOM];
};

enum outcome {
	MOVED,		/* a packet has been moved */
	WAITING,	/* no complete packet */
	FAILED,		/* run.fault says why */
	STOPPED,	/* told to stop; nothing more may be touched */
};

/**
 * struct run - one run of a queue's task
 * @job: NULL in domain 0; else kept by the queue's reference
 * @epoch: of the queue when the run began
 * @bytes, @descriptors: moved, M2S descriptors
 * @desc_bytes, @hops, @recorded: of the M2S descriptor being moved
 * @interrupt: a descriptor of domain 0 wants one
 * @fault, @why: what went wrong
 */
struct run {
	struct trn_queue *queue;
	struct trn_job *job;
	struct trn_access access;
	uint32_t epoch;
	uint64_t bytes;
	uint64_t descriptors;
	uint32_t desc_bytes;
	unsigned int hops;
	bool recorded;
	bool interrupt;
	struct trn_fault fault;
	const char *why;
	struct side m2s;
	struct side s2m;
};

static struct trn_queue *task_queue(struct trn_task *task)
{
	return (struct trn_queue *)((char *)task -
				    offsetof(struct trn_queue, task));
}

static uint32_t desc_bytes(const struct neuron_udma_desc *desc)
{
	uint32_t len = NEURON_GET(NEURON_UDMA_DESC_LEN, desc->len_ctrl);

	return len ? len : NEURON_UDMA_DESC_MAX_BYTES;
}

/* Index in the ring of the @n-th descriptor from the head. */
static uint32_t side_index(const struct side *side, uint32_t n)
{
	uint32_t index = side->ring.head + n;

	return index < side->ring.length ? index : index - side->ring.length;
}

static enum outcome fail(struct run *run, const struct side *side, uint32_t n,
			 enum neuron_cause cause, uint64_t addr,
			 const char *why)
{
	const struct trn_queue *queue = run->queue;

	run->fault = (struct trn_fault){
		.cause = cause,
		.source = NEURON_SOURCE_DMA,
		.queue = (uint16_t)(queue->engine << 4 | queue->index |
				    (side->s2m ? TRN_FAULT_S2M : 0)),
		.pc = side_index(side, n),
		.addr = addr,
	};
	run->why = why;
	return FAILED;
}

/* Is this run still wanted? Cheap: asked before every piece of a packet. */
static bool stop_asked(const struct run *run)
{
	if (run->job && atomic_load_explicit(&run->job->stop,
					     memory_order_relaxed))
		return true;
	return atomic_load_explicit(&run->queue->epoch,
				    memory_order_relaxed) != run->epoch;
}

/* Have the @n-th descriptor from the head in side->desc[n]. */
static enum outcome fetch(struct run *run, struct side *side, unsigned int n)
{
	const struct trn_ring *ring = &side->ring;
	enum neuron_cause cause;
	uint32_t index, want;
	uint64_t addr;

	if (n < side->count)
		return MOVED;
	index = side_index(side, n);
	want = ring->avail - n;
	if (want > FETCH_BATCH)
		want = FETCH_BATCH;
	if (want > ring->length - index)
		want = ring->length - index;
	addr = ring->base + (uint64_t)index * sizeof(side->desc[0]);
	cause = trn_access_read(&run->access, addr, &side->desc[n],
				want * sizeof(side->desc[0]));
	if (cause)
		return fail(run, side, n, cause, addr,
			    "its descriptor cannot be read");
	side->count = n + want;
	return MOVED;
}

static bool ring_id_wrong(const struct side *side, unsigned int n)
{
	const struct trn_ring *ring = &side->ring;
	uint8_t expected = ring->ring_id;

	if (!side->check_ring_id)
		return false;
	if (ring->head + n >= ring->length)
		expected = (expected + 1) & TRN_RING_ID_MASK;
	return NEURON_GET(NEURON_UDMA_DESC_RING_ID, side->desc[n].len_ctrl) !=
	       expected;
}

/*
 * The next descriptor of a packet that has @n so far. WAITING when software has
 * not yet provided it.
 */
static enum outcome next_desc(struct run *run, struct side *side,
			      unsigned int n)
{
	enum outcome outcome;

	if (n == NEURON_UDMA_PACKET_MAX_DESC)
		return fail(run, side, n - 1, NEURON_CAUSE_DESC, 0,
			    "a packet has more than 64 descriptors");
	if (n == side->ring.avail) {
		if (n == side->ring.length)
			return fail(run, side, n - 1, NEURON_CAUSE_DESC, 0,
				    "a packet is longer than the ring");
		return WAITING;
	}
	outcome = fetch(run, side, n);
	if (outcome != MOVED)
		return outcome;
	if (ring_id_wrong(side, n))
		return fail(run, side, n, NEURON_CAUSE_RING_ID,
			    side->desc[n].addr, "wrong ring id");
	return MOVED;
}

/* M2S descriptors up to LAST. */
static enum outcome gather_m2s(struct run *run, unsigned int *nr,
			       uint64_t *bytes)
{
	const struct neuron_udma_desc *desc;
	enum outcome outcome;
	unsigned int n = 0;

	*bytes = 0;
	do {
		outcome = next_desc(run, &run->m2s, n);
		if (outcome != MOVED)
			return outcome;
		desc = &run->m2s.desc[n];
		if (!(desc->len_ctrl & NEURON_UDMA_DESC_FIRST) != !!n)
			return fail(run, &run->m2s, n, NEURON_CAUSE_DESC,
				    desc->addr,
				    n ? "FIRST inside a packet" :
					"a packet without FIRST");
		if ((desc->meta_ctrl & ~NEURON_UDMA_META_WRITE_BARRIER) !=
		    NEURON_UDMA_META_DEFAULT)
			return fail(run, &run->m2s, n, NEURON_CAUSE_DESC,
				    desc->addr, "unknown operation (meta_ctrl)");
		*bytes += desc_bytes(desc);
		n++;
	} while (!(desc->len_ctrl & NEURON_UDMA_DESC_LAST));
	*nr = n;
	return MOVED;
}

/* S2M descriptors until @bytes have room. */
static enum outcome gather_s2m(struct run *run, unsigned int *nr,
			       uint64_t bytes)
{
	enum outcome outcome;
	unsigned int n = 0;
	uint64_t room = 0;

	while (room < bytes) {
		outcome = next_desc(run, &run->s2m, n);
		if (outcome != MOVED)
			return outcome;
		room += desc_bytes(&run->s2m.desc[n]);
		n++;
	}
	*nr = n;
	return MOVED;
}

/* Make what has been written visible to a reader before what comes next. */
static void write_barrier(void)
{
#ifndef __SANITIZE_THREAD__	/* which cannot follow fences */
	atomic_thread_fence(memory_order_release);
#endif
}

/**
 * struct cursor - position of a packet on the S2M side
 * @n: descriptor
 * @done: its bytes that are filled
 */
struct cursor {
	unsigned int n;
	uint32_t done;
};

/* The device-time record of the M2S descriptor being moved, once. */
static void record_desc(struct run *run)
{
	if (!run->job || run->recorded)
		return;
	run->recorded = true;
	trn_time_dma(run->job->timeline, run->queue->actor, run->desc_bytes,
		     run->hops);
}

static void record_post(struct trn_access *access, void *arg)
{
	struct run *run = arg;

	if (run->hops < access->hops)
		run->hops = access->hops;
	record_desc(run);
	trn_time_post(run->job->timeline, run->queue->actor, access->post.core,
		      access->post.sem, NEURON_SYNC_POST_ADD,
		      access->post.delta);
}

/* As much of an M2S descriptor, from @done on, as one S2M descriptor takes. */
static enum outcome move_piece(struct run *run, unsigned int m, uint32_t done,
			       struct cursor *to, uint32_t *moved)
{
	const struct neuron_udma_desc *src = &run->m2s.desc[m];
	const struct neuron_udma_desc *dst = &run->s2m.desc[to->n];
	uint32_t room = desc_bytes(dst) - to->done;
	uint32_t n = desc_bytes(src) - done;
	enum neuron_cause cause;

	if (n > room)
		n = room;
	cause = trn_access_copy(&run->access, dst->addr + to->done,
				src->addr + done, n);
	if (cause)
		return fail(run, run->access.bad_dst ? &run->s2m : &run->m2s,
			    run->access.bad_dst ? to->n : m, cause,
			    run->access.bad_addr,
			    "an address cannot be accessed");
	write_barrier();
	run->bytes += n;
	if (run->hops < run->access.hops)
		run->hops = run->access.hops;
	to->done += n;
	if (n == room) {
		to->n++;
		to->done = 0;
	}
	*moved = n;
	return MOVED;
}

/* One M2S descriptor into as many S2M descriptors as it takes. */
static enum outcome move_desc(struct run *run, unsigned int m,
			      struct cursor *to)
{
	enum outcome outcome;
	uint32_t done, n = 0;

	run->desc_bytes = desc_bytes(&run->m2s.desc[m]);
	run->hops = 0;
	run->recorded = false;
	for (done = 0; done < run->desc_bytes; done += n) {
		if (stop_asked(run))
			return STOPPED;
		outcome = move_piece(run, m, done, to, &n);
		if (outcome != MOVED)
			return outcome;
	}
	record_desc(run);
	return MOVED;
}

/* @n descriptors are done with. */
static void side_retire(struct run *run, struct side *side, unsigned int n)
{
	unsigned int i;

	for (i = 0; !run->job && i < n; i++)
		if (side->desc[i].len_ctrl & NEURON_UDMA_DESC_INT_EN)
			run->interrupt = true;
	trn_ring_advance(&side->ring, &side->ring.head, &side->ring.ring_id, n);
	side->ring.avail -= n;
	side->count -= n;
	memmove(side->desc, side->desc + n,
		side->count * sizeof(side->desc[0]));
}

static enum outcome move_packet(struct run *run)
{
	struct cursor to = { 0 };
	unsigned int nr_m2s = 0, nr_s2m = 0, m;
	enum outcome outcome;
	uint64_t bytes;

	outcome = gather_m2s(run, &nr_m2s, &bytes);
	if (outcome != MOVED)
		return outcome;
	outcome = gather_s2m(run, &nr_s2m, bytes);
	if (outcome != MOVED)
		return outcome;
	for (m = 0; m < nr_m2s; m++) {
		outcome = move_desc(run, m, &to);
		if (outcome != MOVED)
			return outcome;
	}
	side_retire(run, &run->m2s, nr_m2s);
	side_retire(run, &run->s2m, nr_s2m);
	run->descriptors += nr_m2s;
	return MOVED;
}

static bool enabled(const struct trn_ring *ring)
{
	const uint32_t on = NEURON_UDMA_Q_CFG_PREFETCH |
			    NEURON_UDMA_Q_CFG_SCHEDULE;

	return (ring->cfg & on) == on;
}

/* May a run start? Under the queue's lock. */
static bool runnable(const struct trn_queue *queue)
{
	if (queue->held || queue->stopped)
		return false;
	if (queue->job)
		return queue->busy;
	return !queue->paused && enabled(&queue->m2s) && enabled(&queue->s2m) &&
	       queue->m2s.avail && queue->s2m.avail;
}

static void side_begin(struct side *side, const struct trn_ring *ring, bool s2m,
		       bool check_ring_id)
{
	side->ring = *ring;
	side->had = ring->avail;
	side->count = 0;
	side->s2m = s2m;
	side->check_ring_id = check_ring_id;
}

static bool ring_id_masked(struct trn_queue *queue, unsigned int group,
			   uint32_t cause)
{
	return trn_udma_read(queue->chip, queue->engine,
			     NEURON_UDMA_IOFIC_SECONDARY(group) + IOFIC_MASK) &
	       cause;
}

static bool run_begin(struct run *run, struct trn_queue *queue)
{
	bool check, ok;

	pthread_mutex_lock(&queue->lock);
	ok = runnable(queue);
	if (ok) {
		check = !queue->any_ring_id;
		side_begin(&run->m2s, &queue->m2s, false, check);
		side_begin(&run->s2m, &queue->s2m, true, check);
		run->queue = queue;
		run->job = queue->job;
		run->epoch = atomic_load(&queue->epoch);
		queue->running = true;
	}
	pthread_mutex_unlock(&queue->lock);
	if (!ok)
		return false;

	run->access = (struct trn_access){
		.chip = queue->chip,
		.domain = run->job ? run->job->domain : NULL,
		.posting = record_post,
		.posting_arg = run,
	};
	run->bytes = 0;
	run->descriptors = 0;
	run->interrupt = false;
	if (run->job)
		return true;
	run->m2s.check_ring_id = !ring_id_masked(queue, 0, IOFIC_M2S_RING_ID);
	run->s2m.check_ring_id = !ring_id_masked(queue, 1, IOFIC_S2M_RING_ID);
	return true;
}

/* The ring cannot be walked; it was changed after its doorbell. */
static bool ring_broken(const struct side *side)
{
	return side->ring.avail && !trn_ring_has_room(&side->ring, 0);
}

static enum outcome run_packets(struct run *run, struct trn_budget *budget)
{
	const struct trn_chip *chip = run->queue->chip;
	enum outcome outcome;

	if (ring_broken(&run->m2s))
		return fail(run, &run->m2s, 0, NEURON_CAUSE_DESC, 0,
			    "its ring became too short");
	if (ring_broken(&run->s2m))
		return fail(run, &run->s2m, 0, NEURON_CAUSE_DESC, 0,
			    "its ring became too short");
	do {
		if (stop_asked(run) || atomic_load(&chip->stopping))
			return STOPPED;
		outcome = move_packet(run);
	} while (outcome == MOVED && !run->interrupt &&
		 !trn_budget_spent(budget));
	return outcome;
}

static void side_commit(struct trn_ring *ring, const struct side *side)
{
	ring->head = side->ring.head;
	ring->ring_id = side->ring.ring_id;
	ring->avail -= side->had - side->ring.avail;
}

static void account(const struct run *run)
{
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
 */
struct ending {
	bool again;
	bool drop;
	bool valid;
	bool held;
};

static struct ending run_end(struct run *run, enum outcome outcome)
{
	struct trn_queue *queue = run->queue;
	struct ending end = { 0 };
	bool grown;

	pthread_mutex_lock(&queue->lock);
	queue->running = false;
	end.held = queue->held;
	end.valid = atomic_load(&queue->epoch) == run->epoch;
	if (!end.valid)
		goto unlock;

	grown = queue->m2s.avail != run->m2s.had ||
		queue->s2m.avail != run->s2m.had;
	side_commit(&queue->m2s, &run->m2s);
	side_commit(&queue->s2m, &run->s2m);
	if (outcome == FAILED && !queue->job)
		trn_queue_stop(queue, run->fault.cause);
	end.again = outcome == MOVED || (outcome == WAITING && grown);
	/* A job that stops wants the reference back, a stopped chip does not. */
	end.drop = queue->busy && !end.again &&
		   (outcome != STOPPED || atomic_load(&queue->job->stop));
	if (end.drop)
		queue->busy = false;
unlock:
	pthread_mutex_unlock(&queue->lock);
	return end;
}

static void tell(struct run *run, enum outcome outcome)
{
	struct trn_queue *queue = run->queue;

	if (outcome == FAILED)
		trn_queue_report(queue, &run->fault, run->why);
	if (run->job)
		return;
	if (run->interrupt)
		trn_irq_dma(queue->chip, queue->engine,
			    NEURON_DMA_CAUSE_DONE(queue->index));
	if (outcome == FAILED)
		trn_irq_dma(queue->chip, queue->engine,
			    NEURON_DMA_CAUSE_ERROR(queue->index));
}

enum trn_run trn_queue_run(struct trn_task *task, struct trn_budget *budget)
{
	struct trn_queue *queue = task_queue(task);
	struct trn_chip *chip = queue->chip;
	enum outcome outcome;
	struct ending end;
	struct run run;

	if (atomic_load(&chip->stopping) || !run_begin(&run, queue))
		return TRN_RUN_IDLE;
	outcome = run_packets(&run, budget);
	account(&run);
	/* The job fails while the queue's reference keeps it. */
	if (outcome == FAILED && run.job)
		trn_job_fail(run.job, &run.fault);
	end = run_end(&run, outcome);
	if (end.valid)
		tell(&run, outcome);
	if (end.drop)
		trn_job_put(run.job);
	if (end.held && queue->engine < chip->gen->nr_ring)
		trn_task_kick(&chip->core[queue->engine / 16].controller);
	return end.again ? TRN_RUN_AGAIN : TRN_RUN_IDLE;
}
