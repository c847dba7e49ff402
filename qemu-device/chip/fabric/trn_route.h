/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Routes over a map of links: pure functions.
 *
 * The way is fixed: along the ring the shorter way; on a torus first within the
 * row, then the column, then over the servers; switched through the switch. When
 * a link of that way is down it is the shortest way that is left, by number of
 * hops, and among those the one over the lowest fabric ids.
 */
#ifndef TRN_ROUTE_H
#define TRN_ROUTE_H

#include "fabric/trn_topology.h"

/**
 * struct trn_route - a way between two chips
 * @hops: links between chips, or levels of switches, that are crossed; 0: no way
 * @mbps: MB/s of the slowest link
 */
struct trn_route {
	uint32_t hops;
	uint32_t mbps;
};

/* From @i straight to its neighbour @j, over the links that are up. */
struct trn_route trn_route_edge(const struct trn_map *map, unsigned int i,
				unsigned int j);

/* Over port @p of @i, which leads to a chip. */
struct trn_route trn_route_port(const struct trn_map *map, unsigned int i,
				unsigned int p);

/**
 * struct trn_routes - the ways of all pairs, from @i to @j at i * map->nr + j
 * @route: {0, 0} from a chip to itself
 * @before: of a way that is not the fixed one: the chip before @j
 */
struct trn_routes {
	struct trn_route route[TRN_FABRIC_CHIPS * TRN_FABRIC_CHIPS];
	uint8_t before[TRN_FABRIC_CHIPS * TRN_FABRIC_CHIPS];
};

void trn_route_all(const struct trn_map *map, struct trn_routes *routes);

/**
 * struct trn_route_link - a link as a transfer crosses it
 * @chip: whose link: index, trn_fabric_path(): fabric id
 * @port: number of the port on that chip
 * @in: from a switch into the chip; else out of the chip
 * @mbps: MB/s
 */
struct trn_route_link {
	uint32_t chip;
	uint8_t port;
	bool in;
	uint32_t mbps;
};

/* Most links of a way: two for each chip on it, to and from a switch. */
#define TRN_ROUTE_LINKS	(2 * TRN_FABRIC_CHIPS)

/* The links of the way from @i to @j, in order; returns their number, 0: no way. */
unsigned int trn_route_path(const struct trn_map *map, const struct trn_routes *routes,
			    unsigned int i, unsigned int j,
			    struct trn_route_link links[TRN_ROUTE_LINKS]);

/* The next chip on the fixed way from @i to @j, up or not; -1: none. */
int trn_route_next(const struct trn_map *map, unsigned int i, unsigned int j);

#endif /* TRN_ROUTE_H */
