/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Faults on demand as text:
 *
 *	NAME[,KEY=VALUE]...
 *
 * "dma-lost,queue=2:3,skip=10,count=1" is a rule (trn_inject.h), "ecc,stack=0,
 * offset=0x1000" a bad cell of HBM, "throttle,percent=50" a slower clock; "clear"
 * ends all of them. Documentation/hardware/faults.rst has the whole list.
 */
#ifndef TRN_INJECT_TEXT_H
#define TRN_INJECT_TEXT_H

#include <stddef.h>

#include "trn_ecc.h"
#include "trn_inject.h"

#define TRN_INJECT_WHY	160	/* bytes of a message, with its NUL */
#define TRN_INJECT_TEXT	160	/* bytes of a rule's text */

enum trn_order_kind {
	TRN_ORDER_RULE,
	TRN_ORDER_ECC,		/* a bad granule of HBM */
	TRN_ORDER_SRAM,		/* an error in SRAM that has been found */
	TRN_ORDER_THROTTLE,
	TRN_ORDER_CLEAR,	/* the rules of .point; TRN_INJECT_POINTS: everything */
	TRN_ORDER_CLEAR_ECC,
};

/**
 * struct trn_order - what a text asks for
 */
struct trn_order {
	enum trn_order_kind kind;
	union {
		struct trn_inject_rule rule;
		struct trn_ecc_cell cell;	/* SRAM: .correctable */
		struct {
			unsigned int percent;
			enum neuron_throttle why;
		} throttle;
		enum trn_inject_point point;
	};
};

/*
 * Both return 0 or -1 with a line in @why: what is wrong with the text for a chip
 * of @gen, or why the chip cannot do it. Any thread.
 */
int trn_inject_parse(const struct neuron_gen *gen, const char *text,
		     struct trn_order *order, char why[TRN_INJECT_WHY]);
int trn_inject_order(struct trn_chip *chip, const char *text,
		     char why[TRN_INJECT_WHY]);

/* The text that makes @rule. */
void trn_inject_format(const struct trn_inject_rule *rule,
		       char text[TRN_INJECT_TEXT]);

#endif /* TRN_INJECT_TEXT_H */
