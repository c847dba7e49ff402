// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "plan/race.h"
#include "plan/sim.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))

/* A queue has room for so many moves; a CC-core that gives it more waits. */
#define QUEUE_ROOM	64

/**
 * struct item - a step that a queue has to do
 * @length, @offset: what the values of the step were
 * @clock: of the CC-core when it gave it
 */
struct item {
	const struct nrt_plan_step *step;
	uint64_t bytes;
	uint64_t offset[NRT_PLAN_MAX_SRC + NRT_PLAN_MAX_DST];
	uint32_t *clock;
};

/* A post that nobody has taken. */
struct post {
	struct post *next;
	uint32_t left;
	uint32_t clock[];
};

struct sem {
	struct post *first;
	struct post *last;
	uint64_t value;
};

enum kind { CC_CORE, QUEUE };

/**
 * struct actor - a CC-core or a queue of a rank
 * @index: of the CC-core or queue in its rank
 * @next: CC-core: the step to look at
 * @items, @first, @nr: queue: ring of items
 * @clock: what has happened before its next action
 * @listed: it is in the list of those that may go on
 */
struct actor {
	enum kind kind;
	unsigned int rank;
	unsigned int index;
	size_t next;
	struct item *items;
	unsigned int first;
	unsigned int nr;
	uint32_t *clock;
	bool listed;
};

/**
 * struct memory - of a rank
 * @bytes, @size: all spaces
 * @base: of each space
 * @cells: of granules
 * @rounds: that the rank has still to begin
 */
struct memory {
	uint8_t *bytes;
	uint64_t size;
	uint64_t base[NRT_PLAN_NR_SPACES];
	struct race_cell *cells;
	unsigned int rounds;
};

/**
 * struct nrt_sim - a simulation
 * @granule: bytes that race.h looks at together
 * @actors, @nr_actors: of all ranks
 * @first_actor: of each rank: its CC-cores, then its queues
 * @ready, @nr_ready: actors that may go on
 * @sems: NRT_PLAN_MAX_SEMS for each rank
 * @nothing: a clock before everything
 * @random: state
 */
struct nrt_sim {
	const struct nrt_plan *plan;
	const struct nrt_plan_program *programs;
	struct memory *memory;
	unsigned int granule;
	unsigned int cc_cores;
	struct nrt_sim_how how;
	struct actor *actors;
	unsigned int nr_actors;
	unsigned int *first_actor;
	unsigned int *ready;
	unsigned int nr_ready;
	struct sem *sems;
	uint32_t *nothing;
	uint64_t random;
	struct nrt_error *error;
};

static uint64_t align8(uint64_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* Where the spaces of @rank lie, and how much memory it needs. */
static void lay_out(const struct nrt_plan *plan, unsigned int rank, struct memory *memory)
{
	const uint64_t *bytes = plan->bytes;
	uint64_t at = 0;

	memory->base[NRT_PLAN_INPUT] = 0;
	at = align8(bytes[NRT_PLAN_INPUT]);
	memory->base[NRT_PLAN_OUTPUT] = at;
	if (plan->in_place && plan->op == NRT_PLAN_ALL_GATHER) {
		memory->base[NRT_PLAN_INPUT] = rank * plan->block;
		memory->base[NRT_PLAN_OUTPUT] = 0;
		at = 0;
	} else if (plan->in_place && plan->op == NRT_PLAN_REDUCE_SCATTER) {
		memory->base[NRT_PLAN_OUTPUT] = rank * plan->block;
		at = align8(bytes[NRT_PLAN_INPUT]) - align8(bytes[NRT_PLAN_OUTPUT]);
	} else if (plan->in_place) {
		memory->base[NRT_PLAN_OUTPUT] = 0;
		at = bytes[NRT_PLAN_INPUT] > bytes[NRT_PLAN_OUTPUT] ?
		     align8(bytes[NRT_PLAN_INPUT]) - align8(bytes[NRT_PLAN_OUTPUT]) : 0;
	}
	at += align8(bytes[NRT_PLAN_OUTPUT]);
	memory->base[NRT_PLAN_SCRATCH] = at;
	at += align8(bytes[NRT_PLAN_SCRATCH]);
	memory->base[NRT_PLAN_META] = at;
	memory->size = at + align8(bytes[NRT_PLAN_META]) + 8;
}

NRT_STATUS nrt_sim_new(const struct nrt_plan *plan, const struct nrt_plan_program *programs,
		       struct nrt_sim **sim, struct nrt_error *error)
{
	struct nrt_sim *new = calloc(1, sizeof(*new));
	unsigned int i;

	if (!new)
		return nrt_error_memory(error);
	new->plan = plan;
	new->programs = programs;
	new->granule = MIN(plan->element, 4);
	new->memory = calloc(plan->nr_ranks, sizeof(*new->memory));
	for (i = 0; new->memory && i < plan->nr_ranks; i++) {
		struct memory *memory = &new->memory[i];

		lay_out(plan, i, memory);
		memory->bytes = calloc(1, memory->size);
		memory->cells = calloc(memory->size / new->granule + 1, sizeof(*memory->cells));
		if (!memory->bytes || !memory->cells)
			break;
	}
	if (i < plan->nr_ranks) {
		nrt_sim_free(new);
		return nrt_error_memory(error);
	}
	*sim = new;
	return NRT_SUCCESS;
}

uint8_t *nrt_sim_space(struct nrt_sim *sim, unsigned int rank, enum nrt_plan_space space)
{
	return sim->memory[rank].bytes + sim->memory[rank].base[space];
}

static void free_actors(struct nrt_sim *sim)
{
	unsigned int i, j;

	for (i = 0; sim->actors && i < sim->nr_actors; i++) {
		struct actor *actor = &sim->actors[i];

		for (j = 0; actor->items && j < QUEUE_ROOM; j++)
			free(actor->items[j].clock);
		free(actor->items);
		free(actor->clock);
	}
	for (i = 0; sim->sems && i < sim->plan->nr_ranks * NRT_PLAN_MAX_SEMS; i++) {
		while (sim->sems[i].first) {
			struct post *post = sim->sems[i].first;

			sim->sems[i].first = post->next;
			free(post);
		}
	}
	free(sim->actors);
	free(sim->first_actor);
	free(sim->ready);
	free(sim->sems);
	free(sim->nothing);
	sim->nothing = NULL;
	sim->actors = NULL;
	sim->first_actor = NULL;
	sim->ready = NULL;
	sim->sems = NULL;
}

void nrt_sim_free(struct nrt_sim *sim)
{
	unsigned int i;
	uint64_t g;

	if (!sim)
		return;
	free_actors(sim);
	for (i = 0; sim->memory && i < sim->plan->nr_ranks; i++) {
		struct memory *memory = &sim->memory[i];

		for (g = 0; memory->cells && g <= memory->size / sim->granule; g++)
			race_free(&memory->cells[g]);
		free(memory->bytes);
		free(memory->cells);
	}
	free(sim->memory);
	free(sim);
}

static NRT_STATUS new_actors(struct nrt_sim *sim)
{
	unsigned int n = sim->plan->nr_ranks, i, j;
	struct actor *actor;

	sim->nr_actors = 0;
	sim->first_actor = calloc(n, sizeof(*sim->first_actor));
	sim->sems = calloc((size_t)n * NRT_PLAN_MAX_SEMS, sizeof(*sim->sems));
	if (!sim->first_actor || !sim->sems)
		return nrt_error_memory(sim->error);
	for (i = 0; i < n; i++) {
		sim->first_actor[i] = sim->nr_actors;
		sim->nr_actors += sim->cc_cores + sim->programs[i].nr_queues;
	}
	sim->actors = calloc(sim->nr_actors, sizeof(*sim->actors));
	sim->ready = calloc(sim->nr_actors, sizeof(*sim->ready));
	sim->nothing = calloc(sim->nr_actors, sizeof(*sim->nothing));
	if (!sim->actors || !sim->ready || !sim->nothing)
		return nrt_error_memory(sim->error);
	for (i = 0; i < n; i++) {
		for (j = 0; j < sim->cc_cores + sim->programs[i].nr_queues; j++) {
			actor = &sim->actors[sim->first_actor[i] + j];
			actor->kind = j < sim->cc_cores ? CC_CORE : QUEUE;
			actor->rank = i;
			actor->index = j < sim->cc_cores ? j : j - sim->cc_cores;
			actor->clock = calloc(sim->nr_actors, sizeof(*actor->clock));
			if (actor->kind == QUEUE)
				actor->items = calloc(QUEUE_ROOM, sizeof(*actor->items));
			if (!actor->clock || (actor->kind == QUEUE && !actor->items))
				return nrt_error_memory(sim->error);
		}
	}
	return NRT_SUCCESS;
}

static void may_go_on(struct nrt_sim *sim, unsigned int actor)
{
	if (sim->actors[actor].listed)
		return;
	sim->actors[actor].listed = true;
	sim->ready[sim->nr_ready++] = actor;
}

static void know(struct nrt_sim *sim, unsigned int rank, enum nrt_plan_space space)
{
	struct memory *memory = &sim->memory[rank];
	uint64_t first = memory->base[space] / sim->granule, g;

	for (g = 0; g < sim->plan->bytes[space] / sim->granule; g++)
		memory->cells[first + g].known = true;
}

/*
 * All CC-cores of a rank begin at one moment, behind @clock. Until then its memory is its owner's
 * alone.
 */
static void begin_rank(struct nrt_sim *sim, unsigned int rank, const uint32_t *clock)
{
	unsigned int first = sim->first_actor[rank], j;
	struct memory *memory = &sim->memory[rank];
	struct race_epoch now = { first, clock[first] + 1 };
	uint64_t g;

	memory->rounds--;
	for (j = 0; j < sim->cc_cores; j++) {
		struct actor *actor = &sim->actors[first + j];

		race_join(actor->clock, clock, sim->nr_actors);
		actor->clock[first] = now.tick;
		actor->clock[first + j]++;
		actor->next = 0;
		may_go_on(sim, first + j);
	}
	for (g = 0; g <= memory->size / sim->granule; g++)
		race_begin(&memory->cells[g], now);
	know(sim, rank, NRT_PLAN_INPUT);
	know(sim, rank, NRT_PLAN_META);
}

static uint64_t next_random(struct nrt_sim *sim)
{
	uint64_t x = sim->random += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static const char *space_name(unsigned int space)
{
	static const char * const names[] = { "input", "output", "scratch", "metadata" };

	return names[space];
}

/* "rank 3, step 5 (scatter), channel 0" */
static NRT_STATUS wrong(struct nrt_sim *sim, unsigned int rank, const struct nrt_plan_step *step,
			const char *what, const struct nrt_plan_end *end, uint64_t offset,
			const struct race_epoch *other)
{
	char beside[96] = "";

	if (other)
		snprintf(beside, sizeof(beside), ", beside a %s of rank %u",
			 sim->actors[other->actor].kind == QUEUE ? "queue" : "CC-core",
			 sim->actors[other->actor].rank);
	return nrt_error_set(sim->error, NRT_FAILURE,
			     "rank %u, step %u (%s), channel %u, queue %u: %s: %s of rank %u at byte %llu%s",
			     rank, step->number, nrt_plan_phase_name(step->phase), step->channel,
			     step->queue, what, space_name(end->space), end->rank,
			     (unsigned long long)offset, beside);
}

/* Look at all granules of an access. */
static NRT_STATUS look(struct nrt_sim *sim, const struct actor *actor,
		       const struct nrt_plan_step *step, const struct nrt_plan_end *end,
		       uint64_t offset, uint64_t bytes, bool writes)
{
	static const char * const what[] = {
		[RACE_UNKNOWN] = "reads what nobody has written",
		[RACE_READ_WRITE] = "a read and a write have no order",
		[RACE_WRITE_WRITE] = "two writes have no order",
		[RACE_FULL] = "more readers than the simulator can follow",
	};
	struct memory *memory = &sim->memory[end->rank];
	unsigned int self = (unsigned int)(actor - sim->actors);
	uint64_t base = memory->base[end->space], g;
	struct race_epoch other;
	enum race_found found;

	if (offset > sim->plan->bytes[end->space] ||
	    bytes > sim->plan->bytes[end->space] - offset)
		return wrong(sim, actor->rank, step, "leaves the space", end, offset, NULL);
	for (g = (base + offset) / sim->granule; g < (base + offset + bytes) / sim->granule; g++) {
		if (writes)
			found = race_write(&memory->cells[g], self, actor->clock, &other);
		else
			found = race_read(&memory->cells[g], self, actor->clock, &other);
		if (found)
			return wrong(sim, actor->rank, step, what[found], end,
				     g * sim->granule - base,
				     found == RACE_UNKNOWN ? NULL : &other);
	}
	return NRT_SUCCESS;
}

static uint8_t *bytes_at(struct nrt_sim *sim, const struct nrt_plan_end *end, uint64_t offset)
{
	return nrt_sim_space(sim, end->rank, end->space) + offset;
}

static NRT_STATUS do_move(struct nrt_sim *sim, struct actor *actor, const struct item *item)
{
	const struct nrt_plan_program *program = &sim->programs[actor->rank];
	const struct nrt_plan_step *step = item->step;
	const struct nrt_plan_end *end = nrt_plan_src(program, step);
	const void *src[NRT_PLAN_MAX_SRC];
	unsigned int i, nr = step->nr_src + step->nr_dst;
	uint8_t *dst;

	for (i = 0; i < nr; i++)
		if (look(sim, actor, step, &end[i], item->offset[i], item->bytes,
			 i >= step->nr_src))
			return sim->error->status;
	for (i = 0; i < step->nr_src; i++)
		src[i] = bytes_at(sim, &end[i], item->offset[i]);
	dst = bytes_at(sim, &end[step->nr_src], item->offset[step->nr_src]);
	if (step->move == NRT_PLAN_COMBINE)
		sim->how.combine(sim->how.arg, sim->plan->reduce, dst, src, step->nr_src,
				 item->bytes / sim->plan->element);
	else
		memmove(dst, src[0], item->bytes);
	for (i = step->nr_src + 1; i < nr; i++)
		memmove(bytes_at(sim, &end[i], item->offset[i]), dst, item->bytes);
	return NRT_SUCCESS;
}

static unsigned int cc_of(const struct nrt_sim *sim, unsigned int rank, unsigned int channel)
{
	return sim->first_actor[rank] + channel % sim->cc_cores;
}

static NRT_STATUS do_post(struct nrt_sim *sim, const struct actor *actor,
			  const struct nrt_plan_sync *sync)
{
	struct sem *sem = &sim->sems[sync->rank * NRT_PLAN_MAX_SEMS + sync->sem];
	struct post *post = malloc(sizeof(*post) + sim->nr_actors * sizeof(uint32_t));

	if (!post)
		return nrt_error_memory(sim->error);
	post->next = NULL;
	post->left = sync->value;
	memcpy(post->clock, actor->clock, sim->nr_actors * sizeof(uint32_t));
	if (sem->first)
		sem->last->next = post;
	else
		sem->first = post;
	sem->last = post;
	sem->value += sync->value;
	may_go_on(sim, cc_of(sim, sync->rank,
			     sim->programs[sync->rank].sems[sync->sem].channel));
	return NRT_SUCCESS;
}

/* The CC-core's next step, or NULL. */
static const struct nrt_plan_step *step_of(const struct nrt_sim *sim, struct actor *actor)
{
	const struct nrt_plan_program *program = &sim->programs[actor->rank];

	for (; actor->next < program->nr_steps; actor->next++)
		if (program->steps[actor->next].channel % sim->cc_cores == actor->index)
			return &program->steps[actor->next];
	return NULL;
}

/* All that @rank did is done. */
static bool has_ended(struct nrt_sim *sim, unsigned int rank)
{
	struct actor *actor = &sim->actors[sim->first_actor[rank]];
	unsigned int i;

	for (i = 0; i < sim->cc_cores + sim->programs[rank].nr_queues; i++)
		if (actor[i].kind == QUEUE ? actor[i].nr : !!step_of(sim, &actor[i]))
			return false;
	return true;
}

/* Whoever touches the memory of @rank from now on is not ordered behind @clock. */
static void close_memory(struct nrt_sim *sim, unsigned int rank, const uint32_t *clock)
{
	unsigned int first = sim->first_actor[rank];
	struct memory *memory = &sim->memory[rank];
	uint64_t g;

	for (g = 0; g <= memory->size / sim->granule; g++) {
		race_begin(&memory->cells[g], (struct race_epoch){ first, clock[first] + 1 });
		memory->cells[g].known = true;
	}
}

/* A rank may have come to its end: nobody touches it any more, and its next round begins. */
static NRT_STATUS look_for_end(struct nrt_sim *sim, unsigned int rank)
{
	struct memory *memory = &sim->memory[rank];
	struct race_epoch other = { 0 };
	uint32_t *clock;
	unsigned int i;
	bool settled;
	uint64_t g;

	if (!has_ended(sim, rank))
		return NRT_SUCCESS;
	clock = calloc(sim->nr_actors, sizeof(*clock));
	if (!clock)
		return nrt_error_memory(sim->error);
	for (i = 0; i < sim->cc_cores + sim->programs[rank].nr_queues; i++)
		race_join(clock, sim->actors[sim->first_actor[rank] + i].clock, sim->nr_actors);
	settled = true;
	for (g = 0; settled && g < memory->size / sim->granule; g++)
		settled = race_settled(&memory->cells[g], clock, &other);
	if (settled && memory->rounds)
		begin_rank(sim, rank, clock);
	else if (settled)
		close_memory(sim, rank, clock);
	free(clock);
	if (settled)
		return NRT_SUCCESS;
	return nrt_error_set(sim->error, NRT_FAILURE,
			     "rank %u may have ended when rank %u touches its memory", rank,
			     sim->actors[other.actor].rank);
}

/* A queue does its next step. */
static NRT_STATUS run_queue(struct nrt_sim *sim, struct actor *actor)
{
	const struct nrt_plan_program *program = &sim->programs[actor->rank];
	unsigned int self = (unsigned int)(actor - sim->actors), i;
	struct item *item = &actor->items[actor->first];
	const struct nrt_plan_step *step = item->step;

	race_join(actor->clock, item->clock, sim->nr_actors);
	actor->clock[self]++;
	if (step->move && do_move(sim, actor, item))
		return sim->error->status;
	for (i = 0; i < step->nr_post; i++)
		if (do_post(sim, actor, &nrt_plan_posts(program, step)[i]))
			return sim->error->status;
	actor->first = (actor->first + 1) % QUEUE_ROOM;
	if (actor->nr-- == QUEUE_ROOM)
		may_go_on(sim, cc_of(sim, actor->rank, step->channel));
	if (actor->nr)
		may_go_on(sim, self);
	return actor->nr ? NRT_SUCCESS : look_for_end(sim, actor->rank);
}

/* Take what a wait takes, and learn what was before it. */
static void take(struct nrt_sim *sim, struct actor *actor, const struct nrt_plan_sync *wait)
{
	struct sem *sem = &sim->sems[actor->rank * NRT_PLAN_MAX_SEMS + wait->sem];
	uint32_t left = wait->value, part;
	struct post *post;

	sem->value -= left;
	while (left) {
		post = sem->first;
		part = MIN(left, post->left);
		race_join(actor->clock, post->clock, sim->nr_actors);
		post->left -= part;
		left -= part;
		if (!post->left) {
			sem->first = post->next;
			free(post);
		}
	}
}

static NRT_STATUS read_value(struct nrt_sim *sim, struct actor *actor,
			     const struct nrt_plan_step *step, unsigned int number, uint64_t *value)
{
	const struct nrt_plan_program *program = &sim->programs[actor->rank];
	struct nrt_plan_end end = { .rank = (uint16_t)actor->rank };
	uint32_t word;

	*value = 0;
	if (!number)
		return NRT_SUCCESS;
	end.space = program->values[number - 1].space;
	end.offset = program->values[number - 1].offset;
	if (look(sim, actor, step, &end, end.offset, sizeof(word), false))
		return sim->error->status;
	memcpy(&word, bytes_at(sim, &end, end.offset), sizeof(word));
	*value = (uint64_t)word * sim->plan->element;
	return NRT_SUCCESS;
}

static NRT_STATUS fill_item(struct nrt_sim *sim, struct actor *actor,
			    const struct nrt_plan_step *step, struct item *item)
{
	const struct nrt_plan_program *program = &sim->programs[actor->rank];
	const struct nrt_plan_end *end = nrt_plan_src(program, step);
	uint64_t more;
	unsigned int i;

	item->step = step;
	item->bytes = step->bytes;
	for (i = 0; i < (unsigned int)step->nr_src + step->nr_dst; i++) {
		if (read_value(sim, actor, step, end[i].value, &more))
			return sim->error->status;
		item->offset[i] = end[i].offset + more;
	}
	if (step->length && read_value(sim, actor, step, step->length, &item->bytes))
		return sim->error->status;
	if (item->bytes > step->bytes)
		return wrong(sim, actor->rank, step, "is longer than a block", end, item->bytes,
			     NULL);
	if (!item->clock)
		item->clock = malloc(sim->nr_actors * sizeof(*item->clock));
	if (!item->clock)
		return nrt_error_memory(sim->error);
	memcpy(item->clock, actor->clock, sim->nr_actors * sizeof(*item->clock));
	return NRT_SUCCESS;
}

/* The first wait of @step that has not enough; NULL: all have. */
static const struct nrt_plan_sync *lacks(const struct nrt_sim *sim, const struct actor *actor,
					 const struct nrt_plan_step *step)
{
	const struct nrt_plan_sync *wait = nrt_plan_waits(&sim->programs[actor->rank], step);
	unsigned int i;

	for (i = 0; i < step->nr_wait; i++)
		if (sim->sems[actor->rank * NRT_PLAN_MAX_SEMS + wait[i].sem].value < wait[i].value)
			return &wait[i];
	return NULL;
}

/* A CC-core goes through its next step, if it can. */
static NRT_STATUS run_cc(struct nrt_sim *sim, struct actor *actor)
{
	const struct nrt_plan_program *program = &sim->programs[actor->rank];
	const struct nrt_plan_step *step = step_of(sim, actor);
	unsigned int self = (unsigned int)(actor - sim->actors), i, at;
	struct actor *queue = NULL;

	if (!step || lacks(sim, actor, step))
		return NRT_SUCCESS;
	if (step->move || step->nr_post) {
		at = sim->first_actor[actor->rank] + sim->cc_cores + step->queue;
		queue = &sim->actors[at];
		if (queue->nr == QUEUE_ROOM)
			return NRT_SUCCESS;
	}
	for (i = 0; i < step->nr_wait; i++)
		take(sim, actor, &nrt_plan_waits(program, step)[i]);
	actor->clock[self]++;
	if (queue) {
		if (fill_item(sim, actor, step,
			      &queue->items[(queue->first + queue->nr) % QUEUE_ROOM]))
			return sim->error->status;
		queue->nr++;
		may_go_on(sim, at);
	}
	actor->next++;
	may_go_on(sim, self);
	return queue ? NRT_SUCCESS : look_for_end(sim, actor->rank);
}

/* Everyone stands: has everyone come to the end? */
static NRT_STATUS stands(struct nrt_sim *sim)
{
	unsigned int i;

	for (i = 0; i < sim->nr_actors; i++) {
		struct actor *actor = &sim->actors[i];
		const struct nrt_plan_step *step;
		const struct nrt_plan_sync *wait;

		step = actor->kind == CC_CORE ? step_of(sim, actor) : NULL;
		if (!step)
			continue;
		wait = lacks(sim, actor, step);
		if (!wait)
			continue;
		return nrt_error_set(sim->error, NRT_FAILURE,
				     "rank %u, step %u (%s), channel %u waits for ever: semaphore %u has %llu of %u, and rank %u does not post it",
				     actor->rank, step->number, nrt_plan_phase_name(step->phase),
				     step->channel, wait->sem,
				     (unsigned long long)sim->sems[actor->rank *
				     NRT_PLAN_MAX_SEMS + wait->sem].value, wait->value, wait->rank);
	}
	return NRT_SUCCESS;
}

/* Semaphores are as they were. */
static NRT_STATUS finish(struct nrt_sim *sim)
{
	unsigned int i, sems = sim->plan->nr_ranks * NRT_PLAN_MAX_SEMS;

	for (i = 0; i < sems; i++)
		if (sim->sems[i].value)
			return nrt_error_set(sim->error, NRT_FAILURE,
					     "rank %u leaves semaphore %u with %llu",
					     i / NRT_PLAN_MAX_SEMS, i % NRT_PLAN_MAX_SEMS,
					     (unsigned long long)sim->sems[i].value);
	return NRT_SUCCESS;
}

static NRT_STATUS go(struct nrt_sim *sim)
{
	NRT_STATUS status;
	unsigned int i, at;

	sim->nr_ready = 0;
	for (i = 0; i < sim->plan->nr_ranks; i++) {
		sim->memory[i].rounds = sim->how.rounds ? sim->how.rounds : 1;
		begin_rank(sim, i, sim->nothing);
	}
	while (sim->nr_ready) {
		i = (unsigned int)(next_random(sim) % sim->nr_ready);
		at = sim->ready[i];
		sim->ready[i] = sim->ready[--sim->nr_ready];
		sim->actors[at].listed = false;
		status = sim->actors[at].kind == QUEUE ? run_queue(sim, &sim->actors[at]) :
			 run_cc(sim, &sim->actors[at]);
		if (status)
			return status;
	}
	status = stands(sim);
	return status ? status : finish(sim);
}

NRT_STATUS nrt_sim_run(struct nrt_sim *sim, const struct nrt_sim_how *how,
		       struct nrt_error *error)
{
	NRT_STATUS status;

	sim->how = *how;
	sim->error = error;
	sim->random = how->seed;
	sim->cc_cores = how->cc_cores ? how->cc_cores : 1;
	status = new_actors(sim);
	if (!status)
		status = go(sim);
	free_actors(sim);
	return status;
}
