// SPDX-License-Identifier: MIT
/*
 * Windows, and the tables of them that jobs latch.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/window.h"
#include "backend/embedded/emb.h"

/* The interface promises the values of the hardware contract. */
_Static_assert(DRM_NEURON_WINDOW_EMPTY == (int)NEURON_WINDOW_EMPTY, "kind");
_Static_assert(DRM_NEURON_WINDOW_SBUF == (int)NEURON_WINDOW_SBUF, "kind");
_Static_assert(DRM_NEURON_WINDOW_PSUM == (int)NEURON_WINDOW_PSUM, "kind");
_Static_assert(DRM_NEURON_WINDOW_SEM == (int)NEURON_WINDOW_SEM, "kind");
_Static_assert(DRM_NEURON_WINDOW_GRANT == (int)NEURON_WINDOW_GRANT, "kind");
_Static_assert(DRM_NEURON_GRANT_SBUF_READ == DRM_NEURON_WINDOW_READ, "right");
_Static_assert(DRM_NEURON_GRANT_SBUF_WRITE == DRM_NEURON_WINDOW_WRITE, "right");

/* --- windows; with the chip's lock --- */

/* Device address @addr of @owner as @chip writes it. */
static uint64_t seen_from(const struct nrt_chip *chip, const struct nrt_chip *owner,
			  uint64_t addr)
{
	return owner == chip ? addr : neuron_fabric_addr(owner->index, addr);
}

int emb_window_of_bo(struct nrt_chip *chip, const struct drm_neuron_window *window,
		     struct neuron_hw_window *hw, struct emb_binding *binding)
{
	struct emb_bo *bo = emb_bo_find(chip, window->handle);
	enum neuron_window_kind kind = NEURON_WINDOW_HOST;
	uint32_t pieces;

	if (!bo)
		return -ENOENT;
	if (window->offset % 4 || !window->length || window->offset > bo->size ||
	    window->length > bo->size - window->offset)
		return -EINVAL;
	if (bo->placement == DRM_NEURON_BO_HBM)
		kind = bo->chip == chip ? NEURON_WINDOW_HBM : NEURON_WINDOW_PEER;
	pieces = emb_bo_pieces(bo, window->offset, window->length);
	if (pieces > 1)
		*hw = neuron_hw_window_list(kind, 0, 0, pieces, window->length);
	else
		*hw = neuron_hw_window_memory(kind, 0,
					      seen_from(chip, bo->chip,
							emb_bo_run(bo, window->offset, 1).addr),
					      window->length);
	emb_bo_get(bo);
	*binding = (struct emb_binding){ .bo = bo, .offset = window->offset };
	return 0;
}

void emb_binding_put(struct nrt_chip *chip, struct emb_binding *binding)
{
	struct emb_lists *lists = binding->lists;

	if (lists && !--lists->refs) {
		emb_shared_free(chip->machine, &lists->memory);
		free(lists);
	}
	emb_bo_put(binding->bo);
	*binding = (struct emb_binding){ 0 };
}

static void binding_copy(struct emb_binding *to, const struct emb_binding *from)
{
	*to = *from;
	if (to->lists)
		to->lists->refs++;
	if (to->bo)
		emb_bo_get(to->bo);
}

static uint32_t list_extents(const struct neuron_hw_window *hw)
{
	return neuron_hw_window_is_list(hw) ? neuron_from_le32(hw->nr_extents) : 0;
}

static void list_fill(const struct nrt_chip *chip, const struct neuron_hw_window *hw,
		      const struct emb_binding *binding, struct neuron_hw_extent *extent)
{
	uint64_t left = neuron_from_le64(hw->length), offset = binding->offset;
	struct emb_run run;

	for (; left; left -= run.length, offset += run.length) {
		run = emb_bo_run(binding->bo, offset, left);
		*extent++ = neuron_hw_extent(seen_from(chip, binding->bo->chip, run.addr),
					     run.length);
	}
}

/* Without references, or NULL. */
static struct emb_lists *lists_new(struct nrt_chip *chip, uint64_t extents)
{
	struct emb_lists *lists = calloc(1, sizeof(*lists));

	if (!lists)
		return NULL;
	if (!emb_shared_alloc(chip->machine, extents * sizeof(struct neuron_hw_extent),
			      &lists->memory))
		return lists;
	free(lists);
	return NULL;
}

/* One behind the other. Addresses of this memory have no gaps, so it takes no links. */
int emb_lists_make(struct nrt_chip *chip, struct neuron_hw_window *hw,
		   struct emb_binding *binding, uint32_t nr)
{
	struct neuron_hw_extent *extent;
	struct emb_lists *lists;
	uint64_t extents = 0, addr;
	uint32_t i, count;

	for (i = 0; i < nr; i++)
		extents += list_extents(&hw[i]);
	if (!extents)
		return 0;
	lists = lists_new(chip, extents);
	if (!lists)
		return -ENOMEM;
	extent = (struct neuron_hw_extent *)lists->memory.ptr;
	addr = emb_host_addr(chip, lists->memory.addr);
	for (i = 0; i < nr; i++) {
		count = list_extents(&hw[i]);
		if (!count)
			continue;
		list_fill(chip, &hw[i], &binding[i], extent);
		neuron_hw_window_extents(&hw[i], addr, count);
		binding[i].lists = lists;
		lists->refs++;
		extent += count;
		addr += count * sizeof(*extent);
	}
	return 0;
}

static int window_own(struct emb_core *core, const struct drm_neuron_window *window,
		      struct neuron_hw_window *hw)
{
	uint64_t tpb = core->chip->gen->tpb_addr[core->tpb];

	if (window->handle || window->offset || window->length)
		return -EINVAL;
	if (window->kind == DRM_NEURON_WINDOW_SBUF)
		*hw = neuron_hw_window_memory(NEURON_WINDOW_SBUF, 0, tpb + NEURON_TPB_SBUF,
					      NEURON_TPB_SBUF_SIZE);
	else
		*hw = neuron_hw_window_memory(NEURON_WINDOW_PSUM, 0, tpb + NEURON_TPB_PSUM,
					      NEURON_TPB_PSUM_SIZE);
	return 0;
}

/* What a window of another core shows: all of a sibling, or what a grant names. */
static int find_other(struct emb_core *core, const struct drm_neuron_window *window, bool sbuf,
		      struct emb_name *name, uint32_t *generation)
{
	const uint32_t rights = DRM_NEURON_GRANT_SBUF_READ | DRM_NEURON_GRANT_SBUF_WRITE;
	int ret;

	if (window->from == DRM_NEURON_FROM_CORE) {
		/* A CC-core has no SBUF. */
		if (sbuf && window->source >= NEURON_MAX_CORES)
			return -EINVAL;
		*name = (struct emb_name){
			.count = sbuf ? NEURON_TPB_SBUF_SIZE : NEURON_NR_SEMAPHORES,
			.flags = sbuf ? rights : 0,
		};
		ret = emb_core_use(core->chip, core->claim, (uint32_t)window->source, &name->core);
		if (!ret)
			*generation = name->core->generation;
		return ret;
	}
	if (window->from != DRM_NEURON_FROM_GRANT_FD && window->from != DRM_NEURON_FROM_GRANT)
		return -EINVAL;
	if (!emb_grant_find(core->chip, window, name, generation) ||
	    !(name->flags & rights) == sbuf)
		return -EBADF;
	return 0;
}

static int window_sem(struct emb_core *core, const struct drm_neuron_window *window,
		      struct neuron_hw_window *hw)
{
	uint32_t generation = core->generation, count = (uint32_t)(window->length / 4);
	struct emb_name name = { .core = core, .count = NEURON_NR_SEMAPHORES };
	int ret = 0;

	if (window->from != DRM_NEURON_FROM_OWN) {
		if (window->rights & DRM_NEURON_WINDOW_READ)
			return -EPERM;
		ret = find_other(core, window, false, &name, &generation);
	}
	if (ret)
		return ret;
	if (window->handle || window->length % 4 || !count || window->length / 4 > name.count ||
	    window->offset > name.count - count)
		return -EINVAL;
	*hw = neuron_hw_window_sems(0, seen_from(core->chip, name.core->chip,
						 name.core->sems_addr),
				    name.first + (uint32_t)window->offset, count, generation);
	return 0;
}

static int window_granted(struct emb_core *core, const struct drm_neuron_window *window,
			  struct neuron_hw_window *hw)
{
	struct emb_name name;
	uint32_t generation;
	uint64_t base;
	int ret;

	ret = find_other(core, window, true, &name, &generation);
	if (ret)
		return ret;
	if ((window->rights & DRM_NEURON_WINDOW_READ &&
	     !(name.flags & DRM_NEURON_GRANT_SBUF_READ)) ||
	    (window->rights & DRM_NEURON_WINDOW_WRITE &&
	     !(name.flags & DRM_NEURON_GRANT_SBUF_WRITE)))
		return -EPERM;
	if (window->handle || window->offset % 4 || !window->length ||
	    window->offset > name.count || window->length > name.count - window->offset)
		return -EINVAL;
	base = name.core->chip->gen->tpb_addr[name.core->index] + NEURON_TPB_SBUF + name.first +
	       window->offset;
	*hw = neuron_hw_window_grant(0, seen_from(core->chip, name.core->chip, base),
				     window->length, generation);
	return 0;
}

/* Only semaphores and grants can be another core's, and grants always are. */
static bool from_valid(const struct drm_neuron_window *window)
{
	if (window->from == DRM_NEURON_FROM_OWN)
		return window->kind != DRM_NEURON_WINDOW_GRANT && !window->source;
	return window->kind == DRM_NEURON_WINDOW_SEM || window->kind == DRM_NEURON_WINDOW_GRANT;
}

static int make_window(struct emb_core *core, const struct drm_neuron_window *window,
		       struct neuron_hw_window *hw, struct emb_binding *binding)
{
	const uint32_t both = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	bool empty = window->kind == DRM_NEURON_WINDOW_EMPTY;
	int ret;

	*binding = (struct emb_binding){ 0 };
	memset(hw, 0, sizeof(*hw));
	if (window->index >= NEURON_MAX_WINDOWS || window->rights & ~both ||
	    empty == !!window->rights || !from_valid(window) ||
	    (empty && (window->handle || window->offset || window->length)))
		return -EINVAL;
	switch (window->kind) {
	case DRM_NEURON_WINDOW_EMPTY:
		return 0;
	case DRM_NEURON_WINDOW_BO:
		ret = emb_window_of_bo(core->chip, window, hw, binding);
		break;
	case DRM_NEURON_WINDOW_SBUF:
	case DRM_NEURON_WINDOW_PSUM:
		ret = window_own(core, window, hw);
		break;
	case DRM_NEURON_WINDOW_SEM:
		ret = window_sem(core, window, hw);
		break;
	case DRM_NEURON_WINDOW_GRANT:
		ret = window_granted(core, window, hw);
		break;
	default:
		ret = -EINVAL;
	}
	if (ret)
		return ret;
	neuron_hw_window_allow(hw, !!(window->rights & DRM_NEURON_WINDOW_READ),
			       !!(window->rights & DRM_NEURON_WINDOW_WRITE));
	return 0;
}

/* --- tables --- */

/* What a window counts in its table: an empty one nothing. */
static uint32_t window_extents(const struct neuron_hw_window *hw)
{
	if (neuron_hw_window_is_list(hw))
		return list_extents(hw);
	return neuron_hw_window_kind(hw) != NEURON_WINDOW_EMPTY;
}

void emb_table_put(struct nrt_chip *chip, struct emb_table *table)
{
	uint32_t i;

	if (!table || --table->refs)
		return;
	for (i = 0; i < table->nr; i++)
		emb_binding_put(chip, &table->binding[i]);
	emb_shared_free(chip->machine, &table->memory);
	free(table->binding);
	free(table);
}

/* A table of @nr entries, the first ones those of @from, which may be NULL. */
static struct emb_table *table_new(struct nrt_chip *chip, const struct emb_table *from,
				   uint32_t nr)
{
	struct emb_table *table = calloc(1, sizeof(*table));
	uint32_t i;

	if (!table)
		return NULL;
	table->binding = calloc(nr, sizeof(*table->binding));
	if (!table->binding ||
	    emb_shared_alloc(chip->machine, nr * sizeof(struct neuron_hw_window),
			     &table->memory)) {
		free(table->binding);
		free(table);
		return NULL;
	}
	table->refs = 1;
	table->nr = nr;
	if (!from)
		return table;
	table->nr_extents = from->nr_extents;
	memcpy(table->memory.ptr, from->memory.ptr, from->nr * sizeof(struct neuron_hw_window));
	for (i = 0; i < from->nr; i++)
		binding_copy(&table->binding[i], &from->binding[i]);
	return table;
}

/*
 * The table of the core that may be changed: jobs that were submitted keep theirs. At least
 * @nr entries.
 */
static struct emb_table *own_table(struct emb_core *core, uint32_t nr)
{
	struct emb_table *old = core->table, *table;

	if (old && old->refs == 1 && old->nr >= nr)
		return old;
	if (old && old->nr > nr)
		nr = old->nr;
	table = table_new(core->chip, old, nr);
	if (!table)
		return NULL;
	emb_table_put(core->chip, old);
	core->table = table;
	return table;
}

void emb_change_drop(struct nrt_chip *chip, struct emb_change *change)
{
	uint32_t i;

	for (i = 0; i < change->nr; i++)
		emb_binding_put(chip, &change->binding[i]);
	free(change->hw);
	free(change->binding);
	*change = (struct emb_change){ 0 };
}

/* The entries of @change, and the size of a table that has them. */
static int make_change(struct emb_core *core, uint32_t count, struct emb_change *change,
		       uint32_t *room)
{
	int ret;

	change->hw = calloc(count, sizeof(*change->hw));
	change->binding = calloc(count, sizeof(*change->binding));
	if (!change->hw || !change->binding)
		return -ENOMEM;
	for (; change->nr < count; change->nr++) {
		const struct drm_neuron_window *window = &change->window[change->nr];

		ret = make_window(core, window, &change->hw[change->nr],
				  &change->binding[change->nr]);
		if (ret)
			return ret;
		if (window->index >= *room)
			*room = window->index + 1;
	}
	return emb_lists_make(core->chip, change->hw, change->binding, change->nr);
}

/* An entry of @change and the one of @table that it is for change places. */
static void exchange(struct emb_table *table, struct emb_change *change, uint32_t i)
{
	uint32_t index = change->window[i].index;
	struct neuron_hw_window *entry = (struct neuron_hw_window *)table->memory.ptr + index;
	const struct emb_binding binding = table->binding[index];
	const struct neuron_hw_window hw = *entry;

	table->nr_extents += window_extents(&change->hw[i]);
	table->nr_extents -= window_extents(&hw);
	*entry = change->hw[i];
	table->binding[index] = change->binding[i];
	change->hw[i] = hw;
	change->binding[i] = binding;
}

/* Whether the table takes that many extents. It is tried, because a window can be named twice. */
static bool has_room(struct emb_table *table, struct emb_change *change)
{
	uint32_t i;
	bool room;

	for (i = 0; i < change->nr; i++)
		exchange(table, change, i);
	room = table->nr_extents <= NEURON_MAX_EXTENTS;
	while (i--)
		exchange(table, change, i);
	return room;
}

int emb_change_begin(struct emb_core *core, const struct drm_neuron_array *array,
		     struct emb_change *change)
{
	uint32_t room = 0;
	int ret = 0;

	*change = (struct emb_change){ 0 };
	change->window = emb_elements(array, sizeof(*change->window), NEURON_MAX_WINDOWS, &ret);
	if (ret || !array->count)
		return ret;
	ret = make_change(core, array->count, change, &room);
	if (!ret && !own_table(core, room))
		ret = -ENOMEM;
	if (!ret && !has_room(core->table, change))
		ret = -EINVAL;
	if (ret)
		emb_change_drop(core->chip, change);
	return ret;
}

void emb_change_apply(struct emb_core *core, struct emb_change *change)
{
	uint32_t i;

	for (i = 0; i < change->nr; i++)
		exchange(core->table, change, i);
	emb_change_drop(core->chip, change);
}

int emb_windows(struct nrt_chip *chip, struct drm_neuron_windows *windows)
{
	struct emb_change change;
	struct emb_core *core;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	pthread_mutex_lock(&chip->lock);
	ret = emb_core_use(chip, windows->claim, windows->core, &core);
	if (!ret)
		ret = emb_change_begin(core, &windows->windows, &change);
	if (!ret)
		emb_change_apply(core, &change);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}
