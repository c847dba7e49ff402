// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "mem/trn_touched.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/trn_chip.h"
#include "base/trn_pages.h"
#include "base/trn_state.h"
#include "hook/trn_check.h"
#include "hook/trn_watch.h"
#include "mem/trn_bus.h"

#define SBUF_EXTENTS	(NEURON_TPB_SBUF_SIZE >> TRN_EXTENT_SHIFT)
#define PSUM_EXTENTS	(NEURON_TPB_PSUM_SIZE >> TRN_EXTENT_SHIFT)
#define CORE_EXTENTS	(SBUF_EXTENTS + PSUM_EXTENTS)

_Static_assert(PSUM_EXTENTS > 0, "PSUM fills whole extents");

/* What is read of memory that is not there, at once. */
#define ZEROES	NEURON_KIB(64)

/**
 * struct trn_touched - bits in the order HBM stacks, then cores
 * @limit: most bytes, 0: none
 * @pages: of trn_pages_open()
 * @words: of @bits: those of extents that the device has touched, and then as many of
 *	those that others have, as far as that has been seen
 */
struct trn_touched {
	uint64_t limit;
	uint64_t hbm_extents;
	int pages;
	size_t words;
	_Atomic uint64_t used;
	_Atomic uint64_t bits[];
};

int trn_touched_init(struct trn_chip *chip)
{
	uint64_t stack = (chip->hbm_size + TRN_EXTENT - 1) >> TRN_EXTENT_SHIFT;
	uint64_t extents = stack * chip->gen->nr_hbm +
			   (uint64_t)chip->gen->nr_cores * CORE_EXTENTS;
	size_t words = (size_t)(extents + 63) / 64;
	struct trn_touched *t = calloc(1, sizeof(*t) + 2 * words * sizeof(*t->bits));

	if (!t)
		return -1;
	t->pages = trn_pages_open();
	t->limit = chip->config.host_limit;
	t->hbm_extents = stack;
	t->words = words;
	chip->touched = t;
	return 0;
}

void trn_touched_destroy(struct trn_chip *chip)
{
	struct trn_touched *t = chip->touched;

	if (!t)
		return;
	trn_pages_close(t->pages);
	free(t);
	chip->touched = NULL;
}

/* Bit of the first extent of a region. */
static uint64_t first_extent(const struct trn_chip *chip, enum trn_place place,
			     unsigned int index)
{
	const struct trn_touched *t = chip->touched;

	if (place == TRN_PLACE_HBM)
		return index * t->hbm_extents;
	return chip->gen->nr_hbm * t->hbm_extents + index * CORE_EXTENTS +
	       (place == TRN_PLACE_PSUM ? SBUF_EXTENTS : 0);
}

static enum neuron_cause touch_extent(struct trn_touched *t, uint64_t extent)
{
	_Atomic uint64_t *word = &t->bits[extent / 64];
	uint64_t bit = 1ull << extent % 64;
	uint64_t used;

	if (atomic_load_explicit(word, memory_order_relaxed) & bit)
		return NEURON_CAUSE_NONE;
	used = atomic_fetch_add(&t->used, TRN_EXTENT) + TRN_EXTENT;
	if (t->limit && used > t->limit) {
		atomic_fetch_sub(&t->used, TRN_EXTENT);
		return NEURON_CAUSE_HOST_LIMIT;
	}
	/* Another thread was first: give back what was taken twice. */
	if (atomic_fetch_or(word, bit) & bit)
		atomic_fetch_sub(&t->used, TRN_EXTENT);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_touched_mark(const struct trn_loc *loc, size_t len)
{
	uint64_t first, extent, last;

	if (!loc->ptr || !len)
		return NEURON_CAUSE_NONE;
	first = first_extent(loc->chip, loc->place, loc->index);
	extent = first + (loc->offset >> TRN_EXTENT_SHIFT);
	last = first + ((loc->offset + len - 1) >> TRN_EXTENT_SHIFT);
	for (; extent <= last; extent++) {
		enum neuron_cause cause = touch_extent(loc->chip->touched,
						       extent);

		if (cause)
			return cause;
	}
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_bus_touch(const struct trn_loc *loc, size_t len)
{
	if (loc->ptr && loc->chip->check)
		trn_check_written(loc, len);
	if (loc->ptr && trn_watched(loc->chip))
		trn_watch_touch(loc, len);
	return trn_touched_mark(loc, len);
}

/* The device or somebody else has touched the extent: looking at it costs nothing more. */
static bool extent_known(const struct trn_touched *t, uint64_t extent)
{
	uint64_t words = atomic_load_explicit(&t->bits[extent / 64], memory_order_relaxed) |
			 atomic_load_explicit(&t->bits[t->words + extent / 64],
					      memory_order_relaxed);

	return words >> extent % 64 & 1;
}

/* Somebody else than the device has written some of the @len bytes at @loc. */
static bool written_from_outside(struct trn_touched *t, const struct trn_loc *loc,
				 uint64_t extent, uint64_t len)
{
	const int file = loc->place == TRN_PLACE_HBM ? loc->chip->hbm_file[loc->index] :
						       TRN_NO_FILE;

	if (file >= 0 ? !trn_pages_in_file(file, loc->offset, len) :
			!trn_pages_backed(t->pages, loc->ptr, len))
		return false;
	atomic_fetch_or(&t->bits[t->words + extent / 64], 1ull << extent % 64);
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

const uint8_t *trn_touched_source(const struct trn_loc *loc, uint64_t *len)
{
	static const uint8_t zeroes[ZEROES];
	struct trn_touched *t = loc->chip->touched;
	uint64_t extent = first_extent(loc->chip, loc->place, loc->index) +
			  (loc->offset >> TRN_EXTENT_SHIFT);
	uint64_t n = least(*len, TRN_EXTENT - loc->offset % TRN_EXTENT);

	if (!extent_known(t, extent) &&
	    !written_from_outside(t, loc, extent, least(n, ZEROES))) {
		*len = least(n, ZEROES);
		return zeroes;
	}
	while (n < *len && extent_known(t, ++extent))
		n = least(*len, n + TRN_EXTENT);
	*len = n;
	return loc->ptr;
}

void trn_touched_read(const struct trn_loc *loc, void *buf, uint64_t len)
{
	struct trn_loc at = *loc;
	const uint8_t *source;
	uint8_t *to = buf;
	uint64_t n;

	for (; len; len -= n) {
		n = len;
		source = trn_touched_source(&at, &n);
		memcpy(to, source, n);
		at.offset += n;
		at.ptr += n;
		to += n;
	}
}

void trn_touched_forget(struct trn_chip *chip, enum trn_place place,
			unsigned int index, uint64_t offset, uint64_t len)
{
	struct trn_touched *t = chip->touched;
	uint64_t first = first_extent(chip, place, index);
	uint64_t end = first + ((offset + len) >> TRN_EXTENT_SHIFT);
	uint64_t extent = first +
			  ((offset + TRN_EXTENT - 1) >> TRN_EXTENT_SHIFT);

	if (chip->check)
		trn_check_forget(chip, place, index, offset, len);
	for (; extent < end; extent++) {
		uint64_t bit = 1ull << extent % 64;

		if (atomic_fetch_and(&t->bits[extent / 64], ~bit) & bit)
			atomic_fetch_sub(&t->used, TRN_EXTENT);
		atomic_fetch_and(&t->bits[t->words + extent / 64], ~bit);
	}
}

uint64_t trn_touched_used(const struct trn_chip *chip)
{
	const struct trn_touched *t = chip->touched;

	return atomic_load(&t->used);
}

/* Device memory may be written by the host as well, so these are not its pages. */
void trn_touched_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_touched *t = chip->touched;
	uint64_t extents = chip->gen->nr_hbm * t->hbm_extents +
			   (uint64_t)chip->gen->nr_cores * CORE_EXTENTS;
	uint64_t used = 0;
	size_t i;

	trn_state_block(st, TRN_STATE_NAME('T', 'O', 'U', 'C'), 1);
	for (i = 0; i < t->words; i++) {
		trn_state_atomic_u64(st, &t->bits[i]);
		used += (uint64_t)__builtin_popcountll(atomic_load(&t->bits[i]));
	}
	if (extents % 64 && atomic_load(&t->bits[t->words - 1]) >> extents % 64)
		trn_state_fail(st, "memory is in use that does not exist");
	if (st->loading)
		atomic_store(&t->used, used * TRN_EXTENT);
}

size_t trn_touched_own_bytes(const struct trn_chip *chip)
{
	const struct trn_touched *t = chip->touched;

	return sizeof(*t) + 2 * t->words * sizeof(*t->bits);
}
