/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Core dumps of failed and hung jobs.
 */
#ifndef _NEURON_COREDUMP_H_
#define _NEURON_COREDUMP_H_

struct neuron_device;
struct neuron_dump;
struct neuron_job;

/*
 * What the core looks like now. On the way to signal a fence: NULL when memory
 * is not at hand.
 */
struct neuron_dump *neuron_dump_capture(struct neuron_job *job);

/* Give it to user space as text (devcoredump), and free it. NULL is fine. */
void neuron_dump_publish(struct neuron_device *ndev, struct neuron_dump *dump);

#endif /* _NEURON_COREDUMP_H_ */
