// SPDX-License-Identifier: GPL-2.0-only
/*
 * Syncobjs of a submission.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "neuron_gate.h"
#include "neuron_ioctl.h"
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

static int neuron_sync_check(struct drm_device *drm,
			     const struct drm_neuron_sync *sync)
{
	if (!sync->pad)
		return 0;
	drm_dbg(drm, "submit: non-zero pad\n");
	return -EINVAL;
}

static int neuron_in_syncs_add(struct neuron_gate *gate, struct drm_device *drm,
			       struct drm_file *file,
			       const struct neuron_array *syncs)
{
	const struct drm_neuron_sync *sync = syncs->element;
	struct dma_fence *fence;
	u32 i;
	int ret;

	for (i = 0; i < syncs->count; i++, sync++) {
		ret = neuron_sync_check(drm, sync);
		if (ret)
			return ret;
		ret = drm_syncobj_find_fence(file, sync->handle, sync->point, 0,
					     &fence);
		if (ret) {
			drm_dbg(drm, "submit: in-syncobj %u point %llu has no fence\n",
				sync->handle, sync->point);
			return ret;
		}
		neuron_gate_add(gate, fence);
	}
	return 0;
}

struct neuron_gate *neuron_in_syncs_find(struct drm_device *drm,
					 struct drm_file *file,
					 const struct neuron_array *syncs)
{
	struct neuron_gate *gate = neuron_gate_create(syncs->count);
	int ret;

	if (IS_ERR(gate))
		return gate;
	ret = neuron_in_syncs_add(gate, drm, file, syncs);
	if (!ret)
		return gate;
	neuron_gate_put(gate);
	return ERR_PTR(ret);
}

void neuron_out_syncs_free(struct neuron_out_sync *outs, u32 nr)
{
	u32 i;

	for (i = 0; outs && i < nr; i++) {
		dma_fence_chain_free(outs[i].chain);
		if (outs[i].syncobj)
			drm_syncobj_put(outs[i].syncobj);
	}
	kvfree(outs);
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

struct neuron_out_sync *
neuron_out_syncs_find(struct drm_device *drm, struct drm_file *file,
		      const struct neuron_array *syncs)
{
	const struct drm_neuron_sync *sync = syncs->element;
	struct neuron_out_sync *outs;
	u32 i;
	int ret;

	outs = kvcalloc(syncs->count, sizeof(*outs), GFP_KERNEL);
	if (!outs)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < syncs->count; i++) {
		ret = neuron_sync_check(drm, &sync[i]);
		if (!ret)
			ret = neuron_out_sync_find(&outs[i], drm, file,
						   &sync[i]);
		if (ret) {
			neuron_out_syncs_free(outs, syncs->count);
			return ERR_PTR(ret);
		}
	}
	return outs;
}

void neuron_out_syncs_signal(struct neuron_out_sync *outs, u32 nr,
			     struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (outs[i].chain)
			drm_syncobj_add_point(outs[i].syncobj, outs[i].chain,
					      fence, outs[i].point);
		else
			drm_syncobj_replace_fence(outs[i].syncobj, fence);
		outs[i].chain = NULL;
	}
}
