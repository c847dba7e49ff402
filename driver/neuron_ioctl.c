// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sizes of ioctls. DRM copies the part of a struct that both sides know. What an older caller
 * lacks is zero for the driver; what a newer caller has more, DRM ignores. Here that part must be
 * zero: a field that the driver does not know is refused, not silently left out. A struct smaller
 * than in version 2.0, or whose size is no multiple of 8, is refused as well.
 */
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_ioctl.h"

/* Bytes that the kernel knows of the struct of @cmd, 0: not of this driver. */
static unsigned int neuron_ioctl_known(const struct drm_driver *driver,
				       unsigned int cmd)
{
	unsigned int nr = DRM_IOCTL_NR(cmd) - DRM_COMMAND_BASE;

	if (nr >= driver->num_ioctls)
		return 0;
	nr = array_index_nospec(nr, driver->num_ioctls);
	return _IOC_SIZE(driver->ioctls[nr].cmd);
}

/* Bytes that the struct had in version 2.0, or in the first one that has it. */
#define NEURON_LEAST(NAME)[DRM_NEURON_##NAME] = DRM_NEURON_##NAME##_SIZE_V2

static const u16 neuron_ioctl_least[] = {
	NEURON_LEAST(QUERY),
	NEURON_LEAST(BO_CREATE),
	NEURON_LEAST(BO_INFO),
	NEURON_LEAST(COPY),
	NEURON_LEAST(CLAIM),
	NEURON_LEAST(RELEASE),
	NEURON_LEAST(WINDOWS),
	NEURON_LEAST(GRANT),
	NEURON_LEAST(SUBMIT),
	NEURON_LEAST(WAIT),
	NEURON_LEAST(RESET),
	NEURON_LEAST(BO_IMPORT),
	NEURON_LEAST(CANCEL),
	NEURON_LEAST(DUMP),
	NEURON_LEAST(POST),
	NEURON_LEAST(GRANT_IMPORT),
	NEURON_LEAST(GRANT_CLOSE),
	NEURON_LEAST(EVENTS),
	NEURON_LEAST(TRANSFER),
	NEURON_LEAST(SERIES),
	NEURON_LEAST(SERIES_IMPORT),
	NEURON_LEAST(SERIES_CLOSE),
	NEURON_LEAST(TIMES),
};

static unsigned int neuron_ioctl_least_size(unsigned int cmd)
{
	unsigned int nr = DRM_IOCTL_NR(cmd) - DRM_COMMAND_BASE;

	return neuron_ioctl_least[array_index_nospec(nr, ARRAY_SIZE(neuron_ioctl_least))];
}

static int neuron_ioctl_check_size(struct file *filp, unsigned int cmd,
				   unsigned long arg)
{
	struct drm_file *file = filp->private_data;
	struct drm_device *drm = file->minor->dev;
	unsigned int known = neuron_ioctl_known(drm->driver, cmd);
	int ret;

	if (!known)
		return 0;
	if (!neuron_size_valid(_IOC_SIZE(cmd), neuron_ioctl_least_size(cmd))) {
		drm_dbg(drm, "ioctl %#x: %u bytes, not a multiple of 8 from the %u of version 2.0 on\n",
			cmd, _IOC_SIZE(cmd), neuron_ioctl_least_size(cmd));
		return -EINVAL;
	}
	if (!(cmd & IOC_IN) || _IOC_SIZE(cmd) <= known)
		return 0;
	ret = check_zeroed_user((void __user *)(arg + known),
				_IOC_SIZE(cmd) - known);
	if (ret < 0)
		return ret;
	if (!ret) {
		drm_dbg(drm, "ioctl %#x: unknown fields after %u bytes\n",
			cmd, known);
		return -EINVAL;
	}
	return 0;
}

long neuron_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = neuron_ioctl_check_size(filp, cmd, arg);

	return ret ?: drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
long neuron_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = neuron_ioctl_check_size(filp, cmd, arg);

	return ret ?: drm_compat_ioctl(filp, cmd, arg);
}
#endif
