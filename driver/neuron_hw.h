/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the hardware there? Bring-up, power management, resets.
 */
#ifndef _NEURON_HW_H_
#define _NEURON_HW_H_

#include "neuron_device.h"

struct neuron_bo;

/**
 * DOC: The hardware comes and goes
 *
 * neuron_device.hw_state says whether the hardware can be used. It is UP while
 * anybody holds the device awake (neuron_pm_get()) unless the device is being
 * reset. A file holds it from its opening to its end, memory in HBM from its
 * allocation until it is scrubbed, so only a reset comes between a user and the
 * hardware:
 *
 * - neuron_reset_begin(): the state becomes DOWN, and with it the epoch goes on,
 *   which makes all claims and all buffers in HBM *lost*; mappings of HBM go. Jobs
 *   and copies in flight are left alone, since they use memory until the hardware
 *   has been reset.
 * - the reset;
 * - neuron_reset_finish(): they end with an error, neuron_hw_start() runs, the
 *   state is UP again, or FAILED until another reset succeeds.
 *
 * When the driver leaves the device, the state becomes LEAVING before anything
 * else, and stays so: whoever waits for the hardware is woken and gives up.
 *
 * State and epoch change together, under neuron_device.epoch_lock held for
 * writing: leaving UP is what ends an epoch. Claims and buffers in HBM get the
 * epoch of a moment when the state was UP (neuron_hw_wait_epoch()), so none is
 * made between the two halves, and what is made after a reset is not lost in it.
 *
 * Whoever rings a doorbell or resets a unit looks at the state under that unit's
 * lock (neuron_core.reset_lock, the submit lock of a copy queue, discard_lock), and
 * the beginning of a reset and the stop take each of these locks once: afterwards
 * nobody touches the unit.
 *
 * So drm_dev_enter() is needed only where no such lock is held: to map memory for
 * the device, to make what the device reads. All DRM devices have one SRCU for it.
 * Nothing inside waits for the hardware, for memory to be scrubbed, for a reset, or
 * for a lock that is held during one.
 */

/* Whether the hardware can be used now. */
static inline bool neuron_hw_up(const struct neuron_device *ndev)
{
	return READ_ONCE(ndev->hw_state) == NEURON_HW_UP;
}

static inline bool neuron_hw_leaves(const struct neuron_device *ndev)
{
	return READ_ONCE(ndev->hw_state) == NEURON_HW_LEAVING;
}

/* Why it cannot be used, or what belongs to another epoch is lost. */
static inline int neuron_hw_error(const struct neuron_device *ndev)
{
	return neuron_hw_leaves(ndev) ? -ENODEV : -EIO;
}

/* -EIO: it is being reset, or that failed; -ENODEV: the driver leaves. */
static inline int neuron_hw_check(const struct neuron_device *ndev)
{
	return neuron_hw_up(ndev) ? 0 : neuron_hw_error(ndev);
}

/* Return: the state has changed. It does not when the driver leaves. */
bool neuron_hw_set_state(struct neuron_device *ndev,
			 enum neuron_hw_state state);
/*
 * The driver leaves, which is told to all who wait. Before drm_dev_unplug(), under
 * the lock of the PCI device, so that no start or reset is under way.
 */
void neuron_hw_leave(struct neuron_device *ndev);
/*
 * While it is being reset: wait, outside of drm_dev_enter(). -EIO: that failed;
 * -ENODEV; -EINTR: the process was killed. Another reset may begin at any time
 * after. On success @epoch is that of a moment when it was UP.
 */
int neuron_hw_wait_epoch(struct neuron_device *ndev, u32 *epoch);
int neuron_hw_wait(struct neuron_device *ndev);

/*
 * Nothing else helps: reset the whole device, soon. Any context. The reset is a work that
 * neuron_reset.c installs, so whoever asks knows nothing of it.
 */
void neuron_request_reset(struct neuron_device *ndev);
/* The same in @ms milliseconds, in any state, for who has begun the reset already. */
void neuron_want_reset(struct neuron_device *ndev, unsigned int ms);

/*
 * neuron_pm.c. The device is awake from neuron_pm_get(), which resumes it, or
 * neuron_pm_hold(), when it is awake already, to neuron_pm_put(). Waking up takes
 * as long as the probe: not inside drm_dev_enter(). -ENODEV.
 */
int neuron_pm_get(struct neuron_device *ndev);
void neuron_pm_hold(struct neuron_device *ndev);
void neuron_pm_put(struct neuron_device *ndev);
/* The end of the probe; after drm_dev_unplug(). */
void neuron_pm_init(struct neuron_device *ndev);
void neuron_pm_fini(struct neuron_device *ndev);
extern const struct dev_pm_ops neuron_pm_ops;

/*
 * For who reads registers to tell somebody: until neuron_regs_put() no reset of the
 * device begins, so they read as all ones only when the device is gone.
 * Inside, claim_lock may be taken and no user memory touched. -ENODEV; -EIO: it is
 * being reset, or has failed.
 */
int neuron_regs_get(struct neuron_device *ndev, int *idx);
void neuron_regs_put(struct neuron_device *ndev, int idx);
/*
 * The same, but a device that sleeps goes on sleeping (-EAGAIN), and one that is
 * awake sleeps no later for it.
 */
int neuron_regs_get_awake(struct neuron_device *ndev, int *idx);
void neuron_regs_put_awake(struct neuron_device *ndev, int idx);

/* neuron_reset.c */
extern const struct pci_error_handlers neuron_error_handlers;
int neuron_reset_init(struct neuron_device *ndev);
/* The reset work is not running, and never runs again, on return. */
void neuron_reset_fini(struct neuron_device *ndev);

#endif /* _NEURON_HW_H_ */
