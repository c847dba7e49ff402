// SPDX-License-Identifier: MIT
/* neuron-profile: what an execution did on the device, and what it waited for. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "output.h"
#include "view.h"

#define MAX_INPUTS	2

enum command {
	COMMAND_VIEW,
	COMMAND_TIMELINE,
	COMMAND_TRACE,
	COMMAND_HTML,
	COMMAND_DIFF,
	COMMANDS
};

struct arguments {
	const char *command;
	enum command what;
	const char *profile[MAX_INPUTS];
	const char *neff[MAX_INPUTS];
	unsigned int nr_profiles;
	unsigned int nr_neffs;
	const char *output;
	struct source_folders sources;
	struct view_options view;
};

static const struct argp_option options[] = {
	{ "neff", 'n', "FILE", 0,
	  "the NEFF that ran; without it p.jsonl was p.neff; of diff once, or once for each profile",
	  0 },
	{ "format", 'f', "FORMAT", 0, "of view and diff: table, json or csv", 0 },
	{ "by", 'b', "GROUP", 0,
	  "of view and diff: only the rows by engine, queue, line or instruction", 0 },
	{ "top", 't', "N", 0, "rows of a long table; default 20, 0: all of them", 0 },
	{ "source", 's', "FOLDER", 0,
	  "of html: where source files are; may be repeated; without it the current folder", 0 },
	{ "output", 'o', "FILE", 0, "where to write; without it standard output", 0 },
	{ 0 }
};

static const char doc[] =
	"Shows what an execution did on the device, and what it waited for.\vCOMMAND is\n"
	"  capture   run a NEFF and write its profile; see neuron-profile capture --help\n"
	"  view      tables: busy times, bytes, FLOPs, roofline, waits, critical path\n"
	"  timeline  the summary, and how busy each engine and queue set was over the time\n"
	"  trace     a trace that Perfetto shows\n"
	"  html      a page with a timeline; it needs nothing else\n"
	"  diff      what changed from one profile to another\n\n"
	"PROFILE is a device profile that libnrt wrote: by capture, in an inspection, or by\n"
	"nrt_profile_stop().\n\n"
	"Example:\n"
	"  neuron-profile view profile.jsonl --neff softmax.neff\n\n"
	"The exit status is 0, 1 if something cannot be read or written, 2 for a wrong command.\n"
	"Documentation/tools/neuron-profile.rst says what each number means.";

static enum view_format format_of(const char *name, struct argp_state *state)
{
	static const char *const names[] = { "table", "json", "csv" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return (enum view_format)i;
	argp_error(state, "--format is table, json or csv, not \"%s\"", name);
	return VIEW_TABLE;
}

static enum sum_by by_of(const char *name, struct argp_state *state)
{
	enum sum_by by;

	for (by = 0; by < SUM_NR_BYS; by++)
		if (!strcmp(name, view_by_name(by)))
			return by;
	argp_error(state, "--by is engine, queue, line or instruction, not \"%s\"", name);
	return SUM_NR_BYS;
}

static unsigned int top_of(const char *text, struct argp_state *state)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || value > INT_MAX)
		argp_error(state, "--top is a number of rows, not \"%s\"", text);
	return (unsigned int)value;
}

/* The command called @name; COMMANDS: there is none. */
static enum command command_of(const char *name)
{
	static const char *const names[COMMANDS] = {
		[COMMAND_VIEW] = "view",
		[COMMAND_TIMELINE] = "timeline",
		[COMMAND_TRACE] = "trace",
		[COMMAND_HTML] = "html",
		[COMMAND_DIFF] = "diff",
	};
	unsigned int i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(name, names[i]))
			break;
	return i;
}

static void check_arguments(struct arguments *arguments, struct argp_state *state)
{
	unsigned int wanted = 1;

	if (!arguments->command)
		argp_error(state, "which command? capture, view, timeline, trace, html or diff");
	arguments->what = command_of(arguments->command);
	if (arguments->what == COMMANDS)
		argp_error(state,
			   "\"%s\" is no command; there are capture, view, timeline, trace, html and diff",
			   arguments->command);
	if (arguments->what == COMMAND_DIFF)
		wanted = 2;
	if (arguments->nr_profiles != wanted)
		argp_error(state, "%s takes %u profile%s, not %u", arguments->command, wanted,
			   wanted == 1 ? "" : "s", arguments->nr_profiles);
	if (arguments->nr_neffs > wanted)
		argp_error(state, "--neff is given more often than there are profiles");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'n':
		if (arguments->nr_neffs == MAX_INPUTS)
			argp_error(state, "--neff is given more often than there are profiles");
		arguments->neff[arguments->nr_neffs++] = arg;
		return 0;
	case 'f':
		arguments->view.format = format_of(arg, state);
		return 0;
	case 'b':
		arguments->view.by = by_of(arg, state);
		return 0;
	case 't':
		arguments->view.top = top_of(arg, state);
		return 0;
	case 's':
		if (source_add_folder(&arguments->sources, arg))
			argp_failure(state, 1, ENOMEM, "%s", arg);
		return 0;
	case 'o':
		arguments->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!arguments->command)
			arguments->command = arg;
		else if (arguments->nr_profiles == MAX_INPUTS)
			argp_error(state, "too many profiles: \"%s\"", arg);
		else
			arguments->profile[arguments->nr_profiles++] = arg;
		return 0;
	case ARGP_KEY_END:
		check_arguments(arguments, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The NEFF beside the profile: the same name with another suffix. To be freed. */
static char *neff_beside(const char *profile)
{
	const char *dot = strrchr(profile, '.');
	char *path;

	if (!dot || strchr(dot, '/'))
		dot = profile + strlen(profile);
	if (asprintf(&path, "%.*s.neff", (int)(dot - profile), profile) < 0)
		return NULL;
	return path;
}

static struct profile *open_profile(const struct arguments *arguments, unsigned int i,
				    struct nrt_error *error)
{
	char *beside = neff_beside(arguments->profile[i]);
	const char *neff = beside ? beside : "";
	struct profile *profile = NULL;

	if (arguments->nr_neffs)
		neff = arguments->neff[i < arguments->nr_neffs ? i : 0];
	/* A profile that is not there is the first thing to say. */
	if (arguments->nr_neffs || access(arguments->profile[i], R_OK) || !access(neff, R_OK))
		profile = profile_open(arguments->profile[i], neff, error);
	else
		nrt_error_set(error, NRT_INVALID, "%s: which NEFF ran? Give it with --neff",
			      arguments->profile[i]);
	free(beside);
	return profile;
}

static NRT_STATUS show(const struct arguments *arguments, struct profile *const *profile,
		       FILE *out, struct nrt_error *error)
{
	switch (arguments->what) {
	case COMMAND_VIEW:
		return view_print(profile[0], &arguments->view, out, error);
	case COMMAND_TIMELINE:
		if (view_summary(profile[0], out, error))
			return error->status;
		fputc('\n', out);
		return view_timeline(profile[0], out, error);
	case COMMAND_TRACE:
		return view_trace(profile[0], out, error);
	case COMMAND_HTML:
		return view_html(profile[0], &arguments->sources, out, error);
	default:
		return view_diff(profile[0], profile[1], &arguments->view, out, error);
	}
}

static NRT_STATUS write_out(const struct arguments *arguments, struct profile *const *profile,
			    struct nrt_error *error)
{
	const char *name = arguments->output ? arguments->output : "standard output";
	FILE *out = arguments->output ? fopen(arguments->output, "we") : stdout;
	bool bad;

	if (!out)
		return nrt_error_set(error, NRT_FAILURE, "%s: %s", name, strerror(errno));
	if (show(arguments, profile, out, error)) {
		if (arguments->output)
			fclose(out);
		return error->status;
	}
	bad = ferror(out);
	bad |= arguments->output ? fclose(out) : fflush(out);
	if (bad)
		return nrt_error_set(error, NRT_FAILURE, "%s: %s", name, strerror(errno));
	return NRT_SUCCESS;
}

static NRT_STATUS run(const struct arguments *arguments, struct nrt_error *error)
{
	struct profile *profile[MAX_INPUTS] = { NULL };
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; i < arguments->nr_profiles && !status; i++) {
		profile[i] = open_profile(arguments, i, error);
		if (!profile[i])
			status = error->status;
	}
	if (!status)
		status = write_out(arguments, profile, error);
	for (i = 0; i < MAX_INPUTS; i++)
		profile_free(profile[i]);
	return status;
}

/* The command that makes profiles has options of its own. */
static int capture(int argc, char **argv)
{
	char name[] = "neuron-profile capture";

	argv[1] = name;
	return capture_main(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "COMMAND PROFILE [PROFILE]",
		.doc = doc,
	};
	struct arguments arguments = { .view = { .by = SUM_NR_BYS, .top = 20 } };
	struct nrt_error error = { .status = NRT_SUCCESS };

	output_check_at_exit();
	argp_err_exit_status = 2;
	if (argc > 1 && !strcmp(argv[1], "capture"))
		return capture(argc, argv);
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	run(&arguments, &error);
	source_free_folders(&arguments.sources);
	if (!error.status)
		return 0;
	fprintf(stderr, "neuron-profile: %s\n", error.text);
	return 1;
}
