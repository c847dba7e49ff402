// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks: the shadow of a memory. A bit for each byte tells whether it has been
 * written since the memory was cleared; pages that are written as a whole, or not
 * at all, take no memory. Pages that a job uses also have its accesses, by line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_backing.h"
#include "base/trn_chip.h"
#include "check/trn_check_private.h"
#include "job/trn_job.h"
#include "mem/trn_bus.h"

#define RACE_BYTES \
	(TRN_SHADOW_LINES * TRN_RACE_SLOTS * sizeof(struct trn_race))

/**
 * struct trn_shadow_page - of a page that is neither all written nor all unwritten
 *	or that a job has used
 * @written: a bit for each byte
 * @serial: of the group that @race is about
 * @race: TRN_RACE_SLOTS for each line, or NULL
 */
struct trn_shadow_page {
	uint64_t written[TRN_SHADOW_LINES];
	uint32_t serial;
	struct trn_race *race;
};

/* In place of a page: all of it is as they say. */
static struct trn_shadow_page all_written, all_unwritten;

static bool page_is_real(const struct trn_shadow_page *page)
{
	return page && page != &all_written && page != &all_unwritten;
}

static uint64_t nr_pages(const struct trn_shadow *shadow)
{
	return (shadow->size + TRN_SHADOW_PAGE - 1) / TRN_SHADOW_PAGE;
}

int trn_shadow_init(struct trn_shadow *shadow, uint64_t size,
		    const uint8_t *memory)
{
	shadow->size = size;
	shadow->memory = memory;
	shadow->page = (void *)trn_backing_alloc(nr_pages(shadow) *
					     sizeof(shadow->page[0]));
	if (!shadow->page)
		return -1;
	pthread_mutex_init(&shadow->lock, NULL);
	return 0;
}

static void page_drop(struct trn_shadow *shadow, uint64_t i)
{
	if (page_is_real(shadow->page[i])) {
		free(shadow->page[i]->race);
		free(shadow->page[i]);
	}
	shadow->page[i] = NULL;
}

static void page_set(struct trn_shadow *shadow, uint64_t i, struct trn_shadow_page *page)
{
	shadow->page[i] = page;
	if (shadow->first == shadow->end) {
		shadow->first = i;
		shadow->end = i + 1;
	}
	if (i < shadow->first)
		shadow->first = i;
	if (i >= shadow->end)
		shadow->end = i + 1;
}

/* What is known of accesses stays. */
static void page_fill(struct trn_shadow *shadow, uint64_t i)
{
	struct trn_shadow_page *page = shadow->page[i];

	if (page_is_real(page) && page->race) {
		memset(page->written, 0xff, sizeof(page->written));
		return;
	}
	page_drop(shadow, i);
	page_set(shadow, i, &all_written);
}

/* The table of an HBM stack has millions of pages, of which most chips use few. */
static void drop_all(struct trn_shadow *shadow)
{
	uint64_t i;

	if (shadow->first == shadow->end)
		return;
	for (i = shadow->first; i < shadow->end; i++)
		if (shadow->page[i])
			page_drop(shadow, i);
	shadow->first = 0;
	shadow->end = 0;
	trn_backing_discard((uint8_t *)shadow->page,
			    nr_pages(shadow) * sizeof(shadow->page[0]));
}

void trn_shadow_destroy(struct trn_shadow *shadow)
{
	if (!shadow->page)
		return;
	drop_all(shadow);
	trn_backing_free((uint8_t *)shadow->page,
			 nr_pages(shadow) * sizeof(shadow->page[0]));
	pthread_mutex_destroy(&shadow->lock);
}

void trn_shadow_forget(struct trn_shadow *shadow, uint64_t offset, uint64_t len)
{
	uint64_t i, end = (offset + len) / TRN_SHADOW_PAGE;

	pthread_mutex_lock(&shadow->lock);
	if (!offset && len >= shadow->size) {
		drop_all(shadow);
		shadow->trusted = false;
		goto unlock;
	}
	for (i = offset / TRN_SHADOW_PAGE; i < end; i++) {
		page_drop(shadow, i);
		if (shadow->trusted)
			page_set(shadow, i, &all_unwritten);
	}
unlock:
	pthread_mutex_unlock(&shadow->lock);
}

void trn_shadow_trust(struct trn_shadow *shadow)
{
	pthread_mutex_lock(&shadow->lock);
	drop_all(shadow);
	shadow->trusted = true;
	pthread_mutex_unlock(&shadow->lock);
}

static bool page_is_written(const struct trn_shadow *shadow, uint64_t i)
{
	return shadow->page[i] == &all_written ||
	       (!shadow->page[i] && shadow->trusted);
}

/* Page @i with bits. NULL: no memory; the page counts as written. */
static struct trn_shadow_page *page_get(struct trn_shadow *shadow, uint64_t i)
{
	struct trn_shadow_page *page = shadow->page[i];
	bool written = page_is_written(shadow, i);

	if (page_is_real(page))
		return page;
	page = calloc(1, sizeof(*page));
	if (page && written)
		memset(page->written, 0xff, sizeof(page->written));
	page_set(shadow, i, page ? page : &all_written);
	return page;
}

/* Bits of [@first, @end) in a line. */
static uint64_t line_mask(uint64_t first, uint64_t end)
{
	uint64_t mask = UINT64_MAX << first;

	return end < TRN_SHADOW_LINE ? mask & ~(UINT64_MAX << end) : mask;
}

static void mark_line(struct trn_shadow *shadow, uint64_t line, uint64_t mask)
{
	uint64_t i = line / TRN_SHADOW_LINES;
	struct trn_shadow_page *page;

	if (page_is_written(shadow, i))
		return;
	page = page_get(shadow, i);
	if (page)
		page->written[line % TRN_SHADOW_LINES] |= mask;
}

/* As much of [@offset, @end) as lies in one page; returns its end. */
static uint64_t mark_in_page(struct trn_shadow *shadow, uint64_t offset,
			     uint64_t end)
{
	uint64_t i = offset / TRN_SHADOW_PAGE;
	uint64_t line;

	if (end > (i + 1) * TRN_SHADOW_PAGE)
		end = (i + 1) * TRN_SHADOW_PAGE;
	if (end - offset == TRN_SHADOW_PAGE) {
		page_fill(shadow, i);
		return end;
	}
	while (offset < end) {
		uint64_t first = offset % TRN_SHADOW_LINE;

		line = offset / TRN_SHADOW_LINE;
		mark_line(shadow, line,
			  line_mask(first, first + (end - offset)));
		offset = (line + 1) * TRN_SHADOW_LINE;
	}
	return end;
}

void trn_shadow_written(struct trn_shadow *shadow, uint64_t offset, uint64_t len)
{
	uint64_t end = offset + len;

	pthread_mutex_lock(&shadow->lock);
	while (offset < end && end <= shadow->size)
		offset = mark_in_page(shadow, offset, end);
	pthread_mutex_unlock(&shadow->lock);
}

/*
 * The host writes HBM without being seen. It did where something is not zero that
 * nobody else has written, and then all of the page counts as written.
 */
static bool host_wrote(const struct trn_shadow *shadow, uint64_t i,
		       const struct trn_shadow_page *page)
{
	const uint8_t *bytes = shadow->memory + i * TRN_SHADOW_PAGE;
	unsigned int b;

	for (b = 0; b < TRN_SHADOW_PAGE; b++)
		if (bytes[b] && !(page->written[b / TRN_SHADOW_LINE] >>
				  b % TRN_SHADOW_LINE & 1))
			return true;
	return false;
}

/* Bytes of @mask that nobody has written; from now on they count as written. */
static uint64_t take_unwritten(struct trn_shadow *shadow, uint64_t line,
			       uint64_t mask)
{
	uint64_t i = line / TRN_SHADOW_LINES;
	struct trn_shadow_page *page;
	uint64_t missing;

	if (page_is_written(shadow, i))
		return 0;
	page = page_get(shadow, i);
	if (!page)
		return 0;
	missing = mask & ~page->written[line % TRN_SHADOW_LINES];
	if (missing && shadow->memory && host_wrote(shadow, i, page)) {
		page_fill(shadow, i);
		return 0;
	}
	page->written[line % TRN_SHADOW_LINES] |= missing;
	return missing;
}

/* The part of [@offset, @end) that lies in a page that is not all written. */
static uint64_t count_in_page(struct trn_shadow *shadow, uint64_t offset, uint64_t end,
			      struct trn_unwritten *found)
{
	uint64_t i = offset / TRN_SHADOW_PAGE, count = 0;
	const struct trn_shadow_page *page = shadow->page[i] ?: &all_unwritten;

	if (shadow->memory && host_wrote(shadow, i, page)) {
		page_fill(shadow, i);
		return 0;
	}
	for (; offset < end; offset++) {
		uint64_t b = offset % TRN_SHADOW_PAGE;

		if (page->written[b / TRN_SHADOW_LINE] >> b % TRN_SHADOW_LINE & 1)
			continue;
		if (!found->count && !count) {
			found->first = offset;
			found->end = offset;
		}
		if (found->end == offset)
			found->end++;
		count++;
	}
	return count;
}

void trn_shadow_take(struct trn_shadow *shadow, uint64_t offset, uint64_t len,
		     struct trn_unwritten *found)
{
	uint64_t end = offset + len, at, next;

	*found = (struct trn_unwritten){ .count = 0 };
	if (end < offset || end > shadow->size)
		return;
	pthread_mutex_lock(&shadow->lock);
	for (at = offset; at < end; at = next) {
		next = (at / TRN_SHADOW_PAGE + 1) * TRN_SHADOW_PAGE;
		if (next > end)
			next = end;
		if (!page_is_written(shadow, at / TRN_SHADOW_PAGE))
			found->count += count_in_page(shadow, at, next, found);
	}
	pthread_mutex_unlock(&shadow->lock);
	if (found->count)
		trn_shadow_written(shadow, offset, len);
}

/* Accesses of the visitor's group to a line; NULL: no memory. */
static struct trn_race *races_of(struct trn_visit *visit)
{
	const uint32_t serial = visit->actor->job->group->serial;
	struct trn_shadow_page *page;

	page = page_get(visit->shadow, visit->line / TRN_SHADOW_LINES);
	if (!page)
		return NULL;
	if (page->race && page->serial != serial)
		memset(page->race, 0, RACE_BYTES);
	page->serial = serial;
	if (!page->race)
		page->race = calloc(1, RACE_BYTES);
	if (!page->race)
		return NULL;
	return &page->race[visit->line % TRN_SHADOW_LINES * TRN_RACE_SLOTS];
}

static uint64_t address_of(const struct trn_visit *visit, uint64_t mask)
{
	return visit->line * TRN_SHADOW_LINE + (unsigned int)__builtin_ctzll(mask);
}

static void visit_races(struct trn_visit *visit)
{
	struct trn_race *slots = races_of(visit);
	struct trn_race other;
	uint64_t found;

	if (!slots)
		return;
	found = trn_race_access(slots, visit->actor, visit->mask, visit->write, &other);
	if (!found || visit->raced != TRN_SHADOW_NONE)
		return;
	visit->raced = address_of(visit, found);
	visit->other = other;
}

static void visit_line(struct trn_visit *visit)
{
	uint64_t missing = 0;

	if (!visit->mask)
		return;
	if (visit->write)
		mark_line(visit->shadow, visit->line, visit->mask);
	else if (!visit->partly)
		missing = take_unwritten(visit->shadow, visit->line, visit->mask);
	if (missing && visit->unwritten == TRN_SHADOW_NONE)
		visit->unwritten = address_of(visit, missing);
	if (visit->races)
		visit_races(visit);
	visit->mask = 0;
}

/* Not between groups: what they share is in order by more than is seen here. */
static bool may_race(const struct trn_check_actor *actor,
		     const struct trn_check_place *place)
{
	const struct trn_check_job *cj = actor->job;

	return place->chip == cj->check->chip && !atomic_load(&cj->group->blind) &&
	       (place->place == TRN_PLACE_HBM ||
		cj->group->cores & NEURON_BIT(place->index));
}

bool trn_visit_begin(struct trn_visit *visit, struct trn_check_actor *actor,
		     const struct trn_check_place *place, bool write, bool partly)
{
	*visit = (struct trn_visit){
		.actor = actor,
		.shadow = trn_shadow_find(place->chip, place->place, place->index),
		.place = *place,
		.write = write,
		.partly = partly,
		.races = may_race(actor, place),
		.unwritten = TRN_SHADOW_NONE,
		.raced = TRN_SHADOW_NONE,
	};
	if (!visit->shadow)
		return false;
	pthread_mutex_lock(&visit->shadow->lock);
	return true;
}

void trn_visit_bytes(struct trn_visit *visit, uint64_t offset, uint64_t len)
{
	uint64_t end = offset + len;

	if (end > visit->shadow->size)
		return;
	while (offset < end) {
		uint64_t line = offset / TRN_SHADOW_LINE;
		uint64_t first = offset % TRN_SHADOW_LINE;

		if (line != visit->line)
			visit_line(visit);
		visit->line = line;
		visit->mask |= line_mask(first, first + (end - offset));
		offset = (line + 1) * TRN_SHADOW_LINE;
	}
}

static void report_race(struct trn_visit *visit)
{
	const struct trn_race *other = &visit->other;
	char what[64];

	snprintf(what, sizeof(what), "%s, in no order with the %s of",
		 visit->write ? "writes" : "reads",
		 trn_race_is_write(other) ? "write" : "read");
	visit->place.offset = visit->raced;
	trn_check_report(visit->actor, TRN_CHECK_RACE, &visit->place, what, other);
}

void trn_visit_end(struct trn_visit *visit)
{
	visit_line(visit);
	pthread_mutex_unlock(&visit->shadow->lock);
	if (visit->unwritten != TRN_SHADOW_NONE) {
		visit->place.offset = visit->unwritten;
		trn_check_report(visit->actor, TRN_CHECK_UNWRITTEN, &visit->place,
				 "reads what nobody has written", NULL);
	}
	if (visit->raced != TRN_SHADOW_NONE)
		report_race(visit);
}
