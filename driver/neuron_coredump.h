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

/*
 * Prepare dumps for a new claim; with @memory they shall have the contents of SBUF and PSUM.
 * Returns 0 or -ENOMEM.
 */
int neuron_dump_prepare(struct neuron_claim_core *cc, bool memory);

/*
 * Forget the last dump of a claim that has ended or could not be made. The caller holds no
 * lock of the claim.
 */
void neuron_dump_forget(struct neuron_claim_core *cc);

#endif /* _NEURON_COREDUMP_H_ */
