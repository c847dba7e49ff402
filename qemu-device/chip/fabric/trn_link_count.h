/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Counters of a chip's links.
 *
 * Who moves bytes to or from another chip counts them for the pair of chips, which costs
 * an addition. Which links they crossed is worked out when somebody asks, and before the
 * links or the chips of the fabric change: for the pairs that have moved something since it
 * was last done, along ways that are known.
 */
#ifndef TRN_LINK_COUNT_H
#define TRN_LINK_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

#include "fabric/trn_topology.h"

struct trn_chip;
struct trn_seat;
struct trn_state;

#define TRN_LINK_NEWS	(TRN_FABRIC_CHIPS / 64)

/**
 * struct trn_link_counts - of a chip
 * @sent, @received: bytes, by port
 * @errors: accesses that found no way because this link is down, by port
 * @to, @from: bytes that this chip has moved to and from another one, by the other's
 *	trn_seat.slot, and not settled yet
 * @news: a bit for each slot: @to or @from is not 0
 */
struct trn_link_counts {
	_Atomic uint64_t sent[TRN_FABRIC_PORTS];
	_Atomic uint64_t received[TRN_FABRIC_PORTS];
	_Atomic uint32_t errors[TRN_FABRIC_PORTS];
	_Atomic uint64_t to[TRN_FABRIC_CHIPS];
	_Atomic uint64_t from[TRN_FABRIC_CHIPS];
	_Atomic uint64_t news[TRN_LINK_NEWS];
};

/* @chip has moved @bytes from @from to @to, one of which may be its own seat. Any thread. */
void trn_link_moved(struct trn_chip *chip, const struct trn_seat *to,
		    const struct trn_seat *from, uint64_t bytes);

/* NEURON_LINK_COUNT_SENT, _RECEIVED (64 bit), _ERRORS of link @link. */
uint64_t trn_link_count(struct trn_chip *chip, unsigned int link, uint32_t reg);

/* A reset of the device: all are 0. */
void trn_link_count_reset(struct trn_chip *chip);
void trn_link_count_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_LINK_COUNT_H */
