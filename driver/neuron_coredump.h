/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Core dumps of jobs that failed or hang. They are captured where the job ends. A work prints and
 * publishes them later.
 */
#ifndef _NEURON_COREDUMP_H_
#define _NEURON_COREDUMP_H_

#include "neuron_ioctl.h"

struct neuron_device;
struct neuron_dump;
struct neuron_job;

/**
 * neuron_dump_init() - set up core dumps
 * @ndev: device
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_dump_init(struct neuron_device *ndev);

/**
 * neuron_dump_fini() - wait until all captured dumps are published
 * @ndev: device; none of its cores runs a job
 */
void neuron_dump_fini(struct neuron_device *ndev);

/**
 * neuron_dump_capture() - note the state that a core is in now
 * @job: job that has failed or hangs
 *
 * The caller is about to signal a fence, so this does not wait for memory.
 *
 * Context: under neuron_core.reset_lock.
 * Return: the dump; NULL when there is no memory at once, or eight dumps are not published yet.
 */
struct neuron_dump *neuron_dump_capture(struct neuron_job *job);

/**
 * neuron_dump_publish() - have a dump printed and given to user space later
 * @dump: dump, which is freed then; or NULL
 *
 * The owner of the core gets it with DUMP, and the machine's collector of core dumps gets it as a
 * devcoredump.
 */
void neuron_dump_publish(struct neuron_dump *dump);

NEURON_IOCTL_HANDLER(dump);

#endif /* _NEURON_COREDUMP_H_ */
