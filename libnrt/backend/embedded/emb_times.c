// SPDX-License-Identifier: MIT
/*
 * Device times of jobs of several ranks: series of time groups (contract/series.h), and settle
 * records.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backend/embedded/emb.h"
#include "base/clock.h"
#include "contract/series.h"

#define LEAVE_NS	10000000000ull
#define LEAVE_POLL_NS	10000000ull

/**
 * struct emb_series - a series of time groups; under emb_machine.lock
 * @refs: handles, jobs that are members and have not ended, and settle records
 * @state: contract/series.h. The chip does not know an ended group to which nobody has come yet,
 *	so one that lacks a member is ended again when another member has come
 * @member: of @state
 */
struct emb_series {
	unsigned int refs;
	struct neuron_series_state state;
	struct neuron_series_member member[];
};

/* With the chip's lock: members of the group that have not come will not. */
static void end_group(struct nrt_chip *chip, uint64_t number)
{
	/* When the chips are gone nobody asks for times. */
	if (!chip->chip)
		return;
	emb_write(chip, NEURON_CTL_GROUP_END_LO, (uint32_t)number);
	emb_write(chip, NEURON_CTL_GROUP_END_HI, (uint32_t)(number >> 32));
}

/* --- groups that lack a member --- */

/* With the chip's lock: a member of group @sequence will not come, or has failed. */
static void miss(struct nrt_chip *chip, struct emb_series *series, uint64_t sequence)
{
	pthread_mutex_lock(&chip->machine->lock);
	neuron_series_miss(&series->state, sequence);
	pthread_mutex_unlock(&chip->machine->lock);
	end_group(chip, neuron_series_number(&series->state, sequence));
}

static bool will_be_inexact(struct emb_machine *machine, const struct emb_series *series,
			    uint64_t sequence)
{
	bool lacks;

	pthread_mutex_lock(&machine->lock);
	lacks = neuron_series_lacks(&series->state, sequence);
	pthread_mutex_unlock(&machine->lock);
	return lacks;
}

/* --- handles --- */

/*
 * With the chip's lock: a handle of @series, whose reference goes with it. None comes twice: a
 * thread may still be about to submit by one that another thread drops.
 */
static int add_handle(struct nrt_chip *chip, struct emb_series *series, uint32_t *handle)
{
	struct emb_holder *grown = reallocarray(chip->series, chip->nr_series + 1ull,
						sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	chip->series = grown;
	pthread_mutex_lock(&chip->machine->lock);
	grown[chip->nr_series++] = (struct emb_holder){
		.series = series, .name = neuron_series_hold(&series->state),
	};
	pthread_mutex_unlock(&chip->machine->lock);
	*handle = chip->nr_series;
	return 0;
}

static void series_put(struct emb_machine *machine, struct emb_series *series)
{
	bool last;

	if (!series)
		return;
	pthread_mutex_lock(&machine->lock);
	last = !--series->refs;
	if (last)
		emb_names_forget(machine, NULL, series);
	pthread_mutex_unlock(&machine->lock);
	if (last)
		free(series);
}

static struct emb_series *series_new(uint32_t members)
{
	struct emb_series *series = calloc(1, sizeof(*series) +
					      members * sizeof(series->member[0]));
	uint64_t secret;

	if (!series)
		return NULL;
	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret)) {
		free(series);
		return NULL;
	}
	series->refs = 1;
	neuron_series_begin(&series->state, members, series->member, secret);
	return series;
}

int emb_series(struct nrt_chip *chip, struct nrt_series *args)
{
	struct emb_name name = { 0 };
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (!args->members || args->members > NEURON_JOB_MAX_GROUP)
		return -EINVAL;
	name.series = series_new(args->members);
	if (!name.series)
		return -ENOMEM;
	ret = emb_name_new(chip->machine, &name);
	if (ret < 0) {
		series_put(chip->machine, name.series);
		return ret;
	}
	args->fd = ret;
	pthread_mutex_lock(&chip->lock);
	ret = add_handle(chip, name.series, &args->handle);
	pthread_mutex_unlock(&chip->lock);
	if (!ret)
		return 0;
	close(args->fd);
	series_put(chip->machine, name.series);
	return ret;
}

int emb_series_import(struct nrt_chip *chip, int fd, uint32_t *handle)
{
	struct emb_machine *machine = chip->machine;
	struct emb_name name;
	bool found;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	pthread_mutex_lock(&machine->lock);
	found = emb_name_find(machine, fd, &name) && name.series;
	if (found)
		name.series->refs++;
	pthread_mutex_unlock(&machine->lock);
	if (!found)
		return -EBADF;
	pthread_mutex_lock(&chip->lock);
	ret = add_handle(chip, name.series, handle);
	pthread_mutex_unlock(&chip->lock);
	if (ret)
		series_put(machine, name.series);
	return ret;
}

/* With the chip's lock: groups to which some members have come, and others will not. */
static void end_series(struct nrt_chip *chip, const struct emb_holder *holder)
{
	struct emb_series *series = holder->series;
	uint64_t most, sequence;

	pthread_mutex_lock(&chip->machine->lock);
	most = series->state.newest;
	neuron_series_leave(&series->state, holder->name);
	sequence = series->state.last_whole;
	pthread_mutex_unlock(&chip->machine->lock);
	/* Of older ones the chip has kept nothing. */
	if (most > NEURON_SERIES_STEP && sequence < most - NEURON_SERIES_STEP)
		sequence = most - NEURON_SERIES_STEP;
	while (sequence < most)
		end_group(chip, neuron_series_number(&series->state, ++sequence));
}

void emb_series_close(struct nrt_chip *chip, uint32_t handle)
{
	struct emb_series *series = NULL;

	if (emb_forked(chip))
		return;
	pthread_mutex_lock(&chip->lock);
	if (handle && handle <= chip->nr_series)
		series = chip->series[handle - 1].series;
	if (series) {
		end_series(chip, &chip->series[handle - 1]);
		chip->series[handle - 1].series = NULL;
	}
	pthread_mutex_unlock(&chip->lock);
	series_put(chip->machine, series);
}

void emb_series_destroy(struct nrt_chip *chip)
{
	uint32_t i;

	for (i = 0; i < chip->nr_series; i++)
		series_put(chip->machine, chip->series[i].series);
	free(chip->series);
}

/* --- settle records; with the chip's lock --- */

static struct neuron_hw_settle *record_of(const struct emb_core *core, unsigned int i)
{
	return (struct neuron_hw_settle *)core->settles.ptr + i;
}

uint64_t emb_times_at(const struct emb_core *core, const struct emb_job *job)
{
	return emb_host_addr(core->chip, core->settles.addr) +
	       job->settle * sizeof(struct neuron_hw_settle);
}

static void free_place(struct emb_core *core, unsigned int i)
{
	struct emb_settle *settle = &core->settle[i];

	emb_result_put(settle->result);
	series_put(core->chip->machine, settle->series);
	*settle = (struct emb_settle){ 0 };
}

/*
 * Record @i as it was copied. One that breaks the contract says nothing. The chip does not remember
 * for long which groups are inexact, so the series does.
 */
static void take_record(struct emb_core *core, unsigned int i, const struct neuron_hw_settle *copy)
{
	struct emb_settle *settle = &core->settle[i];
	struct emb_result *result = settle->result;

	if (neuron_settled_decode(copy, result->job, result->settled.group, &result->settled)) {
		result->settled.status = NEURON_SETTLE_INEXACT;
		result->settled.cause = NEURON_SETTLE_MEMBER;
	}
	result->times = EMB_TIMES_KNOWN;
	if (result->settled.status != NEURON_SETTLE_OK)
		miss(core->chip, settle->series, settle->sequence);
	free_place(core, i);
}

/* Take the records that have been announced; those of jobs that have not ended wait. */
static void take_settled(struct emb_core *core)
{
	const struct neuron_hw_settle *copies = core->copies;
	unsigned int i;

	if (!core->settle || !core->settled)
		return;
	core->settled = false;
	emb_iova_snapshot(&core->chip->machine->iova, core->copies, core->settles.ptr,
			  NEURON_SERIES_PENDING * sizeof(*core->copies));
	for (i = 0; i < NEURON_SERIES_PENDING; i++) {
		if (!core->settle[i].result || !copies[i].status)
			continue;
		if (core->settle[i].result->ended)
			take_record(core, i, &copies[i]);
		else
			core->settled = true;
	}
}

/*
 * Clear what the core announces of settle records, then look at them. Only a cause that was read is
 * cleared: the core may announce a record in between.
 */
static void look(struct emb_core *core)
{
	uint32_t cause = neuron_cause_pending(emb_core_read(core, NEURON_CORE_CAUSE)) &
			 NEURON_CORE_CAUSE_SETTLED;

	if (cause)
		emb_core_write(core, NEURON_CORE_CAUSE, cause);
	emb_times_note(core, cause);
	take_settled(core);
}

static void free_places(struct emb_core *core)
{
	free(core->settle);
	free(core->copies);
	core->settle = NULL;
	core->copies = NULL;
}

static int make_places(struct emb_core *core)
{
	if (core->settle)
		return 0;
	if (emb_shared_alloc(core->chip->machine,
			     NEURON_SERIES_PENDING * sizeof(struct neuron_hw_settle),
			     &core->settles))
		return -1;
	core->settle = calloc(NEURON_SERIES_PENDING, sizeof(*core->settle));
	core->copies = calloc(NEURON_SERIES_PENDING, sizeof(*core->copies));
	if (core->settle && core->copies)
		return 0;
	free_places(core);
	emb_shared_free(core->chip->machine, &core->settles);
	return -1;
}

/* A place for a record, or -1: there is no room. */
static int take_place(struct emb_core *core)
{
	unsigned int i;

	if (make_places(core))
		return -1;
	look(core);
	for (i = 0; i < NEURON_SERIES_PENDING; i++)
		if (!core->settle[i].result)
			return (int)i;
	return -1;
}

/* --- members; with the chip's lock --- */

/* The member that @place says comes to its group. */
static int come(struct emb_machine *machine, const struct emb_holder *holder,
		const struct nrt_time_place *place, struct neuron_series_place *came)
{
	const char *why;

	pthread_mutex_lock(&machine->lock);
	why = neuron_series_come(&holder->series->state, holder->name, place->index,
				 place->sequence, came);
	pthread_mutex_unlock(&machine->lock);
	return why ? -EINVAL : 0;
}

static void series_get(struct emb_machine *machine, struct emb_series *series)
{
	pthread_mutex_lock(&machine->lock);
	series->refs++;
	pthread_mutex_unlock(&machine->lock);
}

/* @job is a member, with settle record @at. */
static void become_member(struct emb_core *core, struct emb_job *job, struct emb_series *series,
			  const struct nrt_time_place *place, unsigned int at)
{
	/* The job's, and that of the record. */
	series_get(core->chip->machine, series);
	series_get(core->chip->machine, series);
	job->series = series;
	job->sequence = place->sequence;
	job->settle = at;
	job->group = (struct neuron_hw_time_group){
		.group = neuron_to_le64(job->result->settled.group),
		.size = neuron_to_le32(series->state.members),
		.index = neuron_to_le32(place->index),
	};
	memset(record_of(core, at), 0, sizeof(struct neuron_hw_settle));
	core->settle[at] = (struct emb_settle){
		.result = emb_result_get(job->result),
		.series = series,
		.sequence = place->sequence,
	};
}

static int join(struct emb_core *core, struct emb_job *job, const struct emb_holder *holder,
		const struct nrt_time_place *place)
{
	struct emb_series *series = holder->series;
	struct neuron_series_place came;
	enum neuron_settle_cause alone;
	uint64_t sequence;
	int at, ret;

	ret = come(core->chip->machine, holder, place, &came);
	if (ret)
		return ret;
	alone = came.alone;
	/* Groups that it leaves out. */
	for (sequence = came.before; !came.taken && ++sequence < place->sequence;)
		miss(core->chip, series, sequence);
	job->result->settled.group = neuron_series_number(&series->state, place->sequence);
	at = take_place(core);
	/* Of a member the chip writes the trace when all have ended: too late for who reads it. */
	if (!alone && job->traced.bo)
		alone = NEURON_SETTLE_ENDED;
	if (!alone && at < 0)
		alone = NEURON_SETTLE_OVERFLOW;
	if (!alone)
		become_member(core, job, series, place, (unsigned int)at);
	else if (!came.taken)
		miss(core->chip, series, place->sequence);
	job->result->settled.cause = (uint16_t)alone;
	return 0;
}

int emb_times_join(struct emb_core *core, struct emb_job *job, const struct nrt_time_place *place)
{
	struct nrt_chip *chip = core->chip;
	const struct emb_holder *holder;
	int ret = 0;

	if (place->series > chip->nr_series)
		return -ENOENT;
	holder = &chip->series[place->series - 1];
	if (holder->series)
		ret = join(core, job, holder, place);
	else
		job->result->settled.cause = NEURON_SETTLE_ENDED;
	if (!ret)
		job->result->times = EMB_TIMES_UNKNOWN;
	return ret;
}

void emb_times_miss(struct emb_core *core, struct emb_job *job)
{
	if (!job->series)
		return;
	miss(core->chip, job->series, job->sequence);
	free_place(core, job->settle);
}

void emb_times_put(struct nrt_chip *chip, struct emb_job *job)
{
	series_put(chip->machine, job->series);
}

/* Its times are those of a job for itself. */
static void settle_alone(struct emb_result *result, enum neuron_settle_cause cause)
{
	result->settled.start_ns = result->record.start_ns;
	result->settled.end_ns = result->record.end_ns;
	result->settled.status = NEURON_SETTLE_INEXACT;
	result->settled.cause = (uint16_t)cause;
	result->times = EMB_TIMES_KNOWN;
}

/* Has the device accepted the first job of the core as a member? It wrote that before the end. */
static bool was_accepted(const struct emb_core *core, const struct neuron_hw_completion *hw)
{
	return neuron_from_le64(hw->job_id) == core->first->id &&
	       neuron_from_le32(hw->flags) & NEURON_COMPLETION_UNSETTLED;
}

void emb_times_end(struct emb_core *core, struct emb_job *job, const struct neuron_record *record,
		   bool lost)
{
	bool accepted = record->flags & NEURON_COMPLETION_UNSETTLED;
	struct emb_result *result = job->result;
	struct nrt_chip *chip = core->chip;

	if (result->times == EMB_TIMES_NONE)
		return;
	if (!job->series) {
		settle_alone(result, (enum neuron_settle_cause)result->settled.cause);
		return;
	}
	/* After a reset the record of the device has come, but nobody needs more of it. */
	if (lost)
		accepted = job->doorbell_ns && !core->wedged &&
			   was_accepted(core, emb_core_completion(core));
	if (!accepted || record->status != NEURON_JOB_OK ||
	    will_be_inexact(chip->machine, job->series, job->sequence))
		miss(chip, job->series, job->sequence);
	if (accepted)
		return;
	free_place(core, job->settle);
	settle_alone(result, NEURON_SETTLE_MEMBER);
}

/* --- the end of a claim --- */

static bool all_settled(struct emb_core *core)
{
	unsigned int i;

	look(core);
	for (i = 0; i < NEURON_SERIES_PENDING; i++)
		if (core->settle[i].result)
			return false;
	return true;
}

void emb_times_forget(struct emb_core *core)
{
	unsigned int i;

	/* Also of a place where the chip has no core. */
	if (!core->settle)
		return;
	for (i = 0; i < NEURON_SERIES_PENDING; i++) {
		if (!core->settle[i].result)
			continue;
		settle_alone(core->settle[i].result, NEURON_SETTLE_MEMBER);
		free_place(core, i);
	}
	free_places(core);
	emb_shared_free(core->chip->machine, &core->settles);
}

/*
 * What has ended settles at once when its group is over. Until then the device may write its
 * record, so the memory stays.
 */
void emb_times_leave(struct emb_core *core)
{
	struct nrt_chip *chip = core->chip;
	uint64_t seen, now = nrt_clock_now(), deadline = now + LEAVE_NS;
	unsigned int i;

	for (i = 0; core->settle && i < NEURON_SERIES_PENDING; i++)
		if (core->settle[i].result)
			miss(chip, core->settle[i].series, core->settle[i].sequence);
	while (core->settle && !core->wedged) {
		seen = atomic_load(&chip->irqs);
		if (all_settled(core) || now > deadline)
			break;
		emb_wait_irq(chip, seen, now + LEAVE_POLL_NS);
		now = nrt_clock_now();
	}
	/* A core that does not answer may still write: its memory is never used again. */
	if (core->settle && (core->wedged || !all_settled(core)))
		core->settles = (struct emb_shared){ 0 };
	emb_times_forget(core);
}

/* --- the question --- */

static int settled_locked(struct nrt_chip *chip, struct nrt_settled *args, bool *left)
{
	uint64_t deadline = (uint64_t)(args->deadline_ns < 0 ? 0 : args->deadline_ns);
	struct emb_result *result;
	struct emb_core *core;
	uint64_t seen, next;
	int ret;

	ret = emb_core_used(chip, args->claim, args->core, &core);
	if (ret)
		return ret;
	result = emb_result_find(core, args->job);
	if (!result)
		return -ENOENT;
	ret = result->times == EMB_TIMES_NONE ? -EINVAL : -EAGAIN;
	while (ret == -EAGAIN) {
		seen = atomic_load(&chip->irqs);
		next = emb_service(chip);
		*left = next;
		look(core);
		if (result->times == EMB_TIMES_KNOWN) {
			args->start_ns = result->settled.start_ns;
			args->end_ns = result->settled.end_ns;
			args->exact = result->settled.status == NEURON_SETTLE_OK;
			args->cause = result->settled.cause;
			ret = 0;
		} else if (nrt_clock_now() >= deadline) {
			ret = -ETIMEDOUT;
		} else {
			pthread_mutex_unlock(&chip->lock);
			emb_wait_irq(chip, seen, next && next < deadline ? next : deadline);
			pthread_mutex_lock(&chip->lock);
		}
	}
	emb_result_put(result);
	return ret;
}

int emb_settled(struct nrt_chip *chip, struct nrt_settled *settled)
{
	bool left = false;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	emb_look_begin(chip);
	ret = settled_locked(chip, settled, &left);
	emb_look_end(chip, left);
	return ret;
}
