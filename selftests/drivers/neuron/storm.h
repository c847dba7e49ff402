/* SPDX-License-Identifier: MIT */
/*
 * Jobs of all kinds, by chance: what the storm and the hammer are made of. Chance
 * is rand(): a seed gives the same sequence again.
 */
#ifndef NEURON_STORM_H
#define NEURON_STORM_H

#include "job_rig.h"

enum storm_job { STORM_SPIN, STORM_FAULT, STORM_WAIT, STORM_WORK, NR_STORM_JOBS };

/* 0 to @sides - 1. */
unsigned int storm_dice(unsigned int sides);
void storm_emit(struct rig *rig, enum storm_job kind);
/*
 * Submit a job or two, change windows, perhaps reset the core, perhaps wait.
 * False: something ended in a way that it should not.
 */
bool storm_one_job(struct rig *rig);

#endif /* NEURON_STORM_H */
