/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Inside of a domain: what trn_domain.c latches and trn_access.c walks.
 */
#ifndef TRN_WINDOW_H
#define TRN_WINDOW_H

#include <stdint.h>

#include "mem/trn_domain.h"

/**
 * struct trn_extent - a contiguous piece of a window
 * @start: offset in the window at which it begins
 * @addr: plain or routed address
 *
 * It ends where the next one starts; the last one ends with the window.
 */
struct trn_extent {
	uint64_t start;
	uint64_t addr;
};

/**
 * struct trn_window - a checked entry of the table
 * @length: bytes
 * @flags: as in struct neuron_hw_window
 * @extent: index of the first extent in the domain's array
 * @nr_extents: at least 1, but for EMPTY
 * @generation: SEM, GRANT
 * @sem_first: SEM
 */
struct trn_window {
	uint64_t length;
	uint32_t flags;
	uint32_t extent;
	uint32_t nr_extents;
	uint32_t generation;
	uint32_t sem_first;
};

/**
 * struct trn_domain - never changes after the latch, so needs no lock
 * @core: whose job it serves
 * @nr: windows
 * @nr_extents: used extents of all windows
 * @room: allocated extents
 */
struct trn_domain {
	struct trn_core *core;
	unsigned int nr;
	uint32_t nr_extents;
	uint32_t room;
	struct trn_window *windows;
	struct trn_extent *extents;
};

/* A domain of @nr empty windows; NULL: too many, or no memory. */
struct trn_domain *trn_domain_new(struct trn_core *core, unsigned int nr);

/*
 * Fill in window @index, which is empty, from an entry of which everything but
 * the base counts, with its extents in @list. Checked as in a latch, but for
 * extents on other chips, which need not be within reach.
 */
enum neuron_cause trn_domain_add(struct trn_domain *domain, unsigned int index,
				 const struct neuron_hw_window *hw,
				 const struct neuron_hw_extent *list);

/* Among the rights asked for: a write of NOTIFY. No window has it in its flags. */
#define TRN_WINDOW_NOTIFY	NEURON_BIT(31)

/*
 * The window behind window address @addr, for @len bytes with all of @rights.
 * On success *@offset is the offset in the window, and the range is inside.
 *
 * Return: NEURON_CAUSE_NONE, _WINDOW or _RIGHTS.
 */
enum neuron_cause trn_window_find(const struct trn_domain *domain,
				  uint64_t addr, uint64_t len, uint32_t rights,
				  const struct trn_window **window,
				  uint64_t *offset);

/*
 * The address of byte @offset of @window, which lies inside; *@len is cut to
 * what is contiguous from there.
 */
uint64_t trn_window_piece(const struct trn_domain *domain,
			  const struct trn_window *window, uint64_t offset,
			  uint64_t *len);

/*
 * Copy a table that the kernel wrote in host memory or in HBM of this chip.
 * Return: NEURON_CAUSE_NONE, _HOST or _ADDRESS.
 */
enum neuron_cause trn_table_read(struct trn_chip *chip, uint64_t addr,
				 void *buf, size_t len);

#endif /* TRN_WINDOW_H */
