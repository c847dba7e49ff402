// SPDX-License-Identifier: MIT
/*
 * What programs with nb_auto() touch: variables that share bytes, tiles that a register moves,
 * posts to others; and what such a program must not do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nb_rig.h"
#include "neuron/address.h"
#include "neuron/dma_op.h"
#include "neuron/regs.h"

static struct neuron_ap tile(unsigned int offset, unsigned int n)
{
	return nb_tile(0, 128, offset, F32, n);
}

/* --- Variables that share bytes --- */

static void parts_of_the_scratchpad_overlap(void **state)
{
	struct nb_program *nb = begin();
	int a = nb_virtual(nb, "a", 256, 64), b = nb_virtual(nb, "b", 256, 192);

	(void)state;
	store(nb, VECTOR, a, 128);
	store(nb, SCALAR, b, 4);
	/* Byte 192 of the scratchpad. */
	nb_reg_load(nb, GPSIMD, 6, b, 0, 0);
	expect_waits(nb, 1,
		     "gpsimd instruction 0 waits for vector instruction 0: reads what it writes, shared scratchpad bytes 0xc0 to 0xc3");
}

static void all_names_of_the_other_sbuf_are_one(void **state)
{
	struct nb_program *nb = begin();
	int a = nb_sibling_sbuf(nb, "a"), b = nb_sibling_sbuf(nb, "b");

	(void)state;
	nb_second(nb);
	store(nb, VECTOR, a, nb_sbuf_offset(3, 64));
	store(nb, SCALAR, nb_sbuf(nb), nb_sbuf_offset(3, 64));
	store(nb, SCALAR, b, nb_sbuf_offset(4, 64));
	store(nb, GPSIMD, b, nb_sbuf_offset(3, 64));
	expect_waits(nb, 1,
		     "gpsimd instruction 0 waits for vector instruction 0: writes over what it writes, sbuf of the other core partitions 3 to 3, bytes 0x40 to 0x43");
}

/* How many ranks there are, and so which of them are the same, only the loader knows. */
static void a_peer_is_what_it_names(void **state)
{
	struct nb_program *nb = begin();
	int own = nb_tmp(nb, "own", 256), next = nb_peer(nb, "next", 1, own);
	int after = nb_peer(nb, "after", 3, own);

	(void)state;
	store(nb, VECTOR, next, 128);
	store(nb, SCALAR, after, 64);
	nb_reg_load(nb, GPSIMD, 6, after, 128, 0);
	nb_reg_load(nb, SYNC, 6, own, 64, 0);
	expect_waits(nb, 2,
		     "gpsimd instruction 0 waits for vector instruction 0: reads what it writes, \"own\" bytes 0x80 to 0x83");
}

/* --- Registers --- */

/* The 16 elements end at byte 0x23c, whose place is known with the register only. */
static void a_register_moves_a_tile_that_goes_backwards(void **state)
{
	struct nb_program *nb = begin();
	struct neuron_ap back = nb_dim(nb_at_reg(tile(0x3c, 16), 9), 0, 16, -1);

	(void)state;
	back.addr = 0;
	nb_memset(nb, VECTOR, tile(0x200, 1), 1);
	nb_reg_set(nb, SCALAR, 9, 0x23c);
	nb_copy(nb, SCALAR, tile(0x1000, 16), back);
	nb_memset(nb, GPSIMD, tile(0x23c, 1), 2);
	expect_waits(nb, 2, "reads what it writes, sbuf partitions 0 to 127, bytes 0x200 to 0x23f");
}

static void an_unknown_register_leads_through_the_tile(void **state)
{
	struct nb_program *nb = begin();
	int word = nb_tmp(nb, "word", 64);
	struct neuron_ap back;

	(void)state;
	nb_tile_at(nb, NB_SBUF, 0, 128, 0x1000, F32, 64);
	nb_tile_at(nb, NB_SBUF, 0, 128, 0x1100, F32, 64);
	/* Begins in the second tile; without the register it would go back into the first one. */
	back = nb_dim(nb_at_reg(tile(0x1100, 16), 9), 0, 16, -1);
	nb_reg_load(nb, SCALAR, 9, word, 0, 0);
	nb_copy(nb, SCALAR, tile(0x3000, 16), back);
	nb_memset(nb, VECTOR, tile(0x1000, 64), 1);
	nb_memset(nb, GPSIMD, tile(0x11fc, 1), 1);
	expect_waits(nb, 1,
		     "writes over what it reads, sbuf partitions 0 to 127, bytes 0x11fc to 0x11ff");
}

static void a_known_register_names_a_word(void **state)
{
	struct nb_program *nb = begin();
	int var = nb_tmp(nb, "words", 256);

	(void)state;
	nb_reg_set(nb, VECTOR, 7, 64);
	nb_reg_store(nb, VECTOR, var, 8, 7, 5);
	store(nb, SCALAR, var, 8);
	nb_reg_load(nb, GPSIMD, 6, var, 72, 0);
	expect_waits(nb, 1, "reads what it writes, \"words\" bytes 0x48 to 0x4b");
}

/* --- By hand --- */

/* A store to a semaphore of the other core, with a wait of its own. */
static void a_store_may_wait_by_hand(void **state)
{
	struct nb_program *nb = begin();
	int sem = nb_sem(nb, true), sibling = nb_sibling_sem(nb, "their", sem, 1);

	(void)state;
	nb_second(nb);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_wait(nb_reg_store(nb, SYNC, sibling, 0, 0, 5), sem, 2);
	nb_memset(nb, GPSIMD, tile(0x1000, 16), 1);
	/* sync waits for vector, gpsimd for sync */
	expect_waits(nb, 2,
		     "sync instruction 0 waits for vector instruction 0: synchronisation by hand");
}

/* A transfer that posts to somebody else tells of everything before it. */
static void posts_of_transfers_to_others_are_releases(void **state)
{
	struct neuron_udma_dge post = {
		.op = { .op = NEURON_UDMA_OP_COPY, .nr_src = 1, .nr_dst = 1,
			.src_dtype = NEURON_DTYPE_UINT32, .dst_dtype = NEURON_DTYPE_UINT32,
			.src.num = { 1, 1, 1, 1 }, .dst.num = { 1, 1, 1, 1 } },
	};
	const uint32_t one = 1;
	struct nb_program *nb = begin();
	int in = nb_tmp(nb, "in", 64), out = nb_tmp(nb, "out", 64);
	int queue = nb_queue(nb, "q", "data", SYNC, 1), sem = nb_sem(nb, true);

	(void)state;
	nb_second(nb);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_dma(nb, queue, nb_linear(out, 0, 64), nb_linear(in, 0, 64), -1);
	nb_dma_remote(nb, queue, sem);
	expect_waits(nb, 1, "synchronisation by hand");

	nb = begin();
	post.src[0] = neuron_window_addr(nb_file(nb, "one", &one, sizeof(one)), 0);
	post.dst[0] = neuron_window_addr(nb_peer_sem(nb, "theirs", 1, nb_sem(nb, true), 1), 0);
	queue = nb_queue(nb, "q", "dynamic", SYNC, 1);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_dma_generate(nb, queue, nb_file(nb, "post", &post, sizeof(post)), 0,
			&(struct nb_run_time){ .sem = -1 });
	expect_waits(nb, 1, "synchronisation by hand");
}

static void semaphores_of_the_builder_are_not_touched(void **state)
{
	struct nb_program *nb = begin();
	int first = nb_sem(nb, false), last = nb_sem(nb, false);

	(void)state;
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_sem_range_clear(nb, SCALAR, first, last);
	nb_memset(nb, GPSIMD, tile(0x1000, 16), 1);
	expect_waits(nb, 2,
		     "scalar instruction 0 waits for vector instruction 0: synchronisation by hand");

	nb = begin();
	nb_sem(nb, false);
	nb_source(nb, "k.c", 5);
	nb_sem_range_clear(nb, SCALAR, 0, 9);
	expect_error(nb,
		     "k.c:5: sem_range_clear of semaphores 0 to 9, but nb_sem() has given those below 1: the others are for nb_auto()");

	nb = begin();
	nb_source(nb, "k.c", 6);
	nb_post(nb_nop(nb, SCALAR), 3, 1);
	expect_error(nb,
		     "k.c:6: a post to semaphore 3, but nb_sem() has given those below 0: the others are for nb_auto()");
}

/* --- Constants that say what a transfer does --- */

static int block(struct nb_program *nb, int y)
{
	return nb_dge(nb, "rows", &(struct nb_move){
		.op = NEURON_UDMA_OP_COPY, .to_dtype = F32, .from_dtype = F32,
		.to = nb_linear(y, 0, 64), .nr_from = 1, .from = { nb_linear(y, 64, 64) } });
}

static void blocks_of_descriptors_stay_as_they_are(void **state)
{
	struct nb_program *nb = begin();
	int y = nb_tmp(nb, "y", 128), queue = nb_queue(nb, "q", "dynamic", SYNC, 1);
	int rows = block(nb, y);

	(void)state;
	nb_dma_generate(nb, queue, rows, 0, &(struct nb_run_time){ .sem = -1 });
	nb_source(nb, "k.c", 8);
	store(nb, VECTOR, nb_find_var(nb, "rows"), 0);
	expect_error(nb,
		     "k.c:8: a write to \"rows\", in which a transfer before has found its descriptors");

	/* The other way round nobody knows what is touched. */
	nb = begin();
	y = nb_tmp(nb, "y", 128);
	queue = nb_queue(nb, "q", "dynamic", SYNC, 1);
	rows = block(nb, y);
	store(nb, VECTOR, nb_find_var(nb, "rows"), 0);
	nb_dma_generate(nb, queue, rows, 0, &(struct nb_run_time){ .sem = -1 });
	nb_memset(nb, GPSIMD, tile(0, 16), 1);
	expect_waits(nb, 2, "synchronisation by hand, or nobody knows what is touched");
}

/* --- Loops --- */

static void the_register_of_a_loop_stays(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_begin_loop(nb, 4, 3);
	nb_begin_loop(nb, 5, 3);
	nb_source(nb, "k.c", 9);
	nb_reg_alu(nb, VECTOR, NEURON_ALU_ADD, 4, 4, 1);
	nb_end_loop(nb);
	nb_end_loop(nb);
	expect_error(nb, "k.c:9: register 4 is changed, which counts the rounds of a loop around");
}

/* The scalar engine would compare its own register 3, which is 0 for ever. */
static void each_engine_of_a_test_sets_its_register(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_reg_set(nb, VECTOR, 3, 2);
	nb_begin_while(nb, NEURON_ALU_IS_GT, 3, 0, 0);
	nb_reg_alu(nb, VECTOR, NEURON_ALU_SUBTRACT, 3, 3, 1);
	nb_source(nb, "k.c", 7);
	nb_copy(nb, SCALAR, tile(64, 16), tile(0, 16));
	nb_end_loop(nb);
	expect_error(nb,
		     "k.c:7: the scalar engine compares register 3 in a loop, but has not set it; each engine of nb_begin_while() has registers of its own");
}

/* Register 3 of the scalar engine comes too late, and its register 4 never. */
static void each_engine_of_a_branch_has_set_its_registers(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_reg_set(nb, VECTOR, 3, 2);
	nb_begin_if(nb, NEURON_ALU_IS_GT, 3, 0, 0);
	nb_copy(nb, VECTOR, tile(0, 16), tile(64, 16));
	nb_else(nb);
	nb_source(nb, "k.c", 7);
	nb_reg_set(nb, SCALAR, 3, 2);
	nb_copy(nb, SCALAR, tile(64, 16), tile(0, 16));
	nb_end_if(nb);
	expect_error(nb,
		     "k.c:7: the scalar engine compares register 3 in a branch, but has not set it; each engine of nb_begin_if() has registers of its own");
	nb = begin();
	nb_reg_set(nb, SCALAR, 3, 2);
	nb_begin_if(nb, NEURON_ALU_IS_GT, 3, 4, 0);
	nb_copy(nb, SCALAR, tile(64, 16), tile(0, 16));
	nb_end_if(nb);
	expect_error(nb,
		     "the scalar engine compares register 4 in a branch, but has not set it; each engine of nb_begin_if() has registers of its own");
}

#define NOT_SET "the vector engine compares register 3 in a branch, but has not set it; each engine of nb_begin_if() has registers of its own"

/* The vector engine does something if its register @reg is not 0. */
static void test_register(struct nb_program *nb, unsigned int reg)
{
	nb_begin_if(nb, NEURON_ALU_IS_NE, reg, 0, 0);
	nb_copy(nb, VECTOR, tile(0, 16), tile(64, 16));
	nb_end_if(nb);
}

static void expect_sync(struct nb_program *nb)
{
	assert_int_equal(nb_sync(nb), 0);
	assert_null(nb_error(nb));
	nb_free(nb);
}

/* @then, @otherwise: register that is set in each part of a branch; 0: there is no such part. */
static struct nb_program *begin_choice(unsigned int then, unsigned int otherwise)
{
	struct nb_program *nb = begin();

	nb_reg_set(nb, VECTOR, 1, 1);
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	nb_reg_set(nb, VECTOR, then, 1);
	if (otherwise) {
		nb_else(nb);
		nb_reg_set(nb, VECTOR, otherwise, 2);
	}
	nb_end_if(nb);
	return nb;
}

static void a_part_of_a_branch_does_not_set_a_register(void **state)
{
	static const unsigned int one_part[][2] = { { 3, 0 }, { 3, 4 }, { 4, 3 } };
	struct nb_program *nb;
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		nb = begin_choice(one_part[i][0], one_part[i][1]);
		test_register(nb, 3);
		expect_error(nb, NOT_SET);
	}
	nb = begin_choice(3, 3);
	test_register(nb, 3);
	expect_sync(nb);
	nb = begin_choice(4, 4);
	test_register(nb, 1);
	expect_sync(nb);
}

/* Where the second part begins, the first one has not been executed. */
static void a_part_of_a_branch_knows_nothing_of_the_other(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_reg_set(nb, VECTOR, 1, 1);
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	nb_reg_set(nb, VECTOR, 3, 1);
	nb_else(nb);
	test_register(nb, 3);
	nb_end_if(nb);
	expect_error(nb, NOT_SET);
}

/* It may have no rounds. Its engines have agreed on what it compares itself. */
static void a_loop_with_a_test_does_not_set_a_register(void **state)
{
	unsigned int reg;

	(void)state;
	for (reg = 1; reg <= 3; reg += 2) {
		struct nb_program *nb = begin();

		nb_begin_while(nb, NEURON_ALU_IS_GT, 1, 0, 0);
		nb_reg_set(nb, VECTOR, 3, 1);
		nb_reg_set(nb, VECTOR, 1, 0);
		nb_end_loop(nb);
		test_register(nb, reg);
		if (reg == 3)
			expect_error(nb, NOT_SET);
		else
			expect_sync(nb);
	}
}

/* Register 3 counts a loop of the vector engine, but later, or one of another engine. */
static void a_register_that_counts_elsewhere_is_not_set(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	test_register(nb, 3);
	nb_begin_loop(nb, 3, 2);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	nb_end_loop(nb);
	expect_error(nb, NOT_SET);

	nb = begin();
	nb_begin_loop(nb, 3, 2);
	nb_memset(nb, GPSIMD, tile(0, 16), 1);
	nb_end_loop(nb);
	test_register(nb, 3);
	expect_error(nb, NOT_SET);

	nb = begin();
	nb_begin_loop(nb, 3, 2);
	nb_memset(nb, VECTOR, tile(0, 16), 1);
	test_register(nb, 3);
	nb_end_loop(nb);
	test_register(nb, 3);
	expect_sync(nb);
}

/* What a round sets at its end is not set where the first round begins. */
static void the_first_round_comes_first(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_begin_loop(nb, 2, 2);
	test_register(nb, 3);
	nb_reg_set(nb, VECTOR, 3, 1);
	nb_end_loop(nb);
	expect_error(nb, NOT_SET);
}

static void a_tile_does_not_end_in_a_later_loop(void **state)
{
	struct nb_program *nb = begin();
	int old, young;

	(void)state;
	old = nb_tile_new(nb, NB_SBUF, 128, F32, 16);
	nb_begin_loop(nb, 1, 3);
	young = nb_tile_new(nb, NB_SBUF, 128, F32, 16);
	nb_tile_end(nb, young);
	assert_null(nb_error(nb));
	nb_source(nb, "k.c", 3);
	nb_tile_end(nb, old);
	expect_error(nb,
		     "k.c:3: tile 0 ends in a loop or branch that began after it, which may be executed again or not at all");
}

/*
 * Two engines of a loop read what is written before it. @first: scalar reads it before it has
 * waited for vector in its first round.
 */
static struct nb_program *a_loop_that_reads(bool first)
{
	struct nb_program *nb = begin();

	nb_memset(nb, GPSIMD, tile(0, 64), 1.0f);
	nb_begin_loop(nb, 1, 3);
	nb_memset(nb, VECTOR, tile(256, 64), 2.0f);
	if (first)
		nb_copy(nb, SCALAR, tile(512, 64), tile(0, 64));
	nb_copy(nb, SCALAR, tile(768, 64), tile(256, 64));
	if (!first)
		nb_copy(nb, SCALAR, tile(512, 64), tile(0, 64));
	nb_copy(nb, VECTOR, tile(1024, 64), tile(0, 64));
	nb_end_loop(nb);
	return nb;
}

/*
 * Vector waits for GpSimd before its first round, so scalar knows of that when it has waited for
 * vector. The other waits are those for the tile that vector and scalar share, and what the last
 * round leaves.
 */
static void one_engine_waits_before_a_loop_for_others(void **state)
{
	(void)state;
	expect_waits(a_loop_that_reads(true), 5, NULL);
	expect_waits(a_loop_that_reads(false), 4, NULL);
}

/* Vector writes what scalar reads, so it waits for the round before. @more: scalar then goes on. */
static struct nb_program *a_loop_that_is_waited_for(bool more)
{
	struct nb_program *nb = begin();

	nb_begin_loop(nb, 1, 3);
	nb_memset(nb, VECTOR, tile(0, 64), 2.0f);
	nb_copy(nb, SCALAR, tile(256, 64), tile(0, 64));
	if (more)
		nb_copy(nb, SCALAR, tile(512, 64), tile(1024, 64));
	nb_end_loop(nb);
	return nb;
}

/*
 * Behind the loop vector has taken the post that the last copy has left, so it knows that this is
 * over, and GpSimd knows when it has waited for vector. Of what scalar did later nobody knows.
 */
static void what_a_round_leaves_tells_of_it(void **state)
{
	struct nb_program *nb = a_loop_that_is_waited_for(false);

	(void)state;
	nb_copy(nb, VECTOR, tile(768, 64), tile(256, 64));
	nb_copy(nb, GPSIMD, tile(1280, 64), tile(768, 64));
	nb_copy(nb, GPSIMD, tile(1536, 64), tile(256, 64));
	expect_waits(nb, 4, NULL);

	nb = a_loop_that_is_waited_for(true);
	nb_copy(nb, VECTOR, tile(768, 64), tile(512, 64));
	expect_waits(nb, 4, NULL);
}

/* Scalar has waited for vector in the loop, so it knows what vector has waited for before it. */
static void a_round_tells_what_was_before_the_loop(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_memset(nb, GPSIMD, tile(1024, 64), 1.0f);
	nb_begin_loop(nb, 1, 3);
	nb_copy(nb, VECTOR, tile(0, 64), tile(1024, 64));
	nb_copy(nb, SCALAR, tile(256, 64), tile(0, 64));
	nb_end_loop(nb);
	nb_copy(nb, SCALAR, tile(512, 64), tile(1024, 64));
	expect_waits(nb, 4, NULL);
}

/* --- What may not be executed --- */

/* Vector and scalar have the register of a branch. */
static struct nb_program *begin_branch(void)
{
	struct nb_program *nb = begin();

	nb_memset(nb, GPSIMD, tile(1024, 64), 1.0f);
	nb_copy(nb, VECTOR, tile(512, 64), tile(0, 64));
	nb_reg_set(nb, VECTOR, 1, 1);
	nb_reg_set(nb, SCALAR, 1, 1);
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	return nb;
}

/* Vector waits for GpSimd and then scalar for vector: nobody else, and the engines do not meet. */
static void engines_do_not_meet_at_a_branch(void **state)
{
	struct nb_program *nb = begin_branch();

	(void)state;
	nb_copy(nb, VECTOR, tile(768, 64), tile(1024, 64));
	nb_end_if(nb);
	nb_copy(nb, SCALAR, tile(256, 64), tile(768, 64));
	expect_waits(nb, 2, "reads what it writes");
}

/* Scalar writes over what vector has read before, whatever vector reads in the first part. */
static void a_second_part_sees_what_was_before(void **state)
{
	struct nb_program *nb = begin_branch();

	(void)state;
	nb_copy(nb, VECTOR, tile(768, 64), tile(0, 64));
	nb_else(nb);
	nb_copy(nb, SCALAR, tile(0, 64), tile(256, 64));
	nb_end_if(nb);
	expect_waits(nb, 1, "writes over what it reads");
}

/*
 * If the branch is not executed, scalar reads what GpSimd has written. So it waits for both, and
 * not only for vector, which writes over that.
 */
static void a_branch_does_not_stand_for_what_was_before(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	nb_memset(nb, GPSIMD, tile(0, 64), 1.0f);
	nb_reg_set(nb, VECTOR, 1, 1);
	nb_reg_set(nb, NEURON_ENGINE_TENSOR, 1, 1);
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	nb_load_stationary(nb, tile(0, 64));
	nb_memset(nb, VECTOR, tile(0, 64), 2.0f);
	nb_end_if(nb);
	nb_copy(nb, SCALAR, tile(256, 64), tile(0, 64));
	expect_waits(nb, 4, NULL);
}

static void generate(struct nb_program *nb, int queue, const char *name, unsigned int at)
{
	const struct nb_move move = {
		.op = NEURON_UDMA_OP_COPY, .to_dtype = F32, .from_dtype = F32,
		.to = nb_sbuf_tile(nb, 0, 128, at, 64), .nr_from = 1,
		.from = { nb_linear(nb_find_var(nb, "x"), 0, 128 * 64) },
	};

	nb_dma_generate(nb, queue, nb_dge(nb, name, &move), 0, &(struct nb_run_time){ .sem = -1 });
}

/*
 * The second transfer of the queue is perhaps not executed, so that it is over does not say that
 * the first one is: GpSimd, which tells somebody else, waits for both. For the second one sync
 * waits in the branch.
 */
static void a_transfer_in_a_branch_does_not_stand_for_others(void **state)
{
	const uint32_t shape[] = { 128, 16 };
	struct nb_program *nb = begin();
	int sem = nb_sem(nb, false), queue;

	(void)state;
	nb_input(nb, "x", F32, 2, shape);
	queue = nb_queue(nb, "made", "dynamic", SYNC, 1);
	generate(nb, queue, "first", 0);
	nb_reg_set(nb, SYNC, 1, 1);
	nb_begin_if(nb, NEURON_ALU_IS_NE, 1, 0, 0);
	generate(nb, queue, "second", 256);
	nb_end_if(nb);
	nb_post(nb_nop(nb, GPSIMD), sem, 1);
	expect_waits(nb, 3, NULL);
}

/* Three rounds in which scalar reads what vector has written. */
static void loop_with_a_test(struct nb_program *nb)
{
	nb_reg_set(nb, VECTOR, 1, 3);
	nb_reg_set(nb, SCALAR, 1, 3);
	nb_begin_while(nb, NEURON_ALU_IS_GT, 1, 0, 0);
	nb_memset(nb, VECTOR, tile(0, 64), 2.0f);
	nb_copy(nb, SCALAR, tile(256, 64), tile(0, 64));
	nb_reg_alu(nb, VECTOR, NEURON_ALU_SUBTRACT, 1, 1, 1);
	nb_reg_alu(nb, SCALAR, NEURON_ALU_SUBTRACT, 1, 1, 1);
	nb_end_loop(nb);
}

static unsigned int count_meetings(struct nb_program *nb)
{
	unsigned int count = 0;
	char text[512];
	size_t i;

	for (i = 0; i < nb_waits(nb); i++) {
		nb_why(nb, i, text, sizeof(text));
		count += !!strstr(text, "all engines meet");
	}
	return count;
}

/* The rounds wait for each other as those of a loop that is counted. */
static void rounds_of_a_test_overlap(void **state)
{
	struct nb_program *nb = begin();

	(void)state;
	loop_with_a_test(nb);
	assert_int_equal(nb_sync(nb), 0);
	assert_int_equal(nb_waits(nb), 3);
	assert_int_equal(count_meetings(nb), 0);
	nb_free(nb);
}

/*
 * So many accesses to a few bytes are kept as one. A wait for it is perhaps not the one that is
 * needed, so the rounds of a loop do not rely on it.
 */
static void accesses_that_became_one_are_not_for_rounds(void **state)
{
	struct nb_program *nb = begin();
	unsigned int i;

	(void)state;
	for (i = 0; i < 200; i++)
		nb_memset(nb, GPSIMD, tile(i * 4, 1), 1.0f);
	loop_with_a_test(nb);
	assert_int_equal(nb_sync(nb), 0);
	assert_int_not_equal(count_meetings(nb), 0);
	nb_free(nb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_the_scratchpad_overlap),
		cmocka_unit_test(all_names_of_the_other_sbuf_are_one),
		cmocka_unit_test(a_peer_is_what_it_names),
		cmocka_unit_test(a_register_moves_a_tile_that_goes_backwards),
		cmocka_unit_test(an_unknown_register_leads_through_the_tile),
		cmocka_unit_test(a_known_register_names_a_word),
		cmocka_unit_test(a_store_may_wait_by_hand),
		cmocka_unit_test(posts_of_transfers_to_others_are_releases),
		cmocka_unit_test(semaphores_of_the_builder_are_not_touched),
		cmocka_unit_test(blocks_of_descriptors_stay_as_they_are),
		cmocka_unit_test(the_register_of_a_loop_stays),
		cmocka_unit_test(each_engine_of_a_test_sets_its_register),
		cmocka_unit_test(each_engine_of_a_branch_has_set_its_registers),
		cmocka_unit_test(a_part_of_a_branch_does_not_set_a_register),
		cmocka_unit_test(a_part_of_a_branch_knows_nothing_of_the_other),
		cmocka_unit_test(a_loop_with_a_test_does_not_set_a_register),
		cmocka_unit_test(a_register_that_counts_elsewhere_is_not_set),
		cmocka_unit_test(the_first_round_comes_first),
		cmocka_unit_test(a_tile_does_not_end_in_a_later_loop),
		cmocka_unit_test(one_engine_waits_before_a_loop_for_others),
		cmocka_unit_test(what_a_round_leaves_tells_of_it),
		cmocka_unit_test(a_round_tells_what_was_before_the_loop),
		cmocka_unit_test(engines_do_not_meet_at_a_branch),
		cmocka_unit_test(a_second_part_sees_what_was_before),
		cmocka_unit_test(a_branch_does_not_stand_for_what_was_before),
		cmocka_unit_test(a_transfer_in_a_branch_does_not_stand_for_others),
		cmocka_unit_test(rounds_of_a_test_overlap),
		cmocka_unit_test(accesses_that_became_one_are_not_for_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
