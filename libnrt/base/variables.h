/* SPDX-License-Identifier: MIT */
/*
 * The names of the environment: which variables the library reads, which public ones it does
 * not, and what happens then. Documentation/libnrt/environment.rst has the same names
 * (tools/build/api).
 */
#ifndef LIBNRT_BASE_VARIABLES_H
#define LIBNRT_BASE_VARIABLES_H

/* Gets a line about a variable that is set and has no effect. */
typedef void nrt_variable_fn(void *arg, const char *line);

/*
 * Tell @fn of each variable that is set and does nothing: a public one that is not supported,
 * or a NEURON_RT_ or NEURON_EMU_ name that nobody knows; and of a level that is none.
 */
void nrt_variables_check(nrt_variable_fn *fn, void *arg);

#endif /* LIBNRT_BASE_VARIABLES_H */
