// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "comm/cc_times.h"
#include "comm/collective.h"
#include "plan/type.h"

/**
 * struct nrt_collective - a collective: prepared, then perhaps a request
 * @request: base
 * @refs: see nrt_collective_hold()
 * @world: of its core, with a reference
 * @ranks, @nr_ranks, @me: the group
 * @group: once it has started
 * @spans: @nr inputs, then as many outputs
 * @uses: for the ticket
 * @runs, @jobs: of each tensor; the first @begun jobs have begun
 * @handles: to give back what @async has
 * @async: what was given along
 * @ended: what is told of the end
 * @event: from its start to its end
 */
struct nrt_collective {
	struct nrt_request request;
	atomic_uint refs;
	struct nrt_world *world;
	uint32_t *ranks;
	uint32_t nr_ranks;
	uint32_t me;
	struct nrt_cc_group *group;
	size_t nr;
	struct nrt_span *spans;
	struct nrt_use *uses;
	struct nrt_cc_run *runs;
	struct nrt_cc_job *jobs;
	size_t begun;
	struct nrt_handles *handles;
	struct nrt_async async;
	struct nrt_ended *ended;
	struct nrt_event event;
};

/* --- Checks --- */

static NRT_STATUS check_op(const struct nrt_collective_of *what, struct nrt_cc_run *run,
			   struct nrt_error *error)
{
	static const enum nrt_plan_op ops[] = {
		[NRT_CC_ALLGATHER] = NRT_PLAN_ALL_GATHER,
		[NRT_CC_ALLREDUCE] = NRT_PLAN_ALL_REDUCE,
		[NRT_CC_REDUCESCATTER] = NRT_PLAN_REDUCE_SCATTER,
	};

	if ((unsigned int)what->cc_op >= sizeof(ops) / sizeof(ops[0]))
		return nrt_error_set(error, NRT_INVALID, "collective %d is unknown",
				     (int)what->cc_op);
	run->op = ops[what->cc_op];
	run->dtype = (uint8_t)what->dtype;
	if (run->op == NRT_PLAN_ALL_GATHER)
		return NRT_SUCCESS;
	switch (what->op) {
	case NRT_OP_ADD:
		run->reduce = NRT_PLAN_ADD;
		return NRT_SUCCESS;
	case NRT_OP_MAX:
		run->reduce = NRT_PLAN_MAX;
		return NRT_SUCCESS;
	case NRT_OP_MIN:
		run->reduce = NRT_PLAN_MIN;
		return NRT_SUCCESS;
	default:
		return nrt_error_set(error, NRT_INVALID,
				     "operation %d does not reduce; use NRT_OP_ADD, _MAX or _MIN",
				     (int)what->op);
	}
}

static NRT_STATUS check_comm(const struct nrt_world *world, const nrt_cc_comm_t *comm,
			     struct nrt_error *error)
{
	uint64_t seen[NRT_PLAN_MAX_RANKS / 64] = { 0 };
	uint32_t i, rank;

	if (comm->ctx_device_id != world->rank || comm->ctx_device_count != world->count)
		return nrt_error_set(error, NRT_INVALID,
				     "core %u is rank %u of %u, not %u of %u", comm->vnc,
				     world->rank, world->count, comm->ctx_device_id,
				     comm->ctx_device_count);
	if (!comm->rank_n || comm->rank_n > world->count || comm->rank >= comm->rank_n ||
	    !comm->replica_group)
		return nrt_error_set(error, NRT_INVALID, "rank %u of a group of %u ranks",
				     comm->rank, comm->rank_n);
	for (i = 0; i < comm->rank_n; i++) {
		rank = comm->replica_group[i];
		if (rank >= world->count || seen[rank / 64] >> (rank % 64) & 1)
			return nrt_error_set(error, NRT_INVALID,
					     "rank %u of the group is %u, which is %s", i, rank,
					     rank < world->count ? "there twice" : "no rank");
		seen[rank / 64] |= 1ull << (rank % 64);
	}
	if (comm->replica_group[comm->rank] != world->rank)
		return nrt_error_set(error, NRT_INVALID,
				     "rank %u of the group is %u, not this one, which is %u",
				     comm->rank, comm->replica_group[comm->rank], world->rank);
	return NRT_SUCCESS;
}

/* Is a rank of the group on another chip than this one? */
static bool has_far_ranks(const struct nrt_collective *collective)
{
	const struct nrt_world *world = collective->world;
	const struct nrt_plan_place *mine = &world->places[world->rank], *place;
	uint32_t i;

	for (i = 0; i < collective->nr_ranks; i++) {
		place = &world->places[collective->ranks[i]];
		if (place->server != mine->server || place->chip != mine->chip)
			return true;
	}
	return false;
}

/* Where the device finds it. Ranks on other chips reach no memory of the host. */
static NRT_STATUS check_span(const struct nrt_collective *collective, const struct nrt_span *span,
			     struct nrt_cc_bytes *bytes, struct nrt_error *error)
{
	const struct nrt_world *world = collective->world;
	const struct nrt_storage *storage = span->storage;

	if (!storage || !span->size)
		return nrt_error_set(error, NRT_INVALID, "a tensor has no bytes");
	if (!storage->bo || storage->bo->device != world->vcore->device)
		return nrt_error_set(error, NRT_INVALID,
				     "a tensor is not in memory of the chip of core %u; use NRT_TENSOR_PLACEMENT_DEVICE",
				     world->vcore->number);
	if (storage->bo->placement != DRM_NEURON_BO_HBM && has_far_ranks(collective))
		return nrt_error_set(error, NRT_INVALID,
				     "a tensor is in memory of the host, which ranks on other chips do not reach; use NRT_TENSOR_PLACEMENT_DEVICE");
	*bytes = (struct nrt_cc_bytes){ storage->bo, span->offset, span->size };
	return NRT_SUCCESS;
}

/* Are input and output the same memory, as far as the operation allows? */
static NRT_STATUS check_overlap(const struct nrt_collective *collective, struct nrt_cc_run *run,
				uint64_t block, struct nrt_error *error)
{
	const struct nrt_cc_bytes *in = &run->input, *out = &run->output;
	uint64_t mine = collective->me * block;

	if (in->bo != out->bo || in->offset + in->length <= out->offset ||
	    out->offset + out->length <= in->offset)
		return NRT_SUCCESS;
	run->in_place = run->op == NRT_PLAN_ALL_GATHER ? in->offset == out->offset + mine :
			run->op == NRT_PLAN_REDUCE_SCATTER ? out->offset == in->offset + mine :
							     in->offset == out->offset;
	if (run->in_place)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "input and output overlap; they may be the same memory, or, of all-gather and reduce-scatter, one is block %u of the other",
			     collective->me);
}

/* A window begins at a multiple of 4. In place there is one, of the larger tensor. */
static NRT_STATUS check_alignment(const struct nrt_cc_run *run, struct nrt_error *error)
{
	bool needs_in = !run->in_place || run->op == NRT_PLAN_REDUCE_SCATTER;
	bool needs_out = !run->in_place || run->op != NRT_PLAN_REDUCE_SCATTER;
	uint64_t in = needs_in ? run->input.offset : 0;
	uint64_t out = needs_out ? run->output.offset : 0;

	if (in % 4 == 0 && out % 4 == 0)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "an %s begins at byte %llu of its storage, which is no multiple of 4",
			     in % 4 ? "input" : "output",
			     (unsigned long long)(in % 4 ? in : out));
}

static NRT_STATUS check_sizes(const struct nrt_collective *collective, struct nrt_cc_run *run,
			      struct nrt_error *error)
{
	unsigned int element = nrt_plan_type_size(run->dtype);
	uint64_t in = 1, out = 1, block;

	if (run->op == NRT_PLAN_ALL_GATHER)
		out = collective->nr_ranks;
	if (run->op == NRT_PLAN_REDUCE_SCATTER)
		in = collective->nr_ranks;
	block = run->input.length / in;
	if (!element || block % element || run->input.length != block * in ||
	    run->output.length != block * out)
		return nrt_error_set(error, NRT_INVALID,
				     "%s of %u ranks: an input of %llu bytes, an output of %llu bytes and elements of %u bytes do not fit together",
				     nrt_plan_op_name(run->op), collective->nr_ranks,
				     (unsigned long long)run->input.length,
				     (unsigned long long)run->output.length, element);
	run->count = block / element;
	if (check_overlap(collective, run, block, error))
		return error->status;
	return check_alignment(run, error);
}

static NRT_STATUS check_tensors(struct nrt_collective *collective, const struct nrt_cc_run *common,
				struct nrt_error *error)
{
	struct nrt_cc_run *run;
	size_t i;

	for (i = 0; i < collective->nr; i++) {
		run = &collective->runs[i];
		*run = *common;
		if (check_span(collective, &collective->spans[i], &run->input, error) ||
		    check_span(collective, &collective->spans[collective->nr + i],
			       &run->output, error) ||
		    check_sizes(collective, run, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

/* --- Objects --- */

/* Its spans are the caller's. */
static void collective_free(struct nrt_collective *collective)
{
	nrt_world_put(collective->world);
	free(collective->ranks);
	free(collective->spans);
	free(collective->uses);
	free(collective->runs);
	free(collective->jobs);
	free(collective->ended);
	free(collective);
}

void nrt_collective_hold(struct nrt_collective *collective)
{
	atomic_fetch_add(&collective->refs, 1);
}

void nrt_collective_free(struct nrt_collective *collective)
{
	size_t i;

	if (atomic_fetch_sub(&collective->refs, 1) > 1)
		return;
	for (i = 0; i < 2 * collective->nr; i++)
		nrt_span_put(&collective->spans[i]);
	collective_free(collective);
}

uint32_t nrt_collective_core(const struct nrt_collective *collective)
{
	return collective->world->vcore->vnc;
}

static struct nrt_collective *allocate(struct nrt_world *world, size_t nr, uint32_t nr_ranks)
{
	struct nrt_collective *collective = calloc(1, sizeof(*collective));

	if (!collective) {
		nrt_world_put(world);
		return NULL;
	}
	atomic_init(&collective->refs, 1);
	collective->world = world;
	collective->nr = nr;
	collective->nr_ranks = nr_ranks;
	collective->ranks = calloc(nr_ranks, sizeof(*collective->ranks));
	collective->spans = calloc(2 * nr, sizeof(*collective->spans));
	collective->uses = calloc(2 * nr, sizeof(*collective->uses));
	collective->runs = calloc(nr, sizeof(*collective->runs));
	collective->jobs = calloc(nr, sizeof(*collective->jobs));
	if (collective->ranks && collective->spans && collective->uses && collective->runs &&
	    collective->jobs)
		return collective;
	collective_free(collective);
	return NULL;
}

static NRT_STATUS fill(struct nrt_collective *collective, const struct nrt_collective_of *what,
		       const struct nrt_cc_run *common, struct nrt_error *error)
{
	const nrt_cc_comm_t *comm = what->comm;
	size_t bytes = what->nr * sizeof(struct nrt_span);

	collective->me = comm->rank;
	memcpy(collective->ranks, comm->replica_group, comm->rank_n * sizeof(*comm->replica_group));
	memcpy(collective->spans, what->inputs, bytes);
	memcpy(collective->spans + what->nr, what->outputs, bytes);
	return check_tensors(collective, common, error);
}

NRT_STATUS nrt_collective_new(const struct nrt_collective_of *what, struct nrt_collective **out,
			      struct nrt_error *error)
{
	struct nrt_world *world = nrt_world_get(what->worlds, what->comm->vnc);
	struct nrt_collective *collective;
	struct nrt_cc_run common = { 0 };

	if (!world)
		return nrt_error_set(error, NRT_INVALID,
				     "core %u is no rank yet; call nrt_cc_global_comm_init() first",
				     what->comm->vnc);
	if (nrt_world_check(world, error) || check_op(what, &common, error) ||
	    check_comm(world, what->comm, error)) {
		nrt_world_put(world);
		return error->status;
	}
	collective = allocate(world, what->nr, what->comm->rank_n);
	if (!collective)
		return nrt_error_memory(error);
	if (fill(collective, what, &common, error)) {
		collective_free(collective);
		return error->status;
	}
	*out = collective;
	return NRT_SUCCESS;
}

/* --- Steps --- */

static struct nrt_collective *collective_of(struct nrt_request *request)
{
	return (struct nrt_collective *)request;
}

static NRT_STATUS end_jobs(struct nrt_collective *collective, NRT_STATUS status,
			   struct nrt_error *error)
{
	struct nrt_error later;
	size_t i;

	for (i = 0; i < collective->begun; i++)
		if (nrt_cc_end(collective->group, &collective->jobs[i], status ? &later : error))
			status = error->status;
	collective->begun = 0;
	return status;
}

/* Somebody may ask for the times of the request, which has begun another job. */
static void keep_times(const struct nrt_collective *collective)
{
	const struct nrt_cc_job *job = &collective->jobs[collective->begun];
	const struct nrt_world *world = collective->world;

	if (job->timed)
		nrt_cc_times_add(world->worlds->times, world->vcore->vnc, (struct nrt_cc_timed){
			.seq = collective->request.seq,
			.first = !collective->begun,
			.core = job->running.cc,
			.job = job->running.job,
		});
}

static NRT_STATUS start(struct nrt_request *request)
{
	struct nrt_collective *collective = collective_of(request);
	struct nrt_error *error = &request->error;

	nrt_event_begin(&collective->event, NRT_EVENT_CC_RUNNING);
	if (collective->event.begin_ns)
		collective->event.core = (int32_t)collective->world->vcore->vnc;
	collective->group = nrt_cc_group_find(collective->world, collective->ranks,
					      collective->nr_ranks, collective->me, error);
	if (!collective->group)
		return error->status;
	while (collective->begun < collective->nr) {
		if (nrt_cc_begin(collective->group, &collective->runs[collective->begun],
				 &collective->jobs[collective->begun], error))
			return end_jobs(collective, error->status, error);
		keep_times(collective);
		collective->begun++;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS finish(struct nrt_request *request)
{
	struct nrt_collective *collective = collective_of(request);

	return end_jobs(collective, NRT_SUCCESS, &request->error);
}

static void failed(struct nrt_request *request)
{
	const struct nrt_async *async = &collective_of(request)->async;

	async->failed(async->arg, request->seq, &request->error);
}

static void done(struct nrt_request *request)
{
	struct nrt_collective *collective = collective_of(request);
	struct nrt_async async = collective->async;
	struct nrt_ended *ended = collective->ended;
	size_t i;

	nrt_event_end(&collective->event, request->error.status);
	*ended = (struct nrt_ended){
		.core = collective->world->vcore->vnc,
		.seq = request->seq,
		.error = request->error,
	};
	for (i = 0; !request->error.status && i < collective->nr; i++)
		nrt_storage_complete(collective->spans[collective->nr + i].storage);
	if (async.tracker_handle)
		nrt_handle_put(collective->handles, async.tracker_handle);
	collective->ended = NULL;
	nrt_collective_free(collective);
	async.ended(async.arg, ended);
}

static const struct nrt_request_ops collective_ops = {
	.start = start,
	.finish = finish,
	.failed = failed,
	.done = done,
};

NRT_STATUS nrt_collective_schedule(struct nrt_collective *collective, struct nrt_unit *unit,
				   struct nrt_handles *handles, const struct nrt_async *async,
				   nrta_seq_t *seq, struct nrt_error *error)
{
	struct nrt_request *request = &collective->request;
	size_t i;

	if (!collective->ended)
		collective->ended = malloc(sizeof(*collective->ended));
	if (!collective->ended)
		return nrt_error_memory(error);
	collective->handles = handles;
	collective->async = *async;
	request->ops = &collective_ops;
	request->tracker = async->tracker;
	request->ticket = (struct nrt_ticket){ .uses = collective->uses };
	for (i = 0; i < 2 * collective->nr; i++)
		nrt_span_use(&collective->spans[i], 0, collective->spans[i].size,
			     i >= collective->nr, &request->ticket);
	return nrt_unit_schedule(unit, request, seq, error);
}
