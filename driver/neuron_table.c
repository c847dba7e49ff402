// SPDX-License-Identifier: GPL-2.0-only
/*
 * Window tables: bindings and versions, and what they show as text.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_gem.h"
#include "neuron_table.h"
#include "neuron_usage.h"

#define NEURON_TABLE_MIN	16	/* entries */

struct neuron_binding *neuron_binding_create(struct neuron_claim *claim)
{
	struct neuron_binding *binding;

	binding = kzalloc(sizeof(*binding), GFP_KERNEL_ACCOUNT);
	if (!binding)
		return NULL;
	kref_init(&binding->ref);
	binding->claim = claim;
	return binding;
}

static size_t neuron_binding_bytes(const struct neuron_binding *binding)
{
	return (size_t)binding->nr_extents * sizeof(*binding->extents);
}

static size_t neuron_binding_charge(const struct neuron_binding *binding)
{
	return neuron_coherent_bytes(neuron_binding_bytes(binding));
}

int neuron_binding_alloc_extents(struct neuron_binding *binding, u32 nr)
{
	struct neuron_claim *claim = binding->claim;
	int ret;

	binding->nr_extents = nr;
	ret = neuron_claim_charge(claim, neuron_binding_charge(binding));
	if (ret)
		return ret;
	binding->extents = dma_alloc_coherent(claim->ndev->drm.dev,
					      neuron_binding_bytes(binding),
					      &binding->extents_dma,
					      GFP_KERNEL_ACCOUNT |
					      __GFP_NOWARN);
	if (binding->extents)
		return 0;
	neuron_claim_uncharge(claim, neuron_binding_charge(binding));
	return -ENOMEM;
}

static void neuron_binding_release(struct kref *ref)
{
	struct neuron_binding *binding = container_of(ref, struct neuron_binding,
						      ref);

	if (binding->extents) {
		dma_free_coherent(binding->claim->ndev->drm.dev,
				  neuron_binding_bytes(binding),
				  binding->extents, binding->extents_dma);
		neuron_claim_uncharge(binding->claim,
				      neuron_binding_charge(binding));
	}
	if (binding->bo)
		neuron_bo_put(binding->bo);
	kfree(binding);
}

void neuron_binding_put(struct neuron_binding *binding)
{
	if (binding)
		kref_put(&binding->ref, neuron_binding_release);
}

bool neuron_binding_same(const struct neuron_binding *bound,
			 const struct neuron_binding *fresh)
{
	bool list;

	if (!bound || !fresh)
		return bound == fresh;
	list = le32_to_cpu(bound->hw.flags) & NEURON_WINDOW_LIST;
	return bound->bo == fresh->bo && bound->offset == fresh->offset &&
	       bound->hw.length == fresh->hw.length &&
	       bound->hw.flags == fresh->hw.flags &&
	       bound->hw.generation == fresh->hw.generation &&
	       bound->hw.sem_first == fresh->hw.sem_first &&
	       (list || bound->hw.base == fresh->hw.base);
}

/* With the stream's. */
static size_t neuron_table_hw_bytes(u32 nr)
{
	return (nr + 1) * sizeof(struct neuron_hw_window);
}

static size_t neuron_table_bytes(u32 nr)
{
	return neuron_coherent_bytes(neuron_table_hw_bytes(nr)) +
	       (nr + 1) * sizeof(struct neuron_binding *);
}

static u32 neuron_table_slot(const struct neuron_table *table, u32 index)
{
	return index == NEURON_TABLE_STREAM ? table->nr : index;
}

struct neuron_binding *neuron_table_binding(struct neuron_table *table,
					    u32 index)
{
	if (!table || (index >= table->nr && index != NEURON_TABLE_STREAM))
		return NULL;
	return table->binding[neuron_table_slot(table, index)];
}

static void neuron_table_free(struct neuron_table *table)
{
	struct neuron_claim *claim = table->claim;
	u32 i;

	for (i = 0; table->binding && i <= table->nr; i++) {
		neuron_binding_put(table->binding[i]);
		cond_resched();
	}
	kvfree(table->binding);
	if (table->hw)
		dma_free_coherent(claim->ndev->drm.dev,
				  neuron_table_hw_bytes(table->nr), table->hw,
				  table->dma);
	neuron_claim_uncharge(claim, neuron_table_bytes(table->nr));
	kfree(table);
	neuron_claim_live_put(claim);
}

static void neuron_table_free_work(struct work_struct *work)
{
	neuron_table_free(container_of(work, struct neuron_table, free_work));
}

static void neuron_table_release(struct kref *ref)
{
	neuron_table_free(container_of(ref, struct neuron_table, ref));
}

static void neuron_table_release_later(struct kref *ref)
{
	struct neuron_table *table = container_of(ref, struct neuron_table,
						  ref);

	INIT_WORK(&table->free_work, neuron_table_free_work);
	queue_work(table->claim->ndev->free_wq, &table->free_work);
}

void neuron_table_put(struct neuron_table *table)
{
	kref_put(&table->ref, neuron_table_release);
}

void neuron_table_put_later(struct neuron_table *table)
{
	kref_put(&table->ref, neuron_table_release_later);
}

static struct neuron_table *neuron_table_create(struct neuron_claim *claim,
						u32 nr)
{
	struct neuron_table *table;

	if (neuron_claim_charge(claim, neuron_table_bytes(nr)))
		return NULL;
	table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table) {
		neuron_claim_uncharge(claim, neuron_table_bytes(nr));
		return NULL;
	}
	kref_init(&table->ref);
	table->claim = claim;
	table->nr = nr;
	neuron_claim_live_get(claim);
	table->binding = kvcalloc(nr + 1, sizeof(*table->binding),
				  GFP_KERNEL_ACCOUNT);
	table->hw = dma_alloc_coherent(claim->ndev->drm.dev,
				       neuron_table_hw_bytes(nr), &table->dma,
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!table->binding || !table->hw) {
		neuron_table_put(table);
		return NULL;
	}
	return table;
}

static void neuron_table_share(struct neuron_table *table, u32 slot,
			       struct neuron_binding *binding)
{
	table->binding[slot] = binding;
	if (binding)
		kref_get(&binding->ref);
}

static void neuron_table_copy(struct neuron_table *table,
			      const struct neuron_table *from)
{
	u32 i;

	memcpy(table->hw, from->hw, from->nr * sizeof(*from->hw));
	table->hw[table->nr] = from->hw[from->nr];
	table->nr_extents = from->nr_extents;
	table->nr_peers = from->nr_peers;
	for (i = 0; i < from->nr; i++)
		neuron_table_share(table, i, from->binding[i]);
	neuron_table_share(table, table->nr, from->binding[from->nr]);
}

static bool neuron_binding_is_peer(const struct neuron_binding *binding)
{
	return binding->bo && binding->bo->kind == NEURON_BO_PEER;
}

bool neuron_table_is_stray(const struct neuron_table *table)
{
	u32 i;

	if (!table->nr_peers)
		return false;
	for (i = 0; i < table->nr; i++)
		if (table->binding[i] && table->binding[i]->bo &&
		    neuron_bo_is_gone(table->binding[i]->bo))
			return true;
	return false;
}

/* Exchanges the bindings of the entry and of @change. */
static void neuron_table_apply(struct neuron_table *table,
			       struct neuron_change *change)
{
	u32 slot = neuron_table_slot(table, change->index);
	struct neuron_binding *old = table->binding[slot];
	struct neuron_binding *new = change->binding;

	if (old) {
		table->nr_extents -= old->nr_extents;
		table->nr_peers -= neuron_binding_is_peer(old);
	}
	if (new) {
		table->nr_extents += new->nr_extents;
		table->nr_peers += neuron_binding_is_peer(new);
		table->hw[slot] = new->hw;
	} else {
		memset(&table->hw[slot], 0, sizeof(*table->hw));
	}
	table->binding[slot] = new;
	change->binding = old;
}

/* Few sizes, so that growth is rare. */
u32 neuron_table_entries(const struct neuron_table *table,
			 const struct neuron_change *changes, u32 nr)
{
	u32 entries = table ? table->nr : NEURON_TABLE_MIN;
	u32 i;

	for (i = 0; i < nr; i++)
		if (changes[i].index != NEURON_TABLE_STREAM)
			entries = max(entries, changes[i].index + 1);
	return min_t(u32, roundup_pow_of_two(entries), NEURON_MAX_WINDOWS);
}

struct neuron_table *neuron_table_change(struct neuron_claim *claim,
					 struct neuron_table *table,
					 struct neuron_change *changes,
					 u32 nr_changes)
{
	u32 nr = neuron_table_entries(table, changes, nr_changes);
	struct neuron_table *version = table;
	u32 i;

	if (!table || table->nr < nr || kref_read(&table->ref) > 1) {
		version = neuron_table_create(claim, nr);
		if (!version)
			return ERR_PTR(-ENOMEM);
		if (table)
			neuron_table_copy(version, table);
	}
	for (i = 0; i < nr_changes; i++)
		neuron_table_apply(version, &changes[i]);
	if (version->nr_extents <= NEURON_MAX_EXTENTS)
		return version;

	/* Backwards: an entry may have been changed twice. */
	while (nr_changes--)
		neuron_table_apply(version, &changes[nr_changes]);
	if (version != table)
		neuron_table_put_later(version);
	return ERR_PTR(-EINVAL);
}

/*
 * Tables as text: core dumps, debugfs. Owners of claims read it, too, so it has no
 * address of host memory.
 */

static const char *neuron_window_kind_name(u32 kind)
{
	static const char * const names[] = {
		[NEURON_WINDOW_EMPTY] = "empty",
		[NEURON_WINDOW_HBM] = "hbm",
		[NEURON_WINDOW_HOST] = "host",
		[NEURON_WINDOW_SBUF] = "sbuf",
		[NEURON_WINDOW_PSUM] = "psum",
		[NEURON_WINDOW_PEER] = "peer",
		[NEURON_WINDOW_SEM] = "sem",
		[NEURON_WINDOW_STREAM] = "stream",
		[NEURON_WINDOW_GRANT] = "grant",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

static void neuron_binding_print_bo(const struct neuron_binding *binding,
				    struct drm_printer *p)
{
	const struct neuron_bo *bo = binding->bo;

	drm_printf(p, " offset %#llx buffer %#zx", binding->offset,
		   bo->base.size);
	if (bo->kind == NEURON_BO_HBM || bo->kind == NEURON_BO_PEER)
		drm_printf(p, " stack %u", bo->stack);
	drm_printf(p, " category %s", neuron_category_name(bo->category));
	if (binding->nr_extents)
		drm_printf(p, " pieces %u", binding->nr_extents);
}

static void neuron_binding_print(const struct neuron_binding *binding,
				 u32 index, struct drm_printer *p)
{
	const struct neuron_hw_window *hw = &binding->hw;
	u32 flags = le32_to_cpu(hw->flags);
	u32 kind = NEURON_GET(NEURON_WINDOW_KIND, flags);
	u64 base = le64_to_cpu(hw->base);

	drm_printf(p, "window %u: %s %s%s length %#llx", index,
		   neuron_window_kind_name(kind),
		   flags & NEURON_WINDOW_READ ? "r" : "-",
		   flags & NEURON_WINDOW_WRITE ? "w" : "-",
		   le64_to_cpu(hw->length));
	if (binding->bo)
		neuron_binding_print_bo(binding, p);
	if (kind == NEURON_WINDOW_SEM)
		drm_printf(p, " first %u", le32_to_cpu(hw->sem_first));
	if (kind == NEURON_WINDOW_SEM || kind == NEURON_WINDOW_GRANT)
		drm_printf(p, " generation %u", le32_to_cpu(hw->generation));
	if (base & NEURON_ADDR_FABRIC)
		drm_printf(p, " chip %llu",
			   NEURON_GET(NEURON_ADDR_FABRIC_CHIP, base));
	drm_printf(p, "\n");
}

void neuron_table_print(const struct neuron_table *table, u32 max,
			struct drm_printer *p)
{
	u32 i, printed = 0, more = 0;

	for (i = 0; i < table->nr; i++) {
		if (!table->binding[i])
			continue;
		if (printed == max) {
			more++;
			continue;
		}
		neuron_binding_print(table->binding[i], i, p);
		printed++;
	}
	if (more)
		drm_printf(p, "windows: %u more\n", more);
}

#ifdef NEURON_KUNIT
#include "tests/neuron_kunit_table.c"
#endif
