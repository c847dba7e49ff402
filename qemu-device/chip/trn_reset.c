// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_reset.h"

#include <stddef.h>

#include "trn_bar.h"
#include "trn_ctl.h"
#include "trn_internal.h"
#include "trn_irq.h"
#include "trn_mem.h"
#include "trn_regfile.h"

static unsigned int nr_queues(const struct trn_chip *chip)
{
	return chip->gen->nr_dma * NEURON_UDMA_QUEUES;
}

static bool core_quiet(const struct trn_core *core)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (!trn_task_quiet(&core->seq[e].task))
			return false;
	return trn_task_quiet(&core->controller);
}

static bool all_idle(const struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_cores; i++)
		if (!core_quiet(&chip->core[i]))
			return false;
	for (i = 0; i < nr_queues(chip); i++)
		if (!trn_task_quiet(&chip->queues[i].task))
			return false;
	return trn_task_quiet(&chip->discard.task);
}

/*
 * All but the chip's controller, which asks this itself. Twice, because an actor
 * may kick one that has been looked at before it goes idle itself; one that
 * starts while the chip stops kicks nobody.
 */
static bool actors_quiet(const struct trn_chip *chip)
{
	return all_idle(chip) && all_idle(chip);
}

bool trn_chip_quiet(const struct trn_chip *chip)
{
	if (chip->grace && !trn_pool_passed(chip->pool, chip->grace))
		return false;
	return !atomic_load(&chip->controller.reset) &&
	       trn_task_quiet(&chip->controller.task) && actors_quiet(chip);
}

static void kick_core(struct trn_core *core)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (atomic_load(&core->seq[e].status) != NEURON_ENGINE_HALTED)
			trn_task_kick(&core->seq[e].task);
	trn_task_kick(&core->controller);
}

/* Let everything go on that a stop may have interrupted. */
static void kick_actors(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_cores; i++)
		kick_core(&chip->core[i]);
	for (i = 0; i < nr_queues(chip); i++)
		trn_task_kick(&chip->queues[i].task);
	trn_task_kick(&chip->discard.task);
}

void trn_chip_stop(struct trn_chip *chip)
{
	pthread_mutex_lock(&chip->controller.lock);
	chip->controller.stopped = true;
	atomic_store(&chip->stopping, true);
	pthread_mutex_unlock(&chip->controller.lock);
}

void trn_chip_resume(struct trn_chip *chip)
{
	bool go;

	pthread_mutex_lock(&chip->controller.lock);
	chip->controller.stopped = false;
	go = !atomic_load(&chip->controller.reset);
	if (go)
		atomic_store(&chip->stopping, false);
	pthread_mutex_unlock(&chip->controller.lock);
	if (go)
		kick_actors(chip);
}

static void reset_cores(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_cores; i++)
		trn_core_reset_state(&chip->core[i]);
}

static void reset_hbm(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_hbm; i++) {
		chip->port->hbm_discard(chip->opaque, i, 0, chip->hbm_size);
		trn_mem_forget(chip, TRN_PLACE_HBM, i, 0, chip->hbm_size);
	}
}

void trn_chip_reset(struct trn_chip *chip)
{
	reset_cores(chip);
	trn_udma_reset(chip);
	trn_irq_reset(chip);
	trn_discard_reset(chip);
	trn_regfile_reset(chip->regfile);
	atomic_store(&chip->controller.reset_map, 0);
	reset_hbm(chip);
}

static void drop_pending(struct trn_ring *ring)
{
	ring->head = ring->tail;
	ring->ring_id = ring->tail_ring_id;
	ring->avail = 0;
}

/* The copy engines keep their rings but forget what was pending in them. */
static void reset_copy_queues(struct trn_chip *chip)
{
	unsigned int i = chip->gen->nr_ring * NEURON_UDMA_QUEUES;

	for (; i < nr_queues(chip); i++) {
		struct trn_queue *queue = &chip->queues[i];

		pthread_mutex_lock(&queue->lock);
		drop_pending(&queue->m2s);
		drop_pending(&queue->s2m);
		queue->stopped = 0;
		atomic_store(&queue->error, NEURON_CAUSE_NONE);
		atomic_fetch_add(&queue->epoch, 1);
		pthread_mutex_unlock(&queue->lock);
	}
}

static void reset_ring_queues(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_ring * NEURON_UDMA_QUEUES; i++)
		trn_queue_reset(&chip->queues[i]);
}

static void requested_reset(struct trn_chip *chip)
{
	struct trn_controller *c = &chip->controller;
	unsigned int i;
	bool go;

	for (i = 0; i < chip->gen->nr_cores; i++)
		trn_job_abort(&chip->core[i]);
	reset_cores(chip);
	reset_ring_queues(chip);
	reset_copy_queues(chip);
	trn_irq_reset(chip);
	trn_discard_reset(chip);
	trn_log(chip, TRN_LOG_INFO, "device reset done");

	pthread_mutex_lock(&c->lock);
	atomic_store(&c->reset, false);
	go = !c->stopped;
	if (go)
		atomic_store(&chip->stopping, false);
	pthread_mutex_unlock(&c->lock);
	if (go)
		kick_actors(chip);
}

static enum trn_run controller_run(struct trn_task *task,
				   struct trn_budget *budget)
{
	struct trn_chip *chip = (struct trn_chip *)((char *)task -
				offsetof(struct trn_chip, controller.task));
	struct trn_controller *c = &chip->controller;

	(void)budget;
	if (atomic_exchange(&c->links_changed, false))
		trn_irq_mgmt(chip, NEURON_CTL_CAUSE_LINK);
	if (!atomic_load(&c->reset))
		return TRN_RUN_IDLE;
	if (!actors_quiet(chip)) {
		trn_pool_watch(task);
		if (!actors_quiet(chip))
			return TRN_RUN_IDLE;
	}
	trn_pool_unwatch(task);
	requested_reset(chip);
	return TRN_RUN_IDLE;
}

void trn_controller_init(struct trn_chip *chip)
{
	pthread_mutex_init(&chip->controller.lock, NULL);
	trn_task_init(&chip->controller.task, chip->pool, controller_run);
}

void trn_controller_destroy(struct trn_chip *chip)
{
	pthread_mutex_destroy(&chip->controller.lock);
}

void trn_reset_request(struct trn_chip *chip)
{
	struct trn_controller *c = &chip->controller;

	pthread_mutex_lock(&c->lock);
	atomic_store(&c->reset, true);
	atomic_store(&chip->stopping, true);
	pthread_mutex_unlock(&c->lock);
	trn_task_kick(&c->task);
}

void trn_reset_cores(struct trn_chip *chip, uint32_t map)
{
	unsigned int i;

	atomic_fetch_or(&chip->controller.reset_map, map);
	for (i = 0; i < chip->gen->nr_cores; i++)
		if (map & NEURON_BIT(i))
			trn_core_reset(&chip->core[i]);
}

bool trn_reset_core_busy(struct trn_chip *chip, unsigned int index)
{
	struct trn_core *core = &chip->core[index];
	bool busy;

	pthread_mutex_lock(&core->lock);
	busy = core->reset_request ||
	       atomic_load(&core->status) == NEURON_CORE_RESETTING;
	pthread_mutex_unlock(&core->lock);
	return busy;
}

bool trn_reset_busy(struct trn_chip *chip)
{
	struct trn_controller *c = &chip->controller;
	uint32_t map = atomic_load(&c->reset_map);
	unsigned int i;

	if (atomic_load(&c->reset))
		return true;
	for (i = 0; i < chip->gen->nr_cores; i++) {
		if (!(map & NEURON_BIT(i)))
			continue;
		if (trn_reset_core_busy(chip, i))
			return true;
		atomic_fetch_and(&c->reset_map, ~NEURON_BIT(i));
	}
	return false;
}
