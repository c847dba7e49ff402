/* SPDX-License-Identifier: MIT */
/*
 * ALL_GATHER_V, ALL_TO_ALL_V, REDUCE_SCATTER_V: how much is moved is known when the program runs.
 */
#ifndef LIBNRT_PLAN_VARY_H
#define LIBNRT_PLAN_VARY_H

#include "plan/build.h"

void nrt_vary_stage(struct nrt_build *build);

#endif /* LIBNRT_PLAN_VARY_H */
