// SPDX-License-Identifier: MIT
#include "completion.h"

#include <stdbool.h>
#include <string.h>

/* A letter, and no number beyond those. */
static bool has_letter(const struct argp_option *option)
{
	return option->key > ' ' && option->key < 127;
}

/* Is the argument of @option called @arg? NULL: has it one of another name? */
static bool takes(const struct argp_option *option, const char *arg)
{
	if (!option->arg)
		return false;
	return arg ? !strcmp(option->arg, arg) :
		     strcmp(option->arg, "FILE") && strcmp(option->arg, "DIR");
}

/* What comes behind an option whose argument is called @arg. */
static void print_case(FILE *out, const struct argp_option *options, const char *arg,
		       const char *action)
{
	const char *before = "\t";

	for (; options->name; options++) {
		if (!takes(options, arg))
			continue;
		fprintf(out, "%s--%s", before, options->name);
		if (has_letter(options))
			fprintf(out, "|-%c", options->key);
		before = "|";
	}
	if (*before == '|')
		fprintf(out, ") %sreturn ;;\n", action);
}

static void print_name(FILE *out, const char *tool)
{
	putc('_', out);
	for (; *tool; tool++)
		putc(*tool == '-' ? '_' : *tool, out);
}

void completion_print(FILE *out, const char *tool, const struct argp_option *options)
{
	const struct argp_option *option;

	fputs("# Completion in bash.\n", out);
	print_name(out, tool);
	fputs("()\n{\n\tlocal cur=$2 prev=$3\n\n\tCOMPREPLY=()\n\tcase $prev in\n", out);
	print_case(out, options, "FILE", "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); ");
	print_case(out, options, "DIR", "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); ");
	print_case(out, options, NULL, "");
	fputs("\tesac\n\tif [[ $cur == -* ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W '", out);
	for (option = options; option->name; option++)
		if (!(option->flags & OPTION_HIDDEN))
			fprintf(out, "--%s ", option->name);
	fputs("--help --usage' -- \"$cur\")\n\telse\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\tfi\n}\n", out);
	fputs("complete -o filenames -F ", out);
	print_name(out, tool);
	fprintf(out, " %s\n", tool);
}
