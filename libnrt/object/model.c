// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/event.h"
#include "object/model.h"

/* Of the archive in a NEFF, unpacked. */
#define MAX_UNPACKED_BYTES	(64ull << 30)

static void free_binding(struct nrt_binding *binding, size_t nr_vars)
{
	size_t i;

	for (i = 0; binding->staging && i < nr_vars; i++)
		nrt_bo_put(binding->staging[i]);
	free(binding->staging);
	free(binding->places);
	free(binding->spans);
	free(binding);
}

static void free_bindings(struct nrt_model *model)
{
	while (model->bindings) {
		struct nrt_binding *binding = model->bindings;

		model->bindings = binding->next;
		free_binding(binding, model->part.graph->nr_vars);
	}
}

static void drop_peers(struct nrt_model *model)
{
	size_t i;

	for (i = 0; i < model->part.graph->nr_vars; i++) {
		if (model->imports)
			nrt_bo_put(model->imports[i]);
		if (model->grants && model->grants[i] >= 0)
			close(model->grants[i]);
	}
	free(model->imports);
	free(model->grants);
}

static void free_part(struct nrt_part *part)
{
	nrt_bo_put(part->arena);
	nrt_view_fini(&part->view);
	free(part->queues);
	free(part->places);
}

void nrt_model_release(struct nrt_model *model)
{
	struct nrt_core *core = model->part.core;

	if (model->group)
		model->group->leave(model);
	if (core) {
		nrt_post_flush(core);
		nrt_core_drop(core, &model->part.view);
		nrt_machine_leave_core(model->machine, core);
	}
	if (model->part.graph) {
		free_bindings(model);
		drop_peers(model);
	}
	nrt_bo_put(model->trace);
	free_part(&model->part);
	neff_free(model->neff);
	pthread_cond_destroy(&model->untraced);
	pthread_mutex_destroy(&model->lock);
	free(model);
}

static NRT_STATUS check_peers(const struct neff *neff, bool peers, struct nrt_error *error)
{
	if (neff->peers && !peers)
		return nrt_error_set(error, NRT_INVALID,
				     "model \"%.64s\" works with peers: load it with nrt_load_collectives()",
				     neff->name);
	return NRT_SUCCESS;
}

static NRT_STATUS check_lnc(const struct neff *neff, struct nrt_error *error)
{
	if (neff->lnc != 1)
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "model \"%.64s\" is made for LNC %u; only models for LNC 1 can be loaded: build it for LNC 1",
				     neff->name, neff->lnc);
	return NRT_SUCCESS;
}

static NRT_STATUS make_peer_tables(struct nrt_model *model, struct nrt_error *error)
{
	size_t vars = model->part.graph->nr_vars;
	size_t i;

	model->imports = calloc(vars + 1, sizeof(struct nrt_bo *));
	model->grants = calloc(vars + 1, sizeof(*model->grants));
	if (!model->imports || !model->grants)
		return nrt_error_memory(error);
	for (i = 0; i < vars; i++)
		model->grants[i] = -1;
	return NRT_SUCCESS;
}

static NRT_STATUS fill(struct nrt_model *model, const struct nrt_load *load,
		       struct nrt_error *error)
{
	const struct neff_limits limits = {
		.unpacked_bytes = MAX_UNPACKED_BYTES,
		.validate_hash = load->validate_hash,
	};

	if (neff_read(load->bytes, load->size, &limits, &model->neff, error) ||
	    check_peers(model->neff, load->peers, error) || check_lnc(model->neff, error))
		return error->status;
	model->part.graph = &model->neff->graphs[0];
	if (make_peer_tables(model, error) ||
	    nrt_core_scratch(model->part.core, model->part.graph->scratch_bytes, error) ||
	    nrt_part_build(&model->part, error))
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
	if (nrt_machine_take_core(machine, load->vnc, &model->part.core, error) ||
	    fill(model, load, error)) {
		nrt_event_end(&event, error->status);
		nrt_model_release(model);
		return error->status;
	}
	nrt_post_load(model->part.core);
	if (event.begin_ns) {
		event.core = (int32_t)model->part.core->vnc;
		event.bytes = load->size;
		nrt_event_end(&event, NRT_SUCCESS);
	}
	*out = model;
	return NRT_SUCCESS;
}
