/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Listeners: file descriptors from which a user reads events.
 */
#ifndef _NEURON_LISTENER_H_
#define _NEURON_LISTENER_H_

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define NEURON_LISTENER_EVENTS	128	/* not read yet, a power of two */
#define NEURON_FILE_LISTENERS	64	/* of a file */
#define NEURON_DEVICE_LISTENERS	1024	/* of a device; of a user: neuron_account.h */

struct drm_neuron_event;

/**
 * struct neuron_listeners - all of a device
 * @lock: @list, @nr, @closed, and the queues of the listeners; taken in hard interrupts
 * @list: struct neuron_listener
 * @nr: how many
 * @closed: the device has left; nothing is told any more
 */
struct neuron_listeners {
	spinlock_t lock;	/* all that follows */
	struct list_head list;
	unsigned int nr;
	bool closed;
};

void neuron_listeners_init(struct neuron_listeners *listeners);
/* The device has left: all of them hang up. */
void neuron_listeners_close(struct neuron_listeners *listeners);
/*
 * Any context. @client: DRM client id of the file that the event concerns; 0: all hear of
 * it. The time of the event is now.
 */
void neuron_listeners_tell(struct neuron_listeners *listeners, u64 client,
			   const struct drm_neuron_event *event);

#endif /* _NEURON_LISTENER_H_ */
