/* SPDX-License-Identifier: MIT */
/*
 * Typed, bounded access to JSON. Every failure sets an error that begins with @where, names the
 * key, and says what would be right.
 */
#ifndef LIBNRT_NEFF_JSON_H
#define LIBNRT_NEFF_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "neff/neff.h"

/* Parse a file; the root is an object that the caller puts. */
NRT_STATUS neff_json_parse(const struct neff_file *file, struct json_object **root,
			   struct nrt_error *error);

/* All keys of @object must be in @allowed (NULL terminated). */
NRT_STATUS neff_json_only(struct json_object *object, const char *where,
			  const char *const *allowed, struct nrt_error *error);

/* @value must be an object. */
NRT_STATUS neff_json_object(struct json_object *value, const char *where,
			    struct nrt_error *error);

/*
 * A member; without it *@out is NULL, which is an error when @required. The type
 * must be @type.
 */
NRT_STATUS neff_json_get(struct json_object *object, const char *where, const char *key,
			 enum json_type type, bool required, struct json_object **out,
			 struct nrt_error *error);

/* Element @i of @list, the member @key; it must be of type @type. */
NRT_STATUS neff_json_element(struct json_object *list, size_t i, const char *where,
			     const char *key, enum json_type type, struct json_object **out,
			     struct nrt_error *error);

/* The same, an integer from @min to @max. */
NRT_STATUS neff_json_element_int(struct json_object *list, size_t i, const char *where,
				 const char *key, int64_t min, int64_t max, int64_t *out,
				 struct nrt_error *error);

/* An integer from @min to @max; must be there. */
NRT_STATUS neff_json_int(struct json_object *object, const char *where, const char *key,
			 int64_t min, int64_t max, int64_t *out, struct nrt_error *error);

/* The same, or @fallback when it is absent. */
NRT_STATUS neff_json_int_or(struct json_object *object, const char *where, const char *key,
			    int64_t min, int64_t max, int64_t fallback, int64_t *out,
			    struct nrt_error *error);

/* A string without NUL in it, valid as long as @object; must be there. */
NRT_STATUS neff_json_string(struct json_object *object, const char *where, const char *key,
			    const char **out, struct nrt_error *error);

/* The index of a string in @names, of which some may be NULL; must be there. */
NRT_STATUS neff_json_choice(struct json_object *object, const char *where, const char *key,
			    const char *const *names, unsigned int count, unsigned int *index,
			    struct nrt_error *error);

/* The name of a dtype; must be there. */
NRT_STATUS neff_json_dtype(struct json_object *object, const char *where, const char *key,
			   enum neuron_dtype *dtype, struct nrt_error *error);

/* The public key "fabric_path", which may be there as long as it asks for nothing. */
NRT_STATUS neff_json_fabric_path(struct json_object *object, const char *where,
				 struct nrt_error *error);

/* The name of a variable of @graph, whose index is in *@index; must be there. */
NRT_STATUS neff_json_var(const struct neff_graph *graph, struct json_object *object,
			 const char *where, const char *key, unsigned int *index,
			 struct nrt_error *error);

/* An array of 1 to @room integers from @min to @max; must be there. */
NRT_STATUS neff_json_ints(struct json_object *object, const char *where, const char *key,
			  int64_t min, int64_t max, int64_t *out, unsigned int room,
			  unsigned int *count, struct nrt_error *error);

#endif /* LIBNRT_NEFF_JSON_H */
