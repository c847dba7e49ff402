/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * MISC RAM: the registers of the firmware.
 */
#ifndef TRN_MISC_RAM_H
#define TRN_MISC_RAM_H

#include <stdint.h>

struct trn_chip;

uint32_t trn_misc_read(struct trn_chip *chip, uint32_t offset);
void trn_misc_write(struct trn_chip *chip, uint32_t offset, uint32_t value);

#endif /* TRN_MISC_RAM_H */
