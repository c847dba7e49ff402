// SPDX-License-Identifier: GPL-2.0-only
/*
 * The EVENTS ioctl, and the file descriptors that it gives.
 *
 * A device may have 1024 of these. Events are raised with interrupts off, so there they are
 * only noted, and handed to the listeners where one may sleep.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>

#include "drm/neuron_accel.h"
#include "neuron_account.h"
#include "neuron_device.h"
#include "neuron_ioctl.h"
#include "neuron_listener.h"

#define NEURON_LISTENER_MASK	(BIT_ULL(DRM_NEURON_NR_EVENT_TYPES) - 1)

/* Events that are noted, and kinds of events that are counted when there is no room. */
#define NEURON_NEWS_EVENTS	240
/*
 * The last of these places are only for what happens to the device as a whole: that often
 * comes right after a storm of other events, which has filled the other places.
 */
#define NEURON_NEWS_RARE	16
#define NEURON_NEWS_LOST	32

/**
 * struct neuron_news - events that have not been handed on
 * @nr: in @event
 * @nr_lost: in @lost
 * @lost_by_all: events that found no room even in @lost; everybody counts them
 * @event: the first ones: whom each concerns, and its record
 * @lost: those after them: whom they concern, their type, and how many there were
 */
struct neuron_news {
	unsigned int nr;
	unsigned int nr_lost;
	u32 lost_by_all;
	struct {
		u64 client;
		struct drm_neuron_event record;
	} event[NEURON_NEWS_EVENTS];
	struct {
		u64 client;
		u32 type;
		u32 count;
	} lost[NEURON_NEWS_LOST];
};

/**
 * struct neuron_listeners - all of a device
 * @lock: held while events are handed to the listeners; protects @list, @nr and the one of
 *	@news that is not filled
 * @list: struct neuron_listener
 * @nr: how many
 * @closed: the device has left; nothing is told any more
 * @work: hands on what is in @news
 * @news_lock: protects @filled and the one of @news that is filled; taken in hard interrupts,
 *	after @lock
 * @news: events that have not been handed on
 * @filled: the one of @news to which events are added; the other one is empty unless its
 *	events are being handed on
 */
struct neuron_listeners {
	struct mutex lock;	/* list, nr, handing on */
	struct list_head list;
	unsigned int nr;
	bool closed;
	struct work_struct work;
	spinlock_t news_lock;	/* filled, news[filled] */
	struct neuron_news *news[2];
	unsigned int filled;
};

/**
 * struct neuron_listener - behind the file descriptor
 * @link: in neuron_listeners.list
 * @ndev: device, referenced
 * @account: of the user who asked for it, referenced
 * @client: DRM client id of the file that asked for it
 * @mask: types of events
 * @stride: bytes of a record, as the reader knows it
 * @reading: one reader at a time; outside of @lock
 * @wait: readers, and those who poll
 * @lock: protects what follows; inside of neuron_listeners.lock
 * @first: events that were read
 * @next: events that were queued
 * @lost: events that found no room since the last one that did
 * @queue: event @i at @i modulo its size
 */
struct neuron_listener {
	struct list_head link;
	struct neuron_device *ndev;
	struct neuron_account *account;
	u64 client;
	u64 mask;
	u32 stride;
	struct mutex reading; /* one reader at a time */
	wait_queue_head_t wait;
	spinlock_t lock; /* all that follows */
	u32 first;
	u32 next;
	u32 lost;
	struct drm_neuron_event queue[NEURON_LISTENER_EVENTS];
};

static void neuron_news_add(struct neuron_news *news, u64 client,
			    const struct drm_neuron_event *event)
{
	news->event[news->nr].client = client;
	news->event[news->nr].record = *event;
	news->event[news->nr].record.time_ns = ktime_get_ns();
	news->nr++;
}

static void neuron_news_lose(struct neuron_news *news, u64 client, u32 type)
{
	unsigned int i;

	for (i = 0; i < news->nr_lost; i++) {
		if (news->lost[i].client == client &&
		    news->lost[i].type == type) {
			news->lost[i].count++;
			return;
		}
	}
	if (i == NEURON_NEWS_LOST) {
		news->lost_by_all++;
		return;
	}
	news->lost[i].client = client;
	news->lost[i].type = type;
	news->lost[i].count = 1;
	news->nr_lost++;
}

static unsigned int neuron_news_room(u64 client, u32 type)
{
	if (client || type == DRM_NEURON_EVENT_ECC)
		return NEURON_NEWS_EVENTS - NEURON_NEWS_RARE;
	return NEURON_NEWS_EVENTS;
}

void neuron_listeners_tell(struct neuron_listeners *listeners, u64 client,
			   const struct drm_neuron_event *event)
{
	struct neuron_news *news;
	unsigned long flags;

	spin_lock_irqsave(&listeners->news_lock, flags);
	news = listeners->news[listeners->filled];
	if (news->nr < neuron_news_room(client, event->type))
		neuron_news_add(news, client, event);
	else
		neuron_news_lose(news, client, event->type);
	spin_unlock_irqrestore(&listeners->news_lock, flags);
	queue_work(system_unbound_wq, &listeners->work);
}

static bool neuron_listener_hears(const struct neuron_listener *listener,
				  u64 client, u32 type)
{
	return listener->mask & BIT_ULL(type) &&
	       (!client || client == listener->client);
}

static void neuron_listener_put(struct neuron_listener *listener,
				const struct drm_neuron_event *event)
{
	struct drm_neuron_event *slot;

	spin_lock(&listener->lock);
	if (listener->next - listener->first == NEURON_LISTENER_EVENTS) {
		listener->lost++;
		spin_unlock(&listener->lock);
		return;
	}
	slot = &listener->queue[listener->next % NEURON_LISTENER_EVENTS];
	*slot = *event;
	slot->lost = listener->lost;
	listener->lost = 0;
	listener->next++;
	spin_unlock(&listener->lock);
	wake_up(&listener->wait);
}

static void neuron_listener_lose(struct neuron_listener *listener, u32 count)
{
	spin_lock(&listener->lock);
	listener->lost += count;
	spin_unlock(&listener->lock);
}

/* Under neuron_listeners.lock, so that a listener gets events in their order. */
static void neuron_listener_tell(struct neuron_listener *listener,
				 const struct neuron_news *news)
{
	unsigned int i;

	for (i = 0; i < news->nr; i++)
		if (neuron_listener_hears(listener, news->event[i].client,
					  news->event[i].record.type))
			neuron_listener_put(listener, &news->event[i].record);
	for (i = 0; i < news->nr_lost; i++)
		if (neuron_listener_hears(listener, news->lost[i].client,
					  news->lost[i].type))
			neuron_listener_lose(listener, news->lost[i].count);
	if (news->lost_by_all)
		neuron_listener_lose(listener, news->lost_by_all);
}

/* Under neuron_listeners.lock: events that must be handed on, or NULL. */
static struct neuron_news *
neuron_listeners_take(struct neuron_listeners *listeners)
{
	struct neuron_news *news = NULL;

	lockdep_assert_held(&listeners->lock);
	spin_lock_irq(&listeners->news_lock);
	if (listeners->news[listeners->filled]->nr) {
		news = listeners->news[listeners->filled];
		listeners->filled ^= 1;
	}
	spin_unlock_irq(&listeners->news_lock);
	return news;
}

/* Under neuron_listeners.lock: hand on all that was told before; false: there was nothing. */
static bool neuron_listeners_hand_on(struct neuron_listeners *listeners)
{
	struct neuron_listener *listener;
	struct neuron_news *news;

	lockdep_assert_held(&listeners->lock);
	if (listeners->closed)
		return false;
	news = neuron_listeners_take(listeners);
	if (!news)
		return false;
	list_for_each_entry(listener, &listeners->list, link) {
		neuron_listener_tell(listener, news);
		cond_resched();
	}
	news->nr = 0;
	news->nr_lost = 0;
	news->lost_by_all = 0;
	return true;
}

/*
 * A reader hands events on to all listeners, not only to itself, because the events of all are in
 * the same two buffers and a buffer is emptied as a whole. In total this is no more work: each
 * event is handed on once. For one caller it is bounded: at most 240 events and 32 counts for each
 * of at most 1024 listeners.
 *
 * Return: there was something to hand on.
 */
static bool neuron_listeners_flush(struct neuron_listeners *listeners)
{
	bool any;

	mutex_lock(&listeners->lock);
	any = neuron_listeners_hand_on(listeners);
	mutex_unlock(&listeners->lock);
	return any;
}

static void neuron_listeners_work(struct work_struct *work)
{
	struct neuron_listeners *listeners = container_of(work,
							  struct neuron_listeners,
							  work);

	while (neuron_listeners_flush(listeners))
		;
}

/* @news is to be set. */
static void neuron_listeners_begin(struct neuron_listeners *listeners)
{
	mutex_init(&listeners->lock);
	INIT_LIST_HEAD(&listeners->list);
	INIT_WORK(&listeners->work, neuron_listeners_work);
	spin_lock_init(&listeners->news_lock);
}

int neuron_listeners_init(struct neuron_device *ndev)
{
	struct neuron_listeners *listeners;
	unsigned int i;

	listeners = drmm_kzalloc(&ndev->drm, sizeof(*listeners), GFP_KERNEL);
	if (!listeners)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(listeners->news); i++) {
		listeners->news[i] = drmm_kzalloc(&ndev->drm,
						  sizeof(*listeners->news[i]),
						  GFP_KERNEL);
		if (!listeners->news[i])
			return -ENOMEM;
	}
	neuron_listeners_begin(listeners);
	ndev->listeners = listeners;
	return 0;
}

/* Under neuron_listeners.lock: those of one file. */
static unsigned int neuron_listeners_count(struct neuron_listeners *listeners,
					   u64 client)
{
	struct neuron_listener *listener;
	unsigned int nr = 0;

	lockdep_assert_held(&listeners->lock);
	list_for_each_entry(listener, &listeners->list, link)
		nr += listener->client == client;
	return nr;
}

/* -ENOSPC: there are too many of the same file, of the same user, or of the device. */
static int neuron_listener_add(struct neuron_listener *listener)
{
	struct neuron_listeners *listeners = listener->ndev->listeners;
	int ret = 0;

	if (!neuron_account_add_event_file(listener->account))
		return -ENOSPC;

	mutex_lock(&listeners->lock);
	/* It hears nothing of what has happened before. */
	neuron_listeners_hand_on(listeners);
	if (listeners->nr >= NEURON_DEVICE_LISTENERS ||
	    neuron_listeners_count(listeners, listener->client) >=
	    NEURON_FILE_LISTENERS) {
		ret = -ENOSPC;
	} else {
		list_add_tail(&listener->link, &listeners->list);
		listeners->nr++;
	}
	mutex_unlock(&listeners->lock);
	if (ret)
		neuron_account_remove_event_file(listener->account);
	return ret;
}

static void neuron_listener_remove(struct neuron_listener *listener)
{
	struct neuron_listeners *listeners = listener->ndev->listeners;

	mutex_lock(&listeners->lock);
	list_del(&listener->link);
	listeners->nr--;
	mutex_unlock(&listeners->lock);
	neuron_account_remove_event_file(listener->account);
}

static void neuron_listener_destroy(struct neuron_listener *listener)
{
	struct neuron_device *ndev = listener->ndev;

	mutex_destroy(&listener->reading);
	neuron_account_put(ndev, listener->account);
	kfree(listener);
	drm_dev_put(&ndev->drm);
}

void neuron_listeners_close(struct neuron_listeners *listeners)
{
	struct neuron_listener *listener;

	disable_work_sync(&listeners->work);
	mutex_lock(&listeners->lock);
	neuron_listeners_hand_on(listeners);
	/* A reader that sees @closed sees the last record, too: neuron_listener_state(). */
	smp_store_release(&listeners->closed, true);
	list_for_each_entry(listener, &listeners->list, link)
		wake_up_all(&listener->wait);
	mutex_unlock(&listeners->lock);
}

/* Copy the first event; false: there is none. It stays until it is dropped. */
static bool neuron_listener_peek(struct neuron_listener *listener,
				 struct drm_neuron_event *event)
{
	bool there;

	spin_lock(&listener->lock);
	there = listener->first != listener->next;
	if (there)
		*event = listener->queue[listener->first %
					 NEURON_LISTENER_EVENTS];
	spin_unlock(&listener->lock);
	return there;
}

static void neuron_listener_drop(struct neuron_listener *listener)
{
	spin_lock(&listener->lock);
	listener->first++;
	spin_unlock(&listener->lock);
}

static __poll_t neuron_listener_state(struct neuron_listener *listener)
{
	__poll_t state = 0;

	/* Before the records: pairs with neuron_listeners_close(). */
	if (smp_load_acquire(&listener->ndev->listeners->closed))
		state |= EPOLLHUP;
	spin_lock(&listener->lock);
	if (listener->first != listener->next)
		state |= EPOLLIN | EPOLLRDNORM;
	spin_unlock(&listener->lock);
	return state;
}

/* Under @reading. */
static ssize_t neuron_listener_copy(struct neuron_listener *listener,
				    char __user *to, size_t size)
{
	size_t stride = listener->stride, done = 0;
	struct drm_neuron_event event;

	lockdep_assert_held(&listener->reading);
	while (size - done >= stride &&
	       neuron_listener_peek(listener, &event)) {
		if (neuron_struct_copy(to + done, stride, &event, sizeof(event)))
			return done ?: -EFAULT;
		neuron_listener_drop(listener);
		done += stride;
	}
	return done;
}

static ssize_t neuron_listener_read(struct file *filp, char __user *to,
				    size_t size, loff_t *pos)
{
	struct neuron_listener *listener = filp->private_data;
	__poll_t state;
	ssize_t ret;

	if (size < listener->stride)
		return -EINVAL;
	for (;;) {
		neuron_listeners_flush(listener->ndev->listeners);
		if (mutex_lock_interruptible(&listener->reading))
			return -ERESTARTSYS;
		ret = neuron_listener_copy(listener, to, size);
		mutex_unlock(&listener->reading);
		state = neuron_listener_state(listener);
		if (ret || state == EPOLLHUP)
			return ret;
		/* A record has come since, perhaps the last one. */
		if (state)
			continue;
		if (filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(listener->wait,
					       neuron_listener_state(listener));
		if (ret)
			return ret;
	}
}

static __poll_t neuron_listener_poll(struct file *filp, poll_table *wait)
{
	struct neuron_listener *listener = filp->private_data;

	poll_wait(filp, &listener->wait, wait);
	neuron_listeners_flush(listener->ndev->listeners);
	return neuron_listener_state(listener);
}

static int neuron_listener_release(struct inode *inode, struct file *filp)
{
	struct neuron_listener *listener = filp->private_data;

	neuron_listener_remove(listener);
	neuron_listener_destroy(listener);
	return 0;
}

static const struct file_operations neuron_listener_fops = {
	.owner = THIS_MODULE,
	.read = neuron_listener_read,
	.poll = neuron_listener_poll,
	.release = neuron_listener_release,
	.llseek = noop_llseek,
};

static struct neuron_listener *
neuron_listener_create(struct neuron_device *ndev, u64 client,
		       const struct drm_neuron_events *args)
{
	struct neuron_listener *listener;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return NULL;
	listener->account = neuron_account_get(ndev);
	if (!listener->account) {
		kfree(listener);
		return NULL;
	}
	listener->ndev = ndev;
	listener->client = client;
	listener->mask = args->mask;
	listener->stride = args->stride;
	mutex_init(&listener->reading);
	init_waitqueue_head(&listener->wait);
	spin_lock_init(&listener->lock);
	drm_dev_get(&ndev->drm);
	return listener;
}

/**
 * neuron_ioctl_events() - EVENTS: open an event file
 * @drm: device
 * @data: &struct drm_neuron_events
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_ioctl_events(struct drm_device *drm, void *data,
			struct drm_file *file)
{
	struct drm_neuron_events *args = data;
	struct neuron_listener *listener;
	int ret;

	if (args->pad || args->flags & ~DRM_NEURON_EVENTS_NONBLOCK ||
	    !args->mask || args->mask & ~NEURON_LISTENER_MASK) {
		drm_dbg(drm, "events: mask %#llx flags %#x: unknown bits, or none\n",
			args->mask, args->flags);
		return -EINVAL;
	}
	if (!neuron_stride_valid(args->stride, DRM_NEURON_EVENT_SIZE_V2)) {
		drm_dbg(drm, "events: records of %u bytes\n", args->stride);
		return -EINVAL;
	}
	listener = neuron_listener_create(to_neuron_device(drm),
					  file->client_id, args);
	if (!listener)
		return -ENOMEM;
	ret = neuron_listener_add(listener);
	if (ret) {
		drm_dbg(drm, "events: at most %u event files of a file, %u of a user, %u of a device\n",
			NEURON_FILE_LISTENERS, NEURON_USER_EVENT_FILES,
			NEURON_DEVICE_LISTENERS);
		goto err_destroy;
	}
	ret = anon_inode_getfd("[neuron-events]", &neuron_listener_fops, listener,
			       O_RDONLY | O_CLOEXEC |
			       (args->flags & DRM_NEURON_EVENTS_NONBLOCK ?
				O_NONBLOCK : 0));
	if (ret < 0)
		goto err_remove;
	args->fd = ret;
	return 0;

err_remove:
	neuron_listener_remove(listener);
err_destroy:
	neuron_listener_destroy(listener);
	return ret;
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_listener.c"
#endif
