// SPDX-License-Identifier: GPL-2.0-only
/*
 * HBM allocator. The life of a block: free and zero, allocated, dirty (on the
 * list of the scrub work), free again. Nothing is scrubbed at allocation, so a
 * buffer's memory is ready at once; only a full stack waits for the work.
 */
#include <linux/sort.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_hbm.h"

/**
 * struct neuron_hbm - a stack
 * @ndev: device
 * @index: number of the stack
 * @base: device address of the first usable byte
 * @bar4: offset of that byte in BAR4
 * @size: populated bytes
 * @usable: bytes managed by @mm
 * @lock: @mm
 * @mm: allocator, offsets from @base
 * @dirty_lock: @dirty, @lost_list; taken in any context
 * @dirty: memory to be scrubbed
 * @lost_list: memory that the chip did not scrub
 * @scrub: scrubs it
 * @used: bytes in buffers
 * @scrubbing: bytes on @dirty
 * @lost: bytes on @lost_list
 */
struct neuron_hbm {
	struct neuron_device *ndev;
	unsigned int index;
	u64 base;
	u64 bar4;
	u64 size;
	u64 usable;
	struct mutex lock;	/* mm */
	struct neuron_buddy mm;
	spinlock_t dirty_lock;	/* dirty, lost_list */
	struct list_head dirty;
	struct list_head lost_list;
	struct work_struct scrub;
	atomic64_t used;
	atomic64_t scrubbing;
	atomic64_t lost;
};

void neuron_hbm_interrupt(struct neuron_device *ndev, u32 cause)
{
	if (cause & NEURON_CTL_CAUSE_DISCARD_ERROR)
		WRITE_ONCE(ndev->discard_error, true);
	complete(&ndev->discard_done);
}

void neuron_hbm_stop(struct neuron_device *ndev)
{
	complete_all(&ndev->discard_done);
}

/* Only register access is inside the section: unplug never waits for a chip. */
static int neuron_discard_start(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret = 0;
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;

	if (neuron_ctl_read(ndev, NEURON_CTL_DISCARD_GO)) {
		ret = -EBUSY;
	} else {
		WRITE_ONCE(ndev->discard_error, false);
		reinit_completion(&ndev->discard_done);
		neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_ADDR, addr);
		neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_LEN, len);
		neuron_ctl_write(ndev, NEURON_CTL_DISCARD_GO, 1);
	}

	drm_dev_exit(idx);
	return ret;
}

/* What was announced may be the end of an earlier one that took too long. */
static bool neuron_discard_ended(struct neuron_device *ndev)
{
	bool ended;
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return true;	/* nothing to wait for: the caller looks at that */
	ended = !neuron_ctl_read(ndev, NEURON_CTL_DISCARD_GO);
	drm_dev_exit(idx);
	return ended;
}

static int neuron_discard_wait(struct neuron_device *ndev)
{
	unsigned long limit = msecs_to_jiffies(NEURON_DISCARD_TIMEOUT_MS);
	unsigned long end = jiffies + limit;
	unsigned long left = limit;
	int idx;

	/* A device that announces an end again and again does not delay it. */
	while (left && left <= limit) {
		if (wait_for_completion_timeout(&ndev->discard_done, left) &&
		    neuron_discard_ended(ndev))
			return 0;
		left = end - jiffies;
	}
	/* The interrupt may have been lost. */
	if (drm_dev_enter(&ndev->drm, &idx)) {
		neuron_irq_poll(ndev);
		drm_dev_exit(idx);
	}
	return try_wait_for_completion(&ndev->discard_done) &&
	       neuron_discard_ended(ndev) ? 0 : -ETIMEDOUT;
}

/* Make [@addr, @addr + @len) zero and give its pages back to the host. */
static int neuron_discard(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret;

	mutex_lock(&ndev->discard_lock);
	ret = neuron_discard_start(ndev, addr, len);
	if (ret)
		goto out;

	ret = neuron_discard_wait(ndev);
	if (ret)
		goto out;
	if (drm_dev_is_unplugged(&ndev->drm))
		ret = -ENODEV;
	else if (READ_ONCE(ndev->discard_error))
		ret = -EIO;
out:
	mutex_unlock(&ndev->discard_lock);
	if (ret && ret != -ENODEV)
		drm_err_ratelimited(&ndev->drm,
				    "discard of %llu bytes at %#llx failed: %d\n",
				    len, addr, ret);
	return ret;
}

static int neuron_hbm_scrub_alloc(struct neuron_hbm_alloc *alloc)
{
	struct neuron_device *ndev = alloc->hbm->ndev;
	unsigned int i;
	int ret;

	for (i = 0; i < alloc->nr_extents; i++) {
		ret = neuron_discard(ndev, le64_to_cpu(alloc->extents[i].addr),
				     le64_to_cpu(alloc->extents[i].length));
		if (ret)
			return ret;
	}
	return 0;
}

static void neuron_hbm_release(struct neuron_hbm_alloc *alloc)
{
	struct neuron_hbm *hbm = alloc->hbm;

	mutex_lock(&hbm->lock);
	neuron_buddy_free_list(&hbm->mm, &alloc->blocks, 0);
	mutex_unlock(&hbm->lock);
	kvfree(alloc->extents);
	kfree(alloc);
}

static struct neuron_hbm_alloc *neuron_hbm_pop(struct neuron_hbm *hbm,
					       struct list_head *list)
{
	struct neuron_hbm_alloc *alloc;
	unsigned long flags;

	spin_lock_irqsave(&hbm->dirty_lock, flags);
	alloc = list_first_entry_or_null(list, struct neuron_hbm_alloc, link);
	if (alloc)
		list_del(&alloc->link);
	spin_unlock_irqrestore(&hbm->dirty_lock, flags);
	return alloc;
}

static void neuron_hbm_push(struct neuron_hbm_alloc *alloc,
			    struct list_head *list)
{
	struct neuron_hbm *hbm = alloc->hbm;
	unsigned long flags;

	spin_lock_irqsave(&hbm->dirty_lock, flags);
	list_add_tail(&alloc->link, list);
	spin_unlock_irqrestore(&hbm->dirty_lock, flags);
}

static void neuron_hbm_scrub_work(struct work_struct *work)
{
	struct neuron_hbm *hbm = container_of(work, struct neuron_hbm, scrub);
	struct neuron_hbm_alloc *alloc;
	int ret;

	while ((alloc = neuron_hbm_pop(hbm, &hbm->dirty))) {
		ret = neuron_hbm_scrub_alloc(alloc);
		atomic64_sub(alloc->size, &hbm->scrubbing);
		if (ret && ret != -ENODEV) {
			atomic64_add(alloc->size, &hbm->lost);
			neuron_hbm_push(alloc, &hbm->lost_list);
			continue;
		}
		neuron_hbm_release(alloc);
	}
}

void neuron_hbm_free(struct neuron_hbm_alloc *alloc)
{
	struct neuron_hbm *hbm = alloc->hbm;

	atomic64_sub(alloc->size, &hbm->used);
	atomic64_add(alloc->size, &hbm->scrubbing);
	neuron_hbm_push(alloc, &hbm->dirty);
	queue_work(hbm->ndev->scrub_wq, &hbm->scrub);
}

void neuron_hbm_flush(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_hbm; i++)
		flush_work(&ndev->hbm[i]->scrub);
}

static int neuron_hbm_alloc_blocks(struct neuron_hbm *hbm, u64 size,
				   struct list_head *blocks)
{
	int ret;

	mutex_lock(&hbm->lock);
	ret = neuron_buddy_alloc_blocks(&hbm->mm, 0, hbm->usable, size,
					PAGE_SIZE, blocks, 0);
	mutex_unlock(&hbm->lock);
	return ret;
}

static int neuron_extent_cmp(const void *a, const void *b)
{
	u64 x = le64_to_cpu(((const struct neuron_hw_extent *)a)->addr);
	u64 y = le64_to_cpu(((const struct neuron_hw_extent *)b)->addr);

	return x < y ? -1 : x > y;
}

/* Join neighbours of a sorted list; returns how many remain. */
static unsigned int neuron_extents_merge(struct neuron_hw_extent *e,
					 unsigned int nr)
{
	unsigned int i, last = 0;

	for (i = 1; i < nr; i++) {
		if (le64_to_cpu(e[last].addr) + le64_to_cpu(e[last].length) ==
		    le64_to_cpu(e[i].addr))
			le64_add_cpu(&e[last].length, le64_to_cpu(e[i].length));
		else
			e[++last] = e[i];
	}
	return last + 1;
}

static int neuron_hbm_fill_extents(struct neuron_hbm_alloc *alloc)
{
	struct neuron_hbm *hbm = alloc->hbm;
	struct neuron_buddy_block *block;
	struct neuron_hw_extent *extents;
	size_t nr = list_count_nodes(&alloc->blocks);
	unsigned int i = 0;

	extents = kvmalloc_array(nr, sizeof(*extents), GFP_KERNEL_ACCOUNT);
	if (!extents)
		return -ENOMEM;

	list_for_each_entry(block, &alloc->blocks, link) {
		u64 addr = hbm->base + neuron_buddy_block_offset(block);

		extents[i].addr = cpu_to_le64(addr);
		extents[i].length =
			cpu_to_le64(neuron_buddy_block_size(&hbm->mm, block));
		i++;
	}
	sort(extents, nr, sizeof(*extents), neuron_extent_cmp, NULL);
	alloc->extents = extents;
	alloc->nr_extents = neuron_extents_merge(extents, nr);
	return 0;
}

struct neuron_hbm_alloc *neuron_hbm_alloc(struct neuron_device *ndev,
					  unsigned int stack, u64 size)
{
	struct neuron_hbm *hbm = ndev->hbm[stack];
	struct neuron_hbm_alloc *alloc;
	int ret;

	if (size > hbm->usable)
		return ERR_PTR(-ENOSPC);

	alloc = kzalloc(sizeof(*alloc), GFP_KERNEL_ACCOUNT);
	if (!alloc)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&alloc->blocks);
	alloc->hbm = hbm;
	alloc->size = size;

	ret = neuron_hbm_alloc_blocks(hbm, size, &alloc->blocks);
	if (ret == -ENOSPC) {
		flush_work(&hbm->scrub);
		ret = neuron_hbm_alloc_blocks(hbm, size, &alloc->blocks);
	}
	if (ret)
		goto err_free;

	ret = neuron_hbm_fill_extents(alloc);
	if (ret)
		goto err_release;

	atomic64_add(size, &hbm->used);
	return alloc;

err_release:
	/* Nobody has written to it: it is still zero. */
	neuron_hbm_release(alloc);
	return ERR_PTR(ret);
err_free:
	kfree(alloc);
	return ERR_PTR(ret);
}

void neuron_hbm_get_stats(struct neuron_device *ndev, unsigned int stack,
			  struct neuron_hbm_stats *stats)
{
	struct neuron_hbm *hbm = ndev->hbm[stack];

	stats->size = hbm->size;
	stats->usable = hbm->usable;
	stats->used = atomic64_read(&hbm->used);
	stats->scrubbing = atomic64_read(&hbm->scrubbing);
	stats->lost = atomic64_read(&hbm->lost);
}

phys_addr_t neuron_hbm_phys(struct neuron_device *ndev, unsigned int stack,
			    u64 addr)
{
	struct neuron_hbm *hbm = ndev->hbm[stack];

	return ndev->bar4_start + hbm->bar4 + (addr - hbm->base);
}

static void neuron_hbm_fini(struct drm_device *drm, void *data)
{
	struct neuron_hbm *hbm = data;
	struct neuron_hbm_alloc *alloc;

	flush_work(&hbm->scrub);
	while ((alloc = neuron_hbm_pop(hbm, &hbm->lost_list)))
		neuron_hbm_release(alloc);
	neuron_buddy_fini(&hbm->mm);
	mutex_destroy(&hbm->lock);
}

/* Two stacks at one place would show a process the memory of another one. */
static bool neuron_hbm_overlaps(struct neuron_device *ndev, u64 bar4, u64 size)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		const struct neuron_hbm *other = ndev->hbm[i];
		u64 start;

		if (!other)
			continue;
		start = other->bar4 - NEURON_HBM_CARVE_OUT;
		if (bar4 < start + other->size && start < bar4 + size)
			return true;
	}
	return false;
}

/* What the device says about a stack, checked. */
static int neuron_hbm_read_layout(struct neuron_device *ndev,
				  struct neuron_hbm *hbm)
{
	u64 bar4 = neuron_ctl_read64(ndev, NEURON_CTL_HBM_BAR(hbm->index));

	hbm->size = neuron_ctl_read64(ndev, NEURON_CTL_HBM_SIZE(hbm->index));
	if (hbm->size <= NEURON_HBM_CARVE_OUT ||
	    hbm->size > ndev->gen->hbm_window ||
	    !PAGE_ALIGNED(hbm->size) || !PAGE_ALIGNED(bar4) ||
	    bar4 > ndev->bar4_size || hbm->size > ndev->bar4_size - bar4 ||
	    neuron_hbm_overlaps(ndev, bar4, hbm->size)) {
		drm_err(&ndev->drm,
			"HBM %u: impossible layout: %llu bytes at %#llx of BAR4 (%llu bytes)\n",
			hbm->index, hbm->size, bar4, (u64)ndev->bar4_size);
		return -ENODEV;
	}

	hbm->base = ndev->gen->hbm_addr[hbm->index] + NEURON_HBM_CARVE_OUT;
	hbm->bar4 = bar4 + NEURON_HBM_CARVE_OUT;
	hbm->usable = hbm->size - NEURON_HBM_CARVE_OUT;
	return 0;
}

static int neuron_hbm_init_stack(struct neuron_device *ndev, unsigned int index)
{
	struct neuron_hbm *hbm;
	int ret;

	hbm = drmm_kzalloc(&ndev->drm, sizeof(*hbm), GFP_KERNEL);
	if (!hbm)
		return -ENOMEM;

	hbm->ndev = ndev;
	hbm->index = index;
	ret = neuron_hbm_read_layout(ndev, hbm);
	if (ret)
		return ret;

	ret = neuron_buddy_init(&hbm->mm, hbm->usable, PAGE_SIZE);
	if (ret)
		return ret;
	mutex_init(&hbm->lock);
	spin_lock_init(&hbm->dirty_lock);
	INIT_LIST_HEAD(&hbm->dirty);
	INIT_LIST_HEAD(&hbm->lost_list);
	INIT_WORK(&hbm->scrub, neuron_hbm_scrub_work);
	ndev->hbm[index] = hbm;
	return drmm_add_action_or_reset(&ndev->drm, neuron_hbm_fini, hbm);
}

/* Whatever used the chip before may have left its data. */
int neuron_hbm_start(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		struct neuron_hbm *hbm = ndev->hbm[i];

		ret = neuron_discard(ndev, hbm->base, hbm->usable);
		if (ret)
			return ret;
	}
	return 0;
}

static void neuron_hbm_destroy_wq(struct drm_device *drm, void *data)
{
	destroy_workqueue(data);
}

int neuron_hbm_init(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	/* The chip discards one range at a time. */
	ndev->scrub_wq = alloc_ordered_workqueue("neuron-scrub", 0);
	if (!ndev->scrub_wq)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&ndev->drm, neuron_hbm_destroy_wq,
				       ndev->scrub_wq);
	if (ret)
		return ret;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		ret = neuron_hbm_init_stack(ndev, i);
		if (ret)
			return ret;
	}
	return 0;
}
