/* SPDX-License-Identifier: MIT */
/*
 * Executes the programs of all ranks of a plan in memory of the host: CC-cores, queues and
 * semaphores, in an order that a seed chooses.
 *
 * It finds what would go wrong on chips, whatever their speed: ranks that wait for ever, accesses
 * that nothing orders, reads of bytes that nobody wrote, access to a rank that has not begun or
 * has ended. How: race.h.
 */
#ifndef LIBNRT_PLAN_SIM_H
#define LIBNRT_PLAN_SIM_H

#include "plan/plan.h"

/*
 * What a COMBINE does: @dst = (@src[0] op @src[1]) op ..., @n elements of the plan's type. @dst
 * may be one of @src. @arg: of struct nrt_sim_how.
 */
typedef void nrt_plan_combine(void *arg, enum nrt_plan_reduce reduce, void *dst,
			      const void *const *src, unsigned int nr_src, size_t n);

/**
 * struct nrt_sim_how - how to execute
 * @seed: of the order in which actors have their turns
 * @cc_cores: of a rank, which share its channels; 0: one
 * @rounds: times that each rank runs its program, as soon as it has ended and without waiting for
 *	others; 0: once. In place, the input of a round is the output of the one before
 * @combine, @arg: arithmetic; NULL: plans that do not reduce
 */
struct nrt_sim_how {
	uint64_t seed;
	unsigned int cc_cores;
	unsigned int rounds;
	nrt_plan_combine *combine;
	void *arg;
};

struct nrt_sim;

/*
 * Memory of all ranks. @programs: of each rank; both stay with the caller, as long as *@sim, which
 * is for nrt_sim_free(). INPUT and META count as written. NRT_RESOURCE.
 */
NRT_STATUS nrt_sim_new(const struct nrt_plan *plan, const struct nrt_plan_program *programs,
		       struct nrt_sim **sim, struct nrt_error *error);
void nrt_sim_free(struct nrt_sim *sim);

/* A rank's memory: nrt_plan's @bytes of a space; with in_place INPUT and OUTPUT share it. */
uint8_t *nrt_sim_space(struct nrt_sim *sim, unsigned int rank, enum nrt_plan_space space);

/* Execute. NRT_FAILURE: @error says which rank did what wrong, at which step. */
NRT_STATUS nrt_sim_run(struct nrt_sim *sim, const struct nrt_sim_how *how,
		       struct nrt_error *error);

#endif /* LIBNRT_PLAN_SIM_H */
