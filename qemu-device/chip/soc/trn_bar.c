// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "soc/trn_bar.h"

#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_regfile.h"
#include "core/trn_pe_counter.h"
#include "dma/trn_udma.h"
#include "hook/trn_inject.h"
#include "mem/trn_bus.h"
#include "mem/trn_touched.h"
#include "notify/trn_nq.h"
#include "soc/trn_ctl.h"
#include "soc/trn_misc_ram.h"
#include "soc/trn_reset.h"
#include "sync/trn_sem.h"
#include "sync/trn_top_sp.h"

#define BAR_MAX_REGIONS	64
#define SDMA_SIZE	0x1000

enum bar_kind {
	BAR_UDMA,
	BAR_TPB,
	BAR_CTL,
	BAR_MISC,
	BAR_RESET,
	BAR_PE,
	BAR_NQ,
	BAR_TOP_SP,
	BAR_STORAGE,
};

/* @count blocks of @size bytes, @stride apart; the first has number @index. */
struct bar_region {
	enum bar_kind kind;
	unsigned int index;
	uint32_t base;
	uint32_t stride;
	uint32_t size;
	uint32_t count;
};

struct trn_bar_map {
	unsigned int nr;
	struct bar_region region[BAR_MAX_REGIONS];
};

/* Where an offset lies. */
struct bar_hit {
	enum bar_kind kind;
	unsigned int index;
	uint32_t offset;	/* in the block */
};

static void map_add(struct trn_bar_map *map, struct bar_region region)
{
	map->region[map->nr++] = region;
}

static void map_storage(struct trn_bar_map *map, uint32_t base, uint32_t stride,
			uint32_t size, uint32_t count)
{
	map_add(map, (struct bar_region) {
		.kind = BAR_STORAGE, .base = base, .stride = stride,
		.size = size, .count = count,
	});
}

static void map_dma(struct trn_bar_map *map, const struct neuron_gen *gen,
		    unsigned int first, unsigned int count)
{
	uint32_t base = neuron_dma_bar0(gen, first);

	map_add(map, (struct bar_region) {
		.kind = BAR_UDMA, .index = first, .base = base,
		.stride = gen->ring_stride, .size = NEURON_UDMA_BLOCK_SIZE,
		.count = count,
	});
	if (gen->sdma_bar0_delta)
		map_storage(map, base + gen->sdma_bar0_delta, gen->ring_stride,
			    SDMA_SIZE, count);
}

static void map_engines(struct trn_bar_map *map, const struct neuron_gen *gen)
{
	unsigned int e;

	for (e = 0; e < gen->nr_ring; e += gen->ring_group)
		map_dma(map, gen, e, gen->ring_group);
	for (e = gen->nr_ring; e < gen->nr_dma; e++)
		map_dma(map, gen, e, 1);
}

static void map_single(struct trn_bar_map *map, enum bar_kind kind,
		       uint32_t base, uint32_t size)
{
	map_add(map, (struct bar_region) {
		.kind = kind, .base = base, .stride = size, .size = size,
		.count = 1,
	});
}

static void map_nq(struct trn_bar_map *map, enum trn_nq_unit unit,
		   unsigned int index, uint32_t base, uint32_t stride,
		   uint32_t count)
{
	map_add(map, (struct bar_region) {
		.kind = BAR_NQ, .index = trn_nq_block(unit, index), .base = base,
		.stride = stride, .size = NEURON_NQ_BLOCK_SIZE, .count = count,
	});
}

static void map_notifications(struct trn_bar_map *map,
			      const struct neuron_gen *gen)
{
	unsigned int i;

	for (i = 0; i < gen->nr_cores; i++)
		map_nq(map, TRN_NQ_CORE, i, gen->nq_bar0[i],
		       NEURON_NQ_BLOCK_SIZE, 1);
	for (i = 0; i < gen->nr_top_sp_ids; i += gen->top_sp_nq_group)
		map_nq(map, TRN_NQ_TOP_SP, i, neuron_top_sp_nq_bar0(gen, i),
		       NEURON_TOP_SP_NQ_STRIDE, gen->top_sp_nq_group);
	for (i = 0; i < gen->nr_ring; i += gen->ring_group)
		map_nq(map, TRN_NQ_DMA, i,
		       neuron_sdma_bar0(gen, i) + NEURON_SDMA_NQ,
		       neuron_sdma_bar0(gen, i + 1) - neuron_sdma_bar0(gen, i),
		       gen->ring_group);
	for (; i < gen->nr_dma; i++)
		map_nq(map, TRN_NQ_DMA, i,
		       neuron_sdma_bar0(gen, i) + NEURON_SDMA_NQ,
		       NEURON_NQ_BLOCK_SIZE, 1);
}

static void map_pe(struct trn_bar_map *map, const struct neuron_gen *gen)
{
	uint32_t size = NEURON_PE_ROW_GROUPS * gen->pe_groups * gen->pe_group;
	unsigned int i;

	for (i = 0; i < gen->nr_cores; i++)
		map_add(map, (struct bar_region) {
			.kind = BAR_PE, .index = i, .base = gen->pe_bar0[i],
			.stride = size, .size = size, .count = 1,
		});
}

struct trn_bar_map *trn_bar_map_new(const struct neuron_gen *gen)
{
	struct trn_bar_map *map = calloc(1, sizeof(*map));
	unsigned int i;

	if (!map)
		return NULL;
	map_engines(map, gen);
	map_add(map, (struct bar_region) {
		.kind = BAR_TPB, .base = gen->tpb_bar0,
		.stride = NEURON_TPB_WINDOW_SIZE,
		.size = NEURON_TPB_WINDOW_SIZE, .count = gen->nr_cores,
	});
	map_single(map, BAR_CTL, neuron_ctl_bar0(gen), NEURON_CTL_SIZE);
	map_single(map, BAR_MISC, gen->misc_bar0, NEURON_MISC_SIZE);
	map_single(map, BAR_RESET, gen->reset_bar0, 4);
	map_pe(map, gen);
	map_notifications(map, gen);
	map_add(map, (struct bar_region) {
		.kind = BAR_TOP_SP, .base = gen->top_sp_bar0,
		.stride = NEURON_TOP_SP_WINDOW_SIZE,
		.size = NEURON_TOP_SP_WINDOW_SIZE, .count = gen->nr_top_sp,
	});
	for (i = 0; i < NEURON_MAX_STORAGE && gen->storage[i].count; i++)
		map_storage(map, gen->storage[i].bar0, gen->storage[i].stride,
			    gen->storage[i].size, gen->storage[i].count);
	return map;
}

void trn_bar_map_free(struct trn_bar_map *map)
{
	free(map);
}

size_t trn_bar_map_bytes(const struct trn_bar_map *map)
{
	return sizeof(*map);
}

static bool map_find(const struct trn_bar_map *map, uint32_t offset,
		     struct bar_hit *hit)
{
	unsigned int i;

	for (i = 0; i < map->nr; i++) {
		const struct bar_region *r = &map->region[i];
		uint32_t n;

		if (offset < r->base)
			continue;
		n = (offset - r->base) / r->stride;
		hit->offset = (offset - r->base) % r->stride;
		if (n >= r->count || hit->offset >= r->size)
			continue;
		hit->kind = r->kind;
		hit->index = r->index + n;
		return true;
	}
	return false;
}

bool trn_bar_known(const struct trn_chip *chip, uint32_t offset)
{
	struct bar_hit hit;

	return map_find(chip->bar_map, offset, &hit);
}

static void bad_access(struct trn_chip *chip, const char *what, uint32_t offset)
{
	trn_log(chip, TRN_LOG_GUEST_ERROR, "BAR0 0x%08x: %s", offset, what);
}

/* SBUF or PSUM of a core; NULL: not memory. */
static uint8_t *tpb_memory(struct trn_chip *chip, unsigned int core,
			   uint32_t offset, struct trn_loc *loc)
{
	*loc = (struct trn_loc) { .chip = chip, .seat = &chip->seat, .index = core };
	if (offset < NEURON_TPB_SBUF_SIZE) {
		loc->place = TRN_PLACE_SBUF;
		loc->offset = offset;
		loc->ptr = chip->core[core].sbuf + loc->offset;
	} else if (offset - NEURON_TPB_PSUM < NEURON_TPB_PSUM_SIZE) {
		loc->place = TRN_PLACE_PSUM;
		loc->offset = offset - NEURON_TPB_PSUM;
		loc->ptr = chip->core[core].psum + loc->offset;
	}
	return loc->ptr;
}

static uint32_t tpb_read(struct trn_chip *chip, unsigned int core,
			 uint32_t offset)
{
	struct trn_loc loc;
	uint32_t value;

	if (tpb_memory(chip, core, offset, &loc)) {
		trn_touched_read(&loc, &value, sizeof(value));
		return value;
	}
	if (offset >= NEURON_TPB_SEM &&
	    offset - NEURON_TPB_SEM < NEURON_TPB_SEM_SIZE)
		return trn_sems_read(chip->core[core].sems,
				     offset - NEURON_TPB_SEM);
	bad_access(chip, "read of nothing in a TPB window",
		   neuron_tpb_bar0(chip->gen, core) + offset);
	return 0;
}

static void tpb_write(struct trn_chip *chip, unsigned int core,
		      uint32_t offset, uint32_t value)
{
	uint32_t bar0 = neuron_tpb_bar0(chip->gen, core) + offset;
	struct trn_loc loc;

	if (tpb_memory(chip, core, offset, &loc)) {
		if (trn_bus_touch(&loc, sizeof(value)))
			bad_access(chip, "write dropped, host limit reached",
				   bar0);
		else
			memcpy(loc.ptr, &value, sizeof(value));
	} else if (offset >= NEURON_TPB_SEM &&
		   offset - NEURON_TPB_SEM < NEURON_TPB_SEM_SIZE) {
		trn_sems_write(chip->core[core].sems, offset - NEURON_TPB_SEM, value,
			       trn_sem_who(NEURON_SEM_POSTER_HOST, 0));
	} else {
		bad_access(chip, "write to nothing in a TPB window", bar0);
	}
}

static uint32_t bar_read32(struct trn_chip *chip, uint32_t offset)
{
	struct bar_hit hit;

	if (!map_find(chip->bar_map, offset, &hit)) {
		bad_access(chip, "read of an unknown register", offset);
		return 0;
	}
	switch (hit.kind) {
	case BAR_UDMA:
		return trn_udma_read(chip, hit.index, hit.offset);
	case BAR_TPB:
		return tpb_read(chip, hit.index, hit.offset);
	case BAR_CTL:
		return trn_ctl_read(chip, hit.offset);
	case BAR_MISC:
		return trn_misc_read(chip, hit.offset);
	case BAR_RESET:
		return trn_platform_reset_read(chip);
	case BAR_PE:
		return trn_pe_read(chip, hit.index, hit.offset);
	case BAR_NQ:
		return trn_nq_read(chip, hit.index, hit.offset);
	case BAR_TOP_SP:
		return trn_top_sp_read(chip, hit.index, hit.offset);
	case BAR_STORAGE:
		break;
	}
	return trn_regfile_read(chip->regfile, offset);
}

static void bar_write32(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	struct bar_hit hit;

	if (!map_find(chip->bar_map, offset, &hit)) {
		bad_access(chip, "write to an unknown register", offset);
		return;
	}
	switch (hit.kind) {
	case BAR_UDMA:
		trn_udma_write(chip, hit.index, hit.offset, value);
		return;
	case BAR_TPB:
		tpb_write(chip, hit.index, hit.offset, value);
		return;
	case BAR_CTL:
		trn_ctl_write(chip, hit.offset, value);
		return;
	case BAR_MISC:
		trn_misc_write(chip, hit.offset, value);
		return;
	case BAR_RESET:
		trn_platform_reset_write(chip, value);
		return;
	case BAR_PE:
		bad_access(chip, "activity counters are read-only", offset);
		return;
	case BAR_NQ:
		trn_nq_write(chip, hit.index, hit.offset, value);
		return;
	case BAR_TOP_SP:
		trn_top_sp_write(chip, hit.index, hit.offset, value);
		return;
	case BAR_STORAGE:
		break;
	}
	if (!trn_regfile_write(chip->regfile, offset, value))
		bad_access(chip, "write lost, too many registers in use",
			   offset);
}

static bool bar_valid(struct trn_chip *chip, uint64_t offset, unsigned int size)
{
	return (size == 4 || size == 8) && offset % size == 0 &&
	       offset <= chip->gen->bar0_size - size;
}

static uint64_t bar_read(struct trn_chip *chip, uint32_t off, unsigned int size)
{
	uint32_t ctl = neuron_ctl_bar0(chip->gen);
	uint64_t low;

	if (size == 4)
		return bar_read32(chip, off);
	/* In one piece, so that a counter cannot tear. */
	if (off >= ctl && off - ctl < NEURON_CTL_SIZE)
		return trn_ctl_read64(chip, off - ctl);
	low = bar_read32(chip, off);
	return low | (uint64_t)bar_read32(chip, off + 4) << 32;
}

/* What a fault on demand makes of the word at @off. */
static uint32_t lie32(struct trn_chip *chip, uint32_t off, uint32_t value)
{
	uint64_t lie;

	if (trn_inject(chip, TRN_INJECT_REG_STUCK, off, &lie))
		value = (uint32_t)lie;
	if (trn_inject(chip, TRN_INJECT_REG_FLIP, off, &lie))
		value ^= (uint32_t)lie;
	return value;
}

static uint64_t lie(struct trn_chip *chip, uint32_t off, unsigned int size,
		    uint64_t value)
{
	uint64_t low = lie32(chip, off, (uint32_t)value);

	if (size == 4)
		return low;
	return low | (uint64_t)lie32(chip, off + 4, value >> 32) << 32;
}

uint64_t trn_chip_mmio_read(struct trn_chip *chip, uint64_t offset,
			    unsigned int size)
{
	uint32_t off = (uint32_t)offset;
	uint64_t value;

	if (!bar_valid(chip, offset, size)) {
		bad_access(chip, "misaligned or wrong size", off);
		return ~0ull;
	}
	value = bar_read(chip, off, size);
	if (trn_inject_armed(chip, TRN_INJECT_REG_STUCK) ||
	    trn_inject_armed(chip, TRN_INJECT_REG_FLIP))
		value = lie(chip, off, size, value);
	return value;
}

void trn_chip_mmio_write(struct trn_chip *chip, uint64_t offset,
			 uint64_t value, unsigned int size)
{
	uint32_t off = (uint32_t)offset;

	if (!bar_valid(chip, offset, size)) {
		bad_access(chip, "misaligned or wrong size", off);
		return;
	}
	bar_write32(chip, off, (uint32_t)value);
	if (size == 8)
		bar_write32(chip, off + 4, (uint32_t)(value >> 32));
}
