// SPDX-License-Identifier: GPL-2.0-only
/*
 * PRIME between the chips of a fabric. A dma-buf of ours that is imported by
 * another chip becomes a buffer of routed addresses: nothing is mapped, no
 * device ever attaches. Dma-bufs of others, and others attaching to ours, are
 * refused: HBM is no memory that a foreign device could be pointed at.
 */
#include <linux/dma-buf.h>
#include <linux/jiffies.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "contract/window.h"
#include "neuron_device.h"
#include "neuron_gem.h"

/**
 * struct neuron_peer_bo - another chip's buffer
 * @bo: buffer
 * @dma_buf: keeps the memory
 * @link: neuron_device.peer_bos of the chip that holds it, until a unit of the importer cannot
 *	write there any more
 * @kept: neuron_device.kept_bos of the importer, which it has a reference of meanwhile
 * @gone: that chip has left, and knows that the importer must stop; under
 *	neuron_device.peer_lock of that chip, as @retired is
 * @retired: nobody on the importer has the buffer. Until then neuron_device.nr_gone of the importer
 *	counts it if it is @gone
 */
struct neuron_peer_bo {
	struct neuron_bo bo;
	struct dma_buf *dma_buf;
	struct list_head link;
	struct list_head kept;
	bool gone;
	bool retired;
};

static struct neuron_device *neuron_peer_device(struct neuron_peer_bo *pbo)
{
	struct drm_gem_object *obj = pbo->dma_buf->priv;

	return to_neuron_device(obj->dev);
}

static int neuron_dma_buf_attach(struct dma_buf *dma_buf,
				 struct dma_buf_attachment *attach)
{
	return -EOPNOTSUPP;
}

static struct sg_table *neuron_dma_buf_map(struct dma_buf_attachment *attach,
					   enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* Required by the core; nothing can be mapped. */
static void neuron_dma_buf_unmap(struct dma_buf_attachment *attach,
				 struct sg_table *sgt,
				 enum dma_data_direction dir)
{
}

static const struct dma_buf_ops neuron_dma_buf_ops = {
	.attach = neuron_dma_buf_attach,
	.map_dma_buf = neuron_dma_buf_map,
	.unmap_dma_buf = neuron_dma_buf_unmap,
	.release = drm_gem_dmabuf_release,
	.mmap = drm_gem_dmabuf_mmap,
};

struct dma_buf *neuron_gem_prime_export(struct drm_gem_object *obj, int flags)
{
	struct drm_device *drm = obj->dev;
	struct dma_buf_export_info info = {
		.exp_name = "neuron",
		.owner = drm->driver->fops->owner,
		.ops = &neuron_dma_buf_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};

	/* Whoever imports it could make windows of it. */
	if (neuron_bo_is_stream(to_neuron_bo(obj)))
		return ERR_PTR(-EPERM);
	return drm_gem_dmabuf_export(drm, &info);
}

static void neuron_peer_bo_release(struct neuron_peer_bo *pbo)
{
	struct neuron_device *holder = neuron_peer_device(pbo);

	mutex_lock(&holder->peer_lock);
	list_del(&pbo->link);
	mutex_unlock(&holder->peer_lock);
	dma_buf_put(pbo->dma_buf);
	kfree(pbo);
}

/*
 * Nobody on @ndev has the buffer any more. But a unit of @ndev that did not stop when it was
 * asked may still write there: bus mastering does not keep it from the memory of other chips. So
 * that memory stays allocated until the unit has stopped. If the chip that holds it leaves
 * meanwhile, it waits for @ndev as for any importer, and finds it by the buffer. The buffer may
 * outlive the driver of @ndev, so it holds @ndev.
 */
static void neuron_peer_bo_retire(struct neuron_device *ndev, struct neuron_peer_bo *pbo)
{
	bool keep;

	mutex_lock(&ndev->peer_lock);
	keep = READ_ONCE(ndev->bus_cuts);
	if (keep) {
		drm_dev_get(&ndev->drm);
		list_add_tail(&pbo->kept, &ndev->kept_bos);
	}
	mutex_unlock(&ndev->peer_lock);
	if (!keep)
		neuron_peer_bo_release(pbo);
}

static void neuron_peers_kept_work(struct work_struct *work)
{
	struct neuron_device *ndev = container_of(work, struct neuron_device, kept_work);
	struct neuron_peer_bo *pbo, *next;
	LIST_HEAD(free);

	mutex_lock(&ndev->peer_lock);
	if (!READ_ONCE(ndev->bus_cuts))
		list_splice_init(&ndev->kept_bos, &free);
	mutex_unlock(&ndev->peer_lock);
	list_for_each_entry_safe(pbo, next, &free, kept) {
		neuron_peer_bo_release(pbo);
		/* Not the last one: the driver of the device waits for this. */
		drm_dev_put(&ndev->drm);
		cond_resched();
	}
}

void neuron_peers_init(struct neuron_device *ndev)
{
	INIT_WORK(&ndev->kept_work, neuron_peers_kept_work);
}

void neuron_peers_fini(struct neuron_device *ndev)
{
	cancel_work_sync(&ndev->kept_work);
	neuron_peers_kept_work(&ndev->kept_work);
}

static void neuron_peer_bo_free(struct drm_gem_object *obj)
{
	struct neuron_bo *bo = to_neuron_bo(obj);
	struct neuron_peer_bo *pbo =
		container_of(bo, struct neuron_peer_bo, bo);
	struct neuron_device *ndev = to_neuron_device(obj->dev);
	struct neuron_device *holder = neuron_peer_device(pbo);

	drm_gem_object_release(obj);
	mutex_lock(&holder->peer_lock);
	pbo->retired = true;
	if (pbo->gone)
		atomic_dec(&ndev->nr_gone);
	mutex_unlock(&holder->peer_lock);
	kvfree(bo->extents);
	kvfree(bo->starts);
	neuron_peer_bo_retire(ndev, pbo);
}

bool neuron_bo_is_gone(const struct neuron_bo *bo)
{
	const struct neuron_peer_bo *pbo;
	const struct drm_gem_object *obj;

	if (bo->kind != NEURON_BO_PEER)
		return false;
	pbo = container_of_const(bo, struct neuron_peer_bo, bo);
	obj = pbo->dma_buf->priv;
	return drm_dev_is_unplugged(obj->dev);
}

bool neuron_bo_is_lost(const struct neuron_bo *bo)
{
	const struct drm_gem_object *obj = &bo->base;
	const struct neuron_peer_bo *pbo;

	if (bo->kind == NEURON_BO_PEER) {
		pbo = container_of_const(bo, struct neuron_peer_bo, bo);
		obj = pbo->dma_buf->priv;
		bo = container_of_const(obj, struct neuron_bo, base);
	}
	return bo->kind == NEURON_BO_HBM &&
	       bo->epoch != READ_ONCE(to_neuron_device(obj->dev)->epoch);
}

/* No mmap and no export of its own: both belong to the chip that holds it. */
static const struct drm_gem_object_funcs neuron_peer_bo_funcs = {
	.free = neuron_peer_bo_free,
};

static int neuron_peer_route(struct neuron_bo *bo, const struct neuron_bo *from,
			     u32 fabric_id)
{
	unsigned int i;

	bo->extents = kvmalloc_array(from->nr_extents, sizeof(*bo->extents),
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bo->extents)
		return -ENOMEM;

	for (i = 0; i < from->nr_extents; i++) {
		u64 addr = neuron_hw_extent_addr(&from->extents[i]);

		bo->extents[i] =
			neuron_hw_extent(neuron_fabric_addr(fabric_id, addr),
					 neuron_hw_extent_length(&from->extents[i]));
	}
	bo->nr_extents = from->nr_extents;
	return 0;
}

/* Return: false if @peer has left, and neuron_peers_leave() may not see the buffer. */
static bool neuron_peer_bo_add(struct neuron_peer_bo *pbo, struct neuron_device *peer)
{
	bool there;

	mutex_lock(&peer->peer_lock);
	there = !drm_dev_is_unplugged(&peer->drm);
	if (there)
		list_add_tail(&pbo->link, &peer->peer_bos);
	mutex_unlock(&peer->peer_lock);
	return there;
}

static struct drm_gem_object *neuron_peer_bo_create(struct neuron_device *ndev,
						    struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = dma_buf->priv;
	struct neuron_device *peer = to_neuron_device(obj->dev);
	struct neuron_peer_bo *pbo;
	int ret;

	pbo = kzalloc(sizeof(*pbo), GFP_KERNEL_ACCOUNT);
	if (!pbo)
		return ERR_PTR(-ENOMEM);

	ret = neuron_peer_route(&pbo->bo, to_neuron_bo(obj), peer->fabric_id);
	if (ret) {
		kfree(pbo);
		return ERR_PTR(ret);
	}

	pbo->dma_buf = dma_buf;
	pbo->bo.kind = NEURON_BO_PEER;
	pbo->bo.stack = to_neuron_bo(obj)->stack;
	pbo->bo.category = to_neuron_bo(obj)->category;
	pbo->bo.base.funcs = &neuron_peer_bo_funcs;
	drm_gem_private_object_init(&ndev->drm, &pbo->bo.base, obj->size);
	if (neuron_peer_bo_add(pbo, peer)) {
		get_dma_buf(dma_buf);
		return &pbo->bo.base;
	}
	drm_gem_object_release(&pbo->bo.base);
	kvfree(pbo->bo.extents);
	kfree(pbo);
	return ERR_PTR(-ENODEV);
}

/* The importer of a buffer that is not known to be gone, with a reference; or NULL. */
static struct neuron_device *neuron_peers_next(struct neuron_device *ndev)
{
	struct neuron_device *peer = NULL;
	struct neuron_peer_bo *pbo;

	mutex_lock(&ndev->peer_lock);
	list_for_each_entry(pbo, &ndev->peer_bos, link) {
		struct neuron_device *importer = to_neuron_device(pbo->bo.base.dev);

		if (pbo->gone || (peer && peer != importer))
			continue;
		pbo->gone = true;
		if (!pbo->retired)
			atomic_inc(&importer->nr_gone);
		if (!peer)
			drm_dev_get(&importer->drm);
		peer = importer;
	}
	mutex_unlock(&ndev->peer_lock);
	return peer;
}

/*
 * Is there nothing to wait for? Units reach other chips without bus mastering. So what counts is:
 *
 * - While a chip is being reset (STARTING, or DOWN and not asleep) its units may go on.
 * - If the bus is cut in the state UP, a unit did not stop. The reset of the device is on its way.
 * - A chip that is asleep has stopped.
 * - A chip that is FAILED stays so until somebody asks for another reset.
 * - A chip that is LEAVING stops by itself.
 */
static bool neuron_peer_rests(const struct neuron_device *peer)
{
	switch (READ_ONCE(peer->hw_state)) {
	case NEURON_HW_STARTING:
		return false;
	case NEURON_HW_DOWN:
		return READ_ONCE(peer->asleep);
	case NEURON_HW_UP:
		return !READ_ONCE(peer->bus_cuts);
	default:
		return true;
	}
}

/*
 * A chip that was pulled out has no memory that anybody could reach. The cuts of a peer whose
 * driver has left are those of that moment: nobody knows whether it was reset since.
 */
static void neuron_peer_wait(struct neuron_device *ndev, struct neuron_device *peer)
{
	if (!pci_device_is_present(ndev->pdev))
		return;
	if (wait_event_timeout(peer->hw_wait, neuron_peer_rests(peer),
			       msecs_to_jiffies(NEURON_PEER_TIMEOUT_MS)) &&
	    !READ_ONCE(peer->bus_cuts))
		return;
	if (pci_device_is_present(peer->pdev))
		dev_err(ndev->drm.dev,
			"%s %s and may write to memory of this chip: reset it before you bind this one again\n",
			dev_name(peer->drm.dev),
			neuron_hw_leaves(peer) ? "had not stopped when its driver left" :
						 "has not stopped");
}

void neuron_peers_leave(struct neuron_device *ndev,
			void (*call)(struct neuron_device *peer))
{
	struct neuron_device *peer;

	while ((peer = neuron_peers_next(ndev))) {
		call(peer);
		neuron_peer_wait(ndev, peer);
		drm_dev_put(&peer->drm);
	}
}

struct drm_gem_object *neuron_gem_prime_import(struct drm_device *drm,
					       struct dma_buf *dma_buf)
{
	struct neuron_device *ndev = to_neuron_device(drm);
	struct neuron_device *peer;
	struct drm_gem_object *obj;

	if (dma_buf->ops != &neuron_dma_buf_ops) {
		drm_dbg(drm, "import of a foreign dma-buf\n");
		return ERR_PTR(-EOPNOTSUPP);
	}

	obj = dma_buf->priv;
	if (obj->dev == drm) {
		drm_gem_object_get(obj);
		return obj;
	}

	/* Nobody may fill memory that is kept (neuron_peer_bo_retire()). */
	if (READ_ONCE(ndev->bus_cuts))
		return ERR_PTR(-EIO);
	peer = to_neuron_device(obj->dev);
	if (to_neuron_bo(obj)->kind != NEURON_BO_HBM ||
	    !neuron_same_fabric(peer, ndev)) {
		drm_dbg(drm, "the fabric does not reach the buffer\n");
		return ERR_PTR(-EOPNOTSUPP);
	}
	return neuron_peer_bo_create(ndev, dma_buf);
}
