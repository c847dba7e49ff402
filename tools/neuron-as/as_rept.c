// SPDX-License-Identifier: MIT
/* .rept and .endr: lines that are executed again. */
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"

static bool set_counter(struct as_unit *unit, const struct as_rept *rept)
{
	struct as_entry *entry;

	if (!rept->symbol)
		return true;
	entry = as_define(unit, AS_SCOPE_SYMBOL, rept->symbol, strlen(rept->symbol));
	if (!entry)
		return false;
	entry->value = rept->done;
	entry->is_float = false;
	return true;
}

/* No repetition at all: past the .endr that belongs to it. */
static bool skip_body(struct as_unit *unit)
{
	unsigned int line = unit->line;
	unsigned int depth = 1;

	while (depth && unit->at < unit->end) {
		if (!as_lex_line(unit))
			return false;
		if (unit->tokens[0].kind != '.')
			continue;
		if (as_token_is(&unit->tokens[1], "rept"))
			depth++;
		else if (as_token_is(&unit->tokens[1], "endr"))
			depth--;
	}
	unit->next = unit->nr_tokens - 1;
	return !depth || as_error_at(unit, line, 1, ".rept without .endr");
}

bool as_rept(struct as_unit *unit)
{
	struct as_rept *rept = &unit->rept[unit->nr_rept];
	const struct as_token *symbol = NULL;
	uint64_t count;

	if (unit->nr_rept == AS_MAX_REPT)
		return as_error(unit, as_peek(unit), "more than %d .rept in each other",
				AS_MAX_REPT);
	if (!as_uint(unit, UINT32_MAX, "the count", &count))
		return false;
	if (as_accept(unit, ',')) {
		symbol = as_take_own_name(unit, "a symbol");
		if (!symbol)
			return false;
	}
	if (as_peek(unit)->kind != AS_END)
		return as_expected(unit, "the end of the line");
	if (!count)
		return skip_body(unit);
	memset(rept, 0, sizeof(*rept));
	rept->body = unit->at;
	rept->body_line = unit->line;
	rept->line = unit->line;
	rept->count = count;
	if (symbol) {
		rept->symbol = as_token_copy(symbol);
		if (!rept->symbol)
			return as_memory(unit);
	}
	unit->nr_rept++;
	return set_counter(unit, rept);
}

bool as_endr(struct as_unit *unit)
{
	struct as_rept *rept;

	if (!unit->nr_rept)
		return as_error(unit, &unit->tokens[0], ".endr without .rept");
	if (as_peek(unit)->kind != AS_END)
		return as_expected(unit, "the end of the line");
	rept = &unit->rept[unit->nr_rept - 1];
	/* One complaint about a line is enough. */
	if (++rept->done == rept->count || unit->errors) {
		free(rept->symbol);
		unit->nr_rept--;
		return true;
	}
	unit->at = rept->body;
	unit->line = rept->body_line;
	return set_counter(unit, rept);
}
