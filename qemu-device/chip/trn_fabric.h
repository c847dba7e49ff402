/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The fabric: which chips there are, and who is linked to whom.
 *
 * The topology is a ring in the order of the fabric ids: every chip is linked
 * to its two neighbours, two chips by one link.
 *
 * A chip found by trn_fabric_find() may be used until the run of the pool task
 * that looked it up ends; see trn_pool_passed(). Nothing else keeps it.
 */
#ifndef TRN_FABRIC_H
#define TRN_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include "trn_chip.h"

struct trn_fabric_link {
	uint32_t peer;		/* fabric id */
};

/* Join and take a reference; 0, or -1 with *@why: id taken, no memory. */
int trn_fabric_attach(struct trn_fabric *fabric, struct trn_chip *chip,
		      const char **why);
/* Leave and drop the reference. */
void trn_fabric_detach(struct trn_fabric *fabric, struct trn_chip *chip);

/* The chip with id @id and its distance from @from; NULL: none. */
struct trn_chip *trn_fabric_find(struct trn_fabric *fabric,
				 const struct trn_chip *from, uint32_t id,
				 unsigned int *hops);

/* Names the fabric: not 0, another one for each fabric of the process. */
uint32_t trn_fabric_key(const struct trn_fabric *fabric);

unsigned int trn_fabric_chips(struct trn_fabric *fabric);

/* Links of @chip in port order; returns their number, at most 2. */
#define TRN_FABRIC_LINKS	2
unsigned int trn_fabric_links(struct trn_fabric *fabric,
			      const struct trn_chip *chip,
			      struct trn_fabric_link links[TRN_FABRIC_LINKS]);

#endif /* TRN_FABRIC_H */
