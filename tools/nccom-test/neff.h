/* SPDX-License-Identifier: MIT */
/*
 * A NEFF that does one collective, for what the host interface of libnrt does not have.
 */
#ifndef NCCOM_NEFF_H
#define NCCOM_NEFF_H

#include "groups.h"
#include "metadata.h"
#include "operation.h"
#include "pairs.h"

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
 * struct neff_of - what it does
 * @operation, @reduction, @type, @shape: of the collective
 * @groups: of the ranks
 * @metadata: of an operation that varies
 * @pairs: of a permutation
 * @ratio: of the sizes of its tensors
 * @lnc: physical cores of a logical one
 */
struct neff_of {
	const struct operation *operation;
	const struct reduction *reduction;
	const struct type *type;
	const struct shape *shape;
	const struct groups *groups;
	const struct metadata *metadata;
	const struct pairs *pairs;
	const struct ratio *ratio;
	unsigned int lnc;
};

/*
 * From tensor "input" to tensor "output", with tensor "metadata" if the operation varies. 0, or -1
 * and @why.
 */
int neff_make(struct neff *neff, const struct neff_of *of, char why[NEFF_WHY]);
void neff_free(struct neff *neff);

#endif /* NCCOM_NEFF_H */
