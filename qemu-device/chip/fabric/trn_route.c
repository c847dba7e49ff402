// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "fabric/trn_route.h"

#include <stddef.h>
#include <string.h>

#define FAR	UINT32_MAX

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct trn_route trn_route_port(const struct trn_map *map, unsigned int i,
				unsigned int p)
{
	const struct trn_link_end *port = &map->port[i][p];

	return (struct trn_route) {
		.hops = port->up,
		.mbps = port->up ? port->mbps : 0,
	};
}

/* Ports of @i to a switch: which one is used is spread by @seed. */
static const struct trn_link_end *switch_port(const struct trn_map *map,
					      unsigned int i, enum trn_via via,
					      unsigned int seed)
{
	const struct trn_link_end *found[TRN_FABRIC_PORTS];
	unsigned int p, n = 0;

	for (p = 0; p < map->nr_ports[i]; p++)
		if (map->port[i][p].via == via && map->port[i][p].up)
			found[n++] = &map->port[i][p];
	return n ? found[seed % n] : NULL;
}

static struct trn_route over_switch(const struct trn_map *map, unsigned int i,
				    unsigned int j, enum trn_via via)
{
	const struct trn_link_end *a = switch_port(map, i, via, i + j);
	const struct trn_link_end *b = switch_port(map, j, via, i + j);
	struct trn_route route = { 0 };

	if (!a || !b)
		return route;
	route.hops = via == TRN_VIA_RACK ? trn_topology_levels(map, i) : 1;
	route.mbps = least(a->mbps, b->mbps);
	return route;
}

static bool same_rack(const struct trn_map *map, unsigned int i, unsigned int j)
{
	return map->site[i].rack == map->site[j].rack;
}

static bool same_server(const struct trn_map *map, unsigned int i,
			unsigned int j)
{
	return same_rack(map, i, j) &&
	       map->site[i].server == map->site[j].server;
}

struct trn_route trn_route_edge(const struct trn_map *map, unsigned int i,
				unsigned int j)
{
	struct trn_route route = { 0 };
	unsigned int p;

	if (i == j)
		return route;
	for (p = 0; p < map->nr_ports[i] && !route.hops; p++)
		if (map->port[i][p].peer == (int)j)
			route = trn_route_port(map, i, p);
	if (map->kind != TRN_TOPOLOGY_SWITCH)
		return route;
	if (!route.hops && same_server(map, i, j))
		route = over_switch(map, i, j, TRN_VIA_SERVER);
	if (!route.hops && same_rack(map, i, j))
		route = over_switch(map, i, j, TRN_VIA_RACK);
	return route;
}

/* --- the fixed way --- */

/* One step from @from towards @to on a ring of @size. */
static int ring_step(int from, int to, int size)
{
	int distance = (to - from + size) % size;

	if (!distance)
		return 0;
	return distance <= size / 2 ? 1 : -1;
}

static int next_on_torus(const struct trn_map *map, unsigned int i,
			 unsigned int j)
{
	const struct trn_site *a = &map->site[i];
	const struct trn_site *b = &map->site[j];
	int column, row = 0, box = 0;

	column = ring_step(a->column, b->column, 4);
	if (!column)
		row = ring_step(a->row, b->row, 4);
	if (!column && !row)
		box = ring_step(a->box, b->box, (int)map->nr_boxes);
	if (box && map->kind != TRN_TOPOLOGY_TORUS3D)
		return -1;
	return trn_topology_at(map, a->column + column, a->row + row,
			       a->box + box);
}

/* Within the rack by switch, then from rack to rack at the same place. */
static int next_switched(const struct trn_map *map, unsigned int i,
			 unsigned int j)
{
	const struct trn_site *a = &map->site[i];
	const struct trn_site *b = &map->site[j];
	unsigned int p;
	int step;

	if (a->rack == b->rack)
		return (int)j;
	if (a->server != b->server || a->chip != b->chip)
		return trn_topology_find(map, a->rack, b->server, b->chip);
	/* The last two ports: to the rack below and the one above. */
	step = ring_step(a->rack_rank, b->rack_rank, (int)map->nr_racks);
	p = map->nr_ports[i] - (step < 0 ? 2 : 1);
	return map->port[i][p].peer;
}

int trn_route_next(const struct trn_map *map, unsigned int i, unsigned int j)
{
	switch (map->kind) {
	case TRN_TOPOLOGY_CHAIN:
		return (int)(j > i ? i + 1 : i - 1);
	case TRN_TOPOLOGY_TORUS2D:
	case TRN_TOPOLOGY_TORUS3D:
		return next_on_torus(map, i, j);
	case TRN_TOPOLOGY_SWITCH:
		return next_switched(map, i, j);
	default:
		return (int)((i + map->nr + (unsigned int)
			      ring_step((int)i, (int)j, (int)map->nr)) %
			     map->nr);
	}
}

/**
 * struct column - the fixed ways to one chip, being worked out
 * @to: the chip
 * @routes: the table
 * @known: chips whose entry is final
 */
struct column {
	const struct trn_map *map;
	unsigned int to;
	struct trn_route *routes;
	bool known[TRN_FABRIC_CHIPS];
};

static struct trn_route join(struct trn_route edge, struct trn_route rest,
			     bool last)
{
	if (last)
		return edge;
	if (!edge.hops || !rest.hops)
		return (struct trn_route){ 0 };
	return (struct trn_route) {
		.hops = edge.hops + rest.hops,
		.mbps = least(edge.mbps, rest.mbps),
	};
}

/* Every chip has one next chip, so each is worked out once. */
static struct trn_route fixed_way(struct column *column, unsigned int i)
{
	const struct trn_map *map = column->map;
	struct trn_route *route = &column->routes[i * map->nr + column->to];
	struct trn_route edge;
	int next;

	if (column->known[i])
		return *route;
	column->known[i] = true;
	*route = (struct trn_route){ 0 };
	next = trn_route_next(map, i, column->to);
	if (next < 0)
		return *route;
	edge = trn_route_edge(map, i, (unsigned int)next);
	*route = join(edge, fixed_way(column, (unsigned int)next),
		      (unsigned int)next == column->to);
	return *route;
}

static void fixed_ways(const struct trn_map *map, unsigned int to,
		       struct trn_route *routes)
{
	struct column column = { .map = map, .to = to, .routes = routes };
	unsigned int i;

	column.known[to] = true;
	routes[to * map->nr + to] = (struct trn_route){ 0 };
	for (i = 0; i < map->nr; i++)
		fixed_way(&column, i);
}

/* --- detours --- */

/**
 * struct search - the shortest ways from one chip
 * @route: found so far; hops FAR: none
 * @before: the chip before it on that way
 * @done: final
 */
struct search {
	const struct trn_map *map;
	struct trn_route route[TRN_FABRIC_CHIPS];
	uint8_t before[TRN_FABRIC_CHIPS];
	bool done[TRN_FABRIC_CHIPS];
};

static void relax(struct search *search, unsigned int i, unsigned int j)
{
	const struct trn_route *here = &search->route[i];
	struct trn_route edge;

	if (search->done[j])
		return;
	edge = trn_route_edge(search->map, i, j);
	if (!edge.hops || here->hops + edge.hops >= search->route[j].hops)
		return;
	search->route[j].hops = here->hops + edge.hops;
	search->route[j].mbps = least(here->mbps, edge.mbps);
	search->before[j] = (uint8_t)i;
}

static void expand(struct search *search, unsigned int i)
{
	const struct trn_map *map = search->map;
	unsigned int j, p;

	for (p = 0; p < map->nr_ports[i]; p++)
		if (map->port[i][p].peer >= 0)
			relax(search, i, (unsigned int)map->port[i][p].peer);
	for (j = 0; map->kind == TRN_TOPOLOGY_SWITCH && j < map->nr; j++)
		if (same_rack(map, i, j))
			relax(search, i, j);
}

static int nearest(const struct search *search)
{
	uint32_t hops = FAR;
	unsigned int i;
	int best = -1;

	for (i = 0; i < search->map->nr; i++) {
		if (search->done[i] || search->route[i].hops >= hops)
			continue;
		hops = search->route[i].hops;
		best = (int)i;
	}
	return best;
}

static void find_ways(struct search *search, unsigned int from)
{
	unsigned int i;
	int next;

	for (i = 0; i < search->map->nr; i++) {
		search->done[i] = false;
		search->route[i].hops = FAR;
	}
	search->route[from] = (struct trn_route){ .mbps = UINT32_MAX };
	while ((next = nearest(search)) >= 0) {
		search->done[next] = true;
		expand(search, (unsigned int)next);
	}
}

/* Fill in the ways from @from that are not there yet. */
static void detours(struct search *search, unsigned int from,
		    struct trn_routes *routes)
{
	const unsigned int nr = search->map->nr;
	struct trn_route *row = &routes->route[from * nr];
	unsigned int i;

	find_ways(search, from);
	memcpy(&routes->before[from * nr], search->before, nr);
	for (i = 0; i < nr; i++)
		if (i != from && !row[i].hops && search->done[i])
			row[i] = search->route[i];
}

static bool row_complete(const struct trn_map *map, unsigned int i,
			 const struct trn_route *row)
{
	unsigned int j;

	for (j = 0; j < map->nr; j++)
		if (j != i && !row[j].hops)
			return false;
	return true;
}

void trn_route_all(const struct trn_map *map, struct trn_routes *routes)
{
	struct search search = { .map = map };
	unsigned int i;

	for (i = 0; i < map->nr; i++)
		fixed_ways(map, i, routes->route);
	for (i = 0; i < map->nr; i++)
		if (!row_complete(map, i, &routes->route[i * map->nr]))
			detours(&search, i, routes);
}

/* --- links of a way --- */

static unsigned int add_link(const struct trn_map *map, unsigned int i,
			     const struct trn_link_end *port, bool in,
			     struct trn_route_link *link)
{
	*link = (struct trn_route_link) {
		.chip = i,
		.port = (uint8_t)(port - map->port[i]),
		.in = in,
		.mbps = port->mbps,
	};
	return 1;
}

/* The same choice as trn_route_edge() makes, which has found a way. */
static unsigned int edge_links(const struct trn_map *map, unsigned int i,
			       unsigned int j, struct trn_route_link *links)
{
	enum trn_via via = TRN_VIA_RACK;
	unsigned int p, n;

	for (p = 0; p < map->nr_ports[i]; p++)
		if (map->port[i][p].peer == (int)j && map->port[i][p].up)
			return add_link(map, i, &map->port[i][p], false, links);
	if (same_server(map, i, j) && over_switch(map, i, j, TRN_VIA_SERVER).hops)
		via = TRN_VIA_SERVER;
	n = add_link(map, i, switch_port(map, i, via, i + j), false, links);
	return n + add_link(map, j, switch_port(map, j, via, i + j), true,
			    links + n);
}

/* 0: a link of it is down, or it has none. */
static unsigned int fixed_links(const struct trn_map *map, unsigned int i,
				unsigned int j, struct trn_route_link *links)
{
	unsigned int n = 0;
	int next;

	for (; i != j; i = (unsigned int)next) {
		next = trn_route_next(map, i, j);
		if (next < 0 || !trn_route_edge(map, i, (unsigned int)next).hops)
			return 0;
		n += edge_links(map, i, (unsigned int)next, links + n);
	}
	return n;
}

unsigned int trn_route_path(const struct trn_map *map, const struct trn_routes *routes,
			    unsigned int i, unsigned int j,
			    struct trn_route_link links[TRN_ROUTE_LINKS])
{
	const uint8_t *before = &routes->before[i * map->nr];
	uint8_t way[TRN_FABRIC_CHIPS];
	unsigned int n, steps = 0;

	n = fixed_links(map, i, j, links);
	if (n || !routes->route[i * map->nr + j].hops)
		return n;
	for (; j != i; j = before[j])
		way[steps++] = (uint8_t)j;
	for (; steps; i = way[steps])
		n += edge_links(map, i, way[--steps], links + n);
	return n;
}
