/* SPDX-License-Identifier: MIT */
/*
 * What a collective must give, worked out on the host without steps: the order of reduction that
 * collectives.rst specifies for each algorithm, to the bit.
 */
#ifndef LIBNRT_PLAN_REFERENCE_H
#define LIBNRT_PLAN_REFERENCE_H

#include "plan/sim.h"

/**
 * struct nrt_reference - what is worked out
 * @plan: the plan
 * @input: INPUT of each rank, as it was before
 * @meta: META of each rank, of *_V
 * @combine, @arg: arithmetic, as in struct nrt_sim_how
 */
struct nrt_reference {
	const struct nrt_plan *plan;
	const uint8_t *const *input;
	const uint32_t *const *meta;
	nrt_plan_combine *combine;
	void *arg;
};

/*
 * OUTPUT of @rank. Bytes that the collective does not write stay as they are. NRT_RESOURCE;
 * NRT_INVALID: META has a block that is too long or leaves its space.
 */
NRT_STATUS nrt_plan_reference(const struct nrt_reference *reference, unsigned int rank,
			      uint8_t *output, struct nrt_error *error);

#endif /* LIBNRT_PLAN_REFERENCE_H */
