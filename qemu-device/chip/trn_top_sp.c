// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_top_sp.h"

#include <stdlib.h>

#include "trn_internal.h"
#include "trn_nq.h"
#include "trn_state.h"

int trn_top_sp_init(struct trn_chip *chip)
{
	unsigned int i;

	chip->top_sp = calloc(chip->gen->nr_top_sp, sizeof(*chip->top_sp));
	if (!chip->top_sp)
		return -1;
	for (i = 0; i < chip->gen->nr_top_sp; i++)
		trn_sems_init(&chip->top_sp[i].sems);
	return 0;
}

void trn_top_sp_destroy(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_top_sp; i++)
		trn_sems_destroy(&chip->top_sp[i].sems);
	free(chip->top_sp);
	chip->top_sp = NULL;
}

void trn_top_sp_reset_one(struct trn_chip *chip, unsigned int index)
{
	int id = neuron_top_sp_id(chip->gen, index);

	trn_sems_clear(&chip->top_sp[index].sems, NULL);
	if (id >= 0)
		trn_nq_reset_block(chip, TRN_NQ_TOP_SP, (unsigned int)id);
}

void trn_top_sp_reset(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_top_sp; i++)
		trn_top_sp_reset_one(chip, i);
}

void trn_top_sp_raised(struct trn_chip *chip, unsigned int index, int event)
{
	int id = neuron_top_sp_id(chip->gen, index);
	const struct trn_nq_event report = {
		.unit = TRN_NQ_TOP_SP,
		.index = (unsigned int)id,
		.type = NEURON_NQ_TYPE_EVENT,
		.code = (uint32_t)event,
	};

	if (id >= 0)
		trn_nq_post_later(chip, &report);
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
		return trn_sems_read(&chip->top_sp[index].sems,
				     offset - NEURON_TOP_SP_SEM);
	bad_access(chip, index, "read of", offset);
	return 0;
}

void trn_top_sp_write(struct trn_chip *chip, unsigned int index,
		      uint32_t offset, uint32_t value)
{
	int raised;

	if (offset - NEURON_TOP_SP_SEM >= NEURON_TPB_SEM_SIZE) {
		bad_access(chip, index, "write to", offset);
		return;
	}
	raised = trn_sems_write(&chip->top_sp[index].sems,
				offset - NEURON_TOP_SP_SEM, value,
				trn_sem_who(NEURON_SEM_POSTER_HOST, 0));
	if (raised >= 0)
		trn_top_sp_raised(chip, index, raised);
}

size_t trn_top_sp_own_bytes(const struct trn_chip *chip)
{
	return chip->gen->nr_top_sp * sizeof(*chip->top_sp);
}

void trn_top_sp_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('T', 'O', 'P', 'S'), 1);
	for (i = 0; i < chip->gen->nr_top_sp; i++)
		trn_sems_one_state(&chip->top_sp[i].sems, st);
}
