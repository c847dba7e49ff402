// SPDX-License-Identifier: MIT
/* neuron-sim: runs a NEFF on emulated chips of its own process. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt_profile.h>

#include "completion.h"
#include "output.h"
#include "report.h"
#include "session.h"
#include "tensors.h"

/* Exit statuses; Documentation/tools/neuron-sim.rst explains them. */
enum {
	EXIT_WELL = 0,
	EXIT_BAD_INPUT = 1,
	EXIT_BAD_OPTION = 2,
	EXIT_FAILED = 3,
	EXIT_TIME = 4,
	EXIT_CHECK = 5,
	EXIT_NAN = 6,
};

enum {
	OPTION_BREAK_ON_NAN = 256,
	OPTION_CHECK,
	OPTION_COMPLETION,
	OPTION_INSTANCE,
	OPTION_PROFILE,
	OPTION_RANDOM,
	OPTION_REPEAT,
	OPTION_TIMEOUT,
	OPTION_TRACE,
	OPTION_ZEROS,
};

/**
 * struct arguments - the command line
 * @session: what is run, and how
 * @inputs: @inputs.arg is freed at the end
 * @output_dir: NULL: outputs are not written
 * @list: show the tensors, and run nothing
 */
struct arguments {
	struct session_options session;
	struct tensors_inputs inputs;
	const char *output_dir;
	const char *profile;
	const char *trace;
	unsigned int repeat;
	bool list;
};

static const struct argp_option options[] = {
	{ "break-on-nan", OPTION_BREAK_ON_NAN, NULL, 0,
	  "fail if an instruction makes a NaN, and say at the end of the run which one was the first",
	  0 },
	{ "check", OPTION_CHECK, NULL, 0,
	  "look for races, reads of what nobody has written, outputs left unwritten, and tiles that leave their place",
	  0 },
	{ "completion", OPTION_COMPLETION, NULL, OPTION_HIDDEN, "write a script for bash", 0 },
	{ "input", 'i', "NAME[@RANK]=FILE", 0,
	  "the .npy file of an input, for all ranks or for one; give it once for each input", 0 },
	{ "instance", OPTION_INSTANCE, "NAME", 0,
	  "the chips: an instance such as trn2.48xlarge, or trn1, inf2, trn2, trn3, with :CHIPS; without it NEURON_EMU_INSTANCE says, else it is trn2.3xlarge, one Trainium2",
	  0 },
	{ "list", 'l', NULL, 0, "show the inputs and outputs of the NEFF, and do not run it", 0 },
	{ "output-dir", 'o', "DIR", 0, "where to write each output, as NAME.npy", 0 },
	{ "profile", OPTION_PROFILE, "FILE", 0,
	  "write each instruction and transfer of the last run with its times, and show how busy the engines were",
	  0 },
	{ "random", OPTION_RANDOM, "SEED", 0, "fill inputs without a file with random numbers", 0 },
	{ "ranks", 'r', "N", 0,
	  "load the NEFF N times, on a logical core each, as ranks that work together", 0 },
	{ "repeat", OPTION_REPEAT, "N", 0, "run N times, each time with the same inputs", 0 },
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0,
	  "end a run that makes no progress for so long; without it 30", 0 },
	{ "trace", OPTION_TRACE, "FILE", 0, "write what libnrt did, and when", 0 },
	{ "zeros", OPTION_ZEROS, NULL, 0, "fill inputs without a file with zeros", 0 },
	{ 0 }
};

#define SUMMARY	"Runs a NEFF on emulated chips, without a virtual machine and without root."

static const char doc[] =
	SUMMARY
	"\vExample:\n"
	"  neuron-sim add.neff --input a=a.npy --input b=b.npy --output-dir out\n"
	"  neuron-sim add.neff --list\n\n"
	"Exit status:\n"
	"  0  all is well\n"
	"  1  a bad NEFF or input, or a file that cannot be written\n"
	"  2  a mistake on the command line\n"
	"  3  the program failed\n"
	"  4  the program made no progress\n"
	"  5  --check has found errors\n"
	"  6  --break-on-nan has found a NaN\n\n"
	"Documentation/tools/neuron-sim.rst explains them.";

/* A number from 1 to @max. */
static unsigned int parse_number(const char *text, unsigned int max, const char *option,
				 struct argp_state *state)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || !number || number > max)
		argp_error(state, "--%s is a number from 1 to %u, not \"%s\"", option, max, text);
	return (unsigned int)number;
}

static uint64_t parse_seed(const char *text, struct argp_state *state)
{
	uint64_t seed;
	char *end;

	errno = 0;
	seed = strtoull(text, &end, 0);
	if (errno || *text < '0' || *text > '9' || *end)
		argp_error(state, "--random wants a number that is not negative, not \"%s\"", text);
	return seed;
}

static void add_input(struct tensors_inputs *inputs, const char *arg, struct argp_state *state)
{
	const char **grown;

	if (!strchr(arg, '='))
		argp_error(state, "--input is NAME=FILE or NAME@RANK=FILE, not \"%s\"", arg);
	grown = realloc(inputs->arg, (inputs->nr + 1) * sizeof(*grown));
	if (!grown)
		argp_failure(state, EXIT_BAD_INPUT, ENOMEM, "--input");
	grown[inputs->nr++] = arg;
	inputs->arg = grown;
}

static void set_missing(struct tensors_inputs *inputs, enum tensors_missing missing,
			struct argp_state *state)
{
	if (inputs->missing != TENSORS_REFUSE && inputs->missing != missing)
		argp_error(state, "--random and --zeros exclude each other");
	inputs->missing = missing;
}

static error_t parse_argument(const char *arg, struct arguments *arguments,
			      struct argp_state *state)
{
	if (arguments->session.neff)
		argp_error(state, "one NEFF at a time: \"%s\"", arg);
	arguments->session.neff = arg;
	return 0;
}

/* What says how the session is made. */
static error_t parse_session(int key, char *arg, struct argp_state *state)
{
	struct session_options *session = &((struct arguments *)state->input)->session;

	switch (key) {
	case OPTION_BREAK_ON_NAN:
		session->break_on_nan = true;
		return 0;
	case OPTION_CHECK:
		session->check = true;
		return 0;
	case OPTION_INSTANCE:
		session->instance = arg;
		return 0;
	case OPTION_TIMEOUT:
		session->timeout_s = parse_number(arg, 86400, "timeout", state);
		return 0;
	case 'r':
		session->ranks = parse_number(arg, 512, "ranks", state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_COMPLETION:
		completion_print(stdout, "neuron-sim", options);
		exit(EXIT_WELL);
	case OPTION_PROFILE:
		arguments->profile = arg;
		return 0;
	case OPTION_RANDOM:
		set_missing(&arguments->inputs, TENSORS_RANDOM, state);
		arguments->inputs.seed = parse_seed(arg, state);
		return 0;
	case OPTION_REPEAT:
		arguments->repeat = parse_number(arg, 1000000000, "repeat", state);
		return 0;
	case OPTION_TRACE:
		arguments->trace = arg;
		return 0;
	case OPTION_ZEROS:
		set_missing(&arguments->inputs, TENSORS_ZEROS, state);
		return 0;
	case 'i':
		add_input(&arguments->inputs, arg, state);
		return 0;
	case 'l':
		arguments->list = true;
		return 0;
	case 'o':
		arguments->output_dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		return parse_argument(arg, arguments, state);
	case ARGP_KEY_END:
		if (!arguments->session.neff)
			argp_error(state, "which NEFF?");
		return 0;
	default:
		return parse_session(key, arg, state);
	}
}

/* --- A run --- */

/* The file of a rank: "a.jsonl" becomes "a@1.jsonl" when there are several. */
static char *name_profile(const struct session *session, const char *path, unsigned int rank)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');
	size_t stem = dot ? (size_t)(dot - path) : strlen(path);
	char *name;

	if (session->nr_ranks == 1)
		return strdup(path);
	return asprintf(&name, "%.*s@%u%s", (int)stem, path, rank, path + stem) < 0 ? NULL : name;
}

typedef NRT_STATUS profile_fn(nrt_model_t *model, const char *path);

static NRT_STATUS stop_profile(nrt_model_t *model, const char *path)
{
	(void)model;
	return nrt_profile_stop(path);
}

static NRT_STATUS profile_ranks(struct session *session, const char *path, profile_fn *call)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;
	char *name;

	for (i = 0; !status && i < session->nr_ranks; i++) {
		name = name_profile(session, path, i);
		if (!name)
			return session_fail(session, NRT_RESOURCE, "no memory");
		status = call(session->rank[i].model, name);
		free(name);
	}
	return status;
}

static NRT_STATUS run(struct session *session, const struct arguments *arguments)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; !status && i < arguments->repeat; i++)
		status = session_execute(session);
	return status;
}

static int exit_status(NRT_STATUS status)
{
	switch (status) {
	case NRT_SUCCESS:
		return EXIT_WELL;
	case NRT_TIMEOUT:
		return EXIT_TIME;
	case NRT_EXEC_COMPLETED_WITH_NUM_ERR:
		return EXIT_NAN;
	default:
		return EXIT_FAILED;
	}
}

/* The program has run, well or not: its profile and its trace tell about both. */
static NRT_STATUS finish(struct session *session, const struct arguments *arguments)
{
	NRT_STATUS status = NRT_SUCCESS;

	if (arguments->profile)
		status = profile_ranks(session, arguments->profile, stop_profile);
	if (!status && arguments->trace)
		status = nrt_trace_stop(arguments->trace);
	return status;
}

/* Before the program runs. */
static NRT_STATUS prepare(struct session *session, const struct arguments *arguments)
{
	NRT_STATUS status = NRT_SUCCESS;

	if (arguments->trace)
		status = nrt_trace_start(false);
	if (!status)
		status = tensors_load(session, &arguments->inputs);
	if (!status && arguments->profile)
		status = profile_ranks(session, arguments->profile, nrt_profile_start);
	return status;
}

static int simulate(struct session *session, const struct arguments *arguments)
{
	NRT_STATUS status;
	int ret;

	if (prepare(session, arguments))
		return EXIT_BAD_INPUT;
	status = run(session, arguments);
	ret = exit_status(status);
	if (!status && session_reports(session))
		ret = EXIT_CHECK;
	/* After a NaN the program went on to its end, and its outputs are there. */
	if (!status || status == NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
		status = report_times(session, arguments->profile);
		if (!status && arguments->output_dir)
			status = tensors_save(session, arguments->output_dir);
	} else {
		status = NRT_SUCCESS;
	}
	if (!status)
		status = finish(session, arguments);
	return status && ret == EXIT_WELL ? EXIT_BAD_INPUT : ret;
}

static int use_session(struct session *session, const struct arguments *arguments)
{
	if (session_open(session, &arguments->session))
		return EXIT_BAD_INPUT;
	if (!arguments->list)
		return simulate(session, arguments);
	return report_tensors(session) ? EXIT_BAD_INPUT : EXIT_WELL;
}

/*
 * The events of a profile are many megabytes, several times one after the other. Pages that are new
 * each time cost more than what is done with them, so freed memory stays for the next.
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "NEFF",
		.doc = doc,
	};
	struct arguments arguments = { .repeat = 1 };
	struct session session;
	int ret;

	output_check_at_exit();
	keep_memory();
	argp_err_exit_status = EXIT_BAD_OPTION;
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	/* Also in a pipe: in order with what goes to standard error. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = use_session(&session, &arguments);
	if (*session.why)
		fprintf(stderr, "neuron-sim: %s\n", session.why);
	session_close(&session);
	free(arguments.inputs.arg);
	return ret;
}
