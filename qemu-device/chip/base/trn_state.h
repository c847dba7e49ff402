/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Saving and loading: one function for each block does both directions, so that
 * the two cannot differ.
 *
 * The chip is stopped and quiet. A block's function is called with the block in
 * its reset state when loading; it may allocate, must check every count and index
 * that it loads before use, and calls trn_state_fail() instead of trusting one.
 * After a failure further calls do nothing and give zero.
 *
 * The stream is little endian; a block begins with trn_state_block().
 */
#ifndef TRN_STATE_H
#define TRN_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trn/state.h"

/* The first failure is kept. */
void trn_state_fail(struct trn_state *st, const char *why);
static inline bool trn_state_failed(const struct trn_state *st)
{
	return st->why;
}

/* Begin a block; loading fails unless the stream has the same one here. */
void trn_state_block(struct trn_state *st, uint32_t name, uint32_t version);
#define TRN_STATE_NAME(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | \
	 (uint32_t)(d) << 24)

void trn_state_bytes(struct trn_state *st, void *buf, size_t len);
void trn_state_u8(struct trn_state *st, uint8_t *value);
void trn_state_u16(struct trn_state *st, uint16_t *value);
void trn_state_u32(struct trn_state *st, uint32_t *value);
void trn_state_u64(struct trn_state *st, uint64_t *value);
void trn_state_bool(struct trn_state *st, bool *value);
void trn_state_atomic_u32(struct trn_state *st, _Atomic uint32_t *value);
void trn_state_atomic_u64(struct trn_state *st, _Atomic uint64_t *value);
void trn_state_atomic_bool(struct trn_state *st, _Atomic bool *value);

/* A value that must be the same on both sides, else loading fails with @why. */
void trn_state_same(struct trn_state *st, uint64_t value, const char *why);
/* A count of at most @max. */
uint32_t trn_state_count(struct trn_state *st, uint32_t count, uint32_t max);

#endif /* TRN_STATE_H */
