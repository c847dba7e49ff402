/* SPDX-License-Identifier: MIT */
/*
 * One instruction of each opcode, in several shapes, for the tests of instructions that are
 * done piece by piece.
 */
#ifndef RESUME_SHAPES_H
#define RESUME_SHAPES_H

#include "seq_rig.h"
#include "isa/trn_isa.h"

/* How the tiles of an instruction lie. */
enum resume_how {
	RESUME_APART,
	RESUME_OVER,		/* the destination begins in the source, or is added to */
	RESUME_SCATTERED,	/* three elements side by side, then three elsewhere */
	RESUME_INDEX,		/* an index says where elements lie; v4 */
	RESUME_HOWS
};

/**
 * struct resume_shape - an instruction
 * @load: what the array is loaded with before, or opcode 0
 */
struct resume_shape {
	enum neuron_engine engine;
	struct neuron_inst load;
	struct neuron_inst inst;
};

/*
 * An instruction with the opcode of @isa, for a core of @gen: small, but of several pieces,
 * or as large as it may be (@large; a few partitions stand for all of them where they are
 * done one after the other). It may be refused when @how is not RESUME_APART. False: it has
 * no such shape. Fails when the opcode is not known here.
 */
bool resume_shape(const struct neuron_gen *gen, const struct trn_isa *isa,
		  enum resume_how how, bool large, struct resume_shape *shape);

/* Fill the partitions of core 0 that the instructions use with the same numbers each time. */
void resume_fill(struct seq_rig *rig);
#define RESUME_PARTITIONS	128
#define RESUME_BYTES		0x18000		/* of each */

#endif /* RESUME_SHAPES_H */
