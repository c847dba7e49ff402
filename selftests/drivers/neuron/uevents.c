// SPDX-License-Identifier: MIT
/*
 * Uevents.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "uevents.h"

int uevents_open(void)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = 1,		/* the kernel's own */
	};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return -errno;
	if (bind(fd, (void *)&address, sizeof(address))) {
		close(fd);
		return -errno;
	}
	return fd;
}

ssize_t uevents_next(int fd, char *message, int timeout_ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&poller, 1, timeout_ms) <= 0)
		return 0;
	n = recv(fd, message, UEVENT_BYTES - 1, 0);
	if (n < 0)
		return 0;
	message[n] = 0;
	return n;
}

bool uevents_has(const char *message, ssize_t size, const char *text)
{
	ssize_t at;

	for (at = 0; at < size; at += (ssize_t)strlen(message + at) + 1)
		if (!strcmp(message + at, text))
			return true;
	return false;
}

bool uevents_wait(int fd, const char * const *variables, int timeout_ms)
{
	char message[UEVENT_BYTES];
	const char * const *v;
	ssize_t n;

	while ((n = uevents_next(fd, message, timeout_ms)) > 0) {
		for (v = variables; *v && uevents_has(message, n, *v); v++)
			;
		if (!*v)
			return true;
	}
	return false;
}
