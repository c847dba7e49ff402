/* SPDX-License-Identifier: MIT */
/*
 * Composes the program of a rank from stages: channels, blocks, levels of groups.
 */
#ifndef LIBNRT_PLAN_COMPOSE_H
#define LIBNRT_PLAN_COMPOSE_H

#include "plan/plan.h"

/* The program of @rank; *@nr_steps: numbers of steps are below it. */
NRT_STATUS nrt_compose(const struct nrt_plan *plan, unsigned int rank,
		       struct nrt_plan_program *program, unsigned int *nr_steps,
		       struct nrt_error *error);

#endif /* LIBNRT_PLAN_COMPOSE_H */
