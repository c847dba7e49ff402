// SPDX-License-Identifier: MIT
/*
 * Who waited for whom. In the model a wait ends at the moment of the post that ends it, a queue
 * begins a fixed time after its trigger, and an engine that wants a port begins at the moment
 * at which the other one ends. So equal times tell the cause.
 */
#include <endian.h>
#include <stdlib.h>

#include "chip/isa/trn_isa.h"
#include "neuron/udma.h"
#include "profile.h"

/* A post of a semaphore, or a trigger of a queue. */
struct mark {
	uint64_t at;
	uint32_t event;
};

struct marks {
	struct mark *mark;
	uint32_t nr;
	uint32_t room;
};

/**
 * struct waits - what is worked out
 * @post: of each semaphore and event, by core: in the order of time
 * @trigger: of each actor; mark.at: descriptors that had been triggered before it
 * @generate: the same of packets that were generated
 * @triggered: descriptors, and packets, so far
 */
struct waits {
	struct profile *profile;
	struct marks post[PROFILE_MAX_CORES][PROFILE_SEMS];
	struct marks trigger[PROFILE_MAX_CORES * PROFILE_ACTORS];
	struct marks generate[PROFILE_MAX_CORES * PROFILE_ACTORS];
	uint64_t triggered[PROFILE_MAX_CORES * PROFILE_ACTORS];
	struct nrt_error *error;
};

static NRT_STATUS add_mark(struct waits *waits, struct marks *marks, uint64_t at, uint32_t event)
{
	struct mark *grown;

	if (marks->nr == marks->room) {
		marks->room = marks->room ? 2 * marks->room : 16;
		grown = reallocarray(marks->mark, marks->room, sizeof(*grown));
		if (!grown)
			return nrt_error_memory(waits->error);
		marks->mark = grown;
	}
	marks->mark[marks->nr++] = (struct mark){ at, event };
	return NRT_SUCCESS;
}

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* The last mark at @at or before; NULL: there is none. */
static const struct mark *last_mark(const struct marks *marks, uint64_t at)
{
	uint32_t low = 0, high = marks->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (marks->mark[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &marks->mark[low - 1] : NULL;
}

/* --- Triggers --- */

static const struct neuron_inst *inst_of(const struct profile *profile,
					 const struct profile_event *event)
{
	const struct profile_core *core = &profile->core[profile_core_of(event->actor)];

	return &core->image[profile_unit_of(event->actor)][event->pc];
}

static NRT_STATUS add_triggers(struct waits *waits, uint32_t index)
{
	const struct profile_event *event = &waits->profile->event[index];
	const struct neuron_inst *inst = inst_of(waits->profile, event);
	unsigned int queue = inst->reg[0] | (unsigned int)inst->reg[1] << 8;
	unsigned int nr = trn_isa_flags(inst) & NEURON_INST_QUEUES ? inst->reg[2] : 1;
	uint32_t actor = profile_core_of(event->actor) * PROFILE_ACTORS + NEURON_NR_ENGINES;

	for (; nr && queue < NEURON_JOB_MAX_QUEUES; nr--, queue++) {
		struct marks *marks = &waits->trigger[actor + queue];

		if (inst->opcode == NEURON_OP_DMA_GENERATE) {
			marks = &waits->generate[actor + queue];
			if (add_mark(waits, marks, marks->nr, index))
				return waits->error->status;
			continue;
		}
		if (add_mark(waits, marks, waits->triggered[actor + queue], index))
			return waits->error->status;
		waits->triggered[actor + queue] += le32toh(inst->imm0);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS find_triggers(struct waits *waits)
{
	const struct profile *profile = waits->profile;
	uint32_t i;

	for (i = 0; i < profile->nr_events; i++) {
		const struct profile_event *event = &profile->event[i];

		if (profile_is_queue(event->actor) || (event->code != NEURON_OP_DMA_TRIGGER &&
						       event->code != NEURON_OP_DMA_GENERATE))
			continue;
		if (add_triggers(waits, i))
			return waits->error->status;
	}
	return NRT_SUCCESS;
}

/* Packets of a queue get their owners: it moves descriptors in the order of the triggers. */
static void find_owners(struct waits *waits, uint32_t actor)
{
	struct profile *profile = waits->profile;
	const struct profile_actor *own = &profile->actor[actor];
	uint64_t moved = 0;
	uint32_t i;

	for (i = own->first; i < own->first + own->count; i++) {
		struct profile_event *event = &profile->event[profile->order[i]];
		const struct mark *mark;

		if (event->pc & NEURON_UDMA_PC_GENERATED) {
			mark = last_mark(&waits->generate[actor],
					 event->pc & ~NEURON_UDMA_PC_GENERATED);
		} else {
			mark = last_mark(&waits->trigger[actor], moved);
			moved += event->code;
		}
		if (mark)
			event->owner = mark->event;
	}
}

/* --- Posts --- */

/*
 * An instruction posts when it ends; with LANDED the last packet that it triggered does. One whose
 * work is to post does that when it begins.
 */
static NRT_STATUS add_post(struct waits *waits, uint32_t index, const struct profile_step *step)
{
	struct marks *marks = &waits->post[step->post_core][step->post_sem];
	const struct profile_event *event = &waits->profile->event[index];
	bool early = !profile_is_queue(event->actor) && !step->landed &&
		     (event->code == NEURON_OP_EVENT_SET || event->code == NEURON_OP_REG_STORE) &&
		     !NEURON_GET(NEURON_SYNC_POST, inst_of(waits->profile, event)->sync);

	return add_mark(waits, marks, early ? event->begin_ns : event->end_ns, index);
}

static NRT_STATUS find_landed(struct waits *waits, uint32_t actor)
{
	const struct profile *profile = waits->profile;
	const struct profile_actor *own = &profile->actor[actor];
	uint32_t i;

	for (i = own->first; i < own->first + own->count; i++) {
		const uint32_t index = profile->order[i];
		const uint32_t owner = profile->event[index].owner;
		const bool more = i + 1 < own->first + own->count &&
				  profile->event[profile->order[i + 1]].owner == owner;
		const struct profile_step *step;

		if (owner == PROFILE_NONE || more)
			continue;
		step = &profile->step[profile->event[owner].step];
		if (step->landed && add_post(waits, index, step))
			return waits->error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS find_posts(struct waits *waits)
{
	const struct profile *profile = waits->profile;
	uint32_t i, core;

	for (i = 0; i < profile->nr_events; i++) {
		const struct profile_step *step = &profile->step[profile->event[i].step];

		if (step->post_sem >= 0 && !step->landed &&
		    step->post_core < profile->nr_cores && add_post(waits, i, step))
			return waits->error->status;
	}
	for (i = 0; i < PROFILE_MAX_CORES * PROFILE_ACTORS; i++)
		if (profile_is_queue(i) && find_landed(waits, i))
			return waits->error->status;
	for (core = 0; core < profile->nr_cores; core++)
		for (i = 0; i < PROFILE_SEMS; i++)
			if (waits->post[core][i].nr)
				qsort(waits->post[core][i].mark, waits->post[core][i].nr,
				      sizeof(struct mark), compare_marks);
	return NRT_SUCCESS;
}

/* --- Causes --- */

/* The event of @actor, whose events end one after the other, that ended at @at exactly. */
static uint32_t ended_at(const struct profile *profile, uint32_t actor, uint64_t at)
{
	uint32_t low = profile->actor[actor].first;
	uint32_t high = low + profile->actor[actor].count, end = high;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (profile->event[profile->order[middle]].end_ns < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && profile->event[profile->order[low]].end_ns == at ?
		       profile->order[low] : PROFILE_NONE;
}

/* Another one of @first, @first + @step, ... below @end that ended when @event began. */
static uint32_t other_ended(const struct profile *profile, const struct profile_event *event,
			    uint32_t first, uint32_t step, uint32_t end)
{
	uint32_t actor, other;

	for (actor = first; actor < end; actor += step) {
		other = actor == event->actor ? PROFILE_NONE :
						ended_at(profile, actor, event->begin_ns);
		if (other != PROFILE_NONE)
			return other;
	}
	return PROFILE_NONE;
}

static void set_cause(struct profile_event *event, enum profile_why why, uint32_t cause)
{
	event->why = (uint8_t)why;
	event->cause = cause;
}

static bool is_lane_engine(unsigned int unit)
{
	return unit == NEURON_ENGINE_VECTOR || unit == NEURON_ENGINE_SCALAR ||
	       unit == NEURON_ENGINE_GPSIMD;
}

/* An engine was idle from @idle_ns on. */
static void engine_cause(const struct waits *waits, struct profile_event *event, uint64_t idle_ns)
{
	const struct profile *profile = waits->profile;
	const struct profile_step *step = &profile->step[event->step];
	const uint32_t core = profile_core_of(event->actor);
	const struct mark *post = NULL;
	uint32_t other = PROFILE_NONE;

	if (step->wait_sem >= 0)
		post = last_mark(&waits->post[core][step->wait_sem], event->begin_ns);
	if (is_lane_engine(profile_unit_of(event->actor)))
		other = other_ended(profile, event, core * PROFILE_ACTORS + NEURON_ENGINE_VECTOR, 1,
				    core * PROFILE_ACTORS + NEURON_ENGINE_SYNC);
	if (post && (post->at == event->begin_ns || (post->at > idle_ns &&
						     other == PROFILE_NONE))) {
		event->sem = (uint16_t)step->wait_sem;
		set_cause(event, PROFILE_WHY_SEMAPHORE, post->event);
	} else if (other != PROFILE_NONE) {
		set_cause(event, PROFILE_WHY_PORT, other);
	} else {
		set_cause(event, PROFILE_WHY_UNKNOWN, PROFILE_NONE);
	}
}

/* A queue that had work was idle from @idle_ns on. */
static void queue_cause(const struct profile *profile, struct profile_event *event,
			uint64_t idle_ns)
{
	const uint32_t core = profile_core_of(event->actor) * PROFILE_ACTORS;
	const uint32_t engine = profile_dma_engine_of(event->actor);
	uint32_t other = other_ended(profile, event, core + NEURON_NR_ENGINES + engine,
				     PROFILE_DMA_ENGINES, core + PROFILE_ACTORS);

	if (other != PROFILE_NONE)
		set_cause(event, PROFILE_WHY_ENGINE, other);
	else if (event->owner != PROFILE_NONE &&
		 profile->event[event->owner].end_ns >= idle_ns)
		set_cause(event, PROFILE_WHY_TRIGGER, event->owner);
	else
		set_cause(event, PROFILE_WHY_UNKNOWN, PROFILE_NONE);
}

/* From when on a queue had work, if that is later than @idle_ns. */
static uint64_t triggered_at(const struct profile *profile, const struct profile_event *event,
			     uint64_t idle_ns)
{
	uint64_t end;

	if (!profile_is_queue(event->actor) || event->owner == PROFILE_NONE)
		return idle_ns;
	end = profile->event[event->owner].end_ns;
	return end > idle_ns ? end : idle_ns;
}

static void find_causes(struct waits *waits, uint32_t actor)
{
	struct profile *profile = waits->profile;
	const struct profile_actor *own = &profile->actor[actor];
	uint64_t run_out = 0, idle;
	uint32_t i;

	for (i = own->first; i < own->first + own->count; i++) {
		struct profile_event *event = &profile->event[profile->order[i]];

		idle = triggered_at(profile, event, run_out);
		if (event->begin_ns > idle) {
			event->wait_ns = event->begin_ns - idle;
			if (profile_is_queue(actor))
				queue_cause(profile, event, idle);
			else
				engine_cause(waits, event, idle);
		}
		if (event->end_ns > run_out) {
			event->busy_ns = event->end_ns - (event->begin_ns > run_out ?
							  event->begin_ns : run_out);
			run_out = event->end_ns;
		}
	}
}

static void free_waits(struct waits *waits)
{
	uint32_t i, core;

	for (core = 0; core < PROFILE_MAX_CORES; core++)
		for (i = 0; i < PROFILE_SEMS; i++)
			free(waits->post[core][i].mark);
	for (i = 0; i < PROFILE_MAX_CORES * PROFILE_ACTORS; i++) {
		free(waits->trigger[i].mark);
		free(waits->generate[i].mark);
	}
	free(waits);
}

NRT_STATUS profile_wait(struct profile *profile, struct nrt_error *error)
{
	struct waits *waits = calloc(1, sizeof(*waits));
	NRT_STATUS status;
	uint32_t i;

	if (!waits)
		return nrt_error_memory(error);
	waits->profile = profile;
	waits->error = error;
	status = find_triggers(waits);
	for (i = 0; i < PROFILE_MAX_CORES * PROFILE_ACTORS && !status; i++)
		if (profile_is_queue(i))
			find_owners(waits, i);
	if (!status)
		status = find_posts(waits);
	for (i = 0; i < PROFILE_MAX_CORES * PROFILE_ACTORS && !status; i++)
		find_causes(waits, i);
	free_waits(waits);
	return status;
}
