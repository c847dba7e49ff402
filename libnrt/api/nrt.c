// SPDX-License-Identifier: MIT
/*
 * nrt.h: the process, models, executions. nrt_tensor.c has the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt_profile.h>

#include "api/state.h"
#include "comm/cc_model.h"
#include "base/clock.h"
#include "base/variables.h"
#include "hw/instance.h"
#include "nrt_build.h"

_Static_assert(sizeof(nrt_instance_info_t) == 32, "public layout");
_Static_assert(sizeof(nrt_vnc_memory_stats_t) == 16, "public layout");
/* --- Process --- */

/* Nobody may take results of chips that are none for those of the machine's. */
static void tell_embedded(const struct nrt_machine *machine)
{
	const char *quiet = getenv("NEURON_EMU_QUIET");

	if (!nrt_machine_embedded(machine) || !nrt_log_wants(NRT_LOG_ERROR) ||
	    (quiet && !strcmp(quiet, "1")))
		return;
	fprintf(stderr, "NRT: NEURON_RT_BACKEND=embedded: %u emulated %s %s in this process\n",
		machine->nr_devices, machine->devices[0]->info.name,
		machine->nr_devices == 1 ? "chip" : "chips");
}

static void warn(void *arg, const char *line)
{
	(void)arg;
	nrt_warn("nrt_init", "%s", line);
}

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
		    const char *fal_version)
{
	const struct nrt_machine *machine;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;
	bool inspect;

	if (framework <= NRT_FRAMEWORK_TYPE_INVALID || framework > NRT_FRAMEWORK_TYPE_PRECHECK)
		return nrt_fail_with(__func__, NRT_INVALID, "framework type %d is unknown",
				     (int)framework);
	if (!fw_version || !fal_version)
		return nrt_fail_with(__func__, NRT_INVALID, "a version string is NULL; pass \"\"");
	nrt_variables_check(warn, NULL);
	if (nrt_state_init(&error))
		return nrt_fail(__func__, &error);
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	machine = &state->machine;
	tell_embedded(machine);
	nrt_log(NRT_LOG_INFO, __func__, "version %s: owns %u cores from core %u on",
		NRT_BUILD_VERSION, machine->nr_vcores, machine->vcores[0].number);
	/* The program may have begun one itself. */
	inspect = !atomic_load(&state->profiler.inspecting) &&
		  (getenv("NEURON_RT_INSPECT_ENABLE") || getenv("NEURON_RT_INSPECT_ON_FAIL"));
	nrt_leave(state);
	if (inspect)
		nrt_inspect_begin();
	return NRT_SUCCESS;
}

void nrt_close(void)
{
	struct nrt_state *state = nrt_enter_any();
	bool ready = nrt_is_ready(state);

	nrt_leave(state);
	if (ready)
		nrt_inspect_stop();
	nrt_state_close();
}

/* Calls that are legal at any time open the chips for themselves when they must. */
typedef NRT_STATUS look_fn(const struct nrt_machine *machine, void *out,
			   struct nrt_error *error);

static NRT_STATUS look(const char *call, look_fn *fn, void *out)
{
	struct nrt_state *state = nrt_enter_any();
	struct nrt_machine machine;
	struct nrt_error error;
	NRT_STATUS status;
	uint32_t lnc;

	if (nrt_is_ready(state)) {
		status = fn(&state->machine, out, &error);
	} else {
		status = nrt_env_read_lnc(&lnc, &error);
		if (!status)
			status = nrt_machine_open(&machine, lnc, &error);
		if (!status) {
			status = fn(&machine, out, &error);
			nrt_machine_close(&machine);
		}
	}
	return nrt_end(state, call, status, &error);
}

static NRT_STATUS look_total(const struct nrt_machine *machine, void *out,
			     struct nrt_error *error)
{
	(void)error;
	*(uint32_t *)out = nrt_machine_total(machine);
	return NRT_SUCCESS;
}

static NRT_STATUS look_visible(const struct nrt_machine *machine, void *out,
			       struct nrt_error *error)
{
	struct nrt_env env;
	unsigned int nr;

	if (machine->nr_vcores) {
		*(uint32_t *)out = machine->nr_vcores;
		return NRT_SUCCESS;
	}
	if (nrt_env_read(&env, error) || nrt_machine_visible(machine, &env, &nr, error))
		return error->status;
	*(uint32_t *)out = nr;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count)
{
	if (!vnc_count)
		return nrt_fail_with(__func__, NRT_INVALID, "vnc_count is NULL");
	return look(__func__, look_total, vnc_count);
}

NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count)
{
	return nrt_get_total_vnc_count(nc_count);
}

NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count)
{
	if (!vnc_count)
		return nrt_fail_with(__func__, NRT_INVALID, "vnc_count is NULL");
	return look(__func__, look_visible, vnc_count);
}

NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count)
{
	return nrt_get_visible_vnc_count(nc_count);
}

static NRT_STATUS look_instance(const struct nrt_machine *machine, void *out,
				struct nrt_error *error)
{
	const struct nrt_device *first = machine->devices[0];
	nrt_instance_info_t *info = out;

	(void)error;
	nrt_instance(machine, &info->family, &info->size);
	snprintf(info->arch_name, sizeof(info->arch_name), "%.8s", first->info.core_arch);
	first->backend->revision(first->chip, info->device_revision,
				 sizeof(info->device_revision));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len)
{
	nrt_instance_info_t full = { 0 };
	NRT_STATUS status;

	if (!info || !instance_info_len)
		return nrt_fail_with(__func__, NRT_INVALID, "info is NULL or has no bytes");
	status = look(__func__, look_instance, &full);
	if (!status)
		memcpy(info, &full,
		       instance_info_len < sizeof(full) ? instance_info_len : sizeof(full));
	return status;
}

static NRT_STATUS memory_stats(struct nrt_state *state, uint32_t vnc,
			       nrt_vnc_memory_stats_t *stats, struct nrt_error *error)
{
	struct drm_neuron_memory_info stacks[NEURON_MAX_HBM] = { 0 };
	struct nrt_vcore *core = nrt_machine_vcore(&state->machine, vnc, error);

	if (!core || nrt_device_memory(core->device, stacks, error))
		return error->status;
	stats->bytes_used = stacks[core->stack].used;
	stats->bytes_limit = stacks[core->stack].usable;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
				    size_t stats_size_in, size_t *stats_size_out)
{
	nrt_vnc_memory_stats_t full;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!stats || !stats_size_in)
		return nrt_fail_with(__func__, NRT_INVALID, "stats is NULL or has no bytes");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = memory_stats(state, vnc, &full, &error);
	nrt_leave(state);
	if (status)
		return nrt_fail(__func__, &error);
	if (stats_size_in > sizeof(full))
		stats_size_in = sizeof(full);
	memcpy(stats, &full, stats_size_in);
	if (stats_size_out)
		*stats_size_out = stats_size_in;
	return NRT_SUCCESS;
}

/* --- Models --- */

/* A place in a group, or @ranks 0. */
struct ranks {
	uint32_t rank;
	uint32_t ranks;
};

/* What is known of the event's model, if anybody wants to know. */
static void describe_model(struct nrt_event *event, const struct nrt_model *model)
{
	if (!event->begin_ns)
		return;
	event->core = (int32_t)model->vcore->vnc;
	event->model = model->id;
	snprintf(event->name, sizeof(event->name), "%.63s", model->neff->name);
}

/* On request: NEURON_RT_LOG_LEVEL=DEBUG. */
static void tell_times(const struct nrt_model *model, const struct nrt_load *load,
		       const struct nrt_load_times *times)
{
	static const char *const names[NRT_NR_LOAD_STEPS] = {
		[NRT_LOAD_NEFF] = "NEFF",
		[NRT_LOAD_SCRATCH] = "scratchpad",
		[NRT_LOAD_RINGS] = "rings",
		[NRT_LOAD_MEMORY] = "memory",
		[NRT_LOAD_CODE] = "code",
		[NRT_LOAD_DATA] = "data",
	};
	uint64_t total = 0;
	char text[256];
	int length = 0;
	unsigned int i;

	for (i = 0; i < NRT_NR_LOAD_STEPS; i++) {
		total += times->ns[i];
		length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%s %.3f",
				   i ? ", " : "", names[i], (double)times->ns[i] / 1e6);
	}
	nrt_log(NRT_LOG_DEBUG, "nrt_load", "model \"%.64s\", %zu bytes, core %u: %.3f ms: %s",
		model->neff->name, load->size, model->vcore->number, (double)total / 1e6, text);
}

/* A rank whose model could not be loaded. */
struct failed_rank {
	struct nrt_state *state;
	const struct ranks *ranks;
};

static void tell_ranks(void *arg, const struct nrt_model *model, const struct nrt_error *why)
{
	const struct failed_rank *failed = arg;

	if (failed->ranks->ranks && model->neff->graphs[0].nr_collectives)
		nrt_cc_model_fails(&failed->state->worlds, model, failed->ranks->rank,
				   failed->ranks->ranks, why);
}

/*
 * Ranks whose only tie is collectives may be in several processes, so they are no group. What fails
 * before the ranks meet is told to those who wait in their loads.
 */
static NRT_STATUS join(struct failed_rank *self, struct nrt_model *model, struct nrt_error *error)
{
	const struct ranks *ranks = self->ranks;
	struct nrt_state *state = self->state;
	bool collectives = model->neff->graphs[0].nr_collectives;

	if (!ranks->ranks)
		return NRT_SUCCESS;
	if ((!collectives || model->neff->peers) &&
	    nrt_groups_join(&state->groups, model, ranks->rank, ranks->ranks, error)) {
		tell_ranks(self, model, error);
		return error->status;
	}
	if (!collectives)
		return NRT_SUCCESS;
	return nrt_cc_model_join(&state->worlds, model, ranks->rank, ranks->ranks, error);
}

static NRT_STATUS load(struct nrt_state *state, struct nrt_load *load, const struct ranks *ranks,
		       struct nrt_event *event, nrt_model_t **out, struct nrt_error *error)
{
	struct failed_rank failed = { state, ranks };
	struct nrt_load_times times;
	struct nrt_model *model;
	void *handle;

	load->failed = tell_ranks;
	load->arg = &failed;
	load->times = &times;
	load->validate_hash = state->env.validate_hash;
	load->peers = ranks->ranks;
	if (nrt_model_load(&state->machine, load, &model, error))
		return error->status;
	tell_times(model, load, &times);
	model->id = atomic_fetch_add(&state->next_model, 1) + 1;
	if (join(&failed, model, error)) {
		nrt_model_release(model);
		return error->status;
	}
	describe_model(event, model);
	nrt_model_count(model);
	handle = nrt_handle_new(state->handles, NRT_KIND_MODEL, model);
	if (!handle) {
		nrt_model_release(model);
		return nrt_error_memory(error);
	}
	nrt_log(NRT_LOG_INFO, "nrt_load", "model \"%.64s\" is on core %u", model->neff->name,
		model->vcore->number);
	*out = handle;
	return NRT_SUCCESS;
}

/* Somebody may want profiles of all models. */
static void tell_loaded(struct nrt_state *state, const nrt_model_t *handle)
{
	struct nrt_model *model = nrt_handle_get(state->handles, NRT_KIND_MODEL, handle);
	struct nrt_error error;

	if (!model)
		return;
	if (nrt_profiler_loaded(&state->profiler, model, &error))
		nrt_log(NRT_LOG_WARNING, "nrt_load", "no device profile: %s", error.text);
	nrt_handle_put(state->handles, handle);
}

static void tell_unloads(struct nrt_state *state, const nrt_model_t *handle)
{
	struct nrt_model *model = nrt_handle_get(state->handles, NRT_KIND_MODEL, handle);
	struct nrt_error error;

	if (!model)
		return;
	if (nrt_profiler_unloads(&state->profiler, model, &error))
		nrt_fail("nrt_unload", &error);
	nrt_handle_put(state->handles, handle);
}

static NRT_STATUS load_call(const char *call, const void *bytes, size_t size, int32_t vnc,
			    int32_t vnc_count, const struct ranks *ranks, nrt_model_t **model)
{
	struct nrt_load what = { .bytes = bytes, .size = size, .vnc = vnc };
	struct nrt_state *state;
	struct nrt_event event;
	struct nrt_error error;
	NRT_STATUS status;

	if (!bytes || !model)
		return nrt_fail_with(call, NRT_INVALID, "neff_bytes or model is NULL");
	if (vnc_count < -1 || vnc_count > 1)
		return nrt_fail_with(call, NRT_INVALID,
				     "vnc_count is %d; a model is loaded on one core: pass -1",
				     vnc_count);
	state = nrt_enter(call, &status);
	if (!state)
		return status;
	nrt_event_begin(&event, NRT_EVENT_NRT_LOAD);
	if (event.begin_ns)
		event.bytes = size;
	status = load(state, &what, ranks, &event, model, &error);
	if (!status)
		tell_loaded(state, *model);
	nrt_event_end(&event, status);
	return nrt_end(state, call, status, &error);
}

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
		    nrt_model_t **model)
{
	const struct ranks alone = { 0 };

	return load_call(__func__, neff_bytes, size, vnc, vnc_count, &alone, model);
}

NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc,
				int32_t vnc_count, uint32_t ctx_device_id,
				uint32_t ctx_device_count, nrt_model_t **model)
{
	const struct ranks ranks = { ctx_device_id, ctx_device_count };

	if (ctx_device_id >= ctx_device_count)
		return nrt_fail_with(__func__, NRT_INVALID, "rank %u of %u", ctx_device_id,
				     ctx_device_count);
	return load_call(__func__, neff_bytes, size, vnc, vnc_count, &ranks, model);
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
	struct nrt_state *state;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	tell_unloads(state, model);
	/* Executions under way end first, and then the memory is free. */
	status = nrt_drop(state, __func__, NRT_KIND_MODEL, model, true);
	nrt_leave(state);
	return status;
}

static NRT_STATUS count_cores(struct nrt_state *state, struct nrt_model *model, void *out,
			      struct nrt_error *error)
{
	(void)state;
	(void)model;
	(void)error;
	*(uint32_t *)out = 1;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
	if (!vnc_count)
		return nrt_fail_with(__func__, NRT_INVALID, "vnc_count is NULL");
	return nrt_model_call(__func__, model, count_cores, vnc_count);
}

NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *nc_count)
{
	return nrt_get_model_vnc_count(model, nc_count);
}

/* What an execution is given. */
struct execution {
	const nrt_tensor_set_t *inputs;
	const nrt_tensor_set_t *outputs;
	unsigned int repeat;
};

static NRT_STATUS execute(struct nrt_state *state, struct nrt_model *model, void *arg,
			  struct nrt_error *error)
{
	const struct execution *execution = arg;
	struct nrt_execute what = {
		.handles = state->handles,
		.units = state->units,
		.model = model,
		.timeout_ms = state->env.timeout_ms,
		.numbers = state->env.numbers,
		.dump_on = state->env.dump_on,
		.print = nrt_streams_wanted(&state->streams) ? nrt_stream_print : NULL,
		.print_arg = &state->streams,
		.repeat = execution->repeat,
	};
	struct nrt_error unwritten;
	struct nrt_event event;
	uint64_t began_ns;
	NRT_STATUS status;

	nrt_event_begin(&event, NRT_EVENT_NRT_EXECUTE);
	describe_model(&event, model);
	what.inputs = nrt_get(state, NRT_KIND_TENSOR_SET, execution->inputs, error);
	if (what.inputs)
		what.outputs = nrt_get(state, NRT_KIND_TENSOR_SET, execution->outputs, error);
	began_ns = nrt_clock_now();
	status = what.outputs ? nrt_execute_wait(&what, error) : error->status;
	if (status && nrt_profiler_failed(&state->profiler, model, began_ns, &unwritten))
		nrt_fail("nrt_execute", &unwritten);
	if (what.inputs)
		nrt_handle_put(state->handles, execution->inputs);
	if (what.outputs)
		nrt_handle_put(state->handles, execution->outputs);
	nrt_event_end(&event, status);
	return status;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
		       nrt_tensor_set_t *output_set)
{
	struct execution execution = { input_set, output_set, 1 };

	if (!input_set || !output_set)
		return nrt_fail_with(__func__, NRT_INVALID, "a tensor set is NULL");
	return nrt_model_call(__func__, model, execute, &execution);
}

NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
			      nrt_tensor_set_t *output_set, int repeat_count)
{
	struct execution execution = { input_set, output_set, (unsigned int)repeat_count };

	if (!input_set || !output_set)
		return nrt_fail_with(__func__, NRT_INVALID, "a tensor set is NULL");
	if (repeat_count < 1)
		return nrt_fail_with(__func__, NRT_INVALID, "repeat_count is %d; use 1 or more",
				     repeat_count);
	return nrt_model_call(__func__, model, execute, &execution);
}
