/* SPDX-License-Identifier: MIT */
/*
 * The embedded back end: chips of the chip library in this process, and what the kernel does
 * for them elsewhere. It reaches a chip as a kernel would, through its registers, its HBM as
 * BAR4 shows it, job blocks in memory that no program can address, and interrupts.
 *
 *	emb_machine.c	which chips there are; the port by which they reach this process
 *	emb_memory.c	addresses for the device, buffers, copies
 *	emb_hbm.c	which memory of a stack a buffer has; the discard unit
 *	emb_name.c	descriptors that name buffers, grants and series
 *	emb_window.c	windows and tables of them
 *	emb_grant.c	grants
 *	emb_core.c	claims, core resets
 *	emb_job.c	jobs and gangs, from the queue of their core to the result
 *	emb_submit.c	what is submitted: checked, built, queued
 *	emb_times.c	device times of jobs of several ranks
 *	emb_dump.c	what a core did whose job made no progress
 *	emb_debug.c	chips that a debugger runs step by step
 *	emb_fault.c	faults on demand
 *	emb_timer.c	timers, which some faults need
 *	emb_check.c	errors that checks on request have found
 *	emb_backend.c	the table of the back end, questions
 *
 * Locks, in this order:
 *	emb_machine.step_lock	who runs the chips of a debugger; with no other lock
 *	nrt_chip.lock		all of a chip but what has another lock; of one chip at a time
 *	nrt_chip.memory_lock	its stacks of HBM and its discard unit
 *	emb_machine.lock	names of shared buffers, grants and series, reference counts of
 *				buffers, series
 *	emb_iova.lock		addresses for the device; workers of the chips read it
 *	emb_machine.news_lock	waits for interrupts; workers take it
 *	emb_timer.lock		when chips have asked to be called; workers take it
 *	nrt_chip.report_lock	errors of programs; workers take it
 */
#ifndef LIBNRT_BACKEND_EMB_H
#define LIBNRT_BACKEND_EMB_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "backend/backend.h"
#include "contract/job.h"
#include "contract/record.h"
#include "neuron/generation.h"
#include "neuron/window.h"
#include "trn/chip.h"

struct emb_debugger;
struct emb_machine;
struct emb_report;
struct emb_series;
struct nrt_chip;

#define EMB_PAGE	4096u
#define EMB_CLAIMS	NEURON_MAX_CORES
/* Of the memory of a core: job block, queue table, completion record. */
#define EMB_CORE_BYTES	(3 * EMB_PAGE)
/* Jobs of a core that have not ended, and results of those that have. */
#define EMB_QUEUE	63
#define EMB_RESULTS	1024
/* Time limits of a job, ms; one that makes progress may take so many limits. */
#define EMB_LIMIT_MS		30000
#define EMB_LIMIT_MAX_MS	86400000
#define EMB_LIMIT_CAP		16
#define EMB_RESET_POLL_NS	10000000ull
/* Jobs of a WAIT. */
#define EMB_WAIT_JOBS	1024
/* Entries of a POST. */
#define EMB_POSTS	64
/* Grants that a chip imports: as many as a file of the driver. */
#define EMB_IMPORTS	65535

/**
 * struct emb_region - memory of this process that the chips can reach
 * @addr: first bus address, without the bit that means host memory
 */
struct emb_region {
	uint64_t addr;
	uint64_t size;
	uint8_t *ptr;
};

/**
 * struct emb_iova - what an IOMMU would know
 * @lock: all fields; for writing only to change the table
 * @region: sorted by address
 */
struct emb_iova {
	pthread_rwlock_t lock;
	struct emb_region *region;
	size_t nr;
	size_t room;
};

/* Memory of the kernel that the chip reads and writes; zeroed, in whole pages. */
struct emb_shared {
	uint8_t *ptr;
	uint64_t addr;
	uint64_t size;
};

/**
 * struct emb_piece - a part of a buffer whose bytes lie side by side
 * @at: the first one in the buffer
 * @offset: the same one in the stack; of host memory 0
 * @length: how many
 */
struct emb_piece {
	uint64_t at;
	uint64_t offset;
	uint64_t length;
};

/**
 * struct emb_bo - a buffer
 * @refs: handles, windows, and a name; under emb_machine.lock
 * @chip: whose HBM it lies in; of host memory, who made it
 * @placement: DRM_NEURON_BO_*
 * @memory: HOST
 * @ptr, @addr: first byte of the stack, or of the memory, for this process and for @chip
 * @piece: its @nr_pieces pieces, in ascending order by both offsets
 * @map: of several pieces: all in one range of addresses, or NULL; under nrt_chip.memory_lock
 */
struct emb_bo {
	unsigned int refs;
	struct nrt_chip *chip;
	uint32_t placement;
	uint32_t stack;
	uint32_t category;
	uint64_t size;
	struct emb_shared memory;
	uint8_t *ptr;
	uint64_t addr;
	struct emb_piece *piece;
	uint32_t nr_pieces;
	uint8_t *map;
};

/* Bytes of a buffer that lie side by side, for this process and for the buffer's chip. */
struct emb_run {
	uint8_t *ptr;
	uint64_t addr;
	uint64_t length;
};

/**
 * struct emb_stack - memory of a stack
 * @hbm: all of it
 * @used: bytes of buffers, which have @nr_pieces pieces together
 * @free: @nr ranges in ascending order, no two of which are neighbours; no @room: not known yet
 */
struct emb_stack {
	uint8_t *hbm;
	uint64_t size;
	uint64_t used;
	size_t nr_pieces;
	struct emb_range {
		uint64_t start;
		uint64_t length;
	} *free;
	size_t nr;
	size_t room;
};

/* Lists of extents that the chip reads. @refs: windows that have one; under nrt_chip.lock. */
struct emb_lists {
	unsigned int refs;
	struct emb_shared memory;
};

/**
 * struct emb_binding - what a window of a buffer keeps
 * @bo: the buffer, with a reference; NULL: the window shows none
 * @offset: where in it the window begins
 * @lists: have its list of extents, with a reference; NULL: it is in one piece
 */
struct emb_binding {
	struct emb_bo *bo;
	uint64_t offset;
	struct emb_lists *lists;
};

/**
 * struct emb_table - a window table as a job latches it
 * @refs: the core, and each job that was submitted with it; under nrt_chip.lock
 * @nr: entries
 * @nr_extents: of all windows
 * @binding: by entry
 */
struct emb_table {
	unsigned int refs;
	uint32_t nr;
	uint64_t nr_extents;
	struct emb_shared memory;
	struct emb_binding *binding;
};

/**
 * struct emb_change - entries that a window table gets
 * @nr: how many
 * @window: as they were given
 * @hw: as the chip takes them; once they are in the table, the entries that were there
 * @binding: what these keep
 */
struct emb_change {
	uint32_t nr;
	const struct drm_neuron_window *window;
	struct neuron_hw_window *hw;
	struct emb_binding *binding;
};

/* What is known of the times of a job that was a member of a time group. */
enum emb_times {
	EMB_TIMES_NONE,		/* it was not */
	EMB_TIMES_UNKNOWN,	/* it has not ended, or its settle record has not come */
	EMB_TIMES_KNOWN,
};

/**
 * struct emb_result - what becomes of a job
 * @refs: the job, or when it has ended its core; each WAIT; emb_core.settle. Under nrt_chip.lock
 * @ended: @record has all but what names the job
 * @times: state of @settled
 */
struct emb_result {
	unsigned int refs;
	bool ended;
	uint64_t job;
	struct drm_neuron_wait_job record;
	enum emb_times times;
	struct neuron_settled settled;
};

/**
 * struct emb_gang - jobs that start together; under nrt_chip.lock
 * @refs: its jobs, and the submission
 * @id: number for the chip, which no other of its gangs has
 * @size: jobs
 * @there: how many are the first ones of their cores
 * @failed: a member ended before all were there; none starts any more
 * @culprit: index of that member
 * @core: by index, of those that are there
 */
struct emb_gang {
	unsigned int refs;
	uint64_t id;
	uint32_t size;
	uint32_t there;
	bool failed;
	uint32_t culprit;
	struct emb_core *core[NEURON_JOB_MAX_GANG];
};

/**
 * struct emb_job - a job that has not ended
 * @gang: with a reference, or NULL: it runs alone
 * @gang_index: which member it is
 * @block: complete but for the addresses of its tables
 * @series: with a reference: the job is a member of its time group @sequence, which is @group, and
 *	its settle record has place @settle of its core; NULL: of none
 * @trace: window of the trace, if that keeps a buffer in @traced; else it is not traced
 * @limit_ns: without progress
 * @doorbell_ns: 0: it waits for its turn
 * @moved_ns: when @progress was last seen to change
 * @looked_ns: when somebody last looked
 */
struct emb_job {
	struct emb_job *next;
	struct emb_result *result;
	uint64_t id;
	struct emb_gang *gang;
	uint32_t gang_index;
	struct neuron_hw_job block;
	struct neuron_hw_job_queue *queues;
	struct emb_table *table;
	struct emb_series *series;
	uint64_t sequence;
	unsigned int settle;
	struct neuron_hw_time_group group;
	struct neuron_hw_window trace;
	struct emb_binding traced;
	uint64_t limit_ns;
	uint64_t doorbell_ns;
	uint64_t moved_ns;
	uint64_t looked_ns;
	uint64_t progress;
};

/**
 * struct emb_settle - whose a settle record is
 * @result, @series: with references, or NULL: the record is nobody's
 * @sequence: number of the group
 */
struct emb_settle {
	struct emb_result *result;
	struct emb_series *series;
	uint64_t sequence;
};

/**
 * struct emb_core - a NeuronCore or a CC-core
 * @regs: BAR0 offset of its registers
 * @sems_addr: device address of its semaphores
 * @claim: who has it, 0: nobody. CC-cores: 0 until their claim uses them first
 * @memory: job block and completion record of the job that runs
 * @table: NULL: no window
 * @first, @last, @nr_jobs: jobs in the order of submission; the first one has its doorbell
 * @wedged: its last reset did not end; it runs nothing until one does
 * @reset_until: how long the reset under way has time, or the last one had
 * @ending: the first job ends with the reset under way; until then nothing else starts
 * @hang, @cause: how it ends
 * @results: EMB_RESULTS places for those of jobs that have ended, the newest one at
 *	@nr_results - 1 modulo that; NULL: the core has no claim
 * @nr_results: ended since the claim began
 * @ended: jobs that ran, since the chip is there
 * @settles: NEURON_SERIES_PENDING settle records; no bytes as long as no job was a member of a
 *	time group
 * @settled: some of them have come, perhaps
 * @settle: by record: whose it is; NULL without @settles
 * @copies: of the records, as they were last looked at; NULL without @settles
 * @dump: what the core did when a job of the claim last hung, @dump_size bytes, or NULL; behind
 *	the first @dump_text bytes are its memories
 * @dump_job: which job that was
 */
struct emb_core {
	struct nrt_chip *chip;
	unsigned int index;
	unsigned int tpb;
	uint64_t regs;
	uint64_t sems_addr;
	uint32_t claim;
	uint32_t generation;
	uint64_t busy_ns;
	uint64_t ended;
	struct emb_shared memory;
	struct emb_table *table;
	struct emb_job *first;
	struct emb_job *last;
	unsigned int nr_jobs;
	bool wedged;
	uint64_t reset_until;
	bool ending;
	bool hang;
	enum neuron_cause cause;
	struct emb_result **results;
	uint64_t nr_results;
	struct emb_shared settles;
	bool settled;
	struct emb_settle *settle;
	struct neuron_hw_settle *copies;
	char *dump;
	size_t dump_size;
	size_t dump_text;
	uint64_t dump_job;
};

/* A claim; its cores have its id. Id 0: the place is free. @flags: DRM_NEURON_CLAIM_* */
struct emb_claim {
	uint32_t id;
	uint32_t flags;
	uint64_t last_job;
};

/* Who has a handle of a series, by the name that the series has given. */
struct emb_holder {
	struct emb_series *series;
	uint32_t name;
};

/**
 * struct emb_name - something that file descriptors name: a buffer, what a claim has granted, or a
 *	series of time groups
 * @fd: one of them, which is never handed out, so that its file stays; of a buffer -1
 * @other_end: of a pipe, which the file of a buffer or of a grant is; else -1
 * @device, @inode: that file
 * @bo: with a reference
 */
struct emb_name {
	int fd;
	int other_end;
	uint64_t device;
	uint64_t inode;
	struct emb_bo *bo;
	struct emb_core *core;
	struct emb_series *series;
	uint32_t claim;
	uint32_t first;
	uint32_t count;
	uint32_t flags;
};

/**
 * struct emb_import - a grant that has a handle
 * @name: what was granted
 * @generation: of its core at that time
 * @next_free: of a free one: handle of the next one that is free, or 0
 */
struct emb_import {
	struct emb_name name;
	uint32_t generation;
	uint32_t next_free;
};

/**
 * struct nrt_chip - an open chip
 * @irqs: interrupts so far; changes under emb_machine.news_lock
 * @work: one has come, and nobody looks after the chip
 * @pokes: how often somebody left work to @keeper; under emb_machine.news_lock
 * @keeper: thread that ends jobs which nobody waits for, if @has_keeper
 * @waiters: threads that look after the chip while they wait
 * @last_gang: number of the gang that was submitted last
 * @gang_began: since emb_service() began to look at the cores
 * @bo: by handle - 1
 * @import: by handle - 1, grants; free without a core
 * @free_import: handle of the first one that is free, or 0
 * @series: by handle - 1, with a reference of the series; without one: the handle was dropped
 * @report: the oldest error of a program that nobody has taken; @nr_reports of them, under
 *	@report_lock
 * @expires_ns: when it wants to be called; 0: not at all; under emb_timer.lock
 */
struct nrt_chip {
	struct emb_machine *machine;
	struct trn_chip *chip;
	const struct neuron_gen *gen;
	uint64_t regs;
	unsigned int index;
	char name[32];
	pthread_mutex_t lock;
	pthread_mutex_t memory_lock;
	_Atomic uint64_t irqs;
	pthread_cond_t work;
	uint64_t pokes;
	pthread_t keeper;
	bool has_keeper;
	_Atomic unsigned int waiters;
	struct emb_stack stack[NEURON_MAX_HBM];
	struct emb_core core[NEURON_MAX_UNITS];
	uint64_t last_gang;
	bool gang_began;
	struct emb_claim claim[EMB_CLAIMS];
	uint32_t last_claim;
	struct emb_bo **bo;
	uint32_t nr_bos;
	struct emb_import *import;
	uint32_t nr_imports;
	uint32_t free_import;
	struct emb_holder *series;
	uint32_t nr_series;
	pthread_mutex_t report_lock;
	struct emb_report *report;
	uint32_t nr_reports;
	uint64_t expires_ns;
};

/**
 * struct emb_timer - calls chips when the time has passed for which they asked
 * @lock: protects @leaving, and nrt_chip.expires_ns
 * @changed: there is something earlier, or nothing more
 * @thread, @started: who calls
 */
struct emb_timer {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool leaving;
	pthread_t thread;
	bool started;
};

/**
 * struct emb_machine - all chips of the process; freed with the last of them
 * @open: chips that are open; under @lock
 * @news: an interrupt has come
 * @pid: the process that has the threads and the chips
 * @leaving: the chips are being closed; under @news_lock
 * @mappings: of pieces of buffers
 * @check: the chips look for errors of programs
 * @debugger: who runs the chips, which have no threads then; or NULL
 * @port: of the chips
 */
struct emb_machine {
	const struct neuron_gen *gen;
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct emb_iova iova;
	pthread_mutex_t lock;
	struct emb_name *name;
	size_t nr_names;
	unsigned int open;
	unsigned int nr_chips;
	struct nrt_chip *chip;
	pthread_mutex_t news_lock;
	pthread_cond_t news;
	pid_t pid;
	bool leaving;
	_Atomic uint32_t mappings;
	bool check;
	const struct emb_debugger *debugger;
	pthread_mutex_t step_lock;
	struct emb_timer timer;
	struct trn_port port;
};

/* Is this a child of the process that has opened the chip? Nothing of it works there. */
static inline bool emb_forked(const struct nrt_chip *chip)
{
	return chip->machine->pid != getpid();
}

/* Elements of @size bytes, at most @max of them; else *@ret is set. */
static inline const void *emb_elements(const struct drm_neuron_array *array, size_t size,
				       uint32_t max, int *ret)
{
	if (array->count && (array->stride != size || array->count > max))
		*ret = -EINVAL;
	else if (array->count && !array->pointer)
		*ret = -EFAULT;
	return (const void *)(uintptr_t)array->pointer;
}

/* --- emb_machine.c --- */

nrt_open_all_fn emb_open_all;
void emb_close(struct nrt_chip *chip);
/* With the clock of nrt_clock_now(). */
void emb_cond_init(pthread_cond_t *cond);
/* Somebody may wait for what no interrupt announces. */
void emb_tell(struct nrt_chip *chip);
/* There is a job that perhaps nobody waits for. */
void emb_keeper_wake(struct nrt_chip *chip);
/* Wait until the chip has had more than @seen interrupts, or until @deadline_ns. */
void emb_wait_irq(struct nrt_chip *chip, uint64_t seen, uint64_t deadline_ns);
uint32_t emb_read(const struct nrt_chip *chip, uint64_t offset);
uint64_t emb_read64(const struct nrt_chip *chip, uint64_t offset);
void emb_write(const struct nrt_chip *chip, uint64_t offset, uint32_t value);

/* --- emb_timer.c --- */

void emb_timer_init(struct emb_timer *timer);
/* trn_chip_expire() in @delay_ns, or earlier if there is another request. Any thread. */
void emb_timer_ask(struct nrt_chip *chip, uint64_t delay_ns);
/* 0, or an errno: there is no thread. */
int emb_timer_start(struct emb_machine *machine);
void emb_timer_stop(struct emb_timer *timer);
void emb_timer_destroy(struct emb_timer *timer);

/* --- emb_memory.c --- */

void emb_iova_init(struct emb_iova *iova);
void emb_iova_destroy(struct emb_iova *iova);
/* Copy between @buf and the bus address; false: not all of it is memory. Any thread. */
bool emb_iova_read(struct emb_iova *iova, uint64_t addr, void *buf, size_t len);
bool emb_iova_write(struct emb_iova *iova, uint64_t addr, const void *buf, size_t len);
/* Copy memory that the device may write to, as it is at one moment. */
void emb_iova_snapshot(struct emb_iova *iova, void *to, const void *from, size_t len);

int emb_shared_alloc(struct emb_machine *machine, uint64_t size, struct emb_shared *shared);
void emb_shared_free(struct emb_machine *machine, struct emb_shared *shared);
/* The address as the chip's descriptors and tables have it. */
uint64_t emb_host_addr(const struct nrt_chip *chip, uint64_t addr);

void emb_memory_destroy(struct nrt_chip *chip);
/* With the chip's lock: the buffer of a handle, or NULL. */
struct emb_bo *emb_bo_find(struct nrt_chip *chip, uint32_t handle);
void emb_bo_get(struct emb_bo *bo);
/* @bo may be NULL. The caller may hold nrt_chip.lock of any chip. */
void emb_bo_put(struct emb_bo *bo);
/* In how many pieces [@offset, +@size) is, which is not empty and in the buffer. */
uint32_t emb_bo_pieces(const struct emb_bo *bo, uint64_t offset, uint64_t size);
/* Of these bytes the first ones, as many as lie side by side. */
struct emb_run emb_bo_run(const struct emb_bo *bo, uint64_t offset, uint64_t size);

int emb_bo_create(struct nrt_chip *chip, struct drm_neuron_bo_create *create);
int emb_bo_info(struct nrt_chip *chip, struct drm_neuron_bo_info *info);
void emb_bo_close(struct nrt_chip *chip, uint32_t handle);
int emb_bo_map(struct nrt_chip *chip, uint64_t offset, uint64_t size, void **map);
void emb_bo_unmap(struct nrt_chip *chip, void *map, uint64_t size);
int emb_bo_export(struct nrt_chip *chip, uint32_t handle, int *fd);
int emb_bo_import(struct nrt_chip *chip, int fd, uint32_t *handle);
int emb_copy(struct nrt_chip *chip, struct drm_neuron_copy *copy);

/* --- emb_hbm.c --- */

/*
 * Memory of the stack for a buffer that has its chip, stack and size. An error: it has none, but
 * perhaps the array for its pieces.
 */
int emb_hbm_alloc(struct emb_bo *bo);
/* It is cleared, and free. */
void emb_hbm_free(struct emb_bo *bo);
/* Where the CPU has the buffer, as long as that is there. */
int emb_hbm_map_bo(struct emb_bo *bo, void **map);
int emb_hbm_map(struct nrt_chip *chip, uint32_t stack, void **map, uint64_t *size);

/* --- emb_name.c --- */

/* A descriptor that names what @name says, as earlier ones do, or a negative errno. */
int emb_name_new(struct emb_machine *machine, const struct emb_name *name);
/* With emb_machine.lock: what @fd names, or false. */
bool emb_name_find(struct emb_machine *machine, int fd, struct emb_name *name);
/*
 * A buffer, @only or any, whose descriptors are all closed is kept by them no longer. Nothing
 * announces that, so this is called where it shows. True: there was one. Without emb_machine.lock.
 */
bool emb_names_sweep(struct emb_machine *machine, const struct emb_bo *only);
/* When the last chip is closed. */
void emb_names_destroy(struct emb_machine *machine);
/*
 * With emb_machine.lock: what a claim has granted of @core, or @series has no name any more; one of
 * them is NULL.
 */
void emb_names_forget(struct emb_machine *machine, const struct emb_core *core,
		      const struct emb_series *series);

/* --- emb_window.c --- */

/*
 * With the chip's lock: check a change of the table of a core that the claim has, which can
 * then be applied without an error, or dropped. Nothing else of the core may come between.
 */
int emb_change_begin(struct emb_core *core, const struct drm_neuron_array *windows,
		     struct emb_change *change);
void emb_change_apply(struct emb_core *core, struct emb_change *change);
void emb_change_drop(struct nrt_chip *chip, struct emb_change *change);
/*
 * With the chip's lock: @window of a buffer as the chip takes it, but for its list of extents, if
 * it has one.
 */
int emb_window_of_bo(struct nrt_chip *chip, const struct drm_neuron_window *window,
		     struct neuron_hw_window *hw, struct emb_binding *binding);
/* With the chip's lock: the lists of those of @nr windows that have one. */
int emb_lists_make(struct nrt_chip *chip, struct neuron_hw_window *hw,
		   struct emb_binding *binding, uint32_t nr);
/* With the chip's lock. It is empty then. */
void emb_binding_put(struct nrt_chip *chip, struct emb_binding *binding);
void emb_table_put(struct nrt_chip *chip, struct emb_table *table);
int emb_windows(struct nrt_chip *chip, struct drm_neuron_windows *windows);

/* --- emb_grant.c --- */

int emb_grant(struct nrt_chip *chip, struct drm_neuron_grant *grant);
int emb_grant_import(struct nrt_chip *chip, struct drm_neuron_grant_import *args);
int emb_grant_close(struct nrt_chip *chip, struct drm_neuron_grant_close *args);
/* With the chip's lock: what the descriptor or the handle of @window grants. False: nothing. */
bool emb_grant_find(struct nrt_chip *chip, const struct drm_neuron_window *window,
		    struct emb_name *name, uint32_t *generation);

/* --- emb_core.c; with the chip's lock but for claims and releases --- */

void emb_cores_init(struct nrt_chip *chip);
void emb_cores_destroy(struct nrt_chip *chip);
/*
 * Begin a reset, and ask for its end, or wait for that. 0: it is over; -EAGAIN: ask again, with an
 * interrupt or after EMB_RESET_POLL_NS; -EIO: the core does not answer.
 */
void emb_core_reset_begin(struct emb_core *core);
int emb_core_reset_end(struct emb_core *core);
int emb_core_reset_wait(struct emb_core *core);
struct emb_claim *emb_claim_find(struct nrt_chip *chip, uint32_t id);
/*
 * Core @index of @claim, for use: a CC-core is scrubbed when its claim uses it first. 0, -ENOENT
 * (no such claim), -EINVAL (the claim does not have it), or why it cannot be used.
 */
int emb_core_use(struct nrt_chip *chip, uint32_t claim, uint32_t index, struct emb_core **core);
/* The same of a core that has been used: -ENOENT also when it has not. */
int emb_core_used(struct nrt_chip *chip, uint32_t claim, uint32_t index,
		  struct emb_core **core);
int emb_claim(struct nrt_chip *chip, struct drm_neuron_claim *claim);
int emb_release(struct nrt_chip *chip, struct drm_neuron_release *release);

static inline bool emb_is_cc(const struct emb_core *core)
{
	return core->index >= NEURON_MAX_CORES;
}

static inline uint32_t emb_core_read(const struct emb_core *core, uint32_t reg)
{
	return emb_read(core->chip, core->regs + reg);
}

static inline void emb_core_write(const struct emb_core *core, uint32_t reg, uint32_t value)
{
	emb_write(core->chip, core->regs + reg, value);
}

/* --- emb_job.c --- */

/* With the chip's lock, or without threads: no later WAIT finds a result. */
void emb_results_forget(struct emb_core *core);
/* With the chip's lock: the result of job @id with a reference, or NULL: none, or no longer. */
struct emb_result *emb_result_find(const struct emb_core *core, uint64_t id);
struct emb_result *emb_result_get(struct emb_result *result);
void emb_result_put(struct emb_result *result);
/*
 * With the chip's lock: all jobs of the core end; it has been reset, or the chip has ended. Those
 * that have not begun have the error @unstarted.
 */
void emb_jobs_abort(struct emb_core *core, int unstarted);
/*
 * With the chip's lock, which is given up while this thread runs a short job: take what interrupts
 * announce; returns when to look again, or 0.
 */
uint64_t emb_service(struct nrt_chip *chip);
/* The same of a core; a gang may begin that the other cores must be looked at for. */
uint64_t emb_service_core(struct emb_core *core);
/* Around emb_service(): takes the chip's lock, and gives it back. @left: jobs run. */
void emb_look_begin(struct nrt_chip *chip);
void emb_look_end(struct nrt_chip *chip, bool left);
/* With the chip's lock: jobs and gangs that are being made, and the queue of a core. */
/* With the chip's lock: the completion record of the job that has the core's doorbell. */
const struct neuron_hw_completion *emb_core_completion(const struct emb_core *core);
struct emb_job *emb_job_new(uint64_t id);
void emb_job_free(struct nrt_chip *chip, struct emb_job *job);
struct emb_gang *emb_gang_new(struct nrt_chip *chip, uint32_t size);
void emb_gang_put(struct emb_gang *gang);
void emb_job_join(struct emb_job *job, struct emb_gang *gang, uint32_t index);
void emb_job_queue(struct emb_core *core, struct emb_job *job);
int emb_wait(struct nrt_chip *chip, struct drm_neuron_wait *wait);
int emb_cancel(struct nrt_chip *chip, struct drm_neuron_cancel *cancel);

/* --- emb_submit.c --- */

int emb_submit(struct nrt_chip *chip, struct drm_neuron_submit *submit);
int emb_submit_timed(struct nrt_chip *chip, struct drm_neuron_submit *submit,
		     const struct nrt_time_place *places);

/* --- emb_times.c --- */

int emb_series(struct nrt_chip *chip, struct nrt_series *series);
int emb_series_import(struct nrt_chip *chip, int fd, uint32_t *handle);
void emb_series_close(struct nrt_chip *chip, uint32_t handle);
/* When the last chip is closed. */
void emb_series_destroy(struct nrt_chip *chip);
int emb_settled(struct nrt_chip *chip, struct nrt_settled *settled);
/* With the chip's lock: the core has announced @cause, which is cleared. */
static inline void emb_times_note(struct emb_core *core, uint32_t cause)
{
	core->settled |= cause & NEURON_CORE_CAUSE_SETTLED;
}

/*
 * With the chip's lock: @job of @core, which is being made, is the member that @place says, if it
 * can be one. 0 or a negative errno. What is not submitted then will not come: emb_times_miss().
 */
int emb_times_join(struct emb_core *core, struct emb_job *job,
		   const struct nrt_time_place *place);
void emb_times_miss(struct emb_core *core, struct emb_job *job);
/* The job goes. */
void emb_times_put(struct nrt_chip *chip, struct emb_job *job);
/*
 * With the chip's lock: the job has ended with @record. Before its doorbell, or @lost, the device
 * may not have heard of it.
 */
void emb_times_end(struct emb_core *core, struct emb_job *job, const struct neuron_record *record,
		   bool lost);
/* With the chip's lock: the core's claim ends; it has been reset, and has no jobs. */
void emb_times_leave(struct emb_core *core);
/* Without threads, and without chips. */
void emb_times_forget(struct emb_core *core);
/* The address of the settle record of a member. */
uint64_t emb_times_at(const struct emb_core *core, const struct emb_job *job);

/* --- emb_dump.c --- */

/* With the chip's lock: keep what the core does, whose first job is about to be ended. */
void emb_dump_take(struct emb_core *core);
/* With the chip's lock, or without threads. */
void emb_dump_forget(struct emb_core *core);
int emb_dump(struct nrt_chip *chip, struct drm_neuron_dump *dump);

/* --- emb_debug.c; but for the first one with a debugger only --- */

const struct emb_debugger *emb_debugger(void);
/* Run the chips until the chip has had more than @seen interrupts, or nothing goes on. */
void emb_step(struct nrt_chip *chip, uint64_t seen);
/* The same for who waits for a job: the debugger is asked. False: the job is to be ended. */
bool emb_step_job(struct nrt_chip *chip, uint64_t seen);

/* --- emb_fault.c --- */

/* The faults that the environment asks for; when all chips are there. NRT_INVALID. */
NRT_STATUS emb_faults_order(struct emb_machine *machine, struct nrt_error *error);

/* --- emb_check.c --- */

/* Does the environment ask for checks? NRT_INVALID: for some that do not exist. */
NRT_STATUS emb_check_wanted(bool *wanted, struct nrt_error *error);
/* Keep a report. Any thread. */
void emb_check_report(struct nrt_chip *chip, const struct trn_report *report);
nrt_reports_fn emb_reports;
nrt_unwritten_fn emb_unwritten;
/* When a claim of core @core ends. */
void emb_reports_forget(struct nrt_chip *chip, uint32_t core);
void emb_check_destroy(struct nrt_chip *chip);

#endif /* LIBNRT_BACKEND_EMB_H */
