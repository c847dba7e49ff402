/* SPDX-License-Identifier: MIT */
/* The order in which chips add the gradients of training, for the host. */
#ifndef DIGITS_ORDER_H
#define DIGITS_ORDER_H

#include "plan/reference.h"

/*
 * The plan that libnrt makes of the all-reduce in a step of ranks on these cores; nrt_plan_free()
 * frees it. NULL: it is said on stderr why there is none.
 */
struct nrt_plan *digits_order_plan(const int *vnc, unsigned int ranks);

/* A digits_sum_fn; @plan is such a plan. */
int digits_order_sum(void *plan, unsigned int ranks, const float *const *part, float *sum);

#endif /* DIGITS_ORDER_H */
