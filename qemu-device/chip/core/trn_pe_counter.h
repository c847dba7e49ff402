/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Activity counters of the PE arrays: what sysfs of the public driver shows as
 * pe_cntrs. They count modelled cycles, so they are the same on every host.
 */
#ifndef TRN_PE_COUNTER_H
#define TRN_PE_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/isa.h"

struct trn_chip;
struct trn_core;
struct trn_state;

/* Set chip->pe; 0 or -1: no memory. */
int trn_pe_init(struct trn_chip *chip);
void trn_pe_destroy(struct trn_chip *chip);
void trn_pe_reset(struct trn_chip *chip);
size_t trn_pe_own_bytes(const struct trn_chip *chip);
void trn_pe_state(struct trn_chip *chip, struct trn_state *st);

/*
 * The array of @core spent @cycles on loading @cells (any numbers of rows and columns),
 * or on a product with them. Any thread, cheap.
 */
void trn_pe_load(struct trn_core *core, struct neuron_array cells, uint64_t cycles);
void trn_pe_matmul(struct trn_core *core, struct neuron_array cells,
		   uint64_t cycles);

/* Offset in the counter block of core @core. */
uint32_t trn_pe_read(struct trn_chip *chip, unsigned int core, uint32_t offset);

#endif /* TRN_PE_COUNTER_H */
