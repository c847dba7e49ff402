// SPDX-License-Identifier: MIT
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "neff/json.h"

#define NEFF_JSON_DEPTH	16
/* Of a list of names in an error. */
#define LIST_ROOM	400
/* Of a place like: element 3 of "files". */
#define PLACE_ROOM	96

static const char *type_of(struct json_object *value)
{
	return json_type_to_name(json_object_get_type(value));
}

/* "a, b, c"; some of the @names may be NULL. */
static const char *list_names(const char *const *names, size_t count, char text[LIST_ROOM])
{
	size_t i, used = 0;

	text[0] = '\0';
	for (i = 0; i < count && used < LIST_ROOM; i++)
		if (names[i])
			used += (size_t)snprintf(text + used, LIST_ROOM - used, "%s%s",
						 used ? ", " : "", names[i]);
	return text;
}

NRT_STATUS neff_json_parse(const struct neff_file *file, struct json_object **root,
			   struct nrt_error *error)
{
	struct json_tokener *tokener;
	struct json_object *object;
	enum json_tokener_error code;

	if (file->size > INT_MAX)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: %zu bytes, and a description has at most %d",
				     file->name, file->size, INT_MAX);
	tokener = json_tokener_new_ex(NEFF_JSON_DEPTH);
	if (!tokener)
		return nrt_error_memory(error);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	object = json_tokener_parse_ex(tokener, (const char *)file->data, (int)file->size);
	code = json_tokener_get_error(tokener);
	if (code != json_tokener_success) {
		nrt_error_set(error, NRT_INVALID,
			      "NEFF: %s: not JSON at byte %zu: %s; neuron-packager print shows the file",
			      file->name, json_tokener_get_parse_end(tokener),
			      code == json_tokener_continue ? "the text ends too early" :
							      json_tokener_error_desc(code));
		json_tokener_free(tokener);
		return error->status;
	}
	json_tokener_free(tokener);
	if (neff_json_object(object, file->name, error)) {
		json_object_put(object);
		return error->status;
	}
	*root = object;
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_object(struct json_object *value, const char *where,
			    struct nrt_error *error)
{
	if (json_object_is_type(value, json_type_object))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID, "NEFF: %s: must be of type object, not %s", where,
			     type_of(value));
}

NRT_STATUS neff_json_only(struct json_object *object, const char *where,
			  const char *const *allowed, struct nrt_error *error)
{
	struct json_object_iterator it = json_object_iter_begin(object);
	struct json_object_iterator end = json_object_iter_end(object);
	char list[LIST_ROOM];

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);
		const char *const *name = allowed;

		while (*name && strcmp(*name, key))
			name++;
		if (!*name)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: %s: key \"%.64s\" is not supported, only %s",
					     where, key,
					     list_names(allowed, (size_t)(name - allowed), list));
	}
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_get(struct json_object *object, const char *where, const char *key,
			 enum json_type type, bool required, struct json_object **out,
			 struct nrt_error *error)
{
	*out = NULL;
	if (!json_object_object_get_ex(object, key, out)) {
		if (!required)
			return NRT_SUCCESS;
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: key \"%s\" is missing; it must be of type %s",
				     where, key, json_type_to_name(type));
	}
	if (!json_object_is_type(*out, type))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s\" must be of type %s, not %s", where, key,
				     json_type_to_name(type), type_of(*out));
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_element(struct json_object *list, size_t i, const char *where,
			     const char *key, enum json_type type, struct json_object **out,
			     struct nrt_error *error)
{
	*out = json_object_array_get_idx(list, i);
	if (json_object_is_type(*out, type))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "NEFF: %s: element %zu of \"%s\" must be of type %s, not %s", where, i,
			     key, json_type_to_name(type), type_of(*out));
}

static NRT_STATUS check_range(struct json_object *number, const char *where, const char *place,
			      int64_t min, int64_t max, int64_t *out, struct nrt_error *error)
{
	int64_t value = json_object_get_int64(number);

	if (value < min || value > max)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: %s is %lld, outside of %lld to %lld",
				     where, place, (long long)value, (long long)min,
				     (long long)max);
	*out = value;
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_int(struct json_object *object, const char *where, const char *key,
			 int64_t min, int64_t max, int64_t *out, struct nrt_error *error)
{
	struct json_object *number;
	char place[PLACE_ROOM];

	if (neff_json_get(object, where, key, json_type_int, true, &number, error))
		return error->status;
	snprintf(place, sizeof(place), "\"%s\"", key);
	return check_range(number, where, place, min, max, out, error);
}

NRT_STATUS neff_json_int_or(struct json_object *object, const char *where, const char *key,
			    int64_t min, int64_t max, int64_t fallback, int64_t *out,
			    struct nrt_error *error)
{
	if (!json_object_object_get_ex(object, key, NULL)) {
		*out = fallback;
		return NRT_SUCCESS;
	}
	return neff_json_int(object, where, key, min, max, out, error);
}

NRT_STATUS neff_json_string(struct json_object *object, const char *where, const char *key,
			    const char **out, struct nrt_error *error)
{
	struct json_object *string;

	if (neff_json_get(object, where, key, json_type_string, true, &string, error))
		return error->status;
	*out = json_object_get_string(string);
	if (strlen(*out) != (size_t)json_object_get_string_len(string))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s\" must not contain \\u0000", where, key);
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_choice(struct json_object *object, const char *where, const char *key,
			    const char *const *names, unsigned int count, unsigned int *index,
			    struct nrt_error *error)
{
	char list[LIST_ROOM];
	const char *name;
	unsigned int i;

	if (neff_json_string(object, where, key, &name, error))
		return error->status;
	for (i = 0; i < count; i++) {
		if (!names[i] || strcmp(names[i], name))
			continue;
		*index = i;
		return NRT_SUCCESS;
	}
	return nrt_error_set(error, NRT_INVALID,
			     "NEFF: %s: %s \"%.32s\" is not supported, only %s", where, key, name,
			     list_names(names, count, list));
}

NRT_STATUS neff_json_dtype(struct json_object *object, const char *where, const char *key,
			   enum neuron_dtype *dtype, struct nrt_error *error)
{
	const char *names[NEURON_NR_DTYPES];
	unsigned int i;

	for (i = 0; i < NEURON_NR_DTYPES; i++)
		names[i] = neff_dtype_name(i);
	if (neff_json_choice(object, where, key, names, NEURON_NR_DTYPES, &i, error))
		return error->status;
	*dtype = (enum neuron_dtype)i;
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_fabric_path(struct json_object *object, const char *where,
				 struct nrt_error *error)
{
	static const char *const paths[] = { "main" };
	unsigned int path;

	if (!json_object_object_get_ex(object, "fabric_path", NULL))
		return NRT_SUCCESS;
	return neff_json_choice(object, where, "fabric_path", paths, 1, &path, error);
}

NRT_STATUS neff_json_var(const struct neff_graph *graph, struct json_object *object,
			 const char *where, const char *key, unsigned int *index,
			 struct nrt_error *error)
{
	const struct neff_var *var;
	const char *name;

	if (neff_json_string(object, where, key, &name, error))
		return error->status;
	var = neff_find_var(graph, name);
	if (!var)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: %s \"%.200s\" is not in \"var\" of def.json", where,
				     key, name);
	*index = (unsigned int)(var - graph->vars);
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_element_int(struct json_object *list, size_t i, const char *where,
				 const char *key, int64_t min, int64_t max, int64_t *out,
				 struct nrt_error *error)
{
	struct json_object *number;
	char place[PLACE_ROOM];

	if (neff_json_element(list, i, where, key, json_type_int, &number, error))
		return error->status;
	snprintf(place, sizeof(place), "element %zu of \"%s\"", i, key);
	return check_range(number, where, place, min, max, out, error);
}

NRT_STATUS neff_json_ints(struct json_object *object, const char *where, const char *key,
			  int64_t min, int64_t max, int64_t *out, unsigned int room,
			  unsigned int *count, struct nrt_error *error)
{
	struct json_object *array;
	size_t length, i;

	if (neff_json_get(object, where, key, json_type_array, true, &array, error))
		return error->status;
	length = json_object_array_length(array);
	if (!length || length > room)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s\" has %zu elements, not 1 to %u", where, key,
				     length, room);
	for (i = 0; i < length; i++)
		if (neff_json_element_int(array, i, where, key, min, max, &out[i], error))
			return error->status;
	*count = (unsigned int)length;
	return NRT_SUCCESS;
}
