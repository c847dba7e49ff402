// SPDX-License-Identifier: MIT
/*
 * The builder's tiles and the waits that it makes: where tiles lie, what does not fit, which
 * waits there are and what they are for, and what programs with nb_auto() must not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nb_rig.h"
#include "neuron/dma_op.h"
#include "neuron/regs.h"

static unsigned int partition_of(struct neuron_ap ap)
{
	return NEURON_GET(NEURON_AP_PARTITION, ap.addr);
}

static unsigned int offset_of(struct neuron_ap ap)
{
	return NEURON_GET(NEURON_AP_OFFSET, ap.addr);
}

/* --- Tiles --- */

/* One behind the other, and the first place again when the end is reached. */
static void places_go_round(void **state)
{
	struct nb_program *nb = begin();
	const unsigned int bytes = 64 * 1024;
	unsigned int i;
	int tile;

	(void)state;
	for (i = 0; i < 7; i++) {
		tile = nb_tile_new(nb, NB_SBUF, 128, F32, bytes / 4);
		assert_int_equal(offset_of(nb_tile_ap(nb, tile)), i % 3 * bytes);
		nb_tile_end(nb, tile);
	}
	assert_null(nb_error(nb));
	nb_free(nb);
}

/* Narrow tiles lie beside each other in the partitions that the instruction set allows. */
static void quadrants_are_shared(void **state)
{
	const struct { unsigned int partitions, first, offset; } want[] = {
		{ 32, 0, 0 }, { 64, 0, 64 }, { 33, 64, 64 }, { 1, 0, 128 }, { 96, 0, 192 },
	};
	struct nb_program *nb = begin();
	struct neuron_ap ap;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		ap = nb_tile_ap(nb, nb_tile_at(nb, NB_SBUF, want[i].first, want[i].partitions,
					       want[i].offset, F32, 16));
		assert_int_equal(partition_of(ap), want[i].first);
	}
	ap = nb_tile_ap(nb, nb_tile_new(nb, NB_SBUF, 32, F32, 16));
	assert_int_equal(partition_of(ap), 32);
	assert_int_equal(offset_of(ap), 0);
	assert_null(nb_error(nb));
	nb_free(nb);
}

static void psum_tiles_stay_in_a_bank(void **state)
{
	struct nb_program *nb = begin();
	unsigned int at;

	(void)state;
	nb_tile_new(nb, NB_PSUM, 128, F32, 400);
	at = offset_of(nb_tile_ap(nb, nb_tile_new(nb, NB_PSUM, 128, F32, 400)));
	assert_int_equal(at, NEURON_TPB_PSUM_STRIDE / NEURON_PSUM_BANKS);
	assert_null(nb_error(nb));
	nb_free(nb);
}

static void sizes_depend_on_the_generation(void **state)
{
	static const unsigned int kib[] = { 192, 224, 256 };
	struct nb_program *nb;
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		nb = begin();
		nb_generation(nb, 2 + i);
		nb_tile_new(nb, NB_SBUF, 128, NEURON_DTYPE_UINT64, kib[i] * 128 - 1);
		assert_null(nb_error(nb));
		nb_tile_new(nb, NB_SBUF, 1, NEURON_DTYPE_UINT64, 9);
		expect_error(nb,
			     "SBUF has no room for a tile of 1 partitions with 72 bytes each: the tiles that are alive leave none");
	}
}

static void what_does_not_fit_is_an_error(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_source(nb, "k.c", 7);
	assert_int_equal(nb_tile_new(nb, NB_PSUM, 128, F32, 4097), -1);
	expect_error(nb,
		     "k.c:7: a tile of 16388 bytes in each partition does not fit in PSUM, which has 16384");
	nb = begin();
	nb_tile_at(nb, NB_SBUF, 0, 64, 0x100, F32, 16);
	nb_tile_at(nb, NB_SBUF, 32, 32, 0x13c, F32, 16);
	expect_error(nb, "partition 32, byte 316 of SBUF is in a tile that is alive");
	nb = begin();
	nb_tile_at(nb, NB_SBUF, 32, 64, 0, F32, 16);
	expect_error(nb, "a tile of 64 partitions cannot lie at partition 32, byte 0 of SBUF");
	nb = begin();
	nb_source(nb, "k.c", 9);
	nb_tile_at(nb, NB_PSUM, 0, 128, 1536, F32, 256);
	expect_error(nb,
		     "k.c:9: a tile of 1024 bytes at byte 1536 of PSUM leaves its bank, which has 2048: a product stays in one bank");
	nb = begin();
	nb_tile_end(nb, nb_tile_new(nb, NB_SBUF, 1, F32, 1));
	nb_tile_ap(nb, 0);
	expect_error(nb, "there is no tile 0 that is alive");
}

static void expect_pack(struct nb_program *nb, const char *error)
{
	void *neff = NULL;
	size_t size;
	int ret = nb_pack(nb, &neff, &size);

	free(neff);
	if (!error && ret)
		fail_msg("%s", nb_error(nb));
	if (error && (!ret || strcmp(nb_error(nb), error)))
		fail_msg("'%s', not '%s'", ret ? nb_error(nb) : "no error", error);
	nb_free(nb);
}

/* Two engines that wait for each other, one before the other has posted. */
static struct nb_program *two_that_wait(unsigned int posted, int32_t value)
{
	struct nb_program *nb = nb_new("test");
	int a = nb_sem(nb, false), b = nb_sem(nb, false);

	nb_source(nb, "k.c", 3);
	nb_wait(nb_nop(nb, VECTOR), a, value);
	nb_source(nb, "k.c", 4);
	nb_post(nb_nop(nb, VECTOR), b, 1);
	if (posted)
		nb_post(nb_nop(nb, SCALAR), a, posted);
	nb_source(nb, "k.c", 6);
	nb_wait(nb_nop(nb, SCALAR), b, 1);
	nb_source(nb, "k.c", 7);
	nb_post(nb_nop(nb, SCALAR), a, 1);
	return nb;
}

/* Rounds on @e that take a post of one semaphore and give one of the other. */
static void rounds_that_wait(struct nb_program *nb, enum neuron_engine e, unsigned int rounds,
			     int take, int give)
{
	uint32_t begin;

	if (rounds)
		nb_reg_set(nb, e, 1, rounds);
	else
		nb_reg_rank(nb, e, 1);
	begin = nb_here(nb, e);
	nb_wait_take(nb_nop(nb, e), take, 1);
	nb_post(nb_nop(nb, e), give, 1);
	nb_loop(nb, e, 1, begin);
}

/* @first: posts before the rounds. */
static struct nb_program *two_loops_that_wait(unsigned int vector_rounds,
					      unsigned int scalar_rounds, unsigned int first)
{
	struct nb_program *nb = nb_new("test");
	int a = nb_sem(nb, false), b = nb_sem(nb, false);

	if (first)
		nb_post(nb_nop(nb, SYNC), a, first);
	rounds_that_wait(nb, VECTOR, vector_rounds, a, b);
	rounds_that_wait(nb, SCALAR, scalar_rounds, b, a);
	return nb;
}

/* In the second round vector needs a post that comes behind both of its own. */
static struct nb_program *a_round_that_waits(void)
{
	struct nb_program *nb = nb_new("test");
	int a = nb_sem(nb, false), b = nb_sem(nb, false);

	rounds_that_wait(nb, VECTOR, 2, a, b);
	nb_post(nb_nop(nb, SCALAR), a, 1);
	nb_wait(nb_nop(nb, SCALAR), b, 2);
	nb_post(nb_nop(nb, SCALAR), a, 1);
	return nb;
}

static void expect_cycle(struct nb_program *nb)
{
	expect_pack(nb,
		    "a cycle: vector instruction 1 waits for scalar instruction 2, which comes behind a wait for vector instruction 2, which comes behind it");
}

static void a_cycle_of_loops_is_an_error(void **state)
{
	struct nb_program *nb;

	(void)state;
	expect_cycle(two_loops_that_wait(3, 3, 0));
	expect_cycle(a_round_that_waits());
	expect_pack(two_loops_that_wait(3, 3, 1), NULL);
	/* The last round asks for more than the program posts: somebody outside may. */
	expect_pack(two_loops_that_wait(3, 2, 0), NULL);
	/* How many rounds there are only the run shows, or all of them would take too long. */
	expect_pack(two_loops_that_wait(0, 3, 0), NULL);
	expect_pack(two_loops_that_wait(1u << 30, 1u << 30, 0), NULL);
	/* Two engines take from one semaphore: who comes first is not known. */
	nb = two_loops_that_wait(3, 3, 0);
	nb_wait_take(nb_nop(nb, SYNC), 0, 0);
	expect_pack(nb, NULL);
}

/* Each engine waits for the next one, and the last one for the first. */
static struct nb_program *all_that_wait(void)
{
	struct nb_program *nb = nb_new("test");
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		nb_sem(nb, false);
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		nb_source(nb, "k.c", 1000000000 + e);
		nb_wait(nb_nop(nb, e), (e + 1) % NEURON_NR_ENGINES, 1);
		nb_post(nb_nop(nb, e), e, 1);
	}
	return nb;
}

static void a_cycle_of_all_engines_is_told_to_its_end(void **state)
{
	(void)state;
	expect_pack(all_that_wait(),
		    "k.c:1000000000: a cycle: tensor instruction 0 waits for vector instruction 1 (line 1000000001), which comes behind a wait for scalar instruction 1 (line 1000000002), which comes behind a wait for gpsimd instruction 1 (line 1000000003), which comes behind a wait for sync instruction 1 (line 1000000004), which comes behind a wait for tensor instruction 1 (line 1000000000), which comes behind it");
}

static void a_cycle_of_waits_is_an_error(void **state)
{
	struct nb_program *nb;

	(void)state;
	expect_pack(two_that_wait(0, 1),
		    "k.c:3: a cycle: vector instruction 0 waits for scalar instruction 1 (line 7), which comes behind a wait for vector instruction 1 (line 4), which comes behind it");
	expect_pack(two_that_wait(1, 1), NULL);
	expect_pack(two_that_wait(1, 2),
		    "k.c:3: a cycle: vector instruction 0 waits for scalar instruction 2 (line 7), which comes behind a wait for vector instruction 1 (line 4), which comes behind it");
	/* Nobody in the program posts so much: somebody outside may. */
	expect_pack(two_that_wait(1, 3), NULL);
	nb = nb_new("test");
	nb_wait(nb_nop(nb, SYNC), nb_sem(nb, false), 1);
	nb_post(nb_nop(nb, SYNC), 0, 1);
	expect_pack(nb,
		    "a cycle: sync instruction 0 waits for sync instruction 1, which comes behind it");
	/* A peer may post what is kept from one execution to the next. */
	nb = nb_new("test");
	nb_wait(nb_nop(nb, SYNC), nb_sem(nb, true), 1);
	nb_post(nb_nop(nb, SYNC), 0, 1);
	expect_pack(nb, NULL);
}

/* --- Waits --- */

static void expect_exact(struct nb_program *nb, size_t count, const char *first)
{
	char text[512];

	if (nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	assert_int_equal(nb_waits(nb), count);
	if (!first)
		return;
	nb_why(nb, 0, text, sizeof(text));
	assert_string_equal(text, first);
}

static struct neuron_ap tile(unsigned int offset, unsigned int n)
{
	return nb_tile(0, 128, offset, F32, n);
}

static void accesses_that_meet_are_put_in_order(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_source(nb, "k.c", 1);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_source(nb, "k.c", 2);
	nb_copy(nb, SCALAR, tile(0x100, 4), tile(0x3c, 4));
	expect_exact(nb, 1,
		     "scalar instruction 0 (k.c:2) waits for vector instruction 0 (k.c:1): reads what it writes, sbuf partitions 0 to 127, bytes 0x3c to 0x4b");
	assert_true(nb_inst(nb, SCALAR, 0)->sync & NEURON_SYNC_WAIT);
	assert_true(nb_inst(nb, VECTOR, 0)->sync & NEURON_SYNC_POST);
	nb_free(nb);
}

static void neighbours_do_not_wait(void **state)
{
	const uint32_t shape[] = { 128, 64 };
	struct nb_program *nb = begin();
	int x = nb_input(nb, "x", F32, 2, shape), y = nb_output(nb, "y", F32, 2, shape);
	int a = nb_queue(nb, "a", "data", SYNC, 1), b = nb_queue(nb, "b", "data", SCALAR, 1);

	(void)state;
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_memset(nb, GPSIMD, tile(0x40, 16), 1);
	/* Other partitions, other memory, and two readers. */
	nb_memset(nb, GPSIMD, nb_tile(0, 32, 0x1000, F32, 16), 1);
	nb_memset(nb, VECTOR, nb_tile(32, 32, 0x1000, F32, 16), 1);
	nb_memset(nb, VECTOR, nb_psum_tile(0, 128, 0x40, F32, 16), 1);
	/* Columns of one matrix. */
	nb_dma(nb, a, nb_rows(y, 0, 128, 128, 256), nb_rows(x, 0, 128, 128, 256), -1);
	nb_dma(nb, b, nb_rows(y, 128, 128, 128, 256), nb_rows(x, 0, 128, 128, 256), -1);
	expect_exact(nb, 0, NULL);
	nb_free(nb);
}

/* What is known already is not waited for again, also by way of a third engine. */
static void implied_waits_are_left_out(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_copy(nb, SCALAR, tile(0x100, 16), tile(0, 16));
	nb_copy(nb, GPSIMD, tile(0x200, 16), tile(0x100, 16));
	nb_copy(nb, GPSIMD, tile(0x300, 16), tile(0, 16));
	nb_copy(nb, GPSIMD, tile(0x400, 16), tile(0x100, 16));
	expect_exact(nb, 2, NULL);
	nb_free(nb);
}

/* Who takes the place of a tile waits for the transfer that still reads it. */
static void a_place_is_used_again_after_its_last_use(void **state)
{
	const uint32_t shape[] = { 128, 16 };
	struct nb_program *nb = begin();
	int y = nb_output(nb, "y", F32, 2, shape);
	int out = nb_queue(nb, "out", "out", SYNC, 4), first;

	(void)state;
	first = nb_tile_at(nb, NB_SBUF, 0, 128, 0, F32, 16);
	nb_memset(nb, VECTOR, nb_tile_ap(nb, first), 1);
	nb_dma(nb, out, nb_linear(y, 0, 128 * 64), nb_tile_side(nb, first), -1);
	nb_tile_end(nb, first);
	nb_memset(nb, VECTOR, nb_tile_ap(nb, nb_tile_at(nb, NB_SBUF, 0, 128, 0, F32, 16)), 2);
	expect_exact(nb, 2, NULL);
	/* All four queues have moved their share. */
	assert_int_equal(nb_inst(nb, VECTOR, 1)->wait_value, 4);
	nb_free(nb);
}

/* A wait by hand goes on to all that follows, a post by hand tells of all before it. */
static void waits_by_hand_stay(void **state)
{
	struct nb_program *nb = begin();
	int sem = nb_sem(nb, true);

	(void)state;
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_post(nb_nop(nb, SCALAR), sem, 1);
	nb_wait(nb_nop(nb, SYNC), sem, 2);
	nb_memset(nb, GPSIMD, tile(0x1000, 16), 1);
	expect_exact(nb, 2,
		     "scalar instruction 0 waits for vector instruction 0: synchronisation by hand, or nobody knows what is touched");
	nb_free(nb);
}

/*
 * In a loop: the reader waits for the writer of its round, the writer for the reader of the round
 * before; each takes what the other posts. The first round finds a post that was made before.
 */
static void rounds_overlap(void **state)
{
	struct nb_program *nb = begin();
	const struct neuron_inst *inst;

	(void)state;
	nb_begin_loop(nb, 1, 10);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_copy(nb, SCALAR, tile(0x100, 16), tile(0, 16));
	nb_end_loop(nb);
	assert_int_equal(nb_sync(nb), 0);
	/* post, reg_set, memset, loop, what is left, halt */
	assert_int_equal(nb_here(nb, VECTOR), 6);
	inst = nb_inst(nb, VECTOR, 0);
	assert_int_equal(inst->opcode, NEURON_OP_NOP);
	assert_int_equal(NEURON_GET(NEURON_SYNC_POST, inst->sync), NEURON_SYNC_POST_ADD);
	assert_int_equal(inst->post_sem, nb_inst(nb, VECTOR, 2)->wait_sem);
	assert_true(nb_inst(nb, VECTOR, 2)->sync & NEURON_SYNC_TAKE);
	assert_int_equal(nb_inst(nb, VECTOR, 2)->post_sem, nb_inst(nb, SCALAR, 1)->wait_sem);
	assert_int_equal(nb_inst(nb, SCALAR, 1)->post_sem, inst->post_sem);
	assert_int_equal(nb_inst(nb, VECTOR, 4)->wait_sem, inst->post_sem);
	/* reg_set, copy, loop, halt */
	assert_int_equal(nb_here(nb, SCALAR), 4);
	assert_int_equal(nb_waits(nb), 3);
	nb_free(nb);
}

static unsigned int count_opcode(struct nb_program *nb, enum neuron_engine engine,
				 enum neuron_opcode opcode)
{
	unsigned int i, count = 0;

	for (i = 0; i < nb_here(nb, engine); i++)
		count += nb_inst(nb, engine, i)->opcode == opcode;
	return count;
}

/*
 * A loop in a loop: nobody else than those who share the tile waits, by a semaphore for each
 * pair of the inner loop, and by another one around it.
 */
static void rounds_of_loops_in_loops_overlap(void **state)
{
	struct nb_program *nb = begin();
	char text[512];
	size_t i;

	(void)state;
	nb_begin_loop(nb, 1, 10);
	nb_memset(nb, GPSIMD, tile(0x200, 16), 1);
	nb_begin_loop(nb, 2, 10);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_copy(nb, SCALAR, tile(0x100, 16), tile(0, 16));
	nb_end_loop(nb);
	nb_copy(nb, GPSIMD, tile(0x200, 16), tile(0x100, 16));
	nb_end_loop(nb);
	assert_int_equal(nb_sync(nb), 0);
	for (i = 0; i < nb_waits(nb); i++) {
		nb_why(nb, i, text, sizeof(text));
		assert_null(strstr(text, "all engines meet"));
	}
	/* posts for a first round, and what is left */
	assert_int_equal(count_opcode(nb, VECTOR, NEURON_OP_LOOP), 2);
	assert_int_equal(nb_inst(nb, GPSIMD, nb_here(nb, GPSIMD) - 3)->opcode, NEURON_OP_COPY);
	/* gpsimd waits for the last round of scalar, scalar for gpsimd's round before. */
	assert_true(nb_inst(nb, GPSIMD, nb_here(nb, GPSIMD) - 3)->sync & NEURON_SYNC_TAKE);
	nb_free(nb);
}

static void load(struct nb_program *nb, int queue, const char *name, int from, unsigned int at)
{
	const struct nb_move move = {
		.op = NEURON_UDMA_OP_COPY, .to_dtype = F32, .from_dtype = F32,
		.to = nb_sbuf_tile(nb, 0, 128, at, 64), .nr_from = 1,
		.from = { nb_linear(from, 0, 128 * 64) },
	};

	nb_dma_generate(nb, queue, nb_dge(nb, name, &move), 0,
			&(struct nb_run_time){ .sem = -1 });
}

/*
 * Transfers of the inner loop are counted by another semaphore than those of the outer one, which
 * wait until the end of all rounds.
 */
static void transfers_of_each_depth_are_counted(void **state)
{
	struct nb_program *nb = begin();
	int x = nb_tmp(nb, "x", 128 * 64), queue = nb_queue(nb, "q", "dynamic", SYNC, 1);
	const struct neuron_inst *inst;
	unsigned int i, nr = 0, sem[2];

	(void)state;
	nb_begin_loop(nb, 1, 10);
	nb_begin_loop(nb, 2, 10);
	load(nb, queue, "inner", x, 0);
	nb_end_loop(nb);
	nb_copy(nb, VECTOR, tile(0x1000, 16), tile(0, 16));
	load(nb, queue, "outer", x, 0x400);
	nb_end_loop(nb);
	nb_copy(nb, VECTOR, tile(0x1400, 16), tile(0x400, 16));
	if (nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	for (i = 0; i < nb_here(nb, SYNC); i++) {
		inst = nb_inst(nb, SYNC, i);
		if (inst->opcode != NEURON_OP_DMA_GENERATE)
			continue;
		assert_in_range(nr, 0, 1);
		assert_true(NEURON_GET(NEURON_SYNC_POST, inst->sync));
		sem[nr++] = inst->post_sem;
	}
	assert_int_equal(nr, 2);
	assert_int_not_equal(sem[0], sem[1]);
	nb_free(nb);
}

/* What is executed once has no round before that anybody could wait for. */
static void a_loop_of_one_round_is_no_loop(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_begin_loop(nb, 1, 1);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_copy(nb, SCALAR, tile(0x100, 16), tile(0, 16));
	nb_end_loop(nb);
	expect_exact(nb, 1, NULL);
	nb_free(nb);
}

/* --- Mistakes --- */

static void branches_by_hand_are_refused(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_source(nb, "k.c", 3);
	nb_branch(nb, VECTOR, 0);
	expect_error(nb, "k.c:3: a branch in a program with nb_auto(): use nb_begin_loop()");
}

#define TAKEN	"a loop needs a register from 1 to 63 on which no loop around it depends"

static void loops_must_be_nested(void **state)
{
	struct nb_program *nb = begin();
	unsigned int i;

	(void)state;
	nb_begin_loop(nb, 1, 3);
	nb_begin_loop(nb, 1, 3);
	expect_error(nb, TAKEN);
	for (i = 1; i <= 2; i++) {
		nb = begin();
		nb_begin_while(nb, NEURON_ALU_IS_LT, 1, 2, 0);
		nb_begin_loop(nb, i, 3);
		expect_error(nb, TAKEN);
	}
	nb = begin();
	for (i = 0; i < NEURON_NR_REGS; i++)
		nb_begin_while(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	nb_begin_loop(nb, 2, 3);
	expect_error(nb, "a loop or branch is in at most 63 others");
	nb = begin();
	nb_begin_loop(nb, 1, 3);
	expect_error(nb, "a loop or branch that has begun does not end");
	nb = begin();
	nb_end_loop(nb);
	expect_error(nb, "nb_end_loop() without a loop that has begun");
	nb = begin();
	nb_begin_loop(nb, 1, 0);
	expect_error(nb, "a loop is executed at least once");
	nb = begin();
	nb_begin_while(nb, NEURON_ALU_ADD, 1, 0, 0);
	expect_error(nb, "a loop depends on a comparison, not on operator 1");
	nb = begin();
	nb_begin_while(nb, NEURON_ALU_IS_NE, NEURON_NR_REGS, 0, 0);
	expect_error(nb, "a loop compares registers from 0 to 63");
	nb = begin();
	nb_begin_while(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	expect_error(nb, "a loop or branch that has begun does not end");
}

static void branches_have_their_ends(void **state)
{
	struct nb_program *nb = nb_new("by hand");

	(void)state;
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	expect_error(nb, "nb_begin_if() is for programs that begin with nb_auto()");
	nb = begin();
	nb_begin_if(nb, NEURON_ALU_ADD, 1, 0, 0);
	expect_error(nb, "a branch depends on a comparison, not on operator 1");
	nb = begin();
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, NEURON_NR_REGS, 0);
	expect_error(nb, "a branch compares registers from 0 to 63");
	nb = begin();
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	nb_end_loop(nb);
	expect_error(nb, "nb_end_loop() where another loop or branch has to end first");
	nb = begin();
	nb_begin_loop(nb, 1, 2);
	nb_else(nb);
	expect_error(nb, "nb_else() where another loop or branch has to end first");
	nb = begin();
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	nb_else(nb);
	nb_else(nb);
	expect_error(nb, "nb_else() where another loop or branch has to end first");
	nb = begin();
	nb_end_if(nb);
	expect_error(nb, "nb_end_if() without a branch that has begun");
	nb = begin();
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	nb_else(nb);
	expect_error(nb, "a loop or branch that has begun does not end");
}

static void transfers_in_loops_are_generated(void **state)
{
	struct nb_program *nb = begin();
	int y = nb_tmp(nb, "y", 64), queue = nb_queue(nb, "q", "data", SYNC, 1);

	(void)state;
	nb_begin_loop(nb, 1, 2);
	nb_dma(nb, queue, nb_linear(y, 0, 32), nb_linear(y, 32, 32), -1);
	nb_end_loop(nb);
	expect_error(nb,
		     "a transfer in a loop or branch: its descriptors can be used once only; give a queue generated ones (dma_generate)");
}

static void a_transfer_has_one_semaphore(void **state)
{
	struct nb_program *nb = begin();
	int y = nb_tmp(nb, "y", 64), queue = nb_queue(nb, "q", "data", SYNC, 1);

	(void)state;
	nb_dma(nb, queue, nb_sbuf_tile(nb, 0, 1, 0, 32), nb_linear(y, 32, 32), nb_sem(nb, false));
	nb_copy(nb, VECTOR, tile(0x100, 8), tile(0, 8));
	expect_error(nb,
		     "a transfer on \"q\" posts semaphore 0, but nb_auto() needs it to post another: pass -1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_go_round),
		cmocka_unit_test(quadrants_are_shared),
		cmocka_unit_test(psum_tiles_stay_in_a_bank),
		cmocka_unit_test(sizes_depend_on_the_generation),
		cmocka_unit_test(what_does_not_fit_is_an_error),
		cmocka_unit_test(a_cycle_of_waits_is_an_error),
		cmocka_unit_test(a_cycle_of_loops_is_an_error),
		cmocka_unit_test(a_cycle_of_all_engines_is_told_to_its_end),
		cmocka_unit_test(accesses_that_meet_are_put_in_order),
		cmocka_unit_test(neighbours_do_not_wait),
		cmocka_unit_test(implied_waits_are_left_out),
		cmocka_unit_test(a_place_is_used_again_after_its_last_use),
		cmocka_unit_test(waits_by_hand_stay),
		cmocka_unit_test(rounds_overlap),
		cmocka_unit_test(rounds_of_loops_in_loops_overlap),
		cmocka_unit_test(transfers_of_each_depth_are_counted),
		cmocka_unit_test(a_loop_of_one_round_is_no_loop),
		cmocka_unit_test(branches_by_hand_are_refused),
		cmocka_unit_test(loops_must_be_nested),
		cmocka_unit_test(branches_have_their_ends),
		cmocka_unit_test(transfers_in_loops_are_generated),
		cmocka_unit_test(a_transfer_has_one_semaphore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
