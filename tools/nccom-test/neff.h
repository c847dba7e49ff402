/* SPDX-License-Identifier: MIT */
/*
 * A NEFF that does one collective, or some on each of several streams, for what the host interface
 * of libnrt does not have.
 */
#ifndef NCCOM_NEFF_H
#define NCCOM_NEFF_H

#include "groups.h"
#include "metadata.h"
#include "operation.h"
#include "pairs.h"
#include "sbuf.h"

/* Bytes of a message. */
#define NEFF_WHY	320

/**
 * struct neff - a NEFF
 * @bytes, @size: its file
 */
struct neff {
	void *bytes;
	size_t size;
};

/**
 * struct neff_op - what it does on a stream
 * @operation, @reduction, @type, @shape: of the collective
 * @groups: of the ranks
 * @metadata: of an operation that varies
 * @pairs: of a permutation
 * @ratio: of the sizes of its tensors
 * @sbuf: where its tensors lie in SBUF; NULL: they lie in HBM
 * @ops: how often the collective is done, with the same tensors
 */
struct neff_op {
	const struct operation *operation;
	const struct reduction *reduction;
	const struct type *type;
	const struct shape *shape;
	const struct groups *groups;
	const struct metadata *metadata;
	const struct pairs *pairs;
	const struct ratio *ratio;
	const struct sbuf *sbuf;
	unsigned int ops;
};

/* Bytes of the name of a tensor. */
#define NEFF_NAME	16

/* The name of @what, "input", "output" or "metadata", on stream @stream. */
void neff_name(char name[NEFF_NAME], const char *what, unsigned int stream);

/*
 * Stream i does @op[i], of @nr, for logical cores of @lnc physical ones: from its tensor "input" to
 * its tensor "output", with tensor "metadata" if the operation varies. What is in SBUF comes from
 * these tensors, and goes there. 0, or -1 and @why.
 */
int neff_make(struct neff *neff, const struct neff_op *op, unsigned int nr, unsigned int lnc,
	      char why[NEFF_WHY]);
void neff_free(struct neff *neff);

#endif /* NCCOM_NEFF_H */
