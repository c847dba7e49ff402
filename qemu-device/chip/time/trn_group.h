/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Time groups: jobs on any cores of a fabric whose device times are worked out together.
 *
 * A member's job completes as any other one. Its records stay; when all members have ended,
 * one of their cores replays all records together, and each core writes the times of its
 * member. Of a group that will not come to this, each member settles alone, with the times
 * that a job without a group has.
 *
 * Members of one core settle in their order: a group is replayed when each of its members
 * is the first of its core that has not settled. So a job starts where the one before it
 * ended, in settled times, too.
 *
 * A lock for all groups of a fabric guards which there are and their members. It is taken
 * after a core's, and before that of a pool. A replay is made without it, of what does not
 * change any more; a member that leaves meanwhile leaves its records behind.
 */
#ifndef TRN_GROUP_H
#define TRN_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/job.h"

struct trn_budget;
struct trn_chip;
struct trn_core;
struct trn_groups;
struct trn_member;
struct trn_state;
struct trn_time_trace;
struct trn_timeline;

/* Groups of a fabric that are not known to be inexact; beyond, the oldest one becomes it. */
#define TRN_GROUPS		256
/* Records that are kept for all groups of a fabric. */
#define TRN_GROUP_RECORDS	(4u << 20)
/* Members of a core that have ended and not settled; beyond, the oldest one's is inexact. */
#define TRN_GROUP_PENDING	64

/**
 * struct trn_group_key - which member of which group a job is
 * @id: of the group, not 0
 * @size, @index: as in struct neuron_hw_time_group
 * @gang: of the job, 0: none; such members start together
 */
struct trn_group_key {
	uint64_t id;
	uint32_t size;
	uint32_t index;
	uint64_t gang;
};

/**
 * struct trn_group_result - a member that has settled
 * @start_ns, @end_ns: of its job
 * @cause: why it is inexact, or FINE
 * @traces, @nr_traces: what the job was to be told; as long as the member is there
 * @lost_traces: for want of memory
 */
struct trn_group_result {
	uint64_t start_ns;
	uint64_t end_ns;
	enum neuron_settle_cause cause;
	const struct trn_time_trace *traces;
	size_t nr_traces;
	size_t lost_traces;
};

/* The groups of the fabric of @chip, or of a chip alone; -1: no memory. */
int trn_groups_init(struct trn_chip *chip);
void trn_groups_destroy(struct trn_chip *chip);

/*
 * The job of @tl, on @core, is a member; before trn_time_begin(). Its records are kept
 * from now on. NULL with *@why: the group has another size or has that member, the core has
 * another one, or no memory.
 */
struct trn_member *trn_group_join(struct trn_core *core, struct trn_timeline *tl,
				  const struct trn_group_key *key, const char **why);
/*
 * Its job has ended, and all that follows it comes behind its completion record. @ok: the
 * program ran to its end. @end_ns: of the completion record.
 */
void trn_group_done(struct trn_member *member, bool ok, uint64_t end_ns);
/*
 * By the controller of @core, whose members wait: replay those groups whose turn it is on
 * this core. False: not within @budget.
 */
bool trn_group_step(struct trn_core *core, struct trn_budget *budget);
/*
 * By the controller of the member's core, after trn_group_done(): the times of @member.
 * False: they are not known, and the controller will be kicked; or, with *@again, not
 * within @budget.
 */
bool trn_group_result(struct trn_member *member, struct trn_budget *budget,
		      struct trn_group_result *result, bool *again);
/* The member goes, with its timeline; if it has not settled, its group is inexact. */
void trn_group_leave(struct trn_member *member);
/* Software ends group @id. Any thread. */
void trn_group_end(struct trn_chip *chip, uint64_t id);

/* Times of the completion record: those of the causal clocks. Updates the core's time. */
void trn_group_provisional(struct trn_timeline *tl, uint64_t *start_ns, uint64_t *end_ns);
/* Are records of the job kept, so that its times are provisional? */
bool trn_group_kept(const struct trn_timeline *tl);

/*
 * A reset by the host. Groups of which no member is there are forgotten when all chips of the
 * fabric have been reset.
 */
void trn_groups_reset(struct trn_chip *chip);
/* The core's time begins again at 0: a reset of the device. It has no members. */
void trn_group_core_reset(struct trn_core *core);

/*
 * Saving and loading. A host resets all chips of a fabric before it loads the first one: the
 * members that were there are gone then. Inexact groups, before the cores.
 */
void trn_groups_state(struct trn_chip *chip, struct trn_state *st);
/* A loaded job, before the state of @tl. NULL: @st has failed. */
struct trn_member *trn_group_load(struct trn_core *core, struct trn_timeline *tl,
				  const struct trn_group_key *key, struct trn_state *st);
/* A member, behind its timeline. @done: its job has ended. */
void trn_group_member_state(struct trn_member *member, bool done, struct trn_state *st);

#endif /* TRN_GROUP_H */
