/* SPDX-License-Identifier: MIT */
/*
 * The work of state_rig.h: what each chip is given to do.
 */
#ifndef STATE_WORK_H
#define STATE_WORK_H

#include "seq_rig.h"

/* Fill the memories of chip @c. */
void work_prepare(struct seq_rig *rig, unsigned int c);
/* The program of a core: loads, compute, stores, generated packets, messages. */
void work_job(struct seq_job *job);
/* Notification queues of the cores that work, and of the copy engine. */
void work_notify(struct seq_rig *rig, unsigned int c);
/* The kernel's queue: copies of a descriptor each, from HBM to host memory. */
void work_copies(struct seq_rig *rig, unsigned int c);
bool work_copied(struct seq_rig *rig, unsigned int c);

#endif /* STATE_WORK_H */
