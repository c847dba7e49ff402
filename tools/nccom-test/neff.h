/* SPDX-License-Identifier: MIT */
/*
 * A NEFF that does one collective, for what the host interface of libnrt does not have.
 */
#ifndef NCCOM_NEFF_H
#define NCCOM_NEFF_H

#include "groups.h"
#include "operation.h"

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

/*
 * From tensor "input" to tensor "output", whose sizes are in @shape, by all ranks of @groups, on
 * logical cores of @lnc physical ones. 0, or -1 and @why.
 */
int neff_make(struct neff *neff, const struct operation *operation, const struct type *type,
	      const struct groups *groups, const struct shape *shape, unsigned int lnc,
	      char why[NEFF_WHY]);
void neff_free(struct neff *neff);

#endif /* NCCOM_NEFF_H */
