/* SPDX-License-Identifier: MIT */
/*
 * Result codes of libnrt. Names and values are those of the public Neuron
 * runtime; a value never changes its meaning.
 */
#ifndef NRT_STATUS_H
#define NRT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
	/* The call did what it promises. */
	NRT_SUCCESS = 0,
	/* Failure without a better code; the log line says what happened. */
	NRT_FAILURE = 1,
	/* Bad NEFF, instruction, DMA descriptor, argument, tensor name or size. */
	NRT_INVALID = 2,
	/* The handle is NULL or names nothing that is loaded. */
	NRT_INVALID_HANDLE = 3,
	/* Memory or another resource could not be had. */
	NRT_RESOURCE = 4,
	/* A limit of time passed; an execution that hangs ends with it. */
	NRT_TIMEOUT = 5,
	/* The device or its driver failed. */
	NRT_HW_ERROR = 6,
	/* No room in the execution queue. */
	NRT_QUEUE_FULL = 7,
	/* The NEFF wants more cores than the process owns. */
	NRT_LOAD_NOT_ENOUGH_NC = 9,
	/* A NEFF of another format or encoding, of unknown features, or for real hardware. */
	NRT_UNSUPPORTED_NEFF_VERSION = 10,
	/* Kept for compatibility; never returned. */
	NRT_FAIL_HOST_MEM_ALLOC = 11,
	/* Called before nrt_init(). */
	NRT_UNINITIALIZED = 13,
	/* Called after nrt_close(). */
	NRT_CLOSED = 14,
	/* Nothing to read in a queue. */
	NRT_QUEUE_EMPTY = 15,
	/* The execution unit needs a reset. */
	NRT_EXEC_UNIT_UNRECOVERABLE = 101,

	/* The input of an execution is invalid. */
	NRT_EXEC_BAD_INPUT = 1002,
	/* Ran to its end with a numerical error. */
	NRT_EXEC_COMPLETED_WITH_NUM_ERR = 1003,
	/* Ran to its end with another error. */
	NRT_EXEC_COMPLETED_WITH_ERR = 1004,
	/* The core belongs to another process or model. */
	NRT_EXEC_NC_BUSY = 1005,
	/* The program addressed memory outside of what it was given. */
	NRT_EXEC_OOB = 1006,

	/* A collective operation has not finished yet. */
	NRT_COLL_PENDING = 1100,

	/* A collective did not finish, perhaps through a fault elsewhere. */
	NRT_EXEC_HW_ERR_COLLECTIVES = 1200,
	/* Uncorrectable HBM error, not repairable. */
	NRT_EXEC_HW_ERR_HBM_UE = 1201,
	/* Uncorrectable error in a core's memory. */
	NRT_EXEC_HW_ERR_NC_UE = 1202,
	/* A DMA engine stopped on an error. */
	NRT_EXEC_HW_ERR_DMA_ABORT = 1203,
	/* A software notification queue ran over. */
	NRT_EXEC_SW_NQ_OVERFLOW = 1204,
	/* Uncorrectable HBM error that a repair can cure. */
	NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE = 1205,
	/* The network proxy failed. */
	NRT_NETWORK_PROXY_FAILURE = 1206,
} NRT_STATUS;

#pragma GCC visibility push(default)

/**
 * nrt_get_status_as_str() - name of a status
 * @status: any value
 *
 * May be called at any time from any thread.
 * Return: a constant string, "NRT_UNKNOWN_STATUS" for values not listed here.
 */
const char *nrt_get_status_as_str(NRT_STATUS status);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_STATUS_H */
