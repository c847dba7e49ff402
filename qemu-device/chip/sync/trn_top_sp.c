// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "sync/trn_top_sp.h"

#include <stdlib.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "hook/trn_observe.h"
#include "sync/trn_sem.h"

/* TOP_SPs without an id: the last ones of each group. */
static unsigned int nr_spare(const struct trn_chip *chip)
{
	return chip->gen->nr_top_sp - chip->gen->nr_top_sp_ids;
}

int trn_top_sp_init(struct trn_chip *chip)
{
	unsigned int i;

	if (!nr_spare(chip))
		return 0;
	chip->top_sp = calloc(nr_spare(chip), sizeof(*chip->top_sp));
	if (!chip->top_sp)
		return -1;
	for (i = 0; i < nr_spare(chip); i++) {
		trn_sems_init(&chip->top_sp[i]);
		chip->top_sp[i].chip = chip;
		chip->top_sp[i].unit = TRN_UNIT_NONE;
	}
	return 0;
}

void trn_top_sp_destroy(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < nr_spare(chip); i++)
		trn_sems_destroy(&chip->top_sp[i]);
	free(chip->top_sp);
	chip->top_sp = NULL;
}

struct trn_core *trn_top_sp_core(struct trn_chip *chip, unsigned int index)
{
	int id = neuron_top_sp_id(chip->gen, index);

	return id < 0 ? NULL : trn_cc_core(chip, (unsigned int)id);
}

struct trn_sems *trn_top_sp_sems(struct trn_chip *chip, unsigned int index)
{
	const struct neuron_gen *gen = chip->gen;
	unsigned int spare = gen->top_sp_group - gen->top_sp_nq_group;
	struct trn_core *cc = trn_top_sp_core(chip, index);

	if (cc)
		return cc->sems;
	return &chip->top_sp[index / gen->top_sp_group * spare +
			     index % gen->top_sp_group - gen->top_sp_nq_group];
}

void trn_top_sp_reset(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < nr_spare(chip); i++)
		trn_sems_clear(&chip->top_sp[i], NULL);
}

static void bad_access(struct trn_chip *chip, unsigned int index,
		       const char *what, uint32_t offset)
{
	trn_log(chip, TRN_LOG_GUEST_ERROR,
		"TOP_SP %u: %s nothing in its window, at 0x%06x", index, what,
		offset);
}

uint32_t trn_top_sp_read(struct trn_chip *chip, unsigned int index,
			 uint32_t offset)
{
	if (offset - NEURON_TOP_SP_SEM < NEURON_TPB_SEM_SIZE)
		return trn_sems_read(trn_top_sp_sems(chip, index),
				     offset - NEURON_TOP_SP_SEM);
	bad_access(chip, index, "read of", offset);
	return 0;
}

void trn_top_sp_write(struct trn_chip *chip, unsigned int index,
		      uint32_t offset, uint32_t value)
{
	if (offset - NEURON_TOP_SP_SEM >= NEURON_TPB_SEM_SIZE) {
		bad_access(chip, index, "write to", offset);
		return;
	}
	trn_sems_write(trn_top_sp_sems(chip, index), offset - NEURON_TOP_SP_SEM, value,
		       trn_sem_who(NEURON_SEM_POSTER_HOST, 0));
}

size_t trn_top_sp_own_bytes(const struct trn_chip *chip)
{
	return nr_spare(chip) * sizeof(*chip->top_sp);
}

void trn_top_sp_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('T', 'O', 'P', 'S'), 2);
	for (i = 0; i < nr_spare(chip); i++)
		trn_sems_one_state(&chip->top_sp[i], st);
}
