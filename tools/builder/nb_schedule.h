/* SPDX-License-Identifier: MIT */
/* Scheduling on request, of programs with nb_auto(). neuron_builder.h includes this file. */
#ifndef NB_SCHEDULE_H
#define NB_SCHEDULE_H

#include <stdint.h>

#include "neuron/isa.h"

struct nb_program;

/*
 * In place of an engine: any that has the instruction, and that gives the same bits. Without
 * nb_schedule() it is the first of vector, scalar and GpSimd that does.
 */
#define NB_ANY_ENGINE	((enum neuron_engine)NEURON_NR_ENGINES)

/**
 * struct nb_schedule_options - what may change; all zero, or NULL instead of it: everything
 * @keep_order: instructions stay in the order of the calls
 * @keep_queues: transfers stay on the queues that they were given to
 * @keep_tiles: tiles stay at the places that nb_tile_new() has given them
 * @keep_engines: what was given to NB_ANY_ENGINE stays on its first engine
 * @queues: that a large transfer is split over, 1 to 16; 0: 16
 */
struct nb_schedule_options {
	uint8_t keep_order;
	uint8_t keep_queues;
	uint8_t keep_tiles;
	uint8_t keep_engines;
	uint32_t queues;
};

/*
 * Change the program so that it takes less device time, without changing its results: other
 * orders of instructions, queues of transfers, places of tiles from nb_tile_new(), engines of
 * what may go to any. The last call before nb_sync() or nb_pack(); instructions are not to be
 * emitted or changed afterwards. Costs are those of the chip that nb_generation() has named. The
 * same calls give the same program. Of a pair each program is scheduled by itself.
 *
 * Return: 0, or -1 with nb_error().
 */
int nb_schedule(struct nb_program *nb, const struct nb_schedule_options *options);

/* How long the program takes by what nb_schedule() knows, without loops; 0 before it. */
uint64_t nb_scheduled_ns(const struct nb_program *nb);

#endif /* NB_SCHEDULE_H */
