/* SPDX-License-Identifier: MIT */
/* Tiles with lifetimes: what nb_alloc.c keeps of them, for the scheduler as well. */
#ifndef NB_ALLOC_H
#define NB_ALLOC_H

#include "nb_area.h"

/* Places are given out in units. */
#define NB_UNIT		64u
#define NB_QUADRANT	32u
#define NB_QUADRANTS	4u
#define NB_BANK		(NEURON_TPB_PSUM_STRIDE / NEURON_PSUM_BANKS)
#define NB_MAX_PARTITION	NEURON_TPB_SBUF_STRIDE

#define NB_MEMORIES	2

/**
 * struct nb_alloc_tile - a tile
 * @born, @died: places in the order of the calls
 * @turn: loops that had begun or ended before it
 * @quadrants: that it lies in, a mask
 * @told: by nb_tile_at(): it stays where it is
 */
struct nb_alloc_tile {
	struct nb_area area;
	struct neuron_ap ap;
	size_t born;
	size_t died;
	size_t turn;
	uint8_t quadrants;
	bool told;
};

/**
 * struct nb_tiles - of a program
 * @used: of each memory and unit of a partition: quadrants that tiles lie in
 * @next: of each memory: where to look first
 * @sbuf_bytes: of a partition
 */
struct nb_tiles {
	struct nb_alloc_tile *tile;
	size_t count;
	size_t room;
	uint8_t used[NB_MEMORIES][NB_MAX_PARTITION / NB_UNIT];
	unsigned int next[NB_MEMORIES];
	uint32_t sbuf_bytes;
};

/* Bytes of SBUF in a partition of NeuronCore-v@generation, 2 to 4; 0: of the oldest one. */
uint32_t nb_sbuf_bytes(unsigned int generation);
/* The size of a partition. */
uint32_t nb_partition_bytes(const struct nb_tiles *tiles, enum nb_memory memory);
/* Bytes of a partition of such a tile; 0 after an error. */
uint64_t nb_tile_bytes(struct nb_program *nb, enum nb_memory memory, unsigned int partitions,
		       enum neuron_dtype dtype, unsigned int n);
/* A product must not leave its bank, and other tiles of PSUM have no reason to. */
bool nb_leaves_bank(enum nb_memory memory, unsigned int unit, unsigned int units);

#endif /* NB_ALLOC_H */
