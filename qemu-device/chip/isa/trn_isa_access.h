/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What an instruction reads and writes: its tiles, told from the encoded instruction and its
 * row of the instruction table. The checks on request (check/) and the builder library, which
 * synchronises programs, both ask here.
 *
 * Pure functions; any thread.
 */
#ifndef TRN_ISA_ACCESS_H
#define TRN_ISA_ACCESS_H

#include "isa/trn_isa.h"

/* The fields that may hold a tile. */
enum trn_isa_role {
	TRN_ISA_DST,
	TRN_ISA_SRC0,
	TRN_ISA_SRC1,
	TRN_ISA_COL0,
	TRN_ISA_COL1,
	TRN_ISA_ROLES
};

/**
 * struct trn_isa_access - a tile of an instruction
 * @ap: the tile; of a column what it stands for
 * @read: elements of it are read
 * @write: elements of it are written
 * @partly: read, but maybe not all of it: that depends on other operands
 * @table: read, and nobody knows beforehand which elements
 */
struct trn_isa_access {
	struct neuron_ap ap;
	bool read;
	bool write;
	bool partly;
	bool table;
};

/* The tiles that @inst has, which trn_isa_check() accepts: a mask by enum trn_isa_role. */
unsigned int trn_isa_roles(const struct neuron_inst *inst);
/* One of them. */
struct trn_isa_access trn_isa_access_of(const struct neuron_inst *inst, enum trn_isa_role role);

/* False: @inst, which trn_isa_check() accepts, has no such tile. */
bool trn_isa_access(const struct neuron_inst *inst, enum trn_isa_role role,
		    struct trn_isa_access *access);

/* Partition @p of this tile is touched. Most instructions touch all of a tile. */
bool trn_isa_access_partition(const struct neuron_inst *inst, enum trn_isa_role role,
			      unsigned int p);

/* A product, of which PSUM has the sums. */
bool trn_isa_is_product(const struct neuron_inst *inst);

#endif /* TRN_ISA_ACCESS_H */
