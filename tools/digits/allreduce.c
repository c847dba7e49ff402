// SPDX-License-Identifier: MIT
/*
 * The all-reduce: every rank writes its counts to a slot of every other rank,
 * posts there, and adds what arrives.
 */
#include <stdio.h>

#include "program.h"

#define VECTOR	NEURON_ENGINE_VECTOR
#define SYNC	NEURON_ENGINE_SYNC
#define FP32	NEURON_DTYPE_FP32

#define COUNTS		100
#define COUNTS_BYTES	(COUNTS * 4)

/* Peers post these; they keep their value between executions. */
struct allreduce_sems {
	int arrived;	/* counts of peers that are in our slots */
	int taken;	/* peers that have read what we wrote */
	int loaded;	/* rows in SBUF */
	int summed;
};

static struct neuron_ap allreduce_row(unsigned int i)
{
	return nb_tile(0, 1, i * 512, FP32, COUNTS);
}

static void allreduce_send(struct nb_program *nb, int queue, unsigned int ranks,
			   int counts, int slots, int one,
			   const struct allreduce_sems *s, int *taken_at)
{
	char name[32];
	unsigned int k;
	int peer, sems;

	for (k = 1; k < ranks; k++) {
		snprintf(name, sizeof(name), "peer_slots_%u", k);
		peer = nb_peer(nb, name, k, slots);
		snprintf(name, sizeof(name), "peer_sems_%u", k);
		sems = nb_peer_sem(nb, name, k, s->arrived, 2);
		/* In order: the post follows the data. */
		nb_dma(nb, queue,
		       nb_linear(peer, (k - 1) * COUNTS_BYTES, COUNTS_BYTES),
		       nb_linear(counts, 0, COUNTS_BYTES), -1);
		nb_dma(nb, queue, nb_linear(sems, 0, 4), nb_linear(one, 0, 4),
		       -1);
		taken_at[k] = sems;
	}
}

static void allreduce_gather(struct nb_program *nb, int queue,
			     unsigned int ranks, int counts, int slots, int one,
			     const struct allreduce_sems *s,
			     const int *taken_at)
{
	unsigned int k;

	nb_dma(nb, queue, nb_sbuf_tile(nb, 0, 1, 0, COUNTS_BYTES),
	       nb_linear(counts, 0, COUNTS_BYTES), s->loaded);
	nb_wait_take(nb_nop(nb, SYNC), s->arrived, ranks - 1);
	for (k = 1; k < ranks; k++)
		nb_dma(nb, queue, nb_sbuf_tile(nb, 0, 1, k * 512, COUNTS_BYTES),
		       nb_linear(slots, (k - 1) * COUNTS_BYTES, COUNTS_BYTES),
		       s->loaded);
	nb_wait(nb_nop(nb, SYNC), s->loaded, ranks);
	/* The peers may write our slots again. */
	for (k = 1; k < ranks; k++)
		nb_dma(nb, queue, nb_linear(taken_at[k], 4, 4),
		       nb_linear(one, 0, 4), -1);
}

struct nb_program *digits_allreduce(unsigned int ranks)
{
	const uint32_t shape[] = { 10, 10 };
	const int32_t one_value = 1;
	struct nb_program *nb;
	struct allreduce_sems s;
	int counts, total, slots, one, queue, taken_at[16] = { 0 };
	unsigned int k;

	nb = nb_new("digits-allreduce");
	if (!nb || ranks < 2 || ranks > 16)
		return nb;
	s.arrived = nb_sem(nb, true);
	s.taken = nb_sem(nb, true);
	s.loaded = nb_sem(nb, false);
	s.summed = nb_sem(nb, false);
	counts = nb_input(nb, "counts", FP32, 2, shape);
	total = nb_output(nb, "total", FP32, 2, shape);
	slots = nb_tmp(nb, "slots", (ranks - 1) * COUNTS_BYTES);
	one = nb_file(nb, "one", &one_value, sizeof(one_value));
	queue = nb_queue(nb, "q_cc", "data", SYNC, 1);

	allreduce_send(nb, queue, ranks, counts, slots, one, &s, taken_at);
	allreduce_gather(nb, queue, ranks, counts, slots, one, &s, taken_at);
	nb_wait(nb_nop(nb, VECTOR), s.loaded, ranks);
	for (k = 1; k < ranks; k++)
		nb_tensor_tensor(nb, VECTOR, NEURON_ALU_ADD, allreduce_row(0),
				 allreduce_row(0), allreduce_row(k));
	nb_post(nb_nop(nb, VECTOR), s.summed, 1);
	nb_wait(nb_dma(nb, queue, nb_linear(total, 0, COUNTS_BYTES),
		       nb_sbuf_tile(nb, 0, 1, 0, COUNTS_BYTES), -1),
		s.summed, 1);
	nb_wait_take(nb_nop(nb, SYNC), s.taken, ranks - 1);
	nb_halt(nb, VECTOR);
	nb_halt(nb, SYNC);
	return nb;
}
