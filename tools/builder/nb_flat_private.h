/* SPDX-License-Identifier: MIT */
/* What the functions of records share; private to the builder library. */
#ifndef NB_FLAT_PRIVATE_H
#define NB_FLAT_PRIVATE_H

#include "nb_private.h"

/* Offset of a record that there is not. */
#define FLAT_NEVER	SIZE_MAX

/**
 * struct flat_tile - a tile: it is alive from the first record that names it to the last one. Of
 *	a loop that its own record is not in, all rounds may need it: from the begin of the
 *	outermost one to its end.
 * @handle: of nb_tile_new(); -1: at a told place, not yet, or over
 * @loops: that its own record is in
 * @made, @first, @last: offsets of its own record, and of those that need it
 */
struct flat_tile {
	int handle;
	unsigned int loops;
	size_t made;
	size_t first;
	size_t last;
	struct neuron_ap ap;
};

static inline unsigned int flat_words(int32_t bytes)
{
	return ((uint32_t)bytes + 3) / 4;
}

/* A queue set for each owner and priority, and one for generated descriptors. */
#define FLAT_PRIORITIES	5

struct flat {
	struct nb_program *nb;
	const uint8_t *records;
	size_t size;
	const char *const *files;
	unsigned int nr_files;
	struct flat_tile *tile;
	unsigned int nr_tiles;
	const struct nb_flat *call;
	struct neuron_ap ap[NB_FLAT_MAX];
	unsigned int next;	/* operand that is the next column */
	int queue[NEURON_NR_ENGINES][FLAT_PRIORITIES][2];
	unsigned int blocks;	/* of generated descriptors */
	unsigned int loops;	/* that are open, while flat_look_ahead() looks at the records */
	size_t begin[NEURON_NR_REGS];	/* of each of them */
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
/* The record at an offset, whole and known; NULL: it is not. */
const struct nb_flat *flat_record_at(struct flat *f, size_t at);
/* Its bytes and those of its operands. */
size_t flat_bytes(const struct nb_flat *call);
/* Is it carried out by @run? */
bool flat_does(const struct nb_flat *call, void (*run)(struct flat *f));
/* Its operands are struct nb_flat_side, otherwise struct nb_flat_ap. */
bool flat_has_sides(const struct nb_flat *call);
/* What is done now belongs to the line of @call. */
void flat_source(struct flat *f, const struct nb_flat *call);

/* nb_flat_life.c: f->tile with the lifetimes of all tiles. 0 or -1. */
int flat_look_ahead(struct flat *f);
/* Tiles that f->call, at @at, is the first one to need get their places. */
void flat_begin_tiles(struct flat *f, size_t at);
/* Those that it was the last one to need lose them. */
void flat_end_tiles(struct flat *f, size_t at);

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
