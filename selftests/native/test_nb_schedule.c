// SPDX-License-Identifier: MIT
/*
 * Scheduling changes no bit: programs by chance, scheduled, against the same ones with each
 * instruction after the one before it; no race on chips that check. NB_SCHEDULE_PROGRAMS in the
 * environment is the number of programs, NB_SCHEDULE_SEED the first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync_run.h"
#include "tile_program.h"

#define PROGRAMS	36

/* What may change, in turns. */
static const struct nb_schedule_options choices[] = {
	{ 0 },
	{ .queues = 1 },
	{ .keep_queues = true },
	{ .keep_tiles = true, .queues = 4 },
	{ .keep_engines = true },
	{ .keep_order = true },
};

#define CHOICES	(sizeof(choices) / sizeof(choices[0]))

/**
 * struct tally - over all programs
 * @moved: programs in which an instruction is at another place than before
 * @moved_second: the same in the second program of a pair
 */
struct tally {
	unsigned int programs;
	unsigned int moved;
	unsigned int moved_second;
};

/* The streams differ in more than waits: the order of opcodes is another one. */
static bool is_moved(struct nb_program *before, struct nb_program *after)
{
	unsigned int e;
	uint32_t i;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (nb_here(before, e) != nb_here(after, e))
			return true;
		for (i = 0; i < nb_here(before, e); i++)
			if (memcmp(&nb_inst(before, e, i)->dst, &nb_inst(after, e, i)->dst,
				   sizeof(struct neuron_ap)))
				return true;
	}
	return false;
}

static void expect_equal_bytes(struct nb_program *a, struct nb_program *b, uint64_t seed)
{
	void *x = NULL, *y = NULL;
	size_t n = 0, m = 0;

	if (nb_pack(a, &x, &n) || nb_pack(b, &y, &m))
		fail_msg("seed %" PRIu64 ": %s", seed, nb_error(nb_error(a) ? a : b));
	if (n != m || memcmp(x, y, n))
		fail_msg("seed %" PRIu64 ": scheduled twice, it is not the same", seed);
	free(x);
	free(y);
}

/* The program of a seed, for the builder to synchronise, and what it is compared with. */
typedef struct nb_program *make_fn(uint64_t seed, unsigned int generation);

static struct nb_program *instructions(uint64_t seed, unsigned int generation)
{
	struct sync_program program;

	sync_program_make(&program, seed, generation, seed % 2);
	return sync_program_auto(&program);
}

static struct nb_program *instructions_in_turns(uint64_t seed, unsigned int generation)
{
	struct sync_program program;

	sync_program_make(&program, seed, generation, seed % 2);
	return sync_program_serial(&program);
}

/* For the two cores of a pair, which meet by barriers and share matrices. */
static struct nb_program *pair(uint64_t seed, unsigned int generation)
{
	struct sync_program program[2];

	sync_pair_make(program, seed, generation, seed % 2);
	return sync_program_auto(program);
}

static struct nb_program *pair_in_turns(uint64_t seed, unsigned int generation)
{
	struct sync_program program[2];

	sync_pair_make(program, seed, generation, seed % 2);
	return sync_program_serial(program);
}

/**
 * struct source - of programs
 * @cores: 2: of pairs
 * @make: for the builder to synchronise
 * @other: what they are compared with
 */
struct source {
	unsigned int cores;
	make_fn *make;
	make_fn *other;
};

static struct nb_program *made(make_fn *make, uint64_t seed, unsigned int generation)
{
	struct nb_program *nb = make(seed, generation);

	assert_non_null(nb);
	if (nb_error(nb))
		fail_msg("seed %" PRIu64 ": %s", seed, nb_error(nb));
	return nb;
}

static void schedule(struct nb_program *nb, uint64_t seed)
{
	if (nb_schedule(nb, &choices[seed % CHOICES]))
		fail_msg("seed %" PRIu64 ": %s", seed, nb_error(nb));
}

static struct nb_program *scheduled(const struct source *source, uint64_t seed,
				    unsigned int generation)
{
	struct nb_program *nb = made(source->make, seed, generation);

	schedule(nb, seed);
	if (source->cores == 2)
		schedule(nb_second(nb), seed);
	return nb;
}

static void try_program(struct machine *machine, const struct source *source, uint64_t seed,
			struct tally *tally)
{
	unsigned int generation = machine->gen->generation, cores = source->cores;
	struct nb_program *nb = scheduled(source, seed, generation);
	struct nb_program *again = scheduled(source, seed, generation);
	struct nb_program *plain = made(source->make, seed, generation);
	struct nb_program *wanted = made(source->other, seed, generation);
	struct run a, b;

	tally->programs++;
	tally->moved += is_moved(plain, nb);
	tally->moved_second += cores == 2 && is_moved(nb_second(plain), nb_second(nb));
	sync_execute(machine, nb, cores, seed, &a);
	sync_expect_clean(machine, nb, &a, seed);
	sync_execute(machine, wanted, cores, seed, &b);
	sync_expect_same(&a, &b, seed);
	expect_equal_bytes(nb, again, seed);
	run_free(&a);
	run_free(&b);
	nb_free(nb);
	nb_free(again);
	nb_free(plain);
	nb_free(wanted);
}

/* There are no pairs on trn1. */
static void try_programs(const struct source *source, struct tally *tally)
{
	uint64_t programs = sync_setting("NB_SCHEDULE_PROGRAMS", PROGRAMS), i;
	uint64_t first = sync_setting("NB_SCHEDULE_SEED", 1);
	unsigned int oldest = source->cores - 1, gens = 3 - oldest, m;
	struct machine machine[6];

	for (m = 0; m < 2 * gens; m++)
		machine_begin(&machine[m], sync_gens[oldest + m % gens],
			      m < gens ? TRN_POOL_STEPPED : 2);
	for (i = first; i < first + programs; i++)
		try_program(&machine[i / CHOICES % (2 * gens)], source, i, tally);
	for (m = 0; m < 2 * gens; m++)
		seq_rig_destroy(&machine[m].rig);
	print_message("# %u of %u programs were changed\n", tally->moved, tally->programs);
	assert_true(tally->moved * 2 > tally->programs);
}

/* Instructions of all kinds at told places, loops, registers, generated descriptors. */
static void programs_keep_their_bits(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	try_programs(&(struct source){ 1, instructions, instructions_in_turns }, &tally);
}

/* Tiles with lifetimes. */
static void tiles_keep_their_bits(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	try_programs(&(struct source){ 1, tile_program, tile_program }, &tally);
}

/* Each program of a pair is scheduled by itself. */
static void pairs_keep_their_bits(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	try_programs(&(struct source){ 2, pair, pair_in_turns }, &tally);
	assert_true(tally.moved_second * 2 > tally.programs);
}

/* --- Loops that end by a test --- */

static unsigned int count_opcode(struct nb_program *nb, enum neuron_engine e,
				 enum neuron_opcode opcode)
{
	unsigned int count = 0;
	uint32_t i;

	for (i = 0; i < nb_here(nb, e); i++)
		count += nb_inst(nb, e, i)->opcode == opcode;
	return count;
}

/*
 * Only such a loop keeps its engines, because others lack the register. In front of it the load
 * goes to the sync engine, and what does not need it goes first.
 */
static void a_loop_with_a_test_keeps_its_engines(void **state)
{
	const enum neuron_engine vector = NEURON_ENGINE_VECTOR, scalar = NEURON_ENGINE_SCALAR;
	const uint32_t shape[] = { 128, 256 };
	struct nb_program *nb = nb_new("test");
	struct neuron_ap x, y;
	int in, out, queue, tile[2];

	(void)state;
	nb_auto(nb);
	in = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, shape);
	out = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, shape);
	queue = nb_queue(nb, "q", "data", scalar, 1);
	tile[0] = nb_tile_new(nb, NB_SBUF, 128, NEURON_DTYPE_FP32, 256);
	tile[1] = nb_tile_new(nb, NB_SBUF, 128, NEURON_DTYPE_FP32, 256);
	x = nb_tile_ap(nb, tile[0]);
	y = nb_tile_ap(nb, tile[1]);
	nb_dma(nb, queue, nb_tile_side(nb, tile[0]), nb_rows(in, 0, 1024, 128, 1024), -1);
	nb_tensor_tensor(nb, vector, NEURON_ALU_ADD, x, x, x);
	nb_memset(nb, vector, y, 1.0f);
	nb_reg_set(nb, vector, 3, 2);
	nb_reg_set(nb, scalar, 3, 2);
	nb_begin_while(nb, NEURON_ALU_IS_GT, 3, 0, 0);
	nb_reg_alu(nb, vector, NEURON_ALU_SUBTRACT, 3, 3, 1);
	nb_reg_alu(nb, scalar, NEURON_ALU_SUBTRACT, 3, 3, 1);
	nb_tensor_tensor(nb, NB_ANY_ENGINE, NEURON_ALU_ADD, y, y, x);
	nb_copy(nb, scalar, y, x);
	nb_end_loop(nb);
	nb_dma(nb, queue, nb_rows(out, 0, 1024, 128, 1024), nb_tile_side(nb, tile[1]), -1);
	if (nb_schedule(nb, NULL))
		fail_msg("%s", nb_error(nb));
	assert_int_equal(count_opcode(nb, NEURON_ENGINE_SYNC, NEURON_OP_PSEUDO_DMA_TRIGGER), 1);
	assert_int_equal(count_opcode(nb, vector, NEURON_OP_TENSOR_TENSOR), 2);
	assert_int_equal(nb_inst(nb, vector, 0)->opcode, NEURON_OP_MEMSET);
	if (nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
}

/* Tiles are loaded, doubled and stored; with @loop, half of them behind a loop. */
static struct nb_program *doubled(bool loop)
{
	const enum neuron_engine vector = NEURON_ENGINE_VECTOR;
	const uint32_t shape[] = { 1024, 512 };
	struct nb_program *nb = nb_new("test");
	int in, out, queue, tile;
	struct neuron_ap x;
	uint64_t row;

	nb_auto(nb);
	in = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, shape);
	out = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, shape);
	queue = nb_queue(nb, "q", "data", vector, 1);
	for (row = 0; row < 1024; row += 128) {
		if (loop && row == 512) {
			nb_begin_loop(nb, 3, 2);
			nb_memset(nb, vector, nb_tile(0, 128, 65536, NEURON_DTYPE_FP32, 64), 1.0f);
			nb_end_loop(nb);
		}
		tile = nb_tile_new(nb, NB_SBUF, 128, NEURON_DTYPE_FP32, 512);
		x = nb_tile_ap(nb, tile);
		nb_dma(nb, queue, nb_tile_side(nb, tile),
		       nb_rows(in, row * 2048, 2048, 128, 2048), -1);
		nb_tensor_tensor(nb, vector, NEURON_ALU_ADD, x, x, x);
		nb_dma(nb, queue, nb_rows(out, row * 2048, 2048, 128, 2048),
		       nb_tile_side(nb, tile), -1);
		nb_tile_end(nb, tile);
	}
	return nb;
}

/* The sync engine starts @count transfers; there are queues for stores alone if it is not all. */
static void expect_started(bool loop, const struct nb_schedule_options *options, unsigned int count)
{
	struct nb_program *nb = doubled(loop);

	if (nb_schedule(nb, options))
		fail_msg("%s", nb_error(nb));
	assert_int_equal(count_opcode(nb, NEURON_ENGINE_SYNC, NEURON_OP_PSEUDO_DMA_TRIGGER), count);
	assert_true(nb_find_queue(nb, "scheduled") >= 0);
	assert_int_equal(nb_find_queue(nb, "scheduled_out") >= 0, count < 16);
	if (nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
}

/* Where that would not hold back loads, stores are behind them on the same queues. */
static void stores_share_the_queues_of_loads(void **state)
{
	(void)state;
	expect_started(false, NULL, 16);
	expect_started(true, NULL, 8);
	expect_started(false, &(struct nb_schedule_options){ .keep_order = true }, 8);
}

/* The queues are there, with a number where the program has such names. */
static void queues_have_names_of_their_own(void **state)
{
	const struct nb_schedule_options options = { .keep_order = true };
	struct nb_program *nb = doubled(false);
	const char *const taken[] = { "scheduled", "scheduled_out", "scheduled_out.2" };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		nb_queue(nb, taken[i], "data", NEURON_ENGINE_VECTOR, 1);
	if (nb_schedule(nb, &options) || nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	assert_true(nb_find_queue(nb, "scheduled.2") >= 0);
	assert_true(nb_find_queue(nb, "scheduled_out.3") >= 0);
	nb_free(nb);
}

/* Queues for stores alone are only tried, so the program works without them. */
static void few_queues_are_enough(void **state)
{
	struct nb_program *nb = doubled(false);
	unsigned int left;
	char name[16];

	(void)state;
	for (left = NEURON_JOB_MAX_QUEUES - 1; left > 16; left--) {
		snprintf(name, sizeof(name), "q%u", left);
		nb_queue(nb, name, "data", NEURON_ENGINE_VECTOR, 1);
	}
	if (nb_schedule(nb, NULL) || nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
}

/* Small loads and stores, which take longer to start than to move. Before them, @copies. */
static struct nb_program *small_transfers(unsigned int copies)
{
	const enum neuron_engine vector = NEURON_ENGINE_VECTOR;
	const uint32_t shape[] = { 256, 16 };
	struct nb_program *nb = nb_new("test");
	struct neuron_ap x = nb_tile(0, 128, 65536, NEURON_DTYPE_FP32, 4096);
	int in, out, queue, tile;
	uint64_t at;

	nb_auto(nb);
	in = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, shape);
	out = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, shape);
	queue = nb_queue(nb, "q", "data", vector, 1);
	while (copies--)
		nb_copy(nb, vector, x, x);
	nb_begin_loop(nb, 3, 1);
	nb_memset(nb, vector, x, 1.0f);
	nb_end_loop(nb);
	for (at = 0; at < 256 * 64; at += 64) {
		tile = nb_tile_new(nb, NB_SBUF, 1, NEURON_DTYPE_FP32, 16);
		nb_dma(nb, queue, nb_tile_side(nb, tile), nb_linear(in, at, 64), -1);
		nb_dma(nb, queue, nb_linear(out, at, 64), nb_tile_side(nb, tile), -1);
		nb_tile_end(nb, tile);
	}
	return nb;
}

static void expect_apart(unsigned int copies)
{
	struct nb_program *nb = small_transfers(copies);

	if (nb_schedule(nb, NULL) || nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	assert_true(nb_find_queue(nb, "scheduled_0") >= 0);
	assert_true(nb_find_queue(nb, "scheduled_out_0") >= 0);
	nb_free(nb);
}

/* Two engines start more. How long the regions before take has nothing to do with it. */
static void stores_go_apart_where_that_is_faster(void **state)
{
	(void)state;
	expect_apart(0);
	expect_apart(1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_keep_their_bits),
		cmocka_unit_test(tiles_keep_their_bits),
		cmocka_unit_test(pairs_keep_their_bits),
		cmocka_unit_test(a_loop_with_a_test_keeps_its_engines),
		cmocka_unit_test(stores_share_the_queues_of_loads),
		cmocka_unit_test(queues_have_names_of_their_own),
		cmocka_unit_test(few_queues_are_enough),
		cmocka_unit_test(stores_go_apart_where_that_is_faster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
