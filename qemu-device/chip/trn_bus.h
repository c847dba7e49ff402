/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The chip's internal bus: plain and routed addresses to memory and registers.
 */
#ifndef TRN_BUS_H
#define TRN_BUS_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/address.h"
#include "neuron/job.h"

struct trn_chip;

enum trn_place {
	TRN_PLACE_HBM,
	TRN_PLACE_SBUF,
	TRN_PLACE_PSUM,
	TRN_PLACE_SEM,		/* semaphore block of a core */
	TRN_PLACE_REG,		/* other BAR0 registers, this chip, domain 0 */
	TRN_PLACE_HOST,
};

/**
 * struct trn_loc - what an address means
 * @chip: the chip it lies on (a peer for routed addresses)
 * @place: kind of memory
 * @index: HBM stack or core
 * @offset: bytes into the stack, SBUF, PSUM, semaphore block or BAR0, or the
 *	bus address for HOST
 * @len: bytes from here to the end of the region
 * @ptr: host pointer for HBM, SBUF and PSUM, else NULL
 * @hops: links crossed, 0 on this chip
 */
struct trn_loc {
	struct trn_chip *chip;
	enum trn_place place;
	unsigned int index;
	uint64_t offset;
	uint64_t len;
	uint8_t *ptr;
	unsigned int hops;
};

/*
 * Look up a plain or routed address. A routed one reaches HBM, SBUF, PSUM and
 * semaphores of the peer only. Peers are kept alive by the fabric for as long
 * as the calling chip is attached to it.
 *
 * Return: NEURON_CAUSE_NONE, _ADDRESS or _FABRIC.
 */
enum neuron_cause trn_bus_locate(struct trn_chip *chip, uint64_t addr,
				 struct trn_loc *loc);

/* Bytes of [loc->ptr, +len) are about to be written: account host memory. */
enum neuron_cause trn_bus_touch(const struct trn_loc *loc, size_t len);

/* Any place but SEM for more than 4 aligned bytes; may cross no region end. */
enum neuron_cause trn_bus_read(struct trn_chip *chip, uint64_t addr, void *buf,
			       size_t len);
enum neuron_cause trn_bus_write(struct trn_chip *chip, uint64_t addr,
				const void *buf, size_t len);

#endif /* TRN_BUS_H */
