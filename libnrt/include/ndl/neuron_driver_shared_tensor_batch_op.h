/* SPDX-License-Identifier: MIT */
/*
 * An element of a batch of tensor transfers. The public nrt.h takes it from a header of
 * this name.
 */
#ifndef NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H
#define NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H

#include <stdint.h>

typedef uint64_t nrt_tensor_batch_offset_t;
typedef uint64_t nrt_tensor_batch_size_t;

/**
 * struct nrt_tensor_batch_op - one transfer of a batch (24 bytes)
 * @offset: first byte in the tensor
 * @size: bytes
 * @buffer: host memory, source of a write and destination of a read
 */
typedef struct nrt_tensor_batch_op {
	nrt_tensor_batch_offset_t offset;
	nrt_tensor_batch_size_t size;
	void *buffer;
} nrt_tensor_batch_op_t;

#endif /* NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H */
