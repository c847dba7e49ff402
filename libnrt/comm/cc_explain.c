// SPDX-License-Identifier: MIT
/* What the failure of a collective's program means: rank, step, peer and semaphore. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_code.h"
#include "contract/job.h"
#include "exec/cause.h"

/* "in step 3 of 5 (gather, channel 0)", or where else it is. */
static void describe_step(const struct nrt_cc_part *part, size_t step, char *text, size_t size)
{
	const struct nrt_plan_step *at;

	if (step == CC_STEP_COLLECT) {
		snprintf(text, size, "before step 0 (collects its tensors)");
		return;
	}
	if (step >= part->program.nr_steps) {
		snprintf(text, size, "behind its last step");
		return;
	}
	at = &part->program.steps[step];
	snprintf(text, size, "in step %u of %u (%s, channel %u)", at->number,
		 part->plan->nr_steps, nrt_plan_phase_name(at->phase), at->channel);
}

/* The wait of @step for semaphore @sem of the rank. */
static const struct nrt_plan_sync *find_wait(const struct nrt_cc_part *part, size_t step,
					     unsigned int sem)
{
	const struct nrt_plan_sync *wait;
	unsigned int i;

	if (step >= part->program.nr_steps)
		return NULL;
	wait = nrt_plan_waits(&part->program, &part->program.steps[step]);
	for (i = 0; i < part->program.steps[step].nr_wait; i++)
		if (wait[i].sem == sem)
			return &wait[i];
	return NULL;
}

static const char *meaning_of(const struct nrt_cc_part *part, unsigned int sem)
{
	switch (part->program.sems[sem].meaning) {
	case NRT_PLAN_READY:
		return "to be ready";
	case NRT_PLAN_LANDED:
		return "to have moved its bytes";
	case NRT_PLAN_DATA:
		return "to send";
	default:
		return "to be ready or to send";
	}
}

/* The core has nothing to do although its job has not ended: it has not heard of it. */
static bool has_begun(const char *dump)
{
	const char *line = strstr(dump, "\ncore_status: ");
	unsigned int status;

	return !line || sscanf(line, "\ncore_status: %u", &status) != 1 ||
	       status != NEURON_CORE_IDLE;
}

/* Does a part before @part start by the same semaphore? Then that may be the one that was not. */
static bool shares_start(const struct nrt_cc_code *code, const struct nrt_cc_part *part)
{
	const struct nrt_cc_part *other;

	for (other = code->parts; other < part; other++)
		if (other->signal.used && other->signal.start == part->signal.start)
			return true;
	return false;
}

/* From the dump of a job that hung. The part in which it did, and what it waits for. */
static const struct nrt_cc_part *describe_hang(struct nrt_cc_code *code, uint64_t job, char *text,
					       size_t size, enum nrt_cc_wait *waits)
{
	const struct nrt_cc_part *part = &code->parts[code->nr_parts - 1];
	char *dump = nrt_core_dump(code->cc, job), where[96];
	const char *engine = dump ? strstr(dump, "\nengine sync: ") : NULL;
	const char *wait = dump ? strstr(dump, "\nwait sync: semaphore ") : NULL;
	const struct cc_place *place = NULL;
	const struct nrt_plan_sync *sync;
	unsigned int pc, sem;
	size_t step = 0;
	int value;

	*text = '\0';
	*waits = NRT_CC_FOR_NOBODY;
	if (dump && !has_begun(dump)) {
		part = &code->parts[0];
		snprintf(text, size, ", before step 0: its CC-core has not begun");
		free(dump);
		return part;
	}
	if (engine && sscanf(engine, "\nengine sync: pc %u", &pc) == 1) {
		place = cc_place_of_pc(&code->program, pc);
		if (place)
			part = &code->parts[place->piece];
		step = place ? place->step : part->program.nr_steps;
		describe_step(part, step, where, sizeof(where));
		snprintf(text, size, ", %s", where);
	}
	if (*text && wait &&
	    sscanf(wait, "\nwait sync: semaphore %u value %d", &sem, &value) == 2) {
		if (sem >= NRT_PLAN_MAX_SEMS) {
			snprintf(text, size, ", before step 0: the model has not started it%s",
				 shares_start(code, part) ?
					 ", or one that is 16, 32, ... places before it" : "");
			*waits = NRT_CC_FOR_MODEL;
		}
		sync = sem < part->first_sem ? NULL : find_wait(part, step, sem - part->first_sem);
		if (sync) {
			snprintf(text, size,
				 ", %s: waits for rank %u %s (semaphore %u is %d, not %u)", where,
				 part->links->ranks[sync->rank], meaning_of(part, sync->sem), sem,
				 value, sync->value);
			*waits = NRT_CC_FOR_RANK;
		}
	}
	free(dump);
	return part;
}

/* The rank at the other end of a step, or this one. */
static unsigned int other_end(const struct nrt_plan_program *program,
			      const struct nrt_plan_step *step)
{
	const struct nrt_plan_end *end = nrt_plan_src(program, step);
	const struct nrt_plan_sync *post = nrt_plan_posts(program, step);
	unsigned int i;

	for (i = 0; i < step->nr_src + step->nr_dst; i++)
		if (end[i].rank != program->rank)
			return end[i].rank;
	for (i = 0; i < step->nr_post; i++)
		if (post[i].rank != program->rank)
			return post[i].rank;
	return program->rank;
}

/* The queue of the program that a DMA queue of the chip is. */
static unsigned int queue_of(const struct nrt_cc_code *code,
			     const struct drm_neuron_wait_job *result)
{
	unsigned int q;

	for (q = 0; q < code->nr_queues; q++)
		if (code->queues[q].dma_engine == result->dma_engine % NEURON_JOB_DMA_ENGINES &&
		    code->queues[q].queue == (result->queue & ~DRM_NEURON_QUEUE_WRITES))
			break;
	return q;
}

/* Which number of the metadata is larger than it may be. */
static void describe_guard(const struct nrt_cc_part *part, const struct cc_guard *guard,
			   char *text, size_t size)
{
	static const char * const rows[] = {
		"send_counts", "send_displs", "recv_counts", "recv_displs",
	};
	const struct nrt_plan_value *value = &part->program.values[guard->value - 1];
	const char *above = guard->sum ? "and the count reach outside of" : "is above";
	unsigned int word = (unsigned int)(value->offset / sizeof(uint32_t));
	unsigned int rank = other_end(&part->program, &part->program.steps[guard->step]);

	if (value->space == NRT_PLAN_META)
		snprintf(text, size, "%s[%u] of its metadata %s %llu",
			 rows[word / part->plan->nr_ranks % NRT_PLAN_NR_ROWS],
			 word % part->plan->nr_ranks, above, (unsigned long long)guard->most);
	else
		snprintf(text, size, "recv_displs[%u] of the metadata of rank %u %s %llu",
			 part->program.rank, part->links->ranks[rank], above,
			 (unsigned long long)guard->most);
}

/**
 * struct spot - where a program failed
 * @part: in this part of it
 * @known: @step says in which step
 * @rank: whose memory or semaphore was not reached, by place in the group; or that of the part
 * @text: as it is told
 */
struct spot {
	const struct nrt_cc_part *part;
	bool known;
	size_t step;
	unsigned int rank;
	char text[256];
};

/* The rank whose window @addr is in, if it is one of another rank. */
static void find_peer(const struct nrt_cc_code *code, uint64_t addr, struct spot *spot)
{
	uint32_t window = (uint32_t)NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr), slot;
	unsigned int i;

	for (i = 0; addr & NEURON_ADDR_WINDOW && i < code->nr_parts; i++) {
		const struct nrt_cc_part *part = &code->parts[i];

		if (window <= part->window + CC_NR_SHOWN)
			continue;
		slot = (window - part->window - 1) / CC_NR_SHOWN;
		if (slot > part->program.nr_peers)
			continue;
		spot->part = part;
		spot->rank = part->program.peers[slot - 1].rank;
	}
}

/*
 * The only step whose packets the CC-core generates: among those to the rank if that is known, and
 * if the fabric lost one, among those to others.
 */
static void find_generated(struct spot *spot, bool lost)
{
	const struct nrt_plan_program *program = &spot->part->program;
	unsigned int nr = 0, other;
	size_t i;

	for (i = 0; i < program->nr_steps; i++) {
		other = other_end(program, &program->steps[i]);
		if (!program->steps[i].length || (lost && other == program->rank) ||
		    (spot->rank != program->rank && other != spot->rank))
			continue;
		spot->step = i;
		nr++;
	}
	spot->known = nr == 1;
}

/* A packet that the CC-core generated failed: only parts with numbers in memory have such ones. */
static void describe_generated(const struct nrt_cc_code *code, bool lost, struct spot *spot)
{
	const struct nrt_cc_part *first = NULL;
	unsigned int i, nr = 0;

	for (i = 0; i < code->nr_parts; i++) {
		if (!code->parts[i].program.nr_values)
			continue;
		if (!nr++)
			first = &code->parts[i];
	}
	if (spot->rank == spot->part->program.rank && nr) {
		spot->part = first;
		spot->rank = first->program.rank;
	}
	if (nr == 1 || spot->rank != spot->part->program.rank)
		find_generated(spot, lost);
	snprintf(spot->text, sizeof(spot->text), ", in a packet of a length from memory%s",
		 nr > 1 ? ", of this collective or of a later one with metadata" : "");
}

static void describe_place(struct spot *spot)
{
	const struct nrt_plan_program *program = &spot->part->program;
	unsigned int other = program->rank;
	char where[96];

	describe_step(spot->part, spot->step, where, sizeof(where));
	if (spot->step < program->nr_steps)
		other = other_end(program, &program->steps[spot->step]);
	if (other == program->rank)
		snprintf(spot->text, sizeof(spot->text), ", %s", where);
	else
		snprintf(spot->text, sizeof(spot->text), ", %s, which sends to rank %u", where,
			 spot->part->links->ranks[other]);
	if (spot->rank == program->rank)
		spot->rank = other;
}

static void describe_fault(const struct nrt_cc_code *code,
			   const struct drm_neuron_wait_job *result, struct spot *spot)
{
	const struct cc_place *place = NULL;

	*spot = (struct spot){
		.part = &code->parts[0], .rank = code->parts[0].program.rank,
	};
	find_peer(code, result->addr, spot);
	if (result->source == DRM_NEURON_SOURCE_JOB && result->cause == NEURON_CAUSE_FABRIC)
		snprintf(spot->text, sizeof(spot->text), ", before step 0");
	else if (result->source == DRM_NEURON_SOURCE_DMA && result->pc & NEURON_UDMA_PC_GENERATED)
		describe_generated(code, result->cause == NEURON_CAUSE_FABRIC, spot);
	else if (result->source == DRM_NEURON_SOURCE_DMA)
		place = cc_place_of_descriptor(&code->program, queue_of(code, result),
					       result->queue & DRM_NEURON_QUEUE_WRITES,
					       result->pc);
	else if (result->source == DRM_NEURON_ENGINE_SYNC)
		place = cc_place_of_pc(&code->program, result->pc);
	if (place) {
		if (spot->part != &code->parts[place->piece])
			spot->rank = code->parts[place->piece].program.rank;
		spot->part = &code->parts[place->piece];
		spot->step = place->step;
		spot->known = true;
	}
	if (spot->known)
		describe_place(spot);
}

/* "chip 3", or "chip 3 of server 1" if rank @other is on another one. */
static void describe_chip(const struct nrt_plan *plan, unsigned int rank, unsigned int other,
			  char text[64])
{
	const struct nrt_plan_place *place = &plan->places[rank];

	if (place->server == plan->places[other].server)
		snprintf(text, 64, "chip %u", place->chip);
	else
		snprintf(text, 64, "chip %u of server %u", place->chip, place->server);
}

/* Which chip the fabric does not reach. */
static void describe_reach(const struct spot *spot, char *text, size_t size)
{
	const struct nrt_plan *plan = spot->part->plan;
	unsigned int me = spot->part->program.rank;
	char here[64], there[64];

	describe_chip(plan, me, spot->rank, here);
	describe_chip(plan, spot->rank, me, there);
	snprintf(text, size,
		 "the fabric does not lead from %s to %s, that of rank %u: a link between them is down, or the chip has left",
		 here, there, spot->part->links->ranks[spot->rank]);
}

static void part_text(const struct nrt_cc_part *part, char text[NRT_CC_TEXT])
{
	char stream[16] = "";

	if (part->names_stream)
		snprintf(stream, sizeof(stream), " on stream %u", part->plan->stream);
	snprintf(text, NRT_CC_TEXT, "rank %u of %u: %s (%s)%s",
		 part->links->ranks[part->program.rank], part->plan->nr_ranks,
		 nrt_plan_op_name(part->plan->op),
		 nrt_plan_algorithm_name(part->plan->choice.algorithm), stream);
}

void nrt_cc_code_text(const struct nrt_cc_code *code, char text[NRT_CC_TEXT])
{
	part_text(&code->parts[0], text);
}

/* @status: of @part, where in it that is, and why. */
static NRT_STATUS set_failure(struct nrt_error *error, NRT_STATUS status,
			      const struct nrt_cc_part *part, const char *where, const char *why)
{
	char text[NRT_CC_TEXT];

	part_text(part, text);
	return nrt_error_set(error, status, "%s%s: %s", text, where, why);
}

NRT_STATUS nrt_cc_explain(struct nrt_cc_code *code, const struct drm_neuron_wait_job *result,
			  enum nrt_cc_wait *wait, struct nrt_error *error)
{
	const struct cc_guard *guard = NULL;
	struct spot spot;
	const char *what;
	char why[256];
	NRT_STATUS status = nrt_cause(result, &what);

	*wait = NRT_CC_FOR_NOBODY;
	if (!status)
		return NRT_SUCCESS;
	if (result->cause == NEURON_CAUSE_OPCODE && result->source == DRM_NEURON_ENGINE_SYNC)
		guard = cc_guard_of_pc(&code->program, result->pc);
	if (result->flags & DRM_NEURON_JOB_HANG) {
		snprintf(why, sizeof(why), "%s%s", what, result->status == DRM_NEURON_JOB_NONE ?
			 ", and the reset of its CC-core is not over" : "");
		spot.part = describe_hang(code, result->job, spot.text, sizeof(spot.text), wait);
		return set_failure(error, status, spot.part, spot.text, why);
	}
	describe_fault(code, result, &spot);
	snprintf(why, sizeof(why), "%s", what);
	if (guard) {
		status = NRT_EXEC_OOB;
		/* It is judged before its step. */
		spot.step = guard->step;
		describe_place(&spot);
		describe_guard(spot.part, guard, why, sizeof(why));
	} else if (result->cause == NEURON_CAUSE_FABRIC &&
		   spot.rank != spot.part->program.rank) {
		describe_reach(&spot, why, sizeof(why));
	}
	return set_failure(error, status, spot.part, spot.text, why);
}

bool nrt_cc_explain_gang(struct nrt_cc_code *code, const struct drm_neuron_wait_job *result,
			 struct nrt_error *error)
{
	const struct nrt_cc_part *part;
	char where[256], why[sizeof(error->text)];
	enum nrt_cc_wait wait;

	part = describe_hang(code, result->job, where, sizeof(where), &wait);
	if (wait != NRT_CC_FOR_RANK)
		return false;
	snprintf(why, sizeof(why), "%s", error->text);
	set_failure(error, error->status, part, where, why);
	return true;
}
