// SPDX-License-Identifier: MIT
/*
 * Window tables. The kernel keeps one for each core; a model has its contents at hand,
 * and only what differs is written.
 */
#include <stdlib.h>
#include <string.h>

#include "object/model.h"

bool nrt_window_set(struct nrt_model *model, size_t i, const struct drm_neuron_window *entry,
		    struct nrt_bo *bo)
{
	struct nrt_window new = { .entry = *entry, .bo_id = bo ? bo->id : 0 };

	if (!memcmp(&model->windows[i], &new, sizeof(new)))
		return false;
	model->windows[i] = new;
	if (bo)
		atomic_store(&bo->shown, true);
	return true;
}

bool nrt_window_show(struct nrt_model *model, size_t i, uint32_t index, uint32_t rights,
		     const struct nrt_place *place, uint64_t length)
{
	struct drm_neuron_window entry = {
		.index = index,
	};

	if (length) {
		entry.kind = DRM_NEURON_WINDOW_BO;
		entry.rights = rights;
		entry.handle = place->bo->handle;
		entry.offset = place->offset;
		entry.length = length;
	}
	return nrt_window_set(model, i, &entry, length ? place->bo : NULL);
}

static NRT_STATUS write_table(struct nrt_core *core, struct drm_neuron_window *list, size_t nr,
			      struct nrt_error *error)
{
	struct nrt_device *device = core->device;
	struct drm_neuron_windows args = {
		.claim = device->claim,
		.core = core->index,
		.windows = {
			.stride = sizeof(*list),
			.count = (uint32_t)nr,
			.pointer = (uintptr_t)list,
		},
	};
	int ret;

	if (!nr)
		return NRT_SUCCESS;
	ret = device->backend->windows(device->chip, &args);
	if (!ret)
		return NRT_SUCCESS;
	return nrt_error_set(error, nrt_status_of_errno(ret),
			     "core %u: cannot write %zu windows: %s", core->number, nr,
			     strerror(-ret));
}

static struct drm_neuron_window empty_window(uint32_t index)
{
	return (struct drm_neuron_window){ .index = index };
}

static void forget_shown(struct nrt_core *core)
{
	free(core->shown);
	core->shown = NULL;
	core->nr_shown = 0;
	core->resident = NULL;
}

/*
 * The whole table: entries of the model that was there before and that this one does
 * not have become empty. Both lists ascend.
 */
static NRT_STATUS write_all(struct nrt_model *model, struct nrt_error *error)
{
	struct nrt_core *core = model->core;
	struct drm_neuron_window *list;
	uint32_t *shown;
	size_t nr = 0, old = 0, i;

	list = calloc(model->nr_windows + core->nr_shown, sizeof(*list));
	shown = calloc(model->nr_windows, sizeof(*shown));
	if (!list || !shown) {
		nrt_error_memory(error);
		goto out;
	}
	for (i = 0; i < model->nr_windows; i++) {
		uint32_t index = model->windows[i].entry.index;

		for (; old < core->nr_shown && core->shown[old] < index; old++)
			list[nr++] = empty_window(core->shown[old]);
		if (old < core->nr_shown && core->shown[old] == index)
			old++;
		list[nr++] = model->windows[i].entry;
		shown[i] = index;
	}
	for (; old < core->nr_shown; old++)
		list[nr++] = empty_window(core->shown[old]);
	if (write_table(core, list, nr, error))
		goto out;
	free(list);
	forget_shown(core);
	core->shown = shown;
	core->nr_shown = model->nr_windows;
	core->resident = model;
	return NRT_SUCCESS;
out:
	free(list);
	free(shown);
	return error->status;
}

static bool update_sem(struct nrt_model *model, size_t i)
{
	const struct neff_var *var = &model->neff->vars[i];
	struct drm_neuron_window entry = {
		.index = var->var_id,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = var->size,
	};

	if (model->grants[i] >= 0) {
		entry.from = DRM_NEURON_FROM_GRANT_FD;
		entry.source = model->grants[i];
	}

	return nrt_window_set(model, i, &entry, NULL);
}

/* Variables whose place may differ from one execution to the next. */
static bool update_var(struct nrt_model *model, size_t i)
{
	const uint32_t both = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	const struct neff_var *var = &model->neff->vars[i];
	struct nrt_place scratch = { model->core->scratch, var->offset };
	const struct nrt_place *place = &model->places[i];
	bool input;

	switch (var->type) {
	case NEFF_VAR_INPUT:
		return nrt_window_show(model, i, var->var_id, DRM_NEURON_WINDOW_READ, place,
				       var->size);
	case NEFF_VAR_OUTPUT:
		return nrt_window_show(model, i, var->var_id, both, place, var->size);
	case NEFF_VAR_VIRTUAL:
		return nrt_window_show(model, i, var->var_id, both, &scratch, var->size);
	case NEFF_VAR_PEER:
		input = model->neff->vars[var->ref].type == NEFF_VAR_INPUT;
		return nrt_window_show(model, i, var->var_id,
				       input ? DRM_NEURON_WINDOW_READ : both, place, var->size);
	case NEFF_VAR_PEER_SEM:
		return update_sem(model, i);
	default:
		return false;
	}
}

NRT_STATUS nrt_windows_update(struct nrt_model *model, struct drm_neuron_array *changes,
			      struct nrt_error *error)
{
	NRT_STATUS status;
	uint32_t nr = 0;
	size_t i;

	for (i = 0; i < model->neff->nr_vars; i++)
		if (update_var(model, i))
			model->changes[nr++] = model->windows[i].entry;
	if (model->core->resident != model) {
		status = write_all(model, error);
		if (status)
			nrt_windows_unknown(model->core);
		return status;
	}
	*changes = (struct drm_neuron_array){
		.stride = sizeof(*model->changes),
		.count = nr,
		.pointer = (uintptr_t)model->changes,
	};
	return NRT_SUCCESS;
}

void nrt_windows_unknown(struct nrt_core *core)
{
	core->resident = NULL;
}

void nrt_windows_drop(struct nrt_model *model)
{
	struct nrt_core *core = model->core;
	struct drm_neuron_window *list;
	struct nrt_error ignored;
	size_t i;

	pthread_mutex_lock(&core->lock);
	if (core->nr_shown && (core->resident == model || !core->resident)) {
		list = calloc(core->nr_shown, sizeof(*list));
		for (i = 0; list && i < core->nr_shown; i++)
			list[i] = empty_window(core->shown[i]);
		if (list)
			write_table(core, list, core->nr_shown, &ignored);
		free(list);
		forget_shown(core);
	}
	pthread_mutex_unlock(&core->lock);
}

/* With the core's lock. */
static void forget_on_core(struct nrt_core *core, const struct nrt_bo *bo)
{
	struct nrt_model *model = core->resident;
	struct nrt_error ignored;
	size_t i;

	for (i = 0; i < model->nr_windows; i++) {
		struct drm_neuron_window entry;

		if (model->windows[i].bo_id != bo->id)
			continue;
		entry = empty_window(model->windows[i].entry.index);
		nrt_window_set(model, i, &entry, NULL);
		if (write_table(core, &entry, 1, &ignored)) {
			core->resident = NULL;
			return;
		}
	}
}

void nrt_bo_forget(struct nrt_state *state, struct nrt_bo *bo)
{
	unsigned int i;

	if (!atomic_load(&bo->shown))
		return;
	for (i = 0; i < state->nr_cores; i++) {
		struct nrt_core *core = &state->cores[i];

		if (core->device != bo->device)
			continue;
		pthread_mutex_lock(&core->lock);
		if (core->resident)
			forget_on_core(core, bo);
		pthread_mutex_unlock(&core->lock);
	}
}
