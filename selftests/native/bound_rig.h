/* SPDX-License-Identifier: MIT */
/*
 * A DMA queue that belongs to a job which has nothing else.
 */
#ifndef BOUND_RIG_H
#define BOUND_RIG_H

#include "ring_rig.h"
#include "dma/trn_udma_queue.h"

#define BOUND_WINDOW		0x100000	/* in HBM stack 0 */
#define BOUND_BYTES		0x20000
#define BOUND_LENGTH		32
#define BOUND_RING_BYTES	0x1000
#define BOUND_ENGINE		2
#define BOUND_QUEUE		1

/*
 * A job without block: window 0 is HBM, windows 1 and 2 are read only; 2 is host
 * memory and holds the rings, M2S before S2M.
 */
struct bound {
	struct trn_job job;
	struct trn_udma_queue *queue;
	struct trn_udma_queue *queues[1];
	struct trn_task *tasks[1];
	struct neuron_udma_desc *rings;
	struct neuron_hw_job_queue entry;
};

/* @rings: host memory of chip 0 for both rings, from rig_host(). */
void bound_init(struct bound *b, struct rig *rig, uint64_t rings);
/* Take the queue back and give it to the job again, as @entry has become. */
void bound_again(struct bound *b);
/* Wait until the job is at rest and take the queue back. */
void bound_finish(struct bound *b);
/* No reference but the test's, and the queue's task is quiet. */
bool bound_at_rest(void *arg);
/* Copy descriptor @i of both sides. */
void bound_desc(struct bound *b, unsigned int i, uint64_t dst, uint64_t src,
		uint32_t len);

#endif /* BOUND_RIG_H */
