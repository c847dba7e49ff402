/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Gangs: jobs of several cores of a chip that start together. When one of them fails,
 * all that have not ended end with cause GANG.
 *
 * A member that has been latched waits and keeps its core busy until all members have
 * come. Nobody but a core's controller touches the core's job, so whatever changes a
 * gang kicks the controllers of its members, and each of them looks what it has to do.
 */
#ifndef TRN_GANG_H
#define TRN_GANG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "neuron/generation.h"
#include "neuron/job.h"

struct trn_chip;
struct trn_core;
struct trn_state;

/**
 * struct trn_gang - a gang of which a member has come
 * @id: not 0
 * @size: members
 * @culprit: index of the member that failed first, when @failed
 * @failed: no member starts any more
 * @came: bit for each index: the member has been latched, or it was refused
 * @units: bit for each place in trn_chip.core: a member is there that has not ended
 * @start_ns: device time of the start: the latest of the members' cores
 */
struct trn_gang {
	uint64_t id;
	uint16_t size;
	uint16_t culprit;
	bool failed;
	uint32_t came;
	uint32_t units;
	uint64_t start_ns;
};

/**
 * struct trn_gangs - gangs of a chip, from their first member until all have come and ended
 * @lock: all fields; a leaf
 * @nr: how many there are
 * @gang: the oldest first
 *
 * A gang that failed stays for members that are still to come. If they never do, it is
 * forgotten when the room is needed: each other gang has a core for itself, so that one
 * without any is always found then.
 */
struct trn_gangs {
	pthread_mutex_t lock;
	unsigned int nr;
	struct trn_gang gang[NEURON_MAX_UNITS];
};

/* What a member does. */
enum trn_gang_turn {
	TRN_GANG_WAIT,
	TRN_GANG_RUN,
	TRN_GANG_END,
};

void trn_gangs_init(struct trn_chip *chip);
void trn_gangs_destroy(struct trn_chip *chip);
/* Forget all gangs; no core has a job. */
void trn_gangs_reset(struct trn_chip *chip);

/*
 * By the controller of @core: its job, which has just been latched, waits for its gang.
 * It fails if the gang has another size, or another member of this index.
 */
void trn_gang_join(struct trn_core *core);
/*
 * By the controller of @core, whose job has a gang. RUN: the job has the device time of
 * the start, or had it before. END: the job has failed, now or before.
 */
enum trn_gang_turn trn_gang_turn(struct trn_core *core);
/* The member with this block has failed, or is refused. Any task. */
void trn_gang_fail(struct trn_chip *chip, const struct neuron_hw_job *block);
/* The job of @core ends. */
void trn_gang_leave(struct trn_core *core);

/* Saving and loading: the gangs, before the cores; then each job finds its own. */
void trn_gangs_state(struct trn_chip *chip, struct trn_state *st);
void trn_gang_member_state(struct trn_core *core, struct trn_state *st);

#endif /* TRN_GANG_H */
