// SPDX-License-Identifier: MIT
/* Tables of a profile: for people, as JSON, as CSV. */
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chip/isa/trn_isa.h"
#include "table.h"
#include "view.h"

static const char *const by_names[SUM_NR_BYS] = {
	[SUM_BY_ENGINE] = "engine",
	[SUM_BY_QUEUE] = "queue",
	[SUM_BY_LINE] = "line",
	[SUM_BY_INSTRUCTION] = "instruction",
};

const char *view_by_name(enum sum_by by)
{
	return by < SUM_NR_BYS ? by_names[by] : NULL;
}

/* --- Numbers --- */

void view_time(uint64_t ns, char text[VIEW_NUMBER])
{
	if (ns < 1000000)
		snprintf(text, VIEW_NUMBER, "%" PRIu64 ".%03" PRIu64 " us", ns / 1000, ns % 1000);
	else
		snprintf(text, VIEW_NUMBER, "%.4f ms", (double)ns * 1e-6);
}

static void scaled(double value, double base, const char *const *units, size_t nr, char *text)
{
	size_t i = 0;

	while (i + 1 < nr && value >= base) {
		value /= base;
		i++;
	}
	if (i || fabs(value - rint(value)) > 1e-9)
		snprintf(text, VIEW_NUMBER, "%.3g %s", value, units[i]);
	else
		snprintf(text, VIEW_NUMBER, "%.0f %s", value, units[i]);
	if (value >= 999.5)
		snprintf(text, VIEW_NUMBER, "%.0f %s", value, units[i]);
}

void view_bytes(double bytes, char text[VIEW_NUMBER])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };

	scaled(bytes, 1024, units, sizeof(units) / sizeof(*units), text);
}

void view_count(double value, const char *unit, char text[VIEW_NUMBER])
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
	char bare[VIEW_NUMBER];

	scaled(value, 1000, prefixes, sizeof(prefixes) / sizeof(*prefixes), bare);
	snprintf(text, VIEW_NUMBER, "%.*s%.12s", VIEW_NUMBER - 13, bare, unit);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* --- Tables --- */

/* Of @nr rows. */
static size_t limit(const struct view_options *options, size_t nr)
{
	return options->top && options->top < nr ? options->top : nr;
}

static void left_out(FILE *out, size_t shown, size_t nr)
{
	if (shown < nr)
		fprintf(out, "%zu more; --top 0 shows all\n", nr - shown);
}

static void add_row(struct table *table, const struct profile *profile, const struct sum_row *row)
{
	char busy[VIEW_NUMBER], waited[VIEW_NUMBER], critical[VIEW_NUMBER];
	char bytes[VIEW_NUMBER], hbm[VIEW_NUMBER], flops[VIEW_NUMBER];

	view_time(row->busy_ns, busy);
	view_time(row->wait_ns, waited);
	view_time(row->critical_ns, critical);
	view_bytes((double)row->bytes, bytes);
	view_bytes((double)(row->hbm_read + row->hbm_written), hbm);
	view_count((double)row->flops, "FLOP", flops);
	table_cell(table, "%.80s", row->name);
	table_cell(table, "%" PRIu64, row->count);
	table_cell(table, "%s", busy);
	table_cell(table, "%.1f %%", percent(row->busy_ns, profile->length_ns));
	table_cell(table, "%s", waited);
	table_cell(table, "%s", critical);
	table_cell(table, "%s", bytes);
	table_cell(table, "%s", hbm);
	table_cell(table, "%s", flops);
}

static NRT_STATUS print_rows(const struct profile *profile, enum sum_by by,
			     const struct view_options *options, FILE *out,
			     struct nrt_error *error)
{
	const char *const head[] = {
		by_names[by], "events", "busy", "of the\ntime", "waited", "on the\ncritical path",
		"moved", "HBM", "computed",
	};
	struct sum_rows rows;
	struct table *table;
	size_t shown, i;

	if (sum_rows(profile, by, &rows, error))
		return error->status;
	if (!rows.nr) {
		free(rows.row);
		return NRT_SUCCESS;
	}
	table = table_new(sizeof(head) / sizeof(*head), head);
	if (!table) {
		free(rows.row);
		return nrt_error_memory(error);
	}
	shown = by == SUM_BY_ENGINE ? rows.nr : limit(options, rows.nr);
	for (i = 0; i < shown; i++)
		add_row(table, profile, &rows.row[i]);
	table_print(table, out);
	left_out(out, shown, rows.nr);
	table_free(table);
	free(rows.row);
	return NRT_SUCCESS;
}

/* A semaphore of a wait, or nothing. */
static void sem_name(const struct sum_wait *wait, char text[VIEW_NUMBER])
{
	*text = '\0';
	if (wait->why == PROFILE_WHY_SEMAPHORE && wait->sem < NEURON_NR_SEMAPHORES)
		snprintf(text, VIEW_NUMBER, " %u", wait->sem);
	else if (wait->why == PROFILE_WHY_SEMAPHORE)
		snprintf(text, VIEW_NUMBER, " (event %u)", wait->sem - NEURON_NR_SEMAPHORES);
}

static void add_wait(struct table *table, const struct profile *profile,
		     const struct sum_wait *wait)
{
	const struct profile_event *event = &profile->event[wait->event];
	char waiter[PROFILE_TEXT], cause[PROFILE_TEXT] = "", at[PROFILE_TEXT];
	char from[PROFILE_TEXT] = "", ns[VIEW_NUMBER], longest[VIEW_NUMBER], sem[VIEW_NUMBER];

	profile_actor_name(profile, wait->waiter, waiter);
	profile_place_name(profile, wait->event, at);
	if (wait->cause != PROFILE_NONE) {
		profile_actor_name(profile, wait->cause, cause);
		profile_place_name(profile, event->cause, from);
	}
	view_time(wait->ns, ns);
	view_time(event->wait_ns, longest);
	sem_name(wait, sem);
	table_cell(table, "%.60s", waiter);
	table_cell(table, "%s%s", profile_why_name(wait->why), sem);
	table_cell(table, "%.60s", cause);
	table_cell(table, "%s", ns);
	table_cell(table, "%" PRIu64, wait->count);
	table_cell(table, "%s", longest);
	table_cell(table, "%.80s", at);
	table_cell(table, "%.80s", from);
}

static NRT_STATUS print_waits(const struct profile *profile, const struct view_options *options,
			      FILE *out, struct nrt_error *error)
{
	static const char *const head[] = {
		"who waited", "for", "of", "together", "waits", "longest", "there", "ended by",
	};
	struct sum_waits waits;
	struct table *table;
	size_t shown, i;

	if (sum_waits(profile, &waits, error))
		return error->status;
	table = table_new(sizeof(head) / sizeof(*head), head);
	if (!table) {
		free(waits.wait);
		return nrt_error_memory(error);
	}
	shown = limit(options, waits.nr);
	for (i = 0; i < shown; i++)
		add_wait(table, profile, &waits.wait[i]);
	table_print(table, out);
	left_out(out, shown, waits.nr);
	table_free(table);
	free(waits.wait);
	return NRT_SUCCESS;
}

/* --- The head --- */

static void print_head(const struct profile *profile, FILE *out)
{
	char length[VIEW_NUMBER];

	view_time(profile->length_ns, length);
	fprintf(out, "Model \"%s\" on core %u of a %s: device time %s, %" PRIu64
		" instructions\n", profile->model, profile->number, profile->gen->device_name,
		length, profile->instructions);
	if (profile->inexact)
		fprintf(out, "The times are inexact: they depend on how fast the host was.\n");
	if (profile->lost)
		fprintf(out, "%" PRIu64 " events are missing: sums and waits are too small.\n",
			profile->lost);
}

static void print_moved(const struct sum_total *total, FILE *out)
{
	char bytes[VIEW_NUMBER], read[VIEW_NUMBER], written[VIEW_NUMBER];
	unsigned int from, to;

	view_bytes((double)total->hbm_read, read);
	view_bytes((double)total->hbm_written, written);
	fprintf(out, "HBM: %s read, %s written\n", read, written);
	for (from = 0; from < PROFILE_NR_MEMORIES; from++) {
		for (to = 0; to < PROFILE_NR_MEMORIES; to++) {
			if (!total->moved[from][to] || to == PROFILE_MEMORY_SEM)
				continue;
			view_bytes((double)total->moved[from][to], bytes);
			fprintf(out, "Moved: %s from %s to %s\n", bytes, profile_memory_name(from),
				profile_memory_name(to));
		}
	}
}

static void print_reloads(const struct sum_total *total, FILE *out)
{
	char loaded[VIEW_NUMBER], distinct[VIEW_NUMBER];

	if (!total->distinct || total->loaded < total->distinct + total->distinct / 4)
		return;
	view_bytes((double)total->loaded, loaded);
	view_bytes((double)total->distinct, distinct);
	fprintf(out, "Loaded again and again: %s of HBM are %s different bytes, %.1f times each\n",
		loaded, distinct, (double)total->loaded / (double)total->distinct);
}

static void print_roof(const struct sum_total *total, FILE *out)
{
	const char *engine = trn_isa_engine_name(total->engine);
	char attained[VIEW_NUMBER], peak[VIEW_NUMBER], rate[VIEW_NUMBER], roof[VIEW_NUMBER];

	view_count(total->attained, "FLOP/s", attained);
	view_count(total->peak, "FLOP/s", peak);
	view_count(total->rate, "B/s", rate);
	view_count(total->roof, "FLOP/s", roof);
	if (total->bound == SUM_BOUND_NOTHING || !total->flops) {
		fprintf(out, "Roofline: nothing is computed\n");
		return;
	}
	fprintf(out, "Utilisation of the %s engine: %.2f %% (%s of %s)\n", engine,
		100 * total->attained / total->peak, attained, peak);
	fprintf(out, "Roofline: %.3g FLOP for each byte of HBM (%s); the ridge is at %.3g: ",
		total->intensity, rate, total->ridge);
	if (total->bound == SUM_BOUND_HBM)
		fprintf(out, "bound by HBM, at most %s, ", roof);
	else
		fprintf(out, "bound by the %s engine, ", engine);
	fprintf(out, "of which %.2f %% are reached\n", 100 * total->attained / total->roof);
}

NRT_STATUS view_summary(const struct profile *profile, FILE *out, struct nrt_error *error)
{
	struct sum_total total;

	if (sum_total(profile, &total, error))
		return error->status;
	print_head(profile, out);
	print_roof(&total, out);
	print_moved(&total, out);
	print_reloads(&total, out);
	return NRT_SUCCESS;
}

static NRT_STATUS print_all(const struct profile *profile, const struct view_options *options,
			    FILE *out, struct nrt_error *error)
{
	enum sum_by by;

	if (view_summary(profile, out, error))
		return error->status;
	for (by = SUM_BY_ENGINE; by < SUM_BY_INSTRUCTION; by++)
		if (print_rows(profile, by, options, out, error))
			return error->status;
	return print_waits(profile, options, out, error);
}

/* --- CSV --- */

static void csv_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static NRT_STATUS print_csv(const struct profile *profile, const struct view_options *options,
			    FILE *out, struct nrt_error *error)
{
	enum sum_by by = options->by == SUM_NR_BYS ? SUM_BY_LINE : options->by;
	struct sum_rows rows;
	size_t i;

	if (sum_rows(profile, by, &rows, error))
		return error->status;
	fprintf(out, "%s,events,busy_ns,wait_ns,critical_ns,bytes,hbm_read,hbm_written,flops\n",
		by_names[by]);
	for (i = 0; i < limit(options, rows.nr); i++) {
		const struct sum_row *row = &rows.row[i];

		csv_text(out, row->name);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, row->count,
			row->busy_ns, row->wait_ns, row->critical_ns);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", row->bytes,
			row->hbm_read, row->hbm_written, row->flops);
	}
	free(rows.row);
	return NRT_SUCCESS;
}

/* --- JSON --- */

static void add_int(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static void add_double(struct json_object *object, const char *key, double value)
{
	json_object_object_add(object, key,
			       isfinite(value) ? json_object_new_double(value) : NULL);
}

static struct json_object *json_row(const struct sum_row *row)
{
	struct json_object *object = json_object_new_object();

	add_text(object, "name", row->name);
	add_int(object, "events", row->count);
	add_int(object, "busy_ns", row->busy_ns);
	add_int(object, "wait_ns", row->wait_ns);
	add_int(object, "critical_ns", row->critical_ns);
	add_int(object, "bytes", row->bytes);
	add_int(object, "hbm_read", row->hbm_read);
	add_int(object, "hbm_written", row->hbm_written);
	add_int(object, "flops", row->flops);
	return object;
}

static NRT_STATUS json_rows(const struct profile *profile, enum sum_by by,
			    const struct view_options *options, struct json_object *root,
			    struct nrt_error *error)
{
	struct json_object *list = json_object_new_array();
	struct sum_rows rows;
	size_t i;

	json_object_object_add(root, by_names[by], list);
	if (sum_rows(profile, by, &rows, error))
		return error->status;
	for (i = 0; i < limit(options, rows.nr); i++)
		json_object_array_add(list, json_row(&rows.row[i]));
	free(rows.row);
	return NRT_SUCCESS;
}

static struct json_object *json_wait(const struct profile *profile, const struct sum_wait *wait)
{
	struct json_object *object = json_object_new_object();
	char text[PROFILE_TEXT];

	profile_actor_name(profile, wait->waiter, text);
	add_text(object, "waiter", text);
	add_text(object, "for", profile_why_name(wait->why));
	if (wait->why == PROFILE_WHY_SEMAPHORE && wait->sem < NEURON_NR_SEMAPHORES)
		add_int(object, "semaphore", wait->sem);
	else if (wait->why == PROFILE_WHY_SEMAPHORE)
		add_int(object, "event", wait->sem - NEURON_NR_SEMAPHORES);
	add_int(object, "wait_ns", wait->ns);
	add_int(object, "waits", wait->count);
	add_int(object, "longest_ns", profile->event[wait->event].wait_ns);
	profile_place_name(profile, wait->event, text);
	add_text(object, "at", text);
	if (wait->cause == PROFILE_NONE)
		return object;
	profile_actor_name(profile, wait->cause, text);
	add_text(object, "cause", text);
	profile_place_name(profile, profile->event[wait->event].cause, text);
	add_text(object, "ended_by", text);
	return object;
}

static NRT_STATUS json_waits(const struct profile *profile, const struct view_options *options,
			     struct json_object *root, struct nrt_error *error)
{
	struct json_object *list = json_object_new_array();
	struct sum_waits waits;
	size_t i;

	json_object_object_add(root, "waits", list);
	if (sum_waits(profile, &waits, error))
		return error->status;
	for (i = 0; i < limit(options, waits.nr); i++)
		json_object_array_add(list, json_wait(profile, &waits.wait[i]));
	free(waits.wait);
	return NRT_SUCCESS;
}

static struct json_object *json_moved(const struct sum_total *total)
{
	struct json_object *list = json_object_new_array(), *entry;
	unsigned int from, to;

	for (from = 0; from < PROFILE_NR_MEMORIES; from++) {
		for (to = 0; to < PROFILE_NR_MEMORIES; to++) {
			if (!total->moved[from][to])
				continue;
			entry = json_object_new_object();
			add_text(entry, "from", profile_memory_name(from));
			add_text(entry, "to", profile_memory_name(to));
			add_int(entry, "bytes", total->moved[from][to]);
			json_object_array_add(list, entry);
		}
	}
	return list;
}

static struct json_object *json_roof(const struct sum_total *total)
{
	static const char *const bounds[] = {
		[SUM_BOUND_NOTHING] = "nothing",
		[SUM_BOUND_HBM] = "HBM",
		[SUM_BOUND_ENGINE] = "engine",
	};
	struct json_object *object = json_object_new_object();

	add_text(object, "engine", trn_isa_engine_name(total->engine));
	add_double(object, "utilisation", total->attained / total->peak);
	add_double(object, "flops_per_second", total->attained);
	add_double(object, "peak_flops_per_second", total->peak);
	add_double(object, "hbm_bytes_per_second", total->rate);
	add_double(object, "intensity", total->intensity);
	add_double(object, "ridge", total->ridge);
	add_double(object, "roof_flops_per_second", total->roof);
	add_text(object, "bound_by", bounds[total->bound]);
	return object;
}

static NRT_STATUS json_total(const struct profile *profile, struct json_object *root,
			     struct nrt_error *error)
{
	struct sum_total total;

	if (sum_total(profile, &total, error))
		return error->status;
	add_text(root, "model", profile->model);
	add_text(root, "chip", profile->gen->device_name);
	add_int(root, "device_ns", profile->length_ns);
	json_object_object_add(root, "inexact", json_object_new_boolean(profile->inexact));
	add_int(root, "lost", profile->lost);
	add_int(root, "instructions", profile->instructions);
	add_int(root, "tensor_flops", total.tensor_flops);
	add_int(root, "other_flops", total.lane_flops);
	add_int(root, "hbm_read", total.hbm_read);
	add_int(root, "hbm_written", total.hbm_written);
	add_int(root, "loaded", total.loaded);
	add_int(root, "loaded_distinct", total.distinct);
	json_object_object_add(root, "moved", json_moved(&total));
	json_object_object_add(root, "roofline", json_roof(&total));
	return NRT_SUCCESS;
}

static NRT_STATUS fill_json(const struct profile *profile, const struct view_options *options,
			    struct json_object *root, struct nrt_error *error)
{
	enum sum_by by;

	if (options->by != SUM_NR_BYS)
		return json_rows(profile, options->by, options, root, error);
	if (json_total(profile, root, error))
		return error->status;
	for (by = SUM_BY_ENGINE; by < SUM_NR_BYS; by++)
		if (json_rows(profile, by, options, root, error))
			return error->status;
	return json_waits(profile, options, root, error);
}

static NRT_STATUS print_json(const struct profile *profile, const struct view_options *options,
			     FILE *out, struct nrt_error *error)
{
	struct json_object *root = json_object_new_object();
	NRT_STATUS status = fill_json(profile, options, root, error);

	if (!status)
		fprintf(out, "%s\n",
			json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
	return status;
}

NRT_STATUS view_print(const struct profile *profile, const struct view_options *options, FILE *out,
		      struct nrt_error *error)
{
	if (options->format == VIEW_JSON)
		return print_json(profile, options, out, error);
	if (options->format == VIEW_CSV)
		return print_csv(profile, options, out, error);
	if (options->by != SUM_NR_BYS)
		return print_rows(profile, options->by, options, out, error);
	return print_all(profile, options, out, error);
}
