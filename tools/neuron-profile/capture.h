/* SPDX-License-Identifier: MIT */
/* neuron-profile capture: runs a NEFF and writes device profiles of it. */
#ifndef NEURON_PROFILE_CAPTURE_H
#define NEURON_PROFILE_CAPTURE_H

#include <stdbool.h>

#include "tensors.h"

#define CAPTURE_ALL_WORKERS	(-1)

/* Exit statuses; Documentation/man/neuron-profile-capture.rst explains them. */
enum {
	CAPTURE_WELL = 0,
	CAPTURE_BAD_INPUT = 1,
	CAPTURE_BAD_OPTION = 2,
	CAPTURE_FAILED = 3,
};

/**
 * struct capture - what is wanted
 * @session: the NEFF, and how many workers run it
 * @inputs: each @inputs.arg is freed at the end
 * @file: where the profile goes; of several workers with "_rank_N" in the name
 * @executions: of the NEFF
 * @profiled: number of the execution that is profiled, from 1; 0: none
 * @worker: the one that is profiled, or CAPTURE_ALL_WORKERS
 * @ignore_errors: executions that fail are no reason to stop
 * @save_outputs: write those of the last execution into the current folder
 * @compare_outputs: each execution must give those of the first one
 */
struct capture {
	struct session_options session;
	struct tensors_inputs inputs;
	const char *file;
	unsigned int executions;
	unsigned int profiled;
	int worker;
	bool ignore_errors;
	bool save_outputs;
	bool compare_outputs;
};

/* The whole command; returns the exit status. @argv[0] is what messages begin with. */
int capture_main(int argc, char **argv);

/* capture.c: do it, and say on standard output where the profiles are. */
int capture_run(const struct capture *capture, const char *tool);

#endif /* NEURON_PROFILE_CAPTURE_H */
