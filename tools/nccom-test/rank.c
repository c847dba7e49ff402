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
	const struct groups *groups = rank->ranks->lane[0].of->groups;

	if (!rank->idle)
		rank_check(rank, "meeting the others for device times",
			   nrt_emu_join_group_times(rank->number, groups->rank,
						    groups->nr * groups->size));
}

static void give_part(struct part *part, unsigned int buffers)
{
	unsigned int i;

	for (i = 0; part->input && i < buffers; i++)
		if (part->input[i])
			nrt_tensor_free(&part->input[i]);
	for (i = 0; part->output && i < buffers; i++)
		if (part->output[i])
			nrt_tensor_free(&part->output[i]);
	if (part->metadata)
		nrt_tensor_free(&part->metadata);
	free(part->input);
	free(part->output);
	part->input = NULL;
	part->output = NULL;
}

void rank_give_tensors(struct rank *rank)
{
	unsigned int i;

	for (i = 0; i < rank->ranks->of.nr_ops; i++)
		give_part(&rank->part[i], rank->ranks->size.buffers);
}

/* --- Metadata --- */

static size_t metadata_bytes(const struct part *part)
{
	const struct metadata *metadata = part->lane->of->metadata;

	return (size_t)metadata_rows(metadata) * metadata->size * sizeof(uint32_t);
}

/* All rows, as they are at the end. The caller frees them. */
static uint32_t *metadata_of(const struct lane *lane, unsigned int me)
{
	const struct metadata *metadata = lane->of->metadata;
	uint32_t *words = calloc((size_t)NRT_PLAN_NR_ROWS * metadata->size, sizeof(*words));
	unsigned int row, i;

	for (row = 0; words && row < NRT_PLAN_NR_ROWS; row++)
		for (i = 0; i < metadata->size; i++)
			words[row * metadata->size + i] =
				(uint32_t)metadata_at(metadata, lane->of->operation,
						      lane->shape.block, me, row, i);
	return words;
}

/* What the operation counts itself is not there yet. */
static void write_metadata(struct part *part)
{
	const struct ranks_op *of = part->lane->of;
	unsigned int n = of->metadata->size;
	struct rank *rank = part->rank;
	uint32_t *words;

	if (!of->operation->varies || rank->end)
		return;
	words = metadata_of(part->lane, part->me);
	if (!words) {
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
		return;
	}
	if (!of->operation->reduces)
		memset(&words[NRT_PLAN_RECV_COUNTS * n], VALUES_UNWRITTEN, n * sizeof(*words));
	rank_check(rank, "writing its metadata",
		   nrt_tensor_write(part->metadata, words, 0, metadata_bytes(part)));
	free(words);
}

static void compare_words(struct part *part, const uint32_t *got, const uint32_t *wanted)
{
	static const char *const rows[NRT_PLAN_NR_ROWS] = {
		"send_counts", "send_displs", "recv_counts", "recv_displs",
	};
	unsigned int n = part->lane->of->metadata->size, i;

	for (i = 0; i < metadata_bytes(part) / sizeof(*got); i++) {
		if (got[i] == wanted[i])
			continue;
		rank_fail(part->rank, RANKS_WRONG,
			  "rank %u: %s[%u] of its metadata is %u, expected %u", part->rank->number,
			  rows[i / n], i % n, got[i], wanted[i]);
		return;
	}
}

static void compare_metadata(struct part *part)
{
	struct rank *rank = part->rank;
	uint32_t *wanted, *got;

	if (!part->lane->of->operation->varies || rank->end)
		return;
	wanted = metadata_of(part->lane, part->me);
	got = malloc(metadata_bytes(part));
	if (!wanted || !got)
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
	else
		rank_check(rank, "reading its metadata",
			   nrt_tensor_read(part->metadata, got, 0, metadata_bytes(part)));
	if (!rank->end)
		compare_words(part, got, wanted);
	free(got);
	free(wanted);
}

/* --- Tensors and models --- */

static void take_tensor(struct rank *rank, const char *name, size_t bytes, nrt_tensor_t **tensor)
{
	char what[32];

	snprintf(what, sizeof(what), "memory for its %s", name);
	if (!rank->end)
		rank_check(rank, what,
			   nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->number,
					       bytes, name, tensor));
}

static void write_input(struct part *part, nrt_tensor_t *tensor)
{
	const struct lane *lane = part->lane;
	const unsigned int size = lane->of->type->size;
	uint64_t at, nr, all = lane->shape.input / size;
	const uint8_t *bytes;

	for (at = 0; at < all && rank_goes_on(part->rank); at += nr) {
		nr = all - at;
		bytes = values_input(lane->values[part->group], part->me, at, &nr);
		rank_check(part->rank, "writing its input",
			   nrt_tensor_write(tensor, bytes, at * size, nr * size));
	}
}

static void take_part(struct part *part)
{
	const unsigned int buffers = part->rank->ranks->size.buffers;
	const struct lane *lane = part->lane;
	struct rank *rank = part->rank;
	unsigned int i;

	part->input = calloc(buffers, sizeof(*part->input));
	part->output = calloc(buffers, sizeof(*part->output));
	if (!part->input || !part->output) {
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
		return;
	}
	for (i = 0; i < buffers && rank_goes_on(rank); i++) {
		take_tensor(rank, "input", lane->shape.input, &part->input[i]);
		if (part->owner == part)
			take_tensor(rank, "output", lane->shape.output, &part->output[i]);
	}
	if (lane->of->operation->varies)
		take_tensor(rank, "metadata", metadata_bytes(part), &part->metadata);
	for (i = 0; i < buffers && rank_goes_on(rank); i++)
		write_input(part, part->input[i]);
}

void rank_take_tensors(struct rank *rank)
{
	unsigned int i;

	for (i = 0; i < rank->ranks->of.nr_ops && !rank->idle; i++)
		take_part(&rank->part[i]);
}

/* Names of the tensors of buffer @b. */
static NRT_STATUS name_tensors(struct rank *rank, unsigned int b)
{
	NRT_STATUS status = nrt_allocate_tensor_set(&rank->inputs[b]) ?:
			    nrt_allocate_tensor_set(&rank->outputs[b]);
	char name[NEFF_NAME];
	struct part *part;
	unsigned int i;

	for (i = 0; i < rank->ranks->of.nr_ops && !status; i++) {
		part = &rank->part[i];
		neff_name(name, "input", i);
		status = nrt_add_tensor_to_tensor_set(rank->inputs[b], name, part->input[b]);
		neff_name(name, "output", i);
		if (!status)
			status = nrt_add_tensor_to_tensor_set(rank->outputs[b], name,
							      part->owner->output[b]);
		neff_name(name, "metadata", i);
		if (!status && part->metadata)
			status = nrt_add_tensor_to_tensor_set(rank->outputs[b], name,
							      part->metadata);
	}
	return status;
}

void rank_load(struct rank *rank)
{
	const struct ranks *ranks = rank->ranks;
	unsigned int i;

	if (rank->idle || !ranks->neff.bytes)
		return;
	rank->inputs = calloc(ranks->size.buffers, sizeof(rank->inputs[0]));
	rank->outputs = calloc(ranks->size.buffers, sizeof(rank->outputs[0]));
	if (!rank->inputs || !rank->outputs)
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
	else
		rank_check(rank, "loading its NEFF",
			   nrt_load_collectives(ranks->neff.bytes, ranks->neff.size,
						(int)rank->number, -1, rank->number, ranks->of.nr,
						&rank->model));
	for (i = 0; i < ranks->size.buffers && rank_goes_on(rank); i++)
		rank_check(rank, "naming its tensors", name_tensors(rank, i));
}

void rank_unload(struct rank *rank)
{
	unsigned int i;

	if (rank->model)
		nrt_unload(rank->model);
	for (i = 0; i < rank->ranks->size.buffers; i++) {
		if (rank->inputs && rank->inputs[i])
			nrt_destroy_tensor_set(&rank->inputs[i]);
		if (rank->outputs && rank->outputs[i])
			nrt_destroy_tensor_set(&rank->outputs[i]);
	}
	free(rank->inputs);
	free(rank->outputs);
	rank->inputs = NULL;
	rank->outputs = NULL;
	rank->model = NULL;
}

void rank_spoil_output(struct rank *rank)
{
	const unsigned int buffers = rank->ranks->size.buffers;
	struct part *part;
	unsigned int i, b;

	for (i = 0; i < rank->ranks->of.nr_ops && !rank->idle; i++) {
		part = &rank->part[i];
		for (b = 0; b < buffers && part->owner == part && rank_goes_on(rank); b++)
			rank_check(rank, "writing its output",
				   nrt_tensor_memset(part->output[b], 0, VALUES_UNWRITTEN,
						     part->lane->shape.output));
		write_metadata(part);
	}
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

/* What is under way. */
static const char *name_of(const struct rank *rank)
{
	const struct ranks *ranks = rank->ranks;

	return ranks->of.nr_ops > 1 ? "the streams" : ranks->lane[0].of->operation->name;
}

static void check_tracker(struct rank *rank)
{
	const nrta_error_t *list;
	size_t nr = 0;

	rank_check(rank, name_of(rank), nrta_error_tracker_get_list(rank->tracker, &list, &nr));
	if (nr)
		rank_check(rank, name_of(rank), (NRT_STATUS)list[0].error_code);
}

/* Schedule an operation that the host interface has, with buffer @b. */
static void schedule_cc(struct rank *rank, nrt_cc_comm_t *comm, unsigned int b, nrta_seq_t *seq)
{
	struct part *part = &rank->part[0];
	const struct ranks_op *of = part->lane->of;
	nrt_tensor_list_t input = { &part->input[b], 1 };
	nrt_tensor_list_t output = { &part->output[b], 1 };
	nrt_cc_context_t *context;

	rank_check(rank, name_of(rank),
		   nrta_cc_prepare(comm, &input, &output, of->type->dtype, of->reduction->op,
				   of->operation->cc_op, &context));
	if (!rank->end)
		rank_check(rank, name_of(rank),
			   nrta_cc_schedule(&context, 0, rank->tracker, seq));
}

/* *@request is that of the operation with buffer @b. */
static void operate(struct rank *rank, nrt_cc_comm_t *comm, unsigned int b, nrta_seq_t *request)
{
	nrta_seq_t seq = 0;

	if (rank->model)
		rank_check(rank, name_of(rank),
			   nrta_execute_schedule(rank->model, rank->inputs[b], rank->outputs[b], 0,
						 rank->tracker, &seq));
	else
		schedule_cc(rank, comm, b, &seq);
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
	const struct groups *groups = ranks->lane[0].of->groups;
	struct part *part = &rank->part[0];
	nrt_cc_comm_t comm = {
		.rank = part->me,
		.rank_n = groups->size,
		.ctx_device_id = rank->number,
		.ctx_device_count = ranks->of.nr,
		.vnc = rank->number,
	};
	unsigned int i, told = 0;
	nrta_seq_t request;

	if (rank->idle)
		return;
	comm.replica_group = &groups->rank[(unsigned int)part->group * groups->size];
	rank->begin = now_ns();
	for (i = 0; i < ranks->count && rank_goes_on(rank); i++) {
		operate(rank, &comm, (ranks->first + i) % ranks->size.buffers, &request);
		rank->ends[i] = now_ns();
		if (rank->requests)
			rank->requests[i] = request;
		if (!part->me && !part->group)
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
static const uint8_t *wanted_at(const struct part *part, uint64_t at, uint64_t *nr)
{
	const struct lane *lane = part->lane;
	const struct values *values = lane->values[part->group];
	uint64_t most = values_chunk(values) / lane->of->type->size;
	const uint8_t *golden = golden_output(lane->golden[part->group], part->me);

	if (!golden)
		return values_output(values, part->me, lane->shape.block, at, nr);
	if (*nr > most)
		*nr = most;
	return golden + at * lane->of->type->size;
}

static void compare_chunk(struct part *part, nrt_tensor_t *tensor, uint8_t *buffer, uint64_t at,
			  uint64_t *nr, struct verdict *verdict)
{
	const struct type *type = part->lane->of->type;
	uint64_t first = 0, wrong;
	const uint8_t *wanted;

	wanted = wanted_at(part, at, nr);
	rank_check(part->rank, "reading its output",
		   nrt_tensor_read(tensor, buffer, at * type->size, *nr * type->size));
	if (part->rank->end)
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

/* " on stream 1", if there are several. */
static void name_stream(const struct part *part, char text[32])
{
	*text = '\0';
	if (part->rank->ranks->of.nr_ops > 1)
		snprintf(text, 32, " on stream %u", part->lane->stream);
}

/* Output @b. @buffer has room for a period. */
static void compare_output(struct part *part, unsigned int b, uint8_t *buffer)
{
	uint64_t all = part->lane->shape.output / part->lane->of->type->size, at, nr;
	struct verdict verdict = { 0 };
	struct rank *rank = part->rank;
	char stream[32];

	for (at = 0; at < all && rank_goes_on(rank); at += nr) {
		nr = all - at;
		compare_chunk(part, part->owner->output[b], buffer, at, &nr, &verdict);
	}
	if (!verdict.wrong)
		return;
	name_stream(part, stream);
	rank_fail(rank, RANKS_WRONG,
		  "rank %u%s: element %llu is %s, expected %s; %llu of %llu elements are wrong",
		  rank->number, stream, (unsigned long long)verdict.first, verdict.got,
		  verdict.wanted, (unsigned long long)verdict.wrong, (unsigned long long)all);
}

/* The first operations of a run, and with them all tensors, if there are so many operations. */
static unsigned int compared(const struct ranks *ranks, unsigned int b)
{
	return (ranks->first + b) % ranks->size.buffers;
}

void rank_compare(struct rank *rank)
{
	const struct ranks *ranks = rank->ranks;
	struct part *part;
	uint8_t *buffer;
	unsigned int i, b;

	for (i = 0; i < ranks->of.nr_ops && !rank->idle && rank_goes_on(rank); i++) {
		part = &rank->part[i];
		/* A chunk is never longer than a period. */
		buffer = malloc(values_chunk(part->lane->values[part->group]));
		if (!buffer)
			rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
		for (b = 0; b < ranks->size.buffers && b < ranks->count && rank_goes_on(rank); b++)
			compare_output(part, compared(ranks, b), buffer);
		free(buffer);
		compare_metadata(part);
	}
}

/* --- Results that values.h does not know --- */

/* All bytes of the inputs of a group, @input of each rank. */
static void fill_inputs(const struct lane *lane, const struct values *values, uint8_t **input)
{
	uint64_t all = lane->shape.input / lane->of->type->size, at, nr;
	unsigned int size = lane->of->type->size, me;
	const uint8_t *bytes;

	for (me = 0; me < lane->of->groups->size; me++) {
		for (at = 0; at < all; at += nr) {
			nr = all - at;
			bytes = values_input(values, me, at, &nr);
			memcpy(input[me] + at * size, bytes, nr * size);
		}
	}
}

/* Of all ranks of a group. NULL: out of memory. */
static uint32_t **take_metadata(const struct lane *lane)
{
	unsigned int n = lane->of->groups->size, me;
	uint32_t **all = calloc(n, sizeof(*all));

	for (me = 0; all && me < n; me++)
		all[me] = metadata_of(lane, me);
	return all;
}

static void give_metadata(const struct lane *lane, uint32_t **all)
{
	unsigned int me;

	for (me = 0; all && me < lane->of->groups->size; me++)
		free(all[me]);
	free(all);
}

static bool is_there(const struct lane *lane, uint32_t *const *all)
{
	unsigned int me;

	for (me = 0; all && me < lane->of->groups->size; me++)
		if (!all[me])
			return false;
	return all;
}

static int reduce_group(const struct lane *lane, unsigned int group, const atomic_bool *stop,
			struct nrt_error *error)
{
	unsigned int n = lane->of->groups->size, me;
	uint8_t **input = calloc(n, sizeof(*input));
	uint8_t *room = malloc(n * lane->shape.input);
	uint32_t **meta = take_metadata(lane);
	int ret = -1;

	nrt_error_memory(error);
	if (input && room && is_there(lane, meta)) {
		for (me = 0; me < n; me++)
			input[me] = room + me * lane->shape.input;
		fill_inputs(lane, lane->values[group], input);
		ret = golden_reduce(lane->golden[group], (const uint8_t *const *)input,
				    (const uint32_t *const *)meta, stop, error);
	}
	give_metadata(lane, meta);
	free(room);
	free(input);
	return ret;
}

static void reduce_part(struct part *part)
{
	const struct lane *lane = part->lane;
	struct nrt_error error;

	/* The first rank of each group does it for all. */
	if (part->me || (!values_round(lane->values[part->group]) && !lane->of->operation->varies))
		return;
	if (reduce_group(lane, (unsigned int)part->group, &part->rank->ranks->stop, &error))
		rank_fail(part->rank, RANKS_FAILED, "rank %u: the expected results: %s",
			  part->rank->number, error.text);
}

void rank_reduce(struct rank *rank)
{
	unsigned int i;

	for (i = 0; i < rank->ranks->of.nr_ops && !rank->idle; i++)
		reduce_part(&rank->part[i]);
}
