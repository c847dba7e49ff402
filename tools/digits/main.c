// SPDX-License-Identifier: MIT
/*
 * neuron-digits: classifies handwritten digits on the NeuronCores of two chips
 * and checks every bit of the answer.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "output.h"
#include "reference.h"
#include "report.h"

#define DIGITS_NEFF_LIMIT	(64u << 20)

struct digits_options {
	const char *data;
	int vnc[DIGITS_MAX_RANKS];
	unsigned int nr_vnc;
	unsigned int repeat;
};

struct digits_job {
	struct digits_options options;
	struct digits_set set;
	struct mlp model;
	struct digits_blob mlp;
	struct digits_blob reduce;
	struct digits_rank rank[DIGITS_MAX_RANKS];
	unsigned int ranks;
	float (*device)[10];	/* logits of all images */
	float (*host)[10];
	float own[DIGITS_MAX_RANKS][10][10];
	float total[DIGITS_MAX_RANKS][10][10];
	struct digits_phases phases;
	char classify[32];	/* name of that phase */
};

static const struct argp_option digits_argp_options[] = {
	{ "data", 'd', "DIR", 0,
	  "where digits.bin, digits-weights.bin and the NEFFs are (" DIGITS_DATA ")",
	  0 },
	{ "cores", 'c', "A[,B]", 0,
	  "NeuronCores to run on (the first of each half of the cores); one core takes 1024 images",
	  0 },
	{ "repeat", 'r', "N", 0, "classify N times (1)", 0 },
	{ 0 }
};

static error_t digits_parse_cores(struct digits_options *options, char *arg,
				  struct argp_state *state)
{
	char *end;

	for (;;) {
		if (options->nr_vnc == DIGITS_MAX_RANKS)
			argp_error(state, "at most %d cores", DIGITS_MAX_RANKS);
		options->vnc[options->nr_vnc++] = strtol(arg, &end, 10);
		if (end == arg || (*end && *end != ','))
			argp_error(state, "--cores wants numbers, as in 0,8");
		if (options->nr_vnc == 2 && options->vnc[0] == options->vnc[1])
			argp_error(state, "--cores names core %d twice",
				   options->vnc[0]);
		if (!*end)
			return 0;
		arg = end + 1;
	}
}

static error_t digits_parse(int key, char *arg, struct argp_state *state)
{
	struct digits_options *options = state->input;
	char *end;

	switch (key) {
	case 'd':
		options->data = arg;
		return 0;
	case 'c':
		return digits_parse_cores(options, arg, state);
	case 'r':
		options->repeat = strtoul(arg, &end, 10);
		if (*end || !options->repeat)
			argp_error(state, "--repeat wants a number from 1");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument is expected: \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int digits_read(const struct digits_options *options, const char *name,
		       struct digits_blob *blob)
{
	struct digits_error err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", options->data, name);
	if (!digits_file_read(path, DIGITS_NEFF_LIMIT, &blob->data, &blob->size,
			      &err))
		return 0;
	fprintf(stderr, "neuron-digits: %s\n", err.text);
	return -1;
}

static int digits_read_all(struct digits_job *job)
{
	struct digits_error err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/digits.bin", job->options.data);
	if (digits_set_load(&job->set, path, &err))
		goto fail;
	snprintf(path, sizeof(path), "%s/digits-weights.bin",
		 job->options.data);
	if (mlp_load(&job->model, path, &err))
		goto fail;
	job->device = calloc(job->set.count, sizeof(*job->device));
	job->host = calloc(job->set.count, sizeof(*job->host));
	if (!job->device || !job->host) {
		fprintf(stderr, "neuron-digits: out of memory\n");
		return -1;
	}
	return digits_read(&job->options, "digits-mlp.neff", &job->mlp) ||
	       digits_read(&job->options, "digits-allreduce.neff",
			   &job->reduce);
fail:
	fprintf(stderr, "neuron-digits: %s\n", err.text);
	return -1;
}

/* The first core of each half: with two chips one core on each. */
static int digits_place(struct digits_job *job)
{
	struct digits_options *options = &job->options;
	uint32_t cores = 0;
	size_t share;
	unsigned int i;

	if (!options->nr_vnc) {
		if (nrt_get_visible_vnc_count(&cores) != NRT_SUCCESS || !cores) {
			fprintf(stderr, "neuron-digits: no NeuronCore is visible\n");
			return -1;
		}
		options->nr_vnc = cores > 1 ? 2 : 1;
		options->vnc[0] = 0;
		options->vnc[1] = cores / 2;
	}
	job->ranks = options->nr_vnc;
	share = (job->set.count + job->ranks - 1) / job->ranks;
	if (share > DIGITS_BATCH && job->ranks == 1)
		share = DIGITS_BATCH;
	for (i = 0; i < job->ranks; i++) {
		job->rank[i].vnc = options->vnc[i];
		job->rank[i].rank = i;
		job->rank[i].repeat = options->repeat;
		job->rank[i].first = i * share;
		job->rank[i].count = job->set.count - i * share < share ?
				     job->set.count - i * share : share;
	}
	return 0;
}

/* That of the rank which took longest; not exact when it is not exact of one of them. */
static struct digits_time digits_device_time(const struct digits_job *job, int reduce)
{
	struct digits_time longest = { 0 };
	unsigned int i;

	for (i = 0; i < job->ranks; i++) {
		const struct digits_rank *rank = &job->rank[i];
		const struct digits_time *time = reduce ? &rank->reduce_time : &rank->mlp_time;

		if (time->ns > longest.ns)
			longest.ns = time->ns;
		longest.inexact |= time->inexact;
	}
	return longest;
}

static NRT_STATUS digits_on_device(struct digits_job *job)
{
	NRT_STATUS status = NRT_SUCCESS;
	struct digits_time time;
	unsigned int i;

	for (i = 0; i < job->ranks && status == NRT_SUCCESS; i++)
		status = digits_rank_load(&job->rank[i], job->ranks, &job->mlp,
					  &job->reduce);
	digits_phase_end(&job->phases, "load NEFFs, allocate tensors", NULL);
	for (i = 0; i < job->ranks && status == NRT_SUCCESS; i++)
		status = digits_rank_write(&job->rank[i], &job->set);
	digits_phase_end(&job->phases, "images to HBM (DMA)", NULL);
	if (status == NRT_SUCCESS)
		status = digits_classify(job->rank, job->ranks);
	snprintf(job->classify, sizeof(job->classify), "classify, %u time%s",
		 job->options.repeat, job->options.repeat == 1 ? "" : "s");
	time = digits_device_time(job, 0);
	digits_phase_end(&job->phases, job->classify, &time);
	if (status == NRT_SUCCESS && job->ranks > 1)
		status = digits_reduce(job->rank, job->ranks);
	time = digits_device_time(job, 1);
	if (job->ranks > 1)
		digits_phase_end(&job->phases, "all-reduce the counts", &time);
	for (i = 0; i < job->ranks && status == NRT_SUCCESS; i++) {
		status = digits_rank_logits(&job->rank[i],
					    job->device + job->rank[i].first);
		if (status == NRT_SUCCESS)
			status = digits_rank_counts(&job->rank[i], job->own[i],
						    job->total[i]);
	}
	digits_phase_end(&job->phases, "results from HBM (DMA)", NULL);
	return status;
}

static size_t digits_images(const struct digits_job *job)
{
	const struct digits_rank *last = &job->rank[job->ranks - 1];

	return last->first + last->count;
}

static void digits_on_host(struct digits_job *job)
{
	size_t images = digits_images(job), i;
	uint16_t (*x)[MLP_INPUTS] = calloc(images, sizeof(*x));

	if (!x)
		return;
	for (i = 0; i < images; i++)
		digits_image_bf16(&job->set, i, x[i]);
	digits_ref_logits(&job->model, (const uint16_t (*)[MLP_INPUTS])x,
			  images, job->host);
	free(x);
	digits_phase_end(&job->phases, "host reference", NULL);
}

static const float (*digits_row(float (*logits)[10], size_t image))[10]
{
	return (const float (*)[10])(logits + image);
}

/* The held-out counts of images [first, first + count) from host logits. */
static void digits_host_counts(const struct digits_job *job, size_t first,
			       size_t count, float counts[10][10])
{
	size_t i;

	for (i = first; i < first + count; i++)
		if (digits_held_out(i))
			digits_ref_confusion(digits_row(job->host, i),
					     &job->set.labels[i], 1, counts);
}

static size_t digits_check_counts(struct digits_job *job)
{
	float all[10][10] = { 0 };
	size_t different = 0;
	unsigned int i;

	for (i = 0; i < job->ranks; i++) {
		float part[10][10] = { 0 };

		digits_host_counts(job, job->rank[i].first, job->rank[i].count,
				   part);
		different += digits_compare("count", &job->own[i][0][0],
					    &part[0][0], 100);
	}
	if (job->ranks == 1)
		return different;
	digits_host_counts(job, 0, digits_images(job), all);
	for (i = 0; i < job->ranks; i++)
		different += digits_compare("reduced count",
					    &job->total[i][0][0], &all[0][0],
					    100);
	return different;
}

static int digits_verdict(struct digits_job *job)
{
	float (*counts)[10] = job->ranks > 1 ? job->total[0] : job->own[0];
	size_t images = digits_images(job), different, correct = 0, held = 0, i;

	different = digits_compare("logit", &job->device[0][0],
				   &job->host[0][0], images * 10);
	different += digits_check_counts(job);
	for (i = 0; i < images; i++) {
		if (!digits_held_out(i))
			continue;
		held++;
		correct += digits_ref_correct(digits_row(job->device, i),
					      &job->set.labels[i], 1);
	}
	printf("\n");
	digits_print_confusion(counts);
	printf("accuracy on the held-out part: %zu of %zu, %.2f %%\n",
	       correct, held, 100.0 * correct / held);
	printf("(every fifth image, not used for training)\n\n");
	digits_print_phases(&job->phases);
	if (different) {
		printf("\nFAIL: %zu values differ from the host reference\n",
		       different);
		return 1;
	}
	printf("\nPASS: %zu logits and all counts equal the host reference bit for bit\n",
	       images * 10);
	return 0;
}

static int digits_run_job(struct digits_job *job)
{
	NRT_STATUS status;
	unsigned int i;
	int ret = 1;

	digits_phase_begin(&job->phases);
	if (digits_read_all(job))
		return 1;
	digits_phase_end(&job->phases, "read files", NULL);
	/* The programs are made for logical cores of one physical core. */
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 0);
	status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
	if (status != NRT_SUCCESS) {
		fprintf(stderr, "neuron-digits: nrt_init: %s\n",
			nrt_get_status_as_str(status));
		return 1;
	}
	digits_phase_end(&job->phases, "nrt_init: claim the cores", NULL);
	if (digits_place(job))
		goto out;
	printf("%zu of %zu images, %u core%s: ", digits_images(job),
	       job->set.count, job->ranks, job->ranks > 1 ? "s" : "");
	for (i = 0; i < job->ranks; i++)
		printf("%s%zu on NeuronCore %d", i ? ", " : "",
		       job->rank[i].count, job->rank[i].vnc);
	printf("\n");
	if (digits_on_device(job) == NRT_SUCCESS) {
		digits_on_host(job);
		ret = digits_verdict(job);
	}
	for (i = 0; i < job->ranks; i++)
		digits_rank_unload(&job->rank[i]);
out:
	nrt_close();
	return ret;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		digits_argp_options, digits_parse, NULL,
		"Classify the handwritten digits of the UCI set on two chips and compare every bit with the host.",
		NULL, NULL, NULL
	};
	struct digits_job job = {
		.options = { .data = DIGITS_DATA, .repeat = 1 },
	};
	int ret;

	output_check_at_exit();
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &job.options);
	ret = digits_run_job(&job);
	digits_set_free(&job.set);
	free(job.mlp.data);
	free(job.reduce.data);
	free(job.device);
	free(job.host);
	return ret;
}
