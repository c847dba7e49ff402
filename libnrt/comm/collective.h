/* SPDX-License-Identifier: MIT */
/*
 * Collectives that a program prepares and schedules itself: requests of a core's unit COLLECTIVES.
 */
#ifndef LIBNRT_COMM_COLLECTIVE_H
#define LIBNRT_COMM_COLLECTIVE_H

#include <nrt/nrt.h>

#include "comm/cc_group.h"
#include "exec/compute.h"
#include "object/tensor.h"

struct nrt_collective;

/**
 * struct nrt_collective_of - what is asked for
 * @worlds: of the process
 * @comm: who takes part; its list is the caller's
 * @inputs, @outputs: @nr spans each, whose references go with the collective on success
 * @dtype, @op, @cc_op: as for nrta_cc_prepare()
 */
struct nrt_collective_of {
	struct nrt_worlds *worlds;
	const nrt_cc_comm_t *comm;
	struct nrt_span *inputs;
	struct nrt_span *outputs;
	size_t nr;
	nrt_dtype_t dtype;
	nrt_op_type_t op;
	nrt_cc_op_type_t cc_op;
};

/* Check it all: nobody else is asked. NRT_INVALID, NRT_RESOURCE; why the world has failed. */
NRT_STATUS nrt_collective_new(const struct nrt_collective_of *what,
			      struct nrt_collective **collective, struct nrt_error *error);
/* References: one at first, which goes with the request when it is scheduled. */
void nrt_collective_hold(struct nrt_collective *collective);
void nrt_collective_free(struct nrt_collective *collective);

/* The core whose unit does it. */
uint32_t nrt_collective_core(const struct nrt_collective *collective);

/* Schedule it; it goes with the request. After a failure it is still the caller's. */
NRT_STATUS nrt_collective_schedule(struct nrt_collective *collective, struct nrt_unit *unit,
				   struct nrt_handles *handles, const struct nrt_async *async,
				   nrta_seq_t *seq, struct nrt_error *error);

#endif /* LIBNRT_COMM_COLLECTIVE_H */
