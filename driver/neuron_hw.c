// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting and stopping the hardware.
 */
#include <linux/pci.h>
#include <linux/wait.h>

#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_hbm.h"
#include "neuron_hw.h"

bool neuron_hw_set_state(struct neuron_device *ndev, enum neuron_hw_state state)
{
	bool changed;

	down_write(&ndev->epoch_lock);
	changed = ndev->hw_state != state && !neuron_hw_leaves(ndev);
	if (changed && neuron_hw_up(ndev))
		WRITE_ONCE(ndev->epoch, ndev->epoch + 1);
	if (changed)
		WRITE_ONCE(ndev->hw_state, state);
	up_write(&ndev->epoch_lock);
	wake_up_all(&ndev->hw_wait);
	/* Grants of claims that are lost are void. */
	wake_up_all(&ndev->grant_wait);
	return changed;
}

void neuron_hw_leave(struct neuron_device *ndev)
{
	neuron_hw_set_state(ndev, NEURON_HW_LEAVING);
	neuron_discard_wake(ndev);
}

static bool neuron_hw_is_settled(enum neuron_hw_state state)
{
	return state != NEURON_HW_STARTING && state != NEURON_HW_DOWN;
}

int neuron_hw_wait_epoch(struct neuron_device *ndev, u32 *epoch)
{
	enum neuron_hw_state state;

	do {
		if (wait_event_killable(ndev->hw_wait,
					neuron_hw_is_settled(READ_ONCE(ndev->hw_state))))
			return -EINTR;
		down_read(&ndev->epoch_lock);
		state = ndev->hw_state;
		*epoch = ndev->epoch;
		up_read(&ndev->epoch_lock);
		/* It may be in its next reset by now. */
	} while (!neuron_hw_is_settled(state));
	if (state == NEURON_HW_LEAVING)
		return -ENODEV;
	return state == NEURON_HW_UP ? 0 : -EIO;
}

int neuron_hw_wait(struct neuron_device *ndev)
{
	u32 epoch;

	return neuron_hw_wait_epoch(ndev, &epoch);
}

void neuron_want_reset(struct neuron_device *ndev, unsigned int ms)
{
	WRITE_ONCE(ndev->reset_wanted, true);
	mod_delayed_work(system_freezable_wq, &ndev->reset_work,
			 msecs_to_jiffies(ms));
}

void neuron_request_reset(struct neuron_device *ndev)
{
	if (neuron_hw_up(ndev))
		neuron_want_reset(ndev, 0);
}

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

	neuron_hw_set_state(ndev, NEURON_HW_STARTING);
	ret = neuron_device_identify_again(ndev);
	if (ret)
		goto err_state;

	if (ndev->counters_anew)
		neuron_look_begin_anew(ndev);
	ndev->counters_anew = false;
	neuron_irq_start(ndev);
	ret = neuron_hw_start_units(ndev);
	if (ret)
		goto err_stop;
	/* What a reset of the slot is followed by. */
	pci_save_state(ndev->pdev);
	neuron_hw_set_state(ndev, NEURON_HW_UP);
	neuron_event_look(ndev);
	return 0;

err_stop:
	neuron_hw_stop(ndev);
err_state:
	neuron_hw_set_state(ndev, NEURON_HW_FAILED);
	return ret;
}

void neuron_hw_stop(struct neuron_device *ndev)
{
	neuron_hw_set_state(ndev, NEURON_HW_DOWN);
	neuron_cores_stop(ndev);
	neuron_copy_stop(ndev);
	neuron_discard_stop(ndev);
	neuron_irq_stop(ndev);
	pci_clear_master(ndev->pdev);
}
