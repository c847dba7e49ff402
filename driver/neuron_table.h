/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Window tables: versions, of which jobs hold the one they were submitted with; their
 * entries, and how a new version is made.
 */
#ifndef _NEURON_TABLE_H_
#define _NEURON_TABLE_H_

#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "neuron/window.h"

struct drm_printer;
struct neuron_binding;
struct neuron_bo;
struct neuron_claim;

/**
 * struct neuron_table - one version of a core's window table
 * @ref: references: the core has one while this is its current table, and so has each job
 * @claim: claim that the table belongs to, with a reference
 * @nr: number of entries for the program; one more, behind them, is for a stream
 * @nr_extents: extents of all LIST windows
 * @nr_peers: windows onto other chips' buffers
 * @binding: what each entry shows, with a reference; NULL: the entry is empty. Entry @nr is
 *	the stream, which stays until another one is named or the claim ends
 * @hw: the table as the device reads it, coherent memory
 * @dma: bus address of @hw
 * @free_work: frees the table for neuron_table_put_later()
 *
 * A table that a job has a reference of does not change. Another one is changed in place by
 * who holds neuron_claim_core.lock. A version that shares entries with its predecessor
 * shares the bindings.
 */
struct neuron_table {
	struct kref ref;
	struct neuron_claim *claim;
	u32 nr;
	u32 nr_extents;
	u32 nr_peers;
	struct neuron_binding **binding;
	struct neuron_hw_window *hw;
	dma_addr_t dma;
	struct work_struct free_work;
};

static inline struct neuron_table *neuron_table_get(struct neuron_table *table)
{
	kref_get(&table->ref);
	return table;
}

/* Entries for the device: those of the program, and of a stream if there is one. */
static inline u32 neuron_table_hw_entries(const struct neuron_table *table)
{
	return table->nr + (table->nr < NEURON_MAX_WINDOWS &&
			    table->binding[table->nr]);
}

/* One of its windows shows a buffer of a chip that has left. Allocates nothing. */
bool neuron_table_is_stray(const struct neuron_table *table);

/* May free buffers, and so take long. */
void neuron_table_put(struct neuron_table *table);
/* The same, freed by another thread. */
void neuron_table_put_later(struct neuron_table *table);

/**
 * struct neuron_binding - what a window shows; immutable once in a table
 * @ref: references, one for each table that has the binding
 * @claim: claim that the window belongs to; whoever has the binding holds the claim
 * @bo: buffer, referenced, or NULL
 * @offset: first byte in @bo
 * @hw: entry of the table, as the device reads it
 * @extents: pieces of a window of the kind LIST, coherent memory
 * @extents_dma: bus address of @extents
 * @nr_extents: number of @extents; 0 for other kinds of windows
 */
struct neuron_binding {
	struct kref ref;
	struct neuron_claim *claim;
	struct neuron_bo *bo;
	u64 offset;
	struct neuron_hw_window hw;
	struct neuron_hw_extent *extents;
	dma_addr_t extents_dma;
	u32 nr_extents;
};

/* As an index: the entry of the stream, behind those of the program. */
#define NEURON_TABLE_STREAM	U32_MAX

/**
 * struct neuron_change - a change of one entry
 * @index: which entry, or NEURON_TABLE_STREAM
 * @binding: new contents of the entry, with a reference; NULL: the entry becomes empty
 */
struct neuron_change {
	u32 index;
	struct neuron_binding *binding;
};

struct neuron_binding *neuron_binding_create(struct neuron_claim *claim);
/* The memory for @nr extents; the binding frees it. -ENOMEM. */
int neuron_binding_alloc_extents(struct neuron_binding *binding, u32 nr);
void neuron_binding_put(struct neuron_binding *binding);

/*
 * Do both show the same? @fresh need not have its extents yet. NULL is empty.
 */
bool neuron_binding_same(const struct neuron_binding *bound,
			 const struct neuron_binding *fresh);

/* What entry @index shows; NULL: nothing, or there is no such entry. */
struct neuron_binding *neuron_table_binding(struct neuron_table *table,
					    u32 index);

/* The entries that the table will have, with @changes made. */
u32 neuron_table_entries(const struct neuron_table *table,
			 const struct neuron_change *changes, u32 nr);

/*
 * The version of the claim's table with @changes applied: @table itself when no
 * job has it, else a new version, with which the caller replaces @table. NULL
 * @table: empty. @changes are left with the bindings they replaced, to be put
 * without locks. ERR_PTR(-ENOMEM), ERR_PTR(-EINVAL) when there are too many
 * extents, and nothing has changed.
 */
struct neuron_table *neuron_table_change(struct neuron_claim *claim,
					 struct neuron_table *table,
					 struct neuron_change *changes,
					 u32 nr_changes);

/*
 * The windows that are not empty, at most @max of them. The
 * table does not change meanwhile.
 */
void neuron_table_print(const struct neuron_table *table, u32 max,
			struct drm_printer *p);

#endif /* _NEURON_TABLE_H_ */
