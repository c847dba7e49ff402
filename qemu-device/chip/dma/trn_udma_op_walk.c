// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Patterns of DMA operations: from the number of an element to its bytes.
 *
 * How far a pattern reaches is worked out once, with every overflow caught, and
 * each base is checked against it. After that an address is a sum modulo 2^64
 * which has not wrapped, and whether it may be touched is trn_access's to say.
 */
#include "dma/trn_udma_walk.h"

#include "base/trn_prefetch.h"
#include "mem/trn_access.h"
#include "neuron/address.h"

/* Runs that one is asked for before it comes, and the most of its bytes. */
#define RUNS_AHEAD	3
#define RUN_EXPECTED	512

/* The position of an element. */
struct place {
	uint32_t at[4];		/* of its run */
	uint32_t inside;	/* elements of the run before it */
	uint64_t addr;		/* of its run */
};

/* Positions @first to @last of a dimension widen [low, high). */
static bool reach(struct trn_udma_walk *walk, uint32_t first, uint32_t last,
		  int64_t step)
{
	int64_t a, b;

	if (__builtin_mul_overflow((int64_t)first, step, &a) ||
	    __builtin_mul_overflow((int64_t)last, step, &b))
		return false;
	return !__builtin_add_overflow(walk->low, a < b ? a : b, &walk->low) &&
	       !__builtin_add_overflow(walk->high, a < b ? b : a, &walk->high);
}

/* Whatever lies one behind the other becomes the run. */
static void join_runs(struct trn_udma_walk *walk)
{
	unsigned int dims = walk->index ? 3 : 4;
	unsigned int d;

	walk->run = 1;
	for (d = 0; d < dims; d++) {
		if (walk->num[d] == 1)
			continue;
		if (walk->step[d] != (int64_t)walk->run * walk->size)
			break;
		walk->run *= walk->num[d];
		walk->num[d] = 1;
	}
	/* With dimension 3 in it, all is one row. */
	if (walk->row < walk->run)
		walk->row = walk->run;
}

bool trn_udma_walk_init(struct trn_udma_walk *walk, struct trn_access *access,
			const struct neuron_udma_pattern *pattern, uint32_t size,
			const struct trn_index *index)
{
	unsigned int d;

	*walk = (struct trn_udma_walk){
		.access = access,
		.size = size,
		.row = pattern->num[0] * pattern->num[1] * pattern->num[2],
		.index = index->value,
		.high = size,
	};
	for (d = 0; d < 4; d++) {
		walk->num[d] = pattern->num[d];
		walk->step[d] = (int64_t)pattern->step[d];
		if (d == 3 && index->value) {
			if (!reach(walk, index->lowest, index->highest,
				   walk->step[d]))
				return false;
		} else if (walk->num[d] > 1 &&
			   !reach(walk, 0, walk->num[d] - 1, walk->step[d])) {
			return false;
		}
	}
	join_runs(walk);
	return true;
}

/* The bits of @base that count bytes inside of what it names. */
static uint64_t offset_mask(uint64_t base)
{
	if (base & NEURON_ADDR_WINDOW)
		return NEURON_ADDR_WINDOW_OFFSET;
	if (base & NEURON_ADDR_FABRIC)
		return NEURON_ADDR_FABRIC_DEVICE;
	return NEURON_ADDR_FABRIC - 1;
}

bool trn_udma_walk_fits(const struct trn_udma_walk *walk, uint64_t base)
{
	uint64_t mask = offset_mask(base);
	int64_t offset = (int64_t)(base & mask);
	int64_t room = (int64_t)(mask - (base & mask)) + 1;

	/* The mask has 62 bits at most: the sums cannot overflow. */
	if (walk->low < -offset)
		return false;
	return walk->high <= room;
}

static uint64_t row_offset(const struct trn_udma_walk *walk, uint32_t row)
{
	uint64_t count = walk->index ? walk->index[row] : row;

	return count * (uint64_t)walk->step[3];
}

static void seek(const struct trn_udma_walk *walk, uint64_t base, uint64_t first,
		 struct place *place)
{
	uint32_t rest = (uint32_t)(first % walk->row);
	uint32_t row = (uint32_t)(first / walk->row);
	unsigned int d;

	place->inside = rest % walk->run;
	rest /= walk->run;
	place->addr = base + row_offset(walk, row);
	for (d = 0; d < 3; d++) {
		place->at[d] = rest % walk->num[d];
		rest /= walk->num[d];
		place->addr += place->at[d] * (uint64_t)walk->step[d];
	}
	place->at[3] = row;
}

/* To the next run; there is one. */
static void next_run(const struct trn_udma_walk *walk, struct place *place)
{
	unsigned int d;

	place->inside = 0;
	for (d = 0; d < 3; d++) {
		if (++place->at[d] < walk->num[d]) {
			place->addr += (uint64_t)walk->step[d];
			return;
		}
		place->at[d] = 0;
		place->addr -= (walk->num[d] - 1) * (uint64_t)walk->step[d];
	}
	place->addr -= row_offset(walk, place->at[3]);
	place->addr += row_offset(walk, ++place->at[3]);
}

uint32_t trn_udma_walk_at(const struct trn_udma_walk *walk, uint64_t base, uint64_t first,
			  uint64_t *addr)
{
	struct place place;

	seek(walk, base, first, &place);
	*addr = place.addr + (uint64_t)place.inside * walk->size;
	return walk->run - place.inside;
}

static enum neuron_cause move_run(struct trn_udma_walk *walk, uint64_t addr,
				  uint8_t *out, const uint8_t *in, size_t len)
{
	enum neuron_cause cause;

	if (out)
		cause = trn_access_read(walk->access, addr, out, len);
	else
		cause = trn_access_write(walk->access, addr, in, len);
	if (walk->hops < walk->access->hops)
		walk->hops = walk->access->hops;
	return cause;
}

/*
 * Runs are mostly as far from each other as the last two were, and so far that each begins with
 * misses of the cache and of the TLB: one that comes soon is asked for. A wrong guess does not
 * matter.
 */
static void expect_run(struct trn_udma_walk *walk, size_t len)
{
	uintptr_t here = (uintptr_t)walk->access->memory;

	if (walk->last && here)
		trn_prefetch(here + RUNS_AHEAD * (here - walk->last),
			     len < RUN_EXPECTED ? len : RUN_EXPECTED);
	walk->last = here;
}

/* To @out or, when that is NULL, from @in. */
static enum neuron_cause move(struct trn_udma_walk *walk, uint64_t base,
			      uint64_t first, uint32_t n, uint8_t *out,
			      const uint8_t *in)
{
	enum neuron_cause cause;
	struct place place;
	uint32_t part;
	size_t len;

	seek(walk, base, first, &place);
	for (;;) {
		part = walk->run - place.inside;
		if (part > n)
			part = n;
		len = (size_t)part * walk->size;
		cause = move_run(walk, place.addr + (uint64_t)place.inside * walk->size,
				 out, in, len);
		n -= part;
		if (!cause)
			expect_run(walk, len);
		if (cause || !n)
			return cause;
		if (out)
			out += len;
		else
			in += len;
		next_run(walk, &place);
	}
}

enum neuron_cause trn_udma_walk_read(struct trn_udma_walk *walk, uint64_t base,
				     uint64_t first, uint32_t n, void *buf)
{
	return move(walk, base, first, n, buf, NULL);
}

enum neuron_cause trn_udma_walk_write(struct trn_udma_walk *walk, uint64_t base,
				      uint64_t first, uint32_t n, const void *buf)
{
	return move(walk, base, first, n, NULL, buf);
}
