/* SPDX-License-Identifier: MIT */
/*
 * Tensors that one core sends and another one receives. Both are cores of this process, or the
 * other one is of another process of the machine and of the user.
 *
 * An endpoint is a side of a connection. Requests of both sides wait in their order. Within the
 * process the thread that brings the second one of a pair moves the bytes, when it is the turn of
 * both tensors. Two processes find each other by listeners and connectors (comm/peer.h). Then each
 * endpoint has a channel, whose thread moves the bytes (comm/channel.h).
 *
 * Locks: struct nrt_sendrecv has one. Threads of listeners and channels take it when they ask for
 * an endpoint or a request, or tell of an end; they hold no other lock then. Under it are taken
 * those of handles and of the order of tensors. It is not held while bytes are moved, and not while
 * a thread of a listener or a channel is waited for.
 */
#ifndef LIBNRT_COMM_SENDRECV_H
#define LIBNRT_COMM_SENDRECV_H

#include "base/handle.h"
#include "comm/peer.h"
#include "object/tensor.h"

/* Endpoints of a core; requests of an endpoint that have not been looked at after their end. */
#define NRT_SENDRECV_ENDPOINTS	64
#define NRT_SENDRECV_REQUESTS	256

struct nrt_endpoint;
struct nrt_message;

/**
 * struct nrt_sendrecv_core - a core
 * @state: enum core_state
 * @listener: where other processes find it; NULL: they do not, or it could not be made
 */
struct nrt_sendrecv_core {
	uint8_t state;
	struct nrt_listener *listener;
};

/**
 * struct nrt_sendrecv - what the cores of the process send and receive
 * @handles: of endpoints and requests
 * @order: of tensors
 * @group: processes that may have the other cores
 * @lock: protects the rest, and all endpoints and requests
 * @cores: by number in the machine
 * @nr_cores: elements of @cores
 * @endpoints: list
 */
struct nrt_sendrecv {
	struct nrt_handles *handles;
	struct nrt_order *order;
	struct nrt_peer_group group;
	pthread_mutex_t lock;
	struct nrt_sendrecv_core *cores;
	unsigned int nr_cores;
	struct nrt_endpoint *endpoints;
};

/* For a machine with @nr_cores cores. */
NRT_STATUS nrt_sendrecv_init(struct nrt_sendrecv *sendrecv, struct nrt_handles *handles,
			     struct nrt_order *order, unsigned int nr_cores,
			     const struct nrt_peer_group *group, struct nrt_error *error);
/* Nobody uses it any more: ends all. */
void nrt_sendrecv_fini(struct nrt_sendrecv *sendrecv);
/* In the child of a fork: closes the descriptors of other processes, and nothing else. */
void nrt_sendrecv_forget(struct nrt_sendrecv *sendrecv);

/*
 * A core takes part, and does not any more. NRT_FAILURE: as nrt_async_sendrecv.h says. If there can
 * be no listener, only endpoints of other processes cannot be made.
 */
NRT_STATUS nrt_sendrecv_open(struct nrt_sendrecv *sendrecv, uint32_t core,
			     struct nrt_error *error);
NRT_STATUS nrt_sendrecv_close(struct nrt_sendrecv *sendrecv, uint32_t core,
			      struct nrt_error *error);
NRT_STATUS nrt_sendrecv_check(struct nrt_sendrecv *sendrecv, uint32_t core,
			      struct nrt_error *error);

/**
 * struct nrt_endpoint_of - which endpoint is asked for
 * @peer_ip: address of a host
 * @peer, @core: the other core, and the own one
 * @remote: the other core is not of this process
 * @sends: else it receives
 */
struct nrt_endpoint_of {
	const char *peer_ip;
	uint32_t peer;
	uint32_t core;
	bool remote;
	bool sends;
};

/* Make an endpoint; *@handle is of NRT_KIND_ENDPOINT. */
NRT_STATUS nrt_endpoint_new(struct nrt_sendrecv *sendrecv, const struct nrt_endpoint_of *what,
			    void **handle, struct nrt_error *error);

/*
 * Is it connected? One that sends and is not looks for its other side, without waiting for it.
 * NRT_FAILURE: the process that has its address must not be trusted; NRT_RESOURCE.
 */
NRT_STATUS nrt_endpoint_test(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
			     bool *connected, struct nrt_error *error);
void nrt_endpoint_release(struct nrt_endpoint *endpoint);

/*
 * Send or receive @length bytes of @span, which have been checked; its reference goes with the
 * request, also after a failure. *@handle is of NRT_KIND_MESSAGE.
 */
NRT_STATUS nrt_message_new(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
			   bool sends, struct nrt_span *span, size_t offset, size_t length,
			   void **handle, struct nrt_error *error);

/* Has it ended? Then *@size is what was moved, and the handle is closed. */
NRT_STATUS nrt_message_test(struct nrt_sendrecv *sendrecv, struct nrt_message *message,
			    bool *done, size_t *size, struct nrt_error *error);
void nrt_message_release(struct nrt_message *message);

#endif /* LIBNRT_COMM_SENDRECV_H */
