// SPDX-License-Identifier: MIT
/*
 * Joins events with what the NEFF says of them, finds the critical path, and names things.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip/isa/trn_isa.h"
#include "neuron/udma.h"
#include "profile.h"

/* The first line is not an event, and lines count from 1. */
static unsigned long line_of(uint32_t event)
{
	return event + 2ul;
}

static NRT_STATUS other_neff(const struct profile *profile, uint32_t event, const char *what,
			     struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID,
			     "%s:%lu: the NEFF has no such %s: it is not the one that ran",
			     profile->path, line_of(event), what);
}

static NRT_STATUS link_instruction(struct profile *profile, uint32_t index,
				   struct nrt_error *error)
{
	struct profile_event *event = &profile->event[index];
	const struct profile_core *core = &profile->core[profile_core_of(event->actor)];
	unsigned int engine = profile_unit_of(event->actor);

	if (event->pc >= core->graph->image_count[engine] ||
	    core->image[engine][event->pc].opcode != event->code)
		return other_neff(profile, index, "instruction", error);
	event->step = core->first_step[engine] + event->pc;
	event->owner = index;
	return NRT_SUCCESS;
}

static NRT_STATUS link_packet(struct profile *profile, uint32_t index, struct nrt_error *error)
{
	struct profile_event *event = &profile->event[index];
	const struct profile_core *core = &profile->core[profile_core_of(event->actor)];
	unsigned int unit = profile_unit_of(event->actor);
	unsigned int ring = unit - NEURON_NR_ENGINES;

	if (ring >= core->program.nr_rings)
		return other_neff(profile, index, "queue", error);
	event->step = profile_generated(profile);
	if (event->pc & NEURON_UDMA_PC_GENERATED)
		return NRT_SUCCESS;
	if (event->pc >= core->program.rings[ring].used)
		return other_neff(profile, index, "descriptor", error);
	event->step = core->first_step[unit] + event->pc;
	return NRT_SUCCESS;
}

static NRT_STATUS link_event(struct profile *profile, uint32_t index, struct nrt_error *error)
{
	const uint32_t actor = profile->event[index].actor;

	if (profile_core_of(actor) >= profile->nr_cores)
		return other_neff(profile, index, "physical core", error);
	return profile_is_queue(actor) ? link_packet(profile, index, error) :
					 link_instruction(profile, index, error);
}

/* The order of the file is that of the program, for one actor. */
static NRT_STATUS sort_by_actor(struct profile *profile, struct nrt_error *error)
{
	uint32_t i, next = 0;

	profile->order = calloc(profile->nr_events, sizeof(*profile->order));
	if (!profile->order)
		return nrt_error_memory(error);
	for (i = 0; i < profile->nr_events; i++)
		profile->actor[profile->event[i].actor].count++;
	for (i = 0; i < PROFILE_MAX_CORES * PROFILE_ACTORS; i++) {
		profile->actor[i].first = next;
		next += profile->actor[i].count;
		profile->actor[i].count = 0;
	}
	for (i = 0; i < profile->nr_events; i++) {
		struct profile_actor *actor = &profile->actor[profile->event[i].actor];

		profile->order[actor->first + actor->count++] = i;
	}
	return NRT_SUCCESS;
}

NRT_STATUS profile_link(struct profile *profile, struct nrt_error *error)
{
	uint32_t i;

	for (i = 0; i < profile->nr_events; i++) {
		if (link_event(profile, i, error))
			return error->status;
		if (profile->event[i].end_ns > profile->event[profile->last].end_ns)
			profile->last = i;
	}
	return sort_by_actor(profile, error);
}

/* --- The critical path --- */

/* Events of an actor that may lie beside each other: loads in the background of products. */
#define BESIDE	64

/* The event of the same actor that was over last when @index began, or PROFILE_NONE. */
static uint32_t before(const struct profile *profile, const uint32_t *place, uint32_t index)
{
	const struct profile_event *event = &profile->event[index];
	const struct profile_actor *actor = &profile->actor[event->actor];
	uint32_t best = PROFILE_NONE, at = place[index], tries;

	for (tries = 0; tries < BESIDE && at-- > actor->first; tries++) {
		uint32_t other = profile->order[at];

		if (profile->event[other].end_ns > event->begin_ns)
			continue;
		if (best == PROFILE_NONE ||
		    profile->event[other].end_ns > profile->event[best].end_ns)
			best = other;
	}
	return best;
}

/* When what @index did mattered to @next at the latest: posts of events come before the end. */
static uint64_t mattered_ns(const struct profile *profile, uint32_t index, uint32_t next)
{
	const uint64_t end = profile->event[index].end_ns, begin = profile->event[next].begin_ns;

	return end < begin ? end : begin;
}

/* What @index could not begin before, or PROFILE_NONE: it began with the execution. */
static uint32_t pred(const struct profile *profile, const uint32_t *place, uint32_t index)
{
	const uint32_t mine = before(profile, place, index), cause = profile->event[index].cause;

	if (cause == PROFILE_NONE)
		return mine;
	if (mine != PROFILE_NONE &&
	    mattered_ns(profile, mine, index) > mattered_ns(profile, cause, index))
		return mine;
	return cause;
}

/*
 * Each event on the path gets the time from where the one before it mattered to where it did.
 * An event without duration may wait for one of the same moment; the count bounds such a
 * circle.
 */
void profile_critical(struct profile *profile)
{
	uint32_t *place = calloc(profile->nr_events, sizeof(*place));
	uint64_t until = profile->event[profile->last].end_ns;
	uint32_t at = profile->last, i;

	if (!place)
		return;
	for (i = 0; i < profile->nr_events; i++)
		place[profile->order[i]] = i;
	for (i = 0; i < profile->nr_events && at != PROFILE_NONE; i++) {
		uint32_t next = pred(profile, place, at);
		uint64_t from = next == PROFILE_NONE ? 0 : mattered_ns(profile, next, at);

		profile->event[at].critical_ns += until - from;
		until = from;
		at = next;
	}
	free(place);
}

/* --- What is asked for later --- */

uint64_t profile_hbm_read(const struct profile *profile, const struct profile_event *event)
{
	if (event->step != profile_generated(profile))
		return profile->step[event->step].hbm_read;
	return profile_ends(profile, event)->from == PROFILE_MEMORY_HBM ? event->bytes : 0;
}

uint64_t profile_hbm_written(const struct profile *profile, const struct profile_event *event)
{
	if (event->step != profile_generated(profile))
		return profile->step[event->step].hbm_written;
	return profile_ends(profile, event)->to == PROFILE_MEMORY_HBM ? event->bytes : 0;
}

const char *profile_source(const struct profile *profile, uint32_t event, uint32_t *line)
{
	uint32_t owner = profile->event[event].owner;
	const struct profile_step *step;

	if (owner == PROFILE_NONE)
		return NULL;
	step = &profile->step[profile->event[owner].step];
	*line = step->line;
	return step->source;
}

/* --- Names --- */

static const struct neff_set *set_of(const struct neff_graph *graph, unsigned int ring)
{
	size_t i;

	for (i = 0; i < graph->nr_sets; i++)
		if (ring >= graph->sets[i].index &&
		    ring < graph->sets[i].index + graph->sets[i].num)
			return &graph->sets[i];
	return NULL;
}

static void queue_name(const struct neff_graph *graph, unsigned int ring, char *text, size_t size)
{
	const struct neff_set *set = set_of(graph, ring);

	if (!set)
		snprintf(text, size, "queue %u", ring);
	else if (set->num == 1)
		snprintf(text, size, "%s", set->name);
	else
		snprintf(text, size, "%s[%u]", set->name, ring - set->index);
}

void profile_actor_name(const struct profile *profile, uint32_t actor, char text[PROFILE_TEXT])
{
	unsigned int core = profile_core_of(actor), unit = profile_unit_of(actor);
	size_t at = 0;

	if (profile->nr_cores > 1)
		at = (size_t)snprintf(text, PROFILE_TEXT, "%u:", core);
	if (profile_is_queue(actor))
		queue_name(profile->core[core].graph, unit - NEURON_NR_ENGINES, text + at,
			   PROFILE_TEXT - at);
	else
		snprintf(text + at, PROFILE_TEXT - at, "%s", trn_isa_engine_name(unit));
}

void profile_place_name(const struct profile *profile, uint32_t event, char text[PROFILE_TEXT])
{
	const uint32_t owner = profile->event[event].owner;
	const char *source;
	uint32_t line;
	size_t at;

	source = profile_source(profile, event, &line);
	if (source) {
		snprintf(text, PROFILE_TEXT, "%s:%u", source, line);
		return;
	}
	if (owner == PROFILE_NONE) {
		profile_actor_name(profile, profile->event[event].actor, text);
		return;
	}
	profile_actor_name(profile, profile->event[owner].actor, text);
	at = strlen(text);
	snprintf(text + at, PROFILE_TEXT - at, "+%u", profile->event[owner].pc);
}

static void packet_name(const struct profile *profile, const struct profile_event *event,
			char *text)
{
	const struct profile_step *ends = profile_ends(profile, event);
	const struct profile_step *step = &profile->step[event->step];

	if (ends->to == PROFILE_MEMORY_SEM)
		snprintf(text, PROFILE_TEXT, "post semaphore %d", step->post_sem);
	else
		snprintf(text, PROFILE_TEXT, "%llu bytes %s to %s",
			 (unsigned long long)event->bytes, profile_memory_name(ends->from),
			 profile_memory_name(ends->to));
}

void profile_event_name(const struct profile *profile, uint32_t index, char text[PROFILE_TEXT])
{
	const struct profile_event *event = &profile->event[index];
	const struct profile_core *core = &profile->core[profile_core_of(event->actor)];
	unsigned int unit = profile_unit_of(event->actor);

	if (profile_is_queue(event->actor))
		packet_name(profile, event, text);
	else
		trn_isa_format(text, PROFILE_TEXT, &core->image[unit][event->pc]);
}

const char *profile_memory_name(unsigned int memory)
{
	static const char *const names[PROFILE_NR_MEMORIES] = {
		[PROFILE_MEMORY_NONE] = "none",
		[PROFILE_MEMORY_HBM] = "HBM",
		[PROFILE_MEMORY_SBUF] = "SBUF",
		[PROFILE_MEMORY_SIBLING] = "sibling SBUF",
		[PROFILE_MEMORY_PEER] = "peer",
		[PROFILE_MEMORY_SEM] = "semaphore",
		[PROFILE_MEMORY_LOADER] = "constant",
		[PROFILE_MEMORY_UNKNOWN] = "unknown",
	};

	return names[memory];
}

const char *profile_why_name(unsigned int why)
{
	static const char *const names[PROFILE_NR_WHYS] = {
		[PROFILE_WHY_NOTHING] = "nothing",
		[PROFILE_WHY_SEMAPHORE] = "semaphore",
		[PROFILE_WHY_TRIGGER] = "start of DMA",
		[PROFILE_WHY_ENGINE] = "DMA engine",
		[PROFILE_WHY_PORT] = "memory port",
		[PROFILE_WHY_UNKNOWN] = "unknown",
	};

	return names[why];
}
