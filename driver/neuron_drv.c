// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module, DRM and PCI glue: files are opened and closed, a device comes and goes.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_copy.h"
#include "neuron_core.h"
#include "neuron_coredump.h"
#include "neuron_debugfs.h"
#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_gem.h"
#include "neuron_grant.h"
#include "neuron_hbm.h"
#include "neuron_ioctl.h"
#include "neuron_irq.h"
#include "neuron_job.h"
#include "neuron_listener.h"
#include "neuron_monitor.h"
#include "neuron_public.h"
#include "neuron_query.h"
#include "neuron_reset.h"
#include "neuron_series.h"
#include "neuron_sysfs.h"
#include "neuron_times.h"
#include "neuron_transfer.h"
#include "neuron_usage.h"
#include "neuron_watch.h"
#include "neuron_window.h"

static int neuron_open(struct drm_device *drm, struct drm_file *file)
{
	struct neuron_file *nfile;
	int ret;

	nfile = kzalloc(sizeof(*nfile), GFP_KERNEL_ACCOUNT);
	if (!nfile)
		return -ENOMEM;

	nfile->ndev = to_neuron_device(drm);
	/* An open file keeps the device awake. */
	ret = neuron_pm_get(nfile->ndev);
	if (ret) {
		kfree(nfile);
		return ret;
	}
	ret = neuron_transfers_open(nfile);
	if (ret) {
		neuron_pm_put(nfile->ndev);
		kfree(nfile);
		return ret;
	}
	neuron_claims_open(nfile);
	neuron_grants_open(nfile);
	neuron_series_open(nfile);
	file->driver_priv = nfile;
	return 0;
}

static void neuron_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct neuron_file *nfile = file->driver_priv;

	neuron_transfers_close(nfile);
	neuron_grants_close(nfile);
	neuron_claims_close(nfile);
	neuron_series_close(nfile);
	neuron_pm_put(nfile->ndev);
	kfree(nfile);
}

static void neuron_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	neuron_usage_fdinfo(file, p);
	neuron_claims_fdinfo(file->driver_priv, p);
}

#define NEURON_IOCTL_DEF(NAME, name) \
	DRM_IOCTL_DEF_DRV(NEURON_##NAME, neuron_ioctl_##name, 0)

static const struct drm_ioctl_desc neuron_ioctls[] = {
	NEURON_IOCTL_DEF(QUERY, query),
	NEURON_IOCTL_DEF(BO_CREATE, bo_create),
	NEURON_IOCTL_DEF(BO_INFO, bo_info),
	NEURON_IOCTL_DEF(COPY, copy),
	NEURON_IOCTL_DEF(CLAIM, claim),
	NEURON_IOCTL_DEF(RELEASE, release),
	NEURON_IOCTL_DEF(WINDOWS, windows),
	NEURON_IOCTL_DEF(GRANT, grant),
	NEURON_IOCTL_DEF(SUBMIT, submit),
	NEURON_IOCTL_DEF(WAIT, wait),
	NEURON_IOCTL_DEF(RESET, reset),
	NEURON_IOCTL_DEF(CANCEL, cancel),
	NEURON_IOCTL_DEF(BO_IMPORT, bo_import),
	NEURON_IOCTL_DEF(DUMP, dump),
	NEURON_IOCTL_DEF(POST, post),
	NEURON_IOCTL_DEF(GRANT_IMPORT, grant_import),
	NEURON_IOCTL_DEF(GRANT_CLOSE, grant_close),
	NEURON_IOCTL_DEF(EVENTS, events),
	NEURON_IOCTL_DEF(TRANSFER, transfer),
	NEURON_IOCTL_DEF(SERIES, series),
	NEURON_IOCTL_DEF(SERIES_IMPORT, series_import),
	NEURON_IOCTL_DEF(SERIES_CLOSE, series_close),
	NEURON_IOCTL_DEF(TIMES, times),
};

static const struct file_operations neuron_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = neuron_ioctl,
	.compat_ioctl = neuron_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
	.show_fdinfo = drm_show_fdinfo,
};

/*
 * Version history
 *  1.0: first
 *  1.1: CANCEL, windows and streams of SUBMIT, streams, grants of SBUF, POST,
 *       DUMP
 *  1.2: CC-cores
 *  2.0: WAIT for any or all of several jobs until a deadline, so not compatible with 1.x;
 *       GRANT_IMPORT, GRANT_CLOSE, EVENTS, TRANSFER
 *  2.1: SERIES, SERIES_IMPORT, SERIES_CLOSE, TIMES, members of time groups in SUBMIT
 */
static const struct drm_driver neuron_drm_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.name = "neuron",
	.desc = "Trainium accelerator",
	.major = DRM_NEURON_DRIVER_MAJOR,
	.minor = DRM_NEURON_DRIVER_MINOR,
	.open = neuron_open,
	.postclose = neuron_postclose,
	.show_fdinfo = neuron_show_fdinfo,
	.gem_prime_import = neuron_gem_prime_import,
	.ioctls = neuron_ioctls,
	.num_ioctls = ARRAY_SIZE(neuron_ioctls),
	.fops = &neuron_fops,
};

/* A device comes and goes. */

/* What bring-up needs once; the hardware is not touched but read. */
static int neuron_init(struct neuron_device *ndev)
{
	int ret;

	ret = neuron_reset_init(ndev);
	if (ret)
		return ret;
	ret = neuron_device_init(ndev);
	if (ret)
		return ret;
	neuron_peers_init(ndev);
	ret = neuron_usage_init(ndev);
	if (ret)
		return ret;
	ret = neuron_cores_place(ndev);
	if (ret)
		return ret;
	ret = neuron_look_init(ndev);
	if (ret)
		return ret;
	ret = neuron_event_init(ndev);
	if (ret)
		return ret;
	ret = neuron_irq_init(ndev);
	if (ret)
		return ret;
	ret = neuron_hbm_init(ndev);
	if (ret)
		return ret;
	ret = neuron_copy_init(ndev);
	if (ret)
		return ret;
	ret = neuron_claims_init(ndev);
	if (ret)
		return ret;
	neuron_jobs_init(ndev);
	ret = neuron_dump_init(ndev);
	if (ret)
		goto err_jobs;
	ret = neuron_watch_init(ndev);
	if (ret)
		goto err_dump;
	ret = neuron_cores_init(ndev);
	if (ret)
		goto err_watch;
	ret = neuron_transfers_init(ndev);
	if (ret)
		goto err_cores;
	return 0;

err_cores:
	neuron_cores_fini(ndev);
err_watch:
	neuron_watch_fini(ndev);
err_dump:
	neuron_dump_fini(ndev);
err_jobs:
	neuron_jobs_fini(ndev);
	neuron_claims_fini(ndev);
	return ret;
}

/* The device is unplugged and stopped. */
static void neuron_fini(struct neuron_device *ndev)
{
	neuron_transfers_fini(ndev);
	neuron_claims_end(ndev);
	neuron_series_end(ndev);
	neuron_watch_fini(ndev);
	neuron_cores_fini(ndev);
	neuron_dump_fini(ndev);
	neuron_jobs_fini(ndev);
	neuron_claims_fini(ndev);
	neuron_copy_unmap_all(ndev);
	neuron_gem_host_release_all(ndev);
	neuron_peers_fini(ndev);
}

static int neuron_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct neuron_device *ndev;
	int ret;

	ndev = devm_drm_dev_alloc(&pdev->dev, &neuron_drm_driver,
				  struct neuron_device, drm);
	if (IS_ERR(ndev))
		return PTR_ERR(ndev);
	ndev->pdev = pdev;
	ndev->gen = (const struct neuron_gen *)id->driver_data;
	pci_set_drvdata(pdev, ndev);

	ret = neuron_init(ndev);
	if (ret)
		return ret;
	neuron_event_begin(ndev);
	ndev->counters_anew = true;
	ret = neuron_hw_start(ndev);
	if (ret)
		goto err_fini;

	neuron_debugfs_init(ndev);
	ret = neuron_sysfs_init(ndev);
	if (ret)
		goto err_stop;
	ret = neuron_public_sysfs_init(ndev);
	if (ret)
		goto err_stop;
	ret = drm_dev_register(&ndev->drm, 0);
	if (ret)
		goto err_stop;
	neuron_pm_init(ndev);
	return 0;

err_stop:
	neuron_reset_fini(ndev);
	neuron_hw_stop(ndev);
err_fini:
	neuron_fini(ndev);
	return ret;
}

/*
 * Another chip has left, and its routed addresses may soon mean other memory. End the jobs and
 * transfers of @peer that run and can reach it. Since the unplug no new window onto it is made, and
 * no job with an old one starts.
 */
static void neuron_peer_stop(struct neuron_device *peer)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(peer->gen); i++)
		neuron_job_stop_stray(neuron_unit(peer, i));
	neuron_copy_stop_stray(peer);
}

/* drm_dev_unplug() waits for all who are inside drm_dev_enter(): neuron_hw_leave() wakes them. */
static void neuron_unplug(struct neuron_device *ndev)
{
	neuron_hw_leave(ndev);
	drm_dev_unplug(&ndev->drm);
	neuron_peers_leave(ndev, neuron_peer_stop);
	neuron_reset_fini(ndev);
	neuron_hw_stop(ndev);
	neuron_hw_stop_for_good(ndev);
}

static void neuron_remove(struct pci_dev *pdev)
{
	struct neuron_device *ndev = pci_get_drvdata(pdev);

	neuron_unplug(ndev);
	neuron_fini(ndev);
	neuron_pm_fini(ndev);
}

/* The device must not write to memory of the next kernel (kexec). */
static void neuron_shutdown(struct pci_dev *pdev)
{
	neuron_unplug(pci_get_drvdata(pdev));
}

#define NEURON_PCI_ENTRY(device, gen) \
	{ PCI_DEVICE(NEURON_PCI_VENDOR, device), \
	  .driver_data = (kernel_ulong_t)&(gen) }

static const struct pci_device_id neuron_pci_ids[] = {
	NEURON_PCI_ENTRY(NEURON_PCI_DEVICE_TRN1, neuron_gen_trn1),
	NEURON_PCI_ENTRY(NEURON_PCI_DEVICE_INF2, neuron_gen_inf2),
	NEURON_PCI_ENTRY(NEURON_PCI_DEVICE_TRN2, neuron_gen_trn2),
	NEURON_PCI_ENTRY(NEURON_PCI_DEVICE_TRN3, neuron_gen_trn3),
	{ }
};
MODULE_DEVICE_TABLE(pci, neuron_pci_ids);

static struct pci_driver neuron_pci_driver = {
	.name = "neuron",
	.id_table = neuron_pci_ids,
	.probe = neuron_probe,
	.remove = neuron_remove,
	.shutdown = neuron_shutdown,
	.dev_groups = neuron_sysfs_groups,
	.err_handler = &neuron_error_handlers,
	.driver = {
		.probe_type = PROBE_PREFER_ASYNCHRONOUS,
		.pm = pm_ptr(&neuron_pm_ops),
	},
};

module_pci_driver(neuron_pci_driver);

MODULE_DESCRIPTION("Trainium accelerator");
MODULE_LICENSE("GPL");
NEURON_IMPORT_NS("DMA_BUF");
