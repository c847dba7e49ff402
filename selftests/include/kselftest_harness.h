/* SPDX-License-Identifier: MIT */
/*
 * The kernel's harness with a time limit that fits an emulated guest on a busy host, and a
 * kernel in which every check is on: 30 seconds are meant for real machines. What hangs in
 * make check is ended by the limit of the whole program.
 */
#ifndef NEURON_KSELFTEST_HARNESS_H
#define NEURON_KSELFTEST_HARNESS_H

#include_next <kselftest_harness.h>

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	900	/* seconds, of TEST() and TEST_F() */

#endif /* NEURON_KSELFTEST_HARNESS_H */
