/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files in debugfs.
 */
#ifndef _NEURON_DEBUGFS_H_
#define _NEURON_DEBUGFS_H_

struct neuron_device;

/**
 * neuron_debugfs_init() - name the files of a device in debugfs
 * @ndev: device, not registered yet; DRM makes the files when it is
 */
void neuron_debugfs_init(struct neuron_device *ndev);

#endif /* _NEURON_DEBUGFS_H_ */
