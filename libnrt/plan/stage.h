/* SPDX-License-Identifier: MIT */
/*
 * Stages: what a team of ranks does with an algorithm. A collective is one stage or, with two
 * levels of groups, several. collectives.rst describes the algorithms and their order of reduction.
 *
 * A generator makes the steps of this rank. Those of the other members fit because all members
 * count in the same way: numbers of steps, semaphores and bytes of scratch depend on the team's
 * size and on @most, not on who asks.
 */
#ifndef LIBNRT_PLAN_STAGE_H
#define LIBNRT_PLAN_STAGE_H

#include "plan/build.h"

/**
 * struct nrt_stage - a stage of one channel
 * @n: members of the team
 * @me: this rank's index in it
 * @rank: of each member
 * @ring: RING and KANGARING: members in the order of the ring
 * @from: for each block, its zone in the memory of a member that gives it. REDUCE_SCATTER: every
 *	member gives every block; ALL_GATHER: member i gives block i
 * @to: for each block, its zone in the memory of a member that gets it. REDUCE_SCATTER: member i
 *	gets block i; ALL_GATHER: every member gets all
 * @most: bytes of a block at most, of this team and of those that do the same elsewhere: what is
 *	allocated goes by it, so that all ranks allocate the same
 * @placed: ALL_GATHER: a member's own block is at its @to already
 * @queues: that it may use
 * @slices: pieces of a block that follow each other through the ring
 * @alias: @from and @to are the same memory, so own results may overwrite what is still to be sent
 *
 * There is one block for each member.
 */
struct nrt_stage {
	unsigned int n;
	unsigned int me;
	const uint16_t *rank;
	const uint16_t *ring;
	const struct nrt_zone *from;
	const struct nrt_zone *to;
	uint64_t most;
	bool placed;
	bool alias;
	unsigned int queues;
	unsigned int slices;
};

/* REDUCE_SCATTER, ALL_GATHER and ALL_REDUCE: the first and then the second, with @to of both. */
void nrt_ring_stage(struct nrt_build *build, const struct nrt_stage *stage, enum nrt_plan_op op);
void nrt_mesh_stage(struct nrt_build *build, const struct nrt_stage *stage, enum nrt_plan_op op);
void nrt_kangaring_stage(struct nrt_build *build, const struct nrt_stage *stage,
			 enum nrt_plan_op op);
void nrt_rdh_stage(struct nrt_build *build, const struct nrt_stage *stage, enum nrt_plan_op op);

/* ALL_REDUCE in one step: all blocks are one, @from[0] to @to[0]. */
void nrt_mesh_one_stage(struct nrt_build *build, const struct nrt_stage *stage);

/* Slice @k of @bytes that are cut in @slices: its first byte; slice @slices begins at the end. */
uint64_t nrt_stage_slice(const struct nrt_plan *plan, uint64_t bytes, unsigned int slices,
			 unsigned int k);

#endif /* LIBNRT_PLAN_STAGE_H */
