/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Faults on demand. A rule names a point of the chip and when it strikes; the
 * block that has the point asks, and does what the fault means. trn_inject_text.h
 * has the form in which people write them.
 */
#ifndef TRN_INJECT_H
#define TRN_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trn_chip.h"

/*
 * The points; @unit and @value of a rule in brackets. A queue's unit is engine *
 * 16 + queue, an engine's core * 8 + enum neuron_engine.
 */
enum trn_inject_point {
	TRN_INJECT_DMA_LOST,	/* a packet moves, its completion does not show [queue] */
	TRN_INJECT_DMA_LATE,	/* it shows later [queue, ns] */
	TRN_INJECT_DMA_DUP,	/* a packet is moved and completed twice [queue] */
	TRN_INJECT_DMA_ABORT,	/* the queue stops in the abort state [queue] */
	/*
	 * An engine retires nothing more [engine], until its job ends, the core is
	 * reset or there is no such rule any more.
	 */
	TRN_INJECT_ENGINE_HANG,
	TRN_INJECT_DOORBELL,	/* a doorbell is dropped [queue, or 0x10000 + core] */
	TRN_INJECT_RESET_FAIL,	/* a reset never ends [0: device, 1 + n: core n] */
	TRN_INJECT_REG_STUCK,	/* a register reads as a value [BAR0 offset, value] */
	TRN_INJECT_REG_FLIP,	/* bits of it read inverted [BAR0 offset, mask] */
	TRN_INJECT_MAILBOX,	/* the firmware does not answer [0] */
	TRN_INJECT_IRQ_LOST,	/* an interrupt is not raised [vector] */
	TRN_INJECT_IRQ_STORM,	/* it is raised again and again [vector, times] */
	TRN_INJECT_HOST_READ,	/* an access to host memory fails [0] */
	TRN_INJECT_HOST_WRITE,
	TRN_INJECT_RECORD,	/* bits of a completion record are inverted [byte, mask] */
	TRN_INJECT_POINTS
};

#define TRN_INJECT_ANY	UINT32_MAX
#define TRN_INJECT_CORE	0x10000	/* unit of a core's doorbell: this + its place */
#define TRN_INJECT_RULES	64

/**
 * struct trn_inject_rule - when a point strikes
 * @unit: only there; TRN_INJECT_ANY: everywhere
 * @skip: opportunities that pass first
 * @count: times that it strikes then; 0: for ever
 * @chance: of the opportunities, per million; 0: all
 * @value: what the point makes of it
 */
struct trn_inject_rule {
	enum trn_inject_point point;
	uint32_t unit;
	uint64_t skip;
	uint64_t count;
	uint32_t chance;
	uint64_t value;
};

/**
 * struct trn_inject_status - a rule, and what came of it
 * @opportunities: times that its point was passed at its unit
 * @strikes: times that it struck
 */
struct trn_inject_status {
	struct trn_inject_rule rule;
	uint64_t opportunities;
	uint64_t strikes;
};

/* The same @seed and the same opportunities make the same strikes. */
struct trn_inject *trn_inject_new(uint64_t seed);
void trn_inject_free(struct trn_inject *inject);
size_t trn_inject_own_bytes(const struct trn_chip *chip);

/* Add a rule; 0 or -1: there are TRN_INJECT_RULES. Any thread. */
int trn_inject_add(struct trn_chip *chip, const struct trn_inject_rule *rule);
/* Remove the rules of @point, or all with TRN_INJECT_POINTS. */
void trn_inject_clear(struct trn_chip *chip, enum trn_inject_point point);
/* None, as in a new chip; the chip is stopped and quiet, and stays so. */
void trn_inject_forget(struct trn_chip *chip);
/* Rule @n, in the order in which they were added; false: there are fewer. */
bool trn_inject_status(struct trn_chip *chip, unsigned int n,
		       struct trn_inject_status *status);

bool trn_inject_strikes(struct trn_chip *chip, enum trn_inject_point point,
			uint32_t unit, uint64_t *value);

/* Is there a rule for @point? */
static inline bool trn_inject_armed(const struct trn_chip *chip,
				    enum trn_inject_point point)
{
	return atomic_load_explicit(&chip->inject_armed,
				    memory_order_relaxed) >> point & 1;
}

/* Does @point strike at @unit now? Then *@value (may be NULL) is the rule's. */
static inline bool trn_inject(struct trn_chip *chip,
			      enum trn_inject_point point, uint32_t unit,
			      uint64_t *value)
{
	return trn_inject_armed(chip, point) &&
	       trn_inject_strikes(chip, point, unit, value);
}

/* The rules and how far each has come. */
void trn_inject_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_INJECT_H */
