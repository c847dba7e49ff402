/* SPDX-License-Identifier: MIT */
/*
 * Two functions on a bus, with a front end that counts what it is told.
 */
#ifndef FUNCTION_RIG_H
#define FUNCTION_RIG_H

#include "ring_rig.h"
#include "trn/function.h"

#define CAUSE	1u
/* Of the management source, beside LINK, which comes by itself. */
#define MGMT_CAUSE	NEURON_CTL_CAUSE_DISCARD
#define D0	0
#define D3HOT	3
#define REG_BAR	0
#define HBM_BAR	4

/**
 * struct bus - two functions, and what the front end of the first one is told
 * @rig: their ports and chips, for the helpers of rings; the functions own the chips
 * @config: of the first one
 * @wakes: calls of wake()
 * @highs, @lows: of line(), with that level
 * @msix_kind, @msix_offset, @msix_size, @msix_value: of the newest access to the MSI-X table
 */
struct bus {
	struct rig rig;
	struct trn_function_host host;
	struct trn_function_config config;
	struct trn_function *fn[RIG_CHIPS];
	_Atomic unsigned int wakes;
	_Atomic unsigned int highs;
	_Atomic unsigned int lows;
	enum trn_area_kind msix_kind;
	uint64_t msix_offset;
	unsigned int msix_size;
	uint64_t msix_value;
};

/* cmocka set-up and tear-down; *@state is the bus. Both functions are masters of it. */
int bus_setup(void **state);
int bus_teardown(void **state);

/* What function @c is built with at first: no front end beside the port. */
struct trn_function_config bus_config(struct bus *bus, unsigned int c);
/* The first function anew, with a front end that has all, and @vectors. */
void bus_rebuild(struct bus *bus, uint32_t vectors, bool with_wake);
/* Remove and free function @c, if it is there. */
void bus_drop(struct bus *bus, unsigned int c);
/* Until all that was requested has taken effect. */
void bus_settle(struct trn_function *fn);

/* A register by its offset in BAR0. */
uint64_t bus_reg(struct trn_function *fn, uint64_t offset);
void bus_set_reg(struct trn_function *fn, uint64_t offset, uint32_t value);
/* Offset of the mask of the management source. */
uint64_t bus_mask(const struct bus *bus);
/* How often the first function has raised @vector. */
unsigned int bus_irqs(struct bus *bus, unsigned int vector);

#endif /* FUNCTION_RIG_H */
