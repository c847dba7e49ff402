// SPDX-License-Identifier: MIT
/* What is reported, and when: the configuration file. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

#define MIN_PERIOD_NS	(10ull * 1000000)
#define MAX_PERIOD_NS	(24 * 3600 * MONITOR_NS)
#define MAX_FILE	(1u << 20)

/**
 * struct reader - how far the file was read
 * @config: what is filled
 * @path: of the file
 * @why: what is wrong with it
 */
struct reader {
	struct config *config;
	const char *path;
	char *why;
};

const char *metric_name(enum metric metric)
{
	static const char *const names[NR_METRICS] = {
		[METRIC_NEURONCORE_COUNTERS] = "neuroncore_counters",
		[METRIC_EXECUTION_STATS] = "execution_stats",
		[METRIC_MEMORY_USED] = "memory_used",
		[METRIC_RUNTIME_VCPU] = "neuron_runtime_vcpu_usage",
		[METRIC_VCPU_USAGE] = "vcpu_usage",
		[METRIC_MEMORY_INFO] = "memory_info",
		[METRIC_HW_COUNTERS] = "neuron_hw_counters",
	};

	return names[metric];
}

__attribute__((format(printf, 2, 3)))
static int wrong(const struct reader *reader, const char *format, ...)
{
	int used = snprintf(reader->why, MONITOR_LINE, "%.200s: ", reader->path);
	va_list args;

	va_start(args, format);
	vsnprintf(reader->why + used, MONITOR_LINE - (size_t)used, format, args);
	va_end(args);
	return -1;
}

/* --- Periods --- */

static uint64_t unit_ns(const char *text, size_t *length)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", MONITOR_NS },
		{ "m", 60 * MONITOR_NS }, { "h", 3600 * MONITOR_NS },
	};
	size_t i;

	*length = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == *length && !strncmp(units[i].name, text, *length))
			return units[i].ns;
	return 0;
}

/* "1s", "500ms", "1m30s", "1.5s"; 0: it is none, or out of range. */
static uint64_t parse_period(const char *text)
{
	double sum = 0;

	do {
		size_t digits = strspn(text, "0123456789.");
		size_t length;
		uint64_t unit;
		char *end;
		double value;

		/* strtod() would take signs, exponents and infinity. */
		if (!digits || digits > 20)
			return 0;
		value = strtod(text, &end);
		if (end != text + digits)
			return 0;
		unit = unit_ns(end, &length);
		if (!unit)
			return 0;
		sum += value * (double)unit;
		text = end + length;
	} while (*text);
	return sum >= MIN_PERIOD_NS && sum <= (double)MAX_PERIOD_NS ? (uint64_t)sum : 0;
}

/* The period of @object, or that of what it is in. */
static int read_period(const struct reader *reader, json_object *object, const char *where,
		       uint64_t *period)
{
	json_object *value;
	const char *text;

	if (!json_object_object_get_ex(object, "period", &value))
		return 0;
	text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
	*period = parse_period(text);
	if (*period)
		return 0;
	return wrong(reader,
		     "%speriod is %.64s; use a text such as \"1s\" or \"500ms\", from 10 ms to 24 h",
		     where, json_object_to_json_string(value));
}

/* --- Objects --- */

/* @object has no keys but @keys, which end with NULL. */
static int check_keys(const struct reader *reader, json_object *object, const char *where,
		      const char *const *keys)
{
	struct json_object_iterator it, end;
	size_t i;

	if (!json_object_is_type(object, json_type_object))
		return wrong(reader, "%san object was expected", where);
	it = json_object_iter_begin(object);
	end = json_object_iter_end(object);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *name = json_object_iter_peek_name(&it);

		for (i = 0; keys[i] && strcmp(keys[i], name); i++)
			;
		if (!keys[i])
			return wrong(reader, "%sunknown key \"%.64s\"", where, name);
	}
	return 0;
}

/* The array @key of @object, or NULL; -1: it is none. */
static int read_array(const struct reader *reader, json_object *object, const char *where,
		      const char *key, json_object **array)
{
	*array = NULL;
	if (!json_object_object_get_ex(object, key, array) ||
	    json_object_is_type(*array, json_type_array))
		return 0;
	return wrong(reader, "%s%s: an array was expected", where, key);
}

static void list_types(enum metric first, enum metric end, char *text, size_t size)
{
	size_t used = 0;
	enum metric i;

	for (i = first; i < end && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i > first ? ", " : "",
					 metric_name(i));
}

/* The group's type, of those from @first to @end - 1; NR_METRICS: it is none. */
static enum metric read_type(json_object *object, enum metric first, enum metric end)
{
	json_object *value;
	enum metric i;

	if (!json_object_object_get_ex(object, "type", &value) ||
	    !json_object_is_type(value, json_type_string))
		return NR_METRICS;
	for (i = first; i < end; i++)
		if (!strcmp(metric_name(i), json_object_get_string(value)))
			return i;
	return NR_METRICS;
}

/* The groups in @array, of the types from @first to @end - 1. */
static int read_groups(const struct reader *reader, json_object *array, const char *where,
		       uint64_t period, enum metric first, enum metric end, struct group *groups)
{
	static const char *const keys[] = { "type", "period", NULL };
	char at[128], types[200];
	size_t i;

	for (i = 0; array && i < json_object_array_length(array); i++) {
		json_object *object = json_object_array_get_idx(array, i);
		uint64_t own = period;
		enum metric type;

		snprintf(at, sizeof(at), "%s[%zu]: ", where, i);
		if (check_keys(reader, object, at, keys) || read_period(reader, object, at, &own))
			return -1;
		type = read_type(object, first, end);
		if (type == NR_METRICS) {
			list_types(first, end, types, sizeof(types));
			return wrong(reader, "%stype must be one of %s", at, types);
		}
		if (groups[type - first].period_ns)
			return wrong(reader, "%s%s is there twice", at, metric_name(type));
		groups[type - first].period_ns = own;
	}
	return 0;
}

static int read_filter(const struct reader *reader, json_object *object, const char *where,
		       struct watch *watch)
{
	json_object *value;
	char text[128];
	int ret;

	if (!json_object_object_get_ex(object, "tag_filter", &value))
		return 0;
	if (!json_object_is_type(value, json_type_string))
		return wrong(reader, "%stag_filter: a text was expected", where);
	ret = regcomp(&watch->filter, json_object_get_string(value), REG_EXTENDED | REG_NOSUB);
	if (ret) {
		regerror(ret, &watch->filter, text, sizeof(text));
		return wrong(reader, "%stag_filter is %.64s: %s", where,
			     json_object_to_json_string(value), text);
	}
	watch->has_filter = true;
	return 0;
}

static int read_watch(const struct reader *reader, json_object *object, size_t i,
		      uint64_t period, struct watch *watch)
{
	static const char *const keys[] = { "tag_filter", "period", "metrics", NULL };
	char where[64], metrics[96];
	json_object *array;

	snprintf(where, sizeof(where), "neuron_runtimes[%zu]: ", i);
	snprintf(metrics, sizeof(metrics), "neuron_runtimes[%zu]: metrics", i);
	if (check_keys(reader, object, where, keys) ||
	    read_period(reader, object, where, &period) ||
	    read_filter(reader, object, where, watch) ||
	    read_array(reader, object, where, "metrics", &array))
		return -1;
	return read_groups(reader, array, metrics, period, 0, NR_RUNTIME_METRICS, watch->group);
}

static int read_root(const struct reader *reader, json_object *root)
{
	static const char *const keys[] = {
		"period", "neuron_runtimes", "system_metrics", NULL
	};
	struct config *config = reader->config;
	uint64_t period = MONITOR_PERIOD_NS;
	json_object *watches, *system;
	size_t i, nr;

	if (check_keys(reader, root, "", keys) || read_period(reader, root, "", &period) ||
	    read_array(reader, root, "", "neuron_runtimes", &watches) ||
	    read_array(reader, root, "", "system_metrics", &system))
		return -1;
	nr = watches ? json_object_array_length(watches) : 0;
	config->watch = calloc(nr + 1, sizeof(*config->watch));
	if (!config->watch)
		return wrong(reader, "out of memory");
	for (i = 0; i < nr; i++) {
		config->nr_watches++;
		if (read_watch(reader, json_object_array_get_idx(watches, i), i, period,
			       &config->watch[i]))
			return -1;
	}
	return read_groups(reader, system, "system_metrics", period, NR_RUNTIME_METRICS,
			   NR_METRICS, config->system);
}

/* --- Files --- */

static const char *parse_error(struct json_tokener *tokener, const json_object *root)
{
	enum json_tokener_error error = json_tokener_get_error(tokener);

	if (root)
		return "there is more behind its end";
	return error == json_tokener_continue ? "it ends too early" :
						json_tokener_error_desc(error);
}

static json_object *parse(const struct reader *reader, const char *text, size_t size)
{
	struct json_tokener *tokener = json_tokener_new();
	json_object *root = NULL;
	size_t end;

	if (!tokener) {
		wrong(reader, "out of memory");
		return NULL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	root = json_tokener_parse_ex(tokener, text, (int)size);
	end = json_tokener_get_parse_end(tokener);
	end += strspn(text + end, " \t\r\n");
	if (!root || end < size) {
		wrong(reader, "no JSON: byte %zu: %s", end, parse_error(tokener, root));
		json_object_put(root);
		root = NULL;
	}
	json_tokener_free(tokener);
	return root;
}

/* The file with a NUL behind it, for free(); NULL and the reason. */
static char *read_text(const struct reader *reader, size_t *size)
{
	FILE *file = fopen(reader->path, "re");
	char *text = calloc(1, MAX_FILE + 2);

	if (!file)
		wrong(reader, "%s", strerror(errno));
	else if (!text)
		wrong(reader, "out of memory");
	if (!file || !text)
		goto fail;
	*size = fread(text, 1, MAX_FILE + 1, file);
	if (ferror(file)) {
		wrong(reader, "%s", strerror(errno));
		goto fail;
	}
	if (*size > MAX_FILE) {
		wrong(reader, "it has more than %u bytes", MAX_FILE);
		goto fail;
	}
	fclose(file);
	return text;
fail:
	if (file)
		fclose(file);
	free(text);
	return NULL;
}

int config_read(struct config *config, const char *path, char why[MONITOR_LINE])
{
	const struct reader reader = { config, path, why };
	json_object *root;
	size_t size;
	char *text;
	int ret;

	memset(config, 0, sizeof(*config));
	text = read_text(&reader, &size);
	if (!text)
		return -1;
	root = parse(&reader, text, size);
	free(text);
	if (!root)
		return -1;
	ret = read_root(&reader, root);
	json_object_put(root);
	return ret;
}

int config_default(struct config *config)
{
	size_t i;

	memset(config, 0, sizeof(*config));
	config->watch = calloc(1, sizeof(*config->watch));
	if (!config->watch)
		return -1;
	config->nr_watches = 1;
	for (i = 0; i < NR_RUNTIME_METRICS; i++)
		config->watch[0].group[i].period_ns = MONITOR_PERIOD_NS;
	for (i = 0; i < NR_SYSTEM_METRICS; i++)
		config->system[i].period_ns = MONITOR_PERIOD_NS;
	return 0;
}

void config_free(struct config *config)
{
	size_t i;

	for (i = 0; i < config->nr_watches; i++)
		if (config->watch[i].has_filter)
			regfree(&config->watch[i].filter);
	free(config->watch);
	memset(config, 0, sizeof(*config));
}

int config_find(const struct config *config, const char *tag)
{
	size_t i;

	for (i = 0; i < config->nr_watches; i++)
		if (!config->watch[i].has_filter ||
		    !regexec(&config->watch[i].filter, tag, 0, NULL, 0))
			return (int)i;
	return -1;
}
