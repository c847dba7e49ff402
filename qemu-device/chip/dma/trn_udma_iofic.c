// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Interrupt groups of a UDMA engine. Errors and completions are events: they set a
 * cause and leave no source. Primary group D follows the secondary groups, and A
 * the other primary ones, by level or by rise. No group raises an interrupt of its
 * own: that is the control block's (neuron/regs.h).
 */
#include "dma/trn_udma.h"
#include "dma/trn_udma_queue.h"

#define C_M2S	NEURON_MASK(5, 0)	/* of secondary group C */
#define C_S2M	NEURON_MASK(11, 6)

void trn_iofic_clear(struct trn_iofic *groups)
{
	unsigned int i;

	for (i = 0; i < TRN_IOFIC_GROUPS; i++)
		groups[i] = (struct trn_iofic){ .abort_mask = ~0u };
}

static bool in_groups(uint32_t offset, uint32_t first, unsigned int nr)
{
	return offset >= first && offset < first + nr * NEURON_UDMA_IOFIC_SIZE;
}

int trn_iofic_find(uint32_t offset, uint32_t *reg)
{
	const uint32_t primary = NEURON_UDMA_IOFIC_PRIMARY(0);
	const uint32_t secondary = NEURON_UDMA_IOFIC_SECONDARY(0);
	unsigned int port, g;

	*reg = offset % NEURON_UDMA_IOFIC_SIZE;
	if (in_groups(offset, primary, NEURON_UDMA_IOFIC_PRIMARIES)) {
		g = (offset - primary) / NEURON_UDMA_IOFIC_SIZE;
		return TRN_IOFIC_PRIMARY(g);
	}
	if (in_groups(offset, secondary, NEURON_UDMA_IOFIC_SECONDARIES)) {
		g = (offset - secondary) / NEURON_UDMA_IOFIC_SIZE;
		return TRN_IOFIC_SECONDARY(g);
	}
	for (port = 0; port < NEURON_UDMA_PORTS; port++)
		if (in_groups(offset, NEURON_UDMA_IOFIC_PORT(port), 1))
			return TRN_IOFIC_PORT(port);
	return -1;
}

static void set_level(struct trn_iofic *group, uint32_t level)
{
	if (group->control & NEURON_IOFIC_POSEDGE)
		group->cause |= level & ~group->source;
	else
		group->cause |= level;
	group->source = level;
}

static bool pending(const struct trn_iofic *group)
{
	return group->cause & ~group->mask;
}

/* Something has changed: carry it to the groups that follow others. */
static void update(struct trn_iofic *groups)
{
	uint32_t level = 0;
	unsigned int g;

	for (g = 0; g < NEURON_UDMA_IOFIC_SECONDARIES; g++)
		if (pending(&groups[TRN_IOFIC_SECONDARY(g)]))
			level |= NEURON_IOFIC_D_SECONDARY(g);
	set_level(&groups[TRN_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_D)], level);
	level = 0;
	for (g = NEURON_UDMA_IOFIC_B; g <= NEURON_UDMA_IOFIC_D; g++)
		if (pending(&groups[TRN_IOFIC_PRIMARY(g)]))
			level |= NEURON_IOFIC_A_SUM(g);
	set_level(&groups[TRN_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_A)], level);
}

bool trn_iofic_read(struct trn_iofic *groups, unsigned int index, uint32_t reg,
		    uint32_t *value)
{
	struct trn_iofic *group = &groups[index];

	switch (reg) {
	case NEURON_IOFIC_CAUSE:
		*value = group->cause;
		if (group->control & NEURON_IOFIC_CLEAR_ON_READ) {
			group->cause = 0;
			update(groups);
		}
		return true;
	case NEURON_IOFIC_CAUSE_SET:
	case NEURON_IOFIC_MASK_CLEAR:
		*value = 0;
		return true;
	case NEURON_IOFIC_MASK:
		*value = group->mask;
		return true;
	case NEURON_IOFIC_STATUS:
		*value = group->source;
		return true;
	case NEURON_IOFIC_CONTROL:
		*value = group->control;
		return true;
	case NEURON_IOFIC_ABORT_MASK:
		*value = group->abort_mask;
		return true;
	case NEURON_IOFIC_LOG_MASK:
		*value = group->log_mask;
		return true;
	default:
		return false;
	}
}

bool trn_iofic_write(struct trn_iofic *groups, unsigned int index,
		     uint32_t reg, uint32_t value)
{
	struct trn_iofic *group = &groups[index];

	switch (reg) {
	case NEURON_IOFIC_CAUSE:
		group->cause &= value;
		break;
	case NEURON_IOFIC_CAUSE_SET:
		group->cause |= value;
		break;
	case NEURON_IOFIC_MASK:
		group->mask = value;
		break;
	case NEURON_IOFIC_MASK_CLEAR:
		group->mask &= value;
		break;
	case NEURON_IOFIC_STATUS:
		break;		/* read only */
	case NEURON_IOFIC_CONTROL:
		group->control = value;
		break;
	case NEURON_IOFIC_ABORT_MASK:
		group->abort_mask = value;
		break;
	case NEURON_IOFIC_LOG_MASK:
		group->log_mask = value;
		break;
	default:
		return false;
	}
	update(groups);
	return true;
}

void trn_iofic_set(struct trn_iofic *groups, unsigned int index,
		   uint32_t causes)
{
	groups[index].cause |= causes;
	update(groups);
}

static uint32_t aborting(const struct trn_iofic *groups, unsigned int index)
{
	return groups[index].cause & ~groups[index].abort_mask;
}

unsigned int trn_iofic_aborts(const struct trn_iofic *groups)
{
	uint32_t parity = aborting(groups,
				   TRN_IOFIC_SECONDARY(NEURON_UDMA_IOFIC_C));
	unsigned int port, sides = 0;

	if (aborting(groups, TRN_IOFIC_SECONDARY(NEURON_UDMA_IOFIC_A)) ||
	    parity & C_M2S)
		sides |= TRN_SIDE_M2S;
	if (aborting(groups, TRN_IOFIC_SECONDARY(NEURON_UDMA_IOFIC_B)) ||
	    parity & C_S2M)
		sides |= TRN_SIDE_S2M;
	for (port = 0; port < NEURON_UDMA_PORT_MSIX; port++)
		if (aborting(groups, TRN_IOFIC_PORT(port)))
			sides |= port < NEURON_UDMA_PORT_S2M_PREFETCH ?
					 TRN_SIDE_M2S :
					 TRN_SIDE_S2M;
	return sides;
}
