/* SPDX-License-Identifier: MIT */
/*
 * How cores of two processes of this machine find each other.
 *
 * A core that takes part in nrt_async_sendrecv.h has a listener: a local socket, whose name has the
 * user, a number that the user chose, and the number of the core. A core that wants to send has a
 * connector. It connects to the listener of the other core and says hello: for which cores it
 * comes. The listener answers whether an endpoint waits for it. If none does, the connector tries
 * again later. The side that connects always sends; the side that listens always receives.
 *
 * Any process can make such a name, and anybody can connect to it. So both ends check that the
 * other process is of the same user. A listener keeps few connections that have not said hello, for
 * a short time, and neither end waits for the other one.
 */
#ifndef LIBNRT_COMM_PEER_H
#define LIBNRT_COMM_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * struct nrt_peer_group - the processes that may send tensors to each other
 * @open: there may be several; else it is this process alone
 * @port: number that the user gave to all of them
 * @lnc: physical cores of a logical one, which must be the same in all of them
 */
struct nrt_peer_group {
	bool open;
	uint32_t port;
	uint32_t lnc;
};

/* Is it an address of this host? */
bool nrt_peer_is_local(const char *ip);

/* --- Listener --- */

struct nrt_listener;

/*
 * Core @peer of process @pid wants to send to @core. True: an endpoint has taken the connection
 * @fd, else it stays the caller's. Called by the thread of the listener; it must not wait.
 */
typedef bool nrt_peer_accept_fn(void *arg, uint32_t core, uint32_t peer, int fd, pid_t pid);

/* NULL and @error: NRT_FAILURE: the name is in use; else NRT_RESOURCE. */
struct nrt_listener *nrt_listener_open(const struct nrt_peer_group *group, uint32_t core,
				       nrt_peer_accept_fn *fn, void *arg, struct nrt_error *error);

/* The caller must not hold locks that @fn takes. */
void nrt_listener_close(struct nrt_listener *listener);

/* In the child of a fork, which has no thread for it: close the descriptors. */
void nrt_listener_forget(struct nrt_listener *listener);

/* --- Connector --- */

/**
 * struct nrt_connector - an attempt to connect to a listener
 * @fd: the connection, or -1
 * @pid: the process that listens
 * @next_ms: no new attempt before that time
 */
struct nrt_connector {
	int fd;
	pid_t pid;
	uint64_t next_ms;
};

void nrt_connector_init(struct nrt_connector *connector);
void nrt_connector_end(struct nrt_connector *connector);

/* In the child of a fork: close the descriptor. */
void nrt_connector_forget(const struct nrt_connector *connector);

/*
 * Core @core wants to send to @peer. It never waits: *@welcome is false as long as nobody listens
 * or has answered. When it is true the caller takes @fd. NRT_FAILURE: the process that listens must
 * not be trusted, or is of another version; NRT_RESOURCE.
 */
NRT_STATUS nrt_connector_try(struct nrt_connector *connector, const struct nrt_peer_group *group,
			     uint32_t core, uint32_t peer, bool *welcome, struct nrt_error *error);

#endif /* LIBNRT_COMM_PEER_H */
