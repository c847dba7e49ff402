// SPDX-License-Identifier: MIT
/* .macro: lines with parameters that one line stands for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"

/* Of all that macros become together, for each statement that may be executed. */
#define BYTES_PER_STATEMENT	256
/* Of what one use of a macro becomes. */
#define MAX_EXPANSION		((size_t)16 << 20)

/* A part of a line. */
struct span {
	const char *text;
	size_t len;
};

/* What a macro becomes. */
struct expansion {
	struct as_unit *unit;
	const struct as_macro *macro;
	struct span arg[AS_MAX_PARAMS];
	unsigned long use;
	char *text;
	size_t size;
	size_t room;
};

static const struct as_block macro_block = { .open = { "macro" }, .close = "endm" };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name_part(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static struct span trim(const char *begin, const char *end)
{
	while (begin < end && is_blank(*begin))
		begin++;
	while (end > begin && is_blank(end[-1]))
		end--;
	return (struct span){ begin, (size_t)(end - begin) };
}

/* The end of the string whose first byte, a quote, is at @p; the lexer has found it whole. */
static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p < end ? p + 1 : end;
}

/* Up to the next comma outside of brackets and strings; *@begin goes behind it. */
static struct span take_argument(const char **begin, const char *end)
{
	const char *p = *begin, *from = p;
	unsigned int depth = 0;

	while (p < end && (depth || *p != ',')) {
		if (*p == '"') {
			p = string_end(p, end);
			continue;
		}
		if (*p == '(' || *p == '[')
			depth++;
		if ((*p == ')' || *p == ']') && depth)
			depth--;
		p++;
	}
	*begin = p < end ? p + 1 : end;
	return trim(from, p);
}

/* What is left of the line, as it is written, without a comment. */
static struct span rest_of_line(struct as_unit *unit)
{
	const struct as_token *last = &unit->tokens[unit->nr_tokens - 1];
	const struct as_token *token = as_peek(unit);
	const char *from = token->kind == AS_STRING ? token->text - 1 : token->text;

	unit->next = unit->nr_tokens - 1;
	return trim(from, last->text);
}

static const struct as_param *find_param(const struct as_macro *macro, const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < macro->nr_params; i++)
		if (strlen(macro->param[i].name) == len && !memcmp(macro->param[i].name, name, len))
			return &macro->param[i];
	return NULL;
}

static bool add_param(struct as_unit *unit, struct as_macro *macro, const struct as_token *name,
		      bool local)
{
	struct as_param *param = &macro->param[macro->nr_params];

	if (find_param(macro, name->text, name->len))
		return as_error(unit, name, "the macro has \"%.*s\" already", (int)name->len,
				name->text);
	if (macro->nr_params == AS_MAX_PARAMS)
		return as_error(unit, name, "a macro has at most %d parameters and local names",
				AS_MAX_PARAMS);
	param->name = as_token_copy(name);
	if (!param->name)
		return as_memory(unit);
	param->local = local;
	macro->nr_params++;
	return true;
}

/* NAME[=VALUE], ...: the words before an "=" are tokens, a value is what is written. */
static bool parse_params(struct as_unit *unit, struct as_macro *macro)
{
	const struct as_token *token = as_peek(unit);
	struct span value;
	const char *at, *end;

	while (token->kind != AS_END) {
		if (token->kind != AS_NAME)
			return as_expected(unit, "a parameter");
		if (!add_param(unit, macro, token, false))
			return false;
		as_take(unit);
		if (as_accept(unit, '=')) {
			at = as_peek(unit)->kind == AS_STRING ? as_peek(unit)->text - 1 :
								as_peek(unit)->text;
			end = unit->tokens[unit->nr_tokens - 1].text;
			value = take_argument(&at, end);
			macro->param[macro->nr_params - 1].value = strndup(value.text, value.len);
			if (!macro->param[macro->nr_params - 1].value)
				return as_memory(unit);
			while (as_peek(unit)->kind != AS_END &&
			       as_peek(unit)->text < value.text + value.len)
				as_take(unit);
		}
		as_accept(unit, ',');
		token = as_peek(unit);
	}
	return true;
}

void as_free_macro(struct as_macro *macro)
{
	unsigned int i;

	for (i = 0; macro && i < macro->nr_params; i++) {
		free(macro->param[i].name);
		free(macro->param[i].value);
	}
	if (macro) {
		free(macro->name);
		free(macro->body);
	}
	free(macro);
}

/* .local NAME, ...: names of which each use of the macro makes its own. */
static bool parse_locals(struct as_unit *unit, struct as_macro *macro)
{
	const struct as_token *token;

	if (!as_lex_line(unit))
		return false;
	unit->next = 2;
	do {
		token = as_take_own_name(unit, "a name");
		if (!token || !add_param(unit, macro, token, true))
			return false;
	} while (as_accept(unit, ','));
	return as_peek(unit)->kind == AS_END || as_expected(unit, "the end of the line");
}

static bool take_body(struct as_unit *unit, struct as_macro *macro)
{
	unsigned int line = unit->line;
	const char *body, *end;

	while (as_next_line_is(unit, "local"))
		if (!parse_locals(unit, macro))
			return false;
	body = unit->at;
	end = body;
	macro->file = unit->file;
	macro->line = unit->line;
	if (as_skip_block(unit, &macro_block, false, &end) != AS_FOUND_CLOSE)
		return as_error_at(unit, line, 1, ".macro without .endm");
	macro->size = (size_t)(end - body);
	macro->body = malloc(macro->size + 1);
	if (!macro->body)
		return as_memory(unit);
	memcpy(macro->body, body, macro->size);
	return true;
}

const struct as_macro *as_find_macro(struct as_unit *unit, const struct as_token *name)
{
	const struct as_entry *entry = as_find(unit, AS_SCOPE_MACRO, name->text, name->len);

	return entry ? entry->macro : NULL;
}

static bool define(struct as_unit *unit, const struct as_token *name, struct as_macro *macro)
{
	struct as_entry *entry;

	macro->name = as_token_copy(name);
	if (!macro->name)
		return as_memory(unit);
	if (!parse_params(unit, macro) || !take_body(unit, macro))
		return false;
	entry = as_define(unit, AS_SCOPE_MACRO, macro->name, strlen(macro->name));
	if (!entry)
		return false;
	entry->macro = macro;
	return true;
}

bool as_macro(struct as_unit *unit)
{
	const struct as_token *name = as_take_own_name(unit, "a name");
	struct as_macro *macro;

	if (!name)
		return false;
	if (as_find_isa(unit, name))
		return as_error(unit, name, "\"%.*s\" is an instruction", (int)name->len,
				name->text);
	if (as_find_macro(unit, name))
		return as_error(unit, name, "macro \"%.*s\" is there already", (int)name->len,
				name->text);
	macro = calloc(1, sizeof(*macro));
	if (!macro)
		return as_memory(unit);
	if (define(unit, name, macro))
		return true;
	as_free_macro(macro);
	return false;
}

bool as_endm(struct as_unit *unit)
{
	return as_error(unit, &unit->tokens[0], ".endm without .macro");
}

static bool put(struct expansion *out, const char *text, size_t len)
{
	size_t room = out->room ? out->room : 1024;
	size_t max = out->unit->max_statements * BYTES_PER_STATEMENT;
	char *grown;

	if (len > MAX_EXPANSION || out->size > MAX_EXPANSION - len) {
		out->unit->dead = true;
		return as_error_at(out->unit, out->unit->line, 1,
				   "one use of macro \"%.64s\" becomes more than %zu bytes",
				   out->macro->name, MAX_EXPANSION);
	}
	if (len > max || out->unit->expanded > max - len) {
		out->unit->dead = true;
		return as_error_at(out->unit, out->unit->line, 1,
				   "macros have become more than %zu bytes", max);
	}
	out->unit->expanded += len;
	while (room < out->size + len)
		room *= 2;
	if (room != out->room) {
		grown = realloc(out->text, room);
		if (!grown)
			return as_memory(out->unit);
		out->text = grown;
		out->room = room;
	}
	memcpy(out->text + out->size, text, len);
	out->size += len;
	return true;
}

static bool put_number(struct expansion *out)
{
	char number[24];

	return put(out, number, (size_t)sprintf(number, "%lu", out->use));
}

/* What stands behind a backslash at @p; *@p goes behind it. */
static bool put_param(struct expansion *out, const char **p, const char *end)
{
	const struct as_macro *macro = out->macro;
	const char *name = *p;
	const struct as_param *param;

	if (name < end && *name == '@') {
		*p = name + 1;
		return put_number(out);
	}
	if (end - name > 1 && name[0] == '(' && name[1] == ')') {
		*p = name + 2;
		return true;
	}
	while (*p < end && is_name_part(**p))
		(*p)++;
	param = find_param(macro, name, (size_t)(*p - name));
	if (!param)
		return as_error_at(out->unit, out->unit->line, 1,
				   "macro \"%.64s\" uses \"\\%.*s\", which it has not as a parameter",
				   macro->name, *p - name > 64 ? 64 : (int)(*p - name), name);
	if (param->local)
		return put(out, param->name, strlen(param->name)) && put(out, "__", 2) &&
		       put_number(out);
	return put(out, out->arg[param - macro->param].text, out->arg[param - macro->param].len);
}

/* A line of the body with values for its parameters; comments are left out. */
static bool put_line(struct expansion *out, const char *p, const char *end)
{
	bool quoted = false;
	const char *from;

	while (p < end && (quoted || *p != '#')) {
		from = p;
		if (*p != '\\') {
			quoted = quoted != (*p == '"');
			p++;
		} else if (quoted && p + 1 < end && (p[1] == '"' || p[1] == '\\')) {
			p += 2;
		} else {
			p++;
			if (!put_param(out, &p, end))
				return false;
			continue;
		}
		if (!put(out, from, (size_t)(p - from)))
			return false;
	}
	return put(out, "\n", 1);
}

static bool put_body(struct expansion *out)
{
	const char *p = out->macro->body, *end = p + out->macro->size, *line_end;

	for (; p < end; p = line_end + 1) {
		line_end = memchr(p, '\n', (size_t)(end - p));
		if (!line_end)
			line_end = end;
		if (!put_line(out, p, line_end))
			return false;
	}
	return true;
}

/* An argument with the name of its parameter, NAME=VALUE. */
static const struct as_param *named(const struct as_macro *macro, struct span *arg)
{
	const char *p = arg->text, *end = p + arg->len;
	const struct as_param *param;
	struct span name;

	while (p < end && is_name_part(*p))
		p++;
	name = trim(arg->text, p);
	while (p < end && is_blank(*p))
		p++;
	if (p == end || *p != '=' || (p + 1 < end && p[1] == '='))
		return NULL;
	param = find_param(macro, name.text, name.len);
	if (param && !param->local)
		*arg = trim(p + 1, end);
	return param && !param->local ? param : NULL;
}

static bool take_arguments(struct as_unit *unit, struct expansion *out)
{
	const struct as_macro *macro = out->macro;
	const struct as_token *place = as_peek(unit);
	struct span rest = rest_of_line(unit);
	const char *at = rest.text, *end = at + rest.len;
	const struct as_param *param;
	unsigned int next = 0;
	struct span arg;

	while (at < end) {
		arg = take_argument(&at, end);
		param = named(macro, &arg);
		if (!param && (next == macro->nr_params || macro->param[next].local))
			return as_error(unit, place, "macro \"%.64s\" takes %u arguments",
					macro->name, next);
		if (!param)
			param = &macro->param[next++];
		out->arg[param - macro->param] = arg;
	}
	return true;
}

/* What no argument was given for. */
static bool fill_arguments(struct as_unit *unit, struct expansion *out)
{
	const struct as_macro *macro = out->macro;
	unsigned int i;

	for (i = 0; i < macro->nr_params; i++) {
		const struct as_param *param = &macro->param[i];

		if (out->arg[i].len || param->local)
			continue;
		if (!param->value)
			return as_error(unit, &unit->tokens[0],
					"macro \"%.64s\" needs a value for \"%.64s\"", macro->name,
					param->name);
		out->arg[i] = (struct span){ param->value, strlen(param->value) };
	}
	return true;
}

bool as_use_macro(struct as_unit *unit, const struct as_macro *macro)
{
	struct expansion out = { .unit = unit, .macro = macro, .use = unit->uses++ };

	as_take(unit);
	if (!take_arguments(unit, &out) || !fill_arguments(unit, &out) || !put_body(&out)) {
		free(out.text);
		return false;
	}
	return as_push_text(unit, out.text, out.size, macro->file, macro->line, macro);
}

bool as_local(struct as_unit *unit)
{
	return as_error(unit, &unit->tokens[0], ".local stands right behind a .macro");
}
