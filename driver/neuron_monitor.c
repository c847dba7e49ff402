// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a device said last, for those who monitor it: sysfs, the tree of the public driver,
 * QUERY; and what the owners of its cores post.
 */
#include <linux/err.h>
#include <linux/string.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "neuron_claim.h"
#include "neuron_device.h"
#include "neuron_ioctl.h"
#include "neuron_monitor.h"

/**
 * struct neuron_looks - the last look at a device
 * @lock: @look; taken before what neuron_regs_get_awake() takes, and after
 *	neuron_device.hw_lock
 * @look: what it said
 */
struct neuron_looks {
	struct mutex lock; /* @look */
	struct neuron_look look;
};

/*
 * The functions that read a part of the registers. @anew: the counters have been cleared, or
 * were left by somebody else: what they say now is not added to the sums.
 */

static void neuron_look_at_regs(struct neuron_device *ndev,
				struct neuron_look *look, bool anew)
{
	unsigned int i;

	look->throttle = neuron_ctl_read(ndev, NEURON_CTL_THROTTLE);
	look->throttle_reason = neuron_ctl_read(ndev,
						NEURON_CTL_THROTTLE_REASON);
	look->hbm_repair = neuron_misc_read(ndev, NEURON_MISC_HBM_REPAIR);
	look->sram_ecc = neuron_misc_read(ndev, NEURON_MISC_SRAM_ECC);
	for (i = 0; i < ndev->gen->nr_dice; i++)
		look->power[i] = neuron_misc_read(ndev, NEURON_MISC_POWER(i));
	for (i = 0; i < ndev->gen->nr_hbm; i++)
		look->hbm_ecc[i] = neuron_misc_read(ndev,
						    NEURON_MISC_HBM_ECC(i));
}

/* Is the device there? Reads of one that is gone, or goes just now, have ones for some bits. */
static bool neuron_look_is_true(struct neuron_device *ndev)
{
	return neuron_ctl_read(ndev, NEURON_CTL_MAGIC) == NEURON_CTL_MAGIC_VALUE;
}

/*
 * A counter that read *@last reads @now: add the difference to *@sum. If it reads less, it has
 * begun anew for a reason that is not known, and all of @now is new. Whether the device is there
 * is looked at after the counter was read, because without a device it reads as all ones.
 */
static void neuron_look_add(struct neuron_device *ndev, u64 *sum, u64 *last,
			    u64 now, bool anew)
{
	if (now == *last || !neuron_look_is_true(ndev))
		return;
	if (!anew)
		*sum += now >= *last ? now - *last : now;
	*last = now;
}

static void neuron_look_at_units(struct neuron_device *ndev,
				 struct neuron_look *look, bool anew)
{
	struct neuron_core *core;
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		core = neuron_unit(ndev, i);
		neuron_look_add(ndev, &look->violations,
				&look->unit_raw[i].violations,
				neuron_core_read(core, NEURON_CORE_VIOLATIONS),
				anew);
		neuron_look_add(ndev, &look->stale_posts,
				&look->unit_raw[i].stale_posts,
				neuron_core_read(core, NEURON_CORE_STALE_POSTS),
				anew);
	}
}

static void neuron_look_at_link(struct neuron_device *ndev, unsigned int link,
				struct neuron_look *look, bool anew)
{
	u32 reg = NEURON_CTL_LINK_COUNT(link);
	struct neuron_look_link *raw = &look->link_raw[link];
	struct neuron_look_link *sum = &look->link_sum[link];

	neuron_device_read_link(ndev, link, &look->link[link]);
	neuron_look_add(ndev, &sum->sent, &raw->sent,
			neuron_ctl_read64(ndev, reg + NEURON_LINK_COUNT_SENT),
			anew);
	neuron_look_add(ndev, &sum->received, &raw->received,
			neuron_ctl_read64(ndev,
					  reg + NEURON_LINK_COUNT_RECEIVED),
			anew);
	neuron_look_add(ndev, &sum->errors, &raw->errors,
			neuron_ctl_read(ndev, reg + NEURON_LINK_COUNT_ERRORS),
			anew);
}

static void neuron_look_at_links(struct neuron_device *ndev,
				 struct neuron_look *look, bool anew)
{
	unsigned int i;

	for (i = 0; i < ndev->nr_links; i++)
		neuron_look_at_link(ndev, i, look, anew);
}

static void neuron_look_at_engine(struct neuron_device *ndev,
				  unsigned int engine, struct neuron_look *look,
				  bool anew)
{
	struct neuron_look_queue *raw = look->queue_raw[engine];
	struct neuron_look_queue *sum = look->queue_sum[engine];
	unsigned int i;
	u32 reg;

	for (i = 0; i < NEURON_UDMA_QUEUES; i++) {
		reg = NEURON_CTL_QUEUE(engine, i);
		neuron_look_add(ndev, &sum[i].descriptors, &raw[i].descriptors,
				neuron_ctl_read64(ndev, reg +
						  NEURON_QUEUE_DESCRIPTORS),
				anew);
		neuron_look_add(ndev, &sum[i].bytes, &raw[i].bytes,
				neuron_ctl_read64(ndev, reg +
						  NEURON_QUEUE_BYTES),
				anew);
	}
}

static u64 neuron_look_at_pe(struct neuron_device *ndev, unsigned int core,
			     unsigned int row, unsigned int xbus,
			     unsigned int field)
{
	void __iomem *reg = ndev->bar0 + neuron_pe_counter(ndev->gen, core, row,
							   xbus, field);
	/* The chip keeps the low word for whoever has read the high one. */
	u64 high = readl(reg + 4);

	return high << 32 | readl(reg);
}

static void neuron_look_at_row(struct neuron_device *ndev, unsigned int core,
			       unsigned int row, struct neuron_look *look,
			       bool anew)
{
	struct neuron_look_pe *raw = &look->pe_raw[core][row];
	struct neuron_look_pe *sum = &look->pe_sum[core][row];
	u64 weights = 0;
	unsigned int i;

	for (i = 0; i < NEURON_PE_COLUMN_GROUPS; i++)
		weights += neuron_look_at_pe(ndev, core, row, i,
					     NEURON_PE_WEIGHTS);
	neuron_look_add(ndev, &sum->weights, &raw->weights, weights, anew);
	neuron_look_add(ndev, &sum->matmul, &raw->matmul,
			neuron_look_at_pe(ndev, core, row, NEURON_PE_XBUS_ARRAY,
					  NEURON_PE_MATMUL),
			anew);
	neuron_look_add(ndev, &sum->idle, &raw->idle,
			neuron_look_at_pe(ndev, core, row, NEURON_PE_XBUS_ARRAY,
					  NEURON_PE_IDLE),
			anew);
}

static void neuron_look_at_arrays(struct neuron_device *ndev,
				  struct neuron_look *look, bool anew)
{
	unsigned int i, row;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		for (row = 0; row < NEURON_PE_ROW_GROUPS; row++)
			neuron_look_at_row(ndev, i, row, look, anew);
}

static void neuron_look_at(struct neuron_device *ndev,
			   enum neuron_look_part part, struct neuron_look *look,
			   bool anew)
{
	static void (* const parts[])(struct neuron_device *ndev,
				      struct neuron_look *look, bool anew) = {
		[NEURON_LOOK_REGS] = neuron_look_at_regs,
		[NEURON_LOOK_UNITS] = neuron_look_at_units,
		[NEURON_LOOK_LINKS] = neuron_look_at_links,
		[NEURON_LOOK_PE] = neuron_look_at_arrays,
	};

	static_assert(ARRAY_SIZE(parts) == NEURON_LOOK_PARTS);
	parts[part](ndev, look, anew);
}

/* Awake, with the registers in use: neuron_regs_put_awake(). Else @asleep is set. */
static struct neuron_look *neuron_look_enter(struct neuron_device *ndev,
					     int *idx)
{
	struct neuron_looks *looks = ndev->looks;
	int ret;

	mutex_lock(&looks->lock);
	ret = neuron_regs_get_awake(ndev, idx);
	if (ret && ret != -EAGAIN) {
		mutex_unlock(&looks->lock);
		return ERR_PTR(ret);
	}
	looks->look.asleep = ret;
	return &looks->look;
}

const struct neuron_look *neuron_look_begin(struct neuron_device *ndev,
					    enum neuron_look_part part)
{
	struct neuron_look *look;
	int idx;

	look = neuron_look_enter(ndev, &idx);
	if (!IS_ERR(look) && !look->asleep) {
		neuron_look_at(ndev, part, look, false);
		neuron_regs_put_awake(ndev, idx);
	}
	return look;
}

const struct neuron_look *neuron_look_begin_queues(struct neuron_device *ndev,
						   unsigned int engine)
{
	struct neuron_look *look;
	int idx;

	look = neuron_look_enter(ndev, &idx);
	if (!IS_ERR(look) && !look->asleep) {
		neuron_look_at_engine(ndev, engine, look, false);
		neuron_regs_put_awake(ndev, idx);
	}
	return look;
}

void neuron_look_end(struct neuron_device *ndev)
{
	mutex_unlock(&ndev->looks->lock);
}

/* Under neuron_looks.lock. */
static void neuron_look_at_all(struct neuron_device *ndev,
			       struct neuron_look *look, bool anew)
{
	unsigned int part, engine;

	lockdep_assert_held(&ndev->looks->lock);
	for (part = 0; part < NEURON_LOOK_PARTS; part++)
		neuron_look_at(ndev, part, look, anew);
	for (engine = 0; engine < ndev->gen->nr_dma; engine++)
		neuron_look_at_engine(ndev, engine, look, anew);
}

void neuron_look_keep(struct neuron_device *ndev)
{
	struct neuron_looks *looks = ndev->looks;

	mutex_lock(&looks->lock);
	neuron_look_at_all(ndev, &looks->look, false);
	mutex_unlock(&looks->lock);
}

void neuron_look_begin_anew(struct neuron_device *ndev)
{
	struct neuron_looks *looks = ndev->looks;

	mutex_lock(&looks->lock);
	neuron_look_at_all(ndev, &looks->look, true);
	mutex_unlock(&looks->lock);
}

/* In small pieces: a chip has some 2,000 queues. */
static int neuron_look_init_queues(struct neuron_device *ndev,
				   struct neuron_look *look)
{
	struct neuron_look_queue *queues;
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_dma; i++) {
		queues = drmm_kcalloc(&ndev->drm, 2 * NEURON_UDMA_QUEUES,
				      sizeof(*queues), GFP_KERNEL);
		if (!queues)
			return -ENOMEM;
		look->queue_raw[i] = queues;
		look->queue_sum[i] = queues + NEURON_UDMA_QUEUES;
	}
	return 0;
}

int neuron_look_init(struct neuron_device *ndev)
{
	int ret;

	ndev->looks = drmm_kzalloc(&ndev->drm, sizeof(*ndev->looks),
				   GFP_KERNEL);
	if (!ndev->looks)
		return -ENOMEM;
	ret = neuron_look_init_queues(ndev, &ndev->looks->look);
	return ret ?: drmm_mutex_init(&ndev->drm, &ndev->looks->lock);
}

/* Status counters, and the POST ioctl. */

static const char * const neuron_status_names[] = {
	[DRM_NEURON_STATUS_SUCCESS] = "success",
	[DRM_NEURON_STATUS_FAILURE] = "failure",
	[DRM_NEURON_STATUS_TIMEOUT] = "timeout",
	[DRM_NEURON_STATUS_EXEC_BAD_INPUT] = "exec_bad_input",
	[DRM_NEURON_STATUS_HW_ERROR] = "hw_error",
	[DRM_NEURON_STATUS_COMPLETED_WITH_ERROR] =
		"execute_completed_with_error",
	[DRM_NEURON_STATUS_COMPLETED_WITH_NUM_ERROR] =
		"execute_completed_with_num_error",
	[DRM_NEURON_STATUS_GENERIC_ERROR] = "generic_error",
	[DRM_NEURON_STATUS_RESOURCE_ERROR] = "resource_error",
	[DRM_NEURON_STATUS_RESOURCE_NC_ERROR] = "resource_nc_error",
	[DRM_NEURON_STATUS_FAILED_TO_QUEUE] = "execute_failed_to_queue",
	[DRM_NEURON_STATUS_INVALID_ERROR] = "invalid_error",
	[DRM_NEURON_STATUS_UNSUPPORTED_NEFF_VERSION] =
		"unsupported_neff_version",
	[DRM_NEURON_STATUS_OOB_ERROR] = "oob_error",
	[DRM_NEURON_STATUS_HW_COLLECTIVES_ERROR] = "hw_collectives_error",
	[DRM_NEURON_STATUS_HW_HBM_UE_ERROR] = "hw_hbm_ue_error",
	[DRM_NEURON_STATUS_HW_NC_UE_ERROR] = "hw_nc_ue_error",
	[DRM_NEURON_STATUS_HW_DMA_ABORT_ERROR] = "hw_dma_abort_error",
	[DRM_NEURON_STATUS_SW_NQ_OVERFLOW] = "execute_sw_nq_overflow",
	[DRM_NEURON_STATUS_SW_SEMAPHORE_ERROR] = "execute_sw_semaphore_error",
	[DRM_NEURON_STATUS_SW_EVENT_ERROR] = "execute_sw_event_error",
	[DRM_NEURON_STATUS_SW_PSUM_COLLISION] = "execute_sw_psum_collision",
	[DRM_NEURON_STATUS_SW_SEQUENCER_FATAL] = "execute_sw_sequencer_fatal",
	[DRM_NEURON_STATUS_HW_REPAIRABLE_HBM_UE_ERROR] =
		"hw_repairable_hbm_ue_error",
	[DRM_NEURON_STATUS_MODEL_LOAD_COUNT] = "model_load_count",
	[DRM_NEURON_STATUS_INFERENCE_COUNT] = "inference_count",
	[DRM_NEURON_STATUS_FLOP_COUNT] = "flop_count",
};

static_assert(ARRAY_SIZE(neuron_status_names) == DRM_NEURON_NR_STATUS_COUNTERS);

const char *neuron_status_name(unsigned int counter)
{
	return counter < ARRAY_SIZE(neuron_status_names) ?
	       neuron_status_names[counter] : NULL;
}

void neuron_status_clear(struct neuron_status *status, unsigned int counter)
{
	atomic64_set(&status->total[counter], 0);
	atomic64_set(&status->present[counter], 0);
}

/* Sums by counter, so that nothing is added unless all entries are good. */
static int neuron_post_sum(struct drm_device *drm,
			   const struct neuron_array *entries, u64 *sum)
{
	const struct drm_neuron_post_entry *entry = entries->element;
	u32 i;

	for (i = 0; i < entries->count; i++, entry++) {
		if (entry->counter >= DRM_NEURON_NR_STATUS_COUNTERS ||
		    entry->pad) {
			drm_dbg(drm, "post: entry %u: no counter %u or non-zero pad\n",
				i, entry->counter);
			return -EINVAL;
		}
		sum[entry->counter] += entry->add;
	}
	return 0;
}

static int neuron_post_add(struct neuron_claim_core *cc, const u64 *sum)
{
	struct neuron_status *status = &cc->core->status;
	unsigned int i;
	int ret = 0;

	/* A claim that is over adds nothing to what its successor posts. */
	mutex_lock(&cc->lock);
	if (cc->dead)
		ret = -ENOENT;
	for (i = 0; !ret && i < DRM_NEURON_NR_STATUS_COUNTERS; i++) {
		if (!sum[i])
			continue;
		atomic64_add(sum[i], &status->total[i]);
		atomic64_add(sum[i], &status->present[i]);
	}
	mutex_unlock(&cc->lock);
	return ret;
}

/**
 * neuron_ioctl_post() - POST: add to the status counters of a core
 * @drm: device
 * @data: &struct drm_neuron_post
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_post(struct drm_device *drm, void *data,
		      struct drm_file *file)
{
	u64 sum[DRM_NEURON_NR_STATUS_COUNTERS] = {};
	struct drm_neuron_post *args = data;
	struct neuron_claim_core *cc;
	struct neuron_array entries;
	int ret;

	ret = neuron_array_check(&args->entries,
				 DRM_NEURON_POST_ENTRY_SIZE_V2,
				 NEURON_MAX_POSTS);
	if (ret) {
		drm_dbg(drm, "post: bad array: %u elements of %u bytes\n",
			args->entries.count, args->entries.stride);
		return ret;
	}
	ret = neuron_array_get(&entries, sizeof(struct drm_neuron_post_entry),
			       &args->entries);
	if (ret)
		return ret;
	ret = neuron_post_sum(drm, &entries, sum);
	neuron_array_put(&entries);
	if (ret)
		return ret;

	cc = neuron_claim_core_find(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	if (neuron_core_is_cc(cc->core)) {
		drm_dbg(drm, "post: %s has no counters\n", cc->core->name);
		ret = -EINVAL;
	} else {
		ret = neuron_post_add(cc, sum);
	}
	neuron_claim_put(cc->claim);
	return ret;
}
