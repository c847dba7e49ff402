// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy queues: starting, stopping, recovery.
 *
 * A queue that stopped on an error or a timeout is reset by the next request. The
 * request at its head gets the error, those behind it are submitted again by their
 * owners: a bad copy hurts its owner only.
 */
#include <linux/dma-fence.h>
#include <linux/iopoll.h>
#include <drm/drm_print.h>

#include "neuron_copy.h"
#include "neuron_copy_queue.h"
#include "neuron_device.h"
#include "neuron_irq.h"

#define NEURON_COPY_QUIET_US	1000000
#define NEURON_COPY_POLL_US	100

/* Clear what the queue has announced so far: the caller looks at the queue itself. */
static void neuron_copy_clear_cause(struct neuron_copy_queue *queue)
{
	neuron_ctl_write(queue->ndev,
			 NEURON_CTL_DMA(queue->engine) + NEURON_DMA_CAUSE,
			 NEURON_DMA_CAUSE_DONE(queue->index) |
			 NEURON_DMA_CAUSE_ERROR(queue->index));
}

static u32 neuron_copy_status(struct neuron_copy_queue *queue)
{
	return readl(neuron_copy_m2s_regs(queue) + NEURON_UDMA_Q_STATUS) |
	       readl(neuron_copy_s2m_regs(queue) + NEURON_UDMA_Q_STATUS);
}

/* Stop the queue and wait until it touches no memory. */
static int neuron_copy_halt(struct neuron_copy_queue *queue)
{
	void __iomem *m2s = neuron_copy_m2s_regs(queue);
	void __iomem *s2m = neuron_copy_s2m_regs(queue);
	u32 status;
	int ret;

	writel(NEURON_UDMA_Q_CFG_RESET, m2s + NEURON_UDMA_Q_CFG);
	writel(NEURON_UDMA_Q_CFG_RESET, s2m + NEURON_UDMA_Q_CFG);
	writel(NEURON_UDMA_Q_SW_CTRL_RESET, m2s + NEURON_UDMA_M2S_Q_SW_CTRL);
	writel(NEURON_UDMA_Q_SW_CTRL_RESET, s2m + NEURON_UDMA_S2M_Q_SW_CTRL);
	ret = read_poll_timeout(neuron_copy_status, status,
				!(status & NEURON_UDMA_Q_STATUS_BUSY),
				NEURON_COPY_POLL_US, NEURON_COPY_QUIET_US,
				false, queue);
	if (!pci_device_is_present(queue->ndev->pdev))
		return 0;	/* pulled out: it reaches nothing any more */
	if (ret) {
		drm_err(&queue->ndev->drm,
			"DMA engine %u queue %u does not stop: device cut off from memory\n",
			queue->engine, queue->index);
		neuron_bus_cut(queue->ndev);
	}
	neuron_copy_clear_cause(queue);
	return ret;
}

/* It does not even stop, or its reset does not help: only a reset of the device is left. */
static void neuron_copy_die(struct neuron_copy_queue *queue)
{
	queue->dead = true;
	neuron_request_reset(queue->ndev);
}

static void neuron_copy_ring_start(void __iomem *regs, dma_addr_t dma,
				   struct neuron_device *ndev, u32 comp_cfg)
{
	u64 base = neuron_host_addr(ndev, dma);

	writel(lower_32_bits(base), regs + NEURON_UDMA_Q_BASE_LO);
	writel(upper_32_bits(base), regs + NEURON_UDMA_Q_BASE_HI);
	writel(NEURON_COPY_RING, regs + NEURON_UDMA_Q_LENGTH);
	writel(0, regs + comp_cfg);
	writel(NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
	       NEURON_UDMA_Q_CFG_SCHEDULE, regs + NEURON_UDMA_Q_CFG);
}

int neuron_copy_queue_start(struct neuron_copy_queue *queue)
{
	void __iomem *m2s = neuron_copy_m2s_regs(queue);
	int ret;

	ret = neuron_copy_halt(queue);
	if (ret) {
		neuron_copy_die(queue);
		return -EIO;
	}

	writel(NEURON_UDMA_CHANGE_NORMAL,
	       neuron_copy_engine_regs(queue) + NEURON_UDMA_M2S_CHANGE_STATE);
	writel(NEURON_UDMA_CHANGE_NORMAL,
	       neuron_copy_engine_regs(queue) + NEURON_UDMA_S2M_CHANGE_STATE);
	writel(3, m2s + NEURON_UDMA_M2S_Q_RATE);	/* honour barriers */
	neuron_copy_ring_start(m2s, queue->m2s_dma, queue->ndev,
			       NEURON_UDMA_M2S_Q_COMP_CFG);
	neuron_copy_ring_start(neuron_copy_s2m_regs(queue), queue->s2m_dma,
			       queue->ndev, NEURON_UDMA_S2M_Q_COMP_CFG);

	/* An interrupt handler that has read an old cause ends before the next request begins. */
	neuron_irq_sync_engine(queue->ndev, queue->engine);

	spin_lock_irq(&queue->lock);
	if (queue->nr_pending)
		neuron_copy_fail(queue, queue->stop_error, -EAGAIN);
	queue->submitted = 0;
	queue->completed = 0;
	/* neuron_copy_stop() may have begun: nothing starts any more. */
	queue->stopped = queue->dead;
	ret = queue->dead ? -EIO : 0;
	spin_unlock_irq(&queue->lock);
	return ret;
}

/**
 * enum neuron_copy_verdict - what has become of the requests in flight
 * @NEURON_COPY_GOES_ON: they have not come to a time limit
 * @NEURON_COPY_IRQ_LOST: the device has done some, and its interrupt got lost
 * @NEURON_COPY_STUCK: the queue does not move
 * @NEURON_COPY_LATE: it does, but the first of them takes too long
 */
enum neuron_copy_verdict {
	NEURON_COPY_GOES_ON,
	NEURON_COPY_IRQ_LOST,
	NEURON_COPY_STUCK,
	NEURON_COPY_LATE,
};

/* Under @submit_lock and @lock: a queue that is stuck or late is stopped. */
static enum neuron_copy_verdict
neuron_copy_judge(struct neuron_copy_queue *queue,
		  struct neuron_copy_request *req)
{
	unsigned int nr_pending = queue->nr_pending;
	u32 completed = queue->completed;

	lockdep_assert_held(&queue->submit_lock);
	lockdep_assert_held(&queue->lock);
	/* It may have moved since the caller looked. */
	if (!nr_pending || neuron_copy_time_left(queue) > 0)
		return NEURON_COPY_GOES_ON;
	neuron_copy_clear_cause(queue);
	neuron_copy_advance(queue);
	if (req ? completion_done(&req->done) :
		  queue->nr_pending < nr_pending)
		return NEURON_COPY_IRQ_LOST;
	if (neuron_copy_is_late(queue)) {
		queue->stopped = true;
		queue->caps++;
		return NEURON_COPY_LATE;
	}
	/* Only the end of a request interrupts; a long one may be under way. */
	if (queue->completed != completed && !queue->stopped)
		return NEURON_COPY_GOES_ON;
	queue->stopped = true;
	queue->timeouts++;
	return NEURON_COPY_STUCK;
}

/* Under @submit_lock: a time limit has come, so the queue was stopped. */
static void neuron_copy_give_out(struct neuron_copy_queue *queue,
				 enum neuron_copy_verdict verdict)
{
	bool again = queue->timeouts >= NEURON_COPY_TIMEOUTS ||
		     queue->caps >= NEURON_COPY_TIMEOUTS;

	lockdep_assert_held(&queue->submit_lock);
	drm_err(&queue->ndev->drm,
		"DMA engine %u queue %u: %s %u ms, reset%s\n",
		queue->engine, queue->index,
		verdict == NEURON_COPY_LATE ? "a request not done in" :
					      "no progress for",
		verdict == NEURON_COPY_LATE ? NEURON_COPY_CAP_MS :
					      NEURON_COPY_TIMEOUT_MS,
		again ? " does not help: the device is reset" : "");
	if (neuron_copy_halt(queue) || again)
		neuron_copy_die(queue);

	spin_lock_irq(&queue->lock);
	neuron_copy_fail(queue, -ETIMEDOUT, -EAGAIN);
	spin_unlock_irq(&queue->lock);
}

/*
 * A time limit has come. Either the interrupt got lost, or the queue is stuck or very slow: stop
 * it, then nobody's memory is accessed any more.
 */
void neuron_copy_timeout(struct neuron_copy_queue *queue,
			 struct neuron_copy_request *req)
{
	enum neuron_copy_verdict verdict = NEURON_COPY_GOES_ON;
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&queue->submit_lock);
	/* In a dead queue neuron_copy_end() completes the request. */
	if (!queue->dead) {
		spin_lock_irq(&queue->lock);
		verdict = neuron_copy_judge(queue, req);
		spin_unlock_irq(&queue->lock);
	}
	if (verdict == NEURON_COPY_IRQ_LOST) {
		atomic64_inc(&queue->ndev->counters.lost_interrupts);
		drm_warn(&queue->ndev->drm,
			 "DMA engine %u queue %u: interrupt lost\n",
			 queue->engine, queue->index);
	} else if (verdict != NEURON_COPY_GOES_ON) {
		neuron_copy_give_out(queue, verdict);
	}
	mutex_unlock(&queue->submit_lock);
	dma_fence_end_signalling(cookie);
}

void neuron_copy_watch(struct work_struct *work)
{
	struct neuron_copy_queue *queue =
		container_of(to_delayed_work(work), struct neuron_copy_queue,
			     watch);
	const long limit = msecs_to_jiffies(NEURON_COPY_TIMEOUT_MS);
	long left;
	bool busy;

	spin_lock_irq(&queue->lock);
	busy = queue->nr_pending;
	left = neuron_copy_time_left(queue);
	spin_unlock_irq(&queue->lock);
	if (!busy)
		return;
	if (left <= 0)
		neuron_copy_timeout(queue, NULL);
	queue_delayed_work(queue->ndev->watch_wq, &queue->watch,
			   left <= 0 ? limit : min(left, limit));
}

/* Under @submit_lock: stop the queue, so that it moves nothing any more, and end its requests. */
static void neuron_copy_interrupt_all(struct neuron_copy_queue *queue)
{
	lockdep_assert_held(&queue->submit_lock);
	if (neuron_copy_halt(queue))
		neuron_copy_die(queue);
	spin_lock_irq(&queue->lock);
	neuron_copy_fail(queue, queue->stop_error, -EAGAIN);
	spin_unlock_irq(&queue->lock);
}

/* Work: the same for a queue that has failed and may still move data. */
void neuron_copy_halt_work(struct work_struct *work)
{
	struct neuron_copy_queue *queue =
		container_of(work, struct neuron_copy_queue, halt);
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&queue->submit_lock);
	/* A submitter may have been first. In a dead queue neuron_copy_end() does it. */
	if (READ_ONCE(queue->stopped) && queue->nr_pending && !queue->dead)
		neuron_copy_interrupt_all(queue);
	mutex_unlock(&queue->submit_lock);
	dma_fence_end_signalling(cookie);
}

static bool neuron_copy_has_stray(struct neuron_copy_queue *queue)
{
	struct neuron_copy_request *req;
	bool stray = false;

	spin_lock_irq(&queue->lock);
	list_for_each_entry(req, &queue->pending, link)
		stray |= req->ops && !req->error && req->ops->lost(req);
	/* From now on nothing is added. */
	if (stray && !queue->stopped) {
		queue->stopped = true;
		queue->stop_error = -EAGAIN;
	}
	spin_unlock_irq(&queue->lock);
	return stray;
}

static void neuron_copy_queue_stop_stray(struct neuron_copy_queue *queue)
{
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&queue->submit_lock);
	/* Those without their memory are refused when all are submitted again. */
	if (!queue->dead && neuron_copy_has_stray(queue))
		neuron_copy_interrupt_all(queue);
	mutex_unlock(&queue->submit_lock);
	dma_fence_end_signalling(cookie);
}

void neuron_copy_stop_stray(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		neuron_copy_queue_stop_stray(ndev->copy[i]);
}

static void neuron_copy_unmask(struct neuron_copy_queue *queue)
{
	u32 mask = NEURON_CTL_DMA(queue->engine) + NEURON_DMA_MASK;

	neuron_ctl_write(queue->ndev, mask,
			 neuron_ctl_read(queue->ndev, mask) &
			 ~(NEURON_DMA_CAUSE_DONE(queue->index) |
			   NEURON_DMA_CAUSE_ERROR(queue->index)));
}

int neuron_copy_start(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ndev->gen->nr_cores; i++) {
		struct neuron_copy_queue *queue = ndev->copy[i];

		mutex_lock(&queue->submit_lock);
		spin_lock_irq(&queue->lock);
		queue->dead = false;
		queue->timeouts = 0;
		queue->caps = 0;
		spin_unlock_irq(&queue->lock);
		ret = neuron_copy_queue_start(queue);
		if (!ret)
			neuron_copy_unmask(queue);
		mutex_unlock(&queue->submit_lock);
		if (ret)
			return ret;
	}
	return 0;
}

/* Nothing starts any more. Return: until now something could. */
static bool neuron_copy_queue_freeze(struct neuron_copy_queue *queue)
{
	bool ran;

	spin_lock_irq(&queue->lock);
	ran = !queue->dead;
	queue->stopped = true;
	queue->dead = true;
	spin_unlock_irq(&queue->lock);
	/* Whoever holds the lock may not know yet: wait for it. */
	mutex_lock(&queue->submit_lock);
	mutex_unlock(&queue->submit_lock);
	return ran;
}

static void neuron_copy_queue_end(struct neuron_copy_queue *queue, int error)
{
	struct neuron_copy_request *req, *next;
	bool cookie = dma_fence_begin_signalling();

	spin_lock_irq(&queue->lock);
	if (queue->nr_pending)
		neuron_copy_fail(queue, error, error);
	list_for_each_entry_safe(req, next, &queue->waiting, link) {
		list_del(&req->link);
		req->ops->end(req, error);
	}
	wake_up_all(&queue->room);
	spin_unlock_irq(&queue->lock);
	dma_fence_end_signalling(cookie);
}

static void neuron_copy_queue_stop(struct neuron_copy_queue *queue)
{
	bool cookie = dma_fence_begin_signalling();

	if (neuron_copy_queue_freeze(queue) &&
	    pci_device_is_present(queue->ndev->pdev))
		neuron_copy_halt(queue);
	neuron_copy_queue_end(queue, -ENODEV);
	dma_fence_end_signalling(cookie);
}

void neuron_copy_cancel_work(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++) {
		cancel_work_sync(&ndev->copy[i]->halt);
		cancel_work_sync(&ndev->copy[i]->push);
		cancel_delayed_work_sync(&ndev->copy[i]->watch);
	}
}

void neuron_copy_freeze(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		neuron_copy_queue_freeze(ndev->copy[i]);
}

void neuron_copy_end(struct neuron_device *ndev, int error)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		neuron_copy_queue_end(ndev->copy[i], error);
}

void neuron_copy_stop(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++)
		neuron_copy_queue_stop(ndev->copy[i]);
}
