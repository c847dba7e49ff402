// SPDX-License-Identifier: MIT
/*
 * Chrome's JSON trace event format: a slice for each event, an arrow from each cause to what
 * waited for it. Perfetto and chrome://tracing read it.
 */
#include <inttypes.h>

#include "view.h"

void view_json_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		/* "<" as well: the text may stand inside of a page's script. */
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ' || c == '<' || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

/* The format has microseconds. */
static void put_us(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, "\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

/* Something about a track; the caller goes on with its "args". */
static void put_meta(FILE *out, const char *what, uint32_t actor)
{
	fprintf(out, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u", what,
		profile_core_of(actor), profile_unit_of(actor));
}

static void put_track(const struct profile *profile, FILE *out, uint32_t actor)
{
	char name[PROFILE_TEXT];

	profile_actor_name(profile, actor, name);
	put_meta(out, "thread_name", actor);
	fprintf(out, ",\"args\":{\"name\":");
	view_json_text(out, name);
	fprintf(out, "}}");
	put_meta(out, "thread_sort_index", actor);
	fprintf(out, ",\"args\":{\"sort_index\":%u}}", profile_unit_of(actor));
}

static void put_tracks(const struct profile *profile, FILE *out)
{
	unsigned int core;
	uint32_t actor;

	for (core = 0; core < profile->nr_cores; core++)
		fprintf(out, "%s\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,%s%u\"}}",
			core ? "," : "", core, "\"args\":{\"name\":\"physical core ", core);
	for (actor = 0; actor < PROFILE_MAX_CORES * PROFILE_ACTORS; actor++)
		if (profile->actor[actor].count)
			put_track(profile, out, actor);
}

static void put_slice(const struct profile *profile, FILE *out, uint32_t index)
{
	const struct profile_event *event = &profile->event[index];
	const struct profile_step *step = &profile->step[event->step];
	char text[PROFILE_TEXT];

	profile_event_name(profile, index, text);
	fprintf(out, ",\n{\"ph\":\"X\",\"name\":");
	view_json_text(out, text);
	fprintf(out, ",\"pid\":%u,\"tid\":%u,", profile_core_of(event->actor),
		profile_unit_of(event->actor));
	put_us(out, "ts", event->begin_ns);
	fputc(',', out);
	put_us(out, "dur", event->end_ns - event->begin_ns);
	profile_place_name(profile, index, text);
	fprintf(out, ",\"args\":{\"line\":");
	view_json_text(out, text);
	fprintf(out, ",\"index\":%u", event->pc);
	if (event->wait_ns) {
		fprintf(out, ",\"waited_ns\":%" PRIu64 ",\"waited_for\":", event->wait_ns);
		view_json_text(out, profile_why_name(event->why));
	}
	if (step->flops)
		fprintf(out, ",\"flops\":%" PRIu64, step->flops);
	if (event->bytes)
		fprintf(out, ",\"bytes\":%" PRIu64, event->bytes);
	fprintf(out, "}}");
}

/* An arrow begins inside of the slice of its cause, and ends where the one that waited begins. */
static void put_arrow(const struct profile *profile, FILE *out, uint32_t index)
{
	const struct profile_event *event = &profile->event[index], *cause;

	if (event->cause == PROFILE_NONE)
		return;
	cause = &profile->event[event->cause];
	fprintf(out, ",\n{\"ph\":\"s\",\"cat\":\"wait\",\"name\":");
	view_json_text(out, profile_why_name(event->why));
	fprintf(out, ",\"id\":%u,\"pid\":%u,\"tid\":%u,", index, profile_core_of(cause->actor),
		profile_unit_of(cause->actor));
	put_us(out, "ts", cause->begin_ns);
	fprintf(out, "},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"wait\",\"name\":");
	view_json_text(out, profile_why_name(event->why));
	fprintf(out, ",\"id\":%u,\"pid\":%u,\"tid\":%u,", index, profile_core_of(event->actor),
		profile_unit_of(event->actor));
	put_us(out, "ts", event->begin_ns);
	fputc('}', out);
}

NRT_STATUS view_trace(const struct profile *profile, FILE *out, struct nrt_error *error)
{
	uint32_t i;

	(void)error;
	fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"model\":");
	view_json_text(out, profile->model);
	fprintf(out, ",\"chip\":");
	view_json_text(out, profile->gen->device_name);
	fprintf(out, "},\"traceEvents\":[");
	put_tracks(profile, out);
	for (i = 0; i < profile->nr_events; i++) {
		put_slice(profile, out, i);
		put_arrow(profile, out, i);
	}
	fprintf(out, "\n]}\n");
	return NRT_SUCCESS;
}
