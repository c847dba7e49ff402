/* SPDX-License-Identifier: MIT */
/*
 * Collectives of a model: those that its NEFF names and its engines start.
 *
 * Those of a stream (comm/cc_stream.h) are done by one program of a CC-core, in their order. It is
 * made once for a world, with the plans that all ranks agree in, and is a job of the gang of each
 * execution: the engines start a collective by a semaphore of the CC-core, which tells them the end
 * by one of theirs. So the hosts say nothing while a job runs. Before a job they meet only if
 * another model was executed before it (comm/cc_team.h), or if others touch tensors of an
 * execution, or the shared scratchpad, which may be somewhere else each time.
 */
#ifndef LIBNRT_COMM_CC_MODEL_H
#define LIBNRT_COMM_CC_MODEL_H

#include "comm/world.h"
#include "object/model.h"

/*
 * @model, whose NEFF has collectives, could not be loaded as rank @rank of @count. If the ranks of
 * a world that the program made wait for it in their loads, they are told @why, and this waits for
 * those that will.
 */
void nrt_cc_model_fails(struct nrt_worlds *worlds, const struct nrt_model *model, uint32_t rank,
			uint32_t count, const struct nrt_error *why);

/*
 * @model, which has collectives, is rank @rank of @count from now on, until it is released. If the
 * program made a world of these ranks, all is prepared now, and this waits for all of them;
 * else when the model is first executed. NRT_INVALID: a collective has no group with the rank, or
 * one with a rank that there is not, or the ranks do not agree; NRT_RESOURCE.
 */
NRT_STATUS nrt_cc_model_join(struct nrt_worlds *worlds, struct nrt_model *model, uint32_t rank,
			     uint32_t count, struct nrt_error *error);

#endif /* LIBNRT_COMM_CC_MODEL_H */
