// SPDX-License-Identifier: MIT
/*
 * The timeline as text: a line for each engine and for each set of queues, a character for each
 * part of the time, which says how busy the lane was in it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

#define COLUMNS		64
/* Nothing, a little, up to a half, more, nearly all of the time. */
#define LEVELS		" .:+#"

/**
 * struct lane - an engine, or the queues of a set
 * @name: of the set without a number
 * @actors: how many it has
 * @busy: in each part of the time, in ns of all actors together
 */
struct lane {
	char name[PROFILE_TEXT];
	unsigned int actors;
	uint64_t busy[COLUMNS];
};

/* Where part @column of the time begins. */
static uint64_t column_begin(const struct profile *profile, unsigned int column)
{
	return profile->length_ns * column / COLUMNS;
}

static void add_span(const struct profile *profile, struct lane *lane, uint64_t begin,
		     uint64_t end)
{
	unsigned int column = (unsigned int)(begin * COLUMNS / profile->length_ns);
	uint64_t from, to;

	/* Divisions round down: the part may be the one before. */
	column -= column && begin < column_begin(profile, column);
	for (; column < COLUMNS && begin < end; column++) {
		from = column_begin(profile, column);
		to = column_begin(profile, column + 1);
		from = begin > from ? begin : from;
		to = end < to ? end : to;
		lane->busy[column] += to > from ? to - from : 0;
	}
}

/* What lies in the background of something else of the same actor adds nothing. */
static void add_actor(const struct profile *profile, struct lane *lane, uint32_t actor)
{
	const struct profile_actor *events = &profile->actor[actor];
	uint64_t reached = 0, begin;
	uint32_t i;

	for (i = events->first; i < events->first + events->count; i++) {
		const struct profile_event *event = &profile->event[profile->order[i]];

		begin = event->begin_ns > reached ? event->begin_ns : reached;
		if (event->end_ns <= begin)
			continue;
		add_span(profile, lane, begin, event->end_ns);
		reached = event->end_ns;
	}
	lane->actors++;
}

static void print_lane(const struct profile *profile, const struct lane *lane, int width,
		       FILE *out)
{
	const unsigned int most = (unsigned int)strlen(LEVELS) - 1;
	unsigned int column;
	uint64_t whole, level;

	fprintf(out, "%-*s |", width, lane->name);
	for (column = 0; column < COLUMNS; column++) {
		whole = (column_begin(profile, column + 1) - column_begin(profile, column)) *
			lane->actors;
		level = whole ? (lane->busy[column] * most + whole - 1) / whole : 0;
		fputc(LEVELS[level > most ? most : level], out);
	}
	fprintf(out, "|\n");
}

/* An engine's own, or that of its set: "q[3]" is of "q". */
static void lane_name(const struct profile *profile, uint32_t actor, char text[PROFILE_TEXT])
{
	char *bracket;

	profile_actor_name(profile, actor, text);
	bracket = strrchr(text, '[');
	if (profile_is_queue(actor) && bracket)
		*bracket = '\0';
}

/* Lanes with something in them, in the order of the actors; @lane has room for all. */
static size_t find_lanes(const struct profile *profile, struct lane *lane)
{
	const uint32_t actors = profile->nr_cores * PROFILE_ACTORS;
	char name[PROFILE_TEXT];
	size_t nr = 0;
	uint32_t actor;

	for (actor = 0; actor < actors; actor++) {
		if (!profile->actor[actor].count)
			continue;
		lane_name(profile, actor, name);
		if (!nr || !profile_is_queue(actor) || strcmp(lane[nr - 1].name, name)) {
			memset(&lane[nr], 0, sizeof(lane[nr]));
			strcpy(lane[nr++].name, name);
		}
		add_actor(profile, &lane[nr - 1], actor);
	}
	return nr;
}

NRT_STATUS view_timeline(const struct profile *profile, FILE *out, struct nrt_error *error)
{
	struct lane *lane = calloc((size_t)profile->nr_cores * PROFILE_ACTORS, sizeof(*lane));
	char length[VIEW_NUMBER];
	int width = 0, here;
	size_t nr = 0, i;

	if (!lane)
		return nrt_error_memory(error);
	if (profile->length_ns)
		nr = find_lanes(profile, lane);
	for (i = 0; i < nr; i++) {
		here = (int)strlen(lane[i].name);
		width = here > width ? here : width;
	}
	view_time(profile->length_ns, length);
	fprintf(out, "%-*s  0%*s\n", width, "", COLUMNS - 1, length);
	for (i = 0; i < nr; i++)
		print_lane(profile, &lane[i], width, out);
	free(lane);
	return NRT_SUCCESS;
}
