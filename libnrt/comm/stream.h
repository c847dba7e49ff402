/* SPDX-License-Identifier: MIT */
/*
 * Debug streams: who is connected to which core. Nothing sends events to them.
 */
#ifndef LIBNRT_COMM_STREAM_H
#define LIBNRT_COMM_STREAM_H

#include <pthread.h>

#include "base/error.h"

/**
 * struct nrt_streams - streams of the cores of the process
 * @lock: protects the rest
 * @fds: by core: descriptor of the client, or -1
 * @nr: cores
 */
struct nrt_streams {
	pthread_mutex_t lock;
	int *fds;
	unsigned int nr;
};

NRT_STATUS nrt_streams_init(struct nrt_streams *streams, unsigned int cores,
			    struct nrt_error *error);
void nrt_streams_fini(struct nrt_streams *streams);

NRT_STATUS nrt_stream_connect(struct nrt_streams *streams, int core, int *fd,
			      struct nrt_error *error);

/* NRT_INVALID: @fd is no stream. */
NRT_STATUS nrt_stream_check(struct nrt_streams *streams, int fd, struct nrt_error *error);
NRT_STATUS nrt_stream_close(struct nrt_streams *streams, int fd, struct nrt_error *error);

#endif /* LIBNRT_COMM_STREAM_H */
