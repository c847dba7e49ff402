/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * BAR0: which block an offset belongs to, built from the generation table.
 */
#ifndef TRN_BAR_H
#define TRN_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trn/chip.h"

struct trn_bar_map;

struct trn_bar_map *trn_bar_map_new(const struct neuron_gen *gen);
void trn_bar_map_free(struct trn_bar_map *map);
size_t trn_bar_map_bytes(const struct trn_bar_map *map);

/* Is there a register, or memory, at BAR0 offset @offset? */
bool trn_bar_known(const struct trn_chip *chip, uint32_t offset);

#endif /* TRN_BAR_H */
