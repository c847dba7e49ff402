// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "sbuf.h"

#define PARTITIONS	128u
/* Tiles begin at such a byte. */
#define ALIGN		64u

/* Can @blocks of @rows partitions fill SBUF downwards, all columns alike? */
static bool is_even(unsigned int blocks, unsigned int rows)
{
	unsigned int down = PARTITIONS / rows;

	return blocks <= down || blocks % down == 0;
}

static int choose_rows(struct sbuf *sbuf, uint64_t block, bool below, char why[SBUF_WHY])
{
	unsigned int rows = PARTITIONS;

	while (block % rows || (below && !(is_even(sbuf->input, rows) &&
					   is_even(sbuf->output, rows)))) {
		rows /= 2;
		if (!rows) {
			snprintf(why, SBUF_WHY,
				 "%u blocks of %llu elements cannot lie below each other in SBUF; use --cc-dim 0",
				 sbuf->input > sbuf->output ? sbuf->input : sbuf->output,
				 (unsigned long long)block);
			return -1;
		}
	}
	sbuf->partitions = rows;
	sbuf->down = below ? PARTITIONS / rows : 1;
	return 0;
}

/* Bytes of a partition that @blocks need. */
static uint64_t width(const struct sbuf *sbuf, unsigned int blocks, uint64_t bytes)
{
	uint64_t all = (blocks + sbuf->down - 1) / sbuf->down * bytes;

	return (all + ALIGN - 1) / ALIGN * ALIGN;
}

int sbuf_place(struct sbuf *sbuf, const struct operation *operation, const struct type *type,
	       unsigned int ranks, uint64_t block, bool below, uint64_t at, uint64_t limit,
	       char why[SBUF_WHY])
{
	uint64_t bytes, to, end;

	*sbuf = (struct sbuf){
		.input = in_blocks(operation, ranks), .output = out_blocks(operation, ranks),
	};
	if (choose_rows(sbuf, block, below, why))
		return -1;
	bytes = block / sbuf->partitions * type->size;
	to = at + width(sbuf, sbuf->input, bytes);
	end = to + width(sbuf, sbuf->output, bytes);
	if (end > limit) {
		snprintf(why, SBUF_WHY,
			 "tensors need %llu bytes of a partition of SBUF, and there are %llu",
			 (unsigned long long)end, (unsigned long long)limit);
		return -1;
	}
	sbuf->bytes = (uint32_t)bytes;
	sbuf->from = (uint32_t)at;
	sbuf->to = (uint32_t)to;
	sbuf->end = (uint32_t)end;
	return 0;
}

/* Blocks below each other are rows that follow each other. */
static struct nb_side side(struct nb_program *nb, const struct sbuf *sbuf, unsigned int blocks,
			   uint32_t at)
{
	unsigned int down = blocks < sbuf->down ? blocks : sbuf->down;
	struct nb_side side = nb_sbuf_tile(nb, 0, sbuf->partitions * down, at, sbuf->bytes);

	if (blocks > down) {
		side.ndim = 3;
		side.size[2] = blocks / down;
		side.step[2] = sbuf->bytes;
	}
	return side;
}

struct nb_side sbuf_input(struct nb_program *nb, const struct sbuf *sbuf)
{
	return side(nb, sbuf, sbuf->input, sbuf->from);
}

struct nb_side sbuf_output(struct nb_program *nb, const struct sbuf *sbuf)
{
	return side(nb, sbuf, sbuf->output, sbuf->to);
}
