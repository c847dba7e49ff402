// SPDX-License-Identifier: MIT
/* neuron-top: utilisation of the cores and of device memory, as it changes. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "top.h"

struct top_options {
	bool batch;
	double delay;
	unsigned long looks;
};

static const struct argp_option top_argp_options[] = {
	{ "batch", 'b', NULL, 0, "lines of text instead of a screen", 0 },
	{ "delay", 'd', "SECONDS", 0, "time between two looks (1)", 0 },
	{ "iterations", 'n', "N", 0, "with --batch: stop after N looks", 0 },
	{ 0 }
};

static error_t top_parse(int key, char *arg, struct argp_state *state)
{
	struct top_options *options = state->input;
	char *end;

	switch (key) {
	case 'b':
		options->batch = true;
		return 0;
	case 'd':
		options->delay = strtod(arg, &end);
		/* Not a number is in no range. */
		if (*end || !(options->delay >= 0.05 && options->delay <= 3600))
			argp_error(state, "--delay wants 0.05 to 3600 seconds");
		return 0;
	case 'n':
		options->looks = strtoul(arg, &end, 10);
		/* strtoul() takes -1 for a very large number. */
		if (*end || !options->looks || strchr(arg, '-'))
			argp_error(state, "--iterations wants a number from 1");
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
		top_argp_options, top_parse, NULL,
		"Show how busy the NeuronCores are and how full device memory is.",
		NULL, NULL, NULL
	};
	struct top_options options = { .delay = 1 };
	struct top top = { 0 };
	char why[256];
	int ret;

	output_check_at_exit();
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.batch && !isatty(STDOUT_FILENO)) {
		fprintf(stderr, "neuron-top: the output is not a terminal; use --batch\n");
		return 1;
	}
	if (chips_open(&top.chips, why, sizeof(why))) {
		fprintf(stderr, "neuron-top: %s\n", why);
		return 1;
	}
	chips_warn(&top.chips, "neuron-top", why);
	top.chip = calloc(top.chips.count, sizeof(*top.chip));
	if (!top.chip) {
		fprintf(stderr, "neuron-top: out of memory\n");
		chips_close(&top.chips);
		return 1;
	}
	ret = options.batch ? top_batch(&top, options.delay, options.looks) :
			      top_screen(&top, options.delay);
	if (ret)
		fprintf(stderr, "neuron-top: a device went away\n");
	free(top.chip);
	chips_close(&top.chips);
	return ret ? 1 : 0;
}
