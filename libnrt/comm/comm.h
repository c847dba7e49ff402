/* SPDX-License-Identifier: MIT */
/*
 * Groups of models that work together, one on each core: ranks.
 *
 * Before its first execution, and before the next one after a failure, every rank waits
 * for all others, clears the semaphores that peers post to, and waits again, so that all
 * begin in step. When a program reads a peer's input tensors, the ranks also meet before
 * each execution to tell each other where they are.
 */
#ifndef LIBNRT_COMM_H
#define LIBNRT_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct nrt_comm;
struct nrt_model;
struct nrt_state;

/*
 * Make @model rank @rank of the oldest group of @count ranks where that place was never
 * taken, or of a new one. With nrt_state.models_lock.
 */
NRT_STATUS nrt_comm_join(struct nrt_state *state, struct nrt_model *model, uint32_t rank,
			 uint32_t count, struct nrt_error *error);

/* Leave; the group dies with its last member. With nrt_state.models_lock. */
void nrt_comm_leave(struct nrt_state *state, struct nrt_model *model);

/*
 * Before an execution of a rank, after its tensors are bound: meet as needed and note where
 * the variables of peers are. Each meeting takes at most @timeout_ms.
 */
NRT_STATUS nrt_comm_begin(struct nrt_model *model, uint32_t timeout_ms, struct nrt_error *error);

/* The execution failed: all ranks must begin in step again. */
void nrt_comm_failed(struct nrt_model *model);

#endif /* LIBNRT_COMM_H */
