/* SPDX-License-Identifier: MIT */
/*
 * The transport of ranks that are processes of one machine. Rank 0 has a service, the root, at an
 * address that all know (NEURON_RT_ROOT_COMM_ID). Ranks meet there by TCP. What gives access to
 * memory and semaphores, file descriptors, goes by a local socket instead: the root tells its
 * random name and a token by TCP, and both ends see that the other one is of the same user.
 */
#ifndef LIBNRT_COMM_SOCKETS_H
#define LIBNRT_COMM_SOCKETS_H

#include <sys/socket.h>

#include "comm/wire.h"

struct nrt_root;

/* The world has failed, as another rank says, or because the root is gone. */
typedef void nrt_sockets_failed_fn(void *arg, const struct nrt_error *why);

/**
 * struct nrt_sockets_of - a rank of a world
 * @address: "IPV4:PORT" or "[IPV6]:PORT"
 * @rank, @count: which one
 * @timeout_ms: how long to look for the root; 0: 30 s
 * @failed, @arg: who is told, by a thread of the transport
 */
struct nrt_sockets_of {
	const char *address;
	uint32_t rank;
	uint32_t count;
	uint32_t timeout_ms;
	nrt_sockets_failed_fn *failed;
	void *arg;
};

/* Connect; of rank 0 also begin the root. NULL and @error. */
struct nrt_transport *nrt_sockets_open(const struct nrt_sockets_of *what,
				       struct nrt_error *error);

/* Parse an address. NRT_INVALID. */
NRT_STATUS nrt_sockets_parse(const char *text, struct sockaddr_storage *address,
			     socklen_t *length, struct nrt_error *error);

/* --- comm/root.c --- */

/* The service for @count ranks. NULL and @error. */
struct nrt_root *nrt_root_open(const struct sockaddr_storage *address, socklen_t length,
			       uint32_t count, struct nrt_error *error);
void nrt_root_close(struct nrt_root *root);

#endif /* LIBNRT_COMM_SOCKETS_H */
