/* SPDX-License-Identifier: MIT */
/*
 * Processes that use a device while something happens to it: jobs, copies,
 * transfers, mappings, opening, whatever comes of them.
 */
#ifndef NEURON_LOAD_RIG_H
#define NEURON_LOAD_RIG_H

#include <sys/types.h>

#define NR_LOADS	6

struct loads {
	pid_t pid[NR_LOADS];
};

/* Errors that the calls may end with while the device is reset or has left. */
int load_allows(int ret);

/* 0 or a negative errno. They use the device with index @device. */
int loads_start(struct loads *loads, unsigned int device);
/* How many of them met an error that they should not have. */
int loads_stop(struct loads *loads);

/* A mapping that is not there any more: EFAULT instead of a signal. */
int load_faults(const unsigned char *map);

#endif /* NEURON_LOAD_RIG_H */
