// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The fabric: the table that readers look chips, ways and links up in. They take no lock
 * and never wait; see struct trn_fabric.turn.
 */
#include "base/trn_chip.h"
#include "fabric/trn_fabric_private.h"

#define SHAPE_UP	NEURON_BIT(31)

/*
 * Stores release and loads acquire, so that a reader who sees anything of the
 * table after next also sees that @turn has gone on.
 */
#define TABLE_STORE(field, value) \
	atomic_store_explicit(&(field), value, memory_order_release)
#define TABLE_LOAD(field) \
	atomic_load_explicit(&(field), memory_order_acquire)

/* --- filling it --- */

static uint32_t link_peer(const struct trn_map *map, unsigned int i,
			  const struct trn_link_end *port)
{
	const struct trn_site *site = &map->site[i];
	uint32_t rack = NEURON_PUT(NEURON_LINK_SWITCH_RACK, (uint32_t)site->rack);

	switch ((enum trn_via)port->via) {
	case TRN_VIA_CHIP:
		return map->site[port->peer].id;
	case TRN_VIA_SERVER:
		return NEURON_LINK_PEER_SWITCH | rack | site->server |
		       NEURON_PUT(NEURON_LINK_SWITCH_LEVEL, 1u);
	case TRN_VIA_RACK:
		return NEURON_LINK_PEER_SWITCH | rack |
		       NEURON_PUT(NEURON_LINK_SWITCH_LEVEL, 2u);
	case TRN_VIA_NONE:
		break;
	}
	return NEURON_LINK_PEER_NONE;
}

static uint64_t pack(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

static void store_links(struct trn_table *table, const struct trn_map *map,
			unsigned int i)
{
	unsigned int p;

	TABLE_STORE(table->nr_links[i], map->nr_ports[i]);
	for (p = 0; p < map->nr_ports[i]; p++) {
		const struct trn_link_end *port = &map->port[i][p];

		TABLE_STORE(table->link[i][p],
			    pack(link_peer(map, i, port), port->mbps));
		TABLE_STORE(table->shape[i][p],
			    port->lanes | (port->up ? SHAPE_UP : 0));
	}
}

static void store_windows(struct trn_table *table, const struct trn_map *map,
			  unsigned int i)
{
	unsigned int w;

	for (w = 0; w < TRN_FABRIC_WINDOWS; w++) {
		int chip = map->window[i][w];
		int port = map->window_port[i][w];
		struct trn_route route = { 0 };

		if (chip >= 0 && port >= 0)
			route = trn_route_port(map, i, (unsigned int)port);
		else if (chip >= 0)
			route = trn_route_edge(map, i, (unsigned int)chip);
		TABLE_STORE(table->window[i][w],
			    route.hops ? (uint32_t)chip + 1 : 0);
		TABLE_STORE(table->window_route[i][w],
			    pack(route.hops, route.mbps));
	}
}

void trn_table_store(const struct trn_fabric *fabric, struct trn_table *table)
{
	const struct trn_map *map = &fabric->map;
	unsigned int i;

	for (i = 0; i < NEURON_MAX_CHIPS; i++)
		TABLE_STORE(table->index[i], 0);
	for (i = 0; i < map->nr; i++) {
		TABLE_STORE(table->index[map->site[i].id], (uint16_t)(i + 1));
		TABLE_STORE(table->seat[i], fabric->seats[i]);
		store_links(table, map, i);
		store_windows(table, map, i);
	}
	for (i = 0; i < map->nr * map->nr; i++)
		TABLE_STORE(table->route[i], pack(fabric->routes.route[i].hops,
						  fabric->routes.route[i].mbps));
	TABLE_STORE(table->nr, map->nr);
}

bool trn_table_links_differ(struct trn_fabric *fabric, unsigned int i)
{
	struct trn_table *a = &fabric->table[0], *b = &fabric->table[1];
	unsigned int p;

	for (p = 0; p < fabric->map.nr_ports[i]; p++)
		if (TABLE_LOAD(a->link[i][p]) != TABLE_LOAD(b->link[i][p]) ||
		    TABLE_LOAD(a->shape[i][p]) != TABLE_LOAD(b->shape[i][p]))
			return true;
	return false;
}

/* --- reading it --- */

/* The table, and in *@turn what must not have changed when it has been read. */
static struct trn_table *table_begin(struct trn_fabric *fabric, uint32_t *turn)
{
	*turn = atomic_load(&fabric->turn);
	return &fabric->table[*turn % 2];
}

static bool table_end(struct trn_fabric *fabric, uint32_t turn)
{
	return atomic_load(&fabric->turn) == turn;
}

/* Index of a chip in the table; at least table->nr: not there. */
static unsigned int table_index(struct trn_table *table, uint32_t id)
{
	if (id >= NEURON_MAX_CHIPS)
		return TRN_FABRIC_CHIPS;
	return TABLE_LOAD(table->index[id]) - 1u;
}

static struct trn_route unpack(uint64_t route)
{
	return (struct trn_route) {
		.hops = (uint32_t)(route >> 32),
		.mbps = (uint32_t)route,
	};
}

struct trn_seat *trn_fabric_find(struct trn_fabric *fabric, const struct trn_seat *from,
				 uint32_t id, struct trn_route *route)
{
	struct trn_seat *seat;
	uint32_t turn;

	do {
		struct trn_table *table = table_begin(fabric, &turn);
		unsigned int nr = TABLE_LOAD(table->nr);
		unsigned int i = table_index(table, from->id);
		unsigned int j = table_index(table, id);

		seat = NULL;
		if (i >= nr || j >= nr)
			continue;
		*route = unpack(TABLE_LOAD(table->route[i * nr + j]));
		if (route->hops)
			seat = TABLE_LOAD(table->seat[j]);
	} while (!table_end(fabric, turn));
	return seat;
}

struct trn_seat *trn_fabric_window(struct trn_fabric *fabric, const struct trn_seat *from,
				   unsigned int window, struct trn_route *route)
{
	struct trn_seat *seat;
	uint32_t turn;

	do {
		struct trn_table *table = table_begin(fabric, &turn);
		unsigned int nr = TABLE_LOAD(table->nr);
		unsigned int i = table_index(table, from->id);
		unsigned int j;

		seat = NULL;
		if (i >= nr)
			continue;
		j = TABLE_LOAD(table->window[i][window]) - 1u;
		*route = unpack(TABLE_LOAD(table->window_route[i][window]));
		if (j < nr)
			seat = TABLE_LOAD(table->seat[j]);
	} while (!table_end(fabric, turn));
	return seat;
}

unsigned int trn_fabric_chips(struct trn_fabric *fabric)
{
	unsigned int nr;
	uint32_t turn;

	do {
		nr = TABLE_LOAD(table_begin(fabric, &turn)->nr);
	} while (!table_end(fabric, turn));
	return nr;
}

static void read_link(struct trn_table *table, unsigned int i, unsigned int p,
		      struct trn_fabric_link *link)
{
	uint64_t word = TABLE_LOAD(table->link[i][p]);
	uint32_t shape = TABLE_LOAD(table->shape[i][p]);

	*link = (struct trn_fabric_link) {
		.peer = (uint32_t)(word >> 32),
		.mbps = (uint32_t)word,
		.lanes = shape & ~SHAPE_UP,
		.up = shape & SHAPE_UP,
	};
}

unsigned int trn_fabric_links(struct trn_fabric *fabric,
			      const struct trn_chip *chip,
			      struct trn_fabric_link links[TRN_FABRIC_PORTS])
{
	unsigned int nr, p;
	uint32_t turn;

	do {
		struct trn_table *table = table_begin(fabric, &turn);
		unsigned int i = table_index(table, chip->config.fabric_id);

		nr = 0;
		if (i < TABLE_LOAD(table->nr))
			nr = TABLE_LOAD(table->nr_links[i]);
		for (p = 0; p < nr && p < TRN_FABRIC_PORTS; p++)
			read_link(table, i, p, &links[p]);
	} while (!table_end(fabric, turn));
	return nr;
}

uint32_t trn_fabric_turn(const struct trn_fabric *fabric)
{
	return atomic_load_explicit(&fabric->turn, memory_order_relaxed);
}
