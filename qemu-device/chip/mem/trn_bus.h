/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The chip's internal bus: plain and routed addresses to memory and registers.
 */
#ifndef TRN_BUS_H
#define TRN_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/address.h"
#include "neuron/job.h"

struct trn_chip;
struct trn_core;
struct trn_seat;
struct trn_sems;

enum trn_place {
	TRN_PLACE_HBM,
	TRN_PLACE_SBUF,
	TRN_PLACE_PSUM,
	TRN_PLACE_SEM,		/* semaphore block of a core or TOP_SP */
	TRN_PLACE_REG,		/* other BAR0 registers, this chip, domain 0 */
	TRN_PLACE_HOST,
	TRN_PLACE_MISC,		/* MISC RAM of a neighbour, to be read */
};

/**
 * struct trn_loc - what an address means
 * @seat: where on the fabric it lies (on a peer for routed and neighbour addresses)
 * @chip: the chip there; NULL: one of another server, and the place is MISC
 * @place: kind of memory
 * @index: HBM stack, core or TOP_SP
 * @offset: bytes into the stack, SBUF, PSUM, semaphore block or BAR0, or the
 *	bus address for HOST; MISC: of the neighbour's BAR0
 * @len: bytes from here to the end of the region
 * @ptr: host pointer for HBM, SBUF and PSUM, else NULL
 * @sems: SEM: the block
 * @core: SBUF, SEM: whose it is; NULL: of a TOP_SP that is no CC-core
 * @hops: links crossed, 0 on this chip
 * @mbps: MB/s of the slowest of them
 */
struct trn_loc {
	const struct trn_seat *seat;
	struct trn_chip *chip;
	enum trn_place place;
	unsigned int index;
	uint64_t offset;
	uint64_t len;
	uint8_t *ptr;
	struct trn_sems *sems;
	struct trn_core *core;
	unsigned int hops;
	uint32_t mbps;
};

/*
 * Look up a plain, routed or neighbour address. The last two reach HBM, SBUF and
 * semaphores of a peer only, a neighbour address also its MISC RAM. A peer may be
 * used until the run of the task that looked it up ends.
 *
 * Return: NEURON_CAUSE_NONE, _ADDRESS or _FABRIC.
 */
enum neuron_cause trn_bus_locate(struct trn_chip *chip, uint64_t addr,
				 struct trn_loc *loc);

/* Bytes of [loc->ptr, +len) are about to be written: account host memory. */
enum neuron_cause trn_bus_touch(const struct trn_loc *loc, size_t len);
/* They may have been changed: tell the host, if they are of HBM. */
void trn_bus_dirty(const struct trn_loc *loc, size_t len);
/* All of them have been written. */
void trn_bus_written(const struct trn_loc *loc, size_t len);

/* Host memory at bus address @addr, through the port. NONE or _HOST. */
enum neuron_cause trn_bus_host_read(struct trn_chip *chip, uint64_t addr,
				    void *buf, size_t len);
enum neuron_cause trn_bus_host_write(struct trn_chip *chip, uint64_t addr,
				     const void *buf, size_t len);

/*
 * The @*len bytes there by a pointer, for one move; see trn_port.host_map. *@ptr is NULL when
 * there is none. NONE, or _HOST: neither can they be reached otherwise.
 */
enum neuron_cause trn_bus_host_map(struct trn_chip *chip, uint64_t addr, bool write, size_t *len,
				   void **ptr);
void trn_bus_host_unmap(struct trn_chip *chip, void *ptr, size_t len, size_t changed);

/* Any place but SEM for more than 4 aligned bytes; may cross no region end. */
enum neuron_cause trn_bus_read(struct trn_chip *chip, uint64_t addr, void *buf,
			       size_t len);
enum neuron_cause trn_bus_write(struct trn_chip *chip, uint64_t addr,
				const void *buf, size_t len);
/*
 * As trn_bus_read(), for a debugger: bad cells and faults on demand do not show, and the chips
 * of other servers do not take it for a read of the machine.
 */
enum neuron_cause trn_bus_look(struct trn_chip *chip, uint64_t addr, void *buf,
			       size_t len);

/* The same at a place of kind SEM, by @who (NEURON_SEM_POSTER_*). */
enum neuron_cause trn_bus_write_sem(const struct trn_loc *loc, const void *buf,
				    size_t len, uint32_t who);

#endif /* TRN_BUS_H */
