// SPDX-License-Identifier: MIT
/* info: what a NEFF is, as text or as JSON. Of a NEFF for real hardware too, as far as it goes. */
#include <endian.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "packager.h"

#define MAX_SUBGRAPHS	100
#define CELL		48

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

static const char *get_text(struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static void copy_key(struct json_object *to, struct json_object *from, const char *key)
{
	struct json_object *value = get(from, key);

	if (value)
		json_object_object_add(to, key, json_object_get(value));
}

/* Is a variable of this type asked for? */
static bool is_wanted(const char *type, const struct info_options *options)
{
	if (!strcmp(type, "input") || !strcmp(type, "output"))
		return true;
	if (!strcmp(type, "file"))
		return options->weights || options->json;
	return options->spills || options->json;
}

static struct json_object *variables_json(struct json_object *def,
					  const struct info_options *options)
{
	static const char *const keys[] = { "type", "size", "shape", "dtype", "file_name" };
	struct json_object *list = json_object_new_array();
	struct json_object *vars = get(def, "var");
	size_t i;

	if (!json_object_is_type(vars, json_type_object))
		return list;
	json_object_object_foreach(vars, name, var) {
		struct json_object *row;

		if (!is_wanted(get_text(var, "type"), options))
			continue;
		row = json_object_new_object();
		json_object_object_add(row, "name", json_object_new_string(name));
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			copy_key(row, var, keys[i]);
		json_object_array_add(list, row);
	}
	return list;
}

static struct json_object *queues_json(struct json_object *def)
{
	static const char *const keys[] = { "type", "owner", "num_queues", "queue_instances" };
	struct json_object *list = json_object_new_array();
	struct json_object *queues = get(def, "dma_queue");
	size_t i;

	if (!json_object_is_type(queues, json_type_object))
		return list;
	json_object_object_foreach(queues, name, queue) {
		struct json_object *row = json_object_new_object();

		json_object_object_add(row, "name", json_object_new_string(name));
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			copy_key(row, queue, keys[i]);
		json_object_array_add(list, row);
	}
	return list;
}

/* An engine is described by a .json of the subgraph's folder; def.json is the whole. */
static bool engine_name(const char *name, char *out, size_t room)
{
	size_t length = strlen(name);

	if (length <= 5 || length - 5 >= room || strcmp(name + length - 5, ".json") ||
	    strchr(name, '/') || !strcmp(name, "def.json") || !strcmp(name, "debug.json"))
		return false;
	memcpy(out, name, length - 5);
	out[length - 5] = '\0';
	return true;
}

/* The encoding of instructions is known for this project's chip only. */
static struct json_object *engine_json(const struct package *package, unsigned int graph,
				       const char *name)
{
	struct json_object *row = json_object_new_object();
	const struct package_member *image;
	char path[160];

	json_object_object_add(row, "name", json_object_new_string(name));
	snprintf(path, sizeof(path), "sg%02u/%s.bin", graph, name);
	image = package_find(package, path);
	if (image)
		json_object_object_add(row, "size", json_object_new_uint64(image->size));
	if (image && package_is_ours(package))
		json_object_object_add(row, "instructions",
				       json_object_new_uint64(image->size / NEURON_INST_SIZE));
	return row;
}

static struct json_object *engines_json(const struct package *package, unsigned int graph)
{
	struct json_object *list = json_object_new_array();
	unsigned int of;
	char name[100];
	size_t i;

	for (i = 0; i < package->nr_members; i++) {
		const char *inside = neff_subgraph_path(package->member[i]->path, &of);

		if (inside && of == graph && engine_name(inside, name, sizeof(name)))
			json_object_array_add(list, engine_json(package, graph, name));
	}
	return list;
}

static struct json_object *graph_json(const struct package *package, unsigned int graph,
				      const struct info_options *options)
{
	struct json_object *root = json_object_new_object(), *def = NULL;
	const struct package_member *member;
	struct nrt_error error;
	char path[16];

	snprintf(path, sizeof(path), "sg%02u", graph);
	json_object_object_add(root, "name", json_object_new_string(path));
	snprintf(path, sizeof(path), "sg%02u/def.json", graph);
	member = package_find(package, path);
	if (member)
		def = package_json(member, &error);
	if (!def)
		json_object_object_add(root, "error", json_object_new_string(member ?
			error.text : "it has no def.json"));
	copy_key(root, def, "isa");
	json_object_object_add(root, "variables", variables_json(def, options));
	json_object_object_add(root, "queues", queues_json(def));
	json_object_object_add(root, "engines", engines_json(package, graph));
	json_object_put(def);
	return root;
}

static struct json_object *graphs_json(const struct package *package,
				       const struct info_options *options)
{
	struct json_object *list = json_object_new_array();
	bool has[MAX_SUBGRAPHS] = { false };
	unsigned int graph;
	size_t i;

	for (i = 0; i < package->nr_members; i++)
		if (neff_subgraph_path(package->member[i]->path, &graph))
			has[graph] = true;
	for (graph = 0; graph < MAX_SUBGRAPHS; graph++)
		if (has[graph])
			json_object_array_add(list, graph_json(package, graph, options));
	return list;
}

/* Which feature a bit stands for is not public. */
static struct json_object *features_json(uint64_t bits)
{
	struct json_object *list = json_object_new_array();
	char text[48];
	unsigned int i;

	for (i = 0; i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		snprintf(text, sizeof(text), "bit %u (its name is not public)", i);
		json_object_array_add(list, json_object_new_string(text));
	}
	return list;
}

static struct json_object *files_json(const struct package *package)
{
	struct json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < package->nr_members; i++) {
		struct json_object *file = json_object_new_object();

		json_object_object_add(file, "path",
				       json_object_new_string(package->member[i]->path));
		json_object_object_add(file, "size",
				       json_object_new_uint64(package->member[i]->size));
		json_object_array_add(list, file);
	}
	return list;
}

static void put_cell(FILE *out, struct json_object *object, const char *key, int width)
{
	const char *text = get(object, key) ?
		json_object_to_json_string_ext(get(object, key), JSON_C_TO_STRING_PLAIN) : "-";
	char clean[CELL];

	if (json_object_is_type(get(object, key), json_type_string))
		text = json_object_get_string(get(object, key));
	printable(clean, sizeof(clean), text);
	fprintf(out, "  %*s", width, clean);
}

static void put_name(FILE *out, struct json_object *row)
{
	char clean[CELL];

	printable(clean, sizeof(clean), get_text(row, "name"));
	fprintf(out, "    %-24s", clean);
}

static void put_variables(FILE *out, struct json_object *graph)
{
	struct json_object *list = get(graph, "variables");
	size_t i;

	fprintf(out, "    %-24s  %12s  %12s  %16s  %9s\n", "Variable", "Size", "Type", "Shape",
		"DataType");
	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		put_name(out, row);
		put_cell(out, row, "size", 12);
		put_cell(out, row, "type", 12);
		put_cell(out, row, "shape", 16);
		put_cell(out, row, "dtype", 9);
		fputc('\n', out);
	}
}

static void put_queues(FILE *out, struct json_object *graph)
{
	struct json_object *list = get(graph, "queues");
	size_t i;

	fprintf(out, "    %-24s  %12s  %12s  %16s\n", "Queue", "Queues", "Type", "Engine");
	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		put_name(out, row);
		put_cell(out, row, "num_queues", 12);
		put_cell(out, row, "type", 12);
		put_cell(out, row, "owner", 16);
		fputc('\n', out);
	}
}

static void put_engines(FILE *out, struct json_object *graph)
{
	struct json_object *list = get(graph, "engines");
	size_t i;

	fprintf(out, "    %-24s  %12s  %12s\n", "Engine", "Size", "Instructions");
	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		put_name(out, row);
		put_cell(out, row, "size", 12);
		put_cell(out, row, "instructions", 12);
		fputc('\n', out);
	}
}

static void put_header(FILE *out, const struct package *package, struct json_object *root)
{
	static const struct {
		const char *label;
		const char *key;
	} rows[] = {
		{ "Network Name:", "name" },
		{ "Build Version:", "build_version" },
		{ "Package Version:", "package_version" },
		{ "Header Size:", "header_size" },
		{ "Data Size:", "data_size" },
		{ "Major Version:", "version_major" },
		{ "Minor Version:", "version_minor" },
		{ "Number of Neuron cores:", "num_tpb" },
		{ "Logical core size (LNC):", "lnc_size" },
		{ "Hash:", "hash" },
		{ "UUID:", "uuid" },
	};
	struct json_object *header = get(root, "header"), *features = get(root, "features");
	size_t i;

	fprintf(out, "NEFF Header:\n");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "    %-26s%s\n", rows[i].label,
			json_object_get_string(get(header, rows[i].key)));
	if (!package->hash_matches)
		fprintf(out, "    %-26s%s\n", "", "(not the hash of the contents)");
	fprintf(out, "    %-26s", "Enabled Features:");
	for (i = 0; i < json_object_array_length(features); i++)
		fprintf(out, "%s%s", i ? ", " : "",
			json_object_get_string(json_object_array_get_idx(features, i)));
	fprintf(out, "%s\n", i ? "" : "N/A");
	fprintf(out, "    %-26s%s\n", "Made for:", package_is_ours(package) ?
		"this project's chip" : "real hardware, by another compiler");
	fprintf(out, "    %-26s%s, %zu files\n", "Archive:", package->gzip ? "tar.gz" : "tar",
		package->nr_members);
}

static void put_text(FILE *out, const struct package *package, struct json_object *root)
{
	struct json_object *graphs = get(root, "graphs");
	size_t i;

	put_header(out, package, root);
	for (i = 0; i < json_object_array_length(graphs); i++) {
		struct json_object *graph = json_object_array_get_idx(graphs, i);
		char clean[256];

		fprintf(out, "\nNeuronCore subgraph %s:\n", get_text(graph, "name"));
		printable(clean, sizeof(clean), get_text(graph, "error"));
		if (*clean)
			fprintf(out, "    (%s)\n", clean);
		put_variables(out, graph);
		put_queues(out, graph);
		put_engines(out, graph);
	}
}

void info_print(const struct package *package, const struct info_options *options, FILE *out)
{
	struct json_object *root = json_object_new_object();

	json_object_object_add(root, "header", header_json(&package->header));
	json_object_object_add(root, "hash_matches",
			       json_object_new_boolean(package->hash_matches));
	json_object_object_add(root, "features",
			       features_json(le64toh(package->header.feature_bits)));
	json_object_object_add(root, "graphs", graphs_json(package, options));
	json_object_object_add(root, "files", files_json(package));
	if (options->json)
		fprintf(out, "%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
			JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		put_text(out, package, root);
	json_object_put(root);
}
