// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include <sched.h>
#include <stdlib.h>

#include "base/trn_backing.h"
#include "base/trn_chip.h"
#include "base/trn_regfile.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "dma/trn_udma.h"
#include "exec/trn_seq.h"
#include "fabric/trn_fabric.h"
#include "fabric/trn_link_count.h"
#include "hook/trn_check.h"
#include "hook/trn_inject.h"
#include "mem/trn_discard.h"
#include "mem/trn_hbm.h"
#include "mem/trn_touched.h"
#include "notify/trn_nq.h"
#include "soc/trn_bar.h"
#include "soc/trn_ctl.h"
#include "soc/trn_firmware.h"
#include "soc/trn_reset.h"
#include "sync/trn_irq.h"
#include "sync/trn_sem.h"
#include "sync/trn_top_sp.h"
#include "time/trn_group.h"
#include "trn/observe.h"

#define HBM_ALIGN	4096

/**
 * struct whole_chip - a chip and those of its parts that live as long
 * @chip: first, so that it is freed with them
 */
struct whole_chip {
	struct trn_chip chip;
	struct trn_irq_state irq;
	struct trn_gangs gangs;
	struct trn_controller controller;
	struct trn_discard discard;
	struct trn_link_counts links;
	struct {
		struct trn_sems sems;
		struct trn_seq seq[NEURON_NR_ENGINES];
	} unit[NEURON_MAX_UNITS];
};

static const char *config_error(const struct trn_chip_config *config)
{
	uint64_t hbm = config->hbm_size ? config->hbm_size :
					  config->gen->hbm_active;

	if (hbm % HBM_ALIGN)
		return "the HBM size is not a multiple of 4 KiB";
	if (hbm > config->bar4_stride)
		return "the HBM does not fit into BAR4";
	if (hbm > config->gen->hbm_window)
		return "the HBM is larger than a stack's address window";
	if (config->hbm_told > hbm)
		return "the HBM is smaller than the control block says";
	if (config->fabric_id >= NEURON_MAX_CHIPS)
		return "the fabric id is too large";
	return NULL;
}

static void cores_destroy(struct trn_chip *chip, unsigned int nr)
{
	while (nr--)
		trn_core_destroy(trn_unit(chip, nr));
}

static int cores_init(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++) {
		if (trn_core_init(trn_unit(chip, i), chip)) {
			cores_destroy(chip, i);
			return -1;
		}
	}
	return 0;
}

static void parts_init(struct whole_chip *whole)
{
	struct trn_chip *chip = &whole->chip;
	unsigned int i;

	chip->irq = &whole->irq;
	chip->gangs = &whole->gangs;
	chip->controller = &whole->controller;
	chip->discard = &whole->discard;
	chip->seat.links = &whole->links;
	for (i = 0; i < NEURON_MAX_UNITS; i++) {
		chip->core[i].sems = &whole->unit[i].sems;
		chip->core[i].seq = whole->unit[i].seq;
	}
}

static struct trn_chip *chip_alloc(const struct trn_chip_config *config)
{
	struct whole_chip *whole = calloc(1, sizeof(*whole));
	struct trn_chip *chip;

	if (!whole)
		return NULL;
	trn_backing_populate(whole, sizeof(*whole));
	chip = &whole->chip;
	parts_init(whole);
	chip->config = *config;
	chip->gen = config->gen;
	chip->port = config->port;
	chip->opaque = config->opaque;
	chip->pool = config->pool;
	chip->fabric = config->fabric;
	chip->seat.gen = config->gen;
	chip->seat.id = config->fabric_id;
	chip->seat.position = config->position;
	chip->seat.pool = config->pool;
	chip->seat.chip = chip;
	chip->hbm_size = config->hbm_size ? config->hbm_size :
					    config->gen->hbm_active;
	chip->inject = trn_inject_new(config->fault_seed);
	if (!chip->inject || trn_firmware_init(chip)) {
		trn_inject_free(chip->inject);
		free(chip);
		return NULL;
	}
	pthread_mutex_init(&chip->log_limit.lock, NULL);
	trn_timer_init(chip);
	trn_irq_init(chip);
	trn_gangs_init(chip);
	trn_controller_init(chip);
	trn_discard_init(chip);
	return chip;
}

static void chip_release(struct trn_chip *chip)
{
	trn_discard_destroy(chip);
	trn_controller_destroy(chip);
	trn_gangs_destroy(chip);
	trn_irq_destroy(chip);
	trn_timer_destroy(chip);
	pthread_mutex_destroy(&chip->log_limit.lock);
	trn_firmware_destroy(chip);
	trn_inject_free(chip->inject);
	free(chip);
}

struct trn_chip *trn_chip_new(const struct trn_chip_config *config,
			      const char **why)
{
	struct trn_chip *chip;

	*why = config_error(config);
	if (*why)
		return NULL;
	*why = "out of memory";
	chip = chip_alloc(config);
	if (!chip)
		return NULL;
	if (trn_hbm_init(chip) || trn_touched_init(chip))
		goto free_hbm;
	if (trn_check_init(chip))
		goto free_mem;
	chip->regfile = trn_regfile_new();
	if (!chip->regfile)
		goto free_mem;
	chip->bar_map = trn_bar_map_new(chip->gen);
	if (!chip->bar_map)
		goto free_regfile;
	if (trn_udma_init(chip))
		goto free_bar_map;
	if (trn_nq_init(chip))
		goto free_udma;
	if (trn_top_sp_init(chip))
		goto free_nq;
	if (trn_groups_init(chip))
		goto free_top_sp;
	if (cores_init(chip))
		goto free_groups;
	/* Last: from here on peers find the chip. */
	if (chip->fabric && trn_fabric_attach(chip->fabric, &chip->seat, 1, why))
		goto free_cores;
	return chip;

free_cores:
	cores_destroy(chip, neuron_nr_units(chip->gen));
free_groups:
	trn_groups_destroy(chip);
free_top_sp:
	trn_top_sp_destroy(chip);
free_nq:
	trn_nq_destroy(chip);
free_udma:
	trn_udma_destroy(chip);
free_bar_map:
	trn_bar_map_free(chip->bar_map);
free_regfile:
	trn_regfile_free(chip->regfile);
free_mem:
	trn_check_destroy(chip);
	trn_touched_destroy(chip);
free_hbm:
	trn_hbm_destroy(chip);
	chip_release(chip);
	return NULL;
}

/* Jobs that are in time groups tell other cores that they leave: these are quiet later. */
void trn_chip_detach(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		trn_job_drop(trn_unit(chip, i));
	if (!chip->fabric)
		return;
	trn_fabric_detach(chip->fabric, &chip->seat, 1);
	chip->fabric = NULL;
	chip->grace = trn_pool_epoch(chip->pool);
}

void trn_chip_free(struct trn_chip *chip)
{
	if (!chip)
		return;
	trn_chip_detach(chip);
	/* A peer may be about to leave this chip's memory: some 50 us. */
	while (!trn_chip_quiet(chip))
		sched_yield();
	trn_chip_watch(chip, NULL, 0);
	cores_destroy(chip, neuron_nr_units(chip->gen));
	trn_groups_destroy(chip);
	trn_top_sp_destroy(chip);
	trn_nq_destroy(chip);
	trn_udma_destroy(chip);
	trn_bar_map_free(chip->bar_map);
	trn_regfile_free(chip->regfile);
	trn_check_destroy(chip);
	trn_touched_destroy(chip);
	trn_hbm_destroy(chip);
	chip_release(chip);
}

size_t trn_chip_own_bytes(struct trn_chip *chip)
{
	size_t bytes = sizeof(*chip);
	unsigned int i;

	bytes += trn_udma_bytes(chip);
	bytes += trn_touched_own_bytes(chip);
	bytes += trn_check_own_bytes(chip);
	bytes += trn_bar_map_bytes(chip->bar_map);
	bytes += trn_regfile_bytes(chip->regfile);
	bytes += trn_firmware_own_bytes(chip);
	bytes += trn_nq_own_bytes(chip) + trn_top_sp_own_bytes(chip);
	bytes += trn_inject_own_bytes(chip);
	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		bytes += trn_core_own_bytes(trn_unit(chip, i));
	return bytes;
}
