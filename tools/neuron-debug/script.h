/* SPDX-License-Identifier: MIT */
/* Where commands come from: the command line, a file, standard input. */
#ifndef NEURON_DEBUG_SCRIPT_H
#define NEURON_DEBUG_SCRIPT_H

#include <stdio.h>

#include "target.h"

/**
 * struct script - commands, in the order of the command line, then those of standard input
 * @ex, @nr_ex: of --ex
 * @path: of --command; read behind those, or NULL
 * @file: that is read now
 * @name, @line: of it, for messages
 * @next_ex: which of @ex comes next
 * @asks: standard input is a terminal: a wrong line is no reason to end
 * @failed: a line was wrong
 */
struct script {
	const char **ex;
	size_t nr_ex;
	const char *path;
	FILE *file;
	const char *name;
	unsigned int line;
	size_t next_ex;
	bool asks;
	bool failed;
};

/* 0, or -1 with a message. */
int script_open(struct script *script);
void script_close(struct script *script);
/* Commands until the program goes on. At the end of all of them it is ended. */
void script_prompt(struct script *script, struct target *target);

#endif /* NEURON_DEBUG_SCRIPT_H */
