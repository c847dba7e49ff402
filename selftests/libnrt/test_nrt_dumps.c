// SPDX-License-Identifier: MIT
/*
 * The table of a back end: what is kept of jobs that hung. As in test_nrt_backend.c the driver and
 * chips in the process must say the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "backend_rig.h"
#include "neuron/isa.h"
#include "neuron/regs.h"
#include "neuron/window.h"

#define WAIT_MS	100
/* So many bytes, as text. */
#define ZEROS_24	"000000000000000000000000000000000000000000000000"
#define R	DRM_NEURON_WINDOW_READ
#define W	DRM_NEURON_WINDOW_WRITE

FIXTURE(dumps)
{
	struct backend_rig rig;
};

FIXTURE_SETUP(dumps)
{
	ASSERT_EQ(0, backend_open(&self->rig));
}

FIXTURE_TEARDOWN(dumps)
{
	backend_close(&self->rig);
}

/* What is kept of a job that hung, until the next one or the end of the claim. */
TEST_F_TIMEOUT(dumps, text, BACKEND_LIMIT_S)
{
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_dump dump = { .claim = rig->claim };
	struct drm_neuron_wait_job result;
	char *text;
	uint32_t size;
	uint64_t id;

	EXPECT_EQ(-ENOENT, rig->backend->dump(rig->chip, &dump));
	ASSERT_EQ(0, backend_submit(rig, 0, SPINS, 100, &id));
	ASSERT_EQ(0, backend_wait(rig, 0, id, INT64_MAX, &result));
	EXPECT_EQ(DRM_NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(DRM_NEURON_JOB_HANG, result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	EXPECT_EQ(id, dump.job);
	size = dump.size;
	text = calloc(1, size + 1);
	ASSERT_NE(NULL, text);
	/* A part of it: no byte more, and the size is told. */
	dump.pointer = (uintptr_t)text;
	dump.size = 10;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	EXPECT_EQ(size, dump.size);
	EXPECT_EQ(10, strlen(text));
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	EXPECT_NE(NULL, strstr(text, "\nengine sync: pc 0 state running\n")) { TH_LOG("%s", text); }
	/* The claim did not ask for its memories. */
	dump.flags = DRM_NEURON_DUMP_MEMORY;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	EXPECT_EQ(size, dump.size);
	dump.flags = 2;
	EXPECT_EQ(-EINVAL, rig->backend->dump(rig->chip, &dump));
	dump.flags = 0;
	dump.core = 99;
	EXPECT_EQ(-EINVAL, rig->backend->dump(rig->chip, &dump));
	dump.core = rig->cc;
	EXPECT_EQ(-ENOENT, rig->backend->dump(rig->chip, &dump));
	dump.core = 0;
	dump.claim++;
	EXPECT_EQ(-ENOENT, rig->backend->dump(rig->chip, &dump));
	free(text);
}

/* A word in SBUF and one in PSUM, and then the same for ever. */
static int leave_words(struct backend_rig *rig, uint32_t claim, uint64_t *id)
{
	const struct neuron_inst program[] = {
		{ .opcode = NEURON_OP_REG_SET, .reg = { 1 }, .imm0 = 0x0a0b0c0d },
		{ .opcode = NEURON_OP_REG_STORE, .reg = { 1 },
		  .addr = neuron_window_addr(1, 3 * NEURON_TPB_SBUF_STRIDE + 0x40) },
		{ .opcode = NEURON_OP_REG_STORE, .reg = { 1 },
		  .addr = neuron_window_addr(2, 127 * NEURON_TPB_PSUM_STRIDE + 0x3fe4) },
		{ .opcode = NEURON_OP_BRANCH, .op0 = NEURON_ALU_BYPASS, .addr = 3 },
	};
	struct drm_neuron_window windows[] = {
		{ 0, DRM_NEURON_WINDOW_BO, R, 0, 0, sizeof(program) },
		{ 1, DRM_NEURON_WINDOW_SBUF, R | W },
		{ 2, DRM_NEURON_WINDOW_PSUM, R | W },
	};
	const struct drm_neuron_start start = {
		.addr = neuron_window_addr(0, 0), .count = 4, .engine = NEURON_ENGINE_SYNC,
	};
	const struct drm_neuron_job job = {
		.core = 1,
		.timeout_ms = WAIT_MS,
		.starts = ARRAY_OF(&start),
		.windows = ARRAY_OF_ALL(windows),
	};
	struct drm_neuron_submit call = { .claim = claim, .jobs = ARRAY_OF(&job) };
	int ret = backend_buffer(rig, DRM_NEURON_BO_HBM, sizeof(program), &windows[0].handle);

	if (!ret)
		ret = backend_write(rig, windows[0].handle, 0, program, sizeof(program));
	if (!ret)
		ret = rig->backend->submit(rig->chip, &call);
	*id = call.job;
	return ret;
}

/* What was in the memories of a core, for a claim that wants it. */
TEST_F_TIMEOUT(dumps, memories, BACKEND_LIMIT_S)
{
	static const char sbuf[] = "sbuf 003 0x000040 0d0c0b0a" ZEROS_24 "00000000\n";
	static const char psum[] = "psum 127 0x003fe0 000000000d0c0b0a" ZEROS_24 "\n";
	struct backend_rig *rig = &self->rig;
	struct drm_neuron_claim claim = { .cores = 2, .flags = DRM_NEURON_CLAIM_DUMP_MEMORY };
	struct drm_neuron_dump dump = { .core = 1 };
	struct drm_neuron_wait_job result = { .core = 1 };
	struct drm_neuron_wait wait = {
		.deadline_ns = backend_in_ms(BACKEND_LIMIT_S * 1000), .jobs = ARRAY_OF(&result),
	};
	char *text, *rest;
	uint32_t size;
	uint64_t job;

	ASSERT_EQ(0, rig->backend->claim(rig->chip, &claim));
	ASSERT_EQ(0, leave_words(rig, claim.claim, &job));
	result.claim = claim.claim;
	result.job = job;
	ASSERT_EQ(0, rig->backend->wait(rig->chip, &wait));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	dump.claim = claim.claim;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	size = dump.size;
	dump.flags = DRM_NEURON_DUMP_MEMORY;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	ASSERT_LT(size + sizeof(sbuf) - 1, dump.size);
	text = calloc(1, dump.size + 1);
	ASSERT_NE(NULL, text);
	dump.pointer = (uintptr_t)text;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	rest = text + size + sizeof(sbuf) - 1;
	EXPECT_EQ(0, memcmp(sbuf, text + size, sizeof(sbuf) - 1)) { TH_LOG("%s", text); }
	/* The driver takes five seconds to read, which a slow machine needs for a part of SBUF. */
	if (rig->backend != &nrt_backend_drm || strcmp("memory: cut here\n", rest))
		EXPECT_STREQ(psum, rest);
	/* Half of it. */
	memset(text, 0, dump.size);
	dump.size = size + 7;
	ASSERT_EQ(0, rig->backend->dump(rig->chip, &dump));
	EXPECT_STREQ("sbuf 00", text + size);
	free(text);
}

TEST_HARNESS_MAIN
