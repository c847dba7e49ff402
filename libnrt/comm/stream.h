/* SPDX-License-Identifier: MIT */
/*
 * Debug streams: tensors that the programs of a core print, for the client of the core.
 */
#ifndef LIBNRT_COMM_STREAM_H
#define LIBNRT_COMM_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <nrt/ndebug_stream.h>

#include "object/model.h"

struct nrt_stream_event;

/**
 * struct nrt_stream - the stream of a core
 * @fd: of its client, readable while there are events; -1: there is no client
 * @first, @last, @nr: events
 * @bytes: of all of them
 */
struct nrt_stream {
	int fd;
	struct nrt_stream_event *first;
	struct nrt_stream_event *last;
	unsigned long nr;
	size_t bytes;
};

/**
 * struct nrt_streams - streams of the cores of the process
 * @lock: protects the rest but @clients
 * @stream, @nr: by core
 * @most: events of a stream; others are dropped, as are those for which there is no room
 * @clients: streams that are connected
 */
struct nrt_streams {
	pthread_mutex_t lock;
	struct nrt_stream *stream;
	unsigned int nr;
	unsigned long most;
	atomic_uint clients;
};

NRT_STATUS nrt_streams_init(struct nrt_streams *streams, unsigned int cores, unsigned long most,
			    struct nrt_error *error);
void nrt_streams_fini(struct nrt_streams *streams);

NRT_STATUS nrt_stream_connect(struct nrt_streams *streams, int core, int *fd,
			      struct nrt_error *error);

/* NRT_INVALID: @fd is no stream. */
NRT_STATUS nrt_stream_close(struct nrt_streams *streams, int fd, struct nrt_error *error);

/* The oldest event; NRT_QUEUE_EMPTY: there is none; NRT_INVALID: @fd is no stream. */
NRT_STATUS nrt_stream_read(struct nrt_streams *streams, int fd,
			   ndebug_stream_event_header_t *header, void **payload,
			   struct nrt_error *error);

/* Does any core have a client? */
bool nrt_streams_wanted(struct nrt_streams *streams);

/* An execution on @core has ended, whose @var lies at @place: an event, if there is a client. */
void nrt_stream_print(void *streams, unsigned int core, const struct neff_var *var,
		      const struct nrt_place *place);

#endif /* LIBNRT_COMM_STREAM_H */
