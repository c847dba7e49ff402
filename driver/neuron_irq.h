/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupts of a device. Who has a source sets neuron_device.on_irq.
 */
#ifndef _NEURON_IRQ_H_
#define _NEURON_IRQ_H_

#include <linux/types.h>

struct neuron_device;

/*
 * After the start all sources have their vector, and the causes of
 * cores and DMA engines are masked until their owners unmask them. After the stop
 * no handler runs.
 */
int neuron_irq_init(struct neuron_device *ndev);
void neuron_irq_start(struct neuron_device *ndev);
void neuron_irq_stop(struct neuron_device *ndev);
/*
 * Look at all causes as if each vector had been raised: for who waits too long, and
 * while the device is cut off from memory, since its messages are writes as well.
 * Return: something was found. The registers must be there.
 */
bool neuron_irq_poll(struct neuron_device *ndev);

#endif /* _NEURON_IRQ_H_ */
