/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Memory errors: cells of HBM that read wrong, and what the chip tells of them.
 *
 * The granule of ECC is 32 bytes. A read by an engine or a queue, of this chip or
 * of a peer, that touches a bad granule is counted at the chip that owns the
 * memory; an uncorrectable one fails with NEURON_CAUSE_ECC. Whatever writes the
 * whole granule (DMA, a discard) makes it good again. BAR4 is plain memory of the
 * host: accesses through it neither meet an error nor repair one.
 */
#ifndef TRN_ECC_H
#define TRN_ECC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trn_chip.h"
#include "mem/trn_bus.h"
#include "trn/fault.h"

#define TRN_ECC_GRANULE	32
#define TRN_ECC_MAX	64	/* bad granules of a chip */

/**
 * struct trn_ecc_cell - a bad granule
 * @stack: HBM stack
 * @offset: in the stack; any byte of the granule
 * @correctable: the data read is right all the same
 * @once: good again after it has been read; else only by a write
 */
struct trn_ecc_cell {
	uint32_t stack;
	uint64_t offset;
	bool correctable;
	bool once;
};

/* Set chip->ecc; 0 or -1: no memory. */
int trn_ecc_init(struct trn_chip *chip);
void trn_ecc_destroy(struct trn_chip *chip);
/* Counters and log to zero. Bad cells stay bad. */
void trn_ecc_reset(struct trn_chip *chip);
size_t trn_ecc_own_bytes(const struct trn_chip *chip);
void trn_ecc_state(struct trn_chip *chip, struct trn_state *st);

/* Any thread. 0, or -1: no such memory, or there are TRN_ECC_MAX. */
int trn_ecc_add(struct trn_chip *chip, const struct trn_ecc_cell *cell);
/* All cells are good again; counters stay. */
void trn_ecc_clear(struct trn_chip *chip);
/* An error in SRAM that has been found: counted and told, nothing else. */
void trn_ecc_sram(struct trn_chip *chip, bool correctable);

/* Bad cells in a range: true when a read of it must fail. */
bool trn_ecc_check(struct trn_chip *chip, unsigned int stack, uint64_t offset,
		   uint64_t len);
void trn_ecc_written(struct trn_chip *chip, unsigned int stack, uint64_t offset,
		     uint64_t len);

/* MISC RAM: SRAM_ECC, HBM_ECC, HBM_REPAIR. */
uint32_t trn_ecc_misc_read(struct trn_chip *chip, uint32_t offset);
/* Control block: ECC_ADDR, ECC_INFO, ECC_COUNT. */
uint64_t trn_ecc_ctl_addr(struct trn_chip *chip);
uint32_t trn_ecc_ctl_info(struct trn_chip *chip);
uint32_t trn_ecc_ctl_count(struct trn_chip *chip);
void trn_ecc_ctl_clear(struct trn_chip *chip, uint32_t value);

static inline bool trn_ecc_armed(const struct trn_loc *loc)
{
	return loc->place == TRN_PLACE_HBM &&
	       atomic_load_explicit(&loc->chip->ecc_armed,
				    memory_order_relaxed);
}

/* @len bytes at @loc are about to be read. */
static inline enum neuron_cause trn_ecc_read_at(const struct trn_loc *loc,
						uint64_t len)
{
	if (trn_ecc_armed(loc) &&
	    trn_ecc_check(loc->chip, loc->index, loc->offset, len))
		return NEURON_CAUSE_ECC;
	return NEURON_CAUSE_NONE;
}

/* They have been written. */
static inline void trn_ecc_written_at(const struct trn_loc *loc, uint64_t len)
{
	if (trn_ecc_armed(loc))
		trn_ecc_written(loc->chip, loc->index, loc->offset, len);
}

#endif /* TRN_ECC_H */
