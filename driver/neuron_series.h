/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A series of time groups: jobs of several claims whose device times are worked out together.
 */
#ifndef _NEURON_SERIES_H_
#define _NEURON_SERIES_H_

#include <linux/list.h>
#include <linux/types.h>

#include "contract/series.h"
#include "neuron_ioctl.h"

struct neuron_device;
struct neuron_file;
struct neuron_series;

/**
 * struct neuron_series_user - a job that is a member of a group, has ended, and has no times yet
 * @link: in the series
 * @sequence: number of the group
 * @told: @lacks was called
 * @lacks: the group lacks a member, for ever; called once, under the lock of the series. It takes
 *	no lock of a core
 *
 * It is in a series from neuron_series_watch() to neuron_series_unwatch().
 */
struct neuron_series_user {
	struct hlist_node link;
	u64 sequence;
	bool told;
	void (*lacks)(struct neuron_series_user *user);
};

/**
 * neuron_series_find() - find a series that a file has imported
 * @nfile: file
 * @handle: handle
 * @holder: set to the name of the handle's holder in the series
 *
 * Return: the series with a reference; NULL when the handle was closed; ERR_PTR(-ENOENT) when
 * there never was one.
 */
struct neuron_series *neuron_series_find(struct neuron_file *nfile, u32 handle, u32 *holder);

/**
 * neuron_series_put() - drop a reference of a series
 * @series: series
 *
 * Context: process.
 */
void neuron_series_put(struct neuron_series *series);

/**
 * neuron_series_members() - members of each group of a series
 * @series: series
 *
 * Return: how many.
 */
u32 neuron_series_members(const struct neuron_series *series);

/**
 * neuron_series_group() - the number of a group for the device
 * @series: series
 * @sequence: number of the group in the series
 *
 * Context: any.
 * Return: the number, which no program may know.
 */
u64 neuron_series_group(const struct neuron_series *series, u64 sequence);

/**
 * neuron_series_enter() - a job is submitted as a member of a group
 * @series: series
 * @holder: of the handle that the caller has named
 * @index: member
 * @sequence: number of the group
 * @place: what the job is
 *
 * To be followed by neuron_series_commit() or neuron_series_undo().
 *
 * Return: NULL, or why it is refused, and nothing has changed.
 */
const char *neuron_series_enter(struct neuron_series *series, u32 holder, u32 index, u64 sequence,
				struct neuron_series_place *place);

/**
 * neuron_series_commit() - the job is in its queue
 * @series: series
 * @sequence: number of its group
 * @place: from neuron_series_enter(). If it says that the job is alone, the group lacks it
 *
 * What the member has left out lacks it from now on.
 */
void neuron_series_commit(struct neuron_series *series, u64 sequence,
			  const struct neuron_series_place *place);

/**
 * neuron_series_undo() - the job is not submitted
 * @series: series
 * @index: member
 * @sequence: number of its group
 * @place: from neuron_series_enter()
 */
void neuron_series_undo(struct neuron_series *series, u32 index, u64 sequence,
			const struct neuron_series_place *place);

/**
 * neuron_series_lose() - a member of a group will not come
 * @series: series
 * @sequence: number of the group
 *
 * Context: any.
 */
void neuron_series_lose(struct neuron_series *series, u64 sequence);

/**
 * neuron_series_fail() - a member of a group has failed, which the device knows
 * @series: series
 * @sequence: number of the group
 *
 * The device settles the others by itself, and knows better why.
 *
 * Context: any.
 */
void neuron_series_fail(struct neuron_series *series, u64 sequence);

/**
 * neuron_series_is_lacking() - will members of a group not come?
 * @series: series
 * @sequence: number of the group
 *
 * Context: any.
 * Return: true if so; that does not change.
 */
bool neuron_series_is_lacking(struct neuron_series *series, u64 sequence);

/**
 * neuron_series_watch() - tell a user when its group lacks a member
 * @series: series
 * @user: user, which is told at once if it is so already
 *
 * Context: any.
 */
void neuron_series_watch(struct neuron_series *series, struct neuron_series_user *user);

/**
 * neuron_series_unwatch() - tell a user no longer
 * @series: series
 * @user: user
 *
 * Context: any.
 */
void neuron_series_unwatch(struct neuron_series *series, struct neuron_series_user *user);

/**
 * neuron_series_open() - a file was opened
 * @nfile: file
 */
void neuron_series_open(struct neuron_file *nfile);

/**
 * neuron_series_close() - a file is going away: give up all series that it has imported
 * @nfile: file
 */
void neuron_series_close(struct neuron_file *nfile);

/**
 * neuron_series_end() - the device is unplugged: nobody is a member by its files any more
 * @ndev: device
 */
void neuron_series_end(struct neuron_device *ndev);

NEURON_IOCTL_HANDLER(series);
NEURON_IOCTL_HANDLER(series_import);
NEURON_IOCTL_HANDLER(series_close);

#endif /* _NEURON_SERIES_H_ */
