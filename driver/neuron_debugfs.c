// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: the state of the allocators, the copy queues and the cores.
 */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "neuron_claim.h"
#include "neuron_debugfs.h"
#include "neuron_device.h"
#include "neuron_hbm.h"
#include "neuron_job.h"
#include "neuron_usage.h"

struct neuron_device *neuron_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_neuron_device(entry->dev);
}

/* Freed memory is scrubbed first: what is used then, somebody holds. */
static int neuron_debugfs_hbm(struct seq_file *m, void *data)
{
	struct neuron_device *ndev = neuron_debugfs_device(m);
	struct neuron_hbm_stats stats;
	unsigned int i;
	int ret;

	ret = neuron_hbm_flush(ndev);
	if (ret)
		return ret;
	seq_puts(m, "stack size usable used scrubbing lost\n");
	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		neuron_hbm_get_stats(ndev, i, &stats);
		seq_printf(m, "%u %llu %llu %llu %llu %llu\n", i, stats.size,
			   stats.usable, stats.used, stats.scrubbing,
			   stats.lost);
	}
	return 0;
}

static int neuron_debugfs_usage(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	neuron_usage_print(neuron_debugfs_device(m), &p);
	return 0;
}

static int neuron_debugfs_copy(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	neuron_copy_debugfs(neuron_debugfs_device(m), &p);
	return 0;
}

static void neuron_debugfs_claim_core(struct neuron_claim_core *cc,
				      struct drm_printer *p)
{
	struct neuron_core *core = cc->core;
	u64 active = 0, jobs, busy_ns;
	u32 faults, hangs;

	spin_lock_irq(&core->lock);
	if (core->active)
		active = core->active->id;
	jobs = cc->jobs;
	busy_ns = cc->busy_ns;
	faults = cc->faults;
	hangs = cc->hangs;
	spin_unlock_irq(&core->lock);

	drm_printf(p, "%s: pid %d claim %u generation %u ", core->name,
		   pid_nr(core->tpb->owner_pid), cc->claim->id, cc->generation);
	drm_printf(p, "active %llu jobs %llu faults %u hangs %u busy_ns %llu\n",
		   active, jobs, faults, hangs, busy_ns);
}

static void neuron_debugfs_core(struct neuron_core *core, struct drm_printer *p)
{
	struct neuron_claim *claim = core->tpb->claim;
	struct neuron_claim_core *cc = NULL;

	if (claim)
		cc = neuron_claim_core_get(claim, core);
	if (cc)
		neuron_debugfs_claim_core(cc, p);
	else if (!neuron_core_is_cc(core))
		drm_printf(p, "%s: %s\n", core->name,
			   claim ? "being claimed" : "free");
}

static int neuron_debugfs_claims(struct seq_file *m, void *data)
{
	struct neuron_device *ndev = neuron_debugfs_device(m);
	struct drm_printer p = drm_seq_file_printer(m);
	unsigned int i;

	drm_printf(&p, "jobs and window tables: %d\n",
		   atomic_read(&ndev->nr_live));
	drm_printf(&p, "transfers: %d\n", atomic_read(&ndev->nr_transfers));
	mutex_lock(&ndev->claim_lock);
	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		neuron_debugfs_core(neuron_unit(ndev, i), &p);
	mutex_unlock(&ndev->claim_lock);
	return 0;
}

static u32 neuron_file_cores(struct neuron_file *nfile)
{
	struct neuron_claim *claim;
	unsigned long id;
	u32 cores = 0;

	xa_lock(&nfile->claims);
	xa_for_each(&nfile->claims, id, claim)
		cores |= claim->mask;
	xa_unlock(&nfile->claims);
	return cores;
}

static void neuron_file_show(struct drm_file *file, struct seq_file *m)
{
	unsigned int buffers = 0;
	struct drm_gem_object *obj;
	struct task_struct *task;
	struct pid *pid;
	u64 bytes = 0;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		buffers++;
		bytes += obj->size;
	}
	spin_unlock(&file->table_lock);

	rcu_read_lock();
	pid = rcu_dereference(file->pid);
	task = pid_task(pid, PIDTYPE_TGID);
	seq_printf(m, "pid %d comm %s cores %#x buffers %u bytes %llu\n",
		   pid_nr(pid), task ? task->comm : "-",
		   neuron_file_cores(file->driver_priv), buffers, bytes);
	rcu_read_unlock();
}

/* "clients" is DRM's name. */
static int neuron_debugfs_files(struct seq_file *m, void *data)
{
	struct drm_device *drm = &neuron_debugfs_device(m)->drm;
	struct drm_file *file;

	mutex_lock(&drm->filelist_mutex);
	list_for_each_entry(file, &drm->filelist, lhead)
		neuron_file_show(file, m);
	mutex_unlock(&drm->filelist_mutex);
	return 0;
}

void neuron_debugfs_init(struct neuron_device *ndev)
{
	neuron_debugfs_hw_init(ndev);
	drm_debugfs_add_file(&ndev->drm, "files", neuron_debugfs_files, NULL);
	drm_debugfs_add_file(&ndev->drm, "hbm", neuron_debugfs_hbm, NULL);
	drm_debugfs_add_file(&ndev->drm, "usage", neuron_debugfs_usage, NULL);
	drm_debugfs_add_file(&ndev->drm, "copy", neuron_debugfs_copy, NULL);
	drm_debugfs_add_file(&ndev->drm, "claims", neuron_debugfs_claims, NULL);
}
