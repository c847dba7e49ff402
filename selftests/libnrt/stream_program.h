/* SPDX-License-Identifier: MIT */
/*
 * Programs whose collectives are on several streams, and what comes of them.
 */
#ifndef SELFTESTS_LIBNRT_STREAM_PROGRAM_H
#define SELFTESTS_LIBNRT_STREAM_PROGRAM_H

#include "programs.h"

#define STREAM_WORKS	40
#define STREAM_RANKS	16
#define STREAM_TENSORS	4
#define STREAM_CHANNELS	2

enum stream_op {
	STREAM_SUM, STREAM_MOST, STREAM_SCATTER, STREAM_GATHER, STREAM_SEND, STREAM_RINGS,
	STREAM_SUM_RINGS, STREAM_OPS
};

/**
 * struct stream_work - a collective of fp32
 * @op: sum, maximum, sum of a block for each rank, all of all ranks, or what the first rank of a
 *	group sends to the second one; the others keep what they have. Rings: a block goes to the
 *	next rank, the other one to the rank before; with sums: each of them with another one added
 * @stream: where it is done
 * @floats: of a block
 * @ranks: @nr_ranks of them, groups of @size ranks each
 * @after: it is started when that one is complete; -1: at once
 * @tensors: a list of so many tensors, at most STREAM_TENSORS, which share the floats of a block;
 *	0: no list
 * @sbuf: those lie in SBUF, of at most STREAM_IN_SBUF bytes
 * @bare: what it takes and gives is not copied, so that nothing else takes time
 */
struct stream_work {
	enum stream_op op;
	unsigned int stream;
	unsigned int floats;
	uint32_t ranks[STREAM_RANKS];
	unsigned int nr_ranks;
	unsigned int size;
	int after;
	unsigned int tensors;
	bool sbuf;
	bool bare;
};

/* What a list has in SBUF at most: a partition. */
#define STREAM_IN_SBUF	(64u << 10)

/* Floats that it takes and gives. */
unsigned int stream_in(const struct stream_work *work);
unsigned int stream_out(const struct stream_work *work);

/*
 * A program of @nr works. Its input x has what they take, one after the other, its output y what
 * they give.
 */
struct program stream_program(const struct stream_work *works, unsigned int nr);

/*
 * The same on the host, for rank @rank. @x: by rank. A sum is one addition of fp32 after the other,
 * in the order of the group, which is the order of a mesh.
 */
void stream_expect(const struct stream_work *works, unsigned int nr, unsigned int rank,
		   const float *const *x, float *y);

#endif /* SELFTESTS_LIBNRT_STREAM_PROGRAM_H */
