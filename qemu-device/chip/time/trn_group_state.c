// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saving and loading: time groups. A replay that has begun is not saved: it changes nothing
 * of the members, and begins anew. All chips of the fabric are stopped.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "time/trn_group_private.h"

#define MAX_MAIL	(1u << 16)
#define MAX_TRACES	TRN_GROUP_RECORDS

static void i32_state(struct trn_state *st, int32_t *value)
{
	uint32_t bits = (uint32_t)*value;

	trn_state_u32(st, &bits);
	*value = (int32_t)bits;
}

static void cause_state(struct trn_state *st, enum neuron_settle_cause *cause)
{
	uint32_t value = *cause;

	trn_state_u32(st, &value);
	if (value >= NEURON_NR_SETTLE_CAUSES)
		trn_state_fail(st, "a time group is inexact for an unknown cause");
	else
		*cause = (enum neuron_settle_cause)value;
}

/* --- groups --- */

static void came_state(struct trn_group *group, struct trn_state *st)
{
	uint32_t nr = trn_state_count(st, group->nr_came, group->size), i, index = 0;

	for (i = 0; i < nr && !trn_state_failed(st); i++, index++) {
		while (!st->loading && !trn_group_has_come(group, index))
			index++;
		trn_state_u32(st, &index);
		if (index >= group->size)
			trn_state_fail(st, "a time group has no such member");
		else
			trn_group_set_come(group, index);
	}
}

static void save_inexact(struct trn_group *group, struct trn_state *st)
{
	trn_state_u64(st, &group->id);
	trn_state_u32(st, &group->size);
	cause_state(st, &group->cause);
	came_state(group, st);
}

/* The streams of the chips of a fabric say the same of it. */
static void load_inexact(struct trn_groups *groups, struct trn_state *st)
{
	enum neuron_settle_cause cause = NEURON_SETTLE_FINE;
	struct trn_group *group;
	uint32_t size = 0;
	uint64_t id = 0;

	trn_state_u64(st, &id);
	trn_state_u32(st, &size);
	cause_state(st, &cause);
	if (!id || !size || size > NEURON_JOB_MAX_GROUP || !cause)
		trn_state_fail(st, "an inexact time group is not valid");
	if (trn_state_failed(st))
		return;
	group = trn_group_find(groups, id);
	if (!group)
		group = trn_group_begin(groups, id, size);
	if (!group || group->size != size) {
		trn_state_fail(st, "a time group has two sizes, or out of memory");
		return;
	}
	trn_group_fail(group, cause);
	came_state(group, st);
}

void trn_groups_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_groups *groups = chip->groups;
	struct trn_group *group;
	uint32_t nr = 0;

	trn_state_block(st, TRN_STATE_NAME('T', 'G', 'R', 'P'), 1);
	trn_state_atomic_u32(st, &chip->group_end_lo);
	pthread_mutex_lock(&groups->lock);
	for (group = groups->first; group; group = group->next)
		nr += !!group->cause;
	nr = trn_state_count(st, nr, 1u << 16);
	while (st->loading && nr-- && !trn_state_failed(st))
		load_inexact(groups, st);
	for (group = groups->first; !st->loading && group; group = group->next)
		if (group->cause)
			save_inexact(group, st);
	pthread_mutex_unlock(&groups->lock);
}

/* --- cores --- */

static void settled_state(struct trn_sem_times *settled, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++) {
		i32_state(st, &settled->value[i]);
		trn_state_u64(st, &settled->changed_ps[i]);
	}
}

/* Of a core that has had no job in a group nothing is saved. */
void trn_group_core_state(struct trn_core *core, struct trn_state *st)
{
	struct trn_core_time *ct = core->time_private;
	bool used = ct && ct->settled;

	trn_state_bool(st, &used);
	if (!used || trn_state_failed(st))
		return;
	ct = trn_core_time(core);
	if (ct && !ct->settled)
		ct->settled = calloc(1, sizeof(*ct->settled));
	if (!ct || !ct->settled) {
		trn_state_fail(st, "out of memory");
		return;
	}
	trn_state_bool(st, &ct->grouped);
	trn_state_atomic_bool(st, &ct->stale);
	trn_state_atomic_bool(st, &ct->mixed);
	trn_state_u64(st, &ct->settled_ps);
	settled_state(ct->settled, st);
}

/* --- jobs --- */

static void seed_state(struct trn_sem_seed *seed, struct trn_state *st)
{
	unsigned int i;

	for (i = 0; i < TRN_TIME_SEMS; i++) {
		trn_state_bool(st, &seed->known[i]);
		if (seed->known[i])
			i32_state(st, &seed->value[i]);
	}
}

static void box_state(struct trn_mailbox *box, struct trn_state *st)
{
	const struct trn_mail *mail = box->first;
	uint32_t nr = trn_state_count(st, box->nr, MAX_MAIL);
	struct trn_mail copy = { 0 };

	for (; nr && !trn_state_failed(st); nr--) {
		if (!st->loading) {
			copy = *mail;
			mail = mail->next;
		}
		trn_mail_state(&copy, st);
		if (st->loading && !trn_state_failed(st) && !trn_mailbox_append(box, &copy))
			trn_state_fail(st, "out of memory");
	}
}

void trn_group_timeline_state(struct trn_timeline *tl, struct trn_state *st)
{
	if (!tl->group)
		return;
	trn_state_u64(st, &tl->end_ps);
	trn_state_bool(st, &tl->fresh);
	trn_state_atomic_bool(st, &tl->kept);
	trn_state_atomic_bool(st, &tl->overflow);
	seed_state(tl->seed, st);
	box_state(&tl->box, st);
	if (!atomic_load(&tl->kept))
		trn_mailbox_sort(&tl->box);
}

struct trn_member *trn_group_load(struct trn_core *core, struct trn_timeline *tl,
				  const struct trn_group_key *key, struct trn_state *st)
{
	struct trn_groups *groups = core->chip->groups;
	struct trn_member *member = trn_group_new_member(core, tl, key);
	const char *why = "out of memory";
	struct trn_group *group;

	if (!member) {
		trn_state_fail(st, why);
		return NULL;
	}
	pthread_mutex_lock(&groups->lock);
	group = trn_group_find(groups, key->id);
	if (!group)
		group = trn_group_begin(groups, key->id, key->size);
	/* Of an inexact group it may be known already that it has come. */
	if (group && (group->cause ? group->size == key->size :
				     !trn_group_misfit(group, key, core))) {
		trn_group_set_come(group, key->index);
		member->group = group;
		member->next = group->members;
		group->members = member;
		trn_group_chain(member);
		why = NULL;
	}
	pthread_mutex_unlock(&groups->lock);
	if (why) {
		free(member);
		trn_state_fail(st, "a member contradicts its time group, or out of memory");
		return NULL;
	}
	trn_group_keep(member);
	return member;
}

static void trace_state(const struct trn_member *member, struct trn_time_trace *trace,
			struct trn_state *st)
{
	uint32_t actor = trace->actor;

	trn_state_u32(st, &actor);
	trn_state_u32(st, &trace->code);
	trn_state_u32(st, &trace->pc);
	trn_state_u32(st, &trace->bytes);
	trn_state_u64(st, &trace->begin_ns);
	trn_state_u64(st, &trace->end_ns);
	trn_state_bool(st, &trace->exact);
	if (actor >= member->tl->nr_actors)
		trn_state_fail(st, "a trace is of nobody");
	trace->actor = actor;
}

static void result_state(struct trn_member *member, struct trn_state *st)
{
	struct trn_group_result *result = &member->result;
	struct trn_time_trace *grown;
	uint64_t lost = result->lost_traces;
	uint32_t nr, i;

	trn_state_u64(st, &result->start_ns);
	trn_state_u64(st, &result->end_ns);
	cause_state(st, &result->cause);
	trn_state_u64(st, &lost);
	result->lost_traces = lost < MAX_TRACES ? lost : MAX_TRACES;
	nr = trn_state_count(st, (uint32_t)result->nr_traces, MAX_TRACES);
	for (i = 0; i < nr && !trn_state_failed(st); i++) {
		/* No more memory than the stream has bytes for. */
		if (st->loading && !(i & (i - 1))) {
			grown = realloc(member->traces, (i ? 2 * (size_t)i : 1) * sizeof(*grown));
			if (!grown) {
				trn_state_fail(st, "out of memory");
				return;
			}
			member->traces = grown;
		}
		trace_state(member, &member->traces[i], st);
		result->nr_traces = st->loading ? i + 1 : result->nr_traces;
	}
	result->traces = member->traces;
}

/* The core has no part in it any more. */
static void load_done(struct trn_member *member)
{
	struct trn_core_time *ct = member->tl->ct;

	pthread_mutex_lock(&ct->lock);
	if (ct->tl == member->tl)
		ct->tl = NULL;
	pthread_mutex_unlock(&ct->lock);
	member->done = true;
	member->group->nr_done++;
}

void trn_group_member_state(struct trn_member *member, bool done, struct trn_state *st)
{
	struct trn_groups *groups = member->tl->groups;
	enum neuron_settle_cause cause;

	pthread_mutex_lock(&groups->lock);
	cause = member->group->cause;
	cause_state(st, &cause);
	trn_state_u64(st, &member->end_ns);
	trn_state_bool(st, &member->settled);
	if (!done && member->settled)
		trn_state_fail(st, "a job that runs has settled");
	if (member->settled)
		result_state(member, st);
	if (st->loading) {
		if (cause)
			trn_group_fail(member->group, cause);
		if (done)
			load_done(member);
		if (member->settled) {
			member->group->settled |= !cause;
			trn_group_unchain(member);
		}
		/* Who was to replay it is not saved. */
		trn_group_review(member->group, member->core);
	}
	pthread_mutex_unlock(&groups->lock);
}
