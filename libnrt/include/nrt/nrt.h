/* SPDX-License-Identifier: MIT */
/*
 * libnrt: load NEFF programs onto NeuronCores and run them.
 *
 * Names, values, layouts and semantics are those of the public Neuron runtime
 * API, version 2.0; the wording and the implementation are this project's.
 * Documentation/libnrt/api.rst has a table of all functions and says which do not
 * work here, and why.
 *
 * Cores are named by virtual core (vnc) indexes: 0 is the first core that the
 * process owns. One virtual core is one NeuronCore.
 *
 * Errors: every call that returns an NRT_STATUS returns NRT_UNINITIALIZED before
 * nrt_init() and NRT_CLOSED after nrt_close(), unless it says that it may be
 * called at any time. Each failure also writes one line to the log
 * (NEURON_RT_LOG_LEVEL, NEURON_RT_LOG_LOCATION).
 *
 * Threads: all calls may be made from any thread. Calls on different objects run
 * side by side; executions on one core run in order of submission. An object may
 * be used by several threads at once, also while one of them frees it: whoever
 * came first gets his work done, the others get NRT_INVALID_HANDLE. nrt_close() ends
 * what is running: those calls return NRT_CLOSED. State does not survive a fork(): for the
 * child the library is not initialised.
 *
 * Handles: models, tensors, tensor sets and the like are named by values that are no
 * addresses. One that was freed, or that never was one, gives NRT_INVALID_HANDLE; a function
 * without a status writes a line to the log and does nothing.
 */
#ifndef NRT_H
#define NRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndl/neuron_driver_shared_tensor_batch_op.h"
#include <nrt/nrt_status.h>
#include <nrt/nrt_version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. */
#define NRT_MAJOR_VERSION	2
#define NRT_MINOR_VERSION	0

typedef struct nrt_model nrt_model_t;
typedef struct nrt_tensor nrt_tensor_t;
typedef struct nrt_cc_context nrt_cc_context_t;
typedef void nrt_tensor_set_t;

/* Where the bytes of a tensor lie. */
typedef enum {
	NRT_TENSOR_PLACEMENT_DEVICE = 0,	/* HBM nearest to a core */
	NRT_TENSOR_PLACEMENT_HOST = 1,		/* host memory the device reaches */
	NRT_TENSOR_PLACEMENT_VIRTUAL = 2,	/* ordinary host memory */
} nrt_tensor_placement_t;

/* What kind of program uses the library; only a label for tools. */
typedef enum {
	NRT_FRAMEWORK_TYPE_INVALID = 0,
	NRT_FRAMEWORK_TYPE_NO_FW = 1,
	NRT_FRAMEWORK_TYPE_TENSORFLOW = 2,
	NRT_FRAMEWORK_TYPE_PYTORCH = 3,
	NRT_FRAMEWORK_TYPE_MXNET = 4,
	NRT_FRAMEWORK_TYPE_PRECHECK = 5,
} nrt_framework_type_t;

/* nrt_instance_info_t.family */
enum {
	NRT_INSTANCE_UNKNOWN = 0,
	NRT_INSTANCE_INF1 = 1,
	NRT_INSTANCE_TRN1 = 2,
	NRT_INSTANCE_TRN1N = 3,
	NRT_INSTANCE_INF2 = 4,
	NRT_INSTANCE_TRN2 = 5,
	NRT_INSTANCE_TRN2N = 6,
	NRT_INSTANCE_INF2E = 7,
	NRT_INSTANCE_TRN2P = 8,
	NRT_INSTANCE_TRN2U = 9,
	NRT_INSTANCE_TRN2E = 10,
	NRT_INSTANCE_TRN2EU = 11,
	NRT_INSTANCE_TRN2AC = 12,
	NRT_INSTANCE_TRN2UAC = 13,
	NRT_INSTANCE_TRN3 = 14,
	NRT_INSTANCE_TRN3PDS98 = 15,
};

/* nrt_instance_info_t.size */
enum {
	NRT_INSTANCE_SIZE_1XL = 0,
	NRT_INSTANCE_SIZE_2XL = 1,
	NRT_INSTANCE_SIZE_4XL = 2,
	NRT_INSTANCE_SIZE_6XL = 3,
	NRT_INSTANCE_SIZE_8XL = 4,
	NRT_INSTANCE_SIZE_24XL = 5,
	NRT_INSTANCE_SIZE_32XL = 6,
	NRT_INSTANCE_SIZE_48XL = 7,
	NRT_INSTANCE_SIZE_3XL = 8,
	NRT_INSTANCE_SIZE_UNKNOWN = 9,
	NRT_INSTANCE_SIZE_NUM = NRT_INSTANCE_SIZE_UNKNOWN,
};

/* Operations of reducing collectives, and of DMA engines that compute. */
typedef enum nrt_op_type {
	NRT_OP_ADD = 0x0,
	NRT_OP_FMA = 0x1,
	NRT_OP_MAX = 0x2,
	NRT_OP_MIN = 0x3,
	NRT_OP_INVALID = 0xf,
} nrt_op_type_t;

/* Collectives that a program schedules itself. */
typedef enum nrt_cc_op_type {
	NRT_CC_ALLGATHER,
	NRT_CC_ALLREDUCE,
	NRT_CC_REDUCESCATTER,
} nrt_cc_op_type_t;

/* Element types. */
typedef enum nrt_dtype {
	NRT_DTYPE_UNKNOWN = 0x0,
	NRT_DTYPE_INVALID = 0x0,
	NRT_DTYPE_UINT64 = 0x1,
	NRT_DTYPE_INT8 = 0x2,
	NRT_DTYPE_UINT8 = 0x3,
	NRT_DTYPE_INT16 = 0x4,
	NRT_DTYPE_UINT16 = 0x5,
	NRT_DTYPE_BFLOAT16 = 0x6,
	NRT_DTYPE_FLOAT16 = 0x7,
	NRT_DTYPE_INT32 = 0x8,
	NRT_DTYPE_UINT32 = 0x9,
	NRT_DTYPE_FLOAT32 = 0xa,
	NRT_DTYPE_FP32R = 0xb,
	NRT_DTYPE_INT64 = 0xc,
	NRT_DTYPE_FP8_E3 = 0xd,
	NRT_DTYPE_FP8_E4 = 0xe,
	NRT_DTYPE_FP8_E5 = 0xf,
} nrt_dtype_t;

/**
 * struct nrt_instance_info - what the machine is (32 bytes)
 * @family: NRT_INSTANCE_*
 * @size: NRT_INSTANCE_SIZE_*, by the number of chips
 * @arch_name: core architecture, e.g. "NCv3"
 * @device_revision: PCI revision of the chips, e.g. "0xff" (a model)
 */
typedef struct nrt_instance_info {
	uint32_t family;
	uint32_t size;
	char arch_name[16];
	char device_revision[8];
} nrt_instance_info_t;

/**
 * struct nrt_tensor_batch - the transfers of one tensor (24 bytes)
 * @tensor: the tensor
 * @ops: @num_ops transfers, done in order
 * @num_ops: how many
 */
typedef struct nrt_tensor_batch {
	const nrt_tensor_t *tensor;
	const nrt_tensor_batch_op_t *ops;
	uint32_t num_ops;
} nrt_tensor_batch_t;

/**
 * struct nrt_tensor_device_allocation_info - where a device tensor lies (24 bytes)
 * @physical_address: device address of its first byte; only for people to look at
 * @size: bytes of the allocation that holds it, at least the tensor's size
 * @hbm_index: HBM stack of the chip
 */
typedef struct nrt_tensor_device_allocation_info {
	uint64_t physical_address;
	size_t size;
	int hbm_index;
} nrt_tensor_device_allocation_info_t;

/**
 * struct nrt_vnc_memory_stats - memory of a core (16 bytes, append-only)
 * @bytes_used: allocated in the core's HBM stack, by all processes
 * @bytes_limit: what buffers may use of that stack
 */
typedef struct nrt_vnc_memory_stats {
	size_t bytes_used;
	size_t bytes_limit;
} nrt_vnc_memory_stats_t;

#pragma GCC visibility push(default)

/* --- The machine and the process --- */

/**
 * nrt_get_instance_info() - what this machine is
 * @info: filled
 * @instance_info_len: sizeof(nrt_instance_info_t) of the caller; no more bytes are
 *	written
 *
 * May be called at any time.
 * Return: NRT_INVALID for bad arguments, NRT_FAILURE when there is no device.
 */
NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len);

/**
 * nrt_init() - open the devices and take the cores
 * @framework: label, anything but NRT_FRAMEWORK_TYPE_INVALID
 * @fw_version: version of the framework, may be ""
 * @fal_version: version of its adaptation layer, may be ""
 *
 * Reads the environment (Documentation/libnrt/environment.rst). The process owns its
 * cores exclusively until nrt_close(); their memories are cleared.
 *
 * Return: NRT_INVALID for a bad argument or variable, or when initialised already;
 * NRT_FAILURE without a device or driver; NRT_EXEC_NC_BUSY when a core that was asked
 * for belongs to another process; NRT_RESOURCE when fewer cores are free than asked
 * for.
 */
NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
		    const char *fal_version);

/**
 * nrt_close() - give everything back
 *
 * Whatever runs ends: calls under way return NRT_CLOSED, and so do asynchronous requests.
 * Models and communicators are gone afterwards; tensors have no storage but must still be
 * freed. nrt_init() may follow. Not to be called by a callback.
 */
void nrt_close(void);

/**
 * nrt_get_total_nc_count() - same as nrt_get_total_vnc_count(), deprecated
 * @nc_count: cores
 */
NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count);

/**
 * nrt_get_total_vnc_count() - virtual cores of the machine, whoever owns them
 * @vnc_count: cores
 *
 * May be called at any time. NRT_FAILURE when there is no device.
 */
NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count);

/**
 * nrt_get_visible_nc_count() - same as nrt_get_visible_vnc_count(), deprecated
 * @nc_count: cores
 */
NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count);

/**
 * nrt_get_visible_vnc_count() - virtual cores that the process owns
 * @vnc_count: cores; before nrt_init() those that it would ask for
 *
 * May be called at any time. NRT_FAILURE when there is no device, NRT_INVALID for a bad
 * environment.
 */
NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count);

/**
 * nrt_get_vnc_memory_stats() - memory of a core
 * @vnc: core
 * @stats: filled
 * @stats_size_in: sizeof(nrt_vnc_memory_stats_t) of the caller
 * @stats_size_out: bytes written, or NULL
 *
 * Cores that share an HBM stack report the same figures.
 */
NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
				    size_t stats_size_in, size_t *stats_size_out);

/* --- Models --- */

/**
 * nrt_load() - load a NEFF onto a core
 * @neff_bytes: the file's contents; not needed after the call
 * @size: bytes
 * @vnc: core; -1: the owned core with the fewest models
 * @vnc_count: deprecated, pass -1
 * @model: out: the model; nrt_unload() frees it
 *
 * Return: NRT_INVALID for a NEFF that is damaged or uses what is not implemented,
 * NRT_UNSUPPORTED_NEFF_VERSION, NRT_LOAD_NOT_ENOUGH_NC for a core that the process does
 * not own, NRT_RESOURCE when memory is short.
 */
NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
		    nrt_model_t **model);

/**
 * nrt_load_collectives() - load a NEFF that works together with its peers
 * @neff_bytes: as in nrt_load()
 * @size: as in nrt_load()
 * @vnc: as in nrt_load()
 * @vnc_count: as in nrt_load()
 * @ctx_device_id: rank, 0 to @ctx_device_count - 1
 * @ctx_device_count: ranks
 * @model: as in nrt_load()
 *
 * The ranks are models of this process. They may be loaded in any order; the first
 * execution of each waits for all of them. Ranks find each other by @ctx_device_count:
 * a rank joins the oldest group of that size whose place @ctx_device_id was never taken.
 *
 * Ranks of a NEFF whose only tie is collectives may be of several processes. If they have met as
 * these ranks before, with nrt_build_global_comm() or nrt_cc_global_comm_init(), this call waits
 * for all of them, and they prepare the collectives together; else the first execution does.
 */
NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc,
				int32_t vnc_count, uint32_t ctx_device_id,
				uint32_t ctx_device_count, nrt_model_t **model);

/**
 * nrt_unload() - free a model
 * @model: model; waits for its executions
 *
 * Return: NRT_INVALID_HANDLE when @model is not a loaded model.
 */
NRT_STATUS nrt_unload(nrt_model_t *model);

/**
 * nrt_get_model_nc_count() - cores a model uses, deprecated
 * @model: model
 * @nc_count: out
 */
NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *nc_count);

/**
 * nrt_get_model_vnc_count() - virtual cores a model uses, deprecated
 * @model: model
 * @vnc_count: out
 */
NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count);

/* --- Tensor sets: tensors by name --- */

/**
 * nrt_allocate_tensor_set() - make an empty set
 * @result: out: the set; nrt_destroy_tensor_set() frees it
 */
NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result);

/**
 * nrt_destroy_tensor_set() - free a set, not its tensors
 * @tensor_set: the set, or a pointer to NULL; NULL afterwards
 */
void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set);

/**
 * nrt_add_tensor_to_tensor_set() - add a tensor, or replace the one of that name
 * @tensor_set: the set
 * @tensor_name: name in the set, copied; the tensor's own may differ
 * @tensor: one that is freed while it is in the set is found out by the next execution
 */
NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
					nrt_tensor_t *tensor);

/**
 * nrt_get_tensor_from_tensor_set() - find a tensor
 * @tensor_set: the set
 * @tensor_name: name
 * @tensor: out, not written on failure
 *
 * Return: NRT_FAILURE when the set has no such name.
 */
NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set,
					  const char *tensor_name, nrt_tensor_t **tensor);

/* --- Execution --- */

/**
 * nrt_execute() - run a model and wait for its end
 * @model: model
 * @input_set: a tensor for every input of the model, of exactly its size
 * @output_set: the same for the outputs
 *
 * Device tensors of the model's chip, and host tensors made for it, are used in place.
 * Others (ordinary host memory, slices at an offset that is not a multiple of 4) are
 * copied before and after; a device tensor of another chip is refused. Tensors of the sets
 * that the model does not name are ignored.
 *
 * Return: NRT_INVALID for a missing tensor or a wrong size, and for a program that is
 * malformed; NRT_EXEC_OOB when it left its memory; NRT_TIMEOUT when it hung; the other
 * NRT_EXEC_* codes as their names say. The core is ready for the next execution in all
 * of these cases. The contents of the outputs are undefined after a failure.
 */
NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
		       nrt_tensor_set_t *output_set);

/* --- Tensors: named pieces of memory --- */

/**
 * nrt_execute_repeat() - run a model several times in a row
 * @model: model
 * @input_set: inputs of the first run
 * @output_set: outputs of the last run
 * @repeat_count: runs, at least 1
 *
 * Output k of a run is input k of the next one, in the order of nrt_get_model_tensor_info();
 * further inputs stay. The tensors of @input_set keep their contents.
 *
 * Return: as nrt_execute(); NRT_INVALID also when there are more outputs than inputs, or
 * when sizes differ.
 */
NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
			      nrt_tensor_set_t *output_set, int repeat_count);

/**
 * nrt_tensor_allocate() - make a tensor; it reads as zero
 * @tensor_placement: where
 * @vnc: core whose memory is used; -1 allowed but for DEVICE
 * @size: bytes, not zero
 * @name: copied, may be NULL
 * @tensor: out; nrt_tensor_free() frees it
 */
NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
			       const char *name, nrt_tensor_t **tensor);

/**
 * nrt_tensor_free() - free a tensor
 * @tensor: the tensor, or a pointer to NULL; NULL afterwards
 *
 * Memory shared with slices lives until the last of them is freed.
 */
void nrt_tensor_free(nrt_tensor_t **tensor);

/**
 * nrt_tensor_read() - copy bytes out of a tensor
 * @tensor: tensor with storage
 * @buf: host memory, any alignment
 * @offset: first byte in the tensor
 * @size: bytes, may be 0
 */
NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size);

/**
 * nrt_tensor_write() - copy bytes into a tensor
 * @tensor: tensor with storage
 * @buf: host memory, any alignment
 * @offset: first byte in the tensor
 * @size: bytes, may be 0
 */
NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size);

/**
 * nrt_tensor_read_batch() - many reads
 * @batches: array
 * @num_batches: number of elements of @batches
 * @unsafe: do not wait until no asynchronous request uses the tensors
 *
 * Stops at the first failure.
 */
NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				 bool unsafe);

/**
 * nrt_tensor_write_batch() - many writes
 * @batches: array
 * @num_batches: number of elements of @batches
 * @unsafe: as for nrt_tensor_read_batch()
 */
NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				  bool unsafe);

/**
 * nrt_tensor_copy() - copy between tensors
 * @src: source
 * @src_offset: first byte in it
 * @dst: destination
 * @dst_offset: first byte in it
 * @size: bytes, may be 0
 *
 * Two device tensors must have been allocated for the same core (NRT_INVALID). The
 * pieces must not overlap.
 */
NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
			   size_t dst_offset, size_t size);

/**
 * nrt_tensor_get_size() - bytes of a tensor
 * @tensor: tensor
 *
 * Return: 0 for NULL or an empty tensor.
 */
size_t nrt_tensor_get_size(const nrt_tensor_t *tensor);

/**
 * nrt_tensor_memset() - fill bytes of a tensor
 * @tensor: tensor with storage
 * @offset: first byte
 * @value: the byte
 * @size: bytes, may be 0
 */
NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size);

/**
 * nrt_tensor_allocate_empty() - make a tensor without storage
 * @name: copied, may be NULL
 * @tensor: out
 */
NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor);

/**
 * nrt_tensor_attach_buffer() - give a tensor the caller's memory
 * @tensor: tensor; its own storage is dropped, it becomes VIRTUAL
 * @buffer: stays the caller's and must outlive its use
 * @size: bytes, not zero
 */
NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size);

/**
 * nrt_tensor_allocate_slice() - a view of a part of a tensor
 * @tensor_source: tensor with storage; may be freed before the slice
 * @offset: first byte
 * @size: bytes, not zero
 * @name: copied, may be NULL
 * @tensor_slice: out
 */
NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset,
				     size_t size, const char *name,
				     nrt_tensor_t **tensor_slice);

/**
 * nrt_tensor_get_va() - host address of a tensor
 * @tensor: tensor
 *
 * Device tensors are mapped by the first call. The address is good until the tensor and all
 * that share its storage are freed, and until nrt_close().
 *
 * Return: address of its first byte; NULL for empty tensors, and when the memory cannot be
 * mapped.
 */
void *nrt_tensor_get_va(const nrt_tensor_t *tensor);

/**
 * nrt_tensor_get_device_allocation_info() - where a device tensor lies
 * @tensor: device tensor (NRT_INVALID otherwise)
 * @alloc_info: filled
 */
NRT_STATUS
nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
				      nrt_tensor_device_allocation_info_t *alloc_info);

/**
 * nrt_tensor_check_output_completion() - wait until executions have written a tensor
 * @tensor: tensor that executions have as an output
 * @timeout: microseconds; negative: for ever, with a line in the log after 30 seconds
 * @expected_completion_count: executions since the tensor was made, or its count was reset
 *
 * The count belongs to the storage, so slices share it.
 *
 * Return: NRT_SUCCESS, NRT_INVALID (NULL, or no storage), NRT_INVALID_HANDLE, NRT_TIMEOUT.
 */
NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *tensor, int64_t timeout,
					      uint64_t expected_completion_count);

/**
 * nrt_tensor_reset_output_completion() - begin to count anew
 * @tensor: tensor
 *
 * Return: NRT_SUCCESS, NRT_INVALID (NULL, or no storage), NRT_INVALID_HANDLE.
 */
NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *tensor);

/* --- Collectives of the host --- */

/**
 * struct nrt_cc_comm - who takes part in a collective (32 bytes)
 * @replica_group: @rank_n ranks
 * @rank: this one's place in @replica_group
 * @rank_n: how many take part
 * @ctx_device_id: rank among all
 * @ctx_device_count: how many there are
 * @vnc: core
 */
typedef struct nrt_cc_comm {
	uint32_t *replica_group;
	uint32_t rank;
	uint32_t rank_n;
	uint32_t ctx_device_id;
	uint32_t ctx_device_count;
	uint32_t vnc;
} nrt_cc_comm_t;

/**
 * struct nrt_tensor_list - tensors of a collective (16 bytes)
 * @tensors: @num_tensors of them
 * @num_tensors: how many
 */
typedef struct nrt_tensor_list {
	nrt_tensor_t **tensors;
	size_t num_tensors;
} nrt_tensor_list_t;

/**
 * nrt_build_global_comm() - meet all ranks
 * @vnc: core of this rank
 * @g_device_id: rank
 * @g_device_count: ranks
 *
 * The ranks are threads of this process or, with NEURON_RT_ROOT_COMM_ID, processes of this machine.
 * Each waits for the others, at most as long as an execution may take. Models need no such call:
 * see nrt_load_collectives(). What the core was a rank of before ends.
 *
 * Return: NRT_SUCCESS; NRT_INVALID: no such core or rank, or it came twice; NRT_TIMEOUT: a rank
 * did not come; NRT_FAILURE: another rank gave up; NRT_RESOURCE.
 */
NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);

/**
 * nrt_cc_global_comm_init() - meet all ranks, for collectives that a program schedules
 * @vnc: as for nrt_build_global_comm()
 * @g_device_id: likewise
 * @g_device_count: likewise
 *
 * Return: as for nrt_build_global_comm().
 */
NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count);

/* --- Devices --- */

/**
 * nrt_get_dmabuf_fd() - a dma-buf of device memory, for other drivers
 * @va: address from nrt_tensor_get_va()
 * @size: bytes
 * @fd: out: dma-buf of the tensor's whole storage, for close()
 *
 * Return: NRT_SUCCESS; NRT_INVALID: the bytes are not within one tensor of a device, or
 * the chips are in this process and have no dma-bufs; NRT_FAILURE, NRT_RESOURCE.
 */
NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd);

/**
 * nrt_host_device_id_get() - the number that a chip has on the host, not in the container
 * @neuron_dev: number of the chip among those that the process sees, from 0
 * @host_device_id: out: its number on the fabric
 *
 * Return: NRT_SUCCESS, NRT_INVALID.
 */
NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id);

/**
 * nrt_host_device_id_rid_map_get() - the routing ids of the chips
 * @count: in: elements of the table; out: chips of the fabric
 * @host_did_to_rid_map: filled: routing id by host device id; UINT32_MAX for chips that the
 *	process does not see
 *
 * Return: NRT_SUCCESS; NRT_INVALID: a NULL pointer, or a table that is too small. *@count
 * is set then, too.
 */
NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map);

/**
 * nrt_get_hbm_mmap_va() - where an HBM stack is mapped as a whole
 * @device_id: number of the chip among those that the process sees
 * @hbm_idx: stack
 * @addr: out: its first byte; good until nrt_close()
 * @size: out: bytes
 *
 * Return: NRT_SUCCESS; NRT_INVALID_HANDLE: the chip has no such stack; NRT_INVALID: no such
 * chip, or the chips are those of the driver, which maps single buffers only.
 */
NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size);

/**
 * nrt_get_attached_efa_bdf() - the network adapter next to device memory
 * @va: address of mapped device memory
 * @efa_bdf: not written
 * @len: not written
 *
 * There is no such adapter in this model.
 * Return: NRT_FAILURE.
 */
NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_H */
