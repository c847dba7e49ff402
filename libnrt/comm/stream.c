// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/stream.h"

/* Of the events of a stream, together. */
#define MAX_BYTES	((size_t)64 << 20)

typedef ndebug_stream_payload_debug_tensor_read_t payload_t;

/* @payload is for the client, who frees it. */
struct nrt_stream_event {
	struct nrt_stream_event *next;
	ndebug_stream_event_header_t header;
	payload_t *payload;
};

NRT_STATUS nrt_streams_init(struct nrt_streams *streams, unsigned int cores, unsigned long most,
			    struct nrt_error *error)
{
	unsigned int i;

	streams->nr = cores;
	streams->most = most;
	streams->stream = calloc(cores, sizeof(*streams->stream));
	if (!streams->stream)
		return nrt_error_memory(error);
	for (i = 0; i < cores; i++)
		streams->stream[i].fd = -1;
	atomic_init(&streams->clients, 0);
	pthread_mutex_init(&streams->lock, NULL);
	return NRT_SUCCESS;
}

/* With the lock, or without other threads. NULL: there is none. */
static struct nrt_stream_event *take_event(struct nrt_stream *stream)
{
	struct nrt_stream_event *event = stream->first;
	uint64_t one;

	if (!event)
		return NULL;
	stream->first = event->next;
	stream->nr--;
	stream->bytes -= event->header.data_size;
	/* It counts the events, so this does not block. */
	while (read(stream->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return event;
}

static void disconnect(struct nrt_stream *stream)
{
	struct nrt_stream_event *event;

	while ((event = take_event(stream))) {
		free(event->payload);
		free(event);
	}
	close(stream->fd);
	stream->fd = -1;
}

void nrt_streams_fini(struct nrt_streams *streams)
{
	unsigned int i;

	for (i = 0; i < streams->nr; i++)
		if (streams->stream[i].fd >= 0)
			disconnect(&streams->stream[i]);
	pthread_mutex_destroy(&streams->lock);
	free(streams->stream);
}

bool nrt_streams_wanted(struct nrt_streams *streams)
{
	return atomic_load_explicit(&streams->clients, memory_order_relaxed);
}

/* With the lock. A semaphore: each event is one, and each that is taken away takes one. */
static NRT_STATUS connect_locked(struct nrt_stream *stream, int core, struct nrt_error *error)
{
	if (stream->fd >= 0)
		return nrt_error_set(error, NRT_INVALID, "the stream of core %d has a client",
				     core);
	stream->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	if (stream->fd < 0)
		return nrt_error_set(error, NRT_RESOURCE, "no file descriptor: %s",
				     strerror(errno));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_stream_connect(struct nrt_streams *streams, int core, int *fd,
			      struct nrt_error *error)
{
	NRT_STATUS status;

	if (core < 0 || (unsigned int)core >= streams->nr)
		return nrt_error_set(error, NRT_INVALID, "core %d: the process owns cores 0 to %u",
				     core, streams->nr - 1);
	pthread_mutex_lock(&streams->lock);
	status = connect_locked(&streams->stream[core], core, error);
	if (!status) {
		*fd = streams->stream[core].fd;
		atomic_fetch_add(&streams->clients, 1);
	}
	pthread_mutex_unlock(&streams->lock);
	return status;
}

/* With the lock: the stream of a descriptor, or NULL and @error. */
static struct nrt_stream *find(struct nrt_streams *streams, int fd, struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < streams->nr; i++)
		if (fd >= 0 && streams->stream[i].fd == fd)
			return &streams->stream[i];
	nrt_error_set(error, NRT_INVALID, "%d is no connected stream", fd);
	return NULL;
}

NRT_STATUS nrt_stream_close(struct nrt_streams *streams, int fd, struct nrt_error *error)
{
	struct nrt_stream *stream;

	pthread_mutex_lock(&streams->lock);
	stream = find(streams, fd, error);
	if (stream) {
		disconnect(stream);
		atomic_fetch_sub(&streams->clients, 1);
	}
	pthread_mutex_unlock(&streams->lock);
	return stream ? NRT_SUCCESS : error->status;
}

NRT_STATUS nrt_stream_read(struct nrt_streams *streams, int fd,
			   ndebug_stream_event_header_t *header, void **payload,
			   struct nrt_error *error)
{
	struct nrt_stream_event *event = NULL;
	struct nrt_stream *stream;

	pthread_mutex_lock(&streams->lock);
	stream = find(streams, fd, error);
	if (stream)
		event = take_event(stream);
	pthread_mutex_unlock(&streams->lock);
	if (!stream)
		return error->status;
	if (!event)
		return nrt_error_set(error, NRT_QUEUE_EMPTY, "there is no event");
	*header = event->header;
	*payload = event->payload;
	free(event);
	return NRT_SUCCESS;
}

static struct nrt_stream_event *event_new(unsigned int core, const struct neff_var *var)
{
	struct nrt_stream_event *event = calloc(1, sizeof(*event));
	payload_t *payload = calloc(1, sizeof(*payload) + var->size);
	unsigned int i;

	if (!event || !payload) {
		free(event);
		free(payload);
		return NULL;
	}
	event->payload = payload;
	event->header.data_size = sizeof(*payload) + var->size;
	event->header.type = NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ;
	snprintf(payload->prefix, sizeof(payload->prefix), "%s", var->print);
	payload->logical_nc_id = core;
	snprintf(payload->tensor_dtype, sizeof(payload->tensor_dtype), "%s",
		 neff_dtype_name(var->dtype));
	for (i = 0; i < var->ndim; i++)
		payload->tensor_shape[i] = var->shape[i];
	payload->tensor_data_size = var->size;
	return event;
}

/* With the lock. A tensor that is larger than all room may be alone. */
static bool has_room(const struct nrt_streams *streams, const struct nrt_stream *stream,
		     const struct nrt_stream_event *event)
{
	if (!stream->nr)
		return streams->most;
	return stream->nr < streams->most && stream->bytes + event->header.data_size <= MAX_BYTES;
}

/* With the lock: false: nobody wants it, or it does not fit. */
static bool add_event(struct nrt_streams *streams, struct nrt_stream *stream,
		      struct nrt_stream_event *event)
{
	const uint64_t one = 1;

	if (stream->fd < 0 || !has_room(streams, stream, event) ||
	    write(stream->fd, &one, sizeof(one)) < 0)
		return false;
	if (stream->first)
		stream->last->next = event;
	else
		stream->first = event;
	stream->last = event;
	stream->nr++;
	stream->bytes += event->header.data_size;
	return true;
}

void nrt_stream_print(void *arg, unsigned int core, const struct neff_var *var,
		      const struct nrt_place *place)
{
	struct nrt_streams *streams = arg;
	struct nrt_stream_event *event;
	struct nrt_error ignored;
	bool added = false;

	if (!nrt_streams_wanted(streams))
		return;
	event = event_new(core, var);
	if (!event)
		return;
	if (!nrt_bo_read(place->bo, place->offset, event->payload->tensor_data, var->size,
			 &ignored)) {
		pthread_mutex_lock(&streams->lock);
		added = add_event(streams, &streams->stream[core], event);
		pthread_mutex_unlock(&streams->lock);
	}
	if (added)
		return;
	free(event->payload);
	free(event);
}
