/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Claims: exclusive ownership of some cores by an open file.
 */
#ifndef _NEURON_CLAIM_H_
#define _NEURON_CLAIM_H_

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/xarray.h>
#include <drm/gpu_scheduler.h>

#include "neuron_account.h"
#include "neuron_device.h"
#include "neuron_ioctl.h"
#include "neuron_result.h"

struct drm_file;
struct neuron_core_memory;
struct neuron_table;

/**
 * DOC: Life and locks of claims
 *
 * A claim lives in the xarray of its file and is counted: jobs, window tables
 * and grants hold it too, so that its memory outlives the file. What it *owns*,
 * the cores, it owns until neuron_claim_kill(): by the RELEASE ioctl, by the
 * end of the file, or by the end of the device. Killing stops submission and the
 * start of jobs, aborts the running one by a core reset (which also scrubs the core)
 * and moves the core on to the next generation, so that posts of peers who still hold
 * a grant are dropped. Then it waits until the queue has drained: no queued job waits
 * for a fence any more, the turn of each comes, and it ends at once.
 *
 * The driver waits for that by itself. drm_sched_entity_destroy() waits as well, but not
 * when the process was killed, and then drm_sched_entity_fini() takes the jobs away. That
 * is not safe in 6.12: when the scheduler has just taken a job of an entity that has more
 * of them, it puts the entity back among the others, even if that has been removed
 * meanwhile, and later finds a freed entity there. An empty queue is safe. Earlier versions
 * stopped the scheduler meanwhile, which other claims of the scheduler need not suffer.
 *
 * Locks, outer ones first:
 *
 * ========================= ================================================
 * neuron_claim.lock         a claim is equipped, then killed once; no CC-core is added to it
 *                           then
 * neuron_claim.gang_lock    held by who takes the next one of several cores: the order of
 *                           gangs
 * neuron_claim_core.lock    @dead, @dump, @table and what it points to, the order of
 *                           job ids and of submission. User memory is not
 *                           touched, and no reset waited for, under it
 * neuron_device.claim_lock  who owns which core
 * neuron_gang.lock          members whose turn has come; held by who takes the next one of
 *                           several cores. Taken on the way to signal a fence, too
 * neuron_core.reset_lock    doorbell, reset, generation, after a look at the state of
 *                           the hardware; taken on the way to signal a fence:
 *                           allocate nothing under it. Held for a whole reset: not
 *                           inside drm_dev_enter()
 * neuron_core.lock          the job on the hardware, its result, counters; taken
 *                           in the hard interrupt handler. Fences are
 *                           signalled outside of it
 * ========================= ================================================
 */

#define NEURON_GRANT_NOTES	16

/**
 * struct neuron_grant_note - who may post some semaphores, for core dumps
 * @first: first semaphore
 * @count: number of semaphores
 * @pid: process that has made a window of the grant; 0: nobody has yet
 * @comm: name of the process @pid
 */
struct neuron_grant_note {
	u32 first;
	u32 count;
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

/**
 * struct neuron_kept_dump - the last core dump of a core, for its owner
 * @ref: the claim's, and one for each reader
 * @release: frees what it is part of (neuron_coredump.c)
 */
struct neuron_kept_dump {
	struct kref ref;
	void (*release)(struct kref *ref);
};

/**
 * struct neuron_claim_core - a core, or a CC-core that was used, in a claim
 * @claim: claim
 * @core: core
 * @entity: queue of jobs
 * @lock: see above
 * @dead: no more jobs
 * @table: current window table, changed in place only while no job has it
 * @pending: job ids to jobs, until they are freed
 * @cancelled: jobs up to this id do not start; changed under @lock, read when a job starts
 * @generation: claim generation of the core, fixed
 * @results: how the jobs ended, with a lock of their own
 * @busy_ns: doorbell to interrupt, all finished jobs; under neuron_core.lock like the
 *	next three
 * @jobs: finished jobs
 * @faults: jobs that ended in an error of their own
 * @hangs: jobs that were aborted for making no progress
 * @note_lock: @note, @nr_notes; innermost
 * @note: of grants of semaphores, the first ones (neuron_grant.c)
 * @nr_notes: how many
 * @dump: the last core dump, or NULL; under @lock (neuron_coredump.c)
 * @nr_dumps: core dumps that are captured and not yet in @dump; see neuron_device.live_wait
 * @wants_memory: core dumps have what was in SBUF and PSUM
 * @dump_memory: room for that in the next dump, or NULL; exchanged atomically
 */
struct neuron_claim_core {
	struct neuron_claim *claim;
	struct neuron_core *core;
	struct drm_sched_entity entity;
	struct mutex lock; /* @dead, @table, order of submission */
	bool dead;
	struct neuron_table *table;
	struct xarray pending;
	u64 cancelled;
	u32 generation;
	struct neuron_results results;
	u64 busy_ns;
	u64 jobs;
	u32 faults;
	u32 hangs;
	spinlock_t note_lock; /* @note, @nr_notes */
	struct neuron_grant_note note[NEURON_GRANT_NOTES];
	unsigned int nr_notes;
	struct neuron_kept_dump *dump;
	atomic_t nr_dumps;
	bool wants_memory;
	struct neuron_core_memory *dump_memory;
};

/**
 * struct neuron_claim - some cores of a device
 * @ref: the file's, and one for each job, window table and grant
 * @ndev: device, referenced
 * @epoch: neuron_device.epoch of its birth
 * @id: in the file
 * @flags: DRM_NEURON_CLAIM_*
 * @mask: cores
 * @core: by neuron_core.index, NULL for cores that are not in @mask. A CC-core comes
 *	with its core, but has nothing here until it is asked for: see
 *	neuron_claim_core_find()
 * @lock: see above
 * @dead: killed; under @lock
 * @gang_lock: see above
 * @client: DRM client id, for the scheduler's trace
 * @last_job: id of the last job submitted
 * @nr_live: jobs and window tables that exist
 * @budget: what they may take
 */
struct neuron_claim {
	struct kref ref;
	struct neuron_device *ndev;
	u32 epoch;
	u32 id;
	u32 flags;
	u32 mask;
	struct neuron_claim_core *core[NEURON_MAX_UNITS];
	struct mutex lock; /* @dead, neuron_claim_kill(), CC-cores in @core */
	bool dead;
	struct mutex gang_lock; /* order of gangs */
	u64 client;
	atomic64_t last_job;
	atomic_t nr_live;
	struct neuron_budget budget;
};

static inline struct neuron_claim *neuron_claim_get(struct neuron_claim *claim)
{
	kref_get(&claim->ref);
	return claim;
}

/* NULL is fine. */
static inline void neuron_kept_dump_put(struct neuron_kept_dump *dump)
{
	if (dump)
		kref_put(&dump->ref, dump->release);
}

/* Process context. */
void neuron_claim_put(struct neuron_claim *claim);

/* A job or a window table is born, with a reference to the claim; or freed. */
void neuron_claim_live_get(struct neuron_claim *claim);
void neuron_claim_live_put(struct neuron_claim *claim);

/* For its jobs and window tables; see neuron_budget_charge(). */
static inline int neuron_claim_charge(struct neuron_claim *claim, size_t bytes)
{
	return neuron_budget_charge(&claim->budget, bytes);
}

static inline void neuron_claim_uncharge(struct neuron_claim *claim,
					 size_t bytes)
{
	neuron_budget_uncharge(&claim->budget, bytes);
}

/* The device was reset since: nothing of it is left but results. */
static inline bool neuron_claim_is_lost(const struct neuron_claim *claim)
{
	return claim->epoch != READ_ONCE(claim->ndev->epoch);
}

/* What the claim has of @core; NULL: a CC-core that was not asked for yet. */
static inline struct neuron_claim_core *
neuron_claim_core_get(struct neuron_claim *claim, struct neuron_core *core)
{
	/* Pairs with the release in neuron_claim_equip_core(). */
	return smp_load_acquire(&claim->core[core->index]);
}

/*
 * The core @core of claim @claim of @file. The caller drops the claim's
 * reference. ERR_PTR(-ENOENT): no such claim, or a CC-core that was not used yet;
 * -EINVAL: the core is not in it.
 */
struct neuron_claim_core *
neuron_claim_core_find_any(struct drm_file *file, u32 claim, u32 core);
/*
 * The same; -EIO or -ENODEV when the claim is lost. A CC-core of one of its cores is scrubbed
 * and gets its queue when it is asked for first: most claims use none. -EIO, -ENODEV,
 * -ENOMEM.
 */
struct neuron_claim_core *
neuron_claim_core_find(struct drm_file *file, u32 claim, u32 core);
/* The same of a claim that the caller holds; it takes no reference. */
struct neuron_claim_core *
neuron_claim_core_use(struct neuron_claim *claim, u32 number);
/*
 * The core @number of a claim that the caller holds, without touching it. NULL: the core is
 * not in it, or is a CC-core that was not used yet.
 */
struct neuron_claim_core *
neuron_claim_core_used(struct neuron_claim *claim, u32 number);

/*
 * Before the cores; after drm_dev_unplug() and the stop: on return there is no
 * claim, job or window table; then the rest.
 */
int neuron_claims_init(struct neuron_device *ndev);
void neuron_claims_end(struct neuron_device *ndev);
void neuron_claims_fini(struct neuron_device *ndev);

/* A file was opened, is going away, is asked for fdinfo. */
void neuron_claims_open(struct neuron_file *nfile);
void neuron_claims_close(struct neuron_file *nfile);
void neuron_claims_fdinfo(struct neuron_file *nfile, struct drm_printer *p);

NEURON_IOCTL_HANDLER(claim);
NEURON_IOCTL_HANDLER(release);

#endif /* _NEURON_CLAIM_H_ */
