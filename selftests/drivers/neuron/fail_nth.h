/* SPDX-License-Identifier: MIT */
/*
 * Let the next operation of the kernel that can fail do so, then the one after
 * it, and so on, through a whole scenario.
 */
#ifndef NEURON_FAIL_NTH_H
#define NEURON_FAIL_NTH_H

#include <stdbool.h>

#include "fail_inject.h"
#include "job_rig.h"

/* A scenario runs in a process of its own and undoes nothing when it fails. */
typedef int (*fail_scenario)(const char *node);

/**
 * struct fail_sweep - what a sweep found
 * @points: operations that were made to fail
 * @noticed: of them, those that the scenario was told of
 * @why: what is wrong, or empty
 */
struct fail_sweep {
	unsigned int points;
	unsigned int noticed;
	char why[128];
};

/*
 * Run @scenario on the device @fd again and again. Between the runs the device
 * must hold what it holds now. False: see @result->why.
 */
bool fail_every(fail_scenario scenario, enum fail_kind kind, int fd,
		struct fail_sweep *result);

#endif /* NEURON_FAIL_NTH_H */
