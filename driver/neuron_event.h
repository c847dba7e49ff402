/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: what a monitor should know at once, by uevents, and the owners of claims by the
 * event files of neuron_listener.c.
 */
#ifndef _NEURON_EVENT_H_
#define _NEURON_EVENT_H_

#include <linux/types.h>

struct neuron_device;

enum neuron_event_type {
	NEURON_EVENT_FAULT,		/* core, job */
	NEURON_EVENT_HANG,		/* core, job */
	NEURON_EVENT_RESET,		/* core, job that was aborted */
	NEURON_EVENT_RESET_FAILED,	/* core */
	NEURON_EVENT_ECC,		/* address; uncorrectable ones */
	NEURON_EVENT_LINK,		/* no details: all links are looked at */
	NEURON_EVENT_DEVICE_RESET,	/* claims and HBM are lost */
	NEURON_EVENT_DEVICE_FAILED,	/* out of service */
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

/* Before the interrupts are set up. */
int neuron_event_init(struct neuron_device *ndev);
/* From here on changes of links are told. Called before the hardware is started. */
void neuron_event_begin(struct neuron_device *ndev);
/* The hardware is up: links may have changed while nobody could hear of it. */
void neuron_event_look(struct neuron_device *ndev);
/*
 * Any context, allocates nothing. Listeners are told as neuron_listeners_tell() says, but of
 * links by the work that also raises the uevents. Of uevents that come too fast some are not
 * raised; the counters have all of them.
 */
void neuron_event_raise(struct neuron_device *ndev,
			const struct neuron_event *event);

#endif /* _NEURON_EVENT_H_ */
