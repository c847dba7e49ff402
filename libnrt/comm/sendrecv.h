/* SPDX-License-Identifier: MIT */
/*
 * Tensors that one core sends and another one receives; both are cores of this process.
 *
 * An endpoint is a side of a connection. Requests of both sides wait in their order, and the
 * thread that brings the second one of a pair moves the bytes, when it is the turn of both
 * tensors.
 */
#ifndef LIBNRT_COMM_SENDRECV_H
#define LIBNRT_COMM_SENDRECV_H

#include "base/handle.h"
#include "object/tensor.h"

/* Endpoints of a core; requests of an endpoint that have not been looked at after their end. */
#define NRT_SENDRECV_ENDPOINTS	64
#define NRT_SENDRECV_REQUESTS	256

struct nrt_endpoint;
struct nrt_message;

/**
 * struct nrt_sendrecv - what the cores of the process send and receive
 * @handles: of endpoints and requests
 * @order: of tensors
 * @lock: protects the rest, and all endpoints and requests; not held while bytes are moved
 * @cores: by number in the machine: enum core_state
 * @nr_cores: elements of @cores
 * @endpoints: list
 */
struct nrt_sendrecv {
	struct nrt_handles *handles;
	struct nrt_order *order;
	pthread_mutex_t lock;
	uint8_t *cores;
	unsigned int nr_cores;
	struct nrt_endpoint *endpoints;
};

/* For a machine with @nr_cores cores. */
NRT_STATUS nrt_sendrecv_init(struct nrt_sendrecv *sendrecv, struct nrt_handles *handles,
			     struct nrt_order *order, unsigned int nr_cores,
			     struct nrt_error *error);
/* Nobody uses it any more: ends all. */
void nrt_sendrecv_fini(struct nrt_sendrecv *sendrecv);

/* A core takes part, and does not any more. NRT_FAILURE: as nrt_async_sendrecv.h says. */
NRT_STATUS nrt_sendrecv_open(struct nrt_sendrecv *sendrecv, uint32_t core,
			     struct nrt_error *error);
NRT_STATUS nrt_sendrecv_close(struct nrt_sendrecv *sendrecv, uint32_t core,
			      struct nrt_error *error);
NRT_STATUS nrt_sendrecv_check(struct nrt_sendrecv *sendrecv, uint32_t core,
			      struct nrt_error *error);

/* Which endpoint is asked for. */
struct nrt_endpoint_of {
	const char *peer_ip;
	uint32_t peer;
	uint32_t core;
	bool sends;
};

/* Make an endpoint; *@handle is of NRT_KIND_ENDPOINT. */
NRT_STATUS nrt_endpoint_new(struct nrt_sendrecv *sendrecv, const struct nrt_endpoint_of *what,
			    void **handle, struct nrt_error *error);
bool nrt_endpoint_connected(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint);
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
