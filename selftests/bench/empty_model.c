// SPDX-License-Identifier: MIT
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <stdlib.h>

#include "empty_model.h"
#include "figure.h"
#include "neuron_builder.h"

static void *pack(struct nb_program *nb, const void *constant, size_t bytes, size_t *size)
{
	void *neff = NULL;

	if (bytes)
		nb_file(nb, "constant.bin", constant, bytes);
	nb_halt(nb, NEURON_ENGINE_SYNC);
	if (nb_pack(nb, &neff, size)) {
		fprintf(stderr, "bench: the empty model: %s\n", nb_error(nb));
		return NULL;
	}
	return neff;
}

void *empty_model_neff(size_t bytes, size_t *size)
{
	struct nb_program *nb = nb_new("nothing");
	void *constant = calloc(1, bytes + 1);
	void *neff = NULL;

	if (nb && constant)
		neff = pack(nb, constant, bytes, size);
	else
		fprintf(stderr, "bench: out of memory\n");
	nb_free(nb);
	free(constant);
	return neff;
}

NRT_STATUS empty_model_load(struct empty_model *model)
{
	NRT_STATUS status = NRT_RESOURCE;
	size_t size;
	void *neff = empty_model_neff(0, &size);

	*model = (struct empty_model){ NULL, NULL };
	if (neff)
		status = nrt_load(neff, size, 0, -1, &model->model);
	free(neff);
	return status ? status : nrt_allocate_tensor_set(&model->tensors);
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
