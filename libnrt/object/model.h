/* SPDX-License-Identifier: MIT */
/*
 * Loaded models: what is on the device, and running it.
 */
#ifndef LIBNRT_MODEL_H
#define LIBNRT_MODEL_H

#include <nrt/nrt_emu.h>

#include "comm/comm.h"
#include "program/dma_build.h"
#include "object/state.h"

/**
 * struct nrt_place - where a variable of a model lies
 * @bo: buffer; NULL: in no buffer (SBUF, semaphores) or not bound yet
 * @offset: first byte
 */
struct nrt_place {
	struct nrt_bo *bo;
	uint64_t offset;
};

/**
 * struct nrt_model - a loaded model
 * @next: list of the process
 * @core: core that the model runs on
 * @neff: tables; the archive is dropped after the load
 * @lock: held during an execution, so that there is one at a time; protects what it changes
 * @arena: code, rings, constants, private memory, notifications
 * @code: offset in @arena of each engine's instructions
 * @start, @queues, @nr_queues, @notify_addr: what a job says about the model
 * @window: indexes of the loader's own windows, behind those of the variables
 * @windows, @nr_windows: contents of the window table when the model runs: entry i is
 *	variable i, then the loader's; also under nrt_core.lock
 * @changes: room for those of them that a submission brings along
 * @sem_clear: semaphores that an execution clears
 * @places: by variable
 * @staging: by variable: device copies of I/O tensors that cannot be shown; or NULL
 * @grants: by variable: rights to post semaphores of peers, or -1
 * @imports: by variable: buffers of peers as ones of this device, referenced; or NULL
 * @comm: group of ranks, or NULL
 * @rank: in @comm
 * @has_last, @last: execution that ended last
 * @trace, @trace_bytes: buffer that the device writes the trace of an execution to, or NULL
 */
struct nrt_model {
	struct nrt_model *next;
	struct nrt_core *core;
	struct neff *neff;
	pthread_mutex_t lock;
	struct nrt_bo *arena;
	uint64_t code[NEURON_NR_ENGINES];
	struct drm_neuron_start start[NEURON_NR_ENGINES];
	struct drm_neuron_queue *queues;
	unsigned int nr_queues;
	uint64_t notify_addr;
	struct {
		uint32_t code;
		uint32_t rings;
		uint32_t constants;
		uint32_t semaphores;
		uint32_t notify;
	} window;
	struct nrt_window *windows;
	struct drm_neuron_window *changes;
	size_t nr_windows;
	uint64_t sem_clear[NEURON_NR_SEMAPHORES / 64];
	struct nrt_place *places;
	struct nrt_bo **staging;
	int *grants;
	struct nrt_bo **imports;
	struct nrt_comm *comm;
	uint32_t rank;
	bool has_last;
	nrt_emu_execution_t last;
	struct nrt_bo *trace;
	uint64_t trace_bytes;
};

/* --- model_load.c: nrt_load() and its inverse --- */

/* All models and groups; at nrt_close(). */
void nrt_models_free_all(struct nrt_state *state);

/* What a call of the API does with a loaded model; @error says why it returns a failure. */
typedef NRT_STATUS nrt_model_fn(struct nrt_state *state, struct nrt_model *model, void *arg,
				struct nrt_error *error);

/*
 * The API call @call about @model: enter the library, look the model up, run @fn with @arg,
 * leave, and log the error. The second one holds the model's lock meanwhile, so it waits
 * for an execution under way.
 */
NRT_STATUS nrt_model_call(const char *call, const nrt_model_t *model, nrt_model_fn *fn, void *arg);
NRT_STATUS nrt_model_call_locked(const char *call, const nrt_model_t *model, nrt_model_fn *fn,
				 void *arg);

/* --- model_build.c: from a NEFF to buffers, windows and a job --- */

/* Fill @model from its neff and core; nrt_model_destroy() cleans up in any case. */
NRT_STATUS nrt_model_build(struct nrt_model *model, struct nrt_error *error);

/* --- window.c: window tables --- */

/* Fill entry @i of @model's table; true when it changed. */
bool nrt_window_set(struct nrt_model *model, size_t i, const struct drm_neuron_window *entry,
		    struct nrt_bo *bo);

/* Entry @i shows @length bytes of a buffer; true when it changed. */
bool nrt_window_show(struct nrt_model *model, size_t i, uint32_t index, uint32_t rights,
		     const struct nrt_place *place, uint64_t length);

/*
 * What makes the core's table show @model with its variables where they are now: the
 * @changes that the next submission is to bring along, none when that is so already.
 * With the core's lock. After a submission that failed: nrt_windows_unknown().
 */
NRT_STATUS nrt_windows_update(struct nrt_model *model, struct drm_neuron_array *changes,
			      struct nrt_error *error);

/* The table may not be what the model believes: all of it is written next time. */
void nrt_windows_unknown(struct nrt_core *core);

/* The core shows nothing of @model any more. */
void nrt_windows_drop(struct nrt_model *model);

/* No core shows @bo any more. */
void nrt_bo_forget(struct nrt_state *state, struct nrt_bo *bo);

/* --- bind.c: the tensors of an execution --- */

/* Check the tensors, copy staged inputs, note where all of them are. */
NRT_STATUS nrt_bind(struct nrt_model *model, const nrt_tensor_set_t *inputs,
		    const nrt_tensor_set_t *outputs, struct nrt_error *error);

/* Copy staged outputs back. */
NRT_STATUS nrt_bind_finish(struct nrt_model *model, const nrt_tensor_set_t *outputs,
			   struct nrt_error *error);

/* --- exec.c --- */

/* Run a job without instructions that clears all semaphores of the model's core. */
NRT_STATUS nrt_clear_semaphores(struct nrt_model *model, struct nrt_error *error);

/* --- trace.c: what the device did --- */

/* A job of @model is traced if its executions are to be. With the model's lock. */
void nrt_trace_ask(const struct nrt_model *model, struct drm_neuron_job *args);

/* --- result.c: why an execution failed --- */

/* The status of a job, with @error set when it is not NRT_SUCCESS. */
NRT_STATUS nrt_result(struct nrt_model *model, const struct drm_neuron_wait_job *wait,
		      struct nrt_error *error);

#endif /* LIBNRT_MODEL_H */
