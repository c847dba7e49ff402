// SPDX-License-Identifier: MIT
/*
 * What the scheduler does grows no faster than the program. Not time is measured but work: here
 * it is compiled so that it reports each of its basic blocks that is executed.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "neuron_builder.h"

#define SMALL	100
#define LARGE	(10 * SMALL)
/* Heaps are deeper in a larger program. */
#define PERCENT	120

static uint64_t blocks;

/* Called by the scheduler in each basic block. */
void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

/* Adds group @i. */
typedef void add_fn(struct nb_program *nb, unsigned int i);

/* What nothing may pass ends a region. */
static void end_region(struct nb_program *nb)
{
	nb_notify(nb, NEURON_ENGINE_VECTOR, 1);
}

static void add_registers(struct nb_program *nb, unsigned int i)
{
	unsigned int r;

	for (r = 0; r < 8; r++)
		nb_reg_set(nb, NEURON_ENGINE_VECTOR, r, i);
	end_region(nb);
}

/* A tile that dies in its region, and may move. */
static void add_tile(struct nb_program *nb, unsigned int i)
{
	int tile = nb_tile_new(nb, NB_SBUF, 128, NEURON_DTYPE_FP32, 16);
	struct neuron_ap ap = nb_tile_ap(nb, tile);

	(void)i;
	nb_memset(nb, NEURON_ENGINE_VECTOR, ap, 1.0f);
	nb_copy(nb, NEURON_ENGINE_SCALAR, ap, ap);
	nb_copy(nb, NEURON_ENGINE_VECTOR, ap, ap);
	nb_tile_end(nb, tile);
	end_region(nb);
}

/* A tile that dies in a later region, and one that may move. */
static void add_long_life(struct nb_program *nb, unsigned int i)
{
	int tile = nb_tile_new(nb, NB_SBUF, 128, NEURON_DTYPE_FP32, 16);
	struct neuron_ap ap = nb_tile_ap(nb, tile);

	nb_memset(nb, NEURON_ENGINE_VECTOR, ap, 1.0f);
	add_tile(nb, i);
	nb_copy(nb, NEURON_ENGINE_SCALAR, ap, ap);
	nb_tile_end(nb, tile);
}

/* A variable of its own. */
static void add_variable(struct nb_program *nb, unsigned int i)
{
	const uint32_t shape[] = { 128, 16 };
	const struct nb_side tile = nb_sbuf_tile(nb, 0, 128, 0, 64);
	char name[16];
	int out;

	snprintf(name, sizeof(name), "y%u", i);
	out = nb_output(nb, name, NEURON_DTYPE_FP32, 2, shape);
	if (!i)
		nb_queue(nb, "q", "data", NEURON_ENGINE_SYNC, 1);
	nb_dma(nb, 0, nb_rows(out, 0, 64, 128, 64), tile, -1);
	nb_reg_set(nb, NEURON_ENGINE_VECTOR, 1, i);
	end_region(nb);
}

/* A loop ends a region too. */
static void add_loop(struct nb_program *nb, unsigned int i)
{
	nb_begin_loop(nb, 1, 4);
	add_tile(nb, i);
	nb_end_loop(nb);
}

/* One region, in which everything may move. */
static void add_to_one_region(struct nb_program *nb, unsigned int i)
{
	int tile = nb_tile_new(nb, NB_SBUF, 128, NEURON_DTYPE_FP32, 16);
	struct neuron_ap ap = nb_tile_ap(nb, tile);

	(void)i;
	nb_memset(nb, NEURON_ENGINE_VECTOR, ap, 1.0f);
	nb_copy(nb, NB_ANY_ENGINE, ap, ap);
	nb_copy(nb, NEURON_ENGINE_VECTOR, ap, ap);
	nb_tile_end(nb, tile);
}

static uint64_t work(add_fn *add, unsigned int count)
{
	struct nb_program *nb = nb_new("linear");
	uint64_t begin;
	unsigned int i;

	nb_auto(nb);
	for (i = 0; i < count; i++)
		add(nb, i);
	if (nb_error(nb))
		fail_msg("%s", nb_error(nb));
	begin = blocks;
	if (nb_schedule(nb, NULL))
		fail_msg("%s", nb_error(nb));
	begin = blocks - begin;
	nb_free(nb);
	return begin;
}

static void expect_linear(const char *what, add_fn *add)
{
	uint64_t small = work(add, SMALL), large = work(add, LARGE);

	print_message("# %s: %" PRIu64 " blocks for each of %u groups, %" PRIu64 " of %u\n", what,
		      small / SMALL, SMALL, large / LARGE, LARGE);
	assert_true(small > SMALL);
	assert_true(large * SMALL * 100 <= small * LARGE * PERCENT);
}

static void regions_of_registers(void **state)
{
	(void)state;
	expect_linear("registers", add_registers);
}

static void regions_with_tiles(void **state)
{
	(void)state;
	expect_linear("tiles", add_tile);
	expect_linear("tiles of two regions", add_long_life);
}

static void regions_with_variables(void **state)
{
	(void)state;
	expect_linear("variables", add_variable);
}

static void loops(void **state)
{
	(void)state;
	expect_linear("loops", add_loop);
}

static void one_region(void **state)
{
	(void)state;
	expect_linear("one region", add_to_one_region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_of_registers),
		cmocka_unit_test(regions_with_tiles),
		cmocka_unit_test(regions_with_variables),
		cmocka_unit_test(loops),
		cmocka_unit_test(one_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
