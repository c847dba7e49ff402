/* SPDX-License-Identifier: MIT */
/*
 * Models: a NEFF that is on the device, and what each execution of it brings along.
 *
 * A model does not change once it is loaded, but for what its locks name: executions run
 * at the same time. What differs between them, the tensors, is in a binding of each.
 */
#ifndef LIBNRT_OBJECT_MODEL_H
#define LIBNRT_OBJECT_MODEL_H

#include <nrt/nrt_emu.h>

#include "base/handle.h"
#include "object/set.h"
#include "object/tensor.h"
#include "program/dma_build.h"

struct nrt_cc_model;
struct nrt_comm;
struct nrt_model;

/**
 * struct nrt_place - where a variable of a model lies
 * @bo: buffer; NULL: in no buffer (SBUF, semaphores)
 * @offset: first byte
 */
struct nrt_place {
	struct nrt_bo *bo;
	uint64_t offset;
};

/**
 * struct nrt_binding - the tensors of an execution, in the order of neff.ios
 * @next: list of those that nobody uses
 * @spans: of the tensors
 * @uses: room for the ticket of the request
 * @places: where the device finds them: their storage, or @staging
 * @staging: copies on the device of what it cannot reach; a few bindings keep them for the next
 *	execution
 * @staged: it has some @staging
 * @copies: some tensor is staged
 * @scratch: the scratchpad of the execution, when it must stay what other ranks were told; or none,
 *	and it is what the core has when the execution is submitted
 */
struct nrt_binding {
	struct nrt_binding *next;
	struct nrt_span *spans;
	struct nrt_use *uses;
	struct nrt_place *places;
	struct nrt_bo **staging;
	bool staged;
	bool copies;
	struct nrt_scratch scratch;
};

/**
 * struct nrt_part - what a model has on a physical core
 * @core: core
 * @sibling: number on the chip of the other core of the pair, or -1
 * @cc: by stream of collectives: the same of its CC-core, or -1
 * @graph: what it runs there, of the model's NEFF
 * @arena: code, rings, constants, private memory, notifications
 * @code: offset in @arena of each engine's instructions
 * @start, @queues, @nr_queues, @notify_addr, @sem_clear: what a job says
 * @notices: offset in @arena of the notifications
 * @blank: those that no job has written yet are blank (exec/notice.c); of the execution under way
 * @window: indexes of the loader's own windows, behind those of the variables
 * @view: contents of the window table: entry i is variable i, then the loader's
 * @places: by variable: where those lie that executions do not bring along
 * @grants: by variable: rights to post semaphores of peers, or -1
 * @imports: by variable: buffers of peers as ones of this device, referenced; or NULL
 * @trace: buffer that the device writes the trace of an execution to, or NULL; under the
 *	lock of the model
 * @watch: buffer for traces in which NaNs are looked for, or NULL; of the execution under way
 */
struct nrt_part {
	struct nrt_core *core;
	int sibling;
	int cc[NRT_MAX_STREAMS];
	const struct neff_graph *graph;
	struct nrt_bo *arena;
	uint64_t code[NEURON_NR_ENGINES];
	struct drm_neuron_start start[NEURON_NR_ENGINES];
	struct drm_neuron_queue *queues;
	unsigned int nr_queues;
	uint64_t notify_addr;
	uint64_t notices;
	bool blank;
	uint64_t sem_clear[NEURON_NR_SEMAPHORES / 64];
	struct {
		uint32_t code;
		uint32_t rings;
		uint32_t constants;
		uint32_t semaphores;
		uint32_t sibling;
		uint32_t notify;
	} window;
	struct nrt_view view;
	struct nrt_place *places;
	int *grants;
	struct nrt_bo **imports;
	struct nrt_bo *trace;
	struct nrt_bo *watch;
};

typedef NRT_STATUS nrt_begin_fn(struct nrt_model *model, const struct nrt_binding *binding,
				uint32_t timeout_ms, struct nrt_error *error);

/**
 * struct nrt_group_ops - how a model works together with others
 * @begin: before an execution whose tensors are bound; waits at most @timeout_ms
 * @started: its job, or the first one of its gang, is @job
 * @ended: that has ended, @well or not
 * @failed: the execution did not begin, or did not end well: the ranks that wait for this one are
 *	told; if another rank has failed before, @error says that afterwards
 * @leave: the model goes
 */
struct nrt_group_ops {
	nrt_begin_fn *begin;
	void (*started)(struct nrt_model *model, uint64_t job);
	void (*ended)(struct nrt_model *model, bool well);
	void (*failed)(struct nrt_model *model, struct nrt_error *error);
	void (*leave)(struct nrt_model *model);
};

typedef NRT_STATUS nrt_cc_begin_fn(struct nrt_model *model, const struct nrt_binding *binding,
				   struct nrt_error *error);
typedef NRT_STATUS nrt_cc_end_fn(struct nrt_model *model,
				 const struct drm_neuron_wait_job *results,
				 struct nrt_error *error);

/**
 * struct nrt_cc_ops - how a model does its collectives: by a job of a CC-core for each of its
 *	streams, in the gang of each execution
 * @begin: before an execution whose tensors are bound
 * @refuse: instead of @begin: this rank cannot execute, as @error says; the others are told, and it
 *	waits for them if they have not met yet
 * @show: with the locks of the CC-cores: fill their jobs, and what their window tables must show
 * @places: which members of a time group the jobs of the gang are, or NULL
 * @started: the gang of request @seq was submitted; its first job is @job
 * @end: it has ended, with @results of the CC-cores, or was not submitted, NULL; @error says why it
 *	failed, or that it did not, and afterwards the same in the light of the collectives
 * @leave: the model goes
 */
struct nrt_cc_ops {
	nrt_cc_begin_fn *begin;
	void (*refuse)(struct nrt_model *model, const struct nrt_error *error);
	void (*show)(struct nrt_model *model, struct drm_neuron_job *args,
		     struct nrt_view **views);
	const struct nrt_time_place *(*places)(struct nrt_model *model);
	void (*started)(struct nrt_model *model, uint64_t job, uint64_t seq);
	nrt_cc_end_fn *end;
	void (*leave)(struct nrt_model *model);
};

/**
 * struct nrt_model - a loaded model
 * @machine: whose core it is on
 * @vcore: virtual core
 * @neff: tables; the archive is dropped after the load
 * @parts, @nr_parts: what it has on each physical core of @vcore
 * @id: for those who watch: counts the models of the process
 * @stats: its row in the statistics page, or NULL: none was free, or @counted is false
 * @counted: it is in the statistics page
 * @group: NULL: it works alone; else @comm, @rank and what follows are its members
 * @comm: the group
 * @rank: in it
 * @cc, @cc_ops: NULL: it has no collectives; else they are of rank @rank
 * @ranks: the same pointer for all models with collectives of the process, whose executions wait
 *	for each other; or NULL
 * @cc_cores: those that do them
 * @lock: protects what follows
 * @bindings: that nobody uses, the oldest first
 * @has_last, @last: execution that ended last
 * @last_ns: when it ended, CLOCK_MONOTONIC; 0: there was none
 * @last_error: what was wrong with the execution that ended last: why it has failed, and in the
 *	next line the first error that the checks have found; or no text
 * @trace_bytes: of the traces of its parts, which all of them have or none
 * @traced: executions under way that may write to the traces
 * @untraced: @traced became 0
 * @watch_events: records that the watches of its parts should have room for, when more than usual
 */
struct nrt_model {
	struct nrt_machine *machine;
	struct nrt_vcore *vcore;
	struct neff *neff;
	struct nrt_part parts[NRT_MAX_LNC];
	unsigned int nr_parts;
	uint32_t id;
	struct nrt_emu_stats_model *stats;
	bool counted;
	const struct nrt_group_ops *group;
	struct nrt_comm *comm;
	uint32_t rank;
	struct nrt_cc_model *cc;
	const struct nrt_cc_ops *cc_ops;
	const void *ranks;
	struct nrt_cc_cores cc_cores;
	pthread_mutex_t lock;
	struct nrt_binding *bindings;
	bool has_last;
	nrt_emu_execution_t last;
	uint64_t last_ns;
	char last_error[2 * NRT_ERROR_TEXT];
	uint64_t trace_bytes;
	unsigned int traced;
	pthread_cond_t untraced;
	uint64_t watch_events;
};

/* The steps of a load, in the order in which they come. */
enum nrt_load_step {
	NRT_LOAD_NEFF,		/* unpack and check */
	NRT_LOAD_SCRATCH,	/* the shared scratchpad */
	NRT_LOAD_RINGS,		/* build descriptors */
	NRT_LOAD_MEMORY,	/* allocate */
	NRT_LOAD_CODE,		/* write instructions and descriptors */
	NRT_LOAD_DATA,		/* write constants */
	NRT_NR_LOAD_STEPS,
};

/**
 * struct nrt_load_times - how long a load took
 * @last_ns: when the step before ended, CLOCK_MONOTONIC
 * @ns: by step, of all parts together
 */
struct nrt_load_times {
	uint64_t last_ns;
	uint64_t ns[NRT_NR_LOAD_STEPS];
};

/* A step of a load has ended. */
void nrt_load_step(struct nrt_load_times *times, enum nrt_load_step step);

/**
 * struct nrt_load - what a load may do
 * @bytes, @size: NEFF
 * @vnc: core
 * @validate_hash: look at the hash of the NEFF
 * @peers: it may work with peers
 * @times: out: how long it took
 * @failed, @arg: who is told of a failure behind the NEFF, as long as the model is there; or NULL
 */
struct nrt_load {
	const void *bytes;
	size_t size;
	int32_t vnc;
	bool validate_hash;
	bool peers;
	struct nrt_load_times *times;
	void (*failed)(void *arg, const struct nrt_model *model, const struct nrt_error *why);
	void *arg;
};

/* Load a NEFF onto a core; nrt_model_release() is the inverse. */
NRT_STATUS nrt_model_load(struct nrt_machine *machine, const struct nrt_load *load,
			  struct nrt_model **model, struct nrt_error *error);
void nrt_model_release(struct nrt_model *model);

/* It has its id now: the statistics page may have it. */
void nrt_model_count(struct nrt_model *model);

/* model_build.c: fill a part from its graph. */
NRT_STATUS nrt_part_build(struct nrt_part *part, struct nrt_load_times *times,
			  struct nrt_error *error);

/*
 * bind.c: the tensors of an execution. They are checked and held, but no byte is copied
 * until nrt_bind_inputs(); nrt_bind_outputs() copies back what the device could not write
 * to. A binding is given back by nrt_unbind().
 */
NRT_STATUS nrt_bind(struct nrt_model *model, struct nrt_handles *handles,
		    struct nrt_set *inputs, struct nrt_set *outputs,
		    struct nrt_binding **binding, struct nrt_error *error);
NRT_STATUS nrt_bind_inputs(struct nrt_model *model, struct nrt_binding *binding,
			   struct nrt_error *error);
NRT_STATUS nrt_bind_outputs(struct nrt_model *model, struct nrt_binding *binding,
			    struct nrt_error *error);
void nrt_unbind(struct nrt_model *model, struct nrt_binding *binding);

/* The model goes, and nobody uses a binding: free them all. */
void nrt_bindings_free(struct nrt_model *model);

/* The request with @ticket uses the tensors. */
void nrt_binding_use(const struct nrt_model *model, struct nrt_binding *binding,
		     struct nrt_ticket *ticket);

/* The execution of @binding has the scratchpad that the core has now, whatever becomes of that. */
NRT_STATUS nrt_bind_scratch(const struct nrt_model *model, struct nrt_binding *binding,
			    struct nrt_error *error);

/* The views of the parts show @binding. With nrt_vcore_lock(). */
void nrt_bind_view(struct nrt_model *model, const struct nrt_binding *binding);

#endif /* LIBNRT_OBJECT_MODEL_H */
