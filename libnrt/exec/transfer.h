/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous work on tensors: reads, writes and copies.
 */
#ifndef LIBNRT_EXEC_TRANSFER_H
#define LIBNRT_EXEC_TRANSFER_H

#include "exec/compute.h"

/**
 * struct nrt_transfer - what is to be moved
 * @handles: of what goes with the request
 * @unit: which one does it
 * @from, @to: spans with references, which go with the request; one of them may have
 *	no storage: then @host is the other side
 * @from_offset, @to_offset: in the spans; the ranges have been checked
 * @host: the program's memory
 * @size: bytes
 */
struct nrt_transfer {
	struct nrt_handles *handles;
	struct nrt_unit *unit;
	struct nrt_span from;
	struct nrt_span to;
	size_t from_offset;
	size_t to_offset;
	void *host;
	size_t size;
};

/* Schedule it. After a failure the references are still the caller's. */
NRT_STATUS nrt_transfer_schedule(const struct nrt_transfer *transfer,
				 const struct nrt_async *async, nrta_seq_t *seq,
				 struct nrt_error *error);

#endif /* LIBNRT_EXEC_TRANSFER_H */
