// SPDX-License-Identifier: GPL-2.0-only
/*
 * Series of time groups: file descriptors that others may join, the handles that a file gives to
 * them, and which groups lack a member.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_device.h"
#include "neuron_series.h"

static_assert(DRM_NEURON_SERIES_MEMBERS == NEURON_JOB_MAX_GROUP);
static_assert(DRM_NEURON_SERIES_STEP == NEURON_SERIES_STEP);

/**
 * struct neuron_series - behind the file descriptor and the handles
 * @ref: the descriptor's, and one for each handle and each job
 * @fabric_key: that of the device that it was made on
 * @bus: where that device is, if it is in no fabric
 * @lock: protects what follows; taken under neuron_core.lock
 * @state: who has come to which group
 * @users: members that have ended, by the number of their group modulo NEURON_SERIES_MISSED
 */
struct neuron_series {
	struct kref ref;
	u32 fabric_key;
	u64 bus;
	spinlock_t lock; /* @state, @users */
	struct neuron_series_state state;
	struct hlist_head users[NEURON_SERIES_MISSED];
};

/**
 * struct neuron_series_handle - a series that a file has imported
 * @series: with a reference
 * @holder: its name in the series
 */
struct neuron_series_handle {
	struct neuron_series *series;
	u32 holder;
};

static void neuron_series_release(struct kref *ref)
{
	struct neuron_series *series = container_of(ref, struct neuron_series, ref);

	kvfree(series->state.member);
	kfree(series);
}

void neuron_series_put(struct neuron_series *series)
{
	kref_put(&series->ref, neuron_series_release);
}

u32 neuron_series_members(const struct neuron_series *series)
{
	return series->state.members;
}

u64 neuron_series_group(const struct neuron_series *series, u64 sequence)
{
	return neuron_series_number(&series->state, sequence);
}

/* Groups: under the lock of the series. */

/* Once: what a group lacks does not come back. */
static void neuron_series_tell_user(struct neuron_series *series, struct neuron_series_user *user)
{
	if (user->told || !neuron_series_lacks(&series->state, user->sequence))
		return;
	user->told = true;
	user->lacks(user);
}

static void neuron_series_tell(struct neuron_series *series, unsigned int i)
{
	struct neuron_series_user *user;

	lockdep_assert_held(&series->lock);
	hlist_for_each_entry(user, &series->users[i], link)
		neuron_series_tell_user(series, user);
}

/* What lacks a member now lacks it for ever, so the lock need not be held throughout. */
static void neuron_series_tell_all(struct neuron_series *series)
{
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < NEURON_SERIES_MISSED; i++) {
		spin_lock_irqsave(&series->lock, flags);
		neuron_series_tell(series, i);
		spin_unlock_irqrestore(&series->lock, flags);
	}
}

static void neuron_series_lose_locked(struct neuron_series *series, u64 sequence)
{
	lockdep_assert_held(&series->lock);
	neuron_series_miss(&series->state, sequence);
	neuron_series_tell(series, sequence % NEURON_SERIES_MISSED);
}

const char *neuron_series_enter(struct neuron_series *series, u32 holder, u32 index, u64 sequence,
				struct neuron_series_place *place)
{
	unsigned long flags;
	const char *why;

	if (index < series->state.members)
		index = array_index_nospec(index, series->state.members);
	spin_lock_irqsave(&series->lock, flags);
	why = neuron_series_come(&series->state, holder, index, sequence, place);
	spin_unlock_irqrestore(&series->lock, flags);
	return why;
}

void neuron_series_commit(struct neuron_series *series, u64 sequence,
			  const struct neuron_series_place *place)
{
	unsigned long flags;

	if (place->taken)
		return;
	spin_lock_irqsave(&series->lock, flags);
	neuron_series_skip(&series->state, place->before, sequence);
	if (place->alone)
		neuron_series_lose_locked(series, sequence);
	spin_unlock_irqrestore(&series->lock, flags);
	if (sequence - place->before > 1)
		neuron_series_tell_all(series);
}

void neuron_series_undo(struct neuron_series *series, u32 index, u64 sequence,
			const struct neuron_series_place *place)
{
	unsigned long flags;

	spin_lock_irqsave(&series->lock, flags);
	neuron_series_uncome(&series->state, index, sequence, place);
	spin_unlock_irqrestore(&series->lock, flags);
	neuron_series_tell_all(series);
}

void neuron_series_lose(struct neuron_series *series, u64 sequence)
{
	unsigned long flags;

	spin_lock_irqsave(&series->lock, flags);
	neuron_series_lose_locked(series, sequence);
	spin_unlock_irqrestore(&series->lock, flags);
}

void neuron_series_fail(struct neuron_series *series, u64 sequence)
{
	unsigned long flags;

	spin_lock_irqsave(&series->lock, flags);
	neuron_series_miss(&series->state, sequence);
	spin_unlock_irqrestore(&series->lock, flags);
}

bool neuron_series_is_lacking(struct neuron_series *series, u64 sequence)
{
	unsigned long flags;
	bool lacks;

	spin_lock_irqsave(&series->lock, flags);
	lacks = neuron_series_lacks(&series->state, sequence);
	spin_unlock_irqrestore(&series->lock, flags);
	return lacks;
}

void neuron_series_watch(struct neuron_series *series, struct neuron_series_user *user)
{
	unsigned long flags;

	spin_lock_irqsave(&series->lock, flags);
	hlist_add_head(&user->link, &series->users[user->sequence % NEURON_SERIES_MISSED]);
	neuron_series_tell_user(series, user);
	spin_unlock_irqrestore(&series->lock, flags);
}

void neuron_series_unwatch(struct neuron_series *series, struct neuron_series_user *user)
{
	unsigned long flags;

	spin_lock_irqsave(&series->lock, flags);
	hlist_del(&user->link);
	spin_unlock_irqrestore(&series->lock, flags);
}

/* Handles. */

static void neuron_series_handle_leave(struct neuron_series_handle *handle)
{
	struct neuron_series *series = handle->series;
	unsigned long flags;

	spin_lock_irqsave(&series->lock, flags);
	neuron_series_leave(&series->state, handle->holder);
	spin_unlock_irqrestore(&series->lock, flags);
	neuron_series_tell_all(series);
}

static void neuron_series_handle_free(struct neuron_series_handle *handle)
{
	neuron_series_handle_leave(handle);
	neuron_series_put(handle->series);
	kfree(handle);
}

struct neuron_series *neuron_series_find(struct neuron_file *nfile, u32 handle, u32 *holder)
{
	struct neuron_series *series = NULL;
	struct neuron_series_handle *found;

	xa_lock(&nfile->series);
	found = xa_load(&nfile->series, handle);
	if (found) {
		series = found->series;
		kref_get(&series->ref);
		*holder = found->holder;
	}
	xa_unlock(&nfile->series);
	if (series || handle <= READ_ONCE(nfile->last_series))
		return series;
	drm_dbg(&nfile->ndev->drm, "no series %u in this file\n", handle);
	return ERR_PTR(-ENOENT);
}

void neuron_series_open(struct neuron_file *nfile)
{
	xa_init_flags(&nfile->series, XA_FLAGS_ACCOUNT);
	mutex_init(&nfile->series_lock);
}

void neuron_series_close(struct neuron_file *nfile)
{
	struct neuron_series_handle *handle;
	unsigned long index;

	xa_for_each(&nfile->series, index, handle) {
		neuron_series_handle_free(handle);
		cond_resched();
	}
	xa_destroy(&nfile->series);
	mutex_destroy(&nfile->series_lock);
}

static void neuron_series_leave_all(struct neuron_file *nfile)
{
	struct neuron_series_handle *handle;
	unsigned long index;

	mutex_lock(&nfile->series_lock);
	nfile->series_end = true;
	xa_for_each(&nfile->series, index, handle) {
		neuron_series_handle_leave(handle);
		cond_resched();
	}
	mutex_unlock(&nfile->series_lock);
}

void neuron_series_end(struct neuron_device *ndev)
{
	struct drm_file *file;

	mutex_lock(&ndev->drm.filelist_mutex);
	list_for_each_entry(file, &ndev->drm.filelist, lhead)
		neuron_series_leave_all(file->driver_priv);
	mutex_unlock(&ndev->drm.filelist_mutex);
}

/*
 * No handle comes twice: a thread may still be about to submit by one that another thread closes.
 * Without memory the next number stays unused.
 */
static int neuron_series_handle_add(struct neuron_file *nfile,
				    struct neuron_series_handle *handle, u32 *index)
{
	int ret = -ENOSPC;

	mutex_lock(&nfile->series_lock);
	if (nfile->series_end) {
		ret = -ENODEV;
	} else if (nfile->nr_series < DRM_NEURON_SERIES_HANDLES && nfile->last_series < INT_MAX) {
		*index = nfile->last_series + 1;
		ret = xa_insert(&nfile->series, *index, handle, GFP_KERNEL_ACCOUNT);
	}
	if (!ret) {
		nfile->nr_series++;
		WRITE_ONCE(nfile->last_series, *index);
	}
	mutex_unlock(&nfile->series_lock);
	return ret;
}

static struct neuron_series_handle *neuron_series_handle_take(struct neuron_file *nfile, u32 index)
{
	struct neuron_series_handle *handle;

	mutex_lock(&nfile->series_lock);
	handle = xa_erase(&nfile->series, index);
	if (handle)
		nfile->nr_series--;
	mutex_unlock(&nfile->series_lock);
	return handle;
}

/* The call has a reference of @series, which goes to the handle. */
static int neuron_series_hold_new(struct neuron_file *nfile, struct neuron_series *series,
				  u32 *index)
{
	struct neuron_series_handle *handle;
	unsigned long flags;
	int ret;

	handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	if (!handle)
		return -ENOMEM;
	handle->series = series;
	spin_lock_irqsave(&series->lock, flags);
	handle->holder = neuron_series_hold(&series->state);
	spin_unlock_irqrestore(&series->lock, flags);
	ret = neuron_series_handle_add(nfile, handle, index);
	if (ret)
		kfree(handle);
	return ret;
}

/* Descriptors. */

static int neuron_series_fop_release(struct inode *inode, struct file *filp)
{
	neuron_series_put(filp->private_data);
	return 0;
}

static const struct file_operations neuron_series_fops = {
	.owner = THIS_MODULE,
	.release = neuron_series_fop_release,
	.llseek = noop_llseek,
};

/* The series behind a file descriptor, referenced, or NULL. */
static struct neuron_series *neuron_series_from_fd(int fd)
{
	struct neuron_series *series = NULL;
	struct file *filp = fget(fd);

	if (!filp)
		return NULL;
	if (filp->f_op == &neuron_series_fops) {
		series = filp->private_data;
		kref_get(&series->ref);
	}
	fput(filp);
	return series;
}

static u64 neuron_series_bus(struct neuron_device *ndev)
{
	return (u64)pci_domain_nr(ndev->pdev->bus) << 16 | pci_dev_id(ndev->pdev);
}

static struct neuron_series *neuron_series_create(struct neuron_device *ndev, u32 members)
{
	struct neuron_series_member *member;
	struct neuron_series *series;

	series = kzalloc(sizeof(*series), GFP_KERNEL_ACCOUNT);
	member = kvcalloc(members, sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!series || !member) {
		kvfree(member);
		kfree(series);
		return NULL;
	}
	kref_init(&series->ref);
	spin_lock_init(&series->lock);
	neuron_series_begin(&series->state, members, member, get_random_u64());
	series->fabric_key = ndev->fabric_key;
	series->bus = neuron_series_bus(ndev);
	return series;
}

/* The driver may have left a device since and come back, so the device itself says nothing. */
static bool neuron_series_reaches(const struct neuron_series *series, struct neuron_device *ndev)
{
	if (series->fabric_key != ndev->fabric_key)
		return false;
	return series->fabric_key || series->bus == neuron_series_bus(ndev);
}

static int neuron_series_possible(struct neuron_device *ndev)
{
	if (ndev->has_groups)
		return 0;
	drm_dbg(&ndev->drm, "series: the device has no time groups\n");
	return -EOPNOTSUPP;
}

/**
 * neuron_ioctl_series() - SERIES: make a series of time groups
 * @drm: device
 * @data: &struct drm_neuron_series
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_series(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct drm_neuron_series *args = data;
	struct neuron_series *series;
	int ret;

	if (args->flags || args->pad || !args->members ||
	    args->members > DRM_NEURON_SERIES_MEMBERS) {
		drm_dbg(drm, "series: %u members flags %#x pad %u: 1 to %u members, the others zero\n",
			args->members, args->flags, args->pad, DRM_NEURON_SERIES_MEMBERS);
		return -EINVAL;
	}
	ret = neuron_series_possible(ndev);
	if (ret)
		return ret;
	series = neuron_series_create(ndev, args->members);
	if (!series)
		return -ENOMEM;
	ret = anon_inode_getfd("[neuron-series]", &neuron_series_fops, series, O_RDWR | O_CLOEXEC);
	if (ret < 0) {
		neuron_series_put(series);
		return ret;
	}
	args->fd = ret;
	return 0;
}

/**
 * neuron_ioctl_series_import() - SERIES_IMPORT: give a series a handle in the file
 * @drm: device
 * @data: &struct drm_neuron_series_import
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_series_import(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct drm_neuron_series_import *args = data;
	struct neuron_series *series;
	int ret;

	series = neuron_series_from_fd(args->fd);
	if (!series) {
		drm_dbg(drm, "series import: file descriptor %d is not a series\n", args->fd);
		return -EBADF;
	}
	ret = neuron_series_possible(ndev);
	if (!ret && !neuron_series_reaches(series, ndev)) {
		drm_dbg(drm, "series import: it is of another fabric\n");
		ret = -EOPNOTSUPP;
	}
	if (!ret)
		ret = neuron_series_hold_new(file->driver_priv, series, &args->handle);
	if (ret)
		neuron_series_put(series);
	return ret;
}

/**
 * neuron_ioctl_series_close() - SERIES_CLOSE: give up an imported series
 * @drm: device
 * @data: &struct drm_neuron_series_close
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_series_close(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_neuron_series_close *args = data;
	struct neuron_series_handle *handle;

	if (args->pad) {
		drm_dbg(drm, "series close: non-zero pad\n");
		return -EINVAL;
	}
	handle = neuron_series_handle_take(file->driver_priv, args->handle);
	if (!handle) {
		drm_dbg(drm, "series close: no series %u in this file\n", args->handle);
		return -ENOENT;
	}
	neuron_series_handle_free(handle);
	return 0;
}
