// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "core/trn_pe_counter.h"

#include <stdlib.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"

#define GROUP_LINES	32	/* rows or columns of a group */
#define NO_LATCH	UINT32_MAX

/**
 * struct trn_pe - counters of one core
 * @matmul, @weights: cycles, by row group and, weights, by column group too
 * @lock: all fields below it
 * @idle: the most that has been read: it must not run backwards while a job
 *	has used cycles that device time does not show yet
 * @latch_offset: of the counter whose high word was read last
 * @latch: its low word of then
 */
struct trn_pe {
	_Atomic uint64_t matmul[NEURON_PE_ROW_GROUPS];
	_Atomic uint64_t weights[NEURON_PE_ROW_GROUPS][NEURON_PE_COLUMN_GROUPS];
	pthread_mutex_t lock;
	uint64_t idle[NEURON_PE_ROW_GROUPS];
	uint32_t latch_offset;
	uint32_t latch;
};

int trn_pe_init(struct trn_chip *chip)
{
	unsigned int i;

	chip->pe = calloc(chip->gen->nr_cores, sizeof(*chip->pe));
	if (!chip->pe)
		return -1;
	for (i = 0; i < chip->gen->nr_cores; i++) {
		pthread_mutex_init(&chip->pe[i].lock, NULL);
		chip->pe[i].latch_offset = NO_LATCH;
	}
	return 0;
}

void trn_pe_destroy(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; chip->pe && i < chip->gen->nr_cores; i++)
		pthread_mutex_destroy(&chip->pe[i].lock);
	free(chip->pe);
	chip->pe = NULL;
}

static void core_reset(struct trn_pe *pe)
{
	unsigned int row, column;

	for (row = 0; row < NEURON_PE_ROW_GROUPS; row++) {
		atomic_store(&pe->matmul[row], 0);
		for (column = 0; column < NEURON_PE_COLUMN_GROUPS; column++)
			atomic_store(&pe->weights[row][column], 0);
	}
	pthread_mutex_lock(&pe->lock);
	for (row = 0; row < NEURON_PE_ROW_GROUPS; row++)
		pe->idle[row] = 0;
	pe->latch_offset = NO_LATCH;
	pe->latch = 0;
	pthread_mutex_unlock(&pe->lock);
}

void trn_pe_reset(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_cores; i++)
		core_reset(&chip->pe[i]);
}

size_t trn_pe_own_bytes(const struct trn_chip *chip)
{
	return chip->gen->nr_cores * sizeof(*chip->pe);
}

/* The group behind that of the last of @lines lines from @first on. */
static unsigned int groups_end(unsigned int first, unsigned int lines,
			       unsigned int most)
{
	unsigned int end = (first + lines + GROUP_LINES - 1) / GROUP_LINES;

	return end < most ? end : most;
}

static void count(_Atomic uint64_t *counter, uint64_t cycles)
{
	atomic_fetch_add_explicit(counter, cycles, memory_order_relaxed);
}

void trn_pe_load(struct trn_core *core, struct neuron_array cells, uint64_t cycles)
{
	struct trn_pe *pe = &core->chip->pe[core->index];
	unsigned int rows = groups_end(cells.row, cells.rows, NEURON_PE_ROW_GROUPS);
	unsigned int columns = groups_end(cells.col, cells.cols,
					  NEURON_PE_COLUMN_GROUPS);
	unsigned int first = cells.col / GROUP_LINES;
	unsigned int groups = columns - first;
	unsigned int row, column;

	/* One column group after the other; the first takes what is over. */
	for (row = cells.row / GROUP_LINES; row < rows; row++)
		for (column = first; column < columns; column++)
			count(&pe->weights[row][column],
			      cycles / groups +
			      (column == first ? cycles % groups : 0));
}

void trn_pe_matmul(struct trn_core *core, struct neuron_array cells,
		   uint64_t cycles)
{
	struct trn_pe *pe = &core->chip->pe[core->index];
	unsigned int rows = groups_end(cells.row, cells.rows, NEURON_PE_ROW_GROUPS);
	unsigned int row;

	for (row = cells.row / GROUP_LINES; row < rows; row++)
		count(&pe->matmul[row], cycles);
}

static uint64_t active_cycles(struct trn_pe *pe, unsigned int row)
{
	uint64_t cycles = atomic_load(&pe->matmul[row]);
	unsigned int column;

	for (column = 0; column < NEURON_PE_COLUMN_GROUPS; column++)
		cycles += atomic_load(&pe->weights[row][column]);
	return cycles;
}

/* Of the device time that the core has behind it. Under the lock. */
static uint64_t idle_cycles(struct trn_core *core, struct trn_pe *pe,
			    unsigned int row)
{
	uint64_t mhz = core->chip->gen->clock_khz[NEURON_ENGINE_TENSOR] / 1000;
	uint64_t ns = atomic_load(&core->virtual_ns);
	uint64_t elapsed = ns / 1000 * mhz + ns % 1000 * mhz / 1000;
	uint64_t active = active_cycles(pe, row);

	if (elapsed > active && elapsed - active > pe->idle[row])
		pe->idle[row] = elapsed - active;
	return pe->idle[row];
}

/* The counter at @offset, a multiple of 8; 0 where there is none. */
static uint64_t counter_at(struct trn_core *core, struct trn_pe *pe,
			   uint32_t offset)
{
	const struct neuron_gen *gen = core->chip->gen;
	uint32_t group = offset / gen->pe_group;
	uint32_t row = group / gen->pe_groups;
	uint32_t xbus = group % gen->pe_groups;

	switch (offset % gen->pe_group) {
	case NEURON_PE_MATMUL:
		return xbus == NEURON_PE_XBUS_ARRAY ?
			       atomic_load(&pe->matmul[row]) : 0;
	case NEURON_PE_WEIGHTS:
		return xbus < NEURON_PE_COLUMN_GROUPS ?
			       atomic_load(&pe->weights[row][xbus]) : 0;
	case NEURON_PE_IDLE:
		return xbus == NEURON_PE_XBUS_ARRAY ?
			       idle_cycles(core, pe, row) : 0;
	default:
		return 0;
	}
}

uint32_t trn_pe_read(struct trn_chip *chip, unsigned int core, uint32_t offset)
{
	struct trn_pe *pe = &chip->pe[core];
	uint32_t base = offset & ~7u;
	uint64_t value;
	uint32_t word;

	pthread_mutex_lock(&pe->lock);
	value = counter_at(&chip->core[core], pe, base);
	if (offset & 4) {
		pe->latch_offset = base;
		pe->latch = (uint32_t)value;
		word = (uint32_t)(value >> 32);
	} else if (pe->latch_offset == base) {
		pe->latch_offset = NO_LATCH;
		word = pe->latch;
	} else {
		word = (uint32_t)value;
	}
	pthread_mutex_unlock(&pe->lock);
	return word;
}

void trn_pe_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i, row, column;

	trn_state_block(st, TRN_STATE_NAME('P', 'E', ' ', ' '), 1);
	for (i = 0; i < chip->gen->nr_cores; i++) {
		struct trn_pe *pe = &chip->pe[i];

		for (row = 0; row < NEURON_PE_ROW_GROUPS; row++) {
			trn_state_atomic_u64(st, &pe->matmul[row]);
			trn_state_u64(st, &pe->idle[row]);
			for (column = 0; column < NEURON_PE_COLUMN_GROUPS;
			     column++)
				trn_state_atomic_u64(st,
						     &pe->weights[row][column]);
		}
		trn_state_u32(st, &pe->latch_offset);
		trn_state_u32(st, &pe->latch);
	}
}
