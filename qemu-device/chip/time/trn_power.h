/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Power of each die, from what its engines did, and throttling.
 *
 * A sample is the share of the greatest power, in basis points:
 *
 *	sum over the cores of  duty * intensity * 85 %  / cores
 *	                     + copied / could have been copied * 15 %
 *
 * duty: share of the host's time with a job running; intensity: busy time of the
 * engines, weighted, in the device time that the job has come forward. So a chip
 * that always runs jobs which keep all engines busy is at 100 %, however slowly
 * the host executes them. Modelled: the weights are the project's choice.
 */
#ifndef TRN_POWER_H
#define TRN_POWER_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/job.h"
#include "neuron/regs.h"
#include "trn/fault.h"

struct trn_chip;
struct trn_core;
struct trn_state;

#define TRN_POWER_PERIOD_NS	1000000000u

/* Set chip->power; 0 or -1: no memory. */
int trn_power_init(struct trn_chip *chip);
void trn_power_destroy(struct trn_chip *chip);
/* Counters that it looks at start anew: forget what they were. */
void trn_power_rebase(struct trn_chip *chip);
/* Full clock and no sample yet, as in a new chip; nobody is told. */
void trn_power_forget(struct trn_chip *chip);
size_t trn_power_own_bytes(const struct trn_chip *chip);
void trn_power_state(struct trn_chip *chip, struct trn_state *st);

/* An engine worked for @ps at full clock; a DMA engine copied. Any thread. */
void trn_power_busy(struct trn_core *core, enum neuron_engine engine,
		    uint64_t ps);
void trn_power_copied(struct trn_chip *chip, unsigned int dma_engine,
		      uint64_t bytes);

/*
 * The register of die @die at @now_ns of the host's clock. There is a new sample
 * every TRN_POWER_PERIOD_NS; it is worked out when somebody asks, and is the mean
 * since the one before that somebody asked for.
 */
uint32_t trn_power_read(struct trn_chip *chip, unsigned int die,
			uint64_t now_ns);

/**
 * trn_power_throttle() - run the engines at @percent of their clock
 * @percent: 1 to 100; 100: at full clock
 * @why: what the guest is told; with 100 it is NONE in any case
 *
 * Instructions take longer in device time from now on, and each core's THROTTLE
 * notification says so. DMA engines keep their clock. Any thread.
 *
 * Return: 0, or -1: not a percentage.
 */
int trn_power_throttle(struct trn_chip *chip, unsigned int percent,
		       enum neuron_throttle why);
enum neuron_throttle trn_power_reason(const struct trn_chip *chip);
/* How long an engine takes for @ps of work at full clock. */
uint64_t trn_power_stretch(const struct trn_chip *chip, uint64_t ps);

#endif /* TRN_POWER_H */
