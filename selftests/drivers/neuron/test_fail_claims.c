// SPDX-License-Identifier: MIT
/*
 * As test_fail_nth: each allocation and each access to user memory fails once.
 * Here of what came with version 1.1 of the interface: user memory, streams,
 * windows that come with a job, grants of SBUF, cancelling, dumps, posts, the newer
 * queries.
 */
#include "fail_nth.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define KIB	1024ull
#define MIB	(1024 * KIB)

/* Claim a core of @node with @flags more, @use it, give it back. */
static int with_rig(const char *node, uint32_t flags,
		    int (*use)(struct rig *rig))
{
	struct drm_neuron_claim claim = { .flags = flags };
	struct rig rig;
	int ret = rig_open_node(&rig, node, RIG_ANY_CORE);

	if (ret)
		return ret;
	if (flags) {
		ret = rig_release(rig.fd, rig.claim);
		claim.cores = 1u << rig.core;
		if (!ret)
			ret = neuron_ioctl(rig.fd, DRM_IOCTL_NEURON_CLAIM,
					   &claim);
		rig.claim = claim.claim;
		if (!ret)
			ret = rig_bind(&rig);
	}
	if (!ret)
		ret = use(&rig);
	if (!ret)
		ret = rig_release(rig.fd, rig.claim);
	rig_close(&rig);
	return ret;
}

static int use_import(struct rig *rig)
{
	struct drm_neuron_bo_import args = { .size = MIB };
	struct drm_neuron_bo_create bo;
	void *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int ret;

	if (p == MAP_FAILED)
		return -errno;
	args.user = (uintptr_t)p;
	ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_BO_IMPORT, &args);
	if (!ret)
		ret = neuron_bo_create(rig->fd, DRM_NEURON_BO_HBM, 0, MIB, &bo);
	if (!ret)
		ret = neuron_bo_copy(rig->fd, bo.handle, 0, args.handle, 4,
				     300 * KIB);
	if (!ret)
		ret = neuron_bo_close(rig->fd, args.handle);
	munmap(p, MIB);
	return ret;
}

static int imports(const char *node)
{
	return with_rig(node, 0, use_import);
}

/* A stream, and a window that comes with the job. */
static int use_stream(struct rig *rig)
{
	struct drm_neuron_bo_create bo = {
		.size = MIB,
		.placement = DRM_NEURON_BO_HOST,
		.flags = DRM_NEURON_BO_STREAM,
		.category = DRM_NEURON_CATEGORY_NOTIFICATIONS,
	};
	struct drm_neuron_window window = {
		.index = 700,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = rig->bo,
		.length = 4096,
	};
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	int ret;

	ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_BO_CREATE, &bo);
	if (ret)
		return ret;
	rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_NOTIFY)->imm0 = 1;
	rig_halt(rig, NEURON_ENGINE_SYNC);
	rig_prepare(rig, &submit, &queue);
	submit.job.stream = bo.handle;
	submit.job.notify_size = 64;
	submit.job.windows.stride = sizeof(window);
	submit.job.windows.count = 1;
	submit.job.windows.pointer = (uintptr_t)&window;
	ret = rig_submit(rig, &submit);
	return ret ? ret : rig_wait(rig, submit.call.job, 60000, NULL);
}

static int streams(const char *node)
{
	return with_rig(node, 0, use_stream);
}

static int use_sbuf_grant(struct rig *rig)
{
	struct drm_neuron_grant grant = {
		.claim = rig->claim,
		.core = rig->core,
		.first = 4096,
		.count = 4096,
		.flags = DRM_NEURON_GRANT_SBUF_READ |
			 DRM_NEURON_GRANT_SBUF_WRITE,
	};
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_GRANT,
		.rights = DRM_NEURON_WINDOW_READ,
		.length = 4096,
	};
	int ret = neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_GRANT, &grant);

	if (ret)
		return ret;
	window.from = DRM_NEURON_FROM_GRANT_FD;
	window.source = grant.fd;
	ret = rig_windows(rig, &window, 1);
	close(grant.fd);
	return ret;
}

static int sbuf_grants(const char *node)
{
	return with_rig(node, 0, use_sbuf_grant);
}

/* The one behind the running one, then that. */
static int use_cancel(struct rig *rig)
{
	int64_t running, queued = 0;
	int ret;

	rig_loop(rig, NEURON_ENGINE_SYNC, 0);
	running = rig_start(rig, 600000);
	if (running >= 0)
		queued = rig_start(rig, 600000);
	if (running < 0 || queued < 0)
		return (int)(running < 0 ? running : queued);
	ret = rig_cancel(rig, (uint64_t)queued);
	if (!ret)
		ret = rig_cancel(rig, (uint64_t)running);
	return ret ? ret : rig_wait(rig, (uint64_t)queued, 60000, NULL);
}

static int cancels(const char *node)
{
	return with_rig(node, 0, use_cancel);
}

static int use_dump(struct rig *rig)
{
	static char text[64 * KIB];
	struct drm_neuron_dump dump = {
		.claim = rig->claim,
		.core = rig->core,
		.flags = DRM_NEURON_DUMP_MEMORY,
		.size = sizeof(text),
		.pointer = (uintptr_t)text,
	};
	int ret;

	rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_ILLEGAL);
	ret = rig_run(rig, 60000, NULL);
	if (ret)
		return ret;
	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_DUMP, &dump);
}

static int dumps(const char *node)
{
	return with_rig(node, 0, use_dump);
}

static int use_nothing(struct rig *rig)
{
	return rig->claim ? 0 : -ENOENT;
}

/*
 * A claim that has room for the memories of its core. None of them is dumped here: the
 * driver reads them word by word, which takes a second for each point that fails.
 */
static int room_for_memories(const char *node)
{
	return with_rig(node, DRM_NEURON_CLAIM_DUMP_MEMORY, use_nothing);
}

static int use_post(struct rig *rig)
{
	struct drm_neuron_post_entry entry[2] = {
		{ .counter = DRM_NEURON_STATUS_SUCCESS },
		{ .counter = DRM_NEURON_STATUS_INFERENCE_COUNT },
	};
	struct drm_neuron_post post = {
		.claim = rig->claim,
		.core = rig->core,
		.entries = {
			.stride = sizeof(entry[0]),
			.count = 2,
			.pointer = (uintptr_t)entry,
		},
	};

	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_POST, &post);
}

static int posts(const char *node)
{
	return with_rig(node, 0, use_post);
}

#define QUERY_STRIDE	256	/* more than any element */

static int newer_queries(const char *node)
{
	static uint8_t answer[8 * KIB];	/* each element is a user access that fails once */
	int fd = open(node, O_RDWR | O_CLOEXEC), ret = 0;
	uint32_t type;

	if (fd < 0)
		return -errno;
	for (type = DRM_NEURON_QUERY_CLOCKS;
	     !ret && type <= DRM_NEURON_QUERY_TENSOR_COUNTERS; type++)
		ret = neuron_query_array(fd, type, answer, QUERY_STRIDE,
					 sizeof(answer) / QUERY_STRIDE);
	close(fd);
	return ret;
}

FIXTURE(fail_claims) {
	int fd;
};

FIXTURE_VARIANT(fail_claims) {
	fail_scenario scenario;
};

#define FAIL_CLAIMS(name) \
	FIXTURE_VARIANT_ADD(fail_claims, name) { .scenario = name }

FAIL_CLAIMS(imports);
FAIL_CLAIMS(streams);
FAIL_CLAIMS(sbuf_grants);
FAIL_CLAIMS(cancels);
FAIL_CLAIMS(dumps);
FAIL_CLAIMS(room_for_memories);
FAIL_CLAIMS(posts);
FAIL_CLAIMS(newer_queries);

FIXTURE_SETUP(fail_claims)
{
	struct rig_usage usage;

	self->fd = -1;
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &usage);
	ASSERT_GE(usage.live, 0) TH_LOG("debugfs must be mounted");
	if (variant->scenario == imports && !neuron_can_import(self->fd))
		SKIP(return, "the device needs bounce buffers here");
}

FIXTURE_TEARDOWN(fail_claims)
{
	if (self->fd >= 0)
		close(self->fd);
}

TEST_F_TIMEOUT(fail_claims, every_allocation, 1800)
{
	struct fail_sweep result;

	ASSERT_TRUE(fail_every(variant->scenario, FAIL_ALLOCATIONS, self->fd,
			       &result))
		TH_LOG("%s", result.why);
	EXPECT_GT(result.noticed, 0);
	TH_LOG("%u allocations, %u noticed", result.points, result.noticed);
}

TEST_F_TIMEOUT(fail_claims, every_user_access, 1800)
{
	struct fail_sweep result;

	ASSERT_TRUE(fail_every(variant->scenario, FAIL_USER_ACCESS, self->fd,
			       &result))
		TH_LOG("%s", result.why);
	EXPECT_GT(result.noticed, 0);
	TH_LOG("%u accesses, %u noticed", result.points, result.noticed);
}

int main(int argc, char **argv)
{
	if (!fail_inject_setup())
		ksft_exit_skip("no fault injection in the kernel, and no module failnth\n");
	/* The harness does not return. */
	atexit(fail_inject_teardown);
	return test_harness_run(argc, argv);
}
