/* SPDX-License-Identifier: MIT */
/*
 * What neuron-sim prints: the tensors of a NEFF, and how long a run took.
 */
#ifndef NEURON_SIM_REPORT_H
#define NEURON_SIM_REPORT_H

#include "session.h"

/* A table of inputs and outputs. 0, or -1: no memory. */
int report_tensors(const struct session *session);

/*
 * A line for each rank: device time, instructions, bytes. With @busy, which needs a trace of the
 * execution, also a table of engines and DMA queues: how long they were busy.
 */
NRT_STATUS report_times(struct session *session, bool busy);

#endif /* NEURON_SIM_REPORT_H */
