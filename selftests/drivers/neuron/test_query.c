// SPDX-License-Identifier: MIT
/*
 * The queries: numbers, limits, clocks, counters, queues; and elements of any size.
 */
#include <time.h>

#include "contract/job.h"
#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

FIXTURE(query)
{
	int fd;
	struct drm_neuron_device_info info;
};

FIXTURE_SETUP(query)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE,
				  &self->info, sizeof(self->info)));
}

FIXTURE_TEARDOWN(query)
{
	if (self->fd >= 0)
		close(self->fd);
}

/* The numbers that older interfaces had as constants. */
TEST_F(query, numbers)
{
	const struct drm_neuron_device_info *info = &self->info;

	EXPECT_EQ(info->nr_cores * (info->generation == 2 ? 3 : 2), info->nr_cc_cores);
	EXPECT_LE(info->nr_cores, info->first_cc_core);
	EXPECT_EQ(NEURON_NR_ENGINES, info->nr_engines);
	EXPECT_EQ(NEURON_NR_SEMAPHORES, info->nr_semaphores);
	EXPECT_EQ(NEURON_JOB_DMA_ENGINES, info->core_dma_engines);
	EXPECT_EQ(NEURON_UDMA_QUEUES, info->dma_queues);
}

/* Each limit: what it says passes elsewhere, and one more does not. */
TEST_F(query, limits)
{
	struct drm_neuron_limits_info limits = { 0 };

	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_LIMITS, &limits,
				  sizeof(limits)));
	EXPECT_LE(63, limits.queued_jobs);
	EXPECT_LE(limits.queued_jobs, limits.results);
	EXPECT_EQ(NEURON_JOB_MAX_GANG, limits.gang_jobs);
	EXPECT_EQ(NEURON_JOB_MAX_QUEUES, limits.job_queues);
	EXPECT_EQ(NEURON_MAX_WINDOWS, limits.windows);
	EXPECT_EQ(64, limits.syncs);
	EXPECT_EQ(1024, limits.wait_jobs);
	EXPECT_EQ(64, limits.post_entries);
	EXPECT_EQ(128, limits.events);
	EXPECT_EQ(65535, limits.grants);
	EXPECT_EQ(64, limits.event_files);
	EXPECT_EQ(256, limits.user_event_files);
	EXPECT_EQ(1024, limits.device_event_files);
	EXPECT_EQ(self->info.generation == 4 ? 4 : 1, limits.queue_priorities);
	EXPECT_LE(63, limits.queued_transfers);
	EXPECT_LE(limits.queued_transfers, limits.results);
	EXPECT_EQ(30000, limits.job_timeout_ms);
	EXPECT_EQ(24 * 3600 * 1000, limits.job_timeout_max_ms);
	EXPECT_EQ(16, limits.job_timeout_cap);
	EXPECT_EQ(256 << 20, limits.claim_memory);
	EXPECT_EQ(384 << 20, limits.user_memory);
}

#define ROW_GROUPS	4	/* of 32 rows, of a tensor engine */
#define SPARE		512	/* elements more than there are */
#define MAX_ANSWER	(1024 * 1024)

/**
 * struct answer - a type of query
 * @type: enum drm_neuron_query_type
 * @least: bytes of an element in version 2.0
 * @size: bytes of an element
 * @count: elements
 */
struct answer {
	uint32_t type;
	uint32_t least;
	uint32_t size;
	uint32_t count;
};

#define ANSWER(TYPE, name, NAME, nr) { \
	DRM_NEURON_QUERY_##TYPE, DRM_NEURON_##NAME##_INFO_SIZE_V2, \
	sizeof(struct drm_neuron_##name##_info), nr, \
}

/* What the query says and writes into @to, filled with 0xa5 before. */
static int ask(int fd, const struct answer *answer, uint32_t stride, uint32_t count,
	       uint8_t *to)
{
	struct drm_neuron_query query = {
		.type = answer->type,
		.answer = { stride, count, (uintptr_t)to },
	};
	int ret;

	memset(to, 0xa5, MAX_ANSWER);
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_QUERY, &query);
	if (!ret && (query.answer.stride != answer->size ||
		     query.answer.count != answer->count ||
		     query.answer.pointer != (uintptr_t)to))
		return -EBADMSG;
	return ret;
}

/* Every answer: its numbers, in part, with room to spare, with larger elements. */
TEST_F(query, sizes)
{
	const struct drm_neuron_device_info *info = &self->info;
	const int queues = neuron_query_count(self->fd, DRM_NEURON_QUERY_QUEUES);
	const struct answer answers[] = {
		ANSWER(DEVICE, device, DEVICE, 1),
		ANSWER(MEMORY, memory, MEMORY, info->nr_hbm),
		ANSWER(CORES, core, CORE, info->nr_cores),
		ANSWER(CC_CORES, core, CORE, info->nr_cc_cores),
		ANSWER(LINKS, link, LINK, info->nr_links),
		ANSWER(CLOCKS, clock, CLOCK, 1),
		ANSWER(COUNTERS, counter, COUNTER, 1),
		ANSWER(LIMITS, limits, LIMITS, 1),
		ANSWER(USAGE, usage, USAGE, DRM_NEURON_NR_CATEGORIES),
		ANSWER(STACK_USAGE, stack_usage, STACK_USAGE,
		       DRM_NEURON_NR_CATEGORIES * info->nr_hbm),
		ANSWER(LINK_COUNTERS, link_counter, LINK_COUNTER, info->nr_links),
		ANSWER(TENSOR_COUNTERS, tensor_counter, TENSOR_COUNTER,
		       info->nr_cores * ROW_GROUPS),
		ANSWER(QUEUES, queue, QUEUE, (uint32_t)queues),
		ANSWER(QUEUE_COUNTERS, queue_counter, QUEUE_COUNTER, (uint32_t)queues),
	};
	uint8_t *p = malloc(MAX_ANSWER);
	const struct answer *a;
	uint32_t i, size, n;

	ASSERT_NE(NULL, p);
	ASSERT_GT(queues, 0);
	for (a = answers; a < answers + ARRAY_SIZE(answers); a++) {
		struct drm_neuron_query query = { .type = a->type };

		must(self->fd, QUERY, &query);
		EXPECT_EQ(a->size, query.answer.stride) TH_LOG("query %u", a->type);
		EXPECT_EQ(a->count, query.answer.count) TH_LOG("query %u", a->type);
		size = a->count * a->size;
		EXPECT_EQ(0, ask(self->fd, a, a->size, a->count + SPARE, p))
			TH_LOG("query %u", a->type);
		EXPECT_EQ(0, neuron_differs_from(p + size, 4096, 0xa5) != 4096);
		if (!a->count)
			continue;
		/* Room for less than there is. */
		EXPECT_EQ(0, ask(self->fd, a, a->size, a->count - 1, p));
		EXPECT_EQ(4096, neuron_differs_from(p + size - a->size, 4096, 0xa5));
		/* Of a newer caller, what the kernel does not know is zero. */
		EXPECT_EQ(0, ask(self->fd, a, a->size + 16, a->count, p));
		for (i = 0; i < a->count; i++) {
			n = i * (a->size + 16) + a->size;
			EXPECT_EQ(16, neuron_differs_from(p + n, 16, 0));
		}
		/* Smaller than in version 2.0, no multiple of 8, or beyond a page. */
		EXPECT_EQ(-EINVAL, ask(self->fd, a, a->least - 8, 1, p));
		EXPECT_EQ(-EINVAL, ask(self->fd, a, a->size + 4, 1, p));
		EXPECT_EQ(-EINVAL, ask(self->fd, a, 0, 0, p));
		EXPECT_EQ(-EINVAL, ask(self->fd, a, 4104, 1, p));
		EXPECT_EQ(0, ask(self->fd, a, 4096, 1, p));
		EXPECT_EQ(0, ask(self->fd, a, a->least, 0, p));
	}
	free(p);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* Who repeats a call that failed must not be answered with more than there is room for. */
TEST_F(query, failed)
{
	struct drm_neuron_query query = {
		.type = DRM_NEURON_QUERY_CORES,
		.answer = { .stride = DRM_NEURON_CORE_INFO_SIZE_V2, .count = 1, .pointer = 1 },
	};
	const struct drm_neuron_query before = query;

	EXPECT_EQ(-EFAULT, neuron_ioctl(self->fd, DRM_IOCTL_NEURON_QUERY, &query));
	EXPECT_EQ(0, memcmp(&before, &query, sizeof(query)));
}

/* The host's time lies in the call; neither clock goes back. */
TEST_F(query, clocks)
{
	struct drm_neuron_clock_info clock = { 0 }, last = { 0 };
	int64_t begin, end;
	int i;

	for (i = 0; i < 200; i++) {
		begin = now_ns();
		ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_CLOCKS,
					  &clock, sizeof(clock)));
		end = now_ns();
		ASSERT_GE((int64_t)clock.host_ns, begin);
		ASSERT_LE((int64_t)clock.host_ns, end);
		ASSERT_GE(clock.device_ns, last.device_ns);
		ASSERT_GT(clock.host_ns, last.host_ns);
		last = clock;
	}
	EXPECT_GE(clock.engine_khz, 1000000);
	EXPECT_LE(clock.engine_khz, 2000000);
	EXPECT_EQ(100, clock.throttle);
	if (!(self->info.features & 1))
		EXPECT_EQ(0, clock.device_ns);
}

/* The time of the device is the one of the results of jobs. */
TEST_F(query, clocks_and_jobs)
{
	struct drm_neuron_clock_info before = { 0 }, after = { 0 };
	struct drm_neuron_wait_job result;
	struct rig rig;

	if (!(self->info.features & 1))
		SKIP(return, "device time is switched off");
	ASSERT_EQ(0, rig_open(&rig, 0, RIG_ANY_CORE));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_CLOCKS, &before,
				  sizeof(before)));
	rig_loop(&rig, NEURON_ENGINE_SYNC, 1000);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&rig, 20000, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_CLOCKS, &after,
				  sizeof(after)));
	EXPECT_GT(result.end_ns, result.start_ns);
	EXPECT_GE(after.device_ns, result.end_ns);
	/* It is that of the core which is furthest on: maybe another one. */
	EXPECT_GE(after.device_ns, before.device_ns);
	rig_close(&rig);
}

/* Each core has 16 engines for its jobs; the copy queues are the kernel's. */
TEST_F(query, queues)
{
	const struct drm_neuron_device_info *info = &self->info;
	const uint32_t per_core = info->core_dma_engines * info->dma_queues;
	uint32_t kernel = 0, cores[8] = { 0 }, i;
	struct drm_neuron_queue_info *queues;
	int nr;

	nr = neuron_query_count(self->fd, DRM_NEURON_QUERY_QUEUES);
	ASSERT_GT(nr, 0);
	queues = calloc((size_t)nr, sizeof(*queues));
	ASSERT_NE(NULL, queues);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_QUEUES, queues,
				  (size_t)nr * sizeof(*queues)));
	ASSERT_LE(info->nr_cores, 8);
	for (i = 0; i < (uint32_t)nr; i++) {
		EXPECT_EQ(i / info->dma_queues, queues[i].dma_engine);
		EXPECT_EQ(i % info->dma_queues, queues[i].queue);
		EXPECT_EQ(0, queues[i].pad);
		kernel += queues[i].owner == DRM_NEURON_QUEUE_KERNEL;
		if (queues[i].owner == DRM_NEURON_QUEUE_UNUSED) {
			EXPECT_EQ(~0u, queues[i].core);
			continue;
		}
		ASSERT_LT(queues[i].core, info->nr_cores);
		if (queues[i].owner != DRM_NEURON_QUEUE_CORE)
			continue;
		EXPECT_EQ(cores[queues[i].core] / info->dma_queues, queues[i].ring);
		cores[queues[i].core]++;
	}
	EXPECT_EQ(info->nr_cores, kernel);
	for (i = 0; i < info->nr_cores; i++)
		EXPECT_EQ(per_core, cores[i]);
	free(queues);
}

#define BYTES	4096

/* What all queues have moved, freed by the caller; or NULL. */
static struct drm_neuron_queue_counter_info *read_queues(int fd, int nr)
{
	struct drm_neuron_queue_counter_info *queues = calloc((size_t)nr, sizeof(*queues));

	if (queues && neuron_query(fd, DRM_NEURON_QUERY_QUEUE_COUNTERS, queues,
				   (size_t)nr * sizeof(*queues))) {
		free(queues);
		queues = NULL;
	}
	return queues;
}

/* A job counts in the queue that it uses, and in no other that jobs can use. */
TEST_F(query, queue_counters)
{
	int nr = neuron_query_count(self->fd, DRM_NEURON_QUERY_QUEUE_COUNTERS), i;
	int used = (int)self->info.core_dma_engines * (int)self->info.nr_cores *
		   (int)self->info.dma_queues;
	struct drm_neuron_queue_counter_info *before, *after;
	struct drm_neuron_wait_job result;
	struct rig rig;

	EXPECT_EQ(nr, neuron_query_count(self->fd, DRM_NEURON_QUERY_QUEUES));
	ASSERT_LE(used, nr);
	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	rig_copy(&rig, NEURON_ENGINE_SYNC, neuron_window_addr(RIG_WINDOW_DATA, BYTES),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), BYTES);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	before = read_queues(self->fd, nr);
	ASSERT_NE(NULL, before);
	ASSERT_EQ(0, rig_run(&rig, 20000, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);
	after = read_queues(self->fd, nr);
	ASSERT_NE(NULL, after);
	for (i = 0; i < used; i++) {
		EXPECT_EQ((uint32_t)i / self->info.dma_queues, after[i].dma_engine);
		EXPECT_EQ((uint32_t)i % self->info.dma_queues, after[i].queue);
		EXPECT_EQ(before[i].descriptors + !i, after[i].descriptors) TH_LOG("queue %d", i);
		EXPECT_EQ(before[i].bytes + (i ? 0 : BYTES), after[i].bytes) TH_LOG("queue %d", i);
	}
	free(before);
	free(after);
	rig_close(&rig);
}

#define ROWS	96	/* of the array that the product uses: three row groups */
#define COLUMNS	64	/* of the array */
#define MOVING	150	/* columns of the moving operand */
#define GROUPS	(8 * ROW_GROUPS)

/* Four columns are loaded in a cycle, and one moves in a cycle, in the rows that are used. */
TEST_F(query, tensor_counters)
{
	struct drm_neuron_tensor_counter_info before[GROUPS] = { 0 }, after[GROUPS] = { 0 };
	uint32_t nr = self->info.nr_cores * ROW_GROUPS, i;
	struct drm_neuron_wait_job result;
	struct rig rig;
	bool works;

	ASSERT_GE(GROUPS, nr);
	ASSERT_EQ(0, rig_open(&rig, 0, 1));
	rig_product(&rig, ROWS, COLUMNS, MOVING);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_TENSOR_COUNTERS, before,
				  nr * sizeof(before[0])));
	ASSERT_EQ(0, rig_run(&rig, 20000, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_TENSOR_COUNTERS, after,
				  nr * sizeof(after[0])));
	for (i = 0; i < nr; i++) {
		works = after[i].core == 1 && after[i].rows < ROWS / 32;
		EXPECT_EQ(i / ROW_GROUPS, after[i].core);
		EXPECT_EQ(i % ROW_GROUPS, after[i].rows);
		EXPECT_EQ(before[i].matmul_cycles + (works ? MOVING : 0), after[i].matmul_cycles);
		EXPECT_EQ(before[i].weights_cycles + (works ? COLUMNS / 4 : 0),
			  after[i].weights_cycles);
		EXPECT_LE(before[i].idle_cycles, after[i].idle_cycles);
	}
	rig_close(&rig);
}

/* A job that leaves its windows counts as fault and as violation. */
TEST_F(query, counters)
{
	struct drm_neuron_counter_info before = { 0 }, after = { 0 };
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;
	struct rig rig;

	ASSERT_EQ(0, rig_open(&rig, 0, RIG_ANY_CORE));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_COUNTERS, &before,
				  sizeof(before)));
	inst = rig_emit(&rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_FREE, 0);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&rig, 20000, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_COUNTERS, &after,
				  sizeof(after)));
	EXPECT_EQ(before.faults + 1, after.faults);
	EXPECT_EQ(before.violations + 1, after.violations);
	EXPECT_EQ(before.hangs, after.hangs);
	EXPECT_EQ(before.copy_errors, after.copy_errors);
	EXPECT_EQ(before.reset_failures, after.reset_failures);
	rig_close(&rig);
}

/* What the counters of the chip and the sums of its cores say. */
struct sums {
	struct drm_neuron_counter_info counters;
	uint64_t busy_ns;
	uint64_t jobs;
};

static int sums_read(int fd, const struct drm_neuron_device_info *info, struct sums *sums)
{
	struct drm_neuron_core_info core[8] = { 0 };
	uint32_t i;
	int ret;

	*sums = (struct sums){ 0 };
	ret = neuron_query(fd, DRM_NEURON_QUERY_COUNTERS, &sums->counters,
			   sizeof(sums->counters));
	if (!ret)
		ret = neuron_query(fd, DRM_NEURON_QUERY_CORES, core,
				   info->nr_cores * sizeof(core[0]));
	for (i = 0; i < info->nr_cores; i++) {
		sums->busy_ns += core[i].busy_ns;
		sums->jobs += core[i].jobs;
	}
	return ret;
}

/* A job that leaves its windows. */
static int run_violation(void)
{
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;
	struct rig rig;
	int ret = rig_open(&rig, 0, RIG_ANY_CORE);

	if (ret)
		return ret;
	inst = rig_emit(&rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_FREE, 0);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	ret = rig_run(&rig, 20000, &result);
	rig_close(&rig);
	return ret;
}

/* The chip counts from zero after a reset; what the driver says goes on. */
TEST_F(query, counters_survive_a_reset)
{
	struct sums before, reset, after;

	ASSERT_LE(self->info.nr_cores, 8);
	ASSERT_EQ(0, run_violation());
	ASSERT_EQ(0, sums_read(self->fd, &self->info, &before));
	EXPECT_GT(before.counters.violations, 0);
	EXPECT_GT(before.busy_ns, 0);
	EXPECT_GT(before.jobs, 0);

	ASSERT_EQ(0, neuron_reset_device(self->fd));
	ASSERT_EQ(0, sums_read(self->fd, &self->info, &reset));
	EXPECT_LT(before.counters.device_resets, reset.counters.device_resets);
	EXPECT_EQ(before.counters.violations, reset.counters.violations);
	EXPECT_EQ(before.counters.stale_posts, reset.counters.stale_posts);
	EXPECT_EQ(before.busy_ns, reset.busy_ns);
	EXPECT_EQ(before.jobs, reset.jobs);

	ASSERT_EQ(0, run_violation());
	ASSERT_EQ(0, sums_read(self->fd, &self->info, &after));
	EXPECT_EQ(reset.counters.violations + 1, after.counters.violations);
	EXPECT_LT(reset.busy_ns, after.busy_ns);
	EXPECT_EQ(reset.jobs + 1, after.jobs);
}

/* Return: a negative errno, or what the driver says that the chip has refused in all. */
static int64_t violations(int fd)
{
	struct drm_neuron_counter_info info = { 0 };
	int ret = neuron_query(fd, DRM_NEURON_QUERY_COUNTERS, &info, sizeof(info));

	return ret ? ret : (int64_t)info.violations;
}

/* After a reset the chip passes what it said before, and nobody has looked meanwhile. */
TEST_F(query, counters_that_pass_what_they_said)
{
	int64_t before;

	/* The chip says 1 then. */
	ASSERT_EQ(0, neuron_reset_device(self->fd));
	ASSERT_EQ(0, run_violation());
	before = violations(self->fd);
	ASSERT_LT(0, before);

	ASSERT_EQ(0, neuron_reset_device(self->fd));
	ASSERT_EQ(0, run_violation());
	ASSERT_EQ(0, run_violation());
	ASSERT_EQ(0, run_violation());
	EXPECT_EQ(before + 3, violations(self->fd));
}

/* What the chip has counted under an earlier driver is not counted. */
TEST_F(query, counters_begin_with_the_driver)
{
	char dir[256], *address;

	ASSERT_EQ(0, neuron_sysfs_dir(self->fd, dir, sizeof(dir)));
	address = strrchr(dir, '/') + 1;
	ASSERT_EQ(0, run_violation());
	ASSERT_LT(0, violations(self->fd));
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind", address));
	ASSERT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind", address));
	self->fd = neuron_open(0);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, violations(self->fd));
	ASSERT_EQ(0, run_violation());
	EXPECT_EQ(1, violations(self->fd));
}

TEST_HARNESS_MAIN
