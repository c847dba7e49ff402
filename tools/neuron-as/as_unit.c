// SPDX-License-Identifier: MIT
/* A program from the first line to the last, and its complaints. */
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "chip/isa/trn_isa.h"

#define DEFAULT_STATEMENTS	16000000ul
#define MAX_NOTES		8

/* How the line has come into the program, from the inside out. */
static void note_origins(struct as_unit *unit, const struct as_origin *origin)
{
	struct as_diag diag = { .column = 1, .note = true };
	unsigned int i, more = 0;
	char text[128];

	for (i = 0; origin; origin = origin->outer, i++) {
		/* The outermost one is always said. */
		if (i >= MAX_NOTES && origin->outer) {
			more++;
			continue;
		}
		diag.file = origin->file;
		diag.line = origin->line;
		diag.text = text;
		if (origin->macro)
			snprintf(text, sizeof(text), "in macro \"%.64s\", used here",
				 origin->macro->name);
		else
			snprintf(text, sizeof(text), "included here");
		if (more)
			snprintf(text + strlen(text), sizeof(text) - strlen(text),
				 " (%u in between)", more);
		unit->options->report(unit->options->context, &diag);
	}
}

static void report(struct as_unit *unit, const struct as_place *place, bool warning,
		   const char *format, va_list args)
{
	struct as_diag diag = {
		.file = place->file,
		.line = place->line,
		.column = place->column,
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
	if (!unit->options->report)
		return;
	unit->options->report(unit->options->context, &diag);
	note_origins(unit, place->origin);
}

static struct as_place place_of(const struct as_unit *unit, unsigned int line,
				unsigned int column)
{
	return (struct as_place){ unit->file, line, column, unit->origin };
}

bool as_error_at(struct as_unit *unit, unsigned int line, unsigned int column,
		 const char *format, ...)
{
	const struct as_place place = place_of(unit, line, column);
	va_list args;

	va_start(args, format);
	report(unit, &place, false, format, args);
	va_end(args);
	return false;
}

bool as_error_place(struct as_unit *unit, const struct as_place *place, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(unit, place, false, format, args);
	va_end(args);
	return false;
}

bool as_error(struct as_unit *unit, const struct as_token *token, const char *format, ...)
{
	const struct as_place place = place_of(unit, unit->line, token->column);
	va_list args;

	va_start(args, format);
	report(unit, &place, false, format, args);
	va_end(args);
	return false;
}

void as_warning(struct as_unit *unit, unsigned int line, const char *format, ...)
{
	const struct as_place place = place_of(unit, line, 1);
	va_list args;

	va_start(args, format);
	report(unit, &place, true, format, args);
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

static bool run_name(struct as_unit *unit, const struct as_token *token)
{
	const struct trn_isa *isa = as_find_isa(unit, token);
	const struct as_macro *macro = isa ? NULL : as_find_macro(unit, token);

	if (macro)
		return as_use_macro(unit, macro);
	return as_close_file(unit) && as_instruction(unit, isa);
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
	return run_name(unit, token);
}

/* The builder keeps its first error, so it is taken away. The place is said already. */
static void check_builder(struct as_unit *unit)
{
	char place[AS_ERROR_MAX];
	const char *text;

	if (!unit->nb || !nb_error(unit->nb) || unit->dead)
		return;
	text = nb_error(unit->nb);
	snprintf(place, sizeof(place), "%.64s:%u: ", unit->source ? unit->source : "",
		 unit->line + unit->line_shift);
	if (!strncmp(text, place, strlen(place)))
		text += strlen(place);
	as_error_at(unit, unit->line, 1, "%s", text);
	if (strstr(text, "out of memory"))
		unit->dead = true;
	nb_forget_error(unit->nb);
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
	else if (unit->options->generation)
		nb_generation(unit->nb, unit->options->generation);
}

static void run_text(struct as_unit *unit)
{
	while (unit->at < unit->end && !unit->dead) {
		if (!as_lex_line(unit) || unit->tokens[0].kind == AS_END)
			continue;
		if (!unit->nb)
			make_program(unit);
		if (unit->dead || as_peek(unit)->kind == AS_END)
			continue;
		if (++unit->statements > unit->max_statements) {
			as_error_at(unit, unit->line, 1,
				    "more than %lu statements, repetitions and macros counted",
				    unit->max_statements);
			unit->dead = true;
			return;
		}
		statement(unit);
		check_builder(unit);
	}
}

static void run_texts(struct as_unit *unit)
{
	do
		run_text(unit);
	while (!unit->dead && as_next_text(unit));
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
			as_error_place(unit, &fixup->place,
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
	if (!streams && !unit->errors && !unit->empty)
		as_error_at(unit, unit->line, 1, "the program has no instructions");
}

/* What can be said when all lines for a core are there. */
static void finish_core(struct as_unit *unit)
{
	as_close_file(unit);
	resolve_labels(unit);
	declare_sems(unit);
	check_builder(unit);
	if (!unit->dead)
		check_streams(unit);
}

static void forget_fixups(struct as_unit *unit)
{
	size_t i;

	for (i = 0; i < unit->nr_fixups; i++) {
		as_release_origin(unit->fixups[i].place.origin);
		free(unit->fixups[i].name);
	}
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
	unit->empty = false;
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
	forget_fixups(unit);
	as_release_origin(unit->data.place.origin);
	as_free_texts(unit);
	free(unit->fixups);
	free(unit->tokens);
	free(unit->data.name);
	free(unit->data.bytes);
	as_free_names(unit);
}

struct nb_program *as_assemble_sources(const struct as_source *sources, size_t count,
				       const struct as_options *options)
{
	struct as_unit unit = {
		.options = options,
		.sources = sources,
		.nr_sources = count,
		.file = options->file,
		.max_statements = options->max_statements ?: DEFAULT_STATEMENTS,
		.engine = -1,
	};
	struct nb_program *nb;

	as_index_isa(&unit);
	run_texts(&unit);
	finish(&unit);
	nb = unit.program;
	if (unit.errors) {
		nb_free(nb);
		nb = NULL;
	}
	release(&unit);
	return nb;
}

struct nb_program *as_assemble(const char *text, size_t size, const struct as_options *options)
{
	const struct as_source source = { options->file, text, size };

	return as_assemble_sources(&source, 1, options);
}
