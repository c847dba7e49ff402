// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "fabric/trn_topology.h"

#include <string.h>

#define GRID_SIDE	4
#define PORTS_TORUS	4
#define PORT_LEFT	4	/* to the other servers of an UltraServer */
#define PORT_RIGHT	5

#define PORTS_SERVER	4	/* switched: to the switch of the server */
#define PORTS_RACK	5	/* to the switch of the rack */

const char *trn_topology_name(enum trn_topology kind)
{
	static const char *const names[TRN_TOPOLOGIES] = {
		[TRN_TOPOLOGY_AUTO] = "auto",
		[TRN_TOPOLOGY_RING] = "ring",
		[TRN_TOPOLOGY_CHAIN] = "chain",
		[TRN_TOPOLOGY_TORUS2D] = "torus2d",
		[TRN_TOPOLOGY_TORUS3D] = "torus3d",
		[TRN_TOPOLOGY_SWITCH] = "switch",
	};

	return names[kind];
}

enum trn_topology trn_topology_by_name(const char *name)
{
	enum trn_topology kind;

	for (kind = TRN_TOPOLOGY_AUTO; kind < TRN_TOPOLOGIES; kind++)
		if (!strcmp(name, trn_topology_name(kind)))
			break;
	return kind;
}

/* --- places --- */

/* Orders servers; a server with 32 chips counts as two. */
static uint32_t box_key(const struct trn_site *site)
{
	return (uint32_t)site->rack << 16 | (uint32_t)site->server << 8 |
	       site->chip / TRN_GRID;
}

/* Does an earlier chip stand in the same box? */
static bool box_seen(const struct trn_map *map, unsigned int i)
{
	unsigned int j;

	for (j = 0; j < i; j++)
		if (box_key(&map->site[j]) == box_key(&map->site[i]))
			return true;
	return false;
}

static void rank_boxes(struct trn_map *map)
{
	unsigned int i, j;

	map->nr_boxes = 0;
	for (i = 0; i < map->nr; i++)
		map->site[i].box = 0;
	for (i = 0; i < map->nr; i++) {
		uint32_t key = box_key(&map->site[i]);

		if (box_seen(map, i))
			continue;
		map->nr_boxes++;
		for (j = 0; j < map->nr; j++)
			if (box_key(&map->site[j]) > key)
				map->site[j].box++;
	}
}

static void rank_racks(struct trn_map *map)
{
	bool seen[256] = { false };
	unsigned int i;

	map->nr_racks = 0;
	for (i = 0; i < map->nr; i++)
		seen[map->site[i].rack] = true;
	for (i = 0; i < 256; i++)
		map->nr_racks += seen[i];
	for (i = 0; i < map->nr; i++) {
		struct trn_site *site = &map->site[i];
		unsigned int rack;

		site->rack_rank = 0;
		for (rack = 0; rack < site->rack; rack++)
			site->rack_rank += seen[rack];
	}
}

static void rank_server(struct trn_map *map, struct trn_site *site)
{
	bool seen[256] = { false };
	unsigned int i;

	site->servers = 0;
	site->server_rank = 0;
	for (i = 0; i < map->nr; i++)
		if (map->site[i].rack == site->rack)
			seen[map->site[i].server] = true;
	for (i = 0; i < 256; i++) {
		site->servers += seen[i];
		if (i < site->server)
			site->server_rank += seen[i];
	}
}

void trn_topology_place(struct trn_map *map)
{
	unsigned int i;

	rank_boxes(map);
	rank_racks(map);
	for (i = 0; i < map->nr; i++)
		rank_server(map, &map->site[i]);
	for (i = 0; i < map->nr_boxes; i++)
		memset(map->grid[i], 0xff, sizeof(map->grid[i]));
	for (i = 0; i < map->nr; i++) {
		struct trn_site *site = &map->site[i];
		int16_t *cell = &map->grid[site->box][site->chip % TRN_GRID];

		site->column = site->chip % GRID_SIDE;
		site->row = site->chip % TRN_GRID / GRID_SIDE;
		if (*cell < 0)
			*cell = (int16_t)i;
	}
}

static int around(int value, int size)
{
	return (value % size + size) % size;
}

int trn_topology_at(const struct trn_map *map, int column, int row, int box)
{
	int cell = around(column, GRID_SIDE) +
		   GRID_SIDE * around(row, GRID_SIDE);

	return map->grid[around(box, (int)map->nr_boxes)][cell];
}

int trn_topology_find(const struct trn_map *map, unsigned int rack,
		      unsigned int server, unsigned int chip)
{
	unsigned int i;

	for (i = 0; i < map->nr; i++) {
		const struct trn_site *site = &map->site[i];

		if (site->rack == rack && site->server == server &&
		    site->chip == chip)
			return (int)i;
	}
	return -1;
}

static bool boxes_full(const struct trn_map *map)
{
	unsigned int i, cell;

	for (i = 0; i < map->nr_boxes; i++)
		for (cell = 0; cell < TRN_GRID; cell++)
			if (map->grid[i][cell] < 0)
				return false;
	return map->nr == map->nr_boxes * TRN_GRID;
}

enum trn_topology trn_topology_choose(const struct trn_map *map)
{
	const struct neuron_gen *gen = map->nr ? map->site[0].gen : NULL;

	if (!gen)
		return TRN_TOPOLOGY_RING;
	switch (gen->pci_device) {
	case NEURON_PCI_DEVICE_TRN3:
		return TRN_TOPOLOGY_SWITCH;
	case NEURON_PCI_DEVICE_INF2:
		return map->nr == 6 ? TRN_TOPOLOGY_CHAIN : TRN_TOPOLOGY_RING;
	case NEURON_PCI_DEVICE_TRN1:
		return boxes_full(map) ? TRN_TOPOLOGY_TORUS2D :
					 TRN_TOPOLOGY_RING;
	default:
		break;
	}
	if (!boxes_full(map))
		return TRN_TOPOLOGY_RING;
	if (map->nr_boxes == 1)
		return TRN_TOPOLOGY_TORUS2D;
	return map->nr_boxes == 2 || map->nr_boxes == 4 ?
		       TRN_TOPOLOGY_TORUS3D : TRN_TOPOLOGY_RING;
}

/* --- ports --- */

static struct trn_link_end *add_port(struct trn_map *map, unsigned int i,
				     enum trn_via via)
{
	const struct neuron_gen *gen = map->site[i].gen;
	struct trn_link_end *port = &map->port[i][map->nr_ports[i]++];

	*port = (struct trn_link_end) {
		.via = (uint8_t)via,
		.up = via != TRN_VIA_NONE,
		.peer = -1,
		.lanes = (uint16_t)gen->link_lanes,
		.mbps = map->link_mbps ? map->link_mbps : gen->link_mbps,
	};
	return port;
}

/* A port towards chip @peer, which may be missing (-1). */
static struct trn_link_end *add_direct(struct trn_map *map, unsigned int i,
				       int peer)
{
	struct trn_link_end *port;

	if (peer == (int)i)
		peer = -1;
	port = add_port(map, i, peer < 0 ? TRN_VIA_NONE : TRN_VIA_CHIP);
	port->peer = (int16_t)peer;
	return port;
}

/* Trainium2: by the parity of row and column; Trainium1: north first. */
static void torus_ports(struct trn_map *map, unsigned int i)
{
	static const char order_v3[2][2][PORTS_TORUS + 1] = {
		{ "NEWS", "WNSE" }, { "SEWN", "WSNE" },
	};
	const struct trn_site *site = &map->site[i];
	const char *order = "NWSE";
	unsigned int p;

	/* Its place is another chip's. */
	if (trn_topology_at(map, site->column, site->row, site->box) != (int)i)
		return;
	if (site->gen->generation > 2)
		order = order_v3[site->row % 2][site->column % 2];
	for (p = 0; p < PORTS_TORUS; p++) {
		int column = site->column + (order[p] == 'E') -
			     (order[p] == 'W');
		int row = site->row + (order[p] == 'S') - (order[p] == 'N');

		add_direct(map, i, trn_topology_at(map, column, row, site->box));
	}
}

/*
 * The servers of an UltraServer are a ring, joined in turn by their left and
 * their right links: both ends of a link are of the same side.
 */
static int side_box(const struct trn_site *site, bool left)
{
	return site->box + (left == (site->box % 2 == 0) ? 1 : -1);
}

static void server_ports(struct trn_map *map, unsigned int i)
{
	const struct trn_site *site = &map->site[i];
	unsigned int p;

	if (map->nr_boxes < 2 || !map->nr_ports[i])
		return;
	for (p = PORT_LEFT; p <= PORT_RIGHT; p++) {
		int box = side_box(site, p == PORT_LEFT);
		struct trn_link_end *port;

		port = add_direct(map, i, trn_topology_at(map, site->column,
							  site->row, box));
		port->lanes /= 2;
		port->mbps /= 2;
	}
}

static void ring_ports(struct trn_map *map, unsigned int i, bool closed)
{
	unsigned int last = map->nr - 1;

	if (i > 0)
		add_direct(map, i, (int)i - 1);
	else if (closed && last > 1)
		add_direct(map, i, (int)last);
	if (i < last)
		add_direct(map, i, (int)i + 1);
	else if (closed && last > 1)
		add_direct(map, i, 0);
}

/* The chip at the same place of rack or server @rank; -1: none. */
static int same_place(const struct trn_map *map, unsigned int i, bool racks,
		      unsigned int rank)
{
	const struct trn_site *own = &map->site[i];
	unsigned int j;

	for (j = 0; j < map->nr; j++) {
		const struct trn_site *site = &map->site[j];

		if (site->chip != own->chip)
			continue;
		if (racks && site->rack_rank == rank &&
		    site->server == own->server)
			return (int)j;
		if (!racks && site->rack == own->rack &&
		    site->server_rank == rank)
			return (int)j;
	}
	return -1;
}

static void switch_ports(struct trn_map *map, unsigned int i)
{
	const struct trn_site *site = &map->site[i];
	unsigned int p, n = map->nr_racks;

	for (p = 0; p < PORTS_SERVER; p++)
		add_port(map, i, TRN_VIA_SERVER);
	for (p = 0; site->servers > 1 && p < PORTS_RACK; p++)
		add_port(map, i, TRN_VIA_RACK);
	if (n < 2)
		return;
	add_direct(map, i, same_place(map, i, true,
				      (site->rack_rank + n - 1) % n));
	add_direct(map, i, same_place(map, i, true, (site->rack_rank + 1) % n));
}

static void find_back(struct trn_map *map, unsigned int i, unsigned int p)
{
	struct trn_link_end *port = &map->port[i][p];
	const struct trn_link_end *there = map->port[port->peer];
	unsigned int q, nr = map->nr_ports[port->peer];
	bool same_side = map->kind == TRN_TOPOLOGY_TORUS3D && p >= PORTS_TORUS;

	/* Two links between the same chips: equal sides, else crossed over. */
	if (same_side && p < nr && there[p].peer == (int)i) {
		port->back = (uint8_t)p;
		return;
	}
	for (q = 0; q < nr; q++)
		if (there[q].peer == (int)i && (q != p || nr == 1))
			break;
	if (q == nr)
		q = p;
	port->back = (uint8_t)q;
}

/* --- public neighbour windows --- */

static bool window_is_left(unsigned int w)
{
	return w == 1 || w == 2;
}

static void window_switched(struct trn_map *map, unsigned int i, unsigned int w)
{
	unsigned int rank = map->site[i].server_rank;
	unsigned int n = map->site[i].servers;

	if (n < 2)
		return;
	rank += window_is_left(w) == (rank % 2 == 0) ? 1 : n - 1;
	map->window[i][w] = (int16_t)same_place(map, i, false, rank % n);
}

static void add_windows(struct trn_map *map, unsigned int i)
{
	unsigned int w, p;

	for (w = 0; w < TRN_FABRIC_WINDOWS; w++) {
		map->window[i][w] = -1;
		map->window_port[i][w] = -1;
		if (map->kind == TRN_TOPOLOGY_SWITCH) {
			window_switched(map, i, w);
			continue;
		}
		p = w;
		if (map->kind == TRN_TOPOLOGY_TORUS3D && map->nr_boxes > 1)
			p = window_is_left(w) ? PORT_LEFT : PORT_RIGHT;
		if (p >= map->nr_ports[i])
			continue;
		map->window[i][w] = map->port[i][p].peer;
		map->window_port[i][w] = (int8_t)p;
	}
}

static void add_ports(struct trn_map *map, unsigned int i)
{
	map->nr_ports[i] = 0;
	switch (map->kind) {
	case TRN_TOPOLOGY_TORUS2D:
		torus_ports(map, i);
		return;
	case TRN_TOPOLOGY_TORUS3D:
		torus_ports(map, i);
		server_ports(map, i);
		return;
	case TRN_TOPOLOGY_SWITCH:
		switch_ports(map, i);
		return;
	default:
		ring_ports(map, i, map->kind != TRN_TOPOLOGY_CHAIN);
		return;
	}
}

void trn_topology_build(struct trn_map *map)
{
	unsigned int i, p;

	for (i = 0; i < map->nr; i++)
		add_ports(map, i);
	for (i = 0; i < map->nr; i++)
		for (p = 0; p < map->nr_ports[i]; p++)
			if (map->port[i][p].via == TRN_VIA_CHIP)
				find_back(map, i, p);
	for (i = 0; i < map->nr; i++)
		add_windows(map, i);
}
