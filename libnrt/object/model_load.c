// SPDX-License-Identifier: MIT
/*
 * nrt_load(), nrt_load_collectives(), nrt_unload().
 */
#include <stdlib.h>
#include <unistd.h>

#include "object/model.h"

/* Of the archive in a NEFF, unpacked. */
#define MAX_UNPACKED_BYTES	(64ull << 30)

/* With models_lock. */
static struct nrt_core *least_loaded(struct nrt_state *state)
{
	struct nrt_core *best = &state->cores[0];
	unsigned int i;

	for (i = 1; i < state->nr_cores; i++)
		if (state->cores[i].models < best->models)
			best = &state->cores[i];
	return best;
}

/* Choose a core and count the model there. */
static NRT_STATUS take_core(struct nrt_state *state, int32_t vnc, struct nrt_core **core,
			    struct nrt_error *error)
{
	if (vnc < -1 || vnc >= (int64_t)state->nr_cores)
		return nrt_error_set(error, NRT_LOAD_NOT_ENOUGH_NC,
				     "core %d: the process owns cores 0 to %u", vnc,
				     state->nr_cores - 1);
	pthread_mutex_lock(&state->models_lock);
	*core = vnc < 0 ? least_loaded(state) : &state->cores[vnc];
	(*core)->models++;
	pthread_mutex_unlock(&state->models_lock);
	return NRT_SUCCESS;
}

/* All models of a core share one scratchpad; what is in it does not last. */
static NRT_STATUS get_scratch(struct nrt_core *core, uint64_t bytes, struct nrt_error *error)
{
	struct nrt_bo *bo;
	NRT_STATUS status = NRT_SUCCESS;

	if (!bytes)
		return NRT_SUCCESS;
	pthread_mutex_lock(&core->lock);
	if (!core->scratch || core->scratch->size < bytes) {
		status = nrt_bo_create(core->device, bytes, DRM_NEURON_BO_HBM, core->stack,
				       DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD, &bo, error);
		if (!status) {
			nrt_bo_put(core->scratch);
			core->scratch = bo;
		}
	}
	pthread_mutex_unlock(&core->lock);
	return status;
}

static void drop_imports(struct nrt_model *model)
{
	size_t i;

	for (i = 0; i < model->neff->nr_vars; i++) {
		if (model->imports)
			nrt_bo_put(model->imports[i]);
		if (model->staging)
			nrt_bo_put(model->staging[i]);
		if (model->grants && model->grants[i] >= 0)
			close(model->grants[i]);
	}
}

/* Of a model that is in no list; the core's table must not show it. */
static void destroy(struct nrt_model *model)
{
	if (model->neff)
		drop_imports(model);
	nrt_bo_put(model->trace);
	nrt_bo_put(model->arena);
	free(model->queues);
	free(model->windows);
	free(model->changes);
	free(model->places);
	free(model->staging);
	free(model->imports);
	free(model->grants);
	neff_free(model->neff);
	pthread_mutex_destroy(&model->lock);
	free(model);
}

static void leave_core(struct nrt_state *state, struct nrt_model *model)
{
	pthread_mutex_lock(&state->models_lock);
	model->core->models--;
	pthread_mutex_unlock(&state->models_lock);
}

/* Put it in the list, and in its group. */
static NRT_STATUS publish(struct nrt_state *state, struct nrt_model *model, uint32_t rank,
			  uint32_t ranks, struct nrt_error *error)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_mutex_lock(&state->models_lock);
	if (ranks)
		status = nrt_comm_join(state, model, rank, ranks, error);
	if (!status) {
		model->next = state->models;
		state->models = model;
	}
	pthread_mutex_unlock(&state->models_lock);
	return status;
}

static NRT_STATUS check_ranks(const struct neff *neff, uint32_t ranks, struct nrt_error *error)
{
	if (neff->features & NEFF_FEATURE_PEERS && !ranks)
		return nrt_error_set(error, NRT_INVALID,
				     "model \"%.64s\" works with peers: load it with nrt_load_collectives()",
				     neff->name);
	return NRT_SUCCESS;
}

static NRT_STATUS fill(struct nrt_state *state, struct nrt_model *model, const void *bytes,
		       size_t size, uint32_t ranks, struct nrt_error *error)
{
	struct neff_limits limits = {
		.unpacked_bytes = MAX_UNPACKED_BYTES,
		.validate_hash = state->env.validate_hash,
	};

	if (neff_read(bytes, size, &limits, &model->neff, error) ||
	    check_ranks(model->neff, ranks, error) ||
	    get_scratch(model->core, model->neff->scratch_bytes, error) ||
	    nrt_model_build(model, error))
		return error->status;
	neff_drop_files(model->neff);
	return NRT_SUCCESS;
}

static NRT_STATUS load(struct nrt_state *state, const void *bytes, size_t size, int32_t vnc,
		       uint32_t rank, uint32_t ranks, struct nrt_model **out,
		       struct nrt_error *error)
{
	struct nrt_model *model = calloc(1, sizeof(*model));

	if (!model)
		return nrt_error_memory(error);
	pthread_mutex_init(&model->lock, NULL);
	if (take_core(state, vnc, &model->core, error)) {
		destroy(model);
		return error->status;
	}
	if (fill(state, model, bytes, size, ranks, error) ||
	    publish(state, model, rank, ranks, error)) {
		leave_core(state, model);
		destroy(model);
		return error->status;
	}
	nrt_post_load(model->core);
	*out = model;
	return NRT_SUCCESS;
}

static NRT_STATUS load_call(const char *call, const void *bytes, size_t size, int32_t vnc,
			    int32_t vnc_count, uint32_t rank, uint32_t ranks,
			    nrt_model_t **model)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!bytes || !model)
		return nrt_fail_with(call, NRT_INVALID, "neff_bytes or model is NULL");
	if (vnc_count < -1 || vnc_count > 1)
		return nrt_fail_with(call, NRT_INVALID,
				     "vnc_count is %d; a model is loaded on one core: pass -1",
				     vnc_count);
	state = nrt_enter(call, &status);
	if (!state)
		return status;
	status = load(state, bytes, size, vnc, rank, ranks, model, &error);
	if (!status)
		nrt_log(NRT_LOG_INFO, call, "model \"%.64s\" is on core %u", (*model)->neff->name,
			(*model)->core->number);
	nrt_leave(state);
	return status ? nrt_fail(call, &error) : NRT_SUCCESS;
}

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
		    nrt_model_t **model)
{
	return load_call(__func__, neff_bytes, size, vnc, vnc_count, 0, 0, model);
}

NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc,
				int32_t vnc_count, uint32_t ctx_device_id,
				uint32_t ctx_device_count, nrt_model_t **model)
{
	if (ctx_device_id >= ctx_device_count)
		return nrt_fail_with(__func__, NRT_INVALID, "rank %u of %u", ctx_device_id,
				     ctx_device_count);
	return load_call(__func__, neff_bytes, size, vnc, vnc_count, ctx_device_id,
			 ctx_device_count, model);
}

/* Take @model out of the list; false when it is not there. */
static bool unlink_model(struct nrt_state *state, struct nrt_model *model)
{
	struct nrt_model **link;
	bool found;

	pthread_mutex_lock(&state->models_lock);
	for (link = &state->models; *link && *link != model; link = &(*link)->next)
		;
	found = *link;
	if (found) {
		*link = model->next;
		model->core->models--;
	}
	pthread_mutex_unlock(&state->models_lock);
	return found;
}

/* Of a model that is in no list any more. */
static void unload(struct nrt_state *state, struct nrt_model *model)
{
	/* Its last execution ends first. */
	pthread_mutex_lock(&model->lock);
	pthread_mutex_unlock(&model->lock);
	if (model->comm) {
		pthread_mutex_lock(&state->models_lock);
		nrt_comm_leave(state, model);
		pthread_mutex_unlock(&state->models_lock);
	}
	nrt_post_flush(model->core);
	nrt_windows_drop(model);
	destroy(model);
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
	struct nrt_state *state;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	if (unlink_model(state, model))
		unload(state, model);
	else
		status = nrt_fail_with(__func__, NRT_INVALID_HANDLE, "%p is no loaded model",
				       (void *)model);
	nrt_leave(state);
	return status;
}

void nrt_models_free_all(struct nrt_state *state)
{
	while (state->models) {
		struct nrt_model *model = state->models;

		unlink_model(state, model);
		unload(state, model);
	}
}

/* @model if it is loaded, else NULL and @error. */
static struct nrt_model *get_model(struct nrt_state *state, const nrt_model_t *model,
				   struct nrt_error *error)
{
	struct nrt_model *found;

	pthread_mutex_lock(&state->models_lock);
	for (found = state->models; found && found != model; found = found->next)
		;
	pthread_mutex_unlock(&state->models_lock);
	if (!found)
		nrt_error_set(error, NRT_INVALID_HANDLE, "%p is no loaded model",
			      (const void *)model);
	return found;
}

NRT_STATUS nrt_model_call(const char *call, const nrt_model_t *model, nrt_model_fn *fn, void *arg)
{
	struct nrt_state *state;
	struct nrt_model *found;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(call, &status);
	if (!state)
		return status;
	found = get_model(state, model, &error);
	status = found ? fn(state, found, arg, &error) : error.status;
	nrt_leave(state);
	return status ? nrt_fail(call, &error) : NRT_SUCCESS;
}

/**
 * struct locked_call - a call with the lock of its model
 * @fn: what it does
 * @arg: for @fn
 */
struct locked_call {
	nrt_model_fn *fn;
	void *arg;
};

static NRT_STATUS run_locked(struct nrt_state *state, struct nrt_model *model, void *arg,
			     struct nrt_error *error)
{
	const struct locked_call *locked = arg;
	NRT_STATUS status;

	pthread_mutex_lock(&model->lock);
	status = locked->fn(state, model, locked->arg, error);
	pthread_mutex_unlock(&model->lock);
	return status;
}

NRT_STATUS nrt_model_call_locked(const char *call, const nrt_model_t *model, nrt_model_fn *fn,
				 void *arg)
{
	struct locked_call locked = { fn, arg };

	return nrt_model_call(call, model, run_locked, &locked);
}
