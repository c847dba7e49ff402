// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy queues: rings, doorbells, completion, recovery.
 *
 * A request is one run of descriptors, each a packet of its own, the last with
 * an interrupt. Positions in a ring count up from its reset; the device says in
 * its completion head how far it is, and what it says is checked against what
 * it was given. A queue that stopped on an error or a timeout is reset by the
 * next request. The request at its head gets the error, those behind it are
 * submitted again by their owners: a bad copy hurts its owner only.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/sched/signal.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "neuron_copy.h"
#include "neuron_hw.h"
#include "neuron_report.h"
#include "neuron_trace.h"

#define NEURON_COPY_RING	4096	/* descriptors, a power of two */
/* A full ring looks like an empty one. */
#define NEURON_COPY_ROOM	(NEURON_COPY_RING - NEURON_UDMA_RING_MULTIPLE)

#define NEURON_COPY_QUIET_US	1000000
#define NEURON_COPY_POLL_US	100

/**
 * struct neuron_copy_queue - a queue of a copy engine
 * @ndev: device
 * @engine: DMA engine
 * @index: queue of the engine
 * @m2s: ring of the sources, coherent memory
 * @s2m: ring of the destinations
 * @m2s_dma: bus address of @m2s
 * @s2m_dma: bus address of @s2m
 * @submit_lock: descriptors, registers; held by one submitter or recovery
 * @lock: everything below, taken in the hard interrupt handler
 * @pending: requests in flight, in order
 * @nr_pending: their number
 * @submitted: where the next descriptor goes, counted from the reset
 * @completed: how far the device is
 * @progress_at: jiffies when it last moved, or had nothing to do before
 * @stopped: needs a reset before the next request
 * @dead: does not obey or is gone
 * @room: woken when descriptors have completed
 * @distrust: stops the queue when the device says what cannot be
 * @requests: statistics
 * @bytes: statistics
 * @errors: statistics
 */
struct neuron_copy_queue {
	struct neuron_device *ndev;
	unsigned int engine;
	unsigned int index;
	struct neuron_udma_desc *m2s;
	struct neuron_udma_desc *s2m;
	dma_addr_t m2s_dma;
	dma_addr_t s2m_dma;
	struct mutex submit_lock;	/* descriptors, registers */
	spinlock_t lock;		/* all that follows */
	struct list_head pending;
	unsigned int nr_pending;
	u32 submitted;
	u32 completed;
	unsigned long progress_at;
	bool stopped;
	bool dead;
	wait_queue_head_t room;
	struct work_struct distrust;
	u64 requests;
	u64 bytes;
	u64 errors;
};

static void __iomem *neuron_copy_engine_regs(struct neuron_copy_queue *queue)
{
	return queue->ndev->bar0 +
	       neuron_dma_bar0(queue->ndev->gen, queue->engine);
}

static void __iomem *neuron_copy_m2s_regs(struct neuron_copy_queue *queue)
{
	return neuron_copy_engine_regs(queue) +
	       NEURON_UDMA_M2S_Q(queue->index);
}

static void __iomem *neuron_copy_s2m_regs(struct neuron_copy_queue *queue)
{
	return neuron_copy_engine_regs(queue) +
	       NEURON_UDMA_S2M_Q(queue->index);
}

struct neuron_copy_queue *neuron_copy_pick(struct neuron_device *ndev,
					   unsigned int stack)
{
	unsigned int per_stack = ndev->gen->nr_cores / ndev->gen->nr_hbm;
	unsigned int turn = atomic_inc_return(&ndev->copy_turn);

	return ndev->copy[stack * per_stack + turn % per_stack];
}

/* Completes the first pending request. */
static void neuron_copy_end_first(struct neuron_copy_queue *queue, int error)
{
	struct neuron_copy_request *req =
		list_first_entry(&queue->pending, struct neuron_copy_request,
				 link);

	list_del(&req->link);
	queue->nr_pending--;
	trace_neuron_copy_done(queue->ndev, queue->engine, queue->index, error);
	req->error = error;
	complete(&req->done);
}

/* The first request gets @error, the others @others. */
static void neuron_copy_fail(struct neuron_copy_queue *queue, int error,
			     int others)
{
	queue->stopped = true;
	queue->errors++;
	if (error != -EAGAIN && !list_empty(&queue->pending))
		atomic64_inc(&queue->ndev->counters.copy_errors);
	while (!list_empty(&queue->pending)) {
		neuron_copy_end_first(queue, error);
		error = others;
	}
	wake_up_all(&queue->room);
}

/* Read how far the device is and complete what is behind it. */
static void neuron_copy_advance(struct neuron_copy_queue *queue)
{
	u32 head, done;

	if (queue->stopped)
		return;

	head = readl(neuron_copy_s2m_regs(queue) + NEURON_UDMA_Q_COMP_HEAD) &
	       NEURON_UDMA_Q_PTR;
	done = (head - queue->completed) % NEURON_COPY_RING;
	if (head >= NEURON_COPY_RING ||
	    done > queue->submitted - queue->completed) {
		drm_err_ratelimited(&queue->ndev->drm,
				    "DMA engine %u queue %u: impossible completion head %u\n",
				    queue->engine, queue->index, head);
		/* It may still move data: no request ends before that. */
		queue->stopped = true;
		if (queue->nr_pending && !queue->dead)
			schedule_work(&queue->distrust);
		return;
	}

	WRITE_ONCE(queue->completed, queue->completed + done);
	while (!list_empty(&queue->pending)) {
		struct neuron_copy_request *req =
			list_first_entry(&queue->pending,
					 struct neuron_copy_request, link);

		if ((s32)(queue->completed - req->end) < 0)
			break;
		neuron_copy_end_first(queue, 0);
	}
	if (!done)
		return;
	WRITE_ONCE(queue->progress_at, jiffies);
	wake_up_all(&queue->room);
}

static u32 neuron_copy_error_code(struct neuron_copy_queue *queue)
{
	u32 reg = NEURON_CTL_DMA(queue->engine) +
		  NEURON_DMA_ERROR(round_down(queue->index, 4));

	return neuron_ctl_read(queue->ndev, reg) >> queue->index % 4 * 8 & 0xff;
}

/* @aborted: it may suffer from another queue's abort, then it has no code. */
static void neuron_copy_queue_interrupt(struct neuron_copy_queue *queue,
					u32 cause, bool aborted)
{
	u32 code;

	spin_lock(&queue->lock);
	neuron_copy_advance(queue);
	if (cause & NEURON_DMA_CAUSE_ERROR(queue->index) && !queue->stopped) {
		code = neuron_copy_error_code(queue);
		if (code || !aborted)
			drm_err_ratelimited(&queue->ndev->drm,
					    "DMA engine %u queue %u: copy failed: %s\n",
					    queue->engine, queue->index,
					    neuron_cause_name(code));
		neuron_copy_fail(queue, code || !aborted ? -EIO : -EAGAIN,
				 -EAGAIN);
	}
	spin_unlock(&queue->lock);
}

/* An abort stops all queues of the engine, and one of them tells of it. */
static bool neuron_copy_aborted(struct neuron_device *ndev, unsigned int engine,
				u32 cause)
{
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++) {
		struct neuron_copy_queue *queue = ndev->copy[i];

		if (queue && queue->engine == engine &&
		    cause & NEURON_DMA_CAUSE_ERROR(queue->index) &&
		    neuron_copy_error_code(queue) == NEURON_CAUSE_ABORT)
			return true;
	}
	return false;
}

void neuron_copy_interrupt(struct neuron_device *ndev, unsigned int engine,
			   u32 cause)
{
	bool aborted = neuron_copy_aborted(ndev, engine, cause);
	unsigned int i;

	for (i = 0; i < ndev->gen->nr_cores; i++) {
		struct neuron_copy_queue *queue = ndev->copy[i];

		/* The later ones have none while the first are set up. */
		if (!queue || queue->engine != engine)
			continue;
		if (aborted)
			cause |= NEURON_DMA_CAUSE_ERROR(queue->index);
		if (cause & (NEURON_DMA_CAUSE_DONE(queue->index) |
			     NEURON_DMA_CAUSE_ERROR(queue->index)))
			neuron_copy_queue_interrupt(queue, cause, aborted);
	}
}

/* What the queue announced up to now has been, or will be, looked at. */
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

/* It does not even stop: only a reset of the device is left. */
static void neuron_copy_die(struct neuron_copy_queue *queue)
{
	queue->dead = true;
	neuron_reset_schedule(queue->ndev);
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

/* Reset the queue and give it its rings. Under @submit_lock. */
static int neuron_copy_queue_start(struct neuron_copy_queue *queue)
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

	spin_lock_irq(&queue->lock);
	if (queue->nr_pending)
		neuron_copy_fail(queue, -EIO, -EAGAIN);
	queue->submitted = 0;
	queue->completed = 0;
	/* neuron_copy_stop() may have begun: nothing starts any more. */
	queue->stopped = queue->dead;
	ret = queue->dead ? -EIO : 0;
	spin_unlock_irq(&queue->lock);
	return ret;
}

static void neuron_copy_fill(struct neuron_copy_queue *queue,
			     const struct neuron_copy_request *req)
{
	u32 position = queue->submitted;
	unsigned int i;

	for (i = 0; i < req->nr; i++, position++) {
		const struct neuron_copy_desc *desc = &req->desc[i];
		u32 slot = position % NEURON_COPY_RING;
		u32 ring_id = NEURON_UDMA_RING_ID_FIRST +
			      position / NEURON_COPY_RING;
		u32 ctrl = NEURON_PUT(NEURON_UDMA_DESC_RING_ID, ring_id) |
			   (desc->len & NEURON_UDMA_DESC_LEN);
		u32 last = i == req->nr - 1 ? NEURON_UDMA_DESC_INT_EN : 0;

		queue->m2s[slot] = (struct neuron_udma_desc){
			.len_ctrl = cpu_to_le32(ctrl | NEURON_UDMA_DESC_FIRST |
						NEURON_UDMA_DESC_LAST),
			.meta_ctrl = cpu_to_le32(NEURON_UDMA_META_DEFAULT),
			.addr = cpu_to_le64(desc->src),
		};
		queue->s2m[slot] = (struct neuron_udma_desc){
			.len_ctrl = cpu_to_le32(ctrl | last),
			.addr = cpu_to_le64(desc->dst),
		};
	}
}

static bool neuron_copy_has_room(struct neuron_copy_queue *queue,
				 unsigned int nr)
{
	u32 used = READ_ONCE(queue->submitted) - READ_ONCE(queue->completed);

	return READ_ONCE(queue->stopped) || READ_ONCE(queue->dead) ||
	       used + nr <= NEURON_COPY_ROOM;
}

static int neuron_copy_submit_locked(struct neuron_copy_queue *queue,
				     struct neuron_copy_request *req)
{
	int ret;

	if (queue->dead)
		return -EIO;
	if (queue->stopped) {
		ret = neuron_copy_queue_start(queue);
		if (ret)
			return ret;
	}
	if (!neuron_copy_has_room(queue, req->nr))
		return -ENOSPC;

	neuron_copy_fill(queue, req);
	init_completion(&req->done);

	/* An error may have stopped the queue since: the request is not lost. */
	spin_lock_irq(&queue->lock);
	if (queue->stopped) {
		ret = -EAGAIN;
	} else {
		ret = 0;
		if (!queue->nr_pending)
			WRITE_ONCE(queue->progress_at, jiffies);
		WRITE_ONCE(queue->submitted, queue->submitted + req->nr);
		req->end = queue->submitted;
		list_add_tail(&req->link, &queue->pending);
		queue->nr_pending++;
		queue->requests++;
		queue->bytes += req->bytes;
		trace_neuron_copy_doorbell(queue->ndev, queue->engine,
					   queue->index, req->nr, req->bytes);
		writel(req->nr,
		       neuron_copy_s2m_regs(queue) + NEURON_UDMA_Q_TAIL_INC);
		writel(req->nr,
		       neuron_copy_m2s_regs(queue) + NEURON_UDMA_Q_TAIL_INC);
	}
	spin_unlock_irq(&queue->lock);
	return ret;
}

int neuron_copy_submit(struct neuron_copy_queue *queue,
		       struct neuron_copy_request *req)
{
	int ret;

	mutex_lock(&queue->submit_lock);
	ret = neuron_copy_submit_locked(queue, req);
	mutex_unlock(&queue->submit_lock);
	return ret;
}

int neuron_copy_wait_room(struct neuron_copy_queue *queue, unsigned int nr)
{
	unsigned long timeout = msecs_to_jiffies(NEURON_COPY_TIMEOUT_MS);
	long left;

	left = wait_event_killable_timeout(queue->room,
					   neuron_copy_has_room(queue, nr),
					   timeout);
	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIMEDOUT;
}

/*
 * No progress for the time limit. Either the interrupt got lost, or the queue is
 * stuck: stop it, then nobody's memory is accessed any more.
 */
static void neuron_copy_timeout(struct neuron_copy_queue *queue,
				struct neuron_copy_request *req)
{
	int idx;

	if (!drm_dev_enter(&queue->ndev->drm, &idx))
		return;		/* neuron_copy_stop() completes the request */
	mutex_lock(&queue->submit_lock);
	if (queue->dead)
		goto out;	/* neuron_copy_end() does */

	spin_lock_irq(&queue->lock);
	neuron_copy_clear_cause(queue);
	neuron_copy_advance(queue);
	if (completion_done(&req->done)) {
		spin_unlock_irq(&queue->lock);
		atomic64_inc(&queue->ndev->counters.lost_interrupts);
		drm_warn(&queue->ndev->drm,
			 "DMA engine %u queue %u: interrupt lost\n",
			 queue->engine, queue->index);
		goto out;
	}
	queue->stopped = true;
	spin_unlock_irq(&queue->lock);

	drm_err(&queue->ndev->drm,
		"DMA engine %u queue %u: no progress for %u ms, reset\n",
		queue->engine, queue->index, NEURON_COPY_TIMEOUT_MS);
	if (neuron_copy_halt(queue))
		neuron_copy_die(queue);

	spin_lock_irq(&queue->lock);
	neuron_copy_fail(queue, -ETIMEDOUT, -EAGAIN);
	spin_unlock_irq(&queue->lock);
out:
	mutex_unlock(&queue->submit_lock);
	drm_dev_exit(idx);
}

/* The queue was stopped by a lie; whatever it does ends before its requests do. */
static void neuron_copy_distrust(struct work_struct *work)
{
	struct neuron_copy_queue *queue =
		container_of(work, struct neuron_copy_queue, distrust);
	int idx;

	if (!drm_dev_enter(&queue->ndev->drm, &idx))
		return;		/* neuron_copy_stop() completes the requests */
	mutex_lock(&queue->submit_lock);
	/* A submitter may have been first. */
	if (READ_ONCE(queue->stopped) && queue->nr_pending && !queue->dead) {
		if (neuron_copy_halt(queue))
			neuron_copy_die(queue);
		spin_lock_irq(&queue->lock);
		neuron_copy_fail(queue, -EIO, -EAGAIN);
		spin_unlock_irq(&queue->lock);
	}
	mutex_unlock(&queue->submit_lock);
	drm_dev_exit(idx);
}

int neuron_copy_wait(struct neuron_copy_queue *queue,
		     struct neuron_copy_request *req)
{
	const long limit = msecs_to_jiffies(NEURON_COPY_TIMEOUT_MS);
	long left;

	do {
		left = READ_ONCE(queue->progress_at) + limit - jiffies;
		if (left <= 0)
			neuron_copy_timeout(queue, req);
	} while (!wait_for_completion_timeout(&req->done,
					      clamp(left, 1l, limit)));

	return req->error;
}

static int neuron_copy_queue_init(struct neuron_device *ndev, unsigned int core)
{
	const size_t bytes = NEURON_COPY_RING * sizeof(struct neuron_udma_desc);
	struct device *dev = &ndev->pdev->dev;
	struct neuron_copy_queue *queue;
	int ret;

	queue = drmm_kzalloc(&ndev->drm, sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return -ENOMEM;
	queue->ndev = ndev;
	queue->engine = neuron_copy_engine(ndev->gen, core);
	queue->index = neuron_copy_queue(ndev->gen, core);
	ret = drmm_mutex_init(&ndev->drm, &queue->submit_lock);
	if (ret)
		return ret;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	init_waitqueue_head(&queue->room);
	INIT_WORK(&queue->distrust, neuron_copy_distrust);

	queue->m2s = dmam_alloc_coherent(dev, bytes, &queue->m2s_dma,
					 GFP_KERNEL);
	queue->s2m = dmam_alloc_coherent(dev, bytes, &queue->s2m_dma,
					 GFP_KERNEL);
	if (!queue->m2s || !queue->s2m)
		return -ENOMEM;

	queue->stopped = true;
	queue->dead = true;
	ndev->copy[core] = queue;
	return 0;
}

int neuron_copy_init(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	INIT_LIST_HEAD(&ndev->copy_pieces);
	ret = drmm_mutex_init(&ndev->drm, &ndev->copy_lock);
	if (ret)
		return ret;
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		ret = neuron_copy_queue_init(ndev, i);
		if (ret)
			return ret;
	}
	return 0;
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
	/* Who has the lock has not seen that. */
	mutex_lock(&queue->submit_lock);
	mutex_unlock(&queue->submit_lock);
	/* Dead and stopped: no interrupt schedules it again. */
	cancel_work_sync(&queue->distrust);
	return ran;
}

static void neuron_copy_queue_end(struct neuron_copy_queue *queue, int error)
{
	spin_lock_irq(&queue->lock);
	if (queue->nr_pending)
		neuron_copy_fail(queue, error, error);
	wake_up_all(&queue->room);
	spin_unlock_irq(&queue->lock);
}

static void neuron_copy_queue_stop(struct neuron_copy_queue *queue)
{
	if (neuron_copy_queue_freeze(queue) &&
	    pci_device_is_present(queue->ndev->pdev))
		neuron_copy_halt(queue);
	neuron_copy_queue_end(queue, -ENODEV);
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

void neuron_copy_debugfs(struct neuron_device *ndev, struct drm_printer *p)
{
	unsigned int i;

	drm_printf(p, "queue engine index in-flight requests bytes errors state\n");
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		struct neuron_copy_queue *queue = ndev->copy[i];

		spin_lock_irq(&queue->lock);
		drm_printf(p, "%u %u %u %u %llu %llu %llu %s\n", i,
			   queue->engine, queue->index, queue->nr_pending,
			   queue->requests, queue->bytes, queue->errors,
			   queue->dead ? "dead" :
			   queue->stopped ? "stopped" : "ready");
		spin_unlock_irq(&queue->lock);
	}
}

#ifdef NEURON_KUNIT
#include "neuron_kunit_copy.c"
#endif
