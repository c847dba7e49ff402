/* SPDX-License-Identifier: MIT */
/*
 * Executions of models.
 */
#ifndef LIBNRT_EXEC_COMPUTE_H
#define LIBNRT_EXEC_COMPUTE_H

#include "exec/unit.h"
#include "object/model.h"

/**
 * struct nrt_ended - how an asynchronous request ended
 * @next: for whoever owns it
 * @model, @core: of an execution: nrt_model.id, and the core it ran on
 * @seq: the request
 * @error: status, and why
 */
struct nrt_ended {
	struct nrt_ended *next;
	uint32_t model;
	uint32_t core;
	nrta_seq_t seq;
	struct nrt_error error;
};

/* Request @seq failed, which nobody else knows yet. */
typedef void nrt_failed_fn(void *arg, nrta_seq_t seq, const struct nrt_error *error);

/* A request ended; @ended is for free(). */
typedef void nrt_ended_fn(void *arg, struct nrt_ended *ended);

/* A model on @core, a virtual one, has printed @var, which lies at @place. */
typedef void nrt_print_fn(void *arg, unsigned int core, const struct neff_var *var,
			  const struct nrt_place *place);

/**
 * struct nrt_execute - an execution that is asked for
 * @handles: of the tensors, and of what follows
 * @units: of the process
 * @model: referenced by the caller
 * @inputs, @outputs: its tensors; needed until the call returns
 * @timeout_ms: of the job; 0: the driver's default
 * @repeat: executions in a row; the outputs of one are the inputs of the next one
 * @numbers: look for NaNs
 * @dump_on: status with which the inputs are written to files, or NRT_SUCCESS
 * @print, @print_arg: who gets the tensors that the model prints, or NULL
 */
struct nrt_execute {
	struct nrt_handles *handles;
	struct nrt_units *units;
	struct nrt_model *model;
	struct nrt_set *inputs;
	struct nrt_set *outputs;
	uint32_t timeout_ms;
	unsigned int repeat;
	bool numbers;
	NRT_STATUS dump_on;
	nrt_print_fn *print;
	void *print_arg;
};

/* Execute, and wait for the end. */
NRT_STATUS nrt_execute_wait(const struct nrt_execute *execute, struct nrt_error *error);

/**
 * struct nrt_async - what belongs to an asynchronous request
 * @queue: of the unit
 * @model_handle: a reference that goes with the request once it is scheduled; or NULL
 * @tracker_handle, @tracker: likewise
 * @failed: who says why it failed
 * @ended: who is told of the end
 * @arg: of both
 */
struct nrt_async {
	int queue;
	void *model_handle;
	void *tracker_handle;
	struct nrt_tracker *tracker;
	nrt_failed_fn *failed;
	nrt_ended_fn *ended;
	void *arg;
};

/* Execute, and return when that is scheduled. */
NRT_STATUS nrt_execute_schedule(const struct nrt_execute *execute, const struct nrt_async *async,
				nrta_seq_t *seq, struct nrt_error *error);

/* Run a job without instructions that clears all semaphores of the model's cores. */
NRT_STATUS nrt_clear_semaphores(struct nrt_model *model, struct nrt_error *error);

/*
 * result.c: a hang, or an error of the hardware. @wait: of each part of the model, and of each
 * CC-core of its collectives.
 */
bool nrt_result_is_fatal(const struct nrt_model *model, const struct drm_neuron_wait_job *wait);

/* result.c: the status of an execution, with @error set when it is not NRT_SUCCESS. */
NRT_STATUS nrt_result(const struct nrt_model *model, const struct drm_neuron_wait_job *wait,
		      struct nrt_error *error);

#endif /* LIBNRT_EXEC_COMPUTE_H */
