// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Registers of a UDMA engine block. What has no effect here reads back as
 * written, from the chip's register file.
 */
#include "base/trn_chip.h"
#include "base/trn_regfile.h"
#include "contract/record.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_queue.h"
#include "hook/trn_inject.h"
#include "job/trn_job.h"
#include "sync/trn_irq.h"

/* What an offset of the block means. */
struct target {
	struct trn_udma_queue *queue;	/* NULL: not a queue register */
	struct trn_ring *ring;
	unsigned int side;		/* TRN_SIDE_* */
	uint32_t reg;
};

static bool in_queues(uint32_t offset, uint32_t first)
{
	return offset >= first &&
	       offset < first + NEURON_UDMA_QUEUES * NEURON_UDMA_Q_BLOCK_SIZE;
}

static struct target decode(struct trn_chip *chip, unsigned int engine,
			    uint32_t offset)
{
	struct target target = { .reg = offset };
	uint32_t first;

	if (in_queues(offset, NEURON_UDMA_M2S_Q(0))) {
		target.side = TRN_SIDE_M2S;
		first = NEURON_UDMA_M2S_Q(0);
	} else if (in_queues(offset, NEURON_UDMA_S2M_Q(0))) {
		target.side = TRN_SIDE_S2M;
		first = NEURON_UDMA_S2M_Q(0);
	} else {
		return target;
	}
	target.queue = trn_udma_queue_at(chip, engine,
					 (offset - first) /
					      NEURON_UDMA_Q_BLOCK_SIZE);
	target.ring = target.side == TRN_SIDE_M2S ? &target.queue->m2s :
						    &target.queue->s2m;
	target.reg = (offset - first) % NEURON_UDMA_Q_BLOCK_SIZE;
	return target;
}

static uint32_t pointer(uint32_t index, uint8_t ring_id)
{
	return NEURON_PUT(NEURON_UDMA_Q_RING_ID, (uint32_t)ring_id) |
	       (index & NEURON_UDMA_Q_PTR);
}

static void set_word(uint64_t *value, uint32_t word, bool high)
{
	if (high)
		*value = (*value & 0xffffffffu) | (uint64_t)word << 32;
	else
		*value = (*value & ~0xffffffffull) | word;
}

/* False: not a register of ours. Under the queue's lock. */
static bool ring_read(const struct trn_ring *ring, unsigned int side,
		      uint32_t reg, uint32_t *value)
{
	switch (reg) {
	case NEURON_UDMA_Q_CFG:
		*value = ring->cfg;
		return true;
	case NEURON_UDMA_Q_STATUS:
		*value = ring->avail;
		return true;
	case NEURON_UDMA_Q_BASE_LO:
		*value = (uint32_t)ring->base;
		return true;
	case NEURON_UDMA_Q_BASE_HI:
		*value = ring->base >> 32;
		return true;
	case NEURON_UDMA_Q_LENGTH:
		*value = ring->length;
		return true;
	case NEURON_UDMA_Q_HEAD:
	case NEURON_UDMA_Q_CURRENT:
		*value = pointer(ring->head, ring->ring_id);
		return true;
	case NEURON_UDMA_Q_COMP_HEAD:
		*value = pointer(ring->comp_head, ring->comp_ring_id);
		return true;
	case NEURON_UDMA_Q_TAIL:
		*value = pointer(ring->tail, ring->tail_ring_id);
		return true;
	case NEURON_UDMA_Q_TAIL_INC:
		*value = 0;
		return true;
	case NEURON_UDMA_Q_COMP_BASE_LO:
		*value = (uint32_t)ring->comp_base;
		return true;
	case NEURON_UDMA_Q_COMP_BASE_HI:
		*value = ring->comp_base >> 32;
		return true;
	}
	if (reg == (side == TRN_SIDE_M2S ? NEURON_UDMA_M2S_Q_COMP_CFG :
					   NEURON_UDMA_S2M_Q_COMP_CFG))
		*value = ring->comp_cfg;
	else if (reg == (side == TRN_SIDE_M2S ? NEURON_UDMA_M2S_Q_SW_CTRL :
						NEURON_UDMA_S2M_Q_SW_CTRL))
		*value = 0;
	else if (side == TRN_SIDE_M2S && reg == NEURON_UDMA_M2S_Q_RATE)
		*value = ring->rate;
	else
		return false;
	return true;
}

/* A pulse: pointers to 0, ring id to its first value, errors of the side gone. */
static void side_reset(struct trn_udma_queue *queue, struct trn_ring *ring,
		       unsigned int side)
{
	trn_ring_rewind(ring);
	queue->lost = false;
	queue->ints[side == TRN_SIDE_S2M] = 0;
	queue->stopped &= (uint8_t)~side;
	if (!queue->stopped)
		atomic_store(&queue->error, NEURON_CAUSE_NONE);
	atomic_fetch_add(&queue->epoch, 1);
}

/* False: not a register of ours. Under the queue's lock. */
static bool ring_write(struct trn_udma_queue *queue, struct trn_ring *ring,
		       unsigned int side, uint32_t reg, uint32_t value)
{
	switch (reg) {
	case NEURON_UDMA_Q_CFG:
		ring->cfg = value;
		trn_udma_queue_update_halt(queue);
		return true;
	case NEURON_UDMA_Q_BASE_LO:
		set_word(&ring->base, value & ~0x3fu, false);
		return true;
	case NEURON_UDMA_Q_BASE_HI:
		set_word(&ring->base, value, true);
		return true;
	case NEURON_UDMA_Q_LENGTH:
		ring->length = value & NEURON_UDMA_Q_PTR;
		return true;
	case NEURON_UDMA_Q_STATUS:
	case NEURON_UDMA_Q_HEAD:
	case NEURON_UDMA_Q_TAIL:
	case NEURON_UDMA_Q_CURRENT:
	case NEURON_UDMA_Q_COMP_HEAD:
		return true;	/* read only */
	case NEURON_UDMA_Q_COMP_BASE_LO:
		set_word(&ring->comp_base, value & ~0x3fu, false);
		return true;
	case NEURON_UDMA_Q_COMP_BASE_HI:
		set_word(&ring->comp_base, value, true);
		return true;
	}
	if (reg == (side == TRN_SIDE_M2S ? NEURON_UDMA_M2S_Q_COMP_CFG :
					   NEURON_UDMA_S2M_Q_COMP_CFG)) {
		ring->comp_cfg = value;
	} else if (reg == (side == TRN_SIDE_M2S ? NEURON_UDMA_M2S_Q_SW_CTRL :
						  NEURON_UDMA_S2M_Q_SW_CTRL)) {
		if (value & NEURON_UDMA_Q_SW_CTRL_RESET)
			side_reset(queue, ring, side);
	} else if (side == TRN_SIDE_M2S && reg == NEURON_UDMA_M2S_Q_RATE) {
		ring->rate = value;
	} else {
		return false;
	}
	return true;
}

/*
 * The doorbell of a queue in domain 0. False: the ring is unusable or too full,
 * and the queue has been stopped. Under the queue's lock.
 */
static bool doorbell(struct trn_udma_queue *queue, struct trn_ring *ring,
		     uint32_t value)
{
	if (queue->stopped || trn_ring_add(ring, value & NEURON_UDMA_Q_PTR))
		return true;
	trn_udma_queue_stop(queue, NEURON_CAUSE_DESC);
	return false;
}

static void doorbell_refused(struct trn_udma_queue *queue, unsigned int side,
			     uint32_t value)
{
	struct trn_fault fault = {
		.cause = NEURON_CAUSE_DESC,
		.queue = neuron_record_queue(queue->engine, queue->index,
					     side == TRN_SIDE_S2M),
		.pc = value & NEURON_UDMA_Q_PTR,
	};

	trn_udma_queue_report(queue, &fault,
			      "its doorbell exceeds the ring, or the ring length is not a multiple of 16 from 32");
	trn_irq_dma(queue->chip, queue->engine,
		    NEURON_DMA_CAUSE_ERROR(queue->index));
}

/* A fault on demand; its unit is the queue's. */
static bool doorbell_lost(struct trn_udma_queue *queue)
{
	return trn_inject(queue->chip, TRN_INJECT_DOORBELL,
			  queue->engine * NEURON_UDMA_QUEUES + queue->index,
			  NULL);
}

/*
 * A queue that belongs to a job obeys that job only; the ring registers are the
 * chip's until the job ends. False: not a register of ours.
 */
static bool queue_write(const struct target *target, uint32_t value)
{
	struct trn_udma_queue *queue = target->queue;
	bool ours = true, refused = false, ignored;

	if (target->reg == NEURON_UDMA_Q_TAIL_INC && doorbell_lost(queue))
		return true;
	pthread_mutex_lock(&queue->lock);
	ignored = queue->job;
	if (!ignored && target->reg == NEURON_UDMA_Q_TAIL_INC)
		refused = !doorbell(queue, target->ring, value);
	else if (!ignored)
		ours = ring_write(queue, target->ring, target->side,
				  target->reg, value);
	pthread_mutex_unlock(&queue->lock);

	if (ignored)
		trn_log(queue->chip, TRN_LOG_GUEST_ERROR,
			"DMA engine %u queue %u belongs to a job: write to register %#x ignored",
			queue->engine, queue->index, target->reg);
	else if (refused)
		doorbell_refused(queue, target->side, value);
	else if (target->reg == NEURON_UDMA_Q_TAIL_INC ||
		 target->reg == NEURON_UDMA_Q_CFG)
		trn_task_kick(&queue->task);
	return ours;
}

uint32_t trn_udma_read(struct trn_chip *chip, unsigned int engine,
		       uint32_t offset)
{
	struct target target;
	uint32_t base, value = 0;
	bool ours;

	if (engine >= chip->gen->nr_dma || offset >= NEURON_UDMA_BLOCK_SIZE)
		return 0xffffffff;
	base = neuron_dma_bar0(chip->gen, engine);
	target = decode(chip, engine, offset);
	if (target.queue) {
		pthread_mutex_lock(&target.queue->lock);
		ours = ring_read(target.ring, target.side, target.reg, &value);
		if (target.reg == NEURON_UDMA_Q_STATUS && target.queue->running)
			value |= NEURON_UDMA_Q_STATUS_BUSY;
		pthread_mutex_unlock(&target.queue->lock);
		if (ours)
			return value;
	}
	if (!target.queue && trn_engine_read(chip, engine, offset, &value))
		return value;
	return trn_regfile_read(chip->regfile, base + offset);
}

void trn_udma_write(struct trn_chip *chip, unsigned int engine,
		    uint32_t offset, uint32_t value)
{
	struct target target;

	if (engine >= chip->gen->nr_dma || offset >= NEURON_UDMA_BLOCK_SIZE)
		return;
	target = decode(chip, engine, offset);
	if (target.queue ? queue_write(&target, value) :
			   trn_engine_write(chip, engine, offset, value))
		return;
	if (!trn_regfile_write(chip->regfile,
			       neuron_dma_bar0(chip->gen, engine) + offset,
			       value))
		trn_log(chip, TRN_LOG_WARN,
			"DMA engine %u: no memory to keep register %#x",
			engine, offset);
}
