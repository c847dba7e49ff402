// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron_builder.h"
#include "stream_program.h"

static const struct {
	const char *op;
	const char *reduce;
} ops[STREAM_OPS] = {
	[STREAM_SUM] = { "all_reduce", "add" },
	[STREAM_MOST] = { "all_reduce", "max" },
	[STREAM_SCATTER] = { "reduce_scatter", "add" },
	[STREAM_GATHER] = { "all_gather", NULL },
	[STREAM_SEND] = { "permute", NULL },
	[STREAM_RINGS] = { "permute_implicit", NULL },
	[STREAM_SUM_RINGS] = { "permute_implicit", "add" },
};

unsigned int stream_in(const struct stream_work *work)
{
	switch (work->op) {
	case STREAM_SCATTER:
		return work->floats * work->size;
	case STREAM_RINGS:
		return work->floats * STREAM_CHANNELS;
	case STREAM_SUM_RINGS:
		return work->floats * STREAM_CHANNELS * 2;
	default:
		return work->floats;
	}
}

unsigned int stream_out(const struct stream_work *work)
{
	switch (work->op) {
	case STREAM_GATHER:
		return work->floats * work->size;
	case STREAM_RINGS:
	case STREAM_SUM_RINGS:
		return work->floats * STREAM_CHANNELS;
	default:
		return work->floats;
	}
}

/* --- On the chip --- */

/* What a work takes and gives, its queue and its semaphore. */
struct parts {
	struct nb_side in;
	struct nb_side out;
	int queue;
	int sem;
	int start;
};

/* @floats of work @i; in SBUF they are in partition @partition. */
static struct nb_side make_room(struct nb_program *nb, const char *what, unsigned int i,
				unsigned int floats, int partition)
{
	const uint32_t bytes = floats * sizeof(float);
	char name[16];

	if (partition >= 0)
		return nb_linear(nb_sbuf(nb), nb_sbuf_offset((unsigned int)partition, 0), bytes);
	snprintf(name, sizeof(name), "%s%u", what, i);
	return nb_linear(nb_tmp(nb, name, bytes), 0, bytes);
}

/* Tensors of a list: of each block of @all every one has a share. */
static void share(const struct stream_work *work, const struct nb_side *all,
		  struct nb_side tensors[STREAM_TENSORS])
{
	const uint32_t block = work->floats * sizeof(float);
	unsigned int i, first = 0, end;

	for (i = 0; i < work->tensors; i++, first = end) {
		end = work->floats * (i + 1) / work->tensors;
		tensors[i] = nb_linear(all->var, all->offset + first * sizeof(float),
				       (uint32_t)((end - first) * sizeof(float)));
		tensors[i].ndim = 2;
		tensors[i].size[1] = all->size[0] / block;
		tensors[i].step[1] = block;
	}
}

static struct parts make_parts(struct nb_program *nb, const struct stream_work *work,
			       unsigned int i)
{
	static const uint32_t to_second[1][2] = { { 0, 1 } };
	struct parts parts = {
		.in = make_room(nb, "in", i, stream_in(work), work->sbuf ? (int)i : -1),
		.out = make_room(nb, "out", i, stream_out(work),
				 work->sbuf ? (int)(STREAM_WORKS + i) : -1),
		.sem = nb_sem(nb, false),
	};
	struct nb_side inputs[STREAM_TENSORS], outputs[STREAM_TENSORS];
	const struct nb_collective what = {
		.op = ops[work->op].op, .reduce = ops[work->op].reduce,
		.dtype = NEURON_DTYPE_FP32, .input = parts.in.var, .output = parts.out.var,
		.inputs = inputs, .outputs = outputs, .nr_parts = work->tensors,
		.ranks = work->ranks, .group_size = work->size,
		.nr_groups = work->nr_ranks / work->size, .stream = work->stream,
		.pairs = to_second, .nr_pairs = work->op == STREAM_SEND,
		.channels = STREAM_CHANNELS * (work->op >= STREAM_RINGS),
		.semaphore = parts.sem,
	};
	char name[16];

	share(work, &parts.in, inputs);
	share(work, &parts.out, outputs);
	snprintf(name, sizeof(name), "start%u", i);
	parts.start = nb_collective(nb, name, &what);
	snprintf(name, sizeof(name), "q%u", i);
	parts.queue = nb_queue(nb, name, "data", NEURON_ENGINE_SYNC, 1);
	return parts;
}

static void start(struct nb_program *nb, const struct parts *parts, int one)
{
	nb_dma(nb, parts->queue, nb_linear(parts->start, 0, 4), nb_linear(one, 0, 4), -1);
}

static void emit(struct nb_program *nb, const struct stream_work *works, unsigned int nr,
		 const struct parts *parts, int x, int y)
{
	const uint32_t word = htole32(1);
	int one = nb_file(nb, "one.bin", &word, sizeof(word));
	uint64_t at = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		uint64_t bytes = stream_in(&works[i]) * sizeof(float);

		if (!works[i].bare)
			nb_dma(nb, parts[i].queue, parts[i].in, nb_linear(x, at, bytes), -1);
		/* What stays where nobody sends. */
		if (works[i].op == STREAM_SEND)
			nb_dma(nb, parts[i].queue, parts[i].out, nb_linear(x, at, bytes), -1);
		at += bytes;
		if (works[i].after < 0)
			start(nb, &parts[i], one);
	}
	for (i = 0; i < nr; i++) {
		if (works[i].after < 0)
			continue;
		nb_wait(nb_nop(nb, NEURON_ENGINE_SYNC), parts[works[i].after].sem, 1);
		start(nb, &parts[i], one);
	}
	for (at = 0, i = 0; i < nr; i++) {
		uint64_t bytes = stream_out(&works[i]) * sizeof(float);

		nb_wait(nb_nop(nb, NEURON_ENGINE_SYNC), parts[i].sem, 1);
		if (!works[i].bare)
			nb_dma(nb, parts[i].queue, nb_linear(y, at, bytes), parts[i].out, -1);
		at += bytes;
	}
	nb_halt(nb, NEURON_ENGINE_SYNC);
}

struct program stream_program(const struct stream_work *works, unsigned int nr)
{
	const char *lnc = getenv("NEURON_LOGICAL_NC_CONFIG");
	struct nb_program *nb = nb_new("streams");
	uint32_t in[] = { 1, 0 }, out[] = { 1, 0 };
	struct parts parts[STREAM_WORKS];
	struct program program;
	unsigned int i;
	int x, y;

	for (i = 0; i < nr; i++) {
		in[1] += stream_in(&works[i]);
		out[1] += stream_out(&works[i]);
	}
	x = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, in);
	y = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, out);
	for (i = 0; i < nr; i++)
		parts[i] = make_parts(nb, &works[i], i);
	emit(nb, works, nr, parts, x, y);
	if (lnc && !strcmp(lnc, "2"))
		nb_second(nb);
	if (nb_pack(nb, &program.data, &program.size)) {
		fprintf(stderr, "# stream_program.c: %s\n", nb_error(nb));
		exit(1);
	}
	nb_free(nb);
	return program;
}

/* --- On the host --- */

/* Element @i of the group's inputs, which begin at @at, in one number. */
static float fold(const struct stream_work *work, const uint32_t *group, const float *const *x,
		  size_t i)
{
	float sum = x[group[0]][i];
	unsigned int k;

	for (k = 1; k < work->size; k++) {
		float next = x[group[k]][i];

		if (work->op == STREAM_MOST)
			sum = next > sum ? next : sum;
		else
			sum += next;
	}
	return sum;
}

/* @x: what the rank has that each block comes from. */
static void expect_rings(const struct stream_work *work, const float *const x[STREAM_CHANNELS],
			 float *y)
{
	const unsigned int second = work->floats * STREAM_CHANNELS;
	unsigned int c, i, k;

	for (c = 0; c < STREAM_CHANNELS; c++)
		for (i = 0; i < work->floats; i++) {
			k = c * work->floats + i;
			y[k] = x[c][k] + (work->op == STREAM_SUM_RINGS ? x[c][second + k] : 0);
		}
}

static void expect_one(const struct stream_work *work, const uint32_t *group, unsigned int me,
		       const float *const *x, size_t at, float *y)
{
	size_t first = work->op == STREAM_SCATTER ? at + (size_t)me * work->floats : at;
	unsigned int i, k;

	if (work->op == STREAM_SEND) {
		memcpy(y, x[group[me == 1 ? 0 : me]] + at, work->floats * sizeof(float));
		return;
	}
	if (work->op >= STREAM_RINGS) {
		expect_rings(work, (const float *const[]){
			x[group[(me + work->size - 1) % work->size]] + at,
			x[group[(me + 1) % work->size]] + at,
		}, y);
		return;
	}
	for (i = 0; work->op != STREAM_GATHER && i < work->floats; i++)
		y[i] = fold(work, group, x, first + i);
	for (k = 0; work->op == STREAM_GATHER && k < work->size; k++)
		memcpy(y + (size_t)k * work->floats, x[group[k]] + at,
		       work->floats * sizeof(float));
}

void stream_expect(const struct stream_work *works, unsigned int nr, unsigned int rank,
		   const float *const *x, float *y)
{
	unsigned int i, place;
	size_t at = 0;

	for (i = 0; i < nr; i++) {
		for (place = 0; works[i].ranks[place] != rank; place++)
			;
		expect_one(&works[i], &works[i].ranks[place - place % works[i].size],
			   place % works[i].size, x, at, y);
		at += stream_in(&works[i]);
		y += stream_out(&works[i]);
	}
}
