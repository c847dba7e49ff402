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

/**
 * neuron_binding_is_unused() - would neuron_binding_put() do nothing?
 * @binding: binding
 *
 * Return: true if it holds nothing.
 */
static inline bool neuron_binding_is_unused(const struct neuron_binding *binding)
{
	return !binding->bo && !binding->list;
}

/**
 * neuron_binding_put() - give back what a binding shows, and make it empty
 * @binding: binding; buffers may be freed, which takes long
 */
void neuron_binding_put(struct neuron_binding *binding);

/**
 * neuron_binding_same() - do two bindings show the same?
 * @bound: binding in a table
 * @fresh: new binding, whose extents need not be there yet
 *
 * Return: true if they do.
 */
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

/**
 * neuron_table_is_stray() - does a window show a buffer of a chip that has left?
 * @table: table
 *
 * It allocates nothing, because it is asked on the way to signal a fence.
 *
 * Return: true if one of its windows does.
 */
bool neuron_table_is_stray(const struct neuron_table *table);

/**
 * neuron_table_put() - drop a reference of a table
 * @table: table; with its last reference buffers may be freed, which takes long
 *
 * Context: process. Tables are memory of the device, so neuron_claims_end() waits until all of
 * them are freed.
 */
void neuron_table_put(struct neuron_table *table);

/**
 * neuron_table_put_later() - drop a reference of a table, and leave the freeing to a work
 * @table: table
 */
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

/**
 * neuron_table_binding() - what an entry of a table shows
 * @table: table, or NULL for an empty one
 * @index: number of the entry, or NEURON_TABLE_STREAM
 *
 * Return: the binding; NULL when there is no such entry, or its piece has none that shows anything.
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

/**
 * neuron_table_stream() - the window of the stream
 * @table: table
 *
 * Return: its binding, or NULL when there is none.
 */
const struct neuron_binding *neuron_table_stream(const struct neuron_table *table);

/**
 * neuron_table_describe() - write to a job block where a table is
 * @table: table
 * @job: job block
 */
void neuron_table_describe(const struct neuron_table *table, struct neuron_hw_job *job);

/**
 * neuron_table_entries() - how many entries a table will have
 * @table: table, or NULL for an empty one
 * @changes: what will be changed
 * @nr: number of changes
 *
 * Return: the number of entries for programs.
 */
u32 neuron_table_entries(const struct neuron_table *table,
			 const struct neuron_change *changes, u32 nr);

/**
 * neuron_table_change() - make the version of a table that has some changes
 * @claim: claim that the table is of
 * @table: current version, or NULL for an empty one
 * @changes: changes in their order; afterwards they have the bindings that were replaced, which
 *	the caller puts without locks
 * @nr_changes: how many
 *
 * Context: under neuron_claim_core.lock, unless the caller alone has the table.
 * Return: @table itself when no job holds it; else a new version, with which the caller replaces
 * @table; ERR_PTR(-ENOMEM), or ERR_PTR(-EINVAL) for too many extents, and no entry has changed.
 */
struct neuron_table *neuron_table_change(struct neuron_claim *claim,
					 struct neuron_table *table,
					 struct neuron_change *changes,
					 u32 nr_changes);

/**
 * neuron_table_print() - print the windows that are not empty
 * @table: table, which does not change meanwhile
 * @max: how many of them at most
 * @p: where to
 */
void neuron_table_print(const struct neuron_table *table, u32 max,
			struct drm_printer *p);

#endif /* _NEURON_TABLE_H_ */
