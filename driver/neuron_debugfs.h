/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of debugfs.
 */
#ifndef _NEURON_DEBUGFS_H_
#define _NEURON_DEBUGFS_H_

struct neuron_device;
struct seq_file;

/* The device that the file is of. */
struct neuron_device *neuron_debugfs_device(struct seq_file *m);

void neuron_debugfs_hw_init(struct neuron_device *ndev);

#endif /* _NEURON_DEBUGFS_H_ */
