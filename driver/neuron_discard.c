// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chip's discard engine: one range at a time becomes zero, and its pages go
 * back to the host.
 */
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_hbm.h"
#include "neuron_trace.h"

void neuron_hbm_interrupt(struct neuron_device *ndev, u32 cause)
{
	if (cause & NEURON_CTL_CAUSE_DISCARD_ERROR)
		WRITE_ONCE(ndev->discard_error, true);
	complete(&ndev->discard_done);
}

void neuron_hbm_stop(struct neuron_device *ndev)
{
	complete_all(&ndev->discard_done);
}

/* The device was stopped: by a reset, or for good. */
static bool neuron_discard_broken(struct neuron_device *ndev)
{
	enum neuron_hw_state state = READ_ONCE(ndev->hw_state);

	return state == NEURON_HW_DOWN || state == NEURON_HW_FAILED;
}

/* Only register access is inside the section: unplug never waits for a chip. */
static int neuron_discard_start(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret = 0;
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return -ENODEV;

	if (neuron_discard_broken(ndev)) {
		ret = -EAGAIN;
	} else if (neuron_ctl_read(ndev, NEURON_CTL_DISCARD_GO)) {
		ret = -EBUSY;
	} else {
		WRITE_ONCE(ndev->discard_error, false);
		reinit_completion(&ndev->discard_done);
		neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_ADDR, addr);
		neuron_ctl_write64(ndev, NEURON_CTL_DISCARD_LEN, len);
		neuron_ctl_write(ndev, NEURON_CTL_DISCARD_GO, 1);
	}

	drm_dev_exit(idx);
	return ret;
}

/* What was announced may be the end of an earlier one that took too long. */
static bool neuron_discard_ended(struct neuron_device *ndev)
{
	bool ended;
	int idx;

	/* Nothing to wait for: the caller looks at that. */
	if (neuron_discard_broken(ndev) || !drm_dev_enter(&ndev->drm, &idx))
		return true;
	ended = !neuron_ctl_read(ndev, NEURON_CTL_DISCARD_GO);
	drm_dev_exit(idx);
	return ended;
}

/* The interrupt may have been lost. */
static void neuron_discard_look(struct neuron_device *ndev)
{
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx))
		return;
	neuron_irq_poll(ndev);
	drm_dev_exit(idx);
}

static int neuron_discard_wait(struct neuron_device *ndev)
{
	unsigned long end = jiffies + msecs_to_jiffies(NEURON_DISCARD_TIMEOUT_MS);
	unsigned long slice = msecs_to_jiffies(NEURON_DISCARD_POLL_MS);

	/* A device that announces an end again and again does not delay it. */
	do {
		if (!wait_for_completion_timeout(&ndev->discard_done, slice))
			neuron_discard_look(ndev);
		else if (neuron_discard_ended(ndev))
			return 0;
	} while (time_before(jiffies, end));
	return try_wait_for_completion(&ndev->discard_done) &&
	       neuron_discard_ended(ndev) ? 0 : -ETIMEDOUT;
}

static int neuron_discard_once(struct neuron_device *ndev, u64 addr, u64 len)
{
	int ret;

	ret = neuron_discard_start(ndev, addr, len);
	if (ret)
		return ret;
	ret = neuron_discard_wait(ndev);
	if (ret)
		return ret;
	if (drm_dev_is_unplugged(&ndev->drm))
		return -ENODEV;
	if (neuron_discard_broken(ndev))
		return -EAGAIN;
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
