// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "sync/trn_irq.h"

#include <stddef.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "hook/trn_inject.h"

/* Between two interrupts of a storm. */
#define STORM_NS	20000

/*
 * Raise each vector that has a storm once more. Without a timer of the host the
 * budget of the task is the pace.
 */
static enum trn_run storm_run(struct trn_task *task, struct trn_budget *budget)
{
	struct trn_storm *storm = (struct trn_storm *)(void *)((char *)task -
				  offsetof(struct trn_storm, task));
	struct trn_chip *chip = storm->chip;
	const bool armed = trn_inject_armed(chip, TRN_INJECT_IRQ_STORM);
	bool more = false;
	unsigned int i;

	(void)budget;
	if (atomic_load(&chip->stopping))
		return TRN_RUN_IDLE;
	for (i = 0; i < TRN_STORM_VECTORS; i++) {
		if (!armed)
			atomic_store(&storm->left[i], 0);
		if (!atomic_load(&storm->left[i]))
			continue;
		chip->port->irq(chip->opaque, i);
		more |= atomic_fetch_sub(&storm->left[i], 1) > 1;
	}
	if (!more)
		return TRN_RUN_IDLE;
	if (!chip->port->timer)
		return TRN_RUN_AGAIN;
	if (!trn_timer_is_set(chip, &storm->deadline))
		trn_timer_set(chip, &storm->deadline, task, STORM_NS);
	return TRN_RUN_IDLE;
}

/* The message of an interrupt. */
static void irq_send(struct trn_chip *chip, uint32_t vector)
{
	struct trn_storm *storm = &chip->irq->storm;
	uint64_t times;

	if (trn_inject(chip, TRN_INJECT_IRQ_LOST, vector, NULL))
		return;
	chip->port->irq(chip->opaque, vector);
	if (vector >= TRN_STORM_VECTORS ||
	    !trn_inject(chip, TRN_INJECT_IRQ_STORM, vector, &times))
		return;
	atomic_store(&storm->left[vector],
		     times < UINT32_MAX ? (uint32_t)times : UINT32_MAX);
	trn_task_kick(&storm->task);
}

/* What one source has, whatever its kind. */
struct irq_line {
	uint32_t *cause;
	uint32_t *mask;
	uint32_t *vector;
};

static struct irq_line irq_line(struct trn_irq_state *irq,
				enum trn_irq_source source, unsigned int index)
{
	switch (source) {
	case TRN_IRQ_CORE:
		return (struct irq_line) { &irq->core_cause[index],
					   &irq->core_mask[index],
					   &irq->core_vector[index] };
	case TRN_IRQ_DMA:
		return (struct irq_line) { &irq->dma_cause[index],
					   &irq->dma_mask[index],
					   &irq->dma_vector[index] };
	default:
		return (struct irq_line) { &irq->cause, &irq->mask,
					   &irq->vector };
	}
}

static void irq_clear(struct trn_chip *chip)
{
	struct trn_irq_state *irq = chip->irq;
	unsigned int i;

	for (i = 0; i < TRN_STORM_VECTORS; i++)
		atomic_store(&irq->storm.left[i], 0);
	pthread_mutex_lock(&irq->lock);
	irq->cause = 0;
	irq->mask = ~0u;
	irq->vector = chip->gen->nr_cores;
	for (i = 0; i < NEURON_MAX_UNITS; i++) {
		irq->core_cause[i] = 0;
		irq->core_mask[i] = ~0u;
		irq->core_vector[i] = i < NEURON_MAX_CORES ? i :
			neuron_cc_core(chip->gen, i - NEURON_MAX_CORES);
	}
	for (i = 0; i < NEURON_MAX_DMA_ENGINES; i++) {
		irq->dma_cause[i] = 0;
		irq->dma_mask[i] = ~0u;
		irq->dma_vector[i] = NEURON_DMA_VECTOR_MGMT;
	}
	pthread_mutex_unlock(&irq->lock);
}

/* Causes are fewer than before. */
static void irq_ended(struct trn_chip *chip)
{
	if (chip->port->irq_ended)
		chip->port->irq_ended(chip->opaque);
}

void trn_irq_reset(struct trn_chip *chip)
{
	irq_clear(chip);
	irq_ended(chip);
}

void trn_irq_init(struct trn_chip *chip)
{
	chip->irq->storm.chip = chip;
	pthread_mutex_init(&chip->irq->lock, NULL);
	trn_task_init(&chip->irq->storm.task, chip->pool, storm_run);
	irq_clear(chip);
}

void trn_irq_destroy(struct trn_chip *chip)
{
	pthread_mutex_destroy(&chip->irq->lock);
}

/*
 * Set cause bits, then the mask. True, with the vector, when an unmasked bit
 * has become set.
 */
static bool irq_set(const struct irq_line *line, uint32_t cause, uint32_t mask,
		    uint32_t *vector)
{
	uint32_t before = *line->cause & ~*line->mask;

	*line->cause |= cause;
	*line->mask = mask;
	*vector = *line->vector;
	return *line->cause & ~mask & ~before;
}

static bool irq_set_source(struct trn_chip *chip, enum trn_irq_source source,
			   const struct irq_line *line, uint32_t cause,
			   uint32_t mask, uint32_t *vector)
{
	struct irq_line mgmt;

	if (!irq_set(line, cause, mask, vector))
		return false;
	if (source != TRN_IRQ_DMA || *vector != NEURON_DMA_VECTOR_MGMT)
		return true;
	mgmt = irq_line(chip->irq, TRN_IRQ_MGMT, 0);
	return irq_set(&mgmt, NEURON_CTL_CAUSE_DMA, *mgmt.mask, vector);
}

static struct trn_irq_edge irq_cause(struct trn_chip *chip,
				     enum trn_irq_source source,
				     unsigned int index, uint32_t cause)
{
	struct irq_line line = irq_line(chip->irq, source, index);
	struct trn_irq_edge edge;

	pthread_mutex_lock(&chip->irq->lock);
	edge.rises = irq_set_source(chip, source, &line, cause, *line.mask,
				    &edge.vector);
	pthread_mutex_unlock(&chip->irq->lock);
	return edge;
}

struct trn_irq_edge trn_irq_core_cause(struct trn_chip *chip, unsigned int core,
				       uint32_t cause)
{
	return irq_cause(chip, TRN_IRQ_CORE, core, cause);
}

void trn_irq_send(struct trn_chip *chip, struct trn_irq_edge edge)
{
	if (edge.rises)
		irq_send(chip, edge.vector);
}

static void irq_raise(struct trn_chip *chip, enum trn_irq_source source,
		      unsigned int index, uint32_t cause)
{
	trn_irq_send(chip, irq_cause(chip, source, index, cause));
}

void trn_irq_core(struct trn_chip *chip, unsigned int core, uint32_t cause)
{
	irq_raise(chip, TRN_IRQ_CORE, core, cause);
}

void trn_irq_mgmt(struct trn_chip *chip, uint32_t cause)
{
	irq_raise(chip, TRN_IRQ_MGMT, 0, cause);
}

void trn_irq_dma(struct trn_chip *chip, unsigned int engine, uint32_t cause)
{
	irq_raise(chip, TRN_IRQ_DMA, engine, cause);
}

uint32_t trn_irq_read(struct trn_chip *chip, enum trn_irq_source source,
		      unsigned int index, enum trn_irq_reg reg)
{
	struct irq_line line = irq_line(chip->irq, source, index);
	uint32_t value;

	pthread_mutex_lock(&chip->irq->lock);
	if (reg == TRN_IRQ_CAUSE)
		value = *line.cause;
	else
		value = reg == TRN_IRQ_MASK ? *line.mask : *line.vector;
	pthread_mutex_unlock(&chip->irq->lock);
	return value;
}

void trn_irq_write(struct trn_chip *chip, enum trn_irq_source source,
		   unsigned int index, enum trn_irq_reg reg, uint32_t value)
{
	struct irq_line line = irq_line(chip->irq, source, index);
	uint32_t vector = 0;
	bool edge = false;

	pthread_mutex_lock(&chip->irq->lock);
	if (reg == TRN_IRQ_CAUSE)
		*line.cause &= ~value;
	else if (reg == TRN_IRQ_VECTOR)
		*line.vector = value;
	else
		edge = irq_set_source(chip, source, &line, 0, value, &vector);
	pthread_mutex_unlock(&chip->irq->lock);
	if (edge)
		irq_send(chip, vector);
	else if (reg != TRN_IRQ_VECTOR)
		irq_ended(chip);
}

static bool any_set(const uint32_t *cause, const uint32_t *mask, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (cause[i] & ~mask[i])
			return true;
	return false;
}

/* What a DMA engine hands on to the management source counts there. */
static bool any_dma_set(const struct trn_irq_state *irq, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (irq->dma_vector[i] != NEURON_DMA_VECTOR_MGMT &&
		    irq->dma_cause[i] & ~irq->dma_mask[i])
			return true;
	return false;
}

bool trn_irq_level(struct trn_chip *chip)
{
	struct trn_irq_state *irq = chip->irq;
	bool level;

	pthread_mutex_lock(&irq->lock);
	level = any_set(&irq->cause, &irq->mask, 1) ||
		any_set(irq->core_cause, irq->core_mask, NEURON_MAX_UNITS) ||
		any_dma_set(irq, chip->gen->nr_dma);
	pthread_mutex_unlock(&irq->lock);
	return level;
}

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
	struct trn_irq_state *irq = chip->irq;
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
