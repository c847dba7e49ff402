/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupts of a device. The file that owns a source of interrupts sets its handler in
 * neuron_device.on_irq.
 */
#ifndef _NEURON_IRQ_H_
#define _NEURON_IRQ_H_

#include <linux/types.h>

struct neuron_device;

/**
 * neuron_irq_init() - allocate the vectors and request their interrupts
 * @ndev: device
 *
 * The interrupts stay disabled until neuron_irq_start().
 *
 * Return: 0 or a negative errno, which is logged.
 */
int neuron_irq_init(struct neuron_device *ndev);

/**
 * neuron_irq_start() - give each source its vector and enable the interrupts
 * @ndev: device
 *
 * The management causes are unmasked here. Those of cores and copy engines stay masked until
 * neuron_cores_start() and neuron_copy_start().
 */
void neuron_irq_start(struct neuron_device *ndev);

/**
 * neuron_irq_stop() - mask all causes and disable the interrupts
 * @ndev: device
 *
 * No handler runs when it returns. Sleeps.
 */
void neuron_irq_stop(struct neuron_device *ndev);

/**
 * neuron_irq_poll() - look at all causes as if each vector had been raised
 * @ndev: device; its registers can be read
 *
 * Whoever waits for an interrupt calls this before it gives up, because the interrupt may be
 * lost. It certainly is while bus mastering is off: an MSI-X message is a write to memory.
 *
 * Return: a cause was found and handled.
 */
bool neuron_irq_poll(struct neuron_device *ndev);

/**
 * neuron_irq_sync_engine() - let what a copy engine has announced be looked at
 * @ndev: device
 * @engine: DMA engine, one of those that copy
 *
 * Causes of the engine that somebody has read before the call have been handled when it returns.
 * Takes the lock of the engine's vector, under which the handlers of the engine run.
 */
void neuron_irq_sync_engine(struct neuron_device *ndev, unsigned int engine);

#endif /* _NEURON_IRQ_H_ */
