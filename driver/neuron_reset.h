/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What changes the state of the hardware (see neuron_device.h): start, stop, reset, sleep.
 */
#ifndef _NEURON_RESET_H_
#define _NEURON_RESET_H_

#include <linux/pci.h>
#include <linux/pm.h>

struct neuron_device;

/*
 * neuron_error_handlers: what the PCI core calls when the link reports an error, and before and
 * after a reset of the device. Both happen under the lock of the PCI device.
 */
extern const struct pci_error_handlers neuron_error_handlers;

/**
 * neuron_reset_init() - set up the state of the hardware and the reset work
 * @ndev: device
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_reset_init(struct neuron_device *ndev);

/**
 * neuron_reset_fini() - end the reset work, which never runs again
 * @ndev: device
 */
void neuron_reset_fini(struct neuron_device *ndev);

/**
 * neuron_hw_start() - start the hardware: at the probe, after a reset, after sleep
 * @ndev: device, which nobody else uses meanwhile
 *
 * HBM is zero afterwards, and the state is UP.
 *
 * Context: under neuron_device.hw_lock, or the device has no users yet.
 * Return: 0, or a negative errno, and then the state is FAILED.
 */
int neuron_hw_start(struct neuron_device *ndev);

/**
 * neuron_hw_stop() - stop the hardware: what runs on it ends, and bus mastering goes off
 * @ndev: device
 */
void neuron_hw_stop(struct neuron_device *ndev);

/**
 * neuron_hw_stop_for_good() - reset a device that has a unit which did not stop
 * @ndev: device that the driver leaves, after neuron_hw_stop()
 *
 * Nothing of it may go on writing to the memory of other chips. A device without such a unit is
 * left alone.
 *
 * Context: under the lock of the PCI device.
 */
void neuron_hw_stop_for_good(struct neuron_device *ndev);

/**
 * neuron_hw_leave() - the driver leaves the device, and whoever waits for it is told
 * @ndev: device, before drm_dev_unplug()
 *
 * Context: under the lock of the PCI device, so that no start or reset is under way.
 */
void neuron_hw_leave(struct neuron_device *ndev);

/**
 * neuron_pm_init() - let the device sleep when nobody uses it
 * @ndev: device, at the end of the probe
 */
void neuron_pm_init(struct neuron_device *ndev);

/**
 * neuron_pm_fini() - take back what keeps the device awake
 * @ndev: device, unplugged
 */
void neuron_pm_fini(struct neuron_device *ndev);

/*
 * neuron_pm_ops: what the power management calls when the device, or the whole machine, goes to
 * sleep or wakes up.
 */
extern const struct dev_pm_ops neuron_pm_ops;

#endif /* _NEURON_RESET_H_ */
