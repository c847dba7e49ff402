// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module and DRM glue.
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
#include "neuron_gem.h"
#include "neuron_hw.h"
#include "neuron_listener.h"
#include "neuron_monitor.h"
#include "neuron_transfer.h"

static int neuron_open(struct drm_device *drm, struct drm_file *file)
{
	struct neuron_file *nfile;
	int ret;

	nfile = kzalloc(sizeof(*nfile), GFP_KERNEL);
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
	file->driver_priv = nfile;
	return 0;
}

static void neuron_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct neuron_file *nfile = file->driver_priv;

	neuron_transfers_close(nfile);
	neuron_grants_close(nfile);
	neuron_claims_close(nfile);
	neuron_pm_put(nfile->ndev);
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
	NEURON_IOCTL_DEF(CANCEL, cancel),
	NEURON_IOCTL_DEF(BO_IMPORT, bo_import),
	NEURON_IOCTL_DEF(DUMP, dump),
	NEURON_IOCTL_DEF(POST, post),
	NEURON_IOCTL_DEF(GRANT_IMPORT, grant_import),
	NEURON_IOCTL_DEF(GRANT_CLOSE, grant_close),
	NEURON_IOCTL_DEF(EVENTS, events),
	NEURON_IOCTL_DEF(TRANSFER, transfer),
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
 */
const struct drm_driver neuron_drm_driver = {
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

module_pci_driver(neuron_pci_driver);

MODULE_DESCRIPTION("Trainium accelerator");
MODULE_LICENSE("GPL");
NEURON_IMPORT_NS("DMA_BUF");
