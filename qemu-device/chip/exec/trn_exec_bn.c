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

/* Of the elements with even and those with odd numbers. */
enum { EVEN, ODD, NR_HALVES };

/* Two chains go on side by side, as an addition waits for the one before it. */
static void sums_of(const float *a, size_t n, float sum[NR_HALVES])
{
	float even = 0.0f, odd = 0.0f;
	size_t i;

	for (i = 0; i + 1 < n; i += 2) {
		even = even + a[i];
		odd = odd + a[i + 1];
	}
	if (i < n)
		even = even + a[i];
	sum[EVEN] = even;
	sum[ODD] = odd;
}

static void squares_of(const float *a, size_t n, const float mean[NR_HALVES],
		       float squares[NR_HALVES])
{
	float even = 0.0f, odd = 0.0f, d, e;
	size_t i;

	for (i = 0; i + 1 < n; i += 2) {
		d = a[i] - mean[EVEN];
		e = a[i + 1] - mean[ODD];
		even = even + d * d;
		odd = odd + e * e;
	}
	if (i < n) {
		d = a[i] - mean[EVEN];
		even = even + d * d;
	}
	squares[EVEN] = even;
	squares[ODD] = odd;
}

static void stats_of(const float *a, size_t n, float out[NR_HALVES][TRIPLE])
{
	float sum[NR_HALVES], squares[NR_HALVES], mean[NR_HALVES], count;
	unsigned int half;

	sums_of(a, n, sum);
	for (half = EVEN; half < NR_HALVES; half++) {
		count = (float)((n + 1 - half) / 2);
		mean[half] = count > 0.0f ? sum[half] / count : 0.0f;
		out[half][0] = count;
		out[half][1] = mean[half];
	}
	squares_of(a, n, mean, squares);
	out[EVEN][2] = squares[EVEN];
	out[ODD][2] = squares[ODD];
}

/* All of a partition is one piece. */
static void bn_stats(void *arg, unsigned int p, size_t first, size_t n,
		     const struct trn_lines *lines)
{
	const struct stats *op = arg;
	const float *line = trn_tile_view(&op->src, p, 0, op->src.n, lines->a);
	float out[NR_HALVES][TRIPLE];

	(void)first;
	(void)n;
	stats_of(line, op->src.n, out);
	trn_tile_store(&op->dst, p, 0, NR_HALVES * TRIPLE, out[0]);
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

	cause = stats_tiles(exec, &op, NR_HALVES * TRIPLE);
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
