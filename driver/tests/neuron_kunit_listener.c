// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_listener.c, which includes this file: who is told what, and when.
 */
#include <kunit/test.h>

#define NEURON_KUNIT_FILE	7	/* client id of a file */

/* Listeners without a device, and without a work: the test hands on. */
static struct neuron_listeners *neuron_kunit_listeners(struct kunit *test)
{
	struct neuron_listeners *listeners;
	unsigned int i;

	listeners = kunit_kzalloc(test, sizeof(*listeners), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, listeners);
	for (i = 0; i < ARRAY_SIZE(listeners->news); i++) {
		listeners->news[i] = kunit_kzalloc(test,
						   sizeof(struct neuron_news),
						   GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, listeners->news[i]);
	}
	neuron_listeners_begin(listeners);
	disable_work_sync(&listeners->work);
	return listeners;
}

static struct neuron_listener *
neuron_kunit_listener(struct kunit *test, struct neuron_listeners *listeners,
		      u64 client)
{
	struct neuron_listener *listener;

	listener = kunit_kzalloc(test, sizeof(*listener), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, listener);
	listener->client = client;
	listener->mask = NEURON_LISTENER_MASK;
	init_waitqueue_head(&listener->wait);
	spin_lock_init(&listener->lock);
	list_add_tail(&listener->link, &listeners->list);
	return listener;
}

static void neuron_kunit_tell(struct neuron_listeners *listeners, u64 client,
			      u32 type, u64 job)
{
	const struct drm_neuron_event event = { .type = type, .job = job };

	neuron_listeners_tell(listeners, client, &event);
}

static bool neuron_kunit_next(struct neuron_listener *listener,
			      struct drm_neuron_event *event)
{
	if (!neuron_listener_peek(listener, event))
		return false;
	neuron_listener_drop(listener);
	return true;
}

/* Who raises an event, perhaps with interrupts off, does not go through the listeners. */
static void neuron_kunit_later(struct kunit *test)
{
	struct neuron_listeners *listeners = neuron_kunit_listeners(test);
	struct neuron_listener *listener, *other;
	struct drm_neuron_event event;

	listener = neuron_kunit_listener(test, listeners, NEURON_KUNIT_FILE);
	other = neuron_kunit_listener(test, listeners, NEURON_KUNIT_FILE + 1);
	neuron_kunit_tell(listeners, NEURON_KUNIT_FILE,
			  DRM_NEURON_EVENT_JOB_FAULT, 1);
	KUNIT_EXPECT_FALSE(test, neuron_kunit_next(listener, &event));
	KUNIT_EXPECT_TRUE(test, neuron_listeners_flush(listeners));
	KUNIT_ASSERT_TRUE(test, neuron_kunit_next(listener, &event));
	KUNIT_EXPECT_EQ(test, 1, event.job);
	KUNIT_EXPECT_FALSE(test, neuron_kunit_next(listener, &event));
	KUNIT_EXPECT_FALSE(test, neuron_kunit_next(other, &event));
	KUNIT_EXPECT_FALSE(test, neuron_listeners_flush(listeners));
}

/* Those that find no room are counted, by the listeners that would have heard of them. */
static void neuron_kunit_lost(struct kunit *test)
{
	const u32 kept = NEURON_LISTENER_EVENTS;
	struct neuron_listeners *listeners = neuron_kunit_listeners(test);
	struct neuron_listener *listener, *other;
	struct drm_neuron_event event;
	u64 job;

	listener = neuron_kunit_listener(test, listeners, NEURON_KUNIT_FILE);
	other = neuron_kunit_listener(test, listeners, NEURON_KUNIT_FILE + 1);
	for (job = 1; job <= NEURON_NEWS_EVENTS + 5; job++)
		neuron_kunit_tell(listeners, NEURON_KUNIT_FILE,
				  DRM_NEURON_EVENT_JOB_FAULT, job);
	neuron_kunit_tell(listeners, 0, DRM_NEURON_EVENT_DEVICE_RESET, 0);
	KUNIT_EXPECT_TRUE(test, neuron_listeners_flush(listeners));
	for (job = 1; job <= kept; job++) {
		KUNIT_ASSERT_TRUE(test, neuron_kunit_next(listener, &event));
		KUNIT_ASSERT_EQ(test, job, event.job);
		KUNIT_ASSERT_EQ(test, 0, event.lost);
	}
	KUNIT_EXPECT_FALSE(test, neuron_kunit_next(listener, &event));
	/* There is still room for what concerns everybody. */
	KUNIT_ASSERT_TRUE(test, neuron_kunit_next(other, &event));
	KUNIT_EXPECT_EQ(test, DRM_NEURON_EVENT_DEVICE_RESET, event.type);
	KUNIT_EXPECT_EQ(test, 0, event.lost);
	KUNIT_EXPECT_FALSE(test, neuron_kunit_next(other, &event));

	neuron_kunit_tell(listeners, 0, DRM_NEURON_EVENT_DEVICE_RESET, 0);
	KUNIT_EXPECT_TRUE(test, neuron_listeners_flush(listeners));
	KUNIT_ASSERT_TRUE(test, neuron_kunit_next(listener, &event));
	KUNIT_EXPECT_EQ(test, NEURON_NEWS_EVENTS - kept + 5 + 1, event.lost);
	KUNIT_ASSERT_TRUE(test, neuron_kunit_next(other, &event));
	KUNIT_EXPECT_EQ(test, 0, event.lost);
}

/* More kinds of events than there is room for: nobody counts too few. */
static void neuron_kunit_lost_by_all(struct kunit *test)
{
	struct neuron_listeners *listeners = neuron_kunit_listeners(test);
	struct neuron_listener *listener;
	struct drm_neuron_event event;
	unsigned int i;

	listener = neuron_kunit_listener(test, listeners, NEURON_KUNIT_FILE);
	for (i = 0; i < NEURON_NEWS_EVENTS - NEURON_NEWS_RARE + NEURON_NEWS_LOST; i++)
		neuron_kunit_tell(listeners, 1000 + i,
				  DRM_NEURON_EVENT_JOB_FAULT, 1);
	neuron_kunit_tell(listeners, NEURON_KUNIT_FILE,
			  DRM_NEURON_EVENT_JOB_FAULT, 2);
	KUNIT_EXPECT_TRUE(test, neuron_listeners_flush(listeners));
	KUNIT_EXPECT_FALSE(test, neuron_kunit_next(listener, &event));
	neuron_kunit_tell(listeners, NEURON_KUNIT_FILE,
			  DRM_NEURON_EVENT_JOB_FAULT, 3);
	KUNIT_EXPECT_TRUE(test, neuron_listeners_flush(listeners));
	KUNIT_ASSERT_TRUE(test, neuron_kunit_next(listener, &event));
	KUNIT_EXPECT_EQ(test, 3, event.job);
	KUNIT_EXPECT_EQ(test, 1, event.lost);
}

static struct kunit_case neuron_listener_cases[] = {
	KUNIT_CASE(neuron_kunit_later),
	KUNIT_CASE(neuron_kunit_lost),
	KUNIT_CASE(neuron_kunit_lost_by_all),
	{}
};

static struct kunit_suite neuron_listener_suite = {
	.name = "neuron_listener",
	.test_cases = neuron_listener_cases,
};

kunit_test_suite(neuron_listener_suite);
