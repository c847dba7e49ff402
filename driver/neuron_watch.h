/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watch over the jobs on the hardware.
 */
#ifndef _NEURON_WATCH_H_
#define _NEURON_WATCH_H_

struct neuron_device;

/* Before the cores. */
int neuron_watch_init(struct neuron_device *ndev);
/* There is no job any more. */
void neuron_watch_fini(struct neuron_device *ndev);

#endif /* _NEURON_WATCH_H_ */
