// SPDX-License-Identifier: MIT
/* Values of the document. */
#include <stdio.h>
#include <string.h>

#include "monitor.h"

/* Bytes of the character that begins at @text, as UTF-8 allows it; 0: it is none. */
static size_t character(const unsigned char *text)
{
	static const struct {
		unsigned char mask, mark;
		unsigned int least;
	} leads[] = {
		{ 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 },
	};
	unsigned int value;
	size_t length, i;

	for (length = 1; length <= 4; length++)
		if ((text[0] & leads[length - 1].mask) == leads[length - 1].mark)
			break;
	if (length > 4)
		return 0;
	value = text[0] & (unsigned char)~leads[length - 1].mask;
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < leads[length - 1].least || value > 0x10ffff ||
	    (value >= 0xd800 && value < 0xe000))
		return 0;
	return length;
}

json_object *value_text(const char *text)
{
	char clean[512];
	size_t used = 0, length;

	while (*text && used < sizeof(clean) - 4) {
		length = character((const unsigned char *)text);
		if (length)
			memcpy(clean + used, text, length);
		else
			clean[used] = '?';
		used += length ? length : 1;
		text += length ? length : 1;
	}
	return json_object_new_string_len(clean, (int)used);
}

json_object *value_number(double value, int digits)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f", digits, value);
	return json_object_new_double_s(value, text);
}

json_object *value_count(uint64_t count)
{
	return json_object_new_uint64(count);
}

void value_add(json_object *object, const char *key, json_object *value)
{
	if (!object || json_object_object_add(object, key, value))
		json_object_put(value);
}

void value_append(json_object *array, json_object *value)
{
	if (!array || json_object_array_add(array, value))
		json_object_put(value);
}

json_object *value_group(uint64_t from_ns, uint64_t to_ns)
{
	json_object *group = json_object_new_object();

	value_add(group, "period", value_number((double)(to_ns - from_ns) / 1e9, 9));
	return group;
}
