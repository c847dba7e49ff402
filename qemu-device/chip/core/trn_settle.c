// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "core/trn_settle.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/trn_chip.h"
#include "contract/record.h"
#include "core/trn_core.h"
#include "core/trn_latch.h"
#include "hook/trn_check.h"
#include "job/trn_job.h"
#include "mem/trn_domain.h"
#include "sync/trn_irq.h"
#include "time/trn_group.h"
#include "time/trn_time.h"

struct trn_group_key trn_settle_key(const struct trn_job *job)
{
	return (struct trn_group_key){
		.id = neuron_from_le64(job->group.group),
		.size = neuron_from_le32(job->group.size),
		.index = neuron_from_le32(job->group.index),
		.gang = job->block.gang,
	};
}

enum neuron_cause trn_settle_join(struct trn_core *core, struct trn_job *job)
{
	const struct trn_group_key key = trn_settle_key(job);
	const char *why;

	if (!(job->block.flags & NEURON_JOB_GROUP))
		return NEURON_CAUSE_NONE;
	job->settles = true;
	if (!job->timeline)
		return NEURON_CAUSE_NONE;
	job->member = trn_group_join(core, job->timeline, &key, &why);
	if (job->member)
		return NEURON_CAUSE_NONE;
	job->settles = false;
	trn_log(core->chip, TRN_LOG_GUEST_ERROR, "%s: job refused: %s", core->name, why);
	return NEURON_CAUSE_JOB;
}

void trn_settle_add(struct trn_core *core, struct trn_job *job)
{
	struct trn_job **at = &core->pending;

	trn_check_job_end(job);
	trn_domain_free(job->domain);
	job->domain = NULL;
	while (*at)
		at = &(*at)->next;
	*at = job;
}

void trn_settle_begin(struct trn_job *job, const struct neuron_record *record)
{
	job->start_ns = record->start_ns;
	job->end_ns = record->end_ns;
	if (job->member)
		trn_group_done(job->member, record->status == NEURON_JOB_OK, record->end_ns);
	else
		trn_task_kick(&job->core->controller);
}

static bool write_settle(struct trn_core *core, const struct trn_job *job, uint64_t start_ns,
			 uint64_t end_ns, enum neuron_settle_cause cause)
{
	struct neuron_settled settled = {
		.job_id = job->block.job_id,
		.group = neuron_from_le64(job->group.group),
		.start_ns = start_ns,
		.end_ns = end_ns,
		.status = cause ? NEURON_SETTLE_INEXACT : NEURON_SETTLE_OK,
		.cause = (uint16_t)cause,
	};
	struct neuron_hw_settle record = neuron_settled_encode(&settled);

	return trn_core_write_record(core, neuron_from_le64(job->group.settle), &record,
				     sizeof(record), offsetof(struct neuron_hw_settle, status));
}

/* The memory may have left: software that waits for the record takes it from this. */
static void tell_software(struct trn_core *core)
{
	struct trn_irq_edge edge;

	pthread_mutex_lock(&core->lock);
	edge = trn_irq_core_cause(core->chip, core->index, NEURON_CORE_CAUSE_SETTLED);
	pthread_mutex_unlock(&core->lock);
	trn_irq_send(core->chip, edge);
}

/* False: not within @budget. */
static bool tell_traces(struct trn_job *job, const struct trn_group_result *result,
			struct trn_budget *budget)
{
	size_t nr;

	while (job->told < result->nr_traces) {
		nr = result->nr_traces - job->told;
		nr = nr < TRN_TIME_TELL ? nr : TRN_TIME_TELL;
		trn_job_trace(job, &result->traces[job->told], (unsigned int)nr);
		job->told += nr;
		if (trn_budget_spent(budget))
			return false;
	}
	for (nr = 0; nr < result->lost_traces; nr++)
		trn_job_trace_lose(job);
	trn_job_trace_end(job);
	return true;
}

/* False: it has not settled; *@again: not within @budget. */
static bool settle(struct trn_core *core, struct trn_job *job, struct trn_budget *budget,
		   bool *again)
{
	struct trn_group_result result = { 0 };

	*again = false;
	if (job->member && !trn_group_result(job->member, budget, &result, again))
		return false;
	if (!tell_traces(job, &result, budget)) {
		*again = true;
		return false;
	}
	write_settle(core, job, result.start_ns, result.end_ns, result.cause);
	tell_software(core);
	return true;
}

bool trn_settle_step(struct trn_core *core, struct trn_budget *budget)
{
	struct trn_job **at = &core->pending, *job;
	bool again;

	if (!trn_budget_allows(budget, TRN_WORK_LONG) || !trn_group_step(core, budget))
		return false;
	while ((job = *at)) {
		if (settle(core, job, budget, &again)) {
			*at = job->next;
			trn_job_free(job);
			continue;
		}
		if (again)
			return false;
		at = &job->next;
	}
	return true;
}

void trn_settle_abort_one(struct trn_core *core, const struct trn_job *job,
			  const struct neuron_record *record)
{
	write_settle(core, job, record->start_ns, record->end_ns, NEURON_SETTLE_MEMBER);
}

void trn_settle_abort(struct trn_core *core)
{
	const struct trn_job *job;

	for (job = core->pending; job; job = job->next)
		write_settle(core, job, job->start_ns, job->end_ns, NEURON_SETTLE_MEMBER);
}

void trn_settle_drop(struct trn_core *core)
{
	struct trn_job *job;

	while ((job = core->pending)) {
		core->pending = job->next;
		trn_job_free(job);
	}
}
