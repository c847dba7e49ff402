// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module, PCI and DRM glue.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_device.h"
#include "neuron_gem.h"
#include "neuron_hbm.h"

static int neuron_open(struct drm_device *drm, struct drm_file *file)
{
	struct neuron_file *nfile;

	nfile = kzalloc(sizeof(*nfile), GFP_KERNEL);
	if (!nfile)
		return -ENOMEM;

	nfile->ndev = to_neuron_device(drm);
	neuron_claims_open(nfile);
	file->driver_priv = nfile;
	return 0;
}

static void neuron_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct neuron_file *nfile = file->driver_priv;

	neuron_claims_close(nfile);
	kfree(nfile);
}

static void neuron_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	neuron_gem_fdinfo(file, p);
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
};

static const struct file_operations neuron_fops = {
	.owner = THIS_MODULE,
	DRM_ACCEL_FOPS,
	.show_fdinfo = drm_show_fdinfo,
};

/*
 * Version history
 *  1.0: first
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

/* Nothing starts any more; stop what runs and let go of the hardware. */
static void neuron_stop(struct neuron_device *ndev)
{
	neuron_hbm_stop(ndev);
	neuron_cores_fini(ndev);
	neuron_copy_fini(ndev);
	neuron_irq_mask(ndev);
	pci_clear_master(ndev->pdev);
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

	ret = neuron_device_init(ndev);
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
	ret = neuron_cores_init(ndev);
	if (ret)
		goto err_copy;

	neuron_debugfs_init(ndev);
	ret = drm_dev_register(&ndev->drm, 0);
	if (ret)
		goto err_cores;
	return 0;

err_cores:
	neuron_cores_fini(ndev);
err_copy:
	neuron_copy_fini(ndev);
	return ret;
}

static void neuron_remove(struct pci_dev *pdev)
{
	struct neuron_device *ndev = pci_get_drvdata(pdev);

	drm_dev_unplug(&ndev->drm);
	neuron_stop(ndev);
}

static void neuron_shutdown(struct pci_dev *pdev)
{
	pci_clear_master(pdev);
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
};
module_pci_driver(neuron_pci_driver);

MODULE_DESCRIPTION("Trainium accelerator");
MODULE_LICENSE("GPL");
NEURON_IMPORT_NS("DMA_BUF");
