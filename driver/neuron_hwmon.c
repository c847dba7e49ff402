// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwmon: power. The chip does not tell watts, only how much of the greatest power
 * of each die is used, so that here one watt stands for one percent of it. It tells
 * no temperature.
 */
#include <linux/err.h>
#include <linux/hwmon.h>

#include "neuron_look.h"

#define NEURON_POWER_FULL	10000	/* basis points */
#define NEURON_UW_PER_POINT	10000	/* 1 W for a percent */

static umode_t neuron_hwmon_is_visible(const void *data,
				       enum hwmon_sensor_types type, u32 attr,
				       int channel)
{
	const struct neuron_device *ndev = data;

	return channel < ndev->gen->nr_dice ? 0444 : 0;
}

static int neuron_hwmon_read(struct device *dev, enum hwmon_sensor_types type,
			     u32 attr, int channel, long *value)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_look *look;
	u32 power;

	if (attr == hwmon_power_max) {
		*value = NEURON_POWER_FULL * NEURON_UW_PER_POINT;
		return 0;
	}
	look = neuron_look_begin(ndev, NEURON_LOOK_REGS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	power = look->power[channel];
	neuron_look_end(ndev);
	*value = NEURON_GET(NEURON_MISC_POWER_USED, power) *
		 NEURON_UW_PER_POINT;
	return 0;
}

static int neuron_hwmon_read_string(struct device *dev,
				    enum hwmon_sensor_types type, u32 attr,
				    int channel, const char **text)
{
	*text = channel ? "die 1, W is %" : "die 0, W is %";
	return 0;
}

static const struct hwmon_ops neuron_hwmon_ops = {
	.is_visible = neuron_hwmon_is_visible,
	.read = neuron_hwmon_read,
	.read_string = neuron_hwmon_read_string,
};

#define NEURON_HWMON_DIE \
	(HWMON_P_INPUT | HWMON_P_MAX | HWMON_P_LABEL)

static const struct hwmon_channel_info * const neuron_hwmon_info[] = {
	HWMON_CHANNEL_INFO(power, NEURON_HWMON_DIE, NEURON_HWMON_DIE),
	NULL
};

static const struct hwmon_chip_info neuron_hwmon_chip = {
	.ops = &neuron_hwmon_ops,
	.info = neuron_hwmon_info,
};

int neuron_hwmon_init(struct neuron_device *ndev)
{
	struct device *hwmon;

	if (!IS_REACHABLE(CONFIG_HWMON))
		return 0;
	hwmon = devm_hwmon_device_register_with_info(ndev->drm.dev, "neuron",
						     ndev, &neuron_hwmon_chip,
						     NULL);
	return PTR_ERR_OR_ZERO(hwmon);
}
