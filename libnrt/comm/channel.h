/* SPDX-License-Identifier: MIT */
/*
 * Tensors that go to a core of another process, or come from one: the connection of two endpoints.
 *
 * A channel has one direction and one thread, which does one message after the other:
 *
 *	sender                          receiver
 *	OFFER, with the size
 *	                                waits until it has a request
 *	                                TAKE; or REFUSE, with its room: the message has ended
 *	PIECE and its bytes, ...
 *	(STOP, with a status: it cannot go on)
 *	                                END, with its status
 *
 * The other process may send anything, or nothing. A frame out of turn ends the channel.
 * The thread waits for its socket, for its owner and for the turn of a tensor in one place each,
 * where nrt_channel_close() wakes it.
 *
 * A tensor has its place in the order of tensors for a piece at a time, while the piece is read or
 * written, and never while the thread waits for the other process. Else a process that stands still
 * would hold up everybody here who uses the tensor, and two channels whose tensors depend on each
 * other in both processes would wait for each other for ever: no process sees both orders.
 */
#ifndef LIBNRT_COMM_CHANNEL_H
#define LIBNRT_COMM_CHANNEL_H

#include <sys/types.h>

#include "object/tensor.h"

/**
 * struct nrt_transfer - what a request wants to be sent or received
 * @request: of the owner, who keeps it and @span until the end
 * @span, @offset, @length: bytes
 */
struct nrt_transfer {
	void *request;
	const struct nrt_span *span;
	size_t offset;
	size_t length;
};

/**
 * struct nrt_channel_ops - the owner; called by the thread, without locks
 * @next: the oldest request that waits; it is under way now. False: there is none
 * @ended: a request that was under way has ended; @moved are its bytes if @error has no status
 * @lost: the connection has ended, and the channel with it
 */
struct nrt_channel_ops {
	bool (*next)(void *owner, struct nrt_transfer *transfer);
	void (*ended)(void *owner, void *request, size_t moved, const struct nrt_error *error);
	void (*lost)(void *owner, const struct nrt_error *why);
};

/**
 * struct nrt_channel_setup - what a channel is for
 * @ops, @owner: who has requests
 * @order: of tensors
 * @peer: the other core
 * @sends: else it receives
 */
struct nrt_channel_setup {
	const struct nrt_channel_ops *ops;
	void *owner;
	struct nrt_order *order;
	uint32_t peer;
	bool sends;
};

struct nrt_channel;

/* A channel that has no connection yet, and all that it needs but a thread. NULL: NRT_RESOURCE. */
struct nrt_channel *nrt_channel_new(const struct nrt_channel_setup *setup, struct nrt_error *error);

/*
 * It has a connection to process @pid: @fd, a local socket that does not block. The owner may hold
 * locks that its operations take. NRT_RESOURCE: there is no thread, and @fd is the caller's.
 */
NRT_STATUS nrt_channel_start(struct nrt_channel *channel, int fd, pid_t pid,
			     struct nrt_error *error);

/* The owner has another request. It may hold locks. */
void nrt_channel_wake(struct nrt_channel *channel);

/*
 * End what is under way, and the channel. It does not wait for the other side. If it was started,
 * the owner must not hold locks that its operations take.
 */
void nrt_channel_close(struct nrt_channel *channel);

/* In the child of a fork, which has no thread for it: close the descriptors. */
void nrt_channel_forget(struct nrt_channel *channel);

#endif /* LIBNRT_COMM_CHANNEL_H */
