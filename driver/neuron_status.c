// SPDX-License-Identifier: GPL-2.0-only
/*
 * The POST ioctl.
 */
#include <linux/string.h>
#include <drm/drm_print.h>

#include "neuron_claim.h"
#include "neuron_ioctl.h"
#include "neuron_status.h"

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

void neuron_status_renew(struct neuron_status *status)
{
	unsigned int i;

	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++)
		atomic64_set(&status->present[i], 0);
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
