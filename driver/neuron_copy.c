// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy queues: rings, doorbells, completion.
 *
 * A request is one run of descriptors, each a packet of its own, the last with
 * an interrupt. Positions in a ring count up from its reset; the device says in
 * its completion head how far it is, and what it says is checked against what
 * it was given. What happens to a queue that stopped: neuron_copy_reset.c.
 */
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/sched/signal.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "contract/ring.h"
#include "neuron_copy.h"
#include "neuron_copy_queue.h"
#include "neuron_device.h"
#include "neuron_result.h"
#include "neuron_trace.h"

struct neuron_copy_queue *neuron_copy_pick(struct neuron_device *ndev,
					   unsigned int stack)
{
	unsigned int per_stack = ndev->gen->nr_cores / ndev->gen->nr_hbm;
	unsigned int turn = atomic_inc_return(&ndev->copy_turn);

	return ndev->copy[stack * per_stack + turn % per_stack];
}

static struct neuron_copy_request *
neuron_copy_first(struct list_head *list)
{
	return list_first_entry_or_null(list, struct neuron_copy_request, link);
}

/* What the device is known to have done of a queued request in flight. */
static void neuron_copy_count(const struct neuron_copy_queue *queue,
			      struct neuron_copy_request *req)
{
	s32 left = req->end - queue->completed;

	req->done_nr = req->nr - clamp_t(s32, left, 0, req->nr - req->done_nr);
}

/*
 * Aborts of the DMA engine, for which other queues were to blame, have stopped the request too
 * often. The device has named no cause for it, so it is ABORT.
 */
static int neuron_copy_give_up(struct neuron_copy_request *req)
{
	req->cause = NEURON_CAUSE_ABORT;
	return -EIO;
}

/*
 * Complete the first pending request. A queued one that may be tried again goes to @again
 * instead. Any other may be freed when it is complete.
 */
static void neuron_copy_end_first(struct neuron_copy_queue *queue, int error,
				  struct list_head *again, bool innocent)
{
	struct neuron_copy_request *req = neuron_copy_first(&queue->pending);

	list_del(&req->link);
	queue->nr_pending--;
	trace_neuron_copy_done(queue->ndev, queue->engine, queue->index, error);
	req->innocent = innocent;
	if (!req->ops) {
		WRITE_ONCE(queue->waited_desc, queue->waited_desc - req->nr);
		req->error = error;
		complete(&req->done);
		return;
	}
	if (!req->error)
		neuron_copy_count(queue, req);
	if (error == -EAGAIN &&
	    (innocent || req->retries++ < NEURON_COPY_RETRIES)) {
		list_add_tail(&req->link, again);
		return;
	}
	if (error == -EAGAIN)
		error = neuron_copy_give_up(req);
	req->ops->end(req, error ?: req->error);
}

/* Complete all requests whose descriptors the device has done. */
static void neuron_copy_end_done(struct neuron_copy_queue *queue)
{
	struct neuron_copy_request *req;

	while ((req = neuron_copy_first(&queue->pending)) &&
	       (s32)(queue->completed - req->end) >= 0)
		neuron_copy_end_first(queue, 0, NULL, false);
}

void neuron_copy_fail(struct neuron_copy_queue *queue, int error, int others)
{
	const bool blamed = error != -EAGAIN;
	bool innocent = false;
	LIST_HEAD(again);

	queue->stopped = true;
	queue->errors++;
	if (blamed && !list_empty(&queue->pending))
		atomic64_inc(&queue->ndev->counters.copy_errors);
	while (!list_empty(&queue->pending)) {
		neuron_copy_end_first(queue, error, &again, innocent);
		error = others;
		innocent = blamed;
	}
	if (!list_empty(&again)) {
		list_splice(&again, &queue->waiting);
		queue_work(queue->ndev->watch_wq, &queue->push);
	}
	wake_up_all(&queue->room);
}

/*
 * The queue may still move data, so no request may end yet. A work stops the queue, and then ends
 * the first request with @error (neuron_copy_fail()).
 */
static void neuron_copy_stop_later(struct neuron_copy_queue *queue, int error)
{
	queue->stopped = true;
	queue->stop_error = error;
	if (queue->nr_pending && !queue->dead)
		queue_work(queue->ndev->watch_wq, &queue->halt);
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
		neuron_copy_stop_later(queue, -EIO);
		return;
	}

	queue->completed += done;
	neuron_copy_end_done(queue);
	if (!done)
		return;
	WRITE_ONCE(queue->progress_at, jiffies);
	queue->timeouts = 0;
	wake_up_all(&queue->room);
}

static u32 neuron_copy_error_code(struct neuron_copy_queue *queue)
{
	u32 reg = NEURON_CTL_DMA(queue->engine) +
		  NEURON_DMA_ERROR(round_down(queue->index, 4));

	return neuron_ctl_read(queue->ndev, reg) >> queue->index % 4 * 8 & 0xff;
}

/* What the device says of its error, for the request that it is in. */
static void neuron_copy_blame(struct neuron_copy_queue *queue, u32 code)
{
	struct neuron_copy_request *req = neuron_copy_first(&queue->pending);

	if (req)
		req->cause = code;
}

/*
 * The device says that the queue has failed. A queue that failed by itself has an error code until
 * it is reset. A queue that another one's abort has stopped has no code (@aborted). If there is
 * neither a code nor an abort, the error is that of a time before the reset of the queue, and the
 * requests of now go on.
 */
static void neuron_copy_error(struct neuron_copy_queue *queue, bool aborted)
{
	u32 code = neuron_copy_error_code(queue);

	if (!code && !aborted)
		return;
	if (code)
		drm_err_ratelimited(&queue->ndev->drm,
				    "DMA engine %u queue %u: copy failed: %s\n",
				    queue->engine, queue->index,
				    neuron_cause_name(code));
	neuron_copy_blame(queue, code);
	/* An abort may find a queue in the middle of a packet, or only pause it. */
	if (code && code != NEURON_CAUSE_ABORT)
		neuron_copy_fail(queue, -EIO, -EAGAIN);
	else
		neuron_copy_stop_later(queue, code ? -EIO : -EAGAIN);
}

static void neuron_copy_queue_interrupt(struct neuron_copy_queue *queue,
					u32 cause, bool aborted)
{
	spin_lock(&queue->lock);
	neuron_copy_advance(queue);
	if (cause & NEURON_DMA_CAUSE_ERROR(queue->index) && !queue->stopped)
		neuron_copy_error(queue, aborted);
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

static void neuron_copy_interrupt(struct neuron_device *ndev,
				  unsigned int engine, u32 cause)
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

	for (i = req->done_nr; i < req->nr; i++, position++) {
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

static bool neuron_copy_fits(struct neuron_copy_queue *queue, unsigned int nr)
{
	return READ_ONCE(queue->waited_desc) + nr <= NEURON_COPY_ROOM;
}

/* For those who wait. A queue that has stopped is empty when it starts again. */
static bool neuron_copy_has_room(struct neuron_copy_queue *queue,
				 unsigned int nr)
{
	return READ_ONCE(queue->stopped) || READ_ONCE(queue->dead) ||
	       neuron_copy_fits(queue, nr);
}

/* To those in flight. */
static void neuron_copy_add(struct neuron_copy_queue *queue,
			    struct neuron_copy_request *req)
{
	req->since = jiffies;
	if (req->ops) {
		list_move_tail(&req->link, &queue->pending);
	} else {
		list_add_tail(&req->link, &queue->pending);
		WRITE_ONCE(queue->waited_desc, queue->waited_desc + req->nr);
	}
	queue->nr_pending++;
}

static int neuron_copy_submit_locked(struct neuron_copy_queue *queue,
				     struct neuron_copy_request *req)
{
	unsigned int nr = req->nr - req->done_nr;
	int ret;

	lockdep_assert_held(&queue->submit_lock);
	/*
	 * A reset takes the lock once after it has ended the epoch. So a request of the old epoch
	 * is in flight by then, and ends with the reset, or it is refused here.
	 */
	if (queue->dead || req->epoch != READ_ONCE(queue->ndev->epoch))
		return neuron_hw_error(queue->ndev);
	if (queue->stopped) {
		/* What stopped with it comes before: neuron_copy_next(). */
		if (req->ops)
			return -EAGAIN;
		ret = neuron_copy_queue_start(queue);
		if (ret)
			return ret;
	}
	/*
	 * The scheduler of queued requests knows how many there may be. The queue may have been
	 * stopped since, and the device may still read what is in the ring.
	 */
	if (!req->ops && !neuron_copy_fits(queue, nr))
		return -ENOSPC;

	neuron_copy_fill(queue, req);

	/* An error may have stopped the queue since: the request is not lost. */
	spin_lock_irq(&queue->lock);
	if (queue->stopped) {
		ret = -EAGAIN;
	} else {
		ret = 0;
		if (!queue->nr_pending)
			WRITE_ONCE(queue->progress_at, jiffies);
		queue->submitted += nr;
		req->end = queue->submitted;
		req->error = 0;
		req->begun = true;
		neuron_copy_add(queue, req);
		queue->requests++;
		queue->bytes += req->bytes;
		trace_neuron_copy_doorbell(queue->ndev, queue->engine,
					   queue->index, nr, req->bytes);
		writel(nr,
		       neuron_copy_s2m_regs(queue) + NEURON_UDMA_Q_TAIL_INC);
		writel(nr,
		       neuron_copy_m2s_regs(queue) + NEURON_UDMA_Q_TAIL_INC);
	}
	spin_unlock_irq(&queue->lock);
	return ret;
}

int neuron_copy_submit(struct neuron_copy_queue *queue,
		       struct neuron_copy_request *req)
{
	int ret;

	req->ops = NULL;
	req->done_nr = 0;
	init_completion(&req->done);
	ret = mutex_lock_killable(&queue->submit_lock);
	if (ret)
		return ret;
	ret = neuron_copy_submit_locked(queue, req);
	mutex_unlock(&queue->submit_lock);
	return ret;
}

/* The first of those that are to be submitted ends with @error, in its turn. */
static void neuron_copy_refuse(struct neuron_copy_queue *queue,
			       struct neuron_copy_request *req, int error)
{
	spin_lock_irq(&queue->lock);
	req->error = error;
	req->end = queue->submitted;
	neuron_copy_add(queue, req);
	if (queue->nr_pending == 1)
		neuron_copy_end_first(queue, error, NULL, false);
	spin_unlock_irq(&queue->lock);
}

/*
 * Under @submit_lock: the first of those that are to be submitted, or NULL. To start a
 * queue that has stopped may put others before it, so that is done first. Those of a dead
 * queue end here, unless neuron_copy_end() is to come, which ends what is in flight, too.
 */
static struct neuron_copy_request *
neuron_copy_next(struct neuron_copy_queue *queue)
{
	struct neuron_copy_request *req;

	lockdep_assert_held(&queue->submit_lock);
	if (READ_ONCE(queue->stopped) && !queue->dead &&
	    !list_empty_careful(&queue->waiting))
		neuron_copy_queue_start(queue);

	spin_lock_irq(&queue->lock);
	req = neuron_copy_first(&queue->waiting);
	while (req && queue->dead && list_empty(&queue->pending)) {
		list_del(&req->link);
		req->ops->end(req, neuron_hw_error(queue->ndev));
		req = neuron_copy_first(&queue->waiting);
	}
	if (queue->dead)
		req = NULL;
	spin_unlock_irq(&queue->lock);
	return req;
}

/* A request that has begun goes on in any case, unless the memory of a buffer was lost. */
static int neuron_copy_may_start(const struct neuron_copy_request *req)
{
	int ret = req->begun ? 0 : req->ops->given_up(req);

	return ret ?: req->ops->lost(req);
}

/*
 * Under @submit_lock: submit or end all that is in @waiting. If the queue stops a second time, a
 * work does the rest. So others get the lock in between, also if the device fails each request and
 * the queue is reset for each.
 */
static void neuron_copy_push_locked(struct neuron_copy_queue *queue)
{
	struct neuron_copy_request *req;
	bool started = false;
	int ret;

	lockdep_assert_held(&queue->submit_lock);
	for (;;) {
		if (READ_ONCE(queue->stopped) && !queue->dead) {
			if (started) {
				queue_work(queue->ndev->watch_wq, &queue->push);
				break;
			}
			started = true;
		}
		req = neuron_copy_next(queue);
		if (!req)
			break;
		ret = neuron_copy_may_start(req);
		if (!ret)
			ret = neuron_copy_submit_locked(queue, req);
		if (ret == -EAGAIN && req->retries++ < NEURON_COPY_RETRIES)
			continue;
		if (ret == -EAGAIN)
			ret = neuron_copy_give_up(req);
		if (ret)
			neuron_copy_refuse(queue, req, ret);
	}
	if (READ_ONCE(queue->nr_pending))
		queue_delayed_work(queue->ndev->watch_wq, &queue->watch,
				   msecs_to_jiffies(NEURON_COPY_TIMEOUT_MS));
}

void neuron_copy_push(struct neuron_copy_queue *queue,
		      struct neuron_copy_request *req)
{
	mutex_lock(&queue->submit_lock);
	spin_lock_irq(&queue->lock);
	list_add_tail(&req->link, &queue->waiting);
	spin_unlock_irq(&queue->lock);
	neuron_copy_push_locked(queue);
	mutex_unlock(&queue->submit_lock);
}

/* Work: submit what is in @waiting. */
static void neuron_copy_push_work(struct work_struct *work)
{
	struct neuron_copy_queue *queue =
		container_of(work, struct neuron_copy_queue, push);
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&queue->submit_lock);
	neuron_copy_push_locked(queue);
	mutex_unlock(&queue->submit_lock);
	dma_fence_end_signalling(cookie);
}

bool neuron_copy_is_late(struct neuron_copy_queue *queue)
{
	struct neuron_copy_request *req = neuron_copy_first(&queue->pending);

	return req && time_after_eq(jiffies, req->since +
				    msecs_to_jiffies(NEURON_COPY_CAP_MS));
}

long neuron_copy_time_left(struct neuron_copy_queue *queue)
{
	struct neuron_copy_request *req = neuron_copy_first(&queue->pending);
	long left = queue->progress_at +
		    msecs_to_jiffies(NEURON_COPY_TIMEOUT_MS) - jiffies;

	if (req)
		left = min_t(long, left, req->since +
			     msecs_to_jiffies(NEURON_COPY_CAP_MS) - jiffies);
	return left;
}

/*
 * For those who wait: deal with a time limit of what is in flight, if it has come. @req: as for
 * neuron_copy_timeout(). Return: jiffies until this is to be called again.
 */
static long neuron_copy_look(struct neuron_copy_queue *queue,
			     struct neuron_copy_request *req)
{
	long left;

	spin_lock_irq(&queue->lock);
	left = neuron_copy_time_left(queue);
	spin_unlock_irq(&queue->lock);
	if (left <= 0)
		neuron_copy_timeout(queue, req);
	return max(left, 1l);
}

/* Also looks after the time limits of what is in the ring: its callers may wait for page faults. */
int neuron_copy_wait_room(struct neuron_copy_queue *queue, unsigned int nr)
{
	long left, ret;

	do {
		left = neuron_copy_look(queue, NULL);
		ret = wait_event_killable_timeout(queue->room,
						  neuron_copy_has_room(queue, nr),
						  left);
	} while (!ret);

	return ret < 0 ? -EINTR : 0;
}

int neuron_copy_wait(struct neuron_copy_queue *queue,
		     struct neuron_copy_request *req)
{
	long left;

	do {
		left = neuron_copy_look(queue, req);
	} while (!wait_for_completion_timeout(&req->done, left));

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
	INIT_LIST_HEAD(&queue->waiting);
	init_waitqueue_head(&queue->room);
	INIT_WORK(&queue->halt, neuron_copy_halt_work);
	INIT_WORK(&queue->push, neuron_copy_push_work);
	INIT_DELAYED_WORK(&queue->watch, neuron_copy_watch);

	queue->m2s = dmam_alloc_coherent(dev, bytes, &queue->m2s_dma,
					 GFP_KERNEL);
	queue->s2m = dmam_alloc_coherent(dev, bytes, &queue->s2m_dma,
					 GFP_KERNEL);
	if (!queue->m2s || !queue->s2m)
		return -ENOMEM;

	queue->stopped = true;
	queue->stop_error = -EIO;
	queue->dead = true;
	ndev->copy[core] = queue;
	return 0;
}

int neuron_copy_init(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	ndev->on_irq.engine = neuron_copy_interrupt;
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

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_copy.c"
#endif
