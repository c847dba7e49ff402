// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include <nrt/nrt_profile.h>

#include "api/config.h"

/* --- One model --- */

/* Where the profile of a model goes. */
struct target {
	const nrt_model_t *model;
	const char *path;
};

static NRT_STATUS begin_profile(struct nrt_state *state, struct nrt_model *model, void *arg,
				struct nrt_error *error)
{
	const struct target *target = arg;

	return nrt_profile_begin(&state->profiler, model, target->model, target->path, error);
}

NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename)
{
	struct target target = { model, filename };

	if (!filename || !*filename)
		return nrt_fail_with(__func__, NRT_INVALID, "filename is NULL or empty");
	return nrt_model_call(__func__, model, begin_profile, &target);
}

NRT_STATUS nrt_profile_stop(const char *filename)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!filename || !*filename)
		return nrt_fail_with(__func__, NRT_INVALID, "filename is NULL or empty");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = nrt_profile_end(&state->profiler, state->handles, filename, &error);
	return nrt_end(state, __func__, status, &error);
}

/* --- Continuous --- */

NRT_STATUS
nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options)
{
	struct nrt_profile_options *made;
	struct nrt_error ignored;

	if (!options)
		return nrt_fail_with(__func__, NRT_INVALID, "options is NULL");
	made = calloc(1, sizeof(*made));
	if (made && nrt_config_folder(&made->folder, NULL, &ignored)) {
		free(made);
		made = NULL;
	}
	return nrt_config_new(__func__, NRT_KIND_PROFILE_OPTIONS, made, options);
}

NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options)
{
	return nrt_config_free(__func__, NRT_KIND_PROFILE_OPTIONS, options);
}

static NRT_STATUS set_folder(void *config, void *arg, struct nrt_error *error)
{
	return nrt_config_folder(&((struct nrt_profile_options *)config)->folder, arg, error);
}

NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
					      const char *output_dir)
{
	if (!output_dir || !*output_dir)
		return nrt_fail_with(__func__, NRT_INVALID, "output_dir is NULL or empty");
	return nrt_config_call(__func__, NRT_KIND_PROFILE_OPTIONS, options, set_folder,
			       (void *)output_dir);
}

static NRT_STATUS get_folder(void *config, void *arg, struct nrt_error *error)
{
	const struct nrt_profile_options *options = config;

	return nrt_config_folder(arg, options->folder, error);
}

/* The folder of @options, or the default one, for free(). */
static NRT_STATUS folder_of(const char *call, const nrt_profile_continuous_options_t *options,
			    char **folder)
{
	struct nrt_error error;

	*folder = NULL;
	if (options)
		return nrt_config_call(call, NRT_KIND_PROFILE_OPTIONS, options, get_folder, folder);
	if (nrt_config_folder(folder, NULL, &error))
		return nrt_fail(call, &error);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;
	char *folder;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	/* The folder counts when a profile is saved; here only a bad handle is found. */
	status = folder_of(__func__, options, &folder);
	if (!status) {
		free(folder);
		status = nrt_continuous_start(&state->profiler, state->handles, &error);
		if (status)
			nrt_fail(__func__, &error);
	}
	nrt_leave(state);
	return status;
}

static NRT_STATUS save(struct nrt_state *state, uint32_t vnc, const char *folder,
		       struct nrt_error *error)
{
	if (!nrt_machine_vcore(&state->machine, vnc, error))
		return error->status;
	return nrt_continuous_save(&state->profiler, state->handles, vnc, folder, error);
}

NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;
	char *folder;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = folder_of(__func__, options, &folder);
	if (!status) {
		status = save(state, vnc, folder, &error);
		free(folder);
		if (status)
			nrt_fail(__func__, &error);
	}
	nrt_leave(state);
	return status;
}

NRT_STATUS nrt_profile_continuous_stop(void)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = nrt_continuous_stop(&state->profiler, state->handles, &error);
	return nrt_end(state, __func__, status, &error);
}

/* --- Inspection --- */

/* Copies @inspect. */
static NRT_STATUS begin(const char *call, const struct nrt_inspect *inspect)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_error error;
	NRT_STATUS status;

	status = nrt_handles_ready(state, &error);
	if (!status)
		status = nrt_inspection_begin(&state->profiler, &state->recorder,
					      nrt_is_ready(state) ? state->handles : NULL,
					      inspect, &error);
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_inspect_begin(void)
{
	struct nrt_inspect inspect = { 0 };
	struct nrt_error error;
	NRT_STATUS status;

	if (nrt_inspect_read_env(&inspect, &error))
		status = nrt_fail(__func__, &error);
	else
		status = begin(__func__, &inspect);
	nrt_inspect_fini(&inspect);
	return status;
}

static NRT_STATUS copy_inspect(void *config, void *arg, struct nrt_error *error)
{
	return nrt_inspect_copy(arg, config, error);
}

NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options)
{
	struct nrt_inspect inspect = { 0 };
	NRT_STATUS status;

	/* The defaults capture nothing. */
	if (!options)
		return NRT_SUCCESS;
	status = nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, copy_inspect,
				 &inspect);
	if (!status)
		status = begin(__func__, &inspect);
	nrt_inspect_fini(&inspect);
	return status;
}

NRT_STATUS nrt_inspect_stop(void)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_error error;
	NRT_STATUS status;

	status = nrt_inspection_stop(&state->profiler, &state->recorder, state->handles, &error);
	return nrt_end(state, __func__, status, &error);
}

/* --- Configuration of an inspection --- */

NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options)
{
	struct nrt_inspect *inspect;
	struct nrt_error ignored;

	if (!options)
		return nrt_fail_with(__func__, NRT_INVALID, "options is NULL");
	inspect = calloc(1, sizeof(*inspect));
	if (inspect && nrt_inspect_defaults(inspect, &ignored)) {
		free(inspect);
		inspect = NULL;
	}
	return nrt_config_new(__func__, NRT_KIND_INSPECT_CONFIG, inspect, options);
}

static NRT_STATUS set_defaults(void *config, void *arg, struct nrt_error *error)
{
	(void)arg;
	return nrt_inspect_defaults(config, error);
}

NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options)
{
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_defaults, NULL);
}

NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options)
{
	return nrt_config_free(__func__, NRT_KIND_INSPECT_CONFIG, options);
}

static NRT_STATUS set_session(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	((struct nrt_inspect *)config)->session = *(const int *)arg;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id)
{
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_session,
			       &session_id);
}

static NRT_STATUS set_inspect_folder(void *config, void *arg, struct nrt_error *error)
{
	return nrt_config_folder(&((struct nrt_inspect *)config)->folder, arg, error);
}

NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options,
					     const char *output_dir)
{
	if (!output_dir || !*output_dir)
		return nrt_fail_with(__func__, NRT_INVALID, "output_dir is NULL or empty");
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_inspect_folder,
			       (void *)output_dir);
}

static NRT_STATUS set_max(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	nrt_capture_set_max(&((struct nrt_inspect *)config)->capture, *(const uint64_t *)arg);
	return NRT_SUCCESS;
}

NRT_STATUS
nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *options,
						   uint64_t sys_trace_max_events_per_nc)
{
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_max,
			       &sys_trace_max_events_per_nc);
}

/* Something that is switched on or off: a core by number, or something by name. */
struct setting {
	uint32_t core;
	const char *name;
	bool enabled;
};

static NRT_STATUS set_core(void *config, void *arg, struct nrt_error *error)
{
	const struct setting *setting = arg;

	return nrt_capture_set_core(&((struct nrt_inspect *)config)->capture, setting->core,
				    setting->enabled, error);
}

NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
							 uint32_t nc_idx, bool enabled)
{
	struct setting setting = { .core = nc_idx, .enabled = enabled };

	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_core, &setting);
}

static NRT_STATUS set_type(void *config, void *arg, struct nrt_error *error)
{
	const struct setting *setting = arg;

	return nrt_capture_set_type(&((struct nrt_inspect *)config)->capture, setting->name,
				    setting->enabled, error);
}

NRT_STATUS
nrt_inspect_config_set_capture_enabled_for_event_type_string(nrt_inspect_config_t *options,
							     const char *event_type, bool enabled)
{
	struct setting setting = { .name = event_type, .enabled = enabled };

	if (!event_type)
		return nrt_fail_with(__func__, NRT_INVALID, "event_type is NULL");
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_type, &setting);
}

static NRT_STATUS set_enabled(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	((struct nrt_inspect *)config)->enabled = *(const bool *)arg;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
						 bool enable_inspect)
{
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_enabled,
			       &enable_inspect);
}

static NRT_STATUS set_on_fail(void *config, void *arg, struct nrt_error *error)
{
	(void)error;
	((struct nrt_inspect *)config)->on_fail = *(const bool *)arg;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
							 bool enable_inspect_on_fail)
{
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_on_fail,
			       &enable_inspect_on_fail);
}

/* --- Activities --- */

NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types,
						     size_t *count)
{
	struct nrt_error error;

	if (!activity_types || !count)
		return nrt_fail_with(__func__, NRT_INVALID, "activity_types or count is NULL");
	if (nrt_activity_names(NRT_ALL_ACTIVITIES, activity_types, count, &error))
		return nrt_fail(__func__, &error);
	return NRT_SUCCESS;
}

struct name_list {
	const char ***names;
	size_t *count;
};

static NRT_STATUS list_activities(void *config, void *arg, struct nrt_error *error)
{
	const struct nrt_inspect *inspect = config;
	const struct name_list *list = arg;

	return nrt_activity_names(inspect->activities, list->names, list->count, error);
}

NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
							 const char ***activity_types,
							 size_t *count)
{
	struct name_list list = { activity_types, count };

	if (!activity_types || !count)
		return nrt_fail_with(__func__, NRT_INVALID, "activity_types or count is NULL");
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, list_activities, &list);
}

void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count)
{
	nrt_names_free(activity_types, count);
}

static NRT_STATUS set_activity(void *config, void *arg, struct nrt_error *error)
{
	const struct setting *setting = arg;

	return nrt_inspect_set_activity(config, setting->name, setting->enabled, error);
}

NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options,
					   const char *activity_type, bool enabled)
{
	struct setting setting = { .name = activity_type, .enabled = enabled };

	if (!activity_type)
		return nrt_fail_with(__func__, NRT_INVALID, "activity_type is NULL");
	return nrt_config_call(__func__, NRT_KIND_INSPECT_CONFIG, options, set_activity, &setting);
}
