// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "soc/trn_ctl.h"

#include "base/trn_chip.h"
#include "core/trn_core.h"
#include "dma/trn_udma.h"
#include "exec/trn_seq.h"
#include "fabric/trn_fabric.h"
#include "fabric/trn_link_count.h"
#include "mem/trn_discard.h"
#include "mem/trn_ecc.h"
#include "mem/trn_touched.h"
#include "soc/trn_firmware.h"
#include "soc/trn_reset.h"
#include "sync/trn_irq.h"
#include "sync/trn_sem.h"
#include "time/trn_group.h"
#include "time/trn_power.h"
#include "time/trn_time.h"

#define CTL_CORE_STRIDE	(NEURON_CTL_CORE(1) - NEURON_CTL_CORE(0))
#define CTL_DMA_STRIDE	(NEURON_CTL_DMA(1) - NEURON_CTL_DMA(0))
#define CTL_POSTER_STRIDE \
	(NEURON_CTL_SEM_POSTER(1, 0) - NEURON_CTL_SEM_POSTER(0, 0))
#define CTL_LINK_STRIDE	(NEURON_CTL_LINK(1) - NEURON_CTL_LINK(0))
#define CTL_LINK_COUNT_STRIDE	(NEURON_CTL_LINK_COUNT(1) - NEURON_CTL_LINK_COUNT(0))
#define CTL_QUEUE_STRIDE	(NEURON_CTL_QUEUE(0, 1) - NEURON_CTL_QUEUE(0, 0))

/* Is @offset in @count blocks from @first? Then which, and where in it. */
static bool in_blocks(uint32_t offset, uint32_t first, uint32_t stride,
		      uint32_t count, unsigned int *index, uint32_t *reg)
{
	if (offset < first || (offset - first) / stride >= count)
		return false;
	*index = (offset - first) / stride;
	*reg = (offset - first) % stride;
	return true;
}

static void read_only(struct trn_chip *chip, uint32_t offset)
{
	trn_log(chip, TRN_LOG_GUEST_ERROR,
		"control block 0x%04x: not a writable register", offset);
}

/* --- 64-bit registers --- */

static uint64_t core_busy_ns(struct trn_core *core)
{
	uint64_t since = atomic_load(&core->busy_since);
	uint64_t busy = atomic_load(&core->busy_ns);

	return since ? busy + trn_host_ns(core->chip) - since : busy;
}

static uint64_t hbm_told(const struct trn_chip *chip)
{
	return chip->config.hbm_told ? chip->config.hbm_told : chip->hbm_size;
}

static bool count_read64(struct trn_chip *chip, uint32_t offset, uint64_t *value)
{
	unsigned int i;
	uint32_t reg;

	if (in_blocks(offset, NEURON_CTL_LINK_COUNT(0), CTL_LINK_COUNT_STRIDE,
		      NEURON_CTL_MAX_LINKS, &i, &reg)) {
		*value = trn_link_count(chip, i, reg);
		return true;
	}
	if (in_blocks(offset, NEURON_CTL_QUEUE(0, 0), CTL_QUEUE_STRIDE,
		      chip->gen->nr_dma * NEURON_UDMA_QUEUES, &i, &reg)) {
		*value = trn_udma_queue_moved(&chip->queues[i], reg);
		return true;
	}
	return false;
}

/* True when a 64-bit register starts at @offset. */
static bool chip_read64(struct trn_chip *chip, uint32_t offset, uint64_t *value)
{
	unsigned int i;
	uint32_t reg;

	if (in_blocks(offset, NEURON_CTL_HBM_SIZE(0), 8, NEURON_MAX_HBM, &i,
		      &reg)) {
		*value = i < chip->gen->nr_hbm ? hbm_told(chip) : 0;
		return true;
	}
	if (in_blocks(offset, NEURON_CTL_HBM_BAR(0), 8, NEURON_MAX_HBM, &i,
		      &reg)) {
		*value = i < chip->gen->nr_hbm ?
			 i * chip->config.bar4_stride : 0;
		return true;
	}
	switch (offset) {
	case NEURON_CTL_TIME:
		*value = trn_time_now(chip);
		return true;
	case NEURON_CTL_HOST_USED:
		*value = trn_touched_used(chip);
		return true;
	case NEURON_CTL_ECC_ADDR:
		*value = trn_ecc_ctl_addr(chip);
		return true;
	case NEURON_CTL_DISCARD_ADDR:
	case NEURON_CTL_DISCARD_LEN:
		*value = trn_discard_read(chip, offset);
		return true;
	default:
		return false;
	}
}

static bool core_read64(struct trn_core *core, uint32_t reg, uint64_t *value)
{
	switch (reg) {
	case NEURON_CORE_PROGRESS:
		*value = atomic_load(&core->progress);
		return true;
	case NEURON_CORE_BUSY_NS:
		*value = core_busy_ns(core);
		return true;
	default:
		return false;
	}
}

/* The NeuronCore or CC-core whose registers have @offset, or NULL. */
static struct trn_core *core_at(struct trn_chip *chip, uint32_t offset,
				uint32_t *reg)
{
	unsigned int i;

	if (in_blocks(offset, NEURON_CTL_CORE(0), CTL_CORE_STRIDE,
		      chip->gen->nr_cores, &i, reg))
		return &chip->core[i];
	if (in_blocks(offset, NEURON_CTL_CC(0), CTL_CORE_STRIDE,
		      chip->gen->nr_top_sp_ids, &i, reg))
		return trn_cc_core(chip, i);
	return NULL;
}

static bool ctl_wide(struct trn_chip *chip, uint32_t offset, uint64_t *value)
{
	struct trn_core *core;
	uint32_t reg;

	core = core_at(chip, offset, &reg);
	if (core)
		return core_read64(core, reg, value);
	return count_read64(chip, offset, value) ||
	       chip_read64(chip, offset, value);
}

/* --- 32-bit reads --- */

static uint32_t core_read(struct trn_core *core, uint32_t reg)
{
	struct trn_chip *chip = core->chip;
	const unsigned int index = core->index;
	unsigned int e;
	uint32_t byte;

	if (in_blocks(reg, NEURON_CORE_PC(0), 4, NEURON_NR_ENGINES, &e, &byte))
		return atomic_load(&core->seq[e].pc);
	if (in_blocks(reg, NEURON_CORE_ENGINE(0), 4, NEURON_NR_ENGINES, &e,
		      &byte))
		return atomic_load(&core->seq[e].status);
	if (in_blocks(reg, NEURON_CORE_WAIT(0), 4, NEURON_NR_ENGINES, &e,
		      &byte))
		return atomic_load(&core->seq[e].wait_sem);
	switch (reg) {
	case NEURON_CORE_STATUS:
		return trn_core_status(core);
	case NEURON_CORE_RESET:
		return trn_reset_core_busy(core);
	case NEURON_CORE_CAUSE:
		return trn_irq_read(chip, TRN_IRQ_CORE, index, TRN_IRQ_CAUSE);
	case NEURON_CORE_MASK:
		return trn_irq_read(chip, TRN_IRQ_CORE, index, TRN_IRQ_MASK);
	case NEURON_CORE_VECTOR:
		return trn_irq_read(chip, TRN_IRQ_CORE, index, TRN_IRQ_VECTOR);
	case NEURON_CORE_GENERATION:
		return atomic_load(&core->generation);
	case NEURON_CORE_STALE_POSTS:
		return atomic_load(&core->stale_posts);
	case NEURON_CORE_VIOLATIONS:
		return atomic_load(&core->violations);
	case NEURON_CORE_JOBS:
		return atomic_load(&core->jobs);
	default:
		return 0;
	}
}

static uint32_t dma_errors(struct trn_chip *chip, unsigned int engine,
			   unsigned int first)
{
	uint32_t value = 0;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct trn_udma_queue *queue = trn_udma_queue_at(chip, engine,
								 first + i);

		pthread_mutex_lock(&queue->lock);
		value |= (uint32_t)queue->error << i * 8;
		pthread_mutex_unlock(&queue->lock);
	}
	return value;
}

static uint32_t dma_read(struct trn_chip *chip, unsigned int engine,
			 uint32_t reg)
{
	switch (reg) {
	case NEURON_DMA_CAUSE:
		return trn_irq_read(chip, TRN_IRQ_DMA, engine, TRN_IRQ_CAUSE);
	case NEURON_DMA_MASK:
		return trn_irq_read(chip, TRN_IRQ_DMA, engine, TRN_IRQ_MASK);
	case NEURON_DMA_VECTOR:
		return trn_irq_read(chip, TRN_IRQ_DMA, engine, TRN_IRQ_VECTOR);
	case NEURON_DMA_ERROR(0):
	case NEURON_DMA_ERROR(4):
	case NEURON_DMA_ERROR(8):
	case NEURON_DMA_ERROR(12):
		return dma_errors(chip, engine, reg - NEURON_DMA_ERROR(0));
	default:
		return 0;
	}
}

static unsigned int chip_links(struct trn_chip *chip,
			       struct trn_fabric_link links[TRN_FABRIC_PORTS])
{
	return chip->fabric ? trn_fabric_links(chip->fabric, chip, links) : 0;
}

static uint32_t link_read(struct trn_chip *chip, unsigned int link,
			  uint32_t reg)
{
	struct trn_fabric_link links[TRN_FABRIC_PORTS];

	if (link >= chip_links(chip, links))
		return 0;
	switch (reg) {
	case NEURON_CTL_LINK_PEER:
		return links[link].peer;
	case NEURON_CTL_LINK_STATE:
		return links[link].up;
	case NEURON_CTL_LINK_WIDTH:
		return links[link].lanes;
	case NEURON_CTL_LINK_MBPS:
		return links[link].mbps;
	default:
		return 0;
	}
}

static uint32_t chip_read(struct trn_chip *chip, uint32_t offset)
{
	struct trn_fabric_link links[TRN_FABRIC_PORTS];

	switch (offset) {
	case NEURON_CTL_MAGIC:
		return NEURON_CTL_MAGIC_VALUE;
	case NEURON_CTL_VERSION:
		return NEURON_CTL_VERSION_VALUE;
	case NEURON_CTL_FEATURES:
		return NEURON_CTL_FEATURE_PIECES | NEURON_CTL_FEATURE_GROUPS |
		       (chip->config.clock ? NEURON_CTL_FEATURE_CLOCK : 0);
	case NEURON_CTL_GENERATION:
		return chip->gen->generation;
	case NEURON_CTL_POSITION:
		return chip->config.position;
	case NEURON_CTL_FABRIC_ID:
		return chip->config.fabric_id;
	case NEURON_CTL_FABRIC_CHIPS:
		return chip->fabric ? trn_fabric_chips(chip->fabric) : 1;
	case NEURON_CTL_FABRIC_KEY:
		return chip->fabric ? trn_fabric_key(chip->fabric) : 0;
	case NEURON_CTL_DISCARD_GO:
		return atomic_load(&chip->discard->go);
	case NEURON_CTL_CAUSE:
		return trn_irq_read(chip, TRN_IRQ_MGMT, 0, TRN_IRQ_CAUSE);
	case NEURON_CTL_MASK:
		return trn_irq_read(chip, TRN_IRQ_MGMT, 0, TRN_IRQ_MASK);
	case NEURON_CTL_VECTOR:
		return trn_irq_read(chip, TRN_IRQ_MGMT, 0, TRN_IRQ_VECTOR);
	case NEURON_CTL_ECC_INFO:
		return trn_ecc_ctl_info(chip);
	case NEURON_CTL_ECC_COUNT:
		return trn_ecc_ctl_count(chip);
	case NEURON_CTL_THROTTLE:
		return trn_power_clock(chip);
	case NEURON_CTL_THROTTLE_REASON:
		return trn_power_reason(chip);
	case NEURON_CTL_POSTS:
		return trn_mailbox_posts(chip);
	case NEURON_CTL_NR_LINKS:
		return chip_links(chip, links);
	default:
		return 0;
	}
}

/* The semaphore block whose posters have @offset, or NULL. */
static struct trn_sems *posters_at(struct trn_chip *chip, uint32_t offset,
				   uint32_t *reg)
{
	unsigned int i;

	if (in_blocks(offset, NEURON_CTL_SEM_POSTER(0, 0), CTL_POSTER_STRIDE,
		      chip->gen->nr_cores, &i, reg))
		return chip->core[i].sems;
	if (in_blocks(offset, NEURON_CTL_CC_SEM_POSTER(0, 0), CTL_POSTER_STRIDE,
		      chip->gen->nr_top_sp_ids, &i, reg))
		return trn_cc_core(chip, i)->sems;
	return NULL;
}

uint32_t trn_ctl_read(struct trn_chip *chip, uint32_t offset)
{
	struct trn_core *core;
	struct trn_sems *sems;
	unsigned int i;
	uint64_t wide;
	uint32_t reg;

	if (ctl_wide(chip, offset & ~7u, &wide))
		return offset & 4 ? (uint32_t)(wide >> 32) : (uint32_t)wide;
	if (in_blocks(offset, NEURON_CTL_LINK(0), CTL_LINK_STRIDE,
		      NEURON_CTL_MAX_LINKS, &i, &reg))
		return link_read(chip, i, reg);
	core = core_at(chip, offset, &reg);
	if (core)
		return core_read(core, reg);
	if (in_blocks(offset, NEURON_CTL_DMA(0), CTL_DMA_STRIDE,
		      chip->gen->nr_dma, &i, &reg))
		return dma_read(chip, i, reg);
	sems = posters_at(chip, offset, &reg);
	if (sems)
		return trn_sem_poster(sems, reg / 4);
	return chip_read(chip, offset);
}

uint64_t trn_ctl_read64(struct trn_chip *chip, uint32_t offset)
{
	uint64_t wide;

	if (ctl_wide(chip, offset, &wide))
		return wide;
	return trn_ctl_read(chip, offset) |
	       (uint64_t)trn_ctl_read(chip, offset + 4) << 32;
}

/* --- Writes --- */

static void doorbell_low(struct trn_core *core, uint32_t value)
{
	pthread_mutex_lock(&core->lock);
	core->doorbell_lo = value;
	pthread_mutex_unlock(&core->lock);
}

static void doorbell_high(struct trn_core *core, uint32_t value)
{
	uint64_t addr = (uint64_t)value << 32;

	pthread_mutex_lock(&core->lock);
	addr |= core->doorbell_lo;
	pthread_mutex_unlock(&core->lock);
	trn_core_doorbell(core, addr);
}

static void core_write(struct trn_core *core, uint32_t reg, uint32_t offset,
		       uint32_t value)
{
	struct trn_chip *chip = core->chip;
	const unsigned int index = core->index;

	switch (reg) {
	case NEURON_CORE_DOORBELL_LO:
		doorbell_low(core, value);
		return;
	case NEURON_CORE_DOORBELL_HI:
		doorbell_high(core, value);
		return;
	case NEURON_CORE_RESET:
		if (value & 1)
			trn_core_reset(core);
		return;
	case NEURON_CORE_CAUSE:
		trn_irq_write(chip, TRN_IRQ_CORE, index, TRN_IRQ_CAUSE, value);
		return;
	case NEURON_CORE_MASK:
		trn_irq_write(chip, TRN_IRQ_CORE, index, TRN_IRQ_MASK, value);
		return;
	case NEURON_CORE_VECTOR:
		trn_irq_write(chip, TRN_IRQ_CORE, index, TRN_IRQ_VECTOR, value);
		return;
	case NEURON_CORE_GENERATION:
		atomic_store(&core->generation, value);
		return;
	default:
		read_only(chip, offset);
	}
}

static void dma_write(struct trn_chip *chip, unsigned int engine, uint32_t reg,
		      uint32_t value)
{
	switch (reg) {
	case NEURON_DMA_CAUSE:
		trn_irq_write(chip, TRN_IRQ_DMA, engine, TRN_IRQ_CAUSE, value);
		return;
	case NEURON_DMA_MASK:
		trn_irq_write(chip, TRN_IRQ_DMA, engine, TRN_IRQ_MASK, value);
		return;
	case NEURON_DMA_VECTOR:
		trn_irq_write(chip, TRN_IRQ_DMA, engine, TRN_IRQ_VECTOR, value);
		return;
	default:
		read_only(chip, NEURON_CTL_DMA(engine) + reg);
	}
}

static void chip_write(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case NEURON_CTL_DISCARD_ADDR:
	case NEURON_CTL_DISCARD_ADDR + 4:
	case NEURON_CTL_DISCARD_LEN:
	case NEURON_CTL_DISCARD_LEN + 4:
	case NEURON_CTL_DISCARD_GO:
		trn_discard_write(chip, offset, value);
		return;
	case NEURON_CTL_CAUSE:
		trn_irq_write(chip, TRN_IRQ_MGMT, 0, TRN_IRQ_CAUSE, value);
		return;
	case NEURON_CTL_MASK:
		trn_irq_write(chip, TRN_IRQ_MGMT, 0, TRN_IRQ_MASK, value);
		return;
	case NEURON_CTL_VECTOR:
		trn_irq_write(chip, TRN_IRQ_MGMT, 0, TRN_IRQ_VECTOR, value);
		return;
	case NEURON_CTL_ECC_INFO:
		trn_ecc_ctl_clear(chip, value);
		return;
	case NEURON_CTL_GROUP_END_LO:
		atomic_store(&chip->group_end_lo, value);
		return;
	case NEURON_CTL_GROUP_END_HI:
		trn_group_end(chip, (uint64_t)value << 32 | atomic_load(&chip->group_end_lo));
		return;
	default:
		read_only(chip, offset);
	}
}

void trn_ctl_write(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	struct trn_core *core;
	unsigned int i;
	uint32_t reg;

	core = core_at(chip, offset, &reg);
	if (core)
		core_write(core, reg, offset, value);
	else if (in_blocks(offset, NEURON_CTL_DMA(0), CTL_DMA_STRIDE,
			   chip->gen->nr_dma, &i, &reg))
		dma_write(chip, i, reg, value);
	else
		chip_write(chip, offset, value);
}
