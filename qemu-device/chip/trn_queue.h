/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What the parts of the DMA queues share: trn_udma.c (state), trn_udma_regs.c
 * (registers) and trn_udma_run.c (the machine).
 */
#ifndef TRN_QUEUE_H
#define TRN_QUEUE_H

#include "trn_udma.h"

#define TRN_RING_ID_MASK	3
#define TRN_FAULT_S2M		0x8000	/* in trn_fault.queue */

/* The task's function; trn_udma_run.c. */
enum trn_run trn_queue_run(struct trn_task *task, struct trn_budget *budget);

/* Is the ring usable: a multiple of 16 descriptors within the limits? */
bool trn_ring_length_valid(uint32_t length);

/* Pointers to 0, ring ids to their first value. */
void trn_ring_rewind(struct trn_ring *ring);

/* Move an index and its ring id over @n descriptors; n <= length. */
void trn_ring_advance(const struct trn_ring *ring, uint32_t *index,
		      uint8_t *ring_id, uint32_t n);

/* Is the ring usable, and has it room for @n descriptors more? */
bool trn_ring_has_room(const struct trn_ring *ring, uint32_t n);

/*
 * Put @n descriptors on one side, under the queue's lock. False: no usable ring,
 * or more than it has room for; nothing has changed.
 */
bool trn_ring_add(struct trn_ring *ring, uint32_t n);

/* A queue of domain 0 met an error; under its lock. */
void trn_queue_stop(struct trn_queue *queue, enum neuron_cause cause);
/* Log it; no lock held. */
void trn_queue_report(struct trn_queue *queue, const struct trn_fault *fault,
		      const char *why);

#endif /* TRN_QUEUE_H */
