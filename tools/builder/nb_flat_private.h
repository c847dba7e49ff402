/* SPDX-License-Identifier: MIT */
/* What the functions of records share; private to the builder library. */
#ifndef NB_FLAT_PRIVATE_H
#define NB_FLAT_PRIVATE_H

#include "nb_private.h"

/*
 * A tile is alive from its record to the last one that names it, or to the end of the outermost
 * loop that this one is in and the tile's own record is not.
 */
struct flat_tile {
	int handle;		/* of nb_tile_new(); -1: at a told place, or over */
	unsigned int loops;	/* that its record is in */
	size_t last;		/* offset of the last record that needs it */
	struct neuron_ap ap;
};

/* A queue set for each owner and priority, and one for generated descriptors. */
#define FLAT_PRIORITIES	5

struct flat {
	struct nb_program *nb;
	struct flat_tile *tile;
	unsigned int nr_tiles;
	const struct nb_flat *call;
	struct neuron_ap ap[NB_FLAT_MAX];
	unsigned int next;	/* operand that is the next column */
	int queue[NEURON_NR_ENGINES][FLAT_PRIORITIES][2];
	unsigned int blocks;	/* of generated descriptors */
	unsigned int loops;	/* that are open */
	int ready[NEURON_NR_ENGINES];	/* semaphores of the barriers of a pair of cores */
	int other[NEURON_NR_ENGINES];	/* those of the other core, as variables */
	uint32_t file;
	uint32_t line;
};

/* @least, @most: operands; what is beyond @least are columns, or is optional */
struct flat_function {
	const char *name;
	unsigned int least;
	unsigned int most;
	void (*run)(struct flat *f);
};

bool flat_tile_slot(struct flat *f, uint32_t tile);

/* nb_flat_dma.c */
void flat_tile_new(struct flat *f);
void flat_tile_at(struct flat *f);
void flat_reserve(struct flat *f);
void flat_dma(struct flat *f);
void flat_reg_set(struct flat *f);
void flat_reg_alu(struct flat *f);
void flat_reg_load(struct flat *f);
void flat_reg_store(struct flat *f);
void flat_reg_rank(struct flat *f);
void flat_pair(struct flat *f);
void flat_core_barrier(struct flat *f);
void flat_collective(struct flat *f);
void flat_begin_loop(struct flat *f);
void flat_begin_while(struct flat *f);
void flat_end_loop(struct flat *f);

#endif /* NB_FLAT_PRIVATE_H */
