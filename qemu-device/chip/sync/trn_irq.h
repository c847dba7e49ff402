/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Registers of the interrupt causes; raising is in trn_chip.h.
 */
#ifndef TRN_IRQ_H
#define TRN_IRQ_H

#include <stdint.h>

struct trn_chip;

enum trn_irq_source {
	TRN_IRQ_MGMT,
	TRN_IRQ_CORE,
	TRN_IRQ_DMA,
};

enum trn_irq_reg {
	TRN_IRQ_CAUSE,		/* write 1 to clear */
	TRN_IRQ_MASK,
	TRN_IRQ_VECTOR,
};

void trn_irq_init(struct trn_chip *chip);
void trn_irq_destroy(struct trn_chip *chip);
void trn_irq_reset(struct trn_chip *chip);

/* @index: the place in trn_chip.core or the DMA engine; 0 for MGMT. */
uint32_t trn_irq_read(struct trn_chip *chip, enum trn_irq_source source,
		      unsigned int index, enum trn_irq_reg reg);
void trn_irq_write(struct trn_chip *chip, enum trn_irq_source source,
		   unsigned int index, enum trn_irq_reg reg, uint32_t value);

#endif /* TRN_IRQ_H */
