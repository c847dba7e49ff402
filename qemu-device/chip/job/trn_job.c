// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * What the actors of a job share: references, rights, the stream of notifications.
 */
#include "job/trn_job.h"

#include <stddef.h>

#include "base/trn_chip.h"
#include "contract/notify.h"
#include "mem/trn_access.h"
#include "time/trn_time.h"

void trn_job_get(struct trn_job *job)
{
	atomic_fetch_add(&job->refs, 1);
}

void trn_job_put(struct trn_job *job)
{
	struct trn_core *core = job->core;

	/* The controller may free the job as soon as the count is 0. */
	if (atomic_fetch_sub(&job->refs, 1) == 1)
		trn_task_kick(&core->controller);
}

bool trn_job_owns_sem(const struct trn_job *job, unsigned int sem)
{
	return sem < NEURON_NR_SEMAPHORES &&
	       job->block.sem_own[sem / 64] >> (sem % 64) & 1;
}

bool trn_job_owns_event(const struct trn_job *job, unsigned int event)
{
	return event < NEURON_NR_EVENTS &&
	       job->block.event_own[event / 64] >> (event % 64) & 1;
}

static uint64_t notify_addr(const struct trn_job *job, uint64_t n)
{
	return job->block.notify_addr + neuron_notify_offset(n, job->block.notify_size);
}

enum neuron_cause trn_job_notify(struct trn_job *job, unsigned int actor,
				 uint32_t tag, uint32_t pc)
{
	struct trn_access access = {
		.chip = job->core->chip,
		.domain = job->domain,
		.notify = true,
	};
	struct neuron_notice notice = { .tag = tag, .engine = actor, .pc = pc };
	struct neuron_hw_notify entry;
	enum neuron_cause cause;
	uint32_t n;

	if (!job->block.notify_size)
		return NEURON_CAUSE_NONE;
	n = atomic_fetch_add(&job->notify_count, 1);
	notice.phase = neuron_notify_phase(n, job->block.notify_size);
	entry = neuron_notice_encode(&notice);
	cause = trn_access_write(&access, notify_addr(job, n), &entry,
				 sizeof(entry));
	if (!cause)
		trn_time_stamp(job->timeline, actor, n);
	return cause;
}

void trn_job_notify_stamp(void *arg, uint64_t cookie, uint64_t time_ns)
{
	struct trn_job *job = arg;
	struct trn_access access = {
		.chip = job->core->chip,
		.domain = job->domain,
		.notify = true,
	};

	if (neuron_notify_is_lost(cookie, atomic_load(&job->notify_count),
				  job->block.notify_size))
		return;
	trn_access_write(&access,
			 notify_addr(job, cookie) +
				 offsetof(struct neuron_hw_notify, time_ns),
			 &time_ns, sizeof(time_ns));
}
