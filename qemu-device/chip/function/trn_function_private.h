/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What the files of a function share (trn/function.h).
 */
#ifndef TRN_FUNCTION_PRIVATE_H
#define TRN_FUNCTION_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trn/function.h"

#define TRN_FUNCTION_BARS	3

/**
 * struct trn_function - a chip as a function on a bus
 * @config: complete
 * @host: the front end's, without holes in the table of its functions
 * @port: what the chip has for a port: the front end's behind the gates of the function
 * @master: the chip may access host memory
 * @asleep: BARs read as ones, and no interrupt is raised
 * @pending: vectors to be raised, a bit for each
 * @news: times that somebody has wanted to deliver since all was delivered
 * @level: of the line, as the front end knows it; whoever delivers
 * @lock: the fields that follow. Never held when the front end is called, but for the port's
 *	hbm_discard() and log() in a reset
 * @todo: requests that have not taken effect, TODO_*
 * @paused: the machine stands still
 * @d3hot: power state that was asked for
 * @removed: taken off its bus
 * @detached: and off its fabric
 * @stopped: the chip is
 */
struct trn_function {
	struct trn_function_config config;
	struct trn_function_host host;
	struct trn_port port;
	struct trn_chip *chip;
	unsigned int nr_bars;
	struct trn_bar bar[TRN_FUNCTION_BARS];
	_Atomic bool master;
	_Atomic bool asleep;
	_Atomic uint32_t pending;
	_Atomic uint32_t news;
	bool level;
	pthread_mutex_t lock;
	unsigned int todo;
	bool paused;
	bool d3hot;
	bool removed;
	bool detached;
	bool stopped;
};

/* The function has no vectors: its interrupts are the level of a line. */
static inline bool trn_function_has_line(const struct trn_function *fn)
{
	return !fn->config.vectors;
}

/* Fill in @fn->bar. */
void trn_function_init_bars(struct trn_function *fn);
/* Fill in @fn->port and @fn->host. */
void trn_function_init_port(struct trn_function *fn);

/*
 * From here on this thread keeps interrupts that it raises itself; whoever calls this delivers
 * them behind trn_function_served(), which gets what this returned. They nest.
 */
struct trn_function *trn_function_serve(struct trn_function *fn);
void trn_function_served(struct trn_function *before);

#endif /* TRN_FUNCTION_PRIVATE_H */
