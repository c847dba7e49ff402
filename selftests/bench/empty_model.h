/* SPDX-License-Identifier: MIT */
/*
 * A model that does nothing, for what libnrt itself costs: executed one call after the other, and
 * scheduled in advance.
 */
#ifndef EMPTY_MODEL_H
#define EMPTY_MODEL_H

#include <stddef.h>

#include <nrt/nrt.h>

/* Executions that are scheduled in advance: as many as the queue takes. */
#define EMPTY_MODEL_DEPTH	63

/**
 * struct empty_model - a model that is loaded on core 0
 * @model: the model
 * @tensors: none, for its inputs and for its outputs
 */
struct empty_model {
	nrt_model_t *model;
	nrt_tensor_set_t *tensors;
};

/* A NEFF for free(), with a constant of @bytes (0: none); NULL after a message. */
void *empty_model_neff(size_t bytes, size_t *size);

/* Load it; what is there afterwards is for empty_model_unload(), also after a failure. */
NRT_STATUS empty_model_load(struct empty_model *model);
void empty_model_unload(struct empty_model *model);

/* Execute it, and wait for the end. */
NRT_STATUS empty_model_run(const struct empty_model *model);

/**
 * empty_model_pipeline() - schedule EMPTY_MODEL_DEPTH executions, and wait for all of them
 * @model: which one
 * @schedule: seconds to schedule one
 * @each: seconds from one end to the next
 */
NRT_STATUS empty_model_pipeline(const struct empty_model *model, double *schedule, double *each);

/**
 * empty_model_close_full() - time nrt_close() while a queue is full of work
 * @seconds: how long it took
 *
 * The queue of core 0 has EMPTY_MODEL_DEPTH executions. The first one never ends. Afterwards the
 * library is closed, also when this fails.
 *
 * Return: NRT_SUCCESS: each of the executions was ended by nrt_close().
 */
NRT_STATUS empty_model_close_full(double *seconds);

#endif /* EMPTY_MODEL_H */
