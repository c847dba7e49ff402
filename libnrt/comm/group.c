// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/event.h"
#include "comm/group.h"
#include "exec/compute.h"
#include "hw/cc.h"

#define MAX_RANKS		4096

/**
 * struct member - a rank
 * @model: NULL before it is loaded and after it is unloaded
 * @taken: it was loaded once
 * @here: waits in the current meeting
 * @epoch: of the group when the rank last began in step
 * @turn: executions since then
 * @running: its job @job runs
 * @told: another rank has failed, and this one with it, which does not know it yet
 * @inputs: where its tensors are, in the order of neff.ios; for this execution and the last one,
 *	which a peer may still be looking at; buffers are referenced
 */
struct member {
	struct nrt_model *model;
	bool taken;
	bool here;
	uint64_t epoch;
	unsigned int turn;
	bool running;
	bool told;
	uint64_t job;
	struct nrt_place *inputs[2];
};

/**
 * struct nrt_comm - a group
 * @groups: of the process
 * @next: list of @groups; with @nr_members under its lock
 * @count: ranks
 * @nr_members: models in it
 * @lock: protects the rest; taken after that of @groups
 * @closing: nobody meets any more
 * @all_here: a meeting is over, or @closing
 * @arrived: ranks in the current meeting
 * @meetings: that are over
 * @epoch: changes with each failure; 1 at first
 * @met_epoch: @epoch when the last meeting was over
 * @why: why a rank failed last
 * @members: @count of them
 */
struct nrt_comm {
	struct nrt_groups *groups;
	struct nrt_comm *next;
	uint32_t count;
	uint32_t nr_members;
	pthread_mutex_t lock;
	bool closing;
	pthread_cond_t all_here;
	uint32_t arrived;
	uint64_t meetings;
	uint64_t epoch;
	uint64_t met_epoch;
	struct nrt_error why;
	struct member *members;
};

static struct nrt_comm *comm_new(uint32_t count)
{
	struct nrt_comm *comm = calloc(1, sizeof(*comm));
	pthread_condattr_t attr;

	if (!comm)
		return NULL;
	comm->members = calloc(count, sizeof(*comm->members));
	if (!comm->members) {
		free(comm);
		return NULL;
	}
	comm->count = count;
	comm->epoch = 1;
	pthread_mutex_init(&comm->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&comm->all_here, &attr);
	pthread_condattr_destroy(&attr);
	return comm;
}

static void comm_free(struct nrt_comm *comm)
{
	pthread_cond_destroy(&comm->all_here);
	pthread_mutex_destroy(&comm->lock);
	free(comm->members);
	free(comm);
}

void nrt_groups_init(struct nrt_groups *groups)
{
	pthread_mutex_init(&groups->lock, NULL);
	groups->first = NULL;
	groups->closing = false;
}

void nrt_groups_fini(struct nrt_groups *groups)
{
	pthread_mutex_destroy(&groups->lock);
}

void nrt_groups_cancel(struct nrt_groups *groups)
{
	struct nrt_comm *comm;

	pthread_mutex_lock(&groups->lock);
	groups->closing = true;
	for (comm = groups->first; comm; comm = comm->next) {
		pthread_mutex_lock(&comm->lock);
		comm->closing = true;
		pthread_cond_broadcast(&comm->all_here);
		pthread_mutex_unlock(&comm->lock);
	}
	pthread_mutex_unlock(&groups->lock);
}

static void drop_inputs(struct member *member, unsigned int slot, size_t nr_ios)
{
	size_t i;

	for (i = 0; member->inputs[slot] && i < nr_ios; i++)
		nrt_bo_put(member->inputs[slot][i].bo);
	free(member->inputs[slot]);
	member->inputs[slot] = NULL;
}

static void leave(struct nrt_model *model)
{
	struct nrt_comm *comm = model->comm;
	struct nrt_groups *groups = comm->groups;
	struct member *member = &comm->members[model->rank];
	struct nrt_comm **link = &groups->first;

	pthread_mutex_lock(&groups->lock);
	pthread_mutex_lock(&comm->lock);
	drop_inputs(member, 0, model->neff->nr_ios);
	drop_inputs(member, 1, model->neff->nr_ios);
	member->model = NULL;
	pthread_mutex_unlock(&comm->lock);
	/* The group dies with its last member. */
	if (!--comm->nr_members) {
		while (*link != comm)
			link = &(*link)->next;
		*link = comm->next;
		comm_free(comm);
	}
	pthread_mutex_unlock(&groups->lock);
	model->comm = NULL;
}

static NRT_STATUS explain_absence(const struct nrt_comm *comm, uint32_t rank,
				  uint32_t timeout_ms, struct nrt_error *error)
{
	const struct member *absent = comm->members;

	while (absent->here)
		absent++;
	return nrt_error_set(error, NRT_TIMEOUT,
			     "rank %u of %u waited %g s for rank %u, which %s; all ranks must be loaded in this process and executed by threads of their own",
			     rank, comm->count, timeout_ms / 1000.0,
			     (unsigned int)(absent - comm->members),
			     absent->model ? "was not executed" :
			     absent->taken ? "was unloaded" : "is not loaded");
}

/* The rank does not wait any more in the current meeting. */
static void go_away(struct nrt_comm *comm, uint32_t rank)
{
	comm->arrived--;
	comm->members[rank].here = false;
}

/* Wait for all ranks. With the lock, which is given up meanwhile. */
static NRT_STATUS meet(struct nrt_comm *comm, uint32_t rank, uint32_t timeout_ms,
		       struct nrt_error *error)
{
	uint64_t meeting = comm->meetings;
	struct timespec until = nrt_clock_after(timeout_ms);
	uint32_t i;
	int ret = 0;

	comm->members[rank].here = true;
	if (++comm->arrived == comm->count) {
		comm->arrived = 0;
		comm->meetings++;
		comm->met_epoch = comm->epoch;
		for (i = 0; i < comm->count; i++)
			comm->members[i].here = false;
		pthread_cond_broadcast(&comm->all_here);
		return NRT_SUCCESS;
	}
	while (meeting == comm->meetings && ret != ETIMEDOUT && !comm->closing &&
	       !comm->members[rank].told)
		ret = pthread_cond_timedwait(&comm->all_here, &comm->lock, &until);
	if (meeting != comm->meetings)
		return NRT_SUCCESS;
	if (comm->members[rank].told) {
		*error = comm->why;
		return error->status;
	}
	if (comm->closing)
		nrt_error_set(error, NRT_CLOSED, "nrt_close() ended the wait for other ranks");
	else
		explain_absence(comm, rank, timeout_ms, error);
	go_away(comm, rank);
	return error->status;
}

static uint32_t peer_rank(const struct nrt_model *model, const struct neff_var *var)
{
	return (uint32_t)(((uint64_t)model->rank + var->peer_offset) % model->comm->count);
}

/* The variable of the peer's part that @var of @part shows. */
static NRT_STATUS find_remote(const struct nrt_model *model, const struct nrt_part *part,
			      const struct neff_var *var, const struct nrt_model *peer,
			      size_t *index, struct nrt_error *error)
{
	const struct neff_graph *remote = peer->parts[part - model->parts].graph;
	const struct neff_var *ref = &part->graph->vars[var->ref];
	size_t i;

	for (i = 0; i < remote->nr_vars; i++) {
		if (remote->vars[i].var_id != ref->var_id)
			continue;
		if (remote->vars[i].type != ref->type || remote->vars[i].size != ref->size)
			break;
		*index = i;
		return NRT_SUCCESS;
	}
	return nrt_error_set(error, NRT_INVALID,
			     "variable \"%s\" of rank %u: rank %u has no variable %u of that type and of %llu bytes",
			     var->name, model->rank, peer->rank, ref->var_id,
			     (unsigned long long)ref->size);
}

static NRT_STATUS import_place(struct nrt_part *part, size_t i, const struct nrt_place *place,
			       struct nrt_error *error)
{
	struct nrt_bo *bo;

	if (nrt_bo_import(part->core->device, place->bo, &bo, error))
		return error->status;
	nrt_bo_put(part->imports[i]);
	part->imports[i] = bo;
	part->places[i] = (struct nrt_place){ bo, place->offset };
	return NRT_SUCCESS;
}

static NRT_STATUS get_grant(struct nrt_model *model, struct nrt_part *part, size_t i,
			    const struct nrt_model *peer, struct nrt_error *error)
{
	const struct nrt_core *core = peer->parts[part - model->parts].core;
	const struct neff_var *var = &part->graph->vars[i];
	struct drm_neuron_grant grant = {
		.claim = core->device->claim,
		.core = core->index,
		.first = var->first,
		.count = var->count,
	};
	int ret;

	if (part->grants[i] >= 0)
		return NRT_SUCCESS;
	ret = core->device->backend->grant(core->device->chip, &grant);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret),
				     "core %u: cannot grant semaphores to rank %u: %s",
				     peer->vcore->number, model->rank, strerror(-ret));
	part->grants[i] = grant.fd;
	return NRT_SUCCESS;
}

static bool shows_input(const struct neff_graph *graph, const struct neff_var *var)
{
	return var->type == NEFF_VAR_PEER && graph->vars[var->ref].type == NEFF_VAR_INPUT;
}

/* What does not change from one execution to the next. With the lock, all members there. */
static NRT_STATUS resolve_var(struct nrt_model *model, struct nrt_part *part, size_t i,
			      struct nrt_error *error)
{
	const struct neff_var *var = &part->graph->vars[i];
	const struct nrt_model *peer;
	size_t remote;

	if (var->type != NEFF_VAR_PEER && var->type != NEFF_VAR_PEER_SEM)
		return NRT_SUCCESS;
	peer = model->comm->members[peer_rank(model, var)].model;
	if (!peer)
		return nrt_error_set(error, NRT_INVALID, "rank %u was unloaded",
				     peer_rank(model, var));
	if (var->type == NEFF_VAR_PEER_SEM)
		return get_grant(model, part, i, peer, error);
	if (find_remote(model, part, var, peer, &remote, error))
		return error->status;
	if (shows_input(part->graph, var))
		return NRT_SUCCESS;
	return import_place(part, i, &peer->parts[part - model->parts].places[remote], error);
}

static bool posts_to(const struct nrt_model *from, const struct neff_var *var, uint32_t rank)
{
	return var->type == NEFF_VAR_PEER_SEM && peer_rank(from, var) == rank;
}

/* Without a list in the NEFF: part @k clears all semaphores but those that peers post to. */
static void keep_posted(struct nrt_model *model, unsigned int k)
{
	const struct nrt_comm *comm = model->comm;
	unsigned int s;
	uint32_t r;
	size_t i;

	if (model->parts[k].graph->has_sem_clear)
		return;
	for (r = 0; r < comm->count; r++) {
		const struct nrt_model *from = comm->members[r].model;

		for (i = 0; from && i < from->parts[k].graph->nr_vars; i++) {
			const struct neff_var *var = &from->parts[k].graph->vars[i];

			if (!posts_to(from, var, model->rank))
				continue;
			for (s = var->first; s < var->first + var->count; s++)
				model->parts[k].sem_clear[s / 64] &= ~(1ull << (s % 64));
		}
	}
}

static NRT_STATUS resolve(struct nrt_model *model, struct nrt_error *error)
{
	unsigned int k;
	size_t i;

	for (k = 0; k < model->nr_parts; k++) {
		for (i = 0; i < model->parts[k].graph->nr_vars; i++)
			if (resolve_var(model, &model->parts[k], i, error))
				return error->status;
		keep_posted(model, k);
	}
	return NRT_SUCCESS;
}

/* All ranks begin in step. With the lock. */
static NRT_STATUS begin_in_step(struct nrt_model *model, uint32_t timeout_ms,
				struct nrt_error *error)
{
	struct nrt_comm *comm = model->comm;
	struct member *member = &comm->members[model->rank];
	NRT_STATUS status;

	/* Nobody runs any more, or yet: now no post can come. */
	if (meet(comm, model->rank, timeout_ms, error) || resolve(model, error))
		return error->status;
	pthread_mutex_unlock(&comm->lock);
	status = nrt_clear_semaphores(model, error);
	pthread_mutex_lock(&comm->lock);
	if (status || meet(comm, model->rank, timeout_ms, error))
		return error->status;
	/* The epoch may be newer already: somebody began and failed. */
	member->epoch = comm->met_epoch;
	member->turn = 0;
	return NRT_SUCCESS;
}

static bool reads_inputs(const struct nrt_model *model)
{
	unsigned int k;
	size_t i;

	for (k = 0; k < model->nr_parts; k++) {
		const struct neff_graph *graph = model->parts[k].graph;

		for (i = 0; i < graph->nr_vars; i++)
			if (shows_input(graph, &graph->vars[i]))
				return true;
	}
	return false;
}

/* Does some rank read the input tensors of another? With the lock, all members there. */
static bool inputs_are_read(const struct nrt_comm *comm)
{
	uint32_t r;

	for (r = 0; r < comm->count; r++)
		if (comm->members[r].model && reads_inputs(comm->members[r].model))
			return true;
	return false;
}

static NRT_STATUS publish_inputs(struct nrt_model *model, const struct nrt_binding *binding,
				 struct member *member, unsigned int slot,
				 struct nrt_error *error)
{
	size_t nr = model->neff->nr_ios;
	size_t i;

	drop_inputs(member, slot, nr);
	member->inputs[slot] = calloc(nr + 1, sizeof(struct nrt_place));
	if (!member->inputs[slot])
		return nrt_error_memory(error);
	for (i = 0; i < nr; i++) {
		if (model->neff->ios[i]->type != NEFF_VAR_INPUT)
			continue;
		member->inputs[slot][i] = binding->places[i];
		nrt_bo_get(binding->places[i].bo);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS import_input(struct nrt_model *model, struct nrt_part *part, size_t i,
			       unsigned int slot, struct nrt_error *error)
{
	const struct neff_var *var = &part->graph->vars[i];
	const struct member *member = &model->comm->members[peer_rank(model, var)];
	const struct neff_graph *graph;
	size_t remote;

	if (!member->model || !member->inputs[slot])
		return nrt_error_set(error, NRT_INVALID, "rank %u was unloaded",
				     peer_rank(model, var));
	if (find_remote(model, part, var, member->model, &remote, error))
		return error->status;
	graph = member->model->parts[part - model->parts].graph;
	return import_place(part, i, &member->inputs[slot][graph->vars[remote].io], error);
}

static NRT_STATUS import_inputs(struct nrt_model *model, unsigned int slot,
				struct nrt_error *error)
{
	unsigned int k;
	size_t i;

	for (k = 0; k < model->nr_parts; k++) {
		struct nrt_part *part = &model->parts[k];

		for (i = 0; i < part->graph->nr_vars; i++)
			if (shows_input(part->graph, &part->graph->vars[i]) &&
			    import_input(model, part, i, slot, error))
				return error->status;
	}
	return NRT_SUCCESS;
}

/* Tell the others where the inputs are, and learn where theirs are. With the lock. */
static NRT_STATUS exchange_inputs(struct nrt_model *model, const struct nrt_binding *binding,
				  uint32_t timeout_ms, struct nrt_error *error)
{
	struct nrt_comm *comm = model->comm;
	struct member *member = &comm->members[model->rank];
	unsigned int slot = member->turn++ % 2;

	if (publish_inputs(model, binding, member, slot, error) ||
	    meet(comm, model->rank, timeout_ms, error))
		return error->status;
	return import_inputs(model, slot, error);
}

static NRT_STATUS begin_locked(struct nrt_model *model, const struct nrt_binding *binding,
			       uint32_t timeout_ms, struct nrt_error *error)
{
	struct nrt_comm *comm = model->comm;

	if (comm->members[model->rank].epoch != comm->epoch &&
	    begin_in_step(model, timeout_ms, error))
		return error->status;
	if (inputs_are_read(comm) && exchange_inputs(model, binding, timeout_ms, error))
		return error->status;
	return NRT_SUCCESS;
}

/* Meet as needed, and note where the variables of peers are. */
static NRT_STATUS begin(struct nrt_model *model, const struct nrt_binding *binding,
			uint32_t timeout_ms, struct nrt_error *error)
{
	struct nrt_comm *comm = model->comm;
	struct nrt_event event;
	NRT_STATUS status;

	nrt_event_begin(&event, NRT_EVENT_CC_EXEC_BARRIER);
	if (event.begin_ns) {
		event.core = (int32_t)model->vcore->vnc;
		event.model = model->id;
		snprintf(event.name, sizeof(event.name), "%.63s", model->neff->name);
	}
	pthread_mutex_lock(&comm->lock);
	status = begin_locked(model, binding, timeout_ms ? timeout_ms : NRT_TIMEOUT_MS, error);
	pthread_mutex_unlock(&comm->lock);
	nrt_event_end(&event, status);
	return status;
}

/* --- Failure --- */

/* The job of a rank that waits for one that has failed ends now. With the lock. */
static void cancel(struct member *member)
{
	member->told = true;
	nrt_cc_cancel(member->model->vcore->core[0], member->job);
}

/*
 * All ranks must begin in step again. Those that wait for this one, in a meeting or by their
 * program, fail at once. With the lock.
 */
static void fail(struct nrt_comm *comm, uint32_t rank, const struct nrt_error *error)
{
	struct member *member;
	uint32_t i;

	comm->epoch++;
	nrt_error_set(&comm->why, error->status, "rank %u of %u has failed: %.*s", rank,
		      comm->count, 600, error->text);
	for (i = 0; i < comm->count; i++) {
		member = &comm->members[i];
		if (i != rank && member->running && !member->told)
			cancel(member);
		if (i != rank && member->here) {
			member->told = true;
			go_away(comm, i);
		}
	}
	pthread_cond_broadcast(&comm->all_here);
}

static void started(struct nrt_model *model, uint64_t job)
{
	struct nrt_comm *comm = model->comm;
	struct member *member = &comm->members[model->rank];

	pthread_mutex_lock(&comm->lock);
	member->job = job;
	member->running = true;
	/* Another rank has failed since all began. */
	if (member->epoch != comm->epoch)
		cancel(member);
	pthread_mutex_unlock(&comm->lock);
}

static void ended(struct nrt_model *model, bool well)
{
	struct member *member = &model->comm->members[model->rank];

	pthread_mutex_lock(&model->comm->lock);
	member->running = false;
	if (well)
		member->told = false;
	pthread_mutex_unlock(&model->comm->lock);
}

static void failed(struct nrt_model *model, struct nrt_error *error)
{
	struct nrt_comm *comm = model->comm;
	struct member *member = &comm->members[model->rank];

	pthread_mutex_lock(&comm->lock);
	if (member->told)
		*error = comm->why;
	else
		fail(comm, model->rank, error);
	member->told = false;
	pthread_mutex_unlock(&comm->lock);
}

static const struct nrt_group_ops group_ops = {
	.begin = begin,
	.started = started,
	.ended = ended,
	.failed = failed,
	.leave = leave,
};

/* With the lock of @groups. */
static struct nrt_comm *find_place(struct nrt_groups *groups, uint32_t rank, uint32_t count)
{
	struct nrt_comm **link = &groups->first;

	while (*link && ((*link)->count != count || (*link)->members[rank].taken))
		link = &(*link)->next;
	if (*link)
		return *link;
	*link = comm_new(count);
	if (*link)
		(*link)->groups = groups;
	return *link;
}

/* Ranks wait for each other, and a core runs one after the other. */
static NRT_STATUS check_cores(struct nrt_comm *comm, const struct nrt_model *model, uint32_t rank,
			      struct nrt_error *error)
{
	const struct nrt_model *other;
	uint32_t i;

	for (i = 0; i < comm->count; i++) {
		other = comm->members[i].model;
		if (other && other->vcore == model->vcore)
			return nrt_error_set(error, NRT_INVALID,
					     "rank %u of %u: rank %u is on core %u, too; each rank needs a core of its own",
					     rank, comm->count, i, model->vcore->vnc);
	}
	return NRT_SUCCESS;
}

/* With the lock of @groups. */
static NRT_STATUS take_place(struct nrt_groups *groups, struct nrt_comm *comm,
			     struct nrt_model *model, uint32_t rank, struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&comm->lock);
	comm->closing = groups->closing;
	status = check_cores(comm, model, rank, error);
	if (!status) {
		comm->members[rank].taken = true;
		comm->members[rank].model = model;
	}
	pthread_mutex_unlock(&comm->lock);
	if (status)
		return status;
	comm->nr_members++;
	model->comm = comm;
	model->rank = rank;
	model->group = &group_ops;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_groups_join(struct nrt_groups *groups, struct nrt_model *model, uint32_t rank,
			   uint32_t count, struct nrt_error *error)
{
	unsigned int cores = model->machine->nr_vcores;
	struct nrt_comm *comm;
	NRT_STATUS status;

	if (count > MAX_RANKS)
		return nrt_error_set(error, NRT_INVALID, "%u ranks; at most %u are supported",
				     count, MAX_RANKS);
	if (count > cores)
		return nrt_error_set(error, NRT_LOAD_NOT_ENOUGH_NC,
				     "rank %u of %u: the process owns %u core%s; the ranks of a group are in one process, and each needs a core of its own",
				     rank, count, cores, cores == 1 ? "" : "s");
	pthread_mutex_lock(&groups->lock);
	comm = find_place(groups, rank, count);
	status = comm ? take_place(groups, comm, model, rank, error) : nrt_error_memory(error);
	pthread_mutex_unlock(&groups->lock);
	return status;
}
