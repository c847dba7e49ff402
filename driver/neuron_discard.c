// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chip's discard engine: one range at a time becomes zero, and its pages go
 * back to the host.
 */
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_hbm.h"
#include "neuron_trace.h"

static void neuron_discard_interrupt(struct neuron_device *ndev, u32 cause)
{
	if (cause & NEURON_CTL_CAUSE_DISCARD_ERROR)
		WRITE_ONCE(ndev->discard_error, true);
	complete(&ndev->discard_done);
}

void neuron_discard_init(struct neuron_device *ndev)
{
	init_completion(&ndev->discard_done);
	ndev->on_irq.discard = neuron_discard_interrupt;
}

void neuron_discard_wake(struct neuron_device *ndev)
{
	complete(&ndev->discard_done);
}

void neuron_discard_stop(struct neuron_device *ndev)
{
	neuron_discard_wake(ndev);
	/* Who has the lock looks at the state at the latest at its next poll. */
	mutex_lock(&ndev->discard_lock);
	mutex_unlock(&ndev->discard_lock);
}

/* Under discard_lock: may the engine be used? */
static int neuron_discard_check(struct neuron_device *ndev)
{
	switch (READ_ONCE(ndev->hw_state)) {
	case NEURON_HW_UP:
	case NEURON_HW_STARTING:
		return 0;
	case NEURON_HW_LEAVING:
		return -ENODEV;
	default:
		return -EAGAIN;
	}
}

static int neuron_discard_start(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret = neuron_discard_check(ndev);

	if (ret)
		return ret;
	if (neuron_ctl_read(ndev, NEURON_CTL_DISCARD_GO))
		return -EBUSY;
	WRITE_ONCE(ndev->discard_error, false);
	reinit_completion(&ndev->discard_done);
	neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_ADDR, addr);
	neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_LEN, len);
	neuron_ctl_write(ndev, NEURON_CTL_DISCARD_GO, 1);
	return 0;
}

/* What was announced may be the end of an earlier one that took too long. */
static bool neuron_discard_ended(struct neuron_device *ndev)
{
	return !neuron_ctl_read(ndev, NEURON_CTL_DISCARD_GO);
}

static int neuron_discard_wait(struct neuron_device *ndev)
{
	unsigned long end = jiffies + msecs_to_jiffies(NEURON_DISCARD_TIMEOUT_MS);
	unsigned long slice = msecs_to_jiffies(NEURON_DISCARD_POLL_MS);
	bool told;
	int ret;

	/* A device that announces an end again and again does not delay it. */
	do {
		told = wait_for_completion_timeout(&ndev->discard_done, slice);
		ret = neuron_discard_check(ndev);
		if (ret)
			return ret;
		if (told && neuron_discard_ended(ndev))
			return 0;
		if (told)
			continue;
		/* It may have been pulled out, or the interrupt have been lost. */
		if (!pci_device_is_present(ndev->pdev))
			return -ENODEV;
		neuron_irq_poll(ndev);
	} while (time_before(jiffies, end));
	return try_wait_for_completion(&ndev->discard_done) &&
	       neuron_discard_ended(ndev) ? 0 : -ETIMEDOUT;
}

static int neuron_discard_once(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret;

	ret = neuron_discard_start(ndev, addr, len);
	if (!ret)
		ret = neuron_discard_wait(ndev);
	if (ret)
		return ret;
	return READ_ONCE(ndev->discard_error) ? -EIO : 0;
}

int neuron_discard(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret;

	mutex_lock(&ndev->discard_lock);
	ret = neuron_discard_once(ndev, addr, len);
	/* An error may be the late end of one that took too long. */
	if (ret == -EIO)
		ret = neuron_discard_once(ndev, addr, len);
	mutex_unlock(&ndev->discard_lock);
	trace_neuron_discard(ndev, addr, len, ret);
	if (ret && ret != -ENODEV && ret != -EAGAIN)
		drm_err_ratelimited(&ndev->drm,
				    "discard of %llu bytes at %#llx failed: %d\n",
				    len, addr, ret);
	return ret;
}
