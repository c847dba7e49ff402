// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading of engines and queues. Of the many there are, only those that
 * differ from their reset state are in the stream. What a job's queue is to its job
 * comes later, by trn_udma_queue_restore(): until then it is stopped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_op.h"
#include "dma/trn_udma_queue.h"

/* --- Engines --- */

static bool engine_is_reset(struct trn_udma_engine *e)
{
	struct trn_udma_engine fresh;
	bool same;

	trn_engine_init(&fresh);
	same = !e->axi_table && !memcmp(e->state, fresh.state, sizeof(e->state)) &&
	       !memcmp(e->logged, fresh.logged, sizeof(e->logged)) &&
	       !memcmp(e->log_mask, fresh.log_mask, sizeof(e->log_mask)) &&
	       !memcmp(e->log, fresh.log, sizeof(e->log)) &&
	       !memcmp(e->stream_cfg, fresh.stream_cfg, sizeof(e->stream_cfg)) &&
	       e->cfg_len == fresh.cfg_len && e->pref_cfg_2 == fresh.pref_cfg_2 &&
	       e->comp_cfg_1c == fresh.comp_cfg_1c &&
	       e->zeroes0 == fresh.zeroes0 &&
	       !memcmp(e->iofic, fresh.iofic, sizeof(e->iofic)) &&
	       !memcmp(e->moderation, fresh.moderation, sizeof(e->moderation)) &&
	       !memcmp(e->axi_error, fresh.axi_error, sizeof(e->axi_error));
	trn_engine_destroy(&fresh);
	return same;
}

static void iofic_state(struct trn_iofic *group, struct trn_state *st)
{
	trn_state_u32(st, &group->cause);
	trn_state_u32(st, &group->mask);
	trn_state_u32(st, &group->source);
	trn_state_u32(st, &group->control);
	trn_state_u32(st, &group->abort_mask);
	trn_state_u32(st, &group->log_mask);
}

static void axi_table_state(struct trn_udma_engine *e, struct trn_state *st)
{
	bool has = e->axi_table;

	trn_state_bool(st, &has);
	if (st->loading && has && !trn_state_failed(st)) {
		if (!e->axi_table)
			e->axi_table = calloc(1, sizeof(*e->axi_table));
		if (!e->axi_table)
			trn_state_fail(st, "no memory for a DMA error table");
	}
	if (has && e->axi_table)
		trn_state_bytes(st, *e->axi_table, sizeof(*e->axi_table));
}

static void engine_state(struct trn_udma_engine *e, struct trn_state *st)
{
	unsigned int i, side;

	for (side = 0; side < 2; side++) {
		trn_state_u8(st, &e->state[side]);
		if (e->state[side] >= TRN_ENGINE_STATES) {
			trn_state_fail(st, "a DMA engine is in no state");
			e->state[side] = TRN_ENGINE_RESET;
		}
		trn_state_bool(st, &e->logged[side]);
		trn_state_u32(st, &e->log_mask[side]);
		for (i = 0; i < 4; i++)
			trn_state_u32(st, &e->log[side][i]);
		trn_state_u32(st, &e->stream_cfg[side]);
	}
	trn_state_u32(st, &e->cfg_len);
	trn_state_u32(st, &e->pref_cfg_2);
	trn_state_u32(st, &e->comp_cfg_1c);
	trn_state_u32(st, &e->zeroes0);
	for (i = 0; i < TRN_IOFIC_GROUPS; i++)
		iofic_state(&e->iofic[i], st);
	trn_state_bytes(st, e->moderation, sizeof(e->moderation));
	trn_state_bytes(st, e->axi_error, sizeof(e->axi_error));
	axi_table_state(e, st);
}

static void save_engines(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int nr = chip->gen->nr_dma, i;
	uint32_t count = 0;
	uint16_t index;

	for (i = 0; i < nr; i++)
		count += !engine_is_reset(&chip->udma[i]);
	trn_state_count(st, count, nr);
	for (i = 0; i < nr; i++) {
		if (engine_is_reset(&chip->udma[i]))
			continue;
		index = (uint16_t)i;
		trn_state_u16(st, &index);
		engine_state(&chip->udma[i], st);
	}
}

static void load_engines(struct trn_chip *chip, struct trn_state *st)
{
	uint32_t count = trn_state_count(st, 0, chip->gen->nr_dma);
	uint16_t index = 0;

	while (count-- && !trn_state_failed(st)) {
		trn_state_u16(st, &index);
		if (index >= chip->gen->nr_dma) {
			trn_state_fail(st, "there is no such DMA engine");
			return;
		}
		engine_state(&chip->udma[index], st);
	}
}

/* --- Queues --- */

static bool ring_is_reset(const struct trn_ring *ring)
{
	const struct trn_ring fresh = {
		.cfg = NEURON_UDMA_Q_CFG_RESET,
		.rate = NEURON_UDMA_Q_RATE_RESET,
		.ring_id = NEURON_UDMA_RING_ID_FIRST,
		.tail_ring_id = NEURON_UDMA_RING_ID_FIRST,
		.comp_ring_id = NEURON_UDMA_RING_ID_FIRST,
	};

	return ring->base == fresh.base && ring->comp_base == fresh.comp_base &&
	       ring->length == fresh.length && ring->tail == fresh.tail &&
	       ring->head == fresh.head && ring->comp_head == fresh.comp_head &&
	       ring->avail == fresh.avail && ring->cfg == fresh.cfg &&
	       ring->rate == fresh.rate && ring->comp_cfg == fresh.comp_cfg &&
	       ring->ring_id == fresh.ring_id &&
	       ring->tail_ring_id == fresh.tail_ring_id &&
	       ring->comp_ring_id == fresh.comp_ring_id;
}

static bool queue_is_reset(const struct trn_udma_queue *queue)
{
	return ring_is_reset(&queue->m2s) && ring_is_reset(&queue->s2m) &&
	       !queue->job && !queue->ints[0] && !queue->ints[1] &&
	       !queue->held && !queue->lost && !queue->failed && !queue->stopped &&
	       !atomic_load(&queue->error) && !atomic_load(&queue->moved_bytes) &&
	       !atomic_load(&queue->moved_descriptors);
}

static void ring_id_state(uint8_t *id, struct trn_state *st)
{
	trn_state_u8(st, id);
	if (*id >= NEURON_UDMA_RING_IDS)
		trn_state_fail(st, "a DMA ring id has more than two bits");
	*id %= NEURON_UDMA_RING_IDS;
}

static void pointer_state(uint32_t *pointer, struct trn_state *st)
{
	trn_state_u32(st, pointer);
	if (*pointer & ~NEURON_UDMA_Q_PTR)
		trn_state_fail(st, "a DMA ring pointer has more than 24 bits");
	*pointer &= NEURON_UDMA_Q_PTR;
}

/* Software may shorten a ring that is in use: the machine checks that itself. */
static void ring_state(struct trn_ring *ring, struct trn_state *st)
{
	trn_state_u64(st, &ring->base);
	trn_state_u64(st, &ring->comp_base);
	pointer_state(&ring->length, st);
	pointer_state(&ring->tail, st);
	pointer_state(&ring->head, st);
	pointer_state(&ring->comp_head, st);
	pointer_state(&ring->avail, st);
	trn_state_u32(st, &ring->cfg);
	trn_state_u32(st, &ring->rate);
	trn_state_u32(st, &ring->comp_cfg);
	ring_id_state(&ring->ring_id, st);
	ring_id_state(&ring->tail_ring_id, st);
	ring_id_state(&ring->comp_ring_id, st);
}

/* One generated packet; @left: M2S descriptors before it. */
static void generated_state(struct trn_generated *packet, uint64_t *left,
			    struct trn_state *st)
{
	struct trn_landed *landed = &packet->landed;
	uint32_t value = (uint32_t)landed->value;
	const char *why;

	trn_state_bool(st, &packet->empty);
	if (!packet->empty)
		trn_state_bytes(st, &packet->dge, sizeof(packet->dge));
	trn_state_u8(st, &landed->op);
	trn_state_u16(st, &landed->sem);
	trn_state_u32(st, &value);
	trn_state_u64(st, left);
	landed->value = (int32_t)value;
	if (!st->loading || trn_state_failed(st))
		return;
	if (landed->op > NEURON_SYNC_POST_SET || landed->sem >= NEURON_NR_SEMAPHORES ||
	    (!packet->empty && trn_udma_op_check(&packet->dge.op, &why)))
		trn_state_fail(st, "a generated DMA packet is malformed");
}

static void save_generated(struct trn_udma_queue *queue, struct trn_state *st)
{
	uint32_t before = trn_gen_total(queue) - trn_gen_count(queue);
	unsigned int count = trn_gen_count(queue), i;
	struct trn_generated packet;
	uint64_t left;

	trn_state_u32(st, &before);
	trn_state_count(st, count, TRN_GEN_ROOM);
	for (i = 0; i < count; i++) {
		packet = *trn_gen_peek(queue, i);
		left = packet.after - queue->done;
		generated_state(&packet, &left, st);
	}
}

static void load_generated(struct trn_udma_queue *queue, bool of_job,
			   struct trn_state *st)
{
	struct trn_generated packet = { 0 };
	uint64_t left = 0, last = 0;
	uint32_t before = 0, count;

	trn_state_u32(st, &before);
	count = trn_state_count(st, 0, TRN_GEN_ROOM);
	if ((before || count) && !of_job) {
		trn_state_fail(st, "a DMA queue without a job has generated packets");
		return;
	}
	if (!trn_gen_set_total(queue, before))
		trn_state_fail(st, "no memory for generated DMA packets");
	while (count-- && !trn_state_failed(st)) {
		generated_state(&packet, &left, st);
		if (left < last || left > queue->m2s.avail)
			trn_state_fail(st, "generated DMA packets are out of order");
		last = left;
		if (!trn_state_failed(st) && !trn_gen_append(queue, &packet, left))
			trn_state_fail(st, "no memory for generated DMA packets");
	}
}

static void queue_state(struct trn_udma_queue *queue, struct trn_state *st)
{
	uint8_t error = atomic_load(&queue->error);
	bool of_job = queue->job;

	ring_state(&queue->m2s, st);
	ring_state(&queue->s2m, st);
	trn_state_u8(st, &queue->ints[0]);
	trn_state_u8(st, &queue->ints[1]);
	trn_state_bool(st, &queue->any_ring_id);
	trn_state_bool(st, &queue->held);
	trn_state_bool(st, &queue->lost);
	trn_state_bool(st, &queue->failed);
	trn_state_u8(st, &queue->stopped);
	trn_state_u8(st, &error);
	trn_state_bool(st, &of_job);
	trn_state_atomic_u64(st, &queue->moved_bytes);
	trn_state_atomic_u64(st, &queue->moved_descriptors);
	if (queue->failed && !of_job)
		trn_state_fail(st, "a DMA queue without a job has failed one");
	if (queue->stopped > TRN_SIDE_BOTH || error >= NEURON_NR_CAUSES)
		trn_state_fail(st, "a DMA queue stopped in no known way");
	if (!st->loading) {
		save_generated(queue, st);
		return;
	}
	load_generated(queue, of_job, st);
	atomic_store(&queue->error, error);
	queue->stopped &= TRN_SIDE_BOTH;
	if (of_job)
		queue->stopped = TRN_SIDE_BOTH;
}

static void save_queues(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int nr = chip->gen->nr_dma * NEURON_UDMA_QUEUES, i;
	uint32_t count = 0;
	uint16_t index;

	for (i = 0; i < nr; i++)
		count += !queue_is_reset(&chip->queues[i]);
	trn_state_count(st, count, nr);
	for (i = 0; i < nr; i++) {
		if (queue_is_reset(&chip->queues[i]))
			continue;
		index = (uint16_t)i;
		trn_state_u16(st, &index);
		queue_state(&chip->queues[i], st);
	}
}

/* Read aside: the stream may take its time, and no lock is held then. */
static void load_queue(struct trn_udma_queue *queue, struct trn_state *st)
{
	struct trn_udma_queue copy = { 0 };

	queue_state(&copy, st);
	pthread_mutex_lock(&queue->lock);
	trn_gen_clear(queue);
	queue->gen = copy.gen;
	queue->m2s = copy.m2s;
	queue->s2m = copy.s2m;
	queue->ints[0] = copy.ints[0];
	queue->ints[1] = copy.ints[1];
	queue->any_ring_id = copy.any_ring_id;
	queue->held = copy.held;
	queue->lost = copy.lost;
	queue->failed = copy.failed;
	queue->stopped = copy.stopped;
	atomic_store(&queue->error, atomic_load(&copy.error));
	atomic_store(&queue->moved_bytes, atomic_load(&copy.moved_bytes));
	atomic_store(&queue->moved_descriptors, atomic_load(&copy.moved_descriptors));
	pthread_mutex_unlock(&queue->lock);
}

static void load_queues(struct trn_chip *chip, struct trn_state *st)
{
	const unsigned int nr = chip->gen->nr_dma * NEURON_UDMA_QUEUES;
	uint32_t count = trn_state_count(st, 0, nr);
	uint16_t index = 0;

	while (count-- && !trn_state_failed(st)) {
		trn_state_u16(st, &index);
		if (index >= nr) {
			trn_state_fail(st, "there is no such DMA queue");
			return;
		}
		load_queue(&chip->queues[index], st);
	}
}

void trn_udma_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('U', 'D', 'M', 'A'), 4);
	if (!st->loading) {
		save_engines(chip, st);
		save_queues(chip, st);
		return;
	}
	load_engines(chip, st);
	load_queues(chip, st);
	/* Whether a queue may run follows from its engine and its registers. */
	for (i = 0; i < chip->gen->nr_dma; i++)
		trn_engine_follow(chip, i);
}
