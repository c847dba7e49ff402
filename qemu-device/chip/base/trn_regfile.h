/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Sparse store for the registers that only read back what was written: a chip
 * has hundreds of thousands, software touches a few thousand.
 */
#ifndef TRN_REGFILE_H
#define TRN_REGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trn_regfile;
struct trn_state;

/* An empty store; NULL: no memory. */
struct trn_regfile *trn_regfile_new(void);
void trn_regfile_free(struct trn_regfile *regfile);

/* The register at BAR0 offset @offset (4-byte aligned); 0 if never written. */
uint32_t trn_regfile_read(struct trn_regfile *regfile, uint32_t offset);

/* False: the store is full (or memory is short) and the write is lost. */
bool trn_regfile_write(struct trn_regfile *regfile, uint32_t offset,
		       uint32_t value);

/* Forget [@offset, @offset + @len). */
void trn_regfile_clear(struct trn_regfile *regfile, uint32_t offset,
		       uint32_t len);
/* Forget everything and give the memory back. */
void trn_regfile_reset(struct trn_regfile *regfile);

/* Save, or load in place of what is there: the registers that are not zero. */
void trn_regfile_state(struct trn_regfile *regfile, struct trn_state *st);

size_t trn_regfile_bytes(struct trn_regfile *regfile);

#endif /* TRN_REGFILE_H */
