// SPDX-License-Identifier: MIT
/* lint: all that can be said of a NEFF, a line for each rule that it breaks. */
#include <endian.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "packager.h"

/* One NEFF. */
struct lint {
	const char *path;
	FILE *out;
	unsigned int errors;
	const struct package *package;
};

static void put(struct lint *lint, const char *kind, const char *rule, const char *place,
		const char *format, va_list args)
{
	char text[512], clean[512];

	vsnprintf(text, sizeof(text), format, args);
	printable(clean, sizeof(clean), text);
	fprintf(lint->out, "%s: %s: %s: %s [%s]\n", lint->path, place, kind, clean, rule);
}

__attribute__((format(printf, 4, 5)))
static void wrong(struct lint *lint, const char *rule, const char *place, const char *format, ...)
{
	va_list args;

	lint->errors++;
	va_start(args, format);
	put(lint, "error", rule, place, format, args);
	va_end(args);
}

__attribute__((format(printf, 4, 5)))
static void strange(struct lint *lint, const char *rule, const char *place, const char *format,
		    ...)
{
	va_list args;

	va_start(args, format);
	put(lint, "warning", rule, place, format, args);
	va_end(args);
}

/* Without these nothing else can be looked at. */
static bool lint_size(struct lint *lint, const struct neff_header *header, size_t size)
{
	uint64_t data_size;

	if (size < sizeof(*header)) {
		wrong(lint, "truncated", "header", "%zu bytes are less than a header of %zu", size,
		      sizeof(*header));
		return false;
	}
	if (le64toh(header->header_size) != sizeof(*header)) {
		wrong(lint, "header-size", "header", "its size is %llu instead of %zu",
		      (unsigned long long)le64toh(header->header_size), sizeof(*header));
		return false;
	}
	data_size = le64toh(header->data_size);
	if (data_size > size - sizeof(*header)) {
		wrong(lint, "truncated", "archive", "%zu bytes instead of %llu",
		      size - sizeof(*header), (unsigned long long)data_size);
		return false;
	}
	if (data_size < size - sizeof(*header))
		strange(lint, "trailing", "archive", "%llu bytes behind it belong to nothing",
			(unsigned long long)(size - sizeof(*header) - data_size));
	return true;
}

static void lint_features(struct lint *lint, uint64_t bits)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (bits >> i & 1)
			wrong(lint, "feature", "header",
			      "bit %u of feature_bits asks for a feature whose name is not public",
			      i);
}

static void lint_cores(struct lint *lint, const struct neff_header *header)
{
	unsigned int lnc = le32toh(header->lnc_size), sum = 0;
	size_t i;

	if (!lnc || lnc > NEFF_MAX_GRAPHS)
		wrong(lint, "cores", "header", "lnc_size is %u, not 1 or 2", lnc);
	if (le32toh(header->num_tpb) != lnc)
		wrong(lint, "cores", "header", "num_tpb is %u, but lnc_size %u",
		      le32toh(header->num_tpb), lnc);
	if (header->requested_tpb && le32toh(header->requested_tpb) != lnc)
		wrong(lint, "cores", "header", "requested_tpb is %u, but lnc_size %u",
		      le32toh(header->requested_tpb), lnc);
	for (i = 0; i < NEFF_MAX_NODES; i++)
		sum += header->tpb_per_node[i];
	if (sum && sum != lnc)
		wrong(lint, "cores", "header", "tpb_per_node adds up to %u, but lnc_size is %u",
		      sum, lnc);
}

static void lint_header(struct lint *lint, const struct neff_header *header, const void *bytes)
{
	uint64_t pkg = le64toh(header->pkg_version);
	char compiler[sizeof(header->build_version) + 1] = "";

	memcpy(compiler, header->build_version, sizeof(header->build_version));
	if (pkg != NEFF_PKG_MD5 && pkg != NEFF_PKG_SHA256)
		wrong(lint, "package-version", "header", "package version %llu instead of 1 or 2",
		      (unsigned long long)pkg);
	else if (!package_hash_matches(bytes))
		wrong(lint, "hash", "header", "the %s hash is not that of the archive",
		      pkg == NEFF_PKG_MD5 ? "MD5" : "SHA-256");
	if (le64toh(header->version_major) != NEFF_VERSION_MAJOR)
		wrong(lint, "format-version", "header", "format version %llu.%llu instead of %d.x",
		      (unsigned long long)le64toh(header->version_major),
		      (unsigned long long)le64toh(header->version_minor), NEFF_VERSION_MAJOR);
	if (strncmp(compiler, NEFF_BUILD_MARK, strlen(NEFF_BUILD_MARK)))
		wrong(lint, "compiler", "header",
		      "made for real hardware by compiler \"%s\": its instructions cannot run here",
		      *compiler ? compiler : "unknown");
	lint_features(lint, le64toh(header->feature_bits));
	lint_cores(lint, header);
}

/* A file of the graph's folder that something names. */
static const struct package_member *need_file(struct lint *lint, unsigned int graph,
					      const char *place, struct json_object *name)
{
	struct package_member *member;
	char path[300];

	if (!json_object_is_type(name, json_type_string)) {
		wrong(lint, "missing-file", place, "a file name is missing");
		return NULL;
	}
	snprintf(path, sizeof(path), "sg%02u/%.255s", graph, json_object_get_string(name));
	member = package_find(lint->package, path);
	if (member)
		member->used = true;
	else
		wrong(lint, "missing-file", place, "the archive has no %s", path);
	return member;
}

static void lint_keys(struct lint *lint, const char *place, struct json_object *object,
		      const char *const *known)
{
	json_object_object_foreach(object, key, value) {
		const char *const *name = known;

		(void)value;
		while (*name && strcmp(*name, key))
			name++;
		if (!*name)
			wrong(lint, "unknown-key", place, "key \"%.64s\"", key);
	}
}

static bool is_object(struct lint *lint, const char *place, struct json_object *object)
{
	if (json_object_is_type(object, json_type_object))
		return true;
	wrong(lint, "json", place, "not an object");
	return false;
}

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

static void lint_engine(struct lint *lint, unsigned int graph, const char *place,
			struct json_object *engine)
{
	static const char *const known[] = { "instructions", "descriptors", NULL };
	const struct package_member *file;
	struct json_object *root;
	struct nrt_error error;

	if (!is_object(lint, place, engine))
		return;
	lint_keys(lint, place, engine, known);
	file = need_file(lint, graph, place, get(engine, "instructions"));
	if (file && (!file->size || file->size % NEURON_INST_SIZE))
		wrong(lint, "size", file->path,
		      "%zu bytes are not a whole number of %d-byte instructions", file->size,
		      NEURON_INST_SIZE);
	if (!get(engine, "descriptors"))
		return;
	file = need_file(lint, graph, place, get(engine, "descriptors"));
	if (!file)
		return;
	root = package_json(file, &error);
	if (!root)
		wrong(lint, "json", file->path, "%s", error.text);
	json_object_put(root);
}

/* An input or an output is as large as its shape says; 0: the shape says nothing. */
static uint64_t shape_bytes(struct json_object *var)
{
	struct json_object *shape = get(var, "shape"), *dtype = get(var, "dtype");
	uint64_t bytes = 0;
	unsigned int type;
	size_t i;

	if (!json_object_is_type(shape, json_type_array) ||
	    !json_object_is_type(dtype, json_type_string))
		return 0;
	for (type = 0; type < NEURON_NR_DTYPES; type++)
		if (neff_dtype_name(type) &&
		    !strcmp(neff_dtype_name(type), json_object_get_string(dtype)))
			bytes = neuron_dtype_bytes(type);
	for (i = 0; i < json_object_array_length(shape); i++) {
		uint64_t n = json_object_get_uint64(json_object_array_get_idx(shape, i));

		if (__builtin_mul_overflow(bytes, n, &bytes))
			return UINT64_MAX;
	}
	return bytes;
}

static void lint_contents(struct lint *lint, unsigned int graph, const char *place,
			  struct json_object *var)
{
	const struct package_member *member = need_file(lint, graph, place, get(var, "file_name"));
	uint64_t size = json_object_get_uint64(get(var, "size"));
	struct nrt_error error;
	const uint8_t *data;
	struct neff_file file;
	size_t length;

	if (!member)
		return;
	file = (struct neff_file){
		.name = member->path, .data = member->data, .size = member->size,
	};
	if (neff_file_payload(&file, &data, &length, &error))
		wrong(lint, "size", member->path, "%s", error.text);
	else if (length != size)
		wrong(lint, "size", place, "size is %llu, but %s has %zu bytes",
		      (unsigned long long)size, member->path, length);
}

static void lint_variable(struct lint *lint, unsigned int graph, const char *place,
			  struct json_object *var)
{
	static const char *const known[] = {
		"type", "var_id", "size", "alignment", "fabric_path", "file_name", "ops",
		"backing_variable_off", "referenced_var_id", "list", "dtype", "shape", "print",
		"peer_offset", "first", "count", NULL,
	};
	uint64_t bytes;
	const char *type;

	if (!is_object(lint, place, var))
		return;
	lint_keys(lint, place, var, known);
	type = json_object_get_string(get(var, "type"));
	if (!type) {
		wrong(lint, "json", place, "it has no type");
		return;
	}
	bytes = shape_bytes(var);
	if (bytes && bytes != json_object_get_uint64(get(var, "size")))
		wrong(lint, "size", place, "size is %llu, but its shape has %llu bytes",
		      (unsigned long long)json_object_get_uint64(get(var, "size")),
		      (unsigned long long)bytes);
	if (!strcmp(type, "file"))
		lint_contents(lint, graph, place, var);
}

static void lint_queue(struct lint *lint, unsigned int graph, const char *place,
		       struct json_object *queue)
{
	static const char *const known[] = {
		"type", "num_queues", "owner", "queue_index", "fabric_path", "priority",
		"queue_instances", "semaphore", "pinned", NULL,
	};

	(void)graph;
	if (is_object(lint, place, queue))
		lint_keys(lint, place, queue, known);
}

typedef void lint_entry_fn(struct lint *lint, unsigned int graph, const char *place,
			   struct json_object *entry);

static void lint_table(struct lint *lint, unsigned int graph, struct json_object *def,
		       const char *key, lint_entry_fn *look)
{
	struct json_object *table = get(def, key);
	char place[160], clean[100];

	if (!table)
		return;
	snprintf(place, sizeof(place), "sg%02u/def.json: %s", graph, key);
	if (!is_object(lint, place, table))
		return;
	json_object_object_foreach(table, name, entry) {
		printable(clean, sizeof(clean), name);
		snprintf(place, sizeof(place), "sg%02u/def.json: %s \"%s\"", graph, key, clean);
		look(lint, graph, place, entry);
	}
}

static void lint_def(struct lint *lint, unsigned int graph, struct package_member *member)
{
	static const char *const known[] = {
		"isa", "engines", "dma_queue", "var", "sem_clear", "notify_bytes", "debug",
		"collectives", NULL,
	};
	struct nrt_error error;
	struct json_object *def;

	member->used = true;
	def = package_json(member, &error);
	if (!def) {
		wrong(lint, "json", member->path, "%s", error.text);
		return;
	}
	lint_keys(lint, member->path, def, known);
	lint_table(lint, graph, def, "engines", lint_engine);
	lint_table(lint, graph, def, "dma_queue", lint_queue);
	lint_table(lint, graph, def, "var", lint_variable);
	if (get(def, "debug"))
		need_file(lint, graph, member->path, get(def, "debug"));
	json_object_put(def);
}

static void lint_graphs(struct lint *lint, unsigned int lnc)
{
	struct package_member *member;
	unsigned int graph;
	char path[32];

	for (graph = 0; graph < lnc && graph < NEFF_MAX_GRAPHS; graph++) {
		snprintf(path, sizeof(path), "sg%02u/def.json", graph);
		member = package_find(lint->package, path);
		if (member)
			lint_def(lint, graph, member);
		else
			wrong(lint, "missing-file", "archive", "it has no %s", path);
	}
}

static void lint_unused(struct lint *lint, unsigned int lnc)
{
	const struct package *package = lint->package;
	unsigned int graph;
	size_t i;

	for (i = 0; i < package->nr_members; i++) {
		const char *path = package->member[i]->path;

		if (neff_subgraph_path(path, &graph) && graph >= lnc)
			wrong(lint, "extra-graph", path,
			      "it belongs to subgraph %u, but lnc_size is %u", graph, lnc);
		else if (!package->member[i]->used)
			strange(lint, "unused-file", path, "nothing names it");
	}
}

/* What the runtime says, when nothing here has found it. */
static void lint_reader(struct lint *lint, const void *bytes, size_t size, uint64_t spare)
{
	const struct neff_limits limits = { .unpacked_bytes = size + spare };
	struct nrt_error error;
	struct neff *neff;

	if (lint->errors)
		return;
	if (neff_read(bytes, size, &limits, &neff, &error))
		wrong(lint, "runtime", "libnrt", "%s", error.text);
	else
		neff_free(neff);
}

unsigned int lint(const char *path, const void *bytes, size_t size, uint64_t spare, FILE *out)
{
	struct lint lint = { .path = path, .out = out };
	struct neff_header header = { 0 };
	struct package package;
	struct nrt_error error;

	memcpy(&header, bytes, size < sizeof(header) ? size : sizeof(header));
	if (!lint_size(&lint, &header, size))
		return lint.errors;
	lint_header(&lint, &header, bytes);
	if (package_read(bytes, size, spare, &package, &error)) {
		wrong(&lint, "archive", "archive", "%s", error.text);
		return lint.errors;
	}
	lint.package = &package;
	if (package_is_ours(&package)) {
		lint_graphs(&lint, le32toh(header.lnc_size));
		lint_unused(&lint, le32toh(header.lnc_size));
	}
	lint_reader(&lint, bytes, size, spare);
	package_free(&package);
	return lint.errors;
}
