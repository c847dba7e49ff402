// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_inject.h"

#include <stdlib.h>

/**
 * struct trn_inject - the rules of a chip
 * @lock: all fields
 * @passed: opportunities that each rule has seen
 * @draws: random numbers drawn
 */
struct trn_inject {
	pthread_mutex_t lock;
	uint64_t seed;
	uint64_t draws;
	unsigned int nr;
	struct trn_inject_rule rule[TRN_INJECT_RULES];
	uint64_t passed[TRN_INJECT_RULES];
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

/* Under the lock. */
static void update_armed(struct trn_chip *chip)
{
	const struct trn_inject *inject = chip->inject;
	uint32_t armed = 0;
	unsigned int i;

	for (i = 0; i < inject->nr; i++)
		armed |= 1u << inject->rule[i].point;
	atomic_store(&chip->inject_armed, armed);
}

int trn_inject_add(struct trn_chip *chip, const struct trn_inject_rule *rule)
{
	struct trn_inject *inject = chip->inject;
	int err = -1;

	pthread_mutex_lock(&inject->lock);
	if (inject->nr < TRN_INJECT_RULES) {
		inject->rule[inject->nr] = *rule;
		inject->passed[inject->nr] = 0;
		inject->nr++;
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
		    inject->rule[i].point == point)
			continue;
		inject->rule[kept] = inject->rule[i];
		inject->passed[kept] = inject->passed[i];
		kept++;
	}
	inject->nr = kept;
	update_armed(chip);
	pthread_mutex_unlock(&inject->lock);
}

/* Counter based (splitmix64): the n-th draw of a seed is always the same. */
static uint32_t draw_million(struct trn_inject *inject)
{
	uint64_t z = inject->seed + ++inject->draws * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % 1000000);
}

static bool rule_strikes(struct trn_inject *inject, unsigned int i)
{
	const struct trn_inject_rule *rule = &inject->rule[i];
	uint64_t n;

	if (rule->chance && draw_million(inject) >= rule->chance)
		return false;
	n = inject->passed[i]++;
	return n >= rule->skip &&
	       (!rule->count || n - rule->skip < rule->count);
}

bool trn_inject_strikes(struct trn_chip *chip, enum trn_inject_point point,
			uint32_t unit, uint64_t *value)
{
	struct trn_inject *inject = chip->inject;
	bool strikes = false;
	unsigned int i;

	pthread_mutex_lock(&inject->lock);
	for (i = 0; i < inject->nr && !strikes; i++) {
		const struct trn_inject_rule *rule = &inject->rule[i];

		if (rule->point != point ||
		    (rule->unit != unit && rule->unit != TRN_INJECT_ANY))
			continue;
		strikes = rule_strikes(inject, i);
		if (strikes && value)
			*value = rule->value;
	}
	pthread_mutex_unlock(&inject->lock);
	return strikes;
}
