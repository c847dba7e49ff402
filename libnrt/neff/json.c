// SPDX-License-Identifier: MIT
#include <limits.h>
#include <string.h>

#include "neff/json.h"

#define NEFF_JSON_DEPTH	16

NRT_STATUS neff_json_parse(const struct neff_file *file, struct json_object **root,
			   struct nrt_error *error)
{
	struct json_tokener *tokener;
	struct json_object *object;
	enum json_tokener_error code;

	if (file->size > INT_MAX)
		return nrt_error_set(error, NRT_INVALID, "NEFF: %s: too large", file->name);
	tokener = json_tokener_new_ex(NEFF_JSON_DEPTH);
	if (!tokener)
		return nrt_error_memory(error);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	object = json_tokener_parse_ex(tokener, (const char *)file->data, (int)file->size);
	code = json_tokener_get_error(tokener);
	if (code != json_tokener_success) {
		nrt_error_set(error, NRT_INVALID, "NEFF: %s: not JSON at byte %zu: %s",
			      file->name, json_tokener_get_parse_end(tokener),
			      code == json_tokener_continue ? "the text ends too early" :
							      json_tokener_error_desc(code));
		json_tokener_free(tokener);
		return error->status;
	}
	json_tokener_free(tokener);
	if (!json_object_is_type(object, json_type_object)) {
		json_object_put(object);
		return nrt_error_set(error, NRT_INVALID, "NEFF: %s: not a JSON object", file->name);
	}
	*root = object;
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_only(struct json_object *object, const char *where,
			  const char *const *allowed, struct nrt_error *error)
{
	struct json_object_iterator it = json_object_iter_begin(object);
	struct json_object_iterator end = json_object_iter_end(object);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);
		const char *const *name = allowed;

		while (*name && strcmp(*name, key))
			name++;
		if (!*name)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: %s: key \"%.64s\" is not supported",
					     where, key);
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
		return nrt_error_set(error, NRT_INVALID, "NEFF: %s: key \"%s\" is missing", where,
				     key);
	}
	if (!json_object_is_type(*out, type))
		return nrt_error_set(error, NRT_INVALID, "NEFF: %s: \"%s\" must be of type %s",
				     where, key, json_type_to_name(type));
	return NRT_SUCCESS;
}

static NRT_STATUS check_range(struct json_object *number, const char *where, const char *key,
			      int64_t min, int64_t max, int64_t *out, struct nrt_error *error)
{
	int64_t value = json_object_get_int64(number);

	if (value < min || value > max)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: %s: \"%s\" is %lld, outside of %lld to %lld",
				     where, key, (long long)value, (long long)min, (long long)max);
	*out = value;
	return NRT_SUCCESS;
}

NRT_STATUS neff_json_int(struct json_object *object, const char *where, const char *key,
			 int64_t min, int64_t max, int64_t *out, struct nrt_error *error)
{
	struct json_object *number;

	if (neff_json_get(object, where, key, json_type_int, true, &number, error))
		return error->status;
	return check_range(number, where, key, min, max, out, error);
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
		return nrt_error_set(error, NRT_INVALID, "NEFF: %s: \"%s\" contains a NUL", where,
				     key);
	return NRT_SUCCESS;
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
	for (i = 0; i < length; i++) {
		struct json_object *number = json_object_array_get_idx(array, i);

		if (!json_object_is_type(number, json_type_int))
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: %s: \"%s\" must hold integers", where, key);
		if (check_range(number, where, key, min, max, &out[i], error))
			return error->status;
	}
	*count = (unsigned int)length;
	return NRT_SUCCESS;
}
