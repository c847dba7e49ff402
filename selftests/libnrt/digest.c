// SPDX-License-Identifier: MIT
/*
 * nrt-digest: execute models, and print for each execution what it gave and when in device time
 * the device did what. Both are the same on every chip of a generation, whoever runs it and
 * wherever the memory lies. selftests/vm/test_same.py compares what the back ends say.
 *
 * A line is: model and rank, layout of its tensors, execution, digest of the outputs, nanoseconds
 * from the end of the execution before, nanoseconds that it took, instructions, bytes by DMA,
 * number of events, digest of the events, flags. Of an execution that fails it has the status
 * alone: how far the other engines have got depends on the host.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt.h>
#include <nrt/nrt_emu.h>
#include <nrt/nrt_experimental.h>

#include "neuron_kernels.h"
#include "programs.h"

#define PAGE		4096u
#define RUNS		3
#define MAX_TENSORS	4
#define MAX_RANKS	4
#define MAX_EVENTS	65536
/* Pages that are left of a stack of HBM, no two of which are neighbours. */
#define HOLES		4096
#define LARGEST		(256ull << 20)
/* Where a slice begins: on no page and on no line of 64 bytes. */
#define ODD		2052u

/**
 * enum layout - where the memory of tensors is
 * @DEVICE: in HBM, each by itself
 * @SLICE: in HBM, from byte ODD of something larger on
 * @HOST: memory of the host, on pages that others have left
 * @VIRTUAL: memory of the process, which is copied
 * @PIECES: in HBM that has no two free pages side by side, like all that the model itself needs
 */
enum layout { DEVICE, SLICE, HOST, VIRTUAL, PIECES, NR_LAYOUTS };

static const char *const layouts[] = { "device", "slice", "host", "virtual", "pieces" };

/**
 * struct kind - a model
 * @name: for the lines
 * @make: one that runs alone
 * @make_rank: or one of so many ranks
 * @ranks: how many
 * @apart: they are on all chips of the machine, not on the first cores
 * @lnc: physical cores that it is made for; 0: any
 * @large: there must be more memory than PIECES leaves
 */
struct kind {
	const char *name;
	struct program (*make)(void);
	struct program (*make_rank)(unsigned int ranks);
	unsigned int ranks;
	bool apart;
	unsigned int lnc;
	bool large;
};

/**
 * struct rank - a loaded model with its tensors
 * @kind: what
 * @number: which rank
 * @core: where
 * @layout: of its tensors
 * @inputs, @outputs: their sets
 * @tensors, @whole, @nr: the tensors; those that @tensors are slices of, or NULL
 * @is_output: which of them
 * @text: the lines about it
 */
struct rank {
	const struct kind *kind;
	unsigned int number;
	int core;
	enum layout layout;
	nrt_model_t *model;
	nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
	nrt_tensor_t *tensors[MAX_TENSORS];
	nrt_tensor_t *whole[MAX_TENSORS];
	bool is_output[MAX_TENSORS];
	unsigned int nr;
	uint64_t last_end;
	char text[RUNS * 256];
};

static void must(NRT_STATUS status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "nrt-digest: %s: %s\n", what, nrt_get_status_as_str(status));
	exit(1);
}

static void *must_have(void *memory)
{
	if (!memory)
		must(NRT_RESOURCE, "malloc");
	return memory;
}

/* --- Models of more than a page, beside those of programs.h --- */

static struct program pack(struct nb_program *nb)
{
	const char *lnc = getenv("NEURON_LOGICAL_NC_CONFIG");
	struct program program;

	if (lnc && !strcmp(lnc, "2"))
		nb_second(nb);
	if (nb_pack(nb, &program.data, &program.size)) {
		fprintf(stderr, "nrt-digest: %s\n", nb_error(nb));
		exit(1);
	}
	nb_free(nb);
	return program;
}

/* A variable of @rows x @cols, which is the output or an input. */
static struct nk_tensor tensor(struct nb_program *nb, const char *name, uint32_t rows,
			       uint32_t cols)
{
	const uint32_t shape[] = { rows, cols };
	int var = strcmp(name, "y") ? nb_input(nb, name, NEURON_DTYPE_FP32, 2, shape) :
				      nb_output(nb, name, NEURON_DTYPE_FP32, 2, shape);

	return nk_tensor(var, NEURON_DTYPE_FP32, rows, cols);
}

static struct program softmax(void)
{
	struct nb_program *nb = must_have(nb_new("softmax"));
	struct nk_tensor x, y;
	struct nk nk;

	nk_begin(&nk, nb);
	x = tensor(nb, "x", 200, 700);
	y = tensor(nb, "y", 200, 700);
	nk_softmax(&nk, y, x);
	return pack(nb);
}

static struct program product(void)
{
	struct nb_program *nb = must_have(nb_new("product"));
	struct nk_tensor a, b, y;
	struct nk nk;

	nk_begin(&nk, nb);
	a = tensor(nb, "a", 96, 200);
	b = tensor(nb, "b", 200, 600);
	y = tensor(nb, "y", 96, 600);
	nk_gemm(&nk, y, a, b, 0);
	return pack(nb);
}

static struct program turned(void)
{
	struct nb_program *nb = must_have(nb_new("turned"));
	struct nk_tensor x, y;
	struct nk nk;

	nk_begin(&nk, nb);
	x = tensor(nb, "x", 150, 300);
	y = tensor(nb, "y", 300, 150);
	nk_transpose(&nk, y, x);
	return pack(nb);
}

/* All of it by DMA, by sixteen queues. */
static struct program moved(void)
{
	const uint32_t shape[] = { 300, 1000 }, bytes = 300 * 1000 * 4;
	struct nb_program *nb = must_have(nb_new("moved"));
	int x = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, shape);
	int y = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, shape);
	int queue = nb_queue(nb, "q", "in", NEURON_ENGINE_SYNC, 16);

	nb_dma(nb, queue, nb_linear(y, 0, bytes), nb_linear(x, 0, bytes), -1);
	nb_halt(nb, NEURON_ENGINE_SYNC);
	return pack(nb);
}

static struct program scale_of_one(void)
{
	return program_scale(1);
}

static struct program scale_of_many(void)
{
	return program_scale(4);
}

static struct program notices(void)
{
	return program_notices(9);
}

static const struct kind kinds[] = {
	{ .name = "scale", .make = scale_of_one },
	{ .name = "scale4", .make = scale_of_many },
	{ .name = "transpose", .make = program_transpose },
	{ .name = "constant", .make = program_constant },
	{ .name = "matmul", .make = program_matmul },
	{ .name = "print", .make = program_print },
	{ .name = "notices", .make = notices },
	{ .name = "scratch", .make = program_scratch, .large = true },
	{ .name = "softmax", .make = softmax },
	{ .name = "product", .make = product },
	{ .name = "turned", .make = turned },
	{ .name = "moved", .make = moved },
	{ .name = "exchange", .make = program_exchange, .lnc = 2 },
	{ .name = "pair", .make = program_pair, .lnc = 2 },
	{ .name = "sum", .make_rank = program_one_collective, .ranks = 2 },
	{ .name = "turn", .make_rank = program_collectives, .ranks = 4 },
	{ .name = "far", .make_rank = program_collectives, .ranks = 2, .apart = true },
	{ .name = "opcode", .make = program_bad_opcode },
	{ .name = "bounds", .make = program_out_of_bounds },
	{ .name = "rights", .make = program_read_only },
	{ .name = "end", .make = program_no_halt },
};

/* --- Memory --- */

/* One of the stack, or of the host; NULL: there is no room. */
static nrt_tensor_t *piece(nrt_tensor_placement_t placement, size_t size)
{
	nrt_tensor_t *tensor;

	return nrt_tensor_allocate(placement, 0, size, "piece", &tensor) ? NULL : tensor;
}

/* What keeps memory in pieces. */
struct filler {
	nrt_tensor_t *small[2 * HOLES];
	nrt_tensor_t *rest[256];
	unsigned int nr_rest;
};

/* So many pages, of which each second one is free again. */
static void make_holes(struct filler *filler, nrt_tensor_placement_t placement)
{
	unsigned int i;

	for (i = 0; i < 2 * HOLES; i++)
		filler->small[i] = must_have(piece(placement, PAGE));
}

static void open_holes(struct filler *filler)
{
	unsigned int i;

	for (i = 0; i < 2 * HOLES; i += 2)
		nrt_tensor_free(&filler->small[i]);
}

/* All else of the stack of core 0. */
static void fill(struct filler *filler)
{
	size_t size = LARGEST;
	nrt_tensor_t *tensor;

	while (size >= PAGE && filler->nr_rest < sizeof(filler->rest) / sizeof(filler->rest[0])) {
		tensor = piece(NRT_TENSOR_PLACEMENT_DEVICE, size);
		if (tensor)
			filler->rest[filler->nr_rest++] = tensor;
		else
			size /= 2;
	}
	if (size >= PAGE)
		must(NRT_FAILURE, "the stack is larger than nrt-digest can fill");
}

static struct filler *prepare(enum layout layout)
{
	struct filler *filler = must_have(calloc(1, sizeof(*filler)));

	if (layout != HOST && layout != PIECES)
		return filler;
	make_holes(filler, layout == HOST ? NRT_TENSOR_PLACEMENT_HOST :
					    NRT_TENSOR_PLACEMENT_DEVICE);
	if (layout == PIECES)
		fill(filler);
	open_holes(filler);
	return filler;
}

static void clean_up(struct filler *filler)
{
	unsigned int i;

	for (i = 0; i < 2 * HOLES; i++)
		nrt_tensor_free(&filler->small[i]);
	for (i = 0; i < filler->nr_rest; i++)
		nrt_tensor_free(&filler->rest[i]);
	free(filler);
}

/* --- A rank --- */

static void add_tensor(struct rank *rank, const nrt_tensor_info_t *info)
{
	static const nrt_tensor_placement_t placements[] = {
		[DEVICE] = NRT_TENSOR_PLACEMENT_DEVICE, [SLICE] = NRT_TENSOR_PLACEMENT_DEVICE,
		[HOST] = NRT_TENSOR_PLACEMENT_HOST, [VIRTUAL] = NRT_TENSOR_PLACEMENT_VIRTUAL,
		[PIECES] = NRT_TENSOR_PLACEMENT_DEVICE,
	};
	const bool slice = rank->layout == SLICE;
	const bool is_output = info->usage == NRT_TENSOR_USAGE_OUTPUT;
	nrt_tensor_t *all, **tensor = &rank->tensors[rank->nr];

	must(nrt_tensor_allocate(placements[rank->layout], rank->core,
				 info->size + (slice ? 2 * ODD : 0), info->name, &all),
	     "nrt_tensor_allocate");
	*tensor = all;
	if (slice) {
		rank->whole[rank->nr] = all;
		must(nrt_tensor_allocate_slice(all, ODD, info->size, info->name, tensor),
		     "nrt_tensor_allocate_slice");
	}
	rank->is_output[rank->nr++] = is_output;
	must(nrt_add_tensor_to_tensor_set(is_output ? rank->outputs : rank->inputs, info->name,
					  *tensor), "nrt_add_tensor_to_tensor_set");
}

static void load(struct rank *rank)
{
	const struct kind *kind = rank->kind;
	struct program program = kind->make ? kind->make() : kind->make_rank(kind->ranks);
	nrt_tensor_info_array_t *infos;
	uint64_t i;

	if (kind->ranks)
		must(nrt_load_collectives(program.data, program.size, rank->core, 1,
					  rank->number, kind->ranks, &rank->model),
		     "nrt_load_collectives");
	else
		must(nrt_load(program.data, program.size, 0, 1, &rank->model), "nrt_load");
	free(program.data);
	must(nrt_emu_set_trace(rank->model, MAX_EVENTS), "nrt_emu_set_trace");
	must(nrt_allocate_tensor_set(&rank->inputs), "nrt_allocate_tensor_set");
	must(nrt_allocate_tensor_set(&rank->outputs), "nrt_allocate_tensor_set");
	must(nrt_get_model_tensor_info(rank->model, &infos), "nrt_get_model_tensor_info");
	if (infos->tensor_count > MAX_TENSORS)
		must(NRT_FAILURE, "more tensors than nrt-digest has room for");
	for (i = 0; i < infos->tensor_count; i++)
		add_tensor(rank, &infos->tensor_array[i]);
	nrt_free_model_tensor_info(infos);
}

static void unload(struct rank *rank)
{
	unsigned int i;

	must(nrt_unload(rank->model), "nrt_unload");
	nrt_destroy_tensor_set(&rank->inputs);
	nrt_destroy_tensor_set(&rank->outputs);
	for (i = 0; i < rank->nr; i++) {
		nrt_tensor_free(&rank->tensors[i]);
		if (rank->whole[i])
			nrt_tensor_free(&rank->whole[i]);
	}
}

/* FNV-1a. */
static uint64_t digest(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *byte = bytes;

	while (count--)
		hash = (hash ^ *byte++) * 0x100000001b3ull;
	return hash;
}

#define NOTHING	0xcbf29ce484222325ull

static void write_inputs(const struct rank *rank, unsigned int run)
{
	unsigned int i;
	size_t bytes, k;
	float *values;

	for (i = 0; i < rank->nr; i++) {
		bytes = nrt_tensor_get_size(rank->tensors[i]);
		values = must_have(calloc(1, bytes));
		/* Outputs begin with zeroes. */
		for (k = 0; k < bytes / sizeof(float) && !rank->is_output[i]; k++)
			values[k] = (float)((k * 7 + rank->number * 5 + i + run) % 41) / 8 - 2;
		must(nrt_tensor_write(rank->tensors[i], values, 0, bytes), "nrt_tensor_write");
		free(values);
	}
}

static uint64_t digest_of_outputs(const struct rank *rank)
{
	uint64_t hash = NOTHING;
	unsigned int i;
	size_t bytes;
	void *values;

	for (i = 0; i < rank->nr; i++) {
		if (!rank->is_output[i])
			continue;
		bytes = nrt_tensor_get_size(rank->tensors[i]);
		values = must_have(malloc(bytes));
		must(nrt_tensor_read(rank->tensors[i], values, 0, bytes), "nrt_tensor_read");
		hash = digest(hash, values, bytes);
		free(values);
	}
	return hash;
}

/* Times count from the begin of the execution. */
static uint64_t digest_of_events(const struct rank *rank, uint64_t start, size_t *count)
{
	nrt_emu_event_t *events = must_have(calloc(MAX_EVENTS, sizeof(*events)));
	uint64_t hash = NOTHING, lost;
	size_t i;

	*count = MAX_EVENTS;
	must(nrt_emu_get_trace(rank->model, events, count, &lost), "nrt_emu_get_trace");
	if (lost || *count > MAX_EVENTS)
		must(NRT_FAILURE, "a model has more events than nrt-digest has room for");
	for (i = 0; i < *count; i++) {
		events[i].begin_ns -= start;
		events[i].end_ns -= start;
	}
	hash = digest(hash, events, *count * sizeof(*events));
	free(events);
	return hash;
}

static void tell(struct rank *rank, unsigned int run, NRT_STATUS status)
{
	char *text = rank->text + strlen(rank->text);
	nrt_emu_execution_t last;
	uint64_t events;
	size_t count;

	if (status) {
		snprintf(text, sizeof(rank->text) - strlen(rank->text), "%s.%u %s %u: %s\n",
			 rank->kind->name, rank->number, layouts[rank->layout], run,
			 nrt_get_status_as_str(status));
		return;
	}
	must(nrt_emu_get_last_execution(rank->model, &last, sizeof(last)),
	     "nrt_emu_get_last_execution");
	if (last.flags & NRT_EMU_INEXACT)
		must(NRT_FAILURE, "the device time of an execution depends on the host");
	events = digest_of_events(rank, last.start_ns, &count);
	snprintf(text, sizeof(rank->text) - strlen(rank->text),
		 "%s.%u %s %u: %016" PRIx64 " +%" PRIu64 " %" PRIu64 " ns %" PRIu64
		 " inst %" PRIu64 " bytes %zu events %016" PRIx64 " flags %u\n",
		 rank->kind->name, rank->number, layouts[rank->layout], run,
		 digest_of_outputs(rank), rank->last_end ? last.start_ns - rank->last_end : 0,
		 last.end_ns - last.start_ns, last.instructions, last.dma_bytes, count, events,
		 last.flags);
	rank->last_end = last.end_ns;
}

static void *execute(void *arg)
{
	struct rank *rank = arg;
	NRT_STATUS status;
	unsigned int run;

	/* The clocks of the cores differ until their ranks have waited for each other. */
	if (rank->kind->ranks)
		must(nrt_execute(rank->model, rank->inputs, rank->outputs), "nrt_execute");
	for (run = 0; run < RUNS; run++) {
		write_inputs(rank, run);
		status = nrt_execute(rank->model, rank->inputs, rank->outputs);
		tell(rank, run, status);
	}
	return NULL;
}

static void *load_and_execute(void *arg)
{
	load(arg);
	return execute(arg);
}

static uint32_t cores(void)
{
	uint32_t count;

	must(nrt_get_visible_vnc_count(&count), "nrt_get_visible_vnc_count");
	return count;
}

static void try_kind(const struct kind *kind, enum layout layout)
{
	const unsigned int nr = kind->ranks ? kind->ranks : 1;
	struct rank *ranks = must_have(calloc(MAX_RANKS, sizeof(*ranks)));
	pthread_t threads[MAX_RANKS];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		ranks[i].kind = kind;
		ranks[i].number = i;
		ranks[i].core = (int)(kind->apart ? i * cores() / nr : i);
		ranks[i].layout = layout;
		if (pthread_create(&threads[i], NULL, load_and_execute, &ranks[i]))
			must(NRT_RESOURCE, "pthread_create");
	}
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < nr; i++) {
		fputs(ranks[i].text, stdout);
		unload(&ranks[i]);
	}
	free(ranks);
}

int main(void)
{
	const char *text = getenv("NEURON_LOGICAL_NC_CONFIG");
	const unsigned int lnc = text ? (unsigned int)strtoul(text, NULL, 10) : 0;
	struct filler *filler;
	enum layout layout;
	unsigned int i;

	/* It tries what fails. */
	setenv("NEURON_RT_LOG_LEVEL", "QUIET", 0);
	must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
	for (layout = DEVICE; layout < NR_LAYOUTS; layout++) {
		filler = prepare(layout);
		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if ((!kinds[i].lnc || kinds[i].lnc == lnc) &&
			    !(kinds[i].large && layout == PIECES))
				try_kind(&kinds[i], layout);
		clean_up(filler);
	}
	nrt_close();
	return fflush(stdout) ? 1 : 0;
}
