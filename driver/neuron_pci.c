// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI glue: a device comes and goes.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <drm/drm_drv.h>

#include "neuron_copy.h"
#include "neuron_coredump.h"
#include "neuron_debugfs.h"
#include "neuron_event.h"
#include "neuron_gem.h"
#include "neuron_hbm.h"
#include "neuron_hw.h"
#include "neuron_job.h"
#include "neuron_monitor.h"
#include "neuron_public.h"
#include "neuron_sysfs.h"
#include "neuron_transfer.h"
#include "neuron_usage.h"
#include "neuron_watch.h"

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
	ret = neuron_jobs_init(ndev);
	if (ret)
		goto err_claims;
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
err_claims:
	neuron_claims_fini(ndev);
	return ret;
}

/* The device is unplugged and stopped. */
static void neuron_fini(struct neuron_device *ndev)
{
	neuron_transfers_fini(ndev);
	neuron_claims_end(ndev);
	neuron_watch_fini(ndev);
	neuron_cores_fini(ndev);
	neuron_dump_fini(ndev);
	neuron_jobs_fini(ndev);
	neuron_claims_fini(ndev);
	neuron_copy_unmap_all(ndev);
	neuron_gem_host_release_all(ndev);
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

/* drm_dev_unplug() waits for others: they are told first that it comes. */
static void neuron_unplug(struct neuron_device *ndev)
{
	neuron_hw_leave(ndev);
	drm_dev_unplug(&ndev->drm);
	neuron_reset_fini(ndev);
	neuron_hw_stop(ndev);
}

/*
 * Another chip has left, and its routed addresses will mean other memory: end the jobs and
 * transfers of @peer that can reach it. New windows are refused since the unplug, and jobs
 * that have an old one do not start: those that run are left.
 */
static void neuron_peer_stop(struct neuron_device *peer)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(peer->gen); i++)
		neuron_job_stop_stray(neuron_unit(peer, i));
	neuron_copy_stop_stray(peer);
}

static void neuron_remove(struct pci_dev *pdev)
{
	struct neuron_device *ndev = pci_get_drvdata(pdev);

	neuron_unplug(ndev);
	neuron_peers_each(ndev, neuron_peer_stop);
	neuron_fini(ndev);
	neuron_pm_fini(ndev);
}

/* What runs must not go on under the next kernel. */
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

struct pci_driver neuron_pci_driver = {
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
