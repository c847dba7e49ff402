// SPDX-License-Identifier: MIT
/*
 * The tensors of an execution: found by name, checked, and shown to the core where they
 * are, or copied to where the core can see them.
 */
#include <stdlib.h>

#include "object/model.h"

/* Bindings with staging that a model keeps while nobody uses them. */
#define KEEP_STAGED	4

static NRT_STATUS explain_missing(const struct neff_var *var, struct nrt_set *set,
				  struct nrt_error *error)
{
	const char *kind = var->type == NEFF_VAR_INPUT ? "input" : "output";
	char names[200];

	nrt_set_names(set, names, sizeof(names));
	return nrt_error_set(error, NRT_INVALID,
			     "%s tensor \"%s\" of %llu bytes is missing; the %s set has %s", kind,
			     var->name, (unsigned long long)var->size, kind, names);
}

/* The span of the tensor that the set has for @var, with a reference. */
static NRT_STATUS find_span(const struct neff_var *var, struct nrt_handles *handles,
			    struct nrt_set *set, struct nrt_span *span,
			    struct nrt_error *error)
{
	void *handle = nrt_set_find(set, var->name);
	struct nrt_tensor *tensor;

	if (!handle)
		return explain_missing(var, set, error);
	tensor = nrt_handle_get(handles, NRT_KIND_TENSOR, handle);
	if (!tensor)
		return nrt_error_set(error, NRT_INVALID_HANDLE,
				     "tensor \"%s\" was freed while it was in the set", var->name);
	*span = nrt_tensor_span(tensor);
	nrt_handle_put(handles, handle);
	if (span->size != var->size)
		return nrt_error_set(error, NRT_INVALID,
				     "tensor \"%s\" must have %llu bytes; the one given has %zu",
				     var->name, (unsigned long long)var->size, span->size);
	return nrt_span_check(span, var->name, 0, var->size, error);
}

/* Can a window show it as it is? Ranks on other chips reach no memory of the host. */
static bool can_show(const struct nrt_model *model, const struct nrt_span *span)
{
	const struct nrt_bo *bo = span->storage->bo;
	bool has_peers = model->group || model->cc;

	return bo && bo->device == model->vcore->device && span->offset % 4 == 0 &&
	       (bo->placement == DRM_NEURON_BO_HBM || !has_peers);
}

static NRT_STATUS get_staging(struct nrt_model *model, struct nrt_binding *binding, size_t i,
			      struct nrt_error *error)
{
	const struct nrt_span *span = &binding->spans[i];
	struct nrt_vcore *core = model->vcore;

	if (!nrt_span_memory(span) && span->storage->bo->device != core->device)
		return nrt_error_set(error, NRT_INVALID,
				     "tensor \"%s\" is in the memory of another chip (core %d); the model runs on core %u",
				     model->neff->ios[i]->name, span->storage->vnc,
				     core->vnc);
	binding->copies = true;
	if (!binding->staging[i] &&
	    nrt_bo_create(core->core[0], span->size, DRM_NEURON_BO_HBM,
			  DRM_NEURON_CATEGORY_DMA_BUFFERS, &binding->staging[i], error))
		return error->status;
	binding->staged = true;
	binding->places[i] = (struct nrt_place){ binding->staging[i], 0 };
	return NRT_SUCCESS;
}

static NRT_STATUS bind_io(struct nrt_model *model, struct nrt_handles *handles,
			  struct nrt_set *set, struct nrt_binding *binding, size_t i,
			  struct nrt_error *error)
{
	struct nrt_span *span = &binding->spans[i];

	if (find_span(model->neff->ios[i], handles, set, span, error))
		return error->status;
	if (!can_show(model, span))
		return get_staging(model, binding, i, error);
	binding->places[i] = (struct nrt_place){ span->storage->bo, span->offset };
	return NRT_SUCCESS;
}

/* Its staging goes at once, also when a core still shows it. */
static void binding_free(struct nrt_binding *binding, size_t nr_ios)
{
	size_t i;

	for (i = 0; i < nr_ios; i++) {
		if (!binding->staging[i])
			continue;
		nrt_bo_forget(binding->staging[i]);
		nrt_bo_put(binding->staging[i]);
	}
	free(binding->staging);
	free(binding->places);
	free(binding->uses);
	free(binding->spans);
	free(binding);
}

/*
 * The one that nobody uses for the longest time. A peer may still read the inputs of the last
 * execution, so a model of a group leaves one alone.
 */
static struct nrt_binding *oldest_binding(struct nrt_model *model)
{
	struct nrt_binding *binding;

	pthread_mutex_lock(&model->lock);
	binding = model->bindings;
	if (binding && model->group && !binding->next)
		binding = NULL;
	if (binding)
		model->bindings = binding->next;
	pthread_mutex_unlock(&model->lock);
	return binding;
}

/* One that nobody uses, or a new one. */
static struct nrt_binding *take_binding(struct nrt_model *model)
{
	struct nrt_binding *binding = oldest_binding(model);
	size_t nr = model->neff->nr_ios + 1;

	if (binding)
		return binding;
	binding = calloc(1, sizeof(*binding));
	if (!binding)
		return NULL;
	binding->spans = calloc(nr, sizeof(*binding->spans));
	binding->uses = calloc(nr, sizeof(*binding->uses));
	binding->places = calloc(nr, sizeof(*binding->places));
	binding->staging = calloc(nr, sizeof(struct nrt_bo *));
	if (binding->spans && binding->uses && binding->places && binding->staging)
		return binding;
	binding_free(binding, 0);
	return NULL;
}

/* With the lock of the model: the oldest one with staging, if there are more than are kept. */
static struct nrt_binding *take_surplus(struct nrt_model *model)
{
	struct nrt_binding **link, *binding, **oldest = NULL;
	unsigned int nr = 0;

	for (link = &model->bindings; *link; link = &(*link)->next) {
		if (!(*link)->staged)
			continue;
		nr++;
		oldest = oldest ? oldest : link;
	}
	if (nr <= KEEP_STAGED)
		return NULL;
	binding = *oldest;
	*oldest = binding->next;
	return binding;
}

void nrt_unbind(struct nrt_model *model, struct nrt_binding *binding)
{
	struct nrt_binding **link = &model->bindings;
	struct nrt_binding *surplus;
	size_t i;

	if (!binding)
		return;
	for (i = 0; i < model->neff->nr_ios; i++)
		nrt_span_put(&binding->spans[i]);
	binding->copies = false;
	nrt_scratch_drop(&binding->scratch);
	pthread_mutex_lock(&model->lock);
	while (*link)
		link = &(*link)->next;
	binding->next = NULL;
	*link = binding;
	surplus = take_surplus(model);
	pthread_mutex_unlock(&model->lock);
	if (surplus)
		binding_free(surplus, model->neff->nr_ios);
}

void nrt_bindings_free(struct nrt_model *model)
{
	while (model->bindings) {
		struct nrt_binding *binding = model->bindings;

		model->bindings = binding->next;
		binding_free(binding, model->neff->nr_ios);
	}
}

NRT_STATUS nrt_bind(struct nrt_model *model, struct nrt_handles *handles,
		    struct nrt_set *inputs, struct nrt_set *outputs,
		    struct nrt_binding **out, struct nrt_error *error)
{
	struct nrt_binding *binding = take_binding(model);
	size_t i;

	if (!binding)
		return nrt_error_memory(error);
	for (i = 0; i < model->neff->nr_ios; i++) {
		bool in = model->neff->ios[i]->type == NEFF_VAR_INPUT;

		if (!bind_io(model, handles, in ? inputs : outputs, binding, i, error))
			continue;
		nrt_unbind(model, binding);
		return error->status;
	}
	*out = binding;
	return NRT_SUCCESS;
}

void nrt_binding_use(const struct nrt_model *model, struct nrt_binding *binding,
		     struct nrt_ticket *ticket)
{
	size_t i;

	ticket->uses = binding->uses;
	for (i = 0; i < model->neff->nr_ios; i++)
		nrt_span_use(&binding->spans[i], 0, binding->spans[i].size,
			     model->neff->ios[i]->type == NEFF_VAR_OUTPUT, ticket);
}

static bool is_staged(const struct nrt_binding *binding, size_t i)
{
	return binding->staging[i] && binding->places[i].bo == binding->staging[i];
}

NRT_STATUS nrt_bind_inputs(struct nrt_model *model, struct nrt_binding *binding,
			   struct nrt_error *error)
{
	size_t i;

	for (i = 0; binding->copies && i < model->neff->nr_ios; i++) {
		const struct nrt_span *span = &binding->spans[i];
		const uint8_t *memory;

		if (model->neff->ios[i]->type != NEFF_VAR_INPUT || !is_staged(binding, i))
			continue;
		memory = nrt_span_memory(span);
		if (memory ? nrt_bo_write(binding->staging[i], 0, memory, span->size, error) :
			     nrt_bo_copy(binding->staging[i], 0, span->storage->bo, span->offset,
					 span->size, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

NRT_STATUS nrt_bind_outputs(struct nrt_model *model, struct nrt_binding *binding,
			    struct nrt_error *error)
{
	size_t i;

	for (i = 0; i < model->neff->nr_ios; i++) {
		const struct nrt_span *span = &binding->spans[i];
		uint8_t *memory;

		if (model->neff->ios[i]->type != NEFF_VAR_OUTPUT)
			continue;
		memory = nrt_span_memory(span);
		if (is_staged(binding, i) &&
		    (memory ? nrt_bo_read(binding->staging[i], 0, memory, span->size, error) :
			      nrt_bo_copy(span->storage->bo, span->offset, binding->staging[i], 0,
					  span->size, error)))
			return error->status;
		nrt_storage_complete(span->storage);
	}
	return NRT_SUCCESS;
}

static void view_sem(struct nrt_part *part, size_t i)
{
	const struct neff_var *var = &part->graph->vars[i];
	struct drm_neuron_window entry = {
		.index = var->var_id,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = var->size,
	};

	if (part->grants[i] >= 0) {
		entry.from = DRM_NEURON_FROM_GRANT_FD;
		entry.source = part->grants[i];
	}
	nrt_view_set(&part->view, i, &entry, NULL);
}

/* Variables whose place may differ from one execution to the next. */
static void view_var(const struct nrt_vcore *vcore, struct nrt_part *part,
		     const struct nrt_binding *binding, size_t i)
{
	const uint32_t both = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	const struct neff_var *var = &part->graph->vars[i];
	const struct nrt_place *place = NULL;
	uint64_t offset = var->offset;
	struct nrt_bo *scratch;
	uint32_t rights = both;

	switch (var->type) {
	case NEFF_VAR_INPUT:
		rights = DRM_NEURON_WINDOW_READ;
		place = &binding->places[var->io];
		break;
	case NEFF_VAR_OUTPUT:
		place = &binding->places[var->io];
		break;
	case NEFF_VAR_VIRTUAL:
		scratch = nrt_scratch_at(binding->scratch.nr ? &binding->scratch : &vcore->scratch,
					 &offset);
		nrt_view_show(&part->view, i, var->var_id, both, scratch, offset, var->size);
		return;
	case NEFF_VAR_PEER:
		if (part->graph->vars[var->ref].type == NEFF_VAR_INPUT)
			rights = DRM_NEURON_WINDOW_READ;
		place = &part->places[i];
		break;
	case NEFF_VAR_PEER_SEM:
		view_sem(part, i);
		return;
	default:
		return;
	}
	nrt_view_show(&part->view, i, var->var_id, rights, place->bo, place->offset, var->size);
}

NRT_STATUS nrt_bind_scratch(const struct nrt_model *model, struct nrt_binding *binding,
			    struct nrt_error *error)
{
	return nrt_vcore_hold_scratch(model->vcore, &binding->scratch, error);
}

void nrt_bind_view(struct nrt_model *model, const struct nrt_binding *binding)
{
	unsigned int k;
	size_t i;

	for (k = 0; k < model->nr_parts; k++)
		for (i = 0; i < model->parts[k].graph->nr_vars; i++)
			view_var(model->vcore, &model->parts[k], binding, i);
}
