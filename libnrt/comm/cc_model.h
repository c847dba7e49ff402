/* SPDX-License-Identifier: MIT */
/*
 * Collectives of a model: those that its NEFF names and its engines start.
 */
#ifndef LIBNRT_COMM_CC_MODEL_H
#define LIBNRT_COMM_CC_MODEL_H

#include "comm/world.h"
#include "object/model.h"

/*
 * @model, which has collectives, is rank @rank of @count from now on, until it is released. The
 * ranks meet when it is first executed, if they have not met before. NRT_INVALID: a collective
 * has no group with the rank, or one with a rank that there is not; NRT_RESOURCE.
 */
NRT_STATUS nrt_cc_model_join(struct nrt_worlds *worlds, struct nrt_model *model, uint32_t rank,
			     uint32_t count, struct nrt_error *error);

#endif /* LIBNRT_COMM_CC_MODEL_H */
