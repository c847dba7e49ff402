// SPDX-License-Identifier: MIT
/*
 * Jobs and gangs of jobs, from the queue of their core to the result.
 *
 * A thread that waits for a job looks after its chip itself: it takes what the interrupts
 * announce, and rings the doorbell of the next job. The chip's keeper does it for jobs that
 * nobody waits for. Both do it under the lock of the chip.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/embedded/emb.h"
#include "base/clock.h"
#include "trn/pool.h"

/* Where things are in the memory of a core. */
#define AT_QUEUES	sizeof(struct neuron_hw_job)
#define AT_COMPLETION	(EMB_CORE_BYTES - 64)
_Static_assert(AT_QUEUES + NEURON_JOB_MAX_QUEUES * sizeof(struct neuron_hw_job_queue) +
	       sizeof(struct neuron_hw_window) + sizeof(struct neuron_hw_time_group) <=
	       AT_COMPLETION, "the tables of a job fit");

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
/* Progress is looked at so often in a limit. */
#define LIMIT_LOOKS	8
#define CANCEL_NS	500000000ull
/* A short job is over before the doorbell returns. */
#define INLINE_NS	50000

/* --- results; with the chip's lock --- */

void emb_result_put(struct emb_result *result)
{
	if (result && !--result->refs)
		free(result);
}

struct emb_result *emb_result_get(struct emb_result *result)
{
	result->refs++;
	return result;
}

void emb_results_forget(struct emb_core *core)
{
	unsigned int i;

	for (i = 0; core->results && i < EMB_RESULTS; i++)
		emb_result_put(core->results[i]);
	free(core->results);
	core->results = NULL;
	core->nr_results = 0;
}

/* The job's reference is the core's now. The oldest result is forgotten, but by who waits. */
static void keep_result(struct emb_core *core, struct emb_result *result)
{
	struct emb_result **place = &core->results[core->nr_results++ % EMB_RESULTS];

	emb_result_put(*place);
	*place = result;
}

struct emb_result *emb_result_find(const struct emb_core *core, uint64_t id)
{
	struct emb_job *pending;
	uint64_t i;

	for (pending = core->first; pending; pending = pending->next)
		if (pending->id == id)
			return emb_result_get(pending->result);
	for (i = core->nr_results; i && i + EMB_RESULTS > core->nr_results; i--) {
		struct emb_result *result = core->results[(i - 1) % EMB_RESULTS];

		if (result->job == id)
			return emb_result_get(result);
	}
	return NULL;
}

/* --- jobs; with the chip's lock --- */

struct emb_gang *emb_gang_new(struct nrt_chip *chip, uint32_t size)
{
	struct emb_gang *gang = calloc(1, sizeof(*gang));

	if (!gang)
		return NULL;
	gang->refs = 1;
	gang->id = ++chip->last_gang;
	gang->size = size;
	return gang;
}

void emb_gang_put(struct emb_gang *gang)
{
	if (gang && !--gang->refs)
		free(gang);
}

void emb_job_join(struct emb_job *job, struct emb_gang *gang, uint32_t index)
{
	gang->refs++;
	job->gang = gang;
	job->gang_index = index;
	neuron_hw_job_gang(&job->block, gang->id, (uint16_t)gang->size, (uint16_t)index);
}

struct emb_job *emb_job_new(uint64_t id)
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

void emb_job_free(struct nrt_chip *chip, struct emb_job *job)
{
	if (!job)
		return;
	emb_table_put(chip, job->table);
	emb_binding_put(chip, &job->traced);
	emb_gang_put(job->gang);
	emb_times_put(chip, job);
	emb_result_put(job->result);
	free(job->queues);
	free(job);
}

void emb_job_queue(struct emb_core *core, struct emb_job *job)
{
	job->table = core->table;
	if (job->table)
		job->table->refs++;
	if (core->last)
		core->last->next = job;
	else
		core->first = job;
	core->last = job;
	core->nr_jobs++;
}

/* As the fence of such a job ends in the kernel. */
static int error_of(const struct neuron_record *record, bool hang)
{
	if (record->status == NEURON_JOB_OK)
		return 0;
	if (hang)
		return -ETIMEDOUT;
	if (record->cause == NEURON_CAUSE_RESET || record->cause == NEURON_CAUSE_GANG)
		return -ECANCELED;
	return -EIO;
}

/* The first job of the core has ended, or never begins. @lost: @record is not the device's. */
static void end_job(struct emb_core *core, const struct neuron_record *record, bool hang,
		    bool lost)
{
	struct emb_job *job = core->first;
	struct emb_result *result = job->result;
	uint64_t wall = job->doorbell_ns ? nrt_clock_now() - job->doorbell_ns : 0;

	result->record = (struct drm_neuron_wait_job){
		.status = record->status,
		.cause = record->cause,
		.source = record->source,
		.pc = record->pc,
		.error = error_of(record, hang),
		.addr = record->addr,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.instructions = record->instructions,
		.dma_bytes = record->dma_bytes,
		.wall_ns = wall,
		.doorbell_ns = job->doorbell_ns,
		.queue = neuron_record_queue_index(record->queue) |
			 (neuron_record_queue_writes(record->queue) ?
				  DRM_NEURON_QUEUE_WRITES : 0),
		.dma_engine = neuron_record_queue_engine(record->queue),
		.flags = (record->flags & NEURON_COMPLETION_INEXACT ? DRM_NEURON_JOB_INEXACT : 0) |
			 (hang ? DRM_NEURON_JOB_HANG : 0),
	};
	result->ended = true;
	emb_times_end(core, job, record, lost);
	keep_result(core, result);
	job->result = NULL;
	core->busy_ns += wall;
	if (job->doorbell_ns)
		core->ended++;
	core->nr_jobs--;
	core->first = job->next;
	if (!core->first)
		core->last = NULL;
	emb_job_free(core->chip, job);
}

/* Of a job that has its doorbell the device tells the gang itself. */
static void end_aborted(struct emb_core *core, bool hang, enum neuron_cause cause)
{
	struct neuron_record record = neuron_record_aborted(core->first->id);
	const struct emb_job *job = core->first;

	if (job->gang && !job->doorbell_ns && !job->gang->failed) {
		job->gang->failed = true;
		job->gang->culprit = job->gang_index;
	}
	record.cause = cause;
	end_job(core, &record, hang, true);
}

/* The first job of the core does not start: a member of its gang has failed. */
static void end_gang_member(struct emb_core *core)
{
	const struct emb_job *job = core->first;
	const struct neuron_record record = {
		.job_id = job->id,
		.status = NEURON_JOB_ERROR,
		.cause = NEURON_CAUSE_GANG,
		.source = NEURON_SOURCE_JOB,
		.pc = job->gang->culprit,
	};

	end_job(core, &record, false, true);
}

void emb_jobs_abort(struct emb_core *core, int unstarted)
{
	struct emb_result *result;
	bool has_begun;

	while (core->first) {
		has_begun = core->first->doorbell_ns;
		result = emb_result_get(core->first->result);
		end_aborted(core, false, NEURON_CAUSE_RESET);
		if (!has_begun)
			result->record.error = unstarted;
		emb_result_put(result);
	}
}

/* --- the job on the core --- */

static void write_tables(const struct emb_core *core, const struct emb_job *job,
			 struct neuron_hw_job *block)
{
	uint32_t nr = neuron_from_le32(block->nr_queues);
	uint64_t base = emb_host_addr(core->chip, core->memory.addr);
	struct neuron_hw_job_queue *queues = (void *)(core->memory.ptr + AT_QUEUES);
	struct neuron_hw_time_group group = job->group;

	if (job->table)
		neuron_hw_job_windows(block, emb_host_addr(core->chip, job->table->memory.addr),
				      job->table->nr);
	if (nr)
		memcpy(queues, job->queues, nr * sizeof(*queues));
	neuron_hw_job_queues(block, base + AT_QUEUES, nr);
	if (job->traced.bo) {
		memcpy(queues + nr, &job->trace, sizeof(job->trace));
		neuron_hw_job_trace(block, base + AT_QUEUES);
	}
	if (job->series) {
		group.settle = neuron_to_le64(emb_times_at(core, job));
		neuron_hw_job_group(block, base + AT_QUEUES);
		memcpy(core->memory.ptr + (neuron_hw_job_group_at(block) - base), &group,
		       sizeof(group));
	}
}

/* The first job of the core gets its doorbell. */
static void ring(struct emb_core *core)
{
	uint64_t base = emb_host_addr(core->chip, core->memory.addr);
	struct emb_job *job = core->first;
	struct neuron_hw_job *block = (void *)core->memory.ptr;

	memset(core->memory.ptr + AT_COMPLETION, 0, sizeof(struct neuron_hw_completion));
	*block = job->block;
	neuron_hw_job_completion(block, base + AT_COMPLETION);
	write_tables(core, job, block);
	job->doorbell_ns = nrt_clock_now();
	job->moved_ns = job->doorbell_ns;
	job->looked_ns = job->doorbell_ns;
	job->progress = emb_read64(core->chip, core->regs + NEURON_CORE_PROGRESS);
	emb_core_write(core, NEURON_CORE_DOORBELL_LO, (uint32_t)base);
	emb_core_write(core, NEURON_CORE_DOORBELL_HI, (uint32_t)(base >> 32));
}

/* All members are the first jobs of their cores: the device keeps them together from now on. */
static void ring_gang(const struct emb_gang *gang)
{
	uint32_t i;

	for (i = 0; i < gang->size; i++)
		ring(gang->core[i]);
}

/* Has the first job of the core, which is in a gang, all others beside it? */
static bool gang_is_there(struct emb_core *core)
{
	struct emb_job *job = core->first;

	if (!job->gang->core[job->gang_index]) {
		job->gang->core[job->gang_index] = core;
		job->gang->there++;
	}
	return job->gang->there == job->gang->size;
}

/*
 * The first job of the core, if it does not run yet and its gang does not wait for others. True:
 * this thread has run it, or a part of it, and gave up the lock meanwhile: other cores of the chip
 * need not wait for that.
 */
static bool start_job(struct emb_core *core)
{
	struct trn_pool *pool = core->chip->machine->pool;
	struct nrt_chip *chip = core->chip;
	struct emb_job *job = core->first;
	bool kept;

	if (job->doorbell_ns || (job->gang && !gang_is_there(core)))
		return false;
	kept = !chip->machine->debugger && trn_pool_inline_begin(pool, INLINE_NS);
	if (job->gang) {
		core->chip->gang_began = true;
		ring_gang(job->gang);
	} else {
		ring(core);
	}
	if (!kept)
		return false;
	pthread_mutex_unlock(&chip->lock);
	trn_pool_inline_end(pool);
	pthread_mutex_lock(&chip->lock);
	return true;
}

/* A job makes no progress: keep what its core does, and those that still run its gang. */
static void take_dumps(struct emb_core *core)
{
	struct emb_gang *gang = core->first->gang;
	uint32_t i;

	if (!gang)
		emb_dump_take(core);
	for (i = 0; gang && i < gang->size; i++)
		if (gang->core[i] && gang->core[i]->first && gang->core[i]->first->gang == gang)
			emb_dump_take(gang->core[i]);
}

/*
 * The chip broke its contract or cannot read the job, or the job makes no progress. It ends with a
 * reset of its core. That may take long, and the chip's other cores go on meanwhile.
 */
static void give_up(struct emb_core *core, bool hang, enum neuron_cause cause)
{
	if (hang)
		take_dumps(core);
	core->ending = true;
	core->hang = hang;
	core->cause = cause;
	emb_core_reset_begin(core);
	/* A debugger has no turn in it. */
	if (core->chip->machine->debugger)
		emb_core_reset_wait(core);
}

/* The reset of give_up(): true if it is over, and the job has ended. */
static bool end_given_up(struct emb_core *core)
{
	int ret = emb_core_reset_end(core);

	if (ret == -EAGAIN)
		return false;
	core->ending = false;
	/* A core that does not answer may still write what its job showed it. */
	if (ret) {
		core->first->table = NULL;
		core->first->traced = (struct emb_binding){ 0 };
	}
	end_aborted(core, core->hang, core->cause);
	if (core->wedged)
		emb_jobs_abort(core, -EIO);
	emb_tell(core->chip);
	return true;
}

const struct neuron_hw_completion *emb_core_completion(const struct emb_core *core)
{
	return (const void *)(core->memory.ptr + AT_COMPLETION);
}

static void take_record(struct emb_core *core)
{
	struct neuron_hw_completion copy;
	struct neuron_record record;

	memcpy(&copy, core->memory.ptr + AT_COMPLETION, sizeof(copy));
	if (neuron_record_decode(&copy, core->first->id, &record))
		give_up(core, false, NEURON_CAUSE_RESET);
	else
		end_job(core, &record, false, false);
}

/*
 * Does the running job hang: no progress for its limit, or not at its end after many of them?
 * Time in which nobody could look, because the process was stopped, does not count.
 */
static bool hangs(struct emb_core *core, uint64_t *next)
{
	uint64_t progress = emb_read64(core->chip, core->regs + NEURON_CORE_PROGRESS);
	struct emb_job *job = core->first;
	uint64_t now = nrt_clock_now();

	if (progress != job->progress || now - job->looked_ns > job->limit_ns / 2) {
		job->progress = progress;
		job->moved_ns = now;
	}
	job->looked_ns = now;
	*next = now + job->limit_ns / LIMIT_LOOKS;
	/* It stands still as long as somebody looks at it. */
	if (core->chip->machine->debugger)
		return false;
	return now - job->moved_ns >= job->limit_ns ||
	       now - job->doorbell_ns >= job->limit_ns * EMB_LIMIT_CAP;
}

static uint32_t take_cause(struct emb_core *core)
{
	uint32_t cause = neuron_cause_pending(emb_core_read(core, NEURON_CORE_CAUSE));

	if (cause)
		emb_core_write(core, NEURON_CORE_CAUSE, cause);
	emb_times_note(core, cause);
	return cause;
}

/* When to look at the core again, or 0: it has no job that runs. Gives up the lock meanwhile. */
uint64_t emb_service_core(struct emb_core *core)
{
	uint64_t next = 0;
	uint32_t cause;
	bool hang;

	while (core->first) {
		if (core->ending && !end_given_up(core))
			return nrt_clock_now() + EMB_RESET_POLL_NS;
		if (!core->first)
			break;
		if (core->first->gang && core->first->gang->failed) {
			end_gang_member(core);
			continue;
		}
		if (start_job(core))
			continue;
		if (!core->first->doorbell_ns)
			return 0;
		/* First the limit, then the cause: what has ended in time is no hang. */
		hang = hangs(core, &next);
		cause = take_cause(core);
		if (cause & NEURON_CORE_CAUSE_DONE)
			take_record(core);
		else if (cause & NEURON_CORE_CAUSE_REFUSED)
			give_up(core, false, NEURON_CAUSE_HOST);
		else if (hang)
			give_up(core, true, NEURON_CAUSE_RESET);
		else if (!cause)
			return next;
	}
	return 0;
}

static uint64_t service_cores(struct nrt_chip *chip)
{
	uint64_t next = 0, at;
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++) {
		at = emb_service_core(&chip->core[neuron_unit_number(chip->gen, i)]);
		if (at && (!next || at < next))
			next = at;
	}
	return next;
}

uint64_t emb_service(struct nrt_chip *chip)
{
	uint64_t next;

	/* A gang that begins runs on cores that have been looked at before, too. */
	do {
		chip->gang_began = false;
		next = service_cores(chip);
	} while (chip->gang_began);
	return next;
}

/*
 * This thread looks after the chip no more. @left: it has jobs. The keeper then looks when the
 * first of their limits may be over: others that wait may not look so soon, or leave as well.
 */
void emb_look_end(struct nrt_chip *chip, bool left)
{
	pthread_mutex_unlock(&chip->lock);
	atomic_fetch_sub(&chip->waiters, 1);
	if (left)
		emb_keeper_wake(chip);
}

void emb_look_begin(struct nrt_chip *chip)
{
	atomic_fetch_add(&chip->waiters, 1);
	pthread_mutex_lock(&chip->lock);
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
		results[wait->index] = emb_result_find(core, job->job);
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

/* With the chip's lock: a debugger wants no job any more. */
static void abort_jobs(struct nrt_chip *chip)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++) {
		struct emb_core *core = &chip->core[neuron_unit_number(chip->gen, i)];

		if (core->first && core->first->doorbell_ns && !core->ending)
			give_up(core, false, NEURON_CAUSE_RESET);
	}
}

/* The same for a chip that a debugger runs. */
static void step_or_abort(struct nrt_chip *chip, uint64_t seen)
{
	bool go;

	pthread_mutex_unlock(&chip->lock);
	go = emb_step_job(chip, seen);
	pthread_mutex_lock(&chip->lock);
	if (!go)
		abort_jobs(chip);
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
		if (nrt_clock_now() >= deadline)
			return -ETIMEDOUT;
		if (chip->machine->debugger) {
			step_or_abort(chip, seen);
			continue;
		}
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
		emb_result_put(results[i]);
	return ret;
}

/* A result that this waits for lives until it has been handed out. */
int emb_wait(struct nrt_chip *chip, struct drm_neuron_wait *wait)
{
	struct drm_neuron_wait_job *jobs = (void *)(uintptr_t)wait->jobs.pointer;
	struct emb_result **results;
	bool left = false;
	int ret = 0;

	if (emb_forked(chip))
		return -ENODEV;
	if (wait->flags & ~DRM_NEURON_WAIT_ALL || !wait->jobs.count)
		return -EINVAL;
	emb_elements(&wait->jobs, sizeof(*jobs), EMB_WAIT_JOBS, &ret);
	if (ret)
		return ret;
	results = calloc(wait->jobs.count, sizeof(struct emb_result *));
	if (!results)
		return -ENOMEM;
	emb_look_begin(chip);
	ret = wait_locked(chip, wait, jobs, results, &left);
	emb_look_end(chip, left);
	free(results);
	return ret;
}

/* --- cancelling --- */

/* With the chip's lock: job @id, which does not run, leaves the queue of its core. */
static void drop_queued(struct emb_core *core, uint64_t id)
{
	struct emb_job *first = core->first, *before = first;

	while (before->next->id != id)
		before = before->next;
	/* It becomes the first one, ends, and the others are as they were. */
	core->first = before->next;
	before->next = core->first->next;
	core->first->next = first;
	if (core->last == core->first)
		core->last = before;
	end_aborted(core, false, NEURON_CAUSE_RESET);
}

/*
 * With the chip's lock, which is given up meanwhile: the job's core is being reset. Whoever cancels
 * a job is told soon that the core does not answer.
 */
static void await_end(struct nrt_chip *chip, const struct emb_result *result)
{
	uint64_t until = nrt_clock_now() + CANCEL_NS, seen, next;

	for (;;) {
		seen = atomic_load(&chip->irqs);
		next = emb_service(chip);
		if (result->ended || nrt_clock_now() > until)
			return;
		pthread_mutex_unlock(&chip->lock);
		emb_wait_irq(chip, seen, next);
		pthread_mutex_lock(&chip->lock);
	}
}

/* With the chip's lock. */
static int cancel_locked(struct nrt_chip *chip, const struct drm_neuron_cancel *cancel, bool *left)
{
	struct emb_result *result;
	struct emb_core *core;
	int ret;

	ret = emb_core_used(chip, cancel->claim, cancel->core, &core);
	if (ret)
		return ret;
	emb_service(chip);
	result = emb_result_find(core, cancel->job);
	if (!result)
		return -ENOENT;
	if (!result->ended && core->first->id != cancel->job)
		drop_queued(core, cancel->job);
	else if (!result->ended && !core->ending)
		give_up(core, false, NEURON_CAUSE_RESET);
	await_end(chip, result);
	ret = result->ended && !core->wedged ? 0 : -EIO;
	emb_result_put(result);
	*left = emb_service(chip);
	emb_tell(chip);
	return ret;
}

int emb_cancel(struct nrt_chip *chip, struct drm_neuron_cancel *cancel)
{
	bool left = false;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	emb_look_begin(chip);
	ret = cancel_locked(chip, cancel, &left);
	emb_look_end(chip, left);
	return ret;
}
