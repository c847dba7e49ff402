// SPDX-License-Identifier: MIT
#include "order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"
#include "step.h"

/* As a queue does it: one after the other, each sum rounded. */
static void combine(void *arg, enum nrt_plan_reduce reduce, void *dst, const void *const *src,
		    unsigned int nr_src, size_t n)
{
	const float *part;
	float *to = dst, sum;
	unsigned int s;
	size_t i;

	(void)arg;
	(void)reduce;
	for (i = 0; i < n; i++) {
		part = src[0];
		sum = part[i];
		for (s = 1; s < nr_src; s++) {
			part = src[s];
			sum += part[i];
		}
		to[i] = sum;
	}
}

int digits_order_sum(void *plan, unsigned int ranks, const float *const *part, float *sum)
{
	struct nrt_reference reference = {
		.plan = plan, .input = (const uint8_t *const *)part, .combine = combine,
	};
	struct nrt_error error;

	(void)ranks;
	/* All ranks get the same sum. */
	if (nrt_plan_reference(&reference, 0, (uint8_t *)sum, &error) == NRT_SUCCESS)
		return 0;
	fprintf(stderr, "%s: the host's sum: %s\n", program_invocation_short_name, error.text);
	return -1;
}

struct nrt_plan *digits_order_plan(const int *vnc, unsigned int ranks)
{
	struct nrt_plan_place places[DIGITS_MAX_THREADS] = { { 0 } };
	const char *algorithm = getenv("NEURON_EMU_CC_ALGORITHM");
	struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = STEP_SUM, .nr_ranks = ranks, .places = places,
		.algorithm = algorithm && *algorithm ? algorithm : NULL,
	};
	struct nrt_plan *plan = NULL;
	struct nrt_error error;
	nrt_emu_place_t place;
	unsigned int i;

	for (i = 0; i < ranks; i++) {
		if (digits_check("where the cores are",
				 nrt_emu_get_core_place((uint32_t)vnc[i], &place, sizeof(place))))
			return NULL;
		places[i] = (struct nrt_plan_place){
			(uint16_t)place.server, (uint16_t)place.chip, (uint16_t)place.core,
		};
		ask.topology = (enum nrt_plan_topology)place.topology;
	}
	if (nrt_plan_make(&ask, &plan, &error) == NRT_SUCCESS)
		return plan;
	fprintf(stderr, "%s: the plan of the all-reduce: %s\n", program_invocation_short_name,
		error.text);
	return NULL;
}
