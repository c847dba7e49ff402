/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Byte order, for the functions of this folder.
 *
 * The headers of this folder are what the kernel driver, the chip and a runtime compute
 * alike: how windows, job blocks, rings and completion records are written, and how they
 * are read when the other side is not trusted. They need no libc, allocate nothing and
 * have no floating point. A check returns NULL when all is well, or a string that says
 * what is wrong; the string is constant and needs not be freed. Everything can be called
 * in any context, also under a spin lock.
 *
 * Whoever checks memory that the other side can write copies it first, and checks and
 * uses the copy.
 */
#ifndef NEURON_CONTRACT_BYTES_H
#define NEURON_CONTRACT_BYTES_H

#include "neuron/types.h"

/* What a check returns when all is well: NULL, without its header. */
#define NEURON_FINE	((const char *)0)

/* sparse knows it; others need not. */
#ifndef __force
#define __force
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NEURON_SWAP16(v)	(v)
#define NEURON_SWAP32(v)	(v)
#define NEURON_SWAP64(v)	(v)
#else
#define NEURON_SWAP16(v)	__builtin_bswap16(v)
#define NEURON_SWAP32(v)	__builtin_bswap32(v)
#define NEURON_SWAP64(v)	__builtin_bswap64(v)
#endif

static inline __u16 neuron_from_le16(__le16 v)
{
	return NEURON_SWAP16((__force __u16)v);
}

static inline __u32 neuron_from_le32(__le32 v)
{
	return NEURON_SWAP32((__force __u32)v);
}

static inline __u64 neuron_from_le64(__le64 v)
{
	return NEURON_SWAP64((__force __u64)v);
}

static inline __le16 neuron_to_le16(__u16 v)
{
	return (__force __le16)NEURON_SWAP16(v);
}

static inline __le32 neuron_to_le32(__u32 v)
{
	return (__force __le32)NEURON_SWAP32(v);
}

static inline __le64 neuron_to_le64(__u64 v)
{
	return (__force __le64)NEURON_SWAP64(v);
}

#endif /* NEURON_CONTRACT_BYTES_H */
