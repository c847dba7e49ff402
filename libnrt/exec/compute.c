// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/event.h"
#include "exec/checks.h"
#include "exec/compute.h"
#include "exec/events.h"
#include "exec/inputs.h"
#include "exec/notice.h"
#include "exec/numbers.h"

/*
 * Where a program waits for a collective, the CC-core waits for a peer, and can say for which. So
 * its time limit ends first, which is the driver's if the environment sets none.
 */
#define GRACE_MS	1000

/**
 * struct execution - a request of the compute unit
 * @request: base
 * @model: model
 * @handles: to give back what @async has
 * @binding: its tensors
 * @timeout_ms: of each job
 * @job: id of the job under way
 * @left: further jobs after it
 * @turns: by tensor, when there is more than one job: outputs that become inputs go
 *	here and to their tensors in turn, so that the last ones are in the tensors
 * @traced: counted in the model
 * @numbers: look for NaNs, in the trace of the job under way, @watched
 * @notices: what the program tells of itself is wanted
 * @numerical: the first that was found; status 0: none
 * @dump_on, @print, @print_arg: as in struct nrt_execute
 * @begin_ns: when it was asked for, CLOCK_MONOTONIC
 * @device_ns: device time of the jobs that have ended
 * @whole: event of the execution
 * @on_core: event of the job under way
 * @async: what was given along; zero if the caller waits
 * @ended: what is told of the end, or NULL
 */
struct execution {
	struct nrt_request request;
	struct nrt_model *model;
	struct nrt_handles *handles;
	struct nrt_binding *binding;
	uint32_t timeout_ms;
	uint64_t job;
	unsigned int left;
	struct nrt_place *turns;
	bool traced;
	bool numbers;
	bool notices;
	struct nrt_watched watched;
	struct nrt_error numerical;
	NRT_STATUS dump_on;
	nrt_print_fn *print;
	void *print_arg;
	uint64_t begin_ns;
	uint64_t device_ns;
	struct nrt_event whole;
	struct nrt_event on_core;
	struct nrt_async async;
	struct nrt_ended *ended;
};

/* An event of @execution begins. */
static void begin_event(const struct execution *execution, struct nrt_event *event,
			enum nrt_event_type type)
{
	nrt_exec_event_begin(event, type, execution->model, execution->job);
}

/* With nrt_vcore_lock(), before a submission. */
static void tell_switch(const struct execution *execution)
{
	const struct nrt_part *part = &execution->model->parts[0];
	struct nrt_event event;

	if (part->core->resident == &part->view)
		return;
	begin_event(execution, &event, NRT_EVENT_NRT_MODEL_SWITCH);
	if (!event.begin_ns)
		return;
	event.exec = 0;
	event.end_ns = event.begin_ns;
	nrt_event_tell(&event);
}

/* The device may write the traces from now on, until trace_end(). */
static NRT_STATUS trace_begin(struct execution *execution, struct drm_neuron_job *args)
{
	struct nrt_watched *watched = &execution->watched;
	struct nrt_model *model = execution->model;
	unsigned int i;

	watched->bytes = 0;
	pthread_mutex_lock(&model->lock);
	if (model->trace_bytes) {
		watched->bytes = model->trace_bytes;
		for (i = 0; i < model->nr_parts; i++)
			watched->trace[i] = model->parts[i].trace;
		if (!execution->traced)
			model->traced++;
		execution->traced = true;
	}
	pthread_mutex_unlock(&model->lock);
	if (!watched->bytes && execution->numbers &&
	    nrt_numbers_buffers(model, watched, &execution->request.error))
		return execution->request.error.status;
	for (i = 0; watched->bytes && i < model->nr_parts; i++) {
		args[i].trace = watched->trace[i]->handle;
		args[i].trace_size = watched->bytes;
	}
	return NRT_SUCCESS;
}

static void trace_end(struct execution *execution)
{
	struct nrt_model *model = execution->model;

	if (!execution->traced)
		return;
	pthread_mutex_lock(&model->lock);
	if (!--model->traced)
		pthread_cond_broadcast(&model->untraced);
	pthread_mutex_unlock(&model->lock);
	execution->traced = false;
}

static struct drm_neuron_job part_job(const struct nrt_part *part, uint32_t rank,
				      uint32_t timeout_ms)
{
	return (struct drm_neuron_job){
		.queues = {
			.stride = sizeof(*part->queues),
			.count = part->nr_queues,
			.pointer = (uintptr_t)part->queues,
		},
		.starts = {
			.stride = sizeof(part->start[0]),
			.count = NEURON_NR_ENGINES,
			.pointer = (uintptr_t)part->start,
		},
		.sem_clear = {
			.stride = sizeof(part->sem_clear[0]),
			.count = NEURON_NR_SEMAPHORES / 64,
			.pointer = (uintptr_t)part->sem_clear,
		},
		.notify_addr = part->notify_addr,
		.notify_size = part->graph->notify_bytes,
		.timeout_ms = timeout_ms,
		.rank = rank,
	};
}

static uint32_t limit_of(const struct execution *execution)
{
	uint32_t limit = execution->timeout_ms;

	if (!execution->model->cc)
		return limit;
	if (!limit)
		limit = NRT_TIMEOUT_MS;
	return limit < UINT32_MAX - GRACE_MS ? limit + GRACE_MS : limit;
}

static NRT_STATUS submit(struct execution *execution)
{
	struct nrt_model *model = execution->model;
	struct drm_neuron_job args[NRT_MAX_JOBS];
	const struct nrt_time_place *places = NULL;
	struct nrt_view *views[NRT_MAX_JOBS];
	NRT_STATUS status;
	unsigned int i;

	for (i = 0; i < model->nr_parts; i++) {
		args[i] = part_job(&model->parts[i], model->rank, limit_of(execution));
		views[i] = &model->parts[i].view;
	}
	status = trace_begin(execution, args);
	if (!status && execution->notices)
		status = nrt_notices_clear(model, &execution->request.error);
	if (status)
		return status;
	begin_event(execution, &execution->on_core, NRT_EVENT_KMGR_EXEC_CORE);
	nrt_vcore_lock(model->vcore, &model->cc_cores);
	tell_switch(execution);
	nrt_bind_view(model, execution->binding);
	if (model->cc) {
		model->cc_ops->show(model, &args[i], &views[i]);
		places = model->cc_ops->places(model);
	}
	status = nrt_vcore_submit(model->vcore, &model->cc_cores, views, args, places,
				  &execution->job, &execution->request.error);
	nrt_vcore_unlock(model->vcore, &model->cc_cores);
	if (status)
		nrt_event_end(&execution->on_core, status);
	if (!status && model->group)
		model->group->started(model, execution->job);
	if (!status && model->cc)
		model->cc_ops->started(model, execution->job, execution->request.seq);
	return status;
}

NRT_STATUS nrt_clear_semaphores(struct nrt_model *model, struct nrt_error *error)
{
	uint64_t all[NEURON_NR_SEMAPHORES / 64];
	struct drm_neuron_job args[NRT_MAX_LNC];
	struct drm_neuron_wait_job wait[NRT_MAX_LNC];
	NRT_STATUS status;
	unsigned int i;
	uint64_t job;

	memset(all, 0xff, sizeof(all));
	for (i = 0; i < model->nr_parts; i++)
		args[i] = (struct drm_neuron_job){
			.sem_clear = {
				.stride = sizeof(all[0]),
				.count = NEURON_NR_SEMAPHORES / 64,
				.pointer = (uintptr_t)all,
			},
		};
	nrt_vcore_lock(model->vcore, NULL);
	status = nrt_vcore_submit(model->vcore, NULL, NULL, args, NULL, &job, error);
	nrt_vcore_unlock(model->vcore, NULL);
	if (status || nrt_vcore_wait(model->vcore, NULL, job, wait, error))
		return error->status;
	return nrt_result(model, wait, error);
}

/* All parts together: from the first start to the last end. */
static struct drm_neuron_wait_job sum(const struct nrt_model *model,
				      const struct drm_neuron_wait_job *wait)
{
	struct drm_neuron_wait_job all = wait[0];
	unsigned int i;

	for (i = 1; i < model->nr_parts; i++) {
		if (wait[i].start_ns < all.start_ns)
			all.start_ns = wait[i].start_ns;
		if (wait[i].end_ns > all.end_ns)
			all.end_ns = wait[i].end_ns;
		if (wait[i].wall_ns > all.wall_ns)
			all.wall_ns = wait[i].wall_ns;
		all.instructions += wait[i].instructions;
		all.dma_bytes += wait[i].dma_bytes;
		all.flags |= wait[i].flags;
	}
	return all;
}

static void record(struct nrt_model *model, const struct drm_neuron_wait_job *wait,
		   uint32_t reports)
{
	pthread_mutex_lock(&model->lock);
	model->last = (nrt_emu_execution_t){
		.start_ns = wait->start_ns,
		.end_ns = wait->end_ns,
		.wall_ns = wait->wall_ns,
		.instructions = wait->instructions,
		.dma_bytes = wait->dma_bytes,
		.flags = wait->flags & DRM_NEURON_JOB_INEXACT ? NRT_EMU_INEXACT : 0,
		.reports = reports,
	};
	model->has_last = true;
	model->last_ns = nrt_clock_now();
	pthread_mutex_unlock(&model->lock);
}

static void tell_notices(const struct execution *execution)
{
	struct nrt_event event;

	begin_event(execution, &event, NRT_EVENT_HW_NOTIFY);
	if (execution->notices && event.begin_ns)
		nrt_notices_tell(execution->model, &event);
}

/* The job ended well. The first numerical error counts. */
static void check_numbers(struct execution *execution)
{
	struct nrt_event event;

	if (!execution->numbers || execution->numerical.status ||
	    !nrt_numbers_check(execution->model, execution->binding, &execution->watched,
			       &execution->numerical))
		return;
	begin_event(execution, &event, NRT_EVENT_NUMERICAL_ERR);
	nrt_event_end(&event, execution->numerical.status);
}

static void print_all(const struct execution *execution)
{
	const struct nrt_model *model = execution->model;
	const struct nrt_part *part;
	size_t i;

	for (part = model->parts; part < model->parts + model->nr_parts; part++)
		for (i = 0; i < part->graph->nr_vars; i++)
			if (part->graph->vars[i].print)
				execution->print(execution->print_arg, model->vcore->vnc,
						 &part->graph->vars[i], &part->places[i]);
}

/* What the execution returns when all of its jobs ended well. */
static NRT_STATUS tell_numbers(struct execution *execution)
{
	if (execution->numerical.status)
		execution->request.error = execution->numerical;
	return execution->numerical.status;
}

static struct execution *execution_of(struct nrt_request *request)
{
	return (struct execution *)request;
}

/* What this rank does before the others can see that it has begun; then it meets them. */
static NRT_STATUS make_ready(struct execution *execution)
{
	struct nrt_error *error = &execution->request.error;
	struct nrt_model *model = execution->model;

	if (nrt_bind_inputs(model, execution->binding, error) ||
	    (model->group && model->group->begin(model, execution->binding,
						 execution->timeout_ms, error)) ||
	    (model->cc && nrt_bind_scratch(model, execution->binding, error)))
		return error->status;
	return NRT_SUCCESS;
}

/* The other ranks wait for this one, or will: whatever fails here is told to them. */
static NRT_STATUS begin_job(struct execution *execution)
{
	struct nrt_error *error = &execution->request.error;
	struct nrt_model *model = execution->model;
	NRT_STATUS status = make_ready(execution);

	if (status && model->cc)
		model->cc_ops->refuse(model, error);
	if (!status && model->cc)
		status = model->cc_ops->begin(model, execution->binding, error);
	if (!status && submit(execution)) {
		status = error->status;
		trace_end(execution);
		if (model->cc)
			model->cc_ops->end(model, NULL, error);
	}
	if (!status)
		return NRT_SUCCESS;
	if (model->group)
		model->group->failed(model, error);
	return error->status;
}

/* It failed with @status, or not. */
static void dump_inputs(const struct execution *execution, NRT_STATUS status)
{
	if (status && status == execution->dump_on)
		nrt_inputs_dump(execution->model, execution->binding, execution->job);
}

/*
 * For who asks what was wrong with the last execution: why it has failed, if it has, and the first
 * line of the checks, @report, if there is one.
 */
static void keep_error(struct nrt_model *model, const struct nrt_error *error, const char *report)
{
	const char *why = error->status ? error->text : "";

	pthread_mutex_lock(&model->lock);
	snprintf(model->last_error, sizeof(model->last_error), "%s%s%s", why,
		 *why && *report ? "\n" : "", report);
	pthread_mutex_unlock(&model->lock);
}

static NRT_STATUS start(struct nrt_request *request)
{
	struct execution *execution = execution_of(request);
	NRT_STATUS status = begin_job(execution);

	if (status)
		keep_error(execution->model, &request->error, "");
	dump_inputs(execution, status);
	return status;
}

/* Wait for the job under way. */
static NRT_STATUS end_job(struct execution *execution)
{
	struct nrt_error *error = &execution->request.error;
	struct nrt_model *model = execution->model;
	struct drm_neuron_wait_job wait[NRT_MAX_JOBS], all;
	char report[NRT_ERROR_TEXT] = "";
	struct nrt_event waiting;
	NRT_STATUS status;
	uint32_t reports;

	begin_event(execution, &waiting, NRT_EVENT_KBL_EXEC_WAIT);
	status = nrt_vcore_wait(model->vcore, &model->cc_cores, execution->job, wait, error);
	nrt_event_end(&waiting, status);
	execution->request.fatal = status || nrt_result_is_fatal(model, wait);
	if (!status) {
		all = sum(model, wait);
		nrt_exec_tell_device(model, execution->job, &all, &wait[model->nr_parts]);
		tell_notices(execution);
		reports = nrt_checks_tell(model, wait, report);
		status = nrt_result(model, wait, error);
		if (!status)
			reports += nrt_checks_outputs(model, execution->binding, report);
		record(model, &all, reports);
		execution->device_ns += all.end_ns ? all.end_ns - all.start_ns : all.wall_ns;
	}
	if (model->cc)
		status = model->cc_ops->end(model, &wait[model->nr_parts], error);
	if (model->group)
		model->group->ended(model, !status);
	if (!status)
		check_numbers(execution);
	keep_error(model, status ? error : &execution->numerical, report);
	if (!status && execution->print)
		print_all(execution);
	execution->on_core.exec = execution->job;
	nrt_event_end(&execution->on_core, status);
	return status;
}

/* The output of each pair goes where the next turn wants it, and its input comes from there. */
static void take_turn(struct execution *execution)
{
	const struct neff *neff = execution->model->neff;
	struct nrt_binding *binding = execution->binding;
	size_t in = 0, out;

	for (out = 0; out < neff->nr_ios; out++) {
		struct nrt_place place = binding->places[out];

		if (neff->ios[out]->type != NEFF_VAR_OUTPUT)
			continue;
		while (neff->ios[in]->type != NEFF_VAR_INPUT)
			in++;
		binding->places[out] = execution->turns[out];
		execution->turns[out] = place;
		binding->places[in++] = place;
	}
}

static NRT_STATUS finish(struct nrt_request *request)
{
	struct execution *execution = execution_of(request);
	struct nrt_model *model = execution->model;
	NRT_STATUS status = end_job(execution);

	while (!status && execution->left) {
		execution->left--;
		take_turn(execution);
		status = submit(execution);
		if (!status)
			status = end_job(execution);
	}
	trace_end(execution);
	if (status && model->group) {
		model->group->failed(model, &request->error);
		status = request->error.status;
	}
	if (!status)
		status = nrt_bind_outputs(model, execution->binding, &request->error);
	if (!status)
		status = tell_numbers(execution);
	dump_inputs(execution, status);
	return status;
}

/* For those who monitor the machine. */
static void count(const struct execution *execution, NRT_STATUS status)
{
	struct nrt_model *model = execution->model;
	struct nrt_core *core = model->vcore->core[0];
	const struct nrt_stats_times times = {
		.total_ns = nrt_clock_now() - execution->begin_ns,
		.device_ns = execution->device_ns,
	};

	nrt_post_execution(core, status);
	nrt_stats_ended(&model->machine->stats, core->stats, status, &times);
	nrt_stats_model_ended(model->stats);
}

static void count_refused(const struct nrt_model *model, NRT_STATUS status)
{
	nrt_stats_refused(model->vcore->core[0]->stats, status);
	nrt_stats_model_ended(model->stats);
}

static void failed(struct nrt_request *request)
{
	const struct nrt_async *async = &execution_of(request)->async;

	async->failed(async->arg, request->seq, &request->error);
}

static void done(struct nrt_request *request)
{
	struct execution *execution = execution_of(request);
	struct nrt_model *model = execution->model;
	struct nrt_async async = execution->async;
	struct nrt_ended *ended = execution->ended;

	nrt_event_end(&execution->whole, request->error.status);
	count(execution, request->error.status);
	*ended = (struct nrt_ended){
		.model = model->id,
		.core = model->vcore->vnc,
		.seq = request->seq,
		.error = request->error,
	};
	nrt_unbind(model, execution->binding);
	if (async.tracker_handle)
		nrt_handle_put(execution->handles, async.tracker_handle);
	nrt_handle_put(execution->handles, async.model_handle);
	free(execution);
	async.ended(async.arg, ended);
}

static const struct nrt_request_ops execution_ops = {
	.start = start,
	.finish = finish,
	.failed = failed,
	.done = done,
};

/* Bind the tensors, and fill @execution. */
static NRT_STATUS prepare(const struct nrt_execute *execute, struct execution *execution,
			  struct nrt_error *error)
{
	struct nrt_model *model = execute->model;

	execution->begin_ns = nrt_clock_now();
	nrt_stats_model_begins(model->stats);
	if ((model->group || model->cc) && execute->repeat > 1)
		return nrt_error_set(error, NRT_INVALID,
				     "model \"%.64s\" works with peers and cannot be repeated",
				     model->neff->name);
	execution->model = model;
	begin_event(execution, &execution->whole, NRT_EVENT_RUNTIME_EXECUTE);
	if (nrt_bind(model, execute->handles, execute->inputs, execute->outputs,
		     &execution->binding, error))
		return error->status;
	nrt_binding_use(model, execution->binding, &execution->request.ticket);
	/* Ranks run side by side and wait for each other: none may wait for the end of another. */
	execution->request.ticket.lane = model->comm ? (const void *)model->comm : model->ranks;
	execution->request.ops = &execution_ops;
	execution->request.quick = !execution->binding->copies && !model->group &&
				   !model->cc &&
				   !model->vcore->device->backend->runs_jobs;
	execution->notices = nrt_notices_wanted(model);
	/* Others must see what is copied before and after the job, and the turns of a repeat. */
	execution->request.alone = execution->binding->copies || model->group || model->cc ||
				   execute->repeat > 1 || execute->numbers || execute->print ||
				   execute->dump_on || execution->notices;
	execution->dump_on = execute->dump_on;
	execution->print = execute->print;
	execution->print_arg = execute->print_arg;
	execution->numbers = execute->numbers;
	execution->handles = execute->handles;
	execution->timeout_ms = execute->timeout_ms;
	return NRT_SUCCESS;
}

static NRT_STATUS refuse_repeat(const struct nrt_model *model, const char *why,
				struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID,
			     "model \"%.64s\" cannot be repeated: %s; output k becomes input k",
			     model->neff->name, why);
}

static void free_turns(struct nrt_place *made, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!made[i].bo)
			continue;
		nrt_bo_forget(made[i].bo);
		nrt_bo_put(made[i].bo);
	}
	free(made);
}

/* A buffer for each output that becomes an input. */
static NRT_STATUS fill_turns(const struct nrt_model *model, struct nrt_place *made,
			     struct nrt_error *error)
{
	const struct neff *neff = model->neff;
	struct nrt_vcore *core = model->vcore;
	size_t in = 0, out;

	for (out = 0; out < neff->nr_ios; out++) {
		if (neff->ios[out]->type != NEFF_VAR_OUTPUT)
			continue;
		while (in < neff->nr_ios && neff->ios[in]->type != NEFF_VAR_INPUT)
			in++;
		if (in == neff->nr_ios)
			return refuse_repeat(model, "it has more outputs than inputs", error);
		if (neff->ios[in++]->size != neff->ios[out]->size)
			return refuse_repeat(model, "their sizes differ", error);
		if (nrt_bo_create(core->core[0], neff->ios[out]->size, DRM_NEURON_BO_HBM,
				  DRM_NEURON_CATEGORY_DMA_BUFFERS, &made[out].bo, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

/* Run the execution, whose tensors are bound, @repeat times. */
static NRT_STATUS run_turns(struct nrt_unit *unit, struct execution *execution,
			    unsigned int repeat, struct nrt_error *error)
{
	size_t nr = execution->model->neff->nr_ios;
	struct nrt_place *made = calloc(nr + 1, sizeof(*made));
	struct nrt_place *places = execution->binding->places;
	size_t i;

	execution->turns = calloc(nr + 1, sizeof(*execution->turns));
	if (!made || !execution->turns) {
		nrt_error_memory(error);
		goto out;
	}
	if (fill_turns(execution->model, made, error))
		goto out;
	/* The last turn writes to the tensors, so an even number begins with the buffers. */
	for (i = 0; i < nr; i++) {
		if (!made[i].bo)
			continue;
		execution->turns[i] = repeat % 2 ? made[i] : places[i];
		places[i] = repeat % 2 ? places[i] : made[i];
	}
	execution->left = repeat - 1;
	nrt_unit_run(unit, &execution->request);
	*error = execution->request.error;
out:
	free(execution->turns);
	if (made)
		free_turns(made, nr);
	return error->status;
}

NRT_STATUS nrt_execute_wait(const struct nrt_execute *execute, struct nrt_error *error)
{
	struct nrt_vcore *core = execute->model->vcore;
	struct execution execution = { 0 };
	struct nrt_unit *unit;
	NRT_STATUS status;

	unit = nrt_units_find(execute->units, core->vnc, NRTA_XU_COMPUTE, 0, error);
	if (!unit)
		return error->status;
	if (prepare(execute, &execution, error)) {
		keep_error(execute->model, error, "");
		nrt_post_execution(core->core[0], error->status);
		count_refused(execute->model, error->status);
		nrt_event_end(&execution.whole, error->status);
		return error->status;
	}
	if (execute->repeat > 1) {
		status = run_turns(unit, &execution, execute->repeat, error);
	} else {
		status = nrt_unit_run(unit, &execution.request);
		*error = execution.request.error;
	}
	nrt_unbind(execute->model, execution.binding);
	/* One that cannot be repeated has got no number. */
	if (execution.request.seq) {
		count(&execution, status);
	} else {
		nrt_post_execution(core->core[0], status);
		count_refused(execute->model, status);
	}
	nrt_event_end(&execution.whole, status);
	return status;
}

NRT_STATUS nrt_execute_schedule(const struct nrt_execute *execute, const struct nrt_async *async,
				nrta_seq_t *seq, struct nrt_error *error)
{
	struct nrt_vcore *core = execute->model->vcore;
	struct execution *execution;
	struct nrt_unit *unit;

	unit = nrt_units_find(execute->units, core->vnc, NRTA_XU_COMPUTE, async->queue, error);
	if (!unit)
		return error->status;
	execution = calloc(1, sizeof(*execution));
	if (!execution)
		return nrt_error_memory(error);
	execution->ended = malloc(sizeof(*execution->ended));
	if (!execution->ended) {
		nrt_error_memory(error);
		goto fail;
	}
	if (prepare(execute, execution, error))
		goto refused;
	execution->async = *async;
	execution->request.tracker = async->tracker;
	if (!nrt_unit_schedule(unit, &execution->request, seq, error))
		return NRT_SUCCESS;
	nrt_unbind(execute->model, execution->binding);
refused:
	count_refused(execute->model, error->status);
fail:
	free(execution->ended);
	free(execution);
	return error->status;
}
