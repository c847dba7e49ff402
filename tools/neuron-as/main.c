// SPDX-License-Identifier: MIT
/* neuron-as: assembles a program to a NEFF. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as.h"
#include "input.h"
#include "output.h"

#define MAX_SOURCE	((size_t)4 << 30)

/**
 * struct arguments - the command line
 * @source, @nr_sources: in the order of the command line
 * @errors: that have been told
 */
struct arguments {
	struct as_source *source;
	size_t nr_sources;
	const char *output;
	unsigned int lnc;
	unsigned int generation;
	bool no_warnings;
	unsigned int errors;
};

static const struct argp_option options[] = {
	{ "lnc", 'l', "N", 0,
	  "physical cores of the logical core; without it 2 if the source has .core 1, else 1",
	  0 },
	{ "output", 'o', "FILE", 0, "where to write; without it a.s becomes a.neff", 0 },
	{ "target", 't', "NAME", 0,
	  "the chip that the program is for: trn1, inf2, trn2 or trn3; what it refuses is an error",
	  0 },
	{ "no-warnings", 'w', NULL, 0, "do not warn", 0 },
	{ 0 }
};

#define SUMMARY	"Assembles a program for the engines of a NeuronCore to a NEFF that libnrt loads."

static const char doc[] =
	SUMMARY
	"\vSeveral sources are one program, as if one stood behind the other; they need -o.\n"
	"SOURCE \"-\" is standard input.\n\n"
	"Example:\n"
	"  neuron-as vector_add.s -o vector_add.neff\n\n"
	"The exit status is 0, 1 for an error in the source, 2 for one in the command line.\n"
	"Documentation/hardware/isa.rst has the instructions,\n"
	"Documentation/tools/neuron-as.rst the directives. neuron-objdump is the way back.";

/* The NeuronCores of chip @name, 2 to 4. */
static unsigned int parse_target(const char *name, struct argp_state *state)
{
	static const struct {
		const char *name;
		unsigned int generation;
	} targets[] = { { "trn1", 2 }, { "inf2", 2 }, { "trn2", 3 }, { "trn3", 4 } };
	size_t i;

	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (!strcmp(name, targets[i].name))
			return targets[i].generation;
	argp_error(state, "--target is trn1, inf2, trn2 or trn3, not \"%s\"", name);
	return 0;
}

static void add_source(struct arguments *arguments, char *path, struct argp_state *state)
{
	struct as_source *source = reallocarray(arguments->source, arguments->nr_sources + 1,
						sizeof(*source));

	if (!source)
		argp_failure(state, 1, ENOMEM, "%s", path);
	arguments->source = source;
	source[arguments->nr_sources++] = (struct as_source){ .file = path };
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'l':
		if (strcmp(arg, "1") && strcmp(arg, "2"))
			argp_error(state, "--lnc is 1 or 2, not \"%s\"", arg);
		arguments->lnc = (unsigned int)(*arg - '0');
		return 0;
	case 't':
		arguments->generation = parse_target(arg, state);
		return 0;
	case 'w':
		arguments->no_warnings = true;
		return 0;
	case 'o':
		arguments->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		add_source(arguments, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!arguments->nr_sources)
			argp_error(state, "which source?");
		if (arguments->nr_sources > 1 && !arguments->output)
			argp_error(state, "several sources make one program: use -o");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *kind_of(const struct as_diag *diag)
{
	if (diag->note)
		return "note";
	return diag->warning ? "warning" : "error";
}

static void complain(void *context, const struct as_diag *diag)
{
	struct arguments *arguments = context;

	arguments->errors += !diag->warning && !diag->note;
	if (diag->warning && arguments->no_warnings)
		return;
	fprintf(stderr, "%s:%u:%u: %s: %s\n", diag->file, diag->line, diag->column, kind_of(diag),
		diag->text);
}

static char *program_name(const struct arguments *arguments)
{
	const char *first = arguments->source[0].file;

	return strcmp(first, "-") ? input_base_name(first) : strdup("program");
}

static struct nb_program *assemble(struct arguments *arguments)
{
	char *name = program_name(arguments);
	struct as_options how = {
		.file = arguments->source[0].file,
		.name = name,
		.lnc = arguments->lnc,
		.generation = arguments->generation,
		.read_files = true,
		.report = complain,
		.context = arguments,
	};
	struct nb_program *nb;

	nb = as_assemble_sources(arguments->source, arguments->nr_sources, &how);
	free(name);
	return nb;
}

static char *output_path(const struct arguments *arguments)
{
	const char *source = arguments->source[0].file;
	const char *dot = strrchr(source, '.');
	char *path;

	if (arguments->output)
		return strdup(arguments->output);
	if (!dot || strcmp(dot, ".s"))
		return NULL;
	if (asprintf(&path, "%.*s.neff", (int)(dot - source), source) < 0)
		return NULL;
	return path;
}

static int write_neff(struct nb_program *nb, const char *path)
{
	if (!nb_write(nb, path))
		return 0;
	fprintf(stderr, "neuron-as: %s\n", nb_error(nb));
	return 1;
}

static int read_sources(struct arguments *arguments)
{
	size_t i;

	for (i = 0; i < arguments->nr_sources; i++) {
		struct as_source *source = &arguments->source[i];
		char *text;

		if (input_read(source->file, MAX_SOURCE, &text, &source->size)) {
			fprintf(stderr, "neuron-as: %s: %s\n", source->file, strerror(errno));
			return 1;
		}
		source->text = text;
	}
	return 0;
}

static void free_sources(struct arguments *arguments)
{
	size_t i;

	for (i = 0; i < arguments->nr_sources; i++)
		free((char *)arguments->source[i].text);
	free(arguments->source);
	arguments->source = NULL;
	arguments->nr_sources = 0;
}

static int run(struct arguments *arguments, const char *path)
{
	struct nb_program *nb;
	int ret = 1;

	if (read_sources(arguments))
		return 1;
	nb = assemble(arguments);
	if (nb)
		ret = write_neff(nb, path);
	else if (arguments->errors)
		fprintf(stderr, "%u error%s%s\n", arguments->errors,
			arguments->errors == 1 ? "" : "s", arguments->errors >= AS_MAX_ERRORS ?
			"; what comes behind them was not looked at" : "");
	nb_free(nb);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "SOURCE...",
		.doc = doc,
	};
	struct arguments arguments = { 0 };
	char *path;
	int ret = 2;

	output_check_at_exit();
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	path = output_path(&arguments);
	if (path)
		ret = run(&arguments, path);
	else
		fprintf(stderr, "neuron-as: \"%s\" does not end in .s: use -o\n",
			arguments.source[0].file);
	free_sources(&arguments);
	free(path);
	return ret;
}
