// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt_experimental.h>

#include "api/state.h"
#include "observe/file.h"

_Static_assert(sizeof(nrt_tensor_info_t) == 296, "public layout");
_Static_assert(offsetof(nrt_tensor_info_t, shape) == 280, "public layout");
_Static_assert(sizeof(nrt_model_info_t) == 4, "public layout");
_Static_assert((int)NRT_DTYPE_FP8_E5 == (int)NEURON_DTYPE_FP8_E5, "one set of values");
_Static_assert((int)NRT_DTYPE_FLOAT32 == (int)NEURON_DTYPE_FP32, "one set of values");

/* One block: the array, then the shapes. */
static nrt_tensor_info_array_t *allocate_infos(const struct neff *neff)
{
	nrt_tensor_info_array_t *array;
	size_t dims = 0, i;

	for (i = 0; i < neff->nr_ios; i++)
		dims += neff->ios[i]->ndim;
	array = calloc(1, sizeof(*array) + neff->nr_ios * sizeof(array->tensor_array[0]) +
				  dims * sizeof(uint32_t));
	if (array)
		array->tensor_count = neff->nr_ios;
	return array;
}

static NRT_STATUS tensor_info(struct nrt_state *state, struct nrt_model *model, void *out,
			      struct nrt_error *error)
{
	const struct neff *neff = model->neff;
	nrt_tensor_info_array_t *array = allocate_infos(neff);
	nrt_tensor_info_t *info;
	uint32_t *shape;
	size_t i;

	if (!array || !nrt_given_add(&state->given[NRT_GIVEN_INFOS], array)) {
		free(array);
		return nrt_error_memory(error);
	}
	info = array->tensor_array;
	shape = (uint32_t *)&array->tensor_array[array->tensor_count];
	for (i = 0; i < neff->nr_ios; i++) {
		const struct neff_var *var = neff->ios[i];

		snprintf(info->name, sizeof(info->name), "%s", var->name);
		info->usage = var->type == NEFF_VAR_INPUT ? NRT_TENSOR_USAGE_INPUT :
							    NRT_TENSOR_USAGE_OUTPUT;
		info->size = var->size;
		info->dtype = (nrt_dtype_t)var->dtype;
		info->shape = shape;
		info->ndim = var->ndim;
		memcpy(shape, var->shape, var->ndim * sizeof(*shape));
		shape += var->ndim;
		info++;
	}
	*(nrt_tensor_info_array_t **)out = array;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **info)
{
	if (!info)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor_info is NULL");
	return nrt_model_call(__func__, model, tensor_info, info);
}

NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info)
{
	return nrt_give_back(__func__, NRT_GIVEN_INFOS, tensor_info);
}

static NRT_STATUS count_instances(struct nrt_state *state, struct nrt_model *model, void *out,
				  struct nrt_error *error)
{
	(void)state;
	(void)model;
	(void)error;
	*(uint32_t *)out = 1;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count)
{
	if (!instance_count)
		return nrt_fail_with(__func__, NRT_INVALID, "instance_count is NULL");
	return nrt_model_call(__func__, model, count_instances, instance_count);
}

static NRT_STATUS model_info(struct nrt_state *state, struct nrt_model *model, void *out,
			     struct nrt_error *error)
{
	(void)state;
	(void)error;
	((nrt_model_info_t *)out)->vnc = model->vcore->vnc;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info,
			      size_t info_size_in, size_t *info_size_out)
{
	nrt_model_info_t full;
	NRT_STATUS status;

	if (!info || !info_size_in)
		return nrt_fail_with(__func__, NRT_INVALID, "info is NULL or has no bytes");
	status = nrt_model_call(__func__, model, model_info, &full);
	if (status)
		return status;
	if (info_size_in > sizeof(full))
		info_size_in = sizeof(full);
	memcpy(info, &full, info_size_in);
	if (info_size_out)
		*info_size_out = info_size_in;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback,
					    void *params)
{
	struct nrt_state *state;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	nrt_callbacks_set(&state->callbacks, callback, params);
	nrt_leave(state);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc)
{
	struct nrt_state *state;
	struct nrt_error error;
	struct nrt_unit *unit;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	unit = nrt_machine_vcore(&state->machine, vnc, &error) ?
		       nrt_units_find(state->units, (uint32_t)vnc, NRTA_XU_COMPUTE, 0, &error) :
		       NULL;
	if (unit) {
		nrt_unit_drain(unit);
		nrt_callbacks_drain(&state->callbacks);
	}
	return nrt_end(state, __func__, unit ? NRT_SUCCESS : error.status, &error);
}

/* --- Traces --- */

NRT_STATUS nrt_trace_start(bool trace_mem)
{
	struct nrt_capture capture;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	nrt_capture_defaults(&capture);
	status = nrt_recorder_start(&state->recorder, NRT_TRACE_TRACE, &capture, &error);
	if (!status)
		atomic_store(&state->trace_memory, trace_mem);
	return nrt_end(state, __func__, status, &error);
}

/* An element for each core whose chip answers. */
static void print_memory(FILE *file, struct nrt_machine *machine)
{
	const char *before = "";
	unsigned int i;

	fprintf(file, ",\"memory\":[");
	for (i = 0; i < machine->nr_vcores; i++) {
		struct drm_neuron_memory_info stacks[NEURON_MAX_HBM] = { 0 };
		const struct nrt_vcore *core = &machine->vcores[i];
		struct nrt_error ignored;

		if (nrt_device_memory(core->device, stacks, &ignored))
			continue;
		fprintf(file, "%s\n{\"lnc_idx\":%u,\"bytes_used\":%llu,\"bytes_limit\":%llu}",
			before, i, (unsigned long long)stacks[core->stack].used,
			(unsigned long long)stacks[core->stack].usable);
		before = ",";
	}
	fprintf(file, "\n]");
}

/* @text is an object of JSON, whose last byte closes it. */
static NRT_STATUS write_trace(struct nrt_state *state, const char *path, FILE *file,
			      const char *text, size_t size, struct nrt_error *error)
{
	fwrite(text, 1, size - 1, file);
	if (atomic_load(&state->trace_memory))
		print_memory(file, &state->machine);
	fputs("}\n", file);
	return nrt_file_close(file, path, error);
}

static NRT_STATUS stop_trace(struct nrt_state *state, const char *path, struct nrt_error *error)
{
	struct nrt_fetch all;
	NRT_STATUS status;
	size_t size;
	char *text;
	FILE *file;

	if (nrt_file_open(path, &file, error))
		return error->status;
	nrt_fetch_defaults(&all);
	if (nrt_recorder_take(&state->recorder, NRT_TRACE_TRACE, &all, &text, &size, error)) {
		fclose(file);
		return error->status;
	}
	status = write_trace(state, path, file, text, size, error);
	free(text);
	if (!status)
		status = nrt_recorder_stop(&state->recorder, NRT_TRACE_TRACE, error);
	return status;
}

NRT_STATUS nrt_trace_stop(const char *filename)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!filename || !*filename)
		return nrt_fail_with(__func__, NRT_INVALID, "filename is NULL or empty");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = stop_trace(state, filename, &error);
	return nrt_end(state, __func__, status, &error);
}
