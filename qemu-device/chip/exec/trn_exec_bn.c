// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Statistics of batch normalisation: sums in ascending order, every step rounded.
 */
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"

#define STATS_MAX	512	/* elements of a partition */
#define TRIPLE		3	/* count, mean, count * variance */

struct stats {
	const struct trn_exec *exec;
	struct trn_tile dst, src;
};

/* Every second one of @n elements. */
static void stats_of(const float *a, size_t n, float out[TRIPLE])
{
	float sum = 0.0f, squares = 0.0f, mean = 0.0f, d;
	size_t i, count = (n + 1) / 2;

	for (i = 0; i < n; i += 2)
		sum = sum + a[i];
	if (count)
		mean = sum / (float)count;
	for (i = 0; i < n; i += 2) {
		d = a[i] - mean;
		squares = squares + d * d;
	}
	out[0] = (float)count;
	out[1] = mean;
	out[2] = squares;
}

/* All of a partition is one piece. */
static void bn_stats(void *arg, unsigned int p, size_t first, size_t n,
		     const struct trn_lines *lines)
{
	const struct stats *op = arg;
	float *line = lines->a, out[2 * TRIPLE];

	(void)first;
	(void)n;
	trn_tile_load(&op->src, p, 0, op->src.n, line);
	stats_of(line, op->src.n, out);
	stats_of(line + 1, op->src.n - 1, out + TRIPLE);
	trn_tile_store(&op->dst, p, 0, 2 * TRIPLE, out);
}

static enum neuron_cause stats_tiles(struct trn_exec *exec, struct stats *op,
				     unsigned int results)
{
	enum neuron_cause cause;

	cause = trn_exec_pair(exec, &op->dst, &op->src);
	if (cause)
		return cause;
	exec->work.n = op->src.n;
	return op->dst.n == results ? NEURON_CAUSE_NONE : NEURON_CAUSE_OPERAND;
}

enum neuron_cause trn_exec_bn_stats(struct trn_exec *exec)
{
	struct stats op = { .exec = exec };
	struct trn_exec_walk walk = {
		.n = 1,
		.src = { &op.src },
		.heavy = true,
		.piece = bn_stats,
	};
	enum neuron_cause cause;

	cause = stats_tiles(exec, &op, 2 * TRIPLE);
	if (!cause && op.src.n > STATS_MAX)
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	walk.partitions = op.dst.partitions;
	walk.depth = op.src.n;
	return trn_exec_walk(exec, &walk, &op);
}

/* What the pieces of a partition hand on. */
enum { COUNT, SUM, MEAN, SQUARES, NR_TOTALS };

static void add_triples(float *total, const float *triple, size_t n)
{
	size_t i;

	for (i = 0; i + TRIPLE <= n; i += TRIPLE) {
		total[COUNT] = total[COUNT] + triple[i];
		total[SUM] = total[SUM] + triple[i] * triple[i + 1];
	}
}

static void add_squares(float *total, const float *triple, size_t n)
{
	size_t i;
	float d;

	for (i = 0; i + TRIPLE <= n; i += TRIPLE) {
		d = triple[i + 1] - total[MEAN];
		total[SQUARES] = total[SQUARES] + triple[i + 2];
		total[SQUARES] = total[SQUARES] + triple[i] * (d * d);
	}
}

static void aggregate_begin(void *arg, unsigned int p)
{
	const struct stats *op = arg;

	(void)p;
	memset(trn_exec_carry(op->exec), 0, NR_TOTALS * sizeof(float));
}

/* Twice as many elements: the mean of all of them; then the sum of squares around it. */
static void aggregate(void *arg, unsigned int p, size_t first, size_t n,
		      const struct trn_lines *lines)
{
	const struct stats *op = arg;
	float *total = trn_exec_carry(op->exec);
	size_t all = op->src.n, part;

	if (first < all) {
		part = trn_piece(all, first, n);
		trn_tile_load(&op->src, p, first, part, lines->a);
		add_triples(total, lines->a, part);
		first += part;
		n -= part;
	}
	if (!n)
		return;
	if (first == all)
		total[MEAN] = total[SUM] / total[COUNT];
	trn_tile_load(&op->src, p, first - all, n, lines->a);
	add_squares(total, lines->a, n);
}

static void aggregate_end(void *arg, unsigned int p)
{
	const struct stats *op = arg;
	const float *total = trn_exec_carry(op->exec);
	float count = total[COUNT], squares = total[SQUARES], out[2];

	out[0] = total[MEAN];
	out[1] = squares / count;
	trn_tile_store(&op->dst, p, 0, 2, out);
}

enum neuron_cause trn_exec_bn_aggr(struct trn_exec *exec)
{
	struct stats op = { .exec = exec };
	struct trn_exec_walk walk = {
		.src = { &op.src },
		.heavy = true,
		.limit = TRN_SLOW_PIECE / TRIPLE * TRIPLE,
		.begin = aggregate_begin,
		.piece = aggregate,
		.end = aggregate_end,
	};
	enum neuron_cause cause;

	cause = stats_tiles(exec, &op, 2);
	if (!cause && op.src.n % TRIPLE)
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	walk.partitions = op.dst.partitions;
	walk.n = 2 * (size_t)op.src.n;
	return trn_exec_walk(exec, &walk, &op);
}
