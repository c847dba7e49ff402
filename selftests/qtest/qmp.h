/* SPDX-License-Identifier: MIT */
/*
 * QEMU's control socket. Anything that goes wrong fails the running cmocka test.
 */
#ifndef QMP_H
#define QMP_H

#include <stdbool.h>
#include <stddef.h>

#define QMP_ANSWER	4096

/**
 * struct qmp - the socket of one QEMU
 * @chardev: option that QEMU is to be started with, behind "-chardev"; also
 *	"-mon", "chardev=mon,mode=control"
 * @deleted: QEMU has told that the device "chip" is no more
 */
struct qmp {
	char chardev[64];
	int fd;
	int theirs;
	bool deleted;
};

/* Before QEMU is started, after it, and when it has ended. */
void qmp_prepare(struct qmp *qmp);
void qmp_begin(struct qmp *qmp);
void qmp_end(struct qmp *qmp);

/* The next line. */
void qmp_hear(struct qmp *qmp, char *line, size_t size);
/*
 * Execute a command, given as "NAME" or "NAME","arguments":{...} in JSON; its
 * answer, events left out.
 */
void qmp_execute(struct qmp *qmp, const char *text, char *answer, size_t size);
/* The same; it must work. */
void qmp_do(struct qmp *qmp, const char *text);
/* A command of the human monitor. */
void qmp_monitor(struct qmp *qmp, const char *command, char *answer,
		 size_t size);

#endif /* QMP_H */
