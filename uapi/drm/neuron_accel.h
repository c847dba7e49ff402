/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * Interface between the neuron accel driver and user space.
 *
 * Rules of evolution
 *  - Every struct is a multiple of 8 bytes, naturally aligned, without implicit
 *    padding; pads, reserved fields and unknown flags must be zero (-EINVAL).
 *  - Structs grow at their end only; a new field's zero means the old behaviour.
 *    What an older caller's struct lacks reads as zero; what a newer caller's has
 *    beyond the kernel's must be zero (-EINVAL).
 *  - Arrays are passed as {stride, count, pointer} (struct drm_neuron_array), so
 *    that their elements may grow in the same way.
 *  - The size that a struct or element had in version 2.0, or in the first one that has
 *    it, is its smallest one for ever: DRM_NEURON_*_SIZE_V2, at the end of this file. Less
 *    is refused (-EINVAL), and so is a size or stride that is no multiple of 8.
 *  - No number of things of the chip is part of a struct: QUERY tells it, or there is
 *    an array.
 *  - Pointers are __u64. Units are bytes and nanoseconds unless said.
 *
 * Objects
 *  - BO: a buffer in HBM of one stack or in host memory; a GEM handle.
 *  - Claim: exclusive ownership of some cores of the device, with their DMA
 *    rings; holds the window tables. Released with the file at the latest.
 *  - Grant: a file descriptor by which one claim lets another (of any device
 *    on the same fabric) post some semaphores of one core, or reach a part of
 *    its SBUF. It is void when the claim ends.
 *  - Job: one run of one core; completion is a syncobj and a result record.
 *  - Series: a file descriptor by which jobs of several claims, of any chips of a fabric,
 *    have their device times worked out together.
 *  - Transfer: a copy of buffers by DMA, with the same completion.
 */
#ifndef _UAPI_NEURON_ACCEL_H_
#define _UAPI_NEURON_ACCEL_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_NEURON_DRIVER_MAJOR		2
#define DRM_NEURON_DRIVER_MINOR		1

enum drm_neuron_ioctl_id {
	DRM_NEURON_QUERY = 0,
	DRM_NEURON_BO_CREATE,
	DRM_NEURON_BO_INFO,
	DRM_NEURON_COPY,
	DRM_NEURON_CLAIM,
	DRM_NEURON_RELEASE,
	DRM_NEURON_WINDOWS,
	DRM_NEURON_GRANT,
	DRM_NEURON_SUBMIT,
	DRM_NEURON_WAIT,
	DRM_NEURON_RESET,
	DRM_NEURON_BO_IMPORT,
	DRM_NEURON_CANCEL,
	DRM_NEURON_DUMP,
	DRM_NEURON_POST,
	DRM_NEURON_GRANT_IMPORT,
	DRM_NEURON_GRANT_CLOSE,
	DRM_NEURON_EVENTS,
	DRM_NEURON_TRANSFER,
	DRM_NEURON_SERIES,
	DRM_NEURON_SERIES_IMPORT,
	DRM_NEURON_SERIES_CLOSE,
	DRM_NEURON_TIMES,
};

/**
 * struct drm_neuron_array - array of extensible elements
 * @stride: size of an element in user space, a multiple of 8, at most 4096
 * @count: elements
 * @pointer: first element
 *
 * Where an array may be empty, @stride and @pointer of an empty one are not looked at. QUERY has a
 * rule of its own.
 */
struct drm_neuron_array {
	__u32 stride;
	__u32 count;
	__u64 pointer;
};

/* What drm_neuron_query.type asks for, and the struct that answers. */
enum drm_neuron_query_type {
	DRM_NEURON_QUERY_DEVICE = 0,	/* drm_neuron_device_info */
	DRM_NEURON_QUERY_MEMORY,	/* array of drm_neuron_memory_info */
	DRM_NEURON_QUERY_CORES,		/* array of drm_neuron_core_info */
	DRM_NEURON_QUERY_LINKS,		/* array of drm_neuron_link_info */
	DRM_NEURON_QUERY_CLOCKS,	/* drm_neuron_clock_info */
	DRM_NEURON_QUERY_COUNTERS,	/* drm_neuron_counter_info */
	DRM_NEURON_QUERY_USAGE,		/* array of drm_neuron_usage_info */
	DRM_NEURON_QUERY_QUEUES,	/* array of drm_neuron_queue_info */
	DRM_NEURON_QUERY_CC_CORES,	/* array of drm_neuron_core_info */
	DRM_NEURON_QUERY_LIMITS,	/* drm_neuron_limits_info */
	DRM_NEURON_QUERY_STACK_USAGE,	/* array of drm_neuron_stack_usage_info */
	DRM_NEURON_QUERY_LINK_COUNTERS,	/* array of drm_neuron_link_counter_info */
	DRM_NEURON_QUERY_QUEUE_COUNTERS,	/* array of drm_neuron_queue_counter_info */
	DRM_NEURON_QUERY_TENSOR_COUNTERS,	/* array of drm_neuron_tensor_counter_info */
};

/**
 * struct drm_neuron_query - query the device
 * @type: enum drm_neuron_query_type
 * @pad: zero
 * @answer: in: how large an element is in user space, for how many there is room, and
 *	where; a NULL pointer asks for the numbers only. out: how large an element is in
 *	the kernel, and how many there are; the pointer stays
 *
 * An answer that is no array has one element. As many elements are written as there is
 * room for; what the caller's have beyond the kernel's becomes zero. The stride is checked unless
 * the pointer is NULL, also when there is room for no element.
 *
 * What the device itself tells waits while the device is being reset.
 *
 * Errors: EINVAL unknown type, or elements smaller than those of version 2.0, EFAULT,
 * EIO (the device could not be started after a reset), ENODEV.
 */
struct drm_neuron_query {
	__u32 type;
	__u32 pad;
	struct drm_neuron_array answer;
};

/**
 * struct drm_neuron_device_info - identity and position
 * @generation: 2, 3, 4
 * @nr_cores: NeuronCores
 * @nr_hbm: HBM stacks
 * @nr_links: fabric links
 * @fabric_id: id of this chip on its fabric
 * @fabric_chips: chips on the fabric, 1 when alone
 * @rack: position: rack
 * @server: position: server in the rack
 * @chip: position: chip in the server
 * @routing_id: public routing id
 * @pci_domain: PCI domain
 * @pci_bus: PCI bus
 * @pci_devfn: PCI device and function
 * @numa_node: -1 when unknown
 * @features: bit 0: device time is modelled
 * @serial: serial number
 * @name: device name, e.g. "Trainium2", NUL terminated
 * @core_arch: e.g. "NCv3"
 * @nr_cc_cores: CC-cores
 * @first_cc_core: CC-core c is core @first_cc_core + c, wherever a core of a claim is
 *	meant
 * @nr_engines: engines of a core: the numbers of enum drm_neuron_engine below it are
 *	there
 * @nr_semaphores: semaphores of a core or CC-core
 * @core_dma_engines: DMA engines of each core that its jobs can use
 * @dma_queues: queues of a DMA engine
 *
 * The CC-cores belong in equal parts to the cores, the first ones to core 0, and come
 * with a claim of these. A CC-core has jobs, semaphores and windows of its own, no
 * counters to post, and of the engines only sync. Its windows of SBUF and PSUM show
 * those of its core, its DMA queues are those of its core: a queue has one job at a
 * time, and the second one fails. It is scrubbed before the claim uses it first.
 */
struct drm_neuron_device_info {
	__u32 generation;
	__u32 nr_cores;
	__u32 nr_hbm;
	__u32 nr_links;
	__u32 fabric_id;
	__u32 fabric_chips;
	__u32 rack;
	__u32 server;
	__u32 chip;
	__u32 routing_id;
	__u32 pci_domain;
	__u32 pci_bus;
	__u32 pci_devfn;
	__s32 numa_node;
	__u64 features;
	__u64 serial;
	char name[16];
	char core_arch[8];
	__u32 nr_cc_cores;
	__u32 first_cc_core;
	__u32 nr_engines;
	__u32 nr_semaphores;
	__u32 core_dma_engines;
	__u32 dma_queues;
};

/**
 * struct drm_neuron_limits_info - how much of something a call takes, or the driver keeps
 * @queued_jobs: jobs of a core or CC-core that SUBMIT has taken and that have not ended:
 *	at least 63
 * @gang_jobs: jobs of a submission
 * @job_queues: drm_neuron_job.queues
 * @windows: entries of a window table; also drm_neuron_job.windows, of all jobs of a
 *	submission together
 * @syncs: drm_neuron_submit.in_syncs, .out_syncs
 * @wait_jobs: drm_neuron_wait.jobs
 * @results: jobs of a core that have ended and whose results are kept, until the claim ends;
 *	and as many transfers of a queue of a file. One more that ends takes the place of the oldest
 * @post_entries: drm_neuron_post.entries
 * @events: records that an event file keeps
 * @grants: imported grants of a file
 * @event_files: event files of a file
 * @transfer_pieces: pieces of a TRANSFER
 * @transfer_queues: queues of the transfers of a file
 * @queued_transfers: transfers of a queue of a file that have not ended
 * @user_event_files: event files of a user on the device, of all files together
 * @device_event_files: event files of the device, of all users together
 * @queue_priorities: priorities of a DMA queue of a job, from 0 on; 1: all queues are equal
 * @job_timeout_ms: drm_neuron_job.timeout_ms if that is 0
 * @job_timeout_max_ms: the largest one
 * @job_timeout_cap: a job that makes progress ends after this many times its timeout
 * @claim_memory: bytes of kernel memory that the queued jobs, their lists of syncobjs to wait
 *	for, kept results and window tables of a claim take, and that the transfers of a file take
 * @user_memory: the same of all that a user has on the device
 */
struct drm_neuron_limits_info {
	__u32 queued_jobs;
	__u32 gang_jobs;
	__u32 job_queues;
	__u32 windows;
	__u32 syncs;
	__u32 wait_jobs;
	__u32 results;
	__u32 post_entries;
	__u32 events;
	__u32 grants;
	__u32 event_files;
	__u32 transfer_pieces;
	__u32 transfer_queues;
	__u32 queued_transfers;
	__u32 user_event_files;
	__u32 device_event_files;
	__u32 queue_priorities;
	__u32 job_timeout_ms;
	__u32 job_timeout_max_ms;
	__u32 job_timeout_cap;
	__u64 claim_memory;
	__u64 user_memory;
};

/**
 * struct drm_neuron_memory_info - one HBM stack
 * @size: populated bytes
 * @usable: bytes that buffers may use
 * @used: bytes allocated now, all processes
 */
struct drm_neuron_memory_info {
	__u64 size;
	__u64 usable;
	__u64 used;
};

#define DRM_NEURON_CORE_CLAIMED	(1u << 0)	/* somebody has it */
#define DRM_NEURON_CORE_BUSY	(1u << 1)	/* a job runs on it */
#define DRM_NEURON_CORE_STUCK	(1u << 2)	/* it did not answer a reset, and runs no jobs */

/**
 * struct drm_neuron_core_info - one core or CC-core
 * @hbm: nearest stack
 * @owner_pid: thread-group id of the claimer in the caller's pid namespace; 0: the core is
 *	free, or that namespace does not have the claimer, see @flags
 * @busy_ns: host time with a job running, since the driver was loaded
 * @jobs: jobs that have ended since then; neither goes down at a reset
 * @flags: DRM_NEURON_CORE_*; others may be added
 * @pad: zero
 */
struct drm_neuron_core_info {
	__u32 hbm;
	__u32 owner_pid;
	__u64 busy_ns;
	__u64 jobs;
	__u32 flags;
	__u32 pad;
};

/**
 * struct drm_neuron_link_info - one fabric link
 * @peer: fabric id of the other end
 * @state: 1 up, 0 down
 * @width: lanes
 * @mbps: MB/s in each direction
 */
struct drm_neuron_link_info {
	__u32 peer;
	__u32 state;
	__u32 width;
	__u32 mbps;
};

/**
 * struct drm_neuron_clock_info - clocks, read together
 * @device_ns: modelled device time, 0 when it is switched off
 * @host_ns: CLOCK_MONOTONIC at the same moment, to within a few microseconds
 * @engine_khz: clock of the scalar, gpsimd and sync engine at full speed
 * @throttle: percent of it that they run at now
 */
struct drm_neuron_clock_info {
	__u64 device_ns;
	__u64 host_ns;
	__u32 engine_khz;
	__u32 throttle;
};

/**
 * struct drm_neuron_counter_info - what went wrong since the driver was loaded
 * @hbm_corrected: corrected memory errors of all stacks, since power-on
 * @hbm_uncorrected: uncorrected ones
 * @sram_corrected: corrected errors of the memories of the cores
 * @sram_uncorrected: uncorrected ones
 * @violations: accesses outside of windows
 * @stale_posts: posts dropped because their grant was void
 * @faults: jobs that ended in an error of their own
 * @hangs: jobs aborted for making no progress
 * @core_resets: resets of a core by the driver
 * @device_resets: resets of the device by the driver
 * @reset_failures: of them not answered
 * @lost_interrupts: found by looking at the causes
 * @copy_errors: copies that failed
 * @link_changes: links that went up or down
 *
 * A reset of the device does not clear the counts from @violations on.
 */
struct drm_neuron_counter_info {
	__u64 hbm_corrected;
	__u64 hbm_uncorrected;
	__u64 sram_corrected;
	__u64 sram_uncorrected;
	__u64 violations;
	__u64 stale_posts;
	__u64 faults;
	__u64 hangs;
	__u64 core_resets;
	__u64 device_resets;
	__u64 reset_failures;
	__u64 lost_interrupts;
	__u64 copy_errors;
	__u64 link_changes;
};

/*
 * What memory is for: the owner says so when it creates a buffer, for whoever
 * looks at the accounts. It changes nothing else.
 */
enum drm_neuron_category {
	DRM_NEURON_CATEGORY_NONE = 0,
	DRM_NEURON_CATEGORY_CODE,
	DRM_NEURON_CATEGORY_TENSORS,
	DRM_NEURON_CATEGORY_CONSTANTS,
	DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD,
	DRM_NEURON_CATEGORY_SCRATCHPAD,
	DRM_NEURON_CATEGORY_RUNTIME,
	DRM_NEURON_CATEGORY_DRIVER,
	DRM_NEURON_CATEGORY_COLLECTIVES,
	DRM_NEURON_CATEGORY_NOTIFICATIONS,
	DRM_NEURON_CATEGORY_DMA_RINGS,
	DRM_NEURON_CATEGORY_DMA_BUFFERS,
	DRM_NEURON_CATEGORY_APPLICATION,
	DRM_NEURON_NR_CATEGORIES
};

/**
 * struct drm_neuron_usage_info - bytes of one category, all processes
 * @hbm: in all stacks
 * @host: in host memory, without @imported
 * @imported: user memory (BO_IMPORT)
 * @peak: largest sum of the three since the driver was loaded
 *
 * The array is by category. Memory counts until its last user lets go of it.
 */
struct drm_neuron_usage_info {
	__u64 hbm;
	__u64 host;
	__u64 imported;
	__u64 peak;
};

/**
 * struct drm_neuron_stack_usage_info - bytes of one category in one stack
 * @category: enum drm_neuron_category
 * @stack: HBM stack
 * @used: bytes, all processes
 * @peak: largest value since the driver was loaded
 *
 * The array has each category in each stack.
 */
struct drm_neuron_stack_usage_info {
	__u32 category;
	__u32 stack;
	__u64 used;
	__u64 peak;
};

#define DRM_NEURON_QUEUE_UNUSED	0	/* nobody's */
#define DRM_NEURON_QUEUE_CORE	1	/* who claims core @core has it, with CC-cores */
#define DRM_NEURON_QUEUE_KERNEL	2	/* the driver's own copies */

/**
 * struct drm_neuron_queue_info - who owns a DMA queue
 * @dma_engine: engine of the chip
 * @queue: of the engine
 * @core: core it belongs to; ~0: none
 * @ring: what a job writes into drm_neuron_queue.dma_engine to use this engine; ~0 when
 *	jobs cannot use it
 * @owner: DRM_NEURON_QUEUE_*
 * @pad: zero
 *
 * The array has all queues of an engine, then those of the next one.
 */
struct drm_neuron_queue_info {
	__u32 dma_engine;
	__u32 queue;
	__u32 core;
	__u32 ring;
	__u32 owner;
	__u32 pad;
};

/**
 * struct drm_neuron_link_counter_info - what a fabric link has carried
 * @bytes_sent: by this chip, or through it
 * @bytes_received: the same
 * @errors: accesses that found no way on from here
 *
 * The array has the links in the order of QUERY_LINKS. As all counters of the chip in
 * QUERY these are since the driver was loaded, and a reset of the device clears none; but
 * what was counted between the last look at a counter and a reset is missing. Asking for
 * them keeps no device awake.
 */
struct drm_neuron_link_counter_info {
	__u64 bytes_sent;
	__u64 bytes_received;
	__u64 errors;
};

/**
 * struct drm_neuron_queue_counter_info - what a DMA queue has moved
 * @dma_engine: engine of the chip
 * @queue: of the engine
 * @descriptors: that it has read
 * @bytes: that it has moved
 *
 * The array has the queues in the order of QUERY_QUEUES.
 */
struct drm_neuron_queue_counter_info {
	__u32 dma_engine;
	__u32 queue;
	__u64 descriptors;
	__u64 bytes;
};

/**
 * struct drm_neuron_tensor_counter_info - what some rows of a tensor engine's array did
 * @core: core
 * @rows: group of 32 rows, the first one is 0
 * @matmul_cycles: cycles in which the group multiplied
 * @weights_cycles: cycles in which it was loaded with the stationary operand
 * @idle_cycles: cycles of device time in which it did neither; brought up to date when a
 *	job of the core ends, 0 when device time is switched off
 *
 * Cycles are those of the engine's clock at full speed. The array has all groups of a core,
 * then those of the next one.
 */
struct drm_neuron_tensor_counter_info {
	__u32 core;
	__u32 rows;
	__u64 matmul_cycles;
	__u64 weights_cycles;
	__u64 idle_cycles;
};

#define DRM_NEURON_BO_HBM	0	/* in HBM stack @stack */
#define DRM_NEURON_BO_HOST	1	/* in host memory the device can reach */
#define DRM_NEURON_BO_USER	2	/* user memory; BO_INFO only */

/*
 * A notification stream: in host memory, mapped for reading only; NOTIFY of jobs
 * that name it writes it, and nothing else does. COPY reads it; windows and
 * TRANSFER do not reach it.
 */
#define DRM_NEURON_BO_STREAM	(1u << 0)

/**
 * struct drm_neuron_bo_create - create a buffer; it reads as zero
 * @size: in: bytes, non-zero; out: rounded up to pages
 * @placement: DRM_NEURON_BO_HBM or _HOST
 * @stack: HBM stack; 0 for HOST
 * @flags: DRM_NEURON_BO_STREAM
 * @handle: out: GEM handle
 * @mmap_offset: out: offset for mmap() of the device node
 * @category: enum drm_neuron_category
 * @pad: zero
 *
 * When a stack is full the log has a table of what is in it.
 * Errors: EINVAL, ENOSPC when the stack is full, or its free memory so scattered that the
 * buffer would be of more than 262,144 blocks, ENOMEM.
 */
struct drm_neuron_bo_create {
	__u64 size;
	__u32 placement;
	__u32 stack;
	__u32 flags;
	__u32 handle;
	__u64 mmap_offset;
	__u32 category;
	__u32 pad;
};

/* The device may only read the memory; it is pinned for reading. */
#define DRM_NEURON_IMPORT_READ_ONLY	(1u << 0)

/**
 * struct drm_neuron_bo_import - make a buffer of the caller's own memory
 * @user: first byte, multiple of the page size
 * @size: bytes, multiple of the page size
 * @flags: DRM_NEURON_IMPORT_*
 * @category: enum drm_neuron_category
 * @handle: out: GEM handle
 * @pad: zero
 *
 * The pages stay pinned until the last use of the buffer ends, count against
 * RLIMIT_MEMLOCK (unless CAP_IPC_LOCK) and cannot be pages of a device. The
 * buffer is not mapped through the device and not exported.
 * Errors: EINVAL, EFAULT, ENOMEM (limit, or no memory), EOPNOTSUPP when the
 * device cannot reach the pages themselves (bounce buffers).
 */
struct drm_neuron_bo_import {
	__u64 user;
	__u64 size;
	__u32 flags;
	__u32 category;
	__u32 handle;
	__u32 pad;
};

/**
 * struct drm_neuron_bo_info - look at a buffer
 * @handle: GEM handle
 * @placement: out: DRM_NEURON_BO_HBM, _HOST or _USER
 * @stack: out
 * @peer: out: 1 when imported from another chip of the fabric
 * @fabric_id: out: chip that holds it
 * @pad: zero
 * @size: out: bytes
 * @mmap_offset: out: 0 for a peer's buffer
 * @device_addr: out: plain device address of its first byte, for humans and
 *	nrt_tensor_get_device_allocation_info(); no ioctl takes it. Of a host
 *	buffer only with CAP_SYS_ADMIN, else 0
 * @category: out: enum drm_neuron_category
 * @flags: out: as given to BO_CREATE or BO_IMPORT
 */
struct drm_neuron_bo_info {
	__u32 handle;
	__u32 placement;
	__u32 stack;
	__u32 peer;
	__u32 fabric_id;
	__u32 pad;
	__u64 size;
	__u64 mmap_offset;
	__u64 device_addr;
	__u32 category;
	__u32 flags;
};

#define DRM_NEURON_COPY_TO_DEVICE	0	/* user memory to buffer */
#define DRM_NEURON_COPY_FROM_DEVICE	1	/* buffer to user memory */
#define DRM_NEURON_COPY_BUFFER		2	/* buffer to buffer */

/**
 * struct drm_neuron_copy - copy by DMA, in order, done on return
 * @direction: DRM_NEURON_COPY_*
 * @handle: buffer; the destination for _BUFFER
 * @offset: byte offset in it
 * @user: user memory, any alignment; 0 for _BUFFER
 * @src_handle: source buffer for _BUFFER, else 0
 * @flags: zero
 * @src_offset: byte offset in it
 * @size: bytes, any, may be 0
 *
 * The device moves the bytes; user pages are pinned in bounded pieces. No
 * buffer may be a peer's. A fatal signal ends the copy with EINTR after the
 * piece in flight.
 * Errors: EINVAL (range, wrong handle, ranges of one buffer that overlap), ENOENT,
 * EPERM (into a buffer imported read-only, or into a stream; copies out of a
 * stream are allowed), EFAULT, EINTR, EIO (device error), ETIMEDOUT, ENODEV, ENOMEM.
 */
struct drm_neuron_copy {
	__u32 direction;
	__u32 handle;
	__u64 offset;
	__u64 user;
	__u32 src_handle;
	__u32 flags;
	__u64 src_offset;
	__u64 size;
};

/*
 * Core dumps of the claim have what was in SBUF and PSUM, as far as 1 MiB for each
 * core holds what is not zero. Ending a job that fails takes up to five seconds
 * longer.
 */
#define DRM_NEURON_CLAIM_DUMP_MEMORY	(1u << 0)

/**
 * struct drm_neuron_claim - take cores, all or none
 * @cores: in: mask of cores wanted, or 0 with @count
 * @granted: out: mask of the cores now owned
 * @count: in: any @count free cores, consecutive; 0 with @cores
 * @flags: DRM_NEURON_CLAIM_*
 * @claim: out: claim id, valid in this file
 * @align: in, with @count: the number of the first core is a multiple of it, 2 for
 *	pairs of cores that work as one; 0 counts as 1
 *
 * The masks have room for 64 cores; those of a larger device would be in words at the end of the
 * struct. The cores are scrubbed: SBUF, PSUM, semaphores, registers are zero.
 * Errors: EINVAL, EBUSY when a core is claimed.
 */
struct drm_neuron_claim {
	__u64 cores;
	__u64 granted;
	__u32 count;
	__u32 flags;
	__u32 claim;
	__u32 align;
};

/**
 * struct drm_neuron_release - give a claim back
 * @claim: id of the claim; its running jobs are aborted
 * @pad: zero
 */
struct drm_neuron_release {
	__u32 claim;
	__u32 pad;
};

/* Window kinds; the same values as the hardware contract. */
#define DRM_NEURON_WINDOW_EMPTY	0
#define DRM_NEURON_WINDOW_BO	1	/* a buffer: HBM, host or a peer's */
#define DRM_NEURON_WINDOW_SBUF	3	/* the core's own */
#define DRM_NEURON_WINDOW_PSUM	4
#define DRM_NEURON_WINDOW_SEM	6	/* semaphores: own, a sibling's or granted ones */
#define DRM_NEURON_WINDOW_GRANT	8	/* SBUF of another core: a sibling's or granted */

#define DRM_NEURON_WINDOW_READ	(1u << 0)
#define DRM_NEURON_WINDOW_WRITE	(1u << 1)

/* Whose the semaphores or the SBUF of a window are. */
enum drm_neuron_window_from {
	DRM_NEURON_FROM_OWN = 0,	/* the core's own: SEM, and every other kind */
	DRM_NEURON_FROM_CORE,		/* those of @source, a core or CC-core of the same claim */
	DRM_NEURON_FROM_GRANT_FD,	/* what the file descriptor @source grants */
	DRM_NEURON_FROM_GRANT,		/* what the imported grant @source grants */
};

/**
 * struct drm_neuron_window - contents of one window
 * @index: entry of the table
 * @kind: DRM_NEURON_WINDOW_*
 * @rights: DRM_NEURON_WINDOW_READ, _WRITE
 * @handle: BO: GEM handle; else 0
 * @offset: BO: first byte, multiple of 4; SEM: first semaphore (of the grant's
 *	range with one); GRANT: first byte of the granted range, or of the sibling's SBUF
 * @length: bytes; SEM: 4 times the number of semaphores; 0 for SBUF and PSUM
 * @from: enum drm_neuron_window_from; not OWN only for SEM and GRANT, never OWN for GRANT
 * @source: which one; 0 for OWN
 *
 * The semaphores of another core can be posted, not read (-EPERM).
 */
struct drm_neuron_window {
	__u32 index;
	__u32 kind;
	__u32 rights;
	__u32 handle;
	__u64 offset;
	__u64 length;
	__u32 from;
	__s32 source;
};

/**
 * struct drm_neuron_windows - write entries of a claim's window table
 * @claim: claim id
 * @core: core the table belongs to
 * @windows: drm_neuron_window elements; all are checked before any is written
 *
 * Windows keep their buffers alive. Jobs submitted earlier keep what they were
 * submitted with.
 *
 * When the driver leaves a chip, windows onto its buffers stay in the tables of other
 * chips, but no job runs with one: the core of a job that does is reset, and the jobs
 * that were queued with one, or are submitted with it later, do not start. All of them
 * are ABORTED, with the error EIO. The other windows and jobs of the claim are as
 * before, and the next jobs run when the window was written anew.
 * Errors: EINVAL, ENOENT (handle, claim), EBADF (grant), EPERM (rights), EIO (the
 * claim or the buffer was lost in a reset), ENODEV (the device, or the chip of the
 * buffer, has left), ENOMEM.
 */
struct drm_neuron_windows {
	__u32 claim;
	__u32 core;
	struct drm_neuron_array windows;
};

/* What a grant gives; without one of these: semaphores. */
#define DRM_NEURON_GRANT_SBUF_READ	(1u << 0)
#define DRM_NEURON_GRANT_SBUF_WRITE	(1u << 1)

/**
 * struct drm_neuron_grant - let others post semaphores of a claimed core, or
 *	reach a part of its SBUF
 * @claim: claim id
 * @core: core
 * @first: first semaphore; SBUF: first byte, multiple of 4
 * @count: semaphores; SBUF: bytes, multiple of 4
 * @flags: DRM_NEURON_GRANT_*; zero for a CC-core
 * @fd: out: grant, close-on-exec
 *
 * The grant is void when its claim ends: by RELEASE, with the file, in a reset of the
 * device or when the device goes. Then poll() of the descriptor says POLLHUP, and
 * windows of it that exist post and write nothing, and cannot be read.
 * Errors: EINVAL, ENOENT, EIO (the claim is lost), ENOMEM, EMFILE.
 */
struct drm_neuron_grant {
	__u32 claim;
	__u32 core;
	__u32 first;
	__u32 count;
	__u32 flags;
	__s32 fd;
};

/**
 * struct drm_neuron_grant_import - give a grant a handle in this file
 * @fd: grant, of any chip of the fabric; it may be closed afterwards
 * @handle: out: for windows with DRM_NEURON_FROM_GRANT; never 0, another one for each
 *	import
 *
 * QUERY_LIMITS tells how many a file can have.
 * Errors: EBADF (no grant), EOPNOTSUPP (the fabric does not reach its chip), ENOSPC,
 * ENOMEM.
 */
struct drm_neuron_grant_import {
	__s32 fd;
	__u32 handle;
};

/**
 * struct drm_neuron_grant_close - give up an imported grant
 * @handle: from GRANT_IMPORT
 * @pad: zero
 *
 * Windows of it stay as they are.
 * Errors: ENOENT, EINVAL.
 */
struct drm_neuron_grant_close {
	__u32 handle;
	__u32 pad;
};

/* Members that a group of a series has at most, and groups that a member can leave out at once. */
#define DRM_NEURON_SERIES_MEMBERS	4096
#define DRM_NEURON_SERIES_STEP		1024
/* Series that a file has imported and not closed. */
#define DRM_NEURON_SERIES_HANDLES	1024

/**
 * struct drm_neuron_series - make a series of time groups
 * @members: of each of its groups, 1 to DRM_NEURON_SERIES_MEMBERS
 * @flags: zero
 * @fd: out: series, close-on-exec
 * @pad: zero
 *
 * A time group is a set of jobs on any cores of the chips of one fabric, whose device times
 * are worked out together: they slow each other down where they share links, memory or DMA
 * engines. The jobs start, run and end as if there were no group, and their times come when
 * all have ended (TIMES).
 *
 * The groups of a series have the numbers 1, 2 and so on. Each member comes to them in this
 * order, with one job each, and says so in struct drm_neuron_job. The descriptor gives the
 * right to be a member after SERIES_IMPORT, also to other processes and on other chips of the
 * fabric, and nothing else.
 * Errors: EINVAL, EOPNOTSUPP (the device has no time groups), ENOMEM, EMFILE.
 */
struct drm_neuron_series {
	__u32 members;
	__u32 flags;
	__s32 fd;
	__u32 pad;
};

/**
 * struct drm_neuron_series_import - give a series a handle in this file
 * @fd: series, made on any chip of the fabric; it may be closed afterwards
 * @handle: out: for drm_neuron_job.series; never 0, another one for each import, and none
 *	comes twice
 *
 * The first job by a handle that is a member makes that member the handle's: jobs by other
 * handles are not that member, they run without a group.
 * Errors: EBADF (no series), EOPNOTSUPP (another fabric, or the device has no time groups),
 * ENOSPC (DRM_NEURON_SERIES_HANDLES), ENOMEM.
 */
struct drm_neuron_series_import {
	__s32 fd;
	__u32 handle;
};

/**
 * struct drm_neuron_series_close - give up an imported series
 * @handle: from SERIES_IMPORT
 * @pad: zero
 *
 * Jobs that were submitted with it stay members. No others come: all groups behind the last
 * one of its member are inexact, now and later. If it is no member, all groups are, unless
 * each member has had a job. The end of the file does the same with all its handles, and so
 * does the removal of the device.
 * Errors: ENOENT, EINVAL.
 */
struct drm_neuron_series_close {
	__u32 handle;
	__u32 pad;
};

/* Why device times of a member are not those of the whole group. */
enum drm_neuron_settle_cause {
	DRM_NEURON_SETTLE_FINE = 0,	/* they are */
	DRM_NEURON_SETTLE_MEMBER = 1,	/* a member failed, was aborted, or its chip left */
	DRM_NEURON_SETTLE_ENDED = 2,	/* a member will not come, or cannot be one */
	DRM_NEURON_SETTLE_OVERFLOW = 3,	/* no room for what is recorded, or too far behind */
	DRM_NEURON_SETTLE_ORDER = 4,	/* behind another group that is inexact or comes late */
};

/**
 * struct drm_neuron_times - device times of a job that was submitted as a member
 * @claim: claim id
 * @core: core it ran on
 * @job: job id
 * @deadline_ns: how long to wait for them, as in struct drm_neuron_wait
 * @start_ns: out: modelled device time of its start
 * @end_ns: out: modelled device time of its end; both 0 when the device models none
 * @cause: out: enum drm_neuron_settle_cause; others may be added. FINE: the times are exact.
 *	Else they are those of a job for itself
 * @pad: zero
 *
 * Times that are known do not change, and are kept as long as the result of the job.
 * The call can be restarted after EINTR as it is.
 * Errors: ETIMEDOUT (not known at the deadline), EINTR, ENOENT (claim, unknown or forgotten
 * job), EINVAL (core, or the job was not submitted as a member).
 */
struct drm_neuron_times {
	__u32 claim;
	__u32 core;
	__u64 job;
	__s64 deadline_ns;
	__u64 start_ns;
	__u64 end_ns;
	__u32 cause;
	__u32 pad;
};

/* Engines of a core; QUERY_DEVICE tells how many there are. */
enum drm_neuron_engine {
	DRM_NEURON_ENGINE_TENSOR = 0,
	DRM_NEURON_ENGINE_VECTOR,
	DRM_NEURON_ENGINE_SCALAR,
	DRM_NEURON_ENGINE_GPSIMD,
	DRM_NEURON_ENGINE_SYNC,
};

/**
 * struct drm_neuron_start - entry point of an engine
 * @addr: window address (neuron_window_addr()) of the first instruction
 * @count: instructions, 0: not started
 * @engine: enum drm_neuron_engine
 */
struct drm_neuron_start {
	__u64 addr;
	__u32 count;
	__u32 engine;
};

/**
 * struct drm_neuron_queue - a queue the job may trigger
 * @m2s_ring: window address of the ring that reads memory
 * @s2m_ring: window address of the ring that writes memory
 * @m2s_length: descriptors in the ring at @m2s_ring: a multiple of 16, at least 32
 * @s2m_length: descriptors in the ring at @s2m_ring: a multiple of 16, at least 32
 * @dma_engine: which of the core's DMA engines
 * @queue: which queue of that engine
 * @flags: DRM_NEURON_QUEUE_ANY_RING_ID, and DRM_NEURON_QUEUE_PRIORITY: 0, the highest, to 3;
 *	before NeuronCore-v4 it is 0
 */
struct drm_neuron_queue {
	__u64 m2s_ring;
	__u64 s2m_ring;
	__u32 m2s_length;
	__u32 s2m_length;
	__u16 dma_engine;
	__u16 queue;
	__u32 flags;
};

#define DRM_NEURON_QUEUE_ANY_RING_ID	(1u << 0)
#define DRM_NEURON_QUEUE_PRIORITY	(3u << 8)
#define DRM_NEURON_QUEUE_PRIORITY_SHIFT	8

/* In-syncs: what waits for it runs also if its fence ends with an error. */
#define DRM_NEURON_SYNC_IGNORE_ERROR	(1u << 0)

/**
 * struct drm_neuron_sync - a syncobj and a timeline point
 * @handle: syncobj
 * @flags: DRM_NEURON_SYNC_*; zero for an out-sync
 * @point: timeline point; 0 for a binary syncobj
 *
 * A job or transfer does not run, and ends with ECANCELED, if the fence of an in-sync ends
 * with an error. A fence that several in-syncs name is waited for once. Its error is ignored
 * only if all of them have DRM_NEURON_SYNC_IGNORE_ERROR.
 *
 * A point of a timeline signals when all earlier ones have, and has the error of its own fence
 * alone. If an earlier point failed and its own job succeeds, it has none: what waits for it
 * runs. It has ECANCELED if its job waited for the point that failed. DRM forgets the error of
 * a point that has signalled when a later point is there: then the earlier one counts as good
 * for what is submitted. So the errors that matter are that of the last point, and that of a
 * point that has not signalled at the submission.
 */
struct drm_neuron_sync {
	__u32 handle;
	__u32 flags;
	__u64 point;
};

/**
 * struct drm_neuron_job - a job of a submission
 * @core: core of the claim
 * @flags: zero
 * @starts: drm_neuron_start elements, at most one for each engine; engines without one
 *	are not started
 * @queues: drm_neuron_queue elements
 * @sem_clear: __u64 elements, at most as many as hold all semaphores: bit i % 64 of
 *	element i / 64 clears semaphore i at the start
 * @notify_addr: window address of the notification stream, or 0
 * @notify_size: bytes, power of two from 64, or 0
 * @timeout_ms: how long the job may make no progress, at most
 *	drm_neuron_limits_info.job_timeout_max_ms; 0: the driver's default. QUERY_LIMITS
 *	tells both, and how many times as long a job may run that makes progress
 * @windows: drm_neuron_window elements, written to the table before the job as
 *	by WINDOWS
 * @stream: handle of a DRM_NEURON_BO_STREAM buffer that NOTIFY writes instead
 *	of @notify_addr, which is then zero; or 0
 * @stream_offset: bytes, multiple of 16; the stream ends at @notify_size
 * @trace: handle of a buffer of this device, in HBM or in host memory, that the device
 *	writes the trace of the job to; or 0
 * @rank: of the job's programs among those that they exchange data with; they read it
 *	with an instruction, and nothing else uses it
 * @trace_offset: first byte of the trace, a multiple of 64
 * @trace_size: bytes; at least 104: the header and one record
 * @series: handle of an imported series of time groups, or 0: the job is in no group
 * @member: which member of its group the job is, less than drm_neuron_series.members; else 0
 * @group: number of the group in the series: larger than that of the last job of the same
 *	@member, by DRM_NEURON_SERIES_STEP at most; else 0. Groups in between lack that member
 *
 * A trace is what the engines and queues of the job did, and when: struct neuron_hw_trace
 * and, behind it, struct neuron_hw_trace_record of the hardware contract (contract/trace.h).
 * The header is written when the job starts; its @job_id has the job's number in its low
 * 32 bits. It can be read while the job runs. When it is full the rest is counted. Records
 * whose times are not exact are marked, as the result of the job is.
 *
 * A job that cannot be a member runs without a group, and TIMES says why. This happens when
 * the handle was closed, when the member is another handle's, when the job has a trace, which
 * must be complete when the job ends, and when too many jobs of the core wait for their times.
 */
struct drm_neuron_job {
	__u32 core;
	__u32 flags;
	struct drm_neuron_array starts;
	struct drm_neuron_array queues;
	struct drm_neuron_array sem_clear;
	__u64 notify_addr;
	__u32 notify_size;
	__u32 timeout_ms;
	struct drm_neuron_array windows;
	__u32 stream;
	__u32 stream_offset;
	__u32 trace;
	__u32 rank;
	__u64 trace_offset;
	__u64 trace_size;
	__u32 series;
	__u32 member;
	__u64 group;
};

/* Write @fill instead of what a buffer has. */
#define DRM_NEURON_TRANSFER_FILL	(1u << 0)

/* For ever: a fourth dimension would be another ioctl. */
#define DRM_NEURON_TRANSFER_DIMS	3

/**
 * struct drm_neuron_transfer - copy between buffers by DMA, without waiting for it
 * @dst: buffer that is written: HBM, host, a peer's, or imported user memory
 * @src: buffer that is read; 0 with _FILL
 * @dst_offset: first byte in @dst
 * @src_offset: first byte in @src; 0 with _FILL, like each @src_step
 * @bytes: of a run, which is contiguous in both buffers; not 0
 * @count: how often each dimension repeats what those before it describe, the innermost
 *	one first; 0 counts as 1
 * @dst_step: of each dimension, bytes from one to the next in the destination
 * @src_step: of each dimension, bytes from one to the next in the source; 0 repeats it
 * @fill: with _FILL, else 0: each run consists of these 8 bytes again and again, the
 *	lowest one first
 * @flags: DRM_NEURON_TRANSFER_*
 * @queue: of the file, less than drm_neuron_limits_info.transfer_queues
 * @in_syncs: drm_neuron_sync elements to wait for, as for SUBMIT
 * @out_syncs: drm_neuron_sync elements to signal
 * @transfer: out: id of the transfer in this file, for WAIT and CANCEL with
 *	DRM_NEURON_NO_CLAIM
 *
 * A run is moved in pieces: a piece ends where the run does, where the memory on either
 * side is not contiguous (host memory at any page, HBM in large blocks), and after 64 KiB
 * (32 KiB with _FILL). A transfer has drm_neuron_limits_info.transfer_pieces at most
 * (E2BIG). However scattered the memory is, a run of n bytes takes at most 2 * (n / 4096) + 3.
 *
 * The transfers of a queue begin and end in the order in which they were submitted: one
 * that waits for a syncobj keeps those behind it waiting, but not those of other queues.
 * Each queue of a file belongs to a copy queue of the device, the next one to the next, so
 * transfers of different queues can move bytes at the same time.
 * The next one may begin before one has ended, so what needs the bytes of another transfer
 * waits for its syncobj, in the same queue, too. Until a transfer has ended nothing is
 * certain about the bytes that it writes: its pieces have no order, and after the failure
 * of another one some are moved again. So what a transfer writes twice, or reads as well,
 * is undefined; if it has no dimensions that is refused (EINVAL).
 *
 * A transfer holds its buffers. When its file is closed it goes on if it has begun, and
 * does not begin (ESRCH) if it has not. It fails with EIO when the device is reset before
 * its end, also if its turn comes later and it was cancelled meanwhile; and when the chip
 * of one of its buffers is reset or leaves before its end. Its result (WAIT) says how many
 * bytes were moved for sure, from the first piece on: none if the memory of one of its
 * buffers was lost.
 * Errors: EINVAL, E2BIG, ENOENT (handle, syncobj), EPERM (into a buffer imported
 * read-only, into or out of a stream), EIO (a buffer was lost in a reset), EBUSY
 * (drm_neuron_limits_info.queued_transfers of the queue have not ended), ENODEV, ENOMEM.
 */
struct drm_neuron_transfer {
	__u32 dst;
	__u32 src;
	__u64 dst_offset;
	__u64 src_offset;
	__u64 bytes;
	__u64 count[DRM_NEURON_TRANSFER_DIMS];
	__u64 dst_step[DRM_NEURON_TRANSFER_DIMS];
	__u64 src_step[DRM_NEURON_TRANSFER_DIMS];
	__u64 fill;
	__u32 flags;
	__u32 queue;
	struct drm_neuron_array in_syncs;
	struct drm_neuron_array out_syncs;
	__u64 transfer;
};

/* How a job ended. */
enum drm_neuron_job_status {
	DRM_NEURON_JOB_NONE = 0,	/* it has not ended */
	DRM_NEURON_JOB_OK = 1,
	DRM_NEURON_JOB_ERROR = 2,	/* cause, source, pc, addr say why */
	DRM_NEURON_JOB_ABORTED = 3,	/* by a reset of its core or device, or it never ran */
};

/* Why a job ended in error, or was aborted. */
enum drm_neuron_cause {
	DRM_NEURON_CAUSE_NONE = 0,
	DRM_NEURON_CAUSE_JOB = 1,	/* malformed job block or tables */
	DRM_NEURON_CAUSE_OPCODE = 2,	/* unknown, or not for this engine */
	DRM_NEURON_CAUSE_OPERAND = 3,	/* illegal field, type or shape */
	DRM_NEURON_CAUSE_ACCESS = 4,	/* outside SBUF or PSUM */
	DRM_NEURON_CAUSE_WINDOW = 5,	/* address outside its window */
	DRM_NEURON_CAUSE_RIGHTS = 6,	/* window without that right */
	DRM_NEURON_CAUSE_PC = 7,	/* ran or branched out of its image */
	DRM_NEURON_CAUSE_QUEUE = 8,	/* queue not in the table, or another job has it */
	DRM_NEURON_CAUSE_SEMAPHORE = 9,	/* semaphore or event not the job's */
	DRM_NEURON_CAUSE_DESC = 10,	/* malformed descriptor */
	DRM_NEURON_CAUSE_RING_ID = 11,
	DRM_NEURON_CAUSE_HOST = 12,	/* host address is not memory */
	DRM_NEURON_CAUSE_FABRIC = 13,	/* no such peer, link down, refused */
	DRM_NEURON_CAUSE_HOST_LIMIT = 14,	/* host-limit of the device reached */
	DRM_NEURON_CAUSE_ECC = 15,	/* uncorrectable memory error */
	DRM_NEURON_CAUSE_ADDRESS = 16,	/* plain address maps to nothing */
	DRM_NEURON_CAUSE_RESET = 17,	/* aborted by a reset */
	DRM_NEURON_CAUSE_ABORT = 18,	/* DMA engine in the abort state */
	DRM_NEURON_CAUSE_GANG = 19,	/* a member of its gang failed: pc says which */
};

/* Where, when it is not an enum drm_neuron_engine. */
#define DRM_NEURON_SOURCE_DMA	0x100	/* a DMA queue */
#define DRM_NEURON_SOURCE_JOB	0x200	/* the job as a whole */

/*
 * Device times of the job are not exact: they depend on how fast the host ran it, because so
 * much of it waited for one engine that the memory for device time ran out.
 */
#define DRM_NEURON_JOB_INEXACT	(1u << 0)
/* The driver aborted the job because it made no progress. */
#define DRM_NEURON_JOB_HANG	(1u << 1)

/* As a claim id: not a job of a claim, but a transfer of the file. The core is 0. */
#define DRM_NEURON_NO_CLAIM	0

/* The jobs are a gang; a gang of one job is as good as a job. */
#define DRM_NEURON_SUBMIT_GANG	(1u << 0)

/**
 * struct drm_neuron_submit - queue a job, or a gang of jobs, of a claim
 * @claim: claim id
 * @flags: DRM_NEURON_SUBMIT_*
 * @jobs: drm_neuron_job elements, at least one, each of another core; several only with
 *	_GANG (EINVAL). All are checked before any is queued
 * @in_syncs: drm_neuron_sync elements to wait for; each must have a fence by now
 *	(EINVAL), see WAIT
 * @out_syncs: drm_neuron_sync elements to signal when all jobs have ended
 * @job: out: id of the first job, increasing in the claim; each further job has the
 *	next number
 *
 * Jobs of a core run in order of submission. A faulting or hung job signals its
 * fence with an error; its result says why.
 *
 * The jobs of a gang start together, when each of them has its turn on its core. When
 * one fails, is cancelled or cannot start, all that have not ended end: with status
 * ERROR, cause GANG, and @pc of the result is the index of the job that was the first to
 * fail. Their error is ECANCELED, and that of the first one tells why. Each job has a result
 * of its own; @out_syncs have the error of the first job that ended with an error. If the claim
 * ends before the gang starts, the errors are ECANCELED or ESRCH; if the device leaves before
 * that, all are ENODEV. All cores get the gangs of a claim in the same order.
 *
 * When the submission fails, no job is queued and the window tables are as they were.
 * QUERY_LIMITS tells how many jobs can be in the queue of a core, and how long arrays are.
 * Errors: EINVAL, ENOENT (also a series that this file never had), EBUSY (the queue of a core
 * is full until one of its jobs ends), ENODEV, ENOMEM; those of WINDOWS.
 */
struct drm_neuron_submit {
	__u32 claim;
	__u32 flags;
	struct drm_neuron_array jobs;
	struct drm_neuron_array in_syncs;
	struct drm_neuron_array out_syncs;
	__u64 job;
};

/**
 * struct drm_neuron_wait_job - a job to wait for, and its result
 * @claim: claim id, or DRM_NEURON_NO_CLAIM
 * @core: core it runs on
 * @job: job id from submit, or id of the transfer
 * @status: out: enum drm_neuron_job_status; 0: it has not ended, and what follows is zero
 * @cause: out: enum drm_neuron_cause; others may be added. HOST of an aborted job means that
 *	the device could not read it
 * @source: out: engine, or DRM_NEURON_SOURCE_*
 * @queue: out: with DRM_NEURON_SOURCE_DMA, and with cause QUEUE: queue of @dma_engine,
 *	and DRM_NEURON_QUEUE_WRITES for the ring that writes memory
 * @pc: out: instruction or descriptor index; with cause GANG: the job of the submission
 *	that was the first to fail
 * @error: out: the error of its fence, as sync files tell it: 0 or a negative errno, and
 *	for an aborted job the reason. EIO: it faulted, the core or the device failed or was
 *	reset; ETIMEDOUT: it made no progress; ECANCELED: by CANCEL, RESET or RELEASE, or
 *	because what it waited for, or another one of its gang, failed; ESRCH: its claim or
 *	file ended before it could start; ENODEV: the device went away. Others may be added
 * @addr: out: failing address as the program wrote it
 * @start_ns: out: modelled device time of its start
 * @end_ns: out: modelled device time of its end. Of a member of a time group these are the
 *	times that it would have if it never had to share anything: TIMES has the others
 * @instructions: out: instructions executed
 * @dma_bytes: out: bytes moved by its queues
 * @wall_ns: out: host time from the doorbell until the driver ended the job. If the job failed
 *	or was aborted, that includes its core dump and the reset of its core. Of a transfer: from
 *	its turn until its end. 0: the job never started
 * @doorbell_ns: out: CLOCK_MONOTONIC time of the doorbell; of a transfer: of its turn, also if it
 *	did not begin then. 0: the job never started
 * @dma_engine: out: engine of the chip, with @queue
 * @flags: out: DRM_NEURON_JOB_*; others may be added
 *
 * Of a transfer: status, cause, error, flags, wall_ns and doorbell_ns; dma_bytes is how many bytes
 * are known to be moved, and pc, after an error of the device, the first piece that is not.
 */
struct drm_neuron_wait_job {
	__u32 claim;
	__u32 core;
	__u64 job;
	__u16 status;
	__u16 cause;
	__u16 source;
	__u16 queue;
	__u32 pc;
	__s32 error;
	__u64 addr;
	__u64 start_ns;
	__u64 end_ns;
	__u64 instructions;
	__u64 dma_bytes;
	__u64 wall_ns;
	__u64 doorbell_ns;
	__u32 dma_engine;
	__u32 flags;
};

#define DRM_NEURON_QUEUE_WRITES	(1u << 15)

/* Wait until all jobs have ended; without it, until one has. */
#define DRM_NEURON_WAIT_ALL	(1u << 0)

/**
 * struct drm_neuron_wait - wait for jobs and fetch their results
 * @flags: DRM_NEURON_WAIT_*
 * @index: out: first element whose job has ended, or the number of elements; after
 *	ENOENT, and EINVAL for a claim or core, the element that is wrong
 * @deadline_ns: CLOCK_MONOTONIC time; 0, or one that has passed, polls, INT64_MAX waits
 *	for ever. As for syncobjs the time is that of the initial time namespace
 * @jobs: drm_neuron_wait_job elements, at least one, of any claims of this file
 *
 * With success and with ETIMEDOUT the results of all jobs that have ended are written.
 * The call can be restarted after EINTR as it is: the deadline stays.
 *
 * The results of the last jobs of a core that have ended, as many as QUERY_LIMITS tells,
 * are kept until the claim is released, those of as many transfers of a queue until the
 * file is closed. A call that began before a job is forgotten always gets its result.
 *
 * To wait until a point of a timeline has a fence, so that SUBMIT takes it as an
 * in-sync: DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT with
 * DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE.
 * Errors: ETIMEDOUT, EINTR, ENOENT (unknown or forgotten job), EINVAL, EFAULT, ENOMEM.
 */
struct drm_neuron_wait {
	__u32 flags;
	__u32 index;
	__s64 deadline_ns;
	struct drm_neuron_array jobs;
};

/**
 * struct drm_neuron_reset - abort what runs on a claimed core and scrub it
 * @claim: claim id
 * @core: core
 *
 * Queued jobs of the core end with ECANCELED.
 */
struct drm_neuron_reset {
	__u32 claim;
	__u32 core;
};

/**
 * struct drm_neuron_cancel - end one job
 * @claim: claim id, or DRM_NEURON_NO_CLAIM: a transfer that has not begun does not
 * @core: core
 * @job: job id. Queued: it does not run. Running: the core is reset, and the
 *	jobs behind it run after that. The others of its gang end, see SUBMIT
 *
 * Its fence ends with ECANCELED, of a queued job when its turn comes, whatever
 * the job waits for. Nothing happens when the job has ended.
 * Errors: ENOENT (no such claim or job, or forgotten: see WAIT), EINVAL, EIO (the
 * core does not answer).
 */
struct drm_neuron_cancel {
	__u32 claim;
	__u32 core;
	__u64 job;
};

/*
 * Also what was in SBUF and PSUM, as hexadecimal text, zeros left out; nothing when
 * the claim was made without DRM_NEURON_CLAIM_DUMP_MEMORY.
 */
#define DRM_NEURON_DUMP_MEMORY	(1u << 0)

/**
 * struct drm_neuron_dump - fetch the last core dump of a claimed core
 * @claim: claim id
 * @core: core
 * @flags: DRM_NEURON_DUMP_*
 * @size: in: bytes at @pointer; out: bytes of the whole dump
 * @pointer: where to write the text (no NUL); NULL to ask for the size
 * @job: out: job it is of
 *
 * Only the claim's own faults and hangs; the last one is kept until the next
 * or the end of the claim. The text is that of the driver's documentation. Of
 * jobs that fail faster than their dumps can be published some have none.
 * Errors: ENOENT (no such claim, no dump), EINVAL, EFAULT, ENOMEM.
 */
struct drm_neuron_dump {
	__u32 claim;
	__u32 core;
	__u32 flags;
	__u32 size;
	__u64 pointer;
	__u64 job;
};

/*
 * What the owner of a core tells those who monitor it; the names are those of
 * the public driver's sysfs tree, in its order.
 */
enum drm_neuron_status_counter {
	DRM_NEURON_STATUS_SUCCESS = 0,
	DRM_NEURON_STATUS_FAILURE,
	DRM_NEURON_STATUS_TIMEOUT,
	DRM_NEURON_STATUS_EXEC_BAD_INPUT,
	DRM_NEURON_STATUS_HW_ERROR,
	DRM_NEURON_STATUS_COMPLETED_WITH_ERROR,
	DRM_NEURON_STATUS_COMPLETED_WITH_NUM_ERROR,
	DRM_NEURON_STATUS_GENERIC_ERROR,
	DRM_NEURON_STATUS_RESOURCE_ERROR,
	DRM_NEURON_STATUS_RESOURCE_NC_ERROR,
	DRM_NEURON_STATUS_FAILED_TO_QUEUE,
	DRM_NEURON_STATUS_INVALID_ERROR,
	DRM_NEURON_STATUS_UNSUPPORTED_NEFF_VERSION,
	DRM_NEURON_STATUS_OOB_ERROR,
	DRM_NEURON_STATUS_HW_COLLECTIVES_ERROR,
	DRM_NEURON_STATUS_HW_HBM_UE_ERROR,
	DRM_NEURON_STATUS_HW_NC_UE_ERROR,
	DRM_NEURON_STATUS_HW_DMA_ABORT_ERROR,
	DRM_NEURON_STATUS_SW_NQ_OVERFLOW,
	DRM_NEURON_STATUS_SW_SEMAPHORE_ERROR,
	DRM_NEURON_STATUS_SW_EVENT_ERROR,
	DRM_NEURON_STATUS_SW_PSUM_COLLISION,
	DRM_NEURON_STATUS_SW_SEQUENCER_FATAL,
	DRM_NEURON_STATUS_HW_REPAIRABLE_HBM_UE_ERROR,
	DRM_NEURON_STATUS_MODEL_LOAD_COUNT,
	DRM_NEURON_STATUS_INFERENCE_COUNT,
	DRM_NEURON_STATUS_FLOP_COUNT,
	DRM_NEURON_NR_STATUS_COUNTERS
};

/**
 * struct drm_neuron_post_entry - add to a counter
 * @counter: enum drm_neuron_status_counter
 * @pad: zero
 * @add: what to add
 */
struct drm_neuron_post_entry {
	__u32 counter;
	__u32 pad;
	__u64 add;
};

/**
 * struct drm_neuron_post - post status counters of a claimed core
 * @claim: claim id
 * @core: core
 * @entries: drm_neuron_post_entry elements; all are checked before any is added
 *
 * Anybody can read the sums in sysfs; the driver makes no use of them.
 * Errors: EINVAL, ENOENT, EFAULT.
 */
struct drm_neuron_post {
	__u32 claim;
	__u32 core;
	struct drm_neuron_array entries;
};

/* What an event file tells of; bit numbers of drm_neuron_events.mask. */
enum drm_neuron_event_type {
	DRM_NEURON_EVENT_JOB_FAULT = 0,	/* a job of the file's failed: @claim to @addr */
	DRM_NEURON_EVENT_JOB_HANG,	/* one made no progress: @claim, @core, @job */
	DRM_NEURON_EVENT_CORE_RESET,	/* a core was reset because of a job: the same */
	DRM_NEURON_EVENT_CORE_FAILED,	/* a core does not answer: @core */
	DRM_NEURON_EVENT_DEVICE_RESET,	/* the device was reset; claims and HBM are lost */
	DRM_NEURON_EVENT_DEVICE_FAILED,	/* it could not be started after a reset */
	DRM_NEURON_EVENT_LINK,		/* link @link went up or down: @up */
	DRM_NEURON_EVENT_ECC,		/* an uncorrectable error of a memory, at @addr */
	DRM_NEURON_NR_EVENT_TYPES
};

/**
 * struct drm_neuron_event - a record of an event file
 * @type: enum drm_neuron_event_type
 * @lost: events that were lost directly before this one, because nobody read
 * @time_ns: CLOCK_MONOTONIC
 * @job: job id
 * @claim: claim id
 * @core: core or CC-core
 * @cause: enum drm_neuron_cause
 * @source: engine, or DRM_NEURON_SOURCE_*
 * @pc: instruction or descriptor index
 * @addr: failing address: of a job as its program wrote it, of ECC a device address
 * @link: fabric link
 * @up: 1: it is up now
 *
 * What a type does not use is 0. Events of jobs and CORE_RESET concern the claims of the
 * file that asked, and only it hears of them.
 */
struct drm_neuron_event {
	__u32 type;
	__u32 lost;
	__u64 time_ns;
	__u64 job;
	__u32 claim;
	__u32 core;
	__u16 cause;
	__u16 source;
	__u32 pc;
	__u64 addr;
	__u32 link;
	__u32 up;
};

/* read() of the event file does not wait (-EAGAIN), as O_NONBLOCK says. */
#define DRM_NEURON_EVENTS_NONBLOCK	(1u << 0)

/**
 * struct drm_neuron_events - open an event file
 * @mask: bit i: events of type i
 * @flags: DRM_NEURON_EVENTS_*
 * @stride: bytes of a record, as the caller knows it, a multiple of 8, at most 4096
 * @fd: out: event file, close-on-exec
 * @pad: zero
 *
 * read() gives as many whole records (struct drm_neuron_event, in @stride bytes) as there
 * are and fit; it waits for the first one. As many records are kept as QUERY_LIMITS tells;
 * the next one says how many more there were. poll() works; it says POLLHUP when the
 * device has left, and read() returns 0 after the last record. The file may outlive the
 * device's.
 * Errors: EINVAL, ENOMEM, EMFILE, ENOSPC (too many: QUERY_LIMITS tells how many a file, a
 * user and a device can have; it is the user who calls EVENTS that counts); of read() EINVAL
 * (no room for a record), EAGAIN, EINTR.
 */
struct drm_neuron_events {
	__u64 mask;
	__u32 flags;
	__u32 stride;
	__s32 fd;
	__u32 pad;
};

/*
 * Sizes of the structs in version 2.0, or in the first one that has them. They never change:
 * a caller that says less than this is refused.
 */
#define DRM_NEURON_QUERY_SIZE_V2		24
#define DRM_NEURON_DEVICE_INFO_SIZE_V2		120
#define DRM_NEURON_LIMITS_INFO_SIZE_V2		96
#define DRM_NEURON_MEMORY_INFO_SIZE_V2		24
#define DRM_NEURON_CORE_INFO_SIZE_V2		32
#define DRM_NEURON_LINK_INFO_SIZE_V2		16
#define DRM_NEURON_CLOCK_INFO_SIZE_V2		24
#define DRM_NEURON_COUNTER_INFO_SIZE_V2		112
#define DRM_NEURON_USAGE_INFO_SIZE_V2		32
#define DRM_NEURON_STACK_USAGE_INFO_SIZE_V2	24
#define DRM_NEURON_QUEUE_INFO_SIZE_V2		24
#define DRM_NEURON_LINK_COUNTER_INFO_SIZE_V2	24
#define DRM_NEURON_QUEUE_COUNTER_INFO_SIZE_V2	24
#define DRM_NEURON_TENSOR_COUNTER_INFO_SIZE_V2	32
#define DRM_NEURON_BO_CREATE_SIZE_V2		40
#define DRM_NEURON_BO_IMPORT_SIZE_V2		32
#define DRM_NEURON_BO_INFO_SIZE_V2		56
#define DRM_NEURON_COPY_SIZE_V2			48
#define DRM_NEURON_CLAIM_SIZE_V2		32
#define DRM_NEURON_RELEASE_SIZE_V2		8
#define DRM_NEURON_WINDOW_SIZE_V2		40
#define DRM_NEURON_WINDOWS_SIZE_V2		24
#define DRM_NEURON_GRANT_SIZE_V2		24
#define DRM_NEURON_GRANT_IMPORT_SIZE_V2		8
#define DRM_NEURON_GRANT_CLOSE_SIZE_V2		8
#define DRM_NEURON_START_SIZE_V2		16
#define DRM_NEURON_QUEUE_SIZE_V2		32
#define DRM_NEURON_SYNC_SIZE_V2			16
#define DRM_NEURON_JOB_SIZE_V2			120
#define DRM_NEURON_SUBMIT_SIZE_V2		64
#define DRM_NEURON_WAIT_JOB_SIZE_V2		96
#define DRM_NEURON_WAIT_SIZE_V2			32
#define DRM_NEURON_RESET_SIZE_V2		8
#define DRM_NEURON_CANCEL_SIZE_V2		16
#define DRM_NEURON_DUMP_SIZE_V2			32
#define DRM_NEURON_POST_ENTRY_SIZE_V2		16
#define DRM_NEURON_POST_SIZE_V2			24
#define DRM_NEURON_EVENT_SIZE_V2		56
#define DRM_NEURON_EVENTS_SIZE_V2		24
#define DRM_NEURON_TRANSFER_SIZE_V2		160
#define DRM_NEURON_SERIES_SIZE_V2		16
#define DRM_NEURON_SERIES_IMPORT_SIZE_V2	8
#define DRM_NEURON_SERIES_CLOSE_SIZE_V2		8
#define DRM_NEURON_TIMES_SIZE_V2		48

#define DRM_NEURON_IOCTL(nr, type) \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NEURON_##nr, struct drm_neuron_##type)

#define DRM_IOCTL_NEURON_QUERY		DRM_NEURON_IOCTL(QUERY, query)
#define DRM_IOCTL_NEURON_BO_CREATE	DRM_NEURON_IOCTL(BO_CREATE, bo_create)
#define DRM_IOCTL_NEURON_BO_INFO	DRM_NEURON_IOCTL(BO_INFO, bo_info)
#define DRM_IOCTL_NEURON_COPY		DRM_NEURON_IOCTL(COPY, copy)
#define DRM_IOCTL_NEURON_CLAIM		DRM_NEURON_IOCTL(CLAIM, claim)
#define DRM_IOCTL_NEURON_RELEASE	DRM_NEURON_IOCTL(RELEASE, release)
#define DRM_IOCTL_NEURON_WINDOWS	DRM_NEURON_IOCTL(WINDOWS, windows)
#define DRM_IOCTL_NEURON_GRANT		DRM_NEURON_IOCTL(GRANT, grant)
#define DRM_IOCTL_NEURON_SUBMIT		DRM_NEURON_IOCTL(SUBMIT, submit)
#define DRM_IOCTL_NEURON_WAIT		DRM_NEURON_IOCTL(WAIT, wait)
#define DRM_IOCTL_NEURON_RESET		DRM_NEURON_IOCTL(RESET, reset)
#define DRM_IOCTL_NEURON_BO_IMPORT	DRM_NEURON_IOCTL(BO_IMPORT, bo_import)
#define DRM_IOCTL_NEURON_CANCEL		DRM_NEURON_IOCTL(CANCEL, cancel)
#define DRM_IOCTL_NEURON_DUMP		DRM_NEURON_IOCTL(DUMP, dump)
#define DRM_IOCTL_NEURON_POST		DRM_NEURON_IOCTL(POST, post)
#define DRM_IOCTL_NEURON_GRANT_IMPORT	DRM_NEURON_IOCTL(GRANT_IMPORT, grant_import)
#define DRM_IOCTL_NEURON_GRANT_CLOSE	DRM_NEURON_IOCTL(GRANT_CLOSE, grant_close)
#define DRM_IOCTL_NEURON_EVENTS		DRM_NEURON_IOCTL(EVENTS, events)
#define DRM_IOCTL_NEURON_TRANSFER	DRM_NEURON_IOCTL(TRANSFER, transfer)
#define DRM_IOCTL_NEURON_SERIES		DRM_NEURON_IOCTL(SERIES, series)
#define DRM_IOCTL_NEURON_SERIES_IMPORT	DRM_NEURON_IOCTL(SERIES_IMPORT, series_import)
#define DRM_IOCTL_NEURON_SERIES_CLOSE	DRM_NEURON_IOCTL(SERIES_CLOSE, series_close)
#define DRM_IOCTL_NEURON_TIMES		DRM_NEURON_IOCTL(TIMES, times)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_NEURON_ACCEL_H_ */
