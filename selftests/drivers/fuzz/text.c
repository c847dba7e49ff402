// SPDX-License-Identifier: MIT
/*
 * Programs as text.
 *
 *	program threads=2
 *	CLAIM count=0x1
 *	GRANT @file=1 @size=24 @fail=3 claim=$claim0 core=$core0 count=0x4
 *	POST claim=$claim0 entries=[{counter=0x1 add=0x5} {}]
 *
 * A line is a call: its name, what is said of the call itself (which open file, another size
 * of the struct, which allocation fails), then its fields in their order. What is not written
 * is zero. $claim0 is the first claim that the program has got. Fields that there are several
 * of have commas between them; an array may begin with its mode and its stride: [/1/0 {}].
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* Values that a field has in the row when it is no array. */
static unsigned int numbers_in(const struct fuzz_field *field)
{
	if (field->kind == FUZZ_HANDLES || field->kind == FUZZ_POINTS)
		return FUZZ_NR_HANDLES;
	return 1;
}

static const struct fuzz_value *write_fields(FILE *to, const struct fuzz_struct *type,
					     const struct fuzz_value *value);

static void write_number(FILE *to, const struct fuzz_value *value)
{
	if (value->resource)
		fprintf(to, "$%s%llu", fuzz_resource_names[value->resource],
			(unsigned long long)value->v);
	else
		fprintf(to, "0x%llx", (unsigned long long)value->v);
}

static const struct fuzz_value *write_array(FILE *to, const struct fuzz_field *field,
					    const struct fuzz_value *value)
{
	uint64_t i, count = value[FUZZ_ARRAY_COUNT].v;

	fprintf(to, "[");
	if (value[FUZZ_ARRAY_MODE].v || value[FUZZ_ARRAY_STRIDE].v)
		fprintf(to, "/%llu/%llu ", (unsigned long long)value[FUZZ_ARRAY_MODE].v,
			(unsigned long long)value[FUZZ_ARRAY_STRIDE].v);
	value += FUZZ_ARRAY_PARTS;
	for (i = 0; i < count; i++) {
		fprintf(to, i ? " {" : "{");
		value = write_fields(to, field->element, value);
		fprintf(to, "}");
	}
	fprintf(to, "]");
	return value;
}

static const struct fuzz_value *write_item(FILE *to, const struct fuzz_field *field,
					   const struct fuzz_value *value)
{
	unsigned int i;

	if (field->kind == FUZZ_ARRAY)
		return write_array(to, field, value);
	if (field->kind == FUZZ_STRUCT) {
		fprintf(to, "{");
		value = write_fields(to, field->element, value);
		fprintf(to, "}");
		return value;
	}
	for (i = 0; i < numbers_in(field); i++) {
		if (i)
			fprintf(to, ",");
		write_number(to, value++);
	}
	return value;
}

/* The value behind those of @field, of which @zero says whether all are zero. */
static const struct fuzz_value *skip_field(const struct fuzz_field *field,
					   const struct fuzz_value *value, bool *zero)
{
	unsigned int i, j, n;
	uint64_t elements = 1;

	if (field->kind == FUZZ_ARRAY) {
		elements = value[FUZZ_ARRAY_COUNT].v;
		*zero &= !elements && !value[FUZZ_ARRAY_MODE].v && !value[FUZZ_ARRAY_STRIDE].v;
		value += FUZZ_ARRAY_PARTS;
	}
	if (field->kind == FUZZ_ARRAY || field->kind == FUZZ_STRUCT) {
		for (; elements; elements--)
			for (i = 0; i < field->element->nr_fields; i++)
				for (j = 0; j < field->element->fields[i].repeat; j++)
					value = skip_field(&field->element->fields[i], value, zero);
		return value;
	}
	for (n = numbers_in(field); n; n--, value++)
		*zero &= !value->v && !value->resource;
	return value;
}

static const struct fuzz_value *write_fields(FILE *to, const struct fuzz_struct *type,
					     const struct fuzz_value *value)
{
	const struct fuzz_field *field;
	const struct fuzz_value *end;
	const char *space = "";
	unsigned int i, j;
	bool zero;

	for (i = 0; i < type->nr_fields; i++) {
		field = &type->fields[i];
		zero = true;
		for (end = value, j = 0; j < field->repeat; j++)
			end = skip_field(field, end, &zero);
		if (zero) {
			value = end;
			continue;
		}
		fprintf(to, "%s%s=", space, field->name);
		for (j = 0; j < field->repeat; j++) {
			if (j)
				fprintf(to, ",");
			value = write_item(to, field, value);
		}
		space = " ";
	}
	return value;
}

void fuzz_write(FILE *to, const struct fuzz_program *program)
{
	const struct fuzz_call *call;
	uint32_t i;

	fprintf(to, "program threads=%u\n", program->threads);
	for (i = 0; i < program->count; i++) {
		call = &program->call[i];
		fprintf(to, "%s", fuzz_calls[call->id].name);
		if (call->file)
			fprintf(to, " @file=%u", call->file);
		if (call->size)
			fprintf(to, " @size=%u", call->size);
		if (call->fail)
			fprintf(to, " @fail=%u", call->fail);
		fprintf(to, " ");
		write_fields(to, fuzz_calls[call->id].args, call->values.value);
		fprintf(to, "\n");
	}
	fprintf(to, "\n");
}

/**
 * struct reader - where reading is
 * @at: next letter of the line
 * @error: first complaint, or empty
 * @size: bytes of @error
 */
struct reader {
	const char *at;
	char *error;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
static void complain(struct reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!reader->error[0])
		vsnprintf(reader->error, reader->size, format, args);
	va_end(args);
}

static bool take(struct reader *reader, char letter)
{
	if (*reader->at != letter)
		return false;
	reader->at++;
	return true;
}

static void skip_space(struct reader *reader)
{
	while (*reader->at == ' ')
		reader->at++;
}

static void read_fields(struct reader *reader, const struct fuzz_struct *type, char end,
			struct fuzz_values *to);

static uint64_t read_plain(struct reader *reader)
{
	char *end;
	uint64_t v = strtoull(reader->at, &end, 0);

	if (end == reader->at)
		complain(reader, "no number at '%.20s'", reader->at);
	reader->at = end;
	return v;
}

static void read_number(struct reader *reader, struct fuzz_values *to)
{
	unsigned int i;
	size_t length;

	if (!take(reader, '$')) {
		fuzz_values_add(to, read_plain(reader), 0);
		return;
	}
	for (i = 1; i < FUZZ_NR_RESOURCES; i++) {
		length = strlen(fuzz_resource_names[i]);
		if (strncmp(reader->at, fuzz_resource_names[i], length) ||
		    !isdigit((unsigned char)reader->at[length]))
			continue;
		reader->at += length;
		fuzz_values_add(to, read_plain(reader), (uint8_t)i);
		return;
	}
	complain(reader, "no resource is called '$%.20s'", reader->at);
}

static void read_array(struct reader *reader, const struct fuzz_field *field,
		       struct fuzz_values *to)
{
	uint32_t parts = to->count;

	fuzz_values_add(to, 0, 0);
	fuzz_values_add(to, 0, 0);
	fuzz_values_add(to, 0, 0);
	if (!take(reader, '[')) {
		complain(reader, "no '[' at '%.20s'", reader->at);
		return;
	}
	if (take(reader, '/')) {
		to->value[parts + FUZZ_ARRAY_MODE].v = read_plain(reader);
		if (take(reader, '/'))
			to->value[parts + FUZZ_ARRAY_STRIDE].v = read_plain(reader);
	}
	for (skip_space(reader); take(reader, '{'); skip_space(reader)) {
		read_fields(reader, field->element, '}', to);
		to->value[parts + FUZZ_ARRAY_COUNT].v++;
	}
	if (!take(reader, ']'))
		complain(reader, "no ']' at '%.20s'", reader->at);
}

static void read_item(struct reader *reader, const struct fuzz_field *field,
		      struct fuzz_values *to)
{
	unsigned int i;

	if (field->kind == FUZZ_ARRAY) {
		read_array(reader, field, to);
		return;
	}
	if (field->kind == FUZZ_STRUCT) {
		if (!take(reader, '{'))
			complain(reader, "no '{' at '%.20s'", reader->at);
		read_fields(reader, field->element, '}', to);
		return;
	}
	for (i = 0; i < numbers_in(field); i++) {
		if (i && !take(reader, ','))
			complain(reader, "no ',' at '%.20s'", reader->at);
		read_number(reader, to);
	}
}

static void zero_item(const struct fuzz_field *field, struct fuzz_values *to)
{
	unsigned int i, j;

	if (field->kind != FUZZ_STRUCT) {
		j = field->kind == FUZZ_ARRAY ? FUZZ_ARRAY_PARTS : numbers_in(field);
		for (i = 0; i < j; i++)
			fuzz_values_add(to, 0, 0);
		return;
	}
	for (i = 0; i < field->element->nr_fields; i++)
		for (j = 0; j < field->element->fields[i].repeat; j++)
			zero_item(&field->element->fields[i], to);
}

/* Fields come in the order of the struct; those that are left out are zero. */
static void read_fields(struct reader *reader, const struct fuzz_struct *type, char end,
			struct fuzz_values *to)
{
	const struct fuzz_field *field;
	size_t length;
	unsigned int i, j;
	bool given;

	for (i = 0; i < type->nr_fields; i++) {
		field = &type->fields[i];
		length = strlen(field->name);
		skip_space(reader);
		given = !strncmp(reader->at, field->name, length) && reader->at[length] == '=';
		if (given)
			reader->at += length + 1;
		for (j = 0; j < field->repeat; j++) {
			if (given && j && !take(reader, ','))
				complain(reader, "no ',' at '%.20s'", reader->at);
			if (given && !reader->error[0])
				read_item(reader, field, to);
			else
				zero_item(field, to);
		}
	}
	skip_space(reader);
	if (*reader->at != end)
		complain(reader, "%s has no such field, or not there: '%.20s'", type->name,
			 reader->at);
	else if (end)
		reader->at++;
}

/* The number behind @name, if that is next; else 0. */
static uint64_t read_option(struct reader *reader, const char *name)
{
	size_t length = strlen(name);

	skip_space(reader);
	if (strncmp(reader->at, name, length))
		return 0;
	reader->at += length;
	return read_plain(reader);
}

static void read_call(struct reader *reader, struct fuzz_program *program)
{
	size_t length = strcspn(reader->at, " ");
	int id = fuzz_call_named(reader->at, length);
	struct fuzz_call *call;

	if (id < 0) {
		complain(reader, "no call is named '%.*s'", (int)length, reader->at);
		return;
	}
	if (program->count == FUZZ_MAX_CALLS) {
		complain(reader, "more than %d calls", FUZZ_MAX_CALLS);
		return;
	}
	call = &program->call[program->count++];
	*call = (struct fuzz_call){ .id = (uint8_t)id };
	reader->at += length;
	call->file = (uint8_t)read_option(reader, "@file=");
	call->size = (uint16_t)read_option(reader, "@size=");
	call->fail = (uint8_t)read_option(reader, "@fail=");
	read_fields(reader, fuzz_calls[id].args, '\0', &call->values);
}

static void read_head(struct reader *reader, struct fuzz_program *program)
{
	static const char head[] = "program threads=";

	if (strncmp(reader->at, head, sizeof(head) - 1)) {
		complain(reader, "no '%s' at '%.20s'", head, reader->at);
		return;
	}
	reader->at += sizeof(head) - 1;
	program->threads = (uint32_t)read_plain(reader);
	if (!program->threads || program->threads > FUZZ_MAX_THREADS)
		complain(reader, "%u threads; there are 1 to %d", program->threads,
			 FUZZ_MAX_THREADS);
}

int fuzz_read(FILE *from, struct fuzz_program *program, char *error, size_t size)
{
	struct reader reader = { .error = error, .size = size };
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	*program = (struct fuzz_program){ 0 };
	error[0] = '\0';
	while (!error[0]) {
		length = getline(&line, &room, from);
		if (length < 0)
			break;
		line[strcspn(line, "\n")] = '\0';
		reader.at = line;
		if (line[0] == '#')
			continue;
		if (!line[0] && program->threads)
			break;
		if (!line[0])
			continue;
		if (!program->threads)
			read_head(&reader, program);
		else
			read_call(&reader, program);
	}
	free(line);
	if (!error[0])
		return program->threads ? 1 : 0;
	fuzz_program_free(program);
	return -1;
}
