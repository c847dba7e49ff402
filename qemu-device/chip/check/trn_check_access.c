// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks: contiguous bytes that queues and memory words read and write.
 */
#include "check/trn_check_private.h"
#include "mem/trn_bus.h"

static void moved(struct trn_check_actor *actor, const struct trn_loc *loc,
		  uint64_t len, bool write)
{
	const struct trn_check_place place = {
		.chip = loc->chip,
		.place = loc->place,
		.index = loc->index,
	};
	struct trn_visit visit;

	if (!trn_visit_begin(&visit, actor, &place, write, false))
		return;
	trn_visit_bytes(&visit, loc->offset, len);
	trn_visit_end(&visit);
}

void trn_check_moved(struct trn_check_actor *actor, const struct trn_loc *from,
		     const struct trn_loc *to, uint64_t len)
{
	if (!actor)
		return;
	if (from)
		moved(actor, from, len, false);
	if (to)
		moved(actor, to, len, true);
}
