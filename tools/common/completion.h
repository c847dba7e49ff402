/* SPDX-License-Identifier: MIT */
/*
 * Completion in bash of a tool's command line, made from the table of its options.
 */
#ifndef TOOLS_COMPLETION_H
#define TOOLS_COMPLETION_H

#include <argp.h>
#include <stdio.h>

/*
 * Write the script. Options whose argument is called FILE or DIR complete files or folders, others
 * with an argument nothing. What is no option is a file.
 */
void completion_print(FILE *out, const char *tool, const struct argp_option *options);

#endif /* TOOLS_COMPLETION_H */
