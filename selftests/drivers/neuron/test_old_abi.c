// SPDX-License-Identifier: MIT
/*
 * A program of version 2.0: each ioctl once, with the structs of the golden dump and not of the
 * header. It must pass with every later driver of this major number, so it is built from the
 * dump of 2.0 for ever. Each struct lies at the end of readable memory: a driver whose structs
 * have grown touches nothing beyond those of 2.0.
 *
 * The instructions are the hardware's, which is another contract.
 */
#include <drm.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../abi/neuron_accel-2.0.abi"
#include "kselftest_harness.h"
#include "neuron/address.h"
#include "neuron/isa.h"

#define PAGE		4096
#define WHOLE		(16 * PAGE)	/* bytes before the hole */
#define IMAGE		0		/* window of the program */
#define LIMIT_MS	20000
#define FOREVER		0x7fffffffffffffffll

/**
 * struct program - what all tests have
 * @fd: device
 * @end: of readable memory
 * @page: of user memory
 * @claim: of one core
 * @core: that one
 * @bo: buffer in host memory
 * @image: its first page, window IMAGE
 */
struct program {
	int fd;
	uint8_t *end;
	uint8_t *page;
	uint32_t claim;
	uint32_t core;
	struct drm_neuron_bo_create bo;
	struct neuron_inst *image;
};

FIXTURE(old) {
	struct program p;
};

static int is_neuron(int fd)
{
	char name[16] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "neuron") &&
	       version.version_major == DRM_NEURON_DRIVER_MAJOR;
}

static int open_any(void)
{
	char path[32];
	int i, fd;

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && is_neuron(fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* 0 or a negative errno; @arg is as large as @request says. */
static int call(int fd, uint8_t *end, unsigned long request, void *arg)
{
	size_t size = _IOC_SIZE(request);
	int ret;

	memcpy(end - size, arg, size);
	ret = ioctl(fd, request, end - size) ? -errno : 0;
	memcpy(arg, end - size, size);
	return ret;
}

#define must(NAME, arg) do { \
	ASSERT_EQ(sizeof(*(arg)), _IOC_SIZE(DRM_IOCTL_NEURON_##NAME)); \
	ASSERT_EQ(0, call(self->p.fd, self->p.end, DRM_IOCTL_NEURON_##NAME, arg)) \
		TH_LOG(#NAME " should succeed"); \
} while (0)

#define ONE(element) { sizeof(*(element)), 1, (uintptr_t)(element) }

FIXTURE_SETUP(old)
{
	struct drm_neuron_claim claim = { .count = 1 };
	struct drm_neuron_bo_create bo = { .size = 2 * PAGE, .placement = DRM_NEURON_BO_HOST };
	struct drm_neuron_window window = {
		.index = IMAGE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.length = PAGE,
	};
	struct drm_neuron_windows windows = { .windows = ONE(&window) };
	uint8_t *map;

	self->p.fd = open_any();
	if (self->p.fd < 0)
		SKIP(return, "no neuron device of this major version");
	map = mmap(NULL, WHOLE + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	self->p.end = map + WHOLE;
	self->p.page = self->p.end + PAGE;
	ASSERT_EQ(0, mprotect(self->p.end, PAGE, PROT_NONE));
	must(CLAIM, &claim);
	self->p.claim = claim.claim;
	self->p.core = (uint32_t)__builtin_ctzll(claim.granted);
	must(BO_CREATE, &bo);
	self->p.bo = bo;
	self->p.image = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, self->p.fd,
			     (off_t)bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, self->p.image);
	window.handle = bo.handle;
	windows.claim = self->p.claim;
	windows.core = self->p.core;
	must(WINDOWS, &windows);
}

FIXTURE_TEARDOWN(old)
{
	struct drm_neuron_release release = { .claim = self->p.claim };

	if (self->p.fd < 0)
		return;
	must(RELEASE, &release);
	munmap(self->p.image, self->p.bo.size);
	munmap(self->p.end - WHOLE, WHOLE + 2 * PAGE);
	close(self->p.fd);
}

/* The id of a job of the one instruction @opcode. @trace_size: of its trace; 0: none. */
static int64_t start_traced(struct __test_metadata *_metadata, const struct program *p,
			    uint16_t opcode, uint64_t trace_size)
{
	const struct drm_neuron_start sync = {
		.addr = neuron_window_addr(IMAGE, 0),
		.count = 1,
		.engine = DRM_NEURON_ENGINE_SYNC,
	};
	const uint64_t clear = ~0ull;
	struct drm_neuron_window window = { .index = 1, .kind = DRM_NEURON_WINDOW_EMPTY };
	struct drm_neuron_job job = {
		.core = p->core,
		.starts = ONE(&sync),
		.sem_clear = ONE(&clear),
		.timeout_ms = LIMIT_MS,
		.windows = ONE(&window),
		.trace = trace_size ? p->bo.handle : 0,
		.trace_offset = trace_size ? PAGE : 0,
		.trace_size = trace_size,
	};
	struct drm_neuron_submit submit = { .claim = p->claim, .jobs = ONE(&job) };
	int ret;

	memset(p->image, 0, sizeof(*p->image));
	p->image->opcode = (typeof(p->image->opcode))opcode;
	ret = call(p->fd, p->end, DRM_IOCTL_NEURON_SUBMIT, &submit);
	EXPECT_EQ(0, ret) TH_LOG("SUBMIT should succeed");
	return ret ? ret : (int64_t)submit.job;
}

static int64_t start(struct __test_metadata *_metadata, const struct program *p, uint16_t opcode)
{
	return start_traced(_metadata, p, opcode, 0);
}

/* The result lies at the end of readable memory, too. */
static int finish(struct __test_metadata *_metadata, const struct program *p, uint32_t claim,
		  uint32_t core, uint64_t id)
{
	struct drm_neuron_wait_job *job = (void *)(p->end - PAGE - sizeof(*job));
	struct drm_neuron_wait wait = { .deadline_ns = FOREVER, .jobs = ONE(job) };

	*job = (struct drm_neuron_wait_job){
		.claim = claim,
		.core = core,
		.job = id,
	};
	EXPECT_EQ(0, call(p->fd, p->end, DRM_IOCTL_NEURON_WAIT, &wait));
	EXPECT_LT(job->start_ns, job->end_ns + 1);
	EXPECT_NE(0, job->doorbell_ns);
	return job->status;
}

static int finish_job(struct __test_metadata *_metadata, const struct program *p, int64_t id)
{
	return finish(_metadata, p, p->claim, p->core, (uint64_t)id);
}

/* Elements of 2.0 one behind the other, and nothing behind the last. */
TEST_F(old, query)
{
	const struct {
		uint32_t type;
		uint32_t size;
	} queries[] = {
		{ DRM_NEURON_QUERY_DEVICE, sizeof(struct drm_neuron_device_info) },
		{ DRM_NEURON_QUERY_MEMORY, sizeof(struct drm_neuron_memory_info) },
		{ DRM_NEURON_QUERY_CORES, sizeof(struct drm_neuron_core_info) },
		{ DRM_NEURON_QUERY_LINKS, sizeof(struct drm_neuron_link_info) },
		{ DRM_NEURON_QUERY_CLOCKS, sizeof(struct drm_neuron_clock_info) },
		{ DRM_NEURON_QUERY_COUNTERS, sizeof(struct drm_neuron_counter_info) },
		{ DRM_NEURON_QUERY_USAGE, sizeof(struct drm_neuron_usage_info) },
		{ DRM_NEURON_QUERY_QUEUES, sizeof(struct drm_neuron_queue_info) },
		{ DRM_NEURON_QUERY_CC_CORES, sizeof(struct drm_neuron_core_info) },
		{ DRM_NEURON_QUERY_LIMITS, sizeof(struct drm_neuron_limits_info) },
		{ DRM_NEURON_QUERY_STACK_USAGE, sizeof(struct drm_neuron_stack_usage_info) },
		{ DRM_NEURON_QUERY_LINK_COUNTERS, sizeof(struct drm_neuron_link_counter_info) },
		{ DRM_NEURON_QUERY_QUEUE_COUNTERS,
		  sizeof(struct drm_neuron_queue_counter_info) },
		{ DRM_NEURON_QUERY_TENSOR_COUNTERS,
		  sizeof(struct drm_neuron_tensor_counter_info) },
	};
	const struct drm_neuron_queue_info *queues;
	struct drm_neuron_query query;
	uint8_t *answer = NULL;
	uint32_t i, n;

	for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		query = (struct drm_neuron_query){ .type = queries[i].type };
		must(QUERY, &query);
		EXPECT_LE(queries[i].size, query.answer.stride);
		n = query.answer.count;
		if (n * queries[i].size > WHOLE - PAGE)
			n = (WHOLE - PAGE) / queries[i].size;
		answer = self->p.end - PAGE - n * queries[i].size;
		memset(self->p.end - PAGE, 0xa5, PAGE);
		query.answer = (struct drm_neuron_array){
			queries[i].size, n, (uintptr_t)answer,
		};
		must(QUERY, &query);
		EXPECT_EQ(0xa5, self->p.end[-PAGE]) TH_LOG("query %u", queries[i].type);
		if (queries[i].type != DRM_NEURON_QUERY_QUEUES)
			continue;
		/* An array whose contents are known. */
		queues = (const void *)answer;
		EXPECT_EQ(1, queues[1].queue);
		EXPECT_EQ(0, queues[1].dma_engine);
		EXPECT_EQ(queues[n - 1].queue, queues[15].queue);
	}
}

TEST_F(old, buffers_and_copies)
{
	struct drm_neuron_bo_info info = { .handle = self->p.bo.handle };
	struct drm_neuron_bo_import import = { .user = (uintptr_t)self->p.page, .size = PAGE };
	struct drm_neuron_copy copy = {
		.direction = DRM_NEURON_COPY_TO_DEVICE,
		.handle = self->p.bo.handle,
		.offset = PAGE,
		.user = (uintptr_t)self->p.page,
		.size = 64,
	};
	int ret;

	must(BO_INFO, &info);
	EXPECT_EQ(2 * PAGE, info.size);
	EXPECT_EQ(self->p.bo.mmap_offset, info.mmap_offset);
	memset(self->p.page, 0x5a, 64);
	must(COPY, &copy);
	EXPECT_EQ(0, memcmp((uint8_t *)self->p.image + PAGE, self->p.page, 64));
	ret = call(self->p.fd, self->p.end, DRM_IOCTL_NEURON_BO_IMPORT, &import);
	/* Not where the device needs bounce buffers. */
	EXPECT_TRUE(!ret || ret == -EOPNOTSUPP);
}

/* Two runs, with a gap between them on one side. */
TEST_F(old, transfers)
{
	uint8_t *page = (uint8_t *)self->p.image + PAGE;
	struct drm_neuron_transfer transfer = {
		.dst = self->p.bo.handle,
		.src = self->p.bo.handle,
		.dst_offset = PAGE + 1024,
		.src_offset = PAGE,
		.bytes = 64,
		.count = { 2 },
		.dst_step = { 128 },
		.src_step = { 64 },
	};

	memset(page, 0, PAGE);
	memset(page, 0x5a, 64);
	memset(page + 64, 0xc3, 64);
	must(TRANSFER, &transfer);
	EXPECT_EQ(DRM_NEURON_JOB_OK, finish(_metadata, &self->p, DRM_NEURON_NO_CLAIM, 0,
					    transfer.transfer));
	EXPECT_EQ(0, memcmp(page + 1024, page, 64));
	EXPECT_EQ(0, page[1024 + 64]);
	EXPECT_EQ(0, memcmp(page + 1024 + 128, page + 64, 64));
	EXPECT_EQ(0, page[1024 + 192]);
}

TEST_F(old, grants)
{
	struct drm_neuron_grant grant = {
		.claim = self->p.claim,
		.core = self->p.core,
		.count = 1,
	};
	struct drm_neuron_grant_import import;
	struct drm_neuron_grant_close end;

	must(GRANT, &grant);
	import = (struct drm_neuron_grant_import){ .fd = grant.fd };
	must(GRANT_IMPORT, &import);
	end = (struct drm_neuron_grant_close){ .handle = import.handle };
	must(GRANT_CLOSE, &end);
	close(grant.fd);
}

TEST_F(old, jobs)
{
	struct drm_neuron_cancel cancel = { .claim = self->p.claim, .core = self->p.core };
	struct drm_neuron_reset reset = { .claim = self->p.claim, .core = self->p.core };
	struct drm_neuron_post_entry entry = { .counter = DRM_NEURON_STATUS_SUCCESS, .add = 1 };
	struct drm_neuron_post post = {
		.claim = self->p.claim,
		.core = self->p.core,
		.entries = ONE(&entry),
	};
	int64_t id = start(_metadata, &self->p, NEURON_OP_HALT);

	ASSERT_LT(0, id);
	EXPECT_EQ(DRM_NEURON_JOB_OK, finish_job(_metadata, &self->p, id));
	cancel.job = (uint64_t)id;
	must(CANCEL, &cancel);
	must(RESET, &reset);
	must(POST, &post);
}

/* The device writes records of 2.0, or longer ones, and says how long they are. */
TEST_F(old, trace)
{
	const uint8_t *at = (const uint8_t *)self->p.image + PAGE;
	struct neuron_hw_trace_record record;
	struct neuron_hw_trace trace;
	int64_t id = start_traced(_metadata, &self->p, NEURON_OP_HALT, PAGE);

	ASSERT_LT(0, id);
	ASSERT_EQ(DRM_NEURON_JOB_OK, finish_job(_metadata, &self->p, id));
	memcpy(&trace, at, sizeof(trace));
	EXPECT_EQ(NEURON_TRACE_MAGIC, trace.magic);
	EXPECT_EQ(NEURON_TRACE_VERSION, trace.version);
	EXPECT_EQ((uint32_t)id, (uint32_t)trace.job_id);
	EXPECT_EQ(1, trace.records);
	EXPECT_EQ(0, trace.lost);
	EXPECT_LE(sizeof(record), trace.record_size);
	memcpy(&record, at + sizeof(trace), sizeof(record));
	EXPECT_EQ(NEURON_TRACE_INSTRUCTION, record.kind);
	EXPECT_EQ(DRM_NEURON_ENGINE_SYNC, record.source);
	EXPECT_EQ(NEURON_OP_HALT, record.code);
	EXPECT_EQ(0, record.pc);
	EXPECT_EQ(0, record.bytes);
	EXPECT_LE(record.begin_ns, record.end_ns);
}

TEST_F(old, faults)
{
	struct drm_neuron_events events = {
		.mask = 1ull << DRM_NEURON_EVENT_JOB_FAULT,
		.stride = sizeof(struct drm_neuron_event),
	};
	struct drm_neuron_dump dump = {
		.claim = self->p.claim,
		.core = self->p.core,
		.size = 64,
		.pointer = (uintptr_t)self->p.page,
	};
	struct drm_neuron_event event[2];
	struct pollfd ready;
	int64_t id;

	must(EVENTS, &events);
	id = start(_metadata, &self->p, NEURON_OP_ILLEGAL);
	ASSERT_LT(0, id);
	EXPECT_EQ(DRM_NEURON_JOB_ERROR, finish_job(_metadata, &self->p, id));
	ready = (struct pollfd){ .fd = events.fd, .events = POLLIN };
	ASSERT_EQ(1, poll(&ready, 1, LIMIT_MS));
	memset(event, 0xa5, sizeof(event));
	EXPECT_EQ(sizeof(event[0]), read(events.fd, event, sizeof(event)));
	EXPECT_EQ(DRM_NEURON_EVENT_JOB_FAULT, event[0].type);
	EXPECT_EQ((uint64_t)id, event[0].job);
	EXPECT_EQ(DRM_NEURON_CAUSE_OPCODE, event[0].cause);
	EXPECT_EQ(0xa5a5a5a5, event[1].type);
	must(DUMP, &dump);
	EXPECT_LT(64, dump.size);
	EXPECT_EQ((uint64_t)id, dump.job);
	close(events.fd);
}

TEST_HARNESS_MAIN
