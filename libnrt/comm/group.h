/* SPDX-License-Identifier: MIT */
/*
 * Groups of models that work together, one on each core: ranks.
 *
 * Before its first execution, and before the next one after a failure, every rank waits
 * for all others, clears the semaphores that peers post to, and waits again, so that all
 * begin in step. When a program reads a peer's input tensors, the ranks also meet before
 * each execution to tell each other where they are.
 */
#ifndef LIBNRT_COMM_GROUP_H
#define LIBNRT_COMM_GROUP_H

#include "object/model.h"

/**
 * struct nrt_groups - the groups of the process
 * @lock: protects the rest
 * @first: the oldest group, or NULL
 * @closing: nobody meets any more
 */
struct nrt_groups {
	pthread_mutex_t lock;
	struct nrt_comm *first;
	bool closing;
};

void nrt_groups_init(struct nrt_groups *groups);

/* Whoever waits for other ranks, or would, fails. */
void nrt_groups_cancel(struct nrt_groups *groups);

/* Of groups that have no members any more. */
void nrt_groups_fini(struct nrt_groups *groups);

/*
 * Make @model rank @rank of the oldest group of @count ranks where that place was never
 * taken, or of a new one. It leaves when it is released. NRT_LOAD_NOT_ENOUGH_NC: the process has
 * fewer cores than the group has ranks; NRT_INVALID: another rank has the model's core.
 */
NRT_STATUS nrt_groups_join(struct nrt_groups *groups, struct nrt_model *model, uint32_t rank,
			   uint32_t count, struct nrt_error *error);

#endif /* LIBNRT_COMM_GROUP_H */
