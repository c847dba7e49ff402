// SPDX-License-Identifier: MIT
/*
 * Plans of all operations and algorithms, simulated: random groups, topologies, sizes and types
 * against the reference on the host.
 *
 * The arithmetic is one in which every order of operands has another result. So a sum is right
 * only if its order is the specified one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "neuron/isa.h"
#include "plan/check.h"
#include "plan/reference.h"
#include "plan/topology.h"
#include "plan/type.h"
#include "rounds.h"

#define MAX	NRT_PLAN_MAX_RANKS

struct random {
	uint64_t state;
};

static uint32_t draw(struct random *random, uint32_t below)
{
	uint64_t x = random->state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (uint32_t)((x ^ x >> 31) % below);
}

/* Mixes in each operand, and forgets nothing. */
static void mix(void *arg, enum nrt_plan_reduce reduce, void *dst, const void *const *src,
		unsigned int nr_src, size_t n)
{
	unsigned int size = *(unsigned int *)arg, s;
	uint64_t sum, next = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		for (sum = reduce, s = 0; s < nr_src; s++) {
			memcpy(&next, (const uint8_t *)src[s] + i * size, size);
			sum = (sum ^ next) * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019;
			sum ^= sum >> 29;
		}
		memcpy((uint8_t *)dst + i * size, &sum, size);
	}
}

/**
 * struct world - the ranks of a plan
 * @input, @meta: what they begin with
 */
struct world {
	struct nrt_plan *plan;
	struct nrt_plan_program programs[MAX];
	struct nrt_sim *sim;
	uint8_t *input[MAX];
	uint32_t *meta[MAX];
	struct nrt_error error;
};

static void world_fail(struct world *world, const struct nrt_plan_ask *ask, uint64_t seed)
{
	fail_msg("seed %llu: %s %s of %u ranks on %s, %llu of type %u%s: %s",
		 (unsigned long long)seed, nrt_plan_op_name(ask->op),
		 ask->algorithm ? ask->algorithm : "(table)", ask->nr_ranks,
		 nrt_plan_topology_name(ask->topology), (unsigned long long)ask->count,
		 ask->dtype, ask->in_place ? " in place" : "", world->error.text);
}

/* Counts and displacements that fit, the same for both sides where they must agree. */
static void fill_meta(struct world *world, struct random *random)
{
	const struct nrt_plan *plan = world->plan;
	unsigned int n = plan->nr_ranks, r, i;
	uint32_t counts[MAX];

	for (i = 0; i < n; i++)
		counts[i] = draw(random, (uint32_t)plan->count + 1);
	for (r = 0; r < n; r++) {
		uint32_t *meta = world->meta[r];

		for (i = 0; i < n; i++) {
			meta[NRT_PLAN_SEND_COUNTS * n + i] =
				plan->op == NRT_PLAN_REDUCE_SCATTER_V ? counts[i] :
				draw(random, (uint32_t)plan->count + 1);
			meta[NRT_PLAN_SEND_DISPLS * n + i] =
				plan->op == NRT_PLAN_ALL_GATHER_V ? 0 : i * (uint32_t)plan->count;
			meta[NRT_PLAN_RECV_COUNTS * n + i] = 0xffffffff;
			/* Blocks in backward order. */
			meta[NRT_PLAN_RECV_DISPLS * n + i] = (n - 1 - i) * (uint32_t)plan->count;
		}
	}
}

static void world_open(struct world *world, struct random *random)
{
	const struct nrt_plan *plan = world->plan;
	unsigned int r;
	uint64_t i;

	memset(world->programs, 0, sizeof(world->programs));
	for (r = 0; r < plan->nr_ranks; r++) {
		assert_int_equal(nrt_plan_program(plan, r, &world->programs[r], &world->error),
				 NRT_SUCCESS);
		world->input[r] = malloc(plan->bytes[NRT_PLAN_INPUT] + 1);
		world->meta[r] = calloc(1, plan->bytes[NRT_PLAN_META] + 1);
		for (i = 0; i < plan->bytes[NRT_PLAN_INPUT]; i++)
			world->input[r][i] = (uint8_t)draw(random, 256);
	}
	if (plan->bytes[NRT_PLAN_META])
		fill_meta(world, random);
	assert_int_equal(nrt_sim_new(plan, world->programs, &world->sim, &world->error),
			 NRT_SUCCESS);
}

static void world_close(struct world *world)
{
	unsigned int r;

	for (r = 0; r < world->plan->nr_ranks; r++) {
		nrt_plan_program_fini(&world->programs[r]);
		free(world->input[r]);
		free(world->meta[r]);
	}
	nrt_sim_free(world->sim);
	nrt_plan_free(world->plan);
}

static void put_inputs(struct world *world)
{
	const struct nrt_plan *plan = world->plan;
	unsigned int r;

	for (r = 0; r < plan->nr_ranks; r++) {
		memset(nrt_sim_space(world->sim, r, NRT_PLAN_OUTPUT), 0xa5,
		       plan->bytes[NRT_PLAN_OUTPUT]);
		memcpy(nrt_sim_space(world->sim, r, NRT_PLAN_INPUT), world->input[r],
		       plan->bytes[NRT_PLAN_INPUT]);
		memcpy(nrt_sim_space(world->sim, r, NRT_PLAN_META), world->meta[r],
		       plan->bytes[NRT_PLAN_META]);
	}
}

/* Counts that a receiver learns are those of the senders. */
static bool counts_agree(struct world *world, unsigned int rank)
{
	const struct nrt_plan *plan = world->plan;
	const uint32_t *meta = (uint32_t *)nrt_sim_space(world->sim, rank, NRT_PLAN_META);
	unsigned int n = plan->nr_ranks, s;

	if (plan->op < NRT_PLAN_ALL_GATHER_V || plan->op == NRT_PLAN_REDUCE_SCATTER_V ||
	    plan->recv_counts_known)
		return true;
	for (s = 0; s < n; s++)
		if (meta[NRT_PLAN_RECV_COUNTS * n + s] !=
		    world->meta[s][plan->op == NRT_PLAN_ALL_GATHER_V ? 0 : rank])
			return false;
	return true;
}

static void compare(struct world *world, const struct nrt_plan_ask *ask, uint64_t seed)
{
	const struct nrt_plan *plan = world->plan;
	unsigned int element = plan->element, r;
	struct nrt_reference reference = {
		.plan = plan, .input = (const uint8_t *const *)world->input,
		.meta = (const uint32_t *const *)world->meta, .combine = mix, .arg = &element,
	};
	uint64_t bytes = plan->bytes[NRT_PLAN_OUTPUT];
	uint8_t *want = malloc(bytes + 1);

	for (r = 0; r < plan->nr_ranks; r++) {
		/* What is not written stays, in place the input. */
		memset(want, 0xa5, bytes);
		if (plan->in_place && plan->op == NRT_PLAN_PERMUTE)
			memcpy(want, world->input[r], bytes);
		if (nrt_plan_reference(&reference, r, want, &world->error))
			world_fail(world, ask, seed);
		snprintf(world->error.text, sizeof(world->error.text), "rank %u: wrong result", r);
		if (memcmp(want, nrt_sim_space(world->sim, r, NRT_PLAN_OUTPUT), bytes) ||
		    !counts_agree(world, r))
			world_fail(world, ask, seed);
	}
	free(want);
}

/* false: the group cannot have this algorithm, or too little is left for it. */
static bool try_plan(const struct nrt_plan_ask *ask, uint64_t seed)
{
	struct random random = { seed };
	struct world world;
	unsigned int element;
	struct nrt_sim_how how = { .seed = seed, .combine = mix, .arg = &element };

	if (nrt_plan_make(ask, &world.plan, &world.error)) {
		if (!ask->algorithm || world.error.status != NRT_INVALID)
			world_fail(&world, ask, seed);
		return false;
	}
	world_open(&world, &random);
	element = world.plan->element;
	how.cc_cores = 1 + draw(&random, 4);
	how.rounds = 1 + draw(&random, 3);
	put_inputs(&world);
	if (nrt_plan_check(world.plan, world.programs, &world.error) ||
	    nrt_sim_run(world.sim, &how, &world.error))
		world_fail(&world, ask, seed);
	if (how.rounds == 1 || !ask->in_place)
		compare(&world, ask, seed);
	world_close(&world);
	return true;
}

/* Fabrics on which groups live: topology, servers, chips of each, cores of a chip. */
static const struct fabric {
	enum nrt_plan_topology topology;
	unsigned int servers;
	unsigned int chips;
	unsigned int cores;
} fabrics[] = {
	{ NRT_PLAN_ANY, 1, 1, 8 },
	{ NRT_PLAN_LINE, 1, 12, 2 },
	{ NRT_PLAN_TORUS2D, 1, 16, 1 },
	{ NRT_PLAN_TORUS2D, 1, 16, 2 },
	{ NRT_PLAN_TORUS2D, 2, 16, 2 },
	{ NRT_PLAN_TORUS3D, 2, 16, 1 },
	{ NRT_PLAN_TORUS3D, 4, 16, 1 },
	{ NRT_PLAN_SWITCH, 4, 4, 2 },
	{ NRT_PLAN_SWITCH, 4, 16, 1 },
	{ NRT_PLAN_ANY, 5, 3, 2 },
	{ NRT_PLAN_ANY, 4, 2, 2 },
};

#define NR_FABRICS	(sizeof(fabrics) / sizeof(fabrics[0]))

/* All cores of @fabric, or a part of them, in order or shuffled. Return: how many. */
static unsigned int draw_group(struct random *random, const struct fabric *fabric,
			       struct nrt_plan_place *places)
{
	unsigned int all = fabric->servers * fabric->chips * fabric->cores, n, i, j;

	for (i = 0; i < all; i++)
		places[i] = (struct nrt_plan_place){
			.server = (uint16_t)(i / (fabric->chips * fabric->cores)),
			.chip = (uint16_t)(i / fabric->cores % fabric->chips),
			.core = (uint16_t)(i % fabric->cores),
		};
	if (draw(random, 2))
		return all;
	for (i = 0; i < all; i++) {
		struct nrt_plan_place place = places[i];

		j = i + draw(random, all - i);
		places[i] = places[j];
		places[j] = place;
	}
	n = 1 + draw(random, all < 20 ? all : 20);
	return n;
}

static const uint8_t types[] = {
	NEURON_DTYPE_UINT8, NEURON_DTYPE_INT8, NEURON_DTYPE_FP8_E4, NEURON_DTYPE_UINT16,
	NEURON_DTYPE_INT16, NEURON_DTYPE_FP16, NEURON_DTYPE_BF16, NEURON_DTYPE_UINT32,
	NEURON_DTYPE_INT32, NEURON_DTYPE_FP32, NEURON_DTYPE_INT64,
};

static void draw_pairs(struct random *random, struct nrt_plan_ask *ask,
		       struct nrt_plan_pair *pairs)
{
	unsigned int n = ask->nr_ranks, step = draw(random, n), i;

	ask->pairs = pairs;
	ask->nr_pairs = 1 + draw(random, n);
	for (i = 0; i < ask->nr_pairs; i++)
		pairs[i] = (struct nrt_plan_pair){ (uint16_t)i, (uint16_t)((i + step) % n) };
}

static bool can_be_in_place(enum nrt_plan_op op)
{
	return op == NRT_PLAN_ALL_REDUCE || op == NRT_PLAN_REDUCE_SCATTER ||
	       op == NRT_PLAN_ALL_GATHER || op == NRT_PLAN_ALL_TO_ALL || op == NRT_PLAN_PERMUTE ||
	       op == NRT_PLAN_BROADCAST;
}

static bool must_reduce(enum nrt_plan_op op)
{
	return op == NRT_PLAN_ALL_REDUCE || op == NRT_PLAN_REDUCE_SCATTER ||
	       op == NRT_PLAN_REDUCE_SCATTER_V;
}

static void draw_ask(struct random *random, struct nrt_plan_ask *ask,
		     const struct fabric *fabric, struct nrt_plan_place *places,
		     struct nrt_plan_pair *pairs)
{
	*ask = (struct nrt_plan_ask){
		.op = draw(random, draw(random, 2) ? 3 : NRT_PLAN_NR_OPS),
		.topology = fabric->topology, .dtype = types[draw(random, sizeof(types))],
		.places = places,
	};
	ask->nr_ranks = draw_group(random, fabric, places);
	ask->count = draw(random, 8) ? draw(random, 50) : draw(random, 900);
	if (ask->nr_ranks > 20)
		ask->count %= 20;
	if (must_reduce(ask->op) || (ask->op == NRT_PLAN_PERMUTE_RING && draw(random, 2))) {
		ask->reduce = 1 + draw(random, NRT_PLAN_MAX);
		if (ask->dtype == NEURON_DTYPE_INT64)
			ask->dtype = NEURON_DTYPE_FP32;
	}
	ask->in_place = can_be_in_place(ask->op) && draw(random, 2);
	ask->recv_counts_known = draw(random, 2);
	ask->has_rdispls = ask->op == NRT_PLAN_ALL_TO_ALL_V && draw(random, 2);
	ask->root = draw(random, ask->nr_ranks);
	ask->nr_channels = draw(random, 2) ? 1 + draw(random, 5) : 0;
	ask->align = draw(random, 2) ? nrt_plan_type_size(ask->dtype) : 0;
	ask->slice = draw(random, 2) ? 8 * (1 + draw(random, 20)) : 0;
	draw_pairs(random, ask, pairs);
}

static const char * const algorithms[] = {
	NULL, "ring", "mesh", "mesh1", "kangaring", "rdh", "hier", "hier:mesh+mesh",
	"hier:kangaring+rdh", "hier:rdh+ring", "chip:mesh+rdh", "chip:mesh+mesh", "chip:ring+ring",
	"chip:kangaring+ring",
};

#define NR_ALGORITHMS	(sizeof(algorithms) / sizeof(algorithms[0]))

/* @NRT_PLAN_SEED begins elsewhere, @NRT_PLAN_ROUNDS says how many: one runs a seed alone. */
static void test_random(void **state)
{
	const char *seed = getenv("NRT_PLAN_SEED"), *told = getenv("NRT_PLAN_ROUNDS");
	uint64_t first = seed ? strtoull(seed, NULL, 0) : 1, i;
	uint64_t nr = told ? strtoull(told, NULL, 0) : rounds(100, 1000);
	unsigned int done[NR_ALGORITHMS] = { 0 }, a;
	struct nrt_plan_place places[MAX];
	struct nrt_plan_pair pairs[MAX];
	struct nrt_plan_ask ask;

	(void)state;
	for (i = 0; i < nr; i++) {
		struct random random = { (first + i) * 1000003 };

		draw_ask(&random, &ask, &fabrics[draw(&random, NR_FABRICS)], places, pairs);
		a = draw(&random, NR_ALGORITHMS);
		if (ask.nr_ranks > 40 && ask.nr_channels > 2)
			ask.nr_channels = 1;
		ask.algorithm = algorithms[a];
		done[a] += try_plan(&ask, first + i);
	}
	for (a = 0; !seed && !told && a < NR_ALGORITHMS; a++)
		if (!done[a])
			fail_msg("%s was never tried", algorithms[a]);
}

/* Large groups: 64 and 144 chips. */
static void test_large(void **state)
{
	static const struct large {
		struct fabric fabric;
		const char *algorithm;
	} large[] = {
		{ { NRT_PLAN_TORUS2D, 1, 16, 4 }, "ring" },
		{ { NRT_PLAN_TORUS2D, 1, 16, 4 }, "mesh" },
		{ { NRT_PLAN_TORUS2D, 1, 16, 4 }, "kangaring" },
		{ { NRT_PLAN_TORUS2D, 1, 16, 4 }, "chip:mesh+rdh" },
		{ { NRT_PLAN_TORUS3D, 4, 16, 1 }, "ring" },
		{ { NRT_PLAN_TORUS3D, 4, 16, 1 }, "rdh" },
		{ { NRT_PLAN_SWITCH, 4, 16, 1 }, "hier:mesh+mesh" },
		{ { NRT_PLAN_SWITCH, 36, 4, 1 }, "ring" },
		{ { NRT_PLAN_SWITCH, 36, 4, 1 }, "hier:mesh+ring" },
	};
	struct nrt_plan_place places[MAX];
	struct nrt_plan_ask ask;
	unsigned int i, r;

	(void)state;
	for (i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		const struct fabric *fabric = &large[i].fabric;

		ask = (struct nrt_plan_ask){
			.op = i % 3, .reduce = i % 3 < 2 ? NRT_PLAN_ADD : 0,
			.dtype = NEURON_DTYPE_FP32, .count = i % 3 ? 3 : 300,
			.topology = fabric->topology, .places = places,
			.algorithm = large[i].algorithm, .in_place = i % 2,
		};
		ask.nr_ranks = fabric->servers * fabric->chips * fabric->cores;
		for (r = 0; r < ask.nr_ranks; r++)
			places[r] = (struct nrt_plan_place){
				.server = (uint16_t)(r / (fabric->chips * fabric->cores)),
				.chip = (uint16_t)(r / fabric->cores % fabric->chips),
				.core = (uint16_t)(r % fabric->cores),
			};
		assert_true(try_plan(&ask, i));
	}
}

/* What a test breaks in a program. */
enum damage { NO_WAIT, NO_POST, OTHER_PLACE, NR_DAMAGES };

/* Break step @s of rank @rank; false: it has no such thing. */
static bool spoil(struct world *world, unsigned int rank, size_t s, enum damage damage)
{
	struct nrt_plan_program *program = &world->programs[rank];
	struct nrt_plan_step *step = &program->steps[s];

	switch (damage) {
	case NO_WAIT:
		if (!step->nr_wait)
			return false;
		step->nr_wait--;
		step->first_sync++;
		return true;
	case NO_POST:
		if (!step->nr_post)
			return false;
		step->nr_post--;
		return true;
	default:
		if (!step->move || !program->ends[step->first_end].offset)
			return false;
		program->ends[step->first_end].offset -= world->plan->element;
		return true;
	}
}

/* The plan with one thing broken: is it noticed, without running and by running? */
static void try_damage(const struct nrt_plan_ask *ask, unsigned int rank, size_t s,
		       enum damage damage, unsigned int *tried)
{
	struct random random = { 1 };
	unsigned int element = 4, r;
	struct nrt_sim_how how = { .seed = s, .combine = mix, .arg = &element };
	struct world world;
	bool same = true;
	uint8_t *want;

	assert_int_equal(nrt_plan_make(ask, &world.plan, &world.error), NRT_SUCCESS);
	world_open(&world, &random);
	put_inputs(&world);
	if (s >= world.programs[rank].nr_steps || !spoil(&world, rank, s, damage)) {
		world_close(&world);
		return;
	}
	*tried += 1;
	if (damage != OTHER_PLACE)
		assert_int_equal(nrt_plan_check(world.plan, world.programs, &world.error),
				 NRT_FAILURE);
	if (!nrt_sim_run(world.sim, &how, &world.error)) {
		struct nrt_reference reference = {
			.plan = world.plan, .input = (const uint8_t *const *)world.input,
			.combine = mix, .arg = &element,
		};

		want = calloc(1, world.plan->bytes[NRT_PLAN_OUTPUT] + 1);
		for (r = 0; r < ask->nr_ranks; r++) {
			nrt_plan_reference(&reference, r, want, &world.error);
			same &= !memcmp(want, nrt_sim_space(world.sim, r, NRT_PLAN_OUTPUT),
					world.plan->bytes[NRT_PLAN_OUTPUT]);
		}
		free(want);
		if (same)
			fail_msg("%s, rank %u, step %zu: damage %d was not noticed",
				 ask->algorithm, rank, s, damage);
	}
	world_close(&world);
}

/* A wait, a post or a place that is missing or wrong anywhere does not go unnoticed. */
static void test_damage(void **state)
{
	static const char * const of[] = { "ring", "mesh", "rdh", "kangaring" };
	struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = 16, .nr_ranks = 4, .align = 4,
	};
	const struct nrt_plan_place places[4] = { { 0 }, { .core = 1 }, { .chip = 1 },
						  { .chip = 1, .core = 1 } };
	unsigned int a, d, tried;
	size_t s;

	(void)state;
	ask.places = places;
	for (a = 0; a < 4; a++) {
		ask.algorithm = of[a];
		for (d = 0; d < NR_DAMAGES; d++) {
			for (s = 0, tried = 0; s < 30; s++)
				try_damage(&ask, 2, s, d, &tried);
			assert_true(tried > 0);
		}
	}
}

/* Neighbours on a torus of @servers servers. */
static bool linked(const struct nrt_plan_place *a, const struct nrt_plan_place *b,
		   unsigned int servers)
{
	int row = abs(a->chip / 4 - b->chip / 4), column = abs(a->chip % 4 - b->chip % 4);
	int server = abs(a->server - b->server);

	if (server)
		return a->chip == b->chip && (server == 1 || server == (int)servers - 1);
	return (!row && (column == 1 || column == 3)) || (!column && (row == 1 || row == 3));
}

/* Each channel's ring on a torus uses links; rings of different cycles use different ones. */
static void test_cycles(void **state)
{
	static bool used[64][64];
	struct nrt_plan_place places[64];
	struct nrt_plan plan = { .places = places };
	uint16_t rank[64], ring[64];
	unsigned int servers, n, i, c;

	(void)state;
	for (servers = 1; servers <= 4; servers *= 2) {
		plan.topology = servers == 1 ? NRT_PLAN_TORUS2D : NRT_PLAN_TORUS3D;
		n = servers * 16;
		for (i = 0; i < n; i++) {
			places[i] = (struct nrt_plan_place){ (uint16_t)(i / 16),
							     (uint16_t)(i % 16), 0 };
			rank[i] = (uint16_t)i;
		}
		memset(used, 0, sizeof(used));
		assert_int_equal(nrt_ring_cycles(&plan, rank, n), 4);
		for (c = 0; c < (servers == 2 ? 2 : 4); c++) {
			nrt_ring_order(&plan, rank, n, c, ring);
			for (i = 0; i < n; i++) {
				unsigned int from = ring[i], to = ring[(i + 1) % n];

				assert_true(linked(&places[from], &places[to], servers));
				assert_false(used[from][to]);
				used[from][to] = true;
			}
		}
	}
}

/* A server with 64 chips has the rings of four servers. */
static void test_large_server(void **state)
{
	struct nrt_plan_place servers[64], chips[64];
	struct nrt_plan four = { .topology = NRT_PLAN_TORUS3D, .places = servers };
	struct nrt_plan one = { .topology = NRT_PLAN_TORUS3D, .places = chips };
	uint16_t rank[64], expected[64], ring[64];
	unsigned int i, c;

	(void)state;
	for (i = 0; i < 64; i++) {
		rank[i] = (uint16_t)i;
		servers[i] = (struct nrt_plan_place){ (uint16_t)(i / 16), (uint16_t)(i % 16), 0 };
		chips[i] = (struct nrt_plan_place){ 0, (uint16_t)i, 0 };
	}
	assert_int_equal(nrt_ring_cycles(&one, rank, 64), 4);
	for (c = 0; c < 4; c++) {
		nrt_ring_order(&four, rank, 64, c, expected);
		nrt_ring_order(&one, rank, 64, c, ring);
		assert_memory_equal(ring, expected, sizeof(ring));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_large_server),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests_name("nrt_plan_sim", tests, NULL, NULL);
}
