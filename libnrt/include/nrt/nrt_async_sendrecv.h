/* SPDX-License-Identifier: MIT */
/*
 * Tensors from core to core, without a program: one side sends, the other side receives.
 *
 * Cores are named by their number in the machine, whichever of them the process owns. The two
 * sides are joined by a communicator each: the n-th connect from core a to core b belongs to
 * the n-th accept of core b from core a. Requests of a communicator are done in order.
 *
 * The peer may be a core of this process, or of another process of the same user: a peer's address
 * is one of this host, such as 127.0.0.1. There is no transport to other hosts. Processes find each
 * other where NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT is set, to the same number in all of them.
 *
 * Names, values and layouts are the public ones; the rules of nrt.h hold.
 */
#ifndef NRT_ASYNC_SENDRECV_H
#define NRT_ASYNC_SENDRECV_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nrt_async_sendrecv_comm nrt_async_sendrecv_comm_t;
typedef struct nrt_async_sendrecv_request nrt_async_sendrecv_request_t;

#pragma GCC visibility push(default)

/**
 * nrt_async_sendrecv_get_max_num_communicators_per_lnc() - a limit
 * @num: out: communicators of a core
 *
 * Return: NRT_SUCCESS, NRT_INVALID.
 */
NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *num);

/**
 * nrt_async_sendrecv_get_max_num_pending_request() - a limit
 * @num: out: requests of a communicator that have not ended
 *
 * Return: NRT_SUCCESS, NRT_INVALID.
 */
NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *num);

/**
 * nrt_async_sendrecv_init() - let a core send and receive
 * @lnc: core of the machine that the process owns
 *
 * With NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT the core gets an address, where other processes find
 * it. If it can get none, as another process has it, a warning says so, and the core does not
 * receive from other processes.
 * Return: NRT_SUCCESS; NRT_INVALID: not such a core; NRT_FAILURE: done already, or the last
 * nrt_async_sendrecv_close() of the core has failed because of communicators or requests between
 * cores of this process.
 */
NRT_STATUS nrt_async_sendrecv_init(int lnc);

/**
 * nrt_async_sendrecv_close() - end the communicators and requests of a core
 * @lnc: core
 *
 * It waits for no other process. Requests of the other side fail. Of a message that was under way
 * a part of its bytes may have been written.
 * Return: NRT_SUCCESS; NRT_INVALID: not such a core; NRT_FAILURE: not initialised, or a
 * communicator is not connected, or a request has not ended. They are ended all the same. If the
 * other side of all these is of another process, the core can be initialised again.
 */
NRT_STATUS nrt_async_sendrecv_close(int lnc);

/**
 * nrt_async_sendrecv_connect() - make a communicator that sends
 * @peer_ip: address of the peer's host
 * @peer_lnc: core of the peer
 * @lnc: own core
 * @send_comm: out: communicator; nrt_async_sendrecv_close() ends it
 *
 * Return: NRT_SUCCESS; NRT_INVALID; NRT_RESOURCE: too many communicators; NRT_FAILURE: @lnc is
 * not initialised, or the address is not one of this host.
 */
NRT_STATUS nrt_async_sendrecv_connect(const char *peer_ip, int peer_lnc, int lnc,
				      nrt_async_sendrecv_comm_t **send_comm);

/**
 * nrt_async_sendrecv_accept() - make a communicator that receives
 * @peer_ip: as for nrt_async_sendrecv_connect()
 * @peer_lnc: likewise
 * @lnc: likewise
 * @recv_comm: out: communicator; nrt_async_sendrecv_close() ends it
 *
 * Return: as for nrt_async_sendrecv_connect(). If the process does not own @peer_lnc, NRT_FAILURE
 * also if another process has the address of @lnc, and NRT_RESOURCE if it can have none.
 */
NRT_STATUS nrt_async_sendrecv_accept(const char *peer_ip, int peer_lnc, int lnc,
				     nrt_async_sendrecv_comm_t **recv_comm);

/**
 * nrt_async_sendrecv_test_comm() - is a communicator connected?
 * @comm: communicator
 * @done: out: the answer; it stays true when the other side ends
 *
 * A communicator that sends looks for a peer in another process whenever this is called.
 * Return: NRT_SUCCESS; NRT_INVALID; NRT_INVALID_HANDLE; NRT_RESOURCE: no descriptors or memory to
 * look for it; NRT_FAILURE: a process of another user, or with another version of the library, has
 * the address of the peer. After a failure it may be called again.
 */
NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *comm, bool *done);

/**
 * nrt_async_sendrecv_send_tensor() - send bytes of a tensor
 * @tensor: tensor; must keep its bytes until the request has ended
 * @offset: first byte
 * @length: bytes
 * @send_comm: connected communicator
 * @request: out: for nrt_async_sendrecv_test_request()
 *
 * Return: NRT_SUCCESS; NRT_INVALID; NRT_INVALID_HANDLE; NRT_RESOURCE: too many requests, no memory,
 * or the connection got no thread; NRT_FAILURE: not connected, a communicator of the other
 * direction, or the other side was closed or its process has ended.
 */
NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
					  nrt_async_sendrecv_comm_t *send_comm,
					  nrt_async_sendrecv_request_t **request);

/**
 * nrt_async_sendrecv_recv_tensor() - receive bytes into a tensor
 * @tensor: tensor
 * @offset: first byte
 * @length: room; fewer bytes may come
 * @recv_comm: connected communicator
 * @request: out: for nrt_async_sendrecv_test_request()
 *
 * When the request fails, any part of the bytes may have been written.
 * Return: as for nrt_async_sendrecv_send_tensor().
 */
NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
					  nrt_async_sendrecv_comm_t *recv_comm,
					  nrt_async_sendrecv_request_t **request);

/**
 * nrt_async_sendrecv_test_request() - has a request ended?
 * @request: request; it is gone when the answer is yes or a failure
 * @done: out: the answer
 * @size: out: bytes that were moved
 *
 * Return: NRT_SUCCESS; NRT_INVALID; NRT_INVALID_HANDLE; NRT_FAILURE: more bytes were sent than
 * there was room for, the other side was closed, its process has ended, or it broke the protocol;
 * or the status with which the bytes could not be read or written, on whichever side that was.
 */
NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *request, bool *done,
					   size_t *size);

/**
 * nrt_async_sendrecv_flush() - wait until received bytes are in memory
 * @lnc: core
 *
 * They are there when their request has ended.
 * Return: NRT_SUCCESS; NRT_INVALID: not such a core; NRT_FAILURE: it is not initialised.
 */
NRT_STATUS nrt_async_sendrecv_flush(int lnc);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_ASYNC_SENDRECV_H */
