// SPDX-License-Identifier: MIT
/*
 * A core after its owner: nothing is left in SBUF, PSUM, semaphores, events and
 * registers of what a killed process had there in the middle of a job.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "neuron/regs.h"

#define CORE	1
#define LIMIT	20000
#define PIECE	4096
#define SEMS_READ	60		/* an image has room for so many */
#define SEMS	0x20000		/* offset in the data half: what was in the semaphores */
#define REGS	0x21000		/* what was in the registers of each engine */
#define EVENTS	0x24000		/* written by an engine that saw an event */
#define REG(e, r)	(REGS + ((e) * NEURON_NR_REGS + (r)) * 4)

#define ENGINE	NEURON_ENGINE_SYNC

/* Places in the core's own memories: the first, some, the last of each. */
static const struct {
	uint32_t window;
	uint32_t at;
} places[] = {
	{ RIG_WINDOW_SBUF, 0 },
	{ RIG_WINDOW_SBUF, 17 * NEURON_TPB_SBUF_STRIDE + 65536 },
	{ RIG_WINDOW_SBUF, 63 * NEURON_TPB_SBUF_STRIDE + 131072 },
	{ RIG_WINDOW_SBUF, 127 * NEURON_TPB_SBUF_STRIDE },
	{ RIG_WINDOW_FREE, 0 },
	{ RIG_WINDOW_FREE, 64 * NEURON_TPB_PSUM_STRIDE + 8192 },
	{ RIG_WINDOW_FREE, 127 * NEURON_TPB_PSUM_STRIDE + 12288 },
};

static int core_open(struct rig *rig)
{
	const struct drm_neuron_window psum = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_PSUM,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
	};
	int ret = rig_open(rig, 0, CORE);

	return ret ? ret : rig_windows(rig, &psum, 1);
}

static void emit_moves(struct rig *rig, bool out)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		uint64_t core = neuron_window_addr(places[i].window,
						   places[i].at);
		uint64_t data = neuron_window_addr(RIG_WINDOW_DATA, i * PIECE);

		rig_copy(rig, ENGINE, out ? data : core, out ? core : data,
			 PIECE);
	}
}

static void emit_word(struct rig *rig, enum neuron_engine engine,
		      enum neuron_opcode opcode, uint8_t reg, uint64_t addr)
{
	struct neuron_inst *inst = rig_emit(rig, engine, opcode);

	inst->reg[0] = reg;
	inst->addr = addr;
}

static void emit_set(struct rig *rig, enum neuron_engine engine, uint8_t reg,
		     uint32_t value)
{
	struct neuron_inst *inst = rig_emit(rig, engine, NEURON_OP_REG_SET);

	inst->reg[0] = reg;
	inst->imm0 = value;
}

/* Fill everything, say so in the last word of the data half, then loop. */
static void owner(int ready)
{
	struct rig rig;
	unsigned int e, i;

	if (core_open(&rig))
		_exit(1);
	memset(rig.data, 0xc3, ARRAY_SIZE(places) * PIECE);
	emit_moves(&rig, false);
	emit_set(&rig, ENGINE, 1, 0x5ec4e7);
	for (i = 0; i < SEMS_READ; i += 2)
		emit_word(&rig, ENGINE, NEURON_OP_REG_STORE, 1,
			  neuron_window_addr(RIG_WINDOW_SEM, 4 * i));
	for (i = 0; i < 4; i++)
		rig_emit(&rig, ENGINE, NEURON_OP_EVENT_SET)->imm0 = i * 85;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (i = 1; i < NEURON_NR_REGS; i++)
			emit_set(&rig, e, (uint8_t)i, 0x5ec4e7);
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (e == ENGINE)
			rig_store(&rig, e, RIG_HALF - 4, 1);
		rig_loop(&rig, e, 0);
	}
	if (rig_start(&rig, 60000) < 0)
		_exit(2);
	for (i = 0; i < 20000 && !((volatile uint8_t *)rig.data)[RIG_HALF - 4];
	     i++)
		usleep(1000);
	if (i < 20000 && write(ready, "", 1) == 1)
		pause();
	_exit(3);
}

/* A job that clears nothing by itself. */
static int run(struct rig *rig, uint32_t limit, struct drm_neuron_wait_job *result)
{
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	int ret;

	rig_prepare(rig, &submit, &queue);
	submit.job.sem_clear.count = 0;
	submit.job.timeout_ms = limit;
	ret = rig_submit(rig, &submit);
	return ret ? ret : rig_wait(rig, submit.call.job, 60000, result);
}

static void expect_no_semaphore(struct __test_metadata *_metadata,
				struct rig *rig)
{
	struct drm_neuron_wait_job result;
	unsigned int i;

	rig_clear(rig);
	memset(rig->data, 0xff, RIG_HALF);
	for (i = 0; i < SEMS_READ; i++) {
		emit_word(rig, ENGINE, NEURON_OP_REG_LOAD, 1,
			  neuron_window_addr(RIG_WINDOW_SEM, 4 * i));
		emit_word(rig, ENGINE, NEURON_OP_REG_STORE, 1,
			  neuron_window_addr(RIG_WINDOW_DATA, SEMS + 4 * i));
	}
	rig_halt(rig, ENGINE);
	ASSERT_EQ(0, run(rig, LIMIT, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(SEMS_READ * 4, neuron_differs_from(rig->data + SEMS,
						     SEMS_READ * 4, 0));
}

static void expect_no_memory(struct __test_metadata *_metadata,
			     struct rig *rig)
{
	struct drm_neuron_wait_job result;
	unsigned int e, i;

	rig_clear(rig);
	memset(rig->data, 0xff, RIG_HALF);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (i = 0; i < NEURON_NR_REGS; i++)
			emit_word(rig, e, NEURON_OP_REG_STORE, (uint8_t)i,
				  neuron_window_addr(RIG_WINDOW_DATA,
						     REG(e, i)));
	emit_moves(rig, true);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		rig_halt(rig, e);
	ASSERT_EQ(0, run(rig, LIMIT, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		EXPECT_EQ(PIECE, neuron_differs_from(rig->data + i * PIECE,
						     PIECE, 0))
			TH_LOG("place %u", i);
	i = NEURON_NR_ENGINES * NEURON_NR_REGS * 4;
	EXPECT_EQ(i, neuron_differs_from(rig->data + REGS, i, 0));
}

/* Who waits for an event that nobody set waits for ever. */
static void expect_no_event(struct __test_metadata *_metadata, struct rig *rig)
{
	struct drm_neuron_wait_job result;
	unsigned int e;

	rig_clear(rig);
	for (e = 0; e < 4; e++) {
		rig_emit(rig, e, NEURON_OP_EVENT_WAIT)->imm0 = e * 85;
		rig_store(rig, e, EVENTS + 4 * e, 1);
		rig_halt(rig, e);
	}
	ASSERT_EQ(0, run(rig, 200, &result));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(16, neuron_differs_from(rig->data + EVENTS, 16, 0));
}

TEST(core_of_the_dead)
{
	int ready[2], status, fd = neuron_open(0);
	struct rig heir;
	char byte;
	pid_t pid;

	if (fd < 0)
		SKIP(return, "no neuron device");
	close(fd);
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		owner(ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1)) TH_LOG("the child failed");
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	ASSERT_EQ(0, core_open(&heir));
	expect_no_semaphore(_metadata, &heir);
	expect_no_memory(_metadata, &heir);
	expect_no_event(_metadata, &heir);
	rig_close(&heir);
	close(ready[0]);
}

TEST_HARNESS_MAIN
