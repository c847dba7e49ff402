// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading a chip: the blocks in their order.
 */

#include "base/trn_chip.h"
#include "base/trn_pages.h"
#include "base/trn_regfile.h"
#include "base/trn_state.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "dma/trn_udma.h"
#include "fabric/trn_link_count.h"
#include "hook/trn_check.h"
#include "hook/trn_inject.h"
#include "hook/trn_watch.h"
#include "mem/trn_discard.h"
#include "mem/trn_hbm.h"
#include "mem/trn_touched.h"
#include "notify/trn_nq.h"
#include "soc/trn_firmware.h"
#include "soc/trn_reset.h"
#include "sync/trn_irq.h"
#include "sync/trn_sem.h"
#include "sync/trn_top_sp.h"
#include "time/trn_group.h"
#include "time/trn_power.h"

/* What cannot be changed after a chip has been built must be the same. */
static void identity_state(struct trn_chip *chip, struct trn_state *st)
{
	const struct trn_chip_config *config = &chip->config;

	trn_state_block(st, TRN_STATE_NAME('C', 'H', 'I', 'P'), 2);
	trn_state_same(st, chip->gen->pci_device,
		       "the saved chip is of another type");
	trn_state_same(st, chip->hbm_size,
		       "the saved chip has another hbm-size");
	trn_state_same(st, config->hbm_told,
		       "the saved chip tells of another hbm-size");
	trn_state_same(st, config->bar4_stride,
		       "the saved chip has another bar4-size");
	trn_state_same(st, config->clock,
		       "the saved chip has another clock mode");
	trn_state_same(st, config->fabric_id,
		       "the saved chip has another fabric-id");
	trn_state_same(st, config->position,
		       "the saved chip has another position (rack, server, chip-id)");
	trn_state_same(st, config->routing_id,
		       "the saved chip has another routing-id");
	trn_state_same(st, config->serial,
		       "the saved chip has another serial number");
	trn_state_same(st, !!chip->fabric,
		       "one of the two chips is on a fabric, the other is not");
}

/* DMA queues, gangs and time groups come before the cores, whose jobs look for theirs. */
static void chip_state(struct trn_chip *chip, struct trn_state *st)
{
	identity_state(chip, st);
	trn_regfile_state(chip->regfile, st);
	trn_irq_state(chip, st);
	trn_discard_state(chip, st);
	trn_link_count_state(chip, st);
	trn_reset_state(chip, st);
	trn_firmware_state(chip, st);
	trn_nq_state(chip, st);
	trn_sems_state(chip, st);
	trn_top_sp_state(chip, st);
	trn_udma_state(chip, st);
	trn_gangs_state(chip, st);
	trn_groups_state(chip, st);
	trn_cores_state(chip, st);
	trn_touched_state(chip, st);
	trn_inject_state(chip, st);
	trn_state_block(st, TRN_STATE_NAME('E', 'N', 'D', 0), 1);
}

static void hbm_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('H', 'B', 'M', 0), 1);
	for (i = 0; i < chip->gen->nr_hbm; i++) {
		if (st->loading)
			trn_hbm_discard(chip, i, 0, chip->hbm_size);
		trn_pages_state(st, chip->hbm[i], chip->hbm_file[i], chip->hbm_size);
	}
}

bool trn_chip_identity(struct trn_chip *chip, struct trn_state *st)
{
	identity_state(chip, st);
	return !trn_state_failed(st);
}

bool trn_chip_save(struct trn_chip *chip, struct trn_state *st)
{
	chip_state(chip, st);
	return !trn_state_failed(st);
}

bool trn_chip_save_hbm(struct trn_chip *chip, struct trn_state *st)
{
	hbm_state(chip, st);
	return !trn_state_failed(st);
}

/* A refused stream leaves nothing of what a reset does not touch either. */
static bool loaded(struct trn_chip *chip, struct trn_state *st)
{
	trn_watch_begin(chip);
	if (!trn_state_failed(st))
		return true;
	trn_chip_reset(chip);
	trn_inject_forget(chip);
	trn_power_forget(chip);
	return false;
}

bool trn_chip_load(struct trn_chip *chip, struct trn_state *st)
{
	trn_reset_but_hbm(chip);
	chip_state(chip, st);
	trn_check_trust(chip);
	return loaded(chip, st);
}

bool trn_chip_load_hbm(struct trn_chip *chip, struct trn_state *st)
{
	hbm_state(chip, st);
	return loaded(chip, st);
}
