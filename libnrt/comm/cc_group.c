// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_group.h"
#include "comm/cc_times.h"
#include "exec/checks.h"

/* Programs that a group keeps. */
#define KEEP_CODES	64

/* How often to look whether a job hangs, and how long the reset of its core may take then. */
#define LOOK_MS		50
#define RESET_MS	300

/**
 * struct nrt_cc_group - a group
 * @next: list of the world
 * @world: it lives as long as that
 * @rights: of its ranks. All programs use the same semaphores
 * @links: to the others
 * @scratch: memory, or NULL
 * @codes: programs, the last one that ran first
 * @last_job: of that; 0: none has run
 */
struct nrt_cc_group {
	struct nrt_cc_group *next;
	struct nrt_world *world;
	struct nrt_cc_rights rights;
	struct nrt_cc_links links;
	struct nrt_bo *scratch;
	struct nrt_cc_code *codes;
	uint64_t last_job;
};

/* --- Groups --- */

static void give_sems(struct nrt_cc_group *group)
{
	struct nrt_cc_rights *rights = &group->rights;

	if (rights->nr_sems)
		nrt_world_give_sems(group->world, rights->cc, rights->first_sem, rights->nr_sems);
	rights->nr_sems = 0;
	rights->granted = false;
}

static void drop_codes(struct nrt_cc_group *group)
{
	struct nrt_cc_code *code;

	while ((code = group->codes)) {
		group->codes = code->next;
		nrt_cc_code_put(code);
	}
}

static void group_free(struct nrt_cc_group *group)
{
	drop_codes(group);
	give_sems(group);
	nrt_cc_links_fini(&group->links);
	nrt_cc_rights_fini(&group->rights);
	nrt_bo_put(group->scratch);
	free(group);
}

void nrt_cc_groups_free(struct nrt_world *world)
{
	struct nrt_cc_group *group;

	while ((group = world->groups)) {
		world->groups = group->next;
		group_free(group);
	}
}

static bool has_ranks(const struct nrt_cc_group *group, const uint32_t *ranks, uint32_t nr)
{
	return group->links.nr == nr && !memcmp(group->links.ranks, ranks, nr * sizeof(*ranks));
}

struct nrt_cc_group *nrt_cc_group_find(struct nrt_world *world, const uint32_t *ranks,
				       uint32_t nr, uint32_t me, struct nrt_error *error)
{
	struct nrt_cc_group *group;

	for (group = world->groups; group; group = group->next)
		if (has_ranks(group, ranks, nr))
			return group;
	if (!world->vcore->nr_cc) {
		nrt_error_set(error, NRT_FAILURE, "%s has no CC-cores",
			      nrt_device_path(world->vcore->device));
		return NULL;
	}
	group = calloc(1, sizeof(*group));
	if (!group) {
		nrt_error_memory(error);
		return NULL;
	}
	group->world = world;
	if (nrt_cc_rights_init(&group->rights, world, world->vcore->cc, ranks, nr, me, error) ||
	    nrt_cc_links_init(&group->links, &group->rights, "collective", ranks, nr, me,
			      error)) {
		nrt_cc_rights_fini(&group->rights);
		free(group);
		return NULL;
	}
	group->next = world->groups;
	world->groups = group;
	return group;
}

/* --- What a run needs of this rank --- */

/* The plan of a barrier has no elements, whatever it is asked for. */
static uint64_t count_of(const struct nrt_cc_run *run)
{
	return run->op == NRT_PLAN_BARRIER ? 0 : run->count;
}

static bool does(const struct nrt_cc_code *code, const struct nrt_cc_run *run)
{
	const struct nrt_plan *plan = code->parts[0].plan;

	return plan->op == run->op && plan->reduce == run->reduce && plan->dtype == run->dtype &&
	       plan->count == count_of(run) && plan->in_place == run->in_place &&
	       plan->recv_counts_known == run->recv_counts_known &&
	       plan->has_rdispls == run->has_rdispls && plan->root == run->root &&
	       plan->priority == run->priority && code->nr_channels == run->nr_channels &&
	       plan->nr_pairs == run->nr_pairs &&
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

/*
 * The semaphores of a group are those of its first program, and more when another one needs more.
 * They are clear: nobody posts before all have met.
 */
static NRT_STATUS need_sems(struct nrt_cc_group *group, unsigned int nr, struct nrt_error *error)
{
	struct nrt_cc_rights *rights = &group->rights;
	unsigned int first;

	if (nr <= rights->nr_sems)
		return NRT_SUCCESS;
	/* They have other numbers then. */
	drop_codes(group);
	give_sems(group);
	if (nrt_world_take_sems(group->world, rights->cc, nr, &first, error))
		return error->status;
	if (nrt_cc_clear(rights->cc, first, nr, error)) {
		/* The next run must not find semaphores that are not clear. */
		nrt_world_give_sems(group->world, rights->cc, first, nr);
		return error->status;
	}
	rights->first_sem = first;
	rights->nr_sems = nr;
	return NRT_SUCCESS;
}

static NRT_STATUS new_code(struct nrt_cc_group *group, const struct nrt_cc_run *run,
			   struct nrt_cc_code **out, struct nrt_error *error)
{
	struct nrt_cc_part part;

	if (nrt_cc_part_init(&part, &group->links, run, error))
		return error->status;
	if (need_sems(group, nrt_cc_part_sems(&part), error))
		goto fail;
	part.first_sem = group->rights.first_sem;
	if (nrt_cc_code_new(group->world->vcore, group->rights.cc, 0, &part, 1, out, error))
		goto fail;
	(*out)->nr_channels = run->nr_channels;
	(*out)->next = group->codes;
	group->codes = *out;
	drop_oldest(group);
	return NRT_SUCCESS;
fail:
	nrt_cc_part_fini(&part);
	return error->status;
}

/* What this rank shows of the run: to itself, and to others; and its place in a time group. */
struct shown {
	struct nrt_time_place place;
	struct nrt_cc_code *code;
	struct nrt_cc_bytes own[NRT_CC_NR_SPACES];
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
		nrt_cc_wait(group->rights.cc, job, &result, &ignored);
		group->last_job = 0;
	}
	shown->code = find_code(group, run);
	if (!shown->code && new_code(group, run, &shown->code, error))
		return error->status;
	scratch = shown->code->parts[0].program.scratch;
	if (nrt_cc_scratch(group->rights.cc, scratch, &group->scratch, error))
		return error->status;
	shown->own[CC_SHOWN_INPUT] = run->input;
	shown->own[CC_SHOWN_OUTPUT] = run->output;
	shown->own[CC_SHOWN_META] = run->meta;
	shown->own[CC_SHOWN_SCRATCH] = (struct nrt_cc_bytes){ group->scratch, 0, scratch };
	return NRT_SUCCESS;
}

/* --- Runs --- */

/* Tell the others, and learn what they say; a rank that cannot take part says so. */
static NRT_STATUS talk(struct nrt_cc_group *group, const struct nrt_cc_agreement *mine,
		       struct nrt_cc_agreement *all, struct nrt_error *error)
{
	struct nrt_gather gather = {
		.what = group->links.name,
		.rank = group->links.me,
		.count = group->links.nr,
		.ranks = group->links.ranks,
		.size = sizeof(*mine),
		.input = mine,
		.output = all,
	};

	if (!nrt_world_gather(group->world, &gather, error))
		return NRT_SUCCESS;
	nrt_world_fail(group->world, error);
	return error->status;
}

static void say_no(struct nrt_cc_group *group, const struct nrt_error *why,
		   struct nrt_cc_agreement *all)
{
	struct nrt_cc_agreement no = { .status = (int32_t)why->status };
	struct nrt_error ignored;

	talk(group, &no, all, &ignored);
}

/* @job->timed: its job is the member of a time group that @shown says. */
static NRT_STATUS submit(struct nrt_cc_group *group, const struct shown *shown,
			 struct nrt_cc_job *job, struct nrt_error *error)
{
	struct nrt_cc_code *code = shown->code;
	struct drm_neuron_job args = {
		.queues = { sizeof(*code->queues), code->nr_queues, (uintptr_t)code->queues },
		.starts = { sizeof(code->start), 1, (uintptr_t)&code->start },
		.timeout_ms = group->world->timeout_ms,
		.rank = group->links.me,
	};
	NRT_STATUS status;

	pthread_mutex_lock(&code->cc->lock);
	nrt_cc_code_show(code, 0, shown->own);
	status = nrt_cc_submit(code->cc, &code->view, &args, job->timed ? &shown->place : NULL,
			       &job->running.job, error);
	pthread_mutex_unlock(&code->cc->lock);
	if (status)
		return status;
	group->last_job = job->running.job;
	atomic_fetch_add(&code->refs, 1);
	job->code = code;
	job->running.cc = code->cc;
	nrt_world_begin(group->world, &job->running);
	return NRT_SUCCESS;
}

/* The failure is this rank's own. One of the world names a rank already. */
static NRT_STATUS name_rank(const struct nrt_cc_group *group, const struct nrt_cc_run *run,
			    struct nrt_error *error)
{
	char why[sizeof(error->text)];

	if (!strncmp(error->text, "rank ", strlen("rank ")))
		return error->status;
	snprintf(why, sizeof(why), "%s", error->text);
	return nrt_error_set(error, error->status, "rank %u of %u: %s, before step 0: %s",
			     group->links.ranks[group->links.me], group->links.nr,
			     nrt_plan_op_name(run->op), why);
}

/* All have agreed. From here on a failure is one of the whole world. */
static NRT_STATUS begin_agreed(struct nrt_cc_group *group, const struct nrt_cc_agreement *all,
			       uint32_t fresh, const struct shown *shown,
			       const struct nrt_cc_run *run, struct nrt_cc_job *job,
			       struct nrt_error *error)
{
	nrt_cc_accept(&group->links, all);
	if ((!(fresh & NRT_CC_FRESH_RIGHTS) ||
	     !nrt_cc_rights_exchange(&group->rights, "collective", error)) &&
	    (!(fresh & NRT_CC_FRESH_BUFFERS) ||
	     !nrt_cc_exchange(&group->links, all, shown->own, error)) &&
	    !submit(group, shown, job, error))
		return NRT_SUCCESS;
	name_rank(group, run, error);
	nrt_world_fail(group->world, error);
	return error->status;
}

NRT_STATUS nrt_cc_begin(struct nrt_cc_group *group, const struct nrt_cc_run *run,
			struct nrt_cc_job *job, struct nrt_error *error)
{
	struct nrt_cc_agreement *all, mine;
	struct shown shown = { 0 };
	NRT_STATUS status;
	uint32_t fresh;

	/* Also a run that nothing comes of has a number. */
	job->timed = nrt_cc_times_next(group->world, NRT_TIMES_OF_HOST, &shown.place);
	/* What failed may run still, and is not waited for. */
	if (nrt_world_check(group->world, error))
		return error->status;
	all = calloc(group->links.nr, sizeof(*all));
	if (!all) {
		/* Without it this rank cannot even say no. */
		nrt_error_memory(error);
		nrt_world_fail(group->world, error);
		return error->status;
	}
	status = prepare(group, run, &shown, error);
	if (status) {
		name_rank(group, run, error);
		say_no(group, error, all);
		free(all);
		return status;
	}
	mine = nrt_cc_say(&group->links, run, shown.code->parts[0].plan,
			  &shown.code->parts[0].program, shown.own);
	mine.nr_sems = group->rights.nr_sems;
	mine.fresh |= group->rights.granted ? 0 : NRT_CC_FRESH_RIGHTS;
	status = talk(group, &mine, all, error);
	if (!status)
		status = nrt_cc_compare(&group->links, all, &fresh, error);
	if (!status)
		status = begin_agreed(group, all, fresh, &shown, run, job, error);
	free(all);
	return status;
}

/*
 * The driver ends every job. But a core that does not answer its reset keeps that from it for long:
 * then the rank does not wait for its end when it hangs, or when the world has failed.
 */
static NRT_STATUS wait_for_end(struct nrt_world *world, const struct nrt_running *running,
			       struct drm_neuron_wait_job *result, struct nrt_error *error)
{
	uint32_t ms = world->timeout_ms ? world->timeout_ms : NRT_TIMEOUT_MS;
	struct nrt_error ignored;
	bool over = false;
	NRT_STATUS status;

	for (;;) {
		status = nrt_cc_wait_for(running->cc, running->job, ms, result, error);
		if (status != NRT_TIMEOUT)
			return status;
		if (over)
			return NRT_SUCCESS;
		over = nrt_cc_hangs(running->cc, running->job) || nrt_world_check(world, &ignored);
		ms = over ? RESET_MS : LOOK_MS;
	}
}

NRT_STATUS nrt_cc_end(struct nrt_cc_group *group, struct nrt_cc_job *job,
		      struct nrt_error *error)
{
	struct drm_neuron_wait_job result;
	enum nrt_cc_wait wait;
	struct nrt_error first;
	char text[NRT_CC_TEXT];
	NRT_STATUS status;

	status = wait_for_end(group->world, &job->running, &result, error);
	nrt_world_end(group->world, &job->running);
	nrt_cc_code_text(job->code, text);
	nrt_checks_tell_cc(job->code->cc, job->running.job, text);
	if (!status)
		status = nrt_cc_explain(job->code, &result, &wait, error);
	/* What was cancelled has the reason of whoever failed first. */
	if (status && nrt_world_check(group->world, &first))
		*error = first;
	else if (status)
		nrt_world_fail(group->world, error);
	nrt_cc_code_put(job->code);
	return status ? error->status : NRT_SUCCESS;
}
