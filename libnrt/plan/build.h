/* SPDX-License-Identifier: MIT */
/*
 * Builds the program of a rank, step by step. What the generators of algorithms stand on.
 *
 * A step is made in this order: nrt_build_step(), waits, moves, posts. Errors are kept: after the
 * first one nothing is added, and nrt_build_end() returns it.
 */
#ifndef LIBNRT_PLAN_BUILD_H
#define LIBNRT_PLAN_BUILD_H

#include "plan/plan.h"

/**
 * struct nrt_build - a program that is being built
 * @plan, @program: of whom
 * @error, @status: the first error
 * @room_steps, @room_ends, @room_syncs, @room_values: elements for which there is memory
 * @open: a step was begun, which takes waits, moves and posts
 * @moved: and it has a move already
 * @channel: of the steps that come
 * @first_queue: of the channel; nrt_build_step() counts from it
 * @nr_queues: queues that the channel has used
 * @number: of the steps that come
 * @nr_steps: numbers so far are below it
 * @phase: of the steps that come
 * @rights: for each rank: what this rank does to it, in the low half what it does to this rank,
 *	in the high half; as in struct nrt_plan_peer
 * @posts: for each rank: this rank posts it
 */
struct nrt_build {
	const struct nrt_plan *plan;
	struct nrt_plan_program *program;
	struct nrt_error *error;
	NRT_STATUS status;
	size_t room_steps;
	size_t room_ends;
	size_t room_syncs;
	size_t room_values;
	bool open;
	bool moved;
	unsigned int channel;
	unsigned int first_queue;
	unsigned int nr_queues;
	unsigned int number;
	unsigned int nr_steps;
	enum nrt_plan_phase phase;
	uint16_t rights[NRT_PLAN_MAX_RANKS];
	bool posts[NRT_PLAN_MAX_RANKS];
};

/**
 * struct nrt_zone - bytes of a space: @nr runs of @run bytes, @stride apart
 *
 * A zone has the same place in the memory of all ranks that have it.
 */
struct nrt_zone {
	enum nrt_plan_space space;
	uint64_t offset;
	uint64_t run;
	uint64_t nr;
	uint64_t stride;
};

/* Bytes of @zone. */
static inline uint64_t nrt_zone_bytes(const struct nrt_zone *zone)
{
	return zone->run * zone->nr;
}

/* One run of @bytes. */
static inline struct nrt_zone nrt_zone(enum nrt_plan_space space, uint64_t offset, uint64_t bytes)
{
	return (struct nrt_zone){ .space = space, .offset = offset, .run = bytes, .nr = 1 };
}

/**
 * struct nrt_side - a source or destination of a move
 * @rank: whose memory
 * @zone: where
 * @at: first byte that is moved, counted in the zone
 */
struct nrt_side {
	unsigned int rank;
	const struct nrt_zone *zone;
	uint64_t at;
};

void nrt_build_begin(struct nrt_build *build, const struct nrt_plan *plan, unsigned int rank,
		     struct nrt_plan_program *program, struct nrt_error *error);

/* There is no memory for what is to be added. */
void nrt_build_no_memory(struct nrt_build *build);

/* Steps in order of their numbers, peers; NRT_RESOURCE. On an error the program is empty. */
NRT_STATUS nrt_build_end(struct nrt_build *build);

/* The steps of the next channel follow. */
void nrt_build_channel(struct nrt_build *build, unsigned int channel);

/* Semaphores of this rank; the first one of @nr new ones. */
unsigned int nrt_build_sems(struct nrt_build *build, unsigned int nr);
/* What semaphore @sem of this rank is. */
void nrt_build_sem(struct nrt_build *build, unsigned int sem, unsigned int poster,
		   enum nrt_plan_meaning meaning);
/* @rank does this to the memory of this rank: NRT_PLAN_READS, NRT_PLAN_WRITES. */
void nrt_build_allow(struct nrt_build *build, unsigned int rank, unsigned int rights);

/* Room in SCRATCH, the same on all ranks that ask for the same; a multiple of 64. */
uint64_t nrt_build_scratch(struct nrt_build *build, uint64_t bytes);

/* A step on queue @queue of the channel. */
void nrt_build_step(struct nrt_build *build, unsigned int queue);
void nrt_build_wait(struct nrt_build *build, unsigned int rank, unsigned int sem,
		    unsigned int value);
void nrt_build_post(struct nrt_build *build, unsigned int rank, unsigned int sem,
		    unsigned int value);

/* Move @bytes. It becomes several steps where runs end. Nothing to move: the step has no move. */
void nrt_build_copy(struct nrt_build *build, struct nrt_side from, const struct nrt_side *to,
		    unsigned int nr_to, uint64_t bytes);
void nrt_build_combine(struct nrt_build *build, const struct nrt_side *from, unsigned int nr_from,
		       const struct nrt_side *to, unsigned int nr_to, uint64_t bytes);

/*
 * The CC-core waits until the first @nr queues of the channel have moved all. Each has a semaphore,
 * from @sems on.
 */
void nrt_build_fence(struct nrt_build *build, unsigned int sems, unsigned int nr);

/* 1 + the index of the value at @offset of @space. */
unsigned int nrt_build_value(struct nrt_build *build, enum nrt_plan_space space, uint64_t offset);
/*
 * The move just made is of length @length; its first source is @from further, its destination @to.
 * All are such numbers, or 0. Only a copy has the last two.
 */
void nrt_build_vary(struct nrt_build *build, unsigned int length, unsigned int from,
		    unsigned int to);

#endif /* LIBNRT_PLAN_BUILD_H */
