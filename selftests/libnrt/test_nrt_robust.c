// SPDX-License-Identifier: MIT
/*
 * What programs do to a library without meaning it: loading for ever, many threads, signals in
 * every call, threads that are cancelled, processes that are killed.
 */
#include "kselftest_harness.h"

#include <malloc.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "rig.h"

#define LOADS		1000
#define THREADS		64
#define MIB		(1024 * 1024)
#define SIGNALS_S	2
#define LIMIT_S		300

/* Only with a sanitizer, whose own memory grows: what the program has allocated. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t resident(void)
{
	unsigned long pages = 0;
	FILE *file;

	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	malloc_trim(0);
	file = fopen("/proc/self/statm", "re");
	if (!file || fscanf(file, "%*s %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * 4096;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

FIXTURE(robust)
{
	struct rig rig;
	bool ready;
};

FIXTURE_SETUP(robust)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->ready = true;
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
}

FIXTURE_TEARDOWN(robust)
{
	if (!self->ready)
		return;
	/* Whatever has happened, the library still works. */
	EXPECT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs));
	rig_unload(&self->rig);
	nrt_close();
}

static NRT_STATUS load_once(const struct program *program, struct rig *rig)
{
	nrt_model_t *model;
	NRT_STATUS status;

	status = nrt_load(program->data, program->size, 0, -1, &model);
	status = status ?: nrt_execute(model, rig->inputs, rig->outputs);
	return status ?: nrt_unload(model);
}

/* 1,000 loads give device memory back to the byte, and the memory of the process does not grow. */
TEST_F_TIMEOUT(robust, loads, LIMIT_S)
{
	struct program program = program_scale(1);
	size_t used, before;
	unsigned int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(NRT_SUCCESS, load_once(&program, &self->rig));
	used = rig_memory(0);
	before = resident();
	for (i = 0; i < LOADS; i++)
		ASSERT_EQ(NRT_SUCCESS, load_once(&program, &self->rig));
	EXPECT_TRUE(rig_memory_becomes(0, used));
	EXPECT_GT(before + MIB, resident());
	free(program.data);
}

/* --- Threads --- */

struct worker {
	nrt_model_t *model;
	pthread_t thread;
	NRT_STATUS status;
	bool good;
};

static NRT_STATUS work_once(nrt_model_t *model, float first, bool *good)
{
	struct rig own = { .model = model };
	float x[RIG_VALUES], y[RIG_VALUES];
	unsigned int i;
	NRT_STATUS status;

	rig_ramp(x, first);
	status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, sizeof(x), "x", &own.x);
	status = status ?: nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, 0, sizeof(y), "y",
					       &own.y);
	status = status ?: nrt_allocate_tensor_set(&own.inputs);
	status = status ?: nrt_allocate_tensor_set(&own.outputs);
	status = status ?: nrt_add_tensor_to_tensor_set(own.inputs, "x", own.x);
	status = status ?: nrt_add_tensor_to_tensor_set(own.outputs, "y", own.y);
	status = status ?: rig_run(&own, x, y);
	for (i = 0; !status && i < RIG_VALUES; i++)
		*good &= y[i] == 2 * x[i] + 1;
	own.model = NULL;
	rig_unload(&own);
	return status;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	unsigned int i;

	worker->good = true;
	for (i = 0; i < 5 && !worker->status; i++)
		worker->status = work_once(worker->model, (float)i, &worker->good);
	return NULL;
}

TEST_F_TIMEOUT(robust, threads, LIMIT_S)
{
	static struct worker workers[THREADS];
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		workers[i].model = self->rig.model;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(NRT_SUCCESS, workers[i].status);
		EXPECT_TRUE(workers[i].good);
	}
}

/* --- Signals --- */

static atomic_uint *nr_signals(void)
{
	static atomic_uint nr;

	return &nr;
}

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(nr_signals(), 1);
}

static NRT_STATUS do_all(struct rig *rig, const struct program *program)
{
	NRT_STATUS status;
	bool good = true;
	nrta_seq_t seq;

	status = load_once(program, rig);
	status = status ?: work_once(rig->model, 1, &good);
	status = status ?: nrta_execute_schedule(rig->model, rig->inputs, rig->outputs, 0, NULL,
						 &seq);
	status = status ?: nrt_tensor_check_output_completion(rig->y, -1, 1);
	status = status ?: nrt_async_drain_queued_execs(0);
	return status ?: (good ? NRT_SUCCESS : NRT_FAILURE);
}

/* A timer that interrupts whatever the library does, and whose handler restarts nothing. */
TEST_F_TIMEOUT(robust, signals, LIMIT_S)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { 0 };
	const struct sigaction action = { .sa_handler = count_signal };
	struct program program = program_scale(1);
	NRT_STATUS status = NRT_SUCCESS;
	double end = now_s() + SIGNALS_S;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	while (!status && (now_s() < end || atomic_load(nr_signals()) < 100))
		status = do_all(&self->rig, &program);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_EQ(NRT_SUCCESS, status);
	free(program.data);
}

/* --- Cancelled threads --- */

struct victim {
	struct rig *stuck;
	pthread_t thread;
	unsigned int kind;
	atomic_bool begun;
};

/* Each kind waits in another call, as long as the stuck execution lasts. */
static void *wait_in_a_call(void *arg)
{
	struct victim *victim = arg;
	struct rig *stuck = victim->stuck;
	char byte;

	atomic_store(&victim->begun, true);
	switch (victim->kind % 4) {
	case 0:
		nrt_execute(stuck->model, stuck->inputs, stuck->outputs);
		break;
	case 1:
		nrt_tensor_read(stuck->y, &byte, 0, 1);
		break;
	case 2:
		nrt_tensor_check_output_completion(stuck->y, 2000000, 1);
		break;
	default:
		nrt_async_drain_queued_execs(0);
	}
	pthread_testcancel();
	return NULL;
}

/* The calls end, then the threads do; nothing is left of them in the library. */
TEST_F_TIMEOUT(robust, cancelled_threads, LIMIT_S)
{
	struct victim victims[8] = { 0 };
	struct rig stuck;
	unsigned int i;
	nrta_seq_t seq;
	void *result;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&stuck, program_stuck(), 0, 0, 0));
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(stuck.model, stuck.inputs, stuck.outputs, 0,
						     NULL, &seq));
	for (i = 0; i < 8; i++) {
		victims[i].stuck = &stuck;
		victims[i].kind = i;
		ASSERT_EQ(0, pthread_create(&victims[i].thread, NULL, wait_in_a_call,
					    &victims[i]));
		while (!atomic_load(&victims[i].begun))
			usleep(100);
	}
	usleep(50000);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_cancel(victims[i].thread));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, pthread_join(victims[i].thread, &result));
		EXPECT_EQ(PTHREAD_CANCELED, result);
	}
	EXPECT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	rig_caught();
	rig_unload(&stuck);
}

/* --- Killed processes --- */

/* Runs until it is killed: a full queue behind a job that never ends. */
static void be_killed(int ready)
{
	struct rig spinner;
	nrta_seq_t seq;
	unsigned int i;

	setenv("NEURON_RT_EXEC_TIMEOUT", "600", 1);
	if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") ||
	    rig_load(&spinner, program_spin(), 0, 0, 0))
		_exit(1);
	for (i = 0; i < 60; i++)
		if (nrta_execute_schedule(spinner.model, spinner.inputs, spinner.outputs, 0, NULL,
					  &seq))
			_exit(1);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The driver gives the cores back when the process is gone, which takes a moment. */
static NRT_STATUS init_soon(void)
{
	double end = now_s() + 60;
	NRT_STATUS status;

	do {
		status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
		if (status)
			usleep(10000);
	} while (status == NRT_EXEC_NC_BUSY && now_s() < end);
	return status;
}

TEST_F_TIMEOUT(robust, killed_process, LIMIT_S)
{
	size_t used;
	int child, status, ready[2];
	char byte;

	rig_unload(&self->rig);
	used = rig_memory(0);
	nrt_close();
	self->ready = false;
	ASSERT_EQ(0, pipe(ready));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		be_killed(ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, init_soon());
	rig_caught();
	self->ready = true;
	EXPECT_TRUE(rig_memory_becomes(0, used));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
}

TEST_HARNESS_MAIN
