/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The control block: the project's own registers.
 */
#ifndef TRN_CTL_H
#define TRN_CTL_H

#include <stdint.h>

struct trn_chip;

/* @offset: in the block, aligned to the size. */
uint32_t trn_ctl_read(struct trn_chip *chip, uint32_t offset);
uint64_t trn_ctl_read64(struct trn_chip *chip, uint32_t offset);
void trn_ctl_write(struct trn_chip *chip, uint32_t offset, uint32_t value);

#endif /* TRN_CTL_H */
