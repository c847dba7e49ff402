/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * One run of a queue's task, shared by the parts of the machine:
 *
 *	trn_udma_run.c		begin, packets, end
 *	trn_udma_packet.c	descriptors and copies
 *	trn_udma_block.c	operations, generated packets
 *	trn_udma_comp.c		completion rings
 *	trn_udma_delay.c		packets whose end shows later
 */
#ifndef TRN_UDMA_RUN_H
#define TRN_UDMA_RUN_H

#include "base/trn_chip.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_op.h"
#include "dma/trn_udma_queue.h"
#include "job/trn_job.h"
#include "mem/trn_access.h"

#define TRN_FETCH_BATCH	32
#define TRN_FETCH_ROOM	(NEURON_UDMA_PACKET_MAX_DESC + TRN_FETCH_BATCH)
/* Completions that wait to be written together. */
#define TRN_COMP_ROOM	128

/**
 * struct trn_side - a ring as a run sees it
 * @ring: snapshot; head, comp_head, ring ids and avail advance with the run
 * @had: avail at the start
 * @ints: packets with INT_EN that are done and not announced
 * @count: fetched descriptors, from the ring's head on, in @desc
 * @s2m: which side it is
 * @check_ring_id: descriptors must carry the expected ring id
 * @comps: completions that are not written yet, in @comp
 */
struct trn_side {
	struct trn_ring ring;
	uint32_t had;
	unsigned int ints;
	unsigned int count;
	bool s2m;
	bool check_ring_id;
	unsigned int comps;
	struct neuron_udma_desc desc[TRN_FETCH_ROOM];
	uint32_t comp[TRN_COMP_ROOM];
};

enum trn_outcome {
	TRN_MOVED,	/* a packet has been moved */
	TRN_WAITING,	/* no complete packet */
	TRN_LATER,	/* not in this thread */
	TRN_FAILED,	/* run.fault says why */
	TRN_STOPPED,	/* told to stop; nothing more may be touched */
	TRN_YIELDED,	/* a queue of higher priority goes first */
	TRN_PAUSED,	/* the packet goes on in the task's next turn */
};

/* What the packet is. */
enum trn_packet_kind {
	TRN_PACKET_COPY,
	TRN_PACKET_BLOCK,
	TRN_PACKET_GENERATED,
};

/**
 * struct trn_packet - a packet whose bytes are being moved
 * @nr_m2s, @nr_s2m: its descriptors
 * @bytes: of a copy, all
 * @pass: 1: a fault on demand has it moved a second time
 * @m, @m_done: of a copy: M2S descriptor, and its bytes that have been moved
 * @s, @s_done: the same on the S2M side
 * @op, @work: of a block, and of a generated packet @work
 */
struct trn_packet {
	enum trn_packet_kind kind;
	unsigned int nr_m2s;
	unsigned int nr_s2m;
	uint64_t bytes;
	unsigned int pass;
	unsigned int m;
	uint32_t m_done;
	unsigned int s;
	uint32_t s_done;
	struct neuron_udma_op op;
	struct trn_udma_op_work work;
};

/* Faults on demand that strike the packet. */
struct trn_strike {
	bool lost;
	bool dup;
	uint64_t late_ns;
};

/**
 * struct trn_run_state - one run of a queue's task
 * @job: NULL in domain 0; else kept by the queue's reference
 * @budget: of the run
 * @epoch: of the queue when the run began
 * @priority: of the job's queue
 * @limits: of the engine
 * @left: M2S descriptors before the next generated packet
 * @generated: there is one: @gen
 * @gen_total: of the queue when the run began
 * @gen_done: @gen has been carried out
 * @op_done: an operation has been carried out, which ends the run
 * @bytes, @descriptors: moved, M2S descriptors
 * @desc_bytes, @hops, @recorded, @traffic: of the M2S descriptor or operation being
 *	moved; @traffic counts for jobs with device time
 * @packet: the packet being moved
 * @kept: where the run is while the queue's task does not run; NULL: it has not been paused
 * @transfer: the packet, on its way between chips
 * @last_fill: bytes in the packet's last S2M descriptor, 0: it is full
 * @sized: completions tell bytes
 * @one_by_one: the run ends after each packet
 * @strike: faults of the packet being moved
 * @lost: the completion of a packet has been lost
 * @fault, @why: what went wrong
 * @error: the same for the engine
 */
struct trn_run_state {
	struct trn_udma_queue *queue;
	struct trn_job *job;
	struct trn_budget *budget;
	struct trn_access access;
	struct trn_engine_limits limits;
	uint32_t epoch;
	unsigned int priority;
	uint64_t left;
	bool generated;
	bool gen_done;
	bool op_done;
	uint32_t gen_total;
	uint64_t bytes;
	uint64_t descriptors;
	uint32_t desc_bytes;
	unsigned int hops;
	struct trn_traffic traffic;
	struct trn_packet packet;
	struct trn_run_state *kept;
	struct trn_transfer transfer;
	uint32_t last_fill;
	bool sized;
	bool recorded;
	bool lost;
	bool one_by_one;
	struct trn_strike strike;
	struct trn_fault fault;
	const char *why;
	struct trn_engine_error error;
	struct trn_side m2s;
	struct trn_side s2m;
	struct trn_generated gen;
};

/**
 * struct trn_mishap - how an error is told
 * @why: for the log
 * @m2s, @s2m: bits of the secondary interrupt groups
 * @access: which access failed, TRN_ACCESS_*, or TRN_NO_ACCESS
 */
struct trn_mishap {
	const char *why;
	uint32_t m2s;
	uint32_t s2m;
	int access;
};

/* The port of a side's access: prefetch, data or completion. */
#define TRN_NO_ACCESS	(-1)
#define TRN_ACCESS_PREFETCH	0
#define TRN_ACCESS_DATA		1
#define TRN_ACCESS_COMP		2

/* The @n-th descriptor from the head of @side is to blame. */
enum trn_outcome trn_run_fail(struct trn_run_state *run,
			      const struct trn_side *side, uint32_t n,
			      enum neuron_cause cause, uint64_t addr,
			      const struct trn_mishap *mishap);

/* Is this run still wanted? Cheap: asked before every piece of a packet. */
static inline bool trn_run_stop_asked(const struct trn_run_state *run)
{
	if (run->job && atomic_load_explicit(&run->job->stop,
					     memory_order_relaxed))
		return true;
	return atomic_load_explicit(&run->queue->epoch,
				    memory_order_relaxed) != run->epoch;
}

/* The next packet of the rings, from its fetch to its completion. */
enum trn_outcome trn_run_packet(struct trn_run_state *run);
/* The same of one that was PAUSED. */
enum trn_outcome trn_run_go_on(struct trn_run_state *run);
/* trn_run_pause() when the time has come to look at the clock. */
bool trn_run_look(struct trn_run_state *run, uint64_t work);

/* A piece of the packet, so much work, has been done. True: it pauses here. */
static inline bool trn_run_pause(struct trn_run_state *run, uint64_t work)
{
	struct trn_budget *budget = run->budget;

	if (budget->max_calls || budget->work + work >= TRN_BUDGET_WORK)
		return trn_run_look(run, work);
	trn_budget_note(budget, work, 1);
	return false;
}

/* The run has been copied to where it is now; what it points to in itself it finds again. */
void trn_run_settle(struct trn_run_state *run);
/*
 * The next descriptor of a packet that has @n so far, of at most @max. WAITING
 * when software has not yet provided it.
 */
enum trn_outcome trn_run_next_desc(struct trn_run_state *run,
				   struct trn_side *side, unsigned int n,
				   unsigned int max);
/* The packet that is complete now begins. What strikes it? FAILED: an abort. */
enum trn_outcome trn_run_strike(struct trn_run_state *run);
/* A link on its way has gone down meanwhile: it has failed. */
enum trn_outcome trn_run_lose(struct trn_run_state *run);
/* All its bytes have moved. FAILED: such a link, else MOVED. */
enum trn_outcome trn_run_arrive(struct trn_run_state *run);
/* Its @bytes have moved: completions, trace, and on with the rings. */
enum trn_outcome trn_run_retire(struct trn_run_state *run, unsigned int nr_m2s,
				unsigned int nr_s2m, uint64_t bytes);
/* For whoever traces the engine's packets, or the job: one of @nr descriptors from @pc on. */
void trn_run_trace(const struct trn_run_state *run, unsigned int nr, uint32_t pc,
		   uint64_t bytes);
/*
 * What is accessed from here on is the packet's own, for the checks on request: of so
 * many descriptors.
 */
void trn_run_check(struct trn_run_state *run, uint32_t pc, unsigned int m2s,
		   unsigned int s2m);
/* Called before a post is made. */
void trn_run_posting(struct trn_access *access, void *arg);

/* The packet's first descriptor is an operation's. */
enum trn_outcome trn_run_block(struct trn_run_state *run);
/* run->gen, and what names it in a fault. */
enum trn_outcome trn_run_generated(struct trn_run_state *run);
/* The rest of such a packet that was PAUSED. */
enum trn_outcome trn_run_block_on(struct trn_run_state *run);
enum trn_outcome trn_run_generated_on(struct trn_run_state *run);
static inline uint32_t trn_run_generated_pc(const struct trn_run_state *run)
{
	return NEURON_UDMA_PC_GENERATED | run->gen.number;
}

/*
 * A descriptor of a side with a completion ring is done; @flags and @bytes are its
 * completion's, which may wait to be written. FAILED or MOVED, as the next one.
 */
enum trn_outcome trn_comp_add(struct trn_run_state *run, struct trn_side *side,
			      uint32_t flags, uint32_t bytes);
/* Write what waits. */
enum trn_outcome trn_comp_flush(struct trn_run_state *run);

/*
 * Keep @run, whose last packet strikes late, as its queue's, until its time has come
 * and the queue's task is kicked. False: it does not wait.
 */
bool trn_delay_keep(const struct trn_run_state *run);
/*
 * The run that the queue keeps, when it is time to end it, for the caller to free;
 * NULL: there is none, or *@waits. Called by the queue's task.
 */
struct trn_run_state *trn_delay_take(struct trn_udma_queue *queue,
				     struct trn_budget *budget, bool *waits);

#endif /* TRN_UDMA_RUN_H */
