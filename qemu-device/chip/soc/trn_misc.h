/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * MISC RAM (the firmware's registers) and the reset register of platform mode.
 */
#ifndef TRN_MISC_H
#define TRN_MISC_H

#include <stdint.h>

struct trn_chip;

uint32_t trn_misc_read(struct trn_chip *chip, uint32_t offset);
void trn_misc_write(struct trn_chip *chip, uint32_t offset, uint32_t value);

uint32_t trn_platform_reset_read(struct trn_chip *chip);
void trn_platform_reset_write(struct trn_chip *chip, uint32_t value);

#endif /* TRN_MISC_H */
