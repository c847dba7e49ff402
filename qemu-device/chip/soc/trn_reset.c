// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "soc/trn_reset.h"

#include <stddef.h>

#include "base/trn_chip.h"
#include "base/trn_regfile.h"
#include "base/trn_state.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "dma/trn_udma.h"
#include "exec/trn_seq.h"
#include "fabric/trn_link_count.h"
#include "hook/trn_inject.h"
#include "hook/trn_watch.h"
#include "mem/trn_bus.h"
#include "mem/trn_discard.h"
#include "mem/trn_hbm.h"
#include "mem/trn_touched.h"
#include "notify/trn_nq.h"
#include "soc/trn_bar.h"
#include "soc/trn_ctl.h"
#include "soc/trn_firmware.h"
#include "sync/trn_irq.h"
#include "sync/trn_top_sp.h"
#include "time/trn_group.h"

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

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		if (!core_quiet(trn_unit((struct trn_chip *)chip, i)))
			return false;
	for (i = 0; i < nr_queues(chip); i++)
		if (!trn_task_quiet(&chip->queues[i].task))
			return false;
	return trn_task_quiet(&chip->discard->task) &&
	       trn_task_quiet(&chip->irq->storm.task) &&
	       trn_task_quiet(&chip->firmware->task) && trn_nq_quiet(chip);
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
	return !atomic_load(&chip->controller->reset) &&
	       trn_task_quiet(&chip->controller->task) && actors_quiet(chip);
}

static void kick_core(struct trn_core *core)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (atomic_load(&core->seq[e].status) != NEURON_ENGINE_HALTED)
			trn_task_kick(&core->seq[e].task);
	trn_task_kick(&core->controller);
}

void trn_reset_kick(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		kick_core(trn_unit(chip, i));
	for (i = 0; i < nr_queues(chip); i++)
		trn_task_kick(&chip->queues[i].task);
	trn_task_kick(&chip->discard->task);
	trn_task_kick(&chip->irq->storm.task);
	trn_task_kick(&chip->firmware->task);
	trn_nq_kick(chip);
}

void trn_chip_stop(struct trn_chip *chip)
{
	pthread_mutex_lock(&chip->controller->lock);
	chip->controller->stopped = true;
	atomic_store(&chip->stopping, true);
	pthread_mutex_unlock(&chip->controller->lock);
	trn_timer_flush(chip);
}

void trn_chip_resume(struct trn_chip *chip)
{
	bool go;

	pthread_mutex_lock(&chip->controller->lock);
	chip->controller->stopped = false;
	go = !atomic_load(&chip->controller->reset);
	if (go)
		atomic_store(&chip->stopping, false);
	pthread_mutex_unlock(&chip->controller->lock);
	if (go)
		trn_reset_kick(chip);
}

static void reset_cores(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		trn_core_reset_state(trn_unit(chip, i));
	trn_gangs_reset(chip);
}

void trn_reset_but_hbm(struct trn_chip *chip)
{
	unsigned int i;

	reset_cores(chip);
	trn_groups_reset(chip);
	trn_top_sp_reset(chip);
	trn_nq_reset(chip);
	trn_udma_reset(chip);
	trn_irq_reset(chip);
	trn_discard_reset(chip);
	trn_link_count_reset(chip);
	trn_regfile_reset(chip->regfile);
	trn_firmware_reset(chip);
	atomic_store(&chip->controller->reset_map, 0);
	atomic_store(&chip->controller->until_ns, 0);
	atomic_store(&chip->controller->whole, false);
	atomic_store(&chip->controller->stuck, false);
	for (i = 0; i < chip->gen->nr_hbm; i++)
		trn_touched_forget(chip, TRN_PLACE_HBM, i, 0, chip->hbm_size);
	trn_watch_begin(chip);
}

void trn_chip_reset(struct trn_chip *chip)
{
	unsigned int i;

	trn_reset_but_hbm(chip);
	for (i = 0; i < chip->gen->nr_hbm; i++)
		trn_hbm_discard(chip, i, 0, chip->hbm_size);
}

static void requested_reset(struct trn_chip *chip)
{
	struct trn_controller *c = chip->controller;
	unsigned int i;
	bool go;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		trn_job_abort(trn_unit(chip, i));
	reset_cores(chip);
	trn_top_sp_reset(chip);
	trn_nq_reset(chip);
	trn_udma_soft_reset(chip);
	trn_irq_reset(chip);
	trn_discard_reset(chip);
	trn_link_count_reset(chip);
	trn_firmware_device_reset(chip);
	trn_log(chip, TRN_LOG_INFO, "device reset done");

	pthread_mutex_lock(&c->lock);
	atomic_store(&c->reset, false);
	go = !c->stopped;
	if (go)
		atomic_store(&chip->stopping, false);
	pthread_mutex_unlock(&c->lock);
	if (go)
		trn_reset_kick(chip);
}

static enum trn_run controller_run(struct trn_task *task,
				   struct trn_budget *budget)
{
	struct trn_controller *c = (struct trn_controller *)((char *)task -
				   offsetof(struct trn_controller, task));
	struct trn_chip *chip = c->chip;

	if (atomic_exchange(&c->links_changed, false))
		trn_irq_mgmt(chip, NEURON_CTL_CAUSE_LINK);
	if (!atomic_load(&c->reset))
		return TRN_RUN_IDLE;
	if (!trn_budget_allows(budget, TRN_WORK_LONG))
		return TRN_RUN_AGAIN;
	if (!actors_quiet(chip)) {
		trn_pool_watch(task, TRN_WATCH_CHIP);
		if (!actors_quiet(chip))
			return TRN_RUN_IDLE;
	}
	trn_pool_unwatch(task);
	requested_reset(chip);
	return TRN_RUN_IDLE;
}

static void links_changed(struct trn_chip *chip)
{
	atomic_store(&chip->controller->links_changed, true);
	trn_task_kick(&chip->controller->task);
}

void trn_controller_init(struct trn_chip *chip)
{
	chip->controller->chip = chip;
	pthread_mutex_init(&chip->controller->lock, NULL);
	trn_task_init(&chip->controller->task, chip->pool, controller_run);
	chip->kick = trn_reset_kick;
	chip->links_changed = links_changed;
}

void trn_controller_destroy(struct trn_chip *chip)
{
	pthread_mutex_destroy(&chip->controller->lock);
}

/* Software sees nothing of the end of a reset for a while. */
static void hold_busy(struct trn_chip *chip)
{
	uint64_t ns = chip->config.reset_ns;

	atomic_store(&chip->controller->until_ns, ns ? trn_host_ns(chip) + ns : 0);
}

void trn_reset_request(struct trn_chip *chip)
{
	struct trn_controller *c = chip->controller;
	bool stuck = trn_inject(chip, TRN_INJECT_RESET_FAIL, 0, NULL);

	atomic_store(&c->whole, true);
	hold_busy(chip);
	atomic_store(&c->stuck, stuck);
	if (stuck)
		return;
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->reset, true);
	atomic_store(&chip->stopping, true);
	pthread_mutex_unlock(&c->lock);
	trn_timer_flush(chip);
	trn_task_kick(&c->task);
}

static void reset_cores_and_engines(struct trn_chip *chip, uint32_t cores,
				    uint32_t engines)
{
	unsigned int i;

	atomic_fetch_or(&chip->controller->reset_map, cores | engines);
	for (i = 0; i < chip->gen->nr_cores; i++) {
		if (cores & NEURON_BIT(i))
			trn_core_reset(&chip->core[i]);
		else if (engines & NEURON_BIT(i))
			trn_core_reset_engines(&chip->core[i]);
	}
}

static void reset_cc_cores(struct trn_chip *chip, uint32_t map)
{
	const struct neuron_gen *gen = chip->gen;
	uint32_t groups = NEURON_GET(NEURON_RESET_MAP_TOP_SP, map);
	unsigned int each = neuron_cc_per_core(gen);
	unsigned int cc;

	if (gen->generation == 2) {
		groups = NEURON_GET(NEURON_RESET_MAP_TOP_SP_V2, map);
		each = 1;
	}
	for (cc = 0; cc < gen->nr_top_sp_ids; cc++) {
		if (!(groups & NEURON_BIT(cc / each)))
			continue;
		atomic_fetch_or(&chip->controller->reset_map,
				NEURON_BIT(NEURON_MAX_CORES + cc));
		trn_core_reset(trn_cc_core(chip, cc));
	}
}

/* CC-cores first: a job of theirs may use what is the core's. */
void trn_reset_blocks(struct trn_chip *chip, uint32_t map)
{
	uint32_t known = NEURON_BIT(chip->gen->nr_cores) - 1;
	uint32_t cores = NEURON_GET(NEURON_RESET_MAP_CORES, map) & known;
	uint32_t engines = 0;

	atomic_store(&chip->controller->whole, false);
	hold_busy(chip);
	if (chip->gen->generation > 2)
		engines = NEURON_GET(NEURON_RESET_MAP_SDMA, map) & known;
	reset_cc_cores(chip, map);
	reset_cores_and_engines(chip, cores, engines);
}

bool trn_reset_core_busy(struct trn_core *core)
{
	bool busy;

	pthread_mutex_lock(&core->lock);
	busy = core->reset_request ||
	       core->status == NEURON_CORE_RESETTING;
	pthread_mutex_unlock(&core->lock);
	return busy;
}

bool trn_reset_waiting(struct trn_chip *chip)
{
	uint64_t until = atomic_load(&chip->controller->until_ns);

	return until && trn_host_ns(chip) < until;
}

bool trn_reset_of_device(struct trn_chip *chip)
{
	struct trn_controller *c = chip->controller;

	return atomic_load(&c->reset) || atomic_load(&c->stuck) ||
	       (atomic_load(&c->whole) && trn_reset_waiting(chip));
}

bool trn_reset_busy(struct trn_chip *chip)
{
	struct trn_controller *c = chip->controller;
	uint32_t map = atomic_load(&c->reset_map);
	unsigned int i;

	if (atomic_load(&c->reset) || atomic_load(&c->stuck) ||
	    trn_reset_waiting(chip))
		return true;
	for (i = 0; i < NEURON_MAX_UNITS; i++) {
		if (!(map & NEURON_BIT(i)))
			continue;
		if (trn_reset_core_busy(&chip->core[i]))
			return true;
		atomic_fetch_and(&c->reset_map, ~NEURON_BIT(i));
	}
	return false;
}

/* What is left of a reset's least time; the clock of another host is another. */
static void until_state(struct trn_controller *c, struct trn_state *st)
{
	uint64_t now = trn_host_ns(c->chip);
	uint64_t until = atomic_load(&c->until_ns);
	uint64_t left = until > now ? until - now : 0;

	trn_state_u64(st, &left);
	if (st->loading)
		atomic_store(&c->until_ns, left ? now + left : 0);
}

void trn_reset_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_controller *c = chip->controller;

	trn_state_block(st, TRN_STATE_NAME('R', 'S', 'T', ' '), 3);
	trn_state_atomic_u32(st, &c->reset_map);
	trn_state_atomic_bool(st, &c->stuck);
	trn_state_atomic_bool(st, &c->whole);
	until_state(c, st);
}

uint32_t trn_platform_reset_read(struct trn_chip *chip)
{
	return trn_reset_busy(chip);
}

/*
 * v2 software writes 1 and then says through MISC RAM what to reset, so the
 * write itself does nothing there.
 */
void trn_platform_reset_write(struct trn_chip *chip, uint32_t value)
{
	if (chip->gen->generation == 2)
		return;
	if (value == NEURON_PLATFORM_RESET_OLD ||
	    value == NEURON_PLATFORM_RESET_DEVICE)
		trn_reset_request(chip);
	else
		trn_reset_blocks(chip, value);
}
