/* SPDX-License-Identifier: MIT */
/*
 * The door for a debugger in this process: it lets the chips run step by step, and does with them
 * what it wants between two steps (trn/observe.h, trn/inspect.h).
 *
 * With a debugger the chips have no threads. The thread that waits for a job runs them, in the
 * same order each time, and calls the debugger; no job is ended for taking long. What nobody waits
 * for does not go on.
 */
#ifndef LIBNRT_BACKEND_EMB_DEBUG_H
#define LIBNRT_BACKEND_EMB_DEBUG_H

#include <stdbool.h>
#include <stddef.h>

#include "trn/chip.h"

struct emb_machine;

enum emb_turn {
	EMB_TURN_BUSY,		/* a task has run, and others may have work */
	EMB_TURN_IDLE,		/* nothing of the chips can go on */
	EMB_TURN_IRQ,		/* a chip has an interrupt that nobody has taken yet */
};

/**
 * struct emb_debugger - a debugger; its functions are called by one thread at a time
 * @opaque: first argument of all
 * @opened: the chips are there and nothing runs on them
 * @closing: they are about to be freed
 * @turn: a thread waits for a job. It may stop, save, load and change the chips; when it returns
 *	they go on. False: end the jobs, which then have been aborted. The debugger has no more
 *	observers and stops then
 */
struct emb_debugger {
	void *opaque;
	void (*opened)(void *opaque, struct emb_machine *machine);
	void (*closing)(void *opaque);
	bool (*turn)(void *opaque, enum emb_turn turn);
};

/* Before chips are opened, and (NULL) when they are closed; @debugger stays valid meanwhile. */
void emb_debug(const struct emb_debugger *debugger);

/* Chip @i, from 0 on, or NULL. */
struct trn_chip *emb_debug_chip(struct emb_machine *machine, unsigned int i);
const struct neuron_gen *emb_debug_gen(const struct emb_machine *machine);
/* Run tasks until none has work. */
void emb_debug_settle(struct emb_machine *machine);
/*
 * Call @each for memory of the process that the chips reach, in the same order each time, as long
 * as no buffer is made or freed. False: an @each was false.
 */
bool emb_debug_host(struct emb_machine *machine,
		    bool (*each)(void *opaque, void *bytes, size_t size), void *opaque);

#endif /* LIBNRT_BACKEND_EMB_DEBUG_H */
