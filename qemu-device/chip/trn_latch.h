/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * From a job block in the kernel's memory to a struct trn_job.
 */
#ifndef TRN_LATCH_H
#define TRN_LATCH_H

#include "trn_job.h"

/*
 * Copy the job block at plain address @addr. False: it cannot be read, is no
 * job block, or names no place for a completion record; the log says which.
 */
bool trn_latch_block(struct trn_core *core, uint64_t addr,
		     struct neuron_hw_job *block);

/*
 * Copy and check the tables of @block and build its job, with one reference,
 * which the caller owns. Nothing of the core or its queues has changed.
 *
 * Return: NEURON_CAUSE_NONE with *@job; else why the block is malformed.
 */
enum neuron_cause trn_latch_job(struct trn_core *core,
				const struct neuron_hw_job *block,
				struct trn_job **job);

/* Free a job whose queues are not bound (any more). */
void trn_job_free(struct trn_job *job);

#endif /* TRN_LATCH_H */
