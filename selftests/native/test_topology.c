// SPDX-License-Identifier: MIT
/*
 * Topologies and routes: the neighbours are the documented ones, every chip
 * reaches every other one by a shortest way, and links that are down are gone
 * around. Pure functions, no chips.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/trn_link.h"
#include "fabric/trn_route.h"

struct fixture {
	struct trn_map map;
	struct trn_link_faults faults;
	struct trn_routes routes;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void build(struct fixture *f, enum trn_topology kind)
{
	trn_topology_place(&f->map);
	f->map.kind = kind ? kind : trn_topology_choose(&f->map);
	trn_topology_build(&f->map);
	trn_link_apply(&f->map, &f->faults);
	trn_route_all(&f->map, &f->routes);
}

/* Full racks of full servers, in the order of their positions. */
static void place(struct fixture *f, const struct neuron_gen *gen,
		  unsigned int racks, unsigned int servers, unsigned int chips)
{
	unsigned int i, nr = racks * servers * chips;

	memset(&f->faults, 0, sizeof(f->faults));
	f->map.nr = nr;
	for (i = 0; i < nr; i++) {
		f->map.site[i] = (struct trn_site) {
			.gen = gen,
			.id = i,
			.rack = (uint8_t)(i / chips / servers),
			.server = (uint8_t)(i / chips % servers),
			.chip = (uint8_t)(i % chips),
		};
	}
}

static void whole(struct fixture *f, const struct neuron_gen *gen,
		  unsigned int racks, unsigned int servers, unsigned int chips)
{
	place(f, gen, racks, servers, chips);
	build(f, TRN_TOPOLOGY_AUTO);
}

static void fault(struct fixture *f, const char *text)
{
	struct trn_link_fault one;
	const char *why;

	assert_non_null(trn_link_parse(text, &one, &why));
	assert_null(trn_link_check(&f->map, &one));
	assert_true(trn_link_set(&f->faults, &one));
	build(f, f->map.kind);
}

static struct trn_route route(const struct fixture *f, unsigned int i,
			      unsigned int j)
{
	return f->routes.route[i * f->map.nr + j];
}

/* --- neighbours --- */

static void check_row(const struct fixture *f, unsigned int i, unsigned int nr,
		      const int *peers)
{
	unsigned int p;

	assert_int_equal(f->map.nr_ports[i], nr);
	for (p = 0; p < nr; p++) {
		assert_int_equal(f->map.port[i][p].peer, peers[p]);
		assert_true(f->map.port[i][p].up);
	}
}

/* The tables of the public driver, as it reports them. */
static void test_neighbours_trn1(void **state)
{
	static const int table[16][4] = {
		{ 12, 3, 4, 1 }, { 13, 0, 5, 2 }, { 14, 1, 6, 3 },
		{ 15, 2, 7, 0 }, { 0, 7, 8, 5 }, { 1, 4, 9, 6 },
		{ 2, 5, 10, 7 }, { 3, 6, 11, 4 }, { 4, 11, 12, 9 },
		{ 5, 8, 13, 10 }, { 6, 9, 14, 11 }, { 7, 10, 15, 8 },
		{ 8, 15, 0, 13 }, { 9, 12, 1, 14 }, { 10, 13, 2, 15 },
		{ 11, 14, 3, 12 },
	};
	struct fixture *f = *state;
	unsigned int i;

	whole(f, &neuron_gen_trn1, 1, 1, 16);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_TORUS2D);
	for (i = 0; i < 16; i++)
		check_row(f, i, 4, table[i]);
}

static const int table_trn2[16][4] = {
	{ 12, 1, 3, 4 }, { 0, 13, 5, 2 }, { 14, 3, 1, 6 }, { 2, 15, 7, 0 },
	{ 8, 5, 7, 0 }, { 4, 9, 1, 6 }, { 10, 7, 5, 2 }, { 6, 11, 3, 4 },
	{ 4, 9, 11, 12 }, { 8, 5, 13, 10 }, { 6, 11, 9, 14 },
	{ 10, 7, 15, 8 }, { 0, 13, 15, 8 }, { 12, 1, 9, 14 },
	{ 2, 15, 13, 10 }, { 14, 3, 11, 12 },
};

static void test_neighbours_trn2(void **state)
{
	struct fixture *f = *state;
	unsigned int i, w;

	whole(f, &neuron_gen_trn2, 1, 1, 16);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_TORUS2D);
	for (i = 0; i < 16; i++) {
		check_row(f, i, 4, table_trn2[i]);
		for (w = 0; w < TRN_FABRIC_WINDOWS; w++)
			assert_int_equal(f->map.window[i][w], table_trn2[i][w]);
	}
	assert_int_equal(f->map.port[0][0].lanes, neuron_gen_trn2.link_lanes);
	assert_int_equal(f->map.port[0][0].mbps, neuron_gen_trn2.link_mbps);
}

/* Two boxes of sixteen by bit 4 of the chip id, as the public driver has it. */
static void test_neighbours_two_boxes(void **state)
{
	struct fixture *f = *state;
	unsigned int i, p;

	whole(f, &neuron_gen_trn1, 1, 1, 32);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_TORUS2D);
	for (i = 0; i < 32; i++)
		for (p = 0; p < 4; p++)
			assert_int_equal(f->map.port[i][p].peer & 16, i & 16);
	assert_int_equal(route(f, 0, 16).hops, 0);
	assert_int_equal(route(f, 16, 26).hops, 4);
}

static void test_neighbours_inf2(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	whole(f, &neuron_gen_inf2, 1, 1, 12);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_RING);
	check_row(f, 0, 2, (int[]){ 11, 1 });
	for (i = 1; i < 11; i++)
		check_row(f, i, 2, (int[]){ (int)i - 1, (int)i + 1 });
	assert_int_equal(f->map.nr_ports[11], 2);
	assert_int_equal(route(f, 0, 6).hops, 6);
	assert_int_equal(route(f, 0, 7).hops, 5);

	whole(f, &neuron_gen_inf2, 1, 1, 6);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_CHAIN);
	check_row(f, 0, 1, (int[]){ 1 });
	for (i = 1; i < 5; i++)
		check_row(f, i, 2, (int[]){ (int)i - 1, (int)i + 1 });
	check_row(f, 5, 1, (int[]){ 4 });
	assert_int_equal(route(f, 0, 5).hops, 5);
}

/* What the public election works out on server @z of a ring of four. */
static unsigned int elected_node(const struct fixture *f, unsigned int z)
{
	const unsigned int self = z * 16;
	const int left = f->map.window[self][1];
	const int right = f->map.window[self][0];
	const int diagonal = f->map.window[left][0];

	if ((int)self < diagonal) {
		if ((int)self < left && (int)self < right)
			return 0;
	} else if (diagonal < left && diagonal < right) {
		return 2;
	}
	return left < right ? 1 : 3;
}

static void test_ultraserver(void **state)
{
	struct fixture *f = *state;
	unsigned int i, p, z;

	whole(f, &neuron_gen_trn2, 1, 4, 16);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_TORUS3D);
	for (i = 0; i < 64; i++) {
		assert_int_equal(f->map.nr_ports[i], 6);
		for (p = 0; p < 4; p++)
			assert_int_equal(f->map.port[i][p].peer,
					 (int)(i & ~15u) + table_trn2[i % 16][p]);
		/* The pairs of links to the other servers, as they are cabled. */
		assert_int_equal(f->map.window[i][1], f->map.window[i][2]);
		assert_int_equal(f->map.window[i][0], f->map.window[i][3]);
		assert_int_equal(f->map.window[i][1], f->map.port[i][4].peer);
		assert_int_equal(f->map.window[i][0], f->map.port[i][5].peer);
		assert_int_equal(f->map.window[i][1] % 16, i % 16);
		assert_int_equal(f->map.window[f->map.window[i][1]][1], i);
		assert_int_equal(f->map.window[f->map.window[i][0]][0], i);
		assert_int_equal(f->map.port[i][5].mbps,
				 neuron_gen_trn2.link_mbps / 2);
	}
	for (z = 0; z < 4; z++)
		assert_int_equal(elected_node(f, z), z);
}

/* Two servers are joined by both pairs. */
static void test_two_servers(void **state)
{
	struct fixture *f = *state;

	whole(f, &neuron_gen_trn2, 1, 2, 16);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_TORUS3D);
	assert_int_equal(f->map.port[3][4].peer, 19);
	assert_int_equal(f->map.port[3][5].peer, 19);
	fault(f, "3:4=down");
	assert_false(f->map.port[19][4].up);
	assert_true(f->map.port[19][5].up);
	assert_int_equal(route(f, 3, 19).hops, 1);
	fault(f, "3-19=down");
	assert_false(f->map.port[19][5].up);
	assert_int_equal(route(f, 3, 19).hops, 3);
}

static void test_switched(void **state)
{
	struct fixture *f = *state;
	unsigned int i, j;

	whole(f, &neuron_gen_trn3, 1, 4, 16);
	assert_int_equal(f->map.kind, TRN_TOPOLOGY_SWITCH);
	for (i = 0; i < 64; i++) {
		assert_int_equal(f->map.nr_ports[i], 9);
		for (j = 0; j < 64; j++)
			assert_int_equal(route(f, i, j).hops, i != j);
		/* The windows: the same chip of the servers beside. */
		assert_int_equal(f->map.window[i][1] % 16, i % 16);
		assert_int_equal(f->map.window[f->map.window[i][1]][1], i);
		assert_int_not_equal(f->map.window[i][1], f->map.window[i][0]);
	}

	whole(f, &neuron_gen_trn3, 1, 36, 4);
	for (i = 0; i < 144; i++)
		for (j = 0; j < 144; j++)
			assert_int_equal(route(f, i, j).hops,
					 i == j ? 0 : i / 4 == j / 4 ? 1 : 2);

	/* One server has no use for the ports between servers. */
	whole(f, &neuron_gen_trn3, 1, 1, 4);
	assert_int_equal(f->map.nr_ports[0], 4);
	assert_int_equal(f->map.window[0][0], -1);
}

static void test_racks(void **state)
{
	struct fixture *f = *state;

	/* Chip 21 is rack 2, server 1, chip 1. */
	whole(f, &neuron_gen_trn3, 3, 2, 4);
	assert_int_equal(f->map.nr_ports[0], 11);
	assert_int_equal(f->map.port[0][9].peer, 16);
	assert_int_equal(f->map.port[0][10].peer, 8);
	assert_int_equal(route(f, 0, 8).hops, 1);
	assert_int_equal(route(f, 0, 21).hops, 2);
	assert_int_equal(trn_route_next(&f->map, 0, 21), 5);
	assert_int_equal(trn_route_next(&f->map, 5, 21), 21);
	fault(f, "5-21=down");
	assert_int_equal(route(f, 0, 21).hops, 2);
	fault(f, "0-16=down");
	assert_int_equal(route(f, 0, 16).hops, 2);
}

/* Every link has the same two ends from either side. */
static void test_two_ends(void **state)
{
	static const struct {
		const struct neuron_gen *gen;
		unsigned int racks, servers, chips;
	} shapes[] = {
		{ &neuron_gen_trn1, 1, 1, 2 }, { &neuron_gen_trn1, 1, 1, 3 },
		{ &neuron_gen_trn1, 1, 1, 16 }, { &neuron_gen_inf2, 1, 1, 6 },
		{ &neuron_gen_inf2, 1, 1, 12 }, { &neuron_gen_trn2, 1, 1, 16 },
		{ &neuron_gen_trn2, 1, 2, 16 }, { &neuron_gen_trn2, 2, 2, 16 },
		{ &neuron_gen_trn3, 2, 2, 4 }, { &neuron_gen_trn3, 3, 2, 4 },
	};
	struct fixture *f = *state;
	unsigned int s, i, p;

	for (s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		whole(f, shapes[s].gen, shapes[s].racks, shapes[s].servers,
		      shapes[s].chips);
		for (i = 0; i < f->map.nr; i++)
			for (p = 0; p < f->map.nr_ports[i]; p++) {
				const struct trn_link_end *end = &f->map.port[i][p];
				const struct trn_link_end *other;

				if (end->via != TRN_VIA_CHIP)
					continue;
				other = &f->map.port[end->peer][end->back];
				assert_int_equal(other->peer, i);
				assert_int_equal(other->back, p);
			}
	}
}

static void test_choice(void **state)
{
	static const struct {
		const struct neuron_gen *gen;
		unsigned int racks, servers, chips;
		enum trn_topology kind;
	} cases[] = {
		{ &neuron_gen_trn2, 1, 1, 1, TRN_TOPOLOGY_RING },
		{ &neuron_gen_trn2, 1, 1, 2, TRN_TOPOLOGY_RING },
		{ &neuron_gen_trn2, 1, 1, 15, TRN_TOPOLOGY_RING },
		{ &neuron_gen_trn2, 1, 1, 17, TRN_TOPOLOGY_RING },
		{ &neuron_gen_trn2, 1, 3, 16, TRN_TOPOLOGY_RING },
		{ &neuron_gen_trn2, 1, 4, 8, TRN_TOPOLOGY_RING },
		{ &neuron_gen_trn2, 2, 2, 16, TRN_TOPOLOGY_TORUS3D },
		{ &neuron_gen_trn2, 1, 1, 64, TRN_TOPOLOGY_TORUS3D },
		{ &neuron_gen_trn1, 1, 2, 16, TRN_TOPOLOGY_TORUS2D },
		{ &neuron_gen_inf2, 1, 1, 16, TRN_TOPOLOGY_RING },
		{ &neuron_gen_trn3, 1, 1, 2, TRN_TOPOLOGY_SWITCH },
	};
	struct fixture *f = *state;
	enum trn_topology kind;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		whole(f, cases[i].gen, cases[i].racks, cases[i].servers,
		      cases[i].chips);
		assert_int_equal(f->map.kind, cases[i].kind);
	}
	for (kind = 0; kind < TRN_TOPOLOGIES; kind++)
		assert_int_equal(trn_topology_by_name(trn_topology_name(kind)),
				 kind);
	assert_int_equal(trn_topology_by_name("mesh"), TRN_TOPOLOGIES);
}

/* A torus of which only some chips are there: links without a peer are down. */
static void test_torus_with_holes(void **state)
{
	struct fixture *f = *state;

	place(f, &neuron_gen_trn2, 1, 1, 4);
	build(f, TRN_TOPOLOGY_TORUS2D);
	assert_int_equal(f->map.nr_ports[0], 4);
	assert_int_equal(f->map.port[0][0].via, TRN_VIA_NONE);
	assert_false(f->map.port[0][0].up);
	assert_int_equal(f->map.port[0][1].peer, 1);
	assert_int_equal(f->map.port[0][2].peer, 3);
	assert_int_equal(f->map.window[0][0], -1);
	assert_int_equal(f->map.window[0][1], 1);
	assert_int_equal(route(f, 0, 2).hops, 2);
}

/* --- routes --- */

static unsigned int on_ring(unsigned int a, unsigned int b, unsigned int size)
{
	unsigned int d = (a - b + size) % size;

	return d < size - d ? d : size - d;
}

static void test_hops_on_torus(void **state)
{
	struct fixture *f = *state;
	unsigned int i, j;

	whole(f, &neuron_gen_trn2, 1, 4, 16);
	for (i = 0; i < 64; i++)
		for (j = 0; j < 64; j++)
			assert_int_equal(route(f, i, j).hops,
					 on_ring(i % 4, j % 4, 4) +
					 on_ring(i / 4 % 4, j / 4 % 4, 4) +
					 on_ring(i / 16, j / 16, 4));
	assert_int_equal(route(f, 0, 42).hops, 6);
	assert_int_equal(route(f, 0, 15).mbps, neuron_gen_trn2.link_mbps);
	assert_int_equal(route(f, 0, 16).mbps, neuron_gen_trn2.link_mbps / 2);
}

/* First along the row, then along the column, then to the other server. */
static void test_fixed_way(void **state)
{
	static const int way[] = { 1, 2, 6, 10, 26, 42 };
	struct fixture *f = *state;
	unsigned int i, at = 0;

	whole(f, &neuron_gen_trn2, 1, 4, 16);
	for (i = 0; i < 6; i++) {
		at = (unsigned int)trn_route_next(&f->map, at, 42);
		assert_int_equal(at, way[i]);
	}
	/* It has priority over ways of the same length, also when slower. */
	fault(f, "0-1=slow:10");
	assert_int_equal(route(f, 0, 42).hops, 6);
	assert_int_equal(route(f, 0, 42).mbps, neuron_gen_trn2.link_mbps / 10);
	assert_int_equal(route(f, 42, 0).mbps, neuron_gen_trn2.link_mbps / 2);
}

static void test_detour(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	whole(f, &neuron_gen_trn2, 1, 1, 16);
	fault(f, "1-0=down");
	assert_false(f->map.port[0][1].up);
	assert_false(f->map.port[1][0].up);
	assert_int_equal(route(f, 0, 1).hops, 3);
	assert_int_equal(route(f, 1, 0).hops, 3);
	/* Another way of the same length takes its place. */
	assert_int_equal(route(f, 0, 5).hops, 2);
	assert_int_equal(route(f, 0, 2).hops, 2);
	fault(f, "0-1=up");
	assert_int_equal(route(f, 0, 1).hops, 1);

	/* Chip 5 is cut off; all others still reach each other. */
	fault(f, "5:0=down");
	fault(f, "5:1=down");
	fault(f, "5:2=down");
	assert_int_equal(route(f, 0, 5).hops, 4);
	fault(f, "5:3=down");
	for (i = 0; i < 16; i++) {
		assert_int_equal(route(f, i, 5).hops, 0);
		assert_int_equal(route(f, 5, i).hops, 0);
		assert_true(i == 5 || i == 4 || route(f, i, 4).hops > 0);
	}
	assert_int_equal(route(f, 4, 6).hops, 2);
	assert_int_equal(route(f, 1, 9).hops, 2);
}

static void test_ring_partition(void **state)
{
	struct fixture *f = *state;

	whole(f, &neuron_gen_inf2, 1, 1, 12);
	fault(f, "11-0=down");
	assert_int_equal(route(f, 0, 11).hops, 11);
	fault(f, "5-6=down");
	assert_int_equal(route(f, 0, 5).hops, 5);
	assert_int_equal(route(f, 0, 6).hops, 0);
	assert_int_equal(route(f, 6, 11).hops, 5);
}

static void test_switch_faults(void **state)
{
	struct fixture *f = *state;
	char text[32];
	unsigned int p;

	whole(f, &neuron_gen_trn3, 1, 4, 16);
	fault(f, "7:0=mbps:1000");
	fault(f, "7:1=down");
	fault(f, "7:2=down");
	fault(f, "7:3=down");
	assert_int_equal(route(f, 7, 8).hops, 1);
	assert_int_equal(route(f, 7, 8).mbps, 1000);
	/* The switch of the rack takes over, then nothing is left. */
	fault(f, "7:0=down");
	assert_int_equal(route(f, 7, 8).hops, 1);
	assert_int_equal(route(f, 7, 8).mbps, neuron_gen_trn3.link_mbps);
	for (p = 4; p < 9; p++) {
		snprintf(text, sizeof(text), "7:%u=down", p);
		fault(f, text);
	}
	assert_int_equal(route(f, 7, 8).hops, 0);
	assert_int_equal(route(f, 20, 7).hops, 0);
	assert_int_equal(route(f, 6, 8).hops, 1);
}

/* Distance by breadth-first search over chips, independent of the routes. */
static unsigned int distance(const struct fixture *f, unsigned int from,
			     unsigned int to)
{
	unsigned int queue[TRN_FABRIC_CHIPS], far[TRN_FABRIC_CHIPS];
	unsigned int head = 0, tail = 0, i, p;

	memset(far, 0xff, sizeof(far));
	far[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		i = queue[head++];
		for (p = 0; p < f->map.nr_ports[i]; p++) {
			const struct trn_link_end *end = &f->map.port[i][p];

			if (end->peer < 0 || !end->up || ~far[end->peer])
				continue;
			far[end->peer] = far[i] + 1;
			queue[tail++] = (unsigned int)end->peer;
		}
	}
	return ~far[to] ? far[to] : 0;
}

/* Whatever is down: the way is as short as any, or there is none. */
static void test_random_faults(void **state)
{
	struct fixture *f = *state;
	unsigned int round, i, j, n;
	uint32_t seed = 1;
	char text[32];

	for (round = 0; round < 40; round++) {
		whole(f, &neuron_gen_trn2, 1, round % 2 ? 4 : 1, 16);
		for (n = 0; n < round * 3; n++) {
			seed = seed * 1664525 + 1013904223;
			snprintf(text, sizeof(text), "%u:%u=down",
				 (seed >> 8) % f->map.nr, (seed >> 24) % 4);
			fault(f, text);
		}
		for (i = 0; i < f->map.nr; i++)
			for (j = 0; j < f->map.nr; j++)
				assert_int_equal(route(f, i, j).hops,
						 distance(f, i, j));
	}
}

/* --- text --- */

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"", "0", "0-1", "0-1=", "0-1=off", "0-0=down", "a-1=down",
		"0-16384=down", "0:16=down", "0-1=slow:0", "0-1=slow:101",
		"0-1=slow:", "0-1=mbps:0", "0-1=mbps:4294967296", "0-1=down,",
		"0-1=down ", "-1-2=down", "99999999999999999999-1=down",
	};
	struct trn_link_faults faults = { 0 };
	char text[TRN_LINK_TEXT];
	struct trn_link_fault one;
	const char *why, *rest;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(trn_link_parse(bad[i], &one, &why));
		assert_non_null(why);
	}
	rest = "3-16383=slow:25;9:15=down;1-2=mbps:7";
	for (i = 0; i < 3; i++) {
		rest = trn_link_parse(rest, &one, &why);
		assert_non_null(rest);
		assert_true(trn_link_set(&faults, &one));
		rest += *rest == ';';
	}
	trn_link_print(&faults, text, sizeof(text));
	assert_string_equal(text, "3-16383=slow:25;9:15=down;1-2=mbps:7");
	/* The order of the ends does not matter, and up forgets. */
	trn_link_parse("16383-3=up", &one, &why);
	assert_true(trn_link_set(&faults, &one));
	assert_int_equal(faults.nr, 2);
}

static void test_too_many(void **state)
{
	struct trn_link_faults faults = { 0 };
	struct trn_link_fault one = { .b = 16000, .down = true, .percent = 100 };

	(void)state;
	for (one.a = 0; one.a < TRN_LINK_FAULTS; one.a++)
		assert_true(trn_link_set(&faults, &one));
	assert_false(trn_link_set(&faults, &one));
	one.a = 5;
	assert_true(trn_link_set(&faults, &one));
}

#define TEST(test)	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_neighbours_trn1), TEST(test_neighbours_trn2),
		TEST(test_neighbours_two_boxes), TEST(test_neighbours_inf2),
		TEST(test_ultraserver), TEST(test_two_servers),
		TEST(test_switched), TEST(test_racks), TEST(test_two_ends),
		TEST(test_choice), TEST(test_torus_with_holes),
		TEST(test_hops_on_torus), TEST(test_fixed_way),
		TEST(test_detour), TEST(test_ring_partition),
		TEST(test_switch_faults), TEST(test_random_faults),
		TEST(test_parse), TEST(test_too_many),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
