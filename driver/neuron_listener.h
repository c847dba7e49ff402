/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Listeners: file descriptors from which a user reads events.
 */
#ifndef _NEURON_LISTENER_H_
#define _NEURON_LISTENER_H_

#include <linux/types.h>

#include "neuron_ioctl.h"

#define NEURON_LISTENER_EVENTS	128	/* not read yet, a power of two */
#define NEURON_FILE_LISTENERS	64	/* of a file */
#define NEURON_DEVICE_LISTENERS	1024	/* of a device; of a user: neuron_account.h */

struct drm_neuron_event;
struct neuron_device;
struct neuron_listeners;

int neuron_listeners_init(struct neuron_device *ndev);
/* The device has left: all of them hang up. */
void neuron_listeners_close(struct neuron_listeners *listeners);
/*
 * Any context. @client: DRM client id of the file that the event concerns; 0: all hear of
 * it. The time of the event is now. Listeners are told a little later, by a work, or by the
 * next one who reads or polls: nobody who asks after this misses it.
 */
void neuron_listeners_tell(struct neuron_listeners *listeners, u64 client,
			   const struct drm_neuron_event *event);

NEURON_IOCTL_HANDLER(events);

#endif /* _NEURON_LISTENER_H_ */
