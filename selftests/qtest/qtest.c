// SPDX-License-Identifier: MIT
#include "qtest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS	30000
#define MAX_ARGS	64
#define PIECE		1024	/* bytes of memory in a line */

static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_true(strlen(path) < sizeof(addr.sun_path));
	strcpy(addr.sun_path, path);
	assert_false(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	assert_false(listen(fd, 1));
	return fd;
}

static void run_qemu(const char *socket, const char *const args[])
{
	const char *qemu = getenv("QTEST_QEMU");
	const char *firmware = getenv("QTEST_FIRMWARE");
	const char *line[MAX_ARGS] = {
		qemu, "-machine", "q35", "-accel", "qtest", "-m", "64M",
		"-nodefaults", "-no-user-config", "-display", "none",
		"-L", firmware ? firmware : "/usr/share/seabios",
		"-qtest-log", "/dev/null", "-qtest", socket,
	};
	unsigned int n = 0;

	while (line[n])
		n++;
	while (*args && n < MAX_ARGS - 1)
		line[n++] = *args++;
	/* QEMU must not outlive a test that crashes. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(qemu, (char *const *)line);
	perror(qemu);
	_exit(127);
}

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ANSWER_MS) == 1;
}

void qtest_start(struct qtest *qt, const char *const args[])
{
	char dir[] = "/tmp/neuron-qtest.XXXXXX", path[64], socket[80];
	int fd;

	if (!getenv("QTEST_QEMU"))
		fail_msg("QTEST_QEMU does not name a QEMU");
	memset(qt, 0, sizeof(*qt));
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	snprintf(socket, sizeof(socket), "unix:%s", path);
	fd = listen_at(path);
	qt->pid = fork();
	assert_true(qt->pid >= 0);
	if (!qt->pid)
		run_qemu(socket, args);
	qt->fd = readable(fd) ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;
	close(fd);
	unlink(path);
	rmdir(dir);
	if (qt->fd < 0)
		fail_msg("QEMU does not answer");
}

void qtest_stop(struct qtest *qt)
{
	int status = 0;

	if (!qt->pid)
		return;
	if (waitpid(qt->pid, &status, WNOHANG) != 0)
		fail_msg("QEMU has ended by itself, wait status %#x",
			 (unsigned int)status);
	kill(qt->pid, SIGTERM);
	waitpid(qt->pid, &status, 0);
	close(qt->fd);
	free(qt->buf);
	memset(qt, 0, sizeof(*qt));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("QEMU ended badly, wait status %#x",
			 (unsigned int)status);
}

static void send_line(struct qtest *qt, const char *line)
{
	size_t len = strlen(line), done = 0;
	ssize_t n;

	while (done < len) {
		n = send(qt->fd, line + done, len - done, MSG_NOSIGNAL);
		if (n <= 0)
			fail_msg("QEMU has closed its socket");
		done += (size_t)n;
	}
}

static void read_more(struct qtest *qt)
{
	ssize_t n;

	if (qt->used + 4096 > qt->size) {
		qt->size += 65536;
		qt->buf = realloc(qt->buf, qt->size);
		assert_non_null(qt->buf);
	}
	if (!readable(qt->fd))
		fail_msg("QEMU does not answer");
	n = read(qt->fd, qt->buf + qt->used, 4095);
	if (n <= 0)
		fail_msg("QEMU has closed its socket");
	qt->used += (size_t)n;
	qt->buf[qt->used] = '\0';
}

/* The answer to @line, without "OK " and the newline; valid until the next one. */
static const char *ask(struct qtest *qt, const char *line)
{
	char *end;

	qt->used = 0;
	send_line(qt, line);
	do
		read_more(qt);
	while (!(end = memchr(qt->buf, '\n', qt->used)));
	*end = '\0';
	if (strncmp(qt->buf, "OK", 2))
		fail_msg("QEMU answers \"%s\" to \"%.60s\"", qt->buf, line);
	return qt->buf[2] ? qt->buf + 3 : qt->buf + 2;
}

uint32_t qtest_inl(struct qtest *qt, uint16_t port)
{
	char line[32];

	snprintf(line, sizeof(line), "inl 0x%x\n", port);
	return (uint32_t)strtoul(ask(qt, line), NULL, 0);
}

void qtest_outl(struct qtest *qt, uint16_t port, uint32_t value)
{
	char line[48];

	snprintf(line, sizeof(line), "outl 0x%x 0x%x\n", port, value);
	ask(qt, line);
}

static char suffix(unsigned int size)
{
	switch (size) {
	case 1:
		return 'b';
	case 2:
		return 'w';
	case 4:
		return 'l';
	default:
		return 'q';
	}
}

uint64_t qtest_read(struct qtest *qt, uint64_t addr, unsigned int size)
{
	char line[64];

	snprintf(line, sizeof(line), "read%c 0x%" PRIx64 "\n", suffix(size),
		 addr);
	return strtoull(ask(qt, line), NULL, 0);
}

void qtest_write(struct qtest *qt, uint64_t addr, uint64_t value,
		 unsigned int size)
{
	char line[80];

	snprintf(line, sizeof(line), "write%c 0x%" PRIx64 " 0x%" PRIx64 "\n",
		 suffix(size), addr, value);
	ask(qt, line);
}

static uint8_t hex_byte(const char *hex)
{
	const char digits[] = { hex[0], hex[1], '\0' };

	return (uint8_t)strtoul(digits, NULL, 16);
}

void qtest_memread(struct qtest *qt, uint64_t addr, void *buf, size_t len)
{
	uint8_t *bytes = buf;
	const char *hex;
	char line[64];
	size_t n, i;

	for (; len; len -= n, addr += n, bytes += n) {
		n = len < PIECE ? len : PIECE;
		snprintf(line, sizeof(line), "read 0x%" PRIx64 " 0x%zx\n", addr,
			 n);
		hex = ask(qt, line) + 2;
		assert_int_equal(strlen(hex), 2 * n);
		for (i = 0; i < n; i++)
			bytes[i] = hex_byte(hex + 2 * i);
	}
}

void qtest_memwrite(struct qtest *qt, uint64_t addr, const void *buf, size_t len)
{
	const uint8_t *bytes = buf;
	char line[64 + 2 * PIECE];
	size_t n, i;
	int at;

	for (; len; len -= n, addr += n, bytes += n) {
		n = len < PIECE ? len : PIECE;
		at = snprintf(line, sizeof(line), "write 0x%" PRIx64 " 0x%zx 0x",
			      addr, n);
		for (i = 0; i < n; i++)
			at += snprintf(line + at, 3, "%02x", bytes[i]);
		strcpy(line + at, "\n");
		ask(qt, line);
	}
}
