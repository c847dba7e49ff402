// SPDX-License-Identifier: MIT
/* .dge: a constant that says what a generated transfer does. */
#include <stdlib.h>

#include "as_unit.h"

static bool number_part(struct as_unit *unit, uint64_t max, const char *what, uint64_t *value)
{
	as_take(unit);
	return as_uint(unit, max, what, value);
}

/* index VARIABLE OFFSET [STEP] */
static bool index_part(struct as_unit *unit, struct nb_move *move)
{
	uint64_t step = 0;

	as_take(unit);
	if (!as_dma_variable(unit, &move->index) ||
	    !as_uint(unit, (uint64_t)1 << 46, "the offset of the list", &move->index_offset))
		return false;
	if (as_peek(unit)->kind == AS_INT && !as_uint(unit, UINT32_MAX, "the step", &step))
		return false;
	move->index_step = (uint32_t)step;
	return true;
}

/* random SEED NUMBER */
static bool random_part(struct as_unit *unit, struct nb_move *move)
{
	move->random = true;
	return number_part(unit, UINT64_MAX, "the seed", &move->seed) &&
	       as_uint(unit, UINT64_MAX, "the number of the move", &move->number);
}

static bool limit_part(struct as_unit *unit, struct nb_move *move)
{
	uint64_t limit;

	if (!number_part(unit, UINT32_MAX, "the limit", &limit))
		return false;
	move->limit = (uint32_t)limit;
	return true;
}

/* The word alone says it. */
static bool *flag_of(const struct as_token *token, struct nb_move *move)
{
	if (as_token_is(token, "acc"))
		return &move->accumulate;
	if (as_token_is(token, "gather"))
		return &move->gather;
	if (as_token_is(token, "scatter"))
		return &move->scatter;
	return as_token_is(token, "skip") ? &move->skip : NULL;
}

static bool parse_part(struct as_unit *unit, struct nb_move *move)
{
	const struct as_token *token = as_peek(unit);
	bool *flag = flag_of(token, move);

	if (flag) {
		as_take(unit);
		*flag = true;
		return true;
	}
	if (as_token_is(token, "index"))
		return index_part(unit, move);
	if (as_token_is(token, "limit"))
		return limit_part(unit, move);
	if (as_token_is(token, "random"))
		return random_part(unit, move);
	return as_expected(unit, "acc, gather, scatter, skip, index, limit or random");
}

static bool parse_move(struct as_unit *unit, struct nb_move *move)
{
	if (!as_expect(unit, ',', "\",\" and where the bytes go") ||
	    !as_dma_side(unit, &move->to) ||
	    !as_expect(unit, ',', "\",\" and where the bytes come from") ||
	    !as_dma_sources(unit, move))
		return false;
	while (as_peek(unit)->kind != AS_END)
		if (!parse_part(unit, move))
			return false;
	return true;
}

bool as_dge(struct as_unit *unit)
{
	struct nb_move move = { 0 };
	bool good;
	char *name;

	if (!as_expect(unit, '.', "\".\" and an operation") || !as_dma_op(unit, &move))
		return false;
	name = as_take_name(unit, "a name");
	good = name && parse_move(unit, &move);
	as_set_source(unit, false);
	if (good)
		nb_dge(unit->nb, name, &move);
	free(name);
	return good;
}
