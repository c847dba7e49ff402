// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "mem/trn_bus.h"

#include <string.h>

#include "base/trn_chip.h"
#include "fabric/trn_fabric.h"
#include "hook/trn_inject.h"
#include "hook/trn_pod.h"
#include "mem/trn_ecc.h"
#include "mem/trn_touched.h"
#include "sync/trn_sem.h"
#include "sync/trn_top_sp.h"

static bool within(uint64_t addr, uint64_t base, uint64_t size,
		   struct trn_loc *loc)
{
	if (addr < base || addr - base >= size)
		return false;
	loc->offset = addr - base;
	loc->len = size - loc->offset;
	return true;
}

static bool locate_hbm(struct trn_chip *chip, uint64_t addr,
		       struct trn_loc *loc)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_hbm; i++) {
		if (!within(addr, chip->gen->hbm_addr[i], chip->hbm_size, loc))
			continue;
		loc->place = TRN_PLACE_HBM;
		loc->index = i;
		loc->ptr = chip->hbm[i] + loc->offset;
		return true;
	}
	return false;
}

/* @offset in the TPB window of core @core. */
static void locate_in_tpb(struct trn_chip *chip, unsigned int core,
			  uint64_t offset, struct trn_loc *loc)
{
	loc->index = core;
	if (within(offset, NEURON_TPB_SBUF, NEURON_TPB_SBUF_SIZE, loc)) {
		loc->place = TRN_PLACE_SBUF;
		loc->core = &chip->core[core];
		loc->ptr = loc->core->sbuf + loc->offset;
	} else if (within(offset, NEURON_TPB_PSUM, NEURON_TPB_PSUM_SIZE, loc)) {
		loc->place = TRN_PLACE_PSUM;
		loc->ptr = chip->core[core].psum + loc->offset;
	} else if (within(offset, NEURON_TPB_SEM, NEURON_TPB_SEM_SIZE, loc)) {
		loc->place = TRN_PLACE_SEM;
		loc->core = &chip->core[core];
		loc->sems = loc->core->sems;
	} else {
		loc->place = TRN_PLACE_REG;
		loc->offset = neuron_tpb_bar0(chip->gen, core) + offset;
		loc->len = NEURON_TPB_WINDOW_SIZE - offset;
	}
}

static bool locate_tpb(struct trn_chip *chip, uint64_t addr,
		       struct trn_loc *loc)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_cores; i++) {
		if (!within(addr, chip->gen->tpb_addr[i],
			    NEURON_TPB_WINDOW_SIZE, loc))
			continue;
		locate_in_tpb(chip, i, loc->offset, loc);
		return true;
	}
	return false;
}

/* @offset in the window of TOP_SP @index. */
static void locate_in_top_sp(struct trn_chip *chip, unsigned int index,
			     uint64_t offset, struct trn_loc *loc)
{
	loc->index = index;
	if (within(offset, NEURON_TOP_SP_SEM, NEURON_TPB_SEM_SIZE, loc)) {
		loc->place = TRN_PLACE_SEM;
		loc->core = trn_top_sp_core(chip, index);
		loc->sems = trn_top_sp_sems(chip, index);
		return;
	}
	loc->place = TRN_PLACE_REG;
	loc->offset = neuron_top_sp_bar0(chip->gen, index) + offset;
	loc->len = NEURON_TOP_SP_WINDOW_SIZE - offset;
}

static bool locate_top_sp(struct trn_chip *chip, uint64_t addr,
			  struct trn_loc *loc)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_top_sp; i++) {
		if (!within(addr, neuron_top_sp_addr(chip->gen, i),
			    NEURON_TOP_SP_WINDOW_SIZE, loc))
			continue;
		locate_in_top_sp(chip, i, loc->offset, loc);
		return true;
	}
	return false;
}

static bool locate_reg(const struct neuron_gen *gen, uint64_t addr, struct trn_loc *loc)
{
	unsigned int i;

	loc->place = TRN_PLACE_REG;
	for (i = 0; i < 2; i++) {
		if (!gen->apb_addr[i] ||
		    !within(addr, gen->apb_addr[i], gen->apb_size, loc))
			continue;
		loc->offset += gen->apb_bar0[i];
		return true;
	}
	for (i = 0; gen->seng_size && i < NEURON_MAX_SENG; i++) {
		if (!within(addr, gen->seng_addr[i], gen->seng_size, loc))
			continue;
		loc->offset += gen->seng_bar0 + (uint64_t)i * gen->seng_size;
		return true;
	}
	return false;
}

static enum neuron_cause locate_plain(struct trn_chip *chip, uint64_t addr,
				      struct trn_loc *loc)
{
	uint64_t host = chip->gen->host_base;

	*loc = (struct trn_loc) { .seat = &chip->seat, .chip = chip };
	if (within(addr, host, host, loc)) {
		loc->place = TRN_PLACE_HOST;
		return NEURON_CAUSE_NONE;
	}
	if (locate_hbm(chip, addr, loc) || locate_tpb(chip, addr, loc) ||
	    locate_top_sp(chip, addr, loc) || locate_reg(chip->gen, addr, loc))
		return NEURON_CAUSE_NONE;
	return NEURON_CAUSE_ADDRESS;
}

static bool in_misc(const struct neuron_gen *gen, struct trn_loc *loc)
{
	const uint64_t bar0 = loc->offset;

	if (loc->place != TRN_PLACE_REG ||
	    !within(bar0, gen->misc_bar0, NEURON_MISC_SIZE, loc))
		return false;
	loc->place = TRN_PLACE_MISC;
	loc->offset = bar0;
	return true;
}

/* Of a chip of another server there is MISC RAM and nothing else. */
static enum neuron_cause locate_remote(const struct trn_seat *peer, uint64_t addr,
				       bool neighbour, struct trn_loc *loc)
{
	*loc = (struct trn_loc) { .seat = peer };
	if (neighbour && locate_reg(peer->gen, addr, loc) && in_misc(peer->gen, loc))
		return NEURON_CAUSE_NONE;
	return NEURON_CAUSE_FABRIC;
}

static enum neuron_cause locate_on_chip(struct trn_chip *peer, uint64_t addr,
					bool neighbour, struct trn_loc *loc)
{
	enum neuron_cause cause = locate_plain(peer, addr, loc);

	if (cause)
		return cause;
	if (loc->place != TRN_PLACE_HBM && loc->place != TRN_PLACE_SBUF &&
	    loc->place != TRN_PLACE_SEM && !(neighbour && in_misc(peer->gen, loc)))
		return NEURON_CAUSE_FABRIC;
	return NEURON_CAUSE_NONE;
}

/* What @addr on @peer means, as far as it is open to other chips. */
static enum neuron_cause locate_at(const struct trn_seat *peer, uint64_t addr,
				   const struct trn_route *route,
				   bool neighbour, struct trn_loc *loc)
{
	enum neuron_cause cause = peer->chip ?
				  locate_on_chip(peer->chip, addr, neighbour, loc) :
				  locate_remote(peer, addr, neighbour, loc);

	loc->hops = route->hops;
	loc->mbps = route->mbps;
	return cause;
}

static enum neuron_cause locate_routed(struct trn_chip *chip, uint64_t addr,
				       struct trn_loc *loc)
{
	uint32_t id = NEURON_GET(NEURON_ADDR_FABRIC_CHIP, addr);
	const struct trn_seat *peer = &chip->seat;
	struct trn_route route = { 0 };

	if (id != chip->config.fabric_id)
		peer = chip->fabric ?
		       trn_fabric_find(chip->fabric, &chip->seat, id, &route) : NULL;
	if (!peer && chip->fabric)
		trn_fabric_failed(chip->fabric, &chip->seat, id);
	if (!peer)
		return NEURON_CAUSE_FABRIC;
	return locate_at(peer, NEURON_GET(NEURON_ADDR_FABRIC_DEVICE, addr),
			 &route, false, loc);
}

/* The public windows of the neighbours; there are none in the v2 address map. */
static enum neuron_cause locate_neighbour(struct trn_chip *chip, uint64_t addr,
					  struct trn_loc *loc)
{
	unsigned int window = NEURON_GET(NEURON_ADDR_NEIGHBOUR_LINK, addr);
	const struct trn_seat *peer;
	struct trn_route route = { 0 };

	addr &= ~(NEURON_ADDR_NEIGHBOUR | NEURON_ADDR_NEIGHBOUR_LINK);
	if (chip->gen->generation == 2 || addr & ~NEURON_ADDR_FABRIC_DEVICE)
		return NEURON_CAUSE_ADDRESS;
	peer = chip->fabric ?
	       trn_fabric_window(chip->fabric, &chip->seat, window, &route) : NULL;
	if (!peer)
		return NEURON_CAUSE_FABRIC;
	return locate_at(peer, addr, &route, true, loc);
}

enum neuron_cause trn_bus_locate(struct trn_chip *chip, uint64_t addr,
				 struct trn_loc *loc)
{
	if (addr & NEURON_ADDR_WINDOW)
		return NEURON_CAUSE_ADDRESS;
	if (addr & NEURON_ADDR_FABRIC)
		return locate_routed(chip, addr, loc);
	if (addr & NEURON_ADDR_NEIGHBOUR)
		return locate_neighbour(chip, addr, loc);
	return locate_plain(chip, addr, loc);
}

/* Registers are moved in aligned words only. */
static bool words_ok(uint64_t offset, size_t len)
{
	return offset % 4 == 0 && len % 4 == 0;
}

static enum neuron_cause read_regs(struct trn_chip *chip, uint64_t offset,
				   uint8_t *buf, size_t len)
{
	uint32_t value;
	size_t i;

	if (!words_ok(offset, len))
		return NEURON_CAUSE_ADDRESS;
	for (i = 0; i < len; i += 4) {
		value = (uint32_t)trn_chip_mmio_read(chip, offset + i, 4);
		memcpy(buf + i, &value, 4);
	}
	return NEURON_CAUSE_NONE;
}

/* MISC RAM of the neighbour that @addr leads to; @loc->offset is one of BAR0. */
static enum neuron_cause read_misc(const struct trn_loc *loc, uint64_t addr,
				   uint8_t *buf, size_t len, bool look)
{
	uint32_t offset = (uint32_t)(loc->offset - loc->seat->gen->misc_bar0);

	if (loc->chip)
		return read_regs(loc->chip, loc->offset, buf, len);
	if (!words_ok(offset, len))
		return NEURON_CAUSE_ADDRESS;
	if (look)
		trn_pod_look(loc->seat->remote, offset, buf, len);
	else
		trn_pod_read(loc->seat->remote,
			     NEURON_GET(NEURON_ADDR_NEIGHBOUR_LINK, addr), offset, buf, len);
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause write_regs(struct trn_chip *chip, uint64_t offset,
				    const uint8_t *buf, size_t len)
{
	uint32_t value;
	size_t i;

	if (!words_ok(offset, len))
		return NEURON_CAUSE_ADDRESS;
	for (i = 0; i < len; i += 4) {
		memcpy(&value, buf + i, 4);
		trn_chip_mmio_write(chip, offset + i, value, 4);
	}
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_bus_write_sem(const struct trn_loc *loc, const void *buf,
				    size_t len, uint32_t who)
{
	uint32_t value;

	if (len != 4 || loc->offset % 4)
		return NEURON_CAUSE_ADDRESS;
	memcpy(&value, buf, 4);
	trn_sems_write(loc->sems, (uint32_t)loc->offset, value, who);
	return NEURON_CAUSE_NONE;
}

void trn_bus_dirty(const struct trn_loc *loc, size_t len)
{
	const struct trn_chip *chip = loc->chip;

	if (loc->place == TRN_PLACE_HBM && chip->port->hbm_dirty)
		chip->port->hbm_dirty(chip->opaque, loc->index, loc->offset, len);
}

void trn_bus_written(const struct trn_loc *loc, size_t len)
{
	trn_bus_dirty(loc, len);
	trn_ecc_written_at(loc, len);
}

enum neuron_cause trn_bus_host_read(struct trn_chip *chip, uint64_t addr,
				    void *buf, size_t len)
{
	if (trn_inject(chip, TRN_INJECT_HOST_READ, 0, NULL) ||
	    !chip->port->host_read(chip->opaque, addr, buf, len))
		return NEURON_CAUSE_HOST;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_bus_host_write(struct trn_chip *chip, uint64_t addr,
				     const void *buf, size_t len)
{
	if (trn_inject(chip, TRN_INJECT_HOST_WRITE, 0, NULL) ||
	    !chip->port->host_write(chip->opaque, addr, buf, len))
		return NEURON_CAUSE_HOST;
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_bus_host_map(struct trn_chip *chip, uint64_t addr, bool write, size_t *len,
				   void **ptr)
{
	const struct trn_port *port = chip->port;

	*ptr = port->host_map ? port->host_map(chip->opaque, addr, len, write) : NULL;
	if (!*ptr ||
	    !trn_inject(chip, write ? TRN_INJECT_HOST_WRITE : TRN_INJECT_HOST_READ, 0, NULL))
		return NEURON_CAUSE_NONE;
	trn_bus_host_unmap(chip, *ptr, *len, 0);
	*ptr = NULL;
	return NEURON_CAUSE_HOST;
}

void trn_bus_host_unmap(struct trn_chip *chip, void *ptr, size_t len, size_t changed)
{
	chip->port->host_unmap(chip->opaque, ptr, len, changed);
}

static enum neuron_cause locate_range(struct trn_chip *chip, uint64_t addr,
				      size_t len, struct trn_loc *loc)
{
	enum neuron_cause cause = trn_bus_locate(chip, addr, loc);

	if (cause)
		return cause;
	return len > loc->len ? NEURON_CAUSE_ADDRESS : NEURON_CAUSE_NONE;
}

/* @look: bad cells and faults on demand do not show, and no other server takes note. */
static enum neuron_cause read_at(struct trn_chip *chip, uint64_t addr, void *buf,
				 size_t len, bool look)
{
	struct trn_loc loc;
	enum neuron_cause cause = locate_range(chip, addr, len, &loc);
	uint32_t value;

	if (cause)
		return cause;
	switch (loc.place) {
	case TRN_PLACE_HOST:
		if (!look)
			return trn_bus_host_read(chip, loc.offset, buf, len);
		return chip->port->host_read(chip->opaque, loc.offset, buf, len) ?
		       NEURON_CAUSE_NONE : NEURON_CAUSE_HOST;
	case TRN_PLACE_MISC:
		return read_misc(&loc, addr, buf, len, look);
	case TRN_PLACE_REG:
		return read_regs(loc.chip, loc.offset, buf, len);
	case TRN_PLACE_SEM:
		if (len != 4 || loc.offset % 4)
			return NEURON_CAUSE_ADDRESS;
		value = trn_sems_read(loc.sems, (uint32_t)loc.offset);
		memcpy(buf, &value, 4);
		return NEURON_CAUSE_NONE;
	default:
		if (!look)
			cause = trn_ecc_read_at(&loc, len);
		if (!cause)
			trn_touched_read(&loc, buf, len);
		return cause;
	}
}

enum neuron_cause trn_bus_read(struct trn_chip *chip, uint64_t addr, void *buf,
			       size_t len)
{
	return read_at(chip, addr, buf, len, false);
}

enum neuron_cause trn_bus_look(struct trn_chip *chip, uint64_t addr, void *buf,
			       size_t len)
{
	return read_at(chip, addr, buf, len, true);
}

enum neuron_cause trn_bus_write(struct trn_chip *chip, uint64_t addr,
				const void *buf, size_t len)
{
	struct trn_loc loc;
	enum neuron_cause cause = locate_range(chip, addr, len, &loc);

	if (cause)
		return cause;
	switch (loc.place) {
	case TRN_PLACE_HOST:
		return trn_bus_host_write(chip, loc.offset, buf, len);
	case TRN_PLACE_REG:
		return write_regs(chip, loc.offset, buf, len);
	case TRN_PLACE_MISC:
		return NEURON_CAUSE_FABRIC;
	case TRN_PLACE_SEM:
		return trn_bus_write_sem(&loc, buf, len, 0);
	default:
		cause = trn_bus_touch(&loc, len);
		if (cause)
			return cause;
		memcpy(loc.ptr, buf, len);
		trn_bus_written(&loc, len);
		return NEURON_CAUSE_NONE;
	}
}
