/* SPDX-License-Identifier: MIT */
/*
 * Groups of ranks of a world that do collectives together, and the programs that they run.
 *
 * A group is told from others by its ranks in their order. What a rank keeps of one: semaphores of
 * its CC-core that the others may post, scratch memory, the buffers of the others that its
 * programs write to, and the programs themselves. A program is made once for each collective,
 * type and size, and then runs as often as it is asked for.
 *
 * Before each run the ranks agree on the host: they tell what they are about to do, and which
 * buffers the others need. When one has another buffer than the last time, all exchange them. A
 * program that follows another one is submitted when all ranks have seen the end of that, because
 * both use the same semaphores.
 *
 * Only the steps of collective requests of one core use a group of the host, one after the other,
 * and those of executions a group of models.
 */
#ifndef LIBNRT_COMM_CC_GROUP_H
#define LIBNRT_COMM_CC_GROUP_H

#include "comm/world.h"
#include "program/cc_build.h"

struct nrt_cc_group;
struct nrt_cc_code;

/* Bytes of a buffer; @length 0: there are none. */
struct nrt_cc_bytes {
	struct nrt_bo *bo;
	uint64_t offset;
	uint64_t length;
};

/* Who uses a group: each has groups, and if there are two a CC-core, of its own. */
enum nrt_cc_user {
	NRT_CC_HOST,
	NRT_CC_MODEL,
	NRT_CC_NR_USERS
};

/**
 * struct nrt_cc_signal - how a program of a core starts a collective, and learns its end
 * @used: false: it starts at once, and nobody is told
 * @start: semaphore of the CC-core, from which 1 is taken at the start
 * @core, @done: core of the chip, and its semaphore to which 1 is added at the end
 */
struct nrt_cc_signal {
	bool used;
	unsigned int start;
	unsigned int core;
	unsigned int done;
};

/**
 * struct nrt_cc_run - a collective that a rank takes part in
 * @op, @reduce, @dtype, @count, @in_place: as in struct nrt_plan_ask
 * @pairs, @nr_pairs, @root, @nr_channels, @priority: likewise; the pairs are the caller's
 * @input, @output: where they are, from multiples of 4 bytes on. In place only the larger one is
 *	used, or the output if they are equal
 * @signal: of this rank alone
 */
struct nrt_cc_run {
	enum nrt_plan_op op;
	enum nrt_plan_reduce reduce;
	uint8_t dtype;
	uint64_t count;
	bool in_place;
	const struct nrt_plan_pair *pairs;
	unsigned int nr_pairs;
	unsigned int root;
	unsigned int nr_channels;
	uint8_t priority;
	struct nrt_cc_bytes input;
	struct nrt_cc_bytes output;
	struct nrt_cc_signal signal;
};

/**
 * struct nrt_cc_job - a run that has begun
 * @code: its program, with a reference
 * @running: its job
 */
struct nrt_cc_job {
	struct nrt_cc_code *code;
	struct nrt_running running;
};

/* The group of ranks @ranks, @nr of them, of which place @me is this one. NULL and @error. */
struct nrt_cc_group *nrt_cc_group_find(struct nrt_world *world, enum nrt_cc_user user,
				       const uint32_t *ranks, uint32_t nr, uint32_t me,
				       struct nrt_error *error);

/*
 * Agree with the others, and begin @run. Whoever fails tells them. On success nrt_cc_end() must
 * follow.
 */
NRT_STATUS nrt_cc_begin(struct nrt_cc_group *group, const struct nrt_cc_run *run,
			struct nrt_cc_job *job, struct nrt_error *error);

/* Wait for its end. A failure is one of the whole world. */
NRT_STATUS nrt_cc_end(struct nrt_cc_group *group, struct nrt_cc_job *job,
		      struct nrt_error *error);

/* Nobody uses @world any more: end its groups. */
void nrt_cc_groups_free(struct nrt_world *world);

/* --- comm/cc_code.c: programs on the device --- */

/**
 * struct nrt_cc_peer - a rank of the group, as this one sees it
 * @grant: of its semaphores, @nr_sems of them, or -1
 * @bo: buffers of it that were exchanged last, by enum cc_shown; imported, or NULL
 * @offset, @length: of the bytes of the run under way in them
 */
struct nrt_cc_peer {
	int grant;
	unsigned int nr_sems;
	struct nrt_bo *bo[CC_SHOWN_SEMAPHORES];
	uint64_t offset[CC_SHOWN_SEMAPHORES];
	uint64_t length[CC_SHOWN_SEMAPHORES];
};

/**
 * struct nrt_cc_code - a program on the device
 * @next: list of the group, the last one that ran first
 * @refs: the list, and each run
 * @cc: CC-core
 * @plan, @part: what it does
 * @program: what it is; without image and rings, which the device has
 * @first_sem: number of the rank's semaphore 0 on @cc
 * @arena: its memory
 * @queues, @nr_queues: of its job
 * @start: of its job
 * @view: windows
 * @epoch: of the group when @view was last filled
 * @nr_channels: as they were asked for; those of @plan may be more
 * @signal: likewise
 */
struct nrt_cc_code {
	struct nrt_cc_code *next;
	atomic_uint refs;
	struct nrt_core *cc;
	struct nrt_plan *plan;
	struct nrt_plan_program part;
	struct cc_program program;
	unsigned int first_sem;
	struct nrt_bo *arena;
	struct drm_neuron_queue *queues;
	uint32_t nr_queues;
	struct drm_neuron_start start;
	struct nrt_view view;
	uint64_t epoch;
	unsigned int nr_channels;
	struct nrt_cc_signal signal;
};

/* Make the part of rank @rank of @plan, which goes with it, also after a failure. */
NRT_STATUS nrt_cc_code_new(struct nrt_core *cc, unsigned int cc_of_core, unsigned int cc_per_core,
			   struct nrt_plan *plan, unsigned int rank, unsigned int first_sem,
			   const struct nrt_cc_signal *signal, struct nrt_cc_code **code,
			   struct nrt_error *error);
void nrt_cc_code_put(struct nrt_cc_code *code);

/*
 * With the lock of the CC-core: fill the windows. @own: buffers of this rank, by enum cc_shown;
 * @peers: all ranks of the group.
 */
void nrt_cc_code_show(struct nrt_cc_code *code, const struct nrt_cc_bytes own[CC_SHOWN_SEMAPHORES],
		      const struct nrt_cc_peer *peers, unsigned int first_sem,
		      unsigned int nr_sems, uint64_t epoch);

/* Of the window @what: DRM_NEURON_WINDOW_READ and _WRITE for @access (struct nrt_plan_peer). */
uint32_t nrt_cc_rights(const struct nrt_plan *plan, uint8_t access, enum cc_shown what);

/* Why the job of @code failed: where the rank is in the plan, and whom it waits for. */
NRT_STATUS nrt_cc_explain(struct nrt_cc_code *code, const struct drm_neuron_wait_job *result,
			  const uint32_t *ranks, struct nrt_error *error);

#endif /* LIBNRT_COMM_CC_GROUP_H */
