/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The host's memory behind HBM: the port's, or the library's own, private or in files.
 */
#ifndef TRN_HBM_H
#define TRN_HBM_H

#include <stdbool.h>
#include <stdint.h>

struct trn_chip;

/* Set chip->hbm and chip->hbm_file; 0 or -1: no memory. */
int trn_hbm_init(struct trn_chip *chip);
/* Free what is the library's own; also after trn_hbm_init() has failed. */
void trn_hbm_destroy(struct trn_chip *chip);

/* Make pages of a stack zero and give them back. */
void trn_hbm_discard(struct trn_chip *chip, unsigned int stack, uint64_t offset, uint64_t len);

#endif /* TRN_HBM_H */
