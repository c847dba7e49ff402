// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/cc_group.h"

/* Programs that a group keeps. */
#define KEEP_CODES	64
#define MIN_SCRATCH	(64ull << 10)
#define NR_SPACES	CC_SHOWN_SEMAPHORES
/* Name of a meeting: two numbers of 16 digits. */
#define NAME_BYTES	48

_Static_assert(NR_SPACES + 1 <= NRT_SHARE_MAX, "all are exchanged at once");

/**
 * struct agreement - what a rank is about to do, as it tells the others
 * @status: it cannot; what follows is zero then
 * @op, @reduce, @dtype, @in_place, @algorithm, @count, @root, @nr_channels, @priority: of the run;
 *	the same for all
 * @pairs: hash of them
 * @fresh: it has another buffer, or other semaphores, than the last time
 * @nr_sems: semaphores that it grants
 * @offset, @length: of the bytes in its buffers
 */
struct agreement {
	int32_t status;
	uint8_t op;
	uint8_t reduce;
	uint8_t dtype;
	uint8_t in_place;
	uint32_t algorithm;
	uint32_t fresh;
	uint64_t count;
	uint64_t pairs;
	uint32_t root;
	uint16_t nr_channels;
	uint16_t priority;
	uint32_t nr_sems;
	uint32_t pad;
	uint64_t offset[NR_SPACES];
	uint64_t length[NR_SPACES];
};

/**
 * struct nrt_cc_group - a group
 * @next: list of @world
 * @world: it lives as long as that
 * @cc: CC-core, and its number among those of the core in @cc_of_core
 * @ranks, @nr: in their order, by number in the world
 * @me: place of this rank
 * @name: of the group, for meetings
 * @first_sem, @nr_sems: semaphores of the CC-core that the group has
 * @grant: of them, or -1
 * @scratch: memory, or NULL
 * @shared: ids of the buffers that the others know; 0: none
 * @granted: the others know @grant
 * @peers: by place in the group; this rank's is not used
 * @epoch: how often buffers were exchanged
 * @codes: programs, the last one that ran first
 * @last_job: of that; 0: none has run
 */
struct nrt_cc_group {
	struct nrt_cc_group *next;
	struct nrt_world *world;
	struct nrt_core *cc;
	unsigned int cc_of_core;
	uint32_t *ranks;
	uint32_t nr;
	uint32_t me;
	char name[NAME_BYTES];
	unsigned int first_sem;
	unsigned int nr_sems;
	int grant;
	struct nrt_bo *scratch;
	uint64_t shared[NR_SPACES];
	bool granted;
	struct nrt_cc_peer *peers;
	uint64_t epoch;
	struct nrt_cc_code *codes;
	uint64_t last_job;
};

/* --- Groups --- */

static uint64_t hash(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t value = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < size; i++)
		value = (value ^ at[i]) * 0x100000001b3u;
	return value;
}

static void name_group(struct nrt_cc_group *group, enum nrt_cc_user user)
{
	snprintf(group->name, sizeof(group->name), "%scollective %016llx",
		 user == NRT_CC_MODEL ? "model " : "",
		 (unsigned long long)hash(group->ranks, group->nr * sizeof(*group->ranks)));
}

static void give_sems(struct nrt_cc_group *group)
{
	if (group->grant >= 0)
		close(group->grant);
	group->grant = -1;
	group->granted = false;
	if (group->nr_sems)
		nrt_world_give_sems(group->world, group->first_sem, group->nr_sems);
	group->nr_sems = 0;
}

static void group_free(struct nrt_cc_group *group)
{
	struct nrt_cc_code *code;
	unsigned int i, what;

	while ((code = group->codes)) {
		group->codes = code->next;
		nrt_cc_code_put(code);
	}
	for (i = 0; group->peers && i < group->nr; i++) {
		for (what = 0; what < NR_SPACES; what++)
			nrt_bo_put(group->peers[i].bo[what]);
		if (group->peers[i].grant >= 0)
			close(group->peers[i].grant);
	}
	give_sems(group);
	nrt_bo_put(group->scratch);
	free(group->peers);
	free(group->ranks);
	free(group);
}

void nrt_cc_groups_free(struct nrt_world *world)
{
	struct nrt_cc_group *group;
	unsigned int user;

	for (user = 0; user < NRT_CC_NR_USERS; user++) {
		while ((group = world->groups[user])) {
			world->groups[user] = group->next;
			group_free(group);
		}
	}
}

static struct nrt_cc_group *group_new(struct nrt_world *world, enum nrt_cc_user user,
				      const uint32_t *ranks, uint32_t nr, uint32_t me)
{
	struct nrt_cc_group *group = calloc(1, sizeof(*group));
	uint32_t i;

	if (!group)
		return NULL;
	group->world = world;
	group->cc = user == NRT_CC_MODEL ? nrt_vcore_model_cc(world->vcore) : world->vcore->cc;
	group->cc_of_core = (unsigned int)(group->cc - world->vcore->cc);
	group->nr = nr;
	group->me = me;
	group->grant = -1;
	group->ranks = calloc(nr, sizeof(*group->ranks));
	group->peers = calloc(nr, sizeof(*group->peers));
	if (!group->ranks || !group->peers) {
		free(group->ranks);
		free(group->peers);
		free(group);
		return NULL;
	}
	for (i = 0; i < nr; i++) {
		group->ranks[i] = ranks[i];
		group->peers[i].grant = -1;
	}
	name_group(group, user);
	return group;
}

struct nrt_cc_group *nrt_cc_group_find(struct nrt_world *world, enum nrt_cc_user user,
				       const uint32_t *ranks, uint32_t nr, uint32_t me,
				       struct nrt_error *error)
{
	struct nrt_cc_group *group;

	for (group = world->groups[user]; group; group = group->next)
		if (group->nr == nr && !memcmp(group->ranks, ranks, nr * sizeof(*ranks)))
			return group;
	if (!world->vcore->nr_cc) {
		nrt_error_set(error, NRT_FAILURE, "%s has no CC-cores",
			      nrt_device_path(world->vcore->device));
		return NULL;
	}
	group = group_new(world, user, ranks, nr, me);
	if (!group) {
		nrt_error_memory(error);
		return NULL;
	}
	group->next = world->groups[user];
	world->groups[user] = group;
	return group;
}

/* --- What a run needs of this rank --- */

static bool is_same_signal(const struct nrt_cc_signal *a, const struct nrt_cc_signal *b)
{
	return a->used == b->used && a->start == b->start && a->core == b->core &&
	       a->done == b->done;
}

static bool does(const struct nrt_cc_code *code, const struct nrt_cc_run *run)
{
	const struct nrt_plan *plan = code->plan;

	return plan->op == run->op && plan->reduce == run->reduce && plan->dtype == run->dtype &&
	       plan->count == run->count && plan->in_place == run->in_place &&
	       plan->root == run->root && plan->priority == run->priority &&
	       is_same_signal(&code->signal, &run->signal) &&
	       code->nr_channels == run->nr_channels && plan->nr_pairs == run->nr_pairs &&
	       (!run->nr_pairs || !memcmp(plan->pairs, run->pairs,
					  run->nr_pairs * sizeof(*run->pairs)));
}

/* The last one that ran goes to the front. */
static struct nrt_cc_code *find_code(struct nrt_cc_group *group, const struct nrt_cc_run *run)
{
	struct nrt_cc_code **link, *code;

	for (link = &group->codes; (code = *link); link = &code->next) {
		if (!does(code, run))
			continue;
		*link = code->next;
		code->next = group->codes;
		group->codes = code;
		return code;
	}
	return NULL;
}

static void drop_oldest(struct nrt_cc_group *group)
{
	struct nrt_cc_code **link = &group->codes;
	unsigned int nr = 0;

	while (*link && nr++ < KEEP_CODES)
		link = &(*link)->next;
	if (!*link)
		return;
	nrt_cc_code_put(*link);
	*link = NULL;
}

static NRT_STATUS make_plan(const struct nrt_cc_group *group, const struct nrt_cc_run *run,
			    struct nrt_plan **plan, struct nrt_error *error)
{
	struct nrt_plan_place *places = calloc(group->nr, sizeof(*places));
	struct nrt_plan_ask ask = {
		.op = run->op,
		.reduce = run->reduce,
		.dtype = run->dtype,
		.count = run->count,
		.in_place = run->in_place,
		.pairs = run->pairs,
		.nr_pairs = run->nr_pairs,
		.root = run->root,
		.nr_channels = run->nr_channels,
		.priority = run->priority,
		.nr_ranks = group->nr,
		.places = places,
		.algorithm = group->world->worlds->algorithm,
	};
	NRT_STATUS status;
	uint32_t i;

	if (!places)
		return nrt_error_memory(error);
	for (i = 0; i < group->nr; i++)
		places[i] = group->world->places[group->ranks[i]];
	status = nrt_plan_make(&ask, plan, error);
	free(places);
	return status;
}

/*
 * The semaphores of a group are those of its first program, and more when another one needs more.
 * They are clear: nobody posts before all have met.
 */
static NRT_STATUS need_sems(struct nrt_cc_group *group, unsigned int nr, struct nrt_error *error)
{
	struct nrt_cc_code *code;

	if (nr <= group->nr_sems)
		return NRT_SUCCESS;
	/* They have other numbers then. */
	while ((code = group->codes)) {
		group->codes = code->next;
		nrt_cc_code_put(code);
	}
	give_sems(group);
	if (nrt_world_take_sems(group->world, nr, &group->first_sem, error))
		return error->status;
	group->nr_sems = nr;
	if (!nrt_cc_clear(group->cc, group->first_sem, nr, error) &&
	    !nrt_cc_grant(group->cc, group->first_sem, nr, &group->grant, error))
		return NRT_SUCCESS;
	/* The next run must not find semaphores that are not clear, or not granted. */
	give_sems(group);
	return error->status;
}

static NRT_STATUS need_scratch(struct nrt_cc_group *group, uint64_t bytes,
			       struct nrt_error *error)
{
	struct nrt_bo *grown;
	uint64_t size = MIN_SCRATCH;

	if (!bytes || (group->scratch && group->scratch->size >= bytes))
		return NRT_SUCCESS;
	while (size < bytes)
		size *= 2;
	if (nrt_bo_create(group->cc->device, size, DRM_NEURON_BO_HBM, group->cc->stack,
			  DRM_NEURON_CATEGORY_COLLECTIVES, &grown, error))
		return error->status;
	nrt_bo_put(group->scratch);
	group->scratch = grown;
	return NRT_SUCCESS;
}

/* Semaphores that the rank's part needs. Parts of other ranks may need more or less. */
static NRT_STATUS count_sems(const struct nrt_plan *plan, unsigned int rank, unsigned int *nr,
			     struct nrt_error *error)
{
	struct nrt_plan_program part;

	if (nrt_plan_program(plan, rank, &part, error))
		return error->status;
	*nr = part.nr_sems ? part.nr_sems : 1;
	nrt_plan_program_fini(&part);
	return NRT_SUCCESS;
}

static NRT_STATUS new_code(struct nrt_cc_group *group, const struct nrt_cc_run *run,
			   struct nrt_cc_code **out, struct nrt_error *error)
{
	struct nrt_plan *plan;
	unsigned int sems = 0;

	if (make_plan(group, run, &plan, error))
		return error->status;
	if (count_sems(plan, group->me, &sems, error) ||
	    need_sems(group, sems + run->signal.used, error)) {
		nrt_plan_free(plan);
		return error->status;
	}
	if (nrt_cc_code_new(group->cc, group->cc_of_core, group->world->vcore->nr_cc, plan,
			    group->me, group->first_sem, &run->signal, out, error))
		return error->status;
	(*out)->nr_channels = run->nr_channels;
	(*out)->next = group->codes;
	group->codes = *out;
	drop_oldest(group);
	return NRT_SUCCESS;
}

/* What this rank shows of the run: to itself, and to others. */
struct shown {
	struct nrt_cc_code *code;
	struct nrt_cc_bytes own[NR_SPACES];
};

static NRT_STATUS prepare(struct nrt_cc_group *group, const struct nrt_cc_run *run,
			  struct shown *shown, struct nrt_error *error)
{
	struct nrt_cc_code *last = group->codes;
	struct drm_neuron_wait_job result;
	struct nrt_error ignored;
	uint64_t job = group->last_job;
	uint64_t scratch;

	/* When all have met later, no post of the program before is on its way. */
	if (job && last && !does(last, run)) {
		nrt_cc_wait(group->cc, job, &result, &ignored);
		group->last_job = 0;
	}
	shown->code = find_code(group, run);
	if (!shown->code && new_code(group, run, &shown->code, error))
		return error->status;
	scratch = shown->code->part.scratch;
	if (need_scratch(group, scratch, error))
		return error->status;
	shown->own[CC_SHOWN_INPUT] = run->input;
	shown->own[CC_SHOWN_OUTPUT] = run->output;
	shown->own[CC_SHOWN_SCRATCH] = (struct nrt_cc_bytes){ group->scratch, 0, scratch };
	return NRT_SUCCESS;
}

/* --- Agreement --- */

/* Do others touch that memory of this rank? */
static bool is_exposed(const struct nrt_cc_code *code, unsigned int what)
{
	unsigned int i;

	for (i = 0; i < code->part.nr_peers; i++)
		if (nrt_cc_rights(code->plan, code->part.peers[i].ours, what))
			return true;
	return false;
}

static struct agreement say(const struct nrt_cc_group *group, const struct nrt_cc_run *run,
			    const struct shown *shown)
{
	struct agreement mine = {
		.op = (uint8_t)run->op,
		.reduce = (uint8_t)run->reduce,
		.dtype = run->dtype,
		.in_place = run->in_place,
		.algorithm = shown->code->plan->choice.algorithm,
		.count = run->count,
		.pairs = hash(run->pairs, run->nr_pairs * sizeof(*run->pairs)),
		.root = run->root,
		.nr_channels = (uint16_t)run->nr_channels,
		.priority = run->priority,
		.fresh = !group->granted,
		.nr_sems = group->nr_sems,
	};
	unsigned int what;

	for (what = 0; what < NR_SPACES; what++) {
		const struct nrt_cc_bytes *bytes = &shown->own[what];

		if (!is_exposed(shown->code, what) || !bytes->bo)
			continue;
		mine.offset[what] = bytes->offset;
		mine.length[what] = bytes->length;
		mine.fresh |= bytes->bo->id != group->shared[what];
	}
	return mine;
}

static void describe(const struct agreement *what, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s of %llu elements of type 0x%x by %s%s",
		 nrt_plan_op_name((enum nrt_plan_op)what->op), what->reduce ? " " : "",
		 what->reduce ? nrt_plan_reduce_name((enum nrt_plan_reduce)what->reduce) : "",
		 (unsigned long long)what->count, what->dtype,
		 nrt_plan_algorithm_name((enum nrt_plan_algorithm)what->algorithm),
		 what->in_place ? " in place" : "");
}

static bool is_same(const struct agreement *a, const struct agreement *b)
{
	return a->op == b->op && a->reduce == b->reduce && a->dtype == b->dtype &&
	       a->in_place == b->in_place && a->algorithm == b->algorithm && a->count == b->count &&
	       a->pairs == b->pairs && a->root == b->root && a->nr_channels == b->nr_channels &&
	       a->priority == b->priority;
}

/* A rank that is not of this library could say anything. */
static bool is_sane(const struct agreement *said)
{
	return said->op < NRT_PLAN_NR_OPS && said->reduce < NRT_PLAN_NR_REDUCES &&
	       said->algorithm < NRT_PLAN_NR_ALGORITHMS && said->nr_sems <= NEURON_NR_SEMAPHORES;
}

static NRT_STATUS compare(const struct nrt_cc_group *group, const struct agreement *all,
			  bool *fresh, struct nrt_error *error)
{
	const struct agreement *mine = &all[group->me];
	char ours[128], theirs[128];
	uint32_t i;

	*fresh = false;
	for (i = 0; i < group->nr; i++) {
		if (all[i].status)
			return nrt_error_set(error, NRT_FAILURE,
					     "rank %u of the group cannot take part (status %d)",
					     group->ranks[i], all[i].status);
		if (!is_sane(&all[i]))
			return nrt_error_set(error, NRT_FAILURE, "rank %u talks nonsense",
					     group->ranks[i]);
		if (!is_same(mine, &all[i])) {
			describe(mine, ours, sizeof(ours));
			describe(&all[i], theirs, sizeof(theirs));
			if (!strcmp(ours, theirs))
				snprintf(theirs, sizeof(theirs),
					 "the same with another root, priority, or other pairs or channels");
			return nrt_error_set(error, NRT_INVALID,
					     "the ranks do not agree: rank %u asks for %s, rank %u for %s",
					     group->ranks[group->me], ours, group->ranks[i],
					     theirs);
		}
		*fresh |= all[i].fresh;
	}
	return NRT_SUCCESS;
}

static struct nrt_gather meeting(const struct nrt_cc_group *group)
{
	return (struct nrt_gather){
		.what = group->name,
		.rank = group->me,
		.count = group->nr,
	};
}

/* Tell the others, and learn what they say; a rank that cannot take part says so. */
static NRT_STATUS talk(struct nrt_cc_group *group, const struct agreement *mine,
		       struct agreement *all, struct nrt_error *error)
{
	struct nrt_gather gather = meeting(group);

	gather.size = sizeof(*mine);
	gather.input = mine;
	gather.output = all;
	if (!nrt_world_gather(group->world, &gather, error))
		return NRT_SUCCESS;
	nrt_world_fail(group->world, error);
	return error->status;
}

static void say_no(struct nrt_cc_group *group, const struct nrt_error *why,
		   struct agreement *all)
{
	struct agreement no = { .status = (int32_t)why->status };
	struct nrt_error ignored;

	talk(group, &no, all, &ignored);
}

/* --- Exchange of buffers --- */

struct exchange {
	struct nrt_cc_group *group;
	const struct agreement *all;
};

static NRT_STATUS take_grant(struct nrt_cc_peer *peer, int fd, struct nrt_error *error)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return nrt_error_set(error, NRT_RESOURCE, "cannot keep a grant of a peer: %s",
				     strerror(errno));
	if (peer->grant >= 0)
		close(peer->grant);
	peer->grant = own;
	return NRT_SUCCESS;
}

/* The descriptors of a peer: buffers, those that it does not show left out, and its grant. */
static NRT_STATUS take_peer(struct nrt_cc_group *group, const struct agreement *said,
			    struct nrt_cc_peer *peer, const int *fds, struct nrt_error *error)
{
	struct nrt_bo *bo;
	unsigned int what;

	for (what = 0; what < NR_SPACES; what++) {
		if (!said->length[what])
			continue;
		if (nrt_bo_import_fd(group->cc->device, fds[what], &bo, error))
			return error->status;
		nrt_bo_put(peer->bo[what]);
		peer->bo[what] = bo;
	}
	return take_grant(peer, fds[NR_SPACES], error);
}

static NRT_STATUS take_all(void *arg, const int *fds, struct nrt_error *error)
{
	struct exchange *exchange = arg;
	struct nrt_cc_group *group = exchange->group;
	uint32_t i;

	for (i = 0; i < group->nr; i++)
		if (i != group->me &&
		    take_peer(group, &exchange->all[i], &group->peers[i],
			      &fds[i * (NR_SPACES + 1)], error))
			return error->status;
	return NRT_SUCCESS;
}

/* Descriptors of what this rank shows; the grant stands for what it does not. */
static NRT_STATUS open_mine(const struct nrt_cc_group *group, const struct agreement *mine,
			    const struct shown *shown, int fds[NR_SPACES + 1],
			    struct nrt_error *error)
{
	unsigned int what;

	for (what = 0; what <= NR_SPACES; what++)
		fds[what] = group->grant;
	for (what = 0; what < NR_SPACES; what++)
		if (mine->length[what] &&
		    nrt_bo_export_fd(shown->own[what].bo, &fds[what], error))
			return error->status;
	return NRT_SUCCESS;
}

static NRT_STATUS exchange(struct nrt_cc_group *group, const struct agreement *all,
			   const struct shown *shown, struct nrt_error *error)
{
	struct exchange arg = { group, all };
	int fds[NR_SPACES + 1];
	struct nrt_share share = {
		.gather = meeting(group),
		.mine = fds,
		.nr = NR_SPACES + 1,
		.use = take_all,
		.arg = &arg,
	};
	const struct agreement *mine = &all[group->me];
	NRT_STATUS status;
	unsigned int what;

	status = open_mine(group, mine, shown, fds, error);
	if (!status)
		status = nrt_world_share(group->world, &share, error);
	for (what = 0; what < NR_SPACES; what++) {
		if (fds[what] != group->grant)
			close(fds[what]);
		if (!status && mine->length[what])
			group->shared[what] = shown->own[what].bo->id;
	}
	if (status)
		return status;
	group->granted = true;
	group->epoch++;
	return NRT_SUCCESS;
}

/* --- Runs --- */

static NRT_STATUS submit(struct nrt_cc_group *group, const struct shown *shown,
			 struct nrt_cc_job *job, struct nrt_error *error)
{
	struct nrt_cc_code *code = shown->code;
	struct drm_neuron_job args = {
		.queues = { sizeof(*code->queues), code->nr_queues, (uintptr_t)code->queues },
		.starts = { sizeof(code->start), 1, (uintptr_t)&code->start },
		.timeout_ms = group->world->timeout_ms,
		.rank = group->me,
	};
	NRT_STATUS status;

	pthread_mutex_lock(&group->cc->lock);
	nrt_cc_code_show(code, shown->own, group->peers, group->first_sem, group->nr_sems,
			 group->epoch);
	status = nrt_cc_submit(group->cc, &code->view, &args, &job->running.job, error);
	pthread_mutex_unlock(&group->cc->lock);
	if (status)
		return status;
	group->last_job = job->running.job;
	atomic_fetch_add(&code->refs, 1);
	job->code = code;
	job->running.cc = group->cc;
	nrt_world_begin(group->world, &job->running);
	return NRT_SUCCESS;
}

/* All have agreed. From here on a failure is one of the whole world. */
static NRT_STATUS begin_agreed(struct nrt_cc_group *group, const struct agreement *all, bool fresh,
			       const struct shown *shown, struct nrt_cc_job *job,
			       struct nrt_error *error)
{
	uint32_t i;

	for (i = 0; i < group->nr; i++) {
		memcpy(group->peers[i].offset, all[i].offset, sizeof(all[i].offset));
		memcpy(group->peers[i].length, all[i].length, sizeof(all[i].length));
		group->peers[i].nr_sems = all[i].nr_sems;
	}
	if ((!fresh || !exchange(group, all, shown, error)) && !submit(group, shown, job, error))
		return NRT_SUCCESS;
	nrt_world_fail(group->world, error);
	return error->status;
}

NRT_STATUS nrt_cc_begin(struct nrt_cc_group *group, const struct nrt_cc_run *run,
			struct nrt_cc_job *job, struct nrt_error *error)
{
	struct agreement *all, mine;
	struct shown shown = { 0 };
	NRT_STATUS status;
	bool fresh;

	all = calloc(group->nr, sizeof(*all));
	if (!all) {
		/* Without it this rank cannot even say no. */
		nrt_error_memory(error);
		nrt_world_fail(group->world, error);
		return error->status;
	}
	status = prepare(group, run, &shown, error);
	if (status) {
		say_no(group, error, all);
		free(all);
		return status;
	}
	mine = say(group, run, &shown);
	status = talk(group, &mine, all, error);
	if (!status)
		status = compare(group, all, &fresh, error);
	if (!status)
		status = begin_agreed(group, all, fresh, &shown, job, error);
	free(all);
	return status;
}

NRT_STATUS nrt_cc_end(struct nrt_cc_group *group, struct nrt_cc_job *job,
		      struct nrt_error *error)
{
	struct drm_neuron_wait_job result;
	struct nrt_error first;
	NRT_STATUS status;

	status = nrt_cc_wait(group->cc, job->running.job, &result, error);
	nrt_world_end(group->world, &job->running);
	if (!status)
		status = nrt_cc_explain(job->code, &result, group->ranks, error);
	/* What was cancelled has the reason of whoever failed first. */
	if (status && nrt_world_check(group->world, &first))
		*error = first;
	else if (status)
		nrt_world_fail(group->world, error);
	nrt_cc_code_put(job->code);
	return status ? error->status : NRT_SUCCESS;
}
