/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Window tables: versions, of which jobs hold the one they were submitted with.
 */
#ifndef _NEURON_WINDOW_TABLE_H_
#define _NEURON_WINDOW_TABLE_H_

#include <linux/kref.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "neuron/window.h"

struct neuron_binding;
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

#endif /* _NEURON_WINDOW_TABLE_H_ */
