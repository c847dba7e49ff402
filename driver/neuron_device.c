// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the PCI function is and where its parts are, and whether its hardware can be used.
 * neuron_reset.c starts, stops and resets it.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/wait.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron/address.h"
#include "neuron_device.h"

#define CREATE_TRACE_POINTS
#include "neuron_trace.h"

#define NEURON_BAR_REGISTERS	0
#define NEURON_BAR_HBM		4
#define NEURON_READY_POLL_US	10000

static int neuron_device_map(struct neuron_device *ndev)
{
	struct pci_dev *pdev = ndev->pdev;
	struct device *dev = &pdev->dev;
	int ret;

	if (pci_resource_len(pdev, NEURON_BAR_REGISTERS) < ndev->gen->bar0_size)
		return dev_err_probe(dev, -ENODEV,
				     "BAR0 has %#llx bytes, %s needs %#llx\n",
				     (u64)pci_resource_len(pdev, NEURON_BAR_REGISTERS),
				     ndev->gen->name, ndev->gen->bar0_size);

	ndev->bar0 = pcim_iomap_region(pdev, NEURON_BAR_REGISTERS, "neuron");
	if (IS_ERR(ndev->bar0))
		return dev_err_probe(dev, PTR_ERR(ndev->bar0), "BAR0\n");

	ret = pcim_request_region(pdev, NEURON_BAR_HBM, "neuron");
	if (ret)
		return dev_err_probe(dev, ret, "BAR4\n");
	ndev->bar4_start = pci_resource_start(pdev, NEURON_BAR_HBM);
	ndev->bar4_size = pci_resource_len(pdev, NEURON_BAR_HBM);
	return 0;
}

/*
 * Wait until the firmware answers. Another driver may have begun a reset just before this one was
 * bound; until its end the firmware reports NEURON_MISC_NOT_READY.
 */
static int neuron_device_ready(struct neuron_device *ndev)
{
	struct device *dev = &ndev->pdev->dev;
	u32 version;
	int ret;

	ret = read_poll_timeout(neuron_misc_read, version,
				version != NEURON_MISC_NOT_READY,
				NEURON_READY_POLL_US,
				NEURON_RESET_TIMEOUT_MS * USEC_PER_MSEC, false,
				ndev, NEURON_MISC_API_VERSION);
	if (ret)
		return dev_err_probe(dev, -ENODEV,
				     "a reset of the device does not end: write 1 to reset in sysfs\n");
	return 0;
}

/*
 * The bound chips that are on a fabric, each with an id of its own. A routed address names a chip
 * by its id. If two chips had the same one, programs that may use the memory of the first could
 * reach that of the second.
 */
static DEFINE_MUTEX(neuron_fabric_lock);
static LIST_HEAD(neuron_fabric_chips);

static struct neuron_device *neuron_fabric_find(u32 key, u32 id)
{
	struct neuron_device *ndev;

	lockdep_assert_held(&neuron_fabric_lock);
	list_for_each_entry(ndev, &neuron_fabric_chips, fabric_link)
		if (ndev->fabric_key == key && ndev->fabric_id == id)
			return ndev;
	return NULL;
}

static void neuron_fabric_leave(void *data)
{
	struct neuron_device *ndev = data;

	mutex_lock(&neuron_fabric_lock);
	list_del(&ndev->fabric_link);
	mutex_unlock(&neuron_fabric_lock);
}

/*
 * Refuse a chip whose id another bound chip has on the same fabric. The id is taken until the
 * device is unbound. A chip without a fabric key is on no fabric, so its id means nothing.
 */
static int neuron_fabric_join(struct neuron_device *ndev)
{
	struct device *dev = &ndev->pdev->dev;
	struct neuron_device *other;
	int ret = 0;

	if (!ndev->fabric_key)
		return 0;
	mutex_lock(&neuron_fabric_lock);
	other = neuron_fabric_find(ndev->fabric_key, ndev->fabric_id);
	if (other)
		ret = dev_err_probe(dev, -ENODEV,
				    "device says that it has id %u of fabric %#x, which %s has: refused\n",
				    ndev->fabric_id, ndev->fabric_key,
				    dev_name(&other->pdev->dev));
	else
		list_add_tail(&ndev->fabric_link, &neuron_fabric_chips);
	mutex_unlock(&neuron_fabric_lock);
	return ret ?: devm_add_action_or_reset(dev, neuron_fabric_leave, ndev);
}

static int neuron_device_read_fabric(struct neuron_device *ndev, u32 *id, u32 *key)
{
	*id = neuron_ctl_read(ndev, NEURON_CTL_FABRIC_ID);
	*key = neuron_ctl_read(ndev, NEURON_CTL_FABRIC_KEY);
	if (*id >= NEURON_MAX_CHIPS)
		return dev_err_probe(&ndev->pdev->dev, -ENODEV,
				     "impossible fabric id %u\n", *id);
	return 0;
}

/* Routed addresses of other chips contain the id, so a reset must not change it. */
static int neuron_device_check_fabric(struct neuron_device *ndev)
{
	u32 id, key;
	int ret;

	ret = neuron_device_read_fabric(ndev, &id, &key);
	if (ret)
		return ret;
	if (id != ndev->fabric_id || key != ndev->fabric_key)
		return dev_err_probe(&ndev->pdev->dev, -ENODEV,
				     "device says that it has id %u of fabric %#x, and had %u of %#x\n",
				     id, key, ndev->fabric_id, ndev->fabric_key);
	return 0;
}

static u32 neuron_device_read_nr_links(struct neuron_device *ndev)
{
	return min(neuron_ctl_read(ndev, NEURON_CTL_NR_LINKS),
		   NEURON_CTL_MAX_LINKS);
}

static int neuron_device_identify(struct neuron_device *ndev)
{
	struct device *dev = &ndev->pdev->dev;
	u32 magic = neuron_ctl_read(ndev, NEURON_CTL_MAGIC);
	u32 version = neuron_ctl_read(ndev, NEURON_CTL_VERSION);
	u32 generation = neuron_ctl_read(ndev, NEURON_CTL_GENERATION);
	int ret;

	if (magic != NEURON_CTL_MAGIC_VALUE)
		return dev_err_probe(dev, -ENODEV,
				     "no control block (read %#x): not a virtual Trainium\n",
				     magic);
	if (version != NEURON_CTL_VERSION_VALUE)
		return dev_err_probe(dev, -ENODEV,
				     "device contract version %u, driver has %u: use matching versions\n",
				     version, NEURON_CTL_VERSION_VALUE);
	if (!(neuron_ctl_read(ndev, NEURON_CTL_FEATURES) & NEURON_CTL_FEATURE_PIECES))
		return dev_err_probe(dev, -ENODEV,
				     "device cannot read window tables in pieces: use a newer device\n");
	ndev->has_groups = neuron_ctl_read(ndev, NEURON_CTL_FEATURES) &
			   NEURON_CTL_FEATURE_GROUPS;
	if (generation != ndev->gen->generation)
		return dev_err_probe(dev, -ENODEV,
				     "device says generation %u, its PCI id %u\n",
				     generation, ndev->gen->generation);

	ret = neuron_device_ready(ndev);
	if (ret)
		return ret;
	ndev->serial = neuron_misc_read(ndev, NEURON_MISC_SERIAL_LO) |
		       (u64)neuron_misc_read(ndev, NEURON_MISC_SERIAL_HI) << 32;
	return 0;
}

/* After a reset. The number of links is that of the probe, for which arrays were allocated. */
int neuron_device_identify_again(struct neuron_device *ndev)
{
	u32 nr_links;
	int ret;

	ret = neuron_device_identify(ndev);
	if (ret)
		return ret;
	ret = neuron_device_check_fabric(ndev);
	if (ret)
		return ret;
	nr_links = neuron_device_read_nr_links(ndev);
	if (nr_links != ndev->nr_links)
		return dev_err_probe(&ndev->pdev->dev, -ENODEV,
				     "device says that it has %u links, and had %u\n",
				     nr_links, ndev->nr_links);
	return 0;
}

void neuron_device_read_link(struct neuron_device *ndev, unsigned int link,
			     struct drm_neuron_link_info *info)
{
	u32 reg = NEURON_CTL_LINK(link);

	info->peer = neuron_ctl_read(ndev, reg + NEURON_CTL_LINK_PEER);
	info->state = neuron_ctl_read(ndev, reg + NEURON_CTL_LINK_STATE);
	info->width = neuron_ctl_read(ndev, reg + NEURON_CTL_LINK_WIDTH);
	info->mbps = neuron_ctl_read(ndev, reg + NEURON_CTL_LINK_MBPS);
}

static int neuron_device_init_software(struct neuron_device *ndev)
{
	int ret;

	ret = drmm_mutex_init(&ndev->drm, &ndev->discard_lock);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&ndev->drm, &ndev->host_lock);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&ndev->drm, &ndev->claim_lock);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&ndev->drm, &ndev->accounts_lock);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&ndev->drm, &ndev->bus_lock);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&ndev->drm, &ndev->peer_lock);
	if (ret)
		return ret;

	INIT_LIST_HEAD(&ndev->accounts);
	INIT_LIST_HEAD(&ndev->peer_bos);
	INIT_LIST_HEAD(&ndev->kept_bos);
	INIT_LIST_HEAD(&ndev->host_bos);
	return 0;
}

int neuron_device_init(struct neuron_device *ndev)
{
	struct pci_dev *pdev = ndev->pdev;
	struct device *dev = &pdev->dev;
	int ret;

	ret = neuron_device_init_software(ndev);
	if (ret)
		return ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(dev, ret, "cannot enable the device\n");

	/* The bit above the mask says "host memory" in a device address. */
	ret = dma_set_mask_and_coherent(dev,
					DMA_BIT_MASK(ilog2(ndev->gen->host_base)));
	if (ret)
		return dev_err_probe(dev, ret, "no usable DMA mask\n");
	dma_set_max_seg_size(dev, UINT_MAX);

	ret = neuron_device_map(ndev);
	if (ret)
		return ret;
	ret = neuron_device_identify(ndev);
	if (ret)
		return ret;
	ret = neuron_device_read_fabric(ndev, &ndev->fabric_id, &ndev->fabric_key);
	if (ret)
		return ret;
	ret = neuron_fabric_join(ndev);
	if (ret)
		return ret;
	ndev->nr_links = neuron_device_read_nr_links(ndev);
	return 0;
}

void neuron_bus_cut(struct neuron_device *ndev)
{
	mutex_lock(&ndev->bus_lock);
	if (!ndev->bus_cuts++)
		pci_clear_master(ndev->pdev);
	mutex_unlock(&ndev->bus_lock);
}

/* Under bus_lock: all units have stopped. */
static void neuron_bus_set_open(struct neuron_device *ndev)
{
	lockdep_assert_held(&ndev->bus_lock);
	pci_set_master(ndev->pdev);
	/* Nothing writes to imported buffers any more: those that were kept can be freed. */
	queue_work(ndev->free_wq, &ndev->kept_work);
}

void neuron_bus_restore(struct neuron_device *ndev)
{
	mutex_lock(&ndev->bus_lock);
	if (!--ndev->bus_cuts)
		neuron_bus_set_open(ndev);
	mutex_unlock(&ndev->bus_lock);
	/* Other chips that leave wait for this: neuron_peer_wait(). */
	wake_up_all(&ndev->hw_wait);
}

void neuron_bus_open(struct neuron_device *ndev)
{
	mutex_lock(&ndev->bus_lock);
	WRITE_ONCE(ndev->bus_cuts, 0);
	neuron_bus_set_open(ndev);
	mutex_unlock(&ndev->bus_lock);
}

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
	/* Those who poll a grant: grants of claims that are lost are void. */
	wake_up_all(&ndev->grant_wait);
	return changed;
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
	mod_delayed_work(ndev->reset_wq, &ndev->reset_work,
			 msecs_to_jiffies(ms));
}

void neuron_request_reset(struct neuron_device *ndev)
{
	if (neuron_hw_up(ndev))
		neuron_want_reset(ndev, 0);
}

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

/* Does not mark the device as busy, as neuron_pm_put() does: monitors must not keep it awake. */
void neuron_regs_put_awake(struct neuron_device *ndev, int idx)
{
	up_read(&ndev->epoch_lock);
	__pm_runtime_put_autosuspend(ndev->drm.dev);
	drm_dev_exit(idx);
}
