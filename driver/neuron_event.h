/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: what a monitor should know at once, by uevents, and the owners of claims by the
 * event files of neuron_listener.c.
 */
#ifndef _NEURON_EVENT_H_
#define _NEURON_EVENT_H_

#include <linux/types.h>

struct neuron_device;

/**
 * enum neuron_event_type - what happened
 * @NEURON_EVENT_FAULT: a job faulted
 * @NEURON_EVENT_HANG: a job made no progress
 * @NEURON_EVENT_RESET: a core was reset to end a job
 * @NEURON_EVENT_RESET_FAILED: a core does not answer its reset
 * @NEURON_EVENT_ECC: an uncorrectable memory error
 * @NEURON_EVENT_LINK: links went up or down; it has no details, because all links are read
 * @NEURON_EVENT_DEVICE_RESET: the device was reset; its claims and its HBM are lost
 * @NEURON_EVENT_DEVICE_FAILED: the device could not be started after a reset
 * @NEURON_NR_EVENT_TYPES: number of the types
 */
enum neuron_event_type {
	NEURON_EVENT_FAULT,
	NEURON_EVENT_HANG,
	NEURON_EVENT_RESET,
	NEURON_EVENT_RESET_FAILED,
	NEURON_EVENT_ECC,
	NEURON_EVENT_LINK,
	NEURON_EVENT_DEVICE_RESET,
	NEURON_EVENT_DEVICE_FAILED,
	NEURON_NR_EVENT_TYPES
};

/**
 * struct neuron_event - something happened
 * @type: what
 * @core: core or CC-core; NEURON_EVENT_DEVICE: the device as a whole
 * @client: DRM client id of the file whose job it was; 0: nobody's
 * @claim: claim of the job
 * @job: id of the job in its claim; 0: the event is of no job
 * @cause: enum neuron_cause
 * @source: engine, or NEURON_SOURCE_*
 * @pc: instruction or descriptor index
 * @addr: where in memory
 */
struct neuron_event {
	enum neuron_event_type type;
	unsigned int core;
	u64 client;
	u32 claim;
	u64 job;
	u16 cause;
	u16 source;
	u32 pc;
	u64 addr;
};

#define NEURON_EVENT_DEVICE	(~0u)

/**
 * neuron_event_init() - set up the events of a device
 * @ndev: device; its interrupts are not set up yet
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_event_init(struct neuron_device *ndev);

/**
 * neuron_event_begin() - note which links are up
 * @ndev: device, before its hardware is started
 *
 * Changes of links are told from here on.
 */
void neuron_event_begin(struct neuron_device *ndev);

/**
 * neuron_event_look() - look for links that have changed
 * @ndev: device, just started
 *
 * A device that was asleep or being reset could not tell of changes.
 */
void neuron_event_look(struct neuron_device *ndev);

/**
 * neuron_event_raise() - tell user space that something happened
 * @ndev: device
 * @event: what happened
 *
 * Event files get a record of it, see neuron_listeners_tell(). A work raises the uevent; it also
 * writes the records about links. Uevents of one type are limited to ten in five seconds; event
 * files and counters have all events.
 *
 * Context: any, hard interrupts included. It allocates nothing.
 */
void neuron_event_raise(struct neuron_device *ndev,
			const struct neuron_event *event);

#endif /* _NEURON_EVENT_H_ */
