// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip/time/trn_cost.h"
#include "sum.h"

#define ARRAY_CELLS	(128.0 * 128.0)
#define LANES		128.0

/* --- Groups --- */

/* An event and the group that it is in. */
struct member {
	uint64_t key;
	uint32_t event;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* Engines of a core, and then its DMA engines. */
static uint64_t engine_key(const struct profile_event *event)
{
	uint64_t core = profile_core_of(event->actor) * PROFILE_ACTORS;

	if (!profile_is_queue(event->actor))
		return event->actor;
	return core + NEURON_NR_ENGINES + profile_dma_engine_of(event->actor);
}

/* Files of both cores that have one name are one file. */
static uint64_t source_number(const struct profile *profile, const char *source)
{
	uint64_t base = 0;
	unsigned int core;
	size_t i;

	for (core = 0; core < profile->nr_cores; core++) {
		const struct neff_graph *graph = profile->core[core].graph;

		for (i = 0; i < graph->nr_sources; i++)
			if (!strcmp(graph->sources[i], source))
				return base + i;
		base += graph->nr_sources;
	}
	return base;
}

static uint64_t instruction_key(const struct profile *profile, uint32_t index)
{
	uint32_t owner = profile->event[index].owner;

	/* A packet whose trigger is not in the profile goes with its queue. */
	if (owner == PROFILE_NONE)
		return 1ull << 62 | profile->event[index].actor;
	return profile->event[owner].step;
}

/* Lines first, by file; then the instructions without a line. */
static uint64_t line_key(const struct profile *profile, uint32_t index)
{
	const char *source;
	uint32_t line;

	source = profile_source(profile, index, &line);
	if (!source)
		return 1ull << 61 | instruction_key(profile, index);
	return source_number(profile, source) << 32 | line;
}

static uint64_t key_of(const struct profile *profile, enum sum_by by, uint32_t index)
{
	switch (by) {
	case SUM_BY_ENGINE:
		return engine_key(&profile->event[index]);
	case SUM_BY_LINE:
		return line_key(profile, index);
	case SUM_BY_INSTRUCTION:
		return instruction_key(profile, index);
	default:
		return profile->event[index].actor;
	}
}

static void name_row(const struct profile *profile, enum sum_by by, struct sum_row *row)
{
	const struct profile_event *event = &profile->event[row->event];
	unsigned int core = profile_core_of(event->actor);
	char text[PROFILE_TEXT];
	size_t at;

	if (by == SUM_BY_LINE) {
		profile_place_name(profile, row->event, row->name);
	} else if (by == SUM_BY_INSTRUCTION && event->owner != PROFILE_NONE) {
		profile_actor_name(profile, profile->event[event->owner].actor, row->name);
		profile_event_name(profile, event->owner, text);
		at = strlen(row->name);
		snprintf(row->name + at, PROFILE_TEXT - at, "+%u %s",
			 profile->event[event->owner].pc, text);
	} else if (by == SUM_BY_ENGINE && profile_is_queue(event->actor)) {
		at = profile->nr_cores > 1 ?
			     (size_t)snprintf(row->name, PROFILE_TEXT, "%u:", core) : 0;
		snprintf(row->name + at, PROFILE_TEXT - at, "DMA %u",
			 profile_dma_engine_of(event->actor));
	} else {
		profile_actor_name(profile, event->actor, row->name);
	}
}

static void add_event(const struct profile *profile, const struct profile_event *event,
		      struct sum_row *row)
{
	row->count++;
	row->busy_ns += event->busy_ns;
	row->wait_ns += event->wait_ns;
	row->critical_ns += event->critical_ns;
	row->flops += profile->step[event->step].flops;
	if (!profile_is_queue(event->actor))
		return;
	row->hbm_read += profile_hbm_read(profile, event);
	row->hbm_written += profile_hbm_written(profile, event);
	if (profile_ends(profile, event)->to != PROFILE_MEMORY_SEM)
		row->bytes += event->bytes;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sum_row *x = a, *y = b;

	if (x->critical_ns != y->critical_ns)
		return x->critical_ns > y->critical_ns ? -1 : 1;
	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static size_t count_groups(const struct member *member, size_t nr)
{
	size_t groups = 0, i;

	for (i = 0; i < nr; i++)
		groups += !i || member[i].key != member[i - 1].key;
	return groups;
}

static NRT_STATUS make_rows(const struct profile *profile, enum sum_by by,
			    const struct member *member, size_t nr, struct sum_rows *rows,
			    uint32_t *group, struct nrt_error *error)
{
	struct sum_row *row = NULL;
	size_t i;

	rows->row = calloc(count_groups(member, nr) + 1, sizeof(*rows->row));
	if (!rows->row)
		return nrt_error_memory(error);
	for (i = 0; i < nr; i++) {
		if (!i || member[i].key != member[i - 1].key) {
			row = &rows->row[rows->nr++];
			row->event = member[i].event;
			name_row(profile, by, row);
		}
		add_event(profile, &profile->event[member[i].event], row);
		if (group)
			group[member[i].event] = (uint32_t)(rows->nr - 1);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS group_rows(const struct profile *profile, enum sum_by by, struct sum_rows *rows,
			     uint32_t *group, struct nrt_error *error)
{
	struct member *member = calloc(profile->nr_events, sizeof(*member));
	NRT_STATUS status;
	size_t nr = 0;
	uint32_t i;

	*rows = (struct sum_rows){ 0 };
	if (!member)
		return nrt_error_memory(error);
	for (i = 0; i < profile->nr_events; i++)
		if (by != SUM_BY_QUEUE || profile_is_queue(profile->event[i].actor))
			member[nr++] = (struct member){ key_of(profile, by, i), i };
	qsort(member, nr, sizeof(*member), compare_members);
	status = make_rows(profile, by, member, nr, rows, group, error);
	free(member);
	return status;
}

NRT_STATUS sum_rows(const struct profile *profile, enum sum_by by, struct sum_rows *rows,
		    struct nrt_error *error)
{
	if (group_rows(profile, by, rows, NULL, error))
		return error->status;
	if (by == SUM_BY_LINE || by == SUM_BY_INSTRUCTION)
		qsort(rows->row, rows->nr, sizeof(*rows->row), compare_rows);
	return NRT_SUCCESS;
}

NRT_STATUS sum_lines(const struct profile *profile, struct sum_rows *rows, uint32_t *group,
		     struct nrt_error *error)
{
	return group_rows(profile, SUM_BY_LINE, rows, group, error);
}

/* --- Waits --- */

static int compare_pairs(const void *a, const void *b)
{
	const struct sum_wait *x = a, *y = b;

	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	if (x->cause != y->cause)
		return x->cause < y->cause ? -1 : 1;
	if (x->why != y->why)
		return x->why < y->why ? -1 : 1;
	if (x->sem != y->sem)
		return x->sem < y->sem ? -1 : 1;
	/* The longest one comes first and stands for the others. */
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static bool same_pair(const struct sum_wait *x, const struct sum_wait *y)
{
	return x->waiter == y->waiter && x->cause == y->cause && x->why == y->why &&
	       x->sem == y->sem;
}

static int compare_waits(const void *a, const void *b)
{
	const struct sum_wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

NRT_STATUS sum_waits(const struct profile *profile, struct sum_waits *waits,
		     struct nrt_error *error)
{
	struct sum_wait *wait = calloc(profile->nr_events, sizeof(*wait));
	size_t nr = 0, i, pairs = 0;
	uint32_t e;

	*waits = (struct sum_waits){ 0 };
	if (!wait)
		return nrt_error_memory(error);
	for (e = 0; e < profile->nr_events; e++) {
		const struct profile_event *event = &profile->event[e];

		if (!event->wait_ns)
			continue;
		wait[nr++] = (struct sum_wait){
			.waiter = event->actor,
			.cause = event->cause == PROFILE_NONE ?
					 PROFILE_NONE : profile->event[event->cause].actor,
			.why = event->why,
			.sem = event->sem,
			.event = e,
			.count = 1,
			.ns = event->wait_ns,
		};
	}
	qsort(wait, nr, sizeof(*wait), compare_pairs);
	for (i = 0; i < nr; i++) {
		if (pairs && same_pair(&wait[pairs - 1], &wait[i])) {
			wait[pairs - 1].count++;
			wait[pairs - 1].ns += wait[i].ns;
		} else {
			wait[pairs++] = wait[i];
		}
	}
	qsort(wait, pairs, sizeof(*wait), compare_waits);
	waits->wait = wait;
	waits->nr = pairs;
	return NRT_SUCCESS;
}

/* --- The roofline --- */

/* Bytes of a variable that a copy loaded. */
struct load {
	uint64_t var;
	uint64_t begin;
	uint64_t end;
};

static int compare_loads(const void *a, const void *b)
{
	const struct load *x = a, *y = b;

	if (x->var != y->var)
		return x->var < y->var ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Different bytes among sorted loads. */
static uint64_t count_distinct(const struct load *load, size_t nr)
{
	uint64_t sum = 0, end = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		uint64_t begin = load[i].begin;

		if (i && load[i].var == load[i - 1].var && begin < end)
			begin = end;
		else
			end = begin;
		if (load[i].end > begin) {
			sum += load[i].end - begin;
			end = load[i].end;
		}
	}
	return sum;
}

static NRT_STATUS find_reloads(const struct profile *profile, struct sum_total *total,
			       struct nrt_error *error)
{
	struct load *load = calloc(profile->nr_events, sizeof(*load));
	size_t nr = 0;
	uint32_t i;

	if (!load)
		return nrt_error_memory(error);
	for (i = 0; i < profile->nr_events; i++) {
		const struct profile_event *event = &profile->event[i];
		const struct profile_step *step = &profile->step[event->step];

		if (!step->copy || step->from != PROFILE_MEMORY_HBM)
			continue;
		total->loaded += event->bytes;
		load[nr++] = (struct load){
			.var = (uint64_t)profile_core_of(event->actor) << 32 | step->var,
			.begin = step->at,
			.end = step->at + event->bytes,
		};
	}
	qsort(load, nr, sizeof(*load), compare_loads);
	total->distinct = count_distinct(load, nr);
	free(load);
	return NRT_SUCCESS;
}

static void add_all(const struct profile *profile, struct sum_total *total)
{
	uint32_t i;

	for (i = 0; i < profile->nr_events; i++) {
		const struct profile_event *event = &profile->event[i];
		const struct profile_step *ends = profile_ends(profile, event);

		if (profile_is_queue(event->actor)) {
			total->moved[ends->from][ends->to] += event->bytes;
			total->hbm_read += profile_hbm_read(profile, event);
			total->hbm_written += profile_hbm_written(profile, event);
			continue;
		}
		total->wait_ns[event->why] += event->wait_ns;
		if (profile_unit_of(event->actor) == NEURON_ENGINE_TENSOR)
			total->tensor_flops += profile->step[event->step].flops;
		else
			total->lane_flops += profile->step[event->step].flops;
	}
}

/* A core's DMA engines move what its stack of HBM gives, whichever of them is slower. */
static double memory_rate(const struct profile *profile)
{
	double engines = PROFILE_DMA_ENGINES * (double)profile->gen->dma_bytes_per_us;
	double stack = trn_cost_hbm_rate(profile->gen);

	return profile->nr_cores * 1e6 * (engines < stack ? engines : stack);
}

static void find_roof(const struct profile *profile, struct sum_total *total)
{
	const double bytes = (double)(total->hbm_read + total->hbm_written);
	const double seconds = (double)profile->length_ns * 1e-9;
	double clock, cells;

	total->engine = total->tensor_flops ? NEURON_ENGINE_TENSOR : NEURON_ENGINE_VECTOR;
	total->flops = total->tensor_flops ? total->tensor_flops : total->lane_flops;
	clock = 1e3 * profile->gen->clock_khz[total->engine];
	cells = total->tensor_flops ? 2 * ARRAY_CELLS : LANES;
	total->peak = profile->nr_cores * cells * clock;
	total->rate = memory_rate(profile);
	total->ridge = total->peak / total->rate;
	total->intensity = bytes > 0 ? (double)total->flops / bytes : INFINITY;
	total->attained = seconds > 0 ? (double)total->flops / seconds : 0;
	total->bound = total->intensity < total->ridge ? SUM_BOUND_HBM : SUM_BOUND_ENGINE;
	if (!total->flops)
		total->bound = bytes > 0 ? SUM_BOUND_HBM : SUM_BOUND_NOTHING;
	total->roof = total->bound == SUM_BOUND_HBM ? total->intensity * total->rate : total->peak;
}

NRT_STATUS sum_total(const struct profile *profile, struct sum_total *total,
		     struct nrt_error *error)
{
	*total = (struct sum_total){ 0 };
	add_all(profile, total);
	if (find_reloads(profile, total, error))
		return error->status;
	find_roof(profile, total);
	return NRT_SUCCESS;
}
