/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Stop and reset of a chip, and the chip-wide controller task.
 */
#ifndef TRN_RESET_H
#define TRN_RESET_H

#include <stdbool.h>
#include <stdint.h>

struct trn_chip;

void trn_controller_init(struct trn_chip *chip);
void trn_controller_destroy(struct trn_chip *chip);

/*
 * Reset that a guest asks for. Registers that software sets up once, HBM, and
 * the rings of DMA queues that belong to no job stay (public software does not
 * program them again); everything else goes to its reset state.
 */
void trn_reset_request(struct trn_chip *chip);
/* Reset of the cores in @map. */
void trn_reset_cores(struct trn_chip *chip, uint32_t map);
/* Is a requested reset of either kind not done yet? */
bool trn_reset_busy(struct trn_chip *chip);

/* Is the core in reset, or asked to be? */
bool trn_reset_core_busy(struct trn_chip *chip, unsigned int core);

#endif /* TRN_RESET_H */
