// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cc_answers.h"
#include "must.h"
#include "neuron/isa.h"
#include "num/trn_num.h"
#include "plan/reference.h"

#define UNTOUCHED_WORD	0xa5a5a5a5u

void cc_fill(uint8_t *bytes, uint64_t size, unsigned int rank, uint64_t seed)
{
	uint64_t i, state = (seed + 1) * 0x9e3779b97f4a7c15u + rank;

	for (i = 0; i < size; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (uint8_t)(state >> 56);
	}
}

static void combine(void *arg, enum nrt_plan_reduce reduce, void *dst, const void *const *src,
		    unsigned int nr_src, size_t n)
{
	static const unsigned int alu[] = {
		[NRT_PLAN_ADD] = NEURON_ALU_ADD,
		[NRT_PLAN_MIN] = NEURON_ALU_MIN,
		[NRT_PLAN_MAX] = NEURON_ALU_MAX,
	};
	const struct nrt_plan *plan = arg;
	float *sum = must_allocate(n * sizeof(*sum)), *next = must_allocate(n * sizeof(*next));
	unsigned int i;

	trn_to_fp32(sum, src[0], plan->dtype, n);
	for (i = 1; i < nr_src; i++) {
		trn_to_fp32(next, src[i], plan->dtype, n);
		trn_alu_vv(alu[reduce], sum, sum, next, n);
	}
	trn_from_fp32(dst, sum, plan->dtype, n);
	free(sum);
	free(next);
}

void cc_fill_meta(const struct nrt_plan *plan, unsigned int rank, uint64_t seed,
		  uint32_t meta[CC_META_WORDS])
{
	unsigned int n = plan->nr_ranks, i;
	uint32_t most = (uint32_t)plan->count, count;

	for (i = 0; i < n; i++) {
		count = (uint32_t)(seed * 31 + i * 7919 +
				   (plan->op == NRT_PLAN_REDUCE_SCATTER_V ? 0 : rank * 104729));
		count = i == seed % n ? most : count % (most + 1);
		meta[NRT_PLAN_SEND_COUNTS * n + i] = count;
		meta[NRT_PLAN_SEND_DISPLS * n + i] = most - count;
		if (plan->op != NRT_PLAN_ALL_GATHER_V)
			meta[NRT_PLAN_SEND_DISPLS * n + i] += (n - 1 - i) * most;
		meta[NRT_PLAN_RECV_COUNTS * n + i] = UNTOUCHED_WORD;
		meta[NRT_PLAN_RECV_DISPLS * n + i] = (n - 1 - i) * most;
	}
}

/* Do the counts that @rank has got agree with what the others sent? */
static bool counts_are_right(const struct nrt_plan *plan, unsigned int rank,
			     const uint32_t *const *meta, const uint32_t *got)
{
	unsigned int column = plan->op == NRT_PLAN_ALL_GATHER_V ? 0 : rank, n = plan->nr_ranks, i;
	uint32_t want;

	for (i = 0; nrt_plan_varies(plan->op) && i < n; i++) {
		want = plan->recv_counts_known || plan->op == NRT_PLAN_REDUCE_SCATTER_V ?
		       UNTOUCHED_WORD : meta[i][column];
		if (got[NRT_PLAN_RECV_COUNTS * n + i] != want)
			return false;
	}
	return true;
}

bool cc_is_right(const struct nrt_plan *plan, unsigned int rank, uint64_t seed,
		 const uint8_t *got, const uint32_t got_meta[CC_META_WORDS])
{
	uint64_t in = plan->bytes[NRT_PLAN_INPUT], out = plan->bytes[NRT_PLAN_OUTPUT];
	uint32_t words[CC_MAX_RANKS][CC_META_WORDS];
	const uint32_t *meta[CC_MAX_RANKS];
	const uint8_t *input[CC_MAX_RANKS];
	struct nrt_reference reference = {
		.plan = plan, .input = input, .meta = meta, .combine = combine, .arg = (void *)plan,
	};
	uint8_t *all = must_allocate(plan->nr_ranks * in), *want = must_allocate(out);
	struct nrt_error error;
	unsigned int i;
	bool right;

	for (i = 0; i < plan->nr_ranks; i++) {
		input[i] = all + i * in;
		cc_fill(all + i * in, in, i, seed);
		cc_fill_meta(plan, i, seed, words[i]);
		meta[i] = words[i];
	}
	memset(want, CC_UNTOUCHED, out);
	if (plan->in_place && plan->op == NRT_PLAN_PERMUTE)
		memcpy(want, input[rank], out);
	right = !nrt_plan_reference(&reference, rank, want, &error) && !memcmp(want, got, out) &&
		counts_are_right(plan, rank, meta, got_meta);
	free(all);
	free(want);
	return right;
}
