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
 * DOC: Contexts layer
 *
 * A context is what a process has of the chip: a *claim* of some cores, and for each of these
 * cores a *table* of windows, which says what its programs reach. A *grant* lets the owner of
 * another claim post semaphores of a core, or reach a part of its SBUF.
 *
 * Claims (neuron_claim.c). CLAIM takes all the cores that it asks for, or none. Each of them is
 * reset, which scrubs it, before the claim can use it. CC-cores come with their core, and are
 * scrubbed when the claim uses them first. The claim is in the xarray of its file. Jobs, window
 * tables and grants hold it too, so its memory may outlive the file. It owns its cores until
 * neuron_claim_kill(), which is called for RELEASE, at the end of the file, and at the end of the
 * device. neuron_claim_kill()
 *
 * 1. stops submissions and the start of jobs;
 * 2. resets each core, which aborts the running job and scrubs the core, and begins the next
 *    *generation* of the core. From then on the chip drops posts of those who still hold a grant;
 * 3. waits until the queue has drained: no queued job waits for a fence any more, the turn of each
 *    comes, and it ends at once;
 * 4. gives the cores back.
 *
 * The driver waits for the queue by itself. drm_sched_entity_destroy() waits as well, but not when
 * the process was killed, and then drm_sched_entity_fini() takes the jobs away. That is not safe in
 * 6.12: when the scheduler has just taken a job of an entity that has more of them, it puts the
 * entity back among the others, even if that has been removed meanwhile, and later finds a freed
 * entity there. An empty queue is safe. Earlier versions stopped the scheduler meanwhile, which
 * other claims of the scheduler need not suffer.
 *
 * Tables (neuron_table.c). A job holds the version of the table that it was submitted with. Such a
 * version never changes. So WINDOWS makes a new version unless no job holds the current one. Both
 * versions share the pieces in which nothing has changed. A *binding* is what a window shows, and
 * holds its buffer. All bindings of a call are made before the table is touched (neuron_window.c).
 *
 * Grants (neuron_grant.c). A window of a grant holds neither the claim nor the core that it
 * reaches. It has the generation of that core, and the chip compares it at each access. So nobody
 * has to be told when a claim ends.
 *
 * A claim is lost when the device is reset: neuron_claim.epoch differs from the epoch of the
 * device. Then only its results and core dumps can be read, and it can be released.
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
#define NEURON_GRANT_ELSEWHERE	(-1)

/**
 * struct neuron_grant_note - who may post some semaphores, for core dumps
 * @first: first semaphore
 * @count: number of semaphores
 * @pid: process that has made a window of the grant, in the pid namespace of the claim's owner;
 *	0: nobody has yet; NEURON_GRANT_ELSEWHERE: that namespace does not have it
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
 * @cancelled: jobs up to this id do not start; changed under @lock, read when a job starts
 * @generation: claim generation of the core, fixed
 * @results: the jobs until they are freed, and how they ended, with a lock of their own
 * @busy_ns: doorbell to end, all finished jobs; under neuron_core.lock like the
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
 * @owner: process that has made the claim, with a reference
 * @last_job: id of the last job submitted
 * @nr_live: jobs, window tables and pages of lists that exist
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
	struct pid *owner;
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

/**
 * neuron_claim_put() - drop a reference of a claim
 * @claim: claim; it is freed with its last reference, and may hold the last one of the device
 *
 * Context: process.
 */
void neuron_claim_put(struct neuron_claim *claim);

/**
 * neuron_claim_live_get() - a job, a window table or a page of a list is made
 * @claim: claim; what is made holds a reference of it
 */
void neuron_claim_live_get(struct neuron_claim *claim);

/**
 * neuron_claim_live_put() - a job, a window table or a page of a list is freed
 * @claim: claim
 *
 * The last one of the claim, or of the device, wakes whoever waits on neuron_device.live_wait.
 */
void neuron_claim_live_put(struct neuron_claim *claim);

/* For the jobs and window tables of a claim; see neuron_budget_charge(). */
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

/**
 * neuron_claim_core_find_any() - find a core of a claim, even of a lost one
 * @file: file that the claim is of
 * @claim: id of the claim
 * @core: number of the core or CC-core
 *
 * Return: the core, with a reference of the claim that the caller drops; ERR_PTR(-ENOENT) when
 * there is no such claim, or for a CC-core that was not used yet; ERR_PTR(-EINVAL) when the core
 * is not in the claim.
 */
struct neuron_claim_core *
neuron_claim_core_find_any(struct drm_file *file, u32 claim, u32 core);

/**
 * neuron_claim_core_find() - find a core of a claim to use it
 * @file: file that the claim is of
 * @claim: id of the claim
 * @core: number of the core or CC-core
 *
 * A CC-core is scrubbed and gets its queue when this is first called for it, because most claims
 * use none.
 *
 * Context: outside of drm_dev_enter(), because it may reset a CC-core.
 * Return: as neuron_claim_core_find_any(); also ERR_PTR(-EIO) or ERR_PTR(-ENODEV) when the claim
 * is lost or the CC-core cannot be reset, and ERR_PTR(-ENOMEM).
 */
struct neuron_claim_core *
neuron_claim_core_find(struct drm_file *file, u32 claim, u32 core);

/**
 * neuron_claim_core_use() - neuron_claim_core_find() for a claim that the caller holds
 * @claim: claim
 * @number: number of the core or CC-core
 *
 * Return: the core, without a further reference, or an ERR_PTR.
 */
struct neuron_claim_core *
neuron_claim_core_use(struct neuron_claim *claim, u32 number);

/**
 * neuron_claim_core_used() - find a core of a claim without touching it
 * @claim: claim that the caller holds
 * @number: number of the core or CC-core
 *
 * Return: the core; NULL when it is not in the claim, or is a CC-core that was not used yet.
 */
struct neuron_claim_core *
neuron_claim_core_used(struct neuron_claim *claim, u32 number);

/**
 * neuron_claims_init() - set up claims
 * @ndev: device; its cores are not set up yet
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_claims_init(struct neuron_device *ndev);

/**
 * neuron_claims_end() - kill all claims
 * @ndev: device, unplugged and stopped
 *
 * There is no claim, job or window table when it returns.
 */
void neuron_claims_end(struct neuron_device *ndev);

/**
 * neuron_claims_fini() - free what neuron_claims_init() has made
 * @ndev: device
 */
void neuron_claims_fini(struct neuron_device *ndev);

/**
 * neuron_claims_open() - a file was opened
 * @nfile: file
 */
void neuron_claims_open(struct neuron_file *nfile);

/**
 * neuron_claims_close() - a file is going away: kill its claims
 * @nfile: file
 */
void neuron_claims_close(struct neuron_file *nfile);

/**
 * neuron_claims_fdinfo() - print how long the jobs of a file kept each core busy
 * @nfile: file
 * @p: where to
 */
void neuron_claims_fdinfo(struct neuron_file *nfile, struct drm_printer *p);

NEURON_IOCTL_HANDLER(claim);
NEURON_IOCTL_HANDLER(release);

#endif /* _NEURON_CLAIM_H_ */
