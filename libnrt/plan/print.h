/* SPDX-License-Identifier: MIT */
/*
 * Plans as text, for people: --print-plan.
 */
#ifndef LIBNRT_PLAN_PRINT_H
#define LIBNRT_PLAN_PRINT_H

#include "plan/plan.h"

/* "kangaring", "hier:mesh+rdh"; at most 32 bytes with the end. */
const char *nrt_plan_choice_name(const struct nrt_plan_choice *choice, char name[32]);

/* What the plan is, and what a rank needs for it: a few lines. */
void nrt_plan_print(FILE *file, const struct nrt_plan *plan);

/*
 * The steps of a rank, a line each, in aligned columns: number, phase, channel, queue, move, bytes,
 * sources and destinations, waits and posts. "scratch@3+64" is byte 64 of rank 3's scratch; without
 * a rank it is the rank's own. "s5@3>=1" waits for semaphore 5, which rank 3 posts; "s5@3+=1" posts
 * semaphore 5 of rank 3.
 */
void nrt_plan_print_program(FILE *file, const struct nrt_plan *plan,
			    const struct nrt_plan_program *program);

#endif /* LIBNRT_PLAN_PRINT_H */
