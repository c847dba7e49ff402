// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "comm/cc_stream.h"

void nrt_cc_stream_init(struct nrt_cc_stream *stream, const struct nrt_model *model,
			unsigned int number, struct nrt_core *cc)
{
	const struct neff_graph *graph = nrt_cc_graph(model);
	unsigned int i, start;

	stream->cc = cc;
	stream->running.cc = cc;
	stream->items.model = model;
	stream->items.stream = number;
	for (i = 0; i < graph->nr_collectives; i++) {
		if (graph->collectives[i].stream != number)
			continue;
		start = neff_start(&graph->collectives[i]);
		stream->sem_clear[start / 64] |= 1ull << (start % 64);
	}
}

static void drop_items(struct nrt_cc_stream *stream, struct nrt_cc_team *team)
{
	nrt_cc_items_drop(&stream->items);
	if (stream->area)
		nrt_cc_area_give(team, stream->area);
	stream->area = NULL;
}

void nrt_cc_stream_drop(struct nrt_cc_stream *stream, struct nrt_cc_team *team)
{
	drop_items(stream, team);
	nrt_cc_rights_fini(&stream->rights);
}

/* @error is of the stream. */
static NRT_STATUS name_stream(const struct nrt_cc_stream *stream, struct nrt_error *error)
{
	char why[sizeof(error->text)];

	if (!nrt_cc_items_name_stream(&stream->items))
		return error->status;
	snprintf(why, sizeof(why), "%s", error->text);
	return nrt_error_set(error, error->status, "stream %u: %s", stream->items.stream, why);
}

/* --- Preparation --- */

NRT_STATUS nrt_cc_stream_plan(struct nrt_cc_stream *stream, struct nrt_cc_team *team,
			      struct nrt_error *error)
{
	if (nrt_cc_rights_init(&stream->rights, team->world, stream->cc, team->ranks, team->nr,
			       team->me, error) ||
	    nrt_cc_items_plan(&stream->items, &stream->rights, false, error))
		return name_stream(stream, error);
	return NRT_SUCCESS;
}

static NRT_STATUS take_area(struct nrt_cc_stream *stream, struct nrt_cc_team *team, bool crowded,
			    struct nrt_error *error)
{
	unsigned int nr = nrt_cc_items_number(&stream->items, crowded, 0);

	stream->area = nrt_cc_area_take(team, stream->cc, nr, error);
	if (!stream->area)
		return error->status;
	stream->rights.first_sem = stream->area->first;
	stream->rights.nr_sems = nr;
	nrt_cc_items_number(&stream->items, crowded, stream->area->first);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_stream_take_area(struct nrt_cc_stream *stream, struct nrt_cc_team *team,
				   struct nrt_error *error)
{
	return take_area(stream, team, false, error);
}

NRT_STATUS nrt_cc_stream_crowd(struct nrt_cc_stream *stream, struct nrt_cc_team *team,
			       struct nrt_error *error)
{
	drop_items(stream, team);
	if (nrt_cc_items_plan(&stream->items, &stream->rights, true, error) ||
	    take_area(stream, team, true, error))
		return name_stream(stream, error);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_stream_build(struct nrt_cc_stream *stream, struct nrt_error *error)
{
	if (nrt_cc_items_build(&stream->items, stream->cc, error) ||
	    nrt_cc_items_need(&stream->items, &stream->rights, error))
		return name_stream(stream, error);
	return NRT_SUCCESS;
}

/* --- Agreement --- */

void nrt_cc_stream_say(const struct nrt_cc_stream *stream, struct nrt_cc_offers *offers,
		       unsigned int first)
{
	unsigned int i;

	for (i = 0; i < stream->items.nr; i++) {
		offers->mine[first + i] = nrt_cc_items_say(&stream->items, i);
		offers->links[first + i] = &stream->items.item[i].links;
	}
}

NRT_STATUS nrt_cc_stream_compare(const struct nrt_cc_stream *stream,
				 const struct nrt_cc_offers *offers, unsigned int first,
				 struct nrt_error *error)
{
	uint32_t fresh;
	unsigned int i;

	for (i = 0; i < stream->items.nr; i++)
		if (nrt_cc_compare(&stream->items.item[i].links,
				   nrt_cc_offers_of(offers, first + i), &fresh, error))
			return name_stream(stream, error);
	return NRT_SUCCESS;
}

static NRT_STATUS exchange_item(struct nrt_cc_stream *stream, const struct nrt_cc_offers *offers,
				unsigned int first, unsigned int i, uint64_t model,
				struct nrt_error *error)
{
	const struct nrt_cc_agreement *said = nrt_cc_offers_of(offers, first + i);
	struct nrt_cc_item *item = &stream->items.item[i];
	char what[32];
	uint32_t fresh;

	if (nrt_cc_compare(&item->links, said, &fresh, error))
		return error->status;
	nrt_cc_accept(&item->links, said);
	if (!fresh)
		return NRT_SUCCESS;
	snprintf(what, sizeof(what), "model %llu.%u", (unsigned long long)model, first + i);
	nrt_cc_name(item->links.name, what, item->links.ranks, item->links.nr);
	return nrt_cc_exchange(&item->links, said, item->own, error);
}

NRT_STATUS nrt_cc_stream_exchange(struct nrt_cc_stream *stream, const struct nrt_cc_offers *offers,
				  unsigned int first, uint64_t model, struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < stream->items.nr; i++)
		if (exchange_item(stream, offers, first, i, model, error))
			return error->status;
	return NRT_SUCCESS;
}

/* --- Executions --- */

/*
 * The CC-core's time limit comes before that of the engines that wait for it, because where it
 * waits says which rank has not come.
 */
static uint32_t limit_of(const struct nrt_world *world)
{
	return world->timeout_ms - world->timeout_ms / 8;
}

struct nrt_view *nrt_cc_stream_show(struct nrt_cc_stream *stream, struct drm_neuron_job *args)
{
	struct nrt_cc_code *code = stream->items.code;
	unsigned int i;

	for (i = 0; i < stream->items.nr; i++)
		nrt_cc_code_show(code, i, stream->items.item[i].own);
	*args = (struct drm_neuron_job){
		.queues = { sizeof(*code->queues), code->nr_queues, (uintptr_t)code->queues },
		.starts = { sizeof(code->start), 1, (uintptr_t)&code->start },
		.sem_clear = { sizeof(stream->sem_clear[0]), NEURON_NR_SEMAPHORES / 64,
			       (uintptr_t)stream->sem_clear },
		.timeout_ms = limit_of(stream->rights.world),
		.rank = stream->items.model->rank,
	};
	return &code->view;
}
