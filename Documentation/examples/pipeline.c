// SPDX-License-Identifier: MIT
/*
 * A pipeline with the asynchronous calls: while the core executes for one item, the next input
 * is written and the last output is read.
 *
 *   pipeline NEFF [ITEMS]
 *
 * The model has one input and one output of fp32 numbers of the same size, such as scale.neff. Each
 * number of item k is k. The first number of each output is printed, in the order of the items.
 * scale.neff is for one physical core: it needs NEURON_LOGICAL_NC_CONFIG=1 on Trainium2 and 3.
 *
 * An item goes through three requests: write, execute, read. The public runtime promises no order
 * between requests of different queues, so each is scheduled when the one before it has ended. A
 * slot has the tensors and the buffers of an item that is on its way.
 *
 *   cc pipeline.c -o pipeline $(pkg-config --cflags --libs libnrt)
 */
/* The public nrt_async.h needs its static_assert(). */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nrt/nrt.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>

#define SLOTS		4
#define DEFAULT_ITEMS	16

enum step { IDLE, WRITING, EXECUTING, READING };

/**
 * struct slot - an item on its way
 * @step: its request
 * @fd: becomes readable when the request has ended; -1 without one
 * @in, @out: its tensors
 * @inputs, @outputs: the sets that they are in
 * @buffer: its numbers: first those that are written, then those that were read
 */
struct slot {
	enum step step;
	int fd;
	nrt_tensor_t *in;
	nrt_tensor_t *out;
	nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
	float *buffer;
};

/**
 * struct pipeline - all of it
 * @model: what is executed
 * @errors: hears of requests that failed
 * @size: bytes of an input or output
 * @slots: items on their way; item k is in slot k modulo SLOTS
 */
struct pipeline {
	nrt_model_t *model;
	nrta_error_tracker_t *errors;
	size_t size;
	struct slot slots[SLOTS];
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "pipeline: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static void check(const char *call, NRT_STATUS status)
{
	if (status != NRT_SUCCESS)
		fail(call, nrt_get_status_as_str(status));
}

static void load(struct pipeline *pipeline, const char *path)
{
	static char neff[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file)
		fail(path, strerror(errno));
	size = fread(neff, 1, sizeof(neff), file);
	if (ferror(file) || size == sizeof(neff))
		fail(path, "cannot be read, or is larger than 1 MiB");
	fclose(file);
	check("nrt_load", nrt_load(neff, size, 0, -1, &pipeline->model));
}

static void make_tensor(const nrt_tensor_info_t *info, nrt_tensor_set_t **set,
			nrt_tensor_t **tensor)
{
	check("nrt_tensor_allocate", nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
							 info->size, info->name, tensor));
	check("nrt_allocate_tensor_set", nrt_allocate_tensor_set(set));
	check("nrt_add_tensor_to_tensor_set",
	      nrt_add_tensor_to_tensor_set(*set, info->name, *tensor));
}

static void make_slots(struct pipeline *pipeline)
{
	const nrt_tensor_info_t *in, *out;
	nrt_tensor_info_array_t *infos;
	unsigned int i;

	check("nrt_get_model_tensor_info", nrt_get_model_tensor_info(pipeline->model, &infos));
	in = &infos->tensor_array[0];
	out = &infos->tensor_array[1];
	if (infos->tensor_count != 2 || in->usage != NRT_TENSOR_USAGE_INPUT ||
	    out->usage != NRT_TENSOR_USAGE_OUTPUT || in->dtype != NRT_DTYPE_FLOAT32 ||
	    in->size != out->size)
		fail("the model", "must have an fp32 input and an output of the same size");
	pipeline->size = in->size;
	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = &pipeline->slots[i];

		slot->fd = -1;
		slot->buffer = malloc(in->size);
		if (!slot->buffer)
			fail("malloc", strerror(errno));
		make_tensor(in, &slot->inputs, &slot->in);
		make_tensor(out, &slot->outputs, &slot->out);
	}
	nrt_free_model_tensor_info(infos);
}

static void free_slots(struct pipeline *pipeline)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		struct slot *slot = &pipeline->slots[i];

		nrt_destroy_tensor_set(&slot->inputs);
		nrt_destroy_tensor_set(&slot->outputs);
		nrt_tensor_free(&slot->in);
		nrt_tensor_free(&slot->out);
		free(slot->buffer);
	}
}

/* Schedule the request of a step. A slot has one request, so no queue is ever full. */
static void schedule(struct pipeline *pipeline, struct slot *slot, enum step step)
{
	nrta_seq_t seq = 0;

	slot->step = step;
	if (step == WRITING)
		check("nrta_tensor_write",
		      nrta_tensor_write(slot->in, slot->buffer, 0, pipeline->size, 0,
					pipeline->errors, &seq));
	else if (step == EXECUTING)
		check("nrta_execute_schedule",
		      nrta_execute_schedule(pipeline->model, slot->inputs, slot->outputs, 0,
					    pipeline->errors, &seq));
	else
		check("nrta_tensor_read",
		      nrta_tensor_read(slot->buffer, slot->out, 0, pipeline->size, 0,
				       pipeline->errors, &seq));
	check("nrta_get_completion_handle", nrta_get_completion_handle(seq, &slot->fd));
}

static void start(struct pipeline *pipeline, unsigned int item)
{
	struct slot *slot = &pipeline->slots[item % SLOTS];
	size_t i;

	for (i = 0; i < pipeline->size / sizeof(float); i++)
		slot->buffer[i] = (float)item;
	schedule(pipeline, slot, WRITING);
}

/* A request that failed is in the list before it counts as ended. */
static void check_errors(const struct pipeline *pipeline)
{
	const nrta_error_t *list;
	size_t count;

	check("nrta_error_tracker_get_list",
	      nrta_error_tracker_get_list(pipeline->errors, &list, &count));
	if (count)
		fail("a request", nrt_get_status_as_str((NRT_STATUS)list[0].error_code));
}

/* The request of a slot has ended: on to the next step. */
static void advance(struct pipeline *pipeline, struct slot *slot)
{
	close(slot->fd);
	slot->fd = -1;
	check_errors(pipeline);
	if (slot->step == WRITING)
		schedule(pipeline, slot, EXECUTING);
	else if (slot->step == EXECUTING)
		schedule(pipeline, slot, READING);
	else
		slot->step = IDLE;
}

/* Wait until a request has ended, and go on wherever one has. */
static void wait_any(struct pipeline *pipeline)
{
	struct pollfd fds[SLOTS];
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		fds[i].fd = pipeline->slots[i].fd;	/* -1 is left out */
		fds[i].events = POLLIN;
		fds[i].revents = 0;
	}
	if (poll(fds, SLOTS, -1) < 0 && errno != EINTR)
		fail("poll", strerror(errno));
	for (i = 0; i < SLOTS; i++)
		if (fds[i].revents)
			advance(pipeline, &pipeline->slots[i]);
}

static void run(struct pipeline *pipeline, unsigned int items)
{
	unsigned int next = 0, done;

	for (done = 0; done < items; done++) {
		struct slot *slot = &pipeline->slots[done % SLOTS];

		while (next < items && next < done + SLOTS)
			start(pipeline, next++);
		while (slot->step != IDLE)
			wait_any(pipeline);
		printf("item %u: %g\n", done, slot->buffer[0]);
	}
}

int main(int argc, char **argv)
{
	struct pipeline pipeline = { 0 };

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: pipeline NEFF [ITEMS]\n");
		return 2;
	}
	check("nrt_init", nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	load(&pipeline, argv[1]);
	make_slots(&pipeline);
	check("nrta_error_tracker_create", nrta_error_tracker_create(0, &pipeline.errors));
	run(&pipeline, argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : DEFAULT_ITEMS);
	nrta_error_tracker_destroy(pipeline.errors);
	free_slots(&pipeline);
	check("nrt_unload", nrt_unload(pipeline.model));
	nrt_close();
	return 0;
}
