// SPDX-License-Identifier: MIT
/* Why does this wait? */
#include <stdio.h>

#include "nb_sync.h"

size_t nb_waits(const struct nb_program *nb)
{
	return nb->made.count;
}

bool nb_wait_at(const struct nb_program *nb, size_t i, enum neuron_engine *engine, uint32_t *pc)
{
	if (i >= nb->made.count)
		return false;
	*engine = nb->made.reason[i].engine;
	*pc = nb->made.reason[i].pc;
	return true;
}

static void nb_place_text(const struct nb_program *nb, enum neuron_engine engine, uint32_t pc,
			  char *text, size_t size)
{
	const struct nb_line *line = nb_line_of(&nb->stream[engine], pc);

	if (line)
		snprintf(text, size, "%s instruction %u (%s:%u)", neff_engine_name(engine), pc,
			 nb->file[line->file], line->line);
	else
		snprintf(text, size, "%s instruction %u", neff_engine_name(engine), pc);
}

static const char *nb_cause_text(const struct nb_reason *reason)
{
	switch (reason->cause) {
	case NB_CAUSE_READ:
		return "reads what it writes";
	case NB_CAUSE_WRITE:
		return "writes over what it writes";
	case NB_CAUSE_REUSE:
		return "writes over what it reads";
	case NB_CAUSE_SLOT:
		return "takes over its semaphore";
	case NB_CAUSE_HAND:
		return "synchronisation by hand, or nobody knows what is touched";
	case NB_CAUSE_LEFT:
		return "takes the posts that the last round of a loop has left";
	case NB_CAUSE_DRAIN:
		return "somebody behind a loop needs that its transfers are over";
	default:
		return "all engines meet before and after each round of a loop";
	}
}

size_t nb_why(const struct nb_program *nb, size_t i, char *text, size_t size)
{
	char who[320], by[320], what[160] = "";
	const struct nb_reason *reason;

	if (i >= nb->made.count)
		return snprintf(text, size, "there is no such wait");
	reason = &nb->made.reason[i];
	nb_place_text(nb, reason->engine, reason->pc, who, sizeof(who));
	nb_place_text(nb, reason->by, reason->seq, by, sizeof(by));
	if (reason->area.width)
		nb_area_text(nb, &reason->area, what, sizeof(what));
	return snprintf(text, size, "%s waits for %s%s: %s%s%s", who,
			reason->transfer ? "the transfer of " : "", by, nb_cause_text(reason),
			what[0] ? ", " : "", what);
}
