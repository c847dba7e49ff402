// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Statistics of batch normalisation: sums in ascending order, every step rounded.
 */
#include "trn_exec.h"
#include "trn_num.h"

#define STATS_MAX	512	/* elements of a partition */
#define TRIPLE		3	/* count, mean, count * variance */

struct stats {
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

static void bn_stats(const struct stats *op)
{
	float line[STATS_MAX], out[2 * TRIPLE];
	unsigned int p;

	for (p = 0; p < op->dst.partitions; p++) {
		trn_tile_load(&op->src, p, 0, op->src.n, line);
		stats_of(line, op->src.n, out);
		stats_of(line + 1, op->src.n - 1, out + TRIPLE);
		trn_tile_store(&op->dst, p, 0, 2 * TRIPLE, out);
	}
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
	struct stats op;
	enum neuron_cause cause;

	cause = stats_tiles(exec, &op, 2 * TRIPLE);
	if (!cause && op.src.n > STATS_MAX)
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	bn_stats(&op);
	return NEURON_CAUSE_NONE;
}

/* The mean of all elements; then the sum of squares around it. */
static void aggregate(const struct stats *op, unsigned int p, float out[2])
{
	float triple[TRIPLE], count = 0.0f, sum = 0.0f, squares = 0.0f, d;
	size_t i;

	for (i = 0; i < op->src.n; i += TRIPLE) {
		trn_tile_load(&op->src, p, i, TRIPLE, triple);
		count = count + triple[0];
		sum = sum + triple[0] * triple[1];
	}
	out[0] = sum / count;
	for (i = 0; i < op->src.n; i += TRIPLE) {
		trn_tile_load(&op->src, p, i, TRIPLE, triple);
		d = triple[1] - out[0];
		squares = squares + triple[2];
		squares = squares + triple[0] * (d * d);
	}
	out[1] = squares / count;
}

enum neuron_cause trn_exec_bn_aggr(struct trn_exec *exec)
{
	struct stats op;
	enum neuron_cause cause;
	unsigned int p;
	float out[2];

	cause = stats_tiles(exec, &op, 2);
	if (!cause && op.src.n % TRIPLE)
		cause = NEURON_CAUSE_OPERAND;
	if (!cause)
		cause = trn_tile_touch(&op.dst);
	if (cause)
		return cause;
	for (p = 0; p < op.dst.partitions; p++) {
		aggregate(&op, p, out);
		trn_tile_store(&op.dst, p, 0, 2, out);
	}
	return NEURON_CAUSE_NONE;
}
