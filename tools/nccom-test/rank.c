// SPDX-License-Identifier: MIT
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rank.h"

/*
 * Device times are asked for when so many operations have followed. If they are not known by then
 * the rank waits: the chips work out those of 64 operations of a core at a time, and those of more
 * would not be exact.
 */
#define TIMES_LATER	32
/* At the end the last ones are waited for. */
#define TIMES_MS	600000

__attribute__((format(printf, 3, 4)))
static void rank_fail(struct rank *rank, enum ranks_end end, const char *format, ...)
{
	va_list arguments;

	if (rank->end)
		return;
	rank->end = end;
	rank->order = atomic_fetch_add(&rank->ranks->messages, 1);
	/* The others would wait for this one. */
	if (end == RANKS_FAILED)
		atomic_store(&rank->ranks->stop, true);
	va_start(arguments, format);
	vsnprintf(rank->why, sizeof(rank->why), format, arguments);
	va_end(arguments);
}

/* @what failed with @status, if that is a failure. */
static void rank_check(struct rank *rank, const char *what, NRT_STATUS status)
{
	if (status)
		rank_fail(rank, RANKS_FAILED, "rank %u: %s: %s", rank->number, what,
			  nrt_get_status_as_str(status));
}

static bool rank_goes_on(struct rank *rank)
{
	if (!rank->end && atomic_load(&rank->ranks->stop))
		rank->end = RANKS_INTERRUPTED;
	return !rank->end;
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* --- The work of a rank --- */

void rank_join(struct rank *rank)
{
	rank_check(rank, "meeting the others",
		   nrt_cc_global_comm_init(rank->number, rank->number, rank->ranks->of.nr));
	if (rank_goes_on(rank))
		rank_check(rank, "making an error tracker",
			   nrta_error_tracker_create(rank->number, &rank->tracker));
}

void rank_join_times(struct rank *rank)
{
	const struct groups *groups = rank->ranks->of.groups;

	if (rank->group >= 0)
		rank_check(rank, "meeting the others for device times",
			   nrt_emu_join_group_times(rank->number, groups->rank,
						    groups->nr * groups->size));
}

void rank_give_tensors(struct rank *rank)
{
	if (rank->input)
		nrt_tensor_free(&rank->input);
	if (rank->output)
		nrt_tensor_free(&rank->output);
	if (rank->metadata)
		nrt_tensor_free(&rank->metadata);
}

/* --- Metadata --- */

static size_t metadata_bytes(const struct rank *rank)
{
	const struct metadata *metadata = rank->ranks->of.metadata;

	return (size_t)metadata_rows(metadata) * metadata->size * sizeof(uint32_t);
}

/* All rows, as they are at the end. The caller frees them. */
static uint32_t *metadata_of(const struct ranks *ranks, unsigned int me)
{
	const struct metadata *metadata = ranks->of.metadata;
	uint32_t *words = calloc((size_t)NRT_PLAN_NR_ROWS * metadata->size, sizeof(*words));
	unsigned int row, i;

	for (row = 0; words && row < NRT_PLAN_NR_ROWS; row++)
		for (i = 0; i < metadata->size; i++)
			words[row * metadata->size + i] =
				(uint32_t)metadata_at(metadata, ranks->of.operation,
						      ranks->size.shape.block, me, row, i);
	return words;
}

/* What the operation counts itself is not there yet. */
static void write_metadata(struct rank *rank)
{
	const struct ranks *ranks = rank->ranks;
	unsigned int n = ranks->of.metadata->size;
	uint32_t *words;

	if (!ranks->of.operation->varies || rank->end)
		return;
	words = metadata_of(ranks, rank->me);
	if (!words) {
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
		return;
	}
	if (!ranks->of.operation->reduces)
		memset(&words[NRT_PLAN_RECV_COUNTS * n], VALUES_UNWRITTEN, n * sizeof(*words));
	rank_check(rank, "writing its metadata",
		   nrt_tensor_write(rank->metadata, words, 0, metadata_bytes(rank)));
	free(words);
}

static void compare_words(struct rank *rank, const uint32_t *got, const uint32_t *wanted)
{
	static const char *const rows[NRT_PLAN_NR_ROWS] = {
		"send_counts", "send_displs", "recv_counts", "recv_displs",
	};
	unsigned int n = rank->ranks->of.metadata->size, i;

	for (i = 0; i < metadata_bytes(rank) / sizeof(*got); i++) {
		if (got[i] == wanted[i])
			continue;
		rank_fail(rank, RANKS_WRONG, "rank %u: %s[%u] of its metadata is %u, expected %u",
			  rank->number, rows[i / n], i % n, got[i], wanted[i]);
		return;
	}
}

static void compare_metadata(struct rank *rank)
{
	uint32_t *wanted, *got;

	if (!rank->ranks->of.operation->varies || rank->end)
		return;
	wanted = metadata_of(rank->ranks, rank->me);
	got = malloc(metadata_bytes(rank));
	if (!wanted || !got)
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
	else
		rank_check(rank, "reading its metadata",
			   nrt_tensor_read(rank->metadata, got, 0, metadata_bytes(rank)));
	if (!rank->end)
		compare_words(rank, got, wanted);
	free(got);
	free(wanted);
}

/* --- Tensors and models --- */

void rank_take_tensors(struct rank *rank)
{
	const struct shape *shape = &rank->ranks->size.shape;
	const struct type *type = rank->ranks->of.type;
	const struct values *values;
	const uint8_t *bytes;
	uint64_t at, nr, all = shape->input / type->size;

	if (rank->group < 0)
		return;
	rank_check(rank, "memory for its input",
		   nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->number, shape->input,
				       "input", &rank->input));
	if (!rank->end)
		rank_check(rank, "memory for its output",
			   nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->number,
					       shape->output, "output", &rank->output));
	if (!rank->end && rank->ranks->of.operation->varies)
		rank_check(rank, "memory for its metadata",
			   nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->number,
					       metadata_bytes(rank), "metadata",
					       &rank->metadata));
	values = rank->ranks->values[rank->group];
	for (at = 0; at < all && rank_goes_on(rank); at += nr) {
		nr = all - at;
		bytes = values_input(values, rank->me, at, &nr);
		rank_check(rank, "writing its input",
			   nrt_tensor_write(rank->input, bytes, at * type->size, nr * type->size));
	}
}

static NRT_STATUS make_set(nrt_tensor_set_t **set, const char *name, nrt_tensor_t *tensor)
{
	return nrt_allocate_tensor_set(set) ?: nrt_add_tensor_to_tensor_set(*set, name, tensor);
}

void rank_load(struct rank *rank)
{
	const struct ranks *ranks = rank->ranks;

	if (rank->group < 0 || !ranks->neff.bytes)
		return;
	rank_check(rank, "loading its NEFF",
		   nrt_load_collectives(ranks->neff.bytes, ranks->neff.size, (int)rank->number, -1,
					rank->number, ranks->of.nr, &rank->model));
	if (rank_goes_on(rank))
		rank_check(rank, "naming its tensors",
			   make_set(&rank->inputs, "input", rank->input) ?:
			   make_set(&rank->outputs, "output", rank->output));
	if (rank->metadata && rank_goes_on(rank))
		rank_check(rank, "naming its metadata",
			   nrt_add_tensor_to_tensor_set(rank->outputs, "metadata",
							rank->metadata));
}

void rank_unload(struct rank *rank)
{
	if (rank->model)
		nrt_unload(rank->model);
	if (rank->inputs)
		nrt_destroy_tensor_set(&rank->inputs);
	if (rank->outputs)
		nrt_destroy_tensor_set(&rank->outputs);
	rank->model = NULL;
}

void rank_spoil_output(struct rank *rank)
{
	if (rank->group < 0)
		return;
	rank_check(rank, "writing its output",
		   nrt_tensor_memset(rank->output, 0, VALUES_UNWRITTEN,
				     rank->ranks->size.shape.output));
	write_metadata(rank);
}

/* The request has ended, or all are to end. */
static void wait_for(struct rank *rank, nrta_seq_t seq)
{
	struct pollfd end = { .events = POLLIN };

	rank_check(rank, "waiting", nrta_get_completion_handle(seq, &end.fd));
	if (rank->end)
		return;
	while (rank_goes_on(rank) && poll(&end, 1, LOOK_MS) <= 0)
		;
	close(end.fd);
}

static void check_tracker(struct rank *rank)
{
	const char *name = rank->ranks->of.operation->name;
	const nrta_error_t *list;
	size_t nr = 0;

	rank_check(rank, name, nrta_error_tracker_get_list(rank->tracker, &list, &nr));
	if (nr)
		rank_check(rank, name, (NRT_STATUS)list[0].error_code);
}

/* Schedule an operation that the host interface has. */
static void schedule_cc(struct rank *rank, nrt_cc_comm_t *comm, nrta_seq_t *seq)
{
	const struct ranks_of *of = &rank->ranks->of;
	nrt_tensor_list_t input = { &rank->input, 1 }, output = { &rank->output, 1 };
	nrt_cc_context_t *context;

	rank_check(rank, of->operation->name,
		   nrta_cc_prepare(comm, &input, &output, of->type->dtype, of->reduction->op,
				   of->operation->cc_op, &context));
	if (!rank->end)
		rank_check(rank, of->operation->name,
			   nrta_cc_schedule(&context, 0, rank->tracker, seq));
}

/* *@seq is the operation's request. */
static void operate(struct rank *rank, nrt_cc_comm_t *comm, nrta_seq_t *request)
{
	nrta_seq_t seq = 0;

	if (rank->model)
		rank_check(rank, rank->ranks->of.operation->name,
			   nrta_execute_schedule(rank->model, rank->inputs, rank->outputs, 0,
						 rank->tracker, &seq));
	else
		schedule_cc(rank, comm, &seq);
	*request = seq;
	if (!rank->end)
		wait_for(rank, seq);
	if (!rank->end)
		check_tracker(rank);
}

/* The device time of operation @i of the run. */
static void get_time(struct rank *rank, unsigned int i)
{
	rank_check(rank, "asking for a device time",
		   nrt_emu_get_group_time(rank->number, rank->requests[i], TIMES_MS,
					  &rank->device[i], sizeof(rank->device[i])));
}

void rank_operate(struct rank *rank)
{
	struct ranks *ranks = rank->ranks;
	const struct groups *groups = ranks->of.groups;
	nrt_cc_comm_t comm = {
		.rank = rank->me,
		.rank_n = groups->size,
		.ctx_device_id = rank->number,
		.ctx_device_count = ranks->of.nr,
		.vnc = rank->number,
	};
	unsigned int i, told = 0;
	nrta_seq_t request;

	if (rank->group < 0)
		return;
	comm.replica_group = &groups->rank[(unsigned int)rank->group * groups->size];
	rank->begin = now_ns();
	for (i = 0; i < ranks->count && rank_goes_on(rank); i++) {
		operate(rank, &comm, &request);
		rank->ends[i] = now_ns();
		if (rank->requests)
			rank->requests[i] = request;
		if (!rank->me && !rank->group)
			atomic_fetch_add(&ranks->done, 1);
		if (rank->requests && i - told >= TIMES_LATER && rank_goes_on(rank))
			get_time(rank, told++);
	}
	while (rank->requests && told < i && rank_goes_on(rank))
		get_time(rank, told++);
}

/* --- Comparing --- */

/* How many of @nr elements are not what they must be; *@first: the first one. */
static uint64_t count_wrong(const uint8_t *got, const uint8_t *wanted, uint64_t nr,
			    unsigned int size, uint64_t *first)
{
	uint64_t i, wrong = 0;

	if (!memcmp(got, wanted, nr * size))
		return 0;
	for (i = nr; i--; ) {
		if (memcmp(got + i * size, wanted + i * size, size)) {
			*first = i;
			wrong++;
		}
	}
	return wrong;
}

/**
 * struct verdict - what a comparison has found
 * @wrong: how many elements
 * @first: the first one
 * @got, @wanted: what it is, and what it must be
 */
struct verdict {
	uint64_t wrong;
	uint64_t first;
	char got[64];
	char wanted[64];
};

/* What the output must be from element @at on; *@nr as of values_output(). */
static const uint8_t *wanted_at(const struct rank *rank, uint64_t at, uint64_t *nr)
{
	const struct ranks *ranks = rank->ranks;
	const struct values *values = ranks->values[rank->group];
	uint64_t most = values_chunk(values) / ranks->of.type->size;
	const uint8_t *golden;

	if (!golden_output(ranks->golden[rank->group], rank->me))
		return values_output(values, rank->me, ranks->size.shape.block, at, nr);
	golden = golden_output(ranks->golden[rank->group], rank->me);
	if (*nr > most)
		*nr = most;
	return golden + at * ranks->of.type->size;
}

static void compare_chunk(struct rank *rank, uint8_t *buffer, uint64_t at, uint64_t *nr,
			  struct verdict *verdict)
{
	const struct ranks *ranks = rank->ranks;
	const struct type *type = ranks->of.type;
	uint64_t first = 0, wrong;
	const uint8_t *wanted;

	wanted = wanted_at(rank, at, nr);
	rank_check(rank, "reading its output",
		   nrt_tensor_read(rank->output, buffer, at * type->size, *nr * type->size));
	if (rank->end)
		return;
	wrong = count_wrong(buffer, wanted, *nr, type->size, &first);
	if (wrong && !verdict->wrong) {
		verdict->first = at + first;
		values_describe(type, buffer + first * type->size, verdict->got,
				sizeof(verdict->got));
		values_describe(type, wanted + first * type->size, verdict->wanted,
				sizeof(verdict->wanted));
	}
	verdict->wrong += wrong;
}

void rank_compare(struct rank *rank)
{
	const struct ranks *ranks = rank->ranks;
	uint64_t all = ranks->size.shape.output / ranks->of.type->size, at, nr;
	struct verdict verdict = { 0 };
	uint8_t *buffer;

	if (rank->group < 0)
		return;
	/* A chunk is never longer than a period. */
	buffer = malloc(values_chunk(ranks->values[rank->group]));
	if (!buffer)
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
	for (at = 0; at < all && rank_goes_on(rank); at += nr) {
		nr = all - at;
		compare_chunk(rank, buffer, at, &nr, &verdict);
	}
	free(buffer);
	if (verdict.wrong)
		rank_fail(rank, RANKS_WRONG,
			  "rank %u: element %llu is %s, expected %s; %llu of %llu elements are wrong",
			  rank->number, (unsigned long long)verdict.first, verdict.got,
			  verdict.wanted, (unsigned long long)verdict.wrong,
			  (unsigned long long)all);
	compare_metadata(rank);
}

/* --- Results that values.h does not know --- */

/* All bytes of the inputs of a group, @input of each rank. */
static void fill_inputs(const struct ranks *ranks, const struct values *values, uint8_t **input)
{
	uint64_t all = ranks->size.shape.input / ranks->of.type->size, at, nr;
	unsigned int size = ranks->of.type->size, me;
	const uint8_t *bytes;

	for (me = 0; me < ranks->of.groups->size; me++) {
		for (at = 0; at < all; at += nr) {
			nr = all - at;
			bytes = values_input(values, me, at, &nr);
			memcpy(input[me] + at * size, bytes, nr * size);
		}
	}
}

/* Of all ranks of a group. NULL: out of memory. */
static uint32_t **take_metadata(const struct ranks *ranks)
{
	unsigned int n = ranks->of.groups->size, me;
	uint32_t **all = calloc(n, sizeof(*all));

	for (me = 0; all && me < n; me++)
		all[me] = metadata_of(ranks, me);
	return all;
}

static void give_metadata(const struct ranks *ranks, uint32_t **all)
{
	unsigned int me;

	for (me = 0; all && me < ranks->of.groups->size; me++)
		free(all[me]);
	free(all);
}

static bool is_there(const struct ranks *ranks, uint32_t *const *all)
{
	unsigned int me;

	for (me = 0; all && me < ranks->of.groups->size; me++)
		if (!all[me])
			return false;
	return all;
}

static int reduce_group(struct ranks *ranks, unsigned int group, struct nrt_error *error)
{
	unsigned int n = ranks->of.groups->size, me;
	uint8_t **input = calloc(n, sizeof(*input));
	uint8_t *room = malloc(n * ranks->size.shape.input);
	uint32_t **meta = take_metadata(ranks);
	int ret = -1;

	nrt_error_memory(error);
	if (input && room && is_there(ranks, meta)) {
		for (me = 0; me < n; me++)
			input[me] = room + me * ranks->size.shape.input;
		fill_inputs(ranks, ranks->values[group], input);
		ret = golden_reduce(ranks->golden[group], (const uint8_t *const *)input,
				    (const uint32_t *const *)meta, &ranks->stop, error);
	}
	give_metadata(ranks, meta);
	free(room);
	free(input);
	return ret;
}

void rank_reduce(struct rank *rank)
{
	struct nrt_error error;

	/* The first rank of each group does it for all. */
	if (rank->group < 0 || rank->me ||
	    (!values_round(rank->ranks->values[rank->group]) &&
	     !rank->ranks->of.operation->varies))
		return;
	if (reduce_group(rank->ranks, (unsigned int)rank->group, &error))
		rank_fail(rank, RANKS_FAILED, "rank %u: the expected results: %s", rank->number,
			  error.text);
}
