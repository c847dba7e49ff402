/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Topologies: which links the chips of a fabric have, from where they stand.
 *
 * Pure functions of a list of places; Documentation/hardware/fabric.rst has the
 * tables. Chips are named by their index in the list, which is in ascending order
 * of the fabric ids.
 *
 * Source: the neighbours of Trainium1 and 2 (16 chips), of Inferentia2 (12 and 6)
 * and the pairing of UltraServer links are the public driver's; numbers of ports
 * and bandwidths are those of the public chip pages. Where a server is not full,
 * and the port numbers of what the public driver has no table for, this project
 * chooses.
 */
#ifndef TRN_TOPOLOGY_H
#define TRN_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/generation.h"
#include "neuron/regs.h"
#include "trn/fabric.h"

#define TRN_FABRIC_CHIPS	256	/* most on a fabric */
#define TRN_FABRIC_PORTS	NEURON_CTL_MAX_LINKS
#define TRN_FABRIC_WINDOWS	4	/* public neighbour windows of a chip */

/* What is at the other end of a port. */
enum trn_via {
	TRN_VIA_NONE,		/* nobody */
	TRN_VIA_CHIP,
	TRN_VIA_SERVER,		/* the switch of the server */
	TRN_VIA_RACK,		/* the switch of the rack */
};

/**
 * struct trn_site - a chip and where it stands
 * @gen: generation
 * @id: fabric id
 * @rack, @server, @chip: position
 * @column, @row: on the 4x4 grid
 * @box: rank of its server, or of its half of a server with 32 chips
 * @rack_rank: racks below its own
 * @server_rank: servers of its rack below its own
 * @servers: servers of its rack
 */
struct trn_site {
	const struct neuron_gen *gen;
	uint32_t id;
	uint8_t rack;
	uint8_t server;
	uint8_t chip;
	uint8_t column;
	uint8_t row;
	uint16_t box;
	uint16_t rack_rank;
	uint16_t server_rank;
	uint16_t servers;
};

/**
 * struct trn_link_end - a port of a chip
 * @via: enum trn_via
 * @back: VIA_CHIP: the peer's port of the same link
 * @up: somebody is there, and no fault
 * @peer: VIA_CHIP: index of the chip there; else -1
 * @lanes: of the link
 * @mbps: MB/s each way
 */
struct trn_link_end {
	uint8_t via;
	uint8_t back;
	bool up;
	int16_t peer;
	uint16_t lanes;
	uint32_t mbps;
};

#define TRN_GRID	16	/* chips of a 4x4 grid */

/**
 * struct trn_map - chips and links
 * @kind: not AUTO once built
 * @link_mbps: MB/s of a link in place of the generation's, or 0
 * @nr: chips
 * @nr_boxes, @nr_racks: how many there are
 * @site: set by the caller in ascending order of @id: gen, id, rack, server, chip
 * @grid: chip at column + 4 * row of each box, -1: none
 * @port, @nr_ports: links
 * @window: chip behind each public neighbour window, -1: none
 * @window_port: port of this chip that leads to the chip in @window; -1: through a switch
 */
struct trn_map {
	enum trn_topology kind;
	uint32_t link_mbps;
	unsigned int nr;
	unsigned int nr_boxes;
	unsigned int nr_racks;
	struct trn_site site[TRN_FABRIC_CHIPS];
	int16_t grid[TRN_FABRIC_CHIPS][TRN_GRID];
	struct trn_link_end port[TRN_FABRIC_CHIPS][TRN_FABRIC_PORTS];
	uint8_t nr_ports[TRN_FABRIC_CHIPS];
	int16_t window[TRN_FABRIC_CHIPS][TRN_FABRIC_WINDOWS];
	int8_t window_port[TRN_FABRIC_CHIPS][TRN_FABRIC_WINDOWS];
};

/* Fill in the ranks and the grid, which the functions below need. */
void trn_topology_place(struct trn_map *map);

/* What AUTO means for these chips. */
enum trn_topology trn_topology_choose(const struct trn_map *map);

/* Ports and windows of map->kind; every link is up that has two ends. */
void trn_topology_build(struct trn_map *map);

/* Chip at a place on the grid of box @box, counted around; -1: none. */
int trn_topology_at(const struct trn_map *map, int column, int row, int box);

/* Chip at a position; -1: none. */
int trn_topology_find(const struct trn_map *map, unsigned int rack,
		      unsigned int server, unsigned int chip);

/* Switched: levels of switches between the servers of chip @i's rack. */
static inline unsigned int trn_topology_levels(const struct trn_map *map,
					       unsigned int i)
{
	return map->site[i].servers > 4 ? 2 : 1;
}

#endif /* TRN_TOPOLOGY_H */
