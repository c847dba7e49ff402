/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One device: its registers, memory, copy queues and cores. This is what the files of the driver
 * share; types that one file uses are in that file.
 */
#ifndef _NEURON_DEVICE_H_
#define _NEURON_DEVICE_H_

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_block.h"
#include "neuron_compat.h"
#include "neuron/generation.h"
#include "neuron/job.h"

struct drm_neuron_link_info;
struct drm_printer;
struct neuron_claim;
struct neuron_claim_core;
struct neuron_copy_queue;
struct neuron_events;
struct neuron_hbm;
struct neuron_job;
struct neuron_job_ops;
struct neuron_sched;
struct neuron_transfers;
struct neuron_listeners;
struct neuron_looks;
struct neuron_usage;

/**
 * DOC: Base layer
 *
 * The base is one chip: &struct neuron_device, its registers and its interrupts. It also has what
 * all ioctls share (neuron_ioctl.h), the events that user space is told of (neuron_event.h,
 * neuron_listener.h), and the accounts of users (neuron_account.h). It knows nothing of buffers,
 * claims or jobs.
 *
 * The probe allocates the device with devm_drm_dev_alloc(). The driver core holds one reference
 * of it until the driver is unbound. Open files, claims, transfers, event files and buffers hold
 * further ones, so the struct lives longer than the hardware. Memory that belongs to the struct
 * is freed with its last reference (drmm). BARs, interrupts and sysfs files go when the driver is
 * unbound (devm).
 *
 * Registers read as all ones after a surprise removal. So a loop that polls a register also ends
 * when pci_device_is_present() says that the device is gone, and interrupt handlers ignore a
 * cause of all ones.
 *
 * The base may not include a header of a higher layer. It reaches the higher layers in three
 * ways, and the probe sets up each of them before the hardware is started:
 *
 * - &struct neuron_irq_handlers: the file that owns a source of interrupts handles them;
 * - &struct neuron_job_ops: what cores and claims need to know of jobs;
 * - works: neuron_device.reset_work resets the device, neuron_core.watch looks after a job.
 *
 * Of the locks of the base, hw_lock is the outer one. Under it come neuron_looks.lock (a view),
 * epoch_lock, and the locks of the units. bus_lock and accounts_lock are innermost. The comment
 * at each lock names what it protects.
 */

/**
 * DOC: State of the hardware
 *
 * neuron_device.hw_state says whether the hardware can be used. It is UP as long as somebody
 * holds the device awake (neuron_pm_get()) and the device is not being reset. An open file holds
 * the device awake. So does memory in HBM, from its allocation until it is scrubbed. So only a
 * reset, a removal or an error of the PCI link comes between a user and the hardware.
 *
 * A reset of the device has three steps:
 *
 * 1. neuron_reset_begin() sets the state to DOWN and begins a new *epoch*. All claims and all
 *    buffers in HBM of the old epoch are *lost*. Mappings of HBM are removed. Jobs and copies in
 *    flight are left alone, because they use memory until the hardware has been reset.
 * 2. The PCI core resets the hardware.
 * 3. neuron_reset_finish() ends those jobs and copies with an error. Then neuron_hw_start() starts
 *    the hardware, and the state is UP again. If that fails, the state is FAILED until another
 *    reset succeeds.
 *
 * When the driver leaves the device, the state becomes LEAVING first, and never changes again.
 * Whoever waits for the hardware is woken and gives up.
 *
 * State and epoch change together, under neuron_device.epoch_lock held for writing: an epoch ends
 * when the state leaves UP. Claims and buffers in HBM get the epoch of a moment when the state was
 * UP (neuron_hw_wait_epoch()). So nothing new is lost in the reset that came before it.
 *
 * Whoever rings a doorbell or resets a unit looks at the state under the lock of that unit:
 * neuron_core.reset_lock, the submit lock of a copy queue, or discard_lock. The beginning of a
 * reset, and the stop, take each of these locks once after they have changed the state. From then
 * on nobody touches the unit.
 *
 * So drm_dev_enter() is needed only where no such lock is held: to map memory for the device, and
 * to make what the device reads. All DRM devices of the machine share one SRCU for it, and
 * drm_dev_unplug() of any of them waits for all who are inside. So nothing inside waits for the
 * hardware, for memory to be scrubbed, for a reset, or for a lock that is held during one.
 */

/* All time limits of the driver, milliseconds. */
#define NEURON_RESET_TIMEOUT_MS		10000
#define NEURON_RESET_POLL_MS		100
#define NEURON_RESET_SURE_MS		1000	/* without its interrupt */
#define NEURON_RECOVERY_TIMEOUT_MS	20000	/* of a frozen link, by the PCI core */
#define NEURON_PEER_TIMEOUT_MS		40000	/* both of these, and a start */
#define NEURON_AUTOSUSPEND_MS		2000
#define NEURON_COPY_TIMEOUT_MS		30000
#define NEURON_DISCARD_TIMEOUT_MS	30000
#define NEURON_DISCARD_POLL_MS		100
#define NEURON_SCRUB_RETRY_MS		60000
#define NEURON_JOB_TIMEOUT_MS		30000
#define NEURON_JOB_TIMEOUT_MAX_MS	(24 * 60 * 60 * 1000)
#define NEURON_JOB_TIMEOUT_CAP		16	/* times the job's timeout */

/**
 * struct neuron_core_stats - what a core did since the driver was loaded
 * @jobs: jobs that have ended
 * @busy_ns: nanoseconds from doorbell to end, of all jobs; that of the running job
 *	until now
 * @faults: jobs that ended in an error of their own
 * @hangs: jobs aborted for making no progress
 * @resets: resets of the core, for any reason
 * @reset_failures: resets that the core did not answer
 */
struct neuron_core_stats {
	u64 jobs;
	u64 busy_ns;
	u64 faults;
	u64 hangs;
	u64 resets;
	u64 reset_failures;
};

/**
 * struct neuron_status - the counters of a core
 * @total: all that was posted since the driver was loaded, or the last reset
 * @present: of that, by the claim that has the core now
 */
struct neuron_status {
	atomic64_t total[DRM_NEURON_NR_STATUS_COUNTERS];
	atomic64_t present[DRM_NEURON_NR_STATUS_COUNTERS];
};

/**
 * struct neuron_core_times - jobs of a core in time groups (neuron_times.c)
 * @pending: those that have ended and whose times are not known; under neuron_core.lock, as
 *	the two below
 * @done: those of which the device has no more to say, until @work frees them
 * @nr: jobs in groups that are queued, on the hardware or in the two lists
 * @work: frees what is in @done, and ends groups that lack a member
 * @wait: woken when times of a job are known
 */
struct neuron_core_times {
	struct list_head pending;
	struct list_head done;
	unsigned int nr;
	struct work_struct work;
	wait_queue_head_t wait;
};

/**
 * struct neuron_core - a NeuronCore or a CC-core (neuron_core.c)
 * @ndev: device
 * @index: place in neuron_device.core, and number in the interface
 * @tpb: the NeuronCore that this core belongs to; a NeuronCore belongs to itself
 * @name: name of the core in messages
 * @regs: offset of the core's registers in the control block
 * @posters: offset, in the control block, of the registers that say who changed the core's
 *	semaphores last
 * @sems_bar0: offset of the core's semaphores and events in BAR0
 * @sems_addr: device address of the semaphores
 * @sched: scheduler, which gives the core one job at a time (neuron_fence.h)
 * @wq: runs the scheduler; a CC-core uses that of its NeuronCore
 * @listens: the driver looks at the core's interrupts; not at those of an unused CC-core, unless
 *	@times has some
 * @watch: looks for hangs and faults of the job on the hardware (neuron_watch.c)
 * @watch_at: jiffies when @watch runs, at the latest; protected by @reset_lock
 * @watch_set: @watch is going to run; protected by @reset_lock
 * @claim: claim that owns the core, or NULL; protected by neuron_device.claim_lock
 * @owner_pid: thread group of the owner; protected by neuron_device.claim_lock
 * @reset_lock: held for a doorbell or a reset, under which the hardware is looked at to be
 *	UP; protects @generation and @wedged. Fences are signalled under it, so nothing may
 *	be allocated under it. It exists as long as the DRM device
 * @lock: protects @active and what belongs to it, @completion and @stats; the hard interrupt
 *	handler takes it
 * @active: job on the hardware, or NULL; whether there is one is also asked without @lock
 * @active_cc: whose job it is
 * @armed: the device interrupts when a job is done (neuron_job.c). It is changed under
 *	@reset_lock; the interrupt handler reads it without
 * @stale: a job was found to have ended before the device could say so, which it may still
 *	do; under @lock
 * @started_ns: ktime of its doorbell
 * @completion: record that the device writes when a job ends, coherent memory
 * @completion_dma: bus address of @completion
 * @times: jobs in time groups; under @lock
 * @reset_done: completed by the reset interrupt
 * @generation: tells the device which grants of the core are valid; it changes whenever
 *	all of them become void
 * @wedged: the last reset was not answered, or that of the device did not happen, so no job may
 *	start; QUERY reads it without @reset_lock
 * @stats: what the core did since the driver was loaded
 * @status: counters that the core's owners posted
 */
struct neuron_core {
	struct neuron_device *ndev;
	unsigned int index;
	struct neuron_core *tpb;
	char name[20];
	u32 regs;
	u32 posters;
	u32 sems_bar0;
	u64 sems_addr;
	struct neuron_sched *sched;
	struct workqueue_struct *wq;
	bool listens;
	struct delayed_work watch;
	unsigned long watch_at;
	bool watch_set;
	struct neuron_claim *claim;
	struct pid *owner_pid;
	struct mutex reset_lock; /* doorbell and reset */
	spinlock_t lock; /* the job on the hardware, @completion and @stats */
	struct neuron_job *active;
	struct neuron_claim_core *active_cc;
	bool armed;
	bool stale;
	u64 started_ns;
	struct neuron_hw_completion *completion;
	dma_addr_t completion_dma;
	struct neuron_core_times times;
	struct completion reset_done;
	u32 generation;
	bool wedged;
	struct neuron_core_stats stats;
	struct neuron_status status;
};

/**
 * enum neuron_hw_state - whether the hardware may be used
 * @NEURON_HW_STARTING: neuron_hw_start() is starting the hardware
 * @NEURON_HW_UP: the hardware is in use
 * @NEURON_HW_DOWN: the hardware is stopped, asleep or being reset
 * @NEURON_HW_FAILED: the hardware could not be started
 * @NEURON_HW_LEAVING: the driver leaves the device; the last state
 */
enum neuron_hw_state {
	NEURON_HW_STARTING,
	NEURON_HW_UP,
	NEURON_HW_DOWN,
	NEURON_HW_FAILED,
	NEURON_HW_LEAVING,
};

/**
 * struct neuron_irq_handlers - who is told what a vector announces
 * @core: @cause of a core was set
 * @engine: @cause of a copy engine was set
 * @discard: NEURON_CTL_CAUSE_DISCARD or NEURON_CTL_CAUSE_DISCARD_ERROR was set
 *
 * They are called in hard interrupts, under the lock of the vector, when the causes have been
 * read and cleared. The file that has the source sets each once, before the hardware is started.
 */
struct neuron_irq_handlers {
	void (*core)(struct neuron_core *core, u32 cause);
	void (*engine)(struct neuron_device *ndev, unsigned int engine,
		       u32 cause);
	void (*discard)(struct neuron_device *ndev, u32 cause);
};

/**
 * struct neuron_counters - what went wrong since the driver was loaded
 * @faults: jobs that ended in an error of their own
 * @hangs: jobs aborted for making no progress
 * @core_resets: resets of single cores, also those when a core changes its owner
 * @device_resets: resets of the whole device
 * @reset_failures: resets of both kinds that were not answered
 * @lost_interrupts: causes that were found set although no interrupt had come
 * @copy_errors: copies that failed
 * @link_changes: fabric links that went up or down
 *
 * Memory errors, violations and stale posts are counted by the device.
 */
struct neuron_counters {
	atomic64_t faults;
	atomic64_t hangs;
	atomic64_t core_resets;
	atomic64_t device_resets;
	atomic64_t reset_failures;
	atomic64_t lost_interrupts;
	atomic64_t copy_errors;
	atomic64_t link_changes;
};

/**
 * struct neuron_device - a chip
 * @drm: DRM device, first so that its release frees everything
 * @pdev: PCI function
 * @gen: generation table
 * @bar0: registers
 * @bar4_start: CPU physical address of the HBM aperture
 * @bar4_size: size of the HBM aperture in bytes
 * @nr_vectors: MSI-X vectors granted, at least one
 * @vectors: what each of the vectors announces (neuron_irq.c)
 * @on_irq: who has the sources
 * @irqs_on: the interrupts of the vectors are enabled
 * @hbm: allocator of each stack (neuron_hbm.c)
 * @scrub_wq: discards freed memory
 * @discard_lock: held by who uses the chip's one discard engine, having seen that the
 *	hardware is UP or STARTING
 * @discard_done: completed by the management interrupt
 * @discard_error: the chip refused the range of the last discard
 * @copy: kernel DMA queues, one for each core's copy ring (neuron_copy.c)
 * @copy_turn: spreads copies over the queues of a stack
 * @copy_lock: protects @copy_pieces
 * @copy_pieces: user memory mapped for copies (neuron_copy_ioctl.c)
 * @transfer_sched: scheduler of each of these queues (neuron_transfer_file.c)
 * @transfers_lock: protects @transfers; held while those of all files end
 * @transfers: those of open files
 * @transfers_turn: spreads files over the queues
 * @nr_transfers: number of transfers that exist; see @live_wait
 * @claim_lock: protects core[].claim and core[].owner_pid
 * @accounts_lock: protects @accounts
 * @accounts: accounts of who has claims or open files (neuron_account.c)
 * @core: NeuronCores; CC-cores from NEURON_MAX_CORES on (neuron_unit())
 * @job_ops: what cores and claims want of jobs (neuron_core.h)
 * @job_blocks: for jobs (neuron_job.c)
 * @last_gang: number of the gang submitted last, for the device
 * @has_groups: it knows time groups
 * @group_lock: held for the two writes that end a time group; innermost
 * @settle_blocks: for settle records (neuron_times.c)
 * @nr_live: number of jobs, window tables and pages of lists that exist
 * @live_wait: woken when a job, a transfer, a window table or a list is freed, or a core dump is
 *	published
 * @grant_wait: woken when grants of this device have become void
 * @dump_wq: publishes core dumps, one after another
 * @nr_dumps: core dumps that are captured and not yet published
 * @watch_wq: looks after jobs (neuron_watch.c); not the cores' own queues, which are
 *	bound to a processor: a reset or a core dump takes seconds
 * @free_wq: frees window tables of finished jobs, and with them buffers; looks after jobs in
 *	time groups
 * @bus_lock: protects @bus_cuts; held while bus mastering is switched
 * @bus_cuts: number of units of the chip that did not stop when asked, and one more from the
 *	beginning of a reset to the start after it; bus mastering is off while there is one
 * @fabric_id: id on the fabric, fixed by the probe as @fabric_key is: no other chip that the
 *	driver is bound to has both, and a change is refused
 * @fabric_key: names the fabric; 0 when the chip is in none
 * @fabric_link: in the list of chips that are on a fabric (neuron_device.c)
 * @nr_links: fabric links, fixed by the probe: a chip with another number is refused
 * @serial: serial number
 * @counters: what went wrong
 * @events: what user space is to be told by uevents (neuron_event.c)
 * @listeners: who reads events (neuron_listener.c)
 * @hw_state: may the hardware be used; under @epoch_lock
 * @hw_wait: woken when @hw_state changes, and when @bus_cuts becomes 0
 * @hw_lock: held while a reset of the device begins or ends, and while it goes to sleep or
 *	wakes up, so that there is one of these at a time
 * @asleep: stopped on purpose, until it is woken up; under @hw_lock
 * @failed_asleep: it was FAILED when it was put to sleep; under @hw_lock
 * @counters_anew: the device's counters have been cleared, or may have been: the next
 *	start takes a baseline
 * @epoch: counts how often the hardware has left the state UP; claims and contents of HBM
 *	from another epoch are lost; under @epoch_lock
 * @epoch_lock: held for writing while @hw_state and @epoch change; held for reading while
 *	HBM is mapped, or registers are read, on behalf of a process, and by who needs both
 *	to belong together
 * @reset_wq: of @reset_work: memory may be waiting for the fences that a reset signals
 * @reset_work: device reset as the last resort (neuron_reset.c)
 * @reset_wanted: the reason for it is not gone; without it @reset_work does nothing
 * @pm_refs: what keeps the device awake (neuron_pm_get())
 * @peer_lock: protects @peer_bos and @kept_bos
 * @peer_bos: buffers of this chip that other chips have imported (neuron_prime.c)
 * @kept_bos: buffers of other chips that are freed when no unit of this chip can write there
 * @kept_work: frees @kept_bos, once @bus_cuts is 0
 * @nr_gone: imported buffers whose chip has left
 * @host_lock: protects @host_bos and the memory of its buffers
 * @host_bos: buffers in host memory, imported ones too (neuron_gem.c)
 * @usage: memory by category (neuron_usage.c)
 * @looks: what the device said last, for those who monitor it (neuron_monitor.c)
 */
struct neuron_device {
	struct drm_device drm;
	struct pci_dev *pdev;
	const struct neuron_gen *gen;
	void __iomem *bar0;
	phys_addr_t bar4_start;
	resource_size_t bar4_size;
	unsigned int nr_vectors;
	struct neuron_vector *vectors;
	struct neuron_irq_handlers on_irq;
	bool irqs_on;
	struct neuron_hbm *hbm[NEURON_MAX_HBM];
	struct workqueue_struct *scrub_wq;
	struct mutex discard_lock;	/* the discard registers */
	struct completion discard_done;
	bool discard_error;
	struct neuron_copy_queue *copy[NEURON_MAX_CORES];
	atomic_t copy_turn;
	struct mutex copy_lock;		/* copy_pieces */
	struct list_head copy_pieces;
	struct neuron_sched *transfer_sched[NEURON_MAX_CORES];
	struct mutex transfers_lock;	/* transfers */
	struct list_head transfers;
	atomic_t transfers_turn;
	atomic_t nr_transfers;
	struct mutex claim_lock;	/* owners of the cores */
	struct mutex accounts_lock;	/* accounts */
	struct list_head accounts;
	struct neuron_core core[NEURON_MAX_UNITS];
	const struct neuron_job_ops *job_ops;
	struct neuron_blocks job_blocks;
	atomic64_t last_gang;
	bool has_groups;
	spinlock_t group_lock; /* NEURON_CTL_GROUP_END */
	struct neuron_blocks settle_blocks;
	atomic_t nr_live;
	wait_queue_head_t live_wait;
	wait_queue_head_t grant_wait;
	struct workqueue_struct *dump_wq;
	atomic_t nr_dumps;
	struct workqueue_struct *watch_wq;
	struct workqueue_struct *free_wq;
	struct mutex bus_lock;	/* bus_cuts, and bus mastering while it changes */
	unsigned int bus_cuts;
	u32 fabric_id;
	u32 fabric_key;
	struct list_head fabric_link;
	u32 nr_links;
	u64 serial;
	struct neuron_counters counters;
	struct neuron_events *events;
	struct neuron_listeners *listeners;
	enum neuron_hw_state hw_state;
	wait_queue_head_t hw_wait;
	struct mutex hw_lock;		/* the two below; begin and finish of a reset, sleep */
	bool asleep;
	bool failed_asleep;
	bool counters_anew;
	u32 epoch;
	struct rw_semaphore epoch_lock;	/* hw_state, epoch */
	struct workqueue_struct *reset_wq;
	struct delayed_work reset_work;
	bool reset_wanted;
	atomic_t pm_refs;
	struct mutex peer_lock;		/* peer_bos, kept_bos */
	struct list_head peer_bos;
	struct list_head kept_bos;
	struct work_struct kept_work;
	atomic_t nr_gone;
	struct mutex host_lock;		/* host_bos */
	struct list_head host_bos;
	struct neuron_usage *usage;
	struct neuron_looks *looks;
};

/**
 * struct neuron_file - an open file
 * @ndev: device
 * @claims: claim ids to struct neuron_claim (neuron_claim.c)
 * @grants: handles to imported grants (neuron_grant.c)
 * @series: handles to imported series of time groups (neuron_series.c)
 * @series_lock: held while a series gets its handle, or loses it
 * @last_series: the last handle of a series; this and what follows are under @series_lock
 * @nr_series: how many are in @series
 * @series_end: the device has left, and no series gets a handle
 * @transfers: transfers (neuron_transfer_file.c)
 * @busy_ns: of each core, by claims given back; under @claims' lock
 */
struct neuron_file {
	struct neuron_device *ndev;
	struct xarray claims;
	struct xarray grants;
	struct xarray series;
	struct mutex series_lock;	/* the three below */
	u32 last_series;
	u32 nr_series;
	bool series_end;
	struct neuron_transfers *transfers;
	u64 busy_ns[NEURON_MAX_UNITS];
};

static inline struct neuron_device *to_neuron_device(struct drm_device *drm)
{
	return container_of(drm, struct neuron_device, drm);
}

/* The @i-th NeuronCore or CC-core of neuron_nr_units(). */
static inline struct neuron_core *neuron_unit(struct neuron_device *ndev,
					      unsigned int i)
{
	return &ndev->core[neuron_unit_number(ndev->gen, i)];
}

static inline bool neuron_core_is_cc(const struct neuron_core *core)
{
	return core->tpb != core;
}

/* The stack of HBM that is nearest to a core. */
static inline unsigned int neuron_core_stack(const struct neuron_gen *gen,
					     unsigned int core)
{
	return core * gen->nr_hbm / gen->nr_cores;
}

/* Register access: offsets in the control block. */
static inline u32 neuron_ctl_read(struct neuron_device *ndev, u32 reg)
{
	return readl(ndev->bar0 + neuron_ctl_bar0(ndev->gen) + reg);
}

static inline void neuron_ctl_write(struct neuron_device *ndev, u32 reg,
				    u32 value)
{
	writel(value, ndev->bar0 + neuron_ctl_bar0(ndev->gen) + reg);
}

/* One access where the machine has one of 64 bits: the low word, then the high. */
static inline u64 neuron_ctl_read64(struct neuron_device *ndev, u32 reg)
{
	return readq(ndev->bar0 + neuron_ctl_bar0(ndev->gen) + reg);
}

static inline void neuron_ctl_write64(struct neuron_device *ndev, u32 reg,
				      u64 value)
{
	writeq(value, ndev->bar0 + neuron_ctl_bar0(ndev->gen) + reg);
}

/* MISC RAM, which the firmware fills. */
static inline u32 neuron_misc_read(struct neuron_device *ndev, u32 reg)
{
	return readl(ndev->bar0 + ndev->gen->misc_bar0 + reg);
}

static inline u32 neuron_core_read(struct neuron_core *core, u32 reg)
{
	return neuron_ctl_read(core->ndev, core->regs + reg);
}

static inline void neuron_core_write(struct neuron_core *core, u32 reg,
				     u32 value)
{
	neuron_ctl_write(core->ndev, core->regs + reg, value);
}

/**
 * neuron_bus_cut() - a unit of the chip does not stop: switch bus mastering off
 * @ndev: device
 *
 * The unit may still write to host memory that is about to be given back. Bus mastering stays
 * off until neuron_bus_restore() was called for each such unit. Takes neuron_device.bus_lock.
 */
void neuron_bus_cut(struct neuron_device *ndev);

/**
 * neuron_bus_restore() - a unit that did not stop has stopped
 * @ndev: device
 *
 * Takes neuron_device.bus_lock.
 */
void neuron_bus_restore(struct neuron_device *ndev);

/**
 * neuron_bus_open() - no unit of an earlier life of the device runs any more
 * @ndev: device that is being started
 *
 * Bus mastering is on afterwards. Takes neuron_device.bus_lock.
 */
void neuron_bus_open(struct neuron_device *ndev);

/* Do routed addresses of one chip reach the other? */
static inline bool neuron_same_fabric(const struct neuron_device *a,
				      const struct neuron_device *b)
{
	return a->fabric_key && a->fabric_key == b->fabric_key &&
	       a->fabric_id != b->fabric_id;
}

/* The bus address of host memory as the device wants it. */
static inline u64 neuron_host_addr(struct neuron_device *ndev, dma_addr_t dma)
{
	return ndev->gen->host_base | dma;
}

/**
 * neuron_device_init() - map the BARs, identify the chip
 * @ndev: device
 *
 * Registers are read, and none is written.
 *
 * Return: 0 or a negative errno, which is logged.
 */
int neuron_device_init(struct neuron_device *ndev);

/**
 * neuron_device_identify_again() - check that this is still the chip of the probe
 * @ndev: device, after a reset or sleep
 *
 * Return: 0; -ENODEV when it does not speak our contract, does not become ready, or has another
 * place on the fabric or number of links.
 */
int neuron_device_identify_again(struct neuron_device *ndev);

/**
 * neuron_device_read_link() - read the registers of a fabric link
 * @ndev: device; its registers can be read
 * @link: number of the link, less than neuron_device.nr_links
 * @info: what they say
 */
void neuron_device_read_link(struct neuron_device *ndev, unsigned int link,
			     struct drm_neuron_link_info *info);

/* Whether the hardware can be used now. */
static inline bool neuron_hw_up(const struct neuron_device *ndev)
{
	return READ_ONCE(ndev->hw_state) == NEURON_HW_UP;
}

static inline bool neuron_hw_leaves(const struct neuron_device *ndev)
{
	return READ_ONCE(ndev->hw_state) == NEURON_HW_LEAVING;
}

/*
 * The PCI core has given the device up: it was pulled out, or its link has failed for good. One
 * that only does not answer is another case: it may answer later, as it was.
 */
static inline bool neuron_hw_is_gone(const struct neuron_device *ndev)
{
	return READ_ONCE(ndev->pdev->error_state) == pci_channel_io_perm_failure;
}

/* Why it cannot be used, or what belongs to another epoch is lost. */
static inline int neuron_hw_error(const struct neuron_device *ndev)
{
	return neuron_hw_leaves(ndev) ? -ENODEV : -EIO;
}

/* -EIO: it is being reset, or that failed; -ENODEV: the driver leaves. */
static inline int neuron_hw_check(const struct neuron_device *ndev)
{
	return neuron_hw_up(ndev) ? 0 : neuron_hw_error(ndev);
}

/**
 * neuron_hw_set_state() - change the state of the hardware
 * @ndev: device
 * @state: new state
 *
 * An epoch ends here when the state was UP. Wakes whoever waits for the hardware, and whoever
 * polls a grant. Takes neuron_device.epoch_lock for writing.
 *
 * Return: false when the state was @state already, or is LEAVING, which never changes.
 */
bool neuron_hw_set_state(struct neuron_device *ndev,
			 enum neuron_hw_state state);

/**
 * neuron_hw_wait_epoch() - wait for the end of a reset
 * @ndev: device
 * @epoch: set to the epoch of a moment when the hardware was UP
 *
 * Another reset may begin at any time after this has returned.
 *
 * Context: outside of drm_dev_enter().
 * Return: 0; -EIO when the hardware could not be started; -ENODEV when the driver leaves; -EINTR
 * when the process was killed.
 */
int neuron_hw_wait_epoch(struct neuron_device *ndev, u32 *epoch);

/**
 * neuron_hw_wait() - wait for the end of a reset
 * @ndev: device
 *
 * Return: as neuron_hw_wait_epoch().
 */
int neuron_hw_wait(struct neuron_device *ndev);

/**
 * neuron_request_reset() - have the whole device reset soon, because nothing else helps
 * @ndev: device; nothing happens unless its hardware is UP
 *
 * The reset is a work that neuron_reset.c installs.
 *
 * Context: any.
 */
void neuron_request_reset(struct neuron_device *ndev);

/**
 * neuron_want_reset() - have the device reset in some time, whatever its state is
 * @ndev: device
 * @ms: milliseconds
 *
 * For a caller that has begun the reset already, and expects the PCI core to go on with it.
 *
 * Context: any.
 */
void neuron_want_reset(struct neuron_device *ndev, unsigned int ms);

/**
 * neuron_pm_get() - wake the device up and keep it awake until neuron_pm_put()
 * @ndev: device
 *
 * Waking up takes as long as the probe.
 *
 * Context: outside of drm_dev_enter().
 * Return: 0; -ENODEV when the driver leaves; another errno when it cannot be resumed.
 */
int neuron_pm_get(struct neuron_device *ndev);

/**
 * neuron_pm_hold() - keep a device awake that is awake already
 * @ndev: device
 */
void neuron_pm_hold(struct neuron_device *ndev);

/**
 * neuron_pm_put() - the end of neuron_pm_get() or neuron_pm_hold()
 * @ndev: device; the driver may have left it meanwhile
 */
void neuron_pm_put(struct neuron_device *ndev);

/**
 * neuron_regs_get() - begin to read registers for somebody who asks
 * @ndev: device
 * @idx: for neuron_regs_put()
 *
 * Wakes the device up. Until neuron_regs_put() no reset begins, so the registers read as all ones
 * only when the device is gone. Holds neuron_device.epoch_lock for reading. Inside, claim_lock
 * may be taken, and no user memory may be touched.
 *
 * Return: 0; -ENODEV; -EIO when the device is being reset or has failed.
 */
int neuron_regs_get(struct neuron_device *ndev, int *idx);

/**
 * neuron_regs_put() - the end of neuron_regs_get()
 * @ndev: device
 * @idx: as it set it
 */
void neuron_regs_put(struct neuron_device *ndev, int idx);

/**
 * neuron_regs_get_awake() - the same for a monitor, which must not wake the device up
 * @ndev: device
 * @idx: for neuron_regs_put_awake()
 *
 * It does not delay the sleep of the device either.
 *
 * Return: as neuron_regs_get(), and -EAGAIN when the device sleeps.
 */
int neuron_regs_get_awake(struct neuron_device *ndev, int *idx);

/**
 * neuron_regs_put_awake() - the end of neuron_regs_get_awake()
 * @ndev: device
 * @idx: as it set it
 */
void neuron_regs_put_awake(struct neuron_device *ndev, int idx);

#endif /* _NEURON_DEVICE_H_ */
