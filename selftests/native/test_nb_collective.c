// SPDX-License-Identifier: MIT
/*
 * Collectives in programs with nb_auto(): what waits for their ends, and in which order they start.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nb_rig.h"
#include "neuron/address.h"
#include "neuron/dma_op.h"
#include "neuron/neff.h"

static const uint32_t two_ranks[] = { 0, 1 };

/* The variable that starts a sum of @from on two ranks. */
static int sum(struct nb_program *nb, int from, int to)
{
	const struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = F32, .input = from, .output = to,
		.ranks = two_ranks, .group_size = 2, .nr_groups = 1, .semaphore = -1,
	};

	return nb_collective(nb, "sum", &what);
}

static void start(struct nb_program *nb, int queue, int collective)
{
	const uint32_t one = htole32(1);
	int word = nb_file(nb, "one", &one, sizeof(one));

	nb_dma(nb, queue, nb_linear(collective, 0, 4), nb_linear(word, 0, 4), -1);
}

/* Who has to do with neither of its tensors goes on beside it. */
static void a_collective_ends_like_a_transfer(void **state)
{
	struct nb_program *nb = begin();
	int from = nb_tmp(nb, "from", 256), to = nb_tmp(nb, "to", 256);
	int other = nb_tmp(nb, "other", 256);
	int queue = nb_queue(nb, "starts", "data", GPSIMD, 1);

	(void)state;
	store(nb, VECTOR, from, 128);
	start(nb, queue, sum(nb, from, to));
	store(nb, SCALAR, other, 0);
	nb_reg_load(nb, SYNC, 6, to, 4, 0);
	store(nb, VECTOR, from, 0);
	expect_waits(nb, 3,
		     "gpsimd instruction 0 waits for vector instruction 0: reads what it writes, \"from\" bytes 0x0 to 0xff");
}

static void a_queue_of_collectives_moves_nothing(void **state)
{
	struct nb_program *nb = begin();
	int from = nb_tmp(nb, "from", 256), to = nb_tmp(nb, "to", 256);
	int queue = nb_queue(nb, "starts", "data", GPSIMD, 1);

	(void)state;
	start(nb, queue, sum(nb, from, to));
	nb_dma(nb, queue, nb_linear(to, 0, 64), nb_linear(from, 0, 64), -1);
	expect_error(nb,
		     "queue \"starts\" starts collectives whose semaphores nb_auto() finds: it is one queue, and moves nothing");
	nb = begin();
	from = nb_tmp(nb, "from", 256);
	to = nb_tmp(nb, "to", 256);
	queue = nb_queue(nb, "starts", "data", GPSIMD, 2);
	start(nb, queue, sum(nb, from, to));
	expect_error(nb,
		     "queue \"starts\" starts collectives whose semaphores nb_auto() finds: it is one queue, and moves nothing");
}

/* Two sums, of streams 0 and @stream, which @queue and @other start. */
static struct nb_program *two_sums(unsigned int stream, bool apart)
{
	struct nb_program *nb = begin();
	const uint32_t one = htole32(1);
	int word = nb_file(nb, "one", &one, sizeof(one)), start_of[2], queue[2];
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = F32, .input = nb_tmp(nb, "from", 256),
		.output = nb_tmp(nb, "to", 256), .ranks = two_ranks, .group_size = 2,
		.nr_groups = 1, .semaphore = -1,
	};
	unsigned int i;

	start_of[0] = nb_collective(nb, "first", &what);
	what.stream = stream;
	what.input = nb_tmp(nb, "from2", 256);
	what.output = nb_tmp(nb, "to2", 256);
	start_of[1] = nb_collective(nb, "second", &what);
	queue[0] = nb_queue(nb, "starts", "data", GPSIMD, 1);
	queue[1] = apart ? nb_queue(nb, "starts2", "data", GPSIMD, 1) : queue[0];
	for (i = 0; i < 2; i++)
		nb_dma(nb, queue[i], nb_linear(start_of[i], 0, 4), nb_linear(word, 0, 4), -1);
	store(nb, VECTOR, what.output, 0);
	return nb;
}

/* Those of one queue end in their order, which collectives of different streams do not. */
static void a_queue_starts_one_stream(void **state)
{
	(void)state;
	expect_error(two_sums(1, false),
		     "queue \"starts\" starts collectives of streams 0 and 1, which may end in any order: make a queue for each stream");
	expect_waits(two_sums(0, false), 1,
		     "vector instruction 0 waits for the transfer of gpsimd instruction 1: writes over what it writes, \"to2\" bytes 0x0 to 0x3");
	expect_waits(two_sums(1, true), 1,
		     "vector instruction 0 waits for the transfer of gpsimd instruction 1: writes over what it writes, \"to2\" bytes 0x0 to 0x3");
}

/* @nr sums on stream 0, in their order or @backwards; another queue starts number @apart and on. */
static struct nb_program *many_sums(unsigned int nr, unsigned int apart, bool backwards)
{
	struct nb_program *nb = begin();
	const uint32_t one = htole32(1);
	int word = nb_file(nb, "one", &one, sizeof(one)), start_of[40], queue[2];
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = F32, .input = nb_tmp(nb, "from", 256),
		.output = nb_tmp(nb, "to", 256), .ranks = two_ranks, .group_size = 2,
		.nr_groups = 1, .semaphore = -1,
	};
	unsigned int i, k;
	char name[16];

	queue[0] = nb_queue(nb, "starts", "data", GPSIMD, 1);
	queue[1] = nb_queue(nb, "starts2", "data", GPSIMD, 1);
	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "sum%u", i);
		start_of[i] = nb_collective(nb, name, &what);
	}
	for (i = 0; i < nr; i++) {
		k = backwards ? nr - 1 - i : i;
		nb_dma(nb, queue[k >= apart], nb_linear(start_of[k], 0, 4), nb_linear(word, 0, 4),
		       -1);
	}
	store(nb, VECTOR, what.output, 0);
	return nb;
}

/* Every 16th of a stream starts by the same semaphore. */
static void starts_by_one_semaphore_are_in_order(void **state)
{
	struct nb_program *nb = many_sums(40, 40, false);

	(void)state;
	/* Each of the two looks at the starts anew. */
	assert_int_equal(nb_schedule(nb, NULL), 0);
	expect_waits(nb, 1,
		     "vector instruction 0 waits for the transfer of gpsimd instruction 39: writes over what it writes, \"to\" bytes 0x0 to 0x3");
	expect_error(many_sums(40, 20, false),
		     "collective 20 starts by the same semaphore as collective 4, 16 places before it on stream 0: start that one before, by the same queue");
	expect_error(many_sums(40, 20, true),
		     "collective 39 starts by the same semaphore as collective 23, 16 places before it on stream 0: start that one before, by the same queue");
}

/* The stream ends them in its own order, and waits count the ends of a queue. */
static void starts_are_in_the_order_of_the_stream(void **state)
{
	(void)state;
	expect_error(many_sums(2, 1, true),
		     "queue \"starts\" starts collective 0 behind one that comes later on stream 0: start them in the order in which they were added");
	expect_error(many_sums(2, 2, true),
		     "queue \"starts\" starts collective 0 behind one that comes later on stream 0: start them in the order in which they were added");
}

static void a_collective_is_started_once(void **state)
{
	struct nb_program *nb;
	int queue[2], first;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		nb = begin();
		queue[0] = nb_queue(nb, "starts", "data", GPSIMD, 1);
		queue[1] = nb_queue(nb, "starts2", "data", GPSIMD, 1);
		first = sum(nb, nb_tmp(nb, "from", 256), nb_tmp(nb, "to", 256));
		start(nb, queue[0], first);
		nb_dma(nb, queue[i], nb_linear(first, 0, 4),
		       nb_linear(nb_find_var(nb, "one"), 0, 4), -1);
		expect_error(nb, "collective 0 (all_reduce) is started twice");
	}
}

/* What has started is noted of nb_dma() only. nb_dge() makes no such block, but it can be made. */
static void a_collective_is_started_by_a_copy(void **state)
{
	struct neuron_udma_dge post = {
		.op = { .op = NEURON_UDMA_OP_COPY, .nr_src = 1, .nr_dst = 1,
			.src_dtype = NEURON_DTYPE_UINT32, .dst_dtype = NEURON_DTYPE_UINT32,
			.src.num = { 1, 1, 1, 1 }, .dst.num = { 1, 1, 1, 1 } },
	};
	const uint32_t one = htole32(1);
	struct nb_program *nb = begin();

	(void)state;
	nb_reg_set(nb, GPSIMD, 5, 1);
	nb_reg_store(nb, GPSIMD, sum(nb, nb_tmp(nb, "from", 256), nb_tmp(nb, "to", 256)), 0, 0, 5);
	expect_error(nb,
		     "a write to \"sum\" starts a collective: in a program with nb_auto() use nb_dma()");
	nb = begin();
	post.src[0] = neuron_window_addr(nb_file(nb, "one", &one, sizeof(one)), 0);
	post.dst[0] = neuron_window_addr(sum(nb, nb_tmp(nb, "from", 256), nb_tmp(nb, "to", 256)),
					 0);
	nb_dma_generate(nb, nb_queue(nb, "starts", "dynamic", GPSIMD, 1),
			nb_file(nb, "post", &post, sizeof(post)), 0,
			&(struct nb_run_time){ .sem = -1 });
	expect_error(nb,
		     "a write to \"sum\" starts a collective: in a program with nb_auto() use nb_dma()");
}

/* 17 sums on stream 0, but number @barrier is a barrier. Number @late is started last. */
static struct nb_program *a_barrier_among_sums(unsigned int barrier, unsigned int late)
{
	struct nb_program *nb = begin();
	const uint32_t one = htole32(1);
	int word = nb_file(nb, "one", &one, sizeof(one)), start_of[17], queue[2];
	int from = nb_tmp(nb, "from", 256), to = nb_tmp(nb, "to", 256);
	unsigned int i, k;
	char name[16];

	queue[0] = nb_queue(nb, "starts", "data", GPSIMD, 1);
	queue[1] = nb_queue(nb, "by_hand", "data", GPSIMD, 1);
	for (i = 0; i < 17; i++) {
		const struct nb_collective what = {
			.op = i == barrier ? "barrier" : "all_reduce", .reduce = "add",
			.dtype = F32, .input = from, .output = to, .ranks = two_ranks,
			.group_size = 2, .nr_groups = 1,
			.semaphore = i == barrier ? nb_sem(nb, false) : -1,
		};

		snprintf(name, sizeof(name), "c%u", i);
		start_of[i] = nb_collective(nb, name, &what);
	}
	for (i = 0; i < 17; i++) {
		k = i < late ? i : i < 16 ? i + 1 : late;
		nb_dma(nb, queue[k == barrier], nb_linear(start_of[k], 0, 4),
		       nb_linear(word, 0, 4), -1);
	}
	return nb;
}

/* Another queue starts it, so the later start of the two that share a semaphore waits. */
static void what_ends_by_hand_shares_a_semaphore(void **state)
{
	(void)state;
	expect_waits(a_barrier_among_sums(0, 16), 1,
		     "gpsimd instruction 16 waits for the transfer of gpsimd instruction 0: writes over what it writes, \"c0\" bytes 0x0 to 0x3");
	expect_waits(a_barrier_among_sums(16, 16), 1,
		     "gpsimd instruction 16 waits for the transfer of gpsimd instruction 15: synchronisation by hand");
	expect_waits(a_barrier_among_sums(1, 16), 1, "synchronisation by hand");
	expect_error(a_barrier_among_sums(16, 0),
		     "collective 16 starts by the same semaphore as collective 0, 16 places before it on stream 0: start that one before");
	/* All but the first one are started, and that waits for them. */
	expect_error(a_barrier_among_sums(0, 0),
		     "collective 16 starts by the same semaphore as collective 0, 16 places before it on stream 0: start that one before");
	expect_error(a_barrier_among_sums(1, 1),
		     "queue \"by_hand\" starts collective 1 behind one that comes later on stream 0: start them in the order in which they were added");
}

static void too_many_collectives_are_refused(void **state)
{
	struct nb_program *nb = begin();
	struct nb_collective what = {
		.op = "barrier", .ranks = two_ranks, .group_size = 2, .nr_groups = 1,
		.semaphore = 7,
	};
	unsigned int i;
	char name[16];

	(void)state;
	for (i = 0; i <= NEFF_MAX_COLLECTIVES; i++) {
		assert_null(nb_error(nb));
		snprintf(name, sizeof(name), "c%u", i);
		nb_collective(nb, name, &what);
	}
	expect_error(nb, "collective \"c1024\": a program has at most 1024");
	nb = begin();
	what.stream = 4;
	nb_collective(nb, "late", &what);
	expect_error(nb, "collective \"late\": stream 4: the last one is 3");
}

static void a_collective_needs_a_start(void **state)
{
	struct nb_program *nb = begin();
	void *data;
	size_t size;

	(void)state;
	sum(nb, nb_tmp(nb, "from", 256), nb_tmp(nb, "to", 256));
	nb_nop(nb, SYNC);
	assert_int_equal(-1, nb_pack(nb, &data, &size));
	assert_string_equal("collective 0 (all_reduce) is never started", nb_error(nb));
	nb_free(nb);
	nb = nb_new("by hand");
	sum(nb, nb_tmp(nb, "from", 256), nb_tmp(nb, "to", 256));
	assert_string_equal("collective \"sum\": nb_auto() finds semaphores, not of barriers",
			    nb_error(nb));
	nb_free(nb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_collective_ends_like_a_transfer),
		cmocka_unit_test(a_queue_of_collectives_moves_nothing),
		cmocka_unit_test(a_queue_starts_one_stream),
		cmocka_unit_test(starts_by_one_semaphore_are_in_order),
		cmocka_unit_test(starts_are_in_the_order_of_the_stream),
		cmocka_unit_test(a_collective_is_started_once),
		cmocka_unit_test(a_collective_is_started_by_a_copy),
		cmocka_unit_test(what_ends_by_hand_shares_a_semaphore),
		cmocka_unit_test(too_many_collectives_are_refused),
		cmocka_unit_test(a_collective_needs_a_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
