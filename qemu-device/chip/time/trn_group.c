// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Time groups: which there are, who is a member, and when they settle.
 */
#include "time/trn_group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "fabric/trn_fabric.h"
#include "time/trn_group_private.h"

/* --- the groups of a fabric --- */

static void *groups_new(void)
{
	struct trn_groups *groups = calloc(1, sizeof(*groups));

	if (!groups)
		return NULL;
	atomic_init(&groups->refs, 1);
	groups->max_records = TRN_GROUP_RECORDS;
	pthread_mutex_init(&groups->lock, NULL);
	return groups;
}

void trn_group_forget(struct trn_groups *groups, struct trn_group *group)
{
	struct trn_group **at = &groups->first;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	trn_joint_free(group->joint);
	free(group->came);
	free(group);
}

static void groups_put(void *arg)
{
	struct trn_groups *groups = arg;

	if (atomic_fetch_sub(&groups->refs, 1) != 1)
		return;
	while (groups->first)
		trn_group_forget(groups, groups->first);
	pthread_mutex_destroy(&groups->lock);
	free(groups);
}

int trn_groups_init(struct trn_chip *chip)
{
	if (!chip->fabric) {
		chip->groups = groups_new();
		return chip->groups ? 0 : -1;
	}
	chip->groups = trn_fabric_kept(chip->fabric, groups_new, groups_put);
	if (!chip->groups)
		return -1;
	atomic_fetch_add(&chip->groups->refs, 1);
	return 0;
}

void trn_groups_destroy(struct trn_chip *chip)
{
	groups_put(chip->groups);
}

/* --- groups; all with the lock held --- */

struct trn_group *trn_group_find(const struct trn_groups *groups, uint64_t id)
{
	struct trn_group *group = groups->first;

	while (group && group->id != id)
		group = group->next;
	return group;
}

bool trn_group_has_come(const struct trn_group *group, uint32_t index)
{
	return group->came[index / 8] >> (index % 8) & 1;
}

void trn_group_set_come(struct trn_group *group, uint32_t index)
{
	if (trn_group_has_come(group, index))
		return;
	group->came[index / 8] |= (uint8_t)(1 << (index % 8));
	group->nr_came++;
}

/* What has changed concerns the controllers of all members. */
static void kick(const struct trn_group *group)
{
	const struct trn_member *member;

	for (member = group->members; member; member = member->next)
		if (member->core)
			trn_task_kick(&member->core->controller);
}

/*
 * It is inexact, and so are those that come after it on the core of a member: they begin with
 * what it leaves.
 */
void trn_group_fail(struct trn_group *group, enum neuron_settle_cause cause)
{
	struct trn_member *member, *later;

	if (group->cause || group->settled)
		return;
	group->cause = cause;
	group->home = NULL;
	if (!group->busy) {
		trn_joint_free(group->joint);
		group->joint = NULL;
	}
	for (member = group->members; member; member = member->next) {
		if (member->core)
			atomic_store(&member->tl->ct->stale, true);
		for (later = member->after; later; later = later->after)
			trn_group_fail(later->group, NEURON_SETTLE_ORDER);
	}
	kick(group);
}

/* The members have all ended, and each of them is the first of its core. */
static bool ready(const struct trn_group *group)
{
	const struct trn_member *member;

	if (group->cause || group->settled || group->home || group->nr_done != group->size)
		return false;
	for (member = group->members; member; member = member->next)
		if (member->before)
			return false;
	return true;
}

/* A member that is at hand replays it, or else the one of the lowest index. */
void trn_group_review(struct trn_group *group, struct trn_core *at_hand)
{
	const struct trn_member *member, *home = NULL;

	if (!ready(group))
		return;
	for (member = group->members; member; member = member->next) {
		if (member->core == at_hand) {
			home = member;
			break;
		}
		if (!home || member->key.index < home->key.index)
			home = member;
	}
	group->home = home->core;
	trn_task_kick(&group->home->controller);
}

/* The member has settled, or leaves: whoever comes after it may be the first now. */
void trn_group_unchain(struct trn_member *member)
{
	struct trn_member *after = member->after;

	if (!after && member->core && member->tl->ct->newest == member)
		member->tl->ct->newest = member->before;
	if (member->before)
		member->before->after = after;
	if (after)
		after->before = member->before;
	member->before = NULL;
	member->after = NULL;
	if (after)
		trn_group_review(after->group, NULL);
}

static void free_member(struct trn_member *member)
{
	trn_joint_free(member->alone);
	trn_timeline_free(member->tl);
	free(member->traces);
	free(member);
}

static void remove_member(struct trn_member *member)
{
	struct trn_member **at = &member->group->members;

	while (*at != member)
		at = &(*at)->next;
	*at = member->next;
	free_member(member);
}

/* One of that nobody is there is of use as long as others may come and must hear of it. */
static void forget_if_over(struct trn_groups *groups, struct trn_group *group)
{
	if (!group->members && !group->busy && (group->nr_came == group->size || group->settled))
		trn_group_forget(groups, group);
}

/* Room for another one. */
static void make_room(struct trn_groups *groups)
{
	struct trn_group *group, *next, *oldest = NULL;
	unsigned int exact = 0, absent = 0;

	for (group = groups->first; group; group = group->next) {
		exact += !group->cause && !group->settled;
		absent += !group->members;
		if (!oldest && !group->cause && !group->settled)
			oldest = group;
	}
	for (group = groups->first; group && absent >= TRN_GROUPS; group = next) {
		next = group->next;
		if (group->members || group->busy)
			continue;
		trn_group_forget(groups, group);
		absent--;
	}
	if (exact >= TRN_GROUPS)
		trn_group_fail(oldest, NEURON_SETTLE_OVERFLOW);
}

struct trn_group *trn_group_begin(struct trn_groups *groups, uint64_t id, uint32_t size)
{
	struct trn_group *group, **at;

	make_room(groups);
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	group->id = id;
	group->size = size;
	group->came = calloc((size + 7) / 8, 1);
	if (!group->came) {
		free(group);
		return NULL;
	}
	for (at = &groups->first; *at; at = &(*at)->next)
		;
	*at = group;
	return group;
}

/* --- joining --- */

/* Does @group settle after @other? */
static bool comes_after(struct trn_group *group, const struct trn_group *other)
{
	const struct trn_member *member;

	if (group == other)
		return true;
	if (group->seen)
		return false;
	group->seen = true;
	for (member = group->members; member; member = member->next)
		if (member->before && comes_after(member->before->group, other))
			return true;
	return false;
}

/*
 * Two groups that share two cores and come to them in another order would wait for each
 * other.
 */
static bool in_a_circle(struct trn_groups *groups, const struct trn_member *member)
{
	struct trn_group *group;

	if (!member->before)
		return false;
	for (group = groups->first; group; group = group->next)
		group->seen = false;
	return comes_after(member->before->group, member->group);
}

const char *trn_group_misfit(const struct trn_group *group, const struct trn_group_key *key,
			     const struct trn_core *core)
{
	const struct trn_member *member;

	if (group->size != key->size)
		return "its time group has another size";
	if (trn_group_has_come(group, key->index))
		return "its time group has another member of this index";
	for (member = group->members; member; member = member->next)
		if (member->core == core && !member->settled)
			return "its time group has another member on this core";
	return NULL;
}

/* The oldest of too many that wait on this core keeps them all no longer. */
static void limit_pending(const struct trn_member *newest)
{
	const struct trn_member *member = newest;
	unsigned int nr = 0;

	for (; member->before; member = member->before)
		nr++;
	if (nr > TRN_GROUP_PENDING)
		trn_group_fail(member->group, NEURON_SETTLE_OVERFLOW);
}

void trn_group_chain(struct trn_member *member)
{
	struct trn_core_time *ct = member->tl->ct;

	member->before = ct->newest;
	if (member->before)
		member->before->after = member;
	ct->newest = member;
}

static void link_member(struct trn_groups *groups, struct trn_group *group,
			struct trn_member *member)
{
	struct trn_core_time *ct = member->tl->ct;
	bool mixed = atomic_exchange(&ct->mixed, false);

	trn_group_set_come(group, member->key.index);
	member->group = group;
	member->next = group->members;
	group->members = member;
	member->tl->fresh = atomic_exchange(&ct->stale, false);
	trn_group_chain(member);
	limit_pending(member);
	if (mixed || in_a_circle(groups, member))
		trn_group_fail(group, NEURON_SETTLE_ORDER);
	if (group->cause)
		atomic_store(&ct->stale, true);
}

struct trn_member *trn_group_new_member(struct trn_core *core, struct trn_timeline *tl,
					const struct trn_group_key *key)
{
	struct trn_member *member = calloc(1, sizeof(*member));

	if (!member)
		return NULL;
	member->key = *key;
	member->core = core;
	member->core_id = trn_replay_core_id(core);
	member->tpb_id = trn_replay_core_id(core->tpb);
	member->tl = tl;
	tl->seed = calloc(1, sizeof(*tl->seed));
	if (!tl->ct->settled)
		tl->ct->settled = calloc(1, sizeof(*tl->ct->settled));
	if (tl->seed && tl->ct->settled)
		return member;
	free(member);
	return NULL;
}

/* The timeline is one of a group from here on. */
void trn_group_keep(struct trn_member *member)
{
	struct trn_timeline *tl = member->tl;

	pthread_mutex_lock(&tl->ct->lock);
	tl->group = member->key.id;
	tl->mail = &tl->box;
	pthread_mutex_unlock(&tl->ct->lock);
	atomic_store(&tl->next_drain, SIZE_MAX);
	atomic_store(&tl->kept, true);
}

struct trn_member *trn_group_join(struct trn_core *core, struct trn_timeline *tl,
				  const struct trn_group_key *key, const char **why)
{
	struct trn_groups *groups = core->chip->groups;
	struct trn_member *member = trn_group_new_member(core, tl, key);
	struct trn_group *group;

	*why = "the host is out of memory";
	if (!member)
		return NULL;
	pthread_mutex_lock(&groups->lock);
	group = trn_group_find(groups, key->id);
	if (!group)
		group = trn_group_begin(groups, key->id, key->size);
	if (group)
		*why = trn_group_misfit(group, key, core);
	if (!*why)
		link_member(groups, group, member);
	pthread_mutex_unlock(&groups->lock);
	if (*why) {
		free(member);
		return NULL;
	}
	trn_group_keep(member);
	return member;
}

/* --- recording --- */

void trn_group_fetch_mail(struct trn_timeline *tl)
{
	struct trn_mail **at = &tl->ct->box.first, *mail;

	tl->ct->box.last = NULL;
	while ((mail = *at)) {
		if (mail->group && mail->group != tl->group) {
			tl->ct->box.last = mail;
			at = &mail->next;
			continue;
		}
		*at = mail->next;
		tl->ct->box.nr--;
		trn_mailbox_append(&tl->box, mail);
		free(mail);
	}
}

bool trn_group_charge(struct trn_timeline *tl, size_t more)
{
	struct trn_groups *groups = tl->groups;

	atomic_fetch_add(&tl->charged, more);
	return atomic_fetch_add(&groups->nr_records, more) + more <= groups->max_records;
}

void trn_group_uncharge(struct trn_timeline *tl)
{
	size_t charged = atomic_exchange(&tl->charged, 0);

	if (charged)
		atomic_fetch_sub(&tl->groups->nr_records, charged);
}

/* Several actors of the job may come here. */
void trn_group_give_up(struct trn_timeline *tl)
{
	pthread_mutex_lock(&tl->ct->lock);
	if (atomic_load(&tl->kept)) {
		trn_mailbox_sort(&tl->box);
		atomic_store(&tl->inexact, true);
		atomic_store(&tl->kept, false);
		atomic_store(&tl->next_drain, 0);
	}
	pthread_mutex_unlock(&tl->ct->lock);
}

bool trn_group_kept(const struct trn_timeline *tl)
{
	return tl && atomic_load(&tl->kept);
}

void trn_group_provisional(struct trn_timeline *tl, uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t end = tl->start_ps;
	unsigned int i;

	for (i = 0; i < tl->nr_actors; i++)
		if (end < tl->actor[i].causal.time_ps)
			end = tl->actor[i].causal.time_ps;
	if (tl->end_ps)
		end = tl->end_ps > tl->start_ps ? tl->end_ps : tl->start_ps;
	*start_ns = tl->start_ps / 1000;
	*end_ns = (end + 999) / 1000;
	atomic_store(&tl->core->virtual_ns, *end_ns);
}

/* --- settling --- */

void trn_group_done(struct trn_member *member, bool ok, uint64_t end_ns)
{
	struct trn_groups *groups = member->tl->groups;
	struct trn_timeline *tl = member->tl;
	enum neuron_settle_cause cause = NEURON_SETTLE_FINE;

	pthread_mutex_lock(&tl->ct->lock);
	tl->ct->tl = NULL;
	pthread_mutex_unlock(&tl->ct->lock);
	if (!atomic_load(&tl->kept) || atomic_load(&tl->lost) || atomic_load(&tl->overflow))
		cause = NEURON_SETTLE_OVERFLOW;
	else if (!ok)
		cause = NEURON_SETTLE_MEMBER;
	else if (atomic_load(&tl->inexact))
		cause = NEURON_SETTLE_ORDER;
	pthread_mutex_lock(&groups->lock);
	member->done = true;
	member->end_ns = end_ns;
	member->group->nr_done++;
	if (cause)
		trn_group_fail(member->group, cause);
	trn_group_review(member->group, member->core);
	trn_task_kick(&member->core->controller);
	pthread_mutex_unlock(&groups->lock);
}

/* With the lock held: the controller of @core is to go on with this one. */
static struct trn_group *next_of(struct trn_groups *groups, const struct trn_core *core)
{
	struct trn_group *group = groups->first;

	while (group && group->home != core)
		group = group->next;
	return group;
}

static void start_joint(struct trn_group *group)
{
	struct trn_member **members = calloc(group->size, sizeof(struct trn_member *));
	struct trn_member *member;
	unsigned int nr = 0;

	for (member = group->members; members && member; member = member->next)
		members[nr++] = member;
	if (members)
		group->joint = trn_joint_new(members, nr, false);
	free(members);
}

static void settle(struct trn_group *group)
{
	struct trn_member *member;

	if (!trn_joint_give(group->joint)) {
		trn_group_fail(group, NEURON_SETTLE_ORDER);
		return;
	}
	group->settled = true;
	group->home = NULL;
	trn_joint_free(group->joint);
	group->joint = NULL;
	for (member = group->members; member; member = member->next)
		trn_group_unchain(member);
	kick(group);
}

/* The controller of its home has looked at it; what went on meanwhile is seen to. */
static void leave_joint(struct trn_groups *groups, struct trn_group *group, bool over)
{
	struct trn_member *member, *next;

	group->busy = false;
	if (over && !group->cause)
		settle(group);
	if (group->cause) {
		trn_joint_free(group->joint);
		group->joint = NULL;
	}
	for (member = group->members; member; member = next) {
		next = member->next;
		if (!member->core)
			remove_member(member);
	}
	forget_if_over(groups, group);
}

bool trn_group_step(struct trn_core *core, struct trn_budget *budget)
{
	struct trn_groups *groups = core->chip->groups;
	struct trn_group *group;
	bool over = true;

	pthread_mutex_lock(&groups->lock);
	while (over && (group = next_of(groups, core))) {
		if (!group->joint)
			start_joint(group);
		if (!group->joint) {
			trn_group_fail(group, NEURON_SETTLE_OVERFLOW);
			continue;
		}
		group->busy = true;
		pthread_mutex_unlock(&groups->lock);
		over = trn_joint_run(group->joint, budget);
		pthread_mutex_lock(&groups->lock);
		leave_joint(groups, group, over);
	}
	pthread_mutex_unlock(&groups->lock);
	return over;
}

/* Records that are gone, or no memory: what the completion record says. */
static void take_provisional(struct trn_member *member)
{
	const struct trn_timeline *tl = member->tl;

	member->result.start_ns = tl->start_ps / 1000;
	member->result.end_ns = member->end_ns;
	member->settled = true;
}

/* The group is inexact. False: not within @budget. */
static bool settle_alone(struct trn_member *member, struct trn_budget *budget)
{
	struct trn_groups *groups = member->tl->groups;
	bool usable = atomic_load(&member->tl->kept) && !atomic_load(&member->tl->lost);

	pthread_mutex_lock(&groups->lock);
	if (!member->alone && usable)
		member->alone = trn_joint_new(&member, 1, true);
	pthread_mutex_unlock(&groups->lock);
	if (member->alone && !trn_joint_run(member->alone, budget))
		return false;
	pthread_mutex_lock(&groups->lock);
	if (member->alone)
		trn_joint_give(member->alone);
	else
		take_provisional(member);
	member->result.cause = member->group->cause;
	trn_group_unchain(member);
	pthread_mutex_unlock(&groups->lock);
	return true;
}

bool trn_group_result(struct trn_member *member, struct trn_budget *budget,
		      struct trn_group_result *result, bool *again)
{
	struct trn_groups *groups = member->tl->groups;
	bool settled, inexact;

	*again = false;
	pthread_mutex_lock(&groups->lock);
	settled = member->settled;
	inexact = member->group->cause;
	pthread_mutex_unlock(&groups->lock);
	if (!settled && !inexact)
		return false;
	if (!settled && !settle_alone(member, budget)) {
		*again = true;
		return false;
	}
	*result = member->result;
	return true;
}

void trn_group_leave(struct trn_member *member)
{
	struct trn_groups *groups = member->tl->groups;
	struct trn_group *group = member->group;

	pthread_mutex_lock(&groups->lock);
	if (!member->settled)
		trn_group_fail(group, NEURON_SETTLE_MEMBER);
	trn_group_unchain(member);
	trn_timeline_detach(member->tl);
	member->core = NULL;
	if (!group->busy) {
		remove_member(member);
		forget_if_over(groups, group);
	}
	pthread_mutex_unlock(&groups->lock);
}

void trn_group_core_reset(struct trn_core *core)
{
	struct trn_core_time *ct = __atomic_load_n(&core->time_private, __ATOMIC_ACQUIRE);

	if (!ct)
		return;
	pthread_mutex_lock(&core->chip->groups->lock);
	ct->settled_ps = 0;
	pthread_mutex_unlock(&core->chip->groups->lock);
}

/* None of the @chips on the fabric has a program from before its reset. */
static bool all_were_reset(const struct trn_group *group, unsigned int chips)
{
	unsigned int i, nr = 0;

	for (i = 0; i < TRN_FABRIC_CHIPS; i++)
		nr += group->was_reset[i];
	return nr >= chips;
}

/* A chip that has not been reset may still send members, which must hear of their group. */
void trn_groups_reset(struct trn_chip *chip)
{
	unsigned int chips = chip->fabric ? trn_fabric_chips(chip->fabric) : 1;
	struct trn_groups *groups = chip->groups;
	struct trn_group *group, *next;

	pthread_mutex_lock(&groups->lock);
	for (group = groups->first; group; group = next) {
		next = group->next;
		group->was_reset[chip->seat.slot] = true;
		if (!group->members && !group->busy && all_were_reset(group, chips))
			trn_group_forget(groups, group);
	}
	pthread_mutex_unlock(&groups->lock);
}

void trn_group_end(struct trn_chip *chip, uint64_t id)
{
	struct trn_group *group;

	pthread_mutex_lock(&chip->groups->lock);
	group = trn_group_find(chip->groups, id);
	if (group)
		trn_group_fail(group, NEURON_SETTLE_ENDED);
	pthread_mutex_unlock(&chip->groups->lock);
}
