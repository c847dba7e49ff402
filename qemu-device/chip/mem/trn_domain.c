// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Latching a window table, and the lookup of an address in it.
 *
 * Everything is checked in the copy, once, so that an access needs one bounds
 * check: wrap first, containment second, in trn_window_find() and nowhere else.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "contract/window.h"
#include "mem/trn_bus.h"
#include "mem/trn_domain.h"
#include "mem/trn_window.h"

struct latch {
	struct trn_core *core;
	struct trn_chip *chip;
	struct trn_domain *domain;
	unsigned int index;		/* window being checked */
	bool loading;			/* a saved table */
};

/* The kernel's table is wrong: say where and why. */
static enum neuron_cause reject(const struct latch *latch, const char *why)
{
	trn_log(latch->chip, TRN_LOG_GUEST_ERROR,
		"%s: window %u of the job's table refused: %s",
		latch->core->name, latch->index, why);
	return NEURON_CAUSE_JOB;
}

enum neuron_cause trn_table_read(struct trn_chip *chip, uint64_t addr,
				 void *buf, size_t len)
{
	enum neuron_cause cause;
	struct trn_loc loc;

	cause = trn_bus_locate(chip, addr, &loc);
	if (cause)
		return cause;
	if (loc.hops || loc.chip != chip || len > loc.len)
		return NEURON_CAUSE_ADDRESS;
	if (loc.place != TRN_PLACE_HOST && loc.place != TRN_PLACE_HBM)
		return NEURON_CAUSE_ADDRESS;
	return trn_bus_read(chip, addr, buf, len);
}

static bool place_fits(const struct latch *latch, unsigned int kind,
		       uint64_t addr, const struct trn_loc *loc)
{
	const uint64_t host = latch->chip->gen->host_base;
	bool routed = addr & NEURON_ADDR_FABRIC;
	bool local = !routed && loc->chip == latch->chip;

	switch (kind) {
	case NEURON_WINDOW_HBM:
		return local && loc->place == TRN_PLACE_HBM;
	case NEURON_WINDOW_HOST:
	case NEURON_WINDOW_STREAM:
		return local && loc->place == TRN_PLACE_HOST &&
		       addr == (host | (addr & (host - 1)));
	case NEURON_WINDOW_SBUF:
		return local && loc->place == TRN_PLACE_SBUF &&
		       loc->index == latch->core->tpb->index;
	case NEURON_WINDOW_PSUM:
		return local && loc->place == TRN_PLACE_PSUM &&
		       loc->index == latch->core->tpb->index;
	case NEURON_WINDOW_PEER:
		return routed && loc->chip != latch->chip &&
		       (loc->place == TRN_PLACE_HBM ||
			loc->place == TRN_PLACE_SBUF);
	case NEURON_WINDOW_SEM:
		return (local || routed) && loc->place == TRN_PLACE_SEM &&
		       loc->core && loc->offset == 0;
	case NEURON_WINDOW_GRANT:
		return (local || routed) && loc->place == TRN_PLACE_SBUF;
	default:
		return false;
	}
}

/* An address on another chip, in a window of a kind that may lead to one. */
static bool is_peer(const struct latch *latch, unsigned int kind, uint64_t addr)
{
	return (kind == NEURON_WINDOW_PEER || kind == NEURON_WINDOW_SEM ||
		kind == NEURON_WINDOW_GRANT) &&
	       (addr & NEURON_ADDR_FABRIC) && !(addr & NEURON_ADDR_WINDOW) &&
	       NEURON_GET(NEURON_ADDR_FABRIC_CHIP, addr) !=
		       latch->chip->config.fabric_id;
}

/* No byte of it is on a third chip. */
static bool stays_on_peer(uint64_t addr, uint64_t length)
{
	return length <= NEURON_ADDR_FABRIC_DEVICE + 1 -
				 NEURON_GET(NEURON_ADDR_FABRIC_DEVICE, addr);
}

/* The memory behind [@addr, +@length) is what @kind says. */
static enum neuron_cause check_extent(const struct latch *latch,
				      unsigned int kind, uint64_t addr,
				      uint64_t length)
{
	struct trn_loc loc = { 0 };
	enum neuron_cause cause;

	/*
	 * Saved by a machine in which the other chip may have been unplugged, or a
	 * link gone down, since the latch: it need not be within reach, because each
	 * access looks it up again and checks what is there.
	 */
	if (latch->loading && is_peer(latch, kind, addr))
		return stays_on_peer(addr, length) ?
			       NEURON_CAUSE_NONE :
			       reject(latch, "an extent leaves its chip");
	cause = trn_bus_locate(latch->chip, addr, &loc);
	if (cause == NEURON_CAUSE_FABRIC && !loc.chip && is_peer(latch, kind, addr)) {
		/* The table may be right, and a link be down or the chip have left. */
		reject(latch, "the fabric does not lead there");
		return cause;
	}
	if (cause)
		return reject(latch, "an address maps to nothing");
	if (!place_fits(latch, kind, addr, &loc))
		return reject(latch, "an address is not of the window's kind");
	if (kind != NEURON_WINDOW_SEM && length > loc.len)
		return reject(latch, "an extent leaves its memory");
	return NEURON_CAUSE_NONE;
}

static bool extents_reserve(struct trn_domain *domain, uint32_t more)
{
	uint32_t want = domain->nr_extents + more;
	struct trn_extent *extents;
	uint32_t room;

	if (want <= domain->room)
		return true;
	room = domain->room * 2 > want ? domain->room * 2 : want;
	extents = realloc(domain->extents, room * sizeof(*extents));
	if (!extents)
		return false;
	domain->extents = extents;
	domain->room = room;
	return true;
}

/* Append [@addr, +@length) to @window; there is room. */
static enum neuron_cause add_extent(const struct latch *latch,
				    struct trn_window *window, uint64_t addr,
				    uint64_t length)
{
	struct trn_domain *domain = latch->domain;
	enum neuron_cause cause;
	const char *why;

	why = neuron_hw_window_check_extent(window->length, length);
	if (why)
		return reject(latch, why);
	cause = check_extent(latch, window->flags & NEURON_WINDOW_KIND, addr,
			     length);
	if (cause)
		return cause;

	domain->extents[domain->nr_extents].start = window->length;
	domain->extents[domain->nr_extents].addr = addr;
	domain->nr_extents++;
	window->nr_extents++;
	window->length += length;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause make_room(const struct latch *latch, uint32_t more)
{
	if (!more)
		return reject(latch, "the extent list is empty");
	if (more > NEURON_MAX_EXTENTS - latch->domain->nr_extents)
		return reject(latch, "too many extents");
	if (!extents_reserve(latch->domain, more))
		return reject(latch, "the host is out of memory");
	return NEURON_CAUSE_NONE;
}

/* Whether the extents of @window are as long as its entry says. */
static enum neuron_cause check_length(const struct latch *latch,
				      const struct trn_window *window,
				      const struct neuron_hw_window *hw)
{
	return window->length == hw->length ?
		       NEURON_CAUSE_NONE :
		       reject(latch, "extents do not add up to its length");
}

/* All extents of @window; there is room. */
static enum neuron_cause add_extents(const struct latch *latch,
				     struct trn_window *window,
				     const struct neuron_hw_window *hw,
				     const struct neuron_hw_extent *list)
{
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	uint32_t i;

	for (i = 0; !cause && i < hw->nr_extents; i++)
		cause = add_extent(latch, window, neuron_hw_extent_addr(&list[i]),
				   neuron_hw_extent_length(&list[i]));
	return cause ? cause : check_length(latch, window, hw);
}

/*
 * Add at most @left extents from @addr to the end of its page.
 * *@addr: where the list goes on.
 */
static enum neuron_cause add_page(const struct latch *latch, struct trn_window *window,
				  uint64_t *addr, uint32_t left)
{
	struct neuron_hw_extent list[NEURON_LIST_PAGE / sizeof(struct neuron_hw_extent)];
	uint32_t slots = neuron_hw_extent_slots(*addr), i;
	enum neuron_cause cause;
	const char *why;

	if (slots > left)
		slots = left;
	cause = trn_table_read(latch->chip, *addr, list, slots * sizeof(list[0]));
	if (cause) {
		reject(latch, "the extent list cannot be read");
		return cause;
	}
	for (i = 0; i < slots; i++, *addr += sizeof(list[0])) {
		if (neuron_hw_extent_is_link(*addr, &list[i])) {
			why = neuron_hw_extent_check_link(&list[i]);
			*addr = neuron_hw_extent_addr(&list[i]);
			return why ? reject(latch, why) : NEURON_CAUSE_NONE;
		}
		cause = add_extent(latch, window, neuron_hw_extent_addr(&list[i]),
				   neuron_hw_extent_length(&list[i]));
		if (cause)
			return cause;
	}
	return NEURON_CAUSE_NONE;
}

/*
 * A link leads to the beginning of a page, so all extents of that page come before the
 * next link. However the pages are linked, the loop ends.
 */
static enum neuron_cause add_list(const struct latch *latch,
				  struct trn_window *window,
				  const struct neuron_hw_window *hw)
{
	enum neuron_cause cause = make_room(latch, hw->nr_extents);
	uint64_t addr = hw->base;

	while (!cause && window->nr_extents < hw->nr_extents)
		cause = add_page(latch, window, &addr, hw->nr_extents - window->nr_extents);
	return cause ? cause : check_length(latch, window, hw);
}

static bool window_empty(const struct neuron_hw_window *hw)
{
	return (hw->flags & NEURON_WINDOW_KIND) == NEURON_WINDOW_EMPTY;
}

/* All but the extents of a window. */
static enum neuron_cause begin_window(const struct latch *latch,
				      struct trn_window *window,
				      const struct neuron_hw_window *hw)
{
	const char *why = neuron_hw_window_check(hw);

	if (why)
		return reject(latch, why);
	if (window_empty(hw))
		return NEURON_CAUSE_NONE;

	window->flags = hw->flags;
	window->extent = latch->domain->nr_extents;
	window->generation = hw->generation;
	window->sem_first = hw->sem_first;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause latch_window(const struct latch *latch,
				      struct trn_window *window,
				      const struct neuron_hw_window *hw)
{
	enum neuron_cause cause;

	cause = begin_window(latch, window, hw);
	if (cause || window_empty(hw))
		return cause;
	if (hw->flags & NEURON_WINDOW_LIST)
		return add_list(latch, window, hw);
	cause = make_room(latch, 1);
	return cause ? cause : add_extent(latch, window, hw->base, hw->length);
}

/* Of the table, its directory or a piece. */
static enum neuron_cause latch_read(const struct latch *latch, uint64_t addr, void *buf,
				    size_t len)
{
	enum neuron_cause cause = trn_table_read(latch->chip, addr, buf, len);

	if (cause)
		trn_log(latch->chip, TRN_LOG_GUEST_ERROR,
			"%s: no window table at %#" PRIx64 " (%s)",
			latch->core->name, addr, trn_cause_name(cause));
	return cause;
}

/* @nr entries at @addr, from entry @first of the domain. */
static enum neuron_cause latch_entries(struct latch *latch, uint64_t addr, unsigned int first,
				       unsigned int nr)
{
	struct neuron_hw_window hw[NEURON_TABLE_PIECE];
	enum neuron_cause cause = latch_read(latch, addr, hw, nr * sizeof(hw[0]));
	unsigned int i;

	for (i = 0; !cause && i < nr; i++) {
		latch->index = first + i;
		cause = latch_window(latch, &latch->domain->windows[first + i], &hw[i]);
	}
	return cause;
}

static unsigned int piece_entries(const struct trn_domain *domain, unsigned int first)
{
	unsigned int left = domain->nr - first;

	return left < NEURON_TABLE_PIECE ? left : NEURON_TABLE_PIECE;
}

static enum neuron_cause latch_table(struct latch *latch, uint64_t table)
{
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	unsigned int first;

	for (first = 0; !cause && first < latch->domain->nr; first += NEURON_TABLE_PIECE)
		cause = latch_entries(latch, table + first * sizeof(struct neuron_hw_window),
				      first, piece_entries(latch->domain, first));
	return cause;
}

static enum neuron_cause latch_pieces(struct latch *latch, uint64_t directory)
{
	uint64_t piece[NEURON_TABLE_PIECES(NEURON_MAX_WINDOWS)];
	unsigned int nr = NEURON_TABLE_PIECES(latch->domain->nr), i;
	enum neuron_cause cause;

	cause = latch_read(latch, directory, piece, nr * sizeof(piece[0]));
	for (i = 0; !cause && i < nr; i++)
		if (piece[i])
			cause = latch_entries(latch, piece[i], i * NEURON_TABLE_PIECE,
					      piece_entries(latch->domain,
							    i * NEURON_TABLE_PIECE));
	return cause;
}

struct trn_domain *trn_domain_new(struct trn_core *core, unsigned int nr)
{
	struct trn_domain *domain;

	if (nr > NEURON_MAX_WINDOWS)
		return NULL;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	domain->core = core;
	domain->nr = nr;
	domain->windows = nr ? calloc(nr, sizeof(*domain->windows)) : NULL;
	if (!nr || domain->windows)
		return domain;
	trn_domain_free(domain);
	return NULL;
}

enum neuron_cause trn_domain_add(struct trn_domain *domain, unsigned int index,
				 const struct neuron_hw_window *hw,
				 const struct neuron_hw_extent *list)
{
	const struct latch latch = {
		.core = domain->core,
		.chip = domain->core->chip,
		.domain = domain,
		.index = index,
		.loading = true,
	};
	struct trn_window *window = &domain->windows[index];
	struct neuron_hw_window written = *hw;
	enum neuron_cause cause;

	/* A saved window has an extent where its table had an address. */
	if (!(hw->flags & NEURON_WINDOW_LIST) && hw->nr_extents == 1) {
		written.nr_extents = 0;
		written.base = list->addr;
	}
	cause = begin_window(&latch, window, &written);
	if (cause || window_empty(hw))
		return cause;
	cause = make_room(&latch, hw->nr_extents);
	return cause ? cause : add_extents(&latch, window, hw, list);
}

static enum neuron_cause domain_latch(struct trn_core *core, uint64_t table, unsigned int nr,
				      bool pieces, struct trn_domain **domain, uint64_t *far)
{
	struct latch latch = { .core = core, .chip = core->chip };
	enum neuron_cause cause = NEURON_CAUSE_NONE;

	latch.domain = trn_domain_new(core, nr);
	if (!latch.domain)
		return NEURON_CAUSE_JOB;
	if (nr)
		cause = pieces ? latch_pieces(&latch, table) : latch_table(&latch, table);
	if (cause)
		trn_domain_free(latch.domain);
	else
		*domain = latch.domain;
	if (cause == NEURON_CAUSE_FABRIC && far)
		*far = neuron_window_addr(latch.index, 0);
	return cause;
}

enum neuron_cause trn_domain_latch(struct trn_core *core, uint64_t table, unsigned int nr,
				   struct trn_domain **domain, uint64_t *far)
{
	return domain_latch(core, table, nr, false, domain, far);
}

enum neuron_cause trn_domain_latch_pieces(struct trn_core *core, uint64_t directory,
					  unsigned int nr, struct trn_domain **domain,
					  uint64_t *far)
{
	return domain_latch(core, directory, nr, true, domain, far);
}

void trn_domain_free(struct trn_domain *domain)
{
	if (!domain)
		return;
	free(domain->windows);
	free(domain->extents);
	free(domain);
}

enum neuron_cause trn_window_find(const struct trn_domain *domain,
				  uint64_t addr, uint64_t len, uint32_t rights,
				  const struct trn_window **found,
				  uint64_t *offset)
{
	uint64_t index = NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr);
	uint64_t first = addr & NEURON_ADDR_WINDOW_OFFSET;
	const struct trn_window *window;
	unsigned int kind;

	if (!(addr & NEURON_ADDR_WINDOW) || index >= domain->nr)
		return NEURON_CAUSE_WINDOW;
	window = &domain->windows[index];
	/* An empty window has length 0, so nothing is inside. */
	if (len > window->length || first > window->length - len ||
	    !window->length)
		return NEURON_CAUSE_WINDOW;
	kind = window->flags & NEURON_WINDOW_KIND;
	if (kind == NEURON_WINDOW_SEM && (len != 4 || first % 4))
		return NEURON_CAUSE_WINDOW;
	if (kind == NEURON_WINDOW_STREAM && !(rights & TRN_WINDOW_NOTIFY))
		return NEURON_CAUSE_WINDOW;
	if (kind == NEURON_WINDOW_STREAM)
		rights = 0;
	rights &= ~TRN_WINDOW_NOTIFY;
	if ((window->flags & rights) != rights)
		return NEURON_CAUSE_RIGHTS;
	*found = window;
	*offset = first;
	return NEURON_CAUSE_NONE;
}

uint64_t trn_window_piece(const struct trn_domain *domain,
			  const struct trn_window *window, uint64_t offset,
			  uint64_t *len)
{
	const struct trn_extent *extents = &domain->extents[window->extent];
	uint32_t lo = 0, hi = window->nr_extents, mid;
	uint64_t end;

	/* The last extent that starts at or before @offset. */
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (extents[mid].start <= offset)
			lo = mid;
		else
			hi = mid;
	}
	end = lo + 1 < window->nr_extents ? extents[lo + 1].start :
					    window->length;
	if (*len > end - offset)
		*len = end - offset;
	return extents[lo].addr + (offset - extents[lo].start);
}

/* --- saving and loading --- */

/* The extents of a window as the tables of a job have them. */
static void extents_state(const struct trn_domain *domain,
			  const struct trn_window *window,
			  struct neuron_hw_extent *list, uint32_t nr,
			  struct trn_state *st)
{
	const struct trn_extent *extent;
	uint64_t end;
	uint32_t i;

	for (i = 0; !st->loading && i < nr; i++) {
		extent = &domain->extents[window->extent];
		end = i + 1 < nr ? extent[i + 1].start : window->length;
		list[i] = neuron_hw_extent(extent[i].addr, end - extent[i].start);
	}
	trn_state_bytes(st, list, nr * sizeof(*list));
}

static void window_state(struct trn_domain *domain, unsigned int index,
			 struct trn_state *st)
{
	const struct trn_window *window = &domain->windows[index];
	struct neuron_hw_window hw = {
		.length = window->length,
		.flags = window->flags,
		.nr_extents = window->nr_extents,
		.generation = window->generation,
		.sem_first = window->sem_first,
	};
	struct neuron_hw_extent *list = NULL;

	trn_state_bytes(st, &hw, sizeof(hw));
	if (hw.nr_extents > NEURON_MAX_EXTENTS)
		trn_state_fail(st, "a window has too many extents");
	if (trn_state_failed(st))
		return;
	if (hw.nr_extents) {
		list = calloc(hw.nr_extents, sizeof(*list));
		if (!list) {
			trn_state_fail(st, "out of memory");
			return;
		}
		extents_state(domain, window, list, hw.nr_extents, st);
	}
	if (st->loading && !trn_state_failed(st) &&
	    trn_domain_add(domain, index, &hw, list))
		trn_state_fail(st, "a window of a job is not valid here");
	free(list);
}

void trn_domain_state(struct trn_core *core, struct trn_domain **domain,
		      struct trn_state *st)
{
	uint32_t nr = *domain ? (*domain)->nr : 0;
	unsigned int i;

	nr = trn_state_count(st, nr, NEURON_MAX_WINDOWS);
	if (trn_state_failed(st))
		return;
	if (st->loading) {
		*domain = trn_domain_new(core, nr);
		if (!*domain) {
			trn_state_fail(st, "out of memory");
			return;
		}
	}
	for (i = 0; i < nr && !trn_state_failed(st); i++)
		window_state(*domain, i, st);
}
