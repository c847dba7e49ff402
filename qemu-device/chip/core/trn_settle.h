/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Jobs in time groups, from their end to their settle record (time/trn_group.h). All of it
 * is the core's controller's, or of a chip that is stopped and quiet.
 */
#ifndef TRN_SETTLE_H
#define TRN_SETTLE_H

#include <stdbool.h>

#include "neuron/job.h"
#include "time/trn_group.h"

struct neuron_record;
struct trn_budget;
struct trn_core;
struct trn_job;
struct trn_state;

/* Which member of its group the job is. */
struct trn_group_key trn_settle_key(const struct trn_job *job);
/*
 * The job, which is about to start, joins its group, if it has one. Other than NONE: its
 * group does not take it; the log says why.
 */
enum neuron_cause trn_settle_join(struct trn_core *core, struct trn_job *job);
/* It has ended: the last one of those that wait. */
void trn_settle_add(struct trn_core *core, struct trn_job *job);
/* And has the completion @record, which software may have read. */
void trn_settle_begin(struct trn_job *job, const struct neuron_record *record);
/* Settle whom it is time for. False: not within @budget. */
bool trn_settle_step(struct trn_core *core, struct trn_budget *budget);
/* Records for those that wait, when the device is reset; and for one that ends so. */
void trn_settle_abort(struct trn_core *core);
void trn_settle_abort_one(struct trn_core *core, const struct trn_job *job,
			  const struct neuron_record *record);
/* Forget those that wait. */
void trn_settle_drop(struct trn_core *core);

#endif /* TRN_SETTLE_H */
