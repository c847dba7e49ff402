/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * TOP_SP cores (CC-cores), as far as software sees them: a window with events and
 * semaphores, and a notification block (trn_nq.h).
 */
#ifndef TRN_TOP_SP_H
#define TRN_TOP_SP_H

#include <stddef.h>
#include <stdint.h>

#include "trn_sem.h"

struct trn_chip;
struct trn_state;

/**
 * struct trn_top_sp - one TOP_SP
 * @sems: events and semaphores, laid out as those of a NeuronCore
 */
struct trn_top_sp {
	struct trn_sems sems;
};

/* Set chip->top_sp; 0 or -1: no memory. */
int trn_top_sp_init(struct trn_chip *chip);
void trn_top_sp_destroy(struct trn_chip *chip);

/* TOP_SP @index, or all: events, semaphores and notification block to reset. */
void trn_top_sp_reset_one(struct trn_chip *chip, unsigned int index);
void trn_top_sp_reset(struct trn_chip *chip);

/* Registers of the window of TOP_SP @index. */
uint32_t trn_top_sp_read(struct trn_chip *chip, unsigned int index,
			 uint32_t offset);
void trn_top_sp_write(struct trn_chip *chip, unsigned int index,
		      uint32_t offset, uint32_t value);

/* Event @event of TOP_SP @index went from 0 to 1. Any thread. */
void trn_top_sp_raised(struct trn_chip *chip, unsigned int index, int event);

size_t trn_top_sp_own_bytes(const struct trn_chip *chip);
void trn_top_sp_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_TOP_SP_H */
