// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "comm/wire.h"

/* Room for the control message of the descriptors. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(NRT_SHARE_MAX * sizeof(int))];
};

uint64_t nrt_wire_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- Deadlines: the limit of a socket is that of a whole message --- */

/* When a message that begins now must be over; @option: SO_RCVTIMEO or SO_SNDTIMEO. */
static uint64_t deadline_of(int fd, int option)
{
	struct timeval limit = { 0 };
	socklen_t size = sizeof(limit);

	if (getsockopt(fd, SOL_SOCKET, option, &limit, &size) || (!limit.tv_sec && !limit.tv_usec))
		return UINT64_MAX;
	return nrt_wire_now_ms() + (uint64_t)limit.tv_sec * 1000 + (uint64_t)limit.tv_usec / 1000;
}

/* Wait until the socket can go on. False: the time is over. */
static bool is_ready(int fd, short events, uint64_t deadline_ms)
{
	struct pollfd at = { .fd = fd, .events = events };
	uint64_t now = nrt_wire_now_ms(), left = INT_MAX;
	int n;

	if (now >= deadline_ms)
		return false;
	if (deadline_ms - now < left)
		left = deadline_ms - now;
	n = poll(&at, 1, deadline_ms == UINT64_MAX ? -1 : (int)left);
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Was that call stopped by something that passes? Then this waits. */
static bool try_again(int fd, short events, uint64_t deadline_ms)
{
	if (errno == EINTR)
		return nrt_wire_now_ms() < deadline_ms;
	return (errno == EAGAIN || errno == EWOULDBLOCK) && is_ready(fd, events, deadline_ms);
}

static ssize_t send_some(int fd, const struct msghdr *message, uint64_t deadline_ms)
{
	ssize_t n;

	do {
		n = sendmsg(fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && try_again(fd, POLLOUT, deadline_ms));
	return n;
}

static ssize_t receive_some(int fd, struct msghdr *message, uint64_t deadline_ms)
{
	ssize_t n;

	do {
		n = recvmsg(fd, message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && try_again(fd, POLLIN, deadline_ms));
	return n;
}

/* --- Messages --- */

static bool send_all(int fd, const void *bytes, size_t size, uint64_t deadline_ms)
{
	struct iovec part = { (void *)bytes, size };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	while (part.iov_len) {
		n = send_some(fd, &message, deadline_ms);
		if (n <= 0)
			return false;
		part.iov_base = (uint8_t *)part.iov_base + n;
		part.iov_len -= (size_t)n;
		if (part.iov_len && nrt_wire_now_ms() >= deadline_ms)
			return false;
	}
	return true;
}

/* Descriptors come with the head only: the kernel drops others. */
static bool receive_all(int fd, void *bytes, size_t size, uint64_t deadline_ms)
{
	struct iovec part = { bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	while (part.iov_len) {
		n = receive_some(fd, &message, deadline_ms);
		if (n <= 0)
			return false;
		part.iov_base = (uint8_t *)part.iov_base + n;
		part.iov_len -= (size_t)n;
		if (part.iov_len && nrt_wire_now_ms() >= deadline_ms)
			return false;
	}
	return true;
}

/* Descriptors go with the first byte of the head. */
static bool send_head(int fd, struct nrt_wire_head *head, const int *fds, uint64_t deadline_ms)
{
	struct iovec part = { head, sizeof(*head) };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (head->nr_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(head->nr_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(head->nr_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, head->nr_fds * sizeof(int));
	}
	n = send_some(fd, &message, deadline_ms);
	return n > 0 &&
	       send_all(fd, (uint8_t *)head + n, sizeof(*head) - (size_t)n, deadline_ms);
}

bool nrt_wire_send(int fd, struct nrt_wire_head *head, const void *bytes, const int *fds)
{
	uint64_t deadline_ms = deadline_of(fd, SO_SNDTIMEO);

	head->magic = NRT_WIRE_MAGIC;
	if (head->size > NRT_WIRE_MAX_BYTES || head->nr_fds > NRT_SHARE_MAX)
		return false;
	return send_head(fd, head, fds, deadline_ms) &&
	       send_all(fd, bytes, head->size, deadline_ms);
}

bool nrt_wire_refuse(int fd, const struct nrt_wire_head *what, const struct nrt_error *why)
{
	struct nrt_wire_head head = {
		.type = NRT_WIRE_REFUSED,
		.status = why->status,
		.size = (uint32_t)strlen(why->text),
	};

	if (what) {
		head.count = what->count;
		memcpy(head.name, what->name, sizeof(head.name));
	}
	return nrt_wire_send(fd, &head, why->text, NULL);
}

/* Descriptors of a control message; those for which there is no room are closed. */
static void take_fds(struct msghdr *message, int *fds, uint32_t *nr)
{
	struct cmsghdr *control;
	size_t i, there;
	int fd;

	for (control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
			continue;
		there = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < there; i++) {
			memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(fd));
			if (*nr < NRT_SHARE_MAX)
				fds[(*nr)++] = fd;
			else
				close(fd);
		}
	}
}

static void close_fds(const int *fds, uint32_t nr)
{
	while (nr)
		close(fds[--nr]);
}

static bool is_sane(const struct nrt_wire_head *head, uint32_t max, uint32_t nr_fds)
{
	return head->magic == NRT_WIRE_MAGIC && head->size <= max &&
	       head->nr_fds == nr_fds && memchr(head->name, 0, sizeof(head->name));
}

static bool receive_head(int fd, uint32_t max, struct nrt_wire_head *head, int *fds,
			 uint64_t deadline_ms)
{
	struct iovec part = { head, sizeof(*head) };
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	uint32_t nr = 0;
	ssize_t n;

	n = receive_some(fd, &message, deadline_ms);
	if (n > 0)
		take_fds(&message, fds, &nr);
	if (n > 0 &&
	    receive_all(fd, (uint8_t *)head + n, sizeof(*head) - (size_t)n, deadline_ms) &&
	    is_sane(head, max, nr))
		return true;
	close_fds(fds, nr);
	return false;
}

bool nrt_wire_receive(int fd, uint32_t max, struct nrt_wire_head *head, void **bytes, int *fds)
{
	uint64_t deadline_ms = deadline_of(fd, SO_RCVTIMEO);
	uint8_t *data;

	if (!receive_head(fd, max, head, fds, deadline_ms))
		return false;
	data = malloc((size_t)head->size + 1);
	if (data && receive_all(fd, data, head->size, deadline_ms)) {
		data[head->size] = 0;
		*bytes = data;
		return true;
	}
	free(data);
	close_fds(fds, head->nr_fds);
	return false;
}

static void set_limit(int fd, int option, uint32_t timeout_ms)
{
	const struct timeval limit = {
		.tv_sec = timeout_ms / 1000,
		.tv_usec = timeout_ms % 1000 * 1000,
	};

	setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

void nrt_wire_limit_reads(int fd, uint32_t timeout_ms)
{
	set_limit(fd, SO_RCVTIMEO, timeout_ms);
}

void nrt_wire_limit(int fd, uint32_t timeout_ms)
{
	set_limit(fd, SO_RCVTIMEO, timeout_ms);
	set_limit(fd, SO_SNDTIMEO, timeout_ms);
}

bool nrt_wire_same_user(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == geteuid();
}
