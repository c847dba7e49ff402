// SPDX-License-Identifier: MIT
/*
 * Submissions: a job, or a gang of jobs, is checked and built, and goes to the queues of its
 * cores. All of it happens or nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/trace.h"
#include "backend/embedded/emb.h"

_Static_assert(DRM_NEURON_QUEUE_ANY_RING_ID == NEURON_JOB_QUEUE_ANY_RING_ID, "flag");
_Static_assert(DRM_NEURON_QUEUE_PRIORITY == NEURON_JOB_QUEUE_PRIORITY, "flag");

#define MS		1000000ull

/**
 * struct member - a job of a submission
 * @core: where it runs
 * @job: the job; its queue has it when the submission has succeeded
 * @change: of the window table of @core
 */
struct member {
	struct emb_core *core;
	struct emb_job *job;
	struct emb_change change;
};

static int add_starts(struct neuron_hw_job *block, const struct drm_neuron_array *array)
{
	const struct drm_neuron_start *start;
	uint32_t i, seen = 0;
	int ret = 0;

	start = emb_elements(array, sizeof(*start), NEURON_NR_ENGINES, &ret);
	for (i = 0; i < array->count && !ret; i++) {
		if (start[i].engine >= NEURON_NR_ENGINES || seen >> start[i].engine & 1 ||
		    neuron_hw_job_check_start(start[i].addr, start[i].count))
			return -EINVAL;
		seen |= 1u << start[i].engine;
		neuron_hw_job_start(block, start[i].engine, start[i].addr, start[i].count);
	}
	return ret;
}

static int add_queues(struct emb_core *core, struct emb_job *job,
		      const struct drm_neuron_array *array)
{
	uint32_t first = neuron_core_dma(core->tpb), i;
	const struct drm_neuron_queue *queue;
	__u64 used[4] = { 0 };
	int ret = 0;

	queue = emb_elements(array, sizeof(*queue), NEURON_JOB_MAX_QUEUES, &ret);
	if (ret || !array->count)
		return ret;
	job->queues = calloc(array->count, sizeof(*job->queues));
	if (!job->queues)
		return -ENOMEM;
	for (i = 0; i < array->count; i++) {
		if (neuron_hw_job_queue_place(&job->queues[i], first, queue[i].dma_engine,
					      queue[i].queue))
			return -EINVAL;
		neuron_hw_job_queue_rings(&job->queues[i], queue[i].m2s_ring, queue[i].m2s_length,
					  queue[i].s2m_ring, queue[i].s2m_length, queue[i].flags);
		if (neuron_hw_job_check_queue(&job->queues[i], first,
					      core->chip->gen->nr_priorities, used))
			return -EINVAL;
	}
	/* Where the table is follows with the doorbell. */
	neuron_hw_job_queues(&job->block, 0, array->count);
	return 0;
}

static int add_sem_clear(struct neuron_hw_job *block, const struct drm_neuron_array *array)
{
	int ret = 0;
	const uint64_t *word = emb_elements(array, sizeof(*word), NEURON_NR_SEMAPHORES / 64, &ret);
	uint32_t i;

	for (i = 0; i < array->count && !ret; i++)
		neuron_hw_job_sem_clear(block, i, word[i]);
	return ret;
}

static int add_trace(struct emb_core *core, struct emb_job *job,
		     const struct drm_neuron_job *args)
{
	const struct drm_neuron_window window = {
		.kind = DRM_NEURON_WINDOW_BO,
		.handle = args->trace,
		.offset = args->trace_offset,
		.length = args->trace_size,
	};
	int ret;

	if (!args->trace)
		return args->trace_offset || args->trace_size ? -EINVAL : 0;
	if (args->trace_offset % NEURON_TRACE_ALIGN ||
	    neuron_trace_check_window(NEURON_WINDOW_HOST | NEURON_WINDOW_WRITE, args->trace_size))
		return -EINVAL;
	ret = emb_window_of_bo(core->chip, &window, &job->trace, &job->traced);
	if (ret)
		return ret;
	neuron_hw_window_allow(&job->trace, 0, 1);
	if (neuron_trace_check_window(neuron_from_le32(job->trace.flags), args->trace_size))
		return -EINVAL;
	return emb_lists_make(core->chip, &job->trace, &job->traced, 1);
}

static int build_job(struct emb_core *core, struct emb_job *job, const struct drm_neuron_job *args)
{
	uint32_t engines = neuron_hw_job_engines(emb_is_cc(core));
	uint32_t limit = args->timeout_ms ? args->timeout_ms : EMB_LIMIT_MS;
	int ret;

	if (limit > EMB_LIMIT_MAX_MS)
		return -EINVAL;
	job->limit_ns = limit * MS;
	neuron_hw_job_begin(&job->block, job->id, 0);
	neuron_hw_job_notify(&job->block, args->notify_addr, args->notify_size);
	neuron_hw_job_rank(&job->block, args->rank);
	ret = add_starts(&job->block, &args->starts);
	if (!ret)
		ret = add_queues(core, job, &args->queues);
	if (!ret)
		ret = add_sem_clear(&job->block, &args->sem_clear);
	if (!ret)
		ret = add_trace(core, job, args);
	if (!ret && neuron_hw_job_check(&job->block, engines))
		ret = -EINVAL;
	return ret;
}

/* Is @core that of an earlier member? */
static bool has_member(const struct member *members, uint32_t nr, const struct emb_core *core)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (members[i].core == core)
			return true;
	return false;
}

/* @place: of its time group, or NULL. */
static int make_member(struct nrt_chip *chip, struct drm_neuron_submit *submit,
		       const struct nrt_time_place *place, struct member *members, uint32_t nr)
{
	const struct drm_neuron_job *args = (const void *)(uintptr_t)submit->jobs.pointer;
	struct member *member = &members[nr];
	struct emb_core *core;
	int ret;

	args += nr;
	ret = emb_core_use(chip, submit->claim, args->core, &core);
	if (ret)
		return ret;
	if (core->wedged)
		return -EIO;
	if (args->flags || args->stream || args->stream_offset || has_member(members, nr, core))
		return -EINVAL;
	/* @place says that here. */
	if (args->series || args->member || args->group)
		return -EINVAL;
	member->core = core;
	member->job = emb_job_new(submit->job + nr);
	if (!member->job)
		return -ENOMEM;
	ret = build_job(core, member->job, args);
	if (!ret && place && place->series)
		ret = emb_times_join(core, member->job, place);
	if (!ret)
		ret = emb_change_begin(core, &args->windows, &member->change);
	/* A job that is wrong is told so whether or not there is room for it. */
	return !ret && core->nr_jobs == EMB_QUEUE ? -EBUSY : ret;
}

static void drop_members(struct nrt_chip *chip, struct member *members, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		emb_change_drop(chip, &members[i].change);
		if (members[i].job)
			emb_times_miss(members[i].core, members[i].job);
		emb_job_free(chip, members[i].job);
	}
}

static void queue_members(struct member *members, uint32_t nr, struct emb_gang *gang)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		emb_change_apply(members[i].core, &members[i].change);
		if (gang)
			emb_job_join(members[i].job, gang, i);
		emb_job_queue(members[i].core, members[i].job);
	}
}

/* The jobs of a submission, and the windows of all of them together. */
static int check_jobs(const struct drm_neuron_submit *submit)
{
	const struct drm_neuron_job *job;
	uint64_t windows = 0;
	uint32_t i;
	int ret = 0;

	job = emb_elements(&submit->jobs, sizeof(*job), NEURON_JOB_MAX_GANG, &ret);
	for (i = 0; i < submit->jobs.count && !ret; i++)
		windows += job[i].windows.count;
	return ret ? ret : windows > NEURON_MAX_WINDOWS ? -EINVAL : 0;
}

/* *@left: the chip has jobs that run. */
static int submit_locked(struct nrt_chip *chip, struct drm_neuron_submit *submit,
			 const struct nrt_time_place *places, bool *left)
{
	struct emb_claim *claim = emb_claim_find(chip, submit->claim);
	struct member members[NEURON_JOB_MAX_GANG] = { 0 };
	uint32_t i, nr = submit->jobs.count;
	struct emb_gang *gang = NULL;
	int ret = 0;

	submit->job = claim ? claim->last_job + 1 : 0;
	for (i = 0; i < nr && !ret; i++)
		ret = make_member(chip, submit, places ? &places[i] : NULL, members, i);
	if (!ret && nr > 1) {
		gang = emb_gang_new(chip, nr);
		ret = gang ? 0 : -ENOMEM;
	}
	if (ret) {
		drop_members(chip, members, nr);
		return ret;
	}
	claim->last_job += nr;
	queue_members(members, nr, gang);
	emb_gang_put(gang);
	/* A short job is over by now. A gang may have waited for its core. */
	chip->gang_began = false;
	*left = nr == 1 && emb_service_core(members[0].core);
	if (nr > 1 || chip->gang_began)
		*left = emb_service(chip);
	return 0;
}

/* Fences and notification streams are the DRM driver's. */
int emb_submit_timed(struct nrt_chip *chip, struct drm_neuron_submit *submit,
		     const struct nrt_time_place *places)
{
	bool left = false;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (submit->flags & ~DRM_NEURON_SUBMIT_GANG || submit->in_syncs.count ||
	    submit->out_syncs.count || !submit->jobs.count)
		return -EINVAL;
	if (submit->jobs.count > 1 && !(submit->flags & DRM_NEURON_SUBMIT_GANG))
		return -EINVAL;
	ret = check_jobs(submit);
	if (ret)
		return ret;
	emb_look_begin(chip);
	ret = submit_locked(chip, submit, places, &left);
	emb_look_end(chip, left);
	return ret;
}

int emb_submit(struct nrt_chip *chip, struct drm_neuron_submit *submit)
{
	return emb_submit_timed(chip, submit, NULL);
}
