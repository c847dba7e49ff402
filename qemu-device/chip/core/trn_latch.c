// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Latching a job: the block and its tables are copied once and checked in the
 * copy, so it does not matter who changes them afterwards.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "contract/job.h"
#include "core/trn_core.h"
#include "core/trn_latch.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_queue.h"
#include "exec/trn_seq.h"
#include "hook/trn_check.h"
#include "job/trn_job.h"
#include "mem/trn_bus.h"
#include "mem/trn_domain.h"
#include "mem/trn_window.h"
#include "time/trn_group.h"
#include "time/trn_time.h"

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
	const struct neuron_hw_job none = { 0 };
	const char *why = NULL;

	*block = none;
	if (addr % NEURON_JOB_ALIGN)
		why = "is not 256-byte aligned";
	else if (trn_table_read(core->chip, addr, block, sizeof(*block)))
		why = "cannot be read";
	else if (block->magic != NEURON_JOB_MAGIC)
		why = "has no magic number";
	if (why)
		*block = none;
	else if (!trn_latch_completion_ok(core->chip, block->completion))
		why = "has a completion record that is not in host memory or not 64-byte aligned";
	if (!why)
		return true;
	trn_log(core->chip, TRN_LOG_GUEST_ERROR,
		"%s: doorbell refused: the job block at %#" PRIx64 " %s",
		core->name, addr, why);
	return false;
}

enum neuron_cause trn_latch_check_block(const struct trn_core *core,
					const struct neuron_hw_job *block)
{
	const char *why = neuron_hw_job_check(block, trn_core_engines(core));

	return why ? reject(core, why) : NEURON_CAUSE_NONE;
}

enum neuron_cause trn_latch_check_queue(const struct trn_core *core,
					const struct neuron_hw_job_queue *entry,
					__u64 used[4])
{
	unsigned int first = neuron_core_dma(core->tpb->index);
	const char *why;

	if (entry->dma_engine >= core->chip->gen->nr_ring)
		return reject(core, "a queue is not one of this core's");
	why = neuron_hw_job_check_queue(entry, first, core->chip->gen->nr_priorities, used);
	return why ? reject(core, why) : NEURON_CAUSE_NONE;
}

bool trn_latch_tasks(struct trn_job *job)
{
	unsigned int i;

	job->tasks = calloc(NEURON_NR_ENGINES + job->nr_queues, sizeof(struct trn_task *));
	if (!job->tasks)
		return false;
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		job->tasks[i] = &job->core->seq[i].task;
	for (i = 0; i < job->nr_queues; i++)
		job->tasks[NEURON_NR_ENGINES + i] = &job->queues[i]->task;
	job->nr_tasks = NEURON_NR_ENGINES + job->nr_queues;
	return true;
}

/* Copy the queue table and look up its queues; they are bound later. */
static enum neuron_cause latch_queues(struct trn_job *job)
{
	const struct neuron_hw_job *block = &job->block;
	struct trn_core *core = job->core;
	struct neuron_hw_job_queue *table;
	__u64 used[4] = { 0 };
	enum neuron_cause cause;
	unsigned int i;

	if (!block->nr_queues)
		return NEURON_CAUSE_NONE;
	table = malloc(block->nr_queues * sizeof(*table));
	job->queues = calloc(block->nr_queues, sizeof(struct trn_udma_queue *));
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
		job->queues[i] = trn_udma_queue_at(core->chip, table[i].dma_engine,
						   table[i].queue);
	}
	job->nr_queues = block->nr_queues;
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause latch_windows(struct trn_job *job, uint64_t *far)
{
	const struct neuron_hw_job *block = &job->block;

	if (block->flags & NEURON_JOB_PIECES)
		return trn_domain_latch_pieces(job->core, block->window_table,
					       block->nr_windows, &job->domain, far);
	return trn_domain_latch(job->core, block->window_table, block->nr_windows,
				&job->domain, far);
}

static enum neuron_cause latch_trace(struct trn_job *job)
{
	enum neuron_cause cause;

	if (!(job->block.flags & NEURON_JOB_TRACE))
		return NEURON_CAUSE_NONE;
	cause = trn_domain_latch(job->core, neuron_hw_job_trace_window(&job->block),
				 1, &job->trace, NULL);
	return cause ? cause : trn_job_trace_check(job);
}

enum neuron_cause trn_latch_check_group(const struct trn_job *job)
{
	const char *why = neuron_hw_job_check_group(&job->group);

	if (!why && !trn_latch_completion_ok(job->core->chip, job->group.settle))
		why = "has a settle record that is not in host memory or not 64-byte aligned";
	return why ? reject(job->core, why) : NEURON_CAUSE_NONE;
}

static enum neuron_cause latch_group(struct trn_job *job)
{
	enum neuron_cause cause;

	if (!(job->block.flags & NEURON_JOB_GROUP))
		return NEURON_CAUSE_NONE;
	cause = trn_table_read(job->core->chip, neuron_hw_job_group_at(&job->block), &job->group,
			       sizeof(job->group));
	if (cause) {
		reject(job->core, "the time group cannot be read");
		return cause;
	}
	return trn_latch_check_group(job);
}

enum neuron_cause trn_latch_job(struct trn_core *core, const struct neuron_hw_job *block,
				struct trn_job **result, uint64_t *addr)
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
	if (!cause && !trn_latch_tasks(job))
		cause = reject(core, "the host is out of memory");
	if (!cause)
		cause = latch_windows(job, addr);
	if (!cause)
		cause = latch_trace(job);
	if (!cause)
		cause = latch_group(job);
	if (cause) {
		trn_job_free(job);
		return cause;
	}
	*result = job;
	return NEURON_CAUSE_NONE;
}

/* The extents of the trace's window. */
static uint64_t trace_extents(struct trn_core *core, const struct neuron_hw_job *block)
{
	struct neuron_hw_window window;

	if (!(block->flags & NEURON_JOB_TRACE) ||
	    trn_table_read(core->chip, neuron_hw_job_trace_window(block), &window,
			   sizeof(window)))
		return 0;
	return window.flags & NEURON_WINDOW_LIST ? window.nr_extents : 1;
}

uint64_t trn_latch_work(struct trn_core *core,
			const struct neuron_hw_job *block)
{
	struct neuron_hw_window table[PEEK_WINDOWS];
	uint64_t entries = (uint64_t)block->nr_queues + block->nr_windows;
	unsigned int i;

	if (block->nr_windows > PEEK_WINDOWS || block->flags & NEURON_JOB_PIECES)
		return UINT64_MAX;
	if (block->nr_windows &&
	    trn_table_read(core->chip, block->window_table, table,
			   block->nr_windows * sizeof(table[0])))
		return ENTRY_WORK;	/* the job will be refused */
	for (i = 0; i < block->nr_windows; i++)
		if (table[i].flags & NEURON_WINDOW_LIST)
			entries += table[i].nr_extents;
	entries += trace_extents(core, block);
	return entries * ENTRY_WORK;
}

void trn_job_free(struct trn_job *job)
{
	if (!job)
		return;
	trn_check_job_end(job);
	if (job->member)
		trn_group_leave(job->member);
	else
		trn_timeline_free(job->timeline);
	trn_domain_free(job->domain);
	trn_domain_free(job->trace);
	free(job->queue_table);
	free(job->queues);
	free(job->tasks);
	free(job);
}
