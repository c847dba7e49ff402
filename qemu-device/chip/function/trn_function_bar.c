// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A function: its BARs and accesses to them.
 */
#include <string.h>

#include "function/trn_function_private.h"
#include "trn/pool.h"

#define BAR_REGISTERS	0
#define BAR_ALIAS	2
#define BAR_HBM		4

#define MSIX_ENTRY	16
#define MSIX_PBA_WORD	8	/* for 64 vectors */

/* --- the table --- */

static void add_area(struct trn_bar *bar, enum trn_area_kind kind, unsigned int stack,
		     uint64_t end)
{
	const struct trn_area *last = &bar->area[bar->nr_areas - 1];
	uint64_t begin = bar->nr_areas ? last->offset + last->size : 0;

	if (begin < end)
		bar->area[bar->nr_areas++] = (struct trn_area) {
			.kind = kind,
			.stack = stack,
			.offset = begin,
			.size = end - begin,
		};
}

static struct trn_bar *add_bar(struct trn_function *fn, unsigned int index, uint64_t size)
{
	struct trn_bar *bar = &fn->bar[fn->nr_bars++];

	*bar = (struct trn_bar) {
		.index = index,
		.shows = index,
		.flags = TRN_BAR_64BIT | TRN_BAR_PREFETCHABLE,
		.size = size,
	};
	return bar;
}

static void add_registers(struct trn_function *fn)
{
	const struct neuron_gen *gen = fn->config.chip.gen;
	uint64_t table = gen->hole_bar0 + NEURON_HOLE_MSIX_TABLE;
	uint64_t pba = gen->hole_bar0 + NEURON_HOLE_MSIX_PBA;
	uint32_t vectors = fn->config.vectors;
	struct trn_bar *bar = add_bar(fn, BAR_REGISTERS, gen->bar0_size);

	if (vectors) {
		add_area(bar, TRN_AREA_REGISTERS, 0, table);
		add_area(bar, TRN_AREA_MSIX_TABLE, 0, table + vectors * MSIX_ENTRY);
		add_area(bar, TRN_AREA_REGISTERS, 0, pba);
		add_area(bar, TRN_AREA_MSIX_PBA, 0,
			 pba + (vectors + 63) / 64 * MSIX_PBA_WORD);
	}
	add_area(bar, TRN_AREA_REGISTERS, 0, bar->size);
}

static void add_alias(struct trn_function *fn)
{
	struct trn_bar *bar = add_bar(fn, BAR_ALIAS, 0);

	*bar = fn->bar[0];
	bar->index = BAR_ALIAS;
}

static void add_hbm(struct trn_function *fn)
{
	const struct trn_chip_config *chip = &fn->config.chip;
	struct trn_bar *bar = add_bar(fn, BAR_HBM, fn->config.bar4_size);
	unsigned int i;

	for (i = 0; i < chip->gen->nr_hbm; i++) {
		add_area(bar, TRN_AREA_HBM, i, i * chip->bar4_stride + chip->hbm_size);
		add_area(bar, TRN_AREA_NOTHING, 0, (i + 1) * chip->bar4_stride);
	}
}

void trn_function_init_bars(struct trn_function *fn)
{
	add_registers(fn);
	if (!fn->config.silicon)
		add_alias(fn);
	add_hbm(fn);
}

const struct trn_bar *trn_function_bar(const struct trn_function *fn, unsigned int n)
{
	return n < fn->nr_bars ? &fn->bar[n] : NULL;
}

/* --- accesses --- */

/* The area that an access begins in; NULL: the function does not answer. */
static const struct trn_area *find_area(const struct trn_function *fn, unsigned int index,
					uint64_t offset, unsigned int size)
{
	unsigned int b, a;

	if (!trn_function_awake(fn) || !size || size > 8)
		return NULL;
	for (b = 0; b < fn->nr_bars; b++) {
		const struct trn_bar *bar = &fn->bar[b];

		for (a = 0; bar->index == index && a < bar->nr_areas; a++)
			if (offset - bar->area[a].offset < bar->area[a].size)
				return &bar->area[a];
	}
	return NULL;
}

/* The memory there, and in *@size how much of the access it has. */
static uint8_t *hbm_at(struct trn_function *fn, const struct trn_area *area, uint64_t at,
		       unsigned int *size)
{
	if (*size > area->size - at)
		*size = (unsigned int)(area->size - at);
	return (uint8_t *)trn_chip_hbm(fn->chip, area->stack) + at;
}

static uint64_t read_hbm(struct trn_function *fn, const struct trn_area *area, uint64_t at,
			 unsigned int size)
{
	const uint8_t *mem = hbm_at(fn, area, at, &size);
	uint64_t value = 0;

	memcpy(&value, mem, size);
	return value;
}

static void write_hbm(struct trn_function *fn, const struct trn_area *area, uint64_t at,
		      uint64_t value, unsigned int size)
{
	uint8_t *mem = hbm_at(fn, area, at, &size);

	memcpy(mem, &value, size);
	if (fn->port.hbm_dirty)
		fn->port.hbm_dirty(fn, area->stack, at, size);
}

uint64_t trn_function_read(struct trn_function *fn, unsigned int bar, uint64_t offset,
			   unsigned int size)
{
	const struct trn_area *area = find_area(fn, bar, offset, size);

	if (!area)
		return UINT64_MAX;
	switch (area->kind) {
	case TRN_AREA_REGISTERS:
		return trn_chip_mmio_read(fn->chip, offset, size);
	case TRN_AREA_MSIX_TABLE:
	case TRN_AREA_MSIX_PBA:
		if (!fn->host.msix_read)
			return 0;
		return fn->host.msix_read(fn->config.chip.opaque, area->kind,
					  offset - area->offset, size);
	case TRN_AREA_HBM:
		return read_hbm(fn, area, offset - area->offset, size);
	case TRN_AREA_NOTHING:
		break;
	}
	return 0;
}

/* What is short enough is done, and its interrupts are raised, when this returns. */
static void write_register(struct trn_function *fn, uint64_t offset, uint64_t value,
			   unsigned int size)
{
	struct trn_function *before = trn_function_serve(fn);
	struct trn_pool *pool = fn->config.chip.pool;
	bool run = trn_pool_inline_begin(pool, fn->config.inline_us * 1000);

	trn_chip_mmio_write(fn->chip, offset, value, size);
	if (run)
		trn_pool_inline_end(pool);
	trn_function_served(before);
	if (before != fn && (trn_function_has_line(fn) || trn_function_pending(fn)))
		trn_function_deliver(fn);
}

void trn_function_write(struct trn_function *fn, unsigned int bar, uint64_t offset,
			uint64_t value, unsigned int size)
{
	const struct trn_area *area = find_area(fn, bar, offset, size);

	if (!area)
		return;
	switch (area->kind) {
	case TRN_AREA_REGISTERS:
		write_register(fn, offset, value, size);
		return;
	case TRN_AREA_MSIX_TABLE:
	case TRN_AREA_MSIX_PBA:
		if (fn->host.msix_write)
			fn->host.msix_write(fn->config.chip.opaque, area->kind,
					    offset - area->offset, value, size);
		return;
	case TRN_AREA_HBM:
		write_hbm(fn, area, offset - area->offset, value, size);
		return;
	case TRN_AREA_NOTHING:
		return;
	}
}
