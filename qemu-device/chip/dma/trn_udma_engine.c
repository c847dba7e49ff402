// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * What the queues of a UDMA engine share: its registers, its state, its errors.
 *
 * A queue's "paused" follows the engine: whoever changes an engine writes it to
 * each queue under both locks, so that the last change wins everywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_regfile.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_queue.h"
#include "sync/trn_irq.h"

#define SIDES	2
#define STATE_FIELDS	0x1111u		/* lowest bit of each */

struct trn_udma_engine *trn_udma_engine(struct trn_chip *chip,
					unsigned int engine)
{
	return &chip->udma[engine];
}

void trn_engine_clear(struct trn_udma_engine *e)
{
	pthread_mutex_lock(&e->lock);
	memset(e->state, TRN_ENGINE_RESET, sizeof(e->state));
	memset(e->logged, 0, sizeof(e->logged));
	memset(e->log_mask, 0, sizeof(e->log_mask));
	memset(e->log, 0, sizeof(e->log));
	memset(e->stream_cfg, 0, sizeof(e->stream_cfg));
	memset(e->moderation, 0, sizeof(e->moderation));
	memset(e->axi_error, 0, sizeof(e->axi_error));
	e->cfg_len = NEURON_UDMA_CFG_LEN_RESET;
	e->pref_cfg_2 = NEURON_UDMA_PREF_CFG_2_RESET;
	e->comp_cfg_1c = NEURON_UDMA_COMP_CFG_1C_RESET;
	e->zeroes0 = 0;
	trn_iofic_clear(e->iofic);
	free(e->axi_table);
	e->axi_table = NULL;
	pthread_mutex_unlock(&e->lock);
}

void trn_engine_init(struct trn_udma_engine *e)
{
	pthread_mutex_init(&e->lock, NULL);
	e->axi_table = NULL;
	trn_engine_clear(e);
}

void trn_engine_destroy(struct trn_udma_engine *e)
{
	free(e->axi_table);
	pthread_mutex_destroy(&e->lock);
}

/* --- State --- */

/* trn_udma_queue.paused as the engine wants it; under its lock. */
static uint8_t engine_paused(const struct trn_udma_engine *e)
{
	uint8_t paused = 0;
	unsigned int side;

	for (side = 0; side < SIDES; side++) {
		if (e->state[side] >= TRN_ENGINE_DISABLED)
			paused |= (uint8_t)NEURON_BIT(side);
		if (e->stream_cfg[side] & NEURON_UDMA_STREAM_DISABLE)
			paused |= (uint8_t)TRN_PAUSE_STREAM(NEURON_BIT(side));
	}
	return paused;
}

/* Under the queue's lock. */
static void queue_follow(struct trn_udma_queue *queue)
{
	struct trn_udma_engine *e = trn_udma_engine(queue->chip, queue->engine);

	pthread_mutex_lock(&e->lock);
	queue->paused = engine_paused(e);
	pthread_mutex_unlock(&e->lock);
	trn_udma_queue_update_halt(queue);
}

void trn_engine_follow(struct trn_chip *chip, unsigned int engine)
{
	struct trn_udma_queue *queue;
	unsigned int q;

	for (q = 0; q < NEURON_UDMA_QUEUES; q++) {
		queue = trn_udma_queue_at(chip, engine, q);
		pthread_mutex_lock(&queue->lock);
		queue_follow(queue);
		pthread_mutex_unlock(&queue->lock);
		trn_task_kick(&queue->task);
	}
}

void trn_udma_reset_engine(struct trn_chip *chip, unsigned int engine)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	unsigned int i;

	pthread_mutex_lock(&e->lock);
	memset(e->state, TRN_ENGINE_RESET, sizeof(e->state));
	memset(e->logged, 0, sizeof(e->logged));
	memset(e->log, 0, sizeof(e->log));
	memset(e->axi_error, 0, sizeof(e->axi_error));
	for (i = 0; i < TRN_IOFIC_GROUPS; i++) {
		e->iofic[i].cause = 0;
		e->iofic[i].source = 0;
	}
	pthread_mutex_unlock(&e->lock);
	trn_engine_follow(chip, engine);
}

/* A queue of an engine that aborts. True: it has been stopped. */
static bool queue_abort(struct trn_udma_queue *queue)
{
	bool stop;

	pthread_mutex_lock(&queue->lock);
	queue_follow(queue);
	stop = !queue->job && !queue->stopped &&
	       (queue->running || queue->m2s.avail || queue->s2m.avail);
	if (stop) {
		trn_udma_queue_stop(queue, NEURON_CAUSE_ABORT);
		atomic_fetch_add(&queue->epoch, 1);
	}
	pthread_mutex_unlock(&queue->lock);
	return stop;
}

void trn_engine_abort(struct trn_chip *chip, unsigned int engine,
		      unsigned int sides)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	uint32_t causes = 0;
	bool news = false;
	unsigned int i;

	pthread_mutex_lock(&e->lock);
	for (i = 0; i < SIDES; i++) {
		if (!(sides & NEURON_BIT(i)) || e->state[i] == TRN_ENGINE_ABORTED)
			continue;
		e->state[i] = TRN_ENGINE_ABORTED;
		news = true;
	}
	pthread_mutex_unlock(&e->lock);
	if (!news)
		return;
	for (i = 0; i < NEURON_UDMA_QUEUES; i++)
		if (queue_abort(trn_udma_queue_at(chip, engine, i)))
			causes |= NEURON_DMA_CAUSE_ERROR(i);
	trn_log(chip, TRN_LOG_WARN,
		"DMA engine %u aborted; queues that had work and need a reset: %#x",
		engine, causes >> 16);
	if (causes)
		trn_irq_dma(chip, engine, causes);
}

/* Does a cause still abort @side? Under the lock. */
static bool still_aborts(const struct trn_udma_engine *e, unsigned int side)
{
	return trn_iofic_aborts(e->iofic) & NEURON_BIT(side);
}

static void change_state(struct trn_chip *chip, unsigned int engine,
			 unsigned int side, uint32_t value)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	bool refused = false;

	if (value & NEURON_UDMA_CHANGE_ABORT) {
		trn_engine_abort(chip, engine, NEURON_BIT(side));
		return;
	}
	pthread_mutex_lock(&e->lock);
	if (value & NEURON_UDMA_CHANGE_DISABLE) {
		if (e->state[side] != TRN_ENGINE_ABORTED)
			e->state[side] = TRN_ENGINE_DISABLED;
	} else if (value & NEURON_UDMA_CHANGE_NORMAL) {
		refused = still_aborts(e, side);
		if (!refused)
			e->state[side] = TRN_ENGINE_NORMAL;
	}
	pthread_mutex_unlock(&e->lock);
	if (refused)
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"DMA engine %u %s stays in the abort state: clear the causes that abort it first",
			engine, side ? "S2M" : "M2S");
	else
		trn_engine_follow(chip, engine);
}

/* Does a queue of domain 0 move something? */
static bool engine_works(struct trn_chip *chip, unsigned int engine)
{
	struct trn_udma_queue *queue;
	bool works = false;
	unsigned int q;

	for (q = 0; q < NEURON_UDMA_QUEUES && !works; q++) {
		queue = trn_udma_queue_at(chip, engine, q);
		pthread_mutex_lock(&queue->lock);
		works = queue->running && !queue->job;
		pthread_mutex_unlock(&queue->lock);
	}
	return works;
}

static uint32_t read_state(struct trn_chip *chip, unsigned int engine,
			   unsigned int side)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	uint8_t state;

	pthread_mutex_lock(&e->lock);
	state = e->state[side];
	pthread_mutex_unlock(&e->lock);
	if (state == TRN_ENGINE_ABORTED)
		return NEURON_UDMA_STATE_ABORT * STATE_FIELDS;
	if (state == TRN_ENGINE_NORMAL || engine_works(chip, engine))
		return NEURON_UDMA_STATE_NORMAL * STATE_FIELDS;
	return NEURON_UDMA_STATE_IDLE * STATE_FIELDS;
}

/* --- Errors and completions --- */

void trn_engine_error(struct trn_udma_queue *queue,
		      const struct trn_engine_error *error)
{
	struct trn_udma_engine *e = trn_udma_engine(queue->chip, queue->engine);
	unsigned int sides;

	pthread_mutex_lock(&e->lock);
	trn_iofic_set(e->iofic, TRN_IOFIC_SECONDARY(error->side), error->cause);
	if (error->port >= 0) {
		trn_iofic_set(e->iofic, TRN_IOFIC_PORT(error->port),
			      NEURON_BIT(queue->index));
		e->axi_error[queue->index] |= (uint8_t)NEURON_BIT(error->port);
	}
	if (error->cause & ~e->log_mask[error->side] &&
	    !e->logged[error->side]) {
		e->logged[error->side] = true;
		memcpy(e->log[error->side], &error->desc, sizeof(error->desc));
	}
	sides = trn_iofic_aborts(e->iofic);
	pthread_mutex_unlock(&e->lock);
	if (sides)
		trn_engine_abort(queue->chip, queue->engine, sides);
}

void trn_engine_announce(struct trn_udma_queue *queue, unsigned int sides)
{
	struct trn_udma_engine *e = trn_udma_engine(queue->chip, queue->engine);
	const uint32_t bit = NEURON_BIT(queue->index);

	pthread_mutex_lock(&e->lock);
	if (sides & TRN_SIDE_S2M)
		trn_iofic_set(e->iofic, TRN_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_B),
			      bit);
	if (sides & TRN_SIDE_M2S)
		trn_iofic_set(e->iofic, TRN_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_C),
			      bit);
	pthread_mutex_unlock(&e->lock);
}

static uint32_t comp_bytes(const struct trn_udma_engine *e)
{
	uint32_t words = NEURON_GET(NEURON_UDMA_COMP_WORDS, e->comp_cfg_1c);

	/* A power of two up to the size of a fetch. */
	return words && !(words & (words - 1)) ? words * 4 : 0;
}

void trn_engine_limits(const struct trn_udma_queue *queue,
		       struct trn_engine_limits *limits)
{
	struct trn_udma_engine *e = trn_udma_engine(queue->chip, queue->engine);
	const unsigned int q = queue->index;

	pthread_mutex_lock(&e->lock);
	*limits = (struct trn_engine_limits){
		.max_bytes = NEURON_GET(NEURON_UDMA_CFG_LEN_MAX, e->cfg_len),
		.max_desc = NEURON_GET(NEURON_UDMA_PREF_CFG_2_MAX_DESC,
				       e->pref_cfg_2),
		.comp_bytes = { NEURON_UDMA_M2S_COMP_BYTES, comp_bytes(e) },
		.moderation = { e->moderation[0][q], e->moderation[1][q] },
		.zero_is_64k = e->cfg_len & NEURON_UDMA_CFG_LEN_64K,
		.check_ring_id = {
			!(e->iofic[TRN_IOFIC_SECONDARY(0)].mask &
			  NEURON_IOFIC_M2S_RING_ID),
			!(e->iofic[TRN_IOFIC_SECONDARY(1)].mask &
			  NEURON_IOFIC_S2M_RING_ID),
		},
		.count_heads = !(e->zeroes0 & NEURON_UDMA_ZEROES0_NO_CRHP),
	};
	pthread_mutex_unlock(&e->lock);
}

/* --- Registers --- */

/* A register that is one word of the engine, or NULL. */
static uint32_t *plain_word(struct trn_udma_engine *e, uint32_t offset)
{
	switch (offset) {
	case NEURON_UDMA_M2S_ERR_LOG_MASK:
		return &e->log_mask[0];
	case NEURON_UDMA_S2M_ERR_LOG_MASK:
		return &e->log_mask[1];
	case NEURON_UDMA_M2S_STREAM_CFG:
		return &e->stream_cfg[0];
	case NEURON_UDMA_S2M_STREAM_CFG:
		return &e->stream_cfg[1];
	case NEURON_UDMA_M2S_CFG_LEN:
		return &e->cfg_len;
	case NEURON_UDMA_M2S_PREF_CFG_2:
		return &e->pref_cfg_2;
	case NEURON_UDMA_S2M_COMP_CFG_1C:
		return &e->comp_cfg_1c;
	case NEURON_UDMA_GEN_ZEROES0:
		return &e->zeroes0;
	default:
		return NULL;
	}
}

/* The moderation of a queue's completions, or NULL. */
static uint8_t *moderation(struct trn_udma_engine *e, uint32_t offset)
{
	const uint32_t first = NEURON_UDMA_IOFIC_MODERATION(0, 0);
	uint32_t group = (offset - first) / 0x100;
	uint32_t bit = (offset - first) % 0x100 / 8;

	if (offset < first || (offset - first) % 8 || bit >= NEURON_UDMA_QUEUES)
		return NULL;
	if (group == NEURON_UDMA_IOFIC_C)
		return &e->moderation[0][bit];
	return group == NEURON_UDMA_IOFIC_B ? &e->moderation[1][bit] : NULL;
}

/* The queue whose error register @offset is, or -1. */
static int axi_error_queue(uint32_t offset)
{
	const uint32_t first = NEURON_UDMA_AXI_QUEUE(0);
	const uint32_t step = NEURON_UDMA_AXI_QUEUE(1) - first;

	if (offset < first || offset >= NEURON_UDMA_AXI_QUEUE(NEURON_UDMA_QUEUES) ||
	    (offset - first) % step != NEURON_UDMA_AXI_QUEUE_ERROR)
		return -1;
	return (int)((offset - first) / step);
}

/* The port whose table data register @offset is, or -1. */
static int axi_table_port(uint32_t offset)
{
	const uint32_t first = NEURON_UDMA_AXI_TABLE_DATA(0);

	if (offset < first || offset > NEURON_UDMA_AXI_TABLE_DATA(NEURON_UDMA_PORTS - 1) ||
	    (offset - first) % 8)
		return -1;
	return (int)((offset - first) / 8);
}

/* The word that the port's address register, plain storage, points to. */
static unsigned int axi_table_index(struct trn_chip *chip, unsigned int engine,
				    int port)
{
	return trn_regfile_read(chip->regfile,
				neuron_dma_bar0(chip->gen, engine) +
					NEURON_UDMA_AXI_TABLE_ADDR((uint32_t)port)) %
	       NEURON_UDMA_AXI_TABLE_WORDS;
}

static bool read_fixed(uint32_t offset, uint32_t *value)
{
	switch (offset) {
	case NEURON_UDMA_M2S_CHANGE_STATE:
	case NEURON_UDMA_S2M_CHANGE_STATE:
	case NEURON_UDMA_M2S_CLEAR_ERR_LOG:
	case NEURON_UDMA_S2M_CLEAR_ERR_LOG:
		*value = 0;
		return true;
	case NEURON_UDMA_M2S_VERSION:
		*value = NEURON_UDMA_VERSION_VALUE;
		return true;
	default:
		return false;
	}
}

/* Under the lock. */
static bool read_locked(struct trn_udma_engine *e, uint32_t offset,
			unsigned int table_index, uint32_t *value)
{
	const uint32_t *word = plain_word(e, offset);
	const uint8_t *count = moderation(e, offset);
	int group, queue = axi_error_queue(offset);
	int port = axi_table_port(offset);
	unsigned int i;
	uint32_t reg;

	if (word) {
		*value = *word;
	} else if (count) {
		*value = *count;
	} else if (queue >= 0) {
		*value = e->axi_error[queue];
		e->axi_error[queue] = 0;
	} else if (port >= 0) {
		*value = e->axi_table ? (*e->axi_table)[port][table_index] : 0;
	} else {
		for (i = 0; i < 4; i++) {
			if (offset != NEURON_UDMA_M2S_LOG(i) &&
			    offset != NEURON_UDMA_S2M_LOG(i))
				continue;
			*value = e->log[offset == NEURON_UDMA_S2M_LOG(i)][i];
			return true;
		}
		group = trn_iofic_find(offset, &reg);
		return group >= 0 &&
		       trn_iofic_read(e->iofic, (unsigned int)group, reg, value);
	}
	return true;
}

bool trn_engine_read(struct trn_chip *chip, unsigned int engine,
		     uint32_t offset, uint32_t *value)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	int port = axi_table_port(offset);
	unsigned int index = 0;
	bool ours;

	if (offset == NEURON_UDMA_M2S_STATE || offset == NEURON_UDMA_S2M_STATE) {
		*value = read_state(chip, engine,
				    offset == NEURON_UDMA_S2M_STATE);
		return true;
	}
	if (read_fixed(offset, value))
		return true;
	if (port >= 0)
		index = axi_table_index(chip, engine, port);
	pthread_mutex_lock(&e->lock);
	ours = read_locked(e, offset, index, value);
	pthread_mutex_unlock(&e->lock);
	return ours;
}

static void table_write(struct trn_chip *chip, unsigned int engine, int port,
			uint32_t value)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	unsigned int index = axi_table_index(chip, engine, port);
	bool kept;

	pthread_mutex_lock(&e->lock);
	if (!e->axi_table && value)
		e->axi_table = calloc(1, sizeof(*e->axi_table));
	kept = e->axi_table;
	if (kept)
		(*e->axi_table)[port][index] = value;
	pthread_mutex_unlock(&e->lock);
	if (!kept && value)
		trn_log(chip, TRN_LOG_WARN,
			"DMA engine %u: no memory for its error table", engine);
}

static void clear_log(struct trn_udma_engine *e, unsigned int side)
{
	pthread_mutex_lock(&e->lock);
	e->logged[side] = false;
	memset(e->log[side], 0, sizeof(e->log[side]));
	pthread_mutex_unlock(&e->lock);
}

/* What does more than to store. */
static bool write_action(struct trn_chip *chip, unsigned int engine,
			 uint32_t offset, uint32_t value)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	int port = axi_table_port(offset);

	switch (offset) {
	case NEURON_UDMA_M2S_CHANGE_STATE:
	case NEURON_UDMA_S2M_CHANGE_STATE:
		change_state(chip, engine,
			     offset == NEURON_UDMA_S2M_CHANGE_STATE, value);
		return true;
	case NEURON_UDMA_M2S_CLEAR_ERR_LOG:
	case NEURON_UDMA_S2M_CLEAR_ERR_LOG:
		clear_log(e, offset == NEURON_UDMA_S2M_CLEAR_ERR_LOG);
		return true;
	case NEURON_UDMA_M2S_STATE:
	case NEURON_UDMA_S2M_STATE:
	case NEURON_UDMA_M2S_VERSION:
		return true;	/* read only */
	}
	if (port >= 0)
		table_write(chip, engine, port, value);
	else if (axi_error_queue(offset) < 0)
		return false;
	return true;
}

/* Under the lock. */
static bool write_locked(struct trn_udma_engine *e, uint32_t offset,
			 uint32_t value)
{
	uint32_t *word = plain_word(e, offset), reg;
	uint8_t *count = moderation(e, offset);
	unsigned int i;
	int group;

	if (word) {
		*word = value;
		return true;
	}
	if (count) {
		*count = value & NEURON_IOFIC_MODERATION;
		return true;
	}
	for (i = 0; i < 4; i++)
		if (offset == NEURON_UDMA_M2S_LOG(i) ||
		    offset == NEURON_UDMA_S2M_LOG(i))
			return true;	/* read only */
	group = trn_iofic_find(offset, &reg);
	return group >= 0 &&
	       trn_iofic_write(e->iofic, (unsigned int)group, reg, value);
}

bool trn_engine_write(struct trn_chip *chip, unsigned int engine,
		      uint32_t offset, uint32_t value)
{
	struct trn_udma_engine *e = trn_udma_engine(chip, engine);
	unsigned int sides;
	bool ours;

	if (write_action(chip, engine, offset, value))
		return true;
	pthread_mutex_lock(&e->lock);
	ours = write_locked(e, offset, value);
	sides = trn_iofic_aborts(e->iofic);
	pthread_mutex_unlock(&e->lock);
	if (ours && sides)
		trn_engine_abort(chip, engine, sides);
	if (offset == NEURON_UDMA_M2S_STREAM_CFG ||
	    offset == NEURON_UDMA_S2M_STREAM_CFG)
		trn_engine_follow(chip, engine);
	return ours;
}
