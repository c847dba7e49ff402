// SPDX-License-Identifier: MIT
/* .rept and .endr: lines that are executed again. */
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"

static const struct as_block rept_block = { .open = { "rept" }, .close = "endr" };

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
	const char *closing;

	return as_skip_block(unit, &rept_block, false, &closing) == AS_FOUND_CLOSE ||
	       as_error_at(unit, line, 1, ".rept without .endr");
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
	rept->nr_conds = unit->nr_conds;
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

	if (unit->nr_rept == unit->frame[unit->nr_frames - 1].nr_rept)
		return as_error(unit, &unit->tokens[0], ".endr without .rept");
	if (as_peek(unit)->kind != AS_END)
		return as_expected(unit, "the end of the line");
	rept = &unit->rept[unit->nr_rept - 1];
	if (unit->nr_conds > rept->nr_conds && !unit->errors)
		as_error_at(unit, unit->cond[unit->nr_conds - 1].line, 1, ".if without .endif");
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
