// SPDX-License-Identifier: MIT
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "empty_model.h"
#include "figure.h"
#include "neuron_builder.h"

/* After so long the first request of a queue is running. */
#define RUNNING_NS	20000000

/* @endless: instead of halting it goes on at its first instruction. */
static void *pack(struct nb_program *nb, const void *constant, size_t bytes, bool endless,
		  size_t *size)
{
	void *neff = NULL;

	if (bytes)
		nb_file(nb, "constant.bin", constant, bytes);
	if (endless)
		nb_branch(nb, NEURON_ENGINE_SYNC, 0);
	else
		nb_halt(nb, NEURON_ENGINE_SYNC);
	if (nb_pack(nb, &neff, size)) {
		fprintf(stderr, "bench: the empty model: %s\n", nb_error(nb));
		return NULL;
	}
	return neff;
}

static void *make_neff(const char *name, size_t bytes, bool endless, size_t *size)
{
	struct nb_program *nb = nb_new(name);
	void *constant = calloc(1, bytes + 1);
	void *neff = NULL;

	if (nb && constant)
		neff = pack(nb, constant, bytes, endless, size);
	else
		fprintf(stderr, "bench: out of memory\n");
	nb_free(nb);
	free(constant);
	return neff;
}

void *empty_model_neff(size_t bytes, size_t *size)
{
	return make_neff("nothing", bytes, false, size);
}

static NRT_STATUS load(struct empty_model *model, const char *name, bool endless)
{
	NRT_STATUS status = NRT_RESOURCE;
	size_t size;
	void *neff = make_neff(name, 0, endless, &size);

	*model = (struct empty_model){ NULL, NULL };
	if (neff)
		status = nrt_load(neff, size, 0, -1, &model->model);
	free(neff);
	return status ? status : nrt_allocate_tensor_set(&model->tensors);
}

NRT_STATUS empty_model_load(struct empty_model *model)
{
	return load(model, "nothing", false);
}

void empty_model_unload(struct empty_model *model)
{
	if (model->model)
		nrt_unload(model->model);
	nrt_destroy_tensor_set(&model->tensors);
	model->model = NULL;
}

NRT_STATUS empty_model_run(const struct empty_model *model)
{
	return nrt_execute(model->model, model->tensors, model->tensors);
}

NRT_STATUS empty_model_pipeline(const struct empty_model *model, double *schedule, double *each)
{
	double begin = figure_now();
	NRT_STATUS status;
	nrta_seq_t seq;
	unsigned int i;

	for (i = 0; i < EMPTY_MODEL_DEPTH; i++) {
		status = nrta_execute_schedule(model->model, model->tensors, model->tensors, 0,
					       NULL, &seq);
		if (status)
			return status;
	}
	*schedule = (figure_now() - begin) / EMPTY_MODEL_DEPTH;
	status = nrt_async_drain_queued_execs(0);
	*each = (figure_now() - begin) / EMPTY_MODEL_DEPTH;
	return status;
}

/* The first request never ends, and the others wait behind it. */
static NRT_STATUS fill_queue(const struct empty_model *spinner, const struct empty_model *model,
			     nrta_error_tracker_t *tracker)
{
	const struct empty_model *next = spinner;
	NRT_STATUS status;
	nrta_seq_t seq;
	unsigned int i;

	for (i = 0; i < EMPTY_MODEL_DEPTH; i++) {
		status = nrta_execute_schedule(next->model, next->tensors, next->tensors, 0,
					       tracker, &seq);
		if (status)
			return status;
		next = model;
	}
	return NRT_SUCCESS;
}

/* Each of them must have been ended by nrt_close(), and by nothing else. */
static NRT_STATUS check_ends(nrta_error_tracker_t *tracker)
{
	const nrta_error_t *list;
	NRT_STATUS status;
	size_t nr, i;

	status = nrta_error_tracker_get_list(tracker, &list, &nr);
	if (status)
		return status;
	if (nr != EMPTY_MODEL_DEPTH)
		return NRT_FAILURE;
	for (i = 0; i < nr; i++)
		if (list[i].error_code != NRT_CLOSED)
			return NRT_FAILURE;
	return NRT_SUCCESS;
}

NRT_STATUS empty_model_close_full(double *seconds)
{
	const struct timespec running = { .tv_nsec = RUNNING_NS };
	struct empty_model spinner = { NULL, NULL }, model = { NULL, NULL };
	nrta_error_tracker_t *tracker = NULL;
	NRT_STATUS status;
	double begin;

	status = nrta_error_tracker_create(0, &tracker);
	if (!status)
		status = load(&spinner, "endless", true);
	if (!status)
		status = empty_model_load(&model);
	if (!status)
		status = fill_queue(&spinner, &model, tracker);
	nanosleep(&running, NULL);
	begin = figure_now();
	nrt_close();
	*seconds = figure_now() - begin;
	if (!status)
		status = check_ends(tracker);
	nrta_error_tracker_destroy(tracker);
	nrt_destroy_tensor_set(&spinner.tensors);
	nrt_destroy_tensor_set(&model.tensors);
	return status;
}
