// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_state.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the stream has the byte order of the host");

void trn_state_fail(struct trn_state *st, const char *why)
{
	if (!st->why)
		st->why = why;
}

void trn_state_bytes(struct trn_state *st, void *buf, size_t len)
{
	if (!st->why && !st->transfer(st->opaque, buf, len))
		trn_state_fail(st, "the stream ends too early");
	if (st->why && st->loading)
		memset(buf, 0, len);
}

void trn_state_u8(struct trn_state *st, uint8_t *value)
{
	trn_state_bytes(st, value, sizeof(*value));
}

void trn_state_u16(struct trn_state *st, uint16_t *value)
{
	trn_state_bytes(st, value, sizeof(*value));
}

void trn_state_u32(struct trn_state *st, uint32_t *value)
{
	trn_state_bytes(st, value, sizeof(*value));
}

void trn_state_u64(struct trn_state *st, uint64_t *value)
{
	trn_state_bytes(st, value, sizeof(*value));
}

void trn_state_bool(struct trn_state *st, bool *value)
{
	uint8_t byte = *value;

	trn_state_u8(st, &byte);
	if (byte > 1)
		trn_state_fail(st, "a flag is neither 0 nor 1");
	*value = byte;
}

void trn_state_atomic_u32(struct trn_state *st, _Atomic uint32_t *value)
{
	uint32_t plain = atomic_load(value);

	trn_state_u32(st, &plain);
	if (st->loading)
		atomic_store(value, plain);
}

void trn_state_atomic_u64(struct trn_state *st, _Atomic uint64_t *value)
{
	uint64_t plain = atomic_load(value);

	trn_state_u64(st, &plain);
	if (st->loading)
		atomic_store(value, plain);
}

void trn_state_atomic_bool(struct trn_state *st, _Atomic bool *value)
{
	bool plain = atomic_load(value);

	trn_state_bool(st, &plain);
	if (st->loading)
		atomic_store(value, plain);
}

void trn_state_same(struct trn_state *st, uint64_t value, const char *why)
{
	uint64_t other = value;

	trn_state_u64(st, &other);
	if (other != value)
		trn_state_fail(st, why);
}

void trn_state_block(struct trn_state *st, uint32_t name, uint32_t version)
{
	trn_state_same(st, (uint64_t)version << 32 | name,
		       "a block is missing or of another version");
}

uint32_t trn_state_count(struct trn_state *st, uint32_t count, uint32_t max)
{
	trn_state_u32(st, &count);
	if (count > max) {
		trn_state_fail(st, "a count is too large");
		return 0;
	}
	return count;
}
