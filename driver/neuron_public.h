/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The public driver's sysfs tree, as an option.
 */
#ifndef _NEURON_PUBLIC_H_
#define _NEURON_PUBLIC_H_

struct neuron_device;

/* Nothing when the module parameter public_sysfs is off. */
int neuron_public_sysfs_init(struct neuron_device *ndev);

#endif /* _NEURON_PUBLIC_H_ */
