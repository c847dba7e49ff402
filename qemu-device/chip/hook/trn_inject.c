// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "hook/trn_inject.h"

#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"


/**
 * struct armed_rule - a rule and what came of it
 * @id: of all rules that the chip ever had
 * @passed: opportunities that chance let through
 */
struct armed_rule {
	struct trn_inject_rule rule;
	uint64_t id;
	uint64_t opportunities;
	uint64_t passed;
	uint64_t strikes;
};

/**
 * struct trn_inject - the rules of a chip
 * @lock: all fields
 * @added: rules that there have been
 */
struct trn_inject {
	pthread_mutex_t lock;
	uint64_t seed;
	uint64_t added;
	unsigned int nr;
	struct armed_rule armed[TRN_INJECT_RULES];
};

struct trn_inject *trn_inject_new(uint64_t seed)
{
	struct trn_inject *inject = calloc(1, sizeof(*inject));

	if (!inject)
		return NULL;
	pthread_mutex_init(&inject->lock, NULL);
	inject->seed = seed;
	return inject;
}

void trn_inject_free(struct trn_inject *inject)
{
	if (!inject)
		return;
	pthread_mutex_destroy(&inject->lock);
	free(inject);
}

size_t trn_inject_own_bytes(const struct trn_chip *chip)
{
	return sizeof(*chip->inject);
}

/* Under the lock. */
static void update_armed(struct trn_chip *chip)
{
	const struct trn_inject *inject = chip->inject;
	uint32_t armed = 0;
	unsigned int i;

	for (i = 0; i < inject->nr; i++)
		armed |= 1u << inject->armed[i].rule.point;
	atomic_store(&chip->inject_armed, armed);
}

int trn_inject_add(struct trn_chip *chip, const struct trn_inject_rule *rule)
{
	struct trn_inject *inject = chip->inject;
	int err = -1;

	pthread_mutex_lock(&inject->lock);
	if (inject->nr < TRN_INJECT_RULES) {
		inject->armed[inject->nr++] = (struct armed_rule){
			.rule = *rule,
			.id = inject->added++,
		};
		err = 0;
	}
	update_armed(chip);
	pthread_mutex_unlock(&inject->lock);
	return err;
}

void trn_inject_clear(struct trn_chip *chip, enum trn_inject_point point)
{
	struct trn_inject *inject = chip->inject;
	unsigned int i, kept = 0;

	pthread_mutex_lock(&inject->lock);
	for (i = 0; i < inject->nr; i++) {
		if (point == TRN_INJECT_POINTS ||
		    inject->armed[i].rule.point == point)
			continue;
		inject->armed[kept++] = inject->armed[i];
	}
	inject->nr = kept;
	update_armed(chip);
	pthread_mutex_unlock(&inject->lock);
	/* An engine that hangs looks again. */
	chip->kick(chip);
}

void trn_inject_forget(struct trn_chip *chip)
{
	struct trn_inject *inject = chip->inject;

	pthread_mutex_lock(&inject->lock);
	inject->seed = chip->config.fault_seed;
	inject->added = 0;
	inject->nr = 0;
	update_armed(chip);
	pthread_mutex_unlock(&inject->lock);
}

bool trn_inject_status(struct trn_chip *chip, unsigned int n,
		       struct trn_inject_status *status)
{
	struct trn_inject *inject = chip->inject;
	bool found;

	pthread_mutex_lock(&inject->lock);
	found = n < inject->nr;
	if (found)
		*status = (struct trn_inject_status){
			.rule = inject->armed[n].rule,
			.opportunities = inject->armed[n].opportunities,
			.strikes = inject->armed[n].strikes,
		};
	pthread_mutex_unlock(&inject->lock);
	return found;
}

/* Counter based (splitmix64): number @n of a rule is the same on every run. */
static uint32_t draw_million(uint64_t seed, uint64_t id, uint64_t n)
{
	uint64_t z = seed + id * 0xd1342543de82ef95ull +
		     (n + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % 1000000);
}

/* An opportunity of the rule: does it strike? */
static bool rule_strikes(const struct trn_inject *inject,
			 struct armed_rule *armed)
{
	const struct trn_inject_rule *rule = &armed->rule;
	uint64_t n = armed->opportunities++;

	if (rule->chance &&
	    draw_million(inject->seed, armed->id, n) >= rule->chance)
		return false;
	n = armed->passed++;
	if (n < rule->skip || (rule->count && n - rule->skip >= rule->count))
		return false;
	armed->strikes++;
	return true;
}

bool trn_inject_strikes(struct trn_chip *chip, enum trn_inject_point point,
			uint32_t unit, uint64_t *value)
{
	struct trn_inject *inject = chip->inject;
	bool strikes = false;
	unsigned int i;

	pthread_mutex_lock(&inject->lock);
	for (i = 0; i < inject->nr && !strikes; i++) {
		struct armed_rule *armed = &inject->armed[i];

		if (armed->rule.point != point ||
		    (armed->rule.unit != unit &&
		     armed->rule.unit != TRN_INJECT_ANY))
			continue;
		strikes = rule_strikes(inject, armed);
		if (strikes && value)
			*value = armed->rule.value;
	}
	pthread_mutex_unlock(&inject->lock);
	return strikes;
}

static void rule_state(struct trn_inject_rule *rule, struct trn_state *st)
{
	uint32_t point = rule->point;

	trn_state_u32(st, &point);
	trn_state_u32(st, &rule->unit);
	trn_state_u64(st, &rule->skip);
	trn_state_u64(st, &rule->count);
	trn_state_u32(st, &rule->chance);
	trn_state_u64(st, &rule->value);
	if (point >= TRN_INJECT_POINTS)
		trn_state_fail(st, "a rule of a fault names an unknown point");
	else
		rule->point = (enum trn_inject_point)point;
}

/* All but the lock, which is held. */
static void copy_fields(struct trn_inject *to, const struct trn_inject *from)
{
	to->seed = from->seed;
	to->added = from->added;
	to->nr = from->nr;
	memcpy(to->armed, from->armed, sizeof(to->armed));
}

static void fields_state(struct trn_inject *inject, struct trn_state *st)
{
	unsigned int i;

	trn_state_u64(st, &inject->seed);
	trn_state_u64(st, &inject->added);
	inject->nr = trn_state_count(st, inject->nr, TRN_INJECT_RULES);
	for (i = 0; i < inject->nr; i++) {
		rule_state(&inject->armed[i].rule, st);
		trn_state_u64(st, &inject->armed[i].id);
		trn_state_u64(st, &inject->armed[i].opportunities);
		trn_state_u64(st, &inject->armed[i].passed);
		trn_state_u64(st, &inject->armed[i].strikes);
	}
	if (st->loading && trn_state_failed(st))
		inject->nr = 0;
}

void trn_inject_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_inject *inject = chip->inject;
	struct trn_inject copy;

	trn_state_block(st, TRN_STATE_NAME('I', 'N', 'J', 'E'), 1);
	/* The stream may take its time: no lock then. */
	pthread_mutex_lock(&inject->lock);
	copy_fields(&copy, inject);
	pthread_mutex_unlock(&inject->lock);
	fields_state(&copy, st);
	if (!st->loading)
		return;
	pthread_mutex_lock(&inject->lock);
	copy_fields(inject, &copy);
	update_armed(chip);
	pthread_mutex_unlock(&inject->lock);
}
