// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants: file descriptors that let a peer post semaphores or reach SBUF, and the handles
 * that a file gives to those of others.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron/address.h"
#include "neuron_claim.h"
#include "neuron_grant.h"
#include "neuron_ioctl.h"

static_assert(DRM_NEURON_GRANT_SBUF_READ == DRM_NEURON_WINDOW_READ);
static_assert(DRM_NEURON_GRANT_SBUF_WRITE == DRM_NEURON_WINDOW_WRITE);

/**
 * struct neuron_grant - behind the file descriptor and the handles
 * @ref: the descriptor's, and one for each handle
 * @cc: core; its claim is referenced, which keeps the memory, not the cores
 * @kind: of what
 * @first: first semaphore; byte of SBUF
 * @count: semaphores; bytes
 * @rights: SBUF: DRM_NEURON_WINDOW_READ, _WRITE
 */
struct neuron_grant {
	struct kref ref;
	struct neuron_claim_core *cc;
	enum neuron_grant_kind kind;
	u32 first;
	u32 count;
	u32 rights;
};

static void neuron_grant_release(struct kref *ref)
{
	struct neuron_grant *grant = container_of(ref, struct neuron_grant,
						  ref);

	neuron_claim_put(grant->cc->claim);
	kfree(grant);
}

static void neuron_grant_put(struct neuron_grant *grant)
{
	kref_put(&grant->ref, neuron_grant_release);
}

/* Its claim has ended, or the device was reset since. */
static bool neuron_grant_is_void(const struct neuron_grant *grant)
{
	return READ_ONCE(grant->cc->dead) ||
	       neuron_claim_is_lost(grant->cc->claim);
}

static int neuron_grant_fop_release(struct inode *inode, struct file *filp)
{
	neuron_grant_put(filp->private_data);
	return 0;
}

static __poll_t neuron_grant_fop_poll(struct file *filp, poll_table *wait)
{
	struct neuron_grant *grant = filp->private_data;

	poll_wait(filp, &grant->cc->core->ndev->grant_wait, wait);
	return neuron_grant_is_void(grant) ? EPOLLHUP : 0;
}

static const struct file_operations neuron_grant_fops = {
	.owner = THIS_MODULE,
	.release = neuron_grant_fop_release,
	.poll = neuron_grant_fop_poll,
	.llseek = noop_llseek,
};

static u64 neuron_grant_base(struct neuron_device *ndev,
			     const struct neuron_grant *grant)
{
	struct neuron_core *core = grant->cc->core;
	struct neuron_device *target = core->ndev;
	u64 addr = core->sems_addr;

	if (grant->kind == NEURON_GRANT_SBUF)
		addr = target->gen->tpb_addr[core->index] + NEURON_TPB_SBUF;
	return target == ndev ? addr :
	       neuron_fabric_addr(target->fabric_id, addr);
}

/* Under note_lock: the note of this process, or one that has none yet, or the next. */
static unsigned int neuron_grant_note_find(const struct neuron_claim_core *cc,
					   u32 first, u32 count, pid_t pid)
{
	const struct neuron_grant_note *note = cc->note;
	unsigned int i;

	lockdep_assert_held(&cc->note_lock);
	for (i = 0; i < cc->nr_notes; i++, note++)
		if (note->first == first && note->count == count &&
		    (note->pid == pid || !note->pid))
			break;
	return i;
}

/* @pid: of the caller; 0: semaphores are only given */
static void neuron_grant_note(struct neuron_claim_core *cc, u32 first,
			      u32 count, pid_t pid)
{
	struct neuron_grant_note note = {
		.first = first,
		.count = count,
		.pid = pid,
	};
	unsigned int i;

	if (pid > 0)
		get_task_comm(note.comm, current->group_leader);
	spin_lock(&cc->note_lock);
	i = neuron_grant_note_find(cc, first, count, pid);
	if (i < NEURON_GRANT_NOTES && (pid || i == cc->nr_notes)) {
		cc->note[i] = note;
		cc->nr_notes = max(cc->nr_notes, i + 1);
	}
	spin_unlock(&cc->note_lock);
}

/* The caller as the owner of @claim may see it: the owner reads core dumps (DUMP). */
static pid_t neuron_grant_user(const struct neuron_claim *claim)
{
	return task_tgid_nr_ns(current, ns_of_pid(claim->owner)) ?: NEURON_GRANT_ELSEWHERE;
}

/*
 * The caller makes a window of the grant. It does not take the lock of the claim that gave the
 * grant: if that claim ends at this moment, its generation is over, which the chip checks.
 */
static bool neuron_grant_use(const struct neuron_grant *grant)
{
	if (neuron_grant_is_void(grant))
		return false;
	if (grant->kind == NEURON_GRANT_SEM)
		neuron_grant_note(grant->cc, grant->first, grant->count,
				  neuron_grant_user(grant->cc->claim));
	return true;
}

static bool neuron_grant_note_get(struct neuron_claim_core *cc, unsigned int i,
				  struct neuron_grant_note *note)
{
	bool there;

	spin_lock(&cc->note_lock);
	there = i < cc->nr_notes;
	if (there)
		*note = cc->note[i];
	spin_unlock(&cc->note_lock);
	return there;
}

void neuron_grant_print(struct neuron_claim_core *cc, u32 sem,
			struct drm_printer *p)
{
	struct neuron_grant_note note;
	unsigned int i;

	for (i = 0; neuron_grant_note_get(cc, i, &note); i++) {
		if (sem < note.first || sem - note.first >= note.count)
			continue;
		drm_printf(p, "granted: semaphore %u to ", sem);
		if (note.pid > 0)
			drm_printf(p, "pid %d %s\n", note.pid, note.comm);
		else if (note.pid)
			drm_printf(p, "a process of another pid namespace\n");
		else
			drm_printf(p, "nobody who has a window of it\n");
	}
}

/* The grant behind a file descriptor, referenced, or NULL. */
static struct neuron_grant *neuron_grant_from_fd(int fd)
{
	struct neuron_grant *grant = NULL;
	struct file *filp = fget(fd);

	if (!filp)
		return NULL;
	if (filp->f_op == &neuron_grant_fops) {
		grant = filp->private_data;
		kref_get(&grant->ref);
	}
	fput(filp);
	return grant;
}

/* The grant that the file has imported as @handle, referenced, or NULL. */
static struct neuron_grant *neuron_grant_from_handle(struct neuron_file *nfile,
						     u32 handle)
{
	struct neuron_grant *grant;

	xa_lock(&nfile->grants);
	grant = xa_load(&nfile->grants, handle);
	if (grant)
		kref_get(&grant->ref);
	xa_unlock(&nfile->grants);
	return grant;
}

static int neuron_grant_reaches(struct neuron_device *ndev,
				const struct neuron_grant *grant)
{
	struct neuron_device *peer = grant->cc->core->ndev;

	if (peer == ndev || neuron_same_fabric(peer, ndev))
		return 0;
	drm_dbg(&ndev->drm, "grant: the fabric does not reach its chip\n");
	return -EOPNOTSUPP;
}

static int neuron_grant_target(struct neuron_device *ndev,
			       const struct neuron_grant *grant,
			       enum neuron_grant_kind kind,
			       struct neuron_grant_target *target)
{
	int ret;

	if (grant->kind != kind) {
		drm_dbg(&ndev->drm, "grant: it is of the other kind\n");
		return -EBADF;
	}
	if (!neuron_grant_use(grant)) {
		drm_dbg(&ndev->drm, "grant: its claim is over\n");
		return -EBADF;
	}
	ret = neuron_grant_reaches(ndev, grant);
	if (ret)
		return ret;
	target->base = neuron_grant_base(ndev, grant);
	target->generation = grant->cc->generation;
	target->first = grant->first;
	target->count = grant->count;
	target->rights = grant->rights;
	return 0;
}

int neuron_grant_lookup(struct neuron_device *ndev, struct drm_file *file,
			const struct drm_neuron_window *window,
			enum neuron_grant_kind kind,
			struct neuron_grant_target *target)
{
	struct neuron_grant *grant;
	int ret;

	grant = window->from == DRM_NEURON_FROM_GRANT_FD ?
			neuron_grant_from_fd(window->source) :
			neuron_grant_from_handle(file->driver_priv,
						 window->source);
	if (!grant) {
		drm_dbg(&ndev->drm, "window %u: %d is not a grant\n",
			window->index, window->source);
		return -EBADF;
	}
	ret = neuron_grant_target(ndev, grant, kind, target);
	neuron_grant_put(grant);
	return ret;
}

void neuron_grants_open(struct neuron_file *nfile)
{
	xa_init_flags(&nfile->grants, XA_FLAGS_ALLOC1);
}

void neuron_grants_close(struct neuron_file *nfile)
{
	struct neuron_grant *grant;
	unsigned long handle;

	xa_for_each(&nfile->grants, handle, grant) {
		neuron_grant_put(grant);
		cond_resched();
	}
	xa_destroy(&nfile->grants);
}

/**
 * neuron_ioctl_grant_import() - GRANT_IMPORT: give a grant a handle in the file
 * @drm: device
 * @data: &struct drm_neuron_grant_import
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_grant_import(struct drm_device *drm, void *data,
			      struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct neuron_file *nfile = file->driver_priv;
	struct drm_neuron_grant_import *args = data;
	struct neuron_grant *grant;
	int ret;

	grant = neuron_grant_from_fd(args->fd);
	if (!grant || neuron_grant_is_void(grant)) {
		drm_dbg(drm, "grant import: file descriptor %d is not a grant, or its claim is over\n",
			args->fd);
		ret = -EBADF;
		goto err_put;
	}
	ret = neuron_grant_reaches(ndev, grant);
	if (ret)
		goto err_put;
	ret = xa_alloc(&nfile->grants, &args->handle, grant,
		       XA_LIMIT(1, NEURON_GRANT_HANDLES), GFP_KERNEL_ACCOUNT);
	if (!ret)
		return 0;
	if (ret == -EBUSY)
		ret = -ENOSPC;
err_put:
	if (grant)
		neuron_grant_put(grant);
	return ret;
}

/**
 * neuron_ioctl_grant_close() - GRANT_CLOSE: give up an imported grant
 * @drm: device
 * @data: &struct drm_neuron_grant_close
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_grant_close(struct drm_device *drm, void *data,
			     struct drm_file *file)
{
	struct neuron_file *nfile = file->driver_priv;
	struct drm_neuron_grant_close *args = data;
	struct neuron_grant *grant;

	if (args->pad) {
		drm_dbg(drm, "grant close: non-zero pad\n");
		return -EINVAL;
	}
	grant = xa_erase(&nfile->grants, args->handle);
	if (!grant) {
		drm_dbg(drm, "grant close: no grant %u in this file\n",
			args->handle);
		return -ENOENT;
	}
	neuron_grant_put(grant);
	return 0;
}

/* Is [first, +count) there, in units that can be granted? */
static bool neuron_grant_range_valid(const struct drm_neuron_grant *args)
{
	u32 limit = NEURON_NR_SEMAPHORES;

	if (args->flags) {
		limit = NEURON_TPB_SBUF_SIZE;
		if (args->first % 4 || args->count % 4)
			return false;
	}
	return args->count && args->count <= limit &&
	       args->first <= limit - args->count;
}

static struct neuron_grant *neuron_grant_create(struct neuron_claim_core *cc,
						u32 flags)
{
	struct neuron_grant *grant;

	if (flags && neuron_core_is_cc(cc->core)) {
		drm_dbg(&cc->core->ndev->drm, "grant: %s has no SBUF\n",
			cc->core->name);
		return ERR_PTR(-EINVAL);
	}
	grant = kzalloc(sizeof(*grant), GFP_KERNEL_ACCOUNT);
	if (!grant)
		return ERR_PTR(-ENOMEM);
	kref_init(&grant->ref);
	grant->cc = cc;
	grant->kind = flags ? NEURON_GRANT_SBUF : NEURON_GRANT_SEM;
	return grant;
}

/**
 * neuron_ioctl_grant() - GRANT: let others post semaphores of a core, or reach its SBUF
 * @drm: device
 * @data: &struct drm_neuron_grant
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_grant(struct drm_device *drm, void *data,
		       struct drm_file *file)
{
	struct drm_neuron_grant *args = data;
	struct neuron_claim_core *cc;
	struct neuron_grant *grant;
	int fd;

	if (args->flags & ~(DRM_NEURON_GRANT_SBUF_READ |
			    DRM_NEURON_GRANT_SBUF_WRITE) ||
	    !neuron_grant_range_valid(args)) {
		drm_dbg(drm, "grant: first %u count %u flags %#x: outside, or not aligned\n",
			args->first, args->count, args->flags);
		return -EINVAL;
	}
	cc = neuron_claim_core_find(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);

	grant = neuron_grant_create(cc, args->flags);
	if (IS_ERR(grant)) {
		neuron_claim_put(cc->claim);
		return PTR_ERR(grant);
	}
	grant->first = args->first;
	grant->count = args->count;
	grant->rights = args->flags;
	/* Before the descriptor: another thread may close it, which may free grant and core. */
	if (grant->kind == NEURON_GRANT_SEM)
		neuron_grant_note(cc, args->first, args->count, 0);
	fd = anon_inode_getfd("[neuron-grant]", &neuron_grant_fops, grant,
			      O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		kfree(grant);
		neuron_claim_put(cc->claim);
		return fd;
	}
	args->fd = fd;
	return 0;
}
