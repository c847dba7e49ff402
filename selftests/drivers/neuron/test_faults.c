// SPDX-License-Identifier: MIT
/*
 * Jobs that fail, hang or lose their process: each ends in one defined way, the
 * next job runs, nothing leaks.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define LIMIT	5000	/* ms, of jobs that should end at once */

/* A small job must run on the claimed core, here and now. */
#define expect_alive(rig) do { \
	struct drm_neuron_wait_job alive_; \
	rig_clear(rig); \
	rig_store(rig, NEURON_ENGINE_SYNC, 0, 0xa11fe); \
	rig_halt(rig, NEURON_ENGINE_SYNC); \
	ASSERT_EQ(0, rig_run(rig, LIMIT, &alive_)); \
	EXPECT_EQ(NEURON_JOB_OK, alive_.status); \
	EXPECT_EQ(0, memcmp((rig)->data, "\xfe\x11\x0a", 4)); \
} while (0)

FIXTURE(fault) {
	struct rig rig;
	struct rig_usage before;
	int fd;
};

/*
 * @emit: the failing program, on the vector engine
 * @cause, @pc, @addr: what the result must say
 */
FIXTURE_VARIANT(fault) {
	void (*emit)(struct rig *rig);
	uint16_t cause;
	uint32_t pc;
	uint64_t addr;
};

#define ENGINE	NEURON_ENGINE_VECTOR
#define DATA(o)	neuron_window_addr(RIG_WINDOW_DATA, o)

static struct neuron_inst *emit_access(struct rig *rig, uint8_t opcode,
				       uint64_t addr)
{
	struct neuron_inst *inst;

	rig_emit(rig, ENGINE, NEURON_OP_NOP);
	inst = rig_emit(rig, ENGINE, opcode);
	inst->reg[0] = 1;
	inst->addr = addr;
	rig_halt(rig, ENGINE);
	return inst;
}

static void emit_zero_opcode(struct rig *rig)
{
	rig_emit(rig, ENGINE, NEURON_OP_ILLEGAL);
}

static void emit_unknown_opcode(struct rig *rig)
{
	rig_emit(rig, ENGINE, NEURON_OP_NOP);
	rig_emit(rig, ENGINE, 0xff);
}

/* The vector engine does not multiply matrices. */
static void emit_foreign_opcode(struct rig *rig)
{
	rig_emit(rig, ENGINE, NEURON_OP_MATMUL);
}

static void emit_bad_operand(struct rig *rig)
{
	rig_emit(rig, ENGINE, NEURON_OP_NOP)->imm0 = 1;
}

static void emit_empty_window(struct rig *rig)
{
	emit_access(rig, NEURON_OP_REG_LOAD, neuron_window_addr(9, 0));
}

static void emit_beyond_window(struct rig *rig)
{
	emit_access(rig, NEURON_OP_REG_LOAD, DATA(RIG_HALF));
}

static void emit_plain_address(struct rig *rig)
{
	emit_access(rig, NEURON_OP_REG_LOAD, 0x1000);
}

static void emit_read_only(struct rig *rig)
{
	emit_access(rig, NEURON_OP_REG_STORE,
		    neuron_window_addr(RIG_WINDOW_IMAGE, 0));
}

static void emit_wrong_queue(struct rig *rig)
{
	struct neuron_inst *inst = rig_emit(rig, ENGINE, NEURON_OP_DMA_TRIGGER);

	inst->reg[0] = 5;
	inst->imm0 = 1;
	inst->imm1 = 1;
}

static void emit_no_end(struct rig *rig)
{
	rig_emit(rig, ENGINE, NEURON_OP_NOP);
	rig_emit(rig, ENGINE, NEURON_OP_NOP);
}

static void emit_wild_branch(struct rig *rig)
{
	rig_emit(rig, ENGINE, NEURON_OP_BRANCH)->addr = 100;
	rig_halt(rig, ENGINE);
}

FIXTURE_VARIANT_ADD(fault, zero_opcode) {
	.emit = emit_zero_opcode, .cause = NEURON_CAUSE_OPCODE,
};
FIXTURE_VARIANT_ADD(fault, unknown_opcode) {
	.emit = emit_unknown_opcode, .cause = NEURON_CAUSE_OPCODE, .pc = 1,
};
FIXTURE_VARIANT_ADD(fault, foreign_opcode) {
	.emit = emit_foreign_opcode, .cause = NEURON_CAUSE_OPCODE,
};
FIXTURE_VARIANT_ADD(fault, bad_operand) {
	.emit = emit_bad_operand, .cause = NEURON_CAUSE_OPERAND,
};
FIXTURE_VARIANT_ADD(fault, empty_window) {
	.emit = emit_empty_window, .cause = NEURON_CAUSE_WINDOW, .pc = 1,
	.addr = NEURON_ADDR_WINDOW | 9ull << 47,
};
FIXTURE_VARIANT_ADD(fault, beyond_window) {
	.emit = emit_beyond_window, .cause = NEURON_CAUSE_WINDOW, .pc = 1,
	.addr = NEURON_ADDR_WINDOW | (uint64_t)RIG_WINDOW_DATA << 47 | RIG_HALF,
};
FIXTURE_VARIANT_ADD(fault, plain_address) {
	.emit = emit_plain_address, .cause = NEURON_CAUSE_WINDOW, .pc = 1,
	.addr = 0x1000,
};
FIXTURE_VARIANT_ADD(fault, read_only) {
	.emit = emit_read_only, .cause = NEURON_CAUSE_RIGHTS, .pc = 1,
	.addr = NEURON_ADDR_WINDOW | (uint64_t)RIG_WINDOW_IMAGE << 47,
};
FIXTURE_VARIANT_ADD(fault, wrong_queue) {
	.emit = emit_wrong_queue, .cause = NEURON_CAUSE_QUEUE,
};
FIXTURE_VARIANT_ADD(fault, no_end) {
	.emit = emit_no_end, .cause = NEURON_CAUSE_PC, .pc = 2,
};
FIXTURE_VARIANT_ADD(fault, wild_branch) {
	.emit = emit_wild_branch, .cause = NEURON_CAUSE_PC, .pc = 100,
};

FIXTURE_SETUP(fault)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_GE(self->before.hbm, 0);
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
}

FIXTURE_TEARDOWN(fault)
{
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* Another engine waits for ever: the fault must take it down as well. */
TEST_F(fault, is_reported)
{
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;

	variant->emit(&self->rig);
	inst = rig_emit(&self->rig, NEURON_ENGINE_SCALAR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_value = 1;
	rig_halt(&self->rig, NEURON_ENGINE_SCALAR);

	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(variant->cause, result.cause);
	EXPECT_EQ(NEURON_ENGINE_VECTOR, result.source);
	EXPECT_EQ(variant->pc, result.pc);
	EXPECT_EQ(variant->addr, result.addr);
	EXPECT_FALSE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-EIO, result.error);
	expect_alive(&self->rig);
}

FIXTURE(hang) {
	struct rig rig;
	struct rig_usage before;
	int fd;
};

FIXTURE_SETUP(hang)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_GE(self->before.hbm, 0);
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
}

FIXTURE_TEARDOWN(hang)
{
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

static void emit_wait_for_ever(struct rig *rig)
{
	struct neuron_inst *inst;

	inst = rig_emit(rig, NEURON_ENGINE_TENSOR, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = 42;
	inst->wait_value = 1;
	rig_halt(rig, NEURON_ENGINE_TENSOR);
}

TEST_F(hang, semaphore_never_posted)
{
	struct drm_neuron_wait_job result;
	int64_t begin = rig_now_ms();

	emit_wait_for_ever(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, 150, &result));
	EXPECT_GE(rig_now_ms() - begin, 140);
	EXPECT_LT(rig_now_ms() - begin, 3000);
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(NEURON_CAUSE_RESET, result.cause);
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
	expect_alive(&self->rig);
}

/*
 * It makes progress all the time, so the cap ends it: 16 times the limit. The limit is long
 * because a busy host may keep the chip's thread from running: that looks like no progress.
 */
TEST_F(hang, spins)
{
	const uint32_t limit = 300;
	struct drm_neuron_wait_job result;
	int64_t begin = rig_now_ms();
	int64_t spinner, next;

	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
	spinner = rig_start(&self->rig, limit);
	ASSERT_GT(spinner, 0);
	next = rig_start(&self->rig, 50);
	ASSERT_GT(next, spinner);
	ASSERT_EQ(0, rig_wait(&self->rig, spinner, 20000, &result));
	EXPECT_GE(rig_now_ms() - begin, 16 * limit - 10);
	EXPECT_LT(rig_now_ms() - begin, 16000);
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
	/* The one behind it had its own run, and hung as well. */
	ASSERT_EQ(0, rig_wait(&self->rig, next, 20000, &result));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
	expect_alive(&self->rig);
}

/* Progress re-arms the limit: a job of five times its limit ends well. */
TEST_F(hang, slow_is_not_hung)
{
	struct drm_neuron_wait_job result;
	int64_t job;

	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
	job = rig_start(&self->rig, 300);
	ASSERT_GT(job, 0);
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->rig, job, 1500, NULL));
	self->rig.map[RIG_IMAGE(NEURON_ENGINE_VECTOR)] = NEURON_OP_HALT;
	ASSERT_EQ(0, rig_wait(&self->rig, job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_FALSE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(0, result.error);
}

/* How many interrupts the driver believes to have been lost. */
static int64_t lost_interrupts(int fd)
{
	struct drm_neuron_counter_info info;
	int ret = neuron_query(fd, DRM_NEURON_QUERY_COUNTERS, &info, sizeof(info));

	return ret ? ret : (int64_t)info.lost_interrupts;
}

/*
 * Before a job is said to hang, the causes of all cores are read. The cause of a short job, which
 * the driver has found without its interrupt, is none that was lost.
 */
TEST_F(hang, loses_no_interrupt)
{
	struct drm_neuron_wait_job result;
	struct rig other;
	int64_t lost;
	int i;

	ASSERT_EQ(0, rig_open(&other, 0, 1));
	rig_halt(&other, NEURON_ENGINE_SYNC);
	emit_wait_for_ever(&self->rig);
	lost = lost_interrupts(self->fd);
	ASSERT_GE(lost, 0);
	/* Whether a job is found depends on the host. */
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, rig_run(&other, LIMIT, &result));
		EXPECT_EQ(NEURON_JOB_OK, result.status);
		ASSERT_EQ(0, rig_run(&self->rig, 50, &result));
		EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
		EXPECT_EQ(-ETIMEDOUT, result.error);
	}
	EXPECT_EQ(lost, lost_interrupts(self->fd));
	rig_close(&other);
}

/* The neighbour does not notice. */
TEST_F(hang, spares_other_cores)
{
	struct drm_neuron_wait_job result;
	struct rig other;
	int64_t slow, hung;

	ASSERT_EQ(0, rig_open(&other, 0, 1));
	rig_loop(&other, NEURON_ENGINE_SYNC, 0);
	slow = rig_start(&other, 20000);
	ASSERT_GT(slow, 0);
	emit_wait_for_ever(&self->rig);
	hung = rig_start(&self->rig, 50);
	ASSERT_GT(hung, 0);
	ASSERT_EQ(0, rig_wait(&self->rig, hung, LIMIT, &result));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-ETIMEDOUT, result.error);
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&other, slow, 0, NULL));
	other.map[RIG_IMAGE(NEURON_ENGINE_SYNC)] = NEURON_OP_HALT;
	ASSERT_EQ(0, rig_wait(&other, slow, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	rig_close(&other);
}

TEST_F(hang, image_changed_while_it_runs)
{
	struct drm_neuron_wait_job result;
	int64_t job;

	rig_loop(&self->rig, NEURON_ENGINE_GPSIMD, 0);
	job = rig_start(&self->rig, LIMIT);
	ASSERT_GT(job, 0);
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->rig, job, 50, NULL));
	self->rig.map[RIG_IMAGE(NEURON_ENGINE_GPSIMD)] = 0xff;
	ASSERT_EQ(0, rig_wait(&self->rig, job, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	EXPECT_EQ(NEURON_CAUSE_OPCODE, result.cause);
	EXPECT_EQ(NEURON_ENGINE_GPSIMD, result.source);
	expect_alive(&self->rig);
}

TEST_F(hang, reset_cancels_the_queue)
{
	struct drm_neuron_reset reset = {
		.claim = self->rig.claim,
		.core = self->rig.core,
	};
	struct drm_neuron_wait_job result;
	int64_t job[3];
	unsigned int i;

	rig_loop(&self->rig, NEURON_ENGINE_SYNC, 0);
	for (i = 0; i < 3; i++) {
		job[i] = rig_start(&self->rig, 60000);
		ASSERT_GT(job[i], 0);
	}
	EXPECT_EQ(-ETIMEDOUT, rig_wait(&self->rig, job[0], 50, NULL));
	must(self->rig.fd, RESET, &reset);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, rig_wait(&self->rig, job[i], LIMIT, &result));
		EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
		EXPECT_FALSE(result.flags & DRM_NEURON_JOB_HANG);
		EXPECT_EQ(-ECANCELED, result.error);
	}
	expect_alive(&self->rig);
	reset.claim++;
	must_fail(ENOENT, self->rig.fd, RESET, &reset);
}

TEST_F(hang, release_aborts)
{
	int64_t begin = rig_now_ms();
	struct rig again;

	rig_loop(&self->rig, NEURON_ENGINE_SYNC, 0);
	ASSERT_GT(rig_start(&self->rig, 60000), 0);
	ASSERT_GT(rig_start(&self->rig, 60000), 0);
	EXPECT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	EXPECT_LT(rig_now_ms() - begin, 5000);
	ASSERT_EQ(0, rig_open(&again, 0, 0));
	expect_alive(&again);
	rig_close(&again);
}

/* The child's program marks SBUF and a semaphore, and then never ends. */
static void be_killed(int ready, bool spin)
{
	struct neuron_inst *inst;
	struct rig rig;

	if (rig_open(&rig, 0, 1))
		_exit(1);
	memset(rig.data, 0x5a, 4096);
	rig_copy(&rig, NEURON_ENGINE_SYNC, neuron_window_addr(RIG_WINDOW_SBUF, 0),
		 DATA(0), 4096);
	inst = rig_emit(&rig, NEURON_ENGINE_SYNC, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_SET);
	inst->post_sem = 9;
	inst->post_value = 99;
	rig_store(&rig, NEURON_ENGINE_SYNC, 4096, 1);
	if (spin)
		rig_loop(&rig, NEURON_ENGINE_SYNC, 0);
	else
		emit_wait_for_ever(&rig);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	if (rig_start(&rig, 60000) < 0 || rig_start(&rig, 60000) < 0)
		_exit(2);
	while (!((volatile uint8_t *)rig.data)[4096])
		usleep(1000);
	if (write(ready, "", 1) == 1)
		pause();
	_exit(3);
}

/* Semaphore @sem to byte @offset of the data. */
static void emit_read_sem(struct rig *rig, unsigned int sem, uint32_t offset)
{
	struct neuron_inst *inst;

	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_SEM, 4 * sem);
	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = DATA(offset);
}

/* Run what was emitted on the semaphores that are there: jobs of the rig clear them. */
static int run_on_semaphores(struct rig *rig, struct drm_neuron_wait_job *result)
{
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	int ret;

	rig_prepare(rig, &submit, &queue);
	submit.job.timeout_ms = LIMIT;
	submit.job.sem_clear.count = 0;
	ret = rig_submit(rig, &submit);
	return ret ? ret : rig_wait(rig, submit.call.job, 60000, result);
}

static void kill_one(struct __test_metadata *_metadata, bool spin)
{
	struct drm_neuron_wait_job result;
	int ready[2], status;
	struct rig heir;
	int64_t begin;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		be_killed(ready[1], spin);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1)) TH_LOG("the child failed");
	begin = rig_now_ms();
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_LT(rig_now_ms() - begin, 5000);

	/* A scrubbed core. */
	ASSERT_EQ(0, rig_open(&heir, 0, 1));
	memset(heir.data, 0xee, 8192);
	rig_copy(&heir, NEURON_ENGINE_SYNC, DATA(0),
		 neuron_window_addr(RIG_WINDOW_SBUF, 0), 4096);
	emit_read_sem(&heir, 9, 4096);
	rig_halt(&heir, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, run_on_semaphores(&heir, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(4100, neuron_differs_from(heir.data, 4100, 0));
	rig_close(&heir);
}

/* A semaphore lives from job to job, and no longer than to a reset. */
TEST_F(hang, reset_clears_semaphores)
{
	struct drm_neuron_reset reset = {
		.claim = self->rig.claim,
		.core = self->rig.core,
	};
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;

	inst = rig_emit(&self->rig, NEURON_ENGINE_SYNC, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_SET);
	inst->post_sem = 9;
	inst->post_value = 99;
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, run_on_semaphores(&self->rig, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);

	rig_clear(&self->rig);
	emit_read_sem(&self->rig, 9, 0);
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, run_on_semaphores(&self->rig, &result));
	EXPECT_EQ(99, self->rig.data[0]);
	must(self->rig.fd, RESET, &reset);
	ASSERT_EQ(0, run_on_semaphores(&self->rig, &result));
	EXPECT_EQ(NEURON_JOB_OK, result.status);
	EXPECT_EQ(4, neuron_differs_from(self->rig.data, 4, 0));
}

TEST_F(hang, killed_while_spinning)
{
	kill_one(_metadata, true);
}

TEST_F(hang, killed_while_waiting)
{
	kill_one(_metadata, false);
}

/* The dump of a hung job names the semaphore. */
TEST_F(hang, leaves_a_core_dump)
{
	struct drm_neuron_wait_job result;
	char text[4096] = "";
	ssize_t got = -ENOENT;
	int i;

	if (access("/sys/class/devcoredump", F_OK))
		SKIP(return, "no device core dumps in this kernel");
	/* One dump is kept until it is read or dismissed. */
	neuron_take_dump(self->rig.fd, text, sizeof(text));
	emit_wait_for_ever(&self->rig);
	ASSERT_EQ(0, rig_run(&self->rig, 50, &result));
	/* It is published after the end of the job. */
	for (i = 0; i < 100 && got == -ENOENT; i++) {
		usleep(50000);
		got = neuron_take_dump(self->rig.fd, text, sizeof(text));
	}
	ASSERT_LT(0, got);
	EXPECT_NE(NULL, strstr(text, "reason: hang\n"));
	EXPECT_NE(NULL, strstr(text, "engine tensor: pc 0 state waiting semaphore 42\n"))
		TH_LOG("dump: %s", text);
}

TEST_HARNESS_MAIN
