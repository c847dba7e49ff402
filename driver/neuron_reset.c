// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting and stopping the hardware, resets of the whole device, sleep.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/pid.h>
#include <linux/pm_runtime.h>
#include <linux/workqueue.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "neuron_copy.h"
#include "neuron_core.h"
#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_hbm.h"
#include "neuron_irq.h"
#include "neuron_monitor.h"
#include "neuron_reset.h"

/**
 * DOC: Life layer
 *
 * This layer starts and stops the hardware, and is the only one that changes its state (see "State
 * of the hardware" in the base layer). neuron_drv.c has the module, the probe and the removal;
 * neuron_reset.c has the rest.
 *
 * The probe makes all software first, layer by layer, and only reads registers. Then
 * neuron_hw_start() starts the hardware. The same function starts it after a reset and after
 * sleep: the chip is identified again, interrupts and copy queues are programmed, each core gets
 * a new generation, and HBM is zeroed. So nothing depends on what the chip has kept. At last the
 * probe makes the folders in sysfs and registers the DRM device: a user never sees a device that
 * is not ready. The attributes of the PCI device itself (dev_groups) are made by the driver core
 * after the probe, and removed before the removal. A rule of udev finds them when the event "bind"
 * of the PCI device comes, not yet with "add" of the DRM device.
 *
 * The removal goes the other way. neuron_hw_leave() sets the state to LEAVING and wakes all
 * who wait. drm_dev_unplug() waits for those who are inside drm_dev_enter(). Other chips that have
 * windows onto this one end the jobs that use them; if one of them is being reset, the removal
 * waits for the end of that. neuron_hw_stop() resets the cores that still run and stops the copy
 * queues; if one of them does not stop, the whole device is reset. Then claims, jobs and host
 * memory are taken back. What open files still hold is freed with them.
 *
 * A reset of the device is asked for by the user (file reset of the PCI device), by the PCI core
 * after an error of the link, or by neuron_request_reset(), when a core or a copy queue does not
 * answer its own reset, or a copy queue moves nothing after it. All of them go through the PCI
 * core, which saves and restores the configuration and calls neuron_reset_prepare() and
 * neuron_reset_done(), or the error handlers.
 *
 * The device sleeps only when nothing would be lost: no file is open, no transfer is under way,
 * and no HBM is in use. When the machine goes to sleep, open files do not matter, but claims,
 * transfers and HBM in use do: they would be lost with the power, so the driver refuses. A reset
 * that was wanted before the sleep is done with by the start after it. A device that is FAILED
 * stays so if the sleep was no reset.
 *
 * neuron_device.hw_lock is held while a reset begins, while it ends, and while the device goes to
 * sleep or wakes up. It is not held while the PCI core resets the hardware. The lock of the PCI
 * device, which the PCI core holds then, keeps removal and reset apart. So the reset work only
 * tries that lock: a removal holds it, and waits for the work.
 */

#define NEURON_RESET_RETRY_MS	100

void neuron_hw_leave(struct neuron_device *ndev)
{
	neuron_hw_set_state(ndev, NEURON_HW_LEAVING);
	neuron_discard_wake(ndev);
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
	neuron_bus_open(ndev);
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
	neuron_cores_up(ndev);
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

/*
 * The handlers of the driver see that it leaves, and do nothing. A device that was pulled out
 * reaches nothing.
 */
static int neuron_hw_reset_for_good(struct neuron_device *ndev)
{
	int ret;

	if (neuron_hw_is_gone(ndev))
		return 0;
	if (!pci_device_is_present(ndev->pdev))
		return -ENODEV;
	ret = pci_reset_function_locked(ndev->pdev);
	return ret ?: neuron_cores_were_reset(ndev) ? 0 : -EIO;
}

void neuron_hw_stop_for_good(struct neuron_device *ndev)
{
	int ret;

	if (!READ_ONCE(ndev->bus_cuts))
		return;
	ret = neuron_hw_reset_for_good(ndev);
	if (ret) {
		dev_err(ndev->drm.dev,
			"cannot be stopped: %d; what it may write to on other chips stays allocated\n",
			ret);
		return;
	}
	mutex_lock(&ndev->bus_lock);
	WRITE_ONCE(ndev->bus_cuts, 0);
	mutex_unlock(&ndev->bus_lock);
}

/*
 * Under hw_lock, in the state DOWN. The hardware may be out of reach, or busy. Jobs in flight end
 * only after this, so it is on the way to signal fences. The mappings are not: to remove them takes
 * locks of processes, for which that way must not wait.
 */
static void neuron_reset_freeze(struct neuron_device *ndev)
{
	bool cookie;

	/* HBM is lost: take it away from processes. In the state DOWN nothing is mapped anew. */
	unmap_mapping_range(ndev->drm.anon_inode->i_mapping, 0, 0, 1);
	cookie = dma_fence_begin_signalling();
	neuron_cores_freeze(ndev);
	neuron_copy_freeze(ndev);
	neuron_discard_stop(ndev);
	neuron_irq_stop(ndev);
	/* Units may run until the reset, and jobs end before it is sure that it has worked. */
	neuron_bus_cut(ndev);
	dma_fence_end_signalling(cookie);
}

/* Under hw_lock: what was in flight ends. */
static void neuron_reset_end(struct neuron_device *ndev, bool reset)
{
	bool cookie = dma_fence_begin_signalling();

	neuron_cores_end(ndev, reset);
	neuron_copy_end(ndev, -EIO);
	dma_fence_end_signalling(cookie);
}

static void neuron_reset_begin(struct neuron_device *ndev)
{
	mutex_lock(&ndev->hw_lock);
	if (neuron_hw_set_state(ndev, NEURON_HW_DOWN)) {
		atomic64_inc(&ndev->counters.device_resets);
		neuron_reset_freeze(ndev);
	}
	mutex_unlock(&ndev->hw_lock);
}

static void neuron_reset_tell(struct neuron_device *ndev, int error)
{
	const struct neuron_event event = {
		.type = error ? NEURON_EVENT_DEVICE_FAILED :
				NEURON_EVENT_DEVICE_RESET,
		.core = NEURON_EVENT_DEVICE,
	};

	neuron_event_raise(ndev, &event);
	if (error) {
		atomic64_inc(&ndev->counters.reset_failures);
		dev_err(ndev->drm.dev,
			"out of service: it could not be started after a reset: %d\n",
			error);
	} else {
		dev_warn(ndev->drm.dev,
			 "reset: claims and HBM of before are lost\n");
	}
}

/*
 * After neuron_reset_fini() this does nothing. While the machine goes to sleep the work waits: its
 * workqueue is frozen.
 */
static void neuron_reset_retry(struct neuron_device *ndev, unsigned int ms)
{
	mod_delayed_work(ndev->reset_wq, &ndev->reset_work,
			 msecs_to_jiffies(ms));
}

/*
 * Another reset has done what the work was to do: withdraw the request. Whoever requests a reset
 * holds the lock of a unit and has seen the state UP. These locks were taken since, so no request
 * of the time before can come after this. Return: a reset was requested.
 */
static bool neuron_reset_unwant(struct neuron_device *ndev)
{
	bool wanted = READ_ONCE(ndev->reset_wanted);

	WRITE_ONCE(ndev->reset_wanted, false);
	cancel_delayed_work(&ndev->reset_work);
	return wanted;
}

/*
 * Was the device reset? The slot is not after each error. A device that is gone owes nobody
 * anything; one that does not answer (not @there) reaches no memory now, but may later.
 */
static bool neuron_reset_happened(struct neuron_device *ndev, bool there)
{
	return there ? neuron_cores_were_reset(ndev) : neuron_hw_is_gone(ndev);
}

/* The device was reset, or (not @there) cannot be; then it stays cut off from memory. */
static int neuron_reset_finish(struct neuron_device *ndev, bool there)
{
	int ret = -ENODEV;

	mutex_lock(&ndev->hw_lock);
	if (neuron_hw_leaves(ndev)) {
		/* What is in flight ends in neuron_hw_stop(), but no device times come. */
		neuron_cores_lose_times(ndev, neuron_reset_happened(ndev, there));
		mutex_unlock(&ndev->hw_lock);
		return -ENODEV;
	}
	neuron_reset_unwant(ndev);
	ndev->counters_anew = true;
	if (ndev->asleep) {
		/* It had nothing in flight, and what wakes it up starts it. */
		mutex_unlock(&ndev->hw_lock);
		return there ? 0 : -ENODEV;
	}
	neuron_reset_end(ndev, neuron_reset_happened(ndev, there));
	if (there)
		ret = neuron_hw_start(ndev);
	else
		neuron_hw_set_state(ndev, NEURON_HW_FAILED);
	mutex_unlock(&ndev->hw_lock);
	neuron_reset_tell(ndev, ret);
	return ret;
}

/*
 * Through the PCI core, which saves and restores what the reset forgets and calls
 * the handlers below. A removal holds the device's lock and waits for this work,
 * so it tries the lock only.
 */
static void neuron_reset_work(struct work_struct *work)
{
	struct neuron_device *ndev = container_of(to_delayed_work(work),
						  struct neuron_device,
						  reset_work);
	struct device *dev = ndev->drm.dev;
	int ret;

	if (!READ_ONCE(ndev->reset_wanted))
		return;
	pm_runtime_get_sync(dev);
	/* To wake the device up may have been enough. */
	ret = READ_ONCE(ndev->reset_wanted) ? pci_try_reset_function(ndev->pdev) : 0;
	if (ret == -EAGAIN) {
		neuron_reset_retry(ndev, NEURON_RESET_RETRY_MS);
	} else if (ret) {
		dev_err(ndev->drm.dev, "cannot be reset: %d\n", ret);
		/* Otherwise neuron_reset_done() has started the device, or found that it cannot. */
		if (READ_ONCE(ndev->reset_wanted)) {
			neuron_reset_begin(ndev);
			neuron_reset_finish(ndev, false);
		}
	}
	pm_runtime_put_autosuspend(dev);
}

static void neuron_reset_destroy_wq(struct drm_device *drm, void *data)
{
	destroy_workqueue(data);
}

int neuron_reset_init(struct neuron_device *ndev)
{
	int ret;

	init_waitqueue_head(&ndev->hw_wait);
	init_rwsem(&ndev->epoch_lock);
	INIT_DELAYED_WORK(&ndev->reset_work, neuron_reset_work);
	ndev->reset_wq = alloc_ordered_workqueue("neuron-reset", WQ_FREEZABLE | WQ_MEM_RECLAIM);
	if (!ndev->reset_wq)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&ndev->drm, neuron_reset_destroy_wq,
				       ndev->reset_wq);
	if (ret)
		return ret;
	return drmm_mutex_init(&ndev->drm, &ndev->hw_lock);
}

void neuron_reset_fini(struct neuron_device *ndev)
{
	disable_delayed_work_sync(&ndev->reset_work);
}

static void neuron_reset_prepare(struct pci_dev *pdev)
{
	neuron_reset_begin(pci_get_drvdata(pdev));
}

/*
 * The PCI core calls this also when the reset has failed, and does not say so. What was to be reset
 * may be what does not answer, so such a device is not used.
 */
static void neuron_reset_done(struct pci_dev *pdev)
{
	struct neuron_device *ndev = pci_get_drvdata(pdev);
	bool there = pci_device_is_present(pdev);

	if (there && !neuron_cores_were_reset(ndev)) {
		dev_err(&pdev->dev, "was not reset\n");
		there = false;
	}
	neuron_reset_finish(ndev, there);
}

/*
 * Correctable errors do not come here; the PCI core counts them. After one that is
 * not fatal the link works: one transaction is lost, and whoever made it says so.
 * In a frozen link nothing works until the slot is reset, and if nobody does that
 * the reset work will.
 */
static pci_ers_result_t neuron_error_detected(struct pci_dev *pdev,
					      pci_channel_state_t state)
{
	struct neuron_device *ndev = pci_get_drvdata(pdev);

	switch (state) {
	case pci_channel_io_normal:
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_frozen:
		neuron_reset_begin(ndev);
		neuron_want_reset(ndev, NEURON_RECOVERY_TIMEOUT_MS);
		return PCI_ERS_RESULT_NEED_RESET;
	default:
		neuron_reset_begin(ndev);
		neuron_reset_finish(ndev, false);
		return PCI_ERS_RESULT_DISCONNECT;
	}
}

static pci_ers_result_t neuron_mmio_enabled(struct pci_dev *pdev)
{
	struct neuron_device *ndev = pci_get_drvdata(pdev);

	if (neuron_ctl_read(ndev, NEURON_CTL_MAGIC) == NEURON_CTL_MAGIC_VALUE)
		return PCI_ERS_RESULT_RECOVERED;
	neuron_reset_begin(ndev);
	neuron_want_reset(ndev, NEURON_RECOVERY_TIMEOUT_MS);
	return PCI_ERS_RESULT_NEED_RESET;
}

/*
 * Have a device that is there reset, unless it was. Cores may still run, and records that the chip
 * writes while it is no master of the bus are lost, so nobody could wait for those that it owes.
 */
static void neuron_make_reset(struct neuron_device *ndev)
{
	struct pci_dev *pdev = ndev->pdev;

	if (!pci_device_is_present(pdev) || neuron_cores_were_reset(ndev))
		return;
	/* Without bus mastering, which is so restored. */
	pci_clear_master(pdev);
	pci_save_state(pdev);
	pcie_reset_flr(pdev, PCI_RESET_DO_RESET);
	pci_restore_state(pdev);
	if (!neuron_cores_were_reset(ndev))
		dev_err(ndev->drm.dev, "cannot be reset\n");
}

static pci_ers_result_t neuron_slot_reset(struct pci_dev *pdev)
{
	struct neuron_device *ndev = pci_get_drvdata(pdev);

	/* The slot may be reset for another device on the bus, and this one may be in use. */
	neuron_reset_begin(ndev);
	pci_restore_state(pdev);
	/*
	 * The state is that of a device that was master of the bus. neuron_bus_open() makes it one
	 * again when its cores have been reset.
	 */
	pci_clear_master(pdev);
	/* After an error that is not fatal nobody has reset the slot. */
	neuron_make_reset(ndev);
	if (neuron_reset_finish(ndev, pci_device_is_present(pdev)))
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_RECOVERED;
}

static void neuron_error_resume(struct pci_dev *pdev)
{
	dev_info(&pdev->dev, "recovered from a PCI error\n");
}

const struct pci_error_handlers neuron_error_handlers = {
	.error_detected = neuron_error_detected,
	.mmio_enabled = neuron_mmio_enabled,
	.slot_reset = neuron_slot_reset,
	.resume = neuron_error_resume,
	.reset_prepare = neuron_reset_prepare,
	.reset_done = neuron_reset_done,
};

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

	/* A reset may have to come first, and the work that does it is frozen by now. */
	if (!neuron_hbm_flush_until(ndev, jiffies + msecs_to_jiffies(NEURON_DISCARD_TIMEOUT_MS))) {
		dev_err(dev, "no sleep: freed HBM is not scrubbed after %u ms\n",
			NEURON_DISCARD_TIMEOUT_MS);
		return -EBUSY;
	}
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
	ndev->failed_asleep = READ_ONCE(ndev->hw_state) == NEURON_HW_FAILED;
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
	bool wanted;
	int ret;

	mutex_lock(&ndev->hw_lock);
	ndev->asleep = false;
	/* Sleep alone mends nothing: its units may go on as before. */
	if (ndev->failed_asleep && !neuron_cores_were_reset(ndev)) {
		neuron_hw_set_state(ndev, NEURON_HW_FAILED);
		mutex_unlock(&ndev->hw_lock);
		return 0;
	}
	/*
	 * A reset that was wanted before has waited until the work is thawed. The start resets
	 * each unit that runs, so that reset would only cost claims of after it. If a unit does
	 * not stop, the start fails, and the reset is wanted as before.
	 */
	wanted = neuron_reset_unwant(ndev);
	/* Without power it has forgotten what it had still to write. */
	if (neuron_cores_were_reset(ndev))
		neuron_cores_lose_times(ndev, true);
	ret = neuron_hw_start(ndev);
	if (ret && wanted)
		neuron_want_reset(ndev, 0);
	mutex_unlock(&ndev->hw_lock);
	if (ret)
		dev_err(dev, "cannot be started after sleep: %d\n", ret);
	return 0;
}

/*
 * The machine was off, and then another kernel had the device and wrote its generations. Or it was
 * not: the hibernation was given up. With a reset both are the same.
 */
static int neuron_pm_restore(struct device *dev)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	mutex_lock(&ndev->hw_lock);
	neuron_make_reset(ndev);
	mutex_unlock(&ndev->hw_lock);
	return neuron_pm_resume(dev);
}

const struct dev_pm_ops neuron_pm_ops = {
	.prepare = pm_sleep_ptr(neuron_pm_prepare),
	.suspend = pm_sleep_ptr(neuron_pm_sleep),
	.resume = pm_sleep_ptr(neuron_pm_resume),
	.freeze = pm_sleep_ptr(neuron_pm_sleep),
	.thaw = pm_sleep_ptr(neuron_pm_resume),
	.poweroff = pm_sleep_ptr(neuron_pm_sleep),
	.restore = pm_sleep_ptr(neuron_pm_restore),
	RUNTIME_PM_OPS(neuron_pm_suspend, neuron_pm_resume, NULL)
};

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_reset.c"
#endif
