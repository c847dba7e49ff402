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

typedef enum nrt_tensor_usage {
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

/**
 * struct nrt_ucode_img - an image of microcode (16 bytes)
 * @bin: the image
 * @size: its bytes
 */
typedef struct nrt_ucode_img {
	uint8_t *bin;
	size_t size;
} nrt_ucode_img;

/**
 * struct nrt_ucode_info - microcode of an engine (32 bytes)
 * @iram: instructions
 * @dram: data
 */
typedef struct nrt_ucode_info {
	nrt_ucode_img iram;
	nrt_ucode_img dram;
} nrt_ucode_info;

/**
 * typedef NRT_ASYNC_EXEC_STATUS_CALLBACK - an asynchronous execution ended
 * @params: as registered
 * @model_id: counts the models of the process, from 1
 * @vnc: core that it ran on
 * @job_id: the request, as nrta_execute_schedule() gave it
 * @status: how it ended
 *
 * It is called by a thread of the library that does nothing else, one call after the other.
 * It may make any call but nrt_close().
 */
typedef void (*NRT_ASYNC_EXEC_STATUS_CALLBACK)(void *params, uint32_t model_id, uint32_t vnc,
					       uint64_t job_id, NRT_STATUS status);

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
 *
 * Return: NRT_SUCCESS; NRT_INVALID_HANDLE: nrt_get_model_tensor_info() did not give it, or it was
 * freed before. As it is an address, that is known until the memory is given out again.
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

/**
 * nrt_register_async_exec_callback() - be told of the end of asynchronous executions
 * @callback: function; replaces the one before. NULL: none
 * @params: for it
 *
 * The function before is not called any more when this call returns, unless a callback
 * makes it.
 */
NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback,
					    void *params);

/**
 * nrt_async_drain_queued_execs() - wait for asynchronous executions
 * @vnc: core
 *
 * Return: NRT_SUCCESS when all that were scheduled before the call have ended, and the callback
 * was told of them; NRT_INVALID.
 */
NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc);

/**
 * nrt_barrier() - wait until all ranks are here
 * @vnc: core of this rank
 * @g_device_id: rank
 * @g_device_count: ranks
 *
 * The ranks are threads of this process, and meet on the host; no program runs for it. With
 * NEURON_RT_ROOT_COMM_ID they are those that have met in nrt_build_global_comm().
 * Return: as for nrt_build_global_comm().
 */
NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);

/**
 * nrt_all_gather() - give all ranks the bytes of all
 * @vnc: core of this rank
 * @g_device_id: rank
 * @g_device_count: ranks
 * @rank_input_size: bytes of each rank
 * @input: bytes of this rank
 * @output: @g_device_count times @rank_input_size bytes, by rank
 *
 * The ranks are threads of this process, and meet on the host; no program runs for it. With
 * NEURON_RT_ROOT_COMM_ID they are those that have met in nrt_build_global_comm().
 * Return: as for nrt_build_global_comm(); NRT_INVALID also when their sizes differ.
 */
NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
			  uint32_t rank_input_size, void *input, void *output);

/**
 * nrt_get_libnccl_net() - the plug-in of a network library
 * @err: out: NRT_FAILURE, may be NULL
 * @err_msg: out: why, cut short if need be; may be NULL
 * @err_msg_size: bytes of @err_msg
 *
 * There is no network in this model. May be called at any time.
 * Return: NULL.
 */
void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size);

/**
 * nrt_set_pool_eng_ucode() - other microcode for the gpsimd engines
 * @ucode_info: the images
 *
 * The engines of this model have none. May be called at any time.
 * Return: NRT_FAILURE; NRT_INVALID: @ucode_info is NULL, or nrt_init() came first.
 */
NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info);

/**
 * nrt_memcpy_to_device() - copy bytes to mapped device memory
 * @dest: address from nrt_tensor_get_va() or nrt_get_hbm_mmap_va()
 * @src: host memory
 * @size: bytes, may be 0
 *
 * The device sees the bytes when the call returns.
 * Return: NRT_SUCCESS; NRT_INVALID: the destination is no mapped device memory; NRT_FAILURE.
 */
NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size);

/**
 * nrt_trace_start() - record what the library does on all cores of the process
 * @trace_mem: tell the memory of the cores, too
 *
 * It is the trace of nrt_sys_trace_start() with the defaults, for a file.
 * Return: NRT_SUCCESS; NRT_INVALID: a trace is running.
 */
NRT_STATUS nrt_trace_start(bool trace_mem);

/**
 * nrt_trace_stop() - stop, and write the events
 * @filename: file, which is made or emptied. Documentation/libnrt/profile.rst has the format
 *
 * Return: NRT_SUCCESS; NRT_INVALID: nrt_trace_start() has not been called; NRT_FAILURE: the
 * file cannot be written, and the trace goes on; NRT_RESOURCE.
 */
NRT_STATUS nrt_trace_stop(const char *filename);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_EXPERIMENTAL_H */
