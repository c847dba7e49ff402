// SPDX-License-Identifier: MIT
/* neuron-debug: runs a NEFF on emulated chips of its own process, and stops it where it is told. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dap.h"
#include "output.h"
#include "program.h"
#include "script.h"

enum {
	EXIT_WELL = 0,
	EXIT_BAD_INPUT = 1,
	EXIT_BAD_OPTION = 2,
	EXIT_FAILED = 3,
	EXIT_KILLED = 4,
};

enum {
	OPTION_DAP = 256,
	OPTION_EX,
	OPTION_INSTANCE,
	OPTION_ZEROS,
};

/**
 * struct arguments - the command line
 * @program: what is run; the inputs' array is freed at the end
 * @script: where commands come from
 * @dap: an editor gives them
 */
struct arguments {
	struct program_options program;
	struct script script;
	bool dap;
};

static const struct argp_option options[] = {
	{ "command", 'x', "FILE", 0, "read commands from this file, not from standard input", 0 },
	{ "dap", OPTION_DAP, NULL, 0,
	  "speak the Debug Adapter Protocol on standard input and output; the editor names the program",
	  0 },
	{ "ex", OPTION_EX, "COMMAND", 0, "carry out this command first; may be given again", 0 },
	{ "input", 'i', "NAME=FILE", 0,
	  "the .npy file of an input; give it once for each input", 0 },
	{ "instance", OPTION_INSTANCE, "NAME", 0,
	  "the chips: an instance such as trn2.48xlarge, or trn1, inf2, trn2, trn3, with :CHIPS; without it NEURON_EMU_INSTANCE says, else it is trn2.3xlarge, one Trainium2",
	  0 },
	{ "output-dir", 'o', "DIR", 0, "where to write each output, as NAME.npy", 0 },
	{ "zeros", OPTION_ZEROS, NULL, 0, "fill inputs without a file with zeros", 0 },
	{ 0 }
};

#define SUMMARY	"Runs a NEFF on emulated chips, step by step."

static const char doc[] =
	SUMMARY
	"\vExample:\n"
	"  neuron-debug add.neff --input a=a.npy --input b=b.npy\n"
	"  neuron-debug add.neff --zeros --ex 'break vector:3' --ex continue --ex where\n\n"
	"The command help lists the commands.\n\n"
	"Exit status:\n"
	"  0  the program ran to its end\n"
	"  1  a bad NEFF or input, or a wrong command in a script\n"
	"  2  a mistake on the command line\n"
	"  3  the program failed\n"
	"  4  the program was ended before its end\n\n"
	"Documentation/tools/neuron-debug.rst explains it.";

/* One string more at the end of an array. */
static void append(const char ***array, size_t *nr, const char *text, struct argp_state *state)
{
	const char **grown = realloc(*array, (*nr + 1) * sizeof(*grown));

	if (!grown)
		argp_failure(state, EXIT_BAD_INPUT, ENOMEM, "%s", text);
	grown[(*nr)++] = text;
	*array = grown;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct program_options *program = &arguments->program;

	switch (key) {
	case 'x':
		arguments->script.path = arg;
		return 0;
	case OPTION_DAP:
		arguments->dap = true;
		return 0;
	case OPTION_EX:
		append(&arguments->script.ex, &arguments->script.nr_ex, arg, state);
		return 0;
	case 'i':
		if (!strchr(arg, '='))
			argp_error(state, "--input is NAME=FILE, not \"%s\"", arg);
		append(&program->inputs.arg, &program->inputs.nr, arg, state);
		return 0;
	case OPTION_INSTANCE:
		program->session.instance = arg;
		return 0;
	case 'o':
		program->output_dir = arg;
		return 0;
	case OPTION_ZEROS:
		program->inputs.missing = TENSORS_ZEROS;
		return 0;
	case ARGP_KEY_ARG:
		if (program->session.neff)
			argp_error(state, "one program at a time: \"%s\"", arg);
		program->session.neff = arg;
		return 0;
	case ARGP_KEY_END:
		if (!program->session.neff && !arguments->dap)
			argp_error(state, "which program?");
		if (program->session.neff && arguments->dap)
			argp_error(state, "with --dap the editor names the program");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void prompt(void *opaque)
{
	struct program *program = opaque;

	script_prompt(program->opaque, &program->target);
}

/*
 * What a signal handler can reach is global to the process. It is set before the handler is, and
 * only a number behind it changes.
 */
static volatile sig_atomic_t *pause_flag(volatile sig_atomic_t *set)
{
	static volatile sig_atomic_t *flag;

	if (set)
		flag = set;
	return flag;
}

static void on_interrupt(int signal)
{
	(void)signal;
	*pause_flag(NULL) = 1;
}

static int debug(struct arguments *arguments)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };
	struct program program;
	enum program_end end;

	if (script_open(&arguments->script))
		return EXIT_BAD_INPUT;
	end = program_open(&program, &arguments->program, prompt, &arguments->script);
	if (end == PROGRAM_ENDED) {
		pause_flag(&program.target.pause);
		sigaction(SIGINT, &action, NULL);
		end = program_run(&program);
	}
	if (*program.why)
		fprintf(stderr, "neuron-debug: %s\n", program.why);
	program_close(&program);
	if (arguments->script.failed || end == PROGRAM_REFUSED)
		return EXIT_BAD_INPUT;
	if (end == PROGRAM_KILLED)
		return EXIT_KILLED;
	return end == PROGRAM_FAILED ? EXIT_FAILED : EXIT_WELL;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse_option, "PROGRAM.neff", doc, NULL, NULL, NULL
	};
	struct arguments arguments = { .script = { .asks = false } };
	int status;

	output_check_at_exit();
	argp_err_exit_status = EXIT_BAD_OPTION;
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	status = arguments.dap ? dap_main() : debug(&arguments);
	script_close(&arguments.script);
	free(arguments.program.inputs.arg);
	return status;
}
