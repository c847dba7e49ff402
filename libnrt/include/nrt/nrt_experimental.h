/* SPDX-License-Identifier: MIT */
/*
 * The part of the public API that may still change. The rules of nrt.h hold.
 */
#ifndef NRT_EXPERIMENTAL_H
#define NRT_EXPERIMENTAL_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NRT_TENSOR_NAME_MAX	256

typedef enum {
	NRT_TENSOR_USAGE_INPUT = 0,
	NRT_TENSOR_USAGE_OUTPUT = 1,
} nrt_tensor_usage_t;

/**
 * struct nrt_tensor_info - an input or output of a model (296 bytes)
 * @name: name in the tensor sets
 * @usage: input or output
 * @size: bytes
 * @dtype: element type
 * @shape: @ndim elements of each dimension, the outermost first
 * @ndim: dimensions
 */
typedef struct nrt_tensor_info {
	char name[NRT_TENSOR_NAME_MAX];
	nrt_tensor_usage_t usage;
	size_t size;
	nrt_dtype_t dtype;
	uint32_t *shape;
	uint32_t ndim;
} nrt_tensor_info_t;

/**
 * struct nrt_tensor_info_array - all inputs and outputs of a model
 * @tensor_count: elements
 * @tensor_array: in ascending var_id
 */
typedef struct nrt_tensor_info_array {
	uint64_t tensor_count;
	nrt_tensor_info_t tensor_array[];
} nrt_tensor_info_array_t;

/**
 * struct nrt_model_info - facts of a loaded model (4 bytes, append-only)
 * @vnc: core it is loaded on
 */
typedef struct nrt_model_info {
	uint32_t vnc;
} nrt_model_info_t;

#pragma GCC visibility push(default)

/**
 * nrt_get_model_tensor_info() - inputs and outputs of a model
 * @model: model
 * @tensor_info: out; free it with nrt_free_model_tensor_info()
 */
NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info);

/**
 * nrt_free_model_tensor_info() - free the answer; may be called at any time
 * @tensor_info: the array, or NULL
 */
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info);

/**
 * nrt_get_model_instance_count() - instances of a model, deprecated
 * @model: model
 * @instance_count: out: always 1
 */
NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count);

/**
 * nrt_get_model_info() - facts of a model
 * @model: model
 * @info: filled
 * @info_size_in: sizeof(nrt_model_info_t) of the caller
 * @info_size_out: bytes written, or NULL
 */
NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info,
			      size_t info_size_in, size_t *info_size_out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_EXPERIMENTAL_H */
