/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Faults on demand: orders as text, and what came of them.
 *
 *	NAME[,KEY=VALUE]...
 *
 * "dma-lost,queue=2:3,skip=10,count=1" is a rule, "ecc,stack=0,offset=0x1000" a bad cell of
 * HBM, "throttle,percent=50" a slower clock; "clear" ends all of them.
 * Documentation/hardware/faults.rst has the whole list.
 */
#ifndef TRN_API_FAULT_H
#define TRN_API_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct trn_chip;

#define TRN_FAULT_WHY	160	/* bytes of a message, with its NUL */
#define TRN_FAULT_TEXT	160	/* bytes of a rule's text */

/**
 * trn_fault_order() - carry out one order
 * @chip: the chip, which may be running. Any thread
 * @text: the order
 * @why: out, on an error: what is wrong with it
 *
 * Return: 0, or -1: the order is refused, and nothing has changed.
 */
int trn_fault_order(struct trn_chip *chip, const char *text, char why[TRN_FAULT_WHY]);

/**
 * trn_fault_name() - the kinds of faults that there are
 * @n: from 0 on
 *
 * Return: the name with which the order begins, or NULL: there are fewer kinds.
 */
const char *trn_fault_name(unsigned int n);

/**
 * struct trn_fault_status - a rule, and what came of it
 * @text: the order that makes it
 * @opportunities: times that its point was passed at its unit
 * @strikes: times that it struck
 */
struct trn_fault_status {
	char text[TRN_FAULT_TEXT];
	uint64_t opportunities;
	uint64_t strikes;
};

/**
 * trn_fault_read() - look at a rule
 * @chip: the chip, which may be running. Any thread
 * @n: which rule, in the order in which they were added, from 0 on
 * @status: out
 *
 * Return: false: there are fewer rules.
 */
bool trn_fault_read(struct trn_chip *chip, unsigned int n,
		    struct trn_fault_status *status);

/**
 * trn_ecc_cells() - cells of HBM that are bad
 * @chip: the chip. Any thread
 *
 * Return: their number, on all stacks.
 */
unsigned int trn_ecc_cells(struct trn_chip *chip);

/**
 * trn_power_clock() - how fast the engines are
 * @chip: the chip. Any thread
 *
 * Return: their clock, in percent of the full one.
 */
unsigned int trn_power_clock(const struct trn_chip *chip);

#endif /* TRN_API_FAULT_H */
