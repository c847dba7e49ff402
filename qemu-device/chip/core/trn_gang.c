// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "core/trn_gang.h"

#include <inttypes.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "contract/job.h"
#include "job/trn_job.h"
#include "time/trn_time.h"

_Static_assert(NEURON_JOB_MAX_GANG <= 32 && NEURON_MAX_UNITS <= NEURON_JOB_MAX_GANG,
	       "all units of a chip can be in a gang, and have a bit each");

static bool all_came(const struct trn_gang *gang)
{
	return !(~gang->came & (UINT32_MAX >> (32 - gang->size)));
}

static const char *check_gang(const struct neuron_hw_job *block)
{
	return neuron_hw_job_check_gang(block->gang, block->gang_size,
					block->gang_index);
}

static struct trn_gang *find(struct trn_gangs *gangs, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < gangs->nr; i++)
		if (gangs->gang[i].id == id)
			return &gangs->gang[i];
	return NULL;
}

static void forget(struct trn_gangs *gangs, struct trn_gang *gang)
{
	struct trn_gang *end = &gangs->gang[gangs->nr--];

	memmove(gang, gang + 1, (size_t)(end - gang - 1) * sizeof(*gang));
}

static void forget_oldest(struct trn_gangs *gangs)
{
	unsigned int i;

	for (i = 0; i < gangs->nr; i++) {
		if (gangs->gang[i].units)
			continue;
		forget(gangs, &gangs->gang[i]);
		return;
	}
}

/* Of a block that is refused, the size may be anything. */
static struct trn_gang *find_or_begin(struct trn_gangs *gangs,
				      const struct neuron_hw_job *block)
{
	struct trn_gang *gang = find(gangs, block->gang);

	if (gang)
		return gang;
	if (gangs->nr == NEURON_MAX_UNITS)
		forget_oldest(gangs);
	gang = &gangs->gang[gangs->nr++];
	*gang = (struct trn_gang){
		.id = block->gang,
		.size = check_gang(block) ? NEURON_JOB_MAX_GANG : block->gang_size,
	};
	return gang;
}

/* A member has come to a gang that has failed, or has ended. */
static void forget_if_over(struct trn_gangs *gangs, struct trn_gang *gang)
{
	if (!gang->units && all_came(gang))
		forget(gangs, gang);
}

/* Without the lock: a kick may take others. */
static void kick(struct trn_chip *chip, uint32_t units)
{
	unsigned int i;

	for (i = 0; i < NEURON_MAX_UNITS; i++)
		if (units & NEURON_BIT(i))
			trn_task_kick(&chip->core[i].controller);
}

void trn_gangs_init(struct trn_chip *chip)
{
	pthread_mutex_init(&chip->gangs->lock, NULL);
}

void trn_gangs_destroy(struct trn_chip *chip)
{
	pthread_mutex_destroy(&chip->gangs->lock);
}

void trn_gangs_reset(struct trn_chip *chip)
{
	pthread_mutex_lock(&chip->gangs->lock);
	chip->gangs->nr = 0;
	pthread_mutex_unlock(&chip->gangs->lock);
}

/* False: it does not fit. */
static bool add_member(struct trn_core *core, const struct neuron_hw_job *block)
{
	uint32_t bit = NEURON_BIT(block->gang_index);
	uint64_t now = atomic_load(&core->virtual_ns);
	struct trn_gangs *gangs = core->chip->gangs;
	struct trn_gang *gang;
	uint32_t units = 0;
	bool fits;

	pthread_mutex_lock(&gangs->lock);
	gang = find_or_begin(gangs, block);
	fits = gang->failed ||
	       (gang->size == block->gang_size && !(gang->came & bit));
	if (fits) {
		gang->came |= bit;
		gang->units |= NEURON_BIT(core->index);
		if (gang->start_ns < now)
			gang->start_ns = now;
		if (all_came(gang))
			units = gang->units;
	}
	pthread_mutex_unlock(&gangs->lock);
	kick(core->chip, units);
	return fits;
}

void trn_gang_join(struct trn_core *core)
{
	const struct trn_fault misfit = {
		.cause = NEURON_CAUSE_JOB,
		.source = NEURON_SOURCE_JOB,
	};
	struct trn_job *job = core->job;

	if (add_member(core, &job->block)) {
		trn_job_get(job);
		job->waits = true;
		return;
	}
	trn_log(core->chip, TRN_LOG_GUEST_ERROR,
		"%s: job refused: gang %#" PRIx64 " has another size, or another member %u",
		core->name, (uint64_t)job->block.gang, job->block.gang_index);
	trn_job_fail(job, &misfit);
}

void trn_gang_fail(struct trn_chip *chip, const struct neuron_hw_job *block)
{
	struct trn_gangs *gangs = chip->gangs;
	struct trn_gang *gang;
	uint32_t units;

	pthread_mutex_lock(&gangs->lock);
	gang = find_or_begin(gangs, block);
	if (!gang->failed) {
		gang->failed = true;
		gang->culprit = block->gang_index;
	}
	if (!check_gang(block))
		gang->came |= NEURON_BIT(block->gang_index);
	units = gang->units;
	forget_if_over(gangs, gang);
	pthread_mutex_unlock(&gangs->lock);
	kick(chip, units);
}

/* The gang as it is now, in which @job has not failed. */
static struct trn_gang look(struct trn_chip *chip, const struct trn_job *job)
{
	struct trn_gang gang;

	pthread_mutex_lock(&chip->gangs->lock);
	gang = *find(chip->gangs, job->block.gang);
	pthread_mutex_unlock(&chip->gangs->lock);
	return gang;
}

static void end_member(struct trn_job *job, uint16_t culprit)
{
	const struct trn_fault fault = {
		.cause = NEURON_CAUSE_GANG,
		.source = NEURON_SOURCE_JOB,
		.pc = culprit,
	};

	trn_log(job->core->chip, TRN_LOG_GUEST_ERROR,
		"%s: job ended: member %u of its gang %#" PRIx64 " failed",
		job->core->name, culprit, (uint64_t)job->block.gang);
	trn_job_fail(job, &fault);
}

enum trn_gang_turn trn_gang_turn(struct trn_core *core)
{
	struct trn_job *job = core->job;
	struct trn_gang gang;

	if (atomic_load(&job->faulted))
		return TRN_GANG_END;
	gang = look(core->chip, job);
	if (gang.failed) {
		end_member(job, gang.culprit);
		return TRN_GANG_END;
	}
	if (!all_came(&gang))
		return TRN_GANG_WAIT;
	if (job->waits)
		trn_time_start_at(job->timeline, gang.start_ns);
	return TRN_GANG_RUN;
}

void trn_gang_leave(struct trn_core *core)
{
	struct trn_gangs *gangs = core->chip->gangs;
	struct trn_gang *gang;

	if (!core->job->block.gang)
		return;
	pthread_mutex_lock(&gangs->lock);
	gang = find(gangs, core->job->block.gang);
	if (gang) {
		gang->units &= ~NEURON_BIT(core->index);
		forget_if_over(gangs, gang);
	}
	pthread_mutex_unlock(&gangs->lock);
}

/* --- saving and loading --- */

static void gang_state(struct trn_gang *gang, struct trn_state *st)
{
	trn_state_u64(st, &gang->id);
	trn_state_u16(st, &gang->size);
	trn_state_u16(st, &gang->culprit);
	trn_state_bool(st, &gang->failed);
	trn_state_u32(st, &gang->came);
	trn_state_u64(st, &gang->start_ns);
	if (!gang->id || neuron_hw_job_check_gang(gang->id, gang->size, 0))
		trn_state_fail(st, "a gang of jobs is not valid");
}

void trn_gangs_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_gangs *gangs = chip->gangs;
	struct trn_gang gang;
	uint32_t nr, i;

	trn_state_block(st, TRN_STATE_NAME('G', 'A', 'N', 'G'), 1);
	nr = trn_state_count(st, gangs->nr, NEURON_MAX_UNITS);
	for (i = 0; !st->loading && i < nr; i++)
		gang_state(&gangs->gang[i], st);
	for (i = 0; st->loading && i < nr && !trn_state_failed(st); i++) {
		gang = (struct trn_gang){ 0 };
		gang_state(&gang, st);
		if (find(gangs, gang.id))
			trn_state_fail(st, "there are two gangs with one number");
		if (!trn_state_failed(st))
			gangs->gang[gangs->nr++] = gang;
	}
}

/* What a job that has not failed must find. */
static bool member_valid(const struct trn_gang *gang, const struct trn_job *job)
{
	const struct neuron_hw_job *block = &job->block;

	if (!gang || !(gang->came & NEURON_BIT(block->gang_index)))
		return false;
	if (gang->failed)
		return true;
	return gang->size == block->gang_size && (job->waits || all_came(gang));
}

void trn_gang_member_state(struct trn_core *core, struct trn_state *st)
{
	const struct trn_job *job = core->job;
	struct trn_gang *gang;

	if (!st->loading || trn_state_failed(st))
		return;
	gang = job->block.gang ? find(core->chip->gangs, job->block.gang) : NULL;
	if (gang)
		gang->units |= NEURON_BIT(core->index);
	if ((job->waits && !job->block.gang) ||
	    (job->block.gang && !atomic_load(&job->faulted) &&
	     !member_valid(gang, job)))
		trn_state_fail(st, "a member of a gang contradicts its gang");
}
