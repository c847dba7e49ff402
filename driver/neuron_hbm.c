// SPDX-License-Identifier: GPL-2.0-only
/*
 * HBM allocator. The life of a block: free and zero, allocated, dirty (on the
 * list of the scrub work), free again when the chip has said that it is zero, and
 * not before. Nothing is scrubbed at allocation, so a buffer's memory is ready at
 * once; only a full stack waits for the work. What the chip does not scrub is lost,
 * until another attempt some time later, or a reset of the device, succeeds.
 */
#include <linux/sched/signal.h>
#include <linux/sort.h>
#include <linux/workqueue.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "contract/window.h"
#include "neuron_device.h"
#include "neuron_hbm.h"
#include "neuron_irq.h"
#include "neuron_trace.h"

/*
 * The chip's discard engine: one range at a time becomes zero, and its pages go
 * back to the host.
 */

static void neuron_discard_interrupt(struct neuron_device *ndev, u32 cause)
{
	if (cause & NEURON_CTL_CAUSE_DISCARD_ERROR)
		WRITE_ONCE(ndev->discard_error, true);
	complete(&ndev->discard_done);
}

static void neuron_discard_init(struct neuron_device *ndev)
{
	init_completion(&ndev->discard_done);
	ndev->on_irq.discard = neuron_discard_interrupt;
}

void neuron_discard_wake(struct neuron_device *ndev)
{
	complete(&ndev->discard_done);
}

void neuron_discard_stop(struct neuron_device *ndev)
{
	neuron_discard_wake(ndev);
	/* Whoever holds the lock sees the new state at its next poll at the latest: wait for it. */
	mutex_lock(&ndev->discard_lock);
	mutex_unlock(&ndev->discard_lock);
}

/* Under discard_lock: may the engine be used? */
static int neuron_discard_check(struct neuron_device *ndev)
{
	lockdep_assert_held(&ndev->discard_lock);
	switch (READ_ONCE(ndev->hw_state)) {
	case NEURON_HW_UP:
	case NEURON_HW_STARTING:
		return 0;
	case NEURON_HW_LEAVING:
		return -ENODEV;
	default:
		return -EAGAIN;
	}
}

/* Ask the chip: the interrupt may be that of an earlier discard, which had timed out. */
static bool neuron_discard_ended(struct neuron_device *ndev)
{
	return !neuron_ctl_read(ndev, NEURON_CTL_DISCARD_GO);
}

/*
 * Wait until the engine is idle. When the driver starts, the engine may still do what was begun
 * before: a removal does not wait for the end of a discard. In the state UP only a discard that has
 * timed out can still be under way, and it is not waited for again: -EBUSY.
 */
static int neuron_discard_wait_idle(struct neuron_device *ndev)
{
	unsigned long end = jiffies + msecs_to_jiffies(NEURON_DISCARD_TIMEOUT_MS);
	unsigned long slice = msecs_to_jiffies(NEURON_DISCARD_POLL_MS);
	int ret = neuron_discard_check(ndev);

	while (!ret && !neuron_discard_ended(ndev)) {
		if (READ_ONCE(ndev->hw_state) != NEURON_HW_STARTING ||
		    time_after(jiffies, end))
			return -EBUSY;
		if (!pci_device_is_present(ndev->pdev))
			return -ENODEV;
		wait_for_completion_timeout(&ndev->discard_done, slice);
		ret = neuron_discard_check(ndev);
	}
	return ret;
}

static int neuron_discard_start(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret = neuron_discard_wait_idle(ndev);

	if (ret)
		return ret;
	WRITE_ONCE(ndev->discard_error, false);
	reinit_completion(&ndev->discard_done);
	neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_ADDR, addr);
	neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_LEN, len);
	neuron_ctl_write(ndev, NEURON_CTL_DISCARD_GO, 1);
	return 0;
}

static int neuron_discard_wait(struct neuron_device *ndev)
{
	unsigned long end = jiffies + msecs_to_jiffies(NEURON_DISCARD_TIMEOUT_MS);
	unsigned long slice = msecs_to_jiffies(NEURON_DISCARD_POLL_MS);
	bool told;
	int ret;

	/* Interrupts that do not mean the end of the discard do not extend the time limit. */
	do {
		told = wait_for_completion_timeout(&ndev->discard_done, slice);
		ret = neuron_discard_check(ndev);
		if (ret)
			return ret;
		if (told && neuron_discard_ended(ndev))
			return 0;
		if (told)
			continue;
		/* The chip may have been pulled out, or the interrupt may be lost. */
		if (!pci_device_is_present(ndev->pdev))
			return -ENODEV;
		neuron_irq_poll(ndev);
	} while (time_before(jiffies, end));
	return try_wait_for_completion(&ndev->discard_done) &&
	       neuron_discard_ended(ndev) ? 0 : -ETIMEDOUT;
}

static int neuron_discard_once(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret;

	ret = neuron_discard_start(ndev, addr, len);
	if (!ret)
		ret = neuron_discard_wait(ndev);
	if (ret)
		return ret;
	return READ_ONCE(ndev->discard_error) ? -EIO : 0;
}

/*
 * Device addresses [@addr, @addr + @len) become zero. Sleeps.
 * -EAGAIN: the hardware went down meanwhile; -ENODEV: it is gone, or the driver leaves; -EIO,
 * -EBUSY, -ETIMEDOUT: the chip did not do it.
 */
static int neuron_discard(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret;

	mutex_lock(&ndev->discard_lock);
	ret = neuron_discard_once(ndev, addr, len);
	/* The error may be that of an earlier discard, which had timed out. */
	if (ret == -EIO)
		ret = neuron_discard_once(ndev, addr, len);
	mutex_unlock(&ndev->discard_lock);
	trace_neuron_discard(ndev, addr, len, ret);
	if (ret && ret != -ENODEV && ret != -EAGAIN)
		drm_err_ratelimited(&ndev->drm,
				    "discard of %llu bytes at %#llx failed: %d\n",
				    len, addr, ret);
	return ret;
}

/* The stacks. */

/* Between attempts to scrub what the chip failed to scrub. */
#define NEURON_SCRUB_RETRY	msecs_to_jiffies(NEURON_SCRUB_RETRY_MS)

/* Between pieces of this size an allocation looks whether its process was killed. */
#define NEURON_HBM_PIECE	NEURON_GIB(1)
/* The most of a buffer: they are sorted. The worst piece has as many. */
#define NEURON_HBM_BLOCKS	262144ul

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
 * @dirty_lock: @dirty, @lost_list, @freed, @done; taken in any context
 * @dirty: memory to be scrubbed
 * @lost_list: memory that the chip did not scrub
 * @scrub: scrubs @dirty, and what is lost when it is @retry_at
 * @retry_at: jiffies from which on @lost_list is worth another attempt
 * @scrub_wait: woken when @done has changed
 * @freed: bytes that were ever put on @dirty
 * @done: bytes of them that the work is done with: free again, or lost
 * @used: bytes in buffers
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
	spinlock_t dirty_lock;	/* dirty, lost_list, freed, done */
	struct list_head dirty;
	struct list_head lost_list;
	struct delayed_work scrub;
	unsigned long retry_at;
	wait_queue_head_t scrub_wait;
	u64 freed;
	u64 done;
	atomic64_t used;
	atomic64_t lost;
};

/*
 * Zero an extent; if a reset interrupts that, begin again after it. While the bus is cut
 * (neuron_device.bus_cuts) a unit has not stopped when it was asked. Without bus mastering it can
 * still write to HBM, so what is zeroed may not stay zero: -EIO. The bus is cut before memory that
 * the unit could write to is freed, so none of it gets past this.
 */
static int neuron_hbm_scrub_extent(struct neuron_device *ndev,
				   const struct neuron_hw_extent *extent)
{
	int ret;

	do {
		ret = neuron_hw_wait(ndev);
		if (!ret && READ_ONCE(ndev->bus_cuts))
			ret = -EIO;
		if (!ret)
			ret = neuron_discard(ndev, neuron_hw_extent_addr(extent),
					     neuron_hw_extent_length(extent));
	} while (ret == -EAGAIN);
	return ret;
}

static int neuron_hbm_scrub_alloc(struct neuron_hbm_memory *alloc)
{
	struct neuron_device *ndev = alloc->hbm->ndev;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < alloc->nr_extents; i++)
		ret = neuron_hbm_scrub_extent(ndev, &alloc->extents[i]);
	return ret;
}

static void neuron_hbm_release(struct neuron_hbm_memory *alloc)
{
	struct neuron_hbm *hbm = alloc->hbm;

	mutex_lock(&hbm->lock);
	neuron_buddy_free_list(&hbm->mm, &alloc->blocks, 0);
	mutex_unlock(&hbm->lock);
	kvfree(alloc->extents);
	kfree(alloc);
	neuron_pm_put(hbm->ndev);
}

static struct neuron_hbm_memory *neuron_hbm_pop(struct neuron_hbm *hbm,
						struct list_head *list)
{
	struct neuron_hbm_memory *alloc;
	unsigned long flags;

	spin_lock_irqsave(&hbm->dirty_lock, flags);
	alloc = list_first_entry_or_null(list, struct neuron_hbm_memory, link);
	if (alloc)
		list_del(&alloc->link);
	spin_unlock_irqrestore(&hbm->dirty_lock, flags);
	return alloc;
}

/* Return: the memory is free; false: it is on the list of lost memory. */
static bool neuron_hbm_scrub_one(struct neuron_hbm *hbm,
				 struct neuron_hbm_memory *alloc)
{
	if (neuron_hbm_scrub_alloc(alloc)) {
		atomic64_add(alloc->size, &hbm->lost);
		spin_lock_irq(&hbm->dirty_lock);
		list_add_tail(&alloc->link, &hbm->lost_list);
		spin_unlock_irq(&hbm->dirty_lock);
		hbm->retry_at = jiffies + NEURON_SCRUB_RETRY;
		return false;
	}
	neuron_hbm_release(alloc);
	return true;
}

/* Stop at the first failure: a chip that is out of order may cost the time limit each time. */
static void neuron_hbm_retry_lost(struct neuron_hbm *hbm)
{
	struct neuron_hbm_memory *alloc;

	while ((alloc = neuron_hbm_pop(hbm, &hbm->lost_list))) {
		atomic64_sub(alloc->size, &hbm->lost);
		if (!neuron_hbm_scrub_one(hbm, alloc))
			return;
	}
}

static void neuron_hbm_scrub_done(struct neuron_hbm *hbm, u64 size)
{
	spin_lock_irq(&hbm->dirty_lock);
	hbm->done += size;
	spin_unlock_irq(&hbm->dirty_lock);
	wake_up_all(&hbm->scrub_wait);
}

static void neuron_hbm_scrub_work(struct work_struct *work)
{
	struct neuron_hbm *hbm = container_of(to_delayed_work(work),
					      struct neuron_hbm, scrub);
	struct neuron_hbm_memory *alloc;
	u64 size;

	while ((alloc = neuron_hbm_pop(hbm, &hbm->dirty))) {
		size = alloc->size;
		neuron_hbm_scrub_one(hbm, alloc);
		neuron_hbm_scrub_done(hbm, size);
	}
	if (!atomic64_read(&hbm->lost) || neuron_hw_leaves(hbm->ndev))
		return;
	if (time_after_eq(jiffies, hbm->retry_at))
		neuron_hbm_retry_lost(hbm);
	if (atomic64_read(&hbm->lost))
		queue_delayed_work(hbm->ndev->scrub_wq, &hbm->scrub,
				   NEURON_SCRUB_RETRY);
	else
		drm_notice(&hbm->ndev->drm, "HBM %u: lost memory is back\n",
			   hbm->index);
}

void neuron_hbm_free(struct neuron_hbm_memory *alloc)
{
	struct neuron_hbm *hbm = alloc->hbm;
	unsigned long flags;

	trace_neuron_hbm_free(hbm->ndev, hbm->index, alloc->size);
	atomic64_sub(alloc->size, &hbm->used);
	spin_lock_irqsave(&hbm->dirty_lock, flags);
	hbm->freed += alloc->size;
	list_add_tail(&alloc->link, &hbm->dirty);
	spin_unlock_irqrestore(&hbm->dirty_lock, flags);
	mod_delayed_work(hbm->ndev->scrub_wq, &hbm->scrub, 0);
}

static u64 neuron_hbm_read(struct neuron_hbm *hbm, const u64 *count)
{
	unsigned long flags;
	u64 value;

	spin_lock_irqsave(&hbm->dirty_lock, flags);
	value = *count;
	spin_unlock_irqrestore(&hbm->dirty_lock, flags);
	return value;
}

/* Memory is scrubbed in the order in which it was freed. */
static int neuron_hbm_flush_stack(struct neuron_hbm *hbm)
{
	u64 goal = neuron_hbm_read(hbm, &hbm->freed);

	return wait_event_killable(hbm->scrub_wait,
				   neuron_hbm_read(hbm, &hbm->done) >= goal) ?
	       -EINTR : 0;
}

bool neuron_hbm_flush_until(struct neuron_device *ndev, unsigned long end)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		struct neuron_hbm *hbm = ndev->hbm[i];
		u64 goal = neuron_hbm_read(hbm, &hbm->freed);
		unsigned long now = jiffies;

		if (!wait_event_timeout(hbm->scrub_wait, neuron_hbm_read(hbm, &hbm->done) >= goal,
					time_before(now, end) ? end - now : 0))
			return false;
	}
	return true;
}

int neuron_hbm_flush(struct neuron_device *ndev)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < ndev->gen->nr_hbm; i++)
		ret = neuron_hbm_flush_stack(ndev->hbm[i]);
	return ret;
}

/* Under @lock: as many pieces as it takes, until they have more than @most blocks. */
static int neuron_hbm_alloc_pieces(struct neuron_hbm *hbm, u64 size,
				   size_t most, struct list_head *blocks)
{
	LIST_HEAD(piece);
	size_t nr = 0;
	u64 bytes;
	int ret;

	lockdep_assert_held(&hbm->lock);
	for (; size; size -= bytes) {
		if (fatal_signal_pending(current))
			return -EINTR;
		bytes = min(size, NEURON_HBM_PIECE);
		ret = neuron_buddy_alloc_blocks(&hbm->mm, 0, hbm->usable, bytes,
						PAGE_SIZE, &piece, 0);
		if (ret)
			return ret;
		nr += list_count_nodes(&piece);
		list_splice_tail_init(&piece, blocks);
		if (nr > most)
			return -ENOSPC;
	}
	return 0;
}

/* All or nothing. */
static int neuron_hbm_alloc_blocks(struct neuron_hbm *hbm, u64 size,
				   struct list_head *blocks)
{
	int ret;

	mutex_lock(&hbm->lock);
	ret = neuron_hbm_alloc_pieces(hbm, size, NEURON_HBM_BLOCKS, blocks);
	if (ret)
		neuron_buddy_free_list(&hbm->mm, blocks, 0);
	mutex_unlock(&hbm->lock);
	return ret;
}

/* The stack is full: wait for the memory that is being scrubbed, and try again. */
static int neuron_hbm_alloc_scrubbed(struct neuron_hbm *hbm, u64 size,
				     struct list_head *blocks)
{
	int ret;

	ret = neuron_hbm_flush_stack(hbm);
	if (ret)
		return ret;
	/* If the device has failed or leaves, the memory was lost, and that is the error. */
	ret = neuron_hw_wait(hbm->ndev);
	if (ret)
		return ret;
	return neuron_hbm_alloc_blocks(hbm, size, blocks);
}

static int neuron_extent_cmp(const void *a, const void *b)
{
	u64 x = neuron_hw_extent_addr(a);
	u64 y = neuron_hw_extent_addr(b);

	return x < y ? -1 : x > y;
}

/* Join neighbours of a sorted list; returns how many remain. */
static unsigned int neuron_extents_merge(struct neuron_hw_extent *e,
					 unsigned int nr)
{
	unsigned int i, last = 0;

	for (i = 1; i < nr; i++) {
		if (!neuron_hw_extent_join(&e[last], neuron_hw_extent_addr(&e[i]),
					   neuron_hw_extent_length(&e[i])))
			e[++last] = e[i];
	}
	return last + 1;
}

static int neuron_hbm_fill_extents(struct neuron_hbm_memory *alloc)
{
	struct neuron_hbm *hbm = alloc->hbm;
	struct neuron_buddy_block *block;
	struct neuron_hw_extent *extents;
	size_t nr = list_count_nodes(&alloc->blocks);
	unsigned int i = 0;

	extents = kvmalloc_array(nr, sizeof(*extents),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!extents)
		return -ENOMEM;

	list_for_each_entry(block, &alloc->blocks, link) {
		u64 addr = hbm->base + neuron_buddy_block_offset(block);

		extents[i++] = neuron_hw_extent(addr,
						neuron_buddy_block_size(&hbm->mm, block));
	}
	sort(extents, nr, sizeof(*extents), neuron_extent_cmp, NULL);
	alloc->extents = extents;
	alloc->nr_extents = neuron_extents_merge(extents, nr);
	return 0;
}

struct neuron_hbm_memory *neuron_hbm_alloc(struct neuron_device *ndev,
					   unsigned int stack, u64 size)
{
	struct neuron_hbm *hbm = ndev->hbm[stack];
	struct neuron_hbm_memory *alloc;
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
	if (ret == -ENOSPC)
		ret = neuron_hbm_alloc_scrubbed(hbm, size, &alloc->blocks);
	if (ret)
		goto err_free;

	/* Until it is scrubbed. */
	neuron_pm_hold(ndev);
	ret = neuron_hbm_fill_extents(alloc);
	if (ret)
		goto err_release;

	trace_neuron_hbm_alloc(ndev, stack, size);
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
	unsigned long flags;

	stats->size = hbm->size;
	stats->usable = hbm->usable;
	stats->used = atomic64_read(&hbm->used);
	spin_lock_irqsave(&hbm->dirty_lock, flags);
	stats->scrubbing = hbm->freed - hbm->done;
	spin_unlock_irqrestore(&hbm->dirty_lock, flags);
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
	struct neuron_hbm_memory *alloc;

	/* Nobody allocates any more: it need not be zero. */
	cancel_delayed_work_sync(&hbm->scrub);
	while ((alloc = neuron_hbm_pop(hbm, &hbm->dirty)))
		neuron_hbm_release(alloc);
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
	init_waitqueue_head(&hbm->scrub_wait);
	INIT_LIST_HEAD(&hbm->dirty);
	INIT_LIST_HEAD(&hbm->lost_list);
	INIT_DELAYED_WORK(&hbm->scrub, neuron_hbm_scrub_work);
	ndev->hbm[index] = hbm;
	return drmm_add_action_or_reset(&ndev->drm, neuron_hbm_fini, hbm);
}

/* All of the stack is zero: that includes what could not be scrubbed. */
static void neuron_hbm_recover(struct neuron_hbm *hbm)
{
	struct neuron_hbm_memory *alloc;

	while ((alloc = neuron_hbm_pop(hbm, &hbm->lost_list))) {
		atomic64_sub(alloc->size, &hbm->lost);
		neuron_hbm_release(alloc);
	}
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
		neuron_hbm_recover(hbm);
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

	neuron_discard_init(ndev);
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

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_hbm.c"
#endif
