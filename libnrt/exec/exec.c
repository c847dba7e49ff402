// SPDX-License-Identifier: MIT
/*
 * nrt_execute().
 */
#include <string.h>

#include "object/model.h"

static NRT_STATUS submit_job(struct nrt_core *core, const struct drm_neuron_job *args,
			     uint64_t *job, struct nrt_error *error)
{
	struct nrt_device *device = core->device;
	struct drm_neuron_submit submit = {
		.claim = device->claim,
		.jobs = { sizeof(*args), 1, (uintptr_t)args },
	};
	int ret = device->backend->submit(device->chip, &submit);

	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret), "core %u: cannot submit: %s",
				     core->number, strerror(-ret));
	*job = submit.job;
	return NRT_SUCCESS;
}

/* With the core's lock: the table and the job that latches it belong together. */
static NRT_STATUS submit_model(struct nrt_model *model, uint32_t timeout_ms, uint64_t *job,
			       struct nrt_error *error)
{
	struct nrt_core *core = model->core;
	struct drm_neuron_job args = {
		.core = core->index,
		.queues = {
			.stride = sizeof(*model->queues),
			.count = model->nr_queues,
			.pointer = (uintptr_t)model->queues,
		},
		.starts = {
			.stride = sizeof(model->start[0]),
			.count = NEURON_NR_ENGINES,
			.pointer = (uintptr_t)model->start,
		},
		.sem_clear = {
			.stride = sizeof(model->sem_clear[0]),
			.count = NEURON_NR_SEMAPHORES / 64,
			.pointer = (uintptr_t)model->sem_clear,
		},
		.notify_addr = model->notify_addr,
		.notify_size = model->neff->notify_bytes,
		.timeout_ms = timeout_ms,
		.rank = model->rank,
	};

	if (nrt_windows_update(model, &args.windows, error))
		return error->status;
	nrt_trace_ask(model, &args);
	if (submit_job(core, &args, job, error)) {
		nrt_windows_unknown(core);
		return error->status;
	}
	return NRT_SUCCESS;
}

/* The driver ends every job, so there is no limit here. */
static NRT_STATUS wait_job(struct nrt_core *core, uint64_t job, struct drm_neuron_wait_job *wait,
			   struct nrt_error *error)
{
	struct drm_neuron_wait args = {
		.deadline_ns = INT64_MAX,
		.jobs = { sizeof(*wait), 1, (uintptr_t)wait },
	};
	struct nrt_device *device = core->device;
	int ret;

	*wait = (struct drm_neuron_wait_job){
		.claim = device->claim,
		.core = core->index,
		.job = job,
	};
	ret = device->backend->wait(device->chip, &args);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret),
				     "core %u: cannot wait for job %llu: %s", core->number,
				     (unsigned long long)job, strerror(-ret));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_clear_semaphores(struct nrt_model *model, struct nrt_error *error)
{
	struct nrt_core *core = model->core;
	uint64_t all[NEURON_NR_SEMAPHORES / 64];
	struct drm_neuron_job args = {
		.core = core->index,
		.sem_clear = {
			.stride = sizeof(all[0]),
			.count = NEURON_NR_SEMAPHORES / 64,
			.pointer = (uintptr_t)all,
		},
	};
	struct drm_neuron_wait_job wait;
	uint64_t job;

	memset(all, 0xff, sizeof(all));
	if (submit_job(core, &args, &job, error) || wait_job(core, job, &wait, error))
		return error->status;
	return nrt_result(model, &wait, error);
}

static void record(struct nrt_model *model, const struct drm_neuron_wait_job *wait)
{
	model->last = (nrt_emu_execution_t){
		.start_ns = wait->start_ns,
		.end_ns = wait->end_ns,
		.wall_ns = wait->wall_ns,
		.instructions = wait->instructions,
		.dma_bytes = wait->dma_bytes,
		.flags = wait->flags & DRM_NEURON_JOB_INEXACT ? NRT_EMU_INEXACT : 0,
	};
	model->has_last = true;
}

static NRT_STATUS run(struct nrt_model *model, uint32_t timeout_ms, struct nrt_error *error)
{
	struct nrt_core *core = model->core;
	struct drm_neuron_wait_job wait;
	uint64_t job = 0;
	NRT_STATUS status;

	pthread_mutex_lock(&core->lock);
	status = submit_model(model, timeout_ms, &job, error);
	pthread_mutex_unlock(&core->lock);
	if (status)
		return status;
	if (wait_job(core, job, &wait, error))
		return error->status;
	record(model, &wait);
	return nrt_result(model, &wait, error);
}

/* What nrt_execute() was given. */
struct execution {
	const nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
};

/* With the model's lock. */
static NRT_STATUS execute(struct nrt_model *model, uint32_t timeout_ms,
			  const nrt_tensor_set_t *inputs, nrt_tensor_set_t *outputs,
			  struct nrt_error *error)
{
	if (nrt_bind(model, inputs, outputs, error))
		return error->status;
	if (model->comm && nrt_comm_begin(model, timeout_ms, error))
		return error->status;
	if (run(model, timeout_ms, error)) {
		if (model->comm)
			nrt_comm_failed(model);
		return error->status;
	}
	return nrt_bind_finish(model, outputs, error);
}

static NRT_STATUS execute_and_post(struct nrt_state *state, struct nrt_model *model, void *arg,
				   struct nrt_error *error)
{
	const struct execution *execution = arg;
	NRT_STATUS status = execute(model, state->env.timeout_ms, execution->inputs,
				    execution->outputs, error);

	nrt_post_execution(model->core, status);
	return status;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
		       nrt_tensor_set_t *output_set)
{
	struct execution execution = { input_set, output_set };

	if (!input_set || !output_set)
		return nrt_fail_with(__func__, NRT_INVALID, "a tensor set is NULL");
	return nrt_model_call_locked(__func__, model, execute_and_post, &execution);
}
