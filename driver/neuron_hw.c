// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting and stopping the hardware.
 */
#include <linux/pci.h>

#include "neuron_device.h"
#include "neuron_hbm.h"

/* Nothing of an earlier life of the device runs any more. */
static void neuron_hw_open_bus(struct neuron_device *ndev)
{
	mutex_lock(&ndev->bus_lock);
	WRITE_ONCE(ndev->bus_cuts, 0);
	pci_set_master(ndev->pdev);
	mutex_unlock(&ndev->bus_lock);
}

static int neuron_hw_start_units(struct neuron_device *ndev)
{
	int ret;

	ret = neuron_cores_start(ndev);
	if (ret)
		return ret;
	ret = neuron_copy_start(ndev);
	if (ret)
		return ret;
	neuron_hw_open_bus(ndev);
	return neuron_hbm_start(ndev);
}

int neuron_hw_start(struct neuron_device *ndev)
{
	int ret;

	ret = neuron_device_identify(ndev);
	if (ret)
		return ret;

	neuron_irq_start(ndev);
	ret = neuron_hw_start_units(ndev);
	if (ret)
		neuron_hw_stop(ndev);
	return ret;
}

void neuron_hw_stop(struct neuron_device *ndev)
{
	neuron_cores_stop(ndev);
	neuron_copy_stop(ndev);
	neuron_irq_stop(ndev);
	pci_clear_master(ndev->pdev);
}
