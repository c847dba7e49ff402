// SPDX-License-Identifier: MIT
/*
 * Cores of one claim: pairs by alignment, and windows of each other's semaphores and SBUF
 * without a grant.
 */
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "neuron/regs.h"

#define LIMIT	20000	/* ms, of jobs that should end at once */
#define SYNC	NEURON_ENGINE_SYNC
#define BOTH	(DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE)
#define POST	RIG_WINDOW_FREE
#define SBUF	(RIG_WINDOW_FREE + 1)
#define GO	7	/* a semaphore */

FIXTURE(pair) {
	struct rig core[2];
};

FIXTURE_SETUP(pair)
{
	int ret = rig_open_pair(self->core, 0);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(pair)
{
	rig_close(&self->core[0]);
	rig_close(&self->core[1]);
}

static int bind_sem(struct rig *rig, const struct rig *sibling, uint32_t rights)
{
	struct drm_neuron_window window = {
		.index = POST,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = rights,
		.offset = GO,
		.length = 4,
		.from = DRM_NEURON_FROM_CORE,
		.source = (int32_t)sibling->core,
	};

	return rig_windows(rig, &window, 1);
}

static int bind_sbuf(struct rig *rig, uint32_t core, uint64_t offset, uint64_t length)
{
	struct drm_neuron_window window = {
		.index = SBUF,
		.kind = DRM_NEURON_WINDOW_GRANT,
		.rights = BOTH,
		.offset = offset,
		.length = length,
		.from = DRM_NEURON_FROM_CORE,
		.source = (int32_t)core,
	};

	return rig_windows(rig, &window, 1);
}

static void post(struct rig *rig)
{
	struct neuron_inst *inst = rig_emit(rig, SYNC, NEURON_OP_REG_SET);

	inst->reg[0] = 1;
	inst->imm0 = 1;
	inst = rig_emit(rig, SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(POST, 0);
}

static void take(struct rig *rig)
{
	struct neuron_inst *inst = rig_emit(rig, SYNC, NEURON_OP_NOP);

	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) | NEURON_SYNC_TAKE;
	inst->wait_sem = GO;
	inst->wait_value = 1;
}

/*
 * The post for the job may come before the job starts, which must not clear it then. The job
 * takes what it waits for, so nothing is left for the next one.
 */
static int64_t start_without_clearing(struct rig *rig)
{
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	int ret;

	rig_prepare(rig, &submit, &queue);
	submit.job.timeout_ms = LIMIT;
	submit.job.sem_clear.count = 0;
	ret = rig_submit(rig, &submit);
	return ret ? ret : (int64_t)submit.call.job;
}

/* A copy writes SBUF of the second core, then its semaphore; its job waits for that. */
static void give_and_take(struct __test_metadata *_metadata, struct rig *first,
			  struct rig *second)
{
	struct drm_neuron_wait_job result;
	int64_t job;

	rig_clear(second);
	take(second);
	rig_copy(second, SYNC, neuron_window_addr(RIG_WINDOW_DATA, 0),
		 neuron_window_addr(RIG_WINDOW_SBUF, 0x400), 256);
	rig_halt(second, SYNC);
	job = start_without_clearing(second);
	ASSERT_LT(0, job);

	rig_clear(first);
	neuron_fill(first->data, 256, 5);
	memcpy(first->data + 256, &(uint32_t){ 1 }, 4);
	rig_copy(first, SYNC, neuron_window_addr(SBUF, 0),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 256);
	rig_copy(first, SYNC, neuron_window_addr(POST, 0),
		 neuron_window_addr(RIG_WINDOW_DATA, 256), 4);
	rig_halt(first, SYNC);
	ASSERT_EQ(0, rig_run(first, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	ASSERT_EQ(0, rig_wait(second, (uint64_t)job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(256, neuron_differs(second->data, 256, 5));
}

TEST_F(pair, reach_each_other)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct rig *first = &self->core[i], *second = &self->core[!i];

		ASSERT_EQ(0, bind_sem(first, second, DRM_NEURON_WINDOW_WRITE));
		ASSERT_EQ(0, bind_sbuf(first, second->core, 0x400, 256));
		give_and_take(_metadata, first, second);
	}
}

TEST_F(pair, core_and_cc_core)
{
	struct rig cc;

	ASSERT_EQ(0, rig_open_cc(&cc, &self->core[0], 0));
	ASSERT_EQ(0, bind_sem(&cc, &self->core[1], DRM_NEURON_WINDOW_WRITE));
	ASSERT_EQ(0, bind_sbuf(&cc, self->core[1].core, 0x400, 256));
	give_and_take(_metadata, &cc, &self->core[1]);
	/* And back: a post to the CC-core, which has no SBUF. */
	ASSERT_EQ(0, bind_sem(&self->core[1], &cc, DRM_NEURON_WINDOW_WRITE));
	EXPECT_EQ(-EINVAL, bind_sbuf(&self->core[1], cc.core, 0, 256));
	rig_clear(&self->core[1]);
	post(&self->core[1]);
	rig_halt(&self->core[1], SYNC);
	EXPECT_EQ(0, rig_run(&self->core[1], LIMIT, NULL));
	rig_clear(&cc);
	take(&cc);
	rig_halt(&cc, SYNC);
	EXPECT_EQ(0, rig_run(&cc, LIMIT, NULL));
	rig_close(&cc);
}

static uint64_t core_resets(const struct rig *rig)
{
	struct drm_neuron_counter_info info = { };

	if (neuron_query(rig->fd, DRM_NEURON_QUERY_COUNTERS, &info, sizeof(info)))
		return UINT64_MAX;
	return info.core_resets;
}

/* A CC-core is scrubbed when it is asked for first, and not for a window that is refused. */
TEST_F(pair, cc_core_that_was_not_used)
{
	struct rig *rig = &self->core[0];
	struct rig cc, unused = *rig;
	uint64_t before;

	ASSERT_EQ(0, rig_open_cc(&cc, &self->core[1], 0));
	unused.core = cc.core - 1;	/* the last one of the first core */
	before = core_resets(rig);
	ASSERT_NE(UINT64_MAX, before);
	EXPECT_EQ(-EINVAL, bind_sbuf(rig, unused.core, 0, 256));
	EXPECT_EQ(before, core_resets(rig));
	EXPECT_EQ(0, bind_sem(rig, &unused, DRM_NEURON_WINDOW_WRITE));
	EXPECT_EQ(before + 1, core_resets(rig));
	EXPECT_EQ(0, bind_sem(rig, &unused, DRM_NEURON_WINDOW_WRITE));
	EXPECT_EQ(before + 1, core_resets(rig));
	rig_close(&cc);
}

TEST_F(pair, what_is_not_theirs_is_refused)
{
	const uint64_t size = NEURON_TPB_SBUF_SIZE;
	struct rig *rig = &self->core[0];
	struct rig none = *rig;

	EXPECT_EQ(-EPERM, bind_sem(rig, &self->core[1], BOTH));
	EXPECT_EQ(-EPERM, bind_sem(rig, &self->core[1], DRM_NEURON_WINDOW_READ));
	none.core = rig->core ^ 2;	/* of another pair, or no core at all */
	EXPECT_EQ(-EINVAL, bind_sem(rig, &none, DRM_NEURON_WINDOW_WRITE));
	EXPECT_EQ(-EINVAL, bind_sbuf(rig, none.core, 0, 64));
	EXPECT_EQ(-EINVAL, bind_sbuf(rig, 31, 0, 64));
	EXPECT_EQ(-EINVAL, bind_sbuf(rig, 0xffffffff, 0, 64));
	EXPECT_EQ(0, bind_sbuf(rig, self->core[1].core, 0, size));
	EXPECT_EQ(-EINVAL, bind_sbuf(rig, self->core[1].core, 0, size + 4));
	EXPECT_EQ(-EINVAL, bind_sbuf(rig, self->core[1].core, 4, size));
	EXPECT_EQ(-EINVAL, bind_sbuf(rig, self->core[1].core, 2, 64));
}

/* When a core is claimed, a pair begins at the next even one. */
TEST_F(pair, alignment)
{
	struct drm_neuron_claim single = { .count = 1 }, pair = { .count = 2, .align = 2 };
	int fd = self->core[0].fd, ret;

	EXPECT_EQ(0, self->core[0].core % 2);
	EXPECT_EQ(self->core[0].core + 1, self->core[1].core);
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_CLAIM, &single);
	if (ret == -EBUSY)
		SKIP(return, "the chip has two cores");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, neuron_ioctl(fd, DRM_IOCTL_NEURON_CLAIM, &pair));
	EXPECT_EQ(0, __builtin_ctzll(pair.granted) % 2);
	EXPECT_EQ(2, __builtin_popcountll(pair.granted));
	EXPECT_EQ(0, pair.granted & single.granted);
	/* The core beside the single one is free, but begins no pair. */
	EXPECT_EQ(0, rig_release(fd, pair.claim));
	pair.count = 2;
	pair.align = 8;
	EXPECT_EQ(-EBUSY, neuron_ioctl(fd, DRM_IOCTL_NEURON_CLAIM, &pair));
	pair.align = 2;
	pair.count = 0;
	pair.cores = 1u << 7;
	EXPECT_EQ(-EINVAL, neuron_ioctl(fd, DRM_IOCTL_NEURON_CLAIM, &pair));
	EXPECT_EQ(0, rig_release(fd, single.claim));
}

TEST_HARNESS_MAIN
