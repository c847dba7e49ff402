/* SPDX-License-Identifier: MIT */
/*
 * The plan that libnrt makes for a group of ranks, and what comes out of it when sums are rounded:
 * then the order matters in which the plan adds (Documentation/libnrt/collectives.rst). It also
 * knows what comes out of operations with metadata.
 */
#ifndef NCCOM_GOLDEN_H
#define NCCOM_GOLDEN_H

#include <stdatomic.h>

#include "operation.h"
#include "pairs.h"
#include "plan/plan.h"

struct golden;

/**
 * struct golden_of - a group and a size
 * @operation, @reduction, @type, @shape: what is done
 * @ranks: of the group
 * @rank: their cores, in order
 * @pairs: of a permutation
 * @has_rdispls: of metadata
 */
struct golden_of {
	const struct operation *operation;
	const struct reduction *reduction;
	const struct type *type;
	const struct shape *shape;
	unsigned int ranks;
	const uint32_t *rank;
	const struct pairs *pairs;
	bool has_rdispls;
};

/* libnrt must be initialised. NULL and @error. */
struct golden *golden_new(const struct golden_of *of, struct nrt_error *error);
void golden_free(struct golden *golden);

/* As the public tool calls it: "ring", "mesh", "kangaring", "rdh", "hier". */
const char *golden_algorithm(const struct golden *golden);

/*
 * Do the outputs hold sums of some of the ranks meanwhile, so that two ranks that do the same block
 * cannot have one output?
 */
bool golden_adds_in_output(const struct golden *golden);

/* Bytes of scratch of a rank. */
uint64_t golden_scratch(const struct golden *golden);

/* Bytes of the host that golden_reduce() takes. */
uint64_t golden_bytes(const struct golden *golden);

/*
 * Work out the outputs. @input: of each rank, and @meta: its metadata, or NULL; they are not needed
 * afterwards. What is not written has VALUES_UNWRITTEN. With @stop the results are nonsense, but
 * soon there. 0, or -1 and @error.
 */
int golden_reduce(struct golden *golden, const uint8_t *const *input, const uint32_t *const *meta,
		  const atomic_bool *stop, struct nrt_error *error);

/* The output of the rank at place @me, after golden_reduce(); NULL: that was not called. */
const uint8_t *golden_output(const struct golden *golden, unsigned int me);

#endif /* NCCOM_GOLDEN_H */
