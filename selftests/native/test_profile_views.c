// SPDX-License-Identifier: MIT
/* What neuron-profile writes: a trace, a page, JSON. Each is read again. */
#include <json-c/json.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "profile_rig.h"

#define VECTOR	NEURON_ENGINE_VECTOR
#define SYNC	NEURON_ENGINE_SYNC

/* A program with a trigger, packets, a wait and a name that needs care. */
static struct nb_program *shown_program(void)
{
	const uint32_t shape[] = { 16, 2048 };
	struct nb_program *nb = nb_new("shown </script>");
	int x = nb_input(nb, "x", NEURON_DTYPE_UINT8, 2, shape);
	int q = nb_queue(nb, "q", "in", SYNC, 1), sem = nb_sem(nb, false);
	struct neuron_ap tile = nb_tile(0, 16, 0, NEURON_DTYPE_FP32, 64);

	nb_source(nb, "shown.c", 3);
	nb_dma(nb, q, nb_sbuf_tile(nb, 0, 16, 0, 2048), nb_linear(x, 0, 16 * 2048), sem);
	nb_halt(nb, SYNC);
	nb_source(nb, "shown.c", 5);
	nb_wait(nb_tensor_tensor(nb, VECTOR, NEURON_ALU_ADD, tile, tile, tile), sem, 1);
	nb_source(nb, NULL, 0);
	nb_halt(nb, VECTOR);
	return nb;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("there is no \"%s\"", key);
	return value;
}

static int64_t int_of(struct json_object *object, const char *key)
{
	return json_object_get_int64(member(object, key));
}

/* Slices have the times of the events; each arrow has two ends. */
static void a_trace(void **state)
{
	struct profile *profile = profile_rig_profile(shown_program(), "shown");
	unsigned int slices = 0, begins = 0, ends = 0, causes = 0;
	struct json_object *root, *events;
	struct nrt_error error;
	char *text = NULL;
	size_t size, i;
	FILE *out;

	(void)state;
	out = open_memstream(&text, &size);
	assert_int_equal(view_trace(profile, out, &error), NRT_SUCCESS);
	fclose(out);
	root = json_tokener_parse(text);
	assert_non_null(root);
	events = member(root, "traceEvents");
	for (i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		const char *phase = json_object_get_string(member(event, "ph"));

		begins += *phase == 's';
		ends += *phase == 'f';
		if (*phase != 'X')
			continue;
		assert_true(json_object_get_double(member(event, "ts")) * 1000 ==
			    (double)profile->event[slices].begin_ns);
		slices++;
	}
	for (i = 0; i < profile->nr_events; i++)
		causes += profile->event[i].cause != PROFILE_NONE;
	assert_int_equal(slices, profile->nr_events);
	/* The queue's start, and the vector engine's wait. */
	assert_int_equal(causes, 2);
	assert_int_equal(begins, causes);
	assert_int_equal(ends, causes);
	json_object_put(root);
	free(text);
	profile_free(profile);
}

/* What is between the tag that begins with @tag and the end of the script. */
static char *script(const char *page, const char *tag)
{
	const char *at = strstr(page, tag);

	if (!at)
		fail_msg("the page has no %s", tag);
	at = strchr(at, '>') + 1;
	return strndup(at, (size_t)(strstr(at, "</script>") - at));
}

/* The @nr numbers that @packed holds, for the caller to free. */
static uint32_t *unpack(const uint8_t *packed, size_t size, uint32_t nr)
{
	uint8_t *bytes = malloc(nr * sizeof(uint32_t));
	uint32_t *number = calloc(nr, sizeof(*number));
	uLongf nr_bytes = nr * sizeof(*number), i;

	assert_non_null(bytes);
	assert_non_null(number);
	assert_int_equal(uncompress(bytes, &nr_bytes, packed, size), Z_OK);
	assert_int_equal(nr_bytes % nr, 0);
	for (i = 0; i < nr_bytes; i++)
		number[i % nr] |= (uint32_t)bytes[i] << i / nr * 8;
	free(bytes);
	return number;
}

static uint32_t *read_column(const char *page, const char *id, uint32_t events)
{
	uint32_t *numbers;
	char tag[64], *text;
	uint8_t *bytes;
	int size;

	snprintf(tag, sizeof(tag), "id=\"column-%s\"", id);
	text = script(page, tag);
	bytes = malloc(strlen(text) + 4);
	assert_non_null(bytes);
	size = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)strlen(text));
	assert_true(size > 0);
	numbers = unpack(bytes, (size_t)size, events);
	free(bytes);
	free(text);
	return numbers;
}

/* As they are in the profile: begins are from the one before, causes are so far back. */
static uint32_t *read_begins(const char *page, uint32_t events)
{
	uint32_t *begin = read_column(page, "begin", events), i;

	for (i = 1; i < events; i++)
		begin[i] += begin[i - 1];
	return begin;
}

static uint32_t *read_causes(const char *page, uint32_t events)
{
	uint32_t *cause = read_column(page, "cause", events), i;

	for (i = 0; i < events; i++)
		cause[i] = cause[i] ? i - (cause[i] >> 1 ^ -(cause[i] & 1)) : PROFILE_NONE;
	return cause;
}

static char *page_of(const struct profile *profile, const char *folder)
{
	struct source_folders folders = { &folder, folder ? 1 : 0 };
	struct nrt_error error;
	char *text = NULL;
	size_t size;
	FILE *out;

	out = open_memstream(&text, &size);
	assert_int_equal(view_html(profile, &folders, out, &error), NRT_SUCCESS);
	fclose(out);
	return text;
}

/* The events of the page, lane by lane, are those of the profile. */
static void compare_page(const struct profile *profile, const char *page, struct json_object *root)
{
	uint32_t *begin = read_begins(page, profile->nr_events);
	uint32_t *length = read_column(page, "length", profile->nr_events);
	uint32_t *cause = read_causes(page, profile->nr_events);
	uint32_t *name = read_column(page, "name", profile->nr_events);
	struct json_object *names = member(root, "names"), *shown;
	char text[PROFILE_TEXT];
	uint32_t i;

	for (i = 0; i < profile->nr_events; i++) {
		const uint32_t index = profile->order[i];
		const struct profile_event *event = &profile->event[index];

		assert_int_equal(begin[i], event->begin_ns);
		assert_int_equal(length[i], event->end_ns - event->begin_ns);
		assert_int_equal(cause[i] == PROFILE_NONE, event->cause == PROFILE_NONE);
		if (event->cause != PROFILE_NONE)
			assert_int_equal(profile->order[cause[i]], event->cause);
		profile_event_name(profile, index, text);
		shown = json_object_array_get_idx(names, name[i]);
		assert_string_equal(json_object_get_string(shown), text);
	}
	free(begin);
	free(length);
	free(cause);
	free(name);
}

/* One file that needs nothing else; what a program is called does not end a script. */
static void a_page(void **state)
{
	struct profile *profile = profile_rig_profile(shown_program(), "shown");
	char *page = page_of(profile, NULL), *text;
	struct json_object *root;

	(void)state;
	assert_null(strstr(page, "http:"));
	assert_null(strstr(page, "https:"));
	assert_null(strstr(page, " src="));
	text = script(page, "id=\"profile\"");
	root = json_tokener_parse(text);
	assert_non_null(root);
	assert_string_equal(json_object_get_string(member(root, "model")), "shown </script>");
	assert_int_equal(int_of(root, "events"), profile->nr_events);
	assert_int_equal(int_of(root, "device_ns"), profile->length_ns);
	/* vector, sync, and the queue. */
	assert_int_equal(json_object_array_length(member(root, "lanes")), 3);
	assert_null(member(member(root, "files"), "shown.c"));
	compare_page(profile, page, root);
	json_object_put(root);
	free(text);
	free(page);
	profile_free(profile);
}

/* The source is beside it, if it is where the user says. */
static void a_page_with_source(void **state)
{
	const char *source = "one\n<two> \"\\\n";
	struct profile *profile = profile_rig_profile(shown_program(), "shown");
	struct json_object *root;
	char *page, *text;

	(void)state;
	profile_rig_write("shown", ".c", source, strlen(source));
	page = page_of(profile, profile_rig_folder());
	text = script(page, "id=\"profile\"");
	root = json_tokener_parse(text);
	assert_non_null(root);
	assert_string_equal(json_object_get_string(member(member(root, "files"), "shown.c")),
			    source);
	json_object_put(root);
	free(text);
	free(page);
	profile_free(profile);
}

/* JSON of a view, and the difference of two profiles. */
static void json_of_views(void **state)
{
	const struct view_options options = { .format = VIEW_JSON, .by = SUM_NR_BYS };
	struct profile *one = profile_rig_profile(shown_program(), "shown"), *two;
	struct json_object *root, *lines, *row;
	struct nrt_error error;
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	out = open_memstream(&text, &size);
	assert_int_equal(view_print(one, &options, out, &error), NRT_SUCCESS);
	fclose(out);
	root = json_tokener_parse(text);
	assert_int_equal(int_of(root, "device_ns"), one->length_ns);
	assert_int_equal(int_of(root, "hbm_read"), 32768);
	assert_int_equal(int_of(root, "other_flops"), 16 * 64);
	assert_int_equal(json_object_array_length(member(root, "waits")), 2);
	json_object_put(root);
	free(text);

	profile_rig_run(NULL, "shown");
	two = profile_rig_open("shown");
	out = open_memstream(&text, &size);
	assert_int_equal(view_diff(one, two, &options, out, &error), NRT_SUCCESS);
	fclose(out);
	root = json_tokener_parse(text);
	lines = member(root, "line");
	assert_int_equal(json_object_array_length(lines), 3);
	row = member(json_object_array_get_idx(lines, 0), "flops");
	assert_int_equal(json_object_get_int64(json_object_array_get_idx(row, 0)),
			 json_object_get_int64(json_object_array_get_idx(row, 1)));
	json_object_put(root);
	free(text);
	profile_free(two);
	profile_free(one);
}

/* How busy lane @name was in the character at @column of its line. */
static char shown_at(const char *text, const char *name, unsigned int column)
{
	const char *line = strstr(text, name);

	if (!line)
		fail_msg("no line of %s in:\n%s", name, text);
	line = strchr(line, '|') + 1;
	assert_int_equal(strcspn(line, "|"), 64);
	return line[column];
}

/*
 * What begins and ends the execution is in the first and the last of 64 columns; the queue is
 * busy in the middle, while both engines wait.
 */
static void a_timeline(void **state)
{
	struct profile *profile = profile_rig_profile(shown_program(), "shown");
	struct nrt_error error;
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	out = open_memstream(&text, &size);
	assert_int_equal(view_timeline(profile, out, &error), NRT_SUCCESS);
	fclose(out);
	assert_null(strstr(text, "tensor"));
	assert_int_not_equal(shown_at(text, "\nsync", 0), ' ');
	assert_int_equal(shown_at(text, "\nsync", 63), ' ');
	assert_int_equal(shown_at(text, "\nvector", 32), ' ');
	assert_int_not_equal(shown_at(text, "\nvector", 63), ' ');
	assert_int_equal(shown_at(text, "\nq ", 0), ' ');
	assert_int_equal(shown_at(text, "\nq ", 40), '#');
	free(text);
	profile_free(profile);
}

/* The chip's clock begins at 0 for each of them. */
#define FRESH(test) \
	cmocka_unit_test_setup_teardown(test, profile_rig_begin, profile_rig_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(a_trace),
		FRESH(a_page),
		FRESH(a_page_with_source),
		FRESH(json_of_views),
		FRESH(a_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
