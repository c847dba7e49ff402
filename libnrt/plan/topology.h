/* SPDX-License-Identifier: MIT */
/*
 * The order of a ring: which cycles the links of a topology have.
 */
#ifndef LIBNRT_PLAN_TOPOLOGY_H
#define LIBNRT_PLAN_TOPOLOGY_H

#include "plan/plan.h"

#define NRT_PLAN_TORUS_CHIPS	16	/* of a grid: a server, or a part of a larger one */

/*
 * The members of a team of @n ranks in the order of the ring of @channel: indexes into @rank.
 *
 * Channels 0, 2, ... go forward and the ones after them the same way back. On a torus whose chips
 * all have the same number of members, channels 2 and 3 have a cycle that shares no link with that
 * of 0 and 1, and so on in turn. Else the order is that of the team.
 */
void nrt_ring_order(const struct nrt_plan *plan, const uint16_t *rank, unsigned int n,
		    unsigned int channel, uint16_t *order);

/* How many channels have rings with directed links of their own. */
unsigned int nrt_ring_cycles(const struct nrt_plan *plan, const uint16_t *rank, unsigned int n);

#endif /* LIBNRT_PLAN_TOPOLOGY_H */
