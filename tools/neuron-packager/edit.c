// SPDX-License-Identifier: MIT
/* edit and optimize: changes of a NEFF in memory. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "packager.h"

#define MAX_FILE	((size_t)4 << 30)

static int fail_form(struct nrt_error *error, const char *text, const char *form)
{
	nrt_error_set(error, NRT_INVALID, "\"%.200s\": expected %s", text, form);
	return -1;
}

/* The two sides of the first @mark in @text; both are in one copy, to be freed. */
static char *split(const char *text, char mark, char **right)
{
	const char *at = strchr(text, mark);
	char *left;

	if (!at || at == text || !at[1])
		return NULL;
	left = strdup(text);
	if (!left)
		return NULL;
	*right = left + (at - text) + 1;
	(*right)[-1] = '\0';
	return left;
}

static struct package_member *must_find(const struct package *package, const char *path,
					struct nrt_error *error)
{
	struct package_member *member = package_find(package, path);

	if (!member)
		nrt_error_set(error, NRT_INVALID, "there is no file %.200s", path);
	return member;
}

/* JSON, or if any of it is none, a string. */
static struct json_object *value_of(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *value = NULL;
	size_t used = 0;

	/* With the zero byte, without which a number could go on. */
	if (tokener) {
		value = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
		if (json_tokener_get_error(tokener) == json_tokener_success)
			used = json_tokener_get_parse_end(tokener);
		json_tokener_free(tokener);
	}
	if (used && !text[used + strspn(text + used, " \t\n")])
		return value;
	json_object_put(value);
	return json_object_new_string(text);
}

static int set_in_member(struct package_member *member, const char *pointer,
			 struct json_object *value, struct nrt_error *error)
{
	struct json_object *root = package_json(member, error);
	const int how = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;
	int ret = -1;

	if (!root)
		return -1;
	/* On success the value belongs to the root. */
	if (json_pointer_set(&root, pointer, json_object_get(value))) {
		nrt_error_set(error, NRT_INVALID, "%.200s: nothing can be set at \"%.200s\": %s",
			      member->path, pointer, strerror(errno));
		json_object_put(value);
	} else {
		ret = package_set_text(member, json_object_to_json_string_ext(root, how), error);
	}
	json_object_put(root);
	return ret;
}

static int set_value(struct package *package, const char *place, struct json_object *value,
		     struct nrt_error *error)
{
	struct package_member *member;
	char *path, *pointer;
	int ret = -1;

	path = split(place, ':', &pointer);
	if (!path)
		return fail_form(error, place, "header:KEY or FILE:/KEY/KEY");
	if (!strcmp(path, "header")) {
		ret = header_set(&package->header, pointer, value, error);
	} else if (*pointer != '/') {
		fail_form(error, place, "FILE:/KEY/KEY, a JSON pointer behind the colon");
	} else {
		member = must_find(package, path, error);
		if (member)
			ret = set_in_member(member, pointer, value, error);
	}
	free(path);
	return ret;
}

int edit_set(struct package *package, const char *text, struct nrt_error *error)
{
	struct json_object *value;
	char *place, *right;
	int ret;

	place = split(text, '=', &right);
	if (!place)
		return fail_form(error, text, "FILE:/KEY/KEY=VALUE or header:KEY=VALUE");
	value = value_of(right);
	ret = set_value(package, place, value, error);
	json_object_put(value);
	free(place);
	return ret;
}

static int replace(struct package *package, const char *path, const char *file,
		   struct nrt_error *error)
{
	struct package_member *member = package_find(package, path);
	char *data;
	size_t size;

	if (input_read(file, MAX_FILE, &data, &size)) {
		nrt_error_set(error, NRT_FAILURE, "%.200s: %s", file, strerror(errno));
		return -1;
	}
	if (member) {
		free(member->data);
		member->data = (uint8_t *)data;
		member->size = size;
		return 0;
	}
	if (!package_add(package, path, (uint8_t *)data, size, error))
		return 0;
	free(data);
	return -1;
}

int edit_replace(struct package *package, const char *text, struct nrt_error *error)
{
	char *path, *file;
	int ret;

	path = split(text, '=', &file);
	if (!path)
		return fail_form(error, text, "PATH=FILE");
	ret = replace(package, path, file, error);
	free(path);
	return ret;
}

static int rename_member(struct package *package, const char *from, const char *to,
			 struct nrt_error *error)
{
	struct package_member *member = must_find(package, from, error);

	return member ? package_rename(package, member, to, error) : -1;
}

int edit_rename(struct package *package, const char *text, struct nrt_error *error)
{
	char *from, *to;
	int ret;

	from = split(text, '=', &to);
	if (!from)
		return fail_form(error, text, "OLD=NEW");
	ret = rename_member(package, from, to, error);
	free(from);
	return ret;
}

int edit_remove(struct package *package, const char *text, struct nrt_error *error)
{
	struct package_member *member = must_find(package, text, error);

	if (!member)
		return -1;
	package_remove(package, member);
	return 0;
}

static bool is_json(const char *path)
{
	size_t length = strlen(path);

	return length > 5 && !strcmp(path + length - 5, ".json");
}

/* def.json names the file of lines, which is removed with it. */
static int drop_debug(struct package *package, unsigned int graph, struct nrt_error *error)
{
	struct json_object *root, *name = NULL;
	struct package_member *def, *debug;
	char path[300];
	int ret;

	snprintf(path, sizeof(path), "sg%02u/def.json", graph);
	def = package_find(package, path);
	if (!def)
		return 0;
	root = package_json(def, error);
	if (!root)
		return -1;
	if (!json_object_object_get_ex(root, "debug", &name)) {
		json_object_put(root);
		return 0;
	}
	snprintf(path, sizeof(path), "sg%02u/%.255s", graph, json_object_get_string(name));
	json_object_object_del(root, "debug");
	ret = package_set_text(def, json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN |
			       JSON_C_TO_STRING_NOSLASHESCAPE), error);
	json_object_put(root);
	debug = package_find(package, path);
	if (debug && is_json(path) && debug != package_find(package, "def.json"))
		package_remove(package, debug);
	return ret;
}

/* A description, and no constant that happens to be called like one. */
static bool is_own_json(const char *path)
{
	unsigned int e, graph;
	const char *name = neff_subgraph_path(path, &graph);
	size_t length;

	if (!name || !is_json(path))
		return false;
	if (!strcmp(name, "def.json"))
		return true;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		length = strlen(neff_engine_name(e));
		if (!strncmp(name, neff_engine_name(e), length) && !strcmp(name + length, ".json"))
			return true;
	}
	return false;
}

/* Without blanks. */
static int shorten(struct package_member *member, struct nrt_error *error)
{
	struct json_object *root = package_json(member, error);
	int ret;

	if (!root)
		return -1;
	ret = package_set_text(member, json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN |
			       JSON_C_TO_STRING_NOSLASHESCAPE), error);
	json_object_put(root);
	return ret;
}

int edit_optimize(struct package *package, bool keep_debug, struct nrt_error *error)
{
	unsigned int graph;
	size_t i;

	if (!package_is_ours(package)) {
		nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
			      "made for real hardware by compiler \"%.64s\": what may be left out of its files is not public",
			      package->header.build_version);
		return -1;
	}
	/* libnrt uses the files of a plain archive where they are. */
	package->gzip = false;
	if (keep_debug)
		return 0;
	for (graph = 0; graph < NEFF_MAX_GRAPHS; graph++)
		if (drop_debug(package, graph, error))
			return -1;
	for (i = 0; i < package->nr_members; i++)
		if (is_own_json(package->member[i]->path) && shorten(package->member[i], error))
			return -1;
	return 0;
}
