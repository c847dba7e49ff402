// SPDX-License-Identifier: MIT
#include <string.h>

#include "plan/topology.h"

#define SIDE	4	/* chips in a row and in a column of a grid */
#define SERVERS	4	/* of a whole torus of three dimensions, or grids of a server */
#define GRIDS	((UINT16_MAX + 1) / NRT_PLAN_TORUS_CHIPS)	/* of a server at most */

/*
 * Two cycles through a torus of @long by SIDE places that share no link, for a length that is a
 * power of SIDE: step t of cycle 0 changes the short coordinate, SIDE - 1 times, then the long
 * one; cycle 1 does it the other way round.
 */
struct at {
	unsigned int along;
	unsigned int across;
};

static struct at cycle_at(unsigned int cycle, unsigned int length, unsigned int t)
{
	unsigned int high = t / SIDE, low = t % SIDE;

	if (!cycle)
		return (struct at){ high, (low + (SIDE - 1) * high) % SIDE };
	return (struct at){ (high * (SIDE - 1) + low) % length, high % SIDE };
}

/* A server with more chips than a grid has is several grids, as on the fabric. */
static unsigned int grid_of(const struct nrt_plan_place *place)
{
	return place->server * GRIDS + place->chip / NRT_PLAN_TORUS_CHIPS;
}

static unsigned int cell_of(const struct nrt_plan_place *place)
{
	return place->chip % NRT_PLAN_TORUS_CHIPS;
}

/* For each chip of a grid, its place in cycle @cycle. */
static void server_cycle(unsigned int cycle, unsigned int *place)
{
	unsigned int t;

	for (t = 0; t < NRT_PLAN_TORUS_CHIPS; t++) {
		struct at at = cycle_at(cycle, SIDE, t);

		place[at.along * SIDE + at.across] = t;
	}
}

/**
 * struct shape - how a team lies on a torus
 * @servers: how many; 0: it is not whole
 * @server: what grid_of() says of them, ascending
 */
struct shape {
	unsigned int servers;
	unsigned int server[SERVERS];
};

static void add_server(struct shape *shape, unsigned int server)
{
	unsigned int i, j;

	for (i = 0; i < shape->servers && shape->server[i] < server; i++)
		;
	if (i < shape->servers && shape->server[i] == server)
		return;
	for (j = shape->servers; j > i; j--)
		shape->server[j] = shape->server[j - 1];
	shape->server[i] = server;
	shape->servers++;
}

static unsigned int server_index(const struct shape *shape, unsigned int server)
{
	unsigned int i;

	for (i = 0; shape->server[i] != server;)
		i++;
	return i;
}

static bool is_known(const struct shape *shape, unsigned int server)
{
	unsigned int i;

	for (i = 0; i < shape->servers; i++)
		if (shape->server[i] == server)
			return true;
	return false;
}

static void find_shape(const struct nrt_plan *plan, const uint16_t *rank, unsigned int n,
		       struct shape *shape)
{
	unsigned int on[SERVERS][NRT_PLAN_TORUS_CHIPS] = { 0 }, i, s, c, each, grid;

	memset(shape, 0, sizeof(*shape));
	if (plan->topology != NRT_PLAN_TORUS2D && plan->topology != NRT_PLAN_TORUS3D)
		return;
	for (i = 0; i < n; i++) {
		grid = grid_of(&plan->places[rank[i]]);
		if (shape->servers == SERVERS && !is_known(shape, grid)) {
			shape->servers = 0;
			return;
		}
		add_server(shape, grid);
	}
	for (i = 0; i < n; i++) {
		const struct nrt_plan_place *place = &plan->places[rank[i]];

		on[server_index(shape, grid_of(place))][cell_of(place)]++;
	}
	each = n / (shape->servers * NRT_PLAN_TORUS_CHIPS);
	for (s = 0; s < shape->servers; s++)
		for (c = 0; c < NRT_PLAN_TORUS_CHIPS; c++)
			if (on[s][c] != each || !each) {
				shape->servers = 0;
				return;
			}
	if (shape->servers == 3 || (shape->servers > 1 && plan->topology == NRT_PLAN_TORUS2D))
		shape->servers = 0;
}

/* Places of all chips in a cycle: by server index and chip. */
static void torus_places(const struct shape *shape, unsigned int cycle,
			 unsigned int place[SERVERS][NRT_PLAN_TORUS_CHIPS])
{
	unsigned int in_server[NRT_PLAN_TORUS_CHIPS], s, c, t;
	unsigned int at[NRT_PLAN_TORUS_CHIPS][SERVERS];

	server_cycle(shape->servers < SERVERS ? cycle : 0, in_server);
	if (shape->servers == SERVERS) {
		for (t = 0; t < NRT_PLAN_TORUS_CHIPS * SERVERS; t++) {
			struct at a = cycle_at(cycle, NRT_PLAN_TORUS_CHIPS, t);

			at[a.along][a.across] = t;
		}
	}
	for (s = 0; s < shape->servers; s++) {
		for (c = 0; c < NRT_PLAN_TORUS_CHIPS; c++) {
			if (shape->servers == SERVERS)
				place[s][c] = at[in_server[c]][s];
			else	/* one server, or there and back on two */
				place[s][c] = s ? 2 * NRT_PLAN_TORUS_CHIPS - 1 - in_server[c] :
					      in_server[c];
		}
	}
}

static void torus_order(const struct nrt_plan *plan, const struct shape *shape,
			const uint16_t *rank, unsigned int n, unsigned int cycle, uint16_t *order)
{
	unsigned int place[SERVERS][NRT_PLAN_TORUS_CHIPS];
	unsigned int each = n / (shape->servers * NRT_PLAN_TORUS_CHIPS);
	unsigned int used[SERVERS * NRT_PLAN_TORUS_CHIPS] = { 0 }, i;

	torus_places(shape, cycle, place);
	for (i = 0; i < n; i++) {
		const struct nrt_plan_place *p = &plan->places[rank[i]];
		unsigned int t = place[server_index(shape, grid_of(p))][cell_of(p)];

		order[t * each + used[t]++] = (uint16_t)i;
	}
}

static void reverse(uint16_t *order, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n / 2; i++) {
		uint16_t other = order[n - 1 - i];

		order[n - 1 - i] = order[i];
		order[i] = other;
	}
}

unsigned int nrt_ring_cycles(const struct nrt_plan *plan, const uint16_t *rank, unsigned int n)
{
	struct shape shape;

	find_shape(plan, rank, n, &shape);
	return shape.servers ? 4 : 2;
}

void nrt_ring_order(const struct nrt_plan *plan, const uint16_t *rank, unsigned int n,
		    unsigned int channel, uint16_t *order)
{
	struct shape shape;
	unsigned int i;

	find_shape(plan, rank, n, &shape);
	if (shape.servers) {
		torus_order(plan, &shape, rank, n, channel / 2 % 2, order);
	} else {
		for (i = 0; i < n; i++)
			order[i] = (uint16_t)i;
	}
	if (channel % 2)
		reverse(order, n);
}
