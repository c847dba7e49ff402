// SPDX-License-Identifier: MIT
/*
 * Claims, core resets, and jobs from the submission to the result.
 *
 * A thread that waits for a job looks after its chip itself: it takes what the interrupts
 * announce, and rings the doorbell of the next job. The machine's keeper does it for jobs that
 * nobody waits for. Both do it under the lock of the chip.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/trace.h"
#include "emb.h"
#include "trn/pool.h"

/* Where things are in the memory of a core. */
#define AT_QUEUES	sizeof(struct neuron_hw_job)
#define AT_COMPLETION	(3 * EMB_PAGE - 64)
#define CORE_BYTES	(3 * EMB_PAGE)
_Static_assert(AT_QUEUES + NEURON_JOB_MAX_QUEUES * sizeof(struct neuron_hw_job_queue) +
	       sizeof(struct neuron_hw_window) <= AT_COMPLETION, "the tables of a job fit");

#define MS		1000000ull
#define RESET_NS	(10000 * MS)
#define LIMIT_MS	30000
#define LIMIT_MAX_MS	600000
/* A job that makes progress may take so many limits. */
#define LIMIT_CAP	16
/* A short job is over before the doorbell returns. */
#define INLINE_NS	50000

static uint32_t core_read(const struct emb_core *core, uint32_t reg)
{
	return emb_read(core->chip, core->regs + reg);
}

static void core_write(const struct emb_core *core, uint32_t reg, uint32_t value)
{
	emb_write(core->chip, core->regs + reg, value);
}

static bool is_cc(const struct emb_core *core)
{
	return core->index >= NEURON_MAX_CORES;
}

static void core_init(struct nrt_chip *chip, unsigned int index)
{
	const struct neuron_gen *gen = chip->gen;
	struct emb_core *core = &chip->core[index];
	unsigned int cc = index - NEURON_MAX_CORES;

	core->chip = chip;
	core->index = index;
	if (is_cc(core)) {
		core->tpb = neuron_cc_core(gen, cc);
		core->regs = NEURON_CTL_CC(cc);
		core->sems_addr = neuron_top_sp_addr(gen, neuron_top_sp_of_id(gen, cc)) +
				  NEURON_TOP_SP_SEM;
	} else {
		core->tpb = index;
		core->regs = NEURON_CTL_CORE(index);
		core->sems_addr = gen->tpb_addr[index] + NEURON_TPB_SEM;
	}
	core_write(core, NEURON_CORE_MASK, 0);
}

int emb_cores_init(struct nrt_chip *chip)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		core_init(chip, neuron_unit_number(chip->gen, i));
	return 0;
}

/* --- results --- */

/* Somebody may wait for what no interrupt announces. */
static void tell(struct nrt_chip *chip)
{
	struct emb_machine *machine = chip->machine;

	pthread_mutex_lock(&machine->news_lock);
	atomic_fetch_add(&chip->irqs, 1);
	pthread_cond_broadcast(&machine->news);
	pthread_mutex_unlock(&machine->news_lock);
}

static void job_free(struct nrt_chip *chip, struct emb_job *job)
{
	emb_table_put(chip, job->table);
	emb_bo_put(job->trace_bo);
	free(job->queues);
	free(job);
}

/* The first job of the core has ended, or never begins. */
static void end_job(struct emb_core *core, const struct neuron_record *record, bool hang)
{
	struct emb_job *job = core->first;
	uint64_t wall = job->doorbell_ns ? emb_now_ns() - job->doorbell_ns : 0;
	struct drm_neuron_wait_job *result = &core->results[core->nr_results++ % EMB_RESULTS];

	*result = (struct drm_neuron_wait_job){
		.claim = job->claim,
		.core = core->index,
		.job = job->id,
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

/* --- reset --- */

static int core_reset(struct emb_core *core)
{
	struct nrt_chip *chip = core->chip;
	uint64_t deadline = emb_now_ns() + RESET_NS;
	uint64_t seen;

	core_write(core, NEURON_CORE_RESET, 1);
	for (;;) {
		seen = atomic_load(&chip->irqs);
		if (!core_read(core, NEURON_CORE_RESET))
			break;
		if (emb_now_ns() > deadline)
			return -EIO;
		emb_wait_irq(chip, seen, deadline);
	}
	/* What was announced until now is of a job that the reset has ended. */
	core_write(core, NEURON_CORE_CAUSE, core_read(core, NEURON_CORE_CAUSE));
	return 0;
}

/* What others were granted is void, and nothing of the last owner is left. */
static int core_renew(struct emb_core *core)
{
	struct emb_machine *machine = core->chip->machine;

	pthread_mutex_lock(&machine->lock);
	emb_names_forget(machine, NULL, core);
	core->generation++;
	pthread_mutex_unlock(&machine->lock);
	core_write(core, NEURON_CORE_GENERATION, core->generation);
	return core_reset(core);
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

/* The next job of the core, if it runs none. */
static void start_job(struct emb_core *core)
{
	struct trn_pool *pool = core->chip->machine->pool;
	uint64_t base = emb_host_addr(core->chip, core->memory.addr);
	struct emb_job *job = core->first;
	struct neuron_hw_job *block = (void *)core->memory.ptr;
	bool kept;

	if (!job || job->doorbell_ns)
		return;
	memset(core->memory.ptr + AT_COMPLETION, 0, sizeof(struct neuron_hw_completion));
	*block = job->block;
	block->completion = neuron_to_le64(base + AT_COMPLETION);
	write_tables(core, job, block);
	job->doorbell_ns = emb_now_ns();
	job->looked_ns = job->doorbell_ns;
	job->progress = emb_read64(core->chip, core->regs + NEURON_CORE_PROGRESS);
	kept = trn_pool_inline_begin(pool, INLINE_NS);
	core_write(core, NEURON_CORE_DOORBELL_LO, (uint32_t)base);
	core_write(core, NEURON_CORE_DOORBELL_HI, (uint32_t)(base >> 32));
	if (kept)
		trn_pool_inline_end(pool);
}

/* The chip broke its contract, or the job makes no progress. */
static void give_up(struct emb_core *core, bool hang)
{
	core_reset(core);
	end_aborted(core, hang);
	tell(core->chip);
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

/* When to look at the running job again. */
static uint64_t watch(struct emb_core *core)
{
	struct emb_job *job = core->first;
	uint64_t now = emb_now_ns(), cap = job->doorbell_ns + job->limit_ns * LIMIT_CAP;
	uint64_t progress, again;

	if (now < job->looked_ns + job->limit_ns && now < cap)
		goto out;
	progress = emb_read64(core->chip, core->regs + NEURON_CORE_PROGRESS);
	if (progress != job->progress && now < cap) {
		job->progress = progress;
		job->looked_ns = now;
		goto out;
	}
	give_up(core, true);
	return 0;
out:
	again = job->looked_ns + job->limit_ns;
	return again < cap ? again : cap;
}

static uint64_t service_core(struct emb_core *core)
{
	uint32_t cause;

	if (!core->first)
		return 0;
	cause = neuron_cause_pending(core_read(core, NEURON_CORE_CAUSE));
	if (cause)
		core_write(core, NEURON_CORE_CAUSE, cause);
	if (cause & NEURON_CORE_CAUSE_DONE)
		take_record(core);
	else if (cause & NEURON_CORE_CAUSE_REFUSED)
		give_up(core, false);
	start_job(core);
	return core->first ? watch(core) : 0;
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

/* --- claims --- */

static struct emb_claim *find_claim(struct nrt_chip *chip, uint32_t id)
{
	unsigned int i;

	for (i = 0; id && i < EMB_CLAIMS; i++)
		if (chip->claim[i].id == id)
			return &chip->claim[i];
	return NULL;
}

static void core_leave(struct emb_core *core)
{
	core_renew(core);
	while (core->first)
		end_aborted(core, false);
	emb_table_put(core->chip, core->table);
	core->table = NULL;
	emb_shared_free(core->chip->machine, &core->memory);
	free(core->results);
	core->results = NULL;
	core->nr_results = 0;
	core->claim = 0;
}

static int core_enter(struct emb_core *core, uint32_t claim)
{
	int ret = core_renew(core);

	if (!ret)
		ret = emb_shared_alloc(core->chip->machine, CORE_BYTES, &core->memory);
	if (ret)
		return ret;
	core->results = calloc(EMB_RESULTS, sizeof(*core->results));
	if (!core->results) {
		emb_shared_free(core->chip->machine, &core->memory);
		return -ENOMEM;
	}
	core->claim = claim;
	return 0;
}

/* CC-cores first: their jobs may work with the memories of the cores. */
static void claim_end(struct nrt_chip *chip, struct emb_claim *claim)
{
	unsigned int i = NEURON_MAX_UNITS;

	while (i--)
		if (chip->core[i].claim == claim->id)
			core_leave(&chip->core[i]);
	claim->id = 0;
	tell(chip);
}

static uint32_t choose_cores(const struct nrt_chip *chip, const struct drm_neuron_claim *args)
{
	uint32_t busy = 0, mask, align = args->align ? args->align : 1;
	unsigned int i, nr = chip->gen->nr_cores;

	for (i = 0; i < nr; i++)
		if (chip->core[i].claim)
			busy |= 1u << i;
	if (args->cores)
		return args->cores & busy ? 0 : (uint32_t)args->cores;
	for (i = 0; i + args->count <= nr; i += align) {
		mask = ((1u << args->count) - 1) << i;
		if (!(mask & busy))
			return mask;
	}
	return 0;
}

static int claim_begin(struct nrt_chip *chip, struct drm_neuron_claim *args)
{
	uint32_t mask = choose_cores(chip, args);
	struct emb_claim *claim = NULL;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < EMB_CLAIMS && !claim; i++)
		if (!chip->claim[i].id)
			claim = &chip->claim[i];
	if (!mask || !claim)
		return -EBUSY;
	*claim = (struct emb_claim){ .id = ++chip->last_claim, .cores = mask };
	for (i = 0; i < chip->gen->nr_cores && !ret; i++)
		if (mask >> i & 1)
			ret = core_enter(&chip->core[i], claim->id);
	if (ret) {
		claim_end(chip, claim);
		return ret;
	}
	args->claim = claim->id;
	args->granted = mask;
	return 0;
}

int emb_claim(struct nrt_chip *chip, struct drm_neuron_claim *args)
{
	unsigned int nr = chip->gen->nr_cores;
	int ret;

	if (args->flags || !args->cores == !args->count || args->cores >> nr || args->count > nr ||
	    args->align > nr || args->align & (args->align - 1))
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	ret = claim_begin(chip, args);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emb_release(struct nrt_chip *chip, struct drm_neuron_release *args)
{
	struct emb_claim *claim;

	pthread_mutex_lock(&chip->lock);
	claim = find_claim(chip, args->claim);
	if (claim)
		claim_end(chip, claim);
	pthread_mutex_unlock(&chip->lock);
	return claim ? 0 : -ENOENT;
}

void emb_cores_destroy(struct nrt_chip *chip)
{
	unsigned int i;

	for (i = 0; i < NEURON_MAX_UNITS; i++) {
		struct emb_core *core = &chip->core[i];

		while (core->first) {
			struct emb_job *job = core->first;

			core->first = job->next;
			job_free(chip, job);
		}
		emb_table_put(chip, core->table);
		emb_shared_free(chip->machine, &core->memory);
		free(core->results);
	}
}

struct emb_core *emb_core_of(struct nrt_chip *chip, uint32_t claim, uint32_t index)
{
	struct emb_core *core;

	if (!find_claim(chip, claim))
		return NULL;
	if (index < chip->gen->nr_cores)
		return chip->core[index].claim == claim ? &chip->core[index] : NULL;
	if (index < NEURON_MAX_CORES || index - NEURON_MAX_CORES >= chip->gen->nr_top_sp_ids)
		return NULL;
	core = &chip->core[index];
	if (chip->core[core->tpb].claim != claim)
		return NULL;
	/* A CC-core comes with its core, and is scrubbed when it is used first. */
	if (core->claim != claim && core_enter(core, claim))
		return NULL;
	return core;
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
	uint32_t i;

	for (i = 0; i < array->count && !ret; i++) {
		if (start[i].engine >= NEURON_NR_ENGINES)
			ret = -EINVAL;
		else
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
		if (neuron_hw_job_check_queue(&job->queues[i], first, used))
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
	ret = emb_window_of_bo(core->chip, &window, &job->trace, &job->trace_bo);
	if (ret)
		return ret;
	job->trace.flags |= neuron_to_le32(NEURON_WINDOW_WRITE);
	return neuron_trace_check_window(neuron_from_le32(job->trace.flags), args->trace_size) ?
		       -EINVAL : 0;
}

static int build_job(struct emb_core *core, struct emb_job *job, const struct drm_neuron_job *args)
{
	uint32_t engines = is_cc(core) ? 1u << NEURON_ENGINE_SYNC : (1u << NEURON_NR_ENGINES) - 1;
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

static int submit_locked(struct nrt_chip *chip, struct drm_neuron_submit *submit,
			 const struct drm_neuron_job *args)
{
	struct emb_core *core = emb_core_of(chip, submit->claim, args->core);
	struct emb_claim *claim = find_claim(chip, submit->claim);
	struct emb_job *job;
	int ret;

	if (!core)
		return -ENOENT;
	if (core->nr_jobs == EMB_QUEUE)
		return -EBUSY;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->claim = claim->id;
	job->id = claim->last_job + 1;
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
	start_job(core);
	/* A short job is over by now. */
	service_core(core);
	return 0;
}

/* This thread looks after the chip no more. What has not ended is the keeper's again. */
static void leave(struct nrt_chip *chip)
{
	if (atomic_fetch_sub(&chip->waiters, 1) == 1)
		emb_keeper_wake(chip->machine);
}

/* Gangs, fences and notification streams are the DRM driver's. */
int emb_submit(struct nrt_chip *chip, struct drm_neuron_submit *submit)
{
	const struct drm_neuron_job *args = (const void *)(uintptr_t)submit->jobs.pointer;
	int ret;

	if (submit->flags || submit->in_syncs.count || submit->out_syncs.count ||
	    submit->jobs.count != 1 || submit->jobs.stride != sizeof(*args) || args->flags ||
	    args->stream || args->stream_offset)
		return -EINVAL;
	atomic_fetch_add(&chip->waiters, 1);
	pthread_mutex_lock(&chip->lock);
	ret = submit_locked(chip, submit, args);
	pthread_mutex_unlock(&chip->lock);
	leave(chip);
	return ret;
}

/* --- waiting; with the chip's lock --- */

/* 0: it has ended, and *@job is its result; -EAGAIN: it has not; -ENOENT: there is none. */
static int collect(struct nrt_chip *chip, struct drm_neuron_wait_job *job)
{
	struct emb_core *core = emb_core_of(chip, job->claim, job->core);
	struct emb_job *pending;
	uint64_t i;

	if (!core)
		return -ENOENT;
	for (pending = core->first; pending; pending = pending->next)
		if (pending->id == job->job)
			return -EAGAIN;
	for (i = core->nr_results; i && i + EMB_RESULTS > core->nr_results; i--) {
		if (core->results[(i - 1) % EMB_RESULTS].job != job->job)
			continue;
		*job = core->results[(i - 1) % EMB_RESULTS];
		return 0;
	}
	return -ENOENT;
}

/* As WAIT says: 0 when enough jobs have ended, -EAGAIN when they have not. */
static int collect_all(struct nrt_chip *chip, struct drm_neuron_wait *wait,
		       struct drm_neuron_wait_job *jobs)
{
	uint32_t i, ended = 0;
	int ret;

	wait->index = wait->jobs.count;
	for (i = 0; i < wait->jobs.count; i++) {
		ret = jobs[i].status ? 0 : collect(chip, &jobs[i]);
		if (ret == -ENOENT) {
			wait->index = i;
			return ret;
		}
		if (ret)
			continue;
		ended++;
		if (wait->index == wait->jobs.count)
			wait->index = i;
	}
	if (wait->flags & DRM_NEURON_WAIT_ALL)
		return ended == wait->jobs.count ? 0 : -EAGAIN;
	return ended ? 0 : -EAGAIN;
}

static int wait_loop(struct nrt_chip *chip, struct drm_neuron_wait *wait,
		     struct drm_neuron_wait_job *jobs)
{
	uint64_t deadline = (uint64_t)(wait->deadline_ns < 0 ? 0 : wait->deadline_ns);
	uint64_t seen, next;
	int ret;

	for (;;) {
		seen = atomic_load(&chip->irqs);
		pthread_mutex_lock(&chip->lock);
		next = emb_service(chip);
		ret = collect_all(chip, wait, jobs);
		pthread_mutex_unlock(&chip->lock);
		if (ret != -EAGAIN)
			return ret;
		if (emb_now_ns() >= deadline)
			return -ETIMEDOUT;
		emb_wait_irq(chip, seen, next && next < deadline ? next : deadline);
	}
}

int emb_wait(struct nrt_chip *chip, struct drm_neuron_wait *wait)
{
	struct drm_neuron_wait_job *jobs = (void *)(uintptr_t)wait->jobs.pointer;
	uint32_t i;
	int ret;

	if (wait->flags & ~DRM_NEURON_WAIT_ALL || !wait->jobs.count ||
	    wait->jobs.stride != sizeof(*jobs))
		return -EINVAL;
	for (i = 0; i < wait->jobs.count; i++)
		jobs[i].status = 0;
	atomic_fetch_add(&chip->waiters, 1);
	ret = wait_loop(chip, wait, jobs);
	leave(chip);
	return ret;
}
