/* SPDX-License-Identifier: MIT */
/*
 * A window table with one window of each kind, for core WINDOW_CORE of chip 0.
 */
#ifndef WINDOW_RIG_H
#define WINDOW_RIG_H

#include "chip_rig.h"

#define WINDOW_CORE	1
#define WINDOW_PEER_CORE	0	/* of chip 1 */
#define WINDOW_RW	(NEURON_WINDOW_READ | NEURON_WINDOW_WRITE)

enum {
	W_HBM,		/* five extents */
	W_HOST,
	W_SBUF,
	W_PSUM,
	W_PEER,		/* two extents, in HBM and SBUF of chip 1 */
	W_EMPTY,
	W_SEM,		/* semaphores 16 to 31 of the core itself */
	W_PEER_SEM,	/* semaphores 0 to 3 of WINDOW_PEER_CORE */
	W_READ,
	W_WRITE,
	NR_WINDOWS
};

#define NR_MEMORY	(W_PEER + 1)
#define WINDOW_BYTES	20000

#define WINDOW_GUARD	64	/* bytes around W_HOST */

/**
 * struct table - what the kernel wrote
 * @host: bus address of what W_HOST shows
 */
struct table {
	struct neuron_hw_window window[NR_WINDOWS];
	uint64_t host;
};

/* Fill in the windows; the extents go to host memory. */
void table_make(struct rig *rig, struct table *t);

/* Extents in host memory: their plain address. */
uint64_t table_extents(struct rig *rig, const struct neuron_hw_extent *extents,
		       unsigned int nr);

/* Latch @nr entries, or a good table. */
enum neuron_cause table_latch_nr(struct rig *rig, const void *entries,
				 unsigned int nr, struct trn_domain **domain);
struct trn_domain *table_latch(struct rig *rig, const struct table *t);

struct trn_access rig_access(struct rig *rig, const struct trn_domain *domain);
/* Window violations counted so far. */
uint32_t rig_violations(struct rig *rig);

/* Byte @offset of @window. */
static inline uint64_t at(unsigned int window, uint64_t offset)
{
	return neuron_window_addr(window, offset);
}

#endif /* WINDOW_RIG_H */
