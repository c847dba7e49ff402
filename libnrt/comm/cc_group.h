/* SPDX-License-Identifier: MIT */
/*
 * Groups of ranks of a world that do collectives together when the host asks for them, and the
 * programs that they run. Those of models are in comm/cc_model.h.
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
 * Only the steps of collective requests of one core use a group, one after the other.
 */
#ifndef LIBNRT_COMM_CC_GROUP_H
#define LIBNRT_COMM_CC_GROUP_H

#include "comm/cc_code.h"

struct nrt_cc_group;

/**
 * struct nrt_cc_job - a run that has begun
 * @code: its program, with a reference
 * @timed: it is a member of a time group
 * @running: its job
 */
struct nrt_cc_job {
	struct nrt_cc_code *code;
	bool timed;
	struct nrt_running running;
};

/* The group of ranks @ranks, @nr of them, of which place @me is this one. NULL and @error. */
struct nrt_cc_group *nrt_cc_group_find(struct nrt_world *world, const uint32_t *ranks,
				       uint32_t nr, uint32_t me, struct nrt_error *error);

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

#endif /* LIBNRT_COMM_CC_GROUP_H */
