// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: taking cores, giving them back.
 */
#include <linux/bitmap.h>
#include <linux/dma-fence.h>
#include <linux/log2.h>
#include <linux/nospec.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_device.h"
#include "neuron_fence.h"
#include "neuron_ioctl.h"
#include "neuron_table.h"
#include "neuron_trace.h"

/* How long a release waits until its jobs and window tables are freed. */
#define NEURON_KILL_WAIT_MS	1000

/* The last dump, and room for the next one. The caller holds no lock of the claim. */
static void neuron_claim_forget_dump(struct neuron_claim_core *cc)
{
	struct neuron_kept_dump *dump;

	mutex_lock(&cc->lock);
	dump = cc->dump;
	cc->dump = NULL;
	mutex_unlock(&cc->lock);
	neuron_kept_dump_put(dump);
	vfree(xchg(&cc->dump_memory, NULL));
}

static void neuron_claim_release(struct kref *ref)
{
	struct neuron_claim *claim = container_of(ref, struct neuron_claim,
						  ref);
	struct drm_device *drm = &claim->ndev->drm;
	unsigned int i;

	for (i = 0; i < NEURON_MAX_UNITS; i++) {
		if (!claim->core[i])
			continue;
		neuron_results_fini(&claim->core[i]->results);
		neuron_claim_forget_dump(claim->core[i]);
		mutex_destroy(&claim->core[i]->lock);
		kfree(claim->core[i]);
	}
	mutex_destroy(&claim->gang_lock);
	mutex_destroy(&claim->lock);
	neuron_budget_fini(&claim->budget);
	put_pid(claim->owner);
	kfree(claim);
	drm_dev_put(drm);
}

void neuron_claim_put(struct neuron_claim *claim)
{
	kref_put(&claim->ref, neuron_claim_release);
}

void neuron_claim_live_get(struct neuron_claim *claim)
{
	neuron_claim_get(claim);
	atomic_inc(&claim->nr_live);
	atomic_inc(&claim->ndev->nr_live);
}

void neuron_claim_live_put(struct neuron_claim *claim)
{
	struct neuron_device *ndev = claim->ndev;
	bool last;

	/* The claim may hold the device's last reference. */
	drm_dev_get(&ndev->drm);
	last = atomic_dec_and_test(&claim->nr_live);
	neuron_claim_put(claim);
	if (atomic_dec_and_test(&ndev->nr_live) || last)
		wake_up_all(&ndev->live_wait);
	drm_dev_put(&ndev->drm);
}

/* Core dumps shall have what is in SBUF and PSUM. A CC-core has no memories. */
static int neuron_claim_prepare_dump(struct neuron_claim_core *cc,
				     const struct neuron_claim *claim,
				     const struct neuron_core *core)
{
	cc->wants_memory = claim->flags & DRM_NEURON_CLAIM_DUMP_MEMORY &&
			   !neuron_core_is_cc(core);
	if (!cc->wants_memory)
		return 0;
	cc->dump_memory = neuron_core_memory_create(GFP_KERNEL_ACCOUNT);
	return cc->dump_memory ? 0 : -ENOMEM;
}

static struct neuron_claim_core *
neuron_claim_core_create(struct neuron_claim *claim, struct neuron_core *core)
{
	struct drm_gpu_scheduler *sched = &core->sched->base;
	struct neuron_claim_core *cc;
	int ret;

	cc = kzalloc(sizeof(*cc), GFP_KERNEL_ACCOUNT);
	if (!cc)
		return ERR_PTR(-ENOMEM);
	ret = neuron_claim_prepare_dump(cc, claim, core);
	if (ret)
		goto err_free;
	ret = drm_sched_entity_init(&cc->entity, DRM_SCHED_PRIORITY_NORMAL,
				    &sched, 1, NULL);
	if (ret)
		goto err_memory;
	cc->claim = claim;
	cc->core = core;
	mutex_init(&cc->lock);
	spin_lock_init(&cc->note_lock);
	neuron_results_init(&cc->results);
	return cc;

err_memory:
	vfree(cc->dump_memory);
err_free:
	kfree(cc);
	return ERR_PTR(ret);
}

/* The free cores that @args asks for, under the claim lock; 0: busy. */
static u32 neuron_claim_choose(struct neuron_device *ndev,
			       const struct drm_neuron_claim *args)
{
	unsigned int nr = ndev->gen->nr_cores;
	unsigned long busy = 0;
	unsigned long first;
	unsigned int i;

	lockdep_assert_held(&ndev->claim_lock);
	for (i = 0; i < nr; i++)
		if (ndev->core[i].claim)
			__set_bit(i, &busy);
	if (args->cores)
		return args->cores & busy ? 0 : args->cores;
	first = bitmap_find_next_zero_area(&busy, nr, 0, args->count,
					   args->align ? args->align - 1 : 0);
	return first >= nr ? 0 : GENMASK(first + args->count - 1, first);
}

static int neuron_claim_take(struct neuron_claim *claim,
			     const struct drm_neuron_claim *args)
{
	struct neuron_device *ndev = claim->ndev;
	unsigned int i;

	mutex_lock(&ndev->claim_lock);
	/* If the device leaves after this, neuron_claims_end() finds the claim. */
	if (neuron_hw_leaves(ndev)) {
		mutex_unlock(&ndev->claim_lock);
		return -ENODEV;
	}
	claim->mask = neuron_claim_choose(ndev, args);
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		if (!(claim->mask & BIT(i)))
			continue;
		ndev->core[i].claim = claim;
		ndev->core[i].owner_pid = get_pid(task_tgid(current));
	}
	mutex_unlock(&ndev->claim_lock);
	return claim->mask ? 0 : -EBUSY;
}

/* The core has, or has lost, its owner. */
static void neuron_claim_renew_status(struct neuron_status *status)
{
	unsigned int i;

	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++)
		atomic64_set(&status->present[i], 0);
}

static void neuron_claim_give_back(struct neuron_claim *claim)
{
	struct neuron_device *ndev = claim->ndev;
	unsigned int i;

	mutex_lock(&ndev->claim_lock);
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		if (ndev->core[i].claim != claim)
			continue;
		neuron_claim_renew_status(&ndev->core[i].status);
		ndev->core[i].claim = NULL;
		put_pid(ndev->core[i].owner_pid);
		ndev->core[i].owner_pid = NULL;
	}
	mutex_unlock(&ndev->claim_lock);
}

/* Scrub a core and give it its queue. */
static int neuron_claim_equip_core(struct neuron_claim *claim,
				   struct neuron_core *core)
{
	struct neuron_claim_core *cc;
	int ret;

	ret = neuron_core_renew(core);
	if (ret)
		return ret;
	cc = neuron_claim_core_create(claim, core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	cc->generation = core->generation;
	neuron_claim_renew_status(&core->status);
	/* debugfs and other ioctls may look already. */
	smp_store_release(&claim->core[core->index], cc);
	return 0;
}

/* When the device leaves, neuron_claims_end() kills the claim before this, or waits for it. */
static int neuron_claim_equip(struct neuron_claim *claim)
{
	struct neuron_device *ndev = claim->ndev;
	unsigned int i;
	int ret;

	mutex_lock(&claim->lock);
	ret = claim->dead ? -ENODEV : 0;
	for (i = 0; !ret && i < ndev->gen->nr_cores; i++)
		if (claim->mask & BIT(i))
			ret = neuron_claim_equip_core(claim, &ndev->core[i]);
	mutex_unlock(&claim->lock);
	return ret;
}

/*
 * No job of the core starts any more, and the one on the hardware was aborted. The queue
 * drains: the turn of each job comes, and the job ends with -ESRCH.
 */
static void neuron_claim_drain(struct neuron_claim_core *cc)
{
	/* Open the gates: what a job depends on may never come. */
	cc->claim->ndev->job_ops->release(cc, U64_MAX);
	wait_event(cc->claim->ndev->live_wait, neuron_results_all_ended(&cc->results));
	drm_sched_entity_destroy(&cc->entity);
}

static void neuron_claim_kill_core(struct neuron_claim_core *cc)
{
	struct neuron_table *table;

	mutex_lock(&cc->lock);
	WRITE_ONCE(cc->dead, true);
	table = cc->table;
	cc->table = NULL;
	mutex_unlock(&cc->lock);

	neuron_core_renew(cc->core);
	neuron_claim_drain(cc);
	cc->claim->ndev->job_ops->leave(cc);
	if (neuron_core_is_cc(cc->core))
		WRITE_ONCE(cc->core->listens, false);
	neuron_claim_forget_dump(cc);
	wake_up_all(&cc->core->ndev->grant_wait);
	if (table)
		neuron_table_put(table);
}

/* CC-cores first: their jobs may work with the memories of the cores. */
static void neuron_claim_kill_cores(struct neuron_claim *claim)
{
	unsigned int i = NEURON_MAX_UNITS;

	while (i--)
		if (claim->core[i])
			neuron_claim_kill_core(claim->core[i]);
}

/* Take the cores back. Idempotent; done on return. */
static void neuron_claim_kill(struct neuron_claim *claim)
{
	mutex_lock(&claim->lock);
	if (!claim->dead) {
		claim->dead = true;
		neuron_claim_kill_cores(claim);
		/*
		 * So that buffers are free when the release returns. Only
		 * another thread in the middle of a submission takes longer.
		 */
		wait_event_timeout(claim->ndev->live_wait,
				   !atomic_read(&claim->nr_live),
				   msecs_to_jiffies(NEURON_KILL_WAIT_MS));
		neuron_claim_give_back(claim);
		trace_neuron_release(claim->ndev, claim->id, claim->mask);
	}
	mutex_unlock(&claim->lock);
}

static struct neuron_claim *
neuron_claim_create(struct neuron_device *ndev, struct drm_file *file,
		    const struct drm_neuron_claim *args, u32 epoch)
{
	struct neuron_claim *claim;

	claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	if (!claim)
		return NULL;
	if (neuron_budget_init(&claim->budget, ndev)) {
		kfree(claim);
		return NULL;
	}
	kref_init(&claim->ref);
	mutex_init(&claim->lock);
	mutex_init(&claim->gang_lock);
	claim->ndev = ndev;
	claim->epoch = epoch;
	claim->client = file->client_id;
	claim->owner = get_pid(task_tgid(current));
	claim->flags = args->flags;
	drm_dev_get(&ndev->drm);
	return claim;
}

static int neuron_claim_args_check(struct neuron_device *ndev,
				   const struct drm_neuron_claim *args)
{
	unsigned int nr = ndev->gen->nr_cores;

	if (args->flags & ~DRM_NEURON_CLAIM_DUMP_MEMORY ||
	    !args->cores == !args->count || args->cores >> nr || args->count > nr) {
		drm_dbg(&ndev->drm, "claim: cores %#llx count %u flags %#x: one of cores and count, of %u cores\n",
			args->cores, args->count, args->flags, nr);
		return -EINVAL;
	}
	if (args->align && (args->cores || args->align > nr ||
			    !is_power_of_2(args->align))) {
		drm_dbg(&ndev->drm, "claim: align %u: a power of two up to %u, with a count\n",
			args->align, nr);
		return -EINVAL;
	}
	return 0;
}

/**
 * neuron_ioctl_claim() - CLAIM: take cores, all or none
 * @drm: device
 * @data: &struct drm_neuron_claim
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_claim(struct drm_device *drm, void *data,
		       struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct neuron_file *nfile = file->driver_priv;
	struct drm_neuron_claim *args = data;
	struct neuron_claim *claim;
	u32 epoch;
	int ret;

	ret = neuron_claim_args_check(ndev, args);
	if (ret)
		return ret;
	ret = neuron_hw_wait_epoch(ndev, &epoch);
	if (ret)
		return ret;
	claim = neuron_claim_create(ndev, file, args, epoch);
	if (!claim)
		return -ENOMEM;

	ret = neuron_claim_take(claim, args);
	if (ret)
		goto out_put;
	ret = neuron_claim_equip(claim);
	if (ret)
		goto out_kill;
	/*
	 * Published with the claim ready: others may guess the id. They may release it at once, so
	 * the file's reference is not enough here.
	 */
	neuron_claim_get(claim);
	ret = xa_alloc(&nfile->claims, &claim->id, claim,
		       XA_LIMIT(1, INT_MAX), GFP_KERNEL);
	if (!ret) {
		trace_neuron_claim(ndev, claim->id, claim->mask);
		args->claim = claim->id;
		args->granted = claim->mask;
	}
	neuron_claim_put(claim);
	if (ret)
		goto out_kill;
	return 0;

out_kill:
	neuron_claim_kill(claim);
out_put:
	neuron_claim_put(claim);
	return ret;
}

/* With what the running job has had so far: it may run for long. */
static u64 neuron_claim_core_busy_ns(struct neuron_claim_core *cc)
{
	struct neuron_core *core = cc->core;
	unsigned long flags;
	u64 busy;

	spin_lock_irqsave(&core->lock, flags);
	busy = cc->busy_ns;
	if (core->active && core->active_cc == cc)
		busy += ktime_get_ns() - core->started_ns;
	spin_unlock_irqrestore(&core->lock, flags);
	return busy;
}

static u64 neuron_claim_busy_ns(struct neuron_claim *claim, unsigned int i)
{
	/* Pairs with the release in neuron_claim_equip_core(). */
	struct neuron_claim_core *cc = smp_load_acquire(&claim->core[i]);

	return cc ? neuron_claim_core_busy_ns(cc) : 0;
}

/* Take the claim out of its file: one caller gets it. */
static struct neuron_claim *neuron_claim_withdraw(struct neuron_file *nfile,
						  unsigned long id)
{
	struct neuron_claim *claim;
	unsigned int i;

	xa_lock(&nfile->claims);
	claim = __xa_erase(&nfile->claims, id);
	for (i = 0; claim && i < NEURON_MAX_UNITS; i++)
		nfile->busy_ns[i] += neuron_claim_busy_ns(claim, i);
	xa_unlock(&nfile->claims);
	return claim;
}

/*
 * The file has the claim no longer. Others may hold it by a grant for long, so the results
 * that nobody can ask for any more leave the user's account now.
 */
static void neuron_claim_finish(struct neuron_claim *claim)
{
	unsigned int i;

	neuron_claim_kill(claim);
	for (i = 0; i < NEURON_MAX_UNITS; i++)
		if (claim->core[i])
			neuron_results_forget(&claim->core[i]->results);
	neuron_claim_put(claim);
}

/**
 * neuron_ioctl_release() - RELEASE: give a claim back
 * @drm: device
 * @data: &struct drm_neuron_release
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_release(struct drm_device *drm, void *data,
			 struct drm_file *file)
{
	struct drm_neuron_release *args = data;
	struct neuron_claim *claim;

	if (args->pad)
		return -EINVAL;
	claim = neuron_claim_withdraw(file->driver_priv, args->claim);
	if (!claim) {
		drm_dbg(drm, "release: no claim %u in this file\n",
			args->claim);
		return -ENOENT;
	}
	neuron_claim_finish(claim);
	return 0;
}

void neuron_claims_open(struct neuron_file *nfile)
{
	xa_init_flags(&nfile->claims, XA_FLAGS_ALLOC1);
}

void neuron_claims_close(struct neuron_file *nfile)
{
	struct neuron_claim *claim;
	unsigned long id;

	xa_for_each(&nfile->claims, id, claim) {
		neuron_claim_withdraw(nfile, id);
		neuron_claim_finish(claim);
	}
	xa_destroy(&nfile->claims);
}

/* The owner of the core, whoever it is, loses it. */
static void neuron_claim_end(struct neuron_core *core)
{
	struct neuron_device *ndev = core->ndev;
	struct neuron_claim *claim;

	mutex_lock(&ndev->claim_lock);
	claim = core->claim;
	if (claim)
		neuron_claim_get(claim);
	mutex_unlock(&ndev->claim_lock);
	if (!claim)
		return;
	neuron_claim_kill(claim);
	neuron_claim_put(claim);
}

int neuron_claims_init(struct neuron_device *ndev)
{
	atomic_set(&ndev->nr_live, 0);
	init_waitqueue_head(&ndev->live_wait);
	init_waitqueue_head(&ndev->grant_wait);
	ndev->free_wq = alloc_workqueue("neuron-free", WQ_UNBOUND, 0);
	return ndev->free_wq ? 0 : -ENOMEM;
}

void neuron_claims_end(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		neuron_claim_end(&ndev->core[i]);
	wait_event(ndev->live_wait, !atomic_read(&ndev->nr_live));
}

void neuron_claims_fini(struct neuron_device *ndev)
{
	destroy_workqueue(ndev->free_wq);
}

static struct neuron_claim *neuron_claim_find(struct neuron_file *nfile, u32 id)
{
	struct neuron_claim *claim;

	xa_lock(&nfile->claims);
	claim = xa_load(&nfile->claims, id);
	if (claim)
		neuron_claim_get(claim);
	xa_unlock(&nfile->claims);
	if (!claim)
		drm_dbg(&nfile->ndev->drm, "no claim %u in this file\n", id);
	return claim;
}

/* The core of that number, if the claim has it. */
static struct neuron_core *neuron_claim_own(struct neuron_claim *claim, u32 number)
{
	struct neuron_device *ndev = claim->ndev;
	struct neuron_core *core = NULL;

	if (number < NEURON_MAX_UNITS)
		core = &ndev->core[array_index_nospec(number, NEURON_MAX_UNITS)];
	/* The generation may have fewer: then there is nothing at that place. */
	if (core && core->tpb && claim->mask & BIT(core->tpb->index))
		return core;
	drm_dbg(&ndev->drm, "core %u is not in claim %u (mask %#x)\n", number,
		claim->id, claim->mask);
	return NULL;
}

static int neuron_claim_add_cc(struct neuron_claim *claim, struct neuron_core *core)
{
	int ret = 0;

	mutex_lock(&claim->lock);
	if (claim->dead)
		ret = -ENOENT;
	else if (!claim->core[core->index])
		ret = neuron_claim_equip_core(claim, core);
	mutex_unlock(&claim->lock);
	return ret;
}

struct neuron_claim_core *
neuron_claim_core_use(struct neuron_claim *claim, u32 number)
{
	struct neuron_core *core = neuron_claim_own(claim, number);
	struct neuron_claim_core *cc;
	int ret;

	if (!core)
		return ERR_PTR(-EINVAL);
	if (neuron_claim_is_lost(claim)) {
		drm_dbg(&claim->ndev->drm, "claim %u: lost in a device reset\n",
			claim->id);
		return ERR_PTR(neuron_hw_error(claim->ndev));
	}
	cc = neuron_claim_core_get(claim, core);
	if (cc)
		return cc;
	ret = neuron_claim_add_cc(claim, core);
	return ret ? ERR_PTR(ret) : neuron_claim_core_get(claim, core);
}

struct neuron_claim_core *
neuron_claim_core_used(struct neuron_claim *claim, u32 number)
{
	struct neuron_core *core = neuron_claim_own(claim, number);

	return core ? neuron_claim_core_get(claim, core) : NULL;
}

struct neuron_claim_core *
neuron_claim_core_find(struct drm_file *file, u32 id, u32 core)
{
	struct neuron_claim *claim = neuron_claim_find(file->driver_priv, id);
	struct neuron_claim_core *cc;

	if (!claim)
		return ERR_PTR(-ENOENT);
	cc = neuron_claim_core_use(claim, core);
	if (IS_ERR(cc))
		neuron_claim_put(claim);
	return cc;
}

struct neuron_claim_core *
neuron_claim_core_find_any(struct drm_file *file, u32 id, u32 number)
{
	struct neuron_claim *claim = neuron_claim_find(file->driver_priv, id);
	struct neuron_claim_core *cc = NULL;
	struct neuron_core *core;

	if (!claim)
		return ERR_PTR(-ENOENT);
	core = neuron_claim_own(claim, number);
	if (core)
		cc = neuron_claim_core_get(claim, core);
	if (cc)
		return cc;
	neuron_claim_put(claim);
	return ERR_PTR(core ? -ENOENT : -EINVAL);
}

void neuron_claims_fdinfo(struct neuron_file *nfile, struct drm_printer *p)
{
	struct neuron_device *ndev = nfile->ndev;
	u64 busy[NEURON_MAX_UNITS];
	struct neuron_claim *claim;
	unsigned long id;
	unsigned int i;

	xa_lock(&nfile->claims);
	memcpy(busy, nfile->busy_ns, sizeof(busy));
	xa_for_each(&nfile->claims, id, claim)
		for (i = 0; i < NEURON_MAX_UNITS; i++)
			busy[i] += neuron_claim_busy_ns(claim, i);
	xa_unlock(&nfile->claims);
	for (i = 0; i < ndev->gen->nr_cores; i++)
		drm_printf(p, "drm-engine-core%u:\t%llu ns\n", i, busy[i]);
	for (i = 0; i < ndev->gen->nr_top_sp_ids; i++)
		drm_printf(p, "drm-engine-cc%u:\t%llu ns\n", i,
			   busy[NEURON_MAX_CORES + i]);
}
