// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Latching a job: the block and its tables are copied once and checked in the
 * copy, so it does not matter who changes them afterwards.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trn_check.h"
#include "trn_internal.h"
#include "trn_latch.h"
#include "trn_queue.h"
#include "trn_window.h"

#define NOTIFY_MIN	64
/* Tables up to this size are looked into to see what they name. */
#define PEEK_WINDOWS	64
/* Reading and checking an entry, as bytes to copy. */
#define ENTRY_WORK	256

static enum neuron_cause reject(const struct trn_core *core, const char *why)
{
	trn_log(core->chip, TRN_LOG_GUEST_ERROR,
		"%s: job block refused: %s", core->name, why);
	return NEURON_CAUSE_JOB;
}

bool trn_latch_completion_ok(struct trn_chip *chip, uint64_t addr)
{
	const uint64_t host = chip->gen->host_base;
	struct trn_loc loc;

	if (addr % sizeof(struct neuron_hw_completion) ||
	    addr != (host | (addr & (host - 1))))
		return false;
	return !trn_bus_locate(chip, addr, &loc) &&
	       loc.place == TRN_PLACE_HOST &&
	       loc.len >= sizeof(struct neuron_hw_completion);
}

bool trn_latch_block(struct trn_core *core, uint64_t addr,
		     struct neuron_hw_job *block)
{
	const char *why = NULL;

	if (addr % NEURON_JOB_ALIGN)
		why = "is not 256-byte aligned";
	else if (trn_table_read(core->chip, addr, block, sizeof(*block)))
		why = "cannot be read";
	else if (block->magic != NEURON_JOB_MAGIC)
		why = "has no magic number";
	else if (!trn_latch_completion_ok(core->chip, block->completion))
		why = "has a completion record that is not in host memory or not 64-byte aligned";
	if (!why)
		return true;
	trn_log(core->chip, TRN_LOG_GUEST_ERROR,
		"%s: doorbell refused: the job block at %#" PRIx64 " %s",
		core->name, addr, why);
	return false;
}

/* A window address with @bytes behind it that stay in the offset field. */
static bool window_range_ok(uint64_t addr, uint64_t bytes)
{
	return addr & NEURON_ADDR_WINDOW &&
	       bytes <= NEURON_ADDR_WINDOW_OFFSET -
				(addr & NEURON_ADDR_WINDOW_OFFSET);
}

static enum neuron_cause check_start(const struct trn_core *core,
				     const struct neuron_hw_start *start)
{
	if (start->reserved)
		return reject(core, "a reserved field is set");
	if (!start->count && start->addr)
		return reject(core, "an engine has an address but no instructions");
	if (start->count &&
	    !window_range_ok(start->addr,
			     (uint64_t)start->count * NEURON_INST_SIZE))
		return reject(core, "an engine's image has no window address");
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause check_notify(const struct trn_core *core,
				      const struct neuron_hw_job *block)
{
	uint32_t size = block->notify_size;

	if (!size)
		return block->notify_addr ?
			       reject(core, "a notification address without size") :
			       NEURON_CAUSE_NONE;
	if (size < NOTIFY_MIN || size & (size - 1))
		return reject(core,
			      "the notification size is no power of two from 64");
	if (!window_range_ok(block->notify_addr, size))
		return reject(core, "notifications have no window address");
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_latch_check_block(const struct trn_core *core,
					const struct neuron_hw_job *block)
{
	enum neuron_cause cause;
	unsigned int i;

	if (block->version != NEURON_JOB_VERSION)
		return reject(core, "unknown version");
	if (block->flags || block->reserved0)
		return reject(core, "a reserved field is set");
	for (i = 0; i < sizeof(block->reserved) / sizeof(block->reserved[0]);
	     i++)
		if (block->reserved[i])
			return reject(core, "a reserved field is set");
	if (block->nr_windows > NEURON_MAX_WINDOWS)
		return reject(core, "too many windows");
	if (block->nr_queues > NEURON_JOB_MAX_QUEUES)
		return reject(core, "too many queues");
	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		cause = check_start(core, &block->start[i]);
		if (cause)
			return cause;
		if (block->start[i].count && !(trn_core_engines(core) & NEURON_BIT(i)))
			return reject(core, "a CC-core has no engine but sync");
	}
	return check_notify(core, block);
}

static bool ring_ok(uint64_t addr, uint32_t length)
{
	uint64_t bytes = (uint64_t)length * sizeof(struct neuron_udma_desc);

	return trn_ring_length_valid(length) &&
	       window_range_ok(addr, bytes) && !(addr % NEURON_UDMA_RING_ALIGN);
}

enum neuron_cause trn_latch_check_queue(const struct trn_core *core,
					const struct neuron_hw_job_queue *entry,
					uint64_t used[4])
{
	unsigned int first = neuron_core_dma(core->tpb->index), bit;

	if (entry->flags & ~NEURON_JOB_QUEUE_ANY_RING_ID)
		return reject(core, "a queue has unknown flags");
	if (entry->dma_engine < first || entry->dma_engine >= first + 16 ||
	    entry->dma_engine >= core->chip->gen->nr_ring ||
	    entry->queue >= NEURON_UDMA_QUEUES)
		return reject(core, "a queue is not one of this core's");
	bit = (entry->dma_engine - first) * NEURON_UDMA_QUEUES + entry->queue;
	if (used[bit / 64] >> (bit % 64) & 1)
		return reject(core, "a queue is listed twice");
	used[bit / 64] |= 1ull << (bit % 64);
	if (!ring_ok(entry->m2s_ring, entry->m2s_length) ||
	    !ring_ok(entry->s2m_ring, entry->s2m_length))
		return reject(core,
			      "a ring is not a multiple of 16 descriptors from 32 at a 256-byte aligned window address");
	return NEURON_CAUSE_NONE;
}

/* Copy the queue table and look up its queues; they are bound later. */
static enum neuron_cause latch_queues(struct trn_job *job)
{
	const struct neuron_hw_job *block = &job->block;
	struct trn_core *core = job->core;
	struct neuron_hw_job_queue *table;
	uint64_t used[4] = { 0 };
	enum neuron_cause cause;
	unsigned int i;

	if (!block->nr_queues)
		return NEURON_CAUSE_NONE;
	table = malloc(block->nr_queues * sizeof(*table));
	job->queues = calloc(block->nr_queues, sizeof(struct trn_queue *));
	job->queue_table = table;
	if (!table || !job->queues)
		return reject(core, "the host is out of memory");
	cause = trn_table_read(core->chip, block->queue_table, table,
			       block->nr_queues * sizeof(*table));
	if (cause) {
		reject(core, "the queue table cannot be read");
		return cause;
	}
	for (i = 0; i < block->nr_queues; i++) {
		cause = trn_latch_check_queue(core, &table[i], used);
		if (cause)
			return cause;
		job->queues[i] = trn_udma_queue(core->chip, table[i].dma_engine,
						table[i].queue);
	}
	job->nr_queues = block->nr_queues;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_latch_job(struct trn_core *core,
				const struct neuron_hw_job *block,
				struct trn_job **result)
{
	enum neuron_cause cause;
	struct trn_job *job;

	cause = trn_latch_check_block(core, block);
	if (cause)
		return cause;
	job = calloc(1, sizeof(*job));
	if (!job)
		return reject(core, "the host is out of memory");
	job->core = core;
	job->block = *block;
	atomic_init(&job->refs, 1);
	cause = latch_queues(job);
	if (!cause)
		cause = trn_domain_latch(core, block->window_table,
					 block->nr_windows, &job->domain);
	if (cause) {
		trn_job_free(job);
		return cause;
	}
	*result = job;
	return NEURON_CAUSE_NONE;
}

uint64_t trn_latch_work(struct trn_core *core,
			const struct neuron_hw_job *block)
{
	struct neuron_hw_window table[PEEK_WINDOWS];
	uint64_t entries = (uint64_t)block->nr_queues + block->nr_windows;
	unsigned int i;

	if (block->nr_windows > PEEK_WINDOWS)
		return UINT64_MAX;
	if (block->nr_windows &&
	    trn_table_read(core->chip, block->window_table, table,
			   block->nr_windows * sizeof(table[0])))
		return ENTRY_WORK;	/* the job will be refused */
	for (i = 0; i < block->nr_windows; i++)
		if (table[i].flags & NEURON_WINDOW_LIST)
			entries += table[i].nr_extents;
	return entries * ENTRY_WORK;
}

void trn_job_free(struct trn_job *job)
{
	if (!job)
		return;
	trn_check_job_end(job);
	trn_timeline_free(job->timeline);
	trn_domain_free(job->domain);
	free(job->queue_table);
	free(job->queues);
	free(job);
}
