// SPDX-License-Identifier: MIT
/* A line's words. */
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_part(char c)
{
	return is_name_start(c) || is_digit(c);
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static struct as_token *add_token(struct as_unit *unit, const char *start, const char *text,
				  int kind)
{
	struct as_token *token;

	if (unit->nr_tokens == unit->token_room) {
		size_t room = unit->token_room ? unit->token_room * 2 : 64;
		struct as_token *tokens = reallocarray(unit->tokens, room, sizeof(*tokens));

		if (!tokens) {
			as_memory(unit);
			return NULL;
		}
		unit->tokens = tokens;
		unit->token_room = room;
	}
	token = &unit->tokens[unit->nr_tokens++];
	*token = (struct as_token){
		.kind = kind,
		.column = (unsigned int)(text - start) + 1,
		.text = text,
		.len = 1,
	};
	return token;
}

static bool lex_digits(struct as_unit *unit, struct as_token *token, const char **at,
		       const char *end, unsigned int base)
{
	const char *p = *at;
	int digit;

	for (; p < end; p++) {
		digit = hex_digit(*p);
		if (digit < 0 || (unsigned int)digit >= base)
			break;
		if (__builtin_mul_overflow(token->value, base, &token->value) ||
		    __builtin_add_overflow(token->value, (unsigned int)digit, &token->value))
			return as_error(unit, token, "the number is larger than 64 bits");
	}
	if (p == *at)
		return as_error(unit, token, "0x needs hexadecimal digits");
	*at = p;
	return true;
}

/* Past a fraction and an exponent; @at when there is neither. */
static const char *skip_fraction(const char *at, const char *end)
{
	const char *p = at;

	if (p + 1 < end && *p == '.' && is_digit(p[1]))
		for (p++; p < end && is_digit(*p);)
			p++;
	if (p < end && (*p == 'e' || *p == 'E')) {
		const char *q = p + 1;

		if (q < end && (*q == '+' || *q == '-'))
			q++;
		if (q < end && is_digit(*q)) {
			while (q < end && is_digit(*q))
				q++;
			p = q;
		}
	}
	return p;
}

static bool lex_number(struct as_unit *unit, struct as_token *token, const char **at,
		       const char *end)
{
	const char *p = *at;

	token->kind = AS_INT;
	if (end - p > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		token->hex = true;
		p += 2;
		if (!lex_digits(unit, token, &p, end, 16))
			return false;
	} else {
		while (p < end && is_digit(*p))
			p++;
		if (skip_fraction(p, end) != p) {
			token->kind = AS_FLOAT;
			p = skip_fraction(p, end);
		} else {
			p = *at;
			if (!lex_digits(unit, token, &p, end, 10))
				return false;
		}
	}
	if (p < end && is_name_part(*p))
		return as_error(unit, token, "\"%.*s\" is not a number",
				(int)(p - token->text) + 1, token->text);
	token->len = (size_t)(p - token->text);
	*at = p;
	return true;
}

static bool lex_string(struct as_unit *unit, struct as_token *token, const char **at,
		       const char *end)
{
	const char *p = *at + 1;

	token->kind = AS_STRING;
	token->text = p;
	for (; p < end && *p != '"'; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return as_error(unit, token, "control character in a string");
		if (*p == '\\') {
			p++;
			if (p == end || (*p != '"' && *p != '\\'))
				return as_error(unit, token, "a backslash goes before \" or \\");
		}
	}
	if (p == end)
		return as_error(unit, token, "the string has no closing quote");
	token->len = (size_t)(p - token->text);
	*at = p + 1;
	return true;
}

static int pair_kind(char first)
{
	switch (first) {
	case '>':
		return AS_GE;
	case '=':
		return AS_EQ;
	case '+':
		return AS_ADD;
	case '-':
		return AS_SUB;
	default:
		return 0;
	}
}

static bool is_mark(char c)
{
	switch (c) {
	case '.':
	case ',':
	case ':':
	case '[':
	case ']':
	case '(':
	case ')':
	case '+':
	case '-':
	case '*':
	case '/':
	case '@':
	case '=':
		return true;
	default:
		return false;
	}
}

static bool lex_mark(struct as_unit *unit, struct as_token *token, const char **at,
		     const char *end)
{
	const char *p = *at;

	if (end - p > 1 && p[1] == '=' && pair_kind(*p)) {
		token->kind = pair_kind(*p);
		token->len = 2;
		*at = p + 2;
		return true;
	}
	if (!is_mark(*p)) {
		if (*p > ' ' && *p < 0x7f)
			return as_error(unit, token, "unexpected \"%c\"", *p);
		return as_error(unit, token, "unexpected byte 0x%02x", (unsigned char)*p);
	}
	*at = p + 1;
	return true;
}

static bool lex_word(struct as_unit *unit, struct as_token *token, const char **at,
		     const char *end)
{
	const char *p = *at;

	if (is_digit(*p))
		return lex_number(unit, token, at, end);
	if (*p == '"')
		return lex_string(unit, token, at, end);
	if (!is_name_start(*p))
		return lex_mark(unit, token, at, end);
	while (p < end && is_name_part(*p))
		p++;
	token->kind = AS_NAME;
	token->len = (size_t)(p - *at);
	*at = p;
	return true;
}

bool as_lex_line(struct as_unit *unit)
{
	const char *start = unit->at;
	const char *end = memchr(start, '\n', (size_t)(unit->end - start));
	const char *p = start;
	struct as_token *token;

	if (!end)
		end = unit->end;
	unit->at = end < unit->end ? end + 1 : end;
	unit->line++;
	unit->nr_tokens = 0;
	unit->next = 0;
	if (end > start && end[-1] == '\r')
		end--;
	for (;;) {
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (p == end || *p == '#')
			break;
		token = add_token(unit, start, p, *p);
		if (!token || !lex_word(unit, token, &p, end))
			return false;
	}
	return add_token(unit, start, p, AS_END);
}

bool as_expect(struct as_unit *unit, int kind, const char *what)
{
	return as_accept(unit, kind) || as_expected(unit, what);
}

bool as_numbered(const struct as_token *token, char letter, uint32_t *number)
{
	uint32_t value = 0;
	size_t i;

	if (token->kind != AS_NAME || token->len < 2 || token->len > 9 ||
	    token->text[0] != letter)
		return false;
	for (i = 1; i < token->len; i++) {
		if (!is_digit(token->text[i]))
			return false;
		value = value * 10 + (uint32_t)(token->text[i] - '0');
	}
	*number = value;
	return true;
}

char *as_token_copy(const struct as_token *token)
{
	char *copy = malloc(token->len + 1);
	size_t i, n = 0;

	if (!copy)
		return NULL;
	for (i = 0; i < token->len; i++) {
		if (token->kind == AS_STRING && token->text[i] == '\\')
			i++;
		copy[n++] = token->text[i];
	}
	copy[n] = '\0';
	return copy;
}

char *as_take_name(struct as_unit *unit, const char *what)
{
	const struct as_token *token = as_peek(unit);
	char *name;

	if (token->kind != AS_NAME && token->kind != AS_STRING) {
		as_expected(unit, what);
		return NULL;
	}
	name = as_token_copy(as_take(unit));
	if (!name)
		as_memory(unit);
	return name;
}

const struct as_token *as_take_own_name(struct as_unit *unit, const char *what)
{
	const struct as_token *token = as_peek(unit);
	uint32_t number;

	if (token->kind != AS_NAME) {
		as_expected(unit, what);
		return NULL;
	}
	if (as_numbered(token, 'r', &number) || as_numbered(token, 's', &number) ||
	    as_numbered(token, 'q', &number) || as_numbered(token, 'w', &number) ||
	    as_token_is(token, "sbuf") || as_token_is(token, "psum")) {
		as_error(unit, token, "\"%.*s\" is a name of the machine; choose another",
			 (int)token->len, token->text);
		return NULL;
	}
	return as_take(unit);
}
