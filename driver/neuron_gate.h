/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gates: what a job waits for before its turn.
 *
 * The scheduler cannot take back a job whose dependencies do not signal, and the
 * fences that a program names are the business of others: they may never do. So
 * a job depends on one fence of our own, which signals when all of those have,
 * or when the job is given up. The jobs of a gang have one gate: when one of them is given
 * up, none will start.
 */
#ifndef _NEURON_GATE_H_
#define _NEURON_GATE_H_

#include <linux/types.h>

struct dma_fence;
struct neuron_gate;

/* For @max fences, with a reference; ERR_PTR(-ENOMEM). */
struct neuron_gate *neuron_gate_create(u32 max);
struct neuron_gate *neuron_gate_get(struct neuron_gate *gate);
/* Process context. */
void neuron_gate_put(struct neuron_gate *gate);

/* Wait for @fence, too; takes the reference. Before neuron_gate_arm() only. */
void neuron_gate_add(struct neuron_gate *gate, struct dma_fence *fence);

/* All are added. Return: the gate's fence, referenced. */
struct dma_fence *neuron_gate_arm(struct neuron_gate *gate);

/* Wait no longer. NULL is an open gate. Any context. */
void neuron_gate_open(struct neuron_gate *gate);

#endif /* _NEURON_GATE_H_ */
