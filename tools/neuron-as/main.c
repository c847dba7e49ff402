// SPDX-License-Identifier: MIT
/* neuron-as: assembles a program to a NEFF, or writes a NEFF as source. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "as.h"

struct arguments {
	const char *input;
	const char *output;
	unsigned int lnc;
	bool disassemble;
	bool no_warnings;
};

static const struct argp_option options[] = {
	{ "disassemble", 'd', NULL, 0, "write the source of a NEFF", 0 },
	{ "lnc", 'l', "N", 0,
	  "physical cores of the logical core; without it 2 if the source has .core 1, else 1",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "where to write; without it a.s becomes a.neff, and -d writes to standard output", 0 },
	{ "no-warnings", 'w', NULL, 0, "do not warn", 0 },
	{ 0 }
};

#define SUMMARY	"Assembles a program for the engines of a NeuronCore to a NEFF that libnrt loads."

static const char doc[] =
	SUMMARY
	"\vSOURCE \"-\" is standard input.\n\n"
	"Example:\n"
	"  neuron-as vector_add.s -o vector_add.neff\n"
	"  neuron-as -d vector_add.neff\n\n"
	"The exit status is 0, 1 for an error in the source, 2 for one in the command line.\n"
	"Documentation/hardware/isa.rst has the instructions,\n"
	"Documentation/tools/neuron-as.rst the directives.";

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'd':
		arguments->disassemble = true;
		return 0;
	case 'l':
		if (strcmp(arg, "1") && strcmp(arg, "2"))
			argp_error(state, "--lnc is 1 or 2, not \"%s\"", arg);
		arguments->lnc = (unsigned int)(*arg - '0');
		return 0;
	case 'w':
		arguments->no_warnings = true;
		return 0;
	case 'o':
		arguments->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->input)
			argp_error(state, "one source at a time: \"%s\"", arg);
		arguments->input = arg;
		return 0;
	case ARGP_KEY_END:
		if (!arguments->input)
			argp_error(state, "which source?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void complain(void *context, const struct as_diag *diag)
{
	const struct arguments *arguments = context;

	if (diag->warning && arguments->no_warnings)
		return;
	fprintf(stderr, "%s:%u:%u: %s: %s\n", diag->file, diag->line, diag->column,
		diag->warning ? "warning" : "error", diag->text);
}

static int read_stream(FILE *file, char **data, size_t *size)
{
	size_t room = 0, n;
	char *grown;

	*data = NULL;
	*size = 0;
	do {
		if (room - *size < 65536) {
			room = room ? room * 2 : 262144;
			grown = realloc(*data, room);
			if (!grown) {
				errno = ENOMEM;
				return -1;
			}
			*data = grown;
		}
		n = fread(*data + *size, 1, room - *size, file);
		*size += n;
	} while (n);
	return ferror(file) ? -1 : 0;
}

static int read_input(const char *path, char **data, size_t *size)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	int ret = -1;

	*data = NULL;
	if (file)
		ret = read_stream(file, data, size);
	if (ret)
		fprintf(stderr, "neuron-as: %s: %s\n", path, strerror(errno));
	if (file && file != stdin)
		fclose(file);
	return ret;
}

/* The last part of @path without its suffix. */
static char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');

	if (!strcmp(path, "-"))
		return strdup("program");
	return strndup(base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

static struct nb_program *assemble_text(struct arguments *arguments, const char *text,
					size_t size)
{
	struct as_options how = {
		.file = arguments->input,
		.lnc = arguments->lnc,
		.read_files = true,
		.report = complain,
		.context = arguments,
	};
	char *name = base_name(arguments->input);
	struct nb_program *nb;

	how.name = name;
	nb = as_assemble(text, size, &how);
	free(name);
	return nb;
}

static char *default_output(const struct arguments *arguments)
{
	const char *dot = strrchr(arguments->input, '.');
	char *path;

	if (!dot || strcmp(dot, ".s"))
		return NULL;
	if (asprintf(&path, "%.*s.neff", (int)(dot - arguments->input), arguments->input) < 0)
		return NULL;
	return path;
}

static int assemble(struct arguments *arguments, const char *text, size_t size)
{
	char *path = arguments->output ? strdup(arguments->output) : default_output(arguments);
	struct nb_program *nb;
	int ret = 1;

	if (!path) {
		fprintf(stderr, "neuron-as: \"%s\" does not end in .s: use -o\n",
			arguments->input);
		return 2;
	}
	nb = assemble_text(arguments, text, size);
	if (nb && nb_write(nb, path))
		fprintf(stderr, "neuron-as: %s\n", nb_error(nb));
	else if (nb)
		ret = 0;
	nb_free(nb);
	free(path);
	return ret;
}

/* NEFFs of other tools may hold what the assembler writes in another way. */
static void compare_again(struct arguments *arguments, const char *text,
			  const char *neff, size_t size)
{
	struct nb_program *nb = assemble_text(arguments, text, strlen(text));
	void *again = NULL;
	size_t length;

	if (!nb || nb_pack(nb, &again, &length) || length != size || memcmp(again, neff, size))
		fprintf(stderr, "neuron-as: %s: warning: other bytes come back\n",
			arguments->input);
	free(again);
	nb_free(nb);
}

static int write_text(const char *path, const char *text)
{
	FILE *file = path ? fopen(path, "w") : stdout;
	int ret = 0;

	if (!file || fputs(text, file) < 0)
		ret = 1;
	if (file && fflush(file))
		ret = 1;
	if (ret)
		fprintf(stderr, "neuron-as: %s: %s\n", path ? path : "standard output",
			strerror(errno));
	if (file && file != stdout)
		fclose(file);
	return ret;
}

static int disassemble(struct arguments *arguments, const char *neff, size_t size)
{
	char error[AS_ERROR_MAX];
	char *text = as_disassemble(neff, size, error);
	int ret;

	if (!text) {
		fprintf(stderr, "neuron-as: %s: %s\n", arguments->input, error);
		return 1;
	}
	/* What a stream lacks was said when it was assembled. */
	arguments->no_warnings = true;
	compare_again(arguments, text, neff, size);
	ret = write_text(arguments->output, text);
	free(text);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "SOURCE",
		.doc = doc,
	};
	struct arguments arguments = { 0 };
	char *data;
	size_t size;
	int ret;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (read_input(arguments.input, &data, &size)) {
		free(data);
		return 1;
	}
	if (arguments.disassemble)
		ret = disassemble(&arguments, data, size);
	else
		ret = assemble(&arguments, data, size);
	free(data);
	return ret;
}
