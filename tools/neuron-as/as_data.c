// SPDX-License-Identifier: MIT
/* .file and what it holds. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"

#define MAX_FILE	((size_t)1 << 31)

static bool append(struct as_unit *unit, const void *bytes, size_t size)
{
	struct as_data *data = &unit->data;
	size_t room = data->room ? data->room : 4096;
	uint8_t *grown;

	if (size > MAX_FILE - data->size)
		return as_error(unit, as_peek(unit), "the file has more than 2 GiB");
	while (room < data->size + size)
		room *= 2;
	if (room != data->room) {
		grown = realloc(data->bytes, room);
		if (!grown)
			return as_memory(unit);
		data->bytes = grown;
		data->room = room;
	}
	memcpy(data->bytes + data->size, bytes, size);
	data->size += size;
	return true;
}

static bool append_stream(struct as_unit *unit, FILE *file, const struct as_token *token)
{
	char buf[65536];
	size_t n;

	while ((n = fread(buf, 1, sizeof(buf), file)))
		if (!append(unit, buf, n))
			return false;
	if (ferror(file))
		return as_error(unit, token, "\"%.*s\": %s", (int)token->len, token->text,
				strerror(errno));
	return true;
}

static bool read_file(struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);
	char *name, *path;
	FILE *file;
	bool good;

	if (!unit->options->read_files)
		return as_error(unit, token, "files are not read here");
	name = as_take_name(unit, "a path");
	if (!name)
		return false;
	path = as_host_path(unit, name);
	free(name);
	if (!path)
		return as_memory(unit);
	file = fopen(path, "rb");
	free(path);
	if (!file)
		return as_error(unit, token, "\"%.*s\": %s", (int)token->len, token->text,
				strerror(errno));
	good = append_stream(unit, file, token);
	fclose(file);
	return good;
}

bool as_file(struct as_unit *unit)
{
	unit->data.name = as_take_name(unit, "a name");
	if (!unit->data.name)
		return false;
	unit->data.place = as_here(unit, 1);
	if (as_peek(unit)->kind != AS_STRING)
		return true;
	if (!read_file(unit))
		return false;
	if (!unit->data.size)
		return as_error(unit, &unit->tokens[unit->next - 1], "the file is empty");
	return as_close_file(unit);
}

bool as_close_file(struct as_unit *unit)
{
	struct as_data *data = &unit->data;
	bool empty = data->name && !data->size;

	if (empty)
		as_error_place(unit, &data->place,
			       "the file has no contents: a path or .bytes, .halves, .words, .floats or .addresses must follow");
	if (data->name && data->size)
		nb_file(unit->nb, data->name, data->bytes, data->size);
	free(data->name);
	free(data->bytes);
	as_release_origin(data->place.origin);
	memset(data, 0, sizeof(*data));
	return !empty;
}

static bool integers(struct as_unit *unit, unsigned int bytes, const char *what)
{
	const __int128 end = (__int128)1 << (8 * bytes);
	__int128 value;
	uint32_t word;

	if (!unit->data.name)
		return as_error(unit, as_peek(unit), "no .file is open for this");
	do {
		if (!as_int(unit, -end / 2, end - 1, what, &value))
			return false;
		word = htole32((uint32_t)value);
		if (!append(unit, &word, bytes))
			return false;
	} while (as_accept(unit, ','));
	return true;
}

bool as_bytes(struct as_unit *unit)
{
	return integers(unit, 1, "a byte");
}

bool as_halves(struct as_unit *unit)
{
	return integers(unit, 2, "a 16-bit integer");
}

bool as_words(struct as_unit *unit)
{
	return integers(unit, 4, "a 32-bit integer");
}

bool as_addresses(struct as_unit *unit)
{
	struct neuron_inst inst;

	if (!unit->data.name)
		return as_error(unit, as_peek(unit), "no .file is open for this");
	do {
		if (!as_address_operand(unit, &inst) ||
		    !append(unit, &inst.addr, sizeof(inst.addr)))
			return false;
	} while (as_accept(unit, ','));
	return true;
}

bool as_floats(struct as_unit *unit)
{
	uint32_t bits;

	if (!unit->data.name)
		return as_error(unit, as_peek(unit), "no .file is open for this");
	do {
		if (!as_float(unit, &bits))
			return false;
		bits = htole32(bits);
		if (!append(unit, &bits, sizeof(bits)))
			return false;
	} while (as_accept(unit, ','));
	return true;
}
