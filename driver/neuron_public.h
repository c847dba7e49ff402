/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The public driver's sysfs tree, as an option.
 */
#ifndef _NEURON_PUBLIC_H_
#define _NEURON_PUBLIC_H_

#include <linux/kconfig.h>

struct neuron_device;

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_PUBLIC_SYSFS)

/**
 * neuron_public_sysfs_init() - make the public driver's tree of a device
 * @ndev: device; devm removes the tree
 *
 * Nothing happens unless the module parameter public_sysfs is set.
 *
 * Return: 0 or a negative errno.
 */
int neuron_public_sysfs_init(struct neuron_device *ndev);

#else

static inline int neuron_public_sysfs_init(struct neuron_device *ndev)
{
	return 0;
}

#endif

#endif /* _NEURON_PUBLIC_H_ */
