/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Core dumps of failed and hung jobs: captured where the job ends, printed and
 * published by a thread of their own.
 */
#ifndef _NEURON_COREDUMP_H_
#define _NEURON_COREDUMP_H_

#include "neuron_ioctl.h"

struct neuron_device;
struct neuron_dump;
struct neuron_job;

int neuron_dump_init(struct neuron_device *ndev);
/* After it no dump of the device is being published. No core may run a job. */
void neuron_dump_fini(struct neuron_device *ndev);

/*
 * Capture the state that the core is in now. The caller is about to signal a fence, so the
 * function does not wait for memory: it returns NULL when there is none at once, or when too
 * many dumps are not published yet.
 */
struct neuron_dump *neuron_dump_capture(struct neuron_job *job);

/*
 * Have the dump written as text and given to user space later: to the machine's collector
 * of core dumps (devcoredump) and to the owner of the core (the DUMP ioctl). @dump may be
 * NULL.
 */
void neuron_dump_publish(struct neuron_dump *dump);

NEURON_IOCTL_HANDLER(dump);

#endif /* _NEURON_COREDUMP_H_ */
