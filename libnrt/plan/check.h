/* SPDX-License-Identifier: MIT */
/*
 * Checks the programs of all ranks of a plan without executing them.
 */
#ifndef LIBNRT_PLAN_CHECK_H
#define LIBNRT_PLAN_CHECK_H

#include "plan/plan.h"

/*
 * Of @programs, one for each rank: indexes and limits; ends inside of their spaces; every access
 * to another rank is granted there, and listed here; every semaphore is posted by its poster only,
 * by one queue, and as much as is taken; a queue has one channel; numbers do not fall.
 *
 * NRT_FAILURE: @error says which rank breaks which rule.
 */
NRT_STATUS nrt_plan_check(const struct nrt_plan *plan, const struct nrt_plan_program *programs,
			  struct nrt_error *error);

#endif /* LIBNRT_PLAN_CHECK_H */
