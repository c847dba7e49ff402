// SPDX-License-Identifier: MIT
/* neuron-profile capture: its options, which are those of the public tool. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"

#define MAX_WORKERS	512
#define MAX_EXECUTIONS	1000000000

enum {
	OPTION_NUM_EXEC = 256,
	OPTION_PROFILE_NTH_EXEC,
	OPTION_EXEC_MODE,
	OPTION_IGNORE_EXEC_ERRORS,
	OPTION_DISABLE_PROFILE,
	OPTION_ENABLE_DGE_NOTIFS,
	OPTION_SAVE_OUTPUT_NPY,
	OPTION_CHECK_OUTPUT_DETERMINISM,
	OPTION_WORKER_COUNT,
	OPTION_WORKER_START_ID,
	OPTION_RANDOM,
	/* Those that are refused. */
	OPTION_SINGLE_IO,
	OPTION_SINGLE_IO_THRESHOLD,
	OPTION_SAVE_OUTPUT,
	OPTION_IO_FROM,
	OPTION_SYSTRACE_GET_EVENT_TYPES,
	OPTION_SYSTRACE_EVENT_FILTER,
};

/**
 * struct arguments - the command line
 * @name: of an input whose file is the next word; NULL: none
 * @workers_here, @workers: 0: not said
 */
struct arguments {
	struct capture capture;
	const char *name;
	unsigned int workers_here;
	unsigned int workers;
	bool no_profile;
};

static const struct argp_option options[] = {
	{ "neff", 'n', "FILE", 0, "the NEFF; without it file.neff", 0 },
	{ "session-file", 's', "FILE", 0, "where to write the profile; without it profile.jsonl",
	  0 },
	{ "num-exec", OPTION_NUM_EXEC, "N", 0,
	  "run the NEFF N times, each time with the same inputs", 0 },
	{ "profile-nth-exec", OPTION_PROFILE_NTH_EXEC, "N", 0,
	  "which execution is profiled; without it the first one; 0: none", 0 },
	{ "disable-profile", OPTION_DISABLE_PROFILE, NULL, 0, "run the NEFF only", 0 },
	{ "capture-type", 't', "TYPE", 0, "profile", 0 },
	{ "exec-mode", OPTION_EXEC_MODE, "MODE", 0, "sync", 0 },
	{ "ignore-exec-errors", OPTION_IGNORE_EXEC_ERRORS, NULL, 0,
	  "go on after an execution that failed, and keep its profile", 0 },
	{ "enable-dge-notifs", OPTION_ENABLE_DGE_NOTIFS, NULL, 0,
	  "changes nothing: transfers that the program generates are always in the profile", 0 },
	{ "save-output-npy", OPTION_SAVE_OUTPUT_NPY, NULL, 0,
	  "write each output of the last execution as NAME.npy", 0 },
	{ "check-output-determinism", OPTION_CHECK_OUTPUT_DETERMINISM, NULL, 0,
	  "fail when the outputs of an execution are not those of the first one", 0 },
	{ "collectives-workers-per-node", 'r', "N", 0,
	  "load the NEFF N times, on a logical core each, as workers that work together", 0 },
	{ "collectives-worker-count", OPTION_WORKER_COUNT, "N", 0,
	  "the same: all workers are on this machine", 0 },
	{ "collectives-worker-start-id", OPTION_WORKER_START_ID, "N", 0, "0", 0 },
	{ "collectives-profile-id", 'i', "WORKER", 0,
	  "the worker that is profiled, or all; without it all", 0 },
	{ "random", OPTION_RANDOM, "SEED", 0,
	  "fill inputs without a file with random numbers, not with zeros", 0 },
	{ "multi-input", 'm', "FILE", OPTION_HIDDEN, "", 0 },
	{ "single-io", OPTION_SINGLE_IO, NULL, OPTION_HIDDEN, "", 0 },
	{ "single-io-threshold", OPTION_SINGLE_IO_THRESHOLD, "N", OPTION_HIDDEN, "", 0 },
	{ "save-output", OPTION_SAVE_OUTPUT, NULL, OPTION_HIDDEN, "", 0 },
	{ "io-from", OPTION_IO_FROM, "WHAT", OPTION_HIDDEN, "", 0 },
	{ "systrace-get-event-types", OPTION_SYSTRACE_GET_EVENT_TYPES, NULL, OPTION_HIDDEN, "", 0 },
	{ "systrace-event-filter", OPTION_SYSTRACE_EVENT_FILTER, "NAME", OPTION_HIDDEN, "", 0 },
	{ 0 }
};

static const char doc[] =
	"Runs a NEFF and writes the device profile of an execution.\vNAME is an input and FILE its\n"
	".npy file, NAME@1 is the input of worker 1. Other inputs are zero.\n\n"
	"It runs on the chips of the driver; NEURON_RT_BACKEND=embedded takes chips of the process.\n\n"
	"Example:\n"
	"  neuron-profile capture -n softmax.neff -s softmax.jsonl x x.npy\n"
	"  neuron-profile view softmax.jsonl\n\n"
	"The exit status is 0, 1 if something cannot be read or written, 2 for a wrong command, 3 if\n"
	"an execution failed or its outputs changed.";

/* One line, without a hint at --help. */
#define refuse(state, ...) argp_failure(state, CAPTURE_BAD_OPTION, 0, __VA_ARGS__)

static unsigned int parse_number(const char *option, const char *text, unsigned int min,
				 unsigned int max, struct argp_state *state)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || number < min || number > max)
		refuse(state, "--%s is a number from %u to %u, not \"%s\"", option, min, max,
		       text);
	return (unsigned int)number;
}

static void add_input(struct tensors_inputs *inputs, const char *name, const char *file,
		      struct argp_state *state)
{
	const char **grown = realloc(inputs->arg, (inputs->nr + 1) * sizeof(*grown));
	char *arg;

	if (!grown)
		argp_failure(state, CAPTURE_BAD_INPUT, ENOMEM, "%s", name);
	inputs->arg = grown;
	if (asprintf(&arg, "%s=%s", name, file) < 0)
		argp_failure(state, CAPTURE_BAD_INPUT, ENOMEM, "%s", name);
	grown[inputs->nr++] = arg;
}

static void add_word(struct arguments *arguments, const char *word, struct argp_state *state)
{
	if (!arguments->name) {
		arguments->name = word;
		return;
	}
	add_input(&arguments->capture.inputs, arguments->name, word, state);
	arguments->name = NULL;
}

static void set_seed(struct tensors_inputs *inputs, const char *text, struct argp_state *state)
{
	char *end;

	errno = 0;
	inputs->missing = TENSORS_RANDOM;
	inputs->seed = strtoull(text, &end, 0);
	if (errno || *text < '0' || *text > '9' || *end)
		refuse(state, "--random wants a number that is not negative, not \"%s\"", text);
}

/* --- What does not fit together, or not to one machine --- */

static void check_workers(struct arguments *arguments, struct argp_state *state)
{
	struct capture *capture = &arguments->capture;
	unsigned int workers = arguments->workers ? arguments->workers : arguments->workers_here;

	if (arguments->workers_here && workers != arguments->workers_here)
		refuse(state,
		       "all workers are on this machine: --collectives-worker-count is %u, --collectives-workers-per-node %u; give one of them",
		       workers, arguments->workers_here);
	if (capture->worker != CAPTURE_ALL_WORKERS &&
	    (unsigned int)capture->worker >= (workers ? workers : 1))
		refuse(state, "--collectives-profile-id is %d, but the last worker is %u",
		       capture->worker, workers ? workers - 1 : 0);
	capture->session.ranks = workers;
}

static void check_executions(struct arguments *arguments, struct argp_state *state)
{
	struct capture *capture = &arguments->capture;

	if (!capture->executions)
		capture->executions = capture->profiled > 1 ? capture->profiled : 1;
	if (capture->profiled > capture->executions)
		refuse(state, "--profile-nth-exec is %u, but --num-exec %u", capture->profiled,
		       capture->executions);
	if (arguments->no_profile)
		capture->profiled = 0;
	if (capture->compare_outputs && capture->executions == 1)
		refuse(state, "--check-output-determinism needs --num-exec 2 or more");
}

static void check_all(struct arguments *arguments, struct argp_state *state)
{
	if (arguments->name)
		refuse(state, "input \"%s\" has no file: give NAME FILE", arguments->name);
	check_workers(arguments, state);
	check_executions(arguments, state);
}

/* --- The options --- */

/* Of the public tool, but not of this one: what to do instead. */
static void refuse_public(int key, struct argp_state *state)
{
	static const struct {
		int key;
		const char *name;
		const char *instead;
	} refused[] = {
		{ 'm', "multi-input", "give NAME@WORKER FILE for an input of one worker" },
		{ OPTION_SINGLE_IO, "single-io", "each tensor has a buffer of its own" },
		{ OPTION_SINGLE_IO_THRESHOLD, "single-io-threshold",
		  "each tensor has a buffer of its own" },
		{ OPTION_SAVE_OUTPUT, "save-output", "use --save-output-npy" },
		{ OPTION_IO_FROM, "io-from", "give NAME FILE, or --random" },
		{ OPTION_SYSTRACE_GET_EVENT_TYPES, "systrace-get-event-types",
		  "use NEURON_RT_INSPECT_ENABLE=1 for events" },
		{ OPTION_SYSTRACE_EVENT_FILTER, "systrace-event-filter",
		  "use NEURON_RT_INSPECT_ENABLE=1 for events" },
	};
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i].key == key)
			refuse(state, "--%s is not supported; %s", refused[i].name,
			       refused[i].instead);
}

/* Who works together. */
static error_t parse_worker(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'r':
		arguments->workers_here = parse_number("collectives-workers-per-node", arg, 1,
						       MAX_WORKERS, state);
		return 0;
	case OPTION_WORKER_COUNT:
		arguments->workers = parse_number("collectives-worker-count", arg, 1, MAX_WORKERS,
						  state);
		return 0;
	case OPTION_WORKER_START_ID:
		if (parse_number("collectives-worker-start-id", arg, 0, UINT_MAX, state))
			refuse(state,
			       "--collectives-worker-start-id is 0: all workers are on this machine");
		return 0;
	case 'i':
		if (strcmp(arg, "all"))
			arguments->capture.worker = (int)parse_number("collectives-profile-id",
								      arg, 0, MAX_WORKERS - 1,
								      state);
		return 0;
	default:
		refuse_public(key, state);
		return ARGP_ERR_UNKNOWN;
	}
}

/* What is done with each execution. */
static error_t parse_execution(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct capture *capture = &arguments->capture;

	switch (key) {
	case OPTION_NUM_EXEC:
		capture->executions = parse_number("num-exec", arg, 1, MAX_EXECUTIONS, state);
		return 0;
	case OPTION_PROFILE_NTH_EXEC:
		capture->profiled = parse_number("profile-nth-exec", arg, 0, MAX_EXECUTIONS,
						 state);
		return 0;
	case OPTION_DISABLE_PROFILE:
		arguments->no_profile = true;
		return 0;
	case OPTION_IGNORE_EXEC_ERRORS:
		capture->ignore_errors = true;
		return 0;
	case OPTION_SAVE_OUTPUT_NPY:
		capture->save_outputs = true;
		return 0;
	case OPTION_CHECK_OUTPUT_DETERMINISM:
		capture->compare_outputs = true;
		return 0;
	case OPTION_ENABLE_DGE_NOTIFS:
		return 0;
	default:
		return parse_worker(key, arg, state);
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'n':
		arguments->capture.session.neff = arg;
		return 0;
	case 's':
		arguments->capture.file = arg;
		return 0;
	case 't':
		if (strcmp(arg, "profile"))
			refuse(state,
			       "--capture-type is profile, not \"%s\"; use NEURON_RT_INSPECT_ENABLE=1 for events",
			       arg);
		return 0;
	case OPTION_EXEC_MODE:
		if (strcmp(arg, "sync"))
			refuse(state,
			       "--exec-mode is sync, not \"%s\": executions are waited for one by one",
			       arg);
		return 0;
	case OPTION_RANDOM:
		set_seed(&arguments->capture.inputs, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		add_word(arguments, arg, state);
		return 0;
	case ARGP_KEY_END:
		check_all(arguments, state);
		return 0;
	default:
		return parse_execution(key, arg, state);
	}
}

int capture_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "[NAME FILE]...",
		.doc = doc,
	};
	struct arguments arguments = {
		.capture = {
			.session = { .neff = "file.neff", .keep_backend = true },
			.inputs = { .missing = TENSORS_ZEROS },
			.file = "profile.jsonl",
			.profiled = 1,
			.worker = CAPTURE_ALL_WORKERS,
		},
	};
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	/* Also in a pipe: in order with what goes to standard error. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = capture_run(&arguments.capture, argv[0]);
	while (arguments.capture.inputs.nr)
		free((char *)arguments.capture.inputs.arg[--arguments.capture.inputs.nr]);
	free(arguments.capture.inputs.arg);
	return ret;
}
