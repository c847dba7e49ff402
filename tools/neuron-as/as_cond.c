// SPDX-License-Identifier: MIT
/* .if: lines that are assembled only sometimes. */
#include <string.h>

#include "as_unit.h"

static const struct as_block cond_block = {
	.open = { "if", "ifdef", "ifndef" },
	.close = "endif",
	.middle = "else",
};

static bool add_cond(struct as_unit *unit, unsigned int line, bool has_else)
{
	struct as_cond *cond = &unit->cond[unit->nr_conds];

	if (unit->nr_conds == AS_MAX_CONDS)
		return as_error_at(unit, line, 1, "more than %d .if in each other", AS_MAX_CONDS);
	*cond = (struct as_cond){ .line = line, .nr_rept = unit->nr_rept, .has_else = has_else };
	unit->nr_conds++;
	return true;
}

/* Past what does not hold; behind an .else the lines are assembled again. */
static bool begin(struct as_unit *unit, bool holds)
{
	unsigned int line = unit->line;
	const char *closing;

	if (as_peek(unit)->kind != AS_END)
		return as_expected(unit, "the end of the line");
	if (holds)
		return add_cond(unit, line, false);
	switch (as_skip_block(unit, &cond_block, true, &closing)) {
	case AS_FOUND_CLOSE:
		return true;
	case AS_FOUND_MIDDLE:
		return add_cond(unit, line, true);
	case AS_FOUND_NOTHING:
		break;
	}
	return as_error_at(unit, line, 1, ".if without .endif");
}

bool as_if(struct as_unit *unit)
{
	__int128 left, right;
	bool equal;

	if (!as_int(unit, INT64_MIN, UINT64_MAX, "the condition", &left))
		return false;
	if (as_peek(unit)->kind != AS_EQ && as_peek(unit)->kind != AS_GE)
		return begin(unit, left);
	equal = as_take(unit)->kind == AS_EQ;
	if (!as_int(unit, INT64_MIN, UINT64_MAX, "the condition", &right))
		return false;
	return begin(unit, equal ? left == right : left >= right);
}

static bool if_defined(struct as_unit *unit, bool defined)
{
	const struct as_token *name = as_peek(unit);

	if (name->kind != AS_NAME)
		return as_expected(unit, "a symbol");
	as_take(unit);
	return begin(unit, !!as_find(unit, AS_SCOPE_SYMBOL, name->text, name->len) == defined);
}

bool as_ifdef(struct as_unit *unit)
{
	return if_defined(unit, true);
}

bool as_ifndef(struct as_unit *unit)
{
	return if_defined(unit, false);
}

/* The innermost .if if the line belongs to it: same text, same repetition. */
static struct as_cond *open_cond(struct as_unit *unit)
{
	struct as_cond *cond;

	if (unit->nr_conds == unit->frame[unit->nr_frames - 1].nr_conds)
		return NULL;
	cond = &unit->cond[unit->nr_conds - 1];
	return cond->nr_rept == unit->nr_rept ? cond : NULL;
}

bool as_else(struct as_unit *unit)
{
	struct as_cond *cond = open_cond(unit);
	const char *closing;

	if (!cond)
		return as_error(unit, &unit->tokens[0], ".else without .if");
	if (cond->has_else)
		return as_error(unit, &unit->tokens[0], "a second .else");
	if (as_peek(unit)->kind != AS_END)
		return as_expected(unit, "the end of the line");
	unit->nr_conds--;
	if (as_skip_block(unit, &cond_block, false, &closing) != AS_FOUND_CLOSE)
		return as_error_at(unit, cond->line, 1, ".if without .endif");
	return true;
}

bool as_endif(struct as_unit *unit)
{
	if (!open_cond(unit))
		return as_error(unit, &unit->tokens[0], ".endif without .if");
	unit->nr_conds--;
	return true;
}
