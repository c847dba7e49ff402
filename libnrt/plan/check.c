// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "plan/check.h"

/* What is known of a semaphore: posts minus waits, and the queue of its poster. */
struct balance {
	int64_t left;
	int queue;
};

/**
 * struct check - a check under way
 * @balance: NRT_PLAN_MAX_SEMS for each rank
 * @rank, @step: what is looked at
 */
struct check {
	const struct nrt_plan *plan;
	const struct nrt_plan_program *programs;
	struct nrt_error *error;
	struct balance *balance;
	unsigned int rank;
	const struct nrt_plan_step *step;
};

static NRT_STATUS wrong(const struct check *check, const char *what)
{
	return nrt_error_set(check->error, NRT_FAILURE, "rank %u, step %u (%s), channel %u: %s",
			     check->rank, check->step->number,
			     nrt_plan_phase_name(check->step->phase), check->step->channel, what);
}

static const struct nrt_plan_peer *peer_of(const struct nrt_plan_program *program,
					   unsigned int rank)
{
	unsigned int i;

	for (i = 0; i < program->nr_peers; i++)
		if (program->peers[i].rank == rank)
			return &program->peers[i];
	return NULL;
}

static NRT_STATUS check_end(const struct check *check, const struct nrt_plan_end *end, bool writes)
{
	const struct nrt_plan_program *program = &check->programs[check->rank];
	const struct nrt_plan_peer *peer;
	unsigned int right;

	if (end->rank >= check->plan->nr_ranks || end->space >= NRT_PLAN_NR_SPACES)
		return wrong(check, "names a rank or space that is none");
	if (end->value > program->nr_values)
		return wrong(check, "names a value that is none");
	if (end->offset > check->plan->bytes[end->space] ||
	    (!check->step->length &&
	     check->step->bytes > check->plan->bytes[end->space] - end->offset))
		return wrong(check, "leaves a space");
	if (end->rank == check->rank)
		return NRT_SUCCESS;
	right = writes ? NRT_PLAN_WRITES(end->space) : NRT_PLAN_READS(end->space);
	peer = peer_of(program, end->rank);
	if (!peer || !(peer->theirs & right))
		return wrong(check, "touches a peer in a way that it does not list");
	peer = peer_of(&check->programs[end->rank], check->rank);
	if (!peer || !(peer->ours & right))
		return wrong(check, "touches a peer that does not grant it");
	return NRT_SUCCESS;
}

static NRT_STATUS check_move(const struct check *check)
{
	const struct nrt_plan_program *program = &check->programs[check->rank];
	const struct nrt_plan_step *step = check->step;
	const struct nrt_plan_end *end = nrt_plan_src(program, step);
	unsigned int i, nr = step->nr_src + step->nr_dst;

	if (step->move == NRT_PLAN_NO_MOVE)
		return nr || step->bytes ? wrong(check, "has no move, but ends") : NRT_SUCCESS;
	if (step->move > NRT_PLAN_COMBINE || !step->nr_src || !step->nr_dst ||
	    step->nr_src > (step->move == NRT_PLAN_COPY ? 1 : NRT_PLAN_MAX_SRC) ||
	    step->nr_dst > NRT_PLAN_MAX_DST || step->first_end + nr > program->nr_ends)
		return wrong(check, "has a move that is none");
	if (step->move == NRT_PLAN_COMBINE &&
	    (!check->plan->reduce || step->bytes % check->plan->element))
		return wrong(check, "combines what cannot be combined");
	if (step->length > program->nr_values || (!step->bytes && !step->length))
		return wrong(check, "moves nothing");
	for (i = 0; i < nr; i++)
		if (check_end(check, &end[i], i >= step->nr_src))
			return check->error->status;
	return NRT_SUCCESS;
}

static NRT_STATUS check_wait(const struct check *check, const struct nrt_plan_sync *wait)
{
	const struct nrt_plan_program *program = &check->programs[check->rank];

	if (wait->sem >= program->nr_sems || !wait->value)
		return wrong(check, "waits for a semaphore that is none");
	if (program->sems[wait->sem].poster != wait->rank ||
	    program->sems[wait->sem].channel != check->step->channel)
		return wrong(check, "waits for a semaphore of another peer or channel");
	check->balance[check->rank * NRT_PLAN_MAX_SEMS + wait->sem].left -= wait->value;
	return NRT_SUCCESS;
}

static NRT_STATUS check_post(const struct check *check, const struct nrt_plan_sync *post)
{
	const struct nrt_plan_program *other = &check->programs[post->rank];
	const struct nrt_plan_peer *peer;
	struct balance *balance;

	if (post->rank >= check->plan->nr_ranks || post->sem >= other->nr_sems || !post->value)
		return wrong(check, "posts a semaphore that is none");
	if (!other->sems[post->sem].meaning || other->sems[post->sem].poster != check->rank ||
	    other->sems[post->sem].channel != check->step->channel)
		return wrong(check, "posts a semaphore of another peer or channel");
	peer = peer_of(&check->programs[check->rank], post->rank);
	if (post->rank != check->rank && (!peer || !peer->posts))
		return wrong(check, "posts a peer that it does not list");
	peer = peer_of(other, check->rank);
	if (post->rank != check->rank && (!peer || !peer->posted))
		return wrong(check, "posts a peer that does not grant it");
	balance = &check->balance[post->rank * NRT_PLAN_MAX_SEMS + post->sem];
	if (balance->queue && balance->queue != check->step->queue + 1)
		return wrong(check, "posts a semaphore by a second queue");
	balance->queue = check->step->queue + 1;
	balance->left += post->value;
	return NRT_SUCCESS;
}

static NRT_STATUS check_step(struct check *check, int *channel_of)
{
	const struct nrt_plan_program *program = &check->programs[check->rank];
	const struct nrt_plan_step *step = check->step;
	unsigned int i;

	if (step->channel >= check->plan->nr_channels || step->number >= check->plan->nr_steps ||
	    step->phase >= NRT_PLAN_NR_PHASES)
		return wrong(check, "has a channel, number or phase that is none");
	if (step > program->steps && step->number < step[-1].number)
		return wrong(check, "has a lower number than the step before");
	if (step->first_sync + step->nr_wait + step->nr_post > program->nr_syncs)
		return wrong(check, "has more waits and posts than there are");
	if (step->move || step->nr_post) {
		if (step->queue >= program->nr_queues)
			return wrong(check, "has a queue that is none");
		if (channel_of[step->queue] && channel_of[step->queue] != step->channel + 1)
			return wrong(check, "has a queue of another channel");
		channel_of[step->queue] = step->channel + 1;
	}
	for (i = 0; i < step->nr_wait; i++)
		if (check_wait(check, &nrt_plan_waits(program, step)[i]))
			return check->error->status;
	for (i = 0; i < step->nr_post; i++)
		if (check_post(check, &nrt_plan_posts(program, step)[i]))
			return check->error->status;
	return check_move(check);
}

static NRT_STATUS check_program(struct check *check)
{
	const struct nrt_plan_program *program = &check->programs[check->rank];
	int channel_of[NRT_PLAN_MAX_QUEUES] = { 0 };
	size_t s;

	if (program->nr_sems > NRT_PLAN_MAX_SEMS || program->nr_queues > NRT_PLAN_MAX_QUEUES ||
	    program->scratch > check->plan->bytes[NRT_PLAN_SCRATCH])
		return nrt_error_set(check->error, NRT_FAILURE,
				     "rank %u has too many semaphores or queues, or too much scratch",
				     check->rank);
	for (s = 0; s < program->nr_steps; s++) {
		check->step = &program->steps[s];
		if (check_step(check, channel_of))
			return check->error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS check_all(struct check *check)
{
	unsigned int n = check->plan->nr_ranks, i;

	for (check->rank = 0; check->rank < n; check->rank++)
		if (check_program(check))
			return check->error->status;
	for (i = 0; i < n * NRT_PLAN_MAX_SEMS; i++)
		if (check->balance[i].left)
			return nrt_error_set(check->error, NRT_FAILURE,
					     "semaphore %u of rank %u ends %lld from where it began",
					     i % NRT_PLAN_MAX_SEMS, i / NRT_PLAN_MAX_SEMS,
					     (long long)check->balance[i].left);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_plan_check(const struct nrt_plan *plan, const struct nrt_plan_program *programs,
			  struct nrt_error *error)
{
	struct check check = { .plan = plan, .programs = programs, .error = error };
	NRT_STATUS status;

	check.balance = calloc((size_t)plan->nr_ranks * NRT_PLAN_MAX_SEMS, sizeof(*check.balance));
	if (!check.balance)
		return nrt_error_memory(error);
	status = check_all(&check);
	free(check.balance);
	return status;
}
