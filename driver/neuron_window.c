// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: from what a user asks for to the entries of a core's table.
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "contract/trace.h"
#include "contract/window.h"
#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_device.h"
#include "neuron_gem.h"
#include "neuron_grant.h"
#include "neuron_ioctl.h"
#include "neuron_table.h"
#include "neuron_trace.h"
#include "neuron_window.h"

/* The interface promises the values of the hardware contract. */
static_assert(DRM_NEURON_WINDOW_EMPTY == (int)NEURON_WINDOW_EMPTY);
static_assert(DRM_NEURON_WINDOW_SBUF == (int)NEURON_WINDOW_SBUF);
static_assert(DRM_NEURON_WINDOW_PSUM == (int)NEURON_WINDOW_PSUM);
static_assert(DRM_NEURON_WINDOW_SEM == (int)NEURON_WINDOW_SEM);
static_assert(DRM_NEURON_WINDOW_GRANT == (int)NEURON_WINDOW_GRANT);

static const enum neuron_window_kind neuron_bo_window_kind[] = {
	[NEURON_BO_HBM] = NEURON_WINDOW_HBM,
	[NEURON_BO_HOST] = NEURON_WINDOW_HOST,
	[NEURON_BO_PEER] = NEURON_WINDOW_PEER,
	[NEURON_BO_USER] = NEURON_WINDOW_HOST,
};

static int neuron_window_invalid(struct neuron_device *ndev,
				 const struct drm_neuron_window *window,
				 const char *why, int error)
{
	drm_dbg(&ndev->drm, "window %u (kind %u): %s\n", window->index,
		window->kind, why);
	return error;
}

/* Of a buffer that is in several pieces. */
static int neuron_binding_show_pieces(struct neuron_binding *binding,
				      struct neuron_bo *bo, u32 kind, u64 offset,
				      u64 length)
{
	struct neuron_span span;
	u64 first;
	int ret;

	ret = neuron_bo_span(bo, offset, length, &span);
	if (ret)
		return ret;
	first = neuron_hw_extent_addr(&bo->extents[span.first]) + span.skip;
	if (span.count > 1)	/* neuron_window_list() */
		binding->hw = neuron_hw_window_list(kind, 0, 0, 0, length);
	else
		binding->hw = neuron_hw_window_memory(kind, 0, first, length);
	return 0;
}

/**
 * struct neuron_window_last - the buffer of the window before
 * @handle: of the buffer
 * @bo: the buffer, or NULL; that window has the reference
 *
 * Many windows of a call show the same buffer, which is looked up and checked once.
 */
struct neuron_window_last {
	u32 handle;
	struct neuron_bo *bo;
};

/* Whether any window may show @bo. */
static int neuron_window_check_bo(struct neuron_device *ndev,
				  const struct drm_neuron_window *window,
				  const struct neuron_bo *bo)
{
	if (neuron_bo_is_gone(bo))
		return neuron_window_invalid(ndev, window,
					     "the chip of the buffer is gone",
					     -ENODEV);
	if (neuron_bo_is_lost(bo))
		return neuron_window_invalid(ndev, window,
					     "lost in a device reset", -EIO);
	if (neuron_bo_is_stream(bo))
		return neuron_window_invalid(ndev, window,
					     "windows do not reach streams",
					     -EPERM);
	return 0;
}

/* Give @binding the buffer that @window names. */
static int neuron_window_lookup(struct neuron_device *ndev, struct drm_file *file,
				const struct drm_neuron_window *window,
				struct neuron_window_last *last,
				struct neuron_binding *binding)
{
	struct neuron_bo *bo;
	int ret;

	if (last->bo && last->handle == window->handle) {
		drm_gem_object_get(&last->bo->base);
		binding->bo = last->bo;
		return 0;
	}
	bo = neuron_bo_lookup(file, window->handle);
	if (IS_ERR(bo))
		return neuron_window_invalid(ndev, window, "no such buffer",
					     PTR_ERR(bo));
	binding->bo = bo;
	ret = neuron_window_check_bo(ndev, window, bo);
	if (!ret)
		*last = (struct neuron_window_last){ window->handle, bo };
	return ret;
}

/* The range is inside the buffer, whose reference the binding takes. */
static int neuron_binding_show(struct neuron_binding *binding,
			       struct neuron_bo *bo, u32 kind, u64 offset,
			       u64 length)
{
	binding->offset = offset;
	if (bo->nr_extents > 1)
		return neuron_binding_show_pieces(binding, bo, kind, offset, length);
	binding->hw = neuron_hw_window_memory(kind, 0,
					      neuron_hw_extent_addr(&bo->extents[0]) + offset,
					      length);
	return 0;
}

static int neuron_window_bo(struct neuron_claim_core *cc, struct drm_file *file,
			    const struct drm_neuron_window *window,
			    struct neuron_window_last *last,
			    struct neuron_binding *binding)
{
	struct neuron_device *ndev = cc->core->ndev;
	struct neuron_bo *bo;
	u64 size;
	int ret;

	ret = neuron_window_lookup(ndev, file, window, last, binding);
	if (ret)
		return ret;
	bo = binding->bo;
	if (neuron_bo_is_read_only(bo) &&
	    window->rights & DRM_NEURON_WINDOW_WRITE)
		return neuron_window_invalid(ndev, window,
					     "the buffer is read-only",
					     -EPERM);
	size = bo->base.size;
	if (window->offset % 4 || !window->length || window->offset > size ||
	    window->length > size - window->offset)
		return neuron_window_invalid(ndev, window,
					     "range outside the buffer or not aligned to 4 bytes",
					     -EINVAL);
	return neuron_binding_show(binding, bo, neuron_bo_window_kind[bo->kind],
				   window->offset, window->length);
}

/*
 * drm_dev_unplug() waits for those who are inside drm_dev_enter(), so they stop when the
 * device leaves.
 */
static int neuron_window_pause(const struct neuron_device *ndev)
{
	return neuron_hw_leaves(ndev) ? -ENODEV : neuron_pause();
}

/* Write the list of extents of @binding. */
static int neuron_window_write_list(struct neuron_claim *claim,
				    struct neuron_list_room *room,
				    struct neuron_binding *binding)
{
	u64 left = le64_to_cpu(binding->hw.length);
	const struct neuron_hw_extent *extent;
	struct neuron_bo *bo = binding->bo;
	struct neuron_list_slot at;
	struct neuron_span span;
	unsigned int i;
	u64 addr, length;
	int ret;

	ret = neuron_window_pause(claim->ndev);
	if (!ret)
		ret = neuron_bo_span(bo, binding->offset, left, &span);
	if (ret)
		return ret;
	if (span.count > NEURON_MAX_EXTENTS)
		return -EINVAL;
	ret = neuron_list_create(claim, room, span.count, &at);
	if (ret)
		return ret;
	binding->list = at.page;
	neuron_hw_window_extents(&binding->hw, neuron_list_addr(&at), span.count);

	for (i = 0; i < span.count; i++) {
		extent = &bo->extents[span.first + i];
		addr = neuron_hw_extent_addr(extent) + span.skip;
		length = min(neuron_hw_extent_length(extent) - span.skip, left);
		neuron_list_add(&at, addr, length);
		left -= length;
		span.skip = 0;
	}
	return 0;
}

/* The same, if it needs one. */
static int neuron_window_list(struct neuron_claim *claim, struct neuron_list_room *room,
			      struct neuron_binding *binding)
{
	if (!neuron_hw_window_is_list(&binding->hw))
		return 0;
	return neuron_window_write_list(claim, room, binding);
}

/* The core's memories: their place is the kernel's business. */
static int neuron_window_own(struct neuron_claim_core *cc,
			     const struct drm_neuron_window *window,
			     struct neuron_binding *binding)
{
	struct neuron_device *ndev = cc->core->ndev;
	bool sbuf = window->kind == DRM_NEURON_WINDOW_SBUF;
	u64 base = ndev->gen->tpb_addr[cc->core->tpb->index];

	if (window->handle || window->offset || window->length)
		return neuron_window_invalid(ndev, window,
					     "handle, offset and length must be zero",
					     -EINVAL);
	if (sbuf)
		binding->hw = neuron_hw_window_memory(NEURON_WINDOW_SBUF, 0,
						      base + NEURON_TPB_SBUF,
						      NEURON_TPB_SBUF_SIZE);
	else
		binding->hw = neuron_hw_window_memory(NEURON_WINDOW_PSUM, 0,
						      base + NEURON_TPB_PSUM,
						      NEURON_TPB_PSUM_SIZE);
	return 0;
}

static void neuron_window_own_sems(const struct neuron_claim_core *cc,
				   struct neuron_grant_target *target)
{
	target->base = cc->core->sems_addr;
	target->generation = cc->generation;
	target->first = 0;
	target->count = NEURON_NR_SEMAPHORES;
}

/* What a core has of another one of its claim: all that it could be granted. */
static int neuron_window_sibling(struct neuron_claim_core *cc,
				 const struct drm_neuron_window *window,
				 struct neuron_grant_target *target)
{
	struct neuron_claim_core *sibling;
	struct neuron_core *core;

	/* neuron_window_use_core() came before. */
	sibling = neuron_claim_core_used(cc->claim, window->source);
	if (!sibling)
		return -EINVAL;
	core = sibling->core;
	neuron_window_own_sems(sibling, target);
	if (window->kind == DRM_NEURON_WINDOW_SEM)
		return 0;
	target->base = core->ndev->gen->tpb_addr[core->index] + NEURON_TPB_SBUF;
	target->count = NEURON_TPB_SBUF_SIZE;
	target->rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	return 0;
}

static int neuron_window_others(struct neuron_claim_core *cc,
				struct drm_file *file,
				const struct drm_neuron_window *window,
				enum neuron_grant_kind kind,
				struct neuron_grant_target *target)
{
	if (window->from == DRM_NEURON_FROM_CORE)
		return neuron_window_sibling(cc, window, target);
	return neuron_grant_lookup(cc->core->ndev, file, window, kind, target);
}

static int neuron_window_sem_target(struct neuron_claim_core *cc,
				    struct drm_file *file,
				    const struct drm_neuron_window *window,
				    struct neuron_grant_target *target)
{
	if (window->from == DRM_NEURON_FROM_OWN) {
		neuron_window_own_sems(cc, target);
		return 0;
	}
	if (window->rights & DRM_NEURON_WINDOW_READ)
		return neuron_window_invalid(cc->core->ndev, window,
					     "semaphores of another core can be posted, not read",
					     -EPERM);
	return neuron_window_others(cc, file, window, NEURON_GRANT_SEM, target);
}

static noinline_for_stack int
neuron_window_sem(struct neuron_claim_core *cc, struct drm_file *file,
		  const struct drm_neuron_window *window,
		  struct neuron_binding *binding)
{
	struct neuron_grant_target target;
	u64 count = window->length / 4;
	int ret;

	ret = neuron_window_sem_target(cc, file, window, &target);
	if (ret)
		return ret;
	if (window->handle || window->length % 4 || !count ||
	    window->offset > target.count ||
	    count > target.count - window->offset)
		return neuron_window_invalid(cc->core->ndev, window,
					     "semaphores out of range",
					     -EINVAL);
	binding->hw = neuron_hw_window_sems(0, target.base,
					    target.first + window->offset,
					    count, target.generation);
	return 0;
}

static noinline_for_stack int
neuron_window_granted(struct neuron_claim_core *cc, struct drm_file *file,
		      const struct drm_neuron_window *window,
		      struct neuron_binding *binding)
{
	struct neuron_device *ndev = cc->core->ndev;
	struct neuron_grant_target target;
	int ret;

	ret = neuron_window_others(cc, file, window, NEURON_GRANT_SBUF,
				   &target);
	if (ret)
		return ret;
	if (window->rights & ~target.rights)
		return neuron_window_invalid(ndev, window,
					     "more rights than granted",
					     -EPERM);
	if (window->handle || window->offset % 4 || !window->length ||
	    window->offset > target.count ||
	    window->length > target.count - window->offset)
		return neuron_window_invalid(ndev, window,
					     "outside of what is granted",
					     -EINVAL);
	binding->hw = neuron_hw_window_grant(0, target.base + target.first +
					     window->offset, window->length,
					     target.generation);
	return 0;
}

static bool neuron_window_from_valid(const struct drm_neuron_window *window)
{
	switch (window->kind) {
	case DRM_NEURON_WINDOW_SEM:
		break;
	case DRM_NEURON_WINDOW_GRANT:
		if (window->from == DRM_NEURON_FROM_OWN)
			return false;
		break;
	default:
		if (window->from != DRM_NEURON_FROM_OWN)
			return false;
	}
	return window->from == DRM_NEURON_FROM_OWN ?
		       !window->source : window->from <= DRM_NEURON_FROM_GRANT;
}

static int neuron_window_check(struct neuron_device *ndev,
			       const struct drm_neuron_window *window)
{
	bool empty = window->kind == DRM_NEURON_WINDOW_EMPTY;

	if (window->index >= NEURON_MAX_WINDOWS)
		return neuron_window_invalid(ndev, window, "index out of range",
					     -EINVAL);
	if (window->rights & ~(DRM_NEURON_WINDOW_READ |
			       DRM_NEURON_WINDOW_WRITE))
		return neuron_window_invalid(ndev, window, "unknown rights",
					     -EINVAL);
	if (empty == !!window->rights)
		return neuron_window_invalid(ndev, window,
					     "rights: none for EMPTY, some for the other kinds",
					     -EINVAL);
	if (!neuron_window_from_valid(window))
		return neuron_window_invalid(ndev, window,
					     "from and source do not fit the kind",
					     -EINVAL);
	if (window->kind == DRM_NEURON_WINDOW_GRANT &&
	    window->from == DRM_NEURON_FROM_CORE &&
	    window->source >= NEURON_MAX_CORES)
		return neuron_window_invalid(ndev, window,
					     "a CC-core has no SBUF", -EINVAL);
	if (empty && (window->handle || window->offset || window->length))
		return neuron_window_invalid(ndev, window,
					     "handle, offset and length must be zero",
					     -EINVAL);
	return 0;
}

/* neuron_windows_use_cores() for one window. */
static int neuron_window_use_core(struct neuron_claim_core *cc,
				  const struct drm_neuron_window *window)
{
	int ret;

	if (window->from != DRM_NEURON_FROM_CORE)
		return 0;
	ret = neuron_window_check(cc->core->ndev, window);
	if (ret)
		return ret;
	return PTR_ERR_OR_ZERO(neuron_claim_core_use(cc->claim,
						     window->source));
}

/*
 * Fill in @binding, which is empty, as @window asks for. One that will be used needs
 * neuron_window_list(), too. It is to be put, also after an error.
 */
static int neuron_window_bind(struct neuron_claim_core *cc, struct drm_file *file,
			      const struct drm_neuron_window *window,
			      struct neuron_window_last *last,
			      struct neuron_binding *binding)
{
	struct neuron_device *ndev = cc->core->ndev;
	int ret;

	ret = neuron_window_check(ndev, window);
	if (ret)
		return ret;

	switch (window->kind) {
	case DRM_NEURON_WINDOW_EMPTY:
		return 0;
	case DRM_NEURON_WINDOW_BO:
		ret = neuron_window_bo(cc, file, window, last, binding);
		break;
	case DRM_NEURON_WINDOW_SBUF:
	case DRM_NEURON_WINDOW_PSUM:
		ret = neuron_window_own(cc, window, binding);
		break;
	case DRM_NEURON_WINDOW_SEM:
		ret = neuron_window_sem(cc, file, window, binding);
		break;
	case DRM_NEURON_WINDOW_GRANT:
		ret = neuron_window_granted(cc, file, window, binding);
		break;
	default:
		ret = neuron_window_invalid(ndev, window, "unknown kind",
					    -EINVAL);
		break;
	}
	if (ret)
		return ret;
	neuron_hw_window_allow(&binding->hw, !!(window->rights & DRM_NEURON_WINDOW_READ),
			       !!(window->rights & DRM_NEURON_WINDOW_WRITE));
	return 0;
}

/* The same for all of a stream, which has at least @end bytes. */
static int neuron_window_bind_stream(struct neuron_claim_core *cc, struct drm_file *file,
				     u32 handle, u64 end, struct neuron_binding *binding)
{
	struct drm_device *drm = &cc->core->ndev->drm;
	struct neuron_bo *bo;

	bo = neuron_bo_lookup(file, handle);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	binding->bo = bo;
	if (!neuron_bo_is_stream(bo) || end > bo->base.size) {
		drm_dbg(drm, "buffer %u is no stream, or too short\n", handle);
		return -EINVAL;
	}
	return neuron_binding_show(binding, bo, NEURON_WINDOW_STREAM, 0,
				   bo->base.size);
}

/*
 * Sets of windows, and the WINDOWS ioctl.
 */

/* Before window @i of many. */
static int neuron_windows_pause(const struct neuron_device *ndev, u32 i)
{
	return i % NEURON_PAUSE_ELEMENTS ? 0 : neuron_window_pause(ndev);
}

int neuron_windows_use_cores(struct neuron_claim_core *cc,
			     const struct neuron_array *array)
{
	const struct drm_neuron_window *window = array->element;
	int ret = 0;
	u32 i;

	for (i = 0; i < array->count && !ret; i++) {
		ret = neuron_windows_pause(cc->core->ndev, i);
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
	struct neuron_window_last last = { };
	int ret = 0;
	u32 i;

	for (i = 0; i < array->count && !ret; i++, window++) {
		ret = neuron_windows_pause(cc->core->ndev, i);
		if (ret)
			return ret;
		windows->change[i].index = window->index;
		ret = neuron_window_bind(cc, file, window, &last,
					 &windows->change[i].binding);
	}
	return ret;
}

int neuron_windows_get(struct neuron_windows *windows,
		       struct neuron_claim_core *cc, struct drm_file *file,
		       const struct neuron_array *array, u32 stream,
		       u64 end)
{
	u32 nr = array->count + !!stream;
	struct neuron_change *last;
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

	last = &windows->change[array->count];
	last->index = NEURON_TABLE_STREAM;
	windows->stream = true;
	return neuron_window_bind_stream(cc, file, stream, end, &last->binding);
}

/* As a program's window of the buffer would be, but no program has it. */
int neuron_window_bind_trace(struct neuron_claim_core *cc, struct drm_file *file,
			     const struct drm_neuron_job *args,
			     struct neuron_change *trace)
{
	const struct drm_neuron_window window = {
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.handle = args->trace,
		.offset = args->trace_offset,
		.length = args->trace_size,
	};
	struct neuron_window_last last = { };
	const char *why;
	int ret;

	ret = neuron_window_bind(cc, file, &window, &last, &trace->binding);
	if (ret)
		return ret;
	why = neuron_trace_check_window(le32_to_cpu(trace->binding.hw.flags),
					args->trace_size);
	if (!why)
		return 0;
	drm_dbg(&cc->core->ndev->drm, "%s\n", why);
	return -EINVAL;
}

struct neuron_table *neuron_windows_trace(struct neuron_claim_core *cc,
					  struct neuron_change *trace)
{
	struct neuron_list_room room = { };
	struct neuron_table *table = NULL;
	int ret;

	ret = neuron_window_list(cc->claim, &room, &trace->binding);
	if (!ret)
		table = neuron_table_change(cc->claim, NULL, trace, 1);
	neuron_list_room_put(&room);
	return ret ? ERR_PTR(ret) : table;
}

/* Does the entry that @change names show the same already? */
static bool neuron_window_is_bound(const struct neuron_table *table,
				   const struct neuron_change *change)
{
	const struct neuron_binding *bound = neuron_table_binding(table, change->index);

	return bound ? neuron_binding_same(bound, &change->binding) :
		       neuron_binding_is_empty(&change->binding);
}

/*
 * Keep the changes that change something, in order; complete their bindings.
 * Return: how many, or an error.
 */
static int neuron_windows_reduce(struct neuron_windows *windows,
				 struct neuron_claim_core *cc)
{
	struct neuron_change *changes = windows->change;
	u32 i, first_new = 0, kept = 0;
	int ret;

	for (i = 0; i < windows->nr; i++) {
		ret = neuron_windows_pause(cc->core->ndev, i);
		if (ret)
			return ret;
		/* An index named before may have another binding by now. */
		if (changes[i].index >= first_new) {
			first_new = changes[i].index + 1;
			if (neuron_window_is_bound(cc->table, &changes[i]))
				continue;
		}
		ret = neuron_window_list(cc->claim, &windows->room,
					 &changes[i].binding);
		if (ret)
			return ret;
		if (kept != i)
			swap(changes[kept], changes[i]);
		kept++;
	}
	return kept;
}

/*
 * A table with a second reference is not changed in place. An undoable change takes one, so that
 * the old version stays.
 */
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
	/* The stream of an earlier job is in the table, too, and stays. */
	if ((windows->stream || neuron_table_stream(cc->table)) &&
	    neuron_table_entries(cc->table, windows->change,
				 windows->nr) == NEURON_MAX_WINDOWS) {
		drm_dbg(&cc->core->ndev->drm, "no window is left for the stream\n");
		return -EINVAL;
	}
	nr = neuron_windows_reduce(windows, cc);
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

	/* Most jobs bring none. */
	if (!windows->nr)
		return;
	for (i = 0; i < windows->nr; i++) {
		if (neuron_binding_is_unused(&windows->change[i].binding))
			continue;
		neuron_binding_put(&windows->change[i].binding);
		cond_resched();
	}
	kvfree(windows->change);
	neuron_list_room_put(&windows->room);
	if (windows->old)
		neuron_table_put(windows->old);
	*windows = (struct neuron_windows){ };
}

/*
 * The memory that the device reads is the device's: it is made inside drm_dev_enter(). What it
 * replaces is given back outside, because buffers may end with it; the removal waits for tables
 * and lists (neuron_device.nr_live).
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

/**
 * neuron_ioctl_windows() - WINDOWS: write entries of a core's window table
 * @drm: device
 * @data: &struct drm_neuron_windows
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
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

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_window.c"
#endif
