// SPDX-License-Identifier: MIT
/*
 * What the runtime costs, on a chip in the process: copies against memcpy, an empty model
 * against a thread that answers another one, scheduling against executing, a load against
 * reading the file's bytes; how long the first result and nrt_close() take.
 */
#include <errno.h>
#include <linux/futex.h>
#include <nrt/nrt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/sha.h>

#include "empty_model.h"
#include "figure.h"

#define MIB		((size_t)1 << 20)
#define COPY_BYTES	(64 * MIB)
#define FILE_BYTES	(256 * MIB)
#define RUNS		200	/* in a sample */
#define US		1e6

static void must(NRT_STATUS status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "bench-runtime: %s: %s\n", what, nrt_get_status_as_str(status));
	exit(1);
}

/* What most figures here are: less is better. */
static struct figure cost(const char *name, const char *unit, double goal)
{
	return (struct figure){ .name = name, .unit = unit, .goal = goal, .lower_is_better = true };
}

static struct figure rate(const char *name)
{
	return (struct figure){ .name = name, .unit = "GB/s", .goal = 0.95 };
}

static void *make_neff(size_t bytes, size_t *size)
{
	void *neff = empty_model_neff(bytes, size);

	if (!neff)
		exit(1);
	return neff;
}

/* --- Copies --- */

static void measure_copies(struct figures *figures, unsigned int rounds)
{
	double write[FIGURE_MAX_ROUNDS], read[FIGURE_MAX_ROUNDS], plain[FIGURE_MAX_ROUNDS];
	double begin;
	uint8_t *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
	nrt_tensor_t *tensor;
	unsigned int i;

	must(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, COPY_BYTES, "t", &tensor),
	     "nrt_tensor_allocate");
	if (!from || !to)
		must(NRT_RESOURCE, "malloc");
	memset(from, 1, COPY_BYTES);
	memset(to, 2, COPY_BYTES);
	must(nrt_tensor_write(tensor, from, 0, COPY_BYTES), "nrt_tensor_write");
	for (i = 0; i < rounds; i++) {
		begin = figure_now();
		must(nrt_tensor_write(tensor, from, 0, COPY_BYTES), "nrt_tensor_write");
		write[i] = figure_now() - begin;
		begin = figure_now();
		memcpy(to, from, COPY_BYTES);
		plain[i] = figure_now() - begin;
		begin = figure_now();
		must(nrt_tensor_read(tensor, to, 0, COPY_BYTES), "nrt_tensor_read");
		read[i] = figure_now() - begin;
	}
	figure_rates(write, rounds, COPY_BYTES / 1e9);
	figure_rates(plain, rounds, COPY_BYTES / 1e9);
	figure_rates(read, rounds, COPY_BYTES / 1e9);
	figures_add(figures, rate("runtime_write_64mib"), write, plain, rounds);
	figures_add(figures, rate("runtime_read_64mib"), read, plain, rounds);
	nrt_tensor_free(&tensor);
	free(from);
	free(to);
}

/* --- An empty model --- */

/* Two threads that wake each other: 0 it is the caller's turn, 1 the other's, 2 the end. */
struct ring {
	_Atomic uint32_t turn;
};

static void ring_pass(struct ring *ring, uint32_t turn)
{
	atomic_store(&ring->turn, turn);
	syscall(SYS_futex, &ring->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void ring_await(struct ring *ring, uint32_t other)
{
	while (atomic_load(&ring->turn) == other)
		syscall(SYS_futex, &ring->turn, FUTEX_WAIT_PRIVATE, other, NULL, NULL, 0);
}

static void *answer(void *arg)
{
	struct ring *ring = arg;

	for (;;) {
		ring_await(ring, 0);
		if (atomic_load(&ring->turn) == 2)
			return NULL;
		ring_pass(ring, 0);
	}
}

static double time_rings(struct ring *ring)
{
	double begin = figure_now();
	unsigned int i;

	for (i = 0; i < RUNS; i++) {
		ring_pass(ring, 1);
		ring_await(ring, 1);
	}
	return (figure_now() - begin) / RUNS;
}

static double time_runs(const struct empty_model *model)
{
	double begin = figure_now();
	unsigned int i;

	for (i = 0; i < RUNS; i++)
		must(empty_model_run(model), "nrt_execute");
	return (figure_now() - begin) / RUNS;
}

static void time_pipeline(const struct empty_model *model, double *schedule, double *each)
{
	must(empty_model_pipeline(model, schedule, each), "nrta_execute_schedule");
}

static void scale(double *values, unsigned int rounds, double factor)
{
	unsigned int i;

	for (i = 0; i < rounds; i++)
		values[i] *= factor;
}

static void measure_empty(struct figures *figures, unsigned int rounds)
{
	double sync[FIGURE_MAX_ROUNDS], trips[FIGURE_MAX_ROUNDS], schedule[FIGURE_MAX_ROUNDS];
	double each[FIGURE_MAX_ROUNDS];
	struct ring ring = { 0 };
	struct empty_model model;
	pthread_t thread;
	unsigned int i;

	must(empty_model_load(&model), "nrt_load");
	if (pthread_create(&thread, NULL, answer, &ring))
		must(NRT_RESOURCE, "pthread_create");
	time_runs(&model);
	time_pipeline(&model, &schedule[0], &each[0]);
	for (i = 0; i < rounds; i++) {
		sync[i] = time_runs(&model);
		trips[i] = 2 * time_rings(&ring);
		time_pipeline(&model, &schedule[i], &each[i]);
	}
	ring_pass(&ring, 2);
	pthread_join(thread, NULL);
	scale(sync, rounds, US);
	scale(trips, rounds, US);
	scale(schedule, rounds, US);
	scale(each, rounds, US);
	figures_add(figures, cost("runtime_empty_model", "us", 1), sync, trips, rounds);
	figures_add(figures, cost("runtime_schedule", "us", 0.5), schedule, sync, rounds);
	figures_add(figures, cost("runtime_pipeline", "us", 0.5), each, sync, rounds);
	empty_model_unload(&model);
}

/* --- Loading --- */

static double time_load(const void *neff, size_t size)
{
	double begin = figure_now(), end;
	nrt_model_t *model;

	must(nrt_load(neff, size, 0, -1, &model), "nrt_load");
	end = figure_now();
	must(nrt_unload(model), "nrt_unload");
	return end - begin;
}

static void measure_load(struct figures *figures, unsigned int rounds)
{
	double load[FIGURE_MAX_ROUNDS], plain[FIGURE_MAX_ROUNDS];
	uint8_t hash[SHA256_DIGEST_LENGTH];
	double begin;
	size_t size;
	void *copy;
	void *neff = make_neff(FILE_BYTES, &size);
	bool hashed = getenv("NEURON_RT_VALIDATE_HASH");
	unsigned int i;

	time_load(neff, size);
	for (i = 0; i < rounds; i++) {
		load[i] = time_load(neff, size) * 1e3;
		/* To fresh memory, as a load goes to. */
		begin = figure_now();
		copy = malloc(FILE_BYTES);
		if (!copy)
			must(NRT_RESOURCE, "malloc");
		memcpy(copy, neff, FILE_BYTES);
		/* The compiler must not see that nobody reads it. */
		__asm__ volatile("" : : "r"(copy) : "memory");
		if (hashed)
			SHA256(neff, size, hash);
		plain[i] = (figure_now() - begin) * 1e3;
		free(copy);
	}
	figures_add(figures, hashed ? cost("runtime_load_hashed", "ms", 1.2) :
				      cost("runtime_load", "ms", 2), load, plain, rounds);
	free(neff);
}

/* --- The begin and the end --- */

/* From nothing to the first result of a process. */
static double time_begin(void)
{
	double begin = figure_now();
	struct empty_model model;

	must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
	must(empty_model_load(&model), "nrt_load");
	must(empty_model_run(&model), "nrt_execute");
	return figure_now() - begin;
}

/* In a process of its own: what the library leaves behind makes the next time a shorter one. */
static double time_begin_elsewhere(const char *instance)
{
	double seconds = 0;
	int child, ends[2];

	if (pipe(ends))
		must(NRT_RESOURCE, "pipe");
	child = fork();
	if (child < 0)
		must(NRT_RESOURCE, "fork");
	if (!child) {
		setenv("NEURON_EMU_INSTANCE", instance, 1);
		seconds = time_begin();
		_exit(write(ends[1], &seconds, sizeof(seconds)) != sizeof(seconds));
	}
	close(ends[1]);
	if (read(ends[0], &seconds, sizeof(seconds)) != sizeof(seconds))
		must(NRT_FAILURE, "a process of its own");
	close(ends[0]);
	waitpid(child, NULL, 0);
	return seconds;
}

static void measure_begin(struct figures *figures, unsigned int rounds)
{
	double one[FIGURE_MAX_ROUNDS], all[FIGURE_MAX_ROUNDS];
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		one[i] = time_begin_elsewhere("trn2:1");
		all[i] = time_begin_elsewhere("trn2.48xlarge");
	}
	scale(one, rounds, 1e3);
	scale(all, rounds, 1e3);
	figures_add(figures, cost("runtime_first_result", "ms", 50), one, NULL, rounds);
	figures_add(figures, cost("runtime_first_result_16_chips", "ms", 50), all, NULL, rounds);
}

/* With a full queue, whose first execution never ends. */
static void measure_close(struct figures *figures, unsigned int rounds)
{
	double seconds[FIGURE_MAX_ROUNDS];
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
		must(empty_model_close_full(&seconds[i]), "nrt_close with a full queue");
	}
	figures_add(figures, cost("runtime_close_full_queue", "s", 2), seconds, NULL, rounds);
}

int main(int argc, char **argv)
{
	struct figure_options options = figure_options(argc, argv);
	static struct figures figures;

	setenv("NEURON_RT_BACKEND", "embedded", 1);
	setenv("NEURON_RT_LOG_LEVEL", "QUIET", 0);
	setenv("NEURON_EMU_INSTANCE", "trn2:1", 0);
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
	/* First, as long as there is no thread that a fork() would leave behind. */
	measure_begin(&figures, options.rounds);
	must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
	measure_copies(&figures, options.rounds);
	measure_empty(&figures, options.rounds);
	unsetenv("NEURON_RT_VALIDATE_HASH");
	measure_load(&figures, options.rounds);
	nrt_close();
	/* The environment is read when the library is initialised. */
	setenv("NEURON_RT_VALIDATE_HASH", "true", 1);
	must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
	measure_load(&figures, options.rounds);
	nrt_close();
	measure_close(&figures, options.rounds);
	return figures_report(&figures, options.json) ? 1 : 0;
}
