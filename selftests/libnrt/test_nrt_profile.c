// SPDX-License-Identifier: MIT
/*
 * System traces, profiles and inspections: what is configured, recorded and written.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>

#include "kselftest_harness.h"

#include "events.h"
#include "rig.h"

/* --- Configurations: no device is needed --- */

static bool list_has(const char **list, size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

TEST(event_types)
{
	static const char *const known[] = {
		"nrt_load", "nrt_execute", "nrt_tensor_read", "nrt_tensor_write", "model_load",
		"runtime_execute", "kbl_exec_wait", "kmgr_exec_core", "dmem_buf_copyin",
		"dmem_buf_copyout", "nc_exec_running", "cc_running", "cc_exec_barrier",
		"numerical_err", "nrt_model_switch", "timestamp_sync_point", "hw_notify",
	};
	const char **list = NULL;
	size_t count = 0, i;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_get_event_types(&list, &count));
	EXPECT_EQ(ARRAY_SIZE(known), count);
	for (i = 0; i < ARRAY_SIZE(known); i++)
		EXPECT_TRUE(list_has(list, count, known[i]));
	nrt_sys_trace_free_event_types(list, count);
	nrt_sys_trace_free_event_types(NULL, 0);
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_get_event_types(NULL, &count));
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_get_event_types(&list, NULL));
}

static NRT_STATUS trace_without(nrt_sys_trace_config_t *config, const char *type)
{
	return nrt_sys_trace_config_set_capture_enabled_for_event_type(config, type, false);
}

static NRT_STATUS inspect_without(nrt_inspect_config_t *config, const char *type)
{
	return nrt_inspect_config_set_capture_enabled_for_event_type_string(config, type, false);
}

TEST(trace_config)
{
	nrt_sys_trace_config_t *config;
	size_t all, count;
	const char **list;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_get_event_types(&list, &all));
	nrt_sys_trace_free_event_types(list, all);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_allocate(&config));
	EXPECT_EQ(NRT_SUCCESS, trace_without(config, "nrt_load"));
	EXPECT_EQ(NRT_INVALID, trace_without(config, "nrt_lad"));
	EXPECT_EQ(NRT_INVALID, trace_without(config, NULL));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_get_enabled_event_types(config, &list,
									    &count));
	EXPECT_EQ(all - 1, count);
	EXPECT_FALSE(list_has(list, count, "nrt_load"));
	nrt_sys_trace_free_event_types(list, count);
	nrt_sys_trace_config_set_defaults(config);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_get_enabled_event_types(config, &list,
									    &count));
	EXPECT_EQ(all, count);
	nrt_sys_trace_free_event_types(list, count);
	/* Functions without a status say what is wrong. */
	rig_catch();
	nrt_sys_trace_config_set_capture_enabled_for_nc(config, 4096, true);
	EXPECT_TRUE(rig_has(rig_caught(), "core 4096"));
	nrt_sys_trace_config_free(config);
	rig_catch();
	nrt_sys_trace_config_set_max_events_per_nc(config, 5);
	EXPECT_TRUE(rig_has(rig_caught(), "no configuration of a system trace"));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_sys_trace_config_get_enabled_event_types(config, &list,
										   &count));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_sys_trace_start(config));
	nrt_sys_trace_config_free(NULL);
}

TEST(fetch_options)
{
	nrt_sys_trace_fetch_options_t *options;
	char *text = (char *)1;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_options_allocate(&options));
	nrt_sys_trace_fetch_options_set_nc_idx(options, 3);
	nrt_sys_trace_fetch_options_set_max_events_per_nc(options, 10);
	nrt_sys_trace_fetch_options_set_defaults(options);
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_fetch_events(&text, &size, options));
	EXPECT_EQ((char *)1, text);
	nrt_sys_trace_fetch_options_free(options);
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_sys_trace_fetch_events(&text, &size, options));
	nrt_sys_trace_fetch_options_free(NULL);
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_stop());
}

TEST(inspect_config)
{
	nrt_inspect_config_t *config;
	const char **list;
	size_t count;

	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_get_all_activity_types(&list, &count));
	EXPECT_EQ(4, count);
	EXPECT_TRUE(list_has(list, count, "system_profile"));
	EXPECT_TRUE(list_has(list, count, "device_profile"));
	EXPECT_TRUE(list_has(list, count, "host_memory"));
	EXPECT_TRUE(list_has(list, count, "cpu_util"));
	nrt_inspect_config_free_activity_types(list, count);
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_allocate(&config));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_activity(config, "all", false));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_activity(config, "cpu_util", true));
	EXPECT_EQ(NRT_INVALID, nrt_inspect_config_set_activity(config, "cpu", true));
	EXPECT_EQ(NRT_INVALID, nrt_inspect_config_set_activity(config, NULL, true));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_get_enabled_activity_types(config, &list,
									     &count));
	ASSERT_EQ(1, count);
	EXPECT_STREQ("cpu_util", list[0]);
	nrt_inspect_config_free_activity_types(list, count);
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_session_id(config, 7));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_output_dir(config, "somewhere"));
	EXPECT_EQ(NRT_INVALID, nrt_inspect_config_set_output_dir(config, ""));
	EXPECT_EQ(NRT_INVALID, nrt_inspect_config_set_output_dir(config, NULL));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_sys_trace_max_events_per_nc(config, 100));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_capture_enabled_for_nc(config, 1, false));
	EXPECT_EQ(NRT_INVALID, nrt_inspect_config_set_capture_enabled_for_nc(config, 9999, false));
	EXPECT_EQ(NRT_SUCCESS, inspect_without(config, "nrt_execute"));
	EXPECT_EQ(NRT_INVALID, inspect_without(config, ""));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_enable_inspect(config, true));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_enable_inspect_on_fail(config, true));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_set_defaults(config));
	/* The defaults capture nothing, so nothing is written. */
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_begin_with_options(config));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_stop());
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_free(config));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_inspect_config_free(config));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_inspect_config_set_session_id(config, 7));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_inspect_begin_with_options(config));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_begin_with_options(NULL));
}

TEST(continuous_options)
{
	nrt_profile_continuous_options_t *options;

	ASSERT_EQ(NRT_SUCCESS, nrt_profile_continuous_options_allocate(&options));
	EXPECT_EQ(NRT_SUCCESS, nrt_profile_continuous_options_set_output_dir(options, "here"));
	EXPECT_EQ(NRT_INVALID, nrt_profile_continuous_options_set_output_dir(options, NULL));
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_profile_continuous_start(options));
	EXPECT_EQ(NRT_SUCCESS, nrt_profile_continuous_options_free(options));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_profile_continuous_options_free(options));
}

TEST(inspect_environment)
{
	static const struct {
		const char *variable;
		const char *value;
	} bad[] = {
		{ "NEURON_RT_INSPECT_ENABLE", "yes" },
		{ "NEURON_RT_INSPECT_ON_FAIL", "2" },
		{ "NEURON_RT_INSPECT_DEVICE_PROFILE", "core" },
		{ "NEURON_RT_INSPECT_EVENT_FILTER_NC", "3-1" },
		{ "NEURON_RT_INSPECT_EVENT_FILTER_NC", "0,,1" },
		{ "NEURON_RT_INSPECT_EVENT_FILTER_TYPE", "hardware,^nrt" },
		{ "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC", "many" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		setenv(bad[i].variable, bad[i].value, 1);
		rig_catch();
		EXPECT_EQ(NRT_INVALID, nrt_inspect_begin());
		EXPECT_TRUE(rig_has(rig_caught(), bad[i].variable)) {
			TH_LOG("%s=%s", bad[i].variable, bad[i].value);
		}
		unsetenv(bad[i].variable);
	}
}

/* --- With a device --- */

FIXTURE(profile)
{
	struct rig rig;
	char folder[64];
	char path[128];
	float x[RIG_VALUES];
	float y[RIG_VALUES];
};

FIXTURE_SETUP(profile)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	strcpy(self->folder, "/tmp/nrt-profile-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->folder));
	snprintf(self->path, sizeof(self->path), "%s/file", self->folder);
	rig_ramp(self->x, 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
}

static void remove_files(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[512];

	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (unlink(path))
			remove_files(path);
	}
	if (dir)
		closedir(dir);
	rmdir(folder);
}

FIXTURE_TEARDOWN(profile)
{
	rig_unload(&self->rig);
	nrt_close();
	if (*self->folder)
		remove_files(self->folder);
}

/* All of a file, for free(). */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t size = 0;
	char *text = NULL;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

/* The only entry of a folder that begins with @prefix, as a path. */
static bool find_entry(const char *folder, const char *prefix, char *path, size_t size)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned int found = 0;

	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' || strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		snprintf(path, size, "%s/%s", folder, entry->d_name);
		found++;
	}
	if (dir)
		closedir(dir);
	return found == 1;
}

TEST_F(profile, system_trace)
{
	static const struct {
		const char *name;
		unsigned int count;
	} expected[] = {
		{ "nrt_load", 1 }, { "model_load", 1 }, { "nrt_execute", 2 },
		{ "runtime_execute", 2 }, { "kmgr_exec_core", 2 }, { "kbl_exec_wait", 2 },
		{ "nc_exec_running", 2 }, { "timestamp_sync_point", 2 },
		{ "nrt_tensor_write", 2 }, { "nrt_tensor_read", 2 }, { "dmem_buf_copyin", 2 },
		{ "dmem_buf_copyout", 2 }, { "nrt_model_switch", 1 },
	};
	struct json_object *root, *events, *event, *whole;
	uint64_t dropped = 99;
	unsigned int i;
	char *text;
	size_t size;

	rig_unload(&self->rig);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_start(NULL));
	EXPECT_EQ(NRT_INVALID, nrt_trace_start(false));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	EXPECT_EQ(strlen(text), size);
	events = parse_events(text, &root, &dropped);
	ASSERT_NE(NULL, events);
	EXPECT_EQ(0, dropped);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		EXPECT_EQ(expected[i].count, count_events(events, expected[i].name)) {
			TH_LOG("%s", expected[i].name);
		}
	}
	event = find_event(events, "nrt_tensor_write");
	EXPECT_EQ(PROGRAM_BYTES, int_of(event, "size"));
	EXPECT_STREQ("x", text_of(event, "tensor_name"));
	EXPECT_EQ(0, int_of(event, "lnc_idx"));
	EXPECT_EQ(getpid(), int_of(event, "process_id"));
	/* What the device does lies within the call that makes it do so. */
	whole = find_event(events, "nrt_execute");
	event = find_event(events, "kbl_exec_wait");
	EXPECT_GE(int_of(event, "timestamp"), int_of(whole, "timestamp"));
	EXPECT_LE(int_of(event, "timestamp") + int_of(event, "duration"),
		  int_of(whole, "timestamp") + int_of(whole, "duration"));
	event = find_event(events, "nc_exec_running");
	EXPECT_GT(int_of(event, "nc_end_ns"), int_of(event, "nc_start_ns"));
	EXPECT_EQ(int_of(event, "duration"),
		  int_of(event, "nc_end_ns") - int_of(event, "nc_start_ns"));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	/* They are fetched once. */
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(0, json_object_array_length(events));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_stop());
}

/* A failure has its status. */
TEST_F(profile, system_trace_of_a_failure)
{
	struct json_object *root, *events;
	char *text;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_read(self->rig.x, self->y, PROGRAM_BYTES, 1));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(NRT_INVALID, int_of(find_event(events, "nrt_tensor_read"), "status"));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

/* An execution whose sets are no sets is one that failed, whichever of them is wrong. */
TEST_F(profile, system_trace_of_wrong_sets)
{
	nrt_tensor_set_t *bad = (nrt_tensor_set_t *)8;
	struct json_object *root, *events;
	char *text;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_execute(self->rig.model, bad, self->rig.outputs));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_execute(self->rig.model, self->rig.inputs, bad));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(2, count_events(events, "nrt_execute"));
	EXPECT_EQ(NRT_INVALID_HANDLE, int_of(find_event(events, "nrt_execute"), "status"));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

TEST_F(profile, system_trace_is_filtered)
{
	nrt_sys_trace_config_t *config;
	struct json_object *root, *events;
	const char **types;
	size_t count, size, i;
	char *text;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_allocate(&config));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_get_event_types(&types, &count));
	for (i = 0; i < count; i++)
		nrt_sys_trace_config_set_capture_enabled_for_event_type(config, types[i], false);
	nrt_sys_trace_free_event_types(types, count);
	nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "nrt_execute", true);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(config));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(1, json_object_array_length(events));
	EXPECT_EQ(1, count_events(events, "nrt_execute"));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
	/* Without the core. */
	nrt_sys_trace_config_set_capture_enabled_for_nc(config, 0, false);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(config));
	nrt_sys_trace_config_free(config);
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(0, json_object_array_length(events));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

/* A full ring keeps the newest events, and they come in portions, the oldest first. */
TEST_F(profile, system_trace_drops_the_oldest)
{
	nrt_sys_trace_fetch_options_t *options;
	nrt_sys_trace_config_t *config;
	struct json_object *root, *events;
	uint64_t dropped = 0;
	unsigned int i;
	char *text;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_allocate(&config));
	nrt_sys_trace_config_set_max_events_per_nc(config, 300);
	nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "dmem_buf_copyin", false);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(config));
	nrt_sys_trace_config_free(config);
	for (i = 1; i <= 1000; i++)
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->rig.x, self->x, 0, i));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_options_allocate(&options));
	nrt_sys_trace_fetch_options_set_max_events_per_nc(options, 100);
	nrt_sys_trace_fetch_options_set_nc_idx(options, 0);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, options));
		events = parse_events(text, &root, &dropped);
		EXPECT_EQ(i ? 0 : 700, dropped);
		ASSERT_EQ(i < 3 ? 100 : 0, json_object_array_length(events));
		if (i < 3)
			EXPECT_EQ(701 + 100 * i,
				  int_of(json_object_array_get_idx(events, 0), "size"));
		json_object_put(root);
		nrt_sys_trace_buffer_free(text);
	}
	nrt_sys_trace_fetch_options_set_nc_idx(options, 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->rig.x, self->x, 0, 1));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, options));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(0, json_object_array_length(events));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	nrt_sys_trace_fetch_options_free(options);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

TEST_F(profile, trace_file)
{
	struct json_object *root, *events, *memory = NULL;
	char *text;

	EXPECT_EQ(NRT_INVALID, nrt_trace_stop(self->path));
	ASSERT_EQ(NRT_SUCCESS, nrt_trace_start(true));
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_start(NULL));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	EXPECT_EQ(NRT_INVALID, nrt_trace_stop(NULL));
	EXPECT_EQ(NRT_FAILURE, nrt_trace_stop("/nowhere/file"));
	ASSERT_EQ(NRT_SUCCESS, nrt_trace_stop(self->path));
	text = read_file(self->path);
	ASSERT_NE(NULL, text);
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(1, count_events(events, "nrt_execute"));
	json_object_object_get_ex(root, "memory", &memory);
	ASSERT_NE(NULL, memory);
	EXPECT_GT(int_of(json_object_array_get_idx(memory, 0), "bytes_used"), 0);
	json_object_put(root);
	free(text);
}

/* What is in a device profile: instructions and bytes that it has in full. */
struct summary {
	struct json_object *head;
	unsigned int instructions;
	unsigned int transfers;
	int64_t bytes;
	bool ordered;
};

static bool read_profile(const char *path, struct summary *summary)
{
	char *text = read_file(path), *line, *rest;
	struct json_object *event;

	memset(summary, 0, sizeof(*summary));
	if (!text)
		return false;
	line = strtok_r(text, "\n", &rest);
	summary->head = json_tokener_parse(line);
	summary->ordered = true;
	while ((line = strtok_r(NULL, "\n", &rest))) {
		event = json_tokener_parse(line);
		if (!strcmp(text_of(event, "kind"), "instruction")) {
			summary->instructions++;
		} else if (!strcmp(text_of(event, "kind"), "transfer")) {
			summary->transfers++;
			summary->bytes += int_of(event, "bytes");
		}
		summary->ordered &= int_of(event, "end_ns") >= int_of(event, "begin_ns");
		json_object_put(event);
	}
	free(text);
	return summary->head;
}

static void expect_profile(struct __test_metadata *_metadata, const char *path)
{
	struct summary summary;

	ASSERT_TRUE(read_profile(path, &summary));
	EXPECT_STREQ("neuron-emu-profile", text_of(summary.head, "format"));
	EXPECT_EQ(1, int_of(summary.head, "version"));
	EXPECT_EQ(64, strlen(text_of(summary.head, "neff_hash")));
	EXPECT_EQ(0, int_of(summary.head, "lost"));
	EXPECT_GT(summary.instructions, 0);
	EXPECT_EQ(int_of(summary.head, "instructions"), summary.instructions);
	EXPECT_EQ(int_of(summary.head, "events"), summary.instructions + summary.transfers);
	EXPECT_EQ(int_of(summary.head, "dma_bytes"), summary.bytes);
	EXPECT_TRUE(summary.ordered);
	json_object_put(summary.head);
}

TEST_F(profile, of_a_model)
{
	struct rig other;

	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_profile_start(NULL, self->path));
	EXPECT_EQ(NRT_INVALID, nrt_profile_start(self->rig.model, NULL));
	EXPECT_EQ(NRT_FAILURE, nrt_profile_start(self->rig.model, "/nowhere/file"));
	EXPECT_EQ(NRT_INVALID, nrt_profile_stop(self->path));
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_start(self->rig.model, self->path));
	/* One profile of a model, one model in a file, one way at a time. */
	EXPECT_EQ(NRT_INVALID, nrt_profile_start(self->rig.model, "/tmp/other"));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&other, program_scale(1), 0, 0, 0));
	EXPECT_EQ(NRT_INVALID, nrt_profile_start(other.model, self->path));
	EXPECT_EQ(NRT_INVALID, nrt_profile_continuous_start(NULL));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_stop(self->path));
	expect_profile(_metadata, self->path);
	EXPECT_EQ(NRT_INVALID, nrt_profile_stop(self->path));
	/* A model that was not executed; one that is gone. */
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_start(other.model, self->path));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_profile_stop(self->path));
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_start(other.model, self->path));
	rig_unload(&other);
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_profile_stop(self->path));
}

/* What there is no room for is counted. */
TEST(profile_of_a_few_events)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	char path[] = "/tmp/nrt-profile-XXXXXX";
	struct summary summary;
	struct rig rig;
	int fd;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	fd = mkstemp(path);
	ASSERT_GE(fd, 0);
	close(fd);
	setenv("NEURON_EMU_PROFILE_EVENTS", "3", 1);
	/* Each core of a pair would keep so many. */
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_start(rig.model, path));
	rig_ramp(x, 1);
	ASSERT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_stop(path));
	rig_unload(&rig);
	nrt_close();
	ASSERT_TRUE(read_profile(path, &summary));
	EXPECT_EQ(3, int_of(summary.head, "events"));
	EXPECT_EQ(3, summary.instructions + summary.transfers);
	EXPECT_GT(int_of(summary.head, "lost"), 0);
	json_object_put(summary.head);
	unlink(path);
}

TEST_F(profile, continuous)
{
	nrt_profile_continuous_options_t *options;
	char path[512];

	ASSERT_EQ(NRT_SUCCESS, nrt_profile_continuous_options_allocate(&options));
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_continuous_options_set_output_dir(options,
									     self->path));
	EXPECT_EQ(NRT_INVALID, nrt_profile_continuous_save(0, options));
	EXPECT_EQ(NRT_INVALID, nrt_profile_continuous_stop());
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_continuous_start(options));
	EXPECT_EQ(NRT_INVALID, nrt_profile_continuous_start(options));
	EXPECT_EQ(NRT_INVALID, nrt_profile_start(self->rig.model, self->path));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_profile_continuous_save(0, options));
	/* A model that is loaded meanwhile, too. */
	rig_unload(&self->rig);
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	EXPECT_EQ(NRT_INVALID, nrt_profile_continuous_save(100000, options));
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_continuous_save(0, options));
	ASSERT_TRUE(find_entry(self->path, "profile_nc_0_", path, sizeof(path)));
	expect_profile(_metadata, path);
	/* Each has a file of its own. */
	ASSERT_EQ(NRT_SUCCESS, nrt_profile_continuous_save(0, options));
	EXPECT_FALSE(find_entry(self->path, "profile_nc_0_", path, sizeof(path)));
	EXPECT_EQ(NRT_SUCCESS, nrt_profile_continuous_stop());
	EXPECT_EQ(NRT_SUCCESS, nrt_profile_continuous_options_free(options));
}

/* The events of the system profile in an inspection's folder. */
static unsigned int count_in_file(const char *folder, const char *event)
{
	struct json_object *root, *events;
	unsigned int count;
	char path[600];
	char *text;

	snprintf(path, sizeof(path), "%s/ntrace.json", folder);
	text = read_file(path);
	if (!text)
		return 0;
	events = parse_events(text, &root, NULL);
	count = count_events(events, event);
	json_object_put(root);
	free(text);
	return count;
}

TEST_F(profile, inspect)
{
	nrt_inspect_config_t *config;
	char folder[512], path[600];
	struct json_object *root, *list = NULL;
	char *text;

	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_allocate(&config));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_set_enable_inspect(config, true));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_set_session_id(config, 5));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_set_output_dir(config, self->path));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_begin_with_options(config));
	EXPECT_EQ(NRT_INVALID, nrt_inspect_begin_with_options(config));
	EXPECT_EQ(NRT_INVALID, nrt_sys_trace_start(NULL));
	EXPECT_EQ(NRT_INVALID, nrt_profile_continuous_start(NULL));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_free(config));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_stop());
	ASSERT_TRUE(find_entry(self->path, "", folder, sizeof(folder)));
	EXPECT_EQ(1, count_in_file(folder, "nrt_execute"));
	ASSERT_TRUE(find_entry(folder, "profile_nc_0_session_5_", path, sizeof(path)));
	expect_profile(_metadata, path);
	snprintf(path, sizeof(path), "%s/host_mem.json", folder);
	text = read_file(path);
	ASSERT_NE(NULL, text);
	root = json_tokener_parse(text);
	json_object_object_get_ex(root, "mem_usage", &list);
	EXPECT_GT(int_of(json_object_array_get_idx(list, 0), "usage"), 0);
	json_object_put(root);
	free(text);
	snprintf(path, sizeof(path), "%s/cpu_util.json", folder);
	text = read_file(path);
	ASSERT_NE(NULL, text);
	root = json_tokener_parse(text);
	EXPECT_TRUE(json_object_object_get_ex(root, "cpu_util", &list));
	EXPECT_GT(json_object_array_length(list), 0);
	json_object_put(root);
	free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_stop());
}

/* The environment begins an inspection with nrt_init(), and nrt_close() ends it. */
TEST_F(profile, inspect_by_environment)
{
	char folder[512], path[600];

	rig_unload(&self->rig);
	nrt_close();
	setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
	setenv("NEURON_RT_INSPECT_OUTPUT_DIR", self->path, 1);
	setenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE", "software,^nrt_load", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	unsetenv("NEURON_RT_INSPECT_ENABLE");
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	nrt_close();
	unsetenv("NEURON_RT_INSPECT_OUTPUT_DIR");
	unsetenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE");
	ASSERT_TRUE(find_entry(self->path, "", folder, sizeof(folder)));
	EXPECT_EQ(1, count_in_file(folder, "nrt_execute"));
	EXPECT_EQ(0, count_in_file(folder, "nrt_load"));
	EXPECT_EQ(0, count_in_file(folder, "nc_exec_running"));
	EXPECT_TRUE(find_entry(folder, "profile_nc_0_session_1_", path, sizeof(path)));
	self->rig.model = NULL;
}

TEST_F(profile, inspect_failures)
{
	nrt_inspect_config_t *config;
	char folder[512], path[600];
	struct summary summary;
	struct rig bad;

	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_allocate(&config));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_set_enable_inspect_on_fail(config, true));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_config_set_output_dir(config, self->path));
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_begin_with_options(config));
	EXPECT_EQ(NRT_SUCCESS, nrt_inspect_config_free(config));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	EXPECT_FALSE(find_entry(self->path, "", folder, sizeof(folder)));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&bad, program_out_of_bounds(), 0, 0, 0));
	ASSERT_EQ(NRT_EXEC_OOB, rig_run(&bad, self->x, self->y));
	rig_unload(&bad);
	ASSERT_EQ(NRT_SUCCESS, nrt_inspect_stop());
	ASSERT_TRUE(find_entry(self->path, "", folder, sizeof(folder)));
	ASSERT_TRUE(find_entry(folder, "failure_nc_0_", path, sizeof(path)));
	ASSERT_TRUE(read_profile(path, &summary));
	EXPECT_STREQ("neuron-emu-profile", text_of(summary.head, "format"));
	json_object_put(summary.head);
}

TEST_HARNESS_MAIN
