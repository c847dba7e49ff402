// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: the state of the allocators, the copy queues and the cores, and what the hardware
 * shows: queues, semaphores, the windows of jobs.
 */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "neuron_account.h"
#include "neuron_claim.h"
#include "neuron_copy.h"
#include "neuron_debugfs.h"
#include "neuron_device.h"
#include "neuron_hbm.h"
#include "neuron_job.h"
#include "neuron_table.h"
#include "neuron_usage.h"

static struct neuron_device *neuron_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_neuron_device(entry->dev);
}

/* Wait until freed memory is scrubbed, so that all that is shown as used is in a buffer. */
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
		   pid_vnr(core->tpb->owner_pid), cc->claim->id, cc->generation);
	drm_printf(p, "active %llu jobs %llu faults %u hangs %u busy_ns %llu memory %lld\n",
		   active, jobs, faults, hangs, busy_ns,
		   (long long)atomic64_read(&cc->claim->budget.memory));
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

static int neuron_debugfs_accounts(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	neuron_accounts_print(neuron_debugfs_device(m), &p);
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
		   pid_vnr(pid), task ? task->comm : "-",
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

/* The hardware. */

/**
 * struct neuron_queue_regs - one side of a queue
 * @length: descriptors of the ring; 0: never set up, or reset
 * @head: position
 * @tail: descriptors given to it
 * @status: NEURON_UDMA_Q_STATUS
 */
struct neuron_queue_regs {
	u32 length;
	u32 head;
	u32 tail;
	u32 status;
};

static void neuron_queue_read(void __iomem *q, struct neuron_queue_regs *regs)
{
	regs->length = readl(q + NEURON_UDMA_Q_LENGTH);
	regs->head = readl(q + NEURON_UDMA_Q_HEAD) & NEURON_UDMA_Q_PTR;
	regs->tail = readl(q + NEURON_UDMA_Q_TAIL) & NEURON_UDMA_Q_PTR;
	regs->status = readl(q + NEURON_UDMA_Q_STATUS);
}

/* Rings that jobs may have; those of copies are the kernel's. */
static void neuron_queue_owner(struct neuron_device *ndev, unsigned int engine,
			       struct seq_file *m)
{
	struct neuron_core *core;

	if (engine >= ndev->gen->nr_ring) {
		seq_puts(m, "kernel");
		return;
	}
	core = &ndev->core[engine / (ndev->gen->nr_ring / ndev->gen->nr_cores)];
	mutex_lock(&ndev->claim_lock);
	seq_printf(m, "core%u pid %d", core->index, pid_vnr(core->owner_pid));
	mutex_unlock(&ndev->claim_lock);
}

static void neuron_queue_show(struct neuron_device *ndev, unsigned int engine,
			      unsigned int queue, struct seq_file *m)
{
	void __iomem *block = ndev->bar0 + neuron_dma_bar0(ndev->gen, engine);
	struct neuron_queue_regs m2s, s2m;

	neuron_queue_read(block + NEURON_UDMA_M2S_Q(queue), &m2s);
	neuron_queue_read(block + NEURON_UDMA_S2M_Q(queue), &s2m);
	if (!m2s.tail && !s2m.tail && !m2s.head && !s2m.head)
		return;
	seq_printf(m, "%u.%u m2s %u/%u of %u s2m %u/%u of %u %s ", engine,
		   queue, m2s.head, m2s.tail, m2s.length, s2m.head, s2m.tail,
		   s2m.length,
		   (m2s.status | s2m.status) & NEURON_UDMA_Q_STATUS_BUSY ?
		   "busy" : m2s.head != m2s.tail || s2m.head != s2m.tail ?
		   "waiting" : "idle");
	neuron_queue_owner(ndev, engine, m);
	seq_putc(m, '\n');
}

/* A device that sleeps has nothing to show, and says so. */
static int neuron_debugfs_regs_get(struct neuron_device *ndev, struct seq_file *m,
				   int *idx)
{
	int ret = neuron_regs_get_awake(ndev, idx);

	if (ret == -EAGAIN)
		seq_puts(m, "the device sleeps\n");
	return ret;
}

/* Those that have moved since they were last reset. */
static int neuron_debugfs_queues(struct seq_file *m, void *data)
{
	struct neuron_device *ndev = neuron_debugfs_device(m);
	unsigned int i, queue;
	int idx, ret;

	ret = neuron_debugfs_regs_get(ndev, m, &idx);
	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	seq_puts(m, "engine.queue head/tail of length, state, owner\n");
	for (i = 0; i < ndev->gen->nr_dma; i++)
		for (queue = 0; queue < NEURON_UDMA_QUEUES; queue++)
			neuron_queue_show(ndev, i, queue, m);
	neuron_regs_put_awake(ndev, idx);
	return 0;
}

static void neuron_semaphores_show(struct neuron_core *core, struct seq_file *m)
{
	void __iomem *sems = core->ndev->bar0 + core->sems_bar0;
	unsigned int i;
	s32 value;

	for (i = 0; i < NEURON_NR_SEMAPHORES; i++) {
		value = readl(sems + NEURON_SEM_READ(i));
		if (value)
			seq_printf(m, "%s: semaphore %u: %d\n", core->name, i,
				   value);
	}
	for (i = 0; i < NEURON_NR_EVENTS; i++)
		if (readl(sems + NEURON_SEM_EVENT(i)))
			seq_printf(m, "%s: event %u: 1\n", core->name, i);
}

static int neuron_debugfs_semaphores(struct seq_file *m, void *data)
{
	struct neuron_device *ndev = neuron_debugfs_device(m);
	unsigned int i;
	int idx, ret;

	ret = neuron_debugfs_regs_get(ndev, m, &idx);
	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		neuron_semaphores_show(neuron_unit(ndev, i), m);
	neuron_regs_put_awake(ndev, idx);
	return 0;
}

/* Nothing of the device is touched: the tables are the kernel's. */
static int neuron_debugfs_windows(struct seq_file *m, void *data)
{
	struct neuron_device *ndev = neuron_debugfs_device(m);
	struct drm_printer p = drm_seq_file_printer(m);
	struct neuron_core *core;
	struct neuron_job *job;
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		core = neuron_unit(ndev, i);
		job = neuron_job_active(core);
		if (!job)
			continue;
		seq_printf(m, "%s: job %llu\n", core->name, job->id);
		if (job->table)
			neuron_table_print(job->table, NEURON_MAX_WINDOWS, &p);
		neuron_job_put(job);
	}
	return 0;
}

static const struct drm_debugfs_info neuron_debugfs_hw_files[] = {
	{ "queues", neuron_debugfs_queues },
	{ "semaphores", neuron_debugfs_semaphores },
	{ "windows", neuron_debugfs_windows },
};

void neuron_debugfs_init(struct neuron_device *ndev)
{
	drm_debugfs_add_files(&ndev->drm, neuron_debugfs_hw_files,
			      ARRAY_SIZE(neuron_debugfs_hw_files));
	drm_debugfs_add_file(&ndev->drm, "files", neuron_debugfs_files, NULL);
	drm_debugfs_add_file(&ndev->drm, "hbm", neuron_debugfs_hbm, NULL);
	drm_debugfs_add_file(&ndev->drm, "usage", neuron_debugfs_usage, NULL);
	drm_debugfs_add_file(&ndev->drm, "copy", neuron_debugfs_copy, NULL);
	drm_debugfs_add_file(&ndev->drm, "claims", neuron_debugfs_claims, NULL);
	drm_debugfs_add_file(&ndev->drm, "accounts", neuron_debugfs_accounts, NULL);
}
