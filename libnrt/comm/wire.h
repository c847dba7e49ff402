/* SPDX-License-Identifier: MIT */
/*
 * Messages between ranks that are processes, by a stream socket: a head, bytes, and by a local
 * socket file descriptors. Whoever is at the other end may send anything: sizes are bounded, and
 * what is no message ends the connection.
 */
#ifndef LIBNRT_COMM_WIRE_H
#define LIBNRT_COMM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "comm/transport.h"

#define NRT_WIRE_MAGIC		0x6e727431u
#define NRT_WIRE_MAX_BYTES	NRT_GATHER_MAX_BYTES
#define NRT_WIRE_NAME		48
#define NRT_WIRE_TOKEN		16

enum nrt_wire_type {
	NRT_WIRE_HELLO = 1,	/* the first one of a rank; of a local socket with the token */
	NRT_WIRE_WELCOME,	/* the answer, by TCP struct nrt_wire_welcome */
	NRT_WIRE_REFUSED,	/* the answer, or what ends the world: @status and a text */
	NRT_WIRE_GATHER,	/* a rank has come; its bytes, or its descriptors */
	NRT_WIRE_RESULT,	/* those of all; descriptors of one rank after the other */
};

/**
 * struct nrt_wire_head - what a message begins with; all in the order of the machine
 * @magic: NRT_WIRE_MAGIC
 * @type: enum nrt_wire_type
 * @status: an NRT_STATUS
 * @rank, @count: of the world, or of those who meet
 * @timeout_ms: how long this rank waits for the others
 * @size: bytes that follow
 * @nr_fds: descriptors that come along
 * @name: of the meeting, NUL terminated; with @count it says which one an answer is of
 */
struct nrt_wire_head {
	uint32_t magic;
	uint32_t type;
	uint32_t status;
	uint32_t rank;
	uint32_t count;
	uint32_t timeout_ms;
	uint32_t size;
	uint32_t nr_fds;
	char name[NRT_WIRE_NAME];
};

/**
 * struct nrt_wire_welcome - how a rank gets to the local socket
 * @path: its abstract name, without the NUL before it
 * @token: who knows it has been welcomed
 */
struct nrt_wire_welcome {
	char path[32];
	uint8_t token[NRT_WIRE_TOKEN];
};

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t nrt_wire_now_ms(void);

/* Send all of it. False: the other end is gone, or does not read. */
bool nrt_wire_send(int fd, struct nrt_wire_head *head, const void *bytes, const int *fds);

/* Send a refusal of the meeting @what, or with NULL of all. */
bool nrt_wire_refuse(int fd, const struct nrt_wire_head *what, const struct nrt_error *why);

/*
 * Receive a message of at most @max bytes besides its head. *@bytes is for free(), with a NUL
 * behind them; @fds has room for NRT_SHARE_MAX descriptors, for close(). False: the end, or no
 * message; then there is nothing to free.
 */
bool nrt_wire_receive(int fd, uint32_t max, struct nrt_wire_head *head, void **bytes, int *fds);

/* A message must be sent, or received, as a whole within that time; 0: there is no limit. */
void nrt_wire_limit(int fd, uint32_t timeout_ms);

/* The same of reads alone. */
void nrt_wire_limit_reads(int fd, uint32_t timeout_ms);

/* Does a process of the same user hold the other end of a local socket? */
bool nrt_wire_same_user(int fd);

#endif /* LIBNRT_COMM_WIRE_H */
