// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "mem/trn_bus.h"
#include "mem/trn_discard.h"
#include "mem/trn_ecc.h"
#include "mem/trn_hbm.h"
#include "mem/trn_touched.h"
#include "sync/trn_irq.h"

#define DISCARD_ALIGN	4096
/* One step, so that a run stays near its budget. */
#define DISCARD_STEP	NEURON_MIB(64)

static bool discard_range(struct trn_chip *chip, struct trn_loc *loc)
{
	const struct trn_discard *d = chip->discard;

	if ((d->addr | d->len) % DISCARD_ALIGN ||
	    d->addr & (NEURON_ADDR_WINDOW | NEURON_ADDR_FABRIC |
		       NEURON_ADDR_NEIGHBOUR))
		return false;
	return !trn_bus_locate(chip, d->addr, loc) &&
	       loc->place == TRN_PLACE_HBM && d->len <= loc->len;
}

static void discard_step(struct trn_chip *chip, const struct trn_loc *loc)
{
	struct trn_discard *d = chip->discard;
	uint64_t offset = loc->offset + d->done;
	uint64_t len = d->len - d->done;

	if (len > DISCARD_STEP)
		len = DISCARD_STEP;
	trn_hbm_discard(chip, loc->index, offset, len);
	d->done += len;
}

static void discard_end(struct trn_chip *chip, uint32_t cause)
{
	atomic_store(&chip->discard->go, 0);
	trn_irq_mgmt(chip, cause);
}

static enum trn_run discard_run(struct trn_task *task,
				struct trn_budget *budget)
{
	struct trn_discard *d = (struct trn_discard *)((char *)task -
						       offsetof(struct trn_discard, task));
	struct trn_chip *chip = d->chip;
	struct trn_loc loc;

	if (atomic_load(&chip->stopping) || !atomic_load(&d->go))
		return TRN_RUN_IDLE;
	if (!trn_budget_allows(budget, d->len))
		return TRN_RUN_AGAIN;
	if (!discard_range(chip, &loc)) {
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"discard: 0x%llx+0x%llx is not a page range of one HBM stack",
			(unsigned long long)d->addr,
			(unsigned long long)d->len);
		discard_end(chip, NEURON_CTL_CAUSE_DISCARD_ERROR);
		return TRN_RUN_IDLE;
	}
	while (d->done < d->len) {
		discard_step(chip, &loc);
		if (atomic_load(&chip->stopping))
			return TRN_RUN_IDLE;
		if (trn_budget_spent(budget))
			return TRN_RUN_AGAIN;
	}
	trn_touched_forget(chip, TRN_PLACE_HBM, loc.index, loc.offset, d->len);
	trn_ecc_written_at(&loc, d->len);
	discard_end(chip, NEURON_CTL_CAUSE_DISCARD);
	return TRN_RUN_IDLE;
}

void trn_discard_init(struct trn_chip *chip)
{
	chip->discard->chip = chip;
	trn_task_init(&chip->discard->task, chip->pool, discard_run);
	pthread_mutex_init(&chip->discard->lock, NULL);
}

void trn_discard_destroy(struct trn_chip *chip)
{
	pthread_mutex_destroy(&chip->discard->lock);
}

void trn_discard_reset(struct trn_chip *chip)
{
	struct trn_discard *d = chip->discard;

	pthread_mutex_lock(&d->lock);
	d->addr = 0;
	d->len = 0;
	d->done = 0;
	atomic_store(&d->go, 0);
	pthread_mutex_unlock(&d->lock);
}

uint64_t trn_discard_read(struct trn_chip *chip, uint32_t offset)
{
	struct trn_discard *d = chip->discard;
	uint64_t value;

	pthread_mutex_lock(&d->lock);
	value = offset == NEURON_CTL_DISCARD_ADDR ? d->addr : d->len;
	pthread_mutex_unlock(&d->lock);
	return value;
}

static void set_half(uint64_t *wide, bool high, uint32_t value)
{
	unsigned int shift = high ? 32 : 0;

	*wide = (*wide & ~(0xffffffffull << shift)) | (uint64_t)value << shift;
}

/* True when the operation must be started. */
static bool discard_store(struct trn_discard *d, uint32_t offset,
			  uint32_t value)
{
	switch (offset & ~4u) {
	case NEURON_CTL_DISCARD_ADDR:
		set_half(&d->addr, offset & 4, value);
		return false;
	case NEURON_CTL_DISCARD_LEN:
		set_half(&d->len, offset & 4, value);
		return false;
	default:
		if (!(value & 1))
			return false;
		d->done = 0;
		atomic_store(&d->go, 1);
		return true;
	}
}

void trn_discard_write(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	struct trn_discard *d = chip->discard;
	bool start = false, busy;

	pthread_mutex_lock(&d->lock);
	busy = atomic_load(&d->go);
	if (!busy)
		start = discard_store(d, offset, value);
	pthread_mutex_unlock(&d->lock);
	if (busy)
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"discard: written while a discard runs, ignored");
	if (start)
		trn_task_kick(&d->task);
}

void trn_discard_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_discard *d = chip->discard;

	trn_state_block(st, TRN_STATE_NAME('D', 'I', 'S', 'C'), 1);
	trn_state_u64(st, &d->addr);
	trn_state_u64(st, &d->len);
	trn_state_u64(st, &d->done);
	trn_state_atomic_u32(st, &d->go);
	/* The range itself is checked whenever the discard goes on. */
	if (d->done > d->len || d->done % 4096)
		trn_state_fail(st, "a discard has gone too far");
}
