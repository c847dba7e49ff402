/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Window tables: versions, of which jobs hold the one they were submitted with; the pieces
 * that versions share; their entries, and how a new version is made.
 */
#ifndef _NEURON_TABLE_H_
#define _NEURON_TABLE_H_

#include <linux/kref.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "neuron/window.h"

struct drm_printer;
struct neuron_bo;
struct neuron_claim;
struct neuron_hw_job;
struct neuron_list_page;

/**
 * DOC: Window tables
 *
 * A table is in pieces of 128 entries, as the chip reads it: a page of entries for the
 * device, and what the kernel knows of each of them. So no table needs contiguous memory,
 * and entries that nobody uses have no piece. A table of more than one piece has a
 * directory, a page of the addresses of the pieces.
 *
 * A job holds the version that the core had when the job was submitted. A change of a
 * table that somebody holds makes a new version: a new directory, and a copy of each piece
 * in which an entry changes. All other pieces belong to both versions. Neither a version nor
 * a piece changes while it has more than one reference. A piece whose last window goes is
 * given back.
 *
 * Lists of extents are in pages, too (neuron_list.h). Short ones that a call has made share
 * pages.
 */

/**
 * struct neuron_binding - what a window shows
 * @bo: buffer, referenced, or NULL
 * @offset: first byte in @bo
 * @hw: entry of the table, as the device reads it; of the kind EMPTY: nothing is shown, and
 *	all is zero
 * @list: first page of the extents of a window of the kind LIST, referenced, or NULL
 */
struct neuron_binding {
	struct neuron_bo *bo;
	u64 offset;
	struct neuron_hw_window hw;
	struct neuron_list_page *list;
};

static inline bool neuron_binding_is_empty(const struct neuron_binding *binding)
{
	return !(binding->hw.flags & cpu_to_le32(NEURON_WINDOW_KIND));
}

/* It holds nothing: neuron_binding_put() would do nothing. */
static inline bool neuron_binding_is_unused(const struct neuron_binding *binding)
{
	return !binding->bo && !binding->list;
}

/* Give back what it shows, and make it empty. May free buffers, and so take long. */
void neuron_binding_put(struct neuron_binding *binding);

/* Do both show the same? @fresh need not have its extents yet. */
bool neuron_binding_same(const struct neuron_binding *bound,
			 const struct neuron_binding *fresh);

/**
 * struct neuron_piece - some entries of one or several versions of a table
 * @ref: references, one for each version
 * @claim: claim of the table; whoever has the piece holds the claim
 * @nr: number of entries, at most NEURON_TABLE_PIECE
 * @used: entries that are not empty
 * @hw: the entries as the device reads them, coherent memory
 * @dma: bus address of @hw
 * @binding: what each entry shows
 */
struct neuron_piece {
	struct kref ref;
	struct neuron_claim *claim;
	u32 nr;
	u32 used;
	struct neuron_hw_window *hw;
	dma_addr_t dma;
	struct neuron_binding binding[];
};

/**
 * struct neuron_table - one version of a core's window table
 * @ref: references: the core has one while this is its current table, and so has each job
 * @claim: claim that the table belongs to, with a reference
 * @nr: number of entries for the program; one more, behind them, is for a stream
 * @nr_extents: extents of all windows, at most NEURON_MAX_EXTENTS
 * @nr_peers: windows onto other chips' buffers
 * @piece: pieces, with references; NULL: its entries are all empty. Entry @nr is the stream,
 *	which stays until another one is named or the claim ends
 * @directory: of several pieces: their addresses as the device reads them, coherent memory
 * @dma: bus address of @directory
 * @free_work: frees the table for neuron_table_put_later()
 *
 * A table that a job has a reference of does not change. Another one is changed in place by
 * who holds neuron_claim_core.lock.
 */
struct neuron_table {
	struct kref ref;
	struct neuron_claim *claim;
	u32 nr;
	u32 nr_extents;
	u32 nr_peers;
	struct neuron_piece **piece;
	__le64 *directory;
	dma_addr_t dma;
	struct work_struct free_work;
};

static inline struct neuron_table *neuron_table_get(struct neuron_table *table)
{
	kref_get(&table->ref);
	return table;
}

/* One of its windows shows a buffer of a chip that has left. Allocates nothing. */
bool neuron_table_is_stray(const struct neuron_table *table);

/* May free buffers, and so take long. */
void neuron_table_put(struct neuron_table *table);
/* The same, freed by another thread. */
void neuron_table_put_later(struct neuron_table *table);

/* As an index: the entry of the stream, behind those of the program. */
#define NEURON_TABLE_STREAM	U32_MAX

/**
 * struct neuron_change - a change of one entry
 * @index: which entry, or NEURON_TABLE_STREAM
 * @binding: new contents of the entry
 */
struct neuron_change {
	u32 index;
	struct neuron_binding binding;
};

static inline u32 neuron_table_slot(const struct neuron_table *table, u32 index)
{
	return index == NEURON_TABLE_STREAM ? table->nr : index;
}

/*
 * Entry @index; NULL: there is no such entry, or its piece has none that shows anything.
 * NULL @table: empty.
 */
static inline const struct neuron_binding *
neuron_table_binding(const struct neuron_table *table, u32 index)
{
	const struct neuron_piece *piece;
	u32 slot;

	if (!table || (index >= table->nr && index != NEURON_TABLE_STREAM))
		return NULL;
	slot = neuron_table_slot(table, index);
	piece = table->piece[slot / NEURON_TABLE_PIECE];
	return piece ? &piece->binding[slot % NEURON_TABLE_PIECE] : NULL;
}

/* The window of the stream; NULL: there is none. */
const struct neuron_binding *neuron_table_stream(const struct neuron_table *table);

/* Write to a job block where the table is. */
void neuron_table_describe(const struct neuron_table *table, struct neuron_hw_job *job);

/* The entries that the table will have, with @changes made. */
u32 neuron_table_entries(const struct neuron_table *table,
			 const struct neuron_change *changes, u32 nr);

/*
 * The version of the claim's table with @changes applied: @table itself when no
 * job has it, else a new version, with which the caller replaces @table. NULL
 * @table: empty. @changes are left with the bindings they replaced, to be put
 * without locks. ERR_PTR(-ENOMEM), ERR_PTR(-EINVAL) when there are too many
 * extents, and no entry has changed.
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
