// SPDX-License-Identifier: MIT
/*
 * The statistics page: what it counts is what the program did. It is read as a monitor reads it,
 * through /proc.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nrt/nrt_async.h>
#include <nrt/nrt_emu.h>
#include <nrt/nrt_emu_stats.h>

#include "kselftest_harness.h"

#include "rig.h"

#define LINK	"/memfd:" NRT_EMU_STATS_NAME " (deleted)"
#define PAGE	4096u
#define DEPTH	63

/* The descriptor of the page that says that it is of process @pid, or -1; the page in @stats. */
static int find_page(uint32_t pid, struct nrt_emu_stats *stats)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	while (folder && found < 0 && (entry = readdir(folder))) {
		char text[sizeof(LINK) + 1] = "";
		int fd = atoi(entry->d_name);

		if (readlinkat(dirfd(folder), entry->d_name, text, sizeof(text)) ==
			    (ssize_t)sizeof(LINK) - 1 &&
		    !memcmp(text, LINK, sizeof(LINK) - 1) &&
		    pread(fd, stats, sizeof(*stats), 0) == (ssize_t)sizeof(*stats) &&
		    stats->pid == pid)
			found = fd;
	}
	if (folder)
		closedir(folder);
	return found;
}

/* The page of this process, and the row of its core @vnc. */
static bool look(struct nrt_emu_stats *stats, unsigned int vnc, struct nrt_emu_stats_core *core)
{
	int fd = find_page((uint32_t)getpid(), stats);
	size_t at = sizeof(*stats) + vnc * sizeof(*core);

	return fd >= 0 && pread(fd, core, sizeof(*core), (off_t)at) == (ssize_t)sizeof(*core);
}

static uint64_t sum(const uint64_t *words, unsigned int nr)
{
	uint64_t all = 0;

	while (nr--)
		all += words[nr];
	return all;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* --- Buckets --- */

/* Every value lies in the bucket whose middle is at most 1/32 away, and buckets are in order. */
TEST(buckets)
{
	unsigned int before = 0, bucket;
	double middle, away;
	uint64_t ns;

	for (ns = 0; ns < 1ull << 43; ns += 1 + ns / 57) {
		bucket = nrt_emu_stats_bucket(ns);
		middle = nrt_emu_stats_middle(bucket);
		away = middle > (double)ns ? middle - (double)ns : (double)ns - middle;
		ASSERT_LE(before, bucket);
		ASSERT_LE(bucket, before + 1);
		ASSERT_GT(NRT_EMU_STATS_BUCKETS, bucket);
		EXPECT_TRUE(away <= (double)ns / 32);
		before = bucket;
	}
	EXPECT_EQ(NRT_EMU_STATS_BUCKETS - 1, nrt_emu_stats_bucket(UINT64_MAX));
	EXPECT_EQ(15, nrt_emu_stats_bucket(15));
	EXPECT_EQ(16, nrt_emu_stats_bucket(16));
	EXPECT_TRUE(nrt_emu_stats_middle(16) == 16);
}

/* --- Executions --- */

FIXTURE(stats)
{
	struct nrt_emu_stats *before;
	struct nrt_emu_stats *after;
	struct nrt_emu_stats_core core;
	struct rig rig;
	float x[RIG_VALUES];
	float y[RIG_VALUES];
	uint64_t begin_ns;
};

FIXTURE_SETUP(stats)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	/* Nothing that is stuck ends before a slow host has looked at it. */
	setenv("NEURON_RT_EXEC_TIMEOUT", "60", 1);
	setenv("NEURON_RT_NUM_CORES", "2", 1);
	setenv("NEURON_PROCESS_TAG", "a tag", 1);
	setenv("NEURON_FAIL_ON_NAN", "1", 1);
	self->before = calloc(1, sizeof(*self->before));
	self->after = calloc(1, sizeof(*self->after));
	ASSERT_TRUE(self->before && self->after);
	self->begin_ns = now_ns();
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	rig_ramp(self->x, 1.0f);
}

FIXTURE_TEARDOWN(stats)
{
	rig_unload(&self->rig);
	nrt_close();
	free(self->before);
	free(self->after);
}

TEST_F(stats, identity)
{
	nrt_instance_info_t info = { 0 };

	ASSERT_TRUE(look(self->after, 1, &self->core));
	EXPECT_EQ(NRT_EMU_STATS_MAGIC, self->after->magic);
	EXPECT_EQ(NRT_EMU_STATS_VERSION, self->after->version);
	EXPECT_EQ(2, self->after->nr_cores);
	EXPECT_EQ(sizeof(*self->after) + 2 * sizeof(self->core), self->after->size);
	EXPECT_STREQ("a tag", self->after->tag);
	EXPECT_EQ(rig_embedded() ? NRT_EMU_STATS_EMBEDDED : 0, self->after->flags);
	EXPECT_LE(self->begin_ns, self->after->init_ns);
	EXPECT_GE(now_ns(), self->after->init_ns);
	ASSERT_EQ(NRT_SUCCESS, nrt_get_instance_info(&info, sizeof(info)));
	EXPECT_EQ(info.arch_name[3] - '0', (int)self->after->generation);
	EXPECT_EQ(self->core.first_physical, self->core.number * self->after->lnc);
	EXPECT_EQ(self->core.first_physical / self->after->device_cores, self->core.device);
	EXPECT_EQ(self->after->lnc, self->core.nr_physical);
}

/* Nobody changes what the library has written, nor the size. */
TEST_F(stats, sealed)
{
	char path[64];
	struct stat file;
	int fd = find_page((uint32_t)getpid(), self->after);

	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	ASSERT_EQ(0, fstat(fd, &file));
	EXPECT_EQ(self->after->size, (uint64_t)file.st_size);
	EXPECT_EQ(-1, ftruncate(fd, PAGE));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(-1, pwrite(fd, "x", 1, 0));
	EXPECT_EQ(EPERM, errno);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	EXPECT_EQ(-1, pwrite(fd, "x", 1, 0));
	close(fd);
}

/* The outcomes since @before, in which core 0 had none, are @outcome alone, @times. */
static bool is_outcome(const struct nrt_emu_stats_core *core, enum nrt_emu_stats_outcome outcome,
		       uint64_t times)
{
	return core->outcomes[outcome] == times &&
	       sum(core->outcomes, NRT_EMU_STATS_NR_OUTCOMES) == times;
}

static bool is_error(const struct nrt_emu_stats_core *core, enum nrt_emu_stats_error error,
		     uint64_t times)
{
	return core->errors[error] == times && sum(core->errors, NRT_EMU_STATS_NR_ERRORS) == times;
}

TEST_F(stats, completed)
{
	nrt_emu_execution_t last;
	uint64_t begin, busy;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	begin = now_ns();
	for (i = 0; i < 5; i++)
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_execution(self->rig.model, &last, sizeof(last)));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_TRUE(is_outcome(&self->core, NRT_EMU_STATS_COMPLETED, 5));
	EXPECT_EQ(0, sum(self->core.errors, NRT_EMU_STATS_NR_ERRORS));
	/* All took as long in device time. */
	EXPECT_LT(0, last.end_ns - last.start_ns);
	EXPECT_EQ(5, self->after->latency[NRT_EMU_STATS_DEVICE_LATENCY]
			     [nrt_emu_stats_bucket(last.end_ns - last.start_ns)]);
	EXPECT_EQ(5, sum(self->after->latency[NRT_EMU_STATS_DEVICE_LATENCY],
			 NRT_EMU_STATS_BUCKETS));
	EXPECT_EQ(5, sum(self->after->latency[NRT_EMU_STATS_TOTAL_LATENCY], NRT_EMU_STATS_BUCKETS));
	/* The core has nothing to do now. */
	EXPECT_EQ(0, self->core.activity[0] & ((1u << NRT_EMU_STATS_JOB_BITS) - 1));
	busy = nrt_emu_stats_busy(self->core.activity[0], 0);
	EXPECT_EQ(busy, nrt_emu_stats_busy(self->core.activity[0], now_ns()));
	EXPECT_LT(0, busy);
	EXPECT_GT(now_ns() - begin, busy);
	ASSERT_TRUE(look(self->after, 1, &self->core));
	EXPECT_EQ(0, sum(self->core.outcomes, NRT_EMU_STATS_NR_OUTCOMES));
	EXPECT_EQ(0, self->core.activity[0]);
}

/* One execution, however often it is repeated. */
TEST_F(stats, repeated)
{
	nrt_emu_execution_t last;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_execute_repeat(self->rig.model, self->rig.inputs,
						  self->rig.outputs, 3));
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_execution(self->rig.model, &last, sizeof(last)));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_TRUE(is_outcome(&self->core, NRT_EMU_STATS_COMPLETED, 1));
	EXPECT_EQ(1, self->after->latency[NRT_EMU_STATS_DEVICE_LATENCY]
			     [nrt_emu_stats_bucket(3 * (last.end_ns - last.start_ns))]);
}

TEST_F(stats, program_that_fails)
{
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_bad_opcode(), 0, 0, 0));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, rig_run(&self->rig, self->x, self->y));
	rig_caught();
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_TRUE(is_outcome(&self->core, NRT_EMU_STATS_COMPLETED_WITH_ERR, 1));
	EXPECT_TRUE(is_error(&self->core, NRT_EMU_STATS_MODEL_ERROR, 1));
	EXPECT_EQ(0, sum(self->after->latency[NRT_EMU_STATS_TOTAL_LATENCY], NRT_EMU_STATS_BUCKETS));
	EXPECT_EQ(0, self->core.activity[0] & ((1u << NRT_EMU_STATS_JOB_BITS) - 1));
}

TEST_F(stats, numbers)
{
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_nan(), 0, 0, 0));
	self->x[0] = INFINITY;
	rig_catch();
	EXPECT_EQ(NRT_EXEC_COMPLETED_WITH_NUM_ERR, rig_run(&self->rig, self->x, self->y));
	rig_caught();
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_TRUE(is_outcome(&self->core, NRT_EMU_STATS_COMPLETED_WITH_NUM_ERR, 1));
	EXPECT_TRUE(is_error(&self->core, NRT_EMU_STATS_NUMERICAL, 1));
	EXPECT_EQ(1, sum(self->after->latency[NRT_EMU_STATS_TOTAL_LATENCY], NRT_EMU_STATS_BUCKETS));
}

TEST_F(stats, timed_out)
{
	nrt_close();
	setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_stuck(), 0, 0, 0));
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, rig_run(&self->rig, self->x, self->y));
	rig_caught();
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_TRUE(is_outcome(&self->core, NRT_EMU_STATS_TIMED_OUT, 1));
	EXPECT_TRUE(is_error(&self->core, NRT_EMU_STATS_RUNTIME_ERROR, 1));
	/* It was busy all the time. The limit begins a bit earlier than that is counted. */
	EXPECT_LE(900000000ull, nrt_emu_stats_busy(self->core.activity[0], 0));
}

TEST_F(stats, incorrect_input)
{
	nrt_tensor_set_t *none;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&none));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_execute(self->rig.model, none, self->rig.outputs));
	rig_caught();
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_TRUE(is_outcome(&self->core, NRT_EMU_STATS_INCORRECT_INPUT, 1));
	EXPECT_TRUE(is_error(&self->core, NRT_EMU_STATS_MODEL_ERROR, 1));
	EXPECT_EQ(0, self->after->models[0].running);
	nrt_destroy_tensor_set(&none);
}

TEST_F(stats, full_queue)
{
	unsigned int i;
	nrta_seq_t seq;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_stuck(), 0, 0, 0));
	rig_catch();
	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(self->rig.model, self->rig.inputs,
							     self->rig.outputs, 0, NULL, &seq));
	EXPECT_EQ(NRT_QUEUE_FULL, nrta_execute_schedule(self->rig.model, self->rig.inputs,
							self->rig.outputs, 0, NULL, &seq));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_TRUE(is_outcome(&self->core, NRT_EMU_STATS_FAILED_TO_QUEUE, 1));
	EXPECT_TRUE(is_error(&self->core, NRT_EMU_STATS_RUNTIME_ERROR, 1));
	EXPECT_EQ(DEPTH, self->after->models[0].running);
	nrt_close();
	rig_caught();
}

/* While a job runs, the core is busy, and the model is running. */
TEST_F(stats, running)
{
	uint64_t now, later, first, second;
	nrta_seq_t seq;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_stuck(), 0, 0, 0));
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(self->rig.model, self->rig.inputs,
						     self->rig.outputs, 0, NULL, &seq));
	do {
		usleep(1000);
		ASSERT_TRUE(look(self->before, 0, &self->core));
	} while (!self->core.activity[0]);
	now = now_ns();
	first = nrt_emu_stats_busy(self->core.activity[0], now);
	EXPECT_EQ(1, self->core.activity[0] & ((1u << NRT_EMU_STATS_JOB_BITS) - 1));
	EXPECT_EQ(1, self->before->models[0].running);
	usleep(50000);
	ASSERT_TRUE(look(self->after, 0, &self->core));
	later = now_ns();
	second = nrt_emu_stats_busy(self->core.activity[0], later);
	EXPECT_EQ(later - now, second - first);
	EXPECT_GE(later - self->begin_ns, second);
	nrt_close();
	rig_caught();
}

/* --- Memory --- */

TEST_F(stats, tensors)
{
	nrt_tensor_t *device, *host;

	ASSERT_TRUE(look(self->before, 1, &self->core));
	EXPECT_EQ(0, sum(self->core.device_bytes, NRT_EMU_STATS_NR_DEVICE));
	EXPECT_EQ(0, sum(self->core.host_bytes, NRT_EMU_STATS_NR_HOST));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 1000001, "d",
						   &device));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 1, 12345, "h",
						   &host));
	ASSERT_TRUE(look(self->after, 1, &self->core));
	EXPECT_EQ(rounded(1000001), self->core.device_bytes[NRT_EMU_STATS_TENSORS]);
	EXPECT_EQ(rounded(1000001), sum(self->core.device_bytes, NRT_EMU_STATS_NR_DEVICE));
	EXPECT_EQ(rounded(12345), self->core.host_bytes[NRT_EMU_STATS_HOST_TENSORS]);
	EXPECT_EQ(rounded(12345), sum(self->core.host_bytes, NRT_EMU_STATS_NR_HOST));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_EQ(0, sum(self->core.device_bytes, NRT_EMU_STATS_NR_DEVICE));
	nrt_tensor_free(&device);
	nrt_tensor_free(&host);
	ASSERT_TRUE(look(self->after, 1, &self->core));
	EXPECT_EQ(0, sum(self->core.device_bytes, NRT_EMU_STATS_NR_DEVICE));
	EXPECT_EQ(0, sum(self->core.host_bytes, NRT_EMU_STATS_NR_HOST));
}

/* The row of a model is what its core has more, and what the stack has more. */
TEST_F(stats, models)
{
	struct program program = program_constant();
	const struct nrt_emu_stats_model *row;
	size_t used = rig_memory(0);
	uint64_t bytes = 0, code = 0;
	char uuid[2 * NRT_EMU_STATS_UUID + 1] = "";
	nrt_model_t *model;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, nrt_load(program.data, program.size, 0, -1, &model));
	free(program.data);
	ASSERT_TRUE(look(self->after, 0, &self->core));
	row = &self->after->models[0];
	EXPECT_EQ(1, row->model_id);
	EXPECT_EQ(self->core.number, row->core);
	EXPECT_EQ(self->core.device, row->device);
	EXPECT_EQ(self->after->lnc, row->nr_subgraphs);
	EXPECT_EQ(0, row->running);
	EXPECT_NE(0, strlen(row->name));
	for (i = 0; i < NRT_EMU_STATS_UUID; i++)
		snprintf(uuid + 2 * i, 3, "%02x", row->uuid[i]);
	EXPECT_NE(0, strcmp(uuid, "00000000000000000000000000000000"));
	for (i = 0; i < row->nr_subgraphs; i++) {
		bytes += sum(row->device_bytes[i], NRT_EMU_STATS_NR_DEVICE);
		code += row->device_bytes[i][NRT_EMU_STATS_CODE];
	}
	EXPECT_EQ(rig_memory(0) - used, bytes);
	EXPECT_EQ(bytes, sum(self->core.device_bytes, NRT_EMU_STATS_NR_DEVICE));
	EXPECT_LE(PROGRAM_BYTES, row->device_bytes[0][NRT_EMU_STATS_CONSTANTS]);
	EXPECT_NE(0, code);
	EXPECT_EQ(code, self->core.device_bytes[NRT_EMU_STATS_CODE]);
	EXPECT_EQ(0, self->after->models_seq & 1);
	EXPECT_EQ(NRT_SUCCESS, nrt_unload(model));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_EQ(0, row->model_id);
	EXPECT_EQ(0, sum(self->core.device_bytes, NRT_EMU_STATS_NR_DEVICE));
}

static bool load_again(const struct program *program, nrt_model_t **model)
{
	return !nrt_load(program->data, program->size, 0, -1, model);
}

/* More models than there are rows: the page says how many it has not. */
TEST_F(stats, full_table)
{
	nrt_model_t *models[NRT_EMU_STATS_MAX_MODELS + 2];
	struct program program = program_scale(1);
	unsigned int i;

	for (i = 0; i < NRT_EMU_STATS_MAX_MODELS + 2; i++)
		ASSERT_TRUE(load_again(&program, &models[i]));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_EQ(2, self->after->models_left_out);
	EXPECT_EQ(NRT_EMU_STATS_MAX_MODELS,
		  self->after->models[NRT_EMU_STATS_MAX_MODELS - 1].model_id);
	/* One of the left out, and one with a row, which the next one gets. */
	EXPECT_EQ(NRT_SUCCESS, nrt_unload(models[NRT_EMU_STATS_MAX_MODELS]));
	EXPECT_EQ(NRT_SUCCESS, nrt_unload(models[7]));
	ASSERT_TRUE(load_again(&program, &models[7]));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_EQ(1, self->after->models_left_out);
	EXPECT_EQ(NRT_EMU_STATS_MAX_MODELS + 3, self->after->models[7].model_id);
	free(program.data);
}

/* --- Processes --- */

/* In the child: which pages it has, and whether it gets one of its own. */
static int in_child(uint32_t parent)
{
	struct nrt_emu_stats stats;

	if (find_page((uint32_t)getpid(), &stats) >= 0 || find_page(parent, &stats) < 0)
		return 1;
	if (!rig_embedded())
		return 0;
	if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""))
		return 2;
	if (find_page((uint32_t)getpid(), &stats) < 0)
		return 3;
	nrt_close();
	return find_page((uint32_t)getpid(), &stats) < 0 ? 0 : 4;
}

TEST_F(stats, child)
{
	uint32_t self_pid = (uint32_t)getpid();
	pid_t child = fork();
	int status;

	if (!child)
		_exit(in_child(self_pid));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(look(self->after, 0, &self->core));
}

TEST_F(stats, close)
{
	uint64_t init_ns;

	ASSERT_TRUE(look(self->after, 0, &self->core));
	init_ns = self->after->init_ns;
	nrt_close();
	EXPECT_GT(0, find_page((uint32_t)getpid(), self->after));
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_TRUE(look(self->after, 0, &self->core));
	EXPECT_LT(init_ns, self->after->init_ns);
}

/* A program that closes all descriptors may have a file of its own there afterwards. */
TEST_F(stats, descriptor_that_is_taken)
{
	int fd = find_page((uint32_t)getpid(), self->after);
	int other = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(fd, dup2(other, fd));
	nrt_close();
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	close(fd);
	close(other);
}

TEST_HARNESS_MAIN
