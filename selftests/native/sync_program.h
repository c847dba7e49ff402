/* SPDX-License-Identifier: MIT */
/*
 * Programs by chance: instructions of all engines and transfers of several queues on a few small
 * tiles, so that they get in each other's way, and loops around them. A program is emitted for
 * the builder to synchronise, or one instruction after the other.
 */
#ifndef SYNC_PROGRAM_H
#define SYNC_PROGRAM_H

#include "neuron_builder.h"

#define SYNC_OPS	160
#define SYNC_ROWS	128
#define SYNC_BYTES	512	/* of a row of a matrix in HBM, and of a tile */
#define SYNC_TILES	4	/* beside each other in SBUF, in PSUM */
#define SYNC_WIDE	(SYNC_BYTES * SYNC_TILES)
#define SYNC_BLOCKS	16	/* of generated descriptors */
#define SYNC_MAX_INDEX	8

/* What programs are made of; counted over all programs. */
enum sync_kind {
	SYNC_MATMUL,
	SYNC_VECTOR,
	SYNC_SCALAR,
	SYNC_GPSIMD,
	SYNC_GATHER,		/* indices in SBUF */
	SYNC_INDEX,		/* a tile with an index (trn3) */
	SYNC_REGISTER,		/* an offset from a register */
	SYNC_WORD,		/* register load or store */
	SYNC_LOAD,		/* by a queue of one, to SBUF */
	SYNC_STORE,
	SYNC_MOVE,		/* from HBM to HBM */
	SYNC_SPREAD,		/* by a set of several queues */
	SYNC_GENERATED,		/* descriptors made by an instruction */
	SYNC_INDEXED,		/* the same with a list of indices */
	SYNC_LOOP,
	SYNC_NESTED,		/* a loop in a loop */
	SYNC_WHILE,		/* one that ends when registers say so */
	SYNC_IF,		/* what is executed once or not at all */
	SYNC_ELSE,		/* the same, with something instead of it */
	SYNC_KINDS_ALONE,
	SYNC_BARRIER = SYNC_KINDS_ALONE, /* of a pair: both cores meet */
	SYNC_SENT,		/* to SBUF of the other core */
	SYNC_ARRIVED,		/* what it has sent is read */
	SYNC_KINDS
};

extern const char *const sync_kind_name[SYNC_KINDS];

/* Variables and queues, in the order in which programs make them. */
enum {
	SYNC_VAR_X = 1,
	SYNC_VAR_T,
	SYNC_VAR_Y,
	SYNC_VAR_SBUF_OUT,
	SYNC_VAR_PSUM_OUT,
	SYNC_VAR_INDICES,
	SYNC_VAR_SBUF,
	SYNC_VAR_BLOCKS,
	SYNC_VAR_SIBLING,	/* of a pair */
};

enum {
	SYNC_QUEUE_A,
	SYNC_QUEUE_B,
	SYNC_QUEUE_C,
	SYNC_QUEUE_D,
	SYNC_QUEUE_MADE,	/* generated descriptors only */
	SYNC_NR_QUEUES
};

struct sync_queue {
	const char *name;
	const char *type;
	enum neuron_engine owner;
	unsigned int queues;
};

extern const struct sync_queue sync_queue[SYNC_NR_QUEUES];

enum sync_op_kind {
	SYNC_OP_INST,
	SYNC_OP_DMA,
	SYNC_OP_BEGIN,
	SYNC_OP_ELSE,
	SYNC_OP_END,
	SYNC_OP_BARRIER,
};

struct sync_op {
	enum sync_op_kind kind;
	enum neuron_engine engine;
	struct neuron_inst inst;
	int queue;
	struct nb_side to;
	struct nb_side from;
	unsigned int reg;
	uint32_t count;		/* rounds; of a branch, whether its first part is executed */
	bool test;
	bool branch;
};

struct sync_program {
	uint64_t random;
	unsigned int generation;
	bool loops;
	bool pair;
	unsigned int core;
	unsigned int phase;	/* how often the cores of the pair have met */
	struct sync_op op[SYNC_OPS];
	unsigned int nr_ops;
	unsigned int depth;
	unsigned int nr_blocks;
	uint64_t block[SYNC_BLOCKS][64];	/* struct neuron_udma_dge */
	unsigned int kinds[SYNC_KINDS];
};

/* The same program for the same @seed and @generation, 2 to 4; with loops, or without. */
void sync_program_make(struct sync_program *program, uint64_t seed, unsigned int generation,
		       bool loops);
/*
 * Tests of registers go the other way: what was executed is not, and the other way round. All else
 * stays, and so does what the builder makes of it.
 */
void sync_program_turn(struct sync_program *program);
/* The same for both cores of a pair, 3 or 4; they share the matrices. */
void sync_pair_make(struct sync_program pair[2], uint64_t seed, unsigned int generation,
		    bool loops);
/*
 * For the builder to synchronise; NULL: no memory. A @program of a pair is the first of two, and
 * both come in one.
 */
struct nb_program *sync_program_auto(const struct sync_program *program);
/* The same; loops unrolled, each instruction and transfer after the one before it. */
struct nb_program *sync_program_serial(const struct sync_program *program);

#endif /* SYNC_PROGRAM_H */
