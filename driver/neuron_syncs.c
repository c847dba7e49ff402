// SPDX-License-Identifier: GPL-2.0-only
/*
 * The syncobjs of a submission: what its jobs wait for, and what they signal.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>
#include <drm/gpu_scheduler.h>

#include "neuron_fence.h"
#include "neuron_syncs.h"

/**
 * struct neuron_out_sync - a syncobj that the job signals
 * @syncobj: referenced
 * @chain: for a timeline point, else NULL
 * @point: timeline point
 */
struct neuron_out_sync {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

int neuron_syncs_check(const struct drm_neuron_array *in,
		       const struct drm_neuron_array *out)
{
	return neuron_array_check(in, DRM_NEURON_SYNC_SIZE_V2, NEURON_MAX_SYNCS) ?:
	       neuron_array_check(out, DRM_NEURON_SYNC_SIZE_V2, NEURON_MAX_SYNCS);
}

static int neuron_sync_check(struct drm_device *drm,
			     const struct drm_neuron_sync *sync, u32 known)
{
	if (!(sync->flags & ~known))
		return 0;
	drm_dbg(drm, "submit: unknown flags %#x of a syncobj\n", sync->flags);
	return -EINVAL;
}

static int neuron_in_sync_find(struct neuron_gate *gate, struct drm_device *drm,
			       struct drm_file *file,
			       const struct drm_neuron_sync *sync)
{
	struct dma_fence *fence;
	int ret;

	ret = drm_syncobj_find_fence(file, sync->handle, sync->point, 0, &fence);
	if (ret) {
		drm_dbg(drm, "submit: in-syncobj %u point %llu has no fence\n",
			sync->handle, sync->point);
		return ret;
	}
	neuron_gate_add(gate, fence, !(sync->flags & DRM_NEURON_SYNC_IGNORE_ERROR));
	return 0;
}

static int neuron_in_syncs_find(struct neuron_syncs *syncs, struct drm_device *drm,
				struct drm_file *file)
{
	const struct drm_neuron_sync *sync = syncs->in.element;
	struct neuron_gate *gate;
	int ret = 0;
	u32 i;

	if (!syncs->in.count)
		return 0;
	gate = neuron_gate_create(syncs->in.count);
	if (IS_ERR(gate))
		return PTR_ERR(gate);
	syncs->gate = gate;
	for (i = 0; i < syncs->in.count && !ret; i++) {
		ret = neuron_sync_check(drm, &sync[i], DRM_NEURON_SYNC_IGNORE_ERROR) ?:
		      neuron_pause();
		if (!ret)
			ret = neuron_in_sync_find(gate, drm, file, &sync[i]);
	}
	return ret;
}

static int neuron_out_sync_find(struct neuron_out_sync *out,
				struct drm_device *drm, struct drm_file *file,
				const struct drm_neuron_sync *sync)
{
	out->syncobj = drm_syncobj_find(file, sync->handle);
	if (!out->syncobj) {
		drm_dbg(drm, "submit: no out-syncobj %u\n", sync->handle);
		return -ENOENT;
	}
	if (!sync->point)
		return 0;
	out->point = sync->point;
	out->chain = dma_fence_chain_alloc();
	return out->chain ? 0 : -ENOMEM;
}

static int neuron_out_syncs_find(struct neuron_syncs *syncs, struct drm_device *drm,
				 struct drm_file *file)
{
	const struct drm_neuron_sync *sync = syncs->out.element;
	int ret = 0;
	u32 i;

	if (!syncs->out.count)
		return 0;
	syncs->outs = kvcalloc(syncs->out.count, sizeof(*syncs->outs), GFP_KERNEL_ACCOUNT);
	if (!syncs->outs)
		return -ENOMEM;
	for (i = 0; i < syncs->out.count && !ret; i++) {
		ret = neuron_sync_check(drm, &sync[i], 0);
		if (!ret)
			ret = neuron_out_sync_find(&syncs->outs[i], drm, file, &sync[i]);
	}
	return ret;
}

int neuron_syncs_get(struct neuron_syncs *syncs, struct drm_device *drm,
		     struct drm_file *file, const struct drm_neuron_array *in,
		     const struct drm_neuron_array *out)
{
	int ret;

	ret = neuron_array_get(&syncs->in, sizeof(struct drm_neuron_sync), in);
	if (!ret)
		ret = neuron_array_get(&syncs->out, sizeof(struct drm_neuron_sync), out);
	if (!ret)
		ret = neuron_out_syncs_find(syncs, drm, file);
	return ret ?: neuron_in_syncs_find(syncs, drm, file);
}

int neuron_syncs_charge(struct neuron_syncs *syncs, struct neuron_budget *budget)
{
	return syncs->gate ? neuron_gate_charge(syncs->gate, budget) : 0;
}

struct neuron_gate *neuron_syncs_wait(struct neuron_syncs *syncs)
{
	return syncs->gate ? neuron_gate_get(syncs->gate) : NULL;
}

void neuron_syncs_signal(struct neuron_syncs *syncs, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < syncs->out.count; i++) {
		struct neuron_out_sync *out = &syncs->outs[i];

		if (out->chain)
			drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
		else
			drm_syncobj_replace_fence(out->syncobj, fence);
		out->chain = NULL;
		cond_resched();
	}
}

void neuron_syncs_put(struct neuron_syncs *syncs)
{
	u32 i;

	for (i = 0; syncs->outs && i < syncs->out.count; i++) {
		dma_fence_chain_free(syncs->outs[i].chain);
		if (syncs->outs[i].syncobj)
			drm_syncobj_put(syncs->outs[i].syncobj);
	}
	kvfree(syncs->outs);
	if (syncs->gate)
		neuron_gate_put(syncs->gate);
	neuron_array_put(&syncs->out);
	neuron_array_put(&syncs->in);
}
