// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/stream.h"

NRT_STATUS nrt_streams_init(struct nrt_streams *streams, unsigned int cores,
			    struct nrt_error *error)
{
	streams->nr = cores;
	streams->fds = malloc(cores * sizeof(*streams->fds));
	if (!streams->fds)
		return nrt_error_memory(error);
	memset(streams->fds, 0xff, cores * sizeof(*streams->fds));
	pthread_mutex_init(&streams->lock, NULL);
	return NRT_SUCCESS;
}

void nrt_streams_fini(struct nrt_streams *streams)
{
	unsigned int i;

	for (i = 0; i < streams->nr; i++)
		if (streams->fds[i] >= 0)
			close(streams->fds[i]);
	pthread_mutex_destroy(&streams->lock);
	free(streams->fds);
}

/* With the lock. */
static NRT_STATUS connect_locked(struct nrt_streams *streams, int core, struct nrt_error *error)
{
	if (streams->fds[core] >= 0)
		return nrt_error_set(error, NRT_INVALID, "the stream of core %d has a client",
				     core);
	streams->fds[core] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (streams->fds[core] < 0)
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
	status = connect_locked(streams, core, error);
	if (!status)
		*fd = streams->fds[core];
	pthread_mutex_unlock(&streams->lock);
	return status;
}

/* With the lock: the place of a descriptor, or NULL. */
static int *find(struct nrt_streams *streams, int fd)
{
	unsigned int i;

	for (i = 0; i < streams->nr; i++)
		if (fd >= 0 && streams->fds[i] == fd)
			return &streams->fds[i];
	return NULL;
}

static NRT_STATUS no_stream(int fd, struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID, "%d is no connected stream", fd);
}

NRT_STATUS nrt_stream_check(struct nrt_streams *streams, int fd, struct nrt_error *error)
{
	bool found;

	pthread_mutex_lock(&streams->lock);
	found = find(streams, fd);
	pthread_mutex_unlock(&streams->lock);
	return found ? NRT_SUCCESS : no_stream(fd, error);
}

NRT_STATUS nrt_stream_close(struct nrt_streams *streams, int fd, struct nrt_error *error)
{
	int *place;

	pthread_mutex_lock(&streams->lock);
	place = find(streams, fd);
	if (place) {
		close(fd);
		*place = -1;
	}
	pthread_mutex_unlock(&streams->lock);
	return place ? NRT_SUCCESS : no_stream(fd, error);
}
