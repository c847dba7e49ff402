// SPDX-License-Identifier: MIT
/*
 * digits-train: makes the weights file of the digits network.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference.h"
#include "trainer.h"

#define PROGRESS_EVERY	10

struct options {
	const char *data;
	const char *output;
	unsigned int epochs;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	unsigned long value;
	char *end;

	switch (key) {
	case 'e':
		errno = 0;
		value = strtoul(arg, &end, 10);
		if (errno || *end || end == arg || !value || value > 100000)
			argp_error(state, "epochs '%s' must be a number from 1 to 100000", arg);
		options->epochs = (unsigned int)value;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			options->data = arg;
		else if (state->arg_num == 1)
			options->output = arg;
		else
			argp_usage(state);
		return 0;
	case ARGP_KEY_END:
		if (!options->output)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_epoch(const struct digits_epoch *e, void *arg)
{
	(void)arg;
	if (e->epoch != 1 && e->epoch % PROGRESS_EVERY && e->epoch != e->epochs)
		return;
	printf("epoch %3u/%u: %zu of %zu correct (%.2f %%), mean confidence %.4f\n", e->epoch,
	       e->epochs, e->correct, e->count, 100.0 * (double)e->correct / (double)e->count,
	       e->confidence);
	fflush(stdout);
}

/* Counts the images of one part that the rounded network reads correctly. */
static size_t count_correct(const struct digits_set *set, const struct mlp *model,
			    bool held_out, size_t *count)
{
	uint16_t x[1][MLP_INPUTS];
	float logits[1][MLP_OUTPUTS];
	size_t i, correct = 0;

	*count = 0;
	for (i = 0; i < set->count; i++) {
		if (digits_held_out(i) != held_out)
			continue;
		digits_image_bf16(set, i, x[0]);
		digits_ref_logits(model, (const uint16_t (*)[MLP_INPUTS])x, 1, logits);
		correct += digits_ref_correct((const float (*)[MLP_OUTPUTS])logits,
					      &set->labels[i], 1);
		(*count)++;
	}
	return correct;
}

static void print_accuracy(const struct digits_set *set, const struct mlp *model)
{
	size_t correct, count;

	correct = count_correct(set, model, false, &count);
	printf("training part, bf16 weights: %zu of %zu correct (%.2f %%)\n", correct, count,
	       100.0 * (double)correct / (double)count);

	correct = count_correct(set, model, true, &count);
	if (count)
		printf("held-out part, bf16 weights: %zu of %zu correct (%.2f %%)\n", correct,
		       count, 100.0 * (double)correct / (double)count);
	printf("weights hash %016" PRIx64 "\n", mlp_hash(model));
}

static int run(const struct options *options, struct digits_error *error)
{
	struct digits_set set;
	struct mlp model;
	int ret;

	ret = digits_set_load(&set, options->data, error);
	if (ret)
		return ret;

	ret = digits_train(&set, options->epochs, print_epoch, NULL, &model, error);
	if (ret)
		goto out;

	print_accuracy(&set, &model);
	ret = mlp_save(&model, options->output, error);
out:
	digits_set_free(&set);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct argp_option option_table[] = {
		{ "epochs", 'e', "N", 0, "Train for N epochs (default: 60)", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		.options = option_table,
		.parser = parse_option,
		.args_doc = "DIGITS.BIN WEIGHTS.BIN",
		.doc = "Train the 64-128-10 digits network on the training part of DIGITS.BIN.",
	};
	struct options options = { .epochs = DIGITS_DEFAULT_EPOCHS };
	struct digits_error error;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (run(&options, &error)) {
		fprintf(stderr, "digits-train: %s\n", error.text);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
