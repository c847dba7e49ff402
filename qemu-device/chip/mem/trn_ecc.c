// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "mem/trn_ecc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "sync/trn_irq.h"

#define COUNT_MAX	0xffffu		/* counters stay there */
#define SRAM		NEURON_MAX_HBM	/* its index in the counters */

struct ecc_counters {
	uint32_t corrected;
	uint32_t uncorrected;
};

/**
 * struct trn_ecc
 * @lock: all fields
 * @cell: bad granules; their offset is that of the granule
 * @count: of each stack, then SRAM
 * @addr, @info, @total: registers of the control block
 */
struct trn_ecc {
	pthread_mutex_t lock;
	unsigned int nr;
	struct trn_ecc_cell cell[TRN_ECC_MAX];
	struct ecc_counters count[NEURON_MAX_HBM + 1];
	uint64_t addr;
	uint32_t info;
	uint32_t total;
};

/* What a read met, to be told without the lock. */
struct ecc_hits {
	unsigned int corrected;
	unsigned int uncorrected;
	uint64_t first;		/* offset; of an uncorrectable one if there is one */
};

int trn_ecc_init(struct trn_chip *chip)
{
	struct trn_ecc *ecc = calloc(1, sizeof(*ecc));

	if (!ecc)
		return -1;
	pthread_mutex_init(&ecc->lock, NULL);
	chip->ecc = ecc;
	return 0;
}

void trn_ecc_destroy(struct trn_chip *chip)
{
	if (!chip->ecc)
		return;
	pthread_mutex_destroy(&chip->ecc->lock);
	free(chip->ecc);
	chip->ecc = NULL;
}

void trn_ecc_reset(struct trn_chip *chip)
{
	struct trn_ecc *ecc = chip->ecc;
	unsigned int i;

	pthread_mutex_lock(&ecc->lock);
	for (i = 0; i <= SRAM; i++)
		ecc->count[i] = (struct ecc_counters) { 0 };
	ecc->addr = 0;
	ecc->info = 0;
	ecc->total = 0;
	pthread_mutex_unlock(&ecc->lock);
}

size_t trn_ecc_own_bytes(const struct trn_chip *chip)
{
	return sizeof(*chip->ecc);
}

/* Under the lock. */
static void update_armed(struct trn_chip *chip)
{
	atomic_store(&chip->ecc_armed, chip->ecc->nr);
}

static struct trn_ecc_cell *find(struct trn_ecc *ecc, uint32_t stack,
				 uint64_t offset)
{
	unsigned int i;

	for (i = 0; i < ecc->nr; i++)
		if (ecc->cell[i].stack == stack && ecc->cell[i].offset == offset)
			return &ecc->cell[i];
	return NULL;
}

int trn_ecc_add(struct trn_chip *chip, const struct trn_ecc_cell *cell)
{
	struct trn_ecc *ecc = chip->ecc;
	struct trn_ecc_cell new = *cell;
	struct trn_ecc_cell *slot;

	if (cell->stack >= chip->gen->nr_hbm || cell->offset >= chip->hbm_size)
		return -1;
	new.offset -= new.offset % TRN_ECC_GRANULE;
	pthread_mutex_lock(&ecc->lock);
	slot = find(ecc, new.stack, new.offset);
	if (!slot && ecc->nr < TRN_ECC_MAX)
		slot = &ecc->cell[ecc->nr++];
	if (slot)
		*slot = new;
	update_armed(chip);
	pthread_mutex_unlock(&ecc->lock);
	return slot ? 0 : -1;
}

void trn_ecc_clear(struct trn_chip *chip)
{
	pthread_mutex_lock(&chip->ecc->lock);
	chip->ecc->nr = 0;
	update_armed(chip);
	pthread_mutex_unlock(&chip->ecc->lock);
}

unsigned int trn_ecc_cells(struct trn_chip *chip)
{
	return atomic_load(&chip->ecc_armed);
}

static void saturate(uint32_t *count, unsigned int n)
{
	*count = *count + n < COUNT_MAX ? *count + n : COUNT_MAX;
}

/* Under the lock. */
static void log_error(struct trn_ecc *ecc, uint64_t addr, uint32_t info)
{
	bool worse = info & ~ecc->info & NEURON_CTL_ECC_UNCORRECTABLE;

	if (ecc->info & NEURON_CTL_ECC_VALID && !worse)
		return;
	ecc->addr = addr;
	ecc->info = info | NEURON_CTL_ECC_VALID;
}

static void count_hits(struct trn_chip *chip, unsigned int index,
		       const struct ecc_hits *hits)
{
	struct trn_ecc *ecc = chip->ecc;
	uint32_t info = 0;
	uint64_t addr = 0;

	if (hits->uncorrected)
		info |= NEURON_CTL_ECC_UNCORRECTABLE;
	if (index == SRAM) {
		info |= NEURON_CTL_ECC_SRAM;
	} else {
		info |= NEURON_PUT(NEURON_CTL_ECC_STACK, index);
		addr = chip->gen->hbm_addr[index] + hits->first;
	}
	saturate(&ecc->count[index].corrected, hits->corrected);
	saturate(&ecc->count[index].uncorrected, hits->uncorrected);
	ecc->total += hits->corrected + hits->uncorrected;
	log_error(ecc, addr, info);
}

static void tell(struct trn_chip *chip, unsigned int index,
		 const struct ecc_hits *hits)
{
	const char *what = hits->uncorrected ? "uncorrectable" : "correctable";

	if (index == SRAM)
		trn_log(chip, TRN_LOG_WARN, "%s memory error in SRAM", what);
	else
		trn_log(chip, TRN_LOG_WARN,
			"%s memory error in HBM stack %u at %#" PRIx64, what,
			index, hits->first);
	trn_irq_mgmt(chip, NEURON_CTL_CAUSE_ECC);
}

void trn_ecc_sram(struct trn_chip *chip, bool correctable)
{
	const struct ecc_hits hits = {
		.corrected = correctable,
		.uncorrected = !correctable,
	};

	pthread_mutex_lock(&chip->ecc->lock);
	count_hits(chip, SRAM, &hits);
	pthread_mutex_unlock(&chip->ecc->lock);
	tell(chip, SRAM, &hits);
}

static bool overlaps(const struct trn_ecc_cell *cell, unsigned int stack,
		     uint64_t offset, uint64_t len)
{
	return cell->stack == stack && cell->offset < offset + len &&
	       offset < cell->offset + TRN_ECC_GRANULE;
}

static void note_hit(struct ecc_hits *hits, const struct trn_ecc_cell *cell)
{
	bool first = !hits->uncorrected &&
		     (!hits->corrected || !cell->correctable);

	if (first)
		hits->first = cell->offset;
	if (cell->correctable)
		hits->corrected++;
	else
		hits->uncorrected++;
}

bool trn_ecc_check(struct trn_chip *chip, unsigned int stack, uint64_t offset,
		   uint64_t len)
{
	struct trn_ecc *ecc = chip->ecc;
	struct ecc_hits hits = { 0 };
	unsigned int i, kept = 0;

	pthread_mutex_lock(&ecc->lock);
	for (i = 0; i < ecc->nr; i++) {
		bool hit = overlaps(&ecc->cell[i], stack, offset, len);

		if (hit)
			note_hit(&hits, &ecc->cell[i]);
		if (!hit || !ecc->cell[i].once)
			ecc->cell[kept++] = ecc->cell[i];
	}
	ecc->nr = kept;
	update_armed(chip);
	if (hits.corrected || hits.uncorrected)
		count_hits(chip, stack, &hits);
	pthread_mutex_unlock(&ecc->lock);
	if (hits.corrected || hits.uncorrected)
		tell(chip, stack, &hits);
	return hits.uncorrected;
}

void trn_ecc_written(struct trn_chip *chip, unsigned int stack, uint64_t offset,
		     uint64_t len)
{
	struct trn_ecc *ecc = chip->ecc;
	unsigned int i, kept = 0;

	pthread_mutex_lock(&ecc->lock);
	for (i = 0; i < ecc->nr; i++) {
		const struct trn_ecc_cell *cell = &ecc->cell[i];
		bool whole = cell->stack == stack && offset <= cell->offset &&
			     cell->offset + TRN_ECC_GRANULE <= offset + len;

		if (!whole)
			ecc->cell[kept++] = *cell;
	}
	ecc->nr = kept;
	update_armed(chip);
	pthread_mutex_unlock(&ecc->lock);
}

/* Under the lock. */
static uint32_t repair_state(const struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_hbm; i++)
		if (chip->ecc->count[i].uncorrected)
			return chip->config.repair_fails ?
				       NEURON_MISC_REPAIR_FAILED :
				       NEURON_MISC_REPAIR_PENDING;
	return 0;
}

uint32_t trn_ecc_misc_read(struct trn_chip *chip, uint32_t offset)
{
	struct trn_ecc *ecc = chip->ecc;
	unsigned int index = SRAM;
	uint32_t value;

	if (offset != NEURON_MISC_SRAM_ECC)
		index = (offset - NEURON_MISC_HBM_ECC(0)) / 4;
	pthread_mutex_lock(&ecc->lock);
	if (offset == NEURON_MISC_HBM_REPAIR)
		value = repair_state(chip);
	else
		value = NEURON_PUT(NEURON_MISC_ECC_CORRECTED,
				   ecc->count[index].corrected) |
			NEURON_PUT(NEURON_MISC_ECC_UNCORRECTED,
				   ecc->count[index].uncorrected);
	pthread_mutex_unlock(&ecc->lock);
	return value;
}

uint64_t trn_ecc_ctl_addr(struct trn_chip *chip)
{
	uint64_t addr;

	pthread_mutex_lock(&chip->ecc->lock);
	addr = chip->ecc->addr;
	pthread_mutex_unlock(&chip->ecc->lock);
	return addr;
}

uint32_t trn_ecc_ctl_info(struct trn_chip *chip)
{
	uint32_t info;

	pthread_mutex_lock(&chip->ecc->lock);
	info = chip->ecc->info;
	pthread_mutex_unlock(&chip->ecc->lock);
	return info;
}

uint32_t trn_ecc_ctl_count(struct trn_chip *chip)
{
	uint32_t total;

	pthread_mutex_lock(&chip->ecc->lock);
	total = chip->ecc->total;
	pthread_mutex_unlock(&chip->ecc->lock);
	return total;
}

void trn_ecc_ctl_clear(struct trn_chip *chip, uint32_t value)
{
	if (!(value & NEURON_CTL_ECC_VALID))
		return;
	pthread_mutex_lock(&chip->ecc->lock);
	chip->ecc->addr = 0;
	chip->ecc->info = 0;
	pthread_mutex_unlock(&chip->ecc->lock);
}

static void cell_state(struct trn_chip *chip, struct trn_ecc_cell *cell,
		       struct trn_state *st)
{
	trn_state_u32(st, &cell->stack);
	trn_state_u64(st, &cell->offset);
	trn_state_bool(st, &cell->correctable);
	trn_state_bool(st, &cell->once);
	if (cell->stack >= chip->gen->nr_hbm ||
	    cell->offset >= chip->hbm_size || cell->offset % TRN_ECC_GRANULE)
		trn_state_fail(st, "a bad memory cell is not in HBM");
}

/* All but the lock, which is held. */
static void copy_fields(struct trn_ecc *to, const struct trn_ecc *from)
{
	to->nr = from->nr;
	memcpy(to->cell, from->cell, sizeof(to->cell));
	memcpy(to->count, from->count, sizeof(to->count));
	to->addr = from->addr;
	to->info = from->info;
	to->total = from->total;
}

static void fields_state(struct trn_chip *chip, struct trn_ecc *ecc,
			 struct trn_state *st)
{
	unsigned int i;

	ecc->nr = trn_state_count(st, ecc->nr, TRN_ECC_MAX);
	for (i = 0; i < ecc->nr; i++)
		cell_state(chip, &ecc->cell[i], st);
	for (i = 0; i <= SRAM; i++) {
		trn_state_u32(st, &ecc->count[i].corrected);
		trn_state_u32(st, &ecc->count[i].uncorrected);
		if (ecc->count[i].corrected > COUNT_MAX ||
		    ecc->count[i].uncorrected > COUNT_MAX)
			trn_state_fail(st, "an ECC counter is too large");
	}
	trn_state_u64(st, &ecc->addr);
	trn_state_u32(st, &ecc->info);
	trn_state_u32(st, &ecc->total);
	if (st->loading && trn_state_failed(st))
		ecc->nr = 0;
}

void trn_ecc_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_ecc *ecc = chip->ecc;
	struct trn_ecc copy;

	trn_state_block(st, TRN_STATE_NAME('E', 'C', 'C', ' '), 1);
	/* The stream may take its time: no lock then. */
	pthread_mutex_lock(&ecc->lock);
	copy_fields(&copy, ecc);
	pthread_mutex_unlock(&ecc->lock);
	fields_state(chip, &copy, st);
	if (!st->loading)
		return;
	pthread_mutex_lock(&ecc->lock);
	copy_fields(ecc, &copy);
	update_armed(chip);
	pthread_mutex_unlock(&ecc->lock);
}
