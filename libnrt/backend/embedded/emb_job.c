// SPDX-License-Identifier: MIT
/*
 * Jobs, from the submission to the result.
 *
 * A thread that waits for a job looks after its chip itself: it takes what the interrupts
 * announce, and rings the doorbell of the next job. The chip's keeper does it for jobs that
 * nobody waits for. Both do it under the lock of the chip.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/trace.h"
#include "backend/embedded/emb.h"
#include "trn/pool.h"

/* Where things are in the memory of a core. */
#define AT_QUEUES	sizeof(struct neuron_hw_job)
#define AT_COMPLETION	(EMB_CORE_BYTES - 64)
_Static_assert(AT_QUEUES + NEURON_JOB_MAX_QUEUES * sizeof(struct neuron_hw_job_queue) +
	       sizeof(struct neuron_hw_window) <= AT_COMPLETION, "the tables of a job fit");

/* The interface promises the values of the hardware contract. */
#define SAME(name)	_Static_assert(DRM_NEURON_##name == (int)NEURON_##name, #name)
SAME(JOB_NONE);
SAME(JOB_OK);
SAME(JOB_ERROR);
SAME(JOB_ABORTED);
SAME(CAUSE_NONE);
SAME(CAUSE_JOB);
SAME(CAUSE_OPCODE);
SAME(CAUSE_OPERAND);
SAME(CAUSE_ACCESS);
SAME(CAUSE_WINDOW);
SAME(CAUSE_RIGHTS);
SAME(CAUSE_PC);
SAME(CAUSE_QUEUE);
SAME(CAUSE_SEMAPHORE);
SAME(CAUSE_DESC);
SAME(CAUSE_RING_ID);
SAME(CAUSE_HOST);
SAME(CAUSE_FABRIC);
SAME(CAUSE_HOST_LIMIT);
SAME(CAUSE_ECC);
SAME(CAUSE_ADDRESS);
SAME(CAUSE_RESET);
SAME(CAUSE_ABORT);
SAME(CAUSE_GANG);
SAME(SOURCE_DMA);
SAME(SOURCE_JOB);
SAME(ENGINE_SYNC);
_Static_assert(DRM_NEURON_CAUSE_GANG + 1 == (int)NEURON_NR_CAUSES, "a cause is missing");
_Static_assert(DRM_NEURON_ENGINE_SYNC + 1 == (int)NEURON_NR_ENGINES, "an engine is missing");
_Static_assert(DRM_NEURON_QUEUE_ANY_RING_ID == NEURON_JOB_QUEUE_ANY_RING_ID, "flag");
_Static_assert(DRM_NEURON_QUEUE_PRIORITY == NEURON_JOB_QUEUE_PRIORITY, "flag");

#define MS		1000000ull
#define LIMIT_MS	30000
#define LIMIT_MAX_MS	600000
/* A job that makes progress may take so many limits. */
#define LIMIT_CAP	16
/* Progress is looked at so often in a limit. */
#define LIMIT_LOOKS	8
/* A short job is over before the doorbell returns. */
#define INLINE_NS	50000

/* --- results; with the chip's lock --- */

static void result_put(struct emb_result *result)
{
	if (result && !--result->refs)
		free(result);
}

static struct emb_result *result_get(struct emb_result *result)
{
	result->refs++;
	return result;
}

void emb_results_forget(struct emb_core *core)
{
	unsigned int i;

	for (i = 0; core->results && i < EMB_RESULTS; i++)
		result_put(core->results[i]);
	free(core->results);
	core->results = NULL;
	core->nr_results = 0;
}

/* The job's reference is the core's now. The oldest result is forgotten, but by who waits. */
static void keep_result(struct emb_core *core, struct emb_result *result)
{
	struct emb_result **place = &core->results[core->nr_results++ % EMB_RESULTS];

	result_put(*place);
	*place = result;
}

/* The result of job @id with a reference, or NULL: there is no such job, or no longer. */
static struct emb_result *find_result(const struct emb_core *core, uint64_t id)
{
	struct emb_job *pending;
	uint64_t i;

	for (pending = core->first; pending; pending = pending->next)
		if (pending->id == id)
			return result_get(pending->result);
	for (i = core->nr_results; i && i + EMB_RESULTS > core->nr_results; i--) {
		struct emb_result *result = core->results[(i - 1) % EMB_RESULTS];

		if (result->job == id)
			return result_get(result);
	}
	return NULL;
}

static void job_free(struct nrt_chip *chip, struct emb_job *job)
{
	emb_table_put(chip, job->table);
	emb_bo_put(job->trace_bo);
	result_put(job->result);
	free(job->queues);
	free(job);
}

/* The first job of the core has ended, or never begins. */
static void end_job(struct emb_core *core, const struct neuron_record *record, bool hang)
{
	struct emb_job *job = core->first;
	struct emb_result *result = job->result;
	uint64_t wall = job->doorbell_ns ? emb_now_ns() - job->doorbell_ns : 0;

	result->record = (struct drm_neuron_wait_job){
		.status = record->status,
		.cause = record->cause,
		.source = record->source,
		.pc = record->pc,
		.hang = hang,
		.addr = record->addr,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.instructions = record->instructions,
		.dma_bytes = record->dma_bytes,
		.wall_ns = wall,
		.doorbell_ns = job->doorbell_ns,
		.queue = record->queue % NEURON_UDMA_QUEUES |
			 (record->queue & DRM_NEURON_QUEUE_WRITES),
		.dma_engine = (record->queue & ~DRM_NEURON_QUEUE_WRITES) / NEURON_UDMA_QUEUES,
		.flags = record->flags & NEURON_COMPLETION_INEXACT ? DRM_NEURON_JOB_INEXACT : 0,
	};
	result->ended = true;
	keep_result(core, result);
	job->result = NULL;
	core->busy_ns += wall;
	core->ended++;
	core->nr_jobs--;
	core->first = job->next;
	if (!core->first)
		core->last = NULL;
	job_free(core->chip, job);
}

static void end_aborted(struct emb_core *core, bool hang)
{
	const struct neuron_record record = neuron_record_aborted(core->first->id);

	end_job(core, &record, hang);
}

void emb_jobs_abort(struct emb_core *core)
{
	while (core->first)
		end_aborted(core, false);
}

/* --- the job on the core --- */

static void write_tables(const struct emb_core *core, const struct emb_job *job,
			 struct neuron_hw_job *block)
{
	uint32_t nr = neuron_from_le32(block->nr_queues);
	uint64_t base = emb_host_addr(core->chip, core->memory.addr);
	struct neuron_hw_job_queue *queues = (void *)(core->memory.ptr + AT_QUEUES);

	if (job->table)
		neuron_hw_job_windows(block, emb_host_addr(core->chip, job->table->memory.addr),
				      job->table->nr);
	if (nr)
		memcpy(queues, job->queues, nr * sizeof(*queues));
	neuron_hw_job_queues(block, base + AT_QUEUES, nr);
	if (job->trace_bo) {
		memcpy(queues + nr, &job->trace, sizeof(job->trace));
		neuron_hw_job_trace(block, base + AT_QUEUES);
	}
}

/* The first job of the core, if it does not run yet. */
static void start_job(struct emb_core *core)
{
	struct trn_pool *pool = core->chip->machine->pool;
	uint64_t base = emb_host_addr(core->chip, core->memory.addr);
	struct emb_job *job = core->first;
	struct neuron_hw_job *block = (void *)core->memory.ptr;
	bool kept;

	if (job->doorbell_ns)
		return;
	memset(core->memory.ptr + AT_COMPLETION, 0, sizeof(struct neuron_hw_completion));
	*block = job->block;
	block->completion = neuron_to_le64(base + AT_COMPLETION);
	write_tables(core, job, block);
	job->doorbell_ns = emb_now_ns();
	job->moved_ns = job->doorbell_ns;
	job->looked_ns = job->doorbell_ns;
	job->progress = emb_read64(core->chip, core->regs + NEURON_CORE_PROGRESS);
	kept = trn_pool_inline_begin(pool, INLINE_NS);
	emb_core_write(core, NEURON_CORE_DOORBELL_LO, (uint32_t)base);
	emb_core_write(core, NEURON_CORE_DOORBELL_HI, (uint32_t)(base >> 32));
	if (kept)
		trn_pool_inline_end(pool);
}

/* The chip broke its contract, or the job makes no progress. */
static void give_up(struct emb_core *core, bool hang)
{
	/* A core that does not answer may still write what its job showed it. */
	if (emb_core_reset(core)) {
		core->first->table = NULL;
		core->first->trace_bo = NULL;
	}
	end_aborted(core, hang);
	if (core->wedged)
		emb_jobs_abort(core);
	emb_tell(core->chip);
}

static void take_record(struct emb_core *core)
{
	struct neuron_hw_completion copy;
	struct neuron_record record;

	memcpy(&copy, core->memory.ptr + AT_COMPLETION, sizeof(copy));
	if (neuron_record_decode(&copy, core->first->id, &record))
		give_up(core, false);
	else
		end_job(core, &record, false);
}

/*
 * Does the running job hang: no progress for its limit, or not at its end after many of them?
 * Time in which nobody could look, because the process was stopped, does not count.
 */
static bool hangs(struct emb_core *core, uint64_t *next)
{
	uint64_t progress = emb_read64(core->chip, core->regs + NEURON_CORE_PROGRESS);
	struct emb_job *job = core->first;
	uint64_t now = emb_now_ns();

	if (progress != job->progress || now - job->looked_ns > job->limit_ns / 2) {
		job->progress = progress;
		job->moved_ns = now;
	}
	job->looked_ns = now;
	*next = now + job->limit_ns / LIMIT_LOOKS;
	return now - job->moved_ns >= job->limit_ns ||
	       now - job->doorbell_ns >= job->limit_ns * LIMIT_CAP;
}

static uint32_t take_cause(struct emb_core *core)
{
	uint32_t cause = neuron_cause_pending(emb_core_read(core, NEURON_CORE_CAUSE));

	if (cause)
		emb_core_write(core, NEURON_CORE_CAUSE, cause);
	return cause;
}

/* When to look at the core again, or 0: it has no job. */
static uint64_t service_core(struct emb_core *core)
{
	uint64_t next = 0;
	uint32_t cause;
	bool hang;

	while (core->first) {
		start_job(core);
		/* First the limit, then the cause: what has ended in time is no hang. */
		hang = hangs(core, &next);
		cause = take_cause(core);
		if (cause & NEURON_CORE_CAUSE_DONE)
			take_record(core);
		else if (hang || cause & NEURON_CORE_CAUSE_REFUSED)
			give_up(core, !(cause & NEURON_CORE_CAUSE_REFUSED));
		else if (!cause)
			return next;
	}
	return 0;
}

uint64_t emb_service(struct nrt_chip *chip)
{
	uint64_t next = 0, at;
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++) {
		at = service_core(&chip->core[neuron_unit_number(chip->gen, i)]);
		if (at && (!next || at < next))
			next = at;
	}
	return next;
}

/* --- submission --- */

/* Elements of @size bytes, at most @max of them, or NULL with *@ret. */
static const void *elements(const struct drm_neuron_array *array, size_t size, uint32_t max,
			    int *ret)
{
	if (array->count && (array->stride != size || array->count > max || !array->pointer))
		*ret = -EINVAL;
	return (const void *)(uintptr_t)array->pointer;
}

static int add_starts(struct neuron_hw_job *block, const struct drm_neuron_array *array)
{
	int ret = 0;
	const struct drm_neuron_start *start = elements(array, sizeof(*start), NEURON_NR_ENGINES,
							&ret);
	uint32_t i, seen = 0;

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
	int ret = 0;
	const struct drm_neuron_queue *queue = elements(array, sizeof(*queue),
							NEURON_JOB_MAX_QUEUES, &ret);
	__u64 used[4] = { 0 };

	if (ret || !array->count)
		return ret;
	job->queues = calloc(array->count, sizeof(*job->queues));
	if (!job->queues)
		return -ENOMEM;
	for (i = 0; i < array->count; i++) {
		if (queue[i].dma_engine >= NEURON_JOB_DMA_ENGINES)
			return -EINVAL;
		job->queues[i] = (struct neuron_hw_job_queue){
			.m2s_ring = neuron_to_le64(queue[i].m2s_ring),
			.s2m_ring = neuron_to_le64(queue[i].s2m_ring),
			.m2s_length = neuron_to_le32(queue[i].m2s_length),
			.s2m_length = neuron_to_le32(queue[i].s2m_length),
			.dma_engine = neuron_to_le16((uint16_t)(first + queue[i].dma_engine)),
			.queue = neuron_to_le16(queue[i].queue),
			.flags = neuron_to_le32(queue[i].flags),
		};
		if (neuron_hw_job_check_queue(&job->queues[i], first,
					      core->chip->gen->nr_priorities, used))
			return -EINVAL;
	}
	job->block.nr_queues = neuron_to_le32(array->count);
	return 0;
}

static int add_sem_clear(struct neuron_hw_job *block, const struct drm_neuron_array *array)
{
	int ret = 0;
	const uint64_t *word = elements(array, sizeof(*word), NEURON_NR_SEMAPHORES / 64, &ret);
	uint32_t i;

	for (i = 0; i < array->count && !ret; i++)
		block->sem_clear[i] = neuron_to_le64(word[i]);
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
	if (args->trace_offset % NEURON_TRACE_ALIGN)
		return -EINVAL;
	ret = emb_window_of_bo(core->chip, &window, &job->trace, &job->trace_bo);
	if (ret)
		return ret;
	job->trace.flags |= neuron_to_le32(NEURON_WINDOW_WRITE);
	return neuron_trace_check_window(neuron_from_le32(job->trace.flags), args->trace_size) ?
		       -EINVAL : 0;
}

static int build_job(struct emb_core *core, struct emb_job *job, const struct drm_neuron_job *args)
{
	uint32_t all = (1u << NEURON_NR_ENGINES) - 1;
	uint32_t engines = emb_is_cc(core) ? 1u << NEURON_ENGINE_SYNC : all;
	uint32_t limit = args->timeout_ms ? args->timeout_ms : LIMIT_MS;
	int ret;

	job->limit_ns = (limit < LIMIT_MAX_MS ? limit : LIMIT_MAX_MS) * MS;
	neuron_hw_job_begin(&job->block, job->id, 0);
	neuron_hw_job_notify(&job->block, args->notify_addr, args->notify_size);
	job->block.rank = neuron_to_le32(args->rank);
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

static struct emb_job *job_new(uint64_t id)
{
	struct emb_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->id = id;
	job->result = calloc(1, sizeof(*job->result));
	if (!job->result) {
		free(job);
		return NULL;
	}
	job->result->refs = 1;
	job->result->job = id;
	return job;
}

/* *@next: when to look at the core again, or 0: it has no job. */
static int submit_locked(struct nrt_chip *chip, struct drm_neuron_submit *submit,
			 const struct drm_neuron_job *args, uint64_t *next)
{
	struct emb_claim *claim = emb_claim_find(chip, submit->claim);
	struct emb_core *core;
	struct emb_job *job;
	int ret;

	ret = emb_core_use(chip, submit->claim, args->core, &core);
	if (ret)
		return ret;
	if (core->wedged)
		return -EIO;
	if (core->nr_jobs == EMB_QUEUE)
		return -EBUSY;
	job = job_new(claim->last_job + 1);
	if (!job)
		return -ENOMEM;
	ret = build_job(core, job, args);
	if (!ret)
		ret = emb_windows_change(core, &args->windows);
	if (ret) {
		job_free(chip, job);
		return ret;
	}
	job->table = core->table;
	if (job->table)
		job->table->refs++;
	claim->last_job = job->id;
	if (core->last)
		core->last->next = job;
	else
		core->first = job;
	core->last = job;
	core->nr_jobs++;
	submit->job = job->id;
	/* A short job is over by now. */
	*next = service_core(core);
	return 0;
}

/*
 * This thread looks after the chip no more. @left: it has jobs. The keeper then looks when the
 * first of their limits may be over: others that wait may not look so soon, or leave as well.
 */
static void leave(struct nrt_chip *chip, bool left)
{
	atomic_fetch_sub(&chip->waiters, 1);
	if (left)
		emb_keeper_wake(chip);
}

/* Gangs, fences and notification streams are the DRM driver's. */
int emb_submit(struct nrt_chip *chip, struct drm_neuron_submit *submit)
{
	const struct drm_neuron_job *args = (const void *)(uintptr_t)submit->jobs.pointer;
	uint64_t next = 0;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (submit->flags || submit->in_syncs.count || submit->out_syncs.count ||
	    submit->jobs.count != 1 || submit->jobs.stride != sizeof(*args) || args->flags ||
	    args->stream || args->stream_offset)
		return -EINVAL;
	atomic_fetch_add(&chip->waiters, 1);
	pthread_mutex_lock(&chip->lock);
	ret = submit_locked(chip, submit, args, &next);
	pthread_mutex_unlock(&chip->lock);
	leave(chip, next);
	return ret;
}

/* --- waiting --- */

/* With the chip's lock: a reference of each result; wait->index is the job that has none. */
static int waits_begin(struct nrt_chip *chip, struct drm_neuron_wait *wait,
		       const struct drm_neuron_wait_job *jobs, struct emb_result **results)
{
	struct emb_core *core;
	int ret;

	for (wait->index = 0; wait->index < wait->jobs.count; wait->index++) {
		const struct drm_neuron_wait_job *job = &jobs[wait->index];

		ret = emb_core_used(chip, job->claim, job->core, &core);
		if (ret)
			return ret;
		results[wait->index] = find_result(core, job->job);
		if (!results[wait->index])
			return -ENOENT;
	}
	return 0;
}

/* With the chip's lock: the first job that has ended, or has not; the count: none. */
static uint32_t find_first(const struct drm_neuron_wait *wait, struct emb_result **results,
			   bool ended)
{
	uint32_t i;

	for (i = 0; i < wait->jobs.count && results[i]->ended != ended; i++)
		;
	return i;
}

static bool wait_is_over(const struct drm_neuron_wait *wait, struct emb_result **results)
{
	if (wait->flags & DRM_NEURON_WAIT_ALL)
		return find_first(wait, results, false) == wait->jobs.count;
	return find_first(wait, results, true) < wait->jobs.count;
}

/* With the chip's lock, and again when it returns. */
static int wait_loop(struct nrt_chip *chip, struct drm_neuron_wait *wait,
		     struct emb_result **results, bool *left)
{
	uint64_t deadline = (uint64_t)(wait->deadline_ns < 0 ? 0 : wait->deadline_ns);
	uint64_t seen, next;

	for (;;) {
		seen = atomic_load(&chip->irqs);
		next = emb_service(chip);
		*left = next;
		if (wait_is_over(wait, results))
			return 0;
		if (emb_now_ns() >= deadline)
			return -ETIMEDOUT;
		pthread_mutex_unlock(&chip->lock);
		emb_wait_irq(chip, seen, next && next < deadline ? next : deadline);
		pthread_mutex_lock(&chip->lock);
	}
}

static void hand_out(const struct emb_result *result, struct drm_neuron_wait_job *job)
{
	const struct drm_neuron_wait_job name = *job;

	*job = result->record;
	job->claim = name.claim;
	job->core = name.core;
	job->job = name.job;
}

static int wait_locked(struct nrt_chip *chip, struct drm_neuron_wait *wait,
		       struct drm_neuron_wait_job *jobs, struct emb_result **results, bool *left)
{
	int ret = waits_begin(chip, wait, jobs, results);
	uint32_t i;

	if (!ret) {
		ret = wait_loop(chip, wait, results, left);
		wait->index = find_first(wait, results, true);
		for (i = 0; i < wait->jobs.count; i++)
			hand_out(results[i], &jobs[i]);
	}
	for (i = 0; i < wait->jobs.count; i++)
		result_put(results[i]);
	return ret;
}

/* A result that this waits for lives until it has been handed out. */
int emb_wait(struct nrt_chip *chip, struct drm_neuron_wait *wait)
{
	struct drm_neuron_wait_job *jobs = (void *)(uintptr_t)wait->jobs.pointer;
	struct emb_result **results;
	bool left = false;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (wait->flags & ~DRM_NEURON_WAIT_ALL || !wait->jobs.count ||
	    wait->jobs.count > EMB_WAIT_JOBS || wait->jobs.stride != sizeof(*jobs))
		return -EINVAL;
	if (!jobs)
		return -EFAULT;
	results = calloc(wait->jobs.count, sizeof(struct emb_result *));
	if (!results)
		return -ENOMEM;
	atomic_fetch_add(&chip->waiters, 1);
	pthread_mutex_lock(&chip->lock);
	ret = wait_locked(chip, wait, jobs, results, &left);
	pthread_mutex_unlock(&chip->lock);
	leave(chip, left);
	free(results);
	return ret;
}
