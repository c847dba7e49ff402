/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A domain: the latched window table of one job. trn_access.h reads and writes through it.
 */
#ifndef TRN_DOMAIN_H
#define TRN_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/job.h"
#include "neuron/window.h"

struct trn_core;
struct trn_domain;
struct trn_state;

/*
 * Copy and check a table of @nr windows at plain address @table.
 * Return: NEURON_CAUSE_NONE with *@domain, or _JOB, _HOST, _ADDRESS; or _FABRIC, and *@far, unless
 * that is NULL, is the address at which the window begins that leads out of reach.
 */
enum neuron_cause trn_domain_latch(struct trn_core *core, uint64_t table, unsigned int nr,
				   struct trn_domain **domain, uint64_t *far);
/* The same of a table in pieces, with its directory at plain address @directory. */
enum neuron_cause trn_domain_latch_pieces(struct trn_core *core, uint64_t directory,
					  unsigned int nr, struct trn_domain **domain,
					  uint64_t *far);
void trn_domain_free(struct trn_domain *domain);

void trn_domain_state(struct trn_core *core, struct trn_domain **domain,
		      struct trn_state *st);

#endif /* TRN_DOMAIN_H */
