/* SPDX-License-Identifier: MIT */
/*
 * Tries a plan: the check, the simulation, and a comparison with the reference.
 */
#ifndef TRY_H
#define TRY_H

#include "plan/plan.h"

/**
 * struct try - a plan with the programs of all ranks
 * @plan, @programs: they are freed by try_fini()
 */
struct try {
	struct nrt_plan *plan;
	struct nrt_plan_program *programs;
};

NRT_STATUS try_init(struct try *try, const struct nrt_plan_ask *ask, struct nrt_error *error);
void try_fini(struct try *try);

/*
 * Check and simulate with @seed. The arithmetic is one in which every order of operands has
 * another result. NRT_FAILURE: @error says what is wrong, and with which rank.
 */
NRT_STATUS try_run(const struct try *try, uint64_t seed, struct nrt_error *error);

#endif /* TRY_H */
