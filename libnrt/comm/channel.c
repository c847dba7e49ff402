// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"
#include "comm/channel.h"
#include "comm/peer_wire.h"

/* After a failure that may last. */
#define PAUSE_MS	100

/**
 * struct nrt_channel - a channel
 * @setup: what it is for
 * @fd, @pid: the connection, and the process at its other end; @fd is -1 before the start
 * @wake: eventfd: look at @closing, at the owner's requests and at the turn of the ticket
 * @closing: the thread has to end
 * @thread: does everything
 * @bytes: room for a piece; of @thread
 * @misused: the other side broke the protocol; of @thread
 * @broken: errno of a failure of the socket here; 0: the other side has ended; of @thread
 */
struct nrt_channel {
	struct nrt_channel_setup setup;
	int fd;
	pid_t pid;
	int wake;
	atomic_bool closing;
	pthread_t thread;
	uint8_t *bytes;
	bool misused;
	int broken;
};

/* --- Waiting. All returns are false when the channel has to end --- */

/* Wait for @events of the socket, or to be woken. Either may be for nothing. */
static bool await(struct nrt_channel *channel, short events, bool *ready)
{
	struct pollfd fds[] = {
		{ .fd = channel->wake, .events = POLLIN },
		{ .fd = events ? channel->fd : -1, .events = events },
	};
	eventfd_t ignored;

	*ready = false;
	if (atomic_load(&channel->closing))
		return false;
	if (poll(fds, 2, -1) < 0) {
		/* No memory, or a limit of descriptors that is too low: try the socket at times. */
		if (errno != EINTR)
			usleep(PAUSE_MS * 1000);
		*ready = events;
		return !atomic_load(&channel->closing);
	}
	*ready = fds[1].revents;
	if (fds[0].revents)
		eventfd_read(channel->wake, &ignored);
	return !atomic_load(&channel->closing);
}

static bool await_socket(struct nrt_channel *channel, short events)
{
	bool ready = false;

	while (!ready)
		if (!await(channel, events, &ready))
			return false;
	return true;
}

/* The turn of a ticket: with the lock of the order. */
static void turn(void *arg)
{
	nrt_channel_wake(arg);
}

static bool take_turn(struct nrt_channel *channel, struct nrt_ticket *ticket)
{
	bool ignored;

	ticket->turn = turn;
	ticket->arg = channel;
	pthread_mutex_lock(&channel->setup.order->lock);
	nrt_order_add(ticket);
	pthread_mutex_unlock(&channel->setup.order->lock);
	while (!nrt_ticket_has_turn(ticket)) {
		if (!await(channel, 0, &ignored)) {
			nrt_order_leave(channel->setup.order, ticket);
			return false;
		}
	}
	return true;
}

/* The connection has ended: @n is the result of the call. */
static bool has_ended(struct nrt_channel *channel, ssize_t n)
{
	if (n < 0 && errno != EPIPE && errno != ECONNRESET)
		channel->broken = errno;
	return false;
}

static bool send_all(struct nrt_channel *channel, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	ssize_t n;

	while (size) {
		if (atomic_load(&channel->closing))
			return false;
		n = send(channel->fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			at += n;
			size -= (size_t)n;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			return has_ended(channel, n);
		} else if (!await_socket(channel, POLLOUT)) {
			return false;
		}
	}
	return true;
}

static bool receive_all(struct nrt_channel *channel, void *bytes, size_t size)
{
	uint8_t *at = bytes;
	ssize_t n;

	while (size) {
		if (atomic_load(&channel->closing))
			return false;
		n = recv(channel->fd, at, size, MSG_DONTWAIT);
		if (n > 0) {
			at += n;
			size -= (size_t)n;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			return has_ended(channel, n);
		} else if (!await_socket(channel, POLLIN)) {
			return false;
		}
	}
	return true;
}

static bool send_frame(struct nrt_channel *channel, enum nrt_frame_type type, uint64_t size)
{
	const struct nrt_frame frame = { .magic = NRT_FRAME_MAGIC, .type = type, .size = size };

	return send_all(channel, &frame, sizeof(frame));
}

static bool send_result(struct nrt_channel *channel, enum nrt_frame_type type,
			const struct nrt_error *error)
{
	struct nrt_frame frame = {
		.magic = NRT_FRAME_MAGIC,
		.type = type,
		.status = error->status,
	};

	if (error->status)
		snprintf(frame.why, sizeof(frame.why), "%.*s", (int)sizeof(frame.why) - 1,
			 error->text);
	return send_all(channel, &frame, sizeof(frame));
}

static bool misused(struct nrt_channel *channel)
{
	channel->misused = true;
	return false;
}

/* A frame of one of two types. Its reason becomes text, whatever bytes the other side sent. */
static bool read_frame(struct nrt_channel *channel, struct nrt_frame *frame,
		       enum nrt_frame_type one, enum nrt_frame_type other)
{
	unsigned int i;

	if (!receive_all(channel, frame, sizeof(*frame)))
		return false;
	if (frame->magic != NRT_FRAME_MAGIC || (frame->type != one && frame->type != other))
		return misused(channel);
	frame->why[sizeof(frame->why) - 1] = 0;
	for (i = 0; frame->why[i]; i++)
		if (!isprint((unsigned char)frame->why[i]))
			frame->why[i] = '?';
	return true;
}

/* Wait for a request. Meanwhile the other side is quiet: what can be read is its end. */
static bool await_request(struct nrt_channel *channel, struct nrt_transfer *transfer)
{
	bool readable = false;
	char byte;
	ssize_t n;

	while (!channel->setup.ops->next(channel->setup.owner, transfer)) {
		if (!await(channel, POLLIN, &readable))
			return false;
		if (!readable)
			continue;
		n = recv(channel->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		return n > 0 ? misused(channel) : has_ended(channel, n);
	}
	return true;
}

/* --- Bytes of tensors --- */

/* Read or write @size bytes of a transfer, when it is their turn. @error says how it went. */
static bool move_piece(struct nrt_channel *channel, const struct nrt_transfer *transfer, size_t at,
		       size_t size, struct nrt_error *error)
{
	size_t offset = transfer->offset + at;
	struct nrt_use use;
	struct nrt_ticket ticket = { .uses = &use };

	nrt_span_use(transfer->span, offset, size, !channel->setup.sends, &ticket);
	if (!take_turn(channel, &ticket))
		return false;
	error->status = channel->setup.sends ?
				nrt_span_read(transfer->span, offset, channel->bytes, size, error) :
				nrt_span_write(transfer->span, offset, channel->bytes, size, error);
	nrt_order_leave(channel->setup.order, &ticket);
	return true;
}

static NRT_STATUS too_long(size_t bytes, size_t room, struct nrt_error *error)
{
	return nrt_error_set(error, NRT_FAILURE, "%zu bytes were sent to a place for %zu", bytes,
			     room);
}

/*
 * The other side may send any number. Only those are taken over that reading and writing of a
 * tensor can return: what else a status says, the program would understand of its own handles.
 */
static NRT_STATUS status_there(const struct nrt_frame *frame)
{
	static const NRT_STATUS known[] = {
		NRT_RESOURCE, NRT_TIMEOUT, NRT_HW_ERROR, NRT_FAIL_HOST_MEM_ALLOC,
		NRT_EXEC_HW_ERR_HBM_UE, NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE,
		NRT_EXEC_HW_ERR_DMA_ABORT,
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (frame->status == (uint32_t)known[i])
			return known[i];
	return NRT_FAILURE;
}

static NRT_STATUS failed_there(const struct nrt_channel *channel, const struct nrt_frame *frame,
			       struct nrt_error *error)
{
	return nrt_error_set(error, status_there(frame), "core %u of process %d: %s",
			     channel->setup.peer, (int)channel->pid,
			     frame->why[0] ? frame->why : "it has failed");
}

/* --- A message. False: the channel has to end before it has --- */

static bool send_pieces(struct nrt_channel *channel, const struct nrt_transfer *transfer,
			struct nrt_error *error)
{
	size_t at, size;

	for (at = 0; at < transfer->length; at += size) {
		size = transfer->length - at;
		if (size > NRT_FRAME_PIECE_BYTES)
			size = NRT_FRAME_PIECE_BYTES;
		if (!move_piece(channel, transfer, at, size, error))
			return false;
		if (error->status)
			return send_result(channel, NRT_FRAME_STOP, error);
		if (!send_frame(channel, NRT_FRAME_PIECE, size) ||
		    !send_all(channel, channel->bytes, size))
			return false;
	}
	return true;
}

static bool send_message(struct nrt_channel *channel, const struct nrt_transfer *transfer,
			 struct nrt_error *error)
{
	struct nrt_frame frame;

	if (!send_frame(channel, NRT_FRAME_OFFER, transfer->length) ||
	    !read_frame(channel, &frame, NRT_FRAME_TAKE, NRT_FRAME_REFUSE))
		return false;
	if (frame.type == NRT_FRAME_REFUSE) {
		too_long(transfer->length, frame.size, error);
		return true;
	}
	if (!send_pieces(channel, transfer, error) ||
	    !read_frame(channel, &frame, NRT_FRAME_END, NRT_FRAME_END))
		return false;
	if (!error->status && frame.status)
		failed_there(channel, &frame, error);
	return true;
}

/* Pieces are read even after a write has failed, so that both sides stay in step. */
static bool receive_pieces(struct nrt_channel *channel, const struct nrt_transfer *transfer,
			   size_t length, struct nrt_error *error)
{
	struct nrt_frame frame;
	size_t at;

	for (at = 0; at < length; at += frame.size) {
		if (!read_frame(channel, &frame, NRT_FRAME_PIECE, NRT_FRAME_STOP))
			return false;
		if (frame.type == NRT_FRAME_STOP) {
			failed_there(channel, &frame, error);
			return true;
		}
		if (!frame.size || frame.size > NRT_FRAME_PIECE_BYTES || frame.size > length - at)
			return misused(channel);
		if (!receive_all(channel, channel->bytes, frame.size))
			return false;
		if (!error->status && !move_piece(channel, transfer, at, frame.size, error))
			return false;
	}
	return true;
}

/*
 * A program that sees the end of a request may close at once, and the sender must get the result
 * all the same. So it is sent first. If that fails, the bytes are here nevertheless.
 */
static bool receive_message(struct nrt_channel *channel, const struct nrt_transfer *transfer,
			    size_t length, struct nrt_error *error)
{
	if (length > transfer->length) {
		too_long(length, transfer->length, error);
		send_frame(channel, NRT_FRAME_REFUSE, transfer->length);
		return true;
	}
	if (!send_frame(channel, NRT_FRAME_TAKE, 0) ||
	    !receive_pieces(channel, transfer, length, error))
		return false;
	send_result(channel, NRT_FRAME_END, error);
	return true;
}

static void explain(const struct nrt_channel *channel, struct nrt_error *why)
{
	if (channel->broken) {
		nrt_error_set(why, NRT_FAILURE, "the connection to core %u of process %d: %s",
			      channel->setup.peer, (int)channel->pid,
			      nrt_error_why(channel->broken));
		return;
	}
	nrt_error_set(why, NRT_FAILURE, "core %u of process %d %s", channel->setup.peer,
		      (int)channel->pid,
		      channel->misused ? "broke the protocol" : "has closed or ended");
}

/* The next message. */
static bool do_message(struct nrt_channel *channel)
{
	const struct nrt_channel_ops *ops = channel->setup.ops;
	struct nrt_error error = { 0 };
	struct nrt_transfer transfer;
	struct nrt_frame offer;
	bool whole;

	if (!channel->setup.sends && !read_frame(channel, &offer, NRT_FRAME_OFFER, NRT_FRAME_OFFER))
		return false;
	if (!await_request(channel, &transfer))
		return false;
	if (channel->setup.sends)
		offer.size = transfer.length;
	whole = channel->setup.sends ? send_message(channel, &transfer, &error) :
				    receive_message(channel, &transfer, offer.size, &error);
	if (!whole && !error.status)
		explain(channel, &error);
	ops->ended(channel->setup.owner, transfer.request, offer.size, &error);
	return whole;
}

static void *channel_thread(void *arg)
{
	struct nrt_channel *channel = arg;
	struct nrt_error why;

	while (do_message(channel))
		;
	/* The other side hears of it now, not when the owner closes. */
	shutdown(channel->fd, SHUT_RDWR);
	if (atomic_load(&channel->closing))
		return NULL;
	explain(channel, &why);
	channel->setup.ops->lost(channel->setup.owner, &why);
	return NULL;
}

/* --- Beginning and end --- */

struct nrt_channel *nrt_channel_new(const struct nrt_channel_setup *setup, struct nrt_error *error)
{
	struct nrt_channel *channel = calloc(1, sizeof(*channel));

	if (!channel) {
		nrt_error_memory(error);
		return NULL;
	}
	channel->setup = *setup;
	channel->fd = -1;
	channel->bytes = malloc(NRT_FRAME_PIECE_BYTES);
	channel->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (channel->bytes && channel->wake >= 0)
		return channel;
	nrt_error_set(error, NRT_RESOURCE, "cannot make a connection to core %u: %s", setup->peer,
		      nrt_error_why(channel->bytes ? errno : ENOMEM));
	nrt_channel_close(channel);
	return NULL;
}

NRT_STATUS nrt_channel_start(struct nrt_channel *channel, int fd, pid_t pid,
			     struct nrt_error *error)
{
	int ret;

	channel->fd = fd;
	channel->pid = pid;
	ret = nrt_thread_start(&channel->thread, channel_thread, channel);
	if (!ret)
		return NRT_SUCCESS;
	channel->fd = -1;
	return nrt_error_set(error, NRT_RESOURCE, "cannot make a thread for core %u: %s",
			     channel->setup.peer, nrt_error_why(ret));
}

void nrt_channel_wake(struct nrt_channel *channel)
{
	eventfd_write(channel->wake, 1);
}

void nrt_channel_close(struct nrt_channel *channel)
{
	if (!channel)
		return;
	if (channel->fd >= 0) {
		atomic_store(&channel->closing, true);
		nrt_channel_wake(channel);
		pthread_join(channel->thread, NULL);
		close(channel->fd);
	}
	if (channel->wake >= 0)
		close(channel->wake);
	free(channel->bytes);
	free(channel);
}

void nrt_channel_forget(struct nrt_channel *channel)
{
	if (channel->fd >= 0)
		close(channel->fd);
	close(channel->wake);
}
