/* SPDX-License-Identifier: MIT */
/*
 * What cores of two processes say to each other when they send tensors, by a local socket. All is
 * in the machine's byte order. Tests that play one of the two processes use it, too.
 */
#ifndef LIBNRT_COMM_PEER_WIRE_H
#define LIBNRT_COMM_PEER_WIRE_H

#include <stdint.h>

/* Abstract name of the socket of a core: user, port, size of logical cores, core. */
#define NRT_PEER_ADDRESS	"neuron-sendrecv-%u-%u-%u-%u"

/* --- When they meet --- */

#define NRT_HELLO_MAGIC		0x6e727364u
#define NRT_HELLO_VERSION	1

/**
 * struct nrt_hello - what the side that connects says first
 * @magic, @version: NRT_HELLO_MAGIC and NRT_HELLO_VERSION; they stay where they are in all versions
 * @from, @to: the core that will send, and the one that will receive
 */
struct nrt_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t from;
	uint32_t to;
};

enum nrt_answer_type {
	NRT_ANSWER_WELCOME = 1,
	NRT_ANSWER_LATER,	/* no endpoint waits for it */
	NRT_ANSWER_VERSION,	/* the listener has another version */
};

/**
 * struct nrt_answer - what the listener says
 * @magic, @version: as of a hello
 * @type: enum nrt_answer_type
 */
struct nrt_answer {
	uint32_t magic;
	uint32_t version;
	uint32_t type;
};

/* --- After the welcome: frames; comm/channel.h has their order --- */

#define NRT_FRAME_MAGIC		0x6e727363u
#define NRT_FRAME_PIECE_BYTES	(1024 * 1024)

enum nrt_frame_type {
	NRT_FRAME_OFFER = 1,
	NRT_FRAME_TAKE,
	NRT_FRAME_REFUSE,
	NRT_FRAME_PIECE,
	NRT_FRAME_STOP,
	NRT_FRAME_END,
};

/**
 * struct nrt_frame - what the two sides of a channel say
 * @magic: NRT_FRAME_MAGIC
 * @type: enum nrt_frame_type
 * @size: OFFER: bytes of the message; REFUSE: room; PIECE: bytes that follow
 * @status: STOP, END: NRT_STATUS of the message
 * @why: STOP, END: text of a failure
 */
struct nrt_frame {
	uint32_t magic;
	uint32_t type;
	uint64_t size;
	uint32_t status;
	char why[236];
};

#endif /* LIBNRT_COMM_PEER_WIRE_H */
