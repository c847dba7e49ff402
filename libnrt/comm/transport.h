/* SPDX-License-Identifier: MIT */
/*
 * How the ranks of a world talk to each other on the host: to meet, to agree, and to give each
 * other access to buffers and semaphores. What a collective moves never passes here.
 *
 * There is one transport for ranks that are threads of this process, and one for processes of
 * this machine. One for several machines would only meet and agree by it.
 */
#ifndef LIBNRT_COMM_TRANSPORT_H
#define LIBNRT_COMM_TRANSPORT_H

#include "comm/host.h"

/* Of a rank, in one exchange. */
#define NRT_SHARE_MAX	5

/* Of all ranks together, in one gathering. */
#define NRT_GATHER_MAX_BYTES	(1u << 20)

struct nrt_transport;

/* Use @all: as many descriptors of each rank of the exchange as it gave; they are closed after. */
typedef NRT_STATUS nrt_share_fn(void *arg, const int *all, struct nrt_error *error);

/**
 * struct nrt_share - file descriptors that ranks give to each other
 * @gather: who takes part, and the name of the exchange; it moves no bytes
 * @mine, @nr: descriptors of this rank; the same number for all, at most NRT_SHARE_MAX
 * @use, @arg: what is done with those of all
 */
struct nrt_share {
	struct nrt_gather gather;
	const int *mine;
	unsigned int nr;
	nrt_share_fn *use;
	void *arg;
};

typedef NRT_STATUS nrt_transport_gather_fn(struct nrt_transport *transport,
					   const struct nrt_gather *gather,
					   struct nrt_error *error);
typedef NRT_STATUS nrt_transport_share_fn(struct nrt_transport *transport,
					  const struct nrt_share *share,
					  struct nrt_error *error);

/**
 * struct nrt_transport_ops - a transport
 * @gather: as nrt_gather(), among some ranks of the world
 * @share: exchange file descriptors; a failure of one rank is one of all
 * @abort: all ranks of the world fail with @why: those that wait here, and those that do not
 * @retire: the rank's world has failed: what a new one needs, such as its address, is free again
 * @close: this rank leaves; nobody else uses the transport
 */
struct nrt_transport_ops {
	nrt_transport_gather_fn *gather;
	nrt_transport_share_fn *share;
	void (*abort)(struct nrt_transport *transport, const struct nrt_error *why);
	void (*retire)(struct nrt_transport *transport);
	void (*close)(struct nrt_transport *transport);
};

/**
 * struct nrt_transport - a rank's end of it
 * @ops: which transport; each has its own struct around this one
 */
struct nrt_transport {
	const struct nrt_transport_ops *ops;
};

#endif /* LIBNRT_COMM_TRANSPORT_H */
