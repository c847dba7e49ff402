/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Saving and loading: the functions of the blocks that have no header of their own
 * to declare them in, or whose order matters. What they have in common is in
 * trn_state.h.
 */
#ifndef TRN_SAVE_H
#define TRN_SAVE_H

#include "base/trn_state.h"

struct trn_chip;
struct trn_core;
struct trn_domain;
struct trn_job;
struct trn_timeline;

/* trn_chip_state.c */
void trn_irq_state(struct trn_chip *chip, struct trn_state *st);
void trn_discard_state(struct trn_chip *chip, struct trn_state *st);

/* trn_core_state.c: every core with its memories and its job. */
void trn_cores_state(struct trn_chip *chip, struct trn_state *st);

/*
 * trn_job_state.c: the job of @core and its domain, or that there is none. A
 * loaded job has no reference yet, but that of a member that waits for its gang, and
 * its queues are not bound to it.
 */
void trn_job_state(struct trn_core *core, struct trn_state *st);
void trn_domain_state(struct trn_core *core, struct trn_domain **domain,
		      struct trn_state *st);

/* trn_time_state.c: a core's clocks, before its job's timeline. */
void trn_time_core_state(struct trn_core *core, struct trn_state *st);
void trn_timeline_state(struct trn_job *job, struct trn_state *st);

/* trn_mem.c, after all memories but HBM: what counts for the host limit. */
void trn_touched_state(struct trn_chip *chip, struct trn_state *st);

/* trn_inject.c: the rules and how far each has come. */
void trn_inject_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_SAVE_H */
