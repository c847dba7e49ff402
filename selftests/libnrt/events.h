/* SPDX-License-Identifier: MIT */
/*
 * The events of a system trace, as tests look at them.
 */
#ifndef SELFTESTS_LIBNRT_EVENTS_H
#define SELFTESTS_LIBNRT_EVENTS_H

#include <json-c/json.h>
#include <stdint.h>

/* The events of a text that is fetched or written; they end with *@root. @dropped may be NULL. */
struct json_object *parse_events(const char *text, struct json_object **root, uint64_t *dropped);

/* A member of an object; "" and -1: it has none. */
const char *text_of(struct json_object *object, const char *key);
int64_t int_of(struct json_object *object, const char *key);

/* How many events have that name; the first one, or NULL. */
unsigned int count_events(struct json_object *events, const char *name);
struct json_object *find_event(struct json_object *events, const char *name);

#endif /* SELFTESTS_LIBNRT_EVENTS_H */
