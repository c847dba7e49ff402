/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Core dumps of failed and hung jobs: captured where the job ends, printed and
 * published by a thread of their own.
 */
#ifndef _NEURON_COREDUMP_H_
#define _NEURON_COREDUMP_H_

struct neuron_claim_core;
struct neuron_device;
struct neuron_dump;
struct neuron_dump_memory;
struct neuron_dump_text;
struct neuron_job;

int neuron_dump_init(struct neuron_device *ndev);
/* After it no dump of the device is being published. No core may run a job. */
void neuron_dump_fini(struct neuron_device *ndev);

/*
 * What the core looks like now. On the way to signal a fence, so nothing waits
 * for memory: NULL when it is not at hand, or too many dumps are on their way.
 */
struct neuron_dump *neuron_dump_capture(struct neuron_job *job);

/*
 * Give it to user space as text, later: to whoever collects the machine's core
 * dumps (devcoredump) and to the owner of the core (the DUMP ioctl). NULL is fine.
 */
void neuron_dump_publish(struct neuron_dump *dump);

/* A new claim; @memory: its dumps shall have SBUF and PSUM. -ENOMEM. */
int neuron_dump_prepare(struct neuron_claim_core *cc, bool memory);

/* The claim is over, or never was: forget its last dump. Not under its locks. */
void neuron_dump_forget(struct neuron_claim_core *cc);

#endif /* _NEURON_COREDUMP_H_ */
