/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The fabric: which chips there are, who is linked to whom, and how far it is.
 *
 * Links and routes follow from the places of the chips (trn_topology.h,
 * trn_route.h). They are worked out when a chip comes or goes and when a link
 * changes; looking one up takes no lock and never waits.
 *
 * Each chip has a seat (struct trn_seat), and so has each chip of another server. A seat
 * found by trn_fabric_find() or trn_fabric_window() may be used until the run of the pool
 * task that looked it up ends; see trn_pool_passed(). Nothing else keeps it.
 */
#ifndef TRN_FABRIC_H
#define TRN_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/trn_link.h"
#include "fabric/trn_route.h"
#include "trn/fabric.h"

struct trn_chip;
struct trn_pod;
struct trn_seat;

/**
 * struct trn_fabric_link - a link as a chip's registers show it
 * @peer: fabric id, NEURON_LINK_PEER_NONE or NEURON_LINK_PEER_SWITCH | ...
 * @up: somebody is there, and no fault
 * @lanes: width
 * @mbps: MB/s each way
 */
struct trn_fabric_link {
	uint32_t peer;
	bool up;
	uint32_t lanes;
	uint32_t mbps;
};

/*
 * All of an array of @nr seats, or none, join, and each takes a reference; 0, or -1 with
 * *@why: an id is taken, the fabric is full.
 */
int trn_fabric_attach(struct trn_fabric *fabric, struct trn_seat *seats, unsigned int nr,
		      const char **why);
/* They leave and drop their references. */
void trn_fabric_detach(struct trn_fabric *fabric, struct trn_seat *seats, unsigned int nr);

/*
 * The seat with id @id and the way to it from @from, another one; NULL: there is none, or
 * no way.
 */
struct trn_seat *trn_fabric_find(struct trn_fabric *fabric, const struct trn_seat *from,
				 uint32_t id, struct trn_route *route);

/* The same for the seat behind public neighbour window @window (0 to 3). */
struct trn_seat *trn_fabric_window(struct trn_fabric *fabric, const struct trn_seat *from,
				   unsigned int window, struct trn_route *route);

/*
 * The pod whose chips are on the fabric, or NULL: what trn_fabric_set_pod() said last, which
 * the pod does when its chips have joined and before they leave. Any thread.
 */
struct trn_pod *trn_fabric_pod(struct trn_fabric *fabric);
void trn_fabric_set_pod(struct trn_fabric *fabric, struct trn_pod *pod);

/*
 * The links that a transfer crosses from the chip with id @from to the one with id
 * @to; returns their number, 0: there is no way. Waits for whoever changes the fabric:
 * to be asked once for many transfers.
 */
unsigned int trn_fabric_path(struct trn_fabric *fabric, uint32_t from,
			     uint32_t to,
			     struct trn_route_link links[TRN_ROUTE_LINKS]);

/*
 * Has the way of a transfer that began at @turn lost a link since? Then it is an error of
 * that link. The ends are fabric ids. Waits as trn_fabric_path().
 */
bool trn_fabric_lost(struct trn_fabric *fabric, uint32_t from, uint32_t to, uint32_t turn);

/*
 * An access of @from found no way to the chip with id @to: count it for the first link of
 * the fixed way that is down. None, when there is no such chip.
 */
void trn_fabric_failed(struct trn_fabric *fabric, const struct trn_seat *from, uint32_t to);

/*
 * What a layer above keeps for all chips of the fabric: the first who asks makes it, and
 * the fabric drops it at its end. There is one such thing. NULL: no memory. Any thread.
 */
void *trn_fabric_kept(struct trn_fabric *fabric, void *(*make)(void), void (*drop)(void *kept));

/* Changes with every change of chips or links. */
uint32_t trn_fabric_turn(const struct trn_fabric *fabric);

/* Names the fabric: not 0, another one for each fabric of the process. */
uint32_t trn_fabric_key(const struct trn_fabric *fabric);

unsigned int trn_fabric_chips(struct trn_fabric *fabric);

/* Links of @chip in port order; returns their number. */
unsigned int trn_fabric_links(struct trn_fabric *fabric,
			      const struct trn_chip *chip,
			      struct trn_fabric_link links[TRN_FABRIC_PORTS]);

#endif /* TRN_FABRIC_H */
