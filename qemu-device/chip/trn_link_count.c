// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_link_count.h"

#include "trn_fabric.h"
#include "trn_internal.h"
#include "trn_state.h"

void trn_link_moved(struct trn_chip *chip, const struct trn_chip *to,
		    const struct trn_chip *from, uint64_t bytes)
{
	if (from != chip)
		atomic_fetch_add_explicit(&chip->links.from[from->slot], bytes,
					  memory_order_relaxed);
	if (to != chip)
		atomic_fetch_add_explicit(&chip->links.to[to->slot], bytes,
					  memory_order_relaxed);
}

static void settle(struct trn_chip *chip)
{
	if (chip->fabric)
		trn_fabric_settle(chip->fabric);
}

uint64_t trn_link_count(struct trn_chip *chip, unsigned int link, uint32_t reg)
{
	settle(chip);
	switch (reg) {
	case NEURON_LINK_COUNT_SENT:
		return atomic_load(&chip->links.sent[link]);
	case NEURON_LINK_COUNT_RECEIVED:
		return atomic_load(&chip->links.received[link]);
	case NEURON_LINK_COUNT_ERRORS:
		return atomic_load(&chip->links.errors[link]);
	default:
		return 0;
	}
}

void trn_link_count_reset(struct trn_chip *chip)
{
	unsigned int i;

	settle(chip);
	for (i = 0; i < TRN_FABRIC_PORTS; i++) {
		atomic_store(&chip->links.sent[i], 0);
		atomic_store(&chip->links.received[i], 0);
		atomic_store(&chip->links.errors[i], 0);
	}
}

void trn_link_count_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	settle(chip);
	trn_state_block(st, TRN_STATE_NAME('L', 'I', 'N', 'K'), 1);
	for (i = 0; i < TRN_FABRIC_PORTS; i++) {
		trn_state_atomic_u64(st, &chip->links.sent[i]);
		trn_state_atomic_u64(st, &chip->links.received[i]);
		trn_state_atomic_u32(st, &chip->links.errors[i]);
	}
}
