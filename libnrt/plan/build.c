// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "plan/build.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))

#define SCRATCH_ALIGN	64

static void failed(struct nrt_build *build, NRT_STATUS status)
{
	if (!build->status)
		build->status = status;
}

void nrt_build_no_memory(struct nrt_build *build)
{
	failed(build, nrt_error_memory(build->error));
}

/* Room for one more; NULL: there is none. */
static void *grow(struct nrt_build *build, void **array, size_t *room, size_t nr, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *new;

	if (build->status)
		return NULL;
	if (nr == *room) {
		new = reallocarray(*array, more, size);
		if (!new) {
			nrt_build_no_memory(build);
			return NULL;
		}
		*array = new;
		*room = more;
	}
	return (char *)*array + nr * size;
}

void nrt_build_begin(struct nrt_build *build, const struct nrt_plan *plan, unsigned int rank,
		     struct nrt_plan_program *program, struct nrt_error *error)
{
	memset(build, 0, sizeof(*build));
	memset(program, 0, sizeof(*program));
	program->rank = rank;
	build->plan = plan;
	build->program = program;
	build->error = error;
}

static void count_numbers(struct nrt_build *build, unsigned int nr)
{
	if (build->nr_steps < nr)
		build->nr_steps = nr;
}

void nrt_build_channel(struct nrt_build *build, unsigned int channel)
{
	count_numbers(build, build->number);
	build->channel = channel;
	build->first_queue += build->nr_queues;
	build->nr_queues = 0;
	build->number = 0;
	build->open = false;
}

unsigned int nrt_build_sems(struct nrt_build *build, unsigned int nr)
{
	struct nrt_plan_program *program = build->program;
	unsigned int first = program->nr_sems;
	struct nrt_plan_sem *new;

	if (build->status)
		return 0;
	if (nr > NRT_PLAN_MAX_SEMS - first) {
		failed(build, nrt_error_set(build->error, NRT_INVALID,
					    "the plan needs more than %d semaphores of a rank",
					    NRT_PLAN_MAX_SEMS));
		return 0;
	}
	new = reallocarray(program->sems, first + nr + 1, sizeof(*new));
	if (!new) {
		nrt_build_no_memory(build);
		return 0;
	}
	program->sems = new;
	memset(&new[first], 0, nr * sizeof(*new));
	program->nr_sems = first + nr;
	return first;
}

void nrt_build_sem(struct nrt_build *build, unsigned int sem, unsigned int poster,
		   enum nrt_plan_meaning meaning)
{
	if (build->status)
		return;
	build->program->sems[sem] = (struct nrt_plan_sem){
		.poster = (uint16_t)poster,
		.channel = (uint8_t)build->channel,
		.meaning = (uint8_t)meaning,
	};
}

void nrt_build_allow(struct nrt_build *build, unsigned int rank, unsigned int rights)
{
	build->rights[rank] |= (uint16_t)(rights << 8);
}

uint64_t nrt_build_scratch(struct nrt_build *build, uint64_t bytes)
{
	uint64_t at = build->program->scratch;

	build->program->scratch += (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
	return at;
}

void nrt_build_step(struct nrt_build *build, unsigned int queue)
{
	struct nrt_plan_program *program = build->program;
	struct nrt_plan_step *step;

	build->open = false;
	if (build->first_queue + queue >= NRT_PLAN_MAX_QUEUES)
		failed(build, nrt_error_set(build->error, NRT_INVALID,
					    "the plan needs more than %d queues of a rank",
					    NRT_PLAN_MAX_QUEUES));
	step = grow(build, (void **)&program->steps, &build->room_steps, program->nr_steps,
		    sizeof(*step));
	if (!step)
		return;
	if (build->nr_queues <= queue)
		build->nr_queues = queue + 1;
	count_numbers(build, build->number + 1);
	*step = (struct nrt_plan_step){
		.first_end = (uint32_t)program->nr_ends,
		.first_sync = (uint32_t)program->nr_syncs,
		.number = (uint16_t)build->number,
		.phase = (uint8_t)build->phase,
		.channel = (uint8_t)build->channel,
		.queue = (uint8_t)(build->first_queue + queue),
	};
	program->nr_steps++;
	build->open = true;
	build->moved = false;
}

static struct nrt_plan_step *last(struct nrt_build *build)
{
	return &build->program->steps[build->program->nr_steps - 1];
}

static bool sync(struct nrt_build *build, unsigned int rank, unsigned int sem, unsigned int value)
{
	struct nrt_plan_program *program = build->program;
	struct nrt_plan_sync *new;

	if (!build->open)
		return false;
	new = grow(build, (void **)&program->syncs, &build->room_syncs, program->nr_syncs,
		   sizeof(*new));
	if (!new)
		return false;
	*new = (struct nrt_plan_sync){ (uint16_t)rank, (uint16_t)sem, value };
	program->nr_syncs++;
	return true;
}

void nrt_build_wait(struct nrt_build *build, unsigned int rank, unsigned int sem,
		    unsigned int value)
{
	if (sync(build, rank, sem, value))
		last(build)->nr_wait++;
}

void nrt_build_post(struct nrt_build *build, unsigned int rank, unsigned int sem,
		    unsigned int value)
{
	if (!sync(build, rank, sem, value))
		return;
	last(build)->nr_post++;
	build->posts[rank] = true;
}

/* The byte of @side that is @done behind its first one, and the end of its run. */
static uint64_t offset_of(const struct nrt_side *side, uint64_t done, uint64_t *left)
{
	const struct nrt_zone *zone = side->zone;
	uint64_t at = side->at + done, run = at / zone->run;

	*left = zone->run - at % zone->run;
	return zone->offset + run * zone->stride + at % zone->run;
}

static void end(struct nrt_build *build, const struct nrt_side *side, uint64_t offset, bool writes)
{
	struct nrt_plan_program *program = build->program;
	unsigned int space = side->zone->space;
	struct nrt_plan_end *new;

	new = grow(build, (void **)&program->ends, &build->room_ends, program->nr_ends,
		   sizeof(*new));
	if (!new)
		return;
	*new = (struct nrt_plan_end){
		.offset = offset, .rank = (uint16_t)side->rank, .space = (uint8_t)space,
	};
	program->nr_ends++;
	build->rights[side->rank] |= writes ? NRT_PLAN_WRITES(space) : NRT_PLAN_READS(space);
}

/* Does a piece go on where the last one of the open step ends? */
static bool goes_on(struct nrt_build *build, enum nrt_plan_move kind, const uint64_t *offset,
		    const struct nrt_side **side, unsigned int nr_src, unsigned int nr)
{
	const struct nrt_plan_step *step = last(build);
	const struct nrt_plan_end *e = &build->program->ends[step->first_end];
	unsigned int i;

	if (!build->moved || step->move != kind || step->nr_src != nr_src ||
	    step->nr_src + step->nr_dst != nr)
		return false;
	for (i = 0; i < nr; i++)
		if (e[i].rank != side[i]->rank || e[i].space != side[i]->zone->space ||
		    e[i].offset + step->bytes != offset[i])
			return false;
	return true;
}

/* Begin a step with the same queue if the open one has a move. */
static void next_step(struct nrt_build *build)
{
	if (build->moved)
		nrt_build_step(build, last(build)->queue - build->first_queue);
}

static uint64_t piece(struct nrt_build *build, enum nrt_plan_move kind,
		      const struct nrt_side **side, unsigned int nr_src, unsigned int nr,
		      uint64_t done, uint64_t bytes)
{
	uint64_t offset[NRT_PLAN_MAX_SRC + NRT_PLAN_MAX_DST], left, most = bytes - done;
	struct nrt_plan_step *step;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		offset[i] = offset_of(side[i], done, &left);
		most = MIN(most, left);
	}
	if (goes_on(build, kind, offset, side, nr_src, nr)) {
		last(build)->bytes += most;
		return most;
	}
	next_step(build);
	if (!build->open)
		return most;
	step = last(build);
	step->move = (uint8_t)kind;
	step->bytes = most;
	step->nr_src = (uint8_t)nr_src;
	step->nr_dst = (uint8_t)(nr - nr_src);
	step->first_end = (uint32_t)build->program->nr_ends;
	for (i = 0; i < nr; i++)
		end(build, side[i], offset[i], i >= nr_src);
	build->moved = true;
	return most;
}

static void move(struct nrt_build *build, enum nrt_plan_move kind, const struct nrt_side *from,
		 unsigned int nr_from, const struct nrt_side *to, unsigned int nr_to,
		 uint64_t bytes)
{
	const struct nrt_side *side[NRT_PLAN_MAX_SRC + NRT_PLAN_MAX_DST];
	uint64_t done;
	unsigned int i;

	for (i = 0; i < nr_from; i++)
		side[i] = &from[i];
	for (i = 0; i < nr_to; i++)
		side[nr_from + i] = &to[i];
	for (done = 0; done < bytes && build->open;)
		done += piece(build, kind, side, nr_from, nr_from + nr_to, done, bytes);
}

void nrt_build_copy(struct nrt_build *build, struct nrt_side from, const struct nrt_side *to,
		    unsigned int nr_to, uint64_t bytes)
{
	move(build, NRT_PLAN_COPY, &from, 1, to, nr_to, bytes);
}

void nrt_build_combine(struct nrt_build *build, const struct nrt_side *from, unsigned int nr_from,
		       const struct nrt_side *to, unsigned int nr_to, uint64_t bytes)
{
	move(build, NRT_PLAN_COMBINE, from, nr_from, to, nr_to, bytes);
}

void nrt_build_fence(struct nrt_build *build, unsigned int sems, unsigned int nr)
{
	unsigned int i, me = build->program->rank;

	for (i = 0; i < nr; i++) {
		nrt_build_sem(build, sems + i, me, NRT_PLAN_LANDED);
		nrt_build_step(build, i);
		nrt_build_post(build, me, sems + i, 1);
	}
	nrt_build_step(build, 0);
	for (i = 0; i < nr; i++)
		nrt_build_wait(build, me, sems + i, 1);
}

unsigned int nrt_build_value(struct nrt_build *build, enum nrt_plan_space space, uint64_t offset)
{
	struct nrt_plan_program *program = build->program;
	struct nrt_plan_value *value;

	value = grow(build, (void **)&program->values, &build->room_values, program->nr_values,
		     sizeof(*value));
	if (!value)
		return 0;
	*value = (struct nrt_plan_value){ .offset = offset, .space = (uint8_t)space };
	program->nr_values++;
	return (unsigned int)program->nr_values;
}

void nrt_build_vary(struct nrt_build *build, unsigned int length, unsigned int from,
		    unsigned int to)
{
	struct nrt_plan_end *ends;
	struct nrt_plan_step *step;

	if (!build->open || build->status || !build->moved)
		return;
	step = last(build);
	ends = &build->program->ends[step->first_end];
	step->length = (uint16_t)length;
	ends[0].value = (uint16_t)from;
	ends[step->nr_src].value = (uint16_t)to;
}

/* Drop steps without any part, and put those of all channels in order of their numbers. */
static void sort_steps(struct nrt_build *build)
{
	struct nrt_plan_program *program = build->program;
	unsigned int nr = build->nr_steps, i;
	struct nrt_plan_step *sorted;
	size_t *first, s;

	first = calloc(nr + 1, sizeof(*first));
	sorted = malloc((program->nr_steps + 1) * sizeof(*sorted));
	if (!first || !sorted) {
		nrt_build_no_memory(build);
		free(first);
		free(sorted);
		return;
	}
	for (s = 0; s < program->nr_steps; s++) {
		const struct nrt_plan_step *step = &program->steps[s];

		if (step->move || step->nr_wait || step->nr_post)
			first[step->number + 1]++;
	}
	for (i = 0; i < nr; i++)
		first[i + 1] += first[i];
	for (s = 0; s < program->nr_steps; s++) {
		const struct nrt_plan_step *step = &program->steps[s];

		if (step->move || step->nr_wait || step->nr_post)
			sorted[first[step->number]++] = *step;
	}
	program->nr_steps = nr ? first[nr - 1] : 0;
	free(first);
	free(program->steps);
	program->steps = sorted;
}

static void find_peers(struct nrt_build *build)
{
	struct nrt_plan_program *program = build->program;
	bool posted[NRT_PLAN_MAX_RANKS] = { false };
	unsigned int i;

	for (i = 0; i < program->nr_sems; i++)
		if (program->sems[i].meaning)
			posted[program->sems[i].poster] = true;
	program->peers = calloc(build->plan->nr_ranks, sizeof(*program->peers));
	if (!program->peers) {
		nrt_build_no_memory(build);
		return;
	}
	for (i = 0; i < build->plan->nr_ranks; i++) {
		if (i == program->rank ||
		    (!build->rights[i] && !build->posts[i] && !posted[i]))
			continue;
		program->peers[program->nr_peers++] = (struct nrt_plan_peer){
			.rank = (uint16_t)i,
			.theirs = (uint8_t)build->rights[i],
			.ours = (uint8_t)(build->rights[i] >> 8),
			.posts = build->posts[i],
			.posted = posted[i],
		};
	}
}

NRT_STATUS nrt_build_end(struct nrt_build *build)
{
	count_numbers(build, build->number);
	if (!build->status)
		sort_steps(build);
	if (!build->status)
		find_peers(build);
	build->program->nr_queues = build->first_queue + build->nr_queues;
	if (build->status)
		nrt_plan_program_fini(build->program);
	return build->status;
}
