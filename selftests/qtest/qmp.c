// SPDX-License-Identifier: MIT
#include "qmp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS	30000

void qmp_prepare(struct qmp *qmp)
{
	int pair[2];

	assert_false(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	*qmp = (struct qmp){ .fd = pair[0], .theirs = pair[1] };
	snprintf(qmp->chardev, sizeof(qmp->chardev), "socket,id=mon,fd=%d",
		 pair[1]);
}

void qmp_begin(struct qmp *qmp)
{
	char line[QMP_ANSWER];

	close(qmp->theirs);
	qmp_hear(qmp, line, sizeof(line));
	qmp_do(qmp, "\"qmp_capabilities\"");
}

void qmp_end(struct qmp *qmp)
{
	close(qmp->fd);
}

void qmp_hear(struct qmp *qmp, char *line, size_t size)
{
	struct pollfd pfd = { .fd = qmp->fd, .events = POLLIN };
	size_t n = 0;

	while (n + 1 < size && poll(&pfd, 1, ANSWER_MS) == 1 &&
	       read(qmp->fd, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = 0;
	if (strstr(line, "\"DEVICE_DELETED\"") && strstr(line, "\"chip\""))
		qmp->deleted = true;
}

void qmp_execute(struct qmp *qmp, const char *text, char *answer, size_t size)
{
	char line[512];

	snprintf(line, sizeof(line), "{\"execute\":%s}\n", text);
	assert_int_equal(write(qmp->fd, line, strlen(line)),
			 (ssize_t)strlen(line));
	do {
		qmp_hear(qmp, answer, size);
		if (!*answer)
			fail_msg("QEMU does not answer %s", text);
	} while (strstr(answer, "\"event\""));
}

void qmp_do(struct qmp *qmp, const char *text)
{
	char answer[QMP_ANSWER];

	qmp_execute(qmp, text, answer, sizeof(answer));
	if (!strstr(answer, "\"return\""))
		fail_msg("%s: %s", text, answer);
}

void qmp_monitor(struct qmp *qmp, const char *command, char *answer,
		 size_t size)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "\"human-monitor-command\",\"arguments\":{\"command-line\":\"%s\"}",
		 command);
	qmp_execute(qmp, text, answer, size);
}
