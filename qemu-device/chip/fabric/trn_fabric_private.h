/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The fabric, private part: what joining and leaving (trn_fabric.c), the table for readers
 * (trn_fabric_table.c) and the counters of links (trn_link_count.c) share.
 */
#ifndef TRN_FABRIC_PRIVATE_H
#define TRN_FABRIC_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/trn_fabric.h"
#include "neuron/address.h"

/**
 * struct trn_table - all that is looked up without a lock; filled by trn_table_store()
 * @nr: chips
 * @index: by fabric id: 1 + index of the chip, 0: none
 * @seat: in ascending order of their ids
 * @route: from i to j at i * nr + j: hops 63:32, MB/s 31:0
 * @nr_links: by chip
 * @link: peer 63:32, MB/s 31:0
 * @shape: lanes, and bit 31: up
 * @window: chip behind a window: 1 + index, 0: none
 * @window_route: as @route
 */
struct trn_table {
	_Atomic uint32_t nr;
	_Atomic uint16_t index[NEURON_MAX_CHIPS];
	struct trn_seat *_Atomic seat[TRN_FABRIC_CHIPS];
	_Atomic uint64_t route[TRN_FABRIC_CHIPS * TRN_FABRIC_CHIPS];
	_Atomic uint32_t nr_links[TRN_FABRIC_CHIPS];
	_Atomic uint64_t link[TRN_FABRIC_CHIPS][TRN_FABRIC_PORTS];
	_Atomic uint32_t shape[TRN_FABRIC_CHIPS][TRN_FABRIC_PORTS];
	_Atomic uint32_t window[TRN_FABRIC_CHIPS][TRN_FABRIC_WINDOWS];
	_Atomic uint64_t window_route[TRN_FABRIC_CHIPS][TRN_FABRIC_WINDOWS];
};

/**
 * struct trn_cut - the latest loss of a link on the way from one chip to another
 * @turn: the first turn without it; 0: the way has never lost one
 * @slot, @port: whose link it was: trn_seat.slot
 */
struct trn_cut {
	uint32_t turn;
	uint16_t slot;
	uint8_t port;
};

/**
 * struct trn_fabric - seats in ascending order of their ids
 * @lock: all fields but @turn, @table and @pod
 * @refs: one for each attached seat, one for the creator
 * @key: names it among the fabrics of the process
 * @configured: what has been asked for
 * @full_boxes: servers when AUTO chose a torus
 * @by_slot: by trn_seat.slot: 1 + index of the seat, 0: none
 * @map: places and links now
 * @next: room to see what they are going to be
 * @routes: the ways over @map
 * @cut: from one chip to another: by slots, at from * TRN_FABRIC_CHIPS + to
 * @kept, @drop: of a layer above
 * @turn: table[@turn % 2] is valid. The other one is filled with @lock held, then
 *	@turn goes on. So a reader has what belongs together when @turn is the same
 *	after reading as before.
 */
struct trn_fabric {
	pthread_mutex_t lock;
	unsigned int refs;
	uint32_t key;
	enum trn_topology configured;
	unsigned int full_boxes;
	struct trn_seat *seats[TRN_FABRIC_CHIPS];
	uint16_t by_slot[TRN_FABRIC_CHIPS];
	struct trn_link_faults faults;
	struct trn_map map;
	struct trn_map next;
	struct trn_routes routes;
	struct trn_cut cut[TRN_FABRIC_CHIPS * TRN_FABRIC_CHIPS];
	void *kept;
	void (*drop)(void *kept);
	_Atomic uint32_t turn;
	struct trn_table table[2];
	struct trn_pod *_Atomic pod;
};

/* All that follow: with the lock held. */

/* Index of @id, or where it belongs. */
unsigned int trn_fabric_index(const struct trn_fabric *fabric, uint32_t id);
bool trn_fabric_has(const struct trn_fabric *fabric, uint32_t id);

/* Fill @table, which nobody reads, with what the fabric is now. */
void trn_table_store(const struct trn_fabric *fabric, struct trn_table *table);
/* Of the same chips: does one of @i's links differ in the two tables? */
bool trn_table_links_differ(struct trn_fabric *fabric, unsigned int i);

/* Count what chips have moved so far for the links that it crossed. */
void trn_link_settle(struct trn_fabric *fabric);
/* @faults come instead of those that there are: note which ways lose a link. */
void trn_link_cut(struct trn_fabric *fabric, const struct trn_link_faults *faults);
/* The seat has a slot that another one may have had before. */
void trn_link_forget(struct trn_fabric *fabric, const struct trn_seat *seat);

#endif /* TRN_FABRIC_PRIVATE_H */
