// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt_emu.h>

#include "golden.h"
#include "plan/reference.h"
#include "values.h"

/**
 * struct golden - a plan and its results
 * @type: of the elements
 * @plan: as libnrt makes it
 * @outputs: how many differ: one, or one of each rank
 * @output: them, one after the other, or NULL
 * @numbers: what the words of a type of 1 or 2 bytes mean, or NULL
 * @stop: of golden_reduce()
 */
struct golden {
	const struct type *type;
	struct nrt_plan *plan;
	unsigned int outputs;
	uint8_t *output;
	float *numbers;
	const atomic_bool *stop;
};

/* --- Numbers, in the arithmetic of the chip's DMA engines --- */

static float number_at(const struct golden *golden, const void *src, size_t i)
{
	const uint8_t *bytes = src;
	uint32_t word;
	uint16_t half;

	/* A part of a block may begin anywhere. */
	switch (golden->type->size) {
	case 1:
		return golden->numbers[bytes[i]];
	case 2:
		memcpy(&half, bytes + 2 * i, sizeof(half));
		return golden->numbers[half];
	default:
		memcpy(&word, bytes + 4 * i, sizeof(word));
		return (float)values_number(golden->type, word);
	}
}

/*
 * To nearest, ties to even; what is too large becomes infinity. No NaN comes here, and integers are
 * exact.
 */
static uint32_t round_to(const struct type *type, float number)
{
	const int bits = (int)type->mantissa;
	uint32_t word, sign, fraction, lost, half, result;
	int exponent, shift = 23 - bits;

	if (!type->exponent)
		return (uint32_t)(int64_t)number;
	memcpy(&word, &number, sizeof(word));
	sign = word >> 31 << (bits + (int)type->exponent);
	fraction = word & 0x7fffff;
	exponent = (int)(word >> 23 & 0xff);
	if (exponent)
		fraction |= 0x800000;
	else
		exponent = 1;
	exponent += (1 << (type->exponent - 1)) - 1 - 127;
	/* Too small for a normal number: more bits are lost. */
	if (exponent < 1) {
		shift += 1 - exponent;
		exponent = 1;
	}
	if (shift > 24)
		return sign;
	result = fraction >> shift;
	half = shift ? 1u << (shift - 1) : 0;
	lost = fraction & ((1u << shift) - 1);
	if (shift && (lost > half || (lost == half && (result & 1))))
		result++;
	/* The bit before the point, if it is there, adds to the exponent. */
	result += (uint32_t)(exponent - 1) << bits;
	if (result > ((1u << type->exponent) - 1) << bits)
		result = ((1u << type->exponent) - 1) << bits;
	return sign | result;
}

static float combine_two(enum nrt_plan_reduce reduce, float a, float b)
{
	if (reduce == NRT_PLAN_ADD)
		return a + b;
	return (reduce == NRT_PLAN_MAX) == (a > b) ? a : b;
}

static void combine(void *arg, enum nrt_plan_reduce reduce, void *dst, const void *const *src,
		    unsigned int nr_src, size_t n)
{
	const struct golden *golden = arg;
	const unsigned int size = golden->type->size;
	unsigned int s;
	uint32_t word;
	float sum;
	size_t i;

	if (atomic_load(golden->stop))
		return;
	for (i = 0; i < n; i++) {
		sum = number_at(golden, src[0], i);
		for (s = 1; s < nr_src; s++)
			sum = combine_two(reduce, sum, number_at(golden, src[s], i));
		word = round_to(golden->type, sum);
		memcpy((uint8_t *)dst + i * size, &word, size);
	}
}

static int make_numbers(struct golden *golden)
{
	const struct type *type = golden->type;
	uint32_t words = 1u << (8 * type->size % 32), i;

	if (type->size == 4)
		return 0;
	golden->numbers = malloc(words * sizeof(*golden->numbers));
	for (i = 0; golden->numbers && i < words; i++)
		golden->numbers[i] = (float)values_number(type, i);
	return golden->numbers ? 0 : -1;
}

/* --- Plans --- */

static enum nrt_plan_reduce reduce_of(const struct golden_of *of)
{
	if (!of->operation->reduces)
		return NRT_PLAN_REDUCE_NONE;
	switch (of->reduction->op) {
	case NRT_OP_MIN:
		return NRT_PLAN_MIN;
	case NRT_OP_MAX:
		return NRT_PLAN_MAX;
	default:
		return NRT_PLAN_ADD;
	}
}

static NRT_STATUS find_places(const struct golden_of *of, struct nrt_plan_place *places,
			      enum nrt_plan_topology *topology)
{
	nrt_emu_place_t place;
	NRT_STATUS status;
	unsigned int i;

	for (i = 0; i < of->ranks; i++) {
		status = nrt_emu_get_core_place(of->rank[i], &place, sizeof(place));
		if (status)
			return status;
		places[i] = (struct nrt_plan_place){
			.server = (uint16_t)place.server,
			.chip = (uint16_t)place.chip,
			.core = (uint16_t)place.core,
		};
		/* All ranks of a world have the same. */
		*topology = (enum nrt_plan_topology)place.topology;
	}
	return NRT_SUCCESS;
}

/* Of a permutation, as in the NEFF. */
static void fill_pairs(const struct golden_of *of, struct nrt_plan_ask *ask,
		       struct nrt_plan_pair *pairs)
{
	unsigned int i;

	for (i = 0; i < of->pairs->nr; i++)
		pairs[i] = (struct nrt_plan_pair){
			.source = (uint16_t)of->pairs->pair[i][0],
			.target = (uint16_t)of->pairs->pair[i][1],
		};
	ask->pairs = i ? pairs : NULL;
	ask->nr_pairs = i;
}

/* The request that libnrt makes (libnrt/comm/cc_group.c and cc_items.c). */
static NRT_STATUS make_plan(const struct golden_of *of, struct nrt_plan **plan,
			    struct nrt_error *error)
{
	struct nrt_plan_place *places = calloc(of->ranks, sizeof(*places));
	struct nrt_plan_pair *pairs = calloc(of->ranks, sizeof(*pairs));
	const char *algorithm = getenv("NEURON_EMU_CC_ALGORITHM");
	struct nrt_plan_ask ask = {
		.op = of->operation->plan_op,
		.reduce = reduce_of(of),
		.dtype = (uint8_t)of->type->dtype,
		.count = of->shape->block,
		.nr_ranks = of->ranks,
		.has_rdispls = of->has_rdispls,
		.places = places,
		.algorithm = algorithm && *algorithm ? algorithm : NULL,
	};
	NRT_STATUS status;

	if (!places || !pairs) {
		free(places);
		free(pairs);
		return nrt_error_memory(error);
	}
	fill_pairs(of, &ask, pairs);
	status = find_places(of, places, &ask.topology);
	if (status)
		nrt_error_set(error, status, "where the ranks are is not known");
	else
		status = nrt_plan_make(&ask, plan, error);
	free(pairs);
	free(places);
	return status;
}

struct golden *golden_new(const struct golden_of *of, struct nrt_error *error)
{
	struct golden *golden = calloc(1, sizeof(*golden));

	if (!golden) {
		nrt_error_memory(error);
		return NULL;
	}
	golden->type = of->type;
	/* All members of an all-reduce have the same bits. */
	golden->outputs = of->operation->plan_op == NRT_PLAN_ALL_REDUCE ? 1 : of->ranks;
	if (!make_plan(of, &golden->plan, error))
		return golden;
	free(golden);
	return NULL;
}

void golden_free(struct golden *golden)
{
	if (!golden)
		return;
	nrt_plan_free(golden->plan);
	free(golden->output);
	free(golden->numbers);
	free(golden);
}

const char *golden_algorithm(const struct golden *golden)
{
	/* The public tool does not tell one step from two. */
	if (golden->plan->choice.algorithm == NRT_PLAN_MESH_ONE)
		return nrt_plan_algorithm_name(NRT_PLAN_MESH);
	return nrt_plan_algorithm_name(golden->plan->choice.algorithm);
}

bool golden_adds_in_output(const struct golden *golden)
{
	const struct nrt_plan *plan = golden->plan;

	if (plan->op != NRT_PLAN_ALL_REDUCE)
		return false;
	/* Ranks of one chip do the same blocks at the inner level. */
	return plan->choice.algorithm == NRT_PLAN_RDH ||
	       (plan->choice.algorithm == NRT_PLAN_HIER && plan->choice.intra == NRT_PLAN_RDH) ||
	       (plan->choice.algorithm == NRT_PLAN_MESH_ONE && plan->nr_ranks > NRT_PLAN_MAX_SRC);
}

uint64_t golden_scratch(const struct golden *golden)
{
	return golden->plan->bytes[NRT_PLAN_SCRATCH];
}

uint64_t golden_bytes(const struct golden *golden)
{
	return golden->plan->bytes[NRT_PLAN_OUTPUT] * golden->outputs +
	       golden->plan->bytes[NRT_PLAN_INPUT] * golden->plan->nr_ranks;
}

int golden_reduce(struct golden *golden, const uint8_t *const *input, const uint32_t *const *meta,
		  const atomic_bool *stop, struct nrt_error *error)
{
	struct nrt_reference reference = {
		.plan = golden->plan, .input = input, .meta = meta, .combine = combine,
		.arg = golden,
	};
	uint64_t bytes = golden->plan->bytes[NRT_PLAN_OUTPUT];
	unsigned int i;

	golden->stop = stop;
	golden->output = malloc(bytes * golden->outputs);
	if (!golden->output || make_numbers(golden)) {
		nrt_error_memory(error);
		return -1;
	}
	memset(golden->output, VALUES_UNWRITTEN, bytes * golden->outputs);
	for (i = 0; i < golden->outputs; i++)
		if (nrt_plan_reference(&reference, i, golden->output + i * bytes, error))
			return -1;
	return 0;
}

const uint8_t *golden_output(const struct golden *golden, unsigned int me)
{
	if (!golden->output)
		return NULL;
	if (golden->outputs == 1)
		me = 0;
	return golden->output + me * golden->plan->bytes[NRT_PLAN_OUTPUT];
}
