// SPDX-License-Identifier: MIT
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract/record.h"
#include "observe/file.h"
#include "observe/profile.h"

/* Of a profile; a reader refuses one that it does not know. */
#define FORMAT_VERSION	1

#define FILE_BUFFER	(256u << 10)

/* NRT_PROFILE_SINGLE: a model and its file. */
struct nrt_profile {
	struct nrt_profile *next;
	const void *handle;
	char *path;
};

/* --- The file --- */

static void add_int(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

/* The first line: which execution it was. */
static void print_head(FILE *file, const struct nrt_model *model,
		       const nrt_emu_execution_t *execution, size_t events, uint64_t lost)
{
	struct json_object *object = json_object_new_object();
	const struct nrt_vcore *core = model->vcore;
	char hash[2 * NEFF_HASH_LEN + 1];

	neff_hash_text(model->neff, hash);
	json_object_object_add(object, "format", json_object_new_string("neuron-emu-profile"));
	add_int(object, "version", FORMAT_VERSION);
	json_object_object_add(object, "model_name", json_object_new_string(model->neff->name));
	json_object_object_add(object, "neff_hash", json_object_new_string(hash));
	add_int(object, "model_id", model->id);
	add_int(object, "lnc_idx", core->vnc);
	add_int(object, "core", core->number);
	json_object_object_add(object, "chip",
			       json_object_new_string(core->device->info.name));
	add_int(object, "start_ns", execution->start_ns);
	add_int(object, "end_ns", execution->end_ns);
	add_int(object, "wall_ns", execution->wall_ns);
	add_int(object, "instructions", execution->instructions);
	add_int(object, "dma_bytes", execution->dma_bytes);
	json_object_object_add(object, "inexact",
			       json_object_new_boolean(execution->flags & NRT_EMU_INEXACT));
	add_int(object, "events", events);
	add_int(object, "lost", lost);
	fprintf(file, "%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

/*
 * A line on its way. There are as many as instructions were executed, so printf() would take most
 * of the time of a run with a profile.
 */
struct text {
	size_t length;
	char bytes[512];
};

static void put(struct text *text, const char *word)
{
	size_t length = strlen(word);

	memcpy(text->bytes + text->length, word, length);
	text->length += length;
}

static void put_number(struct text *text, const char *key, uint64_t number)
{
	char digits[20];
	unsigned int at = sizeof(digits);

	put(text, key);
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	memcpy(text->bytes + text->length, digits + at, sizeof(digits) - at);
	text->length += sizeof(digits) - at;
}

static void put_instruction(struct text *text, const nrt_emu_event_t *event)
{
	put(text, "{\"kind\":\"instruction\",\"engine\":\"");
	put(text, neff_engine_name(event->source));
	put_number(text, "\",\"opcode\":", event->code);
	put_number(text, ",\"pc\":", event->pc);
}

static void put_transfer(struct text *text, const nrt_emu_event_t *event)
{
	put_number(text, "{\"kind\":\"transfer\",\"dma_engine\":",
		   neuron_record_queue_engine(event->source));
	put_number(text, ",\"queue\":", neuron_record_queue_index(event->source));
	put_number(text, ",\"descriptors\":", event->code);
	put_number(text, ",\"first\":", event->pc);
	put_number(text, ",\"bytes\":", event->bytes);
}

/* Keys and numbers have less than half of the room of a line. */
static void print_event(FILE *file, const nrt_emu_event_t *event)
{
	struct text text;

	text.length = 0;
	if (event->kind == NRT_EMU_INSTRUCTION)
		put_instruction(&text, event);
	else
		put_transfer(&text, event);
	put_number(&text, ",\"begin_ns\":", event->begin_ns);
	put_number(&text, ",\"end_ns\":", event->end_ns);
	if (event->flags >> NRT_EMU_CORE_SHIFT)
		put_number(&text, ",\"physical_core\":", event->flags >> NRT_EMU_CORE_SHIFT);
	if (event->flags & NRT_EMU_INEXACT)
		put(&text, ",\"inexact\":true");
	put(&text, "}\n");
	fwrite_unlocked(text.bytes, 1, text.length, file);
}

/* The trace of the model, for free(). */
static NRT_STATUS get_trace(struct nrt_model *model, nrt_emu_event_t **events, size_t *count,
			    uint64_t *lost, struct nrt_error *error)
{
	size_t room = 0;

	*events = NULL;
	for (;;) {
		*count = room;
		if (nrt_trace_get(model, *events, count, lost, error))
			break;
		if (*count <= room)
			return NRT_SUCCESS;
		/* Another execution may end meanwhile. */
		room = *count;
		free(*events);
		*events = reallocarray(NULL, room, sizeof(**events));
		if (!*events)
			return nrt_error_memory(error);
		nrt_trace_populate(*events, room * sizeof(**events));
	}
	free(*events);
	return error->status;
}

static NRT_STATUS write_profile(struct nrt_model *model, const char *path,
				struct nrt_error *error)
{
	nrt_emu_execution_t execution;
	nrt_emu_event_t *events;
	NRT_STATUS status;
	size_t count, i;
	uint64_t lost;
	char *buffer;
	FILE *file;

	if (get_trace(model, &events, &count, &lost, error))
		return error->status;
	pthread_mutex_lock(&model->lock);
	execution = model->last;
	pthread_mutex_unlock(&model->lock);
	if (nrt_file_open(path, &file, error)) {
		free(events);
		return error->status;
	}
	/* Without one the file has a small buffer of its own. */
	buffer = malloc(FILE_BUFFER);
	if (buffer)
		setvbuf(file, buffer, _IOFBF, FILE_BUFFER);
	print_head(file, model, &execution, count, lost);
	for (i = 0; i < count; i++)
		print_event(file, &events[i]);
	free(events);
	status = nrt_file_close(file, path, error);
	free(buffer);
	return status;
}

/* --- All models --- */

struct change {
	size_t events;
	struct nrt_error *error;
};

static void change_model(void *object, void *arg)
{
	struct change *change = arg;

	if (!change->error->status)
		nrt_trace_set(object, change->events, change->error);
}

/* From now on the executions of all models are traced, or none. */
static NRT_STATUS trace_all(struct nrt_handles *handles, size_t events, struct nrt_error *error)
{
	struct change change = { events, error };

	error->status = NRT_SUCCESS;
	if (handles)
		nrt_handle_each(handles, NRT_KIND_MODEL, change_model, &change);
	return error->status;
}

static NRT_STATUS take_mode(struct nrt_profiler *profiler, enum nrt_profile_mode mode,
			    struct nrt_error *error)
{
	static const char *const calls[] = {
		[NRT_PROFILE_SINGLE] = "nrt_profile_start",
		[NRT_PROFILE_CONTINUOUS] = "nrt_profile_continuous_start",
		[NRT_PROFILE_INSPECT] = "nrt_inspect_begin",
	};

	if (profiler->mode != NRT_PROFILE_OFF)
		return nrt_error_set(error, NRT_INVALID, "device profiling by %s() is running",
				     calls[profiler->mode]);
	profiler->mode = mode;
	return NRT_SUCCESS;
}

static NRT_STATUS start_all(struct nrt_profiler *profiler, struct nrt_handles *handles,
			    enum nrt_profile_mode mode, struct nrt_error *error)
{
	struct nrt_error ignored;

	if (take_mode(profiler, mode, error))
		return error->status;
	if (!trace_all(handles, profiler->events, error))
		return NRT_SUCCESS;
	profiler->mode = NRT_PROFILE_OFF;
	trace_all(handles, 0, &ignored);
	return error->status;
}

static void stop_all(struct nrt_profiler *profiler, struct nrt_handles *handles)
{
	struct nrt_error ignored;

	profiler->mode = NRT_PROFILE_OFF;
	trace_all(handles, 0, &ignored);
}

NRT_STATUS nrt_profiler_loaded(struct nrt_profiler *profiler, struct nrt_model *model,
			       struct nrt_error *error)
{
	if (profiler->mode != NRT_PROFILE_CONTINUOUS && profiler->mode != NRT_PROFILE_INSPECT)
		return NRT_SUCCESS;
	return nrt_trace_set(model, profiler->events, error);
}

/* --- Single models --- */

static struct nrt_profile **find_profile(struct nrt_profiler *profiler, const void *handle,
					 const char *path)
{
	struct nrt_profile **link = &profiler->profiles;

	while (*link && (!handle || (*link)->handle != handle) && strcmp((*link)->path, path))
		link = &(*link)->next;
	return link;
}

static void free_profile(struct nrt_profile *profile)
{
	free(profile->path);
	free(profile);
}

/* With the lock. */
static NRT_STATUS add_profile(struct nrt_profiler *profiler, const void *handle,
			      const char *path, struct nrt_error *error)
{
	struct nrt_profile *profile = calloc(1, sizeof(*profile));

	if (profile)
		profile->path = strdup(path);
	if (!profile || !profile->path) {
		free(profile);
		return nrt_error_memory(error);
	}
	profile->handle = handle;
	profile->next = profiler->profiles;
	profiler->profiles = profile;
	return NRT_SUCCESS;
}

/* With the lock. */
static NRT_STATUS begin_locked(struct nrt_profiler *profiler, struct nrt_model *model,
			       const void *handle, const char *path, struct nrt_error *error)
{
	FILE *file;

	if (profiler->mode != NRT_PROFILE_SINGLE && take_mode(profiler, NRT_PROFILE_SINGLE, error))
		return error->status;
	if (*find_profile(profiler, handle, path))
		return nrt_error_set(error, NRT_INVALID,
				     "model \"%.64s\" or the file \"%.200s\" has a profile under way",
				     model->neff->name, path);
	if (nrt_file_open(path, &file, error) || nrt_file_close(file, path, error) ||
	    nrt_trace_set(model, profiler->events, error))
		return error->status;
	return add_profile(profiler, handle, path, error);
}

NRT_STATUS nrt_profile_begin(struct nrt_profiler *profiler, struct nrt_model *model,
			     const void *handle, const char *path, struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&profiler->lock);
	status = begin_locked(profiler, model, handle, path, error);
	if (!profiler->profiles && profiler->mode == NRT_PROFILE_SINGLE)
		profiler->mode = NRT_PROFILE_OFF;
	pthread_mutex_unlock(&profiler->lock);
	return status;
}

/* Take the profile of a file out of the list; NULL: there is none. */
static struct nrt_profile *take_profile(struct nrt_profiler *profiler, const char *path)
{
	struct nrt_profile *profile = NULL;
	struct nrt_profile **link;

	pthread_mutex_lock(&profiler->lock);
	link = find_profile(profiler, NULL, path);
	if (*link) {
		profile = *link;
		*link = profile->next;
		if (!profiler->profiles)
			profiler->mode = NRT_PROFILE_OFF;
	}
	pthread_mutex_unlock(&profiler->lock);
	return profile;
}

NRT_STATUS nrt_profile_end(struct nrt_profiler *profiler, struct nrt_handles *handles,
			   const char *path, struct nrt_error *error)
{
	struct nrt_profile *profile = take_profile(profiler, path);
	struct nrt_error ignored;
	struct nrt_model *model;
	NRT_STATUS status;

	if (!profile)
		return nrt_error_set(error, NRT_INVALID,
				     "nrt_profile_start() was not called with \"%.400s\"", path);
	model = nrt_handle_get(handles, NRT_KIND_MODEL, profile->handle);
	if (model) {
		status = write_profile(model, path, error);
		nrt_trace_set(model, 0, &ignored);
		nrt_handle_put(handles, profile->handle);
	} else {
		status = nrt_error_set(error, NRT_INVALID_HANDLE,
				       "the model of \"%.400s\" was unloaded", path);
	}
	free_profile(profile);
	return status;
}

/* --- Continuous --- */

NRT_STATUS nrt_continuous_start(struct nrt_profiler *profiler, struct nrt_handles *handles,
				struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&profiler->lock);
	status = start_all(profiler, handles, NRT_PROFILE_CONTINUOUS, error);
	pthread_mutex_unlock(&profiler->lock);
	return status;
}

static NRT_STATUS check_continuous(const struct nrt_profiler *profiler, struct nrt_error *error)
{
	if (profiler->mode == NRT_PROFILE_CONTINUOUS)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID, "continuous profiling is not running");
}

NRT_STATUS nrt_continuous_stop(struct nrt_profiler *profiler, struct nrt_handles *handles,
			       struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&profiler->lock);
	status = check_continuous(profiler, error);
	if (!status)
		stop_all(profiler, handles);
	pthread_mutex_unlock(&profiler->lock);
	return status;
}

/* The model of @vnc that was executed last, by its id; 0: none was. */
struct latest {
	uint32_t vnc;
	uint32_t id;
	uint64_t when;
};

static void find_latest(void *object, void *arg)
{
	struct nrt_model *model = object;
	struct latest *latest = arg;

	pthread_mutex_lock(&model->lock);
	if (model->vcore->vnc == latest->vnc && model->last_ns > latest->when) {
		latest->when = model->last_ns;
		latest->id = model->id;
	}
	pthread_mutex_unlock(&model->lock);
}

struct saving {
	uint32_t id;
	const char *path;
	struct nrt_error *error;
};

static void save_model(void *object, void *arg)
{
	struct nrt_model *model = object;
	struct saving *saving = arg;

	if (model->id == saving->id)
		saving->error->status = write_profile(model, saving->path, saving->error);
}

/* With the lock. */
static NRT_STATUS save_locked(struct nrt_profiler *profiler, struct nrt_handles *handles,
			      uint32_t vnc, const char *folder, struct nrt_error *error)
{
	struct latest latest = { .vnc = vnc };
	struct saving saving;
	char *path;

	if (check_continuous(profiler, error) || nrt_file_folder(folder, error))
		return error->status;
	nrt_handle_each(handles, NRT_KIND_MODEL, find_latest, &latest);
	path = nrt_file_path(error, "%s/profile_nc_%u_pid_%d_%u.jsonl", folder, vnc, getpid(),
			     profiler->files++);
	if (!path)
		return error->status;
	nrt_error_set(error, NRT_QUEUE_EMPTY, "no model was executed on core %u", vnc);
	saving = (struct saving){ latest.id, path, error };
	if (latest.id)
		nrt_handle_each(handles, NRT_KIND_MODEL, save_model, &saving);
	free(path);
	return error->status;
}

NRT_STATUS nrt_continuous_save(struct nrt_profiler *profiler, struct nrt_handles *handles,
			       uint32_t vnc, const char *folder, struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&profiler->lock);
	status = save_locked(profiler, handles, vnc, folder, error);
	pthread_mutex_unlock(&profiler->lock);
	return status;
}

/* --- Inspection --- */

/* The folder of the inspection's files, one for each process, for free(); NULL with @error. */
static char *make_folder(const struct nrt_profiler *profiler, struct nrt_error *error)
{
	char host[65] = "host", *path;

	gethostname(host, sizeof(host) - 1);
	path = nrt_file_path(error, "%s/%s_pid_%d", profiler->inspect.folder, host, getpid());
	if (path && nrt_file_folder(path, error)) {
		free(path);
		return NULL;
	}
	return path;
}

static bool has_activity(const struct nrt_profiler *profiler, enum nrt_activity activity)
{
	return profiler->inspect.enabled && profiler->inspect.activities & 1u << activity;
}

static NRT_STATUS write_model(struct nrt_profiler *profiler, struct nrt_model *model,
			      const char *kind, struct nrt_error *error)
{
	char *folder = make_folder(profiler, error), *path;
	NRT_STATUS status;

	if (!folder)
		return error->status;
	path = nrt_file_path(error, "%s/%s_nc_%u_session_%d_model_%u.jsonl", folder, kind,
			     model->vcore->vnc, profiler->inspect.session, model->id);
	status = path ? write_profile(model, path, error) : error->status;
	free(path);
	free(folder);
	return status;
}

/* A model that was not executed has no profile. */
static bool was_executed(struct nrt_model *model, uint64_t since)
{
	bool yes;

	pthread_mutex_lock(&model->lock);
	yes = model->last_ns > since;
	pthread_mutex_unlock(&model->lock);
	return yes;
}

struct writing {
	struct nrt_profiler *profiler;
	struct nrt_error *error;
};

static void write_executed(void *object, void *arg)
{
	const struct writing *writing = arg;
	struct nrt_error error;

	/* Of a model that ran before the inspection began there is no trace. */
	if (was_executed(object, 0) &&
	    write_model(writing->profiler, object, "profile", &error) &&
	    error.status != NRT_QUEUE_EMPTY)
		*writing->error = error;
}

NRT_STATUS nrt_profiler_unloads(struct nrt_profiler *profiler, struct nrt_model *model,
				struct nrt_error *error)
{
	struct writing writing = { profiler, error };

	error->status = NRT_SUCCESS;
	if (profiler->mode != NRT_PROFILE_INSPECT)
		return NRT_SUCCESS;
	pthread_mutex_lock(&profiler->lock);
	if (profiler->inspecting && has_activity(profiler, NRT_ACTIVITY_DEVICE_PROFILE))
		write_executed(model, &writing);
	pthread_mutex_unlock(&profiler->lock);
	return error->status;
}

NRT_STATUS nrt_profiler_failed(struct nrt_profiler *profiler, struct nrt_model *model,
			       uint64_t before, struct nrt_error *error)
{
	error->status = NRT_SUCCESS;
	if (profiler->mode != NRT_PROFILE_INSPECT || !was_executed(model, before))
		return NRT_SUCCESS;
	pthread_mutex_lock(&profiler->lock);
	if (profiler->inspecting && profiler->inspect.on_fail)
		write_model(profiler, model, "failure", error);
	pthread_mutex_unlock(&profiler->lock);
	return error->status;
}

/* With the lock. */
static NRT_STATUS begin_parts(struct nrt_profiler *profiler, struct nrt_recorder *recorder,
			      struct nrt_handles *handles, struct nrt_error *error)
{
	const struct nrt_inspect *inspect = &profiler->inspect;
	struct nrt_error ignored;

	if (has_activity(profiler, NRT_ACTIVITY_SYSTEM_PROFILE) &&
	    nrt_recorder_start(recorder, NRT_TRACE_INSPECT, &inspect->capture, error))
		return error->status;
	if (!inspect->on_fail && !has_activity(profiler, NRT_ACTIVITY_DEVICE_PROFILE))
		return NRT_SUCCESS;
	if (!start_all(profiler, handles, NRT_PROFILE_INSPECT, error))
		return NRT_SUCCESS;
	nrt_recorder_stop(recorder, NRT_TRACE_INSPECT, &ignored);
	return error->status;
}

/* With the lock. */
static NRT_STATUS inspect_locked(struct nrt_profiler *profiler, struct nrt_recorder *recorder,
				 struct nrt_handles *handles, const struct nrt_inspect *inspect,
				 struct nrt_error *error)
{
	if (profiler->inspecting)
		return nrt_error_set(error, NRT_INVALID, "an inspection is running");
	if (!inspect->enabled && !inspect->on_fail)
		return NRT_SUCCESS;
	if (nrt_inspect_copy(&profiler->inspect, inspect, error))
		return error->status;
	if (begin_parts(profiler, recorder, handles, error)) {
		nrt_inspect_fini(&profiler->inspect);
		return error->status;
	}
	nrt_host_look(&profiler->host);
	profiler->inspecting = true;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspection_begin(struct nrt_profiler *profiler, struct nrt_recorder *recorder,
				struct nrt_handles *handles, const struct nrt_inspect *inspect,
				struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&profiler->lock);
	status = inspect_locked(profiler, recorder, handles, inspect, error);
	pthread_mutex_unlock(&profiler->lock);
	return status;
}

static NRT_STATUS write_events(struct nrt_recorder *recorder, const char *folder,
			       struct nrt_error *error)
{
	struct nrt_fetch all;
	char *text, *path;
	size_t size;
	FILE *file;

	nrt_fetch_defaults(&all);
	if (nrt_recorder_take(recorder, NRT_TRACE_INSPECT, &all, &text, &size, error))
		return error->status;
	path = nrt_file_path(error, "%s/ntrace.json", folder);
	if (path && !nrt_file_open(path, &file, error)) {
		fwrite(text, 1, size, file);
		fputc('\n', file);
		error->status = nrt_file_close(file, path, error);
	}
	free(path);
	free(text);
	return error->status;
}

typedef void print_host_fn(FILE *file, const struct nrt_host *first, const struct nrt_host *last);

static NRT_STATUS write_host(const struct nrt_profiler *profiler, const char *folder,
			     const char *name, print_host_fn *print, struct nrt_error *error)
{
	char *path = nrt_file_path(error, "%s/%s", folder, name);
	struct nrt_host now;
	FILE *file;

	if (path && !nrt_file_open(path, &file, error)) {
		nrt_host_look(&now);
		print(file, &profiler->host, &now);
		nrt_host_fini(&now);
		error->status = nrt_file_close(file, path, error);
	}
	free(path);
	return error->status;
}

/* With the lock: all that there is, also when something of it cannot be written. */
static void write_all(struct nrt_profiler *profiler, struct nrt_recorder *recorder,
		      struct nrt_handles *handles, struct nrt_error *error)
{
	struct writing writing = { profiler, error };
	struct nrt_error one = { .status = NRT_SUCCESS };
	char *folder;

	if (!profiler->inspect.enabled)
		return;
	folder = make_folder(profiler, error);
	if (!folder)
		return;
	if (has_activity(profiler, NRT_ACTIVITY_SYSTEM_PROFILE) &&
	    write_events(recorder, folder, &one))
		*error = one;
	if (has_activity(profiler, NRT_ACTIVITY_HOST_MEMORY) &&
	    write_host(profiler, folder, "host_mem.json", nrt_host_print_memory, &one))
		*error = one;
	if (has_activity(profiler, NRT_ACTIVITY_CPU_UTIL) &&
	    write_host(profiler, folder, "cpu_util.json", nrt_host_print_cpus, &one))
		*error = one;
	if (has_activity(profiler, NRT_ACTIVITY_DEVICE_PROFILE) && handles)
		nrt_handle_each(handles, NRT_KIND_MODEL, write_executed, &writing);
	free(folder);
}

NRT_STATUS nrt_inspection_stop(struct nrt_profiler *profiler, struct nrt_recorder *recorder,
			       struct nrt_handles *handles, struct nrt_error *error)
{
	struct nrt_error ignored;

	error->status = NRT_SUCCESS;
	pthread_mutex_lock(&profiler->lock);
	if (profiler->inspecting) {
		write_all(profiler, recorder, handles, error);
		nrt_recorder_stop(recorder, NRT_TRACE_INSPECT, &ignored);
		if (profiler->mode == NRT_PROFILE_INSPECT)
			stop_all(profiler, handles);
		nrt_inspect_fini(&profiler->inspect);
		nrt_host_fini(&profiler->host);
		profiler->inspecting = false;
	}
	pthread_mutex_unlock(&profiler->lock);
	return error->status;
}

void nrt_profiler_reset(struct nrt_profiler *profiler)
{
	struct nrt_profile *profile;

	pthread_mutex_lock(&profiler->lock);
	while ((profile = profiler->profiles)) {
		profiler->profiles = profile->next;
		free_profile(profile);
	}
	profiler->mode = NRT_PROFILE_OFF;
	pthread_mutex_unlock(&profiler->lock);
}
