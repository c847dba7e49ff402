// SPDX-License-Identifier: MIT
/*
 * A page with a timeline: page.html with the script page.js and, between both, the profile. What
 * is long is in columns, deflated and in base64: most of the time that a browser takes goes into
 * reading them as HTML, so they are to be short. The rest is JSON.
 */
#include <inttypes.h>
#include <openssl/evp.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "page.inc"
#include "view.h"

/* A text that events share. */
struct name {
	char *text;
	uint32_t id;
};

/**
 * struct page - a page on its way
 * @at: events by actor, and of each actor by their begin
 * @place: where each event is in @at
 * @group: row of each event in @lines
 * @lines: by line of the source
 * @name_of: name of each event
 * @tree, @names, @nr_names: all names; by their text, and by number
 * @unit_ns: of a time: 1, unless the execution takes longer than 2^32 ns
 * @number, @bytes, @packed: the column under work: as numbers, as bytes, and deflated
 */
struct page {
	const struct profile *profile;
	FILE *out;
	uint32_t *at;
	uint32_t *place;
	uint32_t *group;
	struct sum_rows lines;
	uint32_t *name_of;
	void *tree;
	struct name **names;
	uint32_t nr_names;
	uint64_t unit_ns;
	uint32_t *number;
	uint8_t *bytes;
	uint8_t *packed;
	struct nrt_error *error;
};

/* --- Order --- */

static int compare_events(const void *a, const void *b, void *arg)
{
	const struct profile *profile = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t begin = profile->event[x].begin_ns, other = profile->event[y].begin_ns;

	if (begin != other)
		return begin < other ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void sort_events(struct page *page)
{
	const struct profile *profile = page->profile;
	uint32_t i;

	memcpy(page->at, profile->order, profile->nr_events * sizeof(*page->at));
	for (i = 0; i < PROFILE_MAX_CORES * PROFILE_ACTORS; i++)
		qsort_r(page->at + profile->actor[i].first, profile->actor[i].count,
			sizeof(*page->at), compare_events, (void *)profile);
	for (i = 0; i < profile->nr_events; i++)
		page->place[page->at[i]] = i;
}

/* --- Names --- */

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static void free_name(void *node)
{
	struct name *name = node;

	free(name->text);
	free(name);
}

/* The number of a text; names[] has room for it. */
static NRT_STATUS add_name(struct page *page, char *text, uint32_t *id)
{
	const struct name key = { .text = text };
	struct name **found = tfind(&key, &page->tree, compare_names);
	struct name *name;

	if (found) {
		*id = (*found)->id;
		return NRT_SUCCESS;
	}
	name = calloc(1, sizeof(*name));
	if (name)
		name->text = strdup(text);
	if (!name || !name->text || !tsearch(name, &page->tree, compare_names)) {
		if (name)
			free_name(name);
		return nrt_error_memory(page->error);
	}
	name->id = page->nr_names;
	page->names[page->nr_names++] = name;
	*id = name->id;
	return NRT_SUCCESS;
}

/* Events of one step have one name, but for generated packets. */
static NRT_STATUS name_events(struct page *page)
{
	const struct profile *profile = page->profile;
	uint32_t *known = calloc(profile->nr_steps, sizeof(*known));
	char text[PROFILE_TEXT];
	NRT_STATUS status = NRT_SUCCESS;
	uint32_t i;

	if (!known)
		return nrt_error_memory(page->error);
	for (i = 0; i < profile->nr_events && !status; i++) {
		uint32_t step = profile->event[i].step;

		if (known[step] && step != profile_generated(profile)) {
			page->name_of[i] = known[step] - 1;
			continue;
		}
		profile_event_name(profile, i, text);
		status = add_name(page, text, &page->name_of[i]);
		known[step] = page->name_of[i] + 1;
	}
	free(known);
	return status;
}

/* --- Columns --- */

enum column {
	COLUMN_BEGIN,
	COLUMN_LENGTH,
	COLUMN_WAIT,
	COLUMN_CRITICAL,
	COLUMN_CAUSE,
	COLUMN_NAME,
	COLUMN_LINE,
	COLUMN_MORE,	/* why it waited 7:0, inexact 8 */
	NR_COLUMNS,
};

static uint32_t value_of(const struct page *page, enum column column, uint32_t index)
{
	const struct profile_event *event = &page->profile->event[index];
	const uint64_t unit = page->unit_ns;

	switch (column) {
	case COLUMN_BEGIN:
		return (uint32_t)(event->begin_ns / unit);
	case COLUMN_LENGTH:
		return (uint32_t)(event->end_ns / unit - event->begin_ns / unit);
	case COLUMN_WAIT:
		return (uint32_t)(event->wait_ns / unit);
	case COLUMN_CRITICAL:
		return (uint32_t)(event->critical_ns / unit);
	case COLUMN_CAUSE:
		return event->cause == PROFILE_NONE ? PROFILE_NONE : page->place[event->cause];
	case COLUMN_NAME:
		return page->name_of[index];
	case COLUMN_LINE:
		return page->group[index];
	default:
		return event->why | (event->inexact ? 0x100 : 0);
	}
}

/* As small as they can be, and as equal in each round of a program: page.js undoes it. */
static uint32_t made_small(const struct page *page, enum column column, uint32_t i)
{
	uint32_t value = value_of(page, column, page->at[i]), back = i - value;

	if (column == COLUMN_BEGIN)
		return i ? value - value_of(page, column, page->at[i - 1]) : value;
	/* Both signs in turns, 0: none. */
	if (column == COLUMN_CAUSE)
		return value == PROFILE_NONE ? 0 : back << 1 ^ (back >> 31 ? UINT32_MAX : 0);
	return value;
}

#define CHUNK	12288	/* bytes at a time: no padding in base64 */
#define NUMBER	sizeof(uint32_t)
#define LEVEL	6	/* of zlib */

static void put_base64(struct page *page, size_t size)
{
	unsigned char text[CHUNK * 4 / 3 + 4];
	size_t i, nr;

	for (i = 0; i < size; i += nr) {
		nr = size - i < CHUNK ? size - i : CHUNK;
		EVP_EncodeBlock(text, page->packed + i, (int)nr);
		fputs((const char *)text, page->out);
	}
}

/*
 * The low bytes of all numbers, then the next ones, up to the highest that is not 0 everywhere:
 * bytes of one kind are side by side, as a packer wants them. Returns how many there are.
 */
static size_t take_apart(struct page *page)
{
	const size_t nr = page->profile->nr_events;
	uint32_t any = 0, shift;
	size_t i, to = 0;

	for (i = 0; i < nr; i++)
		any |= page->number[i];
	for (shift = 0; shift < 32 && any >> shift; shift += 8)
		for (i = 0; i < nr; i++)
			page->bytes[to++] = (uint8_t)(page->number[i] >> shift);
	return to;
}

static NRT_STATUS put_column(struct page *page, enum column column)
{
	const uint32_t nr = page->profile->nr_events;
	uLongf size = compressBound(nr * NUMBER);
	uint32_t i;

	for (i = 0; i < nr; i++)
		page->number[i] = made_small(page, column, i);
	if (compress2(page->packed, &size, page->bytes, take_apart(page), LEVEL) != Z_OK)
		return nrt_error_memory(page->error);
	put_base64(page, size);
	return NRT_SUCCESS;
}

static NRT_STATUS put_columns(struct page *page)
{
	static const char *const ids[NR_COLUMNS] = {
		"begin", "length", "wait", "critical", "cause", "name", "line", "more",
	};
	enum column column;

	for (column = 0; column < NR_COLUMNS; column++) {
		fprintf(page->out, "<script type=\"text/plain\" id=\"column-%s\">", ids[column]);
		if (put_column(page, column))
			return page->error->status;
		fprintf(page->out, "</script>\n");
	}
	return NRT_SUCCESS;
}

/* --- JSON --- */

static void put_text(struct page *page, const char *key, const char *text)
{
	fprintf(page->out, "\"%s\":", key);
	view_json_text(page->out, text);
	fputc(',', page->out);
}

/* What an actor is, for its colour: an engine by its number, or a queue. */
static void put_lane(struct page *page, uint32_t actor, bool first)
{
	char name[PROFILE_TEXT];

	profile_actor_name(page->profile, actor, name);
	fprintf(page->out, "%s\n{", first ? "" : ",");
	put_text(page, "name", name);
	fprintf(page->out, "\"core\":%u,\"kind\":%u,\"first\":%u,\"count\":%u}",
		profile_core_of(actor),
		profile_is_queue(actor) ? NEURON_NR_ENGINES : profile_unit_of(actor),
		page->profile->actor[actor].first, page->profile->actor[actor].count);
}

static void put_lanes(struct page *page)
{
	bool first = true;
	uint32_t actor;

	fprintf(page->out, "\"lanes\":[");
	for (actor = 0; actor < PROFILE_MAX_CORES * PROFILE_ACTORS; actor++) {
		if (!page->profile->actor[actor].count)
			continue;
		put_lane(page, actor, first);
		first = false;
	}
	fprintf(page->out, "],\n");
}

static void put_lines(struct page *page)
{
	size_t i;

	fprintf(page->out, "\"lines\":[");
	for (i = 0; i < page->lines.nr; i++) {
		const struct sum_row *row = &page->lines.row[i];
		const char *source;
		uint32_t line = 0;

		source = profile_source(page->profile, row->event, &line);
		fprintf(page->out, "%s\n{", i ? "," : "");
		put_text(page, "name", row->name);
		put_text(page, "file", source ? source : "");
		fprintf(page->out, "\"line\":%u,\"events\":%" PRIu64 ",\"busy\":%" PRIu64, line,
			row->count, row->busy_ns);
		fprintf(page->out, ",\"wait\":%" PRIu64 ",\"critical\":%" PRIu64, row->wait_ns,
			row->critical_ns);
		fprintf(page->out, ",\"bytes\":%" PRIu64 ",\"flops\":%" PRIu64 "}", row->bytes,
			row->flops);
	}
	fprintf(page->out, "],\n");
}

/* The text of a source, or null: the page shows lines without their text then. */
static void put_source(struct page *page, const struct source_folders *folders, const char *name)
{
	size_t size;
	char *text = source_read(folders, name, &size);

	if (text)
		view_json_text(page->out, text);
	else
		fputs("null", page->out);
	free(text);
}

static bool is_known(const struct page *page, size_t row, const char *source)
{
	uint32_t line;
	size_t i;

	for (i = row; i-- > 0;) {
		const char *other = profile_source(page->profile, page->lines.row[i].event, &line);

		if (other && !strcmp(other, source))
			return true;
	}
	return false;
}

/* Rows are sorted by file, so the one before tells mostly. */
static void put_files(struct page *page, const struct source_folders *folders)
{
	const char *last = "", *source;
	bool first = true;
	uint32_t line;
	size_t i;

	fprintf(page->out, "\"files\":{");
	for (i = 0; i < page->lines.nr; i++) {
		source = profile_source(page->profile, page->lines.row[i].event, &line);
		if (!source || !strcmp(source, last) || is_known(page, i, source))
			continue;
		fputs(first ? "\n" : ",\n", page->out);
		view_json_text(page->out, source);
		fputc(':', page->out);
		put_source(page, folders, source);
		first = false;
		last = source;
	}
	fprintf(page->out, "},\n");
}

static void put_names(struct page *page)
{
	uint32_t i;

	fprintf(page->out, "\"names\":[");
	for (i = 0; i < page->nr_names; i++) {
		fputs(i ? ",\n" : "\n", page->out);
		view_json_text(page->out, page->names[i]->text);
	}
	fprintf(page->out, "],\n");
}

static NRT_STATUS put_summary(struct page *page)
{
	char *text = NULL;
	NRT_STATUS status;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return nrt_error_memory(page->error);
	status = view_summary(page->profile, memory, page->error);
	if (fclose(memory) && !status)
		status = nrt_error_memory(page->error);
	if (!status)
		put_text(page, "summary", text);
	free(text);
	return status;
}

static NRT_STATUS put_json(struct page *page, const struct source_folders *folders)
{
	const struct profile *profile = page->profile;
	unsigned int why;

	fprintf(page->out, "<script type=\"application/json\" id=\"profile\">{");
	put_text(page, "format", "neuron-profile-page");
	put_text(page, "model", profile->model);
	put_text(page, "chip", profile->gen->device_name);
	fprintf(page->out, "\"version\":1,\"device_ns\":%" PRIu64 ",\"unit_ns\":%" PRIu64
		",\"events\":%u,\"lost\":%" PRIu64 ",\n", profile->length_ns, page->unit_ns,
		profile->nr_events, profile->lost);
	if (put_summary(page))
		return page->error->status;
	put_lanes(page);
	put_lines(page);
	put_files(page, folders);
	put_names(page);
	fprintf(page->out, "\"why\":[");
	for (why = 0; why < PROFILE_NR_WHYS; why++) {
		fputs(why ? "," : "", page->out);
		view_json_text(page->out, profile_why_name(why));
	}
	fprintf(page->out, "]}</script>\n");
	return NRT_SUCCESS;
}

/* --- The page --- */

static NRT_STATUS prepare(struct page *page)
{
	const size_t nr = page->profile->nr_events;

	page->at = calloc(nr, sizeof(*page->at));
	page->place = calloc(nr, sizeof(*page->place));
	page->group = calloc(nr, sizeof(*page->group));
	page->name_of = calloc(nr, sizeof(*page->name_of));
	page->names = calloc(nr, sizeof(*page->names));
	page->number = calloc(nr, NUMBER);
	page->bytes = malloc(nr * NUMBER);
	page->packed = malloc(compressBound(nr * NUMBER));
	if (!page->at || !page->place || !page->group || !page->name_of || !page->names ||
	    !page->number || !page->bytes || !page->packed)
		return nrt_error_memory(page->error);
	page->unit_ns = page->profile->event[page->profile->last].end_ns / UINT32_MAX + 1;
	sort_events(page);
	if (sum_lines(page->profile, &page->lines, page->group, page->error))
		return page->error->status;
	return name_events(page);
}

static NRT_STATUS put_page(struct page *page, const struct source_folders *folders)
{
	if (prepare(page))
		return page->error->status;
	fwrite(page_html, 1, sizeof(page_html), page->out);
	if (put_json(page, folders))
		return page->error->status;
	if (put_columns(page))
		return page->error->status;
	fprintf(page->out, "<script>\n");
	fwrite(page_js, 1, sizeof(page_js), page->out);
	fprintf(page->out, "</script>\n</body>\n</html>\n");
	return NRT_SUCCESS;
}

NRT_STATUS view_html(const struct profile *profile, const struct source_folders *folders,
		     FILE *out, struct nrt_error *error)
{
	struct page page = { .profile = profile, .out = out, .error = error };
	NRT_STATUS status = put_page(&page, folders);

	tdestroy(page.tree, free_name);
	free(page.packed);
	free(page.bytes);
	free(page.number);
	free(page.names);
	free(page.name_of);
	free(page.lines.row);
	free(page.group);
	free(page.place);
	free(page.at);
	return status;
}
