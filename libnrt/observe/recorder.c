// SPDX-License-Identifier: MIT
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "neff/neff.h"
#include "observe/recorder.h"

/* Of the text; a reader refuses one that it does not know. */
#define FORMAT_VERSION	1

#define FIRST_ROOM	256

/* An event and its number. */
struct entry {
	uint64_t id;
	struct nrt_event event;
};

/**
 * struct nrt_ring - the events of a core
 * @entries: @room of them; those from @first on are taken, modulo @room
 * @first, @count: which ones are in use
 * @dropped: events that a newer one took the place of, since the last look
 */
struct nrt_ring {
	struct entry *entries;
	size_t room;
	size_t first;
	size_t count;
	uint64_t dropped;
};

static const char *user_call(enum nrt_trace_user user)
{
	switch (user) {
	case NRT_TRACE_SYS_TRACE:
		return "nrt_sys_trace_start";
	case NRT_TRACE_TRACE:
		return "nrt_trace_start";
	default:
		return "nrt_inspect_begin";
	}
}

/* --- Rings; with the recorder's lock --- */

static struct entry *ring_at(const struct nrt_ring *ring, size_t i)
{
	return &ring->entries[(ring->first + i) % ring->room];
}

/* More room, up to @max. Without memory the ring stays as it is. */
static void ring_grow(struct nrt_ring *ring, uint64_t max)
{
	size_t room = ring->room ? ring->room * 2 : FIRST_ROOM;
	struct entry *entries;
	size_t i;

	if (room > max)
		room = max;
	entries = reallocarray(NULL, room, sizeof(*entries));
	if (!entries)
		return;
	for (i = 0; i < ring->count; i++)
		entries[i] = *ring_at(ring, i);
	free(ring->entries);
	ring->entries = entries;
	ring->room = room;
	ring->first = 0;
}

static void ring_add(struct nrt_ring *ring, uint64_t max, uint64_t id,
		     const struct nrt_event *event)
{
	struct entry *entry;

	if (ring->count == ring->room && ring->room < max)
		ring_grow(ring, max);
	if (!ring->room) {
		ring->dropped++;
		return;
	}
	if (ring->count == ring->room) {
		ring->first = (ring->first + 1) % ring->room;
		ring->count--;
		ring->dropped++;
	}
	entry = ring_at(ring, ring->count++);
	entry->id = id;
	entry->event = *event;
}

/* The ring of a core, which is made when it is needed; NULL: no memory. */
static struct nrt_ring *ring_of(struct nrt_recorder *recorder, int32_t core)
{
	size_t index = core < 0 ? 0 : (size_t)core + 1;
	size_t nr = index + 1;
	struct nrt_ring *rings;

	if (index < recorder->nr_rings)
		return &recorder->rings[index];
	rings = reallocarray(recorder->rings, nr, sizeof(*rings));
	if (!rings)
		return NULL;
	memset(&rings[recorder->nr_rings], 0, (nr - recorder->nr_rings) * sizeof(*rings));
	recorder->rings = rings;
	recorder->nr_rings = nr;
	return &rings[index];
}

static void free_rings(struct nrt_recorder *recorder)
{
	size_t i;

	for (i = 0; i < recorder->nr_rings; i++)
		free(recorder->rings[i].entries);
	free(recorder->rings);
	recorder->rings = NULL;
	recorder->nr_rings = 0;
}

/* --- The trace --- */

static void record(void *arg, const struct nrt_event *event)
{
	struct nrt_recorder *recorder = arg;
	struct nrt_ring *ring;

	pthread_mutex_lock(&recorder->lock);
	if (recorder->user != NRT_TRACE_NOBODY &&
	    nrt_capture_has_core(&recorder->capture, event->core)) {
		ring = ring_of(recorder, event->core);
		if (ring)
			ring_add(ring, recorder->capture.max_events, ++recorder->next_id, event);
	}
	pthread_mutex_unlock(&recorder->lock);
}

static uint64_t realtime_offset(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - nrt_clock_now();
}

NRT_STATUS nrt_recorder_start(struct nrt_recorder *recorder, enum nrt_trace_user user,
			      const struct nrt_capture *capture, struct nrt_error *error)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_mutex_lock(&recorder->lock);
	if (recorder->user != NRT_TRACE_NOBODY) {
		status = nrt_error_set(error, NRT_INVALID, "a trace of %s() is running",
				       user_call(recorder->user));
	} else {
		recorder->user = user;
		recorder->capture = *capture;
		recorder->next_id = 0;
		recorder->real_ns = realtime_offset();
		nrt_event_listen(capture->types, record, recorder);
	}
	pthread_mutex_unlock(&recorder->lock);
	return status;
}

/* With the lock. */
static NRT_STATUS check_user(const struct nrt_recorder *recorder, enum nrt_trace_user user,
			     struct nrt_error *error)
{
	if (recorder->user == user)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID, "no trace of %s() is running", user_call(user));
}

NRT_STATUS nrt_recorder_stop(struct nrt_recorder *recorder, enum nrt_trace_user user,
			     struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&recorder->lock);
	status = check_user(recorder, user, error);
	if (!status) {
		nrt_event_listen(0, record, recorder);
		recorder->user = NRT_TRACE_NOBODY;
		free_rings(recorder);
	}
	pthread_mutex_unlock(&recorder->lock);
	return status;
}

/* --- Taking events --- */

/* Events that were taken, and how many are lost. */
struct batch {
	struct entry *entries;
	size_t count;
	uint64_t dropped;
};

static bool is_fetched(const struct nrt_fetch *fetch, size_t ring)
{
	return fetch->core == NRT_FETCH_ALL || fetch->core + 1 == ring;
}

static size_t fetch_count(const struct nrt_ring *ring, const struct nrt_fetch *fetch)
{
	return ring->count < fetch->max_events ? ring->count : fetch->max_events;
}

/* With the lock. */
static NRT_STATUS take(struct nrt_recorder *recorder, const struct nrt_fetch *fetch,
		       struct batch *batch, struct nrt_error *error)
{
	size_t total = 0, i, j, nr;

	for (i = 0; i < recorder->nr_rings; i++)
		if (is_fetched(fetch, i))
			total += fetch_count(&recorder->rings[i], fetch);
	batch->entries = reallocarray(NULL, total + 1, sizeof(*batch->entries));
	if (!batch->entries)
		return nrt_error_memory(error);
	for (i = 0; i < recorder->nr_rings; i++) {
		struct nrt_ring *ring = &recorder->rings[i];

		if (!is_fetched(fetch, i))
			continue;
		nr = fetch_count(ring, fetch);
		for (j = 0; j < nr; j++)
			batch->entries[batch->count++] = *ring_at(ring, j);
		ring->first = ring->room ? (ring->first + nr) % ring->room : 0;
		ring->count -= nr;
		batch->dropped += ring->dropped;
		ring->dropped = 0;
	}
	return NRT_SUCCESS;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->event.begin_ns != y->event.begin_ns)
		return x->event.begin_ns < y->event.begin_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void add_int(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

/* What a program told of itself. */
static void add_notice(struct json_object *object, const struct nrt_event *event)
{
	if (event->part)
		add_int(object, "physical_core", event->part);
	json_object_object_add(object, "engine",
			       json_object_new_string(neff_engine_name(event->engine)));
	add_int(object, "pc", event->pc);
	add_int(object, "tag", event->tag);
}

/* What only some events have. */
static void add_details(struct json_object *object, const struct nrt_event *event)
{
	if (event->core >= 0)
		add_int(object, "lnc_idx", (uint64_t)event->core);
	if (event->model)
		add_int(object, "model_id", event->model);
	if (event->exec)
		add_int(object, "exec_id", event->exec);
	if (event->bytes)
		add_int(object, "size", event->bytes);
	if (event->stream)
		add_int(object, "stream", event->stream);
	if (*event->name)
		json_object_object_add(object, event->model ? "model_name" : "tensor_name",
				       json_object_new_string(event->name));
	if (event->type == NRT_EVENT_HW_NOTIFY)
		add_notice(object, event);
	if (event->type == NRT_EVENT_TIMESTAMP_SYNC_POINT) {
		add_int(object, "cpu_timestamp_ns", event->begin_ns);
		add_int(object, "nc_timestamp_ns", event->device_begin_ns);
	} else if (event->device_end_ns) {
		add_int(object, "nc_start_ns", event->device_begin_ns);
		add_int(object, "nc_end_ns", event->device_end_ns);
	}
}

static void print_entry(FILE *file, const struct entry *entry, uint64_t real_ns)
{
	struct json_object *object = json_object_new_object();
	struct nrt_event event = entry->event;

	event.begin_ns += real_ns;
	event.end_ns += real_ns;
	add_int(object, "id", entry->id);
	json_object_object_add(object, "name",
			       json_object_new_string(nrt_event_name(event.type)));
	add_int(object, "timestamp", event.begin_ns);
	add_int(object, "duration", event.end_ns - event.begin_ns);
	add_int(object, "process_id", (uint64_t)getpid());
	add_int(object, "thread_id", event.thread);
	add_int(object, "status", event.status);
	add_details(object, &event);
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), file);
	json_object_put(object);
}

static NRT_STATUS print_batch(struct batch *batch, uint64_t real_ns, char **text, size_t *size,
			      struct nrt_error *error)
{
	FILE *file = open_memstream(text, size);
	size_t i;

	if (!file)
		return nrt_error_memory(error);
	qsort(batch->entries, batch->count, sizeof(*batch->entries), compare_entries);
	fprintf(file, "{\"format\":\"neuron-emu-events\",\"version\":%u,\"dropped_events\":%llu,",
		FORMAT_VERSION, (unsigned long long)batch->dropped);
	fprintf(file, "\"trace_events\":[");
	for (i = 0; i < batch->count; i++) {
		fputs(i ? ",\n" : "\n", file);
		print_entry(file, &batch->entries[i], real_ns);
	}
	fprintf(file, "\n]}");
	if (!fclose(file))
		return NRT_SUCCESS;
	free(*text);
	*text = NULL;
	return nrt_error_memory(error);
}

NRT_STATUS nrt_recorder_take(struct nrt_recorder *recorder, enum nrt_trace_user user,
			     const struct nrt_fetch *fetch, char **text, size_t *size,
			     struct nrt_error *error)
{
	struct batch batch = { 0 };
	uint64_t real_ns;
	NRT_STATUS status;

	pthread_mutex_lock(&recorder->lock);
	real_ns = recorder->real_ns;
	status = check_user(recorder, user, error);
	if (!status)
		status = take(recorder, fetch, &batch, error);
	pthread_mutex_unlock(&recorder->lock);
	if (!status)
		status = print_batch(&batch, real_ns, text, size, error);
	free(batch.entries);
	return status;
}
