/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Faults on demand as text (trn/fault.h): reading it and writing it.
 */
#ifndef TRN_INJECT_TEXT_H
#define TRN_INJECT_TEXT_H

#include "hook/trn_inject.h"
#include "mem/trn_ecc.h"
#include "trn/fault.h"

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

/* 0, or -1 with a line in @why: what is wrong with the text for a chip of @gen. */
int trn_inject_parse(const struct neuron_gen *gen, const char *text,
		     struct trn_order *order, char why[TRN_FAULT_WHY]);

/* The text that makes @rule. */
void trn_inject_format(const struct trn_inject_rule *rule,
		       char text[TRN_FAULT_TEXT]);

#endif /* TRN_INJECT_TEXT_H */
