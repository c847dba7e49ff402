/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device times of jobs in time groups.
 */
#ifndef _NEURON_TIMES_H_
#define _NEURON_TIMES_H_

#include <linux/types.h>

#include "neuron_ioctl.h"

struct drm_file;
struct drm_neuron_job;
struct neuron_claim_core;
struct neuron_core;
struct neuron_device;
struct neuron_job;
struct neuron_time;

/**
 * DOC: Jobs in time groups
 *
 * A job may be a member of a *time group*: the chips of a fabric work out the device times of its
 * members together, when all of them have ended. Nobody waits for that but the ioctl TIMES. The
 * job ends as others do, and its settle record comes later.
 *
 * The groups are those of a *series* (neuron_series.c), a file descriptor that several processes
 * have. The number of a group, which is all that the device wants to know of a member, follows
 * from a secret of the series, so it never leaves the kernel.
 *
 * The life of a &struct neuron_time:
 *
 * 1. SUBMIT makes it, with a settle record in coherent memory, and writes the number of the group
 *    into the job block. A job that cannot be a member has none, or one that is only freed.
 * 2. When the job has ended and the device has accepted it as a member, the core keeps it, until
 *    the device has written the settle record (neuron_core_times.pending). A job that was not
 *    accepted has its times at once: those that it would have without a group. Its group lacks
 *    this member for ever.
 * 3. The interrupt SETTLED, or whoever looks for times, takes the record, and the times are in the
 *    result of the job. If they are inexact, the series remembers that the group lacks a member:
 *    the device may forget it, and would begin it anew for a member that comes later.
 *
 * A group that lacks a member is *ended*: the device is told its number (GROUP_END), and the other
 * members settle without it. The device may not know the group yet. So this is done on the chip
 * of each member that has ended, after its end, by the work of its core: the device knows it then.
 *
 * The device may write a settle record as long as the group has not settled, also after the claim,
 * the process or the series has gone. So the end of a claim ends its groups and takes their
 * results, but the memory of the records stays with the core. It is freed when the record has come,
 * or when the device was seen to be reset, or has been stopped for good. NEURON_SERIES_PENDING
 * limits it. A device that goes on after an error without a reset is told again that the groups
 * have ended. If the device does not write the records although it is told to, before it is
 * stopped, then it counts as one that does not stop (neuron_bus_cut()).
 *
 * Registers are written under neuron_core.reset_lock, when the hardware is UP, as for a doorbell.
 * neuron_core.lock protects the lists and the times in results; the lock of a series is taken under
 * it. Somebody who means harm can have a series with others. He can end its groups, which makes
 * times inexact, and nothing else: he waits for nobody and nobody for him, and he cannot take the
 * place of another member (contract/series.h).
 */

/**
 * neuron_times_prepare() - a job is about to be submitted: make what it needs to be a member
 * @job: job, not known to anybody yet
 * @file: file of the caller
 * @args: what the caller says of it
 *
 * Return: 0, also when it is not to be a member; -EINVAL, -ENOENT or -ENOMEM.
 */
int neuron_times_prepare(struct neuron_job *job, struct drm_file *file,
			 const struct drm_neuron_job *args);

/**
 * neuron_times_enter() - the job comes to its group
 * @job: job that was prepared
 *
 * Context: under neuron_claim_core.lock.
 * Return: 0 or -EINVAL.
 */
int neuron_times_enter(struct neuron_job *job);

/**
 * neuron_times_undo() - take neuron_times_enter() back
 * @job: job, which is not submitted
 */
void neuron_times_undo(struct neuron_job *job);

/**
 * neuron_times_commit() - the job is submitted: write its group into its block
 * @job: job that has come to its group, or is in none
 *
 * Context: under neuron_claim_core.lock.
 */
void neuron_times_commit(struct neuron_job *job);

/**
 * neuron_times_end() - the job has ended, and its result has how
 * @job: job
 * @accepted: the device knows it as a member, or may
 * @failed: it did not run to its end
 *
 * Context: under neuron_core.lock.
 */
void neuron_times_end(struct neuron_job *job, bool accepted, bool failed);

/**
 * neuron_time_free() - free what a job has of a group that was not given to the core
 * @time: it, or NULL
 *
 * Context: process; not under neuron_core.lock.
 */
void neuron_time_free(struct neuron_time *time);

/**
 * neuron_times_settled() - &neuron_job_ops.settled
 * @core: core
 *
 * Context: any.
 */
void neuron_times_settled(struct neuron_core *core);

/**
 * neuron_times_lost() - &neuron_job_ops.lost
 * @core: core; its jobs have the cause MEMBER
 * @reset: the device has forgotten them, so their settle records are freed
 */
void neuron_times_lost(struct neuron_core *core, bool reset);

/**
 * neuron_times_up() - &neuron_job_ops.up
 * @core: core; groups that lack a member are ended
 *
 * Context: any.
 */
void neuron_times_up(struct neuron_core *core);

/**
 * neuron_times_leave() - &neuron_job_ops.leave
 * @cc: core in its claim; jobs whose times are not known have the cause ENDED
 *
 * Takes neuron_core.reset_lock.
 */
void neuron_times_leave(struct neuron_claim_core *cc);

/**
 * neuron_times_quit() - &neuron_job_ops.quit
 * @core: core
 * @end: in jiffies, how long it has time; then it counts as one that does not stop
 */
void neuron_times_quit(struct neuron_core *core, unsigned long end);

/**
 * neuron_times_init() - set up what jobs in time groups need
 * @ndev: device; its cores are placed
 */
void neuron_times_init(struct neuron_device *ndev);

/**
 * neuron_times_fini() - free what neuron_times_init() has made, and what the cores still keep
 * @ndev: device, stopped, without claims
 */
void neuron_times_fini(struct neuron_device *ndev);

NEURON_IOCTL_HANDLER(times);

#endif /* _NEURON_TIMES_H_ */
