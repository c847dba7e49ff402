/* SPDX-License-Identifier: MIT */
/*
 * Numerical errors: who made a NaN, and which outputs have one. Only when the environment asks
 * for it (NEURON_FAIL_ON_NAN), because each execution is traced and its outputs are read.
 */
#ifndef LIBNRT_EXEC_NUMBERS_H
#define LIBNRT_EXEC_NUMBERS_H

#include "object/model.h"

/**
 * struct nrt_watched - where the traces of an execution go
 * @trace: buffers, one for each part of the model
 * @bytes: of each; 0: there are none
 */
struct nrt_watched {
	struct nrt_bo *trace[NRT_MAX_LNC];
	uint64_t bytes;
};

/* Buffers for the traces of @model, whose executions come one after the other. */
NRT_STATUS nrt_numbers_buffers(struct nrt_model *model, struct nrt_watched *watched,
			       struct nrt_error *error);

/*
 * After an execution that ended well: NRT_EXEC_COMPLETED_WITH_NUM_ERR if one of its
 * instructions, or an output of a floating-point type, had a NaN.
 */
NRT_STATUS nrt_numbers_check(struct nrt_model *model, const struct nrt_binding *binding,
			     const struct nrt_watched *watched, struct nrt_error *error);

#endif /* LIBNRT_EXEC_NUMBERS_H */
