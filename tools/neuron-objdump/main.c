// SPDX-License-Identifier: MIT
/* neuron-objdump: writes a NEFF as source. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "objdump.h"
#include "output.h"

#define MAX_NEFF	((size_t)4 << 30)

struct arguments {
	const char *input;
	const char *output;
	struct as_dump dump;
	struct lines *lines;
	bool headers;
	bool sources;
};

static const struct argp_option options[] = {
	{ "headers", 'h', NULL, 0, "only a table of what the NEFF consists of", 0 },
	{ "core", 'c', "N", 0, "only physical core N of the logical core; may be repeated", 0 },
	{ "section", 'j', "NAME", 0,
	  "only variables, queues, semaphores, tensor, vector, scalar, gpsimd or sync; may be repeated",
	  0 },
	{ "indexes", 'i', NULL, 0, "the index of each instruction in its stream, as a comment", 0 },
	{ "raw", 'r', NULL, 0, "the index and the bytes of each instruction, as comments", 0 },
	{ "line-numbers", 'l', NULL, 0,
	  "file and line that instructions are from, as comments", 0 },
	{ "source", 'S', NULL, 0, "the same, with the text of the line", 0 },
	{ "include", 'I', "DIR", 0,
	  "look for sources there, before the folder of the NEFF; may be repeated", 0 },
	{ "output", 'o', "FILE", 0, "where to write; without it to standard output", 0 },
	{ 0 }
};

#define SUMMARY	"Writes a NEFF as source for neuron-as."

static const char doc[] =
	SUMMARY
	"\vNEFF \"-\" is standard input.\n\n"
	"Example:\n"
	"  neuron-objdump vector_add.neff > again.s\n"
	"  neuron-objdump -S -j vector softmax.neff\n\n"
	"What neuron-as and the builder library make comes back as the same bytes.\n"
	"The exit status is 0, 1 for an error in the NEFF, 2 for one in the command line.";

static void choose_core(struct arguments *arguments, const char *text, struct argp_state *state)
{
	if (strcmp(text, "0") && strcmp(text, "1"))
		argp_error(state, "--core is 0 or 1, not \"%s\"", text);
	arguments->dump.cores |= NEURON_BIT(*text - '0');
}

static void choose_section(struct arguments *arguments, const char *text,
			   struct argp_state *state)
{
	unsigned int i;

	for (i = 0; i < AS_NR_SECTIONS; i++)
		if (!strcmp(text, as_section_name(i)))
			break;
	if (i == AS_NR_SECTIONS)
		argp_error(state, "no section is called \"%s\"", text);
	arguments->dump.sections |= NEURON_BIT(i);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'h':
		arguments->headers = true;
		return 0;
	case 'c':
		choose_core(arguments, arg, state);
		return 0;
	case 'j':
		choose_section(arguments, arg, state);
		return 0;
	case 'i':
		arguments->dump.indexes = true;
		return 0;
	case 'r':
		arguments->dump.bytes = true;
		return 0;
	case 'S':
		arguments->sources = true;
		arguments->dump.places = true;
		return 0;
	case 'l':
		arguments->dump.places = true;
		return 0;
	case 'I':
		if (lines_add_folder(arguments->lines, arg))
			argp_failure(state, 1, ENOMEM, "%s", arg);
		return 0;
	case 'o':
		arguments->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->input)
			argp_error(state, "one NEFF at a time: \"%s\"", arg);
		arguments->input = arg;
		return 0;
	case ARGP_KEY_END:
		if (!arguments->input)
			argp_error(state, "which NEFF?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The folder in which the NEFF is; to be freed. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

/* Another tool may hold things in a way that neuron-as does not. */
static void compare_again(const struct arguments *arguments, const char *text, const char *neff,
			  size_t size)
{
	const struct as_options how = { .file = arguments->input };
	struct nb_program *nb = as_assemble(text, strlen(text), &how);
	void *again = NULL;
	size_t length;

	if (!nb || nb_pack(nb, &again, &length) || length != size || memcmp(again, neff, size))
		fprintf(stderr, "neuron-objdump: %s: warning: neuron-as makes other bytes of it\n",
			arguments->input);
	free(again);
	nb_free(nb);
}

static int write_all(const struct arguments *arguments, const char *text)
{
	const char *path = arguments->output;
	FILE *file = path ? fopen(path, "w") : stdout;
	int ret = 0;

	if (!file || fputs(text, file) < 0 || fflush(file))
		ret = 1;
	if (ret)
		fprintf(stderr, "neuron-objdump: %s: %s\n", path ?: "standard output",
			strerror(errno));
	if (file && file != stdout)
		fclose(file);
	return ret;
}

static char *headers_text(const char *neff, size_t size, char error[AS_ERROR_MAX])
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	int ret;

	if (!out) {
		snprintf(error, AS_ERROR_MAX, "out of memory");
		return NULL;
	}
	ret = put_headers(neff, size, out, error);
	if (!fclose(out) && !ret)
		return text;
	if (!ret)
		snprintf(error, AS_ERROR_MAX, "out of memory");
	free(text);
	return NULL;
}

static int dump(struct arguments *arguments, const char *neff, size_t size)
{
	bool whole = !arguments->dump.cores && !arguments->dump.sections && !arguments->headers;
	char error[AS_ERROR_MAX];
	char *text;
	int ret;

	if (arguments->sources) {
		arguments->dump.line = lines_get;
		arguments->dump.context = arguments->lines;
	}
	text = arguments->headers ? headers_text(neff, size, error) :
				    as_disassemble(neff, size, &arguments->dump, error);
	if (!text) {
		fprintf(stderr, "neuron-objdump: %s: %s\n", arguments->input, error);
		return 1;
	}
	if (whole)
		compare_again(arguments, text, neff, size);
	ret = write_all(arguments, text);
	free(text);
	return ret;
}

static int run(struct arguments *arguments)
{
	char *folder = folder_of(arguments->input);
	char *neff = NULL;
	size_t size;
	int ret = 1;

	if (!folder || lines_add_folder(arguments->lines, folder))
		fprintf(stderr, "neuron-objdump: out of memory\n");
	else if (input_read(arguments->input, MAX_NEFF, &neff, &size))
		fprintf(stderr, "neuron-objdump: %s: %s\n", arguments->input, strerror(errno));
	else
		ret = dump(arguments, neff, size);
	free(neff);
	free(folder);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "NEFF",
		.doc = doc,
	};
	struct arguments arguments = { .lines = lines_new() };
	int ret;

	output_check_at_exit();
	if (!arguments.lines) {
		fprintf(stderr, "neuron-objdump: out of memory\n");
		return 1;
	}
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	ret = run(&arguments);
	lines_free(arguments.lines);
	return ret;
}
