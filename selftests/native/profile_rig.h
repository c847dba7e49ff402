/* SPDX-License-Identifier: MIT */
/* Programs that run on a chip of the test's own process, and their profiles. */
#ifndef PROFILE_RIG_H
#define PROFILE_RIG_H

#include "neuron_builder.h"
#include "sum.h"
#include "view.h"

/* The folder that a test's files are in, with a slash; it is removed at the end. */
const char *profile_rig_folder(void);
int profile_rig_begin(void **state);
/* The same with logical cores of two physical ones. */
int profile_rig_begin_pair(void **state);
int profile_rig_end(void **state);

/*
 * Run @nb, which is freed, and write NAME.neff and NAME.jsonl. @nb may be NULL when a file
 * NAME.neff is there.
 */
void profile_rig_run(struct nb_program *nb, const char *name);
/* The profile that was written. */
struct profile *profile_rig_open(const char *name);
/* Both. */
struct profile *profile_rig_profile(struct nb_program *nb, const char *name);
/* A path in the folder, for free(). */
char *profile_rig_path(const char *name, const char *suffix);
/* A file of it as text, for free(); replace it. */
char *profile_rig_read(const char *name, const char *suffix);
void profile_rig_write(const char *name, const char *suffix, const char *text, size_t size);

#endif /* PROFILE_RIG_H */
