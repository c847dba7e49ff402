/* SPDX-License-Identifier: MIT */
/*
 * A QEMU without a running processor, driven by the lines of QEMU's qtest protocol
 * over a socket (docs/devel/testing/qtest.rst in QEMU's tree). Anything that goes
 * wrong fails the running cmocka test.
 */
#ifndef QTEST_H
#define QTEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct qtest - one QEMU
 * @pid: its process
 * @fd: the socket
 * @buf, @used: what has been read of the next answer
 */
struct qtest {
	pid_t pid;
	int fd;
	char *buf;
	size_t used;
	size_t size;
};

/* Start $QTEST_QEMU with @args (NULL at the end) behind its basic options. */
void qtest_start(struct qtest *qt, const char *const args[]);
/* End it; it must not have ended by itself. */
void qtest_stop(struct qtest *qt);

/* I/O ports, 32 bits. */
uint32_t qtest_inl(struct qtest *qt, uint16_t port);
void qtest_outl(struct qtest *qt, uint16_t port, uint32_t value);

/* Physical addresses; @size 1, 2, 4 or 8. */
uint64_t qtest_read(struct qtest *qt, uint64_t addr, unsigned int size);
void qtest_write(struct qtest *qt, uint64_t addr, uint64_t value,
		 unsigned int size);
void qtest_memread(struct qtest *qt, uint64_t addr, void *buf, size_t len);
void qtest_memwrite(struct qtest *qt, uint64_t addr, const void *buf, size_t len);

#endif /* QTEST_H */
