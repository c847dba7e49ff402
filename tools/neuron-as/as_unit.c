// SPDX-License-Identifier: MIT
/* One source from the first line to the last, and its complaints. */
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "chip/isa/trn_isa.h"
#include "neuron/neff.h"

#define DEFAULT_STATEMENTS	4000000ul

static void report(struct as_unit *unit, unsigned int line, unsigned int column, bool warning,
		   const char *format, va_list args)
{
	struct as_diag diag = {
		.file = unit->options->file,
		.line = line,
		.column = column,
		.warning = warning,
	};
	char text[512];
	char *c;

	vsnprintf(text, sizeof(text), format, args);
	/* One line, whatever the source holds. */
	for (c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	diag.text = text;
	if (!warning && ++unit->errors == AS_MAX_ERRORS)
		unit->dead = true;
	if (unit->options->report)
		unit->options->report(unit->options->context, &diag);
}

bool as_error_at(struct as_unit *unit, unsigned int line, unsigned int column,
		 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(unit, line, column, false, format, args);
	va_end(args);
	return false;
}

bool as_error(struct as_unit *unit, const struct as_token *token, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(unit, unit->line, token->column, false, format, args);
	va_end(args);
	return false;
}

void as_warning(struct as_unit *unit, unsigned int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(unit, line, 1, true, format, args);
	va_end(args);
}

bool as_memory(struct as_unit *unit)
{
	unit->dead = true;
	return as_error_at(unit, unit->line, 1, "out of memory");
}

bool as_expected(struct as_unit *unit, const char *what)
{
	const struct as_token *token = as_peek(unit);

	if (token->kind == AS_END)
		return as_error(unit, token, "expected %s, but the line ends", what);
	return as_error(unit, token, "expected %s instead of \"%.*s\"", what,
			token->len > 40 ? 40 : (int)token->len, token->text);
}

static bool define_label(struct as_unit *unit)
{
	const struct as_token *token = as_take_own_name(unit, "a label");
	struct as_entry *entry;
	int scope;

	if (!token || !as_need_engine(unit, token))
		return false;
	scope = AS_SCOPE_LABEL + unit->engine;
	if (as_find(unit, scope, token->text, token->len))
		return as_error(unit, token, "label \"%.*s\" is there already", (int)token->len,
				token->text);
	if (as_find(unit, AS_SCOPE_SYMBOL, token->text, token->len))
		return as_error(unit, token, "\"%.*s\" is a symbol already", (int)token->len,
				token->text);
	entry = as_define(unit, scope, token->text, token->len);
	if (!entry)
		return false;
	entry->value = nb_here(unit->nb, (enum neuron_engine)unit->engine);
	as_take(unit);	/* the colon */
	return true;
}

static bool statement(struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);

	if (token->kind == AS_NAME && token[1].kind == ':') {
		if (!define_label(unit))
			return false;
		token = as_peek(unit);
	}
	if (token->kind == AS_END)
		return true;
	if (as_accept(unit, '.'))
		return as_directive(unit);
	if (token->kind != AS_NAME)
		return as_expected(unit, "an instruction or a directive");
	return as_close_file(unit) && as_instruction(unit);
}

/* The builder's errors stick: they are the last thing that is said. */
static void check_builder(struct as_unit *unit)
{
	if (!unit->nb || !nb_error(unit->nb) || unit->dead)
		return;
	as_error_at(unit, unit->line, 1, "%s", nb_error(unit->nb));
	unit->dead = true;
}

static bool is_program(const struct as_unit *unit)
{
	return unit->tokens[0].kind == '.' && as_token_is(&unit->tokens[1], "program");
}

/* The first statement says the name, or there is none. */
static void make_program(struct as_unit *unit)
{
	const char *fallback = unit->options->name ? unit->options->name : "program";
	char *name = NULL;

	if (is_program(unit)) {
		unit->next = 2;
		name = as_take_name(unit, "a name");
		if (name && as_peek(unit)->kind != AS_END)
			as_expected(unit, "the end of the line");
		unit->next = unit->nr_tokens - 1;
	}
	unit->program = nb_new(name ? name : fallback);
	unit->nb = unit->program;
	free(name);
	if (!unit->nb)
		as_memory(unit);
}

static void run_lines(struct as_unit *unit)
{
	unsigned long max = unit->options->max_statements;

	if (!max)
		max = DEFAULT_STATEMENTS;
	while (unit->at < unit->end && !unit->dead) {
		if (!as_lex_line(unit) || unit->tokens[0].kind == AS_END)
			continue;
		if (!unit->nb)
			make_program(unit);
		if (unit->dead || as_peek(unit)->kind == AS_END)
			continue;
		if (++unit->statements > max) {
			as_error_at(unit, unit->line, 1,
				    "more than %lu statements, repetitions counted", max);
			return;
		}
		statement(unit);
		check_builder(unit);
	}
}

static void resolve_labels(struct as_unit *unit)
{
	const struct as_entry *entry;
	struct neuron_inst *inst;
	size_t i;

	for (i = 0; i < unit->nr_fixups && !unit->dead; i++) {
		const struct as_fixup *fixup = &unit->fixups[i];

		entry = as_find(unit, AS_SCOPE_LABEL + (int)fixup->engine, fixup->name,
				strlen(fixup->name));
		inst = nb_inst(unit->nb, fixup->engine, fixup->index);
		if (!entry)
			as_error_at(unit, fixup->line, fixup->column,
				    "no label \"%.64s\" in the %s stream", fixup->name,
				    trn_isa_engine_name(fixup->engine));
		else if (inst)
			inst->addr = htole64((uint64_t)entry->value);
	}
}

/* Semaphores that were only used by number are cleared too; gaps between them are not. */
static void declare_sems(struct as_unit *unit)
{
	unsigned int last = 256;
	unsigned int i;

	while (last > unit->nr_sems && !unit->sem_used[last - 1])
		last--;
	for (i = unit->nr_sems; i < last; i++)
		nb_sem(unit->nb, !unit->sem_used[i]);
}

static void check_streams(struct as_unit *unit)
{
	const struct neuron_inst *last;
	unsigned int e, count, streams = 0;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		count = nb_here(unit->nb, e);
		if (!count)
			continue;
		streams++;
		last = nb_inst(unit->nb, e, count - 1);
		if (last->opcode != NEURON_OP_HALT &&
		    (last->opcode != NEURON_OP_BRANCH || last->op0 != NEURON_ALU_BYPASS))
			as_warning(unit, unit->line,
				   "the %s stream can run past its end: it does not end in halt",
				   trn_isa_engine_name(e));
	}
	if (!streams && !unit->errors)
		as_error_at(unit, unit->line, 1, "the program has no instructions");
}

/* What can be said when all lines for a core are there. */
static void finish_core(struct as_unit *unit)
{
	as_close_file(unit);
	if (unit->nr_rept && !unit->errors)
		as_error_at(unit, unit->rept[unit->nr_rept - 1].line, 1, ".rept without .endr");
	resolve_labels(unit);
	declare_sems(unit);
	check_builder(unit);
	if (!unit->dead)
		check_streams(unit);
}

static void forget_fixups(struct as_unit *unit)
{
	size_t i;

	for (i = 0; i < unit->nr_fixups; i++)
		free(unit->fixups[i].name);
	unit->nr_fixups = 0;
}

bool as_second_core(struct as_unit *unit)
{
	finish_core(unit);
	if (unit->dead)
		return false;
	forget_fixups(unit);
	as_forget_names(unit);
	unit->engine = -1;
	unit->nr_sems = 0;
	memset(unit->sem_used, 0, sizeof(unit->sem_used));
	unit->nb = nb_second(unit->program);
	return unit->nb || as_memory(unit);
}

static void finish(struct as_unit *unit)
{
	if (!unit->nb && !unit->errors)
		as_error_at(unit, 1, 1, "the program has no instructions");
	if (!unit->nb || unit->dead)
		return;
	finish_core(unit);
	/* Without lines for it the second core has nothing to do. */
	if (unit->options->lnc == 2 && !nb_second(unit->program))
		as_memory(unit);
}

static void release(struct as_unit *unit)
{
	size_t i;

	forget_fixups(unit);
	for (i = 0; i < unit->nr_rept; i++)
		free(unit->rept[i].symbol);
	free(unit->source);
	free(unit->fixups);
	free(unit->tokens);
	free(unit->data.name);
	free(unit->data.bytes);
	as_free_names(unit);
}

/* The last part of a path; the debug file takes only names that can stand in a line. */
static char *source_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;
	const char *c;

	if (!name || !*name || strlen(name) >= NEFF_NAME_LEN)
		return NULL;
	for (c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return NULL;
	return strdup(name);
}

struct nb_program *as_assemble(const char *text, size_t size, const struct as_options *options)
{
	struct as_unit unit = {
		.options = options,
		.at = text,
		.end = text + size,
		.engine = -1,
	};
	struct nb_program *nb;

	unit.source = source_name(options->file);
	run_lines(&unit);
	finish(&unit);
	nb = unit.program;
	if (unit.errors) {
		nb_free(nb);
		nb = NULL;
	}
	release(&unit);
	return nb;
}
