// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Time groups: the joint replay.
 *
 * It is a timeline with the actors of all members, which reads their records and changes
 * nothing of theirs: whatever becomes of it, it can be made again. Members come in the
 * order of their cores' ids, whoever came first, and so do ties.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "mem/trn_access.h"
#include "time/trn_group_private.h"

/* Ranks of the actors of a core, and events between two looks at the clock. */
#define RANKS	(2 * TRN_RANK_ENGINE)
#define BATCH	1024

/**
 * struct trn_joint - the replay
 * @tl: its timeline
 * @member: by part
 * @sems: of each part
 * @tpb: trn_replay_core_id() of the cores with the DMA engines, @nr_tpbs
 */
struct trn_joint {
	struct trn_timeline tl;
	bool alone;
	unsigned int nr;
	struct trn_member **member;
	struct trn_sem_times *sems;
	uint64_t *tpb;
	unsigned int nr_tpbs;
};

static int by_core(const void *a, const void *b)
{
	const struct trn_member *x = *(struct trn_member *const *)a;
	const struct trn_member *y = *(struct trn_member *const *)b;

	return (x->core_id > y->core_id) - (x->core_id < y->core_id);
}

/* --- starts --- */

static uint64_t own_start(const struct trn_member *member)
{
	uint64_t settled = member->tl->ct->settled_ps;

	return settled > member->tl->start_ps ? settled : member->tl->start_ps;
}

static bool same_gang(const struct trn_member *a, const struct trn_member *b)
{
	return a->key.gang && a->key.gang == b->key.gang && a->core_id >> 32 == b->core_id >> 32;
}

/* The members of a gang, side by side because they are on one chip, start together. */
static uint64_t start_of(const struct trn_joint *joint, unsigned int index)
{
	uint64_t start = 0, own;
	unsigned int i;

	if (joint->alone)
		return joint->member[index]->tl->start_ps;
	for (i = 0; i < joint->nr; i++) {
		if (i != index && !same_gang(joint->member[i], joint->member[index]))
			continue;
		own = own_start(joint->member[i]);
		start = start < own ? own : start;
	}
	return start;
}

/* --- parts --- */

static unsigned int tpb_index(struct trn_joint *joint, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < joint->nr_tpbs; i++)
		if (joint->tpb[i] == id)
			return i;
	joint->tpb[joint->nr_tpbs] = id;
	return joint->nr_tpbs++;
}

static void add_actor(struct trn_joint *joint, unsigned int index, unsigned int n,
		      unsigned int tpb)
{
	struct trn_replay_part *part = &joint->tl.joint[index];
	const struct trn_actor *from = &joint->member[index]->tl->actor[n];
	struct trn_actor *actor = &part->first[n];

	actor->part = part;
	actor->pending_ps = from->pending_ps;
	atomic_init(&actor->first, atomic_load(&from->first));
	actor->head = from->head;
	actor->shared = true;
	actor->queue = from->queue;
	actor->rank = index * RANKS + from->rank;
	actor->priority = from->priority;
	actor->engine = (uint16_t)(tpb * TRN_DMA_ENGINES + from->engine);
	actor->replay.time_ps = part->start_ps;
	actor->replay.free_ps = part->start_ps;
	actor->replay.last = &actor->replay.first;
	actor->causal.last = &actor->causal.first;
}

/* False: no memory. */
static bool add_path(struct trn_timeline *tl, const struct trn_timeline *from,
		     const struct trn_path *path)
{
	struct trn_path *added = trn_path_add(tl, path->key, path->nr);
	unsigned int i;
	int resource;

	for (i = 0; added && i < path->nr; i++) {
		resource = trn_path_resource(tl, from->resources[path->use[i].resource].key);
		if (resource < 0)
			return false;
		added->use[i].resource = (uint16_t)resource;
		added->use[i].bytes_per_us = path->use[i].bytes_per_us;
	}
	return added;
}

/* What no member knows is as the last one of the core left it. */
static void set_sems(struct trn_sem_times *sems, const struct trn_member *member)
{
	const struct trn_sem_seed *seed = member->tl->seed;
	unsigned int i;

	if (member->tl->ct->settled)
		*sems = *member->tl->ct->settled;
	for (i = 0; i < TRN_TIME_SEMS; i++) {
		if (!seed->known[i])
			continue;
		sems->value[i] = seed->value[i];
		sems->changed_ps[i] = 0;
	}
}

static bool add_mail(struct trn_joint *joint, unsigned int index)
{
	const struct trn_mail *mail = joint->member[index]->tl->box.first;
	struct trn_mail copy;

	for (; mail; mail = mail->next) {
		if (mail->group && !joint->alone)
			continue;
		copy = *mail;
		copy.part = &joint->tl.joint[index];
		if (!trn_mailbox_append(&joint->tl.box, &copy))
			return false;
	}
	return true;
}

/* False: no memory. */
static bool add_part(struct trn_joint *joint, unsigned int index)
{
	const struct trn_timeline *from = joint->member[index]->tl;
	unsigned int tpb = tpb_index(joint, joint->member[index]->tpb_id), i;
	struct trn_replay_part *part = &joint->tl.joint[index];

	part->id = joint->member[index]->core_id;
	part->start_ps = start_of(joint, index);
	part->sems = &joint->sems[index];
	set_sems(part->sems, joint->member[index]);
	part->first = &joint->tl.actor[joint->tl.nr_actors];
	part->nr_actors = from->nr_actors;
	part->first_path = joint->tl.nr_paths;
	joint->tl.nr_actors += from->nr_actors;
	for (i = 0; i < from->nr_actors; i++)
		add_actor(joint, index, i, tpb);
	for (i = 0; i < from->nr_paths; i++)
		if (!add_path(&joint->tl, from, &from->paths[i]))
			return false;
	if (atomic_load(&from->tracing))
		atomic_store(&joint->tl.tracing, true);
	return add_mail(joint, index);
}

static unsigned int count_actors(const struct trn_joint *joint)
{
	unsigned int i, nr = 0;

	for (i = 0; i < joint->nr; i++)
		nr += joint->member[i]->tl->nr_actors;
	return nr;
}

static bool alloc_parts(struct trn_joint *joint)
{
	unsigned int nr_actors = count_actors(joint), i;
	struct trn_timeline *tl = &joint->tl;

	joint->sems = calloc(joint->nr, sizeof(*joint->sems));
	joint->tpb = calloc(joint->nr, sizeof(*joint->tpb));
	tl->nr_engines = joint->nr * TRN_DMA_ENGINES;
	tl->joint = calloc(joint->nr, sizeof(*tl->joint));
	tl->actor = calloc(nr_actors, sizeof(*tl->actor));
	tl->engines = calloc(tl->nr_engines, sizeof(*tl->engines));
	tl->heap = calloc(nr_actors + tl->nr_engines, sizeof(*tl->heap));
	for (i = 0; tl->engines && i < tl->nr_engines; i++)
		tl->engines[i].first = TRN_NO_ACTOR;
	return joint->sems && joint->tpb && tl->joint && tl->actor && tl->engines && tl->heap;
}

struct trn_joint *trn_joint_new(struct trn_member **members, unsigned int nr, bool alone)
{
	struct trn_joint *joint = calloc(1, sizeof(*joint));
	unsigned int i;

	if (!joint)
		return NULL;
	joint->alone = alone;
	atomic_init(&joint->tl.inexact, alone);
	joint->nr = nr;
	joint->member = calloc(nr, sizeof(struct trn_member *));
	if (!joint->member)
		goto free_joint;
	memcpy(joint->member, members, nr * sizeof(struct trn_member *));
	qsort(joint->member, nr, sizeof(struct trn_member *), by_core);
	if (!alloc_parts(joint))
		goto free_joint;
	joint->tl.nr_parts = nr;
	joint->tl.engine_rank = nr * RANKS;
	joint->tl.mail = &joint->tl.box;
	for (i = 0; i < nr; i++)
		if (!add_part(joint, i))
			goto free_joint;
	trn_mailbox_sort(&joint->tl.box);
	return joint;

free_joint:
	trn_joint_free(joint);
	return NULL;
}

bool trn_joint_run(struct trn_joint *joint, struct trn_budget *budget)
{
	while (trn_replay_joint(&joint->tl, BATCH))
		if (trn_budget_spent(budget))
			return false;
	return true;
}

/* --- results --- */

static uint64_t end_of(const struct trn_joint *joint, unsigned int index)
{
	const struct trn_replay_part *part = &joint->tl.joint[index];
	uint64_t end = part->start_ps, time;
	unsigned int i;

	for (i = 0; i < part->nr_actors; i++) {
		time = part->first[i].replay.time_ps + part->first[i].pending_ps;
		end = end < time ? time : end;
	}
	return end;
}

static void give(struct trn_joint *joint, unsigned int index)
{
	struct trn_replay_part *part = &joint->tl.joint[index];
	struct trn_member *member = joint->member[index];
	uint64_t end_ps = end_of(joint, index);

	/* A fault that was met at its time ends the job there. */
	if (member->tl->end_ps && member->tl->end_ps > part->start_ps)
		end_ps = member->tl->end_ps;
	free(member->traces);
	member->traces = part->traces;
	member->result = (struct trn_group_result){
		.start_ns = part->start_ps / 1000,
		.end_ns = (end_ps + 999) / 1000,
		.traces = part->traces,
		.nr_traces = part->nr_traces,
		.lost_traces = part->lost_traces,
	};
	part->traces = NULL;
	member->settled = true;
	if (joint->alone)
		return;
	*member->tl->ct->settled = *part->sems;
	member->tl->ct->settled_ps = end_ps;
}

bool trn_joint_give(struct trn_joint *joint)
{
	unsigned int i;

	if (!joint->alone && (atomic_load(&joint->tl.inexact) || atomic_load(&joint->tl.lost)))
		return false;
	for (i = 0; i < joint->nr; i++)
		give(joint, i);
	return true;
}

void trn_joint_free(struct trn_joint *joint)
{
	unsigned int i;

	if (!joint)
		return;
	for (i = 0; joint->tl.joint && i < joint->nr; i++)
		free(joint->tl.joint[i].traces);
	trn_replay_drop_mail(&joint->tl.box, -1);
	trn_replay_free(&joint->tl);
	free(joint->tl.joint);
	free(joint->tl.actor);
	free(joint->member);
	free(joint->sems);
	free(joint->tpb);
	free(joint);
}
