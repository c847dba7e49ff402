// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_copy.c, which includes this file: positions in the rings.
 */
#include <kunit/test.h>

static struct neuron_copy_queue *neuron_kunit_queue(struct kunit *test)
{
	const size_t bytes = NEURON_COPY_RING * sizeof(struct neuron_udma_desc);
	struct neuron_copy_queue *queue;

	queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	queue->m2s = kunit_kzalloc(test, bytes, GFP_KERNEL);
	queue->s2m = kunit_kzalloc(test, bytes, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue->m2s);
	KUNIT_ASSERT_NOT_NULL(test, queue->s2m);
	return queue;
}

static void neuron_kunit_room(struct kunit *test)
{
	struct neuron_copy_queue *queue = neuron_kunit_queue(test);

	KUNIT_EXPECT_TRUE(test, neuron_copy_has_room(queue, NEURON_COPY_ROOM));
	KUNIT_EXPECT_FALSE(test, neuron_copy_has_room(queue, NEURON_COPY_ROOM + 1));
	/* That of queued requests is their own. */
	queue->submitted = NEURON_COPY_QUEUED_ROOM;
	KUNIT_EXPECT_TRUE(test, neuron_copy_has_room(queue, NEURON_COPY_ROOM));
	queue->waited_desc = 20;
	KUNIT_EXPECT_TRUE(test, neuron_copy_has_room(queue, NEURON_COPY_ROOM - 20));
	KUNIT_EXPECT_FALSE(test, neuron_copy_has_room(queue, NEURON_COPY_ROOM - 19));
	/* Who waits for room in a queue that will never move is let go, but has none. */
	queue->stopped = true;
	queue->dead = true;
	KUNIT_EXPECT_TRUE(test, neuron_copy_has_room(queue, NEURON_COPY_ROOM));
	KUNIT_EXPECT_FALSE(test, neuron_copy_fits(queue, NEURON_COPY_ROOM));
	KUNIT_EXPECT_TRUE(test, neuron_copy_fits(queue, NEURON_COPY_ROOM - 20));
}

static u32 neuron_kunit_ring_id(const struct neuron_udma_desc *desc)
{
	return NEURON_GET(NEURON_UDMA_DESC_RING_ID, le32_to_cpu(desc->len_ctrl));
}

/* A request across the end of the ring: slots start again, the id counts on. */
static void neuron_kunit_fill_wrap(struct kunit *test)
{
	const struct neuron_copy_desc desc[3] = {
		{ .src = 0x1000, .dst = 0x9000, .len = 1 },
		{ .src = 0x2000, .dst = 0xa000, .len = 4096 },
		{ .src = 0x3000, .dst = 0xb000, .len = 65535 },
	};
	const struct neuron_copy_request req = { .desc = desc, .nr = 3 };
	struct neuron_copy_queue *queue = neuron_kunit_queue(test);
	u32 id;

	queue->submitted = NEURON_COPY_RING - 2;
	neuron_copy_fill(queue, &req);

	id = neuron_kunit_ring_id(&queue->m2s[NEURON_COPY_RING - 1]);
	KUNIT_EXPECT_EQ(test, id, NEURON_UDMA_RING_ID_FIRST);
	KUNIT_EXPECT_EQ(test, neuron_kunit_ring_id(&queue->s2m[0]), id + 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(queue->m2s[NEURON_COPY_RING - 2].addr), 0x1000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(queue->s2m[NEURON_COPY_RING - 1].addr), 0xa000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(queue->m2s[0].addr), 0x3000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(queue->m2s[1].addr), 0);
	/* The last one only interrupts. */
	KUNIT_EXPECT_FALSE(test, le32_to_cpu(queue->s2m[NEURON_COPY_RING - 1].len_ctrl) &
			   NEURON_UDMA_DESC_INT_EN);
	KUNIT_EXPECT_TRUE(test, le32_to_cpu(queue->s2m[0].len_ctrl) &
			  NEURON_UDMA_DESC_INT_EN);
}

/* The longest descriptor has the length 0, and no other field suffers. */
static void neuron_kunit_fill_length(struct kunit *test)
{
	const struct neuron_copy_desc desc = { .len = 65536 };
	const struct neuron_copy_request req = { .desc = &desc, .nr = 1 };
	struct neuron_copy_queue *queue = neuron_kunit_queue(test);
	u32 ctrl;

	neuron_copy_fill(queue, &req);
	ctrl = le32_to_cpu(queue->m2s[0].len_ctrl);
	KUNIT_EXPECT_EQ(test, NEURON_GET(NEURON_UDMA_DESC_LEN, ctrl), 0);
	KUNIT_EXPECT_EQ(test, neuron_kunit_ring_id(&queue->m2s[0]),
			NEURON_UDMA_RING_ID_FIRST);
}

/**
 * struct neuron_kunit_queued - a queued request, and what became of it
 * @req: request
 * @given_up: what it answers when it is asked whether it is given up
 * @lost: what it answers when it is asked whether its memory is lost
 * @order: its place among the requests that ended, from 1 on; 0: it has not ended
 * @error: how it ended
 */
struct neuron_kunit_queued {
	struct neuron_copy_request req;
	int given_up;
	int lost;
	int order;
	int error;
};

static int neuron_kunit_ended;

static int neuron_kunit_given_up(const struct neuron_copy_request *req)
{
	return container_of_const(req, struct neuron_kunit_queued, req)->given_up;
}

static int neuron_kunit_lost(const struct neuron_copy_request *req)
{
	return container_of_const(req, struct neuron_kunit_queued, req)->lost;
}

static void neuron_kunit_end(struct neuron_copy_request *req, int error)
{
	struct neuron_kunit_queued *queued =
		container_of(req, struct neuron_kunit_queued, req);

	queued->order = ++neuron_kunit_ended;
	queued->error = error;
}

static const struct neuron_copy_ops neuron_kunit_ops = {
	.given_up = neuron_kunit_given_up,
	.lost = neuron_kunit_lost,
	.end = neuron_kunit_end,
};

static void neuron_kunit_fly(struct neuron_copy_queue *queue,
			     struct neuron_kunit_queued *queued, unsigned int nr)
{
	queued->req.ops = &neuron_kunit_ops;
	queued->req.nr = nr;
	queue->submitted += nr;
	queued->req.end = queue->submitted;
	INIT_LIST_HEAD(&queued->req.link);
	neuron_copy_add(queue, &queued->req);
}

/* What the device has done of a queued request is not done again. */
static void neuron_kunit_resume(struct kunit *test)
{
	struct neuron_copy_queue *queue = neuron_kunit_queue(test);
	struct neuron_kunit_queued queued[3] = { };
	LIST_HEAD(again);
	int i;

	neuron_kunit_ended = 0;
	INIT_LIST_HEAD(&queue->pending);
	queue->ndev = kunit_kzalloc(test, sizeof(*queue->ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue->ndev);
	queue->submitted = U32_MAX - 5;
	queue->completed = queue->submitted;
	for (i = 0; i < 3; i++)
		neuron_kunit_fly(queue, &queued[i], 10);
	queue->completed += 14;
	neuron_copy_end_done(queue);
	KUNIT_EXPECT_EQ(test, queued[0].order, 1);
	KUNIT_EXPECT_EQ(test, queued[0].error, 0);
	KUNIT_EXPECT_EQ(test, queued[0].req.done_nr, 10);
	KUNIT_EXPECT_EQ(test, neuron_kunit_ended, 1);

	neuron_copy_end_first(queue, -EAGAIN, &again, false);
	neuron_copy_end_first(queue, -EAGAIN, &again, false);
	KUNIT_EXPECT_EQ(test, neuron_kunit_ended, 1);
	KUNIT_EXPECT_PTR_EQ(test, neuron_copy_first(&again), &queued[1].req);
	KUNIT_EXPECT_EQ(test, queued[1].req.done_nr, 4);
	KUNIT_EXPECT_EQ(test, queued[2].req.done_nr, 0);

	/* Four and three more of the rest; then it has no more tries. */
	queued[1].req.end = queue->completed + 6;
	queue->completed += 3;
	queued[1].req.retries = NEURON_COPY_RETRIES;
	neuron_copy_add(queue, &queued[1].req);
	neuron_copy_end_first(queue, -EAGAIN, &again, false);
	KUNIT_EXPECT_EQ(test, queued[1].req.done_nr, 7);
	KUNIT_EXPECT_EQ(test, queued[1].error, -EIO);
	KUNIT_EXPECT_EQ(test, queued[1].req.cause, NEURON_CAUSE_ABORT);

	/* What another one has failed for costs it no try. */
	queued[2].req.end = queue->completed + 10;
	queued[2].req.retries = NEURON_COPY_RETRIES;
	neuron_copy_add(queue, &queued[2].req);
	neuron_copy_end_first(queue, -EAGAIN, &again, true);
	KUNIT_EXPECT_EQ(test, neuron_kunit_ended, 2);
	KUNIT_EXPECT_EQ(test, queued[2].req.retries, NEURON_COPY_RETRIES);
}

/* What was given up starts no more, but what has begun is started again. */
static void neuron_kunit_given_up_begun(struct kunit *test)
{
	struct neuron_kunit_queued queued = { .req.ops = &neuron_kunit_ops };

	KUNIT_EXPECT_EQ(test, neuron_copy_may_start(&queued.req), 0);
	queued.given_up = -ECANCELED;
	KUNIT_EXPECT_EQ(test, neuron_copy_may_start(&queued.req), -ECANCELED);
	queued.req.begun = true;
	KUNIT_EXPECT_EQ(test, neuron_copy_may_start(&queued.req), 0);
	queued.lost = -EIO;
	KUNIT_EXPECT_EQ(test, neuron_copy_may_start(&queued.req), -EIO);
}

/* Registers: those of a copy engine, and behind them the control block. */
#define NEURON_KUNIT_CTL	0x40000
#define NEURON_KUNIT_REGS	(NEURON_KUNIT_CTL + 0x8000)

static const struct neuron_gen neuron_kunit_gen = {
	.hole_bar0 = NEURON_KUNIT_CTL - NEURON_HOLE_CTL,
};

static void neuron_kunit_no_work(struct work_struct *work)
{
}

/* A queue with 20 descriptors of two requests in flight; the device has done 14. */
static struct neuron_copy_queue *
neuron_kunit_busy(struct kunit *test, struct neuron_kunit_queued queued[2])
{
	struct neuron_copy_queue *queue = neuron_kunit_queue(test);
	void *regs = kunit_kzalloc(test, NEURON_KUNIT_REGS, GFP_KERNEL);

	queue->ndev = kunit_kzalloc(test, sizeof(*queue->ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, regs);
	KUNIT_ASSERT_NOT_NULL(test, queue->ndev);
	queue->ndev->gen = &neuron_kunit_gen;
	queue->ndev->bar0 = (void __iomem __force *)regs;
	queue->ndev->watch_wq = system_wq;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	INIT_LIST_HEAD(&queue->waiting);
	init_waitqueue_head(&queue->room);
	INIT_WORK(&queue->halt, neuron_kunit_no_work);
	INIT_WORK(&queue->push, neuron_kunit_no_work);
	neuron_kunit_ended = 0;
	neuron_kunit_fly(queue, &queued[0], 10);
	neuron_kunit_fly(queue, &queued[1], 10);
	writel(14, neuron_copy_s2m_regs(queue) + NEURON_UDMA_Q_COMP_HEAD);
	return queue;
}

static void neuron_kunit_error(struct neuron_copy_queue *queue, u32 code,
			       bool aborted)
{
	u32 reg = NEURON_CTL_DMA(queue->engine) + NEURON_DMA_ERROR(0);
	unsigned long flags;

	neuron_ctl_write(queue->ndev, reg, code);
	local_irq_save(flags);
	neuron_copy_queue_interrupt(queue,
				    NEURON_DMA_CAUSE_ERROR(queue->index),
				    aborted);
	local_irq_restore(flags);
	flush_work(&queue->halt);
	flush_work(&queue->push);
}

/* It comes from the life of the queue before its reset. */
static void neuron_kunit_error_of_before(struct kunit *test)
{
	struct neuron_kunit_queued queued[2] = { };
	struct neuron_copy_queue *queue = neuron_kunit_busy(test, queued);

	neuron_kunit_error(queue, NEURON_CAUSE_NONE, false);
	KUNIT_EXPECT_EQ(test, queued[0].order, 1);
	KUNIT_EXPECT_EQ(test, queued[0].error, 0);
	KUNIT_EXPECT_EQ(test, queued[1].order, 0);
	KUNIT_EXPECT_EQ(test, queue->nr_pending, 1);
	KUNIT_EXPECT_FALSE(test, queue->stopped);

	neuron_kunit_error(queue, NEURON_CAUSE_HOST, false);
	KUNIT_EXPECT_EQ(test, queued[1].error, -EIO);
	KUNIT_EXPECT_EQ(test, queued[1].req.cause, NEURON_CAUSE_HOST);
	KUNIT_EXPECT_TRUE(test, queue->stopped);
}

/* The engine has aborted: nothing ends before the queue was halted. */
static void neuron_kunit_error_of_abort(struct kunit *test)
{
	const u32 code[2] = { NEURON_CAUSE_ABORT, NEURON_CAUSE_NONE };
	const int error[2] = { -EIO, -EAGAIN };
	struct neuron_copy_queue *queue;
	int i;

	for (i = 0; i < 2; i++) {
		struct neuron_kunit_queued queued[2] = { };

		queue = neuron_kunit_busy(test, queued);
		neuron_kunit_error(queue, code[i], true);
		KUNIT_EXPECT_EQ(test, queued[0].order, 1);
		KUNIT_EXPECT_EQ(test, queued[1].order, 0);
		KUNIT_EXPECT_EQ(test, queue->nr_pending, 1);
		KUNIT_EXPECT_TRUE(test, queue->stopped);
		KUNIT_EXPECT_EQ(test, queue->stop_error, error[i]);
		KUNIT_EXPECT_EQ(test, queued[1].req.cause, code[i]);
	}
}

/* A device that moves something now and then does not keep a request for ever. */
static void neuron_kunit_late(struct kunit *test)
{
	const unsigned long limit = msecs_to_jiffies(NEURON_COPY_TIMEOUT_MS);
	const unsigned long cap = msecs_to_jiffies(NEURON_COPY_CAP_MS);
	struct neuron_kunit_queued queued[2] = { };
	struct neuron_copy_queue *queue = neuron_kunit_busy(test, queued);

	queue->progress_at = jiffies;
	KUNIT_EXPECT_GT(test, neuron_copy_time_left(queue), 0);
	KUNIT_EXPECT_LE(test, neuron_copy_time_left(queue), limit);
	KUNIT_EXPECT_FALSE(test, neuron_copy_is_late(queue));

	/* Nobody waits longer than until the first one is late. */
	queued[0].req.since = jiffies - cap + limit / 2;
	KUNIT_EXPECT_LE(test, neuron_copy_time_left(queue), limit / 2);
	KUNIT_EXPECT_FALSE(test, neuron_copy_is_late(queue));

	queued[0].req.since = jiffies - cap;
	KUNIT_EXPECT_LE(test, neuron_copy_time_left(queue), 0);
	KUNIT_EXPECT_TRUE(test, neuron_copy_is_late(queue));

	/* It ends: the next one counts from when it was put in flight. */
	neuron_copy_advance(queue);
	KUNIT_EXPECT_EQ(test, queued[0].order, 1);
	KUNIT_EXPECT_GT(test, neuron_copy_time_left(queue), 0);
	KUNIT_EXPECT_FALSE(test, neuron_copy_is_late(queue));
	queued[1].req.since = jiffies - cap;
	KUNIT_EXPECT_TRUE(test, neuron_copy_is_late(queue));

	/* Begun again, it has its time again. */
	list_del_init(&queued[1].req.link);
	neuron_copy_add(queue, &queued[1].req);
	KUNIT_EXPECT_FALSE(test, neuron_copy_is_late(queue));
}

static struct kunit_case neuron_copy_cases[] = {
	KUNIT_CASE(neuron_kunit_room),
	KUNIT_CASE(neuron_kunit_fill_wrap),
	KUNIT_CASE(neuron_kunit_fill_length),
	KUNIT_CASE(neuron_kunit_resume),
	KUNIT_CASE(neuron_kunit_given_up_begun),
	KUNIT_CASE(neuron_kunit_error_of_before),
	KUNIT_CASE(neuron_kunit_error_of_abort),
	KUNIT_CASE(neuron_kunit_late),
	{}
};

static struct kunit_suite neuron_copy_suite = {
	.name = "neuron_copy",
	.test_cases = neuron_copy_cases,
};

kunit_test_suite(neuron_copy_suite);
