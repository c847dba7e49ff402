// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy queues: rings, doorbells, completion.
 *
 * A request is one run of descriptors, each a packet of its own, the last with
 * an interrupt. Positions in a ring count up from its reset; the device says in
 * its completion head how far it is, and what it says is checked against what
 * it was given. What happens to a queue that stopped: neuron_copy_reset.c.
 */
#include <linux/dma-mapping.h>
#include <linux/sched/signal.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "contract/ring.h"
#include "neuron_copy_queue.h"
#include "neuron_hw.h"
#include "neuron_report.h"
#include "neuron_trace.h"

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

void neuron_copy_fail(struct neuron_copy_queue *queue, int error, int others)
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

void neuron_copy_advance(struct neuron_copy_queue *queue)
{
	const char *why;
	u32 head, done;

	if (queue->stopped)
		return;

	head = readl(neuron_copy_s2m_regs(queue) + NEURON_UDMA_Q_COMP_HEAD) &
	       NEURON_UDMA_Q_PTR;
	why = neuron_ring_progress(head, NEURON_COPY_RING, queue->submitted,
				   queue->completed, &done);
	if (why) {
		drm_err_ratelimited(&queue->ndev->drm,
				    "DMA engine %u queue %u: %s %u\n",
				    queue->engine, queue->index, why, head);
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

static void neuron_copy_fill(struct neuron_copy_queue *queue,
			     const struct neuron_copy_request *req)
{
	u32 position = queue->submitted;
	unsigned int i;

	for (i = 0; i < req->nr; i++, position++) {
		const struct neuron_copy_desc *desc = &req->desc[i];
		u32 slot = neuron_ring_slot(position, NEURON_COPY_RING);
		u32 ring_id = neuron_ring_id(position, NEURON_COPY_RING);
		u32 last = i == req->nr - 1 ? NEURON_UDMA_DESC_INT_EN : 0;

		queue->m2s[slot] = neuron_copy_source(desc->src, desc->len,
						      ring_id,
						      NEURON_UDMA_META_DEFAULT);
		queue->s2m[slot] = neuron_copy_target(desc->dst, desc->len,
						      ring_id, last);
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

	/*
	 * A reset takes the lock once after the end of the epoch. So a request of
	 * before is in flight by then, and ends with it, or is refused here.
	 */
	if (queue->dead || req->epoch != READ_ONCE(queue->ndev->epoch))
		return neuron_hw_error(queue->ndev);
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
