/* SPDX-License-Identifier: MIT */
/*
 * Inputs of collectives, and what must come out: the bits that the plan's host reference gives
 * with the arithmetic of the chip.
 */
#ifndef SELFTESTS_LIBNRT_CC_ANSWERS_H
#define SELFTESTS_LIBNRT_CC_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

#define CC_MAX_RANKS	64
#define CC_META_WORDS	(NRT_PLAN_NR_ROWS * CC_MAX_RANKS)

/* What outputs have before. */
#define CC_UNTOUCHED	0xa5

/* Any bits: numbers of all kinds, and what is no number. */
void cc_fill(uint8_t *bytes, uint64_t size, unsigned int rank, uint64_t seed);

/*
 * Metadata of an operation with run-time sizes: any counts. What is reduced has one count on all
 * ranks. Blocks end where there is no room left.
 */
void cc_fill_meta(const struct nrt_plan *plan, unsigned int rank, uint64_t seed,
		  uint32_t meta[CC_META_WORDS]);

/* Does @rank have what it must, when all ranks had inputs and metadata of @seed? */
bool cc_is_right(const struct nrt_plan *plan, unsigned int rank, uint64_t seed,
		 const uint8_t *got, const uint32_t got_meta[CC_META_WORDS]);

#endif /* SELFTESTS_LIBNRT_CC_ANSWERS_H */
