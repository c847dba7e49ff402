/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * From a job block in the kernel's memory to a struct trn_job.
 */
#ifndef TRN_LATCH_H
#define TRN_LATCH_H

#include "job/trn_job.h"

/*
 * Copy the job block at plain address @addr. False: it cannot be read, is no
 * job block, or names no place for a completion record; the log says which. Only the
 * last of them has a block, which is all 0 otherwise.
 */
bool trn_latch_block(struct trn_core *core, uint64_t addr,
		     struct neuron_hw_job *block);

/*
 * Copy and check the tables of @block and build its job, with one reference,
 * which the caller owns. Nothing of the core or its queues has changed.
 *
 * Return: NEURON_CAUSE_NONE with *@job; else why the block is malformed, and *@addr is the address
 * that was wrong, or as it was.
 */
enum neuron_cause trn_latch_job(struct trn_core *core, const struct neuron_hw_job *block,
				struct trn_job **job, uint64_t *addr);

/*
 * How long latching @block will take, as bytes to copy: the kernel's tables, and
 * the lists that they name. A guess, since the tables may change until then.
 */
uint64_t trn_latch_work(struct trn_core *core,
			const struct neuron_hw_job *block);

/*
 * The checks of it. A completion record lies in host memory: no program of a core
 * can address it by plain address.
 */
bool trn_latch_completion_ok(struct trn_chip *chip, uint64_t addr);
/* Of the rest of the block, and of an entry of its queue table. */
enum neuron_cause trn_latch_check_block(const struct trn_core *core,
					const struct neuron_hw_job *block);
/* Of the time group of a job that has one. */
enum neuron_cause trn_latch_check_group(const struct trn_job *job);
/* @used: bit for each queue of the core that an earlier entry names. */
enum neuron_cause trn_latch_check_queue(const struct trn_core *core,
					const struct neuron_hw_job_queue *entry,
					__u64 used[4]);

/* List the tasks of the job's actors; its queues are known. False: no memory. */
bool trn_latch_tasks(struct trn_job *job);

/* Free a job whose queues are not bound (any more). */
void trn_job_free(struct trn_job *job);

#endif /* TRN_LATCH_H */
