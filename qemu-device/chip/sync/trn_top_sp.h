/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Windows of the TOP_SPs: events and semaphores. Those that software has ids for are
 * the CC-cores (trn_core.h); the others have nothing else.
 */
#ifndef TRN_TOP_SP_H
#define TRN_TOP_SP_H

#include <stddef.h>
#include <stdint.h>

#include "sync/trn_sem.h"

struct trn_chip;
struct trn_core;
struct trn_state;

/* Set chip->top_sp; 0 or -1: no memory. */
int trn_top_sp_init(struct trn_chip *chip);
void trn_top_sp_destroy(struct trn_chip *chip);

/* The CC-core that TOP_SP @index is, or NULL. */
struct trn_core *trn_top_sp_core(struct trn_chip *chip, unsigned int index);
/* Its events and semaphores. */
struct trn_sems *trn_top_sp_sems(struct trn_chip *chip, unsigned int index);

/* Those that are no CC-cores: their reset state. */
void trn_top_sp_reset(struct trn_chip *chip);

/* Registers of the window of TOP_SP @index. */
uint32_t trn_top_sp_read(struct trn_chip *chip, unsigned int index,
			 uint32_t offset);
void trn_top_sp_write(struct trn_chip *chip, unsigned int index,
		      uint32_t offset, uint32_t value);

size_t trn_top_sp_own_bytes(const struct trn_chip *chip);
/* Of those that are no CC-cores. */
void trn_top_sp_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_TOP_SP_H */
