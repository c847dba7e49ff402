// SPDX-License-Identifier: MIT
#include <string.h>

#include "events.h"

struct json_object *parse_events(const char *text, struct json_object **root, uint64_t *dropped)
{
	struct json_object *member, *events = NULL;

	*root = json_tokener_parse(text);
	if (dropped && json_object_object_get_ex(*root, "dropped_events", &member))
		*dropped = (uint64_t)json_object_get_int64(member);
	json_object_object_get_ex(*root, "trace_events", &events);
	return events;
}

const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(object, key, &member) ?
		       json_object_get_string(member) : "";
}

int64_t int_of(struct json_object *object, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(object, key, &member) ?
		       json_object_get_int64(member) : -1;
}

unsigned int count_events(struct json_object *events, const char *name)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; events && i < json_object_array_length(events); i++)
		count += !strcmp(text_of(json_object_array_get_idx(events, i), "name"), name);
	return count;
}

struct json_object *find_event(struct json_object *events, const char *name)
{
	size_t i;

	for (i = 0; events && i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);

		if (!strcmp(text_of(event, "name"), name))
			return event;
	}
	return NULL;
}
