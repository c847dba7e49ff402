// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/generation.h"
#include "rank.h"

/* --- Plans --- */

static void forget_plans(struct lane *lane)
{
	unsigned int i;

	for (i = 0; lane->golden && i < lane->of->groups->nr; i++) {
		golden_free(lane->golden[i]);
		lane->golden[i] = NULL;
	}
}

static int make_plans(struct lane *lane, struct nrt_error *error)
{
	const struct groups *groups = lane->of->groups;
	struct golden_of of = {
		.operation = lane->of->operation,
		.reduction = lane->of->reduction,
		.type = lane->of->type,
		.shape = &lane->shape,
		.ranks = groups->size,
		.pairs = lane->of->pairs,
		.has_rdispls = lane->of->metadata->has_rdispls,
	};
	unsigned int i;

	for (i = 0; i < groups->nr; i++) {
		of.rank = &groups->rank[i * groups->size];
		lane->golden[i] = golden_new(&of, error);
		if (!lane->golden[i])
			return -1;
	}
	return 0;
}

/* Each of several tensors has a part of a block. */
static int check_ratio(const struct ratio *ratio, const struct shape *shape, char why[RANKS_WHY])
{
	unsigned int i = 0;

	while (i < ratio->nr &&
	       ratio_begin(ratio, i, shape->block) < ratio_begin(ratio, i + 1, shape->block))
		i++;
	if (i == ratio->nr)
		return 0;
	snprintf(why, RANKS_WHY, "--coalesced-cc-size-ratio: tensor %u of a block of %llu is empty",
		 i, (unsigned long long)shape->block);
	return -1;
}

/* What the chips are, or NULL: that is not known. */
static const struct neuron_gen *generation(void)
{
	const struct neuron_gen *gens[] = { &neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3 };
	nrt_instance_info_t info = { 0 };
	unsigned int i;

	if (nrt_get_instance_info(&info, sizeof(info)))
		return NULL;
	for (i = 0; i < sizeof(gens) / sizeof(gens[0]); i++)
		if (!strcmp(gens[i]->core_arch, info.arch_name))
			return gens[i];
	return NULL;
}

double ranks_link(void)
{
	const struct neuron_gen *gen = generation();

	return gen ? gen->link_mbps * 1e6 / (1u << 30) : 0;
}

/* *@at: the first byte of a partition that no other operation uses. */
static int place_tiles(struct lane *lane, uint64_t *at, char why[RANKS_WHY])
{
	const struct neuron_gen *gen = generation();
	const struct ranks_op *of = lane->of;

	if (!of->sbuf)
		return 0;
	if (!gen) {
		snprintf(why, RANKS_WHY, "libnrt does not tell what the chips are");
		return -1;
	}
	if (sbuf_place(&lane->sbuf, of->operation, of->type, of->groups->size, lane->shape.block,
		       of->below, *at, gen->sbuf_partition, why))
		return -1;
	*at = lane->sbuf.end;
	return 0;
}

int lane_plan(struct lane *lane, bool shared, uint64_t *at, char why[RANKS_WHY])
{
	const struct ranks_op *of = lane->of;
	struct nrt_error error;

	forget_plans(lane);
	if (make_plans(lane, &error)) {
		snprintf(why, RANKS_WHY, "%.*s", RANKS_WHY - 1, error.text);
		return -1;
	}
	if (shared && golden_adds_in_output(lane->golden[0])) {
		snprintf(why, RANKS_WHY,
			 "--shared-output-buff: %s adds in the outputs; try NEURON_EMU_CC_ALGORITHM=ring",
			 golden_algorithm(lane->golden[0]));
		return -1;
	}
	if (of->operation->varies &&
	    metadata_check(of->metadata, of->operation, of->type, &lane->shape, why))
		return -1;
	return check_ratio(of->ratio, &lane->shape, why) ?: place_tiles(lane, at, why);
}

/* --- Begin and end --- */

int lane_make_values(struct lane *lane)
{
	const struct ranks_op *of = lane->of;
	unsigned int i;

	lane->golden = calloc(of->groups->nr, sizeof(*lane->golden));
	lane->values = calloc(of->groups->nr, sizeof(*lane->values));
	if (!lane->golden || !lane->values)
		return -1;
	for (i = 0; i < of->groups->nr; i++) {
		lane->values[i] = values_new(of->operation, of->reduction, of->type, of->pairs,
					     of->groups->size, of->kind, of->seed + i);
		if (!lane->values[i])
			return -1;
	}
	return 0;
}

void lane_fini(struct lane *lane)
{
	unsigned int i;

	for (i = 0; lane->values && i < lane->of->groups->nr; i++)
		values_free(lane->values[i]);
	forget_plans(lane);
	free(lane->values);
	free(lane->golden);
}
