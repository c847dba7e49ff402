// SPDX-License-Identifier: MIT
/*
 * neuron-train: trains the digits network on several chips at once and checks every bit of it.
 */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descent.h"
#include "job.h"
#include "order.h"
#include "output.h"
#include "process.h"
#include "trainer.h"

#define LEARN_RANKS	DIGITS_MAX_THREADS
#define LEARN_IMAGES	128	/* of a step */
#define LEARN_STEPS	60
#define LEARN_MAX_STEPS	100000
#define LEARN_ROWS	10	/* of the table, behind the first one */

struct learn_options {
	const char *data;
	unsigned int chips;	/* 0: all */
	unsigned int images;	/* 0: about LEARN_IMAGES */
	unsigned int steps;
};

/* What the chips compute and the host computes again. */
struct learn_result {
	float *loss;			/* [steps][ranks] */
	float (*score)[2];		/* [rows] */
	float (*state)[STEP_STATE];	/* [ranks], behind the last step */
};

/**
 * struct learn_rank - the part of one chip
 * @learn: all of it
 * @number: of the rank; @vnc: its core
 * @model: a step
 * @state: before and behind a step, in turn; @x, @labels, @loss: of a step
 * @in, @out: sets of a step from state 0 to 1, and from 1 to 0
 * @time: device time of all steps
 * @status: of the last call that was made for all ranks
 * @failed: how many ranks had failed before it did
 */
struct learn_rank {
	struct learn *learn;
	unsigned int number;
	int vnc;
	nrt_model_t *model;
	nrt_tensor_t *state[2];
	nrt_tensor_t *x;
	nrt_tensor_t *labels;
	nrt_tensor_t *loss;
	nrt_tensor_set_t *in[2];
	nrt_tensor_set_t *out[2];
	struct digits_time time;
	NRT_STATUS status;
	unsigned int failed;
};

/* The held-out images, on the chip of the first rank. */
struct learn_score {
	nrt_model_t *model;
	nrt_tensor_t *x;
	nrt_tensor_t *labels;
	nrt_tensor_t *score;
	nrt_tensor_set_t *in[2];
	nrt_tensor_set_t *out;
	struct digits_time time;
};

/**
 * struct learn - the job
 * @order: training images, in the order of the epoch under way; @count of them
 * @epoch: under way, from 1
 * @next: first image of the next step
 * @x, @labels: numbers of the images of a step, rank after rank, and @batch: of each rank
 * @held: the same of the held-out images
 * @share: images of a rank
 * @step: NEFF of a step, the same for all ranks; @score_neff: of the score
 * @now: which state is the newest
 * @nr_failed: ranks that have failed
 * @device, @host: what both have computed
 */
struct learn {
	struct learn_options options;
	struct digits_set set;
	size_t *order;
	size_t count;
	unsigned int epoch;
	size_t next;
	float *x;
	float *labels;
	struct digits_batch batch[LEARN_RANKS];
	struct digits_batch held;
	unsigned int ranks;
	unsigned int share;
	struct digits_blob step;
	struct digits_blob score_neff;
	struct learn_rank rank[LEARN_RANKS];
	struct learn_score score;
	unsigned int now;
	atomic_uint nr_failed;
	struct learn_result device;
	struct learn_result host;
	struct digits_phases phases;
};

__attribute__((format(printf, 1, 2)))
static int learn_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

/* --- Images --- */

/* Rows of the table: the state before the first step, and that behind each of these. */
static bool learn_is_row(const struct learn *learn, unsigned int step)
{
	unsigned int every = (learn->options.steps + LEARN_ROWS - 1) / LEARN_ROWS;

	return step == learn->options.steps || step % every == 0;
}

/* The first epoch begins again. */
static void learn_rewind(struct learn *learn)
{
	size_t i;

	learn->count = 0;
	for (i = 0; i < learn->set.count; i++)
		if (!digits_held_out(i))
			learn->order[learn->count++] = i;
	learn->epoch = 1;
	learn->next = 0;
	digits_shuffle(learn->order, learn->count, learn->epoch);
}

/* The images of the next step; what is left of an epoch is too little for one. */
static void learn_next_images(struct learn *learn)
{
	struct digits_batch *batch;
	unsigned int i;

	if (learn->count - learn->next < learn->options.images) {
		digits_shuffle(learn->order, learn->count, ++learn->epoch);
		learn->next = 0;
	}
	for (i = 0; i < learn->ranks; i++) {
		batch = &learn->batch[i];
		digits_batch_fill(&learn->set, learn->order + learn->next, batch->count,
				  (float *)batch->x, (float *)batch->labels);
		learn->next += batch->count;
	}
}

static int learn_held_out(struct learn *learn)
{
	size_t count = digits_held_out_count(learn->set.count), i, nr = 0;
	float *x = malloc(count * (MLP_INPUTS + MLP_OUTPUTS) * sizeof(*x));
	size_t *image = malloc(count * sizeof(*image));

	if (!x || !image) {
		free(x);
		free(image);
		return learn_fail("out of memory");
	}
	for (i = 0; i < learn->set.count; i++)
		if (digits_held_out(i))
			image[nr++] = i;
	digits_batch_fill(&learn->set, image, count, x, x + count * MLP_INPUTS);
	learn->held = (struct digits_batch){ count, x, x + count * MLP_INPUTS };
	free(image);
	return 0;
}

static int learn_read(struct learn *learn)
{
	struct digits_error error;
	char path[4096];

	snprintf(path, sizeof(path), "%s/digits.bin", learn->options.data);
	if (digits_set_load(&learn->set, path, &error))
		return learn_fail("%s", error.text);
	learn->order = calloc(learn->set.count, sizeof(*learn->order));
	if (!learn->order)
		return learn_fail("out of memory");
	learn_rewind(learn);
	return learn_held_out(learn);
}

/* --- Ranks --- */

/* The first core of each chip. */
static unsigned int learn_find_chips(int vnc[LEARN_RANKS])
{
	uint32_t cores = 0, core;
	nrt_emu_place_t place, last = { .server = UINT32_MAX };
	unsigned int chips = 0;

	nrt_get_visible_vnc_count(&cores);
	for (core = 0; core < cores && chips < LEARN_RANKS; core++) {
		if (nrt_emu_get_core_place(core, &place, sizeof(place)) != NRT_SUCCESS)
			break;
		if (place.server != last.server || place.chip != last.chip)
			vnc[chips++] = (int)core;
		last = place;
	}
	return chips;
}

static int learn_place(struct learn *learn)
{
	struct learn_options *options = &learn->options;
	int vnc[LEARN_RANKS];
	unsigned int chips = learn_find_chips(vnc), i;

	learn->ranks = options->chips ? options->chips : chips;
	if (!chips)
		return learn_fail("no NeuronCore is visible");
	if (learn->ranks > chips)
		return learn_fail("--chips: %u chips are asked for, and cores of %u are visible",
				  learn->ranks, chips);
	if (!options->images)
		options->images = LEARN_IMAGES / learn->ranks * learn->ranks;
	if (options->images % learn->ranks)
		return learn_fail("--images: %u images for %u chips: take a multiple of %u",
				  options->images, learn->ranks, learn->ranks);
	if (options->images > learn->count)
		return learn_fail("--images: a step of %u images, and there are %zu to train with",
				  options->images, learn->count);
	learn->share = options->images / learn->ranks;
	for (i = 0; i < learn->ranks; i++)
		learn->rank[i] = (struct learn_rank){
			.learn = learn, .number = i, .vnc = vnc[i],
		};
	return 0;
}

static int learn_allocate_result(struct learn *learn, struct learn_result *result)
{
	result->loss = calloc((size_t)learn->options.steps * learn->ranks, sizeof(*result->loss));
	result->score = calloc(LEARN_ROWS + 2, sizeof(*result->score));
	result->state = calloc(learn->ranks, sizeof(*result->state));
	return result->loss && result->score && result->state ? 0 : -1;
}

static int learn_allocate(struct learn *learn)
{
	const size_t images = learn->options.images;
	unsigned int i;

	learn->x = malloc(images * MLP_INPUTS * sizeof(*learn->x));
	learn->labels = malloc(images * MLP_OUTPUTS * sizeof(*learn->labels));
	if (!learn->x || !learn->labels || learn_allocate_result(learn, &learn->device) ||
	    learn_allocate_result(learn, &learn->host))
		return learn_fail("out of memory");
	for (i = 0; i < learn->ranks; i++)
		learn->batch[i] = (struct digits_batch){
			learn->share, learn->x + (size_t)i * learn->share * MLP_INPUTS,
			learn->labels + (size_t)i * learn->share * MLP_OUTPUTS,
		};
	return 0;
}

static int learn_pack(struct nb_program *nb, struct digits_blob *neff)
{
	void *bytes;
	int ret = 0;

	if (!nb)
		return learn_fail("out of memory");
	if (nb_pack(nb, &bytes, &neff->size))
		ret = learn_fail("making a program: %s", nb_error(nb));
	else
		neff->data = bytes;
	nb_free(nb);
	return ret;
}

static int learn_make(struct learn *learn)
{
	return learn_pack(digits_step_program(learn->ranks, learn->share), &learn->step) ||
	       learn_pack(digits_score_program((unsigned int)learn->held.count),
			  &learn->score_neff);
}

/* The first rank that failed has the cause; the others failed because of it. */
static int learn_ranks_failed(const struct learn *learn, const char *what)
{
	const struct learn_rank *first = NULL, *rank;
	unsigned int i;

	for (i = 0; i < learn->ranks; i++) {
		rank = &learn->rank[i];
		if (rank->status != NRT_SUCCESS && (!first || rank->failed < first->failed))
			first = rank;
	}
	if (!first)
		return learn_fail("%s: a thread cannot be started", what);
	return learn_fail("%s: rank %u on NeuronCore %d: %s", what, first->number, first->vnc,
			  nrt_get_status_as_str(first->status));
}

static NRT_STATUS learn_ended(struct learn_rank *rank, NRT_STATUS status)
{
	rank->status = status;
	if (status != NRT_SUCCESS)
		rank->failed = atomic_fetch_add(&rank->learn->nr_failed, 1);
	return status;
}

static NRT_STATUS learn_load_rank(void *arg, const _Atomic bool *stop)
{
	struct learn_rank *rank = arg;
	const struct learn *learn = rank->learn;

	(void)stop;
	return learn_ended(rank, nrt_load_collectives(learn->step.data, learn->step.size,
						      rank->vnc, -1, rank->number, learn->ranks,
						      &rank->model));
}

/* Tensors of the images; each set in @in gets them. */
static NRT_STATUS learn_image_tensors(int vnc, size_t images, nrt_tensor_t **x,
				      nrt_tensor_t **labels, nrt_tensor_set_t *in[2])
{
	NRT_STATUS status;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		status = digits_check("tensor set", nrt_allocate_tensor_set(&in[i]));
		if (status != NRT_SUCCESS)
			return status;
	}
	status = digits_tensor(vnc, "x", images * MLP_INPUTS * sizeof(float), x, in[0]) ?:
		 digits_tensor(vnc, "labels", images * MLP_OUTPUTS * sizeof(float), labels, in[0]);
	if (status != NRT_SUCCESS)
		return status;
	return digits_check("tensors", nrt_add_tensor_to_tensor_set(in[1], "x", *x) ?:
			    nrt_add_tensor_to_tensor_set(in[1], "labels", *labels));
}

static NRT_STATUS learn_rank_tensors(struct learn_rank *rank)
{
	const size_t state = STEP_STATE * sizeof(float);
	NRT_STATUS status;

	status = learn_image_tensors(rank->vnc, rank->learn->share, &rank->x, &rank->labels,
				     rank->in) ?:
		 digits_check("tensor set", nrt_allocate_tensor_set(&rank->out[0]) ?:
			      nrt_allocate_tensor_set(&rank->out[1])) ?:
		 digits_tensor(rank->vnc, "state", state, &rank->state[0], rank->in[0]) ?:
		 digits_tensor(rank->vnc, "state", state, &rank->state[1], rank->in[1]) ?:
		 digits_tensor(rank->vnc, "loss", sizeof(float), &rank->loss, rank->out[0]);
	if (status != NRT_SUCCESS)
		return status;
	return digits_check("tensors",
			    nrt_add_tensor_to_tensor_set(rank->out[1], "loss", rank->loss) ?:
			    nrt_add_tensor_to_tensor_set(rank->out[0], "next", rank->state[1]) ?:
			    nrt_add_tensor_to_tensor_set(rank->out[1], "next", rank->state[0]));
}

/* On the core of the first rank, with its states. */
static NRT_STATUS learn_load_score(struct learn *learn)
{
	struct learn_score *score = &learn->score;
	const struct learn_rank *rank = &learn->rank[0];
	const struct digits_batch *held = &learn->held;
	NRT_STATUS status;

	status = digits_check("loading the score", nrt_load(learn->score_neff.data,
							    learn->score_neff.size, rank->vnc, -1,
							    &score->model)) ?:
		 learn_image_tensors(rank->vnc, held->count, &score->x, &score->labels,
				     score->in) ?:
		 digits_check("tensor set", nrt_allocate_tensor_set(&score->out)) ?:
		 digits_tensor(rank->vnc, "score", 2 * sizeof(float), &score->score, score->out);
	if (status != NRT_SUCCESS)
		return status;
	return digits_check("held-out images",
			    nrt_add_tensor_to_tensor_set(score->in[0], "state", rank->state[0]) ?:
			    nrt_add_tensor_to_tensor_set(score->in[1], "state", rank->state[1]) ?:
			    nrt_tensor_write(score->x, held->x, 0,
					     held->count * MLP_INPUTS * sizeof(float)) ?:
			    nrt_tensor_write(score->labels, held->labels, 0,
					     held->count * MLP_OUTPUTS * sizeof(float)));
}

static int learn_load(struct learn *learn)
{
	const size_t size = sizeof(learn->host.state[0]);
	unsigned int i;

	if (digits_on_ranks(learn_load_rank, learn->rank, sizeof(learn->rank[0]), learn->ranks))
		return learn_ranks_failed(learn, "loading the step");
	digits_descent_begin(learn->host.state[0]);
	for (i = 0; i < learn->ranks; i++)
		if (learn_rank_tensors(&learn->rank[i]) ||
		    digits_check("writing the first weights",
				 nrt_tensor_write(learn->rank[i].state[0], learn->host.state[0], 0,
						  size)))
			return -1;
	return learn_load_score(learn) ? -1 : 0;
}

static void learn_free_tensors(nrt_tensor_t **tensor[], unsigned int tensors,
			       nrt_tensor_set_t **set[], unsigned int sets)
{
	unsigned int i;

	for (i = 0; i < sets; i++)
		if (*set[i])
			nrt_destroy_tensor_set(set[i]);
	for (i = 0; i < tensors; i++)
		if (*tensor[i])
			nrt_tensor_free(tensor[i]);
}

static void learn_unload(struct learn *learn)
{
	struct learn_score *score = &learn->score;
	unsigned int i;

	for (i = 0; i < learn->ranks; i++) {
		struct learn_rank *rank = &learn->rank[i];
		nrt_tensor_t **tensor[] = { &rank->state[0], &rank->state[1], &rank->x,
					    &rank->labels, &rank->loss };
		nrt_tensor_set_t **set[] = { &rank->in[0], &rank->in[1], &rank->out[0],
					     &rank->out[1] };

		learn_free_tensors(tensor, 5, set, 4);
		if (rank->model)
			nrt_unload(rank->model);
	}
	learn_free_tensors((nrt_tensor_t **[]){ &score->x, &score->labels, &score->score }, 3,
			   (nrt_tensor_set_t **[]){ &score->in[0], &score->in[1], &score->out }, 3);
	if (score->model)
		nrt_unload(score->model);
}

/* --- On the chips --- */

static NRT_STATUS learn_execute(void *arg, const _Atomic bool *stop)
{
	struct learn_rank *rank = arg;
	unsigned int now = rank->learn->now;

	(void)stop;
	return learn_ended(rank, digits_execute(rank->model, rank->in[now], rank->out[now],
						&rank->time));
}

static int learn_device_step(struct learn *learn, unsigned int step)
{
	float *loss = learn->device.loss + (size_t)(step - 1) * learn->ranks;
	const struct digits_batch *batch;
	struct learn_rank *rank;
	char what[32];
	unsigned int i;

	/* Before any rank begins: nobody waits for one that cannot write its images. */
	learn_next_images(learn);
	for (i = 0; i < learn->ranks; i++) {
		rank = &learn->rank[i];
		batch = &learn->batch[i];
		if (digits_check("writing images",
				 nrt_tensor_write(rank->x, batch->x, 0, batch->count * MLP_INPUTS *
						  sizeof(float)) ?:
				 nrt_tensor_write(rank->labels, batch->labels, 0, batch->count *
						  MLP_OUTPUTS * sizeof(float))))
			return -1;
	}
	snprintf(what, sizeof(what), "step %u", step);
	if (digits_on_ranks(learn_execute, learn->rank, sizeof(learn->rank[0]), learn->ranks))
		return learn_ranks_failed(learn, what);
	learn->now = !learn->now;
	for (i = 0; i < learn->ranks; i++)
		if (digits_check("reading the loss", nrt_tensor_read(learn->rank[i].loss, &loss[i],
								     0, sizeof(loss[i]))))
			return -1;
	return 0;
}

static void learn_print_row(const struct learn *learn, unsigned int step, const float score[2])
{
	const double held = (double)learn->held.count;

	printf("%7u", step);
	if (step)
		printf("%12.4f",
		       (double)learn->device.loss[(size_t)(step - 1) * learn->ranks]);
	else
		printf("%12s", "-");
	printf("%16.4f%10.0f of %3.0f%10.2f %%\n", (double)score[0], (double)score[1], held,
	       100.0 * (double)score[1] / held);
	fflush(stdout);
}

static int learn_device_score(struct learn *learn, unsigned int step, unsigned int row)
{
	float *score = learn->device.score[row];

	if (digits_check("scoring the held-out images",
			 digits_execute(learn->score.model, learn->score.in[learn->now],
					learn->score.out, &learn->score.time) ?:
			 nrt_tensor_read(learn->score.score, score, 0, 2 * sizeof(*score))))
		return -1;
	learn_print_row(learn, step, score);
	return 0;
}

/* That of the rank which took longest, and of the scores. */
static struct digits_time learn_device_time(const struct learn *learn)
{
	struct digits_time time = { 0 };
	unsigned int i;

	for (i = 0; i < learn->ranks; i++) {
		if (learn->rank[i].time.ns > time.ns)
			time.ns = learn->rank[i].time.ns;
		time.inexact |= learn->rank[i].time.inexact;
	}
	time.ns += learn->score.time.ns;
	time.inexact |= learn->score.time.inexact;
	return time;
}

static int learn_on_device(struct learn *learn)
{
	unsigned int step, row = 1, i;

	printf("%7s%12s%16s%17s%12s\n", "step", "loss", "held-out loss", "correct", "accuracy");
	if (learn_device_score(learn, 0, 0))
		return -1;
	for (step = 1; step <= learn->options.steps; step++) {
		if (learn_device_step(learn, step))
			return -1;
		if (learn_is_row(learn, step) && learn_device_score(learn, step, row++))
			return -1;
	}
	for (i = 0; i < learn->ranks; i++)
		if (digits_check("reading the weights",
				 nrt_tensor_read(learn->rank[i].state[learn->now],
						 learn->device.state[i], 0,
						 sizeof(learn->device.state[i]))))
			return -1;
	return 0;
}

/* --- On the host --- */

static int learn_host_steps(struct learn *learn, struct nrt_plan *plan)
{
	float *state = learn->host.state[0], *loss = learn->host.loss;
	unsigned int step, row = 0, i;
	int ret;

	learn_rewind(learn);
	digits_descent_begin(state);
	ret = digits_descent_score(state, &learn->held, learn->host.score[row++]);
	for (step = 1; step <= learn->options.steps && !ret; step++, loss += learn->ranks) {
		learn_next_images(learn);
		ret = digits_descent_step(state, learn->batch, learn->ranks,
					  digits_order_sum, plan, loss);
		for (i = 1; i < learn->ranks; i++)
			loss[i] = loss[0];
		if (!ret && learn_is_row(learn, step))
			ret = digits_descent_score(state, &learn->held, learn->host.score[row++]);
	}
	for (i = 1; i < learn->ranks; i++)
		memcpy(learn->host.state[i], state, sizeof(learn->host.state[i]));
	return ret == -ENOMEM ? learn_fail("out of memory") : ret;
}

static int learn_on_host(struct learn *learn)
{
	struct nrt_plan *plan;
	int vnc[LEARN_RANKS], ret;
	unsigned int i;

	for (i = 0; i < learn->ranks; i++)
		vnc[i] = learn->rank[i].vnc;
	plan = digits_order_plan(vnc, learn->ranks);
	if (!plan)
		return -1;
	ret = learn_host_steps(learn, plan);
	nrt_plan_free(plan);
	return ret;
}

/* --- The verdict --- */

static unsigned int learn_rows(const struct learn *learn)
{
	unsigned int step, rows = 1;

	for (step = 1; step <= learn->options.steps; step++)
		rows += learn_is_row(learn, step);
	return rows;
}

static int learn_verdict(const struct learn *learn)
{
	const struct learn_result *device = &learn->device, *host = &learn->host;
	unsigned int rows = learn_rows(learn), steps = learn->options.steps;
	size_t values = (size_t)learn->ranks * STEP_STATE, different;

	different = digits_compare("loss", device->loss, host->loss,
				   (size_t)steps * learn->ranks);
	different += digits_compare("score", &device->score[0][0], &host->score[0][0], 2 * rows);
	different += digits_compare("value", &device->state[0][0], &host->state[0][0], values);
	printf("\n");
	digits_print_phases(&learn->phases);
	if (different) {
		printf("\nFAIL: %zu values differ from the host reference\n", different);
		return 1;
	}
	if (!(device->score[rows - 1][0] < device->score[0][0])) {
		printf("\nFAIL: the held-out loss did not fall in %u steps\n", steps);
		return 1;
	}
	printf("\nPASS: the losses of %u steps and %zu values of the state ", steps, values);
	printf("equal the host reference bit for bit\n");
	return 0;
}

static int learn_on_ranks(struct learn *learn)
{
	struct digits_time time;
	int ret;

	digits_phase_begin(&learn->phases);
	ret = learn_allocate(learn) || learn_make(learn);
	digits_phase_end(&learn->phases, "make the programs", NULL);
	ret = ret || learn_load(learn);
	digits_phase_end(&learn->phases, "load them, allocate tensors", NULL);
	if (ret)
		return 1;
	printf("%u chip%s, %u images a step, %u on each\n", learn->ranks,
	       learn->ranks == 1 ? "" : "s", learn->options.images, learn->share);
	ret = learn_on_device(learn);
	time = learn_device_time(learn);
	digits_phase_end(&learn->phases, "train on the chips", &time);
	ret = ret || learn_on_host(learn);
	digits_phase_end(&learn->phases, "host reference", NULL);
	return ret ? 1 : learn_verdict(learn);
}

static int learn_run(struct learn *learn)
{
	NRT_STATUS status;
	int ret = 1;

	if (learn_read(learn))
		return 1;
	/* The programs are made for logical cores of one physical core. */
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 0);
	status = digits_check("nrt_init", nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	if (status != NRT_SUCCESS)
		return 1;
	if (!learn_place(learn)) {
		ret = learn_on_ranks(learn);
		learn_unload(learn);
	}
	nrt_close();
	return ret;
}

static void learn_free(struct learn *learn)
{
	struct learn_result *result[] = { &learn->device, &learn->host };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		free(result[i]->loss);
		free(result[i]->score);
		free(result[i]->state);
	}
	free(learn->step.data);
	free(learn->score_neff.data);
	free(learn->x);
	free(learn->labels);
	free((float *)learn->held.x);
	free(learn->order);
	digits_set_free(&learn->set);
}

/* --- The command line --- */

static const struct argp_option learn_argp_options[] = {
	{ "data", 'd', "DIR", 0, "where digits.bin is (" DIGITS_DATA ")", 0 },
	{ "chips", 'c', "N", 0, "train on N chips, 1 to 16 (all, at most 16)", 0 },
	{ "images", 'i', "N", 0, "take N images for a step, of all chips together (128)", 0 },
	{ "steps", 's', "N", 0, "do N steps (60)", 0 },
	{ 0 }
};

static unsigned int learn_number(struct argp_state *state, const char *name, const char *arg,
				 unsigned long most)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(arg, &end, 10);
	if (errno || *end || end == arg || *arg == '-' || !value || value > most)
		argp_error(state, "--%s wants a number from 1 to %lu", name, most);
	return (unsigned int)value;
}

static error_t learn_parse(int key, char *arg, struct argp_state *state)
{
	struct learn_options *options = state->input;

	switch (key) {
	case 'd':
		options->data = arg;
		return 0;
	case 'c':
		options->chips = learn_number(state, "chips", arg, LEARN_RANKS);
		return 0;
	case 'i':
		options->images = learn_number(state, "images", arg, DIGITS_MAX_IMAGES);
		return 0;
	case 's':
		options->steps = learn_number(state, "steps", arg, LEARN_MAX_STEPS);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument is expected: \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		learn_argp_options, learn_parse, NULL,
		"Train the digits network on several chips at once and compare every bit with the host.",
		NULL, NULL, NULL
	};
	static struct learn learn = {
		.options = { .data = DIGITS_DATA, .steps = LEARN_STEPS },
	};
	int ret;

	output_check_at_exit();
	process_raise_files();
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &learn.options);
	ret = learn_run(&learn);
	learn_free(&learn);
	return ret;
}
