// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of the public driver: the power of the device.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>

#include "neuron_monitor.h"
#include "neuron_public.h"

#define NEURON_POWER_SAMPLE	(5 * HZ)
#define NEURON_POWER_PERIOD	60	/* seconds that are summed up */

/* -EAGAIN: the device sleeps, and its power is not known. */
static int neuron_public_read_power(struct neuron_device *ndev, u32 *used)
{
	const struct neuron_look *look;
	unsigned int i;
	bool asleep;
	u32 sum = 0;

	look = neuron_look_begin(ndev, NEURON_LOOK_REGS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < ndev->gen->nr_dice; i++)
		sum += NEURON_GET(NEURON_MISC_POWER_USED, look->power[i]);
	asleep = look->asleep;
	neuron_look_end(ndev);
	*used = sum / ndev->gen->nr_dice;
	return asleep ? -EAGAIN : 0;
}

static void neuron_public_add_power(struct neuron_public_power *power, u32 used)
{
	power->min = power->samples ? min(power->min, used) : used;
	power->max = max(power->max, used);
	power->sum += used;
	power->samples++;
}

static void neuron_public_sample(struct work_struct *work)
{
	struct neuron_public *tree = container_of(to_delayed_work(work),
						  struct neuron_public, sample);
	time64_t now = ktime_get_real_seconds();
	int ret;
	u32 used;

	ret = neuron_public_read_power(tree->ndev, &used);
	spin_lock(&tree->lock);
	if (now - tree->now.begin >= NEURON_POWER_PERIOD ||
	    now < tree->now.begin) {
		tree->last = tree->now;
		memset(&tree->now, 0, sizeof(tree->now));
		tree->now.begin = now;
	}
	if (!ret)
		neuron_public_add_power(&tree->now, used);
	spin_unlock(&tree->lock);
	schedule_delayed_work(&tree->sample, NEURON_POWER_SAMPLE);
}

static ssize_t utilization_show(const struct neuron_node *node,
				unsigned long arg, char *buf)
{
	struct neuron_public *tree = node->data;
	struct neuron_public_power last;
	u32 avg = 0;

	spin_lock(&tree->lock);
	last = tree->last;
	spin_unlock(&tree->lock);
	if (last.samples)
		avg = div_u64(last.sum, last.samples);
	return sysfs_emit(buf, "%s,%lld,%u.%02u,%u.%02u,%u.%02u\n",
			  last.samples ? "POWER_STATUS_VALID" :
					 "POWER_STATUS_NO_DATA",
			  last.begin, last.min / 100, last.min % 100,
			  last.max / 100, last.max % 100, avg / 100, avg % 100);
}

const struct neuron_node_attr neuron_public_utilization[] = {
	NEURON_NODE_RO("utilization", utilization_show, 0),
};

void neuron_public_power_init(struct neuron_public *tree)
{
	spin_lock_init(&tree->lock);
	INIT_DELAYED_WORK(&tree->sample, neuron_public_sample);
	tree->now.begin = ktime_get_real_seconds();
}

void neuron_public_power_start(struct neuron_public *tree)
{
	schedule_delayed_work(&tree->sample, 0);
}

void neuron_public_power_stop(struct neuron_public *tree)
{
	cancel_delayed_work_sync(&tree->sample);
}
