/* SPDX-License-Identifier: MIT */
/*
 * Uevents, as a monitor hears them from the kernel.
 */
#ifndef NEURON_UEVENTS_H
#define NEURON_UEVENTS_H

#include <stdbool.h>
#include <sys/types.h>

#define UEVENT_BYTES	4096

/* A socket that hears them from now on, or a negative errno. */
int uevents_open(void);
/* The next one, at most UEVENT_BYTES; 0: none in @timeout_ms, or an error. */
ssize_t uevents_next(int fd, char *message, int timeout_ms);
/* Has it the variable @text ("NAME=value")? Its parts are NUL terminated. */
bool uevents_has(const char *message, ssize_t size, const char *text);
/*
 * Wait for one with all of @variables, NULL at the end, each of the others for at
 * most @timeout_ms.
 */
bool uevents_wait(int fd, const char * const *variables, int timeout_ms);

#endif /* NEURON_UEVENTS_H */
