/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Basic types and helpers of the hardware contract headers.
 *
 * These headers are included by the kernel driver, the chip library, QEMU,
 * libnrt, the assembler and the tests, so they use only <linux/types.h>, plain
 * C11 and no header of a particular project. All multi-byte fields in memory
 * are little endian.
 */
#ifndef NEURON_TYPES_H
#define NEURON_TYPES_H

#include <linux/types.h>

#define NEURON_BIT(n)		(1u << (n))
#define NEURON_BIT64(n)		(1ull << (n))

/* A 32-bit register field: its mask and the value of the mask's lowest bit. */
#define NEURON_MASK(hi, lo)	((0xffffffffu >> (31 - (hi))) & ~((1u << (lo)) - 1))
#define NEURON_MASK64(hi, lo)	((~0ull >> (63 - (hi))) & ~((1ull << (lo)) - 1))
#define NEURON_GET(mask, v)	(((v) & (mask)) / ((mask) & ~((mask) - 1)))
#define NEURON_PUT(mask, v)	(((v) * ((mask) & ~((mask) - 1))) & (mask))

#define NEURON_KIB(n)		((n) * 1024ull)
#define NEURON_MIB(n)		((n) * 1024ull * 1024)
#define NEURON_GIB(n)		((n) * 1024ull * 1024 * 1024)

/* A table in a header, which not every includer uses. */
#define NEURON_UNUSED		__attribute__((unused))

#define NEURON_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(type) == (size), #type " has a fixed size")

#endif /* NEURON_TYPES_H */
