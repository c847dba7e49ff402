// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "plan/choose.h"
#include "plan/reference.h"
#include "plan/stage.h"
#include "plan/topology.h"

#define MAX	NRT_PLAN_MAX_RANKS
#define MIN(a, b)	((a) < (b) ? (a) : (b))
/* Of temporary results: as malloc() aligns, so that each is an array of any type of elements. */
#define ALIGN		16

/**
 * struct sums - a reduction by a team
 * @n: members
 * @rank: of each
 * @part: of each: what it gives, @bytes
 * @owner: member that gets the result
 * @room: 2 * MAX times @most bytes of temporary results
 */
struct sums {
	const struct nrt_reference *reference;
	unsigned int channel;
	unsigned int n;
	const uint16_t *rank;
	const uint8_t *part[MAX];
	unsigned int owner;
	uint64_t bytes;
	uint8_t *room;
	uint64_t most;
};

static void combine(const struct sums *sums, void *dst, const void *const *src, unsigned int nr)
{
	const struct nrt_reference *reference = sums->reference;

	if (sums->bytes)
		reference->combine(reference->arg, reference->plan->reduce, dst, src, nr,
				   sums->bytes / reference->plan->element);
}

/* From the place behind the owner round to the owner, one after the other. */
static void sum_ring(const struct sums *sums, uint8_t *out)
{
	uint16_t ring[MAX];
	unsigned int p = 0, i;
	const void *src[2];

	nrt_ring_order(sums->reference->plan, sums->rank, sums->n, sums->channel, ring);
	while (ring[p] != sums->owner)
		p++;
	src[0] = sums->part[ring[(p + 1) % sums->n]];
	for (i = 2; i <= sums->n; i++) {
		src[1] = sums->part[ring[(p + i) % sums->n]];
		combine(sums, out, src, 2);
		src[0] = out;
	}
}

/* The same by pairs: what came, the primary, the secondary. */
static void sum_kangaring(const struct sums *sums, uint8_t *out)
{
	unsigned int pairs = sums->n / 2, swap = sums->channel % 2, p = 0, i, at;
	uint16_t ring[MAX];
	const void *src[3];

	nrt_ring_order(sums->reference->plan, sums->rank, sums->n, sums->channel, ring);
	while (ring[p] != sums->owner)
		p++;
	p /= 2;
	for (i = 1; i <= pairs; i++) {
		at = (p + i) % pairs * 2;
		src[0] = out;
		src[1] = sums->part[ring[at + swap]];
		src[2] = sums->part[ring[at + !swap]];
		if (i == 1)
			combine(sums, out, src + 1, 2);
		else
			combine(sums, out, src, 3);
	}
}

/* In the order of the members; the first 16, then 15 at a time behind what there is. */
static void sum_mesh(const struct sums *sums, uint8_t *out)
{
	const void *src[NRT_PLAN_MAX_SRC];
	unsigned int i, nr = 0;

	for (i = 0; i < sums->n; i++) {
		if (nr == NRT_PLAN_MAX_SRC) {
			combine(sums, out, src, nr);
			src[0] = out;
			nr = 1;
		}
		src[nr++] = sums->part[i];
	}
	combine(sums, out, src, nr);
}

/* What @member has after @levels levels. */
static const uint8_t *sum_level(const struct sums *sums, unsigned int member, unsigned int levels)
{
	unsigned int half = sums->n >> levels;
	uint8_t *to = sums->room + (MAX * (levels & 1) + member) * sums->most;
	const void *src[2];

	if (!levels)
		return sums->part[member];
	src[0] = sum_level(sums, member & ~half, levels - 1);
	src[1] = sum_level(sums, member | half, levels - 1);
	combine(sums, to, src, 2);
	return to;
}

static void sum_rdh(const struct sums *sums, uint8_t *out)
{
	unsigned int levels = 0;

	while (1u << levels < sums->n)
		levels++;
	memcpy(out, sum_level(sums, sums->owner, levels), sums->bytes);
}

static void sum(const struct sums *sums, enum nrt_plan_algorithm algorithm, uint8_t *out)
{
	if (sums->n == 1) {
		memcpy(out, sums->part[0], sums->bytes);
		return;
	}
	switch (algorithm) {
	case NRT_PLAN_MESH:
	case NRT_PLAN_MESH_ONE:
		return sum_mesh(sums, out);
	case NRT_PLAN_KANGARING:
		return sum_kangaring(sums, out);
	case NRT_PLAN_RDH:
		return sum_rdh(sums, out);
	default:
		return sum_ring(sums, out);
	}
}

/**
 * struct range - bytes that are reduced in the same way
 * @at: first byte in INPUT of every rank
 * @bytes: how many
 * @channel: by which
 * @rank: owner; of HIER: has the owner's index in its group
 * @group: of HIER: the owner's
 */
struct range {
	uint64_t at;
	uint64_t bytes;
	unsigned int channel;
	unsigned int rank;
	unsigned int group;
};

static void sum_flat(struct sums *sums, const struct range *range, uint8_t *out)
{
	const struct nrt_reference *reference = sums->reference;
	uint16_t rank[MAX];
	unsigned int i;

	sums->n = reference->plan->nr_ranks;
	sums->rank = rank;
	sums->owner = range->rank;
	for (i = 0; i < sums->n; i++) {
		rank[i] = (uint16_t)i;
		sums->part[i] = reference->input[i] + range->at;
	}
	sum(sums, reference->plan->choice.algorithm, out);
}

/* Each group for itself, then the results of the groups. */
static void sum_hier(struct sums *sums, const struct nrt_plan_groups *groups,
		     const struct range *range, uint8_t *out)
{
	const struct nrt_reference *reference = sums->reference;
	const struct nrt_plan_choice *choice = &reference->plan->choice;
	uint8_t *results = sums->room + 2 * MAX * sums->most;
	unsigned int local = groups->local[range->rank], g, i;
	uint16_t rank[MAX];

	for (g = 0; g < groups->nr; g++) {
		sums->n = groups->size;
		sums->rank = &groups->rank[g * groups->size];
		sums->owner = local;
		for (i = 0; i < groups->size; i++)
			sums->part[i] = reference->input[sums->rank[i]] + range->at;
		sum(sums, choice->intra, results + g * sums->most);
		rank[g] = sums->rank[local];
	}
	sums->n = groups->nr;
	sums->rank = rank;
	sums->owner = range->group;
	for (g = 0; g < groups->nr; g++)
		sums->part[g] = results + g * sums->most;
	sum(sums, choice->inter, out);
}

static void sum_range(struct sums *sums, const struct nrt_plan_groups *groups,
		      const struct range *range, uint8_t *out)
{
	sums->channel = range->channel;
	sums->bytes = range->bytes;
	if (sums->reference->plan->choice.algorithm == NRT_PLAN_HIER)
		sum_hier(sums, groups, range, out);
	else
		sum_flat(sums, range, out);
}

/* Part @i of @n of a range. */
static struct range part_of(const struct nrt_plan *plan, struct range range, unsigned int n,
			    unsigned int i)
{
	uint64_t lo = nrt_stage_slice(plan, range.bytes, n, i);

	range.bytes = nrt_stage_slice(plan, range.bytes, n, i + 1) - lo;
	range.at += lo;
	return range;
}

static void all_reduce_range(struct sums *sums, const struct nrt_plan_groups *groups,
			     struct range whole, uint8_t *output)
{
	const struct nrt_plan *plan = sums->reference->plan;
	struct range range, inner;
	unsigned int i, g;

	if (plan->choice.algorithm == NRT_PLAN_MESH_ONE || plan->nr_ranks == 1)
		return sum_range(sums, groups, &whole, output + whole.at);
	if (plan->choice.algorithm != NRT_PLAN_HIER) {
		for (i = 0; i < plan->nr_ranks; i++) {
			range = part_of(plan, whole, plan->nr_ranks, i);
			range.rank = i;
			sum_range(sums, groups, &range, output + range.at);
		}
		return;
	}
	for (i = 0; i < groups->size; i++) {
		range = part_of(plan, whole, groups->size, i);
		for (g = 0; g < groups->nr; g++) {
			inner = part_of(plan, range, groups->nr, g);
			inner.rank = groups->rank[g * groups->size + i];
			inner.group = g;
			sum_range(sums, groups, &inner, output + inner.at);
		}
	}
}

static NRT_STATUS reduced(const struct nrt_reference *reference, unsigned int rank,
			  uint8_t *output, struct nrt_error *error)
{
	const struct nrt_plan *plan = reference->plan;
	struct sums sums = {
		.reference = reference, .most = (plan->block / ALIGN + 1) * ALIGN,
	};
	struct range whole = { .bytes = plan->block }, range;
	struct nrt_plan_groups groups = { 0 };
	unsigned int c;

	sums.room = malloc(3 * MAX * sums.most);
	if (!sums.room)
		return nrt_error_memory(error);
	nrt_plan_find_groups(plan, plan->choice.by_chip, &groups);
	for (c = 0; c < plan->nr_channels; c++) {
		range = part_of(plan, whole, plan->nr_channels, c);
		range.channel = c;
		range.rank = rank;
		range.group = groups.group[rank];
		if (plan->op == NRT_PLAN_ALL_REDUCE) {
			all_reduce_range(&sums, &groups, range, output);
		} else {
			uint8_t *out = output + range.at;

			range.at += rank * plan->block;
			sum_range(&sums, &groups, &range, out);
		}
	}
	free(sums.room);
	return NRT_SUCCESS;
}

static void permuted(const struct nrt_reference *reference, unsigned int rank, uint8_t *output)
{
	const struct nrt_plan *plan = reference->plan;
	unsigned int i;

	for (i = 0; i < plan->nr_pairs; i++)
		if (plan->pairs[i].target == rank)
			memcpy(output, reference->input[plan->pairs[i].source], plan->block);
}

static void ring_permuted(const struct nrt_reference *reference, unsigned int rank,
			  uint8_t *output)
{
	const struct nrt_plan *plan = reference->plan;
	uint16_t all[MAX], ring[MAX];
	unsigned int n = plan->nr_ranks, c, i, p;
	const void *src[2];

	for (i = 0; i < n; i++)
		all[i] = (uint16_t)i;
	for (c = 0; c < plan->nr_channels; c++) {
		nrt_ring_order(plan, all, n, c, ring);
		for (p = 0; ring[p] != rank;)
			p++;
		src[0] = reference->input[ring[(p + n - 1) % n]] + c * plan->block;
		src[1] = (const uint8_t *)src[0] + plan->nr_channels * plan->block;
		if (plan->reduce)
			reference->combine(reference->arg, plan->reduce, output + c * plan->block,
					   src, 2, plan->count);
		else
			memcpy(output + c * plan->block, src[0], plan->block);
	}
}

/* Row @row of the metadata of @rank. */
static const uint32_t *row_of(const struct nrt_reference *reference, unsigned int rank,
			      enum nrt_plan_row row)
{
	return reference->meta[rank] + row * reference->plan->nr_ranks;
}

static NRT_STATUS too_long(struct nrt_error *error, unsigned int source, unsigned int rank)
{
	return nrt_error_set(error, NRT_INVALID,
			     "the metadata of rank %u has a block for rank %u that is too long or leaves its tensor",
			     source, rank);
}

static NRT_STATUS varied(const struct nrt_reference *reference, unsigned int rank,
			 uint8_t *output, struct nrt_error *error)
{
	const struct nrt_plan *plan = reference->plan;
	unsigned int s, column;

	for (s = 0; s < plan->nr_ranks; s++) {
		uint64_t count, from, to = s * plan->count;

		column = plan->op == NRT_PLAN_ALL_GATHER_V ? 0 : rank;
		count = row_of(reference, s, NRT_PLAN_SEND_COUNTS)[column];
		from = row_of(reference, s, NRT_PLAN_SEND_DISPLS)[column];
		if (plan->has_rdispls)
			to = row_of(reference, rank, NRT_PLAN_RECV_DISPLS)[s];
		if (count > plan->count ||
		    (from + count) * plan->element > plan->bytes[NRT_PLAN_INPUT] ||
		    (to + count) * plan->element > plan->bytes[NRT_PLAN_OUTPUT])
			return too_long(error, s, rank);
		memcpy(output + to * plan->element, reference->input[s] + from * plan->element,
		       count * plan->element);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS reduced_varied(const struct nrt_reference *reference, unsigned int rank,
				 uint8_t *output, struct nrt_error *error)
{
	const struct nrt_plan *plan = reference->plan;
	struct sums sums = { .reference = reference, .n = plan->nr_ranks };
	uint64_t count = row_of(reference, rank, NRT_PLAN_SEND_COUNTS)[rank], from;
	unsigned int s;

	sums.bytes = count * plan->element;
	for (s = 0; s < plan->nr_ranks; s++) {
		from = row_of(reference, s, NRT_PLAN_SEND_DISPLS)[rank];
		if (count > plan->count ||
		    (from + count) * plan->element > plan->bytes[NRT_PLAN_INPUT])
			return too_long(error, s, rank);
		sums.part[s] = reference->input[s] + from * plan->element;
	}
	sum_mesh(&sums, output);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_plan_reference(const struct nrt_reference *reference, unsigned int rank,
			      uint8_t *output, struct nrt_error *error)
{
	const struct nrt_plan *plan = reference->plan;
	uint64_t block = plan->block;
	unsigned int i;

	switch (plan->op) {
	case NRT_PLAN_ALL_REDUCE:
	case NRT_PLAN_REDUCE_SCATTER:
		return reduced(reference, rank, output, error);
	case NRT_PLAN_ALL_GATHER:
		for (i = 0; i < plan->nr_ranks; i++)
			memcpy(output + i * block, reference->input[i], block);
		break;
	case NRT_PLAN_ALL_TO_ALL:
		for (i = 0; i < plan->nr_ranks; i++)
			memcpy(output + i * block, reference->input[i] + rank * block, block);
		break;
	case NRT_PLAN_PERMUTE:
		permuted(reference, rank, output);
		break;
	case NRT_PLAN_PERMUTE_RING:
		ring_permuted(reference, rank, output);
		break;
	case NRT_PLAN_BROADCAST:
		memcpy(output, reference->input[plan->root], block);
		break;
	case NRT_PLAN_ALL_GATHER_V:
	case NRT_PLAN_ALL_TO_ALL_V:
		return varied(reference, rank, output, error);
	case NRT_PLAN_REDUCE_SCATTER_V:
		return reduced_varied(reference, rank, output, error);
	default:
		break;
	}
	return NRT_SUCCESS;
}
