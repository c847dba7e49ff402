// SPDX-License-Identifier: MIT
/*
 * Calls of the API by chance, from three threads: with handles that are good, stale, of another
 * kind or forged, and with sizes and numbers that are right or wrong. Nothing is expected but
 * that the library survives and gives back all memory; a sanitizer watches.
 *
 * FUZZ_SECONDS, FUZZ_SEED: how long, and where chance begins. It prints both.
 */
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_emu.h>
#include <nrt/nrt_experimental.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "programs.h"

#define THREADS		3
#define SLOTS		24
#define BYTES		65536

enum kind {
	TENSOR,
	SET,
	MODEL,
	TRACKER,
	COMM,
	REQUEST,
	NR_KINDS,
};

/* What all threads share: handles that were good once. */
struct shared {
	_Atomic uintptr_t handle[NR_KINDS][SLOTS];
	_Atomic uint64_t seq;
	atomic_bool stop;
	uint8_t bytes[BYTES];
	struct program programs[4];
	atomic_ullong calls;
	atomic_ullong executions;
};

struct fuzzer {
	struct shared *shared;
	pthread_t thread;
	uint64_t random;
};

static uint64_t next(struct fuzzer *fuzzer)
{
	fuzzer->random ^= fuzzer->random << 13;
	fuzzer->random ^= fuzzer->random >> 7;
	fuzzer->random ^= fuzzer->random << 17;
	return fuzzer->random;
}

static uint64_t below(struct fuzzer *fuzzer, uint64_t limit)
{
	return next(fuzzer) % limit;
}

static bool one_in(struct fuzzer *fuzzer, uint64_t nr)
{
	return !below(fuzzer, nr);
}

/* Mostly a handle of that kind that is or was good. */
static void *pick(struct fuzzer *fuzzer, enum kind kind)
{
	uint64_t slot = below(fuzzer, SLOTS);
	uintptr_t handle;

	if (one_in(fuzzer, 16))
		kind = (enum kind)below(fuzzer, NR_KINDS);
	handle = atomic_load(&fuzzer->shared->handle[kind][slot]);
	if (one_in(fuzzer, 32))
		handle ^= (uintptr_t)1 << below(fuzzer, 64);
	if (one_in(fuzzer, 128))
		handle = next(fuzzer);
	return (void *)handle;
}

static void give_back(enum kind kind, void *handle)
{
	switch (kind) {
	case TENSOR:
		nrt_tensor_free((nrt_tensor_t **)&handle);
		break;
	case SET:
		nrt_destroy_tensor_set(&handle);
		break;
	case MODEL:
		nrt_unload(handle);
		break;
	case TRACKER:
		nrta_error_tracker_destroy(handle);
		break;
	default:
		/* They end with their core. */
		break;
	}
}

/* In the place of another one, which goes. */
static void keep(struct fuzzer *fuzzer, enum kind kind, void *handle)
{
	_Atomic uintptr_t *slot = &fuzzer->shared->handle[kind][below(fuzzer, SLOTS)];

	give_back(kind, (void *)atomic_exchange(slot, (uintptr_t)handle));
}

/* A size that fits, often, or any. */
static size_t size(struct fuzzer *fuzzer)
{
	switch (below(fuzzer, 8)) {
	case 0:
		return 0;
	case 1:
		return next(fuzzer);
	case 2:
		return below(fuzzer, BYTES + 2);
	case 3:
		return below(fuzzer, 64);
	default:
		return PROGRAM_BYTES;
	}
}

static size_t offset(struct fuzzer *fuzzer)
{
	return one_in(fuzzer, 2) ? 0 : size(fuzzer);
}

static int vnc(struct fuzzer *fuzzer)
{
	return one_in(fuzzer, 8) ? (int)next(fuzzer) : (int)below(fuzzer, 3) - 1;
}

/* --- Calls --- */

static void do_allocate(struct fuzzer *fuzzer)
{
	nrt_tensor_placement_t placement = (nrt_tensor_placement_t)below(fuzzer, 4);
	size_t bytes = size(fuzzer);
	nrt_tensor_t *tensor = NULL;

	/* Host memory for anything would be had. */
	if (bytes > (64u << 20))
		placement = NRT_TENSOR_PLACEMENT_DEVICE;
	if (!nrt_tensor_allocate(placement, vnc(fuzzer), bytes, "t", &tensor))
		keep(fuzzer, TENSOR, tensor);
}

static void do_derive(struct fuzzer *fuzzer)
{
	nrt_tensor_t *tensor = NULL;

	if (one_in(fuzzer, 2)) {
		if (!nrt_tensor_allocate_empty("e", &tensor))
			keep(fuzzer, TENSOR, tensor);
		return;
	}
	if (!nrt_tensor_allocate_slice(pick(fuzzer, TENSOR), offset(fuzzer), size(fuzzer), "s",
				       &tensor))
		keep(fuzzer, TENSOR, tensor);
}

static void do_attach(struct fuzzer *fuzzer)
{
	/* The program promises the size of its buffer, which the library cannot check. */
	nrt_tensor_attach_buffer(pick(fuzzer, TENSOR), fuzzer->shared->bytes,
				 size(fuzzer) % (BYTES + 1));
}

static void do_free(struct fuzzer *fuzzer)
{
	nrt_tensor_t *tensor = pick(fuzzer, TENSOR);

	nrt_tensor_free(&tensor);
}

static void do_bytes(struct fuzzer *fuzzer)
{
	nrt_tensor_t *tensor = pick(fuzzer, TENSOR);
	void *bytes = one_in(fuzzer, 16) ? NULL : fuzzer->shared->bytes;
	size_t at = offset(fuzzer), length = size(fuzzer) % (BYTES + 1);

	switch (below(fuzzer, 4)) {
	case 0:
		nrt_tensor_read(tensor, bytes, at, length);
		break;
	case 1:
		nrt_tensor_write(tensor, bytes, at, length);
		break;
	case 2:
		nrt_tensor_memset(tensor, at, (int)next(fuzzer), length);
		break;
	default:
		nrt_tensor_copy(tensor, at, pick(fuzzer, TENSOR), offset(fuzzer), length);
	}
}

static void do_batch(struct fuzzer *fuzzer)
{
	nrt_tensor_batch_op_t ops[2] = {
		{ offset(fuzzer), size(fuzzer) % (BYTES + 1), fuzzer->shared->bytes },
		{ offset(fuzzer), size(fuzzer) % (BYTES + 1), fuzzer->shared->bytes },
	};
	nrt_tensor_batch_t batch = { pick(fuzzer, TENSOR), one_in(fuzzer, 16) ? NULL : ops, 2 };

	if (one_in(fuzzer, 2))
		nrt_tensor_read_batch(&batch, 1, one_in(fuzzer, 2));
	else
		nrt_tensor_write_batch(&batch, 1, one_in(fuzzer, 2));
}

static void do_transfer(struct fuzzer *fuzzer)
{
	nrt_tensor_t *tensor = pick(fuzzer, TENSOR);
	nrta_error_tracker_t *tracker = one_in(fuzzer, 2) ? NULL : pick(fuzzer, TRACKER);
	size_t at = offset(fuzzer), length = size(fuzzer) % (BYTES + 1);
	int queue = one_in(fuzzer, 16) ? (int)next(fuzzer) : (int)below(fuzzer, 2);
	nrta_seq_t seq = 0;
	NRT_STATUS status;

	switch (below(fuzzer, 3)) {
	case 0:
		status = nrta_tensor_read(fuzzer->shared->bytes, tensor, at, length, queue, tracker,
					  &seq);
		break;
	case 1:
		status = nrta_tensor_write(tensor, fuzzer->shared->bytes, at, length, queue,
					   tracker, &seq);
		break;
	default:
		status = nrta_tensor_copy(tensor, at, pick(fuzzer, TENSOR), offset(fuzzer), length,
					  queue, tracker, &seq);
	}
	if (!status)
		atomic_store(&fuzzer->shared->seq, seq);
}

static void do_set(struct fuzzer *fuzzer)
{
	static const char *const names[] = { "x", "y", "z" };
	const char *name = names[below(fuzzer, 3)];
	nrt_tensor_set_t *set = pick(fuzzer, SET);
	nrt_tensor_t *tensor;

	switch (below(fuzzer, 6)) {
	case 0:
		if (!nrt_allocate_tensor_set(&set))
			keep(fuzzer, SET, set);
		break;
	case 1:
		nrt_destroy_tensor_set(&set);
		break;
	case 2:
		nrt_get_tensor_from_tensor_set(set, name, &tensor);
		break;
	default:
		nrt_add_tensor_to_tensor_set(set, name, pick(fuzzer, TENSOR));
	}
}

/* What chance alone would hardly find: a set that a program can be run with. */
static void do_prepare(struct fuzzer *fuzzer)
{
	nrt_tensor_set_t *set = NULL;
	unsigned int i;

	if (nrt_allocate_tensor_set(&set))
		return;
	for (i = 0; i < 2; i++) {
		nrt_tensor_placement_t placement = (nrt_tensor_placement_t)below(fuzzer, 3);
		nrt_tensor_t *tensor;

		if (nrt_tensor_allocate(placement, (int)below(fuzzer, 2), PROGRAM_BYTES, "t",
					&tensor))
			break;
		nrt_add_tensor_to_tensor_set(set, i ? "y" : "x", tensor);
		keep(fuzzer, TENSOR, tensor);
	}
	keep(fuzzer, SET, set);
}

static void do_load(struct fuzzer *fuzzer)
{
	const struct program *program = &fuzzer->shared->programs[below(fuzzer, 4)];
	size_t length = one_in(fuzzer, 8) ? below(fuzzer, program->size) : program->size;
	nrt_model_t *model;

	if (!nrt_load(program->data, length, vnc(fuzzer), one_in(fuzzer, 8) ? 1 : -1, &model))
		keep(fuzzer, MODEL, model);
}

static void do_execute(struct fuzzer *fuzzer)
{
	nrt_model_t *model = pick(fuzzer, MODEL);
	nrt_tensor_set_t *inputs = pick(fuzzer, SET), *outputs = pick(fuzzer, SET);
	nrta_error_tracker_t *tracker = one_in(fuzzer, 2) ? NULL : pick(fuzzer, TRACKER);
	NRT_STATUS status;
	nrta_seq_t seq;

	switch (below(fuzzer, 4)) {
	case 0:
		status = nrt_execute(model, inputs, outputs);
		break;
	case 1:
		status = nrt_execute_repeat(model, inputs, outputs, (int)below(fuzzer, 4) - 1);
		break;
	default:
		status = nrta_execute_schedule(model, inputs, outputs, one_in(fuzzer, 16), tracker,
					       &seq);
		if (!status)
			atomic_store(&fuzzer->shared->seq, seq);
	}
	if (!status)
		atomic_fetch_add(&fuzzer->shared->executions, 1);
}

static void do_model(struct fuzzer *fuzzer)
{
	nrt_model_t *model = pick(fuzzer, MODEL);
	nrt_tensor_info_array_t *infos = NULL;
	nrt_emu_execution_t execution;
	nrt_model_info_t info;
	uint32_t count;
	char text[64];

	switch (below(fuzzer, 6)) {
	case 0:
		nrt_unload(model);
		break;
	case 1:
		if (!nrt_get_model_tensor_info(model, &infos))
			nrt_free_model_tensor_info(infos);
		break;
	case 2:
		nrt_get_model_info(model, &info, below(fuzzer, sizeof(info) + 1), NULL);
		break;
	case 3:
		nrt_get_model_vnc_count(model, &count);
		break;
	case 4:
		nrt_emu_get_last_execution(model, &execution, sizeof(execution));
		nrt_emu_get_last_error(model, text, below(fuzzer, sizeof(text) + 1));
		break;
	default:
		nrt_emu_set_trace(model, below(fuzzer, 1 << 16));
	}
}

static void do_completion(struct fuzzer *fuzzer)
{
	nrta_seq_t seq = atomic_load(&fuzzer->shared->seq);
	nrt_tensor_t *tensor = pick(fuzzer, TENSOR);
	bool done;
	int fd;

	if (one_in(fuzzer, 4))
		seq ^= 1ull << below(fuzzer, 64);
	switch (below(fuzzer, 6)) {
	case 0:
		nrta_is_completed(seq, &done);
		break;
	case 1:
		nrta_get_sequence((uint32_t)vnc(fuzzer), (nrta_xu_t)below(fuzzer, 7),
				  (int)below(fuzzer, 4) - 1, &seq);
		break;
	case 2:
		if (!nrta_get_completion_handle(seq, &fd))
			close(fd);
		break;
	case 3:
		nrt_tensor_check_output_completion(tensor, (int64_t)below(fuzzer, 200),
						   below(fuzzer, 3));
		break;
	case 4:
		nrt_tensor_reset_output_completion(tensor);
		break;
	default:
		nrt_async_drain_queued_execs(vnc(fuzzer));
	}
}

static void do_tracker(struct fuzzer *fuzzer)
{
	nrta_error_tracker_t *tracker = pick(fuzzer, TRACKER);

	/* The list of one may not be asked for while others look at it, so nobody does. */
	if (one_in(fuzzer, 2))
		nrta_error_tracker_destroy(tracker);
	else if (!nrta_error_tracker_create((uint32_t)vnc(fuzzer), &tracker))
		keep(fuzzer, TRACKER, tracker);
}

static void do_sendrecv(struct fuzzer *fuzzer)
{
	int core = vnc(fuzzer), peer = vnc(fuzzer);
	nrt_async_sendrecv_request_t *request = NULL;
	nrt_async_sendrecv_comm_t *comm = NULL;
	size_t length;
	bool done;

	switch (below(fuzzer, 8)) {
	case 0:
		nrt_async_sendrecv_init(core);
		break;
	case 1:
		if (one_in(fuzzer, 8))
			nrt_async_sendrecv_close(core);
		break;
	case 2:
		if (!nrt_async_sendrecv_connect("127.0.0.1", peer, core, &comm))
			keep(fuzzer, COMM, comm);
		break;
	case 3:
		if (!nrt_async_sendrecv_accept("127.0.0.1", peer, core, &comm))
			keep(fuzzer, COMM, comm);
		break;
	case 4:
		if (!nrt_async_sendrecv_send_tensor(pick(fuzzer, TENSOR), offset(fuzzer),
						    size(fuzzer), pick(fuzzer, COMM), &request))
			keep(fuzzer, REQUEST, request);
		break;
	case 5:
		if (!nrt_async_sendrecv_recv_tensor(pick(fuzzer, TENSOR), offset(fuzzer),
						    size(fuzzer), pick(fuzzer, COMM), &request))
			keep(fuzzer, REQUEST, request);
		break;
	case 6:
		nrt_async_sendrecv_test_comm(pick(fuzzer, COMM), &done);
		break;
	default:
		nrt_async_sendrecv_test_request(pick(fuzzer, REQUEST), &done, &length);
	}
}

static void do_question(struct fuzzer *fuzzer)
{
	nrt_tensor_device_allocation_info_t info;
	nrt_tensor_t *tensor = pick(fuzzer, TENSOR);
	nrt_vnc_memory_stats_t stats;
	nrt_instance_info_t instance;
	uint32_t count;

	switch (below(fuzzer, 6)) {
	case 0:
		nrt_tensor_get_size(tensor);
		break;
	case 1:
		nrt_tensor_get_va(tensor);
		break;
	case 2:
		nrt_tensor_get_device_allocation_info(tensor, &info);
		break;
	case 3:
		nrt_get_vnc_memory_stats((uint32_t)vnc(fuzzer), &stats,
					 below(fuzzer, sizeof(stats) + 1), NULL);
		break;
	case 4:
		nrt_get_instance_info(&instance, below(fuzzer, sizeof(instance) + 1));
		break;
	default:
		nrt_get_visible_vnc_count(&count);
	}
}

/* Rarely, or nothing else would have time. */
static void do_restart(struct fuzzer *fuzzer)
{
	if (!one_in(fuzzer, 1000))
		return;
	nrt_close();
	nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

static void *fuzz(void *arg)
{
	static void (*const calls[])(struct fuzzer *fuzzer) = {
		do_allocate, do_derive, do_attach, do_free, do_bytes, do_bytes, do_batch,
		do_transfer, do_transfer, do_set, do_prepare, do_prepare, do_load, do_execute,
		do_execute, do_execute, do_model, do_completion, do_tracker, do_sendrecv,
		do_sendrecv, do_question, do_restart,
	};
	struct fuzzer *fuzzer = arg;

	while (!atomic_load(&fuzzer->shared->stop)) {
		calls[below(fuzzer, sizeof(calls) / sizeof(calls[0]))](fuzzer);
		atomic_fetch_add(&fuzzer->shared->calls, 1);
	}
	return NULL;
}

/* --- Begin and end --- */

static unsigned long long number(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void give_all_back(struct shared *shared)
{
	unsigned int kind, i;

	for (kind = 0; kind < NR_KINDS; kind++)
		for (i = 0; i < SLOTS; i++)
			give_back((enum kind)kind, (void *)atomic_load(&shared->handle[kind][i]));
}

int main(void)
{
	unsigned long long seconds = number("FUZZ_SECONDS", 3);
	unsigned long long seed = number("FUZZ_SEED", (unsigned long long)time(NULL));
	static struct fuzzer fuzzers[THREADS];
	static struct shared shared;
	unsigned int i;

	setenv("NEURON_RT_BACKEND", "embedded", 1);
	setenv("NEURON_EMU_INSTANCE", "trn2:2", 0);
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 0);
	setenv("NEURON_RT_NUM_CORES", "2", 1);
	setenv("NEURON_RT_LOG_LEVEL", "QUIET", 0);
	printf("TAP version 13\n1..1\n# FUZZ_SEED=%llu FUZZ_SECONDS=%llu\n", seed, seconds);
	fflush(stdout);
	shared.programs[0] = program_scale(1);
	shared.programs[1] = program_transpose();
	shared.programs[2] = program_bad_opcode();
	shared.programs[3] = program_out_of_bounds();
	if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "")) {
		printf("not ok 1 - nrt_init() failed\n");
		return 1;
	}
	for (i = 0; i < THREADS; i++) {
		fuzzers[i].shared = &shared;
		fuzzers[i].random = (seed + i + 1) * 0x9e3779b97f4a7c15;
		if (pthread_create(&fuzzers[i].thread, NULL, fuzz, &fuzzers[i])) {
			printf("not ok 1 - no thread\n");
			return 1;
		}
	}
	sleep((unsigned int)seconds);
	atomic_store(&shared.stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(fuzzers[i].thread, NULL);
	give_all_back(&shared);
	nrt_close();
	for (i = 0; i < 4; i++)
		free(shared.programs[i].data);
	printf("# %llu calls, %llu executions that did not fail\n", atomic_load(&shared.calls),
	       atomic_load(&shared.executions));
	/* Without one, nothing that is interesting was reached. */
	printf("%sok 1 - api\n", atomic_load(&shared.executions) ? "" : "not ");
	return atomic_load(&shared.executions) ? 0 : 1;
}
