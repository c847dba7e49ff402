// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "hw/core.h"

NRT_STATUS nrt_view_init(struct nrt_view *view, size_t nr, struct nrt_error *error)
{
	view->windows = calloc(nr + 1, sizeof(*view->windows));
	view->changes = calloc(nr + 1, sizeof(*view->changes));
	view->nr = nr;
	if (!view->windows || !view->changes)
		return nrt_error_memory(error);
	return NRT_SUCCESS;
}

void nrt_view_fini(struct nrt_view *view)
{
	free(view->windows);
	free(view->changes);
}

void nrt_view_set(struct nrt_view *view, size_t i, const struct drm_neuron_window *entry,
		  struct nrt_bo *bo)
{
	struct nrt_window new = { .entry = *entry, .bo_id = bo ? bo->id : 0 };

	if (!memcmp(&view->windows[i], &new, sizeof(new)))
		return;
	view->windows[i] = new;
	/* More than there is room for: entries changed twice; then all are written. */
	if (view->nr_changes <= view->nr && ++view->nr_changes <= view->nr)
		view->changes[view->nr_changes - 1] = *entry;
	if (bo)
		atomic_store(&bo->shown, true);
}

void nrt_view_show(struct nrt_view *view, size_t i, uint32_t index, uint32_t rights,
		   struct nrt_bo *bo, uint64_t offset, uint64_t length)
{
	struct drm_neuron_window entry = {
		.index = index,
	};

	if (length) {
		entry.kind = DRM_NEURON_WINDOW_BO;
		entry.rights = rights;
		entry.handle = bo->handle;
		entry.offset = offset;
		entry.length = length;
	}
	nrt_view_set(view, i, &entry, length ? bo : NULL);
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
 * The whole table: entries of the view that was there before and that this one does
 * not have become empty. Both lists ascend.
 */
static NRT_STATUS write_all(struct nrt_core *core, struct nrt_view *view,
			    struct nrt_error *error)
{
	struct drm_neuron_window *list;
	uint32_t *shown;
	size_t nr = 0, old = 0, i;

	list = calloc(view->nr + core->nr_shown + 1, sizeof(*list));
	shown = calloc(view->nr + 1, sizeof(*shown));
	if (!list || !shown) {
		nrt_error_memory(error);
		goto out;
	}
	for (i = 0; i < view->nr; i++) {
		uint32_t index = view->windows[i].entry.index;

		for (; old < core->nr_shown && core->shown[old] < index; old++)
			list[nr++] = empty_window(core->shown[old]);
		if (old < core->nr_shown && core->shown[old] == index)
			old++;
		list[nr++] = view->windows[i].entry;
		shown[i] = index;
	}
	for (; old < core->nr_shown; old++)
		list[nr++] = empty_window(core->shown[old]);
	if (write_table(core, list, nr, error))
		goto out;
	free(list);
	forget_shown(core);
	core->shown = shown;
	core->nr_shown = view->nr;
	core->resident = view;
	return NRT_SUCCESS;
out:
	free(list);
	free(shown);
	core->resident = NULL;
	return error->status;
}

NRT_STATUS nrt_core_show(struct nrt_core *core, struct nrt_view *view,
			 struct drm_neuron_job *args, uint32_t *room, struct nrt_error *error)
{
	uint32_t nr = view->nr_changes;

	view->nr_changes = 0;
	if (core->resident != view || nr > view->nr || nr > *room)
		return write_all(core, view, error);
	*room -= nr;
	args->windows = (struct drm_neuron_array){
		.stride = sizeof(*view->changes),
		.count = nr,
		.pointer = (uintptr_t)view->changes,
	};
	return NRT_SUCCESS;
}

char *nrt_core_dump(struct nrt_core *core, uint64_t job)
{
	struct nrt_device *device = core->device;
	struct drm_neuron_dump dump = { .claim = device->claim, .core = core->index };
	uint32_t room;
	char *text;

	if (device->backend->dump(device->chip, &dump))
		return NULL;
	room = dump.size;
	text = calloc(1, (size_t)room + 1);
	if (!text)
		return NULL;
	dump.pointer = (uintptr_t)text;
	if (!device->backend->dump(device->chip, &dump) && dump.job == job)
		return text;
	free(text);
	return NULL;
}

/* With the core's lock: the table becomes empty. */
static void clear_table(struct nrt_core *core)
{
	struct drm_neuron_window *list = calloc(core->nr_shown + 1, sizeof(*list));
	struct nrt_error ignored;
	size_t i;

	for (i = 0; list && i < core->nr_shown; i++)
		list[i] = empty_window(core->shown[i]);
	if (list)
		write_table(core, list, core->nr_shown, &ignored);
	free(list);
	forget_shown(core);
}

void nrt_core_drop(struct nrt_core *core, struct nrt_view *view)
{
	pthread_mutex_lock(&core->lock);
	if (core->nr_shown && (core->resident == view || !core->resident))
		clear_table(core);
	pthread_mutex_unlock(&core->lock);
}

/* With the core's lock. */
static void forget_on_core(struct nrt_core *core, const struct nrt_bo *bo)
{
	struct nrt_view *view = core->resident;
	struct nrt_error ignored;
	size_t i;

	for (i = 0; i < view->nr; i++) {
		struct drm_neuron_window entry;

		if (view->windows[i].bo_id != bo->id)
			continue;
		entry = empty_window(view->windows[i].entry.index);
		view->windows[i] = (struct nrt_window){ .entry = entry };
		if (write_table(core, &entry, 1, &ignored) || view->nr_changes) {
			/* Or a change that waits for a submission would bring it back. */
			core->resident = NULL;
			return;
		}
	}
}

static void forget_on_cores(struct nrt_core *cores, unsigned int nr, const struct nrt_bo *bo)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct nrt_core *core = &cores[i];

		pthread_mutex_lock(&core->lock);
		if (core->resident)
			forget_on_core(core, bo);
		else if (core->nr_shown)
			/* After a failure nobody knows what the table shows. */
			clear_table(core);
		pthread_mutex_unlock(&core->lock);
	}
}

void nrt_bo_forget(struct nrt_bo *bo)
{
	struct nrt_device *device = bo->device;

	if (!atomic_load(&bo->shown))
		return;
	forget_on_cores(device->cores, device->nr_cores, bo);
	forget_on_cores(device->cc_cores, device->nr_cc_cores, bo);
}
