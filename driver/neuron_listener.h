/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Listeners are file descriptors from which a user reads events (EVENTS).
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

/**
 * neuron_listeners_init() - set up the event files of a device
 * @ndev: device
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_listeners_init(struct neuron_device *ndev);

/**
 * neuron_listeners_close() - the device has left
 * @listeners: its event files
 *
 * Events that were told before are handed on. poll() of each file says EPOLLHUP afterwards.
 */
void neuron_listeners_close(struct neuron_listeners *listeners);

/**
 * neuron_listeners_tell() - tell the event files of an event
 * @listeners: event files of the device
 * @client: DRM client id of the file that the event concerns; 0: it concerns all
 * @event: record; its time is set here
 *
 * The event is only noted here. A work hands it to the files, or the next caller of read() or
 * poll() does. So whoever reads after this function has returned sees the event.
 *
 * Context: any, hard interrupts included. It allocates nothing.
 */
void neuron_listeners_tell(struct neuron_listeners *listeners, u64 client,
			   const struct drm_neuron_event *event);

NEURON_IOCTL_HANDLER(events);

#endif /* _NEURON_LISTENER_H_ */
