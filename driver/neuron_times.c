// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device times of jobs in time groups: settle records, groups that lack a member, TIMES.
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>

#include "contract/job.h"
#include "contract/record.h"
#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_device.h"
#include "neuron_job.h"
#include "neuron_result.h"
#include "neuron_series.h"
#include "neuron_times.h"

/* How often whoever waits for times looks by itself: the interrupt may be lost. */
#define NEURON_TIMES_LOOK_MS	100

static_assert(DRM_NEURON_SETTLE_FINE == (int)NEURON_SETTLE_FINE);
static_assert(DRM_NEURON_SETTLE_MEMBER == (int)NEURON_SETTLE_MEMBER);
static_assert(DRM_NEURON_SETTLE_ENDED == (int)NEURON_SETTLE_ENDED);
static_assert(DRM_NEURON_SETTLE_OVERFLOW == (int)NEURON_SETTLE_OVERFLOW);
static_assert(DRM_NEURON_SETTLE_ORDER == (int)NEURON_SETTLE_ORDER);
/* A new cause belongs into the interface, too. */
static_assert(DRM_NEURON_SETTLE_ORDER + 1 == (int)NEURON_NR_SETTLE_CAUSES);
/* A member has no trace, so its group has the place of the window of one. */
static_assert(sizeof(struct neuron_hw_time_group) == sizeof(struct neuron_hw_window));

/**
 * struct neuron_time - a job as a member of a time group
 * @link: in a list of the core, once the job has ended
 * @user: in the series, while it is in neuron_core_times.pending
 * @core: core of the job
 * @cc: whose job it is; the job's reference of the claim holds it, then one of its own. NULL once
 *	nobody asks for the times any more
 * @series: with a reference
 * @holder: who comes, in the series
 * @index: which member it is
 * @place: what neuron_series_enter() says
 * @counted: it is in neuron_core_times.nr
 * @told: the device knows that its group lacks a member, since after the job has ended
 * @hw_id: id of the job for the device
 * @result: of the job, with a reference once the job has ended; NULL with @cc
 * @block: where @hw is
 * @hw: settle record
 */
struct neuron_time {
	struct list_head link;
	struct neuron_series_user user;
	struct neuron_core *core;
	struct neuron_claim_core *cc;
	struct neuron_series *series;
	u32 holder;
	u32 index;
	struct neuron_series_place place;
	bool counted;
	bool told;
	u64 hw_id;
	struct neuron_result *result;
	struct neuron_block *block;
	struct neuron_hw_settle *hw;
};

#define NEURON_TIME_BYTES	(sizeof(struct neuron_time) + sizeof(struct neuron_hw_settle))

/* The work of a core that its members need. Any context. */
static void neuron_times_kick(struct neuron_core *core)
{
	queue_work(core->ndev->free_wq, &core->times.work);
}

static void neuron_time_lacks(struct neuron_series_user *user)
{
	neuron_times_kick(container_of(user, struct neuron_time, user)->core);
}

/* Submission. */

static struct neuron_time *neuron_time_create(struct neuron_claim_core *cc)
{
	struct neuron_time *time;

	if (neuron_claim_charge(cc->claim, NEURON_TIME_BYTES))
		return NULL;
	time = kzalloc(sizeof(*time), GFP_KERNEL_ACCOUNT);
	if (!time)
		goto err_charge;
	time->block = neuron_block_get(&cc->core->ndev->settle_blocks);
	if (!time->block)
		goto err_free;
	time->hw = time->block->cpu;
	time->core = cc->core;
	time->cc = cc;
	time->user.lacks = neuron_time_lacks;
	return time;

err_free:
	kfree(time);
err_charge:
	neuron_claim_uncharge(cc->claim, NEURON_TIME_BYTES);
	return NULL;
}

void neuron_time_free(struct neuron_time *time)
{
	struct neuron_core *core;

	if (!time)
		return;
	core = time->core;
	if (time->counted) {
		spin_lock_irq(&core->lock);
		core->times.nr--;
		spin_unlock_irq(&core->lock);
	}
	neuron_block_put(&core->ndev->settle_blocks, time->block);
	neuron_series_put(time->series);
	if (time->cc)
		neuron_claim_uncharge(time->cc->claim, NEURON_TIME_BYTES);
	kfree(time);
}

int neuron_times_prepare(struct neuron_job *job, struct drm_file *file,
			 const struct drm_neuron_job *args)
{
	struct neuron_series *series;
	struct neuron_time *time;
	u32 holder = 0;

	if (!args->series) {
		if (!args->member && !args->group)
			return 0;
		drm_dbg(file->minor->dev, "submit: a member without a series\n");
		return -EINVAL;
	}
	series = neuron_series_find(file->driver_priv, args->series, &holder);
	if (IS_ERR(series))
		return PTR_ERR(series);
	job->result->times = NEURON_TIMES_UNKNOWN;
	job->result->settled.cause = NEURON_SETTLE_ENDED;
	if (!series)
		return 0;
	time = neuron_time_create(job->cc);
	if (!time) {
		neuron_series_put(series);
		return -ENOMEM;
	}
	time->series = series;
	time->holder = holder;
	time->index = args->member;
	time->user.sequence = args->group;
	job->time = time;
	return 0;
}

int neuron_times_enter(struct neuron_job *job)
{
	struct neuron_time *time = job->time;
	const char *why;

	if (!time)
		return 0;
	why = neuron_series_enter(time->series, time->holder, time->index, time->user.sequence,
				  &time->place);
	if (!why)
		return 0;
	drm_dbg(&job->cc->core->ndev->drm, "submit: %s\n", why);
	return -EINVAL;
}

void neuron_times_undo(struct neuron_job *job)
{
	struct neuron_time *time = job->time;

	if (time)
		neuron_series_undo(time->series, time->index, time->user.sequence, &time->place);
}

/* Room for one more member of the core. Under its lock. */
static bool neuron_times_reserve(struct neuron_core *core)
{
	lockdep_assert_held(&core->lock);
	if (core->times.nr >= NEURON_SERIES_PENDING)
		return false;
	core->times.nr++;
	return true;
}

static void neuron_times_block(struct neuron_job *job)
{
	struct neuron_device *ndev = job->cc->core->ndev;
	struct neuron_time *time = job->time;
	u64 group = neuron_series_group(time->series, time->user.sequence);

	*(struct neuron_hw_time_group *)neuron_job_trace_window(job) =
		(struct neuron_hw_time_group){
			.group = cpu_to_le64(group),
			.settle = cpu_to_le64(neuron_host_addr(ndev, time->block->dma)),
			.size = cpu_to_le32(neuron_series_members(time->series)),
			.index = cpu_to_le32(time->index),
		};
	neuron_hw_job_group(job->hw, neuron_host_addr(ndev, job->dma) + sizeof(*job->hw));
}

/* Times: under the lock of the core. */

static void neuron_times_wake(struct neuron_core *core)
{
	if (wq_has_sleeper(&core->times.wait))
		wake_up_all(&core->times.wait);
}

/* Its times are those of a job for itself. The caller wakes who waits for them. */
static void neuron_result_settle_alone(struct neuron_core *core, struct neuron_result *result,
				       enum neuron_settle_cause cause)
{
	lockdep_assert_held(&core->lock);
	result->settled.start_ns = result->record.start_ns;
	result->settled.end_ns = result->record.end_ns;
	result->settled.status = NEURON_SETTLE_INEXACT;
	result->settled.cause = cause;
	WRITE_ONCE(result->times, NEURON_TIMES_KNOWN);
}

/* The same of a job whose settle record has not come, unless its times are known without it. */
static void neuron_time_settle_alone(struct neuron_time *time, enum neuron_settle_cause cause)
{
	if (time->result && time->result->times != NEURON_TIMES_KNOWN)
		neuron_result_settle_alone(time->core, time->result, cause);
}

/* Nobody writes its record any more; the work of the core frees it. */
static void neuron_time_finish(struct neuron_time *time)
{
	struct neuron_core *core = time->core;

	lockdep_assert_held(&core->lock);
	neuron_series_unwatch(time->series, &time->user);
	list_move_tail(&time->link, &core->times.done);
	neuron_times_kick(core);
}

/*
 * The device writes the status last. What it says is believed only if it can be true. It does not
 * remember for long which groups are inexact, so the series does: for a member that comes to one
 * later the device would begin it anew, and wait. True: there was a record.
 */
static bool neuron_time_take(struct neuron_time *time)
{
	struct neuron_result *result = time->result;
	struct neuron_core *core = time->core;
	struct neuron_settled settled;
	struct neuron_hw_settle copy;
	bool valid;
	u64 group;

	if (READ_ONCE(time->hw->status) == cpu_to_le16(NEURON_SETTLE_NONE))
		return false;
	dma_rmb();
	copy = *time->hw;
	/* What is checked is what is used. */
	barrier();
	/* They were given up, and times that are known do not change: neuron_times_lost(). */
	if (result && result->times == NEURON_TIMES_KNOWN)
		result = NULL;
	group = neuron_series_group(time->series, time->user.sequence);
	valid = !neuron_settled_decode(&copy, time->hw_id, group, &settled);
	if (result && valid) {
		result->settled = settled;
		WRITE_ONCE(result->times, NEURON_TIMES_KNOWN);
	} else if (result) {
		neuron_result_settle_alone(core, result, NEURON_SETTLE_MEMBER);
	}
	neuron_time_finish(time);
	if (!valid || settled.status != NEURON_SETTLE_OK)
		neuron_series_lose(time->series, time->user.sequence);
	return true;
}

/* True: there were records. The caller wakes who waits for them. */
static bool neuron_times_look(struct neuron_core *core)
{
	struct neuron_time *time, *next;
	bool news = false;

	lockdep_assert_held(&core->lock);
	list_for_each_entry_safe(time, next, &core->times.pending, link)
		news |= neuron_time_take(time);
	return news;
}

void neuron_times_settled(struct neuron_core *core)
{
	unsigned long flags;
	bool news;

	spin_lock_irqsave(&core->lock, flags);
	news = neuron_times_look(core);
	spin_unlock_irqrestore(&core->lock, flags);
	if (news)
		neuron_times_wake(core);
}

/* Of a member the device writes the trace when all have ended: too late for who reads it. */
void neuron_times_commit(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	struct neuron_time *time = job->time;
	bool news;

	if (!time)
		return;
	time->hw_id = job->hw_id;
	if (!time->place.alone && job->trace)
		time->place.alone = NEURON_SETTLE_ENDED;
	spin_lock_irq(&core->lock);
	news = neuron_times_look(core);
	if (!time->place.alone) {
		time->counted = neuron_times_reserve(core);
		if (!time->counted)
			time->place.alone = NEURON_SETTLE_OVERFLOW;
	}
	spin_unlock_irq(&core->lock);
	if (news)
		neuron_times_wake(core);
	neuron_series_commit(time->series, time->user.sequence, &time->place);
	job->result->settled.cause = time->place.alone;
	if (!time->place.alone)
		neuron_times_block(job);
}

/* The core keeps it. The record may be there before the end of the job was noticed. */
static void neuron_time_keep(struct neuron_job *job)
{
	struct neuron_time *time = job->time;

	job->time = NULL;
	kref_get(&job->result->ref);
	time->result = job->result;
	neuron_claim_live_get(time->cc->claim);
	list_add_tail(&time->link, &time->core->times.pending);
	neuron_series_watch(time->series, &time->user);
	neuron_time_take(time);
}

void neuron_times_end(struct neuron_job *job, bool accepted, bool failed)
{
	struct neuron_result *result = job->result;
	struct neuron_core *core = job->cc->core;
	struct neuron_time *time = job->time;

	lockdep_assert_held(&core->lock);
	if (result->times != NEURON_TIMES_UNKNOWN)
		return;
	if (!time || time->place.alone) {
		neuron_result_settle_alone(core, result, result->settled.cause);
	} else if (!accepted) {
		neuron_series_lose(time->series, time->user.sequence);
		neuron_result_settle_alone(core, result, NEURON_SETTLE_MEMBER);
	} else {
		time->told = failed;
		if (failed)
			neuron_series_fail(time->series, time->user.sequence);
		neuron_time_keep(job);
	}
	if (result->times == NEURON_TIMES_KNOWN)
		neuron_times_wake(core);
}

/* What the core keeps. */

/* Nobody asks for its times any more. The caller puts @result and @cc. */
static void neuron_time_detach(struct neuron_time *time, struct neuron_claim_core **cc,
			       struct neuron_result **result)
{
	lockdep_assert_held(&time->core->lock);
	*cc = time->cc;
	*result = time->result;
	time->cc = NULL;
	time->result = NULL;
}

static void neuron_time_put_owner(struct neuron_claim_core *cc, struct neuron_result *result)
{
	neuron_claim_uncharge(cc->claim, NEURON_TIME_BYTES);
	neuron_result_put(result);
	neuron_claim_live_put(cc->claim);
}

static void neuron_times_free_done(struct neuron_core *core)
{
	struct neuron_claim_core *cc;
	struct neuron_result *result;
	struct neuron_time *time;

	for (;;) {
		spin_lock_irq(&core->lock);
		time = list_first_entry_or_null(&core->times.done, struct neuron_time, link);
		if (time) {
			list_del(&time->link);
			neuron_time_detach(time, &cc, &result);
		}
		spin_unlock_irq(&core->lock);
		if (!time)
			return;
		neuron_time_free(time);
		if (cc)
			neuron_time_put_owner(cc, result);
	}
}

/* Under neuron_core.reset_lock, with the hardware UP: members that have not come will not. */
static void neuron_times_end_group(struct neuron_core *core, u64 group)
{
	lockdep_assert_held(&core->reset_lock);
	spin_lock_irq(&core->ndev->group_lock);
	neuron_ctl_write(core->ndev, NEURON_CTL_GROUP_END_LO, lower_32_bits(group));
	neuron_ctl_write(core->ndev, NEURON_CTL_GROUP_END_HI, upper_32_bits(group));
	spin_unlock_irq(&core->ndev->group_lock);
}

/*
 * *@group: the number of a group that is to be ended, each of them once. @all: also of one that
 * lacked nobody until now. False: there is none.
 */
static bool neuron_times_next_to_end(struct neuron_core *core, bool all, u64 *group)
{
	struct neuron_time *time;
	bool found = false;

	spin_lock_irq(&core->lock);
	list_for_each_entry(time, &core->times.pending, link) {
		found = !time->told &&
			(all || neuron_series_is_lacking(time->series, time->user.sequence));
		if (!found)
			continue;
		time->told = true;
		if (all)
			neuron_series_lose(time->series, time->user.sequence);
		*group = neuron_series_group(time->series, time->user.sequence);
		break;
	}
	spin_unlock_irq(&core->lock);
	return found;
}

static void neuron_times_work(struct work_struct *work)
{
	struct neuron_core *core = container_of(work, struct neuron_core, times.work);
	bool cookie;
	u64 group;

	cookie = neuron_core_lock(core);
	while (neuron_hw_up(core->ndev) && neuron_times_next_to_end(core, false, &group))
		neuron_times_end_group(core, group);
	neuron_core_unlock(core, cookie);
	neuron_times_free_done(core);
}

void neuron_times_lost(struct neuron_core *core, bool reset)
{
	struct neuron_time *time, *next;

	spin_lock_irq(&core->lock);
	neuron_times_look(core);
	list_for_each_entry_safe(time, next, &core->times.pending, link) {
		neuron_time_settle_alone(time, NEURON_SETTLE_MEMBER);
		neuron_series_lose(time->series, time->user.sequence);
		if (reset)
			neuron_time_finish(time);
		else	/* the device still owes the record: neuron_times_up() has it written */
			time->told = false;
	}
	spin_unlock_irq(&core->lock);
	neuron_times_wake(core);
}

/* A member of @owner that has not settled loses its owner, or NULL: there is none. */
static struct neuron_claim_core *
neuron_times_orphan_locked(struct neuron_claim_core *owner, struct neuron_result **result)
{
	struct neuron_core *core = owner->core;
	bool up = neuron_hw_up(core->ndev);
	struct neuron_claim_core *cc;
	struct neuron_time *time;
	u64 group;

	lockdep_assert_held(&core->reset_lock);
	spin_lock_irq(&core->lock);
	neuron_times_look(core);
	list_for_each_entry(time, &core->times.pending, link)
		if (time->cc == owner)
			break;
	if (list_entry_is_head(time, &core->times.pending, link)) {
		spin_unlock_irq(&core->lock);
		neuron_times_wake(core);
		return NULL;
	}
	neuron_time_settle_alone(time, NEURON_SETTLE_ENDED);
	neuron_series_lose(time->series, time->user.sequence);
	/* Otherwise neuron_times_up() does it. */
	time->told |= up;
	group = neuron_series_group(time->series, time->user.sequence);
	neuron_time_detach(time, &cc, result);
	spin_unlock_irq(&core->lock);
	neuron_times_wake(core);
	if (up)
		neuron_times_end_group(core, group);
	return cc;
}

/*
 * The device settles the groups at once, and in any case before it knows a job of the next owner:
 * nothing that this one has left delays it.
 */
void neuron_times_leave(struct neuron_claim_core *cc)
{
	struct neuron_claim_core *orphaned;
	struct neuron_result *result;
	bool cookie;

	do {
		cookie = neuron_core_lock(cc->core);
		orphaned = neuron_times_orphan_locked(cc, &result);
		neuron_core_unlock(cc->core, cookie);
		if (orphaned)
			neuron_time_put_owner(orphaned, result);
	} while (orphaned);
}

static bool neuron_times_pend(struct neuron_core *core)
{
	bool news, pend;

	spin_lock_irq(&core->lock);
	news = neuron_times_look(core);
	pend = !list_empty(&core->times.pending);
	spin_unlock_irq(&core->lock);
	if (news)
		neuron_times_wake(core);
	return pend;
}

void neuron_times_up(struct neuron_core *core)
{
	neuron_times_kick(core);
}

/*
 * Nothing is pending but after the driver was in use, so its registers answer. A device that does
 * not reach memory writes no records: neuron_times_fini() gives them up after its reset. One that
 * does not answer now may do so later, and write them then, unless it is gone for good.
 */
void neuron_times_quit(struct neuron_core *core, unsigned long end)
{
	struct neuron_device *ndev = core->ndev;
	u64 group;

	if (!neuron_times_pend(core) || READ_ONCE(ndev->bus_cuts) || neuron_hw_is_gone(ndev))
		return;
	if (!pci_device_is_present(ndev->pdev)) {
		neuron_bus_cut(ndev);
		return;
	}
	while (neuron_times_next_to_end(core, true, &group))
		neuron_times_end_group(core, group);
	while (neuron_times_pend(core)) {
		if (time_after(jiffies, end)) {
			dev_err(ndev->drm.dev, "%s: does not settle the times of its jobs\n",
				core->name);
			neuron_bus_cut(ndev);
			return;
		}
		usleep_range(100, 1000);
	}
}

/* Set-up. */

void neuron_times_init(struct neuron_device *ndev)
{
	unsigned int i;

	spin_lock_init(&ndev->group_lock);
	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		INIT_WORK(&neuron_unit(ndev, i)->times.work, neuron_times_work);
		init_waitqueue_head(&neuron_unit(ndev, i)->times.wait);
	}
	neuron_blocks_init(&ndev->settle_blocks, ndev->drm.dev, sizeof(struct neuron_hw_settle));
}

void neuron_times_fini(struct neuron_device *ndev)
{
	bool owed = false;
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		struct neuron_core *core = neuron_unit(ndev, i);

		owed |= neuron_times_pend(core);
		neuron_times_lost(core, true);
		disable_work_sync(&core->times.work);
		neuron_times_free_done(core);
	}
	/*
	 * A device that could not be stopped (neuron_hw_stop_for_good()) writes the records that it
	 * owes when somebody makes it master of the bus again. So their pages are never freed. No
	 * other memory of this host stays: what units still write to they do not reach meanwhile,
	 * and the next start resets them before it opens the bus.
	 */
	if (!owed || !READ_ONCE(ndev->bus_cuts))
		neuron_blocks_fini(&ndev->settle_blocks);
}

/* TIMES */

/* True: they are known, and in @args. */
static bool neuron_times_get(struct neuron_core *core, const struct neuron_result *result,
			     struct drm_neuron_times *args)
{
	bool news, known;

	spin_lock_irq(&core->lock);
	news = neuron_times_look(core);
	known = result->times == NEURON_TIMES_KNOWN;
	if (known) {
		args->start_ns = result->settled.start_ns;
		args->end_ns = result->settled.end_ns;
		args->cause = result->settled.cause;
		/* Without a cause they would count as exact. */
		if (result->settled.status != NEURON_SETTLE_OK && !args->cause)
			args->cause = NEURON_SETTLE_MEMBER;
	}
	spin_unlock_irq(&core->lock);
	if (news)
		neuron_times_wake(core);
	return known;
}

/* As for WAIT, nothing but the deadline limits how long: a call that is restarted ends, too. */
static int neuron_times_wait(struct neuron_core *core, const struct neuron_result *result,
			     struct drm_neuron_times *args)
{
	unsigned long slice = msecs_to_jiffies(NEURON_TIMES_LOOK_MS);
	unsigned long left;
	long ret;

	while (!neuron_times_get(core, result, args)) {
		left = drm_timeout_abs_to_jiffies(args->deadline_ns);
		if (!left)
			return -ETIMEDOUT;
		ret = wait_event_interruptible_timeout(core->times.wait,
						       READ_ONCE(result->times) ==
						       NEURON_TIMES_KNOWN, min(left, slice));
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int neuron_times_ask(struct neuron_claim_core *cc, struct drm_neuron_times *args)
{
	struct neuron_result *result;
	struct dma_fence *fence;
	int ret = -EINVAL;

	result = neuron_results_find(&cc->results, args->job, &fence);
	if (!result) {
		drm_dbg(&cc->core->ndev->drm, "times: %s knows no job %llu, or no longer\n",
			cc->core->name, args->job);
		return -ENOENT;
	}
	dma_fence_put(fence);
	if (READ_ONCE(result->times) != NEURON_TIMES_NONE)
		ret = neuron_times_wait(cc->core, result, args);
	else
		drm_dbg(&cc->core->ndev->drm, "times: job %llu is in no time group\n", args->job);
	neuron_result_put(result);
	return ret;
}

/**
 * neuron_ioctl_times() - TIMES: wait for the device times of a job in a time group
 * @drm: device
 * @data: &struct drm_neuron_times
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_times(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_neuron_times *args = data;
	struct neuron_claim_core *cc;
	int ret;

	if (args->pad) {
		drm_dbg(drm, "times: non-zero pad\n");
		return -EINVAL;
	}
	cc = neuron_claim_core_find_any(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	ret = neuron_times_ask(cc, args);
	neuron_claim_put(cc->claim);
	return ret;
}
