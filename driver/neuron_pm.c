// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power management. Asleep the device forgets nothing as long as it has power, but
 * nobody relies on that: it sleeps only when nothing would be lost, and wakes up
 * by the start that the probe uses.
 */
#include <linux/pid.h>
#include <linux/pm_runtime.h>
#include <drm/drm_drv.h>

#include "neuron_hbm.h"
#include "neuron_hw.h"
#include "neuron_look.h"

int neuron_pm_get(struct neuron_device *ndev)
{
	int ret;

	if (neuron_hw_leaves(ndev))
		return -ENODEV;
	ret = pm_runtime_resume_and_get(ndev->drm.dev);
	if (ret)
		return ret;
	atomic_inc(&ndev->pm_refs);
	return 0;
}

void neuron_pm_hold(struct neuron_device *ndev)
{
	pm_runtime_get_noresume(ndev->drm.dev);
	atomic_inc(&ndev->pm_refs);
}

void neuron_pm_put(struct neuron_device *ndev)
{
	/* Those of a device that has left were taken back by neuron_pm_fini(). */
	if (atomic_dec_if_positive(&ndev->pm_refs) < 0)
		return;
	pm_runtime_mark_last_busy(ndev->drm.dev);
	pm_runtime_put_autosuspend(ndev->drm.dev);
}

/* The PCI core forbids it until somebody writes "auto" to power/control. */
void neuron_pm_init(struct neuron_device *ndev)
{
	struct device *dev = ndev->drm.dev;

	pm_runtime_set_autosuspend_delay(dev, NEURON_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
}

void neuron_pm_fini(struct neuron_device *ndev)
{
	struct device *dev = ndev->drm.dev;
	int refs;

	pm_runtime_get_noresume(dev);
	for (refs = atomic_xchg(&ndev->pm_refs, 0); refs > 0; refs--)
		pm_runtime_put_noidle(dev);
	pm_runtime_dont_use_autosuspend(dev);
}

int neuron_regs_get(struct neuron_device *ndev, int *idx)
{
	int ret;

	ret = neuron_pm_get(ndev);
	if (ret)
		return ret;
	if (!drm_dev_enter(&ndev->drm, idx)) {
		ret = -ENODEV;
		goto err_put;
	}
	/* The state changes under it: neither a reset nor a removal begins. */
	down_read(&ndev->epoch_lock);
	ret = neuron_hw_check(ndev);
	if (!ret)
		return 0;

	up_read(&ndev->epoch_lock);
	drm_dev_exit(*idx);
err_put:
	neuron_pm_put(ndev);
	return ret;
}

void neuron_regs_put(struct neuron_device *ndev, int idx)
{
	up_read(&ndev->epoch_lock);
	drm_dev_exit(idx);
	neuron_pm_put(ndev);
}

int neuron_regs_get_awake(struct neuron_device *ndev, int *idx)
{
	int ret = -EAGAIN;

	if (!drm_dev_enter(&ndev->drm, idx))
		return -ENODEV;
	/* Without CONFIG_PM it does not tell, and nothing sleeps. */
	if (pm_runtime_get_if_active(ndev->drm.dev) <= 0 && IS_ENABLED(CONFIG_PM))
		goto err_exit;
	down_read(&ndev->epoch_lock);
	ret = neuron_hw_check(ndev);
	if (!ret)
		return 0;

	up_read(&ndev->epoch_lock);
	__pm_runtime_put_autosuspend(ndev->drm.dev);
err_exit:
	drm_dev_exit(*idx);
	return ret;
}

/* Not as neuron_pm_put(): whoever only looks is nobody who uses it. */
void neuron_regs_put_awake(struct neuron_device *ndev, int idx)
{
	up_read(&ndev->epoch_lock);
	__pm_runtime_put_autosuspend(ndev->drm.dev);
	drm_dev_exit(idx);
}

/*
 * Claims, transfers and what is in HBM would not survive; programs can end them. Programs
 * are frozen, so nothing of that comes anew.
 */
static int neuron_pm_prepare(struct device *dev)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	struct neuron_hbm_stats stats;
	pid_t owner = 0;
	unsigned int i;
	u64 used = 0;
	int ret;

	mutex_lock(&ndev->claim_lock);
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		if (!ndev->core[i].claim)
			continue;
		owner = pid_nr(ndev->core[i].owner_pid);
		break;
	}
	mutex_unlock(&ndev->claim_lock);
	if (i < ndev->gen->nr_cores) {
		dev_err(dev, "no sleep: core %u is claimed by process %d\n", i,
			owner);
		return -EBUSY;
	}

	/* What has ended is freed a little later. */
	if (!wait_event_timeout(ndev->live_wait,
				!atomic_read(&ndev->nr_transfers), HZ)) {
		dev_err(dev, "no sleep: %d transfers have not ended\n",
			atomic_read(&ndev->nr_transfers));
		return -EBUSY;
	}

	ret = neuron_hbm_flush(ndev);
	if (ret)
		return ret;
	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		neuron_hbm_get_stats(ndev, i, &stats);
		used += stats.used;
	}
	if (used) {
		dev_err(dev, "no sleep: %llu bytes of HBM are in use\n", used);
		return -EBUSY;
	}
	return 0;
}

static int neuron_pm_suspend(struct device *dev)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	if (neuron_hw_up(ndev))
		neuron_look_keep(ndev);
	mutex_lock(&ndev->hw_lock);
	ndev->asleep = true;
	neuron_hw_stop(ndev);
	mutex_unlock(&ndev->hw_lock);
	return 0;
}

/* The machine sleeps, and the device may lose its power. */
static int neuron_pm_sleep(struct device *dev)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	mutex_lock(&ndev->hw_lock);
	ndev->counters_anew = true;
	mutex_unlock(&ndev->hw_lock);
	return neuron_pm_suspend(dev);
}

/*
 * A device that cannot be started is FAILED, which its users are told by EIO. To
 * the PM core it has resumed: an error here would only keep a reset from it.
 */
static int neuron_pm_resume(struct device *dev)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	int ret;

	mutex_lock(&ndev->hw_lock);
	ndev->asleep = false;
	ret = neuron_hw_start(ndev);
	mutex_unlock(&ndev->hw_lock);
	if (ret)
		dev_err(dev, "cannot be started after sleep: %d\n", ret);
	return 0;
}

const struct dev_pm_ops neuron_pm_ops = {
	.prepare = pm_sleep_ptr(neuron_pm_prepare),
	SYSTEM_SLEEP_PM_OPS(neuron_pm_sleep, neuron_pm_resume)
	RUNTIME_PM_OPS(neuron_pm_suspend, neuron_pm_resume, NULL)
};
