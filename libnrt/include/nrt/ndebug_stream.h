/* SPDX-License-Identifier: MIT */
/*
 * Debug streams: events that programs on a core send to the process that owns it.
 *
 * A stream is connected to by one client. Its descriptor may be given to poll() and its like,
 * and to nothing else but the functions below. Only events after the connection are in it.
 *
 * The instructions of this model have none that sends a tensor to a stream, so streams stay
 * empty: nrt_debug_client_read_one_event() always gives NRT_QUEUE_EMPTY.
 *
 * Names, values and layouts are the public ones; the rules of nrt.h hold. Different streams may
 * be used by different threads at the same time.
 */
#ifndef NDEBUG_STREAM_H
#define NDEBUG_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nrt/nrt_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an event is. */
typedef enum ndebug_stream_event_type {
	NDEBUG_STREAM_EVENT_TYPE_INVALID = 0,
	NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ = 1,
} ndebug_stream_event_type_t;

/**
 * struct ndebug_stream_event_header - what comes before each event (64 bytes)
 * @data_size: bytes of the payload
 * @type: NDEBUG_STREAM_EVENT_TYPE_*
 * @reserved: zero
 */
typedef struct ndebug_stream_event_header {
	uint64_t data_size;
	uint32_t type;
	char reserved[52];
} ndebug_stream_event_header_t;

/**
 * struct ndebug_stream_payload_debug_tensor_read - a tensor (1024 bytes and its data)
 * @prefix: text that the program gave, NUL terminated
 * @logical_nc_id: virtual core
 * @pipe: where it is to be printed
 * @tensor_dtype: name of the element type
 * @tensor_shape: elements of each dimension; 0 behind the last one
 * @tensor_data_size: bytes of @tensor_data
 * @reserved0: zero
 * @tensor_data: the elements
 */
typedef struct ndebug_stream_payload_debug_tensor_read {
	char prefix[512];
	uint32_t logical_nc_id;
	uint32_t pipe;
	char tensor_dtype[16];
	uint64_t tensor_shape[8];
	uint64_t tensor_data_size;
	char reserved0[416];
	char tensor_data[];
} ndebug_stream_payload_debug_tensor_read_t;

#pragma GCC visibility push(default)

/**
 * nrt_debug_client_connect() - connect to the stream of a core
 * @logical_nc_idx: virtual core
 * @stream_fd: out: descriptor, for nrt_debug_client_connect_close(). nrt_close() closes it, too
 *
 * Return: NRT_SUCCESS; NRT_INVALID: no such core, or it has a client; NRT_RESOURCE.
 */
NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd);

/**
 * nrt_debug_client_connect_close() - disconnect
 * @stream_fd: descriptor
 */
void nrt_debug_client_connect_close(int stream_fd);

/**
 * nrt_debug_client_read_one_event() - take the oldest event out of a stream
 * @stream_fd: descriptor
 * @header: out: what it is
 * @payload: out: its data, for free()
 *
 * Return: NRT_QUEUE_EMPTY: there is none; NRT_INVALID: no connected stream, or a NULL pointer.
 */
NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
					   void **payload);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NDEBUG_STREAM_H */
