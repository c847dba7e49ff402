// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/event.h"
#include "object/model.h"

static void drop_peers(struct nrt_part *part)
{
	size_t i;

	for (i = 0; i < part->graph->nr_vars; i++) {
		if (part->imports)
			nrt_bo_put(part->imports[i]);
		if (part->grants && part->grants[i] >= 0)
			close(part->grants[i]);
	}
	free(part->imports);
	free(part->grants);
}

static void free_part(struct nrt_part *part)
{
	nrt_core_drop(part->core, &part->view);
	drop_peers(part);
	nrt_bo_put(part->trace);
	nrt_bo_put(part->watch);
	nrt_bo_put(part->arena);
	nrt_view_fini(&part->view);
	free(part->queues);
	free(part->places);
}

/* What it takes of the memory of the device; what alignment costs is the runtime's. */
static void sum_bytes(const struct nrt_part *part, uint64_t bytes[NRT_EMU_STATS_NR_DEVICE])
{
	const struct nrt_bo *arena = part->arena;
	uint64_t rest = arena->size;
	unsigned int i;

	for (i = 0; i < DRM_NEURON_NR_CATEGORIES; i++) {
		bytes[nrt_stats_model_kind(i)] += arena->usage->bytes[i];
		rest -= arena->usage->bytes[i];
	}
	bytes[NRT_EMU_STATS_RUNTIME] += rest;
}

void nrt_model_count(struct nrt_model *model)
{
	struct nrt_emu_stats_core *core = model->vcore->core[0]->stats;
	struct nrt_emu_stats_model row = {
		.model_id = model->id,
		.core = core->number,
		.device = core->device,
		.nr_subgraphs = model->nr_parts,
	};
	unsigned int i;

	memcpy(row.uuid, model->neff->hash, sizeof(row.uuid));
	snprintf(row.name, sizeof(row.name), "%s", model->neff->name);
	for (i = 0; i < model->nr_parts; i++)
		sum_bytes(&model->parts[i], row.device_bytes[i]);
	model->stats = nrt_stats_model_comes(&model->machine->stats, &row);
	model->counted = true;
}

void nrt_model_release(struct nrt_model *model)
{
	unsigned int i;

	if (model->counted)
		nrt_stats_model_leaves(&model->machine->stats, model->stats);
	if (model->group)
		model->group->leave(model);
	if (model->cc)
		model->cc_ops->leave(model);
	if (model->vcore)
		nrt_post_flush(model->vcore->core[0]);
	for (i = 0; i < model->nr_parts; i++)
		free_part(&model->parts[i]);
	if (model->vcore)
		nrt_machine_leave_vcore(model->machine, model->vcore);
	if (model->neff)
		nrt_bindings_free(model);
	neff_free(model->neff);
	pthread_cond_destroy(&model->untraced);
	pthread_mutex_destroy(&model->lock);
	free(model);
}

static NRT_STATUS check_peers(const struct neff *neff, bool peers, struct nrt_error *error)
{
	if ((neff->peers || neff->graphs[0].nr_collectives) && !peers)
		return nrt_error_set(error, NRT_INVALID,
				     "model \"%.64s\" works with peers: load it with nrt_load_collectives()",
				     neff->name);
	return NRT_SUCCESS;
}

static NRT_STATUS check_lnc(const struct neff *neff, const struct nrt_machine *machine,
			    struct nrt_error *error)
{
	if (neff->lnc != machine->lnc)
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "model \"%.64s\" is made for LNC %u, and the logical cores here have LNC %u: set NEURON_LOGICAL_NC_CONFIG=%u, or build it with --lnc %u",
				     neff->name, neff->lnc, machine->lnc, neff->lnc,
				     machine->lnc);
	return NRT_SUCCESS;
}

/* Each stream of collectives has a CC-core of the core. */
static NRT_STATUS check_cc_cores(const struct neff *neff, const struct nrt_vcore *vcore,
				 struct nrt_error *error)
{
	const struct neff_graph *graph = &neff->graphs[0];
	unsigned int nr = nrt_vcore_streams(vcore), i, stream;

	for (i = 0; i < graph->nr_collectives; i++) {
		stream = graph->collectives[i].stream;
		if (stream && stream >= nr)
			return nrt_error_set(error, NRT_INVALID,
					     "model \"%.64s\": collective %u is on stream %u, and a logical core of %u here has %u CC-cores, the first one for collectives of the host: its streams are 0 to %u",
					     neff->name, i, stream, vcore->nr, vcore->nr_cc,
					     nr ? nr - 1 : 0);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS make_peer_tables(struct nrt_part *part, struct nrt_error *error)
{
	size_t vars = part->graph->nr_vars;
	size_t i;

	part->imports = calloc(vars + 1, sizeof(struct nrt_bo *));
	part->grants = calloc(vars + 1, sizeof(*part->grants));
	if (!part->imports || !part->grants)
		return nrt_error_memory(error);
	for (i = 0; i < vars; i++)
		part->grants[i] = -1;
	return NRT_SUCCESS;
}

void nrt_load_step(struct nrt_load_times *times, enum nrt_load_step step)
{
	uint64_t now = nrt_clock_now();

	times->ns[step] += now - times->last_ns;
	times->last_ns = now;
}

static int cc_index(const struct nrt_vcore *vcore, unsigned int stream)
{
	const struct nrt_core *cc = nrt_vcore_stream_cc(vcore, stream);

	return cc ? (int)cc->index : -1;
}

static NRT_STATUS fill_part(struct nrt_model *model, unsigned int i,
			    struct nrt_load_times *times, struct nrt_error *error)
{
	struct nrt_part *part = &model->parts[i];
	unsigned int stream;

	part->core = model->vcore->core[i];
	part->sibling = model->vcore->nr == 2 ? (int)model->vcore->core[!i]->index : -1;
	for (stream = 0; stream < NRT_MAX_STREAMS; stream++)
		part->cc[stream] = cc_index(model->vcore, stream);
	part->graph = &model->neff->graphs[i];
	model->nr_parts++;
	if (make_peer_tables(part, error) ||
	    nrt_vcore_scratch(model->vcore, part->graph->scratch_bytes, error))
		return error->status;
	nrt_load_step(times, NRT_LOAD_SCRATCH);
	return nrt_part_build(part, times, error);
}

static NRT_STATUS fill(struct nrt_model *model, const struct nrt_load *load,
		       struct nrt_error *error)
{
	const struct neff_limits limits = {
		.scratch_page = model->machine->scratch_page,
		.validate_hash = load->validate_hash,
	};
	struct nrt_load_times *times = load->times;
	unsigned int i;

	*times = (struct nrt_load_times){ .last_ns = nrt_clock_now() };
	if (neff_read(load->bytes, load->size, &limits, &model->neff, error) ||
	    check_peers(model->neff, load->peers, error) ||
	    check_lnc(model->neff, model->machine, error) ||
	    check_cc_cores(model->neff, model->vcore, error))
		return error->status;
	nrt_load_step(times, NRT_LOAD_NEFF);
	for (i = 0; i < model->vcore->nr; i++)
		if (fill_part(model, i, times, error))
			return error->status;
	neff_drop_files(model->neff);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_model_load(struct nrt_machine *machine, const struct nrt_load *load,
			  struct nrt_model **out, struct nrt_error *error)
{
	struct nrt_model *model = calloc(1, sizeof(*model));
	struct nrt_event event;

	if (!model)
		return nrt_error_memory(error);
	nrt_event_begin(&event, NRT_EVENT_MODEL_LOAD);
	pthread_mutex_init(&model->lock, NULL);
	pthread_cond_init(&model->untraced, NULL);
	model->machine = machine;
	if (nrt_machine_take_vcore(machine, load->vnc, &model->vcore, error) ||
	    fill(model, load, error)) {
		nrt_event_end(&event, error->status);
		if (load->failed && model->neff)
			load->failed(load->arg, model, error);
		nrt_model_release(model);
		return error->status;
	}
	nrt_post_load(model->vcore->core[0]);
	if (event.begin_ns) {
		event.core = (int32_t)model->vcore->vnc;
		event.bytes = load->size;
		nrt_event_end(&event, NRT_SUCCESS);
	}
	*out = model;
	return NRT_SUCCESS;
}
