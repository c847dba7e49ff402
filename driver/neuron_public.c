// SPDX-License-Identifier: GPL-2.0-only
/*
 * The public driver's class and sysfs tree, for the monitors that know no other:
 * /sys/devices/virtual/neuron_device/neuron<fabric id>. Off unless the module
 * parameter public_sysfs is set. Nothing else in the driver knows of it.
 *
 * What is counted for the device as a whole there is per core, and what is not known
 * here, is in Documentation/driver.rst.
 */
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/device/class.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "neuron/address.h"
#include "neuron_core.h"
#include "neuron_device.h"
#include "neuron_monitor.h"
#include "neuron_public.h"
#include "neuron_sysfs.h"
#include "neuron_usage.h"

/**
 * struct neuron_public_power - the power of a chip over a while
 * @begin: seconds of the clock on the wall
 * @min: basis points of the greatest power, all dice together
 * @max: the same
 * @sum: of all samples
 * @samples: how many
 */
struct neuron_public_power {
	time64_t begin;
	u32 min;
	u32 max;
	u64 sum;
	u32 samples;
};

/* What the driver counts of a core, as far as the tree has it. */
enum {
	NEURON_PUBLIC_RESETS,
	NEURON_PUBLIC_RESET_FAILURES,
	NEURON_PUBLIC_BUSY_US,
	NEURON_NR_PUBLIC_COUNTS,
};

/**
 * struct neuron_public - the tree of a device
 * @ndev: device
 * @dev: of the class
 * @complete: all files are there
 * @node: directories at its top
 * @nr_nodes: how many
 * @sample: reads the power
 * @lock: @now, @last
 * @now: power of this minute
 * @last: power of the minute before
 * @cleared: what the counts were when somebody wrote to them
 */
struct neuron_public {
	struct neuron_device *ndev;
	struct device *dev;
	bool complete;
	struct neuron_node *node[2 + NEURON_MAX_CORES];
	unsigned int nr_nodes;
	struct delayed_work sample;
	spinlock_t lock;	/* now, last */
	struct neuron_public_power now;
	struct neuron_public_power last;
	u64 cleared[NEURON_MAX_CORES][NEURON_NR_PUBLIC_COUNTS];
};

/* Nodes of a core are numbered core by core. */
static unsigned long neuron_public_index(unsigned int core, unsigned int counter)
{
	return core * DRM_NEURON_NR_STATUS_COUNTERS + counter;
}

static struct neuron_core *
neuron_public_core(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;

	return &tree->ndev->core[node->index / DRM_NEURON_NR_STATUS_COUNTERS];
}

/*
 * The files of the class. They tell a server its place among those of an UltraServer. Here
 * all chips of one are in one machine, which is what the public driver calls a server by
 * itself.
 */

static ssize_t no_node_show(const struct class *class,
			    const struct class_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "-1\n");
}

static ssize_t no_server_show(const struct class *class,
			      const struct class_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%016x\n", 0);
}

static ssize_t no_mode_show(const struct class *class,
			    const struct class_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "\n");
}

#define NEURON_PUBLIC_CLASS_ATTR(_name, _show) \
	static struct class_attribute class_attr_##_name = \
		__ATTR(_name, 0444, _show, NULL)

NEURON_PUBLIC_CLASS_ATTR(node_id_2, no_node_show);
NEURON_PUBLIC_CLASS_ATTR(node_id_4, no_node_show);
NEURON_PUBLIC_CLASS_ATTR(server_id_2, no_server_show);
NEURON_PUBLIC_CLASS_ATTR(server_id_4, no_server_show);
NEURON_PUBLIC_CLASS_ATTR(ultraserver_mode, no_mode_show);

static struct attribute *neuron_public_class_attrs[] = {
	&class_attr_node_id_2.attr,
	&class_attr_node_id_4.attr,
	&class_attr_server_id_2.attr,
	&class_attr_server_id_4.attr,
	&class_attr_ultraserver_mode.attr,
	NULL
};
ATTRIBUTE_GROUPS(neuron_public_class);

/*
 * A program that gets the uevent of a device expects its files, but most of them are in directories
 * that are made after the device. So the uevent of the driver core is dropped, and
 * neuron_public_tell() sends it when all files are there. dev_set_uevent_suppress() would need a
 * device of our own, with a release function that may be called after the module is unloaded.
 */
static int neuron_public_uevent(const struct device *dev, struct kobj_uevent_env *env)
{
	const struct neuron_public *tree = dev_get_drvdata(dev);

	return READ_ONCE(tree->complete) ? 0 : -EAGAIN;
}

/* It exists while a device is in it. */
static const struct class neuron_public_class = {
	.name = "neuron_device",
	.class_groups = neuron_public_class_groups,
	.dev_uevent = neuron_public_uevent,
};

/* The device: what it is. */

static ssize_t serial_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	struct neuron_public *tree = node->data;

	return sysfs_emit(buf, "%016llx\n", tree->ndev->serial);
}

/* Nobody is notified of anything. */
static ssize_t notify_delay_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	return sysfs_emit(buf, "-1\n");
}

static const struct neuron_node_attr neuron_public_info[] = {
	NEURON_NODE_RO("serial_number", serial_show, 0),
	NEURON_NODE_RO("notify_delay", notify_delay_show, 0),
};

/* The device of Inferentia2 is v3 there, although its cores are v2. */
static ssize_t device_arch_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	const struct neuron_public *tree = node->data;
	const struct neuron_gen *gen = tree->ndev->gen;

	return sysfs_emit(buf, "NDv%u\n",
			  gen->pci_device == NEURON_PCI_DEVICE_INF2 ? 3 :
			  gen->generation);
}

static ssize_t device_name_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	const struct neuron_public *tree = node->data;

	return sysfs_emit(buf, "%s\n", tree->ndev->gen->device_name);
}

static ssize_t instance_type_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	const struct neuron_public *tree = node->data;
	const char *name = tree->ndev->gen->name;

	return sysfs_emit(buf, "%c%s\n", toupper(name[0]), name + 1);
}

static const struct neuron_node_attr neuron_public_arch[] = {
	NEURON_NODE_RO("arch_type", device_arch_show, 0),
	NEURON_NODE_RO("device_name", device_name_show, 0),
	NEURON_NODE_RO("instance_type", instance_type_show, 0),
};

/* The device: memory errors; @arg: which. */
enum { NEURON_PUBLIC_SRAM, NEURON_PUBLIC_HBM, NEURON_PUBLIC_REPAIRABLE };

static u32 neuron_public_ecc(const struct neuron_look *look, unsigned int nr_hbm,
			     unsigned long which)
{
	bool repairable = which == NEURON_PUBLIC_REPAIRABLE;
	unsigned int i;
	bool pending;
	u32 sum = 0;

	if (which == NEURON_PUBLIC_SRAM)
		return NEURON_GET(NEURON_MISC_ECC_UNCORRECTED,
				  look->sram_ecc);
	/* Errors of memory that waits for its repair are counted apart. */
	pending = look->hbm_repair == NEURON_MISC_REPAIR_PENDING;
	if (repairable != pending)
		return 0;
	for (i = 0; i < nr_hbm; i++)
		sum += NEURON_GET(NEURON_MISC_ECC_UNCORRECTED,
				  look->hbm_ecc[i]);
	return sum;
}

static ssize_t ecc_show(const struct neuron_node *node, unsigned long which, char *buf)
{
	struct neuron_public *tree = node->data;
	const struct neuron_look *look;
	u32 errors;

	look = neuron_look_begin(tree->ndev, NEURON_LOOK_REGS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	errors = neuron_public_ecc(look, tree->ndev->gen->nr_hbm, which);
	neuron_look_end(tree->ndev);
	return sysfs_emit(buf, "%u\n", errors);
}

static const struct neuron_node_attr neuron_public_hardware[] = {
	NEURON_NODE_RO("sram_ecc_uncorrected", ecc_show, NEURON_PUBLIC_SRAM),
	NEURON_NODE_RO("mem_ecc_uncorrected", ecc_show, NEURON_PUBLIC_HBM),
	NEURON_NODE_RO("mem_ecc_repairable_uncorrected", ecc_show,
		       NEURON_PUBLIC_REPAIRABLE),
};

static ssize_t core_arch_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	const struct neuron_public *tree = node->data;

	return sysfs_emit(buf, "%s\n", tree->ndev->gen->core_arch);
}

static const struct neuron_node_attr neuron_public_core_arch[] = {
	NEURON_NODE_RO("arch_type", core_arch_show, 0),
};

/* What owners of a core post; @arg: of the present owner only. */

static ssize_t status_show(const struct neuron_node *node, unsigned long present, char *buf)
{
	struct neuron_status *status = &neuron_public_core(node)->status;
	unsigned int i = node->index % DRM_NEURON_NR_STATUS_COUNTERS;

	return sysfs_emit(buf, "%llu\n",
			  (u64)atomic64_read(present ? &status->present[i] :
					     &status->total[i]));
}

static void status_reset(const struct neuron_node *node, unsigned long present)
{
	neuron_status_clear(&neuron_public_core(node)->status,
			    node->index % DRM_NEURON_NR_STATUS_COUNTERS);
}

static const struct neuron_node_attr neuron_public_status[] = {
	NEURON_NODE_RW("total", status_show, status_reset, 0),
	NEURON_NODE_RW("present", status_show, status_reset, 1),
};

/* What the driver counts of a core. */

static u64 neuron_public_count(const struct neuron_node *node)
{
	struct neuron_core_stats stats;

	neuron_core_get_stats(neuron_public_core(node), &stats);
	switch (node->index % DRM_NEURON_NR_STATUS_COUNTERS) {
	case NEURON_PUBLIC_RESETS:
		return stats.resets;
	case NEURON_PUBLIC_RESET_FAILURES:
		return stats.reset_failures;
	default:
		return div_u64(stats.busy_ns, NSEC_PER_USEC);
	}
}

static u64 *neuron_public_cleared(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;

	return &tree->cleared[node->index / DRM_NEURON_NR_STATUS_COUNTERS]
			     [node->index % DRM_NEURON_NR_STATUS_COUNTERS];
}

static ssize_t count_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	return sysfs_emit(buf, "%llu\n", neuron_public_count(node) -
			  READ_ONCE(*neuron_public_cleared(node)));
}

static void count_reset(const struct neuron_node *node, unsigned long arg)
{
	WRITE_ONCE(*neuron_public_cleared(node), neuron_public_count(node));
}

static const struct neuron_node_attr neuron_public_counts[] = {
	NEURON_NODE_RW("total", count_show, count_reset, 0),
	NEURON_NODE_RW("present", count_show, count_reset, 0),
};

/* Cycles of the PE array. */

static ssize_t pe_counters_show(const struct neuron_node *node, unsigned long arg, char *buf)
{
	struct neuron_core *core = neuron_public_core(node);
	const struct neuron_look_pe *row;
	const struct neuron_look *look;
	unsigned int i;
	int len;

	look = neuron_look_begin(core->ndev, NEURON_LOOK_PE);
	if (IS_ERR(look))
		return PTR_ERR(look);
	len = sysfs_emit(buf, "xrow_grp,mm_active,wl_active,idle\n");
	for (i = 0; i < NEURON_PE_ROW_GROUPS; i++) {
		row = &look->pe_raw[core->index][i];
		len += sysfs_emit_at(buf, len, "%u,%llu,%llu,%llu\n", i,
				     row->matmul, row->weights, row->idle);
	}
	neuron_look_end(core->ndev);
	return len;
}

static const struct neuron_node_attr neuron_public_pe[] = {
	NEURON_NODE_RO("pe_cntrs", pe_counters_show, 0),
};

/*
 * Memory by category. Host memory is the device's. A stack of HBM is shown at the core that
 * is nearest to it, at the first of several; the others have none, so that the cores' numbers
 * add up to the device's.
 */

/* Names of the public driver, and of the same kind where it has none. */
static const char * const neuron_public_categories[] = {
	[DRM_NEURON_CATEGORY_NONE] = "uncategorized",
	[DRM_NEURON_CATEGORY_CODE] = "model_code",
	[DRM_NEURON_CATEGORY_TENSORS] = "tensors",
	[DRM_NEURON_CATEGORY_CONSTANTS] = "constants",
	[DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD] = "model_shared_scratchpad",
	[DRM_NEURON_CATEGORY_SCRATCHPAD] = "nonshared_scratchpad",
	[DRM_NEURON_CATEGORY_RUNTIME] = "runtime_memory",
	[DRM_NEURON_CATEGORY_DRIVER] = "driver_memory",
	[DRM_NEURON_CATEGORY_COLLECTIVES] = "collectives",
	[DRM_NEURON_CATEGORY_NOTIFICATIONS] = "notifications",
	[DRM_NEURON_CATEGORY_DMA_RINGS] = "dma_rings",
	[DRM_NEURON_CATEGORY_DMA_BUFFERS] = "dma_buffers",
	[DRM_NEURON_CATEGORY_APPLICATION] = "application_memory",
};

static_assert(ARRAY_SIZE(neuron_public_categories) == DRM_NEURON_NR_CATEGORIES);

/* The place of a core that shares its stack with an earlier one. */
#define NEURON_PUBLIC_NOWHERE	NEURON_NR_USAGE_PLACES

static unsigned long memory_index(unsigned int place, unsigned int category)
{
	return place * NEURON_NR_USAGE_CATEGORIES + category;
}

/* NULL: nowhere. */
static struct neuron_amount *memory_amount(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;
	unsigned int place = node->index / NEURON_NR_USAGE_CATEGORIES;
	unsigned int category = node->index % NEURON_NR_USAGE_CATEGORIES;

	if (place == NEURON_PUBLIC_NOWHERE)
		return NULL;
	return &tree->ndev->usage->amount[category][place];
}

static ssize_t memory_show(const struct neuron_node *node, unsigned long peak, char *buf)
{
	struct neuron_amount *amount = memory_amount(node);
	s64 bytes = 0;

	if (amount)
		bytes = atomic64_read(peak ? &amount->peak : &amount->now);
	return sysfs_emit(buf, "%lld\n", bytes);
}

/* What is in use stays so; the peak begins anew with that. */
static void memory_reset(const struct neuron_node *node, unsigned long peak)
{
	struct neuron_amount *amount = memory_amount(node);

	if (amount)
		atomic64_set(&amount->peak, atomic64_read(&amount->now));
}

static const struct neuron_node_attr neuron_public_memory[] = {
	NEURON_NODE_RW("total", memory_show, memory_reset, 0),
	NEURON_NODE_RW("present", memory_show, memory_reset, 0),
	NEURON_NODE_RW("peak", memory_show, memory_reset, 1),
};

/* The power of the device. */

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

static ssize_t utilization_show(const struct neuron_node *node, unsigned long arg, char *buf)
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

static const struct neuron_node_attr neuron_public_utilization[] = {
	NEURON_NODE_RO("utilization", utilization_show, 0),
};

static void neuron_public_power_init(struct neuron_public *tree)
{
	spin_lock_init(&tree->lock);
	INIT_DELAYED_WORK(&tree->sample, neuron_public_sample);
	tree->now.begin = ktime_get_real_seconds();
}

/* The tree. */

static bool neuron_public_wanted;
module_param_named(public_sysfs, neuron_public_wanted, bool, 0444);
MODULE_PARM_DESC(public_sysfs, "Also the sysfs tree of the public driver (default: no)");

static DEFINE_MUTEX(neuron_public_lock);	/* neuron_public_users */
static unsigned int neuron_public_users;

/* The directory of the device itself. */

static ssize_t core_count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct neuron_public *tree = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tree->ndev->gen->nr_cores);
}
static DEVICE_ATTR_RO(core_count);

static ssize_t connected_devices_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct neuron_public *tree = dev_get_drvdata(dev);
	const struct drm_neuron_link_info *link;
	const struct neuron_look *look;
	unsigned int i;
	int len = 0;

	look = neuron_look_begin(tree->ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < tree->ndev->nr_links; i++) {
		link = &look->link[i];
		if (link->state == 1 && link->peer < NEURON_MAX_CHIPS)
			len += sysfs_emit_at(buf, len, len ? ", %u" : "%u",
					     link->peer);
	}
	neuron_look_end(tree->ndev);
	return len + sysfs_emit_at(buf, len, "\n");
}
static DEVICE_ATTR_RO(connected_devices);

/* Whatever is written, the device is reset soon; calls on open files wait for that. */
static ssize_t reset_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t count)
{
	struct neuron_public *tree = dev_get_drvdata(dev);

	neuron_request_reset(tree->ndev);
	return count;
}
static DEVICE_ATTR_WO(reset);

static struct attribute *neuron_public_attrs[] = {
	&dev_attr_core_count.attr,
	&dev_attr_connected_devices.attr,
	&dev_attr_reset.attr,
	NULL
};
ATTRIBUTE_GROUPS(neuron_public);

/**
 * struct neuron_public_builder - a tree that is being made
 * @tree: tree
 * @error: the first error, or 0. After an error no more directories are made, and NULL stands
 *	for them
 */
struct neuron_public_builder {
	struct neuron_public *tree;
	int error;
};

static struct neuron_node *neuron_public_take(struct neuron_public_builder *b,
					      struct neuron_node *node)
{
	if (!IS_ERR(node))
		return node;
	b->error = PTR_ERR(node);
	return NULL;
}

static struct neuron_node *neuron_public_top(struct neuron_public_builder *b,
					     const char *name,
					     const struct neuron_node_attr *attrs,
					     size_t nr)
{
	struct neuron_public *tree = b->tree;
	struct neuron_node *node;

	if (b->error)
		return NULL;
	node = neuron_public_take(b, neuron_node_create(&tree->dev->kobj, tree,
							attrs, nr, name));
	if (node)
		tree->node[tree->nr_nodes++] = node;
	return node;
}

static struct neuron_node *neuron_public_dir(struct neuron_public_builder *b,
					     struct neuron_node *parent,
					     const char *name,
					     const struct neuron_node_attr *attrs,
					     size_t nr, unsigned long index)
{
	if (b->error)
		return NULL;
	return neuron_public_take(b, neuron_node_add(parent, attrs, nr, name,
						     index));
}

#define neuron_public_empty(b, parent, name) \
	neuron_public_dir(b, parent, name, NULL, 0, 0)

static void neuron_public_add_memory(struct neuron_public_builder *b,
				     struct neuron_node *stats, const char *name,
				     unsigned int place)
{
	const size_t nr = ARRAY_SIZE(neuron_public_memory);
	struct neuron_node *node;
	unsigned int c;

	node = neuron_public_empty(b, stats, "memory_usage");
	node = neuron_public_dir(b, node, name, neuron_public_memory, nr,
				 memory_index(place, NEURON_USAGE_ALL_CATEGORIES));
	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++)
		neuron_public_dir(b, node, neuron_public_categories[c],
				  neuron_public_memory, nr, memory_index(place, c));
}

/* Where the memory is that is shown at a core. */
static unsigned int neuron_public_core_place(const struct neuron_gen *gen, unsigned int core)
{
	unsigned int stack = neuron_core_stack(gen, core);

	if (core && neuron_core_stack(gen, core - 1) == stack)
		return NEURON_PUBLIC_NOWHERE;
	return stack;
}

/* Those of the posted ones that are not a status of executions. */
static bool neuron_public_is_other(unsigned int counter)
{
	return counter >= DRM_NEURON_STATUS_MODEL_LOAD_COUNT;
}

static void neuron_public_add_core(struct neuron_public_builder *b, unsigned int core)
{
	struct neuron_node *top, *stats, *status, *other, *info;
	char name[24];
	unsigned int i;

	snprintf(name, sizeof(name), "neuron_core%u", core);
	top = neuron_public_top(b, name, NULL, 0);
	info = neuron_public_empty(b, top, "info");
	neuron_public_dir(b, info, "architecture", neuron_public_core_arch,
			  ARRAY_SIZE(neuron_public_core_arch), 0);
	stats = neuron_public_empty(b, top, "stats");
	status = neuron_public_empty(b, stats, "status");
	other = neuron_public_empty(b, stats, "other_info");
	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++)
		neuron_public_dir(b, neuron_public_is_other(i) ? other : status,
				  neuron_status_name(i), neuron_public_status,
				  ARRAY_SIZE(neuron_public_status),
				  neuron_public_index(core, i));
	neuron_public_dir(b, other, "reset_req_count", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_RESETS));
	neuron_public_dir(b, other, "reset_fail_count", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_RESET_FAILURES));
	neuron_public_dir(b, other, "nc_time_in_use", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_BUSY_US));
	neuron_public_dir(b, stats, "tensor_engine", neuron_public_pe,
			  ARRAY_SIZE(neuron_public_pe), neuron_public_index(core, 0));
	neuron_public_add_memory(b, stats, "device_mem",
				 neuron_public_core_place(b->tree->ndev->gen, core));
}

static int neuron_public_build(struct neuron_public *tree)
{
	struct neuron_public_builder b = { .tree = tree };
	struct neuron_node *info, *stats;
	unsigned int i;

	info = neuron_public_top(&b, "info", neuron_public_info,
				 ARRAY_SIZE(neuron_public_info));
	neuron_public_dir(&b, info, "architecture", neuron_public_arch,
			  ARRAY_SIZE(neuron_public_arch), 0);
	stats = neuron_public_top(&b, "stats", NULL, 0);
	neuron_public_dir(&b, stats, "hardware", neuron_public_hardware,
			  ARRAY_SIZE(neuron_public_hardware), 0);
	neuron_public_dir(&b, stats, "power", neuron_public_utilization,
			  ARRAY_SIZE(neuron_public_utilization), 0);
	neuron_public_add_memory(&b, stats, "host_mem", NEURON_USAGE_HOST);
	for (i = 0; i < tree->ndev->gen->nr_cores; i++)
		neuron_public_add_core(&b, i);
	return b.error;
}

/* Nobody else makes devices of the class meanwhile. */
static int neuron_public_add_device(struct neuron_public *tree)
{
	struct neuron_device *ndev = tree->ndev;
	struct device *dev;
	char name[24];

	lockdep_assert_held(&neuron_public_lock);
	snprintf(name, sizeof(name), "neuron%u", ndev->fabric_id);
	dev = class_find_device_by_name(&neuron_public_class, name);
	if (dev) {
		put_device(dev);
		dev_warn(ndev->drm.dev, "another chip has fabric id %u: no public sysfs tree\n",
			 ndev->fabric_id);
		return -EEXIST;
	}
	tree->dev = device_create_with_groups(&neuron_public_class, NULL,
					      MKDEV(0, 0), tree,
					      neuron_public_groups, "%s", name);
	return PTR_ERR_OR_ZERO(tree->dev);
}

static void neuron_public_put_class(void)
{
	mutex_lock(&neuron_public_lock);
	if (!--neuron_public_users)
		class_unregister(&neuron_public_class);
	mutex_unlock(&neuron_public_lock);
}

static int neuron_public_get_class(struct neuron_public *tree)
{
	int ret = 0;

	mutex_lock(&neuron_public_lock);
	if (!neuron_public_users)
		ret = class_register(&neuron_public_class);
	if (!ret) {
		neuron_public_users++;
		ret = neuron_public_add_device(tree);
		if (ret && !--neuron_public_users)
			class_unregister(&neuron_public_class);
	}
	mutex_unlock(&neuron_public_lock);
	return ret;
}

static void neuron_public_remove(void *data)
{
	struct neuron_public *tree = data;

	cancel_delayed_work_sync(&tree->sample);
	while (tree->nr_nodes)
		neuron_node_remove(tree->node[--tree->nr_nodes]);
	device_unregister(tree->dev);
	neuron_public_put_class();
}

static void neuron_public_tell(struct neuron_public *tree)
{
	WRITE_ONCE(tree->complete, true);
	kobject_uevent(&tree->dev->kobj, KOBJ_ADD);
}

int neuron_public_sysfs_init(struct neuron_device *ndev)
{
	struct neuron_public *tree;
	int ret;

	if (!neuron_public_wanted)
		return 0;
	tree = devm_kzalloc(ndev->drm.dev, sizeof(*tree), GFP_KERNEL);
	if (!tree)
		return -ENOMEM;
	tree->ndev = ndev;
	neuron_public_power_init(tree);
	ret = neuron_public_get_class(tree);
	if (ret)
		return ret == -EEXIST ? 0 : ret;
	ret = devm_add_action_or_reset(ndev->drm.dev, neuron_public_remove,
				       tree);
	if (ret)
		return ret;
	ret = neuron_public_build(tree);
	if (ret)
		return ret;
	neuron_public_tell(tree);
	schedule_delayed_work(&tree->sample, 0);
	return 0;
}
