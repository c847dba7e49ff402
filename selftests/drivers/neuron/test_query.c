// SPDX-License-Identifier: MIT
/*
 * The queries of clocks, counters, memory by category and queues.
 */
#include <time.h>

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

/* Every answer: its size, in part, with room to spare. */
TEST_F(query, sizes)
{
	const struct {
		uint32_t type;
		uint32_t size;
	} answers[] = {
		{ DRM_NEURON_QUERY_DEVICE,
		  sizeof(struct drm_neuron_device_info) },
		{ DRM_NEURON_QUERY_MEMORY, self->info.nr_hbm *
		  sizeof(struct drm_neuron_memory_info) },
		{ DRM_NEURON_QUERY_CC_CORES, self->info.nr_cores *
		  (self->info.generation == 2 ? 3 : 2) *
		  sizeof(struct drm_neuron_core_info) },
		{ DRM_NEURON_QUERY_CORES, self->info.nr_cores *
		  sizeof(struct drm_neuron_core_info) },
		{ DRM_NEURON_QUERY_LINKS, self->info.nr_links *
		  sizeof(struct drm_neuron_link_info) },
		{ DRM_NEURON_QUERY_CLOCKS,
		  sizeof(struct drm_neuron_clock_info) },
		{ DRM_NEURON_QUERY_COUNTERS,
		  sizeof(struct drm_neuron_counter_info) },
		{ DRM_NEURON_QUERY_USAGE, DRM_NEURON_NR_CATEGORIES *
		  sizeof(struct drm_neuron_usage_info) },
	};
	const uint32_t room = 65536;
	struct drm_neuron_query query;
	uint8_t *p = malloc(room);
	uint32_t i, size;

	ASSERT_NE(NULL, p);
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		size = answers[i].size;
		query = (struct drm_neuron_query){ .type = answers[i].type };
		must(self->fd, QUERY, &query);
		EXPECT_EQ(size, query.size) TH_LOG("query %u", query.type);
		query.pointer = (uintptr_t)p;
		memset(p, 0xa5, room);
		query.size = room;
		must(self->fd, QUERY, &query);
		EXPECT_EQ(size, query.size);
		EXPECT_EQ(room - size,
			  neuron_differs_from(p + size, room - size, 0xa5));
		memset(p, 0xa5, room);
		query.size = size / 2;
		must(self->fd, QUERY, &query);
		EXPECT_EQ(size, query.size);
		EXPECT_EQ(64, neuron_differs_from(p + size / 2, 64, 0xa5));
	}
	free(p);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
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
	struct drm_neuron_query query = { .type = DRM_NEURON_QUERY_QUEUES };
	struct drm_neuron_queue_info *queues;
	uint32_t i, q, nr, kernel = 0, cores = 0, rings[8] = { 0 };

	must(self->fd, QUERY, &query);
	ASSERT_EQ(0, query.size % sizeof(*queues));
	nr = query.size / sizeof(*queues);
	queues = calloc(nr, sizeof(*queues));
	ASSERT_NE(NULL, queues);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_QUEUES, queues,
				  query.size));
	ASSERT_LE(self->info.nr_cores, 8);
	for (i = 0; i < nr; i++) {
		EXPECT_EQ(i, queues[i].dma_engine);
		EXPECT_EQ(0, queues[i].pad);
		ASSERT_LT(queues[i].core, self->info.nr_cores);
		if (queues[i].ring != ~0u) {
			ASSERT_LT(queues[i].ring, 16);
			EXPECT_EQ(0, rings[queues[i].core] >> queues[i].ring & 1);
			rings[queues[i].core] |= 1u << queues[i].ring;
		}
		for (q = 0; q < 16; q++) {
			kernel += queues[i].owner[q] == DRM_NEURON_QUEUE_KERNEL;
			cores += queues[i].owner[q] == DRM_NEURON_QUEUE_CORE;
		}
	}
	for (i = 0; i < self->info.nr_cores; i++)
		EXPECT_EQ(0xffff, rings[i]);
	EXPECT_EQ(self->info.nr_cores, kernel);
	EXPECT_EQ(self->info.nr_cores * 16 * 16, cores);
	free(queues);
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

TEST_HARNESS_MAIN
