/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watch of each core looks after its job on the hardware.
 */
#ifndef _NEURON_WATCH_H_
#define _NEURON_WATCH_H_

struct neuron_device;

/**
 * neuron_watch_init() - install the watch of each core
 * @ndev: device; its cores are not set up yet
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_watch_init(struct neuron_device *ndev);

/**
 * neuron_watch_fini() - end the watches
 * @ndev: device without jobs
 */
void neuron_watch_fini(struct neuron_device *ndev);

#endif /* _NEURON_WATCH_H_ */
