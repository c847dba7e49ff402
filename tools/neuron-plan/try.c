// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "plan/check.h"
#include "plan/reference.h"
#include "try.h"

NRT_STATUS try_init(struct try *try, const struct nrt_plan_ask *ask, struct nrt_error *error)
{
	NRT_STATUS status;
	unsigned int i;

	memset(try, 0, sizeof(*try));
	status = nrt_plan_make(ask, &try->plan, error);
	if (status)
		return status;
	try->programs = calloc(ask->nr_ranks, sizeof(*try->programs));
	if (!try->programs)
		return nrt_error_memory(error);
	for (i = 0; i < ask->nr_ranks; i++) {
		status = nrt_plan_program(try->plan, i, &try->programs[i], error);
		if (status)
			return status;
	}
	return NRT_SUCCESS;
}

void try_fini(struct try *try)
{
	unsigned int i;

	for (i = 0; try->programs && i < try->plan->nr_ranks; i++)
		nrt_plan_program_fini(&try->programs[i]);
	free(try->programs);
	nrt_plan_free(try->plan);
}

/* Mixes in each operand, and forgets nothing. @arg: bytes of an element. */
static void mix(void *arg, enum nrt_plan_reduce reduce, void *dst, const void *const *src,
		unsigned int nr_src, size_t n)
{
	const unsigned int size = *(unsigned int *)arg;
	uint64_t sum, next = 0;
	unsigned int s;
	size_t i;

	for (i = 0; i < n; i++) {
		for (sum = reduce, s = 0; s < nr_src; s++) {
			memcpy(&next, (const uint8_t *)src[s] + i * size, size);
			sum = (sum ^ next) * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019;
			sum ^= sum >> 29;
		}
		memcpy((uint8_t *)dst + i * size, &sum, size);
	}
}

/**
 * struct inputs - what the ranks begin with
 * @input, @meta: of each rank
 */
struct inputs {
	uint8_t **input;
	uint32_t **meta;
};

/* Full blocks, one after the other. */
static void fill_meta(const struct nrt_plan *plan, uint32_t *meta)
{
	unsigned int n = plan->nr_ranks, i;

	for (i = 0; i < n; i++) {
		uint32_t at = i * (uint32_t)plan->count;

		meta[NRT_PLAN_SEND_COUNTS * n + i] = (uint32_t)plan->count;
		meta[NRT_PLAN_SEND_DISPLS * n + i] = plan->op == NRT_PLAN_ALL_GATHER_V ? 0 : at;
		meta[NRT_PLAN_RECV_COUNTS * n + i] = (uint32_t)plan->count;
		meta[NRT_PLAN_RECV_DISPLS * n + i] = at;
	}
}

static void inputs_fini(const struct nrt_plan *plan, struct inputs *inputs)
{
	unsigned int i;

	for (i = 0; i < plan->nr_ranks; i++) {
		free(inputs->input ? inputs->input[i] : NULL);
		free(inputs->meta ? inputs->meta[i] : NULL);
	}
	free(inputs->input);
	free(inputs->meta);
}

static NRT_STATUS inputs_init(const struct nrt_plan *plan, struct inputs *inputs, uint64_t seed,
			      struct nrt_error *error)
{
	unsigned int n = plan->nr_ranks, i;
	uint64_t b, x = seed;

	inputs->input = calloc(n, sizeof(*inputs->input));
	inputs->meta = calloc(n, sizeof(*inputs->meta));
	if (!inputs->input || !inputs->meta)
		return nrt_error_memory(error);
	for (i = 0; i < n; i++) {
		inputs->input[i] = malloc(plan->bytes[NRT_PLAN_INPUT] + 1);
		inputs->meta[i] = calloc(1, plan->bytes[NRT_PLAN_META] + 1);
		if (!inputs->input[i] || !inputs->meta[i])
			return nrt_error_memory(error);
		for (b = 0; b < plan->bytes[NRT_PLAN_INPUT]; b++) {
			x = x * 6364136223846793005 + 1442695040888963407;
			inputs->input[i][b] = (uint8_t)(x >> 56);
		}
		if (plan->bytes[NRT_PLAN_META])
			fill_meta(plan, inputs->meta[i]);
	}
	return NRT_SUCCESS;
}

static void put(const struct nrt_plan *plan, struct nrt_sim *sim, const struct inputs *inputs)
{
	unsigned int i;

	for (i = 0; i < plan->nr_ranks; i++) {
		memset(nrt_sim_space(sim, i, NRT_PLAN_OUTPUT), 0, plan->bytes[NRT_PLAN_OUTPUT]);
		memcpy(nrt_sim_space(sim, i, NRT_PLAN_INPUT), inputs->input[i],
		       plan->bytes[NRT_PLAN_INPUT]);
		memcpy(nrt_sim_space(sim, i, NRT_PLAN_META), inputs->meta[i],
		       plan->bytes[NRT_PLAN_META]);
	}
}

static NRT_STATUS compare(const struct nrt_plan *plan, struct nrt_sim *sim,
			  const struct inputs *inputs, struct nrt_error *error)
{
	unsigned int element = plan->element, i;
	struct nrt_reference reference = {
		.plan = plan, .input = (const uint8_t *const *)inputs->input,
		.meta = (const uint32_t *const *)inputs->meta, .combine = mix, .arg = &element,
	};
	uint64_t bytes = plan->bytes[NRT_PLAN_OUTPUT];
	NRT_STATUS status = NRT_SUCCESS;
	uint8_t *want = malloc(bytes + 1);

	if (!want)
		return nrt_error_memory(error);
	for (i = 0; !status && i < plan->nr_ranks; i++) {
		/* What is not written stays: in place the input. */
		memset(want, 0, bytes);
		if (plan->in_place && plan->op == NRT_PLAN_PERMUTE)
			memcpy(want, inputs->input[i], bytes);
		status = nrt_plan_reference(&reference, i, want, error);
		if (!status && memcmp(want, nrt_sim_space(sim, i, NRT_PLAN_OUTPUT), bytes))
			status = nrt_error_set(error, NRT_FAILURE, "rank %u has a wrong result", i);
	}
	free(want);
	return status;
}

NRT_STATUS try_run(const struct try *try, uint64_t seed, struct nrt_error *error)
{
	unsigned int element = try->plan->element;
	struct nrt_sim_how how = { .seed = seed, .combine = mix, .arg = &element };
	struct inputs inputs = { 0 };
	struct nrt_sim *sim = NULL;
	NRT_STATUS status;

	status = nrt_plan_check(try->plan, try->programs, error);
	if (!status)
		status = nrt_sim_new(try->plan, try->programs, &sim, error);
	if (!status)
		status = inputs_init(try->plan, &inputs, seed, error);
	if (!status) {
		put(try->plan, sim, &inputs);
		status = nrt_sim_run(sim, &how, error);
	}
	if (!status)
		status = compare(try->plan, sim, &inputs, error);
	inputs_fini(try->plan, &inputs);
	nrt_sim_free(sim);
	return status;
}
