/* SPDX-License-Identifier: MIT */
/* A NEFF under the debugger, from its file to its outputs. */
#ifndef NEURON_DEBUG_PROGRAM_H
#define NEURON_DEBUG_PROGRAM_H

#include "session.h"
#include "target.h"
#include "tensors.h"

/**
 * struct program_options - what is run
 * @output_dir: NULL: outputs are not written
 */
struct program_options {
	struct session_options session;
	struct tensors_inputs inputs;
	const char *output_dir;
};

enum program_end {
	PROGRAM_ENDED,
	PROGRAM_REFUSED,	/* it has not begun, or its outputs cannot be written */
	PROGRAM_FAILED,
	PROGRAM_KILLED,
};

/**
 * struct program - that
 * @opaque: the prompt's
 * @why: what went wrong: one line, without the name of the tool; empty: libnrt has said it
 */
struct program {
	const struct program_options *options;
	struct session session;
	struct target target;
	struct neff *neff;
	uint8_t *bytes;
	void *opaque;
	char why[SESSION_WHY];
};

/* @prompt gets the program. PROGRAM_ENDED: it can be run. Close it in any case. */
enum program_end program_open(struct program *program, const struct program_options *options,
			      target_prompt_fn prompt, void *opaque);
enum program_end program_run(struct program *program);
void program_close(struct program *program);

#endif /* NEURON_DEBUG_PROGRAM_H */
