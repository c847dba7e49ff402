/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The three forms of a 64-bit address in a descriptor or an instruction.
 *
 *   63 62 61      48 47                      0
 *    0  0  ---------- device address ----------  plain, domain 0 only
 *    0  1  chip id    | 48-bit device address    routed over the fabric,
 *                                                domain 0 and window table only
 *    1  window (62:47)      | offset (46:0)      the only form a domain sees
 *
 * Plain device addresses carry the generation's host bit (struct neuron_gen,
 * host_base) for host memory, and on v3 and v4 bit 52 with the link in 51:50
 * for the public neighbour ("B") windows.
 *
 * Source: plain addresses are the public driver's address maps; the fabric and
 * window forms are defined by this project, in bits the public maps leave free.
 */
#ifndef NEURON_ADDRESS_H
#define NEURON_ADDRESS_H

#include "types.h"

#define NEURON_ADDR_WINDOW		NEURON_BIT64(63)
#define NEURON_ADDR_WINDOW_INDEX	NEURON_MASK64(62, 47)
#define NEURON_ADDR_WINDOW_OFFSET	NEURON_MASK64(46, 0)
#define NEURON_MAX_WINDOWS		65535

/* Public: another chip's address in the low 48 bits; v3 and v4. */
#define NEURON_ADDR_NEIGHBOUR		NEURON_BIT64(52)
#define NEURON_ADDR_NEIGHBOUR_LINK	NEURON_MASK64(51, 50)

#define NEURON_ADDR_FABRIC		NEURON_BIT64(62)
#define NEURON_ADDR_FABRIC_CHIP		NEURON_MASK64(61, 48)
#define NEURON_ADDR_FABRIC_DEVICE	NEURON_MASK64(47, 0)
#define NEURON_MAX_CHIPS		16384

/*
 * The id that a chip has unless it is given another one. The ids of a fabric
 * differ when there is one rack of up to 64 servers, or when racks have up to 16;
 * from NEURON_MAX_CHIPS on there is none.
 */
static inline __u32 neuron_fabric_id(__u32 rack, __u32 server, __u32 chip)
{
	return (rack * 16 + server) * 256 + chip;
}

/* The window address of byte @offset of window @index. */
static inline __u64 neuron_window_addr(__u32 index, __u64 offset)
{
	return NEURON_ADDR_WINDOW |
	       NEURON_PUT(NEURON_ADDR_WINDOW_INDEX, (__u64)index) |
	       (offset & NEURON_ADDR_WINDOW_OFFSET);
}

/* The address of @device_addr behind public neighbour window @link, 0 to 3. */
static inline __u64 neuron_neighbour_addr(__u32 link, __u64 device_addr)
{
	return NEURON_ADDR_NEIGHBOUR |
	       NEURON_PUT(NEURON_ADDR_NEIGHBOUR_LINK, (__u64)link) |
	       (device_addr & NEURON_ADDR_FABRIC_DEVICE);
}

/* The routed address of @device_addr on the chip with fabric id @chip. */
static inline __u64 neuron_fabric_addr(__u32 chip, __u64 device_addr)
{
	return NEURON_ADDR_FABRIC |
	       NEURON_PUT(NEURON_ADDR_FABRIC_CHIP, (__u64)chip) |
	       (device_addr & NEURON_ADDR_FABRIC_DEVICE);
}

#endif /* NEURON_ADDRESS_H */
