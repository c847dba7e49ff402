/* SPDX-License-Identifier: MIT */
/*
 * Make one operation of this thread in the kernel fail: the kernel's own fault
 * injection does it where it exists (the debug kernel), elsewhere the module failnth
 * (selftests/drivers/failnth), which fail_inject_setup() loads.
 */
#ifndef NEURON_FAIL_INJECT_H
#define NEURON_FAIL_INJECT_H

#include <stdbool.h>

enum fail_kind {
	FAIL_ALLOCATIONS,	/* must end in -ENOMEM, or be made up for */
	FAIL_USER_ACCESS,	/* -EFAULT */
};

/*
 * Once, before the first test, because it takes seconds. False: operations cannot be
 * made to fail here.
 */
bool fail_inject_setup(void);
/* After the last test: the module is unloaded again. */
void fail_inject_teardown(void);

/* Operations of @kind are those that fail from here on. */
bool fail_inject_select(enum fail_kind kind);

/*
 * A file that makes an operation of the thread fail which writes to it, or -1. It is
 * closed when no failure is wanted any more.
 */
int fail_inject_open(void);
/* From here the @n-th operation of this thread fails; 0: none. */
bool fail_inject_arm(int file, unsigned int n);
/* No operation fails any more. True: one has. */
bool fail_inject_disarm(int file);

#endif /* NEURON_FAIL_INJECT_H */
