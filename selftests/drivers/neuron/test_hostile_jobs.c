// SPDX-License-Identifier: MIT
/*
 * Programs that want memory, cores and completions which are not theirs: by forged
 * ids, arrays, addresses, and by changing what the chip is just reading.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hostile.h"
#include "job_rig.h"
#include "kselftest_harness.h"

#define LIMIT		5000	/* ms, of jobs that should end at once */
#define SHORT		20	/* ms, of jobs that may do anything; the cap is 16 times that */
#define WILD_JOBS	60
#define SCRIBBLE_MS	2500
#define MARK		8192	/* bytes of the neighbour's SBUF and PSUM that are marked */

FIXTURE(program) {
	struct victim victim;
	struct rig rig;
	struct rig neighbour;	/* the victim's core, its SBUF marked */
	struct rig_usage before;
	int watch;
};

/* Between the data half and @window, as the neighbour does it. */
static int move_mark(struct rig *rig, uint32_t window, bool out)
{
	const uint64_t inside = neuron_window_addr(window, 0);
	const uint64_t data = neuron_window_addr(RIG_WINDOW_DATA, 0);
	struct drm_neuron_wait_job result;
	int ret;

	memset(rig->count, 0, sizeof(rig->count));
	memset(rig->tail, 0, sizeof(rig->tail));
	memset(rig->map, 0, RIG_HALF);
	rig_copy(rig, NEURON_ENGINE_SYNC, out ? data : inside,
		 out ? inside : data, MARK);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	ret = rig_run(rig, LIMIT, &result);
	if (!ret && result.status != NEURON_JOB_OK)
		ret = -EIO;
	return ret;
}

FIXTURE_SETUP(program)
{
	self->watch = neuron_open(0);
	if (self->watch < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->watch, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, victim_open(&self->victim, 0));
	ASSERT_EQ(0, rig_open(&self->neighbour, 0, 1));
	neuron_fill(self->neighbour.data, MARK, 55);
	ASSERT_EQ(0, move_mark(&self->neighbour, RIG_WINDOW_SBUF, false));
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	ASSERT_EQ(0, victim_grow(&self->victim));
}

/* A small job must run on the claimed core, here and now. */
static bool is_alive(struct rig *rig)
{
	struct drm_neuron_wait_job result;

	rig_clear(rig);
	rig_store(rig, NEURON_ENGINE_SYNC, 0, 0xa11fe);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	return !rig_run(rig, LIMIT, &result) &&
	       result.status == NEURON_JOB_OK &&
	       !memcmp(rig->data, "\xfe\x11\x0a", 4);
}

FIXTURE_TEARDOWN(program)
{
	if (self->watch < 0)
		return;
	EXPECT_TRUE(is_alive(&self->rig));
	EXPECT_TRUE(victim_is_unhurt(&self->victim));
	memset(self->neighbour.data, 0, MARK);
	EXPECT_EQ(0, move_mark(&self->neighbour, RIG_WINDOW_SBUF, true));
	EXPECT_EQ(MARK, neuron_differs(self->neighbour.data, MARK, 55))
		TH_LOG("SBUF of the neighbour was written");
	rig_close(&self->neighbour);
	rig_close(&self->rig);
	victim_close(&self->victim);
	EXPECT_FALSE(rig_leaks(self->watch, &self->before));
	close(self->watch);
}

/* A claim belongs to its file, and has its own cores only. */
TEST_F(program, ids_of_others)
{
	const uint32_t theirs = self->neighbour.claim, ours = self->rig.claim;
	const uint32_t ids[] = { 0, theirs + 1, 9, 0x7fffffff, 0xffffffff };
	/* The fourth CC-core is the neighbour's on every generation; there is no 17th. */
	const uint32_t cores[] = { 1, 2, self->rig.first_cc + 3, self->rig.first_cc + 16,
				   31, 32, 0x7fffffff, 0xffffffff };
	struct rig forged = self->rig;
	struct drm_neuron_grant grant = { .count = 1 };
	struct drm_neuron_reset reset = { 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ids) + ARRAY_SIZE(cores); i++) {
		const bool id = i < ARRAY_SIZE(ids);
		const int want = id ? -ENOENT : -EINVAL;
		/* Transfers have no claim, and then no core either. */
		const int wait = id && ids[i] == DRM_NEURON_NO_CLAIM ? -EINVAL : want;

		forged.claim = id ? ids[i] : ours;
		forged.core = id ? 1 : cores[i - ARRAY_SIZE(ids)];
		grant.claim = forged.claim;
		grant.core = forged.core;
		reset.claim = forged.claim;
		reset.core = forged.core;
		EXPECT_EQ(want, rig_bind(&forged));
		EXPECT_EQ(want, rig_start(&forged, LIMIT));
		EXPECT_EQ(wait, rig_wait(&forged, 1, 0, NULL));
		EXPECT_EQ(want, neuron_ioctl(forged.fd, DRM_IOCTL_NEURON_RESET,
					     &reset));
		EXPECT_EQ(want, neuron_ioctl(forged.fd, DRM_IOCTL_NEURON_GRANT,
					     &grant));
		if (id)
			EXPECT_EQ(-ENOENT, rig_release(forged.fd, ids[i]));
	}
	/* The number of a job of the other claim means nothing here. */
	EXPECT_EQ(-ENOENT, rig_wait(&self->rig, 1, 0, NULL));
	EXPECT_EQ(-ENOENT, rig_wait(&self->rig, ~0ull, 0, NULL));
}

#define GOOD	0x100000000ull	/* pointer: the last element before a hole */

static const struct {
	uint32_t stride, count;
	uint64_t pointer;
} bad_arrays[] = {
	{ 0, 1, GOOD }, { 1, 1, GOOD }, { 4097, 1, GOOD }, { 0xffffffff, 1, GOOD },
	{ 64, 0xffffffff, GOOD }, { 64, 0x10000, GOOD }, { 64, 2, GOOD },
	{ 64, 1, 0 }, { 64, 1, 0xffffffff81000000 }, { 64, 4, -64ull },
	{ 64, 1, 1ull << 63 }, { 4096, 2, GOOD }, { 64, 1, ~0ull },
};

/*
 * @at: the array in @args. What is refused must leave nothing behind: the
 * teardown looks for leaks.
 */
static void try_arrays(struct __test_metadata *_metadata, int fd,
		       unsigned long request, void *args,
		       struct drm_neuron_array *at)
{
	const struct drm_neuron_array good = *at;
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;
	int ret;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + 4096, 4096));
	for (i = 0; i < ARRAY_SIZE(bad_arrays); i++) {
		at->stride = bad_arrays[i].stride;
		at->count = bad_arrays[i].count;
		at->pointer = bad_arrays[i].pointer;
		if (at->pointer == GOOD)
			at->pointer = (uintptr_t)page + 4096 - 64;
		ret = neuron_ioctl(fd, request, args);
		/* Zeroed elements that are read before the bad one may be wrong, too. */
		EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT || ret == -ENOENT)
			TH_LOG("array %u gave %d", i, ret);
	}
	munmap(page, 4096);
	*at = good;
}

TEST_F(program, wild_arrays)
{
	struct drm_neuron_windows windows = {
		.claim = self->rig.claim,
		.core = self->rig.core,
	};
	struct rig_submit submit;
	struct drm_neuron_queue queue;

	try_arrays(_metadata, self->rig.fd, DRM_IOCTL_NEURON_WINDOWS, &windows,
		   &windows.windows);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	rig_prepare(&self->rig, &submit, &queue);
	rig_put_jobs(&submit.call, &submit.job, 1);
	try_arrays(_metadata, self->rig.fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call,
		   &submit.call.jobs);
	try_arrays(_metadata, self->rig.fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call,
		   &submit.job.queues);
	try_arrays(_metadata, self->rig.fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call,
		   &submit.job.windows);
	try_arrays(_metadata, self->rig.fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call,
		   &submit.call.in_syncs);
	try_arrays(_metadata, self->rig.fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call,
		   &submit.call.out_syncs);
	/* No job came of that. */
	EXPECT_EQ(0, rig_submit(&self->rig, &submit));
	EXPECT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, NULL));
}

/* Windows with any range of a buffer: inside it or refused. */
TEST_F(program, wild_windows)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = self->rig.bo,
	};
	const uint64_t size = 2 * RIG_HALF;
	unsigned int i, inside = 0;
	uint64_t seed = 3;
	int want;

	for (i = 0; i < 1500; i++) {
		window.offset = hostile_number(&seed);
		window.length = hostile_number(&seed);
		want = window.offset % 4 == 0 && window.length &&
		       window.length <= size &&
		       window.offset <= size - window.length ? 0 : -EINVAL;
		ASSERT_EQ(want, rig_windows(&self->rig, &window, 1))
			TH_LOG("offset %#llx length %#llx",
			       (long long)window.offset,
			       (long long)window.length);
		inside += !want;
	}
	EXPECT_GT(inside, 10);
	/* What is no grant is none: a device, a dma-buf, a pipe, a syncobj. */
	window = (struct drm_neuron_window){
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_SEM,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = 4,
		.from = DRM_NEURON_FROM_GRANT_FD,
		.source = self->rig.fd,
	};
	EXPECT_EQ(-EBADF, rig_windows(&self->rig, &window, 1));
	window.source = neuron_export(self->rig.fd, self->rig.bo);
	ASSERT_GE(window.source, 0);
	EXPECT_EQ(-EBADF, rig_windows(&self->rig, &window, 1));
	close(window.source);
	EXPECT_EQ(-EBADF, rig_windows(&self->rig, &window, 1));
}

/* Window, plain, host, routed and neighbour addresses, of everything there is. */
static uint64_t wild_address(uint64_t *seed)
{
	const uint64_t number = hostile_number(seed);

	switch (hostile_dice(seed, 7)) {
	case 0:
		return neuron_window_addr(hostile_dice(seed, 65536), number);
	case 1:
		return neuron_window_addr(hostile_dice(seed, 6), number);
	case 2:
		return number & 0xffffffffffull;
	case 3:
		return 1ull << (44 + hostile_dice(seed, 3)) | (number & ~0ull >> 20);
	case 4:
		return neuron_fabric_addr(hostile_dice(seed, 4), number);
	case 5:
		return neuron_neighbour_addr(hostile_dice(seed, 4), number);
	default:
		return number;
	}
}

static void emit_wild(struct rig *rig, uint64_t *seed)
{
	enum neuron_engine engine = hostile_dice(seed, NEURON_NR_ENGINES);
	struct neuron_inst *inst;
	uint8_t *bytes;
	unsigned int i;

	switch (hostile_dice(seed, 4)) {
	case 0:
		inst = rig_emit(rig, engine, NEURON_OP_REG_STORE);
		inst->addr = wild_address(seed);
		break;
	case 1:
		inst = rig_emit(rig, engine, NEURON_OP_REG_LOAD);
		inst->addr = wild_address(seed);
		break;
	case 2:
		rig_copy(rig, engine, wild_address(seed), wild_address(seed),
			 1 + hostile_dice(seed, 60000));
		break;
	default:
		bytes = (uint8_t *)rig_emit(rig, engine,
					    hostile_dice(seed, 0x32));
		for (i = 1; i < NEURON_INST_SIZE; i++)
			if (!hostile_dice(seed, 6))
				bytes[i] = (uint8_t)hostile_number(seed);
		break;
	}
	rig_halt(rig, engine);
}

/* Whatever the program is: it ends, and it stays in its windows. */
TEST_F(program, wild_programs)
{
	struct drm_neuron_wait_job result;
	unsigned int i, ok = 0;
	uint64_t seed = 4;

	for (i = 0; i < WILD_JOBS; i++) {
		rig_clear(&self->rig);
		emit_wild(&self->rig, &seed);
		ASSERT_EQ(0, rig_run(&self->rig, SHORT, &result))
			TH_LOG("job %u does not end", i);
		ok += result.status == NEURON_JOB_OK;
	}
	EXPECT_LT(ok, WILD_JOBS);
}

/* Rings and images that change while the chip reads them. */
struct scribbler {
	struct rig *rig;
	atomic_bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	volatile uint64_t *words = (volatile uint64_t *)(void *)s->rig->map;
	uint64_t seed = 5;

	while (!atomic_load(&s->stop)) {
		/* The rings and the first instructions of each engine. */
		uint32_t at = hostile_dice(&seed, 2) ?
			      RIG_RINGS + hostile_dice(&seed, 1024) :
			      RIG_IMAGE(hostile_dice(&seed, 5)) +
			      hostile_dice(&seed, 256);

		words[at / 8] = hostile_dice(&seed, 2) ? wild_address(&seed) :
							 hostile_number(&seed);
	}
	return NULL;
}

TEST_F(program, changed_while_it_runs)
{
	struct scribbler s = { .rig = &self->rig };
	int64_t end = rig_now_ms() + SCRIBBLE_MS;
	struct drm_neuron_wait_job result;
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	unsigned int i, jobs = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &s));
	while (rig_now_ms() < end) {
		rig_clear(&self->rig);
		for (i = 0; i < RIG_RING_LENGTH - 1; i++)
			rig_copy(&self->rig, NEURON_ENGINE_SYNC,
				 neuron_window_addr(RIG_WINDOW_DATA, 0x10000),
				 neuron_window_addr(RIG_WINDOW_DATA, 0), 4096);
		rig_halt(&self->rig, NEURON_ENGINE_SYNC);
		rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 500);
		rig_halt(&self->rig, NEURON_ENGINE_VECTOR);
		rig_prepare(&self->rig, &submit, &queue);
		queue.flags = DRM_NEURON_QUEUE_ANY_RING_ID;
		submit.job.timeout_ms = SHORT;
		if (rig_submit(&self->rig, &submit) ||
		    rig_wait(&self->rig, submit.call.job, 60000, &result))
			break;
		jobs++;
	}
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
	EXPECT_GE(rig_now_ms(), end) TH_LOG("a job did not end");
	EXPECT_GT(jobs, 0);
	TH_LOG("%u jobs", jobs);
}

/* What looks like a completion, or is a notification, completes nothing. */
TEST_F(program, completes_nothing_itself)
{
	struct neuron_hw_completion *forged = (void *)(self->rig.data + 0x8000);
	struct rig_submit submit;
	struct drm_neuron_wait_job result;
	struct drm_neuron_queue queue;
	volatile struct neuron_inst *inst;
	unsigned int i;

	for (i = 0; i < 512; i++) {
		forged[i].job_id = i;
		forged[i].status = NEURON_JOB_OK;
	}
	for (i = 0; i < 64; i++)
		rig_emit(&self->rig, NEURON_ENGINE_SYNC,
			 NEURON_OP_NOTIFY)->imm0 = i;
	rig_loop(&self->rig, NEURON_ENGINE_SYNC, 0);
	rig_prepare(&self->rig, &submit, &queue);
	submit.job.notify_addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	submit.job.notify_size = 64;
	submit.job.timeout_ms = 60000;
	ASSERT_EQ(0, rig_submit(&self->rig, &submit));
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->rig, submit.call.job, 300, NULL));
	inst = (void *)(self->rig.map + RIG_IMAGE(NEURON_ENGINE_SYNC));
	inst[64].addr = 0;
	inst[64].opcode = NEURON_OP_HALT;
	ASSERT_EQ(0, rig_wait(&self->rig, submit.call.job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
}

TEST_HARNESS_MAIN
