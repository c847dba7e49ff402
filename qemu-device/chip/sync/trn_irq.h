/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Interrupts: causes, their registers, and the vectors that they raise.
 */
#ifndef TRN_IRQ_H
#define TRN_IRQ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "base/trn_timer.h"
#include "neuron/generation.h"

struct trn_chip;
struct trn_state;

#define TRN_STORM_VECTORS	32

/**
 * struct trn_storm - interrupts that a fault on demand repeats
 * @left: times to come, by vector
 */
struct trn_storm {
	struct trn_task task;
	struct trn_chip *chip;
	struct trn_deadline deadline;
	_Atomic uint32_t left[TRN_STORM_VECTORS];
};

/**
 * struct trn_irq_state - causes, masks and vectors of the control block
 * @lock: all fields but @storm
 */
struct trn_irq_state {
	struct trn_storm storm;
	pthread_mutex_t lock;
	uint32_t cause, mask, vector;
	uint32_t core_cause[NEURON_MAX_UNITS];
	uint32_t core_mask[NEURON_MAX_UNITS];
	uint32_t core_vector[NEURON_MAX_UNITS];
	uint32_t dma_cause[NEURON_MAX_DMA_ENGINES];
	uint32_t dma_mask[NEURON_MAX_DMA_ENGINES];
	uint32_t dma_vector[NEURON_MAX_DMA_ENGINES];
};

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

/*
 * Set cause bits; an edge is raised when an unmasked bit becomes set. The causes
 * may be set under a lock; the edge is sent without one.
 */
struct trn_irq_edge {
	bool rises;
	uint32_t vector;
};

struct trn_irq_edge trn_irq_core_cause(struct trn_chip *chip, unsigned int core,
				       uint32_t cause);
void trn_irq_send(struct trn_chip *chip, struct trn_irq_edge edge);
void trn_irq_core(struct trn_chip *chip, unsigned int core, uint32_t cause);
void trn_irq_mgmt(struct trn_chip *chip, uint32_t cause);
void trn_irq_dma(struct trn_chip *chip, unsigned int engine, uint32_t cause);

/* Is a cause set that is not masked? */
bool trn_irq_level(struct trn_chip *chip);

void trn_irq_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_IRQ_H */
