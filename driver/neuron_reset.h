/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hardware comes and goes: what changes its state (neuron_device.h).
 */
#ifndef _NEURON_RESET_H_
#define _NEURON_RESET_H_

#include <linux/pci.h>
#include <linux/pm.h>

struct neuron_device;

extern const struct pci_error_handlers neuron_error_handlers;
int neuron_reset_init(struct neuron_device *ndev);
/* The reset work is not running, and never runs again, on return. */
void neuron_reset_fini(struct neuron_device *ndev);

/*
 * The part of bring-up that touches the hardware, as often as it
 * takes: probe, resume, after a reset. Nobody else uses the device meanwhile. The
 * start leaves HBM zero and cores without claims; the stop ends what still runs.
 */
int neuron_hw_start(struct neuron_device *ndev);
void neuron_hw_stop(struct neuron_device *ndev);
/*
 * The driver leaves, which is told to all who wait. Before drm_dev_unplug(), under
 * the lock of the PCI device, so that no start or reset is under way.
 */
void neuron_hw_leave(struct neuron_device *ndev);

/* The end of the probe; after drm_dev_unplug(). */
void neuron_pm_init(struct neuron_device *ndev);
void neuron_pm_fini(struct neuron_device *ndev);
extern const struct dev_pm_ops neuron_pm_ops;

#endif /* _NEURON_RESET_H_ */
