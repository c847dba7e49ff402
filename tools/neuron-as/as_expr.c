// SPDX-License-Identifier: MIT
/* Constant expressions and floats. */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"

/* Values in between stay far below what the type holds. */
#define LIMIT		((__int128)1 << 65)
#define MAX_DEPTH	64

static bool expression(struct as_unit *unit, unsigned int depth, __int128 *value);

static bool symbol(struct as_unit *unit, __int128 *value)
{
	const struct as_token *token = as_take(unit);
	const struct as_entry *entry = as_find(unit, AS_SCOPE_SYMBOL, token->text, token->len);

	if (!entry)
		return as_error(unit, token, "\"%.*s\" has no value; .set gives it one",
				(int)token->len, token->text);
	if (entry->is_float)
		return as_error(unit, token, "\"%.*s\" is a float; an integer is needed",
				(int)token->len, token->text);
	*value = entry->value;
	return true;
}

static bool primary(struct as_unit *unit, unsigned int depth, __int128 *value)
{
	const struct as_token *token = as_peek(unit);

	if (depth > MAX_DEPTH)
		return as_error(unit, token, "more than %d parentheses in each other", MAX_DEPTH);
	switch (token->kind) {
	case AS_INT:
		*value = as_take(unit)->value;
		return true;
	case AS_NAME:
		return symbol(unit, value);
	case '(':
		as_take(unit);
		return expression(unit, depth + 1, value) && as_expect(unit, ')', "\")\"");
	case AS_FLOAT:
		return as_error(unit, token, "an integer is needed here");
	default:
		return as_expected(unit, "a number");
	}
}

static bool unary(struct as_unit *unit, unsigned int depth, __int128 *value)
{
	bool negative = false;

	while (as_accept(unit, '-'))
		negative = !negative;
	if (!primary(unit, depth, value))
		return false;
	if (negative)
		*value = -*value;
	return true;
}

static bool in_limits(struct as_unit *unit, const struct as_token *token, __int128 value)
{
	return (value < LIMIT && value > -LIMIT) ||
	       as_error(unit, token, "the expression leaves 64 bits");
}

/*
 * A product of two numbers in the limits, or LIMIT if it is beyond. Of 128 bits, a builtin that
 * tells of an overflow is a function that not every compiler's library has.
 */
static __int128 product(__int128 a, __int128 b)
{
	const __int128 x = a < 0 ? -a : a, y = b < 0 ? -b : b;

	return y && x > LIMIT / y ? LIMIT : a * b;
}

static bool term(struct as_unit *unit, unsigned int depth, __int128 *value)
{
	__int128 right;

	if (!unary(unit, depth, value))
		return false;
	while (as_peek(unit)->kind == '*' || as_peek(unit)->kind == '/') {
		size_t at = unit->next;
		int kind = as_take(unit)->kind;

		if (!unary(unit, depth, &right))
			return false;
		if (kind == '/' && !right)
			return as_error(unit, &unit->tokens[at], "division by zero");
		if (kind == '/')
			*value /= right;
		else
			*value = product(*value, right);
		if (!in_limits(unit, &unit->tokens[at], *value))
			return false;
	}
	return true;
}

/* "+ r1" after an offset is not part of the expression. */
static bool adds_register(const struct as_unit *unit)
{
	uint32_t number;

	return as_peek(unit)->kind == '+' &&
	       as_numbered(&unit->tokens[unit->next + 1], 'r', &number);
}

static bool expression(struct as_unit *unit, unsigned int depth, __int128 *value)
{
	__int128 right;

	if (!term(unit, depth, value))
		return false;
	while ((as_peek(unit)->kind == '+' || as_peek(unit)->kind == '-') &&
	       !adds_register(unit)) {
		size_t at = unit->next;
		int kind = as_take(unit)->kind;

		if (!term(unit, depth, &right))
			return false;
		*value += kind == '+' ? right : -right;
		if (!in_limits(unit, &unit->tokens[at], *value))
			return false;
	}
	return true;
}

static bool check_range(struct as_unit *unit, size_t at, __int128 min, __int128 max,
			const char *what, __int128 value)
{
	if (value >= min && value <= max)
		return true;
	if (max > INT64_MAX)
		return as_error(unit, &unit->tokens[at], "%s must be %lld or more, in 64 bits",
				what, (long long)min);
	return as_error(unit, &unit->tokens[at], "%s must be %lld to %lld", what, (long long)min,
			(long long)max);
}

bool as_int(struct as_unit *unit, __int128 min, __int128 max, const char *what, __int128 *value)
{
	size_t at = unit->next;

	return expression(unit, 0, value) && check_range(unit, at, min, max, what, *value);
}

bool as_uint(struct as_unit *unit, uint64_t max, const char *what, uint64_t *value)
{
	__int128 wide;

	if (!as_int(unit, 0, max, what, &wide))
		return false;
	*value = (uint64_t)wide;
	return true;
}

bool as_word(struct as_unit *unit, uint32_t *value)
{
	__int128 wide;

	if (!as_int(unit, INT32_MIN, UINT32_MAX, "a 32-bit integer", &wide))
		return false;
	*value = (uint32_t)wide;
	return true;
}

bool as_primary(struct as_unit *unit, __int128 min, __int128 max, const char *what,
		__int128 *value)
{
	size_t at = unit->next;

	return primary(unit, 0, value) && check_range(unit, at, min, max, what, *value);
}

static uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* A decimal literal, rounded once. */
static bool float_literal(struct as_unit *unit, bool negative, uint32_t *bits)
{
	const struct as_token *token = as_take(unit);
	char copy[64], *text = copy;
	float value;

	if (token->len < sizeof(copy)) {
		memcpy(copy, token->text, token->len);
		copy[token->len] = '\0';
	} else {
		text = as_token_copy(token);
	}
	if (!text)
		return as_memory(unit);
	value = strtof(text, NULL);
	if (text != copy)
		free(text);
	if (isinf(value))
		return as_error(unit, token, "the number is too large for fp32");
	*bits = float_bits(negative ? -value : value);
	return true;
}

static bool float_symbol(struct as_unit *unit, bool negative, uint32_t *bits)
{
	const struct as_token *token = as_peek(unit);
	const struct as_entry *entry = as_find(unit, AS_SCOPE_SYMBOL, token->text, token->len);

	if (!entry || !entry->is_float)
		return false;
	as_take(unit);
	*bits = entry->bits ^ (negative ? 1u << 31 : 0);
	return true;
}

bool as_float(struct as_unit *unit, uint32_t *bits)
{
	size_t at = unit->next;
	const struct as_token *token;
	bool negative = as_accept(unit, '-');
	__int128 value;

	token = as_peek(unit);
	if (token->kind == AS_FLOAT || (token->kind == AS_INT && !token->hex))
		return float_literal(unit, negative, bits);
	if (token->kind == AS_INT && negative)
		return as_error(unit, token, "the bits of a float have no sign");
	if (token->kind == AS_INT) {
		as_take(unit);
		*bits = (uint32_t)token->value;
		return token->value <= UINT32_MAX ||
		       as_error(unit, token, "the bits of a float are 32");
	}
	if (token->kind == AS_NAME && float_symbol(unit, negative, bits))
		return true;
	if (token->kind != AS_NAME && token->kind != '(')
		return as_expected(unit, "a number");
	unit->next = at;
	if (!expression(unit, 0, &value))
		return false;
	*bits = float_bits((float)value);
	return true;
}
