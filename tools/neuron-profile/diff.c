// SPDX-License-Identifier: MIT
/* Two profiles beside each other: what the same lines, engines or queues cost in each. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "view.h"

/* A group that is in one of both or in both; an absent row is zero. */
struct pair {
	const char *name;
	struct sum_row a;
	struct sum_row b;
};

struct pairs {
	struct pair *pair;
	size_t nr;
};

static int compare_names(const void *a, const void *b)
{
	const struct sum_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static uint64_t change(const struct pair *pair)
{
	return pair->a.busy_ns > pair->b.busy_ns ? pair->a.busy_ns - pair->b.busy_ns :
						   pair->b.busy_ns - pair->a.busy_ns;
}

/* What changed most comes first. */
static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (change(x) != change(y))
		return change(x) > change(y) ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Both are sorted by name; names of @a and @b stay in them. */
static NRT_STATUS merge(const struct sum_rows *a, const struct sum_rows *b, struct pairs *pairs,
			struct nrt_error *error)
{
	size_t i = 0, j = 0;
	int order;

	*pairs = (struct pairs){ calloc(a->nr + b->nr + 1, sizeof(struct pair)), 0 };
	if (!pairs->pair)
		return nrt_error_memory(error);
	while (i < a->nr || j < b->nr) {
		struct pair *pair = &pairs->pair[pairs->nr++];

		if (i == a->nr || j == b->nr)
			order = i == a->nr ? 1 : -1;
		else
			order = strcmp(a->row[i].name, b->row[j].name);
		pair->name = order <= 0 ? a->row[i].name : b->row[j].name;
		if (order <= 0)
			pair->a = a->row[i++];
		if (order >= 0)
			pair->b = b->row[j++];
	}
	qsort(pairs->pair, pairs->nr, sizeof(*pairs->pair), compare_pairs);
	return NRT_SUCCESS;
}

static void signed_time(uint64_t from, uint64_t to, char text[VIEW_NUMBER + 1])
{
	char bare[VIEW_NUMBER];

	view_time(to > from ? to - from : from - to, bare);
	snprintf(text, VIEW_NUMBER + 1, "%s%s", to > from ? "+" : to < from ? "-" : "", bare);
}

static void add_pair(struct table *table, const struct pair *pair)
{
	char a[VIEW_NUMBER], b[VIEW_NUMBER], busy[VIEW_NUMBER + 1], waited[VIEW_NUMBER + 1];
	char critical[VIEW_NUMBER + 1];

	view_time(pair->a.busy_ns, a);
	view_time(pair->b.busy_ns, b);
	signed_time(pair->a.busy_ns, pair->b.busy_ns, busy);
	signed_time(pair->a.wait_ns, pair->b.wait_ns, waited);
	signed_time(pair->a.critical_ns, pair->b.critical_ns, critical);
	table_cell(table, "%.80s", pair->name);
	table_cell(table, "%s", a);
	table_cell(table, "%s", b);
	table_cell(table, "%s", busy);
	table_cell(table, "%s", waited);
	table_cell(table, "%s", critical);
	table_cell(table, "%+" PRId64, (int64_t)(pair->b.bytes - pair->a.bytes));
	table_cell(table, "%+" PRId64, (int64_t)(pair->b.flops - pair->a.flops));
}

static NRT_STATUS print_table(const struct profile *a, const struct profile *b, const char *by,
			      const struct pairs *pairs, size_t shown, FILE *out,
			      struct nrt_error *error)
{
	const char *const head[] = {
		by, "busy\nbefore", "busy\nafter", "busy\nchange", "waited\nchange",
		"critical path\nchange", "bytes\nchange", "FLOPs\nchange",
	};
	struct table *table = table_new(sizeof(head) / sizeof(*head), head);
	char before[VIEW_NUMBER], after[VIEW_NUMBER], more[VIEW_NUMBER + 1];
	size_t i;

	if (!table)
		return nrt_error_memory(error);
	view_time(a->length_ns, before);
	view_time(b->length_ns, after);
	signed_time(a->length_ns, b->length_ns, more);
	fprintf(out, "Device time: %s before, %s after, %s\n", before, after, more);
	for (i = 0; i < shown; i++)
		add_pair(table, &pairs->pair[i]);
	table_print(table, out);
	if (shown < pairs->nr)
		fprintf(out, "%zu more; --top 0 shows all\n", pairs->nr - shown);
	table_free(table);
	return NRT_SUCCESS;
}

static void add_both(struct json_object *object, const char *key, uint64_t a, uint64_t b)
{
	struct json_object *list = json_object_new_array();

	json_object_array_add(list, json_object_new_int64((int64_t)a));
	json_object_array_add(list, json_object_new_int64((int64_t)b));
	json_object_object_add(object, key, list);
}

static void print_json(const struct profile *a, const struct profile *b, const char *by,
		       const struct pairs *pairs, size_t shown, FILE *out)
{
	struct json_object *root = json_object_new_object();
	struct json_object *list = json_object_new_array();
	size_t i;

	add_both(root, "device_ns", a->length_ns, b->length_ns);
	json_object_object_add(root, by, list);
	for (i = 0; i < shown; i++) {
		const struct pair *pair = &pairs->pair[i];
		struct json_object *object = json_object_new_object();

		json_object_object_add(object, "name", json_object_new_string(pair->name));
		add_both(object, "busy_ns", pair->a.busy_ns, pair->b.busy_ns);
		add_both(object, "wait_ns", pair->a.wait_ns, pair->b.wait_ns);
		add_both(object, "critical_ns", pair->a.critical_ns, pair->b.critical_ns);
		add_both(object, "bytes", pair->a.bytes, pair->b.bytes);
		add_both(object, "flops", pair->a.flops, pair->b.flops);
		json_object_array_add(list, object);
	}
	fprintf(out, "%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
}

static NRT_STATUS print_pairs(const struct profile *a, const struct profile *b, enum sum_by by,
			      const struct view_options *options, const struct pairs *pairs,
			      FILE *out, struct nrt_error *error)
{
	size_t shown = options->top && options->top < pairs->nr ? options->top : pairs->nr;

	if (options->format == VIEW_CSV)
		return nrt_error_set(error, NRT_INVALID, "diff has no CSV: use --format json");
	if (options->format == VIEW_TABLE)
		return print_table(a, b, view_by_name(by), pairs, shown, out, error);
	print_json(a, b, view_by_name(by), pairs, shown, out);
	return NRT_SUCCESS;
}

NRT_STATUS view_diff(const struct profile *a, const struct profile *b,
		     const struct view_options *options, FILE *out, struct nrt_error *error)
{
	enum sum_by by = options->by == SUM_NR_BYS ? SUM_BY_LINE : options->by;
	struct sum_rows before = { 0 }, after = { 0 };
	struct pairs pairs = { 0 };
	NRT_STATUS status;

	status = sum_rows(a, by, &before, error);
	if (!status)
		status = sum_rows(b, by, &after, error);
	if (!status) {
		qsort(before.row, before.nr, sizeof(*before.row), compare_names);
		qsort(after.row, after.nr, sizeof(*after.row), compare_names);
		status = merge(&before, &after, &pairs, error);
	}
	if (!status)
		status = print_pairs(a, b, by, options, &pairs, out, error);
	free(pairs.pair);
	free(before.row);
	free(after.row);
	return status;
}
