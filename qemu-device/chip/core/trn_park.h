/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Where sequencers tell the chip's observer (trn/observe.h), which may park them.
 */
#ifndef TRN_PARK_H
#define TRN_PARK_H

#include "base/trn_chip.h"
#include "exec/trn_seq.h"
#include "hook/trn_observe.h"

struct trn_exec;

/* trn_seq.hold */
enum trn_hold {
	TRN_HOLD_NONE,		/* the observer has not been asked about the instruction */
	TRN_HOLD_PARKED,
	TRN_HOLD_PASSED,	/* it goes, however often it has to be tried */
};

/* The unit with number @unit of the public interface, or NULL. */
struct trn_core *trn_observe_unit(struct trn_chip *chip, unsigned int unit);

/* What trn_observe_go() and trn_observe_done() do when there is something to do. */
bool trn_observe_ask(struct trn_seq *seq);
void trn_observe_retired(struct trn_seq *seq);

/* May @seq carry out the instruction that it has fetched? Its own task calls this. */
static inline bool trn_observe_go(struct trn_seq *seq)
{
	if (!trn_observer(seq->core->chip) &&
	    atomic_load_explicit(&seq->hold, memory_order_relaxed) == TRN_HOLD_NONE)
		return true;
	return trn_observe_ask(seq);
}

/* Does the observer want to know of NaNs? */
static inline bool trn_observe_minds_nan(const struct trn_seq *seq)
{
	const struct trn_observer *observer = trn_observer(seq->core->chip);

	return observer && observer->nan;
}

/* The instruction has left a NaN, and has posted nothing yet. */
void trn_observe_nan(struct trn_seq *seq, const struct trn_exec *exec);

/* It has been carried out. */
static inline void trn_observe_done(struct trn_seq *seq)
{
	if (trn_observer(seq->core->chip) ||
	    atomic_load_explicit(&seq->hold, memory_order_relaxed) != TRN_HOLD_NONE)
		trn_observe_retired(seq);
}

#endif /* TRN_PARK_H */
