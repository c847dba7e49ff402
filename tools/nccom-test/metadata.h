/* SPDX-License-Identifier: MIT */
/*
 * Metadata of the operations with sizes that are known only at run time: how much goes where, in
 * elements (Documentation/libnrt/collectives.rst).
 */
#ifndef NCCOM_METADATA_H
#define NCCOM_METADATA_H

#include "file.h"
#include "operation.h"

/**
 * struct metadata - of all ranks of a group
 * @size: ranks of the group
 * @nr: entries of the file: one for all ranks, or one for each; 0: there is no file, and each block
 *	has as many elements as it can have
 * @has_displs, @has_rdispls: whether the file has these rows
 * @words: of each entry NRT_PLAN_NR_ROWS rows of @size numbers
 */
struct metadata {
	unsigned int size;
	unsigned int nr;
	bool has_displs;
	bool has_rdispls;
	uint32_t *words;
};

/*
 * For groups of @size ranks, as the file @path says, NULL: there is none:
 * {"metadata": [{"send_counts": [...], "send_displs": [...], "recv_displs": [...]}]}. What an
 * all_gatherv sends is one number each. 0, or -1 with @why.
 */
int metadata_read(struct metadata *metadata, const struct operation *operation,
		  unsigned int size, const char *path, char why[FILE_WHY]);
void metadata_fini(struct metadata *metadata);

/* Rows that a rank has: the last one only with receive displacements. */
unsigned int metadata_rows(const struct metadata *metadata);

/* Row @row of the rank at place @me, when its collective has ended; place @i of it. */
uint64_t metadata_at(const struct metadata *metadata, const struct operation *operation,
		     uint64_t block, unsigned int me, enum nrt_plan_row row, unsigned int i);

/*
 * Is every block inside of the tensors of @shape, and no longer than it may be, and does none lie
 * upon another one? 0, or -1 with @why.
 */
int metadata_check(const struct metadata *metadata, const struct operation *operation,
		   const struct type *type, const struct shape *shape, char why[FILE_WHY]);

#endif /* NCCOM_METADATA_H */
