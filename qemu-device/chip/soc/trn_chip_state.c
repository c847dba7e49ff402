// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading: the parts of a chip that are a few fields.
 */
#include "base/trn_chip.h"
#include "soc/trn_save.h"

static void irq_sources(struct trn_state *st, uint32_t *cause, uint32_t *mask,
			uint32_t *vector, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		trn_state_u32(st, &cause[i]);
		trn_state_u32(st, &mask[i]);
		trn_state_u32(st, &vector[i]);
	}
}

void trn_irq_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_irq_state *irq = &chip->irq;
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('I', 'R', 'Q', 0), 2);
	irq_sources(st, &irq->cause, &irq->mask, &irq->vector, 1);
	irq_sources(st, irq->core_cause, irq->core_mask, irq->core_vector,
		    chip->gen->nr_cores);
	irq_sources(st, irq->core_cause + NEURON_MAX_CORES,
		    irq->core_mask + NEURON_MAX_CORES,
		    irq->core_vector + NEURON_MAX_CORES,
		    chip->gen->nr_top_sp_ids);
	irq_sources(st, irq->dma_cause, irq->dma_mask, irq->dma_vector,
		    chip->gen->nr_dma);
	for (i = 0; i < TRN_STORM_VECTORS; i++)
		trn_state_atomic_u32(st, &irq->storm.left[i]);
}

void trn_discard_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_discard *d = &chip->discard;

	trn_state_block(st, TRN_STATE_NAME('D', 'I', 'S', 'C'), 1);
	trn_state_u64(st, &d->addr);
	trn_state_u64(st, &d->len);
	trn_state_u64(st, &d->done);
	trn_state_atomic_u32(st, &d->go);
	/* The range itself is checked whenever the discard goes on. */
	if (d->done > d->len || d->done % 4096)
		trn_state_fail(st, "a discard has gone too far");
}
