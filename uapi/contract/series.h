/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Series of time groups: which job is a member of which group, without a word between the members.
 *
 * The times of a time group (struct neuron_hw_time_group) are worked out when all its members have
 * ended, and each run of the members needs another group. So they have a series: the groups have
 * consecutive numbers in it, and each member comes to them in that order. Whoever keeps the state
 * of a series, a kernel or chips in a process, lets one thread at a time call these functions.
 */
#ifndef NEURON_CONTRACT_SERIES_H
#define NEURON_CONTRACT_SERIES_H

#include "bytes.h"
#include "neuron/job.h"

/* A member comes to a group that is so many behind its last one, at most. */
#define NEURON_SERIES_STEP	1024u
/*
 * Whoever is so many groups ahead of others has more that wait than the chip keeps of a core, and
 * in the end it forgets them. Who comes later finds nobody.
 */
#define NEURON_SERIES_AHEAD	64u
/* Groups are remembered by their number modulo that. */
#define NEURON_SERIES_MISSED	(2 * NEURON_SERIES_AHEAD)
/* Members of a core that have been submitted and whose times are not known. */
#define NEURON_SERIES_PENDING	256u

/**
 * struct neuron_series_member - a member of each group of a series
 * @last: number of the last group that it has come to, from 1 on
 * @holder: who is this member, as neuron_series_hold() has named it; 0: nobody yet
 * @left: @holder has left
 */
struct neuron_series_member {
	__u64 last;
	__u32 holder;
	__u32 left;
};

/**
 * struct neuron_series_state - a series
 * @secret: random; the chip lets everybody join a group who knows its number
 * @last_whole: to all groups behind it some members will not come, because a holder has left;
 *	all ones: nobody has
 * @newest: the largest number of a group to which a member has come
 * @missed: groups that lack a member
 * @members: of each group, 1 to NEURON_JOB_MAX_GROUP
 * @holders: how many there have been
 * @member: @members elements
 *
 * Who holds the series is a holder. A holder becomes a member by coming to a group as that one.
 * From then on nobody else can be it: others neither come in its place nor let it come too late.
 */
struct neuron_series_state {
	__u64 secret;
	__u64 last_whole;
	__u64 newest;
	__u64 missed[NEURON_SERIES_MISSED];
	__u32 members;
	__u32 holders;
	struct neuron_series_member *member;
};

/* @member: @members of them, all zero. @secret: nobody can guess it. */
static inline void neuron_series_begin(struct neuron_series_state *series, __u32 members,
				       struct neuron_series_member *member, __u64 secret)
{
	*series = (struct neuron_series_state){
		.secret = secret,
		.last_whole = ~0ull,
		.members = members,
		.member = member,
	};
}

/*
 * What the chip is told of group @sequence. Each step can be undone, so two groups of a series
 * have two numbers.
 */
static inline __u64 neuron_series_number(const struct neuron_series_state *series, __u64 sequence)
{
	__u64 number = series->secret + sequence * 0x9e3779b97f4a7c15ull;

	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
	number = (number ^ number >> 27) * 0x94d049bb133111ebull;
	number ^= number >> 31;
	/* The one that would be no number. */
	return number ? number : 1;
}

/* Another holder: its name, not 0. */
static inline __u32 neuron_series_hold(struct neuron_series_state *series)
{
	return ++series->holders;
}

/* Does group @sequence lack a member, for ever? */
static inline __u8 neuron_series_lacks(const struct neuron_series_state *series, __u64 sequence)
{
	return sequence > series->last_whole ||
	       series->missed[sequence % NEURON_SERIES_MISSED] >= sequence;
}

/*
 * A member of group @sequence will not come, or has failed. If a much older one was remembered in
 * that place, somebody is too far ahead of it: that is as good as missed.
 */
static inline void neuron_series_miss(struct neuron_series_state *series, __u64 sequence)
{
	__u64 *missed = &series->missed[sequence % NEURON_SERIES_MISSED];

	if (*missed < sequence)
		*missed = sequence;
}

/* A member that came to group @before now comes to group @sequence, and leaves out the others. */
static inline void neuron_series_skip(struct neuron_series_state *series, __u64 before,
				      __u64 sequence)
{
	if (sequence - before > NEURON_SERIES_MISSED)
		before = sequence - NEURON_SERIES_MISSED;
	while (++before < sequence)
		neuron_series_miss(series, before);
}

/*
 * A holder leaves. What its members have come to stays; to later groups they do not come. If a
 * member is nobody yet, it may be the one that this holder was to be: then no group is whole.
 */
static inline void neuron_series_leave(struct neuron_series_state *series, __u32 holder)
{
	struct neuron_series_member *member;
	__u32 i;

	for (i = 0; i < series->members; i++) {
		member = &series->member[i];
		if (member->holder && member->holder != holder)
			continue;
		member->left |= member->holder == holder;
		if (series->last_whole > member->last)
			series->last_whole = member->last;
	}
}

/**
 * struct neuron_series_place - a member has come to a group, or runs its job alone
 * @before: the group that it came to before
 * @alone: the job is no member, and this is why its times are inexact; FINE: it is one
 * @taken: somebody else is that member; nothing has changed
 * @first: the member was nobody before
 */
struct neuron_series_place {
	__u64 before;
	enum neuron_settle_cause alone;
	__u8 taken;
	__u8 first;
};

static inline enum neuron_settle_cause
neuron_series_alone(const struct neuron_series_state *series, __u64 sequence)
{
	if (series->newest > sequence + NEURON_SERIES_AHEAD)
		return NEURON_SETTLE_OVERFLOW;
	if (neuron_series_lacks(series, sequence))
		return NEURON_SETTLE_ENDED;
	return NEURON_SETTLE_FINE;
}

/**
 * neuron_series_come - a holder comes to a group
 * @series: series
 * @holder: who comes
 * @index: as which member
 * @sequence: number of the group in the series
 * @place: out, unless something is wrong
 *
 * Return: NULL or what is wrong; then nothing has changed.
 */
static inline const char *neuron_series_come(struct neuron_series_state *series, __u32 holder,
					     __u32 index, __u64 sequence,
					     struct neuron_series_place *place)
{
	struct neuron_series_member *member;

	if (index >= series->members)
		return "a series has no such member";
	if (!sequence)
		return "groups of a series are counted from 1 on";
	member = &series->member[index];
	*place = (struct neuron_series_place){ .before = member->last, .first = !member->holder };
	if (member->holder && member->holder != holder) {
		place->alone = NEURON_SETTLE_ENDED;
		place->taken = 1;
		return NEURON_FINE;
	}
	if (sequence <= member->last)
		return "a member comes to each group once, in their order";
	if (sequence - member->last > NEURON_SERIES_STEP)
		return "a member leaves out too many groups";
	member->holder = holder;
	member->last = sequence;
	if (series->newest < sequence)
		series->newest = sequence;
	place->alone = neuron_series_alone(series, sequence);
	return NEURON_FINE;
}

static inline void neuron_series_find_newest(struct neuron_series_state *series)
{
	__u32 i;

	series->newest = 0;
	for (i = 0; i < series->members; i++)
		if (series->newest < series->member[i].last)
			series->newest = series->member[i].last;
}

/*
 * What neuron_series_come() has done is taken back, for which neuron_series_skip() was not called.
 * If the member has come to another group since, it does not come to this one any more, nor to
 * those before. If its holder has left since, it comes to no group behind the one before.
 */
static inline void neuron_series_uncome(struct neuron_series_state *series, __u32 index,
					__u64 sequence, const struct neuron_series_place *place)
{
	struct neuron_series_member *member;

	if (place->taken)
		return;
	member = &series->member[index];
	if (member->last != sequence) {
		neuron_series_skip(series, place->before, sequence);
		neuron_series_miss(series, sequence);
		return;
	}
	member->last = place->before;
	if (member->left && series->last_whole > member->last)
		series->last_whole = member->last;
	if (place->first)
		member->holder = 0;
	if (series->newest == sequence)
		neuron_series_find_newest(series);
}

#endif /* NEURON_CONTRACT_SERIES_H */
