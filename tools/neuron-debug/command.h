/* SPDX-License-Identifier: MIT */
/* The commands that a person, a script or an editor's console gives while the program stands. */
#ifndef NEURON_DEBUG_COMMAND_H
#define NEURON_DEBUG_COMMAND_H

#include <stdio.h>

#include "target.h"

enum command_result {
	COMMAND_STAY,		/* the next command, please */
	COMMAND_GO,		/* the program goes on */
	COMMAND_ERROR,		/* the line was wrong; nothing has happened */
};

/* Carry out a line; @why says what was wrong with it. */
enum command_result command_run(struct target *target, const char *line, FILE *out,
				char why[TARGET_WHY]);

#endif /* NEURON_DEBUG_COMMAND_H */
