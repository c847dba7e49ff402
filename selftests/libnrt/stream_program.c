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
};

unsigned int stream_in(const struct stream_work *work)
{
	return work->floats * (work->op == STREAM_SCATTER ? work->size : 1);
}

unsigned int stream_out(const struct stream_work *work)
{
	return work->floats * (work->op == STREAM_GATHER ? work->size : 1);
}

/* --- On the chip --- */

/* Variables, queue and semaphore of a work. */
struct parts {
	int in;
	int out;
	int queue;
	int sem;
	int start;
};

static int make_tmp(struct nb_program *nb, const char *what, unsigned int i, unsigned int floats)
{
	char name[16];

	snprintf(name, sizeof(name), "%s%u", what, i);
	return nb_tmp(nb, name, floats * sizeof(float));
}

static struct parts make_parts(struct nb_program *nb, const struct stream_work *work,
			       unsigned int i)
{
	struct parts parts = {
		.in = make_tmp(nb, "in", i, stream_in(work)),
		.out = make_tmp(nb, "out", i, stream_out(work)),
		.sem = nb_sem(nb, false),
	};
	const struct nb_collective what = {
		.op = ops[work->op].op, .reduce = ops[work->op].reduce,
		.dtype = NEURON_DTYPE_FP32, .input = parts.in, .output = parts.out,
		.ranks = work->ranks, .group_size = work->size,
		.nr_groups = work->nr_ranks / work->size, .stream = work->stream,
		.semaphore = parts.sem,
	};
	char name[16];

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
			nb_dma(nb, parts[i].queue, nb_linear(parts[i].in, 0, bytes),
			       nb_linear(x, at, bytes), -1);
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
			nb_dma(nb, parts[i].queue, nb_linear(y, at, bytes),
			       nb_linear(parts[i].out, 0, bytes), -1);
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

static void expect_one(const struct stream_work *work, const uint32_t *group, unsigned int me,
		       const float *const *x, size_t at, float *y)
{
	size_t first = work->op == STREAM_SCATTER ? at + (size_t)me * work->floats : at;
	unsigned int i, k;

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
