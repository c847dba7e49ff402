/* SPDX-License-Identifier: MIT */
/*
 * Collectives in which every block has one receiver, or one sender: no stages, one step.
 */
#ifndef LIBNRT_PLAN_DIRECT_H
#define LIBNRT_PLAN_DIRECT_H

#include "plan/stage.h"

/* A team of one: its block goes from @from to @to. */
void nrt_local_stage(struct nrt_build *build, const struct nrt_stage *stage);

/* ALL_TO_ALL, PERMUTE, PERMUTE_RING, BROADCAST: bytes @lo to @hi of each block. */
void nrt_direct_stage(struct nrt_build *build, uint64_t lo, uint64_t hi);

/* Nobody goes on before all have come: log2 of the ranks rounds of posts. */
void nrt_barrier_stage(struct nrt_build *build);

#endif /* LIBNRT_PLAN_DIRECT_H */
