/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Listeners: file descriptors from which a user reads events.
 */
#ifndef _NEURON_LISTENER_H_
#define _NEURON_LISTENER_H_

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define NEURON_LISTENER_EVENTS	128	/* not read yet, a power of two */
#define NEURON_FILE_LISTENERS	64	/* of a file */
#define NEURON_DEVICE_LISTENERS	1024	/* of a device; of a user: neuron_account.h */

struct drm_device;
struct drm_neuron_event;
struct neuron_news;

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

int neuron_listeners_init(struct neuron_listeners *listeners,
			  struct drm_device *drm);
/* The device has left: all of them hang up. */
void neuron_listeners_close(struct neuron_listeners *listeners);
/*
 * Any context. @client: DRM client id of the file that the event concerns; 0: all hear of
 * it. The time of the event is now. Listeners are told a little later, by a work, or by the
 * next one who reads or polls: nobody who asks after this misses it.
 */
void neuron_listeners_tell(struct neuron_listeners *listeners, u64 client,
			   const struct drm_neuron_event *event);

#endif /* _NEURON_LISTENER_H_ */
