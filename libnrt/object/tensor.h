/* SPDX-License-Identifier: MIT */
/*
 * Tensors and tensor sets.
 */
#ifndef LIBNRT_TENSOR_H
#define LIBNRT_TENSOR_H

#include <nrt/nrt.h>

#include "hw/device.h"

/**
 * struct nrt_storage - memory that tensors share
 * @refs: tensors
 * @placement: where it is
 * @bo: DEVICE, HOST: buffer
 * @vnc: core it was allocated for, -1: none
 * @memory: VIRTUAL: host memory
 * @owned: @memory is the library's
 * @size: bytes
 */
struct nrt_storage {
	atomic_uint refs;
	nrt_tensor_placement_t placement;
	struct nrt_bo *bo;
	int vnc;
	uint8_t *memory;
	bool owned;
	size_t size;
};

/**
 * struct nrt_tensor - a view of storage
 * @name: or NULL
 * @storage: NULL: an empty tensor
 * @offset: first byte in the storage
 * @size: bytes
 */
struct nrt_tensor {
	char *name;
	struct nrt_storage *storage;
	size_t offset;
	size_t size;
};

/* Host address of the first byte, or NULL. */
uint8_t *nrt_tensor_memory(const struct nrt_tensor *tensor);

/* [offset, offset + size) must lie in a tensor with storage. */
NRT_STATUS nrt_tensor_check(const struct nrt_tensor *tensor, size_t offset, size_t size,
			    struct nrt_error *error);

/* Copy between a tensor and host memory; the range has been checked. */
NRT_STATUS nrt_tensor_get(const struct nrt_tensor *tensor, size_t offset, void *data,
			  size_t size, struct nrt_error *error);
NRT_STATUS nrt_tensor_put(const struct nrt_tensor *tensor, size_t offset, const void *data,
			  size_t size, struct nrt_error *error);

/* The tensor of that name, or NULL. */
struct nrt_tensor *nrt_set_find(const nrt_tensor_set_t *set, const char *name);

/* Up to @size bytes with the names of the set, for an error message. */
void nrt_set_names(const nrt_tensor_set_t *set, char *text, size_t size);

#endif /* LIBNRT_TENSOR_H */
