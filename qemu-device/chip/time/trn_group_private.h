/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Time groups, private part: what their life (trn_group.c) and their replay
 * (trn_group_replay.c) share.
 */
#ifndef TRN_GROUP_PRIVATE_H
#define TRN_GROUP_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fabric/trn_topology.h"
#include "time/trn_group.h"
#include "time/trn_time_private.h"

/**
 * struct trn_member - a job in a group, until it has settled and its core knows
 * @next: of its group
 * @before, @after: of its core, by the order in which they joined; not settled
 * @core: NULL: it has left while its records were replayed
 * @core_id, @tpb_id: trn_replay_core_id() of the core and of the one whose DMA engines it
 *	uses
 * @done: the job has ended, at @end_ns
 * @settled: @result is known
 * @alone: its own replay, when the group is inexact; the controller's
 */
struct trn_member {
	struct trn_member *next;
	struct trn_member *before;
	struct trn_member *after;
	struct trn_group *group;
	struct trn_group_key key;
	struct trn_core *core;
	uint64_t core_id;
	uint64_t tpb_id;
	struct trn_timeline *tl;
	bool done;
	bool settled;
	uint64_t end_ns;
	struct trn_group_result result;
	struct trn_time_trace *traces;
	struct trn_joint *alone;
};

/**
 * struct trn_group - a group of which a member has come
 * @came: bit for each index
 * @nr_came, @nr_done: members that have come, and whose jobs have ended
 * @cause: not FINE: it is inexact
 * @settled: the times of all are known
 * @home: core whose controller replays it; it is one of its members'
 * @joint: the replay; @busy: the controller is in it, without the lock
 * @seen: by who looks for a circle
 * @was_reset: by trn_seat.slot: chips that the host has reset since it began
 */
struct trn_group {
	struct trn_group *next;
	uint64_t id;
	uint32_t size;
	uint32_t nr_came;
	uint32_t nr_done;
	uint8_t *came;
	enum neuron_settle_cause cause;
	bool settled;
	bool busy;
	bool seen;
	struct trn_member *members;
	struct trn_core *home;
	struct trn_joint *joint;
	bool was_reset[TRN_FABRIC_CHIPS];
};

/**
 * struct trn_groups - all groups of a fabric
 * @refs: the fabric's, and one of each chip
 * @lock: all that follows but the counters, all groups and members
 * @first: the oldest group
 * @nr_records: that are kept, counted by chunks; at most @max_records
 */
struct trn_groups {
	_Atomic unsigned int refs;
	pthread_mutex_t lock;
	struct trn_group *first;
	_Atomic size_t nr_records;
	size_t max_records;
};

/* All that follow: with the lock held. */

struct trn_group *trn_group_find(const struct trn_groups *groups, uint64_t id);
/* A new one. NULL: no memory. */
struct trn_group *trn_group_begin(struct trn_groups *groups, uint64_t id, uint32_t size);
void trn_group_forget(struct trn_groups *groups, struct trn_group *group);
bool trn_group_has_come(const struct trn_group *group, uint32_t index);
void trn_group_set_come(struct trn_group *group, uint32_t index);
/* Why a job on @core cannot be the member, or NULL: it can, also of an inexact group. */
const char *trn_group_misfit(const struct trn_group *group, const struct trn_group_key *key,
			     const struct trn_core *core);
/*
 * It is inexact, and so are those that come after it on the core of a member: they begin with
 * what it leaves.
 */
void trn_group_fail(struct trn_group *group, enum neuron_settle_cause cause);
/* If it has become ready, one of the members' cores replays it: @at_hand if it is one of them. */
void trn_group_review(struct trn_group *group, struct trn_core *at_hand);
/* The member becomes the last one of its core; and it has settled, or leaves. */
void trn_group_chain(struct trn_member *member);
void trn_group_unchain(struct trn_member *member);

/* Without the lock: a member that no group has yet; its timeline becomes one of a group. */
struct trn_member *trn_group_new_member(struct trn_core *core, struct trn_timeline *tl,
					const struct trn_group_key *key);
void trn_group_keep(struct trn_member *member);

/*
 * A replay of the records of @nr members, which have all ended; sorts @members. @alone:
 * one of an inexact group. With the lock held. NULL: no memory.
 */
struct trn_joint *trn_joint_new(struct trn_member **members, unsigned int nr, bool alone);
/* Go on. False: not within @budget. Without the lock. */
bool trn_joint_run(struct trn_joint *joint, struct trn_budget *budget);
/*
 * It has come to its end: give each member its result, and its core the semaphores. With
 * the lock held. False: a time has no cause in the group; nothing has been given.
 */
bool trn_joint_give(struct trn_joint *joint);
void trn_joint_free(struct trn_joint *joint);

#endif /* TRN_GROUP_PRIVATE_H */
