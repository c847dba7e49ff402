// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of windows, and the WINDOWS ioctl.
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "contract/trace.h"
#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_hw.h"
#include "neuron_ioctl.h"
#include "neuron_table.h"
#include "neuron_trace.h"
#include "neuron_windows.h"

/*
 * Between two of many windows. drm_dev_unplug() waits for those who are inside
 * drm_dev_enter(), so they stop when the device leaves.
 */
static int neuron_windows_pause(const struct neuron_device *ndev)
{
	return neuron_hw_leaves(ndev) ? -ENODEV : neuron_pause();
}

int neuron_windows_use_cores(struct neuron_claim_core *cc,
			     const struct neuron_array *array)
{
	const struct drm_neuron_window *window = array->element;
	int ret = 0;
	u32 i;

	for (i = 0; i < array->count && !ret; i++) {
		ret = neuron_windows_pause(cc->core->ndev);
		if (!ret)
			ret = neuron_window_use_core(cc, &window[i]);
	}
	return ret;
}

static int neuron_windows_bind(struct neuron_windows *windows,
			       struct neuron_claim_core *cc,
			       struct drm_file *file,
			       const struct neuron_array *array)
{
	const struct drm_neuron_window *window = array->element;
	struct neuron_binding *binding;
	int ret;
	u32 i;

	for (i = 0; i < array->count; i++, window++) {
		ret = neuron_windows_pause(cc->core->ndev);
		if (ret)
			return ret;
		binding = neuron_window_bind(cc, file, window);
		if (IS_ERR(binding))
			return PTR_ERR(binding);
		windows->change[i].index = window->index;
		windows->change[i].binding = binding;
	}
	return 0;
}

int neuron_windows_get(struct neuron_windows *windows,
		       struct neuron_claim_core *cc, struct drm_file *file,
		       const struct neuron_array *array, u32 stream,
		       u64 end)
{
	struct neuron_binding *binding;
	u32 nr = array->count + !!stream;
	int ret;

	if (!nr)
		return 0;
	windows->change = kvcalloc(nr, sizeof(*windows->change),
				   GFP_KERNEL_ACCOUNT);
	if (!windows->change)
		return -ENOMEM;
	windows->nr = nr;
	ret = neuron_windows_bind(windows, cc, file, array);
	if (ret || !stream)
		return ret;

	binding = neuron_window_bind_stream(cc, file, stream, end);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	windows->change[array->count].index = NEURON_TABLE_STREAM;
	windows->change[array->count].binding = binding;
	windows->stream = true;
	return 0;
}

/* As a program's window of the buffer would be, but no program has it. */
struct neuron_table *neuron_windows_trace(struct neuron_claim_core *cc,
					  struct drm_file *file,
					  const struct drm_neuron_job *args)
{
	const struct drm_neuron_window window = {
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.handle = args->trace,
		.offset = args->trace_offset,
		.length = args->trace_size,
	};
	struct drm_device *drm = &cc->core->ndev->drm;
	struct neuron_change change = { };
	struct neuron_table *table;
	const char *why;
	int ret;

	change.binding = neuron_window_bind(cc, file, &window);
	if (IS_ERR(change.binding))
		return ERR_CAST(change.binding);
	why = neuron_trace_check_window(le32_to_cpu(change.binding->hw.flags),
					args->trace_size);
	if (why) {
		drm_dbg(drm, "%s\n", why);
		table = ERR_PTR(-EINVAL);
		goto out_binding;
	}
	ret = neuron_window_list(change.binding);
	table = ret ? ERR_PTR(ret) :
		      neuron_table_change(cc->claim, NULL, &change, 1);
out_binding:
	/* Once the table has it, there is none here. */
	neuron_binding_put(change.binding);
	return table;
}

/*
 * Keep the changes that change something, in order; complete their bindings.
 * Return: how many, or an error.
 */
static int neuron_windows_reduce(struct neuron_device *ndev,
				 struct neuron_table *table,
				 struct neuron_change *changes, u32 nr)
{
	struct neuron_binding *bound, *fresh;
	u32 i, first_new = 0, kept = 0;
	int ret;

	for (i = 0; i < nr; i++) {
		ret = neuron_windows_pause(ndev);
		if (ret)
			return ret;
		fresh = changes[i].binding;
		bound = neuron_table_binding(table, changes[i].index);
		/* An index named before may have another binding by now. */
		if (changes[i].index >= first_new) {
			first_new = changes[i].index + 1;
			if (neuron_binding_same(bound, fresh))
				continue;
		}
		if (fresh) {
			ret = neuron_window_list(fresh);
			if (ret)
				return ret;
		}
		swap(changes[kept], changes[i]);
		kept++;
	}
	return kept;
}

/* A table that somebody has is not changed in place. */
static struct neuron_table *neuron_windows_version(struct neuron_windows *windows,
						   struct neuron_claim_core *cc,
						   int nr, bool undoable)
{
	struct neuron_table *version, *held = undoable ? cc->table : NULL;

	if (held)
		neuron_table_get(held);
	version = neuron_table_change(cc->claim, cc->table, windows->change,
				      nr);
	if (held)
		neuron_table_put(held);	/* never the last reference */
	return version;
}

int neuron_windows_apply(struct neuron_windows *windows,
			 struct neuron_claim_core *cc, bool undoable)
{
	struct neuron_table *version;
	int nr;

	lockdep_assert_held(&cc->lock);
	if (windows->stream &&
	    neuron_table_entries(cc->table, windows->change,
				 windows->nr) == NEURON_MAX_WINDOWS) {
		drm_dbg(&cc->core->ndev->drm, "no window is left for the stream\n");
		return -EINVAL;
	}
	nr = neuron_windows_reduce(cc->core->ndev, cc->table, windows->change,
				   windows->nr);
	if (nr <= 0)
		return nr;
	version = neuron_windows_version(windows, cc, nr, undoable);
	if (IS_ERR(version))
		return PTR_ERR(version);
	trace_neuron_windows(cc->core, cc->claim->id, nr, version->nr);
	if (version != cc->table) {
		windows->old = cc->table;
		windows->exchanged = true;
		cc->table = version;
	}
	return 0;
}

void neuron_windows_undo(struct neuron_windows *windows,
			 struct neuron_claim_core *cc)
{
	lockdep_assert_held(&cc->lock);
	if (windows->exchanged)
		swap(windows->old, cc->table);
}

void neuron_windows_put(struct neuron_windows *windows)
{
	u32 i;

	for (i = 0; i < windows->nr; i++) {
		neuron_binding_put(windows->change[i].binding);
		cond_resched();
	}
	kvfree(windows->change);
	if (windows->old)
		neuron_table_put(windows->old);
	*windows = (struct neuron_windows){ };
}

/*
 * The memory that the device reads is the device's: it is made, and given back,
 * inside drm_dev_enter().
 */
static int neuron_windows_enter(struct neuron_windows *windows,
				struct neuron_claim_core *cc)
{
	int idx, ret;

	if (!drm_dev_enter(&cc->core->ndev->drm, &idx))
		return -ENODEV;
	mutex_lock(&cc->lock);
	ret = cc->dead ? -ENOENT : neuron_windows_apply(windows, cc, false);
	mutex_unlock(&cc->lock);
	neuron_windows_put(windows);
	drm_dev_exit(idx);
	return ret;
}

static int neuron_windows_write(struct neuron_claim_core *cc,
				struct drm_file *file,
				const struct neuron_array *array)
{
	struct neuron_windows windows = { };
	int ret;

	ret = neuron_windows_get(&windows, cc, file, array, 0, 0);
	if (!ret)
		ret = neuron_windows_enter(&windows, cc);
	neuron_windows_put(&windows);
	return ret;
}

int neuron_ioctl_windows(struct drm_device *drm, void *data,
			 struct drm_file *file)
{
	struct drm_neuron_windows *args = data;
	struct neuron_claim_core *cc;
	struct neuron_array array;
	int ret;

	ret = neuron_array_check(&args->windows,
				 DRM_NEURON_WINDOW_SIZE_V2,
				 NEURON_MAX_WINDOWS);
	if (ret) {
		drm_dbg(drm, "windows: bad array: %u elements of %u bytes\n",
			args->windows.count, args->windows.stride);
		return ret;
	}
	ret = neuron_array_get(&array, sizeof(struct drm_neuron_window),
			       &args->windows);
	if (ret)
		return ret;
	cc = neuron_claim_core_find(file, args->claim, args->core);
	if (IS_ERR(cc)) {
		ret = PTR_ERR(cc);
		goto out_array;
	}
	ret = neuron_windows_use_cores(cc, &array);
	if (!ret)
		ret = neuron_windows_write(cc, file, &array);
	neuron_claim_put(cc->claim);
out_array:
	neuron_array_put(&array);
	return ret;
}
