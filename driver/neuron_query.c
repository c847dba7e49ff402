// SPDX-License-Identifier: GPL-2.0-only
/*
 * The query ioctl.
 */
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "contract/job.h"
#include "drm/neuron_accel.h"
#include "neuron_account.h"
#include "neuron_core.h"
#include "neuron_device.h"
#include "neuron_grant.h"
#include "neuron_hbm.h"
#include "neuron_ioctl.h"
#include "neuron_listener.h"
#include "neuron_monitor.h"
#include "neuron_query.h"
#include "neuron_syncs.h"
#include "neuron_result.h"
#include "neuron_transfer.h"
#include "neuron_usage.h"

/* Readings of which the tightest counts. */
#define NEURON_CLOCK_TRIES	4

static void neuron_query_device(struct neuron_device *ndev,
				struct drm_neuron_device_info *info)
{
	const struct neuron_gen *gen = ndev->gen;
	u32 position = neuron_ctl_read(ndev, NEURON_CTL_POSITION);
	u32 features = neuron_ctl_read(ndev, NEURON_CTL_FEATURES);

	info->generation = gen->generation;
	info->nr_cores = gen->nr_cores;
	info->nr_hbm = gen->nr_hbm;
	info->nr_links = ndev->nr_links;
	info->fabric_id = ndev->fabric_id;
	info->fabric_chips = neuron_ctl_read(ndev, NEURON_CTL_FABRIC_CHIPS);
	info->rack = position >> 16 & 0xff;
	info->server = position >> 8 & 0xff;
	info->chip = position & 0xff;
	info->routing_id = neuron_misc_read(ndev, NEURON_MISC_ROUTING_ID);
	info->pci_domain = pci_domain_nr(ndev->pdev->bus);
	info->pci_bus = ndev->pdev->bus->number;
	info->pci_devfn = ndev->pdev->devfn;
	info->numa_node = dev_to_node(&ndev->pdev->dev);
	info->features = features & NEURON_CTL_FEATURE_CLOCK ? 1 : 0;
	info->serial = ndev->serial;
	strscpy(info->name, gen->device_name, sizeof(info->name));
	strscpy(info->core_arch, gen->core_arch, sizeof(info->core_arch));
	info->nr_cc_cores = gen->nr_top_sp_ids;
	info->first_cc_core = NEURON_MAX_CORES;
	info->nr_engines = NEURON_NR_ENGINES;
	info->nr_semaphores = NEURON_NR_SEMAPHORES;
	info->core_dma_engines = NEURON_JOB_DMA_ENGINES;
	info->dma_queues = NEURON_UDMA_QUEUES;
}

static void neuron_query_limits(struct neuron_device *ndev, struct drm_neuron_limits_info *info)
{
	info->queued_jobs = NEURON_MAX_QUEUED_JOBS;
	info->gang_jobs = NEURON_JOB_MAX_GANG;
	info->job_queues = NEURON_JOB_MAX_QUEUES;
	info->windows = NEURON_MAX_WINDOWS;
	info->syncs = NEURON_MAX_SYNCS;
	info->wait_jobs = NEURON_MAX_WAIT_JOBS;
	info->results = NEURON_KEPT_RESULTS;
	info->post_entries = NEURON_MAX_POSTS;
	info->events = NEURON_LISTENER_EVENTS;
	info->grants = NEURON_GRANT_HANDLES;
	info->event_files = NEURON_FILE_LISTENERS;
	info->user_event_files = NEURON_USER_EVENT_FILES;
	info->device_event_files = NEURON_DEVICE_LISTENERS;
	info->transfer_pieces = NEURON_TRANSFER_PIECES;
	info->transfer_queues = NEURON_TRANSFER_QUEUES;
	info->queued_transfers = NEURON_MAX_QUEUED_JOBS;
	info->queue_priorities = ndev->gen->nr_priorities;
	info->job_timeout_ms = NEURON_JOB_TIMEOUT_MS;
	info->job_timeout_max_ms = NEURON_JOB_TIMEOUT_MAX_MS;
	info->job_timeout_cap = NEURON_JOB_TIMEOUT_CAP;
	info->claim_memory = NEURON_BUDGET_MEMORY;
	info->user_memory = NEURON_USER_MEMORY;
}

static void neuron_query_memory(struct neuron_device *ndev,
				struct drm_neuron_memory_info *info)
{
	struct neuron_hbm_stats stats;
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		neuron_hbm_get_stats(ndev, i, &stats);
		info[i].size = stats.size;
		info[i].usable = stats.usable;
		info[i].used = stats.used;
	}
}

static void neuron_query_core(struct neuron_core *core,
			      struct drm_neuron_core_info *info)
{
	struct neuron_device *ndev = core->ndev;
	struct neuron_core_stats stats;

	info->hbm = neuron_core_stack(ndev->gen, core->tpb->index);
	neuron_core_get_stats(core, &stats);
	info->busy_ns = stats.busy_ns;
	info->jobs = stats.jobs;
	if (READ_ONCE(core->active))
		info->flags |= DRM_NEURON_CORE_BUSY;
	if (READ_ONCE(core->wedged))
		info->flags |= DRM_NEURON_CORE_STUCK;

	mutex_lock(&ndev->claim_lock);
	if (core->tpb->owner_pid) {
		info->owner_pid = pid_vnr(core->tpb->owner_pid);
		info->flags |= DRM_NEURON_CORE_CLAIMED;
	}
	mutex_unlock(&ndev->claim_lock);
}

static void neuron_query_cores(struct neuron_device *ndev,
			       struct drm_neuron_core_info *info)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		neuron_query_core(&ndev->core[i], &info[i]);
}

static void neuron_query_cc_cores(struct neuron_device *ndev,
				  struct drm_neuron_core_info *info)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_top_sp_ids; i++)
		neuron_query_core(&ndev->core[NEURON_MAX_CORES + i], &info[i]);
}

static void neuron_query_links(struct neuron_device *ndev,
			       struct drm_neuron_link_info *info)
{
	unsigned int i;

	for (i = 0; i < ndev->nr_links; i++)
		neuron_device_read_link(ndev, i, &info[i]);
}

/*
 * Device time, and the host's in the middle of that. Return: how long it took, or
 * U64_MAX when the high word changed meanwhile.
 */
static u64 neuron_clock_read(struct neuron_device *ndev, u64 *device, u64 *host)
{
	u32 high = neuron_ctl_read(ndev, NEURON_CTL_TIME + 4);
	u64 begin = ktime_get_ns();
	u32 low = neuron_ctl_read(ndev, NEURON_CTL_TIME);
	u64 end = ktime_get_ns();

	if (neuron_ctl_read(ndev, NEURON_CTL_TIME + 4) != high)
		return U64_MAX;
	*device = (u64)high << 32 | low;
	*host = begin + (end - begin) / 2;
	return end - begin;
}

static int neuron_query_clocks(struct neuron_device *ndev,
			       struct drm_neuron_clock_info *info)
{
	u64 best = U64_MAX, apart, device, host;
	unsigned int i;

	for (i = 0; i < NEURON_CLOCK_TRIES; i++) {
		apart = neuron_clock_read(ndev, &device, &host);
		if (apart >= best)
			continue;
		best = apart;
		info->device_ns = device;
		info->host_ns = host;
	}
	info->engine_khz = ndev->gen->clock_khz[NEURON_ENGINE_SCALAR];
	info->throttle = neuron_ctl_read(ndev, NEURON_CTL_THROTTLE);
	/* The high word changes every four seconds. One that changes at each reading is a lie. */
	return best == U64_MAX ? -EIO : 0;
}

static void neuron_query_ecc(u32 errors, u64 *corrected, u64 *uncorrected)
{
	*corrected += NEURON_GET(NEURON_MISC_ECC_CORRECTED, errors);
	*uncorrected += NEURON_GET(NEURON_MISC_ECC_UNCORRECTED, errors);
}

/* neuron_look_begin(), but wait while the device is being reset. */
static const struct neuron_look *neuron_query_look(struct neuron_device *ndev,
						   enum neuron_look_part part)
{
	const struct neuron_look *look;
	int ret;

	do {
		ret = neuron_hw_wait(ndev);
		if (ret)
			return ERR_PTR(ret);
		look = neuron_look_begin(ndev, part);
	} while (look == ERR_PTR(-EIO));
	return look;
}

/* The same for neuron_look_begin_queues(). */
static const struct neuron_look *
neuron_query_look_queues(struct neuron_device *ndev, unsigned int engine)
{
	const struct neuron_look *look;
	int ret;

	do {
		ret = neuron_hw_wait(ndev);
		if (ret)
			return ERR_PTR(ret);
		look = neuron_look_begin_queues(ndev, engine);
	} while (look == ERR_PTR(-EIO));
	return look;
}

static int neuron_query_memory_errors(struct neuron_device *ndev,
				      struct drm_neuron_counter_info *info)
{
	const struct neuron_look *look;
	unsigned int i;

	look = neuron_query_look(ndev, NEURON_LOOK_REGS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < ndev->gen->nr_hbm; i++)
		neuron_query_ecc(look->hbm_ecc[i], &info->hbm_corrected,
				 &info->hbm_uncorrected);
	neuron_query_ecc(look->sram_ecc, &info->sram_corrected,
			 &info->sram_uncorrected);
	neuron_look_end(ndev);
	return 0;
}

static int neuron_query_refused(struct neuron_device *ndev,
				struct drm_neuron_counter_info *info)
{
	const struct neuron_look *look;

	look = neuron_query_look(ndev, NEURON_LOOK_UNITS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	info->violations = look->violations;
	info->stale_posts = look->stale_posts;
	neuron_look_end(ndev);
	return 0;
}

/* The chip's own counters begin anew at a reset, so the sums are asked. */
static int neuron_query_counters(struct neuron_device *ndev,
				 struct drm_neuron_counter_info *info)
{
	struct neuron_counters *counters = &ndev->counters;
	int ret;

	ret = neuron_query_memory_errors(ndev, info);
	if (!ret)
		ret = neuron_query_refused(ndev, info);
	if (ret)
		return ret;
	info->faults = atomic64_read(&counters->faults);
	info->hangs = atomic64_read(&counters->hangs);
	info->core_resets = atomic64_read(&counters->core_resets);
	info->device_resets = atomic64_read(&counters->device_resets);
	info->reset_failures = atomic64_read(&counters->reset_failures);
	info->lost_interrupts = atomic64_read(&counters->lost_interrupts);
	info->copy_errors = atomic64_read(&counters->copy_errors);
	info->link_changes = atomic64_read(&counters->link_changes);
	return 0;
}

static int neuron_query_link_counters(struct neuron_device *ndev,
				      struct drm_neuron_link_counter_info *info)
{
	const struct neuron_look *look;
	unsigned int i;

	look = neuron_query_look(ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < ndev->nr_links; i++) {
		info[i].bytes_sent = look->link_sum[i].sent;
		info[i].bytes_received = look->link_sum[i].received;
		info[i].errors = look->link_sum[i].errors;
	}
	neuron_look_end(ndev);
	return 0;
}

static int neuron_query_moved(struct neuron_device *ndev, unsigned int engine,
			      struct drm_neuron_queue_counter_info *info)
{
	const struct neuron_look *look;
	unsigned int i;

	look = neuron_query_look_queues(ndev, engine);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < NEURON_UDMA_QUEUES; i++) {
		info[i].dma_engine = engine;
		info[i].queue = i;
		info[i].descriptors = look->queue_sum[engine][i].descriptors;
		info[i].bytes = look->queue_sum[engine][i].bytes;
	}
	neuron_look_end(ndev);
	return 0;
}

static int neuron_query_queue_counters(struct neuron_device *ndev,
				       struct drm_neuron_queue_counter_info *info)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < ndev->gen->nr_dma; i++)
		ret = neuron_query_moved(ndev, i,
					 &info[i * NEURON_UDMA_QUEUES]);
	return ret;
}

static int neuron_query_tensor_counters(struct neuron_device *ndev,
					struct drm_neuron_tensor_counter_info *info)
{
	const struct neuron_look *look;
	unsigned int i, row;

	look = neuron_query_look(ndev, NEURON_LOOK_PE);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		for (row = 0; row < NEURON_PE_ROW_GROUPS; row++, info++) {
			info->core = i;
			info->rows = row;
			info->matmul_cycles = look->pe_sum[i][row].matmul;
			info->weights_cycles = look->pe_sum[i][row].weights;
			info->idle_cycles = look->pe_sum[i][row].idle;
		}
	}
	neuron_look_end(ndev);
	return 0;
}

/* The queues of an engine, as those of core @core and its ring engine @ring. */
static void neuron_query_engine(struct drm_neuron_queue_info *info, u32 engine,
				u32 core, u32 ring, u32 owner)
{
	u32 i;

	for (i = 0; i < NEURON_UDMA_QUEUES; i++)
		info[i] = (struct drm_neuron_queue_info){
			.dma_engine = engine,
			.queue = i,
			.core = core,
			.ring = ring,
			.owner = owner,
		};
}

static void neuron_query_queues(struct neuron_device *ndev,
				struct drm_neuron_queue_info *info)
{
	const struct neuron_gen *gen = ndev->gen;
	unsigned int per_core = gen->nr_ring / gen->nr_cores;
	unsigned int i, q;

	for (i = 0; i < gen->nr_ring; i++)
		neuron_query_engine(&info[i * NEURON_UDMA_QUEUES], i,
				    i / per_core, i % per_core,
				    DRM_NEURON_QUEUE_CORE);
	for (; i < gen->nr_dma; i++)
		neuron_query_engine(&info[i * NEURON_UDMA_QUEUES], i, U32_MAX,
				    U32_MAX, DRM_NEURON_QUEUE_UNUSED);
	for (i = 0; i < gen->nr_cores; i++) {
		q = neuron_copy_engine(gen, i) * NEURON_UDMA_QUEUES +
		    neuron_copy_queue(gen, i);
		info[q].core = i;
		info[q].owner = DRM_NEURON_QUEUE_KERNEL;
	}
}

/**
 * struct neuron_answer - what a query gives
 * @size: bytes of an element
 * @least: bytes of an element in version 2.0
 * @count: elements
 */
struct neuron_answer {
	u32 size;
	u32 least;
	u32 count;
};

#define NEURON_ANSWER(name, NAME, nr) ((struct neuron_answer){ \
	.size = sizeof(struct drm_neuron_##name##_info), \
	.least = DRM_NEURON_##NAME##_INFO_SIZE_V2, \
	.count = nr, \
})

/* @size is 0 for a type that there is not. */
static struct neuron_answer neuron_query_answer(struct neuron_device *ndev,
						u32 type)
{
	const struct neuron_gen *gen = ndev->gen;

	switch (type) {
	case DRM_NEURON_QUERY_DEVICE:
		return NEURON_ANSWER(device, DEVICE, 1);
	case DRM_NEURON_QUERY_MEMORY:
		return NEURON_ANSWER(memory, MEMORY, gen->nr_hbm);
	case DRM_NEURON_QUERY_CORES:
		return NEURON_ANSWER(core, CORE, gen->nr_cores);
	case DRM_NEURON_QUERY_CC_CORES:
		return NEURON_ANSWER(core, CORE, gen->nr_top_sp_ids);
	case DRM_NEURON_QUERY_LINKS:
		return NEURON_ANSWER(link, LINK, ndev->nr_links);
	case DRM_NEURON_QUERY_CLOCKS:
		return NEURON_ANSWER(clock, CLOCK, 1);
	case DRM_NEURON_QUERY_COUNTERS:
		return NEURON_ANSWER(counter, COUNTER, 1);
	case DRM_NEURON_QUERY_LIMITS:
		return NEURON_ANSWER(limits, LIMITS, 1);
	case DRM_NEURON_QUERY_USAGE:
		return NEURON_ANSWER(usage, USAGE, DRM_NEURON_NR_CATEGORIES);
	case DRM_NEURON_QUERY_STACK_USAGE:
		return NEURON_ANSWER(stack_usage, STACK_USAGE,
				     DRM_NEURON_NR_CATEGORIES * gen->nr_hbm);
	case DRM_NEURON_QUERY_QUEUES:
		return NEURON_ANSWER(queue, QUEUE,
				     gen->nr_dma * NEURON_UDMA_QUEUES);
	case DRM_NEURON_QUERY_LINK_COUNTERS:
		return NEURON_ANSWER(link_counter, LINK_COUNTER,
				     ndev->nr_links);
	case DRM_NEURON_QUERY_QUEUE_COUNTERS:
		return NEURON_ANSWER(queue_counter, QUEUE_COUNTER,
				     gen->nr_dma * NEURON_UDMA_QUEUES);
	case DRM_NEURON_QUERY_TENSOR_COUNTERS:
		return NEURON_ANSWER(tensor_counter, TENSOR_COUNTER,
				     gen->nr_cores * NEURON_PE_ROW_GROUPS);
	}
	return (struct neuron_answer){ };
}

/* While the device is being reset: wait. */
static int neuron_query_regs_get(struct neuron_device *ndev, int *idx)
{
	int ret;

	do {
		ret = neuron_hw_wait(ndev);
		if (ret)
			return ret;
		ret = neuron_regs_get(ndev, idx);
	} while (ret == -EIO);
	return ret;
}

/* What only the chip knows. */
static int neuron_query_hw(struct neuron_device *ndev, u32 type, void *answer)
{
	int idx, ret;

	ret = neuron_query_regs_get(ndev, &idx);
	if (ret)
		return ret;

	switch (type) {
	case DRM_NEURON_QUERY_DEVICE:
		neuron_query_device(ndev, answer);
		break;
	case DRM_NEURON_QUERY_LINKS:
		neuron_query_links(ndev, answer);
		break;
	default:
		ret = neuron_query_clocks(ndev, answer);
		break;
	}

	neuron_regs_put(ndev, idx);
	return ret;
}

/* What the driver knows, in any state of the hardware. */
static int neuron_query_driver(struct neuron_device *ndev, u32 type,
			       void *answer)
{
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;

	switch (type) {
	case DRM_NEURON_QUERY_MEMORY:
		neuron_query_memory(ndev, answer);
		break;
	case DRM_NEURON_QUERY_CORES:
		neuron_query_cores(ndev, answer);
		break;
	case DRM_NEURON_QUERY_CC_CORES:
		neuron_query_cc_cores(ndev, answer);
		break;
	case DRM_NEURON_QUERY_USAGE:
		neuron_usage_query(ndev, answer);
		break;
	case DRM_NEURON_QUERY_STACK_USAGE:
		neuron_usage_query_stacks(ndev, answer);
		break;
	case DRM_NEURON_QUERY_LIMITS:
		neuron_query_limits(ndev, answer);
		break;
	default:
		neuron_query_queues(ndev, answer);
		break;
	}

	drm_dev_exit(idx);
	return 0;
}

/* @type: one that neuron_query_answer() knows */
static int neuron_query_fill(struct neuron_device *ndev, u32 type, void *answer)
{
	switch (type) {
	case DRM_NEURON_QUERY_MEMORY:
	case DRM_NEURON_QUERY_CORES:
	case DRM_NEURON_QUERY_CC_CORES:
	case DRM_NEURON_QUERY_USAGE:
	case DRM_NEURON_QUERY_STACK_USAGE:
	case DRM_NEURON_QUERY_LIMITS:
	case DRM_NEURON_QUERY_QUEUES:
		return neuron_query_driver(ndev, type, answer);
	case DRM_NEURON_QUERY_COUNTERS:
		return neuron_query_counters(ndev, answer);
	case DRM_NEURON_QUERY_LINK_COUNTERS:
		return neuron_query_link_counters(ndev, answer);
	case DRM_NEURON_QUERY_QUEUE_COUNTERS:
		return neuron_query_queue_counters(ndev, answer);
	case DRM_NEURON_QUERY_TENSOR_COUNTERS:
		return neuron_query_tensor_counters(ndev, answer);
	default:
		return neuron_query_hw(ndev, type, answer);
	}
}

/* @size: bytes of an element of @to, zeroed here */
static int neuron_query_array(struct neuron_device *ndev, u32 type, size_t size,
			      struct neuron_array *to,
			      const struct drm_neuron_array *user)
{
	int ret;

	to->element = kvcalloc(to->count, size, GFP_KERNEL_ACCOUNT);
	if (!to->element)
		return -ENOMEM;
	ret = neuron_query_fill(ndev, type, to->element);
	if (!ret)
		ret = neuron_array_answer(user, to, size);
	neuron_array_put(to);
	return ret;
}

static int neuron_query_check(struct drm_device *drm,
			      const struct drm_neuron_query *args,
			      const struct neuron_answer *answer)
{
	const struct drm_neuron_array *user = &args->answer;

	if (!answer->size || args->pad) {
		drm_dbg(drm, "query type %u\n", args->type);
		return -EINVAL;
	}
	if (user->pointer && !neuron_stride_valid(user->stride, answer->least)) {
		drm_dbg(drm, "query type %u: elements of %u bytes\n", args->type,
			user->stride);
		return -EINVAL;
	}
	return 0;
}

/**
 * neuron_ioctl_query() - QUERY: what the device is, has and does
 * @drm: device
 * @data: &struct drm_neuron_query
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_query(struct drm_device *drm, void *data,
		       struct drm_file *file)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct drm_neuron_query *args = data;
	struct neuron_answer answer = neuron_query_answer(ndev, args->type);
	struct neuron_array elements = { .count = answer.count };
	int ret;

	ret = neuron_query_check(drm, args, &answer);
	if (ret)
		return ret;
	if (args->answer.pointer && answer.count)
		ret = neuron_query_array(ndev, args->type, answer.size, &elements,
					 &args->answer);
	if (ret)
		return ret;	/* the caller may try again with what it asked */
	args->answer.stride = answer.size;
	args->answer.count = answer.count;
	return 0;
}
